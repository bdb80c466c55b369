"""All cores on one step, in tiles, against as many copies of the one-thread program at once.

The copies are the honest reference: they have no one to wait for, but share memory and its
bandwidth as the threads do. What n threads reach of n copies is told for the solve and for the
whole step; the bits are the same. This needs a quiet machine, and as much memory as n copies take:
2 GB each for a million spheres.

Packings are made once. The processes that measure are forked off before any thread has been
started, so that all of them read the same memory.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numba

from benchmarks.measure import Absent, Figure
from benchmarks.packings import Steps, on_floor
from hardgrain.core.model import Model, State

SWEEPS = 100
# kind of grains, number, steps that are measured, numbers of threads besides all
CASES = (("spheres", 100_000, 3, (4,)), ("disks", 100_000, 3, ()), ("spheres", 1_000_000, 1, ()))
QUICK = (("spheres", 2000, 1, ()),)
LAST = 900  # [s] a measurement that takes longer than this has gone wrong
TARGET = "≥ 0.85"


def run(quick: bool) -> list[Figure]:
    most = numba.config.NUMBA_NUM_THREADS
    if most < 2:
        raise Absent("a second core")
    if "fork" not in multiprocessing.get_all_start_methods():
        raise Absent("a system that forks processes")
    figures = []
    for kind, count, steps, fewer in QUICK if quick else CASES:
        packing = on_floor(kind, count)
        for n in sorted({*(k for k in fewer if k < most), most}):
            figures += _against_copies(kind, packing, n, 3 if quick else SWEEPS, steps)
    return figures


def _against_copies(
    kind: str, packing: tuple[Model, State], n: int, sweeps: int, steps: int
) -> list[Figure]:
    (alone,) = _measured(packing, [n], sweeps, steps)  # it also compiles for all others
    copies = _measured(packing, [1] * n, sweeps, steps)
    (single,) = _measured(packing, [1], sweeps, steps)
    same = len({told["bits"] for told in (alone, single, *copies)}) == 1
    figures = []
    for what in ("solve", "step"):
        together = sum(1.0 / told[what] for told in copies)
        figures.append(
            Figure(
                f"{n} threads / {n} copies, tiles, {packing[0].n} {kind}, {what}",
                1.0 / alone[what] / together,
                target=TARGET,
                detail=f"{alone[what]:.3g} s a step, {n / together:.3g} s each of the copies,"
                f" {single[what]:.3g} s one thread alone ({single[what] / alone[what]:.2f} ×);"
                f" {alone['contacts'] * sweeps / alone[what] / 1e6:.3g} million updates/s;"
                f" {'same bits' if same else 'DIFFERENT BITS'}",
            )
        )
    return figures


def _measured(
    packing: tuple[Model, State], threads: list[int], sweeps: int, steps: int
) -> list[dict[str, Any]]:
    """What processes with these numbers of threads, all at the same time, take for a step."""
    context = multiprocessing.get_context("fork")
    barrier, told = context.Barrier(len(threads)), context.Queue()
    processes = [
        context.Process(target=_steps, args=(packing, n, sweeps, steps, barrier.wait, told))
        for n in threads
    ]
    for process in processes:
        process.start()
    found = [told.get(timeout=LAST) for _ in processes]
    for process in processes:
        process.join()
    return found


def _steps(
    packing: tuple[Model, State],
    threads: int,
    sweeps: int,
    steps: int,
    ready: Callable[[], object],
    told: Any,
) -> None:
    """Make steps, one to warm up, and tell how long each took."""
    made = Steps(*packing, sweeps, "tiles", 1, threads=threads)
    made()
    made.engine.seconds.clear()
    ready()
    began = time.perf_counter()
    for _ in range(steps):
        made()
    took = (time.perf_counter() - began) / steps
    told.put(
        {
            "step": took,
            "solve": made.engine.seconds["solve"] / steps,
            "contacts": made.contacts,
            "bits": hashlib.sha256(made.state.velocity.tobytes()).hexdigest(),
        }
    )
