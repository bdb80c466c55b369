"""Grains under a piston ring like an elastic body: the paper's Fig. 6, in two dimensions and three.

For each packing (`packing`) and number of sweeps N_I, ω and τ of the slowest mode are fitted. The
paper found ω ~ √N_I and τ ~ 1/N_I. The exact map of a step says more: with a single number µ₁ for
each packing, the rate at which sweeps relax its slowest mode, cos ω dt = (1 − µ₁)^(N_I/2) and
τ = −2 dt / (N_I ln(1 − µ₁)) for every N_I; and µ₁ can be had without any ringing, from the sweeps
of one step. All three are tried.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.unger2002.packing import (
    JUMP,
)
from hardgrain.papers.unger2002.piston_figures import ringing, scaling
from hardgrain.papers.unger2002.piston_ringing import (
    TINY,
    Measured,
    Plan,
    exponent_of,
    measure,
    omega_of,
    tau_of,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

__all__ = ["EXPERIMENT", "study"]

LEAST = 6  # packings of which a mean has an error that means something


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
    outcome.figures["ringing"] = ringing(modes, plan)
    outcome.figures["scaling"] = scaling(modes, plan)
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
    root = Expected.by_chance(0.5, omega_error, n, "ω ~ √N_I")
    tell = paper and abs(root.value - exact) > root.tolerance  # few packings tell little
    claims = [
        Claim(
            f"exponent of ω ~ N_I^x, {which}",
            omega,
            omega_error,
            n,
            paper=root
            if tell
            else f"ω ~ √N_I, which {n} packings cannot tell from the exact map's {exact:.2f}"
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
            if tell
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
            rang = [exponent_of(plan.sweeps, y) for y in each if np.isfinite(y).all()]
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
        omega_of(m.rate, m.sweeps)[0] / theory.frequency(q, m.sweeps[0]) for m, q in zip(struck_, k)
    ]
    ratio, ratio_error = mean_and_error(chain)
    fewest = (plan.sweeps[0],)
    monitor = [
        float(omega_of(m.rate_of_monitor, fewest)[0] / omega_of(m.rate, fewest)[0]) for m in struck_
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
        "omega_exact_map": [omega_of(m.rate, m.sweeps)[i] for _, m, i in rows],
        "tau": [m.tau[i] for _, m, i in rows],
        "tau_exact_map": [tau_of(m.rate, m.sweeps)[i] for _, m, i in rows],
        "misfit": [m.misfit[i] for _, m, i in rows],
    }


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
_QUICK = Plan(dim=2, grains=100, packings=6, sheared=1, sweeps=(10, 20, 40, 80), repeats=1)
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
