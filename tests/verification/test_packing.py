"""Packings under a piston: at rest to rounding, elastic for small loads, ringing as predicted."""

from __future__ import annotations

import numpy as np
import pytest

from hardgrain.papers.fit import damped_sine
from hardgrain.papers.unger2002.packing import PistonPacking, prepared, ring, sheared, struck
from hardgrain.theory import chain

pytestmark = pytest.mark.rounding


@pytest.fixture(scope="module")
def packing() -> PistonPacking:
    return prepared(1, 100, 2)


def test_a_packing_is_at_rest_and_repeats(packing: PistonPacking) -> None:
    assert packing.residual < 1e-9
    assert packing.overlap < 5e-3  # unfinished sweeps in the crash, see SWEEPS
    assert np.all(packing.state.velocity == 0.0)
    assert abs(ring(packing, 60, 50, jump=1e-12)[-1]) * 1e-12 < 1e-13
    assert np.array_equal(prepared(1, 100, 2).state.position, packing.state.position)


def test_small_loads_move_it_in_proportion() -> None:
    """Unless a contact begins to slide between the two loads, which happens in a few packings."""
    off = []
    for seed in range(1, 6):
        packing = prepared(seed, 60, 2)
        one, two = ring(packing, 20, 60, jump=1e-5), ring(packing, 20, 60, jump=2e-5)
        off.append(np.abs(two - one).max() / np.abs(one).max())
    assert np.median(off) < 1e-4


def test_sweeps_of_one_step_predict_the_ringing(packing: PistonPacking) -> None:
    excited, sweeps = struck(packing), 20
    rate = excited.rate()
    tau = chain.step_damping_time(rate, sweeps)
    x, t = excited.ring(sweeps, int(8 * tau)), np.arange(1.0, int(8 * tau) + 1.0)
    fit = damped_sine(t[t > 3 * tau], x[t > 3 * tau])
    # one order of random sweeps: some per cent, twice as many in the damping
    assert fit.frequency == pytest.approx(chain.step_frequency(rate, sweeps), rel=0.05)
    assert fit.damping_time == pytest.approx(tau, rel=0.1)


def test_shear_leaves_out_grains_that_nothing_holds() -> None:
    packing = prepared(2, 60, 2, periodic=True)
    excited = sheared(packing)
    c = packing.state.contacts
    pushed = c.normal_impulse() > 0.0
    free = np.setdiff1d(np.arange(60), np.append(c.first[pushed], c.second[pushed]))
    assert np.all(excited.state.velocity[free] == 0.0)
    v = excited.weight @ excited.state.velocity[:, 0]
    assert v == pytest.approx(excited.scale, rel=1e-12)  # the weights single out the mode
