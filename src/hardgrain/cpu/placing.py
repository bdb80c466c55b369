"""Shapes are put where they are in space, walls that are convex cores among them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.solids import Solids
from hardgrain.core.wall_kinds import MESH, OUTSIDE, RECTANGLE, SEGMENT, TRIANGLE
from hardgrain.kernels import device, jit, scalar
from hardgrain.law.rotation import make_rotation
from hardgrain.point.placed import Placed, Room

__all__ = ["features", "placed", "room_for", "with_wall_shapes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

rotated = make_rotation(scalar).rotated

# Shapes of walls, counted from the end of the table. Their corners are not read: `placed` writes
# them for each wall. A solid cylinder has a radius of one, in the unit of its own.
AXIS, LINE, THREE, FOUR, CENTRE = -5, -4, -3, -2, -1


def with_wall_shapes(solids: Solids, dim: int) -> Solids:
    """The table with five more shapes, which walls have: a line, a flat triangle, and so on."""
    flat = dim == 2
    corners = np.array([2, 2, 3, 4, 1])  # axis, line, triangle, rectangle, centre
    faces = np.array([2, 2, 0, 0, 0]) if flat else np.array([0, 0, 2, 2, 0])
    edges = np.array([0, 0, 3, 4, 0]) if flat else np.array([1, 1, 3, 4, 0])
    radius = np.array([1.0, 0.0, 0.0, 0.0, 1.0])
    first_corner, first_face = len(solids.corner), len(solids.face_normal)
    rim: list[int] = []
    rim_start, edge, edge_face = [int(solids.rim_start[-1])], [], []
    corner, face = first_corner, first_face
    for k in range(5):
        around = [corner + c for c in range(corners[k])]
        for side in range(faces[k]):
            rim += around if side == 0 else around[::-1]
            rim_start.append(rim_start[-1] + len(around))
        for c in range(edges[k]):
            edge.append((around[c], around[(c + 1) % len(around)]))
            edge_face.append((face, face + 1) if faces[k] else (-1, -1))
        corner, face = corner + corners[k], face + faces[k]

    def after(old: Ints, more: NDArray[np.int64]) -> Ints:
        return np.append(old, old[-1] + np.cumsum(more)).astype(np.int32)

    def and_more(old: NDArray, rows: int) -> NDArray:  # type: ignore[type-arg]
        return np.concatenate([old, np.zeros((rows, *old.shape[1:]), old.dtype)])

    def ends(old: Ints, new: list[tuple[int, int]]) -> Ints:
        return np.concatenate([old, np.array(new, np.int32).reshape(-1, 2)])

    return solids._replace(
        part_start=after(solids.part_start, np.ones(5, np.int64)),
        volume=and_more(solids.volume, 5), bound=and_more(solids.bound, 5),
        width=and_more(solids.width, 5), moments=and_more(solids.moments, 5),
        radius=np.append(solids.radius, radius),
        corner_start=after(solids.corner_start, corners),
        face_start=after(solids.face_start, faces), edge_start=after(solids.edge_start, edges),
        corner=and_more(solids.corner, corner - first_corner),
        face_normal=and_more(solids.face_normal, face - first_face),
        rim_start=np.append(solids.rim_start, rim_start[1:]).astype(np.int32),
        rim=np.append(solids.rim, rim).astype(np.int32),
        edge=ends(solids.edge, edge), edge_face=ends(solids.edge_face, edge_face),
    )  # fmt: skip


def most_corners(solids: Solids) -> int:
    """Corners of the part that has most."""
    return int(np.diff(solids.corner_start).max(initial=4))


def features(solids: Solids) -> int:
    """How many features two parts can have: one point, their corners, crossings of their sides."""
    most = most_corners(solids)
    return 1 + 2 * most + most * most


@jit
def room_for(solids, dim):
    """Memory for the narrow phase of these shapes."""
    most = 4
    for p in range(solids.corner_start.size - 1):
        most = max(most, solids.corner_start[p + 1] - solids.corner_start[p])
    size = 2 * most + 2
    return Room(
        np.empty((4, 3)), np.empty(4), np.empty((4, 2), np.int32), np.empty(3),
        np.empty((2, most)), np.empty((3 * most, 3), np.int32),
        np.empty((2, size, 3)), np.empty((2, size, 2), np.int32), np.empty((1, dim)),
        np.empty(size), np.empty((size, 3)), np.empty((size, 3)), np.empty((size, 3)),
        np.empty(size, np.int32), np.empty(size, np.int32),
    )  # fmt: skip


@jit
def rows_of(solids, walls):
    """Shape of each body, and where its corners and faces begin."""
    n, bodies = solids.shape.size, solids.shape.size + walls.kind.size
    dim, shapes = walls.point.shape[1], solids.part_start.size - 1
    shape = np.full(bodies, -1, np.int32)
    corner_start, face_start = np.zeros(bodies + 1, np.int32), np.zeros(bodies + 1, np.int32)
    for i in range(bodies):
        if i < n:
            shape[i] = solids.shape[i]
        else:
            kind = walls.kind[i - n]
            if kind == SEGMENT:
                shape[i] = shapes + LINE
            elif kind in (TRIANGLE, MESH):
                shape[i] = shapes + THREE
            elif kind == RECTANGLE and walls.size[i - n] == 0.0:
                shape[i] = shapes + FOUR
            elif kind == OUTSIDE:
                shape[i] = shapes + (CENTRE if dim == 2 else AXIS)
        corner_start[i + 1], face_start[i + 1] = corner_start[i], face_start[i]
        if shape[i] >= 0:
            p, q = solids.part_start[shape[i]], solids.part_start[shape[i] + 1]
            corner_start[i + 1] += solids.corner_start[q] - solids.corner_start[p]
            face_start[i + 1] += solids.face_start[q] - solids.face_start[p]
    return shape, corner_start, face_start


@device
def balls(solids, shape, size, corner_start, corner):
    """Where the parts of each body begin, and a ball around each, see `Placed`."""
    start = np.zeros(shape.size + 1, np.int32)
    for i in range(shape.size):
        s = shape[i]
        start[i + 1] = start[i]
        if s >= 0:
            start[i + 1] += solids.part_start[s + 1] - solids.part_start[s]
    ball = np.zeros((start[-1], 4))
    for i in range(shape.size):
        if shape[i] < 0:
            continue
        p = solids.part_start[shape[i]]
        shift = corner_start[i] - solids.corner_start[p]
        for row in range(start[i], start[i + 1]):
            first, last = solids.corner_start[p] + shift, solids.corner_start[p + 1] + shift
            x = y = z = square = 0.0
            for c in range(first, last):
                x, y, z = x + corner[c, 0], y + corner[c, 1], z + corner[c, 2]
            x, y, z = x / (last - first), y / (last - first), z / (last - first)
            for c in range(first, last):
                d = (corner[c, 0] - x) ** 2 + (corner[c, 1] - y) ** 2 + (corner[c, 2] - z) ** 2
                square = max(square, d)
            ball[row, 0], ball[row, 1], ball[row, 2] = x, y, z
            ball[row, 3] = math.sqrt(square) + solids.radius[p] * size[i]
            p += 1
    return start, ball


@scalar
def axes_of(orientation, i):
    """The three axes of a body as they are in space."""
    if orientation.shape[1] == 1:
        c, s = math.cos(orientation[i, 0]), math.sin(orientation[i, 0])
        return (c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0)
    by = (orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3])
    x, y, z = rotated(by, (1.0, 0.0, 0.0)), rotated(by, (0.0, 1.0, 0.0)), (0.0, 0.0, 1.0)
    return x, y, rotated(by, z)


@scalar
def turn(axes, size, vectors, k, to, row):
    """Write vector k of a body, turned and scaled, to a row of others."""
    (a, b, c), (d, e, f), (g, h, i) = axes
    x, y, z = size * vectors[k, 0], size * vectors[k, 1], size * vectors[k, 2]
    to[row, 0], to[row, 1] = a * x + d * y + g * z, b * x + e * y + h * z
    to[row, 2] = c * x + f * y + i * z


@scalar
def height_of(normal, f, corner, c):
    """How far a corner is along the normal of a face."""
    return normal[f, 0] * corner[c, 0] + normal[f, 1] * corner[c, 1] + normal[f, 2] * corner[c, 2]


# The core of a wall is given by its corners about the middle of their box. A cylinder's axis is as
# long as the largest grain on either side of the point beside the grain, which is found anew for
# each grain: there no grain can reach its ends.
@scalar
def place_wall(walls, w, at, body, longest):
    """Write the corners and faces of a wall's core, ``at``: its first rows; its bound."""
    corner, normal, centre = body
    c, f = at
    dim, kind = walls.point.shape[1], walls.kind[w]
    corners = 2 if kind == SEGMENT else (3 if kind == TRIANGLE else 4)
    for x in range(dim):
        a, b = walls.axis[w, x], walls.side[w, x]
        if kind == OUTSIDE:
            centre[w, x] = walls.point[w, x]
            if dim == 3:
                corner[c, x], corner[c + 1, x] = longest * a, -longest * a
            continue
        middle = 0.5 * (a + b)
        centre[w, x] = walls.point[w, x] + middle
        corner[c, x], corner[c + 1, x] = -middle, a - middle
        if kind == TRIANGLE:
            corner[c + 2, x] = b - middle
        elif kind == RECTANGLE:
            corner[c + 2, x], corner[c + 3, x] = middle, b - middle
    if kind == OUTSIDE:
        return walls.size[w]
    ax, ay, az = walls.axis[w, 0], walls.axis[w, 1], 0.0
    bx, by, bz = 0.0, 0.0, 1.0  # a segment is a wall along z
    if dim == 3:
        az = walls.axis[w, 2]
        bx, by, bz = walls.side[w, 0], walls.side[w, 1], walls.side[w, 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    r = 1.0 / math.sqrt(x * x + y * y + z * z)
    normal[f, 0], normal[f, 1], normal[f, 2] = x * r, y * r, z * r
    normal[f + 1, 0], normal[f + 1, 1], normal[f + 1, 2] = -x * r, -y * r, -z * r
    normal[f, 3] = height_of(normal, f, corner, c)
    normal[f + 1, 3] = -normal[f, 3]
    bound = 0.0
    for k in range(c, c + corners):
        bound = max(bound, math.sqrt(corner[k, 0] ** 2 + corner[k, 1] ** 2 + corner[k, 2] ** 2))
    return bound


@jit
def placed(solids, orientation, walls):
    """All bodies as they stand in space, once a step; see `Placed`.

    solids: the table, with the shapes of walls; orientation: of all bodies, (nb, 1) or (nb, 4).
    """
    shape, corner_start, face_start = rows_of(solids, walls)
    n, bodies = solids.shape.size, shape.size
    size, bound = np.ones(bodies), np.zeros(bodies)
    corner, normal = np.zeros((corner_start[-1], 3)), np.zeros((face_start[-1], 4))
    centre = np.zeros((bodies - n, 3))
    longest = 0.0
    for i in range(n):
        s = shape[i]
        size[i] = solids.size[i]
        bound[i] = solids.bound[s] * size[i]
        longest = max(longest, bound[i])
        p, axes = solids.part_start[s], axes_of(orientation, i)
        shift = solids.corner_start[p] - corner_start[i]
        for c in range(corner_start[i], corner_start[i + 1]):
            turn(axes, size[i], solids.corner, c + shift, corner, c)
        to_corner, shift = -shift, solids.face_start[p] - face_start[i]
        for f in range(face_start[i], face_start[i + 1]):
            turn(axes, 1.0, solids.face_normal, f + shift, normal, f)
            c = solids.rim[solids.rim_start[f + shift]] + to_corner
            normal[f, 3] = height_of(normal, f, corner, c)
    for i in range(n, bodies):
        if shape[i] >= 0 and walls.kind[i - n] != MESH:
            at, body = (corner_start[i], face_start[i]), (corner, normal, centre)
            bound[i] = place_wall(walls, i - n, at, body, 2.0 * longest)
            if walls.kind[i - n] == OUTSIDE:
                size[i] = walls.size[i - n]
    start, ball = balls(solids, shape, size, corner_start, corner)
    return Placed(
        shape, size, bound, corner_start, face_start, corner, normal, start, ball, centre
    )  # fmt: skip
