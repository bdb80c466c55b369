"""The paper's Figs 10 and 11: where Coulomb's law leaves forces, and even v̇, undetermined."""

from __future__ import annotations

import math
from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import Array, Floats, States
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, all_states, with_states
from hardgrain.papers.radjai1997.indeterminate_case import (
    BEST,
    FIG3,
    FIG9,
    FIG10,
    INSIDE,
    ORDERS,
    OUTSIDE,
    SEARCH,
    SIZE,
    SIZES,
    SLIDING,
    SPEED,
    TRIALS,
    TWOFOLD,
    columns,
    regularised,
)
from hardgrain.papers.radjai1997.indeterminate_figures import (
    fig10,
    fig11,
    figure_members,
    figure_others,
)
from hardgrain.papers.radjai1997.indeterminate_members import (
    by_rigid_grains,
    by_soft_particles,
    judge_members,
)
from hardgrain.papers.radjai1997.indeterminate_readings import as_printed, other_readings
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]


def run(quick: bool) -> Outcome:
    """Study the window by linear programs, by all states, by both methods, and in other arrays."""
    outcome = Outcome(text=_TEXT, seeds=range(TRIALS))
    inside, outside = ((BEST,), OUTSIDE[:1]) if quick else (INSIDE, OUTSIDE)
    starts, sliding = (range(1), SLIDING[1:]) if quick else (range(4), SLIDING)
    drives = sorted((*inside, *outside))
    jobs = [partial(by_soft_particles, d, g) for d in drives for g in sliding]
    jobs += [partial(_proof, SIZE, d) for d in drives]
    jobs += [partial(_proof, TWOFOLD, _fold(TWOFOLD))]
    jobs += [partial(by_rigid_grains, d, seed, SPEED) for d in drives for seed in starts]
    jobs += [partial(by_rigid_grains, d, seed, 0.0) for d in drives for seed in range(ORDERS)]
    jobs += [partial(_share, 30, FIG9)]
    jobs += [partial(_share, n, s) for s in (FIG10, FIG3) for n in ((5, 10) if quick else SIZES)]
    made = list(zip(jobs, pmap(call, jobs)))

    def results(f: Any) -> list[dict[str, float]]:
        return [result for job, result in made if job.func is f]

    lines = pieces(SIZE, *FIG10, 0.0, 8.0)
    _edges(outcome, lines, 12 if quick else 48)
    as_printed(outcome, lines)
    other_readings(outcome, lines)
    _states(outcome, results(_proof))
    judge_members(outcome, results(by_rigid_grains), results(by_soft_particles), inside)
    _others(outcome, results(_share))
    outcome.figures["fig10"] = fig10(lines, outcome.tables["window"])
    outcome.figures["fig11"] = fig11()
    outcome.figures["members"] = figure_members(outcome.tables)
    if not quick:
        outcome.figures["others"] = figure_others(outcome.tables["others"])
    return outcome


# ---------------------------------------------------------------------- the window
def drive_range(array: Array, states: States, mu: Floats) -> tuple[float, float]:
    """The least and the greatest driving force with these contact states and ``mu`` of each."""
    a = array
    given = with_states(a, states, mu, mu, np.zeros_like(states))
    # The first rows are the equations of motion.
    drive = int(np.searchsorted(np.flatnonzero(a.motion), a.at_drive))
    low, high = given.low.copy(), given.high.copy()
    low[drive], high[drive] = -np.inf, np.inf
    least, greatest = Polytope([(given.rows, low, high)]).extremes(a.dynamics[[a.at_drive]])[0]
    return float(least), float(greatest)


