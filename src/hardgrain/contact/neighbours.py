"""Broad phase: which pairs may touch soon.

A grain's reach is its radius plus its own safety distance, so reaches may differ by orders of
magnitude: sizes are broadly distributed, and one fast grain reaches far. Time and memory stay
linear in the number of grains and listed pairs.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.lattice import Lattice, Vector, lattice_of, straightened
from hardgrain.core.cell import make_images
from hardgrain.core.geometry import Floats, Ints, wall_gap
from hardgrain.core.wall_kinds import Walls
from hardgrain.kernels import device, jit, scalar

Longs = NDArray[np.int64]

nearest = make_images(scalar).nearest

# [cells] Cell indices are held to ±FAR, which keeps them integers for any coordinate, NaN included.
# Grains beyond share the outermost cells: that is slow if they are many, and never wrong. Above 2⁵²
# a float64 no longer tells one cell from the next; a smaller value would crowd more grains.
FAR = 2.0**52

# [1] Factor by which searches go further than asked, so that rounding near the edge of a cell loses
# no pair. Without it a touching pair may be missed; a larger one only costs vain tests.
WIDER = 1.0 + 1e-6

# [size of the table] Strides of a hashed level along y and z. Fractions that are far from any
# simple ratio spread the cells evenly over the table; simple ones would put many cells in one
# bucket, which costs time and changes no result.
GOLDEN, SILVER = (math.sqrt(5.0) - 1.0) / 2.0, math.sqrt(2.0) - 1.0


# Hierarchical grid. Level by level, from the smallest reach r not yet taken, a level takes the
# reaches in [r, 2r]; the edge of its cells is twice its largest reach R. A grain with reach r_i
# meets those of a level within r_i + R along each axis: at most 3 cells if the level is its own
# or coarser. So each grain looks at its own level and at the coarser ones.
#
# Cell (cx, cy, cz) of a level lies in bucket (cx + sy cy + sz cz) mod T, with T a power of two
# above twice the level's number of grains. If the bounding box has at most T cells, the strides
# are those of the dense grid, and each cell has its own bucket. Otherwise (a grain has flown far
# away) they are irrational fractions of T, which spread any compact cloud evenly; cells that share
# a bucket cost some vain tests and can give a pair twice, which the sort removes.
#
# Grains are sorted by (level, bucket), finest level first. A grain keeps only partners behind it in
# this order: half of its own level and all of the coarser ones, so each pair is met once.
#
# Cells of the grid lie along the axes of the periodic cell. If that is tilted, a place has the
# coordinates period × fraction along them (`straightened`), in which a distance r is up to r times
# the ratio of a period to the distance of the two faces across it: the stretch of the axis.


class CellGrid(NamedTuple):
    """The cells of all levels, the finest first."""

    largest: Floats  # (levels,) largest reach
    per_length: Floats  # (levels, 3) cells per length
    cells: Longs  # (levels, 3) number of cells along a period, 0 where not periodic
    stride: Longs  # (levels, 3)
    base: Longs  # (levels + 1,) first bucket of each level, the last being the total


class Sorted(NamedTuple):
    """Grains in the order of their buckets."""

    x: Floats  # (n, 3)
    along: Floats  # (n, 3) the same places along the axes of the cell
    reach: Floats  # (n,)
    order: Ints  # (n,) number of the grain
    level: Ints  # (n,)
    start: Ints  # where each bucket begins


@device
def _wrap(x: float, period: float) -> float:
    """Coordinate moved into [0, period]; unchanged where period is zero."""
    if period > 0.0:
        x -= period * np.floor(x / period)
    return x


@device
def _cell(u: float, cells: int) -> int:
    """Index of the cell that holds u [cell edges]; cells is their number if periodic, else 0."""
    low, high = (0.0, cells - 1.0) if cells > 0 else (-FAR, FAR)
    if not u >= low:  # also NaN
        u = low
    return math.floor(min(u, high))


@device
def _cell_range(u: float, h: float, cells: int) -> tuple[int, int]:
    """First and last cell within h of u [cell edges], before periodic wrapping."""
    if cells == 0:
        return _cell(u - h, 0), _cell(u + h, 0)
    if not 2.0 * h + 1.0 < cells:  # all of them, each once
        return 0, cells - 1
    return math.floor(u - h), math.floor(u + h)


@device
def _image(c: int, cells: int) -> int:
    """Periodic image of cell index c, at most one period away."""
    if cells > 0:
        if c < 0:
            c += cells
        elif c >= cells:
            c -= cells
    return c


@jit
def find_levels(reach: Floats) -> tuple[Ints, Floats, Ints]:
    """Level of each grain, finest 0; and for each level its largest reach and number of grains."""
    n = reach.shape[0]
    level = np.full(n, -1, np.int32)
    largest = np.zeros(2200)  # more than the factors of 2 in the range of float64
    count = np.zeros(2200, np.int32)
    levels, left = 0, n
    while left > 0:
        least = np.inf
        for i in range(n):
            if level[i] < 0:
                least = min(least, reach[i])
        for i in range(n):
            if level[i] < 0 and not reach[i] > 2.0 * max(least, 0.0):
                level[i] = levels
                largest[levels] = max(largest[levels], reach[i])
                count[levels] += 1
        left -= count[levels]
        levels += 1
    return level, largest[:levels], count[:levels]


@jit
def make_grid(
    position: Floats, dim: int, lattice: Lattice, largest: Floats, count: Ints
) -> CellGrid:
    """The cells for grains at these places, given the largest reach of each level and its count.

    position: along the axes of the periodic cell, shape (n, 3).
    """
    levels, periodic = largest.shape[0], lattice.period
    per_length = np.zeros((levels, 3))
    cells = np.zeros((levels, 3), np.int64)
    stride = np.zeros((levels, 3), np.int64)
    base = np.zeros(levels + 1, np.int64)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for i in range(position.shape[0]):
        for a in range(dim):
            low[a] = min(low[a], position[i, a])
            high[a] = max(high[a], position[i, a])
    for k in range(levels):
        table = 2
        while table < 2 * count[k]:
            table *= 2
        base[k + 1] = base[k] + table
        edge = 2.0 * largest[k] if largest[k] > 0.0 else 1.0
        volume = 1.0
        for a in range(dim):
            stride[k, a] = math.floor(min(volume, FAR))
            if periodic[a] > 0.0:
                wide = edge * lattice.stretch[a]
                cells[k, a] = max(1, math.floor(min(periodic[a] / wide, FAR)))
                per_length[k, a] = cells[k, a] / periodic[a]
                volume *= cells[k, a]
            else:
                per_length[k, a] = 1.0 / edge
                volume *= _cell(high[a] / edge, 0) - _cell(low[a] / edge, 0) + 1.0
        if not volume <= table:
            stride[k, 0] = 1
            stride[k, 1] = math.floor(table * GOLDEN)
            stride[k, 2] = math.floor(table * SILVER)
    return CellGrid(largest, per_length, cells, stride, base)


@device
def bucket_of(grid: CellGrid, k: int, position: Floats, periodic: Vector, i: int) -> int:
    """The bucket of level k that grain i lies in; position: along the axes of the cell."""
    b = 0
    for a in range(3):
        u = _wrap(position[i, a], periodic[a]) * grid.per_length[k, a]
        b += grid.stride[k, a] * _cell(u, grid.cells[k, a])
    return grid.base[k] + (b & (grid.base[k + 1] - grid.base[k] - 1))  # type: ignore[no-any-return]


@jit
def _counting_sort(key: Ints, keys: int) -> tuple[Ints, Ints]:
    """Stable order (m,) of key (m,), and where each key in [0, keys) starts in it (keys + 1)."""
    start = np.zeros(keys + 1, np.int32)
    for k in key:
        start[k + 1] += 1
    for k in range(keys):
        start[k + 1] += start[k]
    place = start[:keys].copy()
    order = np.empty(key.shape[0], np.int32)
    for i in range(key.shape[0]):
        order[place[key[i]]] = i
        place[key[i]] += 1
    return start, order


@jit
def search(
    grains: Sorted,
    grid: CellGrid,
    lattice: Lattice,
    some: range,
    first: Ints,
    second: Ints,
    most: int,
) -> int:
    """Fill first and second with the pairs within reach, unsorted, now and then one twice.

    some: for which grains, in the order of buckets, partners are sought behind them. Returns the
    number of pairs; those for which there is no room are not written. Ends with the first grain
    after which there are more than ``most``.
    """
    x, along, reach, order, level, start = grains
    largest, per_length, cells, stride, base = grid
    period, tilt, (sx, sy, sz) = lattice
    lx, ly, lz = period
    m, room = 0, first.shape[0]
    for s in some:
        if m > most:
            break
        px, py, pz = _wrap(along[s, 0], lx), _wrap(along[s, 1], ly), _wrap(along[s, 2], lz)
        for k in range(level[s], largest.shape[0]):
            h = (reach[s] + largest[k]) * WIDER
            wx, wy, wz = per_length[k, 0], per_length[k, 1], per_length[k, 2]
            nx, ny, nz = cells[k, 0], cells[k, 1], cells[k, 2]
            mask = base[k + 1] - base[k] - 1
            x0, x1 = _cell_range(px * wx, h * sx * wx, nx)
            y0, y1 = _cell_range(py * wy, h * sy * wy, ny)
            z0, z1 = _cell_range(pz * wz, h * sz * wz, nz)
            for cz in range(z0, z1 + 1):
                bz = stride[k, 2] * _image(cz, nz)
                for cy in range(y0, y1 + 1):
                    by = bz + stride[k, 1] * _image(cy, ny)
                    cx = x0
                    while cx <= x1:  # cells along x are neighbours in memory, up to a wrap
                        c = _image(cx, nx)
                        b = (by + c) & mask
                        more = min(x1 - cx, mask - b)
                        if nx > 0:
                            more = min(more, nx - 1 - c)
                        cx += more + 1
                        b += base[k]
                        for t in range(max(start[b], s + 1), start[b + more + 1]):
                            dx, dy, dz = nearest(
                                x[t, 0] - x[s, 0],
                                x[t, 1] - x[s, 1],
                                x[t, 2] - x[s, 2],
                                period,
                                tilt,
                            )
                            if dx * dx + dy * dy + dz * dz < (reach[s] + reach[t]) ** 2:
                                if m < room:
                                    first[m] = min(order[s], order[t])
                                    second[m] = max(order[s], order[t])
                                m += 1
    return m


@jit
def _sort_pairs(first: Ints, second: Ints, n: int) -> tuple[Ints, Ints]:
    """The pairs of n grains sorted by (first, second), each once."""
    _, order = _counting_sort(second, n)
    first, second = first[order], second[order]
    _, order = _counting_sort(first, n)
    first, second = first[order], second[order]
    m = min(1, first.shape[0])
    for p in range(1, first.shape[0]):
        if first[p] != first[m - 1] or second[p] != second[m - 1]:
            first[m], second[m] = first[p], second[p]
            m += 1
    return first[:m], second[:m]


@jit
def find_pairs(
    position: Floats, reach: Floats, periodic: Floats, most: int = 2**62
) -> tuple[Ints, Ints]:
    """All pairs of grains i < j whose centres are closer than reach_i + reach_j.

    position: shape (n, dim) or longer [length]; reach: shape (n,) [length]; periodic: shape (dim,)
    [length], zero along axes that are not periodic, or with tilts (`core.cell`). Returns first and
    second, each of shape (m,), sorted by (first, second). If more than ``most`` are met, the search
    is given up and what is returned, of shape (most + 1,), means nothing.
    """
    n, dim = reach.shape[0], position.shape[1]
    level, largest, count = find_levels(reach)
    lattice = lattice_of(periodic, dim)
    along = straightened(position, n, lattice)
    grid = make_grid(along, dim, lattice, largest, count)
    bucket = np.empty(n, np.int32)
    for i in range(n):
        bucket[i] = bucket_of(grid, level[i], along, lattice.period, i)
    start, order = _counting_sort(bucket, grid.base[-1])
    x = np.zeros((n, 3))
    for s in range(n):
        for a in range(dim):
            x[s, a] = position[order[s], a]
    grains = Sorted(x, along[order], reach[order], order, level[order], start)

    m, room = 8 * n, -1
    while m > room:  # a second time with the room the first was short of
        room = m
        first, second = np.empty(room, np.int32), np.empty(room, np.int32)
        m = search(grains, grid, lattice, range(n), first, second, most)
        if m > most:
            return np.empty(most + 1, np.int32), np.empty(most + 1, np.int32)
    return _sort_pairs(first[:m], second[:m], n)


@jit
def find_wall_pairs(
    position: Floats,
    reach: Floats,
    periodic: Floats,
    walls: Walls,
    wall_reach: Floats,
) -> tuple[Ints, Ints]:
    """All grains i and walls w whose surface is closer to the centre than reach_i + wall_reach_w.

    wall_reach: shape (w,) [length]; the rest as in `find_pairs`. Returns first = i and
    second = n + w, sorted by (first, second).
    """
    n = reach.shape[0]
    m, room = n, -1
    while m > room:
        room, m = m, 0
        first, second = np.empty(room, np.int32), np.empty(room, np.int32)
        for i in range(n):
            for w in range(wall_reach.shape[0]):
                reaches = reach[i] + wall_reach[w]
                if wall_gap(position, i, reaches, periodic, walls, w)[0] < 0.0:
                    if m < room:
                        first[m], second[m] = i, n + w
                    m += 1
    return first[:m], second[:m]


@jit
def merge_pairs(
    first: Ints, second: Ints, wall_first: Ints, wall_second: Ints
) -> tuple[Ints, Ints]:
    """One list sorted by (first, second) out of pairs of grains and pairs of grain and wall."""
    grains, walls = first.shape[0], wall_first.shape[0]
    both_first, both_second = np.empty(grains + walls, np.int32), np.empty(grains + walls, np.int32)
    p = w = 0
    for m in range(grains + walls):
        if w == walls or (p < grains and first[p] <= wall_first[w]):
            both_first[m], both_second[m] = first[p], second[p]
            p += 1
        else:
            both_first[m], both_second[m] = wall_first[w], wall_second[w]
            w += 1
    return both_first, both_second


def list_pairs(
    position: Floats,
    reach: Floats,
    periodic: Floats,
    walls: Walls,
    wall_reach: Floats,
    most: int,
) -> tuple[Ints, Ints] | None:
    """All pairs of grains, and of grains and walls, within reach, sorted by (first, second).

    None, if more than ``most`` pairs of grains are met.
    """
    pairs = find_pairs(position, reach, periodic, most)
    if pairs[0].size > most:
        return None
    wall_pairs = find_wall_pairs(position, reach, periodic, walls, wall_reach)
    merged: tuple[Ints, Ints] = merge_pairs(*pairs, *wall_pairs)
    return merged
