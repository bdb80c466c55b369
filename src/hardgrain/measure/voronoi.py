"""Radical (Laguerre) Voronoi cells: the space that belongs to each grain, whatever its size.

A point belongs to the grain with the least power |p − x|² − r², so that the cells of grains that
touch meet in the plane of contact, and no cell cuts a grain apart from overlaps. Powers are heights
over planes: lift each centre to (x, |x|² − r²); the lower side of the convex hull of these points
(Qhull) is the dual of the cells. A facet of the hull, a simplex of d + 1 grains, has the slope 2 v,
where v is the corner that their cells share. Two simplices with a common face give an edge of cells
from one corner to the other, of length ℓ; it crosses the plane of the face at a right angle. So

    2D:  A_i = Σ_j ½ h_ij ℓ_ij,      3D:  V_i = Σ_j ⅓ h_ij A_ij,   A_ij = Σ_k ½ h_ijk ℓ_ijk,

h_ij the distance from x_i to the radical plane of i and j, and h_ijk that from there to the edge
that i, j and k share, across the line from i to j and towards k. Both may be negative. Nothing has
to be sorted, and where more than d + 1 cells meet in a point, ℓ = 0 makes up for what is arbitrary.

A wall is the radical plane of a grain and its mirror image, which has the same radius, and no image
takes anything away on the inner side of the wall. A period repeats the grains. Only images near the
border are made; if the volumes do not add up, as many as it takes.

The cell of a grain that is not round is the set of points that are nearest to its surface, the
union of the cells of points on it (`surface_points`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.near import into_block
from hardgrain.measure.region import Ball, Block, Region, Tube, as_region
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.surface_points import surface_points

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Cells", "cells", "local_packing_fraction"]

# [mean spacing] Grains so close to a border get images. It is widened if the cells do not fill the
# region, so it changes the time only.
LAYER = 4.0
# [sides] Sides of the polygon or polyhedron that stands for a circle or ball, by dimension. With
# fewer, cells at the border are too large; more cost time.
SIDES = {2: 64, 3: 512}
# [radius] A cell that sticks out further is cut by that polygon or polyhedron. If it is smaller,
# more cells are cut than need be, which costs time; if it is larger, cells at the border are too
# large.
OUTSIDE = 1.01
# [1] Relative error of the cells' total volume up to which the layer was wide enough. If it is
# larger, cells at the border may be wrong; if it is smaller than rounding, all images are made.
COMPLETE = 1e-9
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cells:
    """Radical Voronoi cells and the facets between them."""

    volume: Floats  # (n,) area or volume of each cell, 0 for grains outside the region
    first: Index  # (f,) one grain of each facet, all facets listed once
    # (f,) the other grain, the same one across a period, or −1 for the border of the region
    second: Index
    area: Floats  # (f,) length or area of the facet
    branch: Floats  # (f, dim) from the first centre to the second, or to its mirror image
    region: Region

    @property
    def neighbours(self) -> NDArray[np.int64]:
        """Number of facets that each cell shares with other grains, shape (n,)."""
        inner = self.second >= 0
        both = np.concatenate([self.first[inner], self.second[inner]])
        return np.bincount(both, minlength=self.volume.size)


def cells(source: Source, frame: int = -1, region: Any = None) -> Cells:
    """The cells of all grains whose centres lie in a region, by default the scene's natural one.

    The borders of a block are walls to the cells, those along a period are not. In a circle, ball
    or tube a cell ends at the plane that touches the wall nearest to its grain or, where it would
    go on beyond, at a polygon around the region: together they are larger than it by little.
    """
    snap = snapshot(source, frame)
    where = as_region(snap, region)
    if snap.model.round:
        return _of_points(snap, where, snap.upright, snap.radius)
    owner, offset = surface_points(snap.model, snap.state.orientation)
    x = snap.put_upright(snap.position[owner] + offset)
    return _merged(snap, _of_points(snap, where, x, np.zeros(owner.size)), owner, offset)


def _of_points(snap: Snapshot, where: Region, x: Floats, r: Floats) -> Cells:
    """The radical cells of points (p, dim) with radii (p,)."""
    period = snap.cell.period
    if isinstance(where, Block):
        low = np.where(period > 0.0, snap.low, where.low)
        where = Block(low, np.where(period > 0.0, snap.low + period, where.high))
        inside = ((period > 0.0) | ((x > where.low) & (x < where.high))).all(axis=1)
    else:
        inside = where.holds(x)
    if not inside.any():
        raise InputError(
            "no grain has its centre in the region, so there are no cells; give another"
        )
    if not np.isfinite(where.volume):
        raise InputError("region is infinite; cells need a finite one")
    index = np.flatnonzero(inside)
    x, r = x[index], r[index]
    make = _in_block if isinstance(where, Block) else _in_round
    volume, (first, second, area, branch) = make(x, r, where, _Repeats(snap))  # type: ignore[arg-type]
    whole = np.zeros(inside.size)
    whole[index] = volume
    second = np.where(second >= 0, index[second], -1)
    return Cells(whole, index[first], second, area, branch, where)


def _merged(snap: Snapshot, found: Cells, owner: Index, offset: Floats) -> Cells:
    """Set-Voronoi cells of grains from the cells of points on their surfaces."""
    n, cell, c = snap.n, snap.cell, snap.position
    volume: Floats = np.bincount(owner, found.volume, minlength=n).astype(np.float64)
    border = found.second < 0
    i, j = owner[found.first], np.where(border, -1, owner[found.second])
    # from grain to grain, by as many periods as it takes from point to point
    its = np.where(border[:, None], 0.0, offset[found.second])
    branch = found.branch + offset[found.first] - its
    swap = ~border & (j < i)
    i, j = np.where(swap, [j, i], [i, j])
    branch = np.where(swap[:, None], -branch, branch)
    turns = np.where(cell.repeats, np.round(cell.fractions(branch - (c[j] - c[i]))), 0.0)
    turns[border] = 0.0
    key, which, group = np.unique(
        np.column_stack([i, j, turns.astype(np.int64)]),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    area: Floats = np.bincount(group.ravel(), found.area, len(key)).astype(np.float64)
    apart = (key[:, 0] != key[:, 1]) | key[:, 2:].any(axis=1)
    first, second = key[apart, :2].T
    return Cells(volume, first, second, area[apart], branch[which][apart], found.region)


def local_packing_fraction(source: Source, frame: int = -1, region: Any = None) -> Floats:
    """Share of its cell that each grain fills, shape (n,); NaN for grains outside the region."""
    snap = snapshot(source, frame)
    return _filled(snap, cells(snap, region=region))


def _filled(snap: Snapshot, found: Cells) -> Floats:
    with np.errstate(divide="ignore"):
        fraction: Floats = np.where(found.volume > 0.0, snap.volume / found.volume, np.nan)
    return fraction


# ---------------------------------------------------------------------- images
class _Repeats:
    """How points in the upright block (`measure.near`) repeat."""

    def __init__(self, snap: Snapshot) -> None:
        self.cell, self.low, self.period = snap.cell, snap.low, snap.cell.period

    def moved(self, x: Floats, axis: int, side: float) -> Floats:
        """Points (p, dim) a period further along an axis, in the block along those before it."""
        y = x + side * self.cell.matrix[:, axis]
        return into_block(self.cell, y, self.low, axis) if self.cell.tilted else y


@dataclass(frozen=True, eq=False)
class _Points:
    """Grains, then their images, mirrored at a wall (these are no neighbours) or repeated."""

    owner: Index  # (p,) which grain it is or is an image of
    x: Floats  # (p, dim)
    real: NDArray[np.bool_]  # (p,) whether it is no mirror image

    def mirrored(self, shift: Floats, near: NDArray[np.bool_]) -> _Points:
        """These grains together with mirror images of some of them, shifted."""
        who = np.flatnonzero(near)
        return _Points(
            np.append(self.owner, who),
            np.vstack([self.x, self.x[who] + shift[who]]),
            np.append(self.real, np.zeros(who.size, dtype=bool)),
        )

    def repeated(self, low: Floats, high: Floats, repeats: _Repeats, reach: float) -> _Points:
        """These grains together with all periodic images that lie close to the cell."""
        who, z, true = self.owner, self.x, self.real
        for a in np.flatnonzero(repeats.period > 0.0)[::-1].tolist():
            parts = [(who, z, true)]
            for side in (-1.0, 1.0):
                moved = repeats.moved(z, a, side)
                near = (moved[:, a] > low[a] - reach) & (moved[:, a] < high[a] + reach)
                parts.append((who[near], moved[near], true[near]))
            who, z, true = (np.concatenate(p) for p in zip(*parts))
        return _Points(who, z, true)


def _grains(x: Floats) -> _Points:
    return _Points(np.arange(len(x)), x, np.ones(len(x), dtype=bool))


def _in_block(x: Floats, r: Floats, region: Block, repeats: _Repeats) -> _Found:
    """Cells between the sides of a block."""
    low, high = region.bounds
    reach = LAYER * (region.volume / len(x)) ** (1.0 / x.shape[1])
    while True:
        points = _grains(x)
        for a in np.flatnonzero(repeats.period == 0.0):
            for wall in (low[a], high[a]):
                gap = wall - x[:, a]
                shift = 2.0 * gap[:, None] * np.eye(x.shape[1])[a]
                points = points.mirrored(shift, np.abs(gap) < reach)
        found = _measured(points.repeated(low, high, repeats, reach), r)
        whole = bool((reach >= high - low).all())
        if whole or abs(found[0].sum() / region.volume - 1.0) < COMPLETE:
            return found
        reach *= 4.0


def _in_round(x: Floats, r: Floats, region: Ball | Tube, repeats: _Repeats) -> _Found:
    """Cells within a circle, ball or tube."""
    n, dim = x.shape
    every = np.ones(n, dtype=bool)
    away, points = x - region.center, _grains(x)
    across = np.eye(dim)
    if isinstance(region, Tube):
        height = away @ region.axis
        away = away - height[:, None] * region.axis
        across = np.linalg.svd(region.axis[None])[2][1:]
        along = np.abs(region.axis) > 0.5
        if not along[repeats.period > 0.0].any():  # a tube along a period has no ends
            for end in (-0.5, 0.5):
                gap = end * region.length - height
                points = points.mirrored(2.0 * gap[:, None] * region.axis, every)
    distance = np.linalg.norm(away, axis=1, keepdims=True)
    out = np.where(distance > 0.0, away / np.where(distance > 0.0, distance, 1.0), across[0])
    points = points.mirrored(2.0 * (region.radius - distance) * out, every)
    low, high = region.bounds
    reach = float((high - low).max())
    beyond = _beyond(points.repeated(low, high, repeats, reach), r, region, across)
    if beyond.any():
        for u in _directions(len(across)) @ across:
            gap = region.radius - away @ u
            points = points.mirrored(2.0 * gap[:, None] * u, beyond)
    return _measured(points.repeated(low, high, repeats, reach), r)


def _beyond(points: _Points, r: Floats, region: Ball | Tube, across: Floats) -> NDArray[np.bool_]:
    """Which grains have cells that go on outside of the region, shape (n,)."""
    try:
        simplices, v, neighbours = _dual(points.x, r[points.owner])
    except InputError:  # there are too few grains, or all are in a plane
        return np.ones(r.size, dtype=bool)
    outside = (neighbours < 0).any(axis=1)  # cells without end
    outside |= ~(np.linalg.norm((v - region.center) @ across.T, axis=1) < OUTSIDE * region.radius)
    far = np.zeros(points.owner.size, dtype=bool)
    far[simplices[outside]] = True
    return far[: r.size]


def _directions(dim: int) -> Floats:
    """Unit vectors in all directions, evenly spread, shape (SIDES, dim)."""
    k = np.arange(SIDES[dim]) + 0.5
    if dim == 2:
        angle = 2.0 * np.pi / k.size * k
        return np.column_stack([np.cos(angle), np.sin(angle)])
    z = 1.0 - 2.0 * k / k.size
    angle, rho = np.pi * (1.0 + np.sqrt(5.0)) * k, np.sqrt(1.0 - z**2)
    return np.column_stack([rho * np.cos(angle), rho * np.sin(angle), z])


# ---------------------------------------------------------------------- the power diagram
_Facets = tuple[Index, Index, Floats, Floats]
_Found = tuple[Floats, _Facets]


def _measured(points: _Points, radius: Floats) -> _Found:
    """Volumes (n,) of the grains' cells, and their facets."""
    n, (x, owner) = radius.size, (points.x, points.owner)
    dim, r = x.shape[1], radius[owner]
    faces, length = _edges(x, r)
    mine = (faces < n).any(axis=1)
    faces, length = faces[mine], length[mine]
    # Every choice of i and j of a face; in 3D, k is the third.
    choices = np.array(list(itertools.permutations(range(dim))))
    flag = faces[:, choices].reshape(-1, dim)
    length = np.repeat(length, len(choices))
    keep = flag[:, 0] < n
    flag, length = flag[keep], length[keep]
    i, j = flag[:, 0], flag[:, 1]
    branch = x[j] - x[i]
    d = np.linalg.norm(branch, axis=1)
    h = 0.5 * (d + (r[i] - r[j]) * (r[i] + r[j]) / d)
    area = length
    if dim == 3:
        k = flag[:, 2]
        u = branch / d[:, None]
        to_k = x[k] - x[i]
        s = np.einsum("ka,ka->k", to_k, u)
        t = np.linalg.norm(to_k - s[:, None] * u, axis=1)
        # the point (h, q) in the plane of i, j and k: its power is the same for i and k
        q = 0.5 * (s**2 + t**2 + (r[i] - r[k]) * (r[i] + r[k]) - 2.0 * s * h) / t
        area = 0.5 * q * length
    volume: Floats = np.bincount(i, h * area / dim, minlength=n).astype(np.float64)
    return volume, _facets(i, j, area, branch, points)


