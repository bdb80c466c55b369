"""Closed forms of the elastic chain: against the paper's figures, each other and a plain matrix."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import pytest

import hardgrain
from hardgrain.errors import InputError
from hardgrain.theory import chain


def test_q_of_the_orders() -> None:
    assert chain.q("parallel") == 0.5
    assert chain.q("drawn") == 0.5
    assert chain.q("random") == pytest.approx(0.797, abs=5e-4)  # (A4) as printed
    assert chain.q_series(1) == 0.5  # no hand-over at all: the parallel update
    assert chain.q_series(20) == pytest.approx(chain.q("random"), rel=1e-15)
    assert abs(chain.q_series(8) - chain.q("random")) < 1e-6  # "for r = 8 it drops below 1e-6"
    assert chain.q_series(200) == chain.q_series(20)
    assert chain.q(0.3) == 0.3


def test_unknown_order_is_refused() -> None:
    with pytest.raises(InputError, match=r"order is 'shuffled'; give one of parallel, random"):
        chain.sound_speed(10, order="shuffled")
    with pytest.raises(InputError, match=r"give parallel, random"):
        chain.relaxation_rate(0.1, order="symmetric")


@pytest.mark.parametrize(
    ("function", "given", "sentence"),
    [
        (chain.q, {"order": -1}, "order is -1; give one of parallel, .*, or q itself"),
        (chain.q_series, {"terms": 0}, "terms is 0; give a whole number of at least 1"),
        (chain.q_series, {"terms": 2.5}, "terms is 2.5; give a whole number"),
        (chain.sound_speed, {"sweeps": -1}, "sweeps is -1; give a number from 0 to 1e50"),
        (chain.sound_speed, {"sweeps": "ten"}, "sweeps is 'ten'; give a number from 0"),
        (chain.sound_speed, {"sweeps": math.nan}, "sweeps is nan; give"),
        (chain.stiffness, {"sweeps": 40, "dt": 0}, "dt is 0; give a positive number"),
        (chain.frequency, {"k": [0.1, -2.0], "sweeps": 4}, "k is -2.0; give a number from 0"),
        (chain.step_sag, {"rate": 2.1, "sweeps": 4}, "rate is 2.1; give a number from 0 to 2"),
        (chain.sweeps_for_rigidity, {"length": -5}, "length is -5; give a positive number"),
        (chain.sweeps_for_rigidity, {"length": 0.0}, "length is 0.0; give a positive number"),
        (chain.sweeps_for_rigidity, {"length": 1e200}, r"length is 1e\+200; give .* to 1e50"),
        (chain.sweeps_for_rigidity, {"length": math.inf}, "length is inf; give a positive number"),
    ],
)
def test_refusals(function: Any, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        function(**given)
    with pytest.raises(InputError, match=sentence):  # by place as by name
        function(*given.values())


def test_every_number_is_checked() -> None:
    """Whatever takes a number refuses one that is none, and names it."""
    for name in set(chain.__all__) - {"Q"}:
        function = getattr(chain, name)
        arguments = inspect.signature(function).parameters
        for wrong in arguments:
            with pytest.raises(InputError, match=f"^{wrong} is nan; give "):
                function(**dict.fromkeys(arguments, 1.0) | {wrong: math.nan})


def test_results_of_extreme_arguments_are_finite() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, y in ((1e-50, 1e50), (1e50, 1e-50)):
            assert 0.0 < chain.coupling(x, y, x, x, x) < math.inf
            assert 0.0 < chain.diffusion(x, y, x, x) < math.inf
            assert 0.0 < chain.sweeps_and_step(y, x, y, y)[0] < math.inf
            assert 0.0 < chain.damping_time(1.0, x, 1.0, y, x) < math.inf
        assert chain.sweeps_for_rigidity(1e50, 1e-50, 1e-50) > 1


def test_no_sweeps_carry_nothing() -> None:
    assert chain.sound_speed(0) == chain.diffusion_length(0) == chain.frequency(0.1, 0) == 0.0
    assert chain.critical_wavenumber(0) == chain.damping_time(0.1, 0) == math.inf
    assert chain.remaining([0.0, 0.3, 1.0], 0) == pytest.approx(1.0, abs=0.0)


def test_figure_4() -> None:
    """50 disks, 40 sweeps: ω = 0.17673/dt, τ = 63.53 dt, from (18) and (20) by hand."""
    k = chain.slowest_wavenumber(50)
    assert k == 2 * math.pi / 200
    assert chain.frequency(k, 40) == pytest.approx(0.17673, abs=5e-6)
    assert chain.damping_time(k, 40) == pytest.approx(63.53, abs=6e-2)
    assert hardgrain.theory.chain is chain


def test_units() -> None:
    """In a chain of other units everything scales as its dimension says."""
    sweeps, dt, d, m, k = 17, 0.01, 2.5, 3.0, 0.02
    assert chain.sound_speed(sweeps, dt, d) == pytest.approx(chain.sound_speed(sweeps) * d / dt)
    assert chain.frequency(k, sweeps, dt, d) == pytest.approx(chain.frequency(k * d, sweeps) / dt)
    assert chain.damping_time(k, sweeps, dt, d) == pytest.approx(
        chain.damping_time(k * d, sweeps) * dt
    )
    assert chain.diffusion(sweeps, dt, d) == pytest.approx(chain.diffusion(sweeps) * d**2 / dt)
    assert chain.coupling(sweeps, dt, d, m) == pytest.approx(chain.coupling(sweeps) * m * d / dt**2)
    assert chain.stiffness(sweeps, dt, m) == pytest.approx(chain.stiffness(sweeps) * m / dt**2)
    assert chain.damping(sweeps, dt, m) == pytest.approx(chain.damping(sweeps) * m / dt)


def test_relations_between_them() -> None:
    sweeps, dt, d, m = 30, 0.1, 0.7, 2.0
    c, big_d = chain.sound_speed(sweeps, dt, d), chain.diffusion(sweeps, dt, d)
    k_c = chain.critical_wavenumber(sweeps, d)
    assert k_c == pytest.approx(2 * c / big_d)  # (19)
    assert c**2 == pytest.approx(chain.coupling(sweeps, dt, d, m) * d / m)  # (16) from (12), (13)
    assert c**2 == pytest.approx(chain.stiffness(sweeps, dt, m) * d**2 / m)  # (23)
    assert big_d == pytest.approx(chain.damping(sweeps, dt, m) * d**2 / m)
    assert chain.sound_length(sweeps, d) == pytest.approx(c * dt)
    assert chain.critical_wavelength(sweeps, d) == pytest.approx(2 * math.pi / k_c)
    assert chain.diffusion_length(sweeps, d) == pytest.approx(math.sqrt(4 * big_d * dt))
    assert chain.frequency(k_c * np.array([0.999, 1.0, 1.3]), sweeps, dt, d)[1:] == pytest.approx(0)
    # Both roots of the overdamped wave: s² − D k² s + c² k² = 0, the longer time is the smaller s.
    k = 1.3 * k_c
    roots = np.roots([1.0, -big_d * k**2, (c * k) ** 2])
    assert chain.damping_time(k, sweeps, dt, d) == pytest.approx(1 / roots.min())
    k = 0.4 * k_c
    s = np.roots([1.0, -big_d * k**2, (c * k) ** 2])
    assert chain.frequency(k, sweeps, dt, d) == pytest.approx(abs(s[0].imag))
    assert chain.damping_time(k, sweeps, dt, d) == pytest.approx(1 / s[0].real)


def test_times_of_the_longest_and_shortest_waves() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        long, short = chain.damping_time(np.array([0.0, 1e9]), 40, dt=0.1)
    assert long == math.inf
    assert short == pytest.approx(0.1, rel=1e-15)  # the dashpots' own: D/c² = dt
    assert chain.frequency(0.0, 40) == 0.0


@pytest.mark.parametrize("order", chain.Q)
def test_inverse_questions(order: str) -> None:
    n = chain.sweeps_for_rigidity(50.0, 1.0, order)
    assert chain.diffusion_length(n, 1.0, order) >= 50.0 > chain.diffusion_length(n - 1, 1.0, order)
    assert chain.sweeps_for_rigidity(0.1, 1.0, order) == 1
    kappa, gamma = chain.stiffness(37, 0.02, 1.5, order), chain.damping(37, 0.02, 1.5, order)
    assert chain.sweeps_for_stiffness(kappa, 0.02, 1.5, order) == 37
    assert chain.sweeps_and_step(kappa, gamma, 1.5, order) == pytest.approx((37, 0.02))
    assert chain.halved(37, 0.02, 1.5, order) == pytest.approx((2 * kappa, gamma))


def test_shrinkage_is_force_over_stiffness_of_springs_in_series() -> None:
    assert chain.shrinkage(2.0, 50, 10.0) == 10.0


# ---------------------------------------------------------------------- step by step, exactly
def chain_matrix(n: int) -> np.ndarray:
    """W of n grains of unit mass in a row, the first against a wall, the last free."""
    w = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    w[0, 0] = 1.0
    return w


def sweep_matrix(w: np.ndarray, order: np.ndarray) -> np.ndarray:
    """What one Gauss–Seidel sweep in the given order makes of an error, by doing it."""
    g = np.eye(len(w))
    for i in order:
        g[i] -= w[i] @ g / w[i, i]
    return g


@pytest.mark.parametrize("order", ["parallel", "sequential", "coloured"])
def test_relaxation_rate_is_that_of_the_matrix(order: str) -> None:
    n = 40
    w = chain_matrix(n)
    if order == "parallel":
        g = np.eye(n) - w / np.diag(w)[:, None]
    elif order == "sequential":
        g = sweep_matrix(w, np.arange(n))
    else:
        g = sweep_matrix(w, np.r_[0:n:2, 1:n:2])
    slowest = np.abs(np.linalg.eigvals(g)).max()
    assert 1 - slowest == pytest.approx(
        chain.relaxation_rate(chain.slowest_wavenumber(n), order=order), rel=1e-8
    )


def test_relaxation_rate_of_random_sweeps() -> None:
    """The mean over orders acts on the slowest mode as (A2) says, up to the ends of the chain."""
    n, samples = 12, 20_000
    w, rng = chain_matrix(n), np.random.default_rng(1)
    mean = sum(sweep_matrix(w, rng.permutation(n)) for _ in range(samples)) / samples
    slowest = np.linalg.eigvals(mean).real.max()
    expected = chain.relaxation_rate(chain.slowest_wavenumber(n))
    assert 1 - slowest == pytest.approx(expected, rel=0.02)  # noise of the mean, 1 %


def test_relaxation_rate_of_drawn_contacts() -> None:
    """The mean over draws, exactly: a visit's mean to the power of as many visits as contacts."""
    for n, accuracy in ((12, 0.05), (400, 0.05 * 12 / 400)):  # (1 − µ/n)ⁿ nears exp(−µ) as 1/n
        w = chain_matrix(n)
        visit = np.eye(n) - w / np.diag(w)[:, None] / n  # mean of n matrices, each of one contact
        if n == 12:
            each = [sweep_matrix(w, np.array([i])) for i in range(n)]
            np.testing.assert_allclose(visit, np.mean(each, axis=0), atol=1e-15)
        slowest = np.linalg.eigvals(np.linalg.matrix_power(visit, n)).real.max()
        expected = chain.relaxation_rate(chain.slowest_wavenumber(n), order="drawn")
        assert 1 - slowest == pytest.approx(expected, rel=accuracy)


