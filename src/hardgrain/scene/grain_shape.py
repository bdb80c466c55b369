"""The shapes of grains for all that draws, exports or names them: parts, names and places.

A shape is read out of `hardgrain.core.solids.Solids`, in its own frame and in units of a grain's
size. A grain's own frame is where `State.orientation` turns it. Outlines in the plane are made in
`scene.grain_outline`, surfaces in space in `scene.grain_surface`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids

__all__ = [
    "GrainShape",
    "Part",
    "frames",
    "grain_shapes",
    "longest",
    "once_for",
    "rows_of",
    "sides",
]

Rows = NDArray[np.int64]

_POLYGONS = {
    3: "triangle", 4: "quadrilateral", 5: "pentagon", 6: "hexagon", 7: "heptagon", 8: "octagon",
}  # fmt: skip
# Names of polyhedra by their numbers of faces and corners.
_POLYHEDRA = {
    (4, 4): "tetrahedron", (6, 8): "hexahedron", (8, 6): "octahedron", (12, 20): "dodecahedron",
    (20, 12): "icosahedron", (5, 5): "pyramid", (5, 6): "wedge",
}  # fmt: skip
RIGHT = 1e-9  # cosine of a right angle between two faces, but for rounding


class Part(NamedTuple):
    """A convex part of a shape: the hull of its corners and all within a radius of it."""

    radius: float
    corner: Floats  # (k, 3)
    normal: Floats  # (f, 3) of its faces, outwards
    rim: list[Rows]  # corners of each face, in order
    edge: Rows  # (e, 2) corners of its edges, in 3D
    edge_face: Rows  # (e, 2) faces that meet there, −1: none

    @property
    def sides(self) -> int:
        """Number of its flat faces in 3D, of its straight sides in 2D."""
        return len(self.normal)


class GrainShape(NamedTuple):
    """A shape in its own frame, in units of a grain's size."""

    dim: int
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """The shape in a word or two: "rounded pentagon", "clump of 3 balls"."""
        if len(self.parts) == 1:
            return _name(self.parts[0], self.dim)
        single = {_name(part, self.dim) for part in self.parts}
        what = f"{single.pop()}s" if len(single) == 1 else "parts"
        return f"clump of {len(self.parts)} {what.replace('boxs', 'boxes')}"

    @property
    def sides(self) -> int:
        """Number of straight sides in 2D or flat faces in 3D, of all parts."""
        return sum(part.sides for part in self.parts)


def _name(part: Part, dim: int) -> str:
    count, faces = len(part.corner), part.sides
    if count == 1:
        return "disk" if dim == 2 else "ball"
    if count == 2:
        return "capsule" if part.radius > 0.0 else "needle"
    if dim == 2:
        plain = _POLYGONS.get(count, f"polygon of {count} sides")
        if count == 4 and abs(part.normal[0] @ part.normal[1]) < RIGHT:
            plain = "rectangle" if abs(part.normal[2] @ part.normal[1]) < RIGHT else plain
    elif faces == 2:
        plain = "plate"
    else:
        plain, many = _POLYHEDRA.get((faces, count), ""), f"polyhedron of {faces} faces"
        if not plain or (faces >= 8 and not _on_a_sphere(part.corner)):
            plain = many
        upright = np.abs(part.normal @ part.normal.T)
        if plain == "hexahedron" and ((upright < RIGHT) | (upright > 1.0 - RIGHT)).all():
            plain = "box"
    return f"rounded {plain}" if part.radius > 0.0 else plain


def _on_a_sphere(corner: Floats) -> bool:
    """Whether all corners are as far from their middle, as those of the regular polyhedra."""
    distance = np.linalg.norm(corner - corner.mean(axis=0), axis=1)
    return bool(np.ptp(distance) < 1e-6 * distance.max())


def grain_shapes(solids: Solids, dim: int) -> tuple[GrainShape, ...]:
    """All shapes of the table."""
    return once_for(solids, _shapes, dim)


