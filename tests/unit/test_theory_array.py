"""Closed forms of the array of disks: against the exact solver and against each other."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import hardgrain
from hardgrain.errors import InputError
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.theory import array

# Figs 8 and 9 of the paper, and Figs 5 to 7 with a tenth of the printed coefficients
FIG9: dict[str, Any] = {"particles": 30, "brake": 0.01, "mu": 0.04, "mu_plane": 0.1,
                        "mu_block": 0.001}  # fmt: skip
FIG5: dict[str, Any] = {"particles": 80, "brake": 0.01, "mu": 0.006, "mu_plane": 0.01,
                        "mu_block": 0.001}  # fmt: skip


def without(case: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in case.items() if name not in names}


@pytest.mark.parametrize("mu_block", [0.0, 0.001, 0.04, 0.2])
@pytest.mark.parametrize("particles", [1, 2, 3, 7, 30])
def test_an_array_of_rolling_disks(particles: int, mu_block: float) -> None:
    case = FIG9 | {"particles": particles, "mu_block": mu_block}
    m, mu_e = array.rolling_array(**without(case, "mu_plane"))
    threshold = array.least_drive(**without(case, "mu_plane"))
    drive = 1.5 * threshold
    found = steady_state(drive=drive, **case)
    assert found.modes == (particles, 0, 0)
    assert found.acceleration == pytest.approx((drive - threshold) / m, rel=1e-12)
    assert found.friction == pytest.approx(
        mu_e + (m / particles - 1.0) * found.acceleration, rel=1e-11
    )
    n = array.rolling_normals(acceleration=found.acceleration, **without(case, "mu_plane"))
    assert n == pytest.approx(found.normal, rel=1e-12)
    eta = array.rolling_mobilisation(acceleration=found.acceleration, **case)
    assert eta == pytest.approx(found.tangential_plane / (0.1 * found.normal_plane), rel=1e-11)
    # between the brake and the threshold it rests
    at_rest = steady_state(drive=math.sqrt(0.01 * threshold), **case)
    assert at_rest.acceleration == pytest.approx(0.0, abs=1e-15)


def test_where_rolling_ends() -> None:
    found = pieces(low=0.0, high=10.0, **FIG9)
    assert found.drive[0] == pytest.approx(array.least_drive(**without(FIG9, "mu_plane")))
    m, mu_e = array.rolling_array(**without(FIG9, "mu_plane"))
    assert (m, mu_e) == pytest.approx((found.inertia[0], found.effective_friction[0]), rel=1e-12)
    end = array.rolling_end(**FIG9)
    assert end == pytest.approx(found.acceleration[1], rel=1e-11)
    eta = array.rolling_mobilisation(acceleration=end, **FIG9)
    assert eta.max() == pytest.approx(1.0, rel=1e-12)
    assert eta.argmax() == 28  # disk 29: the block holds disk 30 by less than a disk would
    assert array.rolling_mobilisation(
        acceleration=end, **FIG9 | {"mu_block": 0.04}
    ).argmax() == 29  # fmt: skip
    assert array.rolling_end(**FIG9 | {"mu": 0.3}) == 0.0


def test_printed_forms() -> None:
    """(7) and (8): the whole array's for µ'' = µ, and first orders in µ."""
    m, mu_e = array.rolling_array(30, 0.01, 0.04, 0.04)
    assert m == pytest.approx(array.rolling_inertia(30, 0.04), rel=1e-14)
    assert mu_e == pytest.approx(array.rolling_friction(30, 0.01, 0.04), rel=1e-14)
    assert array.rolling_inertia(30, 0.04) == pytest.approx(
        1.5 / 0.08 * ((1.04 / 0.96) ** 30 - 1.0), rel=1e-13
    )
    assert array.rolling_inertia(30, 1e-9) == pytest.approx(45.0, rel=1e-7)  # (1 + I) L
    assert array.rolling_inertia(30, 0.0) == 45.0
    assert array.rolling_friction(30, 0.01, 1e-9) == pytest.approx(2e-11, rel=1e-7)  # 2 µ N_0
    assert array.rolling_friction(3, 0.5, 0.0) == 0.0
    # F_e / m_e depends on N_0 and µ alone, as the paper says
    ratios = [
        n * array.rolling_friction(n, 0.01, 0.04) / array.rolling_inertia(n, 0.04)
        for n in (1, 10, 50)
    ]
    assert ratios == pytest.approx(3 * [2 * 0.04 * 0.01 / 1.5], rel=1e-13)


def test_a_moving_array_piece_by_piece() -> None:
    """Every piece of Fig. 9 but the first, where all roll, and those in which v̇ is not unique."""
    found = pieces(low=0.0, high=10.0, **FIG9)
    held = 0
    for k, states in enumerate(found.states):
        if k == 0 or not found.determinate[k]:
            continue
        middle = 0.5 * (found.drive[k] + found.drive[k + 1])
        rolling, sliding, _ = steady_state(drive=middle, **FIG9).modes
        if states[-2] == 0:
            theory = array.rolling_last(rolling=rolling, **FIG9)
        elif states[-1]:
            theory = array.moving_array(rolling=rolling, block=int(states[-1]), **FIG9)
        else:
            held += 1
            theory = array.spike(rolling=rolling, sliding=sliding, **FIG9)
        measured = found.inertia[k], found.effective_friction[k]
        assert measured == pytest.approx(theory, rel=1e-10)
    assert held == 13


