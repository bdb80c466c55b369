"""Sweeps over tiles that several processes share: who sweeps what, and what they tell each other.

Tiles and the order in which they are visited are those of a single process (`point.tiles`). Each
tile is swept by one process, which is sent all contacts of the tile. A grain may be touched by the
tiles of several processes; by one tile of each colour at most. When the tiles of a colour are
swept, whoever has changed such a grain tells the others how it moves now. The tiles next to those
of others come first, so that what they changed is on its way while the rest is swept.

Every process has all shared bodies and the copies that all tiles have of them. The velocities of
the copies of a colour are told to all, and everybody joins them in the same order. Contacts of no
tile are swept by everybody, after all have been told how their bodies move.

So each number is made by the same operations, in the same order and by the same kernels, as in one
process: no bit shows how many there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.contact_rows import ContactRows
from hardgrain.cpu.packing import LAYOUTS
from hardgrain.cpu.tile_edges import colours_of_bodies, tiles_that_touch
from hardgrain.cpu.tile_packing import read_out
from hardgrain.cpu.tile_sweeps import JOIN, REST, TILES, Orders, colour_orders, sweep_tiles
from hardgrain.cpu.tiled import Relaxing
from hardgrain.cpu.tiles import Plan, planned, too_light, weighings
from hardgrain.point.given import Given
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D
from hardgrain.point.widths import WIDTHS
from hardgrain.processes import Processes

__all__ = ["Bodies", "RelaxingApart", "chosen", "gathered_up", "renamed", "spread"]

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


class Bodies(NamedTuple):
    """Bodies that a process knows: grains by increasing rows of the whole run, then all walls."""

    row: Longs  # (nb,) in the whole run
    owner: Longs  # (nb,) the process that tells others of it; of walls 0
    shared: NDArray[np.bool_]  # (nb,) which lie in no tile, walls among them
    position: Floats  # (nb, dim)
    tile: Longs  # (nb,) that each lies in


class Halo:
    """The bodies that two processes or more touch, and who tells whom of them, colour by colour."""

    def __init__(
        self, here: Processes, plan: Plan, bodies: Bodies, touched: Longs, owner: Longs
    ) -> None:
        """touched: (nb,) see `colours_of_bodies`; owner: the process that sweeps each tile."""
        self.here, some = here, np.flatnonzero(touched)
        near = owner[plan.around[bodies.tile[some]]]  # (k, …) who may touch them besides
        edge = (near != here.rank).any(axis=1)
        some, near = some[edge], near[edge]
        offers = [
            some[(near == q).any(axis=1)] if q != here.rank else some[:0] for q in range(here.size)
        ]
        told = [np.stack([bodies.row[one], touched[one]], axis=1) for one in offers]
        self.sends: list[list[tuple[int, Longs]]] = [[] for _ in range(plan.colours)]
        self.gets: list[list[tuple[int, Longs]]] = [[] for _ in range(plan.colours)]
        self.told = np.zeros_like(touched)  # colours after which others are told of a body
        for q, theirs in enumerate(here.traded(told)):
            _, mine, other = np.intersect1d(told[q][:, 0], theirs[:, 0], return_indices=True)
            place, own, their = offers[q][mine], told[q][mine, 1], theirs[other, 1]
            for colour in range(plan.colours):
                if (send := place[(own >> colour) & 1 > 0]).size:
                    self.sends[colour].append((q, send))
                    self.told[send] |= 1 << colour
                if (get := place[(their >> colour) & 1 > 0]).size:
                    self.gets[colour].append((q, get))

    def lanes(self, width: int) -> list[Lane]:
        """The ways on which rows of so many numbers travel, again and again, colour by colour."""
        return [
            Lane(self.here, colour, sends, gets, width)
            for colour, (sends, gets) in enumerate(zip(self.sends, self.gets, strict=True))
        ]


class Lane:
    """What is told of the tiles of a colour after each visit; MPI is told once who tells whom."""

    def __init__(
        self, here: Processes, colour: int, sends: list[tuple[int, Longs]],
        gets: list[tuple[int, Longs]], width: int,
    ) -> None:  # fmt: skip
        """sends, gets: the bodies that each other process is told of, and tells of."""
        self.here = here
        self._out, self._sent, to = _joined(sends, width)
        self._into, self._got, of = _joined(gets, width)
        self._asked = [here.comm.Recv_init(room, q, colour) for q, room in of]
        self._asked += [here.comm.Send_init(room, q, colour) for q, room in to]
        self._many = len(to)

    def begin(self, values: Floats) -> None:
        """Tell others of the rows of values (nb, width) that tiles of the colour changed."""
        if self._asked:
            self._sent[:] = values[self._out]
            self.here.count_sweep(self._sent.nbytes, self._many)
            self.here.call(self.here.mpi.Prequest.Startall, self._asked)

    def end(self, values: Floats) -> None:
        """Wait for what others tell, and take it over."""
        if self._asked:
            self.here.wait(self._asked)
            values[self._into] = self._got

    def close(self) -> None:
        """Let MPI forget it."""
        for asked in self._asked:
            asked.Free()


def _joined(
    places: list[tuple[int, Longs]], width: int
) -> tuple[Longs, Floats, list[tuple[int, Floats]]]:
    """All places, room for a row at each, and the share of the room of each process."""
    every = np.concatenate([np.zeros(0, np.int64), *(place for _, place in places)])
    room = np.empty((every.size, width))
    ends = np.cumsum([place.size for _, place in places])
    return every, room, [(q, room[e - p.size : e]) for e, (q, p) in zip(ends, places, strict=True)]


class RelaxingApart(Relaxing):
    """One step's contacts, while several processes relax them tile by tile.

    ``given`` has the contacts of the tiles that this process sweeps and all those of no tile,
    sorted by rows of the whole run, and ``bodies`` all that they touch.
    """

    def __init__(
        self, key: tuple[bool, int], given: Given, how: Any, tiling: Any, bodies: Bodies,
        here: Processes, owner: Longs,
    ) -> None:  # fmt: skip
        """tiling: how space is cut, and the bodies (nb,) whose contacts are in no tile."""
        cells, alone = tiling
        self.given, self.until, self.visits, self.others = given, how.until, how.visits, here
        self.bodies, self.owner = bodies, owner
        plan, first, second = planned(given, cells, bodies.position, bodies.shared, alone, here)
        self.lighter = np.zeros(len(alone), np.bool_)
        if not alone.any() and here.any(plan.heavy.size) and self._too_light(plan):
            return
        self.touched = colours_of_bodies(plan, bodies.shared, first, second)
        self.halo = Halo(here, plan, bodies, self.touched, owner)
        edge = tiles_that_touch(plan, first, second, self.halo.told)
        full = np.diff(plan.starts[:-1]) > 0
        self._edge, self._inner = (
            [np.flatnonzero(of)[np.flatnonzero(of) // plan.tiles == c].astype(np.int32)
             for c in range(plan.colours)]
            for of in (full & edge, full & ~edge)
        )  # fmt: skip
        self._pack(LAYOUTS[key], plan, first, second)
        if not here.leads:  # those of no tile are judged by one process
            self.counted = int(plan.starts[-2])
        self.parts = WIDTHS[type(self.packed)].moving
        self.lanes = self.halo.lanes(self.parts)
        self._learn_copies()
        self._learn_rest()
        self._begin()

    def _too_light(self, plan: Plan) -> bool:
        """Whether there are bodies whose contacts must be in no tile; marks them."""
        here, shared = self.others, np.flatnonzero(self.bodies.shared)
        body, own, other = weighings(plan, self.bodies.shared, self.given.rows, self.given.motion)
        tile = np.searchsorted(plan.starts, plan.heavy, side="right") - 1
        place = np.searchsorted(shared, body)
        found = here.gathered(np.stack([tile, place, own, other], axis=1).astype(np.float64))
        found = found[np.argsort(found[:, 0], kind="stable")]
        body = shared[found[:, 1].astype(np.int64)].astype(np.int32)
        one, rest = np.ascontiguousarray(found[:, 2]), np.ascontiguousarray(found[:, 3])
        return bool(too_light(plan, body, one, rest, self.lighter))

    # ------------------------------------------------------------------ what is told after a colour
    def _learn_copies(self) -> None:
        """Who has which copies of movable bodies, colour by colour."""
        plan, here = self.plan, self.others
        of_tile = np.repeat(np.arange(len(plan.copy_start) - 1), np.diff(plan.copy_start))
        whose = self.owner[of_tile]
        self._copies: list[tuple[Longs, Longs, Longs]] = []
        for colour in range(plan.colours):
            low, high = (plan.copy_start[(colour + k) * plan.tiles] for k in range(2))
            some = low + np.flatnonzero(plan.weight[low:high] > 0)
            order = some[np.argsort(whose[some], kind="stable")]
            many = np.bincount(whose[some], minlength=here.size)
            self._copies.append((some[whose[some] == here.rank], order, many))

    def _learn_rest(self) -> None:
        """Who tells the others of the bodies of contacts in no tile."""
        plan, rows, here = self.plan, self.given.rows, self.others
        rest = plan.stored[plan.starts[-2] :]
        bodies = np.union1d(rows.first[rest], rows.second[rest])
        bodies = bodies[~self.bodies.shared[bodies]]
        rank = np.where(self.touched[bodies] > 0, here.size - here.rank, 0)
        speaker = here.size - here.most(rank).astype(np.int64)
        self._rest, self._speaks = bodies, (speaker == here.rank)[:, None]
        self._heard = (speaker < here.size)[:, None]

    def _exchange(self, colour: int) -> None:
        b = self.packed.b[:, : self.parts]
        self.lanes[colour].begin(b)
        self.lanes[colour].end(b)
        self._tell_copies(colour)

    def _exchange_levers(self, colour: int) -> None:
        if isinstance(self.packed, Lean2D | Lean3D):
            r, lane = self.packed.r[:, None], self.halo.lanes(1)[colour]
            lane.begin(r)
            lane.end(r)
            lane.close()

    def _tell_copies(self, colour: int) -> None:
        """Tell all of the copies of a colour, and hear of those that others have."""
        own, every, many = self._copies[colour]
        if every.size:
            here, b = self.others, self.packed.b[self.plan.bodies :, : self.parts]
            found, part = np.empty((every.size, self.parts)), b[own]
            here.count_sweep(part.nbytes)
            here.call(here.comm.Allgatherv, part, [found, many * self.parts])
            b[every] = found

    def _hear(self) -> None:
        if self._rest.size:
            here, b = self.others, self.packed.b[:, : self.parts]
            now = np.ascontiguousarray(b[self._rest])
            # as whole numbers, since −0 + 0 is 0
            told = here.total(np.where(self._speaks, now.view(np.int64), 0)).view(np.float64)
            b[self._rest] = np.where(self._heard, told, now)

    # ------------------------------------------------------------------ sweeps
    def sweep(self, done: int, more: int) -> None:
        """Some more sweeps, after so many."""
        import numba

        plan, b = self.plan, self.packed.b[:, : self.parts]
        self._threads = numba.get_num_threads()
        for sweep in range(done, done + more):
            order, rank = colour_orders(self.visits, sweep, 1, plan.colours)
            orders = self.visits.seed, self.visits.step, sweep, order, rank, self.contacts
            for at, colour in enumerate(order[0]):
                self._stage(orders, TILES, self._edge[colour])
                self.lanes[colour].begin(b)
                self._stage(orders, TILES, self._inner[colour])
                self.lanes[colour].end(b)
                if plan.strict:
                    self._tell_copies(colour)
                    self._stage(orders, JOIN, np.array([at], np.int32))
            if plan.strict and plan.starts[-1] > plan.starts[-2]:
                self._hear()
                self._stage(orders, REST, np.array([plan.colours - 1], np.int32))

    def _stage(self, orders: Any, stage: int, some: NDArray[np.int32]) -> None:
        if some.size:
            threads, now = min(self._threads, some.size), (*orders, stage, some)
            sweep_tiles(self.packed, self.plan, Orders(*now), self.sums, threads)

    def found(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Velocities and spins of the bodies, impulses and torques of the contacts."""
        motion, m = self.given.motion, self.given.rows.first.size
        velocity, spin = motion.velocity.copy(), motion.spin.copy()
        impulse, torque = np.empty((m, velocity.shape[1])), np.zeros((m, spin.shape[1]))
        read_out(self.packed, self.plan, velocity, spin, impulse, torque)
        for lane in self.lanes:
            lane.close()
        return velocity, spin, impulse, torque


def chosen(rows, some):
    """Some of the contacts."""
    return ContactRows(*(np.ascontiguousarray(c[some]) for c in rows))


def renamed(rows, number):
    """Contacts whose bodies have other numbers (nb,)."""
    return rows._replace(first=number[rows.first], second=number[rows.second])


def spread(rows: ContactRows) -> Floats:
    """Contacts as one row of numbers each, shape (m, columns); `gathered_up` is its inverse."""
    columns = [c.reshape(len(c), int(np.prod(c.shape[1:]))) for c in rows]
    return np.concatenate(columns, axis=1).astype(np.float64)


def gathered_up(numbers: Floats, like: ContactRows) -> ContactRows:
    """Contacts from rows of numbers, with columns as those of others."""
    columns: list[Any] = []
    at = 0
    for c in like:
        wide = int(np.prod(c.shape[1:]))
        part = np.ascontiguousarray(numbers[:, at : at + wide], c.dtype)
        columns.append(part.reshape(len(numbers), *c.shape[1:]))
        at += wide
    return ContactRows(*columns)
