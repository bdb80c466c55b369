"""The scenarios in examples/ begin as they say, and their first part is converged and rigid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hardgrain as hg

FOLDER = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.rounding


def begun(name: str, steps: int) -> hg.Simulation:
    """The first steps of a scenario, each solved as it asks, and not soft."""
    sim = hg.Simulation(hg.load(FOLDER / f"{name}.toml"))
    summary = sim.run(until=steps, progress=False)
    assert (summary.capped, summary.loose) == (0, 0)
    assert summary.rigidity is not None
    assert summary.rigidity.rigid
    assert abs(summary.balance_error) < 1e-10 * summary.dissipated
    return sim


def test_direct_shear() -> None:
    """The lid has come down and moves along; it presses with its pressure and is held back."""
    sim = begun("direct_shear", 220)
    walls = dict(zip(sim.model.wall_names, range(sim.model.n, sim.model.bodies)))
    state, lid = sim.state, walls["lid"]
    for name in ("left-above", "right-above", "flange-above", "lid"):
        assert state.velocity[walls[name], 0] == 0.2
    glued = np.flatnonzero(sim.model.carrier[: sim.model.n] == lid)
    assert glued.size == 12
    assert (state.velocity[glued] == state.velocity[lid]).all()
    force, speed = [], state.velocity[lid, 1]
    for _ in range(30):
        sim.step()
        force.append(sim.engine.wall_force.copy())
    on_wall = dict(zip(sim.model.wall_names, np.mean(force, axis=0)))
    push = on_wall["lid"]
    # momentum: what the grains give is the pressure times the length but for what the lid keeps
    kept = sim.model.mass[lid] * (sim.state.velocity[lid, 1] - speed) / (30 * sim.dt)
    assert push[1] == pytest.approx(12.0 + kept, rel=1e-9)
    # the upper half as a whole is held back; the walls glued to its left one count to that one
    assert push[0] + on_wall["left-above"][0] < 0.0
    assert not on_wall["right-above"].any()


def test_drum_three_sizes() -> None:
    sim = begun("drum_three_sizes", 40)
    radius, x = sim.model.radius, sim.state.position[: sim.model.n]
    assert [np.count_nonzero(sim.model.group == k) for k in range(3)] == [12, 60, 160]
    assert (np.hypot(x[:, 0], x[:, 2]) + radius < 5.0 + 1e-3).all()
    assert (np.abs(x[:, 1]) + radius < 2.5 + 1e-3).all()


def test_vibrated_bed() -> None:
    sim = begun("vibrated_bed", 200)
    bottom = sim.model.n + sim.model.wall_names.index("bottom")
    middle = 0.75 * (1.0 - np.cos(2.0 * sim.state.time))  # the amplitude is 0.75
    # velocities are those at the middle of each step: their sum is the integral to second order
    assert sim.state.position[bottom, 1] == pytest.approx(middle, abs=sim.dt**2)
    assert sim.totals.work_driven != 0.0


def test_soft_disks() -> None:
    """The piston has come down to elastic disks, and what it gave is in them or lost."""
    sim = hg.Simulation(hg.load(FOLDER / "soft_disks.toml"))
    summary = sim.run(until=250, progress=False)
    assert sim.model.elastic is not None
    assert np.count_nonzero(sim.model.elastic.form >= 0) == 12
    assert (sim.model.elastic.form[sim.model.group == 1] < 0).all()
    assert summary.strain is not None
    assert summary.strain > 0.0
    # sums of some hundred steps, relative to the work done
    assert abs(summary.balance_error) < 1e-10 * summary.work_external
