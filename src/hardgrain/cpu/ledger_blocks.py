"""The sums of the energy ledger on all threads, in blocks of fixed size that are added up in order.

See `cpu.ledger` and `step.rest` for what is summed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.ledger import overlap, power, squared_speed, turning, twice_energy, work
from hardgrain.kernels import pjit, prange, scalar

__all__ = [
    "Bodies",
    "bodies_in_blocks",
    "contacts_in_blocks",
    "midway_in_blocks",
    "net_force",
    "pace",
]

Floats = NDArray[np.float64]

BLOCK = 4096  # contacts or bodies of a partial sum; another number would round otherwise

# Columns of the sums over contacts, and over bodies.
DISSIPATED, DRIVEN, TAKEN, WORST, DEEPEST, DEPTH, LOADED = range(7)
KINETIC, POWER, FASTEST, MASS, BEARING, ENERGY = range(6)


@pjit
def midway_in_blocks(a, b):
    """Mean of two arrays."""
    mean = np.empty(a.shape)
    for i in prange(a.shape[0]):
        for k in range(a.shape[1]):
            mean[i, k] = 0.5 * (a[i, k] + b[i, k])
    return mean


@scalar
def contact_part(rows, means, walls, some, part, low, high):
    """Sums over some contacts; walls: (w, dim + ns) impulses and torques on walls."""
    n, dim = means.velocity.shape[0] - walls.shape[0], rows.impulse.shape[1]
    for k in range(low, high):
        found = work(rows, k, means)
        part[DISSIPATED] += found[0]
        part[DRIVEN] += found[1]
        part[TAKEN] += found[2]
        depth, share, p_n = overlap(rows, k)
        part[WORST], part[DEEPEST] = max(part[WORST], depth), max(part[DEEPEST], share)
        if p_n != 0.0:
            part[LOADED] += 1.0
            part[DEPTH] += max(depth, 0.0)
        loaded = False
        for a in range(dim):
            loaded |= rows.impulse[k, a] != 0.0
        if loaded:  # whichever thread comes first writes the same
            some[rows.first[k]] = some[rows.second[k]] = True
        j = rows.second[k] - n
        if j >= 0:
            for a in range(dim):
                walls[j, a] += rows.impulse[k, a]
            for a in range(rows.torque.shape[1]):
                walls[j, dim + a] += turning(rows.arm_second, rows, k, a)


@pjit
def contacts_in_blocks(rows, means, some, number):
    """Sums over all contacts (7,), and impulses and torques on walls (w, dim + ns).

    some: (nb,) is set where a body bears a force; number: of walls.
    """
    m, dim, ns = rows.first.size, rows.impulse.shape[1], rows.torque.shape[1]
    blocks = (m + BLOCK - 1) // BLOCK
    part, walls = np.zeros((blocks, 7)), np.zeros((blocks, number, dim + ns))
    for b in prange(blocks):
        high = min(m, (b + 1) * BLOCK)
        contact_part(rows, means, walls[b], some, part[b], b * BLOCK, high)
    total, on_walls = np.zeros(7), np.zeros((number, dim + ns))
    for b in range(blocks):
        for c in range(7):
            if c in (WORST, DEEPEST):
                total[c] = max(total[c], part[b, c])
            else:
                total[c] += part[b, c]
        for w in range(number):
            for a in range(dim + ns):
                on_walls[w, a] += walls[b, w, a]
    return total, on_walls


class Bodies(NamedTuple):
    """What the sums over bodies read; see `step.account.World`."""

    velocity: Floats  # after the step
    spin: Floats
    mean_velocity: Floats  # of before and after
    mean_spin: Floats
    force: Floats
    torque: Floats
    inv_mass: Floats
    inv_inertia: Floats
    mass: Floats  # of grains


@scalar
def body_part(bodies, some, part, low, high):
    """Sums over some bodies; some: (nb,) those that bear a force or are pushed."""
    b = bodies
    for i in range(low, high):
        twice = twice_energy(b.velocity, b.inv_mass, i) + twice_energy(b.spin, b.inv_inertia, i)
        part[KINETIC] += twice
        part[POWER] += power(b.force, b.mean_velocity, b.inv_mass, i)
        part[POWER] += power(b.torque, b.mean_spin, b.inv_inertia, i)
        if some[i]:
            part[ENERGY] += twice
        if i < b.mass.size:
            part[FASTEST] = max(part[FASTEST], squared_speed(b.velocity, i))
            part[MASS] += b.mass[i]
            part[BEARING] += b.mass[i] if some[i] else 0.0


@pjit
def bodies_in_blocks(bodies, some):
    """Sums over all bodies (6,)."""
    n = bodies.velocity.shape[0]
    blocks = (n + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 6))
    for b in prange(blocks):
        body_part(bodies, some, part[b], b * BLOCK, min(n, (b + 1) * BLOCK))
    total = np.zeros(6)
    for b in range(blocks):
        for c in range(6):
            if c == FASTEST:
                total[c] = max(total[c], part[b, c])
            else:
                total[c] += part[b, c]
    return total


@scalar
def size_of(values, i):
    """Length of a vector of an array."""
    square = 0.0
    for a in range(values.shape[1]):
        square += values[i, a] ** 2
    return math.sqrt(square)


@scalar
def kick(velocity, before, inv_mass, i):
    """Change of the momentum of body i, along axes that it can be pushed along."""
    square = 0.0
    for a in range(velocity.shape[1]):
        if inv_mass[i, a] > 0.0:
            square += ((velocity[i, a] - before[i, a]) / inv_mass[i, a]) ** 2
    return math.sqrt(square)


@pjit
def net_force(velocity, before, inv_mass, impulse):
    """As `solve.problem.net_force`."""
    m, n = impulse.shape[0], velocity.shape[0]
    blocks, more = (m + BLOCK - 1) // BLOCK, (n + BLOCK - 1) // BLOCK
    part, most = np.zeros((blocks, 2)), np.zeros(more)
    for b in prange(blocks):
        for k in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
            size = size_of(impulse, k)
            part[b, 0] += size
            part[b, 1] += size != 0.0
    for b in prange(more):
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            change = kick(velocity, before, inv_mass, i)
            if not change <= most[b]:  # lets NaN through
                most[b] = change
    total, loaded, largest = 0.0, 0.0, 0.0
    for b in range(blocks):
        total += part[b, 0]
        loaded += part[b, 1]
    for b in range(more):
        if not most[b] <= largest:
            largest = most[b]
    return largest * loaded / total if loaded > 0.0 else 0.0


@scalar
def change_of(a, b, i):
    """Square of the difference of two vectors."""
    square = 0.0
    for k in range(a.shape[1]):
        square += (a[i, k] - b[i, k]) ** 2
    return square


@scalar
def held(values, inverse, i):
    """Square of what a vector has along axes that nothing can push it along."""
    square = 0.0
    for k in range(values.shape[1]):
        if inverse[i, k] == 0.0:
            square += values[i, k] ** 2
    return square


@pjit
def pace(before, velocity, spin_before, spin, radius, inv_mass, inv_inertia):
    """As `step.loads.pace`, where no wall turns."""
    n = before.shape[0]
    blocks = (n + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 4))
    for b in prange(blocks):
        for i in range(b * BLOCK, min(n, (b + 1) * BLOCK)):
            part[b, 0] = max(part[b, 0], change_of(velocity, before, i))
            part[b, 1] = max(part[b, 1], held(before, inv_mass, i))
            if i < radius.size:
                r2 = radius[i] ** 2
                part[b, 2] = max(part[b, 2], r2 * change_of(spin, spin_before, i))
                part[b, 3] = max(part[b, 3], r2 * held(spin_before, inv_inertia, i))
    most = np.zeros(4)
    for b in range(blocks):
        for c in range(4):
            most[c] = max(most[c], part[b, c])
    return math.sqrt(most[0]) + math.sqrt(most[2]), math.sqrt(most[1]) + math.sqrt(most[3])
