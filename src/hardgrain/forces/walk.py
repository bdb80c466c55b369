"""The random walk of hit-and-run in compiled code, along chords of a convex set.

The set is where slacks s ≥ 0 and where w₀ ≥ |(w₁, w₂)| for round cones w. Both are known at the
point where the walk is, and along each of the directions it may take. A step draws a direction,
finds the chord through the point and draws a new point on it, uniformly.

The chord through a cone: with the product ⟨u, w⟩ = u₀ w₀ − u₁ w₁ − u₂ w₂, w + λ u is on the double
cone where a λ² + 2 b λ + c = 0, a = ⟨u, u⟩, b = ⟨u, w⟩, c = ⟨w, w⟩ ≥ 0. With
q = −(b + sign(b) √(b² − a c)) the roots are c/q and q/a. The first is always an end of the chord.
The second is the other end if a < 0; if not, it is on the other half of the double cone, and the
chord does not end there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.kernels import device, jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardgrain.core.model import Floats

__all__ = ["walk"]

# [unit of force] A slack that rounding has brought to zero or below is set to this instead, so that
# quotients stay finite and the walk can leave the border. It is far below any force.
_LEAST = 1e-200


@device
def _tighten(cone, slope, i, j, low, high):  # type: ignore[no-untyped-def]
    """The part of [low, high] in which w + λ u lies in cone j, with u the slope in direction i."""
    w, w_1, w_2 = cone[j, 0], cone[j, 1], cone[j, 2]
    u, u_1, u_2 = slope[i, j, 0], slope[i, j, 1], slope[i, j, 2]
    a = u * u - u_1 * u_1 - u_2 * u_2
    b = u * w - u_1 * w_1 - u_2 * w_2
    c = max(w * w - w_1 * w_1 - w_2 * w_2, 0.0)
    # Most cones hold both ends already. Infinite ends give NaN, which counts as outside.
    before = not ((a * low + 2.0 * b) * low + c >= 0.0 and w + low * u >= 0.0)
    after = not ((a * high + 2.0 * b) * high + c >= 0.0 and w + high * u >= 0.0)
    if before or after:
        root = math.sqrt(max(b * b - a * c, 0.0))
        if b >= 0.0:
            q = -(b + root)
            back = c / q if q < 0.0 else -math.inf
            forth = q / a if a < 0.0 else math.inf
        else:
            q = root - b
            forth = c / q
            back = q / a if a < 0.0 else -math.inf
        low, high = max(low, back), min(high, forth)
    return low, high


@jit
def walk(
    slack: Floats,
    cone: Floats,
    slack_slope: Floats,
    cone_slope: Floats,
    pick: NDArray[np.int64],
    at: Floats,
    every: int,
) -> tuple[Floats, bool]:
    """How far the walk has gone along each direction since the last record, (records, k).

    ``slack`` (s,) and ``cone`` (c, 3) are changed in place; ``slack_slope`` (k, s) and
    ``cone_slope`` (k, c, 3) are their changes along the k directions. ``pick`` and ``at`` (steps,)
    say which direction each step takes, and to which share of its chord it goes. The second
    result is False if a chord has no end.
    """
    k, steps = slack_slope.shape[0], pick.size
    gone = np.zeros((steps // every, k))
    for t in range(steps // every * every):
        i = pick[t]
        # 1/λ of the nearest ends: the greatest and the least of slope/slack
        greatest, least = 0.0, 0.0
        for j in range(slack.size):
            r = slack_slope[i, j] / slack[j]
            greatest, least = max(greatest, r), min(least, r)
        low = -1.0 / greatest if greatest > 0.0 else -math.inf
        high = -1.0 / least if least < 0.0 else math.inf
        for j in range(cone.shape[0]):
            low, high = _tighten(cone, cone_slope, i, j, low, high)
        if math.isinf(high) or math.isinf(low):
            return gone, False
        step = low + (high - low) * at[t]
        gone[t // every, i] += step
        for j in range(slack.size):
            slack[j] = max(slack[j] + step * slack_slope[i, j], _LEAST)
        for j in range(cone.shape[0]):
            for e in range(3):
                cone[j, e] += step * cone_slope[i, j, e]
    return gone, True
