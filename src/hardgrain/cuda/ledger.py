"""What is told of a step, and the move to the next one, on the device; see `step.account`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hardgrain.cuda.api import F8, cuda, device, kernel
from hardgrain.cuda.arrays import CONTACTS, MET, MORE, SWEPT
from hardgrain.cuda.grid import CHUNKS, THREADS, block_max, block_sum, bounds
from hardgrain.cuda.records import rows_of
from hardgrain.cuda.search import extent, halted
from hardgrain.point.fit import make_fit
from hardgrain.point.inertia import make_inertia
from hardgrain.point.ledger import Means, make_ledger
from hardgrain.point.turning import make_turning

__all__ = ["TOLD", "After", "account", "midway", "wall_sums"]

_ledger = make_ledger(device)
turning, work, overlap = _ledger.turning, _ledger.work, _ledger.overlap
power, squared_speed = _ledger.power, _ledger.squared_speed
twice_energy = make_inertia(device).twice_energy
is_fit = make_fit(device).is_fit
turn_body = make_turning(device).turn_body

# What a step tells, in this order: sums, then largest values, then what the sweeps said.
(
    DISSIPATED, DRIVEN, TAKEN, OVERLAP, LOADED, KINETIC, WORK, BEARING, ENERGY,
    WORST, DEEPEST, FASTEST, LOADS, GIVEN, LOADS_TURN, GIVEN_TURN, SWEEPING, UNFIT,
    RESIDUAL, RESIDUAL_RMS, SWEEPS_DONE, RULE_MET, CANDIDATES, TOLD,
) = range(24)  # fmt: skip
SUMS, MOSTS = 9, 9  # how many of the columns are sums, and how many largest values


class After(NamedTuple):
    """What a step led to, and room in which it is told."""

    velocity: Any  # (nb, dim)
    spin: Any  # (nb, ns)
    mean: Means
    mass: Any  # (n,)
    pushed: Any  # (nb,) see `step.rest`
    some: Any  # (nb,)
    parts: Any  # (CHUNKS, TOLD)
    told: Any  # (TOLD,)


@kernel
def midway(bodies, search, velocity, spin, mean):
    """Means of what bodies had before a step, or freely, and have after it; ``mean``: `Means`."""
    for i in range(cuda.grid(1), velocity.shape[0], cuda.gridsize(1)):
        for a in range(velocity.shape[1]):
            mean.velocity[i, a] = 0.5 * (bodies.velocity[i, a] + velocity[i, a])
            mean.velocity_kick[i, a] = 0.5 * (search.free_velocity[i, a] + velocity[i, a])
        for a in range(spin.shape[1]):
            mean.spin[i, a] = 0.5 * (bodies.spin[i, a] + spin[i, a])
            mean.spin_kick[i, a] = 0.5 * (search.free_spin[i, a] + spin[i, a])


@device
def contact_sums(rows, after, low, high, chunk, room):
    """What the contacts of a chunk add, and which bodies they load."""
    mean, some, parts = after.mean, after.some, after.parts
    dissipated, driven, taken, total, loaded = 0.0, 0.0, 0.0, 0.0, 0.0
    worst, deepest = 0.0, 0.0
    for k in range(low + cuda.threadIdx.x, high, THREADS):
        found = work(rows, k, mean)
        dissipated += found[0]
        driven += found[1]
        taken += found[2]
        depth, share, p_n = overlap(rows, k)
        worst, deepest = max(worst, depth), max(deepest, share)
        if p_n != 0.0:
            loaded += 1.0
            total += max(depth, 0.0)
        bears = False
        for a in range(rows.impulse.shape[1]):
            bears = bears or rows.impulse[k, a] != 0.0
        if bears:
            some[rows.first[k]] = True
            some[rows.second[k]] = True
    dissipated, driven = block_sum(dissipated, room), block_sum(driven, room)
    taken, total = block_sum(taken, room), block_sum(total, room)
    loaded = block_sum(loaded, room)
    worst, deepest = block_max(worst, room), block_max(deepest, room)
    if cuda.threadIdx.x == 0:
        parts[chunk, DISSIPATED], parts[chunk, DRIVEN], parts[chunk, TAKEN] = (
            dissipated, driven, taken,
        )  # fmt: skip
        parts[chunk, OVERLAP], parts[chunk, LOADED] = total, loaded
        parts[chunk, WORST], parts[chunk, DEEPEST] = worst, deepest


@device
def paces(bodies, search, i):
    """Squares of a body's change of speed by loads and of its prescribed speed; surfaces too."""
    loads, given, loads_turn, given_turn = 0.0, 0.0, 0.0, 0.0
    for a in range(bodies.velocity.shape[1]):
        loads += (search.free_velocity[i, a] - bodies.velocity[i, a]) ** 2
        if bodies.inv_mass[i, a] == 0.0:
            given += bodies.velocity[i, a] ** 2
    if i < bodies.radius.shape[0]:
        r = bodies.radius[i]
        for a in range(bodies.spin.shape[1]):
            loads_turn += (r * (search.free_spin[i, a] - bodies.spin[i, a])) ** 2
            if bodies.inv_inertia[i, a] == 0.0:
                given_turn += (r * bodies.spin[i, a]) ** 2
    return loads, given, loads_turn, given_turn


