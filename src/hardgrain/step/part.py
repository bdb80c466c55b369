"""The grains that one of several processes has, and what it asks the others.

A process *owns* grains, as blocks of tiles (`step.domains`) and until the pair list is made anew.
Besides them it has *ghosts*: grains of others that its own may touch soon, all shared bodies and
all walls. Local numbers follow the rows of the whole run, so that contacts are sorted in the same
way. A contact is looked for, remembered and told of by the owner of its first grain. For the sweeps
it is sent to the process that sweeps its tile (`cpu.tiled_apart`), since grains move and tiles are
cut anew in each step; few are sent anywhere.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.model import Floats
from hardgrain.cpu.tile_edges import tiles_of
from hardgrain.cpu.tiled_apart import (
    Bodies,
    RelaxingApart,
    chosen,
    gathered_up,
    renamed,
    spread,
)
from hardgrain.cpu.tiles import sort_into_tiles
from hardgrain.point.given import Given, Motion
from hardgrain.point.sweeping import Sweeping
from hardgrain.point.tiles import SAMPLE, Tiling, cut
from hardgrain.processes import Alone, Processes
from hardgrain.solve.problem import Problem
from hardgrain.solve.shared_task import Around, Gathered
from hardgrain.step.domains import divided
from hardgrain.step.gathering import around, gathered, side_by_side

__all__ = ["Part", "Stale", "Whole"]

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Stale(Exception):
    """The pair lists of all processes must be made anew, for bodies with this reach (nb,)."""

    def __init__(self, reach: Floats) -> None:
        super().__init__("the pair list is stale")
        self.reach = reach


class Whole:
    """What all processes know of the whole run, and how they cut it."""

    def __init__(self, here: Processes, n: int, periodic: Floats, large: Longs, largest: float):
        """large: rows of shared grains; largest: the largest radius of others, `point.tiles`."""
        self.here, self.n, self.periodic = here, n, periodic
        self.large, self.largest = large, largest
        self.tiling: Tiling | None = None
        self.owner = self.weight = np.zeros(0, np.int64)  # of each tile

    def large_among(self, row: Longs) -> Flags:
        """Which of some bodies are grains that lie in no tile."""
        return np.isin(row, self.large)

    def shared(self, row: Longs) -> Flags:
        """Which of some bodies lie in no tile: large grains, and walls."""
        return self.large_among(row) | (row >= self.n)

    def cut(self, row: Longs, position: Floats, contacts: int) -> Tiling:
        """As `point.tiles.cut`; row, position: of the grains that are owned here."""
        step = max(1, -(-self.n // SAMPLE))
        some = np.flatnonzero(row % step == 0)
        found = self.here.gathered(np.concatenate([row[some, None], position[some]], axis=1))
        sample = np.ascontiguousarray(found[np.argsort(found[:, 0]), 1:])
        self.tiling = cut(sample, self.largest, self.periodic, contacts)
        return self.tiling

    def share(self, weight: Longs, anew: bool) -> None:
        """Take note of the weights of tiles, and divide them among the processes where need be."""
        assert self.tiling is not None
        self.weight = weight
        if anew or self.owner.size != weight.size:
            self.owner = divided(self.tiling, weight, self.here.size)


class Part(Alone):
    """The grains of one process; see above."""

    def __init__(self, whole: Whole, row: Longs, owner: Longs, listed: tuple[Any, Any]) -> None:
        """row, owner: (nb,) of the bodies here; listed: pairs whose first grain is owned here."""
        here = whole.here
        self.here, self.whole, self.row, self.owner = here, whole, row, owner
        self.rank, self.size, self.leads = here.rank, here.size, here.leads
        self.grains = int(np.searchsorted(row, whole.n))
        self.shared = whole.shared(row)
        self._own = owner == here.rank
        self.mine = np.flatnonzero(self._own[: self.grains])
        self._pairs = listed
        wanted = [np.flatnonzero((owner == q) & (row < whole.n)) for q in range(here.size)]
        wanted[here.rank] = wanted[here.rank][:0]
        asked = here.traded([row[w] for w in wanted])
        self._gets = [(q, w) for q, w in enumerate(wanted) if w.size]
        self._sends = [(q, np.searchsorted(row, a)) for q, a in enumerate(asked) if a.size]

    # ------------------------------------------------------------------ what is told of all
    def any(self, flag: Any) -> bool:
        return self.here.any(flag)

    def most(self, values: Any) -> Any:
        return self.here.most(values)

    def total(self, numbers: Any) -> Any:
        return self.here.total(numbers)

    def on_first(self, work: Any) -> Any:
        return self.here.on_first(work)

    def own(self, bodies: int) -> Any:
        return self._own

    def owned(self, listed: Any) -> Any:
        return listed._replace(first=self._pairs[0], second=self._pairs[1])

    def list_anew(self, reach: Floats) -> None:
        raise Stale(reach)

    def box(self, position: Any, spin: Any, n: int) -> tuple[Any, Any]:
        if not spin[n:].any():
            return position, spin
        x = position[:n][self._own[:n]]
        far = np.concatenate([-x, x], axis=1).max(axis=0, initial=-np.inf)
        far = self.here.most(far)
        dim, corners = position.shape[1], position.copy()
        corners[0], corners[1] = -far[:dim], far[dim:]  # every process has two grains
        return corners, spin

    def exchange(self, *values: Any) -> None:
        places = dict(self._gets)
        for q, got in self._swap(self._sends, self._gets, values):
            at = 0
            for v in values:
                wide = int(np.prod(v.shape[1:]))
                v[places[q]] = got[:, at : at + wide].reshape(len(got), *v.shape[1:])
                at += wide

    def raise_flags(self, flags: Any) -> None:
        n, places = self.grains, dict(self._sends)
        for q, got in self._swap(self._gets, self._sends, [flags]):
            flags[places[q]] |= got[:, 0] > 0.0
        flags[n:] = self.here.total(flags[n:].astype(np.int64)) > 0

    def _swap(self, sends: Any, gets: Any, values: Any) -> list[tuple[int, Floats]]:
        """Send rows of values to some processes, and return those of others."""
        here, asked, rooms = self.here, [], []
        wide = sum(int(np.prod(v.shape[1:])) for v in values)
        for q, place in gets:
            rooms.append((q, np.empty((place.size, wide))))
            asked.append(here.comm.Irecv(rooms[-1][1], q, 99))
        for q, place in sends:
            part = side_by_side(values, place)
            here.count(part.nbytes)
            asked.append(here.comm.Isend(part, q, 99))
        here.wait(asked)
        return rooms

    # ------------------------------------------------------------------ the contacts of a step
    def relaxed(self, problem: Problem, how: Sweeping) -> tuple[Any, ...]:
        """As `cpu.tiled.relaxed_in_tiles`, for the contacts of all processes."""
        whole, here, given = self.whole, self.here, problem.given
        m = int(here.total(given.rows.first.size))
        velocity, spin = problem.velocity.copy(), problem.spin.copy()
        if m == 0:
            return velocity, spin, problem.impulse.copy(), problem.torque * 0.0, 0, True, 0.0, 0.0
        tiling = whole.cut(self.row[self.mine], problem.position[self.mine], m)
        alone = np.zeros(len(self.row), np.bool_)
        while True:
            task = Task(self, problem, tiling, alone)
            step = RelaxingApart(
                (problem.lean, problem.dim), task.given, how, (tiling, task.alone), task.bodies,
                here, whole.owner,
            )  # fmt: skip
            if not step.lighter.any():
                break
            # shared bodies are known to all, by the same places among the shared ones
            alone[self.shared] = step.lighter[task.bodies.shared]
        sweeps, met = step.relax()
        worst, rms = step.residual()
        task.give_back(step, velocity, spin)
        impulse, torque = task.impulses()
        return velocity, spin, impulse, torque, sweeps, met, worst, rms

    def around(self, problem: Problem) -> Around:
        """The contacts that touch grains that are owned here."""
        return around(self, problem)

    def gathered_up(self, problem: Problem) -> Gathered:
        """All contacts of the run, in the first process."""
        return gathered(self, problem)


class Task:
    """The contacts that a process sweeps: those of its tiles, whoever found them, and of none."""

    def __init__(self, part: Part, problem: Problem, tiling: Tiling, alone: Flags) -> None:
        """alone: (nb,) bodies whose contacts are in no tile."""
        self.part, self.problem = part, problem
        here, rows, whole = part.here, problem.rows, part.whole
        stored, starts = sort_into_tiles(
            tiling, problem.position, part.shared, alone, rows.first, rows.second
        )
        tiles = starts.size - 2
        tile = np.empty(stored.size, np.int64)
        tile[stored] = np.repeat(np.arange(tiles + 1), np.diff(starts))
        whole.share(here.total(np.diff(starts[:-1]).astype(np.int64)), False)
        to = np.append(whole.owner, -1)[tile]  # −1: to all
        self.kept = np.flatnonzero((to == here.rank) | (to < 0))
        away = np.flatnonzero(to != here.rank)
        self.sent = [
            away[(to[away] == q) | (to[away] < 0)] if q != here.rank else away[:0]
            for q in range(here.size)
        ]
        came = here.traded([self._numbers(some) for some in self.sent])
        self.came = [len(c) for c in came]
        self._bodies(tiling, alone, rows)
        self._merge(rows, gathered_up(np.concatenate(came), rows))

    def _numbers(self, some: Longs) -> Floats:
        """Some contacts as rows of numbers, with the rows that their bodies have in the run."""
        return spread(renamed(chosen(self.problem.rows, some), self.part.row))

    def _bodies(self, tiling: Tiling, alone: Flags, rows: ContactRows) -> None:
        """The bodies that are known here, and those of contacts that others sent."""
        part, here, p = self.part, self.part.here, self.problem
        known = part.row, part.owner, p.position, *p.motion
        grains = [np.union1d(rows.first[s], rows.second[s]) for s in self.sent]
        came = np.concatenate(
            here.traded([side_by_side(known, g[g < part.grains]) for g in grains])
        )
        _, which = np.unique(came[:, 0], return_index=True)
        new = came[which]
        new = new[~np.isin(new[:, 0].astype(np.int64), part.row)]
        order = np.argsort(np.concatenate([part.row, new[:, 0]]), kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.place = place[: len(part.row)]  # of the bodies of the part
        columns: list[Any] = []
        at = 0
        for v in known:
            wide = int(np.prod(v.shape[1:]))
            more = new[:, at : at + wide].reshape(len(new), *v.shape[1:]).astype(v.dtype)
            columns.append(np.concatenate([v, more])[order] if len(new) else v)
            at += wide
        row, owner, position, *motion = columns
        self.motion = Motion(*motion)
        self.bodies = Bodies(
            row, owner, part.whole.shared(row), position, tiles_of(tiling, position)
        )
        self.alone = np.zeros(len(row), np.bool_)
        self.alone[self.place] = alone

    def _merge(self, rows: ContactRows, more: ContactRows) -> None:
        """The contacts kept, and those that came, in the order of contacts."""
        own, row = chosen(rows, self.kept), self.bodies.row
        if len(row) > len(self.part.row):
            own = renamed(own, self.place)
        first, second = (
            np.concatenate([a, np.searchsorted(row, b)])
            for a, b in ((own.first, more.first), (own.second, more.second))
        )
        self.order = np.arange(first.size)
        if more.first.size:
            self.order = np.argsort(first * len(row) + second, kind="stable")
        both: list[Any] = [first.astype(np.int32), second.astype(np.int32)]
        both += [np.concatenate([a, b]) for a, b in zip(own[2:], more[2:], strict=True)]
        if more.first.size:
            both = [c[self.order] for c in both]
        p = self.problem
        self.given = Given(ContactRows(*both), self.motion, p.laws, p.dt, p.remove_overlaps)

    def give_back(self, step: RelaxingApart, velocity: Floats, spin: Floats) -> None:
        """Write how bodies move now: ask those who swept them, and tell those who know them."""
        part, here, bodies = self.part, self.part.here, self.bodies
        v, w, self._impulse, self._torque = step.found()
        velocity[:], spin[:] = v[self.place], w[self.place]
        theirs = np.flatnonzero((step.touched > 0) & (bodies.owner != here.rank))
        told = side_by_side((bodies.row, v, w), theirs)
        to = bodies.owner[theirs]
        came = np.concatenate(here.traded([told[to == q] for q in range(here.size)]))
        place = np.searchsorted(part.row, came[:, 0].astype(np.int64))
        dim = velocity.shape[1]
        velocity[place], spin[place] = came[:, 1 : 1 + dim], came[:, 1 + dim :]
        part.exchange(velocity, spin)

    def impulses(self) -> tuple[Floats, Floats]:
        """Impulses and torques of the contacts that were found here."""
        here, p = self.part.here, self.problem
        dim = self._impulse.shape[1]
        back = np.empty(len(self.order), np.int64)
        back[self.order] = np.arange(len(self.order))
        found = np.concatenate([self._impulse, self._torque], axis=1)[back]
        every = np.empty((p.first.size, found.shape[1]))
        every[self.kept] = found[: self.kept.size]
        ends = np.cumsum([self.kept.size, *self.came])
        came = here.traded([found[a:b] for a, b in pairwise(ends)])
        for some, rows in zip(self.sent, came, strict=True):
            every[some] = rows
        return np.ascontiguousarray(every[:, :dim]), np.ascontiguousarray(every[:, dim:])
