"""Figs 11 and 13 and the distances between states: what a packing remembers of how it was made."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.forces.compare import density, distance, starred, tail
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.dimension_figures import HUES
from hardgrain.papers.mcnamara2004.indeterminacy import exponential
from hardgrain.papers.mcnamara2004.judge import (
    ENOUGH,
    judged_only,
    number,
    over_packings,
    statement,
)
from hardgrain.papers.mcnamara2004.pipeline import FAMILIES, BoundedPacking, families

# The paper's mean distances between families, and their errors [m̄ g].
PAPER = {
    ("CD-1", "CD-2"): (50.0, 3.0),
    ("CD-1", "MD-2"): (75.0, 4.0),
    ("CD-2", "MD-2"): (45.0, 3.0),
}
# What does not hold here, and why.
DIFFERS: dict[Any, str] = {
    ("CD-2", "MD-2"): "The set-up is not given. Box, grid and sweeps a step decide on this distance"
    " (table open of the experiment dimension), and the paper names none of them.",
    "history": "History and method matter alike here. The damping, as printed, leaves a fifth of"
    " the contacts of MD-2 at their limit, which no history does under contact dynamics. Of the"
    " normal forces themselves, below, the statement holds.",
}
LARGE = 40.0  # a normal force that few contacts have [m̄ g]
END = 1e-3  # R_* or T_* this near to 0 or 1 is there
# How a family is drawn: colour, contact dynamics or molecular dynamics, first or second history.
LINES: dict[str, dict[str, Any]] = {
    f: {"color": HUES[f], "ls": "-" if f[:2] == "CD" else ":", "lw": 2.0 if f[-1] == "1" else 1.0}
    for f in FAMILIES
}


def run(quick: bool) -> Outcome:
    """States compared with each other, with their bounds, and by their forces."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    outcome.seeds = range(len(found["CD-1"]))
    _distances(outcome, found)
    _fig13(outcome, found)
    if quick:
        judged_only(outcome)
    _fig11(outcome, found, quick)
    return outcome


_TEXT = (
    "CD-1, CD-2 and MD-2 have the same grains in nearly the same places and differ in how their"
    " forces came about. Grains that fell (1) remember it: their normal forces lie higher within"
    " what is possible, and large ones are more frequent, than where forces were found anew"
    " (2).\n\n"
    "Whether history or method matters more is a comparison of distributions. The distance of two"
    " of them is D², the mean of (P − Q)² over x, P and Q the shares of values below x. From some"
    " packings (P − Q)² is too large, by its own scatter; here only products of differences found"
    " in two different seeds are averaged, so that D² is 0 on average where there is no difference."
)


def _distances(outcome: Outcome, found: dict[str, list[BoundedPacking]]) -> None:
    table: dict[str, Any] = {"seed": [f.setup.seed for f in found["CD-1"]]}
    n = len(found["CD-1"])
    apart = {
        pair: np.array([
            distance(a.packing, b.packing) for a, b in zip(found[pair[0]], found[pair[1]])
        ])
        for pair in PAPER
    }  # fmt: skip
    for pair, (paper, spread) in PAPER.items():
        table[" to ".join(pair)] = apart[pair]
        outcome.claims.append(
            number(
                f"distance from {pair[0]} to {pair[1]} [m̄g]", mean_and_error(apart[pair]), n,
                (paper, spread), differs=DIFFERS.get(pair, "") if n >= ENOUGH else "",
                note=f"from {apart[pair].min():.0f} to {apart[pair].max():.0f}",
            )
        )  # fmt: skip
    one, two, three = (apart[pair] for pair in PAPER)
    for text, values, words in (
        ("CD-1 is farther from MD-2 than from CD-2, by [m̄g]", two - one, "MD moves farther away"),
        ("MD-2 is nearer to CD-2 than to CD-1, by [m̄g]", two - three,
         "in approximately the same direction"),
    ):  # fmt: skip
        outcome.claims.append(statement(text, mean_and_error(values), n, words))
    outcome.tables["distances"] = table


