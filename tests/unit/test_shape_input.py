"""Shapes as users write them: short forms, what is refused and in which words, files, starts."""

import json
import sys

import numpy as np
import pytest
import trimesh

import hardgrain as hg
from hardgrain.measure.snapshot import snapshot
from hardgrain.run.scenario import Scenario, Start, parse

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


def scene(shape, dim=2, **fields):
    fields = {"count": 1, "place": {"kind": "grid", "min": [0] * dim, "max": [9] * dim}} | fields
    return {"dimension": dim, "grains": [{"shape": shape, **fields}]}


def build(shape, dim=2, **fields):
    data = {"dt": 0.01, "stop": {"steps": 1}, "scene": scene(shape, dim, **fields)}
    return parse(data).scene.build(0)


@pytest.mark.parametrize(
    ("name", "dim", "corners"),
    [
        ("triangle", 2, 3), ("square", 2, 4), ("pentagon", 2, 5), ("hexagon", 2, 6),
        ("capsule", 2, 2), ("box", 3, 8), ("cube", 3, 8), ("tetrahedron", 3, 4),
        ("octahedron", 3, 6), ("dodecahedron", 3, 20), ("icosahedron", 3, 12), ("capsule", 3, 2),
    ],
)  # fmt: skip
def test_usual_shapes_take_one_word(name, dim, corners):
    model, _ = build(name, dim)
    assert len(model.solids.corner) == corners
    assert model.radius == pytest.approx(0.5)  # the circumscribed diameter is one
    assert not model.lean
    assert not model.round


def test_a_square_has_its_sides_along_the_axes():
    model, _ = build("square")
    half = 0.25 * np.sqrt(2.0)
    assert np.abs(model.solids.corner[:, :2]) == pytest.approx(half)


def test_lengths_are_meant_as_they_are_written():
    model, _ = build({"kind": "box", "sides": [1, 2, 3]}, 3)
    assert model.solids.size == [1.0]
    assert model.volume == pytest.approx(6.0)
    assert np.ptp(model.solids.corner, axis=0) == pytest.approx([1, 2, 3])


@pytest.mark.parametrize("corners", [SQUARE, SQUARE[::-1], SQUARE[2:] + SQUARE[:2]])
def test_either_sense_of_corners_is_right(corners):
    model, _ = build({"kind": "polygon", "corners": corners})
    assert model.volume == pytest.approx(1.0)
    x = model.solids.corner
    a, b = x[1] - x[0], x[2] - x[1]
    assert np.cross(a, b)[2] > 0.0  # counter-clockwise


BAD = [
    ([[0, 0], [1, 0], [0.2, 0.2], [0, 1]], ["corners[2] is [0.2, 0.2]", "not convex"]),
    ([[0, 0], [1, 1], [1, 0], [0, 1]], ["wrong order", "from corners[0] to corners[1] crosses"]),
    ([[0, 0], [1, 0], [2, 0]], ["on a line", "area greater than 0"]),
    ([[0, 0], [1, 0], [1, 0], [0, 1]], ["corners[2] is [1.0, 0.0]", "corners[1]"]),
    ([[0, 0], [1, 0], [2, 0], [0, 1]], ["corners[1] is [1.0, 0.0]", "straight line"]),
    ([[0, 0], [1, 0]], ["2 point(s)", "at least 3"]),
    ([[0, 0], [1, 0], [0, 1, 0]], ["corners[2] is [0.0, 1.0, 0.0]", "3 number(s)"]),
    # a pentagram turns the same way at every corner
    ([[np.cos(2.4 * k * np.pi / 3), np.sin(2.4 * k * np.pi / 3)] for k in range(5)], ["crosses"]),
]


@pytest.mark.parametrize(("corners", "words"), BAD)
def test_bad_polygons_are_refused_by_corner(corners, words):
    with pytest.raises(hg.InputError) as refused:
        build({"kind": "polygon", "corners": corners})
    for word in ("scene.grains[0].shape", *words):
        assert word in str(refused.value)


CUBE = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]


