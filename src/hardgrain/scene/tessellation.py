"""A region filled with convex cells: the Voronoi cells of random points, each a little smaller.

The cell of a point holds all that is nearer to it than to the other points. At an end of the region
every point has a mirror image, so that the cells end there; along a periodic axis it has images one
period away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.scene.place import Voronoi
from hardgrain.scene.polytope import Part, hull, polygon, rounded, shrunk
from hardgrain.scene.solid import Solid

__all__ = ["tessellation", "voronoi_cells"]

Floats = NDArray[np.float64]

# [size of a cell] Corners nearer to each other become one. Voronoi cells have edges of any length,
# and contacts of such short ones are neither stable nor seen. If it is larger, gaps open.
_SHORT = 1e-3


def tessellation(place: Voronoi, count: int | None, dim: int, seed: int) -> list[Solid]:
    """The grains of a set that fills its region; their centres are where they are."""
    if count is None:
        raise InputError("count is missing; say how many grains the set has")
    for name, corner in (("min", place.min), ("max", place.max)):
        if len(corner) != dim:
            raise InputError(
                f"place.{name} has {len(corner)} entries but the scene is {dim}D; give {dim}"
            )
    axes = ["xyz".index(name) for name in place.periodic]
    if dim == 2 and 2 in axes:
        raise InputError("place.periodic holds 'z', but the scene is 2D; it takes 'x' and 'y'")
    low, high = np.array(place.min), np.array(place.max)
    rng = np.random.default_rng([seed, 2])
    gap = place.gap * float(np.prod(high - low) / count) ** (1.0 / dim)
    cells = voronoi_cells(low, high, count, rng, gap, rounds=place.rounds, periodic=axes)
    if place.rounding > 0.0:
        cells = [rounded(cell, place.rounding, dim) for cell in cells]
    return [Solid.of([cell], dim) for cell in cells]


def voronoi_cells(
    low: Floats,
    high: Floats,
    count: int,
    rng: np.random.Generator,
    gap: float,
    *,
    rounds: int = 5,
    periodic: Sequence[int] = (),
) -> list[Part]:
    """Convex cells that fill a region from low to high (dim,), with a gap between them [length].

    ``rounds``: how often all points move to the centres of their cells. ``periodic``: the axes
    along which the cells go on at the other end.
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    dim, length = len(low), high - low
    x = rng.random((count, dim))  # in units of the region
    for _ in range(rounds):
        x = np.array([_centre(c) for c in _corners(x, length, periodic)]) / length
    to = np.append(low, np.zeros(3 - dim))
    cells = _corners(x, length, periodic)
    return [_smaller(corner, 0.5 * gap).moved(to) for corner in cells]


def _centre(corner: Floats) -> Floats:
    """Centre of the convex hull of corners (k, dim), by the simplices to its faces."""
    from scipy.spatial import ConvexHull

    middle = corner.mean(axis=0)
    d = corner - middle
    side = d[ConvexHull(d).simplices]
    weight = np.abs(np.linalg.det(side))
    found: Floats = middle + weight @ side.sum(axis=1) / (len(middle) + 1) / weight.sum()
    return found


def _corners(x: Floats, length: Floats, periodic: Sequence[int]) -> list[Floats]:
    """Corners of the cells of points (n, dim) of the unit cube, stretched to these lengths."""
    from scipy.spatial import Voronoi as Diagram

    count, dim = x.shape
    near = 0.5 if count > 100 else 1.0  # images farther away than that have no part in cells
    points = x
    for axis in range(dim):
        images = [points]
        for end in (0.0, 1.0):
            image = points.copy()
            if axis in periodic:
                image[:, axis] += 1.0 - 2.0 * end
            else:
                image[:, axis] = 2.0 * end - image[:, axis]
            images.append(image)
        points = np.vstack(images)
        points = points[np.abs(points[:, axis] - 0.5) <= 0.5 + near]
    found = Diagram(points * length)
    return [found.vertices[found.regions[found.point_region[k]]] for k in range(count)]


def _smaller(corner: Floats, by: float) -> Part:
    """A cell whose faces have moved in, without its shortest edges."""
    middle, dim = _centre(corner), corner.shape[1]
    if dim == 2:
        d = corner - middle
        cell = polygon(corner[np.argsort(np.arctan2(d[:, 1], d[:, 0]))])
    else:
        cell = hull(corner)
    rim = cell.corner[[face[0] for face in cell.face], :dim]
    away = np.einsum("fa,fa->f", cell.normal[:, :dim], rim - middle)
    if away.min() <= by:
        raise InputError(
            f"place.gap leaves nothing of a cell whose centre is {away.min():.3g} from its side;"
            " lower the gap, or raise place.rounds"
        )
    left = shrunk(cell, by, dim, middle)
    x = left.corner
    close = _SHORT * float(np.ptp(x, axis=0).max())
    keep: list[int] = []
    for k in range(len(x)):
        if all(np.linalg.norm(x[k] - x[j]) > close for j in keep):
            keep.append(k)
    if len(keep) == len(x):
        return left
    return polygon(x[keep]) if dim == 2 else hull(x[keep])
