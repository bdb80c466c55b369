"""Sweeps over the contacts of a packed problem, on one thread or all, until a rule is met.

What one contact update means is chosen by the kind of the packed problem (`hardgrain.cpu.kinds`)
when a loop is compiled. Sums run over blocks of fixed size that are combined in order, so that the
number of threads does not show in their bits.
"""

from __future__ import annotations

import numpy as np

from hardgrain.cpu.kinds import ANY, present, relax_contact, set_impulse, settle, wanted
from hardgrain.cpu.order import arrange
from hardgrain.kernels import cgutils, chosen, device, intrinsic, jit, pjit, prange, scalar, types
from hardgrain.point.cell import CELLED, MOST, SINCE
from hardgrain.point.residual import NOTHING, make_residual, make_speed
from hardgrain.point.stopping import GLOBAL, LOCAL, RESIDUAL, SWEEPS, make_stopping

BLOCK = 4096  # contacts per partial sum: fixed, so that sums do not depend on the threads
LINE = 64  # bytes that memory gives at a time
WIDE = 32  # columns of a contact beyond which it has three lines that matter, and its bodies two
AHEAD = 12  # contacts between asking memory for a row and using it; ~1 µs of work
BIG = 240_000  # numbers in rows beyond which they outgrow the cache and asking ahead pays
IN_CELL = set(CELLED.values())
SMALL = BLOCK  # contacts below which waking other threads costs more than they give; same bits

_residual = make_residual(scalar, ANY)
of_contact, combine, verdict = _residual.of_contact, _residual.combine, _residual.verdict
_stopping = make_stopping(scalar)
change, met, next_check = _stopping.change, _stopping.met, _stopping.next_check
_speed = make_speed(scalar)
body_speed, point_speed = _speed.body_speed, _speed.point_speed


@intrinsic
def prefetch(typing_context, array, row, byte):
    """Ask memory for the cache line at a byte of a row of an array, before it is needed."""
    from llvmlite import ir

    def code(context, builder, signature, args):
        a = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, a.strides, signature.args[0].ndim)[0]
        row = context.cast(builder, args[1], signature.args[1], types.int64)
        byte_in_row = context.cast(builder, args[2], signature.args[2], types.int64)
        offset = builder.add(builder.mul(row, stride), byte_in_row)
        byte, i32 = ir.IntType(8), ir.IntType(32)
        start = builder.bitcast(a.data, byte.as_pointer())
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte.as_pointer(), i32, i32, i32]),
            "llvm.prefetch.p0",
        )
        builder.call(ask, [builder.gep(start, [offset]), i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, row, byte), code


@scalar
def sweep_ahead(p, order):
    """One sweep that asks memory for the rows of the contacts to come."""
    m = order.size
    for s in range(m):
        if s + 2 * AHEAD < m:
            k = order[s + 2 * AHEAD]
            prefetch(p.c, k, 0)
            prefetch(p.c, k, LINE)
            if p.c.shape[1] > WIDE:
                prefetch(p.c, k, 2 * LINE)
            prefetch(p.first, k, 0)
            prefetch(p.second, k, 0)
            k = order[s + AHEAD]
            prefetch(p.b, p.first[k], 0)
            prefetch(p.b, p.second[k], 0)
            if p.c.shape[1] > WIDE:
                prefetch(p.b, p.first[k], LINE)
                prefetch(p.b, p.second[k], LINE)
        relax_contact(p, order[s])


@scalar
def sweep_plainly(p, order):
    """One sweep over all contacts in the given order, where two bodies feel each."""
    if order.size * p.c.shape[1] > BIG:
        sweep_ahead(p, order)
    else:
        for s in range(order.size):
            relax_contact(p, order[s])


# Kernels of their own: written out beside each other, they would leave too few registers to the
# loop over contacts, which then takes a tenth longer.
@jit
def settle_apart(p):
    """Let the cell move."""
    settle(p)


@jit
def sweep_ahead_apart(p, order):
    """`sweep_ahead`, which few problems need."""
    sweep_ahead(p, order)


@jit
def sweep_in_cell(p, order):
    """The same where the cell feels them, which moves as often as `point.cell` says."""
    s, m = 0, order.size
    while s < m:
        end = min(s + p.counts[MOST] - p.counts[SINCE], m)
        some = order[s:end]
        if m * p.c.shape[1] > BIG:
            sweep_ahead_apart(p, some)
        else:
            for k in some:
                relax_contact(p, k)
        p.counts[SINCE] += end - s
        if p.counts[SINCE] >= p.counts[MOST]:
            settle_apart(p)
        s = end


sweep = chosen(lambda kind: sweep_in_cell if kind in IN_CELL else sweep_plainly)


@scalar
def sweep_once(p, order):
    """One sweep over all contacts in the given order."""
    sweep(p, order)


@scalar
def change_block(p, before, low, high, until):
    """Contacts that break the local rule, and the sum of |P|.

    ``before`` then holds the present impulses, for the next time.
    """
    broken, total = 0.0, 0.0
    for k in range(low, high):
        q = present(p, k)
        found = change(q, before[k], until)
        broken += found[0]
        total += found[1]
        for a in range(7):
            before[k, a] = q[a]
    return broken, total


@scalar
def summed(part, column):
    """Sum of a column, block after block.

    Inside a `pjit` kernel the threads would share an array's own `sum`, and their number would
    show in its bits.
    """
    total = 0.0
    for i in range(part.shape[0]):
        total += part[i, column]
    return total


@pjit
def change_blocks(p, before, until):
    """`change_block` on all threads, in fixed blocks that are combined in order."""
    m = p.first.size
    blocks = (m + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 2))
    for i in prange(blocks):
        low, high = i * BLOCK, min(m, (i + 1) * BLOCK)
        broken, total = change_block(p, before, low, high, until)
        part[i, 0], part[i, 1] = broken, total
    return summed(part, 0), summed(part, 1)


