"""The rank of a large sparse matrix, by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

__all__ = ["rank"]

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
    gram = csc_array(a @ a.T)
    largest = float(abs(gram).sum(axis=1).max())
    # σ: far above rounding of the square, √(10⁻¹⁶), far below the softest mode
    shifted = csc_array(gram - (1e-13 * largest) * eye_array(rows))
    factors = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    below = int((factors.U.diagonal() < 0.0).sum())
    return int(rows - below)
