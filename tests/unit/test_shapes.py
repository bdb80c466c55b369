"""Shapes of grains: mass, centre and inertia against closed forms, trimesh and sampling."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import trimesh

import hardgrain as hg
from hardgrain.scene.balls import mass_of_union
from hardgrain.scene.mass import mass_of_part
from hardgrain.scene.polytope import (
    PLATONIC,
    box,
    capsule,
    hull,
    platonic,
    polygon,
    random_polygon,
    random_polyhedron,
    rounded,
)
from hardgrain.scene.shape_table import shape_table
from hardgrain.scene.solid import Solid

# [1] What remains of sixteen digits after sums over some dozens of pieces.
ROUNDING = 1e-12


def inertia(mass):
    second = mass.gyration * mass.volume
    return np.trace(second) * np.eye(3) - second


def turn(seed):
    """A random rotation."""
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def solid(shape, dim, seed=0):
    return shape_table([hg.Grains(shape=shape)], dim, seed).solid[0]


# ---------------------------------------------------------------------- mass
@pytest.mark.parametrize("seed", range(3))
def test_a_hull_weighs_what_trimesh_finds(seed):
    rng = np.random.default_rng(seed)
    x = random_polyhedron(14, rng) + np.array([3.0, -2.0, 1.0])
    mass, mesh = mass_of_part(hull(x), 3), trimesh.convex.convex_hull(x)
    assert mass.volume == pytest.approx(mesh.volume, rel=ROUNDING)
    assert mass.centre == pytest.approx(mesh.center_mass, rel=ROUNDING)
    assert inertia(mass) == pytest.approx(mesh.moment_inertia, abs=1e-11 * mesh.volume)


@pytest.mark.parametrize(
    ("name", "corners", "faces", "edges", "volume", "gyration"),
    [
        ("tetrahedron", 4, 4, 6, math.sqrt(2) / 12, 1 / 20),
        ("cube", 8, 6, 12, 1.0, 1 / 6),
        ("octahedron", 6, 8, 12, math.sqrt(2) / 3, 1 / 10),
        ("dodecahedron", 20, 12, 30, (15 + 7 * math.sqrt(5)) / 4, (95 + 39 * math.sqrt(5)) / 300),
        ("icosahedron", 12, 20, 30, 5 * (3 + math.sqrt(5)) / 12, (3 + math.sqrt(5)) / 20),
    ],
)
def test_regular_solids_have_their_known_volume_and_inertia(
    name, corners, faces, edges, volume, gyration
):
    """Volume over edge³ and moment of inertia over mass × edge², from tables."""
    part = hull(platonic(name))
    assert (len(part.corner), len(part.face), len(part.edge)) == (corners, faces, edges)
    edge = np.linalg.norm(np.diff(part.corner[part.edge], axis=1)[:, 0], axis=1)
    assert edge == pytest.approx(edge[0], rel=ROUNDING)
    own = Solid.of([part], 3)
    assert own.volume / edge[0] ** 3 == pytest.approx(volume, rel=ROUNDING)
    assert own.moments / edge[0] ** 2 == pytest.approx(gyration, rel=ROUNDING)
    assert (own.moments == own.moments[0]).all()  # not even rounding makes an axis special
    assert (own.axes == np.eye(3)).all()


def test_faces_look_outwards_and_run_counter_clockwise():
    part = hull(random_polyhedron(12, np.random.default_rng(5)) + 4.0)
    middle = part.corner.mean(axis=0)
    for rim, n in zip(part.face, part.normal):
        x = part.corner[list(rim)]
        assert n @ (x[0] - middle) > 0.0
        assert (part.corner - x[0]) @ n == pytest.approx(np.minimum((part.corner - x[0]) @ n, 0.0))
        for a, b, c in zip(x, np.roll(x, -1, axis=0), np.roll(x, -2, axis=0)):
            assert np.cross(b - a, c - b) @ n > 0.0
    for (i, j), faces in zip(part.edge, part.edge_face):
        for f in faces:
            assert {i, j} <= set(part.face[f])


@pytest.mark.parametrize("core", ["random", *PLATONIC])
def test_a_rounded_polyhedron_weighs_what_its_mesh_does(core):
    """The ball is a mesh of finer and finer triangles. Its error falls by four with each, so that
    Richardson's extrapolation leaves less than 10⁻⁴ of the error of some per cent."""
    x = random_polyhedron(8, np.random.default_rng(2)) if core == "random" else platonic(core)
    exact = mass_of_part(replace(hull(x), radius=1.0), 3)
    found = []
    for fine in (3, 4):
        ball = trimesh.creation.icosphere(subdivisions=fine, radius=1.0).vertices
        mesh = trimesh.convex.convex_hull((x[:, None] + ball[None]).reshape(-1, 3))
        found.append((mesh.volume, mesh.center_mass, mesh.moment_inertia))
    volume, centre, moment = (fine + (fine - coarse) / 3.0 for coarse, fine in zip(*found))
    assert exact.volume == pytest.approx(volume, rel=3e-4)
    assert exact.centre == pytest.approx(centre, abs=3e-4)
    assert inertia(exact) == pytest.approx(moment, abs=3e-4 * moment.max())


