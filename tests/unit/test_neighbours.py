"""The broad phase against brute force, and its cost."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import hardgrain as hg
from hardgrain.contact.neighbours import find_pairs, list_pairs, merge_pairs
from hardgrain.contact.neighbours_together import pairs_together
from hardgrain.contact.pairs import MOST, SAFETY, PairList, wall_geometry
from hardgrain.core.wall_kinds import Walls
from hardgrain.point.reach import MARGIN


def brute_force(x, reach, periodic):
    d = x[None] - x[:, None]
    wrapped = periodic > 0
    d[..., wrapped] -= periodic[wrapped] * np.floor(d[..., wrapped] / periodic[wrapped] + 0.5)
    near = (d**2).sum(-1) < (reach[:, None] + reach) ** 2
    return np.nonzero(np.triu(near, 1))


def check(x, reach, periodic):
    first, second = find_pairs(x, reach, periodic)
    expected = brute_force(x, reach, periodic)
    assert first.dtype == second.dtype == np.int32
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(second, expected[1])
    if reach.size:
        together = pairs_together(x, reach, periodic, no_walls(x.shape[1]), np.zeros(0), 2**60)
        np.testing.assert_array_equal(together, expected)


def no_walls(dim):
    none = np.zeros((0, dim))
    return Walls(np.zeros(0, np.int32), none, none, np.zeros(0), none)


REACHES = {
    "equal": lambda rng, n: np.full(n, 0.3),
    "similar": lambda rng, n: rng.uniform(0.2, 0.5, n),
    "power law": lambda rng, n: 0.02 * rng.uniform(1e-4, 1, n) ** -0.5,
    "one fast": lambda rng, n: np.r_[50.0, np.full(n, 0.3)][:n],
    "some nothing": lambda rng, n: 0.3 * rng.integers(0, 2, n),
}


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from([2, 3]),
    n=st.integers(0, 150),
    reaches=st.sampled_from(sorted(REACHES)),
    side=st.sampled_from([0.5, 2.0, 5.0, 30.0]),
    periodic=st.lists(st.booleans(), min_size=3, max_size=3),
    turns=st.integers(0, 3),
)
def test_equals_brute_force(seed, dim, n, reaches, side, periodic, turns):
    rng = np.random.default_rng(seed)
    reach = REACHES[reaches](rng, n)
    # minimum image needs room for the largest pair; cells may still be as few as two
    period = np.maximum(side, 4 * reach.max(initial=0)) * np.array(periodic[:dim])
    x = rng.uniform(-side / 2, side / 2, (n, dim)) + period * rng.integers(
        -turns, turns + 1, (n, dim)
    )
    check(x, reach, period)


@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.sampled_from([2, 3]),
    far=st.sampled_from([1e3, 1e9, 1e15, 1e100, 1e300]),
    flat=st.booleans(),
)
def test_grains_far_away(seed, dim, far, flat):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, (100, dim))
    if flat:
        x[:, 0] = 1.0
    x[:3] = far * rng.uniform(-1, 1, (3, dim))
    x[3] = x[2]
    with np.errstate(over="ignore"):
        check(x, rng.uniform(0.1, 0.5, 100), np.zeros(dim))


@pytest.mark.parametrize("shift", [1e6, -1e6])
def test_cloud_far_from_the_origin(shift):
    x = np.random.default_rng(1).uniform(0, 5, (200, 3)) + shift
    check(x, np.full(200, 0.4), np.zeros(3))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("n", [0, 1])
def test_too_few_for_a_pair(n, dim):
    first, second = find_pairs(np.zeros((n, dim)), np.ones(n), np.zeros(dim))
    assert first.size == second.size == 0


def test_all_in_one_place():
    """More pairs than were reckoned with: 100 grains, 4950 pairs."""
    first, second = find_pairs(np.ones((100, 2)), np.ones(100), np.zeros(2))
    expected = np.triu_indices(100, 1)
    np.testing.assert_array_equal((first, second), expected)


def test_grid_of_touching_cells():
    """Regular positions on cell edges, where rounding could lose a pair."""
    for period in (0.0, 8.0):
        x = np.stack(np.meshgrid(*[np.arange(8.0)] * 3), -1).reshape(-1, 3)
        check(x, np.full(512, 0.5 * (1 + 1e-9)), np.full(3, period))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_broken_positions_do_not_crash(bad):
    """The run reports them; the search only has to come back, with the other pairs."""
    x = np.random.default_rng(2).uniform(0, 4, (60, 3))
    x[-1, 1] = bad
    for periodic in (np.zeros(3), np.full(3, 4.0)):
        first, second = find_pairs(x, np.full(60, 0.4), periodic)
        keep = second < 59
        np.testing.assert_array_equal(
            (first[keep], second[keep]), brute_force(x[:59], np.full(59, 0.4), periodic)
        )


def test_all_threads_list_walls_too():
    """Several blocks of grains, large and small, in a box: the list is that of one thread."""
    rng = np.random.default_rng(3)
    scene = hg.Scene(
        dimension=3,
        grains=[
            hg.Grains(
                count=3000,
                diameter=hg.Uniform(min=0.2, max=1.5),
                place=hg.Loose(min=[0, 0, 0], max=[24, 24, 24]),
            )
        ],
        walls=[hg.Box(min=[0, 0, 0], max=[24, 24, 24])],
    )
    model, state = scene.build(1)
    walls = wall_geometry(model, state)
    reach = model.radius + rng.uniform(0.0, 0.5, model.n)
    wall_reach = rng.uniform(0.0, 0.5, model.bodies - model.n)
    given = state.position, reach, model.periodic, walls, wall_reach
    one = list_pairs(*given, 2**60)
    assert (one[1] >= model.n).sum() > 100
    np.testing.assert_array_equal(pairs_together(*given, 2**60), one)
    pairs = int((one[1] < model.n).sum())
    assert pairs_together(*given, pairs - 1) is None
    assert list_pairs(*given, pairs - 1) is None


def test_walls_come_last_in_each_row():
    def ints(*values):
        return np.array(values, np.int32)

    first, second = merge_pairs(ints(0, 0, 2), ints(1, 3, 3), ints(0, 1, 3), ints(5, 4, 4))
    assert first.tolist() == [0, 0, 0, 1, 2, 3]
    assert second.tolist() == [1, 3, 5, 4, 3, 4]


def packing(n, rng):
    side = round(n ** (1 / 3))
    x = np.stack(np.meshgrid(*[np.arange(float(side))] * 3), -1).reshape(-1, 3)
    return x + rng.uniform(-0.1, 0.1, x.shape)


def seconds(x, reach):
    periodic = np.zeros(x.shape[1])
    find_pairs(x, reach, periodic)
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        find_pairs(x, reach, periodic)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize("case", ["flown away", "slab", "fast", "big"])
def test_one_odd_grain_costs_little(case):
    """One grain far away, fast or huge leaves the cost of all others as it was."""
    rng = np.random.default_rng(3)
    x = packing(20**3, rng)
    if case == "slab":
        x = rng.uniform(0, 90, (8000, 3)) * (1, 1, 0)
    reach = np.full(len(x), 0.55)
    plain = seconds(x, reach)
    if case in ("flown away", "slab"):
        x[0] = 1e9 * rng.uniform(-1, 1, 3)
    else:
        reach[0] = {"fast": 30.0, "big": 3.0}[case]
    # measured: below 2; a plain grid or a bad hash costs 100 times more
    assert seconds(x, reach) < 8 * plain


def test_a_list_is_kept_only_while_it_is_safe():
    """A new one is due once travel and reach together, or turning walls, may exceed the room."""
    place = hg.At(positions=[[0.0, 0.0], [2.0, 0.0]])  # a gap of 1
    scene = hg.Scene(
        grains=[hg.Grains(diameter=1.0, place=place)],
        walls=[hg.Plane(point=[0.0, -1.0], normal=[0.0, 1.0])],
    )
    sim = hg.Simulation(scene, dt=0.1)
    pairs, walls = PairList(sim.model), wall_geometry(sim.model, sim.state)
    x, none, all_over = sim.state.position.copy(), np.zeros(3), np.full(3, 0.6)

    def anew(reach, moved=0.0):
        there = x + np.array([[moved, 0.0], [0.0, 0.0], [0.0, 0.0]])
        return pairs.keep(there, walls, reach, none)

    room = SAFETY * 0.5
    assert anew(none)
    assert pairs.first.size == 0
    assert not anew(none)
    assert not anew(np.full(3, 0.99 * room))
    assert not anew(none, moved=0.99 * room)
    assert not anew(np.full(3, 0.49 * room), moved=0.5 * room)
    assert anew(np.full(3, 0.51 * room), moved=0.5 * room)
    assert not anew(none)  # half the room away from where that was made
    assert anew(none, moved=1.6 * room)
    assert anew(none)
    pairs.turned[0] = 1.01 * room
    assert anew(none)
    assert not anew(none)
    assert pairs.keep(x, walls, all_over, all_over)
    found = set(zip(pairs.first.tolist(), pairs.second.tolist()))
    assert found == {(0, 1), (0, 2), (1, 2)}


def crowd(side):
    """Disks on a grid, almost touching, at rest."""
    place = hg.Grid(min=[0, 0], max=[1.02 * side] * 2, spacing=0.01)
    scene = hg.Scene(grains=[hg.Grains(count=side * side, place=place)])
    return hg.Simulation(scene, dt=0.01, solver=hg.GaussSeidel(sweeps=5))


def test_one_fast_grain_does_not_lend_its_reach_to_all():
    """It alone meets whatever lies on its way; if all it passes did, each would meet each."""
    sim = crowd(40)
    n = sim.model.n
    sim.state.velocity[n // 2, 0] = 50 / sim.scenario.dt  # diameters in a step
    found = sim.engine.detector.find(sim.state, sim.state.velocity)
    own = np.count_nonzero((found.first == n // 2) | (found.second == n // 2))
    assert own == n - 1
    # within a radius of a disk on a square grid lie 8 others: 4 pairs for each
    assert len(found) - own <= 4 * n


def test_a_step_in_which_all_meet_all_is_refused():
    """By name, before memory is gone; up to MOST pairs a grain are as good as any."""
    sim = crowd(50)
    assert sim.model.n * (sim.model.n - 1) // 2 > MOST * sim.model.n
    sim.state.velocity[:, 0] = 100 / sim.scenario.dt
    with pytest.raises(hg.RunError, match=r"too long: grain 0 may cross 100 of its diameters"):
        sim.step()


def test_what_a_push_makes_near_is_found_with_its_margin():
    """A grain made fast by the solution closes one pair; others a margin further are listed too."""
    gap, far = 0.3, 0.4  # to the next grain on its way, and to one on the other side
    margin = MARGIN * 0.5
    place = hg.At(positions=[[0.0, 0.0], [1.0 + gap, 0.0], [-1.0 - far - 1.5 * margin, 0.0]])
    sim = hg.Simulation(hg.Scene(grains=[hg.Grains(diameter=1.0, place=place)]), dt=0.1)
    detector, velocity = sim.engine.detector, np.zeros((3, 2))
    before = detector.find(sim.state, velocity)
    assert len(before) == 0
    velocity[0, 0] = far / sim.dt
    found = detector.overlooked(sim.state, before, velocity, 0)
    # reaches add up to far + two margins
    assert list(zip(found.first, found.second)) == [(0, 1), (0, 2)]


def test_walls_turn_as_their_orientation_says():
    """Normals, and points that are not on the axis of turning, against SciPy's rotations."""
    walls = [hg.Plane(point=[1.0, 2.0, 3.0], normal=[0.0, 0.6, 0.8], spin=[0.3, 0.2, 0.1])]
    grains = [hg.Grains(diameter=1.0, place=hg.At(positions=[[0.0, 0.0, 9.0]]))]
    sim = hg.Simulation(hg.Scene(dimension=3, grains=grains, walls=walls), dt=0.1)
    model, turned = sim.model, Rotation.from_rotvec([0.5, -0.7, 1.1])
    sim.state.orientation[1] = turned.as_quat()
    _, point, axis, *_ = wall_geometry(model, sim.state)
    assert axis == pytest.approx(turned.apply(model.wall_axis), abs=1e-14)
    offset = turned.apply(model.wall_offset)
    assert point == pytest.approx(sim.state.position[1:] + offset, abs=1e-14)
