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

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, PowerLaw, mean_and_error, power_law
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
TOLERANCES = (1e-3, 1e-4, 1e-6)  # values of the residual at which sweeps are counted
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
    """Sweeps until all that is asked for has been seen, and measures now and then."""

    axis: int = -1  # axis of the load
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
    """Momentum of all that can move, with the impulses as they are [mass × speed]."""
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
    solver = Watched(start=start, axis=axis, tolerance=tolerance, sweeps=MOST, stop="residual")
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
        allow_overlaps=True,  # those that the run itself has made
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
    """Whether grains are at rest to 10⁻⁶ of the load, where the claims need 10⁻³."""
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
    cold: bool = True  # whether to solve it also from no forces at all


@dataclass(frozen=True)
class Result:
    """What came of a task."""

    task: Task
    length: float  # L, along the load [mean diameter]
    warm: Relaxation  # from the forces under the old load
    cold: Relaxation | None  # from no forces; None for columns
    second: float  # CPU time of a sweep [s]

    def arrival(self, missing: float = NEARLY) -> float:
        """Sweeps until all but this share of the added load has reached the fixed walls."""
        return self.warm.when("left", missing)


def _run(task: Task) -> Result:
    sim, length = _loaded(task)
    axis = 0 if task.system == "chain" else -1
    warm = relaxation(sim, "previous", axis)
    cold = (
        None
        if not task.cold or task.system in COLUMNS
        else relaxation(sim, "zero", axis, TOLERANCES[0])
    )
    # all other work of a step cancels
    second = (_cpu_time(sim, FIXED + 1) - _cpu_time(sim, 1)) / FIXED
    return Result(task, length, warm, cold, second)


def _cpu_time(sim: Simulation, sweeps: int) -> float:
    """CPU time of the next step, the least of five measurements [s]."""
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
    if task.system in ("2D", "3D"):  # the box is as wide as under the piston
        dim: Literal[2, 3] = 2 if task.system == "2D" else 3
        width = packing.SLENDER[dim] * n ** (1.0 / dim)
        scene, state = settled(seed, n, dim, width, packing.FRICTION, periodic=dim == 3)
    else:
        scene, state = settled(seed, n, 2, **COLUMN, periodic=task.system == "without")
    assert scene.gravity is not None
    more = scene.model_copy(update={"gravity": [MORE * g for g in scene.gravity]})
    sim = Simulation(more, dt=0.05, seed=seed, start=state)
    mass = sim.model.mass[:n]
    return sim, 2.0 * float(mass @ state.position[:n, -1] / mass.sum())  # height of an even packing


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


def _layer(length: Floats) -> float:
    """Uncertainty of an exponent of N ~ L², because L is uncertain by one layer."""
    low, high = float(length.min()), float(length.max())
    return 2.0 * (1.0 / low - 1.0 / high) / math.log(high / low)


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
# Numbers of grains and of seeds for each. Packings of one size differ by a third in their sweeps,
# so that an exponent needs many of them; those under gravity are cheap to make.
QUICK: dict[tuple[str, str], dict[int, int]] = {
    ("chain", "piston"): {64: 6, 128: 6},
    ("chain", "gravity"): {64: 6, 128: 6},
    ("2D", "gravity"): {64: 20, 256: 12},
    ("3D", "gravity"): {64: 6, 250: 6},
}
FULL: dict[tuple[str, str], dict[int, int]] = {
    ("chain", "piston"): dict.fromkeys((8, 16, 32, 64, 128, 256), 8),
    ("chain", "gravity"): dict.fromkeys((8, 16, 32, 64, 128, 256), 8),
    ("2D", "piston"): {64: 12, 128: 12, 256: 12, 512: 8, 1024: 4},
    ("2D", "gravity"): {64: 24, 128: 24, 256: 24, 512: 16, 1024: 8},
    ("3D", "piston"): {64: 8, 125: 8, 250: 8, 500: 4, 1000: 4},
    ("3D", "gravity"): {64: 16, 125: 16, 250: 16, 500: 8, 1000: 8},
    ("walls", "gravity"): dict.fromkeys((200, 400, 800, 1600), 12),
    ("without", "gravity"): {50: 12, 100: 12, 200: 12, 400: 8, 800: 8},
}
DIMENSION = {"chain": 1, "2D": 2, "3D": 3}
PAPER_COST = {"2D": "T_step ~ n² (49)", "3D": "T_step ~ n^(5/3) (50)"}


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

    @property
    def samples(self) -> int:
        return len(self.results)

    def of(self, grains: int) -> Series:
        """The results of one size."""
        return Series([r for r in self.results if r.task.grains == grains])

    def residual(self, tolerance: float) -> Floats:
        return np.array([r.warm.when("residual", tolerance) for r in self.results])

    def seconds(self) -> Floats:
        return np.array([r.second for r in self.results])


