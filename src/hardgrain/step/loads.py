"""What acts on the bodies besides contacts, and how they move; shared by the engines."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hardgrain.contact.pairs import extent, wall_geometry
from hardgrain.core.model import FORCE, SPIN, VELOCITY, Drive, Floats, Model, State
from hardgrain.cpu.inertia import TENSOR, inverses_in_space
from hardgrain.cpu.ledger import kinetic_energy
from hardgrain.kernels import jit
from hardgrain.step.membrane import membrane_force
from hardgrain.step.report import Pace

__all__ = ["Loads", "move", "turned", "with_z"]


class Loads:
    """Prescribed velocities, and external forces and torques, at the middle of each step."""

    def __init__(self, model: Model, dt: float) -> None:
        self.model, self.dt = model, dt
        self._changing = [d for d in model.drives if not d.constant]
        force, torque = np.zeros_like(model.inv_mass), np.zeros_like(model.inv_inertia)
        force[: model.n] = model.mass[: model.n, None] * model.gravity
        for drive in model.drives:
            if drive.constant:
                _add_load(drive, 0.0, force, torque)
        glued = np.flatnonzero(model.carrier != np.arange(model.bodies))
        np.add.at(force, model.carrier[glued], force[glued])  # their weight
        force[glued] = 0.0
        self._constant = force, torque

    @property
    def steady(self) -> bool:
        """Whether loads, drives and what can move are the same in every step."""
        m = self.model
        timed = m.locks or m.pressures or m.membrane is not None
        return all(d.constant for d in m.drives) and not timed

    def now(self, state: State) -> Model:
        """The model in the coming step: as its locks make it, with the inertia of turned bodies."""
        return turned(self.model.at((state.step + 0.5) * self.dt), state.orientation)

    def prescribe(self, state: State) -> float:
        """Give driven bodies their velocities, and stop those that a lock has caught.

        Returns the kinetic energy that locks took.
        """
        middle, taken = (state.step + 0.5) * self.dt, 0.0
        if self.model.locks:
            m, now = turned(self.model, state.orientation), self.model.at(middle)
            before = kinetic_energy(state.velocity, state.spin, m.inv_mass, m.inv_inertia)
            for v, inverse, held in (
                (state.velocity, self.model.inv_mass, now.inv_mass),
                (state.spin, self.model.inv_inertia, now.inv_inertia),
            ):
                v[(inverse > 0.0) & (held == 0.0)] = 0.0
            taken = before - kinetic_energy(state.velocity, state.spin, m.inv_mass, m.inv_inertia)
        for drive in self.model.drives:
            if drive.what == VELOCITY:
                state.velocity[drive.bodies, drive.axis] = drive.value(middle)
            elif drive.what == SPIN:
                state.spin[drive.bodies, drive.axis] = drive.value(middle)
        return taken

    def pace(self, state: State, velocity: Floats, spin: Floats) -> Pace:
        """What makes the grains of a state fast; velocity and spin are those without contacts."""
        m, s = self.model, state
        return Pace(
            *pace(
                s.velocity, velocity, s.spin, spin, s.position, m.radius, m.inv_mass, m.inv_inertia
            )
        )

    def at(self, state: State) -> tuple[Floats, Floats]:
        """External forces and torques on all bodies, shapes (nb, dim) and (nb, ns)."""
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
        if self.model.membrane is not None:
            force[: self.model.n] += membrane_force(self.model, state, middle)
        return force, torque


def with_z(vectors: Floats) -> Floats:
    """Vectors with a z, zero in 2D."""
    three = np.zeros((*vectors.shape[:-1], 3))
    three[..., : vectors.shape[-1]] = vectors
    return three


def turned(model: Model, orientation: Floats) -> Model:
    """The model with the inverse inertia of its bodies as they are turned now, shape (nb, 6).

    A model of balls is given back as it is.
    """
    if not len(model.moments):
        return model
    inverse = np.empty((model.bodies, TENSOR))
    inverses_in_space(orientation, model.moments, model.inv_inertia, inverse)
    return replace(model, inv_inertia=inverse)


@jit
def pace(before, velocity, spin_before, spin, position, radius, inv_mass, inv_inertia):  # type: ignore[no-untyped-def]
    """Largest change of speed by loads, and largest prescribed speed, centres plus surfaces.

    Walls that turn count as far from their axes as grains are.
    """
    loads, driven, loads_turn, driven_turn = 0.0, 0.0, 0.0, 0.0
    for i in range(before.shape[0]):
        change, given = 0.0, 0.0
        for a in range(before.shape[1]):
            change += (velocity[i, a] - before[i, a]) ** 2
            if inv_mass[i, a] == 0.0:
                given += before[i, a] ** 2
        loads, driven = max(loads, change), max(driven, given)
        if i < radius.size:
            change, given = 0.0, 0.0
            for a in range(spin.shape[1]):
                change += (radius[i] * (spin[i, a] - spin_before[i, a])) ** 2
                if inv_inertia[i, a] == 0.0:
                    given += (radius[i] * spin_before[i, a]) ** 2
            loads_turn, driven_turn = max(loads_turn, change), max(driven_turn, given)
    n, sweeping = radius.size, 0.0
    for i in range(n, spin.shape[0]):
        turning, away = 0.0, 0.0
        for a in range(spin.shape[1]):
            turning += spin_before[i, a] ** 2
        if turning > 0.0 and n > 0:
            spread, middle = extent(position, n)
            for a in range(position.shape[1]):
                away += (position[i, a] - middle[a]) ** 2
            sweeping = max(sweeping, math.sqrt(turning) * (math.sqrt(away) + spread))
    driven = math.sqrt(driven) + math.sqrt(driven_turn) + sweeping
    return math.sqrt(loads) + math.sqrt(loads_turn), driven


def _add_load(drive: Drive, t: float, force: Floats, torque: Floats) -> None:
    if drive.what in (VELOCITY, SPIN):
        return
    target = force if drive.what == FORCE else torque
    target[drive.bodies, drive.axis] += drive.value(t)


@jit
def move(position, velocity, dt):  # type: ignore[no-untyped-def]
    """x ← x + v dt."""
    for i in range(position.shape[0]):
        for a in range(position.shape[1]):
            position[i, a] += velocity[i, a] * dt
