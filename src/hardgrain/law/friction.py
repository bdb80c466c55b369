"""Dry friction: the exact, infinitely steep Coulomb graph (review, eqs 29, 34).

Given the impulse q that would make the contact stick, keep it if it lies within the static limit,
else scale it back to the dynamic one. For a diagonal W the direction of q is the direction that
opposes the final slip, so nothing else needs to be found. With one coefficient both limits are
µ P_n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_friction(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the friction laws with ``jit``."""

    @jit
    def stick_or_slide(q: float, stick_limit: float, slide_limit: float) -> float:
        """Friction along one tangent: q itself, or ± the sliding limit."""
        return q if abs(q) <= stick_limit else math.copysign(slide_limit, q)

    @jit
    def stick_or_slide_share(q_squared: float, stick_limit: float, slide_limit: float) -> float:
        """Share of a tangential vector q that friction can bear: 1, or limit / |q|."""
        length = math.sqrt(q_squared) + 1e-300  # the guard keeps 0/0 out of the branch-free select
        return 1.0 if length <= stick_limit else slide_limit / length

    return SimpleNamespace(stick_or_slide=stick_or_slide, stick_or_slide_share=stick_or_slide_share)
