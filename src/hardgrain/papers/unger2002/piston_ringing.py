"""A packing that rings under its piston: one run measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hardgrain.measure.contact_network import contact_network
from hardgrain.papers.fit import Floats, Ringing, damped_sine, power_law
from hardgrain.papers.unger2002.packing import (
    DT,
    Excited,
    PistonPacking,
    prepared,
    sheared,
    struck,
)
from hardgrain.theory import chain as theory

__all__ = ["TINY", "Measured", "Plan", "exponent_of", "measure", "omega_of", "tau_of"]

# Length of the fit: so many τ, or at least this many points.
WINDOW, POINTS = 5.0, 16

TINY = 1e-6  # relative rise of the force by which linearity is tested


@dataclass(frozen=True)
class Plan:
    """What to measure: how many packings, how large, with which numbers of sweeps."""

    dim: int
    grains: int
    packings: int
    sheared: int  # packings for the transverse mode, besides
    sweeps: tuple[int, ...]
    repeats: int  # runs with other random sweeps on the same packing
    # Other modes are excited as well, but die faster than the slowest. Fits begin after so many τ.
    transient: float = 3.0
    jumps: tuple[float, ...] = ()  # rises of the force that make contacts slide, tried as well


@dataclass(frozen=True)
class Measured:
    """One packing: ω [1/dt] and τ [dt] for each number of sweeps, and the rates behind them."""

    height: float
    overlap: float
    residual: float
    sweeps: tuple[int, ...]
    omega: Floats  # (sweeps,), mean over the repeats
    tau: Floats  # (sweeps,)
    misfit: Floats  # (sweeps,) rms of data minus fit [rms of the data about their mean]
    rate: float  # µ₁ that fits all ω and τ best
    rate_of_sweeps: float  # µ₁ from the sweeps of a single step
    rate_of_monitor: float  # µ₁ as every run predicts it from its contact network
    example: Floats  # (steps,) displacement with the second number of sweeps
    fitted: Ringing
    begin: float  # where the fitted part of the example begins [dt]
    linear: float  # ω after a rise of the force by `JUMP` / after one by `TINY`
    jumped: Floats  # (jumps, sweeps, 2) ω and τ after the larger rises of the force

    def exponents(self) -> tuple[float, float]:
        """Exponents of ω and τ as powers of the number of sweeps."""
        return exponent_of(self.sweeps, self.omega), exponent_of(self.sweeps, self.tau)

    def exact_exponent(self) -> float:
        """Exponent of ω by the exact map, over the same numbers of sweeps."""
        return exponent_of(self.sweeps, omega_of(self.rate, self.sweeps))


def exponent_of(sweeps: tuple[int, ...], y: Floats) -> float:
    return power_law(sweeps, y).exponent


def omega_of(rate: float, sweeps: tuple[int, ...]) -> Floats:
    return np.array([theory.step_frequency(rate, n) for n in sweeps])


def tau_of(rate: float, sweeps: tuple[int, ...]) -> Floats:
    return np.array([theory.step_damping_time(rate, n) for n in sweeps])


def _fit(
    excited: Excited, rate: float, sweeps: int, seed: int, transient: float
) -> tuple[Floats, Ringing, float]:
    """Displacement over time, the damped sine in it, and from when on it was fitted."""
    tau = theory.step_damping_time(rate, sweeps)
    begin = transient * tau
    steps = math.ceil(begin + max(WINDOW * tau, POINTS))
    x, t = excited.ring(sweeps, steps, seed), np.arange(1.0, steps + 1.0)
    late = t > begin
    return x, damped_sine(t[late], x[late]), begin


def _best_rate(sweeps: tuple[int, ...], omega: Floats, tau: Floats) -> float:
    """The one µ₁ whose ω and τ are nearest, in logarithms; fits find τ half as well as ω."""
    from scipy.optimize import minimize_scalar

    def distance(log_rate: float) -> float:
        rate = math.exp(log_rate)
        off = np.log(omega / omega_of(rate, sweeps)), 0.5 * np.log(tau / tau_of(rate, sweeps))
        return float(np.sum(np.square(off)))

    if not np.isfinite([omega, tau]).all():
        return math.nan
    start = math.log(2.0 / (sweeps[0] * tau[0]))
    bounds = start - 1.0, min(start + 1.0, -1e-9)
    return math.exp(minimize_scalar(distance, bounds=bounds, method="bounded").x)


def measure(plan: Plan, job: tuple[int, bool]) -> Measured:
    """Prepare a packing with this seed, strike or shear it, and listen."""
    seed, transverse = job
    packing = prepared(seed, plan.grains, plan.dim, periodic=transverse)
    excited = sheared(packing) if transverse else struck(packing)
    rate = float(np.mean([excited.rate(s) for s in range(plan.repeats)]))
    found = np.empty((plan.repeats, len(plan.sweeps), 3))
    example = None
    for r, i in np.ndindex(found.shape[:2]):
        x, fit, begin = _fit(excited, rate, plan.sweeps[i], r, plan.transient)
        misfit = fit.residual / float(np.std(x[math.ceil(begin) :]))
        found[r, i] = fit.frequency, fit.damping_time, misfit
        if (r, i) == (0, 1):
            example = x, fit, begin
    assert example is not None
    linear, jumped = math.nan, np.full((len(plan.jumps), len(plan.sweeps), 2), np.nan)
    if not transverse:
        tiny = _fit(struck(packing, TINY), rate, plan.sweeps[1], 0, plan.transient)[1]
        linear = float(found[0, 1, 0]) / tiny.frequency
        for j, i in np.ndindex(jumped.shape[:2]):
            fit = _fit(struck(packing, plan.jumps[j]), rate, plan.sweeps[i], 0, plan.transient)[1]
            jumped[j, i] = fit.frequency, fit.damping_time
    omega, tau, misfit = found.mean(axis=0).T
    best = _best_rate(plan.sweeps, omega, tau)
    return Measured(
        packing.height, packing.overlap, packing.residual, plan.sweeps, omega, tau, misfit, best,
        rate, _predicted(packing), *example, linear, jumped,
    )  # fmt: skip


def _predicted(packing: PistonPacking) -> float:
    model, _ = packing.scene.build(0)
    return 2.0 * theory.q("random") * contact_network(model, packing.state, DT).rate
