"""The narrow phase of grains that are not round, as one kernel that others call by its address."""

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
from hardgrain.kernels import jit, types
from hardgrain.point.placed import ShapedBodies

__all__ = ["Figures", "shaped_points", "shaped_points_at"]


class Figures(NamedTuple):
    """The shapes of all bodies as the narrow phase reads them."""

    solids: Solids  # of grains, and of walls after them; empty where all grains are round
    number: Ints  # (n,) of grains throughout a run, whatever their rows
    meshes: Meshes  # of walls
    features: int  # contact points that two parts can have in the course of time
    kernel: Address  # of `shaped_points`; none where all grains are round

    @classmethod
    def of(cls, model: Model) -> Figures:
        """Those of a model; the narrow phase is compiled if there is need of it."""
        if model.round:
            return cls(model.solids, model.id, model.meshes, 0, Address(0, 0))
        solids = with_wall_shapes(model.solids, model.dim)
        figures = cls(solids, model.id, model.meshes, features(solids), Address(0, 0))
        x, none = np.zeros((model.bodies, model.dim)), np.zeros(0, np.int32)
        turned, flat = np.zeros((model.bodies, 1 if model.dim == 2 else 4)), x[model.n :]
        walls = Walls(model.wall_kind, flat, flat, model.wall_size, flat)
        examples = none, none, np.zeros(model.bodies), x, turned, model.periodic, walls, figures
        return figures._replace(kernel=address_of(shaped_points, *examples))


@jit
def shaped_points(first, second, reach, position, orientation, periodic, walls, figures):  # type: ignore[no-untyped-def]
    """Contact points of listed pairs (p,) whose gap is below the sum of their reaches.

    Returns the row of the pair in the list, feature, normal, gap and both arms of each; rows of a
    pair are in the order of their features.
    """
    bodies = ShapedBodies(
        position, figures.number, periodic, walls, figures.solids,
        placed(figures.solids, orientation, walls), figures.features, figures.meshes,
    )  # fmt: skip
    return contact_points(first, second, bodies, reach)


vectors = types.float64[:, ::1]
shaped_points_at = by_address(
    shaped_points,
    answer=types.Tuple(
        (types.int64[::1], types.int32[::1], vectors, types.float64[::1], vectors, vectors)
    ),
)
