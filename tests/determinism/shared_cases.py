"""Small runs, whose bits are printed as JSON: by one process, or by several that share them.

Run by `test_processes.py` with and without mpiexec.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain.processes import world
from hardgrain.solve import rigid

EVERY = {"friction": 0.4, "rolling": 0.1, "restitution": 0.3, "cohesion": 0.05}


def box(dim: int, side: int, piston: float = 0.0, law: Any = None, large: bool = False) -> hg.Scene:
    """Grains near a lattice, that fly about in a box; with a piston, a law, a large grain."""
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * dim), axis=-1).reshape(-1, dim) + 0.5
    d = np.full(len(x), 0.98)
    if large:
        middle = np.abs(x - 0.5 * side).max(axis=1) < 3.2
        x = np.vstack([x[~middle], [[0.5 * side] * dim]])
        d = np.append(d[: len(x) - 1], 5.9)
    pistons = {"top": hg.Piston(mass=piston, force=20.0)} if piston else {}
    return hg.Scene(
        dimension=dim,  # type: ignore[arg-type]
        gravity=[0.0] * (dim - 1) + [-1.0],
        contacts=[hg.ContactLaw(**(law or {"friction": 0.3}))],
        grains=[hg.Grains(place=hg.At(positions=x), diameter=d, speed=0.5)],
        walls=[hg.Box(min=[0.0] * dim, max=[float(side)] * dim, pistons=pistons)],
    )


def sheared() -> hg.Scene:
    """Periodic along x between a floor and a lid that shears; a paddle turns among the grains."""
    side = 16
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * 2), axis=-1).reshape(-1, 2) + 0.5
    x = x[np.abs(x - 0.5 * side).max(axis=1) > 2.0]
    return hg.Scene(
        dimension=2,
        periodic={"x": (0, side)},
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[hg.Grains(place=hg.At(positions=x), diameter=0.98, speed=0.5)],
        walls=[
            hg.Plane(point=[0, 0], normal=[0, 1], name="floor"),
            hg.Plane(point=[0, side], normal=[0, -1], name="lid", velocity=[0.5, 0]),
            hg.Segment(start=[7.2, 8.0], end=[8.8, 8.0], name="paddle", spin=0.3),
        ],
    )


def driven() -> hg.Scene:
    """Two sets of grains: one flies in from the side so fast that a step takes it past many others,
    the other is carried along and pulled."""
    side = 16
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * 2), axis=-1).reshape(-1, 2) + 0.5
    fast = np.array([[side + 3.0 + k, 1.0 + 4.0 * k] for k in range(3)])
    rows = x[:, 1] < 2.0
    return hg.Scene(
        dimension=2,
        gravity=[0.0, -1.0],
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[
            hg.Grains(place=hg.At(positions=x[~rows]), diameter=0.98, speed=0.5),
            hg.Grains(
                place=hg.At(positions=x[rows]), diameter=0.98, speed=0.1,
                driven_velocity=["0.3 * cos(t)", "free"], force=[0, "-2 * cos(3 * t)"],
            ),
            hg.Grains(place=hg.At(positions=fast), diameter=0.9, velocity=[-60.0, 0.0]),
        ],
        walls=[hg.Box(min=[-4.0, -1.0], max=[24.0, 22.0])],
    )  # fmt: skip


def pressed() -> hg.Scene:
    """Sides that are pressed, one by more and more, and weigh as much as all grains."""
    scene = box(2, 14)
    sides = {"x": {"pressure": 5.0}, "y": {"pressure": "5 + 10 * t"}}
    walls = [hg.Box(min=[0.0, 0.0], max=[14.0, 14.0], **sides)]  # type: ignore[arg-type]
    return scene.model_copy(update={"walls": walls, "gravity": None})


CASES: dict[str, tuple[hg.Scene, dict[str, Any]]] = {
    "disks under a piston": (box(2, 18, piston=5.0), {"stop": "residual", "tolerance": 1e-3}),
    "spheres of every law": (box(3, 6, law=EVERY), {"stop": "global", "tolerance": 1e-2}),
    "a large grain": (box(2, 16, large=True), {"stop": "local", "tolerance": 1e-2}),
    "sheared": (sheared(), {"stop": "residual", "tolerance": 1e-2, "unbalanced": 0.5}),
    "pressed": (pressed(), {"stop": "residual", "tolerance": 1e-2}),
    "driven and fast": (driven(), {"stop": "residual", "tolerance": 1e-2}),
}


def simulation(name: str) -> hg.Simulation:
    scene, rule = CASES[name]
    solver = hg.GaussSeidel(order="tiles", sweeps=30, **rule)
    return hg.Simulation(scene, dt=0.05, solver=solver, seed=1)


def bits(sim: hg.Simulation) -> str:
    """A hash of a state; contacts are known to the first process alone."""
    digest, c = hashlib.sha256(), sim.state.contacts
    for name in ("position", "velocity", "spin", "orientation"):
        digest.update(np.ascontiguousarray(getattr(sim.state, name)).tobytes())
    for array in (c.first, c.second, c.normal, c.gap, c.impulse, c.torque):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def outcome(sim: hg.Simulation) -> list[Any]:
    """What a run of some steps leaves, and what it tells of each."""
    reports: list[Any] = []
    sim.run(6, progress=lambda sim, report: reports.append(report))
    return [bits(sim), repr(reports), sim.engine.wall_force.tolist(), len(reports)]


def still(dim: int, side: int, large: bool = False, cohesion: float = 0.0) -> hg.Scene:
    """Grains that touch and rest, under more and more weight; under a piston, or one is large."""
    law = {"friction": 0.3, "cohesion": cohesion}
    bare = box(dim, side, piston=0.0 if large else 5.0, law=law, large=large)
    place = bare.grains[0].place
    assert isinstance(place, hg.At)
    d = np.where(np.asarray(bare.grains[0].diameter) > 1.0, 6.0, 1.0)
    weight = [*[0.0] * (dim - 1), "-30 * t"]
    grains = hg.Grains(place=place, diameter=d.tolist(), force=weight)  # type: ignore[arg-type]
    return bare.model_copy(update={"grains": [grains]})


RIGID: dict[str, tuple[hg.Scene, dict[str, Any]]] = {
    "rigid: disks under a piston": (still(2, 12), {"unbalanced": 1e-4}),
    "rigid: a large grain": (still(2, 16, large=True), {}),
    "rigid: cohesion": (still(2, 8, cohesion=0.05), {}),
    "rigid: spheres": (still(3, 5), {}),
}


class Telling(hg.RigidSolver):
    """A rigid solver whose stages are kept."""

    def _solve(self, problem: Any, seed: int, step: int) -> Any:
        found = super()._solve(problem, seed, step)
        stages.extend((s.method, s.number, s.residual) for s in found.history)
        return found


stages: list[tuple[str, int, float]] = []


def at_rest(name: str) -> list[Any]:
    """Steps in which sweeps are given up soon, and what the stages after them found."""
    scene, more = RIGID[name]
    stages.clear()
    solver = Telling(order="tiles", tolerance=1e-7, sweeps=3000, **more)
    sim = hg.Simulation(scene, dt=0.02, solver=solver, seed=1)
    sim.run(3, progress=False)
    assert sim.report is not None
    assert sim.report.converged
    return [bits(sim), list(stages)]


def changed() -> list[Any]:
    """A run whose state is changed by hand, which another one begins with, in another order."""
    sim = simulation("disks under a piston")
    sim.run(3, progress=False)
    sim.state.velocity[: sim.model.n] *= 0.5  # of no grain but in the first process
    sim.run(5, progress=False)
    found = [bits(sim), sim.report]
    scenario = sim.scenario
    other = hg.Simulation(
        scenario.scene, dt=scenario.dt, solver=scenario.solver, start=sim.state.copy()
    )
    other.sort()
    other.step()
    other.state = other.state.copy()
    found += [other.step(), bits(other)]
    return [repr(one) for one in found]


def main() -> None:
    found = {"changed by hand": changed()}
    for name in CASES:
        found[name] = outcome(simulation(name))
    rigid.LEAST, rigid.PATIENCE = 40, dict.fromkeys((2, 3), 1e-9)  # sweeps end soon
    rigid.GRADIENTS = dict.fromkeys((2, 3), 50.0)
    for name in RIGID:
        found[name] = at_rest(name)
    if world().leads:
        print(json.dumps({"processes": world().size, **found}))


if __name__ == "__main__":
    sys.exit(main())
