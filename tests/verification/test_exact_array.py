"""The exact array against closed forms, hand calculation, a second solver and exhaustive search."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

import hardgrain
from hardgrain.papers.radjai1997 import evolve, pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import Array
from hardgrain.papers.radjai1997.exact.events import ContactLost, History
from hardgrain.papers.radjai1997.exact.flip import flip
from hardgrain.papers.radjai1997.exact.law import Coulomb
from hardgrain.papers.radjai1997.exact.pivot import complementary
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

pytestmark = pytest.mark.rounding

FIG3 = (10, 2.5, 0.01, 0.1, 0.2, 0.001)
LITERAL = (80, 1.4, 0.01, 0.06, 0.1, 0.001)  # the printed caption of Figs 5 to 7
REPAIRED = (80, 1.4, 0.01, 0.006, 0.01, 0.001)
FIG10 = (5, 1.2, 0.01, 0.3, 0.3, 0.01)  # inside the window of indeterminacy


def obeys_all_laws(s: ArraySolution, inertia: float = 0.5, block_mass: float = 0.0) -> None:
    """Newton and Coulomb, disk by disk, from the array's arrays alone."""
    a, w = s.acceleration, s.angular_acceleration
    n, p, t, q = s.normal, s.normal_plane, s.tangential, s.tangential_plane
    near: dict[str, Any] = {"abs": 1e-9}
    for i in range(len(w)):  # disk i + 1 has contacts i and i + 1
        assert inertia * w[i] == pytest.approx(q[i] - t[i + 1] - t[i], **near)
        assert a == pytest.approx(n[i + 1] - n[i] - q[i], **near)
        assert p[i] == pytest.approx(1.0 + t[i + 1] - t[i], **near)
    assert n[0] == pytest.approx(s.array.brake + block_mass * a, **near)
    assert n[-1] == pytest.approx(s.array.drive - block_mass * a, **near)
    turn = np.concatenate([[0.0], w, [0.0]])
    rate, normal, friction = np.empty((3, 2 * len(w) + 1))
    rate[0::2], rate[1::2] = turn[1:] + turn[:-1], a - w
    normal[0::2], normal[1::2] = n, p
    friction[0::2], friction[1::2] = t, q
    pressed = normal > 0.0
    assert (pressed | (np.abs(friction) < 1e-9)).all()
    assert (normal > -1e-9).all() or s.lost
    normal = np.maximum(normal, 0.0)
    assert (np.abs(friction) <= s.stick * normal + 1e-9).all()
    # a slip there is, or one that begins, has the full friction against it
    direction = np.where(s.given != 0, s.given, np.where(np.abs(rate) > 1e-8, np.sign(rate), 0.0))
    slides = direction != 0.0
    assert np.allclose(friction[slides], (direction * s.slide * normal)[slides], atol=1e-9)


# ---------------------------------------------------------------------- figures of the paper
def test_figure_3() -> None:
    s = steady_state(*FIG3)
    assert s.friction == pytest.approx(0.163986217652, rel=1e-11)
    assert s.acceleration == pytest.approx(0.0850137823481, rel=1e-11)
    assert s.modes == (4, 1, 5)
    assert s.unique
    obeys_all_laws(s)


def test_figures_5_to_7_repaired() -> None:
    s = steady_state(*REPAIRED)
    assert s.acceleration == pytest.approx(0.00850319959869, rel=1e-11)
    assert s.friction == pytest.approx(0.00887180040131, rel=1e-11)
    assert s.modes == (30, 19, 31)
    obeys_all_laws(s)


def test_figure_9() -> None:
    p = pieces(30, 0.01, 0.04, 0.1, 0.001, 0.0, 10.0)
    assert p.inertia[[0, -1]] == pytest.approx([180.852, 30.003], abs=5e-4)
    assert p.effective_friction[[0, -1]] == pytest.approx([0.0030696, 0.1000100], abs=5e-8)


