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

The order of all sums is fixed, and products are cut into tiles that BLAS multiplies in one thread,
so that the bits are the same on any number of threads. All functions are compiled into one kernel
(`device`): if one kernel called another, the process that compiles them and those that load them
later might run different code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.dissection import Fronts, dissect
from hardgrain.solve.problem import Floats, Ints

__all__ = ["Elimination", "solve_factors"]

# [largest entry of the column] The pivot is the diagonal entry unless it is smaller than this. If
# it is larger, stiff and soft rows are mixed and digits are lost, see above; if it is zero, a
# vanishing diagonal ends the factorisation.
_DIAGONAL = 1e-3
# [rows] Columns of a panel, and edge of the tiles given to BLAS. OpenBLAS multiplies up to 64³ in
# the calling thread; with larger tiles it may use several threads, and the bits would depend on
# their number. Smaller tiles cost more calls.
_TILE = 64


class Store(NamedTuple):
    """The memory of a factorisation, which the next one uses again."""

    lu: Floats  # for each front the columns [A, L]ᵀ, then the rows U
    swaps: Ints  # (n w,) the row exchanged with each pivot, counted from its panel
    stack: Floats  # Schur complements that wait for their front
    schur: Floats  # the Schur complement that is being assembled
    rows: Floats  # rows of U₁ to the right of a panel
    tiles: Floats  # operands of a product, cut into tiles
    runs: Ints  # where slots of a Schur complement that follow each other begin


class Flat(NamedTuple):
    """A matrix by rows within a flat array."""

    data: Floats
    at: int  # where the first row begins
    stride: int  # from one row to the next


@device
def _four(o: Floats, x: Floats, at: int, stride: int, f: tuple[float, float, float, float]) -> None:
    """Subtract four vectors, which lie in x a stride apart, times f from o at once."""
    n = o.size
    a, b, c = x[at:][:n], x[at + stride :][:n], x[at + 2 * stride :][:n]
    d = x[at + 3 * stride :][:n]
    for k in range(n):
        o[k] -= f[0] * a[k] + f[1] * b[k] + (f[2] * c[k] + f[3] * d[k])


@device
def _subtract(
    out: Flat, given: Flat, a: Flat, b: Flat, shape: tuple[int, int, int], tiles: Floats
) -> None:
    """Write out = given − aᵀ b, where a is (k, m) and b is (k, n); ``shape`` is (k, m, n)."""
    k, m, n = shape
    size = _TILE * _TILE
    total, part = tiles[:size], tiles[size : 2 * size]
    strip, packed = tiles[2 * size : 2 * size + k * _TILE], tiles[2 * size + k * _TILE :]
    for j in range(0, n, _TILE):
        w = min(_TILE, n - j)
        for r in range(k):
            x, y = packed[j * k + r * w :][:w], b.data[b.at + r * b.stride + j :][:w]
            for c in range(w):
                x[c] = y[c]
    for i in range(0, m, _TILE):
        h = min(_TILE, m - i)
        for r in range(k):
            x, y = strip[r * h :][:h], a.data[a.at + r * a.stride + i :][:h]
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
                x = out.data[out.at + (i + r) * out.stride + j :][:w]
                y = given.data[given.at + (i + r) * given.stride + j :][:w]
                z = total[r * w :][:w]
                for c in range(w):
                    x[c] = y[c] - z[c]


@device
def _panel(l: Floats, at: int, ld: int, k: int, h: int, rows: int, swap: Ints) -> float:
    """LU of k columns of height h, each contiguous, with pivots from the first ``rows`` rows.

    Returns the sign of the determinant of the pivots, or 0 if they are singular.
    """
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
        # Subtracting four columns at once from each later one saves three of four loads and stores.
        for q in range(c1, k):
            a = at + c0 * ld
            y = l[at + q * ld + c0 :][: h - c0]
            for i in range(1, 4):
                for c in range(i):
                    y[i] -= l[a + c * ld + c0 + i] * y[c]
            _four(y[4:], l, a + c1, ld, (y[0], y[1], y[2], y[3]))
    return sign


