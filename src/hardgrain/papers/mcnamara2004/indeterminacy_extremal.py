"""Fig. 8: how much else changes where one force is at its least or greatest."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.forces.compare import Density, density
from hardgrain.forces.extremal import Choice
from hardgrain.forces.program import FEASIBLE
from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.judge import over_packings, statement
from hardgrain.papers.mcnamara2004.pipeline import (
    Arrays,
    BoundedPacking,
    everything,
    kept,
    measured,
)

__all__ = ["EDGES", "ROOM", "extremal_states", "fig8"]

# Extremal states, by the choice among them. Random vertices are what agrees with the paper.
SEEDS: dict[Choice, int] = {"random": 60, "vertex": 8, "nearest": 2}
EDGES = np.arange(0.0, 405.0, 5.0)  # edges of the bins of normal forces [m̄ g]
ROOM = 10.0  # [tolerance of a constraint] sums along chains of contacts may miss by so many

# [m̄ g] Where the main maximum of Fig. 8 lies, read off by eye.
PEAK = {"CD": 60.0, "MD": 75.0}


def _extremal(found: BoundedPacking, choice: Choice) -> Arrays:
    """Figures of the 4M extremal states of a packing, which themselves would take megabytes."""

    def make() -> Arrays:
        p = found.packing
        e = found.space.extremal(choice, seed=found.setup.seed)
        low, high = e.low / p.unit, e.high / p.unit
        normal = [low[:, 0, :, 0], low[:, 1, :, 0], high[:, 0, :, 0], high[:, 1, :, 0]]
        return {
            "distance": e.distance,
            "vanishing": e.vanishing,
            "normal": np.array([np.histogram(n, EDGES)[0] for n in normal]),
        }

    return kept(found.setup, found.family, f"extremal {choice}", make)


def _job(job: tuple[Any, str, Choice]) -> None:
    setup, family, choice = job
    _extremal(measured(setup, family), choice)


def extremal_states(
    quick: bool, found: dict[str, list[BoundedPacking]]
) -> dict[tuple[Choice, str], list[Arrays]]:
    """Extremal states of CD-1 and MD-1, by each choice, for as many seeds as are feasible."""
    chosen = {(c, family): n for c, n in SEEDS.items() for family in ("CD-1", "MD-1")}
    if quick:
        chosen = {("random", "CD-1"): 1}
    jobs = [(f.setup, family, choice) for (choice, family), n in chosen.items()
            for f in found[family][:n]]  # fmt: skip
    everything(_job, jobs, "extremal states")
    return {
        (choice, family): [_extremal(f, choice) for f in found[family][:n]]
        for (choice, family), n in chosen.items()
    }


def _main_peak(curve: Density) -> float:
    """The place at which a smoothed histogram is greatest, apart from its first bins."""
    smooth = np.convolve(curve.value, [0.25, 0.5, 0.25], mode="same")
    smooth[curve.middle < 15.0] = 0.0
    return float(curve.middle[int(smooth.argmax())])


def fig8(
    outcome: Outcome, states: dict[tuple[Choice, str], list[Arrays]], local: dict[str, list[Floats]]
) -> None:
    edges = np.arange(0.0, 255.0, 5.0)
    figure, (left, right) = new_figure(1, 2)
    curves: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    _theorems(outcome, states, local)
    for (choice, family), some in states.items():
        n, kind = len(some), family[:2]
        line = "-" if kind == "CD" else "--"
        density_ = {}
        for column, symbol in ((0, "R"), (1, "T")):
            values = [s["distance"][:, column] for s in some]
            curve = density_[symbol] = density(values, edges)
            name = f"{symbol} {family}, {choice}"
            curves[name], curves[f"{name}, error"] = curve.value, curve.error
            if choice == "random":
                left.plot(curve.middle, curve.value, color=COLOURS[1 + column], ls=line,
                          label=f"ours: $d_{symbol}$, {family}")  # fmt: skip
            if choice == "random" and n > 1:
                _global(outcome, symbol, family, values, curve)
        right.plot(density_["R"].middle, density_["R"].value, ls=line,
                   color=COLOURS[3 + list(SEEDS).index(choice)],
                   label=f"ours: {family}, {choice}")  # fmt: skip
        if n > 1:
            mean, error = mean_and_error([s["distance"][:, 0].mean() for s in some])
            outcome.claims.append(
                Claim(
                    f"mean d_R of {family}, {choice} [m̄g]", mean, error=error, samples=n,
                    paper=f"a diameter of about {PEAK[kind]:g}, a crude estimate",
                    note=f"greatest density at {_main_peak(density_['R']):g}",
                )
            )  # fmt: skip
        if choice == "random" and n > 1:
            mine = local[family][:n]
            outcome.claims.append(
                statement(
                    f"{family}: mean δ_R over mean δ_T, less mean d_R over mean d_T",
                    over_packings(_ratios, mine, [s["distance"] for s in some]), n,
                    "nearly the same for the components in Fig. 8, clearly different in Fig. 7",
                    note="{:.2f} and {:.2f}".format(
                        *(_ratio(x) for x in (mine, [s["distance"] for s in some]))
                    ),
                )
            )  # fmt: skip
    for kind, line in (("CD", "-"), ("MD", "--")):
        for axes in (left, right):
            axes.axvline(PEAK[kind], color=GREY, ls=line, lw=1.0,
                         label=f"paper: main maximum, {kind}")  # fmt: skip
    for axes in (left, right):
        axes.set(xlabel="global indeterminacy d [m̄g]", ylabel="probability density [1/m̄g]")
        axes.legend()
    left.set_title("random vertices")
    right.set_title("$d_R$ by the choice of the states")
    outcome.tables["fig8"] = curves
    outcome.figures["fig8"] = figure


def _ratio(values: list[Floats]) -> float:
    """Mean normal over mean tangential component of packings, each (m, 2)."""
    normal, tangential = np.concatenate(values).mean(axis=0)
    return float(normal / tangential)


def _ratios(local: list[Floats], apart: list[Floats]) -> float:
    return _ratio(local) - _ratio(apart)


def _global(
    outcome: Outcome, symbol: str, family: str, values: list[Floats], curve: Density
) -> None:
    """Two maxima of d, of which the one far from zero is by far the larger."""

    def small(some: list[Floats]) -> float:
        every = np.concatenate(some)
        return float((every < 2.0).mean() / 2.0 - ((every > 2.0) & (every < 20.0)).mean() / 18.0)

    n = len(values)
    outcome.claims += [
        Claim(
            f"d_{symbol} of {family}, random vertices: main maximum [m̄g]", _main_peak(curve),
            paper=f"about {PEAK[family[:2]]:g}, a crude estimate",
            note=f"median {np.median(np.concatenate(values)):.1f}; other choices of extremal states"
            " give other numbers, below",
        ),
        statement(
            f"d_{symbol} of {family}, random vertices: density below 2 m̄g less that between 2 and"
            " 20 m̄g [1/m̄g]",
            over_packings(small, values), n, "another, small maximum close to 0",
        ),
    ]  # fmt: skip


def _theorems(
    outcome: Outcome, states: dict[tuple[Choice, str], list[Arrays]], local: dict[str, list[Floats]]
) -> None:
    """What holds for any two extremal states, and for the two that are nearest to each other."""
    below = [
        float((s["distance"] - w).min())
        for (_, family), some in states.items()
        for s, w in zip(some, local[family])
    ]
    outcome.claims.append(
        Claim(
            f"least d − δ of all contacts in {len(below)} packings and choices of states [m̄g]",
            min(below),
            theory=Expected(
                0.0, ROOM * FEASIBLE, "constraints hold to 10⁻⁹, and their sums along chains of"
                " some ten contacts to ten times that", "a distance is no less than one of its"
                " components", side="at least",
            ),
        )
    )  # fmt: skip
    for family in ("CD-1", "MD-1"):
        vanishing = [
            s["vanishing"][s["vanishing"] >= 0] for s in states.get(("random", family), [])
        ]
        if len(vanishing) > 1:
            share, error = mean_and_error([float((v > 0).mean()) for v in vanishing])
            outcome.claims.append(
                Claim(
                    f"share of the extremal states of {family} that are not unique", share,
                    error=error, samples=len(vanishing), paper="not mentioned",
                    note=f"{np.concatenate(vanishing).mean():.0f} reduced costs vanish on average:"
                    " the state of a least or greatest force is a choice, and so is d",
                )
            )  # fmt: skip
        if ("nearest", family) in states:
            few = states["nearest", family]
            more = np.concatenate([
                (other["distance"] - one["distance"]).ravel()
                for choice in ("random", "vertex")
                for one, other in zip(few, states[choice, family])
            ])  # fmt: skip
            factor = [
                float(other["distance"][:, 0].mean() / one["distance"][:, 0].mean())
                for one, other in zip(few, states["random", family])
            ]
            mean, error = mean_and_error(factor)
            outcome.claims += [
                Claim(
                    f"{family}: least excess of d by other choices over d of the nearest states"
                    " [m̄g]", float(more.min()),
                    theory=Expected(
                        0.0, 0.03, "the square of d is found to 10⁻⁷ of its terms, up to 10⁴ (m̄g)²,"
                        " at worst",
                        "no two extremal states are nearer", side="at least",
                    ),
                ),
                Claim(
                    f"mean d_R of {family}, random vertices over nearest states, same seed", mean,
                    error=error, samples=len(factor), paper="d estimates the diameter of F",
                    note="so much is left to the choice of the states: d has no value of its own",
                ),
            ]  # fmt: skip
