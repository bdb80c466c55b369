"""Contact dynamics that several processes share: the steps of `step.contact_dynamics`.

Every process runs the same program. The first one knows all bodies, as they were when the march
last paused: for a frame, a look at the contact network, or the end. Then it also knows the contacts
of all. The others know the walls and their own grains with those around (`step.part`), no more, so
that what they hold falls as 1/N. Each moves its grains with an engine of one process that asks the
others where it must.

The grains are divided anew whenever the pair list is: whoever has a grain hands it over to whoever
has its tile now (`core.grain_rows`), and tells those who may have grains near it. When a run begins
the first process has all of them. All of a step is then begun again; nothing of it has been kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import SAFETY, PairList, wall_geometry
from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.grain_rows import MOVED, GrainRows, only_walls
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.tile_edges import tiles_of
from hardgrain.cpu.tiled_apart import chosen, gathered_up, renamed, spread
from hardgrain.parallel import cores
from hardgrain.point.reach import NEAR
from hardgrain.point.tiles import shared_bodies
from hardgrain.processes import Processes
from hardgrain.solve.solver import Solver
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.domains import next_to
from hardgrain.step.engine import RigidGrains
from hardgrain.step.gathering import side_by_side
from hardgrain.step.part import Part, Stale, Whole
from hardgrain.step.pause import ONE_STEP, Pause, look_due
from hardgrain.step.report import Softness, StepReport, Stopwatch, Stride
from hardgrain.step.shared_refusals import refuse_shared

__all__ = ["SharedDynamics"]

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

# [s] A march pauses that often for the progress line, and [1] as many times longer than it takes to
# tell the first process of all, and to hand it out again. Less: that time shows; more: the progress
# line is slow.
SECONDS, TIMES = 1.0, 50.0
# [1] Grains that reach beyond half a tile, of each process, from which on it looks at all grains
# when it lists its pairs. It changes the time that a list takes.
FAR = 64


def _share_cores(here: Processes) -> None:
    """Let the processes of a machine share its cores, unless somebody has chosen how many."""
    import numba

    if numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS:
        own = min(cores(), (os.cpu_count() or 1) // here.beside)  # a process may be bound to some
        numba.set_num_threads(max(1, min(own, numba.config.NUMBA_NUM_THREADS)))


class SharedDynamics:
    """Advances a state in steps that several processes make together."""

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains,
        here: Processes,
    ) -> None:
        """model: of all bodies in the first process, of the walls in the others."""
        refuse_shared(model, solver, settings)
        _share_cores(here)
        shared, largest = shared_bodies(model.radius, model.bodies)
        large = np.flatnonzero(shared[: model.n])
        self._n, self._rows, large, largest = here.first(
            (model.n, GrainRows(model), large, largest)
        )
        self._walls = model.only(np.zeros(0, np.int64))
        self.model, self.solver, self.dt, self.seed = model, solver, dt, seed
        self.settings, self.here = settings, here
        self.seconds = Stopwatch()
        self.softness: Softness | None = None
        self.springs = False
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self.hurry: Callable[[], bool] = lambda: False  # whether the user asks for a pause
        self._whole = Whole(here, self._n, model.periodic, large, largest)
        self._telling = 0.0  # how long it took to tell of the state, there and back [s]
        self._last: Contacts | None = None  # of which all have their part
        self._told: list[Ints] = []  # in the first process, the grains of each, as rows of the run

    def advance(self, state: State) -> StepReport:
        """One step."""
        return self.march(state, ONE_STEP).reports[-1]

    def elastic(self, state: State) -> float:
        """Energy in springs: rigid grains have none."""
        return 0.0

    def updates(self, report: StepReport) -> float:
        """How much work a step was: contact updates."""
        return report.sweeps * report.candidates

    def march(self, state: State, pause: Pause) -> Stride:
        """Make steps until there is a reason to pause, at least one."""
        state.make_plain()
        self._take(state)
        made: list[Stride] = []
        since, rested, began = pause.look.since, pause.rested, time.perf_counter()
        while len(made) < pause.steps:
            made.append(self._step())
            report = made[-1].reports[-1]
            updates = self.updates(report)
            since += updates + pause.look.step
            rested = rested + 1 if report.speed < pause.rest_speed else 0
            if pause.rest_speed > 0.0 and rested >= pause.rest_steps:
                break
            if look_due(pause.look, since, report.candidates, report.loaded):
                break
            waited = time.perf_counter() - began > max(SECONDS, TIMES * self._telling)
            if self.here.any(self.hurry() or (self.here.leads and waited)):
                break
        self._give(state)
        self.wall_force, self.wall_torque = self._engine.wall_force, self._engine.wall_torque
        return Stride(
            [s.reports[0] for s in made], [s.paces[0] for s in made],
            np.concatenate([s.wall_force for s in made]),
            np.concatenate([s.wall_work for s in made]),
        )  # fmt: skip

    def _step(self) -> Stride:
        """One step of all processes; the grains are divided anew where that is needed."""
        while True:
            try:
                return self._engine.march(self._state, ONE_STEP)
            except Stale as stale:
                with self.seconds.of("detect"), self.solver.cores():
                    self._divide_anew(stale.reach)

    # ------------------------------------------------------------------ between all and each
    def _take(self, state: State) -> None:
        """Let each process have its part of a state, which may be another one than it knows."""
        if self.here.any(self.here.leads and state.contacts is not self._last):
            with self.solver.cores():
                self._begin(state)
            return
        began, own, part = time.perf_counter(), self._state, self._part
        to = [getattr(own, name) for name in MOVED]
        every = [getattr(state, name) for name in MOVED]
        room = np.empty((part.mine.size, sum(v.shape[1] for v in to)))
        self.here.dealt(lambda q: side_by_side(every, self._told[q]), room)
        walls = np.arange(self.model.n, self.model.bodies)
        _lay_out(room, to, part.mine)
        _lay_out(self.here.first(side_by_side(every, walls)), to, slice(part.grains, None))
        part.exchange(*to)
        own.step, own.time = state.step, state.time
        self._telling += time.perf_counter() - began

    def _give(self, state: State) -> None:
        """Tell the first process of the state and the contacts, the others of the walls."""
        began = time.perf_counter()
        part, own, n = self._part, self._state, self.model.n
        known = [getattr(own, name) for name in MOVED]
        into = [getattr(state, name) for name in MOVED]
        self._told = []

        def take(found: Floats) -> None:
            self._told.append(found[:, 0].astype(np.int32))
            _lay_out(found[:, 1:], into, self._told[-1])

        self.here.told_first(side_by_side((part.row, *known), part.mine), take)
        for here, there in zip(known, into, strict=True):
            there[n:] = here[part.grains :]
        self._last = state.contacts = self._all_contacts()
        state.step, state.time = own.step, own.time
        self._telling = time.perf_counter() - began

    def _all_contacts(self) -> Contacts:
        """The contacts of all in the first process, none in the others."""
        rows = self._state.contacts.rows
        many = int(self.here.total(rows.first.size))
        many = many if self.here.leads else 0
        columns = [np.empty((many, *c.shape[1:]), c.dtype) for c in rows]
        done = 0

        def take(found: Floats) -> None:
            nonlocal done
            for column, some in zip(columns, gathered_up(found, rows), strict=True):
                column[done : done + len(found)] = some
            done += len(found)

        self.here.told_first(spread(renamed(rows, self._part.row)), take)
        if many:
            order = np.lexsort((columns[1], columns[0]))
            for k in range(len(columns)):  # one after the other, each in place of the one before
                columns[k] = columns[k][order]
        return Contacts(**ContactRows(*columns)._asdict())

    # ------------------------------------------------------------------ who has which grains
    def _begin(self, state: State) -> None:
        """Divide a state of which the first process knows all, and the others the walls."""
        m, here, whole = self.model, self.here, self._whole
        walls = only_walls(m, state)[1]
        for name in MOVED:
            setattr(walls, name, here.first(getattr(walls, name)))
        speed = np.sqrt(np.einsum("ia,ia->i", state.velocity, state.velocity))
        reach = self.dt * speed
        reach[: m.n] += NEAR * m.radius
        rows, row = state.contacts.rows, np.arange(m.n)
        none = here.first(chosen(rows, slice(0)))
        if not here.leads:
            rows = none
        if whole.tiling is None:
            contacts = int(here.first(rows.first.size)) or 3 * self._n
            whole.cut(row, state.position[: m.n], contacts)
        self._divide((m, state, walls), row, row, reach, rows)

    def _divide_anew(self, reach: Floats) -> None:
        """Divide the grains anew, for pair lists of bodies with this local reach (nb,)."""
        part, own, model = self._part, self._state, self._engine.model
        rows = renamed(own.contacts.rows, part.row)
        walls = only_walls(model, own)[1]
        self._divide((model, own, walls), part.mine, part.row[part.mine], reach, rows)

    def _divide(
        self, known: tuple[Model, State, State], mine: Longs, row: Longs, reach: Floats,
        contacts: ContactRows,
    ) -> None:  # fmt: skip
        """Hand grains over to those who have their tiles now, and make the part of this process.

        known: model and state with the grains that this process has, and the state of all walls;
        mine: where its grains are among them; row: their rows in the run; reach: (nb,) of all in
        that state; contacts: those whose first grains it has, by rows of the run.
        """
        whole, here, layout = self._whole, self.here, self._rows
        model, state, walls = known
        assert whole.tiling is not None
        tile = tiles_of(whole.tiling, state.position[mine])
        tiles = int(whole.tiling.count.prod())
        weight = whole.weight
        if weight.size != tiles:
            weight = here.total(np.bincount(tile, minlength=tiles))
        whole.share(weight, True)
        to = whole.owner[tile]

        def written(some: Longs) -> Floats:
            local = mine[some]
            grains = layout.written(model, state, local)
            return np.concatenate([row[some, None], reach[local, None], grains], axis=1)

        own = _in_order(here.handed_over(to, written))
        whose = to[np.searchsorted(row, contacts.first)] if row.size else to
        came = here.handed_over(whose, lambda some: spread(chosen(contacts, some)))
        near = _in_order(np.concatenate([own, self._others_near(own)]))
        self._build(near, walls, reach[model.n :], gathered_up(came, contacts))

    def _others_near(self, own: Floats) -> Floats:
        """Grains of others that may be in a pair with one of this process, each at least once."""
        whole, here = self._whole, self.here
        assert whole.tiling is not None
        tiling, period = whole.tiling, self.model.periodic
        found = self._rows.read(own[:, 2:])
        position, row = found["position"], own[:, 0].astype(np.int64)
        extent = (1.0 + SAFETY) * found["radius"] + 2.0 * own[:, 1]
        cut = tiling.count > 1
        half = 0.5 * float(tiling.width[cut].min()) if cut.any() else np.inf
        far = extent > half
        many = int(here.total(np.int64(np.count_nonzero(far))))
        if many > FAR * here.size:  # a thin and fast gas: every process needs all of it
            all_of_them: Floats = here.gathered(own)
            return all_of_them
        common = far | whole.large_among(row) | (row < 2)
        every = here.gathered(np.concatenate([own[common], far[common, None]], axis=1))
        fast, every = every[every[:, -1] > 0.0, :-1], every[:, :-1]
        near = next_to(tiling, whole.owner, position)
        most = float(here.most(np.array([extent[~far].max(initial=0.0)]))[0])
        of_fast = self._rows.read(fast[:, 2:])
        wide = (1.0 + SAFETY) * of_fast["radius"] + 2.0 * fast[:, 1] + most
        owner = whole.owner[tiles_of(tiling, of_fast["position"])]
        wrap = np.where(period > 0.0, period, np.inf)
        for q, place, reaches in zip(owner, of_fast["position"], wide, strict=True):
            apart = position - place
            apart -= np.where(period > 0.0, wrap * np.round(apart / wrap), 0.0)
            some = (np.abs(apart) <= reaches).all(axis=1)
            near[int(q)] = near.get(int(q), False) | some
        near[here.rank] = common  # nothing to itself
        none = np.zeros(len(own), np.bool_)
        parts = [own[near.get(q, none) & ~common] for q in range(here.size)]
        others: Floats = np.concatenate([every, *here.traded(parts)])
        return others

    def _build(self, near: Floats, walls: State, reach: Floats, contacts: ContactRows) -> None:
        """Make the part of this process, given all grains that are near its own.

        reach: (w,) of walls; contacts: those whose first grains are its own, by rows of the run.
        """
        whole, here, layout, n = self._whole, self.here, self._rows, self._n
        assert whole.tiling is not None
        model = layout.model(self._walls, near[:, 2:])
        state = layout.state(walls, near[:, 2:], Contacts.none(model.dim))
        k, w = model.n, self._walls.bodies
        row = np.append(near[:, 0].astype(np.int64), np.arange(n, n + w))
        owner = np.zeros(k + w, np.int64)
        owner[:k] = whole.owner[tiles_of(whole.tiling, state.position[:k])]
        mine = owner == here.rank
        mine[k:] = False
        pairs = PairList(model)
        pairs.together = True
        reach = np.append(near[:, 1], reach)
        pairs.make(state.position, wall_geometry(model, state), reach, 2.0 * reach)
        some = mine[pairs.first] | mine[pairs.second]
        first, second = pairs.first[some], pairs.second[some]
        # its own grains, those that may touch them, and what every process has: see `Part.box`
        kept = mine | whole.large_among(row) | (row < 2)
        kept[first] = kept[second] = kept[k:] = True
        kept = np.flatnonzero(kept)
        local = np.zeros(k + w, np.int32)
        local[kept] = np.arange(kept.size, dtype=np.int32)
        grains = kept[kept < k]
        self._state = state.only(grains, k)
        self._state.contacts = self._own_contacts(contacts, row[kept])
        owned = mine[first]
        both = local[first], local[second]
        self._part = Part(whole, row[kept], owner[kept], (both[0][owned], both[1][owned]))
        engine = ContactDynamics(model.only(grains), self.solver, self.dt, self.seed, self.settings)
        engine.seconds, engine.detector.others = self.seconds, self._part
        listed = engine.detector._pairs
        listed.first, listed.second, listed.safety = *both, pairs.safety[kept]
        listed.origin = self._state.position.copy()
        self._engine = engine

    def _own_contacts(self, came: ContactRows, row: Longs) -> Contacts:
        """Contacts by rows of the run as those of bodies that have these rows (nb,)."""
        came = chosen(came, np.lexsort((came.second, came.first)))
        # A contact with a grain that is not near any more is none by now.
        kept = chosen(came, np.isin(came.second, row))
        first, second = (np.searchsorted(row, b).astype(np.int32) for b in kept[:2])
        return Contacts(**kept._replace(first=first, second=second)._asdict())


def _in_order(numbers: Floats) -> Floats:
    """Rows of grains by increasing rows of the run, each once."""
    _, which = np.unique(numbers[:, 0], return_index=True)
    found: Floats = numbers[which]
    return found


def _lay_out(numbers: Floats, columns: list[Floats], at: Any) -> None:
    """Write numbers that stand side by side into rows of several arrays."""
    begin = 0
    for column in columns:
        column[at] = numbers[:, begin : begin + column.shape[1]]
        begin += column.shape[1]
