"""Better performance than soft particles: counted work for the same springs and dashpots.

N_I sweeps a step visit every contact N_I times. Soft particles whose springs and dashpots are those
that the sweeps make, (24) and (25) for each contact, need so many explicit steps to be stable, and
each of them visits every contact once (`stability`). What is compared are these two numbers, no
clock; nothing is asked of accuracy, which would cost soft particles more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.unger2002.stability import at_rest_problem, radius, substeps
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

__all__ = ["EXPERIMENT"]

SWEEPS = 40  # N_I of the chain
CHAIN = 50  # number of its disks, as in Fig. 4
QUICK = {"2D": (64, 6)}  # grains and seeds by dimension, in quick runs and in full ones
FULL = {"2D": (256, 12), "3D": (250, 12)}


def _rho(job: tuple[str, int, int]) -> float:
    return radius(at_rest_problem(*job))


def run(quick: bool) -> Outcome:
    """Compare the work in a chain, in disks and in spheres."""
    plan = QUICK if quick else FULL
    jobs = [("chain", CHAIN, 0)]
    jobs += [(system, n, seed) for system, (n, seeds) in plan.items() for seed in range(seeds)]
    rho = dict(zip(jobs, pmap(_rho, jobs)))
    q = theory.q("random")
    words = "even better performance than MD could be achieved"
    # a chain: k = 4 κ/m, c = dt k in `theory.spring.largest_step`
    endless = 1.0 / (math.sqrt(1.0 + 1.0 / (q * SWEEPS)) - 1.0) / SWEEPS
    claims = [
        Claim(
            "explicit steps of soft particles for each sweep of contact dynamics, chain of"
            f" {CHAIN}, N_I = {SWEEPS}",
            float(substeps(rho[jobs[0]], SWEEPS, q)[0]) / SWEEPS,
            paper=Expected(1.0, 0.0, "more than one", words, "at least"),
            theory=Expected(
                endless, endless * (math.pi / CHAIN) ** 2, "order (d/L)²: the shortest wave of a"
                " finite chain", "1/(√(1 + 1/q N_I) − 1)/N_I ≈ 2q",
            ),
        )
    ]  # fmt: skip
    table: dict[str, list[Any]] = {"system": [], "grains": [], "seed": [], "rho": [], "ratio": []}
    for system, (n, seeds) in plan.items():
        mine = np.array([rho[system, n, seed] for seed in range(seeds)])
        ratio = substeps(mine, SWEEPS, q) / SWEEPS
        mean, error = mean_and_error(ratio)
        claims.append(
            Claim(
                f"the same, {system}, {n} grains, N_I = {SWEEPS}",
                mean,
                error,
                seeds,
                paper=Expected(
                    1.0 + chance(error, seeds), 0.0, "more than one, beyond chance", words,
                    "at least",
                ),
                note=f"q ρ with ρ = {mine.mean():.3g}, the largest eigenvalue of the contacts'"
                " matrix relative to its diagonal",
            )
        )  # fmt: skip
        for seed in range(seeds):
            for name, value in zip(table, (system, n, seed, mine[seed], ratio[seed])):
                table[name].append(value)
    return Outcome(claims, {"work": dict(table)}, {"work": _figure(table, endless)}, TEXT,
                   range(max(s for _, s in plan.values())))  # fmt: skip


def _figure(table: dict[str, Any], endless: float) -> Any:
    figure, axes = new_figure(width=5.0, height=4.0)
    axes.plot(2.0, endless, "D", color=COLOURS[0], label="chain")
    for system, colour in zip(dict.fromkeys(table["system"]), COLOURS[1:]):
        mine = np.array(table["system"]) == system
        axes.plot(np.array(table["rho"])[mine], np.array(table["ratio"])[mine], "o", color=colour,
                  label=system)  # fmt: skip
    axes.axhline(1.0, color=GREY, lw=0.8, ls=":")
    axes.set(xlabel="ρ, largest eigenvalue of the contacts", ylabel="explicit steps / sweeps")
    axes.legend()
    return figure


TEXT = (
    "For the same springs and dashpots, contact dynamics with few sweeps visits every contact less"
    " often than soft particles do. Sweeps take each contact after the others, with what those have"
    " done already; explicit steps move all at once and must be short enough for the stiffest"
    " motion there is. The ratio is q ρ: 1.6 in a chain and more in packings, where more contacts"
    " answer a push together."
)

EXPERIMENT = Experiment("performance", "Work for the same springs: sweeps or explicit steps", run)
