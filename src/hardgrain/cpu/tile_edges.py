"""Which bodies and tiles several processes have to do with; see `cpu.tiled_apart`."""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import jit, scalar
from hardgrain.point.tiles import make_tiles

__all__ = ["colours_of_bodies", "tiles_of", "tiles_that_touch"]

tile_of = make_tiles(scalar).tile_of


@jit
def colours_of_bodies(plan, shared, first, second):
    """Of each body (bodies,) the colours of the tiles that touch it, as bits."""
    found = np.zeros(plan.bodies, np.int64)
    for t in range(plan.starts.size - 2):
        bit = 1 << (t // plan.tiles)
        for s in range(plan.starts[t], plan.starts[t + 1]):
            i, j = first[plan.stored[s]], second[plan.stored[s]]
            if i < plan.bodies and not shared[i]:
                found[i] |= bit
            if j < plan.bodies and not shared[j]:
                found[j] |= bit
    return found


@jit
def tiles_that_touch(plan, first, second, some):
    """Which tiles touch a body of some colours, given as bits (bodies,), when they have one."""
    found = np.zeros(plan.starts.size - 2, np.bool_)
    for t in range(found.size):
        bit = 1 << (t // plan.tiles)
        for s in range(plan.starts[t], plan.starts[t + 1]):
            i, j = first[plan.stored[s]], second[plan.stored[s]]
            if (i < plan.bodies and some[i] & bit) or (j < plan.bodies and some[j] & bit):
                found[t] = True
    return found


@jit
def tiles_of(tiling, position):
    """The tile that each body lies in, shape (nb,)."""
    found = np.empty(position.shape[0], np.int64)
    for i in range(found.size):
        found[i] = tile_of(tiling, position, i)
    return found
