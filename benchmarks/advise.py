"""What `hardgrain advise` says of the starters and examples, beside what their runs then do.

Each scenario is judged beforehand and then run to its end. A figure is the factor by which the run
is outside the range that was stated, 1 if it is within. Times are CPU times: the range, which is
stated in seconds of a clock, is scaled by the share of a processor that the advice itself had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hardgrain as hg
from benchmarks.measure import Figure
from hardgrain.cli import starter
from hardgrain.kernels import compile_seconds

EXAMPLES = Path(__file__).parents[1] / "examples"
QUICK = ["piston"]


def names() -> list[str]:
    """All starters, and the scenarios in the folder of examples."""
    return [*starter.names(), *sorted(path.stem for path in EXAMPLES.glob("*.toml"))]


def run(quick: bool) -> list[Figure]:
    figures = []
    for name in QUICK if quick else names():
        told = _in_process(name, 20 if quick else None)
        figures += [
            Figure(
                f"{name}: time of the run outside the range stated",
                outside(told["cpu"], told["stated_cpu"]),
                target="≤ 1",
                detail=f"{told['cpu']:.3g} s of {_range(told['stated_cpu'])} s",
            ),
            Figure(
                f"{name}: sweeps for rigidity outside the range stated",
                outside(told["needed"], told["stated_needed"]),
                target="≤ 1",
                detail=f"{told['needed']} of {_range(told['stated_needed'])}",
            ),
            Figure(
                f"{name}: answers of the run that are not those of the advice",
                float(sum(told[q] != told[f"stated_{q}"] for q in ("converged", "rigid"))),
                unit="",
                target="≤ 0",
                detail="; ".join(
                    f"{q}? {told[f'stated_{q}']}, then {told[q]}" for q in ("converged", "rigid")
                ),
            ),
        ]
    return figures


def outside(value: float, stated: tuple[float, float]) -> float:
    """Factor by which a positive value is outside a range, at least 1."""
    low, high = stated
    return max(low / value, value / high, 1.0)


def _range(stated: tuple[float, float]) -> str:
    return " to ".join(f"{x:.3g}" for x in stated)


def _scenario(name: str) -> hg.Scenario:
    if name not in starter.names():
        return hg.load(EXAMPLES / f"{name}.toml")
    path = Path(f"{name}.toml")
    starter.write(name, path)
    return hg.load(path)


def _in_process(name: str, steps: int | None) -> dict:
    """In a process and a folder of its own, so that each is judged as a user would."""
    command = [sys.executable, "-m", "benchmarks.advise", name, *([str(steps)] if steps else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _measure(name: str, steps: int | None) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if name == "impact":  # which starts from another one's end
            hg.Simulation(_scenario("settled_bed")).run(output="settled_bed.h5", progress=False)
        scenario = _scenario(name)
        if steps:
            scenario = scenario.model_copy(update={"stop": hg.Stop(steps=steps)})
        hg.advise(scenario, seconds=0.0)  # compiles
        clock, cpu = time.perf_counter(), time.process_time()
        advice = hg.advise(scenario)
        share = (time.process_time() - cpu) / (time.perf_counter() - clock)
        sim = hg.Simulation(scenario)
        cpu = time.process_time() - compile_seconds()
        summary = sim.run(progress=False)
        cpu = time.process_time() - compile_seconds() - cpu
        os.chdir(EXAMPLES)
    rigidity = summary.rigidity
    assert rigidity is not None
    return {
        "name": name,
        "cpu": cpu,
        "stated_cpu": [share * second for second in advice.seconds],
        "needed": rigidity.needed,
        "stated_needed": advice.needed,
        "converged": not summary.loose,
        "stated_converged": advice.converged,
        "rigid": summary.rigid,
        "stated_rigid": advice.rigid,
        "loose": summary.loose,
        "capped": summary.capped,
        "advice": str(advice),
        "summary": str(summary),
    }


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)))
