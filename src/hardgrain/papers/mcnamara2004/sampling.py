"""Sampling of F (III B 4): radii by perturb-and-resolve and uniformly. Are all equally likely?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.errors import RunError
from hardgrain.forces.program import FEASIBLE
from hardgrain.forces.space import SLIDES
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.indeterminacy_extremal import ROOM
from hardgrain.papers.mcnamara2004.judge import statement
from hardgrain.papers.mcnamara2004.pipeline import (
    Arrays,
    BoundedPacking,
    Setup,
    everything,
    families,
    kept,
    measured,
)

# The paper's radii r of the set of forces, and their errors [m̄ g].
PAPER = {"CD-1": (33.0, 1.4), "CD-2": (34.0, 1.3), "MD-1": (41.0, 1.7), "MD-2": (40.0, 1.5)}
SCATTER = 12.0  # scatter of r between packings, in all families [m̄ g]
STATES, UNIFORM = 500, 1000  # states of each packing; the paper has 500 of the first kind
BOTH = 16  # number of seeds of each family that are sampled uniformly as well
# Unbalanced force of a perturbed state that is a member [m̄ g]. A tenth of it changes r by 0.1 % or
# less, ten times as much by up to 1 %.
TOLERANCE = 1e-3


def run(quick: bool) -> Outcome:
    """Sample each family both ways, and find where the simulated states lie in F."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    outcome.seeds = range(1 if quick else len(found["CD-1"]))
    some = {k: v[: len(outcome.seeds)] for k, v in found.items()}
    if quick:
        some = {"MD-2": some["MD-2"]}
    states, uniform = (20, 300) if quick else (STATES, UNIFORM)
    jobs = [(f.setup, family, states, uniform if k < BOTH else 0)
            for family, all_ in some.items() for k, f in enumerate(all_)]  # fmt: skip
    values = iter(everything(_sampled, jobs, "samples of F"))
    drawn = {family: [next(values) for _ in all_] for family, all_ in some.items()}
    mine = {family: [a for a in all_ if "stuck" not in a] for family, all_ in drawn.items()}
    stuck = {family: len(drawn[family]) - len(all_) for family, all_ in mine.items()}
    both = {family: [a for a in all_ if "normal" in a] for family, all_ in mine.items()}
    _members(outcome, both)
    if not quick:
        _radii(outcome, mine, stuck)
        _likely(outcome, both)
    _tables(outcome, mine)
    outcome.figures["sampling"] = _figure(mine, both)
    return outcome