def _fig11(outcome: Outcome, found: dict[str, list[BoundedPacking]], quick: bool) -> None:
    edges = np.linspace(0.0, 1.0, 21)
    figure, axes = new_figure(1, 2)
    table: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    inside: dict[str, dict[str, list[Floats]]] = {}
    stars: dict[str, list[Floats]] = {
        family: [starred(f.packing.components, f.bounds, f.packing.unit) for f in some]
        for family, some in found.items()
    }
    # In MD-2, forces lie outside by as much as linear programs are inaccurate.
    stars = {k: [np.clip(s, 0.0, 1.0) for s in some] for k, some in stars.items()}
    for column, (axis, symbol) in enumerate(zip(axes, "RT")):
        values = {
            family: [s[~np.isnan(s[:, column]), column] for s in some]
            for family, some in stars.items()
        }
        for family in FAMILIES:
            curve = density(values[family], edges)
            table[f"{symbol} {family}"], table[f"{symbol} {family}, error"] = (
                curve.value, curve.error,
            )  # fmt: skip
            axis.stairs(curve.value, edges, label=f"ours: {family}", **LINES[family])
        axis.set(xlabel=f"${symbol}_*$", ylabel="probability density")
        axis.legend()
        inside[f"{symbol}_*"] = values
    if not quick:
        _higher(outcome, inside["R_*"])
        _ends(outcome, inside["T_*"])
    axes[0].set_title("paper: larger for CD-1 and MD-1")
    axes[1].set_title("paper: CD-1 and MD-1 more in the middle,\nCD-2 and MD-2 more at the ends")
    force = {
        family: [f.packing.components[:, 0] / f.packing.unit for f in some]
        for family, some in found.items()
    }
    _history(outcome, inside, force)
    outcome.tables["fig11"] = table
    outcome.figures["fig11"] = figure


def _higher(outcome: Outcome, values: dict[str, list[Floats]]) -> None:
    """The place of normal forces between their bounds."""
    n = len(values["CD-1"])
    for family in FAMILIES:
        mean, error = mean_and_error([v.mean() for v in values[family]])
        outcome.claims.append(Claim(f"mean R_* of {family}", mean, error=error, samples=n))
    gain = {
        kind: [a.mean() - b.mean() for a, b in zip(values[f"{kind}-1"], values[f"{kind}-2"])]
        for kind in ("CD", "MD")
    }
    outcome.claims.append(
        statement(
            "mean R_* of CD-1 and MD-1 less that of CD-2 and MD-2",
            mean_and_error(np.mean([gain["CD"], gain["MD"]], axis=0)), n,
            "dropped packings have normal forces that are larger, relative to their bounds",
            note=", ".join(
                "{} {:.3f} ± {:.3f}".format(kind, *mean_and_error(g)) for kind, g in gain.items()
            ),
        )
    )  # fmt: skip


def _ends(outcome: Outcome, values: dict[str, list[Floats]]) -> None:
    """How many tangential forces are in the middle, and how many at their bounds."""
    n = len(values["CD-1"])
    for what, inside, sign, words in (
        ("between 0.4 and 0.6", lambda v: np.abs(v - 0.5) < 0.1, 1.0,
         "CD-1 and MD-1 show more values around the middle"),
        ("at 0 or 1", lambda v: (v < END) | (v > 1.0 - END), -1.0,
         "CD-2 and MD-2 have more contacts at their maximum or minimum"),
    ):  # fmt: skip
        share = {k: np.array([inside(v).mean() for v in some]) for k, some in values.items()}
        for kind in ("CD", "MD"):
            one, two = f"{kind}-1", f"{kind}-2"
            more, less = (one, two) if sign > 0.0 else (two, one)
            text = f"share of T_* {what}: {more} less {less}"
            found = mean_and_error(share[more] - share[less])
            note = f"{share[more].mean():.4f} and {share[less].mean():.4f}"
            if kind == "CD" and sign < 0.0:  # hardly any in either, and so nothing to judge
                outcome.claims.append(
                    Claim(text, found[0], error=found[1], samples=n, paper=words, note=note)
                )
            else:
                outcome.claims.append(statement(text, found, n, words, note=note))


# ---------------------------------------------------------------------- history or method
def _below(values: dict[str, list[Floats]], points: Floats) -> list[list[Floats]]:
    """The share of values below each point, seed by seed, for each family."""
    return [
        [np.searchsorted(np.sort(v), points) / v.size for v in values[family]]
        for family in FAMILIES
    ]


