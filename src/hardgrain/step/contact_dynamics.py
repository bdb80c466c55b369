"""One step of contact dynamics: implicit Euler with impulses that obey every contact's law."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.contact.detect import Detector
from hardgrain.errors import RunError
from hardgrain.scene.model import Contacts, Floats, Model, State
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.solver import Solver
from hardgrain.step.ledger import contact_work, kinetic_energy, overlaps
from hardgrain.step.loads import Loads, move, turn
from hardgrain.step.report import Softness, StepReport, Stopwatch, not_a_number

__all__ = ["ContactDynamics", "StepReport"]

# A step is solved this often at most to include pairs that its own impulses close; a second time is
# rare. The n-th round looks 2ⁿ grains ahead, so that a push reaches a hundred within one step.
ROUNDS = 7


class ContactDynamics:
    """Advances a state in place, one step of length dt at a time."""

    def __init__(self, model: Model, solver: Solver, dt: float, seed: int) -> None:
        self.model, self.solver, self.dt, self.seed = model, solver, dt, seed
        self.detector = Detector(model, dt)
        self.seconds = Stopwatch()
        self.softness: Softness | None = None
        self.springs = False  # contacts remember no elongation
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))  # on walls, by grains
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._loads = Loads(model, dt)

    def advance(self, state: State) -> StepReport:
        """One step, as in the review: detect, free motion, solve for the impulses, move."""
        model, dt = self.model, self.dt
        self._loads.prescribe(state)
        force, torque = self._loads.at(state)
        free_velocity = state.velocity + dt * model.inv_mass * force
        free_spin = state.spin + dt * model.inv_inertia * torque
        contacts, solution, sweeps = self._solve(state, free_velocity, free_spin)
        with self.seconds.of("account"):
            mean_velocity = 0.5 * (state.velocity + solution.velocity)
            mean_spin = 0.5 * (state.spin + solution.spin)
            self.wall_force[:], self.wall_torque[:] = 0.0, 0.0
            dissipated, driven, taken = contact_work(
                contacts.first, contacts.second, contacts.normal, contacts.impulse,
                contacts.torque, mean_velocity, mean_spin,
                0.5 * (free_velocity + solution.velocity), 0.5 * (free_spin + solution.spin),
                state.position, model.radius, model.inv_mass, model.inv_inertia, model.periodic,
                self.wall_force, self.wall_torque,
            )  # fmt: skip
            self.wall_force /= dt
            self.wall_torque /= dt
            worst, mean, loaded = overlaps(contacts.gap, contacts.normal, contacts.impulse)
            v = solution.velocity[: model.n]
            fastest = math.sqrt(np.einsum("ia,ia->i", v, v).max())
            moving, turning = model.inv_mass > 0.0, model.inv_inertia > 0.0
            external = dt * float(
                np.sum(force * mean_velocity, where=moving)
                + np.sum(torque * mean_spin, where=turning)
            )
            kinetic = kinetic_energy(
                solution.velocity, solution.spin, model.inv_mass, model.inv_inertia
            )
        if not math.isfinite(kinetic + solution.residual):
            raise RunError(not_a_number(state, solution.velocity))
        with self.seconds.of("move"):
            state.velocity, state.spin, state.contacts = solution.velocity, solution.spin, contacts
            move(state.position, state.velocity, dt)
            turn(state.orientation, state.spin, dt)
            state.step += 1
            state.time = state.step * dt
        if not solution.converged and self.solver.on_cap == "error":
            raise RunError(
                f"step {state.step} ended, after {sweeps} sweeps, {solution.status}, and"
                " solver.on_cap is 'error'"
            )
        return StepReport(
            state.step, state.time, sweeps, solution.converged, solution.residual,
            solution.residual_rms, len(contacts), loaded, worst, mean, fastest, kinetic, external,
            driven, dissipated, max(-taken, 0.0),
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
                problem = self._problem(state, contacts, velocity, spin)
                solution = self.solver.solve(problem, seed=self.seed, step=state.step)
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

    def _problem(self, state: State, contacts: Contacts, velocity: Floats, spin: Floats) -> Problem:
        model = self.model
        return Problem(
            dt=self.dt,
            first=contacts.first,
            second=contacts.second,
            normal=contacts.normal,
            gap=contacts.gap,
            impulse=contacts.impulse,
            torque=contacts.torque,
            velocity=velocity,
            spin=spin,
            velocity_before=state.velocity,
            spin_before=state.spin,
            position=state.position,
            radius=model.radius,
            inv_mass=model.inv_mass,
            inv_inertia=model.inv_inertia,
            material=model.material,
            laws=model.laws,
            periodic=model.periodic,
            remove_overlaps=model.remove_overlaps,
            lean=model.lean,
        )
