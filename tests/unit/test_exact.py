"""Exact sums: no order of the terms shows, and the result is right to the last place."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardgrain.cpu.exact import DIGITS, add, rounded, rounded_all
from hardgrain.kernels import jit


@jit
def total(x):  # type: ignore[no-untyped-def]
    sums = np.zeros((1, DIGITS), np.int64)
    for k in range(x.size):
        add(sums, 0, x[k])
    return sums


def true_sum(x: np.ndarray) -> Fraction:
    return sum(map(Fraction, x.tolist()), Fraction(0))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e306, 1e306), max_size=30), st.randoms())
def test_any_order_and_grouping_give_the_same_digits(terms: list[float], chance: object) -> None:
    x = np.array(terms, float)
    one = total(x)
    chance.shuffle(terms)  # type: ignore[attr-defined]
    cut = len(terms) // 3
    other = sum(total(np.array(part, float)) for part in (terms[:cut], terms[cut:]))
    assert np.array_equal(one, other)
    true, found = true_sum(x), rounded(one, 0)
    assert abs(Fraction(found) - true) < math.ulp(float(true))


def test_what_cancels_leaves_the_rest() -> None:
    x = np.array([1e300, 1.0, -1e300, 1e-300, 5e-324, -1.0])
    assert rounded(total(x), 0) == 1e-300
    assert rounded(total(-x), 0) == -1e-300
    assert rounded(total(x[:0]), 0) == 0.0
    assert rounded(total(np.full(20, 1e308)), 0) == math.inf
    # in plain arithmetic not even the sum of three is right
    assert x[0] + x[1] + x[2] == 0.0


def test_many_terms_of_one_sign_fit_and_sums_of_parts_are_those_of_all() -> None:
    x = np.random.default_rng(0).lognormal(sigma=20.0, size=100_000)
    whole = total(x)
    parts = [total(part) for part in np.array_split(x[::-1], 7)]
    assert np.array_equal(whole, sum(parts))
    assert abs(whole).max() < 2**62 / 1e4  # far from the end of an integer
    assert rounded_all(np.concatenate([whole, -whole])).tolist() == [
        rounded(whole, 0), -rounded(whole, 0)
    ]  # fmt: skip
    assert math.isclose(rounded(whole, 0), math.fsum(x), rel_tol=2.0**-52)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_not_lost(odd: float) -> None:
    assert math.isnan(rounded(total(np.array([1.0, odd, -odd])), 0))
