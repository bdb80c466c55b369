"""The arrays of Figs 10 and 11, and the figures by which they are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.sparse import csr_array

from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, with_states
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.scene import (
    STIFFNESS,
)

__all__ = [
    "BEST",
    "DURATION",
    "FIG3",
    "FIG9",
    "FIG10",
    "INERTIA",
    "INSIDE",
    "LAW",
    "ORDERS",
    "OUTSIDE",
    "PRINTED",
    "SEARCH",
    "SIZE",
    "SIZES",
    "SLIDING",
    "SOFT",
    "SPEED",
    "TRIALS",
    "TWOFOLD",
    "columns",
    "regularised",
]

# N_0, µ, µ', µ'' of Figs 10 and 11, of Fig. 3, and of Figs 8 and 9
FIG10 = (0.01, 0.3, 0.3, 0.01)
FIG3 = (0.01, 0.1, 0.2, 0.001)
FIG9 = (0.01, 0.04, 0.1, 0.001)
SIZE, INERTIA = 5, 0.5  # number of disks, and moment of inertia of each [m r²]
PRINTED = 1.05  # the paper's v̇; as a driving force it lies in the window

# Drives N_L [m g] within the window in which forces are not unique, and on both sides of it.
INSIDE, OUTSIDE = (1.05, 1.1, 1.2, 1.3, 1.4), (1.0, 1.6)
BEST = 1.2  # drive at which v̇ has nearly its widest range
SLIDING = (10.0, 100.0, 1000.0)  # γ_s [m √(g/r)]
ORDERS, TRIALS = 8, 40  # seeds of contact dynamics from rest, and of Appendix A, for each drive
# speed and time of random starts, so slow that all are steady in the end
SPEED, DURATION = 0.02, 8.0
LAW = 1e-6  # [m g] difference that converged forces of contact dynamics may have
SEARCH = 2e-6  # accuracy of the search through all states
SOFT = max(OUTSIDE) / STIFFNESS  # overlap of two disks, in radii: arms are as much shorter
_TINY = 1e-11  # rounding of the linear programs, below which nothing is told apart
SIZES = range(3, 21)  # numbers of disks of other arrays
TWOFOLD = 7  # disks; the shortest array of FIG10's coefficients whose path over N_L turns back


def regularised(found: ArraySolution) -> float:
    """The acceleration v̇ of the solution that RC1 goes to, whatever its γ_s.

    Slips round a loop of sticking contacts add up to zero, with signs: Σ c u = 0. RC1 has T = γ_s u
    at all of them, hence Σ c T = 0, the equation that C1 lacks. Where the limits of friction do not
    let it be zero, one contact reaches its limit and slips as much as the others ask for.
    """
    if found.determinate:
        return found.acceleration
    a, sticks = found.array, found.states == STICKS
    given = with_states(a, found.states, found.slide, found.stick, found.given)
    slip = a.slip[sticks]
    rates = np.column_stack([slip[:, a.at_omega].toarray(), slip[:, a.at_v].sum(axis=1)])
    loop = csr_array(null_space(rates.T).T @ a.tangential[sticks])
    nearest = np.clip(0.0, *given.extremes(loop)[0])
    near = nearest - _TINY, nearest + _TINY
    member = Polytope([(given.rows, given.low, given.high), (loop, *near)])
    return float(member.extremes(a.unknown(a.at_v[:1])).mean())


def columns(rows: list[dict[str, float]]) -> dict[str, Any]:
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}