@device
def _forward(l: Floats, at: int, ld: int, k: int, x: Floats, n: int) -> None:
    """Replace x by L₁⁻¹ x, where x is (k, n) and L₁ the unit lower triangle of a panel."""
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for q in range(c0, c1):
            y = x[q * n :][:n]
            for c in range(c0, q):
                f, z = l[at + c * ld + q], x[c * n :][:n]
                for i in range(n):
                    y[i] -= f * z[i]
        for q in range(c1, k):
            a = at + c0 * ld + q
            f = (l[a], l[a + ld], l[a + 2 * ld], l[a + 3 * ld])
            _four(x[q * n :][:n], x, c0 * n, n, f)


@device
def _eliminate(
    lu: Floats, at: int, p: int, b: int, swaps: Ints, rows: Floats, tiles: Floats
) -> float:
    """LU of the pivots of a front, panel by panel; returns the sign of their determinant, or 0."""
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
            left = Flat(lu, at + k0 * n + k1, n)
            own = Flat(lu, at + k1 * n + k1, n)
            _subtract(own, own, Flat(rows, 0, rest), left, (k, rest, n - k1), tiles)
            edge = Flat(lu, u0 + k1 * b, b)
            _subtract(edge, edge, left, Flat(lu, u0 + k0 * b, b), (k, rest, b), tiles)
    return sign


@device
def _assemble(diagonal: Floats, blocks: Floats, f: Fronts, s: Store, t: int) -> None:
    """Fill front t with its bodies, its pairs, and the Schur complements of its children."""
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
    """Factorise front after front; returns the sign of the determinant, or 0."""
    w, sign = diagonal.shape[1], 1.0
    for t in range(f.starts.size - 1):
        p, b = (f.starts[t + 1] - f.starts[t]) * w, (f.edges[t + 1] - f.edges[t]) * w
        at, n = f.offset[t], p + b
        _assemble(diagonal, blocks, f, s, t)
        swaps = s.swaps[f.starts[t] * w :][:p]
        sign *= _eliminate(s.lu, at, p, b, swaps, s.rows, s.tiles)
        if sign == 0.0:
            return 0.0
        left, right = Flat(s.lu, at + p, n), Flat(s.lu, at + p * n, b)
        stack, schur = Flat(s.stack, f.stacked[t] * w * w, b), Flat(s.schur, 0, b)
        _subtract(stack, schur, left, right, (p, b, b), s.tiles)
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
        self.flops = float((x * (2.0 / 3.0 * x * x + 2.0 * x * y + 2.0 * y * y)).sum())
        self.entries = int((p * (p + 2 * b)).sum())
        most = int(np.maximum(p, b).max(initial=0))
        self._store = Store(
            lu=np.empty(self.entries),
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
        """Factorise the matrix with these blocks, and return the sign of its determinant.

        diagonal  (n, w, w) block of each body with itself
        pairs     (m, 2, w, w) blocks (first, second) and (second, first)

        Zero means that a front is singular or not finite, and that there are no factors.
        """
        return _factorize(
            np.ascontiguousarray(diagonal, float), np.ascontiguousarray(pairs, float),
            self._fronts, self._store,
        )  # fmt: skip

    @property
    def factors(self) -> tuple[Fronts, Floats, Ints]:
        """The arguments that `solve_factors` needs."""
        return self._fronts, self._store.lu, self._store.swaps

    def solve(self, b: Floats) -> Floats:
        """Solve K x = b with the last factors; b has shape (n, w) or (n, w, columns)."""
        x = np.array(b, float, order="C").reshape(*self.shape, b.shape[2] if b.ndim > 2 else 1)
        _solve(x, *self.factors)
        return x.reshape(b.shape)
