"""Periodic cells that deform: how they repeat, what they feel, and that their laws hold."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.contact.neighbours import find_pairs
from hardgrain.core.cell import PLACES, Cell, voigt
from hardgrain.errors import InputError, RunError
from hardgrain.scene.cell import (
    Biaxial,
    Control,
    CyclicShear,
    Isotropic,
    MixedControl,
    Oedometer,
    SimpleShear,
)
from hardgrain.scene.place import At, Deposit
from hardgrain.scene.shapes import Polygon
from hardgrain.solve.gauss_seidel import GaussSeidel

AXES = "xyz"


def random_cell(dim: int, rng: np.random.Generator, size: float = 6.0) -> Cell:
    """A tilted cell of about a given size."""
    tilts = len(PLACES[dim]) - dim
    period = size * rng.uniform(0.8, 1.2, dim)
    return Cell(np.concatenate([period, 0.5 * size * rng.uniform(-0.8, 0.8, tilts)])).reduced()


def images(cell: Cell, most: int = 2) -> np.ndarray:
    """The vectors to all images that are a few periods away."""
    turns = range(-most, most + 1)
    return np.array(list(itertools.product(turns, repeat=cell.dim))) @ cell.matrix.T


def pushed(contacts: Any, n: int) -> Any:
    """Σ P ⊗ l of the contacts between grains, in the order of Voigt."""
    felt = contacts.second < n
    line = contacts.arm_first - contacts.arm_second + contacts.gap[:, None] * contacts.normal
    return voigt(contacts.impulse[felt].T @ line[felt])


# ---------------------------------------------------------------- how a cell repeats
@pytest.mark.parametrize("dim", [2, 3])
def test_places_are_moved_into_the_cell_by_whole_periods(dim: int) -> None:
    rng = np.random.default_rng(dim)
    cell, low = random_cell(dim, rng), rng.normal(size=dim)
    x = 30.0 * rng.normal(size=(200, dim))
    inside = cell.wrap(x, low)
    share = cell.fractions(inside - low)
    assert share.min() >= -1e-12
    assert share.max() <= 1.0 + 1e-12
    turns = cell.fractions(x - inside)
    assert np.abs(turns - np.round(turns)).max() < 1e-12
    assert np.allclose(share @ cell.matrix.T, inside - low, atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_nearest_image_is_nearest_within_half_a_period(dim: int) -> None:
    rng = np.random.default_rng(10 + dim)
    for _ in range(20):
        cell = random_cell(dim, rng)
        line = cell.nearest(20.0 * rng.normal(size=(100, dim)))
        least = np.linalg.norm(line[:, None] + images(cell), axis=2).min(axis=1)
        near = least < 0.5 * cell.period.min()
        assert near.sum() > 5
        assert np.allclose(np.linalg.norm(line, axis=1)[near], least[near], atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_cell_with_whole_periods_of_tilt_is_the_same_lattice(dim: int) -> None:
    rng = np.random.default_rng(20 + dim)
    cell = random_cell(dim, rng)
    more = cell.matrix.copy()
    more[:, 1] += 3.0 * more[:, 0]
    if dim == 3:
        more[:, 2] += 2.0 * more[:, 1] - 1.0 * more[:, 0]
    tilted = Cell(np.array([more[a, b] for a, b in PLACES[dim]]))
    assert np.allclose(tilted.reduced().numbers, cell.numbers, atol=1e-12)
    assert tilted.volume == pytest.approx(cell.volume)


@pytest.mark.parametrize("dim", [2, 3])
def test_pairs_are_found_in_tilted_cells(dim: int) -> None:
    rng = np.random.default_rng(30 + dim)
    for count in (20, 200):
        size = 0.9 * count ** (1.0 / dim) + 2.0
        cell = random_cell(dim, rng, size)
        x = 3.0 * size * rng.normal(size=(count, dim))
        reach = rng.uniform(0.3, 0.7, count)
        i, j = np.triu_indices(count, 1)
        apart = np.linalg.norm(cell.nearest(x[j] - x[i]), axis=1)
        close = apart < reach[i] + reach[j]
        first, second = find_pairs(x, reach, cell.numbers)
        assert close.sum() > count // 8
        assert sorted(zip(first, second)) == sorted(zip(i[close], j[close]))


# ---------------------------------------------------------------- scenes
def loose(
    dim: int, count: int, cell: Any, seed: int = 1, friction: float = 0.4, **more: Any
) -> hg.Scene:
    """Grains at random places in a cube that repeats itself."""
    size = (count * 2.0) ** (1.0 / dim)
    diameter = tuple(np.random.default_rng(seed).uniform(0.7, 1.3, count))
    law = {key: more.pop(key) for key in ("rolling", "restitution", "cohesion") if key in more}
    place = Deposit(min=(0.0,) * dim, max=(size,) * dim)
    return hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, size)),
        cell=cell,
        contacts=[hg.ContactLaw(friction=friction, **law)],
        grains=[hg.Grains(diameter=diameter, place=place, **more)],
    )


def simulated(scene: hg.Scene, dt: float = 0.02, sweeps: int = 100, **more: Any) -> hg.Simulation:
    return hg.Simulation(scene, dt=dt, solver=GaussSeidel(sweeps=sweeps, **more), seed=1)


KINDS = [
    pytest.param(2, {}, id="disks"),
    pytest.param(2, {"rolling": 0.05}, id="disks-rolling"),
    pytest.param(3, {}, id="spheres"),
    pytest.param(3, {"rolling": 0.05, "restitution": 0.5}, id="spheres-all-laws"),
    pytest.param(2, {"shape": Polygon(sides=5)}, id="pentagons"),
]


@pytest.mark.parametrize(("dim", "more"), KINDS)
def test_the_energy_balance_closes_with_the_work_of_the_cell(
    dim: int, more: dict[str, Any]
) -> None:
    cell = MixedControl(
        x=Control(stress="1 + 0.2 * sin(t)"), y=Control(rate="-0.1 * cos(t)"), xy=Control(rate=0.2)
    )
    sim = simulated(loose(dim, 40 if dim == 2 else 120, cell, **more), sweeps=20)
    kinetic, done, most, loaded = 0.0, 0.0, 0.0, 0.0
    for _ in range(100):
        report = sim.step()
        done += report.work_external + report.work_driven - report.dissipated
        kinetic, loaded = report.kinetic, loaded + report.loaded
        most = max(most, kinetic, report.dissipated)
    assert loaded > 500
    assert kinetic == pytest.approx(done, abs=1e-11 * max(most, 1.0))


@pytest.mark.parametrize(("dim", "more"), KINDS)
def test_the_cell_obeys_its_equation_of_motion_in_every_step(
    dim: int, more: dict[str, Any]
) -> None:
    """W ΔL = dt (Σ m c⊗c − V σ) + Σ P⊗l to rounding, however few the sweeps."""
    sim = simulated(loose(dim, 40, Isotropic(pressure=1.0, inertia=2.0), **more), sweeps=5)
    model, cell = sim.model, sim.model.cell
    inverse = np.concatenate([model.inv_mass[cell], model.inv_inertia[cell]])
    for k in range(120):
        state = sim.state.copy()
        before = np.concatenate([state.velocity[cell], state.spin[cell]])
        volume = model.cell_in(state).volume
        c, m = state.velocity[: model.n], model.mass[: model.n]
        load = np.array([np.sum(m * c[:, a] * c[:, b]) for a, b in PLACES[dim]])
        load[:dim] -= volume
        sim.step()
        after = np.concatenate([sim.state.velocity[cell], sim.state.spin[cell]])
        push = pushed(sim.state.contacts, model.n)
        found = before + inverse * (sim.dt * load + push)
        assert np.allclose(after, found, atol=1e-13), k
    assert np.abs(push).max() > 0.0


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_grains_that_nothing_pushes_stay_at_rest_to_the_last_bit(order: str) -> None:
    """In a sheared cell they are carried along, and rounding must not look like energy."""
    cell = MixedControl(xy=Control(rate=0.3))
    places = [(1.0, 1.0), (2.002, 1.0), (0.3, 5.9), (7.298, 5.9)]  # two of them across a face
    grains = [hg.Grains(diameter=1.0, place=At(positions=places))]
    scene = hg.Scene(periodic={"x": (0.0, 8.0), "y": (0.0, 8.0)}, cell=cell, grains=grains)
    sim = simulated(scene, dt=0.001, order=order)
    for _ in range(5):
        report = sim.step()
        assert report.candidates > 0
        assert report.kinetic == 0.0
        assert not sim.state.velocity[:4].any()


def test_a_packing_at_rest_bears_the_stress_that_was_asked_for() -> None:
    """Contacts and what moves freely between them, Σ m c⊗c, together bear it.

    It is the same from all sides but for a fifth, which any packing with friction holds.
    """
    sim = simulated(
        loose(2, 60, MixedControl(x=Control(stress=1.0), y=Control(stress=1.2)), friction=0.6)
    )
    sim.run(3000, progress=False)
    c, mass = sim.state.velocity[:60], sim.model.mass[:60]
    volume = sim.model.cell_in(sim.state).volume
    borne = (sim.engine.wall_force[-1] + mass @ np.square(c)) / volume
    # the cell itself is at rest but for what 100 sweeps leave
    assert np.allclose(borne, [1.0, 1.2], rtol=1e-6)


@pytest.mark.parametrize(("pressure", "cohesion"), [(0.7, 0.0), (-0.7, 3.0)])
def test_grains_in_a_row_bear_stress_times_width(pressure: float, cohesion: float) -> None:
    """Three disks that touch each other and their images: F = σ × the width of the cell.

    A tension too, if the grains stick together.
    """
    width = 3.0
    places = [(0.5, 1.0), (1.5, 1.0), (2.5, 1.0)]
    scene = hg.Scene(
        periodic={"x": (0.0, 3.0), "y": (0.0, width)},
        cell=MixedControl(x=Control(stress=pressure)),
        contacts=[hg.ContactLaw(friction=0.0, cohesion=cohesion)],
        grains=[hg.Grains(diameter=1.0, count=3, place=At(positions=places))],
    )
    sim = simulated(scene, sweeps=400)
    for _ in range(5):
        sim.step()
    force = sim.state.contacts.normal_impulse() / sim.dt
    assert np.allclose(force, pressure * width)
    assert sim.engine.wall_force[-1, 0] == pytest.approx(pressure * 3.0 * width)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_free_grain_keeps_its_velocity_in_space_in_simple_shear(dim: int) -> None:
    cell = MixedControl(xy=Control(rate=0.7))
    size, v = 9.0, [0.3, -0.4, 0.2][:dim]
    scene = hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, size)),
        cell=cell,
        grains=[
            hg.Grains(
                diameter=1.0, count=1, place=At(positions=[(4.0, 5.0, 4.0)[:dim]]), velocity=v
            )
        ],
    )
    sim = simulated(scene)
    sim.step()

    def in_space() -> np.ndarray:
        state = sim.state
        gradient = sim.model.gradient_in(state)
        return state.velocity[0] + gradient @ state.position[0]  # type: ignore[no-any-return]

    start = in_space()
    for _ in range(200):
        sim.step()
    assert np.allclose(in_space(), start, atol=1e-12)
    assert sim.state.cell[len(PLACES[dim]) - 1] == pytest.approx(0.7 * size * sim.state.time)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_cell_that_is_held_is_a_periodic_box(dim: int) -> None:
    """The same steps with and without a cell that does not move, up to rounding."""
    speed = [0.5, -0.3, 0.2][:dim]
    runs = []
    for cell in (None, MixedControl()):
        scene = loose(dim, 60, cell, restitution=0.8)
        sets = [replace_velocity(scene.grains[0], speed)]
        scene = scene.model_copy(update={"grains": sets, "gravity": [0.0] * dim})
        sim = simulated(scene, dt=0.05, sweeps=60)
        rng = np.random.default_rng(5)
        sim.state.velocity[: sim.model.n] = rng.normal(size=(sim.model.n, dim))
        for _ in range(20):
            report = sim.step()
        runs.append((sim.state.position[: sim.model.n].copy(), report))
    assert runs[0][1].candidates == runs[1][1].candidates > 0
    assert np.allclose(runs[0][0], runs[1][0], atol=1e-9)


def replace_velocity(grains: Any, velocity: list[float]) -> Any:
    return grains.model_copy(update={"velocity": velocity})


@pytest.mark.parametrize("dim", [2, 3])
def test_a_step_does_not_depend_on_the_images_that_grains_and_cell_are_told_by(dim: int) -> None:
    sim = simulated(loose(dim, 50, Isotropic(pressure=1.0)), sweeps=50)
    for _ in range(60):
        sim.step()
    other = simulated(loose(dim, 50, Isotropic(pressure=1.0)), sweeps=50)
    state, rng = sim.state.copy(), np.random.default_rng(3)
    h = Cell(state.cell).matrix
    turns = rng.integers(-2, 3, (sim.model.n, dim))
    state.position[: sim.model.n] += turns @ h.T
    h[:, 1] += 2.0 * h[:, 0]
    state.cell = np.array([h[a, b] for a, b in PLACES[dim]])
    # Moved by whole periods in a cell that deforms, a grain has the same velocity relative to it.
    other.engine.advance(state)
    sim.step()
    cell = sim.model.cell
    assert len(sim.state.contacts) == len(state.contacts) > 50
    assert np.allclose(sim.state.velocity, state.velocity, atol=1e-10)
    assert np.allclose(
        sim.model.cell_in(sim.state).numbers, sim.model.cell_in(state).numbers, atol=1e-10
    )
    assert cell == sim.model.bodies - 1


def test_the_list_of_pairs_is_kept_and_misses_nothing_while_the_cell_deforms() -> None:
    sim = simulated(loose(2, 80, SimpleShear(rate=0.5, pressure=1.0)), sweeps=30)
    for k in range(150):
        state = sim.state.copy()
        sim.step()
        if k % 10 == 9:
            again = type(sim.engine)(sim.model, sim.engine.solver, sim.dt, sim.engine.seed)
            again.advance(state)
            assert np.array_equal(state.velocity, sim.state.velocity)
            assert np.array_equal(state.contacts.key(81), sim.state.contacts.key(81))


# ---------------------------------------------------------------- ready-made tests
def rates(sim: hg.Simulation) -> np.ndarray:
    return np.concatenate([sim.state.velocity[-1], sim.state.spin[-1]])


def test_ready_made_tests_ask_for_what_they_say() -> None:
    def asked(spec: Any, dim: int) -> dict[str, tuple[Any, Any]]:
        return {k: (c.stress, c.rate) for k, c in spec.controls(dim).items()}

    assert asked(Isotropic(pressure=2.0), 3) == dict.fromkeys("xyz", (2.0, None))
    assert asked(Oedometer(rate=-0.1), 2) == {"y": (None, -0.1)}
    assert asked(Biaxial(rate=-0.1, pressure=3.0), 2) == {"x": (3.0, None), "y": (None, -0.1)}
    undrained = asked(Biaxial(kind="triaxial", rate=-0.1), 3)
    assert undrained == {"x": (None, 0.05), "y": (None, 0.05), "z": (None, -0.1)}
    assert asked(SimpleShear(rate=0.2), 2) == {"xy": (None, 0.2)}
    assert asked(SimpleShear(rate=0.2, pressure=1.0), 3)["y"] == (1.0, None)


def test_cyclic_shear_comes_back() -> None:
    sim = simulated(loose(2, 30, CyclicShear(amplitude=0.3, period=2.0)), dt=0.01, sweeps=20)
    size, most = sim.state.cell[1], 0.0
    for _ in range(200):
        sim.step()
        most = max(most, sim.state.cell[2] / size)
    # The rate at the middle of each step: a midpoint rule, of second order.
    assert most == pytest.approx(0.3, rel=1e-3)
    assert sim.state.cell[2] == pytest.approx(0.0, abs=1e-12 * size)


def test_constant_volume_is_constant() -> None:
    sim = simulated(loose(3, 30, Biaxial(kind="triaxial", rate=-0.05)), dt=0.01, sweeps=20)
    start = Cell(sim.state.cell).volume
    for _ in range(100):
        sim.step()
    # h + dt L h with tr L = 0 keeps the volume to second order of a step.
    assert Cell(sim.state.cell).volume == pytest.approx(start, rel=100 * (0.05 * 0.01) ** 2)


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"x": {"stress": 1.0, "rate": 0.1}}, "not both"),
        ({"x": {}}, "one of the two"),
        ({"z": {"rate": 0.1}}, "dimension 2"),
        ({"x": {"stress": -1.0}}, r"scene\.cell\.x\.stress is -1, a tension"),
        ({"kind": "isotropic", "pressure": -1.0}, r"scene\.cell\.pressure is -1, a tension"),
        ({"kind": "oedometer", "stress": -1.0}, r"scene\.cell\.stress is -1, a tension"),
        ({"kind": "isotropic", "pressure": 1.0, "inertia": 1e-6}, "at least"),
        ({"kind": "oedometer", "rate": -1.0, "stress": 1.0}, "^cell: .* not both"),
        ({"kind": "oedometer", "axis": "z", "rate": -1.0}, "this kind .* deforms z .* dimension 2"),
        ({"kind": "squeeze"}, "squeeze"),
        ({"kind": "triaxial", "rate": -0.1}, "is 'triaxial' in a scene of dimension 2"),
        ({"xy": {"rate": 1e6}}, r"scene\.cell\.xy\.rate is 1e\+06, .* at most 25, half a period"),
        ({"x": {"rate": "-40 + t"}}, r"scene\.cell\.x\.rate is -39\.99, .* strain .* by 0\.7998"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(cell: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        simulated(loose(2, 10, cell))
    assert "\n" not in str(refused.value)


def test_a_cell_needs_periods_along_its_components() -> None:
    grains = [hg.Grains(diameter=1.0, count=1, place=At(positions=[(5.0, 5.0)]))]
    one = {"x": (0.0, 10.0)}
    for periodic, says in ((one, "does not repeat along y"), ({}, "scene.periodic is empty")):
        scene = hg.Scene(periodic=periodic, cell=MixedControl(xy=Control(rate=0.1)), grains=grains)
        with pytest.raises(InputError, match=says):
            simulated(scene)


@pytest.mark.parametrize("order", ["tiles", "coloured"])
def test_orders_that_do_not_feel_the_cell_are_refused(order: str) -> None:
    with pytest.raises(InputError, match=r"solver\.order"):
        simulated(loose(2, 10, Isotropic(pressure=1.0)), order=order)


def test_a_cell_that_becomes_too_small_ends_the_run_with_a_sentence() -> None:
    sim = simulated(loose(2, 4, Oedometer(axis="x", rate=-2.0)), dt=0.05)
    with pytest.raises(RunError, match="along x"):
        sim.run(until=hg.Steps(steps=100))


@pytest.mark.parametrize("xy", [Control(rate="1 + 29*step(t - 0.1)"), Control(stress="-1e6*t")])
def test_a_step_that_shears_too_far_ends_the_run_with_a_sentence(xy: Control) -> None:
    """Known in the step alone: a rate that changes, or a stress that nothing balances."""
    sim = simulated(loose(2, 10, MixedControl(xy=xy)))
    with pytest.raises(RunError, match=r"strained the cell by .* along xy") as refused:
        sim.run(until=hg.Steps(steps=100))
    assert "\n" not in str(refused.value)


def test_walls_along_an_open_axis_bear_what_the_cell_does_not() -> None:
    """Periodic along x under stress, two planes along y: the sides press with their own load."""
    scene = hg.Scene(
        periodic={"x": (0.0, 8.0)},
        cell=MixedControl(x=Control(stress=1.0)),
        walls=[
            hg.Plane(name="floor", point=[0.0, 0.0], normal=[0.0, 1.0]),
            hg.Plane(name="lid", point=[0.0, 8.0], normal=[0.0, -1.0]),
        ],
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[
            hg.Grains(
                diameter=tuple(np.random.default_rng(1).uniform(0.7, 1.3, 40)),
                place=Deposit(min=(0.0, 0.0), max=(8.0, 8.0)),
            )
        ],
    )
    sim = simulated(scene, sweeps=200)
    for _ in range(2500):
        report = sim.step()
        if report.loaded > 30 and report.kinetic < 1e-16:
            break
    area = 8.0 * Cell(sim.state.cell).period[0]
    assert sim.engine.wall_force[-1, 0] / area == pytest.approx(1.0, rel=1e-6)


def test_a_state_with_another_cell_is_another_state() -> None:
    sim = simulated(loose(2, 10, Isotropic(pressure=1.0)))
    copy = sim.state.copy()
    sim.step()
    assert not np.array_equal(copy.cell, sim.state.cell)
    assert replace(copy).cell is copy.cell
