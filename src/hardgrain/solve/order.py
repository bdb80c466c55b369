"""The order in which a sweep visits the contacts.

random      Every sweep is a fresh uniform permutation and visits each contact exactly once.
drawn       Every visit draws one of all contacts anew. A sweep is as many visits as there are
            contacts and reaches the share 1 − 1/e of them. This is the "random sequential update",
            which unger2002 (note 24) and the review distinguish from their random sweeps.
sequential  Contacts are visited by body numbers.
symmetric   Sweeps go forwards and backwards in alternation.
coloured    Contacts are visited by colours, such that no two of one colour share a movable body.
"""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.problem import Floats, Ints

RANDOM, SEQUENTIAL, SYMMETRIC, DRAWN = range(4)

# The numbers of SplitMix64: the step of its counter, 2⁶⁴/φ, and two multipliers that mix the bits.
# They are chosen by its authors for good statistics. Other values would give other random orders,
# hence other bits of every run, and perhaps orders that are not random at all.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@device
def random_bits(key: int | np.uint64, counter: int) -> np.uint64:
    """64 random bits for a (key, counter): SplitMix64, a generator without state."""
    z = np.uint64(key) + np.uint64(counter) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@device
def sweep_key(seed: int, step: int, sweep: int) -> np.uint64:
    """The key of one sweep's random numbers, the same for the same seed, step and sweep number."""
    return random_bits(random_bits(random_bits(0, seed), step), sweep)


@device
def below(size: int, key: int | np.uint64, counter: int) -> np.int64:
    """A uniform random number from 0 to size − 1."""
    high = random_bits(key, counter) >> np.uint64(32)
    return np.int64((high * np.uint64(size)) >> np.uint64(32))


@jit
def shuffle(order: Ints, key: int | np.uint64) -> None:
    """Make a uniform random permutation in place (Fisher–Yates)."""
    for k in range(order.size - 1, 0, -1):
        j = below(k + 1, key, k)
        order[k], order[j] = order[j], order[k]


@jit
def draw(order: Ints, key: int | np.uint64) -> None:
    """Fill ``order`` with as many independent draws as there are contacts."""
    for k in range(order.size):
        order[k] = below(order.size, key, k)


@jit
def arrange(order: Ints, scheme: int, seed: int, step: int, sweep: int) -> None:
    """Put the contacts into the order of the given sweep; ``order`` starts as 0, 1, 2, …"""
    if scheme == RANDOM:
        shuffle(order, sweep_key(seed, step, sweep))
    elif scheme == DRAWN:
        draw(order, sweep_key(seed, step, sweep))
    elif scheme == SYMMETRIC and sweep > 0:
        order[:] = order[::-1].copy()


@jit
def colour(first: Ints, second: Ints, movable: Floats) -> tuple[Ints, Ints]:
    """Greedy colouring in list order: contacts of one colour share no movable body.

    Returns the contacts sorted by colour (stable) and the start of each colour, shape (colours+1,).
    Bodies that cannot move do not conflict. The last class may hold more than independent contacts:
    those for which 63 colours did not suffice (a piston that touches many grains); it is to be
    swept by one thread.
    """
    most = 63
    used = np.zeros(movable.size, np.uint64)
    of = np.empty(first.size, np.int32)
    count = np.zeros(most + 1, np.int64)
    one = np.uint64(1)
    for k in range(first.size):
        i, j = first[k], second[k]
        taken = np.uint64(0)
        if movable[i] > 0.0:
            taken |= used[i]
        if movable[j] > 0.0:
            taken |= used[j]
        c = 0
        while c < most and taken & (one << np.uint64(c)):
            c += 1
        if c < most:
            used[i] |= one << np.uint64(c)
            used[j] |= one << np.uint64(c)
        of[k] = c
        count[c] += 1
    colours = 0
    for c in range(most):
        if count[c] > 0:
            colours = c + 1
    starts = np.zeros(colours + 2, np.int32)  # the last class is the serial one, often empty
    for c in range(colours):
        starts[c + 1] = starts[c] + count[c]
    starts[colours + 1] = starts[colours] + count[most]
    fill = starts.copy()
    order = np.empty(first.size, np.int32)
    for k in range(first.size):
        c = min(of[k], colours)
        order[fill[c]] = k
        fill[c] += 1
    return order, starts
