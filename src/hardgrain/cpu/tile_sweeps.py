"""Sweeps over tiles on all threads (`point.tiles`), and their residual.

All sweeps between two looks at the residual are one stretch of work for the threads. What is to be
done, tile after tile, stands in a list that is the same for any number of threads: sweep by sweep,
colour by colour in the order drawn for the sweep. Each thread claims the next tile in the list and
waits until its neighbours are as far as this tile needs them: those of colours before its own must
have been visited in this sweep, the others, and itself, in the last one. Tiles are claimed in the
order of the list, so the first one that is not done never waits: however few threads there are, and
however often they are interrupted, the work goes on. No thread waits for all others.

Where a movable body is shared, or contacts belong to no tile, all tiles of a colour end with a
*closing* that has its own place in the list: it waits for all of them, and the next colour for it.

Where several processes share the contacts (`cpu.tiled_apart`), Python asks for one stage at a time
and exchanges velocities between them: some tiles of a colour, the copies joined, what is in no
tile. It is the same kernel, and the same code within, since another one might round otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.cpu.atomic import claim, rest, tell, told
from hardgrain.cpu.exact import DIGITS, add
from hardgrain.cpu.kinds import present, relax_contact
from hardgrain.cpu.ledger_blocks import added
from hardgrain.cpu.order import below, random_bits, sweep_key
from hardgrain.cpu.sweep import (
    AHEAD,
    LINE,
    body_speed,
    change,
    of_contact,
    point_speed,
    prefetch,
    verdict,
)
from hardgrain.cpu.tile_packing import join, take
from hardgrain.kernels import jit, pjit, prange, scalar
from hardgrain.point.stopping import GLOBAL

BLOCK = 4096  # contacts or bodies that a thread looks at, at a time

# What is told among threads: the next in the list, tiles done, colours closed.
NEXT, DONE, CLOSED = 0, 8, 16  # each on a cache line of its own


# Which part of the list is asked for: all of it, or a single stage.
ALL, TILES, JOIN, REST = range(4)


class Orders(NamedTuple):
    """What is visited when in a stretch of sweeps."""

    seed: int
    step: int
    first: int  # sweeps before
    colours: np.ndarray  # (sweeps, colours) in which order they come
    rank: np.ndarray  # (sweeps, colours) when each comes
    contacts: np.ndarray  # (m,) those of each tile in the order of their last visit
    stage: int = ALL
    some: np.ndarray = np.zeros(0, np.int32)  # tiles of a stage; or which colour of the sweep ends


@jit
def colour_orders(visits, first, sweeps, colours):
    """In which order colours come in each sweep, and when each does; each (sweeps, colours)."""
    order, rank = np.empty((sweeps, colours), np.int64), np.empty((sweeps, colours), np.int64)
    for s in range(sweeps):
        key = sweep_key(visits.seed, visits.step, first + s)
        for c in range(colours):
            order[s, c] = c
        for c in range(colours - 1, 0, -1):
            other = below(c + 1, key, c)
            order[s, c], order[s, other] = order[s, other], order[s, c]
        for c in range(colours):
            rank[s, order[s, c]] = c
    return order, rank


@scalar
def visit(p, low, high, contacts, key):
    """Relax the contacts of a tile, each once, in an order drawn anew (Fisher–Yates)."""
    for k in range(high - 1, low, -1):
        prefetch(p.c, k, 0)
        prefetch(p.c, k, LINE)
        j = low + below(k - low + 1, key, k - low)
        contacts[k], contacts[j] = contacts[j], contacts[k]
    for s in range(low, high):
        if s + AHEAD < high:
            later = contacts[s + AHEAD]
            prefetch(p.b, p.first[later], 0)
            prefetch(p.b, p.second[later], 0)
        relax_contact(p, contacts[s])


@scalar
def await_count(control, at, number):
    """Wait until a number has been told that is as large."""
    spins = 0
    while told(control, at) < number:
        rest(spins)
        spins += 1


@scalar
def await_neighbours(plan, orders, visited, t, sweep):
    """Wait until a tile and those around it have been visited as often as the order says."""
    rank = orders.rank[sweep, t // plan.tiles]
    for k in range(plan.around.shape[1]):
        other = plan.around[t, k]
        earlier = orders.rank[sweep, other // plan.tiles] < rank
        await_count(visited, other, sweep + 1 if earlier else sweep)


@scalar
def close(p, plan, orders, sums, control, item):
    """End a colour: join copies, and after the last one of a sweep relax what is in no tile."""
    sweep, at = item // plan.colours, item % plan.colours
    if orders.stage == ALL:
        await_count(control, DONE, (item + 1) * plan.tiles)
    if orders.stage != REST:
        join(p, plan, orders.colours[sweep, at], sums)
    if orders.stage != JOIN and at == plan.colours - 1:
        low, high = plan.starts[plan.starts.size - 2], plan.stored.size
        key = sweep_key(orders.seed, orders.step, orders.first + sweep)
        visit(p, low, high, orders.contacts, random_bits(key, plan.starts.size))
    tell(control, CLOSED, item + 1)


@scalar
def work(p, plan, orders, sums, control, visited):
    """What each thread does: claim what comes next in the list, until nothing is left."""
    closing = 1 if plan.strict else 0
    of_colour, whole = plan.tiles + closing, orders.stage == ALL
    total = orders.colours.shape[0] * plan.colours * of_colour
    if not whole:
        total = orders.some.size
    while True:
        claimed = claim(control, NEXT, 1)
        if claimed >= total:
            break
        item, at = claimed // of_colour, claimed % of_colour
        if not whole:
            item, at = 0, 0
            if orders.stage != TILES:
                item, at = orders.some[claimed], plan.tiles
        if at == plan.tiles:
            close(p, plan, orders, sums, control, item)
            continue
        sweep = item // plan.colours
        t = orders.colours[sweep, item % plan.colours] * plan.tiles + at
        if not whole:
            t = np.int64(orders.some[claimed])
        if closing:
            if whole:
                await_count(control, CLOSED, item)
            take(p, plan, t)
        elif whole:
            await_neighbours(plan, orders, visited, t, sweep)
        key = sweep_key(orders.seed, orders.step, orders.first + sweep)
        visit(p, plan.starts[t], plan.starts[t + 1], orders.contacts, random_bits(key, t + 1000))
        if closing:
            claim(control, DONE, 1)
        elif whole:
            tell(visited, t, sweep + 1)


@pjit
def sweep_tiles(p, plan, orders, sums, threads):
    """A stretch of sweeps on all threads."""
    of_all = plan.starts.size if orders.stage == ALL else 0
    control, visited = np.zeros(24, np.int64), np.zeros(of_all, np.int64)
    for _ in prange(threads):
        work(p, plan, orders, sums, control, visited)


@pjit
def fastest(rows, motion):
    """Largest velocity component of a body, or speed of a contact point by its body's spin."""
    bodies, m = motion.velocity.shape[0], rows.first.size
    of_bodies = (bodies + BLOCK - 1) // BLOCK
    blocks = of_bodies + (m + BLOCK - 1) // BLOCK
    part = np.zeros(blocks)
    for b in prange(blocks):
        most = 0.0
        if b < of_bodies:
            for i in range(b * BLOCK, min(bodies, (b + 1) * BLOCK)):
                most = max(most, body_speed(motion, i))
        else:
            low = (b - of_bodies) * BLOCK
            for k in range(low, min(m, low + BLOCK)):
                most = max(most, point_speed(rows, motion, k))
        part[b] = most
    most = 0.0
    for b in range(blocks):
        most = max(most, part[b])
    return most


