"""The shortest way between two sets of corners in exact arithmetic.

Numbers of a computer are whole multiples of a power of two, so whole numbers hold the differences
of corners without any rounding. On these the algorithm of Wolfe (Mathematical Programming 11, 128,
1976) finds the point v of their hull that is nearest to the origin: to a simplex that holds v the
corner w with the smallest v·w is added, and v moves towards the nearest point of the plane through
all of them, giving up corners whose weights become zero on the way. In exact arithmetic it ends
with v·w = v², which proves v: no tolerance is chosen anywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = tuple[int, int, int]


def _whole(rows: Floats, unit: int) -> list[Whole]:
    """Rows as whole multiples of 1/unit."""
    found = []
    for row in rows.tolist():
        x, y, z = (top * (unit // bottom) for top, bottom in map(float.as_integer_ratio, row))
        found.append((x, y, z))
    return found


def _dot(p: Whole, q: Whole) -> int:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


def _flat_weights(corners: list[Whole]) -> list[Fraction]:
    """Weights of the point nearest to the origin of the plane through independent corners."""
    p, *others = corners
    sides = [(q[0] - p[0], q[1] - p[1], q[2] - p[2]) for q in others]
    # normal equations of sides, solved by elimination: symmetric, positive, so any pivot does
    rows = [[Fraction(_dot(e, f)) for f in sides] + [Fraction(-_dot(e, p))] for e in sides]
    for k, pivot in enumerate(rows):
        for l, row in enumerate(rows):
            if l != k and row[k]:
                factor = row[k] / pivot[k]
                rows[l] = [x - factor * y for x, y in zip(row, pivot)]
    found = [row[-1] / row[k] for k, row in enumerate(rows)]
    return [1 - sum(found, Fraction(0)), *found]


def _point(corners: list[Whole], weights: list[Fraction]) -> tuple[Whole, int]:
    """A weighted mean as whole numbers and their common denominator."""
    bottom = math.lcm(*(w.denominator for w in weights))
    tops = [w.numerator * (bottom // w.denominator) for w in weights]
    x, y, z = (sum(t * c[d] for t, c in zip(tops, corners)) for d in range(3))
    return (x, y, z), bottom


def shortest(a: Floats, b: Floats, apart: Floats) -> tuple[float, Floats]:
    """Distance of the hulls of ``a`` and ``b + apart``, rows (k, 3), and its direction (3,).

    Both are rounded once, at the end. Hulls that touch have the distance zero and no direction.
    """
    every = np.concatenate([a, b, apart[None]])
    unit = max(bottom for _, bottom in map(float.as_integer_ratio, every.ravel().tolist()))
    (shift,) = _whole(apart[None], unit)
    firsts = set(_whole(a, unit))
    seconds = {(x + shift[0], y + shift[1], z + shift[2]) for x, y, z in _whole(b, unit)}
    differences = sorted({(q[0] - p[0], q[1] - p[1], q[2] - p[2]) for p in firsts for q in seconds})
    simplex = [min(differences, key=lambda w: _dot(w, w))]
    weights, v, bottom = [Fraction(1)], simplex[0], 1
    while True:
        w = min(differences, key=lambda w: _dot(v, w))
        if v == (0, 0, 0) or bottom * _dot(v, w) >= _dot(v, v):
            break
        simplex.append(w)
        weights.append(Fraction(0))
        while True:
            target = _flat_weights(simplex)
            if min(target) > 0:
                break
            share = min(u / (u - t) for u, t in zip(weights, target) if t <= 0)
            weights = [u + share * (t - u) for u, t in zip(weights, target)]
            kept = [k for k, u in enumerate(weights) if u > 0]
            simplex, weights = [simplex[k] for k in kept], [weights[k] for k in kept]
        weights = target
        v, bottom = _point(simplex, weights)
    length = math.sqrt(Fraction(_dot(v, v), (bottom * unit) ** 2))
    if length == 0.0:
        return 0.0, np.zeros(3)
    return length, np.array([float(Fraction(x, bottom * unit)) for x in v]) / length
