"""The order in which a sweep visits the contacts.

random      Every sweep is a fresh uniform permutation and visits each contact exactly once.
drawn       Every visit draws one of all contacts anew. A sweep is as many visits as there are
            contacts and reaches the share 1 − 1/e of them. This is the "random sequential update",
            which unger2002 (note 24) and the review distinguish from their random sweeps.
sequential  Contacts are visited by body numbers.
symmetric   Sweeps go forwards and backwards in alternation.
coloured    Contacts are visited by colours, such that no two of one colour share a movable body.
tiles       Every sweep visits the tiles of space by their colours, which are permuted for it, and
            in each tile the contacts in a fresh permutation (`hardgrain.point.tiles`).

Random numbers come from a generator without state, keyed by seed, step and sweep, so that every
backend draws the same ones, whatever it drew before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

RANDOM, SEQUENTIAL, SYMMETRIC, DRAWN = range(4)


class Visits(NamedTuple):
    """In which order a step's sweeps visit the contacts."""

    scheme: int
    seed: int
    step: int


# The numbers of SplitMix64: the step of its counter, 2⁶⁴/φ, and two multipliers that mix the bits.
# They are chosen by its authors for good statistics. Other values would give other random orders,
# hence other bits of every run, and perhaps orders that are not random at all.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@cache
def make_random(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the random numbers of a sweep with ``jit``."""

    @jit
    def random_bits(key: int | np.uint64, counter: int) -> np.uint64:
        """64 random bits for a (key, counter): SplitMix64, a generator without state."""
        z = np.uint64(key) + np.uint64(counter) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _MIX_1
        z = (z ^ (z >> np.uint64(27))) * _MIX_2
        return z ^ (z >> np.uint64(31))

    @jit
    def sweep_key(seed: int, step: int, sweep: int) -> np.uint64:
        """The key of one sweep's random numbers, the same for the same seed, step and sweep."""
        key: np.uint64 = random_bits(random_bits(random_bits(0, seed), step), sweep)
        return key

    @jit
    def below(size: int, key: int | np.uint64, counter: int) -> np.int64:
        """A uniform random number from 0 to size − 1."""
        high = random_bits(key, counter) >> np.uint64(32)
        return np.int64((high * np.uint64(size)) >> np.uint64(32))

    return SimpleNamespace(random_bits=random_bits, sweep_key=sweep_key, below=below)
