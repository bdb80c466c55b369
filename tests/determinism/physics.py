"""What physics fixes of some small problems, printed as JSON for `test_processors`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numba.core import config

import hardgrain as hg
from hardgrain.papers.unger2002.row import forces, row


def statics() -> list[float]:
    """Forces along a chain of 30 disks that is pushed by 0.7: unique."""
    sim = hg.Simulation(row(30, 0.7), dt=1.0, solver=hg.RigidSolver(tolerance=1e-10))
    sim.step()
    return [float(f) for f in forces(sim)]


def settled() -> dict[str, Any]:
    """40 disks fall into a box and come to rest: a chaotic fall, and what it must obey."""
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=40,
                diameter=hg.Uniform(min=0.7, max=1.2),
                place=hg.Deposit(min=[0, 0], max=[6, 14]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[6, 14], open=["top"])],
    )
    sim = hg.Simulation(scene, dt=0.02, solver=hg.RigidSolver(), seed=1)
    n, mass = sim.model.n, sim.model.mass[: sim.model.n]

    def height() -> float:
        return float(mass @ sim.state.position[:n, 1])

    before, kinetic = height(), sim.kinetic
    made = {"created": 0.0, "dissipated": 0.0, "work": 0.0}
    for _ in range(500):
        report = sim.step()
        made["created"] += report.created
        made["dissipated"] += report.dissipated
        made["work"] += report.work_external
    # momentum is what weight and walls give, whatever the contacts between grains do
    start = mass @ sim.state.velocity[:n, 1]
    sim.step()
    c = sim.state.contacts
    up = np.where(c.second >= n, -c.impulse[:, 1], 0.0).sum()
    gained = mass @ sim.state.velocity[:n, 1] - start
    return {
        **made,
        "fallen": before - height(),
        "kinetic": sim.kinetic - kinetic,
        "weight": float(mass.sum()),
        "wall_force": float((up - gained) / sim.dt),
        "fastest": report.fastest,
        "overlap": report.worst_overlap,
        "residual": report.residual,
    }


if __name__ == "__main__":
    print(json.dumps({"processor": config.CPU_NAME, "chain": statics(), **settled()}))
