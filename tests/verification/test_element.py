"""Element tests: strain, strength, rheology, cycles against closed forms and the energy ledger."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.cell import Cell, voigt
from hardgrain.errors import InputError
from hardgrain.measure.catalogue import measure
from hardgrain.measure.cycles import cycles
from hardgrain.measure.element import Response, dilatancy_angle, response
from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.strain import edges, loading, shear_rate, strains
from hardgrain.measure.stress import stress_tensor

from ..cells import cell_run

pytestmark = pytest.mark.rounding

NO_PLANES = {2: np.zeros(2, bool), 3: np.zeros(3, bool)}


def turned(dim: int, seed: int = 0) -> Any:
    """A rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))
    return q * np.sign(np.diag(r))


# ---------------------------------------------------------------------- strain
@pytest.mark.parametrize("dim", [2, 3])
def test_strain_of_a_cell_with_a_constant_velocity_gradient(dim):
    """ḣ = L h gives E = L t, whatever the tilt that it begins with."""
    from scipy.linalg import expm

    rng = np.random.default_rng(3)
    gradient = np.triu(rng.normal(size=(dim, dim))) * 0.3
    start = np.triu(rng.uniform(0.5, 1.0, (dim, dim))) + 4.0 * np.eye(dim)
    time = np.linspace(0.0, 2.0, 7)
    h = np.array([expm(gradient * t) @ start for t in time])
    np.testing.assert_allclose(
        strains(h, NO_PLANES[dim]), time[:, None, None] * gradient, atol=1e-12
    )


def test_the_trace_of_a_strain_is_that_of_the_volume():
    rng = np.random.default_rng(4)
    h = np.triu(rng.uniform(-1.0, 1.0, (9, 3, 3))) + rng.uniform(2.0, 3.0, (9, 1, 1)) * np.eye(3)
    total = strains(h, NO_PLANES[3])
    volume = np.linalg.det(h)
    np.testing.assert_allclose(np.einsum("kaa->k", total), np.log(volume / volume[0]), atol=1e-12)


