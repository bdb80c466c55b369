"""A row of falling dominoes that lean on each other (van Leeuwen, Am. J. Phys. 78, 721, 2010).

Dominoes of height h and thickness d stand at distances s. They turn about their lower front edges,
which neither slip nor lift; their faces are smooth, and those that have met stay together: the
upper corner of each slides along the back of the next. So the angle θ of the foremost one that
falls decides all angles behind it. With θ' the one behind,

    h sin(θ' − θ) = (s + d) cos θ − d,        dθ'/dθ = 1 − (s + d) sin θ / (h cos(θ' − θ)).

Let w be the products of these ratios, the spin of each domino over that of the foremost. Between
two collisions energy is conserved, with I = m (h² + d²)/3,

    I Σ w² ω²/2 + m g Σ (h cos θ + d sin θ)/2 = const.

At sin θ = s/h the foremost hits the next one. Constraints do no work, so that the impulses drop out
when each domino's change of angular momentum is weighted with its w' after the collision, of which
the foremost is now the one that was hit:

    Σ w' (I w' ω' − I w ω) = 0.

This is Shaw's and van Leeuwen's domino effect without friction between dominoes. Lengths are in
units of h, times in units of √(h/g), speeds in units of √(g h).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["front_speed", "intervals"]

Floats = NDArray[np.float64]

# Points of the Gauss–Legendre rule for the time between two collisions, whose integrand is smooth:
# with 20 the time is exact to rounding, with 5 to some 1e-6.
_POINTS = 20
# Dominoes that are counted behind the foremost one: ratios of spins fall so fast that those further
# behind change the speed by less than rounding for s above 0.1; closer rows would need more.
_TRAIN = 60


def intervals(gap: float, thickness: float, spin: float) -> Iterator[float]:
    """Times between collisions, one after the other, if the first domino begins with a spin."""
    node, weight = np.polynomial.legendre.leggauss(_POINTS)
    hit = math.asin(gap)
    angle = 0.5 * hit * (node + 1.0)
    inertia = (1.0 + thickness**2) / 3.0
    behind = 0
    while True:
        height, share = zip(*(_train(a, behind, gap, thickness) for a in angle), strict=True)
        first, ratio = _train(0.0, behind, gap, thickness)
        last, final = _train(hit, behind, gap, thickness)
        start = 0.5 * inertia * float(ratio @ ratio) * spin**2 + first

        def rate(potential: float, w: Floats, start: float = start) -> float:
            kinetic = start - potential
            if kinetic <= 0.0:
                raise ValueError("the dominoes do not fall: they lack the energy to tip over")
            return math.sqrt(2.0 * kinetic / (inertia * (w @ w)))

        rates = np.array([rate(p, w) for p, w in zip(height, share, strict=True)])
        yield float(0.5 * hit * (weight / rates).sum())
        end = rate(last, final)
        behind = min(behind + 1, _TRAIN)
        after = _train(0.0, behind, gap, thickness)[1]
        met = min(final.size, after.size - 1)
        spin = end * float(after[1 : met + 1] @ final[:met]) / float(after @ after)


def front_speed(gap: float, thickness: float) -> float:
    """The speed of the front in a long row, in units of √(g h)."""
    last = 0.0
    for time in intervals(gap, thickness, 1.0):
        if abs(time - last) < 1e-12 * time:
            return (gap + thickness) / time
        last = time
    raise AssertionError  # the row has no end


def _train(angle: float, behind: int, gap: float, thickness: float) -> tuple[float, Floats]:
    """Potential energy of the foremost domino at an angle and those behind it, and their w."""
    pitch, potential = gap + thickness, 0.0
    w = np.ones(behind + 1)
    for k in range(behind + 1):
        potential += 0.5 * (math.cos(angle) + thickness * math.sin(angle))
        if k < behind:
            lean = math.asin(pitch * math.cos(angle) - thickness)
            w[k + 1] = w[k] * (1.0 - pitch * math.sin(angle) / math.cos(lean))
            angle += lean
    return potential, w
