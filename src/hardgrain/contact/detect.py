"""The contact candidates of each step (`contact.search`), with the pair list that they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.gaps import gaps
from hardgrain.contact.neighbours import find_pairs, find_wall_pairs, merge_pairs
from hardgrain.contact.pairs import PairList, safe, wall_geometry
from hardgrain.contact.points import NarrowPhase
from hardgrain.contact.rows import complete
from hardgrain.contact.search import Found, Place, find, overlooked
from hardgrain.contact.shapes import Listed, Shapes
from hardgrain.contact.skin import deepest_point
from hardgrain.contact.together import find_together, overlooked_together
from hardgrain.core import lawtable
from hardgrain.core.cell import Cell
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.cell import reduce_tilts
from hardgrain.cpu.contacts import candidates
from hardgrain.cpu.mesh_inside import inside
from hardgrain.errors import INTACT, InputError, RunError
from hardgrain.point.given import Sites
from hardgrain.point.reach import MARGIN
from hardgrain.processes import ALONE, Alone
from hardgrain.scene.place import worst_overlap

__all__ = ["Detector", "deepest_overlap", "refuse_overlaps"]

# [width] Overlap that rounding may give to input that is meant to touch. If it is smaller, exact
# lattices are refused; if it is larger, real overlaps are let in without a word.
ALLOWED = 5e-10


class Detector:
    """Finds each step's contact candidates."""

    def __init__(self, model: Model, dt: float) -> None:
        self.model = model
        self.dt = dt
        self.others: Alone = ALONE  # processes that look for the contacts of the other grains
        self._pairs = PairList(model)
        holds = model.law_table[:, lawtable.COHESION] > 0.0
        bonds = np.where(holds, model.law_table[:, lawtable.COHESION_RANGE], 0.0)
        periodic = Cell.straight(model.periodic).numbers if model.cell >= 0 else model.periodic
        self.shapes = Shapes(
            model.radius, 0.5 * model.width, model.material, len(model.laws), periodic,
            MARGIN * model.radius + float(bonds.max()), model.wall_kind, model.wall_offset,
            model.wall_axis, model.wall_size, model.wall_side, NarrowPhase.of(model),
        )  # fmt: skip

    @property
    def together(self) -> bool:
        """Whether all threads list pairs, and look for contacts of round grains."""
        return self._pairs.together

    @together.setter
    def together(self, together: bool) -> None:
        self._pairs.together = together

    @property
    def listed(self) -> Listed:
        """The pair list as it is."""
        return self._pairs.listed

    @property
    def made(self) -> tuple[tuple[Floats, Floats], Floats]:
        """What `contact.pairs.carry` is told of the list: as it was made, and the cell then."""
        return self._pairs.made, self._pairs.cell

    def renew(self, state: State, reach: Floats) -> None:
        """Make the pair list anew, with room for twice the given reach (nb,)."""
        self.others.list_anew(reach)  # several processes do so together, and begin the step anew
        walls = wall_geometry(self.model, state)
        self._pairs.make(state.position, walls, reach, 2.0 * reach, state.cell)
        if not safe(state.position, self.listed, reach):
            raise RunError(
                f"step {state.step + 1} begins with a place or a velocity that is not a number"
                + INTACT
            )

    def find(self, state: State, velocity: Floats, spin: Floats | None = None) -> Contacts:
        """Candidates for the step that starts from ``state`` with these free velocities and spins.

        Without spins, those of the state. Impulses are those that the same contacts had in the last
        step, else zero.
        """
        s, old = state, state.contacts
        while True:
            turning = s.spin if spin is None else spin
            place = Place(s.position, s.orientation, turning, velocity, self.dt)
            if s.cell.size:
                reduce_tilts(s.cell, self.shapes.periodic)
            given = self.shapes, self._pairs.listed_in(s), place, old.rows, old.feature
            if self.together and self.model.round:
                found = find_together(*given, self.others)
            else:
                found = find(*given)
            if not found.stale:
                self._found = found
                return self._contacts(state, found)
            self.renew(state, found.reach)

    def overlooked(
        self,
        state: State,
        contacts: Contacts,
        velocity: Floats,
        spread: int,
        spin: Floats | None = None,
    ) -> Contacts | None:
        """Candidates once more if the solved motion closes a pair that was none, else None.

        ``spread``: for how many grains ahead of a fast one it is foreseen that the push passes on.
        """
        s = state
        while True:
            turning = s.spin if spin is None else spin
            place = Place(s.position, s.orientation, turning, velocity, self.dt)
            known = self._found._replace(rows=contacts.rows, feature=contacts.feature)
            given = self.shapes, self.listed, place, known, spread
            if self.together and self.model.round:
                closes, found = overlooked_together(*given, self.others)
            else:
                closes, found = overlooked(*given)
            if not found.stale:
                break
            self.renew(state, found.reach)
        if not closes:
            return None
        self._found = found
        return self._contacts(state, found)

    def moved(self, state: State, contacts: Contacts) -> Contacts:
        """The same contacts with the normals, gaps and arms that they have in another state."""
        model, walls = self.model, wall_geometry(self.model, state)
        everywhere = np.full(model.bodies, np.inf)
        x = state.position
        sites = Sites(x, model.radius, model.cell_in(state).numbers, walls)
        _, normal, gap = candidates(contacts.first, contacts.second, sites, everywhere)
        return complete(model, x, replace(contacts, normal=normal, gap=gap))

    def _contacts(self, state: State, found: Found) -> Contacts:
        contacts = Contacts(**found.rows._asdict(), feature=found.feature)
        if (rule := self.model.rule) is not None:
            contacts.law = rule(self.model, state.position, contacts, contacts.law)
        return contacts


