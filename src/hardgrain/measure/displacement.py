"""Motion of grains between frames: mean-square displacement, and how far from affine it was.

Mean-square displacement over a lag of k frames, averaged over all starting frames and grains,

    ⟨|x(t + k) − x(t)|²⟩_t = ⟨|x(t + k)|² + |x(t)|²⟩_t − 2 ⟨x(t + k)·x(t)⟩_t,

whose last term is a correlation, found for all lags at once by Fourier transforms (the first is a
running sum). Grains are the independent samples: the error is the scatter of their own averages.
Positions are not wrapped at periodic boundaries. Where the periodic cell deforms, places are taken
in units of it, s = h⁻¹ x, and h_0 s, in the cell of the first frame, stands for x: what the cell
carries along affinely does not count.

D²_min (Falk & Langer 1998). Around a grain, the lines to its neighbours were d at first and are d'
now. The matrix J that best maps one onto the other, J = Y X⁻¹ with X = Σ d dᵀ and Y = Σ d' dᵀ, is
the local deformation; what it leaves, D² = Σ |d' − J d|² / neighbours, is zero if all moved
affinely. (Falk and Langer's own is the sum, not the mean.) J is the whole deformation, with that of
a cell which deforms.

The mobility of one grain is how far it gets: its mean-square displacement over a lag, averaged over
all starting frames, and the diffusivity D = ⟨|Δx|²⟩ / (2 dim lag) that this means at each lag.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import Cell
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, ends, of_run, only_run
from hardgrain.measure.deforming import unsheared
from hardgrain.measure.snapshot import Run, Snapshot, Source

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Displacement",
    "Mobility",
    "NonAffine",
    "mean_square_displacement",
    "mobility",
    "non_affine",
]

# [bytes] Positions that are held at a time. With less the file is read more often; the result is
# the same.
MEMORY = 64 << 20
# [mean diameter] Distance of the neighbours from which D²_min is found by default: about two
# shells. With fewer neighbours it is noisy, with more it is no longer local.
REACH = 2.5
# [1] Relative difference of intervals between frames that is taken for rounding. If it is smaller,
# regular runs are refused; if it is larger, lags are wrong.
REGULAR = 1e-6


# ---------------------------------------------------------------------- mean-square displacement
@dataclass(frozen=True)
class Displacement:
    """Mean-square displacement against lag."""

    lag: Floats  # (k,) [time]
    square: Floats  # (k,) [length²]
    error: Floats  # (k,) one standard error, from the scatter among grains; NaN for one grain
    components: Floats  # (k, dim) mean square along each axis [length²]
    frames: int  # number of frames used


def mean_square_displacement(
    run: Run, frames: Sequence[int] | None = None, *, drift: bool = True
) -> Displacement:
    """Mean-square displacement of grains that are always there, up to half of the frames.

    Frames are taken from the first on at equal times.

    ``drift`` includes the motion that all grains share; otherwise the mean displacement is
    subtracted.
    """
    which = _regular(run, frames)
    always = reduce(np.intersect1d, (run[k].id for k in which))
    n, dim, most = len(always), len(run.model["periodic"]), max(1, len(which) // 2)
    if n == 0:
        raise InputError("no grain is there in all of these frames; choose fewer")

    back = unsheared(run, which)

    def places(k: int, begin: int = 0, end: int = n) -> Floats:
        frame = run[k]
        found: Floats = frame.position[np.searchsorted(frame.id, always[begin:end])]
        return found if back is None else found @ back[k].T

    shift = np.zeros((len(which), dim))
    if not drift:
        for t, k in enumerate(which):
            shift[t] = places(k).mean(axis=0)
    total, squares = np.zeros((most, dim)), np.zeros(most)
    size = max(1, MEMORY // (8 * dim * len(which)))
    for begin in range(0, n, size):
        x = np.stack([places(k, begin, begin + size) for k in which])
        own = _lags(x - x[0] - (shift - shift[0])[:, None, :], most)
        total += own.sum(axis=1)
        squares += np.square(own.sum(axis=2)).sum(axis=1)
    components = total / n
    square = components.sum(axis=1)
    variance = (
        np.maximum(squares / n - square**2, 0.0) / (n - 1) if n > 1 else np.full(most, math.nan)
    )
    step = (run.time[which[-1]] - run.time[which[0]]) / (len(which) - 1)
    return Displacement(
        step * np.arange(1, most + 1), square, np.sqrt(variance), components, len(which)
    )


def _lags(x: Floats, most: int) -> Floats:
    """Square displacements (most, n, dim) of positions (frames, n, dim), averaged over starts."""
    from scipy.fft import irfft, next_fast_len, rfft

    frames = len(x)
    length = next_fast_len(2 * frames, real=True)
    spectrum = rfft(x, length, axis=0)
    product = irfft(np.abs(spectrum) ** 2, length, axis=0)[1 : most + 1]
    sums = np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x**2, axis=0)])
    lag = np.arange(1, most + 1)
    ends = sums[frames - lag] + sums[frames] - sums[lag]
    squares: Floats = (ends - 2.0 * product) / (frames - lag)[:, None, None]
    return np.maximum(squares, 0.0)


def _regular(run: Run, frames: Sequence[int] | None) -> list[int]:
    """The frames from the first on that are at equal times: a run may end between two."""
    which = [int(k) for k in (range(len(run)) if frames is None else frames)]
    if len(which) < 2:
        raise InputError(
            f"frames are {len(which)}, but displacements need at least two; choose more, or store"
            " more with output.every"
        )
    for k in which:
        if not -len(run) <= k < len(run):
            raise InputError(f"frame is {k}; the run has the frames 0 to {len(run) - 1}")
    step = np.diff(run.time[which])
    if not (step > 0.0).all():
        raise InputError("frames are not in the order of time; give them as FIRST:LAST:STEP")
    odd = np.flatnonzero(np.abs(step - step[0]) > REGULAR * step[0])
    return which[: int(odd[0]) + 1] if odd.size else which


# ---------------------------------------------------------------------- one grain
@dataclass(frozen=True)
class Mobility:
    """The displacement and the diffusion of one grain."""

    time: Floats  # (frames,) [time]
    displacement: Floats  # (frames, dim) displacement from its first position [length]
    path: Floats  # (frames,) length of its path so far, from frame to frame [length]
    lag: Floats  # (k,) [time]
    square: Floats  # (k,) mean-square displacement over each lag [length²]
    diffusivity: Floats  # (k,) diffusivity that this means, square / (2 dim lag) [length²/time]


def mobility(run: Run, grain: int, frames: Sequence[int] | None = None) -> Mobility:
    """How one grain moves, in the frames at equal times in which it is there.

    What the affine motion of a cell that deforms adds does not count.
    """
    which = [k for k in _regular(run, frames) if grain in run[k].id]
    if len(which) < 2:
        raise InputError(
            f"grain is {grain}, which is there in {len(which)} of these frames; give the number of"
            f" a grain that is there in two, of 0 to {len(run.model['radius']) - 1}"
        )
    places = [run[k].position[np.searchsorted(run[k].id, grain)] for k in which]
    back = unsheared(run, which)
    if back is not None:
        places = [back[k] @ x for k, x in zip(which, places)]
    x, time = np.stack(places), np.asarray(run.time)[which]
    most, dim = max(1, len(which) // 2), x.shape[1]
    square = _lags((x - x[0])[:, None, :], most)[:, 0].sum(axis=1)
    lag = (time[-1] - time[0]) / (len(which) - 1) * np.arange(1, most + 1)
    way = np.concatenate([[0.0], np.linalg.norm(np.diff(x, axis=0), axis=1).cumsum()])
    return Mobility(time, x - x[0], way, lag, square, square / (2.0 * dim * lag))


# ---------------------------------------------------------------------- D²min
@dataclass(frozen=True)
class NonAffine:
    """Local deformation between two moments; NaN where neighbours are too few or on a line."""

    d2min: Floats  # (n,) D²_min per neighbour [length²]
    deformation: Floats  # (n, dim, dim) J
    neighbours: NDArray[np.int64]  # (n,)

    @property
    def strain(self) -> Floats:
        """The strain ½ (J + Jᵀ) − 1, shape (n, dim, dim), extension positive."""
        dim = self.deformation.shape[1]
        half: Floats = 0.5 * (self.deformation + np.swapaxes(self.deformation, 1, 2)) - np.eye(dim)
        return half


def non_affine(before: Snapshot, now: Snapshot, reach: float | None = None) -> NonAffine:
    """D²_min of every grain that is there at both moments, in the order of their numbers.

    ``reach`` is the distance of its neighbours, by default 2.5 mean diameters, at most half a
    period [length].
    """
    both = np.intersect1d(before.id, now.id)
    before, now = before.of(both), now.of(both)
    n, dim = before.n, before.dim
    if reach is None:
        period = before.cell.period
        halves = 0.5 * period[period > 0.0]
        reach = min(REACH * before.diameter, *halves.tolist(), math.inf)
    i, j, d = _around(before, reach)
    moved = now.position - before.position
    later = d + moved[j] - moved[i]
    if before.model.cell >= 0:  # the image that was the nearest has moved on with the cell
        old, new = Cell(before.state.cell), Cell(now.state.cell)
        away = old.fractions(d - before.position[j] + before.position[i])
        turns = np.where(old.repeats, np.round(away), 0.0)
        later = later + turns @ (new.matrix - old.matrix).T

    def moment(u: Floats, v: Floats) -> Floats:
        """The sum Σ u vᵀ over the neighbours of each grain."""
        sums = [np.bincount(i, u[:, a] * v[:, b], n) for a in range(dim) for b in range(dim)]
        return np.stack(sums, axis=1).astype(float).reshape(n, dim, dim)

    x, y = moment(d, d), moment(later, d)
    count = np.bincount(i, minlength=n)
    known = np.linalg.cond(x) < 1e12
    j_map = np.full((n, dim, dim), math.nan)
    j_map[known] = np.swapaxes(np.linalg.solve(x[known], np.swapaxes(y[known], 1, 2)), 1, 2)
    left = later - np.einsum("kab,kb->ka", j_map[i], d)
    d2min = np.bincount(i, np.square(left).sum(axis=1), n) / np.maximum(count, 1)
    d2min[~known] = math.nan
    return NonAffine(d2min, j_map, count)


def _around(snap: Snapshot, reach: float) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Pairs within reach, each twice, and the lines between them to the nearest image."""
    period = snap.cell.period
    if not reach > 0.0 or (reach > 0.5 * period[period > 0.0]).any():
        raise InputError(f"reach is {reach:g} but must be positive and at most half a period")
    pairs = snap.near.pairs(reach)
    i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
    return i, j, snap.nearest(snap.position[j] - snap.position[i])


