"""Random starts of the array of Figs 3 and 4, what becomes of each, and what it remembers.

How the paper draws initial velocities is not said. Here all ω are uniform in (−1, 1) and v is
uniform in (0, 1), in units of √(g r) and r. Neither C1 nor C2 has a scale of velocity: forces
depend on the signs of the slips alone, so that twice the velocities take twice the time, and only
the ratio of v to the spread of ω matters. RC1 has scales of time, and there these starts leave the
elastic oscillations behind before much has happened.

Memory. With y = (ω_1 … ω_L, v) and a = ẏ constant between events, a small change δy of the start
stays as it is until an event, the moment at which a slip s·y vanishes. It shifts that moment by
−s·δy/s·a, so that later, with a' for the accelerations from then on,

    δy' = δy + (a' − a) (s·δy)/(s·a).

If the slip only changes sign, this map has an inverse. If the contact sticks, s·a' = 0 and the map
takes a' − a to zero: one combination of initial velocities is lost for good, unless a contact that
stuck until then lets go, for then s_c·(a' − a) ≠ 0 and no δy was along a' − a. The rank of the
product of all these maps counts what is left, L + 1 at first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardgrain.errors import RunError
from hardgrain.papers.fit import Floats
from hardgrain.papers.radjai1997.array import evolve
from hardgrain.papers.radjai1997.exact.array import STICKS, States
from hardgrain.papers.radjai1997.exact.events import History
from hardgrain.papers.radjai1997.scene import BLOCK_MASS, ArrayMotion, scene, soft_particles

__all__ = [
    "FIG3",
    "STEADY",
    "StartPath",
    "Stays",
    "columns",
    "follow",
    "follow_soft",
    "found",
    "path",
    "ratio",
    "share",
    "start",
]

Whole = NDArray[np.int64]

FIG3 = (10, 2.5, 0.01, 0.1, 0.2, 0.001)  # L, N_L, N_0, µ, µ', µ''
STEADY = 0.163986217652  # µ_g of its steady state under C1, computed independently
STILL = 1e-9  # [largest singular value] smaller ones of the memory are rounding
SLIDING = 100.0  # γ_s of RC1 [m √(g/r)]
AFTER = 3.0  # how long molecular dynamics goes on after the last event of C1 [√(r/g)]


def start(seed: int, v0: float | None = None) -> tuple[Floats, float]:
    """Angular velocities (L,) and velocity of a start; ``v0`` replaces the latter."""
    rng = np.random.default_rng(seed)
    omega: Floats = rng.uniform(-1.0, 1.0, FIG3[0])
    return omega, float(rng.uniform(0.0, 1.0)) if v0 is None else v0


@dataclass(frozen=True)
class Stays:
    """Times during which contacts do not slide, S → NS and maybe NS → S, an entry a stay."""

    begun: Whole  # (m,) segment with which the stay begins
    ended: Whole  # (m,) the first segment after the stay, or −1 if it lasts for ever

    @property
    def metastable(self) -> NDArray[np.bool_]:
        """Which stays end again, S → NS → S, shape (m,)."""
        return self.ended >= 0


@dataclass(frozen=True)
class StartPath:
    """The path from a start to its steady state in n segments, and what is counted on it."""

    time: Floats  # (n,) when each segment begins [√(r/g)]
    friction: Floats  # (n,) µ_g
    states: States  # (n, 2 L + 1) as of `History`
    modes: tuple[int, int, int]  # modes of the steady state
    lost: list[tuple[str, float]]  # contacts that had to be kept closed, and when first
    pulled: bool  # whether the steady state needs such a pull
    # (n,) sticking contacts in closed loops beyond those that fix the slips; forces are then open
    loops: Whole
    remembered: Whole  # (n,) combinations of initial velocities that still matter
    imbalance: float  # error of the energy balance, relative to what friction has taken

    @property
    def steady(self) -> tuple[bytes, float]:
        """The contact states, and µ_g to nine digits, by which steady states are told apart."""
        return self.states[-1].tobytes(), round(float(self.friction[-1]), 9)

    @property
    def top(self) -> int:
        """The segment in which µ_g is greatest."""
        return int(self.friction.argmax())

    @cached_property
    def stays(self) -> Stays:
        """All stays that begin on the way."""
        begun: list[int] = []
        ended: list[int] = []
        for contact in (self.states == STICKS).T:
            change = np.diff(contact.astype(np.int8))
            begin, end = np.flatnonzero(change > 0) + 1, np.flatnonzero(change < 0) + 1
            begun += list(begin)
            ended += [*end[int(contact[0]) :], -1][
                : begin.size
            ]  # without the end of a stay that lasts from the start
        return Stays(np.array(begun, dtype=int), np.array(ended, dtype=int))

    @cached_property
    def reversals(self) -> Whole:
        """Segments with which a contact begins to slide the other way, once for each."""
        found: Whole = np.nonzero(self.states[1:] * self.states[:-1] == -1)[0] + 1
        return found


def follow(seed: int, v0: float | None = None, **options: Any) -> StartPath | None:
    """The path from a start with options of `evolve`; None where the law has no solution."""
    try:
        history = evolve(*FIG3, *start(seed, v0), keep_closed=True, seed=seed, **options)
    except RunError:
        return None
    return path(history)


def found(paths: Iterable[StartPath | None]) -> list[StartPath]:
    """The entries that are not None."""
    return [p for p in paths if p is not None]


def share(hits: ArrayLike) -> tuple[float, float]:
    """The share of independent trials that are hits, and its standard error.

    Half a hit and half a miss are added for the error, so that it is not zero if all agree.
    """
    hits = np.asarray(hits, dtype=bool)
    near = (hits.sum() + 0.5) / (hits.size + 1.0)
    return float(hits.mean()), float(np.sqrt(near * (1.0 - near) / hits.size))


def ratio(over: ArrayLike, under: ArrayLike) -> tuple[float, float]:
    """The ratio Σ over / Σ under of independent starts, and its standard error, shape (n,)."""
    a, b = np.asarray(over, dtype=float), np.asarray(under, dtype=float)
    value = a.sum() / b.sum()
    scatter = (a - value * b).std(ddof=1) / np.sqrt(a.size)
    return float(value), float(scatter / b.mean())


def columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A table with a list for each name, made from its rows."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def follow_soft(seed: int, every: float) -> tuple[ArrayMotion, History]:
    """Follow the same start by molecular dynamics with RC1, and by C1 with the same blocks."""
    omega, v = start(seed)
    exact = evolve(*FIG3, omega, v, keep_closed=True, block_mass=BLOCK_MASS)
    array = scene(*FIG3, omega0=omega, v0=v)
    return soft_particles(array, exact.time[-1] + AFTER, SLIDING, every=every), exact


def path(history: History) -> StartPath:
    """Count on a history what a `StartPath` holds."""
    return StartPath(
        history.time,
        history.friction,
        history.states,
        history.steady.modes,
        history.lost,
        bool(history.steady.lost),
        np.array([s.redundant for s in history.solutions]),
        remembered(history),
        imbalance(history),
    )


def remembered(history: History) -> Whole:
    """How many combinations of initial velocities matter in each segment (n,)."""
    array = history.steady.array
    size = array.particles + 1
    to_slip = np.stack([array.slips(e[:-1], e[-1]) for e in np.eye(size)], axis=1)
    kept = np.eye(size)  # orthonormal columns that span all possible δy
    ranks = [size]
    for k, (old, new) in enumerate(zip(history.solutions, history.solutions[1:])):
        slip = array.slips(history.omega[k], history.velocity[k])
        stops = old.given * old.slip_rate < 0.0
        wait = np.full(slip.size, np.inf)
        np.divide(-slip, old.slip_rate, out=wait, where=stops)
        s, rate = to_slip[wait.argmin()], old.slip_rate[wait.argmin()]
        jump = np.append(
            new.angular_acceleration - old.angular_acceleration,
            new.acceleration - old.acceleration,
        )
        left, values, _ = np.linalg.svd(kept + np.outer(jump, s @ kept) / rate, full_matrices=False)
        kept = left[:, values > STILL * values[0]]
        ranks.append(kept.shape[1])
    return np.array(ranks)


def imbalance(history: History) -> float:
    """Energy that is not accounted for by the last event, as a share of the friction's work.

    Forces are constant and slips linear in a segment, so the sums are exact.
    """
    array = history.steady.array
    lasts = np.diff(history.time)
    velocity, omega = history.velocity, history.omega
    slips = np.array([array.slips(w, v) for w, v in zip(omega, velocity)])
    t = np.array([s.x[array.at_tangential] for s in history.solutions])
    taken = (t[:-1] * 0.5 * (slips[1:] + slips[:-1])).sum(axis=1) @ lasts
    given = (array.drive - array.brake) * (0.5 * (velocity[1:] + velocity[:-1]) @ lasts)
    energy = 0.5 * (array.particles * velocity**2 + array.inertia * (omega**2).sum(axis=1))
    return float(abs(energy[-1] - energy[0] - given + taken) / taken) if lasts.size else 0.0
