"""What the rigid solver is measured on: packings at rest, and grains that move.

**At rest.** Grains dropped into a box as high as wide, where they are pressed by a piston (no
gravity; pressure, density and mean diameter are one) or lie under gravity. Some thousand steps with
few sweeps make them dense and nearly still. The rest is done by quasi-static steps, each from rest
and so long that grains which can move at all move by up to a hundredth of their size: with
velocities forgotten, inertia only keeps a step finite, and what moves comes to rest in tens of
steps rather than thousands. Every µ has packings of its own, since what is at rest with much
friction is not with little, and what is made with little is denser than what is made with much; it
is made with a tenth less, so that no grain is left that creeps. Walls have the friction of the
grains.

**In motion.** Compaction from loose to jammed, shear between rough walls, a box that is tilted
until it flows, a drum: begun with few sweeps, up to where it becomes interesting.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hardgrain as hg
from benchmarks.measure import RESULTS
from hardgrain.core.model import State
from hardgrain.scene.sizes import draw
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.rigid import RigidSolver
from hardgrain.solve.solver import Solver

DT = 0.05  # [√(diameter density/pressure)]: in it, a free grain is pushed by 1/400 of its size
SPREAD = hg.Uniform(min=2.0 / 3.0, max=4.0 / 3.0)  # diameters: no crystals
LOOSE = {2: 0.55, 3: 0.36}  # packing fraction at the start: about what deposition reaches
WIDE = {2: 0.88, 3: 0.8}  # width of the box [grains^(1/dim)]: then it ends as high as wide
ROUGH = GaussSeidel(sweeps=60, order="sequential")
LESS = 0.9  # of its friction, while a packing is made: so that it is at rest with all of it
SLOW, QUIET, ROUND = 3e-5, 50, 500  # kinetic energy of a grain, for so many steps; see `_prepare`
FIRST, FURTHER = 0.3, 1.5  # quasi-static steps: first, ratio
LONGEST = {True: 5.0, False: 0.7}  # under a piston; under gravity, where all that falls falls far
FAR = 0.005  # rms displacement up to which the next one is longer [diameter]
REST = 1e-3  # rms acceleration of a packing at rest; what falls freely has one
MOST = 400  # quasi-static steps


def scene(count: int, mu: float, dim: int, load: str, factor: float = 1.0) -> hg.Scene:
    """Grains in a box, under gravity or a piston with ``factor`` times its usual force."""
    diameter = draw(SPREAD, count, np.random.default_rng(1), dim)
    solid = float(np.sum(diameter**dim)) * (math.pi / 4.0 if dim == 2 else math.pi / 6.0)
    width = WIDE[dim] * count ** (1.0 / dim)
    area = width ** (dim - 1)
    corner, size = [0.0] * dim, [width] * (dim - 1) + [solid / LOOSE[dim] / area]
    pressed = load == "piston"
    top: dict[str, Any] = (
        {"pistons": {"top": hg.Piston(mass=area, force=factor * area)}}
        if pressed
        else {"open": ["top"]}
    )
    return hg.Scene(
        dimension=2 if dim == 2 else 3,
        gravity=None if pressed else [0.0] * (dim - 1) + [-factor],
        contacts=[hg.ContactLaw(friction=mu)],
        grains=[
            hg.Grains(diameter=tuple(diameter), place=hg.Deposit(min=corner, max=size), speed=1.0)
        ],
        walls=[hg.Box(min=corner, max=size, **top)],
        allow_overlaps=True,  # as far as they were made
    )


def at_rest(count: int, mu: float, dim: int, load: str) -> hg.Simulation:
    """A packing at rest; kept in a run file for the next time."""
    path = RESULTS / f"rest-{load}-{dim}d-{count}-{mu:g}.h5"
    here = scene(count, mu, dim, load)
    if not path.exists():
        _prepare(here, scene(count, LESS * mu, dim, load), path)
    return hg.Simulation(hg.Scenario(dt=DT, seed=1, scene=here, start={"file": str(path)}))


def static_problem(count: int, mu: float, dim: int, load: str) -> Problem:
    """One step of a packing at rest, cold, a tenth more load on the piston."""
    rest = at_rest(count, mu, dim, load)
    more = scene(count, mu, dim, load, 1.1 if load == "piston" else 1.0)
    sim = hg.Simulation(more, dt=DT, solver=ROUGH, seed=1, start=rest.state)
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
    return cold(problem_of(sim))


def cold(problem: Problem) -> Problem:
    return replace(problem, impulse=np.zeros_like(problem.impulse))


def problem_of(sim: hg.Simulation) -> Problem:
    """The contact problem of the next step."""

    class Catch(Solver):
        tolerance: float = 1.0

        def _solve(self, problem: Any, seed: int, step: int) -> Solution:
            caught.append(problem)
            return GaussSeidel(sweeps=1).solve(problem, seed=seed, step=step)

    caught: list[Problem] = []
    sim.engine.solver = Catch()
    sim.engine.advance(sim.state.copy())
    return caught[0]


def _prepare(here: hg.Scene, slippery: hg.Scene, path: Path) -> None:
    """Make dense, bring to rest, and keep."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    sim = hg.Simulation(slippery, dt=DT, solver=ROUGH, seed=1)
    quiet = 0
    while quiet < QUIET:
        kinetic = sim.step().kinetic / sim.model.n
        quiet = quiet + 1 if kinetic < SLOW else 0
        if sim.state.step % ROUND == 0 and kinetic < 100.0 * SLOW:
            sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0  # or some would fly for ever
    sim = _still(here, sim.state)
    sim.run(until=sim.state.step + 1, output=path, every=1, progress=False)


