"""Grains that come and go: which of all the grains of a run are there at a moment, in which order.

All grains are drawn before a run, with sizes and velocities, and keep their number and their row in
the file, in whatever order the run holds them. Those of a set with ``insert`` wait until they are
due and there is room; those whose centre meets a rule of ``scene.remove`` are taken out. In
between, `Simulation` has a model and a state of the grains that are there and of nothing else, so
that no step, solver or measurement need know of the others.

Grains come and go before a step. Which of them do depends on the state, the seed and the step
alone, so that a resumed run does the same. The mass and energy that they bring and take is the
`Flow` of that step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import wall_geometry
from hardgrain.core.model import Floats, Ints, Model, Rows, State
from hardgrain.cpu.ledger import kinetic_energy
from hardgrain.errors import InputError
from hardgrain.run.curve import along_curve
from hardgrain.scene._deposit import cut
from hardgrain.scene.obstacles import Obstacles
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Grains
from hardgrain.step.loads import turned

__all__ = ["FLOWS", "Exchange", "Flow"]

THERE, WAITING = 0, -1  # status of a grain; k > 0 means that rule k has taken it out

MOVING = ("position", "velocity", "spin", "orientation")

# [points] Random points of its region that a grain tries before it waits for the next step. At half
# the density at which random deposition saturates, a few are enough; with fewer tries grains wait
# although there is room, with more a full region costs time in every step.
TRIES = 100

# [radius] Overlap that rounding may give to a grain and what it is meant to touch. If it is
# smaller, grains that fit exactly wait forever; if it is larger, true overlaps are let in.
ROUNDING = 1e-9


@dataclass
class Flow:
    """What came in and went out before a step, or, over a run, the sums of all steps."""

    inserted: float = 0.0  # number of grains that came in
    removed: float = 0.0  # number of grains that went out
    waited: float = 0.0  # number of those inserted later than they were due, for want of room
    mass_inserted: float = 0.0  # [mass]
    mass_removed: float = 0.0  # [mass]
    kinetic_inserted: float = 0.0  # energy of translation and rotation [energy]
    kinetic_removed: float = 0.0  # [energy]
    potential_inserted: float = 0.0  # −m g·x [energy]
    potential_removed: float = 0.0  # [energy]
    elastic_removed: float = 0.0  # energy in the springs of soft contacts [energy]


FLOWS = tuple(f.name for f in fields(Flow))


class Exchange:
    """All grains of a run by their numbers, which of them are there, and in which order."""

    def __init__(
        self,
        scene: Scene,
        seed: int,
        dt: float,
        everyone: Model,
        status: Ints | None = None,
        order: Ints | None = None,
    ) -> None:
        self.everyone, self.seed, self.dt = everyone, seed, dt
        self._sets = [(k, s, s.insert) for k, s in enumerate(scene.grains) if s.insert]
        self._rules = [(r, scene.regions[r.region]) for r in scene.remove]
        self.titles = tuple(rule.title for rule, _ in self._rules)
        self.taken = [0] * len(self._rules)  # grains that each rule took out before the last step
        self.changes = bool(self._sets or self._rules)
        self.status = np.full(everyone.n, THERE, np.int32)
        for k, _, _ in self._sets:
            self.status[everyone.group == k] = WAITING
        if status is not None and status.size:
            self.status = status.astype(np.int32)
        self.order = everyone.id  # numbers of all grains in the order in which a run holds them
        if order is not None and order.size:
            self.order = order.astype(np.int32)

    # ------------------------------------------------------------------ all grains, and those there
    def begin(self, state: State) -> tuple[Model, State]:
        """The model and the state of the grains that are there, given those of all by number."""
        self._all = state
        there = self.order[self.status[self.order] == THERE]
        return self.everyone.only(there), state.only(there, self.everyone.n)

    def whole(self, model: Model, state: State) -> State:
        """The state of all grains by number; those taken out are where they left."""
        if model is self.everyone:
            return state
        everyone, number = self._all.copy(), model.number
        for name in MOVING:
            getattr(everyone, name)[number] = getattr(state, name)
        everyone.step, everyone.time, everyone.cell = state.step, state.time, state.cell
        everyone.contacts = state.contacts.among(number)
        if state.deformation is not None:  # grains that deform neither come nor go
            everyone.deformation = state.deformation.only(np.argsort(model.id))
        return everyone

    def sort(
        self, model: Model, state: State, order: Sequence[int] | Rows | None = None
    ) -> tuple[Model, State]:
        """Model and state in the order of these numbers, see `Simulation.sort`."""
        whole, n = self.whole(model, state), self.everyone.n
        if order is None:  # those that are not there come last
            curve = along_curve(whole.position[:n], self.everyone.cell_in(whole))
            order = curve[np.argsort(self.status[curve] != THERE, kind="stable")]
        if not np.array_equal(np.sort(order), self.everyone.id):
            raise InputError(
                f"order has {len(order)} numbers; it must have every grain from 0 to {n - 1} once"
            )
        self.order = np.array(order, np.int32)
        return self.begin(whole)

    @property
    def sorted(self) -> bool:
        """Whether grains are held in another order than that of their numbers."""
        return bool((self.order != self.everyone.id).any())

    @property
    def moment(self) -> tuple[Ints, State, list[int]]:
        """Which grains are there, and where the others are; set it to go back to that moment."""
        return self.status.copy(), self._all, self.taken

    @moment.setter
    def moment(self, moment: tuple[Ints, State, list[int]]) -> None:
        self.status, self._all, self.taken = moment

    def removed_by(self) -> list[int]:
        """How many grains each rule has taken out so far."""
        return [int((self.status == k).sum()) for k in range(1, len(self._rules) + 1)]

    def waiting(self, time: float) -> tuple[int, int]:
        """Grains that are due but have found no room yet, and grains that are not due yet."""
        late, later = 0, 0
        for k, _, insert in self._sets:
            mine = self.everyone.group == k
            count, waiting = int(mine.sum()), int((mine & (self.status == WAITING)).sum())
            later += count - insert.due(time, count)
            late += waiting - (count - insert.due(time, count))
        return late, later

    # ------------------------------------------------------------------ before a step
    def __call__(
        self, model: Model, state: State, *, removes: bool = True
    ) -> tuple[Model, State, Flow] | None:
        """Take grains out and let others in; returns None if nothing changes."""
        gone = self._gone(model, state) if removes else np.zeros(model.n, np.int32)
        left = np.flatnonzero(gone)
        self.taken = np.bincount(gone, minlength=1 + len(self._rules))[1:].tolist()
        came, places, waited = self._came(model, state, gone == THERE)
        if not left.size and not came.size:
            return None
        everyone = self.whole(model, state)
        out = self._amounts(everyone, model.id[left])
        everyone.position[came] = places
        self.status[model.id[left]] = gone[left]
        self.status[came] = THERE
        new, some = self.begin(everyone)
        into = self._amounts(everyone, came)
        pairs = {f"{name}_inserted": value for name, value in into.items()}
        pairs |= {f"{name}_removed": value for name, value in out.items()}
        return new, some, Flow(came.size, left.size, waited, **pairs)

    def _amounts(self, state: State, id: Rows) -> dict[str, float]:
        """Mass and energies of some grains."""
        m, mass = turned(self.everyone, state.orientation), self.everyone.mass[id]
        bodies = (state.velocity[id], state.spin[id], m.inv_mass[id], m.inv_inertia[id])
        return {
            "mass": float(mass.sum()),
            "kinetic": float(kinetic_energy(*bodies)),
            "potential": -float(mass @ (state.position[id] @ m.gravity)),
        }

    def _gone(self, model: Model, state: State) -> Ints:
        """Number of the rule that takes each grain out (n,), the first of several, 0 if none."""
        gone = np.zeros(model.n, np.int32)
        x = state.position[: model.n]
        for number, (rule, region) in reversed([*enumerate(self._rules, 1)]):
            if state.time >= rule.time:
                inside = region.holds(x, model.periodic)
                gone[inside if rule.entering else ~inside] = number
        gone[model.carrier[: model.n] >= model.n] = 0  # grains glued to a wall stay with it
        return gone

    def _came(
        self, model: Model, state: State, stay: NDArray[np.bool_]
    ) -> tuple[Rows, Floats, int]:
        """Numbers of the grains that come in, where, and how many of them had to wait."""
        came: list[int] = []
        places: list[Floats] = []
        waited = 0
        for k, spec, insert in self._sets:
            mine = np.flatnonzero(self.everyone.group == k)
            waiting = mine[self.status[mine] == WAITING]
            done = mine.size - waiting.size
            now = insert.due(state.time, mine.size) - done
            if now <= 0:
                continue
            before = insert.due(state.time - self.dt, mine.size) - done
            room = _Room(model, state, stay, self.everyone.radius[came], places)
            for i, id in enumerate(waiting[:now].tolist()):
                radius = float(self.everyone.radius[id])
                place = room.free(self._tries(spec, k, id, radius, state.step), radius)
                if place is None:  # the grains behind it wait, too
                    break
                room.take(place, radius)
                came.append(id)
                places.append(place)
                waited += i < before
        found = np.array(places).reshape(-1, model.dim)
        return np.array(came, np.int64), found, waited

    def _tries(self, spec: Grains, k: int, id: int, radius: float, step: int) -> Floats:
        """Points (m, dim) at which a grain may come in; it takes the first free one."""
        if not isinstance(spec.place, Deposit):
            return self._all.position[id : id + 1]
        low, high = np.array(spec.place.min), np.array(spec.place.max)
        period = self.everyone.periodic
        endless = (period > 0.0) & (high - low >= period)  # such a region has no ends
        inset = np.where(endless, 0.0, radius)
        share = np.random.default_rng([self.seed, k, id, step]).random((TRIES, low.size))
        points: Floats = low + inset + share * (high - low - 2.0 * inset)
        return points


class _Room:
    """The grains and walls that are in the way of grains that come in."""

    def __init__(
        self,
        model: Model,
        state: State,
        stay: NDArray[np.bool_],
        radius: Floats,
        places: list[Floats],
    ) -> None:
        n = model.n
        self.periodic = model.periodic
        self.walls = Obstacles(wall_geometry(model, state), model.meshes)
        new = np.array(places).reshape(-1, model.dim)
        self.x = np.concatenate([state.position[:n][stay], new])
        self.r = np.concatenate([model.radius[stay], radius])

    def free(self, points: Floats, radius: float) -> Floats | None:
        """The first of the points (m, dim) at which a grain overlaps nothing."""
        slim = radius * (1.0 - ROUNDING)
        each = np.full(len(points), slim)
        blocked = cut(np.ascontiguousarray(points), each, self.periodic, self.walls)
        for k in np.flatnonzero(~blocked):
            away = self.x - points[k]
            away -= self.periodic * np.round(away / np.where(self.periodic > 0, self.periodic, 1.0))
            if not (np.einsum("ia,ia->i", away, away) < (self.r + slim) ** 2).any():
                place: Floats = points[k]
                return place
        return None

    def take(self, place: Floats, radius: float) -> None:
        """Add one grain."""
        self.x, self.r = np.vstack([self.x, place]), np.append(self.r, radius)
