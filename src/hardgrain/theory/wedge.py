"""A disk on two walls, the least packing that is indeterminate (mcnamara2004, Sec. II H).

The walls touch the disk at the angle φ from its lowest point, on the left (α) and on the right (β).
Forces are in units of the disk's weight m g. Contact forces F = (R_α, T_α, R_β, T_β) balance it if

    (R_α − R_β) sin φ + (T_α + T_β) cos φ = 0,
    (R_α + R_β) cos φ − (T_α − T_β) sin φ = 1,   T_α + T_β = 0,                             (25)

that is for F = F_1 + a F_0 with any a: F_1 carries the weight (28), F_0 is two horizontal forces
against each other (27). Both contacts have the same R and |T|,

    R = cos φ/2 + a sin φ,   T_α = −T_β = a cos φ − sin φ/2,                            (34), (36)

and Coulomb's law |T| ≤ µ R leaves a_min ≤ a ≤ a_max,

    a_min = −(µ − tan φ)/2(1 + µ tan φ),   a_max = (µ + tan φ)/2(1 − µ tan φ).          (32), (33)

Where tan φ ≥ 1/µ the line between the contacts lies within both cones of friction: the disk is
wedged, there is no a_max, and forces can be as large as one likes.

Misprints of the paper. (31) has the inequality reversed: it should say |T| ≤ µ R. In (34) and (36)
the factor m g/2 belongs to the first term only. (35) and (37) are right; the caption of Fig. 3 does
not agree with them: at φ = 0 they give δ_R = 0 and δ_T = µ, not µ and 2µ.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.theory._arguments import Valid, checked

__all__ = [
    "contact_matrix",
    "delta_normal",
    "delta_tangential",
    "divergence",
    "greatest",
    "least",
    "normal",
    "null_vector",
    "particular",
    "tangential",
]

Floats = NDArray[np.float64]

# What arguments may be: within these limits no closed form overflows.
_VALID: dict[str, Valid] = {
    "angle": (0.0, 1.57, "an angle from 0 to 1.57, less than a right angle"),
    "mu": (0.0, 1e6, "a coefficient of friction from 0 to 1e6"),
    "radius": (1e-12, 1e12, "a number from 1e-12 to 1e12"),
    "a": (-1e12, 1e12, "a number from -1e12 to 1e12"),
}
_checked = checked(_VALID)


@_checked
def contact_matrix(angle: float, radius: float = 1.0) -> Floats:
    """The matrix c of (26), from (R_α, T_α, R_β, T_β) to force and torque on the disk (3, 4)."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[s, c, -s, c], [c, -s, c, s], [0.0, radius, 0.0, radius]])


@_checked
def null_vector(angle: float) -> Floats:
    """F_0 of (27), (4,): the horizontal forces cancel each other."""
    s, c = math.sin(angle), math.cos(angle)
    return np.array([s, c, s, -c])


@_checked
def particular(angle: float) -> Floats:
    """F_1 of (28), (4,) [m g]: half the weight on each side, nothing across."""
    s, c = math.sin(angle), math.cos(angle)
    return 0.5 * np.array([c, -s, c, s])


@_checked
def divergence(mu: float) -> float:
    """The angle arctan 1/µ from which the disk is wedged [rad]."""
    return 0.5 * math.pi - math.atan(mu)


@_checked
def least(angle: float, mu: float) -> float:
    """The least amplitude a_min of (32) [m g]."""
    s, c = math.sin(angle), math.cos(angle)
    return -0.5 * (mu * c - s) / (c + mu * s)


@_checked
def greatest(angle: float, mu: float) -> float:
    """The greatest amplitude a_max of (33) [m g]; inf for a disk that is wedged."""
    s, c = math.sin(angle), math.cos(angle)
    return 0.5 * (mu * c + s) / (c - mu * s) if c > mu * s else math.inf


@_checked
def normal(angle: float, a: float) -> float:
    """R of both contacts, (34) set right [m g]."""
    return 0.5 * math.cos(angle) + a * math.sin(angle)


@_checked
def tangential(angle: float, a: float) -> float:
    """T_α = −T_β, (36) set right [m g]."""
    return a * math.cos(angle) - 0.5 * math.sin(angle)


@_checked
def delta_normal(angle: float, mu: float) -> float:
    """The range δ_R of R (35) [m g]; inf for a disk that is wedged."""
    return _range(angle, mu, math.sin(angle))


@_checked
def delta_tangential(angle: float, mu: float) -> float:
    """The range δ_T of T (37) [m g]; inf for a disk that is wedged."""
    return _range(angle, mu, math.cos(angle))


def _range(angle: float, mu: float, share: float) -> float:
    """The range a_max − a_min times a share; the denominator is cos² φ − µ² sin² φ."""
    s, c = math.sin(angle), math.cos(angle)
    return mu * share / ((c - mu * s) * (c + mu * s)) if c > mu * s else math.inf