def test_figure_12b_plateau() -> None:
    for mu_plane in (0.12, 0.15, 0.5):
        s = steady_state(30, 4.0, 0.01, 0.01, mu_plane, 0.01)
        assert s.friction == pytest.approx(0.0684253596228, rel=1e-11)


# ---------------------------------------------------------------------- one disk, by hand
@pytest.mark.parametrize(
    ("drive", "acceleration", "turn"),
    [(0.31, 0.2, 0.2), (2.0, 2.0 - 0.01 - 0.2, 0.4)],  # rolls; slides: ω̇ = µ'/I
)
def test_one_disk_between_smooth_blocks(drive: float, acceleration: float, turn: float) -> None:
    s = steady_state(1, drive, 0.01, 0.0, 0.2, 0.0)
    assert s.acceleration == pytest.approx(acceleration)
    assert s.angular_acceleration == pytest.approx([turn])


def test_one_disk_stops_sliding_when_it_must() -> None:
    # u' = v − ω falls at the rate v̇ − ω̇ = (F − µ') − µ'/I until it is zero; then the disk rolls
    h = evolve(1, 0.31, 0.01, 0.0, 0.2, 0.0, [0.5], 1.5)
    assert h.time == pytest.approx([0.0, 1.0 / (0.4 - 0.1)])
    assert h.friction == pytest.approx([0.2, 0.1])
    assert h.omega[1] == pytest.approx(h.velocity[1])


def test_range_of_one_disk_at_rest() -> None:
    # T' = 0, T_1 = −T_0, N' = 1 − 2 T_0: any |T_0| ≤ µ'' N_0 will do
    s = steady_state(1, 1.0, 1.0, 0.0, 0.5, 0.2)
    assert s.acceleration_range == pytest.approx((0.0, 0.0), abs=1e-12)
    assert s.tangential_range == pytest.approx(np.array([[-0.2, 0.2], [-0.2, 0.2]]))
    assert s.normal_plane_range == pytest.approx(np.array([[0.6, 1.4]]))
    assert not s.unique


# ---------------------------------------------------------------------- a second way, and all ways
PARAMETERS = st.fixed_dictionaries(
    {
        "particles": st.integers(1, 12),
        "drive": st.floats(0.05, 20.0),
        "brake": st.sampled_from([0.0, 0.01, 0.5]),
        "mu": st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5]),
        "mu_plane": st.sampled_from([0.01, 0.1, 0.2, 0.5]),
        "mu_block": st.sampled_from([0.0, 0.001, 0.05, 0.3]),
    }
)


@for_all(PARAMETERS, st.sampled_from([0.4, 0.5, 1.0]), st.sampled_from([0.0, 0.3]))
@settings(max_examples=80, deadline=None)
def test_all_laws_hold(parameters: dict[str, Any], inertia: float, block_mass: float) -> None:
    options: dict[str, Any] = {"inertia": inertia, "block_mass": block_mass}
    s = steady_state(**parameters, **options, keep_closed=True)
    obeys_all_laws(s, inertia, block_mass)


