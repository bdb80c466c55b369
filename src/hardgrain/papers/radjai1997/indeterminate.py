"""The paper's Figs 10 and 11: where Coulomb's law leaves forces, and even v̇, undetermined."""

from __future__ import annotations

import math
from functools import partial
from operator import call
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import bisect
from scipy.sparse import csr_array

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, Floats, States
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, all_states, with_states
from hardgrain.papers.radjai1997.exact.solution import Solution
from hardgrain.papers.radjai1997.scene import (
    BLOCK_MASS,
    STIFFNESS,
    contact_dynamics,
    scene,
    soft_particles,
)
from hardgrain.parallel import pmap
from hardgrain.theory.array import rolling_length

# N_0, µ, µ', µ'' of Figs 10 and 11, of Fig. 3, and of Figs 8 and 9
FIG10 = (0.01, 0.3, 0.3, 0.01)
FIG3 = (0.01, 0.1, 0.2, 0.001)
FIG9 = (0.01, 0.04, 0.1, 0.001)
SIZE, INERTIA = 5, 0.5
PRINTED = 1.05  # the paper's v̇; as a driving force it lies in the window

INSIDE, OUTSIDE = (1.05, 1.1, 1.2, 1.3, 1.4), (1.0, 1.6)
BEST = 1.2  # drive at which v̇ has nearly its widest range
SLIDING = (10.0, 100.0, 1000.0)  # γ_s [m √(g/r)]
ORDERS, TRIALS = 8, 40  # seeds of contact dynamics from rest, and of Appendix A, for each drive
# speed and time of random starts, so slow that all are steady in the end
SPEED, DURATION = 0.02, 8.0
LAW = 1e-6  # what converged forces of contact dynamics may differ by [m g]
SEARCH = 2e-6  # accuracy of the search through all states
SOFT = max(OUTSIDE) / STIFFNESS  # overlap of two disks, in radii: arms are as much shorter
_TINY = 1e-11  # rounding of the linear programs, below which nothing is told apart
SIZES = range(3, 21)  # numbers of disks of other arrays
TWOFOLD = 7  # disks; the shortest array of FIG10's coefficients whose path over N_L turns back


def run(quick: bool) -> Outcome:
    """The window from all sides: linear programs, all states, both methods, other arrays."""
    outcome = Outcome(text=_TEXT, seeds=range(TRIALS))
    inside, outside = ((BEST,), OUTSIDE[:1]) if quick else (INSIDE, OUTSIDE)
    starts, sliding = (range(1), SLIDING[1:]) if quick else (range(4), SLIDING)
    drives = sorted((*inside, *outside))
    jobs = [partial(_soft, d, g) for d in drives for g in sliding]
    jobs += [partial(_proof, SIZE, d) for d in drives]
    jobs += [partial(_proof, TWOFOLD, _turn(TWOFOLD))]
    jobs += [partial(_rigid, d, seed, SPEED) for d in drives for seed in starts]
    jobs += [partial(_rigid, d, seed, 0.0) for d in drives for seed in range(ORDERS)]
    jobs += [partial(_share, 30, FIG9)]
    jobs += [partial(_share, n, s) for s in (FIG10, FIG3) for n in ((5, 10) if quick else SIZES)]
    made = list(zip(jobs, pmap(call, jobs)))

    def results(f: Any) -> list[dict[str, float]]:
        return [result for job, result in made if job.func is f]

    lines = pieces(SIZE, *FIG10, 0.0, 8.0)
    _edges(outcome, lines, 12 if quick else 48)
    _printed(outcome, lines)
    _readings(outcome, lines)
    _states(outcome, results(_proof))
    _members(outcome, results(_rigid), results(_soft), inside)
    _others(outcome, results(_share))
    outcome.figures["fig10"] = _fig10(lines, outcome.tables["window"])
    outcome.figures["fig11"] = _fig11()
    outcome.figures["members"] = _figure_members(outcome.tables)
    if not quick:
        outcome.figures["others"] = _figure_others(outcome.tables["others"])
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


