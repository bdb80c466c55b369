"""The quasi-inelastic shock law: impenetrability of one contact (review, eqs 24–28, 33, 34).

The gap after the step is g + V_n dt. It must not become negative, the impulse must not pull, and
only the smallest sufficient impulse acts:

    0 ≤ P_n   ⊥   V_n + b ≥ 0,        b = g⁺/dt   (g⁺ = max(g, 0), eq. 33, the default)
                                      b = g/dt    (eq. 28 read literally: removes overlaps, and
                                                   pumps energy into the packing while it does)

An inelastic collision thus takes two steps: the first closes the gap, the second stops the motion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_shock(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the shock law with ``jit``."""

    @jit
    def gap_speed(gap: float, dt: float, remove_overlaps: bool) -> float:
        """Speed b at which the gap may close during the step [length/time]."""
        return gap / dt if remove_overlaps else max(gap, 0.0) / dt

    @jit
    def push(p_n: float, mass_n: float, u_n: float, bias: float) -> float:
        """Normal impulse that closes the gap and no more, never a pull."""
        return max(p_n - mass_n * (u_n + bias), 0.0)

    return SimpleNamespace(gap_speed=gap_speed, push=push)
