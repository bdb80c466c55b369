"""How long an element test takes: 10⁴ disks compressed by a fifth of their height, slowly.

Disks are pressed together from all sides in a periodic cell, then shortened along y under a
constant pressure along x, at an inertial number of 10⁻³. Every step is solved to the residual at
which it counts as converged, by the rigid solver or by sweeps. Only the compression is measured.
"""

from __future__ import annotations

import time

import hardgrain as hg
from benchmarks.measure import Figure
from hardgrain.core.model import State

RATE = 1e-3  # of axial strain, and so the inertial number, in units of d √(ρ/p)
STRAIN = 0.2
DT = 0.1
TOLERANCE = 1e-3
SOLVERS = {
    "rigid": hg.RigidSolver(tolerance=TOLERANCE),
    "sweeps": hg.GaussSeidel(stop="residual", tolerance=TOLERANCE, sweeps=20_000),
}


def run(quick: bool) -> list[Figure]:
    count = 200 if quick else 10_000
    strain = 0.01 if quick else STRAIN
    state = pressed(count)
    sim = compression(count, state, "rigid")
    spent, steps = time.process_time(), round(strain / (RATE * DT))
    for _ in range(steps):
        sim.step()
    spent = time.process_time() - spent
    words = f"{steps} steps of {spent / steps:.3g} s, {sim.totals.loose} of them not converged"
    return [Figure(f"{count} disks to {strain:.0%} strain, rigid solver", spent, "s", detail=words)]


def scene(count: int, cell: hg.Isotropic | hg.Biaxial) -> hg.Scene:
    """Disks of many sizes, placed loosely in a periodic cell."""
    side = (2.0 * count) ** 0.5
    return hg.Scene(
        dimension=2,
        periodic={"x": (0.0, side), "y": (0.0, side)},
        cell=cell,
        contacts=[hg.ContactLaw(friction=0.5)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Deposit(min=(0.0, 0.0), max=(side, side)),
            )
        ],
    )


def pressed(count: int) -> State:
    """The disks under a pressure from all sides, hardly moving."""
    solver = hg.GaussSeidel(sweeps=100)
    sim = hg.Simulation(scene(count, hg.Isotropic(pressure=1.0)), dt=0.05, solver=solver)
    sim.run(400)
    return sim.state


def compression(count: int, state: State, solver: str) -> hg.Simulation:
    """The test, begun where the disks were pressed together."""
    cell = hg.Biaxial(rate=-RATE, pressure=1.0)
    return hg.Simulation(scene(count, cell), dt=DT, solver=SOLVERS[solver], start=state)
