"""How long an element test takes: 10⁴ disks compressed by a fifth of their height, slowly.

Disks are pressed together from all sides in a periodic cell, then shortened along y under a
constant pressure along x, at an inertial number of 10⁻³. Every step is solved to the residual at
which it counts as converged, by the rigid solver. Only the compression is measured. Where it is not
done within some minutes, it is ended, and the rest is extrapolated from the latter half of its
steps.
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
PRESSED = 400  # steps in which disks are pressed together
LIMIT = 300.0  # [s] of wall time for the compression


def run(quick: bool) -> list[Figure]:
    count, strain = (200, 0.01) if quick else (10_000, STRAIN)
    steps = round(strain / (RATE * DT))
    sim = compression(count, pressed(count), hg.RigidSolver(tolerance=TOLERANCE))
    begin, spent = time.perf_counter(), [time.process_time()]
    while len(spent) <= steps and time.perf_counter() - begin < LIMIT:
        sim.step()
        spent.append(time.process_time())
    done = len(spent) - 1
    mean = (spent[-1] - spent[done // 2]) / (done - done // 2)
    words = f"{done} of {steps} steps, {mean:.3g} s a step in the latter half of them,"
    words += f" {sim.totals.loose:.0f} not converged"
    what = f"{count} disks to {100 * strain:g} % strain at I = {RATE:g}, rigid solver"
    total = spent[-1] - spent[0] + mean * (steps - done)
    what += "" if done == steps else ", extrapolated"
    return [Figure(what, total, "s", detail=words)]


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
    for _ in range(PRESSED):
        sim.step()
    return sim.state


def compression(count: int, state: State, solver: hg.RigidSolver) -> hg.Simulation:
    """The test, begun where the disks were pressed together."""
    cell = hg.Biaxial(rate=-RATE, pressure=1.0)
    return hg.Simulation(scene(count, cell), dt=DT, solver=solver, start=state)
