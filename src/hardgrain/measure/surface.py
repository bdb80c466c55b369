"""The free surface of a packing: its height along a line, and its angle.

The packing is cut into slices across a horizontal line, some grains wide. The surface of a slice is
the top of its highest grain that touches another body: a grain in flight is no surface. Slopes are
medians over all pairs of slices (Theil and Sen), which a few odd slices, such as those at a wall,
do not move; the interval given holds the slope with 95 % confidence.

A heap has two flanks: left and right are the angles at which the surface falls on both sides of its
highest slice, positive downwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axis_number, of_frame
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Surface", "surface"]

# [mean diameter] Width of a slice by default. Narrower slices follow single grains; wider ones blur
# the surface.
WIDTH = 2.0
# [slices] A surface with fewer has a slope without an error, so none is given.
FEWEST = 3


@dataclass(frozen=True)
class Surface:
    """The free surface, and its angle to the horizontal."""

    place: Floats  # (slices,) middle of each slice along the line [length]
    height: Floats  # (slices,) NaN where there is no grain [length]
    angle: float  # slope of the whole surface, positive where it rises along the line [rad]
    interval: tuple[float, float]  # interval that holds the angle with 95 % confidence [rad]
    left: float  # angle at which it falls from its highest slice to the left [rad]
    right: float  # angle at which it falls from there to the right [rad]


def surface(
    source: Source, frame: int = -1, *, axis: str | None = None, width: float | None = None
) -> Surface:
    """The free surface along an axis, by default x; ``width`` is that of a slice [length].

    Up is against gravity, or along the last axis if there is none. The axis is projected onto the
    horizontal plane.
    """
    snap = snapshot(source, frame)
    up, along = _directions(snap, axis)
    size = WIDTH * snap.diameter if width is None else width
    if not size > 0.0:
        raise InputError(f"width is {size:g}; give a positive length")
    rests = _touching(snap)
    x = snap.upright[rests]
    s, h = x @ along, x @ up + snap.reach(up)[rests]
    if not s.size:
        empty = np.zeros(0)
        return Surface(empty, empty, math.nan, (math.nan, math.nan), math.nan, math.nan)
    slices = max(1, round(float(np.ptp(s)) / size))
    edges = np.linspace(s.min(), s.max(), slices + 1)
    slot = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, slices - 1)
    height = np.full(slices, -math.inf)
    np.maximum.at(height, slot, h)
    height[np.isinf(height)] = math.nan
    place = 0.5 * (edges[1:] + edges[:-1])
    angle, interval = _angle(place, height)
    top = int(np.nanargmax(height))
    left, _ = _angle(place[: top + 1], height[: top + 1])
    right, _ = _angle(place[top:], height[top:])
    return Surface(place, height, angle, interval, left, -right)


def _directions(snap: Snapshot, axis: str | None) -> tuple[Floats, Floats]:
    g = snap.model.gravity
    strength = float(np.linalg.norm(g))
    up: Floats = -g / strength if strength > 0.0 else np.eye(snap.dim)[-1]
    line = np.eye(snap.dim)[0 if axis is None else axis_number(axis, snap.dim)]
    along: Floats = line - (line @ up) * up
    length = float(np.linalg.norm(along))
    if length < 1e-6:  # the axis is vertical, but for rounding
        raise InputError(f"axis is {axis or 'x'!r}, which is vertical here; give another one")
    return up, along / length


def _touching(snap: Snapshot) -> Any:
    """Which grains touch another body (n,), or all, where contacts were not stored."""
    if not snap.stored:
        return np.ones(snap.n, bool)
    touches = np.zeros(snap.model.bodies, bool)
    touches[snap.contacts.first] = touches[snap.contacts.second] = True
    return touches[: snap.n]


def _angle(place: Floats, height: Floats) -> tuple[float, tuple[float, float]]:
    """Angle of a line through the surface, and its interval; NaN where there are too few slices."""
    from scipy.stats import theilslopes

    known = np.isfinite(height)
    if np.count_nonzero(known) < FEWEST:
        return math.nan, (math.nan, math.nan)
    slope, _, low, high = theilslopes(height[known], place[known])
    return math.atan(slope), (math.atan(low), math.atan(high))


@of_frame("surface-angle", "angle of the free surface against the horizontal, and of both flanks")
def _surface_angle(
    snap: Snapshot, axis: str | None = None, width: float | None = None
) -> xr.Dataset:
    import xarray as xr

    found = surface(snap, axis=axis, width=width)
    low, high = found.interval
    words = {
        "angle": (found.angle, "angle of the surface"),
        "low": (low, "lower end of its 95 % interval"),
        "high": (high, "upper end of its 95 % interval"),
        "left": (found.left, "fall to the left of the summit"),
        "right": (found.right, "fall to the right of the summit"),
    }
    return xr.Dataset({name: ((), x, about("radian", text)) for name, (x, text) in words.items()})