def _edges(outcome: Outcome, lines: Pieces, points: int) -> None:
    """The range of v̇ and µ_g across the window, where it ends, and the range of each force."""
    best = steady_state(SIZE, BEST, *FIG10)
    ends = drive_range(best.array, best.states, best.slide)
    step = 1e-4 * (ends[1] - ends[0])
    rows = []
    for drive in np.linspace(ends[0] + step, ends[1] - step, points):
        # v̇ is linear in N_L but for corners, which no pair of drives as close as these straddles
        pair = [steady_state(SIZE, d, *FIG10) for d in (drive - 0.5 * step, drive + 0.5 * step)]
        v = np.array([(*s.acceleration_range, regularised(s)) for s in pair])
        mean, slope = v.mean(axis=0), (v[1] - v[0]) / step
        mu_g = (drive - FIG10[0]) / SIZE - mean
        rows.append((drive, *mean, *mu_g, *((drive - FIG10[0] - mean / slope) / SIZE)))
    names = [f"{what}_{which}" for what in ("acceleration", "friction", "effective_friction")
             for which in ("least", "greatest", "rc1")]  # fmt: skip
    table = dict(zip(("drive", *names), np.array(rows).T))
    outcome.tables["window"] = table
    forces = np.concatenate([best.normal_range, best.normal_plane_range,
                             best.tangential_range, best.tangential_plane_range])  # fmt: skip
    kinds = [f"{kind}_{i}" for kind, first in (("N", 0), ("N'", 1), ("T", 0), ("T'", 1))
             for i in range(first, SIZE + 1)]  # fmt: skip
    widest = int(np.ptp(forces, axis=1).argmax())
    outcome.tables["forces"] = {"force": kinds, "least": forces[:, 0], "greatest": forces[:, 1]}
    change = [int(np.abs(lines.drive - end).argmin()) for end in ends]
    outcome.claims += [
        *(
            Claim(
                f"N_L at which the window {word}: contact states fixed, N_L free",
                end,
                theory=Expected(
                    float(lines.drive[k]), 1e-12, "rounding",
                    "where a contact changes its state on the exact path over N_L",
                ),
            )
            for word, end, k in zip(("begins", "ends"), ends, change)
        ),
        *(
            Claim(
                f"v̇ where the window {word}", float(lines.acceleration[k]),
                paper="discrepancies between CD and MD around v̇ = 1.05",
            )
            for word, k in zip(("begins", "ends"), change)
        ),
        Claim(
            f"range of v̇ at N_L = {BEST:g} over the v̇ of RC1",
            float(np.ptp(best.acceleration_range) / regularised(best)),
            paper=Expected.exact(0.0, "our simulations have always given a unique solution"),
            differs="a loop of sticking contacts leaves v̇ open; what the paper saw as discrepancies"
            " between CD and MD are different members of this range",
        ),
        Claim(
            f"widest range of a force at N_L = {BEST:g}, of {kinds[widest]} [m g]",
            float(np.ptp(forces[widest])),
            note=f"from {forces[widest, 0]:.4f} to {forces[widest, 1]:.4f}; all in the table",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- all contact states
def _fold(size: int) -> float:
    """A driving force that the path over N_L passes three times."""
    path = pieces(size, *FIG10, 0.0, 2.0 * size)
    back = int(np.flatnonzero(np.diff(path.drive) < -1e-9)[0])
    return float(path.drive[back : back + 2].mean())


def _passes(size: int, drive: float) -> float:
    """The greatest v̇ over the least, less 1, where the path over N_L passes a driving force."""
    path = pieces(size, *FIG10, 0.0, 2.0 * size)
    x, v = path.drive, path.acceleration
    k = np.flatnonzero((x[1:] - drive) * (x[:-1] - drive) < 0.0)
    each = v[k] + (drive - x[k]) / (x[k + 1] - x[k]) * (v[k + 1] - v[k])
    return float(each.max() / each.min() - 1.0)


def _proof(size: int, drive: float) -> dict[str, float]:
    """Ranges of v̇ with the contact states found, over all states, and by trial and error."""
    found = steady_state(size, drive, *FIG10)
    a = found.array
    every = all_states(a, found.slide, found.stick, found.given, a.unknown(a.at_v[:1]))[0]
    tried = [steady_state(size, drive, *FIG10, rule="random", seed=k) for k in range(TRIALS)]
    return {
        "particles": size, "drive": drive, "loops": found.redundant,
        "least": found.acceleration_range[0], "greatest": found.acceleration_range[1],
        "least_all": every[0], "greatest_all": every[1],
        "passes": _passes(size, drive),
        "appendix_a": np.unique(np.round([s.acceleration for s in tried], 9)).size,
    }  # fmt: skip


def _states(outcome: Outcome, proofs: list[dict[str, float]]) -> None:
    table = columns(proofs)
    outcome.tables["all_states"] = table
    five = table["particles"] == SIZE
    inside = five & (table["loops"] > 0)
    off = np.abs([table["least_all"] - table["least"], table["greatest_all"] - table["greatest"]])
    [other] = np.flatnonzero(~five)
    outcome.claims += [
        Claim(
            "drives in the window: worst difference between the range of v̇ over all contact states"
            " and over those found",
            float(off[:, inside].max()),
            theory=Expected(
                0.0, SEARCH, "accuracy of the search", "branch and bound over 3¹¹ states"
            ),
        ),
        Claim(
            "drives outside the window: widest range of v̇ over all contact states",
            float((table["greatest_all"] - table["least_all"])[five & ~inside].max()),
            paper=Expected(0.0, SEARCH, "accuracy of the search", "a unique solution"),
            theory=Expected(0.0, SEARCH, "accuracy of the search", "one solution"),
        ),
        Claim(
            f"steady states that Appendix A's trial and error finds in the window, {TRIALS} starts",
            float(table["appendix_a"][inside].max()),
            paper=Expected.exact(1.0, "our simulations have always given a unique solution"),
            theory=Expected.exact(2.0, "both ends of the range"),
            differs="a closed loop has singular equations, so that trial and error takes one of its"
            " contacts as sliding, with no rate of slip: either end of the range, each about half"
            " of the time. Its answer depends on the start, which a single run does not show",
        ),
        Claim(
            f"{TWOFOLD} disks, N_L = {table['drive'][other]:.4f}, no loops: range of v̇ over all"
            " contact states, over the least",
            float(table["greatest_all"][other] / table["least_all"][other] - 1.0),
            paper=Expected(0.0, 1e-5, "accuracy of the search", "a unique solution"),
            theory=Expected(
                float(table["passes"][other]), 1e-5, "accuracy of the search",
                "the exact path over N_L, which passes this drive three times",
            ),
            differs="separate sets of contact states, each with forces that are determined, obey"
            f" all laws; trial and error finds {table['appendix_a'][other]:.0f} of them",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- other arrays
def _share(size: int, case: tuple[float, float, float, float]) -> dict[str, float]:
    """How much of the driving forces between the first and the last change of state is affected."""
    path = pieces(size, *case, 0.0, 1.0 + 3.0 * size * case[2])
    closed = path.closed
    low, high = np.sort([path.drive[:-1], path.drive[1:]], axis=0)
    loops = closed & ~path.determinate
    last = int(np.flatnonzero(closed)[-1])
    edges = np.unique(np.clip(np.append(low, high), low.min(), low[last]))
    drive, weight = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges) / np.ptp(edges)
    over = (low[:, None] < drive) & (drive < high[:, None])
    looped, passes = (over & loops[:, None]).any(axis=0), over.sum(axis=0)
    return {
        "particles": size, "mu": case[1], "mu_plane": case[2], "pieces": closed.sum(),
        "least": low.min(), "last": low[last], "loops": looped @ weight,
        "several": (passes > 1) @ weight, "either": (looped | (passes > 1)) @ weight,
        "begin": low[loops].min(initial=math.inf), "end": high[loops].max(initial=-math.inf),
    }  # fmt: skip


def _others(outcome: Outcome, shares: list[dict[str, float]]) -> None:
    table = columns(shares)
    outcome.tables["others"] = table
    for name, size, case in (("Figs 10, 11", 5, FIG10), ("Fig. 3", 10, FIG3), ("Fig. 9", 30, FIG9)):
        [k] = np.flatnonzero((table["particles"] == size) & (table["mu"] == case[1]))
        middle = 0.5 * (table["begin"][k] + table["end"][k])
        width = np.ptp(steady_state(size, middle, *case).acceleration_range)
        outcome.claims.append(
            Claim(
                f"array of {name}: share of the driving forces, from the least to the last change"
                " of state, at which C1 has several solutions",
                float(table["either"][k]),
                paper=Expected(0.0, 1e-9, "rounding", "a unique solution"),
                differs="loops of sticking contacts close, and several members obey all laws,"
                f" between N_L = {table['begin'][k]:.4f} and {table['end'][k]:.4f}; range of v̇"
                f" in the middle {width:.2g}",
            )
        )


_TEXT = (
    "Disks 3, 4 and 5 and the plane can roll on each other all round: 3 and 5 with the plane, 4"
    " against both. Such a loop of sticking contacts carries a force that no equation fixes. It is"
    " closed for a window of driving forces, in which exact Coulomb friction leaves all forces and"
    " even v̇ undetermined; linear programs give their ranges, and a search through all contact"
    " states proves that there is nothing else, and outside the window but one solution. The"
    " paper's v̇ = 1.05 is out of reach of anything that rolls; as a driving force it lies in the"
    " window, and the accelerations there are those of Fig. 11.\n\n"
    "Contact dynamics and MD each pick a member. The picks of contact dynamics depend on the"
    " order of the sweeps and on the start. MD always goes to the same one, whatever γ_s: slips"
    " round the loop cancel, RC1 makes forces of slips, and so the forces cancel too; but as the"
    " array gains speed its overlaps make it drift, the faster the greater γ_s. Neither is wrong,"
    " and neither can tell. Nor can trial and error: it never tries a closed loop, whose equations"
    " are singular, and ends at either end of the range.\n\n"
    "Appendix A's unique solution is therefore one that was found, not one that is the only one."
    " Windows are common: in the array of Fig. 3 there is one below the paper's drive, in that of"
    " Fig. 9 one so narrow in v̇ that it shows only in exact numbers; with the coefficients of"
    " Fig. 10 they take a tenth to a quarter of all drives. Long arrays have more: separate sets"
    " of contact states, none with a loop, that obey all laws under the same drive with different"
    " v̇. For these the range that belongs to one set of states is not the whole; only the search"
    " through all states is."
)

EXPERIMENT = Experiment("indeterminate", "Figs 10, 11: where the law does not decide", run)
