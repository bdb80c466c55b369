"""Grains of a step of events laid into cells, and what is kept of each.

Cells are at least as wide as the largest grain, so that whoever may meet a grain is in its own cell
or in one next to it; where there is room they are wider, `FILLED` grains to a cell. They lie in
the frame that falls with the grains (`point.flight`). Along an axis that is not periodic the
outermost cells have no end. Grains are stored cell by cell: what is close in space is close in
memory. A cell has room for three of its grains in one piece of memory, which is read without a
question; the others, of cells that many small grains share, follow each other one by one.

In 2D all z are zero, and there is one layer of cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Model
from hardgrain.kernels import jit, scalar

__all__ = ["Gas", "Grid", "back", "enter", "grid_of", "laid", "leave"]

# [1] Cells are wider than the largest grain by this much, far above the rounding of a place and far
# below what costs time.
WIDER = 1e-9

# [1] Grains to a cell, unless they are too large for it. Smaller cells are left more often, larger
# ones have more grains to look at; between a half and one the cost changes by a tenth.
FILLED = 0.7
ROOM = 3  # [grains] that a cell has room for

# [bytes] Memory comes in lines of so many. What is kept of a grain fills three of them: one that
# whoever flies nearby reads too, and two of its own.
LINE = 64

# Columns of `Gas.body`: place, velocity, the time at which it was there, radius.
X, V, T, R = 0, 3, 6, 7
# Columns of `Gas.plan`: times at which it meets a grain, meets a wall, leaves its cell, and of the
# first of these; inverse mass and inertia, times of its last collision and last turn.
MEETS, LANDS, LEAVES, EVENT, INV_MASS, INV_INERTIA, LAST, TURNED = 0, 1, 2, 3, 4, 5, 6, 7
# Columns of `Gas.note`: the grain that it meets, that one's collisions when this was planned; the
# wall that it meets; where it leaves its cell, 2 × axis + 1 upwards; its own collisions; its cell;
# who follows in its cell, if it has no room for all, −1: nobody; its material; its collisions that
# followed at once; whom it met last; from `LIES` on where its event lies in the calendar.
MATE, STAMP, WALL, WAY, HITS, CELL = 0, 1, 2, 3, 4, 5
BEHIND, KIND, CROWD, MET, LIES = 8, 9, 10, 11, 12

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Grid(NamedTuple):
    """The cells."""

    low: Floats  # (3,) corner of the first cell [length]
    size: Floats  # (3,) of a cell [length]
    cells: np.ndarray  # (3,) how many along each axis
    period: Floats  # (3,) 0: open [length]
    reach: np.ndarray  # (3,) neighbours on either side: 1, or 0 along the z of 2D


class Gas(NamedTuple):
    """Grains in the order of their cells, in the frame that falls with them."""

    body: np.ndarray  # (n, 8) floats, see X, V, T, R
    spin: np.ndarray  # (n, 3)
    plan: np.ndarray  # (n, 8) floats
    note: np.ndarray  # (n, 16) whole numbers
    room: np.ndarray  # (cells, 1 + ROOM) how many grains are in each, and the first of them
    near: np.ndarray  # (k, 2) while a grain plans: whom it may meet, and which image of them
    flown: np.ndarray  # (k,) and how long ago these were where they are kept
    shift: np.ndarray  # (27, 3) from the places of grains to those of each image, the 14th is here
    image: np.ndarray  # (n, 3) periods that a grain is away from where it is kept
    orientation: np.ndarray  # (n, 1) or (n, 4)
    row: np.ndarray  # (n,) row of the state
    low: np.ndarray  # the grid
    size: np.ndarray
    cells: np.ndarray
    period: np.ndarray
    reach: np.ndarray


def grid_of(model: Model, position: Floats) -> Grid:
    """Cells for grains at these places, shape (n, dim)."""
    dim, n = model.dim, model.n
    least = 2.0 * float(model.radius.max(initial=0.0)) * (1.0 + WIDER)
    low, size = np.zeros(3), np.ones(3)
    cells, period = np.ones(3, np.int64), np.zeros(3)
    period[:dim] = model.periodic
    room = np.ones(dim)
    for a in range(dim):
        if period[a] > 0.0:
            room[a] = period[a]
        else:
            low[a] = position[:, a].min() - 0.5 * least
            room[a] = position[:, a].max() - low[a] + 0.5 * least
    wide = max(least, float((FILLED * room.prod() / n) ** (1.0 / dim)))
    for a in range(dim):
        most = max(math.floor(room[a] / least), 1)  # if they touch
        cells[a] = min(max(math.floor(room[a] / wide), 1), most)
    while cells.prod() > 2 * n + 64:  # a few grains in a long thin room
        cells = np.maximum(cells // 2, 1)
    size[:dim] = room / cells[:dim]
    return Grid(low, size, cells, period, (np.arange(3) < dim).astype(np.int64))


@jit
def _order(position, grid):
    """Rows of the grains cell by cell, and their cells (n, 3) and images (n, 3), by row."""
    n, dim = position.shape
    cell, image = np.zeros((n, 3), np.int32), np.zeros((n, 3), np.int32)
    count = np.zeros(grid.cells[0] * grid.cells[1] * grid.cells[2] + 1, np.int32)
    number = np.empty(n, np.int64)
    for i in range(n):
        for a in range(dim):
            x = position[i, a]
            if grid.period[a] > 0.0:
                image[i, a] = np.int32(math.floor(x / grid.period[a]))
                x -= image[i, a] * grid.period[a]
            c = np.int64(math.floor((x - grid.low[a]) / grid.size[a]))
            cell[i, a] = min(max(c, 0), grid.cells[a] - 1)
        number[i] = (cell[i, 2] * grid.cells[1] + cell[i, 1]) * grid.cells[0] + cell[i, 0]
        count[number[i] + 1] += 1
    for c in range(count.size - 1):
        count[c + 1] += count[c]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[count[number[i]]] = i
        count[number[i]] += 1
    return order, cell, image


@scalar
def enter(room, note, c, k):
    """Let grain k be in cell c."""
    many = room[c, 0]
    room[c, 0] = many + 1
    if many < ROOM:
        room[c, many + 1], note[k, BEHIND] = k, -1
    else:
        last = room[c, ROOM]
        note[k, BEHIND], note[last, BEHIND] = note[last, BEHIND], k


@scalar
def leave(room, note, c, k):
    """Let grain k be in cell c no longer."""
    many, last = room[c, 0], room[c, ROOM]
    room[c, 0] = many - 1
    for s in range(1, min(many, ROOM) + 1):
        if room[c, s] == k:
            if many <= ROOM:
                room[c, s] = room[c, many]
            else:
                follows = note[last, BEHIND]
                room[c, s] = follows
                if s < ROOM:
                    note[last, BEHIND] = note[follows, BEHIND]
            return
    while note[last, BEHIND] != k:
        last = note[last, BEHIND]
    note[last, BEHIND] = note[k, BEHIND]


def lines(n: int, kind: type) -> NDArray[Any]:
    """Zeros, a line of memory for each of n rows. NumPy asks for large pages if they are many."""
    memory = np.zeros((n + 1) * LINE, np.uint8)
    skipped = -memory.ctypes.data % LINE
    return memory[skipped : skipped + n * LINE].view(kind).reshape(n, -1)


def laid(grid: Grid, moving: Arrays, kinds: Arrays, last: Floats) -> Gas:
    """Grains of a state in the order of their cells.

    moving: position, velocity, spin and orientation of all bodies; kinds: radii, inverse masses and
    inertias, materials; last: (n,) time of the last collision.
    """
    n, most = len(last), 28 * ROOM  # of 27 cells, and what is written behind the last
    shift = (np.indices((3, 3, 3)).reshape(3, 27)[::-1].T - 1) * grid.period
    order, cell, image = _order(moving[0][:n], grid)
    rooms = int(grid.cells.prod())
    gas = Gas(
        lines(n, np.float64), np.zeros((n, 3)), lines(n, np.float64), lines(n, np.int32),
        np.zeros((rooms, 1 + ROOM), np.int32), np.zeros((most, 2), np.int32),
        np.zeros(most), np.ascontiguousarray(shift), image[order], moving[3][order], order, *grid,
    )  # fmt: skip
    _lay(gas, cell, moving, kinds, last)
    return gas


@jit
def _lay(gas, cell, moving, kinds, last):
    """Fill in what is kept of each grain."""
    position, velocity, spin, _ = moving
    radius, inv_mass, inv_inertia, material = kinds
    dim, turns = position.shape[1], spin.shape[1]
    for k in range(gas.row.size):
        i = gas.row[k]
        for a in range(dim):
            gas.body[k, X + a] = position[i, a] - gas.image[k, a] * gas.period[a]
            gas.body[k, V + a] = velocity[i, a]
        for a in range(3):
            gas.note[k, CELL + a] = cell[i, a]
        gas.body[k, R] = radius[i]
        for a in range(turns):
            gas.spin[k, 3 - turns + a] = spin[i, a]
        gas.plan[k, INV_MASS], gas.plan[k, INV_INERTIA] = inv_mass[i, 0], inv_inertia[i, turns - 1]
        gas.plan[k, LAST] = last[i]
        gas.note[k, KIND] = material[i]
        c = (cell[i, 2] * gas.cells[1] + cell[i, 1]) * gas.cells[0] + cell[i, 0]
        enter(gas.room, gas.note, c, k)


@jit
def back(gas, dt, gravity, position, velocity, spin, last):
    """Write where all grains are at the end of the step, in the frame at rest, into the state."""
    n, dim, turns = gas.row.size, position.shape[1], spin.shape[1]
    for k in range(n):
        i = gas.row[k]
        flown = dt - gas.body[k, T]
        for a in range(dim):
            v = gas.body[k, V + a]
            x = gas.body[k, X + a] + v * flown + 0.5 * gravity[a] * dt * dt
            position[i, a] = x + gas.image[k, a] * gas.period[a]
            velocity[i, a] = v + gravity[a] * dt
        for a in range(turns):
            spin[i, a] = gas.spin[k, 3 - turns + a]
        last[i] = gas.plan[k, LAST]
