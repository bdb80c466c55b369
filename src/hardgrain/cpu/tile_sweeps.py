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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.cpu.atomic import claim, rest, tell, told
from hardgrain.cpu.kinds import relax_contact
from hardgrain.cpu.order import below, random_bits, sweep_key
from hardgrain.cpu.sweep import (
    AHEAD,
    LINE,
    body_speed,
    combine,
    of_contact,
    point_speed,
    prefetch,
    verdict,
)
from hardgrain.cpu.tile_packing import join, take
from hardgrain.kernels import jit, pjit, prange, scalar
from hardgrain.point.residual import NOTHING

BLOCK = 4096  # contacts or bodies of a partial sum: fixed, so that threads do not show

# What is told among threads: the next in the list, tiles done, colours closed.
NEXT, DONE, CLOSED = 0, 8, 16  # each on a cache line of its own


class Orders(NamedTuple):
    """What is visited when in a stretch of sweeps."""

    seed: int
    step: int
    first: int  # sweeps before
    colours: np.ndarray  # (sweeps, colours) in which order they come
    rank: np.ndarray  # (sweeps, colours) when each comes
    contacts: np.ndarray  # (m,) those of each tile in the order of their last visit


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
    await_count(control, DONE, (item + 1) * plan.tiles)
    join(p, plan, orders.colours[sweep, at], sums)
    if at == plan.colours - 1:
        low, high = plan.starts[plan.starts.size - 2], plan.stored.size
        key = sweep_key(orders.seed, orders.step, orders.first + sweep)
        visit(p, low, high, orders.contacts, random_bits(key, plan.starts.size))
    tell(control, CLOSED, item + 1)


@scalar
def work(p, plan, orders, sums, control, visited):
    """What each thread does: claim what comes next in the list, until nothing is left."""
    closing = 1 if plan.strict else 0
    of_colour = plan.tiles + closing
    total = orders.colours.shape[0] * plan.colours * of_colour
    while True:
        claimed = claim(control, NEXT, 1)
        if claimed >= total:
            break
        item, at = claimed // of_colour, claimed % of_colour
        if at == plan.tiles:
            close(p, plan, orders, sums, control, item)
            continue
        sweep = item // plan.colours
        t = orders.colours[sweep, item % plan.colours] * plan.tiles + at
        if closing:
            await_count(control, CLOSED, item)
            take(p, plan, t)
        else:
            await_neighbours(plan, orders, visited, t, sweep)
        key = sweep_key(orders.seed, orders.step, orders.first + sweep)
        visit(p, plan.starts[t], plan.starts[t + 1], orders.contacts, random_bits(key, t + 1000))
        if closing:
            claim(control, DONE, 1)
        else:
            tell(visited, t, sweep + 1)


@pjit
def sweep_tiles(p, plan, orders, sums, threads):
    """A stretch of sweeps on all threads."""
    control, visited = np.zeros(24, np.int64), np.zeros(plan.starts.size, np.int64)
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


@pjit
def residual_in_tiles(p, true, true_paths, light, unseen, paths):
    """Residual and residual_rms of a packed problem.

    true: the contacts with copies of movable bodies once more, with the masses that these have, and
    their paths; light: (m,) whether a stored row is not one of them.
    """
    m, h = p.first.size, true.first.size
    of_rows = (m + BLOCK - 1) // BLOCK
    blocks = of_rows + (h + BLOCK - 1) // BLOCK
    part = np.zeros((blocks, 7))
    for b in prange(blocks):
        found = NOTHING
        if b < of_rows:
            for s in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
                if light.size == 0 or light[s]:
                    found = combine(found, of_contact(p, s, paths[s], unseen))
        else:
            low = (b - of_rows) * BLOCK
            for s in range(low, min(h, low + BLOCK)):
                found = combine(found, of_contact(true, s, true_paths[s], unseen))
        for c in range(7):
            part[b, c] = found[c]
    found = NOTHING
    for b in range(blocks):
        found = combine(found, (
            part[b, 0], part[b, 1], part[b, 2], part[b, 3], part[b, 4], part[b, 5], part[b, 6],
        ))  # fmt: skip
    return verdict(found, unseen)
