"""Problems packed tile by tile (`cpu.tiles`) on all threads, with copies of shared bodies.

What a tile writes is its own: contacts, ghosts and copies; bodies that it shares with its
neighbours are written colour by colour.
"""

from __future__ import annotations

import numpy as np

from hardgrain.core.contact_rows import ContactRows
from hardgrain.cpu.kinds import pack_body, pack_contact, start, unpack_body, unpack_contact
from hardgrain.cpu.packing import arm_lengths, ghostly
from hardgrain.kernels import jit, overload, pjit, prange, scalar
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.given import Given
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D


@scalar
def parts(p):
    """Number of the columns of a body that hold velocities and spins."""
    return 6 if p.c.shape[1] in (12, 48) else 3


@scalar
def take(p, plan, t):
    """Let the copies of a tile move as their bodies do."""
    for c in range(plan.copy_start[t], plan.copy_start[t + 1]):
        if plan.weight[c] > 0:
            for a in range(parts(p)):
                p.b[plan.bodies + c, a] = p.b[plan.body[c], a]


@scalar
def join(p, plan, colour, sums):
    """Give each shared body the mean of its copies' velocities; the order of sums is fixed.

    What they changed is averaged, so that a body that nothing pushed keeps all its bits. ``sums``
    (copies, 6) is zero before and after.
    """
    low = plan.copy_start[colour * plan.tiles]
    high = plan.copy_start[(colour + 1) * plan.tiles]
    for c in range(low, high):
        if plan.weight[c] > 0:
            for a in range(parts(p)):
                sums[plan.leader[c], a] += p.b[plan.bodies + c, a] - p.b[plan.body[c], a]
    for c in range(low, high):
        if plan.weight[c] > 0 and plan.leader[c] == c:
            for a in range(parts(p)):
                p.b[plan.body[c], a] += sums[c, a] / plan.weight[c]
                sums[c, a] = 0.0


# Numbers in the rows of contacts, and of bodies, which begin at cache lines: threads share none.
WIDTHS = {Lean2D: (9, 8), Lean3D: (12, 8), Full2D: (32, 8), Full3D: (48, 16)}


def room(layout, m, bodies, memory, more):
    """An unfilled problem; its contacts lie in ``memory``, its bodies in ``more``."""


@overload(room, strict=False)
def _(layout, m, bodies, memory, more):
    kind = layout.instance_class
    columns, wide = WIDTHS[kind]

    def lean(layout, m, bodies, memory, more):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        c, b = aligned(memory, m, columns), aligned(more, bodies, wide)
        return kind(first, second, c, b, np.zeros(bodies))

    def full(layout, m, bodies, memory, more):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        return kind(first, second, aligned(memory, m, columns), aligned(more, bodies, wide))

    return lean if kind in (Lean2D, Lean3D) else full


def seen_by(packed, first, second, c, b):
    """Some contacts of a problem, packed otherwise."""


@overload(seen_by, strict=False)
def _(packed, first, second, c, b):
    kind = packed.instance_class
    if kind in (Lean2D, Lean3D):
        return lambda packed, first, second, c, b: kind(first, second, c, b, packed.r)
    return lambda packed, first, second, c, b: kind(first, second, c, b)


def has_levers(packed):
    """Whether bodies carry the lengths of their arms, and turning ones that are held ghosts."""


@overload(has_levers, strict=False)
def _(packed):
    lean = packed.instance_class in (Lean2D, Lean3D)
    return lambda packed: lean


def set_lever(packed, i, length):
    """Write the length of the arms of a body, where bodies carry it."""


@overload(set_lever, strict=False)
def _(packed, i, length):
    def lean(packed, i, length):
        packed.r[i] = length

    def full(packed, i, length):
        pass

    return lean if packed.instance_class in (Lean2D, Lean3D) else full


def lever(packed, i):
    """Length of the arms of a body; zero where bodies do not carry it."""


@overload(lever, strict=False)
def _(packed, i):
    if packed.instance_class in (Lean2D, Lean3D):
        return lambda packed, i: packed.r[i]
    return lambda packed, i: 0.0


