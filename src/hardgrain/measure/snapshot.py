"""A moment of a run as measurements see it: bodies, walls, contacts and the forces in them.

Every measurement begins with ``snapshot(source, frame)`` and so takes a run file, a simulation or a
snapshot alike. Forces are those of the last step, impulse / dt; normals and gaps are those at its
start, as the run file keeps them. Of soft particles, all three are those of its last explicit step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import wall_geometry
from hardgrain.contact.rows import complete
from hardgrain.core import lawtable
from hardgrain.core.brief import brief
from hardgrain.core.cell import Cell
from hardgrain.core.model import Contacts, Floats, Model, Rows, State
from hardgrain.core.wall_kinds import Walls
from hardgrain.errors import InputError
from hardgrain.measure import outline
from hardgrain.measure.deformed import Deformed, mesh_of
from hardgrain.measure.near import Near, into_block
from hardgrain.measure.stored import Run, model_of, understood, with_loads
from hardgrain.scene.wall_shape import WallShape

__all__ = [
    "Run", "Simulated", "Snapshot", "Source", "model_of", "snapshot", "snapshots", "understood",
]  # fmt: skip


@runtime_checkable
class Simulated(Protocol):
    """What is needed of a `hardgrain.Simulation`."""

    model: Model
    state: State
    dt: float
    scenario: Any


@brief
@dataclass(frozen=True, eq=False)
class Snapshot:
    """One moment of a run. Bodies 0 … n − 1 are grains, by increasing numbers; the rest walls."""

    model: Model  # of a run file without drives and pressures, see `whole`
    state: State  # contacts are empty where they were not stored
    dt: float
    low: Floats  # (dim,) where the periodic cell begins, 0 along open axes [length]
    stored: bool = True  # whether the contacts are known
    wall_force: Floats | None = None  # (w, dim) of the grains on each wall [force]
    wall_torque: Floats | None = None  # (w, ns)
    substeps: int = 0  # explicit steps in one, of soft particles; 0: rigid grains
    engine: str = "contact-dynamics"  # kind of the engine that made it
    complete: Callable[[], Model] | None = None  # makes the loads again, see `whole`

    @property
    def whole(self) -> Model:
        """The model with its drives and pressures, which a run file keeps as text."""
        return self.model if self.complete is None else self.complete()

    # ------------------------------------------------------------------ grains
    @property
    def dim(self) -> int:
        return self.model.dim

    @property
    def n(self) -> int:
        """Number of grains."""
        return self.model.n

    @property
    def id(self) -> NDArray[np.int32]:
        """(n,) numbers that the grains keep throughout a run; their rows, if all are there."""
        return self.model.id

    @property
    def time(self) -> float:
        return self.state.time

    @property
    def radius(self) -> Floats:
        """(n,) of the smallest ball about each grain's centre that holds it [length]."""
        return self.model.radius

    @cached_property
    def equivalent_radius(self) -> Floats:
        """(n,) of the disk or ball with each grain's volume; of round grains, their own."""
        return outline.equivalent_radius(self.model)

    def reach(self, direction: Floats) -> Floats:
        """(n,) how far each grain reaches from its centre along a unit vector (dim,)."""
        far = outline.reach(self.model, self.state.orientation, direction)
        mesh = self.mesh
        return far if mesh is None else mesh.farthest(direction[:, None], far[:, None])[:, 0]

    @cached_property
    def spans(self) -> tuple[Floats, Floats]:
        """How far grains reach below and above their centres along all axes, (n, dim) or (n, 1)."""
        below, above = outline.spans(self.model, self.state.orientation)
        if self.mesh is None:
            return below, above
        axes = np.eye(self.dim)
        return self.mesh.farthest(-axes, below), self.mesh.farthest(axes, above)

    @cached_property
    def bound(self) -> Floats:
        """(n,) distance from each grain's centre to its farthest point, as it is deformed."""
        return self.radius if self.mesh is None else self.mesh.bounds(self.radius)

    @cached_property
    def mesh(self) -> Deformed | None:
        """The grains that deform as one mesh; None: all are rigid."""
        return mesh_of(self.model, self.state)

    @property
    def mass(self) -> Floats:
        """(n,) true masses, also of grains that are locked or driven."""
        return self.model.mass[: self.n]

    @property
    def position(self) -> Floats:
        """(n, dim) of the grains, not wrapped at periodic boundaries."""
        return self.state.position[: self.n]

    @property
    def velocity(self) -> Floats:
        """(n, dim) of the grains; where the cell deforms, relative to its affine motion."""
        return self.state.velocity[: self.n]

    def in_space(self, x: Floats) -> Floats:
        """(n, dim) velocities of the grains in space, at places (n, dim) that are images of them.

        They are those relative to the cell, and the affine motion of the cell there.
        """
        v = self.velocity
        return v + x @ self.gradient.T if self.model.cell >= 0 else v

    @property
    def spin(self) -> Floats:
        """(n, ns) of the grains, ns = 1 in 2D and 3 in 3D."""
        return self.state.spin[: self.n]

    def row(self, number: int) -> int | None:
        """Row of a grain or wall by the number that it keeps; None: it is not there now."""
        numbers = self.model.number
        k = int(np.searchsorted(numbers, number))
        return k if k < len(numbers) and numbers[k] == number else None

    def of(self, id: NDArray[Any]) -> Snapshot:
        """The same moment with some of its grains only, given by increasing numbers."""
        if id.size == self.n:
            return self
        grains = np.searchsorted(self.id, id)
        whole = self.complete
        return replace(
            self,
            model=self.model.only(grains),
            state=self.state.only(grains, self.n),
            complete=None if whole is None else partial(_only, whole, grains),
        )

    @cached_property
    def cell(self) -> Cell:
        """The periodic cell at this moment, straight or tilted."""
        return self.model.cell_in(self.state)

    @cached_property
    def gradient(self) -> Floats:
        """(dim, dim) velocity gradient of the cell, zero where it does not deform [1/time]."""
        return self.model.gradient_in(self.state)

    @cached_property
    def wrapped(self) -> Floats:
        """(n, dim) positions in the periodic cell."""
        return self.wrap(self.position)

    def wrap(self, x: Floats) -> Floats:
        """(…, dim) places moved into the periodic cell."""
        return self.cell.wrap(x, self.low)

    @cached_property
    def upright(self) -> Floats:
        """(n, dim) positions in the upright block that the cell fills as well (`measure.near`)."""
        return self.put_upright(self.position)

    def put_upright(self, x: Floats) -> Floats:
        """(…, dim) places moved into that block; the cell itself, where it is straight."""
        return into_block(self.cell, x, self.low)

    @cached_property
    def cell_edges(self) -> Floats:
        """(e, 2, dim) ends of the edges of the cell; open axes have none."""
        vectors = [self.cell.matrix[:, a] for a in np.flatnonzero(self.cell.repeats)]
        found = []
        for k, along in enumerate(vectors):
            others = [(np.zeros(self.dim), v) for v in vectors[:k] + vectors[k + 1 :]]
            for corner in product(*others):
                begin = self.low + sum(corner, np.zeros(self.dim))
                found.append((begin, begin + along))
        return np.array(found).reshape(-1, 2, self.dim)

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """(dim,) each, the corners of what the grains in the cell fill; of none, a unit's room."""
        if not self.n:
            return np.full(self.dim, -0.5), np.full(self.dim, 0.5)
        x, (below, above) = self.wrapped, self.spans
        return (x - below).min(axis=0), (x + above).max(axis=0)

    @property
    def diameter(self) -> float:
        """Mean diameter of grains, or of disks and balls as large; of none, a unit of length."""
        return 2.0 * float(self.equivalent_radius.mean()) if self.n else 1.0

    @cached_property
    def near(self) -> Near:
        """The grains' centres to search for neighbours, images included."""
        return self.near_of(self.position)

    def near_of(self, x: Floats) -> Near:
        """Some points, (k, dim), to search for neighbours, images included."""
        return Near(self.cell, x, self.low)

    def nearest(self, apart: Floats) -> Floats:
        """(…, dim) lines between two centres, to the nearest image."""
        return self.cell.nearest(apart)

    @cached_property
    def volume(self) -> Floats:
        """(n,) areas in 2D, volumes in 3D; of grains that deform, as they are."""
        volume = self.model.volume
        if self.mesh is None:
            return volume
        now = self.mesh.of_grains(self.mesh.volume, self.n)
        return np.where(now > 0.0, now, volume)

    @cached_property
    def walls(self) -> Walls:
        """Kind, point, axis, size and side of all walls where they are, see `core.wall_kinds`."""
        return wall_geometry(self.model, self.state)

    @cached_property
    def wall_shapes(self) -> list[WallShape]:
        """The walls as they are drawn; the cell that deforms, the last among them, is none."""
        found = WallShape.all(self.walls, self.model.meshes)
        return found[:-1] if self.model.cell >= 0 else found

    # ------------------------------------------------------------------ contacts
    @cached_property
    def contacts(self) -> Contacts:
        """The contacts that touch: those that bear a force, and those whose gap is closed."""
        c = self.candidates
        keep = (c.gap <= 0.0) | c.impulse.any(axis=1)
        return c.chosen(keep)

    @property
    def lag(self) -> float:
        """How long before this moment normals, gaps and arms were found [time].

        Collisions are spread over the step; they are taken to be where their grains are now.
        """
        return 0.0 if self.engine == "event-driven" else self.dt / max(self.substeps, 1)

    @property
    def candidates(self) -> Contacts:
        """All contacts that the step knew, those that stayed open with zero impulse."""
        if not self.stored:
            raise InputError(
                f"the frame at step {self.state.step} was stored without its contacts; choose"
                " another, or store them more often with output.contacts_every"
            )
        return self._rows

    @cached_property
    def _rows(self) -> Contacts:
        """The contacts with their arms and laws, which files do not hold."""
        c, s = self.state.contacts, self.state
        if c.known:
            return c
        began = s.position - self.lag * s.velocity
        began[: self.n] = self.before(self.position)
        return complete(self.model, began, c)

    @cached_property
    def laws(self) -> Floats:
        """(m, N_PARAMETERS) the law of each contact, by the columns of `core.lawtable`."""
        return self.model.law_table[self.contacts.law]

    @cached_property
    def loaded(self) -> NDArray[np.bool_]:
        """(m,) which of the contacts bear a force."""
        return np.asarray(self.contacts.impulse.any(axis=1))

    @cached_property
    def force(self) -> Floats:
        """(m, dim) contact forces on the second body."""
        return self.contacts.impulse / self.dt

    @cached_property
    def normal_force(self) -> Floats:
        """(m,) normal forces, positive where the contact presses."""
        return self.contacts.normal_impulse() / self.dt

    @cached_property
    def tangential_force(self) -> Floats:
        """(m, dim) what is left of the force without its normal part."""
        return self.force - self.normal_force[:, None] * self.contacts.normal

    @cached_property
    def friction(self) -> Floats:
        """(m,) coefficient of friction of a contact that sticks."""
        return self.laws[:, lawtable.MU_STATIC]

    @cached_property
    def origin(self) -> Floats:
        """(m, dim) centre of the first grain, upright, when normals and gaps were found."""
        first = self.contacts.first
        return self.before(self.upright)[first]

    def before(self, x: Floats) -> Floats:
        """(n, dim) where grains that are at places (n, dim) now were before the last step.

        With the cell they moved to x + dt (c + L x).
        """
        dt = self.lag
        y: Floats = x - dt * self.velocity
        if self.model.cell < 0:
            return y
        back: Floats = np.linalg.inv(np.eye(self.dim) + dt * self.gradient).astype(float)
        return y @ back.T

    @cached_property
    def branch(self) -> Floats:
        """(m, dim) from the centre of the first grain to that of the second, or to the wall."""
        c = self.contacts
        grain = (c.second < self.n)[:, None]
        branch: Floats = c.arm_first + c.gap[:, None] * c.normal
        return branch - np.where(grain, c.arm_second, 0.0)


