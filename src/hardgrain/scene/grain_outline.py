"""Outlines of grains in the plane of a picture.

In 2D an outline belongs to a shape: rounded corners are arcs, and that of a clump is the rim of
all its parts together. In 3D a part is seen from one side. Its outline is the convex hull of its
corners as they are projected and, if it is rounded, all points within its radius of this hull; the
edges between two faces that look at the eye are drawn as lines.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids
from hardgrain.scene.grain_shape import Rows, frames, once_for, rows_of
from hardgrain.scene.polygon_union import SAME, once, rim_of_all

__all__ = [
    "BEGIN",
    "CLOSE",
    "LINE",
    "Outlines",
    "outlines_2d",
    "part_loops",
    "rounded_hull",
    "seen_3d",
]

ARC = 64  # corners of a full circle; a disk 400 pixels wide is off by a quarter of a pixel
BEGIN, LINE, CLOSE = 0, 1, 2  # what the pen does to reach a point: jump, draw, close the loop


class Outlines(NamedTuple):
    """Loops and lines of several things, one thing after the other."""

    points: Floats  # (k, 2)
    pen: NDArray[
        np.uint8
    ]  # (k,) BEGIN, LINE or CLOSE; the last repeats the point that began a loop
    start: Rows  # (things + 1,) where the points of each begin

    def of(self, which: NDArray[np.integer]) -> tuple[Outlines, Rows]:
        """Those of some things, each as often as it is named; and to which each point belongs."""
        rows, owner = rows_of(self.start, which)
        count = np.diff(self.start)[which]
        start = np.concatenate([[0], np.cumsum(count)])
        return Outlines(self.points[rows], self.pen[rows], start), owner

    def loops(self, k: int) -> list[Floats]:
        """The closed loops of a thing, (c, 2) each, without the point that repeats."""
        mine = slice(self.start[k], self.start[k + 1])
        points, pen = self.points[mine], self.pen[mine]
        begin = np.flatnonzero(pen == BEGIN)
        ends = np.append(begin[1:], len(pen))
        return [points[i : j - 1] for i, j in zip(begin, ends) if pen[j - 1] == CLOSE]


# ---------------------------------------------------------------------- shapes in 2D
def outlines_2d(solids: Solids, orientation: Floats) -> Outlines:
    """Outlines of grains in 2D about their centres [length]."""
    table = once_for(solids, shape_outlines)
    found, owner = table.of(solids.shape)
    turn = frames(orientation)[owner, :2, :2]
    points = np.einsum("kab,kb->ka", turn, found.points) * solids.size[owner, None]
    return found._replace(points=points)


def shape_outlines(solids: Solids) -> Outlines:
    """Outlines of all shapes of the table in 2D, in their own frame [size]."""
    ends, parts = solids.part_start.tolist(), part_loops(solids)
    return _closed(
        [parts[i:j] if j == i + 1 else rim_of_all(parts[i:j]) for i, j in itertools.pairwise(ends)]
    )


def part_loops(solids: Solids) -> list[Floats]:
    """Outlines of all parts of the table in 2D, (k, 2) each [size]."""
    around = rounded_hull(_padded(solids)[:, :, :2], solids.radius)
    return [once(loop) for loop in around]


def _padded(solids: Solids) -> Floats:
    """(p, k, 3) corners of all parts, the last of each as often as is needed to fill its row."""
    count = np.diff(solids.corner_start)
    most = int(count.max(initial=1))
    place = np.minimum(np.arange(most), count[:, None] - 1)
    padded: Floats = solids.corner[solids.corner_start[:-1, None] + place]
    return padded


def _closed(things: list[list[Floats]]) -> Outlines:
    loops = [loop for thing in things for loop in thing]
    points = [np.concatenate([loop, loop[:1]]) for loop in loops]
    pens = [np.full(len(p), LINE, np.uint8) for p in points]
    for pen in pens:
        pen[0], pen[-1] = BEGIN, CLOSE
    count = [sum(len(loop) + 1 for loop in thing) for thing in things]
    return Outlines(
        np.concatenate([np.zeros((0, 2)), *points]),
        np.concatenate([np.zeros(0, np.uint8), *pens]),
        np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
    )


# ---------------------------------------------------------------------- hulls, many at once
def rounded_hull(points: Floats, radius: Floats) -> Floats:
    """Outlines (m, c, 2), counter-clockwise, of hulls of points (m, k, 2) with radii (m,) around.

    All have the same number of corners c; those that are not needed repeat others.
    """
    hull = _hull(points)
    if not (radius > 0.0).any():
        return hull
    # Every corner of the outline belongs to a direction: it is the corner of the hull that lies
    # farthest there, moved by the radius. Directions are those of a circle and, twice, the normals
    # of the hull's sides, once for each of their ends; so straight sides are exact.
    angle = np.arange(ARC) * (2.0 * np.pi / ARC)
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    far = np.argmax(np.einsum("mka,ja->mjk", hull, unit), axis=2)
    arcs = np.take_along_axis(hull, far[:, :, None], axis=1) + radius[:, None, None] * unit
    side = np.roll(hull, -1, axis=1) - hull
    length = np.linalg.norm(side, axis=2)
    there = length > SAME * _extent(hull)[:, None]
    normal = np.stack([side[..., 1], -side[..., 0]], axis=2)
    normal = np.where(there[..., None], normal / np.maximum(length, 1e-300)[..., None], 0.0)
    out = radius[:, None, None] * normal
    ends = [np.where(there[..., None], h + out, arcs[:, :1]) for h in (hull, np.roll(hull, -1, 1))]
    turned = np.mod(np.arctan2(normal[..., 1], normal[..., 0]), 2.0 * np.pi)
    turned = np.where(there, turned, 0.0)
    nudge = np.where(there, 1e-9, 0.0)  # [radian] the end of a side comes after its beginning
    key = np.concatenate(
        [np.broadcast_to(angle, (len(hull), ARC)), turned - nudge, turned + nudge], axis=1
    )
    order = np.argsort(key, axis=1, kind="stable")
    found: Floats = np.take_along_axis(
        np.concatenate([arcs, *ends], axis=1), order[:, :, None], axis=1
    )
    return found


def _extent(points: Floats) -> Floats:
    extent: Floats = np.maximum(np.ptp(points, axis=1).max(axis=1), 1e-300)
    return extent


def _hull(points: Floats) -> Floats:
    """Corners of convex hulls in order, by walking around all of them at once, shape (m, k, 2).

    The walk begins at the lowest point. Of all points it goes to the one that needs the least turn
    to the left, the farthest of those on one line; back at the beginning it waits for the others.
    """
    m, k, _ = points.shape
    tiny = SAME * _extent(points)
    low = points[..., 1] <= points[..., 1].min(axis=1, keepdims=True) + tiny[:, None]
    begin = np.argmin(np.where(low, points[..., 0], np.inf), axis=1)
    one = np.arange(m)
    first = points[one, begin]
    hull, here = np.empty_like(points), first
    heading, done = np.zeros(m), np.zeros(m, bool)
    for step in range(k):
        hull[:, step] = here
        to = points - here[:, None]
        away = np.linalg.norm(to, axis=2)
        turn = np.mod(np.arctan2(to[..., 1], to[..., 0]) - heading[:, None] + 1e-9, 2.0 * np.pi)
        turn = np.where(away > tiny[:, None], turn, np.inf)
        least = turn <= turn.min(axis=1, keepdims=True) + 1e-9
        following = np.argmax(np.where(least, away, -1.0), axis=1)
        there = points[one, following]
        done |= np.linalg.norm(there - first, axis=1) <= tiny
        along = to[one, following]
        heading = np.arctan2(along[:, 1], along[:, 0])
        here = np.where(done[:, None], first, there)
    return hull


# ---------------------------------------------------------------------- parts seen in 3D
def seen_3d(solids: Solids, orientation: Floats, keep: list[int]) -> tuple[Outlines, Rows, Floats]:
    """Outlines of the parts of all grains in 3D, seen along y, about the centres [length].

    Returns the outlines, the grain to which each belongs, and the depth of each part's middle
    behind the centre of its grain.
    """
    part, grain = rows_of(solids.part_start, solids.shape)
    turn, size = frames(orientation)[grain], solids.size[grain]
    corner = np.einsum("mab,mkb->mka", turn, _padded(solids)[part]) * size[:, None, None]
    around = rounded_hull(corner[:, :, keep], solids.radius[part] * size)
    around = np.concatenate([around, around[:, :1]], axis=1)
    m, c, _ = around.shape
    pen = np.full((m, c), LINE, np.uint8)
    pen[:, 0], pen[:, -1] = BEGIN, CLOSE
    ends, of = _edges_seen(solids, part, turn, size, keep)
    owner = np.concatenate([np.repeat(np.arange(m), c), np.repeat(of, 2)])
    order = np.argsort(owner, kind="stable")
    strokes = np.tile(np.array([BEGIN, LINE], np.uint8), len(of))
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=m))]).astype(np.int64)
    found = Outlines(
        np.concatenate([around.reshape(-1, 2), ends.reshape(-1, 2)])[order],
        np.concatenate([pen.ravel(), strokes])[order],
        start,
    )
    return found, grain, corner[:, :, 1].mean(axis=1)


def _edges_seen(
    solids: Solids, part: Rows, turn: Floats, size: Floats, keep: list[int]
) -> tuple[Floats, Rows]:
    """Ends (k, 2, 2) of edges between two faces that look at the eye, and the parts they are of.

    On a rounded part a line runs near the middle of the rounding.
    """
    edge, of = rows_of(solids.edge_start, part)
    between = (solids.edge_face[edge] >= 0).all(axis=1)
    edge, of = edge[between], of[between]
    normal = np.einsum("kab,ksb->ksa", turn[of], solids.face_normal[solids.edge_face[edge]])
    seen = (normal[..., 1] < -SAME).all(axis=1)
    edge, of, normal = edge[seen], of[seen], normal[seen].sum(axis=1)
    corner = solids.edge[edge]
    # all lines that end at a corner meet where the mean of their normals leads from it
    _, meet = np.unique(of[:, None] * len(solids.corner) + corner, return_inverse=True)
    meet = meet.reshape(-1, 2)
    out = np.zeros((int(meet.max(initial=-1)) + 1, 3))
    for side in meet.T:
        np.add.at(out, side, normal)
    out /= np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300)
    ends = np.einsum("kab,ksb->ksa", turn[of], solids.corner[corner])
    ends = ends + solids.radius[part[of], None, None] * out[meet]
    ends = ends * size[of, None, None]
    return ends[..., keep], of
