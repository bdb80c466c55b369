"""A packing in the plane of a picture: grains, lines through contacts, outlines of walls.

In 2D the plane is (x, y); a scene in 3D is seen along y, in the plane (x, z). A periodic cell that
is tilted, or deforms, is drawn as it is, with its edges; all that crosses one of its faces is drawn
on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import FLAT, INSIDE, MESH, PLANE, ROUND, SEGMENT
from hardgrain.measure.membrane import facets_of, outline_of
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.visible import Patches, outlines, patches
from hardgrain.scene.grain_outline import Outlines
from hardgrain.scene.wall_shape import WallShape
from hardgrain.show.contact_lines import Lines, force_lines

__all__ = [
    "BAND", "GRAINS", "Circle", "Lines", "PlaneView", "Shape", "bounds", "force_lines", "see",
    "walls",
]  # fmt: skip

BAND = 0.7  # [mean diameter] thickness of a wall as drawn


@dataclass(frozen=True, eq=False)
class PlaneView:
    """All that is drawn. Grains and lines that cross a periodic end are there twice.

    In 3D every part of a clump has a row of its own, since other grains may lie between them.
    """

    axes: tuple[int, int]
    center: Floats  # (n, 2), far ones first
    radius: Floats  # (n,)
    depth: Floats  # (n,) from 0, near, to 1, far
    grain: NDArray[np.int64]  # (n,) their numbers
    lines: Floats  # (m, 2, 2) ends of the lines, weakest first
    force: Floats  # (m,)
    value: Floats  # (m,)
    low: Floats  # (2,) corner of the view [length]
    high: Floats  # (2,)
    # (n,) rows of `outlines`, which are about the centres; none where all grains are round
    outline: NDArray[np.int64]
    outlines: Outlines | None = None
    patches: Patches | None = None  # triangles of grains that deform, about their centres


@dataclass(frozen=True)
class Circle:
    """A wall that is seen as a circle."""

    center: Floats  # (2,)
    radius: float
    around: bool  # whether the grains are inside


Shape = Circle | Floats  # polygons are (k, 2), those with k = 2 lines


def plane_of(seen: Snapshot | WallShape) -> tuple[int, int]:
    """The two axes of the picture."""
    return (0, 1) if seen.dim == 2 else (0, 2)


def see(snap: Snapshot, lines: Lines | None = None, box: Floats | None = None) -> PlaneView:
    """Put grains and lines into the plane of the picture; ``box`` (2, 2) holds its corners."""
    axes = plane_of(snap)
    keep = list(axes)
    low, high = bounds(snap) if box is None else box
    if lines is None:
        none = np.zeros(0)
        lines = Lines(np.zeros(0, np.int32), np.zeros((0, snap.dim)), none, none)
    found, grain, behind = outlines(snap, keep)
    y = snap.wrapped[grain, 1] + behind
    start = snap.wrapped[lines.first]
    if lines.offset is not None:
        start = start + lines.offset
    ends = np.stack([start, start + lines.arm], axis=1)
    center, radius = snap.wrapped[grain], snap.radius[grain]
    g, by = _images(snap, center[:, None], snap.bound[grain])
    m, along = _images(snap, ends, np.zeros(len(ends)))
    depth = np.zeros(len(g))
    if snap.dim == 3 and snap.n:
        depth = (y[g] + by[:, 1] - y.min()) / max(float(np.ptp(y)), 1e-300)
    plane = PlaneView(
        axes, (center[g] + by)[:, keep], radius[g], np.clip(depth, 0.0, 1.0), grain[g],
        (ends[m] + along[:, None])[:, :, keep], lines.force[m], lines.value[m], low, high,
        np.arange(len(grain))[g], found, patches(snap, keep),
    )  # fmt: skip
    far = np.argsort(-plane.depth, kind="stable")
    weak = np.argsort(np.abs(plane.force), kind="stable")
    return replace(
        plane,
        **{name: getattr(plane, name)[far] for name in GRAINS},
        **{name: getattr(plane, name)[weak] for name in ("lines", "force", "value")},
    )


# columns of a view with a row for each thing that is drawn of a grain
GRAINS = ("center", "radius", "depth", "grain", "outline")


def _images(snap: Snapshot, place: Floats, reach: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Things with points (k, p, dim) and all their images that cross a face of the cell.

    ``reach`` (k,) is that of each thing beyond its points. Gives the things, some of them several
    times, and by how much each is moved (…, dim).
    """
    rows, shift = np.arange(len(place)), np.zeros((len(place), snap.dim))
    h, widths = snap.cell.matrix, snap.cell.widths
    across = np.linalg.inv(h + np.diag(np.where(snap.cell.repeats, 0.0, 1.0)))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    for a in np.flatnonzero(snap.cell.repeats):
        if not h[list(plane_of(snap)), a].any():  # its image is right behind it
            continue
        height = (place[rows] + shift[:, None] - snap.low) @ across[a]
        below = np.flatnonzero(height.min(axis=1, initial=np.inf) < reach[rows])
        above = np.flatnonzero(height.max(axis=1, initial=-np.inf) > widths[a] - reach[rows])
        shift = np.concatenate([shift, shift[below] + h[:, a], shift[above] - h[:, a]])
        rows = np.concatenate([rows, rows[below], rows[above]])
    return rows, shift


