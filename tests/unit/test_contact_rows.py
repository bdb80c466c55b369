"""What the narrow phase writes into a contact's row, against the geometry of the bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.contact.rows import complete
from hardgrain.core.model import contact_key


def settled(dim: int) -> hg.Simulation:
    """Grains of several sizes and two materials in a box that is periodic along x."""
    size = [6.0, 12.0] if dim == 2 else [5.0, 4.0, 8.0]
    sides: list[Any] = [
        hg.Plane(
            name="floor", point=[0.0] * dim, normal=[0.0] * (dim - 1) + [1.0], material="steel"
        )
    ]
    if dim == 3:
        sides += [hg.Plane(name=f"y{s}", point=[0, y, 0], normal=[0, n, 0])
                  for s, y, n in ((0, 0.0, 1.0), (1, 4.0, -1.0))]  # fmt: skip
    scene = hg.Scene(
        dimension=dim,
        gravity=[0.0] * (dim - 1) + [-1.0],
        periodic={"x": (0.0, size[0])},
        materials={"glass": hg.Material(), "steel": hg.Material()},
        contacts=[
            hg.ContactLaw(friction=0.2),
            hg.ContactLaw(between=("glass", "steel"), friction=0.7),
        ],
        grains=[
            hg.Grains(
                count=30,
                diameter=hg.Uniform(min=0.6, max=1.2),
                place=hg.Loose(min=[0.0] * dim, max=size),
                material="glass",
            )
        ],
        walls=sides,
    )  # fmt: skip
    sim = hg.Simulation(scene, dt=0.02, solver=hg.GaussSeidel(sweeps=20))
    for _ in range(300):
        sim.step()
    return sim


@pytest.mark.parametrize("dim", [2, 3])
def test_both_arms_lead_to_the_contact(dim: int) -> None:
    """Across the gap, and into the next cell where bodies touch through the periodic boundary."""
    sim = settled(dim)
    m, x = sim.model, sim.state.position
    detector = sim.engine.detector
    detector.shapes = detector.shapes._replace(margin=np.full(m.n, 0.05))
    c = detector.find(sim.state, sim.state.velocity)
    assert len(c) > 20
    grain = c.second < m.n
    assert grain.any()
    assert not grain.all()
    apart = x[c.second] + c.arm_second - x[c.first] - c.arm_first
    apart[:, 0] -= m.periodic[0] * np.round(apart[:, 0] / m.periodic[0])
    # two grains face each other across the gap; a wall's arm ends at the surface of the grain
    expected = np.where(grain, c.gap, 0.0)[:, None] * c.normal
    np.testing.assert_allclose(apart, expected, atol=1e-12)
    first = m.radius[c.first]
    second = m.radius[np.minimum(c.second, m.n - 1)]
    np.testing.assert_allclose(np.linalg.norm(c.arm_first, axis=1), first, rtol=1e-12)
    np.testing.assert_allclose(c.width, 2.0 * np.where(grain, np.minimum(first, second), first))
    np.testing.assert_allclose(c.roll, np.where(grain, 1.0 / (1.0 / first + 1.0 / second), first))
    other = np.array([w == "floor" for w in m.wall_names])[np.maximum(c.second - m.n, 0)] & ~grain
    np.testing.assert_allclose(m.law_table[c.law, 0], np.where(other, 0.7, 0.2))


def test_identity_is_pair_and_feature() -> None:
    """One increasing number for each contact point, in the order of first, second and feature."""
    first, second = np.array([0, 0, 0, 2]), np.array([1, 1, 5, 3])
    key = contact_key(first, second, np.array([0, 7, 0, 0]), 10_000_000)
    assert (np.diff(key) > 0).all()
    sim = settled(2)
    c = sim.state.contacts
    assert (np.diff(c.key(sim.model.bodies)) > 0).all()
    again = complete(sim.model, sim.state.position, c.chosen(np.arange(len(c))))
    np.testing.assert_array_equal(again.law, c.law)
