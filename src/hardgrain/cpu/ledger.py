"""Sums of the energy ledger over contacts and bodies, in order; see `hardgrain.point.ledger`."""

from __future__ import annotations

import math

from hardgrain.kernels import jit, scalar
from hardgrain.point.inertia import make_inertia
from hardgrain.point.ledger import make_ledger

_ledger = make_ledger(scalar)
turning, work, overlap = _ledger.turning, _ledger.work, _ledger.overlap
power, squared_speed = _ledger.power, _ledger.squared_speed
twice_energy = make_inertia(scalar).twice_energy


@jit
def contact_work(rows, means, wall_impulse, wall_torque):
    """Energy dissipated in the contacts, work of driven bodies, energy that the impulses took.

    means: see `hardgrain.point.ledger.Means`. Adds the impulses on walls, the last bodies, to
    wall_impulse (w, dim) and wall_torque (w, ns).
    """
    n = means.velocity.shape[0] - wall_impulse.shape[0]
    dissipated, driven, taken = 0.0, 0.0, 0.0
    for k in range(rows.first.size):
        found = work(rows, k, means)
        dissipated += found[0]
        driven += found[1]
        taken += found[2]
        j = rows.second[k]
        if j >= n:
            for a in range(wall_impulse.shape[1]):
                wall_impulse[j - n, a] += rows.impulse[k, a]
            for a in range(wall_torque.shape[1]):
                wall_torque[j - n, a] += turning(rows.arm_second, rows, k, a)
    return dissipated, driven, taken


@jit
def kinetic_energy(velocity, spin, inv_mass, inv_inertia):
    """½ Σ m v² + ½ Σ I ω² over all components that can move."""
    total = 0.0
    for i in range(velocity.shape[0]):
        total += twice_energy(velocity, inv_mass, i) + twice_energy(spin, inv_inertia, i)
    return 0.5 * total


@jit
def load_work(force, torque, velocity, spin, inv_mass, inv_inertia):
    """Power of forces and torques on all components that can move, at given velocities."""
    total = 0.0
    for i in range(velocity.shape[0]):
        total += power(force, velocity, inv_mass, i) + power(torque, spin, inv_inertia, i)
    return total


@jit
def largest_speed(velocity, n):
    """Speed of the fastest of the first n bodies."""
    most = 0.0
    for i in range(n):
        most = max(most, squared_speed(velocity, i))
    return math.sqrt(most)


@jit
def overlaps(rows):
    """Worst overlap, worst share of the smaller grain's diameter; mean of the loaded, number."""
    worst, deepest, total, loaded = 0.0, 0.0, 0.0, 0
    for k in range(rows.gap.size):
        depth, share, p_n = overlap(rows, k)
        worst, deepest = max(worst, depth), max(deepest, share)
        if p_n != 0.0:
            loaded += 1
            total += max(depth, 0.0)
    return worst, deepest, total / max(loaded, 1), loaded
