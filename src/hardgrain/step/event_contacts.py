"""Collisions of a step summed up by pairs: the contacts of a frame."""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import jit

__all__ = ["by_pairs"]


@jit
def by_pairs(pair, rows, row, n):  # type: ignore[no-untyped-def]
    """Pairs (k, 2) of bodies that pushed each other, in order, and the sums of their rows (k, 6).

    pair: (m, 2) bodies of each collision, walls as −1 − w; rows: (m, 6), on the second of the two;
    row: (n,) the number that each grain shall have; walls follow after n. The first of a pair has
    the smaller number.
    """
    m = pair.shape[0]
    first, second = np.empty(m, np.int32), np.empty(m, np.int32)
    start = np.zeros(n + 1, np.int64)
    for k in range(m):
        i = row[pair[k, 0]]
        j = row[pair[k, 1]] if pair[k, 1] >= 0 else n - 1 - pair[k, 1]
        first[k], second[k] = min(i, j), max(i, j)
        start[first[k] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    order, end = np.empty(m, np.int64), start[:n].copy()
    for k in range(m):  # those of one grain by its partner, then by time
        i = first[k]
        at = end[i]
        while at > start[i] and second[order[at - 1]] > second[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
        end[i] += 1
    found, sums, last = np.empty((m, 2), np.int32), np.zeros((m, 6)), -1
    for at in range(m):
        k = order[at]
        same = last >= 0 and found[last, 0] == first[k] and found[last, 1] == second[k]
        if not same and (last < 0 or sums[last, 0] != 0.0 or sums[last, 1] != 0.0
                         or sums[last, 2] != 0.0):  # fmt: skip
            last += 1
        elif not same:  # a touch without a push is none
            sums[last] = 0.0
        found[last, 0], found[last, 1] = first[k], second[k]
        second_is_j = pair[k, 1] < 0 or row[pair[k, 1]] == second[k]
        sign = 1.0 if second_is_j else -1.0
        for a in range(6):
            sums[last, a] += sign * rows[k, a]
    if last >= 0 and sums[last, 0] == 0.0 and sums[last, 1] == 0.0 and sums[last, 2] == 0.0:
        last -= 1
    return found[: last + 1].copy(), sums[: last + 1].copy()