def _dual(x: Floats, r: Floats) -> tuple[Index, Floats, Index]:
    """Simplices (s, dim + 1), their corners of cells (s, dim), neighbours across faces or −1.

    Simplices that triangulate one facet of the hull have its corner in common, to the last bit.
    """
    from scipy.spatial import ConvexHull, QhullError

    dim, middle = x.shape[1], x.mean(axis=0)
    scale = float(np.abs(x - middle).max())
    y = (x - middle) / scale
    try:
        hull = ConvexHull(np.column_stack([y, (y**2).sum(axis=1) - (r / scale) ** 2]))
    except QhullError:
        raise InputError(
            "the grains of this region lie too oddly for Qhull to make cells"
        ) from None
    lower = np.flatnonzero(hull.equations[:, dim] < 0.0)
    slope = hull.equations[lower]  # slope·(y, z) + offset = 0
    v = middle - 0.5 * scale * slope[:, :dim] / slope[:, dim : dim + 1]
    number = np.full(len(hull.equations), -1)
    number[lower] = np.arange(lower.size)
    return hull.simplices[lower], v, number[hull.neighbors[lower]]


def _edges(x: Floats, r: Floats) -> tuple[Index, Floats]:
    """Faces (f, dim) between two simplices of the dual, and the lengths of the edges of cells."""
    dim = x.shape[1]
    simplices, v, neighbours = _dual(x, r)
    a, place = np.nonzero(neighbours > np.arange(len(v))[:, None])
    b = neighbours[a, place]
    others = np.array([[m for m in range(dim + 1) if m != p] for p in range(dim + 1)])
    return simplices[a[:, None], others[place]], np.linalg.norm(v[a] - v[b], axis=1)


