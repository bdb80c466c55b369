"""Two threads against one in coloured order, in wall time; the bits are the same.

This needs a quiet machine: threads wait for each other after every colour, so a core that is lent
to another program for a moment stops them all. How much of the wall time one thread had a core to
itself is therefore given too; below 95 % the figure says little.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from benchmarks.measure import Absent, Figure, best
from benchmarks.packings import Steps, spheres

SWEEPS = 100


def run(quick: bool) -> list[Figure]:
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        raise Absent("a second core")
    count = 1000 if quick else 100_000
    model, state = spheres(count)
    counts = [n for n in (1, 2, 4, 8, 16) if n <= most]
    runs = {str(n): Steps(model, state, SWEEPS, "coloured", 1, threads=n) for n in counts}
    solve: dict[str, list[float]] = {name: [] for name in runs}

    alone: list[float] = []  # CPU time / wall time of one thread

    def timed(name: str) -> None:
        phases = runs[name].engine.seconds
        phases.clear()
        wall, cpu = time.perf_counter(), time.process_time()
        runs[name]()
        if name == "1":
            alone.append((time.process_time() - cpu) / (time.perf_counter() - wall))
        solve[name].append(phases["solve"])

    step = best(
        {name: lambda name=name: timed(name) for name in runs},
        repeat=1 if quick else 5,
        clock=time.perf_counter,
    )
    same = all(np.array_equal(r.state.velocity, runs["1"].state.velocity) for r in runs.values())
    figures = []
    for n in counts[1:]:
        figures.append(
            Figure(
                f"{n} threads / 1 thread, coloured, {count} spheres, solve",
                min(solve["1"]) / min(solve[str(n)]),
                target="≥ 1.7" if n == 2 else "",
                detail=f"whole step {step['1'] / step[str(n)]:.2f}; solve"
                f" {min(solve['1']):.3g} s on one thread,"
                f" which had a core for {np.median(alone):.0%} of the time;"
                f" {'same bits' if same else 'DIFFERENT BITS'}",
            )
        )
    return figures
