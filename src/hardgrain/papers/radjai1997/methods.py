"""The same array by the exact solver, by contact dynamics and by molecular dynamics."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import damped_sine, mean_and_error, power_law
from hardgrain.papers.radjai1997.array import evolve, steady_state
from hardgrain.papers.radjai1997.exact.events import History
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.scene import (
    BLOCK_MASS,
    DAMPING,
    STIFFNESS,
    ArrayMotion,
    contact_dynamics,
    scene,
    soft_particles,
)
from hardgrain.parallel import pmap

# L, N_L, N_0, µ, µ', µ'': the paper's Fig. 3, and its Figs 5 to 7 with the coefficients repaired
FIG3 = (10, 2.5, 0.01, 0.1, 0.2, 0.001)
FIG5 = (80, 1.4, 0.01, 0.006, 0.01, 0.001)
LAW = 1e-6  # [m g] difference that converged forces of contact dynamics may have
RESIDUAL = "a residual of 10⁻¹² leaves up to 10⁻⁶ in the forces of so many disks and light blocks"

# Starts: angular velocities from −SPEED to SPEED, and v = SPEED. C1 has no scale of velocity, so
# that all times are proportional to it; with this one the last event is at t = 2 to 28.
SPEED = 0.2
MIDDLE = FIG3[0] // 2  # a contact in the middle
START = 3  # seed of the start that molecular dynamics has; its last event is at t = 3.3
SETTLED, END = 1.0, 6.0  # paths are compared in between: elastic oscillations are e^−9 by then
SAMPLE = 0.02  # time between samples of molecular dynamics [√(r/g)]

SLIDING = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # γ_s [m √(g/r)]
SOFTNESS = (2e4, 2e5, 2e6)  # k_n [m g/r], γ_n with √k_n, so that collisions are alike
PLAIN = 1e3  # γ_s for all of them


def _start(seed: int) -> dict[str, Any]:
    spins = np.random.default_rng(seed).uniform(-SPEED, SPEED, FIG3[0])
    return {"omega0": spins, "v0": SPEED}


def _exact(seed: int) -> History:
    return evolve(*FIG3, **_start(seed), block_mass=BLOCK_MASS)


def _rigid(seed: int, dt: float) -> ArrayMotion:
    """Contact dynamics of Fig. 3 from one start, with one step."""
    duration = max(END, 1.0 + float(_exact(seed).time[-1]))
    return contact_dynamics(scene(*FIG3, **_start(seed)), duration, dt=dt)


def _soft(sliding: float, stiffness: float) -> ArrayMotion:
    """Molecular dynamics of Fig. 3 with γ_s and k_n."""
    harder = math.sqrt(stiffness / STIFFNESS)
    return soft_particles(
        scene(*FIG3, **_start(START)),
        END / min(harder, 1.0) + 20.0 / sliding,  # until nothing rings, and all slips are steady
        sliding,
        every=SAMPLE,
        stiffness=stiffness,
        damping=DAMPING * harder,
    )


def _distance(motion: ArrayMotion, exact: ArraySolution) -> float:
    """Largest difference of a force, at the end of a motion, from the exact solution's [m g]."""
    every = (exact.normal, exact.normal_plane, exact.tangential, exact.tangential_plane)
    return float(np.abs(motion.forces[-1] - np.concatenate(every)).max())


def run(quick: bool) -> Outcome:
    """Forces of both methods against the exact ones, and how γ_s and k_n matter."""
    seeds, steps = ((0, START), (0.01, 0.02)) if quick else (range(10), (0.005, 0.01, 0.02, 0.04))
    outcome = Outcome(text=_TEXT, seeds=seeds)
    soft_jobs = [(g, STIFFNESS) for g in (SLIDING[1:5] if quick else SLIDING)]
    softer, harder = ((PLAIN,), ()) if quick else (SLIDING[2:5], SLIDING[2:6])
    soft_jobs += [(g, SOFTNESS[0]) for g in softer] + [(g, SOFTNESS[2]) for g in harder]
    soft_jobs.sort(reverse=True)  # the longest first
    rigid_jobs = [(seed, dt) for dt in steps for seed in seeds]
    jobs = [partial(_soft, *j) for j in soft_jobs] + [partial(_rigid, *j) for j in rigid_jobs]
    made = pmap(call, jobs)
    soft = dict(zip(soft_jobs, made))
    rigid = dict(zip(rigid_jobs, made[len(soft_jobs) :]))
    _from_rest(outcome)
    _from_motion(outcome, rigid)
    _regularised(outcome, soft)
    _oscillations(outcome)
    outcome.figures["paths"] = _paths(rigid[START, 0.01], soft, outcome.tables["oscillations"])
    outcome.figures["distance"] = _distances(outcome.tables["regularised"])
    return outcome


