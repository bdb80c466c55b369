"""The shapes of grains as flat arrays: convex cores with a radius around them.

A grain is one convex part, or several that move as one (a clump). A part is a *core*, the convex
hull of some corners, and all points within a *radius* of it:

=================  =======  ==========  =====
part               corners  faces       edges
=================  =======  ==========  =====
disk, ball         1        0           0
capsule in 2D      2        2 (± n)     0
capsule in 3D      2        0           1
polygon in 2D      k ≥ 3    k           0
flat plate in 3D   k ≥ 3    2 (± n)     k
polyhedron         k ≥ 4    f           k + f − 2
=================  =======  ==========  =====

With radius zero a part has sharp corners; otherwise it is rounded. In 2D a face is a side of the
polygon, with two corners, and there are no edges. Corners are listed counter-clockwise in 2D, those
of a face counter-clockwise seen from outside in 3D; all vectors have three components, of which the
last is zero in 2D.

Many grains can share a shape. A shape is given in its own frame, whose origin is its centre of mass
and whose axes are its principal axes, in a unit of length of its own; a grain's `size` is that
unit.

This file is part of what kernels are compiled from: a change of a record compiles them anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROUND_GRAINS", "Solids"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Solids(NamedTuple):
    """Grains of any shape, and the table of these shapes; all arrays are empty if all are round.

    Rows of grains (n), shapes (s), parts (p), corners (c), faces (f) and edges (e). A column that
    says where the rows of each thing begin has one more entry, their number.
    """

    shape: Ints  # (n,) row of the shape that each grain has
    size: Floats  # (n,) unit of length of each grain's shape [length]
    # shapes
    part_start: Ints  # (s + 1,) where the parts of each shape begin
    volume: Floats  # (s,) area in 2D, volume in 3D, of all parts together [size^dim]
    bound: Floats  # (s,) distance from the centre to the farthest point [size]
    width: Floats  # (s,) least distance of two parallel lines or planes around the shape [size]
    moments: Floats  # (s, 3) principal moments of inertia over mass, in 2D the last one [size²]
    # parts
    radius: Floats  # (p,) radius around the core [size]
    corner_start: Ints  # (p + 1,)
    face_start: Ints  # (p + 1,)
    edge_start: Ints  # (p + 1,)
    # corners
    corner: Floats  # (c, 3) where it is [size]
    # faces
    face_normal: Floats  # (f, 3) unit vector outwards
    rim_start: Ints  # (f + 1,) where the corners of each face begin in `rim`
    rim: Ints  # corners of faces, in order around them, as rows of `corner`
    # edges, in 3D
    edge: Ints  # (e, 2) the two corners, as rows of `corner`
    edge_face: Ints  # (e, 2) the two faces that meet there, as rows of `face_normal`; −1: none


def _empty() -> Solids:
    none, floats = np.zeros(0, np.int32), np.zeros(0)
    start, vectors, pairs = np.zeros(1, np.int32), np.zeros((0, 3)), np.zeros((0, 2), np.int32)
    return Solids(
        none, floats, start, floats, floats, floats, vectors, floats, start, start, start, vectors,
        vectors, start, none, pairs, pairs,
    )  # fmt: skip


ROUND_GRAINS = _empty()  # all grains are disks or balls
