"""Contacts stored tile by tile, and the copies that tiles have of shared bodies; see `point.tiles`.

All of it is a function of the contacts and of where bodies are, whatever the number of threads:
loops are spread over blocks of fixed size or over tiles, and what they count is added up in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.contact_rows import ContactRows
from hardgrain.kernels import jit, pjit, prange, scalar
from hardgrain.point.given import Given, Motion
from hardgrain.point.tiles import Tiling, make_tiles
from hardgrain.processes import ALONE

__all__ = ["Plan", "plan_tiles", "planned", "too_light", "weighings", "with_copies"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Flags = NDArray[np.bool_]

# [contacts] Sorted at a time. Smaller ones take more room for their counts, larger ones are too few
# for all threads.
BLOCK = 8192

_tiles = make_tiles(scalar)
home, colours_of = _tiles.home, _tiles.colours


class Plan(NamedTuple):
    """Which contacts belong to which tile, and what tiles share."""

    stored: Ints  # (m,) contacts, tile by tile, then those of no tile
    starts: Ints  # (tiles + 2,) where those of each tile begin
    colours: int
    tiles: int  # of each colour; those of the first colour come first
    around: Ints  # (colours × tiles, k) tiles that may share a body with a tile, and itself
    bodies: int  # number of bodies; their copies follow them
    copy_start: Ints  # (colours × tiles + 1,) where the copies of each tile begin
    body: Ints  # (copies,) which body each is a copy of
    weight: Ints  # (copies,) copies of this body in this colour; 0: it cannot be moved
    leader: Ints  # (copies,) the first copy of the same body in this colour
    heavy: Ints  # (h,) stored rows with a copy of a body that can be moved
    strict: bool  # whether a colour must be done before the next begins


@pjit
def sort_into_tiles(tiling, position, shared, alone, first, second):
    """Contacts in the order of their tiles, and where these begin; those of none come last.

    alone: (nb,) bodies whose contacts are in no tile.
    """
    colours, tiles = colours_of(tiling)
    m, tiles = first.size, colours * tiles
    blocks = (m + BLOCK - 1) // BLOCK
    tile, count = np.empty(m, np.int32), np.zeros((blocks, tiles + 1), np.int32)
    for b in prange(blocks):
        for k in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
            tile[k] = tiles
            if not (alone[first[k]] or alone[second[k]]):
                t = home(tiling, position, shared, first[k], second[k])
                tile[k] = t if t >= 0 else tiles
            count[b, tile[k]] += 1
    starts, total = np.empty(tiles + 2, np.int32), 0
    for t in range(tiles + 1):
        starts[t] = total
        for b in range(blocks):
            here = count[b, t]
            count[b, t] = total
            total += here
    starts[tiles + 1] = m
    stored = np.empty(m, np.int32)
    for b in prange(blocks):
        for k in range(b * BLOCK, min(m, (b + 1) * BLOCK)):
            stored[count[b, tile[k]]] = k
            count[b, tile[k]] += 1
    return stored, starts


@scalar
def shared_of(shared, i, j):
    """Which of the bodies of a contact in a tile is shared; −1: none."""
    if shared[j]:
        return np.int64(j)
    return np.int64(i) if shared[i] else np.int64(-1)


@pjit
def find_copies(stored, starts, shared, first, second):
    """The shared bodies that each tile touches, listed from its first row on, and their number."""
    tiles = starts.size - 2
    who, number = np.empty(stored.size, np.int32), np.zeros(tiles, np.int32)
    for t in prange(tiles):
        low, found = starts[t], 0
        for s in range(low, starts[t + 1]):
            body = shared_of(shared, first[stored[s]], second[stored[s]])
            if body < 0:
                continue
            at = 0
            while at < found and who[low + at] != body:
                at += 1
            if at == found:
                who[low + at] = body
                found += 1
        number[t] = found
    return who, number


@scalar
def point_in_tile(plan, shared, rows, who, new_first, new_second, t):
    """Write the bodies of a tile's contacts, with its copies in place of shared ones."""
    low, base = plan.starts[t], plan.copy_start[t]
    if low == plan.starts[t + 1]:  # none, or none that this process sweeps
        return
    for at in range(plan.copy_start[t + 1] - base):
        plan.body[base + at] = who[low + at]
    for s in range(low, plan.starts[t + 1]):
        k = plan.stored[s]
        new_first[k], new_second[k] = rows.first[k], rows.second[k]
        body = shared_of(shared, rows.first[k], rows.second[k])
        if body >= 0:
            copy = plan.bodies + base
            while plan.body[copy - plan.bodies] != body:
                copy += 1
            if body == rows.second[k]:
                new_second[k] = copy
            else:
                new_first[k] = copy


