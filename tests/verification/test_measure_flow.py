"""Fields of flow, flow rates, displacements and D²min against flows that are known exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure import displacement, flow
from hardgrain.measure.catalogue import measure
from hardgrain.measure.snapshot import snapshot
from hardgrain.theory import silo

from .helpers import floor, grains, start, steps, up

pytestmark = pytest.mark.rounding

DIMS = (2, 3)


def lattice(dim, side, gap=1.0):
    """Points of a square or cubic lattice, (side^dim, dim)."""
    axes = [gap * (np.arange(side) + 0.5)] * dim
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, dim)


def moving(x, v, diameter=0.8, **keys):
    """Grains at x with velocities v."""
    sim = start(x.shape[1], grains(*x, diameter=diameter), **keys)
    sim.state.velocity[: len(x)] = v
    return sim


# ---------------------------------------------------------------------- fields
@pytest.mark.parametrize("dim", DIMS)
def test_a_linear_flow_is_found_exactly(dim):
    """Grains of a lattice that follow V = V_0 + G x: its velocity, gradient, and no temperature."""
    side = 24 if dim == 2 else 14
    x = lattice(dim, side)
    g = np.array([[0.1, 0.7, 0.2], [-0.3, 0.2, 0.4], [0.0, 0.5, -0.1]])[:dim, :dim]
    v0 = np.array([1.0, -2.0, 0.5])[:dim]
    sim = moving(x, v0 + x @ g.T)
    middle, half = 0.5 * side, 1.5
    region = [[middle - half] * dim, [middle + half] * dim]
    found = flow.fields(sim, cells=[3] * dim, width=0.9, region=region)
    r = np.stack(np.meshgrid(*found.grid.centres, indexing="ij"))
    exact = v0.reshape(-1, *[1] * dim) + np.einsum("ab,b...->a...", g, r)
    mass = float(sim.model.mass[0])
    np.testing.assert_allclose(found.density, mass, rtol=1e-5)
    np.testing.assert_allclose(found.velocity, exact, atol=1e-5)
    np.testing.assert_allclose(found.gradient, np.broadcast_to(
        g.reshape(dim, dim, *[1] * dim), found.gradient.shape), atol=1e-4)  # fmt: skip
    np.testing.assert_allclose(found.fluctuation, 0.0, atol=1e-4)
    d = 0.5 * (g + g.T) - np.trace(g) / dim * np.eye(dim)
    np.testing.assert_allclose(found.shear_rate, math.sqrt(2 * np.sum(d * d)), atol=1e-4)
    assert found.diameter == pytest.approx(0.8)
    assert found.grain_density == pytest.approx(1.0)


def test_shear_rate_of_simple_shear_and_of_none():
    x = lattice(2, 20)
    for g, rate in (([[0, 0.5], [0, 0]], 0.5), ([[0, -0.3], [0.3, 0]], 0.0), (np.eye(2), 0.0)):
        sim = moving(x, x @ np.transpose(g))
        found = flow.fields(sim, cells=[2, 2], width=1.0, region=[[8, 8], [12, 12]])
        np.testing.assert_allclose(found.shear_rate, rate, atol=1e-4)


def test_temperature_of_random_velocities():
    """In a periodic cell as one cell: the variance of a component; fields of it average to it."""
    rng = np.random.default_rng(2)
    x = lattice(2, 30)
    v = rng.normal([3.0, 0.0], 0.4, x.shape)
    sim = moving(x, v, periodic={"x": (0, 30), "y": (0, 30)})
    whole = flow.fields(sim, cells=[1, 1])
    variance = (v - v.mean(axis=0)).var(axis=0).mean()
    assert whole.temperature.item() == pytest.approx(variance, rel=1e-10)
    assert whole.density.item() == pytest.approx(math.pi / 4 * 0.64, rel=1e-12)
    fine = flow.fields(sim, cells=[15, 15], width=3.0)
    # a kernel holds 4π w² grains, so their own mean takes a share of it away
    assert fine.temperature.mean() == pytest.approx(0.16, rel=0.06)


def test_fields_average_over_time_before_ratios(tmp_path):
    """A grain that passes a cell at constant speed: the flux over the density is its velocity."""
    sim = moving(np.array([[0.5, 0.5]]), [[2.0, 0.0]], dt=0.05)
    sim.run(hg.Steps(steps=100), output=tmp_path / "a.h5", every=1, progress=False)
    with hg.RunFile(tmp_path / "a.h5") as run:
        found = flow.fields(run, cells=[5, 1], width=0.3, region=[[3, 0], [8, 1]])
    np.testing.assert_allclose(found.velocity[0], 2.0, rtol=1e-9)
    np.testing.assert_allclose(found.temperature, 0.0, atol=1e-9)
    # time at a place is 1/(speed T): mass/(speed T height) is the mean density
    density = math.pi * 0.16 / (2.0 * 101 * 0.05)
    np.testing.assert_allclose(found.density[:, 0], density, rtol=1e-6)


def test_pressure_and_inertial_number():
    """A stack under gravity that is told to shear: p is the stress, I its definition."""
    sim = start(2, grains(*[[0.0, 0.5 + k] for k in range(8)]), gravity=[0, -1], walls=[floor(2)])
    steps(sim, 5)
    snap = snapshot(sim)
    velocity = snap.state.velocity.copy()
    velocity[:8, 0] = 0.25 * snap.position[:, 1]
    snap = replace(snap, state=replace(snap.state, velocity=velocity))
    region = [[-1.0, 2.0], [1.0, 6.0]]
    found = flow.fields(snap, cells=[1, 4], width=0.7, region=region, contacts=True)
    p = 0.5 * np.einsum("aa...->...", found.stress)
    np.testing.assert_allclose(found.pressure, p)
    expected = found.shear_rate * 1.0 * np.sqrt(1.0 / p)
    np.testing.assert_allclose(found.inertial_number, expected)
    np.testing.assert_allclose(found.shear_rate, 0.25, rtol=2e-2)
    # σ_yy of the smeared stack at y: the weight above over the width
    y = found.grid.centres[1]
    np.testing.assert_allclose(
        found.contact_stress[1, 1, 0], (8.0 - y) * math.pi / 4 / 2.0, rtol=0.02
    )
    with pytest.raises(hg.InputError, match="averaged without contacts"):
        _ = flow.fields(snap, cells=[1, 1], region=region).stress


def test_no_grain_no_velocity():
    sim = moving(np.array([[0.5, 0.5]]), [[1.0, 0.0]])
    found = flow.fields(sim, cells=[2, 2], width=0.1, region=[[5, 5], [6, 6]])
    assert not found.density.any()
    assert np.isnan(found.velocity).all()


def test_a_fast_grain_makes_no_flow_far_away():
    """A bed at rest and one fast grain at its top: beyond a few widths there is no velocity."""
    x = lattice(2, 20)
    v = np.where(x[:, 1:] > 19.0, [5.0, 0.0], 0.0)
    sim = moving(x, v)
    region = [[0, 0], [20, 40]]
    found = flow.fields(sim, cells=[10, 40], width=1.0, region=region)
    y, told = found.grid.centres[1], np.isfinite(found.velocity[0]).all(axis=0)
    assert told[y < 20].all()
    assert not told[y > 22.5].any()  # 0.03 of the bulk's density is 1.9 widths above the surface
    assert np.isfinite(found.density).all()
    bare = flow.fields(sim, cells=[10, 40], width=1.0, region=region, mask=0.0)
    assert bare.velocity[0, 5, y.searchsorted(24)] > 4.9  # the invention
    with pytest.raises(hg.InputError, match="mask is 2; give a share"):
        flow.fields(sim, mask=2.0)


@pytest.mark.parametrize("dim", DIMS)
def test_density_is_that_of_the_bulk_up_to_plane_walls(dim):
    """A lattice as wide as its box. The sum over it is an integral but for h²φ′/24 at an end, which
    is up to 1 % of what is left of the kernel there. The bare sums fall to half at every wall."""
    side = 8
    box = hg.Box(min=[0.0] * dim, max=[float(side)] * dim)
    sim = moving(lattice(dim, side), 0.0, walls=[box])
    mass = float(sim.model.mass[0])
    found = flow.fields(sim, cells=[16] * dim, width=1.2)
    np.testing.assert_allclose(found.density, mass, rtol=0.01 * dim)
    bare = flow.fields(sim, cells=[16] * dim, width=1.2, walls=False).density
    assert bare[(0,) * dim] < 0.7**dim * mass
    assert bare.sum() * found.grid.cell < 0.9 * mass * side**dim
    profile = flow.fields(sim, cells=[1] * (dim - 1) + [16], width=1.2)
    np.testing.assert_allclose(profile.density, mass, rtol=0.01)


def test_density_is_that_of_the_bulk_inside_a_drum_and_around_a_post():
    """A fine lattice cut by circles; beyond the walls there is nothing to tell."""
    x = lattice(2, 60, 0.25) - 7.5
    away = np.hypot(*x.T)
    kept = x[(away < 5.9) & (away > 2.1)]
    post = hg.Cylinder(point=[0, 0], radius=2.0, side="outside")
    walls = [hg.Drum(center=[0, 0], radius=6.0), post]
    sim = moving(kept, 0.0, diameter=0.19, walls=walls)
    found = flow.fields(sim, cells=[28, 28], width=0.8, region=[[-7, -7], [7, 7]])
    r = np.hypot(*np.meshgrid(*found.grid.centres, indexing="ij"))
    inside = (r < 6.0) & (r > 2.0)
    bulk = float(sim.model.mass[0]) / 0.25**2
    np.testing.assert_allclose(found.density[inside], bulk, rtol=0.1)  # as the cut lattice is rough
    assert np.isnan(found.density[~inside]).all()


def test_pressure_reaches_the_wall():
    """A square lattice between a floor and a piston has one stress, also beside the walls."""
    side, push = 6, 3.0
    box = hg.Box(min=[0, 0], max=[side, side], pistons={"top": hg.Piston(mass=5.0, force=push)})
    scene = hg.Scene(grains=[grains(*lattice(2, side))], walls=[box])
    sim = hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=200))
    steps(sim, 20)
    found = flow.fields(sim, cells=[1, 24], width=1.0, contacts=True)
    np.testing.assert_allclose(found.contact_stress[1, 1], push / side, rtol=1e-3)


# ---------------------------------------------------------------------- flow rate
@pytest.fixture(scope="module")
def rain(tmp_path_factory):
    """Ten grains fall through y = 0 at speed one, one a time; every other far to the right."""
    x = np.array([[20.0 * (k % 2), 0.75 + k] for k in range(10)])
    path = tmp_path_factory.mktemp("rain") / "rain.h5"
    sim = moving(x, [[0.0, -1.0]] * 10, dt=0.1)
    sim.run(hg.Steps(steps=100), output=path, every=5, progress=False)
    with hg.RunFile(path) as run:
        yield run


def test_grains_are_counted_as_they_cross(rain):
    found = flow.flow_rate(rain, at=0.0, axis="y")
    crossed = np.floor(found.time + 0.25 + 1e-9)  # grain k at t = 0.75 + k
    np.testing.assert_allclose(-found.grains, crossed)  # against the axis: there is no gravity
    mass = math.pi * 0.16
    assert found.mean == pytest.approx(-mass, rel=1e-9)
    half = flow.flow_rate(rain, at=0.0, axis="y", within=[[-3], [3]])
    assert half.grains[-1] == -5
    gone = flow.flow_rate(rain, region=[[-30, 0], [30, 30]])
    np.testing.assert_allclose(gone.grains, -found.grains)
    assert gone.error < 0.2 * gone.mean


def test_what_flow_rate_refuses(rain):
    for keys, words in (
        ({}, "needs a plane or a region"),
        ({"at": 0.0, "axis": "z"}, "axis is 'z'; give one of x, y"),
        ({"at": 0.0, "within": [[0, 1], [2, 3]]}, "give two corners with 1 coordinates each"),
    ):
        with pytest.raises(hg.InputError, match=words):
            flow.flow_rate(rain, **keys)
    with pytest.raises(hg.InputError, match="at least two frames"):
        flow.flow_rate(rain, [3], at=0.0)


@pytest.mark.parametrize("dim", DIMS)
def test_gravity_says_which_way_is_out_and_periods_are_counted(dim, tmp_path):
    """A grain that falls through a periodic cell crosses its plane once a period."""
    name = "xyz"[dim - 1]
    sim = start(dim, grains(up(dim, 1.5)), gravity=up(dim, -1.0), periodic={name: (0, 2)}, dt=0.01)
    sim.run(hg.Steps(steps=500), output=tmp_path / "a.h5", every=10, progress=False)
    with hg.RunFile(tmp_path / "a.h5") as run:
        found = flow.flow_rate(run, at=1.0)
        fallen = 1.5 - run[-1].position[0, -1]
    assert found.grains[-1] == math.floor((fallen - 0.5) / 2.0) + 1


def test_beverloo():
    d = np.array([6.0, 12.0])
    for dim in DIMS:
        rate = silo.beverloo(d, 1.0, 0.6, 9.81, dim, k=0.0)
        assert math.log(rate[1] / rate[0], 2) == pytest.approx(dim - 0.5)
        assert silo.beverloo(1.3, 1.0, 0.6, 9.81, dim) == 0.0
    assert silo.beverloo(6.4, 1.0, 2.0, 4.0, 3) == pytest.approx(0.58 * 2 * 2 * 5.0**2.5)
    with pytest.raises(hg.InputError, match="dim is 4"):
        silo.beverloo(3.0, 1.0, 0.6, 1.0, 4)


# ---------------------------------------------------------------------- displacement
@pytest.mark.parametrize("memory", [displacement.MEMORY, 1])  # 1: one grain at a time
def test_free_flight_is_ballistic(tmp_path, monkeypatch, memory):
    monkeypatch.setattr(displacement, "MEMORY", memory)
    v = np.array([[1.0, 0.0], [0.0, -2.0], [2.0, 2.0]])
    sim = moving(np.array([[0, 0], [10, 0], [20, 0.0]]), v, dt=0.1)
    sim.run(hg.Steps(steps=47), output=tmp_path / "a.h5", every=5, progress=False)
    with hg.RunFile(tmp_path / "a.h5") as run:
        assert len(run) == 11  # the last one is off the beat, and left out
        found = displacement.mean_square_displacement(run)
        still = displacement.mean_square_displacement(run, drift=False)
    assert found.frames == 10
    np.testing.assert_allclose(found.lag, 0.5 * np.arange(1, 6))
    square = (v**2).sum(axis=1)
    np.testing.assert_allclose(found.square, square.mean() * found.lag**2, rtol=1e-10)
    np.testing.assert_allclose(found.error, square.std(ddof=1) / 3**0.5 * found.lag**2, rtol=1e-10)
    np.testing.assert_allclose(found.components.sum(axis=1), found.square)
    away = ((v - v.mean(axis=0)) ** 2).sum(axis=1).mean()
    np.testing.assert_allclose(still.square, away * still.lag**2, rtol=1e-9)


def test_correlations_by_fourier_are_sums():
    x = np.random.default_rng(4).normal(size=(23, 7, 3)).cumsum(axis=0)
    found = displacement._lags(x, 11)
    for lag in (1, 4, 11):
        direct = np.square(x[lag:] - x[:-lag]).mean(axis=0)
        np.testing.assert_allclose(found[lag - 1], direct, rtol=1e-10)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("periodic", [False, True])
def test_affine_motion_has_no_d2min(dim, periodic):
    """What is left of an affine map is nothing, and the map is found."""
    side = 6
    x = lattice(dim, side) + np.random.default_rng(0).uniform(-0.05, 0.05, (side**dim, dim))
    keys = {"periodic": dict.fromkeys("xyz"[:dim], (0, side))} if periodic else {}
    before = snapshot(moving(x, 0.0, **keys))
    g = 0.1 * np.array([[0.1, 0.7, 0.2], [-0.3, 0.2, 0.4], [0.0, 0.5, -0.1]])[:dim, :dim]
    if periodic:
        g = np.zeros((dim, dim))  # a cell that keeps its shape
    moved = before.state.position + before.state.position @ g.T + 17.0
    now = replace(before, state=replace(before.state, position=moved))
    found = displacement.non_affine(before, now, reach=1.6)
    np.testing.assert_allclose(found.d2min, 0.0, atol=1e-20)
    np.testing.assert_allclose(found.strain, np.broadcast_to(0.5 * (g + g.T), found.strain.shape),
                               atol=1e-10)  # fmt: skip


def test_one_moved_grain_has_the_d2min_of_its_step():
    """Its neighbours lie evenly around it: the best map is none, and D² is the step squared."""
    x = lattice(2, 7)
    before = snapshot(moving(x, 0.0))
    middle = 24
    moved = before.state.position.copy()
    moved[middle] += [0.03, 0.04]
    now = replace(before, state=replace(before.state, position=moved))
    found = displacement.non_affine(before, now, reach=1.5)
    assert found.neighbours[middle] == 8
    assert found.d2min[middle] == pytest.approx(0.05**2, rel=1e-12)
    np.testing.assert_allclose(found.deformation[middle], np.eye(2), atol=1e-12)
    assert found.d2min[0] == pytest.approx(0.0, abs=1e-25)
    alone = snapshot(moving(np.array([[0.0, 0.0], [1.0, 0.0]]), 0.0))
    assert np.isnan(displacement.non_affine(alone, alone, reach=1.5).d2min).all()
    with pytest.raises(hg.InputError, match="reach is -1"):
        displacement.non_affine(before, now, reach=-1.0)


# ---------------------------------------------------------------------- by name
def test_fields_by_name_have_places_and_units(rain):
    data = measure(rain, "flow", grid=[3, 4], region=[[-1, 0], [1, 8]], width=0.5)
    assert data.velocity.dims == ("component", "x", "y")
    assert data.sizes == {"x": 3, "y": 4, "component": 2, "direction": 2}
    assert data.density.attrs["units"] == "mass/length^2"
    np.testing.assert_allclose(data.y, [1, 3, 5, 7])
    rate = measure(rain, "flow-rate", at=0.0)
    assert float(rate.mean_rate) == pytest.approx(-math.pi * 0.16)
    for name, options, words in (
        ("flow", {"grid": [3]}, "grid is 3; give 2 numbers of cells"),
        ("flow", {"grid": "many"}, "grid is 'many'; give whole numbers"),
        ("flow", {"width": 0.0}, "width is 0; give a length from 0.008 to"),
        ("flow", {"cells": [3]}, "flow has no option 'cells'; its options are grid, width, region"),
        ("d2min", {"frames": [1]}, "d2min needs two frames"),
        ("msd", {"frames": [1, 99]}, "frame is 99; the run has the frames 0 to 20"),
        ("msd", {"frames": [4, 2]}, "not in the order of time"),
    ):
        with pytest.raises(hg.InputError, match=words):
            measure(rain, name, **options)
