"""Grains in a silo: the load that walls take off them (Janssen 1895), the rate at which they flow
out (Beverloo, Leniger & van de Velde 1961). In 2D "area" is a width and "perimeter" a number, two.

Janssen. A slice of thickness dz at the depth z below the surface, area A, perimeter P, bulk density
ρ, is in equilibrium between its weight, the vertical stresses on both faces and the friction of the
walls,

    A dσ = ρ g A dz − P τ dz,   τ = µ p (friction fully mobilised, upwards),   p = K σ,

with one ratio K of the walls' pressure to the vertical stress. With the length λ = A/(P K µ),

    dσ/dz = ρ g − σ/λ   ⟹   σ(z) = ρ g λ (1 − e^(−z/λ)) + σ_0 e^(−z/λ),

where σ_0 is a load on the surface. Deep down the stress stays at ρ g λ: the walls carry the rest.
The share of its weight that a column of height h leaves to the bottom is (1 − e^(−x))/x, x = h/λ.
Only the product K µ enters; where friction is not mobilised, µ is τ/p.

Beverloo. Above the orifice grains fall freely from an arch as wide as it: v ~ (g w)^½ with w = D −
k d, the orifice less an empty ring that the grains' finite size d leaves along its edge. The flux ρ
v w^(dim − 1) is then

    W = C ρ √g w^(dim − 1/2):   C ρ √g (D − k d)^(5/2) in 3D,   C ρ √g (D − k d)^(3/2) in 2D,

whatever the filling height. C (0.58 in Beverloo's own fits, with k = 1.4) is not a number of
theory.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardgrain.errors import InputError
from hardgrain.theory._arguments import Valid, checked

__all__ = [
    "beverloo",
    "bottom_share",
    "janssen",
    "janssen_length",
    "janssen_slices",
    "length_of_share",
]

Floats = NDArray[np.float64]

# What arguments may be: squares and products of a few of them are still numbers.
_POSITIVE: Valid = (1e-300, 1e300, "a positive number")
_NOT_NEGATIVE: Valid = (0.0, 1e300, "a number that is not negative")
_VALID: dict[str, Valid] = {
    "area": _POSITIVE,
    "perimeter": _POSITIVE,
    "k_mu": _POSITIVE,
    "length": _POSITIVE,
    "weight": _NOT_NEGATIVE,
    "depth": _NOT_NEGATIVE,
    "load": (-1e300, 1e300, "a number"),
    "height": _POSITIVE,
    "orifice": _POSITIVE,
    "diameter": _POSITIVE,
    "density": _POSITIVE,
    "gravity": _POSITIVE,
    "c": _POSITIVE,
    "k": _NOT_NEGATIVE,
}
_checked = checked(_VALID)


@_checked
def janssen_length(area: float, perimeter: float, k_mu: float) -> float:
    """Janssen's length λ = A/(P K µ): D/(4 K µ) in a cylinder, W/(2 K µ) between walls [length]."""
    return area / (perimeter * k_mu)


@_checked
def janssen(depth: ArrayLike, weight: float, length: float, load: float = 0.0) -> Floats:
    """Vertical stress at a depth [stress]; weight: ρ g [force/volume], load: σ at the surface."""
    x = np.asarray(depth, dtype=float) / length
    stress: Floats = -weight * length * np.expm1(-x) + load * np.exp(-x)
    return stress


def janssen_slices(weights: ArrayLike, thickness: float, rate: float) -> Floats:
    """Mean vertical stress of slices whose densities differ, from the surface down [stress].

    weights: ρ g of each slice [force/volume]; rate: 1/λ, negative where walls push down. With
    x = thickness/λ and f = (1 − e^(−x))/x, a slice that gets σ from above passes
    σ e^(−x) + ρ g h f on, and its mean is σ f + ρ g h (1 − f)/x.
    """
    w, x = np.asarray(weights, dtype=float) * thickness, thickness * rate
    f = -math.expm1(-x) / x if abs(x) > 1e-4 else 1.0 - x / 2.0 + x * x / 6.0
    half = (1.0 - f) / x if abs(x) > 1e-4 else 0.5 - x / 6.0
    stress, above = np.zeros_like(w), 0.0
    for k, own in enumerate(w):
        stress[k] = above * f + own * half
        above = above * math.exp(-x) + own * f
    return stress


@_checked
def bottom_share(height: ArrayLike, length: float) -> Floats:
    """The share of its weight that a column leaves to the bottom, (1 − e^(−x))/x with x = h/λ."""
    x = np.asarray(height, dtype=float) / length
    share: Floats = -np.expm1(-x) / x
    return share


def length_of_share(height: float, share: float) -> float:
    """The length λ for which a column leaves this share of its weight to the bottom, or inf."""
    from scipy.optimize import brentq

    if not 0.0 < share <= 1.0:
        raise InputError(f"share is {share}; give a number above 0 and up to 1")
    if share == 1.0:
        return math.inf
    # (1 − e^(−x))/x lies between 1 − x/2 and 1/x
    x = brentq(lambda x: -math.expm1(-x) / x - share, 2.0 * (1.0 - share), 1.0 / share + 1e-9)
    return height / float(x)


@_checked
def beverloo(
    orifice: ArrayLike,
    diameter: float,
    density: float,
    gravity: float,
    dim: int,
    c: float = 0.58,
    k: float = 1.4,
) -> Floats:
    """W = C ρ √g (D − k d)^(dim − ½), zero where grains cannot pass [mass/time].

    orifice: D [length]; diameter: d of the grains; density: ρ of the bulk, not of the grains.
    """
    if dim not in (2, 3):
        raise InputError(f"dim is {dim}; give 2 or 3")
    width = np.maximum(np.asarray(orifice, dtype=float) - k * diameter, 0.0)
    rate: Floats = c * density * math.sqrt(gravity) * width ** (dim - 0.5)
    return rate
