"""Free rotation of a body with three different moments of inertia: what stays, and how exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

from hardgrain.kernels import device, jit
from hardgrain.law.rotation import make_rotation

free_rotation = make_rotation(device).free_rotation
MOMENTS = np.array([1.0, 2.0, 2.5])


@jit
def spun(q, w, moments, dt, steps, every):  # type: ignore[no-untyped-def]
    """Orientations and spins at every so many steps."""
    kept = np.empty((steps // every, 7))
    for k in range(steps):
        q, w = free_rotation(q, w, (moments[0], moments[1], moments[2]), dt)
        if (k + 1) % every == 0:
            row = kept[(k + 1) // every - 1]
            row[0], row[1], row[2], row[3] = q
            row[4], row[5], row[6] = w
    return kept


def conserved(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Energy (k,) and angular momentum in space (k, 3)."""
    turn = Rotation.from_quat(kept[:, :4])
    own = turn.inv().apply(kept[:, 4:])
    return 0.5 * (MOMENTS * own**2).sum(axis=1), turn.apply(MOMENTS * own)


@pytest.mark.rounding
def test_a_free_top_keeps_energy_and_angular_momentum() -> None:
    """10⁴ turns of its fastest axis by steps of a hundredth turn, beside the unstable axis."""
    q, w = (0.1, -0.3, 0.2, math.sqrt(1.0 - 0.14)), (0.3, 1.0, -0.4)
    fastest = float(np.linalg.norm(w))
    kept = spun(q, w, MOMENTS, 0.01 * 2.0 * math.pi / fastest, 1_000_000, 1000)
    energy, momentum = conserved(np.vstack([[*q, *w], kept]))
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-10
    size = np.linalg.norm(momentum[0])
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * size
    assert np.ptp(kept[:, 4]) > 0.1 * fastest  # it tumbles


def test_the_spin_is_that_of_jacobis_elliptic_functions() -> None:
    """A quarter of the period, in the body's axes; the error falls with the square of the step.

    With moments A < B < C, spin (a, 0, c) at the start and L² > 2 E B (Landau and Lifshitz, § 37):
    the spin about B grows as sn, that about A falls as cn, and vanishes after a quarter.
    """
    a_, b_, c_ = MOMENTS
    w = (0.2, 0.0, 0.9)
    energy2 = a_ * w[0] ** 2 + c_ * w[2] ** 2
    square = (a_ * w[0]) ** 2 + (c_ * w[2]) ** 2
    rate = math.sqrt((c_ - b_) * (square - energy2 * a_) / (a_ * b_ * c_))
    m = (b_ - a_) * (energy2 * c_ - square) / ((c_ - b_) * (square - energy2 * a_))
    assert 0.0 < m < 1.0
    quarter = ellipk(m) / rate
    errors = []
    for steps in (100, 200, 400):
        end = spun((0.0, 0.0, 0.0, 1.0), w, MOMENTS, quarter / steps, steps, steps)[0]
        own = Rotation.from_quat(end[:4]).inv().apply(end[4:])
        sn, cn, dn, _ = ellipj(ellipk(m), m)
        exact = [
            math.sqrt((energy2 * c_ - square) / (a_ * (c_ - a_))) * cn,
            math.sqrt((energy2 * c_ - square) / (b_ * (c_ - b_))) * sn,
            math.sqrt((square - energy2 * a_) / (c_ * (c_ - a_))) * dn,
        ]
        errors.append(np.abs(np.abs(own) - np.abs(exact)).max())
    assert errors[0] < 1e-3
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(order, 2.0, atol=0.05)


def test_spheres_and_principal_axes_turn_exactly() -> None:
    """By |ω| dt about ω, however long the step, and the spin stays."""
    for moments, w in ((np.full(3, 1.7), (0.3, -2.0, 1.1)), (MOMENTS, (0.0, 2.0, 0.0))):
        end = spun((0.0, 0.0, 0.0, 1.0), w, moments, 0.4, 1, 1)[0]
        expected = Rotation.from_rotvec(0.4 * np.array(w))
        turned = (Rotation.from_quat(end[:4]) * expected.inv()).magnitude()
        assert turned == pytest.approx(0.0, abs=1e-14)
        np.testing.assert_allclose(end[4:], w, atol=1e-14)
