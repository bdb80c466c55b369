"""Coarse graining (Goldhirsch 2010): smooth fields from grains and contacts, on a grid.

With a normalised kernel φ the fields

    ρ(r) = Σ_i m_i φ(r − x_i),   (ρ V)(r) = Σ_i m_i v_i φ(r − x_i),
    σ_ab(r) = Σ_c F_a l_b ∫_0^1 φ(r − x − s l) ds  +  Σ_i m_i v'_a v'_b φ(r − x_i)

obey the equations of a continuum exactly, at every point and for every width of φ; integrated over
space they give the mass, the momentum and Σ F l of all grains. φ is a Gaussian of the given width
w,

    φ(r) = (2π w²)^(−g/2) e^(−r²/2w²),

a product over axes. The integral along a branch is a sum over Gauss's points on it, as many as it
takes for ten digits; their weights add up to one, so that the total stays exact. Sums over a grid
are integrals to e^(−2π²w²/h²) for cells of size h ≤ w.

Along an axis with a single cell, fields are means over the cell with sharp ends instead: grains
within count, lines are clipped, and g has one dimension less. A grid of one column is a profile,
one of a single cell the stress of a region (`stress`).

At a wall half of the Gaussian lies behind it, and these sums fall to half. `room` is the share
of the kernel that lies between the walls; divided by it, densities and stresses that are uniform
stay so up to the wall. (Where they grow towards it, they are those at about 0.8 w before it.)
Ratios, such as velocities, need no such care.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chndtr, ndtr

from hardgrain.core.geometry import INSIDE, OUTSIDE, PLANE
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import ends
from hardgrain.measure.region import Block, as_region, images
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import slabs

__all__ = ["FieldGrid", "Smear", "contact_stress_field", "grid_of", "room"]

# [width] Beyond this distance a Gaussian, below 10⁻⁸ there, is taken as zero. A smaller cut loses
# mass and momentum; a larger one only costs time.
CUT = 6.0
# [width] A shorter line is taken for a point, which is exact to rounding. A larger limit makes
# stresses of long branches wrong.
SHORT = 1e-5
# [mean diameter] Width of the thinnest kernel that is allowed. Thinner ones show single points, and
# grids that resolve them do not fit into memory.
THIN = 1e-2
# [weights] How many are computed at a time. It bounds memory, and changes results by rounding only.
BLOCK = 1 << 21
# [cells] Most along an axis, by dimension, unless the user asks for more. Larger default grids
# would make a first look at a run slow.
CELLS = {2: 100, 3: 40}


@dataclass(frozen=True)
class FieldGrid:
    """Cells over a box, and the width of the kernel."""

    box: Block
    shape: tuple[int, ...]
    width: float  # w [length]

    @property
    def smooth(self) -> list[int]:
        """The axes along which the kernel is a Gaussian."""
        return [a for a, cells in enumerate(self.shape) if cells > 1]

    @property
    def spacing(self) -> Floats:
        """Edges of a cell, shape (dim,) [length]."""
        spacing: Floats = (self.box.high - self.box.low) / self.shape
        return spacing

    @property
    def cell(self) -> float:
        """Volume of a cell."""
        return self.box.volume / math.prod(self.shape)

    @property
    def centres(self) -> list[Floats]:
        """Coordinates of the cells along each axis."""
        h, low = self.spacing, self.box.low
        return [low[a] + (np.arange(k) + 0.5) * h[a] for a, k in enumerate(self.shape)]


def grid_of(
    source: Source,
    frames: Sequence[int] | None = None,
    cells: Sequence[int] | None = None,
    width: float | None = None,
    region: Any = None,
) -> FieldGrid:
    """A grid over a region; without one, over that of the first and the last frame together.

    ``cells`` is their number along each axis, by default about one a mean diameter. ``width`` is
    that of the Gaussian, by default a mean diameter, or the size of a cell if that is larger.
    """
    snaps = ends(source, frames)
    bounds = [as_region(snap, region).bounds for snap in snaps]
    box = Block(np.min([b[0] for b in bounds], axis=0), np.max([b[1] for b in bounds], axis=0))
    extent, dim = box.high - box.low, snaps[0].dim
    diameter = snaps[0].diameter
    if cells is None:
        cells = [int(k) for k in np.clip(extent / diameter, 1, CELLS[dim])]
    if len(cells) != dim or min(cells) < 1 or math.prod(cells) > 1 << 24:
        raise InputError(
            f"grid is {'x'.join(map(str, cells))}; give {dim} numbers of cells, each at least 1 and"
            " not more than 16 million cells in all"
        )
    sizes = [e / k for e, k in zip(extent, cells) if k > 1]
    if width is None:
        width = max([diameter, *sizes])
    least, most = THIN * diameter, max(float(extent.max()), diameter)
    if not least <= width <= most:
        raise InputError(f"width is {width:g}; give a length from {least:.3g} to {most:.3g}")
    return FieldGrid(box, tuple(int(k) for k in cells), float(width))


def room(grid: FieldGrid, snap: Snapshot) -> tuple[Floats, NDArray[np.bool_]]:
    """The share of the kernel between the walls, and whether its centre is there (*shape).

    Planes and cylinders count, each exactly, together as if they were at right angles. Walls that
    cross an axis with a single cell do not: along it a field is a mean over all of the cell.
    """
    node = np.stack(np.meshgrid(*grid.centres, indexing="ij"), axis=-1)
    sharp = [a for a in range(len(grid.shape)) if a not in grid.smooth]
    share, within = np.ones(grid.shape), np.ones(grid.shape, dtype=bool)
    for kind, point, axis, size, _ in zip(*snap.walls):
        r = node - point
        if kind == PLANE and not axis[sharp].any():
            gap = r @ axis
            share *= ndtr(gap / grid.width)
        elif kind in (INSIDE, OUTSIDE) and (
            np.allclose(np.abs(axis[sharp]), 1.0) if snap.dim == 3 else not sharp
        ):
            r = snap.nearest(r)
            if snap.dim == 3:
                r -= (r @ axis)[..., None] * axis
            away = np.square(r).sum(axis=-1)
            gap = size - np.sqrt(away)
            # The squared distance from the axis to a point of the kernel is χ² distributed.
            inner = chndtr((size / grid.width) ** 2, 2.0, away / grid.width**2)
            share *= inner if kind == INSIDE else 1.0 - inner
            gap = gap if kind == INSIDE else -gap
        else:
            continue
        within &= gap >= 0.0
    return share, within


# ---------------------------------------------------------------------- from sources to nodes
Carried = Floats | Callable[[Floats], Floats]


class Smear:
    """Spreads over a grid what grains or contacts carry."""

    def __init__(self, grid: FieldGrid, snap: Snapshot) -> None:
        self.grid, self.snap = grid, seen(snap) if snap.stored else snap

    def points(self, values: Carried, *, slope: bool = False) -> Floats:
        """The field Σ_i values_i φ(r − x_i) of values of the grains (n, c), shape (c, *shape).

        ``values`` may be a function of where the grains or their images are, (n, dim). With
        ``slope`` it gives the derivatives along the axes instead, shape (dim, c, *shape).
        """
        x = self.snap.upright
        return self._sum(x, np.zeros_like(x), values, slope)

    def lines(self, values: Floats) -> Floats:
        """The field Σ_c values_c ∫ φ(r − x − s l) ds of values (m, c) of contacts, (c, *shape)."""
        return self._sum(self.snap.origin, self.snap.branch, values, False)

    def _sum(self, begin: Floats, branch: Floats, values: Carried, slope: bool) -> Floats:
        grid = self.grid
        of = values if callable(values) else lambda _: values
        dim, count = len(grid.shape), of(begin).shape[1]
        total = np.zeros((dim if slope else 1, count, *(grid.shape[a] for a in grid.smooth or [0])))
        longest = float(np.sqrt(np.square(branch).sum(axis=1)).max(initial=0.0))
        for shift in images(self.snap, grid.box, longest + CUT * grid.width):
            for x, carried in _sources(grid, begin + shift, branch, of(begin + shift), longest):
                _spread(grid, x, carried, total, slope)
        found: Floats = total.reshape(-1, count, *grid.shape)
        return found if slope else found[0]


def _sources(
    grid: FieldGrid, begin: Floats, branch: Floats, values: Floats, longest: float
) -> Iterator[tuple[Floats, Floats]]:
    """Yield points (k, g) and what they carry (k, c), near ones together; lines as points."""
    smooth, box = grid.smooth, grid.box
    sharp = [a for a in range(len(grid.shape)) if a not in smooth]
    s0, s1 = slabs(begin[:, sharp], branch[:, sharp], box.low[sharp], box.high[sharp])
    node, share = np.polynomial.legendre.leggauss(_order(longest / grid.width))
    within = float(np.prod(box.high[sharp] - box.low[sharp]))
    side = 2.0 * CUT * grid.width
    away = np.maximum(box.low - begin, begin - box.high)[:, smooth].max(axis=1, initial=0.0)
    near = np.flatnonzero((away < longest + 0.5 * side) & (s1 > s0))
    place = np.floor((begin[near][:, smooth] - box.low[smooth]) / side)
    _, group = np.unique(place, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    spans = [min(grid.shape[a], 2.0 * side / grid.spacing[a]) for a in smooth[:-1]]
    block = max(1, int(BLOCK / (node.size * math.prod(spans))))
    for some in np.split(near[order], np.flatnonzero(np.diff(group[order])) + 1):
        for k in range(0, some.size, block):
            r = some[k : k + block]
            half = 0.5 * (s1 - s0)[r, None]
            s = s0[r, None] + half * (1.0 + node)
            x = begin[r, None, :] + s[:, :, None] * branch[r, None, :]
            carried = (half * share / within)[:, :, None] * values[r, None, :]
            yield x.reshape(-1, x.shape[2])[:, smooth], carried.reshape(-1, values.shape[1])


def _order(length: float) -> int:
    """Number of Gauss's points that gives 10 digits for a line of this length [width]."""
    return 1 if length < SHORT else 4 + math.ceil(2.0 * length)


