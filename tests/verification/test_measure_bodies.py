"""Surfaces, sorts of grains and single bodies, measured in scenes whose answer is known."""

import math

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.catalogue import measure
from hardgrain.measure.displacement import mobility
from hardgrain.measure.segregation import segregation
from hardgrain.measure.surface import surface
from hardgrain.measure.track import track


def packing(points, **fields):
    """Disks at given places, of which nothing is known but where they are."""
    grains = hg.Grains(place=hg.At(positions=points), **fields)
    scene = hg.Scene(gravity=[0, -1], grains=[grains], allow_overlaps=True)
    return hg.measure.Snapshot(*_parts(hg.Simulation(scene, dt=0.01)))


def _parts(sim):
    return sim.model, sim.state, sim.dt, np.zeros(sim.model.dim), False


# ---------------------------------------------------------------------- surface
@pytest.mark.parametrize("degrees", [-25.0, 0.0, 30.0])
def test_surface_of_a_slope(degrees):
    slope = math.tan(math.radians(degrees))
    x = np.repeat(np.arange(60.0), 5)
    y = slope * x - np.tile(np.arange(5.0), 60)
    found = surface(packing(np.stack([x, y], axis=1).tolist()))
    # slices are two grains wide, and all but the last hold the same part of a period
    assert found.angle == pytest.approx(math.radians(degrees), abs=0.01)
    low, high = found.interval
    assert low - 1e-12 <= found.angle <= high + 1e-12


def test_surface_of_a_heap_has_two_flanks():
    x = np.arange(-40.0, 41.0)
    points = [[a, 0.4 * min(a, 0.0) - 0.6 * max(a, 0.0)] for a in x]
    found = surface(packing(points), width=1.0)
    assert math.tan(found.left) == pytest.approx(0.4, rel=0.02)
    assert math.tan(found.right) == pytest.approx(0.6, rel=0.02)


def test_surface_is_measured_against_gravity():
    """A flat layer in a tilted box, as on an incline."""
    grains = hg.Grains(place=hg.At(positions=[[a, 0.5] for a in np.arange(0.5, 40.0)]))
    theta = math.radians(20.0)
    scene = hg.Scene(gravity=[math.sin(theta), -math.cos(theta)], grains=[grains])
    snap = hg.measure.Snapshot(*_parts(hg.Simulation(scene, dt=0.01)))
    assert abs(surface(snap).angle) == pytest.approx(theta, abs=1e-6)


def test_surface_refuses_a_vertical_line():
    with pytest.raises(hg.InputError, match="axis is 'y', which is vertical here"):
        surface(packing([[0, 0], [1, 0]]), axis="y")


# ---------------------------------------------------------------------- segregation
def two_sorts(large):
    points = [[a, b] for a in range(40) for b in range(40)]
    diameters = np.where(large(np.array(points)), 0.9, 0.7)
    return packing(points, diameter=diameters.tolist())


def test_segregation_of_sorts_that_are_apart():
    found = segregation(two_sorts(lambda x: x[:, 1] >= 20))
    # only grains within some two layers of the boundary see both sorts, 2 × 2 of 40 layers
    assert 0.9 < found.index < 1.0
    # a half above the other half: 20 layers apart, and the spread of 0 … 39
    assert found.offset == pytest.approx([0.0, 20.0 / np.arange(40).std()])
    assert found.share == 0.5


def test_segregation_of_a_random_mixture():
    """Within five standard errors: 1600 shares of which a tenth are independent."""
    rng = np.random.default_rng(1)
    indices = [segregation(two_sorts(lambda x: rng.random(len(x)) < 0.3)).index for _ in range(5)]
    assert abs(np.mean(indices)) < 5.0 * np.sqrt(2.0 / 160.0) / 10.0


def test_segregation_of_a_mixture_more_even_than_chance():
    assert segregation(two_sorts(lambda x: x.sum(axis=1) % 2 == 0)).index < -0.05


def test_segregation_of_one_sort_has_no_index():
    assert math.isnan(segregation(packing([[a, 0] for a in range(20)])).index)


# ---------------------------------------------------------------------- one body
@pytest.fixture(scope="module")
def fallen(tmp_path_factory):
    """A grain that falls freely, one that moves sideways, and a lid that is pulled up."""
    path = tmp_path_factory.mktemp("tracked") / "run.h5"
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(place=hg.At(positions=[[0, 10]])),
            hg.Grains(place=hg.At(positions=[[5, 0.5]])),
        ],
        walls=[
            hg.Plane(name="floor", point=[0, 0], normal=[0, 1]),
            hg.Plane(name="lid", point=[0, 30], normal=[0, -1], velocity=[0, 2]),
        ],
    )
    scenario = hg.Scenario(
        scene=scene, dt=0.01, stop={"steps": 200}, output={"every": 20, "track": ["lid", 1, 0]}
    )
    hg.Simulation(scenario).run(output=path, progress=False)
    return path


