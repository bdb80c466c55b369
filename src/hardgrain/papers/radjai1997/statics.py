"""The limit of constant velocity, µ_g against L, and one disk more (the paper's 6.1 and 6.2)."""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.radjai1997.array import evolve, pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.exact.indeterminacy import all_states
from hardgrain.papers.radjai1997.statics_cases import (
    BOTH,
    DYNAMIC,
    EXACT,
    HIGH,
    INERTIA,
    PER_DISK,
    PROGRAMS,
    ROUGH,
    STATIC,
    Case,
    greatest_at_rest,
    rows_of,
)
from hardgrain.papers.radjai1997.statics_figures import figure_difference, figure_limits
from hardgrain.papers.radjai1997.statics_hysteresis import hysteresis, two_coefficients
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

__all__ = ["EXPERIMENT"]


def run(quick: bool) -> Outcome:
    """Thresholds for rest and for motion, by programs, exact paths, runs and closed forms."""
    outcome = Outcome(text=_TEXT)
    sizes = (2, 5, 7, 8, 10, 12, 20, 26, 30) if quick else (*range(2, 31), 35, 40, 50, 60, 80)
    runs = (5, 12) if quick else (30, 25, 20, 15, 12, 10, 8, 5, 3, 2)
    jobs = [partial(_both)]
    jobs += [partial(_limits, n, case) for n in sorted(sizes, reverse=True)
             for case in (DYNAMIC, STATIC)]  # fmt: skip
    jobs += [partial(hysteresis, n) for n in runs]
    made = list(zip(jobs, pmap(call, jobs)))

    def table(f: Any) -> dict[str, Any]:
        rows = [row for job, row in made if job.func is f]
        rows.sort(key=lambda row: row["particles"])
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    outcome.tables["limits"] = table(_limits)
    outcome.tables["hysteresis"] = table(hysteresis)
    _rolling(outcome)
    _longer(outcome, table(_both))
    _one_more(outcome)
    _length(outcome, quick)
    two_coefficients(outcome, quick)
    outcome.figures["limits"] = figure_limits(outcome.tables)
    outcome.figures["difference"] = figure_difference(outcome.tables)
    return outcome


def _limits(size: int, case: Case) -> dict[str, float]:
    """The greatest drive at rest, the least in motion, and the states as motion begins."""
    greatest = greatest_at_rest(size, case)
    path = pieces(size, *case, 0.0, HIGH * greatest)
    sticks = path.states[0] == STICKS
    rolls, sides = sticks[1::2], sticks[0:-1:2] | sticks[2::2]
    return {
        "particles": size, "mu": case[1], "mu_plane": case[2],
        "rest": greatest, "motion": path.drive.min(), "beginning": path.drive[0],
        "friction_rest": (greatest - case[0]) / size, "friction_beginning": path.friction[0],
        "rolling": size if rolls.all() else rolls.argmin(), "mode_2": (~rolls & ~sides).sum(),
        "inertia": path.inertia[0], "friction_11": _mixed(size, case)[0],
        "friction_exact": _mixed(size, case)[1],
    }  # fmt: skip


def _mixed(size: int, case: Case) -> tuple[float, float]:
    """The friction µ_g at v̇ = 0 by (8) or (11), as printed, and with all factors."""
    brake, mu, mu_plane, block = case
    rolling = min(float(size), theory.rolling_length(0.0, *case))
    printed = theory.mixed_friction(size, rolling, brake, mu, mu_plane)
    if rolling == size:
        return printed, theory.rolling_array(size, brake, mu, block)[1]
    return printed, theory.moving_array(size, rolling, *case)[1]


