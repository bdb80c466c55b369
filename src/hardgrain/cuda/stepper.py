"""Steps of round grains on the device, kernel after kernel; the host only sees what they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardgrain.contact.pairs import SAFETY
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.relaxation import ROUNDING
from hardgrain.cuda import arrays, cutting, ledger, search, sweeping, tiling
from hardgrain.cuda.api import SIMULATED, Graph, Launch, host, own_stream, xp
from hardgrain.cuda.arrays import Bodies, Held, Pairs, Problem, Search, Tiles
from hardgrain.cuda.grid import CHUNKS, THREADS
from hardgrain.cuda.pairs import device_pairs
from hardgrain.errors import RunError
from hardgrain.point.ledger import Means
from hardgrain.point.stopping import GLOBAL, LOCAL, Until

__all__ = ["Stepper"]

Other = Callable[[], int] | None

# [1] By how much longer a buffer is made than it must be, so that it is not made anew in each step.
SPARE = 1.25


def _rows(bodies: Any) -> Any:
    """Rows of some bodies as the device takes them."""
    return bodies if isinstance(bodies, slice) else xp.asarray(bodies)


class Stepper:
    """What a run has on the device, and the parts of a step."""

    def __init__(
        self, model: Model, dt: float, margin: Floats, farthest: Floats, pushed: Any
    ) -> None:
        if not SIMULATED:
            own_stream()
        self.model, self.dt = model, dt
        self.farthest, self.pushed = xp.array(farthest), xp.array(pushed)
        self.tiles: Tiles
        self._cut = cutting.cut(model)
        kind = model.lean, model.dim
        self.layout = sweeping.LAYOUTS[kind]
        walls = model.bodies - model.n
        self._reaches, self._rows = Launch(search.reaches, THREADS), Launch(search.rows, THREADS)
        self._closes = Launch(search.closes, THREADS)
        self._ghosts = Launch(sweeping.ghosts, THREADS)
        self._sort, self._arrange = (
            Launch(tiling.sort, THREADS),
            Launch(tiling.arrange, tiling.ARRANGERS),
        )
        self._midway = Launch(ledger.midway, THREADS)
        self._account, self._move = Launch(ledger.account, THREADS), Launch(ledger.move, THREADS)
        self._wall_sums = Launch(ledger.wall_sums, THREADS)
        self._make_bodies(margin)
        self._make_tiles()
        self._compile()
        self.held, self.old, self.spare = (self._make_held(0) for _ in range(3))
        self.problem = self._make_problem(0, 0)
        nb, none = model.bodies, xp.zeros(0, np.int32)
        self.pairs = Pairs(
            none, none, xp.zeros((nb, model.dim)), xp.zeros(walls), xp.full(nb, -1.0)
        )
        self._graph = Graph()

    def _compile(self) -> None:
        """The kernels that sweep: tiles in blocks of so many warps, or all tiles together."""
        found, team = self._cut, cutting.team(self.model, self._cut)
        most = 0 if found.together else found.most
        own = sweeping.make_sweeping(self.model.lean, self.model.dim, team, most)
        self._pack, self._unpack = Launch(own.pack, THREADS), Launch(own.unpack, THREADS)
        blocks = max(cutting.TILES, -(-found.busy // team))
        self._sweep = Launch(own.sweep, team * sweeping.LANES, most=blocks)
        members = xp.zeros((found.room, most or tiling.MOST), np.int32)
        self.tiles = self.tiles._replace(members=members)
        self._team = team

    # ------------------------------------------------------------------ memory
    def _make_bodies(self, margin: Floats) -> None:
        m, d = self.model, self.model.dim
        nb, ns, w = m.bodies, m.inv_inertia.shape[1], m.bodies - m.n
        turns = 1 if d == 2 else 4
        self.bodies = Bodies(*[
            *(xp.zeros((nb, c)) for c in (d, turns, d, ns, d, ns)),
            *(xp.array(x) for x in (
                m.inv_mass, m.inv_inertia, m.radius, margin, m.material, m.periodic, m.wall_kind,
                m.wall_offset, m.wall_axis, m.wall_size, m.wall_side,
            )),
        ])  # fmt: skip
        self.search = Search(*[
            xp.zeros((nb, d)), xp.zeros((nb, ns)), *(xp.zeros(nb) for _ in range(4)),
            *(xp.zeros((w, d)) for _ in range(3)), xp.zeros(w), xp.zeros((CHUNKS, 2 * d)),
            xp.zeros(CHUNKS, np.int32), xp.zeros(arrays.NUMBERS, np.int64), xp.zeros(1, np.uint32),
        ])  # fmt: skip
        self.velocity, self.spin = xp.zeros((nb, d)), xp.zeros((nb, ns))
        self.mean = Means(
            xp.zeros((nb, d)), xp.zeros((nb, ns)), xp.zeros((nb, d)), xp.zeros((nb, ns)),
            self.bodies.inv_mass, self.bodies.inv_inertia,
        )  # fmt: skip
        self.laws = xp.array(m.law_table)
        self.after = ledger.After(
            self.velocity, self.spin, self.mean, xp.array(m.mass[: m.n]), self.pushed,
            xp.zeros(nb, bool), xp.zeros((CHUNKS, ledger.TOLD)), xp.zeros(ledger.TOLD),
        )  # fmt: skip
        self.wall_force, self.wall_torque = xp.zeros((w, d)), xp.zeros((w, ns))
        self.wall_parts = xp.zeros((CHUNKS, w, d + ns))
        walls = slice(m.n, None)
        free = (m.inv_mass[walls] > 0.0).any(axis=1) | (m.inv_inertia[walls] > 0.0).any(axis=1)
        self.free = xp.array(free)

    def _make_tiles(self) -> None:
        n, room = self.model.n, self._cut.room
        self.tiles = Tiles(*[
            *(xp.array(x) for x in self._cut.tiling), xp.zeros(n, np.int32),
            xp.zeros(n, np.int32), *(xp.zeros(room + 1, np.int32) for _ in range(2)),
            xp.zeros(room, np.int32), xp.zeros((room, 0), np.int32),
            xp.zeros(room, np.int32), xp.zeros((room, tiling.STARTS), np.int32),
            xp.zeros(room, np.int32), xp.zeros(n, np.uint64),
            *(xp.zeros(0, np.int32) for _ in range(2)), xp.zeros((2, CHUNKS), np.int32),
        ])  # fmt: skip

    def _make_held(self, rows: int) -> Held:
        d, ns = self.model.dim, self.model.inv_inertia.shape[1]
        return Held(*[
            *(xp.zeros(rows, np.int32) for _ in range(2)), xp.zeros((rows, d)), xp.zeros(rows),
            *(xp.zeros((rows, d)) for _ in range(2)), *(xp.zeros(rows) for _ in range(2)),
            xp.zeros(rows, np.int32), xp.zeros((rows, d)), xp.zeros((rows, ns)),
            xp.zeros(self.model.bodies + 1, np.int32),
        ])  # fmt: skip

    def _make_problem(self, rows: int, ghosts: int) -> Problem:
        columns, body = self.layout[2:4]
        nb = self.model.bodies
        return Problem(*[
            *(xp.zeros(rows, np.uint32) for _ in range(2)),
            *(xp.zeros(rows, np.uint16) for _ in range(2)),
            xp.zeros((rows, columns)),
            xp.zeros((nb + ghosts, body)), xp.zeros(nb), xp.zeros(rows, np.int32),
            xp.zeros((0, 7)), xp.zeros((CHUNKS, 8)), xp.zeros(8),
        ])  # fmt: skip

    # ------------------------------------------------------------------ to and from the host
    def load(self, state: State, contacts: bool) -> None:
        """Bring a state to the device, with its contacts if asked."""
        b = self.bodies
        for mine, theirs in (
            (b.position, state.position), (b.orientation, state.orientation),
            (b.velocity, state.velocity), (b.spin, state.spin),
        ):  # fmt: skip
            mine[...] = xp.asarray(theirs)
        if contacts:
            c, m = state.contacts, state.contacts.first.size
            if self.old.first.size < m:
                self.old = self._make_held(int(SPARE * m) + 64)
            for name in ("first", "second", "impulse", "torque"):
                getattr(self.old, name)[:m] = xp.asarray(getattr(c, name))
            start = np.searchsorted(c.first, np.arange(self.model.bodies + 1))
            self.old.start[...] = xp.asarray(start.astype(np.int32))

    def store(self, state: State) -> None:
        """Bring the state back, with its contacts."""
        self.fetch(state)
        state.contacts = self.fetch_contacts(self.old, self.contacts)

    def fetch_contacts(self, held: Held, m: int) -> Contacts:
        """Bring the first m of some contacts back."""
        rows = {name: host(getattr(held, name)[:m]) for name in held._fields[:-1]}
        return Contacts(**rows, feature=np.zeros(m, np.int32))

    def fetch(self, state: State) -> None:
        """Bring back where bodies are and how they move, without contacts."""
        b = self.bodies
        state.position, state.orientation = host(b.position), host(b.orientation)
        state.velocity, state.spin = host(b.velocity), host(b.spin)

    def fetch_walls(self, state: State) -> None:
        """Bring back where walls are; the grains of the state are left as they were."""
        n, b = self.model.n, self.bodies
        state.position, state.orientation = state.position.copy(), state.orientation.copy()
        state.position[n:], state.orientation[n:] = host(b.position[n:]), host(b.orientation[n:])

    def prescribe(self, what: str, bodies: Any, axis: int, value: float) -> None:
        """Prescribe the velocity or spin of some bodies along or about an axis."""
        getattr(self.bodies, what)[_rows(bodies), axis] = value

    def loads(self, force: Floats, torque: Floats) -> None:
        """Set the forces and torques on all bodies."""
        self.bodies.force[...], self.bodies.torque[...] = xp.asarray(force), xp.asarray(torque)

    def inverses(self, inv_mass: Floats, inv_inertia: Floats) -> None:
        """Set what can be moved, where locks change it."""
        b = self.bodies
        b.inv_mass[...], b.inv_inertia[...] = xp.asarray(inv_mass), xp.asarray(inv_inertia)

    # ------------------------------------------------------------------ a step
    def step(
        self, number: int, until: Until, seed: int, afresh: bool, rounds: int, other: Other = None
    ) -> Floats:
        """Make a step, the one after ``number`` of them; what it tells, see `ledger`.

        Solved again, at most ``rounds`` times, from the impulses found, if these would close a pair
        that was no candidate. The state stays as it was if the step gave no numbers.

        other: finds the impulses in place of sweeps until a rule is met; how many sweeps it took.
        """
        self.search.numbers[arrays.STEP] = number
        self.sweeps = 0
        while True:
            self._rule(until)
            records = self.held, self.old, self.problem, self.pairs, self.tiles
            begun = self._candidates if other else lambda a: self._first(until, seed, a)
            self._graph(records, (until, other is None), lambda: begun(afresh))  # noqa: B023
            if self._lacking():
                continue
            self.sweeps = other() if other else int(self._seen[arrays.SWEPT])
            if other is None or self._closed(0, True):
                break
        for n in range(1, rounds):
            if not self._seen[arrays.MORE]:
                break
            again = n < rounds - 1
            solved = self._again(until, seed, 2**n - 1 if again else 0, again, other)
            if not solved:
                return self.step(number, until, seed, afresh, rounds, other)
        self.contacts = self.candidates
        told: Floats = host(self.after.told)
        if np.isfinite(told[ledger.KINETIC] + told[ledger.RESIDUAL]):
            self.old, self.held = self.held, self.old
        return told

    @property
    def candidates(self) -> int:
        """Contacts, as they were last counted."""
        return int(self._seen[arrays.CONTACTS])

    def _first(self, until: Until, seed: int, afresh: bool) -> None:
        """All kernels of a step, in their order; each does nothing if one before it lacked room."""
        self._candidates(afresh)
        self._relax(until, seed)
        self._end(0)

    def _candidates(self, afresh: bool) -> None:
        """Contacts, with the impulses that they begin with, and who sweeps them."""
        b, s, h = self.bodies, self.search, self.held
        materials, most = len(self.model.laws), self.problem.first.size
        self._reaches(b, self.pairs, s, self.dt)
        self._rows(b, self.pairs, s, h, self.old, materials, afresh, most)
        self._order()

    def _order(self) -> None:
        """Which tile sweeps which contact, and when."""
        b, s, h, t, p = self.bodies, self.search, self.held, self.tiles, self.problem
        self._ghosts(b, s, h, p, self.model.lean)
        self._sort(b, s, h, t, self.free)
        self._arrange(b, s, h, t, p, self.free)

    def _relax(self, until: Until, seed: int) -> None:
        """Impulses of the contacts, and the velocities that they give."""
        b, s, h, t, p = self.bodies, self.search, self.held, self.tiles, self.problem
        self._pack(b, s, h, t, p, self.laws, self.dt, self.model.remove_overlaps)
        self._sweep(b, s, h, t, p, until, (seed, self.dt, ROUNDING))
        self._unpack(b, s, h, t, p, self.velocity, self.spin)

    def relaxed(self, impulse: Any, until: Until, seed: int) -> tuple[Any, float, float]:
        """Sweep from given impulses until a rule is met; what was counted, and both residuals."""
        self.held.impulse[: len(impulse)] = impulse
        self._relax(until, seed)
        residual, rms = host(self.problem.found)[:2].tolist()
        return self._see(), residual, rms

    def _end(self, spread: int, ask: bool = True) -> None:
        """Account for the step, and move, unless it must be solved once more.

        ask: whether to look for pairs that were overlooked.
        """
        b, s, h = self.bodies, self.search, self.held
        if ask:
            self._closes(b, self.pairs, s, h, self.velocity, spread, self.dt)
        self._midway(b, s, self.velocity, self.spin, self.mean)
        self._account(b, s, h, self.problem, self.after)
        if self.model.bodies > self.model.n:
            self._wall_sums(s, h, self.model.n, self.wall_parts, self.wall_force, self.wall_torque)
        self._move(b, s, self.velocity, self.spin, self.farthest, self.after.told, self.dt)

    def _closed(self, spread: int, ask: bool) -> bool:
        """End the step; False: the list is stale."""
        self._end(spread, ask)
        if stale := bool(self._see()[arrays.STALE]):
            self.renew()
        return not stale

    def _again(self, until: Until, seed: int, spread: int, ask: bool, other: Other) -> bool:
        """Solve once more, with all pairs that impulses would close; False: the list is stale."""
        b, s = self.bodies, self.search
        while True:
            s.numbers[arrays.GHOSTS] = 0
            materials, most = len(self.model.laws), self.problem.first.size
            self._rows(b, self.pairs, s, self.spare, self.held, materials, False, most)
            self._see()
            if not self._grow("spare"):
                break
        self.held, self.spare = self.spare, self.held
        while True:
            self._order()
            if other is None:
                self._relax(until, seed)
            self._see()
            if not self._more_ghosts():
                break
        self.sweeps += int(self._seen[arrays.SWEPT]) if other is None else other()
        s.numbers[arrays.MORE] = 0
        return self._closed(spread, ask)

    # ------------------------------------------------------------------ what a step lacks
    def _see(self) -> Any:
        self._seen = host(self.search.numbers)
        return self._seen

    def _lacking(self) -> bool:
        """Whether the step could not be made, since the list was stale or there was no room."""
        self._see()
        if self._seen[arrays.STALE]:
            self.renew()
            return True
        return self._grow("held") or self._more_ghosts()

    def _grow(self, name: str) -> bool:
        """Make buffers of contacts longer if they were too short."""
        need = int(self._seen[arrays.NEED_CONTACTS])
        if not need:
            return False
        rows = int(SPARE * need) + 64
        if getattr(self, name).first.size < need:
            setattr(self, name, self._make_held(rows))
        if self.problem.first.size < need:
            self.problem = self._make_problem(rows, self.problem.b.shape[0] - self.model.bodies)
            self.tiles = self.tiles._replace(
                stored=xp.zeros(rows, np.int32), left=xp.zeros(rows, np.int32)
            )
        self.search.numbers[: arrays.LACKS] = 0
        return True

    def _more_ghosts(self) -> bool:
        """Make room for more ghosts if there was too little, and refuse tiles that are too full."""
        seen = self._seen
        if seen[arrays.NEED_BODIES] or seen[arrays.NEED_COLOURS]:
            return self._roomier()
        need = int(seen[arrays.NEED_GHOSTS])
        if not need:
            return False
        rows = self.model.bodies + int(SPARE * need) + 64
        self.problem = self.problem._replace(b=xp.zeros((rows, self.layout[3])))
        self.search.numbers[: arrays.LACKS] = 0
        self.search.numbers[arrays.GHOSTS] = 0
        return True

    def _roomier(self) -> bool:
        """Let tiles touch more bodies; the order of sweeps does not depend on how many."""
        if self._seen[arrays.NEED_COLOURS] or self._cut.together or self._cut.most == tiling.MOST:
            raise RunError(
                "a tile of the GPU would touch more bodies than its memory holds, since grains"
                " differ so much in size; run it with device = 'cpu'"
            )
        self._cut = self._cut._replace(most=min(2 * self._cut.most, tiling.MOST))
        self._compile()
        self.search.numbers[: arrays.LACKS] = 0
        self.search.numbers[arrays.GHOSTS] = 0
        return True

    def _rule(self, until: Until) -> None:
        """Make room for the impulses that the local and global rules compare."""
        rows = self.problem.first.size
        if until.rule in (LOCAL, GLOBAL) and self.problem.before.shape[0] < rows:
            self.problem = self.problem._replace(before=xp.zeros((rows, 7)))

    def renew(self) -> None:
        """Make the pair list anew, with room for twice the reach that it lacked."""
        n, r = self.model.n, self.model.radius
        safety = 2.0 * self.search.reach
        safety[:n] += SAFETY * self.bodies.radius
        safety[n:] += SAFETY * float(r.mean()) if n else 0.0
        first, second = device_pairs(self.bodies, self.search, safety)
        p, many = self.pairs, first.size
        if p.first.size < many:
            room = int(SPARE * many) + 64
            p = self.pairs = p._replace(
                first=xp.zeros(room, np.int32), second=xp.zeros(room, np.int32)
            )
        p.first[:many], p.second[:many] = first, second
        p.origin[...], p.turned[...], p.safety[...] = self.bodies.position, 0.0, safety
        self.search.numbers[arrays.PAIRS] = many
        self.search.numbers[: arrays.LACKS] = 0
