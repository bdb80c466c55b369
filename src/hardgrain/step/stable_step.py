"""How long may an explicit step of soft particles be? A bound that holds throughout a run.

`theory.spring.largest_step` has the answer, given the largest eigenvalues of M⁻¹K and M⁻¹C. They
are bounded before any contact exists, from what stays the same throughout a run: masses, sizes, and
the room that fixed walls and periods leave. So a run keeps its bound wherever its grains go. A
contact stretches its spring by b·q, where q are the displacements, times √m, of its two bodies.
Along the normal b holds α = 1/√m of both; along a tangent also ρ = r/√I of both. Since

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

A periodic cell that deforms is a third body of every contact between grains, with b = n ⊗ l/√W on
its free components. The largest eigenvalue of B Bᵀ, with a row of B for each contact, is at most
that of the grains' columns plus that of the cell's, and the latter is at most the sum of all
k l²/W, however the normals lie. Since l ≤ r_i + r_j, and l² ≤ 2 r_i² + 2 r_j², the sum is at most
2 k Σ z r²/W over all grains: for equal disks 3 k N d²/W. With tangents it is the larger of k and
k_t, since what a strain does to l, along n and across it, is no longer than l. So a light cell asks
for short steps. Its periods may grow, and bound no span.

Stable is not yet good: contacts open and close between two explicit steps, and where no dashpot
takes the energy of such a mistake, colliding grains heat up. So springs are counted as `MARGIN`²
times as stiff.

Grains that are not round have several contact points with a neighbour, and normals that pass beside
their centres: `step.stable_shapes` says how they answer.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.contact.pairs import wall_geometry
from hardgrain.core import lawtable
from hardgrain.core.geometry import INSIDE, PLANE
from hardgrain.core.model import SPIN, VELOCITY, Floats, Model, State
from hardgrain.errors import InputError
from hardgrain.step.engine import SoftParticles
from hardgrain.step.stable_shapes import answers
from hardgrain.theory.spring import damping_ratio, largest_step

__all__ = ["admissible_step"]

# Explicit steps are this much shorter than springs alone would bear. At 1, a dense gas of elastic
# disks almost doubles its energy within some fifty collisions of each; at 2 it gains 3 %.
MARGIN = 2.0


def admissible_step(model: Model, settings: SoftParticles, state: State) -> float:
    """Longest explicit step that is stable whatever contacts form [time]; see the module's top.

    The same for every state of a run.
    """
    n, dim = model.n, model.dim
    if n == 0:
        return math.inf
    if not model.round:
        return _shaped_step(model, settings, state)
    bodies = model.bodies - (model.cell >= 0)  # which act by contacts of their own
    alpha = np.sqrt(model.inv_mass[:bodies].max(axis=1))
    rho = np.zeros(bodies)
    rho[:n] = model.radius * np.sqrt(model.inv_inertia[:n].max(axis=1))
    most_alpha, most_rho = float(alpha.max()), float(rho.max())
    alpha, piston, rho = alpha[:n], alpha[n:], rho[:n]
    theta = np.arcsin(model.radius.min() / (model.radius + model.radius.min()))
    caps = math.pi / math.sqrt(12.0) / np.sin(0.5 * theta) ** 2  # 1 − cos θ = 2 sin² θ/2
    room = np.floor((np.pi / theta if dim == 2 else caps) + 1e-9)
    push = alpha + most_alpha
    slide = push + rho + most_rho
    side_by_side = _side_by_side(model, state, float(model.radius.min()))[: piston.size]
    many = np.where(piston > 0.0, side_by_side, 0)
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
    if model.cell >= 0:
        lightest = float(max(model.inv_mass[-1].max(), model.inv_inertia[-1].max()))  # 1/W
        felt = 2.0 * float((room * model.radius**2).sum()) * lightest
        if settings.restitution is not None:  # m_eff is no more than one of the two masses
            c = root * math.sqrt(0.5 * float(model.mass[:n].max()))
        stiffness += felt * max(k, settings.spring * rubs)
        damping += felt * max(c, (settings.tangential_damping or 0.0) * rubs)
    return _longest(settings, stiffness, damping)


def _shaped_step(model: Model, settings: SoftParticles, state: State) -> float:
    """The same for grains that are not round, from how these answer (`step.stable_shapes`).

    Of (b·q)² ≤ (1 + s) (b_i·q_i)² + (1 + 1/s) (b_j·q_j)², s = |b_j|/|b_i|, a grain's share is at
    most 1 + β/β_i, with β_i its largest |b| and β that of all; a piston's is at most two.
    """
    n, found = model.n, answers(model)
    alpha = np.sqrt(model.inv_mass.max(axis=1))
    piston = alpha[n:]
    rubs = bool(model.laws[..., lawtable.MU_DYNAMIC].max() > 0.0)
    many = np.where(piston > 0.0, _side_by_side(model, state, found.inscribed), 0)

    def shared(sum_of_points: Floats, most: Floats) -> Floats:
        largest = max(float(most.max()), float(piston.max(initial=0.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = np.where(most > 0.0, sum_of_points * (1.0 + largest / most), 0.0)
        return share

    normal, paired = shared(found.normal, found.most), shared(found.paired, found.most)
    across = shared(found.any_way, found.most_any) * rubs

    def rate(grains: Floats, pistons: Floats) -> float:
        return float(max(grains.max(), (many * pistons).max(initial=0.0)))

    k, c = settings.stiffness, settings.damping or 0.0
    standing = 2.0 * found.standing * piston**2
    stiffness = rate(k * normal + settings.spring * across, k * standing)
    damped, damped_piston = c * normal, c * standing
    if settings.restitution is not None:
        # γ = 2ζ √(k m/n), where 1/m is no less than 1/m_i; of a grain that turns only, than |b|²
        root = 2.0 * damping_ratio(settings.restitution) * math.sqrt(k)
        light = alpha[alpha > 0.0]
        least = float(light.min(initial=float(found.most.max())))
        own = np.where(alpha[:n] > 0.0, alpha[:n], np.minimum(least, found.most))
        with np.errstate(divide="ignore", invalid="ignore"):
            damped = np.where(own > 0.0, root * paired / own, 0.0)
        heavy = np.sqrt(piston**2 + float(alpha[:n].min()) ** 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            damped_piston = np.where(piston > 0.0, root * standing / heavy, 0.0)
    damping = rate(damped + (settings.tangential_damping or 0.0) * across, damped_piston)
    return _longest(settings, stiffness, damping)


def _longest(settings: SoftParticles, stiffness: float, damping: float) -> float:
    """The longest step with these largest rates, [1/time²] and [1/time]."""
    k = settings.stiffness
    if max(stiffness, damping) > 1e150:  # their squares are beyond the range of numbers
        raise InputError(
            f"engine.stiffness is {k:g}, which with this damping and these masses gives rates of"
            f" {max(stiffness, damping):.3g}, beyond the range of numbers; use other units"
        )
    return largest_step(MARGIN**2 * stiffness, damping)


def _side_by_side(model: Model, state: State, least: float) -> Floats:
    """How many grains can ever touch each wall at once if it is a plane, shape (w,).

    least: radius of a ball that each of them holds.
    """
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
    if model.cell >= 0:  # which carries the grains along
        moves[:n] |= model.periodic > 0.0
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
    if model.cell >= 0:  # its periods change
        return spans
    return np.where(model.periodic > 0.0, np.minimum(spans, model.periodic), spans)
