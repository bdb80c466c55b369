"""The law C2: how many steady states there are, and how far apart, with µ_s/µ_d and each rule."""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Outcome, chance
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.papers.radjai1997.array import steady_state
from hardgrain.papers.radjai1997.starts import (
    FIG3,
    STEADY,
    StartPath,
    columns,
    follow,
    found,
    ratio,
    share,
)
from hardgrain.parallel import pmap

__all__ = ["ALPHA", "WINDOWS", "again", "figure", "spread", "static", "two_coefficients", "window"]

PARTICLES, DRIVE, BRAKE, MU, MU_PLANE, _ = FIG3
ALPHA = 3.0  # µ_s/µ_d of Fig. 4c
ALPHAS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)  # µ_s/µ_d that are compared
WINDOWS = (1.0, 1.1, 1.2, 1.5, 2.0, 3.0)  # α for which all contact states are gone through


def static(alpha: float, rule: str) -> dict[str, Any]:
    return {
        "law": "C2",
        "mu_static": alpha * MU,
        "mu_plane_static": alpha * MU_PLANE,
        "rule": rule,
    }


def window(alpha: float) -> Floats:
    """Least and greatest µ_g of all steady states of C2 in which all contacts press (2,).

    A steady state is a solution of the array at rest: where a contact slips, the rate of slip has
    the same sign or none, and that is what it takes to begin to slip. So all of them are found
    with every contact active, whatever their history.
    """
    low, high = steady_state(*FIG3, **static(alpha, "slide")).exhaustive_range()
    return (DRIVE - BRAKE) / PARTICLES - np.array([high, low])


def two_coefficients(
    outcome: Outcome, seeds: range, quick: bool, window: dict[float, Floats]
) -> dict[str, list[StartPath]]:
    """Judge Fig. 4c: C2 under each rule, and with α."""
    few = {a: seeds[: 10 if a == 1.0 else 40 if quick else 100] for a in ALPHAS}
    alphas = (1.0, ALPHA) if quick else ALPHAS
    cases = [(rule, alpha) for rule in ("stick", "random") for alpha in alphas]
    jobs = [
        (rule, alpha, seed)
        for rule, alpha in cases
        for seed in (seeds if alpha == ALPHA and not quick else few[alpha])
    ]
    made = dict(zip(jobs, pmap(call, [partial(follow, s, **static(a, r)) for r, a, s in jobs])))
    rows, outside = [], 0
    for rule, alpha in cases:
        solved = found(made[rule, alpha, seed] for seed in few[alpha])
        paths = [p for p in solved if not p.pulled]
        friction = np.array([p.friction[-1] for p in paths])
        if alpha in window:
            low, high = window[alpha]
            outside += int(((friction < low - 1e-9) | (friction > high + 1e-9)).sum())
        row = {
            "rule": rule,
            "alpha": alpha,
            "starts": len(few[alpha]),
            "no_solution": len(few[alpha]) - len(solved),
            "pulled": len(solved) - len(paths),
            "distinct": len({p.steady for p in solved}),
            "loops": sum(p.loops[-1] > 0 for p in paths),
            "mean": friction.mean(),
            "spread": friction.std(ddof=1),
            "spread_error": spread(friction)[1],
            "without_mode_2": share([p.modes[1] == 0 for p in paths])[0],
            "without_mode_2_error": share([p.modes[1] == 0 for p in paths])[1],
            "low": friction.min(),
            "high": friction.max(),
            "metastable": again(paths)[0],
            "metastable_error": again(paths)[1],
        }
        rows.append(row)
    outcome.tables["alpha"] = columns(rows)
    outcome.tables["windows"] = {
        "alpha": list(window),
        "low": [low for low, _ in window.values()],
        "high": [high for _, high in window.values()],
    }
    chosen = {
        rule: found(path for (r, a, _), path in made.items() if (r, a) == (rule, ALPHA))
        for rule in ("stick", "random")
    }
    _claims(outcome, chosen, window, outside)
    return chosen


def spread(values: Floats) -> tuple[float, float]:
    """Standard deviation and its standard error, by leaving out one value after the other."""
    n = values.size
    less = np.array([np.delete(values, k).std(ddof=1) for k in range(n)])
    return float(values.std(ddof=1)), float(np.sqrt((n - 1.0) * less.var()))


def again(paths: list[StartPath]) -> tuple[float, float]:
    """The share of contacts that stick and slide again, and its standard error over starts."""
    stays = [p.stays.metastable for p in paths]
    return ratio([s.sum() for s in stays], [s.size for s in stays])


