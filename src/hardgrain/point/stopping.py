"""When sweeps end: after a number of them, or as soon as a rule is met.

local     No contact's impulse changed in the last sweep by more than |ΔP| ≤ ε |P| + δ (eq. 35).
global    The sum of all |P| changed by no more than its share ε.
residual  The contact laws hold to ε, see `hardgrain.point.residual`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

SWEEPS, LOCAL, GLOBAL, RESIDUAL = range(4)


class Until(NamedTuple):
    """A stopping rule with its limits."""

    rule: int
    sweeps: int  # at most
    tolerance: float  # ε [1]
    cutoff: float  # δ [mass × speed]
    unseen: float  # square of the velocity that rounding hides


@cache
def make_stopping(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the stopping rules with ``jit``."""

    @jit
    def change(now, before, until):
        """One contact that went from one impulse to another: 1 if it breaks the local rule; |P|."""
        size, d = 0.0, 0.0
        for a in range(7):
            size += now[a] ** 2
            d += (now[a] - before[a]) ** 2
        size = math.sqrt(size)
        broken = 0.0 if math.sqrt(d) <= until.tolerance * size + until.cutoff else 1.0
        return broken, size

    @jit
    def met(until, broken, total, last):
        """Whether the local or global rule is met; ``total``, ``last``: Σ |P| now and before."""
        if until.rule == LOCAL:
            return broken == 0.0
        return abs(total - last) <= until.tolerance * total

    @jit
    def next_check(sweep):
        """The residual costs about one sweep: look every 5 sweeps, later every twentieth part."""
        return sweep + max(5, sweep // 20)

    return SimpleNamespace(change=change, met=met, next_check=next_check)
