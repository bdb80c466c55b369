"""Candidates of a step, found on the device by the rules of `hardgrain.contact.search`.

`reaches` finds how far every body may come within the step, and whether the pair list still holds
all it may meet; `rows` writes the pairs within reach as contacts, in the order of the list, with
the impulses that the same contacts had before. `closes` asks, once impulses are known, whether they
close a pair that was no candidate.
"""

from __future__ import annotations

import math

from hardgrain.core.wall_kinds import Walls
from hardgrain.cuda.api import F8, I4, cuda, device, kernel
from hardgrain.cuda.arrays import (
    CONTACTS,
    COUNTED,
    FASTER,
    LACKS,
    MORE,
    NEED_CONTACTS,
    PAIRS,
    STALE,
)
from hardgrain.cuda.grid import CHUNKS, THREADS, after, block_max, block_rank, bounds
from hardgrain.point.given import RoundBodies, Sites
from hardgrain.point.inertia import make_inertia
from hardgrain.point.pair import make_pair
from hardgrain.point.reach import NEAR, make_reach
from hardgrain.point.row import make_row
from hardgrain.point.wall_motion import make_wall_motion

__all__ = ["closes", "halted", "reaches", "rows"]

pair_gap = make_pair(device).pair_gap
_row, _walls = make_row(device), make_wall_motion(device)
round_sizes, round_arms = _row.round_sizes, _row.round_arms
turned, stays = _walls.turned, _walls.stays
_reach = make_reach(device)
speed_of, travel, is_safe = _reach.speed_of, _reach.travel, _reach.is_safe
times = make_inertia(device).times


@device
def halted(search):
    """Whether something is lacking that the host must see to before the step can be made."""
    lacks = False
    for c in range(LACKS):
        lacks = lacks or search.numbers[c] != 0
    return lacks


@device
def sites_of(bodies, search):
    """Where grains and walls are."""
    walls = Walls(
        bodies.wall_kind, search.wall_point, search.wall_turned, bodies.wall_size, search.wall_side
    )
    return Sites(bodies.position, bodies.radius, bodies.periodic, walls)


@device
def corners(bodies, search, room):
    """Write the box of the grains of each chunk."""
    n, dim = bodies.radius.shape[0], bodies.position.shape[1]
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, n)
        for a in range(dim):
            least, most = -math.inf, -math.inf
            for i in range(low + cuda.threadIdx.x, high, THREADS):
                x = bodies.position[i, a]
                least, most = max(least, -x), max(most, x)
            least, most = block_max(least, room), block_max(most, room)
            if cuda.threadIdx.x == 0:
                search.corner[chunk, a] = -least
                search.corner[chunk, dim + a] = most


@device
def extent(search, a, dim):
    """Least and largest coordinate of the grains along an axis, and the middle of these."""
    least, most = math.inf, -math.inf
    for c in range(CHUNKS):
        least, most = min(least, search.corner[c, a]), max(most, search.corner[c, dim + a])
    return least, most, 0.5 * (least + most)


@device
def place_wall(bodies, pairs, search, w, dt):
    """Write where a wall is, and how fast turning sweeps it through the grains."""
    n, dim = bodies.radius.shape[0], bodies.position.shape[1]
    body, spin = n + w, search.free_spin
    for a in range(dim):
        at = turned(bodies.orientation, body, bodies.wall_offset, w, a)
        search.wall_point[w, a] = at + bodies.position[body, a]
        search.wall_turned[w, a] = turned(bodies.orientation, body, bodies.wall_axis, w, a)
        search.wall_side[w, a] = turned(bodies.orientation, body, bodies.wall_side, w, a)
    rate = 0.0
    for a in range(spin.shape[1]):
        rate += spin[body, a] ** 2
    rate = math.sqrt(rate)
    if rate > 0.0 and n > 0:
        if stays(bodies.wall_kind, bodies.wall_offset, search.wall_turned, spin, body, w):
            rate = 0.0
        else:
            spread, away = 0.0, 0.0
            for a in range(dim):
                least, most, middle = extent(search, a, dim)
                spread += (most - least) ** 2
                away += (bodies.position[body, a] - middle) ** 2
            rate *= math.sqrt(away) + math.sqrt(spread)
    search.turning[w] = rate
    pairs.turned[w] += dt * rate