def _claims(
    outcome: Outcome,
    chosen: dict[str, list[StartPath]],
    window: dict[float, Floats],
    outside: int,
) -> None:
    """What the paper says of C2, and what is exactly true."""
    table = {name: np.array(column) for name, column in outcome.tables["alpha"].items()}
    same = [
        np.abs(two.friction - one.friction).max()
        if two.friction.shape == one.friction.shape
        else 1.0
        for seed in range(4)
        if (one := follow(seed)) and (two := follow(seed, **static(ALPHA, "slide")))
    ]
    outcome.claims.append(
        Claim(
            'C2 with rule "slide": worst distance of µ_g from the path of C1, 4 starts',
            float(max(same)),
            theory=Expected.exact(0.0, "a solution of C1 with µ_d is always one of C2"),
        )
    )
    for rule, paths in chosen.items():
        press = [p for p in paths if not p.pulled]
        friction = np.array([p.friction[-1] for p in press])
        deviation, deviation_error = spread(friction)
        mean = float(friction.mean())
        gone, gone_error = share([p.modes[1] == 0 for p in press])
        n = len(press)
        outcome.claims += [
            Claim(
                f'Fig. 4c, C2, α = {ALPHA:g}, rule "{rule}": distinct steady states from'
                f" {len(paths)} starts",
                len({p.steady for p in press}),
                paper=Expected(2.0, 0.0, "exact", "depends on initial conditions", "at least"),
                note=f"{len(paths) - n} more end with a contact that would open",
            ),
            Claim(
                f'C2, α = {ALPHA:g}, rule "{rule}": standard deviation of µ_g over its mean',
                deviation / mean, deviation_error / mean, n,
                paper="very close to each other even for α = 3",
                note="how the paper chooses among several solutions is not given",
            ),
            Claim(
                f'C2, α = {ALPHA:g}, rule "{rule}": share of starts that end without mode 2',
                gone, gone_error, n,
                paper=Expected(
                    1.0 / n, 0.0, "at least one start",
                    "mode 2 may disappear completely for sufficiently large α", "at least",
                ),
                note="under C1 none does",
            ),
        ]  # fmt: skip
    for rule in chosen:
        mine = (table["rule"] == rule) & (table["no_solution"] == 0)
        width, error = table["spread"][mine], table["spread_error"][mine]
        n = int(table["starts"].min())
        falls = [
            b - a < -chance(float(np.hypot(da, db)), n) - 1e-12
            for a, b, da, db in zip(width, width[1:], error, error[1:])
        ]
        outcome.claims += [
            Claim(
                f'rule "{rule}", α = 1: distinct steady states',
                int(table["distinct"][mine][0]),
                theory=Expected.exact(1.0, "C1 again"),
            ),
            Claim(
                f'rule "{rule}", α from 1 to {table["alpha"][mine].max():g}: how often the spread'
                " of µ_g falls from one α to the next by more than chance",
                int(sum(falls)),
                paper=Expected.exact(0.0, "less dependence on initial conditions for lower α"),
                note="standard deviations: " + ", ".join(f"{s:.2g}" for s in width),
            ),
        ]
    outcome.claims.append(
        Claim(
            "steady states of C2 outside the exact window of µ_g, all rules and α",
            outside,
            theory=Expected.exact(
                0.0, "the window: all contact states of the array at rest, exhaustively"
            ),
        )
    )
    for a, (low, high) in window.items():
        if a in (1.1, ALPHA):
            outcome.claims.append(
                Claim(
                    f"width of the window of µ_g that C2 with α = {a:g} allows in a steady state",
                    max(0.0, float(high - low)),
                    note=f"{low:.6f} to {high:.6f}, over all contact states, whatever the rule",
                )
            )


def figure(columns: dict[str, Any], window: dict[float, Floats]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.6)
    table = {name: np.array(column) for name, column in columns.items()}
    alphas = np.array(sorted(window))
    bounds = np.array([window[a] for a in alphas])
    right.fill_between(
        alphas, *bounds.T, color=GREY, alpha=0.25, lw=0, label="possible at all, α ≤ 3"
    )
    for rule, colour, marker in (("stick", COLOURS[1], "o"), ("random", COLOURS[2], "s")):
        mine = (table["rule"] == rule) & (table["no_solution"] == 0)
        alpha = table["alpha"][mine]
        left.plot(alpha, table["distinct"][mine], marker=marker, color=colour, label=f'"{rule}"')
        mean = table["mean"][mine]
        reach = np.abs(np.stack([table["low"][mine], table["high"][mine]]) - mean)
        shift = 1.02 if rule == "random" else 0.98
        right.errorbar(alpha * shift, mean, reach, fmt=marker, color=colour, capsize=2,
                       label=f'"{rule}": mean, range')  # fmt: skip
    right.axhline(STEADY, color=GREY, lw=0.8, ls=":")
    for axes in (left, right):
        axes.set(xscale="log", xlabel="α = µ$_s$/µ$_d$")
        axes.legend()
    left.set(ylabel=f"distinct steady states, {table['starts'].max()} starts", ylim=(0.0, None))
    right.set(ylabel="steady global friction µ$_g$")
    return figure
