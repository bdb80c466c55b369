"""Packing of full problems under its former name; see `hardgrain.cpu.packing`."""

from __future__ import annotations

import numpy as np

from hardgrain.cpu.packing import fill, read_out
from hardgrain.kernels import jit
from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.given import Given

__all__ = ["Full2D", "Full3D", "pack_2d", "pack_3d", "unpack_2d", "unpack_3d"]


@jit
def pack_2d(order, rows, motion, laws, dt, remove_overlaps):
    """Fill the rows of a `Full2D` and start it from the given impulses; row s: ``order[s]``."""
    m, nb = order.size, motion.velocity.shape[0]
    first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
    p = Full2D(first, second, np.empty((m, 20)), np.empty((nb, 6)))
    fill(p, order, Given(rows, motion, laws, dt, remove_overlaps), np.zeros(nb, np.bool_))
    return p


@jit
def unpack_2d(p, order, velocity, spin):
    """Velocities, impulses and torque impulses of a relaxed `Full2D`; velocities in place."""
    impulse, torque = np.empty((order.size, 2)), np.empty((order.size, 1))
    read_out(p, order, velocity, spin, impulse, torque)
    return impulse, torque


@jit
def pack_3d(order, rows, motion, laws, dt, remove_overlaps):
    """Fill the rows of a `Full3D` and start it from the given impulses; row s: ``order[s]``."""
    m, nb = order.size, motion.velocity.shape[0]
    first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
    p = Full3D(first, second, np.empty((m, 50)), np.empty((nb, 12)))
    fill(p, order, Given(rows, motion, laws, dt, remove_overlaps), np.zeros(nb, np.bool_))
    return p


@jit
def unpack_3d(p, order, velocity, spin):
    """Velocities, impulses and torque impulses of a relaxed `Full3D`; velocities in place."""
    impulse, torque = np.empty((order.size, 3)), np.empty((order.size, 3))
    read_out(p, order, velocity, spin, impulse, torque)
    return impulse, torque