@device
def spread_speed(bodies, pairs, search, sites, reach, source):
    """Let every grain know the largest speed among those within reach."""
    n = bodies.radius.shape[0]
    for p in range(cuda.grid(1), search.numbers[PAIRS], cuda.gridsize(1)):
        i, j = pairs.first[p], pairs.second[p]
        limit = reach[i] + reach[j]
        if pair_gap(sites, i, j, limit)[0] < limit:
            cuda.atomic.max(search.around, i, source[j])
            if j < n:
                cuda.atomic.max(search.around, j, source[i])


@kernel
def reaches(bodies, pairs, search, dt):
    """Free motion of all bodies, where walls are, and how far each body may come in the step."""
    grid, room = cuda.cg.this_grid(), cuda.shared.array(THREADS, F8)
    me, all_threads = cuda.grid(1), cuda.gridsize(1)
    nb, n = bodies.position.shape[0], bodies.radius.shape[0]
    for c in range(me, COUNTED, all_threads):
        search.numbers[c] = 0
    for i in range(me, nb, all_threads):
        for a in range(bodies.velocity.shape[1]):
            kick = dt * times(bodies.inv_mass, i, bodies.force, a)
            search.free_velocity[i, a] = bodies.velocity[i, a] + kick
        for a in range(bodies.spin.shape[1]):
            kick = dt * times(bodies.inv_inertia, i, bodies.torque, a)
            search.free_spin[i, a] = bodies.spin[i, a] + kick
    corners(bodies, search, room)
    grid.sync()
    for w in range(me, nb - n, all_threads):
        place_wall(bodies, pairs, search, w, dt)
    grid.sync()
    for i in range(me, nb, all_threads):
        speed = speed_of(search.free_velocity, search.turning, i)
        search.speed[i] = search.around[i] = speed
        search.near[i] = dt * speed + (NEAR * bodies.radius[i] if i < n else 0.0)
        search.reach[i] = search.near[i]
        if not is_safe(bodies.position, pairs, search.near[i], i):
            search.numbers[STALE] = 1
    grid.sync()
    if search.numbers[STALE] == 0:
        sites = sites_of(bodies, search)
        spread_speed(bodies, pairs, search, sites, search.near, search.speed)
        grid.sync()
        for i in range(me, nb, all_threads):
            far = travel(search.speed, search.around, bodies.radius, dt, i)
            far += bodies.margin[i] if i < n else 0.0
            search.reach[i] = far
            if not is_safe(bodies.position, pairs, max(far, search.near[i]), i):
                search.numbers[STALE] = 1


@device
def kept(pairs, sites, reach, p):
    """Gap and normal of a listed pair, and whether it is within reach."""
    i, j = pairs.first[p], pairs.second[p]
    limit = reach[i] + reach[j]
    gap, x, y, z = pair_gap(sites, i, j, limit)
    return gap < limit, gap, x, y, z


@device
def write_row(held, bodies, round_bodies, k, i, j, gap, normal):
    """Write the row of contact k, without its impulse."""
    held.first[k], held.second[k], held.gap[k] = i, j, gap
    held.width[k], held.roll[k], held.law[k] = round_sizes(round_bodies, i, j)
    for a in range(bodies.position.shape[1]):
        held.normal[k, a] = normal[a]
        held.arm_first[k, a], held.arm_second[k, a] = round_arms(round_bodies, i, j, normal[a], a)


@device
def carry(held, old, k):
    """Give contact k the impulse that it had, or none."""
    i, j = held.first[k], held.second[k]
    found = -1
    for o in range(old.start[i], old.start[i + 1]):
        if old.second[o] == j:
            found = o
    for a in range(held.impulse.shape[1]):
        held.impulse[k, a] = old.impulse[found, a] if found >= 0 else 0.0
    for a in range(held.torque.shape[1]):
        held.torque[k, a] = old.torque[found, a] if found >= 0 else 0.0


