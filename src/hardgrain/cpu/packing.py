"""Contact problems of a step as rows that sweeps read, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.kinds import pack_body, pack_contact, start, unpack_body, unpack_contact
from hardgrain.kernels import jit, scalar
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.given import Given
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D
from hardgrain.point.levers import make_levers

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_levers = make_levers(scalar)
ghostly, arm_lengths = _levers.ghostly, _levers.arm_lengths


def pack(given: Given, order: Ints, lean: bool) -> Any:
    """A packed problem that starts from the given impulses; row s holds contact ``order[s]``."""
    m, (bodies, dim) = order.size, given.motion.velocity.shape
    first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
    packed: Any
    if lean:
        r, turning, ghosts = levers(given.rows, given.motion)
        columns, body = (9, 5) if dim == 2 else (12, 8)
        rest = lines(m, columns), lines(bodies + ghosts, body), r
        packed = Lean2D(first, second, *rest) if dim == 2 else Lean3D(first, second, *rest)
    else:
        turning = np.zeros(bodies, np.bool_)
        columns, body = (20, 6) if dim == 2 else (50, 12)
        both = lines(m, columns), lines(bodies, body)
        packed = Full2D(first, second, *both) if dim == 2 else Full3D(first, second, *both)
    fill(packed, order, given, turning)
    return packed


def unpack(packed: Any, order: Ints, velocity: Floats, spin: Floats) -> tuple[Floats, Floats]:
    """Impulses and torque impulses of a relaxed problem; velocities and spins in place."""
    impulse = np.empty((order.size, velocity.shape[1]))
    torque = np.zeros((order.size, spin.shape[1]))
    read_out(packed, order, velocity, spin, impulse, torque)
    return impulse, torque


def lines(rows: int, columns: int) -> Floats:
    """Zeros that begin at a cache line, 64 bytes: a body of 8 numbers then lies in one."""
    size = 8 * rows * columns
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(np.float64).reshape(rows, columns)


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
    rows, motion, laws, dt, remove_overlaps = given
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
