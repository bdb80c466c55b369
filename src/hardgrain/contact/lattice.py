"""How places repeat, as the search for neighbours reads it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.cell import make_images
from hardgrain.core.geometry import Floats
from hardgrain.kernels import jit, scalar

__all__ = ["Lattice", "Vector", "lattice_of", "straightened"]

Vector = tuple[float, float, float]

tilts = make_images(scalar).tilts


class Lattice(NamedTuple):
    """How places repeat; see `hardgrain.core.cell`."""

    period: Vector  # zero where there is none [length]
    tilt: Vector  # yz, xz, xy [length]
    stretch: Vector  # of a distance along each axis of the cell, at most [1]


@jit
def lattice_of(cell: Floats, dim: int) -> Lattice:
    """The lattice of a cell, given by its periods alone or with tilts."""
    lx, ly, lz = cell[0], cell[1], cell[2] if dim == 3 else 0.0
    yz, xz, xy = tilts(cell, dim)
    # Rows of the inverse of h, times the periods.
    b = xy / ly if ly > 0.0 else 0.0
    c = yz / lz if lz > 0.0 else 0.0
    d = (xz - xy * yz / ly if ly > 0.0 else xz) / lz if lz > 0.0 else 0.0
    stretch = math.sqrt(1.0 + b * b + d * d), math.sqrt(1.0 + c * c), 1.0
    return Lattice((lx, ly, lz), (yz, xz, xy), stretch)


@jit
def straightened(position: Floats, n: int, lattice: Lattice) -> Floats:
    """The first n places, period × fraction along the axes of the cell, shape (n, 3)."""
    (_, ly, lz), (yz, xz, xy), _ = lattice
    along = np.zeros((n, 3))
    for i in range(n):
        for a in range(position.shape[1]):
            along[i, a] = position[i, a]
        if lz > 0.0:
            turns = along[i, 2] / lz
            along[i, 0] -= turns * xz
            along[i, 1] -= turns * yz
        if ly > 0.0:
            along[i, 0] -= along[i, 1] / ly * xy
    return along
