"""The periodic cell that deforms, eliminated after all other bodies.

The cell touches every grain, and a nested dissection that holds it would have it in every front. It
has only three or six components, so they are kept apart from the bodies, as a border of the matrix:

    K = ( A  B )      A: the bodies (`solve.elimination`)     B = h_bᵀ D h_c
        ( C  E )      E = M_c + h_cᵀ D h_c                    C = h_cᵀ D h_b

C is not the transpose of B, since with friction D is not symmetric. With Y = A⁻¹ B and the Schur
complement S = E − C Y, the solution of K x = b is

    x_c = S⁻¹ (b_c − C A⁻¹ b_b),    x_b = A⁻¹ b_b − Y x_c,    det K = det A · det S.

So a factorisation costs one solve with three or six right-hand sides more, and a solve hardly more
than without the cell. A component that is prescribed has no levers: its row of K is that of an
inertia of 1, which nothing couples to the others. Where no cell deforms, the border has no columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.elimination import solve_factors
from hardgrain.solve.problem import Floats

__all__ = ["Border", "add_border", "bordered", "closed_border", "solve_bordered"]


class Border(NamedTuple):
    """The border of K, and what is made of it; c is the number of its columns."""

    across: Floats  # (n, size, c) B, then Y
    back: Floats  # (c, n, size) C
    own: Floats  # (c, c) E, then S⁻¹


@jit
def add_border(lever, body, mass, d, border):
    """Write B, C and E; ``mass`` (c,) is that of the cell, the third body of each contact."""
    across, back, own = border
    m, _, dim, size = lever.shape
    across[:] = 0.0
    back[:] = 0.0
    own[:] = 0.0
    for a in range(size):
        own[a, a] = mass[a]
    dh, hd = np.empty((dim, size)), np.empty((size, dim))
    for k in range(m):
        if body[k, 2] < 0:
            continue
        for e in range(dim):
            for a in range(size):
                x, y = 0.0, 0.0
                for g in range(dim):
                    x += d[k, e, g] * lever[k, 2, g, a]
                    y += lever[k, 2, g, a] * d[k, g, e]
                dh[e, a], hd[a, e] = x, y
        for e in range(dim):
            for a in range(size):
                for b in range(size):
                    own[a, b] += lever[k, 2, e, a] * dh[e, b]
        for side in range(2):
            i = body[k, side]
            if i >= 0:
                for e in range(dim):
                    for a in range(size):
                        for b in range(size):
                            across[i, a, b] += lever[k, side, e, a] * dh[e, b]
                            back[a, i, b] += hd[a, e] * lever[k, side, e, b]


@jit
def complement(border, solved):
    """Take Y, which is ``solved``, for B, and write S = E − C Y."""
    across, back, own = border
    n, size, wide = across.shape
    across[:] = solved
    for a in range(wide):
        for i in range(n):
            for c in range(size):
                for b in range(wide):
                    own[a, b] -= back[a, i, c] * across[i, c, b]


def closed_border(border: Border, solved: Floats) -> float:
    """Make the border ready for solves, given Y; return the sign of det S, 0 if it is singular."""
    complement(border, solved)
    if not np.isfinite(border.own).all():
        return 0.0
    sign = float(np.linalg.slogdet(border.own)[0])
    if sign != 0.0:
        border.own[:] = np.linalg.inv(border.own)
    return sign


@device
def bordered(x, border, fronts, lu, swaps):
    """Replace x by K⁻¹ x, where x has shape (bodies, size, 1), the cell last."""
    across, back, own = border
    n, size, wide = across.shape
    solve_factors(x[:n], fronts, lu, swaps)
    for a in range(wide):
        for i in range(n):
            for c in range(size):
                x[n, a, 0] -= back[a, i, c] * x[i, c, 0]
    if wide > 0:
        right = x[n, :, 0].copy()
        for a in range(wide):
            total = 0.0
            for b in range(wide):
                total += own[a, b] * right[b]
            x[n, a, 0] = total
    for i in range(n):
        for c in range(size):
            for a in range(wide):
                x[i, c, 0] -= across[i, c, a] * x[n, a, 0]


@jit
def solve_bordered(x, border, fronts, lu, swaps):
    """Replace x by K⁻¹ x, as `bordered` does."""
    bordered(x, border, fronts, lu, swaps)
