"""Outlines and surfaces of grains: against areas and volumes in closed form, and by containment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from hardgrain.core.solids import Solids
from hardgrain.scene.grain_outline import (
    ARC,
    outlines_2d,
    rounded_hull,
    seen_3d,
    shape_outlines,
)
from hardgrain.scene.grain_shape import frames, grain_shapes, longest, sides
from hardgrain.scene.grain_surface import grain_surfaces, shape_surfaces
from hardgrain.scene.polygon_union import rim_of_all

from ..shapes import FLAT, SOLID, Shape, box, regular, scattered, solids

# An inscribed polygon of ARC corners has so much less area than its circle, and at fineness k an
# inscribed polyhedron of a ball has less volume by about 2.6 / 4^k of its rounded part.
CIRCLE = ARC / 2 * math.sin(2 * math.pi / ARC)


def table(shapes: list[Shape], dim: int) -> Solids:
    return solids(shapes, dim, np.arange(len(shapes)), np.ones(len(shapes)))


def area(loop: np.ndarray) -> float:
    (x, y), (a, b) = loop.T, np.roll(loop, -1, axis=0).T
    return 0.5 * float(np.sum(x * b - a * y))


def polygon_facts(sides: int) -> tuple[float, float]:
    """Area and perimeter of a regular polygon in the unit circle."""
    return sides / 2 * math.sin(2 * math.pi / sides), 2 * sides * math.sin(math.pi / sides)


@pytest.mark.parametrize("sides", [3, 5, 8])
@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_a_rounded_polygon_has_the_area_of_steiner(sides: int, radius: float) -> None:
    (loop,) = shape_outlines(table([regular(sides, radius)], 2)).loops(0)
    inner, around = polygon_facts(sides)
    exact = inner + around * radius + math.pi * radius**2
    lost = (math.pi - CIRCLE) * radius**2  # at most, as the arcs have at least ARC corners
    assert exact - 1.0001 * lost - 1e-12 <= area(loop) <= exact + 1e-12


@pytest.mark.parametrize("name", FLAT)
def test_outlines_turn_with_their_grains(name: str) -> None:
    snap = scattered(2, 5, shapes=[FLAT[name]])
    own, turned = snap.model.solids, snap.state.orientation
    found, still = outlines_2d(own, turned), shape_outlines(own)
    for k in range(5):
        c, s = np.cos(turned[k, 0]), np.sin(turned[k, 0])
        for loop, before in zip(found.loops(k), still.loops(0), strict=True):
            expected = own.size[k] * before @ np.array([[c, s], [-s, c]])
            np.testing.assert_allclose(loop, expected, atol=1e-14)
        farthest = np.linalg.norm(np.concatenate(found.loops(k)), axis=1).max()
        assert farthest == pytest.approx(snap.radius[k], rel=2e-3)  # arcs are inscribed


def test_three_disks_in_a_ring_leave_a_hole() -> None:
    outer, hole = shape_outlines(table([FLAT["clump of 3 disks"]], 2)).loops(0)
    assert area(outer) > 0.0 > area(hole)
    # two circles of radius r at a distance d overlap in a lens; three have three of them
    r, d = 0.9, math.sqrt(3)
    lens = 2 * r**2 * math.acos(d / (2 * r)) - d / 2 * math.sqrt(4 * r**2 - d**2)
    assert area(outer) + area(hole) == pytest.approx(3 * math.pi * r**2 - 3 * lens, rel=2e-3)


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0])
def test_boxes_that_share_a_side_become_one(shift: float) -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])
    loops = rim_of_all([square + np.array(by) for by in ([0, 0], [1, shift], [2, shift])])
    assert len(loops) == (2 if shift == 1.0 else 1)  # which touch in a corner only
    assert sum(map(area, loops)) == pytest.approx(3.0, abs=1e-7)
    # the two to the right are one box, without a line between them
    for loop in loops:
        lines = np.roll(loop, -1, axis=0) - loop
        between = (np.abs(loop[:, 0] - 2.0) < 1e-6) & (np.abs(lines[:, 1]) > 0.1)
        assert not between.any()


def test_equal_parts_have_one_rim() -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]])
    (loop,) = rim_of_all([square, square.copy(), 0.5 * square])
    assert area(loop) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_the_rim_of_clumps_has_the_area_of_their_union(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rounded_hull(rng.uniform(-1, 1, (5, 4, 2)), rng.uniform(0.0, 0.4, 5))
    parts = [p[np.linalg.norm(p - np.roll(p, 1, 0), axis=1) > 1e-9] for p in parts]
    loops = rim_of_all(parts)
    points = rng.uniform(-2, 2, (40_000, 2))
    inside = np.zeros(len(points), bool)
    for part in parts:
        side = np.roll(part, -1, axis=0) - part
        to = points[:, None] - part
        inside |= (side[:, 0] * to[..., 1] - side[:, 1] * to[..., 0] >= 0.0).all(axis=1)
    share = inside.mean()
    error = 16.0 * math.sqrt(share * (1 - share) / len(points))  # of the sum by chance
    assert sum(map(area, loops)) == pytest.approx(16.0 * share, abs=4 * error)


def test_hulls_of_many_points_at_once_are_those_of_qhull() -> None:
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(size=(50, 12, 2)), rng.integers(0, 3, (50, 12, 2))])
    for some, hull in zip(points, rounded_hull(points, np.zeros(100)), strict=True):
        try:
            expected = ConvexHull(some).volume
        except Exception:  # all on one line
            expected = 0.0
        assert area(hull) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SOLID)
def test_a_part_seen_from_the_side_is_the_shadow_of_its_surface(name: str) -> None:
    snap = scattered(3, 6, shapes=[SOLID[name]])
    own, turned = snap.model.solids, snap.state.orientation
    seen, grain, _ = seen_3d(own, turned, [0, 2])
    surfaces = grain_surfaces(own, turned, np.zeros((6, 3)), fineness=4)
    for g in range(6):
        mine = np.unique(
            np.concatenate(
                [
                    surfaces.connectivity[surfaces.offsets[c] : surfaces.offsets[c + 1]]
                    for c in np.flatnonzero(surfaces.grain == g)
                ]
            )
        )
        shadow = ConvexHull(surfaces.points[mine][:, [0, 2]])
        loops = [loop for k in np.flatnonzero(grain == g) for loop in seen.loops(int(k))]
        drawn = ConvexHull(np.concatenate(loops))
        assert drawn.volume == pytest.approx(shadow.volume, rel=5e-3)  # both are inscribed


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = points[triangles].transpose(1, 0, 2)
    return float(np.einsum("ka,ka->", a, np.cross(b, c))) / 6.0


def test_surfaces_are_closed_and_look_outwards() -> None:
    own = table(list(SOLID.values()), 3)
    for name, surface in zip(SOLID, shape_surfaces(own, 3), strict=True):
        t = surface.triangles
        ends = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
        there = {(int(a), int(b)) for a, b in ends}
        assert len(there) == len(ends), name
        assert all((b, a) in there for a, b in there), name
        assert volume(surface.points, t) > 0.0


@pytest.mark.parametrize("radius", [0.0, 0.25])
def test_a_rounded_box_has_the_volume_of_steiner(radius: float) -> None:
    a, b, c = 1.2, 1.0, 0.8
    own = table([box(a / 2, b / 2, c / 2, radius=radius)], 3)
    rounded = math.pi * (a + b + c) * radius**2 + 4 / 3 * math.pi * radius**3
    exact = a * b * c + 2 * (a * b + b * c + c * a) * radius + rounded
    errors = []
    for fineness in (2, 3, 4):
        surface = shape_surfaces(own, 3, fineness)[0]
        errors.append(exact - volume(surface.points, surface.triangles))
    assert errors[0] <= 0.1 * rounded + 1e-12
    if radius:
        assert all(errors)
        assert errors[0] > 2.5 * errors[1] > 6.0 * errors[2] > 0.0  # second order: 4 each time


def test_faces_of_sharp_shapes_are_whole_polygons() -> None:
    cube, tetrahedron = shape_surfaces(table([SOLID["box"], SOLID["tetrahedron"]], 3), 3)
    assert sorted(map(len, cube.cells)) == 6 * [4]
    assert sorted(map(len, tetrahedron.cells)) == 4 * [3]


def test_shapes_have_names_and_sides() -> None:
    for dim, known in ((2, FLAT), (3, SOLID)):
        own = table(list(known.values()), dim)
        assert [shape.name for shape in grain_shapes(own, dim)] == list(known)
    assert sides(table([regular(7), FLAT["disk"]], 2)).tolist() == [7, 0]
    assert sides(table([SOLID["box"], SOLID["tetrahedron"], SOLID["ball"]], 3)).tolist() == [
        6,
        4,
        0,
    ]


def test_the_long_axis_of_a_slanted_rectangle() -> None:
    c, s = math.cos(0.4), math.sin(0.4)
    corners, _ = box(1.0, 0.3)[0]
    own = table([[(corners @ np.array([[c, s], [-s, c]]), 0.0)]], 2)
    np.testing.assert_allclose(np.abs(longest(own, 2)[0] @ [c, s, 0.0]), 1.0)


def test_frames_are_rotations_that_scipy_knows() -> None:
    from scipy.spatial.transform import Rotation

    q = np.random.default_rng(3).normal(size=(20, 4))
    np.testing.assert_allclose(frames(q), Rotation.from_quat(q).as_matrix(), atol=1e-14)