def _rolling(outcome: Outcome) -> None:
    """Arrays in which all disks roll: three ways to the threshold, and (7), (8)."""
    every: list[float] = []
    for case in (DYNAMIC, STATIC):
        t = rows_of(outcome.tables["limits"], case)
        brake, mu, _, block = case
        for n, rest, motion in zip(t["particles"], t["rest"], t["motion"]):
            if n <= theory.rolling_length(0.0, *case) - 1.0:
                least = theory.least_drive(n, brake, mu, block)
                every += [rest / least - 1.0, motion / least - 1.0]
    brake, mu, mu_plane, _ = DYNAMIC
    same = [_limits(n, (brake, mu, mu_plane, mu)) for n in (2, 5, 10)]  # µ'' = µ
    off = [
        r["friction_rest"] / theory.rolling_friction(r["particles"], brake, mu) - 1 for r in same
    ]
    ratio = [r["particles"] * r["friction_beginning"] / r["inertia"] for r in same]
    small = 1e-5
    first = _limits(10, (brake, small, mu_plane, small))["friction_rest"]
    exact = theory.rolling_array(10, *DYNAMIC[:2], DYNAMIC[3])[1]
    printed = theory.rolling_friction(10, brake, mu)
    ten = _limits(10, DYNAMIC)["friction_rest"]
    outcome.claims += [
        Claim(
            "all disks roll: greatest drive at rest (linear program) and least in motion (exact"
            " path), worst relative difference from the closed form",
            float(np.abs(every).max()),
            theory=Expected(
                0.0, EXACT, PROGRAMS, "N_0 λ^(L−1) (1 + µ'')/(1 − µ''): rest ends where motion"
                " begins",
            ),
        ),
        Claim(
            "all disks roll, µ'' = µ: worst relative difference of µ_g from (8)",
            float(np.abs(off).max()),
            paper=Expected(0.0, EXACT, PROGRAMS, "µ_g = µ_e of (8)"),
            theory=Expected(0.0, EXACT, PROGRAMS, "(8) is exact for µ'' = µ"),
        ),
        Claim(
            f"(8) as printed over µ_g of Fig. 3's 10 disks, greatest at rest, µ'' = {DYNAMIC[3]:g}",
            printed / ten,
            paper=Expected(1.0, EXACT, PROGRAMS, "µ_g = µ_e of (8)"),
            theory=Expected.within(printed / exact, EXACT, PROGRAMS, "with the blocks' µ''"),
            differs="(8) lets the blocks rub like disks: one factor λ too many",
        ),
        Claim(
            "F_e/m_e of 2, 5 and 10 rolling disks, µ'' = µ: worst relative difference from"
            " 2 µ N_0/(1 + I)",
            float(np.abs(np.array(ratio) * (1.0 + INERTIA) / (2.0 * mu * brake) - 1.0).max()),
            paper=Expected(0.0, EXACT, PROGRAMS, "independent of L_1 at all orders of µ"),
            theory=Expected(0.0, EXACT, PROGRAMS, "(7) and (8)"),
        ),
        Claim(
            f"µ_g/2µN_0 of 10 disks with µ = µ'' = {small:g}",
            first / (2.0 * small * brake),
            paper=Expected(
                1.0, 20 * small, "the next order, 2 µ L", "at first order in µ independent of L"
            ),
        ),
    ]  # fmt: skip


def _both() -> dict[str, float]:
    """Judge, over all states, whether arrays with µ_s = µ_d can both rest and move in between."""
    limits = _limits(BOTH, ROUGH)
    drive = 0.5 * (limits["motion"] + limits["rest"])
    found = steady_state(BOTH, drive, *ROUGH)
    a = found.array
    v = all_states(a, found.slide, found.stick, found.given, a.unknown(a.at_v[:1]))[0]
    return {"particles": BOTH, "motion": limits["motion"], "rest": limits["rest"], "drive": drive,
            "least": v[0], "greatest": v[1], "moves": _fastest(drive, limits["rest"])}  # fmt: skip


def _fastest(drive: float, rest: float) -> float:
    """The greatest v̇ with which the exact path over N_L passes a driving force."""
    path = pieces(BOTH, *ROUGH, 0.0, HIGH * rest)
    x, v = path.drive, path.acceleration
    k = np.flatnonzero((x[1:] - drive) * (x[:-1] - drive) < 0.0)
    return float((v[k] + (drive - x[k]) / (x[k + 1] - x[k]) * (v[k + 1] - v[k])).max())


