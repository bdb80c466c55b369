"""Contacts with a full effective-mass matrix and every law: locked axes, free walls, rolling, ….

A contact lives in its own frame, the normal n and the tangents (t in 2D, t and s = n × t in 3D).
For each body and direction e the row holds the lever l × e, so that the contact velocity is
e·(v_j − v_i) + (l_j × e)·ω_j − (l_i × e)·ω_i and an impulse along e turns the body by I⁻¹ (l × e).
W = H^T M⁻¹ H (eq. 15) follows from the same levers.

The biases shift the velocity on which the law acts: the gap speed and the rebounds. Rolling and
torsion impulses follow the fresh normal impulse, with the largest inverse inertia as their scale:
the fixed point does not depend on it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import make_coupled
from hardgrain.law.rolling import make_rolling

_contact = make_contact(device)
normal_shift, tangent_shift = _contact.normal_shift, _contact.tangent_shift
friction, cohesion, resistance = _contact.friction, _contact.cohesion, _contact.resistance
_coupled = make_coupled(device)
coupled_2d, coupled_3d = _coupled.coupled_2d, _coupled.coupled_3d
_rolling = make_rolling(device)
resist, resist_3d = _rolling.resist, _rolling.resist_3d


class Full2D(NamedTuple):
    """Packed contact problem in 2D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 20): see the columns below
    b: np.ndarray  # (bodies, 6): v_x v_y ω  1/m_x 1/m_y 1/I


