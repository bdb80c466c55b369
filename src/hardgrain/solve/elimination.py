"""Sparse LU of matrices over bodies: fronts on a nested dissection.

K = M + Σ Hᵀ D H has a dense block for each body and two for each touching pair. Its pattern is
symmetric, its values need not be, they change at each of some twenty solves of a step, and the
pattern lives as long as the contacts. Sparse LU that installs everywhere (SuperLU) cannot keep an
analysis, and spends it on patterns without symmetry; hence our own, in three phases.

**Dissection.** Eliminating a body couples all its neighbours. Take out a set of bodies that parts
the rest in two (a separator), number it last, and no elimination on one side ever reaches the
other; repeat on each side. With separators of √n bodies in 2D and n^⅔ in 3D the factors have
n log n and n^(4/3) entries. Bodies have places, so a cut is a plane across the longest extent:
with the bodies in line, body k must leave a cut before place h if k < h ≤ far(k), its farthest
neighbour, so one pass counts what all cuts would cost. Cutting pairs may be parted by taking out
either body; the fewest that part them all follow from a largest matching (König). Nothing assumes
that neighbours are near: periodic boxes and long bodies only cost a larger separator. Bodies with
very many contacts (pistons) are taken out first of all.

**Fronts.** A supernode, separator or leaf, is eliminated at once in a dense matrix, its front:

    pivots    | A   U |    A = L₁ U₁,   U ← L₁⁻¹ U,   L ← L U₁⁻¹,
    boundary  | L   S |    S ← S − L U

The boundary holds all later bodies that the pivots touch, themselves or through what was
eliminated before; S is added to the front in which the first of them is a pivot. Nearly all the
work is in products of dense matrices, and those are BLAS's.

**Pivots.** Rows are exchanged among the pivots of a front only, and only where the diagonal is
below 10⁻³ of its column. On matrices that are definite or nearly so the diagonal is the better
pivot, with D over sixteen decades by far: exchanges by size alone mix stiff and soft rows, and the
residual grows from 10⁻¹⁶ to 10⁻¹¹ of |K||x|.

The order of all sums is fixed, and products are cut into tiles which BLAS multiplies in one thread:
the same bits on any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import device, jit
from hardgrain.solve.problem import Floats, Ints

__all__ = ["Elimination"]

Longs = NDArray[np.int64]

_LEAF = 8  # bodies that are not dissected further; 6 to 12 take the same time
_HEAVY = 64  # contacts beyond which a body is taken out first, ...
_HEAVIEST = 16  # ... and how many bodies that may be: they make one dense block
_BALANCE = 0.3  # least share of the bodies on each side of a cut
_DIAGONAL = 1e-3  # a pivot is on the diagonal unless it is less than this share of its column
# Columns of a panel, and edge of the tiles given to BLAS: OpenBLAS multiplies up to 64³ in the
# calling thread, and with the least overhead; smaller tiles cost more calls.
_TILE = 64


class Fronts(NamedTuple):
    """What is eliminated when, and what goes where; t numbers fronts, k places in the order."""

    order: Ints  # (n,) body at place k
    starts: Ints  # (fronts + 1,) first pivot of front t, a place
    edges: Longs  # (fronts + 1,) its first boundary body in `edge`
    edge: Ints  # boundary bodies of all fronts, as places, ascending in each
    slot: Ints  # where they are in the front that the Schur complement is added to
    child: Ints  # (fronts,) first front that is added to front t, or −1
    sibling: Ints  # (fronts,) the next one that is added to the same front, or −1
    pairs: Ints  # (fronts + 1,) first pair of front t in `listed`
    listed: Ints  # (pairs, 3) pair, slot of its first body, slot of its second
    stacked: Longs  # (fronts,) where the Schur complement waits [blocks]
    offset: Longs  # (fronts,) where the factors are


class Store(NamedTuple):
    """Memory of a factorisation, used again by the next one."""

    lu: Floats  # of each front the columns [A, L]ᵀ, then the rows U
    swaps: Ints  # (n w,) row exchanged with each pivot, counted from its panel
    stack: Floats  # Schur complements that wait for their front
    schur: Floats  # the one being assembled
    rows: Floats  # rows of U₁ right of a panel
    tiles: Floats  # operands of a product in tiles
    runs: Ints  # slots of a Schur complement that follow each other


# ---------------------------------------------------------------------- dissection
@jit
def _adjacency(first: Ints, second: Ints, n: int) -> tuple[Ints, Ints, Ints]:
    """Neighbours of each body, with the pair: (n + 1,) starts, bodies, pairs."""
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


@jit
def _cut(line: Ints, start: Ints, near: Ints, part: Ints, place: Ints, count: Ints) -> int:
    """The place before which to cut a line of bodies, which are those of one part."""
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
    """Part a line at the cut: to the left −1, to the right −2, the fewest bodies between −3.

    Each left body in turn looks for a partner across, and others give up theirs if they find
    another (breadth first). Where none is found, all that was tried stays seen: the right bodies
    seen and the left ones not seen touch every pair across, and are as many as there are couples.
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
def _dissect(
    position: Floats, along: Ints, start: Ints, near: Ints, heavy: int
) -> tuple[Ints, NDArray[np.bool_]]:
    """Order of elimination, and where supernodes begin; ``along`` (dim, n): bodies by axis."""
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
        for d in range(dim):  # left | right | separator, by axis still
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
        for k in range(right, b):  # along the separator, so that what touches it is contiguous
            order[k] = along[(axis + 1) % dim, k]
        begins[left] = begins[right] = True
        todo[depth, 0], todo[depth, 1] = a, left
        todo[depth + 1, 0], todo[depth + 1, 1] = left, right
        depth += 2
    return order, begins


