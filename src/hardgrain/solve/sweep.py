"""Sweeps over the contacts, and how far their result obeys the laws.

The loops here are written once; what one contact update means is chosen by the type of the packed
problem (`lean`, `full` or `blocks`, 2D or 3D) when a loop is compiled.

**Residual.** Ask every contact which impulse P* its law would give it now, all others held, and
compare with the impulse P it has. The velocity change that the contact still wants is
W_αα (P* − P). It vanishes for all contacts exactly when Signorini's and Coulomb's conditions (and
all other laws) hold everywhere, whichever of the many admissible force networks was found:

    ΔV_α = |W_αα (P* − P)_α|,      V² = mean_α max(|W_αα P|², |W_αα P*|²)

The mean runs over the contacts that bear an impulse or want one. V is the velocity that a typical
contact impulse gives to its contact, so that ΔV/V is a pure number: 10⁻⁶ means that velocities are
right to a millionth of what the contacts do in a step. Where light and heavy grains meet, V is a
velocity of light ones, since the same impulse moves them faster; it may be so large that a heavy
grain in free fall, or a light one that is driven through its neighbour, would pass for solved. So
no contact is judged by V alone. The residual is the largest, over all contacts, of three numbers:

    ΔV / V                        velocities: relative to those that typical impulses give;
    ΔV / (10 |W_αα| P)            impulses: relative to ten times the typical one, P² = mean P_n²,
                                  which is what a heavy grain is measured by;
    ΔV dt / d_α                   paths: how far the contact goes astray within the step, relative
                                  to the diameter of the smaller of its grains.

Among grains whose masses differ by less than about ten, and as long as typical impulses move no
grain by more than its diameter in a step, the first is the largest and the other two change
nothing. Problems that come as matrices know neither dt nor diameters and have the first two alone.

``residual_rms`` is the root mean square of ΔV over V; it is 1 where nothing is known yet.
Velocities that drown in the rounding of the bodies' own (`unseen`) count as zero: grains that
travel together without pushing each other have nothing to converge.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import cgutils, device, intrinsic, jit, overload, pjit, prange, types
from hardgrain.solve import blocks, full, lean
from hardgrain.solve.order import arrange

SWEEPS, LOCAL, GLOBAL, RESIDUAL = range(4)  # stopping rules
# How much larger than the typical impulse one may be that counts as 1 in the residual. Less: the
# tolerance of grains that differ little in mass would change; more: heavy grains are noticed later.
LENIENT = 10.0
NORMAL, TANGENT = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
BLOCK = 4096  # contacts per partial sum: fixed, so that sums do not depend on the threads
LINE = 64  # bytes that memory gives at a time; the rows that matter span two at most
AHEAD = 12  # contacts between asking memory for a row and using it; ~1 µs of work
BIG = 20_000  # contacts beyond which the rows outgrow the cache and asking ahead pays
SMALL = BLOCK  # contacts below which waking other threads costs more than they give; same bits

_KINDS = {
    kind: {
        name: getattr(module, f"{name}_{kind.__name__[-2:].lower()}")
        for name in ("relax_contact", "wanted", "present", "set_impulse", "speed_squared")
    }
    for module, kind in (
        (lean, lean.Lean2D),
        (lean, lean.Lean3D),
        (full, full.Full2D),
        (full, full.Full3D),
        (blocks, blocks.Blocks2D),
        (blocks, blocks.Blocks3D),
    )
}


def relax_contact(p, k):
    """Update one contact: its new impulse goes to the two bodies at once."""


def wanted(p, k):
    """Impulse components that the law of contact k would give now."""


def present(p, k):
    """Impulse components that contact k has."""


def set_impulse(p, k, q):
    """Give contact k the impulse q and its bodies the difference."""


def speed_squared(p, k, q):
    """|W_αα q|²."""


@overload(relax_contact)
def _(p, k):
    f = _KINDS[p.instance_class]["relax_contact"]
    return lambda p, k: f(p, k)


@overload(wanted)
def _(p, k):
    f = _KINDS[p.instance_class]["wanted"]
    return lambda p, k: f(p, k)


@overload(present)
def _(p, k):
    f = _KINDS[p.instance_class]["present"]
    return lambda p, k: f(p, k)


@overload(set_impulse)
def _(p, k, q):
    f = _KINDS[p.instance_class]["set_impulse"]
    return lambda p, k, q: f(p, k, q)


@overload(speed_squared)
def _(p, k, q):
    f = _KINDS[p.instance_class]["speed_squared"]
    return lambda p, k, q: f(p, k, q)


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


@device
def sweep_once(p, order):
    """One sweep over all contacts in the given order."""
    m = order.size
    far = m > BIG
    for s in range(m):
        if far and s + 2 * AHEAD < m:
            k = order[s + 2 * AHEAD]
            prefetch(p.c, k, 0)
            prefetch(p.c, k, LINE)
            prefetch(p.first, k, 0)
            prefetch(p.second, k, 0)
            k = order[s + AHEAD]
            prefetch(p.b, p.first[k], 0)
            prefetch(p.b, p.second[k], 0)
        relax_contact(p, order[s])


@device
def norm_squared(q):
    return q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2


@device
def subtract(a, b):
    return (
        a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5], a[6] - b[6],
    )  # fmt: skip


@device
def change_block(p, before, low, high, tolerance, cutoff):
    """Contacts that break the local rule (35) |ΔP| ≤ ε |P| + δ, and the sum of |P|.

    ``before`` then holds the present impulses, for the next time.
    """
    broken, total = 0.0, 0.0
    for k in range(low, high):
        q = present(p, k)
        size = math.sqrt(norm_squared(q))
        d = 0.0
        for a in range(7):
            d += (q[a] - before[k, a]) ** 2
            before[k, a] = q[a]
        if not math.sqrt(d) <= tolerance * size + cutoff:
            broken += 1.0
        total += size
    return broken, total


@device
def summed(part, column):
    """Sum of a column, block after block.

    Inside a `pjit` kernel the threads would share an array's own `sum`, and their number would
    show in its bits.
    """
    total = 0.0
    for i in range(part.shape[0]):
        total += part[i, column]
    return total


@device
def largest(part, column):
    """Largest number of a column, or NaN."""
    most = 0.0
    for i in range(part.shape[0]):
        if not part[i, column] <= most:
            most = part[i, column]
    return most


@pjit
def change_blocks(p, before, tolerance, cutoff):
    """`change_block` on all threads, in fixed blocks that are combined in order."""
    m = p.first.size
    blocks = (m + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 2))
    for i in prange(blocks):
        low, high = i * BLOCK, min(m, (i + 1) * BLOCK)
        broken, total = change_block(p, before, low, high, tolerance, cutoff)
        part[i, 0], part[i, 1] = broken, total
    return summed(part, 0), summed(part, 1)


@device
def change(p, before, starts, tolerance, cutoff):
    if starts is None:
        return change_block(p, before, 0, p.first.size, tolerance, cutoff)
    elif p.first.size < SMALL:  # a single block
        return change_block(p, before, 0, p.first.size, tolerance, cutoff)
    else:
        return change_blocks(p, before, tolerance, cutoff)


@device
def residual_block(p, low, high, paths):
    """Squares: the largest ΔV, ΔV/|W| and ΔV dt/d; the sums of ΔV, V and P_n, and their number.

    ``paths``: (m,) (dt/d)² of the contacts, or None.
    """
    worst, lacking, astray = 0.0, 0.0, 0.0
    wants, scale, push, loaded = 0.0, 0.0, 0.0, 0.0
    for k in range(low, high):
        new, old = wanted(p, k), present(p, k)
        d = speed_squared(p, k, subtract(new, old))
        wants += d
        size = max(speed_squared(p, k, new), speed_squared(p, k, old))
        scale += size
        push += max(new[0] ** 2, old[0] ** 2)
        loaded += size != 0.0
        if not d <= worst:  # lets NaN through
            worst = d
        mobility = max(speed_squared(p, k, NORMAL), speed_squared(p, k, TANGENT))
        if d > lacking * mobility:
            lacking = d / mobility
        if paths is not None:
            astray = max(astray, d * paths[k])
    return worst, lacking, astray, wants, scale, push, loaded


@pjit
def residual_blocks(p, paths):
    """`residual_block` on all threads, in fixed blocks that are combined in order."""
    m = p.first.size
    blocks = (m + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 7))
    for i in prange(blocks):
        found = residual_block(p, i * BLOCK, min(m, (i + 1) * BLOCK), paths)
        for c in range(7):
            part[i, c] = found[c]
    return (
        largest(part, 0), largest(part, 1), largest(part, 2),
        summed(part, 3), summed(part, 4), summed(part, 5), summed(part, 6),
    )  # fmt: skip


@jit
def residual(p, starts, unseen, paths):
    """Residual and residual_rms of a packed problem; on all threads where it is coloured.

    ``unseen``: square of the velocity that rounding hides; ``paths``: see `residual_block`.
    """
    m = p.first.size
    if starts is None:
        found = residual_block(p, 0, m, paths)
    elif m < SMALL:  # a single block
        found = residual_block(p, 0, m, paths)
    else:
        found = residual_blocks(p, paths)
    worst, lacking, astray, wants, scale, push, loaded = found
    if worst <= unseen:
        return 0.0, 0.0
    square = worst * loaded / scale
    if lacking * loaded > square * LENIENT**2 * push > 0.0:
        square = lacking * loaded / (LENIENT**2 * push)
    if astray > square:
        square = astray
    return math.sqrt(square), math.sqrt(wants / scale)


@jit
def fastest(rows, motion):
    """Largest velocity component of a body, or speed of a contact point by its body's spin."""
    most = 0.0
    for i in range(motion.velocity.shape[0]):
        for a in range(motion.velocity.shape[1]):
            most = max(most, abs(motion.velocity[i, a]))
    for k in range(rows.first.size):
        first, second, turn_first, turn_second = 0.0, 0.0, 0.0, 0.0
        for a in range(rows.normal.shape[1]):
            first += rows.arm_first[k, a] ** 2
            second += rows.arm_second[k, a] ** 2
        for a in range(motion.spin.shape[1]):
            turn_first += motion.spin[rows.first[k], a] ** 2
            turn_second += motion.spin[rows.second[k], a] ** 2
        most = max(most, math.sqrt(first * turn_first), math.sqrt(second * turn_second))
    return most