@device
def sweeping_speed(bodies, search, i):
    """Speed of a turning wall as far from its axis as grains are."""
    n, dim, rate = bodies.radius.shape[0], bodies.position.shape[1], 0.0
    for a in range(bodies.spin.shape[1]):
        rate += bodies.spin[i, a] ** 2
    if rate == 0.0 or n == 0:
        return 0.0
    spread, away = 0.0, 0.0
    for a in range(dim):
        least, most, middle = extent(search, a, dim)
        spread += (most - least) ** 2
        away += (bodies.position[i, a] - middle) ** 2
    return math.sqrt(rate) * (math.sqrt(away) + math.sqrt(spread))


@device
def body_sums(bodies, search, after, low, high, chunk, room):
    """What the bodies of a chunk add."""
    velocity, spin, mean, mass = after.velocity, after.spin, after.mean, after.mass
    some, parts = after.some, after.parts
    n = bodies.radius.shape[0]
    kinetic, done, bearing, energy = 0.0, 0.0, 0.0, 0.0
    fast, loads, given, loads_turn, given_turn, sweeping = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(low + cuda.threadIdx.x, high, THREADS):
        own = twice_energy(velocity, bodies.inv_mass, i) + twice_energy(spin, bodies.inv_inertia, i)
        kinetic += 0.5 * own
        done += power(bodies.force, mean.velocity, bodies.inv_mass, i)
        done += power(bodies.torque, mean.spin, bodies.inv_inertia, i)
        if some[i]:
            energy += own
        found = paces(bodies, search, i)
        loads, given = max(loads, found[0]), max(given, found[1])
        loads_turn, given_turn = max(loads_turn, found[2]), max(given_turn, found[3])
        if i < n:
            fast = max(fast, squared_speed(velocity, i))
            bearing += mass[i] if some[i] else 0.0
        else:
            sweeping = max(sweeping, sweeping_speed(bodies, search, i))
    kinetic, done = block_sum(kinetic, room), block_sum(done, room)
    bearing, energy = block_sum(bearing, room), block_sum(energy, room)
    fast, loads, given = block_max(fast, room), block_max(loads, room), block_max(given, room)
    loads_turn, given_turn = block_max(loads_turn, room), block_max(given_turn, room)
    sweeping = block_max(sweeping, room)
    if cuda.threadIdx.x == 0:
        parts[chunk, KINETIC], parts[chunk, WORK] = kinetic, done
        parts[chunk, BEARING], parts[chunk, ENERGY] = bearing, energy
        parts[chunk, FASTEST], parts[chunk, LOADS], parts[chunk, GIVEN] = fast, loads, given
        parts[chunk, LOADS_TURN], parts[chunk, GIVEN_TURN] = loads_turn, given_turn
        parts[chunk, SWEEPING] = sweeping


