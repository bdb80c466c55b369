"""Cyclic tests: what a sample answers to being loaded to and fro, cycle by cycle.

In the plane of shear strain γ and shear stress τ (`measure.element`) a cycle is a loop. Its area is
work that is dissipated, or rather −∮ σ:dE is, which counts the work of the pressure too. The secant
modulus is the slope of the line between the ends of the loop, G = (τ' − τ'')/(γ' − γ''), with the
stress where the strain is greatest and least; the damping ratio is the work over 4π times the
energy ½ G γ_a² of a spring with this slope. A loop that does not close leaves the strain that it
has accumulated.

A cycle takes the period that is given, or that of a cell with cyclic shear, from the first frame
on; otherwise it lasts from one reversal of the shear strain to the next but one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.signal import find_peaks

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_run
from hardgrain.measure.element import Response, cell_of, response
from hardgrain.measure.snapshot import Source
from hardgrain.measure.stress import stress_units

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Cycles", "cycles"]

# [frames] A cycle needs as many, or else neither its ends nor its area are known: with 8 on a sine
# the ends are off by at most 8 %, and the area of an ellipse by 10 %.
LEAST = 8
# [range of the strain] Smaller swings of the strain are no cycles of the test.
SWING = 0.25


@dataclass(frozen=True, eq=False)
class Cycles:
    """All whole cycles of a test, in their order; each array (cycles,)."""

    begin: Floats  # [time]
    frames: Floats  # number of frames in the cycle
    amplitude: Floats  # half the range of the shear strain
    stress_amplitude: Floats  # half the range of the shear stress
    pressure: Floats  # mean over the cycle
    work: Floats  # −∮ σ:dE by volume
    modulus: Floats  # G
    damping: Floats  # work / (2π G γ_a²)
    shear_strain: Floats  # that the cycle has left
    volumetric_strain: Floats  # that the cycle has left, growth positive


def cycles(found: Response, period: float | None = None) -> Cycles:
    """The cycles of a test, of a given period or between reversals of its strain."""
    time, gamma = found.time, found.shear_strain
    if period is None:
        peaks, _ = find_peaks(gamma, prominence=SWING * max(float(np.ptp(gamma)), 1e-300))
        ends = time[peaks]
        if ends.size < 2:
            raise InputError(
                "the shear strain has no two reversals of one kind, and so no whole cycle; give"
                " period, the time that a cycle takes"
            )
    else:
        if not 0.0 < period < math.inf:
            raise InputError(f"period is {period:g}; give the time that a cycle takes")
        # a last frame that falls short of the end of a cycle by rounding counts as its end
        count = math.floor((time[-1] - time[0]) / period * (1.0 + 1e-9))
        if count < 1:
            raise InputError(
                f"period is {period:g}, but the frames span {time[-1] - time[0]:g} only"
            )
        ends = np.minimum(time[0] + period * np.arange(count + 1), time[-1])
    rows = [_one(found, begin, end) for begin, end in pairwise(ends)]
    return Cycles(ends[:-1], *np.array(rows).T)


def _one(found: Response, begin: float, end: float) -> tuple[float, ...]:
    time = found.time
    inside = (time > begin) & (time < end)
    if inside.sum() < LEAST:
        raise InputError(
            f"a cycle from the time {begin:g} to {end:g} has {int(inside.sum())} frames; it needs"
            f" {LEAST}, store more with output.every and output.contacts_every"
        )
    at = np.concatenate([[begin], time[inside], [end]])

    def of(series: Floats) -> Floats:
        return np.asarray(np.interp(at, time, series))

    gamma, tau = of(found.shear_strain), of(found.shear_stress)
    grown, work = of(found.volumetric_strain), of(found.work)
    pressure = of(np.einsum("kaa->k", found.stress) / found.stress.shape[-1])
    high, low = int(gamma.argmax()), int(gamma.argmin())
    half = 0.5 * (gamma[high] - gamma[low])
    modulus = (tau[high] - tau[low]) / (2.0 * half) if half > 0.0 else math.nan
    lost = work[-1] - work[0]
    damping = lost / (2.0 * math.pi * modulus * half**2) if modulus else math.nan
    return (
        float(inside.sum()),
        half,
        0.5 * float(np.ptp(tau)),
        float(np.trapezoid(pressure, at) / (end - begin)),
        lost,
        modulus,
        damping,
        gamma[-1] - gamma[0],
        grown[-1] - grown[0],
    )


# ---------------------------------------------------------------------- labelled
@of_run(
    "cycles", "cyclic test: amplitude, dissipated work, secant modulus, strain left", contacts=True
)
def _cycles(
    source: Source,
    frames: Sequence[int] | None = None,
    period: float | None = None,
    along: str | None = None,
) -> xr.Dataset:
    import xarray as xr

    test, cell = response(source, frames, along), cell_of(source)
    if period is None and cell.get("kind") == "cyclic":
        period = float(cell["period"])
    found = cycles(test, period)
    units = stress_units(test.stress.shape[-1])
    words = {
        "amplitude": ("1", "amplitude of the shear strain"),
        "stress_amplitude": (units, "amplitude of the shear stress"),
        "work": (units, "work dissipated in the cycle, by volume"),
        "modulus": (units, "secant shear modulus"),
        "damping": ("1", "damping ratio"),
        "shear_strain": ("1", "shear strain that the cycle leaves"),
        "volumetric_strain": ("1", "volumetric strain that the cycle leaves"),
        "pressure": (units, "mean pressure"),
    }
    data: dict[str, Any] = {
        name: ("cycle", getattr(found, name), about(*own)) for name, own in words.items()
    }
    number = np.arange(1, found.begin.size + 1)
    coords = {
        "cycle": ("cycle", number, about("1", "cycle")),
        "time": ("cycle", found.begin, about("time", "begin of the cycle")),
        "frames": ("cycle", found.frames.astype(int), about("1", "frames in the cycle")),
    }
    return xr.Dataset(data, coords, {"loading": test.loading.words})
