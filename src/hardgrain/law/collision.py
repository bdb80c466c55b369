"""One collision of two round bodies, over in an instant (Walton 1993).

Nothing else acts while two bodies collide, so that both impulses have a closed form. With V the
velocity of the second surface relative to the first, n the normal from the first body to the
second, and the masses m_n and m_t of the contact along and across it,

    along:   V_n' = −e V_n,                 P_n = −(1 + e) m_n V_n;
    across:  V_t' = −β₀ V_t if it sticks,   P_t = −(1 + β₀) m_t V_t, as long as |P_t| ≤ µ_s P_n,
             otherwise it slides throughout, P_t = −µ_d P_n V_t / |V_t|.

β₀ is the tangential restitution of the contact law. No collision creates energy: sliding ends
before V_t turns by more than sticking would turn it.

For round bodies 1/m_n = 1/m_i + 1/m_j and 1/m_t = 1/m_n + R_i²/I_i + R_j²/I_j.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def make_collision(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile a collision with ``jit``."""

    @jit
    def normal_impulse(e: float, mass: float, v_n: float) -> float:
        """P_n of a collision with restitution e; v_n is negative."""
        return -(1.0 + e) * mass * v_n

    @jit
    def drag(
        beta: float, mu_static: float, mu_dynamic: float, p_n: float, mass: float, v_t: float
    ) -> float:
        """The factor k of P_t = −k V_t, given the length v_t of V_t [mass]."""
        if v_t <= 0.0:
            return 0.0
        stick = (1.0 + beta) * mass
        return stick if stick * v_t <= mu_static * p_n else mu_dynamic * p_n / v_t

    return SimpleNamespace(normal_impulse=normal_impulse, drag=drag)
