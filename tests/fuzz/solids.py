"""Tables of shapes from corners alone, for tests: faces and edges come from scipy's hulls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from hardgrain.core.solids import Solids
from hardgrain.core.wall_kinds import Walls

Floats = NDArray[np.float64]
Part = tuple[Floats, float]  # corners (k, dim), radius
Face = tuple[Floats, list[int]]  # normal, corners around it
Edge = tuple[tuple[int, int], tuple[int, ...]]  # its corners, its faces

CUBE = np.array([*itertools.product([-0.5, 0.5], repeat=3)])
SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def _flat(corners: Floats, normal: Floats, edges: bool) -> tuple[list[Face], list[Edge]]:
    around = [*range(len(corners))]
    sides = [((i, (i + 1) % len(around)), (0, 1)) for i in around] if edges else []
    return [(normal, around), (-normal, around[::-1])], sides


def _hull(corners: Floats) -> tuple[list[Face], list[Edge]]:
    """Faces of a polyhedron, triangles of one plane put together, and its edges."""
    hull = ConvexHull(corners)
    planes: list[tuple[Floats, set[int]]] = []
    for equation, simplex in zip(hull.equations, hull.simplices):
        for plane, members in planes:
            if np.abs(plane - equation).max() < 1e-9:
                members.update(map(int, simplex))
                break
        else:
            planes.append((equation, {*map(int, simplex)}))
    faces: list[Face] = []
    meet: dict[tuple[int, int], list[int]] = {}
    for f, (plane, members) in enumerate(planes):
        rows = np.array(sorted(members))
        from_middle = corners[rows] - corners[rows].mean(axis=0)
        right = from_middle[0]
        up = np.cross(plane[:3], right)
        rim = rows[np.argsort(np.arctan2(from_middle @ up, from_middle @ right))].tolist()
        turns = np.cross(
            corners[rim] - corners[rim[0]], np.roll(corners[rim], -1, 0) - corners[rim[0]]
        )
        normal = turns.sum(axis=0)
        faces.append((normal / np.linalg.norm(normal), rim))
        for i, j in zip(rim, rim[1:] + rim[:1]):
            meet.setdefault((min(i, j), max(i, j)), []).append(f)
    return faces, [(ends, tuple(of)) for ends, of in meet.items()]


def _features(corners: Floats, dim: int) -> tuple[list[Face], list[Edge]]:
    count = len(corners)
    if count == 1:
        return [], []
    along = np.roll(corners, -1, 0) - corners
    if dim == 2:
        normals = np.c_[along[:, 1], -along[:, 0], 0.0 * along[:, 0]]
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        return [(normals[i], [i, (i + 1) % count]) for i in range(count)], []
    if count == 2:
        return [], [((0, 1), (-1, -1))]
    spread = np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)
    if spread[-1] < 1e-9 * spread[0] or count == 3:
        normal = np.cross(along[0], along[1])
        return _flat(corners, normal / np.linalg.norm(normal), True)
    return _hull(corners)


def table(shapes: Sequence[Sequence[Part]], of: Any, size: Any, dim: int) -> Solids:
    """Grains that have shapes ``of`` and sizes, and the table; a shape is a list of parts."""
    parts, corner_start, face_start, edge_start, rim_start = [0], [0], [0], [0], [0]
    radius: list[float] = []
    corner: list[Floats] = []
    normal: list[Floats] = []
    rim: list[int] = []
    edge: list[list[int]] = []
    edge_face: list[list[int]] = []
    bound: list[float] = []
    for shape in shapes:
        far = 0.0
        for corners, r in shape:
            points = np.zeros((len(corners), 3))
            points[:, :dim] = corners
            faces, edges = _features(points, dim)
            first, face = len(corner), len(normal)
            corner += [*points]
            for outwards, around in faces:
                normal.append(outwards)
                rim += [first + c for c in around]
                rim_start.append(len(rim))
            edge += [[first + c for c in ends] for ends, _ in edges]
            edge_face += [[face + f if f >= 0 else -1 for f in meet] for _, meet in edges]
            radius.append(r)
            corner_start.append(len(corner))
            face_start.append(len(normal))
            edge_start.append(len(edge))
            far = max(far, float(np.linalg.norm(points, axis=1).max()) + r)
        parts.append(len(radius))
        bound.append(far)
    count = len(shapes)

    def ints(rows: Any) -> NDArray[np.int32]:
        return np.array(rows, np.int32)

    return Solids(
        ints(of), np.array(size, float), ints(parts), np.ones(count), np.array(bound),
        np.ones(count), np.ones((count, 3)), np.array(radius), ints(corner_start),
        ints(face_start), ints(edge_start), np.array(corner).reshape(-1, 3),
        np.array(normal).reshape(-1, 3), ints(rim_start), ints(rim), ints(edge).reshape(-1, 2),
        ints(edge_face).reshape(-1, 2),
    )  # fmt: skip


def no_walls(dim: int) -> Walls:
    """No walls."""
    none = np.zeros((0, dim))
    return Walls(np.zeros(0, np.int32), none, none, np.zeros(0), none)
