"""How far two sorts of grains have separated.

**Index** (after Lacey). Around each grain, c is the share of the second sort among its k nearest
neighbours. The variance of c over the grains is σ². It is c̄(1 − c̄) where the sorts are apart, and
that over k where they are mixed at random, so

    index = (σ² / (c̄(1 − c̄)) − 1/k) / (1 − 1/k)

is 0 for a random mixture, 1 for complete separation, and negative for a mixture that is more even
than chance. It needs no direction. **Offset** has one: how far the mean place of the second sort
lies from that of the first, along each axis, in standard deviations of all places.

Sorts are the large and the small grains, divided half-way between the smallest and the largest
diameter, or the sets of grains of the scene, the first against all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Segregation", "segregation"]

# [grains] Neighbours among which the share is taken: few enough to see a narrow band, and enough to
# measure a share. With more, narrow bands look mixed; with fewer, the index is noisy.
NEIGHBOURS = 10


@dataclass(frozen=True)
class Segregation:
    """How far two sorts of grains have separated."""

    index: float  # 0: mixed at random, 1: apart; NaN where there is one sort only [1]
    # (dim,) mean place of the second sort relative to the first [standard deviation]
    offset: Floats
    share: float  # share of the second sort, by number of grains [1]


def segregation(
    source: Source, frame: int = -1, *, by: str = "size", neighbours: int = NEIGHBOURS
) -> Segregation:
    """Measure segregation ``by`` "size" (large and small) or "set" (the first and others)."""
    snap = snapshot(source, frame)
    if neighbours < 2:
        raise InputError(f"neighbours is {neighbours}; give at least 2")
    second = _second(snap, by)
    share = float(second.mean()) if second.size else math.nan
    if not 0.0 < share < 1.0 or snap.n <= neighbours:
        return Segregation(math.nan, np.full(snap.dim, math.nan), share)
    # the nearest neighbour found is the grain itself
    near = snap.near.nearest(neighbours + 1)
    local = second[near[:, 1:]].mean(axis=1)
    variance = float(np.mean((local - share) ** 2)) / (share * (1.0 - share))
    index = (variance - 1.0 / neighbours) / (1.0 - 1.0 / neighbours)
    x = snap.position
    apart = x[second].mean(axis=0) - x[~second].mean(axis=0)
    spread = x.std(axis=0)
    offset = np.divide(apart, spread, out=np.zeros(snap.dim), where=spread > 0.0)
    return Segregation(index, offset, share)


def _second(snap: Snapshot, by: str) -> Any:
    """Which grains are of the second sort, shape (n,)."""
    if by == "size":
        r = snap.equivalent_radius
        return r > 0.5 * (r.min() + r.max())
    if by == "set":
        return snap.model.group > 0
    raise InputError(f"by is {by!r}; give 'size' or 'set'")


@of_frame("segregation", "how far large and small grains, or the sets of grains, have separated")
def _segregation(snap: Snapshot, by: str = "size", neighbours: int = NEIGHBOURS) -> xr.Dataset:
    import xarray as xr

    found = segregation(snap, by=by, neighbours=neighbours)
    units = "standard deviations of places"
    data = {
        "index": ((), found.index, about("1", "segregation index: 0 mixed, 1 apart")),
        "offset": ("component", found.offset, about(units, "offset of the second sort")),
        "share": ((), found.share, about("1", "share of the second sort, by number")),
    }
    return xr.Dataset(data, {"component": axes(snap.dim)})
