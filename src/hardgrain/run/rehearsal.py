"""A rehearsal of a run: the scene is run ahead roughly, and measured on the way.

Most scenes begin with grains in flight, and the cost of a step shows only once they have met. So
the scene is run ahead with few sweeps a step. That is soft but cheap, and its grains get to about
the places that they will have. At moments spread evenly over the run some steps are made with the
scenario's own solver. The first of them replace the rough forces, and those after them are
measured.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from hardgrain.kernels import compile_seconds
from hardgrain.measure.contact_network import ContactNetwork, contact_network
from hardgrain.run.monitor import CLOSING
from hardgrain.run.scenario import Scenario
from hardgrain.run.simulation import Simulation
from hardgrain.run.stop import AtRest
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import make_engine
from hardgrain.step.report import StepReport

__all__ = ["Moment", "Rehearsal", "rehearse"]

# [sweeps] Sweeps in a step of the rough run. More reach less far in the time given; fewer let the
# packing collapse, so that what is measured is not what will be.
ROUGH = 20
# [moments] How often steps are measured on the way. More leave less time for the rough run; fewer
# may miss the phase of a run that costs most.
MOMENTS = 24
# [steps] Steps made at each moment before the measured ones, and measured ones. Too few of the
# first measure how the solver corrects the rough forces; more of either cost time.
FORGET, MEASURED = 3, 4
# [steps] Length assumed for a run whose stop condition does not say when it will be met.
UNKNOWN = 1000


@dataclass(frozen=True)
class Moment:
    """Some steps with the scenario's own solver, after a rough run up to them."""

    step: int  # step of the rough run at which they were made
    seconds: float  # mean time of one of these steps [s]
    solving: float  # part of that time spent in the solver [s]
    reports: tuple[StepReport, ...]
    network: ContactNetwork  # the contacts that bear a force after these steps


@dataclass(frozen=True)
class Rehearsal:
    """How far the rough run came, and what was measured on its way."""

    steps: int  # number of steps that the run will make, or UNKNOWN
    known: int | None  # the same number, or None if it is not known
    least: int  # number of steps that it will make at least, as far as the rough run tells
    made: int  # number of steps that the rough run made
    ended: bool  # whether the rough run met the stop condition
    moments: tuple[Moment, ...]

    @property
    def share(self) -> float:
        """The share of the run that was rehearsed."""
        return 1.0 if self.ended else min(self.made / self.steps, 1.0)

    @property
    def reports(self) -> list[StepReport]:
        """All steps measured in which contacts were solved."""
        return [r for m in self.moments for r in m.reports if r.sweeps > 0]

    @property
    def step_seconds(self) -> tuple[float, float]:
        """Mean time of a step over all moments, and its standard error [s]."""
        each = np.array([m.seconds for m in self.moments])
        spread = float(each.std(ddof=1)) if each.size > 1 else float(each.mean())
        return float(each.mean()), spread / math.sqrt(each.size)


def rehearse(scenario: Scenario, seconds: float) -> Rehearsal:
    """Run a scenario ahead for about so many seconds at most, and measure on the way."""
    # Tiles stay tiles: a GPU knows no other order.
    tiles = getattr(scenario.solver, "order", "") == "tiles"
    few = GaussSeidel(sweeps=ROUGH, order="tiles" if tiles else "random")
    rough = scenario.model_copy(update={"solver": few})
    sim = Simulation(rough)
    conditions = [] if scenario.stop is None else sim.conditions()
    limit = _limit(scenario)
    steps = limit or UNKNOWN
    stride = max(steps // MOMENTS, 1)
    moments: list[Moment] = []
    began, stepping = _clock(), 0.0
    ended = False
    while not ended and sim.state.step < steps:
        late = _clock() - began > seconds
        if sim.state.step % stride == stride // 2 or (late and not moments):
            moments.append(_measure(scenario, sim, seconds / MOMENTS))
        if late:
            break
        stepping -= _clock()
        sim.step()
        stepping += _clock()
        ended = any(c(sim) for c in conditions)
    if not moments:
        moments.append(_measure(scenario, sim, seconds / MOMENTS))
    made = sim.state.step
    if made > 0:  # the cost of a step besides its solution is the same for all solvers
        besides = (stepping - sim.engine.seconds["solve"]) / made
        moments = [replace(m, seconds=m.solving + besides) for m in moments]
    known = made if ended else limit
    total = known or UNKNOWN
    may_rest = any(isinstance(condition, AtRest) for condition in conditions)
    early = known is not None and may_rest and not ended
    return Rehearsal(total, known, made if early else total, made, ended, tuple(moments))


def _measure(scenario: Scenario, sim: Simulation, seconds: float) -> Moment:
    """Make steps with the scenario's solver from a copy of the rough run's state, and time them."""
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
    found = contact_network(
        sim.model, state, s.dt, CLOSING
    )  # it looks as closely as a run does at its end
    each = sum(spent.values()) / len(reports)
    return Moment(sim.state.step, each, spent["solve"] / len(reports), tuple(reports), found)


def _clock() -> float:
    """The time, without that spent on compiling kernels [s]."""
    return time.perf_counter() - compile_seconds()


def _limit(scenario: Scenario) -> int | None:
    """Steps that a run makes at most; None if it may go on for ever."""
    stop, known = scenario.stop, []
    if stop is not None and stop.steps is not None:
        known.append(stop.steps)
    if stop is not None and stop.time is not None:
        known.append(math.ceil(stop.time / scenario.dt))
    return min(known, default=None)
