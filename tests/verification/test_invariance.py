"""The laws of motion know no preferred place, direction or uniform motion; nor a third axis.

Two runs that differ by a transformation differ by rounding, 10⁻¹⁶, which collisions of grains
amplify by about (free path)/(radius) each. Short runs of few grains keep it below 10⁻⁹.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.step.contact_dynamics import ContactDynamics

from .helpers import Floats, cluster, grains, steps

pytestmark = pytest.mark.rounding

SWEEPS = hg.GaussSeidel(sweeps=50, order="sequential")
LAWS: dict[str, dict[str, Any]] = {
    "plain": {"friction": 0.4},
    "all": {
        "friction": 0.5, "friction_dynamic": 0.4, "restitution": 0.2, "cohesion": 0.01,
        "restitution_tangential": 0.2, "rolling": 0.05,
    },
}  # fmt: skip


def box_of_grains(
    dim: int, law: str, turn: Floats, shift: Floats, boost: Floats, walls: bool = True
) -> hg.Simulation:
    """A crowd that falls into a corner of planes, as seen from another frame."""
    x, d = cluster(dim, 12, 3, gap=0.02)
    rng = np.random.default_rng(1)
    v = rng.normal(size=x.shape) - x
    low = x.min(axis=0) - 0.8
    planes = []
    for a in range(dim):
        normal = np.eye(dim)[a]
        where = low * np.eye(dim)[a]
        planes.append(
            hg.Plane(
                name=f"wall{a}",
                point=(turn @ where + shift).tolist(),
                normal=(turn @ normal).tolist(),
            )
        )
    scene = hg.Scene(
        dimension=dim,
        gravity=(turn @ (-np.ones(dim))).tolist() if walls else None,
        contacts=[hg.ContactLaw(**LAWS[law])],
        grains=[
            grains(turn @ x[k] + shift, diameter=d[k], velocity=(turn @ v[k] + boost).tolist())
            for k in range(len(x))
        ],
        walls=planes if walls else [],
    )
    return hg.Simulation(scene, dt=0.01, solver=SWEEPS)


def rotation(dim: int) -> Floats:
    if dim == 2:
        c, s = np.cos(0.7), np.sin(0.7)
        return np.array([[c, -s], [s, c]])
    return Rotation.from_rotvec([0.4, -0.9, 1.3]).as_matrix()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_rotated_and_shifted_scene_moves_alike(dim, law):
    none = np.zeros(dim)
    turn, shift = rotation(dim), np.array([3.0, -2.0, 5.0])[:dim]
    one = box_of_grains(dim, law, np.eye(dim), none, none)
    two = box_of_grains(dim, law, turn, shift, none)
    met = sum(one.step().loaded for _ in range(120))
    steps(two, 120)
    n = one.model.n
    assert met > n  # grains do push each other and the walls; how many at the end is chance
    np.testing.assert_allclose(
        two.state.position[:n], one.state.position[:n] @ turn.T + shift, atol=1e-9
    )
    np.testing.assert_allclose(two.state.velocity[:n], one.state.velocity[:n] @ turn.T, atol=1e-9)
    spin = one.state.spin[:n] if dim == 2 else one.state.spin[:n] @ turn.T
    np.testing.assert_allclose(two.state.spin[:n], spin, atol=1e-9)
    force = one.engine.wall_force @ turn.T
    np.testing.assert_allclose(two.engine.wall_force, force, atol=1e-7)
    assert np.abs(force).max() > 0.1
    if dim == 3:  # orientations turn with the frame: R q R⁻¹
        frame = Rotation.from_matrix(turn)
        seen = frame * Rotation.from_quat(one.state.orientation[:n]) * frame.inv()
        off = seen.inv() * Rotation.from_quat(two.state.orientation[:n])
        assert off.magnitude().max() < 1e-8


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_uniform_motion_is_not_felt(dim, law):
    """Galileo: an isolated crowd that moves as a whole collides as it would at rest."""
    none, boost = np.zeros(dim), np.array([0.5, -0.3, 0.8])[:dim]
    one = box_of_grains(dim, law, np.eye(dim), none, none, walls=False)
    two = box_of_grains(dim, law, np.eye(dim), none, boost, walls=False)
    steps(one, 100)
    steps(two, 100)
    np.testing.assert_allclose(two.state.velocity, one.state.velocity + boost, atol=1e-9)
    np.testing.assert_allclose(two.state.spin, one.state.spin, atol=1e-9)
    moved = one.state.position + boost * one.state.time
    np.testing.assert_allclose(two.state.position, moved, atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
def test_spheres_in_a_plane_move_like_disks(law):
    """3D with z, rx and ry locked and the disks' masses and moments: the same trajectory.

    In 3D this runs through the general law with singular W, in 2D through the plain one.
    """
    x, d = cluster(2, 12, 3, gap=0.02)
    rng = np.random.default_rng(1)
    v, w = rng.normal(size=x.shape) - x, rng.normal(size=len(x))
    low, high = x.min(axis=0) - 0.8, x.max(axis=0) + 0.8
    drum = {"point": [0.0, 0.0], "radius": 6.0, "spin": 0.3}
    flat = hg.Scene(
        gravity=[0.2, -1.0],
        contacts=[hg.ContactLaw(**LAWS[law])],
        grains=[
            grains(x[k], diameter=d[k], velocity=v[k].tolist(), spin=w[k]) for k in range(len(x))
        ],
        walls=[
            hg.Plane(name="low", point=low.tolist(), normal=[0, 1]),
            hg.Plane(name="side", point=high.tolist(), normal=[-1, 0]),
            hg.Cylinder(**drum),
        ],
    )
    solid = hg.Scene(
        dimension=3,
        gravity=[0.2, -1.0, 0.0],
        contacts=[hg.ContactLaw(**LAWS[law])],
        grains=[
            grains(
                [*x[k], 0.0],
                diameter=d[k],
                velocity=[*v[k], 0.0],
                spin=[0.0, 0.0, w[k]],
                lock=["z", "rx", "ry"],
            )
            for k in range(len(x))
        ],
        walls=[
            hg.Plane(name="low", point=[*low, 0.0], normal=[0, 1, 0]),
            hg.Plane(name="side", point=[*high, 0.0], normal=[-1, 0, 0]),
            hg.Cylinder(point=[0, 0, 0], axis=[0, 0, 1], radius=6.0, spin=[0, 0, 0.3]),
        ],
    )
    one = hg.Simulation(flat, dt=0.01, solver=SWEEPS)
    model, state = solid.build(0)
    n = model.n
    inv_mass, inv_inertia = model.inv_mass.copy(), model.inv_inertia.copy()
    inv_mass[:n, :2] = one.model.inv_mass[:n]
    inv_inertia[:n, 2] = one.model.inv_inertia[:n, 0]
    model = replace(model, inv_mass=inv_mass, inv_inertia=inv_inertia, mass=one.model.mass)
    engine = ContactDynamics(model, SWEEPS, 0.01, 0)
    met = 0
    for _ in range(120):
        one.step()
        met += engine.advance(state).loaded
    assert met > n
    np.testing.assert_allclose(state.position[:n, :2], one.state.position[:n], atol=1e-8)
    np.testing.assert_allclose(state.velocity[:n, :2], one.state.velocity[:n], atol=1e-8)
    np.testing.assert_allclose(state.spin[:n, 2], one.state.spin[:n, 0], atol=1e-8)
    np.testing.assert_array_equal(state.velocity[:n, 2], 0.0)
    np.testing.assert_allclose(engine.wall_force[:, :2], one.engine.wall_force, atol=1e-6)
    angle = Rotation.from_quat(state.orientation[:n]).as_rotvec()[:, 2]
    turned = one.state.orientation[:n, 0]
    np.testing.assert_allclose(np.sin(angle - turned), 0.0, atol=1e-8)
