"""One step of contact dynamics: implicit Euler with impulses that obey every contact's law."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.contact.detect import Detector, wall_geometry
from hardgrain.errors import RunError
from hardgrain.kernels import compile_seconds, jit
from hardgrain.scene.model import FORCE, SPIN, VELOCITY, Contacts, Drive, Floats, Model, State
from hardgrain.solve.iterative import IterativeSolver
from hardgrain.solve.problem import Problem, Solution
from hardgrain.step.ledger import contact_work, kinetic_energy, overlaps

__all__ = ["ContactDynamics", "StepReport"]

# A step is solved this often at most to include pairs that its own impulses close; a second time is
# rare. The n-th round looks 2ⁿ grains ahead, so that a push reaches a hundred within one step.
ROUNDS = 7


@dataclass(frozen=True)
class StepReport:
    """What happened in a step; each field is a column of a run's history."""

    step: int  # number of the step just made
    time: float  # at its end
    sweeps: int
    converged: bool  # the solver's own criterion was met
    residual: float  # largest violation of the contact laws [1]
    residual_rms: float
    candidates: int  # contacts that could have closed
    loaded: int  # contacts that bear a force
    worst_overlap: float  # at the start of the step [length]
    mean_overlap: float  # of the loaded contacts
    fastest: float  # largest speed of a grain at the end of the step [length/time]
    kinetic: float  # at the end of the step [energy]
    work_external: float  # of gravity, forces and torques during the step
    work_driven: float  # of bodies with a prescribed velocity
    dissipated: float  # in the contacts
    created: float  # energy that impulses gave where the laws let them only take, see `ledger`


class ContactDynamics:
    """Advances a state in place, one step of length dt at a time."""

    def __init__(self, model: Model, solver: IterativeSolver, dt: float, seed: int) -> None:
        self.model, self.solver, self.dt, self.seed = model, solver, dt, seed
        self.detector = Detector(model, dt)
        self.seconds: dict[str, float] = defaultdict(float)  # by phase, compilation left out
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))  # on walls, by grains
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._constant = _constant_load(model)
        self._changing = [d for d in model.drives if not d.constant]

    def advance(self, state: State) -> StepReport:
        """One step, as in the review: detect, free motion, solve for the impulses, move."""
        model, dt = self.model, self.dt
        self._prescribe(state)
        force, torque = self._loads(state)
        free_velocity = state.velocity + dt * model.inv_mass * force
        free_spin = state.spin + dt * model.inv_inertia * torque
        contacts, solution, sweeps = self._solve(state, free_velocity, free_spin)
        with self._timed("account"):
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
            raise RunError(self._not_a_number(state, solution.velocity))
        with self._timed("move"):
            state.velocity, state.spin, state.contacts = solution.velocity, solution.spin, contacts
            move(state.position, state.velocity, state.orientation, state.spin, dt)
            state.step += 1
            state.time = state.step * dt
        if not solution.converged and self.solver.on_cap == "error":
            raise RunError(
                f"step {state.step} reached the cap of {self.solver.sweeps} sweeps with residual"
                f" {solution.residual:.2g}, and solver.on_cap is 'error'"
            )
        return StepReport(
            state.step, state.time, sweeps, solution.converged, solution.residual,
            solution.residual_rms, len(contacts), loaded, worst, mean, fastest, kinetic, external,
            driven, dissipated, max(-taken, 0.0),
        )  # fmt: skip

    def _solve(
        self, state: State, velocity: Floats, spin: Floats
    ) -> tuple[Contacts, Solution, int]:
        """Contacts and their impulses, given the free motion; also all sweeps that it took.

        Solved again, from the impulses found, if they would close a pair that was no candidate.
        """
        with self._timed("detect"):
            contacts = self.detector.find(state, velocity)
        sweeps = 0
        for n in range(ROUNDS):
            if self.solver.start == "zero":
                contacts.impulse[:], contacts.torque[:] = 0.0, 0.0
            with self._timed("solve"):
                problem = self._problem(state, contacts, velocity, spin)
                solution = self.solver.solve(problem, seed=self.seed, step=state.step)
            contacts.impulse, contacts.torque = solution.impulse, solution.torque
            sweeps += solution.sweeps
            if n == ROUNDS - 1 or not math.isfinite(solution.residual):
                break
            with self._timed("detect"):
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

    # ------------------------------------------------------------------ loads and drives
    def _prescribe(self, state: State) -> None:
        """Velocities of driven bodies, taken at the middle of the step."""
        middle = (state.step + 0.5) * self.dt
        for drive in self.model.drives:
            if drive.what == VELOCITY:
                state.velocity[drive.bodies, drive.axis] = drive.value(middle)
            elif drive.what == SPIN:
                state.spin[drive.bodies, drive.axis] = drive.value(middle)

    def _loads(self, state: State) -> tuple[Floats, Floats]:
        """External forces and torques on all bodies at the middle of the step."""
        force, torque = (load.copy() for load in self._constant)
        middle = (state.step + 0.5) * self.dt
        for drive in self._changing:
            _add_load(drive, middle, force, torque)
        if self.model.pressures:
            point = wall_geometry(self.model, state)[1]
            for p in self.model.pressures:
                area = p.area
                if p.between:
                    n = self.model.n
                    area = math.prod(
                        abs(point[b - n, k] - point[a - n, k]) for a, b, k in p.between
                    )
                force[p.body] += p.pressure(middle) * area * p.direction
        return force, torque

    def _not_a_number(self, state: State, velocity: Floats) -> str:
        bad = np.flatnonzero(~np.isfinite(velocity).all(axis=1))
        which = f"; the first is body {bad[0]}" if bad.size else ""
        return (
            f"step {state.step + 1} gave velocities that are not numbers{which};"
            " the last frame written is intact"
        )

    @contextmanager
    def _timed(self, phase: str) -> Any:
        start, compiled = time.perf_counter(), compile_seconds()
        yield
        self.seconds[phase] += time.perf_counter() - start - (compile_seconds() - compiled)


