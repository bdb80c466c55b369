"""Regions of space that a scene names, such as those where grains are taken out."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from hardgrain.scene._base import Finite, Numbers, Positive, Spec

__all__ = ["BallRegion", "BlockRegion", "Region", "TubeRegion"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class BlockRegion(Spec):
    """A rectangle (2D) or block (3D) along the axes."""

    kind: Literal["block"] = "block"
    min: Numbers  # lower corner, a number for each axis [length]
    max: Numbers  # upper corner, a number for each axis [length]

    @model_validator(mode="after")
    def _check(self) -> BlockRegion:
        if len(self.min) != len(self.max):
            raise ValueError(
                f"min has {len(self.min)} entries but max has {len(self.max)};"
                " give one per dimension to each"
            )
        for axis, low, high in zip("xyz", self.min, self.max):
            if not low < high:
                raise ValueError(f"max is {high:g} along {axis} but must exceed min, {low:g}")
        return self

    @property
    def dim(self) -> int:
        return len(self.min)

    def holds(self, x: Floats, period: Floats) -> Bools:
        """Which of the points x (n, dim) lie inside, by themselves or as an image, shape (n,).

        period: (dim,) [length], 0 along open axes.
        """
        low, high = np.array(self.min), np.array(self.max)
        x = low + _wrapped(x - low, period)
        inside: Bools = np.all((x >= low) & (x < high), axis=1)
        return inside


class BallRegion(Spec):
    """A disk (2D) or ball (3D)."""

    kind: Literal["ball"] = "ball"
    center: Numbers  # its centre, a number for each axis [length]
    radius: Positive  # its radius [length]

    @property
    def dim(self) -> int:
        return len(self.center)

    def holds(self, x: Floats, period: Floats) -> Bools:
        """Which of the points x (n, dim) lie inside, by themselves or as an image, shape (n,)."""
        away = _nearest(x - np.array(self.center), period)
        inside: Bools = np.linalg.norm(away, axis=1) < self.radius
        return inside


class TubeRegion(Spec):
    """A cylinder with flat ends (3D)."""

    kind: Literal["tube"] = "tube"
    center: tuple[Finite, Finite, Finite]  # middle of its axis [length]
    axis: tuple[Finite, Finite, Finite] = (0.0, 0.0, 1.0)  # direction of its axis [1]
    radius: Positive  # its radius [length]
    length: Positive  # its length along the axis [length]

    @model_validator(mode="after")
    def _check(self) -> TubeRegion:
        if not 0.0 < math.hypot(*self.axis) < math.inf:
            raise ValueError("axis is the zero vector, or beyond the range of numbers")
        return self

    @property
    def dim(self) -> int:
        return 3

    def holds(self, x: Floats, period: Floats) -> Bools:
        """Which of the points x (n, dim) lie inside, by themselves or as an image, shape (n,)."""
        away = _nearest(x - np.array(self.center), period)
        height = away @ (np.array(self.axis) / math.hypot(*self.axis))
        across = np.sqrt(np.maximum(np.einsum("ia,ia->i", away, away) - height**2, 0.0))
        inside: Bools = (np.abs(height) < 0.5 * self.length) & (across < self.radius)
        return inside


Region = Annotated[BlockRegion | BallRegion | TubeRegion, Field(discriminator="kind")]


def _wrapped(apart: Floats, period: Floats) -> Floats:
    """Coordinates moved by whole periods into [0, period) along periodic axes."""
    turns = np.floor(apart / np.where(period > 0.0, period, np.inf))
    return apart - period * turns


def _nearest(apart: Floats, period: Floats) -> Floats:
    """Coordinates moved by whole periods as near to zero as possible."""
    return _wrapped(apart + 0.5 * period, period) - 0.5 * period
