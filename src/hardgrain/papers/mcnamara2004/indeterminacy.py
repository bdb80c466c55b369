"""Figs 7, 8 and 12: how far each force can vary, how much else must change, and extremal states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.forces.compare import TailFit, density, tail
from hardgrain.forces.extremal import Choice
from hardgrain.forces.program import FEASIBLE
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome, chance
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.indeterminacy_extremal import EDGES, ROOM, extremal_states, fig8
from hardgrain.papers.mcnamara2004.judge import ENOUGH, judged_only, over_packings, statement
from hardgrain.papers.mcnamara2004.pipeline import (
    FAMILIES,
    Arrays,
    BoundedPacking,
    families,
)

__all__ = ["EXPERIMENT"]

CLASSES = ("least R", "least T", "greatest R", "greatest T")


def run(quick: bool) -> Outcome:
    """Find the distributions of δ and d over all packings."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    local = {family: [_local(f) for f in some] for family, some in found.items()}
    _bounded(outcome, found)
    _fig7(outcome, local)
    states = extremal_states(quick, found)
    fig8(outcome, states, local)
    _fig12(outcome, found, states)
    outcome.seeds = range(len(found["CD-1"]))
    if quick:
        judged_only(outcome)
    return outcome


_TEXT = (
    "δ is the range of one force, by linear programming; d is how much all forces change from a"
    " state where that one is least to a state where it is greatest. Nearly every extremal state is"
    " one of many: a whole face of F has the same least or greatest force. d is therefore no"
    " property of the packing but of the way in which states are picked, and the paper's diameters"
    " of F are those of its algorithm. Its histogram, two maxima of which the one far from zero is"
    " by far the larger, is that of vertices picked at random from the faces, and these are shown"
    " for that reason. The vertices that the simplex method meets as it goes on from contact to"
    " contact are nearer to each other. The two states nearest to each other are the one choice"
    " that is well defined: so much must change at least."
)


def _local(found: BoundedPacking) -> Floats:
    """The ranges δ_R and δ_T of all contacts, shape (m, 2)."""
    width: Floats = (found.bounds.high - found.bounds.low) / found.packing.unit
    return width


