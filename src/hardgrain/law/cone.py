"""The cone of Coulomb friction, |P_T| ≤ µ P_N, and the nearest point of it.

Outside the cone a vector of the components x_N and |x_T| = t is moved along the shortest way: to
the line (1, µ) s of its surface with s = (x_N + µ t)/(1 + µ²), or to the tip where s < 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_cone(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the projection on the cone with ``jit``."""

    @jit
    def nearest(x_n: float, size: float, mu: float) -> tuple[float, float]:
        """The normal component of the nearest point, and by what the tangent ones are multiplied.

        size: length t of the tangent part.
        """
        if size <= mu * x_n:
            return x_n, 1.0
        along = max(x_n + mu * size, 0.0) / (1.0 + mu * mu)
        return along, mu * along / size if size > 0.0 else 0.0

    return SimpleNamespace(nearest=nearest)
