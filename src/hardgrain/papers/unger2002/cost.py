"""What a rigid step costs: sweeps until the force of a new load has arrived (review, eqs 47–50).

A packing at rest, its forces converged, gets 10 % more load: on the piston, or by gravity. One step
is solved under that load, from the old forces (as a run would) or from none, and watched sweep by
sweep. All forces 10 % larger is a solution in which nothing moves, so the question has an answer.
(With friction it need not be the only one: now and then the sweeps end with some grains in motion
that obey all laws as well. Arrival is then counted from that solution.)

Two measures tell how far the sweeps have come, and they are not the same.

- *Arrival.* In the words of the review, the added momentum has to reach the fixed walls; as long as
  it does not, the packing is accelerated. The share of it that is still in the packing is
  Σ m v / (ΔF dt). Forces diffuse, so that it decays as exp(−µ₁ N) with µ₁ ~ q (π d / 2L)², and 99 %
  have arrived after N ~ (L/d)² sweeps, in a chain

      N = 4 ln(400/π) / (π² q) (L/d)² under a piston,  4 ln(800/π²) / (π² q) (L/d)² under gravity.

- *Residual.* The largest velocity that a contact still wants, relative to what contacts give. It is
  local: on its way, the front of the force has the profile erfc(x / 2d√(q N)), and what contacts
  want is its curvature, ~ ΔF/F / N at most, whatever the size of the system. A tolerance ε is met
  after ~ 1/ε sweeps even if the other end of the packing has not heard of the load; only systems
  smaller than the diffusion length of 1/ε sweeps show the square. Under gravity it is worse: what a
  grain wants is some g dt, while the contact forces that it is compared with grow with depth.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import PrivateAttr

from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, PowerLaw, power_law
from hardgrain.papers.unger2002 import packing, row
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.model import State
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import Box, ContactLaw, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem, Solution
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.theory import chain

__all__ = ["EXPERIMENT", "Relaxation", "Watched", "relaxation", "settled"]

MORE = 1.1  # new load / old load
TOLERANCES = (1e-3, 1e-4, 1e-6)  # of the residual
SOLVED = 1e-9  # residual at which what still moves is part of the solution
NEARLY = 0.01  # share of the added load that may be missing when it has arrived
MOST = 300_000  # sweeps; none of the systems here needs as many
FIXED = 1000  # sweeps of a step of constant N_I, timed
LOOK = 1.03  # sweeps from look to look grow by this factor; counts are interpolated between looks


Start = Literal["previous", "zero"]
AXES: tuple[Literal["x", "y"], ...] = ("x", "y")


# ---------------------------------------------------------------------- one step, watched
@dataclass(frozen=True)
class Relaxation:
    """How the sweeps of one step went, look by look."""

    contacts: int
    sweeps: Floats  # (looks,) done so far
    residual: Floats  # (looks,)
    left: Floats  # (looks,) share of the added momentum that has not yet reached a fixed wall
    slip: (
        float  # share of it that never does, because the solution found is one in which grains slip
    )

    def when(self, measure: str, threshold: float) -> float:
        """Sweeps until the residual, or what is left, is down to a threshold; NaN: never.

        Between two looks both decay exponentially.
        """
        y, x = np.abs(getattr(self, measure)), self.sweeps
        below = np.flatnonzero(y <= threshold)
        if below.size == 0:
            return math.nan
        k = int(below[0])
        if k == 0 or y[k] == 0.0:
            return float(x[k])
        share = math.log(y[k - 1] / threshold) / math.log(y[k - 1] / y[k])
        return float(x[k - 1] + share * (x[k] - x[k - 1]))


class Watched(GaussSeidel):
    """Sweeps until all that we ask for has been seen, and looks up now and then."""

    axis: int = -1  # of the load
    _seen: list[Relaxation] = PrivateAttr(default_factory=list)

    def solve(  # type: ignore[override]  # steps only
        self, problem: Problem, *, seed: int, step: int
    ) -> Solution:
        at_first = _momentum(problem, self.axis)
        done, look = 0, 0
        rows = []
        while True:
            more = max(1, round((LOOK - 1.0) * done))
            solution = GaussSeidel(sweeps=more).solve(problem, seed=seed, step=look)
            done, look = done + more, look + 1
            problem = replace(problem, impulse=solution.impulse, torque=solution.torque)
            left = _momentum(problem, self.axis) / at_first
            rows.append((done, solution.residual, left))
            arrived = abs(left) <= 0.5 * NEARLY
            if solution.residual <= (self.tolerance if arrived else SOLVED) or done >= self.sweeps:
                break
        # A solution in which something moves: friction leaves room for it, see the docstring.
        slip = left if solution.residual <= SOLVED and not arrived else 0.0
        done_at, residual, missing = np.array(rows).T
        self._seen.append(
            Relaxation(problem.first.size, done_at, residual, (missing - slip) / (1.0 - slip), slip)
        )
        return replace(solution, sweeps=done)


def _momentum(problem: Problem, axis: int) -> float:
    """Of all that can move, with the impulses as they are [mass × speed]."""
    free = problem.inv_mass[:, axis] > 0.0
    p = problem.velocity[free, axis] @ (1.0 / problem.inv_mass[free, axis])
    on = free[problem.second].astype(float) - free[problem.first]
    return float(p + on @ problem.impulse[:, axis])


def relaxation(
    sim: Simulation, start: Start = "previous", axis: int = -1, tolerance: float = TOLERANCES[-1]
) -> Relaxation:
    """The next step of a simulation, which itself stays where it is, solved under our eyes.

    It ends when the residual is down to the tolerance and the load has arrived.
    """
    solver = Watched(start=start, axis=axis, tolerance=tolerance, sweeps=MOST)
    ContactDynamics(sim.model, solver, sim.dt, sim.scenario.seed).advance(sim.state.copy())
    return solver._seen[0]


# ---------------------------------------------------------------------- packings under gravity
def settled(
    seed: int,
    grains: int,
    dim: Literal[2, 3],
    width: float,
    friction: float,
    periodic: bool = False,
) -> tuple[Scene, State]:
    """Grains as in `packing`, let fall into a box with an open top, at rest.

    Units: mean diameter, density of the grains, gravity. ``periodic``: without side walls.
    """
    size = [width] * (dim - 1) + [1.8 * grains / width ** (dim - 1)]  # enough to deposit in
    sides = ["left", "right", "front", "back"][: 2 * (dim - 1)]
    scene = Scene(
        dimension=dim,
        gravity=[0.0] * (dim - 1) + [-1.0],
        periodic=dict.fromkeys(AXES[: dim - 1], (0.0, width)) if periodic else {},
        contacts=[ContactLaw(friction=friction)],
        grains=[
            Grains(
                count=grains,
                diameter=Uniform(min=2.0 / 3.0, max=4.0 / 3.0),
                place=Deposit(min=(0.0,) * dim, max=tuple(size)),
            )
        ],
        walls=[Box(min=[0.0] * dim, max=size, open=["top", *(sides if periodic else [])])],
        allow_overlaps=True,  # as far as they were made
    )
    sim = Simulation(scene, dt=0.05, solver=GaussSeidel(sweeps=100), seed=seed)
    for _ in range(20):
        sim.run(until=[_balanced, sim.state.step + 1000], progress=False)
        # Stopped in their motion, grains that nothing holds fall again, and not only creep.
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
        sim.run(until=sim.state.step + 20, progress=False)
        if sim.quiet(1e-4, 20):
            break
    sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
    return scene, sim.state


def _balanced(sim: Simulation) -> bool:
    """At rest, and sweeps find nothing more to do: 10⁻⁶ of the load, where we look for 10⁻³."""
    return sim.quiet(0.01, 20) and sim.report is not None and sim.report.residual < 1e-6


# ---------------------------------------------------------------------- the runs
COLUMN = {"width": 10.0, "friction": 0.3}
COLUMNS = ("walls", "without")


@dataclass(frozen=True)
class Task:
    """A system to be prepared, loaded and watched."""

    system: str  # "chain", "2D", "3D"; a column between "walls", or one "without" them
    load: str  # "piston" or "gravity"
    grains: int
    seed: int


@dataclass(frozen=True)
class Result:
    """What came of a task."""

    task: Task
    length: float  # L, along the load [mean diameter]
    warm: Relaxation  # from the forces under the old load
    cold: Relaxation | None  # from none; not for columns
    second: float  # CPU time of a sweep [s]

    def arrival(self, missing: float = NEARLY) -> float:
        """Sweeps until all but this share of the added load has reached the fixed walls."""
        return self.warm.when("left", missing)


def _run(task: Task) -> Result:
    sim, length = _loaded(task)
    axis = 0 if task.system == "chain" else -1
    warm = relaxation(sim, "previous", axis)
    cold = None if task.system in COLUMNS else relaxation(sim, "zero", axis, TOLERANCES[0])
    second = (_cpu_time(sim, FIXED + 1) - _cpu_time(sim, 1)) / FIXED  # without all else in a step
    return Result(task, length, warm, cold, second)


def _cpu_time(sim: Simulation, sweeps: int) -> float:
    """Of the next step [s], the least disturbed of five."""
    engine = ContactDynamics(sim.model, GaussSeidel(sweeps=sweeps), sim.dt, sim.scenario.seed)
    seconds = []
    for _ in range(5):
        state, start = sim.state.copy(), time.process_time()
        engine.advance(state)
        seconds.append(time.process_time() - start)
    return min(seconds)


def _loaded(task: Task) -> tuple[Simulation, float]:
    """The system with its new load and its old forces, and its length along the load."""
    n, seed = task.grains, task.seed
    if task.system == "chain":
        return _loaded_chain(n, seed, task.load), float(n)
    if task.load == "piston":
        pack = packing.prepared(seed, n, int(task.system[0]), periodic=task.system == "3D")
        scene, state, length = packing.loaded(pack.scene, MORE), pack.state, pack.height
        return Simulation(scene, dt=packing.DT, seed=seed, start=state), length
    if task.system in ("2D", "3D"):  # as wide as under the piston
        dim: Literal[2, 3] = 2 if task.system == "2D" else 3
        width = packing.SLENDER[dim] * n ** (1.0 / dim)
        scene, state = settled(seed, n, dim, width, packing.FRICTION, periodic=dim == 3)
    else:
        scene, state = settled(seed, n, 2, **COLUMN, periodic=task.system == "without")
    assert scene.gravity is not None
    more = scene.model_copy(update={"gravity": [MORE * g for g in scene.gravity]})
    sim = Simulation(more, dt=0.05, seed=seed, start=state)
    mass = sim.model.mass[:n]
    return sim, 2.0 * float(mass @ state.position[:n, -1] / mass.sum())  # of an even packing


def _loaded_chain(n: int, seed: int, load: str) -> Simulation:
    if load == "piston":
        return row.at_rest(n, 1, seed=seed, force=MORE * row.LOAD)
    light = row.at_rest(n, 1, seed=seed, force=0.0)
    scene = light.scenario.scene.model_copy(update={"gravity": [-MORE * row.LOAD, 0.0]})
    sim = Simulation(scene, dt=light.dt, seed=seed, start=light.state)
    c = sim.state.contacts
    above = np.where(c.second == n, n, n - 1 - c.first)  # grains that a contact carries
    c.impulse = (above * row.LOAD * sim.dt)[:, None] * c.normal
    return sim


# ---------------------------------------------------------------------- what is expected
def chain_arrival(particles: int, load: str) -> float:
    """Sweeps for 99 % in a chain, exactly on average: a sum over its modes, each at its rate.

    The added load first moves the last grain (piston), or all alike (gravity).
    """
    from scipy.optimize import brentq

    moves = np.ones(particles) if load == "gravity" else np.eye(particles)[-1]
    modes = np.arange(1, particles // 2 + 1)  # the others are gone after a few sweeps
    shapes = np.array([row.shape(int(j), particles) for j in modes])
    weight = shapes.sum(axis=1) * (shapes @ moves) / moves.sum()
    rate = chain.relaxation_rate(row.wavenumber(modes, particles))
    found: float = brentq(
        lambda sweeps: weight @ chain.remaining(rate, sweeps) - NEARLY,
        particles**2 / 2.0,
        10.0 * particles**2,
    )
    return found


# How well an exponent can be known: packings of one size scatter by about SCATTER in ln N, and
# where a packing of L layers ends for its slowest mode is uncertain by about one layer.
SCATTER = 0.2


def _tolerance(length: Floats) -> float:
    """Three standard errors of a fitted exponent of N ~ L², and one layer more or less."""
    u = np.log(length)
    layer = 2.0 * (1.0 / length.min() - 1.0 / length.max()) / (u.max() - u.min())
    return 3.0 * SCATTER / (math.sqrt(u.size) * float(u.std())) + float(layer)


def _typical(x: Floats, y: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Medians of x and y over the packings of each size n.

    Not means: now and then a packing slips under its new load and takes ten times the sweeps.
    """
    sizes = np.unique(n)

    def median(z: Floats) -> Floats:
        return np.array([np.median(z[n == size]) for size in sizes])

    return median(x), median(y)


