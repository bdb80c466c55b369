"""The rigid solver over sizes: 400 to 25,600 disks, 250 to 16,000 spheres, all side by side.

Cold steps of packings at rest, as in `benchmarks.scaling`: a tenth more load on a piston, and
gravity; disks with friction 0.05, 0.3 and 0.5, spheres with 0.3. Each size is measured in a process
of its own, on one core, the smallest first, and all of them within `MINUTES` (`BENCHMARK_MINUTES`
gives another number). In that time the packing is made, unless it was kept, and solved to 10⁻⁶;
then Gauss–Seidel gets `LIMIT` seconds, beyond which it is extrapolated, and 10⁻⁸ is asked for. Both
solvers begin with zero impulses. What was cut is told as such; a second run finds more packings
made. Exponents are those of a fit of log t against log n over the sizes that were solved.

    python -m benchmarks rigid-sizes   measure, print, keep in results/rigid-sizes.json
"""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

from benchmarks.measure import RESULTS, Figure
from benchmarks.rigid_packings import static_problem
from benchmarks.scaling import (
    FINE,
    LARGE,
    LIMIT,
    LOADS,
    SHORT,
    TOLERANCE,
    Took,
    slope,
    swept,
    timed,
)
from benchmarks.scaling import SIZES as SMALL
from benchmarks.side_by_side import Desk, Row, measured
from hardgrain.kernels import compile_seconds
from hardgrain.solve.rigid import STAGES, RigidSolver, search

MINUTES = float(os.environ.get("BENCHMARK_MINUTES") or 7.0)
FRICTION = {2: (0.05, 0.3, 0.5), 3: (0.3,)}
SIZES = {dim: tuple(sorted({*SMALL[dim], *LARGE[dim]})) for dim in (2, 3)}
TINY = {2: (50,), 3: (50,)}
COMPILING = 400.0  # [s] limit of tiny packings, which compile all kernels the first time
WORK = "benchmarks.rigid_sizes:measure"
# What is asked for at one size: ratio to Gauss–Seidel, and the exponent.
RATIO, EXPONENT = {2: (6400, "≥ 60"), 3: (4000, "≥ 20")}, {2: "≤ 1.2", 3: "≤ 1.35"}


