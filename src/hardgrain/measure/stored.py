"""What a run file tells of its model, which measurements make again from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.drives import Membrane
from hardgrain.core.meshes import NO_MESHES
from hardgrain.core.model import Contacts, Ints, Model
from hardgrain.core.solids import ROUND_GRAINS
from hardgrain.errors import InputError
from hardgrain.scene.contact_rule import as_stored
from hardgrain.scene.elastic import stored_elastic
from hardgrain.scene.membrane import radius_of
from hardgrain.scene.scene import GrainArrays, Scene
from hardgrain.scene.shape_table import stored_solids
from hardgrain.scene.wall_rows import stored_meshes

__all__ = ["Run", "model_of", "understood", "with_loads"]


class Run(Protocol):
    """What is needed of a `hardgrain.RunFile`."""

    @property
    def model(self) -> Mapping[str, Any]: ...
    @property
    def header(self) -> Mapping[str, str]: ...
    @property
    def wall_names(self) -> list[str]: ...
    @property
    def history(self) -> Mapping[str, Any]: ...
    @property
    def step(self) -> NDArray[Any]: ...
    @property
    def time(self) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, k: int) -> Any: ...
    def contacts(self, k: int) -> Contacts | None: ...


@contextmanager
def understood() -> Iterator[None]:
    """Where a stored scenario is read: what is missing in it, or of another kind, is said."""
    try:
        yield
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        raise InputError("the scenario in this run file is not one of hardgrain") from None


def model_of(run: Run) -> Model:
    """All grains that a run ever has, and its walls; without drives and pressures."""
    held = dict(run.model)
    rule = as_stored if len(held["named_laws"]) else None
    shape, solids, meshes = held.pop("shape"), ROUND_GRAINS, NO_MESHES
    names = tuple(run.wall_names)
    membrane = None
    with understood():
        scenario = json.loads(run.header["scenario"])
        if shape.size:
            solids = stored_solids(scenario, shape, held["radius"])
            meshes = stored_meshes(scenario["scene"]["walls"], names)
        elastic = stored_elastic(scenario, solids, held)
        around = scenario["scene"].get("membrane")
        if around is not None:
            membrane = Membrane(radius_of(around["radius"], held["radius"]))
    return Model(
        **held, solids=solids, meshes=meshes, wall_names=names, rule=rule, membrane=membrane,
        elastic=elastic,
    )  # fmt: skip


def with_loads(model: Model, scenario: Mapping[str, Any]) -> Model:
    """The model with the drives and pressures of its scenario."""
    rest = np.zeros((model.n, model.dim))
    spin = np.zeros((model.n, model.inv_inertia.shape[1]))
    grains = GrainArrays(rest, model.radius, rest, spin, model.group, shape=_shape(model))
    scene = {**scenario["scene"], "contacts": [], "contact_rule": None}  # loads need no laws
    try:
        made, _ = Scene.model_validate(scene).build(scenario["seed"], grains)
    except ValueError:
        raise InputError(
            "the loads of this run cannot be made again from its file, as where a scene holds"
            " Python functions; measure the simulation as it runs"
        ) from None
    loads = ("drives", "pressures", "membrane", "locks", "stresses", "cell_walls")
    return replace(model, **{name: getattr(made, name) for name in loads})


def _shape(model: Model) -> Ints | None:
    return None if model.round else model.shape