def _fit(x: Floats, y: Floats, n: Floats) -> PowerLaw:
    return power_law(*_typical(x, y, n))


def _error(fit: PowerLaw) -> float | None:
    """Of the exponent; None from two sizes."""
    return None if math.isnan(fit.exponent_error) else fit.exponent_error


def _local(x: Floats, y: Floats, n: Floats) -> float:
    """Exponent between the two largest sizes."""
    u, v = np.log(_typical(x, y, n))[:, -2:]
    slope: float = np.diff(v)[0] / np.diff(u)[0]
    return slope


# ---------------------------------------------------------------------- the experiment
NAMES = {
    ("chain", "piston"): "chain, pushed",
    ("chain", "gravity"): "chain, gravity",
    ("2D", "piston"): "2D, piston",
    ("2D", "gravity"): "2D, gravity",
    ("3D", "piston"): "3D, piston",
    ("3D", "gravity"): "3D, gravity",
    ("walls", "gravity"): "column between rough walls",
    ("without", "gravity"): "column without side walls",
}
SIZES = {  # quick, full: numbers of grains
    "chain": ((8, 64, 128), (8, 16, 32, 64, 128, 256)),
    "2D": ((64, 256), (64, 128, 256, 512, 1024)),
    "3D": ((125, 250), (125, 250, 500, 1000)),
    "walls": ((200, 800), (50, 100, 200, 400, 800, 1600)),
    "without": ((50, 200), (50, 100, 200, 400, 800)),
}
SEEDS = {"3D": (1, 4)}  # quick, full
DIMENSION = {"chain": 1, "2D": 2, "3D": 3}
PAPER_COST = {"chain": "", "2D": "T_step ~ n²", "3D": "T_step ~ n^(5/3)"}


