"""A mesh that is a wall, as the arrays of `hardgrain.core.meshes`."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.meshes import NO_MESHES, Meshes
from hardgrain.errors import InputError

__all__ = ["MeshTable", "as_text", "from_text", "mesh_table", "meshes_of"]

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]

# [rad] Angle between triangles that lie in one plane but for rounding. If it is larger, a grain
# with edges misses bends of that size; if it is smaller, the facets of files with many digits fall
# into triangles, and grains with edges have more contact points on them than they need.
FLAT = 1e-6
# [1] Sine of the smallest angle that a triangle may have. Below it the direction of its normal is
# lost in the rounding of its corners, of which files often hold seven digits.
SLIVER = 1e-6
_LEAF = 4  # triangles in a box that is not divided any more; changes the time a search takes alone


@dataclass(frozen=True)
class MeshTable:
    """One mesh about the middle of its box; columns as in `Meshes`, counted from zero."""

    middle: Floats  # (3,) where the middle is in the scene [length]
    half: Floats  # (3,) half the sides of the box, none of them zero [length]
    one_sided: bool
    hollow: bool
    corner: Floats
    triangle: Longs
    normal: Floats
    facet: Longs
    flat: NDArray[np.bool_]
    low: Floats
    high: Floats
    skip: Longs
    leaf: Longs
    item: Longs


def as_text(corner: Floats, triangle: Longs) -> str:
    """Corners (c, 3) and triangles (t, 3) as one word, shorter than a list of numbers by half."""
    head = np.array([len(corner), len(triangle)], "<i4").tobytes()
    rows = np.ascontiguousarray(triangle, "<i4").tobytes()
    body = head + np.ascontiguousarray(corner, "<f8").tobytes() + rows
    return base64.b64encode(zlib.compress(body, 9)).decode()


def from_text(text: str) -> tuple[Floats, Longs]:
    """The other way round; an InputError if it is none."""
    try:
        body = zlib.decompress(base64.b64decode(text.encode(), validate=True))
        corners, triangles = np.frombuffer(body, "<i4", 2).tolist()
        corner = np.frombuffer(body, "<f8", 3 * corners, 8).reshape(-1, 3)
        triangle = np.frombuffer(body, "<i4", 3 * triangles, 8 + 24 * corners).reshape(-1, 3)
        if not np.isfinite(corner).all() or triangle.min() < 0 or triangle.max() >= corners:
            raise ValueError
    except (ValueError, zlib.error):
        raise InputError(
            "surface is not the text of a mesh that an earlier run wrote; leave it out, so that"
            " file is read"
        ) from None
    return corner.astype(float), triangle.astype(np.int64)


@lru_cache(maxsize=16)
def mesh_table(
    surface: str, scale: float, turn: tuple[float, ...], move: tuple[float, ...], side: str | None
) -> MeshTable:
    """The mesh with this surface, made once, since a scene is built many times."""
    corner, triangle = from_text(surface)
    x = scale * corner
    if any(turn):
        from scipy.spatial.transform import Rotation

        x = Rotation.from_rotvec(turn).apply(x)
    x = x + np.array(move)
    normal = _normals(x, triangle)
    closed, triangle = _oriented(x, triangle)
    if side in ("outside", "inside") and not closed:
        raise InputError(
            f"side is {side!r}, but the surface is not closed; leave it out, and grains touch it"
            " from both sides"
        )
    one_sided = closed and side != "both"
    hollow = one_sided and side == "inside"
    triangle = triangle[:, ::-1] if hollow else triangle
    normal = _normals(x, triangle)
    low, high = x[triangle].min(axis=(0, 1)), x[triangle].max(axis=(0, 1))
    half = 0.5 * (high - low)
    middle = low + half
    x = x - middle
    facet, flat = _facets(triangle, normal)
    # Directions of the box's sides are read from their lengths, which must not be zero.
    return MeshTable(
        middle, np.maximum(half, 1e-3 * half.max()), one_sided, hollow, x, triangle, normal, facet,
        flat, *_tree(x[triangle]),
    )  # fmt: skip


def _normals(x: Floats, triangle: Longs) -> Floats:
    """Unit normals (t, 3); refuses triangles that have none."""
    a, b, c = (x[triangle[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    sides = np.array([np.linalg.norm(p - q, axis=1) for p, q in ((a, b), (b, c), (c, a))])
    longest = np.sort(sides, axis=0)[-1]
    bad = np.flatnonzero(~(area > SLIVER * longest * longest))
    if bad.size:
        k = int(bad[0])
        at = ", ".join(f"{v:g}" for v in x[triangle[k]].mean(axis=0))
        raise InputError(
            f"file has {bad.size} triangle(s) without an area, such as number {k} at ({at}); remove"
            " them, for example with trimesh's update_faces(nondegenerate_faces())"
        )
    return np.asarray(across / area[:, None])


def _edges(triangle: Longs) -> tuple[Longs, Longs, Longs, Longs]:
    """Pairs of triangles that share an edge with no other: both, and the side of each."""
    ends = np.sort(np.stack([triangle, np.roll(triangle, -1, axis=1)], axis=-1).reshape(-1, 2))
    order = np.lexsort((np.arange(len(ends)), ends[:, 1], ends[:, 0]))
    ends = ends[order]
    new = np.append(True, (ends[1:] != ends[:-1]).any(axis=1))
    start = np.flatnonzero(new)
    many = np.diff(np.append(start, len(ends)))
    one, two = order[start[many == 2]], order[start[many == 2] + 1]
    return one // 3, two // 3, one % 3, two % 3


def _oriented(x: Floats, triangle: Longs) -> tuple[bool, Longs]:
    """Whether a surface is closed, and if so its triangles with their normals outwards."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    a, b, i, j = _edges(triangle)
    t = len(triangle)
    if 2 * a.size != 3 * t:
        return False, triangle
    graph = coo_array((np.ones(a.size), (a, b)), (t, t)).tocsr()
    pieces, piece = connected_components(graph, directed=False)
    # Along an edge that two triangles share they must run in opposite senses.
    along = triangle[a, i] == triangle[b, j]
    opposite = set(zip(a[along].tolist(), b[along].tolist()))
    turned = np.ones(t, np.int64)
    found = triangle.copy()
    for k in range(pieces):
        first = int(np.flatnonzero(piece == k)[0])
        order, before = breadth_first_order(graph, first, directed=False)
        for s in order[1:].tolist():
            r = int(before[s])
            turned[s] = turned[r] * (-1 if (r, s) in opposite or (s, r) in opposite else 1)
    if (np.where(along, -1, 1) * turned[a] * turned[b] < 0).any():
        return False, triangle  # it has one side only, as Möbius's strip
    found[turned < 0] = found[turned < 0][:, ::-1]
    for k in range(pieces):
        mine = piece == k
        p, q, r = (x[found[mine, c]] - x.mean(axis=0) for c in range(3))
        if np.einsum("ka,ka->", p, np.cross(q, r)) < 0.0:
            found[mine] = found[mine][:, ::-1]
    return True, found


