"""Contact dynamics that several processes share: the steps of `step.contact_dynamics`.

Every process runs the same program and knows where all bodies are whenever a march pauses: for a
frame, a look at the contact network, or the end. In between each of them moves its own grains alone
(`step.part`), with an engine of one process that asks the others where it must. The contacts of all
are known to the first process alone, and only while a march pauses.

The grains are divided anew whenever the pair list is. All of a step is then begun again; nothing of
it has been kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import SAFETY, PairList, wall_geometry
from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.model import MOVING, Contacts, Floats, Model, State
from hardgrain.cpu.tile_edges import tiles_of
from hardgrain.cpu.tiled_apart import chosen, gathered_up, renamed, spread
from hardgrain.errors import InputError
from hardgrain.parallel import cores
from hardgrain.point.reach import NEAR
from hardgrain.point.tiles import shared_bodies
from hardgrain.processes import Processes
from hardgrain.solve.solver import Solver
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.engine import RigidGrains
from hardgrain.step.part import Part, Stale, Whole, side_by_side
from hardgrain.step.pause import ONE_STEP, Pause, look_due
from hardgrain.step.report import Softness, StepReport, Stopwatch, Stride

__all__ = ["SharedDynamics", "refuse_shared"]

Longs = NDArray[np.int64]

# [s] A march pauses that often for the progress line, and [1] as many times longer than it takes to
# tell all processes of the state. Less: that time shows; more: the progress line is slow.
SECONDS, TIMES = 1.0, 50.0
# [1] Grains that reach beyond half a tile, of each process, from which on it looks at all grains
# when it lists its pairs. It changes the time that a list takes.
FAR = 64


def refuse_shared(model: Model, solver: Solver, settings: Any) -> None:
    """Say in one sentence what several processes do not carry yet."""
    order = getattr(solver, "order", None)
    rigid = isinstance(settings, RigidGrains)
    refused = {
        f"engine.kind = {settings.kind!r} (contact-dynamics is valid)": not rigid,
        f"engine.device = {getattr(settings, 'device', '')!r} (cpu is valid)": rigid
        and settings.device == "cuda",
        "engine.geometry = 'end'": rigid and settings.geometry == "end",
        f"solver.kind = {getattr(solver, 'kind', '?')!r} (gauss-seidel with order = 'tiles' is"
        " valid)": rigid and order is None,
        f"solver.order = {order!r} (tiles is valid)": rigid and order not in (None, "tiles"),
        "grains that are not round, or walls that are meshes": not model.round,
        "scene.contact_rule": model.rule is not None,
        "bodies glued to walls": bool((model.carrier != np.arange(model.bodies)).any()),
        "locks": bool(model.locks),
        "scene.cell": model.cell >= 0,
        "elastic grains": model.elastic is not None,
        "scene.membrane": model.membrane is not None,
        "fewer than two grains": model.n < 2,
    }
    what = next((what for what, there in refused.items() if there), None)
    if what is not None:
        raise InputError(f"several processes cannot share {what}; run it without mpiexec")


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
        refuse_shared(model, solver, settings)
        _share_cores(here)
        self.model, self.solver, self.dt, self.seed = model, solver, dt, seed
        self.settings, self.here = settings, here
        self.seconds = Stopwatch()
        self.softness: Softness | None = None
        self.springs = False
        self.wall_force = np.zeros((model.bodies - model.n, model.dim))
        self.wall_torque = np.zeros((model.bodies - model.n, 1 if model.dim == 2 else 3))
        self.hurry: Callable[[], bool] = lambda: False  # whether the user asks for a pause
        self._whole = Whole(
            here, model.n, model.periodic, *shared_bodies(model.radius, model.bodies)
        )
        self._telling = 0.0  # how long it took to tell all of the state [s]
        self._last: Contacts | None = None  # of which all have their part

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
        own = self._state
        for name in MOVING:
            getattr(own, name)[:] = getattr(state, name)[self._part.row]
        own.step, own.time = state.step, state.time

    def _give(self, state: State) -> None:
        """Tell all processes of the state, and the first one of the contacts."""
        began = time.perf_counter()
        self._tell_all(self._state, {name: getattr(state, name) for name in MOVING})
        part, own = self._part, self._state
        rows = own.contacts.rows
        numbers = spread(renamed(rows, part.row))
        found = gathered_up(self.here.gathered_first(numbers), rows)
        order = np.lexsort((found.second, found.first))
        state.contacts = Contacts(**chosen(found, order)._asdict())
        self._last = state.contacts
        state.step, state.time = own.step, own.time
        self._telling = time.perf_counter() - began

    def _tell_all(self, own: State, into: dict[str, Floats], **more: tuple[Floats, Floats]) -> None:
        """Write what owners know of their grains into arrays of all bodies.

        more: rows of local bodies, and where to write them, besides those of the state.
        """
        part = self._part
        mine = np.flatnonzero(part.own(0)[: part.grains])
        pairs = [(getattr(own, name), array) for name, array in into.items()] + [*more.values()]
        found = self.here.gathered(side_by_side((part.row, *(v for v, _ in pairs)), mine))
        row, at, n = found[:, 0].astype(np.int64), 1, self.model.n
        for v, array in pairs:
            wide = int(np.prod(v.shape[1:]))
            array[row] = found[:, at : at + wide].reshape(len(found), *v.shape[1:])
            array[n:] = v[part.grains :]
            at += wide

    # ------------------------------------------------------------------ who has which grains
    def _begin(self, state: State) -> None:
        """Divide a state of which all processes know the bodies and the first one the contacts."""
        m, here = self.model, self.here
        speed = np.sqrt(np.einsum("ia,ia->i", state.velocity, state.velocity))
        reach = self.dt * speed
        reach[: m.n] += NEAR * m.radius
        rows, whole = state.contacts.rows, self._whole
        if whole.tiling is None:
            contacts = int(here.first(rows.first.size)) or 3 * m.n
            mine = np.arange(here.rank, m.n, here.size)
            whole.cut(mine, state.position[mine], contacts)
        self._build(state, reach, rows if here.leads else chosen(rows, slice(0)))

    def _divide_anew(self, reach: Floats) -> None:
        """Divide the grains anew, for pair lists of bodies with this local reach (nb,)."""
        m, own, part = self.model, self._state, self._part
        arrays: dict[str, Any] = {
            name: np.empty((m.bodies, getattr(own, name).shape[1])) for name in MOVING
        }
        far = np.empty(m.bodies)
        self._tell_all(own, arrays, reach=(reach, far))
        rows = renamed(own.contacts.rows, part.row)
        state = State(own.step, own.time, **arrays, contacts=own.contacts)
        self._build(state, far, rows)

    def _build(self, state: State, reach: Floats, rows: ContactRows) -> None:
        """Make the part of this process; rows: contacts that it knows, by rows of the run."""
        whole, here, model, n = self._whole, self.here, self.model, self.model.n
        assert whole.tiling is not None
        tile = tiles_of(whole.tiling, state.position[:n])
        tiles = int(whole.tiling.count.prod())
        weight = whole.weight if whole.weight.size == tiles else np.bincount(tile, minlength=tiles)
        whole.share(weight, True)
        owner = np.zeros(model.bodies, np.int64)
        owner[:n] = whole.owner[tile]
        near = self._near(state, reach, owner[:n], tile)
        pairs = PairList(model.only(near))
        pairs.together = True
        bodies = np.concatenate([near, np.arange(n, model.bodies)])
        walls = wall_geometry(model, state)
        pairs.make(state.position[bodies], walls, reach[bodies], 2.0 * reach[bodies])
        first, second = bodies[pairs.first], bodies[pairs.second]
        mine = owner[:] == here.rank
        mine[n:] = False
        some = mine[first] | mine[second]
        first, second = first[some], second[some]
        row = self._rows(np.flatnonzero(mine[:n]), first, second)
        self._state = self._local(state, row, owner, rows)
        local = np.empty(model.bodies, np.int32)
        local[row] = np.arange(row.size, dtype=np.int32)
        owned = mine[first]
        both = local[first], local[second]
        self._part = Part(whole, row, owner[row], (both[0][owned], both[1][owned]))
        engine = ContactDynamics(
            model.only(row[row < n]), self.solver, self.dt, self.seed, self.settings
        )
        engine.seconds, engine.detector.others = self.seconds, self._part
        listed, safety = engine.detector._pairs, np.full(model.bodies, np.inf)
        safety[bodies] = pairs.safety
        listed.first, listed.second, listed.safety = *both, safety[row]
        listed.origin = state.position[row]
        self._engine = engine

    def _rows(self, own: Longs, first: Longs, second: Longs) -> Longs:
        """Rows of the bodies that this process has: its own, those near, shared ones, walls."""
        some = np.zeros(self.model.bodies, np.bool_)
        some[own] = some[first] = some[second] = True
        some |= self._whole.shared
        some[:2] = True  # every process has two grains, see `Part.box`
        return np.flatnonzero(some)

    def _near(self, state: State, reach: Floats, owner: Longs, tile: Longs) -> Longs:
        """Rows of the grains that may be in a pair with one of this process, among others."""
        whole, here, n = self._whole, self.here, self.model.n
        assert whole.tiling is not None
        tiling, period = whole.tiling, self.model.periodic
        extent = (1.0 + SAFETY) * self.model.radius + 2.0 * reach[:n]
        cut = tiling.count > 1
        half = 0.5 * float(tiling.width[cut].min()) if cut.any() else np.inf
        far, mine = extent > half, owner == here.rank
        if np.count_nonzero(far & mine) > FAR or np.count_nonzero(far) > FAR * here.size:
            return np.arange(n)
        from hardgrain.cpu.tiles import neighbours

        occupied = np.zeros(int(tiling.count.prod()), np.bool_)
        occupied[neighbours(tiling)[np.unique(tile[mine])]] = True
        some = occupied[tile] | far | mine
        most = float(extent[~far].max(initial=0.0))
        for i in np.flatnonzero(far & mine):
            apart = state.position[:n] - state.position[i]
            wrap = np.where(period > 0.0, period, np.inf)
            apart = np.where(period > 0.0, apart - wrap * np.round(apart / wrap), apart)
            some |= (np.abs(apart) <= extent[i] + most).all(axis=1)
        return np.flatnonzero(some)

    def _local(self, state: State, row: Longs, owner: Longs, rows: ContactRows) -> State:
        """The part of a state, with the contacts whose first grains are owned here."""
        here = self.here
        to = owner[rows.first]
        numbers = spread(rows)
        came = np.concatenate(here.traded([numbers[to == q] for q in range(here.size)]))
        came = came[np.lexsort((came[:, 1], came[:, 0]))]
        kept = gathered_up(came, rows)
        # A contact with a grain that is not near any more is none by now.
        known = np.isin(kept.second, row)
        kept = chosen(kept, known)
        first, second = (np.searchsorted(row, b).astype(np.int32) for b in kept[:2])
        contacts = Contacts(**kept._replace(first=first, second=second)._asdict())
        arrays = {name: getattr(state, name)[row] for name in MOVING}
        return replace(state, **arrays, contacts=contacts)
