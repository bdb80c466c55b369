"""Gases of hard disks and spheres: pressure, collisions, and how an inelastic gas cools.

Enskog's theory knows density only through χ, the pair correlation at contact. With the share φ of
space that grains fill,

    disks:    χ = (1 − 7 φ/16) / (1 − φ)²      (Henderson 1975)
    spheres:  χ = (1 − φ/2) / (1 − φ)³         (Carnahan & Starling 1969),

which simulations agree with to about half a percent up to freezing, φ = 0.70 and 0.494.

Pressure. In a collision the momentum (1 + e) m v_n / 2 crosses one diameter σ; the mean over all
collisions gives P / (n T) = 1 + 2^(d−1) φ χ (1 + e)/2, with the granular temperature
T = m ⟨v²⟩ / d.

Collisions. A grain sweeps the surface S_d σ^(d−1) with the mean normal approach speed of two
Maxwellian grains, √(T / (π m)) on the side that approaches:

    ω = S_d n σ^(d−1) χ √(T / (π m)),    S_2 = 2 π, S_3 = 4 π.

Cooling. Of the kinetic energy of the normal motion, m v_n²/4, a collision takes the share 1 − e².
Colliding pairs have v_n exp(−m v_n²/4T) as the density of v_n, hence ⟨v_n²⟩ = 4 T/m, and a
collision takes (1 − e²) T. There are n ω/2 of them in a volume that holds d n T/2, so that

    dT/dt = −(1 − e²) ω T / d,   ω ∝ √T   ⇒   T = T₀ / (1 + t/τ)²,   1/τ = (1 − e²) ω₀ / (2 d)

(Haff 1983). Velocities are not quite Maxwellian; the first Sonine coefficient a₂ (van Noije &
Ernst 1998) changes the rate by the factor 1 + 3 a₂/16.

Three grains in a row. With u and w the speeds at which the first pair and the second one approach,
and q = (1 + e)/2, a collision of the first makes (−e u, w + q u) of (u, w), one of the second
(u + q w, −e w). From before one collision of the first to before the next, r = w/u becomes
−e (q + r) / (q² − e + q r). The fixed points of this map, r² + q r + e = 0, are real if q² ≥ 4 e:
then r, from 0 on, comes to rest at one of them and collisions never end. That is

    1 + e ≥ 4 √e   ⇔   e ≤ 7 − 4 √3 = 0.0718  (Bernu & Mazighi 1990; McNamara & Young 1992).

Otherwise r turns negative enough after some collisions, and grains part.
"""

from __future__ import annotations

import math

__all__ = [
    "COLLAPSE", "collision_rate", "collisions_in_a_row", "compressibility", "contact_value",
    "cooling_rate", "sonine",
]  # fmt: skip

ROOT_PI = math.sqrt(math.pi)
COLLAPSE = 7.0 - 4.0 * math.sqrt(3.0)  # largest e at which three grains in a row collapse [1]


def contact_value(fraction: float, dim: int) -> float:
    """χ, the pair correlation at contact, of disks or spheres that fill this share of space."""
    if dim == 2:
        return (1.0 - 7.0 * fraction / 16.0) / (1.0 - fraction) ** 2
    return (1.0 - 0.5 * fraction) / (1.0 - fraction) ** 3


def compressibility(fraction: float, dim: int, restitution: float = 1.0) -> float:
    """P / (n T)."""
    crowded = (2.0 if dim == 2 else 4.0) * fraction * contact_value(fraction, dim)
    return 1.0 + crowded * 0.5 * (1.0 + restitution)


def collision_rate(fraction: float, dim: int, thermal: float, diameter: float = 1.0) -> float:
    """ω, collisions of a grain per time; thermal: √(T/m) [length/time]."""
    # n S_d σ^(d−1) = S_d φ / (σ V_d), with the volume V_d σ^d of a grain
    surface = 8.0 if dim == 2 else 24.0
    return surface * fraction / diameter * contact_value(fraction, dim) * thermal / ROOT_PI


def sonine(restitution: float, dim: int) -> float:
    """a₂ of a gas that cools freely."""
    e = restitution
    below = 9.0 + 24.0 * dim + (8.0 * dim - 41.0) * e + 30.0 * (1.0 - e) * e * e
    return 16.0 * (1.0 - e) * (1.0 - 2.0 * e * e) / below


def cooling_rate(restitution: float, fraction: float, dim: int, thermal: float) -> float:
    """1/τ of Haff's law for equal grains of diameter 1; thermal: √(T₀/m) [length/time]."""
    rate = (1.0 - restitution**2) * collision_rate(fraction, dim, thermal) / (2.0 * dim)
    return rate * (1.0 + 3.0 * sonine(restitution, dim) / 16.0)


def collisions_in_a_row(restitution: float, most: int = 10_000) -> int:
    """How often three grains in a row collide if the first runs into two that rest; ``most``: more.

    They are far enough apart that both gaps are open at the start.
    """
    u, w, q = 1.0, 0.0, 0.5 * (1.0 + restitution)
    for k in range(most):
        if k % 2 == 0:
            if u <= 0.0:
                return k
            u, w = -restitution * u, w + q * u
        else:
            if w <= 0.0:
                return k
            u, w = u + q * w, -restitution * w
    return most
