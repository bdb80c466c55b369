"""What must be known of bodies and arms before a lean problem can be packed (`lean_2d`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_levers(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile arms and ghosts with ``jit``."""

    @jit
    def ghostly(motion, i):
        """Whether a body turns though nothing can push it, so that its contacts need ghosts."""
        turns, held = False, True
        for a in range(motion.velocity.shape[1]):
            held &= motion.inv_mass[i, a] == 0.0
        for a in range(motion.spin.shape[1]):
            turns |= motion.spin[i, a] != 0.0
            held &= motion.inv_inertia[i, a] == 0.0
        return turns and held

    @jit
    def arm_lengths(rows, k):
        """Lengths of a contact's two arms along its normal."""
        first, second = 0.0, 0.0
        for a in range(rows.normal.shape[1]):
            first += rows.normal[k, a] * rows.arm_first[k, a]
            second -= rows.normal[k, a] * rows.arm_second[k, a]
        return first, second

    return SimpleNamespace(ghostly=ghostly, arm_lengths=arm_lengths)
