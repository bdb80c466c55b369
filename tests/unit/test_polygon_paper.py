"""What the experiments of cegeo2012 compute of packings, against closed forms."""

import math

import numpy as np
import pytest

from hardgrain.papers.cegeo2012.means import Means
from hardgrain.papers.cegeo2012.sample import ROUND, SPAN, _diameters, eta, name
from hardgrain.papers.cegeo2012.shear import krengel
from hardgrain.papers.experiment import chance


def test_shape_parameter_of_regular_polygons() -> None:
    assert eta(6) == pytest.approx(1.0 - math.sqrt(3.0) / 2.0)  # the paper's η₀ of shapes C and D
    assert eta(3) == pytest.approx(0.5)
    assert eta(ROUND) == 0.0
    assert [name(k) for k in (ROUND, 5, 12)] == ["disks", "pentagons", "12-gons"]


def test_every_size_has_the_same_area() -> None:
    """Areas of grains in equal intervals of diameter are equal; each seed has the same grains."""
    d = _diameters(3000, seed=1)
    assert d.mean() == pytest.approx(1.0)
    assert d.max() / d.min() == pytest.approx(SPAN, rel=1e-3)  # ends are half a grain away
    edges = np.linspace(d.min(), d.max(), 5)
    area = np.histogram(d, edges, weights=d**2)[0]
    assert area / area.mean() == pytest.approx(np.ones(4), abs=0.01)  # 300 grains in the least
    other = _diameters(3000, seed=2)
    assert not np.array_equal(d, other)
    assert np.array_equal(np.sort(d), np.sort(other))


def test_errors_come_from_all_shapes() -> None:
    means = Means({0: [1.0, 3.0], 5: [10.0, 14.0]})
    assert means.mean == {0: 2.0, 5: 12.0}
    # deviations ±1 and ±2 with two degrees of freedom; a mean of two packings
    assert means.error == pytest.approx(math.sqrt(10.0 / 2.0 / 2.0))
    assert means.samples == 3
    assert means.difference(5, 0) == pytest.approx((10.0, math.sqrt(2.0) * means.error))
    told = means.told(2.0, "here", "at least", beside=0.5, why="so", factor=2.0)
    assert told.tolerance == pytest.approx(chance(2.0 * means.error, 3) + 0.5)
    assert told.side == "at least"


def test_second_hand_friction_angles() -> None:
    """Eq. 7 has 30° for pentagons and 17° for 64 sides, with µ = 0.5 and angles in radians."""
    assert math.degrees(math.asin(krengel(5))) == pytest.approx(30.3, abs=0.05)
    assert math.degrees(math.asin(krengel(ROUND))) == pytest.approx(17.0, abs=0.05)
