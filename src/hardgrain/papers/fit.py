"""Fits: a damped sine, a power law, a mean with its error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LEAST_POINTS",
    "PowerLawFit",
    "Ringing",
    "damped_sine",
    "mean_and_error",
    "power_law",
]

Floats = NDArray[np.float64]


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Mean and its standard error, NaN for a single value."""
    x = np.asarray(values, dtype=float)
    error = float(x.std(ddof=1)) / math.sqrt(x.size) if x.size > 1 else math.nan
    return float(x.mean()), error


# ---------------------------------------------------------------------- damped sine
@dataclass(frozen=True)
class Ringing:
    """The fit x0 + A exp(−t/τ) sin(ωt + φ). All its numbers are NaN if the data do not ring."""

    frequency: float  # ω [1/time]
    damping_time: float  # τ [time]
    offset: float  # x0, about which it rings
    amplitude: float  # A ≥ 0, at t = 0
    phase: float  # φ, in (−π, π]
    residual: float  # root mean square of data minus fit
    frequency_error: float  # one standard error, for noise without memory; 0 if held fixed
    damping_time_error: float

    def __call__(self, t: ArrayLike) -> Floats:
        t = np.asarray(t, dtype=float)
        ringing = np.exp(-t / self.damping_time) * np.sin(self.frequency * t + self.phase)
        x: Floats = self.offset + self.amplitude * ringing
        return x


_NO_RINGING = Ringing(*[math.nan] * 8)

# [points] Fewer are not enough for a damped sine, which has five parameters.
LEAST_POINTS = 8
# [rad] A smaller phase within the data, or within four damping times, is no oscillation.
_LEAST_TURN = 1.5
# [1] Share of the variance of the data that a fit must explain to be accepted.
_LEAST_EXPLAINED = 0.5


def damped_sine(
    t: ArrayLike, x: ArrayLike, frequency: float | None = None, damping_time: float | None = None
) -> Ringing:
    """Least squares of x0 + A exp(−t/τ) sin(ωt + φ) to data at equally spaced times.

    ``frequency`` and ``damping_time``, where given, are held fixed. Data that are overdamped, too
    short or not finite give NaN. Offset, amplitude and phase enter linearly and are eliminated, so
    that at most ω and τ are searched; the start is found from the data (Prony's method).
    """
    from scipy.optimize import least_squares

    t, x = np.asarray(t, dtype=float), np.asarray(x, dtype=float)
    if x.size < LEAST_POINTS or not np.isfinite(x).all() or np.ptp(x) == 0.0:
        return _NO_RINGING
    start, span, scale = float(t[0]), float(t[-1] - t[0]), float(x.std())
    s, y = (t - start) / span, (x - x.mean()) / scale  # both of order one
    most_angle = math.pi * (x.size - 1)  # more would be less than two points a period
    fixed_w = None if frequency is None else frequency * span
    fixed_r = None if damping_time is None else span / damping_time

    def unpack(free: Floats) -> tuple[float, float]:
        left = iter(free)
        w = float(np.exp(next(left))) if fixed_w is None else fixed_w
        r = float(next(left)) if fixed_r is None else fixed_r
        return w, r

    def project(w: float, r: float) -> tuple[Floats, Floats]:
        decay = np.exp(-r * s) if r >= 0.0 else np.exp(-r * (s - 1.0))  # never above one
        basis = np.stack([np.ones_like(s), decay * np.sin(w * s), decay * np.cos(w * s)], axis=1)
        linear = np.linalg.lstsq(basis, y, rcond=None)[0]
        return linear, basis @ linear - y

    if fixed_w is None or fixed_r is None:
        starts = []
        for w, r in _guesses(y):
            w, r = fixed_w or w, r if fixed_r is None else fixed_r
            starts.append((float(np.square(project(w, r)[1]).sum()), w, r))
        best = None
        for _, w, r in sorted(starts)[:3]:
            free = [*([math.log(w)] if fixed_w is None else []), *([r] if fixed_r is None else [])]
            found = least_squares(lambda p: project(*unpack(p))[1], free, x_scale="jac")
            if best is None or found.cost < best.cost:
                best = found
        if best is None:
            return _NO_RINGING
        w, r = unpack(best.x)
        # equally spaced points cannot tell ω from 2π/Δt − ω, so the lower one is taken
        if fixed_w is None:
            w = abs((w + most_angle) % (2.0 * most_angle) - most_angle)
        curvature = best.jac.T @ best.jac
    else:
        w, r = fixed_w, fixed_r
        curvature = np.zeros((0, 0))
    linear, misfit = project(w, r)
    variance = float(np.square(misfit).mean())
    angle = w * min(1.0, 4.0 / r if r > 0.0 else 1.0)
    least_angle = 0.0 if fixed_w is not None else _LEAST_TURN
    if not (least_angle <= angle and variance < 1.0 - _LEAST_EXPLAINED):
        return _NO_RINGING
    errors = _errors(curvature, variance * s.size / (s.size - 5.0))
    w_error = w * next(errors) if fixed_w is None else 0.0
    r_error = next(errors) if fixed_r is None else 0.0
    # Go back from s and y to t and x; the amplitude is that at t = 0.
    offset, a, b = linear
    if r < 0.0:
        a, b = a * math.exp(r), b * math.exp(r)
    phase = math.atan2(b, a) - w / span * start
    return Ringing(
        frequency=w / span,
        damping_time=span / r,
        offset=float(x.mean() + scale * offset),
        amplitude=scale * math.hypot(a, b) * math.exp(min(r * start / span, 700.0)),
        phase=math.pi - (math.pi - phase) % (2.0 * math.pi),
        residual=scale * math.sqrt(variance),
        frequency_error=w_error / span,
        damping_time_error=span / r**2 * r_error,
    )


