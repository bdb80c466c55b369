"""Collisions summed up by pairs, against a dictionary; and contacts of frames against impulses."""

import numpy as np

from hardgrain.step.event_contacts import by_pairs


def test_pairs_have_the_sums_of_their_collisions():
    rng = np.random.default_rng(3)
    n, walls, m = 30, 3, 2000
    row = rng.permutation(n)
    pair = np.empty((m, 2), np.int32)
    for k in range(m):
        i, j = rng.choice(n, 2, replace=False)
        pair[k] = (i, j) if rng.random() > 0.2 else (i, -1 - rng.integers(walls))
    rows = rng.integers(-3, 4, size=(m, 6)).astype(float)  # sums of whole numbers are exact
    expected: dict[tuple[int, int], np.ndarray] = {}
    for (i, j), values in zip(pair, rows):
        a, b = row[i], row[j] if j >= 0 else n - 1 - j
        key, sign = ((a, b), 1.0) if a < b else ((b, a), -1.0)
        expected[key] = expected.get(key, 0.0) + sign * values
    expected = {k: v for k, v in expected.items() if v[:3].any()}
    found, sums = by_pairs(pair, rows, row, n)
    assert [tuple(p) for p in found.tolist()] == sorted(expected)
    for p, values in zip(found.tolist(), sums):
        assert (values == expected[tuple(p)]).all()


def test_no_collisions_make_no_pairs():
    found, sums = by_pairs(np.zeros((0, 2), np.int32), np.zeros((0, 6)), np.arange(4), 4)
    assert found.shape == (0, 2)
    assert sums.shape == (0, 6)
