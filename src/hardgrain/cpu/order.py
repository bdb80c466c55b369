"""Permutations and colours of contacts, as `hardgrain.point.order` explains them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import jit, scalar
from hardgrain.point.order import DRAWN, RANDOM, SYMMETRIC, make_random

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_random = make_random(scalar)
sweep_key, below, random_bits = _random.sweep_key, _random.below, _random.random_bits


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
