"""How far contacts are from their laws.

Ask every contact which impulse P* its law would give it now, all others held, and compare with the
impulse P it has. The velocity change that the contact still wants is W_αα (P* − P). It vanishes for
all contacts exactly when Signorini's and Coulomb's conditions (and all other laws) hold everywhere,
whichever of the many admissible force networks was found:

    ΔV_α = |W_αα (P* − P)_α|,      V² = mean_α max(|W_αα P|², |W_αα P*|²)

The mean runs over the contacts that bear an impulse or want one. V is the velocity that a typical
contact impulse gives to its contact, so that ΔV/V is a pure number: 10⁻⁶ means that velocities are
right to a millionth of what the contacts do in a step. Where light and heavy grains meet, V is a
velocity of light ones, since the same impulse moves them faster; it may be so large that a heavy
grain in free fall, or a light one that is driven through its neighbour, would pass for solved. So
no contact is judged by V alone. The residual is the largest, over all contacts, of three numbers:

    ΔV / V                        velocities: relative to those that typical impulses give;
    ΔV / (10 |W_αα| P)            impulses: relative to ten times the typical one, P² = mean P_n²,
                                  which is what a heavy grain is measured by;
    ΔV dt / d_α                   paths: how far the contact goes astray within the step, relative
                                  to the diameter of the smaller of its grains.

Among grains whose masses differ by less than about ten, and as long as typical impulses move no
grain by more than its diameter in a step, the first is the largest and the other two change
nothing. Problems that come as matrices know neither dt nor diameters and have the first two alone.

``residual_rms`` is the root mean square of ΔV over V; it is 1 where nothing is known yet.
Velocities that drown in the rounding of the bodies' own (`unseen`) count as zero: grains that
travel together without pushing each other have nothing to converge.

A backend sums over the contacts in any grouping: `of_contact` gives the part of one, `combine`
joins two parts, `verdict` reads the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

# How much larger than the typical impulse one may be that counts as 1 in the residual. Less: the
# tolerance of grains that differ little in mass would change; more: heavy grains are noticed later.
LENIENT = 10.0
NORMAL, TANGENT = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # the part of no contact


def make_residual(jit: Callable[..., Any], kind: SimpleNamespace) -> SimpleNamespace:
    """Compile the residual with ``jit`` for one kind of packed problem (`make_lean_2d`, …)."""
    wanted, present, speed_squared = kind.wanted, kind.present, kind.speed_squared

    @jit
    def of_contact(p, k, path, unseen):
        """Squares for contact k: ΔV, ΔV/|W|, ΔV dt/d, to take the largest of; ΔV, V, P_n and
        whether it has or wants an impulse, to sum.

        ``path``: (dt/d)² of the contact [1/speed²]; ``unseen``: square of the velocity that
        rounding hides. An impulse that gives less counts as none, since the scale, a mean, would
        hinge on rounding otherwise.
        """
        new, old = wanted(p, k), present(p, k)
        missing = (
            new[0] - old[0], new[1] - old[1], new[2] - old[2], new[3] - old[3],
            new[4] - old[4], new[5] - old[5], new[6] - old[6],
        )  # fmt: skip
        d = speed_squared(p, k, missing)
        size = max(speed_squared(p, k, new), speed_squared(p, k, old))
        mobility = max(speed_squared(p, k, NORMAL), speed_squared(p, k, TANGENT))
        lacking = d / mobility if d > 0.0 else 0.0
        loaded = 1.0 if size > unseen else 0.0
        return d, lacking, d * path, d, size, max(new[0] ** 2, old[0] ** 2), loaded

    @jit
    def combine(one, other):
        """Two parts as one."""
        worst = one[0] if one[0] >= other[0] else other[0]
        if one[0] != one[0]:  # lets NaN through
            worst = one[0]
        return (
            worst, max(one[1], other[1]), max(one[2], other[2]),
            one[3] + other[3], one[4] + other[4], one[5] + other[5], one[6] + other[6],
        )  # fmt: skip

    @jit
    def verdict(found, unseen):
        """Residual and residual_rms of all contacts together.

        ``unseen``: square of the velocity that rounding hides.
        """
        worst, lacking, astray, wants, scale, push, loaded = found
        if worst <= unseen:
            return 0.0, 0.0
        square = worst * loaded / scale
        if lacking * loaded > square * LENIENT**2 * push > 0.0:
            square = lacking * loaded / (LENIENT**2 * push)
        if astray > square:
            square = astray
        return math.sqrt(square), math.sqrt(wants / scale)

    return SimpleNamespace(of_contact=of_contact, combine=combine, verdict=verdict)


@cache
def make_speed(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile with ``jit`` the speeds whose rounding hides what contacts want."""

    @jit
    def body_speed(motion, i):
        """Largest velocity component of a body."""
        most = 0.0
        for a in range(motion.velocity.shape[1]):
            most = max(most, abs(motion.velocity[i, a]))
        return most

    @jit
    def point_speed(rows, motion, k):
        """Largest speed of a contact point by the spin of one of its bodies."""
        first, second, turn_first, turn_second = 0.0, 0.0, 0.0, 0.0
        for a in range(rows.normal.shape[1]):
            first += rows.arm_first[k, a] ** 2
            second += rows.arm_second[k, a] ** 2
        for a in range(motion.spin.shape[1]):
            turn_first += motion.spin[rows.first[k], a] ** 2
            turn_second += motion.spin[rows.second[k], a] ** 2
        return max(math.sqrt(first * turn_first), math.sqrt(second * turn_second))

    return SimpleNamespace(body_speed=body_speed, point_speed=point_speed)
