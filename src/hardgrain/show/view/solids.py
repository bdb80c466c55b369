"""Grains of any shape as meshes for the viewer: one for each shape, copied for each grain.

Where nearly every grain has a shape of its own, as the cells of a Voronoi tessellation, a mesh for
each would make thousands of nodes to be moved one by one; and where grains deform, meshes would be
sent again for each frame. Then all triangles of all grains are copies of one, a unit triangle with
a right angle: the altitude on its longest side cuts any triangle into two of them, and each is the
unit one stretched along its legs and turned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.visible import surfaces
from hardgrain.scene.grain_outline import shape_outlines
from hardgrain.scene.grain_shape import Rows, grain_shapes, once_for
from hardgrain.scene.grain_surface import shape_surfaces
from hardgrain.show.view.shapes import Mesh, make_mesh

__all__ = [
    "MANY",
    "Copies",
    "corner_mesh",
    "grain_mesh",
    "in_pieces",
    "right_triangles",
    "rim_mesh",
]

MANY = 200  # [shapes] if there are more, grains are drawn in pieces; each shape is a node
RIM = 0.035  # [width of the shape] width of the rim of a polygon as drawn
# Most triangles of all shapes together, and how fine rounded ones are; see `shapes.LEVELS`.
TRIANGLES = 2e6
FEW = 1000  # [grains] more are drawn with coarser roundings where they are in pieces
SEAM = 0.004  # [leg of a triangle] by which triangles in the plane overlap


class Copies(NamedTuple):
    """Copies of a mesh."""

    centre: Floats  # (m, 3) [length]
    size: Floats  # (m, 3) [length]
    orientation: Floats  # (m, 4) quaternions (w, x, y, z)
    grain: Rows  # (m,) the grain that each belongs to
    element: Rows  # (m,) the element of a grain that deforms (`measure.deformed`), −1: none


def _fineness(grains: int) -> int:
    return 2 if grains * 20 * 4**2 * 2 < TRIANGLES else 1


def grain_mesh(solids: Solids, dim: int, shape: int, grains: int) -> Mesh:
    """The mesh of a shape [size]; it is lit as flat faces where it has any."""
    surface = shape_surfaces(solids, dim, _fineness(grains), convex=True)[shape]
    faceted = dim == 3 and grain_shapes(solids, dim)[shape].sides > 0
    return make_mesh(surface.points, surface.triangles, faceted)


def rim_mesh(solids: Solids, shape: int) -> Mesh:
    """A band along the inside of a shape's outline in 2D [size], or neighbours would merge."""
    width = RIM * float(solids.width[shape])
    points: list[Floats] = []
    faces: list[Rows] = []
    start = 0
    for loop in once_for(solids, shape_outlines).loops(shape):
        side = np.roll(loop, -1, axis=0) - loop
        inward = np.stack([-side[:, 1], side[:, 0]], axis=1)
        inward /= np.linalg.norm(side, axis=1, keepdims=True)
        both = inward + np.roll(inward, 1, axis=0)
        # as long as it needs to be for the band to have the same width around the corner
        both /= np.maximum(np.einsum("ka,ka->k", both, both), 0.4)[:, None]
        k = np.arange(len(loop))
        after = (k + 1) % len(loop)
        other = k + len(loop), after + len(loop)
        points += [loop, loop + 2.0 * width * both]
        faces += [
            start + np.stack([k, after, other[1]], axis=1),
            start + np.stack([k, other[1], other[0]], axis=1),
        ]
        start += 2 * len(loop)
    return make_mesh(np.concatenate(points), np.concatenate(faces))


# ---------------------------------------------------------------------- grains in pieces
def corner_mesh() -> Mesh:
    """The triangle with a right angle at the origin and legs of length 1 along x and y."""
    return make_mesh(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]]), True)


def in_pieces(snap: Snapshot, centre: Floats) -> Copies:
    """All grains about these centres (n, 3), as copies of `corner_mesh`.

    Polygons in 2D are a little smaller than they are, or neighbours would merge.
    """
    s, element = surfaces(snap, centre[:, : snap.dim], int(snap.n < FEW), convex=True)
    count = np.diff(s.offsets)
    # a fan of triangles in each polygon
    cell = np.repeat(np.arange(len(count)), count - 2)
    step = np.arange(len(cell)) - np.repeat(np.cumsum(count - 2) - (count - 2), count - 2)
    first = s.offsets[cell]
    corners = s.connectivity[np.stack([first, first + step + 1, first + step + 2], axis=1)]
    triangle = s.points[corners]
    if snap.dim == 2:
        about = centre[s.grain[cell]][:, None]
        triangle = about + (1.0 - RIM) * (triangle - about)
    place, size, orientation = right_triangles(triangle)
    if snap.dim == 2:  # they overlap a little, or the ground would shine through between them
        axes = Rotation.from_quat(np.roll(orientation, -1, axis=1)).as_matrix()
        place -= SEAM * np.einsum("kab,kb->ka", axes[:, :, :2], size[:, :2])
        size[:, :2] *= 1.0 + 2.0 * SEAM
    return Copies(place, size, orientation, np.tile(s.grain[cell], 2), np.tile(element[cell], 2))


def right_triangles(corners: Floats) -> tuple[Floats, Floats, Floats]:
    """Triangles (t, 3, 3), each cut in two: places, sizes and orientations of 2t copies."""
    sides = np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=2)
    begin = np.argmax(sides, axis=1)
    one = np.arange(len(corners))
    a, b, c = (corners[one, (begin + k) % 3] for k in range(3))
    along = (b - a) / np.maximum(sides[one, begin], 1e-300)[:, None]
    foot = a + np.einsum("ka,ka->k", c - a, along)[:, None] * along
    up = c - foot
    height = np.linalg.norm(up, axis=1)
    up = up / np.maximum(height, 1e-300)[:, None]
    flat = height < 1e-12 * sides[one, begin]
    up[flat] = _aside(along[flat])
    # The second is mirrored, which a turn about the altitude does as well.
    legs = [np.linalg.norm(end - foot, axis=1) for end in (b, a)]
    axes = [np.stack([x, up, np.cross(x, up)], axis=2) for x in (along, -along)]
    turned = Rotation.from_matrix(np.concatenate(axes).reshape(-1, 3, 3)).as_quat()
    leg = np.concatenate(legs)
    size = np.stack([leg, np.tile(height, 2), np.ones_like(leg)], axis=1)
    return np.tile(foot, (2, 1)), size, np.roll(turned, 1, axis=1)


def _aside(along: Floats) -> Floats:
    """Unit vectors across others."""
    other = np.eye(3)[np.argmin(np.abs(along), axis=1)]
    across = np.cross(along, other)
    aside: Floats = across / np.linalg.norm(across, axis=1, keepdims=True)
    return aside
