"""The contact of soft grains: a spring and dashpot that never pulls, and a tangential spring.

Normal force, with δ the overlap and u_n the velocity at which the grains part (δ̇ = −u_n):

    N = max(0, k δ − γ u_n)

A dashpot alone would hold parting grains back (N < 0); dry grains do not stick, so it does not.

Tangential force on the second body, with u_t the slip and ξ the elongation of a spring that was
tied to both surfaces when they met (P. A. Cundall and O. D. L. Strack, Géotechnique 29, 47 (1979)):

    T = −k_t ξ − γ_t u_t, scaled back to µ N if it is longer; then the spring slides: ξ = −T/k_t.

Without the spring (k_t = 0) this is viscous friction with Coulomb's limit, T = −min(γ_t u, µ N) û.
A sliding spring holds no more than µ N/k_t, so its energy is spent when the contact opens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.law.friction import make_friction

Vector = tuple[float, float, float]


@cache
def make_spring(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the soft contact with ``jit``."""
    stick_or_slide_share = make_friction(jit).stick_or_slide_share

    @jit
    def normal_force(overlap: float, parting: float, stiffness: float, damping: float) -> float:
        """N [force], never a pull."""
        return max(stiffness * overlap - damping * parting, 0.0)

    @jit
    def onto_plane(spring: Vector, normal: Vector) -> Vector:
        """A spring laid into the tangent plane of n as the contact turns; it keeps its length."""
        (x, y, z), (nx, ny, nz) = spring, normal
        along = x * nx + y * ny + z * nz
        tx, ty, tz = x - along * nx, y - along * ny, z - along * nz
        rest = tx * tx + ty * ty + tz * tz
        if rest == 0.0:
            return 0.0, 0.0, 0.0
        grow = math.sqrt((x * x + y * y + z * z) / rest)
        return tx * grow, ty * grow, tz * grow

    @jit
    def stretch(
        spring: Vector, slip: Vector, limit: float, stiffness: float, damping: float, dt: float
    ) -> tuple[Vector, Vector, float]:
        """T on the second body, the spring after a slip of u dt, and what it gained.

        limit: µ N [force].
        """
        (x, y, z), (ux, uy, uz) = spring, slip
        before = x * x + y * y + z * z
        x, y, z = x + ux * dt, y + uy * dt, z + uz * dt
        tx = -stiffness * x - damping * ux
        ty = -stiffness * y - damping * uy
        tz = -stiffness * z - damping * uz
        share = stick_or_slide_share(tx * tx + ty * ty + tz * tz, limit, limit)
        tx, ty, tz = share * tx, share * ty, share * tz
        if share < 1.0 and stiffness > 0.0:
            x, y, z = -tx / stiffness, -ty / stiffness, -tz / stiffness
        stored = 0.5 * stiffness * (x * x + y * y + z * z - before)
        return (tx, ty, tz), (x, y, z), stored

    return SimpleNamespace(normal_force=normal_force, onto_plane=onto_plane, stretch=stretch)
