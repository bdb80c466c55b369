"""How a run begins: with its scene's own grains, another state, a packing, or an earlier run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hardgrain.contact.detect import refuse_overlaps
from hardgrain.contact.rows import complete
from hardgrain.core.cell import Cell
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.errors import InputError
from hardgrain.io.frame import Frame, Record
from hardgrain.io.packings import is_packing, read_cell, read_grains
from hardgrain.io.runfile import RunFile
from hardgrain.run.scenario import Scenario, Start, stored_scenario
from hardgrain.run.start_shapes import take_shapes
from hardgrain.scene.scene import GrainArrays
from hardgrain.scene.spec import Grains
from hardgrain.step.engine import EventDriven
from hardgrain.step.numbers import farthest, refuse_unfit

__all__ = ["Beginning", "beginning", "grains_of", "refuse_odd_numbers"]

# [radius] Overlap that few digits, or a solver that stopped early, give to touching grains of a
# file. Rigid contacts keep it and do not push it out. If it is smaller, packings of other codes are
# refused; if it is larger, true overlaps are let in.
_ROUNDED = 1e-3


@dataclass(frozen=True)
class Beginning:
    """What a run begins with besides its scenario."""

    scenario: Scenario  # the scenario, with a set for grains that come from elsewhere
    # the grains from elsewhere, followed by the scene's own new ones
    grains: GrainArrays | None = None
    packed: int = 0  # number of grains that come from elsewhere
    state: State | None = None  # velocities and contacts of these grains
    walls: list[tuple[str, int]] | None = None  # name and kind of each wall of that state
    dt: float | None = None  # step in which the impulses of that state were found
    cell: Floats | None = None  # periods and tilts of the cell of a packing

    def count(self, everyone: Model) -> int:
        """How many grains the scene did not place itself."""
        return self.packed if self.state is None or self.packed else everyone.n

    def put_into(self, model: Model, state: State) -> list[int] | None:
        """Begin with the grains of another state, and with its walls of the same name and kind.

        Its grains are the first ones. Where its walls are not known they are the scene's own if
        there are as many. Contacts come along with the forces they had, whatever the old and the
        new step. A cell that deforms begins as the other one was. Returns the walls that are new;
        None: all.
        """
        start, old_walls, old_dt = self.state, self.walls, self.dt
        self._begin_cell(state)
        if start is None:
            return None
        if old_dt is None and start.step > 0:
            old_dt = start.time / start.step
        share = 1.0 if old_dt is None else self.scenario.dt / old_dt
        if abs(share - 1.0) < 1e-9:  # the same step: do not change a bit
            share = 1.0
        n, many = model.n, self.count(model)
        walls = list(zip(model.wall_names, model.wall_kind.tolist()))
        bodies = start.position.shape[0]
        if bodies < many or start.position.shape[1] != model.dim:
            raise InputError(
                f"start has {bodies} bodies in {start.position.shape[1]}D; the scene has {n} grains"
                f" in {model.dim}D"
            )
        if old_walls is None:
            old_walls = walls if bodies == model.bodies else []
        same = [k for k, wall in enumerate(walls) if wall in old_walls]
        grains = np.arange(many)
        old = np.append(grains, [many + old_walls.index(walls[k]) for k in same]).astype(np.int64)
        new = np.append(grains, [n + k for k in same]).astype(np.int64)
        for name in ("position", "velocity", "spin", "orientation"):
            getattr(state, name)[new] = getattr(start, name)[old]
        self._begin_deformed(model, state)
        # axes that are locked, or whose velocity is prescribed
        state.velocity[model.inv_mass == 0.0] = 0.0
        state.spin[model.inv_inertia == 0.0] = 0.0
        renumber = np.full(bodies, -1, np.int32)
        renumber[old] = new
        c = start.contacts.among(renumber)
        state.contacts = Contacts(
            c.first, c.second, c.normal, c.gap, share * c.impulse, share * c.torque, c.spring,
            c.feature, c.arm_first, c.arm_second,
        )  # fmt: skip
        if not model.round and c.arm_first.shape != c.normal.shape:
            state.contacts = Contacts.none(model.dim)  # of balls: they met in other points
        if model.rule is not None:
            complete(model, state.position, state.contacts)  # the file keeps their laws
        return [k for k in range(len(walls)) if k not in same]

    def _begin_deformed(self, model: Model, state: State) -> None:
        """Let grains that deform begin as deformed as they were; new ones are not."""
        now, old = state.deformation, None if self.state is None else self.state.deformation
        if old is None:
            return
        nodes = np.zeros(model.n, np.int64) if now is None else now.nodes
        many = min(old.nodes.size, model.n)
        if not np.array_equal(nodes[:many], old.nodes[:many]):
            k = int(np.flatnonzero(nodes[:many] != old.nodes[:many])[0])
            raise InputError(
                f"start has grain {k} with {old.nodes[k]} nodes, and {nodes[k]} in the scene;"
                " scene.grains must have the elastic grains of the start, with the same elements"
            )
        assert now is not None
        rows = int(now.start[many])
        displacement, rate = now.displacement.copy(), now.rate.copy()
        displacement[:rows], rate[:rows] = old.displacement[:rows], old.rate[:rows]
        state.deformation = replace(now, displacement=displacement, rate=rate)

    def _begin_cell(self, state: State) -> None:
        """Give a cell that deforms the periods and tilts that the grains come with."""
        given = self.cell
        if self.state is not None and self.state.cell.size:
            given = self.state.cell
        if given is None or not (state.cell.size or Cell(given).reduced().tilted):
            return
        if not state.cell.size:
            raise InputError(
                f"start has a tilted cell, of periods and tilts {given.tolist()}; the cell of the"
                " scene must deform to take it"
            )
        if not np.array_equal(Cell(given).repeats, Cell(state.cell).repeats):
            raise InputError(
                f"start has a cell with the periods {Cell(given).period.tolist()}; along the axes"
                " where they are 0 it is open, and scene.periodic must have the same axes"
            )
        state.cell = given.copy()

    def refuse_overlaps(
        self, model: Model, state: State, known: int, new_walls: list[int] | None
    ) -> None:
        """Refuse overlaps, except among the first ``known`` grains, which another state had."""
        checked = model
        if self.packed and self.state is None:  # the grains come from a packing
            slim = np.where(checked.id < self.packed, 1.0 - _ROUNDED, 1.0)
            checked = replace(checked, radius=slim * checked.radius)
        if self.state is None or isinstance(self.scenario.engine, EventDriven):
            known = 0  # a packing that sags a little is none of grains that only collide
        new = checked.id >= known
        refuse_overlaps(checked, state, new_grains=new, new_walls=new_walls)


def beginning(scenario: Scenario, start: State | GrainArrays | str | Path | None) -> Beginning:
    """Read what a scenario starts from, or take what is given."""
    grains, state, walls, dt, cell = None, None, None, None, None
    if isinstance(start, str | Path):
        scenario = scenario.model_copy(update={"start": Start(file=str(start))})
    elif isinstance(start, GrainArrays):
        grains = start
    elif start is None or isinstance(start, State):
        state = start
    else:
        raise InputError(
            f"start is a {type(start).__name__}; valid are the state of a simulation, a packing"
            " (read_packing), and the name of a file"
        )
    old = None
    if scenario.start is not None:
        grains, state, walls, old = _start_from(scenario.start, scenario.scene.dimension)
        dt = None if old is None else old.dt
        if old is None:
            cell = read_cell(scenario.start.file, scenario.start.frame, scenario.scene.dimension)
    packed = 0
    if grains is not None:
        scenario, grains, packed = _in_sets(scenario, grains, old)
    return Beginning(scenario, grains, packed, state, walls, dt, cell)


def refuse_odd_numbers(model: Model, state: State, what: str) -> None:
    """A state must hold numbers that a run can go on from."""
    refuse_unfit(model, state, farthest(model), InputError, what)


def grains_of(frame: Frame | Record, model: dict[str, Any]) -> GrainArrays:
    """The grains of a frame that are there, or all grains of a record."""
    id = frame.id if isinstance(frame, Frame) else np.arange(model["radius"].size)
    n = id.size
    moving = (frame.velocity[:n], frame.spin[:n], model["group"][id])
    shape = model["shape"][id] if model["shape"].size else None
    turned = None if shape is None else frame.orientation[:n]
    return GrainArrays(frame.position[:n], model["radius"][id], *moving, turned, shape)


def _in_sets(
    scenario: Scenario, grains: GrainArrays, old: Scenario | None
) -> tuple[Scenario, GrainArrays, int]:
    """Grains of a start in the sets of a scene, the new grains of its other sets behind them.

    Sets without a place are theirs; or, where all have one, those that come first and would place
    as many grains as the start has in its sets: the scene that made them. A scene without any gets
    one. Also returns how many come from the start.
    """
    scene, sets = scenario.scene, scenario.scene.grains
    if grains.position.shape[1] != scene.dimension:
        raise InputError(
            f"start holds grains in {grains.position.shape[1]}D; scene.dimension is"
            f" {scene.dimension}"
        )
    small = np.flatnonzero(~(grains.radius > 0.0))
    if small.size:
        raise InputError(
            f"start holds grains of which grain {small[0]} has the radius"
            f" {grains.radius[small[0]]:g}; it must be greater than 0"
        )
    counts = np.bincount(grains.group, minlength=1).tolist()
    theirs = [k for k, spec in enumerate(sets) if spec.place is None]
    if not sets:
        scene, theirs = scene.model_copy(update={"grains": [Grains()]}), [0]
    elif not theirs:
        for first in ([sum(counts)], counts):
            if [spec.size for spec in sets[: len(first)]] == first:
                theirs = [*range(len(first))]
        if not theirs:
            raise InputError(
                f"start holds {sum(counts)} grains, but every set in scene.grains has a place, and"
                " is new; add a set without a place for the grains of the start"
            )
    for k in theirs:
        if sets and sets[k].insert is not None:
            raise InputError(
                f"scene.grains[{k}].insert is given, but its grains come from the start; leave out"
                " insert, or give the set a place"
            )
    if len(theirs) == 1:
        group = np.full_like(grains.group, theirs[0])
    elif len(counts) > len(theirs):
        raise InputError(
            f"start holds {len(counts)} sets of grains; the scene has {len(theirs)}, and needs"
            " as many, or one for all"
        )
    else:
        group = np.array(theirs, np.int32)[grains.group]
    if old is not None and grains.shape is not None:
        scene, shape = take_shapes(scene, scenario.seed, group, old, grains)
        grains = replace(grains, shape=shape)
    grains = replace(grains, group=group)
    placed = scene.place_grains(scenario.seed, grains, theirs)
    return scenario.model_copy(update={"scene": scene}), placed, grains.group.size


def _start_from(
    start: Start, dimension: int
) -> tuple[GrainArrays, State | None, list[tuple[str, int]] | None, Scenario | None]:
    """Grains of a file and, if it is an earlier run, its state, walls (name, kind) and scenario."""
    if is_packing(start.file):
        return read_grains(start.file, start.frame, dimension), None, None, None
    with RunFile(start.file) as file:
        try:
            frame, rows = file[start.frame], file.contacts(start.frame)
        except IndexError:
            raise InputError(
                f"start.frame is {start.frame}; {start.file} has {len(file)} frames"
            ) from None
        model, names, old = file.model, file.wall_names, stored_scenario(file.header, start.file)
    if rows is None:
        raise InputError(
            f"start.frame is {start.frame}, a frame of {start.file} without contacts; choose one"
            " whose contacts were stored"
        )
    walls = list(zip(names, model["wall_kind"].tolist()))
    grains = grains_of(frame, model)
    deforms = any(spec.elastic is not None for spec in old.scene.grains)
    whose = old.scene.build(old.seed, grains)[0] if deforms else None
    return grains, frame.state(rows, whose), walls, old
