"""The rank of a large sparse matrix, by counting, and vectors of its null space."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from hardgrain.scene.model import Floats

__all__ = ["null_vector", "rank"]

_DENSE = 400  # rows up to which singular values are computed
_SMALL = 1e-9  # singular values below this share of the largest count as zero


def rank(a: Any) -> int:
    """Rank of a sparse matrix.

    Few rows: by singular values. Many: of a aᵀ − σ² the pivots have as many negative signs as a has
    singular values below σ (Sylvester's law of inertia), and a sparse factorisation without row
    exchanges finds them.
    """
    if a.shape[0] > a.shape[1]:
        a = a.T
    rows = a.shape[0]
    if rows == 0:
        return 0
    if rows <= _DENSE:
        values = np.linalg.svd(a.toarray(), compute_uv=False)
        return int((values > _SMALL * max(values[0], 1e-300)).sum())
    # σ: far above rounding of the square, √(10⁻¹⁶), far below the softest mode
    below = int((_factors(a, -1e-13).U.diagonal() < 0.0).sum())
    return int(rows - below)


def null_vector(a: Any, seed: int = 0) -> Floats:
    """A random vector of the null space of a sparse matrix, largest entry 1; or all zeros.

    A normal random vector less its projection on the rows. A component of it vanishes, but for
    chance, only if it does so in the whole null space.
    """
    z: Floats = np.random.default_rng(seed).standard_normal(a.shape[1])
    if a.shape[0] and a.shape[0] <= _DENSE:
        z = z - np.linalg.lstsq(a.toarray(), a @ z, rcond=_SMALL)[0]
    elif a.shape[0]:
        # a aᵀ may be singular: a little on the diagonal, and again until nothing is left
        factors, before = _factors(a, 1e-10), np.inf
        while (left := float(np.abs(a @ z).max(initial=0.0))) < 0.1 * before:
            z, before = z - a.T @ factors.solve(a @ z), left
    largest = float(np.abs(z).max(initial=0.0))
    return z / largest if largest > _SMALL else np.zeros_like(z)


def _factors(a: Any, shift: float) -> Any:
    """LU of a aᵀ + shift times its norm, without row exchanges."""
    gram = csc_array(a @ a.T)
    largest = float(abs(gram).sum(axis=1).max())
    return splu(
        csc_array(gram + shift * largest * eye_array(gram.shape[0])),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
