"""Contacts with a full effective-mass matrix and every law, in 2D: locked axes, rolling, ….

A contact lives in its own frame, the normal n and the tangents (t in 2D, t and s = n × t in 3D).
For each body and direction e the row holds the lever l × e, so that the contact velocity is
e·(v_j − v_i) + (l_j × e)·ω_j − (l_i × e)·ω_i and an impulse along e turns the body by I⁻¹ (l × e).
W = H^T M⁻¹ H (eq. 15) follows from the same levers.

The biases shift the velocity on which the law acts: the gap speed and the rebounds. Rolling and
torsion impulses follow the fresh normal impulse, with the largest inverse inertia as their scale:
the fixed point does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import make_coupled
from hardgrain.law.rolling import make_rolling


class Full2D(NamedTuple):
    """Packed contact problem in 2D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 24): see the columns below, and one to fill three lines
    b: np.ndarray  # (bodies, 6): v_x v_y ω  1/m_x 1/m_y 1/I


# columns: normal, impulses, levers of first and second along n and t, W, biases, laws, and last
# what `law.coupled.inverses` says of W
NX, NY, PN, PT, LR, A1N, A1T, A2N, A2T = range(9)
WNN, WNT, WTT, BN, BT, MUS, MUD, COH, ROLL, ARM, MR = range(9, 20)
INN, INS, LOCK = range(20, 23)


