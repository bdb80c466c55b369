"""Distance and direction from a grain to a wall, and the nearest periodic image.

Walls are rows of flat arrays in the world frame:

========  ==================  ==================================  ================
kind      what                point (w, dim) [length]             axis (w, dim)
========  ==================  ==================================  ================
PLANE     half-space          any point of the surface            unit normal into the free space
SEGMENT   finite line (2D)    first end                           second end − first end [length]
INSIDE    hollow cylinder     any point of the axis (2D: centre)  unit vector along it (2D: ignored)
OUTSIDE   solid cylinder      the same                            the same
========  ==================  ==================================  ================

and size (w,): the cylinder's radius [length], zero otherwise. A circle in 2D is a cylinder along z.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import device

PLANE, SEGMENT, INSIDE, OUTSIDE = range(4)

# Below this length [any unit] a squared length has lost its digits and a direction is arbitrary.
TINY = 1e-150

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
F = TypeVar("F", bound=Callable[..., Any])


class Jit(Protocol):
    """Decorator that compiles a scalar function for some backend."""

    def __call__(self, function: F, /) -> F: ...


def make_min_image(jit: Jit) -> Callable[..., float]:
    """Compile `min_image` for the backend of `jit`."""

    @jit
    def min_image(d: float, period: float) -> float:
        """Shortest of the separations d + k·period [length]; d itself where period is zero."""
        if period > 0.0:
            d -= period * math.floor(d / period + 0.5)
        return d

    return min_image


def make_wall_gap(jit: Jit) -> Callable[..., tuple[float, float, float, float]]:
    """Compile `wall_gap` for the backend of `jit`."""
    min_image = make_min_image(jit)

    @jit
    def direction(
        x: float, y: float, z: float, ax: float, ay: float
    ) -> tuple[float, float, float, float]:
        """Length and direction of (x, y, z); where it vanishes, ẑ × a stands in (x̂ if a ∥ ẑ)."""
        length = math.sqrt(x * x + y * y + z * z)
        if length > TINY:
            return length, x / length, y / length, z / length
        across = math.sqrt(ax * ax + ay * ay)
        if across > TINY:
            return length, -ay / across, ax / across, 0.0
        return length, 1.0, 0.0, 0.0

    # With r = (x, y, z) the grain's centre relative to `point` and a the axis,
    #   plane:     gap = r·a − R,                   n = −a
    #   segment:   q = s a − r, s = r·a / a² held to [0, 1]; gap = |q| − R, n = q / |q|
    #   cylinder:  p = r − (r·a) a;  inside:  gap = size − |p| − R, n = p / |p|
    #                                outside: gap = |p| − size − R, n = −p / |p|
    # The segment is taken at its image nearest to the grain, midpoint to centre, the cylinder
    # likewise, axis to centre; a plane contains its periodic directions and needs no image.
    @jit
    def gap_of(
        x: float,
        y: float,
        z: float,
        radius: float,
        lx: float,
        ly: float,
        lz: float,
        solid: int,
        kind: int,
        ax: float,
        ay: float,
        az: float,
        size: float,
    ) -> tuple[float, float, float, float]:
        if kind == PLANE:
            return x * ax + y * ay + z * az - radius, -ax, -ay, -az

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

        if solid == 0:
            ax, ay, az = 0.0, 0.0, 1.0
        x, y, z = min_image(x, lx), min_image(y, ly), min_image(z, lz)
        along = x * ax + y * ay + z * az
        d, nx, ny, nz = direction(x - along * ax, y - along * ay, z - along * az, ax, ay)
        if kind == INSIDE:
            return size - d - radius, nx, ny, nz
        return d - size - radius, -nx, -ny, -nz

    # Arrays only here, in straight lines: Numba counts references to them, atomically, wherever a
    # function that holds them branches and returns.
    @jit
    def wall_gap(
        position: Floats,
        i: int,
        radius: float,
        periodic: Floats,
        kind: Ints,
        point: Floats,
        axis: Floats,
        size: Floats,
        w: int,
    ) -> tuple[float, float, float, float]:
        """Gap between grain i with the given radius and wall w, and unit normal from grain to wall.

        Returns (gap [length], nx, ny, nz), with nz = 0 in 2D. position has shape (n, dim).
        """
        last = position.shape[1] - 1
        solid = last - 1  # 1 in 3D; 0 in 2D, where nothing has a z
        x, y = position[i, 0] - point[w, 0], position[i, 1] - point[w, 1]
        z = solid * (position[i, last] - point[w, last])
        ax, ay, az = axis[w, 0], axis[w, 1], solid * axis[w, last]
        lx, ly, lz = periodic[0], periodic[1], solid * periodic[last]
        return gap_of(x, y, z, radius, lx, ly, lz, solid, kind[w], ax, ay, az, size[w])

    return wall_gap


min_image = make_min_image(device)
wall_gap = make_wall_gap(device)