@pytest.mark.parametrize("order", ["parallel", "random", "drawn", "sequential", "coloured"])
def test_relaxation_rate_of_long_waves_is_q(order: str) -> None:
    k = 1e-3
    assert chain.relaxation_rate(k, order=order) == pytest.approx(chain.q(order) * k**2, rel=1e-5)


def test_modes_of_a_step_by_its_matrix() -> None:
    """ω and τ of the exact map are those of the whole chain's step, sweeps and motion together."""
    n, sweeps = 20, 30
    w = chain_matrix(n)
    left = np.linalg.matrix_power(sweep_matrix(w, np.arange(n)), sweeps)
    inverse = np.linalg.inv(w)
    # P' = P* + left (P − P*) with P* = −W⁻¹ V, then V' = V + W P'
    to_p = np.hstack([-(np.eye(n) - left) @ inverse, left])
    step = np.vstack([np.hstack([np.eye(n), np.zeros((n, n))]) + w @ to_p, to_p])
    values = np.linalg.eigvals(step)
    slowest = values[np.abs(values).argmax()]
    rate = chain.relaxation_rate(chain.slowest_wavenumber(n), order="sequential")
    assert abs(np.angle(slowest)) == pytest.approx(chain.step_frequency(rate, sweeps), rel=1e-7)
    assert -1 / np.log(abs(slowest)) == pytest.approx(
        chain.step_damping_time(rate, sweeps), rel=1e-7
    )