@pytest.mark.parametrize(
    ("corners", "words"),
    [
        ([*CUBE, [0.5, 0.5, 0.5]], "corners[8] is [0.5, 0.5, 0.5], which is no corner"),
        ([*CUBE, [0.5, 0.5, 1.0]], "corners[8] is [0.5, 0.5, 1.0], which is no corner"),
        ([*CUBE, CUBE[3]], "the same point as corners[3]"),
        (CUBE[:4], "lie in a plane"),
        (CUBE[:3], "3 point(s); it needs at least 4"),
        ([[0, 0], [1, 0], [0, 1], [1, 1]], "have 3"),
    ],
)
def test_bad_polyhedra_are_refused_by_corner(corners, words):
    with pytest.raises(hg.InputError) as refused:
        build({"kind": "polyhedron", "corners": corners}, 3)
    assert words in str(refused.value)
    assert str(refused.value).startswith("scene.grains[0].shape")


@pytest.mark.parametrize(
    ("shape", "dim", "words"),
    [
        ("pentagon", 3, "shape.kind is 'polygon', a shape of 2D"),
        ("octahedron", 2, "shape.kind is 'polyhedron', a shape of 3D"),
        ("cube", 2, "takes 'square'"),
        ({"kind": "box", "sides": [1, 2, 3]}, 2, "with 3 number(s); a box in 2D takes 2"),
        ({"kind": "clump", "centers": [[0, 0]], "radii": 1}, 3, "a clump in 2D"),
        ({"kind": "clump", "centers": [[0, 0]], "radii": [1, 2]}, 2, "radii has 2 entries"),
        ({"kind": "clump", "centers": [[0, 0]]}, 2, "centers and radii go together"),
        ({"kind": "clump", "parts": [SQUARE, [[0.5, 0.5], [2, 0.5], [2, 2]]]}, 2,
         "shape.parts[1] overlaps shape.parts[0]"),
        ("blob", 2, "'blob' is no shape; names are triangle"),
        ({"kind": "blob"}, 2, "shape.kind is 'blob'"),
        ({"kind": "polygon"}, 2, "either sides or corners"),
        ({"kind": "polygon", "sides": [4, 8]}, 2, "add random = true"),
        ({"kind": "polygon", "sides": [8, 4], "random": True}, 2, "least number first"),
        ({"kind": "polygon", "sides": 2}, 2, "at least 3"),
        ({"kind": "polygon", "sides": 5, "rounding": 1.5}, 2, "rounding is 1.5"),
        ({"kind": "capsule", "aspect": 1}, 2, "aspect is 1; give a number greater than 1"),
        ({"kind": "polyhedron", "corners": 12}, 3, "random = true"),
        ({"kind": "box", "sides": [1, 0]}, 2, "sides[1] is 0; give a number greater than 0"),
    ],
)  # fmt: skip
def test_what_is_no_shape_is_refused_in_one_sentence(shape, dim, words):
    with pytest.raises(hg.InputError) as refused:
        build(shape, dim)
    assert words in str(refused.value)
    assert str(refused.value).startswith("scene.grains[0].shape")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inertia": 0.3}, "inertia is 0.3, but the shape has its own"),
        ({"glued_to": "floor"}, "glued_to is 'floor', but only disks and spheres"),
        ({"size_by": "sieve"}, "size_by is 'sieve', but there is no diameter"),
        ({"shape": None, "size_by": "sieve"}, "round grains have one diameter"),
    ],
)
def test_fields_that_do_not_go_with_a_shape(fields, words):
    with pytest.raises(hg.InputError) as refused:
        build(**{"shape": "square", **fields})
    assert words in str(refused.value)


def test_lengths_in_two_units_are_noticed():
    wide = {"place": {"kind": "grid", "min": [0, 0], "max": [9000, 9000]}}
    with pytest.raises(hg.InputError, match=r"grains\[0\]\.shape.*times as wide.*same unit"):
        build("square", **wide)
    stones = hg.Grains(shape="square", place=hg.At(positions=[[0, 0]]))
    dust = hg.Grains(diameter=1e-4, place=hg.At(positions=[[2, 0]]))
    with pytest.raises(hg.InputError, match=r"grains\[0\]\.shape.*diameter of 1,.*0\.0001"):
        hg.Scene(grains=[stones, dust]).build(0)
    wide["place"]["max"] = [999, 99]
    build("square", count=400, diameter=1.0, **wide)


