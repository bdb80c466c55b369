"""Forces that hold a packing at rest, by projected gradients on the device; see `solve.gradient`.

Each thread takes contacts, then bodies: a body gathers the impulses of its contacts, those in which
it is the first and then those in which it is the second, one after the other, so that sums have an
order that no device changes. Walls that can be pushed touch many grains; theirs are summed by
chunks. Impulses and velocities are vectors in space, and no matrix is made.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hardgrain.cuda.api import F8, Launch, cuda, device, kernel, xp
from hardgrain.cuda.arrays import CONTACTS
from hardgrain.cuda.grid import CHUNKS, THREADS, block_sum, bounds, meet
from hardgrain.cuda.records import rows_of
from hardgrain.law.cone import make_cone
from hardgrain.law.contact import make_contact
from hardgrain.point.rest import make_rest

__all__ = ["PULL", "RATE", "SCALE", "Gradients", "Resting"]

_rest, _law = make_rest(device), make_contact(device)
nearest = make_cone(device).nearest
friction, cohesion = _law.friction, _law.cohesion
momentum, approach, received = _rest.momentum, _rest.approach, _rest.received
mobility, can_push, shifts = _rest.mobility, _rest.can_push, _rest.shifts

# Columns of what a contact keeps: length of a step relative to the others [mass], µ, largest pull;
# then what is added to its velocity. A contact that nothing can push has no step and no impulse.
SCALE, MU, PULL, SHIFT = range(4)
THETA, SHARE, RATE = range(3)  # of what is known of all: θ, how far to go ahead, 1/(largest of W)
POWERS = 30  # [iterations] in which the largest eigenvalue is found, as on the processor


class Resting(NamedTuple):
    """Impulses on second bodies, with cohesion's c e_N added, and the velocities they give."""

    r: Any  # (m, dim)
    last: Any  # (m, dim) of the last iteration
    c: Any  # (m, 3 + dim) see the columns above
    v: Any  # (nb, dim + ns)
    ahead: Any  # (nb, dim + ns) extrapolated
    free: Any  # (nb, dim + ns) without r
    inverse: Any  # (nb, dim + ns) inverse masses and moments of inertia
    before: Any  # (nb, dim + ns) at the start of the step
    as_second: Any  # (m,) contacts in the order of their second bodies
    start: Any  # (nb + 1,) where those of each body begin in it
    walls: Any  # bodies that can be pushed and touch many others
    parts: Any  # (CHUNKS, 1 + walls × (dim + ns))
    known: Any  # (3,)


@device
def gather(held, rest, p, i, a):
    """Component a of what impulses p give to grain i [mass × speed]."""
    total = 0.0
    for k in range(held.start[i], held.start[i + 1]):
        total -= received(p, held.arm_first, k, a)
    for s in range(rest.start[i], rest.start[i + 1]):
        k = rest.as_second[s]
        total += received(p, held.arm_second, k, a)
    return total


@device
def wall_parts(held, rest, p, room):
    """What the contacts of each chunk give to the walls that can be pushed."""
    size = rest.v.shape[1]
    for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
        for w in range(rest.walls.shape[0]):
            begin, end = rest.start[rest.walls[w]], rest.start[rest.walls[w] + 1]
            low, high = bounds(chunk, end - begin)
            for a in range(size):
                total = 0.0
                for s in range(begin + low + cuda.threadIdx.x, begin + high, THREADS):
                    total += received(p, held.arm_second, rest.as_second[s], a)
                total = block_sum(total, room)
                if cuda.threadIdx.x == 0:
                    rest.parts[chunk, 1 + w * size + a] = total


@device
def sum_of_parts(rest, column):
    """The sum over all chunks, known to every thread."""
    total = 0.0
    for chunk in range(CHUNKS):
        total += rest.parts[chunk, column]
    return total


