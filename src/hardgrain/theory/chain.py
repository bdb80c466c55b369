"""The elastic chain that unfinished sweeps make of rigid grains (unger2002, review eqs 38–68).

A row of rigid grains of mass m and diameter d gets N sweeps in each step dt. Sweeps spread impulses
by diffusion, D = q d² a sweep, with a number q that depends on their order alone. Stopped after N
of them, the chain behaves as one of springs κ and dashpots γ: it carries sound, sags under a load,
and is rigid only if it is shorter than the diffusion length.

There are two descriptions, both in this file. The paper's continuum in space and time,

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
and τ = 2 dt / (N µ). The two descriptions part near k_c, where a mode dies within one step: in the
continuum it is overdamped, while the true mode still advances by up to a quarter of a period a
step.

Lengths, masses and times are in any consistent units; ``order`` is the name of an order of updates,
or its q.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.theory._arguments import Valid, check, checked

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
    "q_of_paths",
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
# Contacts drawn at random give 1/2 once more. With B the parallel update, a visit to one of M
# contacts changes the errors by (B − 1)/M on average, whatever was visited before; draws are
# independent, so the averages of visits multiply, and M of them leave (1 + (B − 1)/M)^M, for long
# chains exp(B − 1). Nothing here is special to a chain, as it is for random sweeps.
# In tiles a sweep hands a change on over r contacts, r + 1 in a row, if these come in their order:
# by chance, 1/(r + 1)!, if they lie in one tile; if a of them lie in one and b in the next, 1/2 for
# the tiles and 1/(a! b!) for the contacts in them. With L contacts of the chain in a tile this
# gives 0.820 for L = 2, 0.811 for 5, 0.804 for 10, and in the end that of random sweeps, which
# stands for all.
Q = {
    "parallel": 0.5,
    "random": (4.0 * math.sqrt(math.e) - 5.0) / 2.0,
    "drawn": 0.5,
    "sequential": 1.0,
    "symmetric": 1.0,
    "coloured": 1.0,
    "tiles": (4.0 * math.sqrt(math.e) - 5.0) / 2.0,
}


# ---------------------------------------------------------------------- arguments Least and
# greatest value of each argument: all results are products of at most six powers of them, and so
# stay finite.
_POSITIVE = 1e-50, 1e50, "a positive number, from 1e-50 to 1e50"
_NOT_NEGATIVE = 0.0, 1e50, "a number from 0 to 1e50"
_VALID: dict[str, Valid] = {
    "k": _NOT_NEGATIVE,
    "sweeps": _NOT_NEGATIVE,
    "rate": (0.0, 2.0, "a number from 0 to 2"),  # 1 − µ beyond ±1 would be no relaxation
    "force": (-1e50, 1e50, "a number from -1e50 to 1e50"),
} | dict.fromkeys(("dt", "diameter", "mass", "length", "grains", "stiffness", "damping"), _POSITIVE)

_checked = checked(_VALID)


# ---------------------------------------------------------------------- orders
def q(order: str | float = "random") -> float:
    """The number q of an order of updates (11, A4) [1]."""
    if isinstance(order, str) and order in Q:
        return Q[order]
    least, most, _ = _POSITIVE
    check("order", order, least, most, f"one of {', '.join(Q)}, or q itself, 1e-50 to 1e50")
    return float(order)


def q_series(terms: int) -> float:
    """The number q of random sweeps by the first terms of (A3), ½ + Σ 1/(2^r (r+1)!) [1]."""
    if not (isinstance(terms, Integral) and terms >= 1):
        raise InputError(f"terms is {terms!r}; give a whole number of at least 1")
    last = min(terms, 20)  # later terms are below rounding
    return 0.5 + sum(0.5**r / math.factorial(r + 1) for r in range(1, last))


def q_of_paths(onward: float) -> float:
    """The number q of random sweeps in any network of contacts [1].

    On average a random sweep hands a change on along every path of r contacts that does not cross
    itself, with probability 1/(r+1)! (A2 tells so of a chain, and it does not depend on it). If the
    share s of a long wave goes on after a second contact and the rest comes back, s² after a third,
    and so on, then 2 q = 1 + Σ s^(r−1)/(r+1)! = 1 + (e^s − 1 − s)/s². A chain has s = ½. There are
    two limits: (e − 1)/2 if nothing ever comes back, and ½, as for contacts drawn at random, if
    contacts have so many neighbours that each of them undoes what others did.
    """
    check("onward", onward, -1e50, 1.0, "a number from -1e50 to 1")
    s = float(onward)
    if abs(s) < 1e-3:  # the closed form would lose half of its digits
        return 0.5 * (1.5 + s / 6.0 + s**2 / 24.0)
    return 0.5 * (1.0 + (math.expm1(s) - s) / s**2)


# ---------------------------------------------------------------------- continuum
@_checked
def diffusion(
    sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """The diffusivity D with which impulses spread in physical time (14) [length²/time]."""
    return q(order) * sweeps * diameter**2 / dt


@_checked
def coupling(
    sweeps: float,
    dt: float = 1.0,
    diameter: float = 1.0,
    mass: float = 1.0,
    order: str | float = "random",
) -> float:
    """The coupling β, by which approaching grains build up force (15) [mass length/time²]."""
    return q(order) * sweeps * mass * diameter / dt**2


@_checked
def sound_speed(
    sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """The speed of sound c of long waves (17) [length/time]."""
    return math.sqrt(q(order) * sweeps) * diameter / dt


@_checked
def frequency(
    k: Any, sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> Any:
    """Frequency ω of waves with wave number k (18), zero if overdamped [1/time]; k may be an array.

    With (19), (18) is ω = c k √(1 − (k/k_c)²).
    """
    k = np.asarray(k, dtype=float)
    share = np.minimum(k / critical_wavenumber(sweeps, diameter, order), 1.0)
    return (sound_speed(sweeps, dt, diameter, order) * k * np.sqrt(1.0 - share**2))[()]


@_checked
def damping_time(
    k: Any, sweeps: float, dt: float = 1.0, diameter: float = 1.0, order: str | float = "random"
) -> Any:
    """Damping time τ of waves with wave number k (20) [time]; k may be an array.

    An overdamped wave (k > k_c) has two; this is the longer. With y = (k_c/k)² and D = c² dt, (20)
    is τ = ½ dt y, and the longer one 1/(½ D k² − √(¼ D² k⁴ − c² k²)) = ½ dt (1 + √(1 − y)).
    """
    with np.errstate(divide="ignore", over="ignore"):  # for k = 0 it is infinite
        y = (critical_wavenumber(sweeps, diameter, order) / np.asarray(k, dtype=float)) ** 2
    return (0.5 * dt * np.maximum(y, 1.0 + np.sqrt(np.maximum(1.0 - y, 0.0))))[()]


@_checked
def critical_wavenumber(
    sweeps: float, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """The wave number k_c = 2c/D above which waves are overdamped (19) [1/length]."""
    length = sound_length(sweeps, diameter, order)
    return 2.0 / length if length > 0.0 else math.inf


@_checked
def slowest_wavenumber(length: float) -> float:
    """Wave number k of the longest wave of a chain with one end fixed, λ = 4 L [1/length]."""
    return math.pi / (2.0 * length)


# ---------------------------------------------------------------------- lengths
@_checked
def diffusion_length(sweeps: float, diameter: float = 1.0, order: str | float = "random") -> float:
    """The length l_diff = √(4 D dt) that information travels in a step (47, 63) [length]."""
    return 2.0 * diameter * math.sqrt(q(order) * sweeps)


@_checked
def sound_length(sweeps: float, diameter: float = 1.0, order: str | float = "random") -> float:
    """The length l_sound = c dt that sound travels in a step (61) [length]."""
    return diameter * math.sqrt(q(order) * sweeps)


@_checked
def critical_wavelength(
    sweeps: float, diameter: float = 1.0, order: str | float = "random"
) -> float:
    """Length λ_c = 2π/k_c of the longest wave that is overdamped (62) [length]."""
    return math.pi * sound_length(sweeps, diameter, order)


# ---------------------------------------------------------------------- springs and dashpots
@_checked
def stiffness(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> float:
    """Stiffness κ of the spring between two grains of the equivalent chain (24) [force/length]."""
    return q(order) * mass * sweeps / dt**2


@_checked
def damping(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> float:
    """Damping γ of the dashpot between two grains of the chain (25) [force time/length]."""
    return q(order) * mass * sweeps / dt


@_checked
def shrinkage(force: float, grains: int, stiffness: float) -> float:
    """Length by which a force shortens a chain with as many springs as grains [length]."""
    return force * grains / stiffness


# ---------------------------------------------------------------------- questions of a user
@_checked
def sweeps_for_rigidity(length: float, diameter: float = 1.0, order: str | float = "random") -> int:
    """Least number of sweeps for which l_diff reaches ``length``."""
    exact = (length / (2.0 * diameter)) ** 2 / q(order)
    # rounding must not raise a whole number to the next
    return max(1, math.ceil(exact * (1.0 - 1e-12)))


@_checked
def sweeps_for_stiffness(
    stiffness: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> int:
    """Least number of sweeps that gives at least the wanted κ (24)."""
    exact = stiffness * dt**2 / (q(order) * mass)
    return max(1, math.ceil(exact * (1.0 - 1e-12)))


@_checked
def sweeps_and_step(
    stiffness: float, damping: float, mass: float = 1.0, order: str | float = "random"
) -> tuple[float, float]:
    """Sweeps and dt that give the wanted κ and γ together (24, 25): dt = γ/κ, N = γ²/(q m κ)."""
    return damping**2 / (q(order) * mass * stiffness), damping / stiffness


@_checked
def halved(
    sweeps: float, dt: float = 1.0, mass: float = 1.0, order: str | float = "random"
) -> tuple[float, float]:
    """Factors of κ and γ if sweeps and step are halved together: κ doubles and γ stays."""
    return stiffness(sweeps / 2, dt / 2, mass, order), damping(sweeps / 2, dt / 2, mass, order)


# ---------------------------------------------------------------------- step by step, exactly
@_checked
def relaxation_rate(k: Any, diameter: float = 1.0, order: str = "random") -> Any:
    """The rate µ: on average a sweep shrinks a mode's distance to the solution by 1 − µ [1].

    parallel: each impulse becomes the mean of its neighbours', so 1 − µ = cos kd. random: that
    change, handed on over r contacts with probability 1/(r+1)! (A2); tiles: as random, to 3 %.
    drawn: the parallel change, visit by visit, 1 − µ = exp(cos kd − 1). sequential, coloured:
    1 − µ = cos² kd, as for Gauss–Seidel on Poisson's equation. symmetric: not known in closed form.
    """
    kd = np.asarray(k, dtype=float) * diameter
    parallel = 2.0 * np.sin(0.5 * kd) ** 2  # 1 − cos kd, exact also for the longest waves
    if order == "parallel":
        return parallel[()]
    if order == "drawn":
        return (-np.expm1(-parallel))[()]
    if order in ("sequential", "coloured"):
        return (np.sin(kd) ** 2)[()]
    if order not in ("random", "tiles"):
        raise InputError(
            f"order is {order!r}; give parallel, random, tiles, drawn, sequential or coloured"
        )
    r = np.arange(1, 20)
    share = 0.5**r / np.array([math.factorial(n + 1) for n in r], dtype=float)
    handed_on = 1.0 + 2.0 * (np.cos(kd[..., None] * r) @ share)
    return (parallel * handed_on)[()]


def _log_remaining(rate: Any, sweeps: float) -> Any:
    """The logarithm ln a, exact also where a rounds to one."""
    rate = np.asarray(rate, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):  # for µ = 1 nothing is left, a = 0
        # |1 − µ| is one minus the distance of µ to 0 or to 2.
        log = sweeps * np.log1p(-np.minimum(rate, 2.0 - rate))
    return np.where(np.equal(sweeps, 0.0), 0.0, log)


@_checked
def remaining(rate: Any, sweeps: float) -> Any:
    """The share a = |1 − µ|^N of a mode's error that a step leaves [1].

    Random sweeps overshoot in the shortest waves, µ > 1.
    """
    return np.exp(_log_remaining(rate, sweeps))[()]


@_checked
def step_frequency(rate: Any, sweeps: float, dt: float = 1.0) -> Any:
    """The exact frequency ω of a mode that relaxes by µ a sweep: cos(ω dt) = √a [1/time]."""
    log = _log_remaining(rate, sweeps)
    return (np.arctan2(np.sqrt(-np.expm1(log)), np.exp(0.5 * log)) / dt)[()]


@_checked
def step_sag(rate: Any, sweeps: float) -> Any:
    """Share of the equivalent spring's sag that a mode keeps, exactly: N µ a / (1 − a) [1]."""
    x = np.asarray(sweeps * np.asarray(rate, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = x / np.expm1(-_log_remaining(rate, sweeps))
    return np.where(x == 0.0, 1.0, share)[()]


@_checked
def step_damping_time(rate: Any, sweeps: float, dt: float = 1.0) -> Any:
    """The exact damping time τ of a mode that relaxes by µ a sweep: −2 dt / ln a [time]."""
    with np.errstate(divide="ignore"):  # for a = 1 it is infinite
        return (2.0 * dt / np.abs(_log_remaining(rate, sweeps)))[()]
