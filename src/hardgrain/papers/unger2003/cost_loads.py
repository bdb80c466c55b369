"""Packings at rest that get a new load, and what a step then costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hardgrain.core.model import State
from hardgrain.papers.unger2002 import packing, row
from hardgrain.papers.unger2003.cost_relaxation import (
    FIXED,
    MORE,
    NEARLY,
    TOLERANCES,
    Relaxation,
    relaxation,
)
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import Box, ContactLaw, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.contact_dynamics import ContactDynamics

__all__ = ["COLUMN", "COLUMNS", "Result", "Task", "cost_of", "settled"]

AXES: tuple[Literal["x", "y"], ...] = ("x", "y")


def settled(
    seed: int,
    grains: int,
    dim: Literal[2, 3],
    width: float,
    friction: float,
    periodic: bool = False,
) -> tuple[Scene, State]:
    """Grains as in `packing`, let fall into a box with an open top, at rest.

    Units: mean diameter, density of the grains, gravity. ``periodic``: without side walls.
    """
    size = [width] * (dim - 1) + [1.8 * grains / width ** (dim - 1)]  # enough to deposit in
    sides = ["left", "right", "front", "back"][: 2 * (dim - 1)]
    scene = Scene(
        dimension=dim,
        gravity=[0.0] * (dim - 1) + [-1.0],
        periodic=dict.fromkeys(AXES[: dim - 1], (0.0, width)) if periodic else {},
        contacts=[ContactLaw(friction=friction)],
        grains=[
            Grains(
                count=grains,
                diameter=Uniform(min=2.0 / 3.0, max=4.0 / 3.0),
                place=Deposit(min=(0.0,) * dim, max=tuple(size)),
            )
        ],
        walls=[Box(min=[0.0] * dim, max=size, open=["top", *(sides if periodic else [])])],
        allow_overlaps=True,  # those that the run itself has made
    )
    sim = Simulation(scene, dt=0.05, solver=GaussSeidel(sweeps=100), seed=seed)
    for _ in range(20):
        sim.run(until=[_balanced, sim.state.step + 1000], progress=False)
        # Stopped in their motion, grains that nothing holds fall again, and not only creep.
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
        sim.run(until=sim.state.step + 20, progress=False)
        if sim.quiet(1e-4, 20):
            break
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
    return scene, sim.state


def _balanced(sim: Simulation) -> bool:
    """Whether grains are at rest to 10⁻⁶ of the load, where the claims need 10⁻³."""
    return sim.quiet(0.01, 20) and sim.report is not None and sim.report.residual < 1e-6


# Columns of grains with side walls, or periodic instead: width [d] and friction.
COLUMN = {"width": 10.0, "friction": 0.3}
COLUMNS = ("walls", "without")


@dataclass(frozen=True)
class Task:
    """A system to be prepared, loaded and watched."""

    system: str  # "chain", "2D", "3D"; a column between "walls", or one "without" them
    load: str  # "piston" or "gravity"
    grains: int
    seed: int
    cold: bool = True  # whether to solve it also from no forces at all


@dataclass(frozen=True)
class Result:
    """What came of a task."""

    task: Task
    length: float  # L, along the load [mean diameter]
    warm: Relaxation  # from the forces under the old load
    cold: Relaxation | None  # from no forces; None for columns
    second: float  # CPU time of a sweep [s]

    def arrival(self, missing: float = NEARLY) -> float:
        """Sweeps until all but this share of the added load has reached the fixed walls."""
        return self.warm.when("left", missing)


def cost_of(task: Task) -> Result:
    sim, length = _loaded(task)
    axis = 0 if task.system == "chain" else -1
    warm = relaxation(sim, "previous", axis)
    cold = (
        None
        if not task.cold or task.system in COLUMNS
        else relaxation(sim, "zero", axis, TOLERANCES[0])
    )
    # all other work of a step cancels
    second = (_cpu_time(sim, FIXED + 1) - _cpu_time(sim, 1)) / FIXED
    return Result(task, length, warm, cold, second)


def _cpu_time(sim: Simulation, sweeps: int) -> float:
    """CPU time of the next step, the least of five measurements [s]."""
    engine = ContactDynamics(sim.model, GaussSeidel(sweeps=sweeps), sim.dt, sim.scenario.seed)
    seconds = []
    for _ in range(5):
        state, start = sim.state.copy(), time.process_time()
        engine.advance(state)
        seconds.append(time.process_time() - start)
    return min(seconds)


def _loaded(task: Task) -> tuple[Simulation, float]:
    """The system with its new load and its old forces, and its length along the load."""
    n, seed = task.grains, task.seed
    if task.system == "chain":
        return _loaded_chain(n, seed, task.load), float(n)
    if task.load == "piston":
        pack = packing.prepared(seed, n, int(task.system[0]), periodic=task.system == "3D")
        scene, state, length = packing.loaded(pack.scene, MORE), pack.state, pack.height
        return Simulation(scene, dt=packing.DT, seed=seed, start=state), length
    if task.system in ("2D", "3D"):  # the box is as wide as under the piston
        dim: Literal[2, 3] = 2 if task.system == "2D" else 3
        width = packing.SLENDER[dim] * n ** (1.0 / dim)
        scene, state = settled(seed, n, dim, width, packing.FRICTION, periodic=dim == 3)
    else:
        scene, state = settled(seed, n, 2, **COLUMN, periodic=task.system == "without")
    assert scene.gravity is not None
    more = scene.model_copy(update={"gravity": [MORE * g for g in scene.gravity]})
    sim = Simulation(more, dt=0.05, seed=seed, start=state)
    mass = sim.model.mass[:n]
    return sim, 2.0 * float(mass @ state.position[:n, -1] / mass.sum())  # height of an even packing


def _loaded_chain(n: int, seed: int, load: str) -> Simulation:
    if load == "piston":
        return row.at_rest(n, 1, seed=seed, force=MORE * row.LOAD)
    light = row.at_rest(n, 1, seed=seed, force=0.0)
    scene = light.scenario.scene.model_copy(update={"gravity": [-MORE * row.LOAD, 0.0]})
    sim = Simulation(scene, dt=light.dt, seed=seed, start=light.state)
    c = sim.state.contacts
    above = np.where(c.second == n, n, n - 1 - c.first)  # grains that a contact carries
    c.impulse = (above * row.LOAD * sim.dt)[:, None] * c.normal
    return sim
