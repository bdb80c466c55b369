"""The rigid solver in slow flow and yielding, Gauss–Seidel beside it: all scenes side by side.

Disks: compaction by a piston, shear, a box that tilts, a drum, a biaxial test. Spheres: a piston,
a box that tilts, a drum, falling into a box. States advance by the rigid solver. Some of the
problems, from all over the run, are then given to Gauss–Seidel, warm-started in the same way and
with the same tolerance; what it takes until it gives up counts too, which is in its favour. A step
in the middle of which its time is over does not count. CPU times of the solve alone, compilation
taken out, one core for each scene.

    python -m benchmarks rigid          measure, print, keep in results/rigid-scenes.json
    python -m benchmarks.rigid_scenes   write table and picture of docs/rigid-solver.md from there

The first gives each scene at most `MINUTES` (`BENCHMARK_MINUTES` gives another number), which
includes making its packing. On 16 cores it takes a minute more, and three where kernels have to be
compiled first; on fewer cores scenes wait for each other.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hard_steps import SCENES
from benchmarks.measure import RESULTS, Figure
from benchmarks.rigid_packings import FLOWS, compression
from benchmarks.scaling import TOLERANCE, timed
from benchmarks.side_by_side import Desk, Row, measured
from hardgrain.parallel import cores
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.rigid import RigidSolver

DOCS = Path(__file__).parents[1] / "docs"
DATA, PAGE = DOCS / "rigid-scenes.json", DOCS / "rigid-solver.md"
BEGIN, END = "<!-- written by benchmarks/rigid_scenes.py -->", "<!-- end of what it wrote -->"
# what stands around the table the first time it is written, and before which heading
SECTION = f"""## In motion

Steps of grains in slow flow, solved to 10⁻⁶ by `python -m benchmarks rigid`: how many steps were
made and how many missed, and the mean CPU time of a step. Some of the steps, from all over the run,
were given to Gauss–Seidel too; the last three columns are about these, and what it took until it
gave up counts.

{BEGIN}
{END}

![Mean time of a step in scenes that flow](rigid-scenes.png)

*Mean CPU time of a step, on the steps that both solvers were given; open marks missed some.*