@dataclass(frozen=True)
class Series:
    """All results of one system under one load."""

    results: list[Result]

    @property
    def grains(self) -> Floats:
        return np.array([float(r.task.grains) for r in self.results])

    @property
    def length(self) -> Floats:
        return np.array([r.length for r in self.results])

    @property
    def contacts(self) -> Floats:
        return np.array([float(r.warm.contacts) for r in self.results])

    def arrival(self, missing: float = NEARLY) -> Floats:
        return np.array([r.arrival(missing) for r in self.results])

    def cold(self) -> Floats:
        return np.array([r.cold.when("left", NEARLY) for r in self.results if r.cold])

    def residual(self, tolerance: float) -> Floats:
        return np.array([r.warm.when("residual", tolerance) for r in self.results])

    def seconds(self) -> Floats:
        return np.array([r.second for r in self.results])


def run(quick: bool) -> Outcome:
    """Prepare, load and watch all systems."""
    tasks = [
        Task(system, load, n, seed)
        for system, load in NAMES
        for n in SIZES[system][0 if quick else 1]
        for seed in range(SEEDS.get(system, (3, 4))[0 if quick else 1])
    ]
    tasks.sort(key=lambda t: -t.grains * (4 if t.load == "piston" else 1))  # the long ones first
    results = pmap(_run, tasks)
    series = {
        key: Series([r for r in results if (r.task.system, r.task.load) == key]) for key in NAMES
    }
    claims = [*_arrivals(series), *_residuals(series), *_costs(series), *_depths(series)]
    figures = {
        "arrival": _arrival_figure(series),
        "residual": _residual_figure(series),
        "work": _work_figure(series),
        "depth": _depth_figure(series),
    }
    return Outcome(claims, {"sweeps": _table(series)}, figures, TEXT)