@for_all(PARAMETERS, st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_flipping_finds_the_same(parameters: dict[str, Any], seed: int) -> None:
    """From any slips: where the solution is unique, trial and error cannot find another one."""
    rng = np.random.default_rng(seed)
    array = Array(parameters["particles"], parameters["drive"], parameters["brake"])
    mu = array.coefficients(*(parameters[k] for k in ("mu", "mu_plane", "mu_block")))
    slips = rng.integers(-1, 2, array.contacts).astype(np.int8)
    x, states = complementary(array, mu, slips)
    s = ArraySolution.checked(array, x, states, mu, mu, slips)
    found = flip(array, mu, mu, slips, rng)
    if found is not None and s.unique and not s.lost:
        assert found[0] == pytest.approx(x, abs=1e-8)


@pytest.mark.parametrize(("name", "rule"), [("fig3", "stick"), ("repaired", "random")])
def test_flipping_of_whole_arrays(name: str, rule: Any) -> None:
    given = FIG3 if name == "fig3" else REPAIRED
    other: Any = "random" if rule == "stick" else "stick"
    assert steady_state(*given, rule=rule).x == pytest.approx(
        steady_state(*given, rule=other).x, abs=1e-10
    )


@pytest.mark.parametrize("drive", [0.9, 1.1, 1.2, 1.45, 1.5, 3.0])
def test_ranges_are_those_over_all_states(drive: float) -> None:
    """Exhaustive search proves that the solution is unique, or finds the same range."""
    s = steady_state(5, drive, *FIG10[2:])
    assert s.acceleration_range == pytest.approx(s.exhaustive_range(), abs=1e-8)
    assert s.unique == (drive not in (1.1, 1.2, 1.45))
    assert s.unique == (s.redundant == 0)


def test_exhaustive_search_finds_the_only_solution() -> None:
    s = steady_state(3, 4.565952675621004, 2.0, 0.01, 0.1, 0.5)
    assert s.exhaustive_range() == pytest.approx(s.acceleration_range, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "low", "high"),
    [
        ((7, 2.3805, 0.01, 0.3, 0.3, 0.01), 0.0803084, 0.0816595),
        ((3, 2.8134489805349077, 0.5, 0.2, 0.8, 0.3), 0.0711, 0.2512),
        ((1, 3.2427633919202523, 2.0, 0.01, 0.8, 0.8), 0.0, 1.2428),
    ],
)
def test_solutions_with_other_contact_states_are_found(
    given: tuple[Any, ...], low: float, high: float
) -> None:
    """Each of them is determinate; there are two all the same."""
    s = steady_state(*given)
    assert not s.unique
    assert s.acceleration_range == pytest.approx((low, high), abs=1e-4)
    assert s.acceleration_range == pytest.approx(s.exhaustive_range(), abs=1e-5)
    for other in s.others:
        obeys_all_laws(other)


def test_c2_is_hardly_ever_unique() -> None:
    s = steady_state(5, 3.0, 0.01, 0.3, 0.3, 0.01, law="C2", mu_static=0.6, rule="slide")
    assert not s.unique
    low, high = s.exhaustive_range()
    assert low - 1e-6 <= s.acceleration_range[0] < s.acceleration_range[1] <= high + 1e-6


def test_pieces_end_where_they_must() -> None:
    all_drives = pieces(10, *FIG3[2:], 0.0, 600.0)
    last = float(all_drives.drive[int(all_drives.closed.argmin())])  # N_c
    assert 0.0 < last < 600.0
    steady_state(10, last - 1e-6, *FIG3[2:])
    with pytest.raises(ContactLost):
        steady_state(10, last + 1e-6, *FIG3[2:])
    turned = pieces(7, 0.01, 0.3, 0.3, 0.01, 0.0, 2.3805)  # where there are two solutions
    assert turned.drive.max() <= 2.3805
    with pytest.raises(hardgrain.InputError, match="low is 'a'; it must be a number"):
        pieces(10, 0.01, 0.1, 0.2, 0.001, "a", 8.0)  # type: ignore[arg-type]


def test_results_can_be_read() -> None:
    s = steady_state(*FIG3)
    assert repr(s) == (
        "<10 disks driven by 2.5: µ_g = 0.163986217652, v̇ = 0.0850137823481, modes (4, 1, 5)>"
    )
    assert "segments, the last from t = " in repr(evolve(*FIG3, np.zeros(10), 1.0))
    assert "pieces, drive 0.06" in repr(pieces(10, 0.01, 0.1, 0.2, 0.001, 0.0, 8.0))


def test_a_slow_start_is_a_fast_one_slowed_down() -> None:
    omega, v = starts(1, 10)[0]
    fast, slow = (evolve(*FIG3, s * omega, s * v, keep_closed=True) for s in (1.0, 1e-11))
    assert slow.time == pytest.approx(1e-11 * fast.time, rel=1e-6)


