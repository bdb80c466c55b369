"""Size distributions against their closed-form moments."""

import math

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from hardgrain.errors import InputError
from hardgrain.scene.sizes import (
    Bidisperse,
    Lognormal,
    Normal,
    PowerLaw,
    Sieve,
    Sizes,
    Uniform,
    draw,
)

COUNT = 100_000
SIGMAS = 5.0  # chance of a false alarm below 10⁻⁶

sizes_adapter = TypeAdapter(Sizes)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def power_moment(law: PowerLaw, order: int) -> float:
    """⟨d^order⟩ = ∫ d^(order − exponent) / ∫ d^(−exponent) over [min, max]."""

    def integral(power: float) -> float:
        if power == -1.0:
            return math.log(law.max / law.min)
        return (law.max ** (power + 1.0) - law.min ** (power + 1.0)) / (power + 1.0)

    return integral(order - law.exponent) / integral(-law.exponent)


def assert_mean(sample: np.ndarray, mean: float, mean_square: float) -> None:
    error = math.sqrt((mean_square - mean**2) / len(sample))
    assert abs(sample.mean() - mean) < SIGMAS * error


@pytest.mark.parametrize("exponent", [-2.0, 0.0, 1.0, 1.0 + 1e-9, 2.0, 3.0, 4.5])
def test_power_law_moments(exponent: float) -> None:
    law = PowerLaw(min=0.5, max=4.0, exponent=exponent)
    d = draw(law, COUNT, rng(), 2)
    assert d.min() >= 0.5
    assert d.max() <= 4.0
    for order in (1, 2, 3):
        assert_mean(d**order, power_moment(law, order), power_moment(law, 2 * order))


@pytest.mark.parametrize(("exponent", "end"), [(1e4, 1.0), (-1e4, 10.0), (1e300, 1.0)])
def test_steep_power_laws_gather_at_one_end(exponent: float, end: float) -> None:
    d = draw(PowerLaw(min=1.0, max=10.0, exponent=exponent), 1000, rng(), 2)
    assert np.all(np.abs(d / end - 1.0) < 0.01)


def test_uniform_moments() -> None:
    d = draw(Uniform(min=1.0, max=3.0), COUNT, rng(), 2)
    assert d.min() >= 1.0
    assert d.max() <= 3.0
    assert_mean(d, 2.0, 13.0 / 3.0)
    assert_mean(d**2, 13.0 / 3.0, (3.0**5 - 1.0) / 10.0)


def cut_share(z_low: float, z_high: float, order: int) -> float:
    """⟨z^order⟩ of a standard bell curve cut at z_low and z_high, by quadrature."""
    z = np.linspace(z_low, z_high, 20_001)
    weight = np.exp(-0.5 * z**2)
    return float(np.trapezoid(z**order * weight, z) / np.trapezoid(weight, z))


@pytest.mark.parametrize(("low", "high"), [(None, None), (0.9, 1.1), (1.2, 1.6)])
def test_normal_moments(low: float | None, high: float | None) -> None:
    law = Normal(mean=1.0, deviation=0.1, min=low, max=high)
    d = draw(law, COUNT, rng(), 2)
    ends = ((low or 0.7) - 1.0) / 0.1, ((high or 1.3) - 1.0) / 0.1
    z = (d - 1.0) / 0.1
    assert z.min() >= ends[0] - 1e-12
    assert z.max() <= ends[1] + 1e-12
    for order in (1, 2):
        assert_mean(z**order, cut_share(*ends, order), cut_share(*ends, 2 * order))


@pytest.mark.parametrize("deviation", [0.1, 1.0, 3.0])
def test_lognormal_moments(deviation: float) -> None:
    d = draw(Lognormal(mean=2.0, deviation=deviation), COUNT, rng(), 2)
    width = math.sqrt(math.log(1.0 + deviation**2 / 4.0))
    z = np.log(d / 2.0) / width + 0.5 * width
    for order in (1, 2):
        assert_mean(z**order, cut_share(-3, 3, order), cut_share(-3, 3, 2 * order))


