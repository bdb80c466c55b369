"""The membrane around grains: where it lies, and what its pressure does; nothing is simulated."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
import pytest
from scipy.ndimage import label
from scipy.spatial import cKDTree

import hardgrain as hg
from hardgrain.core.model import Model, State
from hardgrain.measure.membrane import membrane_of
from hardgrain.measure.snapshot import snapshot
from hardgrain.show import plane
from hardgrain.show.view import shapes
from hardgrain.step.membrane import Surface

AXES = "xyz"


def built(x: Any, planes: Any = None, **keys: Any) -> tuple[Model, State]:
    """A scene with small grains at places, between two planes across some axes."""
    x = np.asarray(x, float)
    dim, walls = x.shape[1], []
    for name, ends in (planes or {}).items():
        for sign, at in zip((1.0, -1.0), ends):
            normal = sign * np.eye(dim)[AXES.index(name)]
            point = at * np.abs(normal)
            walls.append(hg.Plane(name=f"{name}{at:g}", point=point, normal=normal))
    membrane = hg.Membrane(**{"pressure": 1.0, **keys})
    grains = hg.Grains(diameter=0.2, place=hg.At(positions=x.tolist()))
    scene = hg.Scene(dimension=dim, grains=[grains], walls=walls, membrane=membrane)
    return scene.build(0)


def lattice(dim: int, count: int = 5) -> Any:
    return np.stack(np.meshgrid(*[np.arange(count)] * dim), -1).reshape(-1, dim).astype(float)


def shaken(dim: int, by: float = 0.25, seed: int = 0) -> Any:
    x = lattice(dim)
    return x + np.random.default_rng(seed).uniform(-by, by, x.shape)


def same(one: Surface, other: Surface) -> bool:
    """Whether two membranes lie on the same grains in the same way."""
    found = [{tuple(np.sort(row)) for row in s.facets} for s in (one, other)]
    return found[0] == found[1]


# ---------------------------------------------------------------------- where it lies
@pytest.mark.parametrize(("dim", "count", "seed"), [(2, 60, 0), (2, 60, 1), (2, 60, 2), (3, 60, 0)])
def test_it_lies_on_the_grains_that_a_ball_touches(dim, count, seed):
    """The places that the ball's centre can reach are found on a fine grid instead."""
    rng = np.random.default_rng(seed)
    x, radius, h = (
        rng.uniform(0.0, 7.0 if dim == 2 else 3.5, (count, dim)),
        1.0,
        (0.02, 0.05)[dim - 2],
    )
    model, state = built(x, radius=radius)
    side = np.arange(x.min() - 1.5, x.max() + 1.5, h)
    grid = np.stack(np.meshgrid(*[side] * dim, indexing="ij"), -1)
    free = cKDTree(x).query(grid.reshape(-1, dim))[0].reshape(grid.shape[:-1]) > radius
    reached = label(free)[0]
    outside = grid[reached == reached.flat[0]]
    away = cKDTree(outside).query(x)[0] - radius
    on = np.isin(np.arange(count), Surface(model, state).grains)
    # a lone grain, or a link of two, is touched but encloses nothing
    assert (away[on] < h * dim**0.5).all()
    inner = away > h * dim**0.5
    assert not on[inner].any()
    assert inner.any()
    assert np.count_nonzero(on) > 5


def test_a_void_inside_is_enclosed():
    """However large it is: a pressure outside does not know of it."""
    angle = 2.0 * np.pi * np.arange(40) / 40
    ring = 6.0 * np.stack([np.cos(angle), np.sin(angle)], 1)
    found = Surface(*built(ring, radius=1.0))
    assert found.volume == pytest.approx(20 * 36.0 * np.sin(2 * np.pi / 40), rel=1e-12)
    assert found.area == pytest.approx(80 * 6.0 * np.sin(np.pi / 40), rel=1e-12)


def test_lone_grains_and_rows_feel_nothing():
    for x in ([[0, 0]], [[0, 0], [1, 0]], [[0, 0], [1, 0], [2, 0], [3, 0]]):
        assert not Surface(*built(x)).force.any()
    x = [*lattice(2), [9.0, 9.0]]
    assert not Surface(*built(x, radius=1.0)).force[-1].any()


