"""Share of a step of 100 sweeps that is not sweeps: detection and all bookkeeping.

Counted as overhead is everything in a step outside the sweeps: pair list, narrow phase, warm start,
packing and unpacking of the rows, residual, energy ledger, motion, Python. A packing at rest keeps
its pair list; grains in fast flow make it anew every few steps. Both ends are given: the list kept,
and the list made anew in every single step.
"""

from __future__ import annotations

import math
import time

import hardgrain as hg
from benchmarks.measure import Figure, best
from benchmarks.packings import engine, spheres
from hardgrain.core.model import Model, State
from hardgrain.errors import RunError
from hardgrain.run.checkpoint import Backup
from hardgrain.run.plausible import implausible
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.numbers import farthest, refuse_unfit

SWEEPS = 100
CHECKED = 100  # checks in a row


def run(quick: bool) -> list[Figure]:
    figures = []
    for count in [100] if quick else [10_000, 100_000]:
        model, state = spheres(count, tile=min(count, 1000))
        for order in ("sequential", "random"):
            kept, phases = _share(model, state, order, 3 if quick else 5, anew=False)
            anew, _ = _share(model, state, order, 2 if quick else 3, anew=True)
            for name, share, target in (
                ("pair list kept", kept, "< 20"),
                ("pair list anew each step", anew, ""),
            ):
                figures.append(
                    Figure(
                        f"share of a step outside the sweeps, {count} spheres, {order}, {name}",
                        100.0 * share,
                        unit="%",
                        target=target,
                        detail=phases if name == "pair list kept" else "",
                    )
                )
    return [*figures, _checks(100 if quick else 1900)]


def _checks(count: int) -> Figure:
    """Share of a step of 100 sweeps in which a run looks for numbers that are none, and for what
    cannot have happened, with the copy of the last good moment."""
    side = math.ceil(math.sqrt(count))
    places = [[0.5 + k % side, 0.5 + k // side] for k in range(count)]
    scene = hg.Scene(
        gravity=[0.0, -1.0],
        grains=[hg.Grains(place=hg.At(positions=places))],
        walls=[hg.Box(min=[0.0, 0.0], max=[side, side + 1.0], open=["top"])],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=SWEEPS))
    report, state, engine = sim.step(), sim.state, sim.engine

    def checks() -> None:
        for _ in range(CHECKED):
            refuse_unfit(sim.model, state, limit, RunError, "")
            engine._loads.pace(state, state.velocity, state.spin)
            implausible(sim, report)
            Backup(sim)

    limit = farthest(sim.model)
    steps = {"checks": checks, "step": lambda: [sim.step() for _ in range(5)]}
    spent = best(steps, repeat=5)
    checked, step = spent["checks"] / CHECKED, spent["step"] / 5
    return Figure(
        f"share of a step that the checks of a run take, {count} disks",
        100.0 * checked / step,
        unit="%",
        target="< 1",
        detail=f"{checked * 1e6:.3g} of {step * 1e6:.4g} µs",
    )


def _forget(step: ContactDynamics) -> None:
    """Let the pair list be made anew."""
    step.detector.listed.safety[:] = -1.0


def _share(model: Model, state: State, order: str, repeat: int, anew: bool) -> tuple[float, str]:
    """Smallest share of the CPU time of a step that is not sweeps, and where a step's time went.

    Twice as many sweeps cost as much more as the sweeps do.
    """
    steps = [engine(model, sweeps, order) for sweeps in (SWEEPS, 2 * SWEEPS)]
    took: list[float] = []
    for step in steps:
        moving, times = state.copy(), []
        step.advance(moving)
        step.seconds.clear()
        for _ in range(repeat):
            if anew:
                _forget(step)
            start = time.process_time()
            step.advance(moving)
            times.append(time.process_time() - start)
        took.append(min(times))
    swept = took[1] - took[0]
    wall = {name: second / repeat for name, second in steps[0].seconds.items()}
    phases = ", ".join(f"{name} {second * 1e3:.3g} ms" for name, second in wall.items())
    words = f"step {took[0] * 1e3:.4g} ms, sweeps {swept * 1e3:.4g} ms; {phases}"
    return 1.0 - swept / took[0], words