def _still(here: hg.Scene, state: State) -> hg.Simulation:
    """Quasi-static steps, until nothing moves at all, in short ones either."""
    heavy, longest = _heavier(here), LONGEST[here.gravity is None]
    solver, dt, last = RigidSolver(sweeps=3000), FIRST, DT
    for _ in range(MOST):
        state.velocity[:], state.spin[:] = 0.0, 0.0
        state.contacts.impulse *= dt / last
        state.step, last = 0, dt
        sim = hg.Simulation(heavy, dt=dt, solver=solver, seed=1, start=state)
        speed = math.sqrt(2.0 * sim.step().kinetic / sim.model.mass[: sim.model.n].sum())
        state = sim.state
        if speed < (REST if dt == FIRST else 0.1 * REST) * dt:
            if dt == FIRST:
                break
            dt = FIRST
        elif speed * dt < FAR:
            dt = min(FURTHER * dt, longest)
    else:
        raise RuntimeError(f"{sim.model.n} grains did not come to rest")
    state.velocity[:], state.spin[:] = 0.0, 0.0
    state.contacts.impulse *= DT / dt
    state.step = 0
    return hg.Simulation(here, dt=DT, solver=RigidSolver(), seed=1, start=state)


def _heavier(here: hg.Scene) -> hg.Scene:
    """Pistons as heavy as all grains: in a long step, a light one would look far ahead."""
    (box,) = here.walls
    assert isinstance(box, hg.Box)
    pistons = {
        side: piston.model_copy(update={"mass": box.max[0] * piston.mass})
        for side, piston in box.pistons.items()
    }
    return here.model_copy(update={"walls": [box.model_copy(update={"pistons": pistons})]})


# ------------------------------------------------------------------------------------- in motion
def compression(count: int) -> hg.Simulation:
    """A biaxial test: at rest under two pistons; then the top is driven, inertial number 10⁻³."""
    path = RESULTS / f"rest-biaxial-2d-{count}.h5"
    side = WIDE[2] * math.sqrt(count)
    span = {"between": [("left", "right")]}, {"between": [("bottom", "top")]}
    top, right = (hg.Piston(mass=side, pressure=1.0, **s) for s in span)
    pistons = {"top": top, "right": right}
    pressed = _box(count, pistons=pistons)
    if not path.exists():
        _prepare(pressed, _box(count, mu=LESS * 0.3, pistons=pistons), path)
    start = {"file": str(path)}
    rest = hg.Simulation(hg.Scenario(dt=DT, seed=1, scene=pressed, start=start)).state
    lid = hg.Plane(
        point=[0.0, float(rest.position[-1, 1])], normal=[0, -1],
        velocity=[0.0, -1e-3 * side], name="top",
    )  # fmt: skip
    driven = _box(count, lid, pistons={"right": right}, open=["top"])
    return hg.Simulation(driven, dt=DT, solver=RigidSolver(), seed=1, start=rest)


