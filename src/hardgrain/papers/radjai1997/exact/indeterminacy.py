"""Which forces and accelerations obey the law of friction, where it does not fix them.

Sticking contacts in a closed loop carry more forces than the equations of motion determine, and so
does an array at rest. With the contact states fixed the possible forces are a convex polytope, and
the least and the greatest of each is a linear program; over all contact states, one with a yes or
no for each direction in which a contact may slide. HiGHS solves both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import block_array, csr_array, diags_array, eye_array, vstack

from hardgrain.errors import RunError
from hardgrain.papers.radjai1997.exact.array import HELD, STICKS, Array, Floats, States

__all__ = ["Polytope", "all_states", "with_states"]

# The finest tolerances that HiGHS offers.
_TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

# Tolerance of the bounds in the search over all states. With exact bounds HiGHS, which searches to
# 1e-6, finds nothing where there is one solution only.
_ROOM = np.array([-1e-6, 1e-6])

_Part = tuple[Any, Any, Any]  # matrix A, low and high: low ≤ A x ≤ high


class Polytope:
    """All x with low ≤ A x ≤ high."""

    def __init__(self, parts: list[_Part]) -> None:
        self.rows = vstack([rows for rows, _, _ in parts], format="csr")
        self.low, self.high = (
            np.concatenate([np.broadcast_to(part[side], part[0].shape[0]) for part in parts])
            for side in (1, 2)
        )
        equal = self.low == self.high
        above, below = ~equal & np.isfinite(self.high), ~equal & np.isfinite(self.low)
        self._program: dict[str, Any] = {
            "A_eq": self.rows[equal],
            "b_eq": self.low[equal],
            "A_ub": vstack([self.rows[above], -self.rows[below]], format="csr"),
            "b_ub": np.concatenate([self.high[above], -self.low[below]]),
            "bounds": (None, None),
            "method": "highs",
            "options": _TIGHT,
        }

    def least(self, objective: Floats) -> float:
        """The least value of a linear function; −inf if there is none."""
        found = linprog(objective, **self._program)
        if found.status == 4:  # the tolerance is too tight for the scale of the numbers
            found = linprog(objective, **self._program | {"options": {}})
        if found.status == 3:
            return -np.inf
        return _value(found)

    def member(self) -> Floats | None:
        """One x, or None if there is none."""
        found = linprog(np.zeros(self.rows.shape[1]), **self._program)
        return None if found.status != 0 else np.asarray(found.x) + 0.0  # avoids −0

    def extremes(self, rows: Any) -> Floats:
        """Least and greatest value of linear functions, the rows of a sparse matrix (n, 2)."""
        return np.array([(self.least(r), -self.least(-r)) for r in rows.toarray()]).reshape(-1, 2)

    def is_point(self, rounding: float) -> bool:
        """Whether there is only one member; on several, no generic function is constant."""
        generic = np.random.default_rng(0).standard_normal((1, self.rows.shape[1]))
        low, high = self.extremes(csr_array(generic))[0]
        return bool(high - low <= rounding * np.abs(generic).sum())


def with_states(
    array: Array, states: States, slide: Floats, stick: Floats, given: States
) -> Polytope:
    """All unknowns that the given contact states allow; arguments as in `ArraySolution`."""
    held, sticks = states == HELD, states == STICKS
    slides = ~held & ~sticks
    begin = slides & (given == 0)
    return Polytope(
        [
            *_motion(array),
            (array.normal[~held], -array.normal_0[~held], np.inf),
            (array.normal[held], -np.inf, -array.normal_0[held]),
            (array.tangential[held], 0.0, 0.0),
            *_equals(array, states * slide, slides),
            (diags_array(states[begin].astype(float)) @ array.slip[begin], 0.0, np.inf),
            (array.slip[sticks], 0.0, 0.0),
            *_cone(array, stick, sticks),
        ]
    )


def all_states(array: Array, slide: Floats, stick: Floats, given: States, rows: Any) -> Floats:
    """Least and greatest value of linear functions over all contact states (n, 2).

    Exhaustive, by branch and bound, to some 10⁻⁶; for arrays of some twenty disks at most.
    Arguments as in `ArraySolution`; all contacts press.
    """
    active = given == 0
    loose = Polytope(
        [
            *_motion(array),
            (array.normal, -array.normal_0, np.inf),
            *_equals(array, given * slide, ~active),
            *_cone(array, stick, active),
        ]
    )
    # Largest rates of slip, and largest distances of T from ±µ_d N. A contact may slip forward only
    # if the first of its two yes or no says so, and then T = µ_d N; backward likewise.
    k, n = int(active.sum()), array.size
    none, one = csr_array((k, k)), eye_array(k)
    rate = array.slip[active]
    reach = loose.extremes(rate) + _ROOM
    yes: list[Any] = [
        ([rate, -diags_array(reach[:, 1].clip(min=0.0)), none], -np.inf, 0.0),
        ([rate, none, diags_array(-reach[:, 0].clip(max=0.0))], 0.0, np.inf),
        ([csr_array((k, n)), one, one], -np.inf, 1.0),
    ]
    for sign in (1, -1):
        [(short, level, _)] = _equals(array, sign * slide, active)
        low, high = (loose.extremes(short) - level[:, None] + _ROOM).T
        for bound, lower, upper in ((high, -np.inf, level + high), (low, level + low, np.inf)):
            far = diags_array(bound)
            yes.append(([short, far, none] if sign > 0 else [short, none, far], lower, upper))
    limits = [LinearConstraint(block_array([[loose.rows, csr_array((loose.rows.shape[0], 2 * k))]]),
                               loose.low, loose.high)]  # fmt: skip
    limits += [LinearConstraint(block_array([blocks]), low, high) for blocks, low, high in yes]
    real = np.concatenate([np.ones(n), np.zeros(2 * k)]) > 0

    def least(row: Floats) -> float:
        objective = np.concatenate([row, np.zeros(2 * k)])
        bounds = Bounds(np.where(real, -np.inf, 0.0), np.where(real, np.inf, 1.0))
        with _silent():
            found = milp(objective, integrality=~real, bounds=bounds, constraints=limits)
        return _value(found)

    return np.array([(least(r), -least(-r)) for r in rows.toarray()]).reshape(-1, 2)


def _motion(array: Array) -> list[_Part]:
    right = array.right[array.motion]
    return [(array.dynamics[array.motion], right, right)]


def _equals(array: Array, mu: Floats, which: NDArray[np.bool_]) -> list[_Part]:
    """The constraint T = µ N."""
    rows = array.tangential[which] - diags_array(mu[which]) @ array.normal[which]
    level = mu[which] * array.normal_0[which]
    return [(rows, level, level)]


def _cone(array: Array, mu: Floats, which: NDArray[np.bool_]) -> list[_Part]:
    """The constraint −µ N ≤ T ≤ µ N."""
    [(up, level_up, _)] = _equals(array, mu, which)
    [(down, level_down, _)] = _equals(array, -mu, which)
    return [(up, -np.inf, level_up), (down, level_down, np.inf)]


@contextmanager
def _silent() -> Iterator[None]:
    """Silence HiGHS, which sometimes prints a line in spite of all options."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _value(found: Any) -> float:
    if found.status != 0:
        raise RunError(f"the range of a force was not found: {found.message}")
    return float(found.fun)