def _facets(triangle: Longs, normal: Floats) -> tuple[Longs, NDArray[np.bool_]]:
    """First triangle of the facet of each, and which of its sides are within the facet."""
    t = len(triangle)
    a, b, i, j = _edges(triangle)
    level = np.linalg.norm(np.cross(normal[a], normal[b]), axis=1) < FLAT
    a, b, i, j = a[level], b[level], i[level], j[level]
    near: list[list[int]] = [[] for _ in range(t)]
    for p, q in zip(a.tolist(), b.tolist()):
        near[p].append(q)
        near[q].append(p)
    facet = np.full(t, -1, np.int64)
    for k in range(t):
        if facet[k] >= 0:
            continue
        facet[k], todo = k, [k]
        while todo:
            for other in near[todo.pop()]:
                if facet[other] < 0 and np.linalg.norm(np.cross(normal[k], normal[other])) < FLAT:
                    facet[other] = k
                    todo.append(other)
    flat = np.zeros((t, 3), np.bool_)
    same = facet[a] == facet[b]
    flat[a[same], i[same]] = flat[b[same], j[same]] = True
    return facet, flat


def _tree(x: Floats) -> tuple[Floats, Floats, Longs, Longs, Longs]:
    """Boxes of triangles (t, 3, 3), each halved along its longest side; see `Meshes`."""
    least, most = x.min(axis=1), x.max(axis=1)
    middle = 0.5 * (least + most)
    low: list[Floats] = []
    high: list[Floats] = []
    leaf: list[tuple[int, int]] = []
    skip: list[int] = []
    item: list[int] = []

    def add(mine: Longs) -> None:
        node = len(skip)
        low.append(least[mine].min(axis=0))
        high.append(most[mine].max(axis=0))
        skip.append(-1)
        leaf.append((0, 0))
        if mine.size <= _LEAF:
            leaf[node] = (len(item), len(item) + mine.size)
            item.extend(np.sort(mine).tolist())
        else:
            along = int(np.ptp(middle[mine], axis=0).argmax())
            order = mine[np.lexsort((mine, middle[mine, along]))]
            add(order[: mine.size // 2])
            add(order[mine.size // 2 :])
        skip[node] = len(skip)

    add(np.arange(len(x)))
    return np.array(low), np.array(high), np.array(skip), np.array(leaf), np.array(item)


def meshes_of(tables: Sequence[MeshTable | None]) -> Meshes:
    """All meshes of a scene; None: a wall that is no mesh."""
    if not any(tables):
        return NO_MESHES
    columns: dict[str, list[NDArray[Any]]] = {name: [getattr(NO_MESHES, name)] for name in _COUNTS}
    starts: dict[str, list[int]] = {name: [0] for name in ("corner", "triangle", "node")}
    for table in tables:
        many = {"corner": 0, "triangle": 0, "node": 0}
        if table is not None:
            for name, what in _COUNTS.items():
                rows = getattr(table, name)
                columns[name].append(rows + starts[what][-1] if what else rows)
            many = {"corner": len(table.corner), "triangle": len(table.triangle)}
            many["node"] = len(table.skip)
        for name, start in starts.items():
            start.append(start[-1] + many[name])
    made: dict[str, Any] = {
        name: np.concatenate(rows).astype(rows[0].dtype) for name, rows in columns.items()
    }
    made |= {f"{name}_start": np.array(start, np.int32) for name, start in starts.items()}
    return Meshes(
        one_sided=np.array([t is not None and t.one_sided for t in tables]),
        hollow=np.array([t is not None and t.hollow for t in tables]),
        **made,
    )


# columns that are put one behind the other, and what their numbers count
_COUNTS = {
    "corner": "", "triangle": "corner", "normal": "", "facet": "", "flat": "", "low": "",
    "high": "", "skip": "node", "leaf": "triangle", "item": "triangle",
}  # fmt: skip