def _box(count: int, *more: Any, mu: float = 0.3, **box: Any) -> hg.Scene:
    return _with_walls(scene(count, mu, 2, "piston"), more, box)


def _with_walls(usual: hg.Scene, more: Any, box: dict[str, Any]) -> hg.Scene:
    (walls,) = usual.walls
    assert isinstance(walls, hg.Box)
    return usual.model_copy(update={"walls": [hg.Box(min=walls.min, max=walls.max, **box), *more]})


def _compaction(count: int) -> hg.Simulation:
    """A piston falls upon loose grains; from packing fraction 0.75 until they are jammed."""
    sim = hg.Simulation(scene(count, 0.3, 2, "piston"), dt=DT, solver=ROUGH, seed=1)
    high = sim.state.position[-1, -1] * LOOSE[2] / 0.75
    while sim.state.position[-1, -1] > high:
        sim.step()
    return sim


def _shear(count: int) -> hg.Simulation:
    """Grains between two rows of equal grains, the upper one driven and pressed down."""
    width = round(WIDE[2] * math.sqrt(count))
    high = count / width * 1.6
    x = [(k + 0.5) * 1.0 for k in range(width)]
    row: dict[str, Any] = {"diameter": tuple([0.98] * width), "lock": ["rotation"]}
    lower = hg.Grains(
        place=hg.At(positions=tuple((a, -0.5) for a in x)), driven_velocity=[0.0, 0.0], **row
    )
    upper = hg.Grains(
        place=hg.At(positions=tuple((a, high + 0.5) for a in x)),
        driven_velocity=[0.02 * high, "free"], force=[0.0, -1.0], **row,
    )  # fmt: skip
    loose = hg.Grains(
        count=count, diameter=SPREAD, place=hg.Deposit(min=[0, 0], max=[width, high]), speed=0.1
    )
    here = hg.Scene(
        periodic={"x": (0.0, float(width))},
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[loose, lower, upper],
        allow_overlaps=True,
    )
    return _after(here, 30.0)


def _tilt(count: int) -> hg.Simulation:
    """A heap in a box that turns by half a degree in a unit of time; from 15° until it flows."""
    rest = at_rest(count, 0.3, 2, "gravity")
    (box,) = rest.scenario.scene.walls
    assert isinstance(box, hg.Box)
    turning: dict[str, Any] = {"spin": math.radians(0.5), "pivot": [0.0, 0.0]}
    walls = [
        hg.Plane(point=[0.0, 0.0], normal=[1.0, 0.0], name="left", **turning),
        hg.Plane(point=[box.max[0], 0.0], normal=[-1.0, 0.0], name="right", **turning),
        hg.Plane(point=[0.0, 0.0], normal=[0.0, 1.0], name="bottom", **turning),
    ]
    here = rest.scenario.scene.model_copy(update={"walls": walls})
    return _after(here, 30.0, rest.state)


def _drum(count: int) -> hg.Simulation:
    """A drum, two fifths full, that turns so slowly that grains roll down its surface."""
    radius = 0.92 * math.sqrt(count)
    inner = radius / math.sqrt(2.0)
    here = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=0.3)],
        grains=[
            hg.Grains(
                count=count, diameter=SPREAD, place=hg.Deposit(min=[-inner] * 2, max=[inner] * 2)
            )
        ],
        walls=[hg.Drum(center=[0, 0], radius=radius, spin=0.3 / math.sqrt(radius))],
        allow_overlaps=True,
    )
    return _after(here, 15.0 + 3.0 * math.sqrt(radius))


def _after(here: hg.Scene, time: float, start: State | None = None) -> hg.Simulation:
    sim = hg.Simulation(here, dt=DT, solver=ROUGH, seed=1, start=start)
    for _ in range(round(time / DT)):
        sim.step()
    return sim


FLOWS = {"compaction": _compaction, "shear": _shear, "tilting box": _tilt, "drum": _drum}
