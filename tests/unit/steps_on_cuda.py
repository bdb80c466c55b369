"""Whole steps on CUDA against those of the CPU: the largest differences, as JSON.

    python tests/unit/steps_on_cuda.py

runs on a GPU; without one, on Numba's simulator (NUMBA_ENABLE_CUDASIM=1), where a sweep takes a
tenth of a second. A few grains fall onto each other, in a box, in a turning drum and under a
piston; then one step is made by both, from the same state, and once more on the device.
"""

from __future__ import annotations

import json
import sys

import numpy as np

import hardgrain as hg
from hardgrain.cuda.api import SIMULATED
from hardgrain.run.simulation import Simulation
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.device_dynamics import DeviceDynamics

TOLERANCE = 1e-5 if SIMULATED else 1e-7
LOW, HIGH = [0.0, 0.0], [2.5, 4.0]


def scene(which: str) -> hg.Scene:
    law = hg.ContactLaw(friction=0.3, rolling=0.05 if which == "rolling" else 0.0)
    at = hg.At(positions=[[0.6, 0.6], [1.7, 0.7], [1.1, 1.6]])
    walls = {
        "box": [hg.Box(min=LOW, max=HIGH)],
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


def differences(which: str) -> dict[str, float]:
    sim = Simulation(hg.Scenario(scene=scene(which), dt=0.02, seed=1, solver=GaussSeidel()))
    for _ in range(60):
        sim.step()
    made = []
    kinds = [(ContactDynamics, "random"), (DeviceDynamics, "tiles")]
    for kind, order in kinds if SIMULATED else [*kinds, kinds[-1]]:
        solver = GaussSeidel(order=order, sweeps=300, stop="residual", tolerance=TOLERANCE)
        engine = kind(sim.model, solver, sim.dt, 1)
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
    }


if __name__ == "__main__":
    from hardgrain.cuda.present import usable

    if usable() is not None:
        print("no GPU here", file=sys.stderr)
        sys.exit(1)
    print(json.dumps({name: differences(name) for name in sys.argv[1:]}))