@device
def next_check(sweep):
    """The residual costs about one sweep: look every 5 sweeps, later every twentieth part."""
    return sweep + max(5, sweep // 20)


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


@jit
def relax(
    p, order, starts, relaxation, scheme, seed, step, rule, sweeps, tolerance, cutoff, unseen, paths
):  # fmt: skip
    """Sweep until the rule is met; returns (sweeps done, rule met).

    ``starts`` (of the colours, contacts stored colour by colour) and ``relaxation`` (of the
    parallel update) are None for all other orders, and what they stand for is then not compiled.
    """
    m = p.first.size
    watch = rule in (LOCAL, GLOBAL)
    before = np.zeros((m if watch else 0, 7))
    total = 0.0
    if watch:
        _, total = change(p, before, starts, tolerance, cutoff)
    fresh = np.empty((0 if relaxation is None else m, 7))
    check = 1
    for sweep in range(sweeps):
        if relaxation is not None:
            sweep_parallel(p, relaxation, fresh)
        elif starts is None:
            arrange(order, scheme, seed, step, sweep)
            sweep_once(p, order)
        elif m < SMALL:
            sweep_once(p, order)
        else:
            sweep_colours(p, starts)
        if watch:
            last = total
            broken, total = change(p, before, starts, tolerance, cutoff)
            if broken == 0.0 if rule == LOCAL else abs(total - last) <= tolerance * total:
                return sweep + 1, True
        elif rule == RESIDUAL and sweep + 1 >= check:
            check = next_check(sweep + 1)
            if residual(p, starts, unseen, paths)[0] <= tolerance:
                return sweep + 1, True
    return sweeps, rule == SWEEPS