def _constant_load(model: Model) -> tuple[Floats, Floats]:
    """Gravity on the grains and all loads that do not change with time."""
    force, torque = np.zeros_like(model.inv_mass), np.zeros_like(model.inv_inertia)
    force[: model.n] = model.mass[: model.n, None] * model.gravity
    for drive in model.drives:
        if drive.constant:
            _add_load(drive, 0.0, force, torque)
    return force, torque


def _add_load(drive: Drive, t: float, force: Floats, torque: Floats) -> None:
    if drive.what in (VELOCITY, SPIN):
        return
    target = force if drive.what == FORCE else torque
    target[drive.bodies, drive.axis] += drive.value(t)


@jit
def move(position, velocity, orientation, spin, dt):  # type: ignore[no-untyped-def]
    """x ← x + v dt; the orientation turns about ω by |ω| dt, exactly."""
    for i in range(position.shape[0]):
        for a in range(position.shape[1]):
            position[i, a] += velocity[i, a] * dt
        if spin.shape[1] == 1:
            orientation[i, 0] += spin[i, 0] * dt
            continue
        wx, wy, wz = spin[i, 0], spin[i, 1], spin[i, 2]
        rate = math.sqrt(wx * wx + wy * wy + wz * wz)
        if rate == 0.0:
            continue
        s, c = math.sin(0.5 * rate * dt) / rate, math.cos(0.5 * rate * dt)
        ax, ay, az = s * wx, s * wy, s * wz
        x, y, z, w = orientation[i, 0], orientation[i, 1], orientation[i, 2], orientation[i, 3]
        nx = c * x + ax * w + ay * z - az * y
        ny = c * y + ay * w + az * x - ax * z
        nz = c * z + az * w + ax * y - ay * x
        nw = c * w - ax * x - ay * y - az * z
        length = math.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
        orientation[i, 0], orientation[i, 1] = nx / length, ny / length
        orientation[i, 2], orientation[i, 3] = nz / length, nw / length
