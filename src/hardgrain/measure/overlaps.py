"""Overlaps: how far the rule that grains do not interpenetrate is broken.

Each overlap is relative to the diameter of the smaller of its two grains (of the grain, at a wall).
Among large grains, a small one that has been swallowed would hardly show in mean diameters.

The gaps are those that the last step found when it began, as the run file keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Overlaps", "overlap_distribution", "overlaps"]


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


@of_frame("overlap-distribution", "how many contacts overlap how far", small=False, contacts=True)
def _distribution(snap: Snapshot, bins: int = 40) -> xr.Dataset:
    import xarray as xr

    counts, edges = overlap_distribution(snap, bins=bins)
    what = about("smaller diameter", "overlap")
    return xr.Dataset(
        {"contacts": ("bin", counts, about("1", "number of contacts"))},
        {"low": ("bin", edges[:-1], what), "high": ("bin", edges[1:], what)},
    )
