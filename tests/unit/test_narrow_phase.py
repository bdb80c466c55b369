"""The narrow phase of shapes: distances, contact points, their names, and walls."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hardgrain.core.wall_kinds import (
    INSIDE,
    OUTSIDE,
    PLANE,
    RECTANGLE,
    SEGMENT,
    TRIANGLE,
    Walls,
)
from hardgrain.cpu.contacts import candidates
from hardgrain.cpu.placing import features, placed, with_wall_shapes
from hardgrain.cpu.points import contact_points, distances
from hardgrain.point.given import Sites
from hardgrain.point.placed import ShapedBodies

from ..fuzz.exact import shortest
from ..fuzz.pairs import FAMILIES, trial
from ..fuzz.solids import CUBE, SQUARE, no_walls, table

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
ROD = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])
BALL = np.zeros((1, 3))


def turned(*vector: float) -> Any:
    return Rotation.from_rotvec(vector).as_quat()


def meet(parts, positions, turns, limit=0.1, periodic=None, number=None, walls=None):
    """Contact points of the first grain with each other body, all listed."""
    dim = len(positions[0])
    walls = no_walls(dim) if walls is None else walls
    n, w = len(parts), len(walls.kind)
    solids = with_wall_shapes(table([[p] for p in parts], range(n), np.ones(n), dim), dim)
    still = np.zeros((w, 1)) if dim == 2 else np.tile(UPRIGHT, (w, 1))
    orientation = np.r_[np.array(turns, float).reshape(n, -1), still]
    x = np.r_[np.array(positions, float), walls.point]
    bodies = ShapedBodies(
        x, np.arange(n) if number is None else np.array(number),
        np.zeros(dim) if periodic is None else np.array(periodic, float),
        walls, solids, placed(solids, orientation, walls), features(solids),
    )  # fmt: skip
    second = np.arange(1, n + w, dtype=np.int32)
    return contact_points(np.zeros_like(second), second, bodies, np.full(n + w, 0.5 * limit))


@pytest.mark.parametrize("family", FAMILIES)
def test_distances_are_proved_or_agree_with_exact_arithmetic(family) -> None:
    """A share of tests.fuzz.pairs. Gaps are exact to 1e-10 of the extent of a pair.

    Normals of cores that are 1e-4 apart or more have rounding errors of 1e-16/1e-4.
    """
    worst = trial(family, 1000, 0, 100)
    assert worst.unit < 1e-14
    assert worst.support < 1e-14
    assert worst.bounds < 1e-10
    assert worst.unproved < 2e-3
    assert worst.members < 1e-14
    assert worst.swapped < 1e-10
    assert worst.exact < 1e-10
    assert worst.normal < 1e-10
    assert worst.way < 1e-10
    assert worst.depth < 1e-10


def test_a_box_on_a_box_has_the_corners_of_what_they_share() -> None:
    boxes, shift = [(CUBE, 0.0)] * 2, [0.3, -0.2, 1.01]
    _, feature, normal, gap, one, two = meet(boxes, [[0, 0, 0], shift], [UPRIGHT, UPRIGHT])
    assert len(gap) == 4
    np.testing.assert_allclose(normal, [[0, 0, 1]] * 4, atol=1e-15)
    np.testing.assert_allclose(gap, 0.01, rtol=1e-12)
    corners = {(-0.2, -0.5), (-0.2, 0.3), (0.5, -0.5), (0.5, 0.3)}
    assert {(round(x, 9), round(y, 9)) for x, y in one[:, :2]} == corners
    np.testing.assert_allclose(one[:, 2], 0.5)
    np.testing.assert_allclose(two + shift - one, 0.01 * normal, atol=1e-14)
    assert (np.diff(feature) > 0).all()


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_box_that_comes_down_tilted_has_all_four_corners_as_points(radius) -> None:
    tilt, height = turned(0.02, 0.03, 0.0), 1.03 + 2 * radius
    wide = CUBE * [3, 3, 1]
    found = meet([(wide, radius), (CUBE, radius)], [[0, 0, 0], [0, 0, height]], [UPRIGHT, tilt])
    _, _, normal, gap, _, two = found
    low = Rotation.from_quat(tilt).apply(CUBE[CUBE[:, 2] < 0])
    np.testing.assert_allclose(normal, [[0, 0, 1]] * 4, atol=1e-15)
    expected = height + low[:, 2] - 0.5 - 2 * radius  # by corner, as the features are
    np.testing.assert_allclose(gap, expected, atol=1e-13)
    np.testing.assert_allclose(two, low - radius * normal, atol=1e-14)


def test_names_of_points_stay_while_a_box_turns_and_slides_a_little() -> None:
    rng, names = np.random.default_rng(0), set()
    for _ in range(30):
        tilt = turned(*rng.normal(scale=1e-4, size=3))
        at = [0.1, 0.2, 1.0 + rng.normal(scale=1e-5)]
        names.add(tuple(meet([(CUBE, 0.0)] * 2, [[0, 0, 0], at], [UPRIGHT, tilt])[1]))
    assert len(names) == 1


def test_names_do_not_change_by_rounding_where_corners_lie_on_corners() -> None:
    rng, names = np.random.default_rng(0), set()
    for _ in range(30):
        at = np.array([0, 0, 1]) + rng.normal(scale=1e-9, size=3)
        names.add(tuple(meet([(CUBE, 0.0)] * 2, [[0, 0, 0], at], [UPRIGHT, UPRIGHT])[1]))
    assert len(names) == 1


def test_points_of_many_corners_are_four_and_hold_the_deepest() -> None:
    angle = np.arange(8) * np.pi / 4
    rim = np.c_[np.cos(angle), np.sin(angle)]
    prism = np.array([[*p, z] for z in (-0.5, 0.5) for p in rim])
    tilt = turned(0.003, 0.001, 0.0)
    gap = meet([(2 * prism, 0.0), (prism, 0.0)], [[0, 0, 0], [0, 0, 1.51]], [UPRIGHT, tilt])[3]
    lowest = Rotation.from_quat(tilt).apply(prism)[:, 2].min() + 1.51 - 1.0
    assert len(gap) == 4
    np.testing.assert_allclose(gap.min(), lowest, atol=1e-14)


def test_edges_and_capsules() -> None:
    up = 0.5 + np.sqrt(0.5)
    on_edge = [[0, 0, 0], [0.1, 0.2, up + 0.01]]
    found = meet([(CUBE, 0.0)] * 2, on_edge, [UPRIGHT, turned(np.pi / 4, 0, 0)])
    np.testing.assert_allclose(found[3], [0.01, 0.01], atol=1e-14)  # along the edge
    # edges that cross: the normal is perpendicular to both, the point in the middle
    crossed = Rotation.from_rotvec([0, 0, 1.0]) * Rotation.from_rotvec([np.pi / 4, 0, 0])
    turns = [turned(np.pi / 4, 0, 0), crossed.as_quat()]
    found = meet([(CUBE, 0.0)] * 2, [[0, 0, 0], [0, 0, np.sqrt(2) + 0.01]], turns)
    np.testing.assert_allclose(found[3], [0.01], atol=1e-14)
    np.testing.assert_allclose(found[4], [[0, 0, np.sqrt(0.5)]], atol=1e-14)
    # capsules side by side, then crossed
    side = [[0, 0, 0], [0.25, 0, 0.2]]
    found = meet([(ROD, 0.1)] * 2, side, [UPRIGHT, turned(0.01, 0, 0)])
    np.testing.assert_allclose(found[3], [0.05, 0.05], atol=1e-3)
    np.testing.assert_allclose(sorted(found[4][:, 2]), [-0.3, 0.5], atol=1e-3)
    found = meet([(ROD, 0.1)] * 2, side, [UPRIGHT, turned(0.5, 0, 0)])
    np.testing.assert_allclose(found[3], [0.05], atol=1e-14)
    # a capsule lying on a box, and sunk into it up to its middle
    for depth in (0.0, 0.1):
        at = [[0, 0, 0], [0.25, 0.1, 0.6 - depth]]
        found = meet([(CUBE, 0.0), (ROD, 0.1)], at, [UPRIGHT, turned(0, np.pi / 2, 0)])
        np.testing.assert_allclose(found[3], [-depth, -depth], atol=1e-12)
        np.testing.assert_allclose(sorted(found[4][:, 0]), [-0.25, 0.5], atol=1e-12)


def test_polygons_meet_in_two_points_or_one() -> None:
    squares = [(SQUARE, 0.0)] * 2
    _, _, normal, gap, one, _ = meet(squares, [[0, 0], [0.1, 0.99]], [0.0, 0.0])
    np.testing.assert_allclose(gap, [-0.01, -0.01], atol=1e-14)
    np.testing.assert_allclose(normal, [[0, 1]] * 2, atol=1e-15)
    np.testing.assert_allclose(sorted(one[:, 0]), [-0.4, 0.5], atol=1e-14)
    gap = meet(squares, [[0, 0], [0.1, 0.51 + np.sqrt(0.5)]], [0.0, np.pi / 4])[3]
    np.testing.assert_allclose(gap, [0.01], atol=1e-14)
    # two corners: the normal joins them
    corner = meet([(SQUARE, 0.1)] * 2, [[0, 0], [1.15, 1.15]], [0.0, 0.0])
    np.testing.assert_allclose(corner[3], [0.15 * np.sqrt(2) - 0.2], atol=1e-14)
    np.testing.assert_allclose(corner[2], [[np.sqrt(0.5)] * 2], atol=1e-14)


def test_rows_go_by_numbers_and_images_not_by_order() -> None:
    at, turns = [[0, 0, 0], [0.1, 0.2, 1.03]], [UPRIGHT, turned(0.02, 0.03, 0.1)]
    boxes = [(CUBE, 0.0), (CUBE * [1, 1, 1.5], 0.0)]
    plain = meet(boxes, at, turns, number=[4, 7], limit=0.9)
    swap = meet(boxes[::-1], at[::-1], turns[::-1], number=[7, 4], limit=0.9)
    np.testing.assert_array_equal(plain[1], swap[1])
    np.testing.assert_array_equal(plain[3], swap[3])
    np.testing.assert_array_equal(plain[2], -swap[2])
    np.testing.assert_array_equal(plain[4], swap[5])
    beyond = [[0, 0, 0], [0.1 - 4.0, 0.2, 1.03]]
    image = meet(boxes, beyond, turns, number=[4, 7], periodic=[4.0, 0, 0], limit=0.9)
    np.testing.assert_allclose(image[3], plain[3], atol=1e-14)


def some_walls(dim: int, rng: np.random.Generator) -> Walls:
    """One wall of each kind that shapes can meet, and more of them."""
    kinds = [PLANE, INSIDE, OUTSIDE] + ([SEGMENT] if dim == 2 else [RECTANGLE, TRIANGLE])
    kind = np.repeat(kinds, 5).astype(np.int32)
    point, axis = rng.normal(size=(2, len(kind), dim))
    side, size = np.zeros_like(axis), np.zeros(len(kind))
    unit = np.isin(kind, [PLANE, INSIDE, OUTSIDE])
    axis[unit] /= np.linalg.norm(axis[unit], axis=1)[:, None]
    size[kind == INSIDE], size[kind == OUTSIDE] = 4.0, 0.3
    if dim == 2:
        axis[np.isin(kind, [INSIDE, OUTSIDE])] = 0.0
    else:
        flat = np.isin(kind, [RECTANGLE, TRIANGLE])
        side[flat] = np.cross(axis[flat], rng.normal(size=(flat.sum(), 3)))
    return Walls(kind, point, axis, size, side)


@pytest.mark.parametrize("dim", [2, 3])
def test_balls_meet_walls_as_round_grains_do(dim) -> None:
    rng = np.random.default_rng(dim)
    turn = [0.3] if dim == 2 else UPRIGHT
    for _ in range(20):
        walls, x = some_walls(dim, rng), rng.normal(size=(1, dim))
        index, _, normal, gap, one, two = meet(
            [(BALL[:, :dim], 0.4)], x, [turn], limit=1e3, walls=walls
        )
        everywhere = np.r_[x, walls.point]
        sites = Sites(everywhere, np.array([0.4]), np.zeros(dim), walls)
        second = np.arange(1, len(everywhere), dtype=np.int32)
        round_ = candidates(np.zeros_like(second), second, sites, np.full(len(everywhere), 1e3))
        np.testing.assert_array_equal(index, round_[0])
        np.testing.assert_allclose(gap, round_[2], atol=1e-13)
        # the normal of a grain whose centre is close to a wall is as uncertain as 1/distance
        clear = np.abs(gap + 0.4) > 1e-3
        np.testing.assert_allclose(normal[clear], round_[1][clear], atol=1e-11)
        np.testing.assert_allclose(one[clear], 0.4 * round_[1][clear], atol=1e-11)
        np.testing.assert_allclose(
            two, (x - walls.point)[index] + one + gap[:, None] * normal, atol=1e-12
        )


def test_boxes_meet_walls_with_their_faces() -> None:
    none, up = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    floor = Walls(
        np.array([PLANE], np.int32), np.array([none]), np.array([up]), np.zeros(1), np.array([none])
    )
    found = meet([(CUBE, 0.1)], [[0, 0, 0.61]], [turned(0.01, 0, 0.3)], walls=floor)
    low = Rotation.from_rotvec([0.01, 0, 0.3]).apply(CUBE[CUBE[:, 2] < 0])
    np.testing.assert_allclose(found[3], low[:, 2] + 0.51, atol=1e-14)
    np.testing.assert_allclose(found[2], [[0, 0, -1]] * 4, atol=1e-15)
    np.testing.assert_allclose(found[4], low - [0, 0, 0.1], atol=1e-14)
    # a table smaller than the box bears it at its own corners
    sides = [0.4, 0.0, 0.0], [0.0, 0.3, 0.0]
    flat = Walls(
        np.array([RECTANGLE, TRIANGLE], np.int32), np.array([none] * 2), np.array([sides[0]] * 2),
        np.zeros(2), np.array([sides[1]] * 2),
    )  # fmt: skip
    index, _, normal, gap, _, two = meet([(CUBE, 0.0)], [[0, 0, 0.51]], [UPRIGHT], walls=flat)
    np.testing.assert_array_equal(index, [0] * 4 + [1] * 3)
    np.testing.assert_allclose(gap, 0.01, atol=1e-14)
    np.testing.assert_allclose(normal, [[0, 0, -1]] * 7, atol=1e-15)
    assert {(x.round(9), y.round(9)) for x, y in two[4:, :2]} == {(0, 0), (0.4, 0), (0, 0.3)}
    # a box lies on a cylinder along a line
    log = Walls(
        np.array([OUTSIDE], np.int32),
        np.array([none]),
        np.array([[1.0, 0, 0]]),
        np.ones(1),
        np.array([none]),
    )
    found = meet([(CUBE, 0.0)], [[7.0, 0.1, 1.51]], [UPRIGHT], walls=log)
    np.testing.assert_allclose(found[3], [0.01, 0.01], atol=1e-14)
    np.testing.assert_allclose(sorted(found[4][:, 0]), [-0.5, 0.5], atol=1e-14)


def gap_of(one, other, shift, turn) -> Any:
    """Distance of sharp parts, the second shifted and turned, in both orders, and as it must be."""
    solids = with_wall_shapes(table([[(one, 0.0)], [(other, 0.0)]], [0, 1], np.ones(2), 3), 3)
    walls, x = no_walls(3), np.array([np.zeros(3), shift])
    stand = placed(solids, np.array([UPRIGHT, turn]), walls)
    bodies = ShapedBodies(x, np.arange(2), np.zeros(3), walls, solids, stand, features(solids))
    first = np.array([0, 1], np.int32)
    corners = [stand.corner[stand.corner_start[k] : stand.corner_start[k + 1]] for k in (0, 1)]
    return distances(first, first[::-1].copy(), bodies)[0], shortest(*corners, x[1])[0]


def test_edges_far_apart_separate_what_no_face_does() -> None:
    """Tetrahedra 0.4 apart, whose faces lie in one plane or say that they overlap a little."""
    tetrahedron = 0.4 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    rng = np.random.default_rng(0)
    for size in (0.0, *np.logspace(-16, -2, 50)):
        shift = np.array([0.4, -1.2, 0.0]) + size * rng.normal(size=3)
        tilt = turned(*size * rng.normal(size=3))
        gap, expected = gap_of(tetrahedron, tetrahedron, shift, tilt)
        assert expected > 0.3
        np.testing.assert_allclose(gap, expected, rtol=1e-13)  # rounding of coordinates


def test_a_corner_close_to_an_edge_and_closer_to_its_end() -> None:
    """The nearest point of the edge is some 1e-12 from its end, the corner 1e-9 to 1e-5 away.

    The length of a way to the end is the same to rounding, its direction is not. Distances are
    asked for to 1e-10 of the extent.
    """
    octahedron = 0.6 * np.r_[np.eye(3), -np.eye(3)]
    tetrahedron = 0.4 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    outwards, along = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]) / np.sqrt(2)
    down, _ = Rotation.align_vectors([-outwards], [tetrahedron[0]])
    rng = np.random.default_rng(0)
    for _ in range(300):
        turn = Rotation.from_rotvec(rng.uniform(0.0, 7.0) * outwards) * down
        beside, distance = 10.0 ** rng.uniform(-14, -10), 10.0 ** rng.uniform(-9, -5)
        corner = octahedron[0] + beside * along + distance * outwards
        shift = corner - turn.apply(tetrahedron[0])
        gap, _ = gap_of(octahedron, tetrahedron, shift, turn.as_quat())
        np.testing.assert_allclose(gap, distance, rtol=0.0, atol=1e-10)


def test_edges_that_are_parallel_but_for_a_tiny_angle_and_nearly_touch() -> None:
    """Plates corner to corner, 1e-10 to 1e-8 apart, tilted by 1e-9 to 1e-7.

    Rounding errors of the corners, relative to so short a way, tilt it by more than the edges are
    tilted, unless they are removed. The distance must be right to some of these errors.
    """
    plate, box = CUBE * [1.0, 1.0, 0.05], CUBE * [1.0, 0.6, 0.3]
    rng = np.random.default_rng(0)
    for _ in range(300):
        tilt = turned(*10.0 ** rng.uniform(-9, -7) * rng.normal(size=3))
        y, z = 10.0 ** rng.uniform(-10, -8) * rng.uniform(0.0, 1.0, 2)
        shift = [rng.uniform(-0.5, 0.5), 0.8 + y, 0.175 + z]
        gap, expected = gap_of(plate, box, shift, tilt)
        if expected > 1e-9:
            np.testing.assert_allclose(gap, expected, rtol=0.0, atol=1e-13)


def test_the_exact_shortest_way_is_that_of_closed_forms() -> None:
    """Corner and face, edges that cross, corner and corner: with numbers that have no rounding."""
    length, way = shortest(CUBE, CUBE, np.array([0.25, -0.125, 1.5]))
    assert length == 0.5
    np.testing.assert_array_equal(way, [0.0, 0.0, 1.0])
    length, way = shortest(CUBE, CUBE, np.array([4.0, 1.0, 5.0]))
    assert length == 5.0
    np.testing.assert_array_equal(way, [0.6, 0.0, 0.8])
    along, across = np.array([[-1.0, 0, 0], [1, 0, 0]]), np.array([[0, -1.0, 0], [0, 1, 0]])
    for tilt in (1.0, 2.0**-20, 2.0**-40):  # the height of the lines, whatever their angle
        length, way = shortest(along, along + tilt * across, np.array([0.0, 0.0, 2.0**-30]))
        assert length == 2.0**-30
        np.testing.assert_array_equal(way, [0.0, 0.0, 1.0])
    assert shortest(CUBE, CUBE, np.array([0.5, 0.5, 1.0]))[0] == 0.0
