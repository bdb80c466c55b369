"""A backend of a few lines: it compiles the physics of one contact and launches a thread for each.

It is made of the factories of `hardgrain.point` alone and runs in plain Python or on CUDA, for
`points_on_cuda.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda asks for it, NumPy 2.5 dropped it
    np.row_stack = np.vstack  # type: ignore[attr-defined] # noqa: NPY201

from numba import cuda

from hardgrain.cpu.packing import levers
from hardgrain.point.blocks import make_blocks_2d, make_blocks_3d
from hardgrain.point.fit import make_fit
from hardgrain.point.full_2d import Full2D, make_full_2d
from hardgrain.point.full_3d import Full3D, make_full_3d
from hardgrain.point.given import Given
from hardgrain.point.inertia import make_inertia
from hardgrain.point.lean_2d import Lean2D, make_lean_2d
from hardgrain.point.lean_3d import Lean3D, make_lean_3d
from hardgrain.point.ledger import make_ledger
from hardgrain.point.levers import make_levers
from hardgrain.point.order import make_random
from hardgrain.point.pair import make_pair
from hardgrain.point.reach import make_reach
from hardgrain.point.residual import NOTHING, make_residual, make_speed
from hardgrain.point.rest import make_rest
from hardgrain.point.row import make_row
from hardgrain.point.stopping import GLOBAL, LOCAL, RESIDUAL, Until, make_stopping
from hardgrain.point.tiles import make_tiles
from hardgrain.point.turning import make_turning
from hardgrain.point.wall_motion import make_wall_motion
from hardgrain.point.widths import WIDTHS

KINDS = {
    "lean 2D": make_lean_2d,
    "lean 3D": make_lean_3d,
    "full 2D": make_full_2d,
    "full 3D": make_full_3d,
    "blocks 2D": make_blocks_2d,
    "blocks 3D": make_blocks_3d,
}
RELAXATION = 0.2  # of the sweeps in which all contacts answer at once
Jit = Callable[..., Any]


def make_tasks(jit: Jit) -> SimpleNamespace:
    """What one thread does: ``task(k, …)`` for contact, pair or body k."""
    pair_gap, row, ledger = make_pair(jit).pair_gap, make_row(jit), make_ledger(jit)
    round_sizes, round_arms = row.round_sizes, row.round_arms
    work, turning, overlap_of = ledger.work, ledger.turning, ledger.overlap
    power, squared_speed, own = ledger.power, ledger.squared_speed, make_inertia(jit)
    twice_energy, times, inverse_in_space = own.twice_energy, own.times, own.inverse_in_space
    ghostly, arm_lengths = make_levers(jit).ghostly, make_levers(jit).arm_lengths
    body_speed, point_speed = make_speed(jit).body_speed, make_speed(jit).point_speed
    home, colours, walls = make_tiles(jit).home, make_tiles(jit).colours, make_wall_motion(jit)
    turned, stays_in_place, turn_body = walls.turned, walls.stays, make_turning(jit).turn_body
    sweep_key, below = make_random(jit).sweep_key, make_random(jit).below
    rules, is_fit = make_reach(jit), make_fit(jit).is_fit
    speed_of, travel, is_safe = rules.speed_of, rules.travel, rules.is_safe
    rest = make_rest(jit)
    momentum, approach, received = rest.momentum, rest.approach, rest.received
    mobility, can_push, shifts = rest.mobility, rest.can_push, rest.shifts

    @jit
    def gap(k, sites, first, second, limit, out):
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = pair_gap(sites, first[k], second[k], limit)

    @jit
    def sizes(k, bodies, rows, out):
        out[k, 0], out[k, 1], out[k, 2] = round_sizes(bodies, rows.first[k], rows.second[k])

    @jit
    def arms(k, bodies, rows, first, second):
        for a in range(rows.normal.shape[1]):
            i, j = rows.first[k], rows.second[k]
            first[k, a], second[k, a] = round_arms(bodies, i, j, rows.normal[k, a], a)

    @jit
    def energy(k, rows, means, out):
        out[k, 0], out[k, 1], out[k, 2] = work(rows, k, means)
        out[k, 3], out[k, 4], out[k, 5] = overlap_of(rows, k)

    @jit
    def turn(k, rows, out):
        for a in range(rows.torque.shape[1]):
            out[k, a] = turning(rows.arm_second, rows, k, a)

    @jit
    def body(k, motion, out):
        out[k, 0] = twice_energy(motion.velocity, motion.inv_mass, k)
        out[k, 0] += twice_energy(motion.spin, motion.inv_inertia, k)
        out[k, 1] = power(motion.spin, motion.spin_before, motion.inv_inertia, k)
        out[k, 2] = squared_speed(motion.velocity, k)
        out[k, 3] = body_speed(motion, k)
        out[k, 4] = 1.0 if ghostly(motion, k) else 0.0

    @jit
    def inertia(k, orientation, moments, free, load, out, kicked):
        inverse_in_space(orientation, moments, free, k, out)
        for a in range(3):
            kicked[k, a] = times(out, k, load, a)

    @jit
    def length(k, rows, motion, out):
        out[k, 0], out[k, 1] = arm_lengths(rows, k)
        out[k, 2] = point_speed(rows, motion, k)

    @jit
    def tile(k, tiling, position, shared, out):
        out[k, 0], out[k, 1] = colours(tiling)
        out[k, 2] = home(tiling, position, shared, k, (k + 1) % position.shape[0])

    @jit
    def wall(k, position, orientation, spin, kind, out):
        n = position.shape[0] - kind.shape[0]
        for a in range(position.shape[1]):
            out[k, a] = turned(orientation, n + k, position, k, a)
        still = stays_in_place(kind, position, position, spin, n + k, k)
        out[k, position.shape[1]] = 1.0 if still else 0.0
        turn_body(orientation, spin, 0.1, n + k)

    @jit
    def reach(k, listed, position, velocity, radius, out):
        out[k, 0] = speed_of(velocity, listed.turned, k)
        out[k, 1] = travel(listed.safety, out[:, 0], radius, 0.1, k)
        out[k, 2] = 1.0 if is_safe(position, listed, out[k, 1], k) else 0.0
        fit = is_fit(position, velocity, velocity, position, listed.safety, k)
        out[k, 3] = 1.0 if fit else 0.0

    @jit
    def draw(k, out):
        out[k] = below(k + 1, sweep_key(5, 7, 3), k)

    @jit
    def felt(k, rows, free, before, inverse, laws, out):
        u, w = approach(free, rows, k), approach(before, rows, k)
        shift = shifts(laws[rows.law[k]], rows.gap[k], rows.normal, k, u, w, 0.1, False)
        i, j = rows.first[k], rows.second[k]
        one, first = mobility(inverse, rows.arm_first, rows.normal, i, k)
        other, second = mobility(inverse, rows.arm_second, rows.normal, j, k)
        for a in range(3):
            out[k, a], out[k, 3 + a] = u[a], shift[a]
        out[k, 6], out[k, 7] = one + other, first + second
        out[k, 8] = 1.0 if can_push(one + other, first + second) else 0.0
        for a in range(free.shape[1]):
            out[k, 9 + a] = received(rows.impulse, rows.arm_second, k, a)

    @jit
    def sequence(k, out):
        theta, share = 1.0, 0.0
        for n in range(k):
            theta, share = momentum(theta, 1.0 if n == 4 else -1.0)
        out[k, 0], out[k, 1] = theta, share

    return SimpleNamespace(
        felt=felt, sequence=sequence,
        gap=gap, sizes=sizes, arms=arms, energy=energy, turn=turn, body=body, length=length,
        inertia=inertia, draw=draw, tile=tile, wall=wall, reach=reach,
    )  # fmt: skip


def make_sweeps(jit: Jit, kind: SimpleNamespace) -> SimpleNamespace:
    """What one thread does in a sweep over a packed problem."""
    relax_contact, wanted, present = kind.relax_contact, kind.wanted, kind.present
    set_impulse, residual, stopping = kind.set_impulse, make_residual(jit, kind), make_stopping(jit)
    of_contact, combine, verdict = residual.of_contact, residual.combine, residual.verdict
    change, met, next_check = stopping.change, stopping.met, stopping.next_check

    @jit
    def relax(k, p):
        relax_contact(p, k)

    @jit
    def fresh(k, p, relaxation, out):
        new, old = wanted(p, k), present(p, k)
        for a in range(7):
            out[k, a] = old[a] + relaxation * (new[a] - old[a])

    @jit
    def take(k, p, q):
        set_impulse(p, k, (q[k, 0], q[k, 1], q[k, 2], q[k, 3], q[k, 4], q[k, 5], q[k, 6]))

    @jit
    def part(k, p, path, unseen, out):
        found = of_contact(p, k, path[k], unseen)
        for a in range(7):
            out[k, a] = found[a]

    @jit
    def judge(k, parts, unseen, out):
        found = NOTHING
        for i in range(parts.shape[0]):
            found = combine(found, (
                parts[i, 0], parts[i, 1], parts[i, 2], parts[i, 3], parts[i, 4], parts[i, 5],
                parts[i, 6],
            ))  # fmt: skip
        out[0], out[1] = verdict(found, unseen)

    @jit
    def changed(k, p, before, until, out):
        now = present(p, k)
        out[k, 0], out[k, 1] = change(now, before[k], until)
        for a in range(7):
            before[k, a] = now[a]

    @jit
    def decide(k, until, changes, last, out):
        broken, total = 0.0, 0.0
        for i in range(changes.shape[0]):
            broken += changes[i, 0]
            total += changes[i, 1]
        out[0] = 1.0 if met(until, broken, total, last) else 0.0
        out[1] = total

    @jit
    def look(k, out):
        out[k] = next_check(k)

    return SimpleNamespace(
        relax=relax, fresh=fresh, take=take, part=part, judge=judge, changed=changed,
        decide=decide, look=look,
    )  # fmt: skip


def make_packing(jit: Jit, kind: SimpleNamespace) -> SimpleNamespace:
    """What one thread does to pack or unpack a contact or a body."""
    pack_body, pack_contact, start = kind.pack_body, kind.pack_contact, kind.start
    unpack_body, unpack_contact = kind.unpack_body, kind.unpack_contact

    @jit
    def body(k, p, motion):
        pack_body(p, k, motion)

    @jit
    def contact(k, p, order, given):
        rows, motion, laws, dt, remove_overlaps = given
        pack_contact(p, k, order[k], rows, motion, laws, dt, remove_overlaps)

    @jit
    def begin(k, p):
        start(p, k)

    @jit
    def body_back(k, p, velocity, spin):
        unpack_body(p, k, velocity, spin)

    @jit
    def contact_back(k, p, order, impulse, torque):
        unpack_contact(p, k, order[k], impulse, torque)

    return SimpleNamespace(
        body=body, contact=contact, begin=begin, body_back=body_back, contact_back=contact_back
    )


def in_python(task: Any, low: int, high: int, *args: Any) -> None:
    for k in range(low, high):
        task(k, *args)


def on_device(x: Any) -> Any:
    if isinstance(x, tuple):
        return type(x)(*map(on_device, x)) if hasattr(x, "_fields") else tuple(map(on_device, x))
    return cuda.to_device(x) if isinstance(x, np.ndarray) else x


def copy_back(there: Any, here: Any) -> None:
    if isinstance(here, tuple):
        for one, other in zip(there, here, strict=True):
            copy_back(one, other)
    elif isinstance(here, np.ndarray):
        there.copy_to_host(here)


KERNELS: dict[Any, Any] = {}


def in_cuda(task: Any, low: int, high: int, *args: Any) -> None:
    """One thread for each k; kernels take no stars, so the arguments are written out."""
    if task not in KERNELS:
        names = ", ".join(f"a{i}" for i in range(len(args)))
        space: dict[str, Any] = {"task": task, "cuda": cuda}
        code = f"k = low + cuda.grid(1)\n    if k < high:\n        task(k, {names})"
        exec(f"def kernel(low, high, {names}):\n    {code}", space)
        KERNELS[task] = cuda.jit(space["kernel"])
    there = on_device(args)
    KERNELS[task][1, 32 * ((high - low + 31) // 32)](low, high, *there)
    copy_back(there, args)


class Backend:
    """Schedules the physics of one contact, colour by colour, as a GPU would."""

    def __init__(self, jit: Jit, launch: Callable[..., None]) -> None:
        self.jit, self.launch = jit, launch

    def by_colours(self, task: Any, starts: Any, *args: Any) -> None:
        for low, high in pairwise(starts):
            if low < high:
                self.launch(task, int(low), int(high), *args)

    def pack(self, given: Given, order: Any, starts: Any, name: str) -> Any:
        dim, lean = int(name[-2]), name.startswith("lean")
        m, nb = order.size, given.motion.velocity.shape[0]
        first, second = given.rows.first[order], given.rows.second[order].astype(np.uint32)
        ghosts = 0
        if lean:
            r, turning, ghosts = levers(given.rows, given.motion)
            ghost = turning[given.rows.second[order]]
            second[ghost] = nb + np.arange(ghosts, dtype=np.uint32)
        kind = {"lean 2D": Lean2D, "lean 3D": Lean3D, "full 2D": Full2D, "full 3D": Full3D}[name]
        columns, body, _ = WIDTHS[kind]
        # zeros, as on the CPU: one column of a full row in 3D is there to fill a line of memory
        c, b = np.zeros((m, columns)), np.zeros((nb + ghosts, body))
        p: Any = kind(first.astype(np.uint32), second, c, b, *([r] if lean else []))
        tasks = make_packing(self.jit, KINDS[name](self.jit))
        self.launch(tasks.body, 0, nb, p, given.motion)
        self.launch(tasks.contact, 0, m, p, order, given)
        self.by_colours(tasks.begin, starts, p)
        assert dim == given.rows.normal.shape[1]
        return p

    def unpack(self, p: Any, order: Any, given: Given, name: str) -> tuple[Any, ...]:
        tasks = make_packing(self.jit, KINDS[name](self.jit))
        velocity, spin = given.motion.velocity.copy(), given.motion.spin.copy()
        impulse, torque = np.empty_like(given.rows.impulse), np.zeros_like(given.rows.torque)
        self.launch(tasks.body_back, 0, len(velocity), p, velocity, spin)
        self.launch(tasks.contact_back, 0, order.size, p, order, impulse, torque)
        return velocity, spin, impulse, torque

    def residual(self, tasks: Any, p: Any, paths: Any) -> Any:
        parts, out = np.empty((p.first.size, 7)), np.empty(2)
        self.launch(tasks.part, 0, p.first.size, p, paths, 0.0, parts)
        self.launch(tasks.judge, 0, 1, parts, 0.0, out)
        return out

    def relax(self, p: Any, starts: Any, until: Until, paths: Any, name: str) -> tuple[int, Any]:
        """Sweeps done, and what the rest of the stopping rules say."""
        tasks, m = make_sweeps(self.jit, KINDS[name](self.jit)), p.first.size
        before, changes, out = np.zeros((m, 7)), np.empty((m, 2)), np.zeros(2)
        looks = np.zeros(until.sweeps + 1)
        self.launch(tasks.look, 0, looks.size, looks)
        self.launch(tasks.changed, 0, m, p, before, until, changes)
        self.launch(tasks.decide, 0, 1, until, changes, 0.0, out)
        check, done = 1, until.sweeps
        for sweep in range(1, until.sweeps + 1):
            self.by_colours(tasks.relax, starts, p)
            if until.rule in (LOCAL, GLOBAL):
                self.launch(tasks.changed, 0, m, p, before, until, changes)
                self.launch(tasks.decide, 0, 1, until, changes, float(out[1]), out)
                if out[0]:
                    done = sweep
                    break
            elif until.rule == RESIDUAL and sweep >= check:
                check = looks[sweep]
                if self.residual(tasks, p, paths)[0] <= until.tolerance:
                    done = sweep
                    break
        return done, self.residual(tasks, p, paths)

    def parallel(self, p: Any, starts: Any, name: str) -> None:
        """Two sweeps in which all contacts answer the same velocities."""
        tasks, fresh = make_sweeps(self.jit, KINDS[name](self.jit)), np.empty((p.first.size, 7))
        for _ in range(2):
            self.launch(tasks.fresh, 0, p.first.size, p, RELAXATION, fresh)
            self.by_colours(tasks.take, starts, p, fresh)
