"""Pack, sweep and judge the contacts of a step on the device, tile by tile.

A block takes a tile: it copies the bodies that the tile touches into its shared memory, relaxes the
contacts inner colour by inner colour, and copies the grains back. When all tiles of a colour are
done, the next colour follows; all sweeps of a step are one kernel, whose blocks wait for each
other. What belongs to no tile is relaxed last, one contact after the other.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from hardgrain.cuda.api import F8, I4, SIMULATED, U2, cuda, device, kernel, slim
from hardgrain.cuda.arrays import CONTACTS, GHOSTS, LEFT, MET, NEED_GHOSTS, STEP, SWEPT
from hardgrain.cuda.grid import CHUNKS, block_max, block_sum, bounds
from hardgrain.cuda.records import motion_of, rows_of
from hardgrain.cuda.search import halted
from hardgrain.cuda.tiling import STARTS, second_row
from hardgrain.point.full_2d import Full2D, make_full_2d
from hardgrain.point.full_3d import Full3D, make_full_3d
from hardgrain.point.lean_2d import Lean2D, make_lean_2d
from hardgrain.point.lean_3d import Lean3D, make_lean_3d
from hardgrain.point.levers import make_levers
from hardgrain.point.order import make_random
from hardgrain.point.residual import make_residual, make_speed
from hardgrain.point.stopping import GLOBAL, LOCAL, RESIDUAL, SWEEPS, make_stopping
from hardgrain.point.tiles import Tiling, make_tiles

__all__ = ["LANES", "LAYOUTS", "make_sweeping"]

# By whether laws and bodies are simple, and by dimension: record, functions, columns of a contact
# and of a body, columns of a body that move.
LAYOUTS: dict[tuple[bool, int], Any] = {
    (True, 2): (Lean2D, make_lean_2d, 9, 5, 3),
    (True, 3): (Lean3D, make_lean_3d, 12, 8, 6),
    (False, 2): (Full2D, make_full_2d, 32, 6, 3),
    (False, 3): (Full3D, make_full_3d, 48, 16, 6),
}
LANES = 4 if SIMULATED else 32  # threads that share a tile: a warp, which waits for itself alone
ghostly = make_levers(device).ghostly
body_speed, point_speed = make_speed(device).body_speed, make_speed(device).point_speed
colours = make_tiles(device).colours
sweep_key, below = make_random(device).sweep_key, make_random(device).below
_stopping = make_stopping(device)
change, met, next_check = _stopping.change, _stopping.met, _stopping.next_check


@device
def wait():
    """Let the threads that share a tile wait for each other."""
    if SIMULATED:
        cuda.syncthreads()
    else:
        cuda.syncwarp()


@kernel
def ghosts(bodies, search, held, problem, lean):
    """Give each contact with a wall that turns, and that nothing can push, a body of its own."""
    nb, n = bodies.position.shape[0], bodies.radius.shape[0]
    motion, most = motion_of(bodies, search), problem.b.shape[0]
    if halted(search):
        return
    for k in range(cuda.grid(1), search.numbers[CONTACTS], cuda.gridsize(1)):
        problem.ghost[k] = -1
        j = held.second[k]
        if lean and j >= n and ghostly(motion, j):
            row = nb + cuda.atomic.add(search.numbers, GHOSTS, 1)
            problem.ghost[k] = row
            if row >= most:
                cuda.atomic.max(search.numbers, NEED_GHOSTS, row + 1 - nb)


@cache
def make_sweeping(lean: bool, dim: int, team: int, most: int, staged: int) -> SimpleNamespace:
    """The kernels for one kind of packed problem.

    team: warps of a block, each of which has a tile of its own; most: bodies that a tile may touch;
    staged: contacts up to which a tile has them in the shared memory of its block too, which saves
    waiting for them one inner colour after the other.
    """
    record, make, contact, columns, moving = LAYOUTS[lean, dim]
    own, rows_staged, threads = make(device), max(staged, 1), team * LANES
    relax_contact, present, start = own.relax_contact, own.present, own.start
    pack_body, pack_contact = own.pack_body, own.pack_contact
    unpack_body, unpack_contact = own.unpack_body, own.unpack_contact
    judge = make_residual(device, own)
    of_contact, verdict = judge.of_contact, judge.verdict

    if lean:

        @device
        def whole(problem):
            """All rows and bodies as one packed problem."""
            return record(problem.first, problem.second, problem.c, problem.b, problem.r)

        @device
        def inside(problem, b):
            """The rows of a tile, with its bodies in shared memory."""
            return record(problem.inner_first, problem.inner_second, problem.c, b, problem.r)

        @device
        def aside(problem, first, second, c, b):
            """The same, with the rows in shared memory too."""
            return record(first, second, c, b, problem.r)
    else:

        @device
        def whole(problem):
            """All rows and bodies as one packed problem."""
            return record(problem.first, problem.second, problem.c, problem.b)

        @device
        def inside(problem, b):
            """The rows of a tile, with its bodies in shared memory."""
            return record(problem.inner_first, problem.inner_second, problem.c, b)

        @device
        def aside(problem, first, second, c, b):
            """The same, with the rows in shared memory too."""
            return record(first, second, c, b)

    @kernel
    def pack(bodies, search, held, tiles, problem, laws, dt, remove_overlaps):
        """Fill the rows of bodies and contacts."""
        grid, p = cuda.cg.this_grid(), whole(problem)
        rows, motion = rows_of(held), motion_of(bodies, search)
        nb, n = bodies.position.shape[0], bodies.radius.shape[0]
        if halted(search):
            return
        for i in range(cuda.grid(1), nb, cuda.gridsize(1)):
            problem.r[i] = bodies.radius[i] if i < n else 0.0
            pack_body(p, i, motion)
        for g in range(cuda.grid(1), search.numbers[GHOSTS], cuda.gridsize(1)):
            for a in range(columns):
                problem.b[nb + g, a] = 0.0
        grid.sync()
        for s in range(cuda.grid(1), search.numbers[CONTACTS], cuda.gridsize(1)):
            k = tiles.stored[s]
            for a in range(problem.c.shape[1]):
                problem.c[s, a] = 0.0
            problem.first[s], problem.second[s] = held.first[k], second_row(problem, held, k)
            pack_contact(p, s, k, rows, motion, laws, dt, remove_overlaps)

    @device
    def visit(tiles, problem, room, t, warm, n, turn):
        """Relax the contacts of a tile once, or give its bodies the impulses that they begin with.

        turn: the inner colour that is first.
        """
        b, c, first, second, begins = room
        me, number, last = cuda.threadIdx.x % LANES, tiles.number[t], tiles.shades[t]
        base, end = tiles.start[t], tiles.start[t + 1]
        for e in range(me, last + 1, LANES):
            begins[e] = tiles.colour[t, e]
        for e in range(me, number, LANES):
            row = tiles.members[t, e]
            for a in range(columns):
                b[e, a] = problem.b[row, a]
        beside = end - base <= staged
        if beside:
            for e in range(me, end - base, LANES):
                first[e], second[e] = problem.inner_first[base + e], problem.inner_second[base + e]
                for a in range(contact):
                    c[e, a] = problem.c[base + e, a]
        ahead = turn % max(last, 1)
        wait()
        for turned in range(last):
            inner = turned + ahead
            if inner >= last:
                inner -= last
            low, high = begins[inner], begins[inner + 1]
            if beside:
                p = aside(problem, first, second, c, b)
                for s in range(low - base + me, high - base, LANES):
                    if warm:
                        start(p, s)
                    else:
                        relax_contact(p, s)
            else:
                q = inside(problem, b)
                for s in range(low + me, high, LANES):
                    if warm:
                        start(q, s)
                    else:
                        relax_contact(q, s)
            wait()
        for e in range(me, number, LANES):
            row = tiles.members[t, e]
            if row < n:
                for a in range(moving):
                    problem.b[row, a] = b[e, a]
        if beside and not warm:
            for e in range(me, end - base, LANES):
                for a in range(contact):
                    problem.c[base + e, a] = c[e, a]
        wait()

    @device
    def pass_over(search, tiles, problem, room, n, warm, key):
        """All tiles once, colour by colour in a drawn order, and then the rest."""
        grid = cuda.cg.this_grid()
        number, each = colours(Tiling(tiles.width, tiles.count, tiles.period))
        first, turn = below(number, key, 0), np.int32(below(1 << 20, key, 1))
        for c in range(number):
            colour = (
                c ^ first
            )  # as many orders as colours, each of which a wave sees from elsewhere
            mine = cuda.blockIdx.x + cuda.gridDim.x * (cuda.threadIdx.x // LANES)
            for t in range(mine, each, cuda.gridDim.x * team):
                tile = colour * each + t
                if tiles.start[tile + 1] > tiles.start[tile]:
                    visit(tiles, problem, room, tile, warm, n, turn)
            grid.sync()
        if search.numbers[LEFT] > 0:
            if cuda.grid(1) == 0:
                p = whole(problem)
                for s in range(search.numbers[CONTACTS] - search.numbers[LEFT],
                               search.numbers[CONTACTS]):  # fmt: skip
                    if warm:
                        start(p, s)
                    else:
                        relax_contact(p, s)
            grid.sync()

    @device
    def residual(search, held, tiles, problem, dt, unseen, room):
        """Residual and residual_rms of all contacts, known to all threads."""
        grid, p, m = cuda.cg.this_grid(), whole(problem), search.numbers[CONTACTS]
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, m)
            worst, lacking, astray = 0.0, 0.0, 0.0
            wants, scale, push, loaded = 0.0, 0.0, 0.0, 0.0
            for s in range(low + cuda.threadIdx.x, high, threads):
                path = (dt / held.width[tiles.stored[s]]) ** 2
                found = of_contact(p, s, path, unseen)
                if not found[0] <= worst:  # lets NaN through
                    worst = found[0]
                lacking, astray = max(lacking, found[1]), max(astray, found[2])
                wants += found[3]
                scale += found[4]
                push += found[5]
                loaded += found[6]
            worst, lacking = block_max(worst, room), block_max(lacking, room)
            astray, wants = block_max(astray, room), block_sum(wants, room)
            scale, push = block_sum(scale, room), block_sum(push, room)
            loaded = block_sum(loaded, room)
            if cuda.threadIdx.x == 0:
                part = problem.parts
                part[chunk, 0], part[chunk, 1], part[chunk, 2] = worst, lacking, astray
                part[chunk, 3], part[chunk, 4], part[chunk, 5] = wants, scale, push
                part[chunk, 6] = loaded
        grid.sync()
        if cuda.grid(1) == 0:
            part = problem.parts
            worst, lacking, astray = 0.0, 0.0, 0.0
            wants, scale, push, loaded = 0.0, 0.0, 0.0, 0.0
            for chunk in range(CHUNKS):
                if not part[chunk, 0] <= worst:
                    worst = part[chunk, 0]
                lacking, astray = max(lacking, part[chunk, 1]), max(astray, part[chunk, 2])
                wants += part[chunk, 3]
                scale += part[chunk, 4]
                push += part[chunk, 5]
                loaded += part[chunk, 6]
            told = verdict((worst, lacking, astray, wants, scale, push, loaded), unseen)
            problem.found[0], problem.found[1] = told[0], told[1]
        grid.sync()
        return problem.found[0], problem.found[1]

    @device
    def changed(search, problem, until, room):
        """How many contacts break the local rule, and the sum of |P|, known to all threads."""
        grid, p, m = cuda.cg.this_grid(), whole(problem), search.numbers[CONTACTS]
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, m)
            broken, total = 0.0, 0.0
            for s in range(low + cuda.threadIdx.x, high, threads):
                q = present(p, s)
                found = change(q, problem.before[s], until)
                broken += found[0]
                total += found[1]
                for a in range(7):
                    problem.before[s, a] = q[a]
            broken, total = block_sum(broken, room), block_sum(total, room)
            if cuda.threadIdx.x == 0:
                problem.parts[chunk, 0], problem.parts[chunk, 1] = broken, total
        grid.sync()
        broken, total = 0.0, 0.0
        for chunk in range(CHUNKS):
            broken += problem.parts[chunk, 0]
            total += problem.parts[chunk, 1]
        grid.sync()
        return broken, total

    @device
    def fastest(bodies, search, held, problem, room):
        """Largest velocity component of a body, or speed of a contact point by its body's spin."""
        grid = cuda.cg.this_grid()
        rows, motion, nb = rows_of(held), motion_of(bodies, search), bodies.position.shape[0]
        m = search.numbers[CONTACTS]
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            most = 0.0
            low, high = bounds(chunk, nb)
            for i in range(low + cuda.threadIdx.x, high, threads):
                most = max(most, body_speed(motion, i))
            low, high = bounds(chunk, m)
            for k in range(low + cuda.threadIdx.x, high, threads):
                most = max(most, point_speed(rows, motion, k))
            most = block_max(most, room)
            if cuda.threadIdx.x == 0:
                problem.parts[chunk, 0] = most
        grid.sync()
        most = 0.0
        for chunk in range(CHUNKS):
            most = max(most, problem.parts[chunk, 0])
        grid.sync()
        return most

    @slim
    def sweep(bodies, search, held, tiles, problem, until, fixed):
        """Sweep until the rule is met; the residual at the end is in ``problem.found``.

        fixed: seed, length of the step, and what rounding leaves of a velocity.
        """
        seed, dt, rounding = fixed
        b = cuda.shared.array((team, most, columns), F8)
        c = cuda.shared.array((team, rows_staged, contact), F8)
        first = cuda.shared.array((team, rows_staged), U2)
        second = cuda.shared.array((team, rows_staged), U2)
        begins = cuda.shared.array((team, STARTS), I4)
        room = cuda.shared.array(threads, F8)
        warp = cuda.threadIdx.x // LANES
        own_room = b[warp], c[warp], first[warp], second[warp], begins[warp]
        n, step = bodies.radius.shape[0], search.numbers[STEP]
        if halted(search):
            return
        hidden = rounding * fastest(bodies, search, held, problem, room)
        unseen = hidden * hidden
        pass_over(search, tiles, problem, own_room, n, True, sweep_key(seed, step, 0))
        watch = until.rule == LOCAL or until.rule == GLOBAL
        broken, total, last = 0.0, 0.0, 0.0
        if watch:
            broken, total = changed(search, problem, until, room)
        check, done, ended = 1, 0, until.rule == SWEEPS
        while done < until.sweeps:
            pass_over(search, tiles, problem, own_room, n, False, sweep_key(seed, step, done))
            done += 1
            if watch:
                last = total
                broken, total = changed(search, problem, until, room)
                if met(until, broken, total, last):
                    ended = True
                    break
            elif until.rule == RESIDUAL and done >= check:
                check = next_check(done)
                left, _ = residual(search, held, tiles, problem, dt, unseen, room)
                if left <= until.tolerance:
                    ended = True
                    break
        residual(search, held, tiles, problem, dt, unseen, room)
        if cuda.grid(1) == 0:
            search.numbers[SWEPT], search.numbers[MET] = done, 1 if ended else 0

    @kernel
    def unpack(bodies, search, held, tiles, problem, velocity, spin):
        """Write velocities, spins, impulses and torque impulses."""
        p = whole(problem)
        if halted(search):
            return
        for i in range(cuda.grid(1), bodies.position.shape[0], cuda.gridsize(1)):
            for a in range(velocity.shape[1]):
                velocity[i, a] = search.free_velocity[i, a]
            for a in range(spin.shape[1]):
                spin[i, a] = search.free_spin[i, a]
            unpack_body(p, i, velocity, spin)
        for s in range(cuda.grid(1), search.numbers[CONTACTS], cuda.gridsize(1)):
            k = tiles.stored[s]
            for a in range(held.torque.shape[1]):
                held.torque[k, a] = 0.0
            unpack_contact(p, s, k, held.impulse, held.torque)

    return SimpleNamespace(pack=pack, sweep=sweep, unpack=unpack)
