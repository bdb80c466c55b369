"""Figs 9 and 10: contacts on force chains are those whose forces are left open."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from hardgrain.forces.compare import density
from hardgrain.forces.packing import Packing
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.mcnamara2004.indeterminacy_extremal import extremal_states
from hardgrain.papers.mcnamara2004.judge import ENOUGH, judged_only, over_packings, statement
from hardgrain.papers.mcnamara2004.pipeline import FAMILIES, families

FAMILY = "CD-1"  # the paper shows these; the others are similar
# "entirely" is too much said of
NOT_ENTIRELY = {("δ", "T")}
_NOT_ENTIRELY = (
    "About one in twenty is a strong contact, whose tangential force alone is nearly fixed; of"
    " normal forces the statement holds."
)


def run(quick: bool) -> Outcome:
    """Strong and weak contacts apart: above and below the mean normal force of all packings."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    outcome.seeds = range(len(found[FAMILY]))
    for family in FAMILIES:
        means = [f.packing.components[:, 0].mean() / f.packing.unit for f in found[family]]
        mean, error = mean_and_error(means)
        outcome.claims.append(
            Claim(
                f"mean normal force of {family} [m̄g]", mean, error=error, samples=len(means),
                paper="9.3; no test, since the width of the box, which is not given, was chosen to"
                " match it" if family == FAMILY else "",
            )
        )  # fmt: skip
    _virial(outcome, [f.packing for some in found.values() for f in some])
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
    outcome.claims.append(
        statement("correlation of R with δ_R, contact by contact", mean_and_error(slope),
                  len(slope), "force chains are also indeterminacy chains")
    )  # fmt: skip
    if quick:
        judged_only(outcome)
    return outcome


_TEXT = (
    "Contacts are strong where the normal force is above its mean over all packings, weak below."
    " The peaks at zero, of δ as of d, are made of weak contacts, and large indeterminacies are"
    " those of strong ones.\n\n"
    "The mean normal force itself says nothing about the paper: it grows with the height of the"
    " packing, and the box was made as wide as it takes to match 9.3 m̄g. What physics does fix is"
    " the virial: normal forces times the distances that they span are the work of weights and side"
    " walls, whatever box, history or method."
)


# ---------------------------------------------------------------------- the virial
def _virial(outcome: Outcome, packings: list[Packing]) -> None:
    """Σ x·f over all grains, f the force of their contacts, is known from both ends.

    A contact between two grains gives R times the distance ℓ of their centres. One with a wall
    gives R times the distance ℓ from the centre to it, less F·x, the force on the wall times the
    place where it acts. Equilibrium makes the sum Σ m g y. So

        Σ R ℓ = Σ m g y + Σ F·x (walls).
    """
    off, tolerance = [], []
    for p in packings:
        n, r = p.radius.size, p.components[:, 0]
        assert p.position is not None
        assert p.external is not None
        x = p.position
        grain = p.second < n
        other = np.where(grain, p.second, 0)
        between = np.linalg.norm(x[other] - x[p.first], axis=1)
        wall = np.abs(((x[np.where(grain, n, p.second)] - x[p.first]) * p.normal).sum(axis=1))
        place = x[p.first] + np.where(grain, 0.0, wall)[:, None] * p.normal
        work = np.where(grain, 0.0, (p.force * place).sum(axis=1)).sum()
        spanned = (r * np.where(grain, between, wall)).sum()
        weight = -(p.external[:n, :2] * x[:n]).sum()
        off.append(spanned / (weight + work) - 1.0)
        tolerance.append(p.residual * p.unit * np.abs(x[:n]).sum() / (weight + work))
    outcome.claims.append(
        Claim(
            f"Σ R ℓ over the virial of weights and walls, {len(packings)} packings: furthest from"
            " 1", float(np.abs(off).max()),
            theory=Expected(
                0.0, float(max(tolerance)), "forces out of balance, each at its distance",
                "equilibrium",
            ),
        )
    )  # fmt: skip


