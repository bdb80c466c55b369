"""The rigid solver in slow compression and in flow, Gauss–Seidel beside it, and Siconos.

CPU times on one core of the solve alone, compilation taken out; both solvers get the same problems,
stop at the same residual (`hardgrain.point.residual`), and are measured in one run.

- *Compression*: a biaxial test, top wall driven slowly, side wall at constant pressure.
- *Flow*: states advance by the rigid solver; both solve the same steps, warm-started.
- *Siconos*: static steps, cold, through FCLIB's files, with the best of its solvers.

Gauss–Seidel solves some of the steps, and what it takes until it gives up counts too. How the time
of cold static steps grows with n is measured in `benchmarks.scaling`.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from benchmarks.against_siconos import PYTHON, require
from benchmarks.measure import Absent, Figure
from benchmarks.rigid_packings import FLOWS, at_rest, cold, compression, problem_of
from benchmarks.scaling import LIMIT, TOLERANCE, solved, timed
from hardgrain.io import fclib
from hardgrain.solve.assembly import global_form
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.matrices import LocalForm
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.rigid import RigidSolver

SWEEPS = 200_000  # after which Gauss–Seidel gives up a step of a run
PATIENCE = 60.0  # that each solver of Siconos gets [s]


def run(quick: bool) -> list[Figure]:
    figures = _compression(quick) + _flow(quick)
    try:
        require()
    except Absent:
        return figures
    return figures + _siconos(quick)


# ----------------------------------------------------------------------- compression and flow
@dataclass
class Both:
    """Solves steps with the rigid solver, and afterwards some of them with Gauss–Seidel."""

    every: int  # solves of which one is kept for Gauss–Seidel
    start: str = "previous"
    on_cap: str = "report"
    ours: list[float] = field(default_factory=list)  # [s]
    residual: list[float] = field(default_factory=list)
    kept: list[tuple[float, Problem]] = field(default_factory=list)
    pairs: list[tuple[float, float, bool]] = field(default_factory=list)  # ours, theirs, reached

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        seconds, found = timed(RigidSolver(tolerance=TOLERANCE), problem, seed, step)
        if len(self.ours) % self.every == 0:
            self.kept.append((seconds, deepcopy(problem)))
        self.ours.append(seconds)
        self.residual.append(found.residual)
        solution: Solution = found
        return solution

    def compare(self, sweeps: int, limit: float) -> None:
        """Gauss–Seidel on what was kept, in random order as long as there is time."""
        solver = GaussSeidel(
            sweeps=sweeps, stop="residual", tolerance=TOLERANCE, order="sequential"
        )
        for k in np.random.default_rng(1).permutation(len(self.kept)):
            seconds, problem = self.kept[k]
            other, found = timed(solver, problem)
            self.pairs.append((seconds, other, found.converged))
            if sum(pair[1] for pair in self.pairs) > limit:
                break

    @property
    def reached(self) -> float:
        return float(np.mean(np.array(self.residual) <= TOLERANCE))

    @property
    def worst(self) -> float:
        return max(self.residual)

    @property
    def ratio(self) -> float:
        """Our time over theirs, on the steps that both solved."""
        ours, theirs, _ = zip(*self.pairs)
        return sum(ours) / sum(theirs)

    @property
    def words(self) -> str:
        ours, theirs, reached = zip(*self.pairs)
        return (
            f"{len(self.ours)} solves in {sum(self.ours):.3g} s; {len(ours)} of them, from all over"
            f" the run, {sum(ours):.3g} s, Gauss–Seidel {sum(theirs):.3g} s, with which"
            f" {np.mean(reached):.0%} reached it"
        )


def _both(sim: hg.Simulation, steps: int, quick: bool) -> Both:
    both = Both(every=2 if quick else 10)
    sim.engine.solver = both
    for _ in range(steps):
        sim.engine.advance(sim.state)
    both.compare(1000 if quick else SWEEPS, LIMIT)
    return both


def _compression(quick: bool) -> list[Figure]:
    n, steps = (60, 10) if quick else (1600, 500)
    both = _both(compression(n), steps, quick)
    what = f"quasi-static compression, {n} disks, {steps} steps"
    return [
        Figure(
            f"{what}: time of Gauss–Seidel / ours",
            1.0 / both.ratio,
            target="" if quick else "≥ 20",
            detail=both.words,
        ),
        Figure(
            f"{what}: share within 10⁻⁶",
            both.reached,
            unit="",
            target="" if quick else "≥ 1",
            detail=f"worst residual {both.worst:.2g}",
        ),
    ]


def _flow(quick: bool) -> list[Figure]:
    figures = []
    steps = 6 if quick else 400
    for n in (60,) if quick else (400, 1600):
        for name, begin in FLOWS.items():
            both = _both(begin(n), steps, quick)
            what = f"{name}, {n} disks, {steps} steps"
            figures += [
                Figure(
                    f"{what}: share within 10⁻⁶",
                    both.reached,
                    unit="",
                    target="" if quick else "≥ 0.95",
                ),
                Figure(
                    f"{what}: worst residual",
                    both.worst,
                    unit="",
                    target="" if quick else "≤ 1e-4",
                ),
                Figure(
                    f"{what}: our time / that of Gauss–Seidel",
                    both.ratio,
                    target="" if quick else "≤ 0.333",
                    detail=both.words,
                ),
            ]
    return figures


# --------------------------------------------------------------------------------------- Siconos
def _siconos(quick: bool) -> list[Figure]:
    """Cold static steps, from the same FCLIB file for both."""
    figures = []
    for n, dim in ((30, 2), (30, 3)) if quick else ((1000, 2), (500, 3)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.hdf5"
            fclib.write(path, global_form(cold(problem_of(at_rest(n, 0.3, dim, "gravity"))))[0])
            form = fclib.read(path)
            ours, found = solved(form, TOLERANCE, 3)
            theirs = dict(_theirs(form.local(), Path(folder), 2.0 if quick else PATIENCE))
        reached = {name: t for name, (t, r) in theirs.items() if r <= TOLERANCE}
        said = "; ".join(f"{name} {t:.3g} s to {r:.1g}" for name, (t, r) in theirs.items())
        best = min(reached.values(), default=math.nan)
        kind = "disks" if dim == 2 else "spheres"
        figures.append(
            Figure(
                f"{n} {kind}, {form.contacts} contacts: time of Siconos' best / ours",
                best / ours,
                target="" if quick else "≥ 1",
                detail=f"ours {ours:.3g} s to {found.residual:.1g}; Siconos: {said}",
            )
        )
    return figures


def _theirs(
    local: LocalForm, folder: Path, patience: float
) -> Iterator[tuple[str, tuple[float, float]]]:
    """By solver: CPU time [s], and the residual reached, after one sweep of ours.

    Their tolerance means something else: it is lowered until the residual is ours, and only the
    last solve counts.
    """
    problem, answer = folder / "problem.dat", folder / "answer.npy"
    write_text(local, problem)
    script = Path(__file__).with_name("siconos_friction.py")
    for name in ("NSGS", "NSN_AC", "ADMM", "PROX"):
        seconds, residual = patience, math.inf
        for tolerance in 10.0 ** -np.arange(6, 13):
            command = [PYTHON, str(script), str(problem), name, str(tolerance), str(answer)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=patience, check=True
                )
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
                break
            seconds = json.loads(done.stdout.splitlines()[-1])["seconds"]
            residual = _residual(local, np.load(answer).reshape(-1, 3)[:, : local.dim].ravel())
            if residual <= TOLERANCE:
                break
        yield name, (seconds, residual)


def _residual(local: LocalForm, r: Any) -> float:
    if not np.isfinite(r).all():
        return math.inf
    once = GaussSeidel(sweeps=1, stop="residual", tolerance=TOLERANCE, order="sequential")
    return float(once.solve(replace(local, start=r), seed=1, step=0).residual)


def write_text(local: LocalForm, path: Path) -> None:
    """A local form as Siconos reads it, W in 3 × 3 blocks.

    Disks get a third direction in which nothing happens: it answers to impulses as the tangent
    does, and is coupled to nothing.
    """
    from scipy.sparse import bsr_array, csr_array

    dim, m = local.dim, local.contacts
    w = local.delassus.tocoo()
    place = np.arange(3 * m).reshape(m, 3)[:, :dim].ravel()
    q = np.zeros(3 * m)
    q[place] = local.q
    entries = [w.data], [place[w.row]], [place[w.col]]
    if dim == 2:
        third = 3 * np.arange(m) + 2
        for part, more in zip(entries, (local.delassus.diagonal()[1::2], third, third)):
            part.append(more)
    data, row, column = (np.concatenate(part) for part in entries)
    blocks = bsr_array(csr_array((data, (row, column)), shape=(3 * m, 3 * m)), blocksize=(3, 3))
    blocks.sort_indices()
    ends = 3 * np.arange(1, m + 1)
    count = len(blocks.data)
    with path.open("w") as file:
        for line in ([3], [m], [1], [3 * m, 3 * m], [count], [m], [m], ends, ends):
            print(*line, file=file)
        for line in ([m + 1], [count], blocks.indptr, blocks.indices):
            print(*line, file=file)
        for k, block in enumerate(blocks.data):
            print(k, *block.T.ravel(), sep="\n", file=file)  # column by column
        print(*q, file=file)
        print(*local.mu, file=file)
