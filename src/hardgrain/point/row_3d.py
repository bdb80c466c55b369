"""A contact of `full_3d` as a row: its columns, its frame, and how it moves its two bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hardgrain.point.frame import make_frame
from hardgrain.point.inertia import TENSOR


class Full3D(NamedTuple):
    """Packed contact problem in 3D."""

    first: np.ndarray  # (m,) uint32
    second: np.ndarray  # (m,) uint32
    c: np.ndarray  # (m, 48): see the columns below
    b: np.ndarray  # (bodies, 16): v ω  1/m (3) I⁻¹ (xx yy zz yz zx xy), and one to fill two lines


# Columns. Vectors and K are those in space. What most updates read comes first, 24 numbers in three
# cache lines: sweeps over many contacts take as long as memory does.
P, N = 0, 3  # impulse and normal
ARM1, ARM2 = 6, 9  # from both bodies to the contact
K = 12  # xx yy zz yz zx xy
WN = 18  # W n
B = 21  # bias along n
MUS = 22
KIND = 23  # what the law asks of an update
# what sliding needs
T = 24
MUD = 27
NN, INN = 28, 29  # W_nn and its inverse; the latter is zero where the normal is blocked
W = 30  # W_nt, W_ns, and the eigenvalues of S along t and s
# what just some contacts have
INV = 34  # inverses of these eigenvalues
FLOOR = 36  # the least eigenvalue that counts
COH = 37
BT = 38  # biases along t and s
LEVER = 40  # of rolling, for the residual alone
LN, LT = 41, 42  # torque impulses: along n, then the tangential vector
ROLL, TORS, MR = 45, 46, 47
INERTIA = 9  # the column of a body where its inverse inertia begins

PLAIN, RESISTED, ANY = 1.0, 2.0, 0.0  # dry friction; with rolling or torsion; all else


@cache
def make_row_3d(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what does not depend on laws."""
    cross = make_frame(jit).cross

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
        """The contact velocity, a vector in space."""
        i, j = p.first[k], p.second[k]
        ax, ay, az = swing(p, k, ARM1, p.b[i, 3], p.b[i, 4], p.b[i, 5])
        bx, by, bz = swing(p, k, ARM2, p.b[j, 3], p.b[j, 4], p.b[j, 5])
        return (
            (p.b[j, 0] + bx) - (p.b[i, 0] + ax),
            (p.b[j, 1] + by) - (p.b[i, 1] + ay),
            (p.b[j, 2] + bz) - (p.b[i, 2] + az),
        )

    @jit
    def velocity_before(p, k, motion):
        """The contact velocity that it had at the start of the step."""
        i, j = p.first[k], p.second[k]
        v, w = motion.velocity_before, motion.spin_before
        ax, ay, az = swing(p, k, ARM1, w[i, 0], w[i, 1], w[i, 2])
        bx, by, bz = swing(p, k, ARM2, w[j, 0], w[j, 1], w[j, 2])
        return (
            (v[j, 0] + bx) - (v[i, 0] + ax),
            (v[j, 1] + by) - (v[i, 1] + ay),
            (v[j, 2] + bz) - (v[i, 2] + az),
        )

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
        """Give an impulse and a torque impulse, vectors in space, to the bodies of contact k."""
        i, j, (tx, ty, tz), (x, y, z) = p.first[k], p.second[k], torque, push
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

    return SimpleNamespace(
        in_frame=in_frame, in_space=in_space, third=third, torque_of=torque_of, velocity=velocity,
        velocity_before=velocity_before, inverse=inverse, turned=turned, apply=apply,
    )  # fmt: skip
