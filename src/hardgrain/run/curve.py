"""Points along a curve that fills space, so that what is close in space is close in memory.

The curve is Morton's, or Z-order: space is halved along each axis in turn, and the two halves come
one after the other, again and again. A point's place on it is the number whose binary digits are
those of its coordinates, taken in turn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import Cell
from hardgrain.core.model import Floats

__all__ = ["along_curve"]

# [1] How often space is halved along each axis. If it is larger than 20, three coordinates do not
# fit into one number; if it is smaller, points that are close by share a place on the curve.
HALVED = 20


def along_curve(position: Floats, cell: Cell) -> NDArray[np.int64]:
    """Rows (n,) of points (n, dim) in the order of the curve, in a cell that begins at zero."""
    period = np.where(cell.repeats, cell.period, 1.0)
    inside = np.where(cell.repeats, position % period, position)
    if cell.tilted:
        inside = cell.wrap(position, np.zeros(cell.dim))
    from_low = inside - inside.min(axis=0, initial=np.inf)
    places = (from_low / (from_low.max(initial=0.0) or 1.0) * (2**HALVED - 1)).astype(np.int64)
    place = np.zeros(len(places), np.int64)
    for halving in reversed(range(HALVED)):
        for axis in places.T:
            place = 2 * place + (axis >> halving & 1)
    return np.argsort(place, kind="stable")
