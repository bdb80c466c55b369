"""A simulation: a scene, a step and a solver, run until a condition holds, written as it goes."""

from __future__ import annotations

import math
import platform
import sys
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy, deepcopy
from dataclasses import asdict, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import hardgrain
from hardgrain.contact.detect import deepest_overlap, refuse_overlaps
from hardgrain.errors import ImplausibleRunWarning, InputError, RunError, SoftRunWarning
from hardgrain.io.layout import MODEL
from hardgrain.io.packings import is_packing, read_packing
from hardgrain.io.runfile import Checkpoint, Frame, Record, RunFile, RunWriter, Steps
from hardgrain.kernels import compile_seconds
from hardgrain.measure.rigidity import Rigidity
from hardgrain.run.driven import refuse_driven_together
from hardgrain.run.exchange import FLOWS, Exchange, Flow
from hardgrain.run.interrupt import Interrupt
from hardgrain.run.monitor import CLOSING, COLUMNS, SCALARS, SHARE, Monitor
from hardgrain.run.plausible import (
    first_pace,
    implausible,
    may_create,
    take_as_it_is,
    too_deep,
)
from hardgrain.run.progress import Progress
from hardgrain.run.scenario import Output, Scenario, Start, stored_scenario
from hardgrain.run.stop import AtRest, Condition, Stop, as_conditions
from hardgrain.run.summary import CONVERGED, OVERLAP, Summary, Totals
from hardgrain.run.track import Track
from hardgrain.run.unique import uniqueness
from hardgrain.scene.model import Contacts, Floats, Ints, Model, State
from hardgrain.scene.scene import GrainArrays, Scene
from hardgrain.scene.spec import Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import RigidGrains, SoftParticles, make_engine
from hardgrain.step.ledger import kinetic_energy
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.report import StepReport

__all__ = ["Simulation"]

Until = int | Condition | Stop | Sequence[int | Condition]
Observer = Callable[["Simulation", StepReport], object]
_Row = tuple[Floats, Floats, Floats]  # of a step: columns of the history, wall forces, wall works

_COLUMNS = tuple(f.name for f in fields(StepReport))
# Energy that contacts may create by rounding and unfinished sweeps before it is worth a warning.
_CREATED = 1e-3
# Overlap that few digits, or a solver that stopped early, give to grains of a file that touch
# [radius]. Rigid contacts keep it and do not push it out.
_ROUNDED = 1e-3


