"""Soft particles in a periodic cell that deforms: its equations, its energy, crystals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.cell import PLACES, Cell
from hardgrain.errors import InputError, RunError
from hardgrain.scene.cell import Control, Isotropic, MixedControl, Oedometer, SimpleShear
from hardgrain.scene.shapes import Polygon
from hardgrain.step.cell_kernel import on_cell
from hardgrain.step.stable_step import MARGIN, admissible_step

from .helpers import Floats, grains, steps

pytestmark = pytest.mark.rounding

AXES = "xyz"
K = 1e3
RATES = MixedControl(
    x=Control(stress="1 + 0.2 * sin(t)"), y=Control(rate="-0.1 * cos(t)"), xy=Control(rate=0.2)
)


def soft(scene: hg.Scene, dt: float = 1e-3, **engine: Any) -> hg.Simulation:
    settings = hg.SoftParticles(**{"stiffness": K, **engine})
    return hg.Simulation(scene, dt=dt, engine=settings, seed=1)


def loose(dim: int, count: int, cell: Any, friction: float = 0.4, **more: Any) -> hg.Scene:
    """Grains at random places in a cube that repeats itself."""
    size = (count * 1.8) ** (1.0 / dim)
    diameter = tuple(np.random.default_rng(1).uniform(0.7, 1.3, count))
    return hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, size)),  # type: ignore[misc]
        cell=cell,
        contacts=[hg.ContactLaw(friction=friction)],
        grains=[
            hg.Grains(
                diameter=diameter, place=hg.Deposit(min=(0.0,) * dim, max=(size,) * dim), **more
            )
        ],
    )


def crystal(cell: Any, across: int = 6, high: int = 8, spacing: float = 1.0) -> hg.Scene:
    """A triangular lattice of disks of diameter one that just touch if the spacing is one."""
    places = [
        [spacing * (i + 0.5 * (j % 2)), spacing * math.sqrt(0.75) * j]
        for j in range(high)
        for i in range(across)
    ]
    size = spacing * across, spacing * math.sqrt(0.75) * high
    return hg.Scene(
        periodic={"x": (0.0, size[0]), "y": (0.0, size[1])},
        cell=cell,
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[grains(*places, diameter=1.0)],
        allow_overlaps=True,
    )


def rates(sim: hg.Simulation) -> Floats:
    """L, in the order of Voigt."""
    return np.concatenate([sim.state.velocity[-1], sim.state.spin[-1]])


def inverse(sim: hg.Simulation) -> Floats:
    return np.concatenate([sim.model.inv_mass[-1], sim.model.inv_inertia[-1]])


# ---------------------------------------------------------------- equations of motion
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_cell_and_grains_obey_their_equations_in_every_step(dim: int, friction: float) -> None:
    """W ΔL = dt (Σ f⊗l + Σ m c⊗c − V σ) and m Δc = dt (F − m L c), to rounding."""
    sim = soft(loose(dim, 40, RATES, friction), restitution=0.5, tangential_damping=1.0)
    model, most = sim.model, 0.0
    n, mass = model.n, model.mass[: model.n]
    for k in range(400):
        state, before = sim.state.copy(), rates(sim)
        volume, middle = model.cell_in(state).volume, (k + 0.5) * sim.dt
        sim.step()
        contacts, now = sim.state.contacts, rates(sim)
        c = state.velocity[:n]
        load = np.array([np.sum(mass * c[:, a] * c[:, b]) for a, b in PLACES[dim]])
        load[0] -= volume * (1.0 + 0.2 * math.sin(middle))
        push = on_cell(contacts.rows, n)
        given = np.zeros(len(now))
        given[1], given[-1] = -0.1 * math.cos(middle), 0.2
        expected = given
        expected[0] = before[0] + inverse(sim)[0] * (sim.dt * load[0] + push[0])
        assert np.allclose(now, expected, atol=1e-13), k
        # the first step begins with the rates that it is given, not with those of the state
        gradient = np.zeros((dim, dim))
        for (a, b), rate in zip(PLACES[dim], [before[0], *given[1:]]):
            gradient[a, b] = rate
        kick = np.zeros((n, dim))
        np.add.at(kick, contacts.second, contacts.impulse)
        np.subtract.at(kick, contacts.first, contacts.impulse)
        expected = c + kick / mass[:, None] - sim.dt * c @ gradient.T
        assert np.allclose(sim.state.velocity[:n], expected, atol=1e-13), k
        most = max(most, np.abs(push).max())
        force, torque = sim.engine.wall_force[-1], sim.engine.wall_torque[-1]
        assert np.allclose(sim.dt * np.concatenate([force, torque]), push, atol=1e-13), k
    assert most > 0.0


@pytest.mark.parametrize("dim", [2, 3])
def test_a_free_grain_keeps_its_velocity_in_space_in_simple_shear(dim: int) -> None:
    size, place = 9.0, [4.0, 5.0, 4.0][:dim]
    scene = hg.Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, size)),  # type: ignore[misc]
        cell=MixedControl(xy=Control(rate=0.7)),
        grains=[grains(place, velocity=[0.3, -0.4, 0.2][:dim])],
    )
    sim = soft(scene, dt=0.02, substeps=5)
    sim.step()

    def in_space() -> Floats:
        state = sim.state
        found: Floats = state.velocity[0] + sim.model.gradient_in(state) @ state.position[0]
        return found

    start = in_space()
    steps(sim, 200)
    assert np.allclose(in_space(), start, atol=1e-12)
    assert sim.state.cell[-1] == pytest.approx(0.7 * size * sim.state.time)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_cell_that_is_held_is_a_periodic_box(dim: int) -> None:
    """The same steps with and without a cell that does not move, up to rounding."""
    runs = []
    for cell in (None, MixedControl()):
        sim = soft(loose(dim, 60, cell), dt=0.01, substeps=5, restitution=0.8)
        n = sim.model.n
        sim.state.velocity[:n] = np.random.default_rng(5).normal(size=(n, dim))
        touched = sum(sim.step().loaded for _ in range(40))
        runs.append((touched, sim.state.position[:n].copy(), sim.state.contacts.spring.copy()))
    assert runs[0][0] == runs[1][0] > 100
    assert np.allclose(runs[0][1], runs[1][1], atol=1e-9)
    assert np.allclose(runs[0][2], runs[1][2], atol=1e-9)


# ---------------------------------------------------------------- energy
def _missing(substeps: int, restitution: float, friction: float, seed: int = 4) -> float:
    """What the ledger lacks after a while, at most, relative to the energy that there is."""
    cell = MixedControl(x=Control(stress=5.0), y=Control(stress=3.0), xy=Control(rate=0.2))
    more = {"restitution": restitution, "tangential_damping": 0.5}
    scene = crystal(cell)
    scene = scene.model_copy(update={"contacts": [hg.ContactLaw(friction=friction)]})
    sim = soft(scene, dt=0.02, substeps=substeps, **more)  # some collisions, too few for chaos
    n = sim.model.n
    sim.state.velocity[:n] = 0.1 * np.random.default_rng(seed).normal(size=(n, 2))
    given, worst, most = sim.kinetic, 0.0, 0.0
    for _ in range(25):
        report = sim.step()
        given += report.work_external + report.work_driven - report.dissipated
        held = report.kinetic + report.elastic
        worst, most = max(worst, abs(held - given)), max(most, held)
    assert report.elastic > 0.3
    return worst / most


@pytest.mark.parametrize(("restitution", "friction"), [(1.0, 0.0), (0.5, 0.0), (0.5, 0.3)])
def test_the_energy_balance_closes_as_steps_become_short(
    restitution: float, friction: float
) -> None:
    """Symplectic Euler: the energy at hand is off by a term of first order, which halves."""
    coarse, fine, finer = (_missing(s, restitution, friction) for s in (20, 40, 80))
    assert coarse < 0.05
    assert 1.7 < coarse / fine < 2.3
    assert 1.7 < fine / finer < 2.3


# ---------------------------------------------------------------- crystals
# A crystal of spacing a has three contacts a grain, each with the force k (d − a) and the branch a,
# and the area √3/2 a² for each grain: p = √3 k (d − a)/a.
def test_a_crystal_bears_the_pressure_of_its_springs() -> None:
    sim = soft(crystal(MixedControl(x=Control(rate=-0.05), y=Control(rate=-0.05))), dt=5e-3)
    width = sim.state.cell[0]
    for _ in range(200):
        form = sim.state.cell.copy()
        sim.step()
        a = form[0] / width
        pressure = math.sqrt(3.0) * K * (1.0 - a) / a
        found = sim.engine.wall_force[-1] / (form[0] * form[1])
        assert np.allclose(found, pressure, atol=1e-9 * K)
        assert sim.engine.wall_torque[-1] == pytest.approx(0.0, abs=1e-9 * K)
    assert a < 0.96


def test_a_crystal_under_pressure_shrinks_as_far_as_its_springs_say() -> None:
    pressure = 0.1 * K
    sim = soft(crystal(Isotropic(pressure=pressure)), dt=5e-3, damping=20.0)
    width = sim.state.cell[0]
    steps(sim, 1500)
    a = math.sqrt(3.0) * K / (pressure + math.sqrt(3.0) * K)
    assert sim.state.cell[0] / width == pytest.approx(a, rel=1e-9)
    overlap = -sim.state.contacts.gap
    assert len(overlap) == 3 * sim.model.n
    assert np.allclose(overlap, 1.0 - a, rtol=1e-8)


def test_a_crystal_breathes_with_the_inertia_of_its_cell() -> None:
    """W ε̈ = V (p − σ) about a = √3 k d/(σ + √3 k) gives ω² = 3 N k a d/(2 W)."""
    pressure, period = 0.05 * K, 2.0 * math.pi
    a = math.sqrt(3.0) * K / (pressure + math.sqrt(3.0) * K)
    scene = crystal(Isotropic(pressure=pressure, inertia=2.0), spacing=a)
    sim = soft(scene, dt=1e-3, substeps=2)
    omega = math.sqrt(1.5 * sim.model.n * K * a * inverse(sim)[0])
    start = 1e-5
    sim.state.velocity[-1] = start
    found = []
    for _ in range(round(period / omega / sim.dt)):
        sim.step()
        found.append(sim.state.velocity[-1, 0] / start)
    t = sim.dt * np.arange(1, len(found) + 1)
    # half an explicit step of phase, ω dt/4, and what is not harmonic
    assert np.allclose(found, np.cos(omega * t), atol=0.5 * omega * sim.dt)


# ---------------------------------------------------------------- how long a step may be
@pytest.mark.parametrize("share", [1.0, 0.05])
def test_a_crystal_is_stable_up_to_the_step_that_is_allowed(share: float) -> None:
    """A light cell breathes fast, and the bound knows it."""
    scene = crystal(Isotropic(pressure=0.02 * K, inertia=share))
    model, state = scene.build(1)
    longest = admissible_step(model, hg.SoftParticles(stiffness=K), state)
    breathing = math.sqrt(1.5 * model.n * K * model.inv_mass[-1, 0])
    assert longest < 2.0 / (MARGIN * breathing)
    still = crystal(MixedControl())
    held = admissible_step(*(still.build(1)[0], hg.SoftParticles(stiffness=K)), still.build(1)[1])
    assert longest < held
    sim = soft(scene, dt=0.999 * longest)
    n = sim.model.n
    sim.state.velocity[:n] = 1e-3 * np.random.default_rng(2).normal(size=(n, 2))
    most = max(sim.step().kinetic for _ in range(300))
    volume = sim.model.cell_in(sim.state).volume
    assert most < 0.02 * K * volume * 0.1  # the work of the pressure over its first strain
    with pytest.raises(InputError, match="inertia of this cell"):
        soft(scene, dt=1.01 * longest)


# ---------------------------------------------------------------- images and lists
@pytest.mark.parametrize("dim", [2, 3])
def test_a_step_does_not_depend_on_the_images_that_grains_and_cell_are_told_by(dim: int) -> None:
    def made() -> hg.Simulation:
        return soft(loose(dim, 60, Isotropic(pressure=5.0)), dt=0.01, substeps=8, restitution=0.5)

    sim, other = made(), made()
    steps(sim, 250)
    state, n = sim.state.copy(), sim.model.n
    h = Cell(state.cell).matrix
    state.position[:n] += np.random.default_rng(3).integers(-2, 3, (n, dim)) @ h.T
    h[:, 1] += 2.0 * h[:, 0]
    state.cell = np.array([h[place] for place in PLACES[dim]])
    other.engine.advance(state)
    sim.step()
    assert len(sim.state.contacts) == len(state.contacts) > n
    assert np.allclose(sim.state.velocity, state.velocity, atol=1e-9)
    assert np.allclose(sim.state.contacts.spring, state.contacts.spring, atol=1e-9)
    found = [sim.model.cell_in(s).numbers for s in (sim.state, state)]
    assert np.allclose(found[0], found[1], atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_list_of_pairs_misses_nothing_while_the_cell_deforms(dim: int) -> None:
    """An engine that makes its list anew gives the same bits, far beyond a tilt of a period."""
    cell = SimpleShear(rate=1.0, pressure=5.0)
    sim = soft(loose(dim, 80, cell), dt=0.01, substeps=8, restitution=0.5)
    for k in range(600):
        state = sim.state.copy()
        sim.step()
        if k % 20 == 19:
            again = type(sim.engine)(sim.model, sim.engine.settings, sim.dt, state)
            assert again.elastic(sim.state) == sim.engine.elastic(sim.state)
            again.advance(state)
            for name in ("position", "velocity", "spin", "cell"):
                assert np.array_equal(getattr(state, name), getattr(sim.state, name)), name
    assert len(sim.state.contacts) > 20
    assert sim.state.cell[-1] > 3.0 * sim.state.cell[0]


# ---------------------------------------------------------------- walls, and what is refused
def test_walls_along_an_open_axis_bear_what_the_cell_does_not() -> None:
    """Three disks in a row that repeats, between planes: N = stress × height."""
    stress, height = 0.7, 1.0
    scene = hg.Scene(
        periodic={"x": (0.0, 3.0)},
        cell=MixedControl(x=Control(stress=stress)),
        walls=[
            hg.Plane(name="floor", point=[0.0, 0.0], normal=[0.0, 1.0]),
            hg.Plane(name="lid", point=[0.0, height], normal=[0.0, -1.0]),
        ],
        contacts=[hg.ContactLaw(friction=0.0)],
        grains=[grains([0.5, 0.5], [1.5, 0.5], [2.5, 0.5])],
    )
    sim = soft(scene, dt=0.01, substeps=2, damping=10.0)
    steps(sim, 1500)
    contacts = sim.state.contacts
    between = contacts.second < sim.model.n
    assert np.allclose(contacts.normal_impulse()[between] / sim.dt, stress * height, rtol=1e-8)
    assert sim.model.wall_names[-1] == "cell"
    length = sim.state.cell[0]
    assert length == pytest.approx(3.0 * (1.0 - stress * height / K), rel=1e-9)
    assert sim.engine.wall_force[-1, 0] == pytest.approx(stress * height * length, rel=1e-8)


def test_grains_that_are_not_round_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="disks and balls alone") as refused:
        soft(loose(2, 10, Isotropic(pressure=1.0), shape=Polygon(sides=5)))
    assert "\n" not in str(refused.value)


def test_a_cell_that_becomes_too_small_ends_the_run_with_a_sentence() -> None:
    sim = soft(loose(2, 6, Oedometer(axis="x", rate=-0.5)), dt=0.02, substeps=40)
    with pytest.raises(RunError, match="along x"):
        sim.run(until=hg.Steps(steps=200))
