"""Two sources of error: normals that turn within a step, and sweeps that end too early.

*Turning normals.* A disk slides along the inside of a circle, without friction and gravity. A step
uses the normal at its start, so that the disk moves along a tangent and gets into the wall. With ρ
the distance from the centre and v the speed a step is

    ρ² ← ρ² + (v dt)²,    ρ v stays,

exactly: in a given time the disk gets (v² T / 2ρ) dt too far and loses as much of its speed, of the
first order in dt. No sweeps would help: there is one contact only, and it is solved exactly.

*Unfinished sweeps.* A straight chain that sags under a load: no normal turns. The sag is that of
springs q N_I/dt², of the second order in dt, and falls with the number of sweeps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error, power_law
from hardgrain.papers.unger2002.elasticity import step_shrinkage
from hardgrain.papers.unger2002.row import LOAD, at_rest, wavenumber
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Cylinder, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.theory import chain as theory

__all__ = ["EXPERIMENT"]

ROOM = 1.0  # distance of the disk's centre from that of the circle
TIME = 1.0  # at speed 1: one radian
STEPS = (16, 32, 64, 128, 256)
CHAIN = 30
SWEEPS = (20, 40, 80)


# ---------------------------------------------------------------------- turning normals
def _turned(steps: int) -> tuple[float, float]:
    """Overlap with the circle, and share of the speed that is lost, after the time."""
    scene = Scene(
        contacts=[ContactLaw(friction=0.0)],
        grains=[Grains(diameter=1.0, place=At(positions=((0.0, -ROOM),)))],
        walls=[Cylinder(point=[0.0, 0.0], radius=ROOM + 0.5)],
    )
    sim = Simulation(scene, dt=TIME / steps, solver=GaussSeidel(sweeps=1))
    sim.state.velocity[0] = 1.0, 0.0
    for _ in range(steps):
        sim.step()
    return math.hypot(*sim.state.position[0]) - ROOM, 1.0 - math.hypot(*sim.state.velocity[0])


def _recursion(steps: int) -> tuple[float, float]:
    """The same by the closed form of a step."""
    room, dt = ROOM, TIME / steps
    for _ in range(steps):
        room = math.hypot(room, ROOM / room * dt)
    # the last step's velocity is still along the tangent at its start
    last = math.sqrt(room**2 - (ROOM / _before(room, dt) * dt) ** 2)
    return room - ROOM, 1.0 - ROOM / last


def _before(room: float, dt: float) -> float:
    """ρ before a step: ρ'² = ρ² + (ROOM dt/ρ)²."""
    square = room**2
    return math.sqrt(0.5 * (square + math.sqrt(square**2 - 4.0 * (ROOM * dt) ** 2)))


# ---------------------------------------------------------------------- unfinished sweeps
def _sag(job: tuple[int, float, int]) -> float:
    """How far a chain at rest gives way in the end if its load doubles [d]."""
    sweeps, dt, seed = job
    sim = at_rest(CHAIN, sweeps, seed=seed, dt=dt, force=2.0 * LOAD)
    start = sim.state.position[CHAIN - 1, 0]
    for _ in range(math.ceil(9.0 * theory.damping_time(wavenumber(1, CHAIN), sweeps))):
        sim.step()
    return float(start - sim.state.position[CHAIN - 1, 0])