def _longer(outcome: Outcome, both: dict[str, Any]) -> None:
    """Arrays too long for all disks to roll."""
    limits: dict[str, Any] = outcome.tables["limits"]
    outcome.tables["rest_or_motion"] = both
    for case in (DYNAMIC, STATIC):
        t, coherent = rows_of(limits, case), theory.rolling_length(0.0, *case)
        long = t["particles"] > coherent + 1.0
        gap = 1.0 - t["motion"][long] / t["rest"][long]  # the path may miss even lower ones
        # forces in units of one disk's friction
        printed, exact = (
            (t[column] - t["friction_rest"])[long] * t["particles"][long] / case[2]
            for column in ("friction_11", "friction_exact")
        )
        name = f"µ = {case[1]:g}, µ' = {case[2]:g}"
        most = int(t["particles"].max())
        whole = "whole disks: mode 3 begins up to a disk earlier or later"
        outcome.claims += [
            Claim(
                f"{name}: greatest L_1 in longer arrays as motion begins",
                float(t["rolling"][long].max()),
                theory=Expected(
                    coherent, 1.0, whole, "T' = µ' N' where disks roll all along the array"
                ),
            ),
            Claim(
                f"{name}: greatest less least L_1 in longer arrays, up to {most} disks",
                float(np.ptp(t["rolling"][long])),
                paper=Expected(0.0, 1.0, whole, "L_1^c, whatever L"),
            ),
            Claim(
                f"{name}, up to {most} disks: greatest drive at rest, farthest (11) from it"
                " [friction of one disk]",
                float(printed[np.abs(printed).argmax()]),
                paper=Expected(
                    0.0, 0.5, "L_1^c is a whole number, the limit of rest is not", "(11)"
                ),
                differs="(11) lets the braking block rub like a disk and leaves out the factor"
                " 1 − µ µ' where the modes meet; with both it holds, as the next claim shows",
                note=f"{t['friction_11'][-1] / t['friction_rest'][-1] - 1.0:.1%} of µ_g at"
                f" L = {t['particles'][-1]}",
            ),
            Claim(
                f"{name}, up to {most} disks: the same for (11) with µ'' and 1 − µ µ'",
                float(exact[np.abs(exact).argmax()]),
                theory=Expected(
                    0.0, 0.5, "L_1^c is a whole number, the limit of rest is not",
                    "(11) with µ'' and 1 − µ µ'",
                ),
                note="the contact where the modes meet sticks and bears less than µ N, so that this"
                " is no exact limit either",
            ),
            Claim(
                f"{name}, up to {most} disks: drives below the greatest at rest at which the array"
                " can also move, largest share found",
                float(gap.max()),
                paper=Expected(0.0, EXACT, PROGRAMS, "one limit, since µ_s = µ_d"),
                differs="so only while all disks roll. In longer arrays loops of sticking contacts"
                " allow rest and motion under the same drive, and the past decides;"
                f" here at L = {t['particles'][long][gap.argmax()]}",
            ),
        ]  # fmt: skip
    span = float(both["greatest"][0] - both["least"][0])
    outcome.claims += [
        Claim(
            f"disks in mode 2 as motion begins, arrays of up to {limits['particles'].max()} disks",
            float(limits["mode_2"].sum()),
            paper=Expected.exact(0.0, "mode 2 disappears at v̇ = 0"),
        ),
        Claim(
            f"{BOTH} disks, µ = µ' = {ROUGH[1]:g}, N_L = {both['drive'][0]:.5f} between both"
            " limits: least v̇ over all contact states",
            float(both["least"][0]),
            theory=Expected(0.0, 1e-9, "accuracy of the search", "it can rest"),
        ),
        Claim(
            f"{BOTH} disks, the same drive: greatest less least v̇ over all contact states",
            span,
            paper=Expected(0.0, 2e-6, "accuracy of the search", "a unique solution"),
            theory=Expected(
                both["moves"][0], 2e-6, "accuracy of the search",
                "v̇ on the exact path over N_L, one of several", "at least",
            ),
            differs="exact Coulomb friction with a single coefficient allows rest and motion under"
            " the same drive",
        ),
    ]  # fmt: skip


def _one_more(outcome: Outcome) -> None:
    """A drive that moves L disks and not L + 1; what it does to L + 1 that are already moving."""
    brake, mu, _, block = DYNAMIC
    rows = []
    for n in (3, 6, 10, 15):
        fewer, more = (theory.least_drive(k, brake, mu, block) for k in (n, n + 1))
        drive = 0.5 * (fewer + more)
        inertia = theory.rolling_array(n + 1, brake, mu, block)[0]
        moving, resting = (steady_state(k, drive, *DYNAMIC) for k in (n, n + 1))
        stopping = evolve(n + 1, drive, *DYNAMIC, np.ones(n + 1), 1.0)
        rows.append((n, drive, moving.acceleration, resting.acceleration, stopping.velocity[-1],
                     stopping.time[-1], inertia / (more - drive),
                     (drive - fewer) / theory.rolling_array(n, brake, mu, block)[0]))  # fmt: skip
    names = ("particles", "drive", "acceleration", "acceleration_one_more", "velocity_in_the_end",
             "stops_at", "stops_at_theory", "acceleration_theory")  # fmt: skip
    t = dict(zip(names, np.array(rows).T))
    outcome.tables["one_more"] = t
    outcome.claims += [
        Claim(
            "L = 3, 6, 10, 15 between the least drives of L and L + 1: least v̇ of L disks",
            float(t["acceleration"].min()),
            theory=Expected.exact(float(t["acceleration_theory"].min()), "(N_L − N_c)/m_e"),
            note="above 0: all of them move",
        ),
        Claim(
            "the same drives on L + 1 disks at rest: greatest v̇",
            float(np.abs(t["acceleration_one_more"]).max()),
            paper=Expected(
                0.0, 1e-9, "rounding", "the addition of one particle can immobilize the system"
            ),
            theory=Expected(0.0, 1e-9, "rounding", "below the least drive of L + 1"),
        ),
        Claim(
            "the same drives on L + 1 that roll at v = 1: greatest velocity in the end",
            float(np.abs(t["velocity_in_the_end"]).max()),
            theory=Expected(0.0, 1e-9, "rounding", "below the least drive of L + 1"),
        ),
        Claim(
            "time in which they stop, over v m_e/(N_c − N_L): worst relative difference from 1",
            float(np.abs(t["stops_at"] / t["stops_at_theory"] - 1.0).max()),
            theory=Expected(0.0, 1e-9, "rounding of small differences", "(7) with the blocks' µ''"),
            note=f"{t['stops_at'][0]:.3g} to {t['stops_at'][-1]:.3g} √(r/g)",
        ),
    ]  # fmt: skip


