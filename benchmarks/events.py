"""Hard grains by events: collisions a second on one core, 10³ to 10⁶ grains; what a step costs.

An elastic gas in a periodic box: disks that fill half of the plane, spheres that fill 0.3 of space,
smooth, and a dilute gas of each. Whole calls of the engine are timed, CPU time, each a step in
which a grain collides ten times or so: cells and calendar made anew, energy ledger and contact
output included. What beginning and ending a step costs is told apart, in collisions of a grain.
"""

from __future__ import annotations

import math
import time

import hardgrain as hg
from benchmarks.measure import Figure
from hardgrain.theory.gas import collision_rate

COLLISIONS = 10.0  # of each grain in a step
PER_SECOND = 1e6  # asked of one core


def run(quick: bool) -> list[Figure]:
    sizes = (200, 400) if quick else (1_000, 10_000, 100_000, 1_000_000)
    figures: list[Figure] = []
    for dim, fraction in ((2, 0.5), (3, 0.3)):
        name = "disks" if dim == 2 else "spheres"
        cost = {n: _cost(dim, n, fraction, quick) for n in sizes}
        each = ", ".join(f"{c[0]:.3g} at {n}" for n, c in cost.items())
        best = min(c[0] for c in cost.values())
        figures.append(
            Figure(
                f"{name} at {fraction:g}: million collisions a second",
                1.0 / best,
                target=f"≥ {PER_SECOND / 1e6:g}",
                detail=f"µs a collision: {each}",
            )
        )
        figures.append(
            Figure(
                f"{name}: cost of a collision at {sizes[-1]} / at {sizes[0]} grains",
                cost[sizes[-1]][0] / cost[sizes[0]][0],
                detail="constant work; what grows is the share of memory that no cache holds",
            )
        )
        figures.append(
            Figure(
                f"{name}: cost of beginning and ending a step, in collisions of each grain",
                cost[sizes[1]][1],
                detail=f"{sizes[1]} grains",
            )
        )
        dilute = _cost(dim, sizes[1], 0.05, quick)[0]
        figures.append(
            Figure(f"{name} at 0.05: million collisions a second", 1.0 / dilute, detail="dilute")
        )
    return figures


def _cost(dim: int, n: int, fraction: float, quick: bool) -> tuple[float, float]:
    """Cost of a collision [µs], and of beginning and ending a step [collisions of each grain]."""
    sim = _gas(dim, n, fraction)
    sim.step()  # compiles, and lets places be random
    times = []
    for _ in range(2 if quick else max(3, min(20, 2_000_000 // n))):
        before = dict(sim.engine.seconds)
        clock, cpu = time.perf_counter(), time.process_time()
        hits = sim.engine.advance(sim.state).candidates
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        # phases are told by the clock of the wall; CPU time is shared out by them
        flown = sim.engine.seconds["solve"] - before["solve"]
        times.append((1e6 * cpu / hits, 2.0 * hits / n * (clock / flown - 1.0)))
    return min(t[0] for t in times), min(t[1] for t in times)


def _gas(dim: int, n: int, fraction: float) -> hg.Simulation:
    volume = math.pi / 4.0 if dim == 2 else math.pi / 6.0
    side = (n * volume / fraction) ** (1.0 / dim)
    grains = hg.Grains(count=n, speed=1.0, place=hg.Loose(min=[0.0] * dim, max=[side] * dim))
    scene = hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys("xyz"[:dim], (0.0, side)),
        contacts=[hg.ContactLaw(friction=0.0, restitution=1.0)],
        grains=[grains],
    )
    dt = COLLISIONS / collision_rate(fraction, dim, 1.0)
    return hg.Simulation(scene, dt=dt, engine=hg.EventDriven())