@pjit
def point_to_copies(plan, shared, rows, who):
    """Bodies of all contacts, with copies in place of shared ones; fills ``plan.body`` too."""
    new_first, new_second = np.empty_like(rows.first), np.empty_like(rows.second)
    for t in prange(plan.starts.size - 2):
        point_in_tile(plan, shared, rows, who, new_first, new_second, t)
    for s in range(plan.starts[plan.starts.size - 2], plan.stored.size):
        k = plan.stored[s]
        new_first[k], new_second[k] = rows.first[k], rows.second[k]
    return new_first, new_second


@scalar
def movable(inverse, i):
    """Whether anything can push a body along an axis, or turn it."""
    some = False
    for a in range(inverse.shape[1]):
        some |= inverse[i, a] > 0.0
    return some


@jit
def weigh_copies(plan, inv_mass, inv_inertia):
    """Fill weights and leaders of copies; return whether any body with a copy can be moved."""
    number, first = np.zeros(plan.bodies, np.int32), np.zeros(plan.bodies, np.int32)
    some = False
    for colour in range(plan.colours):
        low = plan.copy_start[colour * plan.tiles]
        high = plan.copy_start[(colour + 1) * plan.tiles]
        for c in range(low, high):
            body = plan.body[c]
            if number[body] == 0:
                first[body] = c
            number[body] += 1
            plan.leader[c] = first[body]
        for c in range(low, high):
            body = plan.body[c]
            if movable(inv_mass, body) or movable(inv_inertia, body):
                plan.weight[c] = number[body]
                some = True
        for c in range(low, high):
            number[plan.body[c]] = 0
    return some


@jit
def heavy_rows(plan, first, second):
    """Stored rows with a copy of a body that can be moved."""
    found = np.empty(plan.stored.size, np.int32)
    h = 0
    for s in range(plan.starts[plan.starts.size - 2]):
        k = plan.stored[s]
        copy = max(first[k], second[k]) - plan.bodies
        if copy >= 0 and plan.weight[copy] > 0:
            found[h] = s
            h += 1
    return found[:h].copy()


@scalar
def mobility(motion, arm, i, k):
    """Bound on 1/m of a body, and r²/I at the end of its arm of contact k."""
    push, turn, square = 0.0, 0.0, 0.0
    for a in range(motion.inv_mass.shape[1]):
        push, square = max(push, motion.inv_mass[i, a]), square + arm[k, a] ** 2
    for a in range(motion.inv_inertia.shape[1]):
        turn = max(turn, motion.inv_inertia[i, a])
    return push, turn * square


@jit
def weighings(plan, shared, rows, motion):
    """Of each contact of a movable shared body: that body, how easily it and the other move."""
    h = plan.heavy.size
    body, own, other = np.empty(h, np.int32), np.empty(h), np.empty(h)
    for at in range(h):
        k = plan.stored[plan.heavy[at]]
        i, j = rows.first[k], rows.second[k]
        w_i, w_j = mobility(motion, rows.arm_first, i, k), mobility(motion, rows.arm_second, j, k)
        body[at] = shared_of(shared, i, j)
        own[at], other[at] = w_j[0] + w_j[1], w_i[0]
        if body[at] == i:
            own[at], other[at] = w_i[0] + w_i[1], w_j[0]
    return body, own, other


@jit
def too_light(plan, body, own, other, alone):
    """Mark bodies whose copies would be lighter than what they touch; return if there are any.

    A contact passes on as much momentum in an update as the lighter of its bodies takes. If this is
    a copy, and not the grain, the body's contacts agree on their shares more slowly than if they
    were visited one after the other: as many times as it has copies, in the end. body, own, other:
    see `weighings`.
    """
    all_own, all_others = np.zeros(plan.bodies), np.zeros(plan.bodies)
    for at in range(body.size):
        all_own[body[at]] += own[at]
        all_others[body[at]] += other[at]
    some = False
    for c in range(plan.body.size):
        one = plan.body[c]
        if plan.weight[c] > 1 and plan.weight[c] * all_own[one] > all_others[one]:
            alone[one] = some = True
    return some


