"""The law C2 in the limit α = µ_s/µ_d → ∞, exactly: a contact that sticks does so for ever.

Static friction between disks and on the plane has no bound then. (The paper's α concerns these
contacts; the blocks keep their one coefficient.) Between events a contact either slides with µ_d or
sticks, so that its equation is known, and what is left to find out is how the two contacts with the
blocks move, once their slips vanish: nine cases, of which the first that obeys the law is taken.
Nothing bounds the tangential forces, and so disks may be lifted; there the way ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from hardgrain.errors import RunError
from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, States, Undetermined
from hardgrain.papers.radjai1997.starts import FIG3, columns, share, start
from hardgrain.papers.radjai1997.two_coefficients import ALPHA, spread
from hardgrain.parallel import pmap

__all__ = ["Ending", "claims", "endless"]

LARGE = 100.0  # an α far beyond what any contact needs to be held
_SMALL = 1e-10  # [largest slip] smaller slips and rates of slip count as zero


@dataclass(frozen=True)
class Ending:
    """How a start ends in the limit: ``"steady"``, ``"opens"`` or ``"undetermined"``."""

    how: str
    events: int
    states: States  # (2 L + 1,) 0: sticks, ±1: slides
    friction: float  # collective friction µ_g
    without_mode_2: bool  # whether every disk has a contact that sticks
    least_alpha: float  # least α for which all this obeys C2


def endless(seed: int) -> Ending:
    """Fig. 3's array from a start, with contacts that never let go."""
    omega, v = start(seed)
    particles, drive, brake, mu_disks, mu_plane, mu_block = FIG3
    array = Array(particles, drive, brake)
    mu = array.coefficients(mu_disks, mu_plane, mu_block)
    slip = array.slips(omega, v)
    states = np.sign(slip).astype(np.int8)
    fastest, alpha = max(float(np.abs(omega).max()), abs(v)), 1.0
    for events in range(20 * array.contacts):
        slip = array.slips(omega, v)
        still = np.abs(slip[[0, -1]]) <= _SMALL * fastest
        try:
            x, states = _blocks(array, mu, states, still)
        except Undetermined:
            return Ending("undetermined", events, states, np.nan, False, np.inf)
        rate, room = array.slip @ x, _SMALL * np.abs(x).max()
        normal, force = array.normal @ x + array.normal_0, x[array.at_tangential]
        friction = float(force[1::2].mean())
        if (normal < -room).any():
            return Ending("opens", events, states, friction, False, np.inf)
        held = np.flatnonzero(states[1:-1] == STICKS) + 1
        alpha = max(alpha, float(np.max(np.abs(force[held]) / (mu * normal)[held], initial=0.0)))
        stops = (states * rate < -room) & (np.abs(slip) > _SMALL * fastest)
        if not stops.any():
            return Ending("steady", events, states, friction, bool(_held(states).all()), alpha)
        wait = np.full(slip.size, np.inf)
        np.divide(-slip, rate, out=wait, where=stops)
        k = int(wait.argmin())
        omega = omega + wait[k] * x[array.at_omega]
        v += float(wait[k] * x[array.at_v[0]])
        fastest = max(fastest, float(np.abs(omega).max()), abs(v))
        states = states.copy()
        states[k] = STICKS
    raise RunError(f"start {seed} has not come to an end after {events} events")


def _blocks(array: Array, mu: Floats, states: States, still: Any) -> tuple[Floats, States]:
    """Unknowns and states, with those of the blocks' contacts that have no slip found by trial."""
    at_blocks = np.array([0, array.contacts - 1])
    choices = [(STICKS, 1, -1) if free else (states[k],) for k, free in zip(at_blocks, still)]
    for choice in product(*choices):
        tried = states.copy()
        tried[at_blocks] = choice
        try:
            x = array.solve(tried, mu)[:, 0]
        except Undetermined:
            if len(choices[0]) * len(choices[1]) == 1:
                raise
            continue
        room = _SMALL * np.abs(x).max()
        normal = (array.normal @ x + array.normal_0)[at_blocks]
        force, rate = x[array.at_tangential][at_blocks], (array.slip @ x)[at_blocks]
        holds = np.abs(force) <= mu[at_blocks] * np.maximum(normal, 0.0) + room
        goes = np.asarray(choice) * rate >= -room
        if (np.where(np.asarray(choice) == STICKS, holds, goes) | ~still).all():
            return x, tried
    raise Undetermined("no states of the blocks' contacts obey the law")


