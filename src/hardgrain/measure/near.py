"""What is near what, across the faces of the periodic cell, straight or tilted.

The cell's vectors are an upper triangle (`core.cell`), so an upright block as long as the periods
is filled by the images of what is in the cell once, whatever the tilts: whole periods along z bring
a place between the block's faces across z, those along y then between its faces across y, and those
along x last. Measurements put grains into this block, which stays where it is while the cell tilts
and is the same for all cells that describe the same lattice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from hardgrain.core.cell import Cell
from hardgrain.core.model import Floats

__all__ = ["Near", "into_block", "lattice"]


def into_block(cell: Cell, x: Floats, low: Floats, axes: int | None = None) -> Floats:
    """Places (…, dim) moved by whole periods into the upright block that begins at ``low`` (dim,).

    With ``axes``, along the first ones only.
    """
    h, y = cell.matrix, np.array(x, dtype=float)
    for a in range((cell.dim if axes is None else axes) - 1, -1, -1):
        if h[a, a] > 0.0:
            y = y - np.floor((y[..., a, None] - low[a]) / h[a, a]) * h[:, a]
    return y


def lattice(cell: Cell, begin: Floats, low: Floats, high: Floats, reach: float) -> Iterator[Floats]:
    """Shifts (dim,) by whole periods that bring the block at ``begin`` within reach of another.

    That one has the corners ``low`` and ``high`` (dim,).
    """
    h = cell.matrix

    def along(a: int, shift: Floats) -> Iterator[Floats]:
        if a < 0:
            yield shift
            return
        turns = range(1)
        if h[a, a] > 0.0:
            place = begin[a] + shift[a]
            least = math.ceil((low[a] - reach - place) / h[a, a] - 1.0)
            turns = range(least, math.floor((high[a] + reach - place) / h[a, a]) + 1)
        for k in turns:
            yield from along(a - 1, shift + k * h[:, a])

    return along(cell.dim - 1, np.zeros(cell.dim))


class Near:
    """Points that are searched for those near each other, images included.

    The tree knows straight periods. For a tilted cell images of the points are made, as far away
    as the search goes.
    """

    def __init__(self, cell: Cell, x: Floats, low: Floats) -> None:
        self.cell, period = cell, cell.period
        # in the block, where rounding left it
        inside = np.clip(into_block(cell, x, low) - low, 0.0, np.nextafter(period, 0.0))
        self.x = np.where(cell.repeats, inside, x)
        self.tree = cKDTree(self.x, boxsize=None if cell.tilted else period)

    def pairs(self, reach: float) -> NDArray[np.intp]:
        """Pairs of points (k, 2) of which some images are not further apart, each pair once."""
        if not self.cell.tilted:
            found: NDArray[np.intp] = self.tree.query_pairs(reach, output_type="ndarray")
            return found
        everyone, owner = self._around(reach)
        first, second = everyone.query_pairs(reach, output_type="ndarray").T
        mine = first < len(self.x)  # the points themselves come first
        both = np.sort(np.stack([first[mine], owner[second[mine]]], axis=1), axis=1)
        return np.unique(both[both[:, 0] < both[:, 1]], axis=0).reshape(-1, 2)

    def count(self, distances: Floats) -> NDArray[np.int64]:
        """Pairs within each distance (k,), each counted from both of its ends, and no point twice.

        Distances must be less than half of every period.
        """
        other = self.tree
        if self.cell.tilted:
            other, _ = self._around(float(distances.max(initial=0.0)))
        found: NDArray[np.int64] = self.tree.count_neighbors(other, distances)
        return found - len(self.x)

    def nearest(self, count: int) -> NDArray[np.intp]:
        """The nearest points of each (n, count), the first of which is the point itself."""
        if not self.cell.tilted:
            rows: NDArray[np.intp] = self.tree.query(self.x, count)[1]
            return rows
        n, dim = self.x.shape
        reach = (self.cell.volume * count / n) ** (1.0 / dim)
        while True:
            everyone, owner = self._around(reach)
            away, found = everyone.query(self.x, count)
            if away.max(initial=0.0) <= reach:
                rows = owner[found]
                return rows
            reach *= 2.0

    def _around(self, reach: float) -> tuple[cKDTree, NDArray[np.intp]]:
        """A tree of the points and their images within reach, and which point each is."""
        x, repeats = self.x, self.cell.repeats
        none, high = np.zeros(self.cell.dim), self.cell.period
        places, owner = [x], [np.arange(len(x))]
        for shift in lattice(self.cell, none, none, high, reach):
            y = x + shift
            near = np.all(~repeats | ((y >= -reach) & (y <= high + reach)), axis=1)
            if shift.any() and near.any():
                places.append(y[near])
                owner.append(np.flatnonzero(near))
        return cKDTree(np.concatenate(places)), np.concatenate(owner)
