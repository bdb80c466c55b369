"""Fabric: in which directions grains touch, and in which directions they push.

To second order, with traceless symmetric tensors A,

    contacts         E(n) = (1 + n·A_c n) / (all directions)
    normal forces    N(n) = f (1 + n·A_n n)
    tangential       T(n) = f (A_t n − (n·A_t n) n)
    branches         l(n) = l₀ (1 + n·A_l n)

on average over the contacts of a direction n. A_c follows from the fabric tensor F = ⟨n n⟩, whose
second moment of E gives A_c = d (d + 2)/2 (F − 1/d). The others, f and l₀, the means over all
directions alike, are least-squares fits to the forces and branches of all contacts, and so do not
depend on how many contacts a direction has. n is the contact normal or, if asked for, the direction
of the branch, which runs from centre to centre; forces are then split along and across it. For
round grains both are the same.

In 2D A has the eigenvalues ± a, and this is what Rothenburg and Bathurst have, E = (1 + a_c cos
2(θ − θ_c))/2π, N = f (1 + a_n cos 2(θ − θ_n)), T = −f a_t sin 2(θ − θ_t), for T along the normal
turned to the left. In 3D, as Guo and Zhao (2013) have it, a = √(3/2 A:A), the largest eigenvalue
less the others in axial symmetry.

The stress Σ F ⊗ l of these contacts follows from the four, as far as the length of a branch does
not go with its force, and to first order:

    2D   s/p = 1/2 (A_c + A_n + A_t + A_l)         q/p = 1/2 (a_c + a_n + a_t + a_l)
    3D   s/p = 2/5 (A_c + A_n + 3/2 A_t + A_l)     q/p = 2/5 (a_c + a_n + 3/2 a_t + a_l)

with s the deviatoric stress, and q = (σ_1 − σ_2)/2 in 2D, √(3/2 s:s) in 3D. The right side needs
axes that agree, the left side does not, and so it is the one that is used. Where grains are not
round it holds in the frame of the branches only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import about, axes, of_frame
from hardgrain.measure.resultants import seen
from hardgrain.measure.snapshot import Snapshot, Source, snapshot
from hardgrain.measure.stress import invariants

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Anisotropy", "Fabric", "fabric", "force_fabric"]


@dataclass(frozen=True, eq=False)
class Anisotropy:
    """A traceless symmetric tensor, with its size and direction."""

    tensor: Floats  # (dim, dim)

    @property
    def size(self) -> float:
        """The size a of the anisotropy, see above; in 2D the larger eigenvalue."""
        share = 0.5 if len(self.tensor) == 2 else 1.5
        return math.sqrt(share * float(np.sum(self.tensor**2)))

    @property
    def direction(self) -> Floats:
        """Unit vector of the largest eigenvalue (dim,), with its largest component positive."""
        if not np.isfinite(self.tensor).all():
            return np.full(len(self.tensor), np.nan)
        u: Floats = np.linalg.eigh(self.tensor)[1][:, -1]
        return u if u[np.abs(u).argmax()] > 0.0 else -u

    @property
    def angle(self) -> float:
        """Angle of the direction from the x-axis in 2D, in (−π/2, π/2] [rad]."""
        return 0.5 * math.atan2(2.0 * self.tensor[0, 1], self.tensor[0, 0] - self.tensor[1, 1])


@dataclass(frozen=True, eq=False)
class Fabric:
    """The fabric tensor, and the anisotropy of contacts and forces; nan with too few contacts."""

    tensor: Floats  # (dim, dim) ⟨n n⟩, trace 1
    contacts: Anisotropy  # A_c, of the contact directions
    normal: Anisotropy  # A_n, of the normal forces
    tangential: Anisotropy  # A_t, of the tangential forces
    branches: Anisotropy  # A_l, of the lengths of branches
    force: float  # f [force]
    count: int  # number of contacts
    ratio: float  # q/p of the stress that these contacts bear

    @property
    def ratio_of_fabric(self) -> float:
        """q/p as it follows from the four anisotropies, to first order."""
        share, turn = (0.5, 1.0) if len(self.tensor) == 2 else (0.4, 1.5)
        even = self.contacts.tensor + self.normal.tensor + self.branches.tensor
        return share * Anisotropy(even + turn * self.tangential.tensor).size


def fabric(
    source: Source,
    frame: int = -1,
    walls: bool = False,
    by: str | None = None,
    along: str = "normal",
) -> Fabric:
    """Fabric of the contacts that bear a force; those with walls are left out by default.

    By "pair", the default, a face in which grains touch is one contact, by "point" it is several.
    Directions are those ``along`` the "normal" or the "branch" of a contact.
    """
    if along not in ("normal", "branch"):
        raise InputError(f"along is {along!r}; give 'normal' or 'branch'")
    snap = seen(snapshot(source, frame), by)
    used = _used(snap, walls)
    n, force, branch = snap.contacts.normal[used], snap.force[used], snap.branch[used]
    dim, basis = snap.dim, _basis(snap.dim)
    if len(n) <= len(basis):
        none = np.full((dim, dim), np.nan)
        blank = Anisotropy(none)
        return Fabric(none, blank, blank, blank, blank, np.nan, len(n), np.nan)
    if along == "branch":
        n = branch / np.linalg.norm(branch, axis=1)[:, None]
    tensor: Floats = n.T @ n / len(n)
    turned = np.einsum("qab,kb->kqa", basis, n)
    quadratic = np.einsum("kqa,ka->kq", turned, n)
    even = np.hstack([np.ones((len(n), 1)), quadratic])
    push, length = (np.einsum("ka,ka->k", v, n) for v in (force, branch))
    f, *a_n = np.linalg.lstsq(even, push)[0]
    l, *a_l = np.linalg.lstsq(even, length)[0]
    across = force - push[:, None] * n
    turn = (turned - quadratic[..., None] * n[:, None, :]).transpose(0, 2, 1)
    a_t = np.linalg.lstsq(turn.reshape(-1, len(basis)), across.ravel())[0]
    borne = invariants(force.T @ branch)
    return Fabric(
        tensor,
        Anisotropy(0.5 * dim * (dim + 2) * (tensor - np.eye(dim) / dim)),
        Anisotropy(np.tensordot(np.array(a_n) / f, basis, 1)),
        Anisotropy(np.tensordot(a_t / f, basis, 1)),
        Anisotropy(np.tensordot(np.array(a_l) / l, basis, 1)),
        float(f),
        len(n),
        float(borne.deviator / borne.pressure),
    )


def force_fabric(
    source: Source, frame: int = -1, walls: bool = False, by: str | None = None
) -> Floats:
    """The fabric tensor with contacts weighted by normal force, Σ N n n / Σ N, shape (dim, dim)."""
    snap = seen(snapshot(source, frame), by)
    used = _used(snap, walls)
    n, force = snap.contacts.normal[used], snap.normal_force[used]
    with np.errstate(invalid="ignore"):
        tensor: Floats = (n * force[:, None]).T @ n / force.sum()
    return tensor


def _used(snap: Snapshot, walls: bool) -> NDArray[np.bool_]:
    used: NDArray[np.bool_] = snap.loaded & (walls | (snap.contacts.second < snap.n))
    return used


def _basis(dim: int) -> Floats:
    """Traceless symmetric tensors, (2, 2, 2) or (5, 3, 3)."""
    found = []
    for a in range(dim):
        for b in range(a + 1, dim):
            one = np.zeros((dim, dim))
            one[a, b] = one[b, a] = 1.0
            found.append(one)
    for a in range(dim - 1):
        one = np.zeros((dim, dim))
        one[a, a], one[dim - 1, dim - 1] = 1.0, -1.0
        found.append(one)
    return np.array(found)


# ---------------------------------------------------------------------- by name
@of_frame(
    "fabric",
    "fabric tensor, anisotropy of contacts, forces and branches, q/p that follows",
    contacts=True,
)
def _fabric(
    snap: Snapshot, walls: bool = False, by: str | None = None, along: str = "normal"
) -> xr.Dataset:
    import xarray as xr

    found, both = fabric(snap, walls=walls, by=by, along=along), ("row", "column")
    pushes = force_fabric(snap, walls=walls, by=by)
    data: dict[str, Any] = {
        "fabric": (both, found.tensor, about("1", "fabric tensor")),
        "force_fabric": (both, pushes, about("1", "force fabric")),
        "mean_force": ((), found.force, about("force", "mean normal force")),
    }
    for short, name, part in (
        ("c", "contacts", found.contacts),
        ("n", "normal forces", found.normal),
        ("t", "tangential forces", found.tangential),
        ("l", "lengths of branches", found.branches),
    ):
        words = f"direction of the anisotropy of {name}"
        data[f"a_{short}"] = ((), part.size, about("1", f"anisotropy of {name}"))
        if snap.dim == 2:
            data[f"angle_{short}"] = ((), part.angle, about("radian", words))
        else:
            data[f"direction_{short}"] = ("row", part.direction, about("1", words))
    data["stress_ratio"] = ((), found.ratio, about("1", "q/p of the contacts"))
    words = "q/p that follows from the anisotropies"
    data["stress_ratio_of_fabric"] = ((), found.ratio_of_fabric, about("1", words))
    return xr.Dataset(data, {"row": axes(snap.dim), "column": axes(snap.dim)})