@jit
def _sort(a: Ints) -> None:
    """Shell's sort, in place."""
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
            waits -= 1  # used up by this front
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


# ---------------------------------------------------------------------- fronts
@device
def _four(
    o: Floats, a: Floats, b: Floats, c: Floats, d: Floats, f: float, g: float, h: float, i: float
) -> None:
    for k in range(o.size):
        o[k] -= f * a[k] + g * b[k] + (h * c[k] + i * d[k])


@jit
def _subtract(
    out: Floats, o: int, given: Floats, g: int, ld: int, a: Floats, a0: int, lda: int,
    b: Floats, b0: int, ldb: int, k: int, m: int, n: int, tiles: Floats,
) -> None:  # fmt: skip
    """out = given − aᵀ b, where a is (k, m) and b is (k, n), all by rows from a place on."""
    size = _TILE * _TILE
    total, part = tiles[:size], tiles[size : 2 * size]
    strip, packed = tiles[2 * size : 2 * size + k * _TILE], tiles[2 * size + k * _TILE :]
    for j in range(0, n, _TILE):
        w = min(_TILE, n - j)
        for r in range(k):
            x, y = packed[j * k + r * w :][:w], b[b0 + r * ldb + j :][:w]
            for c in range(w):
                x[c] = y[c]
    for i in range(0, m, _TILE):
        h = min(_TILE, m - i)
        for r in range(k):
            x, y = strip[r * h :][:h], a[a0 + r * lda + i :][:h]
            for c in range(h):
                x[c] = y[c]
        for j in range(0, n, _TILE):
            w = min(_TILE, n - j)
            for r in range(0, k, _TILE):
                d = min(_TILE, k - r)
                left = strip[r * h : (r + d) * h].reshape(d, h).T
                right = packed[j * k + r * w : j * k + (r + d) * w].reshape(d, w)
                product = total if r == 0 else part
                np.dot(left, right, product[: h * w].reshape(h, w))
                for c in range(h * w if r > 0 else 0):
                    total[c] += part[c]
            for r in range(h):
                x, y = out[o + (i + r) * ld + j :][:w], given[g + (i + r) * ld + j :][:w]
                z = total[r * w :][:w]
                for c in range(w):
                    x[c] = y[c] - z[c]


