"""Driven and turning bodies, drums, periodic boundaries, several materials."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg

from .helpers import angle_of, floor, grains, momentum, start, steps, up

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
KAPPA = {2: 0.5, 3: 0.4}  # I/(m r²)


# ---------------------------------------------------------------------- prescribed motion, loads
@pytest.mark.parametrize("dim", DIMS)
def test_force_and_torque_as_functions_of_time(dim):
    """Taken at the middle of each step: exact in velocity for loads linear in time."""
    rest = [0.0] * (dim - 2)
    torque = "0.3 * t" if dim == 2 else ["0.3 * t", 0.0, -0.2]
    sim = start(dim, grains([0.0] * dim, force=["2 * t", 1.0, *rest], torque=torque), dt=0.01)
    steps(sim, 50)
    t, m, i = sim.state.time, sim.model.mass[0], sim.model.inertia[0]
    np.testing.assert_allclose(sim.state.velocity[0], [t**2 / m, t / m, *rest], rtol=1e-12)
    expected = [0.15 * t**2 / i] if dim == 2 else [0.15 * t**2 / i, 0.0, -0.2 * t / i]
    np.testing.assert_allclose(sim.state.spin[0], expected, rtol=1e-12, atol=1e-15)
    assert sim.totals.work_external == pytest.approx(sim.kinetic, rel=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_prescribed_velocity_moves_a_grain_whatever_it_meets(dim):
    """x is the midpoint sum of v(t): off the integral by dt²/24 · |Δv'| at most."""
    rest = [0.0] * (dim - 2)
    drive = {
        "driven_velocity": ["cos(3 * t)", "free", *rest],
        "driven_spin": 2.0 if dim == 2 else [0.0, 0.0, 2.0],
    }
    sets = [
        grains([0.0] * dim, **drive),
        grains([1.05, 0.0, *rest], material="lead"),
        grains([0.0, 5.0, *rest], **drive, force=[7.0, 0.5, *rest]),
    ]
    materials = {"sand": hg.Material(), "lead": hg.Material(density=1000.0)}
    sim = start(dim, sets, dt=0.01, materials=materials)
    for _ in range(100):
        sim.step()
        middle = sim.state.time - 0.5 * sim.dt
        assert sim.state.velocity[0, 0] == pytest.approx(math.cos(3 * middle), abs=1e-15)
    assert sim.state.position[0, 0] == pytest.approx(math.sin(3.0) / 3, abs=0.01**2 * 9 / 24 * 2)
    angle = sim.state.orientation[0]
    turned = angle[0] if dim == 2 else 2 * math.atan2(angle[2], angle[3])
    assert turned == pytest.approx(2.0, rel=1e-12)
    assert sim.state.velocity[2, 0] == sim.state.velocity[0, 0]
    assert sim.state.velocity[2, 1] == pytest.approx(0.5 / sim.model.mass[2], rel=1e-12)
    # the gap of 0.05 closes in the 6th step; the 7th gives the heavy grain the drive's velocity
    assert sim.state.velocity[1, 0] == pytest.approx(math.cos(3 * 0.065), rel=1e-12)


def test_vibrating_floor_throws_a_grain_when_its_acceleration_exceeds_g():
    """z = A sin ωt: the grain leaves when A ω² sin ωt = g, at the floor's speed A ω cos ωt."""
    a, w, g, dt = 0.05, 10.0, 1.0, 1e-3
    sim = start(
        2,
        grains([0, 0.5]),
        gravity=[0, -g],
        dt=dt,
        walls=[floor(2, velocity=[0.0, f"{a} * {w} * cos({w} * t)"])],
    )
    leaves = math.asin(g / (a * w * w)) / w
    while sim.state.time < 5 * leaves:
        sim.step()
        if np.count_nonzero(sim.state.contacts.impulse) == 0:
            break
    # the first step without a contact starts when the floor falls behind, or within dt after
    assert 0.0 <= sim.state.time - dt - leaves <= dt
    assert sim.state.velocity[0, 1] == pytest.approx(a * w * math.cos(w * leaves), abs=2 * g * dt)
    assert sim.state.position[1, 1] == pytest.approx(a * math.sin(w * sim.state.time), rel=1e-4)


