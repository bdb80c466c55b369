"""What is prescribed over time: motions, locks, and loads on bodies and on the cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.brief import brief

__all__ = [
    "FORCE", "SPIN", "TORQUE", "VELOCITY", "Drive", "Lock", "Membrane", "Pressure", "Stress",
]  # fmt: skip

Floats = NDArray[np.float64]
Rows = NDArray[np.integer[Any]]  # of arrays

VELOCITY, SPIN, FORCE, TORQUE = "velocity", "spin", "force", "torque"


@brief
@dataclass(frozen=True)
class Drive:
    """One component of the velocity, spin, force or torque of some bodies over time."""

    what: str  # VELOCITY, SPIN, FORCE or TORQUE
    bodies: slice | Rows
    axis: int
    value: Callable[[float], float]
    constant: bool


@brief
@dataclass(frozen=True)
class Lock:
    """One component of the motion of some bodies that is held while a function is positive."""

    what: str  # VELOCITY or SPIN
    bodies: slice | Rows
    axis: int
    value: Callable[[float], float]


@dataclass(frozen=True)
class Pressure:
    """A piston pressed by pressure × area; the area spans pairs of walls, or is a given number."""

    body: int
    direction: Floats  # (dim,) unit vector of the push
    pressure: Callable[[float], float]
    area: float  # used where ``between`` is empty
    between: tuple[tuple[int, int, int], ...]  # (wall body, wall body, axis) of each span


@dataclass(frozen=True)
class Membrane:
    """A flexible membrane around the grains, with a pressure outside, see `step.membrane`."""

    radius: float  # of the ball that finds it [length]
    # None: it is drawn and measured, but its load is not known
    pressure: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Stress:
    """One component of the stress that is put on the cell, compression being positive."""

    component: int  # in the order of Voigt, see `core.cell`
    value: Callable[[float], float]
    constant: bool = False
