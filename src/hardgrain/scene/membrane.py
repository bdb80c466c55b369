"""A flexible membrane around the grains of a scene, as a user writes it; see `step.membrane`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardgrain.core import drives
from hardgrain.core.model import SPIN, Floats, Model
from hardgrain.core.wall_kinds import PLANE
from hardgrain.errors import InputError
from hardgrain.scene._base import Positive, Spec
from hardgrain.scene.drive import TimeFunction, compile_function, is_constant

__all__ = ["Membrane", "radius_of", "with_membrane"]

# [largest diameter] A ball smaller than 1/√3 passes between three balls that touch each other.
LEAST = 0.6


class Membrane(Spec):
    """A flexible membrane around all grains; a pressure outside presses on the outer ones.

    It lies on the centres that a ball touches which rolls around the sample. Planes are platens:
    it meets them at a right angle, and they feel nothing of it.
    """

    pressure: TimeFunction  # pressure outside [force/length^(d−1)]
    # radius of the ball, up to which the membrane bends inwards [length]; default: the diameter of
    # the largest grain
    radius: Positive | None = None


def radius_of(given: float | None, radius: Floats) -> float:
    """The radius of the ball, for grains of these radii."""
    return given or 2.0 * float(radius.max(initial=0.0))


def with_membrane(spec: Membrane, model: Model) -> Model:
    """The model with a membrane around its grains."""
    _check_scene(model)
    largest = 2.0 * float(model.radius.max(initial=0.0))
    radius = radius_of(spec.radius, model.radius)
    if radius < LEAST * largest:
        raise InputError(
            f"scene.membrane.radius is {radius:g}; with the largest diameter {largest:g} it must be"
            f" at least {LEAST * largest:g}, so that the membrane holds grains that touch"
        )
    pressure = compile_function(spec.pressure)
    if is_constant(spec.pressure) and pressure(0.0) < 0.0:
        raise InputError(
            f"scene.membrane.pressure is {pressure(0.0):g}, which pulls; give a number from 0, or a"
            " function of time"
        )
    return replace(model, membrane=drives.Membrane(radius, pressure))


def _check_scene(model: Model) -> None:
    """Refuse scenes that a membrane does not go with."""
    for axis in np.flatnonzero(model.periodic > 0.0):
        raise InputError(
            f"scene.membrane is given, but the scene repeats along {'xyz'[axis]}; a membrane is"
            " for scenes that end, so leave out scene.periodic or the membrane"
        )
    if (model.carrier != np.arange(model.bodies)).any():
        raise InputError("scene.membrane is given, which does not go with bodies glued to walls")
    planes = np.flatnonzero(model.wall_kind == PLANE)
    for drive in model.drives:
        for k in planes:
            if drive.what == SPIN and np.arange(model.bodies)[drive.bodies] == model.n + k:
                raise InputError(
                    f"scene.membrane is given, and the wall {model.wall_names[k]!r} turns; planes"
                    " that bound a membrane cannot"
                )
    normal = model.wall_axis[planes]
    for i, j in np.argwhere(np.triu(np.abs(normal @ normal.T) > 1e-9, 1)):
        if normal[i] @ normal[j] > -1.0 + 1e-9:
            names = " and ".join(repr(model.wall_names[planes[k]]) for k in (i, j))
            raise InputError(
                f"scene.membrane is given, and the walls {names} neither face each other nor stand"
                " at a right angle; a membrane is bounded by planes that do"
            )
