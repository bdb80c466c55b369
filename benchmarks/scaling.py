"""The rigid solver: time of a cold static step solved to 10⁻⁶, and how it grows with n.

CPU times on one core of the solve alone, compilation taken out; the rigid solver and Gauss–Seidel
get the same problems, stop at the same residual (`point.residual`), and are measured in one
run: one step of packings at rest, impulses from zero; a tenth more load on a piston, and gravity.
Exponents are those of a fit of log t against log n. Each load and friction coefficient is measured
in a process of its own, on as many cores as there are.

Gauss–Seidel gets the better of its orders, sequential and random (tried where that is cheap).
Where it would take too long its time is extrapolated, from how its residual falls and from its
times at smaller n, and the shorter of the two counts. If its residual does not fall at all, the
time it was given counts.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import RESULTS, Figure
from benchmarks.rigid_packings import cold, static_problem
from hardgrain.kernels import compile_seconds
from hardgrain.parallel import pmap
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem
from hardgrain.solve.rigid import RigidSolver
from hardgrain.solve.solver import Solver

TOLERANCE, FINE = 1e-6, 1e-8
LIMIT = 30.0  # CPU time Gauss–Seidel gets for one number [s]; beyond, it is extrapolated
SHORT = 10.0  # a solve that takes longer is timed once [s]
CHEAP = 2000  # grains up to which both orders of Gauss–Seidel, and a finer residual, are tried
PORTION = 1000  # sweeps of Gauss–Seidel after which its time and residual are first noted
LOADS = {"piston": "load step", "gravity": "gravity"}
FRICTION = {2: (0.3,), 3: (0.3,)}
SIZES = {2: (400, 1600, 6400), 3: (250, 500, 1000)}
LARGE = {2: (1600, 6400, 25_600), 3: (2000, 4000, 8000, 16_000)}


def run(quick: bool) -> list[Figure]:
    if quick:
        both = measured({2: (50, 100), 3: (50, 100)}, {2: (0.3,), 3: (0.3,)}, quick)
        targets: dict[int, dict[int, str]] = {2: {100: ""}, 3: {100: ""}}
    else:
        both = measured(SIZES, FRICTION, quick)
        targets = {2: {6400: "≥ 60"}, 3: {1000: ""}}
    draw(both[2], both[3], RESULTS / "rigid-scaling")
    limits = {2: "", 3: ""} if quick else {2: "≤ 1.2", 3: "≤ 1.4"}
    return [f for dim in (2, 3) for f in both[dim].figures(targets[dim], limits[dim])]


def measured(
    sizes: dict[int, tuple[int, ...]], friction: dict[int, tuple[float, ...]], quick: bool
) -> dict[int, Scaling]:
    """Both solvers at all sizes, loads and coefficients, for plane and space."""
    jobs = [
        (dim, load, mu, sizes[dim], quick) for dim in (3, 2) for load in LOADS
        for mu in friction[dim]
    ]  # fmt: skip
    both = {2: Scaling(2, quick), 3: Scaling(3, quick)}
    for (dim, load, mu, *_), row in zip(jobs, pmap(_measure, jobs)):
        both[dim].rows[load, mu] = row
    return both


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
    how: str = ""  # nothing, extrapolated, a bound, or missed
    unbalanced: float = math.nan  # net force that is left, over the mean contact force

    def __str__(self) -> str:
        left = "" if math.isnan(self.unbalanced) else f", unbalanced {self.unbalanced:.1g}"
        return f"{self.seconds:.3g} s{f' ({self.how})' if self.how else left}"


@dataclass
class Row:
    """Times over n, for one load and one friction coefficient."""

    ours: dict[int, Took] = field(default_factory=dict)
    theirs: dict[int, Took] = field(default_factory=dict)
    residual: list[float] = field(default_factory=list)
    finest: list[float] = field(default_factory=list)  # where `FINE` was asked for


def _measure(job: tuple[int, str, float, tuple[int, ...], bool]) -> Row:
    dim, load, mu, sizes, quick = job
    row = Row()
    orders = ("sequential", "random")
    for n in sizes:
        problem = static_problem(n, mu, dim, load)
        seconds, solution = solved(problem, TOLERANCE, 1 if quick else 3)
        reached = solution.residual <= TOLERANCE
        how = "" if reached else f"missed: {solution.residual:.1g}"
        row.ours[n] = Took(seconds, how, solution.unbalanced)
        row.residual.append(solution.residual)
        if n <= CHEAP:
            fine = RigidSolver(tolerance=FINE, start="zero").solve(problem, seed=1, step=0)
            row.finest.append(fine.residual)
        times = {order: swept(problem, order, 1.0 if quick else LIMIT) for order in orders}
        best = min(times, key=lambda order: times[order].seconds)
        row.theirs[n] = _shorter(times[best], n, row.theirs)
        if n > CHEAP:
            orders = (best,)
    return row


@dataclass
class Scaling:
    """Times of static steps over n, for plane or space; a row for each load and coefficient."""

    dim: int
    quick: bool
    rows: dict[tuple[str, float], Row] = field(default_factory=dict)

    def figures(self, ratios: dict[int, str], exponent: str) -> list[Figure]:
        return [f for key in self.rows for f in self._figures(key, ratios, exponent)]

    def _figures(
        self, key: tuple[str, float], ratios: dict[int, str], exponent: str
    ) -> list[Figure]:
        row = self.rows[key]
        what = f"{self.dim}D, {LOADS[key[0]]}, µ = {key[1]:g}"
        seconds = ", ".join(f"{k}: {t.seconds:.3g} s" for k, t in row.ours.items())
        worst = max(row.residual)
        missed = "" if worst <= TOLERANCE else f"; MISSED, residual {worst:.2g}"
        times = [t.seconds for t in row.ours.values()]
        return [
            Figure(
                f"{what}: exponent of the time in n",
                slope(list(row.ours), times) if worst <= TOLERANCE else math.nan,
                unit="",
                target=exponent,
                detail=f"{seconds}{missed}",
            ),
            *[
                Figure(
                    f"{what}: time of Gauss–Seidel / ours, n = {k}",
                    row.theirs[k].seconds / row.ours[k].seconds,
                    target=target,
                    detail=f"ours {row.ours[k]}; Gauss–Seidel {row.theirs[k]}",
                )
                for k, target in ratios.items()
            ],
            Figure(
                f"{what}: residual when 10⁻⁸ is asked for, worst of n ≤ {CHEAP}",
                max(row.finest, default=math.nan),
                unit="",
                target="" if self.quick else "≤ 1e-8",
            ),
        ]


def solved(problem: Any, tolerance: float, repeat: int) -> tuple[float, Any]:
    """Shortest time of the rigid solver from zero [s], and the solution."""
    solver = RigidSolver(tolerance=tolerance, start="zero")
    shortest, found = timed(solver, problem)
    for _ in range(repeat - 1 if shortest < SHORT else 0):
        shortest = min(shortest, timed(solver, problem)[0])
    return shortest, found


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
            theirs = {key: row.theirs for key, row in scaling.rows.items()}
            ours = {key: row.ours for key, row in scaling.rows.items()}
            _plot(axes, "Gauss–Seidel", theirs, COLOURS[2], above=True)
            _plot(axes, "rigid solver", ours, COLOURS[1], above=False)
            sizes = sorted({n for row in ours.values() for n in row})
            axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
            axes.minorticks_off()
        panels[0].set_ylabel("CPU time of a cold static step [s]")
        for mark, face, label in (
            ("o", "0.4", "load step"), ("^", "0.4", "gravity"), ("o", "none", "extrapolated"),
            ("x", "0.4", "missed 10⁻⁶"),
        ):  # fmt: skip
            panels[0].plot([], [], mark, color="0.4", markerfacecolor=face, label=label)
        panels[0].legend(loc="upper left")
        path.parent.mkdir(parents=True, exist_ok=True)
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
            mark = "x" if s.how.startswith("missed") else mark
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
