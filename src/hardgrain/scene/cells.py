"""Grains in cells of their own: on a grid, or each at random within its cell.

Cells that a wall cuts are left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError
from hardgrain.scene.obstacles import Obstacles

if TYPE_CHECKING:
    from hardgrain.scene.place import Grid

__all__ = ["SLACK", "loosely", "on_grid"]

Floats = NDArray[np.float64]

# [1] Relative tolerance in how many grains fit side by side, so that rounding does not cost one.
SLACK = 1e-12

# [cells] Number that is tried, besides a hundred for each grain, where walls cut most of them. A
# region far larger than the room between the walls would take all memory, or for ever.
_CELLS = 1_000_000

# [1] Rounds in which grains on a grid move on to further cells. More would take seconds.
_ROUNDS = 10_000

# [radius] Depth to which rounding may let a wall cut a grain that is meant to touch it.
ROUNDING = 1e-9


def _fitting(length: Floats, edge: float) -> list[int]:
    """How many cells fit along each axis, at least one and not too many to count."""
    return [int(min(max(n, 1.0), 2.0**40)) for n in np.floor(length / edge * (1.0 + SLACK))]


def _cell_indices(number: NDArray[np.int64], cells: list[int]) -> Floats:
    """Indices (count, dim) of cells by their number (count,), the first axis fastest."""
    index = np.empty((len(number), len(cells)))
    for axis, n in enumerate(cells[:-1]):
        number, index[:, axis] = np.divmod(number, n)
    index[:, -1] = number
    return index


def _corners(
    low: Floats, length: Floats, cells: list[int], number: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Lower corners (count, dim) of cells by their number, and the edges (dim,) of all."""
    edge = length / np.array(cells)
    return low + edge * _cell_indices(number, cells), edge


def _in_cells(low: Floats, edge: Floats, radius: Floats, share: Floats) -> Floats:
    """Centres at a share (count, dim) of the room that each grain has in its cell."""
    return low + radius[:, None] + share * np.maximum(edge - 2.0 * radius[:, None], 0.0)


def on_grid(
    grid: Grid,
    low: Floats,
    high: Floats,
    radius: Floats,
    rng: np.random.Generator,
    periodic: Floats,
    walls: Obstacles,
) -> tuple[Floats, Floats]:
    """Positions (count, dim) on a grid in the region from low to high, and their radii."""
    spacing = 2.0 * float(radius.max()) * (1.0 + grid.spacing)
    cells = _fitting(high - low, spacing)
    if math.prod(cells) < len(radius):
        raise InputError(
            f"place.max leaves room for {math.prod(cells)} of {len(radius)} grains on a grid of"
            f" spacing {spacing:g}; enlarge the region, or lower count or place.spacing"
        )
    edge = np.minimum(spacing, high - low)  # a single layer may have less room
    start = low + 0.5 * (high - low - edge * np.array(cells))  # the grid is centred,
    start[-1] = low[-1]  # but along the last axis it begins at the bottom
    share = np.full((len(radius), len(low)), 0.5)
    if grid.jitter > 0.0:
        share += grid.jitter * (rng.random(share.shape) - 0.5)
    number, end = np.arange(len(radius)), len(radius)
    for _ in range(_ROUNDS):  # a cell that a wall cuts is replaced by the next beyond the last
        x = _in_cells(start + edge * _cell_indices(number, cells), edge, radius, share)
        cut = _cut(x, radius, periodic, walls)
        if not (many := int(np.count_nonzero(cut))):
            return x, radius
        if end + many > math.prod(cells):
            raise InputError(
                f"place.max leaves room for {math.prod(cells)} of {len(radius)} grains on a grid"
                f" of spacing {spacing:g}, some of which the walls cut; enlarge the region, or"
                " lower count or place.spacing"
            )
        number = np.append(number[~cut], np.arange(end, end + many))
        end += many
    raise _waste(end, len(radius))


def _waste(cells: int, count: int) -> InputError:
    return InputError(
        f"place.max − place.min has {cells:.3g} cells or more for {count} grains, and walls cut"
        " most of them; make the region about as large as the room between the walls, or use"
        " place.kind 'deposit'"
    )


def loosely(
    low: Floats,
    high: Floats,
    radius: Floats,
    rng: np.random.Generator,
    periodic: Floats,
    walls: Obstacles,
) -> tuple[Floats, Floats]:
    """Positions (count, dim) at random in cells of the region from low to high, and their radii."""
    length, count = high - low, len(radius)
    # The largest cells that are enough; their number falls as they grow.
    least = small = 2.0 * float(radius.max())
    large = float(length.max())
    most = math.prod(_fitting(length, small))
    if most < count:
        raise InputError(
            f"place.max leaves room for {most} of {count} grains, each in a cell of its own of"
            f" edge {small:g}; enlarge the region, lower count, or use kind 'deposit'"
        )
    for _ in range(50):
        middle = math.sqrt(small) * math.sqrt(large)
        small, large = (
            (middle, large) if math.prod(_fitting(length, middle)) >= count else (small, middle)
        )
    cells = _fitting(length, small)
    chosen = np.sort(rng.choice(math.prod(cells), count, replace=False, shuffle=False))
    radius = rng.permutation(radius)
    share = rng.random((count, len(low)))
    x = _in_cells(*_corners(low, length, cells, chosen), radius, share)
    while _cut(x, radius, periodic, walls).any():
        # Only cells that no wall cuts are used, and smaller ones until there are enough of them.
        if math.prod(cells) > _CELLS + 100 * count:
            raise _waste(math.prod(cells), count)
        corner, edge = _corners(low, length, cells, np.arange(math.prod(cells)))
        around = np.full(len(corner), 0.5 * float(np.linalg.norm(edge)))
        whole = np.flatnonzero(~_cut(corner + 0.5 * edge, around, periodic, walls))
        if len(whole) >= count:
            chosen = np.sort(rng.choice(whole, count, replace=False, shuffle=False))
            x = _in_cells(corner[chosen], edge, radius, share)
            break
        if small <= least:
            raise InputError(
                f"place.max leaves room for {len(whole)} of {count} grains, each in a cell of its"
                f" own of edge {least:g} that no wall cuts; enlarge the region, lower count, or use"
                " kind 'deposit'"
            )
        small = max(0.95 * small, least)
        cells = _fitting(length, small)
    return x, radius


def _cut(x: Floats, radius: Floats, periodic: Floats, walls: Obstacles) -> NDArray[np.bool_]:
    """Which grains a wall cuts by more than rounding, shape (count,)."""
    if not walls.walls.kind.size:
        return np.zeros(len(x), bool)
    from hardgrain.scene import _deposit as kernel

    return kernel.cut(x, radius * (1.0 - ROUNDING), periodic, walls)