def _held(states: States) -> Any:
    """Disks that have a contact which sticks, on the plane or with a neighbour (L,)."""
    sticks = states == STICKS
    return sticks[1::2] | sticks[0:-1:2] | sticks[2::2]


def claims(outcome: Outcome, seeds: range, again: tuple[float, float]) -> None:
    """What α → ∞ does to Fig. 3's array; ``again``: how often contacts let go under C1."""
    ends = pmap(endless, seeds)
    rows = [
        {"seed": seed, "ending": e.how, "events": e.events, "friction": e.friction,
         "sticking": int((e.states == STICKS).sum()), "without_mode_2": e.without_mode_2,
         "least_alpha": e.least_alpha}
        for seed, e in zip(seeds, ends)
    ]  # fmt: skip
    outcome.tables["limit"] = columns(rows)
    steady = [(seed, e) for seed, e in zip(seeds, ends) if e.how == "steady"]
    n = len(steady)
    reached, reached_error = share([e.how == "steady" for e in ends])
    gone, gone_error = share([e.without_mode_2 for _, e in steady])
    distinct = len({e.states.tobytes() for _, e in steady})
    deviation, deviation_error = spread(np.array([e.friction for _, e in steady]))
    mean, mean_error = mean_and_error([e.friction for _, e in steady])
    least = [e.least_alpha for _, e in steady]
    enough, enough_error = share([a <= ALPHA for a in least])
    outcome.claims += [
        Claim(
            "α → ∞: share of starts that end in a steady state with all contacts closed",
            reached, reached_error, len(ends),
            paper=Expected.exact(1.0, "all contacts are mechanically stable"),
            differs="static friction without a bound lifts disks off the plane or off the braking"
            " block; under C1 four in five starts keep all contacts",
        ),
        Claim(
            f"α → ∞: distinct steady states from {n} starts that end in one",
            distinct,
            paper=Expected(2.0, 0.0, "exact", "the first NS contacts, which depend on the initial"
                           " velocities, will be stable", "at least"),
            note="nearly every start has a steady state of its own",
        ),
        Claim(
            "α → ∞: share of steady states without mode 2",
            gone, gone_error, n,
            paper=Expected.by_chance(
                0.5, gone_error, n, "mode 2 may disappear completely for sufficiently large α",
                side="at least",
            ),
        ),
        Claim(
            "α → ∞: mean µ_g of the steady states",
            mean, mean_error, n,
            note="µ_g is larger than under C1, and may exceed µ': sticking contacts bear more than"
            " sliding ones",
        ),
        Claim(
            "α → ∞: standard deviation of µ_g over its mean",
            deviation / mean, deviation_error / mean, n,
        ),
        Claim(
            f"α → ∞: share of these steady states that C2 has with α = {ALPHA:g} already",
            enough, enough_error, n,
            note="from some α on, the greatest |T|/µ_d N of a sticking contact on the way, nothing"
            f" changes; its median is {np.median(least):.1f}, the greatest {max(least):.0f}",
        ),
        Claim(
            f'α = {LARGE:g}, rule "slide": share of NS contacts that slide again',
            *again, len(seeds),
            paper=Expected.exact(0.0, "for α → ∞ a contact necessarily remains NS"),
            differs="a solution of C1 with µ_d is one of C2 for every α. That static friction could"
            " hold a contact does not mean that it must: C2 leaves the choice, and only a rule"
            " that holds what can be held makes contacts stay",
        ),
    ]  # fmt: skip