@pytest.mark.parametrize("dim", [2, 3])
def test_sieves_let_the_given_mass_pass(dim: int) -> None:
    """To less than a grain a sieve: ``count`` grains divide the curve evenly."""
    curve = Sieve(opening=[0.5, 1.0, 2.0, 4.0, 5.0], passing=[0.0, 0.2, 0.7, 0.7, 1.0])
    d = draw(curve, COUNT, rng(), dim)
    mass = d**dim
    for opening, passing in zip(curve.opening, curve.passing):
        found = mass[d <= opening].sum() / mass.sum()
        # one grain more or less at each of the sieves, the heaviest for all
        assert found == pytest.approx(passing, abs=5 * mass.max() / mass.sum())
    assert not ((d > 2.0) & (d < 4.0)).any()
    inside = mass[d <= math.sqrt(2.0)].sum() / mass.sum()  # half of the way between two sieves
    assert inside == pytest.approx(0.45, abs=5 * mass.max() / mass.sum())


def test_bidisperse_has_the_exact_share_in_random_order() -> None:
    d = draw(Bidisperse(small=1.0, large=1.4, share=0.3), 1000, rng(), 2)
    assert np.count_nonzero(d == 1.0) == 300
    assert np.count_nonzero(d == 1.4) == 700
    assert 0 < np.count_nonzero(d[:300] == 1.0) < 300


def test_number_and_list() -> None:
    assert draw(2.0, 3, rng(), 2).tolist() == [2.0, 2.0, 2.0]
    given = sizes_adapter.validate_python(np.array([1.0, 2.0]))
    assert draw(given, None, rng(), 2).tolist() == [1.0, 2.0]
    assert draw(given, 2, rng(), 2).tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="diameter lists 2 values but count is 3"):
        draw(given, 3, rng(), 2)
    with pytest.raises(InputError, match="count is missing"):
        draw(1.0, None, rng(), 2)


@pytest.mark.parametrize(
    "sizes",
    [
        Uniform(min=1.0, max=2.0),
        Bidisperse(small=1.0, large=2.0, share=0.5),
        PowerLaw(min=1.0, max=9.0, exponent=2.5),
        Normal(mean=1.0, deviation=0.1),
        Lognormal(mean=1.0, deviation=0.5, max=3.0),
        Sieve(opening=[1.0, 2.0], passing=[0.0, 1.0]),
    ],
)
def test_same_seed_same_sizes(sizes: Sizes) -> None:
    d = draw(sizes, 100, rng(), 2)
    assert np.array_equal(d, draw(sizes, 100, rng(), 2))
    assert not np.array_equal(d, draw(sizes, 100, rng(2), 2))
    assert sizes_adapter.validate_json(sizes_adapter.dump_json(sizes)) == sizes


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-1.0, "greater than 0"),
        (0, "greater than 0"),
        (float("nan"), "finite number"),
        (10**400, "valid number"),
        (True, "should be a number, a list"),
        ("1", "should be a number, a list"),
        (None, "should be a number, a list"),
        ({}, "should be a number, a list"),
        ({"kind": "zipf"}, "should be a number, a list"),
        ([], "at least 1 item"),
        ([1.0, -1.0], "greater than 0"),
        ([1.0, [1.0]], "valid number"),
        ({"kind": "uniform", "min": 2.0, "max": 1.0}, "min is 2 but must not exceed max, 1"),
        ({"kind": "uniform", "min": 0.0, "max": 1.0}, "greater than 0"),
        ({"kind": "uniform", "min": 1.0, "max": 2.0, "mean": 1.5}, "Extra inputs"),
        ({"kind": "bidisperse", "small": 2.0, "large": 1.0}, "small is 2 but must not exceed"),
        ({"kind": "bidisperse", "small": 1.0, "large": 2.0, "share": 1.1}, "less than or equal"),
        ({"kind": "power-law", "min": 1.0, "max": 2.0}, "Field required"),
        ({"kind": "normal", "mean": 1.0, "deviation": 0.5}, "deviation is 0.5, so that 3 of it"),
        (
            {"kind": "normal", "mean": 1.0, "deviation": 0.1, "min": 2, "max": 1.5},
            "must exceed min",
        ),
        (
            {"kind": "normal", "mean": 1.0, "deviation": 0.01, "min": 2, "max": 3},
            "next to no grains",
        ),
        ({"kind": "sieve", "opening": [1, 2], "passing": [0.0]}, "must be equally many"),
        ({"kind": "sieve", "opening": [2, 1], "passing": [0.0, 1.0]}, "opening must increase"),
        ({"kind": "sieve", "opening": [1, 2, 3], "passing": [0, 0.6, 0.5]}, "must not decrease"),
        ({"kind": "sieve", "opening": [1, 2], "passing": [0.1, 1.0]}, "it must begin with 0"),
    ],
)
def test_bad_sizes_are_refused_once(value: object, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as error:
        sizes_adapter.validate_python(value)
    assert error.value.error_count() == 1
