"""One step of contact dynamics: implicit Euler with impulses that obey every contact's law.

**Where the geometry is taken.** Normals n, gaps g and arms are those at the start of the step, as
in the review: it predicts the gap after the step as g + dt V_n and neglects that the normal turns
meanwhile by θ = V_t dt/R. Two surfaces that slide along each other by V_t dt are then apart by
(V_t dt)²/2R more than predicted if they curve away from each other, which the next step closes, and
overlap by as much if one is hollow, which g⁺ keeps for ever: by V_t² dt/2R in unit time.

With ``geometry = "end"`` they are those after the step, which makes it implicit in full:

    v = v* + M⁻¹ H(x⁺) P,   x⁺ = x + dt v,   0 ≤ P_n ⊥ g(x⁺) − min(g(x), 0) ≥ 0.

The gap that must not become negative is the true one after the step, lowered by the overlap that
was there before, for no overlap is removed (with the shock law "g", which removes them, it is not
lowered). Newton's method for the gap: from where the last velocities v' lead, x' = x + dt v',

    g(x⁺) ≈ g(x') + dt n'·(V − V'),

so that the shock law V_n + b ≥ 0 holds with normals and arms of x', and with
b = (g(x') − min(g(x), 0))/dt − n'·V', in place of g⁺/dt. This b may be negative: where surfaces
curve away from each other, the way to the surface at the end is a chord that points outwards. The
velocities found are the next v', until they stay; a round gains about the factor θ. Impulses go on
from the last round's. The scheme stays one of first order in dt, as implicit Euler is, but no
overlap comes from turning.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from hardgrain.contact.arms import closing
from hardgrain.contact.detect import Detector
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.inertia import kicked, rotate, turn
from hardgrain.cpu.motion_blocks import kicked_together, moved_together
from hardgrain.errors import RunError
from hardgrain.kernels import compile_seconds
from hardgrain.point.sweeping import Sweeping
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.solver import Solver
from hardgrain.step import march as marching
from hardgrain.step.account import (
    DISSIPATED,
    SETTLED,
    MarchRows,
    Moving,
    Solved,
    World,
    account,
)
from hardgrain.step.account_together import account_together
from hardgrain.step.cell_kernel import InCell
from hardgrain.step.engine import RigidGrains
from hardgrain.step.glue import Glue
from hardgrain.step.loads import Loads, move
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.pause import ONE_STEP, Pause
from hardgrain.step.report import INTACT, Softness, StepReport, Stopwatch, Stride, not_a_number
from hardgrain.step.rest import pushed_bodies

__all__ = ["ContactDynamics", "StepReport"]


class ContactDynamics:
    """Advances a state in place by steps of length dt.

    Many steps are one compiled call (`step.march`) where contacts are relaxed by sweeps one after
    the other. Other solvers, the geometry at the end of the step, a rule in Python for laws, and
    what is glued to walls are seen by Python in every step.
    """

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains | None = None,
    ) -> None:
        self.model, self.dt, self.seed = model, dt, seed
        self._now = model  # as it is in this step, with locks that are on
        self.settings = settings or RigidGrains()
        self.detector = Detector(model, dt)
        self.seconds = Stopwatch()
        self.softness: Softness | None = None
        self.springs = False  # contacts remember no elongation
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))  # on walls, by grains
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._loads, self._farthest = self._loads_of(model), farthest(model)
        self._glue = Glue(model)
        self._pushed = pushed_bodies(model)
        self._kernels: marching.Kernels | None = None  # of the march, once they are compiled
        self.solver = solver

    @property
    def solver(self) -> Solver:
        """What finds the impulses of a step."""
        return self._solver

    @solver.setter
    def solver(self, solver: Solver) -> None:
        self._solver = solver
        glued, at_end = self._glue.bodies.size, self.settings.geometry == "end"
        seen = glued or at_end or self.model.rule
        known = isinstance(solver, Solver) and not seen
        self._sweeping = solver.sweeping(self.dt, self.seed) if known else None
        self._together = known and solver.together
        self.detector.together = self._together

    def _loads_of(self, model: Model) -> Loads:
        return Loads(model, self.dt)

    def advance(self, state: State) -> StepReport:
        """One step."""
        return self.march(state, ONE_STEP).reports[-1]

    def march(self, state: State, pause: Pause) -> Stride:
        """Make steps until there is a reason to pause, at least one."""
        if self._sweeping is None:
            with self.solver.cores() if self._together else nullcontext():
                return self._step(state)
        if not self._loads.steady:
            pause = pause._replace(steps=1)
        pause = pause._replace(strict=self.solver.on_cap == "error")
        steps = self._march(state, self._sweeping, pause)
        step, _, sweeps, converged, residual, *_ = steps.reports[-1]
        self._refuse_unsolved(step, sweeps, converged, f"not converged: residual {residual:.2g}")
        return steps

    def _march(self, state: State, how: Sweeping, pause: Pause) -> Stride:
        """The steps of `march`, by sweeps."""
        state.make_plain()
        model, locked = self.model, self._loads.now(state)
        caught = self._loads.prescribe(state)
        free = self.model.at((state.step + 0.5) * self.dt).inv_inertia
        world = self._world(locked, *self._loads.at(state), free)
        outcome = self._outcome(pause.steps)
        wrong, clock = np.zeros((model.bodies, model.dim)), np.zeros(len(marching.PHASES))
        told = marching.Told(wrong, np.zeros(model.bodies), clock)
        moving = Moving(state.position, state.velocity, state.spin, state.orientation)
        done = 0
        while done == 0:
            compiled, began = compile_seconds(), time.perf_counter()
            last = state.contacts.rows, state.contacts.feature
            listed, cell = self.detector.listed, self._cell_in(state)
            if self._kernels is None:
                kind = model.lean, model.dim
                self._kernels = marching.Kernels.like(
                    kind, world, listed, how, moving, last, outcome, cell
                )
            course = marching.Course(self._kernels, world, how)
            done, why, rows, feature = marching.march(
                course, cell, listed, pause, state.step, moving, last, (outcome, told)
            )
            spent = time.perf_counter() - began - (compile_seconds() - compiled)
            self.seconds.share(spent, told.parts())
            told.clock[:] = 0.0
            if why == marching.WRONG and done == 0:
                raise RunError(not_a_number(model, state, told.wrong))
            if why == marching.STALE and done == 0:
                with self.seconds.of("detect"):
                    self.detector.renew(state, told.reach)
        state.contacts = Contacts(**rows._asdict(), feature=feature)
        state.step += done
        state.time = state.step * self.dt
        if why in (marching.UNFIT, marching.LOST):
            self._refuse_unfit(state)
        return self._stride(outcome, done, caught)

    def _cell_in(self, state: State) -> InCell | None:
        """The periodic cell in the coming steps, where it deforms."""
        return None

    def _outcome(self, steps: int) -> MarchRows:
        """Room for what a march tells of its steps."""
        return MarchRows.of(steps, self.model.dim, *self.wall_torque.shape)

    def _step(self, state: State) -> Stride:
        """One step, as in the review: detect, free motion, solve for the impulses, move."""
        state.make_plain()
        dt, model = self.dt, self._loads.now(state)
        self._now, caught = model, self._loads.prescribe(state)
        moving = Moving(state.position, state.velocity, state.spin, state.orientation)
        self._glue.carry(state.position, state.velocity, state.spin)
        force, torque = self._loads.at(state)
        push = kicked_together if self._together else kicked
        free_velocity = push(state.velocity, model.inv_mass, force, dt)
        free_spin = push(state.spin, model.inv_inertia, torque, dt)
        self._glue.carry(state.position, free_velocity, free_spin)
        contacts, solution, sweeps = self._solve(state, free_velocity, free_spin)
        position, settled = state.position, True
        if self.settings.geometry == "end":
            contacts, solution, more, position, settled = self._settle(
                state, free_velocity, free_spin, contacts, solution
            )
            sweeps += more
        outcome, others = self._outcome(1), self.detector.others
        shared: dict[str, Any] = {"others": others} if others.size > 1 else {}
        with self.seconds.of("account"):
            borne = contacts
            if self._glue.bodies.size:
                borne = self._glue.contacts(position, contacts)[0]
            known = (account_together if self._together else account)(
                self._world(model, force, torque, model.inv_inertia), moving,
                (free_velocity, free_spin),
                Solved(
                    solution.velocity, solution.spin, contacts.rows, sweeps, solution.converged,
                    solution.residual, solution.residual_rms,
                ),
                borne.rows, outcome, 0, state.step, **shared,
            )  # fmt: skip
        if not known:
            raise RunError(not_a_number(model, state, solution.velocity))
        outcome.reports[0, SETTLED] = settled
        with self.seconds.of("move"):
            state.velocity, state.spin, state.contacts = solution.velocity, solution.spin, contacts
            self._move(state, state.velocity, state.spin)
            state.step += 1
            state.time = state.step * dt
            self._refuse_unfit(state)
        self._refuse_unsolved(state.step, sweeps, solution.converged, solution.status)
        if not settled and self.solver.on_cap == "error":
            raise RunError(
                f"step {state.step} ended without the geometry at its end, after"
                f" {self.settings.iterations} iterations, and solver.on_cap is 'error'"
            )
        return self._stride(outcome, 1, caught)

    def _world(self, now: Model, force: Floats, torque: Floats, free: Floats) -> World:
        """What a step is made in; now: the model in this step, with free: see `World`."""
        m = self.model
        return World(
            self.detector.shapes, now.inv_mass, now.inv_inertia, m.moments, free, m.mass[: m.n],
            self._pushed, force, torque, m.law_table, self._farthest, self.dt, m.remove_overlaps,
            self.solver.start == "zero",
        )  # fmt: skip

    def _stride(self, outcome: MarchRows, done: int, caught: float) -> Stride:
        """The first rows of an outcome; caught: what locks took before them [energy]."""
        o, last = outcome, done - 1
        o.reports[0, DISSIPATED] += caught
        self.wall_force, self.wall_torque = o.wall_force[last], o.wall_torque[last]
        return Stride.from_arrays(
            o.reports[:done], o.paces[:done], o.wall_force[:done], o.wall_work[:done]
        )

    def _refuse_unfit(self, state: State) -> None:
        """End a run whose state holds what is not a number, or lies too far away."""
        at = f"step {state.step} gave"
        refuse_unfit(self.model, state, self._farthest, RunError, at, INTACT)

    def _refuse_unsolved(self, step: int, sweeps: int, converged: bool, status: str) -> None:
        """End a run whose last step missed the solver's criterion, if that was asked for."""
        if not converged and self.solver.on_cap == "error":
            raise RunError(
                f"step {step} ended, after {sweeps} sweeps, {status}, and solver.on_cap is 'error'"
            )

    def elastic(self, state: State) -> float:
        """Energy in springs: rigid grains have none."""
        return 0.0

    def updates(self, report: StepReport) -> float:
        """How much work a step was: contact updates."""
        return report.sweeps * report.candidates

    def _solve(
        self, state: State, velocity: Floats, spin: Floats
    ) -> tuple[Contacts, Solution, int]:
        """Contacts and their impulses, given the free motion; also all sweeps that it took.

        Solved again, from the impulses found, if they would close a pair that was no candidate.
        """
        with self.seconds.of("detect"):
            contacts = self.detector.find(state, velocity, spin)
        sweeps = 0
        for n in range(marching.ROUNDS):
            if self.solver.start == "zero":
                contacts.impulse[:], contacts.torque[:] = 0.0, 0.0
            with self.seconds.of("solve"):
                solution = self._solve_for(state, contacts, velocity, spin)
            contacts.impulse, contacts.torque = solution.impulse, solution.torque
            sweeps += solution.sweeps
            if n == marching.ROUNDS - 1 or not math.isfinite(solution.residual):
                break
            with self.seconds.of("detect"):
                more = self.detector.overlooked(
                    state, contacts, solution.velocity, 2**n - 1, solution.spin
                )
            if more is None:
                break
            contacts = more
        return contacts, solution, sweeps

    def _settle(
        self,
        state: State,
        velocity: Floats,
        spin: Floats,
        contacts: Contacts,
        solution: Solution,
    ) -> tuple[Contacts, Solution, int, Floats, bool]:
        """The step once more with the geometry at its end, iterated from a first solution.

        Returns the contacts, with normals at the end and gaps at the start; the solution and all
        sweeps that it took; where the bodies were taken to be; whether they stayed there.
        """
        model, dt = self.model, self.dt
        limit = self.settings.tolerance * 0.5 * float(model.width.min(initial=math.inf))
        before = 0.0 if model.remove_overlaps else np.minimum(contacts.gap, 0.0)
        start, sweeps, position, settled = contacts, 0, state.position, False
        for _ in range(self.settings.iterations):
            if not math.isfinite(solution.residual):
                break
            with self.seconds.of("detect"):
                ahead = replace(
                    state, position=state.position.copy(), orientation=state.orientation.copy()
                )
                self._move(ahead, solution.velocity, solution.spin.copy())
                position = ahead.position
                contacts = self.detector.moved(ahead, start)
                contacts.gap -= before + dt * closing(contacts, solution.velocity, solution.spin)
                contacts.impulse, contacts.torque = solution.impulse, solution.torque
            with self.seconds.of("solve"):
                last, solution = (
                    solution,
                    self._solve_for(
                        state, contacts, velocity, spin, position=position, remove_overlaps=True
                    ),
                )
            sweeps += solution.sweeps
            change = solution.velocity - last.velocity
            if dt * math.sqrt(np.einsum("ia,ia->i", change, change).max(initial=0.0)) <= limit:
                settled = True
                break
        impulse, torque = solution.impulse, solution.torque
        contacts = replace(contacts, gap=start.gap, impulse=impulse, torque=torque)
        return contacts, solution, sweeps, position, settled

    def _move(self, state: State, velocity: Floats, spin: Floats) -> None:
        """Move and turn all bodies by one step, which may change their spin."""
        if self._together and not len(self.model.moments):
            moved_together(state.position, state.orientation, velocity, spin, self.dt)
            return
        before = state.position.copy() if self._glue.bodies.size else state.position
        move(state.position, velocity, self.dt)
        if len(self.model.moments):
            rotate(state.orientation, spin, self.model.moments, self._now.inv_inertia, self.dt)
        else:
            turn(state.orientation, spin, self.dt)
        self._glue.place(before, state.position, spin, self.dt)

    def _solve_for(
        self, state: State, contacts: Contacts, velocity: Floats, spin: Floats, **changed: Any
    ) -> Solution:
        """Impulses of the contacts as they are; the solver sees walls in place of what is glued."""
        glued = self._glue.bodies.size > 0
        seen = contacts
        if glued:
            seen, rows, sign = self._glue.contacts(
                changed.get("position", state.position), contacts
            )
        problem = self._problem(state, seen, velocity, spin)
        if changed:
            problem = replace(problem, **changed)
        solution = self.solver.solve(problem, seed=self.seed, step=state.step)
        if not glued:
            return solution
        self._glue.carry(state.position, solution.velocity, solution.spin)
        impulse, torque = np.empty_like(solution.impulse), np.empty_like(solution.torque)
        impulse[rows], torque[rows] = sign * solution.impulse, sign * solution.torque
        return replace(solution, impulse=impulse, torque=torque)

    def _problem(self, state: State, contacts: Contacts, velocity: Floats, spin: Floats) -> Problem:
        model = self._now
        return Problem(
            **contacts.rows._asdict(),
            dt=self.dt,
            velocity=velocity,
            spin=spin,
            velocity_before=state.velocity,
            spin_before=state.spin,
            position=state.position,
            inv_mass=model.inv_mass,
            inv_inertia=model.inv_inertia,
            laws=model.law_table,
            remove_overlaps=model.remove_overlaps,
            lean=model.lean,
            radius=model.radius,
            periodic=model.periodic,
            others=self.detector.others,
        )
