"""Stress: of the packing in a region, and of every grain.

Compression is positive. A contact is a line along which its force F (on the second body) passes
from the first centre x to the second one, or to a wall; its branch l is that line. Momentum that
crosses matter in this way makes the stress of a region Ω of volume V

    σ_ab = 1/V [ Σ_c s_c F_a l_b + Σ_i m_i v'_a v'_b ],

the exact mean over Ω of Irving & Kirkwood's stress: s_c is the part of the line within Ω, v' what a
grain in Ω moves beyond their mean velocity. The first index is the force's. In a packing at rest it
is the force through a cut per area: under a piston σ_yy is its force over its width.

A grain's own stress (Love 1892, Weber 1966) takes the part of the line that lies within it, from
its centre to the contact point, the middle of the gap: V_i σ_i = Σ F_a r n_b. Summed over all
grains this is the stress of the packing. Antisymmetric parts are couples: V_i (σ_xy − σ_yx) is the
torque of the contact forces on the grain, zero at rest unless contacts resist rolling.

Grains that touch in a face act on each other with a force at its centre and a moment about it
(`resultants`). The stress takes that force, so that it does not depend on how the points of the
face share it, which nothing determines; the moment is a couple, as that of rolling resistance.
Where grains deform, every point of a contact bears a force that is determined, and counts as such:
the stress of such a grain is the mean over its volume of that within it (`deformed`).

Normals and gaps are those at the start of the last step, and so are the centres here, x − v dt
(`Snapshot.origin`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.region import Ball, Block, Region, as_region, images
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.voronoi import cells

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "Invariants",
    "clip",
    "grain_stress",
    "invariants",
    "slabs",
    "stress_tensor",
]


# ---------------------------------------------------------------------- lines of force
def clip(region: Region, begin: Floats, branch: Floats) -> tuple[Floats, Floats]:
    """Where lines begin + s branch, 0 ≤ s ≤ 1, enter and leave a region, (m,) each; s0 = s1: no."""
    if isinstance(region, Block):
        return slabs(begin, branch, region.low, region.high)
    x = begin - region.center
    if isinstance(region, Ball):
        return _round(x, branch, region.radius, 0.0, 1.0)
    half = 0.5 * region.length
    height, rise = x @ region.axis, branch @ region.axis
    ends = slabs(height[:, None], rise[:, None], np.array([-half]), np.array([half]))
    across = [v - h[:, None] * region.axis for v, h in ((x, height), (branch, rise))]
    return _round(across[0], across[1], region.radius, *ends)


def slabs(begin: Floats, branch: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same for a block; a line along a face of it lies inside at the lower face only."""
    s0, s1 = np.zeros(len(begin)), np.ones(len(begin))
    for x, l, least, most in zip(begin.T, branch.T, low, high):
        along = l == 0.0
        step = np.where(along, 1.0, l)
        ends = np.sort([(least - x) / step, (most - x) / step], axis=0)
        outside = along & ((x < least) | (x >= most))
        s0 = np.where(along, s0, np.maximum(s0, ends[0]))
        s1 = np.where(along, np.where(outside, 0.0, s1), np.minimum(s1, ends[1]))
    return s0, np.maximum(s0, s1)


def _round(
    x: Floats, l: Floats, radius: float, s0: Floats | float, s1: Floats | float
) -> tuple[Floats, Floats]:
    """Between s0 and s1, where |x + s l| < radius: a quadratic equation."""
    a, b, c = (np.einsum("ka,ka->k", u, v) for u, v in ((l, l), (x, l), (x, x)))
    root = np.sqrt(np.maximum(b * b - a * (c - radius**2), 0.0))
    still = a == 0.0
    step = np.where(still, 1.0, a)
    enter = np.where(still, 0.0, (-b - root) / step)
    leave = np.where(still, (c < radius**2).astype(float), (-b + root) / step)
    s0, s1 = np.maximum(s0, enter), np.minimum(s1, leave)
    return s0, np.maximum(s0, s1)


# ---------------------------------------------------------------------- stress
def _acting(snap: Snapshot) -> Snapshot:
    """The moment with contacts as the stress takes them: forces that are determined."""
    return seen(snap, None if snap.mesh is None else "point")


def stress_tensor(
    source: Source, frame: int = -1, region: Any = None, *, kinetic: bool = True
) -> Floats:
    """σ of a region, (dim, dim) [force/length in 2D, force/area in 3D]; compression is positive.

    ``region``: two corners or a `region.Region`; else that of the scene
    (`region.natural_region`). ``kinetic``: with the part that moving grains carry.
    """
    snap = _acting(snapshot(source, frame))
    where = as_region(snap, region)
    branch, force = snap.branch, snap.force
    total = np.zeros((snap.dim, snap.dim))
    reach = float(np.abs(branch).max(initial=0.0))
    for shift in images(snap, where, reach):
        s0, s1 = clip(where, snap.origin + shift, branch)
        total += np.einsum("k,ka,kb->ab", s1 - s0, force, branch)
    if kinetic:
        total += _kinetic(snap, where)
    return total / where.volume


def _kinetic(snap: Snapshot, region: Region) -> Floats:
    """Σ m v' v' of the grains in a region, (dim, dim)."""
    count = np.zeros(snap.n)
    for shift in images(snap, region, 0.0):
        count += region.holds(snap.upright + shift)
    m, v = count * snap.mass, snap.velocity
    if not m.any():
        return np.zeros((snap.dim, snap.dim))
    v = v - m @ v / m.sum()
    moved: Floats = np.einsum("i,ia,ib->ab", m, v, v)
    return moved


