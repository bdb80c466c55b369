"""The narrow phase of round grains on all threads; see `cpu.contacts` for what it computes.

Pairs are looked at in blocks of fixed size. Each block notes its candidates; they are written one
block after the other, so that their order is that of the list whatever the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.atomic import raise_to
from hardgrain.cpu.contacts import pair_gap, round_arms, round_sizes
from hardgrain.kernels import pjit, prange, scalar
from hardgrain.point.given import Sites
from hardgrain.point.reach import make_reach

__all__ = [
    "Candidates",
    "candidate_blocks",
    "closing_blocks",
    "fastest_around",
    "reaches",
    "written",
]

_reach = make_reach(scalar)
speed_of, is_safe = _reach.speed_of, _reach.is_safe

BLOCK = 4096  # pairs or bodies at a time: any number gives the same candidates


class Candidates(NamedTuple):
    """The candidates of each block of pairs, from the first row of the block on."""

    pair: NDArray[np.int32]  # (p,) which one it is
    normal: NDArray[np.float64]  # (p, dim)
    gap: NDArray[np.float64]  # (p,)
    start: NDArray[np.int64]  # (blocks + 1,) how many there are before each block


@pjit
def reaches(velocity, turning, radius, margin, dt, least):
    """Speed of each body, and how far it comes in a step, at least ``least``; each (nb,).

    Also whether any comes farther than ``least``. margin: (n,) what is added for grains.
    """
    bodies = velocity.shape[0]
    speed, reach = np.empty(bodies), np.empty(bodies)
    blocks = (bodies + BLOCK - 1) // BLOCK
    more = np.zeros(blocks, np.bool_)
    for b in prange(blocks):
        for i in range(b * BLOCK, min(bodies, (b + 1) * BLOCK)):
            speed[i] = speed_of(velocity, turning, i)
            reach[i] = dt * speed[i] + (margin[i] if i < radius.size else 0.0)
            if not reach[i] <= least[i]:
                more[b] = True
            else:
                reach[i] = least[i]
    return speed, reach, more


@pjit
def safe_on_threads(position, listed, reach):
    """Which blocks have a body whose reach leaves the pair list; as `contact.pairs.safe`."""
    bodies = position.shape[0]
    blocks = (bodies + BLOCK - 1) // BLOCK
    unsafe = np.zeros(blocks, np.bool_)
    for b in prange(blocks):
        for i in range(b * BLOCK, min(bodies, (b + 1) * BLOCK)):
            if not is_safe(position, listed, reach[i], i):
                unsafe[b] = True
    return unsafe


@scalar
def raise_around(listed, sites, near, value, most, p):
    """Let the bodies of a pair that is near know of each other's value."""
    i, j = listed.first[p], listed.second[p]
    limit = near[i] + near[j]
    if pair_gap(sites, i, j, limit)[0] < limit:
        if value[j] > most[i]:
            raise_to(most, i, value[j])
        if j < sites.radius.size and value[i] > most[j]:
            raise_to(most, j, value[i])


@pjit
def fastest_around(listed, position, radius, periodic, walls, near, value):
    """Each grain's maximum of value (nb,) over itself and its near neighbours.

    As `cpu.contacts.neighbourhood_max`. A maximum does not depend on the order in which threads
    find it.
    """
    most = value.copy()
    for p in prange(listed.first.size):
        sites = Sites(position, radius, periodic, walls)
        raise_around(listed, sites, near, value, most, p)
    return most


@scalar
def note(listed, sites, reach, found, low, high):
    """Note the candidates among some pairs, from row ``low`` on; returns how many there are."""
    m = low
    for p in range(low, high):
        i, j = listed.first[p], listed.second[p]
        limit = reach[i] + reach[j]
        g, x, y, z = pair_gap(sites, i, j, limit)
        if g < limit:
            found.pair[m], found.gap[m] = p, g
            found.normal[m, 0], found.normal[m, 1] = x, y
            if found.normal.shape[1] == 3:
                found.normal[m, 2] = z
            m += 1
    return m - low


