"""Rolling and torsional resistance: Coulomb's graph for relative spins.

A contact of effective radius r resists relative rolling (spin components along the tangents) with
a torque of at most µ_r r R_n, and relative twisting (spin about the normal, 3D only) with at most
µ_o r R_n. As for friction, the torque is the one that stops the relative spin if it stays within
the limit, else it slides at the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.law.friction import make_friction


@cache
def make_rolling(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the rolling law with ``jit``."""
    friction = make_friction(jit)
    stick_or_slide: Callable[..., float] = friction.stick_or_slide
    share: Callable[..., float] = friction.stick_or_slide_share

    @jit
    def resist(torque: float, inertia: float, relative_spin: float, limit: float) -> float:
        """Resisting torque impulse about one axis (2D rolling; 3D torsion)."""
        return stick_or_slide(torque - inertia * relative_spin, limit, limit)

    @jit
    def resist_3d(
        tx: float,
        ty: float,
        tz: float,
        inertia: float,
        sx: float,
        sy: float,
        sz: float,
        limit: float,
    ) -> tuple[float, float, float]:
        """Resisting torque impulse vector for a relative rolling spin (sx, sy, sz) ⟂ normal."""
        qx, qy, qz = tx - inertia * sx, ty - inertia * sy, tz - inertia * sz
        f = share(qx * qx + qy * qy + qz * qz, limit, limit)
        return f * qx, f * qy, f * qz

    return SimpleNamespace(resist=resist, resist_3d=resist_3d)
