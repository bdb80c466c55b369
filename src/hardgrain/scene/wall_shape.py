"""What a wall looks like: its outline, and its surface cut to a box.

Planes and the cylinders of 3D have no end, so what is drawn of them is what a box cuts out.
Pictures, the viewer and exports all take walls from here; `geometry` has the gap between a wall and
a grain.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import DISK, FLAT, PLANE, ROUND, SEGMENT, TRIANGLE

__all__ = ["EDGES", "WallShape", "WallSurface", "circle", "strips"]

EDGES = 96  # number of edges of a circle, which is drawn as a polygon
CLOSE = 1e-9  # [size of the box] distance between a plane and a corner on it that is only rounding


@dataclass(frozen=True)
class WallSurface:
    """The surface of a wall, made of cells: lines in 2D, flat convex polygons in 3D."""

    points: Floats  # (p, dim) [length]
    cells: list[NDArray[np.int64]]  # the points of each cell, in order

    @property
    def triangles(self) -> NDArray[np.int64]:
        """Points of triangles that fill the polygons, shape (f, 3)."""
        fans = [
            np.stack([np.full(len(cell) - 2, cell[0]), cell[1:-1], cell[2:]], axis=1)
            for cell in self.cells
        ]
        return np.vstack([np.zeros((0, 3), np.int64), *fans])


class WallShape(NamedTuple):
    """One wall where it is; the fields are explained in `hardgrain.core.wall_kinds`."""

    kind: int
    point: Floats
    axis: Floats
    size: float
    side: Floats

    @classmethod
    def all(cls, walls: tuple[Any, ...]) -> list[WallShape]:
        """The walls that arrays of their fields describe."""
        return [cls(*row) for row in zip(*walls, strict=True)]

    @property
    def dim(self) -> int:
        return len(self.point)

    def ends(self) -> Floats:
        """Points whose bounding box holds the wall, shape (k, dim); a plane has none.

        For a cylinder in 3D the box holds its section across the axis at its point.
        """
        if self.kind == PLANE:
            return np.zeros((0, self.dim))
        if self.kind in ROUND:
            across = np.sqrt(np.maximum(1.0 - self.axis**2, 0.0)) if self.dim == 3 else 1.0
            return np.array([self.point - self.size * across, self.point + self.size * across])
        return self.rims()[0]

    def rims(self, edges: int = EDGES) -> list[Floats]:
        """The outer rim (k, dim), and that of a hole, corner facing corner.

        A segment has its two ends, a circle ``edges`` corners; walls without an end have none.
        """
        kind, point, axis, size, side = self
        if kind == SEGMENT:
            return [np.array([point, point + axis])]
        if kind in ROUND and self.dim == 2:
            return [point + size * circle(np.eye(2), edges)]
        if kind not in FLAT:
            return []
        if kind == TRIANGLE:
            return [np.array([point, point + axis, point + side])]
        if kind == DISK:
            radius = float(np.linalg.norm(axis))
            around = circle(np.array(_across(axis / radius)), edges)
            return [point + r * around for r in (radius, size) if r > 0.0]
        corners = point + np.array([0.0 * axis, axis, axis + side, side])
        if size == 0.0:
            return [corners]
        middle, share = corners.mean(axis=0), (np.arange(edges // 4) / (edges // 4))[:, None]
        pairs = zip(corners, np.roll(corners, -1, axis=0), strict=True)
        outer = np.vstack([a + share * (b - a) for a, b in pairs])
        out = outer - middle
        return [outer, middle + size * out / np.linalg.norm(out, axis=1)[:, None]]

    def surface(self, low: Floats, high: Floats, edges: int = EDGES) -> WallSurface:
        """The surface of the wall; if it has no end, the part within a box, which may be empty."""
        if self.kind == PLANE:
            corners = _cut(self.point, self.axis, low, high)
            return WallSurface(corners, [np.arange(len(corners))] if len(corners) else [])
        if self.kind in ROUND and self.dim == 3:
            along = (_corners(low, high) - self.point) @ self.axis
            ring = self.point + self.size * circle(np.array(_across(self.axis)), edges)
            rims = [ring + end * self.axis for end in (along.min(), along.max())]
        else:
            rims = self.rims(edges)
        count = len(rims[0])
        if len(rims) == 2:
            return WallSurface(np.vstack(rims), strips(count))
        closed = self.kind in ROUND  # a circle in 2D is a line that ends where it begins
        return WallSurface(
            rims[0], [np.append(np.arange(count), 0) if closed else np.arange(count)]
        )


def circle(axes: Floats, edges: int = EDGES) -> Floats:
    """Points of the unit circle in the plane of two axes (2, dim), shape (edges, dim)."""
    angle = np.arange(edges) * (2.0 * np.pi / edges)
    points: Floats = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ axes
    return points


def strips(edges: int) -> list[NDArray[np.int64]]:
    """Quadrilaterals between two rings of corners, the second after the first."""
    k = np.arange(edges)
    following = (k + 1) % edges
    return list(np.stack([k, following, edges + following, edges + k], axis=1))


def _corners(low: Floats, high: Floats) -> Floats:
    """Corners of a box, shape (2^dim, dim)."""
    return np.array(list(product(*zip(low, high, strict=True))))


def _cut(point: Floats, normal: Floats, low: Floats, high: Floats) -> Floats:
    """Corners of the polygon (3D) or ends of the line (2D) that a box cuts out of a plane."""
    dim, size = low.size, float(np.linalg.norm(high - low))
    corner = _corners(low, high)
    height = (corner - point) @ normal
    height[np.abs(height) < CLOSE * size] = 0.0
    pairs = [(i, i | 1 << k) for i in range(1 << dim) for k in range(dim) if not i >> k & 1]
    a, b = np.array(pairs).T
    # for a plane that lies in a face, one of the two misses it
    for above in (height > 0.0, height >= 0.0):
        cut = above[a] != above[b]
        if cut.any():
            break
    else:
        return np.zeros((0, dim))
    i, j = a[cut], b[cut]
    share = (height[i] / (height[i] - height[j]))[:, None]
    found = corner[i] + share * (corner[j] - corner[i])
    _, once = np.unique(np.round(found / (CLOSE * size)), axis=0, return_index=True)
    found = found[once]
    if dim == 2:
        return np.asarray(found)
    first, second = _across(normal)
    out = found - found.mean(axis=0)
    around: Floats = found[np.argsort(np.arctan2(out @ second, out @ first))]
    return around


def _across(axis: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors that make a right-handed frame with a third."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