class Simulation:
    """Contact dynamics of a scene. ``step`` advances by one step, ``run`` until a condition holds.

    ``scene`` is a `Scene`, or a whole `Scenario` (then the other arguments are not given).
    ``start`` gives the first state: that of another simulation, or a packing (`read_packing`).

    ``model`` and ``state`` are of the grains that are there, and of the walls behind them; where
    grains come and go, ``model.id`` has the grains' numbers. ``frame`` has grains and walls apart.
    """

    model: Model

    def __init__(
        self,
        scene: Scene | Scenario,
        *,
        dt: float | None = None,
        solver: GaussSeidel | Jacobi | RigidSolver | None = None,
        engine: RigidGrains | SoftParticles | None = None,
        seed: int = 0,
        start: State | GrainArrays | None = None,
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
        grains, old_walls, old_dt = None, None, None
        if isinstance(start, GrainArrays):
            grains, start = start, None
        if scene.start is not None:
            grains, start, old_walls, old_dt = _start_from(scene.start, scene.scene.dimension)
        old = 0
        if grains is not None:
            scene, grains, old = _in_sets(scene, grains)
        self.scenario = scene
        self.dt = scene.dt
        everyone, state = scene.scene.build(scene.seed, grains)
        self.from_start = old if start is None or old else everyone.n  # grains that were not placed
        new_walls = None
        if start is not None:
            new_walls = self._take(everyone, state, start, old_walls, old_dt)
        _refuse_unfit(everyone, state, "the start gives")
        self._set_up(everyone, state)
        if (entered := self.exchange(self.model, self.state, removes=False)) is not None:
            self.model, self.state, _ = entered
            self._renew()
        if not scene.scene.allow_overlaps:
            checked = self.model
            if old and start is None:  # a packing
                slim = np.where(checked.id < old, 1.0 - _ROUNDED, 1.0)
                checked = replace(checked, radius=slim * checked.radius)
            new = checked.id >= (0 if start is None else self.from_start)
            refuse_overlaps(checked, self.state, new_grains=new, new_walls=new_walls)
        if self.engine.softness is None:
            refuse_driven_together(self.model, self.state, self.dt)
        elastic = self.engine.elastic(self.state)
        self.totals = Totals(
            kinetic_start=self.kinetic,
            elastic_start=elastic,
            pace=first_pace(self.model, self.state, elastic),
        )
        if scene.scene.allow_overlaps or start is not None:
            self.totals.overlap_start = deepest_overlap(self.model, self.state)[0]
        self.monitor = Monitor(everyone, scene.solver, self.dt, self.totals)
        self.monitor.model = self.model

    def __repr__(self) -> str:
        n, walls = self.model.n, self.model.bodies - self.model.n
        title = f" {self.scenario.title!r}" if self.scenario.title else ""
        return (
            f"<Simulation{title} in {self.model.dim}D: {n} grain{'s' * (n != 1)}, {walls}"
            f" wall{'s' * (walls != 1)}, step {self.state.step}, time {self.state.time:.6g}>"
        )

    def _set_up(self, everyone: Model, state: State, status: Ints | None = None) -> None:
        """Make ready for the first step, given all grains that there will ever be."""
        s = self.scenario
        self.exchange = Exchange(s.scene, s.seed, s.dt, everyone, status)
        # of all, so that what the engine refuses is refused now
        self.engine = make_engine(s.engine, everyone, state, s.solver, s.dt, s.seed)
        self.model, self.state = self.exchange.begin(state)
        self.flow = Flow()
        if self.exchange.changes:
            self._renew()
        self.report: StepReport | None = None
        self._speeds = array("d")  # root-mean-square speed after every step
        self._weigh()
        self._compiled = compile_seconds()
        self._updates = 0.0
        self._news: str | None = None  # that the run has turned soft in the last step
        self.implausible: str | None = None  # why the run cannot be believed, see run.plausible
        self._deepest = 0.0  # overlap at the end of the last step, once looked for

    @property
    def state(self) -> State:
        """Where all bodies are and how they move; another one may be set in its place."""
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        expected = (self.model.bodies, self.model.dim)
        if state.position.shape != expected:
            raise InputError(f"state has positions of shape {state.position.shape}, not {expected}")
        _refuse_unfit(self.model, state, "the state gives")
        self._state = state

    def _weigh(self) -> None:
        self._mass = float(self.model.mass[: self.model.n].sum())
        self._pushed = _pushed(self.model)

    def _renew(self) -> None:
        """An engine for the grains that are there now; it goes on where the last one was."""
        s, last = self.scenario, self.engine
        self.engine = make_engine(s.engine, self.model, self.state, s.solver, s.dt, s.seed)
        self.engine.seconds = last.seconds
        self.engine.softness = last.softness
        self._weigh()

    def _take(
        self,
        model: Model,
        state: State,
        start: State,
        old_walls: list[tuple[str, int]] | None,
        old_dt: float | None,
    ) -> list[int]:
        """Begin with the grains of another state, and with its walls of the same name and kind.

        Its grains are the first ones. Without ``old_walls`` they are the scene's own if there are
        as many. Contacts come along with the forces they had, whatever the old and the new step.
        Returns the walls that are new.
        """
        if old_dt is None and start.step > 0:
            old_dt = start.time / start.step
        share = 1.0 if old_dt is None else self.dt / old_dt
        if abs(share - 1.0) < 1e-9:  # not to change a bit
            share = 1.0
        n, many = model.n, self.from_start
        walls = list(zip(model.wall_names, model.wall_kind.tolist()))
        bodies = start.position.shape[0]
        if bodies < many or start.position.shape[1] != model.dim:
            raise InputError(
                f"start has {bodies} bodies in {start.position.shape[1]}D; the scene has {n} grains"
                f" in {model.dim}D"
            )
        if old_walls is None:
            old_walls = walls if bodies == model.bodies else []
        same = [k for k, wall in enumerate(walls) if wall in old_walls]
        grains = np.arange(many)
        old = np.append(grains, [many + old_walls.index(walls[k]) for k in same]).astype(np.int64)
        new = np.append(grains, [n + k for k in same]).astype(np.int64)
        for name in ("position", "velocity", "spin", "orientation"):
            getattr(state, name)[new] = getattr(start, name)[old]
        state.velocity[model.inv_mass == 0.0] = 0.0  # locked, or to be prescribed
        state.spin[model.inv_inertia == 0.0] = 0.0
        c = start.contacts
        kept = np.isin(c.second, old)
        renumber = np.zeros(bodies, np.int32)
        renumber[old] = new
        second = renumber[c.second[kept]]
        rows = np.flatnonzero(kept)[np.lexsort((second, c.first[kept]))]
        state.contacts = Contacts(
            c.first[rows], renumber[c.second[rows]], c.normal[rows], c.gap[rows],
            share * c.impulse[rows], share * c.torque[rows], c.spring[rows],
        )  # fmt: skip
        return [k for k in range(len(walls)) if k not in same]

    # ------------------------------------------------------------------ stepping
    @property
    def kinetic(self) -> float:
        """Kinetic and rotational energy of all that can move [energy]."""
        s, m = self.state, self.model
        return float(kinetic_energy(s.velocity, s.spin, m.inv_mass, m.inv_inertia))

    def step(self) -> StepReport:
        """Advance by one step of length dt, after grains have left and come in."""
        self._exchange()
        before = self.state.velocity[self.model.n :].copy()
        with np.errstate(all="ignore"):  # what overflows is found and said by the engine
            report = self.engine.advance(self.state)
            self._wall_work = self._work_of_walls(before)
        t = self.totals
        t.work_external += report.work_external
        t.work_driven += report.work_driven
        t.dissipated += report.dissipated
        t.created += report.created
        t.steps += report.sweeps > 0
        t.sweeps += report.sweeps
        t.capped += not report.converged
        t.unsettled += not report.settled
        t.loose += report.residual > CONVERGED
        t.worst_overlap = max(t.worst_overlap, report.worst_overlap)
        t.worst_residual = max(t.worst_residual, report.residual)
        t.fastest = max(t.fastest, report.fastest)
        t.deepest = max(t.deepest, report.deepest)
        t.pace += self.engine.pace.loads
        t.kicked += 0.5 * self._mass * self.engine.pace.loads**2
        if self.model.remove_overlaps:  # which pushes them apart within a step
            t.pace += report.worst_overlap / self.dt
        t.driven = max(t.driven, self.engine.pace.driven)
        self._updates += self.engine.updates(report)
        report = replace(report, speed=self._speed(report.kinetic))
        self._speeds.append(report.speed)
        self.report = report
        self._news = None
        self.implausible = self.implausible or implausible(self, report)
        if self.implausible is not None:
            return report
        if self.engine.softness is None and self.monitor.due(report):
            with self.engine.seconds.of("watch"):
                self._news = self.monitor.look(self.state)
        return report

    def _exchange(self) -> None:
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

    def _work_of_walls(self, before: Floats) -> Floats:
        """Of each wall on the grains in the last step, −dt (F·v̄ + τ·ω), shape (w,) [energy].

        v̄ is the mean of a piston's velocity before and after; what is driven had but one. Pistons
        of soft particles have this work up to changes of force and speed within the step.
        """
        n, s, e = self.model.n, self.state, self.engine
        moves = self.model.inv_mass[n:] > 0.0
        mean = np.where(moves, 0.5 * (before + s.velocity[n:]), s.velocity[n:])
        gained = (e.wall_force * mean).sum(axis=1) + (e.wall_torque * s.spin[n:]).sum(axis=1)
        work: Floats = -self.dt * gained
        if not np.isfinite(work).all():
            wall = self.model.wall_names[int(np.flatnonzero(~np.isfinite(work))[0])]
            raise RunError(
                f"the work of wall {wall!r} in step {s.step} is beyond the range of numbers; use"
                " other units, or move it more slowly"
            )
        return work

    def _speed(self, kinetic: float) -> float:
        """Root-mean-square speed of what bears a force or is pushed, see `AtRest`."""
        s, m, mass = self.state, self.model, self._mass
        if not self._pushed[: m.n].all():
            c, some = s.contacts, self._pushed.copy()
            loaded = c.impulse.any(axis=1)
            some[c.first[loaded]] = some[c.second[loaded]] = True
            bearing = float(m.mass[: m.n][some[: m.n]].sum())
            if 2.0 * bearing > mass:
                mass = bearing
                kinetic = float(
                    kinetic_energy(
                        s.velocity[some], s.spin[some], m.inv_mass[some], m.inv_inertia[some]
                    )
                )
        return math.sqrt(2.0 * kinetic / mass) if mass > 0.0 else 0.0

    def _recall_speeds(self, history: dict[str, Floats]) -> None:
        """Those of the steps that a file tells of; earlier versions kept the energy alone."""
        if "speed" in history:
            found = history["speed"]
        else:
            found = np.sqrt(2.0 * history["kinetic"] / self._mass)
        self._speeds = array("d", found.tolist())

    def quiet(self, speed: float, steps: int) -> bool:
        """Whether the root-mean-square speed was below ``speed`` in each of the last ``steps``."""
        return len(self._speeds) >= steps and max(self._speeds[-steps:]) < speed

    # ------------------------------------------------------------------ running
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
        with _attended(conditions, progress) as (observer, interrupt):
            if output is None:
                return self._loop(conditions, None, observer, interrupt)
            with self._create(output, overwrite) as writer:
                self._write(writer, [], True)
                return self._loop(conditions, writer, observer, interrupt)

    @classmethod
    def resume(
        cls,
        path: str | Path,
        until: Until | None = None,
        *,
        scene: Scene | None = None,
        progress: Observer | bool = True,
    ) -> tuple[Simulation, Summary]:
        """Go on with a run from its file; it ends with the same bits as if never stopped.

        ``scene`` is needed only where the original one held Python functions.
        """
        with RunFile(path) as file:
            verdict = file.verdict
            if verdict and stored_scenario(file.header, path).on_implausible == "stop":
                raise RunError(
                    f"{path} was stopped as not plausible: {verdict}; it cannot go on, but another"
                    " run may start from its frames, with a smaller dt or another solver"
                )
        writer, checkpoint = RunWriter.resume(path)
        with writer:
            with RunFile(path) as file:
                history, columns = file.history, list(file.columns)
            sim = cls._from_checkpoint(checkpoint, scene, path)
            if columns != sim._columns():
                raise _kept_less(path, checkpoint)
            sim._recall_speeds(history)
            sim.implausible = verdict or None
            conditions = sim.conditions(until)
            with _attended(conditions, progress) as (observer, interrupt):
                summary = sim._loop(conditions, writer, observer, interrupt)
        return sim, summary

    @classmethod
    def _from_checkpoint(
        cls, checkpoint: Checkpoint, scene: Scene | None, path: str | Path
    ) -> Simulation:
        sim = cls.__new__(cls)
        scenario = stored_scenario(checkpoint.header, path)
        if scene is not None:
            scenario = scenario.model_copy(update={"scene": scene})
        frame, rows = checkpoint.record, checkpoint.contacts
        if not set(SCALARS) <= set(frame.scalars):
            raise _kept_less(path, checkpoint)
        sim.scenario, sim.dt = scenario, scenario.dt
        everyone, _ = scenario.scene.build(scenario.seed, _grains(frame, checkpoint.model))
        for name in MODEL:
            if not np.array_equal(getattr(everyone, name), checkpoint.model[name]):
                raise InputError(
                    f"{path} holds another {name} than its scenario gives with hardgrain"
                    f" {hardgrain.__version__}; it was written by"
                    f" {checkpoint.header.get('hardgrain', 'another version')}"
                )
        bodies = (frame.position, frame.velocity, frame.spin, frame.orientation)
        state = State(frame.step, frame.time, *bodies, rows)
        _refuse_unfit(everyone, state, f"{path} gives")
        sim._set_up(everyone, state, frame.status)
        sim.totals = Totals(
            **{f.name: frame.scalars[f.name] for f in fields(Totals) if f.name in frame.scalars}
        )
        sim.monitor = Monitor(everyone, scenario.solver, sim.dt, sim.totals, frame.scalars)
        sim.monitor.model = sim.model
        return sim

    def conditions(self, until: Until | None = None) -> list[Condition]:
        """When a run ends, by default as the scenario says; what is missing there is said now."""
        if until is None:
            if self.scenario.stop is None:
                raise InputError("until is missing; give a number of steps or a stop condition")
            until = self.scenario.stop
        conditions = as_conditions(until)
        for condition in conditions:
            if isinstance(condition, AtRest):
                condition.threshold(self)  # says what is missing before anything is written
        return conditions

    def _loop(
        self,
        conditions: list[Condition],
        writer: RunWriter | None,
        progress: Observer,
        interrupt: Interrupt,
    ) -> Summary:
        """Step, observe, write; the observers never change the state."""
        output = self.scenario.output
        rows: list[_Row] = []

        def reason() -> str | None:
            return next((_name(c) for c in conditions if c(self)), None)

        if writer is not None:
            writer.durable = output.durable
        if self._stopped:  # asked to go on, it tries that step again
            self.implausible = None
        ended, asked = reason(), interrupt.asked
        while ended is None and not asked:
            good = self._moment() if self.scenario.on_implausible == "stop" else None
            known = self.implausible
            with self._begun():
                report = self.step()
            if known is None and self.implausible is not None:
                if writer is not None:
                    writer.tell(self.implausible)
                text = f"this run is not plausible: {self.implausible}"
                self._warn(text, progress, ImplausibleRunWarning)
                if good is not None:
                    self._go_back(good)
                    break
            # asked is looked up once a step: a run that ends has just written all of it
            ended, asked = reason(), interrupt.asked
            if writer is not None:
                rows.append(self._history_row(report))
                frame, off = divmod(self.state.step, output.every)
                last = ended is not None or asked
                if off == 0 or last:  # the last frame always has its contacts
                    self._write(writer, rows, last or frame % output.contacts_every == 0)
                    rows = []
                    self._tell_of(writer, progress)
            if self._news is not None:
                self._warn(f"this run is {self._news}", progress, SoftRunWarning)
            progress(self, report)
        self._look_closely()
        if writer is not None:
            if rows:  # back at the last good moment
                self._write(writer, rows, True)
            if self.implausible is not None:
                writer.tell(self.implausible)
            writer.close(finished=ended is not None)
            self._tell_of(writer, progress)
        with self._begun():
            path = None if writer is None else str(writer.path)
            return self._summary(ended, conditions, path)

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """What was checked before a run is not to blame for what goes wrong in it."""
        try:
            yield
        except InputError as error:
            raise RunError(f"the run failed after step {self.state.step}: {error}") from error

    def _tell_of(self, writer: RunWriter, progress: Observer) -> None:
        """Say what has happened to the output."""
        if writer.news is not None:
            self._warn(writer.news, progress, UserWarning)
            writer.news = None

    @property
    def _stopped(self) -> bool:
        """Whether a step that is not plausible has ended the run."""
        return self.scenario.on_implausible == "stop" and self.implausible is not None

    def _moment(self) -> tuple[Any, ...]:
        """All that the next step changes, to go back to."""
        s, e = self._state, self.engine
        state = copy(s)
        for name in ("position", "velocity", "spin", "orientation"):
            setattr(state, name, getattr(s, name).copy())
        forces = e.wall_force.copy(), e.wall_torque.copy()
        there = self.model, e, self.flow, self.exchange.moment
        return state, copy(self.totals), self.report, forces, there

    def _go_back(self, moment: tuple[Any, ...]) -> None:
        """Undo the last step."""
        self._state, totals, self.report, forces, there = moment
        self.model, self.engine, self.flow, self.exchange.moment = there
        self.monitor.model = self.model
        self._weigh()
        for f in fields(Totals):  # the monitor holds them too
            setattr(self.totals, f.name, getattr(totals, f.name))
        self.engine.wall_force[:], self.engine.wall_torque[:] = forces
        self._speeds.pop()

    def _look_closely(self) -> None:
        """How far bodies overlap now, after the last step, whatever it knew of contacts."""
        self._deepest, i, j = deepest_overlap(self.model, self.state)
        if self.implausible is None:
            at = f"the state after step {self.state.step}"
            self.implausible = too_deep(self, self._deepest, i, j, at)

    def _warn(self, text: str, progress: Observer, kind: type[Warning]) -> None:
        """A line of the progress; or, where there is none, a warning of Python's own."""
        if isinstance(progress, Progress) and not progress.hidden:
            progress.tell(f"warning:     {text}")
        else:
            warnings.warn(text, kind, stacklevel=4)

    # ------------------------------------------------------------------ output
    def _create(self, path: str | Path, overwrite: bool) -> RunWriter:
        import numba

        header = {
            "scenario": self.scenario.model_dump_json(),
            "hardgrain": hardgrain.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
            "units": self.scenario.units or "any consistent units, as in the scenario",
        }
        return RunWriter.create(
            path,
            header=header,
            model={name: getattr(self.exchange.everyone, name) for name in MODEL},
            columns=self._columns(),
            wall_names=self.model.wall_names,
            springs=self.engine.springs,
            status=self.exchange.changes,
            scalars=[*(f.name for f in fields(Totals)), *SCALARS],
            overwrite=overwrite,
        )

    @cached_property
    def track(self) -> Track:
        """The bodies that the history follows."""
        return Track(self.scenario.output.track, self.model)

    def _columns(self) -> list[str]:
        """Columns of the history."""
        flows: list[str] = []
        if self.exchange.changes:
            flows = ["grains", "mass", *FLOWS]
            flows += [f"removed_by_{title}" for title in self.exchange.titles]
        return [
            *_COLUMNS, *(f"network_{name}" for name in COLUMNS), *flows, *self.track.columns
        ]  # fmt: skip

    def _history_row(self, report: StepReport) -> _Row:
        row = [*(float(getattr(report, name)) for name in _COLUMNS), *self.monitor.columns]
        if self.exchange.changes:
            row += [float(self.model.n), self._mass, *asdict(self.flow).values()]
            row += [float(count) for count in self.exchange.taken]
        row += self.track.row(self.model, self.state, self.dt)
        return np.array(row), self.engine.wall_force.copy(), self._wall_work

    def _write(self, writer: RunWriter, rows: list[_Row], with_contacts: bool) -> None:
        record = self._record()
        shapes = (len(self._columns()),), record.wall_force.shape, record.wall_force.shape[:1]
        parts = zip(*rows) if rows else ([], [], [])
        steps = Steps(*(np.reshape(part, (len(rows), *row)) for part, row in zip(parts, shapes)))
        contacts = self.exchange.whole(self.model, self.state).contacts if with_contacts else None
        writer.append(record, steps, contacts)

    def _record(self) -> Record:
        s = self.exchange.whole(self.model, self.state)
        return Record(
            s.step, s.time, s.position, s.orientation, s.velocity, s.spin,
            self.engine.wall_force, self.engine.wall_torque,
            {**asdict(self.totals), **self.monitor.scalars},
            self.exchange.status if self.exchange.changes else np.zeros(0, np.int32),
        )  # fmt: skip

    @property
    def frame(self) -> Frame:
        """The grains, and the walls by name, as they are now."""
        return Frame(deepcopy(self._record()), self.model.wall_names)

    # ------------------------------------------------------------------ the closing word
    def _summary(self, ended: str | None, conditions: list[Condition], path: str | None) -> Summary:
        t, solver, steps = self.totals, self.scenario.solver, self.state.step
        diameter = 2.0 * float(self.exchange.everyone.radius.mean())
        report, found, unique = self.report, None, None
        if self.engine.softness is None:
            with self.engine.seconds.of("watch"):
                found = self.monitor.verdict(self.state)
        if self.implausible is None and self._at_rest(conditions):
            with self.engine.seconds.of("watch"):
                unique = uniqueness(self, max(CLOSING, SHARE * self._updates))
        return Summary(
            ended=ended or ("stopped, not plausible" if self._stopped else "interrupted"),
            finished=ended is not None,
            steps=steps,
            time=self.state.time,
            grains=self.model.n,
            contacts=0 if report is None else report.loaded,
            criterion=solver.criterion,
            residual=0.0 if report is None else report.residual,
            worst_residual=t.worst_residual,
            capped=int(t.capped),
            unsettled=int(t.unsettled),
            loose=int(t.loose),
            rigidity=found,
            implausible=self.implausible,
            worst_overlap=max(t.deepest, self._deepest),
            mean_overlap=0.0 if report is None else report.mean_overlap / diameter,
            kinetic_start=t.kinetic_start,
            elastic_start=t.elastic_start,
            kinetic=self.kinetic,
            elastic=t.elastic_start if report is None else report.elastic,
            work_external=t.work_external,
            work_driven=t.work_driven,
            dissipated=t.dissipated,
            created=t.created,
            seconds=dict(self.engine.seconds),
            compile_seconds=compile_seconds() - self._compiled,
            updates=self._updates,
            output=path,
            softness=self.engine.softness,
            unique=unique,
            warnings=tuple(self._warnings(found)),
            flow=Flow(**{name: getattr(t, name) for name in FLOWS}),
            waiting=self.exchange.waiting(max(self.state.time - self.dt, 0.0))[0],
            removed_by=dict(zip(self.exchange.titles, self.exchange.removed_by())),
        )

    def _at_rest(self, conditions: list[Condition]) -> bool:
        """As this run or its scenario has it, or as is usual under gravity."""
        stop = self.scenario.stop
        known = [*conditions, *(stop.conditions() if stop else ())]
        if self.model.gravity.any():
            known.append(AtRest())
        return any(c(self) for c in known if isinstance(c, AtRest))

    def _warnings(self, found: Rigidity | None) -> Iterator[str]:
        t = self.totals
        if self.monitor.soft_at and found is not None and found.rigid:
            yield f"the run was soft at step {self.monitor.soft_at}, before it was rigid again"
        scale = t.kinetic_start + abs(t.work_external) + abs(t.work_driven) + t.kinetic_inserted
        if t.created > _CREATED * scale:
            why = may_create(self.model) or ("more sweeps would converge better" if t.loose else "")
            yield f"contacts created energy, {t.created:.3g} in all{'; ' if why else ''}{why}"
        soft, deepest = self.engine.softness, max(t.deepest, self._deepest)
        if deepest > OVERLAP:
            finer = f"{'more sweeps or ' if t.loose else ''}a smaller dt"
            yield (
                f"grains overlapped by up to {deepest:.2g} of the smaller one's diameter; use"
                f" {finer if soft is None else 'a larger engine.stiffness'}"
            )
        step = self.dt if soft is None else soft.step
        travel = t.fastest * step / (2.0 * float(self.exchange.everyone.radius.min()))
        if travel > 0.5:
            yield (
                f"a grain moved {travel:.2g} of the smallest diameter in one step and may have"
                " passed through another; use a smaller dt"
            )


def _pushed(model: Model) -> NDArray[np.bool_]:
    """Which bodies gravity or a force may ever push, or a drive move; shape (nb,)."""
    found = np.zeros(model.bodies, dtype=bool)
    found[: model.n] = model.gravity.any()
    for bodies in [*(d.bodies for d in model.drives), *(p.body for p in model.pressures)]:
        found[bodies] = True
    return found


@contextmanager
def _attended(
    conditions: list[Condition], progress: Observer | bool
) -> Iterator[tuple[Observer, Interrupt]]:
    """Around a run: a progress line, unless there is a function in its place, and an open ear."""
    with ExitStack() as stack:
        if isinstance(progress, bool):
            line = Progress(conditions, quiet=not (progress and sys.stderr.isatty()))
            line.hidden = line.quiet
            progress = stack.enter_context(line)
        heard = progress.heard if isinstance(progress, Progress) else lambda count: None
        yield progress, stack.enter_context(Interrupt(heard))


def _refuse_unfit(model: Model, state: State, what: str) -> None:
    refuse_unfit(model, state, farthest(model), InputError, what)


def _kept_less(path: str | Path, checkpoint: Checkpoint) -> InputError:
    return InputError(
        f"{path} was written by hardgrain {checkpoint.header.get('hardgrain')}, which kept less in"
        " its file; start a new run from its last frame"
    )


def _name(condition: Condition) -> str:
    return {"Steps": "all steps done", "Time": "time reached", "AtRest": "at rest"}.get(
        type(condition).__name__, getattr(condition, "__name__", "stop condition met")
    )


def _grains(frame: Frame | Record, model: dict[str, Any]) -> GrainArrays:
    """Of a frame those that are there, of a record all."""
    id = frame.id if isinstance(frame, Frame) else np.arange(model["radius"].size)
    n = id.size
    moving = (frame.velocity[:n], frame.spin[:n], model["group"][id])
    return GrainArrays(frame.position[:n], model["radius"][id], *moving)


def _in_sets(scenario: Scenario, grains: GrainArrays) -> tuple[Scenario, GrainArrays, int]:
    """Grains of a start in the sets of a scene, the new grains of its other sets behind them.

    Sets without a place are theirs; or, where all have one, those that come first and would place
    as many grains as the start has in its sets: the scene that made them. A scene without any gets
    one. Also returns how many come from the start.
    """
    scene, sets = scenario.scene, scenario.scene.grains
    if grains.position.shape[1] != scene.dimension:
        raise InputError(
            f"start holds grains in {grains.position.shape[1]}D; scene.dimension is"
            f" {scene.dimension}"
        )
    small = np.flatnonzero(~(grains.radius > 0.0))
    if small.size:
        raise InputError(
            f"start holds grains of which grain {small[0]} has the radius"
            f" {grains.radius[small[0]]:g}; it must be greater than 0"
        )
    counts = np.bincount(grains.group, minlength=1).tolist()
    theirs = [k for k, spec in enumerate(sets) if spec.place is None]
    if not sets:
        scene, theirs = scene.model_copy(update={"grains": [Grains()]}), [0]
    elif not theirs:
        for first in ([sum(counts)], counts):
            if [spec.size for spec in sets[: len(first)]] == first:
                theirs = [*range(len(first))]
        if not theirs:
            raise InputError(
                f"start holds {sum(counts)} grains, but every set in scene.grains has a place, and"
                " is new; add a set without a place for the grains of the start"
            )
    for k in theirs:
        if sets and sets[k].insert is not None:
            raise InputError(
                f"scene.grains[{k}].insert is given, but its grains come from the start; leave out"
                " insert, or give the set a place"
            )
    if len(theirs) == 1:
        grains = replace(grains, group=np.full_like(grains.group, theirs[0]))
    elif len(counts) > len(theirs):
        raise InputError(
            f"start holds {len(counts)} sets of grains; the scene has {len(theirs)}, and needs"
            " as many, or one for all"
        )
    else:
        grains = replace(grains, group=np.array(theirs, np.int32)[grains.group])
    placed = scene.place_grains(scenario.seed, grains, theirs)
    return scenario.model_copy(update={"scene": scene}), placed, grains.group.size


def _start_from(
    start: Start, dimension: int
) -> tuple[GrainArrays, State | None, list[tuple[str, int]] | None, float | None]:
    """Grains, and of an earlier run the state, walls (name and kind) and dt."""
    if is_packing(start.file):
        return read_packing(start.file, start.frame, dimension), None, None, None
    with RunFile(start.file) as file:
        try:
            frame, rows = file[start.frame], file.contacts(start.frame)
        except IndexError:
            raise InputError(
                f"start.frame is {start.frame}; {start.file} has {len(file)} frames"
            ) from None
        model, names, dt = file.model, file.wall_names, stored_scenario(file.header, start.file).dt
    if rows is None:
        raise InputError(
            f"start.frame is {start.frame}, a frame of {start.file} without contacts; choose one"
            " whose contacts were stored"
        )
    walls = list(zip(names, model["wall_kind"].tolist()))
    return _grains(frame, model), frame.state(rows), walls, dt
