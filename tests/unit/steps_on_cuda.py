"""Whole steps on CUDA against those of the CPU: the largest differences, as JSON.

    python tests/unit/steps_on_cuda.py

runs on a GPU; without one, on Numba's simulator (NUMBA_ENABLE_CUDASIM=1), where a sweep takes a
tenth of a second. A few grains fall onto each other, in a box, in a turning drum and under a
piston, or with one that lies ``apart``; then one step is made by both, from the same state, and
once more on the device. Few grains are swept all together; ``tiles`` is the box swept tile by tile,
as many grains are.

``stages`` is the box at rest without friction, where six forces are unique, with impulses that no
longer fit, solved by the rigid solver where sweeps and gradients give up at once, so that the host
goes on; ``held`` and ``spheres`` compare gradients themselves. ``resume`` and ``handed`` go on with
a run that a processor began, by sweeps and by the rigid solver.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain.cuda import cutting
from hardgrain.cuda.api import SIMULATED, host, xp
from hardgrain.cuda.gradient import RATE, SCALE
from hardgrain.cuda.room import BYTES
from hardgrain.cuda.stepper import SPARE, Stepper
from hardgrain.run.simulation import Simulation
from hardgrain.solve import gradient, rigid
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.rigid import RigidSolver
from hardgrain.solve.task import StepTask
from hardgrain.step import device_dynamics, device_task
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.device_dynamics import DeviceDynamics

TOLERANCE = 1e-5 if SIMULATED else 1e-7
TOGETHER = cutting.TOGETHER
# Of gradients: the third begins beyond the last impulses, and the fourth feels what that led to.
ITERATIONS = 4
LOW, HIGH = [0.0, 0.0], [2.5, 4.0]


def scene(which: str) -> hg.Scene:
    rolling = 0.05 if which == "rolling" else 0.0
    law = hg.ContactLaw(friction=0.0 if which == "stages" else 0.3, rolling=rolling)
    places = [[0.6, 0.6], [1.7, 0.7], [1.1, 1.6]]
    if which == "apart":  # too many cells for the list that the device makes
        places[1:] = [[0.65, 1.7], [20_000.6, 0.6]]
    at = hg.At(positions=places)
    walls = {
        "apart": [hg.Box(min=LOW, max=[20_002.0, 4.0])],
        "box": [hg.Box(min=LOW, max=HIGH)],
        "stages": [hg.Box(min=LOW, max=HIGH)],
        "tiles": [hg.Box(min=LOW, max=HIGH)],
        "rolling": [hg.Box(min=LOW, max=HIGH)],
        "drum": [hg.Drum(center=[1.15, 1.2], radius=1.6, spin=0.5)],
        "piston": [
            hg.Box(min=LOW, max=[2.5, 2.2], pistons={"top": hg.Piston(mass=2.0, force=1.0)})
        ],
    }[which]
    return hg.Scene(
        dimension=2, gravity=[0.0, -1.0], contacts=[law], walls=walls,
        grains=[hg.Grains(count=3, diameter=1.0, place=at)],
    )  # fmt: skip


def solver(which: str, order: str) -> GaussSeidel | RigidSolver:
    if which == "stages":
        return RigidSolver(tolerance=TOLERANCE, order="tiles" if order == "tiles" else "sequential")
    if which == "handed":
        return RigidSolver(tolerance=TOLERANCE)
    return GaussSeidel(order=order, sweeps=300, stop="residual", tolerance=TOLERANCE)  # type: ignore[arg-type]


def hasty() -> list[str]:
    """Let sweeps and gradients on the device give up at once; the stages that a step then took."""
    taken: list[str] = []

    def watched(*args: Any) -> Any:
        found = rigid.search(*args)
        taken.extend(stage.method for stage in found.history)
        return found

    rigid.LEAST, rigid.PROBE, rigid.POLISH = 0, 1, 1
    gradient.LOOK = device_task.GRADIENTS = 2
    device_dynamics.search = watched
    return taken


def differences(which: str) -> dict[str, float]:
    cutting.TOGETHER = 0.0 if which == "tiles" else TOGETHER
    stands = which == "stages"
    sim = Simulation(hg.Scenario(scene=scene(which), dt=0.02, seed=1, solver=GaussSeidel()))
    for _ in range(600 if stands else 60):
        sim.step()
    if stands:
        sim.state.contacts.impulse *= 0.5
    made, stages = [], hasty() if stands else []
    kinds = [(ContactDynamics, "random"), (DeviceDynamics, "tiles")]
    for kind, order in kinds if SIMULATED else [*kinds, kinds[-1]]:
        engine = kind(sim.model, solver(which, order), sim.dt, 1)
        state = sim.state.copy()
        made.append((engine.advance(state), state, engine))
    (mine, here, one), (theirs, there, other), (_, again, _) = made[0], made[1], made[-1]
    worst = max(
        abs(getattr(mine, name) - getattr(theirs, name))
        for name in (
            "kinetic",
            "dissipated",
            "work_external",
            "work_driven",
            "worst_overlap",
            "fastest",
        )
    )
    return {
        "tolerance": TOLERANCE,
        "contacts": float(mine.candidates - theirs.candidates),
        "loaded": float(theirs.loaded),
        "velocity": float(abs(here.velocity - there.velocity).max()),
        "place": float(abs(here.position - there.position).max()),
        "report": worst,
        "wall": float(abs(one.wall_force - other.wall_force).max()),
        "again": float(not np.array_equal(there.velocity, again.velocity)),
        "converged": float(theirs.converged),
        "gradients": float("gradients" in stages),
        "path": float("path" in stages),
    }


def gradients(which: str) -> dict[str, float]:
    """Iterations from the same impulses with the same lengths of steps, here and on the device."""
    if which == "held":  # a wall that can be pushed, and grains that stick to each other
        law = hg.ContactLaw(friction=0.3, cohesion=0.5, cohesion_range=0.01)
        made = scene("piston").model_copy(update={"contacts": [law]})
    else:
        at = hg.At(positions=[[0.6, 0.6, 0.6], [1.7, 0.6, 0.7], [1.1, 0.6, 1.6]])
        made = hg.Scene(
            dimension=3, gravity=[0.0, 0.0, -1.0], contacts=[hg.ContactLaw(friction=0.3)],
            grains=[hg.Grains(count=3, diameter=1.0, place=at)],
            walls=[hg.Box(min=[0.0, 0.0, 0.0], max=[2.2, 1.2, 4.0])],
        )  # fmt: skip
    sim = Simulation(hg.Scenario(scene=made, dt=0.02, seed=1, solver=GaussSeidel()))
    for _ in range(100):
        sim.step()
    engine = DeviceDynamics(sim.model, RigidSolver(order="tiles"), sim.dt, 1)
    found: dict[str, float] = {}

    def compare() -> int:
        problem = engine._problem_here(sim.state)
        here, there = StepTask(problem), device_task.DeviceTask(engine._stepper, lambda: problem)
        bodies, mu, start = here.whole()
        mine = gradient.Descent(bodies, mu)
        theirs = device_task.DeviceDescent(engine._stepper, there._residual)
        one, other = mine.begin(start.reshape(bodies.q.shape)), theirs.begin(there.start)
        steps = other.c[:, SCALE] * other.known[RATE]
        found["step"] = float((steps / mine.given.step).max())
        other.c[:, SCALE] = xp.asarray(mine.given.step)
        other.known[RATE] = 1.0
        mine.go_on(one, 1.0, ITERATIONS)
        theirs.go_on(other, 1.0, ITERATIONS)
        p = here.impulse(one.r)[:, : here.dim]  # without torques
        q = host(theirs.pushes(other.r))
        found["impulse"] = float(abs(p - q).max() / abs(p).max())
        found["loaded"] = float(abs(p).any(axis=1).sum())
        found["moved"] = float(abs(p - problem.impulse).max() / abs(p).max())
        found["pull"] = float(-np.einsum("ka,ka->k", p, problem.normal).min())
        return 0

    own = engine._stepper
    own.load(sim.state, True)
    engine._load(sim.state, 0)
    own.step(sim.state.step, engine._sweeps().until, 1, False, 1, compare)
    return found


def grain_bytes() -> float:
    """Memory of the arrays of a stepper, for each of 4096 disks with 2.2 contacts [byte]."""
    x, y = np.meshgrid(*[np.arange(64.0)] * 2)
    place = hg.At(positions=np.c_[x.ravel(), y.ravel()].tolist())
    model, _ = hg.Scene(dimension=2, gravity=[0, 0], grains=[hg.Grains(place=place)]).build(0)
    own = Stepper(model, 0.01, np.zeros(model.n), np.zeros(2), np.zeros(model.n, bool))
    rows = int(SPARE * 2.2 * model.n)
    own.held, own.old, own.spare = (own._make_held(rows) for _ in range(3))
    own.problem, number = own._make_problem(rows, 0), np.zeros(rows, np.int32)
    own.tiles = own.tiles._replace(stored=number, left=number.copy())
    found: dict[int, int] = {}

    def take(x: Any) -> None:
        if isinstance(x, np.ndarray):
            found[id(x)] = x.nbytes
        elif isinstance(x, tuple):
            [take(y) for y in x]

    take(tuple(vars(own).values()))
    return sum(found.values()) / model.n


def resumed(which: str) -> dict[str, float]:
    """A run that a processor began and the device goes on with, against one on the processor."""
    way = solver(which, "tiles")
    made = hg.Scenario(scene=scene("box"), dt=0.02, seed=1, solver=way)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.h5", "b.h5"):
            Simulation(made).run(40, output=Path(folder, name), progress=False)
        here, _ = Simulation.resume(Path(folder, "a.h5"), until=42, progress=False)
        there, summary = Simulation.resume(
            Path(folder, "b.h5"), until=42, device="cuda", progress=False
        )
    return {
        "tolerance": TOLERANCE,
        "place": float(abs(here.state.position - there.state.position).max()),
        "told": float(any("not those of a run on one device" in w for w in summary.warnings)),
        "room": grain_bytes() / BYTES[True, 2],
    }


if __name__ == "__main__":
    from hardgrain.cuda.present import usable

    if usable() is not None:
        print("no GPU here", file=sys.stderr)
        sys.exit(1)
    ways = {"resume": resumed, "handed": resumed, "held": gradients, "spheres": gradients}
    print(json.dumps({name: ways.get(name, differences)(name) for name in sys.argv[1:]}))
