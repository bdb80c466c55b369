"""Volume, centre and second moments of convex parts, in closed form.

A body that consists of several pieces has the sums of their integrals

    V = ∫ dV,    F = ∫ x dV,    S = ∫ x xᵀ dV,

from which its centre F/V and its inertia tr(S) − S follow. A core with a ball of radius r around
each of its points (Steiner) is made of

- the core itself, as signed tetrahedra over its faces, or in 2D signed triangles over its sides;
- a prism of height r over each face;
- at each edge of length L a sector of a cylinder, between the normals a and b of its two faces;
- at each corner a sector of a ball, between the normals of all faces that meet there.

With θ the angle between a and b and m the unit vector midway, the integrals over the arc of unit
vectors n from a to b are

    ∫ dφ = θ,    ∫ n dφ = 2 sin(θ/2) m,    ∫ n nᵀ dφ = θ/2 (m mᵀ + q qᵀ) + sin(θ)/2 (m mᵀ − q qᵀ),

with q in their plane, at right angles to m. The directions n at a corner fill a polygon on the unit
sphere, whose sides are these arcs. By Gauss and Bonnet its area is what the angles of the faces at
the corner lack to 2π. The side that belongs to an edge leaving the corner in direction d lies in
the plane at right angles to d, and all of the polygon has n·d ≤ 0. The divergence theorem, for the
fields 1 and ∇∇(1/x) in the cone of these directions, gives

    ∫ n dω = −½ Σ θ d,    ∫ n nᵀ dω = ⅓ (ω − Σ d ⊗ ∫ n dφ).

In 2D the sectors at corners are those of a disk. Vectors have three components in 2D too, of which
the last is zero.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.scene.polytope import Part

__all__ = ["Mass", "mass_of_part"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mass:
    """Integrals over a body of density one."""

    volume: float  # area in 2D
    first: Floats  # (3,)
    second: Floats  # (3, 3)

    def __add__(self, other: Mass) -> Mass:
        return Mass(
            self.volume + other.volume, self.first + other.first, self.second + other.second
        )

    def moved(self, by: Floats) -> Mass:
        """The same body, moved."""
        cross = np.outer(self.first, by)
        second = self.second + cross + cross.T + self.volume * np.outer(by, by)
        return Mass(self.volume, self.first + self.volume * by, second)

    @property
    def centre(self) -> Floats:
        return self.first / self.volume

    @property
    def gyration(self) -> Floats:
        """Second moments about the centre over the volume (3, 3)."""
        about: Floats = self.moved(-self.centre).second / self.volume
        return about


NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))


def mass_of_part(part: Part, dim: int) -> Mass:
    """Of a core with the radius around it."""
    middle = part.corner.mean(axis=0)  # differences of large numbers would cost digits
    here = part.moved(-middle)
    return (_in_plane(here) if dim == 2 else _in_space(here)).moved(middle)


def _in_plane(part: Part) -> Mass:
    x, r, k = part.corner, part.radius, len(part.corner)
    if k == 1:
        return _disk(math.pi * r**2, 0.25 * math.pi * r**4)
    total = NOTHING
    for (i, j), normal in zip(part.face, part.normal, strict=True):
        total += _triangle(x[i], x[j])
        if r > 0.0:  # the rectangle over this side
            a, b = x[i] + r * normal, x[j] + r * normal
            total += _triangle(x[j], x[i]) + _triangle(x[i], a) + _triangle(a, b)
            total += _triangle(b, x[j])
    if r > 0.0:
        for c in range(k):  # the sector between the sides that end and begin here
            n = part.normal[(c - 1) % k], part.normal[c]
            turn = math.atan2(n[0][0] * n[1][1] - n[0][1] * n[1][0], float(n[0] @ n[1]))
            turn = math.pi if k == 2 else turn
            mid = math.atan2(n[0][1], n[0][0]) + 0.5 * turn
            m = np.array([math.cos(mid), math.sin(mid), 0.0])
            line, square = _arc(turn, m, np.array([-m[1], m[0], 0.0]))
            sector = Mass(0.5 * turn * r**2, r**3 / 3.0 * line, 0.25 * r**4 * square)
            total += sector.moved(x[c])
    return total


def _in_space(part: Part) -> Mass:
    x, r = part.corner, part.radius
    if len(x) == 1:
        return Mass(4 / 3 * math.pi * r**3, np.zeros(3), np.eye(3) * 4 / 15 * math.pi * r**5)
    if len(x) == 2:
        return _capsule(x, r)
    total = _tetrahedra(part)
    if r == 0.0:
        return total
    lacks = np.full(len(x), 2.0 * math.pi)  # solid angle of the sector at each corner
    line, square = np.zeros((len(x), 3)), np.zeros((len(x), 3, 3))
    for rim, n in zip(part.face, part.normal, strict=True):
        face = NOTHING
        for j, k in itertools.pairwise(rim[1:]):
            a, b, c = x[rim[0]], x[j], x[k]
            area, sides = 0.5 * float(n @ np.cross(b - a, c - a)), np.array([a, b, c, a + b + c])
            face += Mass(area, area / 3.0 * sides[3], area / 12.0 * sides.T @ sides)
        for k, c in enumerate(rim):
            lacks[c] -= _angle(x[rim[k - 1]] - x[c], x[rim[(k + 1) % len(rim)]] - x[c])
        total += _prism(face, n, r)
    for (i, j), faces in zip(part.edge, part.edge_face, strict=True):
        a, b = part.normal[faces]
        along = x[j] - x[i]
        length = float(np.linalg.norm(along))
        d, turn, m = along / length, _angle(a, b), (a + b) / np.linalg.norm(a + b)
        arc, arcs = _arc(turn, m, np.cross(d, m))
        v = 0.5 * turn * r**2 * length
        own = 0.25 * length * r**4 * arcs + v * length**2 / 12.0 * np.outer(d, d)
        total += Mass(v, length * r**3 / 3.0 * arc, own).moved(0.5 * (x[i] + x[j]))
        for corner, away in ((i, d), (j, -d)):
            line[corner] -= 0.5 * turn * away
            square[corner] -= np.outer(away, arc) / 3.0
    for c in range(len(x)):
        square[c] += np.eye(3) * lacks[c] / 3.0
        ball = 0.5 * (square[c] + square[c].T)
        total += Mass(lacks[c] * r**3 / 3.0, 0.25 * r**4 * line[c], 0.2 * r**5 * ball).moved(x[c])
    return total


def _tetrahedra(part: Part) -> Mass:
    """The core: all tetrahedra from the origin to the triangles of its faces."""
    some = [(rim[0], j, k) for rim in part.face for j, k in itertools.pairwise(rim[1:])]
    a, b, c = part.corner[np.array(some)].transpose(1, 0, 2)
    det, s = np.einsum("ta,ta->t", a, np.cross(b, c)), a + b + c
    second = sum((v * det[:, None]).T @ v for v in (a, b, c, s))
    return Mass(float(det.sum()) / 6.0, det @ s / 24.0, np.asarray(second) / 120.0)


def _disk(area: float, second: float) -> Mass:
    return Mass(area, np.zeros(3), np.diag([second, second, 0.0]))


def _triangle(a: Floats, b: Floats) -> Mass:
    """From the origin to a and b, negative if they run clockwise."""
    area, s = 0.5 * float(a[0] * b[1] - a[1] * b[0]), a + b
    sides = np.array([a, b, s])
    return Mass(area, area / 3.0 * s, area / 12.0 * sides.T @ sides)


def _prism(face: Mass, n: Floats, r: float) -> Mass:
    """Over a face, whose integrals are over its area, along its normal."""
    cross = np.outer(face.first, n)
    second = r * face.second + 0.5 * r**2 * (cross + cross.T)
    second += r**3 / 3.0 * face.volume * np.outer(n, n)
    return Mass(r * face.volume, r * face.first + 0.5 * r**2 * face.volume * n, second)


def _capsule(x: Floats, r: float) -> Mass:
    """A cylinder and two halves of a ball, whose centres lie 3r/8 beyond its ends."""
    along = x[1] - x[0]
    length = float(np.linalg.norm(along))
    d = along / length
    rod, ball = math.pi * r**2 * length, 4 / 3 * math.pi * r**3
    axis, across = np.outer(d, d), np.eye(3) - np.outer(d, d)
    second = rod * (length**2 / 12.0 * axis + 0.25 * r**2 * across) + 0.2 * ball * r**2 * np.eye(3)
    second += ball * (0.25 * length**2 + 0.375 * length * r) * axis
    return Mass(rod + ball, np.zeros(3), second).moved(0.5 * (x[0] + x[1]))


def _arc(turn: float, m: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Integrals of n and n nᵀ over an arc about m, in the plane of m and q."""
    mm, qq = np.outer(m, m), np.outer(q, q)
    return 2.0 * math.sin(0.5 * turn) * m, 0.5 * (turn * (mm + qq) + math.sin(turn) * (mm - qq))


def _angle(u: Floats, v: Floats) -> float:
    return math.atan2(float(np.linalg.norm(np.cross(u, v))), float(u @ v))
