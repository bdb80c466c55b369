"""Checks of a scene as a whole, and which path of the solver it may take."""

from __future__ import annotations

import os

from hardgrain.errors import InputError
from hardgrain.scene import lawtable as table
from hardgrain.scene._checks import (
    AXES,
)
from hardgrain.scene.model import (
    Floats,
)

__all__ = ["check_memory", "check_periods", "check_sizes", "is_lean"]

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


def is_lean(laws: Floats, inv_mass: Floats, inv_inertia: Floats) -> bool:
    """Whether every contact has a diagonal W and plain laws (see `hardgrain.point.lean_2d`)."""
    special = (table.E_TANGENT, table.COHESION, table.ROLLING, table.TORSION)
    return bool(
        (laws[..., table.MU_STATIC] == laws[..., table.MU_DYNAMIC]).all()
        and not any(laws[..., column].any() for column in special)
        and (inv_mass == inv_mass[:, :1]).all()
        and (inv_inertia == inv_inertia[:, :1]).all()
    )
