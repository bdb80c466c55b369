"""Figs 9 and 10: contacts on force chains are those whose forces are left open."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.measure.forces.compare import density
from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.indeterminacy import extremal_states
from hardgrain.papers.mcnamara2004.pipeline import FAMILIES, families

FAMILY = "CD-1"  # the paper shows these; the others are similar


def run(quick: bool) -> Outcome:
    """Strong and weak contacts apart: above and below the mean normal force of all packings."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    for family in FAMILIES:
        means = [f.packing.components[:, 0].mean() / f.packing.unit for f in found[family]]
        mean, error = mean_and_error(means)
        ours = family == FAMILY and not quick
        outcome.claims.append(
            Claim(
                f"mean normal force of {family} [m̄g]", mean, error=error,
                theory=9.3 if ours else None, tolerance=0.93 if ours else None,
                paper="9.3" if family == FAMILY else "",
                note="the box is not given, its width was chosen for this" if ours else "",
            )
        )  # fmt: skip
    mine = found[FAMILY]
    normal = [f.packing.components[:, 0] / f.packing.unit for f in mine]
    mean = float(np.concatenate(normal).mean())
    strong = [n > mean for n in normal]
    local = [(f.bounds.high - f.bounds.low) / f.packing.unit for f in mine]
    _classes(outcome, "fig9", "δ", local, strong, np.arange(0.0, 82.0, 2.0), 0.5, True)
    states = extremal_states(quick, found)["random", FAMILY]
    apart = [s["distance"] for s in states]
    _classes(outcome, "fig10", "d", apart, strong, np.arange(0.0, 255.0, 5.0), 2.0, False)
    slope = [np.corrcoef(n, w[:, 0])[0, 1] for n, w in zip(normal, local)]
    value, error = mean_and_error(slope)
    outcome.claims.append(
        Claim("correlation of R with δ_R, contact by contact", value, error=error,
              paper="force chains are also indeterminacy chains")
    )  # fmt: skip
    return outcome


_TEXT = (
    "Contacts are strong where the normal force is above its mean over all packings, weak below."
    " The peaks at zero, of δ as of d, are made of weak contacts, and large indeterminacies are"
    " those of strong ones."
)


def _classes(
    outcome: Outcome, name: str, symbol: str, values: list[Floats], strong: list[Any],
    edges: Floats, none: float, log: bool,
) -> None:  # fmt: skip
    figure, axes = new_figure(1, 1, width=6.0)
    table: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    for column, part in ((0, "R"), (1, "T")):
        classes = {
            "strong": [v[s, column] for v, s in zip(values, strong)],
            "weak": [v[~s, column] for v, s in zip(values, strong)],
        }
        for kind, some in classes.items():
            curve = density(some, edges)
            table[f"{part} {kind}"], table[f"{part} {kind}, error"] = curve.value, curve.error
            shown = np.where(curve.value > 0, curve.value, np.nan) if log else curve.value
            axes.plot(curve.middle, shown, color=COLOURS[1 + (kind == "weak")],
                      ls="-" if part == "R" else "--", lw=2.0 if kind == "strong" else 1.0,
                      label=f"{symbol}$_{part}$, {kind}")  # fmt: skip
        every, flags = (
            np.concatenate([v[:, column] for v in values]),
            np.concatenate(strong[: len(values)]),
        )
        near = every < none
        top = every > np.quantile(every, 0.9)
        strongest, weak = np.concatenate(classes["strong"]), np.concatenate(classes["weak"])
        if near.any():
            outcome.claims.append(
                Claim(
                    f"share of weak contacts among those with {symbol}_{part} below {none:g} m̄g",
                    float((~flags[near]).mean()), theory=1.0, tolerance=0.1,
                    paper="the peak at 0 is due entirely to contacts with below average force",
                    note=f"{int(near.sum())} contacts; of all, {100 * (~flags).mean():.0f} % are"
                    " weak",
                )
            )  # fmt: skip
        outcome.claims += [
            Claim(
                f"share of strong contacts among the tenth with the largest {symbol}_{part}",
                float(flags[top].mean()), paper="large indeterminacy: above average forces"
                if symbol == "δ" else "shifts towards larger values",
                note=f"of all, {100 * flags.mean():.0f} % are strong; medians"
                f" {np.median(strongest):.1f} and {np.median(weak):.1f} m̄g",
            ),
        ]  # fmt: skip
        outcome.claims.append(
            Claim(
                f"median {symbol}_{part} of strong contacts over that of weak ones",
                float(np.median(strongest) / np.median(weak)), theory=None,
                paper="greater than 1",
            )
        )  # fmt: skip
    what = "local" if symbol == "δ" else "global"
    axes.set(xlabel=f"{what} indeterminacy {symbol} [m̄g]", ylabel="probability density [1/m̄g]")
    if log:
        axes.set(yscale="log", ylim=(1e-5, 2.0))
    axes.legend()
    outcome.tables[name], outcome.figures[name] = table, figure


EXPERIMENT = Experiment("chains", "Figs 9 and 10: force chains are chains of indeterminacy", run)