def test_shear_goes_on_over_flips_of_the_cell():
    """A cell that leans by many periods is strained by all of its tilt."""
    scene = hg.Scene(
        periodic={"x": (0.0, 4.0), "y": (0.0, 5.0)},
        cell=hg.SimpleShear(rate=2.5),
        grains=[hg.Grains(count=2, place=hg.At(positions=[[1, 1], [3, 3.5]]))],
    )
    sim = hg.Simulation(scene, dt=0.1)
    begin = edges(snapshot(sim))
    for _ in range(40):
        sim.step()
    end = edges(snapshot(sim))
    assert abs(Cell(sim.state.cell).numbers[2]) > 10 * 4.0
    total = strains(np.array([begin, end]), NO_PLANES[2])
    np.testing.assert_allclose(total[1], [[0.0, 10.0], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_shear_strain_grows_with_the_loading(sign):
    time = np.linspace(0.0, 1.0, 5)[:, None, None]
    gentle = np.diag([0.1, -0.2])
    along = loading(time * (gentle + np.array([[0, sign], [0, 0]])))
    assert along.words == "shear along x across y"
    assert along.strain(time * [[0, sign], [0, 0]])[-1] == pytest.approx(1.0)
    # rate > 0 bears a negative stress σ_xy
    assert along.stress(np.array([[1.0, -0.3 * sign], [-0.3 * sign, 1.0]])) == pytest.approx(0.3)
    pressed = loading(time * sign * np.diag([0.2, -0.3]))
    assert pressed.words == f"compression along {'y' if sign > 0 else 'x'}"
    assert pressed.strain(time * sign * np.diag([0.2, -0.3]))[-1] == pytest.approx(0.5)
    solid = loading(time * sign * np.diag([0.1, 0.1, -0.2]))
    assert solid.words == f"{'compression' if sign > 0 else 'extension'} along z"
    # N:N = 2, and at constant volume γ̇ = √(2 D:D)
    gradient = sign * np.diag([0.1, 0.1, -0.2])
    assert solid.strain(gradient) == pytest.approx(float(shear_rate(gradient)))
    with pytest.raises(InputError, match="along is 'q'; give one of xy, x, y"):
        loading(time * gentle, "q")


def test_work_is_that_of_pressure_and_shear():
    rng = np.random.default_rng(5)
    for dim, name in ((2, "xy"), (2, "y"), (3, "xz"), (3, "z")):
        way = loading(np.array([np.zeros((dim, dim)), np.eye(dim)]), name)
        rate = 0.7 * way.tensor / 2.0 - 0.1 * np.eye(dim)  # γ̇ = 0.7
        sigma = rng.normal(size=(dim, dim))
        sigma = sigma + sigma.T
        pressure = np.trace(sigma) / dim
        power = -pressure * np.trace(rate) + float(way.stress(sigma)) * 0.7
        assert power == pytest.approx(-np.sum(sigma * rate))


# ---------------------------------------------------------------------- dilatancy
def test_dilatancy_of_plane_shear_and_of_triaxial_compression():
    gamma, grows = 0.5, 0.13
    plane = np.array([[0.0, gamma], [0.0, grows]])
    assert math.tan(dilatancy_angle(plane)) == pytest.approx(grows / gamma)
    space = np.zeros((3, 3))
    space[:2, :2] = plane
    assert dilatancy_angle(space) == pytest.approx(float(dilatancy_angle(plane)))
    axial, lateral = -1.0, 0.8
    total = axial + 2 * lateral
    triaxial = turned(3) @ np.diag([lateral, lateral, axial]) @ turned(3).T
    assert math.sin(dilatancy_angle(triaxial)) == pytest.approx(total / (total - 2 * axial))
    assert dilatancy_angle(np.diag([0.5, -0.5])) == pytest.approx(0.0)
    assert math.isnan(dilatancy_angle(np.zeros((2, 2))))
    assert math.isnan(dilatancy_angle(np.eye(3)))


# ---------------------------------------------------------------------- cycles
def to_and_fro(stress: Any, frames: int = 400, periods: int = 3, drift: float = 0.0) -> Response:
    """Simple shear γ = 0.02 sin ωt of a period 2, with τ = stress(γ, γ̇), and a pressure of 5."""
    time = np.linspace(0.0, 2.0 * periods, frames * periods + 1)
    omega = math.pi
    gamma = 0.02 * np.sin(omega * time)
    strain = np.zeros((time.size, 2, 2))
    strain[:, 0, 1] = gamma
    strain[:, 1, 1] = -drift * time
    sigma = np.zeros((time.size, 2, 2)) + 5.0 * np.eye(2)
    sigma[:, 0, 1] = sigma[:, 1, 0] = -stress(gamma, 0.02 * omega * np.cos(omega * time))
    ones = np.ones(time.size)
    return Response(time, strain, sigma, 0.8 * ones, 1.0, loading(strain, "xy"))


def test_cycles_of_a_spring_with_a_dashpot():
    """τ = G γ + η γ̇ loses π η ω γ_a² in a cycle; its damping ratio is η ω/2G."""
    stiff, damping, omega = 30.0, 0.7, math.pi
    found = cycles(to_and_fro(lambda g, rate: stiff * g + damping * rate), period=2.0)
    assert found.begin == pytest.approx([0.0, 2.0, 4.0])
    # 400 chords of an ellipse miss 2π²/3/400² of its area
    near = {"rel": 1e-4}
    assert found.amplitude == pytest.approx([0.02] * 3, **near)
    assert found.modulus == pytest.approx([stiff] * 3, **near)
    assert found.work == pytest.approx([math.pi * damping * omega * 0.02**2] * 3, **near)
    assert found.damping == pytest.approx([damping * omega / (2 * stiff)] * 3, **near)
    assert found.stress_amplitude == pytest.approx(
        [0.02 * math.hypot(stiff, damping * omega)] * 3, **near
    )
    assert found.shear_strain == pytest.approx([0.0] * 3, abs=1e-12)


def test_cycles_of_dry_friction_and_of_a_sample_that_settles():
    """τ = ± τ₀ loses 4 τ₀ γ_a; what the pressure does on a volume that shrinks adds to it."""
    friction = lambda g, rate: 0.6 * np.sign(rate)  # noqa: E731
    found = cycles(to_and_fro(friction), period=2.0)
    assert found.work == pytest.approx([4 * 0.6 * 0.02] * 3, rel=1e-2)
    settling = cycles(to_and_fro(friction, drift=0.01), period=2.0)
    assert settling.volumetric_strain == pytest.approx([-0.02] * 3)
    assert settling.work - found.work == pytest.approx([5.0 * 0.02] * 3)
    assert settling.pressure == pytest.approx([5.0] * 3)


def test_cycles_between_reversals():
    """Without a period they last from maximum to maximum: one less than there are."""
    test = to_and_fro(lambda g, rate: 30.0 * g + 0.7 * rate)
    found = cycles(test)
    assert found.begin == pytest.approx([0.5, 2.5])
    assert found.modulus == pytest.approx([30.0, 30.0], rel=1e-4)
    with pytest.raises(InputError, match="no whole cycle; give period"):
        cycles(to_and_fro(lambda g, rate: g, periods=1))
    with pytest.raises(InputError, match="needs 8, store more"):
        cycles(to_and_fro(lambda g, rate: g, frames=7), period=2.0)
    for nonsense in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="give the time that a cycle takes"):
            cycles(test, period=nonsense)
    with pytest.raises(InputError, match="period is 50, but the frames span 6 only"):
        cycles(test, period=50.0)


# ---------------------------------------------------------------------- temperature
def test_the_temperature_in_a_cell_that_shears_is_that_of_what_grains_do_beyond_it():
    """Velocities relative to the cell with known squares; the shear itself has none."""
    x = [[1.0, 1.0], [3.0, 1.0], [1.0, 4.0], [3.0, 4.0]]
    scene = hg.Scene(
        periodic={"x": (0.0, 4.0), "y": (0.0, 6.0)},
        cell=hg.SimpleShear(rate=3.0),
        grains=[hg.Grains(place=hg.At(positions=x))],
    )
    sim = hg.Simulation(scene, dt=1e-3)
    sim.step()  # now the cell moves
    drift = np.array([0.7, -0.2])
    away = np.array([[0.3, 0.1], [-0.3, -0.1], [0.2, 0.4], [-0.2, -0.4]])
    sim.state.velocity[:4] = drift + away
    expected = float((away**2).sum()) / (2 * 4)
    assert hg.measure.granular_temperature(sim) == pytest.approx(expected, rel=1e-12)
    kinetic = stress_tensor(sim) - stress_tensor(sim, kinetic=False)
    mass = float(sim.model.mass[0])
    np.testing.assert_allclose(kinetic, mass * away.T @ away / 24.0, atol=1e-12)
    assert np.trace(kinetic) * 24.0 == pytest.approx(2 * 4 * mass * expected)


# ---------------------------------------------------------------------- whole runs
@pytest.fixture(scope="module")
def at_constant_volume(tmp_path_factory: Any) -> Path:
    """Disks that are pressed to a packing fraction of 0.76 until t = 5, and sheared after it."""
    pressed = hg.Control(rate="-0.0476*(1 - step(t - 5))")
    cell = hg.MixedControl(x=pressed, y=pressed, xy=hg.Control(rate="0.1*step(t - 5)"))
    return cell_run(tmp_path_factory.mktemp("cell") / "shear.h5", cell, 7.0, every=1)


def test_what_the_shear_stress_does_is_dissipated(at_constant_volume):
    """Over all steps τ γ̇, by volume, is what is dissipated, and what stays as kinetic energy.

    To rounding, if the stress of moving grains is taken as a step has it: velocities c from its
    start, which the shear L turns, do work with the mean of those from its start and its end. As
    measured, it is that at the end of the step, and the balance is open by no more than both.
    """
    rate, dt, steps = 0.1, 0.02, 60
    with hg.RunFile(at_constant_volume) as run:
        which = range(len(run) - steps - 1, len(run))
        found = response(run, which)
        lost = run.history["dissipated"][-steps:].sum()
        kinetic = run.history["kinetic"]
        gained = kinetic[-1] - kinetic[-steps - 1]
        volume = Cell(run[-1].cell).volume
        snaps = [*hg.measure.snapshots(run, which)]
    assert found.loading.words == "shear along x across y"
    assert found.shear_strain[-1] == pytest.approx(rate * dt * steps)
    assert found.volumetric_strain == pytest.approx(np.zeros(steps + 1), abs=1e-12)
    contacts = np.array([stress_tensor(snap, kinetic=False)[0, 1] for snap in snaps[1:]]) * volume
    within = np.array(
        [
            0.5 * np.sum(a.mass * a.velocity[:, 1] * (a.velocity + b.velocity)[:, 0])
            for a, b in pairwise(snaps)
        ]
    )
    given = -rate * dt * (contacts + within).sum()
    assert given == pytest.approx(lost + gained, rel=1e-9)
    moving = found.stress[1:, 0, 1] * volume - contacts
    assert np.abs(within).sum() + np.abs(moving).sum() < 0.5 * np.abs(contacts).sum()
    measured = rate * dt * found.shear_stress[1:].sum() * volume
    bound = rate * dt * (np.abs(within).sum() + np.abs(moving).sum())
    assert abs(measured - lost - gained) < bound


def test_the_stress_that_a_cell_bears_is_the_stress_that_is_measured(at_constant_volume):
    """What the contacts do on the cell, and the mean over all that the cell fills."""
    with hg.RunFile(at_constant_volume) as run:
        which = [-40, -1]
        borne = measure(run, "cell", which).stress.to_numpy()
        tensors = [stress_tensor(run, k, kinetic=False) for k in which]
        moved = run.history["force_cell_x"][-1] / Cell(run[-1].cell).volume
    np.testing.assert_allclose(borne, [voigt(one) for one in tensors], rtol=1e-9, atol=1e-12)
    # and what the solver of the step found, as its history keeps it
    assert moved == pytest.approx(tensors[-1][0, 0], rel=1e-9)


def test_measurements_of_a_shear_test(at_constant_volume):
    with hg.RunFile(at_constant_volume) as run:
        which = [*range(len(run) - 61, len(run), 3)]
        curve = measure(run, "stress-strain", which)
        flow = measure(run, "rheology", which)
        strong = measure(run, "strength", which)
        three = measure(run, "strength", which, windows=3)
        tensors = np.array([stress_tensor(run, k) for k in which])
        snap = next(hg.measure.snapshots(run, [-1]))
    mean = tensors.mean(axis=0)
    np.testing.assert_allclose(curve.stress, tensors)
    np.testing.assert_allclose(curve.shear_stress, -0.5 * (tensors[:, 0, 1] + tensors[:, 1, 0]))
    assert float(flow.shear_rate) == pytest.approx(0.1)
    pressure = np.trace(mean) / 2
    assert float(flow.pressure) == pytest.approx(pressure)
    size = 2.0 * snap.radius.mean()  # the density of the grains is one
    assert float(flow.inertial_number) == pytest.approx(0.1 * size / math.sqrt(pressure))
    assert float(flow.effective_friction) == pytest.approx(abs(mean[0, 1]) / mean[1, 1])
    assert float(flow.packing_fraction) == pytest.approx(snap.volume.sum() / snap.cell.volume)
    low, high = np.linalg.eigvalsh(0.5 * (mean + mean.T))
    assert math.sin(strong.friction_angle) == pytest.approx((high - low) / (high + low))
    assert float(strong.stress_ratio) == pytest.approx((high - low) / (high + low))
    assert float(strong.dilatancy_angle) == pytest.approx(0.0, abs=1e-9)
    assert float(strong.friction_angle_error) > 0.0
    assert three.sizes == {"shear_strain": 3}
    with hg.RunFile(at_constant_volume) as run:
        for windows, words in ((0, "windows is 0"), (11, "make 1 to 10"), ("a", "a whole number")):
            with pytest.raises(InputError, match=words):
                measure(run, "strength", which, windows=windows)
        with pytest.raises(InputError, match="two frames or more"):
            measure(run, "stress-strain", [3])
        with pytest.raises(InputError, match="follow each other in time"):
            measure(run, "stress-strain", [5, 4])


def planes(*ends: tuple[str, list[float], list[float], list[float]]) -> list[hg.Plane]:
    return [
        hg.Plane(name=name, point=point, normal=normal, velocity=velocity)
        for name, point, normal, velocity in ends
    ]


def test_the_strain_of_a_sample_between_walls(tmp_path):
    """A lid that comes down and a wall that goes away; then plates that slide, far from x = 0."""
    box = planes(
        ("left", [0, 7], [1, 0], [0, 0]),
        ("right", [4, 9], [-1, 0], [0.1, 0]),
        ("bottom", [3, 0], [0, 1], [0, 0]),
        ("top", [8, 5], [0, -1], [0, -0.4]),
    )
    plates = planes(("bottom", [3, 0], [0, 1], [-0.2, 0]), ("top", [8, 5], [0, -1], [0.3, 0]))
    pressed = np.diag([math.log(4.1 / 4.0), math.log(4.6 / 5.0)])
    sheared = np.array([[0.0, 0.5 / 5.0], [0.0, 0.0]])
    for walls, periodic, expected, words in (
        (box, {}, pressed, "compression along y"),
        (plates, {"x": (0.0, 4.0)}, sheared, "shear along x across y"),
    ):
        grains = hg.Grains(place=hg.At(positions=[[1, 1], [2.5, 1], [1, 2.5], [2.5, 2.5]]))
        scene = hg.Scene(grains=[grains], walls=walls, periodic=periodic)
        path = tmp_path / f"{len(walls)}.h5"
        hg.Simulation(scene, dt=0.02).run(50, output=path, every=10, progress=False)
        with hg.RunFile(path) as run:
            found = response(run)
        np.testing.assert_allclose(found.strain[-1], expected, atol=1e-9)
        assert found.loading.words == words


def test_what_has_no_strain_says_so(tmp_path):
    path = tmp_path / "floor.h5"
    grains = hg.Grains(place=hg.At(positions=[[0, 0.5], [2, 0.5]]))
    floor = hg.Plane(point=[0, 0], normal=[0, 1])
    scene = hg.Scene(grains=[grains], walls=[floor], gravity=[0, -1])
    hg.Simulation(scene, dt=0.01).run(2, output=path, progress=False, every=1)
    with hg.RunFile(path) as run, pytest.raises(InputError, match="strain along x is not known"):
        measure(run, "stress-strain")
