"""The array of disks as a scene in the plane: the general engines against the exact solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.papers.radjai1997 import evolve, steady_state
from hardgrain.papers.radjai1997.scene import (
    BLOCK_MASS,
    STIFFNESS,
    ArrayMotion,
    contact_dynamics,
    scene,
    soft_particles,
)

pytestmark = pytest.mark.rounding

FIG3 = (10, 2.5, 0.01, 0.1, 0.2, 0.001)
MOVING: dict[str, Any] = {  # its last event is at t = 2.2
    "omega0": np.random.default_rng(9).uniform(-0.2, 0.2, FIG3[0]),
    "v0": 0.2,
}


def forces(exact: Any) -> NDArray[np.float64]:
    """Those of an exact solution in the order of `Motion.forces`."""
    return np.concatenate(
        [exact.normal, exact.normal_plane, exact.tangential, exact.tangential_plane]
    )


def balance(motion: ArrayMotion, start: dict[str, Any]) -> None:
    """Forces and motion obey the equations of the array with the paper's signs."""
    t = motion.tangential
    np.testing.assert_allclose(motion.normal_plane, 1.0 + t[:, 1:] - t[:, :-1], atol=1e-9)
    omega = np.vstack([start["omega0"], motion.omega])
    rate = np.diff(omega, axis=0) / motion.step
    torque = motion.tangential_plane - t[:, 1:] - t[:, :-1]
    np.testing.assert_allclose(0.5 * rate, torque, atol=1e-9)
    velocity = np.append(start["v0"], motion.velocity)
    np.testing.assert_allclose(np.diff(velocity) / motion.step, motion.acceleration, atol=1e-9)


@pytest.mark.parametrize(
    ("array", "block_mass"),
    [
        (FIG3, BLOCK_MASS),
        (FIG3, 2.0),  # blocks that weigh as much as disks
        ((80, 1.4, 0.01, 0.006, 0.01, 0.001), 0.5),
        ((1, 0.5, 0.1, 0.3, 0.2, 0.1), 0.1),
    ],
)
def test_contact_dynamics_from_rest_is_steady_at_once(
    array: tuple[Any, ...], block_mass: float
) -> None:
    motion = contact_dynamics(scene(*array, block_mass=block_mass), 0.03)
    exact = steady_state(*array, block_mass=block_mass)
    for sample in motion.forces:
        assert np.abs(sample - forces(exact)).max() < 1e-6
    assert motion.closed
    assert motion.acceleration[-1] == pytest.approx(exact.acceleration, abs=1e-7)
    assert motion.friction[-1] == pytest.approx(exact.friction, abs=1e-7)


def test_contact_dynamics_follows_the_exact_path() -> None:
    dt = 0.01
    motion = contact_dynamics(scene(*FIG3, **MOVING), 3.0, dt=dt)
    exact = evolve(*FIG3, **MOVING, block_mass=BLOCK_MASS)
    assert exact.time[-1] < 2.5
    assert np.abs(motion.forces[-1] - forces(exact.steady)).max() < 1e-6
    off = np.abs(motion.friction - exact.friction_at(motion.time - 0.5 * dt))
    assert np.count_nonzero(off > 1e-6) <= exact.time.size
    sliding = np.abs(motion.slip_plane) > 1e-9
    limit = FIG3[4] * motion.normal_plane * np.sign(motion.slip_plane)
    np.testing.assert_allclose(motion.tangential_plane[sliding], limit[sliding], atol=1e-9)
    balance(motion, MOVING)


@pytest.mark.parametrize("sliding", [10.0, 1e3])
def test_soft_particles_end_in_the_same_steady_state(sliding: float) -> None:
    motion = soft_particles(scene(*FIG3, **MOVING), 5.0, sliding)
    exact = steady_state(*FIG3, block_mass=BLOCK_MASS)
    overlap = FIG3[1] / STIFFNESS  # the largest, in radii: by so much arms and normals are off
    assert np.abs(motion.forces[-1] - forces(exact)).max() < overlap
    # a contact that sticks under C1 slips by T/γ_s; disks roll on a radius that overlaps shorten
    sticks = exact.states[1::2] == 0
    radius = 1.0 - motion.normal_plane[-1] / STIFFNESS
    slip = motion.velocity[-1] - motion.omega[-1] * radius
    np.testing.assert_allclose(
        sliding * slip[sticks], motion.tangential_plane[-1][sticks], rtol=1e-3
    )


def test_soft_particles_begin_without_a_force() -> None:
    motion = soft_particles(scene(*FIG3), 0.1, 100.0, every=0.001)
    middle = motion.normal[:, FIG3[0] // 2]
    exact = steady_state(*FIG3, block_mass=BLOCK_MASS).normal[FIG3[0] // 2]
    assert middle[0] < 1e-3
    assert middle.max() > 1.5 * exact  # and ring


def test_spins_are_one_for_each_disk() -> None:
    with pytest.raises(InputError, match="omega0 has shape"):
        scene(*FIG3, omega0=[1.0, 2.0])