@cache
def make_full_2d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact or body of a `Full2D`."""
    law_of, coupled = make_contact(jit), make_coupled(jit)
    inverses, decoupled_2d = coupled.inverses, coupled.decoupled_2d
    normal_shift, tangent_shift, friction = (
        law_of.normal_shift,
        law_of.tangent_shift,
        law_of.friction,
    )
    cohesion, resistance, resist = law_of.cohesion, law_of.resistance, make_rolling(jit).resist

    @jit
    def contact_velocity(p, k, dx, dy, wi, wj):
        """Normal and tangential part, given v_j − v_i and the spins."""
        nx, ny = p.c[k, NX], p.c[k, NY]
        u_n = nx * dx + ny * dy + p.c[k, A2N] * wj - p.c[k, A1N] * wi
        u_t = nx * dy - ny * dx + p.c[k, A2T] * wj - p.c[k, A1T] * wi
        return u_n, u_t

    @jit
    def velocity(p, k):
        """Velocity of contact k as its bodies move now."""
        i, j = p.first[k], p.second[k]
        dx, dy = p.b[j, 0] - p.b[i, 0], p.b[j, 1] - p.b[i, 1]
        return contact_velocity(p, k, dx, dy, p.b[i, 2], p.b[j, 2])

    @jit
    def wanted(p, k):
        """The impulse that the law would have now, padded to seven components."""
        u_n, u_t = velocity(p, k)
        w_nn, w_nt, w_tt = p.c[k, WNN], p.c[k, WNT], p.c[k, WTT]
        q_n, q_t = p.c[k, PN], p.c[k, PT]
        u_n += p.c[k, BN] - w_nn * q_n - w_nt * q_t
        u_t += p.c[k, BT] - w_nt * q_n - w_tt * q_t
        pull = p.c[k, COH]
        inverse = p.c[k, INN], p.c[k, INS], p.c[k, LOCK]
        mu = p.c[k, MUS], p.c[k, MUD]
        p_n, p_t = decoupled_2d((u_n, u_t), (w_nn, w_nt), inverse, mu, pull)
        spin = p.b[p.second[k], 2] - p.b[p.first[k], 2]
        torque = resist(p.c[k, LR], p.c[k, MR], spin, p.c[k, ROLL] * (p_n + pull))
        return p_n, p_t, torque, 0.0, 0.0, 0.0, 0.0

    @jit
    def present(p, k):
        """The impulse that contact k has, padded to seven components."""
        return p.c[k, PN], p.c[k, PT], p.c[k, LR], 0.0, 0.0, 0.0, 0.0

    @jit
    def apply(p, k, d_n, d_t, d_r):
        """Give an impulse and a torque impulse to the two bodies of contact k."""
        i, j = p.first[k], p.second[k]
        nx, ny = p.c[k, NX], p.c[k, NY]
        px, py = d_n * nx - d_t * ny, d_n * ny + d_t * nx
        p.b[i, 0] -= p.b[i, 3] * px
        p.b[i, 1] -= p.b[i, 4] * py
        p.b[i, 2] -= p.b[i, 5] * (p.c[k, A1N] * d_n + p.c[k, A1T] * d_t + d_r)
        p.b[j, 0] += p.b[j, 3] * px
        p.b[j, 1] += p.b[j, 4] * py
        p.b[j, 2] += p.b[j, 5] * (p.c[k, A2N] * d_n + p.c[k, A2T] * d_t + d_r)

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        d_n, d_t, d_r = q[0] - p.c[k, PN], q[1] - p.c[k, PT], q[2] - p.c[k, LR]
        if d_n == 0.0 and d_t == 0.0 and d_r == 0.0:  # open, as before
            return
        p.c[k, PN], p.c[k, PT], p.c[k, LR] = q[0], q[1], q[2]
        apply(p, k, d_n, d_t, d_r)

    @jit
    def relax_contact(p, k):
        """One contact update: find the impulse its law asks for, and give it to the two bodies."""
        set_impulse(p, k, wanted(p, k))

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        a = p.c[k, WNN] * q[0] + p.c[k, WNT] * q[1]
        b = p.c[k, WNT] * q[0] + p.c[k, WTT] * q[1]
        r = p.c[k, ARM] * q[2] / p.c[k, MR] if p.c[k, MR] > 0.0 else 0.0
        return a * a + b * b + r * r

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i."""
        p.b[i, 0], p.b[i, 1] = motion.velocity[i, 0], motion.velocity[i, 1]
        p.b[i, 2] = motion.spin[i, 0]
        p.b[i, 3], p.b[i, 4] = motion.inv_mass[i, 0], motion.inv_mass[i, 1]
        p.b[i, 5] = motion.inv_inertia[i, 0]

    @jit
    def pack_levers(p, s, k, rows):
        """Write the normal, the levers and W of row s, whose bodies are known."""
        i, j = p.first[s], p.second[s]
        nx, ny = rows.normal[k, 0], rows.normal[k, 1]
        p.c[s, NX], p.c[s, NY] = nx, ny
        lx, ly = rows.arm_first[k, 0], rows.arm_first[k, 1]
        p.c[s, A1N], p.c[s, A1T] = lx * ny - ly * nx, lx * nx + ly * ny
        lx, ly = rows.arm_second[k, 0], rows.arm_second[k, 1]
        p.c[s, A2N], p.c[s, A2T] = lx * ny - ly * nx, lx * nx + ly * ny
        mx, my = p.b[i, 3] + p.b[j, 3], p.b[i, 4] + p.b[j, 4]
        ii, ij = p.b[i, 5], p.b[j, 5]
        p.c[s, WNN] = mx * nx * nx + my * ny * ny
        p.c[s, WNN] += ii * p.c[s, A1N] ** 2 + ij * p.c[s, A2N] ** 2
        p.c[s, WNT] = (my - mx) * nx * ny
        p.c[s, WNT] += ii * p.c[s, A1N] * p.c[s, A1T] + ij * p.c[s, A2N] * p.c[s, A2T]
        p.c[s, WTT] = mx * ny * ny + my * nx * nx
        p.c[s, WTT] += ii * p.c[s, A1T] ** 2 + ij * p.c[s, A2T] ** 2
        p.c[s, INN], p.c[s, INS], p.c[s, LOCK] = inverses(p.c[s, WNN], p.c[s, WNT], p.c[s, WTT])

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        pack_levers(p, s, k, rows)
        i, j = p.first[s], p.second[s]
        free_n, _ = velocity(p, s)
        dx = motion.velocity_before[j, 0] - motion.velocity_before[i, 0]
        dy = motion.velocity_before[j, 1] - motion.velocity_before[i, 1]
        wi, wj = motion.spin_before[i, 0], motion.spin_before[j, 0]
        before_n, before_t = contact_velocity(p, s, dx, dy, wi, wj)
        law, gap = laws[rows.law[k]], rows.gap[k]
        p.c[s, BN] = normal_shift(law, gap, free_n, before_n, dt, remove_overlaps)
        p.c[s, BT] = tangent_shift(law, before_t)
        p.c[s, MUS], p.c[s, MUD] = friction(law)
        p.c[s, COH] = cohesion(law, gap, dt)
        p.c[s, ARM] = rows.roll[k]
        p.c[s, ROLL], _ = resistance(law, rows.roll[k])
        w_r = p.b[i, 5] + p.b[j, 5]
        p.c[s, MR] = 1.0 / w_r if w_r > 0.0 and p.c[s, ROLL] > 0.0 else 0.0
        nx, ny = p.c[s, NX], p.c[s, NY]
        p.c[s, PN] = rows.impulse[k, 0] * nx + rows.impulse[k, 1] * ny
        p.c[s, PT] = rows.impulse[k, 1] * nx - rows.impulse[k, 0] * ny
        p.c[s, LR] = rows.torque[k, 0]

    @jit
    def start(p, s):
        """Give the bodies the impulse that row s was packed with."""
        apply(p, s, p.c[s, PN], p.c[s, PT], p.c[s, LR])

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and the spin of body i."""
        velocity[i, 0], velocity[i, 1], spin[i, 0] = p.b[i, 0], p.b[i, 1], p.b[i, 2]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse and the torque impulse of row s to contact k."""
        nx, ny = p.c[s, NX], p.c[s, NY]
        impulse[k, 0] = p.c[s, PN] * nx - p.c[s, PT] * ny
        impulse[k, 1] = p.c[s, PN] * ny + p.c[s, PT] * nx
        torque[k, 0] = p.c[s, LR]

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact,
    )  # fmt: skip