@jit
def _panel(l: Floats, at: int, ld: int, k: int, h: int, rows: int, swap: Ints) -> float:
    """LU of k columns of height h, each contiguous; pivots from the first rows. The sign, or 0."""
    sign = 1.0
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for c in range(c0, c1):
            x = l[at + c * ld :][:h]
            best, p = 0.0, c
            for i in range(c, rows):
                if abs(x[i]) > best:
                    best, p = abs(x[i]), i
            if not 0.0 < best < np.inf:
                return 0.0
            if abs(x[c]) >= _DIAGONAL * best:
                p = c
            swap[c] = p
            if p != c:
                sign = -sign
                for q in range(at, at + k * ld, ld):
                    l[q + c], l[q + p] = l[q + p], l[q + c]
            if x[c] < 0.0:
                sign = -sign
            f, z = 1.0 / x[c], x[c + 1 :]
            for i in range(z.size):
                z[i] *= f
            for q in range(at + c1 * ld - ld, at + c * ld, -ld):
                f, y = l[q + c], l[q + c + 1 :][: z.size]
                for i in range(z.size):
                    y[i] -= f * z[i]
        # four columns at once upon each later one: a fourth of the loads and stores
        for q in range(c1, k):
            a = at + c0 * ld
            y = l[at + q * ld + c0 :][: h - c0]
            for i in range(1, 4):
                for c in range(i):
                    y[i] -= l[a + c * ld + c0 + i] * y[c]
            w, s = h - c1, a + c1
            _four(y[4:], l[s:][:w], l[s + ld :][:w], l[s + 2 * ld :][:w], l[s + 3 * ld :][:w],
                  y[0], y[1], y[2], y[3])  # fmt: skip
    return sign


@jit
def _forward(l: Floats, at: int, ld: int, k: int, x: Floats, n: int) -> None:
    """x ← L₁⁻¹ x, where x is (k, n) and L₁ the unit lower triangle of a panel."""
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for q in range(c0, c1):
            y = x[q * n :][:n]
            for c in range(c0, q):
                f, z = l[at + c * ld + q], x[c * n :][:n]
                for i in range(n):
                    y[i] -= f * z[i]
        for q in range(c1, k):
            s, a = c0 * n, at + c0 * ld + q
            _four(x[q * n :][:n], x[s:][:n], x[s + n :][:n], x[s + 2 * n :][:n], x[s + 3 * n :][:n],
                  l[a], l[a + ld], l[a + 2 * ld], l[a + 3 * ld])  # fmt: skip


@jit
def _eliminate(
    lu: Floats, at: int, p: int, b: int, swaps: Ints, rows: Floats, tiles: Floats
) -> float:
    """LU of the pivots of a front, panel by panel; the sign of their determinant, or 0."""
    sign, n, u0 = 1.0, p + b, at + p * (p + b)
    for k0 in range(0, p, _TILE):
        k1 = min(p, k0 + _TILE)
        k, rest, l0 = k1 - k0, p - k1, at + k0 * n + k0
        swap = swaps[k0:k1]
        sign *= _panel(lu, l0, n, k, n - k0, p - k0, swap)
        if sign == 0.0:
            return 0.0
        for c in range(k):
            i, j = k0 + c, k0 + swap[c]
            if i != j:
                for q in range(p):
                    if q < k0 or q >= k1:
                        s = at + q * n
                        lu[s + i], lu[s + j] = lu[s + j], lu[s + i]
                for q in range(u0, u0 + b):
                    lu[q + i * b], lu[q + j * b] = lu[q + j * b], lu[q + i * b]
        _forward(lu, l0, n, k, lu[u0 + k0 * b : u0 + k1 * b], b)
        for q in range(rest):
            for c in range(k):
                rows[c * rest + q] = lu[at + (k1 + q) * n + k0 + c]
        _forward(lu, l0, n, k, rows, rest)
        for q in range(rest):
            for c in range(k):
                lu[at + (k1 + q) * n + k0 + c] = rows[c * rest + q]
        if rest > 0:
            d, s = at + k1 * n + k1, at + k0 * n + k1
            _subtract(lu, d, lu, d, n, rows, 0, rest, lu, s, n, k, rest, n - k1, tiles)
            d = u0 + k1 * b
            _subtract(lu, d, lu, d, b, lu, s, n, lu, u0 + k0 * b, b, k, rest, b, tiles)
    return sign


