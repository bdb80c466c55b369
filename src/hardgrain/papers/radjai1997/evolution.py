"""The paper's Figs 3 and 4: one start under three laws, and many starts under each."""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.radjai1997 import limit, memory
from hardgrain.papers.radjai1997 import two_coefficients as c2
from hardgrain.papers.radjai1997.array import evolve, steady_state
from hardgrain.papers.radjai1997.evolution_figures import TYPICAL, add_tables, fig3, fig4
from hardgrain.papers.radjai1997.exact.events import History
from hardgrain.papers.radjai1997.scene import STIFFNESS, ArrayMotion
from hardgrain.papers.radjai1997.starts import (
    FIG3,
    STEADY,
    StartPath,
    columns,
    follow,
    follow_soft,
    found,
    share,
    start,
)
from hardgrain.parallel import pmap

__all__ = ["EXPERIMENT"]

PARTICLES, DRIVE, BRAKE, MU, MU_PLANE, _ = FIG3
MODES = (4, 1, 5)  # modes of the steady state, computed independently
ROUNDING = 1e-12  # relative: twelve digits of the exact solution are known


SETTLED = 1.0  # [√(r/g)] time by which elastic oscillations have fallen to e^−9
FIRST = 0.1  # time by which elastic waves have loaded all contacts
SAMPLE = 0.02  # [√(r/g)] time between two looks at soft disks


def run(quick: bool) -> Outcome:
    """Follow all starts under all laws."""
    seeds = range(100 if quick else 400)
    soft_seeds = () if quick else [s for s in range(16) if s != TYPICAL]
    windows = c2.WINDOWS[:1] if quick else c2.WINDOWS
    outcome = Outcome(text=_TEXT, seeds=seeds)
    slow: list[Any] = [partial(c2.window, alpha) for alpha in windows[::-1]]
    slow.append(partial(follow_soft, TYPICAL, SAMPLE / 10.0))
    slow += [partial(follow_soft, seed, SAMPLE) for seed in soft_seeds]
    made = pmap(call, slow)
    window = dict(sorted(zip(windows[::-1], made)))
    soft = dict(zip((TYPICAL, *soft_seeds), made[len(windows) :]))
    paths = found(pmap(follow, seeds))

    _one_steady_state(outcome, paths, window[1.0])
    _shape(outcome, paths)
    memory.bookkeeping(outcome, paths)
    memory.velocities(outcome, quick)
    _energy(outcome, paths)
    _soft(outcome, soft)
    two = c2.two_coefficients(outcome, seeds, quick, window)
    limit.claims(outcome, seeds, c2.again(paths))
    add_tables(outcome, paths, soft[TYPICAL])
    outcome.figures["fig3"] = fig3(soft[TYPICAL])
    outcome.figures["fig4"] = fig4(paths, soft, two)
    outcome.figures["memory"] = memory.figure(paths)
    outcome.figures["alpha"] = c2.figure(outcome.tables["alpha"], window)
    return outcome


# ---------------------------------------------------------------------- C1
def _one_steady_state(outcome: Outcome, paths: list[StartPath], window: Floats) -> None:
    """Judge Fig. 4a: where all starts end under C1."""
    n = len(paths)
    closed = [p for p in paths if not p.lost]
    at_rest = steady_state(*FIG3)
    final = np.array([p.friction[-1] for p in paths])
    independent = "the steady state is independent of initial conditions"
    lost, lost_error = share([bool(p.lost) for p in paths])
    outcome.claims += [
        Claim(
            "Fig. 4a, C1: distinct steady states from random starts",
            len({p.steady for p in paths}),
            paper=Expected.exact(1.0, independent),
            theory=Expected.exact(1.0, "proved by the search through all contact states"),
            note="from some starts a contact is lost on the way; it is kept closed",
        ),
        Claim(
            "Fig. 4a, C1: distinct steady states from the starts that never lose a contact",
            len({p.steady for p in closed}),
            paper=Expected.exact(1.0, independent),
            theory=Expected.exact(1.0, "proved by the search through all contact states"),
        ),
        Claim(
            "µ_g of the steady state, of all starts the farthest from theory",
            float(final[np.abs(final - STEADY).argmax()]),
            theory=Expected(STEADY, ROUNDING, "twelve digits are known", "an independent program"),
        ),
        Claim(
            "starts that do not end with 4, 1 and 5 disks in modes 1, 2 and 3",
            sum(p.modes != MODES for p in paths),
            theory=Expected.exact(0.0, "an independent program"),
        ),
        Claim(
            "starts that do not end in the contact states that the array takes at once from rest",
            sum(not np.array_equal(p.states[-1], at_rest.states) for p in paths),
            theory=Expected.exact(0.0, "a steady state is a solution of the array at rest"),
        ),
        Claim(
            "width of µ_g over all contact states with which the array can leave rest under C1",
            float(np.ptp(window)),
            paper=Expected(0.0, 1e-9, "accuracy of the search", independent),
            theory=Expected(0.0, 1e-9, "accuracy of the search"),
            note="exhaustive, so a proof: every steady state is among these",
        ),
        Claim(
            "share of starts that lose a contact on the way",
            lost,
            lost_error,
            n,
            paper=Expected.exact(0.0, "all contacts are mechanically stable up to N_c"),
            differs="N_c is a limit of the steady state alone (experiment opening). On the way disk"
            " 1 may roll faster than the array moves and run ahead, as it does with v small; how"
            " the paper draws velocities is not given, and from v at or above all ω nothing opens",
        ),
    ]


