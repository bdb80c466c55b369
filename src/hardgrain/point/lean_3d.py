"""Contacts of spheres whose inertia is diagonal: the fast path in 3D; see `lean_2d`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import LOCKED
from hardgrain.law.friction import make_friction
from hardgrain.law.shock import make_shock


class Lean3D(NamedTuple):
    """Packed contact problem in 3D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32, a body or a ghost
    c: np.ndarray  # (m, 12): n  P_n P_t  bias m_n m_t µ  share of second
    b: np.ndarray  # (bodies + ghosts, 8): v ψ  1/m k
    r: np.ndarray = np.zeros(0)  # (bodies,) length of the arms


# columns: contacts, then bodies
NX, NY, NZ, PN, PX, PY, PZ, BIAS, MN, MT, MU, TJ = range(12)
IM, K = 6, 7


@cache
def make_lean_3d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact or body of a `Lean3D`."""
    push, stick_or_slide_share = make_shock(jit).push, make_friction(jit).stick_or_slide_share
    contact = make_contact(jit)
    normal_shift, friction = contact.normal_shift, contact.friction

    # (x, y, z): see `point.lean_2d`.
    @jit
    def update(p, k, x, y, z):
        """The impulse that the law of contact k would have now, its tangential part a vector."""
        i, j = p.first[k], p.second[k]
        nx, ny, nz = p.c[k, NX], p.c[k, NY], p.c[k, NZ]
        sx, sy, sz = p.b[i, 3] + p.b[j, 3], p.b[i, 4] + p.b[j, 4], p.b[i, 5] + p.b[j, 5]
        dx = p.b[j, 0] - p.b[i, 0] + x - (sy * nz - sz * ny)
        dy = p.b[j, 1] - p.b[i, 1] + y - (sz * nx - sx * nz)
        dz = p.b[j, 2] - p.b[i, 2] + z - (sx * ny - sy * nx)
        u_n = nx * dx + ny * dy + nz * dz
        p_n = push(p.c[k, PN], p.c[k, MN], u_n, p.c[k, BIAS])
        mt = p.c[k, MT]
        qx = p.c[k, PX] - mt * (dx - u_n * nx)
        qy = p.c[k, PY] - mt * (dy - u_n * ny)
        qz = p.c[k, PZ] - mt * (dz - u_n * nz)
        limit = p.c[k, MU] * p_n
        f = stick_or_slide_share(qx * qx + qy * qy + qz * qz, limit, limit)
        return p_n, f * qx, f * qy, f * qz

    @jit
    def apply(p, k, d_n, tx, ty, tz):
        """Give an impulse to the two bodies of contact k.

        All is read before anything is written. A compiler must assume that two rows may be the
        same, and would otherwise wait for one to be written before it reads the next.
        """
        i, j = p.first[k], p.second[k]
        nx, ny, nz = p.c[k, NX], p.c[k, NY], p.c[k, NZ]
        rx, ry, rz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx  # n × P
        mi, ki, mj, kj, share = p.b[i, IM], p.b[i, K], p.b[j, IM], p.b[j, K], p.c[k, TJ]
        vx, vy, vz = p.b[i, 0], p.b[i, 1], p.b[i, 2]
        sx, sy, sz = p.b[i, 3], p.b[i, 4], p.b[i, 5]
        ux, uy, uz = p.b[j, 0], p.b[j, 1], p.b[j, 2]
        wx, wy, wz = p.b[j, 3], p.b[j, 4], p.b[j, 5]
        p.b[i, 0] = vx - mi * (d_n * nx + tx)
        p.b[i, 1] = vy - mi * (d_n * ny + ty)
        p.b[i, 2] = vz - mi * (d_n * nz + tz)
        p.b[i, 3], p.b[i, 4], p.b[i, 5] = sx - ki * rx, sy - ki * ry, sz - ki * rz
        p.b[j, 0] = ux + mj * (d_n * nx + share * tx)
        p.b[j, 1] = uy + mj * (d_n * ny + share * ty)
        p.b[j, 2] = uz + mj * (d_n * nz + share * tz)
        p.b[j, 3], p.b[j, 4], p.b[j, 5] = wx - kj * rx, wy - kj * ry, wz - kj * rz

    @jit
    def relax_with_image(p, k, x, y, z):
        """One contact update: find the impulse its law asks for, and give it to the two bodies.

        Returns how the impulse has changed, a vector in space.
        """
        p_n, px, py, pz = update(p, k, x, y, z)
        d_n, dx = p_n - p.c[k, PN], px - p.c[k, PX]
        dy, dz = py - p.c[k, PY], pz - p.c[k, PZ]
        apply(p, k, d_n, dx, dy, dz)
        p.c[k, PN], p.c[k, PX], p.c[k, PY], p.c[k, PZ] = p_n, px, py, pz
        nx, ny, nz = p.c[k, NX], p.c[k, NY], p.c[k, NZ]
        return d_n * nx + dx, d_n * ny + dy, d_n * nz + dz

    @jit
    def relax_contact(p, k):
        """One contact update where there is no cell that deforms."""
        relax_with_image(p, k, 0.0, 0.0, 0.0)

    @jit
    def wanted_with_image(p, k, x, y, z):
        """The impulse that the law would have now, padded to seven components."""
        p_n, px, py, pz = update(p, k, x, y, z)
        return p_n, px, py, pz, 0.0, 0.0, 0.0

    @jit
    def wanted(p, k):
        """The same where there is no cell that deforms."""
        return wanted_with_image(p, k, 0.0, 0.0, 0.0)

    @jit
    def present(p, k):
        """The impulse that contact k has, padded to seven components."""
        return p.c[k, PN], p.c[k, PX], p.c[k, PY], p.c[k, PZ], 0.0, 0.0, 0.0

    @jit
    def impulse_of(p, k):
        """The impulse that contact k has, a vector in space."""
        p_n = p.c[k, PN]
        return (
            p_n * p.c[k, NX] + p.c[k, PX],
            p_n * p.c[k, NY] + p.c[k, PY],
            p_n * p.c[k, NZ] + p.c[k, PZ],
        )

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        d_n, dx = q[0] - p.c[k, PN], q[1] - p.c[k, PX]
        dy, dz = q[2] - p.c[k, PY], q[3] - p.c[k, PZ]
        p.c[k, PN], p.c[k, PX], p.c[k, PY], p.c[k, PZ] = q[0], q[1], q[2], q[3]
        apply(p, k, d_n, dx, dy, dz)

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        if p.c[k, MN] == 0.0:
            return 0.0
        t = 1.0 / p.c[k, MT]
        a = q[0] / p.c[k, MN]
        return a * a + t * t * (q[1] * q[1] + q[2] * q[2] + q[3] * q[3])

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i."""
        p.b[i, IM] = max(motion.inv_mass[i, 0], motion.inv_mass[i, 1], motion.inv_mass[i, 2])
        p.b[i, K] = p.r[i] ** 2 * motion.inv_inertia[i, 0]
        for a in range(3):
            p.b[i, a], p.b[i, 3 + a] = motion.velocity[i, a], p.r[i] * motion.spin[i, a]

    @jit
    def pack_ghost(p, k, ghost, rows, motion):
        """Let a ghost move like the point of contact k on its second body."""
        j = rows.second[k]
        x, y, z = rows.arm_second[k, 0], rows.arm_second[k, 1], rows.arm_second[k, 2]
        sx, sy, sz = motion.spin[j, 0], motion.spin[j, 1], motion.spin[j, 2]
        p.b[ghost, 0] = motion.velocity_before[j, 0] + sy * z - sz * y
        p.b[ghost, 1] = motion.velocity_before[j, 1] + sz * x - sx * z
        p.b[ghost, 2] = motion.velocity_before[j, 2] + sx * y - sy * x

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k; and its ghost's, where it has one."""
        i, j, other = rows.first[k], rows.second[k], p.second[s]
        if other != j:
            pack_ghost(p, k, other, rows, motion)
        free_n, before_n, p_n, share = 0.0, 0.0, 0.0, 1.0
        for a in range(3):
            n_a = rows.normal[k, a]
            p.c[s, NX + a] = n_a
            v = p.b[other, a] if other != j else motion.velocity_before[j, a]
            free_n += n_a * (p.b[other, a] - p.b[i, a])
            before_n += n_a * (v - motion.velocity_before[i, a])
            p_n += n_a * rows.impulse[k, a]
            if motion.inv_mass[j, a] != motion.inv_mass[j, 0]:
                share = 0.0
        law = laws[rows.law[k]]
        p.c[s, BIAS] = normal_shift(law, rows.gap[k], free_n, before_n, dt, remove_overlaps)
        p.c[s, TJ] = share
        w_n = p.b[i, IM] + p.b[j, IM]
        w_t = p.b[i, IM] + share * p.b[j, IM] + p.b[i, K] + p.b[j, K]
        p.c[s, MN] = 1.0 / w_n if w_n > 0.0 else 0.0
        p.c[s, MT] = 1.0 / max(w_t, LOCKED * w_n) if w_n > 0.0 else 0.0
        p.c[s, MU] = friction(law)[1]
        p.c[s, PN] = max(p_n, 0.0)
        for a in range(3):
            p.c[s, PX + a] = rows.impulse[k, a] - p_n * rows.normal[k, a]

    @jit
    def start(p, s):
        """Give the bodies the impulse that row s was packed with."""
        apply(p, s, p.c[s, PN], p.c[s, PX], p.c[s, PY], p.c[s, PZ])

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity of body i, and its spin where it can be turned."""
        for a in range(3):
            velocity[i, a] = p.b[i, a]
            if p.b[i, K] > 0.0:
                spin[i, a] = p.b[i, 3 + a] / p.r[i]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse of row s to contact k; lean contacts have no torque."""
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = impulse_of(p, s)

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact, impulse_of=impulse_of,
        relax_with_image=relax_with_image, wanted_with_image=wanted_with_image,
    )  # fmt: skip
