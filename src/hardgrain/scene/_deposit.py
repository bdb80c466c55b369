"""Compiled search for overlaps: random sequential deposition, and the worst pair of a scene."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import Floats, wall_gap
from hardgrain.core.wall_kinds import MESH
from hardgrain.cpu.mesh_inside import is_cut
from hardgrain.kernels import device, jit
from hardgrain.scene.obstacles import Obstacles

Longs = NDArray[np.int64]

# [cells] Cell indices are held to ±FAR, so that they are integers for any coordinate. Grains beyond
# share the outermost cells: that is slow if they are many, and never wrong. Above 2⁵² a float64 no
# longer tells one cell from the next.
FAR = 2.0**52

# [1] Factor by which searches go further than asked, so that rounding near the edge of a cell loses
# no grain. Without it an overlap may be missed; a larger one only costs vain tests.
WIDER = 1.0 + 1e-6

# [1] Factor by which radii are taken larger, so that no rounding makes deposited grains overlap.
# Without it a packing may be refused by the check that follows; a larger one leaves visible gaps.
AIR = 1.0 + 1e-12

# [looks per grain] Work after which the search for the worst overlap stops at a bad one. The cells
# around a grain hold at most some hundred grains, unless these overlap; without a limit, thousands
# of grains in one place would take forever.
FULL = 300

# Three large odd numbers that spread cell indices over the buckets. Others would do as well, but
# would change the order of searches, never their result.
PRIMES = tuple(
    np.uint64(p) for p in (11400714819323198485, 14029467366897019727, 1609587929392839161)
)


class CellTable(NamedTuple):
    """Grains in cells, in one table of buckets for all levels.

    A level holds the grains whose radius is within a factor of 2; the edge of its cells is twice
    its largest radius R. A grain of radius r meets those of a level within r + R along each axis:
    at most 3 cells if the level is its own or coarser. Grains enter largest first, so only grains
    fixed beforehand can be on finer levels; these lie first, level by level.
    """

    level: Longs  # (m,) level of each grain, the coarsest being 0
    largest: Floats  # (levels,) largest radius
    edge: Floats  # (levels, dim) edges of the cells
    number: Longs  # (levels, dim) number of cells along a period, 0 where not periodic
    held: Longs  # (levels,) number of grains in the cells so far
    fixed: Longs  # (levels + 1,) where the fixed grains of each level begin
    head: Longs  # (buckets,) first grain in a bucket, or −1
    after: Longs  # (m,) next grain in the same bucket, or −1
    low: Longs  # (3,) scratch space for the first cell of a search
    high: Longs  # (3,) scratch space for the last cell of a search


class Room(NamedTuple):
    """Where grains are deposited: centres lie in [low, high], less the radius where inset is 1."""

    low: Floats  # (dim,)
    high: Floats  # (dim,)
    inset: Floats  # (dim,)
    period: Floats  # (dim,) of the scene, 0 where not periodic


def make_cells(radius: Floats, fixed: int, periodic: Floats) -> CellTable:
    """Empty cells for grains of the given radius (m,), the first ``fixed`` of them sorted."""
    level = np.minimum(np.log2(radius.max() / radius), 60.0).astype(np.int64)
    used, level = np.unique(level, return_inverse=True)
    largest = np.zeros(len(used))
    np.maximum.at(largest, level, radius)
    edge = np.repeat(2.0 * largest[:, None], len(periodic), axis=1)
    number = np.where(periodic > 0.0, np.clip(periodic // edge, 1.0, FAR), 0.0)
    edge = np.divide(periodic, number, out=edge, where=number > 0.0)
    return CellTable(
        level,
        largest,
        edge,
        number.astype(np.int64),
        np.zeros(len(used), np.int64),
        np.searchsorted(level[:fixed], np.arange(len(used) + 1)),
        np.full(1 << int(2 * len(radius)).bit_length(), -1),
        np.full(len(radius), -1),
        np.zeros(3, np.int64),
        np.zeros(3, np.int64),
    )


@device
def _index(u: float) -> int:
    """Cell that holds u [cell edges]."""
    return math.floor(min(max(u, -FAR), FAR))


@device
def _nth_cell(s: int, low: int, high: int, number: int) -> int:
    """The s-th cell of a search that begins in the middle, where an overlap is likeliest."""
    c = low + (high - low + 1) // 2 + s
    if c > high:
        c -= high - low + 1
    if number > 0:
        if c < 0:
            c += number
        elif c >= number:
            c -= number
    return c


@device
def _bucket(cells: CellTable, level: int, a: int, b: int, c: int) -> int:
    """The bucket of a cell, by a hash of its level and indices."""
    h = np.uint64(a) * PRIMES[0] ^ np.uint64(b) * PRIMES[1] ^ np.uint64(c + 64 * level) * PRIMES[2]
    h ^= h >> np.uint64(31)
    return np.int64(h & np.uint64(cells.head.shape[0] - 1))  # type: ignore[return-value]


@device
def _place(cells: CellTable, x: Floats, period: Floats, i: int) -> None:
    """Put grain i into its cell."""
    k = cells.level[i]
    cells.low[2] = 0
    for a in range(x.shape[1]):
        u, number = x[i, a], cells.number[k, a]
        if number > 0:
            u -= period[a] * math.floor(u / period[a])
        cells.low[a] = _index(u / cells.edge[k, a])
        if number > 0:
            cells.low[a] = min(cells.low[a], number - 1)
    b = _bucket(cells, k, cells.low[0], cells.low[1], cells.low[2])
    cells.after[i] = cells.head[b]
    cells.head[b] = i
    cells.held[k] += 1


@device
def _overlap(
    x: Floats, radius: Floats, period: Floats, i: int, j: int, r: float, worst: float
) -> float:
    """Overlap of grain i, of radius r, with grain j; or ``worst`` where that is larger."""
    square = 0.0
    for a in range(x.shape[1]):
        d = x[j, a] - x[i, a]
        if period[a] > 0.0:
            d -= period[a] * np.rint(d / period[a])
        square += d * d
    reach = r + radius[j]
    nearer = reach - worst
    if nearer > 0.0 and square < nearer * nearer:
        worst = reach - math.sqrt(square)
    return worst


@device
def _search(
    cells: CellTable, x: Floats, radius: Floats, period: Floats, i: int, r: float, enough: float
) -> tuple[float, int, int]:
    """Largest overlap of grain i, of radius r, with the grains in the cells; with which; and the
    number of cells and grains looked at. Ends at the first overlap above ``enough``."""
    worst, partner, work = 0.0, -1, 0
    dim = x.shape[1]
    low, high = cells.low, cells.high
    for k in range(cells.held.shape[0]):
        if cells.held[k] == 0:
            continue
        volume = 1.0
        low[2] = high[2] = 0
        for a in range(dim):
            u, number = x[i, a], cells.number[k, a]
            h = (r + cells.largest[k]) * WIDER / cells.edge[k, a]
            if number > 0:
                u -= period[a] * math.floor(u / period[a])
            u /= cells.edge[k, a]
            low[a], high[a] = _index(u - h), _index(u + h)
            if number > 0 and high[a] - low[a] >= number:  # all cells, each once
                low[a], high[a] = 0, number - 1
            volume *= high[a] - low[a] + 1.0
        if volume > 64.0 and volume > cells.held[k]:  # a large grain among small fixed ones
            for j in range(cells.fixed[k], cells.fixed[k + 1]):
                work += 1
                overlap = _overlap(x, radius, period, i, j, r, worst)
                if overlap > worst:
                    worst, partner = overlap, j
                    if worst > enough:
                        return worst, partner, work
            continue
        last = cells.number[k, 2] if dim == 3 else 0
        for sc in range(high[2] - low[2] + 1):
            c = _nth_cell(sc, low[2], high[2], last)
            for sb in range(high[1] - low[1] + 1):
                b = _nth_cell(sb, low[1], high[1], cells.number[k, 1])
                for sa in range(high[0] - low[0] + 1):
                    a = _nth_cell(sa, low[0], high[0], cells.number[k, 0])
                    j = cells.head[_bucket(cells, k, a, b, c)]
                    work += 1
                    while j >= 0:
                        work += 1
                        overlap = _overlap(x, radius, period, i, j, r, worst)
                        if overlap > worst:
                            worst, partner = overlap, j
                            if worst > enough:
                                return worst, partner, work
                        j = cells.after[j]
    return worst, partner, work


@device
def _is_cut(x: Floats, i: int, r: float, period: Floats, obstacles: Obstacles) -> bool:
    """Whether any wall cuts grain i, which has radius r."""
    walls = obstacles.walls
    for w in range(walls.kind.shape[0]):
        if walls.kind[w] == MESH:
            if is_cut((x, i, r), period, walls, w, obstacles.meshes):
                return True
        elif wall_gap(x, i, r, period, walls, w)[0] < 0.0:
            return True
    return False


@jit
def cut(x: Floats, radius: Floats, period: Floats, walls: Obstacles) -> NDArray[np.bool_]:
    """Which grains a wall cuts, shape (m,)."""
    found = np.zeros(x.shape[0], np.bool_)
    for i in range(x.shape[0]):
        found[i] = _is_cut(x, i, radius[i], period, walls)
    return found


@jit
def deposit(
    x: Floats,
    radius: Floats,
    room: Room,
    cells: CellTable,
    walls: Obstacles,
    rng: np.random.Generator,
    start: int,
    most: int,
) -> tuple[int, int]:
    """Place the grains from ``start`` on, one by one, where they overlap no wall and none before.

    Returns the first grain not placed and the work done, once that exceeds ``most``. Fills x
    (m, dim) and the cells.
    """
    low, high, inset, period = room
    done = 0
    for i in range(start, x.shape[0]):
        while True:
            if done > most:
                return i, done
            for a in range(x.shape[1]):
                margin = inset[a] * radius[i]
                x[i, a] = low[a] + margin + rng.random() * (high[a] - low[a] - 2.0 * margin)
            done += 10 + walls.walls.kind.shape[0]  # a try by itself costs as much as ten looks
            if _is_cut(x, i, radius[i] * AIR, period, walls):
                continue
            worst, _, work = _search(cells, x, radius, period, i, radius[i] * AIR, 0.0)
            done += work
            if worst == 0.0:
                break
        _place(cells, x, period, i)
    return x.shape[0], done


@jit
def insert(x: Floats, period: Floats, cells: CellTable, count: int) -> None:
    """Put the first grains into their cells as they lie."""
    for i in range(count):
        _place(cells, x, period, i)


@jit
def worst_pair(
    x: Floats, radius: Floats, period: Floats, cells: CellTable
) -> tuple[float, int, int]:
    """Largest overlap of grains sorted from large to small, and its pair; 0, −1, −1 if none."""
    worst, first, second = 0.0, -1, -1
    done = 0
    for i in range(x.shape[0]):
        if worst >= radius[0] + radius[i]:  # no later grain, all of them smaller, can overlap more
            break
        if done > FULL * x.shape[0] and worst > 0.5 * radius[i]:
            break
        overlap, j, work = _search(cells, x, radius, period, i, radius[i], np.inf)
        done += work
        if overlap > worst:
            worst, first, second = overlap, i, j
        _place(cells, x, period, i)
    return worst, first, second
