"""The rows of one contact of a step as matrices (`solve.assembly`): how its velocities follow.

A contact has a row for each of its axes, the normal first. Where a law resists relative spins, it
has rows for these too, behind the others: 2D one, for rolling; 3D three, for torsion and rolling,
along the same axes. They are multiplied by the lever ℓ of the contact (`point.row`). A torque T is
then the impulse T/ℓ, limited to µ_r r_N as friction is limited to µ r_N.
"""

from __future__ import annotations

from hardgrain.kernels import scalar
from hardgrain.law.coupled import BLOCKED
from hardgrain.point.frame import make_frame

__all__ = ["can_push", "cell_rows", "contact_axes", "contact_rows", "spin_rows"]

_frame = make_frame(scalar)
cross, tangent = _frame.cross, _frame.tangent


@scalar
def contact_axes(normal, k, axis):
    """Write the unit vectors of contact k into axis (3, 3): the normal and two tangents.

    In 2D vectors have a third component zero, and the third axis is that of rotations.
    """
    dim = normal.shape[1]
    nx, ny = normal[k, 0], normal[k, 1]
    nz = normal[k, 2] if dim == 3 else 0.0
    tx, ty, tz = -ny, nx, 0.0
    if dim == 3:
        tx, ty, tz = tangent(nx, ny, nz)
    sx, sy, sz = cross(nx, ny, nz, tx, ty, tz)
    axis[0, 0], axis[0, 1], axis[0, 2] = nx, ny, nz
    axis[1, 0], axis[1, 1], axis[1, 2] = tx, ty, tz
    axis[2, 0], axis[2, 1], axis[2, 2] = sx, sy, sz


@scalar
def contact_rows(arm_first, arm_second, k, axis, part):
    """Write the rows of contact k over all components of its first, then of its second body.

    A contact velocity along e is e·(v_j − v_i) + (l_j × e)·ω_j − (l_i × e)·ω_i, with arms l. In 2D
    only the third component of a spin is there.
    """
    dim = arm_first.shape[1]
    size = 3 * dim - 3
    ix, iy, iz = arm_first[k, 0], arm_first[k, 1], 0.0
    jx, jy, jz = arm_second[k, 0], arm_second[k, 1], 0.0
    if dim == 3:
        iz, jz = arm_first[k, 2], arm_second[k, 2]
    for e in range(dim):
        for a in range(dim):
            part[e, a], part[e, size + a] = -axis[e, a], axis[e, a]
        ax, ay, az = cross(ix, iy, iz, axis[e, 0], axis[e, 1], axis[e, 2])
        bx, by, bz = cross(jx, jy, jz, axis[e, 0], axis[e, 1], axis[e, 2])
        if dim == 3:
            part[e, 3], part[e, 4], part[e, 5] = -ax, -ay, -az
            part[e, 9], part[e, 10], part[e, 11] = bx, by, bz
        else:
            part[e, 2], part[e, 5] = -az, bz


@scalar
def spin_rows(roll, axis, part):
    """Write the rows behind those of `contact_rows`: ℓ a·(ω_j − ω_i), with axes a and a lever ℓ."""
    dim = 2 if part.shape[1] == 9 else 3
    size = 3 * dim - 3
    for e in range(2 * dim - 3):
        part[dim + e] = 0.0
        for a in range(2 * dim - 3):
            x = roll if dim == 2 else roll * axis[e, a]
            part[dim + e, dim + a], part[dim + e, size + dim + a] = -x, x


@scalar
def cell_rows(points, k, axis, part):
    """Write the rows of contact k over all components of the cell, which follow the two bodies'.

    A contact velocity along e has the part e·L l, with l the line from centre to centre. Component
    ab of L is the one of number a if a = b, and dim + ns − a − b otherwise (`core.cell`).
    """
    dim = points.normal.shape[1]
    size = 3 * dim - 3
    for b in range(dim):
        line = points.arm_first[k, b] - points.arm_second[k, b]
        line += points.gap[k] * points.normal[k, b]
        for a in range(b + 1):
            c = a if a == b else size - a - b
            for e in range(dim):
                part[e, 2 * size + c] = axis[e, a] * line


@scalar
def can_push(part, inverse, i, j):
    """Whether an impulse along the normal moves the bodies i and j: W_NN against the other W."""
    size = inverse.shape[1]
    w_nn, w_tt = 0.0, 0.0
    for e in range(2 if size == 3 else 3):
        s = 0.0
        for a in range(size):
            s += inverse[i, a] * part[e, a] * part[e, a]
        for a in range(size):
            s += inverse[j, a] * part[e, size + a] * part[e, size + a]
        if e == 0:
            w_nn = s
        else:
            w_tt += s
    return w_nn > BLOCKED * w_tt
