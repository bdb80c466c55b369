"""Contacts whose inertia is diagonal: disks, spheres and walls with plain laws. The fast path.

A contact of round bodies has W = diag(1/m_n, 1/m_t) (eqs 17–19), so one update costs a few dozen
operations. Two choices keep them few:

- a body carries its surface speed ψ = r ω in place of the spin, where r is the length of its arms,
  which lie along the normals. The arms are r_i n and −r_j n, so the contact velocity is
  v_j − v_i − (ψ_i + ψ_j) × n, with no length in it, and the impulse changes ψ by −k n × P with
  k = r²/I for either body;
- all of a contact lies in one row of ``c``, all of a body in one row of ``b``.

A body that turns and that nothing can push, such as a drum, may have arms of any length and
direction. Each of its contacts gets a body of its own, a *ghost*, that moves like the contact
point. A piston moves along its normal only: its share ``TJ`` of the tangential impulse is zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import LOCKED
from hardgrain.law.friction import make_friction
from hardgrain.law.shock import make_shock

push = make_shock(device).push
_friction = make_friction(device)
stick_or_slide, stick_or_slide_share = _friction.stick_or_slide, _friction.stick_or_slide_share
_contact = make_contact(device)
normal_shift, friction = _contact.normal_shift, _contact.friction


class Lean2D(NamedTuple):
    """Packed contact problem in 2D; unsigned indices spare the kernels a test for negative ones."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 9): nx ny  P_n P_t  bias m_n m_t µ  share of second
    b: np.ndarray  # (bodies + ghosts, 5): v_x v_y ψ  1/m k


class Lean3D(NamedTuple):
    """Packed contact problem in 3D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 12): n  P_n P_t  bias m_n m_t µ  share of second
    b: np.ndarray  # (bodies + ghosts, 8): v ψ  1/m k


# columns in 2D: contacts, then bodies
NX, NY, PN, PT, BIAS, MN, MT, MU, TJ = range(9)
PSI, IM, K = 2, 3, 4


@device
def update_2d(p, k):
    i, j = p.first[k], p.second[k]
    nx, ny = p.c[k, NX], p.c[k, NY]
    dx, dy = p.b[j, 0] - p.b[i, 0], p.b[j, 1] - p.b[i, 1]
    u_n = nx * dx + ny * dy
    u_t = nx * dy - ny * dx - (p.b[i, PSI] + p.b[j, PSI])
    p_n = push(p.c[k, PN], p.c[k, MN], u_n, p.c[k, BIAS])
    limit = p.c[k, MU] * p_n
    p_t = stick_or_slide(p.c[k, PT] - p.c[k, MT] * u_t, limit, limit)
    return p_n, p_t


@device
def apply_2d(p, k, d_n, d_t):
    i, j = p.first[k], p.second[k]
    nx, ny = p.c[k, NX], p.c[k, NY]
    mi, mj = p.b[i, IM], p.b[j, IM]
    p.b[i, 0] -= mi * (d_n * nx - d_t * ny)
    p.b[i, 1] -= mi * (d_n * ny + d_t * nx)
    p.b[i, PSI] -= p.b[i, K] * d_t
    s_t = p.c[k, TJ] * d_t
    p.b[j, 0] += mj * (d_n * nx - s_t * ny)
    p.b[j, 1] += mj * (d_n * ny + s_t * nx)
    p.b[j, PSI] -= p.b[j, K] * d_t


@device
def relax_contact_2d(p, k):
    """One contact update: find the impulse its law asks for, and give it to the two bodies."""
    p_n, p_t = update_2d(p, k)
    d_n, d_t = p_n - p.c[k, PN], p_t - p.c[k, PT]
    p.c[k, PN], p.c[k, PT] = p_n, p_t
    apply_2d(p, k, d_n, d_t)


@device
def wanted_2d(p, k):
    """The impulse that the law would have now, padded to seven components."""
    p_n, p_t = update_2d(p, k)
    return p_n, p_t, 0.0, 0.0, 0.0, 0.0, 0.0


@device
def present_2d(p, k):
    return p.c[k, PN], p.c[k, PT], 0.0, 0.0, 0.0, 0.0, 0.0


@device
def set_impulse_2d(p, k, q):
    d_n, d_t = q[0] - p.c[k, PN], q[1] - p.c[k, PT]
    p.c[k, PN], p.c[k, PT] = q[0], q[1]
    apply_2d(p, k, d_n, d_t)


@device
def speed_squared_2d(p, k, q):
    """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
    if p.c[k, MN] == 0.0:
        return 0.0
    a, b = q[0] / p.c[k, MN], q[1] / p.c[k, MT]
    return a * a + b * b


