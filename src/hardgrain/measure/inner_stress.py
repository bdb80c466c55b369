"""Stress in grains that deform, as labelled data; `deformed` says what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.deformed import Deformed
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import stress_units

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["element_stress"]


def element_stress(source: Source, frame: int = -1) -> Deformed:
    """The mesh of all grains that deform, with the stress of each element (e, 3, 3)."""
    mesh = snapshot(source, frame).mesh
    if mesh is None:
        raise InputError("no grain of this run deforms; element-stress needs scene.grains.elastic")
    return mesh


@of_frame("element-stress", "stress and energy in each element of grains that deform", small=False)
def _element_stress(snap: Snapshot) -> xr.Dataset:
    import xarray as xr

    mesh, units = element_stress(snap), stress_units(snap.dim)
    middle = mesh.nodes_at(snap.wrapped)[mesh.element].mean(axis=1)
    what = "area at rest" if snap.dim == 2 else "volume at rest"
    vector, tensor = ("element", "component"), ("element", "component", "direction")
    data: dict[str, Any] = {
        "grain": ("element", snap.id[mesh.grain], about("1", "number of the grain")),
        "von_mises": ("element", mesh.von_mises, about(units, "von Mises stress")),
        "pressure": ("element", mesh.pressure, about(units, "pressure")),
        "energy_density": ("element", mesh.energy, about(units, "elastic energy density")),
        "volume": ("element", mesh.at_rest, about(f"length^{snap.dim}", what)),
        "place": (
            vector, np.pad(middle, ((0, 0), (0, 3 - snap.dim))), about("length", "middle")
        ),
        "stress": (tensor, mesh.stress, about(units, "stress, compression positive")),
    }  # fmt: skip
    coords = {"element": np.arange(len(mesh.grain)), "component": axes(3), "direction": axes(3)}
    return xr.Dataset(data, coords)