def run(quick: bool) -> list[Figure]:
    tiny, jobs = _jobs(TINY), _jobs(SIZES)
    if quick:
        jobs, rows = tiny, measured(WORK, tiny, COMPILING)
    else:
        print("  tiny ones first, for which kernels are compiled:")
        measured(WORK, tiny, COMPILING)
        rows = measured(WORK, jobs, 60.0 * MINUTES, within=60.0 * MINUTES)
    keys = ("dim", "load", "mu", "n")
    whole = [dict(zip(keys, job)) | row for job, row in zip(jobs, rows)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "rigid-sizes.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False))
    groups = dict.fromkeys((row["dim"], row["load"], row["mu"]) for row in whole)
    return [
        figure
        for group in groups
        for figure in _figures(
            [row for row in whole if (row["dim"], row["load"], row["mu"]) == group], quick
        )
    ]


def _jobs(sizes: dict[int, tuple[int, ...]]) -> list[list[Any]]:
    """All sizes, the quickest first."""
    jobs = [
        [dim, load, mu, n]
        for dim in (3, 2) for n in sizes[dim] for load in LOADS for mu in FRICTION[dim]
    ]  # fmt: skip
    return sorted(jobs, key=lambda job: job[3] * (4 if job[0] == 3 else 1))


# ---------------------------------------------------------------------- measure
def measure(desk: Desk, dim: int, load: str, mu: float, n: int) -> None:
    """A cold step by both solvers, and how fine it can be solved."""
    problem = static_problem(n, mu, dim, load)
    desk.lay(prepared=desk.spent * desk.limit, contacts=int(problem.first.size))
    desk.write()
    small = static_problem(TINY[dim][0], mu, dim, load)
    for stage in STAGES:  # compiles
        search(RigidSolver(start="zero"), small, 1, 0, stages=(stage,))
    seconds, found = _watched(desk, problem)
    desk.lay(
        seconds=seconds, residual=found.residual, unbalanced=found.unbalanced,
        stages=[(stage.method, stage.number, stage.residual) for stage in found.history],
    )  # fmt: skip
    desk.write()
    if seconds < SHORT:
        solver = RigidSolver(tolerance=TOLERANCE, start="zero")
        desk.lay(seconds=min(seconds, timed(solver, problem)[0]))
        desk.write()
    theirs = swept(problem, "sequential", min(LIMIT, max(1.0 - desk.spent, 0.0) * desk.limit))
    desk.lay(theirs=theirs.seconds, how=theirs.how, theirs_unbalanced=theirs.unbalanced)
    desk.write()
    fine = RigidSolver(tolerance=FINE, start="zero").solve(problem, seed=1, step=0)
    desk.lay(fine=fine.residual)


def _watched(desk: Desk, problem: Any) -> tuple[float, Any]:
    """A solve whose residual can be read while it goes on, and its CPU time [s]."""
    ready, began, least = compile_seconds(), time.process_time(), math.inf

    def look(found: Any) -> None:
        nonlocal least
        least = min(least, found.residual)
        spent = time.process_time() - began - (compile_seconds() - ready)
        desk.lay(unfinished=spent, so_far=least)

    found = search(RigidSolver(tolerance=TOLERANCE, start="zero"), problem, 1, 0, look)
    return time.process_time() - began - (compile_seconds() - ready), found


# ---------------------------------------------------------------------- judge and show
def solved(row: Row) -> bool:
    return "residual" in row and row["residual"] <= TOLERANCE


def _figures(rows: list[Row], quick: bool) -> list[Figure]:
    rows = sorted(rows, key=lambda row: row["n"])
    first = rows[0]
    dim, what = first["dim"], f"{first['dim']}D, {LOADS[first['load']]}, µ = {first['mu']:g}"
    here = [row for row in rows if solved(row)]
    figures = [
        Figure(
            f"{what}: sizes solved",
            len(here) / len(rows),
            unit="",
            target="" if quick else "≥ 1",
            detail="; ".join(f"{row['n']}: {_said(row)}" for row in rows),
        )
    ]
    if len(here) > 1:
        figures.append(
            Figure(
                f"{what}: exponent of the time in n",
                slope([row["n"] for row in here], [row["seconds"] for row in here]),
                unit="",
                target="" if quick else EXPONENT[dim],
                detail=f"{len(here)} sizes up to {here[-1]['n']}",
            )
        )
    for row in here:
        if "theirs" in row:
            size, target = RATIO[dim]
            theirs = Took(row["theirs"], row["how"], row["theirs_unbalanced"])
            figures.append(
                Figure(
                    f"{what}: time of Gauss–Seidel / ours, n = {row['n']}",
                    row["theirs"] / row["seconds"],
                    target=target if row["n"] == size and not quick else "",
                    detail=f"ours {_said(row)}; Gauss–Seidel {theirs}",
                )
            )
    if fine := [row["fine"] for row in rows if "fine" in row]:
        figures.append(
            Figure(
                f"{what}: residual when 10⁻⁸ is asked for, worst of {len(fine)} sizes",
                max(fine),
                unit="",
                target="" if quick or dim == 3 else "≤ 1e-8",
            )
        )
    return figures


def _said(row: Row) -> str:
    """What became of one size."""
    if "seconds" in row:
        missed = "" if solved(row) else f", MISSED at {row['residual']:.1g}"
        return f"{row['seconds']:.3g} s{missed}, unbalanced {row['unbalanced']:.1g}"
    if "so_far" in row:
        return f"{row['so_far']:.1g} after {row['unfinished']:.0f} s ({row['ended']})"
    return f"{'not solved' if 'prepared' in row else 'not made'} ({row['ended']})"
