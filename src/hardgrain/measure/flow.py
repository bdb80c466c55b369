"""Flow: fields averaged over time, on a grid; and the mass that passes an orifice.

Sums over grains (`coarse`) are averaged over frames first, ratios are taken last: V = ⟨ρV⟩/⟨ρ⟩ is
the velocity of the mean flux, and fluctuations are those about it, in space and in time,

    C_ab = ⟨ρ v_a v_b⟩/⟨ρ⟩ − V_a V_b − w² G_ac G_bc,   G_ab = ∂V_a/∂x_b.

The last term takes away what a mean flow with the gradient G does across a kernel of width w, so
that C vanishes for grains that follow it. G is the derivative of the smooth fields, not of their
values on the grid. Where the cell deforms, V and G are those in space, and C is that of velocities
relative to the cell. From these, with grains of density ρ_s and mean diameter d,

    temperature T = C_aa/dim,   shear rate γ̇ = √(2 D:D), D the symmetric traceless part of G,
    pressure p = σ_aa/dim with σ = contacts + ρ C,   inertial number I = γ̇ d √(ρ_s/p).

Far from all grains these ratios are those of two tails of the kernel, of 10⁻⁸ and less: they would
show the few fastest grains nearby as a flow where there is none. Where the mean density is below
the share ``mask`` of its greatest value, there is no velocity, nor what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, axis_number, moments, of_run, only_run
from hardgrain.measure.coarse import FieldGrid, Smear, grid_of, line_stress, room
from hardgrain.measure.correlated import BLOCKS, scatter
from hardgrain.measure.region import as_region
from hardgrain.measure.snapshot import Run, Snapshot, Source, snapshots
from hardgrain.measure.strain import shear_rate
from hardgrain.measure.stress import stress_units

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Fields", "FlowRate", "fields", "flow_rate"]

# [greatest density] Velocities are not shown where the density is less. Above a flat surface they
# then end 1.9 widths of the kernel beyond it; a smaller mask shows the velocity of single grains.
MASK = 0.03


# ---------------------------------------------------------------------- fields
@dataclass(frozen=True)
class Fields:
    """Time-averaged fields; NaN outside of the walls, and for velocities where no grain is near."""

    grid: FieldGrid
    frames: int  # number of frames averaged over
    density: Floats  # ρ (*shape) [mass/volume]
    fraction: Floats  # share of the volume that grains fill, each counted at its centre
    velocity: Floats  # V (dim, *shape)
    gradient: Floats  # G (dim, dim, *shape), ∂V_a/∂x_b [1/time]
    fluctuation: Floats  # C (dim, dim, *shape) [velocity²]
    moving_stress: Floats  # ρ C (dim, dim, *shape), of moving grains, also where they are few
    contact_stress: Floats | None  # (dim, dim, *shape), compression positive; None: not asked for
    diameter: float  # mean diameter of the grains
    grain_density: float  # mass of all grains over their volume

    @property
    def temperature(self) -> Floats:
        """The temperature T = C_aa/dim, mean square of a component of fluctuations [velocity²].

        Zero where what the gradient accounts for is more than there is: at the edges of a flow.
        """
        trace = np.einsum("aa...->...", self.fluctuation)
        temperature: Floats = np.maximum(trace, 0.0) / len(self.velocity)
        return temperature

    @property
    def shear_rate(self) -> Floats:
        """The shear rate γ̇ = √(2 D:D) [1/time]."""
        return shear_rate(np.moveaxis(self.gradient, (0, 1), (-2, -1)))

    @property
    def stress(self) -> Floats:
        """The stress σ of contacts and of moving grains together, shape (dim, dim, *shape)."""
        if self.contact_stress is None:
            raise InputError("these fields were averaged without contacts; use contacts=True")
        return self.contact_stress + self.moving_stress

    @property
    def pressure(self) -> Floats:
        """The pressure p = σ_aa/dim."""
        pressure: Floats = np.einsum("aa...->...", self.stress) / len(self.velocity)
        return pressure

    @property
    def inertial_number(self) -> Floats:
        """The inertial number I = γ̇ d √(ρ_s/p), NaN where there is no pressure."""
        p = np.where(self.pressure > 0.0, self.pressure, math.nan)
        number: Floats = self.shear_rate * self.diameter * np.sqrt(self.grain_density / p)
        return number


def fields(
    source: Source,
    frames: Sequence[int] | None = None,
    cells: Sequence[int] | None = None,
    width: float | None = None,
    region: Any = None,
    *,
    contacts: bool = False,
    mask: float = MASK,
    walls: bool = True,
) -> Fields:
    """Density, velocity, its gradient and fluctuations, averaged over frames, by default over all.

    ``contacts`` adds the stress, averaged over the frames that stored contacts. ``mask`` is the
    share of the greatest density below which there is no velocity. Without ``walls`` densities and
    stresses are the bare sums, which fall off at walls but whose integrals are exact. The grid is
    that of `coarse.grid_of` over the first and the last frame.
    """
    if not 0.0 <= mask < 1.0:
        raise InputError(f"mask is {mask:g}; give a share of the greatest density, from 0 to 1")
    grid = grid_of(source, frames, cells, width, region)
    dim, count = len(grid.shape), 0
    carried = np.zeros((2 + dim + dim * dim, *grid.shape))
    slope = np.zeros((dim, 1 + dim, *grid.shape))
    pushed = np.zeros((dim, dim, *grid.shape))
    # momentum of the affine motion of a cell that deforms, and its slope
    swept, bent = np.zeros((dim, *grid.shape)), np.zeros((dim, dim, *grid.shape))
    share, within = np.zeros(grid.shape), np.zeros(grid.shape, dtype=bool)
    for snap in moments(source, frames, contacts=contacts):
        smear, v, m = Smear(grid, snap), snap.velocity, snap.mass[:, None]
        momentum = np.hstack([m, m * v])
        flux = (m[:, :, None] * v[:, :, None] * v[:, None, :]).reshape(-1, dim * dim)
        carried += smear.points(np.hstack([momentum, flux, snap.volume[:, None]]))
        slope += smear.points(momentum, slope=True)
        if snap.gradient.any():
            affine = partial(_affine, snap)
            swept += smear.points(affine)
            bent += smear.points(affine, slope=True)
        if contacts:
            pushed += line_stress(smear)
        between, inside = room(grid, snap) if walls else (np.ones(grid.shape), True)
        share += between
        within |= inside
        count += 1
    # walls may move, so this is the space they leave on average
    share = np.where(within, share, math.nan)
    rho = carried[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        v = carried[1 : 1 + dim] / rho
        gradient = np.swapaxes(slope[:, 1:] - slope[:, :1] * v, 0, 1) / rho
        second = carried[1 + dim : -1].reshape(dim, dim, *grid.shape) / rho
        mean = v[:, None] * v[None] + grid.width**2 * np.einsum(
            "ac...,bc...->ab...", gradient, gradient
        )
        drift = swept / rho
        gradient = gradient + np.swapaxes(bent - slope[:, :1] * drift, 0, 1) / rho
        v = v + drift
    density, fluctuation = rho / share, second - mean
    near = density > mask * np.nanmax(density, initial=0.0)
    return Fields(
        grid,
        count,
        density,
        carried[-1] / share,
        np.where(near, v, math.nan),
        np.where(near, gradient, math.nan),
        np.where(near, fluctuation, math.nan),
        np.where(rho > 0.0, density * fluctuation, 0.0 * share),
        pushed / share if contacts else None,
        snap.diameter,
        float(snap.mass.sum() / snap.volume.sum()),
    )


def _affine(snap: Snapshot, x: Floats) -> Floats:
    """Momentum that the deformation of the cell gives the grains at some images (n, dim)."""
    momentum: Floats = snap.mass[:, None] * (x @ snap.gradient.T)
    return momentum


# ---------------------------------------------------------------------- through an orifice
@dataclass(frozen=True)
class FlowRate:
    """Mass that has passed a plane or left a region, frame by frame."""

    time: Floats  # (k,) times of the frames [time]
    mass: Floats  # (k,) mass that has passed since the first frame
    grains: Floats  # (k,) number of grains that have passed

    @property
    def rate(self) -> Floats:
        """Rate between frames, shape (k − 1,) [mass/time]."""
        rate: Floats = np.diff(self.mass) / np.diff(self.time)
        return rate

    @property
    def mean(self) -> float:
        """Mean rate over all frames [mass/time]."""
        return float((self.mass[-1] - self.mass[0]) / (self.time[-1] - self.time[0]))

    @property
    def error(self) -> float:
        """Standard error of the mean, by the scatter of ten blocks of time; NaN if too short."""
        blocks = min(BLOCKS, self.time.size - 1)
        t = np.linspace(self.time[0], self.time[-1], blocks + 1)
        rates = np.diff(np.interp(t, self.time, self.mass)) / np.diff(t)
        return scatter(rates)


def flow_rate(
    run: Run,
    frames: Sequence[int] | None = None,
    *,
    at: float | None = None,
    axis: str | None = None,
    within: Sequence[Sequence[float]] | None = None,
    region: Any = None,
) -> FlowRate:
    """Mass through a plane, or out of a region, counted at the grains' centres.

    ``at`` is where the plane lies along ``axis``, by default that of gravity; the way that gravity
    points counts as positive, or else that of the axis. ``within`` gives two corners in the plane,
    each with dim − 1 coordinates; a grain counts if it crosses between them, its path between two
    frames being taken as straight. With ``region``, two corners, the mass that has left it is
    counted.

    Grains that were taken out count up to where they were; those that came in count from the next
    frame on.
    """
    if (at is None) == (region is None):
        raise InputError(
            "flow-rate needs a plane or a region: give at (where it lies along the axis) or region"
        )
    time, mass, grains = [], [0.0], [0.0]
    before = None
    which = range(len(run)) if frames is None else frames
    for k, snap in zip(which, snapshots(run, which)):
        time.append(snap.time)
        if before is not None:
            later = run[k].record.position[before.id]
            if at is not None:
                passed = _crossed(before, later, at, axis, within)
            else:
                holds = as_region(before, region).holds
                stays = holds(snap.put_upright(later)) & np.isin(before.id, snap.id)
                passed = holds(before.upright).astype(float) - stays
            mass.append(mass[-1] + float(passed @ before.mass))
            grains.append(grains[-1] + float(passed.sum()))
        before = snap
    if len(time) < 2:
        raise InputError(
            "flow-rate needs at least two frames; choose more, or store more with output.every"
        )
    return FlowRate(np.array(time), np.array(mass), np.array(grains))


def _crossed(
    now: Snapshot,
    later: Floats,
    at: float,
    axis: str | None,
    within: Sequence[Sequence[float]] | None,
) -> Floats:
    """How often each grain crosses the plane on its way to a later position, shape (n,)."""
    g, dim = now.model.gravity, now.dim
    if axis is None:
        a = int(np.abs(g).argmax()) if g.any() else dim - 1
    else:
        a = axis_number(axis, dim)
    x, period = now.upright, now.cell.period[a]
    y = later + (x - now.position)
    if period > 0.0:
        side = [np.floor((z[:, a] - at) / period) for z in (x, y)]
    else:
        side = [(z[:, a] >= at).astype(float) for z in (x, y)]
    count: Floats = (side[1] - side[0]) * (-1.0 if g[a] < 0.0 else 1.0)
    if within is None:
        return count
    corners = np.array(within, dtype=float)
    if corners.shape != (2, dim - 1):
        raise InputError(f"within is {within}; give two corners with {dim - 1} coordinates each")
    plane = at + period * np.maximum(side[0], side[1])
    if period == 0.0:
        plane = np.full(now.n, at)
    step = y[:, a] - x[:, a]
    share = (plane - x[:, a]) / np.where(step == 0.0, 1.0, step)
    others = [b for b in range(dim) if b != a]
    point = now.put_upright(x + share[:, None] * (y - x))[:, others]
    through: Floats = count * ((point >= corners[0]) & (point <= corners[1])).all(axis=1)
    return through


# ---------------------------------------------------------------------- labelled
def _labelled(found: Fields, names: Sequence[str]) -> xr.Dataset:
    import xarray as xr

    dim = len(found.grid.shape)
    along = axes(dim)
    stress, volume = stress_units(dim), f"length^{dim}"
    known = {
        "density": ("density", f"mass/{volume}"),
        "fraction": ("solid fraction", "1"),
        "velocity": ("velocity", "length/time"),
        "gradient": ("velocity gradient", "1/time"),
        "shear_rate": ("shear rate", "1/time"),
        "temperature": ("granular temperature", "length^2/time^2"),
        "stress": ("stress, compression positive", stress),
        "contact_stress": ("stress of contacts, compression positive", stress),
        "pressure": ("pressure", stress),
        "inertial_number": ("inertial number", "1"),
    }
    data: dict[str, Any] = {}
    for name in names:
        value = getattr(found, name)
        front = ["component", "direction"][: value.ndim - dim]
        words, units = known[name]
        data[name] = ((*front, *along), value, about(units, words))
    coords: dict[str, Any] = {
        a: (a, x, about("length", a)) for a, x in zip(along, found.grid.centres)
    }
    coords["component"], coords["direction"] = along, along
    used = {d for dims, *_ in data.values() for d in dims}
    attrs = {"frames": found.frames, "width": found.grid.width, "kernel": "Gaussian"}
    return xr.Dataset(data, {k: v for k, v in coords.items() if k in used}, attrs)


def _of_fields(name: str, words: str, shown: Sequence[str], contacts: bool) -> None:
    @of_run(name, words, contacts=contacts)
    def compute(
        source: Source,
        frames: Sequence[int] | None = None,
        grid: Sequence[int] | None = None,
        width: float | None = None,
        region: Any = None,
        mask: float = MASK,
        walls: bool = True,
    ) -> xr.Dataset:
        options: dict[str, Any] = {"contacts": contacts, "mask": mask, "walls": walls}
        return _labelled(fields(source, frames, grid, width, region, **options), shown)


_of_fields(
    "flow",
    "density, velocity, shear rate and temperature on a grid, time-averaged",
    ["density", "fraction", "velocity", "gradient", "shear_rate", "temperature"],
    contacts=False,
)
_of_fields(
    "stress-field",
    "stress and pressure on a grid, time-averaged",
    ["stress", "contact_stress", "pressure"],
    contacts=True,
)
_of_fields(
    "inertial-number",
    "inertial number, shear rate and pressure on a grid",
    ["inertial_number", "shear_rate", "pressure", "density", "velocity"],
    contacts=True,
)


@of_run("flow-rate", "mass that passes a plane (at, axis, within) or leaves a region, over time")
def _flow_rate(
    source: Source,
    frames: Sequence[int] | None = None,
    at: float | None = None,
    axis: str | None = None,
    within: Sequence[Sequence[float]] | None = None,
    region: Any = None,
) -> xr.Dataset:
    import xarray as xr

    run = only_run(source, "flow-rate")
    found = flow_rate(run, frames, at=at, axis=axis, within=within, region=region)
    rate = np.append(math.nan, found.rate)
    data: dict[str, Any] = {
        "mass": ("time", found.mass, about("mass", "mass passed")),
        "grains": ("time", found.grains, about("1", "grains passed")),
        "rate": ("time", rate, about("mass/time", "flow rate since last frame")),
        "mean_rate": ((), found.mean, about("mass/time", "mean flow rate")),
        "mean_rate_error": ((), found.error, about("mass/time", "its error")),
    }
    return xr.Dataset(data, {"time": ("time", found.time, about("time", "simulated time"))})