def test_turning_segment_strikes_with_the_speed_of_its_point():
    """A paddle that turns about its end hits a grain at rest: e = 1 gives it twice ω ρ."""
    omega, rho = 0.7, 2.0
    paddle = hg.Segment(start=[0, 0], end=[3, 0], spin=omega)
    sim = start(2, grains([rho, 0.5]), law={"restitution": 1.0}, walls=[paddle])
    sim.step()
    np.testing.assert_allclose(sim.state.velocity[0], [0.0, 2 * omega * rho], atol=1e-12)
    assert sim.totals.work_driven == pytest.approx(sim.kinetic, rel=1e-12)
    steps(sim, 100)
    assert sim.state.orientation[1, 0] == pytest.approx(omega * sim.state.time, rel=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_moving_belt_drags_a_grain(dim):
    """A floor that moves along itself: µ g until a rolling grain's surface keeps up."""
    mu, g, speed = 0.3, 1.0, 0.5
    belt = floor(dim, velocity=[speed] + [0.0] * (dim - 1))
    sim = start(dim, grains(up(dim, 0.5)), gravity=up(dim, -g), law={"friction": mu}, walls=[belt])
    steps(sim, 20)
    assert sim.state.velocity[0, 0] == pytest.approx(mu * g * 0.2, rel=1e-10)
    steps(sim, 200)
    # no slip: v + r ω = belt, with v gained = κ times the surface speed gained
    kappa = KAPPA[dim]
    assert sim.state.velocity[0, 0] == pytest.approx(speed * kappa / (1 + kappa), rel=1e-10)


# ---------------------------------------------------------------------- drums
R, RADIUS, G = 0.5, 3.0, 1.0


def in_drum(dim: int, angle: float, omega: float, dt: float, **keys) -> hg.Simulation:
    """A grain at ``angle`` from the bottom of a drum that turns towards +x at the bottom.

    In 3D the drum's axis is −y, so that the view along it is that of 2D.
    """
    rho = RADIUS - R
    x = [rho * math.sin(angle)] + [0.0] * (dim - 2) + [-rho * math.cos(angle)]
    axis = None if dim == 2 else [0.0, -1.0, 0.0]
    drum = hg.Drum(center=[0.0] * dim, radius=RADIUS, spin=omega, axis=axis)
    own = {k: keys.pop(k) for k in ("lock", "spin", "velocity") if k in keys}
    return start(dim, grains(x, **own), gravity=up(dim, -G), walls=[drum], dt=dt, **keys)


@pytest.mark.parametrize("dim", DIMS)
def test_ball_at_the_bottom_of_a_drum_turns_with_it(dim):
    """No resistance to rolling: it stays at the bottom, with ω r = Ω R."""
    omega = 0.4
    turned = omega * RADIUS / R
    spin = turned if dim == 2 else [0.0, -turned, 0.0]
    sim = in_drum(dim, 0.0, omega, 0.01, law={"friction": 0.3}, spin=spin)
    steps(sim, 500)
    np.testing.assert_allclose(sim.state.position[0], up(dim, R - RADIUS), atol=1e-12)
    np.testing.assert_allclose(sim.state.spin[0], spin, rtol=1e-12)
    np.testing.assert_allclose(
        sim.engine.wall_force[0], up(dim, -G * sim.model.mass[0]), atol=1e-12
    )
    np.testing.assert_allclose(sim.engine.wall_torque[0], 0.0, atol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("omega", [0.0, 0.4])
def test_ball_rolls_to_and_fro_in_a_drum(dim, omega):
    """Period 2π √((1 + κ) (R − r)/g) of small swings, whether or not the drum turns.

    Implicit Euler damps but shifts the period by O(dt² ω₀²); the swing of 0.05 rad by 10⁻⁴.
    """
    turned = omega * RADIUS / R
    spin = turned if dim == 2 else [0.0, -turned, 0.0]
    dt = 2e-3
    sim = in_drum(dim, 0.05, omega, dt, law={"friction": 0.5}, spin=spin)
    period = 2 * math.pi * math.sqrt((1 + KAPPA[dim]) * (RADIUS - R) / G)
    crossings, last = [], 0.05
    while len(crossings) < 2:
        sim.step()
        angle = angle_of(sim.model, sim.state, [0.0] * dim)
        if angle * last < 0.0:
            crossings.append(sim.state.time - dt * angle / (angle - last))
        last = angle
        assert sim.state.time < 2 * period
    assert crossings[0] == pytest.approx(0.25 * period, rel=2e-3)
    assert crossings[1] - crossings[0] == pytest.approx(0.5 * period, rel=2e-3)


@pytest.mark.parametrize("dim", DIMS)
def test_block_slides_at_the_friction_angle_of_a_drum(dim):
    """Where tan φ = µ gravity and sliding friction balance: there it stays, to rounding."""
    mu = 0.4
    sim = in_drum(dim, math.atan(mu), 0.3, 0.01, law={"friction": mu}, lock=["rotation"])
    x = sim.state.position[0].copy()
    steps(sim, 500)
    np.testing.assert_allclose(sim.state.position[0], x, atol=1e-10)
    m = sim.model.mass[0]
    assert np.linalg.norm(sim.engine.wall_force[0]) == pytest.approx(m * G, rel=1e-9)
    # the drum does the work that friction takes: torque × Ω
    friction = m * G * math.sin(math.atan(mu))
    torque = sim.engine.wall_torque[0, 0 if dim == 2 else 1]
    assert abs(torque) == pytest.approx(friction * RADIUS, rel=1e-9)
    assert sim.report.work_driven == pytest.approx(friction * RADIUS * 0.3 * sim.dt, rel=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_block_climbs_a_slow_drum_to_the_friction_angle(dim):
    """It is carried up at the drum's speed, then slips: an undamped swing of the size v/√(g ρ)."""
    mu, omega = 0.4, 0.02
    sim = in_drum(
        dim,
        0.0,
        omega,
        0.01,
        law={"friction": mu},
        lock=["rotation"],
        velocity=[omega * RADIUS] + [0.0] * (dim - 1),
    )
    steps(sim, 500)  # carried: the contact does not slip
    rho = RADIUS - R
    angle = angle_of(sim.model, sim.state, [0.0] * dim)
    assert angle == pytest.approx(omega * RADIUS / rho * sim.state.time, rel=1e-3)
    swing = omega * RADIUS / math.sqrt(G * rho)
    highest = 0.0
    for _ in range(4000):
        sim.step()
        highest = max(highest, angle_of(sim.model, sim.state, [0.0] * dim))
    assert highest == pytest.approx(math.atan(mu), abs=1.2 * swing)
    assert angle_of(sim.model, sim.state, [0.0] * dim) == pytest.approx(
        math.atan(mu), abs=1.2 * swing
    )


# ---------------------------------------------------------------------- periodic boundaries
@pytest.mark.parametrize("dim", DIMS)
def test_grain_crosses_a_period_and_meets_the_image(dim):
    """Positions go on without a jump; the collision is that of the nearest images."""
    rest = [0.0] * (dim - 1)
    sets = [grains([0.6, *rest]), grains([4.505, *rest], velocity=[1.0, *rest])]
    sim = start(dim, sets, periodic={"x": (0.0, 5.0)}, law={"restitution": 1.0}, dt=0.01)
    steps(sim, 9)
    assert sim.state.velocity[1, 0] == 1.0  # the gap of 0.095 is not yet closed
    sim.step()
    assert sim.state.velocity[1, 0] == pytest.approx(0.0, abs=1e-12)
    steps(sim, 200)
    np.testing.assert_allclose(sim.state.velocity[:, 0], [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(sim.state.position[:, 0], [2.61, 4.595], atol=1e-10)
    steps(sim, 1000)  # round and round, to and fro
    assert sim.state.position[:, 0].max() > 8.0
    np.testing.assert_allclose(momentum(sim)[0], sim.model.mass[0], rtol=1e-12)


def test_ring_of_grains_closes_on_itself():
    """Five grains fill a period, one is pushed: all move together at F t / Σ m."""
    positions = [[0.5 + k, 0.0] for k in range(5)]
    sets = [
        grains(positions[0], force=[1.0, 0.0]),
        grains(*positions[1:]),
    ]
    sim = start(2, sets, periodic={"x": (0.0, 5.0)})
    steps(sim, 50)
    v = sim.state.time / sim.model.mass.sum()
    np.testing.assert_allclose(sim.state.velocity, np.tile([v, 0.0], (5, 1)), atol=1e-12)
    c = sim.state.contacts
    ring = {(int(i), int(j)) for i, j in zip(c.first, c.second)}
    assert ring == {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)}
    # force drops by one grain's share at each contact, up to one constant all around the ring
    bears = {(int(i), int(j)): p / sim.dt for i, j, p in zip(c.first, c.second, c.normal_impulse())}
    share = 1.0 / 5
    drops = [bears[k, k + 1] - bears[k + 1, k + 2] for k in range(3)]
    np.testing.assert_allclose(drops, share, atol=1e-10)
    assert bears[3, 4] - bears[0, 4] == pytest.approx(share, abs=1e-10)


@pytest.mark.parametrize("dim", DIMS)
def test_momentum_is_kept_across_periods(dim):
    periodic = dict.fromkeys("xyz"[:dim], (0.0, 4.0))
    sets = hg.Grains(
        count=9 if dim == 2 else 20, place=hg.Loose(min=[0.0] * dim, max=[4.0] * dim), speed=1.0
    )
    sim = start(
        dim,
        sets,
        periodic=periodic,
        law={"friction": 0.3},
        dt=0.02,
        solver=hg.GaussSeidel(sweeps=20),
    )
    p, kinetic = momentum(sim), sim.kinetic
    steps(sim, 300)
    np.testing.assert_allclose(momentum(sim), p, atol=1e-11)
    assert sim.kinetic < 0.9 * kinetic
    assert np.abs(sim.state.position).max() > 4.0
    assert sim.totals.worst_overlap < 0.02


# ---------------------------------------------------------------------- materials
@pytest.mark.parametrize("dim", DIMS)
def test_friction_and_density_per_material(dim):
    """Blocks of three materials slide on one floor, each with its own friction and mass."""
    names = ("ice", "wood", "rubber")
    frictions = (0.02, 0.3, 0.9)
    materials = {"floor": hg.Material()}
    materials |= {name: hg.Material(density=k + 1.0) for k, name in enumerate(names)}
    contacts = [hg.ContactLaw(friction=0.0)]
    contacts += [
        hg.ContactLaw(between=(name, "floor"), friction=mu) for name, mu in zip(names, frictions)
    ]
    sets = [
        grains(
            [3.0 * k, *up(dim - 1, 0.5)],
            material=name,
            lock=["rotation"],
            velocity=[1.0] + [0.0] * (dim - 1),
        )
        for k, name in enumerate(names)
    ]
    sim = start(
        dim, sets, materials=materials, contacts=contacts, gravity=up(dim, -1.0), walls=[floor(dim)]
    )
    steps(sim, 50)
    expected = 1.0 - np.array(frictions) * sim.state.time
    np.testing.assert_allclose(sim.state.velocity[:3, 0], expected, rtol=1e-11)
    volume = np.pi / 4 if dim == 2 else np.pi / 6
    np.testing.assert_allclose(sim.model.mass[:3], volume * np.array([1.0, 2.0, 3.0]))
    drag = -np.sum(np.array(frictions) * sim.model.mass[:3])
    assert sim.engine.wall_force[0, 0] == pytest.approx(-drag, rel=1e-11)