def _shape(outcome: Outcome, paths: list[StartPath]) -> None:
    """Initial friction, its maximum, and scales."""
    n = len(paths)
    mean_v = 0.5
    below = [p.friction[0] < STEADY - 1e-9 for p in paths]
    rises = [p.friction.max() > STEADY + 1e-9 for p in paths]
    initial, error = mean_and_error([p.friction[0] for p in paths])
    weak, weak_error = share(below)
    whole, whole_error = share(np.logical_and(below, rises))
    scale = 7.3
    off = 0.0
    for seed in range(4):
        omega, v = start(seed)
        one = evolve(*FIG3, omega, v, keep_closed=True)
        other = evolve(*FIG3, scale * omega, scale * v, keep_closed=True)
        off = max(
            off,
            float(np.abs(other.friction - one.friction).max()),
            float(np.abs(other.time / scale - one.time).max() / one.time[-1]),
        )
    outcome.claims += [
        Claim(
            "mean initial µ_g",
            initial,
            error,
            n,
            paper=Expected.by_chance(
                STEADY, error, n, "initially weak: almost half of the plane's forces push forward",
                side="at most",
            ),
            theory=Expected.by_chance(
                MU_PLANE * mean_v, error, n, "µ' ⟨v⟩, from the odds that v is above ω",
                beside=MU_PLANE * MU * (DRIVE - BRAKE) / PARTICLES,
                why="what disks do to each other, at most µµ'(N_L − N_0)/L",
            ),
        ),
        Claim(
            "share of starts whose initial µ_g is below the steady one",
            weak,
            weak_error,
            n,
            paper=Expected.by_chance(
                0.5, weak_error, n, "for most initial conditions initially weak", side="at least"
            ),
        ),
        Claim(
            "share of starts with all of it: first below the steady µ_g, then above, then there",
            whole,
            whole_error,
            n,
            paper=Expected.by_chance(
                0.5, whole_error, n, "for most initial conditions it grows, goes through a maximum"
                " and reaches its steady value", side="at least",
            ),
        ),
        Claim(
            f"all velocities × {scale}: worst change of µ_g and, with time × {scale}, of event"
            " times",
            off,
            theory=Expected(
                0.0, 1e-9, "slips below 10⁻¹⁰ count as none",
                "forces depend on the signs of slips alone",
            ),
        ),
    ]  # fmt: skip


