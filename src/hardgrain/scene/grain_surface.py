"""Surfaces of grains in space: polygons and triangles of each shape, in its own frame.

Parts with sharp corners have their own faces. The surface of a rounded part is the convex hull of
points on it: the corners of its faces, moved out by the radius, so that flat faces stay flat; and
in each of many even directions the point that lies farthest there. A clump has the surfaces of all
its parts, of which those inside others are hidden. In 2D a shape is a flat polygon.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids
from hardgrain.scene.grain_outline import part_loops, shape_outlines
from hardgrain.scene.grain_shape import (
    GrainShape,
    Part,
    Rows,
    frames,
    grain_shapes,
    once_for,
    rows_of,
)

__all__ = ["GrainSurface", "GrainSurfaces", "ball", "grain_surfaces", "placed", "shape_surfaces"]

# How often the edges of an icosahedron are halved for the directions of a rounded part; one of
# level k has 20 · 4^k triangles when it is a ball.
FINENESS = 2


class GrainSurface(NamedTuple):
    """The surface of a shape in its own frame [size]: flat convex polygons over points.

    In 2D there is one polygon, which need not be convex.
    """

    points: Floats  # (p, 3)
    cells: list[Rows]  # points of each polygon, counter-clockwise seen from outside

    @property
    def triangles(self) -> Rows:
        """Points of triangles that fill the polygons, shape (f, 3)."""
        fans = [
            np.stack([np.full(len(cell) - 2, cell[0]), cell[1:-1], cell[2:]], axis=1)
            for cell in self.cells
        ]
        return np.concatenate([np.zeros((0, 3), np.int64), *fans])


class GrainSurfaces(NamedTuple):
    """Surfaces of several things, one after the other."""

    points: Floats  # (p, 3)
    connectivity: Rows  # points of all polygons, numbered over all points
    offsets: Rows  # (cells + 1,) where each polygon begins
    grain: Rows  # (cells,) thing to which each polygon belongs


def shape_surfaces(
    solids: Solids, dim: int, fineness: int = FINENESS, convex: bool = False
) -> list[GrainSurface]:
    """The surface of every shape of the table; ``convex``: in 2D as parts, which may overlap."""
    return once_for(solids, _surfaces, dim, fineness, convex)


def _surfaces(solids: Solids, dim: int, fineness: int, convex: bool) -> list[GrainSurface]:
    if dim == 3:
        return [_solid(shape, fineness) for shape in grain_shapes(solids, dim)]
    if convex:
        parts, ends = part_loops(solids), solids.part_start.tolist()
        return [_flat(parts[i:j]) for i, j in itertools.pairwise(ends)]
    outlines = once_for(solids, shape_outlines)
    return [_flat(outlines.loops(k)) for k in range(len(solids.part_start) - 1)]


def _flat(loops: list[Floats]) -> GrainSurface:
    """The loops of an outline as polygons in the plane z = 0; a hole is filled."""
    outer = [loop for loop in loops if _area(loop) > 0.0]
    points = np.concatenate([np.zeros((0, 2)), *outer])
    start = np.cumsum([0, *map(len, outer)])
    cells = [np.arange(i, j) for i, j in itertools.pairwise(start)]
    return GrainSurface(np.pad(points, ((0, 0), (0, 1))), cells)


def _area(loop: Floats) -> float:
    (x, y), (a, b) = loop.T, np.roll(loop, -1, axis=0).T
    return 0.5 * float(np.sum(x * b - a * y))


def _solid(shape: GrainShape, fineness: int) -> GrainSurface:
    parts = [_part(part, fineness) for part in shape.parts]
    start = np.cumsum([0, *(len(part.points) for part in parts)])
    cells = [begin + cell for begin, part in zip(start, parts) for cell in part.cells]
    return GrainSurface(np.concatenate([part.points for part in parts]), cells)


def _part(part: Part, fineness: int) -> GrainSurface:
    if part.radius == 0.0:
        return GrainSurface(part.corner, part.rim)
    unit, faces = ball(fineness)
    if len(part.corner) == 1:
        return GrainSurface(part.corner + part.radius * unit, list(faces))
    far = part.corner[np.argmax(part.corner @ unit.T, axis=0)] + part.radius * unit
    flat = [part.corner[rim] + part.radius * out for rim, out in zip(part.rim, part.normal)]
    points = np.concatenate([far, *flat])
    hull = ConvexHull(points)
    used, corners = np.unique(hull.simplices, return_inverse=True)
    points, corners = points[used], corners.reshape(-1, 3)
    a, b, c = points[corners].transpose(1, 0, 2)
    inward = np.einsum("ka,ka->k", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    corners[inward] = corners[inward, ::-1]
    return GrainSurface(points, list(corners.astype(np.int64)))


@cache
def ball(fineness: int) -> tuple[Floats, Rows]:
    """Points (p, 3) and triangles (f, 3) of a unit ball: an icosahedron whose edges are halved."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    one = [(0.0, a, b * golden) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    points = np.array([np.roll(p, k) for k in range(3) for p in one]) / np.hypot(1.0, golden)
    faces = ConvexHull(points).simplices.astype(np.int64)
    for _ in range(fineness):
        ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edge, middle = np.unique(ends, axis=0, return_inverse=True)
        between = points[edge].sum(axis=1)
        d, e, f = (len(points) + middle.reshape(-1, 3)).T
        a, b, c = faces.T
        points = np.vstack([points, between / np.linalg.norm(between, axis=1, keepdims=True)])
        faces = np.concatenate(
            [np.stack(t, axis=1) for t in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))]
        )
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("ka,ka->k", np.cross(b - a, c - a), a) < 0.0
    faces[inward] = faces[inward, ::-1]
    return points, faces


