"""Checks of corners that a user gave: each refusal says which corner is wrong and why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.scene.polytope import CLOSE, Part, hull

__all__ = ["check_apart", "check_points", "check_polygon", "check_polyhedron"]

Floats = NDArray[np.float64]


def check_points(points: Sequence[Sequence[float]], dim: int, name: str, what: str) -> Floats:
    """Points as an array (k, dim)."""
    for k, point in enumerate(points):
        if len(point) != dim:
            raise ValueError(
                f"{name}[{k}] is {list(point)}, with {len(point)} number(s); points of {what} have"
                f" {dim}"
            )
    x = np.array(points, float)
    if len(x) > 1 and not 1e-100 < np.ptp(x, axis=0).max() < 1e100:
        raise ValueError(
            f"{name} spans {np.ptp(x, axis=0).max():g}; give points that do not coincide, in other"
            " units if need be"
        )
    return x


def _refuse_few_or_twice(x: Floats, name: str, least: int) -> None:
    if len(x) < least:
        raise ValueError(f"{name} lists {len(x)} point(s); it needs at least {least}")
    size = np.ptp(x, axis=0).max()
    for i, j in itertools.combinations(range(len(x)), 2):
        if np.abs(x[i] - x[j]).max() < CLOSE * size:
            raise ValueError(
                f"{name}[{j}] is {x[j].tolist()}, the same point as {name}[{i}]; give each corner"
                " once"
            )


def check_polygon(x: Floats, name: str = "corners") -> None:
    """Refuse corners (k, 2) that are not those of a convex polygon in their order."""
    _refuse_few_or_twice(x, name, 3)
    k, size = len(x), float(np.ptp(x, axis=0).max())
    x = x / size
    side = np.roll(x, -1, axis=0) - x
    if np.linalg.svd(x - x.mean(axis=0), compute_uv=False)[1] < CLOSE:
        raise ValueError(f"{name} lie on a line; a polygon has an area greater than 0")
    for i, j in itertools.combinations(range(k), 2):
        if (i + 1) % k != j and (j + 1) % k != i and _cross(x, side, i, j):
            raise ValueError(
                f"{name} are in the wrong order: the side from {name}[{i}] to {name}[{(i + 1) % k}]"
                f" crosses that from {name}[{j}] to {name}[{(j + 1) % k}]; list them around the"
                " polygon"
            )
    last = np.roll(side, 1, axis=0)
    turn = last[:, 0] * side[:, 1] - last[:, 1] * side[:, 0]
    sense = np.sign(np.sum(x[:, 0] * np.roll(x[:, 1], -1) - x[:, 1] * np.roll(x[:, 0], -1)))
    lengths = np.linalg.norm(last, axis=1) + np.linalg.norm(side, axis=1)
    for c in range(k):
        here = f"{name}[{c}] is {(size * x[c]).tolist()}"
        if abs(turn[c]) < CLOSE * lengths[c]:
            raise ValueError(f"{here}, on a straight line with the corners beside it; leave it out")
        if turn[c] * sense < 0.0:
            raise ValueError(
                f"{here}, where the polygon is not convex; leave the corner out, or build the grain"
                " as a clump with convex parts"
            )


def _cross(x: Floats, side: Floats, i: int, j: int) -> bool:
    """Whether two sides of a polygon that are no neighbours have a point in common."""

    def left(k: int, p: Floats) -> float:
        d = p - x[k]
        return float(side[k, 0] * d[1] - side[k, 1] * d[0])

    a, b = left(i, x[j]), left(i, x[j] + side[j])
    c, d = left(j, x[i]), left(j, x[i] + side[i])
    return a * b <= 0.0 and c * d <= 0.0 and (a, b) != (0.0, 0.0)


def check_polyhedron(x: Floats, name: str = "corners") -> None:
    """Refuse points (k, 3) that are not all corners of their hull."""
    _refuse_few_or_twice(x, name, 4)
    size = float(np.ptp(x, axis=0).max())
    if np.linalg.svd((x - x.mean(axis=0)) / size, compute_uv=False)[2] < CLOSE:
        raise ValueError(f"{name} lie in a plane; a polyhedron has a volume greater than 0")
    part = hull(x)
    if len(part.corner) == len(x):
        return
    known = {tuple(corner) for corner in part.corner.tolist()}
    k = next(k for k, point in enumerate(x.tolist()) if tuple(point) not in known)
    raise ValueError(
        f"{name}[{k}] is {x[k].tolist()}, which is no corner of the convex hull of all; leave it"
        " out, or build the grain as a clump with convex parts"
    )


def check_apart(parts: Sequence[Part], dim: int) -> None:
    """Refuse sharp parts that overlap: their volumes would count twice."""
    from scipy.optimize import linprog

    size = max(float(np.abs(part.corner).max()) for part in parts)
    planes = [
        (p.normal[:, :dim], np.array([n @ p.corner[rim[0]] for n, rim in zip(p.normal, p.face)]))
        for p in parts
    ]
    for i, j in itertools.combinations(range(len(parts)), 2):
        # The largest ball that lies in both.
        n = np.vstack([planes[i][0], planes[j][0]])
        away = np.concatenate([planes[i][1], planes[j][1]]) / size
        best = linprog(
            np.append(np.zeros(dim), -1.0), np.hstack([n, np.ones((len(n), 1))]), away,
            bounds=[(None, None)] * dim + [(None, 1.0)],
        )  # fmt: skip
        if best.status == 0 and best.x[-1] > 1e-7:
            raise InputError(
                f"shape.parts[{j}] overlaps shape.parts[{i}] by {2 * best.x[-1] * size:g}; the"
                " parts of a clump may touch, and only disks or balls may overlap"
            )