def test_laws_walls_and_engines_that_shapes_cannot_have():
    grains = [hg.Grains(shape="cube", place=hg.At(positions=[[0, 0, 3]]))]
    disk = hg.Disk(center=[0, 0, 0], normal=[0, 0, 1], radius=1.0)
    with pytest.raises(hg.InputError, match=r"scene\.walls\[0\] is a disk"):
        hg.Scene(dimension=3, grains=grains, walls=[disk]).build(0)
    plate = hg.Rectangle(corner=[0, 0, 0], sides=[[9, 0, 0], [0, 9, 0]], hole=2.0)
    with pytest.raises(hg.InputError, match="has a round hole"):
        hg.Scene(dimension=3, grains=grains, walls=[plate]).build(0)
    with pytest.raises(hg.InputError, match=r"contacts\[0\]\.rolling is 0\.1 .* have a shape"):
        hg.Scene(dimension=3, grains=grains, contacts=[hg.ContactLaw(rolling=0.1)]).build(0)


# ---------------------------------------------------------------------- meshes
@pytest.mark.parametrize("kind", ["stl", "obj", "ply"])
def test_a_convex_mesh_is_a_grain(tmp_path, kind):
    """A box whose faces are cut into many triangles has eight corners again."""
    file = tmp_path / f"stone.{kind}"
    trimesh.creation.box([1.0, 2.0, 3.0]).subdivide().export(file)
    model, _ = build({"kind": "mesh", "file": str(file)}, 3)
    assert len(model.solids.corner) == 8
    assert model.volume == pytest.approx(6.0, rel=1e-6)  # STL holds single precision
    assert model.mass[0] * np.array([13, 10, 5]) / 12 == pytest.approx(model.moments[0], rel=1e-6)


def test_a_mesh_is_read_once(tmp_path):
    file = tmp_path / "stone.stl"
    trimesh.creation.icosphere(subdivisions=1).export(file)
    shape = {"kind": "mesh", "file": str(file)}
    grains = hg.Grains(shape=shape, place=hg.At(positions=[[0, 0, 0]]))
    text = hg.Scene(dimension=3, grains=[grains]).model_dump_json()
    file.unlink()
    assert len(hg.Scene.model_validate_json(text).build(0)[0].solids.corner) == 42


def test_bad_meshes_are_refused(tmp_path):
    def refused(words, file="bad.stl"):
        with pytest.raises(hg.InputError, match=words):
            build({"kind": "mesh", "file": str(tmp_path / file)}, 3)

    refused("which does not exist")
    refused(r"read from \.stl", "bad.txt")
    ring = trimesh.creation.torus(2.0, 0.5)
    ring.export(tmp_path / "bad.stl")
    refused("not convex: near")
    box = trimesh.creation.box()
    trimesh.Trimesh(box.vertices, box.faces[1:]).export(tmp_path / "bad.stl")
    refused(r"not closed: 3 edge\(s\)")
    (tmp_path / "bad.stl").write_text("nonsense")
    refused("bad.stl")


def test_without_trimesh_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    file = tmp_path / "a.stl"
    trimesh.creation.box().export(file)
    monkeypatch.setitem(sys.modules, "trimesh", None)  # as if it were not there
    with pytest.raises(hg.InputError, match=r"trimesh is needed for .*hardgrain\[formats\]"):
        build({"kind": "mesh", "file": str(file)}, 3)


# ---------------------------------------------------------------------- placement
@pytest.mark.parametrize("kind", ["grid", "deposit", "loose"])
def test_sizes_by_sieve_keep_to_their_shapes_wherever_they_are_placed(kind):
    """Placement changes the order of grains; each must keep the radius that its shape asks for."""
    shape = {"kind": "polygon", "sides": [3, 8], "random": True}
    place = {"kind": kind, "min": [0, 0], "max": [40, 40]}
    model, _ = build(shape, count=100, diameter=1.0, size_by="sieve", place=place)
    assert model.width == pytest.approx(1.0, rel=1e-9)


def test_each_grain_has_its_orientation():
    place = {"kind": "at", "positions": [[0, 0], [3, 0]], "orientations": [0.0, 0.5]}
    _, state = build("square", count=2, place=place)
    assert state.orientation[:2, 0].tolist() == [0.0, 0.5]
    with pytest.raises(hg.InputError, match="lists 1 for 2 grains"):
        build("square", count=2, place=place | {"orientations": [0.1]})


