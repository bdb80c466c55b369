"""Walls as something to look at: polygons in 3D, lines in 2D.

Planes and cylinders have no end. They are cut at a box around all grains, their shadow on each
plane, and the finite walls; so every wall is seen, and a box of walls is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hardgrain.measure.snapshot import Snapshot
from hardgrain.scene.geometry import DISK, PLANE, RECTANGLE, SEGMENT, TRIANGLE
from hardgrain.scene.model import Floats

__all__ = ["FLAT", "Surfaces", "flat_rims", "wall_surfaces"]

FLAT = (RECTANGLE, TRIANGLE, DISK)  # walls of 3D that have an edge

EDGES = 96  # of a circle
CLOSE = 1e-9  # [size of the box] what rounding may leave between a plane and a corner on it


@dataclass(frozen=True)
class Surfaces:
    """Cells (lines in 2D, polygons in 3D) over points, with the wall that each belongs to."""

    points: Floats  # (p, dim)
    connectivity: NDArray[np.int64]  # points of all cells, one after the other
    offsets: NDArray[np.int64]  # (cells + 1,) where each begins
    wall: NDArray[np.int64]  # (cells,)


def wall_surfaces(snap: Snapshot) -> Surfaces:
    """All walls of a snapshot."""
    low, high = _bounds(snap)
    parts: list[Floats] = []
    cells: list[NDArray[np.int64]] = []
    owner: list[int] = []
    count = 0
    for k, (kind, point, axis, size, side) in enumerate(zip(*snap.walls)):
        if kind == PLANE:
            corners = _cut(point, axis, low, high)
            shape = [np.arange(len(corners))]
        elif kind == SEGMENT:
            corners, shape = np.array([point, point + axis]), [np.arange(2)]
        elif kind in FLAT:
            rims = flat_rims(kind, point, axis, size, side)
            corners, edges = np.vstack(rims), len(rims[0])
            shape = [np.arange(edges)] if len(rims) == 1 else _strips(edges)
        elif snap.dim == 2:
            corners = point + size * _circle(np.eye(2))
            shape = [np.append(np.arange(EDGES), 0)]
        else:
            corners, shape = _tube(point, axis, size, low, high)
        parts.append(corners)
        cells += [count + cell for cell in shape]
        owner += [k] * len(shape)
        count += len(corners)
    return Surfaces(
        np.vstack(parts) if parts else np.zeros((0, snap.dim)),
        np.concatenate(cells) if cells else np.zeros(0, np.int64),
        np.cumsum([0, *map(len, cells)]),
        np.array(owner, np.int64),
    )


def _bounds(snap: Snapshot) -> tuple[Floats, Floats]:
    """Corners of the box at which walls are cut."""
    period, (low, high) = snap.model.periodic, snap.box
    low, high = np.where(period > 0.0, (snap.low, snap.low + period), (low, high))
    middle, corners = 0.5 * (low + high), np.array(list(product(*zip(low, high))))
    for kind, point, axis, size, side in zip(*snap.walls):
        if kind == PLANE:
            seen = list(corners - np.outer((corners - point) @ axis, axis))
        elif kind == SEGMENT:
            seen = [point, point + axis]
        elif kind in FLAT:
            seen = list(flat_rims(kind, point, axis, size, side)[0])
        elif snap.dim == 2:
            seen = [point - size, point + size]
        else:
            foot = point + np.dot(middle - point, axis) * axis
            half = size * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
            seen = [foot - half, foot + half]
        low, high = np.min([low, *seen], axis=0), np.max([high, *seen], axis=0)
    return low, high


def _cut(point: Floats, normal: Floats, low: Floats, high: Floats) -> Floats:
    """Corners of the polygon (3D) or ends of the line (2D) that a box cuts out of a plane."""
    dim, size = low.size, float(np.linalg.norm(high - low))
    corner = np.array(list(product(*zip(low, high))))
    height = (corner - point) @ normal
    height[np.abs(height) < CLOSE * size] = 0.0
    pairs = [(i, i | 1 << k) for i in range(1 << dim) for k in range(dim) if not i >> k & 1]
    a, b = np.array(pairs).T
    for above in (height > 0.0, height >= 0.0):  # of a plane on a face, one of the two misses it
        cut = above[a] != above[b]
        if cut.any():
            break
    i, j = a[cut], b[cut]
    share = (height[i] / (height[i] - height[j]))[:, None]
    found = corner[i] + share * (corner[j] - corner[i])
    _, once = np.unique(np.round(found / (CLOSE * size)), axis=0, return_index=True)
    found = found[once]
    if dim == 2:
        return np.asarray(found)
    first, second = _across(normal)
    out = found - found.mean(axis=0)
    around: Floats = found[np.argsort(np.arctan2(out @ second, out @ first))]
    return around


def _tube(
    point: Floats, axis: Floats, size: float, low: Floats, high: Floats
) -> tuple[Floats, list[NDArray[np.int64]]]:
    """A cylinder from end to end of a box, of flat strips."""
    along = (np.array(list(product(*zip(low, high)))) - point) @ axis
    ring = point + size * _circle(np.array(_across(axis)))
    corners = np.vstack([ring + end * axis for end in (along.min(), along.max())])
    return corners, _strips(EDGES)


def flat_rims(
    kind: int, point: Floats, axis: Floats, size: float, side: Floats, edges: int = EDGES
) -> list[Floats]:
    """The outer rim of a flat wall, (k, 3), and that of its hole, corner facing corner."""
    if kind == TRIANGLE:
        return [np.array([point, point + axis, point + side])]
    if kind == DISK:
        radius = float(np.linalg.norm(axis))
        circle = _circle(np.array(_across(axis / radius)), edges)
        return [point + r * circle for r in (radius, size) if r > 0.0]
    corners = point + np.array([0.0 * axis, axis, axis + side, side])
    if size == 0.0:
        return [corners]
    share = (np.arange(edges // 4) / (edges // 4))[:, None]
    outer = np.vstack([a + share * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0))])
    out = outer - corners.mean(axis=0)
    return [outer, corners.mean(axis=0) + size * out / np.linalg.norm(out, axis=1)[:, None]]


def _strips(edges: int) -> list[NDArray[np.int64]]:
    """Quadrilaterals between two rings of corners."""
    k = np.arange(edges)
    following = (k + 1) % edges
    return list(np.stack([k, following, edges + following, edges + k], axis=1))


def _circle(axes: Floats, edges: int = EDGES) -> Floats:
    """(edges, dim) points of the unit circle in the plane of two axes (2, dim)."""
    angle = np.arange(edges) * (2.0 * np.pi / edges)
    circle: Floats = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ axes
    return circle


def _across(axis: Floats) -> tuple[Floats, Floats]:
    """Two unit vectors that make a right-handed frame with a third."""
    first = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
