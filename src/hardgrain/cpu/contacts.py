"""The narrow phase: which listed pairs are contact candidates in this step, and their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import Floats, Ints
from hardgrain.kernels import jit, scalar
from hardgrain.point.given import RoundBodies, Sites
from hardgrain.point.pair import make_pair
from hardgrain.point.row import make_row

pair_gap = make_pair(scalar).pair_gap
_row = make_row(scalar)
round_sizes, round_arms = _row.round_sizes, _row.round_arms


@jit
def candidates(
    first: Ints, second: Ints, sites: Sites, reach: Floats
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Keep the pairs whose gap is below the sum of their reaches, in list order.

    first, second: listed pairs, shape (p,); reach: how far each body may move in this step, shape
    (nb,) [length].

    Returns index (m,), the row of each candidate in the list; normal (m, dim), from first to
    second; gap (m,) [length]. The normal of two coincident grains is x̂.
    """
    dim, pairs = sites.position.shape[1], first.shape[0]
    index = np.empty(pairs, np.int64)
    normal = np.empty((pairs, dim))
    gap = np.empty(pairs)
    m = 0
    for p in range(pairs):
        limit = reach[first[p]] + reach[second[p]]
        g, x, y, z = pair_gap(sites, first[p], second[p], limit)
        if g < limit:
            index[m], gap[m] = p, g
            normal[m, 0], normal[m, 1] = x, y
            if dim == 3:
                normal[m, 2] = z
            m += 1
    return index[:m], normal[:m], gap[:m]


@jit
def neighbourhood_max(first: Ints, second: Ints, value: Floats, n: int) -> Floats:
    """Each grain's maximum of value over itself and its listed neighbours; walls keep their own.

    first, second: listed pairs, shape (p,); value: shape (nb,); n: number of grains.
    Returns shape (nb,).
    """
    most = value.copy()
    for p in range(first.shape[0]):
        i, j = first[p], second[p]
        most[i] = max(most[i], value[j])
        if j < n:
            most[j] = max(most[j], value[i])
    return most


@jit
def sizes(first, second, half_width, material, materials):
    """Widths (m,), rolling radii (m,) and laws (m,) of contacts, from half the width of grains."""
    bodies = RoundBodies(np.zeros((0, 0)), half_width, half_width, material, materials)
    m = first.size
    width, roll, law = np.empty(m), np.empty(m), np.empty(m, np.int32)
    for k in range(m):
        width[k], roll[k], law[k] = round_sizes(bodies, first[k], second[k])
    return width, roll, law


@jit
def round_rows(first, second, normal, position, radius, periodic, material, materials):
    """Arms (m, dim), widths (m,), rolling radii (m,) and laws (m,) of disks, spheres and walls."""
    bodies = RoundBodies(position, radius, periodic, material, materials)
    m, dim = first.size, normal.shape[1]
    arm_first, arm_second = np.empty((m, dim)), np.empty((m, dim))
    width, roll, law = np.empty(m), np.empty(m), np.empty(m, np.int32)
    for k in range(m):
        width[k], roll[k], law[k] = round_sizes(bodies, first[k], second[k])
        for a in range(dim):
            found = round_arms(bodies, first[k], second[k], normal[k, a], a)
            arm_first[k, a], arm_second[k, a] = found
    return arm_first, arm_second, width, roll, law