Every = dict[tuple[str, str], Series]


def run(quick: bool) -> Outcome:
    """Prepare, load and watch all systems."""
    plan = QUICK if quick else FULL
    tasks = [
        Task(*key, n, seed, cold=not quick)
        for key, sizes in plan.items()
        for n, seeds in sizes.items()
        for seed in range(seeds)
    ]
    tasks.sort(key=lambda t: -t.grains * (4 if t.load == "piston" else 1))  # the long ones first
    results = pmap(_run, tasks)
    series = {
        key: Series([r for r in results if (r.task.system, r.task.load) == key]) for key in plan
    }
    claims = [*_arrivals(series), *_residuals(series), *_costs(series)]
    figures = {
        "arrival": _arrival_figure(series),
        "residual": _residual_figure(series),
        "work": _work_figure(series),
    }
    if not quick:
        claims += _depths(series)
        figures["depth"] = _depth_figure(series)
    seeds = range(max(t.seed for t in tasks) + 1)
    return Outcome(claims, {"sweeps": _table(series)}, figures, TEXT, seeds)


def _sizes(s: Series) -> str:
    return f"{s.grains.min():.0f} to {s.grains.max():.0f} grains"


def _exponent(
    text: str, x: Floats, y: Floats, value: float, words: str, *,
    beside: float = 0.0, why: str = "", note: str = "", paper: bool = True,
) -> Claim:  # fmt: skip
    """The claim y ~ x^value, judged by the scatter of all runs about the fitted line."""
    fit = power_law(x, y)
    expected = Expected.by_chance(value, fit.exponent_error, x.size, words, beside=beside, why=why)
    return Claim(
        text, fit.exponent, fit.exponent_error, x.size,
        paper=expected if paper else words, theory=None if paper else expected, note=note,
    )  # fmt: skip


def _arrivals(series: Every) -> list[Claim]:
    claims = []
    for (system, load), s in series.items():
        if system in COLUMNS:
            continue
        name = NAMES[system, load]
        packed = system != "chain"
        # In a chain the square holds for long ones, where 1/L² is small: ends are where they are.
        beside = _layer(s.length) if packed else 0.0
        if not packed:
            s = Series([r for r in s.results if r.task.grains > 8])
            beside = 1.0 / float(s.length.min()) ** 2 + 0.07 / float(s.length.min())
        why = "one layer of L, more or less" if packed else "1/L² and 0.07/L at the wall"
        words = "N_I ~ (L/d)² (48)"
        if not packed or np.unique(s.grains).size > 2:  # with two sizes of packings it means little
            claims.append(
                _exponent(
                    f"exponent of sweeps ~ L^x until 99 % of the load has arrived, {name},"
                    f" {_sizes(s)}",
                    s.length, s.arrival(), 2.0, words, beside=beside, why=why,
                )
            )  # fmt: skip
        if packed and s.cold().size:
            ratio = s.cold() / s.arrival()
            claims.append(
                _exponent(
                    f"the same exponent, all forces zero at first, {name}, {_sizes(s)}",
                    s.length, s.cold(), 2.0, words, beside=beside, why=why,
                    note=f"{np.median(ratio):.1f} times the sweeps from the old forces",
                )
            )  # fmt: skip
        for n in np.unique(s.grains).astype(int):
            mine = s.of(n)
            mean, error = mean_and_error(mine.arrival() / mine.length**2)
            claims.append(
                Claim(
                    f"sweeps / (L/d)² until 99 % of the load has arrived, {name}, {n} grains",
                    mean,
                    error,
                    mine.samples,
                    paper=Expected(1.0, 0.0, "a bound", "N_I > (L/d)² (48)", "at least"),
                    theory=None
                    if packed
                    else Expected.by_chance(
                        chain_arrival(n, load) / n**2, error, mine.samples, "sum over modes",
                        beside=0.07 / n * mean, why="the wall slows the sweeps by 0.07/n",
                    ),
                )
            )  # fmt: skip
    return claims


