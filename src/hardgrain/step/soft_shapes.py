"""Soft particles of any shape: the engine of `step.soft_particles` for grains that are not round.

Grains are convex cores with a radius, or several of them (`core.solids`). They overlap at the
points that the narrow phase finds, and each of these is a contact with a spring and dashpot of its
own; `law.spring` says how the points of a face go together, `step.soft_shapes_kernel` how the
explicit steps are made.

Rounded shapes have cores that do not touch: gap and normal are those of the distance between the
cores, and the energy of the springs is a potential of the forces. Cores of shapes with sharp
corners overlap themselves, by the least depth along which a face, or an edge of each, separates
them. As long as this depth is small beside the grain's faces that is the same law; deep overlaps
have a normal that jumps from one face to another. So overlaps should stay below a hundredth of the
width, which the summary tells.
"""

from __future__ import annotations

import numpy as np

from hardgrain.contact.pairs import place_walls, turning_speed, wall_geometry
from hardgrain.contact.points import NarrowPhase
from hardgrain.contact.rows import complete
from hardgrain.core import lawtable
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.inertia import kicked
from hardgrain.step import soft_points as points
from hardgrain.step.engine import SoftParticles
from hardgrain.step.loads import turned
from hardgrain.step.pause import Pause
from hardgrain.step.report import Stride
from hardgrain.step.soft_particles import Outcome, SoftParticleDynamics
from hardgrain.step.soft_shapes_kernel import march

__all__ = ["SoftShapeDynamics"]


class SoftShapeDynamics(SoftParticleDynamics):
    """Advances a state of grains that are not round, one step of explicit ones at a time."""

    def __init__(self, model: Model, settings: SoftParticles, dt: float, state: State) -> None:
        super().__init__(model, settings, dt, state)
        self._narrow = NarrowPhase.of(model)
        self._point_law = points.Law(
            settings.stiffness, settings.spring, settings.tangential_damping or 0.0,
            settings.damping or 0.0,
            0.0 if settings.restitution is None else self._damping_root, dt / settings.substeps,
        )  # fmt: skip

    def march(self, state: State, pause: Pause) -> Stride:
        """One step: loads and drives, then explicit steps; a new pair list whenever one is due."""
        model, dt, steps = self.model, self.dt, self.settings.substeps
        caught = self._loads.prescribe(state)
        with self.seconds.of("detect"):
            now = self._loads.now(state)
            force, torque = self._loads.at(state)
            world = self._world(model.at((state.step + 0.5) * dt), force, torque)
            free_velocity = kicked(state.velocity, now.inv_mass, force, dt)
            free_spin = kicked(state.spin, now.inv_inertia, torque, dt)
            pace = self._loads.pace(state, free_velocity, free_spin)
            moving, known = _moving(state), _known(state.contacts)
            walls = wall_geometry(model, state)
            turning = turning_speed(state.position, state.spin, walls, model.wall_offset)
        sums, wall_push, done = np.zeros(4), np.zeros((model.bodies - model.n, 6)), 0
        while done < steps:
            with self.seconds.of("detect"):
                ahead = self._ahead(moving, dt * turning)
            with self.seconds.of("solve"):
                done, known = march(world, ahead, moving, known, (done, steps), sums, wall_push)
        with self.seconds.of("detect"):
            ahead = self._ahead(moving, dt * turning)
        with self.seconds.of("account"):
            elastic = float(points.stored_energy(world, ahead, moving, known))
            self._list.turned += dt * turning
            contacts = complete(model, moving.position, self._points(known))
            inv_inertia = turned(model, moving.orientation).inv_inertia
        end = Outcome(
            moving.position, moving.velocity, moving.spin, moving.orientation, contacts, elastic,
            state.cell,
        )  # fmt: skip
        return self._told(state, end, inv_inertia, sums, wall_push, caught, pace)

    def elastic(self, state: State) -> float:
        """Energy in the springs of a state [energy]."""
        world = self._world(self.model, *self._loads.at(state))
        moving = _moving(state)
        ahead = self._ahead(moving, np.zeros(self.model.bodies - self.model.n))
        return float(points.stored_energy(world, ahead, moving, _known(state.contacts)))

    def _world(self, model: Model, force: Floats, torque: Floats) -> points.World:
        """What stays the same in a step, for a model as its locks make it."""
        return points.World(
            self._point_law, model.periodic, model.wall_kind, model.wall_offset, model.wall_axis,
            model.wall_size, model.wall_side, self._narrow, model.inv_mass, model.inv_inertia,
            model.moments, force, torque, np.zeros(model.bodies), model.width,
        )  # fmt: skip

    def _ahead(self, moving: points.Moving, turning: Floats) -> points.Ahead:
        """A pair list good for these places.

        turning: how far turning may carry the walls in this step, shape (w,) [length].
        """
        model, n, pairs = self.model, self.model.n, self._list
        reach, further = np.zeros(model.bodies), np.zeros(model.bodies)
        reach[n:] = turning
        further[:n] = self.dt * np.linalg.norm(moving.velocity[:n], axis=1)
        further[n:] = 2.0 * turning
        point, axis, side = place_walls(
            moving.position, moving.orientation, model.wall_offset, model.wall_axis, model.wall_side
        )
        walls = Walls(model.wall_kind, point, axis, model.wall_size, side)
        if pairs.keep(moving.position, walls, reach, further):
            one, two = model.material[pairs.first], model.material[pairs.second]
            self._friction = np.ascontiguousarray(model.laws[one, two, lawtable.MU_DYNAMIC])
        return points.Ahead(pairs.listed, self._friction, reach)

    def _points(self, known: points.Touching) -> Contacts:
        """The contact points of the last explicit step."""
        dim = self.model.dim
        width = dim if self.springs else 0
        return Contacts(
            known.first, known.second, known.normal, known.gap, known.force[:, :dim] * self.dt,
            np.zeros((known.first.size, self.wall_torque.shape[1])),
            np.ascontiguousarray(known.spring[:, :width]), known.feature, known.arm_first,
            known.arm_second,
        )  # fmt: skip


def _moving(state: State) -> points.Moving:
    """Places and velocities for the kernels to change."""
    return points.Moving(
        state.position.copy(), state.orientation.copy(), state.velocity.copy(), state.spin.copy()
    )


def _known(contacts: Contacts) -> points.Touching:
    """What points remember, for the kernels; all else of them is found anew."""
    m, dim = len(contacts), contacts.normal.shape[1]
    spring, none = np.zeros((m, 3)), np.zeros((0, dim))
    spring[:, : contacts.spring.shape[1]] = contacts.spring
    return points.Touching(
        np.array(contacts.first), np.array(contacts.second), np.array(contacts.feature), none,
        np.zeros(0), none, none, np.zeros((0, 3)), spring, np.zeros(0),
    )  # fmt: skip
