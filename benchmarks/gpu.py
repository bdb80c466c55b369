"""One GPU: contact updates a second of whole steps in packings at rest, 100 sweeps a step.

The packings are those of `threads`. Steps are made as a run makes them, several at one go, with
their candidates, tiles, ledger and moves. What the sweeps alone take is measured once more, kernel
after kernel, where the host waits for each; the rest of a step is what they leave of it. The bytes
that they move are counted from the rows (`gpu_traffic`).
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks import gpu_traffic
from benchmarks.measure import Absent, Figure
from benchmarks.packings import DT, on_floor
from hardgrain.cuda.present import usable
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.march import ROUNDS
from hardgrain.step.pause import Pause

SWEEPS = 100
# kind of grains, number, steps, asked for [10⁹ updates/s]
CASES = (
    ("spheres", 32_000, 20, "≥ 2.0"),
    ("spheres", 1_000_000, 5, "≥ 8.0"),
    ("disks", 1_000_000, 5, "≥ 4.0"),
)


def run(quick: bool) -> list[Figure]:
    lacking = usable()
    if lacking is not None:
        raise Absent(f"a GPU ({lacking})")
    cases = (("spheres", 1000, 2, ""),) if quick else CASES
    return [_figure(*case) for case in cases]


def _figure(kind: str, count: int, steps: int, target: str) -> Figure:
    from hardgrain.cuda import arrays
    from hardgrain.step.device_dynamics import DeviceDynamics

    model, state = on_floor(kind, count)
    engine = DeviceDynamics(model, GaussSeidel(order="tiles", sweeps=SWEEPS), DT, 1)
    engine.march(state, Pause(steps=5, work=float("inf")))  # compiles, and records the graphs
    own = engine._stepper
    began = time.perf_counter()
    reports = []
    for n in range(steps):
        own.step(state.step + n, engine._sweeps().until, 1, False, ROUNDS)
        reports.append(own.contacts)
    whole = (time.perf_counter() - began) / steps
    swept = _sweeps_alone(own, engine, state.step + steps)
    updates = SWEEPS * reports[-1]
    return Figure(
        f"updates a second, whole steps, {count} {kind}",
        updates / whole / 1e9,
        unit="10⁹/s",
        target=target,
        detail=f"{1e3 * whole:.3g} ms a step; sweeps alone {updates / swept / 1e9:.3g}"
        f" 10⁹/s, {gpu_traffic.said(engine.gpu, gpu_traffic.of(own), updates / swept)},"
        f" {1.0 - swept / whole:.0%} of the step besides them; {reports[-1]} contacts,"
        f" {int(own._seen[arrays.TILES])} tiles, {own._team} of them in a block",
    )


def _sweeps_alone(own: Any, engine: Any, step: int) -> float:
    """Seconds that the sweeps of a step take."""
    from hardgrain.cuda.api import cuda

    launch, took = own._sweep, [0.0]

    def timed(*args: Any) -> None:
        cuda.synchronize()
        began = time.perf_counter()
        launch(*args)
        cuda.synchronize()
        took[0] = time.perf_counter() - began

    graph, own._sweep, own._graph = own._graph, timed, lambda records, what, launches: launches()
    own.step(step, engine._sweeps().until, 1, False, ROUNDS)
    own._sweep, own._graph = launch, graph
    return took[0]
