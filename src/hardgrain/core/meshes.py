"""Walls that are meshes as flat arrays: triangles in a frame of the wall, and a tree of boxes.

The frame of a mesh has its origin in the middle of its bounding box and is turned as the wall is.
Triangles have a normal, by the order of their corners; that of a surface with one side points to
the side on which grains are. Triangles that lie in one plane and hang together are one *facet*,
named after the first of them: what lies on a facet has the same name on all its triangles.

The tree has its nodes in the order of a walk through it, children behind their parent. If what is
looked for is not in the box of a node, all that hangs below is passed over: the walk goes on with
the node that `skip` names. So it needs no stack, and triangles come in the same order always.

This file is part of what kernels are compiled from: a change of a record compiles them anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_MESHES", "Meshes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Meshes(NamedTuple):
    """The meshes of all walls, with rows of walls (w), corners (c), triangles (t) and nodes (k)."""

    # walls; a wall that is no mesh has no rows
    one_sided: NDArray[np.bool_]  # (w,) whether grains can be on the side of the normals alone
    hollow: NDArray[np.bool_]  # (w,) whether that is inside of a closed surface
    corner_start: Ints  # (w + 1,) where the corners of each wall begin
    triangle_start: Ints  # (w + 1,)
    node_start: Ints  # (w + 1,)
    # corners
    corner: Floats  # (c, 3) in the frame of the wall [length]
    # triangles
    triangle: Ints  # (t, 3) the three corners, as rows of `corner`
    normal: Floats  # (t, 3) unit vector, in the frame of the wall
    facet: Ints  # (t,) first triangle of the facet, counted from the first of the wall
    flat: NDArray[np.bool_]  # (t, 3) whether the facet goes on across the side from corner k
    # nodes
    low: Floats  # (k, 3) corners of the box of all triangles below [length]
    high: Floats  # (k, 3)
    skip: Ints  # (k,) node that follows if nothing below is wanted
    leaf: Ints  # (k, 2) the node's own triangles in `item`, from and to; none if it has children
    item: Ints  # (t,) triangles in the order of the nodes


def _empty() -> Meshes:
    none, start, vectors = np.zeros(0, np.int32), np.zeros(1, np.int32), np.zeros((0, 3))
    flags, threes = np.zeros(0, np.bool_), np.zeros((0, 3), np.int32)
    return Meshes(
        flags, flags, start, start, start, vectors, threes, vectors, none, threes.astype(np.bool_),
        vectors, vectors, none, np.zeros((0, 2), np.int32), none,
    )  # fmt: skip


NO_MESHES = _empty()  # no wall is a mesh