@device
def give(search, held, rest, p, factor, alone, share, room):
    """Write what impulses factor × p make of all velocities, and extrapolate these by a share.

    alone: whether only what p gives is asked for.
    """
    size, walls = rest.v.shape[1], rest.walls.shape[0]
    if walls > 0:
        wall_parts(held, rest, p, room)
        meet(search.arrivals)
    nb = rest.v.shape[0]
    for i in range(cuda.grid(1), nb, cuda.gridsize(1)):
        column = -1
        for w in range(walls):
            if rest.walls[w] == i:
                column = 1 + w * size
        for a in range(size):
            v = 0.0 if alone else rest.free[i, a]
            if rest.inverse[i, a] > 0.0:
                p_a = sum_of_parts(rest, column + a) if column > 0 else gather(held, rest, p, i, a)
                v += rest.inverse[i, a] * factor * p_a
            rest.ahead[i, a] = v + share * (v - rest.v[i, a])
            rest.v[i, a] = v
    meet(search.arrivals)


@kernel
def lay(bodies, search, held, rest, laws, dt, remove_overlaps):
    """Fill what contacts keep, the first impulses, and the velocities without them."""
    room = cuda.shared.array(THREADS, F8)
    rows, dim = rows_of(held), rest.r.shape[1]
    normal = held.normal
    for k in range(cuda.grid(1), search.numbers[CONTACTS], cuda.gridsize(1)):
        i, j, law = held.first[k], held.second[k], laws[held.law[k]]
        along, trace = mobility(rest.inverse, held.arm_first, normal, i, k)
        along_2, trace_2 = mobility(rest.inverse, held.arm_second, normal, j, k)
        along, trace = along + along_2, trace + trace_2
        live = can_push(along, trace)
        pull = cohesion(law, held.gap[k], dt) if live else 0.0
        rest.c[k, SCALE], rest.c[k, PULL] = 1.0 / trace if live else 0.0, pull
        rest.c[k, MU] = friction(law)[1]
        free, before = approach(rest.free, rows, k), approach(rest.before, rows, k)
        shift = shifts(law, held.gap[k], normal, k, free, before, dt, remove_overlaps)
        for a in range(dim):
            rest.c[k, SHIFT + a] = shift[a]
            rest.last[k, a] = -pull * normal[k, a]
            rest.r[k, a] = held.impulse[k, a] + pull * normal[k, a] if live else 0.0
    cuda.cg.this_grid().sync()
    give(search, held, rest, rest.last, 1.0, False, 0.0, room)
    for i in range(cuda.grid(1), rest.v.shape[0], cuda.gridsize(1)):
        for a in range(rest.v.shape[1]):
            rest.free[i, a] = rest.v[i, a]


@kernel
def largest(search, held, rest):
    """Find the largest eigenvalue λ of the scaled W, by power iteration, and let the search begin.

    With S the scales, √S W √S x = λ x. What is given to bodies is z = √S x, in ``last``.
    """
    room = cuda.shared.array(THREADS, F8)
    rows, m, dim = rows_of(held), search.numbers[CONTACTS], rest.r.shape[1]
    cuda.cg.this_grid().sync()  # all blocks run at once
    size = 1.0
    for n in range(POWERS + 1):
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, m)
            square = 0.0
            for k in range(low + cuda.threadIdx.x, high, THREADS):
                root = math.sqrt(rest.c[k, SCALE])
                u = approach(rest.v, rows, k)
                for a in range(dim):
                    x = root * u[a]
                    if n == 0:
                        x = math.cos(float((k * dim + a) % 1000) ** 2) if root > 0.0 else 0.0
                    square += x * x
                    rest.last[k, a] = root * x
            square = block_sum(square, room)
            if cuda.threadIdx.x == 0:
                rest.parts[chunk, 0] = square
        meet(search.arrivals)
        size = math.sqrt(sum_of_parts(rest, 0))
        factor = 1.0 / size if size > 0.0 else 0.0
        give(search, held, rest, rest.last, factor, True, 0.0, room)
    give(search, held, rest, rest.r, 1.0, False, 0.0, room)
    for k in range(cuda.grid(1), m, cuda.gridsize(1)):
        for a in range(dim):
            rest.last[k, a] = rest.r[k, a]
    if cuda.grid(1) == 0:
        rest.known[RATE] = 1.0 / (1.1 * size) if size > 0.0 else 0.0
        rest.known[THETA], rest.known[SHARE] = 1.0, 0.0