@jit
def levers(rows, motion):
    """Length r of the arms of each body (nb,), bodies that need ghosts (nb,), number of ghosts."""
    nb, dim = motion.velocity.shape
    r, ghostly = np.zeros(nb), np.zeros(nb, np.bool_)
    for i in range(nb):
        turns, held = False, True
        for a in range(dim):
            held &= motion.inv_mass[i, a] == 0.0
        for a in range(motion.spin.shape[1]):
            turns |= motion.spin[i, a] != 0.0
            held &= motion.inv_inertia[i, a] == 0.0
        ghostly[i] = turns and held
    ghosts = 0
    for k in range(rows.first.size):
        along_first, along_second = 0.0, 0.0
        for a in range(dim):
            along_first += rows.normal[k, a] * rows.arm_first[k, a]
            along_second -= rows.normal[k, a] * rows.arm_second[k, a]
        r[rows.first[k]], r[rows.second[k]] = along_first, along_second
        ghosts += ghostly[rows.second[k]]
    return r, ghostly, ghosts


@jit
def pack_2d(b, r, order, rows, motion, laws, dt, remove_overlaps, ghostly):
    """Fill the rows of a `Lean2D` and start it from the given impulses.

    b: zeros, a row for every body and for every contact with a ``ghostly`` one; r: see `levers`.
    Row s holds contact ``order[s]``.
    """
    normal, gap, impulse = rows.normal, rows.gap, rows.impulse
    velocity, spin, before = motion.velocity, motion.spin, motion.velocity_before
    m, nb = rows.first.size, velocity.shape[0]
    for i in range(nb):
        b[i, 0], b[i, 1] = velocity[i, 0], velocity[i, 1]
        b[i, IM] = max(motion.inv_mass[i, 0], motion.inv_mass[i, 1])
        b[i, PSI] = r[i] * spin[i, 0]
        b[i, K] = r[i] ** 2 * motion.inv_inertia[i, 0]
    c = np.empty((m, 9))
    p = Lean2D(np.empty(m, np.uint32), np.empty(m, np.uint32), c, b)
    ghost = nb
    for s in range(m):
        k = order[s]
        i, j = rows.first[k], rows.second[k]
        p.first[s], p.second[s] = i, j
        nx, ny = normal[k, 0], normal[k, 1]
        law = laws[rows.law[k]]
        vx, vy = before[j, 0], before[j, 1]
        if ghostly[j]:
            vx -= spin[j, 0] * rows.arm_second[k, 1]
            vy += spin[j, 0] * rows.arm_second[k, 0]
            b[ghost, 0], b[ghost, 1] = vx, vy
            p.second[s] = ghost
            ghost += 1
        free_n = nx * (b[p.second[s], 0] - b[i, 0]) + ny * (b[p.second[s], 1] - b[i, 1])
        before_n = nx * (vx - before[i, 0]) + ny * (vy - before[i, 1])
        c[s, NX], c[s, NY] = nx, ny
        c[s, BIAS] = normal_shift(law, gap[k], free_n, before_n, dt, remove_overlaps)
        c[s, TJ] = 1.0 if motion.inv_mass[j, 0] == motion.inv_mass[j, 1] else 0.0
        w_n = b[i, IM] + b[j, IM]
        w_t = max(b[i, IM] + c[s, TJ] * b[j, IM] + b[i, K] + b[j, K], LOCKED * w_n)
        c[s, MN] = 1.0 / w_n if w_n > 0.0 else 0.0
        c[s, MT] = 1.0 / w_t if w_n > 0.0 else 0.0
        c[s, MU] = friction(law)[1]
        c[s, PN] = max(impulse[k, 0] * nx + impulse[k, 1] * ny, 0.0)
        c[s, PT] = impulse[k, 1] * nx - impulse[k, 0] * ny
    for s in range(m):
        apply_2d(p, s, c[s, PN], c[s, PT])
    return p


