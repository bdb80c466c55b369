"""The law of one contact as its row of parameters says it, for solvers of every kind.

A solver packs a contact once a step. What it needs of the law are the shifts of the contact
velocity on which Signorini's and Coulomb's conditions act, and the limits of impulses and torques;
which parameters these follow from, and how, it need not know. The columns of a row are those of
`hardgrain.core.lawtable`. To add a law: a function in a file of this folder, a column, and its
place in one of the functions below.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.lawtable import (
    COHESION,
    COHESION_RANGE,
    E_NORMAL,
    E_SPEED,
    E_TANGENT,
    MU_DYNAMIC,
    MU_STATIC,
    ROLLING,
    TORSION,
)
from hardgrain.law.restitution import make_restitution
from hardgrain.law.shock import make_shock


@cache
def make_contact(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile what a row of parameters says with ``jit``."""
    gap_speed = make_shock(jit).gap_speed
    restitution = make_restitution(jit)
    rebound_bias, coefficient = restitution.rebound_bias, restitution.coefficient

    @jit
    def normal_shift(  # type: ignore[no-untyped-def]
        law, gap: float, free_n: float, before_n: float, dt: float, remove_overlaps: bool
    ) -> float:
        """Shift of the normal velocity: the speed of the gap, or the rebound of a collision."""
        bias = gap_speed(gap, dt, remove_overlaps)
        e = coefficient(law[E_NORMAL], law[E_SPEED], -before_n)
        return rebound_bias(bias, gap, free_n, before_n, e, dt)  # type: ignore[no-any-return]

    @jit
    def tangent_shift(law, before_t: float) -> float:  # type: ignore[no-untyped-def]
        """Shift of a tangential velocity that was ``before_t``."""
        return law[E_TANGENT] * before_t  # type: ignore[no-any-return]

    @jit
    def friction(law) -> tuple[float, float]:  # type: ignore[no-untyped-def]
        """Coefficients of a contact that sticks and of one that slides."""
        return law[MU_STATIC], law[MU_DYNAMIC]

    @jit
    def cohesion(law, gap: float, dt: float) -> float:  # type: ignore[no-untyped-def]
        """Largest impulse that pulls."""
        return law[COHESION] * dt if gap <= law[COHESION_RANGE] else 0.0

    @jit
    def resistance(law, roll: float) -> tuple[float, float]:  # type: ignore[no-untyped-def]
        """Levers of the largest rolling and torsion torques, by the effective radius ``roll``."""
        return law[ROLLING] * roll, law[TORSION] * roll

    return SimpleNamespace(
        normal_shift=normal_shift,
        tangent_shift=tangent_shift,
        friction=friction,
        cohesion=cohesion,
        resistance=resistance,
    )
