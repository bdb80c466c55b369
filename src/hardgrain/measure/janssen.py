"""A packing between upright walls compared with Janssen's law (`theory.silo`).

The packing is cut into slices across gravity. In each, σ is the exact mean of the vertical stress
(`stress`), p the pressure and τ the shear of the side walls, positive where they carry weight, all
from the same contacts. Then

    K = Σ p / Σ σ,   µ = Σ τ / Σ p,   K µ = Σ τ / Σ σ   (sums over slices, measured directly),

and a least-squares fit of Janssen's stress, with the measured weight of each slice, gives λ and
from it a second K µ = A/(P λ) that knows nothing of the walls' forces.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import INSIDE, PLANE
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, moments, of_run
from hardgrain.measure.region import Block, Tube, as_region, content
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import stress_tensor, stress_units
from hardgrain.measure.wall_energy import wall_loads
from hardgrain.measure.wall_forces import slices
from hardgrain.theory import silo

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Janssen", "janssen_profile"]

# [1] A wall is upright if its unit normal rises by less, which is rounding. If it is smaller,
# upright walls are taken for inclined ones; if it is larger, inclined walls count as upright.
UPRIGHT = 1e-9


@dataclass(frozen=True)
class Janssen:
    """A packing between upright walls, slice by slice from its surface down."""

    depth: Floats  # (bins,) depth of the slices' middles below the surface [length]
    stress: Floats  # (bins,) vertical stress [force/area]
    pressure: Floats  # (bins,) pressure on the side walls
    shear: Floats  # (bins,) shear of the side walls, upwards on the grains
    weight: Floats  # (bins,) ρ g [force/volume]
    area: float  # A of the cross-section
    perimeter: float  # P of the side walls around it; 0 where there are none
    bottom: float  # force on walls that are not upright, downwards
    carried: float  # share of the grains' weight that the bottom carries

    @property
    def k(self) -> float:
        """The ratio K of the walls' pressure to the vertical stress."""
        return _ratio(self.pressure, self.stress)

    @property
    def mobilised(self) -> float:
        """The ratio µ of the walls' shear to their pressure."""
        return _ratio(self.shear, self.pressure)

    @property
    def k_mu(self) -> float:
        """The product K µ that the walls' own forces give."""
        return _ratio(self.shear, self.stress)

    @cached_property
    def fit(self) -> tuple[float, float]:
        """The fitted 1/λ and its error [1/length]: 0 for a liquid, negative if walls push down."""
        return _fit(self.stress, self.weight, 2.0 * float(self.depth[0]))

    @property
    def k_mu_fit(self) -> float:
        """The product K µ = A/(P λ) that the fit to the stress gives."""
        return self.area * self.fit[0] / self.perimeter if self.perimeter else math.nan

    @property
    def k_mu_fit_error(self) -> float:
        """Standard error of the product K µ of the fit."""
        return self.area * self.fit[1] / self.perimeter if self.perimeter else math.nan

    @property
    def theory(self) -> Floats:
        """Janssen's stress with the fitted λ, shape (bins,)."""
        return silo.janssen_slices(self.weight, 2.0 * float(self.depth[0]), self.fit[0])


def janssen_profile(source: Source, frames: Sequence[int] | None = None, bins: int = 20) -> Janssen:
    """Vertical stress and the walls' forces against depth, averaged over frames.

    By default it is that of the last frame. Gravity must be along an axis, and the packing between
    planes or in an upright cylinder.
    """
    if bins < 2:
        raise InputError(f"bins is {bins}; give at least 2")
    which = (-1,) if frames is None else frames
    found = [_column(snap, bins) for snap in moments(source, which, contacts=True)]
    return Janssen(
        *(np.mean([getattr(f, part.name) for f in found], axis=0) for part in fields(Janssen))
    )


def _column(snap: Snapshot, bins: int) -> Janssen:
    """The slices of one moment."""
    g = snap.model.gravity
    if np.count_nonzero(g) != 1:
        raise InputError(f"gravity is {g.tolist()}; Janssen's law needs it along one axis")
    a = int(np.flatnonzero(g)[0])
    down = math.copysign(1.0, g[a])
    area, perimeter, side = _upright(snap, a)
    floor = min(-down * end[a] for end in as_region(snap).bounds)
    up = -down * np.eye(snap.dim)[a]
    top = float((snap.reach(up) - down * snap.position[:, a]).max())
    edges = np.linspace(0.0, top - floor, bins + 1)  # depths below the surface
    cuts = down * (edges - top)  # the same cuts as coordinates along the axis
    sigma, filled = np.array([_slice(snap, a, pair) for pair in itertools.pairwise(cuts)]).T
    density = filled * snap.mass.sum() / (snap.volume.sum() * area * edges[1])
    sums = slices(snap, side, lambda x: top + down * x[:, a], edges)
    press, shear = sums[:, 0], sums[:, 1 + a]  # upright walls press at right angles to axis a
    face = perimeter * float(edges[1]) if perimeter else math.inf
    bottom = down * float(np.delete(wall_loads(snap)[0][:, a], side).sum())
    return Janssen(
        0.5 * (edges[1:] + edges[:-1]),
        sigma,
        press / face,
        down * shear / face,
        density * abs(g[a]),
        area,
        perimeter,
        bottom,
        bottom / float(snap.mass.sum() * abs(g[a])),
    )


