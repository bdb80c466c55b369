"""The sums of the energy ledger on all threads, and of all processes.

See `cpu.ledger` and `step.rest` for what is summed. Sums are exact (`cpu.exact`) until whoever asks
has added the parts of all processes, so that no bit shows who added what.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.exact import DIGITS, add
from hardgrain.cpu.ledger import overlap, power, squared_speed, turning, twice_energy, work
from hardgrain.kernels import pjit, prange, scalar

__all__ = [
    "Bodies",
    "bodies_in_blocks",
    "contacts_in_blocks",
    "force_parts",
    "midway_in_blocks",
    "pace",
    "pieces",
]

Floats = NDArray[np.float64]

BLOCK = 4096  # contacts or bodies that are worth a thread of their own
ROOM = 1e7  # [bytes] that the sums of all pieces may take

# Rows of the sums over contacts, of which those of walls follow, and over bodies.
DISSIPATED, DRIVEN, TAKEN, DEPTH, LOADED, WALLS = range(6)
KINETIC, POWER, MASS, BEARING, ENERGY = range(5)
WORST, DEEPEST = range(2)  # what is the largest of all contacts


def pieces(terms: int, rows: int) -> int:
    """In how many pieces to add up that many terms, in so many sums: any number will do."""
    return int(max(1, min(terms // BLOCK, 64, ROOM // (8 * DIGITS * rows))))


@pjit
def added(parts):
    """Sums (pieces, rows, DIGITS) of pieces as those of all."""
    total = np.zeros(parts.shape[1:], np.int64)
    for row in prange(parts.shape[1]):
        for b in range(parts.shape[0]):
            for k in range(parts.shape[2]):
                total[row, k] += parts[b, row, k]
    return total


@pjit
def midway_in_blocks(a, b):
    """Mean of two arrays."""
    mean = np.empty(a.shape)
    for i in prange(a.shape[0]):
        for k in range(a.shape[1]):
            mean[i, k] = 0.5 * (a[i, k] + b[i, k])
    return mean


@scalar
def contact_part(rows, means, number, some, sums, most, low, high):
    """Sums over some contacts, and the largest of what is largest; number: of walls."""
    n, dim = means.velocity.shape[0] - number, rows.impulse.shape[1]
    ns = rows.torque.shape[1]
    for k in range(low, high):
        found = work(rows, k, means)
        add(sums, DISSIPATED, found[0])
        add(sums, DRIVEN, found[1])
        add(sums, TAKEN, found[2])
        depth, share, p_n = overlap(rows, k)
        most[WORST], most[DEEPEST] = max(most[WORST], depth), max(most[DEEPEST], share)
        if p_n != 0.0:
            add(sums, LOADED, 1.0)
            add(sums, DEPTH, max(depth, 0.0))
        loaded = False
        for a in range(dim):
            loaded |= rows.impulse[k, a] != 0.0
        if loaded:  # whichever thread comes first writes the same
            some[rows.first[k]] = some[rows.second[k]] = True
        wall = WALLS + (rows.second[k] - n) * (dim + ns)
        if rows.second[k] >= n:
            for a in range(dim):
                add(sums, wall + a, rows.impulse[k, a])
            for a in range(ns):
                add(sums, wall + dim + a, turning(rows.arm_second, rows, k, a))


@pjit
def contacts_in_blocks(rows, means, some, number, pieces):
    """Sums over contacts and, wall by wall, impulses and torques on walls; what is largest (2,).

    some: (nb,) is set where a body bears a force; number: of walls.
    """
    m, width = rows.first.size, rows.impulse.shape[1] + rows.torque.shape[1]
    part = np.zeros((pieces, WALLS + number * width, DIGITS), np.int64)
    most = np.zeros((pieces, 2))
    for b in prange(pieces):
        low, high = m * b // pieces, m * (b + 1) // pieces
        contact_part(rows, means, number, some, part[b], most[b], low, high)
    largest = np.zeros(2)
    for b in range(pieces):
        for c in range(2):
            largest[c] = max(largest[c], most[b, c])
    return added(part), largest


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
def body_part(bodies, own, some, sums, low, high):
    """Sums over some bodies that count; some: (nb,) those that bear a force or are pushed."""
    b, fastest = bodies, 0.0
    for i in range(low, high):
        if not own[i]:
            continue
        twice = twice_energy(b.velocity, b.inv_mass, i) + twice_energy(b.spin, b.inv_inertia, i)
        add(sums, KINETIC, twice)
        add(sums, POWER, power(b.force, b.mean_velocity, b.inv_mass, i))
        add(sums, POWER, power(b.torque, b.mean_spin, b.inv_inertia, i))
        if some[i]:
            add(sums, ENERGY, twice)
        if i < b.mass.size:
            fastest = max(fastest, squared_speed(b.velocity, i))
            add(sums, MASS, b.mass[i])
            add(sums, BEARING, b.mass[i] if some[i] else 0.0)
    return fastest


@pjit
def bodies_in_blocks(bodies, own, some, pieces):
    """Sums over the bodies that are counted here, own (nb,), and the largest squared speed."""
    n = bodies.velocity.shape[0]
    part, most = np.zeros((pieces, 5, DIGITS), np.int64), np.zeros(pieces)
    for b in prange(pieces):
        low, high = n * b // pieces, n * (b + 1) // pieces
        most[b] = body_part(bodies, own, some, part[b], low, high)
    fastest = 0.0
    for b in range(pieces):
        fastest = max(fastest, most[b])
    return added(part), fastest


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


@scalar
def force_part(impulse, sums, low, high):
    """Sum of the sizes of some impulses, and how many there are."""
    for k in range(low, high):
        size = size_of(impulse, k)
        add(sums, 0, size)
        add(sums, 1, 1.0 if size != 0.0 else 0.0)


@pjit
def force_parts(velocity, before, inv_mass, impulse, pieces):
    """What `solve.problem.net_force` is made of: sums of impulses, and the largest kick."""
    m, n = impulse.shape[0], velocity.shape[0]
    part, most = np.zeros((pieces, 2, DIGITS), np.int64), np.zeros(pieces)
    for b in prange(pieces):
        force_part(impulse, part[b], m * b // pieces, m * (b + 1) // pieces)
        for i in range(n * b // pieces, n * (b + 1) // pieces):
            change = kick(velocity, before, inv_mass, i)
            if not change <= most[b]:  # lets NaN through
                most[b] = change
    largest = 0.0
    for b in range(pieces):
        if not most[b] <= largest:
            largest = most[b]
    return added(part), largest


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
