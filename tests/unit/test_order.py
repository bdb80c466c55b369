"""Orders of a sweep: permutations that are uniform and repeatable, colours that never conflict."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2

from hardgrain.cpu.order import arrange, colour
from hardgrain.point.order import DRAWN, RANDOM, SEQUENTIAL, SYMMETRIC


def order_of(
    size: int, seed: int = 1, step: int = 0, sweep: int = 0, scheme: int = RANDOM
) -> np.ndarray:
    """Random order of one sweep over ``size`` contacts."""
    order = np.arange(size, dtype=np.uint32)
    arrange(order, scheme, seed, step, sweep)
    return order


# ---------------------------------------------------------------------- random
@pytest.mark.parametrize("size", [0, 1, 2, 3, 17, 1000, 100_000])
def test_shuffle_is_a_permutation(size: int) -> None:
    assert (np.sort(order_of(size)) == np.arange(size)).all()


@pytest.mark.parametrize("vary", ["seed", "step", "sweep"])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_shuffle_is_uniform(size: int, vary: str) -> None:
    """All permutations equally often, whichever part of the key moves on."""
    each = 400
    possible = list(itertools.permutations(range(size)))
    keys = range(each * len(possible))
    seen = Counter(tuple(order_of(size, **{vary: key}).tolist()) for key in keys)
    statistic = sum((seen[p] - each) ** 2 / each for p in possible)
    # Too even would be as wrong as too uneven.
    low, high = chi2.ppf([1e-4, 1 - 1e-4], len(possible) - 1)
    assert low < statistic < high


def test_places_are_uniform() -> None:
    """Every contact comes to every place of a longer list equally often."""
    size, count = 10, 4000
    table = np.zeros((size, size))
    for step in range(count):
        table[np.arange(size), order_of(size, step=step)] += 1
    expected = count / size
    statistic = ((table - expected) ** 2 / expected).sum()
    assert statistic < chi2.ppf(1 - 1e-4, (size - 1) ** 2)


def test_shuffle_differs_per_key_and_is_repeatable() -> None:
    """10³ keys of small numbers give 10³ orders; the same key gives the same one."""
    keys = list(itertools.product(range(10), repeat=3))
    orders = {key: order_of(40, *key).tobytes() for key in keys}
    assert len(set(orders.values())) == len(keys)
    for key in keys[::97]:
        assert order_of(40, *key).tobytes() == orders[key]


def test_large_seeds_count() -> None:
    seeds = [0, 1, 2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1]
    assert len({order_of(40, seed).tobytes() for seed in seeds}) == len(seeds)


# ---------------------------------------------------------------------- drawn
@pytest.mark.parametrize("vary", ["seed", "step", "sweep"])
def test_draws_are_uniform_and_independent(vary: str) -> None:
    """All sequences of three draws from three contacts equally often, repetitions among them."""
    each = 400
    possible = list(itertools.product(range(3), repeat=3))
    seen = Counter(
        tuple(order_of(3, scheme=DRAWN, **{vary: key}).tolist())
        for key in range(each * len(possible))
    )
    statistic = sum((seen[p] - each) ** 2 / each for p in possible)
    low, high = chi2.ppf([1e-4, 1 - 1e-4], len(possible) - 1)
    assert low < statistic < high


def test_draws_do_not_depend_on_the_sweep_before() -> None:
    order = order_of(50, sweep=0, scheme=DRAWN)
    arrange(order, DRAWN, 1, 0, 1)
    assert (order == order_of(50, sweep=1, scheme=DRAWN)).all()
    assert (order != order_of(50, sweep=0, scheme=DRAWN)).any()


def test_a_sweep_of_draws_reaches_all_but_one_in_e() -> None:
    size = 100_000
    reached = np.unique(order_of(size, scheme=DRAWN)).size / size
    # variance of the share that is missed: (1/e − 2/e²)/size
    assert reached == pytest.approx(1 - 1 / np.e, abs=4 * np.sqrt((1 / np.e - 2 / np.e**2) / size))


# ---------------------------------------------------------------------- sequential, symmetric
def test_sequential_stays() -> None:
    order = np.arange(5, dtype=np.uint32)
    for sweep in range(3):
        arrange(order, SEQUENTIAL, 1, 2, sweep)
        assert order.tolist() == [0, 1, 2, 3, 4]


def test_symmetric_goes_forwards_then_backwards() -> None:
    order = np.arange(5, dtype=np.uint32)
    seen = []
    for sweep in range(4):
        arrange(order, SYMMETRIC, 1, 2, sweep)
        seen.append(order.tolist())
    assert seen == [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]] * 2


# ---------------------------------------------------------------------- coloured
def random_contacts(rng: np.random.Generator, bodies: int, count: int) -> np.ndarray:
    """Sorted pairs first < second, each once."""
    pairs = np.sort(rng.integers(0, bodies, (count, 2)), axis=1)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).astype(np.int32)


def classes(pairs: np.ndarray, movable: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The order and the contacts of every class, the serial one last."""
    first, second = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    order, starts = colour(first, second, movable)
    assert starts[0] == 0
    assert starts[-1] == len(pairs)
    return order, [order[a:b] for a, b in itertools.pairwise(starts)]


def check_classes(pairs: np.ndarray, movable: np.ndarray) -> list[np.ndarray]:
    order, parts = classes(pairs, movable)
    assert (np.sort(order) == np.arange(len(pairs))).all()
    for part in parts[:-1]:
        assert part.size
        assert (np.diff(part) > 0).all()  # in list order within a colour
        bodies = pairs[part].ravel()
        bodies = bodies[movable[bodies] > 0.0]
        assert np.unique(bodies).size == bodies.size
    return parts


@pytest.mark.parametrize("seed", range(20))
def test_colours_do_not_conflict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bodies = int(rng.integers(2, 200))
    pairs = random_contacts(rng, bodies, int(rng.integers(0, 4 * bodies)))
    movable = np.where(rng.random(bodies) < 0.2, 0.0, 1.0)
    parts = check_classes(pairs, movable)
    degree = np.bincount(pairs.ravel(), minlength=bodies)[movable > 0.0].max(initial=0)
    assert len(parts) - 1 <= max(2 * degree - 1, 1)  # greedy never needs more
    assert parts[-1].size == 0


def test_colouring_is_repeatable() -> None:
    pairs = random_contacts(np.random.default_rng(5), 300, 900)
    first, _ = classes(pairs, np.ones(300))
    second, _ = classes(pairs.copy(), np.ones(300))
    assert (first == second).all()


def test_fixed_bodies_do_not_conflict() -> None:
    """A floor under a hundred grains needs one colour."""
    pairs = np.array([(i, 100) for i in range(100)], np.int32)
    parts = check_classes(pairs, np.append(np.ones(100), 0.0))
    assert [part.size for part in parts] == [100, 0]


def test_hubs_go_to_the_last_class() -> None:
    """A piston on 100 grains that also touch each other: what 63 colours cannot hold is serial."""
    pairs = [(i, 100) for i in range(100)] + [(i, i + 1) for i in range(0, 99, 2)]
    parts = check_classes(np.array(sorted(pairs), np.int32), np.ones(101))
    assert len(parts) == 64
    assert 37 <= parts[-1].size <= 40  # 100 − 63, and what greed wastes
    assert (np.array(sorted(pairs))[parts[-1], 1] == 100).all()


def test_no_contacts() -> None:
    none = np.zeros(0, np.int32)
    order, starts = colour(none, none, np.ones(3))
    assert order.size == 0
    assert starts.tolist() == [0, 0]