def test_round_grains_beside_shapes_are_points_with_a_radius():
    sets = [
        hg.Grains(shape="square", place=hg.At(positions=[[0, 0]])),
        hg.Grains(diameter=0.6, place=hg.At(positions=[[2, 0]])),
    ]
    model, _ = hg.Scene(grains=sets).build(0)
    s = model.solids
    row = s.shape[1]
    part = s.part_start[row]
    assert s.radius[part] * s.size[1] == pytest.approx(0.3)
    assert np.diff(s.corner_start)[part] == 1
    assert model.volume[1] == pytest.approx(np.pi * 0.09)
    assert model.inertia[1] == pytest.approx(0.5 * model.mass[1] * 0.09)


# ---------------------------------------------------------------------- files and starts
RANDOM = {"kind": "polygon", "sides": [4, 8], "random": True, "variants": 5}


def scenario(seed=3, shape=RANDOM, file=None, **fields):
    place = {} if file else {"place": hg.Grid(min=[0, 0], max=[9, 9])}
    disks = hg.Grains(diameter=0.5, place=hg.At(positions=[[20.0, 0]]))
    sets = [disks, hg.Grains(count=9, shape=shape, orientation="random", **place, **fields)]
    start = Start(file=str(file)) if file else None
    sets = sets[1:] if file else sets
    return Scenario(dt=0.01, seed=seed, scene=hg.Scene(grains=sets), start=start)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Ten grains that fly apart from each other, for ten steps."""
    path = tmp_path_factory.mktemp("shapes") / "run.h5"
    made = scenario(speed=0.01)
    hg.Simulation(made).run(10, output=path, every=5, progress=False)
    return path


def test_a_file_gives_the_shapes_back(run):
    built, _ = scenario(speed=0.01).scene.build(3)
    with hg.RunFile(run) as file:
        assert file.model["shape"].tolist() == built.solids.shape.tolist()
        again = snapshot(file).model
    for name, own, kept in zip(built.solids._fields, built.solids, again.solids):
        assert np.array_equal(own, kept), name


def test_round_runs_keep_no_shapes(tmp_path):
    path = tmp_path / "round.h5"
    grains = hg.Grains(place=hg.At(positions=[[0, 0]]))
    hg.Simulation(hg.Scene(grains=[grains]), dt=0.01).run(1, output=path, progress=False)
    import h5py

    with h5py.File(path) as h5:
        assert "shape" not in h5["model"]
        assert "feature" not in h5["contacts"]
    with hg.RunFile(path) as file:
        assert snapshot(file).model.round


def test_grains_of_an_earlier_run_bring_their_shapes(run):
    both = scenario(shape=None, file=run)
    one = hg.Grains(diameter=0.5)
    both = both.model_copy(update={"scene": hg.Scene(grains=[one, hg.Grains()])})
    sim = hg.Simulation(both)
    before, _ = scenario(speed=0.01).scene.build(3)
    own = sim.model.solids
    assert own.shape.tolist() == before.solids.shape.tolist()
    assert np.array_equal(own.corner, before.solids.corner)
    assert json.loads(sim.scenario.model_dump_json())["scene"]["grains"][1]["shape"]
    with hg.RunFile(run) as file:
        assert np.array_equal(sim.state.orientation[:10], file[-1].orientation[:10])


def test_grains_of_an_earlier_run_do_not_change_their_shapes(run):
    sets = [hg.Grains(), hg.Grains(shape=RANDOM)]
    start = Start(file=str(run))
    with pytest.raises(hg.InputError, match=r"grains\[1\]\.shape is random.*give seed = 3"):
        hg.Simulation(Scenario(dt=0.01, seed=4, scene=hg.Scene(grains=sets), start=start))
    sets = [hg.Grains(), hg.Grains(shape="square")]
    with pytest.raises(hg.InputError, match=r"grains\[1\]\.shape differs"):
        hg.Simulation(Scenario(dt=0.01, seed=3, scene=hg.Scene(grains=sets), start=start))


# ---------------------------------------------------------------------- tessellations
def filled(dim, count, periodic=(), **place):
    length = [6.0, 5.0, 4.0][:dim]
    place = {"kind": "voronoi", "min": [0] * dim, "max": length, "periodic": periodic} | place
    period = {name: [0, length["xyz".index(name)]] for name in periodic}
    grains = hg.Grains(count=count, place=place)
    return hg.Scene(dimension=dim, grains=[grains], periodic=period), np.array(length)


@pytest.mark.parametrize(("dim", "count"), [(2, 60), (3, 60)])
@pytest.mark.parametrize("periodic", [[], ["x"]])
def test_cells_fill_their_region_up_to_the_gap(dim, count, periodic):
    """With a vanishing gap they fill all of it, however it ends."""
    scene, length = filled(dim, count, periodic, gap=1e-7)
    model, state = scene.build(4)
    # [1] cells lose corners nearer than 10⁻³ of their size, and of each at most a few
    assert model.volume.sum() == pytest.approx(np.prod(length), rel=1e-4)
    centre = (model.volume[:, None] * state.position).sum(axis=0) / model.volume.sum()
    if not periodic:
        assert centre == pytest.approx(0.5 * length, rel=1e-4)
    assert model.n == count


@pytest.mark.parametrize("dim", [2, 3])
def test_cells_are_a_gap_apart_and_half_of_it_from_the_ends(dim):
    """Along the normal of every face the next grain, or the end of the region, is a gap away."""
    from scipy.spatial.transform import Rotation

    gap = 0.05
    scene, length = filled(dim, 20, gap=gap)
    model, state = scene.build(1)
    wide = gap * (np.prod(length) / 20) ** (1 / dim)
    s = model.solids
    corners = []
    for k in range(model.n):
        x = s.corner[s.corner_start[k] : s.corner_start[k + 1]]
        if dim == 3:
            x = Rotation.from_quat(state.orientation[k]).apply(x)
        corners.append(state.position[k] + x[:, :dim])
    everything = np.vstack(corners)
    assert everything.min(axis=0) == pytest.approx(0.5 * wide, rel=1e-6)
    assert length - everything.max(axis=0) == pytest.approx(0.5 * wide, rel=1e-6)
    for i in range(model.n):  # a plane midway between any two keeps half the gap from both
        for j in range(i):
            d = _distance(corners[i], corners[j])
            assert d > wide * (1 - 1e-6)


def _distance(a, b):
    """Distance of two convex hulls, as a small quadratic program."""
    from scipy.optimize import nnls

    # the point of the difference of both that is nearest to the origin: weights that sum to one
    d = (a[:, None] - b[None]).reshape(-1, a.shape[1])
    heavy = 1e4
    rows = np.vstack([d.T, np.full(len(d), heavy)])
    weight, _ = nnls(rows, np.append(np.zeros(d.shape[1]), heavy))
    return np.linalg.norm(d.T @ weight / weight.sum())


def test_cells_follow_the_seed_and_may_be_round():
    scene, _ = filled(2, 30, rounding=0.5)
    one, again, other = (scene.build(seed)[0].solids for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, again))
    assert not np.array_equal(one.corner, other.corner)
    assert one.radius.min() > 0.0


def test_a_file_gives_the_cells_back(tmp_path):
    path = tmp_path / "cells.h5"
    scene, _ = filled(2, 12)
    made = scene.changed(allow_overlaps=True)
    hg.Simulation(made, dt=1e-6, seed=5).run(1, output=path, progress=False)
    with hg.RunFile(path) as file:
        assert np.array_equal(snapshot(file).model.solids.corner, made.build(5)[0].solids.corner)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": "square"}, "shape is given, but grains that fill a region"),
        ({"diameter": 1.0}, "diameter is given, but grains that fill a region"),
        ({"count": None}, "count is missing"),
        ({"insert": {"time": 1.0}}, "which places all grains together"),
    ],
)
def test_fields_that_do_not_go_with_a_tessellation(fields, words):
    place = {"kind": "voronoi", "min": [0, 0], "max": [9, 9]}
    with pytest.raises(hg.InputError, match=words):
        build(**{"shape": None, "place": place, "count": 9} | fields)


def test_a_tessellation_repeats_only_where_its_scene_does():
    place = {"kind": "voronoi", "min": [0, 0], "max": [9, 9], "periodic": ["x"]}
    with pytest.raises(hg.InputError, match=r"place\.periodic holds 'x'.*does not repeat"):
        build(None, place=place, count=9)
    with pytest.raises(hg.InputError, match="takes 'x' and 'y'"):
        build(None, place=place | {"periodic": ["z"]}, count=9)
    with pytest.raises(hg.InputError, match=r"place\.gap leaves nothing"):
        build(None, place=place | {"periodic": [], "gap": 0.5, "rounds": 0}, count=50)
