"""Whether the numbers of one body are numbers that can be reckoned with."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

__all__ = ["LARGEST", "make_fit"]

LARGEST = 1e150  # of a velocity, spin or angle: its square must be a number


@cache
def make_fit(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what is asked of one body."""

    @jit
    def is_fit(position, velocity, spin, orientation, limit, i):
        """Whether none of a body's numbers is NaN or too large; limit: (nb,) of its place."""
        fit = True
        for a in range(position.shape[1]):
            fit = fit and abs(position[i, a]) <= limit[i]
            fit = fit and abs(velocity[i, a]) <= LARGEST
        for a in range(spin.shape[1]):
            fit = fit and abs(spin[i, a]) <= LARGEST
        for a in range(orientation.shape[1]):
            fit = fit and abs(orientation[i, a]) <= LARGEST
        return fit

    return SimpleNamespace(is_fit=is_fit)