def test_track_of_every_step(fallen):
    with hg.RunFile(fallen) as run:
        time, grain = track(run, 0)
        assert time.shape == (200,)
        # implicit Euler falls by g dt² k (k + 1)/2 in k steps
        k = np.arange(1, 201)
        np.testing.assert_allclose(grain["position"][:, 1], 10.0 - 1e-4 * k * (k + 1) / 2)
        np.testing.assert_allclose(grain["velocity"][:, 1], -time, rtol=1e-12)
        assert not grain["force"].any()
        _, resting = track(run, 1)
        weight = math.pi / 4.0
        # the grain touches from the first step on, and is at rest
        np.testing.assert_allclose(resting["force"], [[0.0, weight]] * 200, atol=1e-12)
        _, lid = track(run, "lid")
        np.testing.assert_allclose(lid["position"][:, 1], 30.0 + 2.0 * time, rtol=1e-12)


def test_track_of_what_was_not_followed_comes_from_frames(fallen):
    with hg.RunFile(fallen) as run:
        time, floor = track(run, "floor")
        assert time.size == len(run)
        assert floor["force"][-1] == pytest.approx([0.0, -math.pi / 4.0])
        by_step, by_frame = track(run, 1), track(run, 1, range(len(run)))
        np.testing.assert_array_equal(
            by_step[1]["force"][19::20], by_frame[1]["force"][1:], "the same at frames"
        )
        with pytest.raises(hg.InputError, match="body is 'top'; give the name of a wall"):
            track(run, "top")


def test_where_walls_are(fallen):
    with hg.RunFile(fallen) as run:
        data = measure(run, "wall-position")
        np.testing.assert_allclose(data.position.sel(wall="lid", component="y"), 30 + 2 * run.time)
        np.testing.assert_allclose(data.velocity.sel(wall="lid", component="y")[1:], 2.0)


def test_mobility_of_a_grain_that_falls(fallen):
    with hg.RunFile(fallen) as run:
        found = mobility(run, 0)
        y = run[-1].position[0, 1] - 10.0
        assert found.displacement[-1] == pytest.approx([0.0, y])
        assert found.path[-1] == pytest.approx(-y)  # straight down
        resting = mobility(run, 1)
        assert resting.diffusivity == pytest.approx(0.0, abs=1e-20)
        assert found.diffusivity == pytest.approx(found.square / (4.0 * found.lag))
        with pytest.raises(hg.InputError, match="grain is 7, which is there in 0"):
            mobility(run, 7)


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        (["top"], r"output\.track\[0\] is 'top'; give the number of a grain, 0 to 1, .*'floor'"),
        ([5], r"output\.track\[0\] is 5; give the number of a grain, 0 to 1"),
        ([1, 1], "follows a body twice"),
    ],
)
def test_what_cannot_be_followed_is_refused_before_the_run(fallen, tmp_path, bodies, words):
    with hg.RunFile(fallen) as run:
        scenario = hg.Scenario.model_validate_json(run.header["scenario"])
    sim = hg.Simulation(scenario.changed(output={"track": bodies}))
    with pytest.raises(hg.InputError, match=words):
        sim.run(output=tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()


def test_following_bodies_changes_nothing_else(fallen, tmp_path):
    with hg.RunFile(fallen) as run:
        scenario = hg.Scenario.model_validate_json(run.header["scenario"])
        hg.Simulation(scenario.changed(output={"every": 20})).run(output=tmp_path / "a.h5")
        with hg.RunFile(tmp_path / "a.h5") as other:
            np.testing.assert_array_equal(run[-1].position, other[-1].position)
            for name, column in other.history.items():
                np.testing.assert_array_equal(column, run.history[name], name)


def test_a_resumed_run_follows_the_same_bodies(fallen, tmp_path):
    with hg.RunFile(fallen) as run:
        scenario = hg.Scenario.model_validate_json(run.header["scenario"])
        hg.Simulation(scenario).run(70, output=tmp_path / "a.h5")
        hg.Simulation.resume(tmp_path / "a.h5")
        with hg.RunFile(tmp_path / "a.h5") as other:
            assert run.history.keys() == other.history.keys()
            for name, column in other.history.items():
                np.testing.assert_array_equal(column, run.history[name], name)
