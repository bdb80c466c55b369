"""Mohr's circles: normal and shear stress on all planes through the sample.

On a plane with the normal n act σ_n = n·σ n and τ² = |σ n|² − σ_n². Over all planes of 2D these lie
on one circle about the mean of the principal stresses; in 3D they lie within the circle of the
greatest and the least, and outside of those of either and the one between. A line through the
origin that touches the greatest circle rises by the friction angle: Coulomb's law, just met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import invariants, stress_tensor, stress_units

if TYPE_CHECKING:
    import xarray as xr

# Ranks of the principal stresses that each circle spans, the greatest circle first.
CIRCLES = {2: ((0, 1),), 3: ((0, 2), (0, 1), (1, 2))}


@of_frame("mohr", "Mohr's circles: their centres and radii, stress on the planes", contacts=True)
def _mohr(snap: Snapshot, region: Any = None) -> xr.Dataset:
    import xarray as xr

    units, dim = stress_units(snap.dim), snap.dim
    sigma = stress_tensor(snap, region=region)
    sigma = 0.5 * (sigma + sigma.T)
    found = invariants(sigma)
    ends = np.array([[found.principal[a], found.principal[b]] for a, b in CIRCLES[dim]])
    normal = np.diag(sigma)
    shear = np.sqrt(np.maximum(np.square(sigma).sum(axis=0) - normal**2, 0.0))
    data: dict[str, Any] = {
        "centre": ("circle", ends.mean(axis=1), about(units, "centre of the circle")),
        "radius": ("circle", 0.5 * (ends[:, 0] - ends[:, 1]), about(units, "its radius")),
        "coulomb_angle": (
            (), found.friction_angle, about("radian", "friction angle, slope of the line")
        ),
        "normal_stress": (
            "component", normal, about(units, "normal stress on the plane across an axis")
        ),
        "shear_stress": (
            "component", shear, about(units, "size of the shear stress on that plane")
        ),
    }  # fmt: skip
    names = [f"{a + 1}-{b + 1}" for a, b in CIRCLES[dim]]
    return xr.Dataset(data, {"circle": names, "component": axes(dim)})
