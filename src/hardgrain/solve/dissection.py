"""The order in which bodies are eliminated: nested dissection, made once for each contact network.

Eliminating a body couples all its neighbours. So we take out a set of bodies that parts the rest in
two (a separator) and number it last; then no elimination on one side ever reaches the other. The
same is repeated on each side. With separators of √n bodies in 2D and n^⅔ in 3D the factors have
n log n and n^(4/3) entries.

**Cuts.** Bodies have positions, so a cut is a plane across the longest extent. With the bodies
sorted along that axis, body k touches a cut before place h if k < h ≤ far(k), the place of its
farthest neighbour; so one pass counts what every cut would cost. Each pair across the cut can be
parted by taking out either body, and the fewest bodies that part all pairs follow from a largest
matching (König). Nothing assumes that neighbours are near: periodic boxes and long bodies only cost
a larger separator. Bodies with very many contacts (pistons) are taken out before all others.

**Fronts.** A separator, or a leaf of few bodies, is eliminated in one dense matrix, its front
(`solve.elimination`). The boundary of a front holds all later bodies that it touches, directly or
through bodies eliminated before. What is left of the front after its elimination is added to the
front in which the first body of the boundary is eliminated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import device, jit
from hardgrain.solve.problem import Floats, Ints

__all__ = ["Fronts", "Longs", "dissect"]

Longs = NDArray[np.int64]

# All four decide only how long an elimination takes, and the order of its sums: changing one
# changes the last digits of a result.

# [bodies] A part with no more bodies than this is not cut further. Anything from 6 to 12 takes the
# same time; much larger leaves fill with zeros, smaller ones cost overhead.
_LEAF = 8
# [contacts] A body with more contacts than this is taken out before the first cut, since no plane
# would separate its neighbours. If it is larger, pistons make all separators large; if it is
# smaller, large grains are taken out without need.
_HEAVY = 64
# [bodies] At most so many bodies are taken out first, because together they make one dense block;
# if there are more, _HEAVY is doubled until there are not.
_HEAVIEST = 16
# [1] Least share of the bodies on each side of a cut. A larger share forbids cheap cuts; a smaller
# one allows lopsided trees, which have more entries.
_BALANCE = 0.3


class Fronts(NamedTuple):
    """The order of elimination and where all its numbers are kept.

    Fronts are numbered by t, and k is a place in the order of elimination.
    """

    order: Ints  # (n,) the body at place k
    starts: Ints  # (fronts + 1,) place of the first pivot of front t
    edges: Longs  # (fronts + 1,) where the boundary of front t begins in `edge`
    edge: Ints  # places of the boundary bodies of all fronts, ascending in each
    slot: Ints  # their positions in the front to which the Schur complement is added
    child: Ints  # (fronts,) first front that is added to front t, or −1
    sibling: Ints  # (fronts,) the next front that is added to the same one, or −1
    pairs: Ints  # (fronts + 1,) where the pairs of front t begin in `listed`
    listed: Ints  # (pairs, 3) pair, slot of its first body, slot of its second
    stacked: Longs  # (fronts,) where the Schur complement waits on the stack [blocks]
    offset: Longs  # (fronts,) where the factors begin


@jit
def _adjacency(first: Ints, second: Ints, n: int) -> tuple[Ints, Ints, Ints]:
    """Neighbours of each body: where its list starts (n + 1,), the bodies in it, their pairs."""
    start = np.zeros(n + 1, np.int32)
    for k in range(first.size):
        if second[k] >= 0:
            start[first[k] + 1] += 1
            start[second[k] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start.copy()
    near = np.empty(start[n], np.int32)
    pair = np.empty(start[n], np.int32)
    for k in range(first.size):
        i, j = first[k], second[k]
        if j >= 0:
            near[fill[i]], near[fill[j]] = j, i
            pair[fill[i]] = pair[fill[j]] = k
            fill[i] += 1
            fill[j] += 1
    return start, near, pair


@device
def _cut(line: Ints, start: Ints, near: Ints, part: Ints, place: Ints, count: Ints) -> int:
    """The place before which to cut a line of bodies, all of one part."""
    n, this = line.size, part[line[0]]
    for k in range(n + 1):
        count[k, 0] = count[k, 1] = 0
    for k in range(n):
        low = high = k
        for s in range(start[line[k]], start[line[k] + 1]):
            if part[near[s]] == this:
                low, high = min(low, place[near[s]]), max(high, place[near[s]])
        # taken out from the left for cuts in (k, high], from the right for cuts in (low, k]
        count[k + 1, 0] += 1
        count[high + 1, 0] -= 1
        count[low + 1, 1] += 1
        count[k + 1, 1] -= 1
    best, cut = np.inf, 1
    for h in range(1, n):
        count[h, 0] += count[h - 1, 0]
        count[h, 1] += count[h - 1, 1]
        if min(h, n - h) >= _BALANCE * n:
            cost = min(count[h, 0], count[h, 1]) * (1.0 + 0.5 * abs(n - 2 * h) / n)
            if cost < best:
                best, cut = cost, h
    return cut


@jit
def _cover(
    line: Ints, cut: int, start: Ints, near: Ints, part: Ints, place: Ints, seen: Ints, work: Ints
) -> None:
    """Part a line at the cut, and mark in ``part`` the left −1, the right −2, the separator −3.

    The separator has as few bodies as possible. Each left body in turn looks for a partner across
    the cut, and bodies that have one give it up if they find another (breadth first). Where no
    partner is found, all bodies that were tried stay marked as seen. In the end the right bodies
    that are seen and the left ones that are not touch every pair across the cut, and they are as
    many as there are couples, so no smaller set does (König).
    """
    mate, back, queue, tried = work[0], work[1], work[2], work[3]
    this = part[line[0]]
    for i in line:
        mate[i] = -1
        seen[i] = 0
    for k in range(cut):
        queue[0] = line[k]
        head, tail, tries, found = 0, 1, 0, -1
        while head < tail and found < 0:
            i = queue[head]
            head += 1
            for s in range(start[i], start[i + 1]):
                j = near[s]
                if part[j] == this and place[j] >= cut and seen[j] == 0:
                    seen[j] = 1
                    back[j] = i
                    tried[tries] = j
                    tries += 1
                    if mate[j] < 0:
                        found = j
                        break
                    queue[tail] = mate[j]
                    tail += 1
        if found < 0:
            for q in range(tail):
                seen[queue[q]] = 1
        else:
            for q in range(tries):
                seen[tried[q]] = 0
        while found >= 0:
            i = back[found]
            after = mate[i]
            mate[i], mate[found] = found, i
            found = after
    for k in range(line.size):
        i = line[k]
        part[i] = -3 if (seen[i] == 1) == (k >= cut) else (-1 if k < cut else -2)


@jit
def _order(
    position: Floats, along: Ints, start: Ints, near: Ints, heavy: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """The order of elimination, and the places at which a separator or leaf begins.

    ``along`` (dim, n) holds the bodies sorted along each axis, and is sorted further in place.
    """
    dim, n = along.shape
    order = np.empty(n, np.int32)
    begins = np.zeros(n + 1, np.bool_)
    part = np.zeros(n, np.int32)
    place, seen = np.empty(n, np.int32), np.empty(n, np.int32)
    count = np.empty((n + 1, 2), np.int32)
    work, fill = np.empty((4, n), np.int32), np.empty(3, np.int32)
    todo = np.empty((128, 2), np.int32)
    todo[0, 0], todo[0, 1] = 0, n
    depth = stamp = 1
    for i in range(n):
        part[i] = -3 if start[i + 1] - start[i] > heavy else -1
    begins[0] = begins[n] = True
    while depth > 0:
        depth -= 1
        a, b = todo[depth, 0], todo[depth, 1]
        axis, longest = 0, -1.0
        for d in range(dim if b > a else 0):
            length = position[along[d, b - 1], d] - position[along[d, a], d]
            if length > longest:
                axis, longest = d, length
        if stamp > 1:
            if b - a <= _LEAF:
                for k in range(a, b):
                    order[k] = along[axis, k]
                continue
            line = along[axis, a:b]
            for k in range(b - a):
                place[line[k]] = k
                part[line[k]] = stamp
            cut = _cut(line, start, near, part, place, count)
            _cover(line, cut, start, near, part, place, seen, work)
        stamp += 1
        left = right = a
        for d in range(dim):  # sort into left | right | separator, each still sorted along its axis
            fill[0] = fill[1] = fill[2] = 0
            for k in range(a, b):
                i = along[d, k]
                side = -1 - part[i]
                work[side, fill[side]] = i
                fill[side] += 1
            left, right = a + fill[0], a + fill[0] + fill[1]
            for k in range(fill[0]):
                along[d, a + k] = work[0, k]
            for k in range(fill[1]):
                along[d, left + k] = work[1, k]
            for k in range(fill[2]):
                along[d, right + k] = work[2, k]
        for k in range(right, b):  # sorted along the separator, so that its neighbours are adjacent
            order[k] = along[(axis + 1) % dim, k]
        begins[left] = begins[right] = True
        todo[depth, 0], todo[depth, 1] = a, left
        todo[depth + 1, 0], todo[depth + 1, 1] = left, right
        depth += 2
    return order, begins


@jit
def _sort(a: Ints) -> None:
    """Sort in place (Shell's sort)."""
    gap = 1
    while 3 * gap < a.size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, a.size):
            x, j = a[i], i
            while j >= gap and a[j - gap] > x:
                a[j] = a[j - gap]
                j -= gap
            a[j] = x
        gap //= 3


