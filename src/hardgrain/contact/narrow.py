"""Narrow phase: which listed pairs are contact candidates in this step."""

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import jit
from hardgrain.scene.geometry import TINY, Floats, Ints, min_image, wall_gap


@jit
def candidates(
    first: Ints,
    second: Ints,
    position: Floats,
    radius: Floats,
    periodic: Floats,
    kind: Ints,
    point: Floats,
    axis: Floats,
    size: Floats,
    side: Floats,
    reach: Floats,
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Keep the pairs whose gap is below the sum of their reaches, in list order.

    first, second: listed pairs, shape (p,); position: shape (nb, dim) [length] (rows of walls are
    not read); radius: shape (n,) [length]; periodic: shape (dim,) [length]; kind, point, axis,
    size, side: the walls, see `geometry`; reach: how far each body may move in this step, shape
    (nb,) [length].

    Returns index (m,), the row of each candidate in the list; normal (m, dim), from first to
    second; gap (m,) [length]. The normal of two coincident grains is x̂.
    """
    n, dim = radius.shape[0], position.shape[1]
    pairs = first.shape[0]
    index = np.empty(pairs, np.int64)
    normal = np.empty((pairs, dim))
    gap = np.empty(pairs)
    m = 0
    for p in range(pairs):
        i, j = first[p], second[p]
        limit = reach[i] + reach[j]
        if j < n:
            x = min_image(position[j, 0] - position[i, 0], periodic[0])
            y = min_image(position[j, 1] - position[i, 1], periodic[1])
            z = 0.0
            if dim == 3:
                z = min_image(position[j, 2] - position[i, 2], periodic[2])
            contact = radius[i] + radius[j]
            d2 = x * x + y * y + z * z
            if not d2 < (contact + limit) ** 2:
                continue
            d = math.sqrt(d2)
            g = d - contact
            if d > TINY:
                x, y, z = x / d, y / d, z / d
            else:
                x, y, z = 1.0, 0.0, 0.0
        else:
            g, x, y, z = wall_gap(
                position, i, radius[i], periodic, kind, point, axis, size, side, j - n
            )
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
