"""Bond-orientational order: are the neighbours of a grain arranged as in a crystal?

In 2D ψ_k = Σ w e^{ikθ} / Σ w over the directions θ to the neighbours; |ψ_6| = 1 in a triangular
lattice. In 3D, after Steinhardt, q_lm = Σ w Y_lm / Σ w and

    q_l = √(4π/(2l + 1) Σ_m |q_lm|²),

which does not depend on the axes: q_6 = 0.575 in fcc, 0.485 in hcp, 0.511 in bcc (of 8 neighbours:
0.629). Neighbours are grains in contact, or those whose radical Voronoi cells share a facet, each
as one (w = 1) or weighted by the facet's area, so that a facet that comes and goes makes no jump
(Mickel et al. 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, lpmv

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, of_frame
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.voronoi import cells

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["bond_order", "steinhardt"]

Neighbours = Literal["contacts", "voronoi", "facets"]
Index = NDArray[np.intp]


def bond_order(
    source: Source, frame: int = -1, k: int = 6, neighbours: Neighbours = "voronoi"
) -> NDArray[np.complex128]:
    """The bond order ψ_k of each grain in 2D, shape (n,); zero for a grain without neighbours.

    neighbours: "contacts", "voronoi" or, weighted by their lengths, "facets".
    """
    snap = snapshot(source, frame)
    if snap.dim != 2:
        raise InputError("bond order ψ_k is for 2D; in 3D ask for steinhardt")
    if k < 1:
        raise InputError(f"k is {k} but must be at least 1")
    i, u, w = _bonds(snap, neighbours)
    phase = np.exp(1j * k * np.arctan2(u[:, 1], u[:, 0]))
    return _mean(snap.n, i, w, phase)


def steinhardt(
    source: Source, frame: int = -1, l: int = 6, neighbours: Neighbours = "voronoi"
) -> Floats:
    """Steinhardt's q_l of each grain in 3D, shape (n,); zero for a grain without neighbours."""
    snap = snapshot(source, frame)
    if snap.dim != 3:
        raise InputError("steinhardt's q_l is for 3D; in 2D ask for bond_order")
    if l < 0:
        raise InputError(f"l is {l} but must not be negative")
    i, u, w = _bonds(snap, neighbours)
    angle = np.arctan2(u[:, 1], u[:, 0])
    total = np.zeros(snap.n)
    for m in range(l + 1):  # the terms of −m and m are equally large
        # norm of √(4π/(2l+1)) Y_lm
        scale = np.sqrt(np.exp(gammaln(l - m + 1) - gammaln(l + m + 1)))
        part = _mean(snap.n, i, w, scale * lpmv(m, l, u[:, 2]) * np.exp(1j * m * angle))
        total += (1.0 if m == 0 else 2.0) * np.abs(part) ** 2
    q: Floats = np.sqrt(total)
    return q


def _bonds(snap: Snapshot, neighbours: str) -> tuple[Index, Floats, Floats]:
    """All bonds, each listed from both ends: the grain, the unit vector, the weight."""
    if neighbours == "contacts":
        snap = seen(snap)
        c = snap.contacts
        grains = c.second < snap.n
        i, j, u = (
            c.first[grains].astype(np.intp),
            c.second[grains].astype(np.intp),
            c.normal[grains],
        )
        if not snap.model.round:
            u = snap.branch[grains]
            u = u / np.linalg.norm(u, axis=1, keepdims=True)
        weight = np.ones(i.size)
    elif neighbours in ("voronoi", "facets"):
        found = cells(snap)
        inner = found.second >= 0
        i, j, u = found.first[inner], found.second[inner], found.branch[inner]
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        weight = found.area[inner] if neighbours == "facets" else np.ones(i.size)
    else:
        raise InputError(f"neighbours is {neighbours!r} but must be contacts, voronoi or facets")
    return np.append(i, j), np.concatenate([u, -u]), np.append(weight, weight)


def _mean(
    n: int, i: Index, weight: Floats, value: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Weighted mean of the values of each grain's bonds, shape (n,); zero without bonds."""
    total = np.bincount(i, weight, minlength=n)
    sums = [np.bincount(i, weight * part, minlength=n) for part in (value.real, value.imag)]
    return np.asarray((sums[0] + 1j * sums[1]) / np.where(total > 0.0, total, 1.0), np.complex128)


# ---------------------------------------------------------------------- by name
@of_frame("bond-order", "|ψ_k| of each grain in 2D, q_l in 3D; order = 6, neighbours", small=False)
def _order(snap: Snapshot, order: int = 6, neighbours: Neighbours = "voronoi") -> xr.Dataset:
    import xarray as xr

    grain = {"grain": snap.id}
    if snap.dim == 3:
        q = steinhardt(snap, l=order, neighbours=neighbours)
        return xr.Dataset({"order": ("grain", q, about("1", f"q_{order}"))}, grain)
    psi = bond_order(snap, k=order, neighbours=neighbours)
    angle = about("radian", f"orientation of psi_{order}")
    return xr.Dataset(
        {
            "order": ("grain", np.abs(psi), about("1", f"|psi_{order}|")),
            "angle": ("grain", np.angle(psi) / order, angle),
        },
        grain,
    )
