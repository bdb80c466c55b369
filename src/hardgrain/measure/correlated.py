"""Means over frames with their errors, where one frame is much like the next.

Neighbouring frames are correlated, so that the scatter of single ones over the root of their number
is no error of their mean: too small where they are alike, and too large where they swing about it,
as the rate of a strain that stays bounded does. Means over blocks of frames depend on each other
less the longer they are. So the series is cut into ten blocks, and the error is that which their
scatter gives: right, to about a quarter of itself, if a block is longer than frames remember, and
if the series is steady. A trend counts as scatter.

What follows from means, such as an angle from a mean stress, is taken of the means, not averaged
over frames, where fluctuations would shift it: an isotropic stress has a friction angle in every
single frame. Its error is the jackknife's: each block is left out once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hardgrain.core.model import Floats

__all__ = ["BLOCKS", "estimate", "scatter"]

# [1] Number of blocks of time whose scatter gives the error of a mean. Fewer make the error
# uncertain; more make blocks so short that they depend on each other, and the error too small.
BLOCKS = 10


def estimate(of: Callable[[Floats], Floats], series: Floats) -> tuple[Floats, Floats]:
    """A function of the mean of a series (n, …), and its standard error; NaN for a single value.

    The function takes several means at once, along the first axis.
    """
    n = len(series)
    value = of(series.mean(axis=0, keepdims=True))[0]
    m = min(BLOCKS, n)
    if m < 2:
        return value, np.full_like(value, math.nan)
    cuts = np.linspace(0, n, m + 1).round().astype(int)
    sums = np.add.reduceat(series, cuts[:-1], axis=0)
    left = n - np.diff(cuts).reshape(-1, *[1] * (series.ndim - 1))
    without = of((series.sum(axis=0) - sums) / left)
    error: Floats = np.sqrt((m - 1) / m * np.square(without - without.mean(axis=0)).sum(axis=0))
    return value, error


def scatter(blocks: Floats) -> float:
    """The standard error of the mean of blocks that are alike; NaN of a single one."""
    if blocks.size < 2:
        return math.nan
    return float(blocks.std(ddof=1) / math.sqrt(blocks.size))