@jit
def _longer(a: Ints, size: int) -> Ints:
    """A copy of the given size, longer or shorter."""
    longer = np.empty(size, np.int32)
    for k in range(min(size, a.size)):
        longer[k] = a[k]
    return longer


@jit
def _analyse(
    order: Ints, starts: Ints, first: Ints, second: Ints, start: Ints, near: Ints, pair: Ints
) -> tuple[Longs, Ints, Ints, Ints, Ints, Ints, Ints, Longs, int]:
    """The fields of `Fronts` from ``edges`` to ``stacked``, and the height of the stack."""
    n, fronts = order.size, starts.size - 1
    rank, home = np.empty(n, np.int32), np.empty(n, np.int32)
    for t in range(fronts):
        for k in range(starts[t], starts[t + 1]):
            rank[order[k]] = k
            home[k] = t
    edges, stacked = np.zeros(fronts + 1, np.int64), np.zeros(fronts, np.int64)
    edge, slot = np.empty(8 * n, np.int32), np.empty(8 * n, np.int32)
    parent = np.full(fronts, -1, np.int32)
    child, sibling = parent.copy(), parent.copy()
    mark, at = np.full(n, -1, np.int32), np.empty(n, np.int32)
    pairs, listed = np.zeros(fronts + 1, np.int32), np.empty((near.size // 2, 3), np.int32)
    waiting = np.empty(fronts, np.int32)
    waits, height, m, q = 0, 0, 0, 0
    for t in range(fronts):
        p0, p1 = starts[t], starts[t + 1]
        if m + n - p1 > edge.size:
            edge, slot = _longer(edge, 2 * edge.size), _longer(slot, 2 * edge.size)
        for k in range(p0, p1):
            at[k] = k - p0
            for s in range(start[order[k]], start[order[k] + 1]):
                r = rank[near[s]]
                if r >= p1 and mark[r] != t:
                    mark[r] = t
                    edge[m] = r
                    m += 1
        c = child[t]
        while c >= 0:
            for e in range(edges[c], edges[c + 1]):
                r = edge[e]
                if r >= p1 and mark[r] != t:
                    mark[r] = t
                    edge[m] = r
                    m += 1
            c = sibling[c]
        e0, edges[t + 1] = edges[t], m
        _sort(edge[e0:m])
        for e in range(e0, m):
            at[edge[e]] = p1 - p0 + e - e0
        c = child[t]
        while c >= 0:
            for e in range(edges[c], edges[c + 1]):
                slot[e] = at[edge[e]]
            c = sibling[c]
        for k in range(p0, p1):
            for s in range(start[order[k]], start[order[k] + 1]):
                i, j = rank[first[pair[s]]], rank[second[pair[s]]]
                if min(i, j) == k:
                    listed[q, 0], listed[q, 1], listed[q, 2] = pair[s], at[i], at[j]
                    q += 1
        pairs[t + 1] = q
        while waits > 0 and parent[waiting[waits - 1]] == t:
            waits -= 1  # this front takes it from the stack
        if m > e0:
            if waits > 0:
                c = waiting[waits - 1]
                stacked[t] = stacked[c] + (edges[c + 1] - edges[c]) ** 2
            height = max(height, stacked[t] + (m - e0) ** 2)
            waiting[waits] = t
            waits += 1
            u = home[edge[e0]]
            parent[t], sibling[t], child[u] = u, child[u], t
    edge, slot = _longer(edge, m), _longer(slot, m)
    return edges, edge, slot, child, sibling, pairs, listed, stacked, height


def dissect(position: Floats, first: Ints, second: Ints, width: int) -> tuple[Fronts, int]:
    """The fronts for bodies and pairs, given as in `Elimination`, and the height of the stack."""
    n, w = len(position), width
    position = np.ascontiguousarray(position, float)
    first, second = np.ascontiguousarray(first, np.int32), np.ascontiguousarray(second, np.int32)
    along = np.argsort(position.T, axis=1, kind="stable").astype(np.int32)
    start, near, pair = _adjacency(first, second, n)
    degree, heavy = np.diff(start), _HEAVY
    while np.count_nonzero(degree > heavy) > _HEAVIEST:
        heavy *= 2
    order, begins = _order(position, along, start, near, heavy)
    starts = np.flatnonzero(begins).astype(np.int32)
    found = _analyse(order, starts, first, second, start, near, pair)
    p, b = w * np.diff(starts).astype(np.int64), w * np.diff(found[0])
    size = p * (p + 2 * b)
    return Fronts(order, starts, *found[:-1], np.cumsum(size) - size), found[-1]
