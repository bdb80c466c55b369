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

from hardgrain.core.meshes import NO_MESHES, Meshes
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


class Triangles(NamedTuple):
    """The triangles of a mesh in the frame of its wall, see `hardgrain.core.meshes`."""

    corner: Floats  # (c, 3)
    triangle: NDArray[np.integer[Any]]  # (t, 3)
    normal: Floats  # (t, 3)

    @classmethod
    def of(cls, meshes: Meshes, w: int) -> Triangles | None:
        """Those of wall w; None if it is no mesh."""
        if not meshes.one_sided.size:
            return None
        c, d = meshes.corner_start[w : w + 2]
        t, u = meshes.triangle_start[w : w + 2]
        if t == u:
            return None
        return cls(meshes.corner[c:d], meshes.triangle[t:u] - c, meshes.normal[t:u])

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Corners of all edges (e, 2), and the first and last triangle at each (e, 2)."""
        ends = np.stack([self.triangle, np.roll(self.triangle, -1, axis=1)], axis=-1)
        ends = np.sort(ends.reshape(-1, 2), axis=1)
        edge, at = np.unique(ends, axis=0, return_inverse=True)
        owner = np.full((len(edge), 2), -1)
        each = np.arange(len(ends)) // 3
        owner[at.ravel()[::-1], 0] = each[::-1]
        owner[at.ravel(), 1] = each
        return edge, owner


class WallShape(NamedTuple):
    """One wall where it is; the fields are explained in `hardgrain.core.wall_kinds`."""

    kind: int
    point: Floats
    axis: Floats
    size: float
    side: Floats
    mesh: Triangles | None = None

    @classmethod
    def all(cls, walls: tuple[Any, ...], meshes: Meshes = NO_MESHES) -> list[WallShape]:
        """The walls that arrays of their fields describe, and their triangles."""
        found = [cls(*row) for row in zip(*walls, strict=True)]
        return [wall._replace(mesh=Triangles.of(meshes, w)) for w, wall in enumerate(found)]

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
        if self.mesh is not None:
            return self.corners()
        return self.rims()[0]

    def corners(self) -> Floats:
        """Corners of a mesh where they are, shape (c, 3)."""
        assert self.mesh is not None
        found: Floats = self.point + self.mesh.corner @ self._axes()
        return found

    def _axes(self) -> Floats:
        """Axes of a mesh as rows, which its box tells."""
        first, second = (v / np.linalg.norm(v) for v in (self.axis, self.side))
        return np.array([first, second, np.cross(first, second)])

    def outline(self, along: Floats, sharp: float = 0.5) -> Floats:
        """Edges of a mesh that are seen along a direction, shape (e, 2, 3).

        They are its rims, its edges of an angle above ``sharp`` [rad], and those where it turns
        away from the eye.
        """
        assert self.mesh is not None
        edge, owner = self.mesh.edges()
        normal = self.mesh.normal @ self._axes()
        one, two = normal[owner[:, 0]], normal[owner[:, 1]]
        away = (one @ along > 1e-9) != (two @ along > 1e-9)
        bent = np.abs(np.einsum("ka,ka->k", one, two)) < np.cos(sharp)
        drawn = away | bent | (owner[:, 0] == owner[:, 1])
        found: Floats = self.corners()[edge[drawn]]
        return found

    def rims(self, edges: int = EDGES) -> list[Floats]:
        """The outer rim (k, dim), and that of a hole, corner facing corner.

        A segment has its two ends, a circle ``edges`` corners; walls without an end have none.
        """
        kind, point, axis, size, side, _ = self
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
        if self.mesh is not None:
            return WallSurface(self.corners(), list(np.asarray(self.mesh.triangle, np.int64)))
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
