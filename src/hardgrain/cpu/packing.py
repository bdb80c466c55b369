"""Contact problems of a step as rows that sweeps read, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.kinds import pack_body, pack_contact, start, unpack_body, unpack_contact
from hardgrain.kernels import jit, overload, scalar
from hardgrain.point.cell import (
    CELLED,
    COUNTS,
    GRAINS,
    KIND_OF,
    LONGEST,
    MORE,
    MOST,
    SHARE,
)
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D
from hardgrain.point.levers import make_levers
from hardgrain.point.widths import WIDTHS

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_levers = make_levers(scalar)
ghostly, arm_lengths = _levers.ghostly, _levers.arm_lengths


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
LAYOUTS_IN_CELL = {
    (lean, dim): _empty(CELLED[kind], *[np.zeros(0)] * lean, np.zeros((0, 1)))
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
    if kind is not base:
        columns += MORE[base]

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
        return kind(first, second, c, b, r, about_cell(given)), turning

    def full_in_cell(layout, given, m):
        first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
        bodies = given.motion.velocity.shape[0]
        b, c = lines(bodies, wide), lines(m, columns)
        return kind(first, second, c, b, about_cell(given)), np.zeros(bodies, np.bool_)

    simple, other = (lean, full) if kind in WIDTHS else (lean_in_cell, full_in_cell)
    return simple if base in (Lean2D, Lean3D) else other


@jit
def about_cell(given):
    """Room for what is known of the cell, and after how many contacts it moves."""
    rows, motion, grains = given.rows, given.motion, given.grains
    dim, last = rows.normal.shape[1], motion.velocity.shape[0] - 1
    cell = np.zeros((COUNTS + 1, dim + motion.spin.shape[1]))
    light, longest, heavy = 0.0, 0.0, np.inf
    for a in range(dim):
        light = max(light, motion.inv_mass[last, a])
    for a in range(motion.spin.shape[1]):
        light = max(light, motion.inv_inertia[last, a])
    for i in range(grains):
        for a in range(dim):
            if motion.inv_mass[i, a] > 0.0:
                heavy = min(heavy, motion.inv_mass[i, a])
    for k in range(rows.first.size):
        square = 0.0
        for a in range(dim):
            square += (rows.arm_first[k, a] - rows.arm_second[k, a]) ** 2
        if rows.second[k] < grains:
            longest = max(longest, square)
    through = light * longest
    most = SHARE * heavy / through if through > 0.0 else np.inf
    cell[COUNTS, MOST] = min(max(most, 1.0), LONGEST)
    cell[COUNTS, GRAINS] = grains
    return cell


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


@jit
def read_out(p, order, velocity, spin, impulse, torque):
    """Read velocities, impulses and torque impulses out of a packed problem."""
    for i in range(velocity.shape[0]):
        unpack_body(p, i, velocity, spin)
    for s in range(order.size):
        unpack_contact(p, s, order[s], impulse, torque)