def _arrivals(series: dict[tuple[str, str], Series]) -> list[Claim]:
    claims = []
    for key, name in NAMES.items():
        system, load = key
        s = series[key]
        if system in COLUMNS:
            continue
        fit = _fit(s.length, s.arrival(), s.grains)
        # Chains differ by the order of sweeps alone, and their ends are where they are.
        tolerance = 0.02 if system == "chain" else _tolerance(s.length)
        square = 2.0 if tolerance < 1.0 else None  # too few packings to tell
        claims.append(
            Claim(
                f"exponent of sweeps ~ L^x until 99 % of the load has arrived, {name}",
                fit.exponent, _error(fit), square, tolerance, "N_I ~ (L/d)²",
                f"{_local(s.length, s.arrival(), s.grains):.2f} between the two largest sizes;"
                f" N = {np.median(s.arrival() / s.length**2):.1f} (L/d)²",
            )
        )  # fmt: skip
        if system == "chain":
            n = int(s.grains.max())
            ratio = s.arrival()[s.grains == n] / n**2
            claims.append(
                Claim.relative(
                    f"the same sweeps / (L/d)², {name}, {n} grains", float(ratio.mean()),
                    chain_arrival(n, load) / n**2, 0.02, paper="> 1",
                    error=float(ratio.std(ddof=1)) / math.sqrt(ratio.size),
                )
            )  # fmt: skip
        else:
            fit, ratio = _fit(s.length, s.cold(), s.grains), s.cold() / s.arrival()
            claims.append(
                Claim(
                    f"the same exponent, all forces zero at first, {name}",
                    fit.exponent, _error(fit), square, tolerance, "",
                    f"{np.median(ratio):.1f} times the sweeps from the old forces",
                )
            )  # fmt: skip
    return claims


