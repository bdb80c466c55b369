"""Contact problems of a step as rows that sweeps read, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import make_images
from hardgrain.cpu.cell import gradient
from hardgrain.cpu.kinds import pack_body, pack_contact, settle, start, unpack_body, unpack_contact
from hardgrain.kernels import jit, overload, scalar
from hardgrain.point.cell import (
    CELLED,
    KIND_OF,
    LONGEST,
    MOST,
    NUMBERS,
    SHARE,
    GivenInSpace,
)
from hardgrain.point.cell_motion import ROWS
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.given import Motion
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D
from hardgrain.point.levers import make_levers
from hardgrain.point.widths import WIDTHS

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_levers = make_levers(scalar)
ghostly, arm_lengths = _levers.ghostly, _levers.arm_lengths
_images = make_images(scalar)
tilts, nearest = _images.tilts, _images.nearest


def _empty(kind: Any, *more: Any) -> Any:
    """A packed problem without contacts and bodies."""
    index = np.zeros(0, np.uint32)
    return kind(index, index, np.zeros((0, 1)), np.zeros((0, 1)), *more)


# Empty problems of each kind, by whether laws and bodies are simple, and by dimension. A compiled
# function that is given one of them packs problems of its kind.
LAYOUTS = {
    (True, 2): _empty(Lean2D, np.zeros(0)),
    (True, 3): _empty(Lean3D, np.zeros(0)),
    (False, 2): _empty(Full2D),
    (False, 3): _empty(Full3D),
}
_FLAT = np.zeros((0, 1))
_OF_CELL = (_FLAT, np.zeros(0, np.int64), *[_FLAT] * 5)
LAYOUTS_IN_CELL = {
    (lean, dim): _empty(CELLED[kind], *[np.zeros(0)] * lean, *_OF_CELL)
    for (lean, dim), kind in KIND_OF.items()
}
_BASE = {celled: kind for kind, celled in CELLED.items()}


@jit
def lines(rows, columns):
    """Zeros that begin at a cache line, 64 bytes: a body of 8 numbers then lies in one."""
    memory = np.zeros(rows * columns + 8)
    start = (-memory.ctypes.data // 8) % 8
    return memory[start : start + rows * columns].reshape(rows, columns)


def room(layout, given, m):
    """An unfilled problem of m contacts, and which bodies need ghosts, shape (nb,)."""


@overload(room, strict=False)
def _(layout, given, m):
    kind = layout.instance_class
    base = _BASE.get(kind, kind)
    columns, wide, _ = WIDTHS[base]

    def lean(layout, given, m):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        r, turning, ghosts = levers(given.rows, given.motion)
        b = lines(turning.size + ghosts, wide)
        return kind(first, second, lines(m, columns), b, r), turning

    def full(layout, given, m):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        bodies = given.motion.velocity.shape[0]
        packed = kind(first, second, lines(m, columns), lines(bodies, wide))
        return packed, np.zeros(bodies, np.bool_)

    def lean_in_cell(layout, given, m):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        r, turning, ghosts = levers(given.rows, given.motion)
        b, c = lines(turning.size + ghosts, wide), lines(m, columns)
        cell, counts, x, beyond = about_cell(given, ghosts)
        u = given.motion.velocity
        return kind(first, second, c, b, r, cell, counts, x, given.q, u, given.s, beyond), turning

    def full_in_cell(layout, given, m):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        bodies = given.motion.velocity.shape[0]
        b, c = lines(bodies, wide), lines(m, columns)
        cell, counts, x, beyond = about_cell(given, 0)
        u = given.motion.velocity
        packed = kind(first, second, c, b, cell, counts, x, given.q, u, given.s, beyond)
        return packed, np.zeros(bodies, np.bool_)

    simple, other = (lean, full) if kind in WIDTHS else (lean_in_cell, full_in_cell)
    return simple if base in (Lean2D, Lean3D) else other


@jit
def about_cell(given, ghosts):
    """What is known of the cell, see `point.cell`."""
    rows, motion = given.rows, given.motion
    (m, dim), last = rows.normal.shape, motion.velocity.shape[0] - 1
    cell, counts = np.zeros((ROWS, dim + motion.spin.shape[1])), np.zeros(NUMBERS, np.int64)
    light, load = 0.0, 0.0
    for a in range(dim):
        light = max(light, motion.inv_mass[last, a])
    for a in range(motion.spin.shape[1]):
        light = max(light, motion.inv_inertia[last, a])
    for k in range(m if light > 0.0 else 0):
        i, j, square, inverse = rows.first[k], rows.second[k], 0.0, np.inf
        for a in range(dim):
            square += (rows.arm_first[k, a] - rows.arm_second[k, a]) ** 2
            own = motion.inv_mass[i, a] + motion.inv_mass[j, a]
            inverse = min(inverse, own if own > 0.0 else np.inf)
        if j < given.grains:
            load += light * square / inverse
    sweeps = min(SHARE * dim / load, LONGEST) if load > 0.0 else LONGEST
    counts[MOST] = max(int(sweeps * m), 1)
    x = np.zeros((last + 1 + ghosts, dim))
    for i in range(given.grains):
        for a in range(dim):
            x[i, a] = given.x[i, a]
    return cell, counts, x, np.zeros((1 + given.s.shape[0], dim))


# s of two grains that meet within the cell is zero, but for rounding, which is not kept. Else they
# are a period apart there, far more than l.
@jit
def far_last(given, x):
    """The order in which contacts are stored, those with an s last; and s of these, (f, dim)."""
    rows, (m, dim) = given.rows, given.rows.normal.shape
    s, stored, order, near = np.empty((m, dim)), np.empty(m, np.int32), np.empty(m, np.int32), 0
    for k in range(m):
        i, j, f = rows.first[k], rows.second[k], k - near
        felt, far, length, first, second = j < given.grains, 0.0, 0.0, 0.0, 0.0
        for a in range(dim):
            line = rows.arm_first[k, a] - rows.arm_second[k, a] + rows.gap[k] * rows.normal[k, a]
            s[f, a] = (line if felt else 0.0) - (x[j, a] - x[i, a])
            far, length = far + s[f, a] ** 2, length + line * line
            first, second = first + abs(x[i, a]), second + abs(x[j, a])
        within = felt and first > 0.0 and second > 0.0 and far < 0.25 * length
        if within or far == 0.0:
            stored[near] = k
            near += 1
        else:
            order[f] = k
    for f in range(m - near):
        stored[near + f] = order[f]
    return stored, s[: m - near].copy()


@jit
def in_space(given, stored):
    """A problem in a cell with velocities in space, c + L x, of all grains that can move freely.

    Also the order in which its contacts are stored, in place of any other.
    """
    motion, n = given.motion, given.grains
    (nb, dim), spin = motion.velocity.shape, motion.spin
    x, q = np.zeros((nb, dim)), np.zeros((n, dim))
    velocity, before = motion.velocity.copy(), motion.velocity_before.copy()
    free, was = gradient(velocity, spin), gradient(before, motion.spin_before)
    period = given.cell[0], given.cell[1], given.cell[2] if dim == 3 else 0.0
    tilt, last = tilts(given.cell, dim), dim - 1
    for i in range(n):
        inverse, alike = motion.inv_mass[i, 0], True
        for a in range(dim):
            alike &= motion.inv_mass[i, a] == inverse
        if not alike or inverse == 0.0:
            continue
        z = given.position[i, last] if dim == 3 else 0.0
        at = nearest(given.position[i, 0], given.position[i, 1], z, period, tilt)
        for a in range(dim):
            x[i, a], q[i, a] = at[a], at[a] / inverse
            for b in range(a, dim):
                velocity[i, a] += free[a, b] * at[b]
                before[i, a] += was[a, b] * at[b]
    stored, s = far_last(given, x)
    moving = Motion(velocity, spin, before, motion.spin_before, motion.inv_mass, motion.inv_inertia)
    laws, dt = given.laws, given.dt
    return GivenInSpace(given.rows, moving, laws, dt, given.remove_overlaps, n, x, q, s), stored


@jit
def pack(layout, given, order):
    """A packed problem that starts from the given impulses; row s holds contact ``order[s]``."""
    packed, turning = room(layout, given, order.size)
    fill(packed, order, given, turning)
    return packed


@jit
def levers(rows, motion):
    """Length r of the arms of each body (nb,), bodies that need ghosts (nb,), number of ghosts."""
    nb = motion.velocity.shape[0]
    r, turning = np.zeros(nb), np.zeros(nb, np.bool_)
    for i in range(nb):
        turning[i] = ghostly(motion, i)
    ghosts = 0
    for k in range(rows.first.size):
        r[rows.first[k]], r[rows.second[k]] = arm_lengths(rows, k)
        ghosts += turning[rows.second[k]]
    return r, turning, ghosts


@jit
def fill(p, order, given, turning):
    """Fill the rows of a packed problem and give its bodies the impulses it starts from.

    turning: whether contacts with a body as their second need ghosts, shape (nb,).
    """
    rows, motion, laws = given.rows, given.motion, given.laws
    dt, remove_overlaps = given.dt, given.remove_overlaps
    ghost = turning.size
    for i in range(turning.size):
        pack_body(p, i, motion)
    for s in range(order.size):
        k = order[s]
        p.first[s], p.second[s] = rows.first[k], rows.second[k]
        if turning[rows.second[k]]:
            p.second[s] = ghost
            ghost += 1
        pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps)
    for s in range(order.size):
        start(p, s)
    settle(p)


@jit
def read_out(p, order, velocity, spin, impulse, torque):
    """Read velocities, impulses and torque impulses out of a packed problem."""
    for i in range(velocity.shape[0]):
        unpack_body(p, i, velocity, spin)
    for s in range(order.size):
        unpack_contact(p, s, order[s], impulse, torque)
