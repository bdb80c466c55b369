"""The periodic cell: how places repeat, along straight or tilted axes.

A cell has three numbers in 2D and six in 3D, in the order of Voigt, in which its velocity gradient,
strain and stress are written too:

    2D   xx, yy, xy              3D   xx, yy, zz, yz, xz, xy

The first are the periods, zero along an open axis; the others are the tilts. Together they are the
upper triangular matrix h whose columns are the vectors by which all repeats,

    a = (xx, 0, 0),   b = (xy, yy, 0),   c = (xz, yz, zz).

An upper triangle is no loss: whoever turns a cell until a lies along x and b in the plane of x and
y gets one. A tilt changes nothing when a whole period is added to it, since a + b serves as well as
b does. So tilts are kept within half a period (`reduced`), and the nearest image is then found by
whole periods along z, then y, then x, as long as it is nearer than half of every period.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PLACES", "Cell", "make_images", "make_triangles", "voigt"]

Floats = NDArray[np.float64]

# Row and column of each number in the matrix, by dimension.
PLACES = {
    2: ((0, 0), (1, 1), (0, 1)),
    3: ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)),
}


def voigt(tensor: Floats) -> Floats:
    """The numbers of an upper triangle (…, dim, dim), in their order."""
    places = PLACES[tensor.shape[-1]]
    return np.stack([tensor[..., a, b] for a, b in places], axis=-1)


class Cell(NamedTuple):
    """A cell, straight or tilted."""

    numbers: Floats  # (dim (dim + 1) / 2,) periods and tilts [length]

    @classmethod
    def straight(cls, period: Floats) -> Cell:
        """The cell without tilts that has the given periods (dim,), zero along open axes."""
        return cls(np.concatenate([period, np.zeros(len(PLACES[period.size]) - period.size)]))

    @property
    def dim(self) -> int:
        return 2 if self.numbers.size == 3 else 3

    @property
    def period(self) -> Floats:
        """(dim,) along each axis, zero where it is open [length]."""
        return self.numbers[: self.dim]

    @property
    def repeats(self) -> NDArray[np.bool_]:
        """(dim,) whether each axis is periodic."""
        return self.period > 0.0

    @property
    def tilted(self) -> bool:
        """Whether its axes are not all straight."""
        return bool(self.numbers[self.dim :].any())

    @property
    def matrix(self) -> Floats:
        """(dim, dim) h, a column for each vector; that of an open axis is zero [length]."""
        h = np.zeros((self.dim, self.dim))
        for (a, b), number in zip(PLACES[self.dim], self.numbers):
            h[a, b] = number
        return h

    @property
    def volume(self) -> float:
        """Area or volume, of periodic axes alone [length^k]."""
        return float(np.prod(self.period[self.repeats]))

    @property
    def widths(self) -> Floats:
        """(dim,) distance of opposite faces, infinite along open axes [length]."""
        h = self.matrix + np.diag(np.where(self.repeats, 0.0, 1.0))
        across = 1.0 / np.linalg.norm(np.linalg.inv(h), axis=1)
        return np.where(self.repeats, across, np.inf)

    def images(self, x: Floats) -> Floats:
        """(…, dim) whole periods by which places (…, dim) lie outside the cell, along each axis."""
        return np.where(self.repeats, np.floor(self.fractions(x)), 0.0)

    def wrap(self, x: Floats, low: Floats) -> Floats:
        """Places (…, dim) moved into the cell whose corner is ``low`` (dim,)."""
        return x - self.images(x - low) @ self.matrix.T

    def nearest(self, apart: Floats) -> Floats:
        """Lines (…, dim) between two places, to the nearest image."""
        h, line = self.matrix, np.array(apart, dtype=float)
        for a in range(self.dim - 1, -1, -1):
            if h[a, a] > 0.0:
                line = line - np.floor(line[..., a, None] / h[a, a] + 0.5) * h[:, a]
        return line

    def fractions(self, x: Floats) -> Floats:
        """Places (…, dim) in units of the periods, along tilted axes; as they are along open ones.

        So 0 and 1 are opposite faces, whatever the tilt.
        """
        h, share = self.matrix, np.array(x, dtype=float)
        for a in range(self.dim - 1, -1, -1):
            if h[a, a] > 0.0:
                share[..., a] /= h[a, a]
                share[..., :a] -= share[..., a, None] * h[:a, a]
        return share

    def reduced(self) -> Cell:
        """The same lattice with tilts of at most half a period."""
        h = self.matrix
        for b in range(1, self.dim):
            for a in range(b - 1, -1, -1):
                if h[a, a] > 0.0:
                    h[:, b] -= math.floor(h[a, b] / h[a, a] + 0.5) * h[:, a]
        return Cell(voigt(h))


@cache
def make_images(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the nearest image in a cell with ``jit``."""

    # Without branches: where a function that holds arrays branches, Numba counts references.
    @jit
    def tilts(cell: Floats, dim: int) -> tuple[float, float, float]:
        """The tilts yz, xz and xy of a cell; zero, if it has its periods alone."""
        tilted = int(cell.shape[0] > dim)
        solid = tilted * (dim - 2)  # 1 in 3D; 0 in 2D, where nothing has a z
        xy = tilted * cell[tilted * (dim + 2 * solid)]
        return solid * cell[3 * solid], solid * cell[4 * solid], xy

    @jit
    def nearest(
        x: float,
        y: float,
        z: float,
        period: tuple[float, float, float],
        tilt: tuple[float, float, float],
    ) -> tuple[float, float, float]:
        """The shortest line to an image of a place that is (x, y, z) away."""
        (lx, ly, lz), (yz, xz, xy) = period, tilt
        if lz > 0.0:
            turns = math.floor(z / lz + 0.5)
            x, y, z = x - turns * xz, y - turns * yz, z - turns * lz
        if ly > 0.0:
            turns = math.floor(y / ly + 0.5)
            x, y = x - turns * xy, y - turns * ly
        if lx > 0.0:
            x -= lx * math.floor(x / lx + 0.5)
        return x, y, z

    return SimpleNamespace(tilts=tilts, nearest=nearest)


