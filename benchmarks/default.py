"""What the solver that a scene has by default costs beside 100 sweeps a step, while grains settle.

``python -m benchmarks.default 500 2000 8000`` measures these sizes and writes the table in
`docs/choosing-a-solver.md` anew. Disks or spheres fall into a box and come to rest. The scene is
run ahead as `hardgrain advise` does: at moments spread over the run some steps are made with the
solver, and their CPU time is the figure.
"""

from __future__ import annotations

import math
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import hardgrain as hg
from benchmarks.measure import Figure
from hardgrain.measure.rigidity import CONVERGED
from hardgrain.run.rehearsal import Rehearsal, rehearse

PAGE = Path(__file__).parents[1] / "docs" / "choosing-a-solver.md"
TABLE = re.compile(r"(?<=<!-- python -m benchmarks.default -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
SWEEPS = hg.GaussSeidel(sweeps=100)
DT = 0.02
HEAD = (
    "| grains | solver by default | a step [ms] | 100 sweeps [ms] | ratio | steps that 100 sweeps"
    " leave unconverged |\n| --- | --- | --- | --- | --- | --- |"
)


@dataclass(frozen=True)
class Cost:
    """CPU time of a step [s], and the share of the steps that were not converged."""

    seconds: float
    loose: float
    criterion: str


def settling(count: int, dimension: int, solver: hg.GaussSeidel | None) -> hg.Scenario:
    """Grains that fall into a box as wide as they will lie high, until twice the time of a fall."""
    side = math.ceil(count ** (1.0 / dimension))
    low, high = [0.0] * dimension, [side] * (dimension - 1) + [2.0 * side]
    scene = hg.Scene(
        dimension=2 if dimension == 2 else 3,
        gravity=[0.0] * (dimension - 1) + [-1.0],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Deposit(min=low, max=high),
            )
        ],
        walls=[hg.Box(min=low, max=high, open=["top"])],
    )
    stop = hg.Stop(time=2.0 * math.sqrt(2.0 * side))
    return hg.Scenario(scene=scene, dt=DT, seed=1, solver=solver, stop=stop)


def cost(count: int, dimension: int, solver: hg.GaussSeidel | None) -> Cost:
    """Of settling grains, over the whole run; without a solver, of the one by default."""
    scenario = settling(count, dimension, solver)
    rehearse(settling(30, dimension, solver), seconds=math.inf)  # compiles
    time.perf_counter, clock = time.process_time, time.perf_counter
    try:
        found: Rehearsal = rehearse(scenario, seconds=math.inf)
    finally:
        time.perf_counter = clock
    loose = [report.residual > CONVERGED for report in found.reports]
    return Cost(found.step_seconds[0], sum(loose) / len(loose), scenario.solver.criterion)


def run(quick: bool) -> list[Figure]:
    figures = []
    for dimension in (2, 3):
        for count in [50] if quick else [500, 2000]:
            mine, swept = cost(count, dimension, None), cost(count, dimension, SWEEPS)
            figures.append(
                Figure(
                    f"{count} {_grains(dimension)} settle: default solver over 100 sweeps",
                    mine.seconds / swept.seconds,
                    detail=_row(count, dimension, mine, swept),
                )
            )
    return figures


def _grains(dimension: int) -> str:
    return "disks" if dimension == 2 else "spheres"


def _row(count: int, dimension: int, mine: Cost, swept: Cost) -> str:
    ratio = mine.seconds / swept.seconds
    return (
        f"| {count} {_grains(dimension)} | {mine.criterion} | {1e3 * mine.seconds:.3g} |"
        f" {1e3 * swept.seconds:.3g} | {ratio:.2g} | {swept.loose:.0%} |"
    )


def main(sizes: list[int]) -> None:
    rows = [HEAD]
    for dimension in (2, 3):
        for count in sizes:
            mine, swept = cost(count, dimension, None), cost(count, dimension, SWEEPS)
            rows.append(_row(count, dimension, mine, swept))
            print(rows[-1], flush=True)
    PAGE.write_text(TABLE.sub("\n".join(rows), PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [500, 2000, 8000])