def test_a_rounded_box_is_exact():
    """Steiner's formula for the volume, and the inertia of the eight pieces of a rounded cube."""
    a, b, c, r = 1.0, 2.0, 3.0, 0.25
    mass = mass_of_part(replace(hull(box([a, b, c])), radius=r), 3)
    steiner = a * b * c + 2 * r * (a * b + b * c + c * a) + math.pi * r**2 * (a + b + c)
    assert mass.volume == pytest.approx(steiner + 4 / 3 * math.pi * r**3, rel=ROUNDING)
    # ∫ x²: the box and the slabs across x, then what lies beyond ±a/2, along x
    core, h = b * c + 2 * r * (b + c) + math.pi * r**2, 0.5 * a
    flank = 0.0  # ∫₀ʳ (h + s)² A(s) ds, with the section A at height s above the core
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for t, w in zip(0.25 * math.pi * (nodes + 1.0), 0.25 * math.pi * weights):
        s, q = r * math.sin(t), r * math.cos(t)
        area = b * c + 2 * q * (b + c) + math.pi * q**2
        flank += w * r * math.cos(t) * (h + s) ** 2 * area
    assert mass.second[0, 0] == pytest.approx(core * a**3 / 12 + 2 * flank, rel=1e-11)
    assert mass.centre == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("dim", [2, 3])
def test_rounding_a_polygon_or_a_capsule_to_nothing_gives_a_ball(dim):
    """The core shrinks to a point: the rest is the disk or the ball."""
    tiny = 1e-6
    x = polygon(tiny * random_polygon(5, np.random.default_rng(0))[:, :2], 1.0)
    part = x if dim == 2 else replace(hull(tiny * platonic("icosahedron")), radius=1.0)
    volume, second = (math.pi, math.pi / 4) if dim == 2 else (4 / 3 * math.pi, 4 / 15 * math.pi)
    for one in (part, capsule([0] * dim, [tiny] + [0] * (dim - 1), 1.0, dim)):
        mass = mass_of_part(one, dim)
        assert mass.volume == pytest.approx(volume, rel=1e-5)  # the core has a size of 10⁻⁶
        assert np.diag(mass.second)[:dim] == pytest.approx(second, rel=1e-5)


def test_a_rounded_polygon_weighs_what_a_polygon_with_many_corners_does():
    part = rounded(polygon(random_polygon(6, np.random.default_rng(1))), 0.5, 2)
    angle = np.linspace(0.0, 2.0 * math.pi, 4001)[:-1]
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    from scipy.spatial import ConvexHull

    x = (part.corner[:, None, :2] + part.radius * ring).reshape(-1, 2)
    many = mass_of_part(polygon(x[ConvexHull(x).vertices]), 2)
    own = mass_of_part(part, 2)
    # [1] chords of 4000 corners miss a circle by (2π/4000)²/6 = 4·10⁻⁷
    assert own.volume == pytest.approx(many.volume, rel=1e-6)
    assert own.centre == pytest.approx(many.centre, abs=1e-6)
    assert own.second == pytest.approx(many.second, abs=1e-6)


