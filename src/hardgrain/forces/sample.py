"""Samples of F, the set of all forces possible in a packing, and whether they stand for all of it.

They are drawn uniformly by hit-and-run (`hardgrain.forces.uniform`), or found by the engine's
solver from disturbed forces (`hardgrain.forces.perturb`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.forces.perturb import Factors, Perturbed, perturbed, unbalanced
from hardgrain.forces.space import ForceSpace
from hardgrain.forces.uniform import uniform_walks

__all__ = ["Factors", "Method", "Sample", "mixing", "sample"]

Method = Literal["hit-and-run", "perturb"]

# [1] A chain has mixed if R̂ is below the first and it holds as many independent samples as the
# second. Looser limits call samples uniform that still remember where they began; stricter ones
# cost steps.
_AGREE, _ENOUGH = 1.05, 100


@dataclass(frozen=True, eq=False)
class Sample:
    """Members of F, how well they obey equilibrium, and how well they stand for the whole."""

    method: Method
    states: Floats  # (count, m, dim) R first, then T [force]
    residual: Floats  # (count,) largest unbalanced force of each [unit]
    unit: float  # of force: the mean weight of a grain
    spread: Floats  # (m, dim) split R̂ of each component: 1 if all chains agree
    effective: Floats  # (m, dim) independent samples that tell as much of its mean as the walks
    dropped: int = 0  # samples that did not get back into F
    steps: int = 0  # of all walks, or sweeps of all solves

    @cached_property
    def mean(self) -> Floats:
        """F_∘ of (38), (m, dim)."""
        mean: Floats = self.states.mean(axis=0)
        return mean

    @cached_property
    def radius(self) -> float:
        """(38), the root mean square distance from the mean, in mean weights."""
        away = np.square(self.states - self.mean).sum(axis=(1, 2))
        return float(np.sqrt(away.mean()) / self.unit)

    @property
    def warning(self) -> str:
        """Empty, or what speaks against taking the sample for the whole."""
        words = []
        worst, fewest = float(self.spread.max()), float(self.effective.min())
        if not worst < _AGREE:
            words.append(f"chains disagree: R̂ is up to {worst:.3f}, not below {_AGREE}")
        if not fewest >= _ENOUGH:
            words.append(f"a component has only {fewest:.0f} independent samples, not {_ENOUGH}")
        if self.dropped:
            words.append(f"{self.dropped} samples out of equilibrium were dropped")
        return "; ".join(words)

    def __str__(self) -> str:
        return (
            f"{len(self.states)} states by {self.method}: radius {self.radius:.4g} mean weights,"
            f" residual up to {self.residual.max():.1e}, R̂ {np.median(self.spread):.3f} (worst"
            f" {self.spread.max():.3f}), independent {np.median(self.effective):.0f} (fewest"
            f" {self.effective.min():.0f}){'; ' if self.warning else ''}{self.warning}"
        )


def sample(
    space: ForceSpace,
    count: int,
    seed: int = 0,
    method: Method = "hit-and-run",
    *,
    chains: int = 4,
    thin: int | None = None,
    processes: int | None = 1,
    factors: Factors = "contact",
    chained: bool = True,
    tolerance: float = 1e-6,
) -> Sample:
    """``count`` members of F; the same for the same seed, whatever the number of processes.

    Hit-and-run: in ``chains`` walks with ``thin`` steps between states (default: d²/2, at least
    20, in d dimensions). Perturb: factors in [0.5, 1.5] for each contact or a ``"global"`` one, of
    the last member (``chained``) or always of the state found. A sample is resolved until its
    largest unbalanced force is below ``tolerance`` mean weights, or dropped: the laws of contact
    also allow that some grains start to move.
    """
    for name, value, least in (("count", count, 1), ("chains", chains, 1), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} is {value}; give at least {least}")
    if thin is not None and thin < 1:
        raise InputError(f"thin is {thin}; give at least 1")
    if not space.contacts:
        raise InputError("the packing has no contacts, so there are no forces to sample")
    if method == "hit-and-run":
        each = -(-count // chains)
        return _from_walks(space, count, *uniform_walks(space, each, seed, chains, thin, processes))
    if method == "perturb":
        if factors not in ("contact", "global"):
            raise InputError(f"factors is {factors!r}; give contact or global")
        return _from_solver(space, perturbed(space, count, seed, factors, chained, tolerance))
    raise InputError(f"there is no method {method!r}; give hit-and-run or perturb")


def _from_walks(space: ForceSpace, count: int, walks: Floats, steps: int) -> Sample:
    """Evenly spaced states of walks (chains, records, dim m), judged by all of their records."""
    p, (chains, records, _) = space.packing, walks.shape
    each = -(-count // chains)
    spread, effective = mixing(walks)
    evenly = np.arange(each) * records // each
    chosen = walks[:, evenly].swapaxes(0, 1).reshape(-1, p.contacts, p.dim)[:count]
    return Sample(
        method="hit-and-run",
        states=p.unit * chosen,
        residual=unbalanced(space, chosen),
        unit=p.unit,
        spread=spread.reshape(p.contacts, p.dim),
        effective=effective.reshape(p.contacts, p.dim),
        steps=steps,
    )


def _from_solver(space: ForceSpace, found: Perturbed) -> Sample:
    """The states that the solver found, as one chain."""
    p = space.packing
    spread, effective = mixing(found.states.reshape(1, len(found.states), -1))
    return Sample(
        method="perturb",
        states=p.unit * found.states,
        residual=found.residual,
        unit=p.unit,
        spread=spread.reshape(p.contacts, p.dim),
        effective=effective.reshape(p.contacts, p.dim),
        dropped=found.dropped,
        steps=found.sweeps,
    )


def mixing(x: Floats) -> tuple[Floats, Floats]:
    """Split R̂ and effective sample size of each quantity (q,), from chains (chains, n, q).

    Gelman et al., Bayesian Data Analysis, 3rd ed., sec. 11.4 and 11.5, with Geyer's monotone sums
    of autocorrelations. A quantity that does not vary has 1 and all samples.
    """
    n = x.shape[1] // 2
    if n < 2:
        return np.full(x.shape[2], np.nan), np.ones(x.shape[2])
    x = np.concatenate([x[:, :n], x[:, n : 2 * n]])
    mean = x.mean(axis=1)
    deviation = x - mean[:, None]
    spectrum = np.fft.rfft(deviation, 2 * n, axis=1)
    lagged = np.fft.irfft(np.square(np.abs(spectrum)), axis=1)[:, :n].mean(axis=0) / (n - 1)
    within = lagged[0]
    total = (n - 1) / n * within + mean.var(axis=0, ddof=1)
    still = total <= np.square(1e-12 * np.abs(x).max(axis=(0, 1)))
    within, total = np.where(still, 1.0, within), np.where(still, 1.0, total)
    correlation = 1.0 - (within - lagged) / total
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(pairs, axis=0).clip(min=0.0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0)
    size = float(len(x) * n)
    return np.sqrt(total / within), np.where(still, size, size / time)
