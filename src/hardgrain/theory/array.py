"""The array of disks pushed along a plane: its modes in closed form (radjai1997, (7)–(11)).

Disks of unit mass, radius and weight, numbered 1 … L against the motion; T_i and N_i at the contact
of disks i and i + 1 (0 and L: the blocks), a prime for the plane. Signs as in the paper: friction
that resists a forward slip is positive, ω > 0 rolls forward, and

    I ω̇_i = T'_i − T_i − T_{i−1},   v̇ = N_i − N_{i−1} − T'_i,   N'_i = 1 + T_i − T_{i−1}.

Mode 1, rolling: ω̇ = v̇ and T_i = µ N_i. The first two equations add up to

    (1 − µ) N_i = (1 + µ) N_{i−1} + (1 + I) v̇,   λ = (1 + µ)/(1 − µ),

so that N_i + (1 + I) v̇/2µ, and with it N_i − N_{i−1} = T'_i + v̇, grow by λ from disk to disk. At
the blocks µ is µ''. Behind k rolling disks with another behind them

    N_k = N_0 λ^(k−1) (1 + µ'')/(1 − µ) + m(k) v̇,   m(k) = (1 + I)(λ^k − 1)/2µ:        (7)

m(k) does not know µ''. With the driving block behind the last disk one factor is another,

    (1 − µ'') N_L = (1 + µ) N_{L−1} + (1 + I) v̇,

and the printed (7) and (8) are that for µ'' = µ. A disk rolls as long as T' ≤ µ' N', that is

    T'_i + v̇ = N_i − N_{i−1} ≤ (µ' + v̇)/(1 − µ µ') = s.

Mode 2, sliding everywhere: T' = µ' N' makes N_i − N_{i−1} = s throughout, so N is linear, T' is
constant, and I ω̇ falls by 2 µ s from disk to disk. The two terms of s are a disk's share of (10)
and (9).

Mode 3, counter-rotating: ω̇_i = −ω̇_{i+1} and T' = µ' N' leave

    (1 − µ') T_i + (1 + µ') T_{i−1} = µ' − I ω̇_i,

solved by T_i = µ'/2 + (−1)^i (c + A λ'^i): roots 1, −1 and −λ', λ' = (1 + µ')/(1 − µ'), where c is
−I ω̇/2µ' of the odd disks. The two constants follow from T at both ends.

The sum of T' = µ' (1 + T_i − T_{i−1}) over modes 2 and 3 telescopes. Behind k rolling disks

    N_L = N_k + (L − k)(µ' + v̇) + µ' (T_L − µ N_k):

where mode 2 ends does not matter, and only the block's friction T_L is left to know. It is ±µ'' N_L
if that contact slides. If it sticks (a spike of Fig. 9) mode 3 does not rotate, c = 0, and T_L is
µ'/2 + (−λ')^n (T_{L−n} − µ'/2) behind n disks of mode 3.

Fast driving leaves mode 3 alone, with T_0 = µ'' N_0 and |T_L| ≤ µ'' N_L. With τ = T_0 − µ'/2,

    N'_i = 1 + T_i − T_{i−1} = 1 + (−1)^i [2 c + A λ'^(i−1) (1 + λ')],   c + A = τ.

If the block holds disk L, mode 3 does not rotate, c = 0 and A = τ < 0: that is possible for all
drives if it lifts no disk, that is if −τ λ'^(i−1) (1 + λ') < 1 for the last even i. Otherwise the
array rotates, T_L = ±µ'' N_L grows with the drive, and this disk is lifted (N' = 0) at

    A = −(1 + 2 τ)/(λ'^(i−1) (1 + λ') − 2),   µ'' N_c = |µ'/2 + (−1)^L (τ + A (λ'^L − 1))|.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.errors import InputError
from hardgrain.theory.array_rolling import (
    Floats,
    behind,
    checked_array,
    exponent,
    growth,
    inertia_of_rolling,
    least_drive,
    rolling_array,
    rolling_end,
    rolling_friction,
    rolling_inertia,
    rolling_length,
    rolling_mobilisation,
    rolling_normals,
)  # fmt: skip

__all__ = [
    "counter_rotation",
    "growth",
    "least_drive",
    "mixed_friction",
    "moving_array",
    "opening_drive",
    "rolling_array",
    "rolling_end",
    "rolling_friction",
    "rolling_inertia",
    "rolling_last",
    "rolling_length",
    "rolling_mobilisation",
    "rolling_normals",
    "sliding_friction",
    "sliding_inertia",
    "sliding_length",
    "spike",
]


@checked_array
def sliding_inertia(particles: float, mu: float, mu_plane: float) -> float:
    """Effective inertia m_e of disks that slide at all contacts (9) [mass]."""
    return particles / (1.0 - mu * mu_plane)


@checked_array
def sliding_friction(mu: float, mu_plane: float) -> float:
    """Effective friction µ_e of disks that slide at all contacts (10) [1]."""
    return mu_plane / (1.0 - mu * mu_plane)


@checked_array
def sliding_length(acceleration: float, mu: float, mu_plane: float, inertia: float = 0.5) -> float:
    """Length L_2^c of mode 2 in a long array, to within two disks [1]: I ω̇ falls from I v̇ to 0 by
    2 µ s a disk.

    It holds if there is a mode 1 before it.
    """
    if acceleration == 0.0:
        return 0.0
    if mu == 0.0:
        return math.inf
    step = (mu_plane + acceleration) / (1.0 - mu * mu_plane)
    return inertia * acceleration / (2.0 * mu * step)


# ---------------------------------------------------------------------- mode 3, and all together
@checked_array
def counter_rotation(
    particles: int, first: float, last: float, mu_plane: float, inertia: float = 0.5
) -> tuple[Floats, float]:
    """Forces T before, between and behind counter-rotating disks (n + 1,), and the first ω̇.

    ``first`` and ``last`` are T at the two ends; between, T_i = µ'/2 + (−1)^i (c + A λ'^i).
    """
    if mu_plane == 0.0:
        raise InputError("mu_plane is 0; give a plane with friction")
    n = int(particles)
    i = np.arange(n + 1)
    sign = np.where(i % 2 == 0, 1.0, -1.0)
    middle = 0.5 * mu_plane
    near, far = first - middle, sign[-1] * (last - middle)
    x = 2.0 * math.atanh(mu_plane)
    constant = near - (far - near) * math.exp(-n * x) / -math.expm1(-n * x)
    swing = (far - constant) * np.exp((i - n) * x)  # A λ'^i
    return middle + sign * (constant + swing), -2.0 * mu_plane * constant / inertia


def _front(
    particles: float, rolling: float, brake: float, mu: float, mu_block: float, inertia: float
) -> tuple[Floats, float]:
    """The force N = front · (1, v̇) behind the rolling disks, and µ of the contact there."""
    if not rolling < particles:
        raise InputError(f"rolling is {rolling:g}; give less than all {particles:g} particles")
    force = behind(rolling, brake, mu, mu_block)
    front = np.array([force, inertia_of_rolling(rolling, mu, inertia)])
    return front, mu if rolling else mu_block


def _effective(total: Floats, brake: float, particles: float) -> tuple[float, float]:
    """The values of m_e and µ_e that follow from N_L = total · (1, v̇)."""
    return float(total[1]), float(total[0] - brake) / particles


@checked_array
def moving_array(
    particles: float,
    rolling: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    block: int = 1,
    inertia: float = 0.5,
) -> tuple[float, float]:
    """Values of m_e [mass] and µ_e [1] with ``rolling`` disks in mode 1, the others in 2 and 3.

    ``block`` is the direction, ±1, in which disk L slides on the driving block. With no rolling
    disk these are the limits of fast driving, m_e = L/(1 ∓ µ'µ'') and µ_e = µ'(1 − (µ'' ∓ µ'')
    N_0/L) over the same.
    """
    front, side = _front(particles, rolling, brake, mu, mu_block, inertia)
    plane = (particles - rolling) * np.array([mu_plane, 1.0])
    total = ((1.0 - side * mu_plane) * front + plane) / (1.0 - block * mu_plane * mu_block)
    return _effective(total, brake, particles)


@checked_array
def rolling_last(
    particles: float,
    rolling: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    inertia: float = 0.5,
) -> tuple[float, float]:
    """Values of m_e and µ_e if disk L rolls, too, and slides on its neighbour (µ'' < µ)."""
    front, side = _front(particles - 1, rolling, brake, mu, mu_block, inertia)
    plane = (particles - 1 - rolling) * np.array([mu_plane, 1.0])
    rear = ((1.0 - side * mu_plane) * front + plane) / (1.0 - mu * mu_plane)
    total = ((1.0 + mu) * rear + np.array([0.0, 1.0 + inertia])) / (1.0 - mu_block)
    return _effective(total, brake, particles)


@checked_array
def spike(
    particles: float,
    rolling: float,
    sliding: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    inertia: float = 0.5,
) -> tuple[float, float]:
    """Values of m_e and µ_e if disk L sticks to the driving block: mode 3 does not rotate."""
    front, side = _front(particles, rolling, brake, mu, mu_block, inertia)
    n = particles - rolling - sliding
    if n < 1:
        raise InputError(f"sliding is {sliding:g}; give fewer, so that mode 3 has a disk")
    plane = np.array([mu_plane, 1.0])
    begin = side * front  # the force T where mode 3 begins
    if sliding:
        rear = (1.0 - side * mu_plane) * front + sliding * plane
        begin = mu * rear / (1.0 - mu * mu_plane)
    middle = np.array([0.5 * mu_plane, 0.0])
    swing = math.exp(exponent(mu_plane, n)) * (-1.0 if n % 2 else 1.0)
    end = middle + swing * (begin - middle)
    total = (1.0 - side * mu_plane) * front + (particles - rolling) * plane + mu_plane * end
    return _effective(total, brake, particles)


@checked_array
def opening_drive(particles: int, brake: float, mu_plane: float, mu_block: float) -> float:
    """The driving force N_c that lifts disk 2⌊L/2⌋ off the plane [weight of a disk], or inf.

    It holds if all disks counter-rotate by then, as they do if µ'' is small enough.
    """
    disk = particles - particles % 2  # the last one whose swing is upward
    growth = math.exp(exponent(mu_plane, 1.0))
    reach = math.exp(exponent(mu_plane, disk - 1.0)) * (1.0 + growth)
    tau = mu_block * brake - 0.5 * mu_plane
    if disk == 0 or mu_block == 0.0 or -tau * reach < 1.0:
        return math.inf
    swing = -(1.0 + 2.0 * tau) / (reach - 2.0)
    last = tau + swing * math.expm1(exponent(mu_plane, particles))
    return abs(0.5 * mu_plane + (-last if particles % 2 else last)) / mu_block


@checked_array
def mixed_friction(
    particles: float, rolling: float, brake: float, mu: float, mu_plane: float
) -> float:
    """Friction µ_g of rolling and counter-rotating disks at constant velocity, as printed (11) [1].

    It is approximate; `moving_array` is exact, with the factor 1 − µ µ' and the blocks' µ''.
    """
    force = brake * math.expm1(exponent(mu, rolling))
    return (force + (particles - rolling) * mu_plane) / particles
