"""One step of a scene in which some grains deform: Moreau's and Jean's θ-scheme.

**A deformable grain** is a rigid body, moved and turned as all others are, with small displacements
u of its nodes in the frame that turns with it (`core.deformation`): linear elasticity, with one
rotation for each grain. Rates w = du/dt have neither momentum nor angular momentum, for those are
the body's. So kinetic energy is that of the rigid body and ½ w M w, and elastic energy ½ u K u,
both in the grain's own frame, where M and K never change. Left out are the forces of inertia that a
turning frame adds to u, of the order of the square of spin over the lowest eigenfrequency, and the
change of the moments of inertia by strain. A grain that turns freely is therefore not strained, and
one whose stiffness goes to infinity is the rigid one.

**The step.** Positions x, and likewise u, at which contacts are found are ahead of the velocities
by (1 − θ) dt: with q = u − (1 − θ) dt w, forces are those at θ q⁺ + (1 − θ) q, which gives

    (M + θ dt C + θ² dt² K) (w⁺ − w) = −dt K (u + (2θ − 1) dt w) − dt C w + hᵀ P,
    u⁺ = u + dt w⁺,

with C = α M + β K. Contacts see g⁺/dt + V⁺ ≥ 0 ⊥ P ≥ 0 as those of rigid grains do, V⁺ with the
rates of the nodes that carry them. With θ = 1 it is implicit Euler, which damps vibrations. With
θ = 1/2 and without damping the energy ½ w M w + ½ q K q changes by the work of impulses at the mean
of w and w⁺ alone; with larger θ it decreases besides. Either way it is bounded.

**The contact problem.** The matrix on the left is the same in every step, so that its inverse D,
without rigid motions, is made once (`step.elastic_forms`). The velocities of contact points are
U = W r + q with

    W = h_rigid M⁻¹ h_rigidᵀ + h_nodes D h_nodesᵀ,

in blocks for all contacts that share a body. Every solver takes it as a `LocalForm`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import bsr_array, csr_array

from hardgrain.contact.pairs import safe, turning_speed, wall_geometry
from hardgrain.contact.search import carry_over, larger, pick, travels, within
from hardgrain.contact.skin import find_points, flat_forms, skin_of
from hardgrain.contact.surface_rows import Points, Skin
from hardgrain.core import lawtable
from hardgrain.core.deformation import Deformation
from hardgrain.core.model import Contacts, Floats, Ints, Model, State
from hardgrain.core.wall_kinds import INSIDE, OUTSIDE, PLANE
from hardgrain.cpu.contacts import neighbourhood_max, sizes
from hardgrain.cpu.inertia import kicked
from hardgrain.cpu.ledger import contact_work
from hardgrain.errors import InputError, RunError
from hardgrain.point.ledger import Means
from hardgrain.point.reach import NEAR
from hardgrain.solve.matrices import LocalForm, MatrixSolution
from hardgrain.solve.rigid import RigidSolver
from hardgrain.solve.solver import Solver
from hardgrain.step import elastic_kernel as kernel
from hardgrain.step.account import (
    CREATED,
    DISSIPATED,
    ELASTIC,
    Moving,
    Solved,
    account,
    midway,
)
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.elastic_forms import matrices_of
from hardgrain.step.engine import RigidGrains
from hardgrain.step.march import ROUNDS
from hardgrain.step.pause import Pause
from hardgrain.step.report import Stride, not_a_number

__all__ = ["ElasticDynamics", "refuse_with_elastic"]

THETA = 0.5  # unless the user says another one: nothing is damped but what is meant to be

_REFUSED = {
    lawtable.E_NORMAL: "restitution, for rebounds follow from the waves in the grains",
    lawtable.E_TANGENT: "restitution_tangential",
    lawtable.COHESION: "cohesion",
    lawtable.ROLLING: "rolling",
    lawtable.TORSION: "torsion",
}


def refuse_with_elastic(model: Model, solver: Solver, settings: RigidGrains) -> None:
    """Say in one sentence what a scene with deformable grains does not carry."""
    table = model.law_table
    refused: dict[str, Any] = {
        f"contacts with {what}": table[:, at].any() for at, what in _REFUSED.items()
    }
    refused |= {
        "contacts with friction_dynamic": (
            table[:, lawtable.MU_DYNAMIC] != table[:, lawtable.MU_STATIC]
        ).any(),
        "a contact_rule": model.rule is not None,
        "scene.cell": model.cell >= 0,
        "a membrane": model.membrane is not None,
        "bodies glued to walls": (model.carrier != np.arange(model.bodies)).any(),
        "solver.unbalanced": solver.unbalanced is not None,
        "engine.geometry = 'end'": settings.geometry == "end",
        "engine.device = 'cuda'": settings.device == "cuda",
    }
    for what, there in refused.items():
        if there:
            raise InputError(f"scene.grains has elastic grains, which do not go with {what}")
    assert model.elastic is not None
    rigid = np.flatnonzero(model.elastic.form < 0)
    if rigid.size and not model.round and (np.diff(model.solids.corner_start) > 1).any():
        own = model.solids.part_start[model.solids.shape[rigid]]
        shaped = rigid[np.diff(model.solids.corner_start)[own] > 1]
        if shaped.size:
            raise InputError(
                f"scene.grains[{model.group[shaped[0]]}] has a shape and is rigid; beside elastic"
                " grains rigid ones must be disks or spheres, or be elastic too"
            )
    for name, kind in zip(model.wall_names, model.wall_kind.tolist(), strict=True):
        if kind not in (PLANE, INSIDE, OUTSIDE):
            raise InputError(
                f"wall {name!r} has edges, which could pass between the nodes of elastic grains;"
                " planes, boxes and cylinders are valid beside them"
            )


def pairs_of(first: Ints, second: Ints) -> Ints:
    """First contact of each pair of bodies, whose contacts lie together, and how many there are."""
    new = (np.diff(first) != 0) | (np.diff(second) != 0)
    return np.append(np.flatnonzero(np.append(True, new)), first.size).astype(np.int32)


class ElasticDynamics(ContactDynamics):
    """Advances a state with deformable grains in place by steps of length dt."""

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains | None = None,
    ) -> None:
        super().__init__(model, solver, dt, seed, settings)
        assert model.elastic is not None
        given = self.settings.theta
        self.theta = THETA if given is None else given
        self._flat = flat_forms(model)
        self._matrices = matrices_of(model.elastic.forms, self._flat, self.theta, dt)
        self._deforms = np.append(model.elastic.form >= 0, np.zeros(model.bodies - model.n, bool))
        self._room = 16  # contact points that are expected
        self._energy_of: tuple[Deformation, float] | None = None  # the last one that was told

    def march(self, state: State, pause: Pause) -> Stride:
        """One step."""
        return self._step(state)

    def elastic(self, state: State) -> float:
        """Energy of strain and of vibration in the grains [energy]."""
        assert state.deformation is not None
        return self._energy(state.deformation)

    def _energy(self, deformation: Deformation) -> float:
        if self._energy_of is not None and self._energy_of[0] is deformation:
            return self._energy_of[1]
        lag = (1.0 - self.theta) * self.dt
        found = float(
            kernel.deformation_energy(
                self._matrices, deformation.displacement, deformation.rate, lag
            )
        )
        self._energy_of = deformation, found
        return found

    def _step(self, state: State) -> Stride:
        """One step: free motion, contact points, impulses, motion."""
        state.make_plain()
        dt, model, now = self.dt, self._loads.now(state), state.deformation
        assert now is not None
        self._now, caught = model, self._loads.prescribe(state)
        moving = Moving(state.position, state.velocity, state.spin, state.orientation)
        force, torque = self._loads.at(state)
        with self.seconds.of("solve"):
            free = (
                kicked(state.velocity, model.inv_mass, force, dt),
                kicked(state.spin, model.inv_inertia, torque, dt),
                kernel.free_rates(self._matrices, now.displacement, now.rate, self.theta, dt),
            )
        contacts, solved, sweeps = self._impulses(state, free)
        velocity, spin, rate, _, solution = solved
        after = replace(now, displacement=now.displacement + dt * rate, rate=rate)
        outcome = self._outcome(1)
        with self.seconds.of("account"):
            known = account(
                self._world(model, force, torque, model.inv_inertia), moving, free[:2],
                Solved(
                    velocity, spin, contacts.rows, sweeps, solution.converged, solution.residual,
                    solution.residual_rms,
                ),
                contacts.rows, outcome, 0, state.step,
            )  # fmt: skip
            before, energy = self._energy(now), self._energy(after)
        if not (known and math.isfinite(energy)):
            raise RunError(not_a_number(model, state, velocity))
        row = outcome.reports[0]
        row[DISSIPATED] -= energy - before  # the work on the grains, but for what they keep
        row[ELASTIC] = energy
        row[CREATED] = self._created(contacts, free, solved)
        with self.seconds.of("move"):
            state.velocity, state.spin, state.contacts = velocity, spin, contacts
            state.deformation = after
            self._move(state, velocity, spin)
            state.step += 1
            state.time = state.step * dt
            self._refuse_unfit(state)
        status = f"not converged: residual {solution.residual:.2g}"
        self._refuse_unsolved(state.step, sweeps, solution.converged, status)
        return self._stride(outcome, 1, caught)

    def _created(self, contacts: Contacts, free: Any, solved: Any) -> float:
        """Energy that impulses gave where the laws let them only take; see `point.ledger`."""
        (v, w, free_rate), (velocity, spin, rate, kick, _) = free, solved
        mean = midway(v, velocity), midway(w, spin)
        means = Means(*mean, *mean, self._now.inv_mass, self._now.inv_inertia)
        none = np.zeros_like(self.wall_force), np.zeros_like(self.wall_torque)
        taken = contact_work(contacts.rows, means, *none)[2]
        struck = np.flatnonzero(kick.any(axis=1))  # a few of all nodes
        given = float(np.vdot(kick[struck], midway(free_rate[struck], rate[struck])))
        return max(given - float(taken), 0.0)

    # ------------------------------------------------------------------ contacts
    def _impulses(
        self, state: State, free: tuple[Floats, Floats, Floats]
    ) -> tuple[Contacts, tuple[Any, ...], int]:
        """Contacts with their impulses, and the motion that these give; also all sweeps.

        Solved again if the motion would close a contact that was no candidate.
        """
        model = self._now
        with self.seconds.of("detect"):
            walls = wall_geometry(model, state)
            skin, turned = skin_of(model, state, self._flat, walls)
            reach = self._reach(state, skin, free, np.zeros(model.bodies))
            contacts, points = self._found(state, skin, reach, state.contacts)
        bodies = kernel.Bodies(model.inv_mass, model.inv_inertia, turned)
        sweeps = 0
        for n in range(ROUNDS):
            if self.solver.start == "zero":
                contacts.impulse[:] = 0.0
            with self.seconds.of("solve"):
                solved = self._solved(state, free, contacts, points, bodies)
            solution: MatrixSolution = solved[-1]
            sweeps += solution.sweeps
            if n == ROUNDS - 1 or not math.isfinite(solution.residual):
                break
            with self.seconds.of("detect"):
                farther = self._reach(state, skin, solved[:3], reach)
                if (farther <= reach).all():
                    break
                reach = farther
                more, others = self._found(state, skin, reach, contacts)
                known = contacts.key(model.bodies)
                new = ~np.isin(more.key(model.bodies), known)
                if not self._closes(others, turned, solved, new):
                    break
                contacts, points = more, others
        return contacts, solved, sweeps

    def _reach(self, state: State, skin: Skin, moving: Any, least: Floats) -> Floats:
        """How far the surface of each body may come in the step, (nb,), as `contact.search` has it.

        moving: velocities, spins and rates; least: what it is in any case.
        """
        model, n, dt, m = self.model, self.model.n, self.dt, self._matrices
        velocity, spin, rate = moving
        turning = turning_speed(state.position, spin, skin.walls, model.wall_offset)
        speed = np.sqrt(np.einsum("ia,ia->i", velocity, velocity))
        speed[:n] += skin.bound * np.sqrt(np.einsum("ia,ia->i", spin[:n], spin[:n]))
        speed[:n] += kernel.fastest(self._flat.surface, m.form, m.start, rate)
        speed[n:] += turning
        bulge = self._bulge(skin)
        near = dt * speed + bulge
        near[:n] += NEAR * model.radius
        detector = self.detector
        if not least.any():
            detector.listed.turned[:] += dt * turning
        if not safe(state.position, detector.listed, near + least):
            detector.renew(state, near + least)
        listed = detector.listed
        index = within(detector.shapes, listed, state.position, skin.walls, near)[0]
        around = neighbourhood_max(pick(listed.first, index), pick(listed.second, index), speed, n)
        reach: Floats = travels(speed, around, model.radius, dt) + bulge
        reach[:n] += detector.shapes.margin
        reach = larger(reach, least)
        if not safe(state.position, detector.listed, reach):
            detector.renew(state, reach)
        return reach

    def _found(
        self, state: State, skin: Skin, reach: Floats, old: Contacts
    ) -> tuple[Contacts, Points]:
        """Contacts within reach, with the impulses that they had; and what carries them."""
        model, listed = self._now, self.detector.listed
        limit = reach - self._bulge(skin)
        found = find_points(skin, listed.first, listed.second, limit, self._room)
        moves = self._movable()
        live = moves[found.first] | moves[found.second]
        found = found.chosen(live)
        self._room = max(16, found.gap.size + found.gap.size // 2)
        impulse, torque = carry_over(
            old.first, old.second, old.feature, old.impulse, old.torque, found.first, found.second,
            found.feature,
        )  # fmt: skip
        width, roll, law = sizes(
            found.first, found.second, 0.5 * model.width, model.material, len(model.laws)
        )
        contacts = Contacts(
            found.first, found.second, found.normal, found.gap, impulse, torque,
            feature=found.feature, arm_first=found.arm_first, arm_second=found.arm_second,
            width=width, roll=roll, law=law,
        )  # fmt: skip
        return contacts, found

    def _bulge(self, skin: Skin) -> Floats:
        """How far bodies reach beyond their undeformed balls, (nb,)."""
        walls = self.model.bodies - self.model.n
        return np.append(np.maximum(skin.bound - self.model.radius, 0.0), np.zeros(walls))

    def _movable(self) -> Any:
        """Bodies that an impulse can move or deform, (nb,)."""
        now = self._now
        moves = (now.inv_mass > 0.0).any(axis=1) | (now.inv_inertia > 0.0).any(axis=1)
        return self._deforms | moves

    def _closes(self, points: Points, turned: Floats, moving: Any, new: Any) -> bool:
        """Whether one of the new contact points would be closed by a motion."""
        if not new.any():
            return False
        some = points.chosen(new)
        speed = kernel.contact_velocities(kernel.sides_of(some, turned), *moving[:3])[:, 0]
        return bool((some.gap + self.dt * speed < 0.0).any())

    def _solved(
        self, state: State, free: Any, contacts: Contacts, points: Points, bodies: kernel.Bodies
    ) -> tuple[Any, ...]:
        """Motion after the impulses of these contacts: velocity, spin, rate; impulses on nodes."""
        dim, m = self.model.dim, self._matrices
        sides = kernel.sides_of(points, bodies.turned)
        form = self._form(free, contacts, sides, bodies)
        solution = self.solver.solve(form, seed=self.seed, step=state.step)
        r = solution.r.reshape(-1, dim)
        contacts.impulse = np.einsum("ka,kab->kb", r, sides.axes)
        velocity, spin = free[0].copy(), free[1].copy()
        kernel.kick_bodies(bodies, sides, r, velocity, spin)
        kick = kernel.kick_nodes(sides, r, len(free[2]))
        rate = kernel.speed_up(m, self._flat.surface, kick, free[2])
        return velocity, spin, rate, kick, solution

    def _form(
        self, free: Any, contacts: Contacts, sides: kernel.Sides, bodies: kernel.Bodies
    ) -> LocalForm:
        """The contact problem of a step, which starts from the impulses that contacts have."""
        model, dim = self._now, self.model.dim
        rows, columns, blocks = kernel.couple(bodies, self._matrices, sides, self._movable())
        size = dim * len(contacts)
        w: Any = bsr_array((blocks, columns, rows), shape=(size, size))
        w.has_canonical_format = True
        if isinstance(self.solver, RigidSolver):
            w = csr_array(w)
        u = kernel.contact_velocities(sides, *free)
        gap = contacts.gap if model.remove_overlaps else np.maximum(contacts.gap, 0.0)
        u[:, 0] += gap / self.dt
        start = np.einsum("kb,kab->ka", contacts.impulse, sides.axes)
        mu = model.law_table[contacts.law, lawtable.MU_STATIC]
        return LocalForm(dim, w, u.ravel(), mu, start.ravel(), pairs_of(sides.first, sides.second))