def test_fast_driving() -> None:
    m, mu_e = array.moving_array(rolling=0, **FIG9)
    assert m == pytest.approx(30 / (1 - 1e-4), rel=1e-15)
    assert mu_e == pytest.approx(0.1 / (1 - 1e-4), rel=1e-15)
    back = array.moving_array(rolling=0, block=-1, **FIG9)
    assert back[0] == pytest.approx(30 / (1 + 1e-4), rel=1e-15)


def test_lengths_and_forces_of_three_modes() -> None:
    found = steady_state(drive=1.4, **FIG5)
    v, (first, second, _) = found.acceleration, found.modes
    assert array.rolling_length(acceleration=v, **without(FIG5, "particles")) == first == 30
    assert array.sliding_length(v, 0.006, 0.01) == pytest.approx(second, abs=1.0)
    # mode 1: T' + v̇ grows by λ
    grown = found.tangential_plane[1:first] + v
    assert grown[1:] / grown[:-1] == pytest.approx(array.growth(0.006), rel=1e-11)
    # mode 2: N grows by a constant
    step = array.sliding_friction(0.006, 0.01) + array.sliding_inertia(1, 0.006, 0.01) * v
    assert np.diff(found.normal)[first : first + second] == pytest.approx(step, rel=1e-11)
    # mode 3: disks 50 to 79 counter-rotate; disk 80 slides on all sides
    begin, end = first + second, 79
    t, omega = array.counter_rotation(
        end - begin, found.tangential[begin], found.tangential[end], 0.01
    )
    assert t == pytest.approx(found.tangential[begin : end + 1], rel=1e-10)
    assert omega == pytest.approx(found.angular_acceleration[begin], rel=1e-9)


def test_rolling_length_against_the_solver() -> None:
    for drive in (0.2, 0.5, 1.0, 2.0, 3.0):
        found = steady_state(drive=drive, **FIG5)
        length = array.rolling_length(acceleration=found.acceleration, **without(FIG5, "particles"))
        assert found.modes[0] == min(length, 80)
    static = array.rolling_length(0.0, 0.01, 0.006, 0.01, 0.001)
    assert static > 30
    assert array.rolling_length(0.0, 0.01, 0.0, 0.01, 0.001) == math.inf
    assert array.rolling_length(0.0, 0.0, 0.1, 0.01, 0.001) == math.inf
    assert array.rolling_length(0.3, 0.01, 0.04, 0.1, 0.001) == 0.0
    assert array.rolling_length(0.0, 1.0, 0.04, 0.041, 0.0) == 1.0
    assert array.sliding_length(0.0, 0.04, 0.1) == 0.0
    assert array.sliding_length(0.1, 0.0, 0.1) == math.inf


def test_constant_velocity() -> None:
    """(11) is the exact µ_e up to µ µ' and µ''."""
    printed = array.mixed_friction(30, 10, 0.01, 0.04, 0.1)
    exact = array.moving_array(30, 10, 0.01, 0.04, 0.1, 0.001)[1]
    assert printed == pytest.approx(exact, rel=5e-3)
    assert array.mixed_friction(30, 30, 0.01, 0.04, 0.1) == pytest.approx(
        array.rolling_friction(30, 0.01, 0.04), rel=1e-14
    )


@pytest.mark.parametrize("mu_plane", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("particles", [2, 5, 6, 7, 12])
def test_the_drive_that_lifts_a_disk(particles: int, mu_plane: float) -> None:
    """The exact path is closed up to N_c and no further; where there is none, for ever."""
    known = array.opening_drive(particles, 0.01, mu_plane, 0.001)
    path = pieces(particles, 0.01, 0.1, mu_plane, 0.001, 0.0, min(2.0 * known, 1e5))
    assert path.closed.all() == math.isinf(known)
    if math.isfinite(known):
        first = int(np.flatnonzero(~path.closed)[0])
        assert path.drive[first] == pytest.approx(known, rel=1e-10)
    assert array.opening_drive(1, 0.01, mu_plane, 0.001) == math.inf
    assert array.opening_drive(particles, 0.01, mu_plane, 0.0) == math.inf


def test_refusals() -> None:
    valid = dict.fromkeys(("mu", "mu_plane", "mu_block", "brake", "acceleration"), 0.1)
    valid |= {"particles": 9.0, "rolling": 2.0, "sliding": 1.0}
    for name in array.__all__:
        function = getattr(array, name)
        arguments = inspect.signature(function).parameters
        given = {a: valid.get(a, 0.5) for a in arguments}
        function(**given)
        for wrong in arguments:
            with pytest.raises(InputError, match=f"^{wrong} is nan; give "):
                function(**given | {wrong: math.nan})
    with pytest.raises(InputError, match=r"rolling is 5; give less than all 5 particles"):
        array.moving_array(5, 5, 0.01, 0.04, 0.1, 0.0)
    with pytest.raises(InputError, match="sliding is 4; give fewer"):
        array.spike(5, 1, 4, 0.01, 0.04, 0.1, 0.0)
    with pytest.raises(InputError, match="mu_plane is 0"):
        array.counter_rotation(3, 0.1, 0.1, 0.0)
    with pytest.raises(InputError, match=r"100000 disks with coefficient of friction 0\.9"):
        array.rolling_inertia(100_000, 0.9)
    assert hardgrain.theory.array is array
