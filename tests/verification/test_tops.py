"""Grains with three different moments of inertia, through the whole engine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.errors import InputError
from hardgrain.measure.contact_springs import (
    displaced,
    gathered,
    masses,
    roots,
    springs,
    stiffness,
)
from hardgrain.measure.energy import angular_momentum, rotational_energy
from hardgrain.measure.losses import dissipation
from hardgrain.step.loads import turned

MOMENTS = [0.2, 0.4, 0.5]  # over m r²


def top(**more: Any) -> hg.Grains:
    """One grain at the origin."""
    at = hg.At(positions=[[0.0, 0.0, 0.0]])
    return hg.Grains(**{"place": at, "inertia": MOMENTS, "orientation": [0.3, -1.0, 0.5]} | more)


def run(grains: list[hg.Grains], dt: float, **more: Any) -> hg.Simulation:
    solver = more.pop("solver", hg.GaussSeidel(sweeps=2000, stop="residual", tolerance=1e-12))
    scene = hg.Scene(dimension=3, grains=grains, **more)
    return hg.Simulation(scene, dt=dt, solver=solver)


def packing(**more: Any) -> hg.Simulation:
    """Tops that fall into a box, turned at random."""
    inside = hg.Deposit(min=[0.0, 0.0, 0.0], max=[3.0, 3.0, 6.0])
    grains = hg.Grains(
        count=20, diameter=1.0, place=inside, inertia=MOMENTS, orientation="random",
        spin=[1.0, 2.0, -1.0], speed=0.5,
    )  # fmt: skip
    box = hg.Box(min=[0.0, 0.0, 0.0], max=[3.0, 3.0, 8.0])
    return run([grains], 0.01, walls=[box], gravity=[0.0, 0.0, -1.0], **more)


def tensor(sim: hg.Simulation, body: int = 0) -> Any:
    """Inertia tensor of a grain in space, by SciPy."""
    r = Rotation.from_quat(sim.state.orientation[body]).as_matrix()
    return r @ np.diag(sim.model.moments[body]) @ r.T


def test_a_free_top_keeps_energy_and_angular_momentum() -> None:
    """A thousand turns about its fastest axis, at a hundredth turn a step."""
    sim = run([top(spin=[3.0, 1.0, 2.0])], dt=1.0)  # a spin far from any of its axes
    fastest = np.linalg.norm(tensor(sim) @ [3.0, 1.0, 2.0]) / sim.model.moments[0].min()
    sim = run([top(spin=[3.0, 1.0, 2.0])], dt=2.0 * math.pi / fastest / 100.0)
    energy, momentum = rotational_energy(sim), angular_momentum(sim)
    way = []
    for k in range(10):
        sim.run(10_000 * (k + 1), progress=False)
        assert rotational_energy(sim) == pytest.approx(energy, rel=1e-10)
        np.testing.assert_allclose(angular_momentum(sim), momentum, rtol=0.0, atol=1e-10)
        way.append(sim.state.spin[0].copy())
    assert np.ptp(way, axis=0).min() > 0.1  # it tumbles


def test_a_torque_turns_it_as_it_should() -> None:
    """L grows by τ t whatever the top does meanwhile; the work of τ is its energy's growth."""
    torque = np.array([0.02, -0.01, 0.03])
    sim = run([top(spin=[1.0, 0.5, 0.0], torque=[str(t) for t in torque])], dt=0.01)
    before, energy = angular_momentum(sim), rotational_energy(sim)
    sim.run(500, progress=False)
    np.testing.assert_allclose(angular_momentum(sim) - before, 5.0 * torque, atol=1e-12)
    assert rotational_energy(sim) - energy == pytest.approx(sim.totals.work_external, rel=1e-10)


def test_one_contact_against_its_closed_form() -> None:
    """A top that hits a floor and sticks there: W P = −V with W = 1/m + (l ×)ᵀ I⁻¹ (l ×)."""
    floor = hg.Plane(point=[0.0, 0.0, -0.5], normal=[0.0, 0.0, 1.0])
    law = hg.ContactLaw(friction=100.0)
    grains = top(spin=[1.0, 2.0, 0.5], velocity=[0.3, -0.2, -1.0])
    sim = run([grains], 1e-3, walls=[floor], contacts=[law])
    arm, mass, inertia = np.array([0.0, 0.0, -0.5]), sim.model.mass[0], tensor(sim)
    v, w = sim.state.velocity[0].copy(), sim.state.spin[0].copy()
    lever = np.cross(arm, np.eye(3)).T
    mobility = np.eye(3) / mass + lever.T @ np.linalg.solve(inertia, lever)
    impulse = np.linalg.solve(mobility, -(v + np.cross(w, arm)))
    after = w + np.linalg.solve(inertia, np.cross(arm, impulse))
    for solver in (sim.scenario.solver, hg.RigidSolver(tolerance=1e-12)):
        again = run([grains], 1e-3, walls=[floor], contacts=[law], solver=solver)
        again.step()
        np.testing.assert_allclose(again.state.velocity[0], v + impulse / mass, atol=1e-10)
        # its spin has since changed by its free rotation, which keeps I ω
        np.testing.assert_allclose(
            tensor(again) @ again.state.spin[0], inertia @ after, atol=1e-10 * mass
        )


