"""How space is cut into tiles for a device, and how many warps share a block.

It follows from the scene alone, and from what an H200 can run at once: another device gives the
same bits, at another speed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.core.model import Floats, Model
from hardgrain.cuda.api import SIMULATED
from hardgrain.cuda.sweeping import LANES, LAYOUTS
from hardgrain.cuda.tiling import MOST, STARTS
from hardgrain.point.tiles import Tiling

__all__ = ["TILES", "Cut", "cut", "team"]

# [diameter of the mean grain] How wide tiles are at most. Wider tiles do not fit into the memory of
# a block, narrower ones have fewer contacts for the threads of a warp to share.
WIDE = {2: 8.0, 3: 3.6}
# [1] Tiles that each colour should have, at least, so that no multiprocessor waits.
TILES = 264
# [warps] of a block, each with a tile of its own.
TEAMS = (1,) if SIMULATED else (16, 8, 4, 2, 1)
# [byte] of shared memory that a block may have without asking for more.
ROOM = 48 * 1024
# [1] By how much more bodies than in the mean a tile may touch, before room is made for more.
DENSER = 1.25
# [warps] that the device runs at once, each of which has a tile where all are swept together.
WARPS = 4 if SIMULATED else 2112
# [1] Share of the bodies that a tile may touch, up to which it does where all are swept together:
# somewhere grains are closer than in the mean.
TOGETHER = 0.5


class Cut(NamedTuple):
    """Tiles of a scene."""

    tiling: Tiling  # where grains are bounded by no period, there are as many as they need
    together: bool  # whether all tiles are swept together, since grains are few
    busy: int  # warps that have work at the same time, about
    most: int  # bodies that a tile may touch, before room is made for more
    room: int  # tiles that there may be


def cut(model: Model) -> Cut:
    """How to cut space for the grains of a model, wherever they are."""
    n, d = model.n, model.dim
    radius: Floats = model.radius if n else np.ones(1)
    least = 4.0 * float(radius.max()) * 1.01
    mean = 2.0 * float(np.mean(radius**d)) ** (1.0 / d)
    few = mean * (max(n, 1) / (2**d * TILES)) ** (1.0 / d)
    wide = max(least, min(WIDE[d] * mean, few))
    all_at_once = max(least, mean * (1.2 * max(n, 1) / WARPS) ** (1.0 / d))
    together = _touched(all_at_once / mean, d) <= TOGETHER * MOST
    if together:
        wide = all_at_once
    width, count, period = np.full(d, wide), np.ones(d, np.int64), np.zeros(d)
    for a in range(d):
        if model.periodic[a] > 0.0:
            many = int(model.periodic[a] // wide)
            count[a] = max(1, many - many % 2)
            width[a], period[a] = model.periodic[a] / count[a], model.periodic[a]
    tiles = max(1, int(1.2 * n * (mean / wide) ** d))
    busy = tiles if together else max(1, tiles // 2**d)
    most = min(int(DENSER * _touched(wide / mean, d)), MOST)
    room = min(max(64, n), max(4096, 64 * tiles))
    return Cut(Tiling(width, count, period), together, busy, most, room)


def team(model: Model, found: Cut) -> int:
    """How many warps a block has."""
    if found.together:
        fits = [k for k in TEAMS if found.busy <= k * TILES // 2]
        return fits[-1] if fits else TEAMS[0]
    body = LAYOUTS[model.lean, model.dim][3]
    row = found.most * 8 * (body | 1) + 4 * STARTS + 8 * LANES
    fits = [k for k in TEAMS if k * row <= ROOM] or [1]
    return next((k for k in fits if found.busy >= TILES * k), fits[-1])


def _touched(wide: float, dim: int) -> float:
    """How many bodies a tile touches in a dense packing, about; wide: in grains."""
    return 1.15 * (wide + 1.0) ** dim + 8.0