def test_range_in_the_window() -> None:
    s = steady_state(*FIG10)
    assert s.acceleration_range == pytest.approx((0.040811748, 0.050357372), abs=1e-9)
    low, high = s.acceleration_range
    total = FIG10[1] - FIG10[2]
    assert s.friction_range == pytest.approx(((total - 5 * high) / 5, (total - 5 * low) / 5))
    assert (s.normal_range[:, 0] <= s.normal).all()
    assert (s.normal_range[:, 1] >= s.normal).all()
    assert np.ptp(s.tangential_plane_range, axis=1).max() > 0.01
    # every member obeys the law; so do their averages with the contact states fixed
    polytope = s._polytope
    objective = np.zeros(s.array.size)
    objective[s.array.at_v[0]] = 1.0
    assert polytope.least(objective) == pytest.approx(low)


def test_one_generic_function_tells_what_all_ranges_tell() -> None:
    for drive in np.linspace(0.95, 1.55, 13):
        s = steady_state(5, float(drive), *FIG10[2:])
        widths = s._polytope.extremes(s.array.unknown(np.arange(s.array.size))) @ [-1.0, 1.0]
        assert s.unique == (widths.max() < 1e-8)


def test_the_literal_caption_stands_still() -> None:
    s = steady_state(*LITERAL)
    assert s.acceleration == pytest.approx(0.0, abs=1e-12)
    assert s.acceleration_range == pytest.approx((0.0, 0.0), abs=1e-9)
    assert s.friction == pytest.approx((1.4 - 0.01) / 80)
    assert not s.unique
    assert (s.states == 0).all()


# ---------------------------------------------------------------------- in time
def starts(count: int, particles: int) -> list[tuple[Any, float]]:
    rng = np.random.default_rng(1)
    return [(rng.uniform(-1.0, 1.0, particles), rng.uniform(0.0, 1.0)) for _ in range(count)]


@pytest.mark.parametrize("start", range(8))
def test_c1_forgets_its_start(start: int) -> None:
    omega, v = starts(8, 10)[start]
    h = evolve(*FIG3, omega, v, keep_closed=True)
    assert h.steady.x == pytest.approx(steady_state(*FIG3).x, abs=1e-11)
    assert h.steady.modes == (4, 1, 5)
    in_time(h)


def in_time(h: History, inertia: float = 0.5) -> None:
    """Each segment obeys the laws, joins the last one, ends with a slip, and keeps energy."""
    for s in h.solutions:
        obeys_all_laws(s, inertia)
    assert (np.diff(h.time) > 0.0).all()
    n = h.omega.shape[1]
    energy = 0.5 * n * h.velocity**2 + 0.5 * inertia * (h.omega**2).sum(axis=1)
    for k, (a, b) in enumerate(pairwise(range(len(h.time)))):
        s, dt = h.solutions[k], h.time[b] - h.time[a]
        assert h.omega[b] == pytest.approx(h.omega[a] + dt * s.angular_acceleration, abs=1e-9)
        assert h.velocity[b] == pytest.approx(h.velocity[a] + dt * s.acceleration, abs=1e-9)
        before, after = (s.array.slips(h.omega[i], h.velocity[i]) for i in (a, b))
        assert (before * after > -1e-9).all()  # none has passed through zero
        assert (np.abs(after[np.abs(before) > 1e-9]) < 1e-9).any()
        # what the blocks put in less what sliding takes out; forces are constant
        friction = s.x[s.array.at_tangential]
        put_in = (s.array.drive - s.array.brake) * 0.5 * (h.velocity[a] + h.velocity[b]) * dt
        taken = (friction * 0.5 * (before + after)).sum() * dt
        assert (friction * before >= -1e-9).all()
        assert energy[b] - energy[a] == pytest.approx(put_in - taken, abs=1e-9)


