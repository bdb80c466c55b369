"""How grains move the periodic cell, and how it carries them; see `point.cell`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.cell import make_triangles

__all__ = [
    "BEFORE", "CHANGE", "FREE", "INVERSE", "MOMENT", "RATE", "ROWS", "START", "make_motion",
]  # fmt: skip

# Rows of what is known of the cell, a column for each component: L, its inverse inertia, L at the
# start of the step and without contacts, how L changes and has changed, Σ m u ⊗ x without contacts,
# Σ m x ⊗ x.
RATE, INVERSE, BEFORE, FREE, CHANGE, START, MOMENT, ROWS = range(8)


@cache
def make_motion(jit: Callable[..., Any], ordered: Callable[..., Any], dim: int) -> SimpleNamespace:
    """Compile with ``jit`` how grains move the cell, and how it carries them.

    ordered: the same for sums that stay in their order. A compiler that may add up in any would
    collect the numbers of several grains in one register first, which takes longer.
    """
    triangles = make_triangles(jit)
    times_2d, dyad_2d = triangles.times_2d, triangles.dyad_2d
    times_3d, dyad_3d = triangles.times_3d, triangles.dyad_3d

    # Two sums at a time, so that none waits for the other.
    @ordered
    def momenta_2d(p):
        """Σ m u ⊗ x of all grains."""
        xx = yy = xy = odd_xx = odd_yy = odd_xy = 0.0
        n = p.q.shape[0]
        for i in range(0, n - 1, 2):
            a, b, c = dyad_2d(p.b[i, 0], p.b[i, 1], p.q[i, 0], p.q[i, 1])
            xx, yy, xy = xx + a, yy + b, xy + c
            a, b, c = dyad_2d(p.b[i + 1, 0], p.b[i + 1, 1], p.q[i + 1, 0], p.q[i + 1, 1])
            odd_xx, odd_yy, odd_xy = odd_xx + a, odd_yy + b, odd_xy + c
        if n % 2:
            a, b, c = dyad_2d(p.b[n - 1, 0], p.b[n - 1, 1], p.q[n - 1, 0], p.q[n - 1, 1])
            xx, yy, xy = xx + a, yy + b, xy + c
        return xx + odd_xx, yy + odd_yy, xy + odd_xy

    @ordered
    def momenta_3d(p):
        """The same in 3D, which has sums enough."""
        xx = yy = zz = yz = xz = xy = 0.0
        for i in range(p.q.shape[0]):
            a, b, c, d, e, f = dyad_3d(
                p.b[i, 0], p.b[i, 1], p.b[i, 2], p.q[i, 0], p.q[i, 1], p.q[i, 2]
            )
            xx, yy, zz, yz, xz, xy = xx + a, yy + b, zz + c, yz + d, xz + e, xy + f
        return xx, yy, zz, yz, xz, xy

    # ΔL stays in registers, and all of a grain is read before anything is written: a compiler must
    # assume that what is written to one array might change what is read from another.
    @jit
    def carry_2d(p):
        """Let all grains move with ΔL x beyond what they do."""
        xx, yy, xy = p.cell[CHANGE, 0], p.cell[CHANGE, 1], p.cell[CHANGE, 2]
        for i in range(p.q.shape[0]):
            (x, y), (u, v) = (p.x[i, 0], p.x[i, 1]), (p.b[i, 0], p.b[i, 1])
            p.b[i, 0], p.b[i, 1] = u + xx * x + xy * y, v + yy * y

    @jit
    def carry_3d(p):
        """The same in 3D."""
        xx, yy, zz = p.cell[CHANGE, 0], p.cell[CHANGE, 1], p.cell[CHANGE, 2]
        yz, xz, xy = p.cell[CHANGE, 3], p.cell[CHANGE, 4], p.cell[CHANGE, 5]
        for i in range(p.q.shape[0]):
            x, y, z = p.x[i, 0], p.x[i, 1], p.x[i, 2]
            u, v, w = p.b[i, 0], p.b[i, 1], p.b[i, 2]
            p.b[i, 0] = u + xx * x + xy * y + xz * z
            p.b[i, 1] = v + yy * y + yz * z
            p.b[i, 2] = w + zz * z

    # (a, b, c): the columns of a symmetric matrix in the order of Voigt, from the left.
    @jit
    def product_2d(p, row, of):
        """The triangle of a triangle times a symmetric matrix, both rows of the cell."""
        a = times_2d(p.cell, row, p.cell[of, 0], p.cell[of, 2])
        b = times_2d(p.cell, row, p.cell[of, 2], p.cell[of, 1])
        return a[0], b[1], b[0]

    @jit
    def product_3d(p, row, of):
        """The same in 3D."""
        a = times_3d(p.cell, row, p.cell[of, 0], p.cell[of, 5], p.cell[of, 4])
        b = times_3d(p.cell, row, p.cell[of, 5], p.cell[of, 1], p.cell[of, 3])
        c = times_3d(p.cell, row, p.cell[of, 4], p.cell[of, 3], p.cell[of, 2])
        return a[0], b[1], c[2], c[1], c[0], b[0]

    # Sums of triangles that stay in registers.
    @jit
    def plus_2d(a, b):
        """The sum of two triangles."""
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]

    @jit
    def plus_3d(a, b):
        """The same in 3D."""
        return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]

    # What follows is given three components in 2D too, of which the last is zero.
    @jit
    def dyad_flat(x, y, z, u, v, w):
        """P ⊗ l."""
        return dyad_2d(x, y, u, v)

    @jit
    def times_flat(cell, row, x, y, z):
        """L l."""
        x, y = times_2d(cell, row, x, y)
        return x, y, 0.0

    of_2d = {
        "momenta": momenta_2d, "carry": carry_2d, "product": product_2d, "plus": plus_2d,
        "dyad": dyad_flat, "times": times_flat,
    }  # fmt: skip
    of_3d = {
        "momenta": momenta_3d, "carry": carry_3d, "product": product_3d, "plus": plus_3d,
        "dyad": dyad_3d, "times": times_3d,
    }  # fmt: skip
    return SimpleNamespace(**(of_2d if dim == 2 else of_3d))