def deepest_overlap(model: Model, state: State) -> tuple[float, int, int]:
    """Worst overlap relative to the smaller grain's diameter, and its bodies; 0, −1, −1: none.

    All pairs are looked for anew, whatever a run knew of them.
    """
    if model.elastic is not None:
        return deepest_point(model, state)
    walls, none, n = wall_geometry(model, state), np.zeros(model.bodies), model.n
    pairs = PairList(model)
    pairs.make(state.position, walls, none, none, state.cell)
    index, gap = gaps(model, state, pairs.first, pairs.second, none)
    if not index.size:
        return 0.0, -1, -1
    i, j = pairs.first[index], pairs.second[index]
    other = np.where(j < n, model.width[np.minimum(j, n - 1)], np.inf)
    share = -gap / np.minimum(model.width[i], other)
    k = int(share.argmax())
    return float(share[k]), int(i[k]), int(j[k])


def refuse_overlaps(
    model: Model,
    state: State,
    *,
    new_grains: NDArray[np.bool_] | None = None,
    new_walls: Sequence[int] | None = None,
) -> None:
    """Refuse a first state with overlapping bodies, naming the worst pair.

    With ``new_grains`` (n,) and ``new_walls`` only pairs with one of them are looked at: the rest
    comes from an earlier run.
    """
    n, walls = model.n, wall_geometry(model, state)
    if model.elastic is not None:
        known = None
        if new_grains is not None:
            told = np.full(len(walls[0]), new_walls is not None)
            told[np.array(new_walls or [], dtype=np.int64)] = False
            known = np.append(~new_grains, told)
        share, i, j = deepest_point(model, state, known)
        if share > ALLOWED:
            at = ", ".join(f"{coordinate:g}" for coordinate in state.position[i])
            raise InputError(
                f"{model.body_name(i)} at ({at}) overlaps {model.body_name(j)} by {share:.2g} of"
                " its width; move them apart, or set scene.allow_overlaps = true"
            )
        return
    x, r, cell = state.position[:n], model.radius, model.cell_in(state)
    period = cell.numbers
    new = np.ones(model.bodies, dtype=bool)
    if new_grains is not None:
        new[:n] = new_grains
    if new_walls is not None:
        new[n:] = False
        new[n + np.array(new_walls, dtype=np.int64)] = True
    overlap, i, j = 0.0, -1, -1
    none = np.zeros(model.bodies)
    first, second = find_wall_pairs(x, r, period, walls, none[n:])
    free = model.carrier < n  # what is glued may be sunk in walls and in what is glued
    if model.round and new[:n].all() and free[:n].all() and not cell.tilted:
        overlap, i, j = worst_overlap(x, r, model.periodic)
    elif new[:n].any():
        first, second = merge_pairs(*find_pairs(x, r, period), first, second)
    looked = (new[first] | new[second]) & (free[first] | free[second])
    first, second = first[looked], second[looked]
    index, gap = gaps(model, state, first, second, none)
    if gap.size and -gap.min() > overlap:
        worst = index[gap.argmin()]
        overlap, i, j = -float(gap.min()), int(first[worst]), int(second[worst])
    _refuse_inside(model, state, new, free)
    if i < 0 or overlap <= ALLOWED * model.width[i]:
        return
    at = ", ".join(f"{coordinate:g}" for coordinate in x[i])
    one, other = model.body_name(i), model.body_name(j)
    raise InputError(
        f"{one} at ({at}) {'overlaps' if j < n else 'is cut by'} {other} by {overlap:g},"
        f" {overlap / model.width[i]:.2g} of its {'diameter' if model.round else 'width'}; move"
        " them apart, or set scene.allow_overlaps = true"
    )


def _refuse_inside(
    model: Model, state: State, new: NDArray[np.bool_], free: NDArray[np.bool_]
) -> None:
    """Refuse grains on the solid side of a closed mesh, so deep that they may not touch it."""
    if not model.meshes.one_sided.any():
        return
    n = model.n
    x = state.position[:n]
    wall = inside(x, model.periodic, wall_geometry(model, state), model.meshes)
    bad = np.flatnonzero((wall >= 0) & free[:n] & (new[:n] | new[n + wall]))
    if bad.size:
        i = int(bad[0])
        at = ", ".join(f"{coordinate:g}" for coordinate in x[i])
        where = "outside" if model.meshes.hollow[wall[i]] else "inside"
        other = "outside" if where == "inside" else "inside"
        raise InputError(
            f"{model.body_name(i)} at ({at}) lies {where} of the closed mesh"
            f" {model.wall_names[wall[i]]!r}, whose {other} is free for grains; move it, give"
            f" side = '{where}' for the mesh, or set scene.allow_overlaps = true"
        )