@kernel
def wall_sums(search, held, n, parts, force, torque):
    """Impulses and torque impulses on each wall, shapes (w, dim) and (w, ns).

    parts: (CHUNKS, w, dim + ns), what the contacts of each chunk give.
    """
    grid, room = cuda.cg.this_grid(), cuda.shared.array(THREADS, F8)
    rows, m, walls = rows_of(held), search.numbers[CONTACTS], force.shape[0]
    dim, columns = force.shape[1], force.shape[1] + torque.shape[1]
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, m)
        for w in range(walls):
            touched = 0
            for k in range(low + cuda.threadIdx.x, high, THREADS):
                touched = 1 if rows.second[k] == n + w else touched
            if cuda.syncthreads_or(touched):
                for c in range(columns):
                    total = 0.0
                    for k in range(low + cuda.threadIdx.x, high, THREADS):
                        if rows.second[k] == n + w:
                            if c < dim:
                                total += rows.impulse[k, c]
                            else:
                                total += turning(rows.arm_second, rows, k, c - dim)
                    total = block_sum(total, room)
                    if cuda.threadIdx.x == 0:
                        parts[chunk, w, c] = total
            else:
                for c in range(cuda.threadIdx.x, columns, THREADS):
                    parts[chunk, w, c] = 0.0
    grid.sync()
    for e in range(cuda.grid(1), walls * columns, cuda.gridsize(1)):
        w, c, total = e // columns, e % columns, 0.0
        for chunk in range(CHUNKS):
            total += parts[chunk, w, c]
        if c < dim:
            force[w, c] = total
        else:
            torque[w, c - dim] = total


@kernel
def account(bodies, search, held, problem, after):
    """Fill ``after.told`` with the figures of a step; see the columns above."""
    some, parts, told = after.some, after.parts, after.told
    grid, room = cuda.cg.this_grid(), cuda.shared.array(THREADS, F8)
    nb, m, rows = bodies.position.shape[0], search.numbers[CONTACTS], rows_of(held)
    if halted(search) or search.numbers[MORE] == 1:
        return
    for i in range(cuda.grid(1), nb, cuda.gridsize(1)):
        some[i] = after.pushed[i]
    grid.sync()
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, m)
        contact_sums(rows, after, low, high, chunk, room)
    grid.sync()
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        low, high = bounds(chunk, nb)
        body_sums(bodies, search, after, low, high, chunk, room)
    grid.sync()
    for column in range(cuda.grid(1), SUMS + MOSTS, cuda.gridsize(1)):
        found = 0.0
        for chunk in range(CHUNKS):
            part = parts[chunk, column]
            if column < SUMS:
                found += part
            elif not part <= found:  # lets NaN through
                found = part
        told[column] = found
    if cuda.grid(1) == 0:
        told[RESIDUAL], told[RESIDUAL_RMS] = problem.found[0], problem.found[1]
        told[SWEEPS_DONE], told[RULE_MET] = search.numbers[SWEPT], search.numbers[MET]
        told[CANDIDATES] = m


@kernel
def move(bodies, search, velocity, spin, farthest, told, dt):
    """x ← x + v dt, and bodies turn, unless the step gave no numbers."""
    if halted(search) or search.numbers[MORE] == 1:
        return
    if told[KINETIC] - told[KINETIC] == 0.0 and told[RESIDUAL] - told[RESIDUAL] == 0.0:
        for i in range(cuda.grid(1), velocity.shape[0], cuda.gridsize(1)):
            for a in range(velocity.shape[1]):
                bodies.velocity[i, a] = velocity[i, a]
                bodies.position[i, a] += velocity[i, a] * dt
            for a in range(spin.shape[1]):
                bodies.spin[i, a] = spin[i, a]
            turn_body(bodies.orientation, bodies.spin, dt, i)
            at = bodies.position, bodies.velocity, bodies.spin, bodies.orientation
            if not is_fit(at[0], at[1], at[2], at[3], farthest, i):
                told[UNFIT] = 1.0
