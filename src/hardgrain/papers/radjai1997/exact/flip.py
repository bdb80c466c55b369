"""Forces and contact states by trial: Appendix A of Radjai et al. 1997.

Guess the states, solve the equations, look which contacts break their inequality, change the state
of one, and try again. This shares with `pivot` only the equations, so that it is a second way to
the same answer. Changing all states that break goes round in circles and meets closed loops of
sticking contacts, whose equations have no solution. Changing one of them, picked at random, leaves
every circle, but nothing bounds the number of trials.
"""

from __future__ import annotations

import numpy as np

from hardgrain.papers.radjai1997.exact.array import (
    HELD,
    STICKS,
    Array,
    Floats,
    States,
    Undetermined,
)

__all__ = ["flip"]

_ROUNDING = 1e-12  # [largest unknown] a sign within it is not trusted


def flip(
    array: Array,
    slide: Floats,
    stick: Floats,
    given: States,
    rng: np.random.Generator,
    trials: int = 10_000,
) -> tuple[Floats, States] | None:
    """Unknowns and states that obey Coulomb's law, or None if they were not found.

    ``slide`` and ``stick`` are µ_d and µ_s of each contact; ``given`` is as in
    `pivot.complementary`. Starts with all contacts sliding, at random.
    """
    states = _guess(given, rng)
    for _ in range(trials):
        try:
            x = array.solve(states, slide)[:, 0]
        except Undetermined:
            states = _guess(given, rng)
            continue
        normal = array.normal @ x + array.normal_0
        tangential, rate = x[array.at_tangential], array.slip @ x
        room = _ROUNDING * np.abs(x).max()
        sticks, held, free = states == STICKS, states == HELD, (given == 0) & (slide > 0.0)
        forward = np.where(given == 0, np.where(rate < 0.0, -1, 1), given)
        wrong = np.select(
            [held, normal < -room, sticks],
            [normal > room, True, np.abs(tangential) > stick * normal + room],
            free & (states * rate < -room),
        )
        if not wrong.any():
            return x, states
        k = rng.choice(np.flatnonzero(wrong))
        if held[k]:
            states[k] = forward[k]
        elif normal[k] < -room:
            states[k] = HELD
        else:
            states[k] = np.sign(tangential[k]) if sticks[k] else STICKS
    return None


def _guess(given: States, rng: np.random.Generator) -> States:
    return np.where(given == 0, rng.choice([-1, 1], given.size), given).astype(np.int8)
