"""Deformable grains that settle: 10³ disks of 91 nodes each, CPU time on one core until at rest.

Elastic disks fall from a random deposition into a box and come to rest under their weight, which
strains the lowest ones by a few per cent. Steps are four passages of sound through an element. If
that takes longer than `LIMIT`, the run is ended and how far it came is told instead.
"""

from __future__ import annotations

import time

import hardgrain as hg
from benchmarks.measure import Figure

LIMIT = 600.0  # [s] of CPU time
# [m g d] Kinetic energy of a grain below which the box is at rest; in free fall they reach 5.
REST = 1e-4
STEP = 0.01  # [√(d/g)]


def run(quick: bool) -> list[Figure]:
    small = _box(25, 3)
    for _ in range(20 if quick else 300):  # until all that a pile needs is compiled
        small.step()
    sim = _box(25 if quick else 1000, 3 if quick else 5)
    assert sim.model.elastic is not None
    n, nodes = sim.model.n, len(sim.model.elastic.forms[0].node)
    weight = float(sim.model.mass[:n].sum())
    begin, sweeps, steps, moved = time.process_time(), 0, 0, False
    spent, resting = 0.0, False
    while not resting and spent < LIMIT and sim.state.time < 100.0:
        report = sim.step()
        sweeps, steps = sweeps + report.sweeps, steps + 1
        moved |= report.kinetic > 0.1 * weight
        resting = moved and report.kinetic < REST * weight
        spent = time.process_time() - begin
    took = sim.engine.seconds
    solve = took["solve"] / sum(took.values())
    told = (
        f"{steps} steps of {1e3 * spent / steps:.3g} ms, {sweeps / steps:.0f} sweeps each,"
        f" {len(sim.state.contacts)} contact points at the end, solve {solve:.0%}"
    )
    name = f"{n} disks of {nodes} nodes"
    if resting:
        return [
            Figure(f"{name}: CPU minutes to settle", spent / 60.0, "min", "≤ 10", told),
            Figure(f"{name}: time until at rest", sim.state.time, "√(d/g)"),
        ]
    return [Figure(f"{name}: time reached, not at rest", sim.state.time, "√(d/g)", detail=told)]


def _box(n: int, elements: int) -> hg.Simulation:
    side = round(n**0.5)
    elastic = hg.Elastic(
        young=1000.0, poisson=0.3, elements=elements, damping=hg.Damping(stiffness=0.01)
    )
    top = 2.0 * side
    grains = hg.Grains(count=n, elastic=elastic, place=hg.Deposit(min=[0.0, 0.0], max=[side, top]))
    scene = hg.Scene(
        gravity=[0.0, -1.0],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[grains],
        walls=[hg.Box(min=[0.0, 0.0], max=[side, top], open=["top"])],
    )
    return hg.Simulation(
        scene,
        dt=STEP,
        engine=hg.RigidGrains(theta=1.0),
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-3, sweeps=5000),
    )
