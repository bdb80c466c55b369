"""Two sources of error: normals that turn within a step, and sweeps that end too early.

*Turning normals.* A disk slides along the inside of a circle, without friction and gravity. A step
of the review uses the normal at its start, so that the disk moves along a tangent and gets into the
wall. With ρ the distance from the centre and v the speed a step is

    ρ² ← ρ² + (v dt)²,    ρ v stays,

exactly: in a given time the disk gets (v² T / 2ρ) dt too far, and its speed along the wall falls by
as much. No sweeps would help: there is one contact only, and it is solved exactly. A step that is
implicit in full uses the normal at its end: the disk moves along a chord, of an angle θ with

    (ρ/dt) sin θ = v cos(θ' + θ),    v the last speed, θ' half of the last angle,

and stays on the circle. What is left is the speed, of which the chord loses twice as much as the
tangent does: first order, as implicit Euler is.

*Unfinished sweeps.* A straight chain that sags under a load: no normal turns. The sag is that of
springs q N_I/dt², of the second order in dt, and falls with the number of sweeps.
"""

from __future__ import annotations

import math
from typing import Any, Literal

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
from hardgrain.step.engine import RigidGrains
from hardgrain.theory import chain as theory

__all__ = ["EXPERIMENT"]

ROOM = 1.0  # distance of the disk's centre from that of the circle
TIME = 1.0  # at speed 1 the disk moves by one radian
Geometry = Literal["start", "end"]
GEOMETRIES: tuple[Geometry, ...] = ("start", "end")
STEPS = (16, 32, 64, 128, 256)  # numbers of steps in that time, for the order in dt
CHAIN = 30  # number of disks of the chain in which sweeps leave an error
SWEEPS = (20, 40, 80)  # N_I of these


# ---------------------------------------------------------------------- turning normals
def _turned(steps: int, geometry: Geometry) -> tuple[float, float]:
    """Overlap with the circle, and share of the speed that is lost, after the time."""
    scene = Scene(
        contacts=[ContactLaw(friction=0.0)],
        grains=[Grains(diameter=1.0, place=At(positions=((0.0, -ROOM),)))],
        walls=[Cylinder(point=[0.0, 0.0], radius=ROOM + 0.5)],
    )
    sim = Simulation(
        scene, dt=TIME / steps, solver=GaussSeidel(sweeps=1), engine=RigidGrains(geometry=geometry)
    )
    sim.state.velocity[0] = 1.0, 0.0
    for _ in range(steps):
        sim.step()
    return math.hypot(*sim.state.position[0]) - ROOM, 1.0 - math.hypot(*sim.state.velocity[0])


def _tangents(steps: int) -> tuple[float, float]:
    """Both errors by the closed form of a step with the normal at its start."""
    room, dt, last = ROOM, TIME / steps, 1.0
    for _ in range(steps):
        last = ROOM / room  # a step ends with the velocity along the tangent at its start
        room = math.hypot(room, last * dt)
    return room - ROOM, 1.0 - last


def _chords(steps: int) -> tuple[float, float]:
    """Both errors by the closed form of a step with the normal at its end."""
    from scipy.optimize import brentq

    dt = TIME / steps

    def miss(angle: float, speed: float, half: float) -> float:
        return ROOM / dt * math.sin(angle) - speed * math.cos(half + angle)

    speed, half = 1.0, 0.0
    for _ in range(steps):
        angle = brentq(miss, 0.0, 2.0 * dt, (speed, half), xtol=1e-16, rtol=1e-14)
        speed, half = 2.0 * ROOM / dt * math.sin(0.5 * angle), 0.5 * angle
    return 0.0, 1.0 - speed


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
    """Measure both errors, against dt and against the number of sweeps."""
    seeds = 8 if quick else 32
    dt = TIME / np.array(STEPS, dtype=float)
    turned = {g: np.array([_turned(steps, g) for steps in STEPS]) for g in GEOMETRIES}
    claims = _of_turning(dt, turned)
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
        "turning": {
            "dt": dt,
            **{f"overlap_{g}": turned[g][:, 0] for g in GEOMETRIES},
            **{f"loss_{g}": turned[g][:, 1] for g in GEOMETRIES},
        },
        "sweeps": {"sweeps": SWEEPS, "sag": each.mean(axis=0), "exact_map": springs},
    }
    figures = {"errors": _figure(tables)}
    return Outcome(claims, tables, figures, TEXT, range(seeds))


