"""Malformed scenarios, each from a seed: built and stepped, or refused in one sentence, and soon.

``python tests/fuzz/scenarios.py 100000`` tries that many on all cores; the suite tries a few. What
goes wrong is told with its seed: an error that is not our own, a warning, a sentence of several
lines, a number that is not one without a word, a case that takes longer than ten seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import faulthandler
import random
import sys
import time
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from hardgrain import parallel
from hardgrain.cli import starter
from hardgrain.kernels import compile_seconds
from hardgrain.run.scenario import parse

SLOWEST = 10.0  # [s] of the processor, a thousand times what a case takes
HANGS = 600.0  # [s] after which a case is given up, and the process with it
LONGEST = 600  # characters of a sentence
STEPS = 3  # of a scenario that can be built
PATIENT = 20_000  # sweeps or explicit steps that may be asked for in a step that is made
UPDATES = 10**8  # contact updates of a step in which all meet all; 16 ns each
AT_ONCE = 200  # cases of one job

PISTON = """
dt = 0.01
[scene]
gravity = [0, -1]
periodic = { x = [0, 8] }
materials = { grain = { density = 2.0 }, wall = {} }
[[scene.contacts]]
between = ["grain", "wall"]
friction = 0.5
restitution = 0.3
[[scene.grains]]
diameter = [1.0, 0.8, 1.2]
place = { kind = "at", positions = [[1, 1], [3, 1], [5, 1]] }
velocity = [0.1, 0]
lock = ["rotation"]
driven_velocity = ["free", "0.1*sin(t)"]
[[scene.walls]]
kind = "plane"
name = "floor"
material = "wall"
point = [0, 0]
normal = [0, 1]
velocity = [{ kind = "table", time = [0, 1], value = [0, 0.1] }, 0]
[[scene.walls]]
kind = "plane"
name = "lid"
point = [0, 4]
normal = [0, -1]
piston = { mass = 2, pressure = "ramp(t, 0, 1)", area = 8 }
[solver]
kind = "rigid"
[stop]
time = 1.0
[output]
track = ["lid", 0]
"""
SPHERES = """
dt = 0.01
[scene]
dimension = 3
gravity = [0, 0, -1]
[[scene.grains]]
count = 20
diameter = { kind = "bidisperse", small = 0.8, large = 1.2, share = 0.6 }
place = { kind = "loose", min = [-2, -2, 0], max = [2, 2, 8] }
spin = [0, 0, 1]
[[scene.grains]]
count = 3
diameter = { kind = "power-law", min = 0.5, max = 1, exponent = 2 }
place = { kind = "grid", min = [-2, -2, 9], max = [2, 2, 12] }
[[scene.walls]]
kind = "cylinder"
point = [0, 0, 0]
radius = 5
[[scene.walls]]
kind = "drum"
center = [0, 0, 5]
radius = 12
length = 40
spin = 0.3
[engine]
kind = "soft-particles"
stiffness = 100
restitution = 0.5
substeps = 40
[stop]
steps = 10
"""


def _small(data: dict[str, Any]) -> dict[str, Any]:
    """With few grains, so that most of the time goes into what is wrong."""
    for grains in data["scene"]["grains"]:
        if "count" in grains:
            grains["count"] = min(grains["count"], 40)
    return data


BASES = [
    tomllib.loads((Path(__file__).parents[1] / "cli" / "scenario.toml").read_text()),
    tomllib.loads(PISTON),
    tomllib.loads(SPHERES),
    *(_small(tomllib.loads(starter.text(name))) for name in starter.names()),
]
NAN, INF = float("nan"), float("inf")
JUNK: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 10**8, 10**30, -(10**30), 10**400, 0.0, -0.0, 5e-324, 1e-300, -1e-300,
    1e160, 1e300, -1e300, 1e-9, 1e9, 1e15, NAN, INF, -INF, True, False, "", "t", "1/t", "9**9**9",
    "20", "__import__('os')", "(" * 300, "x", "é\x00", "a" * 300, "²", "−1", [], [[]], {}, [1],
    [1, 2], [1, 2, 3], [1.0, -1e300], [NAN, NAN], ["0", "-1"], {"kind": "plane"}, {"kind": "grid"},
    {"kind": []}, {"": {}}, {"a": 1},
)  # fmt: skip


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a nested table."""
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from places(data[key])


