"""Contact dynamics on a GPU: the steps of `step.contact_dynamics`, made by `hardgrain.cuda`.

The state lives on the device while steps are made, and comes to the host when a march pauses: for
a frame, a look at the contact network, or the end. Loads that change with time are summed by the
host before each step. The rest of a step sees the host through a few whole numbers alone.
"""

from __future__ import annotations

import math
import time
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hardgrain.core.lawtable import ROLLING, TORSION
from hardgrain.core.model import SPIN, VELOCITY, Contacts, Model, State
from hardgrain.cuda.present import free_memory, name, usable
from hardgrain.cuda.room import roomy
from hardgrain.errors import InputError, RunError
from hardgrain.kernels import compile_seconds
from hardgrain.point.sweeping import Sweeping
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem
from hardgrain.solve.rigid import RigidSolver, search
from hardgrain.solve.solver import Solver
from hardgrain.step import account
from hardgrain.step.account import MarchRows
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.engine import RigidGrains
from hardgrain.step.march import ROUNDS
from hardgrain.step.numbers import farthest
from hardgrain.step.pause import Pause, look_due
from hardgrain.step.report import Stride, not_a_number
from hardgrain.step.walls import wall_work

__all__ = ["DeviceDynamics", "carried", "refuse_on_device"]

# [contact updates] Work after which a march pauses in any case, about a second of a GPU. Less: the
# state comes to the host more often than anybody looks.
WORK = 2e9


def _not_carried(model: Model, solver: Solver, settings: RigidGrains) -> str | None:
    """What a GPU does not carry of a scene; None: it carries all."""
    order, kind = getattr(solver, "order", None), getattr(solver, "kind", "?")
    valid, rigid = isinstance(solver, GaussSeidel | RigidSolver), isinstance(solver, RigidSolver)
    refused = {
        f"solver.kind = {kind!r} (gauss-seidel and rigid are valid)": not valid,
        f"solver.order = {order!r} (tiles is valid)": order != "tiles",
        "solver.unbalanced": solver.unbalanced is not None,
        "engine.geometry = 'end'": settings.geometry == "end",
        "grains that are not round, or walls that are meshes": not model.round,
        "resistance to rolling or torsion with solver.kind = 'rigid'": rigid
        and bool(model.law_table[:, [ROLLING, TORSION]].any()),
        "scene.contact_rule": model.rule is not None,
        "scene.membrane": model.membrane is not None,
        "bodies glued to walls": bool((model.carrier != np.arange(model.bodies)).any()),
    }
    return next((what for what, there in refused.items() if there), None)


def carried(model: Model, solver: Solver, settings: RigidGrains) -> bool:
    """Whether there is a GPU, and it carries all of a scene."""
    return _not_carried(model, solver, settings) is None and usable() is None


def refuse_on_device(model: Model, solver: Solver, settings: RigidGrains) -> None:
    """Say in one sentence what a GPU does not carry, or that there is none."""
    what = _not_carried(model, solver, settings)
    if what is not None:
        raise InputError(
            f"engine.device is 'cuda', which does not carry {what}; device = 'cpu' does"
        )
    lacking = usable()
    if lacking is not None:
        raise InputError(
            f"engine.device is 'cuda' but {lacking}; device = 'cpu' is valid here (--device cpu)"
        )


