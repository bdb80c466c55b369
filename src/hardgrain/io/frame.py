"""A frame of a run: as the file keeps it, and as it is read, grains apart from walls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.brief import brief, html_table
from hardgrain.core.deformation import Deformation
from hardgrain.core.model import Contacts, Model, State

__all__ = ["Frame", "Record", "WallFrame"]

Array = NDArray[Any]


@brief
@dataclass(frozen=True)
class Record:
    """A frame as the file keeps it: all bodies, grains before walls, absent grains included."""

    step: int
    time: float
    position: Array  # (nb, dim) [length]
    orientation: Array  # (nb, 1) [rad] or (nb, 4) unit quaternion (x, y, z, w)
    velocity: Array  # (nb, dim) [length/time]
    spin: Array  # (nb, ns) [rad/time]
    wall_force: Array  # (w, dim) force of the grains on each wall [force]
    wall_torque: Array  # (w, ns) [force × length]
    scalars: Mapping[str, float]  # sums that an exact resume needs
    # (n,) status of each grain: 0 there, −1 not yet, k > 0 taken out by rule k; empty if all are
    # there
    status: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    # (n,) numbers of all grains in the order in which the run holds them; empty: by number
    order: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    # periods and tilts of the periodic cell, see `core.cell`; empty where it does not deform
    cell: Array = field(default_factory=lambda: np.zeros(0))
    # (nb, 1) time of each grain's last collision, where an engine needs it; else (nb, 0)
    collided: Array = field(default_factory=lambda: np.zeros((0, 0)))
    # (k, dim) of the nodes of all grains that deform, see `core.deformation` [length], and how fast
    # it changes [length/time]; empty where all are rigid
    displacement: Array = field(default_factory=lambda: np.zeros((0, 0)))
    rate: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def deformation(self, model: Model) -> Deformation | None:
        """How far the grains of a model are deformed, those of the file by their numbers."""
        if model.elastic is None:
            return None
        return Deformation(model.elastic.nodes, self.displacement, self.rate)


@brief
@dataclass(frozen=True)
class WallFrame:
    """One wall of a frame."""

    position: Array  # (dim,) the point about which it rotates [length]
    orientation: Array  # (1,) [rad] or (4,) unit quaternion (x, y, z, w)
    velocity: Array  # (dim,) [length/time]
    spin: Array  # (ns,) [rad/time]
    force: Array  # (dim,) force of the grains on it [force]
    torque: Array  # (ns,) [force × length]


class Frame:
    """The grains that are there after `step` steps, one in each row, and the walls by name.

        frame.position            (n, dim) centres of the grains
        frame.walls["lid"].force  (dim,)

    ``id`` (n,) holds the numbers of the grains: where none comes or goes, those of the rows.
    """

    def __init__(self, record: Record, wall_names: Sequence[str]) -> None:
        self.record = record
        everyone = len(record.position) - len(wall_names)
        self.step, self.time, self.scalars = record.step, record.time, record.scalars
        self.wall_force, self.wall_torque = record.wall_force, record.wall_torque
        self.id = np.arange(everyone, dtype=np.int32)
        if record.status.size:
            self.id = np.flatnonzero(record.status == 0).astype(np.int32)
        self._rows = np.append(self.id, np.arange(everyone, len(record.position)))
        self._names = tuple(wall_names)

    def __len__(self) -> int:
        """The number of grains."""
        return len(self.id)

    def __repr__(self) -> str:
        grains = f"{len(self)} grain{'s' * (len(self) != 1)}"
        walls = f"walls {', '.join(self._names)}" if self._names else "no walls"
        return f"<Frame at step {self.step}, time {self.time:.6g}: {grains}, {walls}>"

    def _repr_html_(self) -> str:
        rows = [
            ("step, time", f"{self.step}, {self.time:.6g}"),
            ("grains", f"{len(self)}: position, orientation, velocity, spin, id"),
            ("walls", ", ".join(self._names) or "none"),
        ]
        return html_table("Frame", rows)

    @property
    def position(self) -> Array:
        """Centres of the grains, shape (n, dim) [length], not wrapped at periodic boundaries."""
        return self.record.position[self.id]

    @property
    def orientation(self) -> Array:
        """Angles, shape (n, 1) [rad], or unit quaternions (x, y, z, w), shape (n, 4)."""
        return self.record.orientation[self.id]

    @property
    def velocity(self) -> Array:
        """Velocities of the grains, shape (n, dim) [length/time].

        Where the cell deforms, they are relative to its affine motion.
        """
        return self.record.velocity[self.id]

    @property
    def spin(self) -> Array:
        """Angular velocities of the grains, shape (n, ns) [rad/time]."""
        return self.record.spin[self.id]

    @property
    def cell(self) -> Array:
        """Periods and tilts of a cell that deforms (`core.cell`) [length]; empty: it does not."""
        return self.record.cell

    @property
    def _collided(self) -> Array:
        r = self.record.collided
        return r[self._rows] if len(r) else r

    @property
    def walls(self) -> dict[str, WallFrame]:
        """Where each wall is, how it moves and what the grains do to it, by its name."""
        r, first = self.record, len(self.record.position) - len(self._names)
        arrays = [a[first:] for a in (r.position, r.orientation, r.velocity, r.spin)]
        walls = zip(*arrays, self.wall_force, self.wall_torque, strict=True)
        return {name: WallFrame(*wall) for name, wall in zip(self._names, walls)}

    def state(self, contacts: Contacts, model: Model | None = None) -> State:
        """The state of a run at this frame: grains, then walls.

        Of grains that deform, the model says whose nodes are whose.
        """
        r, rows = self.record, self._rows
        bodies = (r.position[rows], r.velocity[rows], r.spin[rows], r.orientation[rows])
        deformation = None if model is None else r.deformation(model)
        return State(self.step, self.time, *bodies, contacts, r.cell, self._collided, deformation)
