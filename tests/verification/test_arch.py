"""The semicircular masonry arch: how thin it may be, and about which hinges it falls.

Three ways are compared: the closed form of limit analysis (`theory.arch`), linear programs that
prove that admissible forces exist or do not, and simulation. Stones have straight inner and outer
sides, which the closed form knows, so that all three must agree at any number of stones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.forces import force_space
from hardgrain.measure.resultants import resultants
from hardgrain.theory.arch import centre_of_stone, thinnest_arch

MILANKOVITCH = 0.1075  # t/R, with R the mean radius
FRICTION = 2.0  # joints do not slide: the thrust leans by less than 30° against any of them


def arch(stones: int, thickness: float, **more: Any) -> hg.Simulation:
    """An arch of radius one on the ground, its stones numbered from the right springing."""
    delta = math.pi / stones
    centre = centre_of_stone(thickness, delta)
    c, s = math.cos(0.5 * delta), math.sin(0.5 * delta)
    inner, outer = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness
    corners = [
        [side * s * r, c * r - centre]
        for side, r in ((-1, outer), (-1, inner), (1, inner), (1, outer))
    ]
    angle = (np.arange(stones) + 0.5) * delta
    place = hg.At(
        positions=(centre * np.column_stack([np.cos(angle), np.sin(angle)])).tolist(),
        orientations=(angle - 0.5 * math.pi).tolist(),
    )
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[
            hg.Grains(shape={"kind": "polygon", "corners": corners}, place=place, count=stones)
        ],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1], name="ground")],
        contacts=[hg.ContactLaw(friction=FRICTION)],
    )
    solver = hg.GaussSeidel(sweeps=20000, stop="residual", tolerance=1e-10)
    return hg.Simulation(scene, **{"dt": 0.01, "solver": solver} | more)


def possible(stones: int, thickness: float) -> bool:
    """Whether any forces balance the weights: the geometry counts, not what a solver found."""
    sim = arch(stones, thickness, solver=hg.GaussSeidel(sweeps=1))
    sim.step()
    space = force_space(sim, balance="loads")
    assert space.contacts == 2 * (stones + 1)  # two points in each joint
    return not space.empty


def thinnest(stones: int) -> float:
    """The least t/R for which admissible forces exist, by bisection of linear programs."""
    low, high = 0.10, 0.12
    assert not possible(stones, low)
    assert possible(stones, high)
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if possible(stones, middle) else (middle, high)
    return 0.5 * (low + high)


@pytest.mark.parametrize("stones", [10, 26])
def test_forces_exist_just_where_limit_analysis_says(stones: int) -> None:
    """Linear programs are exact to their tolerance of 1e-7 in forces; bisection to 1e-6 in t/R."""
    assert thinnest(stones) == pytest.approx(thinnest_arch(stones).thickness, abs=3e-6)


def test_many_stones_approach_milankovitch() -> None:
    """Chords and joints at steps of π/n change t/R by terms in 1/n².

    With 10, 20 and 40 stones a joint lies at 54° in each, half a degree from where the continuous
    arch opens, which costs 2e-5 of t/R and stays. The rest is extrapolated in 1/n².
    """
    values = {n: thinnest(n) for n in (10, 20, 40)}
    limit = values[40] + (values[40] - values[20]) / 3.0
    order = math.log2((values[20] - values[10]) / (values[40] - values[20]))
    assert order == pytest.approx(2.0, abs=0.1)  # differences of 1e-4 are known to 1e-6
    assert limit == pytest.approx(thinnest_arch().thickness, abs=3e-5)
    assert limit == pytest.approx(MILANKOVITCH, rel=0.002)
    assert values[40] == pytest.approx(MILANKOVITCH, rel=0.01)


def test_the_closed_form_is_that_of_the_literature() -> None:
    """Milankovitch (1907): t/R = 0.1075 with hinges near 54.5°, to the digits that are quoted."""
    limit = thinnest_arch()
    assert limit.thickness == pytest.approx(MILANKOVITCH, abs=5e-5)
    assert math.degrees(limit.hinge) == pytest.approx(54.5, abs=0.05)
    assert thinnest_arch(2000).thickness == pytest.approx(limit.thickness, abs=1e-6)
    with pytest.raises(ValueError, match="even number from 4"):
        thinnest_arch(7)


@pytest.mark.parametrize("stones", [10, 20])
def test_it_stands_if_thicker_by_a_hundredth(stones: int) -> None:
    sim = arch(stones, 1.01 * thinnest_arch(stones).thickness)
    before = sim.state.position.copy()
    summary = sim.run(100, progress=False)
    assert summary.loose == 0
    # What the residual of 1e-10 leaves of g dt in each step, over a hundred steps of the same sign.
    assert np.abs(sim.state.position - before).max() < 1e-9
    assert np.abs(sim.state.velocity).max() < 1e-9


@pytest.mark.parametrize("stones", [10, 20])
def test_it_falls_about_five_hinges_if_thinner(stones: int) -> None:
    """Stones between hinges turn as one; the joints that open are those of limit analysis."""
    thin = thinnest_arch(stones)
    sim = arch(stones, 0.99 * thin.thickness)
    for _ in range(20):
        sim.step()
    assert sim.state.velocity[:stones, 1].min() < -1e-4  # a residual would leave 1e-10
    spin = np.concatenate([[0.0], sim.state.spin[:stones, 0], [0.0]])  # the ground at both ends
    opens = np.abs(np.diff(spin))  # of the joints 0 … n
    haunch = round(thin.hinge / math.pi * stones)
    expected = [0, stones // 2 - haunch, stones // 2, stones // 2 + haunch, stones]
    assert sorted(np.argsort(opens)[-5:].tolist()) == expected
    closed = np.delete(opens, expected)
    assert closed.max() < 1e-6 * opens[expected].min()


def test_the_thrust_is_where_limit_analysis_says() -> None:
    """A thousandth above the least t/R the forces have hardly a choice.

    They pass near the outer edge at the crown and the springings and near the inner edge at the
    haunches, within a tenth of the thickness: of the order of √0.001, as far as a line that just
    fits into the arch can be moved.
    """
    stones = 20
    thin = thinnest_arch(stones)
    t = 1.001 * thin.thickness
    sim = arch(stones, t)
    sim.run(20, progress=False)
    found = resultants(sim)
    place = (np.linalg.norm(found.centre, axis=1) - 1.0) / t  # −1/2 inside … 1/2 outside
    angle = np.abs(0.5 * math.pi - np.arctan2(found.centre[:, 1], found.centre[:, 0]))
    assert len(place) == stones + 1
    for where, edge in ((0.0, 0.5), (thin.hinge, -0.5), (0.5 * math.pi, 0.5)):
        here = np.abs(angle - where) < 0.01
        assert here.sum() == (1 if where == 0.0 else 2)
        np.testing.assert_allclose(place[here], edge, atol=0.1)
