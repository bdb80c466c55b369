"""Errors of means over series that remember."""

import math

import numpy as np
import pytest

from hardgrain.measure.correlated import estimate, scatter


def remembering(memory: float, n: int, many: int, seed: int = 0) -> np.ndarray:
    """Many series x' = memory x + noise, all steady, with variance one, shape (many, n)."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(many, n)) * math.sqrt(1.0 - memory**2)
    x = np.empty((many, n))
    x[:, 0] = rng.normal(size=many)
    for k in range(1, n):
        x[:, k] = memory * x[:, k - 1] + noise[:, k]
    return x


def mean(x: np.ndarray) -> np.ndarray:
    return x


@pytest.mark.parametrize("memory", [0.0, 0.8, -0.8])
def test_the_error_is_that_of_a_series_with_memory(memory):
    """The variance of the mean is (1 + r)/(1 − r)/n where n is long; single frames would say 1/n.

    The mean of 400 squared errors, each of ten blocks, scatters by √(2/9/400), 2.4 percent; four
    of these, and five percent for blocks of a hundred frames that are not infinitely long.
    """
    n = 1000
    squares = [estimate(mean, x)[1] ** 2 for x in remembering(memory, n, 400)]
    expected = (1.0 + memory) / (1.0 - memory) / n
    assert np.mean(squares) == pytest.approx(expected, rel=0.1 + 0.05)


def test_of_a_mean_the_jackknife_is_the_scatter_of_blocks():
    x = np.random.default_rng(1).normal(size=50)
    value, error = estimate(mean, x)
    assert value == pytest.approx(x.mean())
    assert error == pytest.approx(scatter(x.reshape(10, 5).mean(axis=1)))


def test_what_follows_from_means_is_not_shifted_by_fluctuations():
    """√(x² + y²) of fluctuations about zero is not zero in any frame, but of their mean it is."""
    x = np.random.default_rng(2).normal(size=(4000, 2))

    def length(v: np.ndarray) -> np.ndarray:
        return np.linalg.norm(v, axis=-1)

    value, _ = estimate(length, x)
    assert value < 4.0 / math.sqrt(4000)
    assert length(x).mean() > 1.0
    # a ratio of series that swing together is known better than either
    swing = 1.0 + 0.3 * x[:, 0]
    ratio, error = estimate(lambda v: v[:, 0] / v[:, 1], np.column_stack([0.4 * swing, swing]))
    assert ratio == pytest.approx(0.4)
    assert error < 1e-12


def test_too_few_values_have_no_error():
    value, error = estimate(mean, np.array([3.0]))
    assert value == 3.0
    assert math.isnan(error)
    assert math.isnan(scatter(np.array([3.0])))
    assert estimate(mean, np.array([1.0, 3.0]))[1] == pytest.approx(1.0)
