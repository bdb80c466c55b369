"""Samples under stresses that walls or a membrane put on them: each is met, in every step.

A box whose sides are all pistons has m a = p A − F for each of them in every step, to rounding, so
that at rest each bears its pressure as far as the solver's residual goes. A closed membrane does
the same without walls: at rest the mean stress in the volume that it encloses is its pressure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure import stress_tensor
from hardgrain.measure.membrane import enclosed_stress, membrane_of
from hardgrain.measure.snapshot import snapshot

SWEEPS = hg.GaussSeidel(stop="residual", tolerance=1e-6, sweeps=20_000)
RIGID = hg.RigidSolver(tolerance=1e-8)
DT = 0.02
PRESSURE = {"x": 1.0, "y": 1.5, "z": 2.0}
# [1] Error of a load that counts as met: a hundred times the residual of sweeps. Grains that bear
# no force keep moving and hit the others now and then.
MET = 1e-4


def grid(dim: int, seed: int = 0) -> tuple[Any, Any, float]:
    """Grains of many sizes, close to each other on a grid: places, diameters, side of the block."""
    per = {2: 6, 3: 3}[dim]
    places = np.stack(np.meshgrid(*[np.arange(per) + 0.5] * dim), -1).reshape(-1, dim)
    diameter = np.random.default_rng(seed).uniform(0.8, 1.0, len(places))
    return places, diameter, float(per)


def grains(dim: int) -> list[hg.Grains]:
    places, diameter, _ = grid(dim)
    return [hg.Grains(diameter=d, place=hg.At(positions=[x])) for x, d in zip(places, diameter)]


def start(dim: int, solver: Any, friction: float = 0.3, **keys: Any) -> hg.Simulation:
    laws = [
        hg.ContactLaw(friction=friction),
        hg.ContactLaw(between=("grain", "wall"), friction=0.0),
    ]
    materials = {"grain": hg.Material(), "wall": hg.Material()}
    keys.setdefault("grains", grains(dim))
    scene = hg.Scene(dimension=dim, materials=materials, contacts=laws, **keys)
    return hg.Simulation(scene, dt=DT, solver=solver)


def box(dim: int, **keys: Any) -> hg.Box:
    side = grid(dim)[2]
    return hg.Box(min=[0.0] * dim, max=[side] * dim, material="wall", **keys)


def until_met(sim: hg.Simulation, error: Callable[[], float], limit: int = 4000) -> None:
    """Run until loads have been met for some time."""
    met = 0
    while met < 20:
        assert sim.state.step < limit, error()
        sim.step()
        met = met + 1 if error() < MET else 0


# ---------------------------------------------------------------------- boxes
@pytest.mark.parametrize(("dim", "solver"), [(2, SWEEPS), (2, RIGID), (3, SWEEPS), (3, RIGID)])
def test_sides_bear_their_pressures(dim, solver):
    names = "xyz"[:dim]
    sides = {a: hg.Faces(pressure=PRESSURE[a]) for a in names}
    sim = start(dim, solver, walls=[box(dim, **sides)])
    n, m = sim.model.n, sim.model.mass
    assert m[n:] == pytest.approx(m[:n].sum())  # unless given, as heavy as all grains
    pressure = np.array([PRESSURE[a] for a in names])

    def loads() -> Any:
        """Force on each side along its axis, (2 dim,)."""
        wall = sim.state.position[n:].reshape(dim, 2, dim)
        length = np.array([wall[k, 1, k] - wall[k, 0, k] for k in range(dim)])
        return np.outer(pressure * length.prod() / length, [1.0, -1.0]).ravel()

    def along(vectors: Any) -> Any:
        return vectors[np.arange(2 * dim), np.arange(2 * dim) // 2]

    for _ in range(60):  # they meet the grains, and push them together
        load, before = loads(), along(sim.state.velocity[n:]).copy()
        sim.step()
        gained = m[n:] * (along(sim.state.velocity[n:]) - before) / DT
        error = gained - load - along(sim.engine.wall_force)
        assert np.abs(error).max() < 1e-11 * np.abs(load).max()
    until_met(sim, lambda: float(np.abs(along(sim.engine.wall_force) / loads() + 1.0).max()))
    assert np.abs(m @ sim.state.velocity).max() < 1e-10
    np.testing.assert_allclose(np.diag(stress_tensor(sim)), pressure, rtol=10 * MET)


def test_sides_move_as_prescribed_and_one_may_stand():
    """The box shortens from both ends along x, and from the top alone along y."""
    sides = {
        "x": hg.Faces(velocity="-0.1 * (1 + t)"),
        "y": hg.Faces(pressure="0.5 + 0*t", mass=3.0, fixed="bottom"),
    }
    sim = start(2, RIGID, walls=[box(2, **sides)])
    n, names = sim.model.n, sim.model.wall_names
    assert names == ("left", "right", "bottom", "top")
    assert sim.model.mass[n + 3] == 3.0
    moved = sim.state.position[n:].copy()
    for _ in range(10):
        sim.step()
    moved = sim.state.position[n:] - moved
    t = 10 * DT
    way = 0.1 * (t + 0.5 * t**2)
    assert moved[0] == pytest.approx([way, 0.0], abs=1e-12)
    assert moved[1] == pytest.approx([-way, 0.0], abs=1e-12)
    assert not moved[2].any()
    assert moved[3, 1] < 0.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"x": {}}, "either pressure or velocity"),
        ({"x": {"pressure": 1, "velocity": 1}}, "either pressure or velocity"),
        ({"x": {"velocity": 1, "mass": 1}}, "mass goes with pressure"),
        ({"x": {"pressure": -1}}, "x.pressure is -1, which pulls"),
        ({"x": {"pressure": 1, "fixed": "top"}}, "x.fixed is 'top'; sides across it are left"),
        ({"x": {"pressure": 1}, "open": ["left"]}, "the side 'left' is open"),
        ({"x": {"pressure": 1}, "open": ["top"]}, "'top' is open"),
        ({"x": {"pressure": 1}, "pistons": {"left": {"force": 1}}}, "'left' has a piston"),
        ({"x": {"pressure": 1}, "velocity": [0, 1]}, "x and scene.walls.0..velocity"),
        ({"z": {"pressure": 1}}, "z is given in a scene of dimension 2"),
        ({"y": {"pressure": 1}}, "would fall for ever"),
    ],
)
def test_sides_that_make_no_sense_are_refused(given, said):
    with pytest.raises(hg.InputError, match=said):
        hg.Scene(
            gravity=[0, -1],
            grains=grains(2),
            walls=[{"kind": "box", "min": [0, 0], "max": [6, 6], **given}],
        ).build(0)


# ---------------------------------------------------------------------- membranes
@pytest.mark.parametrize("solver", [SWEEPS, RIGID])
def test_a_ring_under_a_membrane_bears_pressure_times_radius(solver):
    """The hoop force of N disks is p times the distance of their chords from the centre."""
    count, p = 12, 2.0
    rho = 0.5 / np.sin(np.pi / count)
    angle = 2.0 * np.pi * np.arange(count) / count
    ring = rho * np.stack([np.cos(angle), np.sin(angle)], 1)
    sim = start(
        2, solver, 0.0, grains=[hg.Grains(diameter=1.0, place=hg.At(positions=ring.tolist()))],
        membrane=hg.Membrane(pressure=f"{p} + 0*t"), allow_overlaps=True,
    )  # fmt: skip
    sim.step()
    assert snapshot(sim).normal_force == pytest.approx(p * rho * np.cos(np.pi / count), rel=MET)


@pytest.mark.parametrize(
    ("dim", "solver", "shape"),
    [(2, RIGID, None), (3, SWEEPS, None), (2, RIGID, hg.Polygon(sides=5))],
)
def test_a_closed_membrane_puts_its_pressure_on_a_sample(dim, solver, shape):
    sets = [one.changed(shape=shape) for one in grains(dim)] if shape else grains(dim)
    sim = start(dim, solver, grains=sets, membrane=hg.Membrane(pressure=2.0))

    def error() -> float:
        return float(np.abs(enclosed_stress(snapshot(sim)) / 2.0 - np.eye(dim)).max())

    until_met(sim, error)
    assert np.abs(sim.model.mass @ sim.state.velocity).max() < 1e-10
    summary = sim.run(sim.state.step + 1, progress=False)
    assert abs(summary.balance_error) < 1e-11
    assert summary.work_external > 0.0


def test_work_of_the_membrane_is_what_it_encloses_less():
    """Up to the length of a step: of first order, as the scheme is."""
    errors = []
    for dt in (0.01, 0.005):
        scene = hg.Scene(
            grains=grains(2), contacts=[hg.ContactLaw(friction=0.3)],
            membrane=hg.Membrane(pressure=2.0),
        )  # fmt: skip
        sim = hg.Simulation(scene, dt=dt, solver=RIGID)
        first, work = membrane_of(snapshot(sim)), 0.0
        before = {tuple(np.sort(row)) for row in first.facets}
        for _ in range(round(0.06 / dt)):
            work += sim.step().work_external
        last = membrane_of(snapshot(sim))
        assert before == {tuple(np.sort(row)) for row in last.facets}
        errors.append(abs(work + 2.0 * (last.volume - first.volume)) / work)
    # from rest, a step of implicit Euler goes by v dt with the mean velocity v/2
    assert errors == pytest.approx([0.01 / 0.06, 0.005 / 0.06], rel=0.1)


def test_a_biaxial_test_between_platens():
    """Platens compress a sample; what it bears across is the membrane's pressure.

    That holds in all of it, and in a band from platen to platen within. Grains keep moving, so that
    means over time are compared, with their errors.
    """
    wide = hg.Box(
        min=[0.0, 0.0], max=[6.0, 6.0], open=["left", "right"],
        y=hg.Faces(velocity="-0.05 * ramp(t, 2, 3)"), material="wall",
    )  # fmt: skip
    sim = start(2, RIGID, walls=[wide], membrane=hg.Membrane(pressure=10.0))
    found = []
    while sim.state.time < 13.99:
        sim.step()
        if sim.state.time > 4.01:
            snap = snapshot(sim)
            middle = float(np.median(snap.position[:, 0]))
            low, high = snap.walls.point[:, 1]
            band = stress_tensor(snap, region=[[middle - 1.0, low], [middle + 1.0, high]])
            whole = enclosed_stress(snap)
            found.append((whole[0, 0], band[0, 0], whole[1, 1]))
    pieces = np.array(found).reshape(10, -1, 3).mean(axis=1) / 10.0
    across, error = pieces.mean(axis=0), pieces.std(axis=0) / 3.0
    assert (np.abs(across - 1.0)[:2] < 4.0 * error[:2] + 0.02).all()
    assert across[2] > 1.05  # friction bears a deviator


def test_soft_particles_carry_it():
    """At rest, springs bear what the membrane puts on the sample."""
    engine = hg.SoftParticles(stiffness=2e3, restitution=0.2, substeps=10)
    scene = hg.Scene(
        grains=grains(2), contacts=[hg.ContactLaw(friction=0.3)],
        membrane=hg.Membrane(pressure=2.0),
    )  # fmt: skip
    sim = hg.Simulation(hg.Scenario(dt=DT, scene=scene, engine=engine))
    summary = sim.run(800, progress=False)
    sigma = enclosed_stress(snapshot(sim))
    np.testing.assert_allclose(sigma, 2.0 * np.eye(2), atol=0.02)
    assert abs(summary.balance_error) < 1e-2 * summary.work_external


# ---------------------------------------------------------------------- not carried
def test_what_does_not_carry_a_membrane_says_so():
    from hardgrain.step.device_dynamics import refuse_on_device
    from hardgrain.step.shared_refusals import refuse_shared

    tiles = hg.GaussSeidel(order="tiles")
    sim = start(2, tiles, membrane=hg.Membrane(pressure=1.0))
    for refuse in (refuse_on_device, refuse_shared):
        with pytest.raises(hg.InputError, match=r"scene\.membrane"):
            refuse(sim.model, tiles, hg.RigidGrains())
