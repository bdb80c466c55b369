"""The periodic cell that deforms as matrices, for compiled functions; see `hardgrain.core.cell`."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import jit

__all__ = [
    "gradient", "lost_by", "matrix", "put_numbers", "reduce_tilts", "since", "strain_norm",
]  # fmt: skip


@jit
def matrix(numbers):
    """The upper triangle (dim, dim) that has these numbers."""
    dim = 2 if numbers.size == 3 else 3
    h = np.zeros((dim, dim))
    for a in range(dim):
        h[a, a] = numbers[a]
    h[0, 1] = numbers[numbers.size - 1]
    if dim == 3:
        h[1, 2], h[0, 2] = numbers[3], numbers[4]
    return h


@jit
def put_numbers(h, numbers):
    """Write the numbers of an upper triangle."""
    for a in range(h.shape[0]):
        numbers[a] = h[a, a]
    numbers[numbers.size - 1] = h[0, 1]
    if h.shape[0] == 3:
        numbers[3], numbers[4] = h[1, 2], h[0, 2]


@jit
def gradient(velocity, spin):
    """L (dim, dim), from velocities and spins of all bodies, of which the cell is the last."""
    dim, ns, cell = velocity.shape[1], spin.shape[1], velocity.shape[0] - 1
    numbers = np.empty(dim + ns)
    for a in range(dim):
        numbers[a] = velocity[cell, a]
    for a in range(ns):
        numbers[dim + a] = spin[cell, a]
    return matrix(numbers)


@jit
def reduce_tilts(form, near):
    """Write the numbers ``near`` of the same lattice with tilts of at most half a period."""
    near[:] = form
    xx, yy, xy = near[0], near[1], near.size - 1
    if xx > 0.0:
        near[xy] -= math.floor(near[xy] / xx + 0.5) * xx
    if near.size > 3:
        if yy > 0.0:
            turns = math.floor(near[3] / yy + 0.5)
            near[3], near[4] = near[3] - turns * yy, near[4] - turns * near[xy]
        if xx > 0.0:
            near[4] -= math.floor(near[4] / xx + 0.5) * xx


@jit
def since(now, made):
    """F (dim, dim) with F made = now, for two matrices of a cell; 1 along axes that are open."""
    dim = now.shape[0]
    f = np.zeros((dim, dim))
    for a in range(dim):
        for b in range(a, dim):
            rest = now[a, b]
            for c in range(a, b):
                rest -= f[a, c] * made[c, b]
            open_axis = 1.0 if a == b else 0.0
            f[a, b] = rest / made[b, b] if made[b, b] > 0.0 else open_axis
    return f


# Two grains that were r apart are F r apart by the motion of the cell alone, and
# |F r| ≥ r·F r/|r| ≥ (1 − lost) |r|, with lost the norm of the symmetric part of F − 1.
@jit
def lost_by(f):
    """The largest share of a distance that a deformation may take away."""
    square = 0.0
    for a in range(f.shape[0]):
        square += (f[a, a] - 1.0) ** 2
        for b in range(a + 1, f.shape[0]):
            square += 0.5 * f[a, b] ** 2
    return math.sqrt(square)


@jit
def strain_norm(rate):
    """A bound on |L l|/|l|: the root of the largest sums of a row and of a column of L."""
    rows, columns = 0.0, 0.0
    for a in range(rate.shape[0]):
        row, column = 0.0, 0.0
        for b in range(rate.shape[0]):
            row, column = row + abs(rate[a, b]), column + abs(rate[b, a])
        rows, columns = max(rows, row), max(columns, column)
    return math.sqrt(rows * columns)
