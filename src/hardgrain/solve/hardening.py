"""Springs that harden: one network of forces after the other, each near the one before.

Let contacts answer as springs of compliance e around the impulses r⁰ that they had. If the springs
are soft enough, there is exactly one solution; if r = r⁰, it is that of rigid grains. So we begin
soft, find the impulses r (`solve.piecewise`), take them as the new r⁰ and harden the springs. Each
round is a step of the proximal point method, and leaves less to be found by the next one. If the
line of solutions does not arrive, friction has folded the problem between this r⁰ and its answer;
we then soften the springs and try again, so that r⁰ moves on.

Soft springs hardly change forces that nearly solve the step, so the history of the contacts is
kept.
"""

from __future__ import annotations

import numpy as np

from hardgrain.solve.newton import violation
from hardgrain.solve.piecewise import trace
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import BodyResponse

__all__ = ["harden"]

# [W_NN] Compliance of the first springs. Softer ones are sure to be solved, but take more rounds
# until they are hard; harder ones may fold at once.
SOFT = 1e-3
# [W_NN] Least compliance. Harder springs would lose more digits to rounding than they gain.
HARDEST = 1e-8
# [1] The compliance is divided by HARDER after a line that arrived and multiplied by SOFTER after
# one that did not. Larger steps of hardening meet more folds, smaller ones need more rounds. The
# two differ, so that a failure is not followed by the very same attempt.
HARDER, SOFTER = 5.0, 8.0
# [rounds] With the hardest springs, so many rounds without progress end the search: what is left is
# rounding. More of them only cost time.
IDLE = 3
# Changes of state that a line may make: a number for each contact, and at least FEW. Lines that
# need more have usually lost their way; with fewer, true solutions are given up.
CHANGES, FEW = 0.15, 60


def harden(
    bodies: BodyResponse, mu: Floats, start: Floats, tolerance: float, patience: float
) -> tuple[Floats, float, int]:
    """Impulses (m, 2), their violation of the contact laws, and the changes of state it took.

    ``patience`` is the nominal time that it may take [s], counted as in `Response.cost`.
    """
    scale = bodies.weight[:, :1]
    ratio = bodies.weight[:, 1] / bodies.weight[:, 0]
    limit = mu * np.maximum(start[:, 0], 0.0)
    r = np.column_stack([np.maximum(start[:, 0], 0.0), np.clip(start[:, 1], -limit, limit)])
    most = max(FEW, int(CHANGES * len(mu)))
    best, least = r, violation(scale * r, bodies.velocity(r), mu, ratio, bodies.paths)[0]
    now, e, spent, changes, idle = least, SOFT, 0.0, 0, 0
    while least > tolerance and spent < patience and e <= 10.0 and idle < IDLE:
        found, made, factors = trace(bodies, mu, r, e, most)
        changes += made
        spent += factors * bodies.cost + made * bodies.change
        new = np.inf
        if found is not None:
            u = bodies.velocity(found)
            new = violation(scale * found, u, mu, ratio, bodies.paths)[0]
        # An answer that is far worse than the last one was lost to rounding.
        if found is None or not new <= max(10.0 * now, 30.0 * e):
            e *= SOFTER
            continue
        idle = idle + 1 if e == HARDEST and new > 0.5 * now else 0  # only rounding is left
        r, now, e = found, new, max(e / HARDER, HARDEST)
        if now < least:
            best, least = r, now
    return best, least, changes
