"""Sampling of F (III B 4): radii by perturb-and-resolve and uniformly. Are all equally likely?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.measure.forces.space import SLIDES
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.pipeline import (
    Arrays,
    Found,
    Setup,
    everything,
    families,
    kept,
    measured,
)

PAPER = {"CD-1": (33.0, 1.4), "CD-2": (34.0, 1.3), "MD-1": (41.0, 1.7), "MD-2": (40.0, 1.5)}
SEEDS = 6
PERTURBED, UNIFORM = 120, 1000  # states of each packing; the paper has 500 of the first kind
TOLERANCE = 1e-4  # unbalanced force of a perturbed state that is a member [m̄ g]


def run(quick: bool) -> Outcome:
    """Both ways for some seeds of each family, and where the simulated states are in F."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    some = {k: v[:1] if quick else v[:SEEDS] for k, v in found.items()}
    if quick:
        some = {k: some[k] for k in ("CD-1", "MD-2")}
    size = (20, 300) if quick else (PERTURBED, UNIFORM)
    jobs = [(f.setup, family, *size) for family, all_ in some.items() for f in all_]
    values = iter(everything(_sampled, jobs, "samples of F"))
    mine = {family: [next(values) for _ in all_] for family, all_ in some.items()}
    _radii(outcome, mine, quick)
    _likely(outcome, mine)
    outcome.figures["sampling"] = _figure(mine)
    return outcome


_TEXT = (
    "Perturb-and-resolve: all forces of the last member are multiplied by random factors between"
    " 0.5 and 1.5, one for each contact, and the solver of contact dynamics finds the next; it is"
    " kept if it balances to 10⁻⁴ m̄g. Uniform: hit-and-run in the null space, four chains, with"
    " their agreement (R̂) and the number of independent samples told.\n\n"
    "Members are not equally likely. The solver ends on the boundary of F, where contacts slide or"
    " are open and to which the uniform measure gives no weight, and so finds a larger radius. And"
    " the states that simulations find are no typical members: the share of uniform members with a"
    " smaller mean normal force would be spread evenly between 0 and 1 over packings if all members"
    " were equally likely; where forces were found anew (CD-2, MD-2) it is near 0 in all."
)


def _sampled(job: tuple[Setup, str, int, int]) -> Arrays:
    setup, family, perturbed, uniform = job

    def make() -> Arrays:
        return _numbers(measured(setup, family), perturbed, uniform)

    return kept(setup, family, f"sample {perturbed} {uniform} {TOLERANCE}", make)


def _numbers(found: Found, perturbed: int, uniform: int) -> Arrays:
    """What is asked of both samples."""
    space, p = found.space, found.packing
    seed = found.setup.seed
    by_solver = space.sample(perturbed, seed, "perturb", tolerance=TOLERANCE)
    evenly = space.sample(uniform, seed, "hit-and-run")

    def normal(states: Floats) -> Floats:
        mean: Floats = states[..., 0].mean(axis=-1) / p.unit
        return mean

    def sliding(states: Floats) -> Floats:
        left = p.friction * states[..., 0] - np.abs(states[..., 1])
        open_ = np.maximum(states[..., 0], np.abs(states[..., 1])) < SLIDES * p.unit
        count: Floats = np.where(open_, 2, left < SLIDES * p.unit).sum(axis=-1)
        return count - int(space.always.sum())

    # lengths in units of F's own, along the directions in which it extends
    flat = (evenly.states - evenly.mean).reshape(uniform, -1) / p.unit
    _, s, axes = np.linalg.svd(flat, full_matrices=False)
    d = max(found.dimension, 1)
    scale = s[:d] / math.sqrt(uniform)

    def away(states: Floats) -> Floats:
        y = ((states - evenly.mean).reshape(len(states), -1) / p.unit) @ axes[:d].T / scale
        r: Floats = np.sqrt(np.square(y).sum(axis=1) / d)
        return r

    state = p.components[None]
    return {
        "radius": np.array([by_solver.radius, evenly.radius]),
        "centres": np.linalg.norm(by_solver.mean - evenly.mean) / p.unit,
        "residual": by_solver.residual,
        "dropped": np.array(by_solver.dropped),
        "spread": np.array([evenly.spread.max(), evenly.effective.min()]),
        "normal": np.quantile(normal(evenly.states), np.linspace(0.0, 1.0, 101)),
        "rank": np.mean(normal(evenly.states) < normal(state)[0]),
        "rank perturbed": np.mean(normal(evenly.states)[:, None] < normal(by_solver.states)),
        "away": np.array([away(x).mean() for x in (state, by_solver.states, evenly.states)]),
        "sliding": np.array([sliding(x).mean() for x in (state, by_solver.states, evenly.states)]),
    }


