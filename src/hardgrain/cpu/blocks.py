"""Rows of a matrix W as a packed problem, and their colours; see `hardgrain.point.blocks`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import jit

Ints = NDArray[np.int32]


@jit
def split(order, starts, columns, blocks, q, mu, r):
    """Arrays of a packed problem from the block rows of W; row s holds contact ``order[s]``."""
    m, dim = mu.size, blocks.shape[1]
    row_of = np.empty(m, np.uint32)
    for row in range(m):
        row_of[order[row]] = row
    first, second = np.empty(m, np.uint32), np.empty(m, np.uint32)
    c = np.zeros((m, 9 if dim == 2 else 16))
    b = np.empty((columns.size, dim * dim))
    other = np.empty(columns.size, np.uint32)
    at = 0
    for row in range(m):
        k = order[row]
        for a in range(dim):
            c[row, a], c[row, dim + a] = r[dim * k + a], q[dim * k + a]
        c[row, 2 * dim] = mu[k]
        first[row] = at
        for s in range(starts[k], starts[k + 1]):
            if columns[s] != k:
                other[at] = row_of[columns[s]]
                for a in range(dim):
                    for d in range(dim):
                        b[at, dim * a + d] = blocks[s, a, d]
                at += 1
                continue
            even = 2 * dim + 1
            odd = even + dim * (dim + 1) // 2
            for a in range(dim):
                for d in range(a, dim):
                    c[row, even] = 0.5 * (blocks[s, a, d] + blocks[s, d, a])
                    even += 1
                    if d > a:
                        c[row, odd] = 0.5 * (blocks[s, a, d] - blocks[s, d, a])
                        odd += 1
        second[row] = at
    return first, second, c, b[:at].copy(), other[:at].copy()


@jit
def colours(starts: Ints, columns: Ints) -> Ints:
    """Greedy colouring in list order: no two contacts of one colour see each other, shape (m,).

    The pattern must be symmetric. Contacts for which 63 colours do not suffice get the colour 63.
    """
    most = 63
    of = np.full(starts.size - 1, -1, np.int32)
    one = np.uint64(1)
    for k in range(of.size):
        taken = np.uint64(0)
        for s in range(starts[k], starts[k + 1]):
            if 0 <= of[columns[s]] < most:
                taken |= one << np.uint64(of[columns[s]])
        c = 0
        while c < most and taken & (one << np.uint64(c)):
            c += 1
        of[k] = c
    return of
