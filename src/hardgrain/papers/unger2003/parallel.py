"""Why contacts are updated one after the other: the parallel update is unstable in packings.

The error of the impulses is followed from one parallel update to the next, with the solver itself,
until its fastest growing part is left. Theory: it grows by ρ − 1, with ρ the largest eigenvalue of
the contacts' matrix relative to its diagonal (`hardgrain.papers.unger2002.stability`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.unger2002.stability import ITERATIONS, at_rest_problem, growth, radius
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]

CHAIN = 20  # number of disks of the chain
QUICK = {"2D": (64, 6)}  # grains and seeds by dimension, in quick runs and in full ones
FULL = {"2D": (256, 12), "3D": (250, 12)}


def _measure(job: tuple[str, int, int]) -> tuple[float, float]:
    """Growth of an error in one update, and the number ρ."""
    problem = at_rest_problem(*job)
    return growth(problem), radius(problem)


def run(quick: bool) -> Outcome:
    """Measure a chain and packings at rest."""
    plan = QUICK if quick else FULL
    jobs = [("chain", CHAIN, 0)]
    jobs += [(system, n, seed) for system, (n, seeds) in plan.items() for seed in range(seeds)]
    found = dict(zip(jobs, pmap(_measure, jobs)))
    words = "a simple parallel update would be unstable"
    chain, rho = found["chain", CHAIN, 0]
    claims = [
        Claim(
            f"factor by which a parallel update multiplies an error, chain of {CHAIN}",
            chain,
            paper=Expected(1.0, 0.0, "an error that does not fall", words, side="at least"),
            theory=Expected(float(np.cos(np.pi / (2 * CHAIN))), 1e-3, f"{ITERATIONS} updates",
                            "cos kd, slowest wave"),
            differs="a chain, whose contacts have two neighbours only, is stable: its slowest wave"
            " falls as cos kd, which the review itself takes for q = 1/2 (45)",
            note=f"ρ = {rho:.4f}",
        )
    ]  # fmt: skip
    table: dict[str, list[Any]] = {"system": [], "seed": [], "growth": [], "rho": []}
    for system, (n, seeds) in plan.items():
        mine = np.array([found[system, n, seed] for seed in range(seeds)])
        mean, error = mean_and_error(mine[:, 0])
        claims.append(
            Claim(
                f"factor by which a parallel update multiplies an error, {system}, {n} grains",
                mean,
                error,
                seeds,
                paper=Expected(
                    1.0 + chance(error, seeds), 0.0, "errors grow, beyond chance", words, "at least"
                ),
            )
        )
        if system == "2D":  # many contacts of spheres are about to slide, where the matrix ends
            off, off_error = mean_and_error(mine[:, 0] / (mine[:, 1] - 1.0))
            claims.append(
                Claim(
                    f"the same over ρ − 1, ρ from an eigenvalue solver, {system}, {n} grains",
                    off,
                    off_error,
                    seeds,
                    theory=Expected.by_chance(
                        1.0, off_error, seeds, beside=1e-2,
                        why=f"neighbouring eigenvalues, which {ITERATIONS} updates do not part",
                    ),
                )
            )  # fmt: skip
        for seed in range(seeds):
            for name, value in zip(table, (system, seed, *found[system, n, seed])):
                table[name].append(value)
    return Outcome(claims, {"growth": dict(table)}, {"parallel": _figure(table)}, TEXT,
                   range(max(s for _, s in plan.values())))  # fmt: skip


def _figure(table: dict[str, Any]) -> Any:
    figure, axes = new_figure(width=5.0, height=4.0)
    rho, factor = np.array(table["rho"]), np.array(table["growth"])
    systems = np.array(table["system"])
    for system, colour in zip(dict.fromkeys(table["system"]), COLOURS[1:]):
        axes.plot(rho[systems == system], factor[systems == system], "o", color=colour,
                  label=system)  # fmt: skip
    line = np.array([1.8, 1.05 * rho.max()])
    axes.plot(line, line - 1.0, color=GREY, lw=0.8, label="ρ − 1")
    axes.axhline(1.0, color=GREY, lw=0.8, ls=":")
    axes.set(
        xlabel="ρ, from the contacts' matrix", ylabel="growth of an error in a parallel update"
    )
    axes.legend()
    return figure


TEXT = """\
In a chain the parallel update is stable. In packings it is not: each contact has more neighbours
that answer the same push, and an error grows in each update by ρ − 1, several times, as the largest
eigenvalue of the contacts' matrix says. Updated one after the other, each contact knows what the
others have done, and errors fall."""

EXPERIMENT = Experiment("parallel", "The parallel update is unstable", run)