@pytest.mark.parametrize(
    ("omega", "v"),
    [
        (np.zeros(10), 1.0),
        (np.ones(10), 1.0),  # all roll, all sides slip alike
        (np.resize([1.0, -1.0], 10), 1.0),  # all sides stick
        (np.resize([1.0, -1.0], 10), 0.0),
        (np.repeat([1.0, 0.0], 5), 0.5),  # many slips vanish at once
        (np.round(np.random.default_rng(3).uniform(-1.0, 1.0, 10), 1), 0.5),
    ],
)
def test_simultaneous_events(omega: Any, v: float) -> None:
    h = evolve(*FIG3, omega, v, keep_closed=True)
    assert h.steady.friction == pytest.approx(0.163986217652, rel=1e-11)
    in_time(h)


def test_a_disk_that_nothing_pushes_rolls_on() -> None:
    h = evolve(1, 0.0, 0.0, 0.0, 0.1, 0.2, [0.0], 0.5)
    assert h.velocity[-1] == pytest.approx(0.5 / 1.5)  # v + I ω is kept
    assert h.omega[-1] == pytest.approx([0.5 / 1.5])
    assert h.time == pytest.approx([0.0, 0.5 / 0.3])
    assert h.steady.acceleration == 0.0
    in_time(h)


def test_an_array_that_cannot_be_moved_stops() -> None:
    h = evolve(10, 0.5, 0.01, 0.3, 0.3, 0.001, np.zeros(10), 1.0, keep_closed=True)
    assert h.velocity[-1] == pytest.approx(0.0, abs=1e-9)
    assert h.omega[-1] == pytest.approx(np.zeros(10), abs=1e-9)
    assert h.steady.acceleration == pytest.approx(0.0, abs=1e-9)
    assert not h.steady.unique
    in_time(h)


def test_a_lost_contact_is_named() -> None:
    # disk 1 spins forward, the plane pulls it away from disk 2
    omega = np.zeros(10)
    omega[0] = 1.0
    with pytest.raises(ContactLost, match="disks 1 and 2 opens at t = ") as caught:
        evolve(*FIG3, omega, 0.1)
    lost = caught.value
    assert lost.contact == "disks 1 and 2"
    assert lost.time == 0.0
    assert len(lost.history.time) == 0
    again = pickle.loads(pickle.dumps(lost))  # as from one process to another
    assert (str(again), again.contact, again.time) == (str(lost), lost.contact, lost.time)
    kept = evolve(*FIG3, omega, 0.1, keep_closed=True)
    assert kept.lost[0] == ("disks 1 and 2", 0.0)
    assert kept.solutions[0].normal[1] < 0.0
    assert kept.solutions[0].tangential[1] == 0.0  # nothing presses
    assert kept.steady.friction == pytest.approx(0.163986217652, rel=1e-11)
    assert not kept.steady.lost


@pytest.mark.parametrize(
    ("given", "still"),
    [
        ((1, 0.5, 0.5, 0.0, 3.0, 3.0), True),
        ((8, 1.4, 2.0, 0.3, 0.5, 0.3), True),
        ((200, 6.0, 0.01, 0.06, 0.1, 0.001), True),
        ((10, 0.0, 0.0, 0.1, 0.2, 0.001), True),  # no force at all
        ((5, 6.95, 2.0, 0.1, 0.3, 0.2), False),
        ((7, 4.03, 2.0, 0.2, 0.2, 0.2), False),
    ],
)
def test_no_contact_opens_that_need_not(given: tuple[Any, ...], still: bool) -> None:
    """Where forces that pull somewhere obey the law, and forces that press everywhere do too."""
    s = steady_state(*given)
    obeys_all_laws(s)
    assert not s.lost
    assert (abs(s.acceleration) < 1e-9) == still