class DeviceDynamics(ContactDynamics):
    """Advances a state in steps that are made on a GPU."""

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains | None = None,
    ) -> None:
        from hardgrain.cuda.stepper import Stepper

        super().__init__(model, solver, dt, seed, settings)
        refuse_on_device(model, solver, self.settings)
        margin = self.detector.shapes.margin
        self.gpu = name()
        self._memory = free_memory()[0]
        with roomy(model, self._memory, InputError):
            self._stepper = Stepper(model, dt, margin, farthest(model), self._pushed)
        self._last: Contacts | None = None  # that the device knows
        self._steady = False  # whether it knows the loads, which never change

    def march(self, state: State, pause: Pause) -> Stride:
        """Make steps until there is a reason to pause, at least one."""
        with roomy(self.model, self._memory, RunError):
            return self._marched(state, pause)

    def _marched(self, state: State, pause: Pause) -> Stride:
        from hardgrain.cuda import ledger
        from hardgrain.cuda.api import host

        state.make_plain()
        how, own = self._sweeps(), self._stepper
        rigid = isinstance(self.solver, RigidSolver)
        own.load(state, state.contacts is not self._last)
        outcome, done, work = self._outcome(pause.steps), 0, 0.0
        since, rested, caught = pause.look.since, pause.rested, 0.0
        try:
            while done < pause.steps:
                began, compiled = time.perf_counter(), compile_seconds()
                caught += self._load(state, done)
                number = state.step + done
                told = own.step(
                    number, how.until, self.seed, self.solver.start == "zero", ROUNDS,
                    partial(self._search, state, number) if rigid else None,
                )  # fmt: skip
                self._tell(outcome, done, number, told)
                if not math.isfinite(told[ledger.KINETIC] + told[ledger.RESIDUAL]):
                    raise RunError(not_a_number(self.model, state, host(own.velocity)))
                fit = not told[ledger.UNFIT]
                spent = time.perf_counter() - began - (compile_seconds() - compiled)
                self.seconds["solve"] += spent
                report = outcome.reports[done]
                done += 1
                if not fit:
                    break
                updates = report[account.SWEEPS] * report[account.CANDIDATES]
                work, since = work + updates, since + updates + pause.look.step
                rested = rested + 1 if report[account.SPEED] < pause.rest_speed else 0
                at_rest = pause.rest_speed > 0.0 and rested >= pause.rest_steps
                due = look_due(
                    pause.look, since, report[account.CANDIDATES], report[account.LOADED]
                )
                missed = self.solver.on_cap == "error" and not report[account.CONVERGED]
                if work >= max(pause.work, WORK) or at_rest or due or missed:
                    break
        finally:
            if done:
                own.store(state)
                self._last = state.contacts
                state.step += done
                state.time = state.step * self.dt
        self._refuse_unfit(state)
        stride = self._stride(outcome, done, caught)
        last = stride.reports[-1]
        left = f"not converged: residual {last.residual:.2g}"
        self._refuse_unsolved(last.step, last.sweeps, last.converged, left)
        return stride

    def _sweeps(self) -> Sweeping:
        """How the solver sweeps; the rigid one says it anew for each portion of sweeps."""
        from hardgrain.solve.iterative import sweeping

        solver = GaussSeidel() if isinstance(self.solver, RigidSolver) else self.solver
        return sweeping(solver, "random", self.seed, self.dt)  # type: ignore[arg-type]

    def _search(self, state: State, number: int) -> int:
        """Let the rigid solver find the impulses of step ``number``; the sweeps it took."""
        from hardgrain.step.device_task import DeviceTask

        assert isinstance(self.solver, RigidSolver)
        task = DeviceTask(self._stepper, partial(self._problem_here, state))
        return search(self.solver, task, self.seed, number).sweeps

    def _problem_here(self, state: State) -> Problem:
        """The step on the device, for stages of the rigid solver that the host makes."""
        from hardgrain.cuda.api import host

        own = self._stepper
        here = copy(state)
        own.fetch(here)
        free = host(own.search.free_velocity), host(own.search.free_spin)
        problem = self._problem(here, own.fetch_contacts(own.held, own.candidates), *free)
        inverse = {name: host(getattr(own.bodies, name)) for name in ("inv_mass", "inv_inertia")}
        return replace(problem, **inverse)

    def _load(self, state: State, done: int) -> float:
        """Tell the device the loads and prescribed velocities of a step, where they change."""
        own, loads = self._stepper, self._loads
        if self._steady and done > 0:
            return 0.0
        ahead = State(
            position=state.position, velocity=state.velocity, spin=state.spin,
            orientation=state.orientation, contacts=state.contacts, time=state.time,
            step=state.step + done,
        )  # fmt: skip
        caught = 0.0
        if not loads.steady:
            if done:
                own.fetch_walls(ahead)
            if self.model.locks:
                own.fetch(ahead)
                caught = loads.prescribe(ahead)
                own.load(ahead, False)
                own.inverses(*self._inverses(ahead))
        middle = (ahead.step + 0.5) * self.dt
        for drive in self.model.drives:
            if drive.what == VELOCITY:
                own.prescribe("velocity", drive.bodies, drive.axis, drive.value(middle))
            elif drive.what == SPIN:
                own.prescribe("spin", drive.bodies, drive.axis, drive.value(middle))
        if not (self._steady and loads.steady):
            own.loads(*loads.at(ahead))
        self._steady = loads.steady
        return caught

    def _inverses(self, state: State) -> tuple[Any, Any]:
        now = self.model.at((state.step + 0.5) * self.dt)
        return now.inv_mass, now.inv_inertia

    def _tell(self, outcome: MarchRows, s: int, step: int, told: Any) -> None:
        """Fill row s of an outcome from what the device told."""
        from hardgrain.cuda import ledger as d
        from hardgrain.cuda.api import host

        own, n, dt = self._stepper, self.model.n, self.dt
        o, r = outcome, outcome.reports[s]
        o.wall_force[s], o.wall_torque[s] = host(own.wall_force) / dt, host(own.wall_torque) / dt
        if self.model.bodies > n:
            mean, v, w = (host(x[n:]) for x in (own.mean.velocity, own.velocity, own.spin))
            o.wall_work[s] = wall_work(
                mean, v, w, self.model.inv_mass[n:], o.wall_force[s], o.wall_torque[s], dt
            )
        loads = math.sqrt(told[d.LOADS]) + math.sqrt(told[d.LOADS_TURN])
        given = math.sqrt(told[d.GIVEN]) + math.sqrt(told[d.GIVEN_TURN]) + told[d.SWEEPING]
        o.paces[s] = loads, given
        r[account.STEP], r[account.TIME] = step + 1, (step + 1) * dt
        r[account.SWEEPS], r[account.CONVERGED] = own.sweeps, told[d.RULE_MET]
        r[account.RESIDUAL], r[account.RESIDUAL_RMS] = told[d.RESIDUAL], told[d.RESIDUAL_RMS]
        r[account.CANDIDATES], r[account.LOADED] = told[d.CANDIDATES], told[d.LOADED]
        r[account.WORST_OVERLAP], r[account.DEEPEST] = told[d.WORST], told[d.DEEPEST]
        r[account.MEAN_OVERLAP] = told[d.OVERLAP] / max(told[d.LOADED], 1.0)
        r[account.FASTEST], r[account.KINETIC] = math.sqrt(told[d.FASTEST]), told[d.KINETIC]
        r[account.WORK_EXTERNAL], r[account.WORK_DRIVEN] = dt * told[d.WORK], told[d.DRIVEN]
        r[account.DISSIPATED], r[account.CREATED] = told[d.DISSIPATED], max(-told[d.TAKEN], 0.0)
        r[account.ELASTIC], r[account.SETTLED] = 0.0, 1.0
        total, bearing = float(self.model.mass[:n].sum()), told[d.BEARING]
        if bearing < total and 2.0 * bearing > total:
            r[account.SPEED] = math.sqrt(told[d.ENERGY] / bearing)
        else:
            r[account.SPEED] = math.sqrt(2.0 * told[d.KINETIC] / total) if total > 0.0 else 0.0
