"""Coulomb's cone by generators, so that all forces of a contact are sums with weights x ≥ 0.

In 2D the two edges of the cone, n + µ t and n − µ t, generate it exactly: R = x₁ + x₂ and T = µ (x₁
− x₂); up to a factor x₁ and x₂ are µ R ± T of the paper. In 3D the cone is round, and k edges n + µ
ρ (cos θ_j t + sin θ_j s) generate a pyramid: inscribed for ρ = 1, circumscribed for ρ = 1/cos(π/k).
The results of both bound the truth from either side. Each pyramid is rotated so that an edge lies
along the tangential force found there, so that sliding contacts lie in the inscribed one, too.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from hardgrain.core.model import Floats
from hardgrain.errors import InputError

__all__ = ["Side", "generators"]

Side = Literal["inside", "outside"]


def generators(
    components: Floats, friction: Floats, faces: int = 8, side: Side = "inside"
) -> tuple[csr_array, int]:
    """The matrix from weights to components (dim m, k m), and k, the generators of a contact."""
    if side not in ("inside", "outside"):
        raise InputError(f"side is {side!r}; give inside or outside")
    m, dim = components.shape
    if dim == 2:
        k, across = 2, np.tile([[1.0], [-1.0]], (m, 1, 1))
    else:
        if faces < 3:
            raise InputError(f"faces is {faces}; a pyramid has at least 3")
        k = faces
        found = np.arctan2(components[:, 2], components[:, 1])
        angle = found[:, None] + 2.0 * math.pi * np.arange(k) / k
        across = np.stack([np.cos(angle), np.sin(angle)], axis=2)
        if side == "outside":
            across = across / math.cos(math.pi / k)
    column = np.arange(k * m).reshape(m, k)
    row = [np.repeat(dim * np.arange(m), k)]
    value = [np.ones(k * m)]
    for e in range(1, dim):
        row.append(np.repeat(dim * np.arange(m) + e, k))
        value.append((friction[:, None] * across[:, :, e - 1]).ravel())
    return csr_array(
        (np.concatenate(value), (np.concatenate(row), np.tile(column.ravel(), dim))),
        shape=(dim * m, k * m),
    ), k
