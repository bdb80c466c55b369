"""The narrow phase of grains that are not round, as kernels that others call by their address.

It is compiled only where a scene has such grains, or meshes: a kernel that calls it by its name
would be compiled together with it, for every scene.
"""

from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np

from hardgrain.addresses import NOWHERE, Address, address_of, by_address
from hardgrain.core.meshes import Meshes
from hardgrain.core.model import Floats, Ints, Model
from hardgrain.core.solids import Solids
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.mesh import mesh_rows
from hardgrain.cpu.placing import features, placed, with_wall_shapes
from hardgrain.cpu.points import contact_points
from hardgrain.point.placed import Placed, ShapedBodies

__all__ = ["NarrowPhase", "contact_points_at", "placed_at"]


class NarrowPhase(NamedTuple):
    """The shapes of all bodies as the narrow phase reads them, and where its kernels lie."""

    solids: Solids  # of grains, and of walls after them; empty where all grains are round
    number: Ints  # (n,) of grains throughout a run, whatever their rows
    meshes: Meshes  # of walls
    features: int  # contact points that two parts can have in the course of time
    placed: Address  # of `cpu.placing.placed`; none where all grains are round
    contact_points: Address  # of `cpu.points.contact_points`, likewise
    mesh_rows: Address  # of `cpu.mesh.mesh_rows`; none where no wall is a mesh

    @classmethod
    def of(cls, model: Model) -> NarrowPhase:
        """That of a model, kept for the next who asks; what there is need of is compiled."""
        if _KEPT and _KEPT[0][0]() is model:
            return _KEPT[0][1]
        made = cls._of(model)
        _KEPT[:] = [(weakref.ref(model), made)]
        return made

    @classmethod
    def _of(cls, model: Model) -> NarrowPhase:
        if model.round or model.elastic is not None:  # `contact.surfaces` finds its own points
            return cls(model.solids, model.id, model.meshes, 0, NOWHERE, NOWHERE, NOWHERE)
        solids = with_wall_shapes(model.solids, model.dim)
        count = features(solids)
        x, none = np.zeros((model.bodies, model.dim)), np.zeros(0, np.int32)
        turned, flat = np.zeros((model.bodies, 1 if model.dim == 2 else 4)), x[model.n :]
        walls = Walls(model.wall_kind, flat, flat, model.wall_size, flat)
        bodies = ShapedBodies(
            x, model.id, model.periodic, walls, solids, _EXAMPLE, count, model.meshes
        )
        like = (none, none, bodies, np.zeros(model.bodies))
        return cls(
            solids, model.id, model.meshes, count, address_of(placed, solids, turned, walls),
            address_of(contact_points, *like),
            address_of(mesh_rows, *like) if model.meshes.item.size > 0 else NOWHERE,
        )  # fmt: skip

    def bodies(
        self, position: Floats, orientation: Floats, periodic: Floats, walls: Walls
    ) -> ShapedBodies:
        """All bodies where they are."""
        there = placed(self.solids, orientation, walls)
        return ShapedBodies(
            position, self.number, periodic, walls, self.solids, there, self.features, self.meshes,
            self.mesh_rows,
        )  # fmt: skip


# Of the model that was asked for last: addresses hold in one process and in no copy of a model.
_KEPT: list[tuple[weakref.ref[Model], NarrowPhase]] = []

_LONG, _SHORT, _FLOATS = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
_ROWS = np.zeros((0, 0))
_EXAMPLE = Placed(
    _SHORT, _FLOATS, _FLOATS, _SHORT, _SHORT, _ROWS, _ROWS, _SHORT, _ROWS, _ROWS
)  # fmt: skip
placed_at = by_address(placed, answer=_EXAMPLE)
contact_points_at = by_address(contact_points, answer=(_LONG, _SHORT, _ROWS, _FLOATS, _ROWS, _ROWS))
