"""Grains of any shape where they are: how far they reach, and polytopes that stand for them.

A part of a shape is a convex core and all points within a radius of it (`core.solids`). How far it
reaches along a direction is exact: the farthest corner, and the radius. Where a volume is cut, a
sharp part is the polygon or polyhedron of its corners; a rounded one is replaced by one of many
sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from hardgrain.core.model import Floats, Model
from hardgrain.core.solids import Solids
from hardgrain.scene import grain_shape

__all__ = [
    "Corners",
    "corners",
    "equivalent_radius",
    "frames",
    "polytopes",
    "reach",
    "round_sides",
    "spans",
]

# [sides] Sides of the polygon, or corners of the polyhedron, that stand for a full circle or ball
# of a rounded part, by dimension. Polytopes are as large as the shape, so that only the place of
# what is cut off is rounded, by up to 10⁻⁵ of the grain in 2D and 10⁻⁴ in 3D; with fewer by more.
SIDES = {2: 64, 3: 256}
Index = NDArray[np.intp]


def equivalent_radius(model: Model) -> Floats:
    """(n,) radius of the disk or ball with each grain's volume; of round grains, their own."""
    if model.round:
        return model.radius
    if model.dim == 2:
        return np.sqrt(model.volume / np.pi)
    return np.cbrt(0.75 / np.pi * model.volume)


def frames(model: Model, orientation: Floats) -> Floats:
    """(n, dim, dim) matrices that turn vectors of each grain's own frame into the world's."""
    turn: Floats = grain_shape.frames(orientation[: model.n])[:, : model.dim, : model.dim]
    return turn


class Corners(NamedTuple):
    """The corners of all grains, one after the other."""

    start: Index  # (n,) where those of each grain begin
    owner: Index  # (k,) the grain of each
    place: Floats  # (k, dim) from its grain's centre, in the world's frame [length]
    radius: Floats  # (k,) radius around the core that it belongs to [length]


def corners(model: Model, orientation: Floats) -> Corners:
    """The corners of shaped grains as they are turned."""
    own, dim = model.solids, model.dim
    first = own.corner_start[own.part_start[own.shape]].astype(np.intp)
    count = own.corner_start[own.part_start[own.shape + 1]].astype(np.intp) - first
    start = np.cumsum(count) - count
    owner = np.repeat(np.arange(model.n), count)
    row = np.arange(owner.size) + (first - start)[owner]
    part = np.searchsorted(own.corner_start, row, side="right") - 1
    local = own.corner[row, :dim] * own.size[owner, None]
    place = np.einsum("kab,kb->ka", frames(model, orientation)[owner], local)
    return Corners(start, owner, place, own.radius[part] * own.size[owner])


def reach(model: Model, orientation: Floats, direction: Floats) -> Floats:
    """(n,) how far each grain reaches from its centre along a unit vector (dim,)."""
    if model.round or not model.n:
        return model.radius
    c = corners(model, orientation)
    far: Floats = np.maximum.reduceat(c.place @ direction + c.radius, c.start)
    return far


def spans(model: Model, orientation: Floats) -> tuple[Floats, Floats]:
    """How far grains reach below and above their centres along all axes, (n, dim) or (n, 1)."""
    if model.round or not model.n:
        r = model.radius[:, None]
        return r, r
    c = corners(model, orientation)
    r = c.radius[:, None]
    below = -np.minimum.reduceat(c.place - r, c.start, axis=0)
    return below, np.maximum.reduceat(c.place + r, c.start, axis=0)


def round_sides(dim: int, count: int | None = None) -> Floats:
    """Unit vectors in all directions, evenly spread, shape (count or SIDES, dim)."""
    k = np.arange(SIDES[dim] if count is None else count) + 0.5
    if dim == 2:
        angle = 2.0 * np.pi / k.size * k
        return np.column_stack([np.cos(angle), np.sin(angle)])
    z = 1.0 - 2.0 * k / k.size
    angle, rho = np.pi * (1.0 + np.sqrt(5.0)) * k, np.sqrt(1.0 - z**2)
    return np.column_stack([rho * np.cos(angle), rho * np.sin(angle), z])


def polytopes(own: Solids, shape: int, dim: int) -> list[Floats]:
    """Corners (k, dim) of the polytope that stands for each part of a shape, in its frame [size].

    In 2D they are in order around it. A shape of a single part has its own volume exactly.
    """
    found = []
    for p in range(own.part_start[shape], own.part_start[shape + 1]):
        v = own.corner[own.corner_start[p] : own.corner_start[p + 1], :dim]
        r = float(own.radius[p])
        if r > 0.0:
            v = (v[:, None, :] + r * round_sides(dim)).reshape(-1, dim)
            v = v[ConvexHull(v).vertices]
        found.append(v)
    if len(found) == 1 and own.radius[own.part_start[shape]] > 0.0:
        v = found[0]
        found = [v * (own.volume[shape] / ConvexHull(v).volume) ** (1.0 / dim)]
    return found