def bounds(snap: Snapshot) -> tuple[Floats, Floats]:
    """Corners of the view: all grains, the finite walls, and the planes close to them."""
    keep = list(plane_of(snap))
    low, high = (corner[keep] for corner in _filled(snap, keep))
    reach = 0.25 * (high - low).max()
    for wall in snap.wall_shapes:
        corners = wall.ends()[:, keep]
        if wall.kind in ROUND and not _seen_as_circle(wall):
            continue
        if wall.kind == PLANE and np.count_nonzero(wall.axis[keep]) == 1:
            side = np.where(wall.axis[keep] != 0.0, wall.point[keep], 0.5 * (low + high))
            if (side > low - reach).all() and (side < high + reach).all():
                corners = side[None]
        low, high = np.min([low, *corners], axis=0), np.max([high, *corners], axis=0)
    margin = BAND * snap.diameter
    low, high = low - margin, high + margin
    room = margin if snap.cell.tilted else 0.0  # grains stick out of faces that are aslant
    for k, along in enumerate(keep):
        if snap.cell.repeats[along]:
            ends = snap.cell_edges[:, :, along]
            low[k], high[k] = ends.min() - room, ends.max() + room
    return low, high


def _filled(snap: Snapshot, keep: list[int]) -> tuple[Floats, Floats]:
    """Corners of what the grains in the cell fill, in all dimensions."""
    low, high = snap.box
    rims, grain, _ = outlines(snap, keep)
    if rims is not None and snap.n:
        found, owner = rims.of(np.arange(len(grain)))
        points = found.points + snap.wrapped[grain[owner]][:, keep]
        low, high = low.copy(), high.copy()
        low[keep], high[keep] = points.min(axis=0), points.max(axis=0)
    return low, high


def _seen_as_circle(wall: WallShape) -> bool:
    """Whether the picture looks along the axis of a cylinder."""
    return wall.dim == 2 or bool((np.abs(wall.axis[list(plane_of(wall))]) < 1e-9).all())


def walls(snap: Snapshot, low: Floats, high: Floats) -> list[Shape]:
    """Outlines of the walls in a view; planes are bands that leave the view at both ends.

    The edges of a cell that is tilted or deforms are among them, and the membrane; in 3D its
    outline.
    """
    keep = list(plane_of(snap))
    shapes: list[Shape] = []
    if snap.cell.tilted or snap.model.cell >= 0:
        edges = np.unique(np.round(snap.cell_edges[:, :, keep], 12), axis=0)
        shapes += [edge for edge in edges if (edge[0] != edge[1]).any()]
    if snap.model.membrane is not None and snap.dim == 2:
        corners, chords = facets_of(snap)
        shapes += list(corners[chords])
    elif snap.model.membrane is not None:
        shapes += list(outline_of(snap, np.array([0.0, 1.0, 0.0]))[:, :, keep])
    for wall in snap.wall_shapes:
        if wall.kind == PLANE:
            shapes += _band(wall, low, high, BAND * snap.diameter, keep)
        elif wall.kind == SEGMENT:
            shapes += wall.rims()
        elif wall.kind in FLAT:
            shapes += _flat([rim[:, keep] for rim in wall.rims()])
        elif wall.kind == MESH:
            shapes += list(wall.outline(np.array([0.0, 1.0, 0.0]))[:, :, keep])
        elif _seen_as_circle(wall):
            shapes.append(Circle(wall.point[keep], float(wall.size), bool(wall.kind == INSIDE)))
    return shapes


def _band(wall: WallShape, low: Floats, high: Floats, width: float, keep: list[int]) -> list[Shape]:
    """A plane as a band in the view on its solid side; nothing if it faces the eye."""
    normal = wall.axis[keep]
    if np.linalg.norm(normal) < 1e-6:
        return []
    normal = normal / np.linalg.norm(normal)
    far = (high - low).sum()  # so long that no end is seen, however the line slants
    line = wall._replace(point=wall.point[keep], axis=normal).surface(low - far, high + far)
    return [np.vstack([line.points, line.points[::-1] - width * normal])] if line.cells else []


def _flat(rims: list[Floats]) -> list[Shape]:
    """A flat wall in 3D: lines along its rims; seen from its edge one line, cut at the hole."""
    outer = rims[0]
    far = outer[np.argmax(np.linalg.norm(outer - outer[0], axis=1))]
    along = far - outer[0]
    along /= np.linalg.norm(along)
    off = outer - outer[0]
    if np.abs(off[:, 0] * along[1] - off[:, 1] * along[0]).max() > 1e-6 * np.abs(off).max():
        return [np.array([a, b]) for rim in rims for a, b in zip(rim, np.roll(rim, -1, axis=0))]
    places = np.sort([f((rim - outer[0]) @ along) for rim in rims for f in (np.min, np.max)])
    return [outer[0] + np.outer(ends, along) for ends in places.reshape(-1, 2)]
