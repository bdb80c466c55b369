"""Falling dominoes against van Leeuwen's theory (Am. J. Phys. 78, 721, 2010), solved by quadrature.

The theory takes dominoes that turn about their lower front edges without slipping or lifting, with
smooth faces; collisions without rebound; and dominoes that keep leaning on each other. Here nothing
of this is imposed: dominoes are free rectangles on a rough table, restitution is zero and friction
between them too. That they do as the theory assumes is a result.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.theory.dominoes import front_speed, intervals

THICK = 0.179  # [height] a common domino, 7.5 mm of 42 mm
COUNT = 9
# A blow at the top of a standing domino asks its front edge for a friction of about h/(3 d) = 1.9.
TABLE = 3.0


def row(gap: float, dt: float, spin: float, friction: float = 0.0) -> hg.Simulation:
    """A row of which the first one turns about its lower front edge."""
    shape = {"kind": "box", "sides": [THICK, 1.0]}
    places = [[k * (gap + THICK), 0.5] for k in range(COUNT)]
    pushed = hg.Grains(
        shape=shape,
        place=hg.At(positions=places[:1]),
        velocity=[0.5 * spin, 0.5 * THICK * spin],
        spin=-spin,
    )
    others = hg.Grains(shape=shape, place=hg.At(positions=places[1:]), count=COUNT - 1)
    table = hg.Plane(point=[0, 0], normal=[0, 1], name="table", material="table")
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[pushed, others],
        walls=[table],
        materials={"domino": hg.Material(), "table": hg.Material()},
        contacts=[
            hg.ContactLaw(friction=friction),
            hg.ContactLaw(between=("domino", "table"), friction=TABLE),
        ],
    )
    solver = hg.GaussSeidel(sweeps=5000, stop="residual", tolerance=1e-8)
    return hg.Simulation(scene, dt=dt, solver=solver)


def hits(sim: hg.Simulation) -> np.ndarray:
    """The times at which the dominoes from the second to the last begin to turn."""
    found: list[float] = []
    while len(found) < COUNT - 1:
        sim.step()
        while len(found) < COUNT - 1 and sim.state.spin[len(found) + 1, 0] < -1e-3:
            found.append(sim.state.time)
        assert sim.state.time < 20.0
    return np.array(found)


@pytest.mark.parametrize("gap", [0.2, 0.5])
def test_each_domino_is_hit_when_theory_says(gap: float) -> None:
    """The error is of first order in dt: half of it goes with half the step.

    A blow is noticed at the end of its step, up to dt late. Turning about an edge by implicit steps
    lags by some dt/2 for each domino on the way.
    """
    theory = np.cumsum(list(islice(intervals(gap, THICK, 1.0), COUNT - 1)))
    late = {dt: hits(row(gap, dt, 1.0)) - theory for dt in (0.004, 0.002)}
    for dt, error in late.items():
        assert np.abs(error).max() < (1.0 + 0.5 * COUNT) * dt
    better = 2.0 * late[0.002] - late[0.004]  # without the term of first order
    assert np.abs(better).max() < 2.0 * 0.004  # two times known to a step each


def test_the_front_approaches_its_speed() -> None:
    """s = h/2: 1.678 √(g h), within 1 % after eight dominoes; friction between them slows it down.

    The first is pushed so hard that the theory is within 0.3 % of its limit from the fifth on. Of
    the time for a pitch, 0.4, a step of 0.002 is 0.5 %; three pitches are timed to a step or two.
    """
    gap, dt, push = 0.5, 0.002, 3.0
    limit = front_speed(gap, THICK)
    smooth, rough = (hits(row(gap, dt, push, friction)) for friction in (0.0, 0.2))
    speed = 3.0 * (gap + THICK) / (smooth[-1] - smooth[-4])
    assert speed == pytest.approx(limit, rel=0.01)
    assert rough[-1] - rough[-4] > (smooth[-1] - smooth[-4]) + 2.0 * dt


def test_the_limit_forgets_how_it_began() -> None:
    """A long row has one speed; a first domino that is too slow to tip over falls back."""
    for push in (1.0, 3.0):
        *_, last = islice(intervals(0.4, THICK, push), 60)
        assert (0.4 + THICK) / last == pytest.approx(front_speed(0.4, THICK), rel=1e-9)
    with pytest.raises(ValueError, match="lack the energy"):
        next(intervals(0.3, 0.5, 0.01))
