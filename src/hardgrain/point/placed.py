"""Shapes as they stand in space, and the records that the narrow phase of shapes works with.

A wall that has an edge, or is round and solid, is a convex core too: it has a row of `Placed`
behind those of the grains. Its centre is that of its core, not the point that it turns about. The
core of a mesh is one triangle, whichever is looked at (`hardgrain.cpu.mesh`).

This file is part of what kernels are compiled from: a change of a record compiles them anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.addresses import NOWHERE, Address
from hardgrain.core.meshes import NO_MESHES, Meshes
from hardgrain.core.solids import Solids
from hardgrain.core.wall_kinds import Walls

__all__ = ["Cores", "Outline", "Part", "Placed", "Room", "ShapedBodies"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Placed(NamedTuple):
    """Corners and faces of all bodies, turned and scaled; nothing is left out for round grains."""

    shape: Ints  # (nb,) row of the shape, −1 for a wall that is no core
    size: Floats  # (nb,) unit of length of the radius of its parts [length]
    bound: Floats  # (nb,) from the centre to the farthest point [length]
    corner_start: Ints  # (nb + 1,) where the corners of each body begin
    face_start: Ints  # (nb + 1,)
    corner: Floats  # (C, 3) relative to the centre of the body [length]
    normal: Floats  # (F, 4) unit vectors outwards, and how far the face is along them [length]
    ball_start: Ints  # (nb + 1,) where the parts of each body begin
    ball: Floats  # (P, 4) around each part: its centre, relative to the body's, and radius [length]
    centre: Floats  # (w, 3) of the cores of walls; for a solid cylinder a point of its axis


class ShapedBodies(NamedTuple):
    """What the contact points of grains of any shape depend on."""

    position: Floats  # (nb, dim) [length]
    number: Ints  # (n,) of each grain, whatever its row
    periodic: Floats  # (dim,) periods [length], zero where there is none
    walls: Walls
    solids: Solids  # with the shapes of walls at the end, see `hardgrain.cpu.placing`
    placed: Placed
    features: int  # how many local features a pair of parts can have
    meshes: Meshes = NO_MESHES  # those that walls are
    mesh_rows: Address = NOWHERE  # of `cpu.mesh.mesh_rows`, where there are meshes


class Room(NamedTuple):
    """Memory that the narrow phase works in, one for each thread."""

    simplex: Floats  # (4, 3) points of the difference of two cores
    weight: Floats  # (4,) of each of them in the point that is nearest to the origin
    pick: Ints  # (4, 2) rows of the corners that it is the difference of
    best: Floats  # (3,) direction along which the cores are known to be farthest apart
    height: Floats  # (2, K) of the corners of both parts along the normal
    near: Ints  # (E, 3) edges of the second part that may overlap, and the faces there
    polygon: Floats  # (2, 2 K + 2, 3) a face before and after it is cut by a plane
    label: Ints  # (2, 2 K + 2, 2) its corners: a side or corner of either body
    site: Floats  # (1, dim) where a corner is in space [length]
    # the points found
    gap: Floats  # (M,)
    normal: Floats  # (M, 3)
    on_first: Floats  # (M, 3) relative to the centre of the first body
    on_second: Floats  # (M, 3) relative to the centre of the second body
    feature: Ints  # (M,)
    kept: Ints  # (M,) those that are left of too many


class Part(NamedTuple):
    """Where the rows of one part are; those of corners and faces count in `Placed`."""

    corner: int
    corner_end: int
    face: int
    face_end: int
    edge: int  # row of `Solids.edge`
    edge_end: int
    to_corner: int  # from a row of `Solids.corner` to one of `Placed.corner`
    to_face: int
    radius: float  # [length]


class Outline(NamedTuple):
    """What the narrow phase reads of `Solids` beside the rows of parts."""

    rim_start: Ints
    rim: Ints
    edge: Ints
    edge_face: Ints


class Cores(NamedTuple):
    """Two parts, one of the first body and one of the second."""

    outline: Outline
    corner: Floats
    normal: Floats
    room: Room
    a: Part
    b: Part
    apart: tuple[float, float, float]  # centre of the second body − centre of the first [length]
    extent: float  # no two points of the parts are farther apart [length]
