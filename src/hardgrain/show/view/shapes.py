"""Triangles of all that is drawn: grains, their marks, lines and walls, in the lengths given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import OUTSIDE, ROUND, SEGMENT
from hardgrain.measure.membrane import facets_of
from hardgrain.measure.snapshot import Snapshot
from hardgrain.scene.wall_shape import WallShape, circle

__all__ = ["Mesh", "bar", "disc", "make_mesh", "mark", "ring", "rod", "sphere", "spots", "walls"]

BAND = 0.35  # [mean diameter] thickness of a wall in 2D as drawn
EDGES = 64  # number of edges of a round wall
TEETH = 12  # teeth of a hollow cylinder in 2D, by which its rotation is seen
# Pairs of a number of grains and k: up to so many, a sphere has 20 · 4^k triangles. Of more grains
# each is smaller on the screen, and all together stay below four million, which a laptop's GPU
# draws 30 times a second.
LEVELS = ((50_000, 1), (5_000, 2), (30, 3))
SPOT = 0.32  # [rad] half the angle of a spot on a sphere
CORNERS = 2e6  # corners of all discs together, for the same reason


@dataclass(frozen=True)
class Mesh:
    """A surface made of triangles."""

    vertices: Floats  # (v, 3) [length]
    faces: NDArray[np.uint32]  # (f, 3)
    faceted: bool = False  # whether triangles are lit as flat ones, or as parts of a round surface


def make_mesh(
    vertices: Floats,
    faces: Sequence[Sequence[int]] | NDArray[np.int64] | NDArray[np.int32],
    faceted: bool = False,
) -> Mesh:
    """A surface in space of points in the plane or in space."""
    flat = np.asarray(vertices, float)
    deep = np.zeros((len(flat), 3))
    deep[:, : flat.shape[1]] = flat
    return Mesh(deep, np.asarray(faces, np.uint32).reshape(-1, 3), faceted)


def _circle(sides: int) -> Floats:
    return circle(np.eye(2), sides)


def _fan(sides: int) -> NDArray[np.int64]:
    """Triangles of a polygon around vertex 0."""
    k = np.arange(1, sides - 1)
    return np.stack([np.zeros_like(k), k, k + 1], axis=1)


def _strip(sides: int, other: int, closed: bool = True) -> NDArray[np.int64]:
    """Triangles between the vertices 0 … sides − 1 and as many from ``other`` on."""
    a = np.arange(sides if closed else sides - 1)
    b = (a + 1) % sides
    return np.concatenate(
        [np.stack([a, b, a + other], axis=1), np.stack([b, b + other, a + other], axis=1)]
    )


# ---------------------------------------------------------------------- grains, of radius 1
def disc(grains: int) -> Mesh:
    """A flat disc that faces +z, with fewer corners where there are more grains."""
    sides = int(np.clip(CORNERS / max(grains, 1), 8, 32))
    return make_mesh(_circle(sides), _fan(sides))


def mark() -> Mesh:
    """A radius of the disc, which shows its orientation."""
    return make_mesh(np.array([[0.0, -0.05], [0.92, -0.05], [0.92, 0.05], [0.0, 0.05]]), _fan(4))


def spots() -> Mesh:
    """Round spots at both ends of a sphere's first axis, which show its orientation."""
    sides, above = 16, 1.015
    rings = [
        np.column_stack([np.full(sides, np.cos(a)), np.sin(a) * _circle(sides)])
        for a in (0.5 * SPOT, SPOT)
    ]
    one = above * np.vstack([*rings, [[1.0, 0.0, 0.0]]])
    inner = np.arange(sides)
    fan = np.stack([np.full(sides, 2 * sides), inner, (inner + 1) % sides], axis=1)
    faces = np.vstack([fan, _strip(sides, sides)[:, ::-1]])
    # rotated by half a turn about z, so that it faces outwards, too
    other = one * np.array([-1.0, -1.0, 1.0])
    return make_mesh(np.vstack([one, other]), np.vstack([faces, faces + len(one)]))