# ---------------------------------------------------------------------- where grains are
class _Table(NamedTuple):
    points: Floats
    point_start: Rows
    corners: Rows  # of all cells, numbered within their shape
    corner_start: Rows  # (cells + 1,)
    cell_start: Rows  # (shapes + 1,)


def _table(solids: Solids, dim: int, fineness: int, convex: bool) -> _Table:
    surfaces = shape_surfaces(solids, dim, fineness, convex)
    cells = [cell for s in surfaces for cell in s.cells]
    return _Table(
        np.concatenate([np.zeros((0, 3)), *(s.points for s in surfaces)]),
        np.cumsum([0, *(len(s.points) for s in surfaces)]),
        np.concatenate([np.zeros(0, np.int64), *cells]),
        np.cumsum([0, *map(len, cells)]),
        np.cumsum([0, *(len(s.cells) for s in surfaces)]),
    )


def grain_surfaces(
    solids: Solids,
    orientation: Floats,
    centre: Floats,
    fineness: int = FINENESS,
    convex: bool = False,
) -> GrainSurfaces:
    """Surfaces of grains where they are; centres are (n, dim)."""
    dim = centre.shape[1]
    table = once_for(solids, _table, dim, fineness, convex)
    rows, grain = rows_of(table.point_start, solids.shape)
    points = placed(solids, frames(orientation), table.points[rows], grain)
    points[:, :dim] += centre[grain]
    cells, owner = rows_of(table.cell_start, solids.shape)
    corners, cell = rows_of(table.corner_start, cells)
    begin = np.cumsum(np.diff(table.point_start)[solids.shape])
    begin = np.concatenate([[0], begin])
    offsets = np.concatenate([[0], np.cumsum(np.diff(table.corner_start)[cells])])
    return GrainSurfaces(points, table.corners[corners] + begin[owner[cell]], offsets, owner)


def placed(solids: Solids, turn: Floats, points: Floats, grain: Rows) -> Floats:
    """Points of grains' own frames [size], turned into space about their centres [length]."""
    found: Floats = np.einsum("kab,kb->ka", turn[grain], points) * solids.size[grain, None]
    return found