# ---------------------------------------------------------------------- the experiment
def run(quick: bool) -> Outcome:
    """Both errors, against dt and against the number of sweeps."""
    seeds = 8 if quick else 32
    turned = np.array([_turned(steps) for steps in STEPS])
    exact = np.array([_recursion(steps) for steps in STEPS])
    dt = TIME / np.array(STEPS, dtype=float)
    small = "can typically be neglected where grains move little in a step"
    claims = [
        Claim(
            f"disk along a circle, {STEPS[0]} to {STEPS[-1]} steps a radian: {what}, largest"
            " relative deviation from the closed form of a step",
            float(np.abs(turned[:, i] / exact[:, i] - 1.0).max()),
            theory=Expected(0.0, 1e-9, "rounding, of which so small an overlap has little left"),
        )
        for i, what in enumerate(("overlap", "loss of speed"))
    ]
    claims += [
        Claim(
            f"order in dt of the {what}, disk along a circle, {STEPS[-2]} and {STEPS[-1]} steps a"
            " radian",
            _order(dt, turned[:, i]),
            paper=small,
            theory=Expected(
                1.0, 2.0 * float(dt[-2]), "the next order in dt, of ρ and of v", "(v² T / 2ρ) dt"
            ),
        )
        for i, what in enumerate(("overlap", "loss of speed"))
    ]
    jobs = [(n, 1.0, seed) for n in SWEEPS for seed in range(seeds)]
    jobs += [(SWEEPS[-1], 0.5, seed) for seed in range(seeds)]
    sag = dict(zip(jobs, pmap(_sag, jobs)))
    each = np.array([[sag[n, 1.0, s] for n in SWEEPS] for s in range(seeds)])
    falls, error = mean_and_error([power_law(SWEEPS, row).exponent for row in each])
    springs = [step_shrinkage(LOAD, CHAIN, n) for n in SWEEPS]
    whole, half = (np.mean([sag[SWEEPS[-1], t, s] for s in range(seeds)]) for t in (1.0, 0.5))
    halved = math.log2(float(whole / half))
    claims += [
        Claim(
            f"order in dt of the sag of {CHAIN} disks, {SWEEPS[-1]} sweeps",
            halved,
            theory=Expected(2.0, 1e-6, "rounding: with so many sweeps dt is the only time there is",
                            "κ = q m N_I/dt²"),
        ),
        Claim(
            f"exponent of the sag in N_I, {SWEEPS[0]} to {SWEEPS[-1]}, {CHAIN} disks",
            falls,
            error,
            seeds,
            paper="the loop is necessarily broken after finitely many steps: the main reason",
            theory=Expected.by_chance(
                power_law(SWEEPS, springs).exponent, error, seeds, "exact map of a step; −1 for"
                " long chains",
            ),
        ),
    ]  # fmt: skip
    tables = {
        "turning": {"dt": dt, "overlap": turned[:, 0], "loss": turned[:, 1]},
        "sweeps": {"sweeps": SWEEPS, "sag": each.mean(axis=0), "exact_map": springs},
    }
    figures = {"errors": _figure(tables)}
    return Outcome(claims, tables, figures, TEXT, range(seeds))


def _order(dt: Floats, y: Floats) -> float:
    """Between the two shortest steps."""
    return float(math.log(y[-2] / y[-1]) / math.log(dt[-2] / dt[-1]))


def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    t = tables["turning"]
    left.loglog(t["dt"], t["overlap"], "o", color=COLOURS[1], label="overlap")
    left.loglog(t["dt"], t["loss"], "s", color=COLOURS[2], label="loss of speed")
    left.loglog(t["dt"], 0.5 * t["dt"], color=GREY, lw=0.8, label="½ dt")
    left.set(xlabel="dt", title="turning normals: a disk along a circle")
    s = tables["sweeps"]
    right.loglog(s["sweeps"], s["sag"], "o", color=COLOURS[1], label="measured")
    right.loglog(s["sweeps"], s["exact_map"], color=COLOURS[2], lw=0.8, label="exact map")
    right.set(xlabel="sweeps a step", ylabel="sag [d]", title="unfinished sweeps: a chain")
    left.legend()
    right.legend()
    return figure


TEXT = """\
A step takes the normals as they are at its start. A disk that slides along a circle therefore
leaves it along a tangent in every step. What it gains in overlap and loses in speed is of the first
order in dt, whatever the number of sweeps. Sweeps that end too early leave springs instead: of the
second order in dt, and the less the more sweeps. Where steps are short and sweeps many, the first
error is what is left."""

EXPERIMENT = Experiment("errors", "Two sources of error: turning normals, unfinished sweeps", run)
