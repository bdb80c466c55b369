"""Narrow phase of one pair: the gap between two bodies, and the normal from first to second."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.cell import make_images
from hardgrain.core.geometry import TINY, make_wall_gap


@cache
def make_pair(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the narrow phase of one pair with ``jit``."""
    images, wall_gap = make_images(jit), make_wall_gap(jit)
    nearest, tilts = images.nearest, images.tilts

    @jit
    def grain_gap(x, y, z, contact, limit):
        """Gap and normal of two grains, (x, y, z) apart; they touch at the distance ``contact``.

        The gap is infinite where it is not below ``limit``; the normal of coincident grains is x̂.
        """
        d2 = x * x + y * y + z * z
        if not d2 < (contact + limit) ** 2:
            return math.inf, 1.0, 0.0, 0.0
        d = math.sqrt(d2)
        if d > TINY:
            return d - contact, x / d, y / d, z / d
        return d - contact, 1.0, 0.0, 0.0

    @jit
    def pair_gap(sites, i, j, limit):
        """Gap between grain i and body j, and the unit normal from i to j, its z zero in 2D.

        A gap between grains that is not below ``limit`` [length] is given as infinite.
        """
        n = sites.radius.shape[0]
        if j < n:
            last = sites.position.shape[1] - 1
            solid = last - 1  # 1 in 3D; 0 in 2D, where nothing has a z
            x, y = (
                sites.position[j, 0] - sites.position[i, 0],
                sites.position[j, 1] - sites.position[i, 1],
            )
            z = solid * (sites.position[j, last] - sites.position[i, last])
            cell = sites.periodic
            period = cell[0], cell[1], solid * cell[last]
            x, y, z = nearest(x, y, z, period, tilts(cell, last + 1))
            found = grain_gap(x, y, z, sites.radius[i] + sites.radius[j], limit)
        else:
            found = wall_gap(sites.position, i, sites.radius[i], sites.periodic, sites.walls, j - n)
        return found

    return SimpleNamespace(grain_gap=grain_gap, pair_gap=pair_gap)