def _spread(grid: FieldGrid, x: Floats, carried: Floats, total: Floats, slope: bool) -> None:
    """Add Σ carried φ(r − x) to the nodes near some points, by one matrix product."""
    smooth, w = grid.smooth, grid.width
    kernels: list[Floats] = []
    drops: list[Floats] = []
    near: list[Any] = []
    for g, a in enumerate(smooth):
        h, low = grid.spacing[a], grid.box.low[a]
        reach = [x[:, g].min() - CUT * w, x[:, g].max() + CUT * w]
        first = max(0, math.floor((reach[0] - low) / h))
        last = min(grid.shape[a], math.ceil((reach[1] - low) / h))
        if first >= last:
            return
        near.append(slice(first, last))
        away = (low + (np.arange(first, last) + 0.5) * h - x[:, g, None]) / w
        kernels.append(np.exp(-0.5 * away**2) / (math.sqrt(2.0 * math.pi) * w))
        drops.append(-away / w * kernels[g])
    if not slope:
        total[0][(slice(None), *near)] += _product(kernels, carried)
        return
    for g, a in enumerate(smooth):
        turned = [*kernels[:g], drops[g], *kernels[g + 1 :]]
        total[a][(slice(None), *near)] += _product(turned, carried)


def _product(kernels: list[Floats], carried: Floats) -> Floats:
    """The sum Σ_k carried_kc A_kx B_ky …, shape (c, x, y, …)."""
    k, c = carried.shape
    *others, last = kernels or [np.ones((k, 1))]
    left = np.ones((k, 1))
    for other in others:
        left = (left[:, :, None] * other[:, None, :]).reshape(k, -1)
    right = (carried[:, :, None] * last[:, None, :]).reshape(k, -1)
    table = (left.T @ right).reshape(-1, c, last.shape[1])
    sizes = [other.shape[1] for other in others]
    product: Floats = np.moveaxis(table, 1, 0).reshape(c, *sizes, last.shape[1])
    return product


def contact_stress_field(
    source: Source,
    frame: int = -1,
    cells: Sequence[int] | None = None,
    width: float | None = None,
    region: Any = None,
) -> tuple[FieldGrid, Floats]:
    """The grid and the contacts' part of σ on it, (dim, dim, *shape); see `grid_of`."""
    snap = snapshot(source, frame)
    grid = grid_of(snap, None, cells, width, region)
    return grid, line_stress(Smear(grid, snap))


def line_stress(smear: Smear) -> Floats:
    """The part of σ that the contacts give, shape (dim, dim, *shape)."""
    snap = smear.snap
    flow = (snap.force[:, :, None] * snap.branch[:, None, :]).reshape(-1, snap.dim**2)
    field: Floats = smear.lines(flow).reshape(snap.dim, snap.dim, *smear.grid.shape)
    return field
