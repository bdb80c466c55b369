"""Beyond the paper: indeterminacy against the coefficient of friction, and against N.

Without friction a packing has as many normal forces as equations, M = 2 N, and they are unique
(refs [13] and [14] of the paper). Friction adds M tangential forces, each within ±µ R; to first
order in µ all forces then move by shares of µ R. More friction also lets packings rest with fewer
contacts: 2 M − 3 N falls from N towards zero, while the cones get wider.

F of a packing grows with µ, since the cones do: bounds of one packing at another µ are nested.
Below some µ none is left, and the packing would move. Above another there are forces without bound,
as of the disk between two walls. They need walls: what contact forces that balance each other leave
of the virial, Σ ℓ R over all contacts, is the work of the walls' forces, and R ≥ 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hardgrain.forces.bounds import along_network, blocks
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.program import FEASIBLE, Program
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error, power_law
from hardgrain.papers.mcnamara2004.judge import ENOUGH
from hardgrain.papers.mcnamara2004.settled import settled
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]

MU = 0.3  # the paper's coefficient of friction
SMALL = 0.003  # up to here δ_R grows in proportion to µ; at 0.03 it does so no longer
# an exponent from µ to 3 µ is off by about µ times the length of a chain, some ten contacts
FIRST_ORDER = 10.0 * SMALL
FEW = 40  # [contacts] only so many ranges are computed in a packing that has more

Case = tuple[int, float, int, tuple[float, ...]]  # N, µ, seed, and other µ to analyse it with


def run(quick: bool) -> Outcome:
    """Packings prepared at each µ, packings analysed at others, and packings of many sizes."""
    grains, seeds = (30, 2) if quick else (95, 10)
    mus = (0.0, 0.001, 0.003, 0.3, 1.0) if quick else (
        0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0,
    )  # fmt: skip
    again = (0.0, MU)  # analysed at all µ
    sizes = {60: 2, 30: 2} if quick else {1000: 2, 500: 4, 250: 6, 120: 8, 60: 16, 30: 24}
    jobs: dict[str, list[Case]] = {
        "size": [(n, MU, seed, ()) for n, count in sizes.items() for seed in range(count)],
        "friction": [
            (grains, mu, seed, mus if mu in again else ()) for mu in mus for seed in range(seeds)
        ],
    }
    made = pmap(_measure, [case for cases in jobs.values() for case in cases])
    outcome = Outcome(text=_TEXT)
    parts = made[: len(jobs["size"])], made[len(jobs["size"]) :]
    for name, part in zip(jobs, parts):
        rows = sorted((own for own, _ in part), key=lambda row: (row["grains"], row["mu"]))
        outcome.tables[name] = {c: np.array([row[c] for row in rows]) for c in rows[0]}
    rows = [row for _, more in made for row in more]
    outcome.tables["again"] = {c: np.array([row[c] for row in rows]) for c in rows[0]}
    _vanishes(outcome)
    _nested(outcome)
    _sizes(outcome)
    outcome.figures["friction"] = _figure(outcome.tables)
    outcome.seeds = range(max(seeds, *sizes.values()))
    return outcome


_TEXT = (
    "Packings of disks as the paper's, prepared with µ from 0 to 1. At µ = 0 every force is unique,"
    " and δ_R grows in proportion to µ from there. Packings with more friction rest with fewer"
    " contacts, so that dim F falls while each cone widens; the widening wins, and δ_R keeps"
    " growing. Infinite ranges, which the paper saw in no packing and expected in small ones only,"
    " are forces from wall to wall that friction holds against each other, the wedge of Sec. II H"
    " with more disks in it. They are left out of means; how many there are is told for each µ.\n\n"
    "A packing analysed with more friction than it was made with keeps its state and gains others;"
    " with less, it can rest down to some µ, below which no forces balance it.\n\n"
    "With N all forces grow with the height of the packing, and ranges with them. In packings of"
    f" more than {FEW} contacts the ranges of {FEW}, evenly spaced along the network, stand for"
    " all of them."
)


# ---------------------------------------------------------------------- measures
def _ranges(space: ForceSpace) -> tuple[Floats, Floats]:
    """The ranges δ_R and δ_T of all contacts, or of `FEW` evenly spread over the network [m̄g].

    They are NaN if no forces balance the load.
    """
    a, b, g, k = space.polytope()
    weights, program, m = blocks(g, 2, k), Program(a, b), space.contacts
    if not program.feasible():
        return np.full(1, np.nan), np.full(1, np.nan)
    found = []
    for contact in along_network(space.packing)[np.linspace(0, m - 1, min(FEW, m)).astype(int)]:
        columns = np.arange(k * contact, k * (contact + 1))
        found.append([
            -program.minimise(columns, -w) - program.minimise(columns, w) for w in weights[contact]
        ])  # fmt: skip
    normal, tangential = np.array(found).T
    return normal, tangential


def _row(p: Packing, mu: float, seed: int) -> dict[str, float]:
    """Counts and mean ranges; those without bound are counted, and left out of the means."""
    space = ForceSpace(replace(p, friction=np.full(p.contacts, mu)))
    force = space.packing.components[:, 0].mean() / p.unit
    row = {
        "grains": p.radius.size, "mu": mu, "seed": seed, "contacts": space.contacts,
        "expected": space.expected, "nullity": space.nullity, "residual": space.residual,
        "sliding": space.sliding, "mean_normal": force,
    }  # fmt: skip
    normal, tangential = _ranges(space)
    bounded = np.isfinite(normal)
    means = [d[bounded].mean() if bounded.any() else np.nan for d in (normal, tangential)]
    share = np.nan if np.isnan(normal).any() else space.unbounded.mean()
    return row | {"delta_normal": means[0], "delta_tangential": means[1], "unbounded": share}


def _measure(case: Case) -> tuple[dict[str, float], list[dict[str, float]]]:
    """A packing as it was prepared, and at other coefficients of friction."""
    grains, mu, seed, others = case
    p = packing(settled(grains, mu, seed))
    least = _least(p, mu) if others else np.nan
    again = [_row(p, other, seed) | {"made": mu} for other in others]
    return _row(p, mu, seed) | {"least": least}, again


def _least(p: Packing, mu: float) -> float:
    """The least coefficient of friction with which the packing can rest."""
    low, high = 0.0, mu
    while high - low > 1e-3 * mu:
        middle = 0.5 * (low + high)
        a, b, *_ = ForceSpace(replace(p, friction=np.full(p.contacts, middle))).polytope()
        low, high = (low, middle) if Program(a, b).feasible() else (middle, high)
    return high


# ---------------------------------------------------------------------- claims
def _by(t: dict[str, Any], key: str, value: str) -> tuple[Floats, Floats, Floats]:
    """The values of ``key``, and the mean and error of ``value`` at each."""
    x = np.unique(t[key])
    of = [t[value][(t[key] == one) & np.isfinite(t[value])] for one in x]
    mean, error = np.array([mean_and_error(v) if v.size else (np.nan, np.nan) for v in of]).T
    return x, mean, error


def _vanishes(outcome: Outcome) -> None:
    t: dict[str, Any] = outcome.tables["friction"]
    none = t["mu"] == 0.0
    mu, mean, error = _by(t, "mu", "delta_normal")
    small = (mu > 0.0) & (mu <= SMALL)
    fit = power_law(mu[small], mean[small], error[small])
    at = {m: (a, e) for m, a, e in zip(mu, mean, error)}
    share = _by(t, "mu", "unbounded")[1]
    fewest, endless, most = t["expected"] / t["grains"], t["unbounded"] > 0.0, t["mu"] == 1.0
    grains = int(t["grains"][0])
    count = int(none.sum())
    outcome.claims.append(
        Claim(
            f"{count} packings of {grains} disks without friction: greatest mean δ_R [m̄g]",
            float(t["delta_normal"][none].max()),
            paper=Expected(
                0.0, FEASIBLE * grains, "the tolerance of the linear programs, in every equation",
                "indeterminacy disappears in the limit of vanishing friction [14]",
            ),
            note=f"M − 2 N is {int((t['contacts'] - 2 * t['grains'])[none].max())} at most",
        )
    )  # fmt: skip
    if count < ENOUGH:
        return
    outcome.claims += [
        Claim(
            f"mean δ_R as a power of µ, from {mu[small][0]:g} to {mu[small][-1]:g}: exponent",
            fit.exponent, error=fit.exponent_error,
            note="of packings that differ; for one and the same see below",
        ),
        *(
            Claim(
                f"mean δ_R at µ = {m:g}, prepared with it [m̄g]", at[m][0], error=at[m][1],
                samples=count,
                note=f"contacts without bound, left out: {100 * share[mu == m][0]:.0f} %",
            )
            for m in (SMALL, MU, 1.0)
        ),
        Claim(
            "(2 M − 3 N)/N at µ = 1, mean", *mean_and_error(fewest[most]), samples=count,
            note=f"at µ = 0: {fewest[none].mean():.3g}",
        ),
        Claim(
            f"packings of {count} at µ = 1 with forces without bound", int(endless[most].sum()),
            paper="may exist in only special packings with very small number of particles",
            note=f"seen from µ = {t['mu'][endless].min():g} on" if endless.any() else "",
        ),
    ]  # fmt: skip


def _nested(outcome: Outcome) -> None:
    t: dict[str, Any] = outcome.tables["again"]
    own: dict[str, Any] = outcome.tables["friction"]
    falls = total = 0
    for made, seed in np.unique(np.stack([t["made"], t["seed"]], axis=1), axis=0):
        # all of these have the same meaning
        rows = (t["made"] == made) & (t["seed"] == seed) & (t["unbounded"] == 0.0)
        steps = np.diff(t["delta_normal"][rows][np.argsort(t["mu"][rows])])
        falls, total = falls + int((steps < -1e-7).sum()), total + steps.size
    least = own["least"][own["mu"] == MU]
    rigid = (t["made"] == 0.0) & (t["mu"] > 0.0) & (t["mu"] <= SMALL)
    slopes, bend = [], []
    for seed in np.unique(t["seed"][rigid]):
        mine = rigid & (t["seed"] == seed)
        fit = power_law(t["mu"][mine], t["delta_normal"][mine])
        slopes.append(fit.exponent)
        bend.append(abs(fit.exponent - 1.0))
    outcome.claims += [
        Claim(
            f"one packing at two µ, {total} pairs: those where δ_R falls as µ rises", falls,
            theory=Expected.exact(0, "cones with more friction contain those with less"),
        ),
        Claim(
            f"packings of {int(own['grains'][0])} disks made without friction, analysed with µ from"
            f" {t['mu'][rigid].min():g} to {SMALL:g}: exponent of δ_R(µ) furthest from 1",
            1.0 + float(max(bend)),
            theory=Expected(
                1.0, FIRST_ORDER, "the next order in µ, times the length of a chain of contacts",
                "to first order in µ all forces move by shares of µ R",
            ),
            note=f"mean {np.mean(slopes):.4f}",
        ),
    ]  # fmt: skip
    if least.size >= ENOUGH:
        outcome.claims.append(
            Claim(
                f"least µ with which a packing made at µ = {MU:g} can rest, mean",
                *mean_and_error(least), samples=least.size,
                note="below it no forces balance the weights: F is empty",
            )
        )  # fmt: skip


def _sizes(outcome: Outcome) -> None:
    t: dict[str, Any] = outcome.tables["size"]
    n, width, width_error = _by(t, "grains", "delta_normal")
    _, force, force_error = _by(t, "grains", "mean_normal")
    _, ratio, ratio_error = _by(
        {**t, "ratio": t["delta_normal"] / t["mean_normal"]}, "grains", "ratio"
    )
    fits = [power_law(n, y, e) for y, e in ((force, force_error), (width, width_error))]
    extra = t["nullity"] - t["expected"]
    sampled = t["contacts"].max() > FEW
    outcome.claims.append(
        Claim(
            f"{extra.size} packings of {n[0]:.0f} to {n[-1]:.0f} disks: those with a null space of"
            " less than 2 M − 3 N dimensions",
            int((extra < 0).sum()), paper=Expected.exact(0, "(8)"),
            note=f"most dimensions above: {int(extra.max())} (paper, N = 95: never more than 3)",
        )
    )  # fmt: skip
    if extra.size < ENOUGH:
        return
    outcome.claims += [
        Claim(
            f"mean normal force as a power of N from {n[0]:.0f} to {n[-1]:.0f}: exponent",
            fits[0].exponent, error=fits[0].exponent_error,
            note="0.5 if it were the height; walls carry their part",
        ),
        Claim(
            f"mean δ_R as a power of N from {n[0]:.0f} to {n[-1]:.0f}: exponent",
            fits[1].exponent, error=fits[1].exponent_error,
            note=f"{FEW} contacts stand for all of a packing" if sampled else "",
        ),
        *(
            Claim(
                f"mean δ_R over mean normal force, N = {n[k]:.0f}",
                float(ratio[k]), error=float(ratio_error[k]),
                samples=int((t["grains"] == n[k]).sum()),
            )
            for k in (0, -1)
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- the figure
def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, ((a, b), (c, d)) = new_figure(2, 2, height=3.0)
    t, again, size = tables["friction"], tables["again"], tables["size"]
    for name, symbol, colour, marker in (
        ("delta_normal", "δ_R", COLOURS[1], "o"),
        ("delta_tangential", "δ_T", COLOURS[2], "s"),
    ):
        mu, mean, error = _by(t, "mu", name)
        some = mu > 0.0
        a.errorbar(mu[some], mean[some], error[some], fmt=marker, color=colour, capsize=2,
                   label=f"mean {symbol}")  # fmt: skip
    mu, mean, _ = _by(t, "mu", "delta_normal")
    a.plot(mu[1:], mean[1] * mu[1:] / mu[1], color=GREY, lw=0.8, label="∝ µ")
    a.set(xscale="log", yscale="log", xlabel="µ of preparation", ylabel="range [m̄g]")
    a.legend()
    for key, label, colour, marker in (
        ("expected", "(2 M − 3 N)/N", COLOURS[3], "^"),
        ("unbounded", "share of contacts without bound", COLOURS[4], "v"),
    ):
        scale = t["grains"] if key == "expected" else 1.0
        mu, mean, error = _by({**t, "y": t[key] / scale}, "mu", "y")
        b.errorbar(mu, mean, error, fmt=marker, color=colour, capsize=2, label=label)
    b.set(xlabel="µ of preparation", ylim=(-0.05, 1.1))
    b.legend()
    for k, made in enumerate(np.unique(again["made"])):
        rows = {key: v[again["made"] == made] for key, v in again.items()}
        mu, mean, error = _by(rows, "mu", "delta_normal")
        c.errorbar(mu[mu > 0.0], mean[mu > 0.0], error[mu > 0.0], fmt="os"[k], color=COLOURS[k + 1],
                   capsize=2, label=f"made at µ = {made:g}")  # fmt: skip
    c.set(xscale="log", yscale="log", xlabel="µ of analysis", ylabel="mean δ_R [m̄g]")
    c.legend()
    for key, label, colour, marker in (
        ("mean_normal", "mean R", COLOURS[0], "."),
        ("delta_normal", "mean δ_R", COLOURS[1], "o"),
        ("delta_tangential", "mean δ_T", COLOURS[2], "s"),
    ):
        n, mean, error = _by(size, "grains", key)
        d.errorbar(n, mean, error, fmt=marker, color=colour, capsize=2, label=label)
    n, mean, _ = _by(size, "grains", "mean_normal")
    d.plot(n, mean[0] * np.sqrt(n / n[0]), color=GREY, lw=0.8, label="∝ √N")
    d.set(xscale="log", yscale="log", xlabel="N", ylabel="force [m̄g]", title=f"µ = {MU:g}")
    d.legend()
    return figure


EXPERIMENT = Experiment("friction", "Beyond the paper: against friction and against N", run)
