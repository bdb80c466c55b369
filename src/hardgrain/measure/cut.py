"""How much of a shaped grain lies in a region.

A convex part is clipped by the sides of a block exactly: in 2D a polygon side by side (Sutherland
and Hodgman), in 3D a polyhedron plane by plane, whose new corners are where its edges cross the
plane. A polygon shares with a disk the sum over its sides of what the disk shares with the triangle
of the side and the disk's centre, signed. With a ball or a tube, a polyhedron is cut across into
slices, polygons in disks, whose areas are summed by Gauss and Legendre between the heights of its
corners.

Parts of a clump may overlap. Such a clump is taken for many points spread evenly in it, so that
what is cut off it is right to about 10⁻³ of its volume. Grains that are not cut count exactly, in
either case.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from hardgrain.core.model import Floats, Model
from hardgrain.measure.outline import frames, polytopes

if TYPE_CHECKING:
    from hardgrain.measure.deformed import Deformed
    from hardgrain.measure.region import Ball, Region, Tube
    from hardgrain.measure.snapshot import Snapshot

__all__ = ["area", "clipped", "covered", "in_disk"]

# [1] A ball lies inside a region if no more of its volume is outside, which is rounding. Larger:
# grains that are cut count as whole; smaller: whole ones are cut in vain.
INSIDE = 1e-12
# [points] Points that stand for a clump whose parts overlap, of which those inside count. More are
# more exact, as 1/points, and slower.
POINTS = 1 << 14
# [1] Parts that share less of their volume do not overlap. More: overlaps count twice; less:
# rounding of volumes makes clumps of parts that just touch a matter of points.
APART = 1e-9
# [points] Points of Gauss in each layer between the corners of a polyhedron, and layers at most.
# Between corners the areas are smooth but for where the border begins to cut; fewer give less than
# the four digits that they have.
NODES, LAYERS = 12, 24


def covered(snap: Snapshot, region: Region, grains: NDArray[np.intp], place: Floats) -> Floats:
    """Area or volume that some grains at the given places (k, dim) have in a region, shape (k,)."""
    from hardgrain.measure.region import Block

    if snap.mesh is not None:
        return _covered_by_elements(snap, snap.mesh, region, grains, place)
    if snap.model.round:
        return region.covered(place, snap.radius[grains])
    inside = snap.volume[grains]
    if isinstance(region, Block):
        below, above = (span[grains] for span in snap.spans)
        whole = ((place - below >= region.low) & (place + above <= region.high)).all(axis=1)
    else:  # where all of the ball around it is inside, so is the grain
        r = snap.radius[grains]
        ball = (np.pi if snap.dim == 2 else 4.0 / 3.0 * np.pi) * r**snap.dim
        whole = region.covered(place, r) >= (1.0 - INSIDE) * ball
    some = np.flatnonzero(~whole)
    inside[some] = _cut(snap.model, snap.state.orientation, region, grains[some], place[some])
    return inside


def _covered_by_elements(
    snap: Snapshot, mesh: Deformed, region: Region, grains: NDArray[np.intp], place: Floats
) -> Floats:
    """The same where some grains deform: element by element, of those that the border cuts."""
    rigid = replace(snap, state=replace(snap.state, deformation=None))
    inside = covered(rigid, region, grains, place)
    soft = np.isin(grains, mesh.grain)
    centre = snap.position.copy()
    centre[grains] = place
    node, volume = mesh.nodes_at(centre), mesh.volume
    held = _within(region, node)[mesh.element]
    part = np.where(held.all(axis=1), volume, 0.0)
    some = ~held.all(axis=1) & np.isin(mesh.grain, grains)
    for e in np.flatnonzero(some):
        part[e] = abs(_share(region, node[mesh.element[e]]))
    inside[soft] = mesh.of_grains(part, snap.n)[grains][soft]
    return inside


def _within(region: Region, x: Floats) -> NDArray[np.bool_]:
    """Which points lie inside of a region or on its border, shape (k,)."""
    from hardgrain.measure.region import Block

    if isinstance(region, Block):
        return np.asarray(((x >= region.low) & (x <= region.high)).all(axis=1))
    return region.holds(x)


def _cut(
    model: Model, orientation: Floats, region: Region, grains: NDArray[np.intp], place: Floats
) -> Floats:
    """The same of grains that the border of the region may cut."""
    own, turned = model.solids, frames(model, orientation)
    known: dict[int, Any] = {}
    inside = np.zeros(grains.size)
    for k, (i, x) in enumerate(zip(grains, place)):
        s, size = int(own.shape[i]), float(own.size[i])
        first = own.part_start[s]
        if own.part_start[s + 1] == first + 1 and own.corner_start[first + 1] == (
            own.corner_start[first] + 1
        ):  # a disk or ball among others
            inside[k] = region.covered(x[None], np.array([own.radius[first] * size]))[0]
            continue
        if s not in known:
            known[s] = _pieces(model, s)
        parts, spread = known[s]
        if spread is not None:
            there = x + size * spread @ turned[i].T
            inside[k] = region.holds(there).mean() * model.volume[i]
            continue
        inside[k] = sum(_share(region, x + size * v @ turned[i].T) for v in parts)
    return np.clip(inside, 0.0, model.volume[grains])


def _pieces(model: Model, shape: int) -> tuple[list[Floats], Floats | None]:
    """The convex parts of a shape; and where they overlap, points that stand for it."""
    own, dim = model.solids, model.dim
    parts = polytopes(own, shape, dim)
    if len(parts) == 1:
        return parts, None
    hulls = [ConvexHull(v) for v in parts]
    round_ = own.radius[own.part_start[shape] : own.part_start[shape + 1]].any()
    if not round_ and sum(h.volume for h in hulls) <= (1.0 + APART) * own.volume[shape]:
        return parts, None
    from scipy.stats.qmc import Sobol

    every = np.concatenate(parts)
    low, high = every.min(axis=0), every.max(axis=0)
    x = low + (high - low) * Sobol(dim, scramble=False).random(POINTS)
    holds = [(x @ h.equations[:, :-1].T + h.equations[:, -1] <= 0.0).all(axis=1) for h in hulls]
    return parts, x[np.any(holds, axis=0)]


def _share(region: Region, v: Floats) -> float:
    """Area or volume that a convex polygon or polyhedron shares with a region."""
    from hardgrain.measure.region import Block

    if not isinstance(region, Block):
        return in_disk(v - region.center, region.radius) if v.shape[1] == 2 else _sliced(region, v)
    for a in range(v.shape[1]):
        for side, end in ((-1.0, region.low[a]), (1.0, region.high[a])):
            if np.isfinite(end) and len(v):
                v = clipped(v, side * np.eye(v.shape[1])[a], side * float(end))
    return area(v) if v.shape[1] == 2 else _volume(v)


def area(v: Floats) -> float:
    """Area of a polygon by its corners in order (k, 2), positive counter-clockwise."""
    if len(v) < 3:
        return 0.0
    x, y = (v - v[0]).T
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def _volume(v: Floats) -> float:
    if len(v) < 4:
        return 0.0
    try:
        return float(ConvexHull(v).volume)
    except QhullError:  # it is flat
        return 0.0


def clipped(v: Floats, normal: Floats, most: float) -> Floats:
    """The corners of what is left of a convex polygon or polyhedron where normal · x ≤ most."""
    above = v @ normal - most
    if (above <= 0.0).all():
        return v
    if (above >= 0.0).all():
        return v[:0]
    if v.shape[1] == 2:
        found = []
        for a, b, p, q in zip(above, np.roll(above, -1), v, np.roll(v, -1, axis=0)):
            if a <= 0.0:
                found.append(p)
            if (a < 0.0 < b) or (b < 0.0 < a):
                found.append(p + a / (a - b) * (q - p))
        return np.array(found)
    try:
        i, j = _edges(v)
    except QhullError:
        return v[:0]
    cross = above[i] * above[j] < 0.0
    i, j = i[cross], j[cross]
    s = (above[i] / (above[i] - above[j]))[:, None]
    return np.concatenate([v[above <= 0.0], v[i] + s * (v[j] - v[i])])


def _edges(v: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of corners that the triangles of a polyhedron's surface join."""
    triangles = ConvexHull(v).simplices
    both = np.sort(np.concatenate([triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))]))
    i, j = np.unique(both, axis=0).T
    return i, j


