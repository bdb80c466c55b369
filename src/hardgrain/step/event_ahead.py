"""Memory that is read before it is needed, so that large gases do not wait for it.

The events of a gas are scattered all over it: of a million grains, hardly one that an event needs
lies in a cache. But the calendar knows which grains come next. Whenever it opens a slot, the memory
of those in the slots to come is asked for: first what is kept of them, then whom they plan to meet
and the cells around them, at last whoever is in these. Nothing waits for it, and nothing that is
computed depends on it.
"""

from __future__ import annotations

import numpy as np

from hardgrain.cpu.sweep import prefetch
from hardgrain.kernels import scalar
from hardgrain.step.event_cells import CELL, MATE, ROOM
from hardgrain.step.event_queue import AFTER

__all__ = ["MANY", "ahead"]

# [slots] How far ahead the steps are taken, each of which reads what the one before has asked for.
# A slot has two events or so, a microsecond together, and memory answers within a third of that if
# others are at work on it too. With half as many slots the cost is a tenth higher, and with
# twice as many too, since what was read has left the cache.
FIRST, SECOND, THIRD, FOURTH = 12, 9, 6, 3
# [grains] Fewer lie in a cache anyway: at 10⁴ asking gains nothing, at 10³ it costs a twentieth.
MANY = 20_000


@scalar
def _ask_for(gas, i):
    """Ask for what is kept of grain i."""
    prefetch(gas.note, i, 0)
    prefetch(gas.plan, i, 0)
    prefetch(gas.body, i, 0)


@scalar
def _around(gas, i):
    """The cells around grain i that are inside of the grid: low and high along x, y and z."""
    x, y, z, h = gas.note[i, CELL], gas.note[i, CELL + 1], gas.note[i, CELL + 2], gas.reach[2]
    return (
        max(x - 1, 0), min(x + 2, gas.cells[0]), max(y - 1, 0), min(y + 2, gas.cells[1]),
        max(z - h, 0), min(z + h + 1, gas.cells[2]),
    )  # fmt: skip


@scalar
def ahead(gas, queue):
    """Ask for the memory that events of the next slots need."""
    slot = queue.tally[0]
    if gas.row.size < MANY or slot + FIRST >= queue.slot.size:
        return
    i = queue.slot[slot + FIRST]
    if i >= 0:
        _ask_for(gas, i)
    i = queue.slot[slot + SECOND]
    while i >= 0:
        i = queue.lies[i, AFTER]
        if i >= 0:
            _ask_for(gas, i)
    i = queue.slot[slot + THIRD]
    while i >= 0:
        j = gas.note[i, MATE]
        if j >= 0:
            _ask_for(gas, j)
        x, _, low, high, down, up = _around(gas, i)
        for z in range(down, up):
            for y in range(low, high):
                prefetch(gas.room, (z * gas.cells[1] + y) * gas.cells[0] + x, 0)
        i = queue.lies[i, AFTER]
    i = queue.slot[slot + FOURTH]
    while i >= 0:
        left, right, low, high, down, up = _around(gas, i)
        for z in range(down, up):
            for y in range(low, high):
                for x in range(left, right):
                    c = np.uintp((z * gas.cells[1] + y) * gas.cells[0] + x)
                    for s in range(ROOM):  # what is beyond the number of grains is old
                        prefetch(gas.body, gas.room[c, s + 1], 0)
        i = queue.lies[i, AFTER]