def _radii(outcome: Outcome, mine: dict[str, list[Arrays]], quick: bool) -> None:
    table: dict[str, list[Any]] = {
        "family": [], "perturbed": [], "uniform": [], "rank": [], "sliding": [], "dropped": [],
    }  # fmt: skip
    for family, all_ in mine.items():
        radius = np.array([a["radius"] for a in all_])
        mean, error = mean_and_error(radius[:, 0])
        even, even_error = mean_and_error(radius[:, 1])
        paper, spread = PAPER[family]
        error_ = error if math.isfinite(error) else 0.0
        # two standard errors of both, and a tenth for the box, which is not given
        room = 2.0 * math.hypot(spread, error_) + 0.1 * paper
        dropped = int(sum(a["dropped"] for a in all_))
        worst = max(float(a["residual"].max()) for a in all_)
        outcome.claims += [
            Claim(
                f"radius (38) of {family}, perturb-and-resolve, {len(all_)} seeds [m̄g]", mean,
                error=error, theory=None if quick else paper, tolerance=None if quick else room,
                paper=f"{paper:g} ± {spread:g}",
                note=f"{dropped} states out of balance left out, the others to {worst:.0e} m̄g",
            ),
            Claim(
                f"radius of {family}, uniform [m̄g]", even, error=even_error,
                note=f"R̂ at most {max(a['spread'][0] for a in all_):.3f}, at least"
                f" {min(a['spread'][1] for a in all_):.0f} independent samples",
            ),
        ]  # fmt: skip
        table["family"] += [family] * len(all_)
        table["perturbed"] += radius[:, 0].tolist()
        table["uniform"] += radius[:, 1].tolist()
        for name in ("rank", "dropped"):
            table[name] += [float(a[name]) for a in all_]
        table["sliding"] += [float(a["sliding"][1]) for a in all_]
    ratio = np.divide(table["perturbed"], table["uniform"])
    value, error = mean_and_error(ratio)
    scatter = np.std(table["perturbed"], ddof=1) if len(ratio) > 2 else np.nan
    outcome.claims.append(
        Claim(
            "radius by perturb-and-resolve over that of uniform members", value, error=error,
            paper="no guarantee that this method will weight appropriately",
            note=f"scatter of r between all packings {scatter:.0f} m̄g (paper: about 12)",
        )
    )  # fmt: skip
    outcome.tables["samples"] = dict(table)


def _likely(outcome: Outcome, mine: dict[str, list[Arrays]]) -> None:
    every = [a for all_ in mine.values() for a in all_]
    slides = np.array([a["sliding"] for a in every])
    away = np.array([a["away"] for a in every])
    outcome.claims += [
        Claim(
            "sliding contacts of a uniform member, mean", float(slides[:, 2].mean()), theory=0.0,
            tolerance=0.05,
            note="the boundary of F has no volume; without contacts that slide in every member",
        ),
        Claim(
            "sliding contacts of a perturbed and resolved member, mean", float(slides[:, 1].mean()),
            paper="are all members equally likely?", theory=0.0, tolerance=0.5, disputed=True,
            note="they would be 0 if they were: the solver stops on the boundary of F",
        ),
        Claim(
            "distance from the centre in units of the uniform one, perturbed and resolved",
            float(away[:, 1].mean()), error=mean_and_error(away[:, 1])[1],
            note=f"simulated {away[:, 0].mean():.2f}, uniform {away[:, 2].mean():.2f}; each"
            " direction of F measured by its own extent",
        ),
    ]  # fmt: skip
    for family, all_ in mine.items():
        rank, error = mean_and_error([float(a["rank"]) for a in all_])
        outcome.claims.append(
            Claim(
                f"{family}: share of uniform members whose mean normal force is smaller than the"
                " simulated one", rank, error=error,
                note="0.5 on average if all members were equally likely; perturbed and resolved"
                f" {np.mean([float(a['rank perturbed']) for a in all_]):.2f}",
            )
        )  # fmt: skip


def _figure(mine: dict[str, list[Arrays]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    top = 0.0
    for k, (family, all_) in enumerate(mine.items()):
        radius = np.array([a["radius"] for a in all_])
        top = max(top, float(radius.max()))
        left.plot(radius[:, 1], radius[:, 0], "o", ms=4, color=COLOURS[1 + k], label=family)
        right.plot(np.full(len(all_), k), [float(a["rank"]) for a in all_], "o", ms=4,
                   color=COLOURS[1 + k])  # fmt: skip
    left.plot([0.0, 1.1 * top], [0.0, 1.1 * top], color=GREY, lw=0.8)
    left.set(xlabel="radius of F, uniform [m̄g]", ylabel="perturb-and-resolve [m̄g]")
    left.legend()
    right.axhline(0.5, color=GREY, lw=0.8)
    right.set_xticks(range(len(mine)), list(mine))
    right.set(ylim=(-0.02, 1.02), ylabel="uniform members with a\nsmaller mean normal force")
    return figure


EXPERIMENT = Experiment("sampling", "Radii of F: are all members equally likely?", run)