def test_capsules_have_their_closed_forms():
    r, length = 0.5, 3.0
    flat = mass_of_part(capsule([0, 0], [length, 0], r, 2), 2)
    assert flat.volume == pytest.approx(2 * r * length + math.pi * r**2, rel=ROUNDING)
    rod, caps = 2 * r * length, math.pi * r**2
    # a half disk: centre 4r/3π beyond the end, own second moment r²/4 about the end
    along = rod * length**2 / 12 + caps * (
        length**2 / 4 + length * 4 * r / (3 * math.pi) + r**2 / 4
    )
    assert flat.gyration[0, 0] * flat.volume == pytest.approx(along, rel=ROUNDING)
    assert flat.centre == pytest.approx([length / 2, 0, 0], abs=1e-15)
    x = np.array([[0.0, 0, 0], [1, 2, 2]])
    deep = mass_of_part(capsule(*x, r, 3), 3)
    many = mass_of_part(replace(hull(_prism(x, 1e-4)), radius=r), 3)  # a thin rod as the core
    assert deep.volume == pytest.approx(many.volume, rel=1e-3)
    assert deep.gyration == pytest.approx(many.gyration, abs=1e-3)


def _prism(x, thick):
    return np.concatenate([x + thick * np.eye(3)[k] * s for k in range(3) for s in (-1, 1)])


# ---------------------------------------------------------------------- clumps
def test_what_two_disks_share_counts_once():
    d, r = 1.0, 0.8
    mass = mass_of_union(np.array([[0.0, 0, 0], [d, 0, 0]]), np.array([r, r]), 2)
    lens = 2 * r**2 * math.acos(d / (2 * r)) - 0.5 * d * math.sqrt(4 * r**2 - d**2)
    assert mass.volume == pytest.approx(2 * math.pi * r**2 - lens, rel=ROUNDING)
    assert mass.centre == pytest.approx([d / 2, 0, 0], abs=1e-15)


def test_what_two_balls_share_counts_once_whatever_their_direction():
    for seed in range(3):
        away = turn(seed)[:, 0]
        mass = mass_of_union(np.array([0 * away, away]), np.array([1.0, 1.0]), 3)
        # the lens of two unit balls at distance one
        assert mass.volume == pytest.approx(8 / 3 * math.pi - 5 / 12 * math.pi, rel=1e-11)
        assert mass.centre == pytest.approx(0.5 * away, abs=1e-11)