def _residuals(series: dict[tuple[str, str], Series]) -> list[Claim]:
    claims = []
    s = series["chain", "piston"]
    for tolerance in TOLERANCES[:2]:
        sweeps, sizes = s.residual(tolerance), np.unique(s.grains)
        # The worst of all contacts decides: sweeps scatter by 20 %. Three standard errors.
        error = 0.2 * math.sqrt(2.0 * sizes.size / sweeps.size) / math.log(sizes[-1] / sizes[-2])
        claims.append(
            Claim(
                f"exponent of sweeps ~ L^x until the residual is {tolerance:g}, long chains pushed",
                _local(s.length, sweeps, s.grains), None, 0.0, 3.0 * error, "",
                f"{tolerance * sweeps[s.grains == s.grains.max()].mean():.3f}/ε sweeps: a local"
                " measure, which falls like 1/N while the front of the force is on its way",
            )
        )  # fmt: skip
    for key in (("2D", "piston"), ("2D", "gravity"), ("3D", "piston"), ("3D", "gravity")):
        s = series[key]
        largest = [r.warm for r in s.results if r.task.grains == s.grains.max()]
        for tolerance in TOLERANCES[:2]:
            left = np.mean(
                [np.interp(w.when("residual", tolerance), w.sweeps, w.left) for w in largest]
            )
            claims.append(
                Claim(
                    f"share of the added load still on its way at a residual of {tolerance:g},"
                    f" {NAMES[key]}, {s.grains.max():.0f} grains",
                    float(left),
                    note=f"exponent of the sweeps to this residual over all sizes:"
                    f" {_fit(s.length, s.residual(tolerance), s.grains).exponent:.2f}",
                )
            )
    return claims


def _costs(series: dict[tuple[str, str], Series]) -> list[Claim]:
    claims = []
    for (system, load), name in NAMES.items():
        if system in COLUMNS:
            continue
        s, dim = series[system, load], DIMENSION[system]
        tolerance = 0.02 if system == "chain" else _tolerance(s.length) / dim
        work = _fit(s.grains, s.contacts * s.arrival(), s.grains)
        expected = 1.0 + 2.0 / dim if tolerance < 1.0 / dim else None
        claims.append(
            Claim(
                f"exponent of contact updates ~ n^x in a step that is rigid to 1 %, {name}",
                work.exponent, _error(work), expected, tolerance, PAPER_COST[system],
                f"CPU time: {_fit(s.grains, s.seconds() * s.arrival(), s.grains).exponent:.2f}",
            )
        )  # fmt: skip
    for system in ("2D", "3D"):
        both = [r for load in ("piston", "gravity") for r in series[system, load].results]
        s = Series(both)
        fit, time = (_fit(s.grains, y, s.grains) for y in (FIXED * s.contacts, s.seconds()))
        # Surfaces have fewer contacts: up to one in L, which grows by a factor of two or more.
        claims.append(
            Claim(
                f"exponent of contact updates ~ n^x at constant N_I = {FIXED}, {system}",
                fit.exponent, _error(fit), 1.0, 0.1, "running time of order n",
                f"CPU time: {time.exponent:.2f}, at {np.median(s.contacts / s.seconds()) / 1e6:.0f}"
                " million contact updates a second; small packings fit the fastest memory",
            )
        )  # fmt: skip
    return claims