def _energy(outcome: Outcome, paths: list[StartPath]) -> None:
    """Energy on the way, and what the plane's friction is worth in the steady state."""
    steady = steady_state(*FIG3)
    # Late enough, all velocities are proportional to the accelerations.
    power = steady.friction * PARTICLES * steady.acceleration
    turning = steady.array.inertia * float(np.square(steady.angular_acceleration).sum())
    rubbing = float(steady.x[steady.array.at_tangential] @ steady.slip_rate)
    outcome.claims += [
        Claim(
            "energy unaccounted for between start and last event, as a share of the work of"
            " friction, worst of all starts",
            max(p.imbalance for p in paths),
            theory=Expected(
                0.0, ROUNDING, "rounding",
                "driving work = kinetic energy gained + Σ ∫ T u dt over all contacts",
            ),
        ),
        Claim(
            "dissipation over F_g v, in the steady state and late",
            rubbing / power,
            paper=Expected.exact(1.0, "F_g may be interpreted as dissipation rate/v"),
            theory=Expected.exact(1.0 - turning / power, "less what sets the disks turning"),
            differs="so only at constant velocity; an accelerating array also spins up its disks,"
            " and F_g v = dissipation + d/dt of the energy of rotation",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- RC1
def _soft(outcome: Outcome, soft: dict[int, tuple[ArrayMotion, History]]) -> None:
    """Judge Fig. 4b, by molecular dynamics."""
    rows = []
    for seed, (motion, exact) in soft.items():
        late = motion.time > SETTLED
        off = np.abs(motion.friction - exact.friction_at(motion.time))
        least = np.hstack([motion.normal, motion.normal_plane]).min(axis=1)
        row = {
            "seed": seed,
            "lost": bool(exact.lost),
            "friction": motion.friction[-1],
            "exact": exact.friction[-1],
            "first": off[~late].max(),
            "path": off[late].mean(),
            # Samples are as far apart as the first is from the start.
            "open": ((least <= 0.0) & (motion.time > FIRST)).sum() * motion.time[0],
        }
        rows.append(row)
    outcome.tables["fig4b"] = table = columns(rows)
    t = {name: np.array(column) for name, column in table.items()}
    end = t["friction"] - t["exact"]
    outcome.claims += [
        Claim(
            "Fig. 4b, RC1 by molecular dynamics: distance of µ_g at the end from C1, worst start",
            float(np.abs(end).max()),
            paper=Expected(
                0.0, 0.01 * STEADY, "very close: a hundredth of µ_g would not show in Fig. 4",
                "the steady state is independent of initial conditions, very close to C1",
            ),
            theory=Expected(
                0.0, DRIVE / STIFFNESS, "overlaps N/k_n turn and shift the contacts by as much"
            ),
            note="some of the starts are such that lose a contact under C1",
        ),
        Claim(
            f"starts that open a contact by molecular dynamics, after t = {FIRST:g}, and not under"
            " C1, or the other way round",
            int(((t["open"] > 0.0) != t["lost"]).sum()),
            theory=Expected.exact(0.0, "the same contacts open"),
            note="then they close for good: the end is the same",
        ),
        Claim(
            f"Fig. 3: mean distance of µ_g by RC1 from the path of C1 after t = {SETTLED:g}",
            t["path"][0],
            paper="similar to the C1 path as soon as oscillations settle down",
        ),
        Claim(
            f"Fig. 3: greatest distance before t = {SETTLED:g}",
            t["first"][0],
            paper="elastic oscillations at very short time",
            note="disks that just touch bear no load; elastic waves bring it in",
        ),
    ]  # fmt: skip


_TEXT = (
    "Ten disks, N_L = 2.5, µ = 0.1, µ' = 0.2. The paper does not say how it draws initial"
    " velocities: here ω is uniform in (−1, 1) and v in (0, 1); v against the spread of ω is all"
    " that can matter under C1 and C2, and the table velocities goes through it. Where a contact"
    " would open it is kept closed; what is claimed also holds for the starts that need no such"
    " help, and molecular dynamics, in which contacts do open and close, ends in the same state."
    "\n\n"
    "Why the steady state is one. In it no slip is on its way to zero: every rate of slip has the"
    " sign of its slip, or vanishes. Its forces are then also a solution for the array at rest,"
    " where the rates alone decide. Under C1 that problem has one solution, as a search through all"
    " contact states proves, so there is one steady state, whatever happened before. Under C2 it"
    " has many, from some α between 1.1 and 1.2 on, and the same search bounds µ_g of all of them."
    "\n\n"
    "Memory. The paper has contacts that stick and slide again, S → NS → S, clear it before the"
    " maximum of µ_g. Counted: before the maximum a third of the contacts that stick slide again,"
    " not most; after it few do. About as often a slip changes its sign without a stop."
    " A contact that sticks does take one combination of initial velocities with it, but not where"
    " another lets go at the same moment, and not for a second time. In the end 8 combinations of"
    " 11 are lost from every start, most of them after the maximum, one for each contact that"
    " sticks in the steady state, however many stuck and slid on the way: S → NS → S adds nothing."
    " The other 3 matter for ever. Velocities keep all the memory that they can; the forces, which"
    " see only signs of slips, have none.\n\n"
    'C2. "slide" is C1. "random" is trial and error as in Appendix A, anew at each event, so that'
    " contacts that stick are let go again and again; with it the steady states for α = 3 are close"
    ' to each other, as the paper says. "stick" holds what can be held, which is what the paper'
    " argues with for α → ∞: the greater α the more is held, and the states spread far more. Then"
    " contacts would open even in the steady state of many starts (pulled, in the table alpha; left"
    " out of spread and range), and for α of 10 and more the rule finds no solution from some"
    " starts, which need not mean that there is none.\n\n"
    "α → ∞. If a contact that sticks never lets go, the way to the steady state can be followed"
    " without any rule. Nearly every start then has a steady state of its own, mode 2 is gone from"
    " almost all of them, and µ_g is larger and scatters more. From many starts a disk is lifted"
    " instead. Each such way is a solution of C2 from a finite α on, below 10 for nearly all"
    " of them. But it is never the only one: C1 with µ_d obeys C2 whatever α is, so that no contact"
    " remains NS of necessity."
)


EXPERIMENT = Experiment("evolution", "Figs 3 and 4: from any start to one steady state", run)