def test_waves_in_which_a_sweep_overshoots() -> None:
    rate = chain.relaxation_rate(2.5)
    assert rate > 1.0
    assert 0.0 < chain.remaining(rate, 3) < 0.1
    assert np.isfinite(chain.step_frequency(rate, 3))
    assert chain.step_damping_time(rate, 3) > 0.0


def test_sag_of_a_mode_under_a_load_that_sets_in() -> None:
    """Summed up step by step, with the force in place of the velocity that it gives in a step."""
    rate, sweeps = 0.01, 35
    a, v, p, u = chain.remaining(rate, sweeps), 0.0, 0.0, 0.0
    for _ in range(2000):
        free = v + 1.0
        p = -free + a * (p + free)
        v = free + p
        u += v
    assert p == pytest.approx(-1.0)
    assert u == pytest.approx(chain.step_sag(rate, sweeps) / (sweeps * rate), rel=1e-9)


def test_continuum_is_the_limit_of_the_step() -> None:
    """Long waves, many steps a period: ω and τ agree to first order in N µ."""
    k, sweeps = 0.01, 40
    rate = chain.relaxation_rate(k)
    x = sweeps * rate
    assert chain.step_frequency(rate, sweeps) == pytest.approx(chain.frequency(k, sweeps), rel=x)
    assert chain.step_damping_time(rate, sweeps) == pytest.approx(
        chain.damping_time(k, sweeps), rel=x
    )


