"""The chain of unger2002 as a function."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

import hardgrain
from hardgrain.papers import unger2002
from hardgrain.papers.unger2002.relaxation import EXTRA, relaxed
from hardgrain.papers.unger2002.row import Chain, wavenumber

pytestmark = pytest.mark.rounding


def test_chain_is_callable_as_promised() -> None:
    promised = "(particles=50, sweeps=40, force=0.05, steps=1000, seed=0, order='random')"
    parameters = inspect.signature(hardgrain.papers.unger2002.chain).parameters.values()
    assert f"({', '.join(f'{p.name}={p.default!r}' for p in parameters)})" == promised


def test_chain_rings_as_theory_says() -> None:
    run = unger2002.chain(particles=30, sweeps=20, steps=600)
    assert run.time.shape == run.position.shape == (600,)
    assert run.position[0] == pytest.approx(1.0 + 29.5, abs=0.05)  # one diameter from the wall
    k = hardgrain.theory.chain.slowest_wavenumber(30.0)
    tau = hardgrain.theory.chain.damping_time(k, 20)
    fit = run.fit(run.settled + 2.0 * tau, 600.0)
    # one seed: three times the spread of seeds, 0.2 % and 1.2 %
    assert fit.frequency == pytest.approx(hardgrain.theory.chain.frequency(k, 20), rel=0.006)
    assert fit.damping_time == pytest.approx(tau, rel=0.036)


def test_chain_is_repeatable() -> None:
    runs = [unger2002.chain(10, 5, steps=50, seed=seed) for seed in (3, 3, 4)]
    assert np.array_equal(runs[0].position, runs[1].position)
    assert not np.array_equal(runs[0].position, runs[2].position)


@pytest.mark.parametrize(
    "order", ["random", "drawn", "sequential", "symmetric", "coloured", "parallel"]
)
def test_chain_knows_all_orders(order: str) -> None:
    run = unger2002.chain(8, 400, steps=60, order=order)  # so many sweeps that it is rigid
    assert run.position[-1] == pytest.approx(7.5, abs=0.01)
    assert math.isnan(run.fit(0.0, 8.0).frequency)  # on its way to the wall, it does not ring


def test_q_of_drawn_contacts() -> None:
    """A mode of the forces decays by (1 − (1 − cos k)/n)ⁿ a sweep on average: q = 1/2.

    Exactly so, wall and free end included (the derivation is in `theory.chain`); judged by the
    standard error over seeds, which tells 1/2 from the 0.797 of random sweeps many times over.
    """
    n, sweeps, seeds = 30, 300, 40
    k = wavenumber(1, n)
    mode = np.cos(k * np.arange(n))
    left = [relaxed(n, sweeps, EXTRA * mode, "drawn", seed) @ mode for seed in range(seeds)]
    share = np.array(left) / (EXTRA * mode @ mode)
    expected = (1.0 - (1.0 - math.cos(k)) / n) ** (n * sweeps)
    error = share.std(ddof=1) / math.sqrt(seeds)
    assert abs(share.mean() - expected) < 4.0 * error
    q = -math.log(share.mean()) / (sweeps * k**2)
    q_error = error / share.mean() / (sweeps * k**2)
    assert q_error < 0.01
    assert q == pytest.approx(hardgrain.theory.chain.q("drawn"), abs=4.0 * q_error)


@pytest.mark.parametrize(
    ("start", "stop"), [(40, 20), (200, 300), (10, 16.5), (math.nan, 40), (math.inf, math.inf)]
)
def test_fit_refuses_a_window_without_data(start: float, stop: float) -> None:
    time = np.arange(1.0, 61.0)
    sentence = (
        f"start is {start:g} and stop is {stop:g}; between them must be at least 8 of the chain's"
        " steps, which are 1 to 60"
    )
    with pytest.raises(hardgrain.InputError, match=sentence):
        Chain(time, np.sin(time), 0.0).fit(start, stop)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"particles": 1}, "particles is 1"),
        ({"steps": 0}, "steps is 0"),
        ({"order": "backwards"}, "order is 'backwards'; give one of parallel, random"),
        ({"sweeps": 0}, "sweeps"),
    ],
)
def test_chain_refuses_nonsense(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(hardgrain.InputError, match=sentence):
        unger2002.chain(**given)
