"""How long a run will take: speed measured on this machine, work foreseen from the scene."""

from __future__ import annotations

import math
import time

import numpy as np

from hardgrain.core.model import Model
from hardgrain.measure.rigidity import Rigidity
from hardgrain.run.rehearsal import Rehearsal
from hardgrain.run.scenario import Scenario
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Box, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import RigidGrains

__all__ = ["SURE", "run_seconds"]

# [1] Factor by which moments of a rough run may miss a whole one, besides their own spread. It
# widens the range of times that is told; if it is smaller, runs take longer than they were said to.
SURE = 2.0

# [contacts per grain] Each contact counted once: the isostatic number of frictionless grains, which
# those with friction do not exceed. Times that are told grow in proportion.
CONTACTS = {2: 2.0, 3: 3.0}

# [sweeps] Sweeps that cost as much as the path of the rigid solver, by dimension; no step of it
# needs more. They bound the time that is told.
AT_ONCE = {2: 7_000, 3: 20_000}
# [grains] Size of the lattice on which the speed of this machine is measured, at most. It is large
# enough to leave the cache, as real packings do, and small enough to be made at once.
PROBE = 20_000
# [s] Time of that measurement, long enough for a figure good to ten percent.
PROBE_SECONDS = 0.3


def run_seconds(
    scenario: Scenario,
    model: Model,
    rehearsal: Rehearsal,
    expected: Rigidity,
    needed: list[int],
    foreseen: bool,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of the time that the run takes, as written and with the sweeps that rigidity needs."""
    mean, error = rehearsal.step_seconds
    low, high = mean / SURE, SURE * (mean + error)
    solving = sum(m.solving for m in rehearsal.moments) / len(rehearsal.moments)
    sweeps = [r.sweeps for r in rehearsal.reports]
    each = solving / (sum(sweeps) / len(sweeps)) if sweeps else 0.0
    if foreseen:
        updates_per_second, overhead = _probe(scenario, model)
        each = CONTACTS[model.dim] * model.n / updates_per_second
        many = expected.sweeps
        if expected.at_once:
            many = float(min(max(needed), AT_ONCE[model.dim]))
        high = max(high, SURE * (overhead + each * many))
    elif rehearsal.share < 1.0:  # later steps may be as hard as the hardest moment so far
        hardest = max(m.seconds for m in rehearsal.moments)
        high += SURE * (1.0 - rehearsal.share) * max(hardest - mean, 0.0)
    more = max(mean - solving, 0.0)
    rigid = (more + each * min(needed)) / SURE, SURE * (more + each * max(needed))
    fewest, most = rehearsal.least, rehearsal.steps
    return (fewest * low, most * high), (fewest * rigid[0], most * rigid[1])


def _probe(scenario: Scenario, model: Model) -> tuple[float, float]:
    """Contact updates a second on a packed lattice, and seconds of a step besides its sweeps."""
    side = math.ceil(min(model.n, PROBE) ** (1.0 / model.dim))
    axes = np.meshgrid(*[np.arange(side) + 0.5] * model.dim, indexing="ij")
    places = np.stack([a.ravel() for a in axes], axis=1)[: min(model.n, PROBE)]
    scene = Scene(
        dimension=2 if model.dim == 2 else 3,
        gravity=[*[0.0] * (model.dim - 1), -1.0],
        grains=[Grains(place=At(positions=places.tolist()))],
        walls=[Box(min=[0.0] * model.dim, max=[float(side)] * model.dim, open=["top"])],
    )
    given = GaussSeidel() if scenario.solver.at_once else scenario.solver
    solver = given.model_copy(update={"stop": "sweeps", "sweeps": 50})
    on = RigidGrains(device=getattr(scenario.engine, "device", "cpu"))
    probe = Simulation(scene, dt=0.01, solver=solver, engine=on)
    probe.step()  # the first step compiles the kernels
    before = dict(probe.engine.seconds)
    updates, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < PROBE_SECONDS:
        report = probe.step()
        updates += report.sweeps * report.candidates
    spent = {name: t - before.get(name, 0.0) for name, t in probe.engine.seconds.items()}
    solve = spent.pop("solve")
    steps = probe.state.step - 1
    return updates / solve, sum(spent.values()) / steps * model.n / places.shape[0]
