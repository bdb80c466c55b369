"""Checks of a scene as a whole, and which path of the solver it may take."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from hardgrain.core import lawtable as table
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES, spins
from hardgrain.scene.spec import Box, Grains, Wall

__all__ = [
    "check_held", "check_memory", "check_periods", "check_sizes", "check_turning", "is_lean",
    "moments_of",
]  # fmt: skip

_PER_GRAIN = 2048  # [bytes] memory that a run needs for each grain and its contacts
_SMALLEST = 1e-100  # [length] smallest diameter whose square and cells do not underflow


def check_memory(count: int) -> None:
    """Refuse at once a scene that would not fit into memory."""
    if not hasattr(os, "sysconf"):  # Windows has none
        return
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if count * _PER_GRAIN > memory:
        raise InputError(
            f"scene.grains has counts of {count} in all; this machine's memory,"
            f" {memory / 2**30:.3g} GiB, is enough for about {memory // _PER_GRAIN}"
        )


def check_sizes(diameters: Floats) -> None:
    least, most = float(diameters.min()), float(diameters.max())
    if least < _SMALLEST or most > 1.0 / _SMALLEST:
        raise InputError(
            f"diameter is {least if least < _SMALLEST else most:g}; give a number from"
            f" {_SMALLEST:g} to {1.0 / _SMALLEST:g}, in other units if need be"
        )


def check_periods(periodic: Floats, radius: Floats) -> None:
    """Refuse periods so short that more than the nearest image could touch."""
    if radius.size == 0:
        return
    least = 4.0 * float(radius.max())
    for k, period in enumerate(periodic):
        if 0.0 < period < least:
            raise InputError(
                f"scene.periodic.{AXES[k]} spans {period:g}; with the largest diameter"
                f" {0.5 * least:g} it must span at least {least:g}"
            )


def check_held(walls: Sequence[Wall], gravity: Floats) -> None:
    """Refuse boxes that nothing holds against gravity."""
    for k, wall in enumerate(walls):
        for axis in np.flatnonzero(gravity):
            faces = getattr(wall, AXES[axis]) if isinstance(wall, Box) else None
            if faces is not None and faces.pressure is not None and faces.fixed is None:
                raise InputError(
                    f"scene.walls[{k}].{AXES[axis]} has a pressure on both sides, and gravity acts"
                    " along it, so that the box would fall for ever; give"
                    f" {AXES[axis]}.fixed, the side that stands still"
                )


def moments_of(spec: Grains, dim: int, at: str) -> Floats:
    """Principal moments of inertia of each grain of a set over m r², shape (1,) or (3,)."""
    given = (0.5 if dim == 2 else 0.4) if spec.inertia is None else spec.inertia
    each = given if isinstance(given, list) else [given] * spins(dim)
    if len(each) != spins(dim):
        raise InputError(
            f"{at}.inertia is {each}, with {len(each)} number(s); it takes one"
            + (", or three about the grain's own axes" if dim == 3 else "")
        )
    if sum(each) > spins(dim) - (dim == 3):
        raise InputError(
            f"{at}.inertia is {given}, more than if all mass were at the surface: mass × radius²"
            + (" about an axis in 2D" if dim == 2 else " times 2 for the sum of the three")
        )
    if dim == 3 and 2.0 * max(each) > sum(each) * (1.0 + 1e-12):
        raise InputError(
            f"{at}.inertia is {given}; no body has a moment above the sum of its other two"
        )
    return np.array(each)


def check_turning(spec: Grains, inv_inertia: Floats, at: str) -> None:
    """Refuse ways of holding and driving a set of grains with unequal moments.

    Free to turn about two axes, their inertia would change while they turn about them.
    """
    if ((inv_inertia > 0.0).sum(axis=1) == 2).any():
        raise InputError(
            f"{at}.inertia is {spec.inertia}; such grains can be locked or driven about none, two"
            " or all of their axes, not about one"
        )
    timed = [name for name in spec.lock if name[0] == "r" and name != "rotation"]
    if isinstance(spec.lock, dict) and timed:
        raise InputError(
            f"{at}.lock holds {timed[0]!r} for a time; with the inertia {spec.inertia} it takes"
            " 'rotation'"
        )


def is_lean(laws: Floats, inv_mass: Floats, inv_inertia: Floats) -> bool:
    """Whether every contact has a diagonal W and plain laws (see `hardgrain.point.lean_2d`)."""
    special = (table.E_TANGENT, table.COHESION, table.ROLLING, table.TORSION)
    return bool(
        (laws[..., table.MU_STATIC] == laws[..., table.MU_DYNAMIC]).all()
        and not any(laws[..., column].any() for column in special)
        and (inv_mass == inv_mass[:, :1]).all()
        and (inv_inertia == inv_inertia[:, :1]).all()
    )
