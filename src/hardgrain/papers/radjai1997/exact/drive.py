"""The steady state as an exact function of the driving force: straight lines between changes.

At a constant set of contact states all forces are linear in the drive, so global friction is linear
in v̇, F_g = F_e + (m_e − L) v̇: in (5) and (6) of Radjai et al. 1997 the effective inertia m_e and
the effective friction F_e of each piece.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.papers.radjai1997.exact.array import Array, Floats, States, not_negative
from hardgrain.papers.radjai1997.exact.pivot import Stretch, complementary, trace
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

__all__ = ["Pieces", "pieces"]

_STILL = 1e-12  # an array with a smaller v̇ does not move


@dataclass(frozen=True, eq=False)
class Pieces:
    """The n pieces between n + 1 driving forces, in the order of growing drive."""

    drive: Floats  # (n + 1,) driving force N_L at which states change
    acceleration: Floats  # (n + 1,) v̇ there
    friction: Floats  # (n + 1,) µ_g there
    inertia: Floats  # (n,) effective inertia m_e
    effective_friction: Floats  # (n,) effective friction µ_e = F_e / L
    states: States  # (n, 2 L + 1)
    determinate: NDArray[np.bool_]  # (n,) whether the contact states leave one set of forces
    closed: NDArray[np.bool_]  # (n,) whether all contacts press; else some are held by a pull

    def __repr__(self) -> str:
        m, mu, n = self.inertia, self.effective_friction, self.inertia.size
        return (
            f"<{n} pieces, drive {self.drive[0]:g} to {self.drive[-1]:g}: m_e {m[0]:.6g} to"
            f" {m[-1]:.6g}, µ_e {mu[0]:.6g} to {mu[-1]:.6g}>"
        )


def pieces(array: Array, mu: Floats, low: float, high: float) -> Pieces:
    """The steady states of C1 for all driving forces between ``low`` and ``high``.

    They begin where the array begins to move; its own drive does not matter. Where v̇ is not unique
    this is one branch, followed down from ``high``: the drive may turn back on it, and where it
    would leave ``high`` again the branch ends. A contact that would open is held, and ``closed``
    says where: the least such drive is the paper's N_c.
    """
    low, high = not_negative("low", low), not_negative("high", high)
    if not low < high:
        raise InputError(f"low is {low:g} and high {high:g}; low must be from 0 up, below high")

    def driven(drive: float) -> Array:
        return Array(
            array.particles, drive, array.brake, inertia=array.inertia, block_mass=array.block_mass
        )

    bare = driven(0.0)
    v, plane = bare.at_v[0], bare.at_tangential[1::2]
    rest = np.zeros(bare.contacts, dtype=np.int8)
    x, states = complementary(driven(high), mu, rest)
    if x[v] <= _STILL:
        raise InputError(f"high is {high:g}, a drive that does not set the array in motion")
    corners: list[tuple[float, float, float]] = []
    lines: list[tuple[float, float]] = []
    kept: list[ArraySolution] = []
    for stretch in trace(bare, mu, rest, states, high, low, load=1.0):
        if stretch.begin >= high and stretch.end > high:
            break
        at_rest, rate = stretch.x[v]  # v̇ = at_rest + rate drive
        end = min(stretch.end, high)
        still = at_rest + end * rate <= _STILL
        if still:
            end = -at_rest / rate
        if not corners:
            corners.append(_corner(stretch, min(stretch.begin, high), v, plane))
        if stretch.begin != end:
            per_acceleration = stretch.x[plane, 1].sum() / rate
            lines.append((per_acceleration, stretch.x[plane, 0].sum() - per_acceleration * at_rest))
            corners.append(_corner(stretch, end, v, plane))
            middle = stretch.at(0.5 * (stretch.begin + end))
            half = driven(0.5 * (stretch.begin + end))
            kept.append(ArraySolution.checked(half, middle, stretch.states, mu, mu, rest))
        if still or stretch.end > high:
            break
    drive, acceleration, friction = np.array(corners[::-1]).T
    slope, effective = np.array(lines[::-1]).T
    n = array.particles
    return Pieces(
        drive,
        acceleration,
        friction,
        n + slope,
        effective / n,
        np.array([s.states for s in kept[::-1]]),
        np.array([s.determinate for s in kept[::-1]]),
        np.array([not s.lost for s in kept[::-1]]),
    )


def _corner(
    stretch: Stretch, drive: float, v: int, plane: NDArray[np.intp]
) -> tuple[float, float, float]:
    x = stretch.at(drive)
    return drive, float(x[v]), float(x[plane].mean())