def _from_rest(outcome: Outcome) -> None:
    """One step of contact dynamics from rest, where all contacts are active."""
    table: dict[str, list[float]] = defaultdict(list)
    for name, case in (("Fig. 3", FIG3), ("Figs 5 to 7 (A)", FIG5)):
        for mass in (1.0, BLOCK_MASS, 1e-4):
            exact = steady_state(*case, block_mass=mass)
            motion = contact_dynamics(scene(*case, block_mass=mass), 0.01)
            row = {
                "particles": case[0], "block_mass": mass, "friction": motion.friction[-1],
                "friction_exact": exact.friction, "acceleration": motion.acceleration[-1],
                "acceleration_exact": exact.acceleration, "worst_force": _distance(motion, exact),
            }  # fmt: skip
            _add(table, row)
            outcome.claims.append(
                Claim(
                    f"contact dynamics, {name}, blocks of mass {mass:g}, one step from rest: worst"
                    " difference of a force from the exact steady one [m g]",
                    table["worst_force"][-1],
                    theory=Expected(0.0, LAW, RESIDUAL, "the exact solver"),
                )
            )
    outcome.tables["from_rest"] = dict(table)


def _from_motion(outcome: Outcome, rigid: dict[tuple[int, float], ArrayMotion]) -> None:
    """Contact dynamics from random starts: where it ends, and how closely it follows C1."""
    table: dict[str, list[float]] = defaultdict(list)
    for (seed, dt), motion in rigid.items():
        exact = _exact(seed)
        # a step's forces are means over it
        off = np.abs(motion.friction - exact.friction_at(motion.time - 0.5 * dt))
        row = {
            "seed": seed, "dt": dt, "worst_force": _distance(motion, exact.steady),
            "events": exact.time.size - 1, "last_event": exact.time[-1],
            "steps": off.size, "steps_off": (off > LAW).sum(), "area": dt * off.sum(),
        }  # fmt: skip
        _add(table, row)
    outcome.tables["from_motion"] = dict(table)
    t = {name: np.array(column) for name, column in table.items()}
    fine = t["dt"] == 0.01
    outcome.claims += [
        Claim(
            "contact dynamics, Fig. 3, random starts: worst difference of a force at the end from"
            " the exact steady one [m g]",
            float(t["worst_force"].max()),
            paper=Expected(
                0.0, LAW, RESIDUAL, "the steady state is reached whatever the initial conditions"
            ),
            theory=Expected(0.0, LAW, RESIDUAL, "the exact solver"),
        ),
        Claim(
            "contact dynamics, dt = 0.01: steps beyond two for each event whose µ_g is not that of"
            " the exact path, worst start",
            float(np.maximum(t["steps_off"] - 2.0 * t["events"], 0.0)[fine].max()),
            paper="a piecewise constant path",
            theory=Expected.exact(
                0.0,
                "only the step that an event falls in bears the mean of the forces before and"
                " after",
            ),
        ),
    ]
    steps = np.unique(t["dt"])
    if steps.size > 2:
        area = np.array([t["area"][t["dt"] == dt] for dt in steps])  # (steps, starts)
        exponent, error = mean_and_error([power_law(steps, each).exponent for each in area.T])
        outcome.claims.append(
            Claim(
                "exponent of dt in ∫|Δµ_g| dt, contact dynamics against the exact path",
                exponent,
                error,
                area.shape[1],
                theory=Expected.by_chance(
                    1.0, error, area.shape[1], "where in a step an event falls is chance"
                ),
            )
        )


