"""Measurements of shaped grains: volumes, extents, contacts, stress, orientations and cells."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.core.solids import ROUND_GRAINS
from hardgrain.forces import force_space
from hardgrain.measure.catalogue import measure
from hardgrain.measure.cut import area, in_disk
from hardgrain.measure.fabric import fabric
from hardgrain.measure.force_statistics import force_distribution
from hardgrain.measure.orientation import alignment, fold_of, orientation_order
from hardgrain.measure.overlaps import overlaps, worst_overlap_now
from hardgrain.measure.region import Ball, Block, Tube, content, natural_region
from hardgrain.measure.resultants import KINDS, resultants, seen
from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.stress import grain_stress, stress_tensor
from hardgrain.measure.structure import contact_numbers, coordination, isostaticity, rattlers
from hardgrain.measure.surface import surface
from hardgrain.measure.voronoi import cells, local_packing_fraction
from hardgrain.run.driven import closing_speed
from hardgrain.step.numbers import farthest

from .helpers import floor, up
from .shapes_by_hand import CUBE, SQUARE, rectangle, regular, shaped, table

pytestmark = pytest.mark.rounding

ROUNDING = 1e-12  # of sums of some tens of numbers of order one


# ---------------------------------------------------------------------- regions and extents
def test_a_square_and_a_cube_are_cut_by_a_block_exactly():
    """A corner of the block in the middle of a grain leaves it a quarter or an eighth."""
    for dim, corners in ((2, SQUARE), (3, CUBE)):
        turned = 0.4 if dim == 2 else Rotation.from_euler("z", 90, degrees=True).as_quat()[None]
        snap = shaped(np.zeros((1, dim)), table([[(corners, 0.0)]], [0]), turned)
        block = Block(np.zeros(dim), np.full(dim, 9.0))
        assert content(snap, block)[0] == pytest.approx(0.5**dim, abs=ROUNDING)
        assert content(snap, Block(np.full(dim, -2.0), np.full(dim, 2.0)))[0] == 1.0
    # half a diamond: the block ends at a diagonal
    snap = shaped([[0.0, 0.0]], table([[(SQUARE, 0.0)]], [0]), math.pi / 4.0)
    tip = math.sqrt(0.5) - 0.1  # the part beyond is a triangle of the height 0.1
    block = Block(np.array([tip, -9.0]), np.array([9.0, 9.0]))
    assert content(snap, block)[0] == pytest.approx(0.01, abs=ROUNDING)


@pytest.mark.parametrize("dim", [2, 3])
def test_blocks_that_fill_a_period_share_all_of_the_grains(dim):
    rng = np.random.default_rng(3)
    n = 12
    x = rng.uniform(0.0, 3.0, (n, dim))
    shapes = (
        [[(regular(5), 0.0)], [(rectangle(2.0, 0.6), 0.2)]]
        if dim == 2
        else [[(CUBE, 0.0)], [(CUBE * [1.0, 0.5, 0.3], 0.1)]]
    )
    # Steiner: of a rectangle its area, its border times the radius, and the disk; of a box likewise
    r, (a, b, c) = 0.1, (1.0, 0.5, 0.3)
    box = a * b * c + 2 * (a * b + b * c + c * a) * r + math.pi * (a + b + c) * r**2
    box += 4.0 / 3.0 * math.pi * r**3
    volume = (
        [2.5 * math.sin(2 * math.pi / 5), 1.2 + 5.2 * 0.2 + math.pi * 0.04]
        if dim == 2
        else [1.0, box]
    )
    own = table(shapes, rng.integers(0, 2, n), rng.uniform(0.4, 0.8, n), volume)
    angle = rng.uniform(0, 6, n) if dim == 2 else Rotation.random(n, rng=rng).as_quat()
    snap = shaped(x, own, angle, period=3.0)
    cuts = [0.0, 0.7, 1.9, 3.0]
    total = np.zeros(n)
    for ends in itertools.product(itertools.pairwise(cuts), repeat=dim):
        low, high = np.array(ends).T
        total += content(snap, Block(low, high))
    # what rounded grains are taken for has their volume and many sides, so that this is exact, too
    assert total == pytest.approx(snap.volume, rel=1e-9)
    assert snap.volume == pytest.approx(np.array(volume)[own.shape] * own.size**dim)


@pytest.mark.parametrize("kind", ["disk", "ball", "tube", "clump", "rounded"])
def test_parts_in_round_regions_against_counting_points(kind):
    rng = np.random.default_rng(7)
    if kind == "disk":
        own, region = table([[(regular(5), 0.0)]], [0]), Ball(np.array([0.6, 0.1]), 0.8)
        angle, x = 0.3, np.array([[0.1, 0.2]])
    elif kind == "clump":  # a cross of two bars; the middle counts once
        bars = [(rectangle(2.0, 0.5), 0.0), (rectangle(0.5, 2.0), 0.0)]
        own = table([bars], [0], volume=[1.75])
        region, angle = Block(np.array([0.0, -0.3]), np.array([5.0, 5.0])), 0.3
        x = np.array([[0.1, 0.2]])
    else:
        radius = 0.2 if kind == "rounded" else 0.0
        a, b, c = box = (1.0, 0.8, 0.6)
        volume = a * b * c + 2 * (a * b + b * c + c * a) * radius
        volume += math.pi * sum(box) * radius**2 + 4.0 / 3.0 * math.pi * radius**3
        own = table([[(CUBE * box, radius)]], [0], volume=[volume])
        tube = Tube(np.zeros(3), np.array([0.0, 0.6, 0.8]), 0.5, 1.0)
        region = Ball(np.array([0.3, 0.2, 0.1]), 0.6) if kind == "ball" else tube
        angle, x = Rotation.random(1, rng=rng).as_quat(), np.array([[0.2, 0.1, 0.3]])
    snap = shaped(x, own, angle)
    dim = snap.dim
    p = rng.uniform(-1.5, 1.5, (400_000, dim))
    if dim == 2:
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    else:
        turn = Rotation.from_quat(angle[0]).as_matrix()
    held = np.zeros(len(p), bool)
    for k, r in enumerate(own.radius):
        v = own.corner[own.corner_start[k] : own.corner_start[k + 1], :dim]
        if dim == 2 and len(v) == 5:
            sides = np.roll(v, -1, axis=0) - v
            out = [s[0] * (p[:, 1] - q[1]) - s[1] * (p[:, 0] - q[0]) >= 0 for s, q in zip(sides, v)]
            held |= np.all(out, axis=0)
        else:  # boxes: the distance to the core
            beyond = np.maximum(np.abs(p) - v.max(axis=0), 0.0)
            held |= np.linalg.norm(beyond, axis=1) <= r
    inside = region.holds(x + p @ turn.T) & held
    counted = inside.mean() * 3.0**dim
    error = 3.0**dim * math.sqrt(inside.mean() / len(p))
    # four standard errors, and what the points of a clump leave open
    assert content(snap, region)[0] == pytest.approx(counted, abs=4 * error + 2e-3)
    assert 0.1 < content(snap, region)[0] / snap.volume[0] < 0.9


def test_a_polygon_in_a_disk():
    """A disk inside a square, a square inside a disk, and a half plane."""
    assert in_disk(4.0 * SQUARE, 1.0) == pytest.approx(math.pi, abs=ROUNDING)
    assert in_disk(SQUARE, 1.0) == pytest.approx(1.0, abs=ROUNDING)
    assert in_disk(4.0 * SQUARE + [2.0, 0.0], 1.0) == pytest.approx(0.5 * math.pi, abs=ROUNDING)
    assert in_disk(SQUARE + np.array([5.0, 0.0]), 1.0) == pytest.approx(0.0, abs=ROUNDING)
    assert area(regular(6)) == pytest.approx(1.5 * math.sqrt(3.0), abs=ROUNDING)


def test_how_far_grains_reach():
    own = table([[(SQUARE, 0.0)], [(rectangle(2.0, 0.5), 0.25)]], [0, 1, 0], [1.0, 1.0, 2.0])
    snap = shaped([[0.0, 0.0], [5.0, 1.0], [0.0, 3.0]], own, [math.pi / 4, math.pi / 2, 0.0])
    low, high = snap.box
    assert low == pytest.approx([-1.0, -math.sqrt(0.5)], abs=ROUNDING)
    assert high == pytest.approx([5.5, 4.0], abs=ROUNDING)
    assert snap.reach(np.array([1.0, 0.0])) == pytest.approx([math.sqrt(0.5), 0.5, 1.0])
    region = natural_region(snap)
    assert region.bounds[1] == pytest.approx(high)
    # two squares of area 1 and 4, and the disks that are as large
    own = table([[(SQUARE, 0.0)]], [0, 0], [1.0, 2.0])
    snap = shaped([[0.0, 0.0], [5.0, 1.0]], own)
    assert snap.diameter == pytest.approx((1.0 + 2.0) / 2 * math.sqrt(4.0 / math.pi))
    assert surface(square_on_floor(0.5, 0.5), width=1.0).height == pytest.approx([1.0])


def test_bounds_of_runs_go_by_the_width_of_grains():
    """A rod is resolved as well as a disk of its width, not of its length."""
    own = table([[(rectangle(4.0, 1.0), 0.0)], [(SQUARE, 0.0)]], [0, 1])
    snap = shaped([[0.0, 0.0], [5.0, 0.0]], own)
    assert farthest(snap.model) == pytest.approx(np.full(2, 0.5e-6 / np.finfo(float).eps))
    assert overlaps(snap).worst == 0.0


def test_squares_that_are_driven_into_each_other():
    """Side to side with the speeds 1 and −2: they close with 3, whatever the line of centres."""
    own = table([[(SQUARE, 0.0)]], [0, 0])
    snap = shaped([[0.0, 0.0], [1.0, 0.4]], own)
    model = replace(snap.model, inv_mass=0.0 * snap.model.inv_mass)
    state = replace(snap.state, velocity=np.array([[1.0, 0.7], [-2.0, -0.3]]))
    first, second = np.array([[0], [1]], np.int32)
    speed = closing_speed(model, state, first, second, np.array([[1.0, 0.0]]))
    assert speed == pytest.approx([3.0])
    assert closing_speed(model, state, first, second, np.array([[-1.0, 0.0]])) == [0.0]


# ---------------------------------------------------------------------- contacts and stress
def square_on_floor(left: float, right: float, slide: tuple[float, float] = (0.0, 0.0)):
    """A unit square that stands on two points, with the forces that press the floor there."""
    own = table([[(SQUARE, 0.0)]], [0])
    down = [0.0, -1.0]
    rows = [
        (0, 1, down, [-0.5, 0.0], [slide[0], -left]),
        (0, 1, down, [0.5, 0.0], [slide[1], -right]),
    ]
    law = hg.ContactLaw(friction=0.5)
    keys = {"walls": [floor(2)], "gravity": up(2, -1.0), "contacts": [law]}
    return shaped([[0.0, 0.5]], own, rows=rows, **keys)


def test_two_points_of_a_side_are_one_force_at_its_centre():
    found = resultants(square_on_floor(0.25, 0.75, (0.3, -0.1)))
    assert found.force == pytest.approx(np.array([[0.2, -1.0]]), abs=ROUNDING)
    assert found.centre == pytest.approx(np.array([[0.25, 0.0]]), abs=ROUNDING)
    assert found.moment == pytest.approx(np.zeros((1, 1)), abs=ROUNDING)
    assert found.normal_force == pytest.approx([1.0])
    assert (found.points[0], KINDS[found.kind[0]]) == (2, "face")
    # a corner that bears nothing still touches
    tipping = resultants(square_on_floor(0.0, 1.0))
    assert tipping.centre == pytest.approx(np.array([[0.5, 0.0]]))
    assert tipping.points[0] == 2
    data = measure(square_on_floor(0.5, 0.5), "resultants")
    assert data.kind.values.tolist() == [["face"]]
    assert float(data.normal_force.sum()) == pytest.approx(1.0)


def cube_on_cube(rng: np.random.Generator, wall: bool):
    """Four points between two cubes, or a cube and a floor, with random forces."""
    own = table([[(CUBE, 0.0)]], [0] if wall else [0, 0])
    points = np.array([[x, y, 1.0] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    points = points * [1, 1, 0] if wall else points
    normal = [0.0, 0.0, -1.0] if wall else [0.0, 0.0, 1.0]
    force = rng.normal(size=(4, 3)) * 0.3
    force[:, 2] = normal[2] * rng.uniform(0.5, 1.0, 4)
    # self-balanced forces: whatever has no sum and no torque about the middle of the face
    wrench = np.zeros((6, 12))
    for k, p in enumerate(points - points.mean(axis=0)):
        for a, e in enumerate(np.eye(3)):
            wrench[:, 3 * k + a] = [*e, *np.cross(p, e)]
    null = np.linalg.svd(wrench)[2][6:]
    x = [[0, 0, 0.5]] if wall else [[0, 0, 0.5], [0.1, 0.2, 1.5]]
    walls = [floor(3)] if wall else []

    def snap(change):
        rows = [(0, 1, normal, p, f) for p, f in zip(points, force + change.reshape(4, 3))]
        return shaped(x, own, rows=rows, walls=walls)

    return snap, null


@pytest.mark.parametrize("wall", [False, True])
def test_stress_does_not_depend_on_how_a_face_shares_its_force(wall):
    """Forces with the same sum and torque: the same stress of the region and of each grain."""
    rng = np.random.default_rng(1)
    snap, null = cube_on_cube(rng, wall)
    region = [[-1.0, -1.0, 0.1], [1.0, 1.0, 1.3]]
    base = snap(np.zeros(12))
    whole, own = stress_tensor(base, region=region), grain_stress(base)
    before = resultants(base)
    for _ in range(5):
        other = snap(0.2 * rng.normal(size=len(null)) @ null)
        assert np.abs(other.force - base.force).max() > 0.01
        # rounding of a few sums of forces of order one
        assert stress_tensor(other, region=region) == pytest.approx(whole, abs=ROUNDING)
        assert grain_stress(other) == pytest.approx(own, abs=ROUNDING)
        after = resultants(other)
        for name in ("force", "centre", "moment"):
            assert getattr(after, name) == pytest.approx(getattr(before, name), abs=ROUNDING)
    # what is left is a torsion about the normal
    assert before.moment[:, :2] == pytest.approx(np.zeros((1, 2)), abs=ROUNDING)
    assert abs(before.moment[0, 2]) > 1e-3
    # its wrench is that of the points, about the first centre
    c = base.contacts
    torque = np.cross(c.arm_first, base.force).sum(axis=0)
    arm = before.centre[0] - base.wrapped[0]
    assert np.cross(arm, before.force[0]) + before.moment[0] == pytest.approx(torque)


def test_seen_by_pairs_and_by_points():
    """Three squares in a tower: each joint has two points."""
    own = table([[(SQUARE, 0.0)]], [0, 0, 0])
    rows = [
        (i, i + 1, [0.0, 1.0], [x, 1.0 + i], [0.0, share * (2 - i)])
        for i in range(2)
        for x, share in ((-0.5, 0.3), (0.5, 0.7))
    ]
    rows = [
        *rows[:2],
        *[(0, 3, [0.0, -1.0], [x, 0.0], [0.0, -1.5]) for x in (-0.5, 0.5)],
        *rows[2:],
    ]
    law = hg.ContactLaw(friction=0.5)
    keys = {"walls": [floor(2)], "gravity": up(2, -1.0), "contacts": [law]}
    snap = shaped([[0, 0.5], [0, 1.5], [0, 2.5]], own, rows=rows, **keys)
    assert contact_numbers(snap).tolist() == [2, 2, 1]
    assert contact_numbers(snap, by="point").tolist() == [4, 4, 2]
    assert coordination(snap) == pytest.approx(5 / 3)
    assert coordination(snap, by="point") == pytest.approx(10 / 3)
    told = measure(snap, "coordination")
    assert float(told.points[0]) == pytest.approx(2.0 * float(told["all"][0]))
    # the topmost rests on a face, so that no square rattles
    assert not rattlers(snap).any()
    count = isostaticity(snap)
    assert (count.contacts, count.unknowns, count.equations) == (6, 12, 9)
    normal, _ = force_distribution(snap)
    assert (normal.count, normal.unit) == (2, pytest.approx(1.5))  # forces of 2 and 1
    assert force_distribution(snap, by="point")[0].count == 4
    assert fabric(snap, walls=True).count == 3
    assert fabric(snap, walls=True, by="point").count == 6
    assert len(seen(snap).contacts) == 3
    with pytest.raises(hg.InputError, match="by is 'face'"):
        seen(snap, "face")


def test_counts_of_a_square_without_friction():
    """Two normal forces balance weight and torque; nothing resists along the floor."""
    snap = square_on_floor(0.5, 0.5)
    laws = snap.model.laws.copy()
    laws[:] = 0.0
    count = isostaticity(replace(snap, model=replace(snap.model, laws=laws)))
    assert (count.unknowns, count.equations, count.excess) == (2, 2, 0)
    assert overlaps(snap).worst == 0.0


# ---------------------------------------------------------------------- orientations
def test_nematic_order_of_rods():
    n = 24
    x = np.column_stack([3.0 * np.arange(n), np.zeros(n)])
    own = table([[(rectangle(2.0, 0.5), 0.1)]], np.zeros(n, int), volume=[1.5])
    along = alignment(shaped(x, own, 0.4 + np.pi * (np.arange(n) % 2)))
    assert along.order == pytest.approx(1.0, abs=ROUNDING)
    assert along.director == pytest.approx([math.cos(0.4), math.sin(0.4)])
    spread = alignment(shaped(x, own, np.pi * np.arange(n) / n))
    assert spread.order == pytest.approx(0.0, abs=ROUNDING)
    # half of them to either side by φ: S = cos 2φ
    sides = alignment(shaped(x, own, 0.3 * (-1.0) ** np.arange(n)))
    assert sides.order == pytest.approx(math.cos(0.6), abs=ROUNDING)
    assert sides.director == pytest.approx([1.0, 0.0], abs=1e-9)


def test_nematic_order_in_space():
    """Long boxes along x, then along all three axes alike; cubes have no long axis."""
    x = np.column_stack([3.0 * np.arange(6), np.zeros(6), np.zeros(6)])
    own = table([[(CUBE * [2.0, 0.5, 0.4], 0.0)]], np.zeros(6, int))
    one = Rotation.from_euler("x", np.arange(6.0)[:, None]).as_quat()
    found = alignment(shaped(x, own, one))
    assert found.order == pytest.approx(1.0, abs=ROUNDING)
    assert found.director == pytest.approx([1.0, 0.0, 0.0])
    axes = Rotation.from_matrix(np.stack([np.roll(np.eye(3), k, axis=0) for k in range(3)] * 2))
    assert alignment(shaped(x, own, axes.as_quat())).order == pytest.approx(0.0, abs=ROUNDING)
    cubes = shaped(x, table([[(CUBE, 0.0)]], np.zeros(6, int)), one)
    assert math.isnan(alignment(cubes).order)
    assert float(measure(cubes, "orientations").long[0]) == 0


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_order_of_regular_polygons(k):
    """A k-th of a turn changes nothing; angles spread over it evenly have no order."""
    rng = np.random.default_rng(k)
    n = 12
    x = np.column_stack([3.0 * np.arange(n), np.zeros(n)])
    own = table([[(regular(k), 0.0)]], np.zeros(n, int))
    assert fold_of(own, 0) == k
    turns = 2.0 * np.pi / k * rng.integers(0, k, n)
    psi, fold = orientation_order(shaped(x, own, 0.2 + turns))
    assert (abs(psi), fold) == (pytest.approx(1.0), k)
    assert np.angle(psi) == pytest.approx(math.remainder(0.2 * k, 2 * math.pi))
    even = 2.0 * np.pi / k * np.arange(n) / n
    assert abs(orientation_order(shaped(x, own, even))[0]) == pytest.approx(0.0, abs=ROUNDING)
    data = measure(shaped(x, own, turns), "orientations")
    assert (float(data.psi[0]), int(data.fold[0])) == (pytest.approx(1.0), k)
    assert math.isnan(float(data.order[0]))  # none has a long axis


def test_symmetries_of_other_shapes():
    own = table(
        [
            [(rectangle(2.0, 1.0), 0.1)],
            [(SQUARE + np.array([0.1, 0.0]), 0.0)],
            [(np.zeros((1, 2)), 0.5)],
        ],
        [0, 1, 2],
        volume=[2.0, 1.0, 0.25 * math.pi],
    )
    assert [fold_of(own, s) for s in range(3)] == [2, 1, 0]
    snap = shaped([[0.0, 0], [3, 0], [6, 0]], own)
    assert orientation_order(snap)[1] == 0  # they have none in common
    assert orientation_order(snap, fold=2)[1] == 2


# ---------------------------------------------------------------------- cells
@pytest.mark.parametrize("bounded", [False, True])
def test_cells_of_squares_on_a_grid(bounded):
    """Each square has a square of its own, between walls and where the scene repeats."""
    x = 1.25 * (np.stack(np.meshgrid(*[np.arange(4)] * 2), -1).reshape(-1, 2) + 0.5)
    own = table([[(SQUARE, 0.0)]], np.zeros(16, int))
    keys = {"walls": [hg.Box(min=[0.0, 0.0], max=[5.0, 5.0])]} if bounded else {"period": 5.0}
    found = cells(shaped(x, own, 0.5 * np.pi * np.arange(16), **keys))
    assert found.volume == pytest.approx(np.full(16, 1.25**2), rel=1e-9)
    if not bounded:
        phi = local_packing_fraction(shaped(x, own, **keys))
        assert phi == pytest.approx(np.full(16, 0.64), rel=1e-9)
        beside = np.isclose(np.abs(found.branch).max(axis=1), 1.25)
        sides = found.area[beside & (found.area > 0.1)]
        assert sides == pytest.approx(np.full(32, 1.25), rel=0.1)  # they end at corners of points


@pytest.mark.parametrize("dim", [2, 3])
def test_cells_of_any_shapes_fill_the_region(dim):
    rng = np.random.default_rng(11)
    n = 9 if dim == 2 else 8
    side = 3 if dim == 2 else 2
    x = 2.0 * (np.stack(np.meshgrid(*[np.arange(side)] * dim), -1).reshape(-1, dim) + 0.5)
    corners = regular(5) if dim == 2 else CUBE
    own = table([[(0.8 * corners, 0.0)]], np.zeros(n, int), rng.uniform(0.7, 1.0, n))
    angle = rng.uniform(0, 6, n) if dim == 2 else Rotation.random(n, rng=rng).as_quat()
    box = hg.Box(min=[0.0] * dim, max=[2.0 * side] * dim)
    snap = shaped(x, own, angle, walls=[box])
    found = cells(snap)
    assert found.volume.sum() == pytest.approx((2.0 * side) ** dim, rel=1e-9)
    assert (found.volume > snap.volume).all()
    assert (found.volume < 2.0 * 2.0**dim).all()


@pytest.mark.parametrize(("dim", "error"), [(2, 1e-4), (3, 1e-3)])
def test_cells_of_disks_and_balls_are_radical_cells(dim, error):
    """Of one size, as shapes: their cells end in the middles between surfaces, as planes do.

    Points are 1/24 of a diameter apart in 2D, about 1/6 in 3D; the border is right to some of the
    square of that, to and fro.
    """
    rng = np.random.default_rng(2)
    count = 4 if dim == 2 else 2
    x = (np.stack(np.meshgrid(*[np.arange(count)] * dim), -1).reshape(-1, dim) + 0.5) * 1.5
    x = x + rng.uniform(-0.2, 0.2, x.shape)
    volume = [math.pi / 4 if dim == 2 else math.pi / 6]
    own = table([[(np.zeros((1, dim)), 0.5)]], np.zeros(len(x), int), volume=volume)
    snap = shaped(x, own, period=1.5 * count)
    as_balls = replace(snap, model=replace(snap.model, solids=ROUND_GRAINS))
    assert cells(snap).volume == pytest.approx(cells(as_balls).volume, rel=error)


def test_cells_of_a_small_square_on_the_side_of_a_large_one():
    """What is nearer to the small square: its side of the box less two triangles of 1/8 each."""
    own = table([[(SQUARE, 0.0)]], [0, 0], [1.0, 2.0])
    box = hg.Box(min=[0.0, 0.0], max=[3.0, 2.0])
    found = cells(shaped([[0.5, 1.0], [2.0, 1.0]], own, walls=[box])).volume
    # the sides are drawn in by 0.02, which moves two borders of the length 0.7 by less than that
    assert found == pytest.approx([1.75, 4.25], abs=0.02)


# ---------------------------------------------------------------------- as scenes have them
def pentagons() -> hg.Simulation:
    """Twelve pentagons that come to rest in a box."""
    grains = hg.Grains(
        count=12,
        shape="pentagon",
        diameter=hg.Uniform(min=0.6, max=1.0),
        place=hg.Loose(min=[0.0, 0.0], max=[4.0, 8.0]),
    )
    scene = hg.Scene(
        gravity=[0.0, -1.0],
        grains=[grains],
        walls=[hg.Box(min=[0.0, 0.0], max=[4.0, 8.0])],
        contacts=[hg.ContactLaw(friction=0.5)],
    )
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=50))
    for _ in range(1200):
        sim.step()
    return sim


def test_pentagons_that_settled():
    """The floor bears their weight; stress, resultants and possible forces agree on it."""
    sim = pentagons()
    snap = snapshot(sim)
    assert snap.volume.sum() == pytest.approx(
        sum(2.5 * math.sin(0.4 * math.pi) * r**2 for r in snap.radius)
    )
    found, weight = resultants(snap), float(snap.mass.sum())
    floors = snap.n + snap.model.wall_names.index("bottom")
    # at rest up to what a residual of sweeps leaves
    assert -found.force[found.second == floors, 1].sum() == pytest.approx(weight, rel=1e-2)
    assert found.points.sum() >= len(snap.contacts) > found.first.size == len(seen(snap).contacts)
    assert (found.kind == 2).any()
    assert coordination(snap, by="point") > coordination(snap)
    lowest = [[0.0, 0.0], [4.0, 0.05]]
    sigma = stress_tensor(snap, region=lowest, kinetic=False)
    assert 4.0 * sigma[1, 1] == pytest.approx(weight, rel=2e-2)
    space = force_space(sim)
    assert not space.packing.round
    assert space.within == space.contacts - space.pairs  # in 2D one for each face of two points
    assert space.nullity >= space.expected
    worst, *_ = worst_overlap_now(snap)
    assert worst < 1e-2
    inside = content(snap, Block(np.zeros(2), np.array([4.0, 8.0])))
    assert inside == pytest.approx(snap.volume, abs=1e-2)  # but for what overlaps the walls
    assert cells(snap).volume.sum() == pytest.approx(32.0, rel=1e-9)
    assert orientation_order(snap)[1] == 5


@pytest.mark.parametrize("dim", [2, 3])
def test_the_worst_overlap_is_found_anew(dim):
    """Boxes of width 1 that are in each other by 0.1, side to side, and in the floor by 0.2."""
    shape = "square" if dim == 2 else "cube"
    side = math.sqrt(dim)  # the diameter of the circle or sphere around it
    place = hg.At(positions=[[0.0] * (dim - 1) + [5.0], [0.9] + [0.0] * (dim - 2) + [5.3]])
    scene = hg.Scene(
        dimension=dim,
        grains=[hg.Grains(shape=shape, diameter=side, place=place)],
        walls=[floor(dim)],
        allow_overlaps=True,
    )
    snap = snapshot(hg.Simulation(scene, dt=0.01))
    straight = snap.state.orientation.copy()
    straight[: snap.n] = 0.0 if dim == 2 else [0.0, 0.0, 0.0, 1.0]
    snap = replace(snap, state=replace(snap.state, orientation=straight))
    worst, first, second = worst_overlap_now(snap)
    assert (worst, first, second) == (pytest.approx(0.1, abs=1e-9), 0, 1)
    lower = snap.state.position.copy()
    lower[1, -1] = 0.3
    low = replace(snap, state=replace(snap.state, position=lower))
    assert worst_overlap_now(low) == (pytest.approx(0.2, abs=1e-9), 1, 2)
    lower[1, -1] = 2.0
    assert worst_overlap_now(low) == (0.0, -1, -1)
    assert float(measure(snap, "overlaps-now").worst[0]) == pytest.approx(0.1)