def _facets(i: Index, j: Index, area: Floats, branch: Floats, points: _Points) -> _Facets:
    """Facets of the grains' cells, each once: first, second (−1: border), area, branch."""
    owner = points.owner
    pair, which, group = np.unique(i * owner.size + j, return_index=True, return_inverse=True)
    total = np.bincount(group, area, minlength=pair.size)
    first, image, branch = i[which], j[which], branch[which]
    second = np.where(points.real[image], owner[image], -1)
    # A facet is found from both its grains; one with the grain itself, across a period, is found
    # twice.
    leading = np.abs(branch) > 1e-9 * np.abs(branch).max(initial=0.0)
    forward = branch[np.arange(len(branch)), leading.argmax(axis=1)] > 0.0
    once = (second < 0) | (first < second) | ((first == second) & forward)
    once &= total > 1e-12 * total.max(initial=0.0)
    return first[once], second[once], total[once], branch[once]


# ---------------------------------------------------------------------- by name
@of_frame(
    "voronoi", "radical Voronoi cells: volume, local packing fraction, neighbours", small=False
)
def _voronoi(snap: Snapshot, region: Any = None) -> xr.Dataset:
    import xarray as xr

    found, units = cells(snap, region=region), f"length^{snap.dim}"
    fraction = about("1", "local packing fraction")
    return xr.Dataset(
        {
            "volume": ("grain", found.volume, about(units, "volume of the cell")),
            "packing_fraction": ("grain", _filled(snap, found), fraction),
            "neighbours": ("grain", found.neighbours, about("1", "neighbours of the cell")),
        },
        {"grain": snap.id},
    )