def _squared(one: list[Floats], other: list[Floats]) -> float:
    """D² of two families over the range of points, from pairs of different seeds."""
    off = np.array(one) - np.array(other)
    n = len(off)
    pairs = np.square(off.sum(axis=0)) - np.square(off).sum(axis=0)
    return float(pairs.mean() / (n * (n - 1)))


def _by_history(cd1: Any, md1: Any, cd2: Any, md2: Any) -> float:
    return 0.5 * (_squared(cd1, cd2) + _squared(md1, md2))


def _by_method(cd1: Any, md1: Any, cd2: Any, md2: Any) -> float:
    return 0.5 * (_squared(cd1, md1) + _squared(cd2, md2))


def _history(outcome: Outcome, stars: dict[str, Any], force: dict[str, list[Floats]]) -> None:
    """D² between families that differ in history, less D² between those that differ in method."""
    unit = np.linspace(0.0, 1.0, 201)
    parts = {symbol: _below(values, unit) for symbol, values in stars.items()}
    # shares below of R_* and of T_* as one long curve: D² is then the mean of both
    both = [[np.concatenate(pair) for pair in zip(*families)] for families in zip(*parts.values())]
    normal = _below(force, np.linspace(0.0, 100.0, 201))
    for text, groups, words, differs in (
        ("R_* and T_*", both, "depend more on the history than on the simulation method",
         DIFFERS["history"]),
        ("R up to 100 m̄g", normal, "CD-1 and MD-1 yield similar curves, CD-2 and MD-2 have fewer"
         " large forces", ""),
    ):  # fmt: skip
        found = over_packings(lambda *g: _by_history(*g) - _by_method(*g), *groups)
        own = [over_packings(of, *groups) for of in (_by_history, _by_method)]
        alone = [
            f"{symbol} alone {_by_history(*some):.2g} and {_by_method(*some):.2g}"
            for symbol, some in (parts.items() if groups is both else ())
        ]
        n = len(groups[0])
        outcome.claims.append(
            statement(
                f"distributions of {text}: D² by history less D² by method", found, n, words,
                differs=differs,
                note="; ".join((
                    "by history {:.2g} ± {:.1g}".format(*own[0]),
                    "by method {:.2g} ± {:.1g}".format(*own[1]), *alone,
                )),
            )
        )  # fmt: skip


# ---------------------------------------------------------------------- Fig. 13
def _fig13(outcome: Outcome, found: dict[str, list[BoundedPacking]]) -> None:
    edges = np.arange(0.0, 125.0, 5.0)
    figure, axes = new_figure(1, 1, width=6.0)
    table: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    n = len(found["CD-1"])
    large = {}
    for family in FAMILIES:
        values = [f.packing.components[:, 0] / f.packing.unit for f in found[family]]
        curve, fit = density(values, edges), tail(values, 10.0)
        table[family], table[f"{family}, error"] = curve.value, curve.error
        axes.plot(curve.middle, np.where(curve.value > 0, curve.value, np.nan),
                  label=f"ours: {family}", **LINES[family])  # fmt: skip
        large[family] = np.array([float((v > LARGE).mean()) for v in values])
        outcome.claims.append(
            Claim(
                f"{family}: scatter over mean of what exceeds 10 m̄g", fit.variation,
                error=fit.variation_error, samples=n,
                paper=exponential(fit, n) if family[-1] == "1" else "falls off faster",
                note=f"decay length {fit.length:.2f} ± {fit.error:.2f} m̄g",
            )
        )  # fmt: skip
    for kind in ("CD", "MD"):
        outcome.claims.append(
            statement(
                f"share of normal forces above {LARGE:g} m̄g, {kind}-1 less {kind}-2, same seed",
                mean_and_error(large[f"{kind}-1"] - large[f"{kind}-2"]), n,
                "CD-2 and MD-2 have fewer contacts at these large values",
                note=f"{large[f'{kind}-1'].mean():.4f} and {large[f'{kind}-2'].mean():.4f}",
            )
        )  # fmt: skip
    axes.set(yscale="log", xlabel="normal force R [m̄g]", ylabel="probability density [1/m̄g]")
    axes.set_title("paper: CD-1 and MD-1 exponential, fewer large forces in CD-2 and MD-2")
    axes.legend()
    outcome.tables["fig13"] = table
    outcome.figures["fig13"] = figure


EXPERIMENT = Experiment("memory", "Figs 11 and 13: the memory of formation", run)
