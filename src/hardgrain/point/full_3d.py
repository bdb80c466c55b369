"""Contacts with a full effective-mass matrix and every law in 3D; see `full_2d`.

The tangents t and s of a contact are the axes of S = W_tt − W_tn W_nt/W_nn (`law.coupled`). With
its eigenvalues λ and r = P_n + (W_nt P_t + W_ns P_s)/W_nn the product of W with an impulse then is
(W_nn r, λ_t P_t + W_nt r, λ_s P_s + W_ns r), and an update that sticks divides by nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import BLOCKED, make_coupled
from hardgrain.law.rolling import make_rolling
from hardgrain.point.frame import make_frame
from hardgrain.point.inertia import TENSOR, make_inertia


class Full3D(NamedTuple):
    """Packed contact problem in 3D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 40): see the columns below
    b: np.ndarray  # (bodies, 16): v ω  1/m (3) I⁻¹ (xx yy zz yz zx xy), and one to fill two lines


# Columns. What most updates read comes first, 32 numbers in four cache lines: sweeps over many
# contacts take as long as memory does. Were the third tangent kept too, or levers l × e, it would
# be seven lines.
P = 0  # impulses along n, t and s = n × t
N, T = 3, 6
ARM1, ARM2 = 9, 12  # from both bodies to the contact
W = 15  # nn nt ns, and the eigenvalues of S along t and s
INV = 20  # 1/W_nn and those of both eigenvalues; zero where W_nn is blocked
B = 23  # biases along n, t, s
MUS, MUD, COH = 26, 27, 28
PLAIN = 29  # 1: no resistance to rolling, and no eigenvalue is locked
LEVER = 30  # of rolling, for the residual alone
# what just some contacts have
LN, LT = 32, 33  # torque impulses: along n, then the tangential vector
ROLL, TORS, MR = 36, 37, 38
FLOOR = 39  # the least eigenvalue that counts
INERTIA = 9  # the column of a body where its inverse inertia begins


