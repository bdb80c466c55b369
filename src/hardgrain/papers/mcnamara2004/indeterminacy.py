"""Figs 7, 8 and 12: how far each force can vary, how much else must change, and extremal states."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.measure.forces.compare import Density, density, tail
from hardgrain.measure.forces.extremal import Choice
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.pipeline import (
    FAMILIES,
    Arrays,
    Found,
    everything,
    families,
    kept,
    measured,
)

# Extremal states, by the choice among them. Random vertices are what agrees with the paper.
SEEDS: dict[Choice, int] = {"random": 16, "vertex": 8, "nearest": 3}
EDGES = np.arange(0.0, 405.0, 5.0)  # of normal forces [m̄ g]
CLASSES = ("least R", "least T", "greatest R", "greatest T")
PEAK = {"CD": 60.0, "MD": 75.0}


def run(quick: bool) -> Outcome:
    """Distributions of δ and d over all packings."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    local = {family: [_local(f) for f in some] for family, some in found.items()}
    _bounded(outcome, found)
    _fig7(outcome, local, quick)
    states = extremal_states(quick, found)
    _fig8(outcome, states, local)
    _fig12(outcome, found, states, quick)
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


def _local(found: Found) -> Floats:
    """δ_R and δ_T of all contacts (m, 2)."""
    width: Floats = (found.bounds.high - found.bounds.low) / found.packing.unit
    return width


# ---------------------------------------------------------------------- bounds
def _bounded(outcome: Outcome, found: dict[str, list[Found]]) -> None:
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
            " [m̄g]", max(0.0, float(max(outside))), theory=0.0, tolerance=1e-6,
        ),
        Claim(
            "contacts with infinite indeterminacy", wedged, theory=0, tolerance=0,
            paper="none observed", note=f"of {sum(f.space.contacts for f in every)}",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- Fig. 7
def _fig7(outcome: Outcome, local: dict[str, list[Floats]], quick: bool) -> None:
    exact = None if quick else 1.0  # two packings are too few for tails
    edges = np.arange(0.0, 82.0, 2.0)
    figure, axes = new_figure(1, 1, width=6.0)
    curves: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    for column, symbol, start in ((0, "R", 10.0), (1, "T", 5.0)):
        for family in FAMILIES:
            values = [w[:, column] for w in local[family]]
            curve, fit = density(values, edges), tail(values, start)
            curves[f"{symbol} {family}"], curves[f"{symbol} {family}, error"] = (
                curve.value, curve.error,
            )  # fmt: skip
            mean, error = mean_and_error([v.mean() for v in values])
            outcome.claims.append(
                Claim(
                    f"δ_{symbol} of {family}: scatter over mean of what exceeds {start:g} m̄g",
                    fit.variation, error=fit.variation_error, theory=exact, tolerance=0.2,
                    paper="exponential (1 would be exact)",
                    note=f"decay length {fit.length:.2f} ± {fit.error:.2f} m̄g, mean of all"
                    f" {mean:.2f} ± {error:.2f} m̄g",
                )
            )  # fmt: skip
            axes.plot(
                curve.middle, np.where(curve.value > 0, curve.value, np.nan),
                color=COLOURS[1 + column], lw=1.8 - 0.8 * column,
                ls="-" if family[:2] == "CD" else "--", alpha=1.0 if family[-1] == "1" else 0.5,
                label=f"$\\delta_{symbol}$, {family}",
            )  # fmt: skip
        both = {k: np.concatenate([np.concatenate([w[:, column] for w in local[f"{k}-{i}"]])
                                   for i in (1, 2)]) for k in ("CD", "MD")}  # fmt: skip
        near = {k: float((v < 0.5).mean()) / 0.5 for k, v in both.items()}
        next_ = {k: float(((v > 0.5) & (v < 5.0)).mean()) / 4.5 for k, v in both.items()}
        outcome.claims.append(
            Claim(
                f"δ_{symbol} below 0.5 m̄g: density over that between 0.5 and 5 m̄g, CD",
                near["CD"] / next_["CD"], paper="a sharp peak near 0",
                note=f"MD: {near['MD'] / next_['MD']:.2f}; an exponential would give hardly more"
                " than 1",
            )
        )  # fmt: skip
        pairs = [
            (m[:, column].mean() - c[:, column].mean())
            for i in (1, 2) for m, c in zip(local[f"MD-{i}"], local[f"CD-{i}"])
        ]  # fmt: skip
        more, error = mean_and_error(pairs)
        outcome.claims.append(
            Claim(
                f"mean δ_{symbol} of MD less that of CD, same seed [m̄g]", more, error=error,
                paper="MD distributions show slightly larger indeterminacies",
                note=f"means {both['MD'].mean():.2f} and {both['CD'].mean():.2f}",
            )
        )  # fmt: skip
    axes.set(yscale="log", ylim=(1e-5, 2.0), xlabel="local indeterminacy δ [m̄g]",
             ylabel="probability density [1/m̄g]")  # fmt: skip
    axes.legend(ncols=2)
    outcome.tables["fig7"] = curves
    outcome.figures["fig7"] = figure


# ---------------------------------------------------------------------- extremal states
def _extremal(found: Found, choice: Choice) -> Arrays:
    """What is asked of the 4M extremal states of a packing; they themselves would be megabytes."""

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
    quick: bool, found: dict[str, list[Found]]
) -> dict[tuple[Choice, str], list[Arrays]]:
    """Of CD-1 and MD-1, by each choice, for as many seeds as are worth their time."""
    chosen = {(c, family): n for c, n in SEEDS.items() for family in ("CD-1", "MD-1")}
    if quick:
        chosen = {key: 1 for key in chosen if key[0] == "random"}
    jobs = [(f.setup, family, choice) for (choice, family), n in chosen.items()
            for f in found[family][:n]]  # fmt: skip
    everything(_job, jobs, "extremal states")
    return {
        (choice, family): [_extremal(f, choice) for f in found[family][:n]]
        for (choice, family), n in chosen.items()
    }


