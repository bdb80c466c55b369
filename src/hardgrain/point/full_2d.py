"""Contacts with a full effective-mass matrix and every law, in 2D: locked axes, rolling, ….

As in `full_3d` most contacts are updated from P* = P − K (V + b n), the impulse with which they
would stick, with K = W⁻¹: open if (W n)·P* < 0, sticking if P* lies in the cone of friction. Else
they slide with P = P_n (n ± µ t), the sign being that of P*_t, and V_n = 0 asks for

    P_n = (W n)·P* / (W_nn ± µ W_nt).

The other contacts have their impulses in the frame of n and t = ẑ × n for an update (`any_force`).
The bias b is the gap speed and the rebound. Rolling impulses follow the fresh normal impulse, with
the inverse inertia as their scale: the fixed point does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import make_coupled
from hardgrain.law.rolling import make_rolling
from hardgrain.point.row_3d import ANY, PLAIN, RESISTED


class Full2D(NamedTuple):
    """Packed contact problem in 2D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 32): see the columns below, and some to fill four lines
    b: np.ndarray  # (bodies, 6): v_x v_y ω  1/m_x 1/m_y 1/I


# Columns. Vectors and K are those in space. What most updates read comes first, in two cache lines.
P, N = 0, 2  # impulse and normal
ARM1, ARM2 = 4, 6  # from both bodies to the contact
K = 8  # xx yy xy
WN = 11  # W n
B = 13  # bias along n
MUS = 14
KIND = 15  # what the law asks of an update
MUD = 16
LR, ROLL, MR = 17, 18, 19  # torque impulse; its limit and scale
LEVER = 20  # of rolling, for the residual alone
COH = 21
BT = 22  # bias along t
WNN, WNT, WTT = 23, 24, 25
INN, INS, LOCK = 26, 27, 28  # what `law.coupled.inverses` says of W


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
    def velocity(p, k):
        """The contact velocity, a vector in space."""
        i, j = p.first[k], p.second[k]
        wi, wj = p.b[i, 2], p.b[j, 2]
        return (
            (p.b[j, 0] - wj * p.c[k, ARM2 + 1]) - (p.b[i, 0] - wi * p.c[k, ARM1 + 1]),
            (p.b[j, 1] + wj * p.c[k, ARM2]) - (p.b[i, 1] + wi * p.c[k, ARM1]),
        )

    @jit
    def velocity_before(p, k, motion):
        """The contact velocity that it had at the start of the step."""
        i, j, v = p.first[k], p.second[k], motion.velocity_before
        wi, wj = motion.spin_before[i, 0], motion.spin_before[j, 0]
        return (
            (v[j, 0] - wj * p.c[k, ARM2 + 1]) - (v[i, 0] - wi * p.c[k, ARM1 + 1]),
            (v[j, 1] + wj * p.c[k, ARM2]) - (v[i, 1] + wi * p.c[k, ARM1]),
        )

    @jit
    def in_frame(p, k, x, y):
        """Components of a vector along n and t."""
        return p.c[k, N] * x + p.c[k, N + 1] * y, p.c[k, N] * y - p.c[k, N + 1] * x

    @jit
    def in_space(p, k, n, t):
        """The vector with given components along n and t."""
        return p.c[k, N] * n - p.c[k, N + 1] * t, p.c[k, N + 1] * n + p.c[k, N] * t

    @jit
    def dry(p, k):
        """The impulse that dry friction would have now, a vector in space."""
        u, v = velocity(p, k)
        u, v = u + p.c[k, B] * p.c[k, N], v + p.c[k, B] * p.c[k, N + 1]
        x = p.c[k, P] - (p.c[k, K] * u + p.c[k, K + 2] * v)
        y = p.c[k, P + 1] - (p.c[k, K + 2] * u + p.c[k, K + 1] * v)
        pull = p.c[k, WN] * x + p.c[k, WN + 1] * y
        if pull < 0.0:
            return 0.0, 0.0
        p_n, p_t = in_frame(p, k, x, y)
        if abs(p_t) <= p.c[k, MUS] * p_n:
            return x, y
        side = math.copysign(p.c[k, MUD], p_t)
        p_n = pull / (p.c[k, WNN] + side * p.c[k, WNT])
        return in_space(p, k, p_n, side * p_n)

    @jit
    def any_force(p, k):
        """The impulse that any law would have now, a vector in space."""
        q_n, q_t = in_frame(p, k, p.c[k, P], p.c[k, P + 1])
        u, v = velocity(p, k)
        u_n, u_t = in_frame(p, k, u, v)
        w_nn, w_nt, w_tt = p.c[k, WNN], p.c[k, WNT], p.c[k, WTT]
        u_n += p.c[k, B] - w_nn * q_n - w_nt * q_t
        u_t += p.c[k, BT] - w_nt * q_n - w_tt * q_t
        inverse, mu = (p.c[k, INN], p.c[k, INS], p.c[k, LOCK]), (p.c[k, MUS], p.c[k, MUD])
        p_n, p_t = decoupled_2d((u_n, u_t), (w_nn, w_nt), inverse, mu, p.c[k, COH])
        return in_space(p, k, p_n, p_t)

    @jit
    def resistance_to(p, k, p_n):
        """The torque impulse that goes with a normal impulse."""
        spin = p.b[p.second[k], 2] - p.b[p.first[k], 2]
        return resist(p.c[k, LR], p.c[k, MR], spin, p.c[k, ROLL] * (p_n + p.c[k, COH]))

    @jit
    def force(p, k):
        """The impulse that the law would have now, a vector in space."""
        if p.c[k, KIND] != ANY:
            return dry(p, k)
        return any_force(p, k)

    @jit
    def wanted(p, k):
        """The impulse that the law would have now, padded to seven components."""
        x, y = force(p, k)
        p_n, p_t = in_frame(p, k, x, y)
        return p_n, p_t, resistance_to(p, k, p_n), 0.0, 0.0, 0.0, 0.0

    @jit
    def present(p, k):
        """The impulse that contact k has, padded to seven components."""
        p_n, p_t = in_frame(p, k, p.c[k, P], p.c[k, P + 1])
        return p_n, p_t, p.c[k, LR], 0.0, 0.0, 0.0, 0.0

    # All is read before anything is written: a compiler cannot know that these are different rows.
    @jit
    def apply(p, k, x, y, turn):
        """Give an impulse, a vector in space, and a torque impulse to the bodies of contact k."""
        i, j = p.first[k], p.second[k]
        a = p.c[k, ARM1] * y - p.c[k, ARM1 + 1] * x + turn
        b = p.c[k, ARM2] * y - p.c[k, ARM2 + 1] * x + turn
        u, v, w = p.b[i, 0] - p.b[i, 3] * x, p.b[i, 1] - p.b[i, 4] * y, p.b[i, 2] - p.b[i, 5] * a
        x, y, a = p.b[j, 0] + p.b[j, 3] * x, p.b[j, 1] + p.b[j, 4] * y, p.b[j, 2] + p.b[j, 5] * b
        p.b[i, 0], p.b[i, 1], p.b[i, 2] = u, v, w
        p.b[j, 0], p.b[j, 1], p.b[j, 2] = x, y, a

    @jit
    def give(p, k, x, y, turn):
        """Give contact k an impulse and a torque impulse, and its bodies the difference."""
        apply(p, k, x - p.c[k, P], y - p.c[k, P + 1], turn - p.c[k, LR])
        p.c[k, P], p.c[k, P + 1], p.c[k, LR] = x, y, turn

    @jit
    def impulse_of(p, k):
        """The impulse that contact k has, a vector in space."""
        return p.c[k, P], p.c[k, P + 1], 0.0

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        x, y = in_space(p, k, q[0], q[1])
        give(p, k, x, y, q[2])

    # That a contact has no impulse is known before its velocity is.
    @jit
    def stays_open(p, k):
        """Whether contact k has no impulse and opens: then U = V + b n."""
        if p.c[k, P] != 0.0 or p.c[k, P + 1] != 0.0:
            return False
        x, y = velocity(p, k)
        return p.c[k, N] * x + p.c[k, N + 1] * y + p.c[k, B] > 0.0

    @jit
    def relax_contact(p, k):
        """One contact update: find the impulse its law asks for, and give it to the two bodies."""
        if p.c[k, KIND] == PLAIN:
            if stays_open(p, k):
                return
            x, y = dry(p, k)
            apply(p, k, x - p.c[k, P], y - p.c[k, P + 1], 0.0)
            p.c[k, P], p.c[k, P + 1] = x, y
        else:
            x, y = force(p, k)
            give(p, k, x, y, resistance_to(p, k, p.c[k, N] * x + p.c[k, N + 1] * y))

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        a = p.c[k, WNN] * q[0] + p.c[k, WNT] * q[1]
        b = p.c[k, WNT] * q[0] + p.c[k, WTT] * q[1]
        r = p.c[k, LEVER] * q[2] / p.c[k, MR] if p.c[k, MR] > 0.0 else 0.0
        return a * a + b * b + r * r

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i."""
        p.b[i, 0], p.b[i, 1] = motion.velocity[i, 0], motion.velocity[i, 1]
        p.b[i, 2] = motion.spin[i, 0]
        p.b[i, 3], p.b[i, 4] = motion.inv_mass[i, 0], motion.inv_mass[i, 1]
        p.b[i, 5] = motion.inv_inertia[i, 0]

    @jit
    def pack_frame(p, s, k, rows):
        """Write the normal, the arms, W and K of row s, whose bodies are known."""
        i, j = p.first[s], p.second[s]
        nx, ny = rows.normal[k, 0], rows.normal[k, 1]
        p.c[s, N], p.c[s, N + 1] = nx, ny
        p.c[s, ARM1], p.c[s, ARM1 + 1] = rows.arm_first[k, 0], rows.arm_first[k, 1]
        p.c[s, ARM2], p.c[s, ARM2 + 1] = rows.arm_second[k, 0], rows.arm_second[k, 1]
        # l × n and l × t of both bodies, with which impulses turn them
        l_t, l_n = in_frame(p, s, p.c[s, ARM1], p.c[s, ARM1 + 1])
        r_t, r_n = in_frame(p, s, p.c[s, ARM2], p.c[s, ARM2 + 1])
        mx, my = p.b[i, 3] + p.b[j, 3], p.b[i, 4] + p.b[j, 4]
        ii, ij = p.b[i, 5], p.b[j, 5]
        nn = mx * nx * nx + my * ny * ny + ii * l_n * l_n + ij * r_n * r_n
        nt = (my - mx) * nx * ny - ii * l_n * l_t - ij * r_n * r_t
        tt = mx * ny * ny + my * nx * nx + ii * l_t * l_t + ij * r_t * r_t
        i_nn, i_s, locked = inverses(nn, nt, tt)
        p.c[s, WNN], p.c[s, WNT], p.c[s, WTT] = nn, nt, tt
        p.c[s, INN], p.c[s, INS], p.c[s, LOCK] = i_nn, i_s, locked
        p.c[s, WN], p.c[s, WN + 1] = in_space(p, s, nn, nt)
        # K = n nᵀ/W_nn + y yᵀ/S with y = t − n W_nt/W_nn
        x, y = in_space(p, s, -nt * i_nn, 1.0)
        p.c[s, K], p.c[s, K + 1] = i_nn * nx * nx + i_s * x * x, i_nn * ny * ny + i_s * y * y
        p.c[s, K + 2] = i_nn * nx * ny + i_s * x * y
        p.c[s, KIND] = PLAIN if i_nn > 0.0 and locked == 0.0 else ANY

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        pack_frame(p, s, k, rows)
        u, v = velocity(p, s)
        free = p.c[s, N] * u + p.c[s, N + 1] * v
        u, v = velocity_before(p, s, motion)
        before_n, before_t = in_frame(p, s, u, v)
        law, gap = laws[rows.law[k]], rows.gap[k]
        p.c[s, B] = normal_shift(law, gap, free, before_n, dt, remove_overlaps)
        p.c[s, BT] = tangent_shift(law, before_t)
        p.c[s, MUS], p.c[s, MUD] = friction(law)
        p.c[s, COH] = cohesion(law, gap, dt)
        p.c[s, LEVER] = rows.roll[k]
        p.c[s, ROLL], _ = resistance(law, rows.roll[k])
        w_r = p.b[p.first[s], 5] + p.b[p.second[s], 5]
        p.c[s, MR] = 1.0 / w_r if w_r > 0.0 and p.c[s, ROLL] > 0.0 else 0.0
        p.c[s, P], p.c[s, P + 1] = rows.impulse[k, 0], rows.impulse[k, 1]
        p.c[s, LR] = rows.torque[k, 0]
        if p.c[s, COH] != 0.0 or p.c[s, BT] != 0.0:
            p.c[s, KIND] = ANY
        elif p.c[s, KIND] == PLAIN and (p.c[s, ROLL] > 0.0 or p.c[s, LR] != 0.0):
            p.c[s, KIND] = RESISTED

    @jit
    def start(p, s):
        """Give the bodies the impulse that row s was packed with."""
        apply(p, s, p.c[s, P], p.c[s, P + 1], p.c[s, LR])

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and the spin of body i."""
        velocity[i, 0], velocity[i, 1], spin[i, 0] = p.b[i, 0], p.b[i, 1], p.b[i, 2]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse and the torque impulse of row s to contact k."""
        impulse[k, 0], impulse[k, 1], _ = impulse_of(p, s)
        torque[k, 0] = p.c[s, LR]

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact, impulse_of=impulse_of,
    )  # fmt: skip