# ---------------------------------------------------------------------- bounds
def _bounded(outcome: Outcome, found: dict[str, list[BoundedPacking]]) -> None:
    every = [f for some in found.values() for f in some]
    outside = [
        np.maximum(f.bounds.low - f.packing.components, f.packing.components - f.bounds.high).max()
        / f.packing.unit
        for f in every
    ]
    wedged = sum(int(np.isinf(f.bounds.high).any(axis=1).sum()) for f in every)
    outcome.claims += [
        Claim(
            f"{len(every)} packings: greatest distance of a simulated force outside its bounds"
            " [m̄g]", max(0.0, float(max(outside))),
            theory=Expected(
                0.0, ROOM * FEASIBLE, "constraints hold to 10⁻⁹, and their sums along chains of"
                " some ten contacts to ten times that", "every state is a member of F",
            ),
        ),
        Claim(
            f"contacts with infinite indeterminacy in {len(every)} packings", wedged,
            paper=Expected.exact(0, "none observed"),
            note=f"of {sum(f.space.contacts for f in every)}",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- Fig. 7
def _fig7(outcome: Outcome, local: dict[str, list[Floats]]) -> None:
    edges = np.arange(0.0, 82.0, 2.0)
    figure, axes = new_figure(1, 1, width=6.0)
    curves: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    n = len(local["CD-1"])
    for column, symbol, start in ((0, "R", 10.0), (1, "T", 5.0)):
        for family in FAMILIES:
            values = [w[:, column] for w in local[family]]
            curve, fit = density(values, edges), tail(values, start)
            curves[f"{symbol} {family}"], curves[f"{symbol} {family}, error"] = (
                curve.value, curve.error,
            )  # fmt: skip
            mean, error = mean_and_error([v.mean() for v in values])
            outcome.claims += [
                Claim(
                    f"δ_{symbol} of {family}: scatter over mean of what exceeds {start:g} m̄g",
                    fit.variation, error=fit.variation_error, samples=n,
                    paper=exponential(fit, n),
                    note=f"decay length {fit.length:.2f} ± {fit.error:.2f} m̄g",
                ),
                Claim(f"mean δ_{symbol} of {family} [m̄g]", mean, error=error, samples=n),
            ]  # fmt: skip
            axes.plot(
                curve.middle, np.where(curve.value > 0, curve.value, np.nan),
                color=COLOURS[1 + column], lw=1.8 - 0.8 * column,
                ls="-" if family[:2] == "CD" else "--", alpha=1.0 if family[-1] == "1" else 0.5,
                label=f"$\\delta_{symbol}$, {family}",
            )  # fmt: skip
        for kind in ("CD", "MD"):
            both = [np.concatenate([a[:, column], b[:, column]]) for a, b in
                    zip(local[f"{kind}-1"], local[f"{kind}-2"])]  # fmt: skip
            outcome.claims.append(
                statement(
                    f"δ_{symbol} below 0.5 m̄g: density over that between 0.5 and 5 m̄g, {kind}",
                    over_packings(_peak, both), n, "a sharp peak near 0", beyond=1.0,
                    note="an exponential would give hardly more than 1",
                )
            )  # fmt: skip
        more = [
            0.5 * sum(m[:, column].mean() - c[:, column].mean() for m, c in pairs)
            for pairs in zip(*(zip(local[f"MD-{i}"], local[f"CD-{i}"]) for i in (1, 2)))
        ]
        mean, error = mean_and_error(more)
        outcome.claims.append(
            Claim(
                f"mean δ_{symbol} of MD less that of CD, same seed [m̄g]", mean, error=error,
                samples=n, paper="MD distributions show slightly larger indeterminacies",
                note="so slightly that as many packings as the paper's hardly decide it",
            )
        )  # fmt: skip
    from_, length = np.array([10.0, 70.0]), tail([w[:, 0] for w in local["CD-1"]], 10.0).length
    axes.plot(from_, 0.03 * np.exp((10.0 - from_) / length), color=GREY, lw=3, alpha=0.5,
              label="paper: exponential\n(slope not given,\nours is drawn)")  # fmt: skip
    axes.set(yscale="log", ylim=(1e-5, 2.0), xlabel="local indeterminacy δ [m̄g]",
             ylabel="probability density [1/m̄g]", title="ours, in colour")  # fmt: skip
    axes.legend(ncols=2)
    outcome.tables["fig7"] = curves
    outcome.figures["fig7"] = figure


def _peak(values: list[Floats]) -> float:
    """Density below 0.5 m̄g over that between 0.5 and 5 m̄g."""
    every = np.concatenate(values)
    return float(((every < 0.5).mean() / 0.5) / (((every > 0.5) & (every < 5.0)).mean() / 4.5))


def exponential(fit: TailFit, samples: int) -> Expected | str:
    """The claim "exponential", judged by scatter over mean; the paper is as noisy as we are."""
    words = "exponential: scatter over mean is 1"
    if samples < ENOUGH:
        return words
    error = math.sqrt(2.0) * fit.variation_error
    return Expected(1.0, chance(error, samples), "chance, in our sample and in theirs", words)


# ---------------------------------------------------------------------- Fig. 12
def _fig12(
    outcome: Outcome,
    found: dict[str, list[BoundedPacking]],
    states: dict[tuple[Choice, str], list[Arrays]],
) -> None:
    some = states["random", "CD-1"]
    n = len(some)
    mine = found["CD-1"][:n]
    simulated = [f.packing.components[:, 0] / f.packing.unit for f in mine]
    curve = density(simulated, EDGES)
    middle, width = curve.middle, EDGES[1] - EDGES[0]
    figure, axes = new_figure(1, 1, width=6.0)
    shown = np.where(curve.value > 0, curve.value, np.nan)
    axes.plot(middle, shown, "o-", ms=3, color="k", lw=1, label="ours: CD-1, simulated")
    table: dict[str, Any] = {"low": EDGES[:-1], "high": EDGES[1:], "simulated": curve.value}
    for k, name in enumerate(CLASSES):
        counts = [s["normal"][k] for s in some]
        share = np.sum(counts, axis=0) / np.sum(counts)
        table[name] = share / width
        axes.plot(middle, np.where(share > 0, share / width, np.nan), color=COLOURS[1 + k],
                  label=f"ours: extremal, {name}")  # fmt: skip
        if n > 1:
            ratio, error = over_packings(_beyond, counts, simulated)
            outcome.claims.append(
                Claim(
                    f"extremal states of {name}: share of normal forces above 30 m̄g over that of"
                    " the simulated ones", ratio, error=error, samples=n,
                    paper="more contacts with large forces, even where R is least",
                )
            )  # fmt: skip
    axes.axvline(30.0, color=GREY, lw=1.0, ls=":", label="paper: coincide below,\nmore above")
    if n > 1:
        _below(outcome, [s["normal"].sum(axis=0) for s in some], simulated)
    axes.set(yscale="log", xlim=(0.0, 200.0), xlabel="normal force R [m̄g]",
             ylabel="probability density [1/m̄g]")  # fmt: skip
    axes.legend()
    outcome.tables["fig12"] = table
    outcome.figures["fig12"] = figure


def _beyond(counts: list[Floats], simulated: list[Floats]) -> float:
    """Share of normal forces above 30 m̄g in extremal states, over that in simulated ones."""
    total = np.sum(counts, axis=0)
    share = total[EDGES[:-1] >= 30.0].sum() / total.sum()
    return float(share / (np.concatenate(simulated) > 30.0).mean())


def _below(outcome: Outcome, counts: list[Floats], simulated: list[Floats]) -> None:
    """Whether the densities coincide where forces are small, bin by bin, and the tail above."""
    n, low = len(simulated), EDGES[:-1] < 30.0
    bins = int(low.sum())

    def ratio(bin_: int) -> tuple[float, float]:
        def of(some: list[Floats], own: list[Floats]) -> float:
            total = np.sum(some, axis=0)
            mine = np.histogram(np.concatenate(own), EDGES)[0]
            return float((total[bin_] / total.sum()) / (mine[bin_] / mine.sum()))

        return over_packings(of, counts, simulated)

    found = [ratio(k) for k in range(bins)]
    worst = max(found, key=lambda r: abs(r[0] - 1.0) / r[1])
    where = found.index(worst)
    outcome.claims.append(
        Claim(
            "normal forces below 30 m̄g, in bins of 5 m̄g: density in extremal states over that in"
            " simulated ones, where it is clearest off 1",
            worst[0], error=worst[1], samples=n,
            paper="coincide for R < 30 m̄g",
            note=f"from {EDGES[where]:g} to {EDGES[where + 1]:g} m̄g; all bins: "
            + ", ".join(f"{r:.2f} ± {e:.2f}" for r, e in found),
        )
    )  # fmt: skip
    fit = tail(simulated, 10.0)
    outcome.claims.append(
        Claim(
            "simulated: scatter over mean of what exceeds 10 m̄g", fit.variation,
            error=fit.variation_error, samples=n, paper=exponential(fit, n),
            note=f"decay length {fit.length:.2f} ± {fit.error:.2f} m̄g",
        )
    )  # fmt: skip

    def scatter(some: list[Floats]) -> float:
        weights = np.sum(some, axis=0)[~low].astype(float)
        excess = 0.5 * (EDGES[1:] + EDGES[:-1])[~low] - 30.0
        length = np.average(excess, weights=weights)
        return float(np.sqrt(np.average((excess - length) ** 2, weights=weights)) / length)

    value, error = over_packings(scatter, counts)
    outcome.claims.append(
        Claim(
            "extremal states: scatter over mean of what exceeds 30 m̄g", value, error=error,
            samples=n,
            paper="approximately exponential, for which it is 1",
        )
    )  # fmt: skip


EXPERIMENT = Experiment(
    "indeterminacy", "Figs 7, 8 and 12: local and global indeterminacy, extremal states", run
)
