"""The array of the paper, solved exactly: its steady state, its evolution, all driving forces."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hardgrain.errors import InputError
from hardgrain.papers.radjai1997.exact import drive as _drive
from hardgrain.papers.radjai1997.exact import events
from hardgrain.papers.radjai1997.exact.array import Array, Floats
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.exact.events import ContactLost, History
from hardgrain.papers.radjai1997.exact.law import Coulomb, Rule
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

__all__ = ["ContactLost", "evolve", "pieces", "steady_state"]

Law = Literal["C1", "C2"]


def steady_state(
    particles: int,
    drive: float,
    brake: float,
    mu: ArrayLike,
    mu_plane: ArrayLike,
    mu_block: ArrayLike,
    law: Law = "C1",
    **options: Any,
) -> ArraySolution:
    """The steady state that an array at rest takes at once; under C1, if unique, from any start.

    Forces are in units of a disk's weight; coefficients of friction are numbers, or arrays with one
    for each contact. Options are those of `evolve`.
    """
    whole = isinstance(particles, int | np.integer) and not isinstance(particles, bool)
    # `Array` refuses numbers that are not whole
    at_rest = np.zeros(max(0, particles) if whole else 0)
    given = (particles, drive, brake, mu, mu_plane, mu_block)
    return evolve(*given, at_rest, 0.0, law=law, **options).steady


def evolve(
    particles: int,
    drive: float,
    brake: float,
    mu: ArrayLike,
    mu_plane: ArrayLike,
    mu_block: ArrayLike,
    omega0: ArrayLike,
    v0: float,
    *,
    law: Law = "C1",
    mu_static: ArrayLike | None = None,
    mu_plane_static: ArrayLike | None = None,
    mu_block_static: ArrayLike | None = None,
    rule: Rule = "stick",
    seed: int = 0,
    inertia: float = 0.5,
    block_mass: float = 0.0,
    keep_closed: bool = False,
) -> History:
    """Follow the array from angular velocities ``omega0`` and velocity ``v0`` to the steady state.

    law              "C1": one coefficient of friction; "C2": the static ones are others
    mu_static        µ_s between disks, for C2
    mu_plane_static  on the plane; default: ``mu_plane`` times ``mu_static`` / ``mu``
    mu_block_static  on the blocks; default: ``mu_block``
    rule             which solution of C2 is taken (`exact.law.Coulomb`)
    seed             of rule "random"
    keep_closed      hold a contact that would open by a pull and go on, instead of ContactLost
    """
    array = Array(particles, drive, brake, inertia=inertia, block_mass=block_mass)
    slide = array.coefficients(mu, mu_plane, mu_block)
    stick = _static(array, law, slide, mu_static, mu_plane_static, mu_block_static)
    return events.evolve(
        array, Coulomb(slide, stick, rule), omega0, v0, seed=seed, keep_closed=keep_closed
    )


def pieces(
    particles: int,
    brake: float,
    mu: ArrayLike,
    mu_plane: ArrayLike,
    mu_block: ArrayLike,
    low: float,
    high: float,
    *,
    inertia: float = 0.5,
    block_mass: float = 0.0,
) -> Pieces:
    """The steady states under C1 for all driving forces between ``low`` and ``high``, exactly."""
    array = Array(particles, 0.0, brake, inertia=inertia, block_mass=block_mass)
    return _drive.pieces(array, array.coefficients(mu, mu_plane, mu_block), low, high)


def _static(
    array: Array,
    law: str,
    slide: Floats,
    mu_static: ArrayLike | None,
    mu_plane_static: ArrayLike | None,
    mu_block_static: ArrayLike | None,
) -> Floats:
    """The static coefficient of each contact (2 L + 1,)."""
    given = {
        "mu_static": mu_static,
        "mu_plane_static": mu_plane_static,
        "mu_block_static": mu_block_static,
    }
    if law == "C1":
        for name, value in given.items():
            if value is not None:
                raise InputError(f"{name} is {value!r}, but law C1 has no static coefficients")
        return slide
    if law != "C2":
        raise InputError(f"law is {law!r}; give C1 or C2")
    if mu_static is None:
        raise InputError("mu_static is missing; law C2 needs it")
    side, plane, block = slide[2:-1:2], slide[1::2], slide[[0, -1]]
    if mu_block_static is None:
        mu_block_static = block
    if mu_plane_static is None:
        static = array.coefficients(mu_static, plane, mu_block_static, "_static")[2:-1:2]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.unique(np.round(static / side, 12))
        if ratio.size != 1 or not np.isfinite(ratio[0]):
            raise InputError("mu_plane_static is missing; mu_static / mu is not one number")
        mu_plane_static = ratio[0] * plane
    return array.coefficients(mu_static, mu_plane_static, mu_block_static, "_static")
