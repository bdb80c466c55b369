"""States compared: with their bounds, with each other, and by the distribution of their forces.

Contacts of one packing depend on each other, while packings are independent. Where values of
several packings are given, one array for each, errors are therefore those between packings
(jackknife: leave out one after the other); for a single one they are those of independent values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.packing import Packing

__all__ = [
    "Density", "TailFit", "density", "distance", "jackknife", "matched", "starred", "strong",
    "tail",
]  # fmt: skip

# [unit of force] A force whose range is smaller counts as determined. Programs are inaccurate by
# 10⁻⁹; a smaller limit would divide rounding by rounding.
_FIXED = 1e-6


# ---------------------------------------------------------------------- one state
def starred(state: Floats, bounds: Bounds, unit: float = 1.0) -> Floats:
    """The places R_* and T_* of (39), shape (m, dim): 0 at the least value, 1 at the greatest.

    They are NaN where the range is below 10⁻⁶ of the unit of force, or has no limit.
    """
    width = bounds.high - bounds.low
    some = np.isfinite(width) & (width > _FIXED * unit)
    share: Floats = np.full(width.shape, np.nan)
    np.divide(state - bounds.low, width, out=share, where=some)
    return share


def strong(state: Floats) -> NDArray[np.bool_]:
    """Which contacts have a normal force above the mean, shape (m,); the others are weak."""
    normal = state[:, 0]
    return np.asarray(normal > normal.mean()) if normal.size else np.zeros(0, dtype=bool)


# ---------------------------------------------------------------------- two states
def matched(a: Packing, b: Packing) -> tuple[Floats, Floats]:
    """Forces [force] of both at every contact that either has, zero where one has none, (k, dim).

    Contacts are the same if they are between the same two bodies, whichever is first; several
    between the same two are taken in their order.
    """
    if a.dim != b.dim:
        raise InputError(f"a packing in {a.dim}D is compared with one in {b.dim}D")
    numbers: dict[tuple[int, int, int], int] = {}
    rows = [np.array([numbers.setdefault(k, len(numbers)) for k in _keys(p)], int) for p in (a, b)]
    forces = np.zeros((2, len(numbers), a.dim))
    for force, p, row in zip(forces, (a, b), rows):
        # Forces are those on the body with the larger number.
        force[row] = np.where((p.first < p.second)[:, None], p.force, -p.force)
    return forces[0], forces[1]


def _keys(p: Packing) -> list[tuple[int, int, int]]:
    """The two bodies of each contact, the smaller first, and its rank among those between them."""
    seen: dict[tuple[int, int], int] = {}
    keys = []
    for i, j in zip(p.first.tolist(), p.second.tolist()):
        pair = min(i, j), max(i, j)
        seen[pair] = seen.get(pair, -1) + 1
        keys.append((*pair, seen[pair]))
    return keys


def distance(a: Packing, b: Packing) -> float:
    """The distance ‖F_A − F_B‖ in mean weights (III C 1), also if the two have unequal contacts."""
    one, other = matched(a, b)
    return float(np.linalg.norm(one - other) / a.unit)


# ---------------------------------------------------------------------- distributions
@dataclass(frozen=True, eq=False)
class Density:
    """A histogram that stands for a probability density."""

    edges: Floats  # (bins + 1,)
    value: Floats  # (bins,) [1/unit of the values]
    error: Floats  # (bins,) standard error
    count: NDArray[np.intp]  # (bins,) number of values in each bin

    @property
    def middle(self) -> Floats:
        return 0.5 * (self.edges[1:] + self.edges[:-1])


def density(values: Sequence[ArrayLike] | Floats, edges: ArrayLike) -> Density:
    """The density of values, in one array or one for each packing; all values count in the norm.

    Its integral is therefore the share of the values within the edges.
    """
    groups, bounds = _groups(values), np.asarray(edges, dtype=float)
    counts = np.array([np.histogram(g, bounds)[0] for g in groups])
    sizes = np.array([g.size for g in groups], dtype=float)
    width = np.diff(bounds)

    def of(chosen: NDArray[np.bool_]) -> Floats:
        value: Floats = counts[chosen].sum(axis=0) / (sizes[chosen].sum() * width)
        return value

    total = counts.sum(axis=0)
    value = of(np.ones(len(groups), dtype=bool))
    if len(groups) > 1:
        return Density(bounds, value, jackknife([of(some) for some in _all_but_one(groups)]), total)
    share = total / sizes.sum()
    return Density(bounds, value, np.sqrt(share * (1.0 - share) / sizes.sum()) / width, total)


@dataclass(frozen=True, eq=False)
class TailFit:
    """An exponential tail exp(−x/length) beyond ``start``, and how well it is one."""

    start: float
    length: float  # mean excess: the most likely length [unit of the values]
    error: float
    variation: float  # standard deviation of the excess over its mean: 1 if exponential
    variation_error: float
    count: int  # values beyond start


def tail(values: Sequence[ArrayLike] | Floats, start: float) -> TailFit:
    """The exponential that fits values beyond ``start`` best, by maximum likelihood.

    No bins are needed, since the excess of an exponential is an exponential with the same length.
    """
    excess = [g[g > start] - start for g in _groups(values)]
    excess = [g for g in excess if g.size]
    count = sum(g.size for g in excess)
    if count < 2:
        raise InputError(f"{count} values are greater than {start:g}; a tail needs at least 2")

    def of(chosen: NDArray[np.bool_]) -> Floats:
        x = np.concatenate([g for g, c in zip(excess, chosen) if c])
        return np.array([x.mean(), x.std() / x.mean()])

    length, variation = of(np.ones(len(excess), dtype=bool))
    # For n independent exponential values the length is uncertain by length/√n, the variation by
    # 1/√n.
    errors = np.array([length, 1.0]) / np.sqrt(count)
    if len(excess) > 1:
        errors = jackknife([of(some) for some in _all_but_one(excess)])
    return TailFit(start, length, errors[0], variation, errors[1], count)


def _groups(values: Sequence[ArrayLike] | Floats) -> list[Floats]:
    """One flat array for each packing, without nan."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        values = [values]
    groups = [np.asarray(v, dtype=float).ravel() for v in values]
    groups = [g[~np.isnan(g)] for g in groups]
    groups = [g for g in groups if g.size]
    if not groups:
        raise InputError("a distribution of no values is asked for")
    return groups


def _all_but_one(groups: list[Floats]) -> NDArray[np.bool_]:
    """Which groups are left if one after the other is left out, shape (n, n)."""
    return ~np.eye(len(groups), dtype=bool)


def jackknife(left_one_out: ArrayLike) -> Any:
    """Standard error of a number or array, from what it becomes as each sample is left out."""
    x = np.asarray(left_one_out, dtype=float)
    return np.sqrt((len(x) - 1.0) * x.var(axis=0))
