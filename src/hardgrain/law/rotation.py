"""Free rotation of a rigid body over a step.

Between two kicks the angular momentum L of a body stays where it is in space, and its spin
ω = I⁻¹ L turns with the body. In the body's own axes, in which the moments of inertia are constant,
L rotates backwards by Euler's equation dL/dt = L × I⁻¹ L. Over a step h it is taken to rotate about
one axis, that of the mean:

    L' = exp(−h ω̂) L,      ω = I⁻¹ (L + L')/2,      orientation' = orientation · exp(h ω̂),

where exp(h ω̂) is the rotation about ω by the angle h |ω|. L' appears on both sides and is found by
iteration. Why this one, of many:

- L in space is kept exactly, for the body turns by what L turns back in its axes;
- the energy is kept exactly: L' − L is perpendicular to ω, since a rotation about ω moves nothing
  along it, and so L'·I⁻¹L' − L·I⁻¹L = 2 ω·(L' − L) = 0;
- it is symmetric in time, of second order in h, and exact for spheres and for rotations about a
  principal axis, so that nothing special need be done for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

# Iterations at most. Each gains about the angle turned in a step [radian]; a step in which a body
# turns by more than about one radian may end without the energy being kept to rounding.
ITERATIONS = 60
# Change of the spin, relative to it, that is rounding.
ROUNDING = 1e-16

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]


@cache
def make_rotation(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the free rotation with ``jit``."""

    @jit
    def rotated(by: Quaternion, vector: Vector) -> Vector:
        """The vector turned by the quaternion (x, y, z, w), whatever its length.

        A length of 1 to rounding only would stretch the vector by twice its error in each step.
        """
        (x, y, z, w), (a, b, c) = by, vector
        p, q, r = y * c - z * b + w * a, z * a - x * c + w * b, x * b - y * a + w * c
        two = 2.0 / (x * x + y * y + z * z + w * w)
        return a + two * (y * r - z * q), b + two * (z * p - x * r), c + two * (x * q - y * p)

    @jit
    def about(a: float, b: float, c: float) -> Quaternion:
        """Unit quaternion of the rotation about (a, b, c) by the angle |(a, b, c)|."""
        angle = math.sqrt(a * a + b * b + c * c)
        if angle == 0.0:
            return 0.0, 0.0, 0.0, 1.0
        s = math.sin(0.5 * angle) / angle
        return s * a, s * b, s * c, math.cos(0.5 * angle)

    @jit
    def free_rotation(
        orientation: Quaternion, spin: Vector, moments: Vector, dt: float
    ) -> tuple[Quaternion, Vector]:
        """Orientation of the principal axes and spin in space after a step of free rotation.

        ``moments`` are the principal moments of inertia.
        """
        (x, y, z, w), (one, two, three) = orientation, moments
        # spin and angular momentum in the body's axes, angular momentum in space
        p, q, r = rotated((-x, -y, -z, w), spin)
        a, b, c = one * p, two * q, three * r
        in_space = rotated(orientation, (a, b, c))
        for _ in range(ITERATIONS):
            d, e, f = rotated(about(-dt * p, -dt * q, -dt * r), (a, b, c))
            d, e, f = 0.5 * (a + d) / one, 0.5 * (b + e) / two, 0.5 * (c + f) / three
            change = abs(d - p) + abs(e - q) + abs(f - r)
            p, q, r = d, e, f
            if change <= ROUNDING * (abs(p) + abs(q) + abs(r)):
                break
        tx, ty, tz, tw = about(dt * p, dt * q, dt * r)
        nx = w * tx + x * tw + y * tz - z * ty
        ny = w * ty + y * tw + z * tx - x * tz
        nz = w * tz + z * tw + x * ty - y * tx
        nw = w * tw - x * tx - y * ty - z * tz
        length = math.sqrt(nx * nx + ny * ny + nz * nz + nw * nw)
        nx, ny, nz, nw = nx / length, ny / length, nz / length, nw / length
        a, b, c = rotated((-nx, -ny, -nz, nw), in_space)
        after = (nx, ny, nz, nw)
        return after, rotated(after, (a / one, b / two, c / three))

    return SimpleNamespace(rotated=rotated, about=about, free_rotation=free_rotation)