@jit
def aligned(memory, rows, columns):
    """Rows within some memory that begin at a cache line; it has 8 numbers to spare."""
    start = (-memory.ctypes.data // 8) % 8
    return memory[start : start + rows * columns].reshape(rows, columns)


@pjit
def ghostly_bodies(motion):
    """Bodies that turn though nothing can push them, shape (nb,)."""
    found = np.zeros(motion.velocity.shape[0], np.bool_)
    for i in prange(found.size):
        found[i] = ghostly(motion, i)
    return found


@pjit
def count_ghosts(plan, second, width, turning, dt):
    """Where the ghosts of each tile begin, for contacts that need one; (dt/d)² of stored rows."""
    tiles = plan.starts.size - 1
    base, paths = np.zeros(tiles + 1, np.int64), np.empty(plan.stored.size)
    for t in prange(tiles):
        number = 0
        for s in range(plan.starts[t], plan.starts[t + 1]):
            number += turning[second[plan.stored[s]]]
            paths[s] = (dt / width[plan.stored[s]]) ** 2
        base[t + 1] = number
    for t in range(tiles):
        base[t + 1] += base[t]
    return base, paths


@jit
def laid_out(layout, m, bodies, memory, more):
    """An unfilled problem, see `room`."""
    return room(layout, m, bodies, memory, more)


def packing_room(layout, m, bodies, ghosts):
    """An unfilled problem with room for the ghosts, where there may be any.

    NumPy makes it: what it makes of some size lies in large pages, which are few to be touched.
    """
    kind = type(layout)
    columns, wide = WIDTHS[kind]
    bodies += ghosts if kind in (Lean2D, Lean3D) else 0
    memory, more = np.empty(m * columns + 8), np.empty(bodies * wide + 8)
    return laid_out(layout, m, bodies, memory, more)


@scalar
def set_levers(p, plan, rows, t):
    """Write the lengths of arms of the bodies that a tile touches."""
    for s in range(plan.starts[t], plan.starts[t + 1]):
        k = plan.stored[s]
        first, second = arm_lengths(rows, k)
        set_lever(p, rows.first[k], first)
        set_lever(p, rows.second[k], second)


@scalar
def pack_row(p, i, motion):
    """Fill the row of a body, a copy or a ghost, which is given its velocity by its contact."""
    for a in range(p.b.shape[1]):
        p.b[i, a] = 0.0
    if i < motion.velocity.shape[0]:
        pack_body(p, i, motion)


@scalar
def pack_tile(p, plan, given, ghosts, t):
    """Fill the rows of a tile; ghosts: which bodies need them, and where those of tiles begin."""
    turning, begin = ghosts
    ghost = given.motion.velocity.shape[0] + begin[t]
    for s in range(plan.starts[t], plan.starts[t + 1]):
        k = plan.stored[s]
        p.first[s], p.second[s] = given.rows.first[k], given.rows.second[k]
        if has_levers(p) and turning[given.rows.second[k]]:
            p.second[s] = ghost
            ghost += 1
        pack_contact(p, s, k, given.rows, given.motion, given.laws, given.dt, given.remove_overlaps)


@pjit
def fill(p, plan, rows, motion, laws, how, turning, ghost_base):
    """Fill the rows of a packed problem, without giving bodies the impulses they start from.

    how: dt and whether overlaps are removed; turning, ghost_base: see `pack_tile`.
    """
    every = plan.starts.size - 1
    if has_levers(p):
        for colour in range(plan.colours):
            for t in prange(colour * plan.tiles, (colour + 1) * plan.tiles):
                set_levers(p, plan, rows, t)
        set_levers(p, plan, rows, every - 1)
    for i in prange(p.b.shape[0]):
        pack_row(p, i, motion)
    for t in prange(every):
        given = Given(rows, motion, laws, how[0], how[1])
        pack_tile(p, plan, given, (turning, ghost_base), t)


@pjit
def give_impulses(p, plan, sums):
    """Give bodies the impulses that contacts start from."""
    for colour in range(plan.colours):
        for t in prange(colour * plan.tiles, (colour + 1) * plan.tiles):
            take(p, plan, t)
            for s in range(plan.starts[t], plan.starts[t + 1]):
                start(p, s)
        join(p, plan, colour, sums)
    for s in range(plan.starts[plan.starts.size - 2], plan.stored.size):
        start(p, s)


@pjit
def read_out(p, plan, velocity, spin, impulse, torque):
    """Read velocities, impulses and torque impulses out of a packed problem."""
    m = plan.stored.size
    for i in prange(velocity.shape[0]):
        unpack_body(p, i, velocity, spin)
    for s in prange(m):
        unpack_contact(p, s, plan.stored[s], impulse, torque)


@jit
def heavy_problem(layout, p, plan, given, paths):
    """Contacts of movable shared bodies with these bodies' own masses: packed, as rows, (dt/d)².

    Bodies of the packed problem move as they would without contacts, which laws ask for.
    """
    rows, motion = given.rows, given.motion
    h = plan.heavy.size
    bodies = p.b.shape[0] if h > 0 else 0
    memory, more = np.empty(h * p.c.shape[1] + 8), np.empty(bodies * p.b.shape[1] + 8)
    some = room(layout, h, bodies, memory, more)
    for i in range(some.b.shape[0]):
        if i < motion.velocity.shape[0]:
            set_lever(some, i, lever(p, i))
        pack_row(some, i, motion)
    k, path = np.empty(h, np.int64), np.empty(h)
    for at in range(h):
        s = plan.heavy[at]
        k[at], path[at] = plan.stored[s], paths[s]
        some.first[at], some.second[at] = rows.first[k[at]], rows.second[k[at]]
        if p.second[s] >= plan.bodies + plan.body.size:  # a ghost
            some.second[at] = p.second[s]
    own = ContactRows(
        rows.first[k], rows.second[k], rows.normal[k], rows.gap[k], rows.arm_first[k],
        rows.arm_second[k], rows.width[k], rows.roll[k], rows.law[k], rows.impulse[k],
        rows.torque[k],
    )  # fmt: skip
    return some, own, path


@jit
def true_masses(some, own, p, plan, given):
    """The contacts of `heavy_problem` with the impulses and velocities of now."""
    for at in range(plan.heavy.size):
        unpack_contact(p, plan.heavy[at], at, own.impulse, own.torque)
        pack_contact(
            some, at, at, own, given.motion, given.laws, given.dt, given.remove_overlaps
        )  # fmt: skip
    return seen_by(some, some.first, some.second, some.c, p.b)
