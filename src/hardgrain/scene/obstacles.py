"""What is in the way where grains are placed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.core.meshes import NO_MESHES, Meshes
from hardgrain.core.wall_kinds import Walls

__all__ = ["Obstacles"]


class Obstacles(NamedTuple):
    """Walls where they are, and the triangles of those that are meshes."""

    walls: Walls
    meshes: Meshes = NO_MESHES

    @classmethod
    def none(cls, dim: int) -> Obstacles:
        """Nothing is in the way."""
        flat = np.zeros((0, dim))
        return cls(Walls(np.zeros(0, np.int32), flat, flat, np.zeros(0), flat))
