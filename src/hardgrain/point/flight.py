"""When grains in free flight meet each other or a wall.

Under uniform gravity all grains fall alike. In a frame that falls with them, begun at the start of
the step, each flies along a straight line, and two of them meet when |r + v s| is the sum of their
radii: a quadratic equation in s. Walls rise in this frame with the acceleration −g. The distance
from a plane is a quadratic of s, and the square of the distance from a cylinder's axis a quartic.

Rounding. Grains that touch may overlap by some last digits, so that no root tells when they meet.
Whoever touches or overlaps and comes closer meets now; whoever parts does not. For walls it is the
same: the moment looked for is the first at which the height is not above zero *and falls*. So no
overlap ever grows, and what rounding leaves is that of one flight, however many there were before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

# Halvings of an interval after which its ends are neighbours, if it was not empty: a double has 53
# bits, and roots near the start of a long interval need some more.
_HALVINGS = 80


@cache
def make_flight(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the times of flight with ``jit``."""

    # |r + v s|² = (R_i + R_j)² with b = r·v, c = r² − (R_i + R_j)²: v² s² + 2 b s + c = 0. The
    # smaller root is written so that nothing cancels where grains nearly touch.
    @jit
    def time_to_meet(b: float, v2: float, c: float) -> float:
        """Time until two balls meet; inf if they miss."""
        if b >= 0.0:
            return math.inf
        if c <= 0.0:
            return 0.0
        d = b * b - v2 * c
        return c / (math.sqrt(d) - b) if d >= 0.0 else math.inf

    @jit
    def time_to_land(h: float, h1: float, h2: float) -> float:
        """First time at which h + h1 s + h2 s²/2 is not above zero and falls; inf if never."""
        if h <= 0.0 and (h1 < 0.0 or (h1 == 0.0 and h2 < 0.0)):
            return 0.0
        d = h1 * h1 - 2.0 * h2 * h
        if h2 < 0.0:
            if d <= 0.0:  # rounding has put it so low that it does not come up: the top
                return -h1 / h2
            if h1 > 0.0:
                return -(h1 + math.sqrt(d)) / h2
        elif h1 >= 0.0 or d < 0.0:
            return math.inf
        return 2.0 * h / (math.sqrt(d) - h1)

    @jit
    def quartic(s: float, c0: float, c1: float, c2: float, c3: float, c4: float) -> float:
        return c0 + s * (c1 + s * (c2 + s * (c3 + s * c4)))

    @jit
    def halve(
        low: float, high: float, c0: float, c1: float, c2: float, c3: float, c4: float
    ) -> float:
        """Zero of a polynomial whose sign at ``low`` is not that at ``high``; from low's side."""
        above = quartic(low, c0, c1, c2, c3, c4) > 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if middle <= low or middle >= high:
                break
            if (quartic(middle, c0, c1, c2, c3, c4) > 0.0) == above:
                low = middle
            else:
                high = middle
        return low

    # Between the zeros of f″, which is quadratic, f′ is monotonic and has one zero at most; between
    # these f is monotonic. So no root is missed, and halving intervals finds the first.
    @jit
    def time_to_reach(c0: float, c1: float, c2: float, c3: float, c4: float, end: float) -> float:
        """First s ≤ end at which f = c0 + c1 s + … + c4 s⁴ is not above zero and falls, or inf."""
        bend, other = end, end
        d = 9.0 * c3 * c3 - 24.0 * c2 * c4
        if c4 != 0.0 and d >= 0.0:
            q = -(3.0 * c3 + math.copysign(math.sqrt(d), c3))
            one, two = q / (12.0 * c4), (2.0 * c2 / q if q != 0.0 else 0.0)
            bend, other = min(max(min(one, two), 0.0), end), min(max(max(one, two), 0.0), end)
        elif c4 == 0.0 and c3 != 0.0:
            bend = min(max(-c2 / (3.0 * c3), 0.0), end)
        start, f = 0.0, c0
        low = 0.0
        for k in range(4):
            stop = end
            if k < 3:
                high = bend if k == 0 else (other if k == 1 else end)
                slope = quartic(low, c1, 2.0 * c2, 3.0 * c3, 4.0 * c4, 0.0)
                if (slope > 0.0) == (
                    quartic(high, c1, 2.0 * c2, 3.0 * c3, 4.0 * c4, 0.0) > 0.0
                ) or high <= low:
                    low = high
                    continue
                stop = halve(low, high, c1, 2.0 * c2, 3.0 * c3, 4.0 * c4, 0.0)
                low = high
            there = quartic(stop, c0, c1, c2, c3, c4)
            if there < f:
                if f <= 0.0:
                    return start
                if there <= 0.0:
                    found: float = halve(start, stop, c0, c1, c2, c3, c4)
                    return found
            start, f = stop, there
        return math.inf

    return SimpleNamespace(
        time_to_meet=time_to_meet, time_to_land=time_to_land, time_to_reach=time_to_reach
    )
