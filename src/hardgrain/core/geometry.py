"""Distance and direction from a grain to a wall, and the nearest periodic image.

Walls are rows of flat arrays, explained in `hardgrain.core.wall_kinds`.
"""

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.wall_kinds import (
    CELL,
    DISK,
    INSIDE,
    MESH,
    OUTSIDE,
    PLANE,
    RECTANGLE,
    SEGMENT,
    TRIANGLE,
    Walls,
)
from hardgrain.kernels import scalar

__all__ = [
    "DISK", "INSIDE", "OUTSIDE", "PLANE", "RECTANGLE", "SEGMENT", "TINY", "TRIANGLE",
    "make_min_image", "make_nearest", "make_wall_gap", "min_image", "wall_gap",
]  # fmt: skip

# [any unit of length] The square of a shorter length has lost its digits, so that its direction is
# arbitrary. A larger limit would give such a direction to bodies that are merely close; a smaller
# one would let a direction be NaN.
TINY = 1e-150

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Vector = tuple[float, float, float]
F = TypeVar("F", bound=Callable[..., Any])


class Jit(Protocol):
    """Decorator that compiles a scalar function for some backend."""

    def __call__(self, function: F, /) -> F: ...
    def __hash__(self) -> int: ...


@cache
def make_min_image(jit: Jit) -> Callable[..., float]:
    """Compile `min_image` for the backend of `jit`."""

    @jit
    def min_image(d: float, period: float) -> float:
        """Shortest of the separations d + k·period [length]; d itself where period is zero."""
        if period > 0.0:
            d -= period * math.floor(d / period + 0.5)
        return d

    return min_image


@cache
def make_nearest(jit: Jit) -> SimpleNamespace:
    """Compile the nearest points of segments and triangles for the backend of `jit`."""

    @jit
    def share(d: float, a2: float) -> float:
        """The quotient d / a2, held to [0, 1]."""
        return min(max(d / a2, 0.0), 1.0) if a2 > 0.0 else 0.0

    # Which corner, edge or face of a triangle is nearest follows from the projections of r on the
    # sides a and b as seen from the three corners (Ericson, Real-Time Collision Detection, 5.1.5).
    @jit
    def nearest_of_triangle(r: Vector, a: Vector, b: Vector) -> tuple[float, float]:
        """Shares s and t of the point s a + t b of a triangle that is nearest to r."""
        (x, y, z), (ax, ay, az), (bx, by, bz) = r, a, b
        aa, bb = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz
        ab = ax * bx + ay * by + az * bz
        d1, d2 = x * ax + y * ay + z * az, x * bx + y * by + z * bz  # from the corner
        d3, d4 = d1 - aa, d2 - ab  # from the end of a
        d5, d6 = d1 - ab, d2 - bb  # from the end of b
        if d1 * d4 - d3 * d2 <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
            return share(d1, aa), 0.0
        if d5 * d2 - d1 * d6 <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
            return 0.0, share(d2, bb)
        if d3 * d6 - d5 * d4 <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
            t = share(d4 - d3, (d4 - d3) + (d5 - d6))
            return 1.0 - t, t
        if d1 <= 0.0 and d2 <= 0.0:
            return 0.0, 0.0
        if d3 >= 0.0 and d4 <= d3:
            return 1.0, 0.0
        if d6 >= 0.0 and d5 <= d6:
            return 0.0, 1.0
        area = aa * bb - ab * ab
        return (bb * d1 - ab * d2) / area, (aa * d2 - ab * d1) / area

    return SimpleNamespace(share=share, nearest_of_triangle=nearest_of_triangle)