def _regularised(outcome: Outcome, soft: dict[tuple[float, float], ArrayMotion]) -> None:
    """Molecular dynamics: its steady state and its path against those of C1."""
    exact = _exact(START)
    sticks, end = exact.steady.states == 0, exact.steady.friction
    table: dict[str, list[float]] = defaultdict(list)
    for (sliding, stiffness), motion in sorted(soft.items()):
        window = (motion.time >= SETTLED) & (motion.time <= END)
        away = motion.friction - exact.friction_at(motion.time)
        # arms are shorter by the overlap
        side, plane = motion.normal[-1] / stiffness, motion.normal_plane[-1] / stiffness
        slips = np.zeros(sticks.size)
        slips[0::2] = motion.slip[-1] * (1.0 - 0.5 * side)
        slips[1::2] = motion.velocity[-1] - motion.omega[-1] * (1.0 - plane)
        row = {
            "sliding": sliding, "stiffness": stiffness, "explicit_step": motion.step,
            "steady": motion.friction[-1] - end, "worst_force": _distance(motion, exact.steady),
            "area": SAMPLE * np.abs(away[window]).sum(), "slip": np.abs(slips[sticks]).max(),
        }  # fmt: skip
        _add(table, row)
    outcome.tables["regularised"] = dict(table)
    t = {name: np.array(column) for name, column in table.items()}
    plain, same = t["stiffness"] == STIFFNESS, t["sliding"] == PLAIN
    softness = power_law(t["stiffness"][same], np.abs(t["steady"][same]))
    slip = power_law(t["sliding"][plain], t["slip"][plain])
    low, high = t["sliding"][plain][[0, -1]]
    outcome.claims += [
        Claim(
            f"molecular dynamics, γ_s from {low:g} to {high:g}: worst difference of a force at the"
            " end from the exact steady one [m g]",
            float(t["worst_force"][plain].max()),
            paper=Expected(
                0.0, 0.01 * end, "very close: a hundredth of µ_g would not show in a figure",
                "always very close to that obtained with the C1 law",
            ),
            theory=Expected(
                0.0, FIG3[1] / STIFFNESS, "the largest overlap, in radii: it shortens arms and"
                " tilts contacts",
            ),
        ),
        Claim(
            f"molecular dynamics, γ_s from {low:g} to {high:g}: greatest less smallest µ_g at the"
            " end, over their mean distance from C1's",
            float(np.ptp(t["steady"][plain]) / np.abs(t["steady"][plain]).mean()),
            theory=Expected(
                0.0, 0.01, "what is left of slips at the least γ_s, whose time ends at 20/γ_s",
                "γ_s does not matter: the slip T/γ_s of a sticking contact is constant, as that of"
                " C1 is",
            ),
        ),
        Claim(
            f"exponent of k_n in the distance of µ_g from C1's, k_n from"
            f" {t['stiffness'][same].min():.0e} to {t['stiffness'][same].max():.0e}",
            softness.exponent,
            paper="the limit of rigid particles can be approached by increasing k_n",
            theory=Expected(
                -1.0, 10.0 * FIG3[1] / SOFTNESS[0], "ten times the overlap in radii at the least"
                " k_n, the next order", "overlaps are N/k_n",
            ),
        ),
        Claim(
            f"exponent of γ_s in the largest slip of a contact that should stick, at the end, γ_s"
            f" from {low:g} to {high:g}",
            slip.exponent,
            slip.exponent_error,
            paper="the higher γ_s, the closer to the nonsmooth law; no true nonsliding contact",
            theory=Expected(
                -1.0, FIG3[1] / STIFFNESS, "forces differ by overlaps alone", "slips are T/γ_s"
            ),
        ),
        *(
            Claim(
                f"∫|Δµ_g| dt from t = {SETTLED:g} to {END:g}, molecular dynamics with γ_s = {g:g}"
                " against the exact path [√(r/g)]",
                float(t["area"][plain & (t["sliding"] == g)][0]),
                paper="as soon as the oscillations settle down, similar to the C1 path",
            )
            for g in (1.0, 10.0, 100.0, 1e3)
        ),
    ]  # fmt: skip
    if same.sum() > 2:
        outcome.claims.append(
            Claim(
                f"∫|Δµ_g| dt, γ_s = {PLAIN:g}: exponent of k_n",
                power_law(t["stiffness"][same], t["area"][same]).exponent,
                note="at each event forces jump and the array rings again, for a time in proportion"
                " to 1/γ_n, here to 1/√k_n",
            )
        )


def _oscillations(outcome: Outcome) -> None:
    """The first moments of molecular dynamics, closely: the force in the middle of the array."""
    motion = soft_particles(scene(*FIG3, **_start(START)), 0.6, PLAIN, every=0.002)
    time, force = motion.time, motion.normal[:, MIDDLE]
    outcome.tables["oscillations"] = {"time": time, "force": force, "friction": motion.friction}
    late = time >= 0.1  # faster waves are gone
    ringing = damped_sine(time[late], force[late])
    wave = 2.0 * math.sin(0.5 * math.pi / FIG3[0])
    decay = 0.5 * DAMPING * wave**2
    what = f"molecular dynamics: N_{MIDDLE} from t = 0.1 to 0.6,"
    outcome.claims += [
        Claim(
            f"{what} frequency of its oscillations [√(g/r)]",
            ringing.frequency,
            paper="oscillations at very short time are a consequence of contact elasticity",
            theory=Expected.within(
                math.sqrt(wave**2 * STIFFNESS - decay**2), FIG3[3] * FIG3[4],
                "friction on the plane changes stiffness by a share of µµ' at most",
                "the slowest wave of a row of springs, dashpots and masses with free ends",
            ),
        ),
        Claim(
            f"{what} rate of their decay [√(g/r)]",
            1.0 / ringing.damping_time,
            paper="γ_n mainly determines how fast oscillations are damped away",
            theory=Expected.within(
                decay, FIG3[3] * FIG3[4],
                "friction on the plane changes damping by a share of µµ' at most",
                "the same wave",
            ),
        ),
    ]  # fmt: skip


