"""What the functions of one contact are given, as records.

This file is part of what kernels are compiled from: a change of a record compiles them anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.wall_kinds import Walls

__all__ = ["Given", "Motion", "RoundBodies", "Sites"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Sites(NamedTuple):
    """Where round grains and walls are; walls are the last bodies."""

    position: Floats  # (nb, dim) [length]; rows of walls are not read
    radius: Floats  # (n,) [length]
    periodic: Floats  # (dim,) periods, zero where there is none, or with tilts: `core.cell`
    walls: Walls


class RoundBodies(NamedTuple):
    """What the row of a contact between round bodies depends on."""

    position: Floats  # (nb, dim) [length]
    radius: Floats  # (n,) [length]
    periodic: Floats  # (dim,) [length]
    material: Ints  # (nb,)
    materials: int  # how many there are


class Motion(NamedTuple):
    """How bodies move and how hard they are to move; see `hardgrain.solve.problem.Problem`."""

    velocity: Floats
    spin: Floats
    velocity_before: Floats
    spin_before: Floats
    inv_mass: Floats
    inv_inertia: Floats


class Given(NamedTuple):
    """What a contact problem is packed from."""

    rows: ContactRows
    motion: Motion
    laws: Floats  # (rows, N_PARAMETERS), see `hardgrain.core.lawtable`
    dt: float  # [time]
    remove_overlaps: bool  # shock law with g in place of g⁺