@cache
def make_wall_gap(jit: Jit) -> Callable[..., tuple[float, float, float, float]]:
    """Compile `wall_gap` for the backend of `jit`."""
    min_image, nearest = make_min_image(jit), make_nearest(jit)
    share, nearest_of_triangle = nearest.share, nearest.nearest_of_triangle

    @jit
    def direction(
        x: float, y: float, z: float, ax: float, ay: float
    ) -> tuple[float, float, float, float]:
        """Length and direction of (x, y, z); a zero vector gets ẑ × a (x̂ if a ∥ ẑ)."""
        length = math.sqrt(x * x + y * y + z * z)
        if length > TINY:
            return length, x / length, y / length, z / length
        across = math.sqrt(ax * ax + ay * ay)
        if across > TINY:
            return length, -ay / across, ax / across, 0.0
        return length, 1.0, 0.0, 0.0

    # The point of a flat wall that is nearest to (x, y, z), both relative to the wall's own point.
    #   rectangle: s a + t b, with s = r·a / a² and t = r·b / b² held to [0, 1]
    #   disk:      the foot of r on the disk's plane, held to its radius
    # A foot that falls into the hole moves out to its rim.
    @jit
    def nearest_round(r: Vector, low: float, high: float, across: Vector) -> Vector:
        """Move a point of a plane through the origin to between two circles about the origin.

        ``across``, a direction in the plane, stands in where it is the origin itself.
        """
        (x, y, z), (ax, ay, az) = r, across
        rho = math.sqrt(x * x + y * y + z * z)
        if rho < low:
            if rho > TINY:
                return x * (low / rho), y * (low / rho), z * (low / rho)
            a = math.sqrt(ax * ax + ay * ay + az * az)
            return ax * (low / a), ay * (low / a), az * (low / a)
        if rho > high:
            return x * (high / rho), y * (high / rho), z * (high / rho)
        return x, y, z

    @jit
    def flat_gap(
        r: Vector, radius: float, kind: int, a: Vector, b: Vector, hole: float
    ) -> tuple[float, float, float, float]:
        (x, y, z), (ax, ay, az), (bx, by, bz) = r, a, b
        if kind == DISK:
            outer = math.sqrt(ax * ax + ay * ay + az * az)
            nx, ny, nz = ax / outer, ay / outer, az / outer
            h = x * nx + y * ny + z * nz
            # a direction across n: the axis with the largest angle to n, less its part along n
            ex = 1.0 if abs(nx) <= min(abs(ny), abs(nz)) else 0.0
            ey = 1.0 if ex == 0.0 and abs(ny) <= abs(nz) else 0.0
            ez = 1.0 - ex - ey
            e = ex * nx + ey * ny + ez * nz
            foot = (x - h * nx, y - h * ny, z - h * nz)
            across = (ex - e * nx, ey - e * ny, ez - e * nz)
            qx, qy, qz = nearest_round(foot, hole, outer, across)
        else:
            nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            n = math.sqrt(nx * nx + ny * ny + nz * nz)
            nx, ny, nz = nx / n, ny / n, nz / n
            if kind == RECTANGLE:
                s = share(x * ax + y * ay + z * az, ax * ax + ay * ay + az * az)
                t = share(x * bx + y * by + z * bz, bx * bx + by * by + bz * bz)
            else:
                s, t = nearest_of_triangle(r, a, b)
            qx, qy, qz = s * ax + t * bx, s * ay + t * by, s * az + t * bz
            if hole > 0.0:
                mx, my, mz = 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)
                qx, qy, qz = nearest_round((qx - mx, qy - my, qz - mz), hole, math.inf, a)
                qx, qy, qz = qx + mx, qy + my, qz + mz
        qx, qy, qz = qx - x, qy - y, qz - z
        d = math.sqrt(qx * qx + qy * qy + qz * qz)
        if d > TINY:
            nx, ny, nz = qx / d, qy / d, qz / d
        return d - radius, nx, ny, nz

    @jit
    def box_gap(
        r: Vector, radius: float, a: Vector, b: Vector, c: float
    ) -> tuple[float, float, float, float]:
        (x, y, z), (ax, ay, az), (bx, by, bz) = r, a, b
        p, q = math.sqrt(ax * ax + ay * ay + az * az), math.sqrt(bx * bx + by * by + bz * bz)
        ax, ay, az, bx, by, bz = ax / p, ay / p, az / p, bx / q, by / q, bz / q
        cx, cy, cz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        u, v, w = x * ax + y * ay + z * az, x * bx + y * by + z * bz, x * cx + y * cy + z * cz
        u, v, w = u - min(max(u, -p), p), v - min(max(v, -q), q), w - min(max(w, -c), c)
        x, y, z = u * ax + v * bx + w * cx, u * ay + v * by + w * cy, u * az + v * bz + w * cz
        d, nx, ny, nz = direction(-x, -y, -z, ax, ay)
        return d - radius, nx, ny, nz

    # With r = (x, y, z) the grain's centre relative to `point` and a the axis,
    #   plane:     gap = r·a − R,                   n = −a
    #   segment:   q = s a − r, s = r·a / a² held to [0, 1]; gap = |q| − R, n = q / |q|
    #   cylinder:  p = r − (r·a) a;  inside:  gap = size − |p| − R, n = p / |p|
    #                                outside: gap = |p| − size − R, n = −p / |p|
    #   flat:      q = nearest point − r;  gap = |q| − R, n = q / |q|
    #   mesh:      the same for the box around it, which says no more than which grains are near
    # In periodic scenes a segment is taken at the image whose midpoint is nearest to the grain's
    # centre; flat walls and cylinders likewise, by their point or axis. A plane contains its
    # periodic directions and needs no image.
    @jit
    def gap_of(
        r: Vector,
        radius: float,
        period: Vector,
        solid: int,
        kind: int,
        a: Vector,
        size: float,
        b: Vector,
    ) -> tuple[float, float, float, float]:
        (x, y, z), (lx, ly, lz), (ax, ay, az), (bx, by, bz) = r, period, a, b
        if kind == PLANE:
            return x * ax + y * ay + z * az - radius, -ax, -ay, -az

        if kind == CELL:
            return math.inf, 1.0, 0.0, 0.0

        if kind == SEGMENT:
            x = min_image(x - 0.5 * ax, lx) + 0.5 * ax
            y = min_image(y - 0.5 * ay, ly) + 0.5 * ay
            z = min_image(z - 0.5 * az, lz) + 0.5 * az
            a2 = ax * ax + ay * ay + az * az
            s = 0.0
            if a2 > 0.0:
                s = min(max((x * ax + y * ay + z * az) / a2, 0.0), 1.0)
            d, nx, ny, nz = direction(s * ax - x, s * ay - y, s * az - z, ax, ay)
            return d - radius, nx, ny, nz

        if kind == MESH:
            x, y, z = min_image(x, lx), min_image(y, ly), min_image(z, lz)
            return box_gap((x, y, z), radius, a, b, size)

        if kind >= RECTANGLE:
            mx = my = mz = 0.0
            if kind != DISK:
                mx, my, mz = 0.5 * (ax + bx), 0.5 * (ay + by), 0.5 * (az + bz)
            x, y = min_image(x - mx, lx) + mx, min_image(y - my, ly) + my
            z = min_image(z - mz, lz) + mz
            return flat_gap((x, y, z), radius, kind, a, b, size)

        if solid == 0:
            ax, ay, az = 0.0, 0.0, 1.0
        x, y, z = min_image(x, lx), min_image(y, ly), min_image(z, lz)
        along = x * ax + y * ay + z * az
        d, nx, ny, nz = direction(x - along * ax, y - along * ay, z - along * az, ax, ay)
        if kind == INSIDE:
            return size - d - radius, nx, ny, nz
        return d - size - radius, -nx, -ny, -nz

    # Arrays are read only in this function, which has no branches: wherever a function that holds
    # arrays branches and returns, Numba counts references to them atomically, which is slow.
    @jit
    def wall_gap(
        position: Floats,
        i: int,
        radius: float,
        periodic: Floats,
        walls: Walls,
        w: int,
    ) -> tuple[float, float, float, float]:
        """Gap between grain i with the given radius and wall w, and unit normal from grain to wall.

        Returns (gap [length], nx, ny, nz), with nz = 0 in 2D. position has shape (n, dim).
        """
        last = position.shape[1] - 1
        solid = last - 1  # 1 in 3D; 0 in 2D, where nothing has a z
        kind, point, axis, size, side = walls.kind, walls.point, walls.axis, walls.size, walls.side
        x, y = position[i, 0] - point[w, 0], position[i, 1] - point[w, 1]
        z = solid * (position[i, last] - point[w, last])
        ax, ay, az = axis[w, 0], axis[w, 1], solid * axis[w, last]
        lx, ly, lz = periodic[0], periodic[1], solid * periodic[last]
        bx, by, bz = side[w, 0], side[w, 1], solid * side[w, last]
        r, a, b, period = (x, y, z), (ax, ay, az), (bx, by, bz), (lx, ly, lz)
        return gap_of(r, radius, period, solid, kind[w], a, size[w], b)

    return wall_gap


min_image = make_min_image(scalar)
wall_gap = make_wall_gap(scalar)
