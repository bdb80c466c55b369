"""Which tile sweeps which contact, and in which inner order; see `hardgrain.point.tiles`.

`sort` cuts space and lists the grains tile by tile. `arrange` then gives every tile to a block: it
lists the tile's contacts in their order, finds the bodies that they touch, and colours them, so
that contacts of one *inner colour* share no grain and can be relaxed at the same time. Tiles are
coloured one colour of tiles after the other, and each knows which inner colours its grains have
already. So contacts of one inner colour share no grain even if they belong to different tiles.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.cuda.api import I4, SIMULATED, U2, U8, cuda, device, kernel
from hardgrain.cuda.arrays import CONTACTS, LEFT, NEED_BODIES, NEED_COLOURS, SHADES, TILES
from hardgrain.cuda.grid import CHUNKS, THREADS, after, block_rank, bounds
from hardgrain.cuda.search import extent, halted
from hardgrain.point.tiles import Tiling, make_tiles

__all__ = ["ARRANGERS", "STARTS", "arrange", "second_row", "sort"]

_tiles = make_tiles(device)
colours, tile_of, stays = _tiles.colours, _tiles.tile_of, _tiles.stays

# [bodies] that a tile may touch, so that they fit into the shared memory of a block.
MOST = 64 if SIMULATED else 448
# [1] Inner colours at most. Equal spheres touch twelve others, so that two contacts meet at most
# twenty-two; a body of more contacts than this asks for narrower tiles in vain.
COLOURS = 63
ARRANGERS = 8 if SIMULATED else 64  # threads of a block that arranges tiles
STARTS = COLOURS + 1  # where each begins, and the last one ends
SLOTS = 128 if SIMULATED else 1024  # of the table in which a tile finds its bodies; a power of two


@device
def cells_along(search, tiles, a, n, most):
    """How many tiles the grains span along an axis: one, or an even number."""
    if tiles.period[a] > 0.0:
        return np.int64(round(tiles.period[a] / tiles.width[a]))
    low, high, _ = extent(search, a, tiles.width.shape[0])
    cells = math.floor(high / tiles.width[a]) - math.floor(low / tiles.width[a]) + 1.0
    cells = np.int64(min(max(cells, 1.0), 2.0 * most)) if cells == cells else np.int64(1)
    return cells + cells % 2 if cells > 1 else cells


@device
def cut(search, tiles, n, most):
    """Decide how many tiles there are along each axis, from the box of the grains; at most most."""
    dim = tiles.width.shape[0]
    for a in range(dim):
        tiles.count[a] = cells_along(search, tiles, a, n, most)
    product = 1
    for a in range(dim):
        product *= tiles.count[a]
    while product > most:  # grains that have flown far share tiles with others
        longest = -1
        for a in range(dim):
            longer = longest < 0 or tiles.count[a] > tiles.count[longest]
            if tiles.period[a] == 0.0 and tiles.count[a] > 2 and longer:
                longest = a
        if longest < 0:
            break
        product //= tiles.count[longest]
        half = tiles.count[longest] // 2
        tiles.count[longest] = half + half % 2
        product *= tiles.count[longest]


@device
def belongs(tiling, bodies, free, held, k):
    """Whether a contact belongs to the tile of its first grain: the second is near, or held."""
    i, j = held.first[k], held.second[k]
    n = bodies.radius.shape[0]
    if j >= n:
        return not free[j - n]
    return stays(tiling, bodies.position, i, j)


@kernel
def sort(bodies, search, held, tiles, free):
    """Cut space into tiles, list the grains of each, and count its contacts.

    free: (w,) whether contacts may push a wall.
    """
    grid, room = cuda.cg.this_grid(), cuda.shared.array(THREADS, I4)
    me, all_threads = cuda.grid(1), cuda.gridsize(1)
    n, m = bodies.radius.shape[0], search.numbers[CONTACTS]
    if halted(search):
        return
    if me == 0:
        cut(search, tiles, n, tiles.number.shape[0])
    grid.sync()
    tiling = Tiling(tiles.width, tiles.count, tiles.period)
    number, each = colours(tiling)
    total = number * each
    for t in range(me, total, all_threads):
        tiles.fill[t], tiles.number[t] = 0, 0
    grid.sync()
    for i in range(me, n, all_threads):
        t = tile_of(tiling, bodies.position, i)
        tiles.tile[i] = t
        inside = 0
        for k in range(held.start[i], held.start[i + 1]):
            inside += 1 if belongs(tiling, bodies, free, held, k) else 0
        if inside > 0:
            cuda.atomic.add(tiles.fill, t, 1)
            cuda.atomic.add(tiles.number, t, inside)
    grid.sync()
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, total)
        grains, contacts = 0, 0
        for t in range(low + cuda.threadIdx.x, high, THREADS):
            grains += tiles.fill[t]
            contacts += tiles.number[t]
        grains, contacts = block_rank(grains, room)[1], block_rank(contacts, room)[1]
        if cuda.threadIdx.x == 0:
            tiles.counts[0, chunk], tiles.counts[1, chunk] = grains, contacts
    grid.sync()
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, total)
        grains, contacts = after(tiles.counts[0], chunk, room), after(tiles.counts[1], chunk, room)
        for strip in range(low, high, THREADS):
            t = strip + cuda.threadIdx.x
            own = tiles.fill[t] if t < high else 0
            rank, more = block_rank(own, room)
            if t < high:
                tiles.body_start[t] = grains + rank
            grains += more
            own = tiles.number[t] if t < high else 0
            rank, more = block_rank(own, room)
            if t < high:
                tiles.start[t] = contacts + rank
            contacts += more
        if high == total and low < high and cuda.threadIdx.x == 0:
            tiles.body_start[total], tiles.start[total] = grains, contacts
    grid.sync()
    for t in range(me, total, all_threads):
        tiles.fill[t] = 0
    grid.sync()
    for i in range(me, n, all_threads):
        inside = False
        for k in range(held.start[i], held.start[i + 1]):
            inside = inside or belongs(tiling, bodies, free, held, k)
        if inside:
            t = tiles.tile[i]
            tiles.bodies[tiles.body_start[t] + cuda.atomic.add(tiles.fill, t, 1)] = i
    rest(bodies, search, held, tiles, free, room)
    if me == 0:
        search.numbers[TILES] = total
        search.numbers[LEFT] = m - tiles.start[total]


@device
def rest(bodies, search, held, tiles, free, room):
    """List the contacts that belong to no tile, in their order; they follow those of the tiles."""
    grid, tiling = cuda.cg.this_grid(), Tiling(tiles.width, tiles.count, tiles.period)
    m = search.numbers[CONTACTS]
    number, each = colours(tiling)
    in_tiles = tiles.start[number * each]
    if in_tiles == m:
        return
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, m)
        count = 0
        for k in range(low + cuda.threadIdx.x, high, THREADS):
            count += 0 if belongs(tiling, bodies, free, held, k) else 1
        total = block_rank(count, room)[1]
        if cuda.threadIdx.x == 0:
            tiles.counts[0, chunk] = total
    grid.sync()
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, m)
        s = in_tiles + after(tiles.counts[0], chunk, room)
        for strip in range(low, high, THREADS):
            k = strip + cuda.threadIdx.x
            out = k < high and not belongs(tiling, bodies, free, held, k)
            rank, more = block_rank(1 if out else 0, room)
            if out:
                tiles.stored[s + rank] = k
            s += more


@device
def order_grains(tiles, low, count, room):
    """Put the grains of a tile into their order; room: shared, as many as there are."""
    for e in range(cuda.threadIdx.x, count, ARRANGERS):
        room[e] = tiles.bodies[low + e]
    cuda.syncthreads()
    for e in range(cuda.threadIdx.x, count, ARRANGERS):
        mine, rank = room[e], 0
        for other in range(count):
            rank += 1 if room[other] < mine else 0
        tiles.bodies[low + rank] = mine
    cuda.syncthreads()


@device
def place_of(table, places, row):
    """Where the row of a body stands among the members of a tile."""
    slot = (np.int64(row) * 40503) & (SLOTS - 1)
    while table[slot] != row:
        slot = (slot + 1) & (SLOTS - 1)
    return places[slot]


@device
def enter(table, row):
    """Enter a row into the table of a tile; return its slot if it is new, else −1."""
    slot = (np.int64(row) * 40503) & (SLOTS - 1)
    found = -1
    looking, tries = True, 0
    while looking and tries < SLOTS:
        was = cuda.atomic.cas(table, slot, -1, row)
        if was == -1:
            found, looking = slot, False
        elif was == row:
            looking = False
        else:
            slot = (slot + 1) & (SLOTS - 1)
            tries += 1
    return found


@device
def second_row(problem, held, k):
    """The row of the second body of a contact: itself, or its ghost."""
    ghost = problem.ghost[k]
    return held.second[k] if ghost < 0 else ghost


@kernel
def arrange(bodies, search, held, tiles, problem, free):
    """List the contacts of every tile, inner colour by inner colour, and the bodies they touch."""
    grid, n = cuda.cg.this_grid(), tiles.tile.shape[0]
    grains = cuda.shared.array(MOST, I4)
    table = cuda.shared.array(SLOTS, I4)
    places = cuda.shared.array(SLOTS, U2)
    used = cuda.shared.array(MOST, U8)
    fill = cuda.shared.array(STARTS, I4)
    if halted(search):
        return
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        tiles.used[i] = 0
    grid.sync()
    number, each = colours(Tiling(tiles.width, tiles.count, tiles.period))
    for c in range(number):
        for t in range(c * each + cuda.blockIdx.x, (c + 1) * each, cuda.gridDim.x):
            gather(bodies, search, held, tiles, problem, free, t, (grains, table, places, used))
            if tiles.number[t] > 0:
                paint(search, tiles, held, problem, t, (table, places, used, fill))
            cuda.syncthreads()
        grid.sync()


@device
def gather(bodies, search, held, tiles, problem, free, t, room):
    """List the contacts of a tile in their order, and the bodies that they touch; none: too many.

    A tile that touches too many bodies asks for room, and has none for now.
    """
    grains, table, places, used = room
    ranks = cuda.shared.array(ARRANGERS, I4)
    size = cuda.shared.array(1, I4)
    me, most, n = cuda.threadIdx.x, tiles.members.shape[1], tiles.tile.shape[0]
    tiling = Tiling(tiles.width, tiles.count, tiles.period)
    low, count = tiles.body_start[t], tiles.body_start[t + 1] - tiles.body_start[t]
    base, contacts = tiles.start[t], tiles.start[t + 1] - tiles.start[t]
    if count > most:
        if me == 0:
            cuda.atomic.max(search.numbers, NEED_BODIES, count)
            tiles.number[t] = 0
        cuda.syncthreads()
        return
    order_grains(tiles, low, count, grains)
    for slot in range(me, SLOTS, ARRANGERS):
        table[slot] = -1
    if me == 0:
        size[0] = 0
    cuda.syncthreads()
    s = base
    for strip in range(0, count, ARRANGERS):
        i, own = -1, 0
        if strip + me < count:
            i = tiles.bodies[low + strip + me]
            for k in range(held.start[i], held.start[i + 1]):
                own += 1 if belongs(tiling, bodies, free, held, k) else 0
        rank, more = block_rank(own, ranks)
        if i >= 0:
            at = s + rank
            for k in range(held.start[i], held.start[i + 1]):
                if belongs(tiling, bodies, free, held, k):
                    tiles.left[at] = k
                    at += 1
        s += more
    cuda.syncthreads()
    for e in range(me, contacts, ARRANGERS):
        k = tiles.left[base + e]
        for side in range(2):
            row = held.first[k] if side == 0 else second_row(problem, held, k)
            slot = enter(table, row)
            if slot >= 0:
                place = cuda.atomic.add(size, 0, 1)
                places[slot] = place
                if place < most:
                    tiles.members[t, place] = row
                    used[place] = tiles.used[row] if row < n else 0
    cuda.syncthreads()
    if me == 0:
        tiles.number[t] = size[0] if size[0] <= most else 0
        if size[0] > most:
            cuda.atomic.max(search.numbers, NEED_BODIES, size[0])
    cuda.syncthreads()


@device
def paint(search, tiles, held, problem, t, room):
    """Colour the contacts of a tile, greedily in their order, and store them by colours.

    A few contacts at a time, whose bodies all threads have looked up, are coloured by one thread.
    """
    table, places, used, fill = room
    pair = cuda.shared.array((ARRANGERS, 2), I4)
    shade = cuda.shared.array(ARRANGERS, I4)
    me, one, n = cuda.threadIdx.x, np.uint64(1), tiles.tile.shape[0]
    base, contacts = tiles.start[t], tiles.start[t + 1] - tiles.start[t]
    for c in range(me, STARTS, ARRANGERS):
        fill[c] = 0
    for strip in range(0, contacts, ARRANGERS):
        e = strip + me
        if e < contacts:
            k = tiles.left[base + e]
            j = held.second[k]
            pair[me, 0] = place_of(table, places, held.first[k])
            pair[me, 1] = place_of(table, places, j) if j < n else -1
        cuda.syncthreads()
        if me == 0:
            for f in range(min(ARRANGERS, contacts - strip)):
                i, j = pair[f, 0], pair[f, 1]
                taken = used[i] if j < 0 else used[i] | used[j]
                c = cuda.ffs(~taken) - 1  # the first colour that neither body has
                if c < 0 or c >= COLOURS:
                    cuda.atomic.max(search.numbers, NEED_COLOURS, 1)
                    c = 0
                used[i] |= one << np.uint64(c)
                if j >= 0:
                    used[j] |= one << np.uint64(c)
                shade[f] = c
                fill[c] += 1
        cuda.syncthreads()
        if e < contacts:
            problem.first[base + e] = shade[me]
        cuda.syncthreads()
    if me == 0:
        place, last = base, 0
        for c in range(STARTS):
            many = fill[c]
            fill[c] = place
            tiles.colour[t, c] = place
            place += many
            if many > 0:
                last = c + 1
        tiles.shades[t] = last
        cuda.atomic.max(search.numbers, SHADES, last)
    cuda.syncthreads()
    for e in range(me, tiles.number[t], ARRANGERS):
        row = tiles.members[t, e]
        if row < n:
            tiles.used[row] = used[e]
    for strip in range(0, contacts, ARRANGERS):
        e = strip + me
        if e < contacts:
            shade[me] = problem.first[base + e]
        cuda.syncthreads()
        if me == 0:
            for f in range(min(ARRANGERS, contacts - strip)):
                c = shade[f]
                shade[f] = fill[c]
                fill[c] += 1
        cuda.syncthreads()
        if e < contacts:
            k, s = tiles.left[base + e], shade[me]
            tiles.stored[s] = k
            problem.inner_first[s] = place_of(table, places, held.first[k])
            problem.inner_second[s] = place_of(table, places, second_row(problem, held, k))
        cuda.syncthreads()
