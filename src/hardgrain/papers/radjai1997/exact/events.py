"""The array in time, exactly: constant forces until a slip vanishes, then the next ones.

Between two events all forces and accelerations are constant, so all slips change linearly, and the
next event is the first at which one of them vanishes. There the contact is free to stick or to
slide either way, like all others that have no slip at that moment: also one that has only just
begun to slip and is still within rounding of zero, or it would go on sliding against its friction.
In the steady state no slip is on its way to zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hardgrain.errors import InputError, RunError
from hardgrain.papers.radjai1997.exact.array import Array, Floats, States
from hardgrain.papers.radjai1997.exact.law import Coulomb
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

__all__ = ["ContactLost", "History", "evolve"]

_NO_SLIP = 1e-10  # [largest velocity so far] a smaller slip is zero, up to rounding
_ROUNDING = 1e-12  # [largest acceleration or force] rounding of a rate of slip


@dataclass(frozen=True, eq=False)
class History:
    """An array from its start to its steady state, segment by segment; the last does not end."""

    time: Floats  # (n,) when each segment begins
    omega: Floats  # (n, L) angular velocities when each segment begins
    velocity: Floats  # (n,) velocity of the array when each segment begins
    solutions: list[ArraySolution]  # (n,) forces, accelerations and contact states of each segment
    lost: list[tuple[str, float]]  # contacts that had to be kept closed, and when first

    def __repr__(self) -> str:
        if not self.solutions:
            return "<no segment>"
        return f"<{len(self.time)} segments, the last from t = {self.time[-1]:g} on: {self.steady}>"

    @property
    def friction(self) -> Floats:
        """The collective friction µ_g of each segment, shape (n,)."""
        return np.array([s.friction for s in self.solutions])

    @property
    def acceleration(self) -> Floats:
        """The acceleration v̇ of each segment, shape (n,)."""
        return np.array([s.acceleration for s in self.solutions])

    @property
    def states(self) -> States:
        """Contact states of each segment (n, 2 L + 1): 0 sticks, ±1 slides, 2 held closed."""
        return np.array([s.states for s in self.solutions])

    @property
    def steady(self) -> ArraySolution:
        """The last segment, which lasts for ever."""
        return self.solutions[-1]

    @property
    def unique(self) -> bool:
        """Whether in every segment no other forces obey the law, as far as was found."""
        return all(s.unique for s in self.solutions)

    def friction_at(self, time: ArrayLike) -> Floats:
        """The collective friction µ_g at the given times."""
        segment = np.searchsorted(self.time, np.asarray(time, dtype=float), side="right") - 1
        friction: Floats = self.friction[segment.clip(min=0)]
        return friction


class ContactLost(RunError):
    """A contact opens; what happened until then is in ``history``."""

    def __init__(self, contact: str, time: float, history: History) -> None:
        super().__init__(
            f"the contact of {contact} opens at t = {time:g}: no forces were found that press at"
            " all contacts; lower the driving force or friction, or give keep_closed=True to go on"
        )
        self.contact, self.time, self.history = contact, time, history

    def __reduce__(self) -> tuple[Any, ...]:  # exceptions travel between processes as well
        return ContactLost, (self.contact, self.time, self.history)


def evolve(
    array: Array,
    law: Coulomb,
    omega: ArrayLike,
    velocity: float,
    *,
    seed: int = 0,
    keep_closed: bool = False,
) -> History:
    """Follow the array to the steady state; with ``keep_closed`` a pull may hold a contact."""
    omega, v = _start(array, omega, velocity)
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"seed is {seed!r}; it must be a whole number from 0 up") from None
    t = 0.0
    times: list[float] = []
    omegas: list[Floats] = []
    velocities: list[float] = []
    solutions: list[ArraySolution] = []
    lost: dict[str, float] = {}

    def history() -> History:
        return History(
            np.array(times), np.array(omegas), np.array(velocities), solutions, list(lost.items())
        )

    fastest = max(float(np.abs(omega).max()), abs(v))
    for _ in range(200 * array.contacts):
        slip = array.slips(omega, v)
        given = np.where(np.abs(slip) <= _NO_SLIP * fastest, 0, np.sign(slip)).astype(np.int8)
        try:
            found = law.solve(array, given, rng)
        except RunError as error:
            raise RunError(f"at t = {t:g}, after {len(times)} events: {error}") from None
        for contact in found.lost:
            if not keep_closed:
                raise ContactLost(contact, t, history())
            lost.setdefault(contact, t)
        times.append(t)
        omegas.append(omega)
        velocities.append(v)
        solutions.append(found)
        stops = given * found.slip_rate < -_ROUNDING * np.abs(found.x).max()
        if not stops.any():
            return history()
        wait = float(np.min(-slip[stops] / found.slip_rate[stops]))
        t += wait
        omega = omega + wait * found.angular_acceleration
        v += wait * found.acceleration
        fastest = max(fastest, float(np.abs(omega).max()), abs(v))
    raise RunError(f"no steady state within {200 * array.contacts} events, the last at t = {t:g}")


def _start(array: Array, omega: ArrayLike, velocity: float) -> tuple[Floats, float]:
    needed = f"it must be {array.particles} finite numbers, one for each disk"
    try:
        turns = np.array(omega, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"omega0 is {omega!r}; {needed}") from None
    if turns.shape != (array.particles,):
        raise InputError(f"omega0 has shape {turns.shape}; {needed}")
    if not np.isfinite(turns).all():
        raise InputError(f"omega0 has {turns[~np.isfinite(turns)][0]:g}; {needed}")
    try:
        v = float(velocity)
    except (TypeError, ValueError):
        raise InputError(f"v0 is {velocity!r}; it must be a finite number") from None
    if not np.isfinite(v):
        raise InputError(f"v0 is {v:g}; it must be a finite number")
    return turns, v
