"""How grains of a step of events lie in memory and in cells."""

import numpy as np
import pytest

from hardgrain.kernels import jit
from hardgrain.step import event_cells
from hardgrain.step.event_cells import BEHIND, LINE, ROOM, enter, leave, lines


@jit
def come(room, note, c, k):
    enter(room, note, c, k)


@jit
def go(room, note, c, k):
    leave(room, note, c, k)


def inside(room, note, c):
    """The grains that a search finds in a cell: those that it has room for, and who follows."""
    many = room[c, 0]
    found = room[c, 1 : 1 + min(many, ROOM)].tolist()
    if many > ROOM:
        k = note[room[c, ROOM], BEHIND]
        while k >= 0:
            found.append(int(k))
            k = note[k, BEHIND]
    return found


@pytest.mark.parametrize("cells", [2, 10])  # crowded ones, and such as have room for most
def test_grains_are_in_the_cells_that_they_entered_and_did_not_leave(cells):
    rng = np.random.default_rng(cells)
    n = 24
    room, note = np.zeros((cells, 1 + ROOM), np.int32), lines(n, np.int32)
    where = rng.integers(cells, size=n)
    for k in range(n):
        come(room, note, where[k], k)
    for _ in range(500):
        k = int(rng.integers(n))
        go(room, note, where[k], k)
        where[k] = rng.integers(cells)
        come(room, note, where[k], k)
        for c in range(cells):
            found = inside(room, note, c)
            assert room[c, 0] == len(found)
            assert sorted(found) == np.flatnonzero(where == c).tolist()


@pytest.mark.parametrize("kind", [np.float64, np.int32])
@pytest.mark.parametrize("n", [1, 3, 100, 100_000])
def test_each_grain_has_a_line_of_memory(n, kind):
    """An array may begin anywhere in memory; rows that lie across two lines cost twice as much."""
    rows = lines(n, kind)
    assert rows.shape == (n, LINE // np.dtype(kind).itemsize)
    assert rows.ctypes.data % LINE == 0
    assert rows.strides[0] == LINE
    assert rows.flags.c_contiguous
    assert not rows.any()


def test_the_columns_of_a_grain_fit_its_lines():
    assert lines(1, np.float64).shape[1] > event_cells.TURNED
    assert lines(1, np.int32).shape[1] >= event_cells.LIES + 3
