"""Forces at rest: stacks, pyramids, boxes, pistons, and the drag of what is pushed.

Where statics alone determine the forces they are found by hand or by a dense linear solve. The
solver runs until the laws hold to 10⁻¹² of a typical impulse; W of these small stacks has a
condition number below 10³, so forces are right to 10⁻¹⁰.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg

from .helpers import EXACT, cross, floor, grains, start, steps, up, weight

pytestmark = pytest.mark.rounding

DIMS = (2, 3)
TIGHT = 1e-10


@pytest.mark.parametrize("dim", DIMS)
def test_every_contact_of_a_stack_bears_the_weight_above(dim):
    d = np.array([1.0, 0.7, 1.3, 0.9, 1.1])
    height = np.cumsum(d) - 0.5 * d
    sets = [grains(up(dim, h), diameter=x) for h, x in zip(height, d)]
    sim = start(dim, sets, gravity=up(dim, -2.0), walls=[floor(dim)], law={"friction": 0.3})
    steps(sim, 3)
    c = sim.state.contacts
    bears = {(int(i), int(j)): p / sim.dt for i, j, p in zip(c.first, c.second, c.normal_impulse())}
    above = 2.0 * np.cumsum(sim.model.mass[:5][::-1])[::-1]
    assert bears.pop((0, 5)) == pytest.approx(above[0], rel=TIGHT)
    for k in range(4):
        assert bears.pop((k, k + 1)) == pytest.approx(above[k + 1], rel=TIGHT)
    assert not bears
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(sim.state.position[:5, -1], height, atol=1e-12)


@pytest.mark.parametrize("mu", [0.0, 0.2])
def test_grain_on_two_grains_between_walls(mu):
    """Frictionless: N = m g/(2 cos) on each lower grain, N sin on each side wall.

    With friction many force networks will do, and all of them carry the weight.
    """
    angle = math.radians(40.0)
    s, c = math.sin(angle), math.cos(angle)
    points = [-s, 0.5], [s, 0.5], [0.0, 0.5 + c]
    walls = [
        floor(2),
        hg.Plane(name="left", point=[-s - 0.5, 0], normal=[1, 0]),
        hg.Plane(name="right", point=[s + 0.5, 0], normal=[-1, 0]),
    ]
    sim = start(2, grains(*points), gravity=[0, -1], walls=walls, law={"friction": mu})
    steps(sim, 2)
    w = sim.model.mass[0]
    force = dict(zip(sim.model.wall_names, sim.engine.wall_force))
    if mu == 0.0:
        np.testing.assert_allclose(force["floor"], [0.0, -3 * w], atol=TIGHT)
        np.testing.assert_allclose(force["right"], [0.5 * w * s / c, 0.0], atol=TIGHT)
        np.testing.assert_allclose(force["left"], -force["right"], atol=TIGHT)
    np.testing.assert_allclose(sum(force.values()), [0.0, -3 * w], atol=TIGHT)
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-12)


def pyramid(rows: int, spacing: float) -> np.ndarray:
    """Disks of diameter 1 in rows, each above the gap of two below; neighbours of a row apart."""
    rise = math.sqrt(1.0 - 0.25 * spacing**2)
    return np.array(
        [[(k + 0.5 * row) * spacing, row * rise] for row in range(rows) for k in range(rows - row)]
    )


def test_frictionless_pyramid_has_the_forces_of_statics():
    """Two contacts under each disk, two equations for each: one dense linear solve."""
    x = pyramid(5, 1.1)
    base = 5
    sets = [grains(*x[:base], lock=["x", "y", "rotation"]), grains(*x[base:])]
    sim = start(2, sets, gravity=[0, -1])
    sim.step()
    pairs = [
        (i, j)
        for i in range(len(x))
        for j in range(i + 1, len(x))
        if np.linalg.norm(x[j] - x[i]) < 1.0 + 1e-9
    ]
    free = len(x) - base
    a = np.zeros((free, 2, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        n = x[j] - x[i]
        a[j - base, :, k] += n
        if i >= base:
            a[i - base, :, k] -= n
    load = np.zeros((free, 2))
    load[:, 1] = sim.model.mass[base:]
    assert len(pairs) == 2 * free
    expected = np.linalg.solve(a.reshape(2 * free, -1), load.ravel())
    assert expected.min() > 0.0
    c = sim.state.contacts
    bears = c.normal_impulse() / sim.dt
    found = {(int(i), int(j)): p for i, j, p in zip(c.first, c.second, bears) if p != 0.0}
    assert sorted(found) == pairs
    np.testing.assert_allclose([found[p] for p in pairs], expected, rtol=TIGHT)
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-12)


@pytest.mark.parametrize("angle", [30.0, 35.0])
def test_three_disks_stand_from_the_friction_of_half_their_angle(angle):
    """A disk between two contacts can only be pushed along the line that joins them.

    The lower disks touch the floor and the upper disk, so both forces lie at half the angle
    between the two normals: µ ≥ tan(angle/2), and the pile falls apart below.
    """
    s, c = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    points = [-s, 0.5], [s, 0.5], [0.0, 0.5 + c]
    for share, stands in ((1 - 1e-3, False), (1 + 1e-3, True)):
        mu = share * math.tan(0.5 * math.radians(angle))
        sim = start(2, grains(*points), gravity=[0, -1], walls=[floor(2)], law={"friction": mu})
        steps(sim, 20)
        assert (sim.kinetic < 1e-20) == stands


@pytest.mark.parametrize("start_from", ["previous", "zero"])
def test_pyramid_with_friction_balances_every_disk(start_from):
    """Many force networks are admissible; each balances every disk and stays within Coulomb."""
    x, base = pyramid(5, 1.0), 5
    solver = EXACT.model_copy(update={"start": start_from, "tolerance": 1e-11})
    sets = [grains(*x[:base], lock=["x", "y", "rotation"]), grains(*x[base:])]
    sim = start(2, sets, gravity=[0, -1], law={"friction": 0.5}, solver=solver)
    steps(sim, 20)
    c, n = sim.state.contacts, sim.model.n
    on, turning = np.zeros((n, 2)), np.zeros((n, 1))
    np.add.at(on, c.second, c.impulse / sim.dt)
    np.add.at(on, c.first, -c.impulse / sim.dt)
    np.add.at(turning, c.second, -0.5 * cross(c.normal, c.impulse) / sim.dt)
    np.add.at(turning, c.first, -0.5 * cross(c.normal, c.impulse) / sim.dt)
    w = sim.model.mass[0]
    np.testing.assert_allclose(on[base:], np.tile([0.0, w], (n - base, 1)), atol=1e-9)
    np.testing.assert_allclose(turning[base:], 0.0, atol=1e-9)
    p_n = c.normal_impulse()
    p_t = np.linalg.norm(c.impulse - p_n[:, None] * c.normal, axis=1)
    assert (p_n >= 0.0).all()
    assert (p_t <= 0.5 * p_n * (1 + 1e-9)).all()
    np.testing.assert_allclose(sim.state.position[:n], x, atol=1e-10)


@pytest.mark.parametrize("dim", DIMS)
def test_walls_of_a_settled_box_bear_the_weight(dim):
    """In every step the walls take what gravity gives and the grains do not keep, to rounding."""
    size = [4.0, 9.0] if dim == 2 else [2.5, 2.5, 9.0]
    sets = hg.Grains(
        count=24, diameter=hg.Uniform(min=0.7, max=1.1), place=hg.Loose(min=[0.0] * dim, max=size)
    )
    box = hg.Box(min=[0.0] * dim, max=size, open=["top"])
    sim = start(
        dim,
        sets,
        gravity=up(dim, -1.0),
        walls=[box],
        law={"friction": 0.3},
        dt=0.02,
        seed=3,
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-9, sweeps=5000),
    )
    n = sim.model.n
    mass = sim.model.mass[:n]
    for _ in range(800):
        before = mass @ sim.state.velocity[:n]
        sim.step()
        gained = mass @ sim.state.velocity[:n] - before
        total = sim.engine.wall_force.sum(axis=0)
        np.testing.assert_allclose(gained / sim.dt, weight(sim) - total, atol=1e-10)
    total = sim.engine.wall_force.sum(axis=0)
    # at rest: left over is what the grains still accelerate
    np.testing.assert_allclose(total, weight(sim), atol=1e-6 * mass.sum())
    force = dict(zip(sim.model.wall_names, sim.engine.wall_force))
    assert force["bottom"][-1] < -0.5 * mass.sum()
    assert force["left"][0] < 0.0 < force["right"][0]


# ---------------------------------------------------------------------- pistons
def test_unloaded_piston_falls_freely():
    box = hg.Box(min=[0, 0], max=[3, 5], pistons={"top": hg.Piston(mass=2.0, force="3 + t")})
    sim = start(2, grains([1.5, 0.5]), walls=[box], dt=0.01)
    steps(sim, 50)
    t = sim.state.time
    piston = sim.model.n + sim.model.wall_names.index("top")
    # the force is taken at the middle of each step: exact for a force linear in t
    np.testing.assert_allclose(
        sim.state.velocity[piston], [0.0, -(3 * t + 0.5 * t**2) / 2.0], rtol=1e-12
    )
    # implicit Euler: x = Σ v dt over the ends of the steps
    ends = 0.01 * np.arange(1, 51)
    fallen = 0.01 * np.sum((3 * ends + 0.5 * ends**2) / 2.0)
    assert sim.state.position[piston, 1] == pytest.approx(5.0 - fallen, rel=1e-12)


@pytest.mark.parametrize("dim", DIMS)
def test_piston_force_reaches_the_bottom(dim):
    """At rest the bottom bears the piston's force and the grains' weight, the sides balance."""
    size = [3.0, 6.0] if dim == 2 else [2.2, 2.2, 6.0]
    box = hg.Box(min=[0.0] * dim, max=size, pistons={"top": hg.Piston(mass=5.0, force=20.0)})
    sets = hg.Grains(
        count=12, diameter=hg.Uniform(min=0.8, max=1.0), place=hg.Loose(min=[0.0] * dim, max=size)
    )
    sim = start(
        dim,
        sets,
        gravity=up(dim, -1.0),
        walls=[box],
        dt=0.02,
        solver=hg.GaussSeidel(stop="residual", tolerance=1e-10, sweeps=20_000),
    )
    for k in range(1500):
        sim.step()
        if k > 50 and sim.kinetic < 1e-20:
            break
    force = dict(zip(sim.model.wall_names, sim.engine.wall_force))
    w = float(weight(sim)[-1])
    assert force["top"][-1] == pytest.approx(20.0, rel=1e-6)
    assert force["bottom"][-1] == pytest.approx(w - 20.0, rel=1e-6)
    for low, high in (("left", "right"), ("front", "back"))[: dim - 1]:
        np.testing.assert_allclose(force[low] + force[high], 0.0, atol=1e-5)


def test_pressure_acts_on_the_span_between_moving_walls():
    """Pressure × present width: the right wall recedes while the top is pressed down."""
    top = hg.Piston(mass=4.0, pressure=2.0, between=[("left", "right")])
    walls = [
        hg.Plane(name="left", point=[0, 0], normal=[1, 0]),
        hg.Plane(name="right", point=[3, 0], normal=[-1, 0], velocity=[0.5, 0.0]),
        hg.Plane(name="top", point=[0, 50], normal=[0, -1], piston=top),
    ]
    sim = start(2, grains([1.5, 0.5]), walls=walls, dt=0.01)
    steps(sim, 100)
    widths = 3.0 + 0.5 * 0.01 * np.arange(100)  # at the start of each step
    expected = -0.01 * np.sum(2.0 * widths) / 4.0
    assert sim.state.velocity[sim.model.n + 2, 1] == pytest.approx(expected, rel=1e-12)


def test_pressure_of_a_3d_piston_acts_on_the_area_of_two_spans():
    spans = [("left", "right"), ("front", "back")]
    top = hg.Piston(mass=4.0, pressure="1 + t", between=spans)
    box = hg.Box(min=[0, 0, 0], max=[2, 3, 9], pistons={"top": top})
    sim = start(3, grains([1, 1, 0.5]), walls=[box], dt=0.01)
    steps(sim, 20)
    t = sim.state.time
    top_body = sim.model.n + sim.model.wall_names.index("top")
    assert sim.state.velocity[top_body, 2] == pytest.approx(-6 * (t + t**2 / 2) / 4, rel=1e-12)


# ---------------------------------------------------------------------- drag
def row_of_blocks(dim: int, count: int, wall: hg.Plane, **keys) -> hg.Simulation:
    """Blocks in a row on a rough floor behind a smooth wall that faces +x."""
    points = [[0.5 + k] + [0.0] * (dim - 2) + [0.5] for k in range(count)]
    contacts = [
        hg.ContactLaw(friction=0.35),
        hg.ContactLaw(between=("grain", "smooth"), friction=0.0),
    ]
    materials = {"grain": hg.Material(), "smooth": hg.Material()}
    return start(
        dim,
        grains(*points, lock=["rotation"]),
        gravity=up(dim, -1.0),
        walls=[wall, floor(dim)],
        contacts=contacts,
        materials=materials,
        **keys,
    )


@pytest.mark.parametrize("dim", DIMS)
def test_wall_that_pushes_grains_feels_their_friction(dim):
    """Drag at constant speed: Σ µ m g."""
    face = {"point": [0.0] * dim, "normal": [1.0] + [0.0] * (dim - 1), "material": "smooth"}
    wall = hg.Plane(velocity=[0.2] + [0.0] * (dim - 1), **face)
    sim = row_of_blocks(dim, 4, wall)
    for _ in range(20):
        sim.step()
    w = sim.model.mass[:4].sum()
    assert sim.engine.wall_force[0, 0] == pytest.approx(-0.35 * w, rel=TIGHT)
    assert sim.engine.wall_force[1, -1] == pytest.approx(-w, rel=TIGHT)
    np.testing.assert_allclose(sim.state.velocity[:4, 0], 0.2, rtol=TIGHT)
    # what the wall does is what friction takes
    assert sim.report.work_driven == pytest.approx(0.35 * w * 0.2 * sim.dt, rel=1e-9)
    assert sim.report.dissipated == pytest.approx(sim.report.work_driven, rel=1e-9)


@pytest.mark.parametrize("dim", DIMS)
def test_piston_that_pushes_grains_against_friction(dim):
    """(M + Σ m) a = F − Σ µ m g, and no motion at all while F is less than the friction."""
    face = {"point": [0.0] * dim, "normal": [1.0] + [0.0] * (dim - 1), "material": "smooth"}
    sim = row_of_blocks(dim, 4, hg.Plane(piston=hg.Piston(mass=3.0, force=2.0), **face))
    w = sim.model.mass[:4].sum()
    steps(sim, 30)
    a = (2.0 - 0.35 * w) / (3.0 + w)
    np.testing.assert_allclose(sim.state.velocity[:5, 0], a * sim.state.time, rtol=TIGHT)
    held = hg.Plane(piston=hg.Piston(mass=3.0, force=0.34 * w), **face)
    sim = row_of_blocks(dim, 4, held)
    steps(sim, 30)
    np.testing.assert_allclose(sim.state.velocity, 0.0, atol=1e-12)
