"""A periodic cell that deforms, in the explicit steps of soft particles, compiled.

The equations are those of `step.cell_loads`, the scheme is that of `step.soft_particles`: all
forces are taken at the old places and velocities, then

    c ← c + dt (F/m − L c),    L ← L + dt W⁻¹ (Σ f ⊗ l + Σ m c ⊗ c − V σ),
    x ← x + dt (c + L x),      h ← h + dt L h,

so that two grains come as near as L l and their velocities say, across images too. Springs alone,
with a cell that may move freely, are still symplectic Euler: L is the velocity of a coordinate in
which the branch l is linear.

A row of six numbers is an upper triangle here, also in 2D: xx, yy, zz, yz, xz, xy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.cell import make_images, make_triangles
from hardgrain.cpu.cell import reduce_tilts
from hardgrain.kernels import device, jit

nearest_image = make_images(device).nearest
_triangles = make_triangles(device)
times, add_dyad = _triangles.times_3d, _triangles.add_dyad_3d


class DeformingCell(NamedTuple):
    """The cell in a step; what it is pressed with, and how the pair list bears its motion."""

    matrix: np.ndarray  # (6,) h with all of its tilt [length]
    near: np.ndarray  # (6,) the same lattice with tilts of at most half a period
    stress: np.ndarray  # (6,) that is put on it, zero where its rate is given
    load: np.ndarray  # (n, 3) external forces on the grains
    mass: np.ndarray  # (n,)
    between: np.ndarray  # (k, 3) wall, wall and axis, along each axis that is not periodic
    strain: np.ndarray  # (6,) F − 1, with F the deformation since the pair list was made
    room: np.ndarray  # (n,) how far grains may go from where F takes them [length]
    extent: np.ndarray  # (n,) radius of a grain, with the room that the list gave it [length]


@jit
def load_cell(b, walls, cell):
    """Write the loads of grains and of the cell, the last body, where these are now."""
    v, load, last = b.v, b.load, b.x.shape[0] - 1
    xx = yy = zz = yz = xz = xy = 0.0
    for i in range(b.radius.size):
        m, x, y, z = cell.mass[i], v[i, 0], v[i, 1], v[i, 2]
        ax, ay, az = times(v, last, x, y, z)
        load[i, 0] = cell.load[i, 0] - m * ax
        load[i, 1] = cell.load[i, 1] - m * ay
        load[i, 2] = cell.load[i, 2] - m * az
        xx, yy, zz = xx + m * x * x, yy + m * y * y, zz + m * z * z
        yz, xz, xy = yz + m * y * z, xz + m * x * z, xy + m * x * y
    load[last, 0], load[last, 1], load[last, 2] = xx, yy, zz
    load[last, 3], load[last, 4], load[last, 5] = yz, xz, xy
    volume = 1.0
    for a in range(3):
        if cell.matrix[a] > 0.0:
            volume *= cell.matrix[a]
    for k in range(cell.between.shape[0]):
        low, high, axis = cell.between[k, 0], cell.between[k, 1], cell.between[k, 2]
        volume *= abs(walls.point[high, axis] - walls.point[low, axis])
    for a in range(6):
        load[last, a] -= volume * cell.stress[a]


# Two grains that were r apart when the list was made are F r apart by the cell's motion alone, and
# |F r| ≥ r·F r/|r| ≥ (1 − lost) |r|, with lost the norm of the symmetric part of F − 1. So each has
# travelled the way that it took beyond F, and lost times its radius and room.
@jit
def lost_by(strain):
    """The largest share of a distance that a deformation may take away."""
    shear = strain[3] ** 2 + strain[4] ** 2 + strain[5] ** 2
    return math.sqrt(strain[0] ** 2 + strain[1] ** 2 + strain[2] ** 2 + 0.5 * shear)


@jit
def deform(b, cell, dt):
    """Let the cell carry along the grains, which have moved by dt c; h ← h + dt L h.

    Returns whether the pair list is still good for the new places.
    """
    v, x, origin, last = b.v, b.x, b.origin, b.x.shape[0] - 1
    for row, one in ((cell.matrix, 0.0), (cell.strain, 1.0)):
        a, c, d = row[0] + one, row[1] + one, row[2] + one
        yz, xz, xy = row[3], row[4], row[5]
        row[0] += dt * v[last, 0] * a
        row[1] += dt * v[last, 1] * c
        row[2] += dt * v[last, 2] * d
        row[3] += dt * (v[last, 1] * yz + v[last, 3] * d)
        row[4] += dt * (v[last, 0] * xz + v[last, 5] * yz + v[last, 4] * d)
        row[5] += dt * (v[last, 0] * xy + v[last, 5] * c)
    reduce_tilts(cell.matrix, cell.near)
    b.turned[last, :] = 0.0
    lost, good = lost_by(cell.strain), True
    for i in range(b.radius.size):
        ax, ay, az = times(
            v, last, x[i, 0] - dt * v[i, 0], x[i, 1] - dt * v[i, 1], x[i, 2] - dt * v[i, 2]
        )
        x[i, 0], x[i, 1], x[i, 2] = x[i, 0] + dt * ax, x[i, 1] + dt * ay, x[i, 2] + dt * az
        ax, ay, az = times(v, last, origin[i, 0], origin[i, 1], origin[i, 2])
        origin[i, 0], origin[i, 1] = origin[i, 0] + dt * ax, origin[i, 1] + dt * ay
        origin[i, 2] += dt * az
        way = 0.0
        for a in range(3):
            way += (x[i, a] - origin[i, a]) ** 2
        room = cell.room[i] - lost * cell.extent[i]
        good = good and room >= 0.0 and way <= room * room
    return good
