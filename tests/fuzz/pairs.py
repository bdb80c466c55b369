"""Distances of random pairs of shapes, proved by certificates and compared with other methods.

``python -m tests.fuzz.pairs 1000000`` tries that many pairs in each of eight families: in 2D and
3D, anywhere or degenerate on purpose (parallel, coplanar, collinear, corner on corner, tilted by
1e-14 to 1e-3), at any distance or brought close by 1e-13 to 1e-4 of their size or to such an
overlap.

A distance is proved from both sides, however it was found. Two points of the cores are never
nearer than the distance; the separation of all corners along any direction is never larger. Where
both agree, they are the distance. Of some pairs, and of all where they do not agree, the distance
is computed once more in exact arithmetic (`tests.fuzz.exact`), and the depth of overlaps from the
hull of all differences of corners. All errors are in units of the extent L of a pair.

How exact a normal can be. The separation s along our normal n is the gap that is told, and along
any direction s ≤ d cos θ, where d is the distance and θ the angle between n and the exact normal.
So an error δ of the gap bounds that of the normal, |n − n*| ≤ √(2δ/d), and no more can be asked of
anyone who knows corners with errors δ: moving the corners by δ turns the exact normal by up to as
much. With δ = 1e-16 L it is 1e-8 at d = L, 1e-6 at d = 1e-4 L, and nothing is known of the
direction at d = δ. The bound is reached where edges are parallel but for an angle of √(δd)/L, so
that their nearest points could lie anywhere along them. Elsewhere n changes by some δ/d, which is
1e-12 at d = 1e-4 L: normals of pairs that are farther apart are asked for to 1e-10 (`normal`). Of
closer ones the shortest way d n is asked for instead (`way`), whose bound is √(2δd): 1e-10 at
d = 1e-4 L. Below 2e-10 L the separation is by features, and the normal one of theirs.

As last run, 10⁶ pairs of each family: gaps err by 1e-14 where they were computed exactly, bounds
prove all others to 3e-11, normals err by 4e-13 and ways by 1.5e-11. Swapping both bodies changes
gaps by up to 7.7e-11, in one pair 2e-9 L apart: the differences of corners are themselves rounded,
which tilts so short a way by 1e-8 and so hides which of two far corners is nearer.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from hardgrain.cpu.placing import features, placed, with_wall_shapes
from hardgrain.cpu.points import distances
from hardgrain.point.placed import ShapedBodies

from .exact import shortest
from .solids import CUBE, Floats, Part, no_walls, table

FAMILIES = [*itertools.product((2, 3), (False, True), (False, True))]  # dim, degenerate, close
PROOF = 1e-10  # [extent] two bounds that are closer prove a distance
CLEAR = 1e-4  # [extent] normals of pairs farther apart are compared
EXACTLY = 1000  # of the pairs tried at once are computed exactly besides those without a proof
AT_ONCE = 50_000  # pairs, in about 200 MB


class Errors(NamedTuple):
    """Worst errors, relative to the extent of a pair."""

    unit: float  # of the normal's length
    support: float  # of the gap as a separation of corners along the normal
    bounds: float  # distance of the points − separation, where that is a proof
    unproved: float  # share of pairs where it is none, which exact arithmetic judges
    members: float  # how far the points are outside of the cores
    swapped: float  # of the gap when both bodies swap
    exact: float  # of the gap compared with exact arithmetic
    normal: float  # of the normal likewise, of pairs 1e-4 apart or more [radian]
    way: float  # of the shortest way likewise, of closer pairs
    depth: float  # of the overlap compared with the hull of differences


def shapes(dim: int) -> list[Part]:
    """Points, segments, plates, polygons and polyhedra, sharp and rounded."""
    rng, found = np.random.default_rng(1), []
    for radius in (0.0, 0.2):
        if dim == 2:
            for k in (3, 4, 5, 6, 8):
                angle = 2.0 * np.pi * np.arange(k) / k + (np.pi / 4 if k == 4 else 0.0)
                found.append((0.6 * np.c_[np.cos(angle), np.sin(angle)], radius))
            for k in (3, 5, 7):
                angle = 2.0 * np.pi * (np.arange(k) + rng.uniform(0.0, 0.8, k)) / k
                found.append((0.6 * np.c_[np.cos(angle), np.sin(angle)], radius))
            found.append((np.array([[-0.6, -0.3], [0.6, -0.3], [0.6, 0.3], [-0.6, 0.3]]), radius))
            found += [(np.array([[-0.5, 0.0], [0.5, 0.0]]), radius), (np.zeros((1, 2)), radius)]
        else:
            found += [(CUBE, radius), (CUBE * [1, 0.6, 0.3], radius), (CUBE * [1, 1, 0.05], radius)]
            corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
            found += [(0.4 * corners, radius), (0.6 * np.r_[np.eye(3), -np.eye(3)], radius)]
            for k in (6, 9, 14):
                points = rng.normal(size=(k, 3))
                found.append((0.6 * points / np.linalg.norm(points, axis=1)[:, None], radius))
            plate = np.array(
                [[-0.5, -0.4, 0.0], [0.5, -0.4, 0.0], [0.5, 0.4, 0.0], [-0.5, 0.4, 0.0]]
            )
            found += [(plate, radius), (plate[:3] * [1.0, 0.8, 1.0], radius)]
            found += [(np.array([[0, 0, -0.5], [0, 0, 0.5]]), radius), (np.zeros((1, 3)), radius)]
    return found


def places(rng: np.random.Generator, n: int, dim: int, degenerate: bool) -> tuple[Floats, ...]:
    """Sizes (2n,), orientations and positions (2n, dim) of n pairs, one grain after its partner."""
    x, seed = np.zeros((2 * n, dim)), int(rng.integers(1 << 30))
    if not degenerate:
        size = 10.0 ** rng.uniform(-0.5, 0.5, 2 * n)
        turn = rng.uniform(0, 7, (2 * n, 1))
        if dim == 3:
            turn = Rotation.random(2 * n, random_state=seed).as_quat()
        way = rng.normal(size=(n, dim))
        way *= rng.uniform(0.2, 1.2, (n, 1)) / np.linalg.norm(way, axis=1)[:, None]
        x[1::2] = way * (size[::2] + size[1::2])[:, None]
        return size, turn, x
    same, tilted = rng.random(n) < 0.3, rng.random(n) < 0.1
    tilt = 10.0 ** rng.uniform(-14, -3, (n, 1))
    if dim == 2:
        turn = rng.integers(0, 8, (2 * n, 1)) * np.pi / 4
        turn[::2][same] = turn[1::2][same] = rng.uniform(0, 7, (n, 1))[same]
        turn[1::2][tilted] += tilt[tilted]
    else:
        turn = Rotation.create_group("O").as_quat()[rng.integers(0, 24, 2 * n)]
        turn[::2][same] = turn[1::2][same] = Rotation.random(n, random_state=seed).as_quat()[same]
        little = Rotation.from_rotvec(tilt * rng.normal(size=(n, 3)))
        turn[1::2][tilted] = (little * Rotation.from_quat(turn[1::2])).as_quat()[tilted]
    x[1::2] = rng.integers(-6, 7, (n, dim)) * rng.choice([0.2, 0.25], (n, 1))
    return np.ones(2 * n), turn, x


def outside(points: Floats, corners: Floats, normals: Floats, count: Any, faces: Any) -> Floats:
    """How far points (n, 3) are outside of cores, given padded corners (n, k, 3) and faces."""
    top = np.einsum("nfd,nkd->nfk", normals, corners).max(axis=2)
    beyond = (np.einsum("nfd,nd->nf", normals, points) - top).max(axis=1)
    along = corners[:, 1] - corners[:, 0]
    square = np.maximum((along**2).sum(axis=1), 1e-300)
    share = np.clip(((points - corners[:, 0]) * along).sum(axis=1) / square, 0.0, 1.0)
    away = np.linalg.norm(points - corners[:, 0] - share[:, None] * along, axis=1)
    return np.where(count <= 2, away, np.where(faces > 0, beyond, 0.0))


def depth(differences: Floats, dim: int) -> float:
    """Signed distance of the origin from the hull of differences, NaN where that is flat."""
    try:
        return float(ConvexHull(differences[:, :dim]).equations[:, -1].max())
    except QhullError:
        return np.nan


def trial(family: tuple[int, bool, bool], n: int, seed: int, exactly: int) -> Errors:
    """Worst errors of n pairs of a family, some of which are computed exactly as well."""
    dim, degenerate, close = family
    rng, known, walls = np.random.default_rng([seed, *family]), shapes(dim), no_walls(dim)
    of = rng.integers(0, len(known), 2 * n)
    size, turn, x = places(rng, n, dim, degenerate)
    solids = with_wall_shapes(table([[part] for part in known], of, size, dim), dim)
    stand = placed(solids, turn, walls)
    first = np.arange(0, 2 * n, 2, dtype=np.int32)
    bodies = ShapedBodies(
        x, np.arange(2 * n), np.zeros(dim), walls, solids, stand, features(solids)
    )
    radius = np.array([r for _, r in known])[of] * size
    both = radius[::2] + radius[1::2]
    bound = stand.bound[::2] + stand.bound[1::2]
    if close:
        gap, normal, _, _ = distances(first, first + 1, bodies)
        target = np.where(rng.random(n) < 0.7, 1.0, -1.0) * 10.0 ** rng.uniform(-13, -4, n) * bound
        target[rng.random(n) < 0.1] = 0.0
        apart = gap + both > 0.0
        x[1::2][apart] -= ((gap + both - target)[:, None] * normal[:, :dim])[apart]
    gap, normal, on_first, on_second = distances(first, first + 1, bodies)
    swapped, _, _, _ = distances(first + 1, first, bodies)
    assert np.isfinite(gap).all()
    assert np.isfinite(normal).all()

    count, faces = np.diff(stand.corner_start), np.diff(stand.face_start)
    rows = np.minimum(np.arange(count.max()), count[:, None] - 1) + stand.corner_start[:-1, None]
    corner = stand.corner[rows]
    rows = np.arange(faces.max()) % np.maximum(faces[:, None], 1) + stand.face_start[:-1, None]
    face = stand.normal[np.minimum(rows, len(stand.normal) - 1), :3]
    away = np.zeros((n, 3))
    away[:, :dim] = x[1::2] - x[::2]
    extent = bound + np.linalg.norm(away, axis=1) + 1e-9
    a, b = corner[::2], corner[1::2] + away[:, None]
    separation = gap + both
    low = np.einsum("nkd,nd->nk", b, normal).min(1) - np.einsum("nkd,nd->nk", a, normal).max(1)
    p, q = on_first - normal * radius[::2, None], on_second + normal * radius[1::2, None]
    far = separation > 2e-10 * extent  # below, the separation is by features, see point/axes.py
    member = np.maximum(
        outside(p, a, face[::2], count[::2], faces[::2]),
        outside(q, corner[1::2], face[1::2], count[1::2], faces[1::2]),
    )
    bounds = np.linalg.norm(q + away - p, axis=1) - low
    distance_error, normal_error, way_error, depth_error = [0.0], [0.0], [0.0], [0.0]
    unproved = far & (np.abs(bounds) > PROOF * extent)
    some = rng.choice(n, min(exactly, n), replace=False)
    for k in np.union1d(some, np.flatnonzero(unproved)):
        if far[k]:
            length, right = shortest(a[k], corner[2 * k + 1], away[k])
            distance_error.append(abs(length - separation[k]) / extent[k])
            turned = float(np.linalg.norm(right - normal[k]))
            if length > CLEAR * extent[k]:
                normal_error.append(turned)
            else:
                way_error.append(turned * length / extent[k])
        elif separation[k] < 0.0:
            differences = np.unique((b[k][:, None] - a[k][None]).reshape(-1, 3), axis=0)
            depth_error.append(abs(depth(differences, dim) - separation[k]) / extent[k])
    return Errors(
        np.abs(np.linalg.norm(normal, axis=1) - 1.0).max(),
        (np.abs(low - separation) / extent).max(),
        (np.where(far & ~unproved, np.abs(bounds), 0.0) / extent).max(),
        float(unproved.mean()),
        (np.where(far, member, 0.0) / extent).max(),
        (np.abs(swapped - gap) / extent).max(),
        max(distance_error),
        max(normal_error),
        max(way_error),
        float(np.nanmax(depth_error)),
    )


def main(pairs: int) -> NDArray[np.float64]:
    """Try all families and print their worst errors."""
    worst = np.zeros((len(FAMILIES), len(Errors._fields)))
    print(f"{'dim degenerate close':22}" + "".join(f"{name:>10}" for name in Errors._fields))
    for k, family in enumerate(FAMILIES):
        for seed, start in enumerate(range(0, pairs, AT_ONCE)):
            found = trial(family, min(AT_ONCE, pairs - start), seed, EXACTLY)
            worst[k] = np.maximum(worst[k], found)
        print(f"{family!s:22}" + "".join(f"{error:10.1e}" for error in worst[k]), flush=True)
    return worst


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