def in_disk(v: Floats, radius: float) -> float:
    """Area that a polygon (k, 2), counter-clockwise, shares with a disk about the origin."""
    if len(v) < 3 or not radius > 0.0:
        return 0.0
    p, q = v, np.roll(v, -1, axis=0)
    d = q - p
    a, b, c = (np.einsum("ka,ka->k", s, t) for s, t in ((d, d), (p, d), (p, p)))
    root = b * b - a * (c - radius**2)
    meets = (root > 0.0) & (a > 0.0)
    half, step = np.sqrt(np.where(meets, root, 0.0)), np.where(a > 0.0, a, 1.0)
    s0 = np.where(meets, np.clip((-b - half) / step, 0.0, 1.0), 0.0)
    s1 = np.where(meets, np.clip((-b + half) / step, 0.0, 1.0), 0.0)
    enter, leave = p + s0[:, None] * d, p + s1[:, None] * d

    def sector(x: Floats, y: Floats) -> Floats:
        turn: Floats = np.arctan2(_cross(x, y), np.einsum("ka,ka->k", x, y))
        return 0.5 * radius**2 * turn

    return float((sector(p, enter) + 0.5 * _cross(enter, leave) + sector(leave, q)).sum())


def _cross(x: Floats, y: Floats) -> Floats:
    across: Floats = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]
    return across


def _sliced(region: Ball | Tube, v: Floats) -> float:
    """Volume that a polyhedron shares with a ball or a tube, as a sum over slices."""
    from hardgrain.measure.region import Tube

    tube = isinstance(region, Tube)
    axis = region.axis if isinstance(region, Tube) else np.array([0.0, 0.0, 1.0])
    across = np.linalg.svd(axis[None])[2][1:]
    x = v - region.center
    height, flat = x @ axis, x @ across.T
    reach = 0.5 * region.length if isinstance(region, Tube) else region.radius
    low, high = max(float(height.min()), -reach), min(float(height.max()), reach)
    if not high > low:
        return 0.0
    cuts = np.unique(np.clip(height, low, high))
    if cuts.size - 1 > LAYERS:
        cuts = np.linspace(low, high, LAYERS + 1)
    i, j = _edges(v)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    total = 0.0
    for bottom, top in itertools.pairwise(cuts):
        half = 0.5 * (top - bottom)
        for z, w in zip(bottom + half * (1.0 + node), half * weight):
            cross = (height[i] - z) * (height[j] - z) < 0.0
            a, b = i[cross], j[cross]
            s = ((z - height[a]) / (height[b] - height[a]))[:, None]
            points = flat[a] + s * (flat[b] - flat[a])
            away = points - points.mean(axis=0)
            points = points[np.argsort(np.arctan2(away[:, 1], away[:, 0]))]
            rho = region.radius if tube else np.sqrt(max(region.radius**2 - z * z, 0.0))
            total += w * in_disk(points, float(rho))
    return total