@device
def step_down(held, rest, rows, k, share):
    """A step along the gradient for contact k, and back on its cone; U·(r⁺ − r)."""
    normal, dim, rate = held.normal, rest.r.shape[1], rest.known[RATE]
    u = approach(rest.ahead, rows, k)
    scale, x_n = rest.c[k, SCALE] * rate, 0.0
    for a in range(dim):
        r = rest.r[k, a]
        x = r + share * (r - rest.last[k, a])
        rest.last[k, a] = x - scale * (u[a] + rest.c[k, SHIFT + a])
        x_n += rest.last[k, a] * normal[k, a]
    square = 0.0
    for a in range(dim):
        square += (rest.last[k, a] - x_n * normal[k, a]) ** 2
    along, keep = nearest(x_n, math.sqrt(square), rest.c[k, MU])
    uphill = 0.0
    for a in range(dim):
        side, r = rest.last[k, a] - x_n * normal[k, a], rest.r[k, a]
        new = along * normal[k, a] + keep * side if scale > 0.0 else 0.0
        uphill += (u[a] + rest.c[k, SHIFT + a]) * (new - r)
        rest.last[k, a], rest.r[k, a] = r, new
    return uphill


@kernel
def descend(search, held, rest, iterations):
    """Make iterations of the accelerated gradient; see `solve.gradient.descend`."""
    room = cuda.shared.array(THREADS, F8)
    rows, m = rows_of(held), search.numbers[CONTACTS]
    cuda.cg.this_grid().sync()  # all blocks run at once
    theta, share = rest.known[THETA], rest.known[SHARE]
    for _ in range(iterations):
        for chunk in range(cuda.blockIdx.x, CHUNKS, cuda.gridDim.x):
            low, high = bounds(chunk, m)
            uphill = 0.0
            for k in range(low + cuda.threadIdx.x, high, THREADS):
                uphill += step_down(held, rest, rows, k, share)
            uphill = block_sum(uphill, room)
            if cuda.threadIdx.x == 0:
                rest.parts[chunk, 0] = uphill
        meet(search.arrivals)
        theta, share = momentum(theta, sum_of_parts(rest, 0))
        give(search, held, rest, rest.r, 1.0, False, share, room)
    if cuda.grid(1) == 0:
        rest.known[THETA], rest.known[SHARE] = theta, share


class Gradients:
    """The kernels, and how a search is begun and goes on."""

    def __init__(self) -> None:
        self._lay, self._largest = Launch(lay, THREADS), Launch(largest, THREADS)
        self._descend = Launch(descend, THREADS)

    def begin(self, bodies: Any, search: Any, held: Any, contacts: int, laws: Any) -> Resting:
        """Make room for so many contacts, whose impulses are where it starts.

        laws: the law table, the length of a step, and whether overlaps are removed.
        """
        b, (nb, dim), n = bodies, bodies.position.shape, bodies.radius.size
        inverse = xp.concatenate([b.inv_mass, b.inv_inertia], axis=1)
        free = xp.concatenate([search.free_velocity, search.free_spin], axis=1)
        second = held.second[:contacts]
        as_second = xp.argsort(second, kind="stable")
        start = xp.searchsorted(second[as_second], xp.arange(nb + 1, dtype=np.int32))
        walls = n + xp.flatnonzero(inverse[n:].any(axis=1))
        rest = Resting(*[
            *(xp.zeros((contacts, columns)) for columns in (dim, dim, SHIFT + dim)),
            free.copy(), free.copy(), free, inverse,
            xp.concatenate([b.velocity, b.spin], axis=1),
            *(x.astype(np.int32) for x in (as_second, start, walls)),
            xp.zeros((CHUNKS, 1 + walls.size * inverse.shape[1])), xp.zeros(3),
        ])  # fmt: skip
        self._lay(b, search, held, rest, *laws)
        self._largest(search, held, rest)
        return rest

    def go_on(self, search: Any, held: Any, rest: Resting, iterations: int) -> None:
        """Make iterations; how far they have come is kept in ``rest``."""
        self._descend(search, held, rest, iterations)
