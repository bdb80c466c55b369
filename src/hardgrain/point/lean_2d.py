"""Contacts whose inertia is diagonal: disks and walls with plain laws. The fast path in 2D.

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

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import LOCKED
from hardgrain.law.friction import make_friction
from hardgrain.law.shock import make_shock


class Lean2D(NamedTuple):
    """Packed contact problem; unsigned indices spare the kernels a test for negative ones."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32, a body or a ghost
    c: np.ndarray  # (m, 9): nx ny  P_n P_t  bias m_n m_t µ  share of second
    b: np.ndarray  # (bodies + ghosts, 5): v_x v_y ψ  1/m k
    r: np.ndarray = np.zeros(0)  # (bodies,) length of the arms


# columns: contacts, then bodies
NX, NY, PN, PT, BIAS, MN, MT, MU, TJ = range(9)
PSI, IM, K = 2, 3, 4


@cache
def make_lean_2d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what a backend does with one contact or body of a `Lean2D`."""
    push, stick_or_slide = make_shock(jit).push, make_friction(jit).stick_or_slide
    contact = make_contact(jit)
    normal_shift, friction = contact.normal_shift, contact.friction

    # In a cell that deforms (`point.cell`), the image of the second body that is met moves by
    # (x, y) beyond it. Elsewhere both are zero, and cost nothing once compiled.
    @jit
    def update(p, k, x, y):
        """The impulse that the law of contact k would have now, normal and tangential."""
        i, j = p.first[k], p.second[k]
        nx, ny = p.c[k, NX], p.c[k, NY]
        dx, dy = p.b[j, 0] - p.b[i, 0] + x, p.b[j, 1] - p.b[i, 1] + y
        u_n = nx * dx + ny * dy
        u_t = nx * dy - ny * dx - (p.b[i, PSI] + p.b[j, PSI])
        p_n = push(p.c[k, PN], p.c[k, MN], u_n, p.c[k, BIAS])
        limit = p.c[k, MU] * p_n
        p_t = stick_or_slide(p.c[k, PT] - p.c[k, MT] * u_t, limit, limit)
        return p_n, p_t

    @jit
    def apply(p, k, d_n, d_t):
        """Give an impulse to the two bodies of contact k.

        All is read before anything is written. A compiler must assume that two rows may be the
        same, and would otherwise wait for one to be written before it reads the next.
        """
        i, j = p.first[k], p.second[k]
        nx, ny, s_t = p.c[k, NX], p.c[k, NY], p.c[k, TJ] * d_t
        mi, ki, mj, kj = p.b[i, IM], p.b[i, K], p.b[j, IM], p.b[j, K]
        vx, vy, turn = p.b[i, 0], p.b[i, 1], p.b[i, PSI]
        ux, uy, other = p.b[j, 0], p.b[j, 1], p.b[j, PSI]
        p.b[i, 0] = vx - mi * (d_n * nx - d_t * ny)
        p.b[i, 1] = vy - mi * (d_n * ny + d_t * nx)
        p.b[i, PSI] = turn - ki * d_t
        p.b[j, 0] = ux + mj * (d_n * nx - s_t * ny)
        p.b[j, 1] = uy + mj * (d_n * ny + s_t * nx)
        p.b[j, PSI] = other - kj * d_t

    @jit
    def relax_with_image(p, k, x, y):
        """One contact update: find the impulse its law asks for, and give it to the two bodies.

        Returns how the impulse has changed, a vector in space.
        """
        p_n, p_t = update(p, k, x, y)
        d_n, d_t = p_n - p.c[k, PN], p_t - p.c[k, PT]
        apply(p, k, d_n, d_t)
        p.c[k, PN], p.c[k, PT] = p_n, p_t
        nx, ny = p.c[k, NX], p.c[k, NY]
        return d_n * nx - d_t * ny, d_n * ny + d_t * nx, 0.0

    @jit
    def relax_contact(p, k):
        """One contact update where there is no cell that deforms."""
        relax_with_image(p, k, 0.0, 0.0)

    @jit
    def wanted_with_image(p, k, x, y):
        """The impulse that the law would have now, padded to seven components."""
        p_n, p_t = update(p, k, x, y)
        return p_n, p_t, 0.0, 0.0, 0.0, 0.0, 0.0

    @jit
    def wanted(p, k):
        """The same where there is no cell that deforms."""
        return wanted_with_image(p, k, 0.0, 0.0)

    @jit
    def present(p, k):
        """The impulse that contact k has, padded to seven components."""
        return p.c[k, PN], p.c[k, PT], 0.0, 0.0, 0.0, 0.0, 0.0

    @jit
    def impulse_of(p, k):
        """The impulse that contact k has, a vector in space."""
        (nx, ny), (p_n, p_t) = (p.c[k, NX], p.c[k, NY]), (p.c[k, PN], p.c[k, PT])
        return p_n * nx - p_t * ny, p_n * ny + p_t * nx, 0.0

    @jit
    def set_impulse(p, k, q):
        """Give contact k the impulse q, and its bodies the difference."""
        d_n, d_t = q[0] - p.c[k, PN], q[1] - p.c[k, PT]
        p.c[k, PN], p.c[k, PT] = q[0], q[1]
        apply(p, k, d_n, d_t)

    @jit
    def speed_squared(p, k, q):
        """|W_αα q|²: square of the velocity that an impulse q gives to the contact."""
        if p.c[k, MN] == 0.0:
            return 0.0
        a, b = q[0] / p.c[k, MN], q[1] / p.c[k, MT]
        return a * a + b * b

    @jit
    def pack_body(p, i, motion):
        """Fill the row of body i."""
        p.b[i, 0], p.b[i, 1] = motion.velocity[i, 0], motion.velocity[i, 1]
        p.b[i, PSI] = p.r[i] * motion.spin[i, 0]
        p.b[i, IM] = max(motion.inv_mass[i, 0], motion.inv_mass[i, 1])
        p.b[i, K] = p.r[i] ** 2 * motion.inv_inertia[i, 0]

    @jit
    def pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps):
        """Fill row s, whose bodies are known, from contact k; and its ghost's, where it has one."""
        i, j, other = rows.first[k], rows.second[k], p.second[s]
        nx, ny = rows.normal[k, 0], rows.normal[k, 1]
        vx, vy = motion.velocity_before[j, 0], motion.velocity_before[j, 1]
        if other != j:
            vx -= motion.spin[j, 0] * rows.arm_second[k, 1]
            vy += motion.spin[j, 0] * rows.arm_second[k, 0]
            p.b[other, 0], p.b[other, 1] = vx, vy
        free_n = nx * (p.b[other, 0] - p.b[i, 0]) + ny * (p.b[other, 1] - p.b[i, 1])
        before_n = nx * (vx - motion.velocity_before[i, 0])
        before_n += ny * (vy - motion.velocity_before[i, 1])
        law = laws[rows.law[k]]
        p.c[s, NX], p.c[s, NY] = nx, ny
        p.c[s, BIAS] = normal_shift(law, rows.gap[k], free_n, before_n, dt, remove_overlaps)
        p.c[s, TJ] = 1.0 if motion.inv_mass[j, 0] == motion.inv_mass[j, 1] else 0.0
        w_n = p.b[i, IM] + p.b[j, IM]
        w_t = p.b[i, IM] + p.c[s, TJ] * p.b[j, IM] + p.b[i, K] + p.b[j, K]
        p.c[s, MN] = 1.0 / w_n if w_n > 0.0 else 0.0
        p.c[s, MT] = 1.0 / max(w_t, LOCKED * w_n) if w_n > 0.0 else 0.0
        p.c[s, MU] = friction(law)[1]
        p.c[s, PN] = max(rows.impulse[k, 0] * nx + rows.impulse[k, 1] * ny, 0.0)
        p.c[s, PT] = rows.impulse[k, 1] * nx - rows.impulse[k, 0] * ny

    @jit
    def start(p, s):
        """Give the bodies the impulse that row s was packed with."""
        apply(p, s, p.c[s, PN], p.c[s, PT])

    @jit
    def unpack_body(p, i, velocity, spin):
        """Write the velocity of body i, and its spin where it can be turned."""
        velocity[i, 0], velocity[i, 1] = p.b[i, 0], p.b[i, 1]
        if p.b[i, K] > 0.0:
            spin[i, 0] = p.b[i, PSI] / p.r[i]

    @jit
    def unpack_contact(p, s, k, impulse, torque):
        """Write the impulse of row s to contact k; lean contacts have no torque."""
        impulse[k, 0], impulse[k, 1], _ = impulse_of(p, s)

    return SimpleNamespace(
        relax_contact=relax_contact, wanted=wanted, present=present, set_impulse=set_impulse,
        speed_squared=speed_squared, pack_body=pack_body, pack_contact=pack_contact, start=start,
        unpack_body=unpack_body, unpack_contact=unpack_contact, impulse_of=impulse_of,
        relax_with_image=relax_with_image, wanted_with_image=wanted_with_image,
    )  # fmt: skip
