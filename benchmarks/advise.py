"""What `hardgrain advise` says of the starters and examples, beside what their runs then do.

Each scenario is judged beforehand and then run to its end, as it is written and with 100 sweeps a
step: only where sweeps are counted does the advice say how many would do. A figure is the factor by
which the run is outside the range that was stated, 1 if it is within. All times are CPU times, also
those that the advice is based on: others may keep the processor busy meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import hardgrain as hg
from benchmarks.measure import Figure
from hardgrain.cli import starter
from hardgrain.kernels import compile_seconds

EXAMPLES = Path(__file__).parents[1] / "examples"
SWEEPS = 100  # a step
QUICK = ["piston"]


def names() -> list[str]:
    """All starters of contact dynamics, and the scenarios in the folder of examples."""
    swept = [n for n in starter.names() if "event-driven" not in starter.text(n)]
    return [*swept, *sorted(path.stem for path in EXAMPLES.glob("*.toml"))]


def run(quick: bool) -> list[Figure]:
    figures = []
    for name in QUICK if quick else names():
        for how in ("as written", "swept"):
            told = _in_process(name, how, 20 if quick else None)
            figures += list(compare(f"{name}, {how}", told))
    return figures


def compare(what: str, told: dict) -> Iterator[Figure]:
    """What was stated of a run beside what it did."""
    yield Figure(
        f"{what}: time outside the range stated",
        outside(told["seconds"], told["stated_seconds"]),
        target="≤ 1",
        detail=f"{told['seconds']:.3g} s of {_range(told['stated_seconds'])} s",
    )
    if told["swept"]:
        yield Figure(
            f"{what}: sweeps that rigidity needs outside the range stated",
            outside(told["needed"], told["stated_needed"]),
            target="≤ 1",
            detail=f"{told['needed']} of {_range(told['stated_needed'])}",
        )
    answers = [(q, told[f"stated_{q}"], told[q]) for q in ("converged", "rigid")]
    yield Figure(
        f"{what}: answers yes that became no",
        float(sum(stated and not found for _, stated, found in answers)),
        unit="",
        target="≤ 0",
        detail="; ".join(f"{q}? {stated}, then {found}" for q, stated, found in answers),
    )


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


def _in_process(name: str, how: str, steps: int | None) -> dict:
    """In a process and a folder of its own, so that each is judged as a user would."""
    command = [sys.executable, "-m", "benchmarks.advise", name, how, *([str(steps)] * bool(steps))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def _measure(name: str, how: str, steps: int | None = None) -> dict:
    swept, time.perf_counter = how == "swept", time.process_time
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if name == "impact":  # which starts from another one's end
            hg.Simulation(_scenario("settled_bed")).run(output="settled_bed.h5", progress=False)
        scenario = _scenario(name)
        if swept:
            scenario = scenario.model_copy(update={"solver": hg.GaussSeidel(sweeps=SWEEPS)})
        if steps:
            scenario = scenario.model_copy(update={"stop": hg.Stop(steps=steps)})
        hg.advise(scenario, seconds=0.0)  # compiles
        advice = hg.advise(scenario)
        sim = hg.Simulation(scenario)
        began = time.process_time() - compile_seconds()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 100 sweeps may be too few
            summary = sim.run(progress=False)
        seconds = time.process_time() - compile_seconds() - began
        os.chdir(EXAMPLES)
    rigidity = summary.rigidity
    assert rigidity is not None
    return {
        "swept": swept,
        "seconds": seconds,
        "stated_seconds": advice.seconds,
        "needed": rigidity.needed,
        "stated_needed": advice.needed,
        "converged": not summary.loose,
        "stated_converged": advice.converged,
        "rigid": summary.rigid,
        "stated_rigid": advice.rigid,
        "advice": str(advice),
        "summary": str(summary),
    }


if __name__ == "__main__":
    print(json.dumps(_measure(*sys.argv[1:3], *map(int, sys.argv[3:]))))
