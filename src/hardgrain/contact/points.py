"""The narrow phase of grains that are not round, as kernels that others call by their address.

It is compiled only where a scene has such grains: a kernel that calls it by its name would be
compiled together with it, for every scene.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.addresses import Address, address_of, by_address
from hardgrain.core.meshes import Meshes
from hardgrain.core.model import Ints, Model
from hardgrain.core.solids import Solids
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.placing import features, placed, with_wall_shapes
from hardgrain.cpu.points import contact_points
from hardgrain.point.placed import Placed, ShapedBodies

__all__ = ["Figures", "contact_points_at", "placed_at"]


class Figures(NamedTuple):
    """The shapes of all bodies as the narrow phase reads them."""

    solids: Solids  # of grains, and of walls after them; empty where all grains are round
    number: Ints  # (n,) of grains throughout a run, whatever their rows
    meshes: Meshes  # of walls
    features: int  # contact points that two parts can have in the course of time
    placed: Address  # of `cpu.placing.placed`; none where all grains are round
    contact_points: Address  # of `cpu.points.contact_points`, likewise

    @classmethod
    def of(cls, model: Model) -> Figures:
        """Those of a model; the narrow phase is compiled if there is need of it."""
        nowhere = Address(0, 0)
        if model.round:
            return cls(model.solids, model.id, model.meshes, 0, nowhere, nowhere)
        solids = with_wall_shapes(model.solids, model.dim)
        count = features(solids)
        x, none = np.zeros((model.bodies, model.dim)), np.zeros(0, np.int32)
        turned, flat = np.zeros((model.bodies, 1 if model.dim == 2 else 4)), x[model.n :]
        walls = Walls(model.wall_kind, flat, flat, model.wall_size, flat)
        bodies = ShapedBodies(
            x, model.id, model.periodic, walls, solids, _EXAMPLE, count, model.meshes
        )
        return cls(
            solids, model.id, model.meshes, count, address_of(placed, solids, turned, walls),
            address_of(contact_points, none, none, bodies, np.zeros(model.bodies)),
        )  # fmt: skip


_LONG, _SHORT, _FLOATS = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
_ROWS = np.zeros((0, 0))
_EXAMPLE = Placed(
    _SHORT, _FLOATS, _FLOATS, _SHORT, _SHORT, _ROWS, _ROWS, _SHORT, _ROWS, _ROWS
)  # fmt: skip
placed_at = by_address(placed, answer=_EXAMPLE)
contact_points_at = by_address(contact_points, answer=(_LONG, _SHORT, _ROWS, _FLOATS, _ROWS, _ROWS))