def _residuals(series: Every) -> list[Claim]:
    """A fixed residual is met by long chains after as many sweeps as by longer ones."""
    claims = []
    s = series["chain", "piston"]
    long, longer = np.sort(np.unique(s.grains))[-2:].astype(int)
    both = Series(s.of(long).results + s.of(longer).results)
    for tolerance in TOLERANCES[:2]:
        sweeps = both.residual(tolerance)
        # the front must not have reached the wall: √(4 q N) < L
        if chain.diffusion_length(float(sweeps.max())) < long:
            claims.append(
                _exponent(
                    f"exponent of sweeps ~ L^x until the residual is {tolerance:g}, chain, pushed,"
                    f" {long} and {longer} grains",
                    both.length, sweeps, 0.0, "a local measure: 1/ε sweeps", paper=False,
                    note=f"{tolerance * float(sweeps.mean()):.3f}/ε sweeps: it falls like 1/N while"
                    " the front of the force is on its way",
                )
            )  # fmt: skip
    for key, s in series.items():
        if key[0] not in ("2D", "3D"):
            continue
        largest = s.of(int(s.grains.max()))
        tolerance = TOLERANCES[0]
        left = [
            float(np.interp(r.warm.when("residual", tolerance), r.warm.sweeps, r.warm.left))
            for r in largest.results
        ]
        mean, error = mean_and_error(left)
        claims.append(
            Claim(
                f"share of the added load still on its way at a residual of {tolerance:g},"
                f" {NAMES[key]}, {s.grains.max():.0f} grains",
                mean,
                error,
                largest.samples,
                theory=Expected(
                    NEARLY, 0.0, "a load that has arrived", "a residual met is no load arrived",
                    side="at least",
                ),
            )
        )  # fmt: skip
    return claims


def _costs(series: Every) -> list[Claim]:
    claims = []
    for (system, load), s in series.items():
        if system not in PAPER_COST:
            continue
        dim = DIMENSION[system]
        seconds = power_law(s.grains, s.seconds() * s.arrival()).exponent
        claims.append(
            _exponent(
                "exponent of contact updates ~ n^x in a step that is rigid to 1 %,"
                f" {NAMES[system, load]}, {_sizes(s)}",
                s.grains, s.contacts * s.arrival(), 1.0 + 2.0 / dim, PAPER_COST[system],
                beside=_layer(s.length) / dim + _surface(s),
                why="one layer of L, and surfaces, which have fewer contacts",
                note=f"CPU time: {seconds:.2f}",
            )
        )  # fmt: skip
    for system in PAPER_COST:
        both = [r for key, s in series.items() if key[0] == system for r in s.results]
        s = Series(both)
        time = power_law(s.grains, s.seconds()).exponent
        claims.append(
            _exponent(
                f"exponent of contact updates ~ n^x at constant N_I = {FIXED}, {system},"
                f" {_sizes(s)}",
                s.grains, FIXED * s.contacts, 1.0, "T_step ~ n (69)", beside=_surface(s),
                why="surfaces have fewer contacts",
                note=f"CPU time: {time:.2f}, at {np.median(s.contacts / s.seconds()) / 1e6:.0f}"
                " million contact updates a second; small packings fit the fastest memory",
            )
        )  # fmt: skip
    return claims


def _surface(s: Series) -> float:
    """Share of contacts that surfaces lack, one in L, as it changes an exponent over the sizes."""
    low, high = float(s.length.min()), float(s.length.max())
    return (1.0 / low - 1.0 / high) / math.log(s.grains.max() / s.grains.min())


def _depths(series: Every) -> list[Claim]:
    without, walls = series["without", "gravity"], series["walls", "gravity"]
    claims = [
        _exponent(
            f"exponent of sweeps ~ H^x until 99 % has arrived, column without side walls,"
            f" {_sizes(without)}",
            without.length, without.arrival(), 2.0, "N_I ~ (L/d)² (48)",
            beside=_layer(without.length), why="one layer of H, more or less",
        )
    ]  # fmt: skip
    tall = Series([r for r in walls.results if r.length > 3.0 * COLUMN["width"]])
    claims.append(
        _exponent(
            "the same between rough walls, columns more than 3 times as high as wide,"
            f" {_sizes(tall)}",
            tall.length, tall.arrival(), 0.0, "the walls take the load: no growth", paper=False,
            note=f"median of all heights: {np.median(tall.arrival()):.0f} sweeps",
        )
    )  # fmt: skip
    return claims


