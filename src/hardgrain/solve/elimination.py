"""Sparse LU of matrices over bodies, by fronts on a nested dissection.

K = M + Σ Hᵀ D H has a dense block for each body and two for each touching pair. Its pattern is
symmetric and lives as long as the contacts. Its values need not be symmetric, and they change at
each of some twenty solves of a step. The sparse LU that installs everywhere (SuperLU) cannot keep
its analysis of the pattern from one solve to the next, and does not use the symmetry; hence our
own. The order of elimination comes from `solve.dissection`.

**Fronts.** A separator or leaf is eliminated at once in a dense matrix, its front:

    pivots    | A   U |    A = L₁ U₁,   U ← L₁⁻¹ U,   L ← L U₁⁻¹,
    boundary  | L   S |    S ← S − L U

The boundary holds all later bodies that the pivots touch, directly or through bodies eliminated
before; S is added to the front in which the first of them is a pivot. Nearly all the work is in
products of dense matrices, which BLAS does.

**Pivots.** Rows are exchanged among the pivots of a front only, and only where the diagonal is
below 10⁻³ of its column. On matrices that are definite, or nearly so, the diagonal is the better
pivot, and by far so where D spans sixteen decades: exchanges by size alone mix stiff and soft rows,
and the residual grows from 10⁻¹⁶ to 10⁻¹¹ of |K||x|.

**Threads.** Large matrices are factorised on all threads: first branches of the tree, each by one
thread, then the fronts above them, whose panels, columns and tiles of products are spread
(`solve.crew`). Only the pivots of a panel, 64 columns as high as the pivots of their front, are
left to one thread. Who does what follows from the pattern, the order of all sums is fixed, and
products are cut into tiles that BLAS multiplies in the calling thread. So the bits are the same on
any number of threads. All functions are compiled into one kernel
(`device`): if one kernel called another, the process that compiles them and those that load them
later might run different code.
"""

from __future__ import annotations

import numpy as np

from hardgrain.kernels import device, jit, pjit, prange
from hardgrain.solve.crew import Crew, crew, room
from hardgrain.solve.dissection import Fronts, Longs, dissect
from hardgrain.solve.front import (
    TILE,
    Front,
    Store,
    beside,
    eliminate,
    factor_panel,
    pack_right,
    pack_schur,
    right_tiles,
    update,
    update_schur,
)
from hardgrain.solve.problem import Floats, Ints

__all__ = ["Elimination", "solve_factors"]

# [operations] From so many on a factorisation is shared among the threads. Starting them costs some
# ten microseconds for each of several loops a panel: shared ones are slower where fronts are small.
TOGETHER = 1e9


@device
def _front(f: Fronts, w: int, t: int) -> Front:
    """Front t, of bodies with w unknowns."""
    p, b = f.starts[t + 1] - f.starts[t], f.edges[t + 1] - f.edges[t]
    return Front(f.offset[t], p * w, b * w, f.starts[t] * w)


@device
def _begin(diagonal: Floats, blocks: Floats, f: Fronts, s: Store, t: int) -> None:
    """Fill front t with its bodies and its pairs."""
    w, p0 = diagonal.shape[1], f.starts[t]
    own = f.starts[t + 1] - p0
    at, p, b, _ = _front(f, w, t)
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


@device
def _runs(f: Fronts, s: Store, own: int, child: int) -> int:
    """Write where slots of a child that follow each other begin; returns how often they do."""
    m = f.edges[child + 1] - f.edges[child]
    slot = f.slot[f.edges[child] :][:m]
    runs = 0
    for j in range(m):
        if j == 0 or slot[j] != slot[j - 1] + 1 or slot[j] == own:
            s.runs[runs] = j
            runs += 1
    s.runs[runs] = m
    return runs