@cache
def make_full_3d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact or body of a `Full3D`."""
    law_of, coupled, rolling = make_contact(jit), make_coupled(jit), make_rolling(jit)
    eigenframe, decoupled_3d = coupled.eigenframe, coupled.decoupled_3d
    normal_shift, tangent_shift, friction = (
        law_of.normal_shift,
        law_of.tangent_shift,
        law_of.friction,
    )
    cohesion, resistance = law_of.cohesion, law_of.resistance
    resist, resist_3d = rolling.resist, rolling.resist_3d
    frame = make_frame(jit)
    cross, tangent, entry = frame.cross, frame.tangent, make_inertia(jit).entry

    @jit
    def third(p, k):
        """The tangent s = n × t."""
        n, t = p.c, p.c
        return cross(n[k, N], n[k, N + 1], n[k, N + 2], t[k, T], t[k, T + 1], t[k, T + 2])

    @jit
    def in_frame(p, k, x, y, z):
        """Components of a vector along n, t and s."""
        sx, sy, sz = third(p, k)
        return (
            p.c[k, N] * x + p.c[k, N + 1] * y + p.c[k, N + 2] * z,
            p.c[k, T] * x + p.c[k, T + 1] * y + p.c[k, T + 2] * z,
            sx * x + sy * y + sz * z,
        )

    @jit
    def in_space(p, k, n, t, s):
        """The vector with given components along n, t and s."""
        sx, sy, sz = third(p, k)
        return (
            p.c[k, N] * n + p.c[k, T] * t + sx * s,
            p.c[k, N + 1] * n + p.c[k, T + 1] * t + sy * s,
            p.c[k, N + 2] * n + p.c[k, T + 2] * t + sz * s,
        )

    @jit
    def swing(p, k, arm, x, y, z):
        """The velocity at the end of an arm that a spin gives."""
        return cross(x, y, z, p.c[k, arm], p.c[k, arm + 1], p.c[k, arm + 2])

    @jit
    def torque_of(p, k, arm, x, y, z):
        """The torque impulse of an impulse at the end of an arm."""
        return cross(p.c[k, arm], p.c[k, arm + 1], p.c[k, arm + 2], x, y, z)

    @jit
    def velocity(p, k):
        """The contact velocity along n, t and s."""
        i, j = p.first[k], p.second[k]
        ax, ay, az = swing(p, k, ARM1, p.b[i, 3], p.b[i, 4], p.b[i, 5])
        bx, by, bz = swing(p, k, ARM2, p.b[j, 3], p.b[j, 4], p.b[j, 5])
        return in_frame(
            p, k, p.b[j, 0] - p.b[i, 0] + bx - ax, p.b[j, 1] - p.b[i, 1] + by - ay,
            p.b[j, 2] - p.b[i, 2] + bz - az,
        )  # fmt: skip

    @jit
    def velocity_before(p, k, motion):
        """The contact velocity that it had at the start of the step."""
        i, j = p.first[k], p.second[k]
        v, w = motion.velocity_before, motion.spin_before
        ax, ay, az = swing(p, k, ARM1, w[i, 0], w[i, 1], w[i, 2])
        bx, by, bz = swing(p, k, ARM2, w[j, 0], w[j, 1], w[j, 2])
        return in_frame(
            p, k, v[j, 0] - v[i, 0] + bx - ax, v[j, 1] - v[i, 1] + by - ay,
            v[j, 2] - v[i, 2] + bz - az,
        )  # fmt: skip

    @jit
    def w_times(p, k, q_n, q_t, q_s):
        """W q in the contact frame."""
        nn, nt, ns = p.c[k, W], p.c[k, W + 1], p.c[k, W + 2]
        r = q_n + (nt * q_t + ns * q_s) * p.c[k, INV]
        return nn * r, p.c[k, W + 3] * q_t + nt * r, p.c[k, W + 4] * q_s + ns * r

    @jit
    def force(p, k, floor):
        """The impulse that the law would have now, along n, t and s; floor: see the columns."""
        x, y, z = w_times(p, k, p.c[k, P], p.c[k, P + 1], p.c[k, P + 2])
        u, v, w = velocity(p, k)
        return decoupled_3d(
            (u + p.c[k, B] - x, v + p.c[k, B + 1] - y, w + p.c[k, B + 2] - z),
            (p.c[k, W], p.c[k, W + 1], p.c[k, W + 2]),
            (max(p.c[k, W + 3], floor), max(p.c[k, W + 4], floor), floor),
            (p.c[k, INV], p.c[k, INV + 1], p.c[k, INV + 2]),
            (p.c[k, MUS], p.c[k, MUD]),
            p.c[k, COH],
        )

    @jit
    def wanted(p, k):
        """The impulse that the law would have now: n t s, torsion, rolling (a vector)."""
        p_n, p_t, p_s = force(p, k, p.c[k, FLOOR])
        if p.c[k, ROLL] + p.c[k, TORS] == 0.0:
            return p_n, p_t, p_s, 0.0, 0.0, 0.0, 0.0
        i, j = p.first[k], p.second[k]
        nx, ny, nz = p.c[k, N], p.c[k, N + 1], p.c[k, N + 2]
        sx, sy, sz = p.b[j, 3] - p.b[i, 3], p.b[j, 4] - p.b[i, 4], p.b[j, 5] - p.b[i, 5]
        s_n = nx * sx + ny * sy + nz * sz
        held = p_n + p.c[k, COH]
        l_n = resist(p.c[k, LN], p.c[k, MR], s_n, p.c[k, TORS] * held)
        lx, ly, lz = resist_3d(
            p.c[k, LT], p.c[k, LT + 1], p.c[k, LT + 2], p.c[k, MR],
            sx - s_n * nx, sy - s_n * ny, sz - s_n * nz, p.c[k, ROLL] * held,
        )  # fmt: skip
        return p_n, p_t, p_s, l_n, lx, ly, lz

    @jit
    def present(p, k):
        """The impulse that contact k has."""
        return (
            p.c[k, P], p.c[k, P + 1], p.c[k, P + 2], p.c[k, LN], p.c[k, LT], p.c[k, LT + 1],
            p.c[k, LT + 2],
        )  # fmt: skip

    @jit
    def inverse(p, i, a, b):
        """Element (a, b) of the inverse inertia of body i."""
        return p.b[i, INERTIA + (a if a == b else TENSOR - a - b)]

    @jit
    def turned(p, i, x, y, z):
        """The spin that a torque impulse gives to body i."""
        return (
            inverse(p, i, 0, 0) * x + inverse(p, i, 0, 1) * y + inverse(p, i, 0, 2) * z,
            inverse(p, i, 1, 0) * x + inverse(p, i, 1, 1) * y + inverse(p, i, 1, 2) * z,
            inverse(p, i, 2, 0) * x + inverse(p, i, 2, 1) * y + inverse(p, i, 2, 2) * z,
        )

    # All is read before anything is written: a compiler cannot know that these are different rows.
    @jit
    def apply(p, k, push, torque):
        """Give an impulse (n, t, s) and a torque impulse (x, y, z) to the bodies of contact k."""
        i, j, (tx, ty, tz) = p.first[k], p.second[k], torque
        x, y, z = in_space(p, k, push[0], push[1], push[2])
        ax, ay, az = torque_of(p, k, ARM1, x, y, z)
        bx, by, bz = torque_of(p, k, ARM2, x, y, z)
        ax, ay, az = turned(p, i, ax + tx, ay + ty, az + tz)
        bx, by, bz = turned(p, j, bx + tx, by + ty, bz + tz)
        ax, ay, az = p.b[i, 3] - ax, p.b[i, 4] - ay, p.b[i, 5] - az
        bx, by, bz = p.b[j, 3] + bx, p.b[j, 4] + by, p.b[j, 5] + bz
        ux, uy, uz = (
            p.b[i, 0] - p.b[i, 6] * x,
            p.b[i, 1] - p.b[i, 7] * y,
            p.b[i, 2] - p.b[i, 8] * z,
        )
        x, y, z = (
            p.b[j, 0] + p.b[j, 6] * x,
            p.b[j, 1] + p.b[j, 7] * y,
            p.b[j, 2] + p.b[j, 8] * z,
        )
        p.b[i, 0], p.b[i, 1], p.b[i, 2] = ux, uy, uz
        p.b[i, 3], p.b[i, 4], p.b[i, 5] = ax, ay, az
        p.b[j, 0], p.b[j, 1], p.b[j, 2] = x, y, z
        p.b[j, 3], p.b[j, 4], p.b[j, 5] = bx, by, bz

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        l_n = q[3] - p.c[k, LN]
        torque = (
            p.c[k, N] * l_n + q[4] - p.c[k, LT],
            p.c[k, N + 1] * l_n + q[5] - p.c[k, LT + 1],
            p.c[k, N + 2] * l_n + q[6] - p.c[k, LT + 2],
        )
        apply(p, k, (q[0] - p.c[k, P], q[1] - p.c[k, P + 1], q[2] - p.c[k, P + 2]), torque)
        for a in range(3):
            p.c[k, P + a], p.c[k, LT + a] = q[a], q[4 + a]
        p.c[k, LN] = q[3]

    @jit
    def relax_contact(p, k):
        """One contact update: find the impulse its law asks for, and give it to the two bodies."""
        if p.c[k, PLAIN] == 1.0:
            n, t, s = force(p, k, 0.0)
            push = n - p.c[k, P], t - p.c[k, P + 1], s - p.c[k, P + 2]
            # Open, as before: one contact in three of boxes at rest.
            if push[0] == 0.0 and push[1] == 0.0 and push[2] == 0.0:
                return
            apply(p, k, push, (0.0, 0.0, 0.0))
            p.c[k, P], p.c[k, P + 1], p.c[k, P + 2] = n, t, s
        else:
            set_impulse(p, k, wanted(p, k))

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        x, y, z = w_times(p, k, q[0], q[1], q[2])
        r2 = 0.0
        if p.c[k, MR] > 0.0:
            r2 = (p.c[k, LEVER] / p.c[k, MR]) ** 2
        return x * x + y * y + z * z + r2 * (q[3] ** 2 + q[4] ** 2 + q[5] ** 2 + q[6] ** 2)

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i."""
        for a in range(3):
            p.b[i, a], p.b[i, 3 + a] = motion.velocity[i, a], motion.spin[i, a]
            p.b[i, 6 + a] = motion.inv_mass[i, a]
            for b in range(a, 3):
                at = INERTIA + (a if a == b else TENSOR - a - b)
                p.b[i, at] = entry(motion.inv_inertia, i, a, b)

    @jit
    def mobility(p, s, e, f):
        """W of row s between two unit vectors, from its arms."""
        i, j = p.first[s], p.second[s]
        w = 0.0
        for a in range(3):
            w += (p.b[i, 6 + a] + p.b[j, 6 + a]) * e[a] * f[a]
        x, y, z = torque_of(p, s, ARM1, e[0], e[1], e[2])
        u = torque_of(p, s, ARM1, f[0], f[1], f[2])
        u = turned(p, i, u[0], u[1], u[2])
        w += x * u[0] + y * u[1] + z * u[2]
        x, y, z = torque_of(p, s, ARM2, e[0], e[1], e[2])
        u = torque_of(p, s, ARM2, f[0], f[1], f[2])
        u = turned(p, j, u[0], u[1], u[2])
        return w + x * u[0] + y * u[1] + z * u[2]

    @jit
    def pack_frame(p, s, k, rows):
        """Write the frame, the arms and W of row s; its tangents are the axes of S."""
        n = rows.normal[k, 0], rows.normal[k, 1], rows.normal[k, 2]
        t = tangent(n[0], n[1], n[2])
        r = cross(n[0], n[1], n[2], t[0], t[1], t[2])
        for a in range(3):
            p.c[s, N + a], p.c[s, T + a] = n[a], t[a]
            p.c[s, ARM1 + a], p.c[s, ARM2 + a] = rows.arm_first[k, a], rows.arm_second[k, a]
        w = (
            mobility(p, s, n, n), mobility(p, s, n, t), mobility(p, s, n, r),
            mobility(p, s, t, t), mobility(p, s, t, r), mobility(p, s, r, r),
        )  # fmt: skip
        nn, nt, ns, l1, l2 = w[0], w[1], w[2], w[3], w[5]
        p.c[s, FLOOR], p.c[s, PLAIN] = 0.0, 1.0
        p.c[s, INV], p.c[s, INV + 1], p.c[s, INV + 2] = 0.0, 0.0, 0.0
        if nn > BLOCKED * (l1 + l2):
            x, y, l1, l2, floor = eigenframe(w)
            for a in range(3):
                p.c[s, T + a] = x * t[a] + y * r[a]
            nt, ns = x * nt + y * ns, x * ns - y * nt
            p.c[s, INV], p.c[s, FLOOR] = 1.0 / nn, floor
            p.c[s, INV + 1], p.c[s, INV + 2] = 1.0 / max(l1, floor), 1.0 / max(l2, floor)
            if l2 <= floor:
                p.c[s, PLAIN] = 0.0
        p.c[s, W], p.c[s, W + 1], p.c[s, W + 2] = nn, nt, ns
        p.c[s, W + 3], p.c[s, W + 4] = l1, l2

    @jit
    def pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Write what the law of contact k says for row s, whose frame is known."""
        law, gap = laws[rows.law[k]], rows.gap[k]
        before = velocity_before(p, s, motion)
        p.c[s, B] = normal_shift(law, gap, velocity(p, s)[0], before[0], dt, remove_overlaps)
        p.c[s, B + 1] = tangent_shift(law, before[1])
        p.c[s, B + 2] = tangent_shift(law, before[2])
        p.c[s, MUS], p.c[s, MUD] = friction(law)
        p.c[s, COH] = cohesion(law, gap, dt)
        p.c[s, LEVER] = rows.roll[k]
        p.c[s, ROLL], p.c[s, TORS] = resistance(law, p.c[s, LEVER])
        if p.c[s, ROLL] + p.c[s, TORS] > 0.0:
            p.c[s, PLAIN] = 0.0
        i, j, w_r = p.first[s], p.second[s], 0.0
        for a in range(3):  # the largest row sum of a matrix bounds what it can stretch a vector by
            row = 0.0
            for b in range(3):
                row += abs(inverse(p, i, a, b) + inverse(p, j, a, b))
            w_r = max(w_r, row)
        p.c[s, MR] = 1.0 / w_r if w_r > 0.0 and p.c[s, ROLL] + p.c[s, TORS] > 0.0 else 0.0

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        pack_frame(p, s, k, rows)
        pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps)
        push, torque = rows.impulse, rows.torque
        p.c[s, P], p.c[s, P + 1], p.c[s, P + 2] = in_frame(p, s, push[k, 0], push[k, 1], push[k, 2])
        l_n = 0.0
        for a in range(3):
            l_n += rows.normal[k, a] * torque[k, a]
        p.c[s, LN] = l_n
        for a in range(3):
            p.c[s, LT + a] = torque[k, a] - l_n * rows.normal[k, a]
            if torque[k, a] != 0.0:
                p.c[s, PLAIN] = 0.0

    @jit
    def start(p, s):
        """Give the bodies the impulses that row s was packed with."""
        torque = (
            p.c[s, N] * p.c[s, LN] + p.c[s, LT],
            p.c[s, N + 1] * p.c[s, LN] + p.c[s, LT + 1],
            p.c[s, N + 2] * p.c[s, LN] + p.c[s, LT + 2],
        )
        apply(p, s, (p.c[s, P], p.c[s, P + 1], p.c[s, P + 2]), torque)

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and the spin of body i."""
        for a in range(3):
            velocity[i, a], spin[i, a] = p.b[i, a], p.b[i, 3 + a]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse and the torque impulse of row s to contact k."""
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = in_space(
            p, s, p.c[s, P], p.c[s, P + 1], p.c[s, P + 2]
        )
        for a in range(3):
            torque[k, a] = p.c[s, N + a] * p.c[s, LN] + p.c[s, LT + a]

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact,
    )  # fmt: skip
