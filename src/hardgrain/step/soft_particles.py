"""Soft-particle molecular dynamics: the second engine, on the same scenes.

Grains overlap and push each other apart with springs and dashpots (`law/spring.py`). A step of the
scenario is made of explicit steps, all in one compiled call, each

    v ← v + dt M⁻¹ F(x, v),    x ← x + v dt                                (unger2002, eqs 1, 2)

with the contact forces at the old places and velocities. This is symplectic Euler. For springs
alone it is the leapfrog scheme with its velocities read half a step early: of second order in dt,
the energy bounded for all time. Dashpots and sliding make it of first order. External forces and
driven velocities are those at the middle of the whole step, as in contact dynamics.

Walls, pistons and locked axes need no word here: they differ in their inverse masses only.

How long may an explicit step be? `theory.spring.largest_step` has the answer, given the largest
eigenvalues of M⁻¹K and M⁻¹C. They are bounded before any contact exists, from what stays the same
throughout a run: masses, sizes, and the room that fixed walls and periods leave. So a run keeps its
bound wherever its grains go. A contact stretches its spring by b·q, where q are the displacements,
times √m, of its two bodies. Along the normal b holds α = 1/√m of both; along a tangent also
ρ = r/√I of both. Since

    (b·q)² ≤ Σ_a |b_a| (Σ_c |b_c|) q_a²,

each of its contacts adds at most A = k α_i (α_i + α) to grain i's motion along the normal,
B = k_t α_i (α_i + α + ρ_i + ρ) to that across it, and R = k_t ρ_i (α_i + α + ρ_i + ρ) to its
rotation, with α and ρ the largest of all. A grain of radius r has room for z neighbours that are no
smaller than the smallest, sin θ = r_min/(r + r_min): π/θ in 2D; in 3D caps of half-angle θ cover no
more than π/√12 of the sphere, z = π/√12 · 2/(1 − cos θ). So many leave no direction preferred:
Σ (n·e)² = z/dim. The eigenvalue is then at most z (A + (dim − 1) B)/dim or, for rotations, z R in
2D and 2 z R/3 in 3D, for the grain where it is largest. (The hexagonal crystal without friction
reaches it.)

A piston may meet so many grains that the split of (b·q)² matters. With (b·q)² ≤
(1 + s) b_i² q_i² + (1 + 1/s) b_p² q_p² and s = α/α_i a grain's share is A as before and the
piston's is at most 2 k α_p². Dashpots are bounded likewise. It has at most one contact for each
grain, nor more than there is room for: points where grains no smaller than r_min touch a plane lie
2 r_min apart, so that a span L holds L/(2 r_min) of them, an area F in 3D F/(2√3 r_min²). Spans end
at fixed planes and cylinders, at a period, or, for grains that are locked along an axis, where they
stand; what is not bounded so for good holds all grains.

Stable is not yet good: contacts open and close between two explicit steps, and where no dashpot
takes the energy of such a mistake, colliding grains heat up. So springs are counted as `MARGIN`²
times as stiff.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.contact.pairs import PairList, Walls, wall_geometry
from hardgrain.contact.rows import complete
from hardgrain.errors import InputError, RunError
from hardgrain.scene import lawtable
from hardgrain.scene.geometry import INSIDE, OUTSIDE, PLANE
from hardgrain.scene.model import SPIN, VELOCITY, Contacts, Floats, Model, State
from hardgrain.step import soft_kernel as kernel
from hardgrain.step.engine import MOST_SUBSTEPS, SoftParticles
from hardgrain.step.ledger import kinetic_energy, overlaps
from hardgrain.step.loads import Loads, Pace, turn
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.report import INTACT, Softness, StepReport, Stopwatch, not_a_number
from hardgrain.theory.spring import damping_ratio, largest_step

__all__ = ["SoftParticleDynamics", "admissible_step"]

# Explicit steps are this much shorter than springs alone would bear. At 1, a dense gas of elastic
# disks almost doubles its energy within some fifty collisions of each; at 2 it gains 3 %.
MARGIN = 2.0

# Laws of contact dynamics that have no meaning here, or none yet.
_REFUSED = {
    lawtable.E_NORMAL: ("restitution", " (engine.restitution is there for it)"),
    lawtable.E_SPEED: ("restitution_speed", " (engine.restitution is the same at every speed)"),
    lawtable.E_TANGENT: ("restitution_tangential", ""),
    lawtable.COHESION: ("cohesion", ""),
    lawtable.ROLLING: ("rolling", ""),
    lawtable.TORSION: ("torsion", ""),
}


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
            raise InputError(
                f"dt / engine.substeps is {explicit:.4g} but must not exceed {_floor(longest):g}"
                f" with this stiffness, damping and these masses; use {substeps}dt ="
                f" {_floor(longest * settings.substeps):g}"
            )
        limit = longest if math.isfinite(longest) else None
        self.softness = Softness(settings.stiffness, explicit, limit)
        self.seconds = Stopwatch()
        self.springs = settings.spring > 0.0  # contacts remember an elongation
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self._loads, self._farthest = Loads(model, dt), farthest(model)
        self.pace = Pace()
        self._list = PairList(model)
        self._inverse = self._six(model.inv_mass, model.inv_inertia)
        self._law = kernel.Law(
            settings.stiffness, settings.spring, settings.tangential_damping or 0.0, explicit,
            _three(model.periodic),
        )  # fmt: skip
        ratio = damping_ratio(settings.restitution or 1.0)
        self._damping_root = 2.0 * ratio * math.sqrt(settings.stiffness)

    def advance(self, state: State) -> StepReport:
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
            turning = self._list.turning_speed(state, geometry)
            free_velocity = state.velocity + dt * model.inv_mass * force
            free_spin = state.spin + dt * model.inv_inertia * torque
            self.pace = self._loads.pace(state, free_velocity, free_spin)
            contacts = state.contacts
        sums, wall_push = np.zeros(4), np.zeros((walls.kind.size, 6))
        done = 0
        while True:
            with self.seconds.of("detect"):
                bodies, pairs = self._pairs(bodies, walls, contacts, dt * turning)
            with self.seconds.of("solve"):
                done = kernel.march(bodies, pairs, walls, self._law, done, steps, sums, wall_push)
            if done == steps:
                break
            kernel.move_walls(bodies, walls, done * self._law.dt)
            contacts = self._contacts(pairs)
        with self.seconds.of("account"):
            kernel.move_walls(bodies, walls, dt)
            elastic = kernel.stored_energy(bodies, pairs, walls, self._law)
            self._list.turned += dt * turning
            self.wall_force[:] = wall_push[:, : model.dim] / dt
            self.wall_torque[:] = wall_push[:, 3:][:, -self.wall_torque.shape[1] :] / dt
            position = np.ascontiguousarray(bodies.x[:, : model.dim])
            contacts = complete(model, position, self._contacts(pairs))
            _, deepest, mean, loaded = overlaps(contacts.rows)
            velocity, spin = self._split(bodies.v)
            kinetic = kinetic_energy(velocity, spin, model.inv_mass, model.inv_inertia)
            v = velocity[: model.n]
            fastest = math.sqrt(np.einsum("ia,ia->i", v, v).max(initial=0.0))
        if not math.isfinite(kinetic + elastic):
            raise RunError(not_a_number(state, velocity))
        with self.seconds.of("move"):
            state.position = position
            state.velocity, state.spin, state.contacts = velocity, spin, contacts
            turned = np.ascontiguousarray(bodies.turned[:, -spin.shape[1] :])
            turn(state.orientation, turned, 1.0)
            state.step += 1
            state.time = state.step * dt
            refuse_unfit(model, state, self._farthest, RunError, f"step {state.step} gave", INTACT)
        return StepReport(
            state.step, state.time, 0, True, 0.0, 0.0, len(contacts), loaded,
            float(sums[kernel.WORST]), mean, fastest, kinetic, float(sums[kernel.EXTERNAL]),
            float(sums[kernel.DRIVEN]), float(sums[kernel.DISSIPATED]) + caught, 0.0, elastic,
            deepest=deepest,
        )  # fmt: skip

    def elastic(self, state: State) -> float:
        """Energy in the springs of a state [energy]."""
        geometry = wall_geometry(self.model, state)
        bodies, walls = self._pack(state, geometry, *self._loads.at(state))
        bodies, pairs = self._pairs(bodies, walls, state.contacts, np.zeros(walls.kind.size))
        return float(kernel.stored_energy(bodies, pairs, walls, self._law))

    def updates(self, report: StepReport) -> float:
        """How much work a step was: grains times explicit steps."""
        return self.model.n * self.settings.substeps

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
        x, axis, side = _three(state.position), _three(axis), _three(side)
        if model.dim == 2:
            axis[(kind == INSIDE) | (kind == OUTSIDE)] = 0.0, 0.0, 1.0
        point = _three(point)
        walls = kernel.Walls(kind, point, axis, size, point - x[n:], axis.copy(), side, side.copy())
        bodies = kernel.Bodies(
            x, self._six(state.velocity, state.spin), np.zeros((len(x), 6)), np.zeros((len(x), 6)),
            self._six(force, torque), self._inverse, model.radius, np.zeros_like(x), x, x[:, 0],
        )  # fmt: skip
        return bodies, walls

    def _pairs(self, bodies: Any, walls: Any, contacts: Contacts, turning: Floats) -> Any:
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
        if pairs.keep(x, (walls.kind, point, axis, walls.size, side), reach, further):
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
        return bodies._replace(origin=_three(pairs.origin), limit=left * left), slots

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


def _three(vectors: Floats) -> Floats:
    """Vectors with a z, zero in 2D."""
    three = np.zeros((*vectors.shape[:-1], 3))
    three[..., : vectors.shape[-1]] = vectors
    return three


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
    if model.rule is not None:
        why.append("scene.contact_rule must be left out, since friction goes by materials")
    if model.remove_overlaps:
        why.append("scene.shock is 'g' but must be 'g+'")
    if why:
        raise InputError(f"with the engine 'soft-particles' {', and '.join(why)}")


def admissible_step(model: Model, settings: SoftParticles, state: State) -> float:
    """Longest explicit step that is stable whatever contacts form [time]; see the module's top.

    The same for every state of a run.
    """
    n, dim = model.n, model.dim
    if n == 0:
        return math.inf
    alpha = np.sqrt(model.inv_mass.max(axis=1))
    rho = np.zeros(model.bodies)
    rho[:n] = model.radius * np.sqrt(model.inv_inertia[:n].max(axis=1))
    most_alpha, most_rho = float(alpha.max()), float(rho.max())
    alpha, piston, rho = alpha[:n], alpha[n:], rho[:n]
    theta = np.arcsin(model.radius.min() / (model.radius + model.radius.min()))
    caps = math.pi / math.sqrt(12.0) / np.sin(0.5 * theta) ** 2  # 1 − cos θ = 2 sin² θ/2
    room = np.floor((np.pi / theta if dim == 2 else caps) + 1e-9)
    push = alpha + most_alpha
    slide = push + rho + most_rho
    many = np.where(piston > 0.0, _side_by_side(model, state), 0)
    rubs = bool(model.laws[..., lawtable.MU_DYNAMIC].max() > 0.0)

    def rate(normal: Floats, tangential: float, normal_piston: Floats) -> float:
        """Bound on the eigenvalue from A and k_t, and from a piston's share of a contact."""
        along = (normal + (dim - 1) * tangential * alpha * slide * rubs) / dim
        about = tangential * rho * slide * rubs * (1.0 if dim == 2 else 2.0 / 3.0)
        grains = room * np.maximum(along, about)
        return float(max(grains.max(), (many * normal_piston).max(initial=0.0)))

    k, c = settings.stiffness, settings.damping or 0.0
    stiffness = rate(k * alpha * push, settings.spring, 2.0 * k * piston**2)
    normal, normal_piston = c * alpha * push, 2.0 * c * piston**2
    if settings.restitution is not None:
        # γ = 2ζ√(k m_eff): √m_eff (α_i + α_j) = (α_i + α_j)/√(α_i² + α_j²) ≤ √2
        root = 2.0 * damping_ratio(settings.restitution) * math.sqrt(2.0 * k)
        normal, normal_piston = root * alpha, root * piston
        # or, with s = √2 − 1 and √m_eff ≤ 1/α_i, for pistons far heavier than any grain
        if (least := float(alpha.min())) > 0.0:
            normal_piston *= np.minimum(1.0, (1.0 + math.sqrt(2.0)) * piston / least)
    damping = rate(normal, settings.tangential_damping or 0.0, normal_piston)
    if max(stiffness, damping) > 1e150:  # their squares are beyond the range of numbers
        raise InputError(
            f"engine.stiffness is {k:g}, which with this damping and these masses gives rates of"
            f" {max(stiffness, damping):.3g}, beyond the range of numbers; use other units"
        )
    return largest_step(MARGIN**2 * stiffness, damping)