def test_what_is_found_is_checked() -> None:
    s = steady_state(*FIG3)
    states = s.states.copy()
    states[0] = 2
    given = (s.slide, s.stick, s.given)
    with pytest.raises(hardgrain.RunError, match=r"held that presses.*braking block"):
        ArraySolution.checked(s.array, s.x, states, *given)
    slips = s.given.copy()
    slips[1] = 1
    with pytest.raises(hardgrain.RunError, match=r"sticks that slips.*disk 1 and the plane"):
        ArraySolution.checked(s.array, s.x, s.states, s.slide, s.stick, slips)
    with pytest.raises(hardgrain.RunError, match="an equation of motion does not hold"):
        ArraySolution.checked(s.array, 1.1 * s.x, s.states, *given)


# ---------------------------------------------------------------------- two coefficients
STATIC: dict[str, Any] = {"law": "C2", "mu_static": 0.3, "mu_plane_static": 0.6}


@pytest.mark.parametrize("rule", ["stick", "slide", "random"])
@pytest.mark.parametrize("start", range(4))
def test_c2_obeys_its_law(rule: Any, start: int) -> None:
    omega, v = starts(4, 10)[start]
    in_time(evolve(*FIG3, omega, v, **STATIC, rule=rule, keep_closed=True))


def test_c2_slide_is_c1() -> None:
    omega, v = starts(1, 10)[0]
    one = evolve(*FIG3, omega, v, keep_closed=True)
    two = evolve(*FIG3, omega, v, **STATIC, rule="slide", keep_closed=True)
    assert np.array_equal(one.time, two.time)
    assert np.array_equal(one.friction, two.friction)


def test_c2_remembers_its_start() -> None:
    runs = [evolve(*FIG3, omega, v, **STATIC, keep_closed=True) for omega, v in starts(12, 10)]
    assert len({round(h.steady.friction, 9) for h in runs}) > 3


def test_c2_solutions_lie_in_the_range_over_all_states() -> None:
    rules: list[tuple[Any, int]] = [("stick", 0), ("slide", 0), *(("random", k) for k in range(5))]
    found = [steady_state(*FIG10, law="C2", mu_static=0.9, rule=rule, seed=k) for rule, k in rules]
    s = found[0]
    low, high = s.exhaustive_range()
    for s in found:
        assert low - 1e-8 <= s.acceleration <= high + 1e-8
    assert high - low > 0.1


def test_static_friction_holds_more_than_dynamic() -> None:
    given = (10, 1.0, 0.01, 0.1, 0.2, 0.001)
    assert steady_state(*given, **STATIC).acceleration == pytest.approx(0.0, abs=1e-12)
    assert steady_state(*given, **STATIC, rule="slide").acceleration > 0.02
    rolling = evolve(*given, np.ones(10), 1.0, **STATIC)  # no contact between disks ever sticks
    assert rolling.steady.acceleration > 0.02


# ---------------------------------------------------------------------- all driving forces
def test_pieces_are_steady_states() -> None:
    p = pieces(10, 0.01, 0.1, 0.2, 0.001, 0.0, 8.0)
    assert p.acceleration[0] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(p.drive) > 0.0).all()
    assert p.determinate.sum() == p.determinate.size - 1  # a window from 1.39 to 1.60
    for k, share in enumerate(np.random.default_rng(0).uniform(0.1, 0.9, p.inertia.size)):
        drive = (1.0 - share) * p.drive[k] + share * p.drive[k + 1]
        s = steady_state(10, drive, 0.01, 0.1, 0.2, 0.001)
        assert s.determinate == p.determinate[k]
        if not s.determinate:
            low, high = s.acceleration_range
            assert low - 1e-12 <= np.interp(drive, p.drive, p.acceleration) <= high + 1e-12
            continue
        # (6)
        moving = p.inertia[k] * s.acceleration + 10 * p.effective_friction[k]
        assert drive - 0.01 == pytest.approx(moving, abs=1e-10)
        assert np.array_equal(s.states, p.states[k])