def _length(outcome: Outcome, quick: bool) -> None:
    """Judge µ_g against L at a driving force proportional to L, where v̇ is nearly the same."""
    sizes = (5, 10, 20, 40, 80) if quick else (2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 113, 160)
    found = [steady_state(n, PER_DISK * n, *DYNAMIC) for n in sizes]
    t: dict[str, Any] = {
        "particles": np.array(sizes), "friction": np.array([s.friction for s in found]),
        "acceleration": np.array([s.acceleration for s in found]),
    }  # fmt: skip
    t |= {f"mode_{i + 1}": np.array([s.modes[i] for s in found]) for i in range(3)}
    outcome.tables["length"] = t
    mu_plane = DYNAMIC[2]
    left = (mu_plane - t["friction"]) * t["particles"]
    long = t["particles"] >= 40
    last = found[-1]
    # the first L_1 disks bear less than µ'; all others bear it
    rolling = [mu_plane * k - s.tangential_plane[:k].sum() for k, s in zip(t["mode_1"], found)]
    outcome.claims += [
        Claim(
            f"N_L = {PER_DISK:g} L: (µ' − µ_g) L at L = {sizes[-1]}",
            float(left[-1]),
            paper="µ_g asymptotically tends to µ'",
            theory=Expected.exact(
                rolling[-1] - mu_plane * (last.tangential[-1] - last.tangential[last.modes[0]]),
                "what the rolling disks bear less, and the ends of modes 2 and 3",
            ),
            note=f"{left[long][0]:.3f} at L = {t['particles'][long][0]}: µ_g nears µ' as 1/L",
        ),
        Claim(
            f"N_L = {PER_DISK:g} L, L from {t['particles'][long][0]} to {sizes[-1]}: greatest less"
            " least L_1",
            float(np.ptp(t["mode_1"][long])),
            paper=Expected(
                0.0,
                1.0,
                "whole disks: v̇ still falls a little as L grows",
                "the length of the first domain does not change with that of the array",
            ),
        ),
    ]


_TEXT = (
    "While all disks roll, the greatest driving force at which the array can rest (a linear"
    " program over all forces that friction allows) is also the least at which it moves, and both"
    " are the closed form. So the paper is right that one disk more can immobilise an array: a"
    " drive between the limits of L and L + 1 moves the one and not the other, and L + 1 disks"
    " that already roll stop in the time that follows from (7).\n\n"
    "Where an array is too long for all disks to roll, mode 2 is indeed absent at v̇ = 0; modes 1"
    " and 3 then turn equally fast, loops of sticking contacts close, and the limits part: exact"
    " Coulomb friction with a single coefficient allows rest and motion under the same drive, and"
    " what happens depends on the past. There is no one static µ_g for (11) to give; it is within"
    " about a disk's friction of the greatest. Drives in motion are those of one exact path, so"
    " that the least may lie still lower.\n\n"
    "µ_g against L is shown twice: at v̇ = 0, where it grows by λ per disk and then saturates,"
    " and at a driving force proportional to L, where v̇ is nearly constant, L_1 stays the same"
    " and µ_g nears µ' as 1/L.\n\n"
    "With two coefficients (C2, rule stick) runs from rest begin to move where (8) with µ_s and"
    " the blocks' µ'' says, and rolling ones stop where it says with µ_d. But a rolling disk"
    " sticks to the plane with µ'_s: rolling arrays go on rolling far beyond L_1^c of µ_d, and"
    " stop at forces that (11) with µ'_d does not give. That µ_g^s − µ_g^d approaches µ'_s − µ'_d"
    " is true of (11) and of the limits of rest."
)

EXPERIMENT = Experiment("statics", "The static limit, and µ_g against L", run)
