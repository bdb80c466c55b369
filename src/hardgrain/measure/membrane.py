"""The membrane around the grains over time: what it encloses, and the stress in there.

In a packing at rest under a closed membrane the mean stress in the volume that it encloses is the
pressure, exactly (`hardgrain.step.membrane`). Between platens that holds along the axes on which
none faces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.resultants import seen as as_resultants
from hardgrain.measure.snapshot import Snapshot
from hardgrain.measure.stress import stress_units
from hardgrain.step.membrane import Surface

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["enclosed_stress", "facets_of", "membrane_of", "outline_of"]


def membrane_of(snap: Snapshot) -> Surface:
    """The membrane of a moment."""
    if snap.model.membrane is None:
        raise InputError("this scene has no membrane; scene.membrane gives it one")
    return Surface(snap.model, snap.state)


def facets_of(snap: Snapshot) -> tuple[Floats, NDArray[np.int64]]:
    """Corners of the membrane (p, dim), and its chords or triangles (k, dim) between them."""
    found = membrane_of(snap)
    used, cells = np.unique(found.facets, return_inverse=True)
    return found.place[used], cells.reshape(-1, snap.dim)


def outline_of(snap: Snapshot, along: Floats) -> Floats:
    """The edges of a membrane in 3D where it turns away from who looks along a line, (e, 2, 3).

    Its rims at the platens are among them.
    """
    found = membrane_of(snap)
    k, away = len(found.facets), found.outward @ along > 0.0
    edges = np.sort(found.facets[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    own, edge = np.unique(edges, axis=0, return_inverse=True)
    behind = np.bincount(edge.ravel(), np.repeat(away, 3), len(own))
    sides = np.bincount(edge.ravel(), minlength=len(own))
    seen: Floats = found.place[own[(sides == 1) | ((behind > 0) & (behind < sides))]]
    return seen if k else np.zeros((0, 2, 3))


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
        borne = enclosed_stress(as_resultants(snap))
        data["stress"] = (
            ("component", "direction"),
            borne,
            about(units, "mean stress in the membrane"),
        )
    return xr.Dataset(data, {"component": axes(dim), "direction": axes(dim)})
