"""The arrays whose greatest forces at rest are looked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.radjai1997.exact.array import STICKS, Array
from hardgrain.papers.radjai1997.indeterminate import drive_range

__all__ = [
    "BOTH",
    "DYNAMIC",
    "EXACT",
    "HIGH",
    "INERTIA",
    "PER_DISK",
    "PROGRAMS",
    "ROUGH",
    "STATIC",
    "Case",
    "greatest_at_rest",
    "rows_of",
]

Case = tuple[float, float, float, float]  # N_0, µ, µ', µ''

# Fig. 3's array, with its dynamic and with its static coefficients
DYNAMIC: Case = (0.01, 0.1, 0.2, 0.001)
STATIC: Case = (0.01, 0.3, 0.6, 0.001)
ROUGH: Case = (0.01, 0.3, 0.3, 0.01)  # the case of Figs 10 and 11
INERTIA = 0.5
PER_DISK = 0.25  # N_L/L of Fig. 3 [m g]
EXACT = 1e-11  # relative error that rounding leaves
PROGRAMS = "rounding of the linear programs"
# The branch over the drive must not fold back to where it is followed from, as it does at 1.25.
HIGH = 3.0  # [greatest drive at rest]
BOTH = 10  # disks; the shortest array of ROUGH in which rest and motion were found to coexist


def greatest_at_rest(size: int, case: Case) -> float:
    """The greatest driving force at which an array can rest: all contacts stick."""
    array = Array(size, 0.0, case[0])
    states = np.full(array.contacts, STICKS, dtype=np.int8)
    return drive_range(array, states, array.coefficients(*case[1:]))[1]


def rows_of(table: dict[str, Any], case: Case) -> dict[str, Any]:
    return {name: column[table["mu"] == case[1]] for name, column in table.items()}
