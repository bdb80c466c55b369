"""Pushes passed on through several grains within a step: none runs into a grain further on."""

from __future__ import annotations

import numpy as np
import pytest

import hardgrain as hg

from .helpers import grains, start, up

pytestmark = pytest.mark.rounding

SOLVER = hg.GaussSeidel(sweeps=10_000)  # to rounding, also between unequal masses


def overlap(sim: hg.Simulation) -> float:
    """Largest overlap of any two grains, candidates or not [length]."""
    n, r = sim.model.n, sim.model.radius
    x = sim.state.position[:n]
    away = np.linalg.norm(x[:, None] - x, axis=2) - r[:, None] - r
    return float(-away[np.triu_indices(n, 1)].min())


@pytest.mark.parametrize("travel", [0.05, 0.1, 0.4])
def test_moving_wall_pushes_touching_grains_onto_one_at_a_gap(travel):
    """The wall moves by ``travel`` a step; all that it has reached move as it does."""
    wall = hg.Plane(point=[0, 0], normal=[1, 0], velocity=[travel, 0])
    sets = grains(*([k + 0.5, 0] for k in range(4)), [4.52, 0], lock=["y", "rotation"])
    sim = start(2, sets, dt=1.0, solver=SOLVER, walls=[wall])
    for _ in range(5):
        sim.step()
        assert overlap(sim) < 1e-13
        wall_at = sim.state.position[-1, 0]
        assert sim.state.position[0, 0] - 0.5 - wall_at > -1e-13
    np.testing.assert_allclose(sim.state.velocity[:, 0], travel, rtol=1e-10)


@pytest.mark.parametrize(("gap", "travel"), [(0.012, 0.2), (0.02, 0.4), (0.1, 0.4)])
def test_moving_wall_closes_many_gaps_in_one_step(gap, travel):
    """Fifteen grains in a row: up to a dozen gaps close one after another within a step."""
    wall = hg.Plane(point=[0, 0], normal=[1, 0], velocity=[travel, 0])
    sets = grains(*([0.5 + k * (1 + gap), 0] for k in range(15)), lock=["y", "rotation"])
    sim = start(2, sets, dt=1.0, solver=SOLVER, walls=[wall])
    for _ in range(4):
        sim.step()
        assert overlap(sim) < 1e-12


@pytest.mark.parametrize("travel", [0.2, 0.4, 1.0])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_fast_grain_hits_a_chain_with_one_more_at_a_gap(travel, e):
    sets = [
        grains([-1.2, 0], velocity=[travel, 0]),
        grains(*([k, 0] for k in range(4)), [4.1, 0]),
    ]
    sim = start(2, sets, dt=1.0, solver=SOLVER, law={"restitution": e})
    for _ in range(6):
        sim.step()
        assert overlap(sim) < 1e-13
    assert sim.state.velocity[4, 0] > 0.0
    assert sim.state.velocity[:, 0].sum() == pytest.approx(travel, rel=1e-12)


@pytest.mark.parametrize("ratio", [3.0, 100.0])
def test_heavy_elastic_grain_throws_a_light_one_at_a_wall(ratio):
    """The light one leaves at up to twice the speed that any grain had, and does not pass."""
    v = 0.1
    scene = hg.Scene(
        materials={"light": hg.Material(), "heavy": hg.Material(density=ratio)},
        contacts=[hg.ContactLaw(friction=0.0, restitution=1.0)],
        grains=[
            grains([0, 0], material="heavy", velocity=[v, 0]),
            grains([1, 0], material="light"),
        ],
        walls=[hg.Plane(point=[1.5 + 1.5 * v, 0], normal=[-1, 0])],
    )
    sim = hg.Simulation(scene, dt=1.0, solver=SOLVER)
    fastest = 0.0
    for _ in range(6):
        report = sim.step()
        fastest = max(fastest, report.fastest)
        assert overlap(sim) < 1e-13
        assert sim.state.position[1, 0] + 0.5 < 1.5 + 1.5 * v + 1e-13
        assert report.created < 1e-13
    assert fastest > 1.4 * v


@pytest.mark.parametrize("dim", [2, 3])
def test_cohesion_draws_a_grain_across_a_gap(dim):
    """A grain at rest below a ceiling, within the range of cohesion, which is twice its weight.

    It rises with g: after k steps by g dt² k (k + 1)/2, to rounding; then it hangs at the ceiling.
    """
    gap, dt, mass = 0.05, 0.01, np.pi / (4 if dim == 2 else 6)
    ceiling = hg.Plane(point=up(dim, 0.5 + gap), normal=up(dim, -1.0))
    law = {"cohesion": 2.0 * mass, "cohesion_range": 0.1}
    sim = start(dim, grains([0.0] * dim), dt=dt, gravity=up(dim, -1.0), walls=[ceiling], law=law)
    for k in range(1, 21):
        sim.step()
        assert sim.state.position[0, -1] == pytest.approx(dt**2 * k * (k + 1) / 2, abs=1e-13)
    for _ in range(30):
        sim.step()
    assert sim.state.position[0, -1] == pytest.approx(gap, abs=1e-13)
    np.testing.assert_allclose(sim.state.velocity[0], 0.0, atol=1e-13)