def _side_by_side(model: Model, state: State) -> Floats:
    """How many grains can ever touch each wall at once if it is a plane, shape (w,)."""
    least = float(model.radius.min())
    cell = 2.0 * least if model.dim == 2 else 2.0 * math.sqrt(3.0) * least**2
    span = np.maximum(_spans(model, state), 2.0 * least)
    facing = np.abs(wall_geometry(model, state)[2]).argmax(axis=1)
    area = np.array([np.prod(np.delete(span, axis)) for axis in facing])
    many: Floats = np.minimum(np.floor(area / cell) + 1.0, model.n)  # one more: grains are soft
    return many


def _spans(model: Model, state: State) -> Floats:
    """Largest extent of all grains along each axis at any time of the run, shape (dim,) [length].

    Infinite where nothing bounds it for good: reads only places that do not change.
    """
    n, dim = model.n, model.dim
    moves = model.inv_mass > 0.0
    for drive in model.drives:
        if drive.constant and drive.value(0.0) == 0.0:
            continue
        if drive.what == VELOCITY:
            moves[drive.bodies, drive.axis] = True
        elif drive.what == SPIN:  # a wall's may carry it along
            turned = np.arange(model.bodies)[drive.bodies]
            moves[turned[turned >= n]] = True
    low, high = np.full(dim, -np.inf), np.full(dim, np.inf)
    x, r = state.position[:n], model.radius[:, None]
    stands = ~moves[:n].any(axis=0)
    low[stands], high[stands] = (x - r).min(axis=0)[stands], (x + r).max(axis=0)[stands]
    fixed = ~moves[n:].any(axis=1)
    for kind, point, axis, size, _ in zip(*(a[fixed] for a in wall_geometry(model, state))):
        if kind == PLANE and np.count_nonzero(axis) == 1:
            low = np.where(axis > 0.0, np.maximum(low, point), low)
            high = np.where(axis < 0.0, np.minimum(high, point), high)
        elif kind == INSIDE:
            across = np.full(dim, True) if dim == 2 else axis == 0.0
            low = np.where(across, np.maximum(low, point - size), low)
            high = np.where(across, np.minimum(high, point + size), high)
    spans: Floats = high - low
    return np.where(model.periodic > 0.0, np.minimum(spans, model.periodic), spans)