def _main_peak(curve: Density) -> float:
    """Where a smoothed histogram is greatest, apart from its first bins."""
    smooth = np.convolve(curve.value, [0.25, 0.5, 0.25], mode="same")
    smooth[curve.middle < 15.0] = 0.0
    return float(curve.middle[int(smooth.argmax())])


# ---------------------------------------------------------------------- Fig. 8
def _fig8(
    outcome: Outcome, states: dict[tuple[Choice, str], list[Arrays]], local: dict[str, list[Floats]]
) -> None:
    edges = np.arange(0.0, 255.0, 5.0)
    figure, (left, right) = new_figure(1, 2)
    curves: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    for kind, line in (("CD", "-"), ("MD", "--")):
        mean = {}
        for column, symbol in ((0, "R"), (1, "T")):
            values = [s["distance"][:, column] for s in states["random", f"{kind}-1"]]
            curve = density(values, edges)
            curves[f"{symbol} {kind}-1"], curves[f"{symbol} {kind}-1, error"] = (
                curve.value, curve.error,
            )  # fmt: skip
            mean[symbol], error = mean_and_error([v.mean() for v in values])
            left.plot(curve.middle, curve.value, color=COLOURS[1 + column], ls=line,
                      label=f"$d_{symbol}$, {kind}-1")  # fmt: skip
            every = np.concatenate(values)
            near, next_ = float((every < 2.0).mean()), float((every < 20.0).mean())
            outcome.claims += [
                Claim(
                    f"d_{symbol} of {kind}-1, random vertices: main maximum [m̄g]",
                    _main_peak(curve), paper=f"about {PEAK[kind]:g}, a crude estimate",
                    note=f"mean {mean[symbol]:.1f} ± {error:.1f}, median {np.median(every):.1f};"
                    " other choices of extremal states give other numbers, below",
                ),
                Claim(
                    f"d_{symbol} of {kind}-1, random vertices: share below 2 m̄g", near,
                    paper="another, small maximum close to 0",
                    note=f"share between 2 and 20 m̄g: {next_ - near:.4f}",
                ),
            ]  # fmt: skip
        width = {k: np.mean([w[:, k].mean() for w in local[f"{kind}-1"]]) for k in (0, 1)}
        outcome.claims.append(
            Claim(
                f"{kind}-1: mean d_R over mean d_T", mean["R"] / mean["T"], theory=1.0,
                tolerance=0.2, paper="nearly the same",
                note=f"δ_R over δ_T: {width[0] / width[1]:.2f}, clearly different as in the paper",
            )
        )  # fmt: skip
    means = {}
    for (choice, family), some in states.items():
        hue = COLOURS[3 + list(SEEDS).index(choice)]
        values = [s["distance"][:, 0] for s in some]
        curve = density(values, edges)
        curves[f"R {family}, {choice}"] = curve.value
        means[choice, family], error = mean_and_error([v.mean() for v in values])
        outcome.claims.append(
            Claim(
                f"mean d_R of {family}, {choice}, {len(values)} seeds [m̄g]",
                means[choice, family], error=error,
                paper=f"a diameter of about {PEAK[family[:2]]:g}",
                note=f"greatest density at {_main_peak(curve):g}",
            )
        )  # fmt: skip
        right.plot(curve.middle, curve.value, color=hue, ls="-" if family == "CD-1" else "--",
                   label=f"{family}, {choice}")  # fmt: skip
    if ("nearest", "CD-1") in means:
        few = len(states["nearest", "CD-1"])
        ends = [np.mean([s["distance"][:, 0].mean() for s in states[c, "CD-1"][:few]])
                for c in ("random", "nearest")]  # fmt: skip
        outcome.claims.append(
            Claim(
                f"mean d_R of CD-1, random vertices over nearest states, same {few} seeds",
                float(ends[0] / ends[1]), paper="d estimates the diameter of F",
                theory=1.0, tolerance=0.2, disputed=True,
                note="so much is left to the choice of the states: d has no value of its own",
            )
        )  # fmt: skip
    vanishing = np.concatenate([s["vanishing"].ravel() for s in states["random", "CD-1"]])
    vanishing = vanishing[vanishing >= 0]  # −1: nothing to choose
    outcome.claims.append(
        Claim(
            "share of the extremal states of CD-1 that are not unique",
            float((vanishing > 0).mean()), paper="not mentioned",
            note=f"{vanishing.mean():.0f} reduced costs vanish on average: the state of a least or"
            " greatest force is a choice, and so is d",
        )
    )  # fmt: skip
    for axes in (left, right):
        axes.set(xlabel="global indeterminacy d [m̄g]", ylabel="probability density [1/m̄g]")
        axes.legend()
    left.set_title("random vertices")
    right.set_title("$d_R$ by the choice of the states")
    outcome.tables["fig8"] = curves
    outcome.figures["fig8"] = figure