def _guesses(y: Floats) -> Iterator[tuple[float, float]]:
    """Angular frequencies and rates, for time in [0, 1], that could be in the data.

    By Prony's method: data that are sums of exponentials obey a linear recursion, whose roots give
    them. It is found by least squares on data thinned to fewer and fewer points, since at close
    ones noise hides the recursion. Some arbitrary guesses are added, in case none of these is good.
    """
    thin = 1
    while y.size // thin >= 12:
        block = y[: y.size // thin * thin].reshape(-1, thin).mean(axis=1)
        step = thin / (y.size - 1)
        for order in (3, 5, 8):
            if block.size < 3 * order:
                continue
            rows = np.lib.stride_tricks.sliding_window_view(block, order + 1)
            recursion = np.linalg.lstsq(rows[:, :-1], -rows[:, -1], rcond=None)[0]
            for z in np.roots([1.0, *recursion[::-1]]):
                if z.imag > 1e-9:
                    yield math.atan2(z.imag, z.real) / step, -math.log(abs(z)) / step
        thin *= 2
    for cycles in (0.5, 1, 2, 3, 5, 8, 12, 20, 40, 80):
        if cycles < y.size / 2.5:
            for r in (0.5, 2.0, 6.0):
                yield 2.0 * math.pi * cycles, r


def _errors(curvature: Floats, variance: float) -> Iterator[float]:
    if curvature.size == 0:
        return
    covariance = np.linalg.pinv(curvature) * variance
    yield from (math.sqrt(max(c, 0.0)) for c in np.diag(covariance))


# ---------------------------------------------------------------------- power law
@dataclass(frozen=True)
class PowerLawFit:
    """The fit y = prefactor x^exponent."""

    exponent: float
    exponent_error: float  # one standard error; NaN for two points without errors
    prefactor: float

    def predict(self, x: ArrayLike) -> Floats:
        y: Floats = self.prefactor * np.asarray(x, dtype=float) ** self.exponent
        return y


def power_law(x: ArrayLike, y: ArrayLike, y_error: ArrayLike | None = None) -> PowerLawFit:
    """Fit a straight line to the logarithms, with weights by the errors of y if given.

    The error of the exponent is the larger of what the errors of y and what the scatter about the
    line give.
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    sigma = np.ones_like(v) if y_error is None else np.asarray(y_error) / np.asarray(y)
    w = 1.0 / sigma**2
    u0, v0 = np.average(u, weights=w), np.average(v, weights=w)
    spread = float(np.sum(w * (u - u0) ** 2))
    slope = float(np.sum(w * (u - u0) * (v - v0))) / spread
    chi2 = float(np.sum(w * (v - v0 - slope * (u - u0)) ** 2))
    scatter = chi2 / (u.size - 2) if u.size > 2 else math.nan
    if y_error is not None:
        scatter = max(1.0, scatter) if u.size > 2 else 1.0
    return PowerLawFit(slope, math.sqrt(scatter / spread), float(np.exp(v0 - slope * u0)))