@scalar
def residual_part(p, light, unseen, paths, sums, most, low, high):
    """The part of some contacts in the residual: what is the largest (3,), and sums."""
    for s in range(low, high):
        if light.size == 0 or light[s]:
            found = of_contact(p, s, paths[s], unseen)
            for c in range(3):
                if not found[c] <= most[c]:  # lets NaN through
                    most[c] = found[c]
            for c in range(4):
                add(sums, c, found[3 + c])


@pjit
def residual_in_tiles(p, light, counted, unseen, paths, pieces):
    """What the residual of the first ``counted`` contacts is made of: the largest, and sums.

    light: (m,) which of them count, or (0,): all.
    """
    part, most = np.zeros((pieces, 4, DIGITS), np.int64), np.zeros((pieces, 3))
    for b in prange(pieces):
        low, high = counted * b // pieces, counted * (b + 1) // pieces
        residual_part(p, light, unseen, paths, part[b], most[b], low, high)
    largest = np.zeros(3)
    for b in range(pieces):
        for c in range(3):
            if not most[b, c] <= largest[c]:
                largest[c] = most[b, c]
    return largest, added(part)


@jit
def judged(largest, sums, unseen):
    """Residual and residual_rms of all that was found."""
    found = largest[0], largest[1], largest[2], sums[0], sums[1], sums[2], sums[3]
    return verdict(found, unseen)


@scalar
def change_part(p, before, until, sums, low, high):
    """As `cpu.sweep.change_block`, into sums."""
    for k in range(low, high):
        q = present(p, k)
        found = change(q, before[k], until)
        if found[0] > 0.0:
            add(sums, 0, 1.0)
        if until.rule == GLOBAL:  # the local one does not ask for it
            add(sums, 1, found[1])
        for a in range(7):
            before[k, a] = q[a]


@pjit
def change_in_tiles(p, before, counted, until, pieces):
    """Contacts that break the local rule, and the sum of |P|, of the first ``counted`` ones."""
    part = np.zeros((pieces, 2, DIGITS), np.int64)
    for b in prange(pieces):
        low, high = counted * b // pieces, counted * (b + 1) // pieces
        change_part(p, before, until, part[b], low, high)
    return added(part)