_TEXT = (
    "Perturb-and-resolve: all forces of the last member are multiplied by random factors between"
    " 0.5 and 1.5, one for each contact, and the solver of contact dynamics finds the next; it is"
    " kept if it balances to 10⁻³ m̄g. Uniform: hit-and-run in the null space, four chains, with"
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


def _numbers(found: BoundedPacking, perturbed: int, uniform: int) -> Arrays:
    """Figures of both samples."""
    space, p = found.space, found.packing
    seed = found.setup.seed
    try:
        by_solver = space.sample(perturbed, seed, "perturb", tolerance=TOLERANCE)
    except RunError:  # more states move than come to rest: the chain ended where it cannot go on
        return {"stuck": np.array(True)}
    short = {
        "radius": np.array([by_solver.radius, np.nan]),
        "residual": by_solver.residual,
        "dropped": np.array(by_solver.dropped),
    }
    if not uniform:
        return short
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
    outside = np.maximum(found.bounds.low - evenly.states, evenly.states - found.bounds.high)
    return short | {
        "radius": np.array([by_solver.radius, evenly.radius]),
        "centres": np.linalg.norm(by_solver.mean - evenly.mean) / p.unit,
        "outside": outside.max() / p.unit,
        "spread": np.array([evenly.spread.max(), evenly.effective.min()]),
        "normal": np.quantile(normal(evenly.states), np.linspace(0.0, 1.0, 101)),
        "rank": np.mean(normal(evenly.states) < normal(state)[0]),
        "rank perturbed": np.mean(normal(evenly.states)[:, None] < normal(by_solver.states)),
        "away": np.array([away(x).mean() for x in (state, by_solver.states, evenly.states)]),
        "sliding": np.array([sliding(x).mean() for x in (state, by_solver.states, evenly.states)]),
    }


def _members(outcome: Outcome, both: dict[str, list[Arrays]]) -> None:
    """What holds for uniform members, whatever their distribution."""
    every = [a for all_ in both.values() for a in all_]
    outcome.claims += [
        Claim(
            f"uniform members of {len(every)} packings: furthest that a force lies outside its"
            " bounds by linear programming [m̄g]", max(0.0, *(float(a["outside"]) for a in every)),
            theory=Expected(
                0.0, ROOM * FEASIBLE, "constraints of the programs hold to 10⁻⁹, and their sums"
                " along chains of some ten contacts to ten times that", "two independent methods",
            ),
        ),
        Claim(
            f"sliding contacts of a uniform member of {len(every)} packings, mean",
            float(np.mean([a["sliding"][2] for a in every])),
            theory=Expected(
                0.0, 0.01, "a range below 10⁻⁵ m̄g, which a packing may have, makes one in some"
                " hundred members slide within the 10⁻⁹ m̄g that count", "the boundary of F has no"
                " volume",
            ),
            note="without contacts that slide in every member",
        ),
    ]  # fmt: skip


# They lie at the edge of what chance allows, so that a verdict would be one on the box.
_OPEN = (
    "Not judged: the box, on which forces and so r depend, is not given, nor how well the solver"
    " converged."
)


def _radii(outcome: Outcome, mine: dict[str, list[Arrays]], stuck: dict[str, int]) -> None:
    for family, all_ in mine.items():
        theirs, spread = PAPER[family]
        n, radius = len(all_), np.array([a["radius"] for a in all_])
        dropped = int(sum(a["dropped"] for a in all_))
        worst = max(float(a["residual"].max()) for a in all_)
        scatter = float(radius[:, 0].std(ddof=1))
        of_scatter = scatter / math.sqrt(2.0 * (n - 1))
        even = radius[~np.isnan(radius[:, 1])]
        evenly = [a for a in all_ if "spread" in a]
        outcome.claims += [
            Claim(
                f"radius (38) of {family}, perturb-and-resolve, {STATES} states [m̄g]",
                *mean_and_error(radius[:, 0]), samples=n,
                paper=f"{theirs:g} ± {spread:g}",
                note=f"{_OPEN} {dropped} states out of balance left out, the others to"
                f" {worst:.0e} m̄g; {stuck[family]} packings in which more states move than come to"
                " rest left out",
            ),
            Claim(
                f"standard deviation of this radius between packings of {family} [m̄g]", scatter,
                error=of_scatter, samples=n, paper=f"about {SCATTER:g}", note=_OPEN,
            ),
            Claim(
                f"radius of {family}, uniform [m̄g]", *mean_and_error(even[:, 1]),
                samples=len(even),
                note=f"R̂ at most {max(a['spread'][0] for a in evenly):.3f}, at least"
                f" {min(a['spread'][1] for a in evenly):.0f} independent samples",
            ),
        ]  # fmt: skip


def _likely(outcome: Outcome, both: dict[str, list[Arrays]]) -> None:
    for family, all_ in both.items():
        n = len(all_)
        rank = mean_and_error([float(a["rank"]) for a in all_])
        text = (
            f"{family}: share of uniform members whose mean normal force is smaller than the"
            " simulated one"
        )
        note = (
            "0.5 on average if all members were equally likely; perturbed and resolved"
            f" {np.mean([float(a['rank perturbed']) for a in all_]):.2f}"
        )
        if family[-1] == "2":
            words = "are all members equally likely? States found by dynamics are special [14]"
            outcome.claims.append(
                statement(text, rank, n, words, beyond=0.5, side="at most", note=note)
            )
        else:
            outcome.claims.append(Claim(text, rank[0], error=rank[1], samples=n, note=note))
        ratio = [float(a["radius"][0] / a["radius"][1]) for a in all_]
        away = np.array([a["away"] for a in all_])
        words = "no guarantee that this method will weight appropriately"
        outcome.claims += [
            Claim(
                f"{family}: radius by perturb-and-resolve over that of uniform members",
                *mean_and_error(ratio), samples=n, paper=words,
                note=f"distance from the centre, each direction measured by its extent: perturbed"
                f" {away[:, 1].mean():.2f}, simulated {away[:, 0].mean():.2f}, uniform"
                f" {away[:, 2].mean():.2f}",
            ),
            statement(
                f"{family}: sliding contacts of a perturbed and resolved member, mean",
                mean_and_error([float(a["sliding"][1]) for a in all_]), n, words,
                note="uniform members have none: the solver stops on the boundary of F",
            ),
        ]  # fmt: skip


def _tables(outcome: Outcome, mine: dict[str, list[Arrays]]) -> None:
    rows = [(family, a) for family, all_ in mine.items() for a in all_]
    outcome.tables["samples"] = {
        "family": [family for family, _ in rows],
        "perturbed": [float(a["radius"][0]) for _, a in rows],
        "uniform": [float(a["radius"][1]) for _, a in rows],
        "rank": [float(a.get("rank", np.nan)) for _, a in rows],
        "dropped": [int(a["dropped"]) for _, a in rows],
    }


def _figure(mine: dict[str, list[Arrays]], both: dict[str, list[Arrays]]) -> Any:
    figure, (left, middle, right) = new_figure(1, 3, width=3.7)
    top = 0.0
    for k, (family, all_) in enumerate(mine.items()):
        radius, hue = np.array([a["radius"] for a in all_]), COLOURS[1 + k]
        top = max(top, float(np.nanmax(radius)))
        paper, spread = PAPER[family]
        beside = k + np.linspace(-0.2, 0.2, len(all_))
        left.plot(beside, radius[:, 0], "o", ms=2.5, color=hue, alpha=0.5)
        left.plot(k, radius[:, 0].mean(), "_", ms=22, mew=2.5, color=hue,
                  label="ours: packings, mean" if k == 0 else None)  # fmt: skip
        left.errorbar(k + 0.32, paper, spread, fmt="D", ms=4, color=GREY, capsize=3,
                      label="paper: mean" if k == 0 else None)  # fmt: skip
        middle.plot(radius[:, 1], radius[:, 0], "o", ms=4, color=hue, label=family)
        rank = [float(a["rank"]) for a in both[family]]
        right.plot(np.full(len(rank), k), rank, "o", ms=4, color=hue)
    left.set(ylabel="r by perturb-and-resolve [m̄g]", ylim=(0.0, None))
    left.legend()
    middle.plot([0.0, 1.1 * top], [0.0, 1.1 * top], color=GREY, lw=0.8)
    middle.set(xlabel="radius of F, uniform [m̄g]", ylabel="r by perturb-and-resolve [m̄g]",
               title="ours alone")  # fmt: skip
    middle.legend()
    right.axhline(0.5, color=GREY, lw=0.8, label="mean, if all were equally likely")
    right.legend()
    for axes in (left, right):
        axes.set_xticks(range(len(mine)), list(mine))
    right.set(ylim=(-0.02, 1.02), ylabel="uniform members with a\nsmaller mean normal force",
              title="ours alone")  # fmt: skip
    return figure


EXPERIMENT = Experiment("sampling", "Radii of F: are all members equally likely?", run)
