"""5000 spheres at rest: contact updates a second of the solver alone, against Siconos' NSGS.

One step's contact problem, u = W p + q with Signorini and Coulomb, is written to a file that
Siconos reads as a block matrix, its fastest storage. Of Siconos only sweeps are counted: the
difference between a long and a short solve, with its cheapest error check (norm of the increments),
so neither reading, set-up nor a full error evaluation is in it. All of its one-contact solvers are
tried, and the fastest counts of those that solve a contact, so that equal sweeps give equal
impulses. (A single projection on the cone is cheaper, but goes only a small part of the way.) Of
hardgrain the whole solve counts: packing, sweeps, residual, unpacking. Both start from zero, in
list order.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.measure import Absent, Figure, best
from benchmarks.packings import engine, spheres
from hardgrain.core.lawtable import MU_DYNAMIC
from hardgrain.core.model import Floats, Model, State
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.iterative import IterativeSolver
from hardgrain.solve.problem import Problem, Solution

PYTHON = "/usr/bin/python3"  # the one that Debian's python3-siconos belongs to
SWEEPS = 100
SAME = 1e-3  # relative difference of the summed impulses below which a local solver is exact


def run(quick: bool) -> list[Figure]:
    require()
    model, state = spheres(100, tile=100) if quick else spheres(5000)
    problem = problem_of(model, state)
    problem = replace(problem, impulse=np.zeros_like(problem.impulse))
    m = problem.first.size
    solvers = {o: GaussSeidel(sweeps=SWEEPS, order=o) for o in ("sequential", "random")}
    ours = best(
        {o: lambda s=s: s.solve(problem, seed=1, step=0) for o, s in solvers.items()},
        repeat=2 if quick else 10,
    )
    solved = solvers["sequential"].solve(problem, seed=1, step=0)
    pushed = float(np.sum(solved.impulse * problem.normal))
    seconds, sums = _siconos(problem, repeat=1 if quick else 3)
    exact = [name for name in seconds if abs(sums[name] / pushed - 1.0) < SAME]
    fastest = min(exact, key=seconds.__getitem__)
    theirs = m / seconds[fastest]
    figures = []
    for order in solvers:
        rate = m * SWEEPS / ours[order]
        figures.append(
            Figure(
                f"updates a second / Siconos NSGS's, {order}",
                rate / theirs,
                target="≥ 6" if order == "sequential" else "",
                detail=f"hardgrain {rate / 1e6:.1f} M/s, Siconos {theirs / 1e6:.1f} M/s"
                f" ({fastest}), {m} contacts",
            )
        )
    for name, second in seconds.items():
        figures.append(
            Figure(
                f"… Siconos' local solver {name}",
                m / second / 1e6,
                unit="M/s",
                detail=f"gets {sums[name] / pushed:.1%} of the normal impulse in {SWEEPS} sweeps",
            )
        )
    return figures


def require() -> None:
    command = [PYTHON, "-c", "import siconos.numerics"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise Absent("Siconos (Debian: apt install python3-siconos)") from None


def problem_of(model: Model, state: State) -> Problem:
    """The contact problem of the next step of a packing."""

    class Catch(IterativeSolver):
        def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
            caught.append(problem)
            return GaussSeidel(sweeps=1).solve(problem, seed=seed, step=step)

    caught: list[Problem] = []
    stepper = engine(model, 1, "sequential")
    stepper.solver = Catch()
    stepper.advance(state.copy())
    return caught[0]


def delassus(problem: Problem) -> tuple[sparse.bsr_array, Floats]:
    """W in 3 × 3 blocks, shape (3m, 3m), and q, shape (3m,), in the frames (n, t, s) of spheres."""
    m, nb = problem.first.size, problem.velocity.shape[0]
    normal, first, second = problem.normal, problem.first, problem.second
    helper = np.eye(3)[np.abs(normal).argmin(axis=1)]
    t = np.cross(normal, helper)
    t /= np.linalg.norm(t, axis=1)[:, None]
    frame = np.stack([normal, t, np.cross(normal, t)], axis=1)  # (m, 3, 3), rows n t s
    # Rows of H^T: the contact velocity is e·v + (l × e)·ω of second minus the same of first.
    blocks, columns = [], []
    for body, arm, sign in ((first, problem.arm_first, -1.0), (second, problem.arm_second, 1.0)):
        lever = np.cross(arm[:, None], frame)
        blocks += [sign * frame, sign * lever]
        columns += [2 * body, 2 * body + 1]
    order = np.argsort(np.stack(columns, axis=1), axis=1)
    data = np.take_along_axis(np.stack(blocks, axis=1), order[:, :, None, None], axis=1)
    column = np.take_along_axis(np.stack(columns, axis=1), order, axis=1)
    h = sparse.bsr_array(
        (data.reshape(-1, 3, 3), column.ravel(), 4 * np.arange(m + 1)), shape=(3 * m, 6 * nb)
    )
    inverse = np.hstack([problem.inv_mass, problem.inv_inertia]).ravel()
    w = (h @ sparse.diags_array(inverse) @ h.T).tobsr((3, 3))
    w.sort_indices()
    q = h @ np.hstack([problem.velocity, problem.spin]).ravel()
    q[::3] += np.maximum(problem.gap, 0.0) / problem.dt
    return w, q


def write_problem(problem: Problem, path: Path) -> None:
    """A frictional contact problem in the text format of Siconos, W as a sparse block matrix."""
    w, q = delassus(problem)
    m, blocks = problem.first.size, len(w.data)
    mu = problem.laws[problem.law, MU_DYNAMIC]
    ends = 3 * np.arange(1, m + 1)
    with path.open("w") as file:
        for row in ([3], [m], [1], [3 * m, 3 * m], [blocks], [m], [m], ends, ends):
            print(*row, file=file)
        for row in ([m + 1], [blocks], w.indptr, w.indices):
            print(*row, file=file)
        for k, block in enumerate(w.data):
            print(k, *block.T.ravel(), sep="\n", file=file)  # column by column
        print(*q, file=file)
        print(*mu, file=file)


def _siconos(problem: Problem, repeat: int) -> tuple[dict[str, float], dict[str, float]]:
    """By local solver: CPU seconds a sweep, and the sum of the normal impulses at the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.dat"
        write_problem(problem, path)
        script = Path(__file__).with_name("siconos_nsgs.py")
        command = [PYTHON, str(script), str(path), str(SWEEPS), str(repeat)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["impulse"]
