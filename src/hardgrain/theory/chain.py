"""The elastic chain that unfinished sweeps make of rigid grains (unger2002, review eqs 38–68).

A row of rigid grains of mass m and diameter d, N sweeps in each step dt. Sweeps spread impulses by
diffusion, D = q d² a sweep, with a number q that depends on their order alone. Stopped after N of
them, the chain behaves as one of springs κ and dashpots γ: it carries sound, sags under a load, and
is rigid only if it is shorter than the diffusion length.

Two descriptions, both here. The paper's continuum in space and time,

    ∂²R/∂t² = c² ∂²R/∂x² + ∂/∂t (D ∂²R/∂x²)                                     (16)

holds for waves that are long against d and live long against dt. The exact one follows a mode from
step to step. Let a sweep shrink the mode's distance to the solution by 1 − µ (`relaxation_rate`),
so that a step leaves the share a = (1 − µ)^N of it. With V the contact velocity and P the impulse
of the mode, in units in which W = 1, the solution is P = −V, and a step is

    P ← −V + a (P + V),   V ← V + P:   a matrix of determinant a and trace 2a,

whose eigenvalues √a e^(±iω dt) give cos(ω dt) = √a and τ = −2 dt / ln a. A load that sets in shifts
the mode by Σ V dt, where V is a/(1 − a) times the impulse that a step takes up: it sags by the
share N µ a/(1 − a) of what a spring would. Nothing in this is special to a chain: in any packing
the slowest mode of the solver is the slowest sound. For small N µ it is the continuum, ω dt = √(Nµ)
and τ = 2 dt / (N µ). They part near k_c, where a mode dies within one step: the continuum has it
overdamped, while the true one still turns by up to a quarter of a period a step.

Lengths, masses and times are in any consistent units; ``order`` is the name of an order of updates,
or its q.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.errors import InputError

__all__ = [
    "Q",
    "coupling",
    "critical_wavelength",
    "critical_wavenumber",
    "damping",
    "damping_time",
    "diffusion",
    "diffusion_length",
    "frequency",
    "halved",
    "q",
    "q_series",
    "relaxation_rate",
    "remaining",
    "shrinkage",
    "slowest_wavenumber",
    "sound_length",
    "sound_speed",
    "step_damping_time",
    "step_frequency",
    "step_sag",
    "stiffness",
    "sweeps_and_step",
    "sweeps_for_rigidity",
    "sweeps_for_stiffness",
]

# How fast sweeps spread impulses, D = q d² a sweep. One update lets an impulse answer its two
# neighbours, by halves: q = 1/2 if all are updated at once (11). In other orders a sweep also hands
# on what it has just changed: (4√e − 5)/2 = 0.797 at random (A4), twice the parallel one if each
# contact follows a fresh neighbour, be it along the chain, to and fro, or every second one first.
Q = {
    "parallel": 0.5,
    "random": (4.0 * math.sqrt(math.e) - 5.0) / 2.0,
    "sequential": 1.0,
    "symmetric": 1.0,
    "coloured": 1.0,
}


def q(order: str | float = "random") -> float:
    """q of an order of updates (11, A4) [1]."""
    if not isinstance(order, str):
        return float(order)
    if order not in Q:
        raise InputError(f"order is {order!r}; give one of {', '.join(Q)}, or q itself")
    return Q[order]


def q_series(terms: int) -> float:
    """q of random sweeps from the first terms of its series (A3), ½ + Σ 1/(2^r (r+1)!) [1]."""
    return 0.5 + sum(0.5**r / math.factorial(r + 1) for r in range(1, terms))


# ---------------------------------------------------------------------- continuum
def diffusion(
    sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """D: how impulses spread in physical time (14) [length²/time]."""
    return q(order) * sweeps * diameter**2 / dt


def coupling(
    sweeps: float,
    dt: float = 1.0,
    diameter: float = 1.0,
    mass: float = 1.0,
    order: str | float = "random",
) -> float:
    """β: how approaching grains build up force (15) [mass length/time²]."""
    return q(order) * sweeps * mass * diameter / dt**2


def sound_speed(
    sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """c of long waves (17) [length/time]."""
    return math.sqrt(q(order) * sweeps) * diameter / dt


def frequency(
    k: Any, sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> Any:
    """ω of a wave with wave number k (18), zero if it is overdamped [1/time]; k may be an array."""
    c, d = sound_speed(sweeps, dt, diameter, order), diffusion(sweeps, dt, diameter, order)
    k = np.asarray(k, dtype=float)
    return (k * np.sqrt(np.maximum(c**2 - (d * k) ** 2 / 4.0, 0.0)))[()]


def damping_time(
    k: Any, sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> Any:
    """τ of a wave with wave number k (20) [time]; k may be an array.

    An overdamped wave (k > k_c) has two; this is the longer.
    """
    c, d = sound_speed(sweeps, dt, diameter, order), diffusion(sweeps, dt, diameter, order)
    k = np.asarray(k, dtype=float)
    rate = d * k**2 / 2.0
    return (1.0 / (rate - np.sqrt(np.maximum(rate**2 - (c * k) ** 2, 0.0))))[()]


def critical_wavenumber(
    sweeps: float, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """k_c = 2c/D: shorter waves are overdamped (19) [1/length]."""
    return 2.0 / (math.sqrt(q(order) * sweeps) * diameter)


def slowest_wavenumber(length: float) -> float:
    """k of the longest wave of a chain with one end fixed and one free, λ = 4 L [1/length]."""
    return math.pi / (2.0 * length)


# ---------------------------------------------------------------------- lengths
def diffusion_length(sweeps: float, diameter: float = 1.0, order: str | float = "random") -> float:
    """l_diff = √(4 D dt): how far the sweeps of a step carry information (47, 63) [length]."""
    return 2.0 * diameter * math.sqrt(q(order) * sweeps)


def sound_length(sweeps: float, diameter: float = 1.0, order: str | float = "random") -> float:
    """l_sound = c dt: how far sound gets in a step (61) [length]."""
    return diameter * math.sqrt(q(order) * sweeps)


def critical_wavelength(
    sweeps: float, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """λ_c = 2π/k_c: of the longest wave that is overdamped (62) [length]."""
    return 2.0 * math.pi / critical_wavenumber(sweeps, diameter, order)


# ---------------------------------------------------------------------- springs and dashpots
def stiffness(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> float:
    """κ of the spring between two grains of the equivalent chain (24) [force/length]."""
    return q(order) * mass * sweeps / dt**2


def damping(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> float:
    """γ of the dashpot between two grains of the equivalent chain (25) [force time/length]."""
    return q(order) * mass * sweeps / dt


def shrinkage(force: float, grains: int, stiffness: float) -> float:
    """By how much a force shortens a chain with as many springs as grains [length]."""
    return force * grains / stiffness


# ---------------------------------------------------------------------- questions of a user
def sweeps_for_rigidity(length: float, diameter: float = 1.0, order: str | float = "random") -> int:
    """Least number of sweeps for which l_diff reaches ``length``."""
    exact = (length / (2.0 * diameter)) ** 2 / q(order)
    return max(1, math.ceil(exact * (1.0 - 1e-12)))  # a whole number stays one despite rounding


def sweeps_for_stiffness(
    stiffness: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> int:
    """Least number of sweeps that gives at least the wanted κ (24)."""
    exact = stiffness * dt**2 / (q(order) * mass)
    return max(1, math.ceil(exact * (1.0 - 1e-12)))


def sweeps_and_step(
    stiffness: float, damping: float, mass: float = 1.0, order: str | float = "random"
) -> tuple[float, float]:
    """Sweeps and dt that give the wanted κ and γ together (24, 25): dt = γ/κ, N = γ²/(q m κ)."""
    return damping**2 / (q(order) * mass * stiffness), damping / stiffness


def halved(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> tuple[float, float]:
    """κ and γ after halving sweeps and step together: κ doubles, γ stays, for the same work."""
    return stiffness(sweeps / 2, dt / 2, mass, order), damping(sweeps / 2, dt / 2, mass, order)


# ---------------------------------------------------------------------- step by step, exactly
def relaxation_rate(k: Any, diameter: float = 1.0, order: str = "random") -> Any:
    """µ: a sweep shrinks a mode's distance to the solution by 1 − µ on average [1].

    parallel: each impulse becomes the mean of its neighbours', so 1 − µ = cos kd. random: that
    change, handed on over r contacts with probability 1/(r+1)! (A2). sequential, coloured:
    1 − µ = cos² kd, as for Gauss–Seidel on Poisson's equation. symmetric: not known in closed form.
    """
    kd = np.asarray(k, dtype=float) * diameter
    if order == "parallel":
        return (1.0 - np.cos(kd))[()]
    if order in ("sequential", "coloured"):
        return (np.sin(kd) ** 2)[()]
    if order != "random":
        raise InputError(f"order is {order!r}; give parallel, random, sequential or coloured")
    r = np.arange(1, 20)
    share = 0.5**r / np.array([math.factorial(n + 1) for n in r], dtype=float)
    handed_on = 1.0 + 2.0 * (np.cos(kd[..., None] * r) @ share)
    return ((1.0 - np.cos(kd)) * handed_on)[()]


def remaining(rate: Any, sweeps: float) -> Any:
    """a = |1 − µ|^N: the share of a mode's error that a step leaves [1].

    Random sweeps overshoot in the shortest waves, µ > 1.
    """
    return (np.abs(1.0 - np.asarray(rate, dtype=float)) ** sweeps)[()]


def step_frequency(rate: Any, sweeps: float, dt: float = 1.0) -> Any:
    """ω of a mode that relaxes by µ a sweep, exactly: cos(ω dt) = √a [1/time]."""
    return (np.arccos(np.sqrt(remaining(rate, sweeps))) / dt)[()]


def step_sag(rate: Any, sweeps: float) -> Any:
    """Share of the equivalent spring's sag that a mode keeps, exactly: N µ a / (1 − a) [1]."""
    a = remaining(rate, sweeps)
    return (sweeps * np.asarray(rate, dtype=float) * a / (1.0 - a))[()]


def step_damping_time(rate: Any, sweeps: float, dt: float = 1.0) -> Any:
    """τ of a mode that relaxes by µ a sweep, exactly: −2 dt / ln a [time]."""
    return (-2.0 * dt / (sweeps * np.log(np.abs(1.0 - np.asarray(rate, dtype=float)))))[()]
