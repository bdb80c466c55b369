"""The rigid solver: time of a step solved to 10⁻⁶, how it grows with n, Gauss–Seidel beside it.

CPU times on one core of the solve alone, compilation taken out; both solvers get the same problems,
stop at the same residual (`hardgrain.solve.sweep`), and are measured in one run.

- *Static*: one step of packings at rest, impulses from zero; a tenth more load on a piston, and
  gravity. Exponents are those of a fit of log t against log n.
- *Compression*: a biaxial test, top wall driven slowly, side wall at constant pressure.
- *Flow*: states advance by the rigid solver; both solve the same steps, warm-started.
- *Siconos*: static steps, cold, through FCLIB's files, with the best of its solvers.

Gauss–Seidel gets the better of its orders, sequential and random (tried where that is cheap).
Where it would take too long its time is extrapolated, from how its residual falls and from its
times at smaller n, and the shorter of the two counts. If its residual does not fall at all, the
time it was given counts. In compression and flow it solves some of the steps, and what it takes
until it gives up counts too.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from benchmarks.against_siconos import PYTHON, require
from benchmarks.measure import RESULTS, Absent, Figure
from benchmarks.rigid_packings import FLOWS, at_rest, cold, compression, problem_of, static_problem
from hardgrain.io import fclib
from hardgrain.kernels import compile_seconds
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.matrices import LocalForm, global_form
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.rigid import RigidSolver
from hardgrain.solve.solver import Solver

TOLERANCE, FINE = 1e-6, 1e-8
LIMIT = 120.0  # CPU time Gauss–Seidel gets for one number [s]; beyond, it is extrapolated
CHEAP = 2000  # grains up to which both orders of Gauss–Seidel are tried
PORTION = 1000  # sweeps of Gauss–Seidel after which its time and residual are first noted
SWEEPS = 200_000  # after which Gauss–Seidel gives up a step of a run
PATIENCE = 60.0  # that each solver of Siconos gets [s]
LOADS = {"piston": "load step", "gravity": "gravity"}


def run(quick: bool) -> list[Figure]:
    plane, space = Scaling(2, LOADS, quick), Scaling(3, LOADS, quick)
    if quick:
        plane.measure([50, 100], [0.3], {100: ""}, "")
        space.measure([50, 100], [0.3], {100: ""}, "")
    else:
        sizes = [400, 1600, 6400, 25_600]
        plane.measure(sizes, [0.0, 0.05, 0.3, 0.5], {6400: "≥ 60", 25_600: "≥ 200"}, "≤ 1.2")
        space.measure([500, 1000, 2000, 4000, 8000, 16_000], [0.3], {4000: "≥ 20"}, "≤ 1.4")
    figures = plane.figures + space.figures
    draw(plane, space, RESULTS / "rigid-scaling")
    figures += _compression(quick) + _flow(quick)
    try:
        require()
    except Absent:
        return figures
    return figures + _siconos(quick)


def timed(solver: Solver, problem: Any, seed: int = 1, step: int = 0) -> tuple[float, Any]:
    """CPU time of a solve [s], once more if kernels had to be made ready, and its result."""
    while True:
        ready, begin = compile_seconds(), time.process_time()
        found = solver.solve(problem, seed=seed, step=step)
        spent = time.process_time() - begin
        if compile_seconds() == ready:
            return spent, found


# ---------------------------------------------------------------------------------------- static
@dataclass(frozen=True)
class Took:
    """What a solver took."""

    seconds: float
    how: str = ""  # nothing, extrapolated, or a bound
    unbalanced: float = math.nan  # net force that is left, over the mean contact force

    def __str__(self) -> str:
        left = "" if math.isnan(self.unbalanced) else f", unbalanced {self.unbalanced:.1g}"
        return f"{self.seconds:.3g} s{f' ({self.how})' if self.how else left}"


@dataclass
class Scaling:
    """Times of static steps over n, for plane or space."""

    dim: int
    loads: dict[str, str]
    quick: bool
    figures: list[Figure] = field(default_factory=list)
    ours: dict[tuple[str, float], dict[int, Took]] = field(default_factory=dict)
    residual: dict[tuple[str, float], list[float]] = field(default_factory=dict)
    finest: dict[tuple[str, float], list[float]] = field(default_factory=dict)
    theirs: dict[tuple[str, float], dict[int, Took]] = field(default_factory=dict)

    def measure(
        self, sizes: list[int], mus: list[float], ratios: dict[int, str], exponent: str
    ) -> None:
        """Both solvers at all sizes, Gauss–Seidel up to the largest that is to be compared."""
        for load, name in self.loads.items():
            for mu in mus:
                self._measure(sizes, max(ratios), load, mu)
                self._tell(f"{self.dim}D, {name}, µ = {mu:g}", (load, mu), ratios, exponent)

    def _measure(self, sizes: list[int], largest: int, load: str, mu: float) -> None:
        ours: dict[int, Took] = {}
        theirs: dict[int, Took] = {}
        self.ours[load, mu], self.theirs[load, mu] = ours, theirs
        residual, finest = self.residual[load, mu], self.finest[load, mu] = [], []
        best = ("sequential", "random")
        for n in sizes:
            problem = static_problem(n, mu, self.dim, load)
            seconds, solution = _solved(problem, TOLERANCE, 1 if self.quick else 3)
            ours[n] = Took(seconds, "", solution.unbalanced)
            fine = RigidSolver(tolerance=FINE, start="zero").solve(problem, seed=1, step=0)
            residual.append(solution.residual)
            finest.append(fine.residual)
            if n > largest:
                continue
            limit = 1.0 if self.quick else LIMIT
            times = {order: swept(problem, order, limit) for order in best}
            best = (min(times, key=lambda order: times[order].seconds),)
            theirs[n] = _shorter(times[best[0]], n, theirs)
            if n <= CHEAP:
                best = ("sequential", "random")

    def _tell(
        self, what: str, key: tuple[str, float], ratios: dict[int, str], exponent: str
    ) -> None:
        ours, theirs = self.ours[key], self.theirs[key]
        n = list(ours)
        seconds = ", ".join(f"{k}: {t.seconds:.3g} s" for k, t in ours.items())
        worst, finest = max(self.residual[key]), max(self.finest[key])
        missed = "" if worst <= TOLERANCE else f"; MISSED, residual {worst:.2g}"
        self.figures.append(
            Figure(
                f"{what}: exponent of the time in n",
                slope(n, [t.seconds for t in ours.values()]) if worst <= TOLERANCE else math.nan,
                unit="",
                target=exponent,
                detail=f"{seconds}{missed}",
            )
        )
        for k, target in ratios.items():
            self.figures.append(
                Figure(
                    f"{what}: time of Gauss–Seidel / ours, n = {k}",
                    theirs[k].seconds / ours[k].seconds,
                    target=target,
                    detail=f"ours {ours[k]}; Gauss–Seidel {theirs[k]}",
                )
            )
        self.figures.append(
            Figure(
                f"{what}: residual when 10⁻⁸ is asked for, worst of all n",
                finest,
                unit="",
                target="" if self.quick else "≤ 1e-8",
            )
        )


def _solved(problem: Any, tolerance: float, repeat: int) -> tuple[float, Any]:
    """Shortest time of the rigid solver from zero [s], and the solution."""
    solver = RigidSolver(tolerance=tolerance, start="zero")
    runs = [timed(solver, problem) for _ in range(repeat)]
    return min(spent for spent, _ in runs), runs[-1][1]


def swept(problem: Problem, order: str, limit: float) -> Took:
    """Time of Gauss–Seidel from zero; extrapolated from its second half beyond the limit."""
    portion, spent, trace = PORTION, 0.0, []
    problem = cold(problem)
    while True:
        solver = GaussSeidel(
            sweeps=portion, stop="residual", tolerance=TOLERANCE, order=order
        )  # fmt: skip
        seconds, found = timed(solver, problem, step=len(trace))
        spent += seconds
        if found.converged:
            return Took(spent, "", found.unbalanced)
        trace.append((spent, math.log(found.residual / TOLERANCE)))
        if spent > limit:
            break
        problem = replace(problem, impulse=found.impulse)
        portion = portion * 5 // 4
    late = np.array([row for row in trace if row[0] >= 0.5 * spent])
    fall = -np.polyfit(late[:, 0], late[:, 1], 1)[0] if len(late) > 1 else 0.0
    left = trace[-1][1] / fall if fall > 0.0 else math.inf
    if left > 100.0 * limit:
        return Took(spent, f"at least: it stalls at {found.residual:.1g}")
    return Took(spent + left, f"extrapolated from {found.residual:.1g} after {spent:.3g} s")


def _shorter(found: Took, n: int, smaller: dict[int, Took]) -> Took:
    """A time that was not measured, or what smaller sizes let expect, whichever is less."""
    if not found.how or len(smaller) < 2 or any(s.how for s in smaller.values()):
        return found
    sizes, times = list(smaller), [s.seconds for s in smaller.values()]
    p = slope(sizes, times)
    expected = times[-1] * (n / sizes[-1]) ** p
    if found.how.startswith("extrapolated") and found.seconds <= expected:
        return found
    return Took(max(expected, LIMIT), f"extrapolated from smaller n, exponent {p:.2f}")


def slope(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def draw(plane: Scaling, space: Scaling, path: Path) -> None:
    """Seconds over n: both solvers, every µ and load a dot; a line through their means."""
    from hardgrain.papers.figures import COLOURS, new_figure, style

    with style():
        figure, panels = new_figure(1, 2, width=4.2, height=3.6, sharey=True)
        for axes, scaling, title in zip(panels, (plane, space), ("disks", "spheres")):
            axes.set(xscale="log", yscale="log", xlabel="grains n", title=title)
            _plot(axes, "Gauss–Seidel", scaling.theirs, COLOURS[2], above=True)
            _plot(axes, "rigid solver", scaling.ours, COLOURS[1], above=False)
            sizes = sorted({n for row in scaling.ours.values() for n in row})
            axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
            axes.minorticks_off()
        panels[0].set_ylabel("CPU time of a cold static step [s]")
        for mark, face, label in (
            ("o", "0.4", "load step"), ("^", "0.4", "gravity"), ("o", "none", "extrapolated")
        ):  # fmt: skip
            panels[0].plot([], [], mark, color="0.4", markerfacecolor=face, label=label)
        panels[0].legend(loc="upper left")
        for end in ("svg", "png"):
            figure.savefig(path.with_suffix(f".{end}"), dpi=160)


def _plot(
    axes: Any,
    name: str,
    table: dict[tuple[str, float], dict[int, Took]],
    colour: str,
    above: bool,
) -> None:
    """The dots of one solver, and its line with the exponent."""
    for (load, _), row in table.items():
        for n, s in row.items():
            face, mark = "none" if s.how else colour, "o" if load == "piston" else "^"
            axes.plot(n, s.seconds, mark, color=colour, markerfacecolor=face, alpha=0.7)
    sizes = sorted({n for row in table.values() for n in row})
    mean = [np.exp(np.mean([np.log(row[n].seconds) for row in table.values()])) for n in sizes]
    p, c = np.polyfit(np.log(sizes), np.log(mean), 1)
    ends = np.array([sizes[0], sizes[-1]])
    line = np.exp(c) * ends**p
    axes.plot(ends, line, color=colour)
    sides = ((-8, 4), "right", "bottom") if above else ((8, -4), "left", "top")
    axes.annotate(
        f"{name}, n$^{{{p:.2f}}}$", np.sqrt([ends.prod(), line.prod()]), color=colour,
        xytext=sides[0], textcoords="offset points", ha=sides[1], va=sides[2],
    )  # fmt: skip


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
            ours, found = _solved(form, TOLERANCE, 3)
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