@jit
def unpack_2d(p, r, order, velocity, spin):
    """Velocities and impulses of a relaxed `Lean2D`; spins and velocities are written in place."""
    for i in range(velocity.shape[0]):
        velocity[i, 0], velocity[i, 1] = p.b[i, 0], p.b[i, 1]
        if p.b[i, K] > 0.0:
            spin[i, 0] = p.b[i, PSI] / r[i]
    impulse = np.empty((order.size, 2))
    for s in range(order.size):
        k, nx, ny = order[s], p.c[s, NX], p.c[s, NY]
        impulse[k, 0] = p.c[s, PN] * nx - p.c[s, PT] * ny
        impulse[k, 1] = p.c[s, PN] * ny + p.c[s, PT] * nx
    return impulse


# columns in 3D: contacts, then bodies
NX3, NY3, NZ3, PN3, PX3, PY3, PZ3, BIAS3, MN3, MT3, MU3, TJ3 = range(12)
IM3, K3 = 6, 7


@device
def update_3d(p, k):
    i, j = p.first[k], p.second[k]
    nx, ny, nz = p.c[k, NX3], p.c[k, NY3], p.c[k, NZ3]
    sx, sy, sz = p.b[i, 3] + p.b[j, 3], p.b[i, 4] + p.b[j, 4], p.b[i, 5] + p.b[j, 5]
    dx = p.b[j, 0] - p.b[i, 0] - (sy * nz - sz * ny)
    dy = p.b[j, 1] - p.b[i, 1] - (sz * nx - sx * nz)
    dz = p.b[j, 2] - p.b[i, 2] - (sx * ny - sy * nx)
    u_n = nx * dx + ny * dy + nz * dz
    p_n = push(p.c[k, PN3], p.c[k, MN3], u_n, p.c[k, BIAS3])
    mt = p.c[k, MT3]
    qx = p.c[k, PX3] - mt * (dx - u_n * nx)
    qy = p.c[k, PY3] - mt * (dy - u_n * ny)
    qz = p.c[k, PZ3] - mt * (dz - u_n * nz)
    limit = p.c[k, MU3] * p_n
    f = stick_or_slide_share(qx * qx + qy * qy + qz * qz, limit, limit)
    return p_n, f * qx, f * qy, f * qz


@device
def apply_3d(p, k, d_n, tx, ty, tz):
    i, j = p.first[k], p.second[k]
    nx, ny, nz = p.c[k, NX3], p.c[k, NY3], p.c[k, NZ3]
    rx, ry, rz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx  # n × P
    mi, ki = p.b[i, IM3], p.b[i, K3]
    p.b[i, 0] -= mi * (d_n * nx + tx)
    p.b[i, 1] -= mi * (d_n * ny + ty)
    p.b[i, 2] -= mi * (d_n * nz + tz)
    p.b[i, 3] -= ki * rx
    p.b[i, 4] -= ki * ry
    p.b[i, 5] -= ki * rz
    mj, kj, share = p.b[j, IM3], p.b[j, K3], p.c[k, TJ3]
    p.b[j, 0] += mj * (d_n * nx + share * tx)
    p.b[j, 1] += mj * (d_n * ny + share * ty)
    p.b[j, 2] += mj * (d_n * nz + share * tz)
    p.b[j, 3] -= kj * rx
    p.b[j, 4] -= kj * ry
    p.b[j, 5] -= kj * rz


@device
def relax_contact_3d(p, k):
    """One contact update: find the impulse its law asks for, and give it to the two bodies."""
    p_n, px, py, pz = update_3d(p, k)
    d_n, dx = p_n - p.c[k, PN3], px - p.c[k, PX3]
    dy, dz = py - p.c[k, PY3], pz - p.c[k, PZ3]
    p.c[k, PN3], p.c[k, PX3], p.c[k, PY3], p.c[k, PZ3] = p_n, px, py, pz
    apply_3d(p, k, d_n, dx, dy, dz)


@device
def wanted_3d(p, k):
    p_n, px, py, pz = update_3d(p, k)
    return p_n, px, py, pz, 0.0, 0.0, 0.0


@device
def present_3d(p, k):
    return p.c[k, PN3], p.c[k, PX3], p.c[k, PY3], p.c[k, PZ3], 0.0, 0.0, 0.0


