"""Tiles: space cut into cells whose contacts one thread, one block of a GPU or one process sweeps.

A contact belongs to the tile that its first grain lies in. Its second grain may lie outside, by no
more than half the width w of a tile. So along an axis the contacts of the tile from a to a + w
touch grains between a − w/2 and a + 3w/2, and those of the next tile but one touch grains from
a + 3w/2 on: tiles that differ by an even number along every axis, and not all by zero, share no
grain. They have one *colour*, of which there are 2 along each axis that is cut: four in 2D, eight
in 3D. Tiles of one colour can be swept at the same time by whoever has time, and no bit shows who
it was.

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
tiles would each push the body as if they were alone, and together too far: the sweeps could
diverge. What belongs to no tile at all (two shared bodies, or grains farther from each other than
half a tile) is swept last, one contact after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tiling", "cut", "make_tiles", "shared_bodies"]

# [width of a tile] By how much less than half a tile a contact may leave it, so that rounding near
# the edge, 2⁻⁵² of a coordinate, gives no grain to two tiles of a colour. Coordinates of up to a
# million widths are safe by this. A larger value only sends more contacts to the serial rest.
SAFE = 1e-9

# [1] How far two grains may be apart beyond touching, relative to the sum of the largest radii, and
# still lie within half a tile. Candidates are apart by what they travel in a step, a few hundredths
# of a radius. If it is smaller, contacts of fast grains are swept one after the other; if it is
# larger, tiles of few large grains get wider than they need be.
SLACK = 0.1
# [median radius] Grains larger than this are shared bodies if they are few, so that tiles need not
# be as wide as two of them, and [1] how many are few. Larger tiles are fewer, and threads idle;
# many shared bodies take time to combine and converge more slowly than ordinary ones.
LARGE, FEW = 4.0, 0.01
# [contacts] Number that a tile has if space can be cut so, and beyond which an axis more is cut. A
# tile should hold what a core keeps near itself, about 100 kB; far smaller ones spend their time on
# the bodies that they have in common with others.
USUAL, MOST = 500.0, 2000.0
# [1] Tiles of a colour below which an axis more is cut: four for each of 16 threads, or else
# threads wait for each other. Every axis doubles the number of colours.
TILES = 64
# [1] Number of grains whose places stand for those of all, and the share of them that is left out
# at either end of an axis, so that a few that flew far away do not decide on the width of tiles.
SAMPLE, OUTER = 2048, 0.02


class Tiling(NamedTuple):
    """How space is cut."""

    width: NDArray[np.float64]  # (dim,) of a tile [length]
    count: NDArray[np.int64]  # type: ignore[assignment]  # (dim,) tiles along each axis: one, or an even number
    period: NDArray[np.float64]  # (dim,) count × width where periodic, else zero [length]


def shared_bodies(radius: NDArray[np.float64], bodies: int) -> tuple[NDArray[np.bool_], float]:
    """Which bodies lie in no tile, shape (bodies,), and the largest radius of the others.

    radius: of grains, or of the balls around them; bodies beyond are walls.
    """
    shared = np.ones(bodies, np.bool_)
    n = radius.size
    if n == 0:
        return shared, 0.0
    limit = LARGE * float(np.median(radius[:: -(-n // SAMPLE)]))
    large = radius > limit
    if np.count_nonzero(large) > FEW * n:
        shared[:n] = False
        return shared, float(radius.max())
    shared[:n] = large
    return shared, float(np.where(large, 0.0, radius).max())


def cut(
    position: NDArray[np.float64], radius: float, periodic: NDArray[np.float64], contacts: int
) -> Tiling:
    """How to cut space for grains at these places, none of which is larger than ``radius``.

    It is a function of these alone. As few axes are cut, the longest ones, as give each colour
    tiles enough.
    """
    dim = periodic.size
    least = 4.0 * radius * (1.0 + SLACK) or 1.0
    some = position[:: max(1, -(-len(position) // SAMPLE))]
    ends = np.quantile(some, (OUTER, 1.0 - OUTER), axis=0) if len(some) else np.zeros((2, dim))
    extent = np.where(periodic > 0.0, periodic, (ends[1] - ends[0]) / (1.0 - 2.0 * OUTER))
    extent = np.maximum(extent, least)
    longest = np.argsort(-extent, kind="stable")
    for axes in range(1, dim + 1):
        some_axes = longest[:axes]
        wanted = max(contacts / USUAL, float(TILES * 2**axes))
        width = max(least, float(extent[some_axes].prod() / wanted) ** (1.0 / axes))
        count = np.ones(dim, np.int64)
        for a in some_axes:
            pairs = extent[a] / (2.0 * width)
            # A period holds a whole number of pairs of tiles that are wide enough; elsewhere tiles
            # begin anew where grains are few or none.
            count[a] = max(1, 2 * int(pairs if periodic[a] > 0.0 else -(-pairs // 1)))
        tiles, colours = int(count.prod()), 2 ** int(np.count_nonzero(count > 1))
        if tiles >= TILES * colours and contacts <= MOST * tiles:
            break
    period = np.where(count > 1, periodic, 0.0)
    widths = np.where(period > 0.0, period / count, width)
    return Tiling(widths, count, period)


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

    @jit
    def home(tiling, position, shared, i, j):
        """The tile that a contact of bodies i and j belongs to; −1: to none."""
        if shared[i]:
            return np.int64(-1) if shared[j] else tile_of(tiling, position, j)
        if shared[j] or stays(tiling, position, i, j):
            return tile_of(tiling, position, i)
        return np.int64(-1)

    return SimpleNamespace(colours=colours, tile_of=tile_of, stays=stays, home=home)
