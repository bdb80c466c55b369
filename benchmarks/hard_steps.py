"""Hard steps: contact problems of grains that yield, kept in files.

Packings under a load step, and grains in slow flow, of disks and of spheres. From each scene come
steps that some hundred sweeps do not solve: those at which the solver of the day it was made fared
worst, and others drawn evenly from the rest. A file is a `Problem` in NumPy's format. Its
numbers are rounded to single precision, which halves the set; the rounded problem is the problem.
Arms of round grains are made parallel to the normals again, as solvers take them to be.

    python -m benchmarks hard-steps                    solve the set, and leave out stage by stage
    python -m benchmarks.hard_steps index              write the table of benchmarks/hard_steps
    python -m benchmarks.hard_steps capture [SCENE…]   make the set anew, some minutes a scene
    python -m benchmarks.hard_steps fclib FOLDER       write it as FCLIB's files for other solvers
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from benchmarks.measure import Figure
from benchmarks.rigid_packings import (
    DT,
    FLOWS,
    LOOSE,
    ROUGH,
    SPREAD,
    _after,
    compression,
    scene,
    static_problem,
)  # fmt: skip
from benchmarks.scaling import timed
from hardgrain.io import fclib
from hardgrain.solve.assembly import global_form
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.rigid import STAGES, RigidSolver, search

FOLDER = Path(__file__).parent / "hard_steps"
ARMS = ("arm_first", "arm_second")
PARALLEL = 1e-5  # [1] arms that are so nearly parallel to the normal are those of round grains
LEFT_OUT = {"others", "backend", "radius", "periodic", "torque", "roll"}
LAST = 20_000  # sweeps for a step that no other method could solve
SWEPT = 200  # a step that so many sweeps solve is not hard


def write(path: Path, problem: Problem) -> None:
    """Keep a problem in single precision."""
    held: dict[str, Any] = {}
    for one in fields(problem):
        value = getattr(problem, one.name)
        if one.name in LEFT_OUT or value is None:
            continue
        if isinstance(value, np.ndarray):
            value = value.astype(np.float32 if value.dtype == np.float64 else np.int32)
        held[one.name] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, **held)


def read(path: Path) -> Problem:
    """The problem that a file holds, in double precision."""
    with np.load(path, allow_pickle=False) as file:
        held: dict[str, Any] = {
            name: file[name].astype(np.float64) if file[name].dtype == np.float32 else file[name]
            for name in file.files
        }
    for name in ("remove_overlaps", "lean"):
        held[name] = bool(held[name])
    held["grains"], held["dt"] = int(held["grains"]), float(held["dt"])
    normal = held["normal"]
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    for name in ARMS:
        along = np.einsum("ka,ka->k", held[name], normal)[:, None] * normal
        aside = np.linalg.norm(held[name] - along, axis=1) > PARALLEL * np.linalg.norm(
            along, axis=1
        )
        held[name] = np.where(aside[:, None], held[name], along)
    m, ns = len(normal), held["spin"].shape[1]
    return Problem(**held, torque=np.zeros((m, ns)), roll=np.zeros(m))


def every(*names: str) -> dict[str, Problem]:
    """All problems of the set by name, or those of the scenes that are named."""
    return {
        path.stem: read(path)
        for path in sorted(FOLDER.glob("*.npz"))
        if not names or scene_of(path.stem) in names
    }


# ---------------------------------------------------------------------------------------- scenes
def _settling(count: int) -> hg.Simulation:
    """Spheres fall into a box; from where most of them have landed."""
    return _after(scene(count, 0.3, 3, "gravity"), 2.0 * count ** (1.0 / 3.0) - 6.0)


def _piston(count: int) -> hg.Simulation:
    """A piston falls upon loose spheres; from packing fraction 0.46 until they are jammed."""
    sim = hg.Simulation(scene(count, 0.3, 3, "piston"), dt=DT, solver=ROUGH, seed=1)
    high = sim.state.position[-1, -1] * LOOSE[3] / 0.46
    while sim.state.position[-1, -1] > high:
        sim.step()
    return sim


def _drum(count: int) -> hg.Simulation:
    """A drum, six diameters long and periodic, that turns slowly; from steady flow on."""
    radius = 0.38 * math.sqrt(count)
    inner = radius / math.sqrt(2.0)
    here = hg.Scene(
        dimension=3, gravity=[0, 0, -1], periodic={"y": (0.0, 6.0)},
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count, diameter=SPREAD,
                place=hg.Deposit(min=[-inner, 0, -inner], max=[inner, 6, inner]),
            )
        ],
        walls=[hg.Drum(center=[0, 0, 0], radius=radius, spin=0.1 / math.sqrt(radius))],
        allow_overlaps=True,
    )  # fmt: skip
    return _after(here, 15.0 + 3.0 * math.sqrt(radius))


def _tilt(count: int) -> hg.Simulation:
    """Spheres in a box that turns by half a degree in a unit of time; from 15° until they flow."""
    usual = scene(count, 0.3, 3, "gravity")
    sim = _after(usual, 60.0)
    (box,) = usual.walls
    assert isinstance(box, hg.Box)
    turning: dict[str, Any] = {"spin": [0.0, math.radians(0.5), 0.0], "pivot": [0.0, 0.0, 0.0]}
    (x, y, _) = box.max
    sides = {
        "left": ([0, 0, 0], [1, 0, 0]), "right": ([x, 0, 0], [-1, 0, 0]),
        "front": ([0, 0, 0], [0, 1, 0]), "back": ([0, y, 0], [0, -1, 0]),
        "bottom": ([0, 0, 0], [0, 0, 1]),
    }  # fmt: skip
    walls = [
        hg.Plane(point=point, normal=normal, name=name, **turning)
        for name, (point, normal) in sides.items()
    ]
    state = sim.state
    state.velocity[:], state.spin[:] = 0.0, 0.0
    return _after(usual.model_copy(update={"walls": walls}), 30.0, state)


@dataclass(frozen=True)
class Scene:
    """Where steps are taken from."""

    what: str
    begin: Callable[[int], Any]
    count: int
    steps: int  # that are made, of which ``keep`` are kept
    keep: int


def _load(dim: int, mu: float) -> Callable[[int], Problem]:
    return lambda count: static_problem(count, mu, dim, "piston")


SCENES = {
    "load-2d": Scene("a tenth more load, from zero impulses, µ 0.3", _load(2, 0.3), 1600, 1, 1),
    "load-2d-smooth": Scene("the same, µ 0.05", _load(2, 0.05), 1600, 1, 1),
    "tilt-2d": Scene("box that tilts", FLOWS["tilting box"], 1600, 16, 3),
    "biaxial-2d": Scene("biaxial compression", compression, 400, 300, 4),
    "drum-2d": Scene("drum", FLOWS["drum"], 800, 60, 3),
    "load-3d": Scene("a tenth more load, from zero impulses, µ 0.3", _load(3, 0.3), 500, 1, 1),
    "settling-3d": Scene("falling into a box", _settling, 500, 120, 3),
    "piston-3d": Scene("compaction by a piston", _piston, 500, 80, 4),
    "drum-3d": Scene("slow drum", _drum, 600, 60, 3),
    "tilt-3d": Scene("box that tilts", _tilt, 800, 12, 3),
}


# --------------------------------------------------------------------------------------- capture
@dataclass
class Catch:
    """Solves as the rigid solver does, and keeps what sweeps did not solve."""

    start: str = "previous"
    on_cap: str = "report"
    found: list[tuple[Problem, Solution]] = field(default_factory=list)

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        solution: Any = RigidSolver(sweeps=3000).solve(problem, seed=seed, step=step)
        methods = {stage.method for stage in solution.history}
        if methods != {"sweeps"} or solution.sweeps > SWEPT or not solution.converged:
            self.found.append((deepcopy(problem), solution))
        return solution


def capture(name: str) -> None:
    """Run a scene and keep its hardest steps, and some of the others."""
    one = SCENES[name]
    begun = one.begin(one.count)
    if isinstance(begun, Problem):
        write(FOLDER / f"{name}-0.npz", begun)
        return
    catch = Catch()
    begun.engine.solver = catch
    for _ in range(one.steps):
        begun.engine.advance(begun.state)
    hardest = sorted(
        range(len(catch.found)),
        key=lambda k: (
            -max(catch.found[k][1].residual, 1e-6),
            -len(catch.found[k][1].history),
            -catch.found[k][1].sweeps,
        ),
    )
    chosen, rest = hardest[: (one.keep + 1) // 2], sorted(hardest[(one.keep + 1) // 2 :])
    even = np.linspace(0, len(rest) - 1, one.keep // 2 + 2)[1:-1].round().astype(int)
    chosen += [rest[k] for k in even] if rest else []
    for k in sorted(set(chosen)):
        write(FOLDER / f"{name}-{k}.npz", catch.found[k][0])
    missed = sum(not solution.converged for _, solution in catch.found)
    print(f"{name}: {one.steps} steps, {len(catch.found)} hard, {missed} missed, kept {chosen}")


# --------------------------------------------------------------------------------------- measure
def solve(problem: Problem, stages: tuple[str, ...] = STAGES) -> tuple[float, Solution]:
    """CPU time [s] of a step solved to 10⁻⁶ with these stages alone, and its solution."""

    class Some(RigidSolver):
        def _solve(self, problem: Any, seed: int, step: int) -> Any:
            return search(self, problem, seed, step, stages=stages)

    seconds, found = timed(Some(sweeps=LAST), problem)
    return seconds, found


def run(quick: bool) -> list[Figure]:
    """The set solved, scene by scene; then with one stage of the solver left out in turn."""
    figures, whole = [], every()
    if quick:
        whole = dict(list(whole.items())[:2])
    solved = {key: solve(one) for key, one in whole.items()}
    for name in dict.fromkeys(map(scene_of, whole)):
        some = {key: both for key, both in solved.items() if scene_of(key) == name}
        reached = [found.converged for _, found in some.values()]
        methods = [found.history for _, found in some.values()]
        used = Counter(method for one in methods for method in {stage.method for stage in one})
        said = ", ".join(f"{method} {number}" for method, number in used.items())
        worst = max(found.residual for _, found in some.values())
        figures.append(
            Figure(
                f"{name}, {len(some)} steps: CPU time",
                sum(seconds for seconds, _ in some.values()),
                unit="s",
                detail=f"{sum(reached)} reached, worst {worst:.1g}; steps that used {said}",
            )
        )
        figures.append(
            Figure(
                f"{name}, {len(some)} steps: share within 10⁻⁶",
                float(np.mean(reached)),
                unit="",
                target="" if quick else "≥ 0.99",
            )
        )
    for left_out in ("", *STAGES):
        stages = tuple(stage for stage in STAGES if stage != left_out)
        both = [solve(one, stages) for one in whole.values()] if left_out else [*solved.values()]
        worst = max(found.residual for _, found in both)
        figures.append(
            Figure(
                f"without {left_out}" if left_out else "with all stages",
                sum(seconds for seconds, _ in both),
                unit="s",
                detail=f"{sum(found.converged for _, found in both)} of {len(both)} reached,"
                f" worst {worst:.1g}",
            )
        )
    return figures


def scene_of(name: str) -> str:
    """The scene from which a step was taken."""
    return name.rsplit("-", 1)[0]


def index() -> str:
    """The table of all steps: how they were made, and what is reached in what time."""
    lines = [
        "| step | grains | contacts | from | residual | CPU time [s] | by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, problem in every().items():
        one = SCENES[scene_of(name)]
        seconds, found = solve(problem)
        fine = RigidSolver(tolerance=1e-8, sweeps=LAST).solve(problem, seed=1, step=0)
        least = min(found.residual, fine.residual)
        last = [stage.method for stage in found.history if stage.method != "sweeps"]
        lines.append(
            f"| {name} | {one.count} | {problem.first.size} | {one.what} | {least:.1e} |"
            f" {seconds:.2g} | {last[-1] if last else 'sweeps'} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hard_steps")
    parser.add_argument("what", choices=["capture", "fclib", "index"])
    parser.add_argument("names", nargs="*", help="scenes, or the folder for FCLIB's files")
    options = parser.parse_args()
    if options.what == "capture":
        for name in options.names or SCENES:
            capture(name)
    elif options.what == "index":
        page = FOLDER / "README.md"
        text = page.read_text().split("\n| step |")[0].rstrip()
        page.write_text(f"{text}\n\n{index()}\n")
    else:
        for name, problem in every().items():
            fclib.write(Path(options.names[0]) / f"{name}.hdf5", global_form(problem)[0])


if __name__ == "__main__":
    main()
