"""Packing of lean problems under its former name; see `hardgrain.cpu.packing`."""

from __future__ import annotations

import numpy as np

from hardgrain.cpu.packing import fill, levers, read_out
from hardgrain.kernels import jit
from hardgrain.point.given import Given
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D

__all__ = ["Lean2D", "Lean3D", "levers", "pack_2d", "pack_3d", "unpack_2d", "unpack_3d"]


@jit
def pack_2d(b, r, order, rows, motion, laws, dt, remove_overlaps, ghostly):
    """Fill the rows of a `Lean2D` and start it from the given impulses."""
    m = order.size
    p = Lean2D(np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty((m, 9)), b, r)
    fill(p, order, Given(rows, motion, laws, dt, remove_overlaps), ghostly)
    return p


@jit
def unpack_2d(p, r, order, velocity, spin):
    """Velocities and impulses of a relaxed `Lean2D`; spins and velocities are written in place."""
    impulse, torque = np.empty((order.size, 2)), np.empty((0, 0))
    read_out(p, order, velocity, spin, impulse, torque)
    return impulse


@jit
def pack_3d(b, r, order, rows, motion, laws, dt, remove_overlaps, ghostly):
    """Fill the rows of a `Lean3D` and start it from the given impulses."""
    m = order.size
    p = Lean3D(np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty((m, 12)), b, r)
    fill(p, order, Given(rows, motion, laws, dt, remove_overlaps), ghostly)
    return p


@jit
def unpack_3d(p, r, order, velocity, spin):
    """Velocities and impulses of a relaxed `Lean3D`; spins and velocities are written in place."""
    impulse, torque = np.empty((order.size, 3)), np.empty((0, 0))
    read_out(p, order, velocity, spin, impulse, torque)
    return impulse