def _depths(series: dict[tuple[str, str], Series]) -> list[Claim]:
    without, walls = series["without", "gravity"], series["walls", "gravity"]
    fit = _fit(without.length, without.arrival(), without.grains)
    claims = [
        Claim(
            "exponent of sweeps ~ H^x until 99 % has arrived, column without side walls",
            fit.exponent, _error(fit), 2.0, _tolerance(without.length), "N_I ~ (L/d)²",
            "no sign of saturation:"
            f" {_local(without.length, without.arrival(), without.grains):.2f}"
            " between the two tallest",
        )
    ]  # fmt: skip
    tall = walls.length > 1.5 * COLUMN["width"]
    length, grains = walls.length[tall], walls.grains[tall]
    # Which contacts with the walls slip differs from packing to packing: 0.65 in ln N.
    tolerance = 3.0 * 0.65 / (math.sqrt(length.size) * float(np.log(length).std()))
    for missing in (NEARLY, 0.1):
        sweeps = walls.arrival(missing)[tall]
        fit = _fit(length, sweeps, grains)
        claims.append(
            Claim(
                f"the same until {1.0 - missing:.0%}, between rough walls, H > 1.5 widths",
                fit.exponent, _error(fit), 0.0 if tolerance < 1.0 else None, tolerance,
                note=f"median of all heights: {np.median(sweeps):.0f} sweeps",
            )
        )  # fmt: skip
    for name, s in (("without side walls", without), ("between rough walls", walls)):
        sweeps = s.residual(1e-3)[s.grains == s.grains.max()].mean()
        shortest = s.residual(1e-3)[s.grains == s.grains.min()].mean()
        claims.append(
            Claim(
                f"sweeps until the residual is 10⁻³, tallest column {name}",
                float(sweeps),
                note=f"{shortest:.0f} in the shortest: forces that grow with depth hide the error",
            )
        )
    return claims


def _table(series: dict[tuple[str, str], Series]) -> dict[str, Any]:
    rows = [r for s in series.values() for r in s.results]
    table: dict[str, Any] = {
        "system": [r.task.system for r in rows],
        "load": [r.task.load for r in rows],
        "grains": [r.task.grains for r in rows],
        "seed": [r.task.seed for r in rows],
        "length": [r.length for r in rows],
        "contacts": [r.warm.contacts for r in rows],
        "slip": [r.warm.slip for r in rows],
        "sweeps_90": [r.arrival(0.1) for r in rows],
        "sweeps_99": [r.arrival() for r in rows],
        "sweeps_99_from_zero": [r.cold.when("left", NEARLY) if r.cold else math.nan for r in rows],
        "seconds_a_sweep": [r.second for r in rows],
    }
    for tolerance in TOLERANCES:
        table[f"sweeps_residual_{tolerance:.0e}"] = [
            r.warm.when("residual", tolerance) for r in rows
        ]
    return table


# ---------------------------------------------------------------------- figures
LOOKS = {  # colour, marker, face
    ("chain", "piston"): (COLOURS[0], "o", COLOURS[0]),
    ("chain", "gravity"): (COLOURS[0], "s", "white"),
    ("2D", "piston"): (COLOURS[1], "o", COLOURS[1]),
    ("2D", "gravity"): (COLOURS[1], "s", "white"),
    ("3D", "piston"): (COLOURS[2], "o", COLOURS[2]),
    ("3D", "gravity"): (COLOURS[2], "s", "white"),
}


def _dots(axes: Any, x: Floats, y: Floats, look: tuple[str, str, str], label: str) -> None:
    colour, marker, face = look
    axes.loglog(x, y, marker, color=colour, mfc=face, mew=0.8, label=label)


def _line(axes: Any, fit: PowerLaw, x: Floats, colour: str) -> None:
    ends = np.array([x.min() / 1.15, x.max() * 1.15])
    axes.loglog(ends, fit.predict(ends), color=colour, lw=0.8)


def _fitted(axes: Any, x: Floats, y: Floats, n: Floats, key: tuple[str, str], symbol: str) -> None:
    fit = _fit(x, y, n)
    error = f" ± {fit.exponent_error:.2f}" if fit.exponent_error >= 0.005 else ""
    _dots(axes, x, y, LOOKS[key], f"{NAMES[key]}: {symbol}$^{{{fit.exponent:.2f}{error}}}$")
    _line(axes, fit, x, LOOKS[key][0])


