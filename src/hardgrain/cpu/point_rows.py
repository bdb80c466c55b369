"""Contact points of shapes as rows, written one after the other; memory grows as it is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import make_min_image
from hardgrain.kernels import jit, scalar

__all__ = ["PointRows", "columns", "longer", "merged", "rows_for", "write"]

min_image = make_min_image(scalar)


class PointRows(NamedTuple):
    """Contact points of listed pairs; more rows than there are points."""

    pair: NDArray[np.int64]  # its row in the list
    feature: NDArray[np.int32]
    table: NDArray[np.float64]  # (m, 1 + 3 dim) gap, normal, and the arms of both bodies [length]


@jit
def rows_for(size, dim):
    """Memory for so many points."""
    return PointRows(
        np.empty(size, np.int64), np.empty(size, np.int32), np.empty((size, 1 + 3 * dim))
    )


@scalar
def copy(rows, s, to, m):
    """Copy a row to another."""
    to.pair[m], to.feature[m] = rows.pair[s], rows.feature[s]
    for d in range(to.table.shape[1]):
        to.table[m, d] = rows.table[s, d]


@jit
def longer(rows, m, size):
    """The same m rows with room for more."""
    wide = rows_for(size, (rows.table.shape[1] - 1) // 3)
    for k in range(m):
        copy(rows, k, wide, k)
    return wide


@jit
def merged(rows, m, more):
    """The first m rows, and more of other pairs, in the order of their pairs."""
    both, s = rows_for(m + more.pair.size, (rows.table.shape[1] - 1) // 3), 0
    for k in range(m):
        while s < more.pair.size and more.pair[s] < rows.pair[k]:
            copy(more, s, both, k + s)
            s += 1
        copy(rows, k, both, k + s)
    for k in range(s, more.pair.size):
        copy(more, k, both, m + k)
    return both


@jit
def columns(rows, m, dim):
    """The columns of m rows: index, feature, normal, gap, and both arms."""
    index, feature, gap = np.empty(m, np.int64), np.empty(m, np.int32), np.empty(m)
    normal, one, two = np.empty((m, dim)), np.empty((m, dim)), np.empty((m, dim))
    for k in range(m):
        index[k], feature[k], gap[k] = rows.pair[k], rows.feature[k], rows.table[k, 0]
        for d in range(dim):
            normal[k, d] = rows.table[k, 1 + d]
            one[k, d], two[k, d] = rows.table[k, 1 + dim + d], rows.table[k, 1 + 2 * dim + d]
    return index, feature, normal, gap, one, two


@scalar
def write(bodies, room, count, pair, apart, place):
    """Write the points that are kept in a room.

    pair: its row in the list, its bodies, whether their roles are swapped, and what its features
    begin with; place: the rows, and how many there are.
    """
    (k, i, j, swapped, names), (rows, m) = pair, place
    position, periodic, table = bodies.position, bodies.periodic, rows.table
    n, dim = bodies.number.size, position.shape[1]
    for s in range(m, m + count):
        p = room.kept[s - m]
        rows.pair[s], rows.feature[s], table[s, 0] = k, names + room.feature[p], room.gap[p]
        for d in range(dim):
            one, two, normal = room.on_first[p, d], room.on_second[p, d], room.normal[p, d]
            if swapped:
                one, two, normal = two, one, -normal
            if j >= n:  # from the point that the wall turns about
                if bodies.placed.shape[j] >= 0:
                    two += apart[d]
                two += min_image(position[i, d] - position[j, d], periodic[d])
            table[s, 1 + d] = normal
            table[s, 1 + dim + d], table[s, 1 + 2 * dim + d] = one, two