def _of_turning(dt: Floats, turned: dict[Geometry, Floats]) -> list[Claim]:
    """Judge both versions of a step by their closed forms, and their orders."""
    exact = {
        "start": np.array([_tangents(steps) for steps in STEPS]),
        "end": np.array([_chords(steps) for steps in STEPS]),
    }
    small = "can typically be neglected where grains move little in a step"
    fewest, most = STEPS[0], STEPS[-1]
    claims = []
    for g in GEOMETRIES:
        what = (
            f"disk along a circle, {fewest} to {most} steps a radian, normals at the {g} of a step"
        )
        # The geometry at the end is iterated to `RigidGrains.tolerance` of a radius.
        left = 1e-9 if g == "start" else 0.5 * RigidGrains(geometry="end").tolerance * most
        reason = "rounding" if g == "start" else "the iteration's tolerance, if all steps add up"
        off = np.abs(turned[g] - exact[g]).max(axis=0)
        for i, name in enumerate(("overlap [d]", "share of speed lost")):
            claims.append(
                Claim(
                    f"{name}, largest deviation from the closed form, {what}",
                    float(off[i]),
                    theory=Expected(0.0, left * (1.0 if i == 0 else most), reason),
                )
            )
        claims.append(
            Claim(
                f"order in dt of the share of speed lost, normals at the {g} of a step",
                _order(dt, turned[g][:, 1]),
                theory=Expected(1.0, 2.0 * float(dt[-2]) * (1.0 if g == "start" else 2.0),
                                "the next order in dt", "implicit Euler"),
            )
        )  # fmt: skip
    claims.append(
        Claim(
            "order in dt of the overlap, normals at the start of a step",
            _order(dt, turned["start"][:, 0]),
            paper=small,
            theory=Expected(1.0, 2.0 * float(dt[-2]), "the next order in dt", "(v² T / 2ρ) dt"),
        )
    )
    claims.append(
        Claim(
            f"overlap with normals at the end of a step over that at its start, {most} steps a"
            " radian",
            abs(float(turned["end"][-1, 0] / turned["start"][-1, 0])),
            theory=Expected(
                0.0, 0.5 * RigidGrains(geometry="end").tolerance * most
                / float(turned["start"][-1, 0]), "the iteration's tolerance, if all steps add up",
            ),
        )
    )  # fmt: skip
    return claims


def _order(dt: Floats, y: Floats) -> float:
    """Order of the error, from the two shortest steps."""
    return float(math.log(y[-2] / y[-1]) / math.log(dt[-2] / dt[-1]))


def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    t = tables["turning"]
    left.loglog(t["dt"], t["overlap_start"], "o", color=COLOURS[1], label="overlap")
    for g, colour in zip(GEOMETRIES, COLOURS[2:]):
        left.loglog(t["dt"], t[f"loss_{g}"], "s", color=colour, label=f"speed lost, normals at {g}")
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
A step of the review takes the normals as they are at its start. A disk that slides along a circle
therefore leaves it along a tangent in every step, and gets into the wall, of the first order in dt,
whatever the number of sweeps. With the normals at the end of the step, found by iteration, it stays
on the circle; its speed falls by the first order in dt in both versions, twice as fast in the
second. Sweeps that end too early leave springs instead: of the second order in dt, and the less the
more sweeps."""

EXPERIMENT = Experiment("errors", "Two sources of error: turning normals, unfinished sweeps", run)