Source = Run | Simulated | Snapshot


def snapshot(source: Source, frame: int = -1) -> Snapshot:
    """The present moment of a simulation, or a frame of a run file; a snapshot is itself."""
    if isinstance(source, Snapshot):
        return source
    if isinstance(source, str | os.PathLike):
        raise InputError(f"{os.fspath(source)!r} is a path; open it first, with hardgrain.RunFile")
    if isinstance(source, Simulated):
        if frame != -1:
            raise InputError(f"frame is {frame}, but a simulation has its present state only")
        scenario, rows = source.scenario, np.argsort(source.model.id)
        model, state = source.model.only(rows), source.state.only(rows, source.model.n)
        low = _low(model.dim, scenario.scene.periodic)
        substeps = getattr(scenario.engine, "substeps", 0)
        kind = scenario.engine.kind
        return Snapshot(model, state, source.dt, low, substeps=substeps, engine=kind)
    return next(snapshots(source, (frame,)))


def snapshots(run: Run, frames: Iterable[int] | None = None) -> Iterator[Snapshot]:
    """Frames of a run file one after the other; never more than one is held."""
    everyone = model_of(run)
    with understood():
        scenario = json.loads(run.header["scenario"])
        low = _low(everyone.dim, scenario["scene"]["periodic"])
        dt, substeps = float(scenario["dt"]), int(scenario["engine"].get("substeps", 0))
        if not 0.0 < dt < np.inf:
            raise ValueError(dt)
    whole = cache(lambda: with_loads(everyone, scenario))
    for k in range(len(run)) if frames is None else frames:
        try:
            frame, rows = run[k], run.contacts(k)
        except IndexError:
            raise InputError(f"frame is {k}; the run has the frames 0 to {len(run) - 1}") from None
        state = frame.state(Contacts.none(everyone.dim) if rows is None else rows, everyone)
        yield Snapshot(
            everyone.only(frame.id), state, dt, low, rows is not None,
            frame.wall_force, frame.wall_torque, substeps, scenario["engine"]["kind"],
            partial(_only, whole, frame.id),
        )  # fmt: skip


def _only(whole: Callable[[], Model], grains: Rows) -> Model:
    return whole().only(grains)


def _low(dim: int, periodic: Mapping[str, Any]) -> Floats:
    return np.array([float(periodic[name][0]) if name in periodic else 0.0 for name in "xyz"[:dim]])
