"""Springs that harden: one network of forces after the other, each near the one before.

Let contacts answer as springs of compliance e around the impulses r⁰ that they had. If the springs
are soft enough, there is exactly one solution; if r = r⁰, it is that of rigid grains. So we begin
soft, find the impulses r, take them as the new r⁰ and harden the springs. Each round is a step of
the proximal point method, and leaves less to be found by the next one. A round is solved by
Newton's method (`solve.newton`) or, for disks, by a walk from state to state (`solve.piecewise`),
which passes folds at the price of many changes of state. Where a round does not arrive, friction
has folded the problem between this r⁰ and its answer; we then soften the springs and try again, so
that r⁰ moves on, and do not come back to what failed before it has moved some way.

Soft springs hardly change forces that nearly solve the step, so the history of the contacts is
kept.
"""

from __future__ import annotations

import numpy as np

from hardgrain.solve.newton import Springs
from hardgrain.solve.piecewise import trace
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import BodyResponse, Response

__all__ = ["harden"]

# [W_NN] Compliance of the first springs. Softer ones are sure to be solved, but take more rounds
# until they are hard; harder ones may fold at once.
SOFT = 1e-3
# [W_NN] Least and largest compliance. Harder springs would lose more digits to rounding than they
# gain; softer ones hardly move the impulses on.
HARDEST, SOFTEST = 1e-8, 10.0
# [1] The compliance is divided by HARDER after a round that arrived and multiplied by SOFTER after
# one that did not. Larger steps of hardening meet more folds, smaller ones need more rounds. The
# two differ, so that a failure is not followed by the very same attempt.
HARDER, SOFTER = 5.0, 3.0
# [rounds] A compliance that failed is not tried again, nor a smaller one, until so many rounds have
# arrived. Without this memory spheres take up to a seventh more factorisations. A larger number
# hardens more slowly after a failure; a smaller one soon meets the same failure again.
WINS = 2
# [factorisations] What a round may take. One that arrives takes two to nine; of those that take
# more, few do.
ROUND = 12
# Changes of state that a walk may make: a number for each contact, and at least FEW. Walks that
# need more have usually lost their way; with fewer, true solutions are given up.
CHANGES, FEW = 0.03, 60
# [rounds] With the hardest springs, so many rounds without progress end the search: what is left is
# rounding. More of them only cost time.
IDLE = 3


def harden(
    bodies: Response,
    mu: Floats,
    start: Floats,
    tolerance: float,
    most: float,
    *,
    walk: bool = False,
) -> tuple[Floats, float, int]:
    """Impulses (m, dim), their violation of the contact laws, and the factorisations it took.

    ``most`` is the largest number of factorisations. With ``walk`` springs are solved by walks from
    state to state, which needs disks, and the number of changes of state is returned.
    """
    springs = Springs(bodies, mu)
    r = springs.admitted(start)
    best, least = r, springs.violation(r)
    now, e, spent, changes, idle = least, SOFT, 0.0, 0, 0
    failed, wins = 0.0, 0
    while least > tolerance and spent < most and e <= SOFTEST and idle < IDLE:
        if walk:
            assert isinstance(bodies, BodyResponse)
            steps = max(FEW, int(CHANGES * len(mu)))
            found, made, factors = trace(bodies, mu, springs.scale * r, e, steps)
            found = None if found is None else found / springs.scale
            changes += made
            spent += factors + made * bodies.change / bodies.cost
        else:
            found, made = springs.settle(r, 1.0 / e, 1e-3 * tolerance, ROUND)
            spent += made
        new = np.inf if found is None else springs.violation(found)
        # An answer that is far worse than the last one was lost to rounding.
        if found is None or not new <= max(10.0 * now, 30.0 * e):
            failed, wins, e = e, 0, SOFTER * e
            continue
        idle = idle + 1 if e == HARDEST and new > 0.5 * now else 0  # only rounding is left
        r, now, wins = found, new, wins + 1
        if e > HARDER * failed or wins > WINS:
            e = max(e / HARDER, HARDEST)
        if now < least:
            best, least = r, now
    return springs.scale * best, least, changes if walk else int(spent)
