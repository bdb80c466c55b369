"""How far a body may come within a step, and whether the pair list still holds all it may meet.

`hardgrain.contact.search` derives these rules; here they are asked of one body.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

__all__ = ["MARGIN", "NEAR", "PASSED", "make_reach"]

# [radius] Grains closer than this count as neighbours that can push each other within the step. If
# it is larger, more grains get the reach of a fast one and there are more candidates; if it is
# smaller, more pushes are foreseen only by `overlooked`, which solves the step a second time.
NEAR = 0.1
# [radius] Reach that every grain has even at rest. If it is larger, sweeps visit more open contacts
# for nothing; if it is smaller, more steps overlook a pair and are solved a second time.
MARGIN = 0.005
# [radius] The farthest that the speed of its neighbours can extend a grain's reach. If it is
# larger, one fast grain makes all the grains on its way look at each other; if it is smaller, more
# steps in which a grain is hit hard are solved a second time.
PASSED = 1.0


@cache
def make_reach(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` what is asked of one body; walls are the last bodies."""

    @jit
    def speed_of(velocity, turning, i):
        """Speed of a body; turning: (w,) what turning adds for walls."""
        square, n = 0.0, velocity.shape[0] - turning.shape[0]
        for a in range(velocity.shape[1]):
            square += velocity[i, a] ** 2
        return math.sqrt(square) + (turning[i - n] if i >= n else 0.0)

    @jit
    def travel(speed, around, radius, dt, i):
        """Way of a body in a step by its own speed, or by that around it, up to PASSED radii."""
        passed = dt * around[i]
        if i < radius.shape[0]:
            passed = min(passed, PASSED * radius[i])
        return max(dt * speed[i], passed)

    @jit
    def is_safe(position, listed, reach, i):
        """Whether a body has not travelled so far that its reach leaves the pair list."""
        square, n = 0.0, position.shape[0] - listed.turned.shape[0]
        for a in range(position.shape[1]):
            square += (position[i, a] - listed.origin[i, a]) ** 2
        far = math.sqrt(square) + (listed.turned[i - n] if i >= n else 0.0)
        return far + reach <= listed.safety[i]

    return SimpleNamespace(speed_of=speed_of, travel=travel, is_safe=is_safe)
