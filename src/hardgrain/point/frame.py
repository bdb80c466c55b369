"""The frame of a contact in 3D: its normal n and two tangents, t and s = n × t."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_frame(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the frame with ``jit``."""

    @jit
    def cross(
        x: float, y: float, z: float, a: float, b: float, c: float
    ) -> tuple[float, float, float]:
        """The vector product (x, y, z) × (a, b, c)."""
        return y * c - z * b, z * a - x * c, x * b - y * a

    @jit
    def tangent(nx: float, ny: float, nz: float) -> tuple[float, float, float]:
        """A unit vector across n: n × the axis that n is farthest from."""
        ex = 1.0 if abs(nx) <= abs(ny) and abs(nx) <= abs(nz) else 0.0
        ey = 1.0 if ex == 0.0 and abs(ny) <= abs(nz) else 0.0
        tx, ty, tz = cross(nx, ny, nz, ex, ey, 1.0 - ex - ey)
        length = math.sqrt(tx * tx + ty * ty + tz * tz)
        return tx / length, ty / length, tz / length

    return SimpleNamespace(cross=cross, tangent=tangent)
