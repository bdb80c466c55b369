"""Locks and drives of a set of grains, and what makes them one body with a wall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hardgrain.core import lawtable as table
from hardgrain.core.model import (
    FORCE,
    SPIN,
    TORQUE,
    VELOCITY,
    Drive,
    Floats,
    Ints,
    Lock,
)
from hardgrain.errors import InputError
from hardgrain.scene._checks import (
    AXES,
    as_spin,
    components,
    spins,
)
from hardgrain.scene.drive import compile_function
from hardgrain.scene.spec import Grains

__all__ = ["check_rolling", "drives_of", "locks_of", "material_of_plate"]


def locks_of(
    spec: Grains, dim: int, at: str, bodies: Any, inv_mass: Floats, inv_inertia: Floats
) -> Iterator[Lock]:
    """Lock for the whole run what has no function of time, and yield the other locks."""
    for name in spec.lock:
        if dim == 2 and name in ("z", "rx", "ry", "rz"):
            raise InputError(f"{at}.lock holds {name!r}; in 2D it takes 'x', 'y' and 'rotation'")
        what, inverse, axes = SPIN, inv_inertia, [AXES.find(name[-1])]
        if name == "rotation":
            axes = list(range(spins(dim)))
        elif not name.startswith("r"):
            what, inverse = VELOCITY, inv_mass
        for axis in axes:
            if isinstance(spec.lock, dict):
                yield Lock(what, bodies, axis, compile_function(spec.lock[name]))
            else:
                inverse[bodies, axis] = 0.0


# Fields that grains glued to a wall take from it.
_OF_PLATE = (
    "velocity", "spin", "speed", "lock", "force", "torque", "driven_velocity", "driven_spin",
    "insert",
)  # fmt: skip


def material_of_plate(spec: Grains, at: str, names: Sequence[str], plate: int) -> int:
    """The material of glued grains, that of their wall; refuses fields that they cannot have."""
    for name in _OF_PLATE:
        if getattr(spec, name):
            raise InputError(
                f"{at}.{name} is given, but grains glued to a wall move as it does; leave out"
                f" {name} or glued_to"
            )
    if spec.material not in (None, names[plate]):
        raise InputError(
            f"{at}.material is {spec.material!r}, but grains glued to wall {spec.glued_to!r} are"
            f" one body with it, of {names[plate]!r}; give that, or leave material out"
        )
    return plate


def check_rolling(laws: Floats, entry: Ints, where: str) -> None:
    """Refuse rolling resistance of bodies that have more than one curvature."""
    for column, name in ((table.ROLLING, "rolling"), (table.TORSION, "torsion")):
        found = np.argwhere(laws[..., column] > 0.0)
        if found.size:
            raise InputError(
                f"scene.contacts[{entry[tuple(found[0])]}].{name} is"
                f" {laws[(*found[0], column)]:g} but must be 0 {where}"
            )


def drives_of(spec: Grains, dim: int, at: str, bodies: Any) -> Iterator[Drive]:
    ns = spins(dim)
    for what, values, count, name in (
        (FORCE, spec.force, dim, "force"),
        (TORQUE, as_spin(spec.torque, dim, f"{at}.torque"), ns, "torque"),
        (VELOCITY, spec.driven_velocity, dim, "driven_velocity"),
        (SPIN, as_spin(spec.driven_spin, dim, f"{at}.driven_spin"), ns, "driven_spin"),
    ):
        for drive in components(values, count, f"{at}.{name}", what):
            yield replace(drive, bodies=bodies)
