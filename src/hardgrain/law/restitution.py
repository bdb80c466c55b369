"""Newton restitution in Moreau's form, normal and tangential.

Moreau lets the Signorini and Coulomb conditions act on the weighted mean of the velocities after
and before the step, (V⁺ + e V⁻)/(1 + e), component by component. Because the weights are
positive, this is the plain law with the velocity shifted by e V⁻. With one common coefficient for
all contacts and both directions no energy is ever created; with unequal ones it can be (Kane).

Restitution needs the approach velocity, which the two-step completion of a closing gap would
spoil. A contact with e_n > 0 that closes within the step is therefore treated as touching: it
rebounds at once, from a distance of at most |V| dt.

A contact that its neighbours push shut while it was opening (V⁻ > 0) must have the coefficient too,
or the coefficients would be unequal: V⁺ ≥ −e V⁻, at the price of an overlap of at most e V⁻ dt.

Real grains rebound the better the more slowly they meet. For viscoelastic spheres (Kuwabara and
Kono 1987; Brilliantov, Spahn, Hertzsch and Pöschel 1996) 1 − e grows as the fifth root of the
approach speed v, to leading order. With e given at one speed v₀,

    e(v) = max(1 − (1 − e) (v/v₀)^(1/5), 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_restitution(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the restitution law with ``jit``."""

    @jit
    def rebound_bias(
        bias: float, gap: float, free_n: float, before_n: float, e_n: float, dt: float
    ) -> float:
        """Normal velocity shift of a contact with restitution e_n, given its gap speed ``bias``."""
        if e_n <= 0.0:
            return bias
        if before_n < 0.0 and gap + free_n * dt <= 0.0:
            return min(bias, 0.0) + e_n * before_n
        return max(bias, e_n * before_n) if bias >= 0.0 else bias

    @jit
    def coefficient(e: float, speed: float, approach: float) -> float:
        """Restitution at an approach speed, given e at ``speed``; e itself where that is zero."""
        if speed <= 0.0 or approach <= 0.0:
            return e
        return max(1.0 - (1.0 - e) * math.pow(approach / speed, 0.2), 0.0)

    return SimpleNamespace(rebound_bias=rebound_bias, coefficient=coefficient)