@jit
def _assemble(diagonal: Floats, blocks: Floats, f: Fronts, s: Store, t: int) -> None:
    """Front t: its bodies, its pairs, and the Schur complements of its children."""
    w, p0, at = diagonal.shape[1], f.starts[t], f.offset[t]
    own = f.starts[t + 1] - p0
    p, b = own * w, (f.edges[t + 1] - f.edges[t]) * w
    n, u0 = p + b, at + p * (p + b)
    s.lu[at : u0 + p * b] = 0.0
    s.schur[: b * b] = 0.0
    for k in range(own):
        for r in range(w):
            for c in range(w):
                s.lu[at + (k * w + c) * n + k * w + r] = diagonal[f.order[p0 + k], r, c]
    for q in range(f.pairs[t], f.pairs[t + 1]):
        for side in range(2):
            i, j = f.listed[q, 1 + side], f.listed[q, 2 - side]
            for r in range(w):
                for c in range(w):
                    if j < own:
                        d = at + (j * w + c) * n + i * w + r
                    else:
                        d = u0 + (i * w + r) * b + (j - own) * w + c
                    s.lu[d] += blocks[f.listed[q, 0], side, r, c]
    child = f.child[t]
    while child >= 0:
        m = f.edges[child + 1] - f.edges[child]
        slot = f.slot[f.edges[child] :][:m]
        runs = 0
        for j in range(m):
            if j == 0 or slot[j] != slot[j - 1] + 1 or slot[j] == own:
                s.runs[runs] = j
                runs += 1
        s.runs[runs] = m
        for i in range(m * w):
            row = slot[i // w] * w + i % w
            source = s.stack[(f.stacked[child] * w + i * m) * w :][: m * w]
            for q in range(runs):
                j0, j1, c = s.runs[q] * w, s.runs[q + 1] * w, slot[s.runs[q]] * w
                if c < p:
                    for j in range(j0, j1):
                        s.lu[at + (c + j - j0) * n + row] += source[j]
                    continue
                y = source[j0:j1]
                d = (row if row < p else row - p) * b + c - p
                x = s.lu[u0 + d :] if row < p else s.schur[d:]
                for j in range(y.size):
                    x[j] += y[j]
        child = f.sibling[child]


@jit
def _factorize(diagonal: Floats, blocks: Floats, f: Fronts, s: Store) -> float:
    w, sign = diagonal.shape[1], 1.0
    for t in range(f.starts.size - 1):
        p, b = (f.starts[t + 1] - f.starts[t]) * w, (f.edges[t + 1] - f.edges[t]) * w
        at, n = f.offset[t], p + b
        _assemble(diagonal, blocks, f, s, t)
        swaps = s.swaps[f.starts[t] * w :][:p]
        sign *= _eliminate(s.lu, at, p, b, swaps, s.rows, s.tiles)
        if sign == 0.0:
            return 0.0
        _subtract(s.stack, f.stacked[t] * w * w, s.schur, 0, b,
                  s.lu, at + p, n, s.lu, at + p * n, b, p, b, b, s.tiles)  # fmt: skip
    return sign


@jit
def _solve(x: Floats, f: Fronts, lu: Floats, swaps: Ints) -> None:
    """x ← K⁻¹ x, x (n, w, columns)."""
    n, w, columns = x.shape
    y, v = np.empty((columns, n * w)), np.empty(n * w)
    fronts = f.starts.size - 1
    for k in range(n * w):
        for q in range(columns):
            y[q, k] = x[f.order[k // w], k % w, q]
    for step in range(2 * fronts):
        t = step if step < fronts else 2 * fronts - 1 - step
        base = f.starts[t] * w
        p, b = f.starts[t + 1] * w - base, (f.edges[t + 1] - f.edges[t]) * w
        edge = f.edge[f.edges[t] : f.edges[t + 1]]
        at, h = f.offset[t], p + b
        for q in range(columns):
            own, bound = v[:p], v[p:h]
            for k in range(p):
                own[k] = y[q, base + k]
            for k in range(b):
                bound[k] = y[q, edge[k // w] * w + k % w]
            if step < fronts:
                for k in range(p):
                    j = k // _TILE * _TILE + swaps[base + k]
                    own[k], own[j] = own[j], own[k]
                for k in range(p):
                    column, z, g = lu[at + k * h + k + 1 :][: h - k - 1], v[k + 1 : h], v[k]
                    for j in range(z.size):
                        z[j] -= column[j] * g
                for k in range(b):
                    y[q, edge[k // w] * w + k % w] = bound[k]
            else:
                for k in range(p):
                    row, g = lu[at + p * h + k * b :][:b], 0.0
                    for j in range(b):
                        g += row[j] * bound[j]
                    own[k] -= g
                for k in range(p - 1, -1, -1):
                    own[k] /= lu[at + k * h + k]
                    column, g = lu[at + k * h :][:k], own[k]
                    for j in range(k):
                        own[j] -= column[j] * g
            for k in range(p):
                y[q, base + k] = own[k]
    for k in range(n * w):
        for q in range(columns):
            x[f.order[k // w], k % w, q] = y[q, k]


class Elimination:
    """LU of all matrices with one pattern: bodies, and pairs of bodies that touch.

    position  (n, dim) where the bodies are; any numbers will do, these make it fast
    first     (m,) a body of each pair
    second    (m,) the other, or −1 if it is none of the n; a pair may occur more than once
    width     w, unknowns of a body
    """

    def __init__(self, position: Floats, first: Ints, second: Ints, width: int) -> None:
        n, w = len(position), width
        self.shape = (n, w)
        position = np.ascontiguousarray(position, float)
        first, second = (
            np.ascontiguousarray(first, np.int32),
            np.ascontiguousarray(second, np.int32),
        )
        along = np.argsort(position.T, axis=1, kind="stable").astype(np.int32)
        start, near, pair = _adjacency(first, second, n)
        degree, heavy = np.diff(start), _HEAVY
        while np.count_nonzero(degree > heavy) > _HEAVIEST:
            heavy *= 2
        order, begins = _dissect(position, along, start, near, heavy)
        starts = np.flatnonzero(begins).astype(np.int32)
        found = _analyse(order, starts, first, second, start, near, pair)
        height = found[-1]
        p, b = w * np.diff(starts).astype(np.int64), w * np.diff(found[0])
        size = p * (p + 2 * b)
        self._fronts = Fronts(order, starts, *found[:-1], np.cumsum(size) - size)
        most = int(np.maximum(p, b).max(initial=0))
        self._store = Store(
            lu=np.empty(int(size.sum())),
            swaps=np.empty(n * w, np.int32),
            stack=np.empty(height * w * w),
            schur=np.empty(int((b * b).max(initial=0))),
            rows=np.empty(_TILE * int(p.max(initial=0))),
            tiles=np.empty(
                2 * _TILE * (_TILE + most) + int((np.maximum(p, _TILE) * (p + b)).max(initial=0))
            ),
            runs=np.empty(n + 1, np.int32),
        )

    def factorize(self, diagonal: Floats, pairs: Floats) -> float:
        """Factors of the matrix with these blocks; the sign of its determinant.

        diagonal  (n, w, w) block of each body with itself
        pairs     (m, 2, w, w) blocks (first, second) and (second, first)

        Zero means that a front is singular or not finite, and that there are no factors.
        """
        return _factorize(
            np.ascontiguousarray(diagonal, float), np.ascontiguousarray(pairs, float),
            self._fronts, self._store,
        )  # fmt: skip

    def solve(self, b: Floats) -> Floats:
        """x of K x = b, with the last factors; b (n, w), or (n, w, columns)."""
        x = np.array(b, float, order="C").reshape(*self.shape, b.shape[2] if b.ndim > 2 else 1)
        _solve(x, self._fronts, self._store.lu, self._store.swaps)
        return x.reshape(b.shape)
