"""Placement: inside the region, without overlap, the same for the same seed."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hardgrain.core.wall_kinds import INSIDE, Walls
from hardgrain.errors import InputError
from hardgrain.scene.place import At, Deposit, Grid, Loose, Placement, place, worst_overlap

Arrays = tuple[np.ndarray, np.ndarray]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def put(
    placement: Placement,
    radius: np.ndarray,
    periodic: np.ndarray | None = None,
    taken: Arrays | None = None,
    seed: int = 1,
) -> Arrays:
    dim = len(getattr(placement, "min", (0, 0)))
    position, other = taken or (np.zeros((0, dim)), np.zeros(0))
    period = np.zeros(dim) if periodic is None else periodic
    return place(placement, radius, rng(seed), dim, period, position, other)


def brute_force(x: np.ndarray, r: np.ndarray, periodic: np.ndarray) -> tuple[float, int, int]:
    """Largest overlap over all pairs."""
    d = x[:, None] - x[None]
    wrap = periodic > 0.0
    d[..., wrap] -= periodic[wrap] * np.rint(d[..., wrap] / periodic[wrap])
    overlap = r[:, None] + r - np.linalg.norm(d, axis=-1)
    overlap[np.tril_indices(len(r))] = -np.inf
    i, j = np.unravel_index(np.argmax(overlap), overlap.shape)
    return float(overlap[i, j]), int(i), int(j)


def assert_inside(x: np.ndarray, r: np.ndarray, low: list[float], high: list[float]) -> None:
    assert np.all(x - r[:, None] >= np.array(low) - 1e-12)
    assert np.all(x + r[:, None] <= np.array(high) + 1e-12)


def broad_radii(count: int) -> np.ndarray:
    """Radii from 0.05 to 0.5, ∝ r⁻² in number."""
    return 0.05 / (1.0 - 0.9 * rng(7).random(count))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("kind", [Grid, Deposit, Loose])
def test_inside_apart_and_reproducible(kind: type, dim: int) -> None:
    radius = broad_radii(200)
    low, high = [-3.0] * dim, [13.0 if dim == 2 else 5.0] * dim
    placement = kind(min=low, max=high, **({"jitter": 1.0} if kind is Grid else {}))
    x, r = put(placement, radius)
    assert x.shape == (200, dim)
    assert np.array_equal(np.sort(r), np.sort(radius))
    assert_inside(x, r, low, high)
    assert brute_force(x, r, np.zeros(dim))[0] < 1e-12
    again, r_again = put(placement, radius)
    assert np.array_equal(x, again)
    assert np.array_equal(r, r_again)
    assert not np.array_equal(x, put(placement, radius, seed=2)[0])


def test_grid_fills_from_below() -> None:
    x, _ = put(Grid(min=[0.0, 0.0], max=[4.0, 9.0], spacing=0.0), np.full(6, 0.5))
    assert x.tolist() == [[0.5, 0.5], [1.5, 0.5], [2.5, 0.5], [3.5, 0.5], [0.5, 1.5], [1.5, 1.5]]
    x, _ = put(Grid(min=[0.0, 0.0], max=[2.5, 9.0], spacing=0.1), np.full(3, 0.5))
    assert x == pytest.approx(np.array([[0.7, 0.55], [1.8, 0.55], [0.7, 1.65]]))


def test_grid_in_a_slit_as_wide_as_a_grain() -> None:
    x, _ = put(Grid(min=[0.0, 0.0], max=[1.0, 9.0], spacing=0.5), np.full(3, 0.5))
    assert x == pytest.approx(np.array([[0.5, 0.75], [0.5, 2.25], [0.5, 3.75]]))


def test_grid_keeps_sizes_in_order() -> None:
    radius = broad_radii(50)
    assert np.array_equal(put(Grid(min=[0.0, 0.0], max=[10.0, 10.0]), radius)[1], radius)


def test_numbers_follow_the_last_axis() -> None:
    for kind in (Deposit, Loose, Grid):
        x, _ = put(kind(min=[0.0] * 3, max=[15.0] * 3), np.full(1000, 0.5))
        height = x[:, 2].reshape(10, 100).mean(axis=1)
        assert np.all(np.diff(height) > 0.0)


@pytest.mark.parametrize("dim", [2, 3])
def test_deposit_is_uniform(dim: int) -> None:
    """Few small grains: moments of a uniform density over where centres may lie."""
    x, _ = put(Deposit(min=[0.0] * dim, max=[1.0] * dim), np.full(4000, 1e-5))
    error = math.sqrt(1.0 / 12.0 / 4000)
    assert np.all(np.abs(x.mean(axis=0) - 0.5) < 5.0 * error)
    assert np.all(np.abs((x**2).mean(axis=0) - 1.0 / 3.0) < 5.0 * math.sqrt(4.0 / 45.0 / 4000))


def test_loose_spreads_evenly_and_mixes_sizes() -> None:
    radius = np.sort(broad_radii(1000))
    x, r = put(Loose(min=[0.0, 0.0], max=[60.0, 60.0]), radius)
    # Cells are chosen without repetition, so the scatter is below that of independent points.
    error = 60.0 * math.sqrt(1.0 / 12.0 / 1000)
    assert np.all(np.abs(x.mean(axis=0) - 30.0) < 5.0 * error)
    # A large grain is as likely high as low.
    assert abs(np.corrcoef(x[:, 1], r)[0, 1]) < 5.0 / math.sqrt(1000)


def test_loose_uses_the_largest_cells_that_suffice() -> None:
    x, _ = put(Loose(min=[0.0, 0.0], max=[8.0, 8.0]), np.full(64, 0.5))
    assert np.array_equal(np.floor(x), np.array([[i, j] for j, i in product(range(8), range(8))]))
    x, _ = put(Loose(min=[0.0, 0.0], max=[80.0, 80.0]), np.full(64, 0.5))
    assert len({tuple(c) for c in np.floor(x / 10.0)}) == 64


@pytest.mark.parametrize("dim", [2, 3])
def test_deposit_across_periodic_boundaries(dim: int) -> None:
    radius = broad_radii(300)
    length = 9.0 if dim == 2 else 3.0
    period = np.zeros(dim)
    period[0] = length
    x, r = put(Deposit(min=[-1.0] * dim, max=[length - 1.0] * dim), radius, period)
    assert brute_force(x, r, period)[0] <= 0.0
    assert_inside(x[:, 1:], r, [-1.0] * (dim - 1), [length - 1.0] * (dim - 1))
    assert np.any(x[:, 0] + r > length - 1.0)  # grains stick out of a region without ends


def test_deposit_into_part_of_a_period_stays_inside() -> None:
    radius = np.full(20, 0.5)
    period = np.array([12.0, 0.0])
    x, r = put(Deposit(min=[3.0, 0.0], max=[9.0, 9.0]), radius, period)
    assert_inside(x, r, [3.0, 0.0], [9.0, 9.0])


@pytest.mark.parametrize("taken_radius", [0.02, 0.5, 2.0])
def test_deposit_around_grains_already_there(taken_radius: float) -> None:
    """Also finer than the new ones by more than a level, and an image across the boundary."""
    there, size = put(Loose(min=[0.0, 0.0], max=[20.0, 20.0]), np.full(15, taken_radius))
    there[0] += [40.0, 0.0]
    period = np.array([20.0, 0.0])
    x, r = put(Deposit(min=[0.0, 0.0], max=[20.0, 20.0]), broad_radii(300), period, (there, size))
    both = np.concatenate([there, x]), np.concatenate([size, r])
    assert brute_force(*both, period)[0] <= 0.0


def test_hundred_thousand_spheres_at_packing_fraction_0_3() -> None:
    length = (1e5 * math.pi / 6.0 / 0.3) ** (1.0 / 3.0)
    x, r = put(Deposit(min=[0.0] * 3, max=[length] * 3), np.full(100_000, 0.5))
    assert worst_overlap(x, r, np.zeros(3))[0] <= 0.0


def test_points() -> None:
    at = At(positions=np.array([[0.0, 1.0], [2.0, 3.0]]))
    x, r = put(at, np.array([0.2, 0.1]))
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert r.tolist() == [0.2, 0.1]


@pytest.mark.parametrize(
    ("placement", "sentence"),
    [
        (Grid(min=(0, 0), max=(5, 5)), r"place.max leaves room for 16 of 100 grains on a grid of"),
        (Loose(min=(0, 0), max=(5, 5)), r"place.max leaves room for 25 of 100 grains, each in a"),
        (
            Deposit(min=(0, 0), max=(10, 10)),
            r"room for \d\d of 100 grains by random deposition, packing fraction 0\.5\d+ of 0\.785",
        ),
        (Grid(min=(0, 0), max=(0.5, 5)), "0.5 along x, but the largest grain needs 1"),
        (Deposit(min=(0, 0), max=(30, 30)), "30 along y, but the scene repeats there after 20"),
        (At(positions=[[0, 0]]), r"place.positions lists 1 points for 100 grains"),
        (At(positions=[[0, 0, 0]] * 100), r"place.positions\[0\] has 3 entries but .* 2D; give 2"),
        (Loose(min=(0, 0, 0), max=(5, 5, 5)), "place.min has 3 entries but the scene is 2D"),
    ],
)
def test_refusals(placement: Placement, sentence: str) -> None:
    none = np.zeros((0, 2)), np.zeros(0)
    with pytest.raises(InputError, match=sentence):
        place(placement, np.full(100, 0.5), rng(), 2, np.array([0.0, 20.0]), *none)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"kind": "grid", "min": [0, 0], "max": [1, 0]}, "max is 0 along y but must exceed min, 0"),
        ({"kind": "loose", "min": [0, 0], "max": [1]}, "min has 2 entries but max has 1"),
        ({"kind": "deposit", "min": [0, -1e308], "max": [1, 1e308]}, "too far from min"),
        ({"kind": "grid", "min": [0, 0], "max": [1, math.inf]}, "finite"),
        ({"kind": "grid", "min": [0, 0], "max": [1, 1], "jitter": 2}, "less than or equal to 1"),
        ({"kind": "grid", "min": [0, 0], "max": [1, 1], "spacing": -1}, "greater than or equal"),
        ({"kind": "deposit", "min": [0, 0], "max": [1, 1], "tries": 3}, "Extra inputs"),
        ({"kind": "rain", "min": [0, 0], "max": [1, 1]}, "'rain'"),
        ({"kind": "at", "positions": []}, "at least 1 item"),
        ({"kind": "at", "positions": [[0, 0], [0, "a"]]}, "valid number"),
    ],
)
def test_bad_placements(value: object, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence) as error:
        TypeAdapter(Placement).validate_python(value)
    assert error.value.error_count() == 1


@settings(max_examples=60)
@given(st.integers(2, 60), st.sampled_from([2, 3]), st.booleans(), st.integers(0, 10**6))
def test_worst_overlap_against_brute_force(n: int, dim: int, repeats: bool, seed: int) -> None:
    draw = rng(seed)
    r = 10.0 ** draw.uniform(-3.0, 0.0, n)
    x = draw.uniform(-5.0, 5.0, (n, dim)) * draw.choice([0.3, 1.0, 1e3])
    period = np.where(draw.random(dim) < 0.5, draw.uniform(4.5, 8.0), 0.0) * repeats
    expected, i, j = brute_force(x, r, period)
    overlap, first, second = worst_overlap(x, r, period)
    if expected > 0.0:
        assert overlap == pytest.approx(expected, abs=1e-12)
        assert (first, second) == (i, j)
    else:
        assert (overlap, first, second) == (0.0, -1, -1)


def test_worst_overlap_of_none_and_one() -> None:
    for n in (0, 1):
        assert worst_overlap(np.zeros((n, 2)), np.ones(n), np.zeros(2)) == (0.0, -1, -1)


@pytest.mark.parametrize("size", [0.0, 0.5, 5.0])
def test_worst_overlap_in_a_crowd(size: float) -> None:
    """A hundred thousand grains on top of each other: an answer at once, and a bad pair."""
    x = size * rng().random((100_000, 3))
    overlap, i, j = worst_overlap(x, np.full(100_000, 0.5), np.zeros(3))
    assert overlap == pytest.approx(1.0 - np.linalg.norm(x[i] - x[j]), abs=1e-12)
    assert overlap > 0.9


def test_worst_overlap_with_a_grain_far_away() -> None:
    x, r = put(Grid(min=[0.0] * 3, max=[53.0] * 3, spacing=0.01), np.full(100_000, 0.5))
    x[7], x[70_000] = 1e300, x[70_001] + [0.25, 0.0, 0.0]
    overlap, i, j = worst_overlap(x, r, np.zeros(3))
    assert (i, j) == (70_000, 70_001)
    assert overlap == pytest.approx(0.75)


def tube(radius: float) -> Walls:
    """A hollow cylinder along z around the origin, as place() takes walls."""
    axis = np.array([[0.0, 0.0, 1.0]])
    return Walls(np.array([INSIDE], np.int32), 0.0 * axis, axis, np.array([radius]), 0.0 * axis)


def hopper() -> Walls:
    """Two planes in 2D that meet at the origin, each at 45 degrees."""
    normal = np.array([[1.0, 1.0], [-1.0, 1.0]]) / math.sqrt(2.0)
    return Walls(np.zeros(2, np.int32), 0.0 * normal, normal, np.zeros(2), 0.0 * normal)


@pytest.mark.parametrize("kind", [Grid, Deposit, Loose])
def test_placement_keeps_to_the_room_between_walls(kind: type[Grid | Deposit | Loose]) -> None:
    """In a cylinder and in a hopper, from a region that reaches beyond them."""
    r = np.random.default_rng(3).uniform(0.2, 0.3, 60)
    none = np.zeros((0, 3)), np.zeros(0)
    placement = kind(min=(-2, -2, 0), max=(2, 2, 5))
    x, got = place(placement, r, rng(), 3, np.zeros(3), *none, tube(2.0))
    assert sorted(got) == sorted(r)
    assert (np.hypot(x[:, 0], x[:, 1]) + got <= 2.0 + 1e-9).all()
    assert brute_force(x, got, np.zeros(3))[0] <= 1e-12

    r = np.random.default_rng(3).uniform(0.2, 0.3, 30)
    none = np.zeros((0, 2)), np.zeros(0)
    placement = kind(min=(-6, 0), max=(6, 6))
    x, got = place(placement, r, rng(), 2, np.zeros(2), *none, hopper())
    above = (x[:, 1] - np.abs(x[:, 0])) / math.sqrt(2.0)
    assert (above >= got - 1e-9).all()
    assert brute_force(x, got, np.zeros(2))[0] <= 1e-12


@pytest.mark.parametrize("kind", [Grid, Deposit, Loose])
def test_walls_that_cut_no_grain_change_nothing(kind: type[Grid | Deposit | Loose]) -> None:
    r, none = np.full(40, 0.25), (np.zeros((0, 3)), np.zeros(0))
    placement = kind(min=(-2, -2, 0), max=(2, 2, 5))
    without, _ = place(placement, r, rng(), 3, np.zeros(3), *none)
    within, _ = place(placement, r, rng(), 3, np.zeros(3), *none, tube(9.0))
    assert np.array_equal(without, within)


@pytest.mark.parametrize(
    ("placement", "sentence"),
    [
        (Grid(min=(-2, -2, 0), max=(2, 2, 2.2)), "some of which the walls cut"),
        (Deposit(min=(-2, -2, 0), max=(2, 2, 1)), "by random deposition"),
        (Loose(min=(-2, -2, 0), max=(2, 2, 1)), "that no wall cuts"),
        (Grid(min=(-2, -2, 0), max=(1e12, 2, 9)), "walls cut most of them"),
        (Loose(min=(-2, -2, 0), max=(2, 1e12, 9)), "walls cut most of them"),
    ],
)
def test_too_little_room_between_walls_is_said(placement: Placement, sentence: str) -> None:
    none = np.zeros((0, 3)), np.zeros(0)
    with pytest.raises(InputError, match=sentence):
        place(placement, np.full(10, 0.5), rng(), 3, np.zeros(3), *none, tube(1.2))