def _regularised(found: Solution) -> float:
    """The acceleration v̇ of the solution that RC1 goes to, whatever its γ_s.

    Slips round a loop of sticking contacts add up to zero, with signs: Σ c u = 0. RC1 has T = γ_s u
    at all of them, hence Σ c T = 0, the equation that C1 lacks. Where the limits of friction do not
    let it be zero, one contact reaches its limit and slips as much as the others ask for.
    """
    if found.determinate:
        return found.acceleration
    a, sticks = found.array, found.states == STICKS
    given = with_states(a, found.states, found.slide, found.stick, found.given)
    slip = a.slip[sticks]
    rates = np.column_stack([slip[:, a.at_omega].toarray(), slip[:, a.at_v].sum(axis=1)])
    loop = csr_array(null_space(rates.T).T @ a.tangential[sticks])
    nearest = np.clip(0.0, *given.extremes(loop)[0])
    near = nearest - _TINY, nearest + _TINY
    member = Polytope([(given.rows, given.low, given.high), (loop, *near)])
    return float(member.extremes(a.unknown(a.at_v[:1])).mean())


def _edges(outcome: Outcome, lines: Pieces, points: int) -> None:
    """The range of v̇ and µ_g across the window, where it ends, and the range of each force."""
    best = steady_state(SIZE, BEST, *FIG10)
    ends = drive_range(best.array, best.states, best.slide)
    step = 1e-4 * (ends[1] - ends[0])
    rows = []
    for drive in np.linspace(ends[0] + step, ends[1] - step, points):
        # v̇ is linear in N_L but for corners, which no pair of drives as close as these straddles
        pair = [steady_state(SIZE, d, *FIG10) for d in (drive - 0.5 * step, drive + 0.5 * step)]
        v = np.array([(*s.acceleration_range, _regularised(s)) for s in pair])
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
            float(np.ptp(best.acceleration_range) / _regularised(best)),
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


def _printed(outcome: Outcome, lines: Pieces) -> None:
    """Judge v̇ = 1.05 and the accelerations of Fig. 11."""
    none = FIG10[2] / INERTIA  # v̇ at which no disk rolls
    greatest = bisect(lambda v: rolling_length(v, *FIG10) - 0.5, 0.0, none, xtol=1e-14)
    rolls = int(np.flatnonzero(lines.states[:, 1] == STICKS)[-1])
    k = int(np.searchsorted(lines.acceleration, PRINTED))
    share = (PRINTED - lines.acceleration[k - 1]) / np.diff(lines.acceleration)[k - 1]
    drive = float(lines.drive[k - 1] + share * np.diff(lines.drive)[k - 1])
    literal, inside = steady_state(SIZE, drive, *FIG10), steady_state(SIZE, PRINTED, *FIG10)
    turns = [np.abs(s.angular_acceleration).max() / s.acceleration for s in (literal, inside)]
    off = np.abs(np.abs(inside.angular_acceleration) - inside.acceleration).max()
    outcome.claims += [
        Claim(
            "greatest v̇ at which disk 1 rolls on the plane",
            float(lines.acceleration[rolls + 1]),
            paper=Expected(PRINTED, 0.0, "exact", "mode 1 is there at v̇ = 1.05", "at least"),
            theory=Expected(greatest, 1e-12, "rounding", "L_1^c = 1"),
            differs="I v̇ = T' − T_i − T_i−1 ≤ µ' wherever neighbours brake, so that beyond"
            f" µ'/I = {none:g} nothing rolls: 1.05 cannot be v̇",
        ),
        Claim(
            f"v̇ = {PRINTED:g}, reached at N_L = {drive:.4f}: greatest |ω̇|/v̇ of a disk",
            float(turns[0]),
            paper=Expected(1.0, 0.01, "what Fig. 11 could not show", "1 in modes 1 and 3"),
            differs="taken literally all disks slide on the plane and roll on each other, slowly:"
            f" modes {literal.modes}",
        ),
        Claim(
            f"N_L = {PRINTED:g}, in the window: worst difference of |ω̇| of a disk from v̇",
            float(off),
            paper=Expected(
                0.0, 1e-9, "rates of slip below 10⁻⁹ count as none",
                "accelerations in mode 1 and mode 3 have the same absolute value",
            ),
            theory=Expected(0.0, 1e-9, "rates of slip below 10⁻⁹ count as none", "the loop rolls"),
            note="the paper's Fig. 11, if 1.05 is the driving force",
        ),
        Claim(
            f"N_L = {PRINTED:g}: contacts of disk 3 that do not slide",
            float((inside.states[4:7] == STICKS).sum()),
            paper=Expected.exact(3.0, "the three contacts of particle 3 are NS"),
            theory=Expected.exact(2.0, "plane, disk 3, disk 4, disk 5, plane stick in a loop"),
            differs="disks 2 and 3 both roll forward, so that they must slide on each other",
        ),
    ]  # fmt: skip


