"""One front of an elimination: dense columns and rows, and what is done with them.

A front holds the pivots of a separator or leaf and its boundary (`solve.elimination`). Here are the
steps of its elimination, each as a function over a panel, a tile or a chunk of rows, so that one
thread can make them one after the other, or several threads those that do not touch each other.
Nothing here asks for the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device
from hardgrain.solve.problem import Floats, Ints

__all__ = [
    "TILE", "Front", "Store", "beside", "eliminate", "factor_panel", "pack_right", "pack_schur",
    "right_tiles", "update", "update_schur",
]  # fmt: skip

# [largest entry of the column] The pivot is the diagonal entry unless it is smaller than this. If
# it is larger, stiff and soft rows are mixed and digits are lost, see `solve.elimination`; if it is
# zero, a vanishing diagonal ends the factorisation.
_DIAGONAL = 1e-3
# [rows] Columns of a panel, and edge of the tiles given to BLAS. OpenBLAS multiplies up to 64³ in
# the calling thread; with larger tiles it may use several threads, and the bits would depend on
# their number. Smaller tiles cost more calls.
TILE = 64


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


class Front(NamedTuple):
    """Where a front lies in the store, and its size."""

    at: int  # where its factors begin
    pivots: int
    boundary: int
    swap: int  # where its exchanges begin


class Update(NamedTuple):
    """A product to be subtracted: out = given − aᵀ b, where a is (k, m) and b is (k, n)."""

    out: Flat
    given: Flat
    a: Flat
    b: Flat
    k: int
    m: int
    n: int


@device
def _four(o: Floats, x: Floats, at: int, stride: int, f: tuple[float, float, float, float]) -> None:
    """Subtract four vectors, which lie in x a stride apart, times f from o at once."""
    n = o.size
    a, b, c = x[at:][:n], x[at + stride :][:n], x[at + 2 * stride :][:n]
    d = x[at + 3 * stride :][:n]
    for k in range(n):
        o[k] -= f[0] * a[k] + f[1] * b[k] + (f[2] * c[k] + f[3] * d[k])


@device
def _pack(it: Update, tile: int, packed: Floats) -> None:
    """Copy a tile of columns of b to where it is read as one piece."""
    b, k, j = it.b, it.k, tile * TILE
    w = min(TILE, it.n - j)
    for r in range(k):
        x, y = packed[j * k + r * w :][:w], b.data[b.at + r * b.stride + j :][:w]
        for c in range(w):
            x[c] = y[c]


@device
def _subtract_rows(it: Update, packed: Floats, tile: int, work: Floats) -> None:
    """Make a tile of rows of an update.

    ``packed`` holds its b, tile by tile, and ``work`` has room for TILE (2 TILE + k) numbers.
    """
    out, given, a, _, k, m, n = it
    i, size = tile * TILE, TILE * TILE
    total, part, strip = work[:size], work[size : 2 * size], work[2 * size :]
    h = min(TILE, m - i)
    for r in range(k):
        x, y = strip[r * h :][:h], a.data[a.at + r * a.stride + i :][:h]
        for c in range(h):
            x[c] = y[c]
    for j in range(0, n, TILE):
        w = min(TILE, n - j)
        for r in range(0, k, TILE):
            d = min(TILE, k - r)
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
def _panel(l: Floats, at: int, ld: int, k: int, h: int, swap: Ints) -> float:
    """LU of k contiguous columns of height h; returns the sign of the determinant, or 0."""
    sign = 1.0
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for c in range(c0, c1):
            x = l[at + c * ld :][:h]
            best, p = 0.0, c
            for i in range(c, h):
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
def _below(l: Floats, at: int, ld: int, k: int, r0: int, n: int) -> None:
    """Multiply n rows of a panel of k columns, from row r0 on, by U₁⁻¹."""
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for c in range(c0, c1):
            f, z = 1.0 / l[at + c * ld + c], l[at + c * ld + r0 :][:n]
            for i in range(n):
                z[i] *= f
            for q in range(c + 1, c1):
                f, y = l[at + q * ld + c], l[at + q * ld + r0 :][:n]
                for i in range(n):
                    y[i] -= f * z[i]
        for q in range(c1, k):
            a = at + q * ld + c0
            f = (l[a], l[a + 1], l[a + 2], l[a + 3])
            _four(l[at + q * ld + r0 :][:n], l, at + c0 * ld + r0, ld, f)


@device
def _forward(l: Floats, at: int, ld: int, k: int, x: Flat, n: int) -> None:
    """Replace x by L₁⁻¹ x, where x is (k, n) and L₁ the unit lower triangle of a panel."""
    for c0 in range(0, k, 4):
        c1 = min(k, c0 + 4)
        for q in range(c0, c1):
            y = x.data[x.at + q * x.stride :][:n]
            for c in range(c0, q):
                f, z = l[at + c * ld + q], x.data[x.at + c * x.stride :][:n]
                for i in range(n):
                    y[i] -= f * z[i]
        for q in range(c1, k):
            a = at + c0 * ld + q
            f = (l[a], l[a + ld], l[a + 2 * ld], l[a + 3 * ld])
            _four(x.data[x.at + q * x.stride :][:n], x.data, x.at + c0 * x.stride, x.stride, f)


@device
def beside(s: Store, front: Front, k0: int, q0: int, q1: int) -> None:
    """Do to columns q0 … q1 of a front what its panel from pivot k0 on did to its own pivots.

    Its rows are exchanged, and what lies to the right of the panel is multiplied by L₁⁻¹. The
    columns of the pivots come first, then those of the boundary, with which rows of L go along.
    """
    at, p, b, swap = front
    n, u0, k1 = p + b, at + p * (p + b), min(p, k0 + TILE)
    k, more, l0 = k1 - k0, p - k1, at + k0 * n + k0
    for c in range(k):
        i, j = k0 + c, k0 + s.swaps[swap + k0 + c]
        if i != j:
            for q in range(q0, min(q1, p)):
                if q < k0 or q >= k1:
                    x = at + q * n
                    s.lu[x + i], s.lu[x + j] = s.lu[x + j], s.lu[x + i]
            for q in range(u0 + max(q0, p) - p, u0 + q1 - p):
                s.lu[q + i * b], s.lu[q + j * b] = s.lu[q + j * b], s.lu[q + i * b]
    first, last = max(q0, k1), min(q1, p)
    if first < last:
        for q in range(first, last):
            for c in range(k):
                s.rows[c * more + q - k1] = s.lu[at + q * n + k0 + c]
        _forward(s.lu, l0, n, k, Flat(s.rows, first - k1, more), last - first)
        for q in range(first, last):
            for c in range(k):
                s.lu[at + q * n + k0 + c] = s.rows[c * more + q - k1]
    first = max(q0, p)
    if first < q1:
        _forward(s.lu, l0, n, k, Flat(s.lu, u0 + k0 * b + first - p, b), q1 - first)
        _below(s.lu, l0, n, k, first - k0, q1 - first)


@device
def _updates(s: Store, front: Front, k0: int) -> tuple[Update, Update]:
    """What a panel does to later pivots: in their own columns, and in those of the boundary."""
    at, p, b, _ = front
    n, u0, k1 = p + b, at + p * (p + b), min(p, k0 + TILE)
    k, more = k1 - k0, p - k1
    left = Flat(s.lu, at + k0 * n + k1, n)
    own, edge = Flat(s.lu, at + k1 * n + k1, n), Flat(s.lu, u0 + k1 * b, b)
    return (
        Update(own, own, Flat(s.rows, 0, more), left, k, more, n - k1),
        Update(edge, edge, left, Flat(s.lu, u0 + k0 * b, b), k, more, b),
    )


@device
def right_tiles(front: Front, k0: int) -> tuple[int, int]:
    """The number of tiles that `pack_right` and `update` are to be called for."""
    p, n = front.pivots, front.pivots + front.boundary
    k1 = min(p, k0 + TILE)
    if k1 == p:
        return 0, 0
    return -(-(n - k1) // TILE) - (-front.boundary // TILE), 2 * -(-(p - k1) // TILE)


@device
def pack_right(s: Store, front: Front, k0: int, tile: int, packed: Floats) -> None:
    """Make a tile of what the panel from pivot k0 on multiplies ready for `update`."""
    own, edge = _updates(s, front, k0)
    tiles = -(-own.n // TILE)
    if tile < tiles:
        _pack(own, tile, packed)
    else:
        _pack(edge, tile - tiles, packed[own.k * own.n :])


@device
def update(s: Store, front: Front, k0: int, tile: int, packed: Floats, work: Floats) -> None:
    """Subtract from a tile of rows of later pivots what the panel from pivot k0 on gives them."""
    own, edge = _updates(s, front, k0)
    tiles = -(-own.m // TILE)
    if tile < tiles:
        _subtract_rows(own, packed, tile, work)
    else:
        _subtract_rows(edge, packed[own.k * own.n :], tile - tiles, work)


@device
def _schur(s: Store, front: Front, stacked: int) -> Update:
    """What all pivots of a front do to its boundary."""
    at, p, b, _ = front
    left, right = Flat(s.lu, at + p, p + b), Flat(s.lu, at + p * (p + b), b)
    return Update(Flat(s.stack, stacked, b), Flat(s.schur, 0, b), left, right, p, b, b)


@device
def pack_schur(s: Store, front: Front, tile: int, packed: Floats) -> None:
    """Make a tile of the rows U ready for `update_schur`."""
    _pack(_schur(s, front, 0), tile, packed)


@device
def update_schur(s: Store, front: Front, at: int, tile: int, packed: Floats, work: Floats) -> None:
    """Write a tile of rows of the Schur complement to the stack, from ``at`` on."""
    _subtract_rows(_schur(s, front, at), packed, tile, work)


@device
def factor_panel(s: Store, front: Front, k0: int) -> float:
    """LU of the pivots of the panel from k0 on; returns the sign of its determinant, or 0."""
    at, p, b, swap = front
    n, k1 = p + b, min(p, k0 + TILE)
    swaps = s.swaps[swap + k0 : swap + k1]
    return _panel(s.lu, at + k0 * n + k0, n, k1 - k0, p - k0, swaps)


@device
def eliminate(s: Store, front: Front, stacked: int) -> float:
    """Eliminate a front by one thread; returns the sign of its determinant, or 0."""
    sign, p, b = 1.0, front.pivots, front.boundary
    room = TILE * (2 * TILE + max(TILE, p))
    work, packed = s.tiles[:room], s.tiles[room:]
    for k0 in range(0, p, TILE):
        sign *= factor_panel(s, front, k0)
        if sign == 0.0:
            return 0.0
        beside(s, front, k0, 0, p + b)
        right, rows = right_tiles(front, k0)
        for tile in range(right):
            pack_right(s, front, k0, tile, packed)
        for tile in range(rows):
            update(s, front, k0, tile, packed, work)
    for tile in range(-(-b // TILE)):
        pack_schur(s, front, tile, packed)
    for tile in range(-(-b // TILE)):
        update_schur(s, front, stacked, tile, packed, work)
    return sign
