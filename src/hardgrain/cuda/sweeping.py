"""Pack, sweep and judge the contacts of a step on the device, tile by tile.

Many grains: a warp takes a tile, copies the bodies that it touches into shared memory, relaxes the
contacts inner colour by inner colour, and copies the grains back, colour by colour of tiles. Few
grains: all tiles are swept together, inner colour by inner colour. All sweeps of a step are one
kernel, whose blocks wait for each other. What belongs to no tile comes last, one by one.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from hardgrain.cuda.api import F8, I4, SIMULATED, cuda, device, kernel, slim
from hardgrain.cuda.arrays import CONTACTS, GHOSTS, LEFT, MET, NEED_GHOSTS, SHADES, STEP, SWEPT
from hardgrain.cuda.arrays import TILES as NUMBER_OF_TILES
from hardgrain.cuda.grid import CHUNKS, block_max, block_sum, bounds, meet
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
from hardgrain.point.widths import WIDTHS

__all__ = ["LANES", "LAYOUTS", "make_sweeping"]

# By whether laws and bodies are simple, and by dimension: record, functions, and `Widths`.
LAYOUTS: dict[tuple[bool, int], Any] = {
    (True, 2): (Lean2D, make_lean_2d, *WIDTHS[Lean2D]),
    (True, 3): (Lean3D, make_lean_3d, *WIDTHS[Lean3D]),
    (False, 2): (Full2D, make_full_2d, *WIDTHS[Full2D]),
    (False, 3): (Full3D, make_full_3d, *WIDTHS[Full3D]),
}
LANES = 4 if SIMULATED else 32  # threads that share a tile: a warp, which waits for itself alone
KEPT = 4  # [tiles] of which a warp keeps where inner colours begin, if tiles are swept together
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
def make_sweeping(lean: bool, dim: int, team: int, most: int) -> SimpleNamespace:
    """The kernels for one kind of packed problem.

    team: warps of a block, each of which has a tile of its own; most: bodies that a tile may touch,
    which it has in the shared memory of its block; 0: all tiles are swept together.
    """
    record, make, _, columns, moving = LAYOUTS[lean, dim]
    own, threads = make(device), team * LANES
    # Rows of an odd number of numbers lie in different banks of memory.
    room_for, wide, kept = max(most, 1), columns | 1, STARTS * (1 if most else KEPT)
    relax_contact, present, start = own.relax_contact, own.present, own.start
    pack_body, pack_contact = own.pack_body, own.pack_contact
    unpack_body, unpack_contact = own.unpack_body, own.unpack_contact
    judge = make_residual(device, own)
    of_contact, verdict = judge.of_contact, judge.verdict

    if lean:

        @device
        def packed(first, second, c, b, r):
            """The record of rows and bodies."""
            return record(first, second, c, b, r)
    else:

        @device
        def packed(first, second, c, b, r):
            """The record of rows and bodies, which has no length of arms."""
            return record(first, second, c, b)

    @device
    def whole(problem):
        """All rows and bodies as one packed problem."""
        return packed(problem.first, problem.second, problem.c, problem.b, problem.r)

    @device
    def inside(problem, b):
        """The rows of a tile, with its bodies in shared memory."""
        return packed(problem.inner_first, problem.inner_second, problem.c, b, problem.r)

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
        b, begins = room
        me, number, last = cuda.threadIdx.x % LANES, tiles.number[t], tiles.shades[t]
        for e in range(me, last + 1, LANES):
            begins[e] = tiles.colour[t, e]
        for e in range(me, number, LANES):
            row = tiles.members[t, e]
            for a in range(columns):
                b[e, a] = problem.b[row, a]
        inner, p = turn % last, inside(problem, b)
        wait()
        for _ in range(last):
            s, high = begins[inner] + me, begins[inner + 1]
            while s < high:  # a range would begin with a division
                if warm:
                    start(p, s)
                else:
                    relax_contact(p, s)
                s += LANES
            wait()
            inner = inner + 1 if inner + 1 < last else 0
        for e in range(me, number, LANES):
            row = tiles.members[t, e]
            if row < n:
                for a in range(moving):
                    problem.b[row, a] = b[e, a]
        wait()

    @device
    def tile_by_tile(search, tiles, problem, room, n, warm, key):
        """All tiles once, colour by colour in a drawn order."""
        number, each = colours(Tiling(tiles.width, tiles.count, tiles.period))
        first, turn = below(number, key, 0), np.int32(below(1 << 20, key, 1))
        for c in range(number):
            colour = c ^ first  # as many orders as colours, a wave sees each from elsewhere
            mine = cuda.blockIdx.x + cuda.gridDim.x * (cuda.threadIdx.x // LANES)
            for t in range(mine, each, cuda.gridDim.x * team):
                tile = colour * each + t
                if tiles.start[tile + 1] > tiles.start[tile]:
                    visit(tiles, problem, room, tile, warm, n, turn)
            meet(search.arrivals)

    @device
    def together(search, tiles, problem, room, n, warm, key):
        """All tiles at once, inner colour by inner colour, beginning with a drawn one."""
        p, begins = whole(problem), room[1]
        me, shades = cuda.threadIdx.x % LANES, search.numbers[SHADES]
        warps = cuda.gridDim.x * team
        mine = cuda.blockIdx.x + cuda.gridDim.x * (cuda.threadIdx.x // LANES)
        inner, total = below(max(shades, 1), key, 1), search.numbers[NUMBER_OF_TILES]
        for _ in range(shades):
            t, k = mine, 0
            while t < total:
                s, high = 0, 0
                if k < KEPT:
                    s, high = begins[k * STARTS + inner], begins[k * STARTS + inner + 1]
                elif tiles.start[t + 1] > tiles.start[t]:
                    s, high = tiles.colour[t, inner], tiles.colour[t, inner + 1]
                s += me
                while s < high:
                    if warm:
                        start(p, s)
                    else:
                        relax_contact(p, s)
                    s += LANES
                t, k = t + warps, k + 1
            inner = inner + 1 if inner + 1 < shades else 0
            meet(search.arrivals)

    @device
    def keep(search, tiles, begins):
        """Where the inner colours of the first tiles of each warp begin, for a whole step."""
        me = cuda.threadIdx.x % LANES
        mine = cuda.blockIdx.x + cuda.gridDim.x * (cuda.threadIdx.x // LANES)
        for k in range(KEPT):
            t = mine + k * cuda.gridDim.x * team
            there = t < search.numbers[NUMBER_OF_TILES] and tiles.start[t + 1] > tiles.start[t]
            for e in range(me, STARTS, LANES):
                begins[k * STARTS + e] = tiles.colour[t, e] if there else 0
        wait()

    once = tile_by_tile if most else together

    @device
    def pass_over(search, tiles, problem, room, n, warm, key):
        """All contacts of tiles once, and then the rest."""
        once(search, tiles, problem, room, n, warm, key)
        if search.numbers[LEFT] > 0:
            if cuda.grid(1) == 0:
                p = whole(problem)
                end = search.numbers[CONTACTS]
                for s in range(end - search.numbers[LEFT], end):
                    if warm:
                        start(p, s)
                    else:
                        relax_contact(p, s)
            meet(search.arrivals)

    @device
    def residual(search, held, tiles, problem, dt, unseen, room):
        """Residual and residual_rms of all contacts, known to all threads."""
        p, m = whole(problem), search.numbers[CONTACTS]
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
        meet(search.arrivals)
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
        meet(search.arrivals)
        return problem.found[0], problem.found[1]

    @device
    def changed(search, problem, until, room):
        """How many contacts break the local rule, and the sum of |P|, known to all threads."""
        p, m = whole(problem), search.numbers[CONTACTS]
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
        meet(search.arrivals)
        broken, total = 0.0, 0.0
        for chunk in range(CHUNKS):
            broken += problem.parts[chunk, 0]
            total += problem.parts[chunk, 1]
        meet(search.arrivals)
        return broken, total

    @device
    def fastest(bodies, search, held, problem, room):
        """Largest velocity component of a body, or speed of a contact point by its body's spin."""
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
        meet(search.arrivals)
        most = 0.0
        for chunk in range(CHUNKS):
            most = max(most, problem.parts[chunk, 0])
        meet(search.arrivals)
        return most

    @slim
    def sweep(bodies, search, held, tiles, problem, until, fixed):
        """Sweep until the rule is met; the residual at the end is in ``problem.found``.

        fixed: seed, length of the step, and what rounding leaves of a velocity.
        """
        seed, dt, rounding = fixed
        b = cuda.shared.array((team, room_for, wide), F8)
        begins = cuda.shared.array((team, kept), I4)
        room = cuda.shared.array(threads, F8)
        own_room = b[cuda.threadIdx.x // LANES], begins[cuda.threadIdx.x // LANES]
        n, step = bodies.radius.shape[0], search.numbers[STEP]
        if halted(search):
            return
        cuda.cg.this_grid().sync()  # all blocks run at once
        if not most:
            keep(search, tiles, own_room[1])
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
