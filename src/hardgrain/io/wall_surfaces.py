"""All walls of a moment as cells over points, for programs that draw: polygons in 3D, lines in 2D.

Planes and cylinders have no end. They are cut at a box around all grains, their shadow on each
plane, and the finite walls; so every wall is seen, and a box of walls is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import PLANE, ROUND
from hardgrain.measure.snapshot import Snapshot

__all__ = ["Surfaces", "wall_surfaces"]


@dataclass(frozen=True)
class Surfaces:
    """Cells (lines in 2D, polygons in 3D) over points, with the wall that each belongs to."""

    points: Floats  # (p, dim)
    connectivity: NDArray[np.int64]  # points of all cells, one after the other
    offsets: NDArray[np.int64]  # (cells + 1,) where each cell begins
    wall: NDArray[np.int64]  # (cells,) wall to which each cell belongs


def wall_surfaces(snap: Snapshot) -> Surfaces:
    """The surfaces of all walls of a snapshot."""
    low, high = _bounds(snap)
    parts = [wall.surface(low, high) for wall in snap.wall_shapes]
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    cells = [start + cell for start, part in zip(starts, parts) for cell in part.cells]
    return Surfaces(
        np.vstack([np.zeros((0, snap.dim)), *(part.points for part in parts)]),
        np.concatenate([np.zeros(0, np.int64), *cells]),
        np.cumsum([0, *map(len, cells)]),
        np.repeat(np.arange(len(parts)), [len(part.cells) for part in parts]),
    )


def _bounds(snap: Snapshot) -> tuple[Floats, Floats]:
    """Corners of the box at which walls are cut."""
    straight = snap.cell.repeats & (snap.cell.matrix == np.diag(snap.cell.period)).all(axis=1)
    low, high = np.where(straight, (snap.low, snap.low + snap.cell.period), snap.box)
    middle, corners = 0.5 * (low + high), np.array(list(product(*zip(low, high))))
    for wall in snap.wall_shapes:
        point, axis = wall.point, wall.axis
        if wall.kind == PLANE:
            seen = corners - np.outer((corners - point) @ axis, axis)
        elif wall.kind in ROUND:  # its section beside the middle
            seen = wall._replace(point=point + np.dot(middle - point, axis) * axis).ends()
        else:
            seen = wall.ends()
        low, high = np.min([low, *seen], axis=0), np.max([high, *seen], axis=0)
    return low, high
