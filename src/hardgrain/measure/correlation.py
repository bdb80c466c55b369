"""Pair correlation g(r): the number of grains at a distance r from another, relative to chance.

In a window W of volume V, N points placed by chance have on average

    N (N − 1) / V² ∫ γ(h) dh

ordered pairs with a separation h in a shell, where γ(h) = |W ∩ (W + h)| is the window's set
covariance. g(r) is the number found over this number, free of edge effects and bias, for windows
with edges as for periodic ones (Ohser 1983). In a block, γ(h) = Π (L_a − |h_a|) over the open axes,
times the periods; over all directions of h at |h| = r its integral is

    2D:  2π A − 4 r Σ L + 2 r²
    3D:  4π V − 2π r Σ L L' + 8/3 r² Σ L − r³

with the terms that hold an axis which is periodic left out, for r up to each open side and half of
each period. In a circle or ball γ is the part that two of them share.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.region import Ball, Block, Region, Tube, as_region
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["PairCorrelation", "pair_correlation"]

# Integrals over all directions of 1, |u_x|, |u_x u_y| and |u_x u_y u_z|, by dimension.
_MEANS = {2: (2.0 * np.pi, 4.0, 2.0), 3: (4.0 * np.pi, 2.0 * np.pi, 8.0 / 3.0, 1.0)}
# [mean diameter] Largest distance of g(r) by default: beyond it the peaks of a disordered packing
# have faded. More costs time, less hides peaks.
REACH = 5.0


@dataclass(frozen=True, eq=False)
class PairCorrelation:
    """The pair correlation g in bins of distance."""

    edges: Floats  # (bins + 1,) [length]
    g: Floats  # (bins,) [1]
    error: Floats  # (bins,) standard error if all pairs were independent [1]
    pairs: NDArray[np.int64]  # (bins,) pairs found
    grains: int  # number of grains in the window

    @property
    def r(self) -> Floats:
        """The middle of each bin, shape (bins,) [length]."""
        middle: Floats = 0.5 * (self.edges[1:] + self.edges[:-1])
        return middle


def pair_correlation(
    source: Source,
    frame: int = -1,
    bins: int = 100,
    reach: float | None = None,
    region: Any = None,
    margin: float | None = None,
) -> PairCorrelation:
    """Pair correlation g(r) up to ``reach``, by default five mean diameters or what fits.

    The window holds centres: the natural region of the scene without a rim of the smallest radius
    (``margin``), where no centre can be. Along periods it is the whole cell.
    """
    snap = snapshot(source, frame)
    if bins < 1:
        raise InputError(f"bins is {bins} but must be at least 1")
    window = _window(snap, region, margin)
    most = _most(snap, window)
    diameter = snap.diameter
    if reach is None:
        reach = min(REACH * diameter, most)
    if not 0.0 < reach <= most * (1.0 + 1e-12):
        raise InputError(
            f"reach is {reach:g} but must be positive and at most {most:g}, the open sides of the"
            " window and half of its periods"
        )
    edges = np.linspace(0.0, reach, bins + 1)
    x = snap.upright[_within(snap, window)]
    n = len(x)
    counts = _pairs(snap, x, edges)
    chance = _chance(snap, window, edges) * n * (n - 1) / window.volume**2
    with np.errstate(divide="ignore", invalid="ignore"):
        g = np.where(chance > 0.0, 2.0 * counts / chance, 0.0)
        error = np.where(counts > 0, g / np.sqrt(counts), 0.0)
    return PairCorrelation(edges, g, error, counts, n)


def _window(snap: Snapshot, region: Any, margin: float | None) -> Block | Ball:
    """The block or ball in which centres are counted; along periods it is the cell."""
    period = snap.cell.period
    if margin is None:
        margin = 0.5 * float(snap.model.width.min()) if region is None else 0.0
    window: Region = as_region(snap, region)
    if isinstance(window, Tube):
        raise InputError(
            "region is a tube, which a pair correlation does not take; give two corners of a block"
            " that lies in it, or a ball"
        )
    if isinstance(window, Ball):
        if (period > 0.0).any():
            raise InputError("region is a ball; with periods a pair correlation takes a block")
        return window.shrunk(margin)
    low = np.where(period > 0.0, snap.low, window.low + margin)
    high = np.where(period > 0.0, snap.low + period, window.high - margin)
    return Block(low, high)


def _within(snap: Snapshot, window: Block | Ball) -> NDArray[np.bool_]:
    """Which centres lie in the window, its upper sides included, shape (n,)."""
    if isinstance(window, Ball):
        return window.holds(snap.position)
    x, periodic = snap.upright, snap.cell.repeats
    inside: NDArray[np.bool_] = np.all(periodic | ((x >= window.low) & (x <= window.high)), axis=1)
    return inside


def _most(snap: Snapshot, window: Block | Ball) -> float:
    """The largest distance for which γ is known."""
    if isinstance(window, Ball):
        return 2.0 * window.radius
    period = snap.cell.period
    return float(np.where(period > 0.0, 0.5 * period, window.high - window.low).min())


def _pairs(snap: Snapshot, x: Floats, edges: Floats) -> NDArray[np.int64]:
    """Number of pairs at each distance, shape (bins,)."""
    if len(x) < 2:
        return np.zeros(len(edges) - 1, np.int64)
    # The search counts (low, high]; our bins hold their lower edge, so that touching grains are
    # counted.
    within = snap.near_of(x).count(np.nextafter(edges[1:], 0.0))
    pairs: NDArray[np.int64] = np.diff(within, prepend=0) // 2
    return pairs


def _chance(snap: Snapshot, window: Block | Ball, edges: Floats) -> Floats:
    """The integral ∫ γ(h) dh over each shell, shape (bins,) [length^(2 dim)]."""
    dim = snap.dim
    if isinstance(window, Ball):
        sphere = 2.0 * np.pi if dim == 2 else 4.0 * np.pi
        nodes, weights = np.polynomial.legendre.leggauss(16)
        half = 0.5 * np.diff(edges)[:, None]
        r = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
        away = np.zeros((r.size, dim))
        away[:, 0] = r.ravel()
        shared = window.covered(window.center + away, np.full(r.size, window.radius))
        ring: Floats = (half * weights * sphere * r ** (dim - 1) * shared.reshape(r.shape)).sum(
            axis=1
        )
        return ring
    open_axes = ~snap.cell.repeats
    length = window.high - window.low
    whole = float(np.prod(length[~open_axes]))
    sides = length[open_axes]
    terms = np.zeros(dim + 1)
    for k in range(sides.size + 1):  # terms in which k of the open axes have −|h_a| in place of L_a
        rest = itertools.combinations(sides, sides.size - k)
        terms[k] = (-1.0) ** k * _MEANS[dim][k] * whole * sum(float(np.prod(s)) for s in rest)
    integral = (Polynomial(terms) * Polynomial([0.0] * (dim - 1) + [1.0])).integ()
    shells: Floats = np.diff(integral(edges))
    return shells


# ---------------------------------------------------------------------- by name
@of_frame("pair-correlation", "g(r); bins, reach, margin or region may be given", small=False)
def _correlation(
    snap: Snapshot,
    bins: int = 100,
    reach: float | None = None,
    region: Any = None,
    margin: float | None = None,
) -> xr.Dataset:
    import xarray as xr

    found = pair_correlation(snap, bins=bins, reach=reach, region=region, margin=margin)
    return xr.Dataset(
        {
            "g": ("bin", found.g, about("1", "pair correlation g(r)")),
            "error": ("bin", found.error, about("1", "error of g(r)")),
            "pairs": ("bin", found.pairs, about("1", "pairs")),
        },
        {"r": ("bin", found.r, about("length", "distance r"))},
    )
