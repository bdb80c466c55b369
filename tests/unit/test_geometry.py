"""Distances from walls against closed forms, and the narrow phase against brute force."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hardgrain.contact.neighbours import find_wall_pairs
from hardgrain.core import geometry
from hardgrain.core.geometry import (
    DISK,
    INSIDE,
    OUTSIDE,
    PLANE,
    RECTANGLE,
    SEGMENT,
    TRIANGLE,
    make_min_image,
    make_wall_gap,
)
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.contacts import candidates, neighbourhood_max
from hardgrain.kernels import jit
from hardgrain.point.given import Sites

compiled_wall_gap = geometry.wall_gap
min_image = make_min_image(lambda f: f)


@jit
def wall_gap(position, i, radius, periodic, walls, w):
    """The gap as kernels have it."""
    return compiled_wall_gap(position, i, radius, periodic, walls, w)


OPEN = {2: np.zeros(2), 3: np.zeros(3)}


def one_wall(kind, point, axis, size=0.0, side=None):
    return Walls(
        np.array([kind], np.int32),
        np.array([point], float),
        np.array([axis], float),
        np.array([size], float),
        np.array([np.zeros(len(point)) if side is None else side], float),
    )


def gap_of(x, radius, wall, periodic=None, function=wall_gap):
    """Gap and normal (dim,) of one grain and one wall."""
    x = np.array([x], float)
    dim = x.shape[1]
    periodic = OPEN[dim] if periodic is None else np.array(periodic, float)
    gap, *normal = function(x, 0, radius, periodic, wall, 0)
    assert normal[dim:] == [0.0][: 3 - dim]
    assert math.hypot(*normal) == pytest.approx(1, abs=1e-14)
    return gap, np.array(normal[:dim])


SLOPE = (-math.sin(0.3), math.cos(0.3))

CASES = [
    # x, radius, wall, gap, normal
    ((3, 2), 0.5, (PLANE, (0, 1), (0, 1)), 0.5, (0, -1)),
    ((3, 0.5), 0.5, (PLANE, (0, 1), (0, 1)), -1.0, (0, -1)),
    ((0, 2), 0.5, (PLANE, (0, 0), SLOPE), 2 * SLOPE[1] - 0.5, (-SLOPE[0], -SLOPE[1])),
    ((1, 2, 3), 1, (PLANE, (9, 9, 5), (0, 0, -1)), 1, (0, 0, 1)),
    ((0.5, 2), 0.5, (SEGMENT, (0, 0), (1, 0)), 1.5, (0, -1)),
    ((0.5, -2), 0.5, (SEGMENT, (0, 0), (1, 0)), 1.5, (0, 1)),
    ((-3, 4), 1, (SEGMENT, (0, 0), (1, 0)), 4, (0.6, -0.8)),
    ((4, -4), 1, (SEGMENT, (0, 0), (1, 0)), 4, (-0.6, 0.8)),
    ((0.5, 0), 0.25, (SEGMENT, (0, 0), (2, 0)), -0.25, (0, 1)),  # centre on the segment
    ((0, 0), 0.25, (SEGMENT, (0, 0), (2, 0)), -0.25, (0, 1)),  # and on its end
    ((1, 1), 0.25, (SEGMENT, (1, 1), (0, 0)), -0.25, (1, 0)),  # of no length
    ((4, 5), 1, (INSIDE, (1, 1), (7, 7), 10), 4, (0.6, 0.8)),  # the axis is ignored in 2D
    ((4, 5), 1, (OUTSIDE, (1, 1), (7, 7), 3), 1, (-0.6, -0.8)),
    ((1, 1), 1, (INSIDE, (1, 1), (0, 0), 3), 2, (1, 0)),  # in the centre
    ((1, 1), 1, (OUTSIDE, (1, 1), (0, 0), 3), -4, (-1, 0)),
    ((3, 99, 4), 1, (INSIDE, (0, 0, 0), (0, 1, 0), 10), 4, (0.6, 0, 0.8)),
    ((3, 99, 4), 1, (OUTSIDE, (0, 0, 0), (0, 1, 0), 2), 2, (-0.6, 0, -0.8)),
    ((0, 5, 0), 1, (INSIDE, (0, 0, 0), (0, 1, 0), 2), 1, (-1, 0, 0)),  # on the axis
    ((0, 0, 5), 1, (INSIDE, (0, 0, 0), (0, 0, 1), 2), 1, (1, 0, 0)),
]


@pytest.mark.parametrize(("x", "radius", "wall", "gap", "normal"), CASES)
def test_wall_gap(x, radius, wall, gap, normal):
    found = gap_of(x, radius, one_wall(*wall))
    assert found[0] == pytest.approx(gap, abs=1e-14)
    np.testing.assert_allclose(found[1], normal, atol=1e-15)
    # the source is the same for every backend
    plain = gap_of(x, radius, one_wall(*wall), function=make_wall_gap(lambda f: f))
    assert plain[0] == pytest.approx(gap, abs=1e-14)
    np.testing.assert_allclose(plain[1], normal, atol=1e-15)


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6))
def test_segment_is_the_nearest_of_its_points(c):
    x, a, b = np.array(c).reshape(3, 2)
    s = np.linspace(0, 1, 2001)[:, None]
    nearest = np.linalg.norm(a + s * (b - a) - x, axis=1).min()
    gap, normal = gap_of(x, 0.5, one_wall(SEGMENT, a, b - a))
    assert nearest - np.linalg.norm(b - a) / 4000 - 1e-12 <= gap + 0.5 <= nearest + 1e-12
    touched = x + (gap + 0.5) * normal  # lies on the segment
    assert gap_of(touched, 0.0, one_wall(SEGMENT, a, b - a))[0] == pytest.approx(0, abs=1e-13)


# Flat walls in 3D. Point, axis and side: a rectangle of 4 × 2 on the floor; half of it; a disk.
PLATE = (RECTANGLE, (0, 0, 0), (4, 0, 0))
CORNER = (TRIANGLE, (0, 0, 0), (4, 0, 0))
ROUND = (DISK, (0, 0, 0), (0, 0, 2))
WIDE = (0, 2, 0)

FLAT_CASES = [
    # x, wall, size (hole), side, distance, where it touches
    ((1, 1, 3), PLATE, 0, WIDE, 3, (1, 1, 0)),  # face
    ((1, 1, -3), PLATE, 0, WIDE, 3, (1, 1, 0)),  # and from below
    ((1, 5, 4), PLATE, 0, WIDE, 5, (1, 2, 0)),  # edge
    ((-2, -3, 6), PLATE, 0, WIDE, 7, (0, 0, 0)),  # corner
    ((2, 1, 3), PLATE, 0.8, WIDE, math.hypot(3, 0.8), (2.8, 1, 0)),  # above the middle of a hole
    ((2, 1.5, 0), PLATE, 0.8, WIDE, 0.3, (2, 1.8, 0)),  # in the hole, closest to its rim
    ((2, 1.9, 1), PLATE, 0.8, WIDE, 1, (2, 1.9, 0)),  # beside it
    ((0.5, 0.5, 3), CORNER, 0, WIDE, 3, (0.5, 0.5, 0)),
    ((4, 2, 0), CORNER, 0, WIDE, math.sqrt(3.2), (3.2, 0.4, 0)),  # the slanting edge
    ((-1, 1, 0), CORNER, 0, WIDE, 1, (0, 1, 0)),
    ((2, -1, 0), CORNER, 0, WIDE, 1, (2, 0, 0)),
    ((6, 0, 0), CORNER, 0, WIDE, 2, (4, 0, 0)),  # the three corners
    ((-1, 5, 0), CORNER, 0, WIDE, math.sqrt(10), (0, 2, 0)),
    ((-3, -4, 0), CORNER, 0, WIDE, 5, (0, 0, 0)),
    ((1, 1, 3), ROUND, 0.5, None, 3, (1, 1, 0)),
    ((3, 4, 4), ROUND, 0.5, None, 5, (1.2, 1.6, 0)),  # outer rim
    ((0, 0.2, 0.4), ROUND, 0.5, None, 0.5, (0, 0.5, 0)),  # rim of the hole
]


@pytest.mark.parametrize(("x", "wall", "hole", "side", "distance", "touched"), FLAT_CASES)
def test_faces_edges_and_corners_of_flat_walls(x, wall, hole, side, distance, touched):
    for function in (wall_gap, make_wall_gap(lambda f: f)):
        gap, normal = gap_of(x, 0.25, one_wall(*wall, hole, side), function=function)
        assert gap == pytest.approx(distance - 0.25, abs=1e-14)
        np.testing.assert_allclose(x + distance * normal, touched, atol=1e-14)


@pytest.mark.parametrize(("wall", "side"), [(PLATE, WIDE), (CORNER, WIDE), (ROUND, None)])
def test_a_centre_on_a_flat_wall_is_pushed_off_its_face(wall, side):
    gap, normal = gap_of((0.5, 0.5, 0), 0.25, one_wall(*wall, 0, side))
    assert gap == -0.25
    assert abs(normal[2]) == 1.0


def points_of(kind, axis, side, hole):
    """A fine net of points of a flat wall at the origin, and the width of its meshes."""
    s, t = np.meshgrid(*[np.linspace(0.0, 1.0, 161)] * 2)
    if kind == DISK:
        radius = np.linalg.norm(axis)
        n = axis / radius
        u = np.cross(n, np.eye(3)[np.abs(n).argmin()])
        u /= np.linalg.norm(u)
        rho, angle = hole + s * (radius - hole), 2.0 * np.pi * t
        x = (rho * np.cos(angle))[..., None] * u + (rho * np.sin(angle))[..., None] * np.cross(n, u)
        return x.reshape(-1, 3), 2.0 * np.pi * radius / 160
    if kind == TRIANGLE:
        s = s * (1.0 - t)
    x = s[..., None] * axis + t[..., None] * side
    if hole:
        middle = 0.5 * (axis + side)
        out = x - middle
        far = np.linalg.norm(out, axis=2, keepdims=True)
        within = far < hole
        out = np.where(far > 0.0, out, axis)  # the middle itself goes to the rim in any direction
        out = out / np.linalg.norm(out, axis=2, keepdims=True)
        x = np.where(within, middle + hole * out, x)
    return x.reshape(-1, 3), (np.linalg.norm(axis) + np.linalg.norm(side)) / 160


@example(RECTANGLE, [0.0, -1.0, 1.0, 0.0, -2.0, 0.0, 0.0, 0.0, 2.0], 0.5)  # in the middle of a hole
@given(
    st.sampled_from([RECTANGLE, TRIANGLE, DISK]),
    st.lists(st.floats(-3, 3), min_size=9, max_size=9),
    st.floats(0.0, 0.9),
)
def test_flat_walls_are_the_nearest_of_their_points(kind, c, hole):
    """Brute force over a net of points; also with axis and sides in any direction."""
    x, axis, side = np.array(c).reshape(3, 3)
    assume(np.linalg.norm(np.cross(axis, side)) > 1e-2)
    if kind == RECTANGLE:
        side = side - (side @ axis) / (axis @ axis) * axis
        hole *= 0.5 * min(np.linalg.norm(axis), np.linalg.norm(side))
    elif kind == DISK:
        hole *= np.linalg.norm(axis)
    else:
        hole = 0.0
    net, mesh = points_of(kind, axis, side, hole)
    nearest = np.linalg.norm(net - x, axis=1).min()
    wall = one_wall(kind, (0, 0, 0), axis, hole, side)
    gap, normal = gap_of(x, 0.5, wall)
    assert nearest - mesh <= gap + 0.5 <= nearest + 1e-12
    touched = x + (gap + 0.5) * normal  # lies on the wall
    assert gap_of(touched, 0.0, wall)[0] == pytest.approx(0, abs=1e-11)


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6), st.floats(0.1, 9))
def test_oblique_cylinder(c, size):
    x, point = np.array(c).reshape(2, 3)
    axis = np.array([2.0, -1.0, 2.0]) / 3
    rho = np.linalg.norm(np.cross(x - point, axis))
    gap, normal = gap_of(x, 0.5, one_wall(INSIDE, point, axis, size))
    assert gap == pytest.approx(size - rho - 0.5, abs=1e-13)
    assert normal @ axis == pytest.approx(0, abs=1e-7)
    assert gap_of(x, 0.5, one_wall(OUTSIDE, point, axis, size))[0] == pytest.approx(
        rho - size - 0.5, abs=1e-13
    )


@pytest.mark.parametrize("turns", [-3, 0, 1, 1000])
def test_walls_meet_unwrapped_grains(turns):
    """A grain that has gone round a periodic system meets the same walls."""
    period, shift = (10.0, 0.0), 10.0 * turns
    for wall in [
        one_wall(SEGMENT, (8, 0), (3, 1)),
        one_wall(OUTSIDE, (9.5, 0), (0, 0), 1.0),
        one_wall(PLANE, (0, -1), (0, 1)),
    ]:
        for x in (-1.0, 0.5, 2.0, 7.0):
            near = gap_of((x if x < 5 else x - 10, 2), 0.5, wall, period)
            far = gap_of((x + shift, 2), 0.5, wall, period)
            assert far[0] == pytest.approx(near[0], abs=1e-11)
            np.testing.assert_allclose(far[1], near[1], atol=1e-11)


def test_min_image():
    assert min_image(7.0, 0.0) == 7.0
    assert min_image(7.0, 10.0) == -3.0
    assert min_image(-13.0, 10.0) == -3.0
    assert min_image(3.0, 10.0) == 3.0


def walls_of(dim):
    """A floor, and a cylinder around the grains."""
    up = np.eye(dim)[1]
    return Walls(
        np.array([PLANE, INSIDE], np.int32),
        np.zeros((2, dim)),
        np.array([up, np.eye(dim)[-1]]),
        np.array([0.0, 9.0]),
        np.zeros((2, dim)),
    )


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3]),
    st.integers(0, 30),
    st.booleans(),
    st.floats(0, 2),
)
def test_candidates_equal_brute_force(seed, dim, n, is_periodic, reach):
    rng = np.random.default_rng(seed)
    walls = walls_of(dim)
    nb = n + 2
    position = rng.uniform(-5, 5, (nb, dim))
    radius = rng.uniform(0.1, 1, n)
    periodic = np.zeros(dim)
    if is_periodic:
        periodic[0] = 20.0
        position[:, 0] += 20.0 * rng.integers(-2, 3, nb)
    reach = rng.uniform(0, reach, nb)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, nb)]
    first, second = np.array(pairs, np.int32).reshape(-1, 2).T.copy()

    index, normal, gap = candidates(first, second, Sites(position, radius, periodic, walls), reach)

    expected = []
    for p, (i, j) in enumerate(pairs):
        if j < n:
            d = position[j] - position[i]
            d -= periodic * np.rint(d / np.where(periodic > 0, periodic, 1))
            g, normal_p = np.linalg.norm(d) - radius[i] - radius[j], d / np.linalg.norm(d)
        else:
            g, *normal_p = wall_gap(position, i, radius[i], periodic, walls, j - n)
        if g < reach[i] + reach[j]:
            expected.append((p, g, normal_p[:dim]))
    assert index.tolist() == [e[0] for e in expected]
    assert normal.shape == (len(expected), dim)
    np.testing.assert_allclose(gap, [e[1] for e in expected], atol=1e-12)
    for found, e in zip(normal, expected, strict=True):
        np.testing.assert_allclose(found, e[2], atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_coincident_grains_have_a_normal(dim):
    first, second = np.array([0], np.int32), np.array([1], np.int32)
    flat = np.zeros((0, dim))
    none = Walls(np.zeros(0, np.int32), flat, flat, np.zeros(0), flat)
    sites = Sites(np.ones((2, dim)), np.ones(2), np.zeros(dim), none)
    _, normal, gap = candidates(first, second, sites, np.zeros(2))
    assert normal.tolist() == [[1.0, 0.0, 0.0][:dim]]
    assert gap.tolist() == [-2.0]


def test_nan_is_no_candidate():
    first, second = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    position = np.array([[np.nan, 0], [0, 0], [0, 0]])
    sites = Sites(position, np.ones(2), np.zeros(2), one_wall(PLANE, (0, 0), (1, 0)))
    index, _, _ = candidates(first, second, sites, np.ones(3))
    assert index.size == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(0, 40))
def test_neighbourhood_max(seed, n, pairs):
    rng = np.random.default_rng(seed)
    nb = n + 2
    first = rng.integers(0, n, pairs).astype(np.int32)
    second = rng.integers(0, nb, pairs).astype(np.int32)
    value = rng.uniform(-1, 1, nb)
    most = [
        max([value[b], *value[second[first == b]], *value[first[second == b]]]) for b in range(n)
    ]
    assert neighbourhood_max(first, second, value, n).tolist() == [*most, *value[n:]]


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.integers(0, 40))
def test_wall_pairs_equal_brute_force(seed, dim, n):
    rng = np.random.default_rng(seed)
    walls = walls_of(dim)
    position = rng.uniform(-6, 6, (n, dim))
    reach, wall_reach = rng.uniform(0.1, 5, n), rng.uniform(0, 3, 2)
    first, second = find_wall_pairs(position, reach, OPEN[dim], walls, wall_reach)
    expected = [
        (i, n + w)
        for i in range(n)
        for w in range(2)
        if wall_gap(position, i, reach[i], OPEN[dim], walls, w)[0] < wall_reach[w]
    ]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