def _readings(outcome: Outcome, lines: Pieces) -> None:
    """What 1.05 may mean, if it cannot be v̇ of the printed array: each reading tried.

    Fig. 11 has, by the text: some disks in mode 1 and some in mode 3; all with |ω̇| = v̇; the three
    contacts of disk 3 NS; forces that the laws leave open, so that CD and MD differ.
    """
    none = FIG10[2] / INERTIA
    rows: list[dict[str, Any]] = []
    for reading, name, value, case in (
        ("v̇, as printed", "v", PRINTED, FIG10),
        ("the driving force N_L", "drive", PRINTED, FIG10),
        ("N_L − N_0", "drive", PRINTED + FIG10[0], FIG10),
        ("10 v̇", "v", PRINTED / 10.0, FIG10),
        ("100 v̇", "v", PRINTED / 100.0, FIG10),
        ("L v̇", "v", PRINTED / SIZE, FIG10),
        ("v̇/µ'", "v", PRINTED * FIG10[2], FIG10),
        ("I v̇/µ'", "v", PRINTED * none, FIG10),
        ("v̇ with µ' = 0.6", "v", PRINTED, (FIG10[0], FIG10[1], 0.6, FIG10[3])),
        ("v̇ with µ = µ' = 0.6", "v", PRINTED, (FIG10[0], 0.6, 0.6, FIG10[3])),
        ("v̇ with µ' = 0.9", "v", PRINTED, (FIG10[0], FIG10[1], 0.9, FIG10[3])),
    ):
        drive = value if name == "drive" else _reached(case, value)
        found = steady_state(SIZE, drive, *case, keep_closed=True)
        v, turns = found.acceleration, np.abs(found.angular_acceleration)
        features = (
            found.modes[0] > 0 and found.modes[2] > 0,
            bool(np.abs(turns - v).max() < 1e-6 * v),
            int((found.states[4:7] == STICKS).sum()) == 3,
            not found.determinate,
        )
        rows.append(
            {
                "reading": reading,
                "mu": case[1],
                "mu_plane": case[2],
                "drive": drive,
                "acceleration": v,
                "both_modes": features[0],
                "same_speed": features[1],
                "three_NS": features[2],
                "open": features[3],
                "shown": sum(features),
            }
        )
    outcome.tables["readings"] = {k: [row[k] for row in rows] for k in rows[0]}
    shown = {str(row["reading"]): row["shown"] for row in rows}
    three = int((lines.states[:, 4:7] == STICKS).sum(axis=1).max())
    what = "both modes, all |ω̇| = v̇, three NS contacts of disk 3, forces left open"
    outcome.claims += [
        Claim(
            f"1.05 read as {reading}: features of Fig. 11 that are there, of 4",
            shown[reading],
            paper=Expected.exact(4.0, what),
            differs=why,
        )
        for reading, why in (
            ("v̇, as printed", "nothing rolls at such a v̇, and the forces are unique"),
            (
                "the driving force N_L",
                "all but the three NS contacts of disk 3, which no drive has:"
                " the most plausible reading. The window of open forces begins at N_L = 1.039, and"
                " the axis of Fig. 10 would be that of Fig. 8",
            ),
            ("10 v̇", "a lost decimal point leads to a state whose forces are unique"),
            ("I v̇/µ'", "v̇ in units of the greatest at which a disk can roll: again nothing rolls"),
            (
                "v̇ with µ' = 0.6",
                "a rougher plane could let disks roll at v̇ = 1.05, but none does",
            ),
        )
    ]
    outcome.claims += [
        Claim(
            "readings of 1.05, of 11, that show more of Fig. 11 than N_L does",
            sum(n > shown["the driving force N_L"] for n in shown.values()),
            theory=Expected.exact(0.0, "N_L is the most plausible one"),
        ),
        Claim(
            "printed coefficients: greatest number of NS contacts of disk 3, all drives",
            three,
            paper=Expected.exact(3.0, "the three contacts of particle 3 are NS"),
            differs="plane, disk 3 and a neighbour that both stick to it turn the neighbour"
            " backward; with both neighbours the disks 2 and 4 would have to turn backward, and"
            " disk 2 rolls at every drive at which disk 3 does",
        ),
    ]  # fmt: skip


