"""Forces between grains: their distributions, mobilised friction, strong and weak network.

Every frame's forces are taken in units of their mean in that frame. A histogram's error is the
larger of Poisson's, √count, and the scatter among frames; both take frames as independent, so
choose them as far apart as it takes the forces to change. The tail above a threshold f_0 is fitted
with P(f) ∝ e^(−βf) by maximum likelihood, which needs no bins: 1/β is the mean of f − f_0 there,
and the error is β/√count.

The strong network (Radjai et al. 1996) is that of the contacts whose normal force exceeds the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, moments, of_frame, of_run
from hardgrain.measure.losses import dissipation
from hardgrain.measure.resultants import seen, summed
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import invariants
from hardgrain.measure.structure import sliding

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Distribution",
    "ForceNetworks",
    "Tail",
    "force_distribution",
    "force_networks",
    "friction_mobilisation",
]


# ---------------------------------------------------------------------- distributions
@dataclass(frozen=True)
class Tail:
    """An exponential tail P(f) ∝ e^(−βf) above a threshold, fitted by maximum likelihood."""

    rate: float  # β [1/mean force]
    error: float  # one standard error
    threshold: float  # [mean force]
    count: int  # number of forces above it


@dataclass(frozen=True)
class Distribution:
    """A histogram over several frames."""

    edges: Floats  # (bins + 1,)
    density: Floats  # (bins,) probability per width; values beyond the edges count in the norm
    error: Floats  # (bins,) one standard error
    count: int  # number of values
    frames: int
    unit: float  # unit of the values, averaged over frames
    tail: Tail


@dataclass
class _Histogram:
    """A histogram that is filled frame by frame and keeps only sums."""

    edges: Floats
    threshold: float = math.inf
    count: int = 0
    frames: int = 0
    unit: float = 0.0
    above: int = 0
    excess: float = 0.0
    counts: Floats = field(init=False)
    densities: Floats = field(init=False)  # sums over frames of density and of its square
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.counts, self.densities, self.squares = np.zeros((3, self.edges.size - 1))

    def add(self, values: Floats, unit: float) -> None:
        """Add the values of a frame, in its unit; a frame without values does not count."""
        if values.size == 0:
            return
        counts = np.histogram(values, self.edges)[0]
        density = counts / (values.size * np.diff(self.edges))
        self.counts += counts
        self.densities += density
        self.squares += density**2
        tail = values[values > self.threshold]
        self.above += tail.size
        self.excess += float((tail - self.threshold).sum())
        self.count += values.size
        self.frames += 1
        self.unit += unit

    def close(self) -> Distribution:
        width, n, k = np.diff(self.edges), max(self.count, 1), self.frames
        poisson = np.sqrt(np.maximum(self.counts, 1.0)) / (n * width)
        scatter = np.zeros_like(width)
        if k > 1:
            variance = (self.squares / k - (self.densities / k) ** 2) / (k - 1)
            scatter = np.sqrt(np.maximum(variance, 0.0))
        rate = self.above / self.excess if self.excess > 0.0 else math.nan
        error = rate / math.sqrt(self.above) if self.above else math.nan
        return Distribution(
            self.edges,
            self.counts / (n * width),
            np.maximum(poisson, scatter),
            self.count,
            k,
            self.unit / max(k, 1),
            Tail(rate, error, self.threshold, self.above),
        )


def force_distribution(
    source: Source,
    frames: Sequence[int] | None = None,
    bins: int = 40,
    most: float = 8.0,
    threshold: float = 1.0,
    by: str | None = None,
) -> tuple[Distribution, Distribution]:
    """Normal and tangential forces between pressing grains, in units of their means.

    ``most`` is where the histogram ends, ``threshold`` where the tail begins [mean force]. Forces
    are those of a "pair" of grains, by default, or of each "point" in which they touch.
    """
    edges = _edges(bins, most)
    normal, tangential = _Histogram(edges, threshold), _Histogram(edges, threshold)
    for moment in moments(source, frames, contacts=True):
        snap = seen(moment, by)
        pair = _pressing(snap)
        size = np.sqrt(np.square(snap.tangential_force[pair]).sum(axis=1))
        for histogram, f in ((normal, snap.normal_force[pair]), (tangential, size)):
            mean = float(f.mean()) if f.size else 0.0
            if mean > 0.0:
                histogram.add(f / mean, mean)
    if normal.frames == 0:
        raise InputError("force-distribution finds no two grains that press on each other")
    return normal.close(), tangential.close()


def friction_mobilisation(
    source: Source,
    frames: Sequence[int] | None = None,
    bins: int = 20,
    by: str | None = None,
) -> tuple[Distribution, float]:
    """The ratio |T|/(µN) of contacts with friction between grains, and the share that slides."""
    histogram, slide = _Histogram(_edges(bins, 1.0)), 0
    for moment in moments(source, frames, contacts=True):
        snap = seen(moment, by)
        pair = _pressing(snap) & (snap.friction > 0.0)
        index = _mobilised(snap, pair)
        slide += int(sliding(snap)[pair].sum())
        histogram.add(np.minimum(index, 1.0), 1.0)
    if histogram.frames == 0:
        raise InputError("mobilisation finds no two grains that press on each other with friction")
    return histogram.close(), slide / histogram.count


def _edges(bins: int, most: float) -> Floats:
    if not 1 <= bins <= 100_000:
        raise InputError(f"bins is {bins}; give a number from 1 to 100000")
    if not 0.0 < most < math.inf:
        raise InputError(f"most is {most}; give a positive number")
    return np.linspace(0.0, most, bins + 1)


def _pressing(snap: Snapshot) -> NDArray[np.bool_]:
    """Which contacts are between grains that press on each other, shape (m,)."""
    return (snap.contacts.second < snap.n) & (snap.normal_force > 0.0)


def _mobilised(snap: Snapshot, which: NDArray[np.bool_]) -> Floats:
    """The ratio |T|/(µN) of some contacts."""
    size = np.sqrt(np.square(snap.tangential_force[which]).sum(axis=1))
    index: Floats = size / (snap.friction * snap.normal_force)[which]
    return index


# ---------------------------------------------------------------------- strong and weak
@dataclass(frozen=True)
class ForceNetworks:
    """The share of the strong network, of forces above the mean, in the whole."""

    mean: float  # mean normal force
    contacts: float  # share of contacts [1]
    pressure: float  # share of the pressure that contacts between grains give
    deviator: float  # share of the deviator, along the principal axes of the whole stress
    sliding: float  # share of the contacts that slide; NaN where none does
    # share of the dissipation by sliding; NaN without any, and for soft particles
    dissipation: float


def force_networks(source: Source, frame: int = -1, by: str | None = None) -> ForceNetworks:
    """Shares of the strong network, of contacts by "pair" of grains or by "point"."""
    moment = snapshot(source, frame)
    snap = seen(moment, by)
    pair = _pressing(snap)
    n = snap.normal_force[pair]
    if n.size == 0:
        raise InputError("networks finds no two grains that press on each other")
    strong = n > n.mean()
    flow = snap.force[pair][:, :, None] * snap.branch[pair][:, None, :]
    whole = flow.sum(axis=0)
    axes = invariants(whole).directions
    spread = axes[0][:, None] * axes[0] - axes[-1][:, None] * axes[-1]

    def share(part: Floats) -> float:
        total = float(part.sum())
        return float(part[strong].sum()) / total if total > 0.0 else math.nan

    slides = sliding(snap)[pair].astype(float)
    lost = np.zeros(n.size)
    if snap.engine == "contact-dynamics":
        lost = summed(moment, dissipation(moment).sliding, by)[pair]
    return ForceNetworks(
        float(n.mean()),
        float(strong.mean()),
        share(np.einsum("kaa->k", flow)),
        share(np.einsum("kab,ab->k", flow, spread)),
        share(slides),
        share(slides * lost),
    )


# ---------------------------------------------------------------------- labelled
def _columns(found: Distribution, name: str, words: str) -> dict[str, Any]:
    return {
        name: (
            "bin",
            found.density,
            about("1", f"probability density of {words}"),
        ),
        f"{name}_error": ("bin", found.error, about("1", "its standard error")),
    }


def _bins(found: Distribution, words: str) -> dict[str, Any]:
    middle = 0.5 * (found.edges[1:] + found.edges[:-1])
    return {"bin": ("bin", middle, about("1", words))}


@of_run("force-distribution", "normal and tangential force over their means, tails", contacts=True)
def _force_distribution(
    source: Source,
    frames: Sequence[int] | None = None,
    bins: int = 40,
    most: float = 8.0,
    threshold: float = 1.0,
    by: str | None = None,
) -> xr.Dataset:
    import xarray as xr

    data: dict[str, Any] = {}
    found = force_distribution(source, frames, bins, most, threshold, by)
    for name, one in zip(("normal", "tangential"), found):
        data |= _columns(one, name, f"{name} force / mean")
        rate = about("1", f"tail of {name} force: exponential rate")
        data[f"{name}_tail"] = ((), one.tail.rate, rate)
        data[f"{name}_tail_error"] = ((), one.tail.error, about("1", "its error"))
        data[f"{name}_mean"] = ((), one.unit, about("force", f"mean {name} force"))
    attrs = {"frames": found[0].frames, "forces": found[0].count, "tail_above": threshold}
    return xr.Dataset(data, _bins(found[0], "force / mean force"), attrs)


@of_run("mobilisation", "distribution of |T|/(µN), share of sliding contacts", contacts=True)
def _mobilisation(
    source: Source,
    frames: Sequence[int] | None = None,
    bins: int = 20,
    by: str | None = None,
) -> xr.Dataset:
    import xarray as xr

    found, slide = friction_mobilisation(source, frames, bins, by)
    data = _columns(found, "mobilisation", "|T|/(µN)")
    data["sliding"] = ((), slide, about("1", "share of contacts that slide"))
    attrs = {"frames": found.frames, "contacts": found.count}
    return xr.Dataset(data, _bins(found, "|T|/(µN)"), attrs)


@of_frame("networks", "shares of the strong force network (above the mean)", contacts=True)
def _networks(snap: Snapshot, by: str | None = None) -> xr.Dataset:
    import xarray as xr

    touch = _pressing(seen(snap, by)).any()
    found = force_networks(snap, by=by) if touch else ForceNetworks(0.0, *[math.nan] * 5)
    words = {
        "contacts": "contacts",
        "pressure": "the pressure",
        "deviator": "the deviatoric stress",
        "sliding": "the sliding contacts",
        "dissipation": "the dissipation by sliding",
    }
    data: dict[str, Any] = {
        f"strong_{name}": (
            (), getattr(found, name), about("1", f"share of {what} that is strong")
        )
        for name, what in words.items()
    }  # fmt: skip
    data["mean_force"] = ((), found.mean, about("force", "mean normal force"))
    return xr.Dataset(data)
