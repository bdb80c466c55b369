"""The row of one contact between round bodies: arms, sizes and the law.

For round grains the arms end at the surfaces, r_i n and −r_j n. A wall's arm goes from the point
that it turns about to the surface of the grain, wherever that is. The rolling radius is that of the
equivalent grain on a plane, r_i r_j / (r_i + r_j): walls count as flat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.geometry import make_min_image


@cache
def make_row(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the row of a round contact with ``jit``."""
    min_image = make_min_image(jit)

    @jit
    def round_sizes(bodies, i, j):
        """Diameter by which overlaps are judged, rolling radius [length], row of the law table."""
        a, b = bodies.material[i], bodies.material[j]
        law = min(a, b) * bodies.materials + max(a, b)  # whichever of the two is the first
        r = bodies.radius[i]
        width, roll = 2.0 * r, r
        if j < bodies.radius.shape[0]:
            other = bodies.radius[j]
            width, roll = 2.0 * min(r, other), r * other / (r + other)
        return width, roll, law

    @jit
    def round_arms(bodies, i, j, n_a, a):
        """Component a of the arms of both bodies, given that of the normal [length]."""
        first = bodies.radius[i] * n_a
        if j < bodies.radius.shape[0]:
            second = -bodies.radius[j] * n_a
        else:
            away = bodies.position[i, a] - bodies.position[j, a]
            second = min_image(away, bodies.periodic[a]) + first
        return first, second

    return SimpleNamespace(round_sizes=round_sizes, round_arms=round_arms)
