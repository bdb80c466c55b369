"""How a sample deforms: the periodic cell, or the space between planes that face each other.

The columns of a matrix h are the sample's edges: the vectors of the cell, and along an axis that is
open the way from one plane to the other. From one frame to the next it becomes h' = F h, and log F
is the strain between them: the velocity gradient L times the time, if L stayed as it was. Summed
over frames,

    E(t) = Σ log F ≈ ∫ L dt,

whose trace is the change of log volume, exactly, and whose xy is the shear γ of a simple shear,
exactly too. As with the rates of a cell, growth counts as positive. Between frames that are far
apart a strain that is not simple is that of the straightest way.

The strain of a test is told by one number, the shear strain γ = E:N. N is a traceless tensor with
N:N = 2: that of simple shear along one axis across another, or that of compression along one axis.
With constant volume γ̇ is then √(2 D:D), D the symmetric part of L (`shear_rate`). The shear
stress that belongs to it is τ = −σ:N/2, so that the stress does the work −p Ė_aa + τ γ̇ as long as
the sample deforms along N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import logm

from hardgrain.core.cell import Cell
from hardgrain.core.geometry import PLANE
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure.region import ALONG
from hardgrain.measure.snapshot import Snapshot

__all__ = ["Loading", "edges", "loading", "shear_rate", "strains"]


def edges(snap: Snapshot) -> Floats:
    """The edges of the sample at one moment, (dim, dim), a column each [length].

    A cell has all of its tilt since the beginning.
    """
    cell = Cell(snap.state.cell) if snap.state.cell.size else snap.cell
    h = cell.matrix
    for a in np.flatnonzero(~cell.repeats):
        h[:, a] = _across(snap, int(a))
    return h


def _across(snap: Snapshot, a: int) -> Floats:
    """From the one plane across an open axis to the other that faces it, (dim,)."""
    kind, point, axis = snap.walls[:3]
    ends = [
        np.flatnonzero((kind == PLANE) & (np.abs(axis[:, a] - sign) < ALONG)) for sign in (1, -1)
    ]
    if any(len(w) != 1 for w in ends):
        raise InputError(
            f"the strain along {'xyz'[a]} is not known; it needs a periodic axis, or two planes"
            " that face each other"
        )
    low, high = (int(w[0]) for w in ends)
    way: Floats = point[high] - point[low]
    return way


def strains(h: Floats, planes: NDArray[np.bool_]) -> Floats:
    """E of each frame since the first, (k, dim, dim), from the edges of the sample (k, dim, dim).

    ``planes``: (dim,) between which axes there are planes. Where a plane was at first along itself
    means nothing, only how far it has slid since.
    """
    off = planes & ~np.eye(len(planes), dtype=bool)
    h = np.where(off, h - h[0], h)
    total = np.zeros_like(h)
    for k in range(1, len(h)):
        step = logm(h[k] @ np.linalg.inv(h[k - 1]))
        total[k] = total[k - 1] + np.real(step)
    return total


def shear_rate(gradient: Floats) -> Floats:
    """The shear rate √(2 D:D) of velocity gradients (…, dim, dim), D symmetric and traceless."""
    d = 0.5 * (gradient + np.swapaxes(gradient, -1, -2))
    dim = d.shape[-1]
    d = d - np.einsum("...aa->...", d)[..., None, None] / dim * np.eye(dim)
    rate: Floats = np.sqrt(2.0 * np.square(d).sum(axis=(-1, -2)))
    return rate


# ---------------------------------------------------------------------- one number for a test
@dataclass(frozen=True, eq=False)
class Loading:
    """A way to shear a sample."""

    name: str  # "xy", or the axis of compression
    words: str
    tensor: Floats  # N (dim, dim), traceless, N:N = 2

    def strain(self, total: Floats) -> Floats:
        """γ of strains (…, dim, dim)."""
        gamma: Floats = np.einsum("...ab,ab->...", total, self.tensor)
        return gamma

    def stress(self, sigma: Floats) -> Floats:
        """τ of stresses (…, dim, dim), positive where it resists."""
        tau: Floats = -0.5 * np.einsum("...ab,ab->...", sigma, self.tensor)
        return tau


def loading(total: Floats, name: str | None = None) -> Loading:
    """The way along which strains (k, dim, dim) vary most, or that of a name, with its sign."""
    dim = total.shape[-1]
    known = _ways(dim)
    if name is not None and name not in known:
        raise InputError(f"along is {name!r}; give one of {', '.join(known)}")
    paths = {key: np.einsum("kab,ab->k", total, n) for key, n in known.items()}
    if name is None:
        name = max(paths, key=lambda key: float(np.ptp(paths[key])))
    path = paths[name]
    tensor = known[name] if path.max() >= -path.min() else -known[name]
    if len(name) == 2:
        return Loading(name, f"shear along {name[0]} across {name[1]}", tensor)
    kind = "compression" if path.max() >= -path.min() else "extension"
    if dim == 2 and kind == "extension":
        name, kind = "xy".replace(name, ""), "compression"
    return Loading(name, f"{kind} along {name}", tensor)


def _ways(dim: int) -> dict[str, Floats]:
    """N of shear in each plane, and of compression along each axis."""
    found = {}
    unit = np.eye(dim)
    for a in range(dim):
        for b in range(a + 1, dim):
            shear = np.outer(unit[a], unit[b])
            found["xyz"[a] + "xyz"[b]] = shear + shear.T
    for a in range(dim):
        one = unit / dim - np.outer(unit[a], unit[a])
        found["xyz"[a]] = one * math.sqrt(2.0 / float(np.sum(one**2)))
    return found
