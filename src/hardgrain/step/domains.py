"""Which process sweeps which tiles: domains of about equal work, by recursive bisection.

All processes are given tiles, cells of a grid with weights. Along the longest axis the grid is cut
where the weights on both sides are closest to the shares of the two halves of the processes; each
half goes on with its side. A domain is a block of whole tiles. No result depends on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.tile_edges import tiles_of
from hardgrain.cpu.tiles import neighbours
from hardgrain.point.tiles import Tiling

__all__ = ["divided", "next_to"]

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


def divided(tiling: Tiling, weight: Longs, processes: int) -> Longs:
    """The process that sweeps each tile, shape (tiles,); weight: (tiles,) of them."""
    axes = np.flatnonzero(tiling.count > 1)
    if not axes.size:
        return np.zeros(weight.size, np.int64)
    count = tiling.count[axes]
    cells = np.indices(tuple(count)).reshape(axes.size, -1)
    half = count // 2
    bits, strides = 2 ** np.arange(axes.size), np.cumprod(np.append(1, half))[:-1]
    number = (bits @ (cells % 2)) * int(half.prod()) + strides @ (cells // 2)
    owner = np.zeros(weight.size, np.int64)
    grid = np.asarray(weight[number], np.float64).reshape(tuple(count))
    # a little for empty tiles, so that each process gets some
    _divide(grid + 1e-3 * max(grid.mean(), 1.0), tiling.width[axes], owner, number, processes)
    return owner


def _divide(
    grid: NDArray[np.float64], width: NDArray[np.float64], owner: Longs, number: Longs, many: int
) -> None:
    """Give ``owner[number]`` to many processes, number: the tiles of the grid, row by row."""
    stack = [(tuple(slice(0, n) for n in grid.shape), 0, many)]
    places = number.reshape(grid.shape)
    while stack:
        block, first, here = stack.pop()
        if here == 1:
            owner[places[block]] = first
            continue
        sizes = [(b.stop - b.start) * w if b.stop - b.start > 1 else -1.0
                 for b, w in zip(block, width, strict=True)]  # fmt: skip
        a = int(np.argmax(sizes))
        if sizes[a] < 0.0:  # more processes than tiles
            owner[places[block]] = first
            continue
        others = tuple(k for k in range(grid.ndim) if k != a)
        along = np.cumsum(grid[block].sum(axis=others))
        low = here // 2
        cut = 1 + int(np.argmin(np.abs(along[:-1] - along[-1] * low / here)))
        at = block[a].start + cut
        one, other = (
            (*block[:a], part, *block[a + 1 :])
            for part in (slice(block[a].start, at), slice(at, block[a].stop))
        )
        stack += [(one, first, low), (other, first + low, here - low)]


def next_to(tiling: Tiling, owner: Longs, position: NDArray[np.float64]) -> dict[int, Flags]:
    """Which of some grains lie in tiles of a process or next to them, (k,) for each of these."""
    tiles, where = np.unique(tiles_of(tiling, position), return_inverse=True)
    around = owner[neighbours(tiling)[tiles]]
    return {int(q): (around == q).any(axis=1)[where] for q in np.unique(around)}
