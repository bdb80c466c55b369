"""The contact of soft grains: a spring and dashpot that never pulls, and a tangential spring.

Normal force, with δ the overlap and u_n the velocity at which the grains part (δ̇ = −u_n):

    N = max(0, k δ − γ u_n)

A dashpot alone would hold parting grains back (N < 0); dry grains do not stick, so it does not.

Tangential force on the second body, with u_t the slip and ξ the elongation of a spring that was
tied to both surfaces when they met (P. A. Cundall and O. D. L. Strack, Géotechnique 29, 47 (1979)):

    T = −k_t ξ − γ_t u_t, scaled back to µ N if it is longer; then the spring slides: ξ = −T/k_t.

Without the spring (k_t = 0) this is viscous friction with Coulomb's limit, T = −min(γ_t u, µ N) û.
A sliding spring holds no more than µ N/k_t, so its energy is spent when the contact opens.

Faces that lie on each other touch at several points, and each of them is such a contact with the
whole of k and k_t. Then the normal springs have a potential, Σ k δ²/2 over all points that overlap:
a point that opens while grains rock on each other does so with δ = 0. Were k shared among the
points of a pair, the force at one would jump when another opens, and energy would come from
nothing. (No smooth law can avoid both: an energy that is k δ²/2 for one point and for two that
overlap alike cannot depend on the second at all, unless that one pulls while it closes.) So a face
on n points is n times as stiff as a corner. Points that are close to each other are the exception,
for faces that overlap at their corners only must pass into one corner: among points at distances ℓ
each has the stiffness k/c,

    c = 1 + Σ max(0, 1 − ℓ/ℓ₀) min(1, δ'/δ)        (sum over the others, with δ' their overlaps),

which makes one spring of those that coincide, and leaves all that are farther apart than ℓ₀ alone.

The dashpots of a pair with reduced mass m have the same damping ratio ζ = nγ/(2√(nk m)) for every
number n = Σ 1/c of points, and with it the same coefficient of restitution, if each has

    γ = 2ζ √(k m/n)/c.
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
    def turned_about(normal: Vector, spring: Vector, angle: float) -> Vector:
        """A spring in the tangent plane of n that turns about n, as both surfaces do."""
        (nx, ny, nz), (x, y, z) = normal, spring
        c, s = math.cos(angle), math.sin(angle)
        return (
            c * x + s * (ny * z - nz * y),
            c * y + s * (nz * x - nx * z),
            c * z + s * (nx * y - ny * x),
        )

    @jit
    def shared_damping(root: float, inverse_mass: float, points: float) -> float:
        """γ of each of a pair's points; root: 2ζ √k. Zero where neither body can move."""
        if inverse_mass == 0.0:
            return 0.0
        return root / math.sqrt(inverse_mass * points)

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

    return SimpleNamespace(
        normal_force=normal_force, onto_plane=onto_plane, turned_about=turned_about,
        shared_damping=shared_damping, stretch=stretch,
    )  # fmt: skip
