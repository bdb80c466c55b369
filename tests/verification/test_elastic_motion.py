"""Deformable grains that move: what no frame, no collision and no stiffness may change."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.contact.arms import torque
from tests.verification.elastic_scenes import deform, grain, simulation

SOFT = {"young": 100.0, "poisson": 0.3, "elements": 3}


@pytest.mark.parametrize("dim", [2, 3])
def test_a_free_grain_turns_and_flies_without_strain(dim: int) -> None:
    spin: Any = 7.0 if dim == 2 else [3.0, -5.0, 4.0]
    velocity = [1.0, 2.0, -3.0][:dim]
    sim = simulation(
        {"dimension": dim, "grains": [grain([0.0] * dim, SOFT, velocity=velocity, spin=spin)]},
        dt=0.05,
    )
    for _ in range(2000):  # a hundred turns
        sim.step()
    assert sim.state.deformation is not None
    assert not sim.state.deformation.displacement.any()
    assert sim.state.position[0] == pytest.approx(100.0 * np.array(velocity), rel=1e-12)


def test_a_grain_vibrates_the_same_way_while_it_turns() -> None:
    def run(spin: float) -> np.ndarray:
        sim = simulation({"grains": [grain([0.0, 0.0], SOFT, spin=spin)]}, dt=0.01)
        assert sim.model.elastic is not None
        node = sim.model.elastic.forms[0].node
        deform(sim, 1e-3 * node * [1.0, -1.0])
        for _ in range(300):
            sim.step()
        assert sim.state.deformation is not None
        return sim.state.deformation.displacement

    assert np.array_equal(run(0.0), run(9.0))


def _colliding(dim: int, turn: Any, friction: float) -> hg.Simulation:
    """Two soft grains that hit each other off centre, turned as a whole."""
    rotation = np.eye(dim)
    if dim == 2:
        c, s = np.cos(turn), np.sin(turn)
        rotation = np.array([[c, -s], [s, c]])
    elif turn is not None:
        rotation = Rotation.from_rotvec(turn).as_matrix()

    def vector(x: list[float]) -> list[float]:
        return [float(a) for a in rotation @ np.array(x[:dim])]

    first = grain(vector([-0.6, 0.1, 0.05]), SOFT, velocity=vector([1.0, 0.0, 0.0]))
    second = grain(vector([0.6, -0.1, 0.0]), SOFT, velocity=vector([-1.0, 0.2, 0.1]))
    for one in (first, second):
        one["orientation"] = turn if turn is not None else [0.0, 0.0, 0.0]
    scene = {"dimension": dim, "grains": [first, second], "contacts": [{"friction": friction}]}
    return simulation(scene, dt=0.005)


@pytest.mark.parametrize(("dim", "turn"), [(2, 0.7), (3, [0.3, -0.8, 0.5])])
def test_no_direction_of_space_is_special(dim: int, turn: Any) -> None:
    plain, turned = _colliding(dim, 0.0 if dim == 2 else None, 0.3), _colliding(dim, turn, 0.3)
    for _ in range(120):
        plain.step()
        turned.step()
    assert plain.totals.dissipated > 0.0
    a, b = plain.state.deformation, turned.state.deformation
    assert a is not None
    assert b is not None
    most = float(np.abs(a.displacement).max())
    assert most > 1e-3
    # in 3D tangents of contact frames lie elsewhere, and the solver's tolerance shows
    assert b.displacement == pytest.approx(a.displacement, abs=1e-6 * most)


@pytest.mark.parametrize("dim", [2, 3])
def test_collisions_keep_momentum_and_angular_momentum(dim: int) -> None:
    sim = _colliding(dim, 0.0 if dim == 2 else None, 0.0)

    def momenta() -> tuple[np.ndarray, np.ndarray]:
        mass, state = sim.model.mass[:2, None], sim.state
        linear = mass * state.velocity[:2]
        about = torque(state.position[:2], linear) + sim.model.inertia[:2, None] * state.spin[:2]
        return linear.sum(axis=0), about.sum(axis=0)

    before = momenta()
    for _ in range(120):
        report = sim.step()
    assert report.elastic > 0.0
    for now, then in zip(momenta(), before, strict=True):  # rounding of a thousand sums
        assert now == pytest.approx(then, abs=1e-12)


@pytest.mark.parametrize("theta", [0.5, 0.6, 1.0])
@pytest.mark.parametrize("dim", [2, 3])
def test_energy_is_bounded(theta: float, dim: int) -> None:
    place = {"kind": "grid", "min": [0.1] * dim, "max": [3.5] * dim}
    grains = {"count": 9 if dim == 2 else 8, "place": place, "elastic": SOFT, "speed": 1.0}
    ball = grain([3.9, 3.9, 3.9][:dim], None, diameter=0.6, velocity=[-2.0] * dim)
    box = {"kind": "box", "min": [0.0] * dim, "max": [4.4] * dim}
    scene = {"dimension": dim, "grains": [grains, ball], "walls": [box], "contacts": [{}]}
    sim = simulation(scene, dt=0.01, theta=theta)
    energy = [sim.kinetic]
    for _ in range(300):
        report = sim.step()
        energy.append(report.kinetic + report.elastic)
    assert min(energy) < 0.9 * energy[0]  # they have met
    assert max(energy) <= energy[0] * (1.0 + 1e-8)  # the tolerance of the solver
    if theta > 0.5:  # numerical damping outweighs what normals that turn may give back
        assert max(np.diff(energy)) < 1e-8 * energy[0]


def test_stiff_grains_are_rigid() -> None:
    """A block thrown along the ground slides as a rigid one, up to what is 1/E."""

    def thrown(young: float | None) -> np.ndarray:
        elastic = None if young is None else {"young": young, "poisson": 0.3, "elements": 3}
        shape = {"kind": "box", "sides": [1.0, 1.0]}
        block = grain([0.0, 0.5], elastic, shape=shape, velocity=[1.0, 0.0])
        floor = {"kind": "plane", "point": [0.0, 0.0], "normal": [0.0, 1.0]}
        scene = {"gravity": [0.0, -1.0], "grains": [block], "walls": [floor],
                 "contacts": [{"friction": 0.3}]}  # fmt: skip
        sim = (
            hg.Simulation(hg.Scene(**scene), dt=0.01) if young is None
            else simulation(scene, dt=0.01, theta=1.0)
        )  # fmt: skip
        for _ in range(200):
            sim.step()
        return np.append(sim.state.position[0], sim.state.orientation[0])

    rigid = thrown(None)
    error = [float(np.abs(thrown(young) - rigid).max()) for young in (1e3, 1e4, 1e5)]
    for soft, stiff in itertools.pairwise(error):  # first order in 1/E, up to the next one
        assert stiff == pytest.approx(0.1 * soft, rel=0.1)
