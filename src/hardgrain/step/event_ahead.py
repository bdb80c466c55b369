"""Memory that is read before it is needed, so that large gases do not wait for it.

The events of a gas are scattered all over it: of a million grains, hardly one that an event needs
lies in a cache. But the calendar knows which grains come next. Whenever it opens a slot, the memory
of those in the slots to come is asked for: first where their events lie and what they plan, a
little later whom they plan to meet and the cells around them. Nothing waits for it, and nothing
that is computed depends on it.
"""

from __future__ import annotations

from hardgrain.kernels import cgutils, intrinsic, scalar, types
from hardgrain.step.event_cells import CELL, MATE
from hardgrain.step.event_queue import AFTER

__all__ = ["ahead"]

# [slots] How far ahead the steps are taken, each of which reads what the one before has asked for.
# A slot has two events or so, a microsecond together, and memory answers within a seventh of that.
# With fewer slots nothing would be gained; with many more, what was read would have left the cache.
FIRST, SECOND, THIRD = 6, 4, 2


@intrinsic
def _ask(typing_context, array, row):
    """Ask for the memory where a row of an array begins."""

    def code(context, builder, signature, args):
        kind, index = signature.args
        a = context.make_array(kind)(context, builder, args[0])
        zero = context.get_constant(types.intp, 0)
        rest = [zero] * (kind.ndim - 1)
        i = context.cast(builder, args[1], index, types.intp)
        at = cgutils.get_item_pointer(context, builder, kind, a, [i, *rest])
        at = builder.bitcast(at, cgutils.voidptr_t)
        whole = cgutils.int32_t
        wanted = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t, *[whole] * 3])
        call = cgutils.get_or_insert_function(builder.module, wanted, "llvm.prefetch.p0")
        # to be read, into the nearest cache, data
        builder.call(call, [at, whole(0), whole(3), whole(1)])
        return context.get_dummy_value()

    return types.void(array, row), code


@scalar
def _ask_for(gas, queue, i):
    """Ask for what is kept of grain i."""
    _ask(queue.lies, i)
    _ask(gas.body, i)
    _ask(gas.plan, i)
    _ask(gas.note, i)
    _ask(gas.weight, i)
    _ask(gas.crowd, i)


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
                _ask(gas.room, (c * gas.cells[1] + b) * gas.cells[0] + max(x - 1, 0))
        i = queue.lies[i, AFTER]
