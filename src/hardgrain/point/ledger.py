"""The energy ledger of a step: where kinetic energy came from and went to, exactly.

With v̄ = (v⁺ + v⁻)/2 the change of kinetic energy is an identity of the discrete dynamics,

    T⁺ − T⁻ = Σ dt F_ext·v̄  +  Σ_contacts P·V̄  +  W_driven,

where V̄ is the mean contact velocity and W_driven the work of bodies with a prescribed velocity.
−Σ P·V̄ is what the contacts dissipated; grains at rest neither gain nor lose.

Did the contacts create energy? That is asked of the impulses alone, after the free motion: the laws
say that −Σ P·(V⁺ + V*)/2 ≥ 0 in a converged step with the g⁺ form and without restitution, because
P·V⁺ ≤ 0 at every contact and Σ P·V* = Σ P·V⁺ − P·W P. (−Σ P·V̄ differs by dt/2 times the work of P
on the accelerations F/m and may be slightly negative under gravity.) With one common restitution
coefficient the same holds for V⁻ in place of V*; with unequal ones nothing holds it back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Means(NamedTuple):
    """How bodies moved in a step, on average, and along what they could be pushed."""

    velocity: Floats  # (nb, dim) mean of v⁺ and v⁻
    spin: Floats  # (nb, ns)
    velocity_kick: Floats  # (nb, dim) mean of v⁺ and v*
    spin_kick: Floats  # (nb, ns)
    inv_mass: Floats  # (nb, dim)
    inv_inertia: Floats  # (nb, ns)


@cache
def make_ledger(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the ledger of one contact or one body with ``jit``."""

    @jit
    def turning(arm, rows, k, a):
        """Component a of the torque impulse of contact k about the body with the given arms."""
        b, c = (a + 1) % 3, (a + 2) % 3
        if rows.impulse.shape[1] == 2:
            b, c = 0, 1
        return arm[k, b] * rows.impulse[k, c] - arm[k, c] * rows.impulse[k, b] + rows.torque[k, a]

    @jit
    def work(rows, k, means):
        """What contact k dissipated, the work of driven bodies, what its impulse took [energy]."""
        i, j = rows.first[k], rows.second[k]
        dissipated, driven, taken = 0.0, 0.0, 0.0
        for a in range(rows.impulse.shape[1]):
            p = rows.impulse[k, a]
            dissipated -= p * (means.velocity[j, a] - means.velocity[i, a])
            taken -= p * (means.velocity_kick[j, a] - means.velocity_kick[i, a])
            if means.inv_mass[i, a] == 0.0:
                driven += p * means.velocity[i, a]
            if means.inv_mass[j, a] == 0.0:
                driven -= p * means.velocity[j, a]
        for a in range(rows.torque.shape[1]):
            on_1, on_2 = turning(rows.arm_first, rows, k, a), turning(rows.arm_second, rows, k, a)
            dissipated -= on_2 * means.spin[j, a] - on_1 * means.spin[i, a]
            taken -= on_2 * means.spin_kick[j, a] - on_1 * means.spin_kick[i, a]
            if means.inv_inertia[i, a] == 0.0:
                driven += on_1 * means.spin[i, a]
            if means.inv_inertia[j, a] == 0.0:
                driven -= on_2 * means.spin[j, a]
        return dissipated, driven, taken

    @jit
    def power(force, velocity, inverse, i):
        """Power of a force on body i, or of a torque at a spin, over components that can move."""
        total = 0.0
        for a in range(velocity.shape[1]):
            if inverse[i, a] > 0.0:
                total += force[i, a] * velocity[i, a]
        return total

    @jit
    def squared_speed(velocity, i):
        """v² of body i."""
        square = 0.0
        for a in range(velocity.shape[1]):
            square += velocity[i, a] ** 2
        return square

    @jit
    def overlap(rows, k):
        """Overlap of contact k [length], its share of the smaller grain, P_n [mass × speed]."""
        p_n = 0.0
        for a in range(rows.normal.shape[1]):
            p_n += rows.impulse[k, a] * rows.normal[k, a]
        return -rows.gap[k], -rows.gap[k] / rows.width[k], p_n

    return SimpleNamespace(
        turning=turning, work=work, power=power, squared_speed=squared_speed, overlap=overlap,
    )  # fmt: skip
