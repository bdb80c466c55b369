"""The pair list made on all threads: the search of `contact.neighbours`, shared among them.

Grains are sorted into buckets, and blocks of them look for partners. Pairs are then gathered grain
by grain and sorted there, so that the list is the same whatever the number of threads and whoever
came first.
"""

from __future__ import annotations

import numpy as np

from hardgrain.contact.lattice import lattice_of, straightened
from hardgrain.contact.neighbours import (
    CellGrid,
    Longs,
    Sorted,
    bucket_of,
    find_levels,
    make_grid,
    search,
)
from hardgrain.core.geometry import Floats, Ints, wall_gap
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.atomic import claim
from hardgrain.kernels import device, jit, pjit, prange, scalar

__all__ = ["pairs_together"]

# [grains] Number that looks for partners at a time, and [pairs] room that each of them has at
# first. Dense packings list about five pairs a grain; more room only takes memory, less a second
# search.
BLOCK, ROOM = 1024, 8
# [partners] Beyond so many, shifting them one by one takes longer than the library's sort.
FEW = 64


@pjit
def sort_into_buckets(position, along, reach, lattice, level, grid):  # type: ignore[no-untyped-def]
    """Grains in the order of their buckets; within a bucket in any order."""
    n, dim, period = reach.size, position.shape[1], lattice.period
    bucket, number = np.empty(n, np.int64), np.zeros(grid.base[-1], np.int64)
    for i in prange(n):
        bucket[i] = bucket_of(grid, level[i], along, period, i)
        claim(number, bucket[i], 1)
    start, total = np.empty(number.size + 1, np.int32), 0
    for b in range(number.size):
        start[b] = total
        total += number[b]
        number[b] = start[b]
    start[number.size] = total
    x, there, reaches, order, levels = (
        np.zeros((n, 3)), np.empty((n, 3)), np.empty(n), np.empty(n, np.int32),
        np.empty(n, np.int32),
    )  # fmt: skip
    for i in prange(n):
        s = claim(number, bucket[i], 1)
        order[s], reaches[s], levels[s] = i, reach[i], level[i]
        for a in range(dim):
            x[s, a] = position[i, a]
        for a in range(3):
            there[s, a] = along[i, a]
    return Sorted(x, there, reaches, order, levels, start)


@pjit
def search_blocks(  # type: ignore[no-untyped-def]
    grains, grid, periodic, dim, begin, first, second, most
):
    """Number of pairs that each block finds, shape (blocks,).

    begin: (blocks + 1,) where the room of each begins in ``first`` and ``second``.
    """
    blocks, n = begin.size - 1, grains.reach.size
    found = np.zeros(blocks, np.int64)
    for b in prange(blocks):
        low, high = begin[b], begin[b + 1]
        some = range(b * BLOCK, min(n, (b + 1) * BLOCK))
        lattice = lattice_of(periodic, dim)  # made here: threads are handed no nested tuples
        found[b] = search(grains, grid, lattice, some, first[low:high], second[low:high], most)
    return found


@scalar
def meets_wall(position, reach, periodic, walls, wall_reach, i, w):  # type: ignore[no-untyped-def]
    """Whether a wall's surface is closer to the centre of grain i than both reach."""
    return wall_gap(position, i, reach[i] + wall_reach[w], periodic, walls, w)[0] < 0.0


@pjit
def count_partners(  # type: ignore[no-untyped-def]
    first, begin, found, position, reach, periodic, walls, wall_reach
):
    """How many partners each grain is the first of, walls among them, shape (n,)."""
    number = np.zeros(reach.size, np.int64)
    for b in prange(found.size):
        for p in range(begin[b], begin[b] + found[b]):
            claim(number, first[p], 1)
    for i in prange(reach.size):
        for w in range(wall_reach.size):
            if meets_wall(position, reach, periodic, walls, wall_reach, i, w):
                number[i] += 1
    return number


@device
def sort_partners(partners, low, high):  # type: ignore[no-untyped-def]
    """Sort the partners of a grain; return how many come twice."""
    if high - low > FEW:
        partners[low:high].sort()
    twice = 0
    for s in range(low + 1, high):
        partner, at = partners[s], s
        while at > low and partners[at - 1] > partner:
            partners[at] = partners[at - 1]
            at -= 1
        partners[at] = partner
        if at > low and partners[at - 1] == partner:
            twice += 1
    return twice


@pjit
def gather(  # type: ignore[no-untyped-def]
    pairs, found, end, position, reach, periodic, walls, wall_reach
):
    """All pairs, sorted by (first, second), and how many come twice.

    pairs: first and second, and where the room of each block begins; end: (n,) where the partners
    of each grain end.
    """
    n, begin = reach.size, pairs[2]
    total = end[n - 1]
    first, second = np.empty(total, np.int32), np.empty(total, np.int32)
    fill = np.zeros(n, np.int64)
    for i in range(1, n):
        fill[i] = end[i - 1]
    for b in prange(found.size):
        for p in range(begin[b], begin[b] + found[b]):
            second[claim(fill, pairs[0][p], 1)] = pairs[1][p]
    twice = np.zeros(n, np.int64)
    for i in prange(n):
        low = end[i - 1] if i > 0 else 0
        twice[i] = sort_partners(second, low, fill[i])
        at = fill[i]
        for w in range(wall_reach.size):
            if meets_wall(position, reach, periodic, walls, wall_reach, i, w):
                second[at] = n + w
                at += 1
        for s in range(low, end[i]):
            first[s] = i
    return first, second, twice.sum()


@jit
def once(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Sorted pairs, each once."""
    m = min(1, first.size)
    for p in range(1, first.size):
        if first[p] != first[m - 1] or second[p] != second[m - 1]:
            first[m], second[m] = first[p], second[p]
            m += 1
    return first[:m], second[:m]


def pairs_together(
    position: Floats,
    reach: Floats,
    periodic: Floats,
    walls: Walls,
    wall_reach: Floats,
    most: int,
) -> tuple[Ints, Ints] | None:
    """All pairs of grains, and of grains and walls, within reach, sorted by (first, second).

    See `neighbours.find_pairs` and `find_wall_pairs`. None, if more than ``most`` pairs of grains
    are met.
    """
    n = reach.size
    level, largest, count = find_levels(reach)
    dim = position.shape[1]
    lattice = lattice_of(periodic, dim)
    along = straightened(position, n, lattice)
    grid: CellGrid = make_grid(along, dim, lattice, largest, count)
    grains: Sorted = sort_into_buckets(position, along, reach, lattice, level, grid)
    blocks = -(-n // BLOCK)
    begin: Longs = np.arange(blocks + 1, dtype=np.int64) * (ROOM * BLOCK)
    while True:
        pairs = np.empty(begin[-1], np.int32), np.empty(begin[-1], np.int32)
        found = search_blocks(grains, grid, periodic, dim, begin, *pairs, most)
        if found.sum() > most:
            return None
        if (found <= np.diff(begin)).all():
            break
        np.cumsum(found, out=begin[1:])  # once more, with the room that each block needs
    world = position, reach, periodic, walls, wall_reach
    end = np.cumsum(count_partners(pairs[0], begin, found, *world))
    first, second, twice = gather((*pairs, begin), found, end, *world)
    return once(first, second) if twice else (first, second)
