"""Bounds of all contact forces of a packing: programs that start from members found, and cold.

The same linear programs in either case, two for each component of each contact. Cold means that
HiGHS gets each one as if it were the only one, with its own choice of everything: presolve and dual
simplex; on every tenth contact, scaled up. CPU times on one core; then the time of the clock for
1000 disks on all cores.
"""

from __future__ import annotations

import resource
import time
from types import SimpleNamespace

import highspy
import numpy as np

from benchmarks.measure import Figure, best
from benchmarks.packings import DT, disks
from hardgrain.core.model import Floats
from hardgrain.forces import force_space
from hardgrain.forces.bounds import Bounds, blocks
from hardgrain.forces.space import ForceSpace
from hardgrain.parallel import cores, pmap, workers

SAME = 1e-6  # by which the results of HiGHS at its own tolerances may differ [mean weight]


def run(quick: bool) -> list[Figure]:
    few, many = (40, 95) if quick else (95, 1000)
    space = _space(few)
    seconds = best({"ours": space.bounds}, 1 if quick else 5)["ours"]
    bounds = space.bounds()
    spent, apart = _cold(space, bounds, every=10)
    if not apart < SAME:
        raise RuntimeError(f"bounds of warm and cold programs differ by {apart:.2g} mean weights")
    figures = [
        Figure(
            f"time of cold programs / ours, {few} disks, {space.contacts} contacts",
            spent / seconds,
            target="" if quick else "≥ 5",
            detail=f"{1e3 * seconds / (4 * space.contacts):.3g} ms a bound, cold"
            f" {1e3 * spent / (4 * space.contacts):.3g} ms; {bounds.programs} programs for"
            f" {4 * space.contacts} bounds, {bounds.pivots / bounds.programs:.0f} pivots each;"
            f" results within {apart:.1g} mean weights",
        ),
        Figure(f"all bounds of {few} disks, one core", seconds, "s", target="" if quick else "≤ 2"),
    ]
    space = _space(many)
    before = _cpu()
    with workers():
        pmap(_idle, range(2 * cores()))  # processes are up, modules imported
        begin = time.perf_counter()
        bounds = space.bounds(processes=None)
        seconds = time.perf_counter() - begin
    c, unit = space.packing.components, space.packing.unit
    outside = max(float((bounds.low - c).max()), float((c - bounds.high).max()), 0.0) / unit
    figures.append(
        Figure(
            f"all bounds of {many} disks, {space.contacts} contacts, {cores()} cores",
            seconds,
            "s",
            target="" if quick else "≤ 600",
            detail=f"{bounds.programs} programs, {bounds.pivots / bounds.programs:.0f} pivots each,"
            f" {_cpu() - before:.3g} s of CPU time in all processes;"
            f" forces found at most {outside:.1g} mean weights outside",
        )
    )
    return figures


def _space(count: int) -> ForceSpace:
    model, state = disks(count)
    return force_space(SimpleNamespace(model=model, state=state, dt=DT))


def _cpu() -> float:
    """CPU time of the processes that have ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _idle(k: int) -> int:
    import hardgrain.forces.bounds  # noqa: F401

    time.sleep(0.2)
    return k


def _cold(space: ForceSpace, bounds: Bounds, every: int) -> tuple[float, float]:
    """CPU time of all programs, each on its own [s], and how far results differ [mean weight]."""
    a, b, g, k = space.polytope()
    dim, m, unit = space.packing.dim, space.contacts, space.packing.unit
    weights = blocks(g, dim, k)
    spent, apart, count = 0.0, 0.0, 0
    for contact in range(0, m, every):
        for e in range(dim):
            for ends, sign in ((bounds.low, 1.0), (bounds.high, -1.0)):
                cost = np.zeros(a.shape[1])
                cost[k * contact : k * (contact + 1)] = sign * weights[contact, e]
                start = time.process_time()
                value = sign * _solve(a, b, cost)
                spent, count = spent + time.process_time() - start, count + 1
                apart = max(apart, abs(value - ends[contact, e] / unit))
    return spent * 2 * dim * m / count, apart


def _solve(a: object, b: Floats, cost: Floats) -> float:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = a.shape  # type: ignore[attr-defined]
    lp.col_cost_, lp.col_lower_ = cost, np.zeros(cost.size)
    lp.col_upper_ = np.full(cost.size, highspy.kHighsInf)
    lp.row_lower_ = lp.row_upper_ = b
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = a.indptr, a.indices  # type: ignore[attr-defined]
    lp.a_matrix_.value_ = a.data  # type: ignore[attr-defined]
    solver.passModel(lp)
    solver.run()
    return float(solver.getInfo().objective_function_value)