@kernel
def rows(bodies, pairs, search, held, old, materials, afresh, most):
    """Write all pairs within reach as contacts, with the impulses that they had.

    most: how many contacts there is room for further on.
    """
    grid, room = cuda.cg.this_grid(), cuda.shared.array(THREADS, I4)
    listed, sites = search.numbers[PAIRS], sites_of(bodies, search)
    me, all_threads = cuda.grid(1), cuda.gridsize(1)
    stop = halted(search)
    if not stop:
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, listed)
            count = 0
            for p in range(low + cuda.threadIdx.x, high, THREADS):
                count += 1 if kept(pairs, sites, search.reach, p)[0] else 0
            total = block_rank(count, room)[1]
            if cuda.threadIdx.x == 0:
                search.counts[chunk] = total
    grid.sync()
    total = after(search.counts, CHUNKS, room)
    fits = not stop and total <= min(held.first.shape[0], most)
    if fits:
        around = RoundBodies(
            bodies.position, bodies.radius, bodies.periodic, bodies.material, materials
        )
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, listed)
            k = after(search.counts, chunk, room)
            for strip in range(low, high, THREADS):
                p = strip + cuda.threadIdx.x
                keep, gap, x, y, z = False, 0.0, 0.0, 0.0, 0.0
                if p < high:
                    keep, gap, x, y, z = kept(pairs, sites, search.reach, p)
                rank, more = block_rank(1 if keep else 0, room)
                if keep:
                    i, j = pairs.first[p], pairs.second[p]
                    write_row(held, bodies, around, k + rank, i, j, gap, (x, y, z))
                k += more
    grid.sync()
    if fits:
        last = bodies.position.shape[0]
        for k in range(me, total + 1, all_threads):
            before = held.first[k - 1] if k > 0 else -1
            here = held.first[k] if k < total else last
            for i in range(before + 1, here + 1):
                held.start[i] = k
        for k in range(me, total, all_threads):
            if afresh:
                for a in range(held.impulse.shape[1]):
                    held.impulse[k, a] = 0.0
                for a in range(held.torque.shape[1]):
                    held.torque[k, a] = 0.0
            else:
                carry(held, old, k)
    if me == 0 and not stop:
        search.numbers[CONTACTS] = total if fits else 0
        search.numbers[NEED_CONTACTS] = 0 if fits else total


@device
def known(held, i, j):
    """Whether two bodies are a contact already."""
    found = False
    for k in range(held.start[i], held.start[i + 1]):
        found = found or held.second[k] == j
    return found


@kernel
def closes(bodies, pairs, search, held, velocity, spread, dt):
    """Find whether these velocities close a pair that is no contact yet.

    The reach of every body then is what it needs for that; ``spread``: see
    `contact.detect.Detector.overlooked`.
    """
    grid = cuda.cg.this_grid()
    me, all_threads = cuda.grid(1), cuda.gridsize(1)
    nb, n, dim = bodies.position.shape[0], bodies.radius.shape[0], bodies.position.shape[1]
    if halted(search):
        return
    grid.sync()
    if me == 0:
        search.numbers[FASTER], search.numbers[MORE] = 0, 0
    grid.sync()
    for i in range(me, nb, all_threads):
        search.speed[i] = speed_of(velocity, search.turning, i)
        search.near[i] = search.speed[i]
        far = dt * search.speed[i] + (bodies.margin[i] if i < n else 0.0)
        if not far <= search.reach[i]:
            search.numbers[FASTER] = 1
            search.reach[i] = far
        if not is_safe(bodies.position, pairs, search.reach[i], i):
            search.numbers[STALE] = 1
    grid.sync()
    sites = sites_of(bodies, search)
    for _ in range(spread):
        if search.numbers[FASTER] == 1 and search.numbers[STALE] == 0:
            for i in range(me, nb, all_threads):
                search.around[i] = search.near[i]
            grid.sync()
            spread_speed(bodies, pairs, search, sites, search.reach, search.near)
            grid.sync()
            for i in range(me, nb, all_threads):
                search.near[i] = search.around[i]
                far = travel(search.speed, search.around, bodies.radius, dt, i)
                search.reach[i] = max(search.reach[i], far)
                if not is_safe(bodies.position, pairs, search.reach[i], i):
                    search.numbers[STALE] = 1
        grid.sync()
    if search.numbers[FASTER] == 1 and search.numbers[STALE] == 0:
        for p in range(me, search.numbers[PAIRS], all_threads):
            keep, gap, x, y, z = kept(pairs, sites, search.reach, p)
            i, j = pairs.first[p], pairs.second[p]
            if keep and not known(held, i, j):
                approach = x * (velocity[j, 0] - velocity[i, 0])
                approach += y * (velocity[j, 1] - velocity[i, 1])
                if dim == 3:
                    approach += z * (velocity[j, 2] - velocity[i, 2])
                sweeps_by = j >= n and search.turning[j - n] > 0.0
                if sweeps_by or gap + dt * approach < 0.0:
                    search.numbers[MORE] = 1
