"""Accelerated gradients for packings at rest (`solve.gradient`), as far as a backend shares them.

The velocity of a contact point and the moment of an impulse are written in space, without contact
frames: a backend of round grains then needs normals and arms alone. In 2D vectors have a third
component zero. A body has all its components in one row, velocity and spin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.law.contact import make_contact
from hardgrain.law.coupled import BLOCKED


@cache
def make_rest(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what gradients need of the sequence, of a contact and of a body."""
    contact = make_contact(jit)
    normal_shift, tangent_shift = contact.normal_shift, contact.tangent_shift

    @jit
    def momentum(theta, uphill):
        """θ of Nesterov's sequence after an iteration, and how far to extrapolate beyond it [1].

        uphill: U·(r⁺ − r) of all contacts. Where it is positive the last extrapolation led uphill,
        and the sequence begins anew (O'Donoghue & Candès).
        """
        if uphill > 0.0:
            return 1.0, 0.0
        new = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
        return new, theta * (1.0 - theta) / (theta * theta + new)

    @jit
    def point_velocity(v, arm, i, k):
        """v + ω × l of body i at its arm l to contact k."""
        if arm.shape[1] == 2:
            return v[i, 0] - v[i, 2] * arm[k, 1], v[i, 1] + v[i, 2] * arm[k, 0], 0.0
        return (
            v[i, 0] + v[i, 4] * arm[k, 2] - v[i, 5] * arm[k, 1],
            v[i, 1] + v[i, 5] * arm[k, 0] - v[i, 3] * arm[k, 2],
            v[i, 2] + v[i, 3] * arm[k, 1] - v[i, 4] * arm[k, 0],
        )

    @jit
    def approach(v, rows, k):
        """Velocity of the second body against the first at contact k."""
        ux, uy, uz = point_velocity(v, rows.arm_second, rows.second[k], k)
        x, y, z = point_velocity(v, rows.arm_first, rows.first[k], k)
        return ux - x, uy - y, uz - z

    @jit
    def received(p, arm, k, a):
        """Component a of what impulse p of contact k gives to a body with these arms."""
        dim = arm.shape[1]
        if a < dim:
            return p[k, a]
        b, c = (a - dim + 1) % 3, (a - dim + 2) % 3
        if dim == 2:
            b, c = 0, 1
        return arm[k, b] * p[k, c] - arm[k, c] * p[k, b]

    @jit
    def mobility(inverse, arm, normal, i, k):
        """What body i adds to W_NN and to the trace of W at contact k; inverse: of its row."""
        dim = arm.shape[1]
        along, trace = 0.0, 0.0
        for a in range(dim):
            along += inverse[i, a] * normal[k, a] ** 2
            trace += inverse[i, a]
        square = 0.0
        for a in range(dim):
            square += arm[k, a] ** 2
        for a in range(dim, inverse.shape[1]):
            along += inverse[i, a] * received(normal, arm, k, a) ** 2
            own = arm[k, a - dim] if dim == 3 else 0.0
            trace += inverse[i, a] * (square - own**2)
        return along, trace

    @jit
    def can_push(along, trace):
        """Whether an impulse along the normal moves the bodies; along: W_NN, trace: of all W."""
        return along > BLOCKED * (trace - along)

    @jit
    def shifts(law, gap, normal, k, free, before, dt, remove_overlaps):
        """What a law adds to the velocity of contact k, a vector; see `law.contact`.

        free, before: its velocity without impulses, and at the start of the step.
        """
        nx, ny = normal[k, 0], normal[k, 1]
        nz = normal[k, 2] if normal.shape[1] == 3 else 0.0
        free_n = nx * free[0] + ny * free[1] + nz * free[2]
        was_n = nx * before[0] + ny * before[1] + nz * before[2]
        n = normal_shift(law, gap, free_n, was_n, dt, remove_overlaps)
        x, y, z = before[0] - was_n * nx, before[1] - was_n * ny, before[2] - was_n * nz
        return (
            n * nx + tangent_shift(law, x),
            n * ny + tangent_shift(law, y),
            n * nz + tangent_shift(law, z),
        )

    return SimpleNamespace(
        momentum=momentum, point_velocity=point_velocity, approach=approach, received=received,
        mobility=mobility, can_push=can_push, shifts=shifts,
    )  # fmt: skip