def delete(container: Any, key: Any, rng: random.Random) -> None:
    del container[key]


def replace(container: Any, key: Any, rng: random.Random) -> None:
    number = rng.choice([rng.gauss(0.0, 1.0), rng.randint(-5, 50), 10.0 ** rng.uniform(-20, 20)])
    container[key] = copy.deepcopy(rng.choice(JUNK)) if rng.random() < 0.6 else number


def scale(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container[key], int | float):
        factor = rng.choice([-1, 0, 1e-12, 1e-3, 0.1, 10, 1e3, 1e12, 1e200])
        with contextlib.suppress(OverflowError):  # too large for a number already
            container[key] = type(container[key])(container[key] * factor)


def misspell(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, dict):
        at = rng.randint(0, len(key))
        container[key[:at] + rng.choice("aez_ \n") + key[at:]] = container.pop(key)


def change_length(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if isinstance(value, list):
        if value and rng.random() < 0.5:
            value.pop()
        else:
            value.append(copy.deepcopy(value[-1]) if value else 1.0)


def wrap(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = [container[key]] if rng.random() < 0.5 else {"kind": container[key]}


MUTATIONS = (delete, replace, replace, replace, scale, scale, misspell, change_length, wrap)


def malformed(seed: int) -> dict[str, Any]:
    """A valid scenario with one to three things wrong."""
    rng = random.Random(seed)
    data: dict[str, Any] = copy.deepcopy(rng.choice(BASES))
    for _ in range(rng.randint(1, 3)):
        found = list(places(data))
        if found:
            rng.choice(MUTATIONS)(*rng.choice(found), rng)
    return data


def attempt(data: dict[str, Any]) -> str:
    """Build and step a scenario; what became of it. Anything but our own errors comes out."""
    start, compiled, said, became = time.process_time(), compile_seconds(), "", "ran"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            sim = hg.Simulation(parse(data))
            _step(sim)
        except hg.InputError as error:
            said, became = str(error), "refused"
        except hg.RunError as error:
            said, became = str(error), "ended"
    assert "\n" not in said, said
    assert len(said) < LONGEST, said
    spent = time.process_time() - start - (compile_seconds() - compiled)
    assert spent < SLOWEST, f"it took {spent:.1f} s"
    return became


def _step(sim: hg.Simulation) -> None:
    scenario = sim.scenario
    asked = max(getattr(scenario.solver, "sweeps", 1), getattr(scenario.engine, "substeps", 1))
    pairs = sim.model.n * (sim.model.n - 1) // 2
    if (asked > PATIENT or asked * pairs > UPDATES) and scenario.solver.kind != "rigid":
        return  # it may take as long as it likes
    for _ in range(STEPS):
        sim.step()
        s = sim.state
        for array in (s.position, s.velocity, s.spin, s.orientation, s.contacts.impulse):
            assert np.isfinite(array).all(), "what is not a number was not told"


def _job(seeds: range) -> tuple[Counter[str], list[str]]:
    """Outcomes of some seeds, and what went wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for seed in seeds:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            counts[attempt(malformed(seed))] += 1
        except Exception:
            counts["WRONG"] += 1
            wrong.append(f"seed {seed}: {traceback.format_exc()}")
        finally:
            faulthandler.cancel_dump_traceback_later()
    return counts, wrong


def main() -> int:
    """Try many on all cores; the exit code says whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=parallel.cores())
    told = parser.parse_args()
    for base in BASES:
        attempt(base)  # compiles
    counts: Counter[str] = Counter()
    end = told.first + told.count
    jobs = [range(a, min(a + AT_ONCE, end)) for a in range(told.first, end, AT_ONCE)]
    with ProcessPoolExecutor(told.processes) as pool:
        for seeds, (found, wrong) in zip(jobs, pool.map(_job, jobs)):
            counts += found
            for text in wrong:
                print(text, flush=True)
            print(f"up to seed {seeds[-1]}: {dict(counts)}", file=sys.stderr, flush=True)
    print(f"{told.count} malformed scenarios: {dict(counts)}")
    return int(counts["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main())
