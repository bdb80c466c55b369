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
from dataclasses import replace
from typing import Any

import numpy as np

from hardgrain.contact.detect import Detector
from hardgrain.errors import RunError
from hardgrain.scene.model import Contacts, Floats, Ints, Model, State
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.solver import Solver
from hardgrain.step.engine import RigidGrains
from hardgrain.step.glue import Glue
from hardgrain.step.ledger import (
    contact_work,
    kinetic_energy,
    largest_speed,
    load_work,
    overlaps,
)
from hardgrain.step.loads import Loads, Pace, move, turn
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.report import INTACT, Softness, StepReport, Stopwatch, not_a_number

__all__ = ["ContactDynamics", "StepReport"]

# A step is solved this often at most to include pairs that its own impulses close; a second time is
# rare. The n-th round looks 2ⁿ grains ahead, so that a push reaches a hundred within one step.
ROUNDS = 7


class ContactDynamics:
    """Advances a state in place, one step of length dt at a time."""

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains | None = None,
    ) -> None:
        self.model, self.solver, self.dt, self.seed = model, solver, dt, seed
        self._now = model  # as it is in this step, with locks that are on
        self.settings = settings or RigidGrains()
        self.detector = Detector(model, dt)
        self.seconds = Stopwatch()
        self.softness: Softness | None = None
        self.springs = False  # contacts remember no elongation
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))  # on walls, by grains
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._loads, self._farthest = Loads(model, dt), farthest(model)
        self._glue = Glue(model)
        self.pace = Pace()

    def advance(self, state: State) -> StepReport:
        """One step, as in the review: detect, free motion, solve for the impulses, move."""
        model, dt = self._loads.now(state), self.dt
        self._now = model
        caught = self._loads.prescribe(state)
        self._glue.carry(state.position, state.velocity, state.spin)
        force, torque = self._loads.at(state)
        free_velocity = state.velocity + dt * model.inv_mass * force
        free_spin = state.spin + dt * model.inv_inertia * torque
        self._glue.carry(state.position, free_velocity, free_spin)
        contacts, solution, sweeps = self._solve(state, free_velocity, free_spin)
        self.pace = self._loads.pace(state, free_velocity, free_spin)
        position, settled = state.position, True
        if self.settings.geometry == "end":
            contacts, solution, more, position, settled = self._settle(
                state, free_velocity, free_spin, contacts, solution
            )
            sweeps += more
        with self.seconds.of("account"):
            mean_velocity = 0.5 * (state.velocity + solution.velocity)
            mean_spin = 0.5 * (state.spin + solution.spin)
            self.wall_force[:], self.wall_torque[:] = 0.0, 0.0
            c = contacts
            if self._glue.bodies.size:
                c = self._glue.contacts(position, contacts)[0]
            dissipated, driven, taken = contact_work(
                c.rows, mean_velocity, mean_spin, 0.5 * (free_velocity + solution.velocity),
                0.5 * (free_spin + solution.spin), model.inv_mass, model.inv_inertia,
                self.wall_force, self.wall_torque,
            )  # fmt: skip
            self.wall_force /= dt
            self.wall_torque /= dt
            worst, deepest, mean, loaded = overlaps(contacts.rows)
            fastest = largest_speed(solution.velocity, model.n)
            external = dt * load_work(
                force, torque, mean_velocity, mean_spin, model.inv_mass, model.inv_inertia
            )
            kinetic = kinetic_energy(
                solution.velocity, solution.spin, model.inv_mass, model.inv_inertia
            )
        if not math.isfinite(kinetic + solution.residual):
            raise RunError(not_a_number(state, solution.velocity))
        with self.seconds.of("move"):
            state.velocity, state.spin, state.contacts = solution.velocity, solution.spin, contacts
            self._move(state, state.velocity, state.spin)
            state.step += 1
            state.time = state.step * dt
            refuse_unfit(model, state, self._farthest, RunError, f"step {state.step} gave", INTACT)
        if not solution.converged and self.solver.on_cap == "error":
            raise RunError(
                f"step {state.step} ended, after {sweeps} sweeps, {solution.status}, and"
                " solver.on_cap is 'error'"
            )
        if not settled and self.solver.on_cap == "error":
            raise RunError(
                f"step {state.step} ended without the geometry at its end, after"
                f" {self.settings.iterations} iterations, and solver.on_cap is 'error'"
            )
        return StepReport(
            state.step, state.time, sweeps, solution.converged, solution.residual,
            solution.residual_rms, len(contacts), loaded, worst, mean, fastest, kinetic, external,
            driven, dissipated + caught, max(-taken, 0.0), settled=settled, deepest=deepest,
        )  # fmt: skip

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
            contacts = self.detector.find(state, velocity)
        sweeps = 0
        for n in range(ROUNDS):
            if self.solver.start == "zero":
                contacts.impulse[:], contacts.torque[:] = 0.0, 0.0
            with self.seconds.of("solve"):
                solution = self._solve_for(state, contacts, velocity, spin)
            contacts.impulse, contacts.torque = solution.impulse, solution.torque
            sweeps += solution.sweeps
            if n == ROUNDS - 1 or not math.isfinite(solution.residual):
                break
            with self.seconds.of("detect"):
                more = self.detector.overlooked(state, contacts, solution.velocity, 2**n - 1)
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
        limit = self.settings.tolerance * float(model.radius.min(initial=math.inf))
        before = 0.0 if model.remove_overlaps else np.minimum(contacts.gap, 0.0)
        start, sweeps, position, settled = contacts, 0, state.position, False
        for _ in range(self.settings.iterations):
            if not math.isfinite(solution.residual):
                break
            with self.seconds.of("detect"):
                ahead = replace(
                    state, position=state.position.copy(), orientation=state.orientation.copy()
                )
                self._move(ahead, solution.velocity, solution.spin)
                position = ahead.position
                contacts = self.detector.moved(ahead, start)
                contacts.gap -= before + dt * _closing(contacts, solution)
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
        """Move and turn all bodies by one step."""
        before = state.position.copy() if self._glue.bodies.size else state.position
        move(state.position, velocity, self.dt)
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
        )


def _closing(contacts: Contacts, solution: Solution) -> Floats:
    """Normal velocities of the contact points, shape (m,)."""
    v = point_velocity(solution, contacts.second, contacts.arm_second)
    v -= point_velocity(solution, contacts.first, contacts.arm_first)
    speed: Floats = np.einsum("ka,ka->k", v, contacts.normal)
    return speed


def point_velocity(solution: Solution, body: Ints, arm: Floats) -> Floats:
    """v + ω × arm of bodies (m,), shape (m, dim)."""
    spin = solution.spin[body]
    if arm.shape[1] == 2:
        turning = spin * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    else:
        turning = np.cross(spin, arm)
    speed: Floats = solution.velocity[body] + turning
    return speed
