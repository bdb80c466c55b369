"""Times of flight against roots that NumPy finds."""

import math

import numpy as np
import pytest

from hardgrain.kernels import jit, scalar
from hardgrain.point.flight import make_flight

_flight = make_flight(scalar)
_meet, _land, _reach = _flight.time_to_meet, _flight.time_to_land, _flight.time_to_reach


@jit
def meet(b, v2, c):
    return _meet(b, v2, c)


@jit
def land(h, h1, h2):
    return _land(h, h1, h2)


@jit
def reach(c, end):
    return _reach(c[0], c[1], c[2], c[3], c[4], end)


def test_two_balls_meet_when_their_distance_is_the_sum_of_their_radii():
    rng = np.random.default_rng(1)
    met = 0
    for _ in range(3000):
        r, v, s = 2.0 * rng.normal(size=3), rng.normal(size=3), 1.0
        if r @ r < s * s:
            continue
        t = meet(r @ v, v @ v, r @ r - s * s)
        misses = r @ v >= 0.0 or (r @ v) ** 2 < v @ v * (r @ r - s * s)
        assert (t == math.inf) == misses
        if misses:
            continue
        met += 1
        there = r + t * v
        # places are rounded by some ε (|r| + |v| t)
        assert math.hypot(*there) == pytest.approx(s, abs=1e-15 * 4.0 * (r @ r + v @ v * t * t))
        assert there @ v <= 1e-7  # the first of the two moments; zero for those who graze
    assert met > 100


def test_grains_that_touch_meet_now_or_never():
    for c in (0.0, -1e-16):
        assert meet(-1.0, 1.0, c) == 0.0
        assert meet(0.0, 1.0, c) == math.inf
        assert meet(1.0, 1.0, c) == math.inf


@pytest.mark.parametrize(
    ("h", "h1", "h2", "time"),
    [
        (2.0, 0.0, -1.0, 2.0),  # a fall, h = g t²/2
        (0.0, 3.0, -1.0, 6.0),  # a throw
        (-1e-16, 3.0, -1.0, 6.0),  # from a little below: the root that comes after it
        (0.0, -1.0, 0.0, 0.0),
        (0.0, 0.0, -1.0, 0.0),  # at rest on the ground
        (0.0, 0.0, 0.0, math.inf),
        (1.0, -2.0, 0.0, 0.5),
        (1.0, 2.0, 0.0, math.inf),
        (1.0, -2.0, 2.0, 1.0),  # a ground that runs away, just touched
        (1.0, -1.0, 2.0, math.inf),
        (-1e-8, 1e-6, -1.0, 1e-6),  # it does not come up: its highest point
    ],
)
def test_landing(h, h1, h2, time):
    assert land(h, h1, h2) == pytest.approx(time, rel=1e-15, abs=1e-15)


def test_the_first_fall_through_zero_of_a_quartic_is_never_missed():
    """Quartics of four known real roots, above zero at the start."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(2000):
        roots = rng.uniform(-1.0, 3.0, size=4)
        c = np.poly(roots)[::-1]
        c *= np.sign(c[0])
        slope = np.polynomial.Polynomial(c).deriv()
        falls = sorted(x for x in roots if 0.0 < x <= 2.0 and slope(x) < 0.0)
        t = reach(c, 2.0)
        if not falls:
            assert t == math.inf
            continue
        found += 1
        # f is rounded by some ε of its largest term, below 100; two roots that nearly meet are as
        # uncertain as the root of that
        wrong = 100.0 * 2.2e-16
        assert t == pytest.approx(falls[0], abs=4.0 * min(wrong / -slope(falls[0]), wrong**0.5))
    assert found > 500


def test_a_quartic_that_begins_at_zero_rises_before_it_can_be_met():
    """A ball thrown up within a hollow cylinder: f = s (1 − s)(…) falls through zero at 1."""
    c = np.poly([0.0, 1.0, -2.0, -3.0])[::-1] * -1.0
    assert c[1] > 0.0
    for depth in (0.0, -1e-16):
        assert reach(c + np.array([depth, 0.0, 0.0, 0.0, 0.0]), 5.0) == pytest.approx(
            1.0, rel=1e-14
        )
    assert reach(-c, 5.0) == 0.0  # it falls now
