"""What experiments on bulk material compute, against closed forms."""

import math

import numpy as np
import pytest

from hardgrain.measure.fabric import Anisotropy, Fabric
from hardgrain.measure.stress import invariants
from hardgrain.papers.dacruz2005.rheology_laws import line
from hardgrain.papers.ohern2003.friction import spare
from hardgrain.papers.ohern2003.frictionless import shift
from hardgrain.papers.ohern2003.packed import Packed
from hardgrain.papers.rothenburg1989.compression import _harmonics, integral

A_C, A_N, A_T = 0.3, 0.4, 0.1


def axial(dim: int, a: float) -> Anisotropy:
    """An anisotropy of size a along the last axis."""
    tensor = np.full(dim, -1.0 if dim == 2 else -1.0 / 3.0)
    tensor[-1] = 1.0 if dim == 2 else 2.0 / 3.0
    return Anisotropy(a * np.diag(tensor))


def ratio(tensor: np.ndarray) -> float:
    found = invariants(tensor)
    return float(found.deviator / found.pressure)


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (2, 0.5 * (A_C + A_N + A_T) / (1.0 + 0.5 * A_C * A_N)),
        # x = cos²θ − 1/3: ⟨x²⟩ = 4/45, ⟨x³⟩ = 16/945; y = cos²θ sin²θ: ⟨y⟩ = 2/15, ⟨xy⟩ = 4/315
        (
            3,
            4.5
            * (4 / 45 * (A_C + A_N) + 16 / 945 * A_C * A_N + A_T * (2 / 15 + A_C * 4 / 315))
            / (1.0 + 4 / 45 * A_C * A_N),
        ),
    ],
)
def test_the_integral_of_second_harmonics_is_that_done_by_hand(dim: int, expected: float) -> None:
    parts = [axial(dim, a) for a in (A_C, A_N, A_T)]
    even = Anisotropy(np.zeros((dim, dim)))  # branches of equal length
    found = Fabric(np.eye(dim) / dim, *parts, even, force=1.0, count=1, ratio=math.nan)
    assert ratio(integral(found)) == pytest.approx(expected, rel=1e-12)


def test_harmonics_that_suffice_give_the_sum_over_contacts() -> None:
    """Forces with harmonics up to the fourth at evenly spread contacts: nothing is left out."""
    angle = 2.0 * math.pi * np.arange(60) / 60.0
    n = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    left = np.stack([-n[:, 1], n[:, 0]], axis=1)
    along = 1.0 - 0.4 * np.cos(2.0 * angle) + 0.2 * np.cos(4.0 * angle)
    across = 0.1 * np.sin(2.0 * angle) - 0.05 * np.sin(4.0 * angle)
    force = along[:, None] * n + across[:, None] * left
    total = np.einsum("ka,kb->ab", force, n)
    assert ratio(_harmonics(n, force, 4)) == pytest.approx(ratio(total), rel=1e-12)


def test_products_of_fourth_harmonics_are_those_found_by_hand() -> None:
    """The relation with second and fourth harmonics of contacts and forces, axes alike."""
    a_c, b_c, a_n, b_n, a_t, b_t = 0.3, 0.15, 0.4, -0.2, 0.1, 0.05
    share = np.arange(400) / 400.0
    angle = 2.0 * math.pi * share  # contacts at evenly spaced shares of their distribution
    for _ in range(100):
        sum_up = angle + 0.5 * a_c * np.sin(2.0 * angle) + 0.25 * b_c * np.sin(4.0 * angle)
        angle = angle - (sum_up - 2.0 * math.pi * share)
    n = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    left = np.stack([-n[:, 1], n[:, 0]], axis=1)
    along = 1.0 + a_n * np.cos(2.0 * angle) + b_n * np.cos(4.0 * angle)
    across = -a_t * np.sin(2.0 * angle) - b_t * np.sin(4.0 * angle)
    force = along[:, None] * n + across[:, None] * left
    mixed = a_c * b_n + b_c * a_n + a_c * b_t - b_c * a_t
    expected = 0.5 * (a_c + a_n + a_t + 0.5 * mixed) / (1.0 + 0.5 * (a_c * a_n + b_c * b_n))
    assert ratio(_harmonics(n, force, 4)) == pytest.approx(expected, rel=1e-12)


def test_a_line_and_its_errors() -> None:
    x, error = np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.1, 0.1])
    fit = line(x, 2.0 + 3.0 * x, error)
    assert (fit.at_rest, fit.slope) == pytest.approx((2.0, 3.0))
    # of independent points: σ/√Σ(x − x̄)², and σ √(1/n + x̄²/Σ(x − x̄)²)
    assert fit.slope_error == pytest.approx(0.1 / math.sqrt(2.0))
    assert fit.at_rest_error == pytest.approx(0.1 * math.sqrt(1.0 / 3.0 + 0.5))


def test_counts() -> None:
    some = {"density": 0.8, "rattlers": 0.0, "kinetic": 0.0, "overlap": 0.0, "residual": 0.0}
    packed = Packed(bearing=40, contacts=60, sliding=0, **some)
    assert packed.coordination == 3.0
    assert spare(2, packed) == 0
    assert spare(2, Packed(bearing=40, contacts=70, sliding=20, **some)) == 0
    assert spare(3, Packed(bearing=40, contacts=80, sliding=0, **some)) == 0
    assert shift(2, 10_000) < shift(2, 100) == pytest.approx(0.12 * 10.0 ** (-1.0 / 0.71))
