"""The rank of a large sparse matrix, by counting, and vectors of its null space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from hardgrain.core.model import Floats

__all__ = ["independent", "null_vectors", "rank"]

# [rows] Up to so many rows, singular values are computed; beyond, counting signs is far cheaper.
_DENSE = 60
# [unit of force] Difference up to which forces count as equal, due to rounding. If it is smaller,
# packings at rest are said to contradict themselves; if it is larger, true contradictions pass.
_SAME = 1e-9
# [largest singular value] Smaller ones count as zero, due to rounding. If it is larger, soft
# directions are lost and the null space has too many dimensions; if it is smaller, too few.
_SMALL = 1e-9


def rank(a: Any) -> int:
    """Rank of a sparse matrix.

    With few rows, singular values are counted. With many, the pivots of a aᵀ − σ² have as many
    negative signs as a has singular values below σ (Sylvester's law of inertia), and a sparse
    factorisation without row exchanges finds them.
    """
    if a.shape[0] > a.shape[1]:
        a = a.T
    rows = a.shape[0]
    if rows == 0:
        return 0
    if rows <= _DENSE:
        values = np.linalg.svd(a.toarray(), compute_uv=False)
        return int((values > _SMALL * max(values[0], 1e-300)).sum())
    # σ is far above the rounding of the square, √(10⁻¹⁶), and far below the softest mode.
    below = int((_factors(a, -1e-13).U.diagonal() < 0.0).sum())
    return int(rows - below)


def null_vectors(a: Any, count: int = 1) -> Floats:
    """Random vectors of the null space of a sparse matrix (columns, count), largest entry 1.

    They are normal random vectors less their projections on the rows. A component vanishes, except
    by chance, only if it does so in the whole null space. If there is none, all entries are zero.
    """
    z: Floats = np.random.default_rng(0).standard_normal((a.shape[1], count))
    if a.shape[0] and a.shape[0] <= _DENSE:
        z = z - np.linalg.lstsq(a.toarray(), a @ z, rcond=_SMALL)[0]
    elif a.shape[0]:
        # Since a aᵀ may be singular, a little is added to its diagonal, and the solve repeated
        # until nothing is left.
        factors, before = _factors(a, 1e-10), np.inf
        while (left := float(np.abs(a @ z).max(initial=0.0))) < 0.1 * before:
            z, before = z - a.T @ factors.solve(a @ z), left
    largest = np.abs(z).max(axis=0, initial=0.0)
    return np.where(largest > _SMALL, z / np.maximum(largest, _SMALL), 0.0)


def independent(a: Any, b: Floats) -> NDArray[np.intp]:
    """Independent rows of a x = b, from which all others follow; all rows if they contradict.

    A sphere with one contact is not rotated about its normal, and a grain without friction not at
    all: such equations say 0 = 0, up to rounding, which a linear program must not take for more.
    """
    rows = np.flatnonzero(np.diff(a.tocsr().indptr) | (np.abs(b) > _SAME))
    a, b = a[rows], b[rows]
    missing = rows.size - rank(a)
    if not missing:
        return rows
    z = null_vectors(a.T.tocsr(), missing)
    if np.abs(z.T @ b).max() > _SAME:
        return rows
    out = qr(z.T, mode="r", pivoting=True)[1][:missing]
    return np.delete(rows, out)


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