@pjit
def candidate_blocks(found, listed, position, radius, periodic, walls, reach):
    """Note the candidates of all blocks; as `cpu.contacts.candidates`. Returns their number."""
    pairs, blocks = listed.first.size, found.start.size - 1
    many = np.zeros(blocks, np.int64)
    for b in prange(blocks):
        sites = Sites(position, radius, periodic, walls)
        low, high = b * BLOCK, min(pairs, (b + 1) * BLOCK)
        many[b] = note(listed, sites, reach, found, low, high)
    found.start[0] = 0
    for b in range(blocks):
        found.start[b + 1] = found.start[b] + many[b]
    return found.start[blocks]


@scalar
def before(old, o, i, j):
    """Whether an old contact comes before a pair of bodies."""
    return old.first[o] < i or (old.first[o] == i and old.second[o] < j)


@scalar
def first_not_before(old, i, j):
    """The first of the old contacts that does not come before a pair; they are sorted."""
    low, high = 0, old.first.size
    while low < high:
        middle = (low + high) // 2
        if before(old, middle, i, j):
            low = middle + 1
        else:
            high = middle
    return low


@scalar
def write_block(rows, found, listed, old, bodies, b):
    """Write the candidates of a block as rows, with the impulses that they had in the last step."""
    low, at = b * BLOCK, found.start[b]
    many = found.start[b + 1] - at
    if many == 0:
        return
    p = found.pair[low]
    o = first_not_before(old, listed.first[p], listed.second[p])
    for c in range(many):
        k, p = at + c, found.pair[low + c]
        i, j = listed.first[p], listed.second[p]
        rows.first[k], rows.second[k], rows.gap[k] = i, j, found.gap[low + c]
        rows.width[k], rows.roll[k], rows.law[k] = round_sizes(bodies, i, j)
        while o < old.first.size and before(old, o, i, j):
            o += 1
        again = o < old.first.size and old.first[o] == i and old.second[o] == j
        for a in range(rows.normal.shape[1]):
            n = found.normal[low + c, a]
            rows.normal[k, a] = n
            arms = round_arms(bodies, i, j, n, a)
            rows.arm_first[k, a], rows.arm_second[k, a] = arms[0], arms[1]
            rows.impulse[k, a] = old.impulse[o, a] if again else 0.0
        for a in range(rows.torque.shape[1]):
            rows.torque[k, a] = old.torque[o, a] if again else 0.0


@scalar
def closes(found, listed, old, velocity, dt, b):
    """Whether a candidate of a block that is not among the old contacts closes within the step."""
    low, many = b * BLOCK, found.start[b + 1] - found.start[b]
    o, some = 0, False
    for c in range(low, low + many):
        i, j = listed.first[found.pair[c]], listed.second[found.pair[c]]
        if c == low:
            o = first_not_before(old, i, j)
        while o < old.first.size and before(old, o, i, j):
            o += 1
        if not (o < old.first.size and old.first[o] == i and old.second[o] == j):
            approach = 0.0
            for a in range(velocity.shape[1]):
                approach += found.normal[c, a] * (velocity[j, a] - velocity[i, a])
            some |= found.gap[c] + dt * approach < 0.0
    return some


@pjit
def closing_blocks(found, listed, old, velocity, dt):
    """Blocks with a candidate that closes and is none of the old contacts.

    As `contact.search.closes_more`, for walls that do not turn.
    """
    some = np.zeros(found.start.size - 1, np.bool_)
    for b in prange(some.size):
        some[b] = closes(found, listed, old, velocity, dt, b)
    return some


@pjit
def written(rows, found, listed, old, bodies):
    """Write all candidates as rows; ``old``: the contacts of the last step, sorted."""
    for b in prange(found.start.size - 1):
        write_block(rows, found, listed, old, bodies, b)