@pytest.mark.parametrize("dim", [2, 3])
def test_a_block_on_a_lattice_is_whole(dim):
    """All ties at once: neither a grain at the surface nor a corner is lost."""
    found = Surface(*built(lattice(dim), radius=1.0))
    assert found.volume == pytest.approx(4.0**dim, rel=1e-12)
    assert found.area == pytest.approx(2 * dim * 4.0 ** (dim - 1), rel=1e-12)
    ends = {AXES[dim - 1]: (-0.5, 4.5)}
    between = Surface(*built(lattice(dim), ends, radius=1.0))
    assert between.volume == pytest.approx(5.0 * 4.0 ** (dim - 1), rel=1e-12)
    assert between.area == pytest.approx(5.0 * 2 * (dim - 1) * 4.0 ** (dim - 2), rel=1e-12)


def test_between_planes_all_around_there_is_no_membrane():
    found = Surface(*built(shaken(2), {"x": (-0.5, 4.5), "y": (-0.5, 4.5)}, radius=1.2))
    assert found.area == 0.0
    assert found.volume == pytest.approx(25.0, rel=1e-12)


# ---------------------------------------------------------------------- what it does
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("by", [0.0, 0.25])
def test_a_closed_membrane_pushes_and_turns_nothing(dim, by):
    x = shaken(dim, by)
    found = Surface(*built(x, radius=1.2))
    force = found.force
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * found.area
    dyad = x.T @ force  # symmetric: no torque; and the stress is the pressure
    assert np.abs(dyad + found.volume * np.eye(dim)).max() < 1e-12 * found.volume


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("across", ["", "last", "both"])
def test_its_work_is_pressure_times_volume(dim, across):
    """Along straight paths the volume is a polynomial, of which Simpson's rule is exact."""
    last = AXES[dim - 1]
    planes = {"": {}, "last": {last: (-0.7, 4.7)}, "both": {"x": (-0.7, 4.7), last: (-0.7, 4.7)}}
    if across == "both" and dim == 2:
        planes["both"] = {"x": (-0.7, 40.0), "y": (-0.7, 40.0)}  # a corner
    model, state = built(shaken(dim), planes[across], radius=1.2)
    step = 1e-4 * np.random.default_rng(5).normal(size=(model.n, dim))
    path = []
    for part in (0.0, 0.5, 1.0):
        there = state.copy()
        there.position[: model.n] += part * step
        path.append(Surface(model, there))
    assert same(path[0], path[1])
    assert same(path[0], path[2])
    work = [float((s.force * step).sum()) for s in path]
    gained = path[2].volume - path[0].volume
    assert abs(gained) > 1e-6
    simpson = (work[0] + 4.0 * work[1] + work[2]) / 6.0
    assert abs(simpson + gained) < 1e-12 * path[0].volume


@pytest.mark.parametrize("dim", [2, 3])
def test_it_meets_planes_at_a_right_angle(dim):
    """Nothing pushes along a plane's normal where the sample stands straight between planes."""
    x = lattice(dim)
    x[:, 0] *= 1.1
    force = Surface(*built(x, {AXES[dim - 1]: (-0.5, 4.5)}, radius=1.2)).force
    assert np.abs(force[:, dim - 1]).max() < 1e-14
    side = x[:, 0] == 0.0
    assert force[side, 0].sum() == pytest.approx(5.0 * 4.0 ** (dim - 2), rel=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_order_of_rows_changes_no_bit(dim):
    model, state = built(lattice(dim), {AXES[dim - 1]: (-0.5, 4.5)}, radius=1.2)
    mixed = np.random.default_rng(3).permutation(model.n)
    other = Surface(model.only(mixed), state.only(mixed, model.n)).force
    assert other.tobytes() == Surface(model, state).force[mixed].tobytes()


# ---------------------------------------------------------------------- as others see it
def test_files_and_pictures_know_it(tmp_path):
    """A run file tells where it lies, and under which pressure; pictures in 2D show it as lines."""
    scene = hg.Scene(
        grains=[hg.Grains(diameter=1.0, place=hg.At(positions=lattice(2).tolist()))],
        membrane=hg.Membrane(pressure="2 + t"),
    )
    hg.Simulation(scene, dt=0.01).run(1, output=tmp_path / "a.h5", progress=False)
    with hg.RunFile(tmp_path / "a.h5") as run:
        snap = snapshot(run)
    lines = [s for s in plane.walls(snap, *plane.bounds(snap)) if not isinstance(s, plane.Circle)]
    assert sum(np.linalg.norm(b - a) for a, b in lines) == pytest.approx(membrane_of(snap).area)
    assert len(lines) == 16
    assert snap.whole.membrane.pressure(0.5) == 2.5


def areas(x: Any) -> Any:
    """Areas of triangles (k, 3, 3), or lengths of lines (k, 2, 2)."""
    if x.shape[1] == 2:
        return np.linalg.norm(x[:, 1] - x[:, 0], axis=1)
    return 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)