def test_two_tops_collide() -> None:
    """Angular momentum stays; the energy lost is what the ledger says.

    They touch before the step: across a gap that it closes, friction would act on the two at
    different points.
    """
    pair = hg.At(positions=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    grains = top(place=pair, orientation="random", spin=[2.0, -1.0, 1.0], count=2)
    sim = run([grains], 0.01, contacts=[hg.ContactLaw(friction=0.4, restitution=0.5)])
    state = sim.state.copy()
    state.velocity[0] = [1.0, 0.2, 0.3]
    sim.state = state
    momentum, kinetic = angular_momentum(sim), sim.kinetic
    sim.run(10, progress=False)
    assert sim.totals.dissipated > 0.01 * kinetic
    np.testing.assert_allclose(angular_momentum(sim), momentum, atol=1e-12)
    assert sim.kinetic == pytest.approx(kinetic - sim.totals.dissipated, rel=1e-12)


@pytest.mark.parametrize("solver", ["sweeps", "rigid"])
def test_the_ledger_of_a_packing(solver: str) -> None:
    """Kinetic energy changes by what the ledger has, and losses of contacts add up to it."""
    kind = hg.GaussSeidel(sweeps=20) if solver == "sweeps" else hg.RigidSolver()
    sim = packing(solver=kind)
    assert not sim.model.lean
    loaded = 0
    for _ in range(120):
        before = sim.kinetic
        report = sim.step()
        gained = report.work_external + report.work_driven - report.dissipated
        assert sim.kinetic == pytest.approx(before + gained, rel=1e-9, abs=1e-12)
        assert sum(dissipation(sim).kinds.values()) == pytest.approx(report.dissipated, abs=1e-10)
        loaded += report.loaded
    assert loaded > 200


def test_sweeps_and_matrices_agree() -> None:
    """Velocities after a converged step do not depend on who solved it."""
    swept, exact = packing(), packing(solver=hg.RigidSolver(tolerance=1e-12))
    swept.run(60, progress=False)
    exact.state = swept.state.copy()
    swept.step()
    exact.step()
    np.testing.assert_allclose(exact.state.velocity, swept.state.velocity, atol=1e-7)
    np.testing.assert_allclose(exact.state.spin, swept.state.spin, atol=1e-7)


def test_modes_of_the_network() -> None:
    """Coordinates of mass one have the eigenvalues of M⁻¹K."""
    sim = packing()
    sim.run(150, progress=False)
    model, points = turned(sim.model, sim.state.orientation), sim.state.contacts
    rows = points.rows
    w = masses(rows, model.inv_mass, model.inv_inertia)
    spring = springs(rows, w, np.ones(len(points)))
    root, size = roots(model.inv_mass, model.inv_inertia), 6 * model.bodies
    unit = np.eye(size).reshape(size, -1, 6)
    k = np.stack([stiffness(rows, spring, u, 0).ravel() for u in unit])
    ours = np.stack(
        [gathered(root, stiffness(rows, spring, displaced(root, u), 0)).ravel()
         for u in unit]
    )  # fmt: skip
    mass = np.zeros((size, size))
    grains = 6 * model.n
    for i in range(model.n):
        at = 6 * i
        mass[at : at + 3, at : at + 3] = model.mass[i] * np.eye(3)
        mass[at + 3 : at + 6, at + 3 : at + 6] = tensor(sim, i)
    true = eigh(k[:grains, :grains], mass[:grains, :grains], eigvals_only=True)
    found = np.linalg.eigvalsh(ours[:grains, :grains])
    np.testing.assert_allclose(found, true, atol=1e-9 * true.max())


def test_a_run_of_tops_is_kept_and_resumed(tmp_path: Path) -> None:
    whole = packing()
    whole.run(60, output=tmp_path / "a.h5", every=20, progress=False)
    packing().run(40, output=tmp_path / "b.h5", every=20, progress=False)
    on, _ = hg.Simulation.resume(tmp_path / "b.h5", 60, progress=False)
    for name in ("position", "velocity", "spin", "orientation"):
        np.testing.assert_array_equal(getattr(on.state, name), getattr(whole.state, name))
    with hg.RunFile(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file.model["moments"], whole.model.moments)
        assert rotational_energy(file) == rotational_energy(whole)


def test_held_about_two_axes() -> None:
    """A top that turns about z only does so like a disk with the inertia about z."""
    sim = run([top(lock=["rx", "ry"], torque=["0", "0", "0.02"])], dt=0.01)
    about = tensor(sim)[2, 2]
    sim.run(200, progress=False)
    assert sim.state.spin[0] == pytest.approx([0.0, 0.0, 0.04 / about], rel=1e-12)
    assert tensor(sim)[2, 2] == pytest.approx(about, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"inertia": [0.4, 0.4]}, "takes one, or three"),
        ({"inertia": [0.1, 0.1, 0.5]}, "above the sum"),
        ({"inertia": [0.7, 0.7, 0.7]}, "at the surface"),
        ({"lock": ["rx"]}, "none, two or all"),
        ({"driven_spin": ["1", "0", "0"], "lock": []}, None),
        ({"lock": {"rx": "1"}}, "takes 'rotation'"),
        ({"orientation": [1.0, 0.0]}, "2 component"),
        ({"inertia": [0.4, -0.1, 0.4]}, "inertia"),
    ],
)
def test_what_is_refused(more: dict[str, Any], says: str | None) -> None:
    if says is None:
        run([top(**more)], 0.01)
        return
    with pytest.raises(InputError, match=says):
        run([top(**more)], 0.01)


def test_soft_particles_take_balls_only() -> None:
    scene = hg.Scene(dimension=3, grains=[top()])
    with pytest.raises(InputError, match="one number as inertia"):
        hg.Simulation(scene, dt=1e-3, engine=hg.SoftParticles(stiffness=100.0))