def test_a_union_of_balls_does_not_depend_on_its_slices():
    """Slices across another direction are another quadrature: what both agree in is right."""
    rng = np.random.default_rng(4)
    x, r = rng.normal(size=(6, 3)), rng.uniform(0.6, 1.2, 6)
    mass = mass_of_union(x, r, 3)
    for seed in range(2):
        q = turn(seed)
        other = mass_of_union(x @ q.T, r, 3)
        assert other.volume == pytest.approx(mass.volume, rel=1e-10)
        assert other.centre == pytest.approx(q @ mass.centre, abs=1e-10)
        assert other.gyration == pytest.approx(q @ mass.gyration @ q.T, abs=1e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_balls_within_balls_twins_and_balls_apart(dim):
    unit = mass_of_union(np.zeros((1, 3)), np.ones(1), dim)
    inside = mass_of_union(np.array([[0.0, 0, 0], [0.2, 0, 0]]), np.array([1.0, 0.5]), dim)
    twins = mass_of_union(np.zeros((3, 3)), np.ones(3), dim)
    apart = mass_of_union(np.array([[0.0, 0, 0], [9, 0, 0]]), np.ones(2), dim)
    assert inside.volume == pytest.approx(unit.volume, rel=1e-11)
    assert twins.volume == pytest.approx(unit.volume, rel=1e-11)
    assert apart.volume == pytest.approx(2 * unit.volume, rel=ROUNDING)


def test_a_clump_of_disks_weighs_what_sampling_finds():
    rng = np.random.default_rng(0)
    x = np.hstack([rng.normal(size=(6, 2)), np.zeros((6, 1))])
    r = rng.uniform(0.5, 1.2, 6)
    mass = mass_of_union(x, r, 2)
    low, high = (x[:, :2] - 1.2).min(axis=0), (x[:, :2] + 1.2).max(axis=0)
    side = 1500
    grid = np.stack(np.meshgrid(*(np.arange(side) + 0.5,) * 2), axis=-1).reshape(-1, 2) / side
    points = low + grid * (high - low)
    inside = np.zeros(len(points), bool)
    for centre, radius in zip(x, r):
        inside |= ((points - centre[:2]) ** 2).sum(axis=1) < radius**2
    # [1] cells on the outline, about 4·1500 of 1500², counted at random: below 10⁻⁴
    assert mass.volume == pytest.approx(inside.mean() * np.prod(high - low), rel=3e-4)
    assert mass.centre[:2] == pytest.approx(points[inside].mean(axis=0), abs=1e-3)
    assert mass.gyration[:2, :2] == pytest.approx(np.cov(points[inside].T), abs=1e-3)


def test_parts_that_touch_add_up_to_the_whole():
    """A box cut into two is the box."""
    halves = [hull(box([1, 1, 2]) + np.array([0, 0, s])) for s in (-1.0, 1.0)]
    corners = [part.corner.tolist() for part in halves]
    cut, whole = (
        solid({"kind": "clump", "parts": corners}, 3),
        solid({"kind": "box", "sides": [1, 1, 4]}, 3),
    )
    assert cut.volume == pytest.approx(whole.volume, rel=ROUNDING)
    assert cut.moments == pytest.approx(whole.moments, rel=ROUNDING)
    assert cut.bound == pytest.approx(whole.bound, rel=ROUNDING)


# ---------------------------------------------------------------------- the own frame
def test_a_box_keeps_its_axes_and_a_turned_one_is_turned_back():
    straight = Solid.of([hull(box([1, 2, 3]))], 3)
    assert (straight.axes == np.eye(3)).all()
    assert straight.moments == pytest.approx(np.array([13, 10, 5]) / 12, rel=ROUNDING)
    for seed in range(5):
        q = turn(seed)
        tilted = Solid.of([hull(box([1, 2, 3]) @ q.T + [1, 2, 3])], 3)
        assert sorted(tilted.moments) == pytest.approx(np.array([5, 10, 13]) / 12, rel=1e-11)
        assert np.linalg.det(tilted.axes) == pytest.approx(1.0, rel=ROUNDING)
        assert tilted.centre == pytest.approx([1, 2, 3], rel=ROUNDING)
        for flip in itertools.product([-1, 1], repeat=3):  # no other signs bring it nearer
            if np.prod(flip) > 0:
                assert np.trace(tilted.axes * flip) <= np.trace(tilted.axes) + 1e-9
        corner = np.sort(np.abs(tilted.part[0].corner), axis=1)
        assert corner == pytest.approx(np.tile([0.5, 1.0, 1.5], (8, 1)), rel=1e-11)


def test_axes_that_symmetry_leaves_open_are_next_to_those_given():
    rod = Solid.of([capsule([0, 0, 0], [0.1, 0.0, 2.0], 0.3, 3)], 3)
    assert np.trace(rod.axes) > 2.99  # turned by no more than the rod is
    assert rod.moments[0] == rod.moments[1]


def test_a_user_sees_what_he_wrote():
    """Corners in space are those written, turned as the set says, whatever the principal axes."""
    corners = [[0, 0, 0], [2, 0.3, 0], [0, 1, 0], [0.4, 0, 3]]
    at = [5.0, 6.0, 7.0]
    shape = {"kind": "polyhedron", "corners": corners}
    for orientation in (None, [0.3, -0.8, 1.1]):
        place = hg.At(positions=[at])
        grains = hg.Grains(shape=shape, place=place, orientation=orientation)
        model, state = hg.Scene(dimension=3, grains=[grains]).build(0)
        from scipy.spatial.transform import Rotation

        space = Rotation.from_quat(state.orientation[0]).apply(
            model.solids.corner * model.solids.size[0]
        )
        x = np.array(corners) - np.mean(corners, axis=0)  # centre of a tetrahedron
        expected = Rotation.from_rotvec(orientation or [0, 0, 0]).apply(x)
        assert space == pytest.approx(expected, abs=1e-12)
        assert len(model.moments)


# ---------------------------------------------------------------------- sizes
@pytest.mark.parametrize(("by", "size"), [("circumscribed", math.sqrt(14)), ("sieve", 2.0)])
def test_the_size_of_a_box(by, size):
    shape = {"kind": "box", "sides": [1, 2, 3]}
    place = hg.At(positions=[[0, 0, 0]])
    grains = hg.Grains(shape=shape, diameter=size, size_by=by, place=place)
    model, _ = hg.Scene(dimension=3, grains=[grains]).build(0)
    assert model.solids.size[0] == pytest.approx(1.0, rel=1e-9)
    assert model.volume[0] == pytest.approx(6.0, rel=1e-8)
    assert model.width[0] == pytest.approx(1.0, rel=1e-9)


def test_a_thin_plate_falls_through_a_sieve_along_the_diagonal():
    """The shadow of a plate a × b, b ≫ a, fits a square of side (a + b)/√2 < b."""
    assert solid({"kind": "box", "sides": [0.1, 2, 3]}, 3).sieve == pytest.approx(
        2.1 / math.sqrt(2), rel=1e-9
    )


@pytest.mark.parametrize("dim", [2, 3])
def test_a_size_by_volume_is_that_of_the_round_grain(dim):
    shape = {"kind": "polygon", "sides": 5} if dim == 2 else "icosahedron"
    place = hg.At(positions=[[0.0] * dim])
    sets = [
        hg.Grains(shape=shape, diameter=0.7, size_by="volume", place=place),
        hg.Grains(diameter=0.7, place=hg.At(positions=[[3.0] * dim])),
    ]
    model, _ = hg.Scene(dimension=dim, grains=sets, materials={"a": {"density": 3.0}}).build(0)
    assert model.mass[0] == pytest.approx(model.mass[1], rel=ROUNDING)
    assert model.volume[1] == pytest.approx(math.pi / (4 if dim == 2 else 6) * 0.7**dim)


def test_least_widths():
    assert solid("pentagon", 2).width == pytest.approx(0.5 * (1 + math.cos(math.pi / 5)))
    assert solid({"kind": "capsule", "aspect": 4}, 2).width == pytest.approx(0.25)
    assert solid("tetrahedron", 3).width == pytest.approx(1 / math.sqrt(3))  # between two edges
    clump = {"kind": "clump", "centers": [[0, 0], [1, 0], [2, 0.0]], "radii": [0.5, 0.4, 0.3]}
    angle = np.linspace(0, math.pi, 200_001)
    u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x, r = np.array([[0, 0], [1, 0], [2, 0.0]]), np.array([0.5, 0.4, 0.3])
    brute = ((u @ x.T + r).max(axis=1) + (-u @ x.T + r).max(axis=1)).min()
    assert solid(clump, 2).width == pytest.approx(brute, rel=1e-8)


def test_a_rounded_shape_has_the_stated_size():
    """Faces stay where they are: a rounded square is as wide as the sharp one."""
    sharp = solid({"kind": "box", "sides": [1, 2]}, 2)
    round_ = solid({"kind": "box", "sides": [1, 2], "rounding": 0.4}, 2)
    assert round_.width == pytest.approx(sharp.width, rel=ROUNDING)
    assert round_.volume == pytest.approx(2 - (4 - math.pi) * 0.2**2, rel=ROUNDING)
    assert solid({"kind": "polygon", "sides": 5, "rounding": 0.5}, 2).bound == 0.5
    block = solid({"kind": "box", "sides": [1, 2, 3], "rounding": 0.2}, 3)
    (part,) = block.part
    assert np.ptp(part.corner, axis=0) + 2 * part.radius == pytest.approx([1, 2, 3], rel=1e-12)


# ---------------------------------------------------------------------- random ones
def test_random_polygons_are_convex_and_have_the_number_of_sides():
    for seed, sides in itertools.product(range(20), (3, 4, 5, 8, 12)):
        x = random_polygon(sides, np.random.default_rng(seed))
        a = np.roll(x, -1, axis=0) - x
        b = np.roll(a, -1, axis=0)
        turns = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        assert len(x) == sides
        assert turns.min() > 0.0
        assert np.arctan2(turns, (a * b).sum(axis=1)).sum() == pytest.approx(2 * math.pi)


def test_random_polyhedra_have_all_their_corners():
    for seed, corners in itertools.product(range(5), (4, 6, 12, 30)):
        part = hull(random_polyhedron(corners, np.random.default_rng(seed)))
        assert len(part.corner) == corners
        assert len(part.corner) - len(part.edge) + len(part.face) == 2  # Euler


def test_random_shapes_follow_the_seed():
    shape = {"kind": "polygon", "sides": [4, 8], "random": True, "variants": 7}
    sets = [hg.Grains(shape=shape, count=50, place=hg.Grid(min=[0, 0], max=[20, 20]))]
    one, again, other = (hg.Scene(grains=sets).build(seed)[0].solids for seed in (1, 1, 2))
    for a, b in zip(one, again):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.corner, other.corner)
    assert set(one.shape.tolist()) == set(range(7))
    sides = np.diff(one.corner_start)
    assert sides.min() >= 4
    assert sides.max() <= 8
