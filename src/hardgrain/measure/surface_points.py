"""Points on the surfaces of shaped grains, whose Voronoi cells together are the grain's own.

The set-Voronoi cell of a grain is the space that is nearer to its surface than to any other
(Schaller et al. 2013). It is the union of the cells of many points on the surface. Grains that
touch would have points in common, and so would a grain and its mirror image in a wall; hence all
surfaces are drawn in by the same distance, which leaves the middle between two of them where it
was.

In 2D points are as far apart everywhere, in 3D they lie in directions that are spread evenly about
the middle of a part. What the cells of single points get wrong at the border of two grains is to
and fro, and mostly cancels: cells of equal disks and balls are their radical ones to 10⁻⁴ and 10⁻³.
Edges that are drawn in become those of a smaller grain, which moves the border of a grain that is
near a face of another by some of that distance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from hardgrain.core.model import Floats, Model
from hardgrain.measure.cut import clipped
from hardgrain.measure.outline import frames, polytopes, round_sides

__all__ = ["surface_points"]

# [least width of any grain] How far surfaces are drawn in. Less: points of two grains that touch
# are so near each other that cells run past them between the points of the other; more: corners
# become blunt, as they are cut off by the same distance.
DRAWN_IN = {2: 0.02, 3: 0.05}
# [least width of the grain] How far points are apart in 2D. Cells are as exact as its square.
SPACING = 1.0 / 24.0
# [points] Points on the surface of a convex part in 3D. Cells are more exact with more, and the
# time grows faster than their number.
DIRECTIONS = 128

Index = NDArray[np.intp]


def surface_points(model: Model, orientation: Floats) -> tuple[Index, Floats]:
    """The grain of each point (p,), and where it is as seen from its grain's centre (p, dim)."""
    own, dim = model.solids, model.dim
    depth = DRAWN_IN[dim] * float(model.width.min())
    parts = {int(s): polytopes(own, int(s), dim) for s in np.unique(own.shape)}
    turned = frames(model, orientation)
    known: dict[tuple[int, float], Floats] = {}
    owner, offset = [], []
    for i, (s, size) in enumerate(zip(own.shape.tolist(), own.size.tolist())):
        if (s, size) not in known:
            whole = [size * v for v in parts[s]]
            known[s, size] = _on_surface(whole, depth, SPACING * float(model.width[i]))
        points = known[s, size]
        owner.append(np.full(len(points), i))
        offset.append(points @ turned[i].T)
    return np.concatenate(owner), np.concatenate(offset)


def _on_surface(parts: list[Floats], depth: float, spacing: float) -> Floats:
    """Points (p, dim) so deep below the surface of what convex parts fill together."""
    planes = [ConvexHull(v).equations for v in parts]
    found = []
    for k, v in enumerate(parts):
        flat = v.shape[1] == 2
        inner = _around(v, depth, spacing) if flat else _seen_from_within(v, planes[k], depth)
        for other, p in enumerate(planes):
            if other != k:  # the surface of one part ends in another
                outside = inner @ p[:, :-1].T + p[:, -1] + depth >= 0.0
                inner = inner[outside.any(axis=1)]
        found.append(inner)
    return np.concatenate(found)


def _around(v: Floats, depth: float, spacing: float) -> Floats:
    """Points along the sides of a polygon (k, 2) that is drawn in."""
    inner = v
    for p, q in zip(v, np.roll(v, -1, axis=0)):
        normal = np.array([q[1] - p[1], p[0] - q[0]])
        normal /= np.linalg.norm(normal)
        if len(inner):
            inner = clipped(inner, normal, float(normal @ p) - depth)
    inner = inner if len(inner) > 2 else v
    points = []
    for p, q in zip(inner, np.roll(inner, -1, axis=0)):
        count = max(1, round(float(np.linalg.norm(q - p)) / spacing))
        points.append(p + ((np.arange(count) + 0.5) / count)[:, None] * (q - p))
    return np.concatenate(points)


def _seen_from_within(v: Floats, planes: Floats, depth: float) -> Floats:
    """Points on a polyhedron (k, 3) that is drawn in, evenly in all directions from its middle."""
    middle, u = v.mean(axis=0), round_sides(3, DIRECTIONS)
    away = -(planes[:, :-1] @ middle + planes[:, -1]) - depth
    slope = u @ planes[:, :-1].T
    with np.errstate(divide="ignore"):
        far = np.where(slope > 0.0, np.maximum(away, 0.0) / slope, np.inf).min(axis=1)
    points: Floats = middle + far[:, None] * u
    return points