@pytest.mark.parametrize("dim", [2, 3])
def test_exports_and_the_viewer_have_all_of_it(tmp_path, dim):
    """A cube of 4 is wrapped by its surface; seen from the front its outline is a square."""
    scene = hg.Scene(
        dimension=dim,
        grains=[hg.Grains(diameter=1.0, place=hg.At(positions=lattice(dim).tolist()))],
        membrane=hg.Membrane(pressure=1.0),
    )
    hg.Simulation(scene, dt=1e-9).run(1, output=tmp_path / "a.h5", progress=False)
    hg.export(tmp_path / "a.h5", tmp_path / "a.vtkhdf", frames=[0])
    with h5py.File(tmp_path / "a-membrane.vtkhdf") as h5:
        x, cells = h5["VTKHDF/Points"][()], h5["VTKHDF"]["Polygons" if dim == 3 else "Lines"]
        facets = cells["Connectivity"][()].reshape(-1, dim)
    surface = 4.0 ** (dim - 1) * 2 * dim
    assert areas(x[facets][:, :, :dim]).sum() == pytest.approx(surface, rel=1e-6)  # singles
    with hg.RunFile(tmp_path / "a.h5") as run:
        snap = snapshot(run, 0)
    mesh = shapes.walls(snap, np.full(dim, -1.0), np.full(dim, 6.0))
    if dim == 3:
        assert areas(mesh.vertices[mesh.faces]).sum() == pytest.approx(surface)
        lines = np.array(plane.walls(snap, *plane.bounds(snap)))
        assert np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum() == pytest.approx(16.0)
    else:
        assert len(mesh.faces) == 2 * 16  # a chord is a narrow rectangle


# ---------------------------------------------------------------------- nonsense
@pytest.mark.parametrize(
    ("scene", "said"),
    [
        ({"membrane": {"pressure": -1}}, "scene.membrane.pressure is -1"),
        ({"membrane": {"pressure": 1, "radius": 0.3}}, "must be at least 0.6"),
        ({"membrane": {"pressure": 1, "radius": -1}}, "radius"),
        ({"membrane": {"pressure": "one"}}, "pressure"),
        ({"membrane": {"radius": 1}}, "pressure is missing"),
        ({"periodic": {"y": (0, 9)}}, "repeats along y"),
        ({"walls": [{"kind": "plane", "point": [-1, 0], "normal": [1, 0], "spin": 1}]}, "turns"),
        (
            {"walls": [
                {"kind": "plane", "point": [-1, 0], "normal": [1, 0]},
                {"kind": "plane", "point": [0, -1], "normal": [1, 1]},
            ]},
            "neither face each other nor stand at a right angle",
        ),
        (
            {"walls": [{"kind": "plane", "point": [-1, -1], "normal": [0, 1], "name": "w"}],
             "grains": [{"count": 2, "place": {"kind": "at", "positions": [[0, 0], [1, 0]]},
                         "glued_to": "w"}]},
            "glued",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(scene, said):
    data = {
        "membrane": {"pressure": 1},
        "grains": [{"place": {"kind": "at", "positions": [[0, 0], [1, 0], [0, 1], [1, 1]]}}],
        "allow_overlaps": True,
        **scene,
    }
    with pytest.raises(hg.InputError, match=said):
        hg.Scene(**data).build(0)


def test_a_membrane_that_holds_nothing_is_refused():
    scene = hg.Scene(
        grains=[hg.Grains(place=hg.At(positions=[[0, 0], [5, 0], [0, 5], [5, 5]]))],
        membrane=hg.Membrane(pressure=1.0),
    )
    with pytest.raises(hg.InputError, match="passes between all grains"):
        hg.Simulation(scene, dt=0.1)
    near = scene.changed(
        walls=[
            hg.Plane(name="a", point=[0, -0.5], normal=[0, 1]),
            hg.Plane(name="b", point=[0, 5.5], normal=[0, -1]),
        ],
        membrane=hg.Membrane(pressure=1.0, radius=4.0),
    )
    with pytest.raises(hg.InputError, match="'a' and 'b' are 6 apart"):
        hg.Simulation(near, dt=0.1)
    boxed = scene.changed(
        walls=[hg.Box(min=[-1, -1], max=[6, 6])], membrane=hg.Membrane(pressure=1.0, radius=3.5)
    )
    with pytest.raises(hg.InputError, match="enclose the grains on all sides"):
        hg.Simulation(boxed, dt=0.1)
