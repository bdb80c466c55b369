"""Walls that move along one axis and are pushed along another, glue, and locks, in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg

from .helpers import EXACT, grains, start, steps

RIGID = hg.RigidSolver(tolerance=1e-10, on_cap="error")
SWEEPS = hg.GaussSeidel(sweeps=200)  # momentum and energy are those of any impulses


def ledger_error(sim: hg.Simulation) -> float:
    """What the energy ledger leaves unexplained, as a share of what passed through it."""
    t = sim.totals
    change = sim.kinetic - t.kinetic_start
    passed = abs(t.work_external) + abs(t.work_driven) + t.dissipated + sim.kinetic
    return abs(change - t.work_external - t.work_driven + t.dissipated) / passed


# ---------------------------------------------------------------------- a lid that shears
def sheared(solver: hg.GaussSeidel | hg.RigidSolver, rough: bool) -> hg.Simulation:
    """Disks under a lid of pressure 2 and length 6 that moves along x from t = 1 on."""
    bumps = [[0.5 + k, 5.0] for k in range(6)]
    glued = [grains(*bumps, glued_to="lid")] if rough else []
    scene = hg.Scene(
        periodic={"x": (0.0, 6.0)},
        contacts=[hg.ContactLaw(friction=0.4)],
        grains=[
            *glued,
            hg.Grains(
                count=18,
                diameter=hg.Bidisperse(small=0.8, large=1.0),
                place=hg.Grid(min=[0.0, 0.0], max=[6.0, 4.5]),
            ),
        ],
        walls=[
            hg.Plane(name="floor", point=[0, 0], normal=[0, 1]),
            hg.Plane(
                name="lid",
                point=[0, 5],
                normal=[0, -1],
                velocity=["0.3*step(t - 1)", "free"],
                piston=hg.Piston(mass=5.0, pressure=2.0, area=6.0),
            ),
        ],
    )
    return hg.Simulation(scene, dt=0.01, solver=solver)


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("solver", [SWEEPS, RIGID], ids=["sweeps", "rigid"])
def test_a_lid_under_pressure_shears(solver: hg.GaussSeidel | hg.RigidSolver, rough: bool) -> None:
    sim = sheared(solver, rough)
    lid, dt = sim.model.bodies - 1, sim.dt
    mass = 5.0 + (6 * math.pi / 4 if rough else 0.0)
    assert sim.model.mass[lid] == pytest.approx(mass, rel=1e-15)
    steps(sim, 200)
    pushed, dragged, speed = 0.0, 0.0, sim.state.velocity[lid, 1]
    for _ in range(300):
        sim.step()
        pushed += dt * sim.engine.wall_force[-1, 1]
        dragged += dt * sim.engine.wall_force[-1, 0]
    # it moves as prescribed, from step 100 on
    assert sim.state.velocity[lid, 0] == 0.3
    assert sim.state.position[lid, 0] == pytest.approx(0.3 * dt * 400, rel=1e-12)
    # and its normal stress is the pressure: momentum to rounding, the mean up to its own swing
    gained = mass * (sim.state.velocity[lid, 1] - speed)
    assert gained == pytest.approx(pushed - 3.0 * 12.0, abs=1e-10 * 36.0)
    assert pushed / (3.0 * 6.0) == pytest.approx(2.0, abs=abs(gained) / 18.0 + 1e-9)
    assert dragged < 0.0
    assert ledger_error(sim) < 1e-10
    if rough:  # what is glued has moved with the lid
        arm = sim.state.position[:6] - sim.state.position[lid]
        np.testing.assert_allclose(arm, [[0.5 + k, 0.0] for k in range(6)], atol=1e-12)
        assert (sim.state.velocity[:6] == sim.state.velocity[lid]).all()


# ---------------------------------------------------------------------- one body
@pytest.mark.parametrize("glued_first", [True, False])
@pytest.mark.parametrize("solver", [EXACT, RIGID], ids=["sweeps", "rigid"])
def test_a_glued_grain_is_hit_as_a_heavier_one(
    solver: hg.GaussSeidel | hg.RigidSolver, glued_first: bool
) -> None:
    """A plate with a bump takes an oblique hit like a disk of the mass of both that cannot turn."""
    hit = grains([1.5, 1.0], velocity=[-3.0, -1.0], spin=2.0)
    bump = grains([0.4, 0.4], glued_to="plate")
    plate = hg.Segment(
        name="plate", start=[-9, 0.4], end=[-8, 0.4], velocity=["free", "free"], mass=3.0
    )
    law = {"friction": 0.5, "restitution": 0.3}
    sets = [bump, hit] if glued_first else [hit, bump]
    sim = start(2, sets, walls=[plate], law=law, solver=solver)
    density = 1.0 + 3.0 / (math.pi / 4)
    twin = start(
        2,
        [grains([0.4, 0.4], material="heavy", lock=["rotation"]), hit],
        materials={"grain": hg.Material(), "heavy": hg.Material(density=density)},
        law=law,
        solver=solver,
    )
    steps(sim, 20)
    steps(twin, 20)
    assert np.abs(twin.state.velocity[0]).min() > 0.1  # it was hit
    mine = 1 if glued_first else 0
    np.testing.assert_allclose(sim.state.velocity[mine], twin.state.velocity[1], atol=1e-9)
    np.testing.assert_allclose(sim.state.spin[mine], twin.state.spin[1], atol=1e-9)
    for body in (1 - mine, 2):  # the bump and the plate
        np.testing.assert_allclose(sim.state.velocity[body], twin.state.velocity[0], atol=1e-9)
    np.testing.assert_allclose(sim.engine.wall_force, 0.0, atol=1e-12)
    assert ledger_error(sim) < 1e-10


def test_walls_glued_to_one_another_are_one_body() -> None:
    """A cup of three segments, pushed by its bottom, carries a disk along."""
    scene = {
        "walls": [
            hg.Segment(
                name="bottom", start=[0, 0], end=[3, 0], velocity=["free", 0], mass=2.0,
                force=[1.5, 0],
            ),
            hg.Segment(name="back", start=[0, 0], end=[0, 2], glued_to="bottom"),
            hg.Segment(name="front", start=[3, 0], end=[3, 2], glued_to="bottom"),
        ]
    }  # fmt: skip
    sim = start(2, grains([0.5, 1.0]), solver=EXACT, **scene)
    steps(sim, 100)
    together = 1.5 / (2.0 + math.pi / 4)  # acceleration
    np.testing.assert_allclose(sim.state.velocity[:, 0], together, rtol=1e-9)
    np.testing.assert_allclose(np.ptp(sim.state.position[1:, 0]), 3.0, rtol=1e-12)
    force = sim.engine.wall_force  # of the disk on the body, told of the wall that carries
    np.testing.assert_allclose(force[:, 0], [-math.pi / 4 * together, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("dim", [2, 3])
def test_what_is_glued_to_a_drum_turns_with_it(dim: int) -> None:
    """For a whole turn, to rounding; and lifts a grain that lies before it."""
    ring = [[3.0 * math.cos(a), 3.0 * math.sin(a)] for a in np.arange(6) * math.pi / 3]
    fill = [] if dim == 2 else [0.0]
    bumps = [[x, *fill, y] for x, y in ring]
    turns = {"spin": 0.5} if dim == 2 else {"axis": [0, 1, 0], "spin": -0.5}
    sim = start(
        dim,
        [grains(*bumps, diameter=0.6, glued_to="drum"), grains([0.0, *fill, -2.7], diameter=0.6)],
        walls=[hg.Drum(center=[0.0] * dim, radius=3.0, **turns)],
        gravity=[0.0, *fill, -1.0],
        law={"friction": 0.3},
        dt=0.01,
        solver=hg.GaussSeidel(sweeps=200),
    )
    steps(sim, 157)
    turned = 0.5 * 1.57
    c, s = math.cos(turned), math.sin(turned)
    for k, (x, y) in enumerate(ring):
        where = sim.state.position[k][[0, -1]]
        np.testing.assert_allclose(where, [c * x - s * y, s * x + c * y], atol=1e-12)
    assert abs(sim.state.position[-2 if dim == 2 else 6][0]) < 3.0
    high = sim.state.position[6, -1]
    steps(sim, 300)
    assert sim.state.position[6, -1] > high  # a bump has come and lifted it
    assert ledger_error(sim) < 1e-10


def test_contacts_that_are_glued_dissipate_what_the_ledger_says() -> None:
    from hardgrain.measure.losses import dissipation
    from hardgrain.measure.wall_energy import wall_loads

    sim = sheared(SWEEPS, rough=True)
    for _ in range(250):
        report = sim.step()
    assert report.dissipated > 0.0
    assert dissipation(sim).total.sum() == pytest.approx(report.dissipated, rel=1e-6)
    np.testing.assert_allclose(wall_loads(sim)[0], sim.engine.wall_force, atol=1e-9)


# ---------------------------------------------------------------------- locks
def test_a_lock_lets_go_and_holds() -> None:
    """Held for one second, free for the next, then held again: the fall of the second between."""
    sim = start(
        2,
        grains([0.0, 9.0], lock={"y": "step(1 - t) + step(t - 2)", "rotation": "1"}),
        gravity=[0.0, -1.0],
        dt=0.01,
    )
    steps(sim, 100)
    assert sim.state.position[0, 1] == 9.0
    steps(sim, 100)
    speed = -sim.state.velocity[0, 1]
    assert speed == pytest.approx(1.0, rel=1e-12)
    low = sim.state.position[0, 1]
    assert low == pytest.approx(9.0 - 0.5 * (1.0 + sim.dt), rel=1e-12)  # implicit Euler
    report = sim.step()
    assert sim.state.position[0, 1] == low
    assert report.dissipated == pytest.approx(0.5 * math.pi / 4 * speed**2, rel=1e-12)
    assert ledger_error(sim) < 1e-12


@pytest.mark.parametrize("soft", [False, True])
def test_a_locked_lid_bears_what_it_is_given(soft: bool) -> None:
    """A piston held for half a second: nothing moves, then it falls with force over mass."""
    lid = hg.Plane(
        name="lid", point=[0, 5], normal=[0, -1], piston=hg.Piston(mass=2.0, force=4.0),
        lock={"y": "0.5 - t"},
    )  # fmt: skip
    keys = {"engine": hg.SoftParticles(stiffness=1e3, substeps=10)} if soft else {}
    scene = hg.Scene(grains=[grains([0.0, 1.0])], walls=[lid])
    sim = hg.Simulation(scene, dt=0.01, **keys)
    steps(sim, 50)
    assert sim.state.position[1, 1] == 5.0
    steps(sim, 50)
    assert sim.state.velocity[1, 1] == pytest.approx(-4.0 / 2.0 * 0.5, rel=1e-12)


# ---------------------------------------------------------------------- a box that shakes
def test_a_box_shakes_with_its_piston_free() -> None:
    shake = hg.Box(
        min=[0, 0], max=[2, 4], velocity=["0.2*sin(5*t)", "0.5"],
        pistons={"top": hg.Piston(mass=1.0, force=0.5)},
    )  # fmt: skip
    sim = start(2, grains([1.0, 0.5]), walls=[shake])
    steps(sim, 10)
    names = sim.model.wall_names
    v = dict(zip(names, sim.state.velocity[1:]))
    side = 0.2 * math.sin(5 * 0.095)
    for name in ("left", "right", "bottom"):
        np.testing.assert_allclose(v[name], [side, 0.5], rtol=1e-12)
    np.testing.assert_allclose(v["top"], [side, -0.5 * 0.1], rtol=1e-12)
    assert sim.state.velocity[0, 1] == pytest.approx(0.5)  # lifted by the floor