"""
BEFORE = "## What each stage is worth"

MINUTES = float(os.environ.get("BENCHMARK_MINUTES") or 5.0)
SWEEPS, PORTION = 200_000, 2000  # after which Gauss–Seidel gives up a step; that it makes at once
STEPS, EVERY = 600, 5  # at most, and one of so many may be given to Gauss–Seidel
TINY = 150  # grains of a scene that only compiles, or shows that all runs
KEPT = 60  # problems at most, since they take memory
COMPILING = 400.0  # [s] limit of tiny scenes, which compile all kernels the first time
OURS, LEAST = 0.65, 0.3  # share of the time after which no further step is begun, and for steps

BEGINS: dict[str, Callable[[int], Any]] = {
    **{f"{name}, disks": begin for name, begin in FLOWS.items()},
    "biaxial test, disks": compression,
    "piston, spheres": SCENES["piston-3d"].begin,
    "tilting box, spheres": SCENES["tilt-3d"].begin,
    "drum, spheres": SCENES["drum-3d"].begin,
    "settling, spheres": SCENES["settling-3d"].begin,
}
METHODS = ("gradients", "walk", "springs", "path")  # besides sweeps
SIZES = {"disks": (400, 1600), "spheres": (600, 1500)}


def run(quick: bool) -> list[Figure]:
    work, tiny = "benchmarks.rigid_scenes:measure", [[name, TINY, 3] for name in BEGINS]
    if quick:
        jobs = tiny
        rows = measured(work, tiny, COMPILING)
    else:
        print("  tiny ones first, for which kernels are compiled:")
        measured(work, [tiny[1], tiny[2], tiny[-1]], COMPILING)
        which = [(k, name) for k in (0, 1) for name in BEGINS]  # small ones first: they end early
        jobs = [[name, SIZES[name.split(", ")[1]][k], STEPS] for k, name in which]
        turns = len(jobs) / cores() + 0.5  # the last to begin may get half of its time
        rows = measured(work, jobs, 60.0 * MINUTES, within=60.0 * MINUTES * turns)
    whole = [row | {"scene": job[0], "grains": job[1]} for job, row in zip(jobs, rows)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in whole)
    (RESULTS / DATA.name).write_text(f"[\n{lines}\n]\n")
    return [figure for row in whole for figure in _figures(row, quick)]


# ---------------------------------------------------------------------- measure
@dataclass
class Both:
    """Solves steps with the rigid solver, and keeps some of them for Gauss–Seidel."""

    start: str = "previous"
    on_cap: str = "report"
    seconds: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    kept: list[tuple[float, Problem]] = field(default_factory=list)

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        seconds, found = timed(RigidSolver(tolerance=TOLERANCE), problem, seed, step)
        if len(self.seconds) % EVERY == 0 and len(self.kept) < KEPT:
            self.kept.append((seconds, deepcopy(problem)))
        self.seconds.append(seconds)
        self.residual.append(found.residual)
        self.used.update({stage.method for stage in found.history})
        solution: Solution = found
        return solution


def measure(desk: Desk, scene: str, count: int, steps: int) -> None:
    """Steps of a scene by the rigid solver, and then some of them by Gauss–Seidel."""
    sim, both = BEGINS[scene](count), Both()
    sim.engine.solver = both
    desk.lay(prepared=desk.spent * desk.limit)
    end = max(OURS, desk.spent + LEAST)
    while len(both.seconds) < steps and desk.spent < end:
        sim.engine.advance(sim.state)
        desk.lay(seconds=both.seconds, residual=both.residual, used=both.used)
    pairs: list[tuple[float, float, bool]] = []  # ours, theirs, whether it reached the tolerance
    for k in np.random.default_rng(1).permutation(len(both.kept)):
        if desk.spent >= 1.0:
            break
        seconds, problem = both.kept[k]
        theirs, met, cut = _swept(problem, desk)
        if not cut:
            pairs.append((seconds, theirs, met))
            desk.lay(pairs=pairs)


def _swept(problem: Problem, desk: Desk) -> tuple[float, bool, bool]:
    """CPU time of Gauss–Seidel [s], whether it reached the tolerance, and whether it was cut."""
    solver = GaussSeidel(
        sweeps=PORTION, stop="residual", tolerance=TOLERANCE, order="sequential"
    )  # fmt: skip
    spent = 0.0
    for _ in range(SWEEPS // PORTION):
        seconds, found = timed(solver, problem)
        spent += seconds
        if found.converged:
            return spent, True, False
        if desk.spent >= 1.0:
            return spent, False, True
        problem = replace(problem, impulse=found.impulse)
    return spent, False, False


# ---------------------------------------------------------------------- judge and show
def reached(row: Row) -> float:
    """Share of the steps within the tolerance."""
    return float(np.mean(np.array(row["residual"]) <= TOLERANCE))


def beside(row: Row) -> tuple[float, float, float]:
    """On the steps that both solved: our mean time [s], theirs, share that they reached."""
    ours, theirs, met = (float(np.mean(column)) for column in zip(*row["pairs"]))
    return ours, theirs, met


def _figures(row: Row, quick: bool) -> list[Figure]:
    what = f"{row['scene']}, {row['grains']}"
    if not row.get("seconds"):
        return [Figure(f"{what}: steps", 0.0, unit="", target="≥ 1", detail=row["ended"])]
    stages = ", ".join(f"{name} {row['used'][name]}" for name in METHODS if row["used"].get(name))
    figures = [
        Figure(
            f"{what}: share of steps within 10⁻⁶",
            reached(row),
            unit="",
            target="" if quick else "≥ 0.99",
            detail=f"{len(row['seconds'])} steps, {1e3 * np.mean(row['seconds']):.3g} ms each;"
            f" {row['ended']}; steps that used {stages or 'sweeps alone'}",
        ),
        Figure(
            f"{what}: worst residual",
            max(row["residual"]),
            unit="",
            target="" if quick else "≤ 1e-5",
        ),
    ]
    if row.get("pairs"):
        ours, theirs, met = beside(row)
        figures.append(
            Figure(
                f"{what}: our time / that of Gauss–Seidel",
                ours / theirs,
                target="" if quick else "≤ 1.1",
                detail=f"{len(row['pairs'])} steps, {1e3 * ours:.3g} and {1e3 * theirs:.3g} ms;"
                f" Gauss–Seidel reached {met:.0%}",
            )
        )
    return figures


def table(rows: list[Row]) -> str:
    """All scenes as Markdown."""
    lines = [
        "| scene | grains | steps | missed | worst residual | a step | both, ours | Gauss–Seidel |"
        " it reached |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda row: (list(BEGINS).index(row["scene"]), row["grains"])):
        cells = [row["scene"], str(row["grains"])]
        if row.get("seconds"):
            missed = round((1.0 - reached(row)) * len(row["seconds"]))
            cells += [str(len(row["seconds"])), str(missed), f"{max(row['residual']):.1e}"]
            cells.append(_time(float(np.mean(row["seconds"]))))
        if row.get("pairs"):
            ours, theirs, met = beside(row)
            cells += [_time(ours), _time(theirs), f"{met:.0%} of {len(row['pairs'])}"]
        cells += ["–"] * (9 - len(cells))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s"


def draw(path: Path) -> None:
    """Mean times of a step by both solvers, scene by scene, on the steps that both solved."""
    from hardgrain.papers.figures import COLOURS, new_figure, style

    rows = [row for row in json.loads(DATA.read_text(encoding="utf-8")) if row.get("pairs")]
    rows.sort(key=lambda row: (list(BEGINS).index(row["scene"]), row["grains"]), reverse=True)
    with style():
        figure, axes = new_figure(1, 1, width=6.4, height=0.26 * len(rows) + 1.0)
        (panel,) = np.atleast_1d(axes).ravel()
        for at, row in enumerate(rows):
            ours, theirs, met = beside(row)
            panel.plot([ours, theirs], [at, at], color="0.8", zorder=0)
            whole = reached(row) == 1.0
            panel.plot(ours, at, "o", color=COLOURS[1], markerfacecolor=None if whole else "none")
            full = COLOURS[2] if met == 1.0 else "none"
            panel.plot(theirs, at, "s", color=COLOURS[2], markerfacecolor=full)
        for mark, colour, label in (
            ("o", COLOURS[1], "rigid solver"),
            ("s", COLOURS[2], "Gauss–Seidel"),
        ):
            panel.plot([], [], mark, color=colour, label=label)
        panel.plot([], [], "o", color="0.4", markerfacecolor="none", label="not all reached 10⁻⁶")
        panel.set(xscale="log", xlabel="CPU time of a step [s]")
        panel.set_yticks(range(len(rows)), [f"{r['scene']}, {r['grains']}" for r in rows])
        panel.legend(loc="best")
        figure.savefig(path, dpi=160)


def show() -> None:
    """Take what was measured last into the docs: data, table and picture."""
    if (RESULTS / DATA.name).exists():
        shutil.copyfile(RESULTS / DATA.name, DATA)
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    if BEGIN not in text:
        text = text.replace(BEFORE, SECTION + BEFORE, 1)
    new = f"{BEGIN}\n\n{table(rows)}\n\n{END}"
    PAGE.write_text(
        re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: new, text, flags=re.S),
        encoding="utf-8",
    )
    runpy.run_path(str(DOCS / "draw.py"))["renew"]("rigid-scenes")


if __name__ == "__main__":
    show()
