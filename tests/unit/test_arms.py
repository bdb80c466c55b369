"""Torques and surface velocities: their power agrees, and a plane is a slice of space."""

import numpy as np
import pytest

from hardgrain.contact.arms import surface_velocity, torque, turning


@pytest.mark.parametrize("dim", [2, 3])
def test_a_force_does_the_same_work_as_its_torque(dim: int) -> None:
    """F·(v + ω × l) = F·v + (l × F)·ω for every body, whichever contact names it."""
    rng = np.random.default_rng(1)
    bodies, m = 4, 20
    velocity, spin = rng.normal(size=(bodies, dim)), rng.normal(size=(bodies, 2 * dim - 3))
    body = rng.integers(bodies, size=m, dtype=np.int32)
    arm, force = rng.normal(size=(2, m, dim))
    power = np.einsum("ka,ka->k", force, surface_velocity(velocity, spin, body, arm))
    apart = np.einsum("ka,ka->k", force, velocity[body])
    apart += np.einsum("ka,ka->k", torque(arm, force), spin[body])
    np.testing.assert_allclose(power, apart, rtol=1e-12, atol=1e-12)  # rounding


def test_a_plane_is_a_slice_of_space() -> None:
    """Vectors without a z give what they give in space, also one by one."""
    rng = np.random.default_rng(2)
    arm, force, spin = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    flat = [np.pad(x, ((0, 0), (0, 1))) for x in (arm, force)]
    about = np.pad(spin, ((0, 0), (2, 0)))
    np.testing.assert_array_equal(torque(arm, force), torque(*flat)[:, 2:])
    np.testing.assert_array_equal(turning(spin, arm), turning(about, flat[0])[:, :2])
    np.testing.assert_array_equal(turning(spin[0], arm[0]), turning(spin, arm)[0])
