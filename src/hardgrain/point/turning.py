"""A ball turns about its spin, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_turning(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` how a body turns about its spin."""

    @jit
    def turn_body(orientation, spin, dt, i):
        """Turn body i by |ω| dt about ω."""
        if spin.shape[1] == 1:
            orientation[i, 0] += spin[i, 0] * dt
            return
        wx, wy, wz = spin[i, 0], spin[i, 1], spin[i, 2]
        rate = math.sqrt(wx * wx + wy * wy + wz * wz)
        if rate == 0.0:
            return
        s, c = math.sin(0.5 * rate * dt) / rate, math.cos(0.5 * rate * dt)
        ax, ay, az = s * wx, s * wy, s * wz
        x, y, z, w = orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3]
        nx = c * x + ax * w + ay * z - az * y
        ny = c * y + ay * w + az * x - ax * z
        nz = c * z + az * w + ax * y - ay * x
        nw = c * w - ax * x - ay * y - az * z
        length = math.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
        orientation[i, 0], orientation[i, 1] = nx / length, ny / length
        orientation[i, 2], orientation[i, 3] = nz / length, nw / length

    return SimpleNamespace(turn_body=turn_body)