def test_limits_of_a_step() -> None:
    """Modes that hardly relax are continuum; those that relax at once or never have their own."""
    sweeps, dt = 40, 0.1
    rate = np.array([0.0, 1e-300, 1e-17, 1e-14, 1e-10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chain.step_sag(rate, sweeps) == pytest.approx(1.0, rel=1e-8)
        omega, tau = (f(rate, sweeps, dt) for f in (chain.step_frequency, chain.step_damping_time))
        assert omega == pytest.approx(np.sqrt(sweeps * rate) / dt, rel=1e-8)
        assert tau[1:] == pytest.approx(2.0 * dt / (sweeps * rate[1:]), rel=1e-8)
        assert tau[0] == chain.step_damping_time(2.0, sweeps) == math.inf
        assert chain.step_sag(2.0, sweeps) == math.inf
        assert chain.step_sag(1.0, sweeps) == chain.step_damping_time(1.0, sweeps) == 0.0
        assert chain.step_frequency(1.0, sweeps) == math.pi / 2
        assert chain.step_sag(0.9999, 400) == 0.0


@pytest.mark.parametrize("rate", [1e-3, 0.4, 0.99, 1.01, 1.9])
def test_a_step_as_it_is_written(rate: float) -> None:
    a, sweeps = abs(1.0 - rate) ** 3, 3
    assert chain.remaining(rate, sweeps) == pytest.approx(a, rel=1e-14)
    assert chain.step_frequency(rate, sweeps) == pytest.approx(math.acos(math.sqrt(a)), rel=1e-12)
    assert chain.step_sag(rate, sweeps) == pytest.approx(sweeps * rate * a / (1 - a), rel=1e-12)
    assert chain.step_damping_time(rate, sweeps) == pytest.approx(-2 / math.log(a), rel=1e-12)
