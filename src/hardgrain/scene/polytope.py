"""Convex parts of grains: corners, faces and edges of a core, and the radius around it.

Solids that have a name, random ones, and hulls. Whatever was given, a part lists its corners, its
faces with their corners counter-clockwise seen from outside, and its edges in one order that
depends on the corners alone; see `hardgrain.core.solids`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PLATONIC", "Part", "ball", "box", "capsule", "hull", "platonic", "polygon", "random_polygon",
    "random_polyhedron", "regular_polygon", "rounded", "shrunk",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# [size of the part] Corners nearer to each other are one, and corners nearer to the plane of a face
# belong to it. If it is smaller, rounding tears faces of boxes into triangles; if it is larger,
# faces that a user wrote down are flattened.
CLOSE = 1e-9

PLATONIC = ("tetrahedron", "cube", "octahedron", "dodecahedron", "icosahedron")


@dataclass(frozen=True)
class Part:
    """A convex core, and the radius around it."""

    corner: Floats  # (k, 3)
    radius: float
    face: tuple[tuple[int, ...], ...] = ()  # corners of each face, in order around it
    normal: Floats = field(default_factory=lambda: np.zeros((0, 3)))  # (f, 3) outwards
    edge: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))  # (e, 2) corners
    # (e, 2) faces beside each edge, −1: none
    edge_face: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    def moved(self, by: Floats) -> Part:
        return replace(self, corner=self.corner + by)

    def turned(self, axes: Floats) -> Part:
        """Seen in a frame with these axes, the columns of a rotation matrix."""
        return replace(self, corner=self.corner @ axes, normal=self.normal @ axes)

    def scaled(self, by: float) -> Part:
        return replace(self, corner=self.corner * by, radius=self.radius * by)


def _padded(points: Floats) -> Floats:
    """Points with three components."""
    points = np.asarray(points, float)
    return np.hstack([points, np.zeros((len(points), 3 - points.shape[1]))])


def ball(centre: Floats, radius: float) -> Part:
    """A disk or a ball."""
    return Part(_padded(np.atleast_2d(centre)), radius)


def capsule(start: Floats, end: Floats, radius: float, dim: int) -> Part:
    """All points within a radius of a segment."""
    x = _padded(np.array([start, end], float))
    if dim == 3:
        return Part(x, radius, edge=np.array([[0, 1]]), edge_face=np.array([[-1, -1]]))
    return polygon(x, radius)


def polygon(corners: Floats, radius: float = 0.0) -> Part:
    """A convex polygon, its corners counter-clockwise; two corners: a segment with two sides."""
    x = _padded(corners)
    along = np.roll(x, -1, axis=0) - x
    along /= np.linalg.norm(along, axis=1)[:, None]
    normal = np.stack([along[:, 1], -along[:, 0], np.zeros(len(x))], axis=1)
    face = tuple((k, (k + 1) % len(x)) for k in range(len(x)))
    return Part(x, radius, face, normal)


def hull(corners: Floats, radius: float = 0.0) -> Part:
    """The convex hull of points in space; points that are no corners of it are left out."""
    from scipy.spatial import ConvexHull

    x = np.asarray(corners, float)
    size = float(np.ptp(x, axis=0).max())
    found = ConvexHull((x - x.mean(axis=0)) / size)
    rims: list[tuple[int, ...]] = []
    face = np.full(len(found.simplices), -1)
    for first, plane in enumerate(found.equations):
        if face[first] >= 0:
            continue
        # Triangles of one plane are one face: it grows over its neighbours while they lie in it.
        face[first], rest, members = len(rims), [first], set(found.simplices[first].tolist())
        while rest:
            for other in found.neighbors[rest.pop()].tolist():
                x_other = found.points[found.simplices[other]]
                flat = np.abs(x_other @ plane[:3] + plane[3]).max() < CLOSE
                if face[other] < 0 and flat and plane[:3] @ found.equations[other, :3] > 0.0:
                    face[other] = len(rims)
                    rest.append(other)
                    members.update(found.simplices[other].tolist())
        rims.append(_rim(found.points, sorted(members), plane[:3]))
    used = sorted({c for rim in rims for c in rim})
    number = {c: k for k, c in enumerate(used)}
    rims = sorted(tuple(number[c] for c in rim) for rim in rims)
    x = x[used]
    normal = np.array([_normal(x[list(rim)]) for rim in rims])
    beside: dict[tuple[int, int], list[int]] = {}
    for f, rim in enumerate(rims):
        for i, j in zip(rim, rim[1:] + rim[:1], strict=True):
            beside.setdefault((min(i, j), max(i, j)), []).append(f)
    edges = sorted(beside)
    return Part(
        x, radius, tuple(rims), normal, np.array(edges), np.array([beside[e] for e in edges])
    )


def _rim(x: Floats, some: list[int], normal: Floats) -> tuple[int, ...]:
    """The corners of a face around its normal, from the one with the lowest number.

    Points within the face, or on one of its edges, are left out.
    """
    u = x[some[1]] - x[some[0]]
    u = u - (u @ normal) * normal
    u /= np.linalg.norm(u)
    flat = np.stack([x[some] @ u, x[some] @ np.cross(normal, u)], axis=1)
    middle = flat.mean(axis=0)
    way = np.argsort(np.arctan2(*(flat - middle).T[::-1]))
    around, p = [some[k] for k in way], flat[way]
    keep = True
    while keep and len(around) > 3:
        a, b = p - np.roll(p, 1, axis=0), np.roll(p, -1, axis=0) - p
        turn = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        flat_ones = turn < CLOSE * np.linalg.norm(a, axis=1)
        keep = bool(flat_ones.any())
        if keep:
            k = int(np.argmax(flat_ones))
            around.pop(k)
            p = np.delete(p, k, axis=0)
    first = around.index(min(around))
    return tuple(around[first:] + around[:first])


def _normal(rim: Floats) -> Floats:
    """Unit vector across a flat face, by the areas of its projections (Newell)."""
    here = rim - rim[0]
    area = np.cross(here, np.roll(here, -1, axis=0)).sum(axis=0)
    area[np.abs(area) < 1e-15 * np.abs(area).max()] = 0.0  # faces along the axes stay so
    unit: Floats = area / np.linalg.norm(area)
    return unit


# ------------------------------------------------------------------ solids that have a name
def regular_polygon(sides: int) -> Floats:
    """Corners (sides, 2) on the unit circle, with one side at the bottom."""
    angle = -0.5 * math.pi + math.pi * (2.0 * np.arange(sides) - 1.0) / sides
    found: Floats = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found[np.abs(found) < 1e-15] = 0.0
    return found


def box(sides: Floats) -> Floats:
    """Corners of a rectangle (4, 2) counter-clockwise, or of a box (8, 3)."""
    half = 0.5 * np.asarray(sides, float)
    if len(half) == 2:
        return np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    return signs * half


def platonic(name: str) -> Floats:
    """Corners of a regular solid in the unit ball."""
    g = 0.5 * (1.0 + math.sqrt(5.0))
    signs = [-1.0, 1.0]
    cube = np.array([[i, j, k] for i in signs for j in signs for k in signs])
    turns = [np.roll([0.0, i, j], k) for k in range(3) for i in signs for j in signs]
    if name == "tetrahedron":
        x = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    elif name == "cube":
        x = cube
    elif name == "octahedron":
        x = np.vstack([np.eye(3), -np.eye(3)])
    else:
        # (0, ±1, ±g) and its turns; with (0, ±1/g, ±g) and a cube it is a dodecahedron
        short = 1.0 if name == "icosahedron" else 1.0 / g
        x = np.array(turns)
        for k in range(3):
            rows = slice(4 * k, 4 * k + 4)
            x[rows, (k + 1) % 3] *= short
            x[rows, (k + 2) % 3] *= g
        if name == "dodecahedron":
            x = np.vstack([x, cube])
    found: Floats = x / np.linalg.norm(x, axis=1)[:, None]
    return found


# ------------------------------------------------------------------ random ones
def random_polygon(sides: int, rng: np.random.Generator) -> Floats:
    """Corners of a random convex polygon, made as a Voronoi cell is: of lines around a point.

    The lines lie at random distances in directions that are spread around it. Polygons with a side
    shorter than a quarter of the mean one are drawn again.
    """
    while True:
        angle = 2.0 * math.pi * (np.arange(sides) + rng.uniform(-0.4, 0.4, sides)) / sides
        away = rng.uniform(0.75, 1.0, sides)
        n = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        m, far = np.roll(n, -1, axis=0), np.roll(away, -1)
        det = n[:, 0] * m[:, 1] - n[:, 1] * m[:, 0]
        if det.min() < 0.2 or (n * m).sum(axis=1).min() < -0.8:  # a corner is too blunt or sharp
            continue
        x = np.stack([away * m[:, 1] - far * n[:, 1], far * n[:, 0] - away * m[:, 0]], 1)
        x /= det[:, None]
        side = x - np.roll(x, 1, axis=0)
        forward = -side[:, 0] * n[:, 1] + side[:, 1] * n[:, 0]  # along each line
        if forward.min() > 0.25 * forward.mean():
            return np.asarray(x)


def random_polyhedron(corners: int, rng: np.random.Generator) -> Floats:
    """Corners (corners, 3) of a random convex polyhedron.

    Each is the one, of ten random points of the unit sphere, that is farthest from those before;
    the sphere is then stretched at random along its axes, by up to 1.5.
    """
    x = np.zeros((0, 3))
    while len(x) < corners:
        some = rng.normal(size=(10, 3))
        some /= np.linalg.norm(some, axis=1)[:, None]
        far = np.linalg.norm(some[:, None] - x[None], axis=2).min(axis=1) if len(x) else np.ones(10)
        x = np.vstack([x, some[far.argmax()]])
    return np.asarray(x * rng.uniform(1.0, 1.5, 3))


# ------------------------------------------------------------------ rounded ones, and smaller ones
def rounded(part: Part, share: float, dim: int) -> Part:
    """A sharp part whose faces stay where they are while its edges and corners become round.

    The core is what is left of it if all faces move in by the radius, a share of that of the
    largest disk or ball within.
    """
    from scipy.optimize import linprog

    n, away, size = _planes(part, dim)
    # The largest ball: its centre c and radius r, with n·c + r ≤ away at every face.
    best = linprog(
        np.append(np.zeros(dim), -1.0), np.hstack([n, np.ones((len(n), 1))]), away / size,
        bounds=[(None, None)] * dim + [(0.0, None)],
    )  # fmt: skip
    r = share * float(best.x[-1]) * size
    return replace(shrunk(part, r, dim, best.x[:dim] * size), radius=r)


def shrunk(part: Part, by: float, dim: int, within: Floats) -> Part:
    """What is left of a sharp part if all its faces move in; ``within`` is a point of the rest."""
    from scipy.spatial import HalfspaceIntersection

    n, away, size = _planes(part, dim)
    planes = np.hstack([n, (by - away + n @ within)[:, None] / size])
    core = HalfspaceIntersection(planes, np.zeros(dim)).intersections
    keep = [k for k in range(len(core)) if not _near(core[:k], core[k])]
    core = core[keep]
    if dim == 3:
        core = core[np.lexsort(core.round(9).T)]
        return hull(within + size * core)
    core = core[np.argsort(np.arctan2(*core.T[::-1]))]
    return polygon(within + size * core)


def _planes(part: Part, dim: int) -> tuple[Floats, Floats, float]:
    """Normals of the faces, their distances from the origin, and the size of a part."""
    x, n = part.corner[:, :dim], part.normal[:, :dim]
    away = [float(normal @ x[rim[0]]) for normal, rim in zip(n, part.face, strict=True)]
    return n, np.array(away), float(np.ptp(x, axis=0).max())


def _near(points: Floats, x: Floats) -> bool:
    return len(points) > 0 and bool((np.abs(points - x).max(axis=1) < CLOSE).any())
