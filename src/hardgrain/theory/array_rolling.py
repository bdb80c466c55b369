"""The array of disks pushed along a plane while all or the last of its disks roll: closed forms.

The model and its equations are explained in `hardgrain.theory.array`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.theory._arguments import Valid, checked

__all__ = [
    "Floats",
    "behind",
    "checked_array",
    "exponent",
    "growth",
    "inertia_of_rolling",
    "least_drive",
    "rolling_array",
    "rolling_end",
    "rolling_friction",
    "rolling_inertia",
    "rolling_length",
    "rolling_mobilisation",
    "rolling_normals",
]

Floats = NDArray[np.float64]

# What arguments may be: within these limits no closed form overflows. The coefficients stay below
# one, where the forces along an array of disks have no limit.
_COUNT = 0, 1_000_000, "a number from 0 to 1000000"
_FORCE = 0.0, 1e12, "a number from 0 to 1e12"
_COEFFICIENT = 0.0, 0.99, "a coefficient of friction from 0 to 0.99"
_SIGNED = -1e12, 1e12, "a number from -1e12 to 1e12"
_VALID: dict[str, Valid] = {
    "particles": (1, 1_000_000, "a number from 1 to 1000000"),
    "rolling": _COUNT,
    "sliding": _COUNT,
    "acceleration": _FORCE,
    "brake": _FORCE,
    "mu": _COEFFICIENT,
    "mu_plane": _COEFFICIENT,
    "mu_block": _COEFFICIENT,
    "inertia": (1e-6, 1e6, "a number from 1e-6 to 1e6"),
    "block": (-1, 1, "1 or -1"),
    "first": _SIGNED,
    "last": _SIGNED,
}
checked_array = checked(_VALID)


@checked_array
def growth(mu: float) -> float:
    """The factor λ = (1 + µ)/(1 − µ) by which forces grow from one rolling disk to the next [1]."""
    return (1.0 + mu) / (1.0 - mu)


def exponent(mu: float, disks: float) -> float:
    """The exponent disks · ln λ; refused if λ^disks would overflow."""
    x = 2.0 * math.atanh(mu) * disks
    if x > 600.0:
        raise InputError(
            f"{disks:g} disks with coefficient of friction {mu:g} carry forces beyond all numbers;"
            " give fewer disks or less friction"
        )
    return x


@checked_array
def rolling_inertia(particles: float, mu: float, inertia: float = 0.5) -> float:
    """Effective inertia m_e of rolling disks (7) [mass]; to first order in µ, (1 + I) L.

    It is exact for a domain with more disks behind it, whatever µ'', and for a whole array if µ'' =
    µ.
    """
    return inertia_of_rolling(particles, mu, inertia)


def inertia_of_rolling(k: float, mu: float, inertia: float) -> float:
    x = exponent(mu, k)
    return (1.0 + inertia) * (math.expm1(x) / (2.0 * mu) if mu > 0.0 else k)


@checked_array
def rolling_friction(particles: float, brake: float, mu: float) -> float:
    """Effective friction µ_e of rolling disks as printed (8) [1]; to first order in µ, 2 µ N_0.

    It is exact for a whole array if µ'' = µ.
    """
    return brake * math.expm1(exponent(mu, particles)) / particles


@checked_array
def rolling_array(
    particles: float, brake: float, mu: float, mu_block: float, inertia: float = 0.5
) -> tuple[float, float]:
    """Exact values of m_e [mass] and µ_e [1] of an array in which all disks roll."""
    inner = inertia_of_rolling(particles - 1, mu, inertia)
    m = ((1.0 + mu) * inner + 1.0 + inertia) / (1.0 - mu_block)
    return m, (least_drive(particles, brake, mu, mu_block) - brake) / particles


@checked_array
def least_drive(particles: float, brake: float, mu: float, mu_block: float) -> float:
    """The driving force N_L at which rolling disks begin to move [weight of a disk]."""
    outer = (1.0 + mu_block) / (1.0 - mu_block)
    return brake * outer * math.exp(exponent(mu, particles - 1))


@checked_array
def rolling_normals(
    particles: int,
    acceleration: float,
    brake: float,
    mu: float,
    mu_block: float,
    inertia: float = 0.5,
) -> Floats:
    """The forces N_0 … N_L if all disks roll, shape (L + 1,) [weight of a disk]."""
    count = int(particles)
    n = np.empty(count + 1)
    n[0] = brake
    for i in range(1, count):
        n[i] = behind(i, brake, mu, mu_block) + inertia_of_rolling(i, mu, inertia) * acceleration
    before = (1.0 + mu) * n[-2] if count > 1 else (1.0 + mu_block) * brake
    n[-1] = (before + (1.0 + inertia) * acceleration) / (1.0 - mu_block)
    return n


def behind(k: float, brake: float, mu: float, mu_block: float) -> float:
    """The force N_k behind k rolling disks at v̇ = 0, with another disk behind them."""
    if k == 0:
        return brake
    return brake * (1.0 + mu_block) / (1.0 - mu) * math.exp(exponent(mu, k - 1))


def _plane(normal: Floats, acceleration: float, mu: float, mu_block: float) -> tuple[Floats, ...]:
    """The forces T' and N' of rolling disks between the forces ``normal``."""
    pressed = np.full(normal.size, mu)
    pressed[[0, -1]] = mu_block
    return np.diff(normal) - acceleration, 1.0 + np.diff(pressed * normal)


@checked_array
def rolling_mobilisation(
    particles: int,
    acceleration: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    inertia: float = 0.5,
) -> Floats:
    """The mobilisation η = T'/µ'N' if all disks roll (L,) [1]; they do if all η ≤ 1."""
    n = rolling_normals(particles, acceleration, brake, mu, mu_block, inertia)
    tangential, pressed = _plane(n, acceleration, mu, mu_block)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta: Floats = tangential / (mu_plane * pressed)
    return eta


@checked_array
def rolling_end(
    particles: int,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    inertia: float = 0.5,
) -> float:
    """The greatest v̇ at which all disks of an array roll; 0 if it does not begin to move so."""

    def room(acceleration: float) -> Floats:  # linear in v̇
        n = rolling_normals(particles, acceleration, brake, mu, mu_block, inertia)
        tangential, pressed = _plane(n, acceleration, mu, mu_block)
        left: Floats = mu_plane * pressed - tangential
        return left

    rest = room(0.0)
    slope = room(1.0) - rest
    ends = np.divide(-rest, slope, out=np.full(rest.size, math.inf), where=slope < 0.0)
    return max(0.0, float(ends.min())) if (rest >= 0.0).all() else 0.0


@checked_array
def rolling_length(
    acceleration: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    inertia: float = 0.5,
) -> float:
    """The number L_1^c of disks that roll in a long array [1]; inf if friction never stops them.

    At v̇ = 0 it is the static limit, the greatest L_1^c there is.
    """
    n = np.array([brake, 0.0, 0.0])
    for i in (1, 2):
        n[i] = behind(i, brake, mu, mu_block) + inertia_of_rolling(i, mu, inertia) * acceleration
    tangential, pressed = n[1] - brake - acceleration, 1.0 + mu * n[1] - mu_block * brake
    if tangential > mu_plane * pressed:
        return 0.0
    most, second = (mu_plane + acceleration) / (1.0 - mu * mu_plane), n[2] - n[1]
    if second > most:
        return 1.0
    if second <= 0.0 or mu == 0.0:
        return math.inf
    return 2.0 + math.floor(math.log(most / second) / (2.0 * math.atanh(mu)))
