"""Element tests: how a sample answers to being pressed and sheared, in a cell or between walls.

Stress is that of the whole sample (`measure.stress`), strain that of the cell or of the planes
around it (`measure.strain`), both of each frame that holds contacts. From their means over frames,

    friction angle      sin φ = (σ_1 − σ_min)/(σ_1 + σ_min),
    dilatancy angle     sin ψ = ε̇_v/(ε̇_v − 2 ε̇_1),
    effective friction  µ* = |σ_ab|/σ_bb, where the sample is sheared along a across b,
    inertial number     I = γ̇ d √(ρ/p),

with the rate of the volume ε̇_v, the rate ε̇_1 along the axis that shortens most (negative), and the
shear rate γ̇ = √(2 D:D), D the symmetric traceless part of the mean velocity gradient. ψ is that of
Vermeer and de Borst (1984), which serves plane strain and triaxial compression alike; in simple
shear it is tan ψ = ε̇_v/γ̇. d is the mean diameter of the grains and ρ their density. Errors are
explained in `measure.correlated`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, moments, of_run
from hardgrain.measure.correlated import estimate
from hardgrain.measure.snapshot import Source, understood
from hardgrain.measure.strain import Loading, edges, loading, shear_rate, strains
from hardgrain.measure.stress import invariants, stress_tensor, stress_units
from hardgrain.measure.structure import packing_fraction

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Response",
    "cell_of",
    "dilatancy_angle",
    "inertial_number",
    "response",
]


# ---------------------------------------------------------------------- of tensors
def dilatancy_angle(gradient: Floats) -> Floats:
    """The angle ψ of velocity gradients (…, dim, dim) [rad]; NaN where nothing is sheared."""
    rate = np.linalg.eigvalsh(0.5 * (gradient + np.swapaxes(gradient, -1, -2)))
    grows = rate.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        sine = grows / (grows - 2.0 * rate[..., 0])
    angle: Floats = np.arcsin(np.where(np.abs(sine) <= 1.0, sine, math.nan))
    return angle


def inertial_number(gradient: Floats, pressure: Floats, size: float) -> Floats:
    """The number I of velocity gradients; ``size`` is d √ρ. NaN without a pressure."""
    p = np.where(pressure > 0.0, pressure, math.nan)
    number: Floats = shear_rate(gradient) * size / np.sqrt(p)
    return number


# ---------------------------------------------------------------------- of a run
@dataclass(frozen=True, eq=False)
class Response:
    """A sample that is deformed, frame by frame; growth and compressive stress are positive."""

    time: Floats  # (k,)
    strain: Floats  # E since the first frame (k, dim, dim), see `measure.strain`
    stress: Floats  # σ (k, dim, dim), of contacts and of moving grains
    fraction: Floats  # packing fraction (k,)
    size: float  # mean diameter × √(density of the grains)
    loading: Loading  # along which the shear strain counts

    @property
    def rate(self) -> Floats:
        """Velocity gradient (k, dim, dim), from a frame before to a frame after [1/time]."""
        return np.asarray(np.gradient(self.strain, self.time, axis=0))

    @property
    def rows(self) -> Floats:
        """Stress and velocity gradient of each frame (k, 2, dim, dim)."""
        return np.stack([self.stress, self.rate], axis=1)

    @property
    def shear_strain(self) -> Floats:
        """γ (k,), positive along the way in which the sample is loaded most."""
        return self.loading.strain(self.strain)

    @property
    def shear_stress(self) -> Floats:
        """τ (k,), the stress that does work on γ."""
        return self.loading.stress(self.stress)

    @property
    def volumetric_strain(self) -> Floats:
        """Growth of the logarithm of the volume (k,)."""
        return np.asarray(np.einsum("kaa->k", self.strain))

    @property
    def work(self) -> Floats:
        """Work that the stress has done since the first frame, by volume (k,), −∫ σ:dE."""
        mean = 0.5 * (self.stress[1:] + self.stress[:-1])
        done = -np.einsum("kab,kab->k", mean, np.diff(self.strain, axis=0))
        return np.append(0.0, np.cumsum(done))


def response(
    source: Source, frames: Sequence[int] | None = None, along: str | None = None
) -> Response:
    """Stress and strain of a sample over the frames that hold contacts.

    ``along`` names the shear strain: "xy" is shear along x across y, "z" compression along z; by
    default it is the shear that is prescribed of the cell, or else the one that is largest.
    """
    time, h, sigma, fraction = [], [], [], []
    snap = None
    for snap in moments(source, frames, contacts=True):
        time.append(snap.time)
        h.append(edges(snap))
        sigma.append(stress_tensor(snap))
        fraction.append(packing_fraction(snap))
    if len(time) < 2 or snap is None:
        raise InputError("a strain needs two frames or more of a run file; choose others")
    if not (np.diff(time) > 0.0).all():
        raise InputError("frames must follow each other in time, each of them once")
    strain = strains(np.array(h), ~snap.cell.repeats)
    size = snap.diameter * math.sqrt(float(snap.mass.sum() / snap.volume.sum()))
    way = loading(strain, along or _prescribed(cell_of(source)))
    return Response(np.array(time), strain, np.array(sigma), np.array(fraction), size, way)


def cell_of(source: Source) -> dict[str, Any]:
    """How the cell is deformed, as the scenario of a run says; nothing where it is not."""
    header = getattr(source, "header", None)
    if header is None:
        return {}
    with understood():
        found: dict[str, Any] = json.loads(header["scenario"])["scene"].get("cell") or {}
    return found


def _prescribed(cell: dict[str, Any]) -> str | None:
    """The plane in which a cell is sheared at a given rate, however it is pressed besides."""
    if cell.get("kind") in ("simple-shear", "cyclic"):
        return "xy"
    sheared = [name for name in ("xy", "xz", "yz") if (cell.get(name) or {}).get("rate")]
    return sheared[0] if len(sheared) == 1 else None


# ---------------------------------------------------------------------- labelled
@of_run(
    "stress-strain",
    "stress, strain, volume and inertial number of a sample, in a cell or box",
    contacts=True,
)
def _stress_strain(
    source: Source, frames: Sequence[int] | None = None, along: str | None = None
) -> xr.Dataset:
    import xarray as xr

    found = response(source, frames, along)
    dim, over = found.stress.shape[-1], "shear_strain"
    units, inner = stress_units(dim), invariants(found.stress)
    tensor = (over, "component", "direction")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = inner.deviator / inner.pressure
    number = inertial_number(found.rate, inner.pressure, found.size)
    data: dict[str, Any] = {
        "shear_stress": (over, found.shear_stress, about(units, "shear stress τ")),
        "volumetric_strain": (
            over, found.volumetric_strain, about("1", "volumetric strain, growth positive")
        ),
        "pressure": (over, inner.pressure, about(units, "pressure p")),
        "deviator": (over, inner.deviator, about(units, "deviatoric stress q")),
        "stress_ratio": (over, ratio, about("1", "stress ratio q/p")),
        "packing_fraction": (over, found.fraction, about("1", "packing fraction")),
        "inertial_number": (over, number, about("1", "inertial number")),
        "work": (over, found.work, about(units, "work of the stress by volume")),
        "stress": (tensor, found.stress, about(units, "stress, compression positive")),
        "strain": (tensor, found.strain, about("1", "strain, growth positive")),
    }  # fmt: skip
    words = f"shear strain ({found.loading.words})"
    coords = {
        over: (over, found.shear_strain, about("1", words)),
        "time": (over, found.time, about("time", "simulated time")),
        "component": axes(dim),
        "direction": axes(dim),
    }
    return xr.Dataset(data, coords, {"loading": found.loading.words})


@of_run(
    "strength",
    "friction and dilatancy angle of a sample, with errors; windows = …",
    contacts=True,
)
def _strength(
    source: Source,
    frames: Sequence[int] | None = None,
    windows: int = 1,
    along: str | None = None,
) -> xr.Dataset:
    found = response(source, frames, along)
    rows = found.rows

    def ratio(mean: Floats) -> Floats:
        inner = invariants(mean[:, 0])
        return inner.deviator / inner.pressure

    return _windows(
        found,
        windows,
        {
            "friction_angle": (
                lambda mean: invariants(mean[:, 0]).friction_angle, rows,
                about("radian", "friction angle of the mean stress"),
            ),
            "dilatancy_angle": (
                lambda mean: dilatancy_angle(mean[:, 1]), rows, about("radian", "dilatancy angle")
            ),
            "stress_ratio": (ratio, rows, about("1", "stress ratio q/p")),
        },
    )  # fmt: skip


@of_run(
    "rheology",
    "inertial number, friction, density of a flow, with errors; windows = …",
    contacts=True,
)
def _rheology(
    source: Source,
    frames: Sequence[int] | None = None,
    windows: int = 1,
    along: str | None = None,
) -> xr.Dataset:
    found = response(source, frames, along)
    dim = found.stress.shape[-1]
    rows = found.rows

    def pressure(mean: Floats) -> Floats:
        return np.asarray(np.einsum("kaa->k", mean[:, 0]) / dim)

    def number(mean: Floats) -> Floats:
        return inertial_number(mean[:, 1], pressure(mean), found.size)

    wanted: dict[str, Any] = {
        "inertial_number": (number, rows, about("1", "inertial number I")),
        "packing_fraction": (
            lambda mean: mean, found.fraction, about("1", "packing fraction")
        ),
        "shear_rate": (
            lambda mean: shear_rate(mean[:, 1]), rows, about("1/time", "shear rate")
        ),
        "pressure": (pressure, rows, about(stress_units(dim), "pressure p")),
    }  # fmt: skip
    name = found.loading.name
    if len(name) == 2:  # otherwise there is no plane on which a friction would act
        a, b = ("xyz".index(letter) for letter in name)
        wanted["effective_friction"] = (
            lambda mean: np.abs(mean[:, 0, a, b]) / mean[:, 0, b, b], rows,
            about("1", f"effective friction |σ_{name}|/σ_{2 * name[1]}"),
        )  # fmt: skip
    return _windows(found, windows, wanted)


def _windows(found: Response, windows: int, wanted: dict[str, Any]) -> xr.Dataset:
    """Functions of the mean over all frames, or over each of several windows of them."""
    import xarray as xr

    n = found.time.size
    if not 1 <= windows <= n // 2:
        raise InputError(
            f"windows is {windows}; the {n} frames make 1 to {n // 2}, of at least two frames each"
        )
    cuts = np.linspace(0, n, windows + 1).round().astype(int)
    parts = [slice(*ends) for ends in pairwise(cuts)]
    over = () if windows == 1 else ("shear_strain",)
    data: dict[str, Any] = {}
    for name, (of, series, attrs) in wanted.items():
        both = np.array([estimate(of, series[part]) for part in parts]).T
        for key, values, own in (
            (name, both[0], attrs),
            (f"{name}_error", both[1], about(attrs["units"], "its standard error")),
        ):
            data[key] = (over, values[0] if windows == 1 else values, own)
    coords: dict[str, Any] = {}
    if windows > 1:
        middle = [float(found.shear_strain[part].mean()) for part in parts]
        words = f"shear strain ({found.loading.words})"
        coords["shear_strain"] = (over, middle, about("1", words))
    return xr.Dataset(data, coords, {"frames": n, "loading": found.loading.words})
