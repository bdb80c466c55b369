"""What the rigid solver's factors are made of: dense fronts, counted and not timed.

The matrices have a row for each component of a body's velocity, and are eliminated front by front
(`solve.dissection`). Bodies are grids moved at random, with the contacts of an isostatic packing: a
sphere touches six others, a disk four. What a GPU could take of the work is that in large fronts.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Figure
from hardgrain.solve.dissection import dissect

# bodies along an edge of the grid, by dimension
SIDES = {2: (32, 100, 316), 3: (10, 16, 22, 32, 46)}
LARGE = (128, 512, 2048)  # [rows] of pivots and boundary together


def run(quick: bool) -> list[Figure]:
    sides = {2: (10,), 3: (5,)} if quick else SIDES
    return [_figure(dim, side) for dim, some in sides.items() for side in some]


def _figure(dim: int, side: int) -> Figure:
    rows = 3 * dim - 3
    pivots, boundary = fronts(dim, side)
    p, b = rows * pivots, rows * boundary
    work = p * (2.0 / 3.0 * p * p + 2.0 * p * b + 2.0 * b * b)
    share = ", ".join(f"{work[p + b >= rows].sum() / work.sum():.0%} ≥ {rows}" for rows in LARGE)
    top = int(np.argmax(work))
    return Figure(
        f"operations of a factorisation, {side**dim} {'disks' if dim == 2 else 'spheres'}",
        float(work.sum()) / 1e9,
        unit="10⁹",
        detail=f"{8.0 * float((p * (p + 2 * b)).sum()) / 2**30:.3g} GiB of factors in {p.size}"
        f" fronts; by rows of the front: {share}; the one that takes most has {int(p[top])} pivots"
        f" and a boundary of {int(b[top])}, {work[top] / work.sum():.0%} of all",
    )


def fronts(dim: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Bodies that are pivots, and bodies of the boundary, of each front."""
    rng = np.random.default_rng(side)
    number = np.arange(side**dim).reshape((side,) * dim)
    position = np.stack(np.unravel_index(np.arange(side**dim), number.shape), axis=1)
    pairs = [
        np.stack([np.delete(number, -1, a).ravel(), np.delete(number, 0, a).ravel()])
        for a in range(dim)
    ]
    first, second = np.concatenate(pairs, axis=1).astype(np.int32)
    moved = position + rng.uniform(-0.3, 0.3, position.shape)
    found, _ = dissect(moved, first, second, 3 * dim - 3)
    return np.diff(found.starts).astype(float), np.diff(found.edges).astype(float)
