"""Tiles: space cut into cells whose contacts one thread, one block of a GPU or one process sweeps.

A contact belongs to the tile that its first grain lies in. Its second grain may lie outside, by no
more than half the width w of a tile. So along an axis the contacts of the tile from a to a + w
touch grains between a − w/2 and a + 3w/2, and those of the next tile but one touch grains from
a + 3w/2 on: tiles that differ by an even number along every axis, and not all by zero, share no
grain. They have one *colour*, of which there are 2 along each axis that is cut: four in 2D, eight in 3D. Tiles
of one colour can be swept at the same time by whoever has time, and no bit shows who it was.

Tiles are numbered colour by colour. Along an axis their number is even, or one, and cells beyond
the last begin anew with the first: a tile is then several cells, far from each other, and still no
two tiles of a colour share a grain. So grains may fly as far as they like, and periodic boundaries
need no more than a whole number of tiles in a period.

Two kinds of bodies lie in no tile: walls, which touch contacts of many tiles, and grains so large
that half a tile does not hold their contacts. They are *shared*. A tile that touches a shared body
has a copy of it, whose inverse mass is as many times larger as there are tiles of its colour with a
copy. When all tiles of the colour are swept, the body takes the mean of their velocities:

    v + (1/C) Σ (C/m) ΔP = v + (1/m) Σ ΔP,

which is exactly what the impulses of all its contacts give, whatever C is. With heavier copies the
tiles would each push the body as if they were alone, and together too far: the sweeps could diverge. What
belongs to no tile at all (two shared bodies, or grains farther from each other than half a tile) is
swept last, one contact after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tiling", "make_tiles"]

# [width of a tile] By how much less than half a tile a contact may leave it, so that rounding near
# the edge, 2⁻⁵² of a coordinate, gives no grain to two tiles of a colour. Coordinates of up to a
# million widths are safe by this. A larger value only sends more contacts to the serial rest.
SAFE = 1e-9


class Tiling(NamedTuple):
    """How space is cut."""

    width: NDArray[np.float64]  # (dim,) of a tile [length]
    count: NDArray[np.int64]  # (dim,) tiles along each axis: one, or an even number
    period: NDArray[np.float64]  # (dim,) count × width where periodic, else zero [length]


@cache
def make_tiles(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` where bodies and contacts belong."""

    @jit
    def colours(tiling):
        """Number of colours, and of the tiles that each has."""
        number, tiles = 1, 1
        for a in range(tiling.count.size):
            if tiling.count[a] > 1:
                number *= 2
                tiles *= tiling.count[a] // 2
        return number, tiles

    @jit
    def tile_of(tiling, position, i):
        """The tile that body i lies in; those of the first colour come first."""
        colour, place, bit, tiles = 0, 0, 1, 1
        for a in range(tiling.count.size):
            many = tiling.count[a]
            if many > 1:
                cell = np.int64(math.floor(position[i, a] / tiling.width[a])) % many
                colour += bit * (cell % 2)
                bit *= 2
                place += tiles * (cell // 2)
                tiles *= many // 2
        return colour * tiles + place

    @jit
    def stays(tiling, position, i, j):
        """Whether body j is so near to the tile of body i that their contact belongs to it."""
        near = True
        for a in range(tiling.count.size):
            if tiling.count[a] > 1:
                w, period = tiling.width[a], tiling.period[a]
                apart = position[j, a] - position[i, a]
                if period > 0.0:
                    apart -= period * math.floor(apart / period + 0.5)
                inside = position[i, a] - w * math.floor(position[i, a] / w)
                near &= abs(inside + apart - 0.5 * w) <= (1.0 - SAFE) * w
        return near

    return SimpleNamespace(colours=colours, tile_of=tile_of, stays=stays)
