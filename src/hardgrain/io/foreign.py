"""Grains as a file of another code describes them, before a scene takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.scene.scene import GrainArrays

__all__ = ["Foreign", "pick_frame"]


@dataclass(frozen=True)
class Foreign:
    """Grains of a file, in three dimensions."""

    path: Path
    position: Floats  # (n, 3)
    radius: Floats  # (n,)
    velocity: Floats  # (n, 3)
    spin: Floats  # (n, 3)
    kind: NDArray[np.int32]  # (n,) number of the type, from 0
    dimension: int | None = None  # if the file says it
    cell: Floats | None = None  # (6,) numbers of the periodic cell (`core.cell`), if it says them

    def grains(self, dimension: int | None = None) -> GrainArrays:
        """The grains, checked, in the dimension asked for, or in that of the file or of its z."""
        self._check()
        flat = np.ptp(self.position[:, 2]) == 0.0 and not self.velocity[:, 2].any()
        dim = dimension or self.dimension or (2 if flat else 3)
        if dim == 2 and not flat:
            z = self.position[:, 2]
            raise InputError(
                f"{self.path} has z from {z.min():g} to {z.max():g} or motion along it; a packing"
                " in 2D needs all grains in one plane, otherwise scene.dimension is 3"
            )
        spin = self.spin[:, 2:] if dim == 2 else self.spin
        position, velocity = self.position[:, :dim], self.velocity[:, :dim]
        return GrainArrays(
            position.copy(), self.radius, velocity.copy(), spin.copy(), self.kind.astype(np.int32)
        )

    def moved(self, low: Floats, edges: Floats) -> Foreign:
        """The grains with positions that were given as fractions of a box.

        Its edges are the columns of a matrix (3, 3).
        """
        return replace(self, position=low + self.position @ edges.T)

    def cell_in(self, dimension: int) -> Floats | None:
        """The numbers of the periodic cell in 2D or 3D; None: the file has none that repeats."""
        if self.cell is None:
            return None
        numbers: Floats = self.cell if dimension == 3 else self.cell[[0, 1, 5]]
        return numbers if numbers[:dimension].any() else None

    def _check(self) -> None:
        if self.radius.size == 0:
            raise InputError(f"{self.path} holds no grains in this frame")
        for name in ("position", "radius", "velocity", "spin"):
            rows = getattr(self, name).reshape(self.radius.size, -1)
            bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if bad.size:
                raise InputError(f"{self.path}: grain {bad[0]} has a {name} that is not finite")
        k = int(self.radius.argmin())
        if self.radius[k] <= 0.0:
            raise InputError(
                f"{self.path}: grain {k} has the radius {self.radius[k]:g}; it must be positive"
            )


def pick_frame(path: Path, frame: int, count: int) -> int:
    """A frame by its number, from the end if negative."""
    if not -count <= frame < count:
        has = f"the frames 0 to {count - 1}" if count else "no frames"
        raise InputError(f"frame is {frame}; {path} has {has}")
    return frame % count
