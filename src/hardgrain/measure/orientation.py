"""How shaped grains are turned: nematic order, and that of polygons that look alike when turned.

A grain's long axis u has no head: u and −u are the same. The mean over all grains that have one,

    Q = ⟨d u u − 1⟩ / (d − 1),

is traceless; its largest eigenvalue is the order S, 1 where all axes are parallel and 0 where they
are spread evenly (2D: Q = ⟨2 u u − 1⟩; 3D: ⟨3 u u − 1⟩/2), and its direction the director. The
long axis is that about which the grain is thinnest: of the largest second moment ∫ x x dV. Squares,
regular polygons, cubes and all that are as long one way as another have none.

In 2D a grain that is the same after a k-th of a full turn has its angle θ up to such turns, and

    ψ_k = ⟨e^{ikθ}⟩

does not see them: |ψ_4| = 1 for squares that lie alike, whichever side is up. A grain's angle is
that of its farthest corner, in its own frame, so that grains of several shapes compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.fabric import Anisotropy
from hardgrain.measure.outline import frames, polytopes
from hardgrain.measure.snapshot import Snapshot, Source, snapshot

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Alignment", "alignment", "fold_of", "long_axes", "orientation_order"]

# [1] A shape has a long axis if its second moments differ by more, relative to the largest. Less:
# rounding gives squares an axis; more: slightly long grains have none.
LONG = 1e-6
# [size] Corners that are turned onto each other so well are the same. Less: rounding breaks the
# symmetry of polygons; more: slightly irregular ones count as regular.
SAME = 1e-6
FOLDS = 24  # [1] greatest k that is tried: regular polygons with more sides are round in practice


@dataclass(frozen=True, eq=False)
class Alignment:
    """Nematic order; NaN where no grain has a long axis."""

    tensor: Floats  # (dim, dim) Q
    order: float  # S, the largest eigenvalue of Q
    director: Floats  # (dim,) its direction, with its largest component positive
    count: int  # number of grains that have a long axis


def alignment(source: Source, frame: int = -1) -> Alignment:
    """How far the long axes of the grains point the same way."""
    snap = snapshot(source, frame)
    u, dim = long_axes(snap), snap.dim
    u = u[np.isfinite(u).all(axis=1)]
    if not len(u):
        return Alignment(np.full((dim, dim), np.nan), math.nan, np.full(dim, np.nan), 0)
    tensor = (dim * u.T @ u / len(u) - np.eye(dim)) / (dim - 1)
    order = float(np.linalg.eigvalsh(tensor)[-1])
    return Alignment(tensor, order, Anisotropy(tensor).direction, len(u))


def long_axes(source: Source, frame: int = -1) -> Floats:
    """Unit vector along each grain's long axis (n, dim), NaN for grains that have none."""
    snap = snapshot(source, frame)
    if snap.model.round:
        return np.full((snap.n, snap.dim), np.nan)
    own = snap.model.solids
    local = np.full((own.volume.size, snap.dim), np.nan)
    for s in np.unique(own.shape):
        local[s] = _long(own, int(s), snap.dim)
    turned: Floats = np.einsum(
        "iab,ib->ia", frames(snap.model, snap.state.orientation), local[own.shape]
    )
    return turned


def orientation_order(
    source: Source, frame: int = -1, fold: int | None = None
) -> tuple[complex, int]:
    """ψ_k of the grains' orientations in 2D, and k; by default that of the grains' symmetry.

    It is NaN, and k zero, for disks, and where grains have several symmetries and none is given.
    """
    snap = snapshot(source, frame)
    if snap.dim != 2:
        raise InputError("order of orientations ψ_k is for 2D; in 3D ask for the nematic order")
    if fold is not None and fold < 1:
        raise InputError(f"fold is {fold}; give a whole number from 1")
    if snap.model.round or not snap.n:
        return complex(math.nan, math.nan), 0
    own = snap.model.solids
    there = np.unique(own.shape)
    folds = {int(s): fold_of(own, int(s)) for s in there}
    known = {k for k in folds.values() if k}
    if fold is None:
        fold = known.pop() if len(known) == 1 else 0
    if not fold:
        return complex(math.nan, math.nan), 0
    begin = np.zeros(own.volume.size)
    for s in there:
        first, last = own.corner_start[own.part_start[[s, s + 1]]]
        v = own.corner[first:last]
        far = v[np.argmax(np.round(np.linalg.norm(v, axis=1) / SAME))]
        begin[s] = math.atan2(far[1], far[0])
    some = np.array([k > 0 for k in folds.values()])[np.searchsorted(there, own.shape)]
    angle = snap.state.orientation[: snap.n, 0][some] + begin[own.shape[some]]
    return complex(np.exp(1j * fold * angle).mean()), int(fold)


def fold_of(own: Solids, shape: int) -> int:
    """Into how many equal turns a full one divides for a 2D shape that looks alike; 0: a disk."""
    parts = slice(own.part_start[shape], own.part_start[shape + 1])
    begin, end = own.corner_start[parts.start], own.corner_start[parts.stop]
    v = own.corner[begin:end, :2]
    if float(np.linalg.norm(v, axis=1).max()) < SAME:
        return 0
    part = np.searchsorted(own.corner_start, np.arange(begin, end), side="right") - 1
    v = np.column_stack([v, own.radius[part]])  # parts of unequal radii are not the same
    for k in range(FOLDS, 1, -1):
        c, s = math.cos(2.0 * math.pi / k), math.sin(2.0 * math.pi / k)
        turned = v @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        apart = np.linalg.norm(turned[:, None, :] - v, axis=2).min(axis=1)
        if float(apart.max()) < SAME:
            return k
    return 1


def _long(own: Solids, shape: int, dim: int) -> Floats:
    """Unit vector along the long axis of a shape in its own frame (dim,), or NaN."""
    if dim == 3:  # ∫ x x dV is half the sum of the moments less the axis's own
        moments = own.moments[shape]
        second: Floats = np.diag(0.5 * moments.sum() - moments)
    else:
        second = sum((_second_moment(v) for v in polytopes(own, shape, 2)), np.zeros((2, 2)))
    value, vector = np.linalg.eigh(second)
    if value[-1] - value[-2] <= LONG * value[-1]:
        return np.full(dim, np.nan)
    longest: Floats = vector[:, -1]
    return longest


def _second_moment(v: Floats) -> Floats:
    """∫ x x dA of a polygon, as a sum over its triangles with the origin, shape (2, 2)."""
    p, q = v, np.roll(v, -1, axis=0)
    twice = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    both = p + q
    corners = np.stack([p, q, both])
    moment: Floats = np.einsum("k,cka,ckb->ab", twice, corners, corners) / 24.0
    return moment


# ---------------------------------------------------------------------- by name
@of_frame("orientations", "nematic order of long grains; in 2D also psi of regular ones; fold = k")
def _orientations(snap: Snapshot, fold: int | None = None) -> xr.Dataset:
    import xarray as xr

    found, both = alignment(snap), ("row", "column")
    data: dict[str, Any] = {
        "order": ((), found.order, about("1", "nematic order S")),
        "director": ("row", found.director, about("1", "director of the long axes")),
        "tensor": (both, found.tensor, about("1", "nematic tensor Q")),
        "long": ((), found.count, about("1", "grains that have a long axis")),
    }
    if snap.dim == 2:
        psi, k = orientation_order(snap, fold=fold)
        data["psi"] = ((), abs(psi), about("1", "order of orientations |psi_k|"))
        data["fold"] = ((), k, about("1", "k of psi_k"))
    return xr.Dataset(data, {"row": axes(snap.dim), "column": axes(snap.dim)})
