"""Overlaps: how far the rule that grains do not interpenetrate is broken.

Each overlap is relative to the diameter of the smaller of its two grains (of the grain, at a wall),
or to the least width of the narrower one where they are not round.
Among large grains, a small one that has been swallowed would hardly show in mean diameters.

The gaps are those that the last step found when it began, as the run file keeps them; or they are
found anew of all grains and walls where they are now, whether or not a step knew their contact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.gaps import gaps
from hardgrain.contact.skin import deepest_point
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Overlaps", "overlap_distribution", "overlaps", "worst_overlap_now"]


@dataclass(frozen=True, eq=False)
class Overlaps:
    """How far grains overlap, relative to the smaller grain's diameter."""

    worst: float  # worst overlap of all contacts
    mean: float  # mean overlap of the contacts that bear a force, open ones counted as zero
    overlap: Floats  # (m,) overlap of each contact that touches, ≥ 0


def overlaps(source: Source, frame: int = -1) -> Overlaps:
    """Worst, mean and all overlaps, relative to the smaller grain's diameter."""
    snap = snapshot(source, frame)
    c = snap.contacts
    width, n = snap.model.width, snap.n
    other = np.where(c.second < n, width[np.minimum(c.second, n - 1)], np.inf)
    overlap = np.maximum(-c.gap, 0.0) / np.minimum(width[c.first], other)
    bearing = overlap[c.normal_impulse() != 0.0]
    mean = float(bearing.mean()) if bearing.size else 0.0
    return Overlaps(float(overlap.max(initial=0.0)), mean, overlap)


def worst_overlap_now(source: Source, frame: int = -1) -> tuple[float, int, int]:
    """The worst overlap of any two bodies where they are, relative as above, and the two bodies.

    All pairs of grains whose balls meet and all pairs of a grain and a wall are looked at. Without
    any overlap it is 0, of the bodies −1 and −1.
    """
    snap = snapshot(source, frame)
    model, state, n = snap.model, snap.state, snap.n
    if snap.mesh is not None:  # they overlap as they are deformed
        worst, i, j = deepest_point(model, state)
        return (worst, int(model.number[i]), int(model.number[j])) if i >= 0 else (0.0, -1, -1)
    near = snap.near.pairs(2.0 * float(snap.radius.max(initial=0.0)))
    near = near[np.lexsort(near.T[::-1])].reshape(-1, 2)
    walls = np.stack(np.meshgrid(np.arange(n), np.arange(n, model.bodies)), -1).reshape(-1, 2)
    first, second = np.concatenate([near, walls]).astype(np.int32).T.copy()
    index, gap = gaps(model, state, first, second, np.zeros(model.bodies))
    first, second = first[index], second[index]
    share = np.maximum(-gap, 0.0) / np.minimum(
        model.width[first], np.where(second < n, model.width[np.minimum(second, n - 1)], np.inf)
    )
    if not share.any():
        return 0.0, -1, -1
    k = int(share.argmax())
    return float(share[k]), int(model.number[first[k]]), int(model.number[second[k]])


def overlap_distribution(
    source: Source, frame: int = -1, bins: int = 40
) -> tuple[NDArray[np.int64], Floats]:
    """Number of overlaps (bins,) between edges (bins + 1,) that grow by the same factor.

    Below the smallest edge, which is a billionth of the largest overlap or more, lie contacts
    without overlap, except for rounding.
    """
    if bins < 1:
        raise InputError(f"bins is {bins} but must be at least 1")
    overlap = overlaps(source, frame).overlap
    seen = overlap[overlap > 0.0]
    top = float(seen.max(initial=0.0)) or 1.0
    low = max(float(seen.min(initial=top)), 1e-9 * top)
    edges = np.geomspace(low if low < top else 0.5 * top, top, bins + 1)
    edges[-1] = np.nextafter(top, np.inf)  # the worst one belongs to the last bin
    return np.histogram(seen, edges)[0], edges


@of_frame(
    "overlaps", "worst and mean overlap, relative to the smaller grain's diameter", contacts=True
)
def _overlaps(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    found = overlaps(snap)
    return xr.Dataset(
        {
            "worst": ((), found.worst, about("smaller diameter", "worst overlap")),
            "mean": ((), found.mean, about("smaller diameter", "mean overlap")),
        }
    )


@of_frame("overlaps-now", "worst overlap of any two bodies where they are, found anew")
def _overlaps_now(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    worst, first, second = worst_overlap_now(snap)
    return xr.Dataset(
        {
            "worst": ((), worst, about("smaller diameter", "worst overlap")),
            "first": ((), first, about("1", "first body, -1: none overlap")),
            "second": ((), second, about("1", "second body, -1: none overlap")),
        }
    )


@of_frame("overlap-distribution", "how many contacts overlap how far", small=False, contacts=True)
def _distribution(snap: Snapshot, bins: int = 40) -> xr.Dataset:
    import xarray as xr

    counts, edges = overlap_distribution(snap, bins=bins)
    what = about("smaller diameter", "overlap")
    return xr.Dataset(
        {"contacts": ("bin", counts, about("1", "number of contacts"))},
        {"low": ("bin", edges[:-1], what), "high": ("bin", edges[1:], what)},
    )
