"""Two coefficients of friction: what starts the array, and what keeps it moving."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.radjai1997.array import evolve
from hardgrain.papers.radjai1997.statics_cases import (
    DYNAMIC,
    PROGRAMS,
    STATIC,
    greatest_at_rest,
    rows_of,
)
from hardgrain.theory import array as theory

__all__ = ["hysteresis", "two_coefficients"]


def _moves(size: int, drive: float, velocity: float) -> bool:
    """Whether disks that roll with ``velocity`` go on under C2, or begin to, with 0."""
    end = evolve(
        size, drive, *DYNAMIC, np.full(size, velocity), velocity, law="C2",
        mu_static=STATIC[1], mu_plane_static=STATIC[2], keep_closed=True,
    )  # fmt: skip
    if velocity == 0.0:
        return end.steady.acceleration > 1e-12
    return bool(end.velocity[-1] > 0.5 * velocity)


def hysteresis(size: int) -> dict[str, float]:
    """The drive that starts an array under C2, and that at which it stops."""
    found = {}
    for name, velocity in (("start", 0.0), ("stop", 1.0)):
        low, high = 0.0, 1.2 * STATIC[2] * size
        while high - low > 1e-9 * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if _moves(size, middle, velocity) else (middle, high)
        found[name] = high
    start, stop = (theory.least_drive(size, *case[:2], case[3]) for case in (STATIC, DYNAMIC))
    return {"particles": size, **found, "start_theory": start, "stop_theory": stop}


def two_coefficients(outcome: Outcome, quick: bool) -> None:
    h: dict[str, Any] = outcome.tables["hysteresis"]
    limits: dict[str, Any] = outcome.tables["limits"]
    fast, slow = rows_of(limits, STATIC), rows_of(limits, DYNAMIC)
    n = fast["particles"]
    difference = fast["friction_rest"] - slow["friction_beginning"]
    outcome.tables["difference"] = {
        "particles": n, "difference": difference,
        "difference_11": fast["friction_11"] - slow["friction_11"],
    }  # fmt: skip
    coherent = theory.rolling_length(0.0, *STATIC)
    short = h["particles"] <= coherent - 1.0
    last = int(n[n <= coherent][-1])
    total = dict(zip(n, difference * n))
    closed = [
        theory.least_drive(k, *STATIC[:2], STATIC[3])
        - theory.least_drive(k, *DYNAMIC[:2], DYNAMIC[3])
        for k in (last, last - 1)
    ]
    also = (
        "also beyond L_1^c of µ_d: what rolls sticks to the plane with µ'_s, so that all disks go"
        " on rolling, and (11) with µ'_d does not apply"
    )
    most = 200 if quick else 1000
    longest = (greatest_at_rest(most, STATIC) - greatest_at_rest(most, DYNAMIC)) / most
    outcome.claims += [
        *(
            Claim(
                f"C2, all disks roll: drive at which runs {word}, worst relative difference from"
                f" the closed form with µ_{index}",
                float(np.abs(h[name][mine] / h[f"{name}_theory"][mine] - 1.0).max()),
                paper=f"(8) with µ_{index}",
                theory=Expected(0.0, 1e-8, "ten times that of the bisection", "with µ'' of blocks"),
                note=note,
            )
            for name, word, index, mine, note in (
                ("start", "begin to move from rest", "s", short, ""),
                ("stop", "stop, when rolling", "d", slice(None), also),
            )
        ),
        Claim(
            f"(µ_g^s − µ_g^d) L of {last} disks over that of {last - 1}",
            float(total[last] / total[last - 1]),
            paper="increases exponentially with L_1",
            theory=Expected.within(
                closed[0] / closed[1],
                1e-9,
                PROGRAMS,
                f"of λ_s^(L−1) − λ_d^(L−1); λ_s is {theory.growth(STATIC[1]):.3f}",
            ),
        ),
        Claim(
            f"µ_g^s − µ_g^d at L = {most}, both the greatest at rest",
            longest,
            paper=Expected(
                STATIC[2] - DYNAMIC[2],
                theory.rolling_length(0.0, *DYNAMIC) * DYNAMIC[2] / most,
                "what the rolling disks can bear less, µ'_d L_1/L",
                "approaches µ'_s − µ'_d",
            ),
        ),
    ]
