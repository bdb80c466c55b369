"""Contacts with a full effective-mass matrix and every law in 3D.

A contact has the impulse P, a vector in space, and its velocity V changes with it by W (review,
eq. 15). With K = W⁻¹ and the bias b n, which is the gap speed and the rebound,

    P* = P − K (V + b n)

is the impulse with which it would stick. It says all that the law asks (`law.coupled`): the
velocity without the contact's own impulse is U = −W P*, so that the contact is open if
n·U = −(W n)·P* > 0; it sticks if P* lies in the cone of friction; and P* in the contact frame is
what sliding is solved from. So most updates need arms, K, W n and no frame.

The tangents t and s = n × t of a frame are the axes of S = W_tt − W_tn W_nt/W_nn. With its
eigenvalues λ and y = e − n W_ne/W_nn of a tangent e

    K = n nᵀ/W_nn + y_t y_tᵀ/λ_t + y_s y_sᵀ/λ_s.

Where W is singular, or the law has cohesion or rebounds along the tangents, K is not asked. With
r = P_n + (W_nt P_t + W_ns P_s)/W_nn the product of W with an impulse is (W_nn r,
λ_t P_t + W_nt r, λ_s P_s + W_ns r).

Rolling and torsion impulses follow the fresh normal impulse, with the largest inverse inertia as
their scale: the fixed point does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import BLOCKED, make_coupled
from hardgrain.law.rolling import make_rolling
from hardgrain.point.frame import make_frame
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.point.row_3d import (
    ANY,
    ARM1,
    ARM2,
    BT,
    COH,
    FLOOR,
    INERTIA,
    INN,
    INV,
    KIND,
    LEVER,
    LN,
    LT,
    MR,
    MUD,
    MUS,
    NN,
    PLAIN,
    RESISTED,
    ROLL,
    TORS,
    WN,
    B,
    Full3D,
    K,
    N,
    P,
    T,
    W,
    make_row_3d,
)

__all__ = ["Full3D", "make_full_3d"]


@cache
def make_full_3d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact or body of a `Full3D`."""
    law_of, coupled, rolling = make_contact(jit), make_coupled(jit), make_rolling(jit)
    eigenframe, decoupled_3d, slid_3d = (
        coupled.eigenframe,
        coupled.decoupled_3d,
        coupled.slid_3d,
    )
    normal_shift, tangent_shift, friction = (
        law_of.normal_shift,
        law_of.tangent_shift,
        law_of.friction,
    )
    cohesion, resistance = law_of.cohesion, law_of.resistance
    resist, resist_3d = rolling.resist, rolling.resist_3d
    cross, tangent = make_frame(jit).cross, make_frame(jit).tangent
    entry, row = make_inertia(jit).entry, make_row_3d(jit)
    in_frame, in_space, third, apply = row.in_frame, row.in_space, row.third, row.apply
    velocity, velocity_before, torque_of = row.velocity, row.velocity_before, row.torque_of
    inverse, turned = row.inverse, row.turned

    @jit
    def w_times(p, k, q_n, q_t, q_s):
        """W q in the contact frame."""
        nt, ns = p.c[k, W], p.c[k, W + 1]
        r = q_n + (nt * q_t + ns * q_s) * p.c[k, INN]
        return p.c[k, NN] * r, p.c[k, W + 2] * q_t + nt * r, p.c[k, W + 3] * q_s + ns * r

    @jit
    def dry(p, k):
        """The impulse that dry friction would have now, a vector in space."""
        u, v, w = velocity(p, k)
        nx, ny, nz, b = p.c[k, N], p.c[k, N + 1], p.c[k, N + 2], p.c[k, B]
        u, v, w = u + b * nx, v + b * ny, w + b * nz
        xx, yy, zz = p.c[k, K], p.c[k, K + 1], p.c[k, K + 2]
        yz, zx, xy = p.c[k, K + 3], p.c[k, K + 4], p.c[k, K + 5]
        x = p.c[k, P] - (xx * u + xy * v + zx * w)
        y = p.c[k, P + 1] - (xy * u + yy * v + yz * w)
        z = p.c[k, P + 2] - (zx * u + yz * v + zz * w)
        pull = p.c[k, WN] * x + p.c[k, WN + 1] * y + p.c[k, WN + 2] * z
        if pull < 0.0:
            return 0.0, 0.0, 0.0
        p_n = nx * x + ny * y + nz * z
        tx, ty, tz = x - p_n * nx, y - p_n * ny, z - p_n * nz
        limit = p.c[k, MUS] * p_n
        if p_n >= 0.0 and tx * tx + ty * ty + tz * tz <= limit * limit:
            return x, y, z
        return slid(p, k, (x, y, z), pull)

    @jit
    def slid(p, k, stick, pull):
        """The impulse of a contact that cannot stick with an impulse, whose pull is −U_n."""
        _, p_t, p_s = in_frame(p, k, stick[0], stick[1], stick[2])
        l1, l2, i_nn = p.c[k, W + 2], p.c[k, W + 3], p.c[k, INN]
        n, t, s = slid_3d(
            -pull * i_nn, (l1 * p_t, l2 * p_s), (p.c[k, W], p.c[k, W + 1]), (l1, l2), i_nn,
            p.c[k, MUD],
        )  # fmt: skip
        return in_space(p, k, n, t, s)

    @jit
    def any_force(p, k):
        """The impulse that any law would have now, along n, t and s."""
        q_n, q_t, q_s = in_frame(p, k, p.c[k, P], p.c[k, P + 1], p.c[k, P + 2])
        x, y, z = w_times(p, k, q_n, q_t, q_s)
        u, v, w = velocity(p, k)
        u, v, w = in_frame(p, k, u, v, w)
        floor = p.c[k, FLOOR]
        return decoupled_3d(
            (u + p.c[k, B] - x, v + p.c[k, BT] - y, w + p.c[k, BT + 1] - z),
            (p.c[k, NN], p.c[k, W], p.c[k, W + 1]),
            (max(p.c[k, W + 2], floor), max(p.c[k, W + 3], floor), floor),
            (p.c[k, INN], p.c[k, INV], p.c[k, INV + 1]),
            (p.c[k, MUS], p.c[k, MUD]),
            p.c[k, COH],
        )

    @jit
    def resistance_to(p, k, p_n):
        """The torque impulses that go with a normal impulse: torsion, rolling (a vector)."""
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
        return l_n, lx, ly, lz

    @jit
    def force(p, k):
        """The impulse that the law would have now, a vector in space."""
        if p.c[k, KIND] != ANY:
            return dry(p, k)
        n, t, s = any_force(p, k)
        return in_space(p, k, n, t, s)

    @jit
    def wanted(p, k):
        """The impulse that the law would have now: n t s, torsion, rolling (a vector)."""
        x, y, z = force(p, k)
        p_n, p_t, p_s = in_frame(p, k, x, y, z)
        if p.c[k, ROLL] + p.c[k, TORS] == 0.0:
            return p_n, p_t, p_s, 0.0, 0.0, 0.0, 0.0
        l_n, lx, ly, lz = resistance_to(p, k, p_n)
        return p_n, p_t, p_s, l_n, lx, ly, lz

    @jit
    def present(p, k):
        """The impulse that contact k has: n t s, torsion, rolling (a vector)."""
        n, t, s = in_frame(p, k, p.c[k, P], p.c[k, P + 1], p.c[k, P + 2])
        return n, t, s, p.c[k, LN], p.c[k, LT], p.c[k, LT + 1], p.c[k, LT + 2]

    @jit
    def give(p, k, push, torque):
        """Give contact k an impulse and torque impulses (torsion, rolling), and its bodies."""
        (x, y, z), (l_n, lx, ly, lz) = push, torque
        d_n = l_n - p.c[k, LN]
        turn = (
            p.c[k, N] * d_n + lx - p.c[k, LT],
            p.c[k, N + 1] * d_n + ly - p.c[k, LT + 1],
            p.c[k, N + 2] * d_n + lz - p.c[k, LT + 2],
        )
        apply(p, k, (x - p.c[k, P], y - p.c[k, P + 1], z - p.c[k, P + 2]), turn)
        p.c[k, P], p.c[k, P + 1], p.c[k, P + 2] = x, y, z
        p.c[k, LN], p.c[k, LT], p.c[k, LT + 1], p.c[k, LT + 2] = l_n, lx, ly, lz

    @jit
    def impulse_of(p, k):
        """The impulse that contact k has, a vector in space."""
        return p.c[k, P], p.c[k, P + 1], p.c[k, P + 2]

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        give(p, k, in_space(p, k, q[0], q[1], q[2]), (q[3], q[4], q[5], q[6]))

    # One contact in three of boxes at rest. That it has no impulse is known before its velocity is.
    @jit
    def stays_open(p, k):
        """Whether contact k has no impulse and opens: then U = V + b n."""
        if p.c[k, P] != 0.0 or p.c[k, P + 1] != 0.0 or p.c[k, P + 2] != 0.0:
            return False
        x, y, z = velocity(p, k)
        return p.c[k, N] * x + p.c[k, N + 1] * y + p.c[k, N + 2] * z + p.c[k, B] > 0.0

    @jit
    def relax_contact(p, k):
        """One contact update: find the impulse its law asks for, and give it to the two bodies."""
        if p.c[k, KIND] == PLAIN:
            if stays_open(p, k):
                return
            x, y, z = dry(p, k)
            push = x - p.c[k, P], y - p.c[k, P + 1], z - p.c[k, P + 2]
            apply(p, k, push, (0.0, 0.0, 0.0))
            p.c[k, P], p.c[k, P + 1], p.c[k, P + 2] = x, y, z
        else:
            x, y, z = force(p, k)
            p_n = p.c[k, N] * x + p.c[k, N + 1] * y + p.c[k, N + 2] * z
            give(p, k, (x, y, z), resistance_to(p, k, p_n))

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
        """Write the frame, the arms, W and K of row s; its tangents are the axes of S."""
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
        p.c[s, FLOOR], p.c[s, KIND] = 0.0, ANY
        p.c[s, INN], p.c[s, INV], p.c[s, INV + 1] = 0.0, 0.0, 0.0
        if nn > BLOCKED * (l1 + l2):
            x, y, l1, l2, floor = eigenframe(w)
            for a in range(3):
                p.c[s, T + a] = x * t[a] + y * r[a]
            nt, ns = x * nt + y * ns, x * ns - y * nt
            p.c[s, INN], p.c[s, FLOOR] = 1.0 / nn, floor
            p.c[s, INV], p.c[s, INV + 1] = 1.0 / max(l1, floor), 1.0 / max(l2, floor)
            if l2 > floor:
                p.c[s, KIND] = PLAIN
        p.c[s, NN], p.c[s, W], p.c[s, W + 1], p.c[s, W + 2], p.c[s, W + 3] = nn, nt, ns, l1, l2
        pack_inverse(p, s)

    @jit
    def pack_inverse(p, s):
        """Write W n and K of row s, whose frame is known."""
        tx, ty, tz = p.c[s, T], p.c[s, T + 1], p.c[s, T + 2]
        sx, sy, sz = third(p, s)
        nx, ny, nz = p.c[s, N], p.c[s, N + 1], p.c[s, N + 2]
        nn, nt, ns, i_nn = p.c[s, NN], p.c[s, W], p.c[s, W + 1], p.c[s, INN]
        p.c[s, WN] = nn * nx + nt * tx + ns * sx
        p.c[s, WN + 1] = nn * ny + nt * ty + ns * sy
        p.c[s, WN + 2] = nn * nz + nt * tz + ns * sz
        g, h, i_t, i_s = nt * i_nn, ns * i_nn, p.c[s, INV], p.c[s, INV + 1]
        tx, ty, tz = tx - g * nx, ty - g * ny, tz - g * nz
        sx, sy, sz = sx - h * nx, sy - h * ny, sz - h * nz
        p.c[s, K] = i_nn * nx * nx + i_t * tx * tx + i_s * sx * sx
        p.c[s, K + 1] = i_nn * ny * ny + i_t * ty * ty + i_s * sy * sy
        p.c[s, K + 2] = i_nn * nz * nz + i_t * tz * tz + i_s * sz * sz
        p.c[s, K + 3] = i_nn * ny * nz + i_t * ty * tz + i_s * sy * sz
        p.c[s, K + 4] = i_nn * nz * nx + i_t * tz * tx + i_s * sz * sx
        p.c[s, K + 5] = i_nn * nx * ny + i_t * tx * ty + i_s * sx * sy

    @jit
    def pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Write what the law of contact k says for row s, whose frame is known."""
        law, gap = laws[rows.law[k]], rows.gap[k]
        u, v, w = velocity_before(p, s, motion)
        before = in_frame(p, s, u, v, w)
        u, v, w = velocity(p, s)
        free = p.c[s, N] * u + p.c[s, N + 1] * v + p.c[s, N + 2] * w
        p.c[s, B] = normal_shift(law, gap, free, before[0], dt, remove_overlaps)
        p.c[s, BT], p.c[s, BT + 1] = tangent_shift(law, before[1]), tangent_shift(law, before[2])
        p.c[s, MUS], p.c[s, MUD] = friction(law)
        p.c[s, COH] = cohesion(law, gap, dt)
        p.c[s, LEVER] = rows.roll[k]
        p.c[s, ROLL], p.c[s, TORS] = resistance(law, p.c[s, LEVER])
        p.c[s, MR] = 0.0
        if p.c[s, ROLL] + p.c[s, TORS] > 0.0:
            p.c[s, MR] = scale_of_turning(p, p.first[s], p.second[s])

    @jit
    def scale_of_turning(p, i, j):
        """The torque impulse that changes the relative spin of two bodies by one, or less."""
        w_r = 0.0
        for a in range(3):  # the largest row sum of a matrix bounds what it can stretch a vector by
            row = 0.0
            for b in range(3):
                row += abs(inverse(p, i, a, b) + inverse(p, j, a, b))
            w_r = max(w_r, row)
        return 1.0 / w_r if w_r > 0.0 else 0.0

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k."""
        pack_frame(p, s, k, rows)
        pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps)
        torque, l_n, turns = rows.torque, 0.0, p.c[s, ROLL] + p.c[s, TORS] > 0.0
        for a in range(3):
            l_n += rows.normal[k, a] * torque[k, a]
        p.c[s, LN] = l_n
        for a in range(3):
            p.c[s, P + a] = rows.impulse[k, a]
            p.c[s, LT + a] = torque[k, a] - l_n * rows.normal[k, a]
            turns = turns or torque[k, a] != 0.0
        if p.c[s, COH] != 0.0 or p.c[s, BT] != 0.0 or p.c[s, BT + 1] != 0.0:
            p.c[s, KIND] = ANY
        elif p.c[s, KIND] == PLAIN and turns:
            p.c[s, KIND] = RESISTED

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
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = impulse_of(p, s)
        for a in range(3):
            torque[k, a] = p.c[s, N + a] * p.c[s, LN] + p.c[s, LT + a]

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact, impulse_of=impulse_of,
    )  # fmt: skip
