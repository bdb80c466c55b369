"""Grains under a piston ring like an elastic body: the paper's Fig. 6, in two dimensions and three.

For each packing (`packing`) and number of sweeps N_I, ω and τ of the slowest mode are fitted. The
paper found ω ~ √N_I and τ ~ 1/N_I. The exact map of a step says more: with a single number µ₁ for
each packing, the rate at which sweeps relax its slowest mode, cos ω dt = (1 − µ₁)^(N_I/2) and
τ = −2 dt / (N_I ln(1 − µ₁)) for every N_I; and µ₁ can be had without any ringing, from the sweeps
of one step. All three are tried.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.measure.rigidity import network
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, Ringing, damped_sine, mean_and_error, power_law
from hardgrain.papers.unger2002.packing import (
    DT,
    JUMP,
    Excited,
    Packing,
    loaded,
    prepared,
    ring,
    sheared,
    struck,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DT", "EXPERIMENT", "Packing", "Plan", "loaded", "prepared", "ring", "study"]

# The fit takes so many τ, or at least this many points.
WINDOW, POINTS = 5.0, 16
LEAST = 6  # packings of which a mean has an error that means something
TINY = 1e-6  # a rise of the force for the question of linearity


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
        return _exponent(self.sweeps, self.omega), _exponent(self.sweeps, self.tau)

    def exact_exponent(self) -> float:
        """Exponent of ω by the exact map, over the same numbers of sweeps."""
        return _exponent(self.sweeps, _omega(self.rate, self.sweeps))


def _exponent(sweeps: tuple[int, ...], y: Floats) -> float:
    return power_law(sweeps, y).exponent


def _omega(rate: float, sweeps: tuple[int, ...]) -> Floats:
    return np.array([theory.step_frequency(rate, n) for n in sweeps])


def _tau(rate: float, sweeps: tuple[int, ...]) -> Floats:
    return np.array([theory.step_damping_time(rate, n) for n in sweeps])


# ---------------------------------------------------------------------- one packing
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
        off = np.log(omega / _omega(rate, sweeps)), 0.5 * np.log(tau / _tau(rate, sweeps))
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


def _predicted(packing: Packing) -> float:
    model, _ = packing.scene.build(0)
    return 2.0 * theory.q("random") * network(model, packing.state, DT).rate


# ---------------------------------------------------------------------- all packings
def study(plan: Plan, text: str) -> Outcome:
    """Measure all packings; make claims, tables and figures of them."""
    jobs = [(seed, False) for seed in range(plan.packings)]
    jobs += [(seed, True) for seed in range(plan.sheared)]
    every = pmap(partial(measure, plan), jobs)
    modes = {"piston": every[: plan.packings], "transverse": every[plan.packings :]}
    for name, found in modes.items():  # in 3D the motion of some is no damped sine
        modes[name] = [m for m in found if math.isfinite(m.rate)]
    outcome = Outcome(text=text, seeds=range(max(plan.packings, plan.sheared)))
    for name, found in modes.items():
        if len(found) >= LEAST:
            outcome.claims += _claims(name, found, plan)
        outcome.tables[name] = _table(found)
    outcome.claims += _finite(modes["piston"], plan)
    outcome.claims += _conditions(modes["piston"], plan)
    outcome.figures["ringing"] = _ringing(modes, plan)
    outcome.figures["scaling"] = _scaling(modes, plan)
    return outcome


def _claims(mode: str, found: list[Measured], plan: Plan) -> list[Claim]:
    """Exponents, and the one number behind them from sweeps alone."""
    grains = f"{plan.grains} {'disks' if plan.dim == 2 else 'spheres'}"
    which = f"{mode} mode, {grains}, N_I = {plan.sweeps[0]} … {plan.sweeps[-1]}"
    n, every = len(found), plan.packings if mode == "piston" else plan.sheared
    silent = f"{every - n} of {every} packings did not ring by a damped sine" if n < every else ""
    exact = float(np.mean([m.exact_exponent() for m in found]))
    beyond_error = mean_and_error([m.exponents()[0] - m.exact_exponent() for m in found])[1]
    omega, omega_error = mean_and_error([m.exponents()[0] for m in found])
    tau, tau_error = mean_and_error([m.exponents()[1] for m in found])
    last = plan.sweeps[-1] * float(np.mean([m.rate for m in found]))
    limit = Expected.by_chance(-1.0, tau_error, n, "τ ~ 1/N_I")
    paper = mode == "piston" and plan.dim == 2
    claims = [
        Claim(
            f"exponent of ω ~ N_I^x, {which}",
            omega,
            omega_error,
            n,
            paper=Expected.by_chance(0.5, omega_error, n, "ω ~ √N_I")
            if paper
            else "even transversal modes were found"
            if mode == "transverse"
            else "",
            theory=Expected(
                exact,
                chance(beyond_error, n),
                f"chance, {n} packings, each against its own map",
                "exact map of a step",
            ),
            differs=f"√N_I is the limit of N_I µ₁ ≪ 1, and N_I µ₁ reaches {last:.2g} here: the"
            " exact map of a step gives less, and that is found"
            if paper
            else "",
            note=silent,
        ),
        Claim(
            f"exponent of τ ~ N_I^x, {which}",
            tau,
            tau_error,
            n,
            paper=limit if paper else "",
            theory=None if paper else limit,
        ),
    ]
    if plan.dim == 2:  # in 3D some packings have two modes that decay alike, hence no single µ₁
        ratio, ratio_error = mean_and_error([m.rate_of_sweeps / m.rate for m in found])
        claims.append(
            Claim(
                f"µ₁ from the sweeps of a single step / µ₁ from ringing, {which}",
                ratio,
                ratio_error,
                n,
                theory=Expected.by_chance(1.0, ratio_error, n),
                note="nothing is fitted: how fast sweeps converge predicts how the packing rings",
            )
        )
    return claims


def _finite(found: list[Measured], plan: Plan) -> list[Claim]:
    """Judge the same exponents after rises of the force that are not small."""
    claims = []
    for j, jump in enumerate(plan.jumps):
        what = f"ΔF/F = {jump:g}, {plan.grains} disks, N_I = {plan.sweeps[0]} … {plan.sweeps[-1]}"
        for i, (symbol, value, words) in enumerate(
            (("ω", 0.5, "ω ~ √N_I"), ("τ", -1.0, "τ ~ 1/N_I"))
        ):
            each = [m.jumped[j, :, i] for m in found]
            rang = [_exponent(plan.sweeps, y) for y in each if np.isfinite(y).all()]
            mean, error = mean_and_error(rang)
            paper = Expected.by_chance(value, error, len(rang), words)
            claims.append(
                Claim(
                    f"exponent of {symbol} ~ N_I^x after a rise of the force by {what}",
                    mean,
                    error,
                    len(rang),
                    paper=paper,
                    differs=DIFFERS.get((symbol, jump), ""),
                    note=f"{len(found) - len(rang)} of {len(found)} packings did not ring by a"
                    " damped sine"
                    if len(rang) < len(found)
                    else "",
                )
            )
    return claims


def _conditions(struck_: list[Measured], plan: Plan) -> list[Claim]:
    """What the rest stands on, and what the chain would have said."""
    n, grains = len(struck_), f"{plan.grains} {'disks' if plan.dim == 2 else 'spheres'}"
    linear, linear_error = mean_and_error([m.linear for m in struck_])
    misfit, misfit_error = mean_and_error([float(np.mean(m.misfit)) for m in struck_])
    k = [theory.slowest_wavenumber(m.height) for m in struck_]
    chain = [
        _omega(m.rate, m.sweeps)[0] / theory.frequency(q, m.sweeps[0]) for m, q in zip(struck_, k)
    ]
    ratio, ratio_error = mean_and_error(chain)
    fewest = (plan.sweeps[0],)
    monitor = [
        float(_omega(m.rate_of_monitor, fewest)[0] / _omega(m.rate, fewest)[0]) for m in struck_
    ]
    words = "after a transient period only one standing wave mode survives"
    single = Expected.by_chance(0.1, misfit_error, n, words, side="at most")
    claims = [
        Claim(
            f"data minus a damped sine, once the slowest mode was damped for {plan.transient:g} τ,"
            f" root mean square, as a share of the oscillation's, {grains}",
            misfit,
            misfit_error,
            n,
            paper=single if plan.dim == 2 else "",
            theory=single if plan.dim == 3 else None,
            note="a tenth is what the eye tells in a graph; the worst packing has"
            f" {max(float(np.max(m.misfit)) for m in struck_):.2g}",
        ),
        Claim(
            f"ω after a rise of the force by {JUMP:g} / after {TINY:g}, {grains}",
            linear,
            linear_error,
            n,
            theory=Expected.by_chance(
                1.0, linear_error, n, "no contact slides or opens: linear", beside=JUMP,
                why="the order of the rise itself",
            ),
        ),
    ]  # fmt: skip
    if plan.dim == 2:
        claims.append(
            Claim(
                f"how far ω is from that of a chain as long as the packing is high, {grains},"
                f" N_I = {plan.sweeps[0]}, as a share",
                abs(ratio - 1.0),
                ratio_error,
                n,
                paper=Expected(
                    0.05, 0.0, "more than a graph would hide", "the values (18) and (20) cannot be"
                    " adopted", side="at least",
                ),
                note=f"{ratio:.3f} of the chain's. What the monitor of every run predicts is"
                f" {min(monitor):.3f} to {max(monitor):.3f} of the measured ω",
            )
        )  # fmt: skip
    return claims


def _table(found: list[Measured]) -> dict[str, Any]:
    rows = [(p, m, i) for p, m in enumerate(found) for i in range(len(m.sweeps))]
    return {
        "packing": [p for p, _, _ in rows],
        "height": [m.height for _, m, _ in rows],
        "rate_fitted": [m.rate for _, m, _ in rows],
        "rate_of_sweeps": [m.rate_of_sweeps for _, m, _ in rows],
        "rate_of_monitor": [m.rate_of_monitor for _, m, _ in rows],
        "sweeps": [m.sweeps[i] for _, m, i in rows],
        "omega": [m.omega[i] for _, m, i in rows],
        "omega_exact_map": [_omega(m.rate, m.sweeps)[i] for _, m, i in rows],
        "tau": [m.tau[i] for _, m, i in rows],
        "tau_exact_map": [_tau(m.rate, m.sweeps)[i] for _, m, i in rows],
        "misfit": [m.misfit[i] for _, m, i in rows],
    }


# ---------------------------------------------------------------------- figures
_LOOK = {"piston": (COLOURS[1], "o"), "transverse": (COLOURS[2], "s")}


def _ringing(modes: dict[str, list[Measured]], plan: Plan) -> Figure:
    """Displacement over time, dots, and the fitted curve: the manner of the paper's Fig. 6."""
    figure, axes = new_figure(1, 2, width=5.0)
    what = {
        "piston": "height of the piston  [10⁻³ d for ΔF = F]",
        "transverse": "shear amplitude  [initial speed × dt]",
    }
    for ax, (mode, found) in zip(axes, modes.items()):
        m, scale = found[0], 1e3 if mode == "piston" else 1.0 / DT
        t = np.arange(1.0, m.example.size + 1.0)
        ax.axvspan(0.0, m.begin, color=GREY, alpha=0.15, lw=0.0)
        ax.plot(t, scale * m.example, ".", color=_LOOK[mode][0], ms=4, label="measured")
        fine = np.linspace(0.0, t[-1], 1000)
        late = fine >= m.begin
        ax.plot(fine[late], scale * m.fitted(fine[late]), color=COLOURS[0], label="fitted")
        ax.plot(fine[~late], scale * m.fitted(fine[~late]), ":", color=COLOURS[0])
        first = np.abs(m.example - m.fitted.offset)
        reach = 1.15 * scale * float(first[min(3, first.size // 8) :].max())
        ax.set_ylim(scale * m.fitted.offset - reach, scale * m.fitted.offset + reach)
        ax.set(xlabel="time  [dt]", ylabel=what[mode])
        ax.set_title(f"{mode} mode, {plan.grains} grains, N_I = {m.sweeps[1]}")
        ax.legend(loc="upper right")
    return figure


def _scaling(modes: dict[str, list[Measured]], plan: Plan) -> Figure:
    """Draw ω and τ against N_I, and against N_I µ₁, where all fall on one curve."""
    figure, axes = new_figure(1, 3, width=4.2, height=3.8)
    n = np.array(plan.sweeps, dtype=float)
    fine = np.geomspace(n[0] / 1.3, 1.3 * n[-1], 100)
    for mode, found in modes.items():
        colour, marker = _LOOK[mode]
        for j, m in enumerate(found):
            axes[0].loglog(n, m.omega, marker, color=colour, alpha=0.6, label="" if j else mode)
            axes[1].loglog(n, m.tau, marker, color=colour, alpha=0.6)
            x = n * m.rate_of_sweeps
            axes[2].loglog(x, m.omega, marker, color=colour, alpha=0.6)
            axes[2].loglog(x, 1.0 / m.tau, marker, color=colour, alpha=0.6, mfc="none")
        rate = float(np.median([m.rate for m in found]))
        axes[0].loglog(fine, [theory.step_frequency(rate, s) for s in fine], color=colour)
        axes[1].loglog(fine, [theory.step_damping_time(rate, s) for s in fine], color=colour)
        limit = {"ls": "--", "lw": 0.8, "color": GREY}
        axes[0].loglog(fine, np.sqrt(rate * fine), **limit)
    axes[0].plot([], [], color=COLOURS[0], label="exact map, median µ₁")
    axes[0].plot([], [], "--", color=GREY, lw=0.8, label="~ √N_I")
    rates = np.array([m.rate for found in modes.values() for m in found])
    x = np.geomspace(0.7 * n[0] * rates.min(), 1.4 * n[-1] * rates.max(), 200)
    axes[2].loglog(x, np.arccos(np.exp(-x / 2.0)), color=COLOURS[0], label="ω, exact map")
    axes[2].loglog(x, x / 2.0, color=COLOURS[3], label="1/τ, exact map")
    inside = x < 4.0
    continuum = np.sqrt(x[inside] - x[inside] ** 2 / 4.0)
    axes[2].loglog(x[inside], continuum, "--", color=GREY, lw=0.8, label="ω, continuum (18)")
    axes[2].set_ylim(0.6 * x[0] / 2.0, 3.0)
    axes[0].set(xlabel="sweeps a step, N_I", ylabel="ω  [1/dt]")
    axes[1].set(xlabel="sweeps a step, N_I", ylabel="τ  [dt]")
    axes[2].set(xlabel="N_I µ₁, with µ₁ from sweeps alone", ylabel="ω (full), 1/τ (open)  [1/dt]")
    for ax in axes[:2]:
        ax.set_xticks(plan.sweeps, [str(s) for s in plan.sweeps])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    axes[0].legend()
    axes[2].legend()
    return figure


# ---------------------------------------------------------------------- two dimensions
_SLIDES = (
    "the packing has borne 2 % more before, not so much: contacts slide, which neither the chain"
    " nor its exact map knows. The paper does not give its ΔF"
)
DIFFERS = {
    ("ω", 0.01): "√N_I is the limit of few sweeps, as for the smallest rise",
    ("ω", 0.1): _SLIDES,
    ("ω", 0.5): _SLIDES,
    ("τ", 0.5): _SLIDES,
}
_QUICK = Plan(dim=2, grains=200, packings=6, sheared=1, sweeps=(10, 20, 40, 80), repeats=1)
_FULL = Plan(
    dim=2,
    grains=1000,
    packings=12,
    sheared=8,
    sweeps=(20, 40, 80, 160, 320),
    repeats=2,
    jumps=(0.01, 0.1, 0.5),
)
_TEXT = (
    "Disks with radii in [r, 2r] and friction 0.05 under a piston ring like the paper's. √N_I and"
    " 1/N_I are the limit of few sweeps; over the whole range ω and τ of a packing follow from one"
    " number, its slowest relaxation rate, which can be had from the sweeps of a single step. The"
    " transverse mode, in packings that repeat sideways, is slower than that of the piston and"
    " obeys the same law."
)


def _run(quick: bool) -> Outcome:
    return study(_QUICK if quick else _FULL, _TEXT)


EXPERIMENT = Experiment("piston", "Fig. 6: disks under a piston ring", _run)