@device
def _add_rows(
    f: Fronts, s: Store, w: int, t: int, child: int, stacked: int, part: tuple[int, int, int]
) -> None:
    """Add rows of a child's Schur complement to front t; ``part``: from, to, and its runs."""
    at, p, b, _ = _front(f, w, t)
    n, u0 = p + b, at + p * (p + b)
    m = f.edges[child + 1] - f.edges[child]
    slot = f.slot[f.edges[child] :][:m]
    for i in range(part[0], min(part[1], m * w)):
        row = slot[i // w] * w + i % w
        source = s.stack[stacked + i * m * w :][: m * w]
        for q in range(part[2]):
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


@device
def _one_front(
    diagonal: Floats, blocks: Floats, f: Fronts, s: Store, stacked: Longs, t: int
) -> float:
    """Assemble and eliminate front t; returns the sign of its determinant, or 0."""
    w = diagonal.shape[1]
    _begin(diagonal, blocks, f, s, t)
    child = f.child[t]
    while child >= 0:
        m = f.edges[child + 1] - f.edges[child]
        runs = _runs(f, s, f.starts[t + 1] - f.starts[t], child)
        _add_rows(f, s, w, t, child, stacked[child] * w * w, (0, m * w, runs))
        child = f.sibling[child]
    return eliminate(s, _front(f, w, t), stacked[t] * w * w)


@jit
def _factorize(diagonal: Floats, blocks: Floats, f: Fronts, s: Store) -> float:
    """Factorise front after front; returns the sign of the determinant, or 0."""
    sign = 1.0
    for t in range(f.starts.size - 1):
        sign *= _one_front(diagonal, blocks, f, s, f.stacked, t)
        if sign == 0.0:
            return 0.0
    return sign


@device
def _branch(diagonal: Floats, blocks: Floats, f: Fronts, s: Store, c: Crew, i: int) -> None:
    """Eliminate branch i of the tree, and write its sign."""
    own = Store(s.lu, s.swaps, s.stack, c.schur[i], c.rows[i], c.tiles[i], c.runs[i])
    c.sign[i] = 1.0
    for k in range(c.starts[i], c.starts[i + 1]):
        c.sign[i] *= _one_front(diagonal, blocks, f, own, c.stacked, c.fronts[k])
        if c.sign[i] == 0.0:
            return


@device
def _room(s: Store, k: int, tile: int) -> Floats:
    """Where a tile of rows of a product over k pivots is made."""
    size = TILE * (2 * TILE + max(TILE, k))
    return s.tiles[tile * size : (tile + 1) * size]


@pjit
def _factorize_together(
    diagonal: Floats, blocks: Floats, f: Fronts, s: Store, c: Crew, packed: Floats
) -> float:
    """Factorise as `_factorize` does, on all threads."""
    w, sign, last = diagonal.shape[1], 1.0, c.starts.size - 1
    for i in prange(last):
        _branch(diagonal, blocks, f, s, c, i)
    for i in range(last):
        sign *= c.sign[i]
    for q in range(c.starts[last], c.fronts.size if sign != 0.0 else 0):
        t = c.fronts[q]
        _begin(diagonal, blocks, f, s, t)
        child = f.child[t]
        while child >= 0:
            m = (f.edges[child + 1] - f.edges[child]) * w
            runs = _runs(f, s, f.starts[t + 1] - f.starts[t], child)
            for tile in prange(-(-m // TILE)):
                part = (tile * TILE, tile * TILE + TILE, runs)
                _add_rows(f, s, w, t, child, c.stacked[child] * w * w, part)
            child = f.sibling[child]
        p, b = (f.starts[t + 1] - f.starts[t]) * w, (f.edges[t + 1] - f.edges[t]) * w
        for k0 in range(0, p, TILE):
            sign *= factor_panel(s, _front(f, w, t), k0)
            if sign == 0.0:
                return 0.0
            for tile in prange(-(-(p + b) // TILE)):
                beside(s, _front(f, w, t), k0, tile * TILE, min(p + b, tile * TILE + TILE))
            right, rows = right_tiles(_front(f, w, t), k0)
            for tile in prange(right):
                pack_right(s, _front(f, w, t), k0, tile, packed)
            for tile in prange(rows):
                update(s, _front(f, w, t), k0, tile, packed, _room(s, TILE, tile))
        for tile in prange(-(-b // TILE)):
            pack_schur(s, _front(f, w, t), tile, packed)
        for tile in prange(-(-b // TILE)):
            own, at = _front(f, w, t), c.stacked[t] * w * w
            update_schur(s, own, at, tile, packed, _room(s, p, tile))
    return sign


@device
def solve_factors(x: Floats, f: Fronts, lu: Floats, swaps: Ints) -> None:
    """Replace x by K⁻¹ x, where x has shape (n, w, columns)."""
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
            some = 0.0
            for k in range(p):
                own[k] = y[q, base + k]
                some += abs(own[k])
            if step < fronts and some == 0.0:  # zeros have nothing to hand on
                continue
            for k in range(b):
                bound[k] = y[q, edge[k // w] * w + k % w]
            if step < fronts:
                for k in range(p):
                    j = k // TILE * TILE + swaps[base + k]
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


@jit
def _solve(x: Floats, f: Fronts, lu: Floats, swaps: Ints) -> None:
    solve_factors(x, f, lu, swaps)


class Elimination:
    """LU of all matrices with one pattern: bodies, and pairs of bodies that touch.

    position  (n, dim) where the bodies are; any numbers give a result, true ones make it fast
    first     (m,) one body of each pair
    second    (m,) the other, or −1 if it is none of the n; a pair may occur more than once
    width     w, the number of unknowns of a body
    """

    def __init__(self, position: Floats, first: Ints, second: Ints, width: int) -> None:
        n, w = len(position), width
        self.shape = (n, w)
        self._fronts, height = dissect(position, first, second, width)
        p = w * np.diff(self._fronts.starts).astype(np.int64)
        b = w * np.diff(self._fronts.edges)
        x, y = p.astype(float), b.astype(float)
        work = x * (2.0 / 3.0 * x * x + 2.0 * x * y + 2.0 * y * y)
        self.flops = float(work.sum())
        self.entries = int((p * (p + 2 * b)).sum())
        self._crew: Crew | None = None
        if self.flops >= TOGETHER:
            self._crew, shared, height = crew(self._fronts, work, p, b)
            p, b = p[shared], b[shared]
        packed, tiles = room(p, b, together=self._crew is not None)
        self._packed = np.empty(packed)
        self._store = Store(
            lu=np.empty(self.entries),
            swaps=np.empty(n * w, np.int32),
            stack=np.empty(height * w * w),
            schur=np.empty(int((b * b).max(initial=0))),
            rows=np.empty(TILE * int(p.max(initial=0))),
            tiles=np.empty(tiles),
            runs=np.empty(n + 1, np.int32),
        )

    def factorize(self, diagonal: Floats, pairs: Floats) -> float:
        """Factorise the matrix with these blocks, and return the sign of its determinant.

        diagonal  (n, w, w) block of each body with itself
        pairs     (m, 2, w, w) blocks (first, second) and (second, first)

        Zero means that a front is singular or not finite, and that there are no factors.
        """
        diagonal = np.ascontiguousarray(diagonal, float)
        pairs = np.ascontiguousarray(pairs, float)
        if self._crew is None:
            return _factorize(diagonal, pairs, self._fronts, self._store)
        import numba

        with numba.parallel_chunksize(1):  # a thread that is done takes what is left
            return _factorize_together(
                diagonal, pairs, self._fronts, self._store, self._crew, self._packed
            )

    @property
    def factors(self) -> tuple[Fronts, Floats, Ints]:
        """The arguments that `solve_factors` needs."""
        return self._fronts, self._store.lu, self._store.swaps

    def solve(self, b: Floats) -> Floats:
        """Solve K x = b with the last factors; b has shape (n, w) or (n, w, columns)."""
        x = np.array(b, float, order="C").reshape(*self.shape, b.shape[2] if b.ndim > 2 else 1)
        _solve(x, *self.factors)
        return x.reshape(b.shape)