@cache
def make_triangles(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` products of vectors with upper triangles, in the order of Voigt."""

    @jit
    def times_2d(rows: Floats, k: int, x: float, y: float) -> tuple[float, float]:
        """The product of the triangle in row k with a vector."""
        return rows[k, 0] * x + rows[k, 2] * y, rows[k, 1] * y

    @jit
    def times_3d(rows: Floats, k: int, x: float, y: float, z: float) -> tuple[float, float, float]:
        """The same in 3D."""
        return (
            rows[k, 0] * x + rows[k, 5] * y + rows[k, 4] * z,
            rows[k, 1] * y + rows[k, 3] * z,
            rows[k, 2] * z,
        )

    @jit
    def dyad_2d(x: float, y: float, u: float, v: float) -> tuple[float, float, float]:
        """The upper triangle of a product (x, y) ⊗ (u, v)."""
        return x * u, y * v, x * v

    @jit
    def dyad_3d(
        x: float, y: float, z: float, u: float, v: float, w: float
    ) -> tuple[float, float, float, float, float, float]:
        """The same in 3D."""
        return x * u, y * v, z * w, y * w, x * w, x * v

    @jit
    def add_dyad_2d(rows: Floats, k: int, x: float, y: float, u: float, v: float) -> None:
        """Add the triangle of (x, y) ⊗ (u, v) to that in row k."""
        rows[k, 0] += x * u
        rows[k, 1] += y * v
        rows[k, 2] += x * v

    @jit
    def add_dyad_3d(
        rows: Floats, k: int, x: float, y: float, z: float, u: float, v: float, w: float
    ) -> None:
        """The same in 3D."""
        rows[k, 0] += x * u
        rows[k, 1] += y * v
        rows[k, 2] += z * w
        rows[k, 3] += y * w
        rows[k, 4] += x * w
        rows[k, 5] += x * v

    return SimpleNamespace(
        times_2d=times_2d, times_3d=times_3d, dyad_2d=dyad_2d, dyad_3d=dyad_3d,
        add_dyad_2d=add_dyad_2d, add_dyad_3d=add_dyad_3d,
    )  # fmt: skip