@pytest.mark.parametrize("case", [(10, 5.0, 0.1, 0.2, 0.001), (10, 0.01, 0.3, 0.3, 0.001)])
def test_there_are_no_pieces_at_rest(case: tuple[Any, ...]) -> None:
    with pytest.raises(hardgrain.InputError, match=r"high is 0\.3, a drive that does not set"):
        pieces(*case, 0.0, 0.3)


def test_a_longer_array_is_solved_too() -> None:
    s = steady_state(1000, 30.0, 0.01, 0.006, 0.01, 0.001)
    assert s.determinate
    obeys_all_laws(s)


# ---------------------------------------------------------------------- nonsense
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"particles": 0}, "particles is 0; at least 1 is needed"),
        ({"particles": 2.5}, "particles is 2.5; it must be a whole number"),
        ({"drive": -1.0}, "drive is -1; it must be a number from 0 up"),
        ({"brake": float("nan")}, "brake is nan; it must be a number from 0 up"),
        ({"mu": -0.1}, "mu has -0.1; coefficients of friction are numbers from 0 up"),
        ({"mu_plane": [0.1, 0.2]}, r"mu_plane is \[0.1, 0.2\]; give a number, or 10 of them"),
        ({"law": "C3"}, "law is 'C3'; give C1 or C2"),
        ({"law": "C2"}, "mu_static is missing; law C2 needs it"),
        ({"law": "C2", "mu_static": 0.05}, "0.1; it must be at least the dynamic one, 0.2"),
        ({"mu_static": 0.3}, "mu_static is 0.3, but law C1 has no static coefficients"),
        ({"rule": "guess"}, "rule is 'guess'; give one of stick, slide, random"),
        ({"inertia": 0.0}, "inertia is 0; it must be above 0"),
        ({"particles": True}, "particles is True; it must be a whole number"),
        ({"seed": -1}, "seed is -1; it must be a whole number from 0 up"),
        ({"law": "C2", "mu_static": "a"}, "mu_static is 'a'; give a number, or 9 of them"),
        ({"law": "C2", "mu_static": [0.3] * 5}, "mu_static is .* or 9 of them"),
    ],
)
def test_nonsense_is_refused(given: dict[str, Any], sentence: str) -> None:
    names = ("particles", "drive", "brake", "mu", "mu_plane", "mu_block")
    with pytest.raises(hardgrain.InputError, match=sentence):
        steady_state(**(dict(zip(names, FIG3)) | given))


@pytest.mark.parametrize(
    ("omega", "v", "sentence"),
    [
        (np.zeros(9), 1.0, r"omega0 has shape \(9,\); it must be 10 finite numbers"),
        (np.full(10, np.inf), 1.0, "omega0 has inf; it must be 10 finite numbers"),
        (["a"] * 10, 1.0, r"omega0 is \['a', .*\]; it must be 10 finite numbers"),
        (np.zeros(10), np.nan, "v0 is nan; it must be a finite number"),
        (np.zeros(10), None, "v0 is None; it must be a finite number"),
    ],
)
def test_nonsense_starts_are_refused(omega: Any, v: float, sentence: str) -> None:
    with pytest.raises(hardgrain.InputError, match=sentence):
        evolve(*FIG3, omega, v)


def test_coefficients_may_differ_from_contact_to_contact() -> None:
    one = steady_state(*FIG3)
    many = steady_state(10, 2.5, 0.01, np.full(9, 0.1), np.full(10, 0.2), [0.001, 0.001])
    assert np.array_equal(one.x, many.x)
    assert np.array_equal(one.x, steady_state(np.int64(10), *FIG3[1:]).x)
    rough = np.full(10, 0.2)
    rough[4] = 0.4
    other = steady_state(10, 2.5, 0.01, 0.1, rough, 0.001)
    assert abs(other.friction - one.friction) > 1e-4
    obeys_all_laws(other)


def test_a_law_refuses_less_static_than_dynamic_friction() -> None:
    with pytest.raises(hardgrain.InputError, match="it must be at least the dynamic one"):
        Coulomb(np.array([0.2]), np.array([0.1]))
