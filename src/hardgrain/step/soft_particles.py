"""Soft-particle molecular dynamics: the second engine, on the same scenes.

Grains overlap and push each other apart with springs and dashpots (`law/spring.py`). A step of the
scenario is made of explicit steps, all in one compiled call, each

    v ← v + dt M⁻¹ F(x, v),    x ← x + v dt                                (unger2002, eqs 1, 2)

with the contact forces at the old places and velocities. This is symplectic Euler. For springs
alone it is the leapfrog scheme with its velocities read half a step early: of second order in dt,
the energy bounded for all time. Dashpots and sliding make it of first order. External forces and
driven velocities are those at the middle of the whole step, as in contact dynamics.

Walls, pistons and locked axes need no word here: they differ in their inverse masses only.

How long an explicit step may be is derived in `step.stable_step`. Grains that are not round have an
engine of their own, `step.soft_shapes`, made of the same parts, and so have scenes whose periodic
cell deforms, `step.soft_cell`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hardgrain.contact.pairs import PairList, turning_speed, wall_geometry
from hardgrain.contact.rows import complete
from hardgrain.core import lawtable
from hardgrain.core.geometry import INSIDE, OUTSIDE
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.core.wall_kinds import MESH, Walls
from hardgrain.cpu.inertia import turn
from hardgrain.cpu.ledger import kinetic_energy, largest_speed, overlaps
from hardgrain.errors import InputError, RunError
from hardgrain.step import soft_kernel as kernel
from hardgrain.step.engine import MOST_SUBSTEPS, SoftParticles
from hardgrain.step.loads import Loads, with_z
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.pause import ONE_STEP, Pause
from hardgrain.step.report import (
    INTACT,
    Pace,
    Softness,
    StepReport,
    Stopwatch,
    Stride,
    not_a_number,
)
from hardgrain.step.rest import pushed_bodies, rms_speed
from hardgrain.step.stable_step import admissible_step
from hardgrain.step.walls import wall_work
from hardgrain.theory.spring import damping_ratio

__all__ = ["Outcome", "SoftParticleDynamics"]

# Laws of contact dynamics that have no meaning here, or none yet.
_REFUSED = {
    lawtable.E_NORMAL: ("restitution", " (engine.restitution is there for it)"),
    lawtable.E_SPEED: ("restitution_speed", " (engine.restitution is the same at every speed)"),
    lawtable.E_TANGENT: ("restitution_tangential", ""),
    lawtable.COHESION: ("cohesion", ""),
    lawtable.ROLLING: ("rolling", ""),
    lawtable.TORSION: ("torsion", ""),
}


class Outcome(NamedTuple):
    """Where the explicit steps of a step have led to."""

    position: Floats  # (nb, dim)
    velocity: Floats  # (nb, dim)
    spin: Floats  # (nb, ns)
    orientation: Floats  # (nb, 1) or (nb, 4)
    contacts: Contacts  # those of the last explicit step
    elastic: float  # energy in the springs [energy]
    cell: Floats  # `State.cell`


class SoftParticleDynamics:
    """Advances a state in place, one step of length dt, made of explicit ones, at a time.

    ``state.contacts`` are those that touched in the last explicit step of a step, with the force
    that they had then: their impulse is that force times dt. Forces on walls are means over the
    step.
    """

    def __init__(self, model: Model, settings: SoftParticles, dt: float, state: State) -> None:
        _refuse_laws(model)
        self.model, self.settings, self.dt = model, settings, dt
        explicit, longest = dt / settings.substeps, admissible_step(model, settings, state)
        if explicit > longest and state.step == 0:  # a run that has begun goes on
            finer = math.ceil(dt / longest)
            substeps = f"engine.substeps = {finer} or " if finer <= MOST_SUBSTEPS else ""
            of_cell = ", and the inertia of this cell" if model.cell >= 0 else ""
            raise InputError(
                f"dt / engine.substeps is {explicit:.4g} but must not exceed {_floor(longest):g}"
                f" with this stiffness, damping and these masses{of_cell}; use {substeps}dt ="
                f" {_floor(longest * settings.substeps):g}"
            )
        limit = longest if math.isfinite(longest) else None
        self.softness = Softness(settings.stiffness, explicit, limit)
        self.seconds = Stopwatch()
        self.springs = settings.spring > 0.0  # contacts remember an elongation
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._loads, self._farthest = self._loads_of(model), farthest(model)
        self._pushed = pushed_bodies(model)
        self._list = PairList(model)
        self._inverse = self._six(model.inv_mass, model.inv_inertia)
        self._law = kernel.Law(
            settings.stiffness, settings.spring, settings.tangential_damping or 0.0, explicit,
            with_z(model.periodic),
        )  # fmt: skip
        ratio = damping_ratio(settings.restitution or 1.0)
        self._damping_root = 2.0 * ratio * math.sqrt(settings.stiffness)

    def _loads_of(self, model: Model) -> Loads:
        return Loads(model, self.dt)

    def advance(self, state: State) -> StepReport:
        """One step."""
        return self.march(state, ONE_STEP).reports[-1]

    def march(self, state: State, pause: Pause) -> Stride:
        """One step: loads and drives, then explicit steps; a new pair list whenever one is due."""
        model, dt, steps = self.model, self.dt, self.settings.substeps
        caught = self._loads.prescribe(state)
        if model.locks:
            now = self._loads.now(state)
            self._inverse = self._six(now.inv_mass, now.inv_inertia)
        with self.seconds.of("detect"):
            geometry = wall_geometry(model, state)
            force, torque = self._loads.at(state)
            bodies, walls = self._pack(state, geometry, force, torque)
            cell = self._cell_in(state)
            turning = turning_speed(state.position, state.spin, geometry, model.wall_offset)
            free_velocity = state.velocity + dt * model.inv_mass * force
            free_spin = state.spin + dt * model.inv_inertia * torque
            pace = self._loads.pace(state, free_velocity, free_spin)
            contacts = state.contacts
        sums, wall_push = np.zeros(4), np.zeros((walls.kind.size, 6))
        done = 0
        while True:
            with self.seconds.of("detect"):
                bodies, pairs = self._pairs(bodies, walls, contacts, dt * turning, cell)
            with self.seconds.of("solve"):
                done = kernel.march(
                    bodies, pairs, walls, self._law, cell, (done, steps), sums, wall_push
                )
            if done == steps:
                break
            kernel.move_walls(bodies, walls, done * self._law.dt)
            contacts = self._contacts(pairs)
        with self.seconds.of("account"):
            kernel.move_walls(bodies, walls, dt)
            elastic = kernel.stored_energy(bodies, pairs, walls, self._law, cell)
            self._list.turned += dt * turning
            position = np.ascontiguousarray(bodies.x[:, : model.dim])
            contacts = complete(model, position, self._contacts(pairs))
            velocity, spin = self._split(bodies.v)
            orientation = state.orientation.copy()
            turn(orientation, np.ascontiguousarray(bodies.turned[:, -spin.shape[1] :]), 1.0)
            form = state.cell if cell is None else self._form(cell)
        end = Outcome(position, velocity, spin, orientation, contacts, float(elastic), form)
        return self._told(state, end, model.inv_inertia, sums, wall_push, caught, pace)

    def _told(
        self, state: State, end: Outcome, inv_inertia: Floats, sums: Floats, wall_push: Floats,
        caught: float, pace: Pace,
    ) -> Stride:  # fmt: skip
        """Let the state be what the explicit steps led to, and tell of them.

        inv_inertia: of bodies as they stand now; wall_push: impulses on walls, shape (w, 6);
        caught: energy that locks took.
        """
        model, dt = self.model, self.dt
        velocity, spin, contacts = end.velocity, end.spin, end.contacts
        with self.seconds.of("account"):
            self.wall_force[:] = wall_push[:, : model.dim] / dt
            self.wall_torque[:] = wall_push[:, 3:][:, -self.wall_torque.shape[1] :] / dt
            _, deepest, mean, loaded = overlaps(contacts.rows)
            kinetic = kinetic_energy(velocity, spin, model.inv_mass, inv_inertia)
            fastest = largest_speed(velocity, model.n)
            speed = rms_speed(
                contacts.rows, velocity, spin, model.inv_mass, inv_inertia,
                model.mass[: model.n], self._pushed, kinetic,
            )  # fmt: skip
            work = wall_work(
                0.5 * (state.velocity + velocity), velocity, spin, model.inv_mass, self.wall_force,
                self.wall_torque, dt,
            )  # fmt: skip
        if not math.isfinite(kinetic + end.elastic):
            raise RunError(not_a_number(model, state, velocity))
        with self.seconds.of("move"):
            state.position, state.orientation = end.position, end.orientation
            state.velocity, state.spin, state.contacts = velocity, spin, contacts
            state.cell = end.cell
            state.step += 1
            state.time = state.step * dt
            refuse_unfit(model, state, self._farthest, RunError, f"step {state.step} gave", INTACT)
        report = StepReport(
            state.step, state.time, 0, True, 0.0, 0.0, len(contacts), loaded,
            float(sums[kernel.WORST]), mean, fastest, kinetic, float(sums[kernel.EXTERNAL]),
            float(sums[kernel.DRIVEN]), float(sums[kernel.DISSIPATED]) + caught, 0.0, end.elastic,
            True, speed, deepest,
        )  # fmt: skip
        return Stride([report], [pace], self.wall_force[None].copy(), work[None])

    def elastic(self, state: State) -> float:
        """Energy in the springs of a state [energy]."""
        geometry = wall_geometry(self.model, state)
        bodies, walls = self._pack(state, geometry, *self._loads.at(state))
        none, cell = np.zeros(walls.kind.size), self._cell_in(state)
        bodies, pairs = self._pairs(bodies, walls, state.contacts, none, cell)
        return float(kernel.stored_energy(bodies, pairs, walls, self._law, cell))

    def updates(self, report: StepReport) -> float:
        """How much work a step was: grains times explicit steps."""
        return self.model.n * self.settings.substeps

    # ------------------------------------------------------------------ the cell, if it deforms
    def _cell_in(self, state: State) -> Any:
        """The cell as the kernels want it; None: it does not deform."""
        return None

    def _form(self, cell: Any) -> Floats:
        """`State.cell` of the cell as the kernels have left it."""
        raise NotImplementedError

    # ------------------------------------------------------------------ packing
    def _six(self, along: Floats, about: Floats) -> Floats:
        """Vectors and rotations of all bodies side by side, shape (nb, 6)."""
        six = np.zeros((len(along), 6))
        six[:, : along.shape[1]], six[:, 6 - about.shape[1] :] = along, about
        return six

    def _split(self, six: Floats) -> tuple[Floats, Floats]:
        dim, ns = self.model.dim, self.wall_torque.shape[1]
        return np.ascontiguousarray(six[:, :dim]), np.ascontiguousarray(six[:, 6 - ns :])

    def _pack(
        self, state: State, geometry: Walls, force: Floats, torque: Floats
    ) -> tuple[Any, Any]:
        """Bodies and walls as the kernels want them; origin and limit follow with the pair list."""
        model, n = self.model, self.model.n
        kind, point, axis, size, side = geometry
        x, axis, side = with_z(state.position), with_z(axis), with_z(side)
        if model.dim == 2:
            axis[(kind == INSIDE) | (kind == OUTSIDE)] = 0.0, 0.0, 1.0
        point = with_z(point)
        offset = point - x[n:]
        walls = kernel.MovingWalls(kind, point, axis, size, offset, axis.copy(), side, side.copy())
        bodies = kernel.Bodies(
            x, self._six(state.velocity, state.spin), np.zeros((len(x), 6)), np.zeros((len(x), 6)),
            self._six(force, torque), self._inverse, model.radius, np.zeros_like(x), x, x[:, 0],
        )  # fmt: skip
        return bodies, walls

    def _pairs(
        self, bodies: Any, walls: Any, contacts: Contacts, turning: Floats, cell: Any
    ) -> Any:
        """A pair list good for these places, with the springs of the contacts given.

        turning: how far turning may carry the walls in this step, shape (w,) [length].
        """
        model, n, dim, pairs = self.model, self.model.n, self.model.dim, self._list
        reach, further = np.zeros(model.bodies), np.zeros(model.bodies)
        reach[n:] = turning
        further[:n] = self.dt * np.sqrt(np.einsum("ia,ia->i", bodies.v[:n, :3], bodies.v[:n, :3]))
        further[n:] = 2.0 * turning
        x, point, axis, side = (
            np.ascontiguousarray(a[:, :dim])
            for a in (bodies.x, walls.point, walls.axis, walls.side)
        )
        geometry = Walls(walls.kind, point, axis, walls.size, side)
        if self._keep(x, geometry, reach, further, cell):
            self._list_start = np.searchsorted(pairs.first, np.arange(n + 1))
            self._list_second = pairs.second.astype(np.uint32)
            self._list_law = self._pair_laws()
        assert pairs.origin is not None
        m = pairs.first.size
        slots = kernel.Pairs(
            self._list_start, self._list_second, self._list_law, np.empty(m, np.bool_),
            np.empty((m, 3)), np.empty((m, 7)),
        )  # fmt: skip
        kernel.recall(
            contacts.first, contacts.second, contacts.spring, slots.start, slots.second,
            slots.touching, slots.spring,
        )  # fmt: skip
        left = pairs.safety - reach
        left[n:] -= pairs.turned
        return bodies._replace(origin=with_z(pairs.origin), limit=left * left), slots

    def _keep(self, x: Floats, walls: Walls, reach: Floats, further: Floats, cell: Any) -> bool:
        """Have a list that holds all pairs; whether it was made anew."""
        return self._list.keep(x, walls, reach, further)

    def _pair_laws(self) -> Floats:
        """µ and γ_n of every listed pair, shape (p, 2)."""
        model, i, j = self.model, self._list.first, self._list.second
        laws = np.empty((i.size, 2))
        laws[:, 0] = model.laws[model.material[i], model.material[j], lawtable.MU_DYNAMIC]
        laws[:, 1] = self.settings.damping or 0.0
        if self.settings.restitution is not None:
            inverse = model.inv_mass.max(axis=1)  # along an axis that is free
            with np.errstate(divide="ignore"):
                laws[:, 1] = self._damping_root / np.sqrt(inverse[i] + inverse[j])
            laws[np.isinf(laws[:, 1]), 1] = 0.0  # neither can move
        return laws

    def _contacts(self, pairs: Any) -> Contacts:
        """The contacts of the last explicit step."""
        rows, dim = np.flatnonzero(pairs.touching), self.model.dim
        seen, width = pairs.seen[rows], dim if self.springs else 0
        return Contacts(
            self._list.first[rows], self._list.second[rows],
            np.ascontiguousarray(seen[:, :dim]), np.ascontiguousarray(seen[:, 3]),
            seen[:, 4 : 4 + dim] * self.dt, np.zeros((rows.size, self.wall_torque.shape[1])),
            np.ascontiguousarray(pairs.spring[rows, :width]),
        )  # fmt: skip


def _floor(number: float) -> float:
    """A positive number cut to three digits, never rounded up."""
    digit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return math.floor(number / digit) * digit


def _refuse_laws(model: Model) -> None:
    """Say at once all that the scene asks for and this engine cannot do."""
    why = []
    entries, first = np.unique(model.law_entry, return_index=True)
    for entry, law in zip(entries, model.laws.reshape(-1, lawtable.N_PARAMETERS)[first]):
        at = f"scene.contacts[{entry}]"
        for column, (name, hint) in _REFUSED.items():
            if law[column] > 0.0:
                why.append(f"{at}.{name} is {law[column]:g} but must be 0{hint}")
        static, dynamic = law[lawtable.MU_STATIC], law[lawtable.MU_DYNAMIC]
        if static != dynamic:
            why.append(
                f"{at}.friction_dynamic is {dynamic:g} but must be left out or the friction,"
                f" {static:g}"
            )
    if (model.carrier != np.arange(model.bodies)).any():
        why.append("nothing may be glued to a wall (leave out glued_to)")
    if len(model.moments) and model.round:
        why.append("scene.grains must have one number as inertia, or none")
    for w in np.flatnonzero(model.wall_kind == MESH):
        why.append(
            f"wall {model.wall_names[w]!r} must not be a mesh (build it of planes, rectangles or"
            " triangles)"
        )
    if model.rule is not None:
        why.append("scene.contact_rule must be left out, since friction goes by materials")
    if model.remove_overlaps:
        why.append("scene.shock is 'g' but must be 'g+'")
    if why:
        raise InputError(f"with the engine 'soft-particles' {', and '.join(why)}")