def _add(table: dict[str, list[float]], row: dict[str, Any]) -> None:
    for column, value in row.items():
        table[column].append(float(value))


_TEXT = (
    "The array of Fig. 1 as a scene in the plane: disks, a plane, two blocks of small mass that are"
    " pushed by the braking and the driving force. The exact solver is given the same block mass."
    "\n\n"
    "Contact dynamics: one step from rest, with all contacts active, already is the steady state,"
    " and every start ends there. Its path is the exact one but for the steps in which a contact"
    " begins or ceases to slide; the area between the two is in proportion to dt. What limits"
    " the forces is where sweeps stop: the residual is a share of the velocities that contacts"
    " give, which are large at light blocks, and errors add up along the array. The lighter the"
    " blocks and the more disks, the more the same residual, 10⁻¹², leaves in the forces."
    "\n\n"
    "Molecular dynamics begins with disks that touch without a force, and rings. Then it"
    " follows C1 the better the larger γ_s is, until what is left is elastic: at each event"
    " forces jump and the array rings again. From γ_s = 1000 on only k_n and γ_n matter. The"
    " steady state does not depend on γ_s: slips of contacts that should stick are T/γ_s,"
    " constant as zero is. It differs from C1's in proportion to 1/k_n, the overlaps. A small"
    " γ_s is late, not wrong. The engine's bound on explicit steps comes from k_n, γ_n and the"
    " light blocks while γ_s is small, and falls like 1/γ_s beyond 1000."
)


def _paths(
    rigid: ArrayMotion, soft: dict[tuple[float, float], ArrayMotion], first: dict[str, Any]
) -> Any:
    exact = _exact(START)
    force = np.array([solution.normal[MIDDLE] for solution in exact.solutions])
    figure, (left, right) = new_figure(1, 2, width_ratios=[1.6, 1.0], width=4.8)
    for axes, value, stop in ((left, exact.friction, END), (right, force, first["time"][-1])):
        edges = np.append(exact.time[exact.time < stop], stop)
        axes.stairs(value[: edges.size - 1], edges, baseline=None, color=COLOURS[0], lw=1.5,
                    label="exact (C1)", zorder=3)  # fmt: skip
    left.plot(rigid.time[::15], rigid.friction[::15], "o", color=COLOURS[5], ms=3.5, zorder=4,
              label="contact dynamics")  # fmt: skip
    for g, colour in zip((1.0, 10.0, 100.0, 1e3), COLOURS[4:0:-1]):
        motion = soft[g, STIFFNESS]
        left.plot(motion.time, motion.friction, color=colour, lw=1, label=f"RC1, γ$_s$ = {g:g}")
    left.set(xlim=(0.0, END), ylim=(0.155, 0.21), xlabel="time [√(r/g)]", ylabel="µ$_g$")
    left.legend(loc="upper right")
    right.plot(first["time"], first["force"], color=COLOURS[1], label=f"RC1, γ$_s$ = {PLAIN:g}")
    right.set(xlabel="time [√(r/g)]", ylabel=f"N$_{MIDDLE}$ [m g]")
    right.legend()
    return figure


def _distances(table: dict[str, Any]) -> Any:
    t = {name: np.array(column) for name, column in table.items()}
    t["steady"] = np.abs(t["steady"])
    figure, (left, middle, right) = new_figure(1, 3, width=3.8)
    markers = dict(zip(SOFTNESS, "^os"))
    for k, colour in zip(SOFTNESS, (COLOURS[3], COLOURS[1], COLOURS[2])):
        mine = t["stiffness"] == k
        for axes, name in ((left, "steady"), (middle, "area"), (right, "explicit_step")):
            axes.loglog(t["sliding"][mine], t[name][mine], markers[k] + "-", color=colour, lw=0.8,
                        label=f"k$_n$ = 2·10$^{math.log10(k / 2.0):.0f}$")  # fmt: skip
    left.set(ylabel="|Δµ$_g$| of the steady state")
    middle.set(ylabel=f"∫|Δµ$_g$| dt from {SETTLED:g} to {END:g} [√(r/g)]")
    right.set(ylabel="explicit step that the engine allows [√(r/g)]")
    for axes in (left, middle, right):
        axes.set(xlabel="γ$_s$ [m√(g/r)]")
    right.legend()
    return figure


EXPERIMENT = Experiment("methods", "The same array by three methods", run)