def _reached(case: tuple[float, float, float, float], acceleration: float) -> float:
    """The driving force at which the exact path first reaches an acceleration."""
    path = pieces(SIZE, *case, 0.0, 3.0 * SIZE * (acceleration + case[2]) + 1.0)
    v = path.acceleration
    k = int(np.flatnonzero((v[1:] >= acceleration) & (v[:-1] < acceleration))[0])
    share = (acceleration - v[k]) / (v[k + 1] - v[k])
    return float(path.drive[k] + share * (path.drive[k + 1] - path.drive[k]))


# ---------------------------------------------------------------------- all contact states
def _turn(size: int) -> float:
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
    table = _columns(proofs)
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


# ---------------------------------------------------------------------- what the methods pick
def _rigid(drive: float, seed: int, speed: float) -> dict[str, float]:
    """The final v̇ by contact dynamics, from rest in one step or from a random start."""
    spins = np.random.default_rng(seed).uniform(-speed, speed, SIZE)
    start = scene(SIZE, drive, *FIG10, omega0=spins, v0=speed)
    motion = contact_dynamics(start, DURATION if speed else 0.01, seed=seed)
    return {"drive": drive, "sliding": math.inf, "speed": speed, "seed": seed,
            "acceleration": motion.acceleration[-1], "drift": 0.0}  # fmt: skip


def _soft(drive: float, sliding: float) -> dict[str, float]:
    """The final v̇ by soft particles from rest, and how it changes with the velocity."""
    motion = soft_particles(scene(SIZE, drive, *FIG10), DURATION, sliding, every=0.5 * DURATION)
    return {"drive": drive, "sliding": sliding, "speed": 0.0, "seed": 0,
            "acceleration": motion.acceleration[-1],
            "drift": np.diff(motion.acceleration)[0] / np.diff(motion.velocity)[0]}  # fmt: skip


