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
    c: np.ndarray  # (m, 56): see the columns below; a multiple of 8, which are a cache line
    b: np.ndarray  # (bodies, 15): v ω  1/m (3) I⁻¹ (xx yy zz yz zx xy)


# columns: impulses (n t s), torque impulses (n, then the tangential vector), frame, levers, W, …
P, LN, LT = 0, 3, 4
E = 7  # n, t, s: three rows of three
A1, A2 = 16, 25  # l_i × e and l_j × e for e = n, t, s
W = 34  # nn nt ns, and the eigenvalues of S along t and s
S = 39  # these eigenvalues, not below the least that counts, and this
INV = 42  # 1/W_nn and those of both eigenvalues; zero where W_nn is blocked
B = 45  # biases along n, t, s
MUS, MUD, COH, ROLL, TORS, ARM, MR = range(48, 55)
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
    def velocity(p, k, along):
        """Component of the contact velocity along n (0), t (1) or s (2)."""
        i, j = p.first[k], p.second[k]
        e, one, two = E + 3 * along, A1 + 3 * along, A2 + 3 * along
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

    @jit
    def velocity_before(p, k, along, motion):
        """The component that it had at the start of the step."""
        i, j = p.first[k], p.second[k]
        e, one, two = E + 3 * along, A1 + 3 * along, A2 + 3 * along
        u = 0.0
        for a in range(3):
            u += p.c[k, e + a] * (motion.velocity_before[j, a] - motion.velocity_before[i, a])
            u += p.c[k, two + a] * motion.spin_before[j, a]
            u -= p.c[k, one + a] * motion.spin_before[i, a]
        return u

    @jit
    def w_times(p, k, q_n, q_t, q_s):
        """W q in the contact frame."""
        nn, nt, ns = p.c[k, W], p.c[k, W + 1], p.c[k, W + 2]
        r = q_n + (nt * q_t + ns * q_s) * p.c[k, INV]
        return nn * r, p.c[k, W + 3] * q_t + nt * r, p.c[k, W + 4] * q_s + ns * r

    @jit
    def wanted(p, k):
        """The impulse that the law would have now: n t s, torsion, rolling (a vector)."""
        x, y, z = w_times(p, k, p.c[k, P], p.c[k, P + 1], p.c[k, P + 2])
        pull = p.c[k, COH]
        p_n, p_t, p_s = decoupled_3d(
            (
                velocity(p, k, 0) + p.c[k, B] - x,
                velocity(p, k, 1) + p.c[k, B + 1] - y,
                velocity(p, k, 2) + p.c[k, B + 2] - z,
            ),
            (p.c[k, W], p.c[k, W + 1], p.c[k, W + 2]),
            (p.c[k, S], p.c[k, S + 1], p.c[k, S + 2]),
            (p.c[k, INV], p.c[k, INV + 1], p.c[k, INV + 2]),
            (p.c[k, MUS], p.c[k, MUD]),
            pull,
        )
        if p.c[k, ROLL] + p.c[k, TORS] == 0.0:
            return p_n, p_t, p_s, 0.0, 0.0, 0.0, 0.0
        i, j = p.first[k], p.second[k]
        nx, ny, nz = p.c[k, E], p.c[k, E + 1], p.c[k, E + 2]
        sx, sy, sz = p.b[j, 3] - p.b[i, 3], p.b[j, 4] - p.b[i, 4], p.b[j, 5] - p.b[i, 5]
        s_n = nx * sx + ny * sy + nz * sz
        held = p_n + pull
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
            p.c[k, 0], p.c[k, 1], p.c[k, 2], p.c[k, 3], p.c[k, 4], p.c[k, 5], p.c[k, 6],
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

    @jit
    def lever_sum(p, k, at, d, a):
        """Component a of the torque impulse about a body whose levers begin at a column."""
        turn = p.c[k, E + a] * d[3] + d[4 + a]
        one = at + a
        return p.c[k, one] * d[0] + p.c[k, one + 3] * d[1] + p.c[k, one + 6] * d[2] + turn

    @jit
    def pushed(p, k, d, a):
        """Component a of the impulse from the first body to the second."""
        return p.c[k, E + a] * d[0] + p.c[k, E + 3 + a] * d[1] + p.c[k, E + 6 + a] * d[2]

    # All is read before anything is written: a compiler cannot know that these are different rows.
    @jit
    def apply(p, k, d):
        """Give impulses and torque impulses to the two bodies of contact k."""
        i, j = p.first[k], p.second[k]
        push = pushed(p, k, d, 0), pushed(p, k, d, 1), pushed(p, k, d, 2)
        one = turned(
            p, i, lever_sum(p, k, A1, d, 0), lever_sum(p, k, A1, d, 1), lever_sum(p, k, A1, d, 2)
        )
        two = turned(
            p, j, lever_sum(p, k, A2, d, 0), lever_sum(p, k, A2, d, 1), lever_sum(p, k, A2, d, 2)
        )
        u = p.b[i, 0] - p.b[i, 6] * push[0], p.b[i, 3] - one[0]
        v = p.b[i, 1] - p.b[i, 7] * push[1], p.b[i, 4] - one[1]
        w = p.b[i, 2] - p.b[i, 8] * push[2], p.b[i, 5] - one[2]
        x = p.b[j, 0] + p.b[j, 6] * push[0], p.b[j, 3] + two[0]
        y = p.b[j, 1] + p.b[j, 7] * push[1], p.b[j, 4] + two[1]
        z = p.b[j, 2] + p.b[j, 8] * push[2], p.b[j, 5] + two[2]
        p.b[i, 0], p.b[i, 1], p.b[i, 2] = u[0], v[0], w[0]
        p.b[i, 3], p.b[i, 4], p.b[i, 5] = u[1], v[1], w[1]
        p.b[j, 0], p.b[j, 1], p.b[j, 2] = x[0], y[0], z[0]
        p.b[j, 3], p.b[j, 4], p.b[j, 5] = x[1], y[1], z[1]

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        old = present(p, k)
        d = (
            q[0] - old[0], q[1] - old[1], q[2] - old[2], q[3] - old[3],
            q[4] - old[4], q[5] - old[5], q[6] - old[6],
        )  # fmt: skip
        apply(p, k, d)
        for a in range(7):
            p.c[k, a] = q[a]

    @jit
    def relax_contact(p, k):
        """One contact update: find the impulse its law asks for, and give it to the two bodies."""
        set_impulse(p, k, wanted(p, k))

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        x, y, z = w_times(p, k, q[0], q[1], q[2])
        r2 = 0.0
        if p.c[k, MR] > 0.0:
            r2 = (p.c[k, ARM] / p.c[k, MR]) ** 2
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
    def pack_frame(p, s, k, rows):
        """Write the frame and the levers of row s."""
        nx, ny, nz = rows.normal[k, 0], rows.normal[k, 1], rows.normal[k, 2]
        tx, ty, tz = tangent(nx, ny, nz)
        sx, sy, sz = cross(nx, ny, nz, tx, ty, tz)
        p.c[s, E], p.c[s, E + 1], p.c[s, E + 2] = nx, ny, nz
        p.c[s, E + 3], p.c[s, E + 4], p.c[s, E + 5] = tx, ty, tz
        p.c[s, E + 6], p.c[s, E + 7], p.c[s, E + 8] = sx, sy, sz
        for e in range(3):
            at = 3 * e
            ex, ey, ez = p.c[s, E + at], p.c[s, E + at + 1], p.c[s, E + at + 2]
            lx, ly, lz = rows.arm_first[k, 0], rows.arm_first[k, 1], rows.arm_first[k, 2]
            lx, ly, lz = cross(lx, ly, lz, ex, ey, ez)
            p.c[s, A1 + at], p.c[s, A1 + at + 1], p.c[s, A1 + at + 2] = lx, ly, lz
            lx, ly, lz = rows.arm_second[k, 0], rows.arm_second[k, 1], rows.arm_second[k, 2]
            lx, ly, lz = cross(lx, ly, lz, ex, ey, ez)
            p.c[s, A2 + at], p.c[s, A2 + at + 1], p.c[s, A2 + at + 2] = lx, ly, lz

    @jit
    def mobility(p, s, e, f):
        """Element (e, f) of W of row s, from its frame and levers."""
        i, j = p.first[s], p.second[s]
        w = 0.0
        for a in range(3):
            along, across = 3 * e + a, 3 * f + a
            w += (p.b[i, 6 + a] + p.b[j, 6 + a]) * p.c[s, E + along] * p.c[s, E + across]
            for b in range(3):
                across = 3 * f + b
                w += inverse(p, i, a, b) * p.c[s, A1 + along] * p.c[s, A1 + across]
                w += inverse(p, j, a, b) * p.c[s, A2 + along] * p.c[s, A2 + across]
        return w

    @jit
    def rotate(p, s, at, x, y):
        """Turn the vectors of row s that belong to its tangents, of which the first is ``at``."""
        for a in range(at, at + 3):
            one, two = p.c[s, a], p.c[s, a + 3]
            p.c[s, a], p.c[s, a + 3] = x * one + y * two, x * two - y * one

    @jit
    def pack_mobility(p, s):
        """Write W of row s, whose tangents become the axes of S."""
        w = (
            mobility(p, s, 0, 0), mobility(p, s, 0, 1), mobility(p, s, 0, 2),
            mobility(p, s, 1, 1), mobility(p, s, 1, 2), mobility(p, s, 2, 2),
        )  # fmt: skip
        nn, nt, ns = w[0], w[1], w[2]
        p.c[s, W], p.c[s, W + 1], p.c[s, W + 2] = nn, nt, ns
        p.c[s, INV], p.c[s, INV + 1], p.c[s, INV + 2] = 0.0, 0.0, 0.0
        if nn <= BLOCKED * (w[3] + w[5]):
            p.c[s, W + 3], p.c[s, W + 4] = w[3], w[5]
            return
        x, y, l1, l2, floor = eigenframe(w)
        rotate(p, s, E + 3, x, y)
        rotate(p, s, A1 + 3, x, y)
        rotate(p, s, A2 + 3, x, y)
        p.c[s, W + 1], p.c[s, W + 2] = x * nt + y * ns, x * ns - y * nt
        p.c[s, W + 3], p.c[s, W + 4] = l1, l2
        l1, l2 = max(l1, floor), max(l2, floor)
        p.c[s, S], p.c[s, S + 1], p.c[s, S + 2] = l1, l2, floor
        p.c[s, INV], p.c[s, INV + 1], p.c[s, INV + 2] = 1.0 / nn, 1.0 / l1, 1.0 / l2

    @jit
    def pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Write what the law of contact k says for row s, whose levers are known."""
        law, gap = laws[rows.law[k]], rows.gap[k]
        free_n, before_n = velocity(p, s, 0), velocity_before(p, s, 0, motion)
        p.c[s, B] = normal_shift(law, gap, free_n, before_n, dt, remove_overlaps)
        p.c[s, B + 1] = tangent_shift(law, velocity_before(p, s, 1, motion))
        p.c[s, B + 2] = tangent_shift(law, velocity_before(p, s, 2, motion))
        p.c[s, MUS], p.c[s, MUD] = friction(law)
        p.c[s, COH] = cohesion(law, gap, dt)
        p.c[s, ARM] = rows.roll[k]
        p.c[s, ROLL], p.c[s, TORS] = resistance(law, p.c[s, ARM])
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
        pack_mobility(p, s)
        pack_law(p, s, k, rows, motion, laws, dt, remove_overlaps)
        for e in range(4):
            p.c[s, P + e] = 0.0  # n, t, s and torsion
        for a in range(3):
            for e in range(3):
                p.c[s, P + e] += p.c[s, E + 3 * e + a] * rows.impulse[k, a]
            p.c[s, LN] += rows.normal[k, a] * rows.torque[k, a]
        for a in range(3):
            p.c[s, LT + a] = rows.torque[k, a] - p.c[s, LN] * rows.normal[k, a]

    @jit
    def start(p, s):
        """Give the bodies the impulses that row s was packed with."""
        apply(p, s, present(p, s))

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity and the spin of body i."""
        for a in range(3):
            velocity[i, a], spin[i, a] = p.b[i, a], p.b[i, 3 + a]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse and the torque impulse of row s to contact k."""
        for a in range(3):
            n, t, s_a = p.c[s, E + a], p.c[s, E + 3 + a], p.c[s, E + 6 + a]
            impulse[k, a] = n * p.c[s, P] + t * p.c[s, P + 1] + s_a * p.c[s, P + 2]
            torque[k, a] = n * p.c[s, LN] + p.c[s, LT + a]

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact,
    )  # fmt: skip
