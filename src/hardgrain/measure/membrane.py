"""The membrane around the grains over time: what it encloses, and the stress in there.

In a packing at rest under a closed membrane the mean stress in the volume that it encloses is the
pressure, exactly (`hardgrain.step.membrane`). Between platens that holds along the axes on which
none faces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import stress_units
from hardgrain.step.membrane import Surface

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["enclosed_stress", "membrane_of"]


def membrane_of(snap: Snapshot) -> Surface:
    """The membrane of a moment."""
    if snap.model.membrane is None:
        raise InputError("this scene has no membrane; scene.membrane gives it one")
    return Surface(snap.model, snap.state)


def enclosed_stress(snap: Snapshot) -> Floats:
    """(dim, dim) mean stress of the contacts in the volume that the membrane encloses."""
    load: Floats = np.einsum("ka,kb->ab", snap.force, snap.branch)
    return load / (membrane_of(snap).volume or np.nan)


# ---------------------------------------------------------------------- by name
@of_frame("membrane", "the membrane: the volume in it, its area, the stress that contacts bear")
def _membrane(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    found, dim = membrane_of(snap), snap.dim
    data: dict[str, Any] = {
        "volume": ((), found.volume, about(f"length^{dim}", "volume that the membrane encloses")),
        "area": ((), found.area, about(f"length^{dim - 1}", "area of the membrane")),
        "grains": ((), found.grains.size, about("1", "grains that the membrane lies on")),
    }
    if snap.stored:
        units = stress_units(dim)
        borne = enclosed_stress(seen(snap))
        data["stress"] = (
            ("component", "direction"),
            borne,
            about(units, "mean stress in the membrane"),
        )
    return xr.Dataset(data, {"component": axes(dim), "direction": axes(dim)})