def _table(series: Every) -> dict[str, Any]:
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


def _drawn(series: Every) -> list[tuple[tuple[str, str], Series]]:
    return [(key, series[key]) for key in LOOKS if key in series]


def _dots(axes: Any, x: Floats, y: Floats, look: tuple[str, str, str], label: str) -> None:
    colour, marker, face = look
    axes.loglog(x, y, marker, color=colour, mfc=face, mew=0.8, label=label)


def _line(axes: Any, fit: PowerLaw, x: Floats, colour: str) -> None:
    ends = np.array([x.min() / 1.15, x.max() * 1.15])
    axes.loglog(ends, fit.predict(ends), color=colour, lw=0.8)


def _fitted(axes: Any, x: Floats, y: Floats, key: tuple[str, str], symbol: str) -> None:
    fit = power_law(x, y)
    error = f" ± {fit.exponent_error:.2f}" if fit.exponent_error >= 0.005 else ""
    _dots(axes, x, y, LOOKS[key], f"{NAMES[key]}: {symbol}$^{{{fit.exponent:.2f}{error}}}$")
    _line(axes, fit, x, LOOKS[key][0])


def _arrival_figure(series: Every) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key, s in _drawn(series):
        _fitted(left, s.length, s.arrival(), key, "$L$")
        if s.cold().size:
            _fitted(right, s.length, s.cold(), key, "$L$")
    for axes, title in ((left, "from the forces under the old load"), (right, "from no forces")):
        axes.set(xlabel="$L/d$", title=title)
        if axes.lines:
            axes.legend()
    left.set_ylabel("sweeps until 99 % of the load has arrived")
    return figure


def _residual_figure(series: Every) -> Any:
    keys = (("chain", "piston"), ("2D", "gravity"), ("3D", "gravity"))
    figure, panels = new_figure(1, 3, width=3.6, height=3.8, sharey=True)
    for axes, key in zip(panels, keys):
        s = series[key]
        for k, tolerance in enumerate(TOLERANCES):
            label = f"residual {tolerance:g}"
            look = (COLOURS[k + 1], "o", COLOURS[k + 1])
            _dots(axes, s.length, s.residual(tolerance), look, label)
        _dots(axes, s.length, s.arrival(), (COLOURS[0], "s", "white"), "99 % arrived")
        _line(axes, power_law(s.length, s.arrival()), s.length, COLOURS[0])
        axes.set(xlabel="$L/d$", title=NAMES[key])
        axes.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("sweeps")
    panels[0].legend()
    return figure


def _work_figure(series: Every) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key, s in _drawn(series):
        _fitted(left, s.grains, s.contacts * s.arrival(), key, "$n$")
        if key[0] != "chain":
            _fitted(right, s.grains, FIXED * s.seconds(), key, "$n$")
    left.set(xlabel="grains $n$", ylabel="contact updates a step", title="until 99 % has arrived")
    right.set(xlabel="grains $n$", ylabel="CPU time a step [s]", title=f"constant $N_I$ = {FIXED}")
    for axes in (left, right):
        axes.legend()
    return figure


def _depth_figure(series: Every) -> Any:
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
    fit = power_law(without.length, without.arrival())
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
forces start; so a rigid step costs what the review says. Packings of one size differ by a third in
their sweeps, so that only many of them tell an exponent.

A fixed residual is no substitute: it looks at single contacts, where a front of force that is still
on its way is smooth, and is met after a number of sweeps ~ 1/ε in long chains, whatever their
length, with much of the load still on its way. Under gravity it is met ever sooner the deeper the
packing, because it is relative to forces that grow with depth: this is how depth may seem not to
matter. Columns without side walls do not saturate: sweeps ~ H². Between rough walls they do, once
the column is a few times higher than wide: the walls take the added load, and the base need not
hear of it (as in Janssen's silo)."""

EXPERIMENT = Experiment("cost", "Cost of a rigid step against size and depth", run)
