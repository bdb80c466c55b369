"""Where a wall is, and how fast turning sweeps it through the grains; see `core.wall_kinds`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.wall_kinds import CELL, INSIDE, OUTSIDE, PLANE

# [1] Sine of the angle between a spin and an axis below which a wall turns in itself. If it is
# larger, a wall that sweeps grains away passes for one that stays; if it is smaller, rounding makes
# drums look as if they wobbled, and every step looks far around.
PARALLEL = 1e-12


@cache
def make_wall_motion(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what is asked of one wall."""

    @jit
    def turned(orientation, body, vectors, w, a):
        """Component a of a wall's vector w, turned as its body is."""
        if orientation.shape[1] == 1:
            c, s = math.cos(orientation[body, 0]), math.sin(orientation[body, 0])
            x, y = vectors[w, 0], vectors[w, 1]
            return c * x - s * y if a == 0 else s * x + c * y
        b, d = (a + 1) % 3, (a + 2) % 3  # v + 2 q × (q × v + w v)
        q_a, q_b, q_d, q_w = (
            orientation[body, a], orientation[body, b], orientation[body, d], orientation[body, 3],
        )  # fmt: skip
        v_a, v_b, v_d = vectors[w, a], vectors[w, b], vectors[w, d]
        u_b = q_d * v_a - q_a * v_d + q_w * v_b
        u_d = q_a * v_b - q_b * v_a + q_w * v_d
        return v_a + 2.0 * (q_b * u_d - q_d * u_b)

    @jit
    def stays(kind, offset, axis, spin, body, w):
        """Whether a turning wall stays where it is: a drum about its axis, a plane about its
        normal; the periodic cell, which is nowhere."""
        dim, rate = offset.shape[1], 0.0
        for a in range(spin.shape[1]):
            rate += spin[body, a] ** 2
        still = kind[w] == INSIDE or kind[w] == OUTSIDE
        for a in range(dim):
            still = still and offset[w, a] == 0.0
        if dim == 3:
            square = 0.0
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                square += (spin[body, b] * axis[w, c] - spin[body, c] * axis[w, b]) ** 2
            still = (still or kind[w] == PLANE) and math.sqrt(square) <= PARALLEL * math.sqrt(rate)
        return still or kind[w] == CELL

    return SimpleNamespace(turned=turned, stays=stays)