# ---------------------------------------------------------------------- strong and weak
def _weak(values: list[Floats], strong: list[Any], below: float) -> float:
    """Share of weak contacts among those with less than ``below``."""
    near = np.concatenate(values) < below
    return float((~np.concatenate(strong))[near].mean())


def _strong(values: list[Floats], strong: list[Any]) -> float:
    """Share of strong contacts among the tenth with the largest values."""
    every = np.concatenate(values)
    return float(np.concatenate(strong)[every > np.quantile(every, 0.9)].mean())


def _medians(values: list[Floats], strong: list[Any]) -> float:
    """Median of strong contacts over that of weak ones."""
    every, flags = np.concatenate(values), np.concatenate(strong)
    return float(np.median(every[flags]) / np.median(every[~flags]))


def _classes(
    outcome: Outcome, name: str, symbol: str, values: list[Floats], strong: list[Any],
    edges: Floats, none: float, log: bool,
) -> None:  # fmt: skip
    figure, axes = new_figure(1, 1, width=6.0)
    table: dict[str, Any] = {"low": edges[:-1], "high": edges[1:]}
    n = len(values)
    strong = strong[:n]
    flags = np.concatenate(strong)
    for column, part in ((0, "R"), (1, "T")):
        one = [v[:, column] for v in values]
        for kind, some in (
            ("strong", [v[s] for v, s in zip(one, strong)]),
            ("weak", [v[~s] for v, s in zip(one, strong)]),
        ):
            curve = density(some, edges)
            table[f"{part} {kind}"], table[f"{part} {kind}, error"] = curve.value, curve.error
            shown = np.where(curve.value > 0, curve.value, np.nan) if log else curve.value
            axes.plot(curve.middle, shown, color=COLOURS[1 + (kind == "weak")],
                      ls="-" if part == "R" else "--", lw=2.0 if kind == "strong" else 1.0,
                      label=f"ours: {symbol}$_{part}$, {kind}")  # fmt: skip
        if n < ENOUGH:
            continue
        share, error = over_packings(partial(_weak, below=none), one, strong)
        outcome.claims += [
            Claim(
                f"share of weak contacts among those with {symbol}_{part} below {none:g} m̄g",
                share, error=error, samples=n,
                paper=Expected.by_chance(
                    1.0, error, n, "the peak at 0 is due entirely to contacts with below average"
                    " force",
                ),
                differs=_NOT_ENTIRELY if (symbol, part) in NOT_ENTIRELY else "",
                note=f"{int((np.concatenate(one) < none).sum())} contacts; of all,"
                f" {100 * (~flags).mean():.0f} % are weak",
            ),
            statement(
                f"median {symbol}_{part} of strong contacts over that of weak ones",
                over_packings(_medians, one, strong), n,
                "quite different distributions" if symbol == "δ"
                else "the maximum shifts towards larger values", beyond=1.0,
            ),
        ]  # fmt: skip
        if symbol == "δ":
            outcome.claims.append(
                statement(
                    f"share of strong contacts among the tenth with the largest δ_{part}",
                    over_packings(_strong, one, strong), n,
                    "contacts with large indeterminacy have above average forces", beyond=0.5,
                    note=f"of all, {100 * flags.mean():.0f} % are strong",
                )
            )  # fmt: skip
    what = "local" if symbol == "δ" else "global"
    axes.set(xlabel=f"{what} indeterminacy {symbol} [m̄g]", ylabel="probability density [1/m̄g]")
    axes.set_title("paper: the peak at 0 is that of weak contacts, large values are strong ones'")
    if log:
        axes.set(yscale="log", ylim=(1e-5, 2.0))
    axes.legend()
    outcome.tables[name], outcome.figures[name] = table, figure


EXPERIMENT = Experiment("chains", "Figs 9 and 10: force chains are chains of indeterminacy", run)
