"""A rough run ahead of a run, and what its own solver does at some moments of it.

Most scenes begin with grains in flight, and what a step costs shows only once they have met. So the
scene is run ahead with few sweeps a step: soft, but cheap, and its grains get to about the places
that they will have. At moments spread evenly over the run some steps are made with the scenario's
own solver. The first ones make up for the rough forces; those after them are measured.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from hardgrain.kernels import compile_seconds
from hardgrain.measure.rigidity import Network, network
from hardgrain.run.monitor import look_work
from hardgrain.run.scenario import Scenario
from hardgrain.run.simulation import Simulation
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import make_engine
from hardgrain.step.report import StepReport

__all__ = ["Moment", "Rehearsal", "rehearse"]

ROUGH = 20  # sweeps a step of the rough run
MOMENTS = 24  # at which steps are measured
FORGET, MEASURED = 3, 4  # steps made at a moment before the measured ones, and these
UNKNOWN = 1000  # steps of a run whose stop condition does not tell


@dataclass(frozen=True)
class Moment:
    """Some steps with the scenario's own solver, after a rough run up to them."""

    step: int  # of the rough run
    seconds: float  # of one of its steps, on average
    solving: float  # of these, in the solver
    reports: tuple[StepReport, ...]
    network: Network  # of the contacts that bear a force after them


@dataclass(frozen=True)
class Rehearsal:
    """How far the rough run came, and what was measured on its way."""

    steps: int  # that the run will make, or UNKNOWN
    known: int | None  # the same, or None
    made: int  # steps of the rough run
    ended: bool  # it met the run's stop condition
    moments: tuple[Moment, ...]

    @property
    def share(self) -> float:
        """How much of the run was rehearsed."""
        return 1.0 if self.ended else min(self.made / self.steps, 1.0)

    @property
    def reports(self) -> list[StepReport]:
        """All steps measured in which contacts were solved."""
        return [r for m in self.moments for r in m.reports if r.sweeps > 0]

    @property
    def step_seconds(self) -> tuple[float, float]:
        """Mean seconds of a step over what was rehearsed, and its standard error."""
        each = np.array([m.seconds for m in self.moments])
        spread = float(each.std(ddof=1)) if each.size > 1 else float(each.mean())
        return float(each.mean()), spread / math.sqrt(each.size)


def rehearse(scenario: Scenario, seconds: float) -> Rehearsal:
    """Run a scenario ahead for about so many seconds at most."""
    rough = scenario.model_copy(update={"solver": GaussSeidel(sweeps=ROUGH)})
    sim = Simulation(rough)
    conditions = [] if scenario.stop is None else sim.conditions()
    limit = _limit(scenario)
    steps = limit or UNKNOWN
    stride = max(steps // MOMENTS, 1)
    moments: list[Moment] = []
    began = _clock()
    ended = False
    while not ended and sim.state.step < steps:
        late = _clock() - began > seconds
        if sim.state.step % stride == stride // 2 or (late and not moments):
            moments.append(_measure(scenario, sim, seconds / MOMENTS))
        if late:
            break
        sim.step()
        ended = any(c(sim) for c in conditions)
    if not moments:
        moments.append(_measure(scenario, sim, seconds / MOMENTS))
    made = sim.state.step
    known = made if ended else limit
    return Rehearsal(known or UNKNOWN, known, made, ended, tuple(moments))


def _measure(scenario: Scenario, sim: Simulation, seconds: float) -> Moment:
    """Steps with the scenario's solver from where a rough run is now; it does not notice."""
    s, state = scenario, sim.state.copy()
    engine = make_engine(s.engine, sim.model, state, s.solver, s.dt, s.seed)
    reports: list[StepReport] = []
    before: dict[str, float] = {}
    for k in range(FORGET + MEASURED):
        if k == FORGET:
            before = dict(engine.seconds)
        report = engine.advance(state)
        if k >= FORGET:
            reports.append(report)
            if sum(engine.seconds.values()) > seconds:
                break
    spent = {name: t - before.get(name, 0.0) for name, t in engine.seconds.items()}
    found = network(sim.model, state, s.dt, look_work(reports[-1]))
    each = sum(spent.values()) / len(reports)
    return Moment(sim.state.step, each, spent["solve"] / len(reports), tuple(reports), found)


def _clock() -> float:
    """Seconds, without those in which kernels are compiled."""
    return time.perf_counter() - compile_seconds()


def _limit(scenario: Scenario) -> int | None:
    """Steps that a run makes at most; None if it may go on for ever."""
    stop, known = scenario.stop, []
    if stop is not None and stop.steps is not None:
        known.append(stop.steps)
    if stop is not None and stop.time is not None:
        known.append(math.ceil(stop.time / scenario.dt))
    return min(known, default=None)
