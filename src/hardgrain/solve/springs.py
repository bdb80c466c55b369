"""Springs that harden: one network of forces after the other, each near the last.

Contacts that answer as springs of compliance e around the impulses r⁰ they had have one solution
if they are soft enough, and are rigid grains if r = r⁰. So begin soft, find the impulses r
(`solve.walk`), take them for r⁰ and harden: a step of the proximal point method, and what is left
for the next one to find grows smaller from step to step. Where the walk does not arrive, friction
has let the problem fold between this r⁰ and its answer: then with softer springs once more, from
which r⁰ moves on.

Soft springs hardly move forces that nearly serve, so the history of the contacts is kept.
"""

from __future__ import annotations

import numpy as np

from hardgrain.solve.newton import violation
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Bodies
from hardgrain.solve.walk import walk

__all__ = ["harden"]

SOFT, HARDEST = 1e-3, 1e-8  # compliance at the start and in the end [W_NN]
HARDER, SOFTER = 5.0, 8.0  # its ratio after a walk that arrived, and after one that did not
IDLE = 3  # walks with the hardest springs that may bring nothing
CHANGES, FEW = 0.15, 60  # of states that a walk may make, for each contact, and at least


def harden(
    bodies: Bodies, mu: Floats, start: Floats, tolerance: float, patience: float
) -> tuple[Floats, float, int]:
    """Impulses (m, 2), their violation, and the changes of state it took.

    patience: nominal time [s], as `Response.cost`.
    """
    scale = bodies.weight[:, :1]
    turn = bodies.weight[:, 1] / bodies.weight[:, 0]
    limit = mu * np.maximum(start[:, 0], 0.0)
    r = np.column_stack([np.maximum(start[:, 0], 0.0), np.clip(start[:, 1], -limit, limit)])
    most = max(FEW, int(CHANGES * len(mu)))
    best, least = r, violation(scale * r, bodies.velocity(r), mu, turn, bodies.paths)[0]
    now, e, spent, changes, idle = least, SOFT, 0.0, 0, 0
    while least > tolerance and spent < patience and e <= 10.0 and idle < IDLE:
        found, made, factors = walk(bodies, mu, r, e, most)
        changes += made
        spent += factors * bodies.cost + made * bodies.change
        new = np.inf
        if found is not None:
            u = bodies.velocity(found)
            new = violation(scale * found, u, mu, turn, bodies.paths)[0]
        if found is None or not new <= max(10.0 * now, 30.0 * e):  # the latter: lost to rounding
            e *= SOFTER
            continue
        idle = idle + 1 if e == HARDEST and new > 0.5 * now else 0  # down to rounding
        r, now, e = found, new, max(e / HARDER, HARDEST)
        if now < least:
            best, least = r, now
    return best, least, changes
