"""Snapshots as other tools expect them: in three dimensions, and in a box.

Disks lie in the plane z = 0 and rotate about z. Quaternions are (w, x, y, z).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import Cell, voigt
from hardgrain.core.model import Floats
from hardgrain.measure.snapshot import Run, Snapshot, understood
from hardgrain.measure.stress import grain_stress
from hardgrain.measure.structure import contact_numbers

__all__ = [
    "Box",
    "box_of",
    "cell_numbers",
    "coordination",
    "kinds",
    "quaternion",
    "spins",
    "stress",
    "xyz",
]

# [largest diameter] Room around the grains along open axes. A tool that takes every box for a
# periodic one finds no neighbours across it within four diameters.
ROOM = 2.0


@dataclass(frozen=True)
class Box:
    """A box as long as the period, or, without one, around all grains and some room.

    It is upright, but for the tilts of a cell that has some.
    """

    low: Floats  # (3,)
    edges: Floats  # (3, 3) an upper triangle, a column for each edge
    periodic: NDArray[np.bool_]  # (3,)

    @property
    def length(self) -> Floats:
        """Periods of the box, and edges along open axes, shape (3,) [length]."""
        return np.diag(self.edges)

    @property
    def high(self) -> Floats:
        """The corner across from ``low`` of an upright box, shape (3,)."""
        return self.low + self.length

    @property
    def tilts(self) -> Floats:
        """The tilts xy, xz, yz, shape (3,) [length]."""
        return self.edges[[0, 0, 1], [1, 2, 2]]

    def images(self, snap: Snapshot) -> NDArray[np.int32]:
        """How many periods each grain is away from the box, along each edge, shape (n, 3)."""
        away = Cell(voigt(self.edges)).images(xyz(snap.position) - self.low)
        return np.where(self.periodic, away, 0.0).astype(np.int32)

    def inside(self, snap: Snapshot) -> Floats:
        """Where the grains are in the box, shape (n, 3)."""
        wrapped: Floats = xyz(snap.position) - self.images(snap) @ self.edges.T
        return wrapped


def box_of(snap: Snapshot) -> Box:
    """The box of a snapshot; that of a plane is 1 thick."""
    dim, cell = snap.dim, snap.cell
    room, (least, most) = ROOM * 2.0 * float(snap.radius.max(initial=0.0)), snap.box
    low, edges, periodic = np.full(3, -0.5), np.eye(3), np.zeros(3, bool)
    periodic[:dim] = cell.repeats
    low[:dim] = np.where(cell.repeats, snap.low, least - room)
    open_ = np.where(cell.repeats, 0.0, most + room - low[:dim])
    edges[:dim, :dim] = cell.matrix + np.diag(open_)
    return Box(low, edges, periodic)


def cell_numbers(edges: Floats, periodic: NDArray[np.bool_] | Sequence[bool]) -> Floats | None:
    """The numbers of a cell (`core.cell`) in 3D, given its edges (3, 3), a column for each.

    None: it is no upper triangle, or its edges do not span a volume.
    """
    whole = np.where(np.asarray(periodic, bool), edges, 0.0)
    period = np.diag(whole)
    if np.tril(whole, -1).any() or not np.isfinite(whole).all() or (period < 0.0).any():
        return None
    return voigt(np.where(period > 0.0, whole, 0.0))


def xyz(vectors: Floats) -> Floats:
    """Vectors (n, dim) as vectors in space, shape (n, 3)."""
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1])))


def spins(spin: Floats) -> Floats:
    """Angular velocities (n, ns) as vectors in space, shape (n, 3)."""
    return np.pad(spin, ((0, 0), (3 - spin.shape[1], 0)))


def quaternion(orientation: Floats) -> Floats:
    """Angles (n, 1), or quaternions (n, 4) with w last, → (n, 4) with w first."""
    if orientation.shape[1] == 4:
        return np.roll(orientation, 1, axis=1)
    half = 0.5 * orientation[:, 0]
    none = np.zeros_like(half)
    return np.stack([np.cos(half), none, none, np.sin(half)], axis=1)


def stress(snap: Snapshot) -> Floats:
    """Stress of each grain (n, 3, 3), compression positive; NaN where contacts were not stored."""
    full, dim = np.zeros((snap.n, 3, 3)), snap.dim
    full[:, :dim, :dim] = grain_stress(snap) if snap.stored else np.nan
    return full


def coordination(snap: Snapshot) -> NDArray[np.int32]:
    """Contacts of each grain that bear a force (n,), walls included; −1 where not stored."""
    if not snap.stored:
        return np.full(snap.n, -1, np.int32)
    return contact_numbers(snap).astype(np.int32)


def kinds(run: Run) -> list[str]:
    """A name for each set of grains: its material, numbered where several sets share it."""
    group, material = run.model["group"], run.model["material"]
    with understood():
        materials = list(json.loads(run.header["scenario"])["scene"]["materials"])
        names = [
            materials[material[np.argmax(group == k)]] if (group == k).any() else f"set {k}"
            for k in range(int(group.max(initial=0)) + 1)
        ]
    return [name if names.count(name) == 1 else f"{name}-{k}" for k, name in enumerate(names)]