def _members(
    outcome: Outcome,
    rigid: list[dict[str, float]],
    soft: list[dict[str, float]],
    inside: tuple[float, ...],
) -> None:
    """Judge v̇ of both methods by the range of C1, blocks of the same mass included."""
    exact = {d: steady_state(SIZE, d, *FIG10, block_mass=BLOCK_MASS)
             for d in {row["drive"] for row in rigid}}  # fmt: skip
    for row in (*rigid, *soft):
        found = exact[row["drive"]]
        low, high = found.acceleration_range
        v = row["acceleration"]
        row |= {"least": low, "greatest": high, "rc1": _regularised(found),
                "outside": max(low - v, v - high, 0.0)}  # fmt: skip
    table = _columns([*rigid, *soft])
    outcome.tables["members"] = table
    is_soft, within = np.isfinite(table["sliding"]), np.isin(table["drive"], inside)
    for name, mine, tolerance, why in (
        ("contact dynamics", ~is_soft, LAW, "a residual of 10⁻¹² leaves less in the forces"),
        ("MD", is_soft, SOFT, "the overlap of two disks, in radii: arms are as much shorter"),
    ):
        outcome.claims += [
            Claim(
                f"{name}, in the window: farthest v̇ from C1's range",
                float(table["outside"][mine & within].max()),
                paper="CD and MD disagree here",
                theory=Expected(0.0, tolerance, why, "a member of C1's range"),
            ),
            Claim(
                f"{name}, outside the window: farthest v̇ from C1's value",
                float(table["outside"][mine & ~within].max()),
                paper="the agreement is quite good everywhere else",
                theory=Expected(0.0, tolerance, why, "C1's one solution"),
            ),
        ]
    best = table["drive"] == BEST
    low, high = exact[BEST].acceleration_range
    width, member = high - low, _regularised(exact[BEST])
    picked = table["acceleration"][best & ~is_soft]
    slow = best & is_soft & (table["sliding"] <= 100.0)
    drift = {g: float(table["drift"][best & (table["sliding"] == g)][0]) for g in (100.0, 1000.0)}
    outcome.claims += [
        Claim(
            f"farthest apart v̇ of contact dynamics and of MD at N_L = {BEST:g}, over C1's range,"
            f" {picked.size} runs",
            float(np.abs(picked - member).max() / width),
            paper=Expected(
                10.0 * LAW / width, 0.0, "ten times what residuals leave", "CD and MD disagree"
                " here", "at least",
            ),
            note=f"runs of contact dynamics span {np.ptp(picked) / width:.2f} of the range: the"
            " order of the sweeps and the start decide; the forces of the last step, from which the"
            " next begins, keep what was picked",
        ),
        Claim(
            f"MD at N_L = {BEST:g}, γ_s up to 100: farthest v̇ from the solution with Σ c T = 0"
            " round the loop",
            float(np.abs(table["acceleration"] - table["rc1"])[slow].max()),
            theory=Expected(
                0.0, SOFT, "the overlap of two disks, in radii",
                "slips round a loop cancel, and RC1 has T = γ_s u: the one equation that C1 lacks,"
                " the same for all γ_s",
            ),
            note=f"{(member - low) / width:.2f} of the way up C1's range",
        ),
        Claim(
            "drift of MD's v̇ with the velocity, γ_s = 1000 against 100",
            drift[1000.0] / drift[100.0],
            theory=Expected.within(
                10.0, 0.01, "slips T/γ_s are about a hundredth of v at γ_s = 100",
                "in proportion to γ_s",
            ),
            note="overlaps shorten the arms by N/k_n: slips round the loop do not quite cancel, by"
            " an amount that grows with v, and γ_s turns it into forces; nothing becomes steady",
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
    table = _columns(shares)
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


def _columns(rows: list[dict[str, float]]) -> dict[str, Any]:
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}


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


def _fig10(lines: Pieces, window: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.8)
    for k, unique in enumerate(lines.determinate):
        v, mu_e = lines.acceleration[k : k + 2], lines.effective_friction[k]
        for axes in (left, right):
            axes.plot(v, [mu_e, mu_e], color=COLOURS[0], lw=1.8 if unique else 0.0)
    edges = window["acceleration_least"][0], window["acceleration_least"][-1]
    looks = (("least", "C1, least v̇", COLOURS[1], "-"),
             ("greatest", "C1, greatest v̇", COLOURS[2], "-"),
             ("rc1", "RC1", COLOURS[3], "--"))  # fmt: skip
    for axes in (left, right):
        axes.axvspan(*edges, color=GREY, alpha=0.2, lw=0)
        for which, label, colour, dashes in looks:
            axes.plot(window[f"acceleration_{which}"], window[f"effective_friction_{which}"],
                      dashes, color=colour, drawstyle="steps-mid", label=label)  # fmt: skip
        axes.set(xlabel="v̇ [g]", ylabel="µ$_e$")
    right.set(xlim=(0.015, 0.12), ylim=(0.0, 0.27))
    left.set(xlim=(0.0, 0.7))
    right.legend(loc="lower right", title="in the window (grey)", title_fontsize=8)
    return figure


def _fig11() -> Any:
    figure, (left, right) = new_figure(1, 2, width=4.0)
    disks = np.arange(SIZE + 1)
    for axes, drives in ((left, (1.0, PRINTED)), (right, (BEST, OUTSIDE[-1]))):
        for drive, colour, marker in zip(drives, (COLOURS[1], COLOURS[2]), "os"):
            found = steady_state(SIZE, drive, *FIG10)
            spans = np.array([found.acceleration_range, *found.angular_acceleration_range])
            axes.vlines(disks, *spans.T, color=colour, lw=3, alpha=0.5)
            axes.plot(disks, spans.mean(axis=1), marker, color=colour, lw=0.8, ls=":",
                      label=f"N$_L$ = {drive:g}{'' if found.unique else ', range'}")  # fmt: skip
        axes.axhline(0.0, color=GREY, lw=0.8)
        axes.set(xlabel="disk (0: the array)", ylabel="ω̇ [g/r]")
        axes.margins(y=0.2)
        axes.legend(loc="upper center", ncols=2)
    return figure


def _figure_members(tables: dict[str, Any]) -> Any:
    """Draw v̇ over N_L, and where in its range the methods are."""
    figure, (left, right) = new_figure(1, 2, width=4.8)
    t, picks = tables["window"], tables["members"]
    left.fill_between(t["drive"], t["acceleration_least"], t["acceleration_greatest"],
                      color=COLOURS[6], alpha=0.5, lw=0, label="C1")  # fmt: skip
    left.plot(t["drive"], t["acceleration_rc1"], "--", color=COLOURS[3], label="RC1")
    for low, high in ((0.97, t["drive"][0]), (t["drive"][-1], 1.6)):
        at = np.linspace(low, high, 9)
        v = [steady_state(SIZE, d, *FIG10).acceleration for d in at]
        left.plot(at, v, color=COLOURS[1], label="C1, unique" if low < 1.0 else None)
    left.axvline(PRINTED, color=GREY, lw=0.8, ls=":")
    left.set(xlabel="N$_L$ [m g]", ylabel="v̇ [g]")
    left.legend()
    wide = picks["greatest"] - picks["least"] > 1e-6
    soft, start = np.isfinite(picks["sliding"]), picks["speed"] > 0.0
    for mine, shift, colour, marker, label in (
        (~soft & ~start, -0.012, COLOURS[1], "o", "contact dynamics, from rest"),
        (~soft & start, 0.0, COLOURS[2], "s", "contact dynamics, random starts"),
        (soft, 0.012, COLOURS[3], "^", "MD"),
    ):
        k = mine & wide
        share = (picks["acceleration"][k] - picks["least"][k]) / (
            picks["greatest"] - picks["least"]
        )[k]
        right.plot(picks["drive"][k] + shift, share, marker, color=colour, mfc="none", label=label)
    right.plot(t["drive"], (t["acceleration_rc1"] - t["acceleration_least"])
               / (t["acceleration_greatest"] - t["acceleration_least"]), "--", color=COLOURS[3],
               label="RC1, exact")  # fmt: skip
    right.set(xlabel="N$_L$ [m g]", ylabel="place of v̇ in C1's range", ylim=(-0.05, 1.05))
    right.legend(loc="upper right")
    return figure


def _figure_others(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2, sharey=True)
    for axes, case, name in ((left, FIG10, "Figs 10, 11"), (right, FIG3, "Fig. 3")):
        mine = table["mu"] == case[1]
        for column, label, colour, marker in (
            ("loops", "closed loops", COLOURS[1], "o"),
            ("several", "several sets of states", COLOURS[2], "s"),
            ("either", "either", COLOURS[0], "."),
        ):
            axes.plot(table["particles"][mine], 100.0 * table[column][mine], marker, color=colour,
                      ls=":", lw=0.8, mfc="none", label=label)  # fmt: skip
        axes.set_title(f"coefficients of {name}: µ = {case[1]:g}, µ' = {case[2]:g}")
        axes.set(xlabel="L", xticks=SIZES[1::4])
    left.set(ylabel="driving forces without a unique solution [%]")
    left.legend()
    return figure


EXPERIMENT = Experiment("indeterminate", "Figs 10, 11: where the law does not decide", run)
