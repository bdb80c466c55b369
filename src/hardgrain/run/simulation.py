"""A simulation: a scene, a step and a solver, run until a condition holds, written as it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hardgrain.contact.detect import deepest_overlap
from hardgrain.core.model import Ints, Model, Rows, State
from hardgrain.cpu.ledger import kinetic_energy
from hardgrain.errors import ImplausibleRunWarning, InputError, RunError, SoftRunWarning
from hardgrain.io.frame import Frame
from hardgrain.kernels import compile_seconds
from hardgrain.processes import world
from hardgrain.run.checkpoint import Backup, from_checkpoint, opened, recall
from hardgrain.run.driven import refuse_driven_together
from hardgrain.run.exchange import FLOWS, Exchange, Flow
from hardgrain.run.history import refuse_boundless_work
from hardgrain.run.interrupt import Interrupt
from hardgrain.run.monitor import Monitor, watched
from hardgrain.run.observers import Observer, Recorder, attended, record, warn
from hardgrain.run.plausible import first_pace, implausible, take_as_it_is, too_deep
from hardgrain.run.progress import Progress
from hardgrain.run.scenario import Output, Scenario
from hardgrain.run.shared import agreed, begin, refuse_exchange
from hardgrain.run.speeds import Speeds
from hardgrain.run.start import refuse_odd_numbers
from hardgrain.run.stop import AtRest, Condition, Stop, as_conditions, next_pause
from hardgrain.run.summarise import summarise
from hardgrain.run.summary import Summary, Totals
from hardgrain.run.track import Track
from hardgrain.scene.scene import GrainArrays, Scene
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import EventDriven, RigidGrains, SoftParticles, make_engine
from hardgrain.step.loads import turned
from hardgrain.step.pause import ONE_STEP, Pause
from hardgrain.step.report import StepReport, Stride

__all__ = ["Simulation"]

Until = int | Condition | Stop | Sequence[int | Condition]


class Simulation:
    """Contact dynamics of a scene. ``step`` advances by one step, ``run`` until a condition holds.

    ``scene`` is a `Scene`, or a whole `Scenario` (then the other arguments are not given).
    ``start`` gives the first state: that of another simulation, a packing (`read_packing`), or a
    file that holds a run or a packing.

    ``model`` and ``state`` are of the grains that are there, in the order in which the run holds
    them (`sort`), and of the walls behind them; ``model.id`` has the grains' numbers. ``frame`` has
    grains and walls apart, grains by increasing numbers. Processes that share a run have all of
    this in the first one, and walls alone in the others.
    """

    model: Model

    def __init__(
        self,
        scene: Scene | Scenario,
        *,
        dt: float | None = None,
        solver: GaussSeidel | Jacobi | RigidSolver | None = None,
        engine: RigidGrains | SoftParticles | EventDriven | None = None,
        seed: int = 0,
        start: State | GrainArrays | str | Path | None = None,
        title: str = "",
        units: str = "",
        on_implausible: Literal["stop", "report"] | None = None,
    ) -> None:
        if isinstance(scene, Scene):
            given: dict[str, Any] = {"title": title, "units": units, "seed": seed, "dt": dt}
            given |= {"solver": solver, "engine": engine or RigidGrains()}
            given |= {"on_implausible": on_implausible or "stop"}
            scene = Scenario(**given, scene=scene)
        elif (dt, solver, engine, seed, title, units, on_implausible) != (
            None, None, None, 0, "", "", None
        ):  # fmt: skip
            raise InputError(
                "dt, solver, engine, seed, title, units and on_implausible are part of the scenario"
            )
        self.here = world()  # processes that share this run
        everyone, state, begun = begin(self.here, scene, start)
        self.scenario, self.dt, self.from_start = begun.scenario, begun.scenario.dt, begun.known
        self._set_up(everyone, state)
        if (entered := self.exchange(self.model, self.state, removes=False)) is not None:
            self.model, self.state, _ = entered
            self._renew()
        may_overlap = self.scenario.scene.allow_overlaps
        if not may_overlap:
            begun.refuse_overlaps(self.here, self.model, self.state)
        if watched(self.scenario.engine, self.model):
            self.here.on_first(lambda: refuse_driven_together(self.model, self.state, self.dt))
        elastic = self.engine.elastic(self.state)
        self.totals = Totals(
            kinetic_start=self.here.first(self.kinetic),
            elastic_start=elastic,
            pace=self.here.first(first_pace(self.model, self.state, elastic)),
        )
        if may_overlap or begun.carried:
            found = self.here.on_first(lambda: deepest_overlap(self.model, self.state))
            self.totals.overlap_start = found[0]
        self.monitor = Monitor(everyone, self.scenario.solver, self.dt, self.totals)
        self.monitor.model = self.model

    def __repr__(self) -> str:
        n, walls = self.model.n, self.model.bodies - self.model.n
        title = f" {self.scenario.title!r}" if self.scenario.title else ""
        return (
            f"<Simulation{title} in {self.model.dim}D: {n} grain{'s' * (n != 1)}, {walls}"
            f" wall{'s' * (walls != 1)}, step {self.state.step}, time {self.state.time:.6g}>"
        )

    def _set_up(self, everyone: Model, state: State, *kept: Ints) -> None:
        """Make ready, with all grains that will ever be; ``kept``: their status, their order."""
        s = self.scenario
        self.exchange = Exchange(s.scene, s.seed, s.dt, everyone, *kept)
        refuse_exchange(self)
        # of all, so that what the engine refuses is refused now
        self.engine = make_engine(s.engine, everyone, state, s.solver, s.dt, s.seed)
        self.model, self.state = self.exchange.begin(state)
        self.speeds = Speeds(self.model, self.here)
        self.flow = Flow()  # what grains brought and took before the last step
        if self.here.any(self.model is not everyone):
            self._renew()
        self.report: StepReport | None = None
        self.compiled = compile_seconds()  # before this simulation [s]
        self.updates = 0.0  # of contacts in this process
        self.moved = ""  # words on a device that made the steps before, see `resume`
        self.implausible: str | None = None  # why the run cannot be believed, see run.plausible
        self.deepest = 0.0  # overlap at the end of the last step, once looked for

    def _renew(self) -> None:
        """An engine for the grains that are there now; it goes on where the last one was."""
        s, last = self.scenario, self.engine
        self.engine = make_engine(s.engine, self.model, self.state, s.solver, s.dt, s.seed)
        self.engine.seconds, self.engine.softness = last.seconds, last.softness
        self.engine.wall_force, self.engine.wall_torque = last.wall_force, last.wall_torque
        self.speeds.weigh(self.model, self.here)

    # ------------------------------------------------------------------ the state
    @property
    def state(self) -> State:
        """Where all bodies are and how they move; another one may be set in its place."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        expected = (self.model.bodies, self.model.dim)
        if state.position.shape != expected:
            raise InputError(f"state has positions of shape {state.position.shape}, not {expected}")
        refuse_odd_numbers(self.model, state, "the state gives")
        self._state = state

    @property
    def kinetic(self) -> float:
        """Kinetic and rotational energy of all that can move [energy]."""
        s, m = self.state, turned(self.model, self.state.orientation)
        return float(kinetic_energy(s.velocity, s.spin, m.inv_mass, m.inv_inertia))

    @property
    def frame(self) -> Frame:
        """The grains, and the walls by name, as they are now."""
        whole = self.exchange.whole(self.model, self.state)
        return Frame(deepcopy(record(self, whole)), self.model.wall_names)

    @cached_property
    def track(self) -> Track:
        """The bodies that the history follows."""
        return Track(self.scenario.output.track, self.model)

    def sort(self, order: Sequence[int] | Rows | None = None) -> None:
        """Hold the grains in the order of these numbers, by default along a curve through space.

        ``order`` has all grains that the run ever has. What is close in space is then close in
        memory, which is faster. Numbers and contacts stay; whoever reads ``state`` needs
        ``model.id``. A state that another simulation starts from must be in the order of numbers.
        """

        def sort() -> None:
            self.model, self.state = self.exchange.sort(self.model, self.state, order)

        self.here.on_first(sort)
        self._renew()
        self.monitor.model = self.model

    @property
    def stopped(self) -> bool:
        """Whether a step that is not plausible has ended the run."""
        return self.scenario.on_implausible == "stop" and self.implausible is not None

    def quiet(self, speed: float, steps: int) -> bool:
        """Whether the root-mean-square speed was below ``speed`` in each of the last ``steps``."""
        return self.speeds.below(speed, steps)

    # ------------------------------------------------------------------ one step
    def step(self) -> StepReport:
        """Advance by one step of length dt, after grains have left and come in."""
        stride = self._march(ONE_STEP)
        self._judge(stride)
        if self.implausible is None:
            self._watch(stride)
        assert self.report is not None
        return self.report

    def _march(self, pause: Pause) -> Stride:
        """Let grains leave and come in, then make steps until there is a reason to pause."""
        self.exchange_grains()
        with np.errstate(all="ignore"):  # what overflows is found and said by the engine
            stride = self.engine.march(self.state, pause)
        refuse_boundless_work(self, stride)
        return stride

    def _judge(self, stride: Stride) -> bool:
        """Add up steps, up to the first one that cannot have happened; return whether all can."""
        for report, pace in zip(stride.reports, stride.paces, strict=True):
            pushes = report.worst_overlap / self.dt if self.model.remove_overlaps else 0.0
            self.totals.add(report, pace, self.speeds.mass, pushes)
            self.updates += self.engine.updates(report)
            self.speeds.note(report.speed)
            self.report = report
            if self.implausible is None:
                self.implausible = implausible(self, report)
                if self.implausible is not None:
                    return False
        return True

    def exchange_grains(self) -> None:
        """Take out and let in the grains whose time it is."""
        if not self.exchange.changes:
            return
        self.flow = Flow()
        elastic = 0.0 if self.engine.softness is None else self.engine.elastic(self.state)
        changed = self.exchange(self.model, self.state)
        if changed is not None:
            self.model, self.state, self.flow = changed
            self._renew()
            self.monitor.model = self.model
            if self.engine.softness is not None:
                self.flow.elastic_removed = elastic - self.engine.elastic(self.state)
            for name in FLOWS:
                setattr(self.totals, name, getattr(self.totals, name) + getattr(self.flow, name))
            brought = first_pace(self.model, self.state, 0.0)
            self.totals.pace = max(self.totals.pace, brought)

    def _watch(self, stride: Stride) -> str | None:
        """Look at the contact network if it is time; what is soft, if the run has turned so."""
        if not (watched(self.scenario.engine, self.model) and self.here.leads):
            return None
        due = False
        for report in stride.reports:
            due = self.monitor.due(report)
        if not due:
            return None
        with self.engine.seconds.of("watch"):
            return self.monitor.look(self.state)

    # ------------------------------------------------------------------ many steps
    def run(
        self,
        until: Until | None = None,
        *,
        output: str | Path | None = None,
        every: int | None = None,
        overwrite: bool = False,
        progress: Observer | bool = True,
    ) -> Summary:
        """Step until a condition holds; with ``output``, write a run file as it goes.

        Ctrl-C ends the run cleanly after the step in hand. A progress line is shown in a terminal
        unless ``progress`` is False; or give a function of the simulation and each step's report.
        """
        conditions = self.conditions(until)
        if every is not None:
            changed = Output(**{**self.scenario.output.model_dump(), "every": every})
            self.scenario = self.scenario.model_copy(update={"output": changed})
        take_as_it_is(self)
        with (
            attended(conditions, progress) as (observer, interrupt),
            Recorder.new(self, output, overwrite) as recorder,
        ):
            return self._loop(conditions, recorder, observer, interrupt)

    @classmethod
    def resume(
        cls,
        path: str | Path,
        until: Until | None = None,
        *,
        scene: Scene | None = None,
        device: str | None = None,
        progress: Observer | bool = True,
    ) -> tuple[Simulation, Summary]:
        """Go on with a run from its file; it ends with the same bits as if never stopped.

        ``scene`` is needed only where the original one held Python functions; ``device`` replaces
        ``engine.device`` for the steps to come, whose bits are then those of that device.
        """
        with opened(path) as (writer, checkpoint):
            sim = from_checkpoint(cls, checkpoint, scene, path, device)
            recall(sim, checkpoint, path)
            conditions = sim.conditions(until)
            with attended(conditions, progress) as (observer, interrupt):
                summary = sim._loop(conditions, Recorder(sim, writer), observer, interrupt)
        return sim, summary

    def conditions(self, until: Until | None = None) -> list[Condition]:
        """When a run ends, by default as the scenario says; what is missing there is said now."""
        if until is None:
            if self.scenario.stop is None:
                raise InputError("until is missing; give a number of steps or a stop condition")
            until = self.scenario.stop
        conditions = as_conditions(until)
        for condition in conditions:
            if isinstance(condition, AtRest):  # says what is missing before anything is written
                self.here.on_first(partial(condition.threshold, self))
        return conditions

    def _loop(
        self,
        conditions: list[Condition],
        recorder: Recorder,
        progress: Observer,
        interrupt: Interrupt,
    ) -> Summary:
        """Step, observe, write; the observers never change the state."""
        every_step = not isinstance(progress, Progress)  # a function of the user's
        if self.stopped:  # asked to go on, it tries that step again
            self.implausible = None
        ended, asked, singly = *agreed(self, conditions, interrupt), 0
        while ended is None and not asked:
            good, known = Backup(self), self.implausible
            pause = self._pause(conditions, recorder, bool(singly or every_step))
            with self._begun():
                stride = self._march(pause)
                plausible = self._judge(stride)
            if not plausible and len(stride.reports) > 1:  # find the step, one at a time
                singly = len(stride.reports)
                good.restore(self)
                self.implausible = None
                continue
            singly = max(singly - 1, 0)
            if known is None and self.implausible is not None:
                recorder.tell(self.implausible)
                text = f"this run is not plausible: {self.implausible}"
                warn(text, progress, ImplausibleRunWarning)
                if self.scenario.on_implausible == "stop":
                    good.restore(self)
                    break
            before = self.monitor.columns
            turned_soft = None
            if self.implausible is None:
                with self._begun():
                    turned_soft = self._watch(stride)
            # asked is looked up once a step: a run that ends has just written all of it
            ended, asked = agreed(self, conditions, interrupt)
            recorder.note(stride, before, last=ended is not None or asked)
            if (news := recorder.news()) is not None:
                warn(news, progress, UserWarning)
            if turned_soft is not None:
                warn(f"this run is {turned_soft}", progress, SoftRunWarning)
            assert self.report is not None
            progress(self, self.report)
        self.look_closely()
        recorder.close(finished=ended is not None)
        if (news := recorder.news()) is not None:
            warn(news, progress, UserWarning)
        with self._begun():
            return self.here.on_first(lambda: summarise(self, ended, conditions, recorder.path))

    def _pause(self, conditions: list[Condition], recorder: Recorder, one: bool) -> Pause:
        """How far the run may go until Python must see it again; one: a step, and no further."""
        if one or self.exchange.changes or self.state.step == 0:
            return ONE_STEP
        pause = self.here.on_first(lambda: recorder.pause(next_pause(self, conditions)))
        return self.here.first(pause._replace(look=self.monitor.next_look))

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """What was checked before a run is not to blame for what goes wrong in it."""
        try:
            yield
        except InputError as error:
            raise RunError(f"the run failed after step {self.state.step}: {error}") from error

    def look_closely(self) -> None:
        """How far bodies overlap now, after the last step, whatever it knew of contacts."""
        self.deepest, i, j = self.here.on_first(lambda: deepest_overlap(self.model, self.state))
        if self.implausible is None:
            at = f"the state after step {self.state.step}"
            self.implausible = too_deep(self, self.deepest, i, j, at)
