"""Steps of round grains on the device, kernel after kernel; the host only sees what they count."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.contact.pairs import SAFETY
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.relaxation import ROUNDING
from hardgrain.cuda import api, arrays, ledger, search, sweeping, tiling
from hardgrain.cuda.api import xp
from hardgrain.cuda.arrays import Bodies, Held, Pairs, Problem, Search, Tiles
from hardgrain.cuda.grid import CHUNKS, THREADS
from hardgrain.cuda.pairs import device_pairs
from hardgrain.errors import RunError
from hardgrain.point.ledger import Means
from hardgrain.point.stopping import GLOBAL, LOCAL, Until

__all__ = ["Stepper"]

# [width of a tile] How wide tiles are at most, in diameters of the mean grain. Wider tiles do not
# fit into the memory of a block, narrower ones have fewer contacts for its threads to share.
WIDE = {2: 12.0, 3: 4.5}
# [1] Tiles that each colour should have, at least, so that no multiprocessor waits.
TILES = 264
# [1] By how much longer a buffer is made than it must be, so that it is not made anew in each step.
SPARE = 1.25


class Launch:
    """A kernel on a grid of threads; on one that can wait for itself, if ``together``."""

    def __init__(self, kernel: Any, threads: int, together: bool = True) -> None:
        self.kernel, self.threads, self.together = kernel, threads, together
        self.ready: Any = None
        self.blocks = 1

    def __call__(self, *args: Any) -> None:
        if self.ready is None:
            self.ready = self.kernel
            if not api.SIMULATED:
                self.ready = self.kernel.specialize(*args)
                self.blocks = api.blocks_for(self.ready, self.threads)
        self.ready[self.blocks, self.threads](*args)


class Stepper:
    """What a run has on the device, and the parts of a step."""

    def __init__(self, model: Model, dt: float, margin: Floats) -> None:
        self.model, self.dt = model, dt
        kind = model.lean, model.dim
        self.layout = sweeping.LAYOUTS[kind]
        own = sweeping.make_sweeping(*kind)
        self._reaches, self._rows = Launch(search.reaches, THREADS), Launch(search.rows, THREADS)
        self._closes = Launch(search.closes, THREADS)
        self._ghosts = Launch(sweeping.ghosts, THREADS)
        self._sort, self._arrange = Launch(tiling.sort, THREADS), Launch(tiling.arrange, THREADS)
        self._pack, self._unpack = Launch(own.pack, THREADS), Launch(own.unpack, THREADS)
        self._sweep = Launch(own.sweep, sweeping.SWEEPERS)
        self._midway, self._account = Launch(ledger.midway, THREADS), Launch(ledger.account, THREADS)
        self._move = Launch(ledger.move, THREADS)
        self._make_bodies(margin)
        self._make_tiles()
        self.held, self.old, self.spare = (self._make_held(0) for _ in range(3))
        self.problem = self._make_problem(0, 0)
        self.pairs: Pairs | None = None

    # ------------------------------------------------------------------ memory
    def _make_bodies(self, margin: Floats) -> None:
        m, d = self.model, self.model.dim
        nb, ns, w = m.bodies, m.inv_inertia.shape[1], m.bodies - m.n
        turns = 1 if d == 2 else 4
        self.bodies = Bodies(
            *(xp.zeros((nb, c)) for c in (d, turns, d, ns, d, ns)),
            xp.asarray(m.inv_mass), xp.asarray(m.inv_inertia), xp.asarray(m.radius),
            xp.asarray(margin), xp.asarray(m.material), xp.asarray(m.periodic),
            xp.asarray(m.wall_kind), xp.asarray(m.wall_offset), xp.asarray(m.wall_axis),
            xp.asarray(m.wall_size), xp.asarray(m.wall_side),
        )  # fmt: skip
        self.search = Search(
            xp.zeros((nb, d)), xp.zeros((nb, ns)), *(xp.zeros(nb) for _ in range(4)),
            *(xp.zeros((w, d)) for _ in range(3)), xp.zeros(w), xp.zeros((CHUNKS, 3 * d)),
            xp.zeros(CHUNKS, np.int32), xp.zeros(arrays.NUMBERS, np.int64),
        )  # fmt: skip
        self.velocity, self.spin = xp.zeros((nb, d)), xp.zeros((nb, ns))
        self.mean = Means(
            xp.zeros((nb, d)), xp.zeros((nb, ns)), xp.zeros((nb, d)), xp.zeros((nb, ns)),
            self.bodies.inv_mass, self.bodies.inv_inertia,
        )  # fmt: skip
        self.laws, self.mass = xp.asarray(m.law_table), xp.asarray(m.mass[: m.n])
        self.some, self.parts = xp.zeros(nb, bool), xp.zeros((CHUNKS, ledger.TOLD))
        self.told = xp.zeros(ledger.TOLD)
        self.wall_force, self.wall_torque = xp.zeros((w, d)), xp.zeros((w, ns))
        walls = slice(m.n, None)
        free = (m.inv_mass[walls] > 0.0).any(axis=1) | (m.inv_inertia[walls] > 0.0).any(axis=1)
        self.free = xp.asarray(free)

    def _make_tiles(self) -> None:
        m, d, n = self.model, self.model.dim, self.model.n
        most = max(64, n)
        radius = m.radius if n else np.ones(1)
        least = 4.0 * float(radius.max()) * 1.01
        mean = 2.0 * float(np.mean(radius**d)) ** (1.0 / d)
        few = mean * (max(n, 1) / (2**d * TILES)) ** (1.0 / d)
        wide = max(least, min(WIDE[d] * mean, few))
        width, count, period = np.full(d, wide), np.ones(d, np.int64), np.zeros(d)
        for a in range(d):
            if m.periodic[a] > 0.0:
                many = int(m.periodic[a] // wide)
                count[a] = max(1, many - many % 2)
                width[a], period[a] = m.periodic[a] / count[a], m.periodic[a]
        self.tiles = Tiles(
            xp.asarray(width), xp.asarray(count), xp.asarray(period), xp.zeros(n, np.int32),
            xp.zeros(n, np.int32), *(xp.zeros(most + 1, np.int32) for _ in range(2)),
            xp.zeros(most, np.int32), xp.zeros((most, sweeping.most_bodies(self.layout[3])), np.int32),
            xp.zeros(most, np.int32), xp.zeros((most, tiling.COLOURS + 1), np.int32),
            *(xp.zeros(0, np.int32) for _ in range(2)), xp.zeros((2, CHUNKS), np.int32),
        )  # fmt: skip

    def _make_held(self, rows: int) -> Held:
        d, ns = self.model.dim, self.model.inv_inertia.shape[1]
        return Held(
            *(xp.zeros(rows, np.int32) for _ in range(2)), xp.zeros((rows, d)), xp.zeros(rows),
            *(xp.zeros((rows, d)) for _ in range(2)), *(xp.zeros(rows) for _ in range(2)),
            xp.zeros(rows, np.int32), xp.zeros((rows, d)), xp.zeros((rows, ns)),
            xp.zeros(self.model.bodies + 1, np.int32),
        )  # fmt: skip

    def _make_problem(self, rows: int, ghosts: int) -> Problem:
        _, _, columns, body, _ = self.layout
        nb = self.model.bodies
        return Problem(
            *(xp.zeros(rows, np.uint32) for _ in range(2)),
            *(xp.zeros(rows, np.uint16) for _ in range(2)), xp.zeros((rows, columns)),
            xp.zeros((nb + ghosts, body)), xp.zeros(nb), xp.zeros(rows, np.int32),
            xp.zeros((0, 7)), xp.zeros((CHUNKS, 8)), xp.zeros(8),
        )  # fmt: skip

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
            self.old = self._make_held(m)
            for name in ("first", "second", "impulse", "torque"):
                getattr(self.old, name)[...] = xp.asarray(getattr(c, name))
            start = np.searchsorted(c.first, np.arange(self.model.bodies + 1))
            self.old.start[...] = xp.asarray(start.astype(np.int32))

    def store(self, state: State) -> None:
        """Bring the state back, with its contacts."""
        b, m = self.bodies, self.contacts
        state.position, state.orientation = host(b.position), host(b.orientation)
        state.velocity, state.spin = host(b.velocity), host(b.spin)
        h = self.old
        rows = {name: host(getattr(h, name)[:m]) for name in h._fields[:-1]}
        state.contacts = Contacts(**rows, feature=np.zeros(m, np.int32))

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

    def new_velocity(self) -> Floats:
        """The velocities that the last step found."""
        return host(self.velocity)

    def set_velocity(self, bodies: Any, axis: int, value: float) -> None:
        """Prescribe a velocity of some bodies along an axis."""
        self.bodies.velocity[xp.asarray(bodies), axis] = value

    def set_spin(self, bodies: Any, axis: int, value: float) -> None:
        """Prescribe a spin of some bodies about an axis."""
        self.bodies.spin[xp.asarray(bodies), axis] = value

    def loads(self, force: Floats, torque: Floats) -> None:
        """Set the forces and torques on all bodies."""
        self.bodies.force[...], self.bodies.torque[...] = xp.asarray(force), xp.asarray(torque)

    def inverses(self, inv_mass: Floats, inv_inertia: Floats) -> None:
        """Set what can be moved, where locks change it."""
        b = self.bodies
        b.inv_mass[...], b.inv_inertia[...] = xp.asarray(inv_mass), xp.asarray(inv_inertia)

    # ------------------------------------------------------------------ the parts of a step
    def renew(self, reach: Any) -> None:
        """Make the pair list anew, with room for twice the given reach (nb,)."""
        n, r = self.model.n, self.model.radius
        safety = 2.0 * reach
        safety[:n] += SAFETY * self.bodies.radius
        safety[n:] += SAFETY * float(r.mean()) if n else 0.0
        found = device_pairs(self.bodies, self.search, safety)
        if found is None:
            raise RunError("grains differ too much in size or speed for the pair list of the GPU")
        self.pairs = Pairs(
            *found, self.bodies.position.copy(), xp.zeros(self.model.bodies - n), safety
        )

    def find(self, afresh: bool) -> bool:
        """Candidates of a step that starts from the state; False if the pair list is stale."""
        if self.pairs is None:
            nb = self.model.bodies
            none = xp.zeros(0, np.int32)
            self.pairs = Pairs(
                none, none, self.bodies.position.copy(), xp.zeros(nb - self.model.n),
                xp.full(nb, -1.0),
            )  # fmt: skip
        self._reaches(self.bodies, self.pairs, self.search, self.dt)
        if self._numbers()[arrays.STALE]:
            return False
        self.held = self._write_rows(self.held, self.old, afresh)
        return True

    def _write_rows(self, held: Held, old: Held, afresh: bool) -> Held:
        """All pairs within reach as contacts, in a buffer that is long enough."""
        while True:
            self._rows(
                self.bodies, self.pairs, self.search, held, old, len(self.model.laws), afresh
            )
            numbers = self._numbers()
            if not numbers[arrays.NEED_CONTACTS]:
                self.contacts = int(numbers[arrays.CONTACTS])
                return held
            held = self._make_held(int(SPARE * numbers[arrays.NEED_CONTACTS]) + 64)

    def solve(self, until: Until, seed: int, step: int) -> None:
        """Impulses of the contacts, and the velocities that they give."""
        if self.problem.first.size < self.contacts:
            rows = int(SPARE * self.contacts) + 64
            self.problem = self._make_problem(rows, self.problem.b.shape[0] - self.model.bodies)
            self.tiles = self.tiles._replace(
                stored=xp.zeros(rows, np.int32), left=xp.zeros(rows, np.int32)
            )
        if until.rule in (LOCAL, GLOBAL) and self.problem.before.shape[0] < self.contacts:
            before = xp.zeros((self.problem.first.size, 7))
            self.problem = self.problem._replace(before=before)
        b, s, h, t = self.bodies, self.search, self.held, self.tiles
        while True:
            s.numbers[arrays.GHOSTS] = 0
            self._ghosts(b, s, h, self.problem, self.model.lean)
            need = int(self._numbers()[arrays.NEED_GHOSTS]) if self.model.lean else 0
            if not need:
                break
            rows = xp.zeros((self.model.bodies + int(SPARE * need) + 64, self.layout[3]))
            self.problem = self.problem._replace(b=rows)
            s.numbers[arrays.NEED_GHOSTS] = 0
        self._sort(b, s, h, t, self.free)
        self._arrange(b, s, h, t, self.problem, self.free)
        self._pack(b, s, h, t, self.problem, self.laws, self.dt, self.model.remove_overlaps)
        self._sweep(b, s, h, t, self.problem, until, seed, step, self.dt, ROUNDING)
        self._unpack(b, s, h, t, self.problem, self.velocity, self.spin)
        numbers = self._numbers()
        if numbers[arrays.NEED_BODIES] or numbers[arrays.NEED_COLOURS]:
            raise RunError(
                "a tile of the GPU would touch more bodies than its memory holds, since grains"
                " differ so much in size; run it with device = 'cpu'"
            )
        self.sweeps, self.met = int(numbers[arrays.SWEPT]), bool(numbers[arrays.MET])

    def overlooked(self, spread: int) -> bool | None:
        """Whether the motion found closes a pair that is no contact; None: the list is stale.

        If so, it is among the contacts now.
        """
        self._closes(
            self.bodies, self.pairs, self.search, self.held, self.velocity, spread, self.dt
        )
        numbers = self._numbers()
        if numbers[arrays.STALE]:
            return None
        if not numbers[arrays.MORE]:
            return False
        self.spare = self._write_rows(self.spare, self.held, False)
        self.held, self.spare = self.spare, self.held
        return True

    def account(self, pushed: Any) -> Floats:
        """What the step tells, see the columns of `ledger`."""
        b, s = self.bodies, self.search
        self._midway(b, s, self.velocity, self.spin, self.mean)
        self._account(
            b, s, self.held, self.problem, self.velocity, self.spin, self.mean, self.mass, pushed,
            self.some, self.parts, self.told,
        )  # fmt: skip
        walls = self.model.bodies - self.model.n
        if walls:
            ledger.wall_sums[walls, THREADS](
                s, self.held, self.model.n, self.wall_force, self.wall_torque
            )
        return host(self.told)

    def move(self, farthest: Any) -> bool:
        """Move all bodies; return whether all their numbers can be used."""
        self.told[ledger.UNFIT] = 0.0
        self._move(self.bodies, self.velocity, self.spin, farthest, self.told, self.dt)
        self.old, self.held = self.held, self.old
        return not float(self.told[ledger.UNFIT])

    def _numbers(self) -> Any:
        return host(self.search.numbers)


def host(array: Any) -> Any:
    """A copy on the host."""
    return array.copy() if isinstance(array, np.ndarray) else array.get()