def grain_stress(source: Source, frame: int = -1, volume: ArrayLike | None = None) -> Floats:
    """σ of every grain, (n, dim, dim); per the grain's own volume, or that given, shape (n,).

    With volumes of Voronoi cells (`voronoi.cells`) the mean over cells is that of the packing;
    grains without one, of zero volume, have none: NaN.
    """
    snap = _acting(snapshot(source, frame))
    c, n = snap.contacts, snap.n
    grain = c.second < n
    # each body's part of the branch: its arm, and half of the gap between two grains
    gap = (np.where(grain, 0.5, 1.0) * c.gap)[:, None] * c.normal
    total = np.zeros((n, snap.dim, snap.dim))
    np.add.at(total, c.first, snap.force[:, :, None] * (c.arm_first + gap)[:, None, :])
    branch = (gap - c.arm_second)[grain]
    np.add.at(total, c.second[grain], snap.force[grain, :, None] * branch[:, None, :])
    own = snap.volume if volume is None else np.asarray(volume, dtype=float)
    if own.shape != (n,) or not (own >= 0.0).all():
        raise InputError(f"volume has the shape {own.shape}; give {n} volumes, one a grain")
    return total / np.where(own > 0.0, own, math.nan)[:, None, None]


@dataclass(frozen=True)
class Invariants:
    """What does not depend on the axes; of a single tensor or of an array of them."""

    pressure: Floats  # mean of the principal stresses
    deviator: Floats  # 2D: (σ_1 − σ_2)/2; 3D: √(3/2 s:s), s the traceless part
    friction_angle: Floats  # arcsin (σ_1 − σ_min)/(σ_1 + σ_min) [rad]; NaN where it has no sense
    principal: Floats  # (…, dim) principal stresses, the greatest first
    directions: Floats  # (…, dim, dim) their unit vectors, one a row

    @property
    def angle(self) -> Floats:
        """2D: of the major direction against x, from −π/2 to π/2 [rad]."""
        e = self.directions[..., 0, :]
        angle: Floats = np.arctan(e[..., 1] / np.where(e[..., 0] == 0.0, 1e-300, e[..., 0]))
        return angle


def invariants(tensor: ArrayLike) -> Invariants:
    """Pressure, deviator, mobilised friction and principal axes of stress tensors (…, dim, dim)."""
    sigma = np.asarray(tensor, dtype=float)
    known = np.isfinite(sigma).all(axis=(-1, -2), keepdims=True)
    sigma = np.where(known, sigma, 0.0)
    value, vector = np.linalg.eigh(0.5 * (sigma + np.swapaxes(sigma, -1, -2)))
    value = np.where(known[..., 0], value, math.nan)
    value, vector = value[..., ::-1], np.swapaxes(vector[..., ::-1], -1, -2)
    pressure = value.mean(axis=-1)
    most, least = value[..., 0], value[..., -1]
    if sigma.shape[-1] == 2:
        deviator = 0.5 * (most - least)
    else:
        deviator = np.sqrt(1.5 * np.square(value - pressure[..., None]).sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (most - least) / (most + least)
        angle = np.arcsin(np.where(np.abs(ratio) <= 1.0, ratio, math.nan))
    return Invariants(pressure, deviator, angle, value, vector)


# ---------------------------------------------------------------------- labelled
def stress_units(dim: int) -> str:
    return "force/length" if dim == 2 else "force/length^2"


@of_frame("stress", "stress tensor of a region, its pressure, deviator, friction", contacts=True)
def _stress(snap: Snapshot, region: Any = None) -> xr.Dataset:
    import xarray as xr

    where, units = as_region(snap, region), stress_units(snap.dim)
    kinetic = _kinetic(snap, where) / where.volume
    sigma = stress_tensor(snap, region=where, kinetic=False) + kinetic
    found = invariants(sigma)
    tensor = ("component", "direction")
    data: dict[str, Any] = {
        "pressure": ((), found.pressure, about(units, "pressure")),
        "deviator": ((), found.deviator, about(units, "deviatoric stress")),
        "friction_angle": (
            (), found.friction_angle, about("radian", "mobilised friction angle")
        ),
        "stress": (tensor, sigma, about(units, "stress, compression positive")),
        "kinetic": (tensor, kinetic, about(units, "part of it carried by moving grains")),
        "principal": ("rank", found.principal, about(units, "principal stresses")),
        "major_direction": (
            "component", found.directions[0], about("1", "direction of the major principal stress")
        ),
    }  # fmt: skip
    coords = {
        "component": axes(snap.dim),
        "direction": axes(snap.dim),
        "rank": range(1, snap.dim + 1),
    }
    return xr.Dataset(data, coords)


@of_frame(
    "grain-stress",
    "stress tensor of every grain; volume = grain or voronoi",
    small=False,
    contacts=True,
)
def _grain_stress(snap: Snapshot, volume: str = "grain") -> xr.Dataset:
    import xarray as xr

    if volume not in ("grain", "voronoi"):
        raise InputError(f"volume is {volume!r}; give 'grain' or 'voronoi'")
    sigma = grain_stress(snap, volume=None if volume == "grain" else cells(snap).volume)
    units = stress_units(snap.dim)
    found = invariants(sigma)
    data: dict[str, Any] = {
        "stress": (
            ("grain", "component", "direction"), sigma,
            about(units, "stress, compression positive"),
        ),
        "pressure": ("grain", found.pressure, about(units, "pressure")),
        "deviator": ("grain", found.deviator, about(units, "deviatoric stress")),
        "major": ("grain", found.principal[:, 0], about(units, "major principal stress")),
        "major_direction": (
            ("grain", "component"), found.directions[:, 0],
            about("1", "direction of the major principal stress"),
        ),
    }  # fmt: skip
    coords = {"grain": snap.id, "component": axes(snap.dim), "direction": axes(snap.dim)}
    return xr.Dataset(data, coords)
