"""The linear spring and dashpot between two soft grains: its collision, and steps that are stable.

Two grains of reduced mass m push each other apart with N = k δ + γ δ̇ while they overlap by δ, and
never pull (N ≥ 0). One pure number decides on the collision, the damping ratio

    ζ = γ / (2 √(k m)).

They part when N reaches zero, before δ does, so that for ζ < 1, with ω = √(k/m − (γ/2m)²), contact
lasts t = (π − 2 arcsin ζ)/ω: the deformation e^(−βt) sin ωt, β = γ/2m, has N = 0 where
tan ωt = −2ζ√(1−ζ²)/(1−2ζ²), which is tan(π − 2 arcsin ζ). The speed is then e^(−βt) of the first
one: the coefficient of restitution (T. Schwager and T. Pöschel, Granular Matter 9, 465 (2007)).
For ζ > 1 the sine becomes a hyperbolic one and arcsin ζ/√(1−ζ²) becomes −arcosh ζ/√(ζ²−1), with
the π gone.
"""

from __future__ import annotations

import math

from hardgrain.errors import InputError

__all__ = ["contact_time", "damping_ratio", "largest_step", "restitution"]


def _phase(ratio: float) -> float:
    """The phase √(k/m) t at the end of a collision [1]."""
    if abs(ratio - 1.0) < 1e-6:
        return 2.0
    if ratio > 1.0:
        return 2.0 * math.acosh(ratio) / math.sqrt(ratio**2 - 1.0)
    return (math.pi - 2.0 * math.asin(ratio)) / math.sqrt(1.0 - ratio**2)


def restitution(ratio: float) -> float:
    """Coefficient of restitution of a collision with damping ratio ζ [1]."""
    return math.exp(-ratio * _phase(ratio))


def contact_time(stiffness: float, reduced_mass: float, ratio: float = 0.0) -> float:
    """How long a collision lasts [time]."""
    return _phase(ratio) * math.sqrt(reduced_mass / stiffness)


def damping_ratio(restitution_wanted: float) -> float:
    """The damping ratio ζ that gives a coefficient of restitution in (0, 1] [1]."""
    if not 0.0 < restitution_wanted <= 1.0:
        raise InputError(f"restitution is {restitution_wanted:g}; give a number in (0, 1]")
    low, high = 0.0, 1.0
    while restitution(high) > restitution_wanted:
        high *= 2.0
    for _ in range(200):  # enough for the last bit, since `restitution` falls steadily
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if restitution(middle) > restitution_wanted else (low, middle)
    return low if low == 0.0 else high


def largest_step(stiffness_rate: float, damping_rate: float) -> float:
    """Largest stable step of v ← v − dt (K x + C v)/m, x ← x + v dt [time].

    stiffness_rate, damping_rate: K/m [1/time²] and C/m [1/time], or, for many masses, the largest
    eigenvalues of M⁻¹K and M⁻¹C. One mode multiplies by λ each step, λ² − (2 − c dt − k dt²) λ +
    1 − c dt = 0, and |λ| ≤ 1 as long as k dt² + 2 c dt ≤ 4. An eigenvector of the whole system
    obeys the same equation with its own quotients k and c, no larger than the eigenvalues.
    """
    root = math.sqrt(damping_rate**2 + 4.0 * stiffness_rate)
    return 4.0 / (damping_rate + root) if root > 0.0 else math.inf
