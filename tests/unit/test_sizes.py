"""Size distributions against their closed-form moments."""

import math

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from hardgrain.errors import InputError
from hardgrain.scene.sizes import Bidisperse, PowerLaw, Sizes, Uniform, draw

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
    d = draw(law, COUNT, rng())
    assert d.min() >= 0.5
    assert d.max() <= 4.0
    for order in (1, 2, 3):
        assert_mean(d**order, power_moment(law, order), power_moment(law, 2 * order))


@pytest.mark.parametrize(("exponent", "end"), [(1e4, 1.0), (-1e4, 10.0), (1e300, 1.0)])
def test_steep_power_laws_gather_at_one_end(exponent: float, end: float) -> None:
    d = draw(PowerLaw(min=1.0, max=10.0, exponent=exponent), 1000, rng())
    assert np.all(np.abs(d / end - 1.0) < 0.01)


def test_uniform_moments() -> None:
    d = draw(Uniform(min=1.0, max=3.0), COUNT, rng())
    assert d.min() >= 1.0
    assert d.max() <= 3.0
    assert_mean(d, 2.0, 13.0 / 3.0)
    assert_mean(d**2, 13.0 / 3.0, (3.0**5 - 1.0) / 10.0)


def test_bidisperse_has_the_exact_share_in_random_order() -> None:
    d = draw(Bidisperse(small=1.0, large=1.4, share=0.3), 1000, rng())
    assert np.count_nonzero(d == 1.0) == 300
    assert np.count_nonzero(d == 1.4) == 700
    assert 0 < np.count_nonzero(d[:300] == 1.0) < 300


def test_number_and_list() -> None:
    assert draw(2.0, 3, rng()).tolist() == [2.0, 2.0, 2.0]
    given = sizes_adapter.validate_python(np.array([1.0, 2.0]))
    assert draw(given, None, rng()).tolist() == [1.0, 2.0]
    assert draw(given, 2, rng()).tolist() == [1.0, 2.0]
    with pytest.raises(InputError, match="diameter lists 2 values but count is 3"):
        draw(given, 3, rng())
    with pytest.raises(InputError, match="count is missing"):
        draw(1.0, None, rng())


@pytest.mark.parametrize(
    "sizes",
    [
        Uniform(min=1.0, max=2.0),
        Bidisperse(small=1.0, large=2.0, share=0.5),
        PowerLaw(min=1.0, max=9.0, exponent=2.5),
    ],
)
def test_same_seed_same_sizes(sizes: Uniform | Bidisperse | PowerLaw) -> None:
    d = draw(sizes, 100, rng())
    assert np.array_equal(d, draw(sizes, 100, rng()))
    assert not np.array_equal(d, draw(sizes, 100, rng(2)))
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
    ],
)
def test_bad_sizes_are_refused_once(value: object, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as error:
        sizes_adapter.validate_python(value)
    assert error.value.error_count() == 1
