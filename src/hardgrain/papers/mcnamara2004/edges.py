"""Sec. II G: the paper's own way to extremal states, along the edges of F, beside linear programs.

The algorithm is that of `hardgrain.forces.edges`; HiGHS knows nothing of it. Both look for
the least and the greatest of every force in the same packings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.forces.compare import density
from hardgrain.forces.edges import Start, walk_edges
from hardgrain.forces.program import FEASIBLE
from hardgrain.forces.space import ForceSpace
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.mcnamara2004.dimension_figures import HUES
from hardgrain.papers.mcnamara2004.indeterminacy_extremal import PEAK, ROOM
from hardgrain.papers.mcnamara2004.pipeline import (
    FAMILIES,
    Arrays,
    Setup,
    everything,
    families,
    kept,
    made,
)

ODD = 0.01  # the paper's share of extremal states whose M_s is not the expected one
FIRST = 16  # number of seeds whose walks also begin all at the same point

Job = tuple[Setup, str, Start]


def run(quick: bool) -> Outcome:
    """Find extremal states both ways in the same packings, and count their sliding contacts."""
    outcome = Outcome(text=_TEXT)
    found = families(quick)
    seeds = 2 if quick else len(found["CD-1"])
    outcome.seeds = range(seeds)
    chosen = ("CD-1",) if quick else FAMILIES
    walks = {("last", family): found[family][:seeds] for family in chosen}
    if not quick:
        walks |= {("first", family): found[family][:FIRST] for family in ("CD-1", "MD-1")}
    jobs: list[Any] = [(f.setup, k, start) for (start, k), some in walks.items() for f in some]
    done = iter(everything(_walked, jobs, "walks along edges"))
    walked: dict[tuple[str, str], list[Arrays]] = {
        key: [next(done) for _ in some] for key, some in walks.items()
    }
    _same(outcome, walked)
    if not quick:
        _odd(outcome, walked)
        _moved(outcome, walked)
    outcome.tables["walks"] = _table(walked)
    outcome.figures["edges"] = _figure(walked)
    return outcome


_TEXT = (
    "From one extremal point the paper goes to its neighbours, along the edges of F, as long as one"
    " of them is better. Linear programs by HiGHS find the same least and greatest forces, to"
    " rounding.\n\n"
    "An extremal point has as many sliding contacts as F has dimensions, contacts without force"
    " counted twice. The paper found another number in about 1 % of its cases, and thought of"
    " chance or of rounding. Here it is neither: each contact too many belongs to a grain that is"
    " left alone on the floor, its other contacts open. Balance of torques and balance of"
    " horizontal forces then say the same of the floor's friction, and one of the equations"
    " µR = ±T follows from the others. How often that happens is a matter of which grains stand on"
    " the floor, and differs much from packing to packing.\n\n"
    "At such points an edge may have no length. The paper's walk can end there although it has not"
    " arrived: no neighbour is better, because the one that leads on is the same point. Here the"
    " walk is then freed by Bland's rule."
)


def _walked(job: Job) -> Arrays:
    setup, family, start = job

    def make() -> Arrays:
        # The weights alone are the load, since a residual of 10⁻⁶ m̄g would turn a contact that
        # opens into one that bears as much.
        space = ForceSpace(made(setup, family), balance="loads")
        e, bounds = walk_edges(space, start), space.bounds()
        off = np.maximum(np.abs(e.low - bounds.low), np.abs(e.high - bounds.high))
        return {
            "off": off.max() / space.packing.unit, "distance": e.distance, "alone": e.alone,
            "extra": e.sliding - e.expected, "trapped": e.trapped, "moves": np.array(e.moves),
        }  # fmt: skip

    return kept(setup, family, f"edges {start}", make)


def _same(outcome: Outcome, walked: dict[tuple[str, str], list[Arrays]]) -> None:
    """Claims on which both ways must agree, and what too many sliding contacts must be."""
    every = [a for some in walked.values() for a in some]
    states = sum(a["extra"].size for a in every)
    extra, alone = (np.concatenate([a[k].ravel() for a in every]) for k in ("extra", "alone"))
    outcome.claims += [
        Claim(
            f"{len(every)} packings: furthest that a least or greatest force by walking along edges"
            " is from that by linear programming [m̄g]", max(float(a["off"]) for a in every),
            theory=Expected(
                0.0, ROOM * FEASIBLE, "constraints of the programs hold to 10⁻⁹, and their sums"
                " along chains of some ten contacts to ten times that", "two independent methods",
            ),
        ),
        Claim(
            f"{states} extremal states: those with less sliding contacts than dimensions",
            int((extra < 0).sum()), paper=Expected.exact(0, "n sliding contacts (II E)"),
        ),
        Claim(
            f"{states} extremal states: those whose sliding contacts too many are not as many as"
            " the grains left alone on one of their contacts", int((extra != alone).sum()),
            paper="chance, or numerical accuracy",
            theory=Expected.exact(0, "one equation of such a grain follows from the others"),
        ),
    ]  # fmt: skip


def _odd(outcome: Outcome, walked: dict[tuple[str, str], list[Arrays]]) -> None:
    """How often M_s is not the expected one."""
    n = len(walked["last", "CD-1"])
    shares = {k: np.array([(a["extra"] != 0).mean() for a in walked["last", k]]) for k in FAMILIES}
    whole = np.mean([shares[family] for family in FAMILIES], axis=0)  # families share their grains
    mean, error = mean_and_error(whole)
    outcome.claims.append(
        Claim(
            "share of extremal states whose M_s is not the expected one, all families", mean,
            error=error, samples=n,
            paper="about 1 %; the floor and the box, on which it depends, are not given",
            note=", ".join(
                f"{k} {100 * v.mean():.1f} ± {100 * mean_and_error(v)[1]:.1f} %"
                for k, v in shares.items()
            )
            + f"; none in {int((whole == 0.0).sum())} of {n} seeds",
        )
    )  # fmt: skip
    trapped = np.array([[a["trapped"].mean() for a in walked["last", k]] for k in FAMILIES])
    mean, error = mean_and_error(trapped.mean(axis=0))
    outcome.claims.append(
        Claim(
            "share of extrema where no neighbour is better and yet it is not the extremum, all"
            " families", mean, error=error, samples=n,
            paper=Expected.exact(0, "no local minima or maxima that would trap the algorithm"),
            differs="Where more contacts slide than F has dimensions, an edge may have no length,"
            " and its neighbour is the same point; convexity does not help there.",
        )
    )  # fmt: skip


def _moved(outcome: Outcome, walked: dict[tuple[str, str], list[Arrays]]) -> None:
    """What depends on the way: d, and how many moves it takes."""
    for (start, family), some in walked.items():
        if family not in ("CD-1", "MD-1"):
            continue
        begins = "at one extremal point" if start == "first" else "where the last one ended"
        mean, error = mean_and_error([a["distance"][:, 0].mean() for a in some])
        moves = [float(a["moves"] / a["extra"].size) for a in some]
        outcome.claims.append(
            Claim(
                f"mean d_R of {family} along edges, each walk beginning {begins} [m̄g]",
                mean,
                error=error,
                samples=len(some),
                paper=f"a diameter of about {PEAK[family[:2]]:g}, a crude estimate",
                note=f"{np.mean(moves):.0f} moves to a neighbour for each extremum",
            )
        )


def _table(walked: dict[tuple[str, str], list[Arrays]]) -> dict[str, Any]:
    rows = [(*key, a) for key, some in walked.items() for a in some]
    return {
        "start": [start for start, _, _ in rows],
        "family": [family for _, family, _ in rows],
        "off": [float(a["off"]) for *_, a in rows],
        "unexpected": [float((a["extra"] != 0).mean()) for *_, a in rows],
        "trapped": [float(a["trapped"].mean()) for *_, a in rows],
        "d_R": [float(a["distance"][:, 0].mean()) for *_, a in rows],
        "moves": [int(a["moves"]) for *_, a in rows],
    }


def _figure(walked: dict[tuple[str, str], list[Arrays]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    for (start, family), some in walked.items():
        if start == "last":
            share = np.sort([100.0 * (a["extra"] != 0).mean() for a in some])
            left.plot(share, (np.arange(len(share)) + 1.0) / len(share), "o-", ms=3, lw=0.8,
                      color=HUES[family], label=f"ours: {family}")  # fmt: skip
        if family in ("CD-1", "MD-1"):
            curve = density([a["distance"][:, 0] for a in some], np.arange(0.0, 255.0, 5.0))
            word = "one beginning" if start == "first" else "going on"
            right.plot(curve.middle, curve.value, color=COLOURS[1 + (start == "first")],
                       ls="-" if family == "CD-1" else "--",
                       label=f"ours: {family}, {word}")  # fmt: skip
    left.axvline(100.0 * ODD, color=GREY, lw=1.0, label="paper: about 1 % of all")
    left.set(xlabel="extremal states with unexpected $M_s$ [%]", ylabel="share of packings below",
             ylim=(0.0, 1.02))  # fmt: skip
    for kind, line in (("CD", "-"), ("MD", "--")):
        right.axvline(PEAK[kind], color=GREY, ls=line, lw=1.0, label=f"paper: main maximum, {kind}")
    right.set(xlabel="global indeterminacy $d_R$ [m̄g]", ylabel="probability density [1/m̄g]")
    for axes in (left, right):
        axes.legend()
    return figure


EXPERIMENT = Experiment("edges", "Sec. II G: extremal states by walking along edges of F", run)