def _shapes(solids: Solids, dim: int) -> tuple[GrainShape, ...]:
    parts = []
    for p in range(solids.radius.size):
        (a, b), (c, d), (e, f) = (
            start[p : p + 2].tolist()
            for start in (solids.corner_start, solids.face_start, solids.edge_start)
        )
        around = solids.rim_start[c : d + 1]
        rim = [
            solids.rim[i:j].astype(np.int64) - a
            for i, j in zip(around.tolist(), around[1:].tolist())
        ]
        beside = solids.edge_face[e:f].astype(np.int64)
        parts.append(
            Part(
                float(solids.radius[p]), solids.corner[a:b], solids.face_normal[c:d], rim,
                solids.edge[e:f].astype(np.int64) - a, np.where(beside < 0, -1, beside - c),
            )
        )  # fmt: skip
    ends = solids.part_start.tolist()
    return tuple(GrainShape(dim, tuple(parts[i:j])) for i, j in itertools.pairwise(ends))


def sides(solids: Solids) -> Rows:
    """(n,) number of straight sides in 2D or flat faces in 3D of each grain, of all its parts."""
    faces = solids.face_start[solids.part_start]
    count: Rows = np.diff(faces)[solids.shape].astype(np.int64)
    return count


def longest(solids: Solids, dim: int) -> Floats:
    """(s, 3) direction of each shape's long axis: the principal axis with the least moment.

    In 2D the two moments in the plane are not held; there it is the line through the centre from
    which the corners are least off.
    """
    if dim == 3:
        axis: Floats = np.eye(3)[np.argmin(solids.moments, axis=1)]
        return axis
    corner, shape = rows_of(solids.corner_start[solids.part_start], np.arange(len(solids.volume)))
    x, y, _ = solids.corner[corner].T
    spread = [np.bincount(shape, w, len(solids.volume)) for w in (x * x - y * y, 2.0 * x * y)]
    even = np.hypot(*spread) < 1e-9 * np.bincount(shape, x * x + y * y, len(solids.volume))
    angle = np.where(even, 0.0, 0.5 * np.arctan2(spread[1], spread[0]))
    return np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)


def frames(orientation: Floats) -> Floats:
    """(n, 3, 3) matrices that turn vectors of a grain's own frame into space.

    Orientations are angles (n, 1), or quaternions (x, y, z, w) of any length (n, 4).
    """
    n = len(orientation)
    turn = np.zeros((n, 3, 3))
    if orientation.shape[1] == 1:
        c, s = np.cos(orientation[:, 0]), np.sin(orientation[:, 0])
        turn[:, 0, 0] = turn[:, 1, 1] = c
        turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = s, -s, 1.0
        return turn
    x, y, z, w = (orientation / np.linalg.norm(orientation, axis=1, keepdims=True)).T
    turn[:, 0] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], 1)
    turn[:, 1] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], 1)
    turn[:, 2] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], 1)
    return turn


def rows_of(start: NDArray[Any], which: NDArray[Any]) -> tuple[Rows, Rows]:
    """Rows that belong to some things, one thing after the other, and which thing each belongs to.

    Those of thing k are ``start[k]`` to ``start[k + 1]`` − 1; the owner is a place in ``which``.
    """
    first = start[which].astype(np.int64)
    count = start[np.asarray(which) + 1].astype(np.int64) - first
    owner = np.repeat(np.arange(len(first)), count)
    begin = np.cumsum(count) - count
    return np.arange(len(owner)) - begin[owner] + first[owner], owner


Made = TypeVar("Made")
_TABLE = (
    "part_start", "radius", "corner_start", "face_start", "edge_start", "corner", "rim",
)  # fmt: skip
_known: dict[tuple[Any, ...], tuple[Solids, Any]] = {}
MOST = 12  # tables kept; a film or a page needs the same few again for each frame


def once_for(solids: Solids, make: Callable[..., Made], *given: Any) -> Made:
    """What is made of a table of shapes, made once for each table and not again for each frame."""
    key = (make, *given)
    held = _known.get(key)
    if held is not None and _same(held[0], solids):
        made: Made = held[1]
        return made
    made = make(solids, *given)
    _known.pop(key, None)
    if len(_known) >= MOST:
        _known.pop(next(iter(_known)))
    _known[key] = solids, made
    return made


def _same(one: Solids, other: Solids) -> bool:
    """Whether two tables hold the same shapes, whichever grains have them."""
    pairs = [(getattr(one, name), getattr(other, name)) for name in _TABLE]
    return all(a is b or np.array_equal(a, b) for a, b in pairs)
