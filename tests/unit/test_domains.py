"""Tiles divided among processes: every tile has one, and all have about as much to do."""

from __future__ import annotations

import numpy as np
import pytest

from hardgrain.point.tiles import Tiling
from hardgrain.step.domains import divided


def tiling(*count: int) -> Tiling:
    return Tiling(np.ones(len(count)), np.array(count), np.zeros(len(count)))


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("count", [(40, 30), (16, 12, 10), (200, 1), (1, 36, 1)])
def test_every_process_gets_its_share(count: tuple[int, ...], processes: int) -> None:
    cut = tiling(*count)
    weight = np.random.default_rng(0).integers(300, 700, int(np.prod(count)))
    owner = divided(cut, weight, processes)
    assert owner.shape == weight.shape
    share = np.bincount(owner, weight, processes) / weight.sum() * processes
    # A block may be off by half of what lies along its cut, a row of tiles, at each of its cuts.
    most = max(c for c in count) if sum(c > 1 for c in count) > 1 else 1
    assert np.abs(share - 1.0).max() <= 2.0 * processes * most / weight.size + 0.1
    assert share.min() > 0.0


def test_heaps_count_and_empty_space_does_not() -> None:
    weight = np.zeros(400, np.int64)
    cut = tiling(20, 20)
    first = divided(cut, np.ones(400, np.int64), 2) == 0
    weight[first] = np.where(np.arange(first.sum()) % 5 == 0, 1000, 0)
    owner = divided(cut, weight, 4)
    share = np.bincount(owner, weight, 4) / weight.sum()
    assert share.max() < 0.4


def test_more_processes_than_tiles_leave_some_idle() -> None:
    owner = divided(tiling(2, 2), np.ones(4, np.int64), 7)
    assert np.unique(owner).size == 4
    assert owner.max() < 7


def test_space_that_is_not_cut_is_one_tile() -> None:
    assert divided(tiling(1, 1, 1), np.ones(1, np.int64), 3).tolist() == [0]