def _slice(snap: Snapshot, a: int, ends: tuple[float, float]) -> tuple[float, float]:
    """Vertical stress of a slice across axis a, and the volume of grains in it."""
    region = as_region(snap)
    low, high = min(ends), max(ends)
    if isinstance(region, Block):
        floor, top = region.low.copy(), region.high.copy()
        floor[a], top[a] = low, high
        part: Block | Tube = Block(floor, top)
    else:
        assert isinstance(region, Tube)
        middle = region.center.copy()
        middle[a] = 0.5 * (low + high)
        part = Tube(middle, region.axis, region.radius, high - low)
    return float(stress_tensor(snap, region=part)[a, a]), float(content(snap, part).sum())


def _upright(snap: Snapshot, a: int) -> tuple[float, float, NDArray[np.int64]]:
    """Area and perimeter of the cross-section, and the numbers of the upright walls."""
    kind, _, axis, size, _ = snap.walls
    upright = (kind == PLANE) & (np.abs(axis[:, a]) < UPRIGHT)
    tube = (kind == INSIDE) & (np.abs(axis[:, a]) > 1.0 - UPRIGHT) & (snap.dim == 3)
    region = as_region(snap)
    if isinstance(region, Tube) and tube.any():
        radius = float(size[tube][0])
        return math.pi * radius**2, 2.0 * math.pi * radius, np.flatnonzero(tube)
    if not isinstance(region, Block):
        raise InputError("Janssen's law needs upright walls: planes, or a cylinder along gravity")
    extent = region.high - region.low
    others = [b for b in range(snap.dim) if b != a]
    perimeter = 0.0
    for w in np.flatnonzero(upright):
        across = [b for b in others if abs(axis[w, b]) < 0.5]
        perimeter += float(np.prod(extent[across]))
    return float(np.prod(extent[others])), perimeter, np.flatnonzero(upright)


def _ratio(part: Floats, whole: Floats) -> float:
    return float(part.sum() / whole.sum()) if whole.sum() > 0.0 else math.nan


def _fit(sigma: Floats, weight: Floats, thickness: float) -> tuple[float, float]:
    """Fit 1/λ of Janssen's law by least squares; returns it and its standard error."""
    from scipy.optimize import least_squares

    height = thickness * sigma.size
    scale = thickness * float(weight.sum())

    def misfit(x: Floats) -> Floats:
        return (silo.janssen_slices(weight, thickness, float(x[0]) / height) - sigma) / scale

    if not scale > 0.0:
        return math.nan, math.nan
    found = least_squares(misfit, [1.0], bounds=(-50.0, 1e4))
    curvature = float(np.square(found.jac).sum())
    error = math.sqrt(2.0 * found.cost / (sigma.size - 1) / curvature) if curvature else math.nan
    return float(found.x[0]) / height, error / height


# ---------------------------------------------------------------------- labelled
@of_run(
    "janssen",
    "vertical stress, wall pressure against depth; Janssen's fit; last frame",
    contacts=True,
)
def _janssen(source: Source, frames: Sequence[int] | None = None, bins: int = 20) -> xr.Dataset:
    import xarray as xr

    found = janssen_profile(source, frames, bins)
    stress = stress_units(snapshot(source).dim)
    data: dict[str, Any] = {
        name: ("depth", getattr(found, name), about(stress, words))
        for name, words in {
            "stress": "vertical stress",
            "pressure": "pressure on the side walls",
            "shear": "shear on the side walls",
            "theory": "vertical stress, Janssen's law",
        }.items()
    }
    one = {
        "k": ("1", "pressure / vertical stress"),
        "mobilised": ("1", "shear / pressure on the walls"),
        "k_mu": ("1", "K µ of the walls' forces"),
        "k_mu_fit": ("1", "K µ fitted to the stress"),
        "k_mu_fit_error": ("1", "its standard error"),
        "bottom": ("force", "force on the bottom"),
        "carried": ("1", "share of the weight on the bottom"),
    }
    data |= {
        name: ((), getattr(found, name), about(units, words))
        for name, (units, words) in one.items()
    }
    depth = ("depth", found.depth, about("length", "depth"))
    return xr.Dataset(data, {"depth": depth})