def _arrival_figure(series: dict[tuple[str, str], Series]) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key in LOOKS:
        s = series[key]
        _fitted(left, s.length, s.arrival(), s.grains, key, "$L$")
        _fitted(right, s.length, s.cold(), s.grains, key, "$L$")
    for axes, title in ((left, "from the forces under the old load"), (right, "from no forces")):
        axes.set(xlabel="$L/d$", title=title)
        axes.legend()
    left.set_ylabel("sweeps until 99 % of the load has arrived")
    return figure


def _residual_figure(series: dict[tuple[str, str], Series]) -> Any:
    keys = (("chain", "piston"), ("2D", "piston"), ("2D", "gravity"))
    figure, panels = new_figure(1, 3, width=3.6, height=3.8, sharey=True)
    for axes, key in zip(panels, keys):
        s = series[key]
        for k, tolerance in enumerate(TOLERANCES):
            label = f"residual {tolerance:g}"
            look = (COLOURS[k + 1], "o", COLOURS[k + 1])
            _dots(axes, s.length, s.residual(tolerance), look, label)
        _dots(axes, s.length, s.arrival(), (COLOURS[0], "s", "white"), "99 % arrived")
        _line(axes, _fit(s.length, s.arrival(), s.grains), s.length, COLOURS[0])
        axes.set(xlabel="$L/d$", title=NAMES[key])
        axes.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("sweeps")
    panels[0].legend()
    return figure


def _work_figure(series: dict[tuple[str, str], Series]) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key in LOOKS:
        s = series[key]
        _fitted(left, s.grains, s.contacts * s.arrival(), s.grains, key, "$n$")
        if key[0] != "chain":
            _fitted(right, s.grains, FIXED * s.seconds(), s.grains, key, "$n$")
    left.set(xlabel="grains $n$", ylabel="contact updates a step", title="until 99 % has arrived")
    right.set(xlabel="grains $n$", ylabel="CPU time a step [s]", title=f"constant $N_I$ = {FIXED}")
    for axes in (left, right):
        axes.legend()
    return figure


def _depth_figure(series: dict[tuple[str, str], Series]) -> Any:
    figure, axes = new_figure(width=7.0, height=4.0)
    without, walls = series["without", "gravity"], series["walls", "gravity"]
    for s, name, face in ((without, "no side walls", None), (walls, "rough walls", "white")):
        for y, colour, what in (
            (s.arrival(), COLOURS[0], "99 % arrived"),
            (s.arrival(0.1), COLOURS[1], "90 % arrived"),
            (s.residual(1e-4), COLOURS[3], "residual 10⁻⁴"),
            (s.residual(1e-3), COLOURS[2], "residual 10⁻³"),
        ):
            look = (colour, "s" if face else "o", face or colour)
            _dots(axes, s.length, y, look, f"{what}, {name}")
    fit = _fit(without.length, without.arrival(), without.grains)
    _line(axes, fit, without.length, COLOURS[0])
    axes.axvline(COLUMN["width"], color=GREY, lw=0.8, ls=":")
    axes.annotate(" width", (COLUMN["width"], 1.2), color=GREY, fontsize=8)
    axes.set(xlabel="$H/d$", ylabel="sweeps", title="columns under gravity, 10 diameters wide")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


TEXT = """\
A packing at rest gets 10 % more load, and one step is solved under it. Counted until 99 % of the
added load has reached the fixed walls, the sweeps grow as the square of the system, in chains
exactly as theory has it and in packings within their scatter, whichever the load and wherever the
forces start; so a rigid step costs what the review says. A fixed residual is no substitute: it
looks at single contacts, where a front of force that is still on its way is smooth, and is met
after a number of sweeps ~ 1/ε in long chains, whatever their length, with much of the load still on
its way. Under gravity it is met ever sooner the deeper the
packing, because it is relative to forces that grow with depth: this is how depth may seem not to
matter. Columns without side walls do not saturate: sweeps ~ H². Between rough walls they do, once
the column is a few times higher than wide: the walls take the added load, and the base need not
hear of it (as in Janssen's silo)."""

EXPERIMENT = Experiment("cost", "Cost of a rigid step against size and depth", run)
