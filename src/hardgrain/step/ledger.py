"""The energy ledger of a step: where kinetic energy came from and went to, exactly.

With v̄ = (v⁺ + v⁻)/2 the change of kinetic energy is an identity of the discrete dynamics,

    T⁺ − T⁻ = Σ dt F_ext·v̄  +  Σ_contacts P·V̄  +  W_driven,

where V̄ is the mean contact velocity and W_driven the work of bodies with a prescribed velocity.
−Σ P·V̄ is what the contacts dissipated; grains at rest neither gain nor lose.

Did the contacts create energy? That is asked of the impulses alone, after the free motion: the laws
say that −Σ P·(V⁺ + V*)/2 ≥ 0 in a converged step with the g⁺ form and without restitution, because
P·V⁺ ≤ 0 at every contact and Σ P·V* = Σ P·V⁺ − P·W P. (−Σ P·V̄ differs by dt/2 times the work of P
on the accelerations F/m and may be slightly negative under gravity.) With one common restitution
coefficient the same holds for V⁻ in place of V*; with unequal ones nothing holds it back.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import device, jit


@device
def turn(l, p, a):
    """Component a of l × p in 3D."""
    b, c = (a + 1) % 3, (a + 2) % 3
    return l[b] * p[c] - l[c] * p[b]


@jit
def contact_work(
    rows, velocity, spin, velocity_kick, spin_kick, inv_mass, inv_inertia, wall_impulse, wall_torque
):  # fmt: skip
    """Energy dissipated in the contacts, work of driven bodies, energy that the impulses took.

    velocity, spin: means of v⁺ and v⁻, shape (nb, dim) and (nb, ns); velocity_kick, spin_kick: of
    v⁺ and v*. Adds the impulses on walls, the last bodies, to wall_impulse (w, dim) and wall_torque
    (w, ns).
    """
    impulse, torque = rows.impulse, rows.torque
    n, dim, ns = velocity.shape[0] - wall_impulse.shape[0], impulse.shape[1], torque.shape[1]
    dissipated, driven, taken = 0.0, 0.0, 0.0
    l1, l2 = np.zeros(3), np.zeros(3)  # arms
    p = np.zeros(3)
    turn_1, turn_2 = np.zeros(3), np.zeros(3)  # torque impulses of P about the two centres
    for k in range(rows.first.size):
        i, j = rows.first[k], rows.second[k]
        for a in range(dim):
            p[a], l1[a], l2[a] = impulse[k, a], rows.arm_first[k, a], rows.arm_second[k, a]
        if dim == 2:
            turn_1[0] = l1[0] * p[1] - l1[1] * p[0]
            turn_2[0] = l2[0] * p[1] - l2[1] * p[0]
        else:
            for a in range(3):
                turn_1[a], turn_2[a] = turn(l1, p, a), turn(l2, p, a)
        for a in range(dim):
            dissipated -= p[a] * (velocity[j, a] - velocity[i, a])
            taken -= p[a] * (velocity_kick[j, a] - velocity_kick[i, a])
            if inv_mass[i, a] == 0.0:
                driven += p[a] * velocity[i, a]
            if inv_mass[j, a] == 0.0:
                driven -= p[a] * velocity[j, a]
        for a in range(ns):
            on_1, on_2 = turn_1[a] + torque[k, a], turn_2[a] + torque[k, a]
            dissipated -= on_2 * spin[j, a] - on_1 * spin[i, a]
            taken -= on_2 * spin_kick[j, a] - on_1 * spin_kick[i, a]
            if inv_inertia[i, a] == 0.0:
                driven += on_1 * spin[i, a]
            if inv_inertia[j, a] == 0.0:
                driven -= on_2 * spin[j, a]
            if j >= n:
                wall_torque[j - n, a] += on_2
        if j >= n:
            for a in range(dim):
                wall_impulse[j - n, a] += p[a]
    return dissipated, driven, taken


@jit
def kinetic_energy(velocity, spin, inv_mass, inv_inertia):
    """½ Σ m v² + ½ Σ I ω² over all components that can move."""
    total = 0.0
    for i in range(velocity.shape[0]):
        for a in range(velocity.shape[1]):
            if inv_mass[i, a] > 0.0:
                total += velocity[i, a] ** 2 / inv_mass[i, a]
        for a in range(spin.shape[1]):
            if inv_inertia[i, a] > 0.0:
                total += spin[i, a] ** 2 / inv_inertia[i, a]
    return 0.5 * total


@jit
def load_work(force, torque, velocity, spin, inv_mass, inv_inertia):
    """Power of forces and torques on all components that can move, at given velocities."""
    total = 0.0
    for i in range(velocity.shape[0]):
        for a in range(velocity.shape[1]):
            if inv_mass[i, a] > 0.0:
                total += force[i, a] * velocity[i, a]
        for a in range(spin.shape[1]):
            if inv_inertia[i, a] > 0.0:
                total += torque[i, a] * spin[i, a]
    return total


@jit
def largest_speed(velocity, n):
    """Speed of the fastest of the first n bodies."""
    most = 0.0
    for i in range(n):
        square = 0.0
        for a in range(velocity.shape[1]):
            square += velocity[i, a] ** 2
        most = max(most, square)
    return math.sqrt(most)


@jit
def overlaps(rows):
    """Worst overlap, worst share of the smaller grain's diameter; mean of the loaded, number."""
    worst, deepest, total, loaded = 0.0, 0.0, 0.0, 0
    for k in range(rows.gap.size):
        overlap = -rows.gap[k]
        deepest = max(deepest, overlap / rows.width[k])
        p_n = 0.0
        for a in range(rows.normal.shape[1]):
            p_n += rows.impulse[k, a] * rows.normal[k, a]
        worst = max(worst, overlap)
        if p_n != 0.0:
            loaded += 1
            total += max(overlap, 0.0)
    return worst, deepest, total / max(loaded, 1), loaded
