"""Forces and contact states together: a linear complementarity problem, solved by pivoting.

Each contact obeys −µ N ≤ T ≤ µ N, and T = ±µ N if its slip changes at the rate ±|u̇|: N and u̇ are
linear in the unknowns, so this is a linear complementarity problem. Lemke's method in the words of
the array: let every contact slip faster by t d with d > 0. If t is huge, all slide forward and the
forces follow from one linear solve. Now lower t to zero. The unknowns change linearly until an
inequality would break; there exactly one contact changes its state, to the only one that carries
the solution on:

    slides, u̇ + t d = 0     → sticks            sticks, T = ±µ N → slides, ±
    slides, N = 0           → held, T = 0       held, N = 0      → slides

Behind the change t may have to grow again; the sign is such that what has just become free departs
from zero. The path meets no set of states twice, since there is only one way back from each
way: the method does not cycle. This requires ties to be absent, as they are for all d but a set of
measure zero while forces depend on d (not where nothing can press, such as a block that is not
pushed); should it fail, another d is tried. Following the driving force instead of t
in the same way gives the solution as an exact piecewise linear function of the drive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hardgrain.errors import RunError
from hardgrain.papers.radjai1997.exact.array import HELD, STICKS, Array, Floats, States
from hardgrain.papers.radjai1997.exact.indeterminacy import with_states

__all__ = ["Stretch", "at_rest", "complementary", "trace", "traced"]

_ATTEMPTS = 20  # directions d that are tried before a problem counts as unsolved
_AGAIN = 5  # [attempts] further ones, to find a solution without a pull
_ACCURACY = 1e-9  # [largest unknown] accuracy that a solution must have
_WEIGHT = 1e-15  # [weight of a disk] rounding that remains if all unknowns vanish
_ROUNDING = 1e-12  # [terms it is made of] rounding of a slope


@dataclass(frozen=True)
class Stretch:
    """A stretch between two changes of state, in which the unknowns are x[:, 0] + t x[:, 1]."""

    begin: float
    end: float
    states: States
    x: Floats  # (5 L + 1, 2)

    def at(self, t: float) -> Floats:
        """The unknowns at t."""
        return self.x[:, 0] + t * self.x[:, 1] if t != 0.0 else self.x[:, 0]


def complementary(array: Array, mu: Floats, given: States) -> tuple[Floats, States]:
    """Unknowns and states that obey Coulomb's law, ``mu`` for each contact.

    ``given``: the direction of the slip of each contact, ±1; 0 where there is none, so that the
    rate of slip decides. A contact is held only if no solution was found in which all press.
    """
    pulled: tuple[Floats, States] | None = None
    for attempt in range(_ATTEMPTS):
        found = traced(array, mu, given, attempt)
        if found is not None:
            if (found[1] != HELD).all():
                return found
            if pulled is None:
                pulled = found
                if (still := at_rest(array, mu, given)) is not None:
                    return still
        if pulled is not None and (attempt >= _AGAIN or given.all()):
            break
    found = pulled or at_rest(array, mu, given)
    if found is not None:
        return found
    raise RunError(
        f"no forces were found that obey the law of friction at all {array.contacts} contacts"
    )


def traced(array: Array, mu: Floats, given: States, attempt: int) -> tuple[Floats, States] | None:
    """Unknowns and states along one path, which depends on ``attempt``; None if it ends nowhere.

    Where friction is so strong that a path may end nowhere, or with a pull that is not necessary,
    another one starts elsewhere; where there are several solutions it may find another.
    """
    rng = np.random.default_rng(attempt)
    # generic numbers, so that no two contacts change at once
    push = rng.uniform(1.0, 2.0, array.contacts)
    if attempt > 0:
        push *= rng.choice([-1.0, 1.0], array.contacts)
    start = np.where(given == 0, np.sign(push), given).astype(np.int8)
    try:
        start = _all_slide(array, mu, start)
        *_, last = trace(array, mu, given, start, math.inf, 0.0, push=push)
    except RunError:
        return None
    room, _ = _margins(array, mu, given, last.states, push, last.x)
    x = last.at(0.0)
    return (x, last.states) if room.min() > -_ACCURACY * np.abs(x).max() - _WEIGHT else None


def at_rest(array: Array, mu: Floats, given: States) -> tuple[Floats, States] | None:
    """Forces under which nothing begins to slip, if there are any: one linear program."""
    if given.any():
        return None
    rest = np.full(array.contacts, STICKS, dtype=np.int8)
    x = with_states(array, rest, mu, mu, given).member()
    return None if x is None else (x, rest)


def _all_slide(array: Array, mu: Floats, states: States) -> States:
    """The states in which all contacts slide or are held."""
    slides = states
    for _ in range(array.contacts):
        normal = array.normal @ array.solve(states, mu)[:, 0] + array.normal_0
        now = np.where(normal < 0.0, HELD, slides).astype(np.int8)
        if np.array_equal(now, states):
            return states
        states = now
    raise RunError("there is no start")


def trace(
    array: Array,
    mu: Floats,
    given: States,
    states: States,
    begin: float,
    end: float,
    push: Floats | None = None,
    load: float = 0.0,
) -> Iterator[Stretch]:
    """Follow the solution from the parameter ``begin``, where ``states`` hold, to ``end``.

    With t each contact slips faster by t ``push``, and the drive is greater by t ``load``.
    """
    if push is None:
        push = np.zeros(array.contacts)
    states = states.copy()
    t, down = begin, begin > end
    fresh: tuple[int, int] | None = None  # the inequality that holds since the last change
    for _ in range(100 * array.contacts):
        x = array.solve(states, mu, push, load)
        room, slope = _margins(array, mu, given, states, push, x)
        if fresh is not None:  # t must change such that it departs from zero
            down = bool(slope[fresh] < 0.0)
        # The first inequality to break on the way; one that is at zero already and falls breaks at
        # once.
        way = -1.0 if down else 1.0
        falls = way * slope < 0.0
        if fresh is not None:
            falls[fresh] = False
        ahead = np.full(room.shape, -math.inf if down else math.inf)
        np.divide(-room, slope, out=ahead, where=falls)
        which = int(ahead.argmax() if down else ahead.argmin())
        stop = float(ahead.flat[which])
        stop = min(stop, t) if down else max(stop, t)
        # Loops of sticking contacts close only at the end itself, which rounding must not miss.
        near = _ROUNDING * max(1.0, float(np.abs(x[:, 0]).max()))
        if down == (begin > end) and (stop <= end + near if down else stop >= end - near):
            yield Stretch(t, end, states.copy(), x)
            return
        if not math.isfinite(stop):
            raise RunError("the way leads nowhere")
        yield Stretch(t, stop, states.copy(), x)
        t = stop
        side, contact = divmod(which, array.contacts)
        fresh = _change(array, given, states, contact, side, push, x, t)
    raise RunError("the way does not end")


def _margins(
    array: Array, mu: Floats, given: States, states: States, push: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Numbers that must not become negative at each contact, at t = 0 and per t, both (2, 2 L + 1).

    sticks: µ N − T and µ N + T; slides: its rate of slip, and N; held: −N.
    """
    normal = array.normal @ x
    normal[:, 0] += array.normal_0
    tangential = x[array.at_tangential]
    rate = array.slip @ x
    rate[:, 1] += push
    limit = mu[:, None] * normal
    sticks, held = (states == STICKS)[:, None], (states == HELD)[:, None]
    never = np.array([math.inf, 0.0])
    first = np.where(sticks, limit - tangential, np.where(held, -normal, states[:, None] * rate))
    # An existing slip decides by itself, and without friction nothing depends on it.
    first[(np.abs(states) == 1) & ((given != 0) | (mu == 0.0))] = never
    second = np.where(sticks, limit + tangential, normal)
    second[states == HELD] = never
    room, slope = np.stack([first[:, 0], second[:, 0]]), np.stack([first[:, 1], second[:, 1]])
    size = np.abs(x[:, 1]).max() + np.abs(push).max()
    slope[np.abs(slope) < _ROUNDING * size] = 0.0
    return room, slope


def _change(
    array: Array,
    given: States,
    states: States,
    contact: int,
    side: int,
    push: Floats,
    x: Floats,
    t: float,
) -> tuple[int, int]:
    """Change the state of a contact whose inequality breaks; return the one that holds now."""
    old = states[contact]
    if old == STICKS:
        states[contact] = 1 if side == 0 else -1
        return 0, contact
    if old == HELD:
        rate = array.slip[[contact]] @ (x[:, 0] + t * x[:, 1]) + t * push[contact]
        states[contact] = given[contact] or (1 if rate[0] >= 0.0 else -1)
        return 1, contact
    if side == 0:
        states[contact] = STICKS
        return (0 if old > 0 else 1), contact
    states[contact] = HELD
    return 0, contact
