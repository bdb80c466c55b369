"""Fits against signals known in closed form."""

import math

import numpy as np
import pytest

from hardgrain.papers.fit import damped_sine, mean_and_error, power_law


def signal(t: np.ndarray, omega: float, tau: float) -> np.ndarray:
    return 3.0 + 0.5 * np.exp(-t / tau) * np.sin(omega * t + 1.0)


@pytest.mark.parametrize(
    ("points", "omega", "tau"),
    [
        (600, 0.177, 63.5),  # the paper's chain
        (600, 0.177, 1e4),  # hardly damped
        (60, 0.9, 5.0),
        (40, 0.35, 4.0),  # a period and a half before it is gone
        (12, 1.45, 0.5),  # dies within a step
        (3000, 0.01, 200.0),
        (200, 2.9, 30.0),  # close to two points a period
    ],
)
def test_damped_sine_without_noise_is_found_exactly(points: int, omega: float, tau: float) -> None:
    t = np.arange(points) + 7.0
    f = damped_sine(t, signal(t, omega, tau))
    assert f.frequency == pytest.approx(omega, rel=1e-6)
    assert f.damping_time == pytest.approx(tau, rel=1e-5)
    assert f.offset == pytest.approx(3.0, abs=1e-6)
    assert f.amplitude == pytest.approx(0.5, rel=1e-4)
    assert f.phase == pytest.approx(1.0, abs=1e-4)
    assert f(t) == pytest.approx(signal(t, omega, tau), abs=1e-7)


def test_damped_sine_errors_are_those_of_repeated_noise() -> None:
    t = np.arange(300.0)
    rng = np.random.default_rng(1)
    fits = [damped_sine(t, signal(t, 0.2, 60.0) + 0.01 * rng.normal(size=300)) for _ in range(60)]
    for name, true in (("frequency", 0.2), ("damping_time", 60.0)):
        values = np.array([getattr(f, name) for f in fits])
        stated = np.mean([getattr(f, f"{name}_error") for f in fits])
        assert values.mean() == pytest.approx(true, abs=4.0 * stated / math.sqrt(60))
        assert values.std() == pytest.approx(stated, rel=0.35)  # three errors of a spread of 60
    assert np.mean([f.residual for f in fits]) == pytest.approx(0.01, rel=0.05)


def test_given_frequency_and_damping_time_are_held() -> None:
    t = np.arange(200.0)
    x = signal(t, 0.2, 60.0)
    f = damped_sine(t, x, frequency=0.21, damping_time=60.0)
    assert (f.frequency, f.damping_time) == pytest.approx((0.21, 60.0), rel=1e-15)
    assert f.frequency_error == f.damping_time_error == 0.0
    assert f.residual > 0.001
    assert damped_sine(t, x, frequency=0.2).damping_time == pytest.approx(60.0, rel=1e-6)
    assert damped_sine(t, x, damping_time=60.0).frequency == pytest.approx(0.2, rel=1e-6)


def test_growing_oscillation_has_a_negative_damping_time() -> None:
    t = np.arange(100.0)
    assert damped_sine(t, signal(t, 0.3, -50.0)).damping_time == pytest.approx(-50.0, rel=1e-6)


NOISE = np.random.default_rng(0).normal(size=200)
T = np.arange(200.0)


@pytest.mark.parametrize(
    "x",
    [
        np.exp(-T / 20.0),
        np.exp(-T / 20.0) - 0.5 * np.exp(-T / 5.0),
        np.exp(-T / 20.0) + 0.01 * NOISE,
        NOISE,
        T,
        np.ones(200),
        np.full(200, math.nan),
        np.where(T == 50.0, math.inf, np.sin(T)),
        np.arange(5.0),
        np.zeros(0),
    ],
    ids=[
        "overdamped", "two decays", "noisy decay", "noise", "line", "constant", "nan", "inf",
        "few", "none",
    ],
)  # fmt: skip
def test_data_that_do_not_ring_give_nan(x: np.ndarray) -> None:
    f = damped_sine(np.arange(float(x.size)), x)
    assert math.isnan(f.frequency)
    assert math.isnan(f.damping_time)
    assert math.isnan(f.residual)


def test_power_law() -> None:
    x = np.array([1.0, 2.0, 5.0, 10.0])
    law = power_law(x, 3.0 * x**-0.5)
    assert (law.exponent, law.prefactor) == pytest.approx((-0.5, 3.0))
    assert law.exponent_error < 1e-12
    assert law.predict(4.0) == pytest.approx(1.5)


def test_power_law_errors() -> None:
    x = np.geomspace(1.0, 100.0, 8)
    rng = np.random.default_rng(2)
    laws = []
    for _ in range(300):
        y = x**2 * (1.0 + 0.03 * rng.normal(size=8))
        laws.append(power_law(x, y, 0.03 * x**2))
    exponents = np.array([law.exponent for law in laws])
    assert exponents.mean() == pytest.approx(2.0, abs=0.003)
    expected = 0.03 / math.sqrt(np.sum((np.log(x) - np.log(x).mean()) ** 2))
    assert exponents.std() == pytest.approx(expected, rel=0.15)
    # never below what the errors of y give, above it where the points scatter more
    assert min(law.exponent_error for law in laws) == pytest.approx(expected, rel=0.1)
    # a point with a large error hardly counts
    y = np.where(x > 99.0, 10.0, 1.0) * x
    assert power_law(x, y, np.where(x > 99.0, 1e3, 1e-3) * y).exponent == pytest.approx(1.0)


def test_mean_and_error() -> None:
    assert mean_and_error([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1.0 / math.sqrt(3.0)))
    mean, error = mean_and_error([5.0])
    assert mean == 5.0
    assert math.isnan(error)
