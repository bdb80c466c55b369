"""The rigid solver in slow flow and yielding, Gauss–Seidel beside it; and Siconos, at rest.

- *Scenes* (`benchmarks.rigid_scenes`): grains in motion, both solvers on the same problems, all
  scenes side by side, each on one core and within a limit of time.
- *Siconos*: static steps, cold, through FCLIB's files, with the best of its solvers.

How the time of cold static steps grows with n is measured in `benchmarks.scaling` and
`benchmarks.rigid_sizes`.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rigid_scenes
from benchmarks.against_siconos import PYTHON, require
from benchmarks.measure import Absent, Figure
from benchmarks.rigid_packings import at_rest, cold, problem_of
from benchmarks.scaling import TOLERANCE, solved
from hardgrain.io import fclib
from hardgrain.solve.assembly import global_form
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.matrices import LocalForm

PATIENCE = 60.0  # that each solver of Siconos gets [s]


def run(quick: bool) -> list[Figure]:
    figures = rigid_scenes.run(quick)
    try:
        require()
    except Absent:
        return figures
    return figures + _siconos(quick)


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