@device
def set_impulse_3d(p, k, q):
    d_n, dx = q[0] - p.c[k, PN3], q[1] - p.c[k, PX3]
    dy, dz = q[2] - p.c[k, PY3], q[3] - p.c[k, PZ3]
    p.c[k, PN3], p.c[k, PX3], p.c[k, PY3], p.c[k, PZ3] = q[0], q[1], q[2], q[3]
    apply_3d(p, k, d_n, dx, dy, dz)


@device
def speed_squared_3d(p, k, q):
    if p.c[k, MN3] == 0.0:
        return 0.0
    t = 1.0 / p.c[k, MT3]
    a = q[0] / p.c[k, MN3]
    return a * a + t * t * (q[1] * q[1] + q[2] * q[2] + q[3] * q[3])


@jit
def pack_3d(b, r, order, rows, motion, laws, dt, remove_overlaps, ghostly):
    """Fill the rows of a `Lean3D` and start it from the given impulses; see `pack_2d`."""
    normal, gap, impulse = rows.normal, rows.gap, rows.impulse
    velocity, spin, before = motion.velocity, motion.spin, motion.velocity_before
    m, nb = rows.first.size, velocity.shape[0]
    for i in range(nb):
        for a in range(3):
            b[i, a], b[i, 3 + a] = velocity[i, a], r[i] * spin[i, a]
            b[i, IM3] = max(b[i, IM3], motion.inv_mass[i, a])
        b[i, K3] = r[i] ** 2 * motion.inv_inertia[i, 0]
    c = np.empty((m, 12))
    p = Lean3D(np.empty(m, np.uint32), np.empty(m, np.uint32), c, b)
    ghost = nb
    v = np.empty(3)
    for s in range(m):
        k = order[s]
        i, j = rows.first[k], rows.second[k]
        p.first[s], p.second[s] = i, j
        law = laws[rows.law[k]]
        for a in range(3):
            v[a] = before[j, a]
        if ghostly[j]:
            lx, ly, lz = rows.arm_second[k, 0], rows.arm_second[k, 1], rows.arm_second[k, 2]
            v[0] += spin[j, 1] * lz - spin[j, 2] * ly
            v[1] += spin[j, 2] * lx - spin[j, 0] * lz
            v[2] += spin[j, 0] * ly - spin[j, 1] * lx
            for a in range(3):
                b[ghost, a] = v[a]
            p.second[s] = ghost
            ghost += 1
        free_n = 0.0
        before_n = 0.0
        p_n = 0.0
        free = 1.0
        for a in range(3):
            c[s, NX3 + a] = normal[k, a]
            free_n += normal[k, a] * (b[p.second[s], a] - b[i, a])
            before_n += normal[k, a] * (v[a] - before[i, a])
            p_n += normal[k, a] * impulse[k, a]
            if motion.inv_mass[j, a] != motion.inv_mass[j, 0]:
                free = 0.0
        c[s, BIAS3] = normal_shift(law, gap[k], free_n, before_n, dt, remove_overlaps)
        c[s, TJ3] = free
        w_n = b[i, IM3] + b[j, IM3]
        w_t = max(b[i, IM3] + c[s, TJ3] * b[j, IM3] + b[i, K3] + b[j, K3], LOCKED * w_n)
        c[s, MN3] = 1.0 / w_n if w_n > 0.0 else 0.0
        c[s, MT3] = 1.0 / w_t if w_n > 0.0 else 0.0
        c[s, MU3] = friction(law)[1]
        c[s, PN3] = max(p_n, 0.0)
        for a in range(3):
            c[s, PX3 + a] = impulse[k, a] - p_n * normal[k, a]
    for s in range(m):
        apply_3d(p, s, c[s, PN3], c[s, PX3], c[s, PY3], c[s, PZ3])
    return p


@jit
def unpack_3d(p, r, order, velocity, spin):
    """Velocities and impulses of a relaxed `Lean3D`; spins and velocities are written in place."""
    for i in range(velocity.shape[0]):
        for a in range(3):
            velocity[i, a] = p.b[i, a]
            if p.b[i, K3] > 0.0:
                spin[i, a] = p.b[i, 3 + a] / r[i]
    impulse = np.empty((order.size, 3))
    for s in range(order.size):
        for a in range(3):
            impulse[order[s], a] = p.c[s, PN3] * p.c[s, NX3 + a] + p.c[s, PX3 + a]
    return impulse