# ---------------------------------------------------------------------- Fig. 12
def _fig12(
    outcome: Outcome,
    found: dict[str, list[Found]],
    states: dict[tuple[Choice, str], list[Arrays]],
    quick: bool,
) -> None:
    some = states["random", "CD-1"]
    mine = found["CD-1"][: len(some)]
    simulated = [f.packing.components[:, 0] / f.packing.unit for f in mine]
    curve = density(simulated, EDGES)
    middle = curve.middle
    width = EDGES[1] - EDGES[0]
    figure, axes = new_figure(1, 1, width=6.0)
    shown = np.where(curve.value > 0, curve.value, np.nan)
    axes.plot(middle, shown, "o-", ms=3, color="k", lw=1, label="CD-1, simulated")
    table: dict[str, Any] = {"low": EDGES[:-1], "high": EDGES[1:], "simulated": curve.value}
    beyond = float(np.mean(np.concatenate(simulated) > 30.0))
    every = np.array([s["normal"] for s in some])  # (seeds, 4, bins)
    for k, name in enumerate(CLASSES):
        counts = every[:, k]
        share = counts.sum(axis=0) / counts.sum()
        table[name] = share / width
        axes.plot(middle, np.where(share > 0, share / width, np.nan), color=COLOURS[1 + k],
                  label=f"extremal, {name}")  # fmt: skip
        more = counts[:, middle > 30.0].sum(axis=1) / counts.sum(axis=1)
        value, error = mean_and_error(more)
        outcome.claims.append(
            Claim(
                f"extremal states of {name}: share of normal forces above 30 m̄g over that of the"
                " simulated ones", value / beyond, error=error / beyond,
                paper="more contacts with large forces",
                note=f"simulated share {100 * beyond:.2f} %",
            )
        )  # fmt: skip
    low = middle < 30.0
    mean_share = every.sum(axis=(0, 1))
    weak = mean_share[low] / mean_share.sum() / width
    outcome.claims += [
        Claim(
            "normal forces below 30 m̄g: greatest ratio of the density in extremal states to that in"
            " simulated ones, in bins of 5 m̄g", float(np.max(weak / curve.value[low])),
            paper="coincide for R < 30 m̄g", note=f"least {np.min(weak / curve.value[low]):.2f}",
        ),
        Claim(
            "simulated: scatter over mean of what exceeds 10 m̄g", tail(simulated, 10.0).variation,
            error=tail(simulated, 10.0).variation_error, theory=None if quick else 1.0,
            tolerance=0.2,
            paper="approximately exponential",
            note=f"decay length {tail(simulated, 10.0).length:.2f} m̄g",
        ),
    ]  # fmt: skip
    tails = middle > 30.0
    weights = mean_share[tails].astype(float)
    excess = middle[tails] - 30.0
    length = float(np.average(excess, weights=weights))
    scatter = float(np.sqrt(np.average((excess - length) ** 2, weights=weights)) / length)
    outcome.claims.append(
        Claim(
            "extremal states: scatter over mean of what exceeds 30 m̄g", scatter,
            paper="approximately exponential (1 would be exact)",
            note=f"decay length {length:.1f} m̄g",
        )
    )  # fmt: skip
    axes.set(yscale="log", xlim=(0.0, 200.0), xlabel="normal force R [m̄g]",
             ylabel="probability density [1/m̄g]")  # fmt: skip
    axes.legend()
    outcome.tables["fig12"] = table
    outcome.figures["fig12"] = figure


EXPERIMENT = Experiment(
    "indeterminacy", "Figs 7, 8 and 12: local and global indeterminacy, extremal states", run
)
