"""Arrays of disks on a plane: the exact solver against those of Siconos, on the same problem.

One linear complementarity problem, an array at rest with every contact free to stick or to slide:
Siconos gets it as a dense matrix, ready made, and is charged for the solution alone; hardgrain for
everything from the parameters on. The fastest of Siconos' solvers counts that solves it. Then what
the exact solver must not exceed: one steady state of 80 and of 1000 disks (CPU time), and 400
random starts of ten disks on all cores (wall time).
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.against_siconos import PYTHON, require
from benchmarks.measure import Absent, Figure, best
from hardgrain.papers.radjai1997.array import evolve, steady_state
from hardgrain.papers.radjai1997.exact.array import Array, Floats
from hardgrain.papers.radjai1997.exact.pivot import complementary
from hardgrain.parallel import pmap, workers

FIG3 = (2.5, 0.01, 0.1, 0.2, 0.001)  # ten disks: drive, brake, µ, µ', µ''
SOLVED = 1e-8  # how well all conditions hold
LONG = (0.01, 0.006, 0.01, 0.001)  # brake, µ, µ', µ''; three modes


def run(quick: bool) -> list[Figure]:
    figures = _against_siconos((10, 20) if quick else (10, 40, 160), quick)
    lengths = {40: ""} if quick else {80: "< 1", 1000: "< 60"}
    for n, target in lengths.items():
        seconds = best({"ours": partial(steady_state, n, 0.0175 * n, *LONG)}, 1 if quick else 3)
        figures.append(Figure(f"steady state of {n} disks", seconds["ours"], "s", target))
    starts = 8 if quick else 400
    with workers():
        pmap(_start, range(4))  # processes are up, modules imported
        begin = time.perf_counter()
        found = pmap(_start, range(starts))
        seconds_all = time.perf_counter() - begin
    figures.append(
        Figure(
            f"{starts} random starts of 10 disks, to the steady state",
            seconds_all,
            "s",
            "" if quick else "< 10",
            detail=f"wall time; {len(set(np.round(found, 10)))} steady state(s)",
        )
    )
    return figures


def _start(seed: int) -> float:
    rng = np.random.default_rng(seed)
    omega, v = rng.uniform(-1.0, 1.0, 10), rng.uniform(0.0, 1.0)
    return evolve(10, *FIG3, omega, v, keep_closed=True).steady.friction


def _against_siconos(lengths: tuple[int, ...], quick: bool) -> list[Figure]:
    try:
        require()
    except Absent as what:
        return [Figure(f"against Siconos: skipped, {what} is not here", float("nan"))]
    arrays = {n: Array(n, 0.0175 * n, LONG[0]) for n in lengths}
    problems: dict[str, Floats] = {}
    for n, array in arrays.items():
        problems[f"m_{n}"], problems[f"q_{n}"] = dense(array, array.coefficients(*LONG[1:]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problems.npz"
        np.savez(path, **problems)
        command = [PYTHON, str(Path(__file__).with_name("siconos_lcp.py")), str(path), "3"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = json.loads(output.splitlines()[-1])
    figures = []
    for n, array in arrays.items():
        ours = best({"ours": partial(_solve, n)}, 1 if quick else 5)["ours"]
        solved = {k: s for k, (s, error) in theirs[str(n)].items() if error < SOLVED}
        failed = [k for k in theirs[str(n)] if k not in solved]
        fastest = min(solved, key=solved.__getitem__, default="")
        figures.append(
            Figure(
                f"time of Siconos' fastest solver / ours, {n} disks, {array.contacts} contacts",
                solved.get(fastest, math.inf) / ours,
                target="≥ 1" if n >= 160 else "",
                detail=f"hardgrain {1e3 * ours:.3g} ms, Siconos "
                + (f"{1e3 * solved[fastest]:.3g} ms ({fastest})" if solved else "none solves it")
                + (f"; without a solution: {', '.join(failed)}" if failed else ""),
            )
        )
    return figures


def _solve(n: int) -> None:
    array = Array(n, 0.0175 * n, LONG[0])
    complementary(array, array.coefficients(*LONG[1:]), np.zeros(array.contacts, dtype=np.int8))


def dense(array: Array, mu: Floats) -> tuple[Floats, Floats]:
    """w = M z + q for z = (a⁺, µ N + T) and w = (µ N − T, a⁻), with u̇ = a⁺ − a⁻."""
    m = array.contacts
    slip, normal = array.slip.toarray(), array.normal.toarray()
    matrix = array.dynamics.toarray()
    matrix[array.line] = array.tangential.toarray() + mu[:, None] * normal
    right = array.right.copy()
    right[array.line] = -mu * array.normal_0
    picks = np.zeros((array.size, m))
    picks[array.line, np.arange(m)] = 1.0
    x0, x1 = np.linalg.solve(matrix, right), np.linalg.solve(matrix, picks)
    one = np.eye(m)
    whole = np.block(
        [[np.zeros((m, m)), 2.0 * mu[:, None] * (normal @ x1) - one], [one, -slip @ x1]]
    )
    return whole, np.concatenate([2.0 * mu * (normal @ x0 + array.normal_0), -slip @ x0])