# ---------------------------------------------------------------------- labelled
@of_run("msd", "mean-square displacement against lag, with errors")
def _msd(source: Source, frames: Sequence[int] | None = None, drift: bool = True) -> xr.Dataset:
    import xarray as xr

    run = only_run(source, "msd")
    found = mean_square_displacement(run, frames, drift=drift)
    units = "length^2"
    data: dict[str, Any] = {
        "msd": ("lag", found.square, about(units, "mean-square displacement")),
        "msd_error": ("lag", found.error, about(units, "its standard error")),
        "msd_along": (
            ("lag", "component"), found.components, about(units, "along each axis")
        ),
    }  # fmt: skip
    lag = ("lag", found.lag, about("time", "lag time"))
    along = axes(found.components.shape[1])
    return xr.Dataset(data, {"lag": lag, "component": along}, {"frames": found.frames})


@of_run("d2min", "non-affine motion of each grain from the first to the last frame (Falk-Langer)")
def _d2min(
    source: Source, frames: Sequence[int] | None = None, reach: float | None = None
) -> xr.Dataset:
    import xarray as xr

    run = only_run(source, "d2min")
    if len(run if frames is None else frames) < 2:
        raise InputError(
            "d2min needs two frames, such as 10:12; choose more, or store more with output.every"
        )
    before, now = ends(run, frames)
    found = non_affine(before, now, reach)
    along = axes(now.dim)
    data: dict[str, Any] = {
        "d2min": ("grain", found.d2min, about("length^2", "D²min a neighbour")),
        "strain": (
            ("grain", "component", "direction"), found.strain,
            about("1", "local strain, extension positive"),
        ),
        "neighbours": ("grain", found.neighbours, about("1", "neighbours")),
    }  # fmt: skip
    both = np.intersect1d(before.id, now.id)
    coords = {"grain": both, "component": along, "direction": along}
    return xr.Dataset(data, coords, {"from_time": before.time, "to_time": now.time})


@of_run("mobility", "how far one grain gets: displacement, path, diffusivity (grain = its number)")
def _mobility(source: Source, frames: Sequence[int] | None = None, grain: int = 0) -> xr.Dataset:
    import xarray as xr

    found = mobility(only_run(source, "mobility"), grain, frames)
    length = about("length", "displacement from its first place")
    square = about("length^2", "mean-square displacement of the grain")
    data: dict[str, Any] = {
        "displacement": (("time", "component"), found.displacement, length),
        "path": ("time", found.path, about("length", "length of its way")),
        "square": ("lag", found.square, square),
        "diffusivity": ("lag", found.diffusivity, about("length^2 / time", "diffusivity")),
    }
    coordinates = {
        "time": ("time", found.time, about("time", "simulated time")),
        "lag": ("lag", found.lag, about("time", "lag")),
        "component": axes(found.displacement.shape[1]),
    }
    return xr.Dataset(data, coordinates, {"grain": grain})
