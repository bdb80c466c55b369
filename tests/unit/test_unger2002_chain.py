"""The chain at rest that the experiments of unger2002 start from, and what they expect of it."""

import itertools
import math

import numpy as np
import pytest

from hardgrain.papers.unger2002.elasticity import ZETA_HALF, step_shrinkage
from hardgrain.papers.unger2002.pulse import arrivals, expected_momentum, speed
from hardgrain.papers.unger2002.relaxation import EXTRA, relaxed
from hardgrain.papers.unger2002.row import (
    LOAD,
    at_rest,
    forces,
    mean_sweep,
    mode_amplitude,
    neglected,
    relaxation_rates,
    shape,
    wavenumber,
)
from hardgrain.papers.unger2002.stability import at_rest_problem, radius, substeps
from hardgrain.theory import chain as theory

pytestmark = pytest.mark.rounding


@pytest.mark.parametrize("dt", [1.0, 0.25])
def test_a_chain_at_rest_stays_there(dt: float) -> None:
    sim = at_rest(12, 3, dt=dt)
    assert sim.step().loaded == 12
    assert np.abs(sim.state.velocity).max() < 1e-15
    assert forces(sim) == pytest.approx(np.full(12, LOAD), rel=1e-12)


def test_modes_are_orthogonal() -> None:
    phi = np.array([shape(j, 9) for j in range(1, 10)])
    assert phi @ phi.T == pytest.approx(np.eye(9), abs=1e-12)


def test_rates_are_those_of_the_mean_over_all_orders() -> None:
    n = 5
    b = 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1))
    b[0, 1] = 1.0  # the wall contact follows its one neighbour
    mean = np.zeros((n, n))
    for order in itertools.permutations(range(n)):
        sweep = np.eye(n)
        for i in order:
            sweep[i] = b[i] @ sweep
        mean += sweep / math.factorial(n)
    assert mean_sweep(n) == pytest.approx(mean, abs=1e-12)
    rates = np.sort(1.0 - np.linalg.eigvals(mean).real)
    assert relaxation_rates(n) == pytest.approx(rates, rel=1e-9)


@pytest.mark.parametrize(("particles", "sweeps"), [(30, 10), (50, 40), (100, 80)])
def test_what_the_continuum_neglects_is_no_more_than_said(particles: int, sweeps: int) -> None:
    k, rate = wavenumber(1, particles), relaxation_rates(particles)[0]
    omega = theory.step_frequency(rate, sweeps) / theory.frequency(k, sweeps) - 1.0
    tau = theory.step_damping_time(rate, sweeps) / theory.damping_time(k, sweeps) - 1.0
    assert abs(omega) <= neglected(particles, sweeps)[0]
    assert abs(tau) <= neglected(particles, sweeps)[1]


def test_a_blow_hands_on_all_of_its_momentum() -> None:
    passed = expected_momentum(60, 12, 400)  # at the wall, a reflected pulse passes it back
    assert passed[-1] == pytest.approx(np.full(12, 1.0), abs=0.02)
    first = expected_momentum(4000, 12, 1)[0]  # so many sweeps stop the blow within its step
    assert first == pytest.approx(np.ones(12), abs=1e-9)


@pytest.mark.parametrize("n", [5, 20])
def test_contacts_of_a_chain_answer_to_two_neighbours(n: int) -> None:
    problem = at_rest_problem("chain", n, 0)
    assert radius(problem) == pytest.approx(1.0 + math.cos(math.pi / (2 * n)), rel=1e-9)
    sweeps, q = 40, theory.q()
    step = math.sqrt(1.0 + 1.0 / (q * sweeps)) - 1.0  # of k dt² + 2 c dt = 4 with k = c = 4 q N
    assert substeps(2.0, sweeps, q)[0] == pytest.approx(1.0 / step, rel=1e-9)


def test_rates_are_those_of_an_endless_chain_but_for_its_wall() -> None:
    n = 100
    endless = theory.relaxation_rate(wavenumber(np.arange(1, n + 1), n))
    assert relaxation_rates(n)[:20] == pytest.approx(endless[:20], rel=0.08 / n)
    assert relaxation_rates(n) == pytest.approx(endless, rel=0.2 / n)


@pytest.mark.parametrize("order", ["sequential", "coloured", "parallel"])
def test_forces_relax_as_the_solver_says(order: str) -> None:
    n, sweeps = 20, 30
    k = wavenumber(1, n)
    mode = np.cos(k * np.arange(n))
    left = [relaxed(n, s, EXTRA * mode, order, seed=0) @ mode for s in (sweeps, 2 * sweeps)]
    shrinks = theory.remaining(theory.relaxation_rate(k, order=order), sweeps)
    # a sweep in one direction mixes modes: a trace of faster ones is still there
    assert left[1] / left[0] == pytest.approx(shrinks, rel=1e-3 if order == "sequential" else 1e-6)


def test_a_mode_follows_the_exact_map() -> None:
    n, sweeps = 10, 6
    a = theory.remaining(theory.relaxation_rate(wavenumber(1, n), order="parallel"), sweeps)
    v, p, expected = 1.0, 0.0, [1.0]
    for _ in range(15):
        p = -v + a * (p + v)
        v += p
        expected.append(v)
    assert mode_amplitude(1, n, sweeps, 15, order="parallel") == pytest.approx(expected, abs=1e-9)


def test_shrinkage_is_that_of_springs_but_for_a_piece_at_the_end() -> None:
    sweeps = 40
    kappa = theory.stiffness(sweeps)
    sag = [step_shrinkage(1.0, n, sweeps) for n in (200, 400)]
    assert (sag[1] - sag[0]) / 200 == pytest.approx(1.0 / kappa, rel=1e-3)
    rigid = -ZETA_HALF * math.sqrt(theory.q() * sweeps / math.pi)
    assert 200 - kappa * sag[0] == pytest.approx(rigid, abs=0.15)  # 0.07: the wall


def test_arrival_of_a_known_pulse() -> None:
    t, x = np.arange(1.0, 61.0)[:, None], np.arange(1.0, 101.0)
    passed = 0.5 * (1.0 + np.tanh((t - x / 2.5) / 3.0))
    assert arrivals(passed)[20:80] == pytest.approx(x[20:80] / 2.5, abs=0.01)
    assert speed(arrivals(passed)) == pytest.approx(2.5, rel=1e-3)
    assert math.isnan(arrivals(passed[:10])[-1])
