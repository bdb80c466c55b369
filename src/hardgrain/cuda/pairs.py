"""The pair list made on the device: cells as wide as two grains, counted, summed, filled.

The list is sorted by (first, second) as `hardgrain.contact.pairs` has it. Where grains differ so
much in reach that cells would be crowded, or lie so far apart that there would be too many cells,
the host makes the list with its cells of several sizes (`host_pairs`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.contact.neighbours import list_pairs
from hardgrain.contact.pairs import MOST
from hardgrain.core.geometry import make_min_image
from hardgrain.core.wall_kinds import Walls
from hardgrain.cuda.api import SIMULATED, Launch, cuda, device, host, kernel, xp
from hardgrain.cuda.grid import THREADS
from hardgrain.errors import RunError
from hardgrain.point.given import Sites
from hardgrain.point.pair import make_pair

__all__ = ["device_pairs"]

# [mean reach] A grain that reaches further makes the cells too wide for the others.
WIDE = 4.0
# [cells a grain] More would take more memory than the grains themselves.
SPARSE = 16

min_image, pair_gap = make_min_image(device), make_pair(device).pair_gap


@device
def cell_of(x, low, edge, cells, period):
    """Which cell along an axis a coordinate lies in."""
    if period > 0.0:
        x -= period * math.floor(x / period)
    c = math.floor((x - low) / edge)
    return min(max(np.int64(c), 0), cells - 1)


@kernel
def cells_of(position, low, edge, cells, period, key):
    """The cell of each grain."""
    for i in range(cuda.grid(1), key.shape[0], cuda.gridsize(1)):
        cell, stride = 0, 1
        for a in range(position.shape[1]):
            cell += stride * cell_of(position[i, a], low[a], edge[a], cells[a], period[a])
            stride *= cells[a]
        key[i] = cell


@device
def meet(position, reach, period, i, j):
    """Whether two grains are within the sum of their reaches."""
    square, limit = 0.0, reach[i] + reach[j]
    for a in range(position.shape[1]):
        d = min_image(position[j, a] - position[i, a], period[a])
        square += d * d
    return square <= limit * limit


@device
def partners(sites, reach, wall_reach, grid, i, room, at):
    """Write the partners of grain i that come after it, sorted, from ``at`` on; return how many.

    Where ``room`` is empty they are only counted.
    """
    position, period, (low, edge, cells, order, begins) = sites.position, sites.periodic, grid
    dim, n, found = position.shape[1], sites.radius.shape[0], 0
    cx = cell_of(position[i, 0], low[0], edge[0], cells[0], period[0])
    cy = cell_of(position[i, 1], low[1], edge[1], cells[1], period[1])
    cz, nz = 0, 1
    if dim == 3:
        cz, nz = cell_of(position[i, 2], low[2], edge[2], cells[2], period[2]), cells[2]
    nx, ny = cells[0], cells[1]
    for dz in range(-1, 2):
        z, inside_z = step_cell(cz, dz, nz, period[dim - 1] if dim == 3 else 0.0)
        for dy in range(-1, 2):
            y, inside_y = step_cell(cy, dy, ny, period[1])
            for dx in range(-1, 2):
                x, inside_x = step_cell(cx, dx, nx, period[0])
                if inside_x and inside_y and inside_z:
                    cell = x + nx * (y + ny * z)
                    for s in range(begins[cell], begins[cell + 1]):
                        j = order[s]
                        if j > i and meet(position, reach, period, i, j):
                            if room.shape[0] > 0:
                                insert(room, at, found, j)
                            found += 1
    for w in range(wall_reach.shape[0]):
        limit = reach[i] - sites.radius[i] + wall_reach[w]
        if pair_gap(sites, i, n + w, limit)[0] <= limit:
            if room.shape[0] > 0:
                room[at + found] = n + w
            found += 1
    return found


@device
def step_cell(c, d, cells, period):
    """The cell d beside c, and whether it is there and not met already."""
    to = c + d
    if period > 0.0:
        if cells < 3:  # the same neighbour on both sides, or none
            return (to + cells) % cells, d == 0 or (cells == 2 and d == 1)
        return (to + cells) % cells, True
    return to, to >= 0 and to < cells


@device
def insert(room, at, found, j):
    """Put j among the partners found so far, in order."""
    s = at + found
    while s > at and room[s - 1] > j:
        room[s] = room[s - 1]
        s -= 1
    room[s] = j


@kernel
def count(sites, reach, wall_reach, grid, empty, many):
    """How many partners each grain has."""
    for i in range(cuda.grid(1), many.shape[0], cuda.gridsize(1)):
        many[i] = partners(sites, reach, wall_reach, grid, i, empty, 0)


@kernel
def fill(sites, reach, wall_reach, grid, end, first, second):
    """Write the pairs of each grain, which end at ``end[i]``."""
    for i in range(cuda.grid(1), end.shape[0], cuda.gridsize(1)):
        at = end[i - 1] if i > 0 else 0
        partners(sites, reach, wall_reach, grid, i, second, at)
        for s in range(at, end[i]):
            first[s] = i


# [blocks] Enough for any device; threads take one grain after the other.
BLOCKS = 1 if SIMULATED else 2048
CELLS, COUNT, FILL = (Launch(k, THREADS, BLOCKS) for k in (cells_of, count, fill))


def host_pairs(bodies: Any, search: Any, safety: Any) -> tuple[Any, Any]:
    """The same as `device_pairs`, made by the host."""
    n = bodies.radius.size
    reach = host(bodies.radius + safety[:n])
    place = (bodies.wall_kind, search.wall_point, search.wall_turned, bodies.wall_size)
    walls = Walls(*(host(x) for x in (*place, search.wall_side)))
    found = list_pairs(
        host(bodies.position), reach, host(bodies.periodic), walls, host(safety[n:]), MOST * n
    )
    if found is None:
        raise RunError(
            f"the step is too long: more than {MOST} pairs for each grain could meet; lower dt"
        )
    return xp.asarray(found[0]), xp.asarray(found[1])


def device_pairs(bodies: Any, search: Any, safety: Any) -> tuple[Any, Any]:
    """Pairs (first, second) whose surfaces are within their safety distances (nb,)."""
    n, dim = bodies.radius.size, bodies.position.shape[1]
    none = xp.zeros(0, np.int32)
    if n == 0:
        return none, none
    reach = bodies.radius + safety[:n]
    widest, mean = float(reach.max()), float(reach.mean())
    if not widest <= WIDE * mean:
        return host_pairs(bodies, search, safety)
    x, period = bodies.position[:n], host(bodies.periodic)
    low, high = (np.asarray(host(f(axis=0)), np.float64) for f in (x.min, x.max))
    edge = np.full(dim, 2.0 * widest * (1.0 + 1e-9))
    cells = np.ones(dim, np.int64)
    for a in range(dim):
        if period[a] > 0.0:
            cells[a] = max(1, int(period[a] // edge[a]))
            low[a], edge[a] = 0.0, period[a] / cells[a]
        else:
            wide = (high[a] - low[a]) / edge[a]
            if not wide < 1e9:
                return host_pairs(bodies, search, safety)
            cells[a] = int(wide) + 1
    total = int(np.prod(cells.astype(np.float64)))
    if total > SPARSE * n + 1000:
        return host_pairs(bodies, search, safety)
    key = xp.empty(n, np.int64)
    grid = xp.asarray(low), xp.asarray(edge), xp.asarray(cells)
    CELLS(x, *grid, bodies.periodic, key)
    order = xp.argsort(key, kind="stable").astype(np.int32)
    begins = xp.searchsorted(key[order], xp.arange(total + 1, dtype=np.int64)).astype(np.int64)
    walls = Walls(
        bodies.wall_kind, search.wall_point, search.wall_turned, bodies.wall_size, search.wall_side
    )
    sites = Sites(bodies.position, bodies.radius, bodies.periodic, walls)
    many, wall_reach = xp.empty(n, np.int64), safety[n:]
    filled = (*grid, order, begins)
    COUNT(sites, reach, wall_reach, filled, none, many)
    end = xp.cumsum(many)
    pairs = int(end[-1])
    first, second = xp.empty(pairs, np.int32), xp.empty(pairs, np.int32)
    if pairs:
        FILL(sites, reach, wall_reach, filled, end, first, second)
    return first, second