def neighbours(tiling: Tiling) -> Ints:
    """Each tile, and those next to it along axes and diagonals, shape (tiles, k)."""
    axes = [a for a in range(tiling.count.size) if tiling.count[a] > 1]
    if not axes:
        return np.zeros((1, 1), np.int32)
    count = tiling.count[axes]
    half = count // 2
    cells = np.indices(tuple(count)).reshape(len(axes), -1)
    bits, strides = 2 ** np.arange(len(axes)), np.cumprod(np.append(1, half))[:-1]

    def number(cell: NDArray[np.int64]) -> NDArray[np.int64]:
        wrapped = cell % count[:, None]
        of_colour: NDArray[np.int64] = strides @ (wrapped // 2)
        return (bits @ (wrapped % 2)) * int(half.prod()) + of_colour

    steps = list(np.ndindex(*(3,) * len(axes)))
    around = np.empty((cells.shape[1], len(steps)), np.int32)
    own = number(cells)
    for k, step in enumerate(steps):
        around[own, k] = number(cells + (np.array(step) - 1)[:, None])
    return around


def plan_tiles(
    given: Given, tiling: Tiling, position: NDArray[np.float64], shared: NDArray[np.bool_]
) -> tuple[Plan, Ints, Ints]:
    """Where contacts are stored, and the bodies of contacts with copies of shared ones.

    shared: (nb,) which bodies lie in no tile, see `hardgrain.point.tiles.shared_bodies`.
    """
    alone = np.zeros(len(position), np.bool_)
    found = planned(given, tiling, position, shared, alone)
    plan = found[0]
    if plan.heavy.size:
        body, own, other = weighings(plan, shared, given.rows, given.motion)
        if too_light(plan, body, own, other, alone):
            found = planned(given, tiling, position, shared, alone)
    return found


def planned(
    given: Given,
    tiling: Tiling,
    position: Floats,
    shared: Flags,
    alone: Flags,
    others: Any = ALONE,
) -> tuple[Plan, Ints, Ints]:
    """The plan in which contacts of the bodies ``alone`` (nb,) are in no tile.

    It has the copies of all tiles, and the contacts of those that this process sweeps; ``others``:
    those that sweep the rest, all of which hold every shared body.
    """
    rows, motion = given.rows, given.motion
    stored, starts = sort_into_tiles(tiling, position, shared, alone, rows.first, rows.second)
    who, number = find_copies(stored, starts, shared, rows.first, rows.second)
    number = others.total(number)
    tiles, colours = number.size, 2 ** int(np.count_nonzero(tiling.count > 1))
    copy_start = np.zeros(tiles + 1, np.int32)
    np.cumsum(number, out=copy_start[1:])
    body, weight, leader = (np.zeros(int(copy_start[-1]), np.int32) for _ in range(3))
    plan = Plan(
        stored, starts, colours, tiles // colours, neighbours(tiling), len(position), copy_start,
        body, weight, leader, np.zeros(0, np.int32), bool(starts[-1] > starts[-2]),
    )  # fmt: skip
    if not body.size:
        return plan, rows.first, rows.second
    first, second = point_to_copies(plan, shared, rows, who)
    if others.size > 1:  # which of the shared bodies it is, is the same number for all
        whose, place = np.repeat(np.diff(starts[:-1]) > 0, number), np.cumsum(shared) - 1
        body[:] = np.flatnonzero(shared)[others.total(np.where(whose, place[body], 0))]
    if weigh_copies(plan, motion.inv_mass, motion.inv_inertia):
        plan = plan._replace(heavy=heavy_rows(plan, first, second), strict=True)
    return plan, first, second


@pjit
def extended(values, plan, scaled):
    """Rows of all bodies and their copies; those of inverse masses are scaled by the weight."""
    bodies, columns = values.shape
    out = np.empty((bodies + plan.body.size, columns))
    for i in prange(out.shape[0]):
        if i < bodies:
            for a in range(columns):
                out[i, a] = values[i, a]
        else:
            factor = float(plan.weight[i - bodies]) if scaled else 1.0
            for a in range(columns):
                out[i, a] = factor * values[plan.body[i - bodies], a]
    return out


def with_copies(given: Given, plan: Plan, first: Ints, second: Ints) -> Given:
    """The problem in which each tile has its own copies of shared bodies."""
    if not plan.body.size:
        return given
    m = given.motion
    motion = Motion(
        *(extended(v, plan, False) for v in m[:4]), *(extended(v, plan, True) for v in m[4:])
    )
    rows = ContactRows(first, second, *given.rows[2:])
    return given._replace(rows=rows, motion=motion)
