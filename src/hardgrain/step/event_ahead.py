"""Memory that is read before it is needed, so that large gases do not wait for it.

The events of a gas are scattered all over it: of a million grains, hardly one that an event needs
lies in a cache. But the calendar knows which grains come next. Whenever it opens a slot, the memory
of those in the slots to come is asked for: first where their events lie and what they plan, a
little later whom they plan to meet and the cells around them. Nothing waits for it, and nothing
that is computed depends on it.
"""

from __future__ import annotations

from hardgrain.cpu.sweep import prefetch
from hardgrain.kernels import scalar
from hardgrain.step.event_cells import CELL, MATE
from hardgrain.step.event_queue import AFTER

__all__ = ["ahead"]

# [slots] How far ahead the steps are taken, each of which reads what the one before has asked for.
# A slot has two events or so, a microsecond together, and memory answers within a seventh of that.
# With fewer slots nothing would be gained; with many more, what was read would have left the cache.
FIRST, SECOND, THIRD = 6, 4, 2


@scalar
def _ask_for(gas, queue, i):
    """Ask for what is kept of grain i."""
    prefetch(queue.lies, i, 0)
    prefetch(gas.body, i, 0)
    prefetch(gas.plan, i, 0)
    prefetch(gas.note, i, 0)
    prefetch(gas.weight, i, 0)
    prefetch(gas.crowd, i, 0)


@scalar
def ahead(gas, queue):
    """Ask for the memory that events of the next slots need."""
    slot = queue.tally[0]
    if slot + FIRST >= queue.slot.size:
        return
    i = queue.slot[slot + FIRST]
    if i >= 0:
        _ask_for(gas, queue, i)
    i = queue.slot[slot + SECOND]
    while i >= 0:
        i = queue.lies[i, AFTER]
        if i >= 0:
            _ask_for(gas, queue, i)
    i = queue.slot[slot + THIRD]
    h = gas.reach[2]
    while i >= 0:
        j = gas.note[i, MATE]
        if j >= 0:
            _ask_for(gas, queue, j)
        x, y, z = gas.note[i, CELL], gas.note[i, CELL + 1], gas.note[i, CELL + 2]
        for c in range(max(z - h, 0), min(z + h + 1, gas.cells[2])):
            for b in range(max(y - 1, 0), min(y + 2, gas.cells[1])):
                prefetch(gas.room, (c * gas.cells[1] + b) * gas.cells[0] + max(x - 1, 0), 0)
        i = queue.lies[i, AFTER]