def sphere(grains: int) -> Mesh:
    """An icosahedron whose edges are halved as often as the number of grains allows."""
    from trimesh.creation import icosphere

    level = max((k for most, k in LEVELS if grains <= most), default=0)
    ball = icosphere(subdivisions=level)
    return make_mesh(np.asarray(ball.vertices), np.asarray(ball.faces, np.int64))


def ring() -> Mesh:
    """A ring around a disc that was picked."""
    inner, outer = 1.0 * _circle(48), 1.22 * _circle(48)
    return make_mesh(np.vstack([outer, inner]), _strip(48, 48))


# ---------------------------------------------------------------------- lines, from 0 to x̂, width
# 1
def bar() -> Mesh:
    """A flat bar that faces +z."""
    return make_mesh(np.array([[0.0, -0.5], [1.0, -0.5], [1.0, 0.5], [0.0, 0.5]]), _fan(4))


def rod(sides: int = 6) -> Mesh:
    """A round rod."""
    around = 0.5 * _circle(sides)
    ends = [np.column_stack([np.full(sides, x), around]) for x in (0.0, 1.0)]
    return make_mesh(np.vstack(ends), _strip(sides, sides))


# ---------------------------------------------------------------------- walls
def walls(snap: Snapshot, low: Floats, high: Floats) -> Mesh:
    """All walls as one mesh, and the membrane; planes and cylinders are cut to a box."""
    band = BAND * snap.diameter
    turned = snap.state.orientation[snap.n :]
    low, high = low - 2.0 * band, high + 2.0 * band
    parts: list[Mesh] = []
    for wall, angle in zip(snap.wall_shapes, turned):
        if snap.dim == 2 and wall.kind in ROUND:
            parts.append(_round(wall, band, float(angle[0])))
            continue
        found = wall.surface(low, high, EDGES)
        if snap.dim == 3:
            parts.append(make_mesh(found.points, found.triangles))
        elif wall.kind == SEGMENT:
            parts.append(_thick(found.points, band))
        elif len(found.points):
            solid = found.points[::-1] - band * wall.axis
            parts.append(make_mesh(np.vstack([found.points, solid]), _fan(4)))
    if snap.model.membrane is not None:
        corners, facets = facets_of(snap)
        if snap.dim == 3:
            parts.append(make_mesh(corners, facets))
        else:
            parts += [_thick(chord, band) for chord in corners[facets]]
    start = np.cumsum([0, *(len(p.vertices) for p in parts)])
    if not parts:
        return make_mesh(np.zeros((0, 3)), [])
    return Mesh(
        np.vstack([p.vertices for p in parts]),
        np.vstack([p.faces + np.uint32(s) for p, s in zip(parts, start)]),
    )


def _thick(ends: Floats, band: float) -> Mesh:
    """A segment drawn with a width."""
    along = ends[1] - ends[0]
    side = 0.3 * band * np.array([-along[1], along[0]]) / np.linalg.norm(along)
    return make_mesh(np.vstack([ends - side, ends[::-1] + side]), _fan(4))


def _round(wall: WallShape, band: float, angle: float) -> Mesh:
    """A circle in 2D: a toothed rim around it if grains are inside, else a filled disc."""
    sides = 8 * TEETH
    c, s = np.cos(angle), np.sin(angle)
    unit = circle(np.array([[c, s], [-s, c]]), sides)
    if wall.kind == OUTSIDE:
        return make_mesh(wall.point + wall.size * unit, _fan(sides))
    tooth = np.where(np.arange(sides) % 8 < 4, 1.0, 0.5)[:, None]
    outer = wall.point + (wall.size + band * tooth) * unit
    return make_mesh(np.vstack([outer, wall.point + wall.size * unit]), _strip(sides, sides))
