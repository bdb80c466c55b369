"""Quantities of a state or a run: plain functions, and by name as labelled data.

    import hardgrain as hg

    with hg.RunFile("silo.h5") as run:
        hg.measure.stress_tensor(run)                 # of the last frame, an array
        hg.measure.measure(run, "stress").pressure    # of all frames, xarray

Functions take a run file and a frame, a simulation or a `Snapshot`. A function that is called like
its module is reached through it: ``hg.measure.fabric.fabric``. Names are imported when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any
from warnings import warn

from hardgrain.lazy import lazy

# For each public name, the module that defines it.
_PUBLIC = {
    "Ball": "region",
    "Block": "region",
    "Snapshot": "snapshot",
    "Tube": "region",
    "alignment": "orientation",
    "angular_momentum": "energy",
    "balance": "energy",
    "bond_order": "order",
    "cells": "voronoi",
    "clusters": "structure",
    "contact_numbers": "structure",
    "contact_stress_field": "coarse",
    "coordination": "structure",
    "dissipation": "losses",
    "element_stress": "inner_stress",
    "fields": "flow",
    "flow_rate": "flow",
    "force_chains": "chains",
    "force_distribution": "force_statistics",
    "force_fabric": "fabric",
    "force_networks": "force_statistics",
    "friction_mobilisation": "force_statistics",
    "grain_stress": "stress",
    "granular_temperature": "energy",
    "grid_of": "coarse",
    "invariants": "stress",
    "isostaticity": "structure",
    "janssen_profile": "janssen",
    "kinetic_energy": "energy",
    "local_packing_fraction": "voronoi",
    "mean_square_displacement": "displacement",
    "mobility": "displacement",
    "measure": "catalogue",
    "momentum": "energy",
    "natural_region": "region",
    "non_affine": "displacement",
    "orientation_order": "orientation",
    "overlap_distribution": "overlaps",
    "packing_fraction": "structure",
    "pair_correlation": "correlation",
    "potential_energy": "energy",
    "quantities": "catalogue",
    "rattlers": "structure",
    "response": "element",
    "rotational_energy": "energy",
    "sliding": "structure",
    "snapshots": "snapshot",
    "steinhardt": "order",
    "stress_tensor": "stress",
    "wall_force": "wall_forces",
    "wall_loads": "wall_energy",
    "wall_power": "wall_energy",
    "wall_work": "wall_energy",
    "wall_profile": "wall_forces",
}

__all__ = [*_PUBLIC]

_find = lazy(__name__, _PUBLIC)

# Names that have moved to a package of their own; they still work here for one minor version.
_MOVED = {"Packing": "forces", "force_space": "forces"}


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        home = f"hardgrain.{_MOVED[name]}"
        warn(f"hardgrain.measure.{name} is now {home}.{name}", DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), name)
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:  # the same names, for type checkers and editors
    # ruff: noqa: F401
    from hardgrain.measure.catalogue import measure, quantities
    from hardgrain.measure.chains import force_chains
    from hardgrain.measure.coarse import contact_stress_field, grid_of
    from hardgrain.measure.correlation import pair_correlation
    from hardgrain.measure.displacement import mean_square_displacement, mobility, non_affine
    from hardgrain.measure.element import response
    from hardgrain.measure.energy import (
        angular_momentum,
        balance,
        granular_temperature,
        kinetic_energy,
        momentum,
        potential_energy,
        rotational_energy,
    )
    from hardgrain.measure.fabric import force_fabric
    from hardgrain.measure.flow import fields, flow_rate
    from hardgrain.measure.force_statistics import (
        force_distribution,
        force_networks,
        friction_mobilisation,
    )
    from hardgrain.measure.inner_stress import element_stress
    from hardgrain.measure.janssen import janssen_profile
    from hardgrain.measure.losses import dissipation
    from hardgrain.measure.order import bond_order, steinhardt
    from hardgrain.measure.orientation import alignment, orientation_order
    from hardgrain.measure.overlaps import overlap_distribution
    from hardgrain.measure.region import Ball, Block, Tube, natural_region
    from hardgrain.measure.snapshot import Snapshot, snapshots
    from hardgrain.measure.stress import grain_stress, invariants, stress_tensor
    from hardgrain.measure.structure import (
        clusters,
        contact_numbers,
        coordination,
        isostaticity,
        packing_fraction,
        rattlers,
        sliding,
    )
    from hardgrain.measure.voronoi import cells, local_packing_fraction
    from hardgrain.measure.wall_energy import wall_loads, wall_power, wall_work
    from hardgrain.measure.wall_forces import wall_force, wall_profile
