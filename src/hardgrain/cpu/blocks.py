"""Columns of a matrix W as a packed problem, and their colours; see `hardgrain.point.blocks`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import device, jit

Ints = NDArray[np.int32]


@jit
def split(order, pair, starts, rows, blocks, u, mu, r):
    """Arrays of a packed problem from the block rows of Wᵀ; row s holds contact ``order[s]``.

    pair: where each pair begins among the rows. u: contact velocities W r + q; what a contact
    itself gave to its own is taken off.
    """
    m, dim = mu.size, blocks.shape[1]
    row_of, pair_of = np.empty(m, np.uint32), np.empty(m, np.uint32)
    for i in range(pair.size - 1):
        for row in range(pair[i], pair[i + 1]):
            row_of[order[row]], pair_of[row] = row, i
    first, second, own = np.empty(m, np.uint32), np.empty(m, np.uint32), np.empty(m, np.uint32)
    c = np.zeros((m, 11 if dim == 2 else 19))
    b = np.empty((rows.size, dim * dim))
    other = np.empty(rows.size, np.uint32)
    at = 0
    for row in range(m):
        k = order[row]
        for a in range(dim):
            c[row, a], c[row, dim + a] = r[dim * k + a], u[dim * k + a]
            c[row, c.shape[1] - dim + a] = r[dim * k + a]
        c[row, 2 * dim] = mu[k]
        first[row] = at
        for inside in (True, False):
            for s in range(starts[k], starts[k + 1]):
                there = row_of[rows[s]]
                if there == row or (pair_of[there] == pair_of[row]) != inside:
                    continue
                other[at] = there
                for a in range(dim):
                    for d in range(dim):
                        b[at, dim * a + d] = blocks[s, d, a]
                at += 1
            if inside:
                own[row] = at
        second[row] = at
        for s in range(starts[k], starts[k + 1]):
            if rows[s] == k:
                own_block(c[row], blocks[s], r[dim * k : dim * (k + 1)])
    return first, second, c, b[:at].copy(), other[:at].copy(), own, pair.astype(np.uint32)


@device
def own_block(c, block, r):
    """Write W_kk, given transposed, into a row, and take what it does off the velocity there."""
    dim = block.shape[0]
    even = 2 * dim + 1
    odd = even + dim * (dim + 1) // 2
    for a in range(dim):
        for d in range(dim):
            c[dim + a] -= block[d, a] * r[d]
        for d in range(a, dim):
            c[even] = 0.5 * (block[a, d] + block[d, a])
            even += 1
            if d > a:
                c[odd] = 0.5 * (block[d, a] - block[a, d])
                odd += 1


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