@device
def changed(p, before, starts, until):
    """`change_block` of all contacts, on all threads where they are coloured."""
    if starts is None:
        return change_block(p, before, 0, p.first.size, until)
    elif p.first.size < SMALL:  # a single block
        return change_block(p, before, 0, p.first.size, until)
    else:
        return change_blocks(p, before, until)


@scalar
def residual_block(p, low, high, unseen, paths):
    """The part that some contacts have in the residual.

    ``unseen``: square of the velocity that rounding hides; ``paths``: (m,) (dt/d)², or None.
    """
    found = NOTHING
    for k in range(low, high):
        if paths is None:
            found = combine(found, of_contact(p, k, 0.0, unseen))
        else:
            found = combine(found, of_contact(p, k, paths[k], unseen))
    return found


@pjit
def residual_blocks(p, unseen, paths):
    """`residual_block` on all threads, in fixed blocks that are combined in order."""
    m = p.first.size
    blocks = (m + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 7))
    for i in prange(blocks):
        of_block = residual_block(p, i * BLOCK, min(m, (i + 1) * BLOCK), unseen, paths)
        for c in range(7):
            part[i, c] = of_block[c]
    found = NOTHING
    for i in range(blocks):
        found = combine(found, (
            part[i, 0], part[i, 1], part[i, 2], part[i, 3], part[i, 4], part[i, 5], part[i, 6],
        ))  # fmt: skip
    return found


@jit
def residual(p, starts, unseen, paths):
    """Residual and residual_rms of a packed problem; on all threads where it is coloured.

    ``unseen`` and ``paths``: see `residual_block`.
    """
    m = p.first.size
    if starts is None:
        found = residual_block(p, 0, m, unseen, paths)
    elif m < SMALL:  # a single block
        found = residual_block(p, 0, m, unseen, paths)
    else:
        found = residual_blocks(p, unseen, paths)
    return verdict(found, unseen)


@jit
def fastest(rows, motion):
    """Largest velocity component of a body, or speed of a contact point by its body's spin."""
    most = 0.0
    for i in range(motion.velocity.shape[0]):
        most = max(most, body_speed(motion, i))
    for k in range(rows.first.size):
        most = max(most, point_speed(rows, motion, k))
    return most


@pjit
def sweep_colours(p, starts):
    """One sweep, colour by colour; contacts of one colour are independent. The last is serial."""
    last, m = starts.size - 2, p.first.size
    for colour in range(last):
        for k in prange(starts[colour], starts[colour + 1]):
            later = min(k + AHEAD, m - 1)
            prefetch(p.b, p.first[later], 0)
            prefetch(p.b, p.second[later], 0)
            relax_contact(p, k)
    for k in range(starts[last], starts[last + 1]):
        relax_contact(p, k)


@jit
def sweep_parallel(p, relaxation, fresh):
    """The parallel (Jacobi) update: all contacts answer the same velocities, then all move."""
    for k in range(p.first.size):
        new, old = wanted(p, k), present(p, k)
        for a in range(7):
            fresh[k, a] = old[a] + relaxation * (new[a] - old[a])
    for k in range(p.first.size):
        f = fresh[k]
        set_impulse(p, k, (f[0], f[1], f[2], f[3], f[4], f[5], f[6]))
    settle(p)


@jit
def relax(p, order, starts, relaxation, visits, until, paths):
    """Sweep until the rule is met; returns (sweeps done, rule met).

    ``starts`` (of the colours, contacts stored colour by colour) and ``relaxation`` (of the
    parallel update) are None for all other orders, and what they stand for is then not compiled.
    """
    m = p.first.size
    watch = until.rule in (LOCAL, GLOBAL)
    before = np.zeros((m if watch else 0, 7))
    total = 0.0
    if watch:
        _, total = changed(p, before, starts, until)
    fresh = np.empty((0 if relaxation is None else m, 7))
    check = 1
    for sweep in range(until.sweeps):
        if relaxation is not None:
            sweep_parallel(p, relaxation, fresh)
        elif starts is None:
            arrange(order, visits.scheme, visits.seed, visits.step, sweep)
            sweep_once(p, order)
        elif m < SMALL:
            sweep_once(p, order)
        else:
            sweep_colours(p, starts)
        if watch:
            last = total
            broken, total = changed(p, before, starts, until)
            if met(until, broken, total, last):
                settle(p)
                return sweep + 1, True
        elif until.rule == RESIDUAL and sweep + 1 >= check:
            check = next_check(sweep + 1)
            settle(p)
            if residual(p, starts, until.unseen, paths)[0] <= until.tolerance:
                return sweep + 1, True
    settle(p)
    return until.sweeps, until.rule == SWEEPS
