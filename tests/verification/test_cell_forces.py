"""A packing at rest in a periodic cell under pressure: its forces, its slowest mode, its sag."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.core.cell import PLACES
from hardgrain.errors import InputError
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.space import ForceSpace
from hardgrain.measure.contact_network import contact_network
from hardgrain.measure.contact_springs import displaced, gathered, masses, roots, springs, stiffness
from hardgrain.scene.cell import Isotropic

PRESSURE, SIDE = 2.0, {2: 9.0, 3: 5.5}


@cache
def compressed(dim: int, friction: float) -> hg.Simulation:
    """Forty grains pressed together from all sides until they rest."""
    side = SIDE[dim]
    scene = hg.Scene(
        dimension=dim,
        contacts=[hg.ContactLaw(friction=friction)],
        periodic=dict.fromkeys("xyz"[:dim], (0.0, side)),  # type: ignore[misc]
        cell=Isotropic(pressure=PRESSURE),
        grains=[
            hg.Grains(
                count=40,
                diameter=hg.Uniform(min=0.8, max=1.2),
                place=hg.Loose(min=[0.0] * dim, max=[side] * dim),
            )
        ],
    )
    sim = hg.Simulation(scene, dt=0.02, solver=hg.RigidSolver(), seed=1)
    for _ in range(2000):
        sim.step()
    return sim


def stress(p: Packing, volume: float) -> Any:
    """Σ F ⊗ l / V of the forces found."""
    assert p.branch is not None
    return np.einsum("ka,kb->ab", p.force, p.branch) / volume


@pytest.mark.parametrize("dim", [2, 3])
def test_the_contacts_bear_the_stress_that_is_put_on_the_cell(dim: int) -> None:
    sim = compressed(dim, 0.3)
    p = packing(sim)
    assert p.residual < 1e-4
    found = stress(p, sim.model.cell_in(sim.state).volume)
    np.testing.assert_allclose(np.diag(found), PRESSURE, rtol=1e-4)
    # the tilts are held, and have no equations
    assert p.rows.size == p.of_bodies + dim
    assert not p.free[-1, dim:].any()


def test_without_friction_as_many_contacts_bear_a_force_as_there_are_equations() -> None:
    """Isostatic: two for each grain, less two translations, and two for the free periods."""
    p = packing(compressed(2, 0.0))
    p = p.chosen(p.components[:, 0] > 1e-6 * p.unit)
    assert p.contacts == 2 * p.grains - 2 + 2
    for balance in ("state", "loads"):
        space = ForceSpace(p, balance)  # type: ignore[arg-type]
        assert not space.empty
        bounds = space.bounds()
        known = 1e-2 * p.unit if balance == "loads" else 1e-6 * p.unit
        np.testing.assert_allclose(bounds.low[:, 0], p.components[:, 0], atol=known)
        np.testing.assert_allclose(bounds.high[:, 0], p.components[:, 0], atol=known)


def test_a_cell_that_is_held_leaves_one_more_force_open_for_each_period() -> None:
    p = packing(compressed(2, 0.0))
    p = p.chosen(p.components[:, 0] > 1e-6 * p.unit)
    free = p.free.copy()
    free[-1] = False
    space, held = ForceSpace(p), ForceSpace(replace(p, free=free))
    assert held.nullity == space.nullity + 2
    bounds = held.bounds()
    assert (bounds.high[:, 0] > 1.1 * p.components[:, 0]).mean() > 0.9


def test_forces_are_sampled_under_the_stress() -> None:
    p = packing(compressed(2, 0.3))
    space = ForceSpace(p)
    states = space.sample(20, seed=1).states.reshape(20, -1) / p.unit
    c, load = space.equations()
    assert np.abs(states - states[0]).max() > 0.1
    np.testing.assert_allclose(c @ states.T, np.repeat(load[:, None], 20, axis=1), atol=1e-6)
    with pytest.raises(InputError, match="hit-and-run"):
        space.sample(2, method="perturb")


def dense_network(sim: hg.Simulation) -> tuple[Any, Any, Any, Any]:
    """K and the load over all x whose masses are 1; A of u = A x; and the shape of x."""
    model, c = sim.model, sim.state.contacts
    points = c.chosen(c.normal_impulse() != 0.0)
    w = masses(points.rows, model.inv_mass, model.inv_inertia)
    spring = springs(points.rows, w, np.ones(len(points)))
    root = roots(model.inv_mass, model.inv_inertia)
    line = points.arm_first - points.arm_second + points.gap[:, None] * points.normal
    force = points.impulse / sim.dt
    load = np.zeros((model.bodies, 3))
    for k in range(len(points)):
        for body, arm, sign in (
            (points.first[k], points.arm_first[k], -1.0),
            (points.second[k], points.arm_second[k], 1.0),
        ):
            load[body, :2] += sign * force[k]
            load[body, 2] += sign * (arm[0] * force[k, 1] - arm[1] * force[k, 0])
    dyad = force.T @ line
    load[-1] = [dyad[place] for place in PLACES[2]]
    unit = np.eye(load.size).reshape(-1, *load.shape)
    k = [gathered(root, stiffness(points.rows, spring, displaced(root, x), model.n)) for x in unit]
    return np.stack(k).reshape(load.size, -1), gathered(root, load).ravel(), root, load.shape


def test_the_slowest_mode_and_the_sag_are_those_of_dense_algebra() -> None:
    """Three rounds of inverse iteration; all that the load does is to press the cell together."""
    sim = compressed(2, 0.3)
    k, load, root, shape = dense_network(sim)
    np.testing.assert_allclose(k, k.T, atol=1e-12 * np.abs(k).max())
    found = contact_network(sim.model, sim.state, sim.dt)
    x = np.linalg.lstsq(k, load, rcond=1e-10)[0]
    u, n = displaced(root, x.reshape(shape)), sim.model.n
    cell, place = sim.model.cell_in(sim.state), sim.state.position[:n]
    place = place - (np.floor(cell.fractions(place)) + 0.5) @ cell.matrix.T
    moved = u[:n, :2] + u[-1, :2] * place  # its tilts are held
    assert found.sag == pytest.approx(np.linalg.norm(moved, axis=1).max(), rel=0.02)
    for _ in range(2):
        x = np.linalg.lstsq(k, x / np.linalg.norm(x), rcond=1e-10)[0]
    assert found.rate == pytest.approx(x @ k @ x / (x @ x), rel=0.02)