class Full3D(NamedTuple):
    """Packed contact problem in 3D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 50): see the columns below
    b: np.ndarray  # (bodies, 12): v ω  1/m (3) 1/I (3)


# 2D: normal, impulses, levers of first and second along n and t, W, biases, laws
NX, NY, PN, PT, LR, A1N, A1T, A2N, A2T = range(9)
WNN, WNT, WTT, BN, BT, MUS, MUD, COH, ROLL, ARM, MR = range(9, 20)


@device
def velocity_2d(p, k):
    i, j = p.first[k], p.second[k]
    nx, ny = p.c[k, NX], p.c[k, NY]
    dx, dy = p.b[j, 0] - p.b[i, 0], p.b[j, 1] - p.b[i, 1]
    wi, wj = p.b[i, 2], p.b[j, 2]
    u_n = nx * dx + ny * dy + p.c[k, A2N] * wj - p.c[k, A1N] * wi
    u_t = nx * dy - ny * dx + p.c[k, A2T] * wj - p.c[k, A1T] * wi
    return u_n, u_t


@device
def wanted_2d(p, k):
    u_n, u_t = velocity_2d(p, k)
    w_nn, w_nt, w_tt = p.c[k, WNN], p.c[k, WNT], p.c[k, WTT]
    q_n, q_t = p.c[k, PN], p.c[k, PT]
    u_n += p.c[k, BN] - w_nn * q_n - w_nt * q_t
    u_t += p.c[k, BT] - w_nt * q_n - w_tt * q_t
    pull = p.c[k, COH]
    p_n, p_t = coupled_2d(u_n, u_t, w_nn, w_nt, w_tt, p.c[k, MUS], p.c[k, MUD], pull)
    spin = p.b[p.second[k], 2] - p.b[p.first[k], 2]
    torque = resist(p.c[k, LR], p.c[k, MR], spin, p.c[k, ROLL] * (p_n + pull))
    return p_n, p_t, torque, 0.0, 0.0, 0.0, 0.0


@device
def present_2d(p, k):
    return p.c[k, PN], p.c[k, PT], p.c[k, LR], 0.0, 0.0, 0.0, 0.0


@device
def apply_2d(p, k, d_n, d_t, d_r):
    i, j = p.first[k], p.second[k]
    nx, ny = p.c[k, NX], p.c[k, NY]
    px, py = d_n * nx - d_t * ny, d_n * ny + d_t * nx
    p.b[i, 0] -= p.b[i, 3] * px
    p.b[i, 1] -= p.b[i, 4] * py
    p.b[i, 2] -= p.b[i, 5] * (p.c[k, A1N] * d_n + p.c[k, A1T] * d_t + d_r)
    p.b[j, 0] += p.b[j, 3] * px
    p.b[j, 1] += p.b[j, 4] * py
    p.b[j, 2] += p.b[j, 5] * (p.c[k, A2N] * d_n + p.c[k, A2T] * d_t + d_r)


@device
def set_impulse_2d(p, k, q):
    d_n, d_t, d_r = q[0] - p.c[k, PN], q[1] - p.c[k, PT], q[2] - p.c[k, LR]
    p.c[k, PN], p.c[k, PT], p.c[k, LR] = q[0], q[1], q[2]
    apply_2d(p, k, d_n, d_t, d_r)


@device
def relax_contact_2d(p, k):
    set_impulse_2d(p, k, wanted_2d(p, k))


@device
def speed_squared_2d(p, k, q):
    a = p.c[k, WNN] * q[0] + p.c[k, WNT] * q[1]
    b = p.c[k, WNT] * q[0] + p.c[k, WTT] * q[1]
    r = p.c[k, ARM] * q[2] / p.c[k, MR] if p.c[k, MR] > 0.0 else 0.0
    return a * a + b * b + r * r


@jit
def pack_2d(order, rows, motion, laws, dt, remove_overlaps):
    """Fill the rows of a `Full2D` and start it from the given impulses; row s: ``order[s]``."""
    velocity, spin = motion.velocity, motion.spin
    velocity_before, spin_before = motion.velocity_before, motion.spin_before
    normal, gap, impulse, torque = rows.normal, rows.gap, rows.impulse, rows.torque
    m, nb = rows.first.size, velocity.shape[0]
    b = np.empty((nb, 6))
    for i in range(nb):
        b[i, 0], b[i, 1], b[i, 2] = velocity[i, 0], velocity[i, 1], spin[i, 0]
        b[i, 3], b[i, 4] = motion.inv_mass[i, 0], motion.inv_mass[i, 1]
        b[i, 5] = motion.inv_inertia[i, 0]
    c = np.zeros((m, 20))
    p = Full2D(np.empty(m, np.uint32), np.empty(m, np.uint32), c, b)
    for row in range(m):
        k = order[row]
        i, j = rows.first[k], rows.second[k]
        p.first[row], p.second[row] = i, j
        nx, ny = normal[k, 0], normal[k, 1]
        law = laws[rows.law[k]]
        c[row, NX], c[row, NY] = nx, ny
        lx, ly = rows.arm_first[k, 0], rows.arm_first[k, 1]
        c[row, A1N], c[row, A1T] = lx * ny - ly * nx, lx * nx + ly * ny
        lx, ly = rows.arm_second[k, 0], rows.arm_second[k, 1]
        c[row, A2N], c[row, A2T] = lx * ny - ly * nx, lx * nx + ly * ny
        mx, my = b[i, 3] + b[j, 3], b[i, 4] + b[j, 4]
        c[row, WNN] = mx * nx * nx + my * ny * ny
        c[row, WNN] += b[i, 5] * c[row, A1N] ** 2 + b[j, 5] * c[row, A2N] ** 2
        c[row, WNT] = (my - mx) * nx * ny
        c[row, WNT] += b[i, 5] * c[row, A1N] * c[row, A1T] + b[j, 5] * c[row, A2N] * c[row, A2T]
        c[row, WTT] = mx * ny * ny + my * nx * nx
        c[row, WTT] += b[i, 5] * c[row, A1T] ** 2 + b[j, 5] * c[row, A2T] ** 2
        free_n, _ = velocity_2d(p, row)
        dx = velocity_before[j, 0] - velocity_before[i, 0]
        dy = velocity_before[j, 1] - velocity_before[i, 1]
        wi, wj = spin_before[i, 0], spin_before[j, 0]
        before_n = nx * dx + ny * dy + c[row, A2N] * wj - c[row, A1N] * wi
        before_t = nx * dy - ny * dx + c[row, A2T] * wj - c[row, A1T] * wi
        c[row, BN] = normal_shift(law, gap[k], free_n, before_n, dt, remove_overlaps)
        c[row, BT] = tangent_shift(law, before_t)
        c[row, MUS], c[row, MUD] = friction(law)
        c[row, COH] = cohesion(law, gap[k], dt)
        c[row, ARM] = rows.roll[k]
        c[row, ROLL], _ = resistance(law, rows.roll[k])
        w_r = b[i, 5] + b[j, 5]
        c[row, MR] = 1.0 / w_r if w_r > 0.0 and c[row, ROLL] > 0.0 else 0.0
        c[row, PN] = impulse[k, 0] * nx + impulse[k, 1] * ny
        c[row, PT] = impulse[k, 1] * nx - impulse[k, 0] * ny
        c[row, LR] = torque[k, 0]
    for row in range(m):
        apply_2d(p, row, c[row, PN], c[row, PT], c[row, LR])
    return p


@jit
def unpack_2d(p, order, velocity, spin):
    """Velocities, impulses and torque impulses of a relaxed `Full2D`; velocities in place."""
    for i in range(velocity.shape[0]):
        velocity[i, 0], velocity[i, 1], spin[i, 0] = p.b[i, 0], p.b[i, 1], p.b[i, 2]
    m = order.size
    impulse, torque = np.empty((m, 2)), np.empty((m, 1))
    for row in range(m):
        k, nx, ny = order[row], p.c[row, NX], p.c[row, NY]
        impulse[k, 0] = p.c[row, PN] * nx - p.c[row, PT] * ny
        impulse[k, 1] = p.c[row, PN] * ny + p.c[row, PT] * nx
        torque[k, 0] = p.c[row, LR]
    return impulse, torque


# 3D: impulses (n t s), torque impulses (n, then the tangential vector), frame, levers, W, …
P3, LN3, LT3 = 0, 3, 4
E3 = 7  # n, t, s: three rows of three
A1, A2 = 16, 25  # l_i × e and l_j × e for e = n, t, s
W3 = 34  # nn nt ns tt ts ss
B3 = 40  # biases along n, t, s
MUS3, MUD3, COH3, ROLL3, TORS3, ARM3, MR3 = range(43, 50)


@device
def velocity_3d(p, k, along):
    """Component of the contact velocity along n (0), t (1) or s (2)."""
    i, j = p.first[k], p.second[k]
    e, one, two = E3 + 3 * along, A1 + 3 * along, A2 + 3 * along
    return (
        p.c[k, e] * (p.b[j, 0] - p.b[i, 0])
        + p.c[k, e + 1] * (p.b[j, 1] - p.b[i, 1])
        + p.c[k, e + 2] * (p.b[j, 2] - p.b[i, 2])
        + p.c[k, two] * p.b[j, 3]
        + p.c[k, two + 1] * p.b[j, 4]
        + p.c[k, two + 2] * p.b[j, 5]
        - p.c[k, one] * p.b[i, 3]
        - p.c[k, one + 1] * p.b[i, 4]
        - p.c[k, one + 2] * p.b[i, 5]
    )


@device
def w_times(p, k, q_n, q_t, q_s):
    """W q in the contact frame."""
    nt, ns, ts = p.c[k, W3 + 1], p.c[k, W3 + 2], p.c[k, W3 + 4]
    return (
        p.c[k, W3] * q_n + nt * q_t + ns * q_s,
        nt * q_n + p.c[k, W3 + 3] * q_t + ts * q_s,
        ns * q_n + ts * q_t + p.c[k, W3 + 5] * q_s,
    )


@device
def wanted_3d(p, k):
    x, y, z = w_times(p, k, p.c[k, P3], p.c[k, P3 + 1], p.c[k, P3 + 2])
    pull = p.c[k, COH3]
    p_n, p_t, p_s = coupled_3d(
        velocity_3d(p, k, 0) + p.c[k, B3] - x,
        velocity_3d(p, k, 1) + p.c[k, B3 + 1] - y,
        velocity_3d(p, k, 2) + p.c[k, B3 + 2] - z,
        p.c[k, W3], p.c[k, W3 + 1], p.c[k, W3 + 2], p.c[k, W3 + 3], p.c[k, W3 + 4],
        p.c[k, W3 + 5], p.c[k, MUS3], p.c[k, MUD3], pull,
    )  # fmt: skip
    i, j = p.first[k], p.second[k]
    nx, ny, nz = p.c[k, E3], p.c[k, E3 + 1], p.c[k, E3 + 2]
    sx, sy, sz = p.b[j, 3] - p.b[i, 3], p.b[j, 4] - p.b[i, 4], p.b[j, 5] - p.b[i, 5]
    s_n = nx * sx + ny * sy + nz * sz
    held = p_n + pull
    l_n = resist(p.c[k, LN3], p.c[k, MR3], s_n, p.c[k, TORS3] * held)
    lx, ly, lz = resist_3d(
        p.c[k, LT3], p.c[k, LT3 + 1], p.c[k, LT3 + 2], p.c[k, MR3],
        sx - s_n * nx, sy - s_n * ny, sz - s_n * nz, p.c[k, ROLL3] * held,
    )  # fmt: skip
    return p_n, p_t, p_s, l_n, lx, ly, lz


@device
def present_3d(p, k):
    return (
        p.c[k, 0], p.c[k, 1], p.c[k, 2], p.c[k, 3], p.c[k, 4], p.c[k, 5], p.c[k, 6],
    )  # fmt: skip


@device
def apply_3d(p, k, d_n, d_t, d_s, l_n, lx, ly, lz):
    i, j = p.first[k], p.second[k]
    for a, roll in ((0, lx), (1, ly), (2, lz)):
        n, t, s = p.c[k, E3 + a], p.c[k, E3 + 3 + a], p.c[k, E3 + 6 + a]
        push = n * d_n + t * d_t + s * d_s
        turn = n * l_n + roll
        turn_1 = p.c[k, A1 + a] * d_n + p.c[k, A1 + 3 + a] * d_t + p.c[k, A1 + 6 + a] * d_s + turn
        turn_2 = p.c[k, A2 + a] * d_n + p.c[k, A2 + 3 + a] * d_t + p.c[k, A2 + 6 + a] * d_s + turn
        p.b[i, a] -= p.b[i, 6 + a] * push
        p.b[i, 3 + a] -= p.b[i, 9 + a] * turn_1
        p.b[j, a] += p.b[j, 6 + a] * push
        p.b[j, 3 + a] += p.b[j, 9 + a] * turn_2


@device
def set_impulse_3d(p, k, q):
    old = present_3d(p, k)
    for a in range(7):
        p.c[k, a] = q[a]
    apply_3d(
        p, k, q[0] - old[0], q[1] - old[1], q[2] - old[2], q[3] - old[3],
        q[4] - old[4], q[5] - old[5], q[6] - old[6],
    )  # fmt: skip


@device
def relax_contact_3d(p, k):
    set_impulse_3d(p, k, wanted_3d(p, k))


@device
def speed_squared_3d(p, k, q):
    x, y, z = w_times(p, k, q[0], q[1], q[2])
    r2 = 0.0
    if p.c[k, MR3] > 0.0:
        r2 = (p.c[k, ARM3] / p.c[k, MR3]) ** 2
    return x * x + y * y + z * z + r2 * (q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2)


@device
def cross(x, y, z, a, b, c):
    return y * c - z * b, z * a - x * c, x * b - y * a


@jit
def pack_3d(order, rows, motion, laws, dt, remove_overlaps):
    """Fill the rows of a `Full3D` and start it from the given impulses; row s: ``order[s]``."""
    velocity, spin = motion.velocity, motion.spin
    velocity_before, spin_before = motion.velocity_before, motion.spin_before
    inv_mass, inv_inertia = motion.inv_mass, motion.inv_inertia
    normal, gap, impulse, torque = rows.normal, rows.gap, rows.impulse, rows.torque
    m, nb = rows.first.size, velocity.shape[0]
    b = np.empty((nb, 12))
    before = np.empty((nb, 12))
    for i in range(nb):
        for a in range(3):
            b[i, a], b[i, 3 + a] = velocity[i, a], spin[i, a]
            b[i, 6 + a], b[i, 9 + a] = inv_mass[i, a], inv_inertia[i, a]
            before[i, a], before[i, 3 + a] = velocity_before[i, a], spin_before[i, a]
    c = np.zeros((m, 50))
    p = Full3D(np.empty(m, np.uint32), np.empty(m, np.uint32), c, b)
    start = Full3D(p.first, p.second, c, before)
    for row in range(m):
        k = order[row]
        i, j = rows.first[k], rows.second[k]
        p.first[row], p.second[row] = i, j
        nx, ny, nz = normal[k, 0], normal[k, 1], normal[k, 2]
        law = laws[rows.law[k]]
        # the tangent t lies across the axis that n is farthest from
        if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
            tx, ty, tz = cross(nx, ny, nz, 1.0, 0.0, 0.0)
        elif abs(ny) <= abs(nz):
            tx, ty, tz = cross(nx, ny, nz, 0.0, 1.0, 0.0)
        else:
            tx, ty, tz = cross(nx, ny, nz, 0.0, 0.0, 1.0)
        length = math.sqrt(tx * tx + ty * ty + tz * tz)
        tx, ty, tz = tx / length, ty / length, tz / length
        sx, sy, sz = cross(nx, ny, nz, tx, ty, tz)
        c[row, E3], c[row, E3 + 1], c[row, E3 + 2] = nx, ny, nz
        c[row, E3 + 3], c[row, E3 + 4], c[row, E3 + 5] = tx, ty, tz
        c[row, E3 + 6], c[row, E3 + 7], c[row, E3 + 8] = sx, sy, sz
        for e in range(3):
            ex, ey, ez = c[row, E3 + 3 * e], c[row, E3 + 3 * e + 1], c[row, E3 + 3 * e + 2]
            lx, ly, lz = rows.arm_first[k, 0], rows.arm_first[k, 1], rows.arm_first[k, 2]
            lx, ly, lz = cross(lx, ly, lz, ex, ey, ez)
            c[row, A1 + 3 * e], c[row, A1 + 3 * e + 1], c[row, A1 + 3 * e + 2] = lx, ly, lz
            lx, ly, lz = rows.arm_second[k, 0], rows.arm_second[k, 1], rows.arm_second[k, 2]
            lx, ly, lz = cross(lx, ly, lz, ex, ey, ez)
            c[row, A2 + 3 * e], c[row, A2 + 3 * e + 1], c[row, A2 + 3 * e + 2] = lx, ly, lz
        at = W3
        for e in range(3):
            for f in range(e, 3):
                w = 0.0
                for a in range(3):
                    w += (
                        (b[i, 6 + a] + b[j, 6 + a])
                        * c[row, E3 + 3 * e + a]
                        * c[row, E3 + 3 * f + a]
                    )
                    w += b[i, 9 + a] * c[row, A1 + 3 * e + a] * c[row, A1 + 3 * f + a]
                    w += b[j, 9 + a] * c[row, A2 + 3 * e + a] * c[row, A2 + 3 * f + a]
                c[row, at] = w
                at += 1
        free_n = velocity_3d(p, row, 0)
        before_n = velocity_3d(start, row, 0)
        c[row, B3] = normal_shift(law, gap[k], free_n, before_n, dt, remove_overlaps)
        c[row, B3 + 1] = tangent_shift(law, velocity_3d(start, row, 1))
        c[row, B3 + 2] = tangent_shift(law, velocity_3d(start, row, 2))
        c[row, MUS3], c[row, MUD3] = friction(law)
        c[row, COH3] = cohesion(law, gap[k], dt)
        c[row, ARM3] = rows.roll[k]
        c[row, ROLL3], c[row, TORS3] = resistance(law, rows.roll[k])
        w_r = 0.0
        for a in range(3):
            w_r = max(w_r, b[i, 9 + a] + b[j, 9 + a])
        c[row, MR3] = 1.0 / w_r if w_r > 0.0 and c[row, ROLL3] + c[row, TORS3] > 0.0 else 0.0
        for a in range(3):
            for e in range(3):
                c[row, P3 + e] += c[row, E3 + 3 * e + a] * impulse[k, a]
            c[row, LN3] += normal[k, a] * torque[k, a]
        for a in range(3):
            c[row, LT3 + a] = torque[k, a] - c[row, LN3] * normal[k, a]
    for row in range(m):
        apply_3d(
            p, row, c[row, 0], c[row, 1], c[row, 2], c[row, 3], c[row, 4], c[row, 5], c[row, 6]
        )  # fmt: skip
    return p


@jit
def unpack_3d(p, order, velocity, spin):
    """Velocities, impulses and torque impulses of a relaxed `Full3D`; velocities in place."""
    for i in range(velocity.shape[0]):
        for a in range(3):
            velocity[i, a], spin[i, a] = p.b[i, a], p.b[i, 3 + a]
    m = order.size
    impulse, torque = np.empty((m, 3)), np.empty((m, 3))
    for row in range(m):
        k = order[row]
        for a in range(3):
            impulse[k, a] = (
                p.c[row, E3 + a] * p.c[row, P3]
                + p.c[row, E3 + 3 + a] * p.c[row, P3 + 1]
                + p.c[row, E3 + 6 + a] * p.c[row, P3 + 2]
            )
            torque[k, a] = p.c[row, E3 + a] * p.c[row, LN3] + p.c[row, LT3 + a]
    return impulse, torque
