"""Figs 5 to 7: three collective modes. As printed the array rests; with a tenth of both µ it moves.

The caption has N_L = 1.4, N_0 = 0.01, µ = 0.06, µ' = 0.1 and µ'' = 0.001 for 80 disks. Repair (A)
is µ = 0.006 and µ' = 0.01, repair (B) N_L = 14.
"""

from __future__ import annotations

from functools import partial
from operator import call

import numpy as np

from hardgrain.errors import RunError
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.radjai1997.array import evolve, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.exact.law import Rule
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.modes_case import (
    ALPHA,
    COEFFICIENTS,
    PRINTED,
    REPAIRED,
    ROUNDING,
    eta_plane,
)
from hardgrain.papers.radjai1997.modes_figures import (
    fig5,
    fig6,
    fig7,
    figure_bands,
    figure_lengths,
    figure_mobilisation,
)
from hardgrain.papers.radjai1997.modes_lengths import judge_lengths
from hardgrain.papers.radjai1997.modes_printed import as_printed
from hardgrain.papers.radjai1997.starts import columns, share
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

__all__ = ["EXPERIMENT"]


def run(quick: bool) -> Outcome:
    """Why the printed array rests, the three modes of (A), and their lengths for all drives."""
    outcome = Outcome(text=_TEXT, seeds=range(3 if quick else 48))
    as_printed(outcome, every=10 if quick else 1)
    found = steady_state(**REPAIRED)
    _three_modes(outcome, found, seeds=3 if quick else 20)
    _limits(outcome)
    _static_friction(outcome, range(3 if quick else 48))
    judge_lengths(outcome, (40, 60) if quick else (80, 120))
    outcome.figures["fig5"] = fig5(found)
    outcome.figures["fig6"] = fig6(found)
    outcome.figures["fig7"] = fig7(found)
    outcome.figures["mobilisation"] = figure_mobilisation(found)
    outcome.figures["printed"] = figure_bands(outcome.tables["printed"])
    outcome.figures["lengths"] = figure_lengths(outcome.tables["lengths"])
    return outcome


_TEXT = (
    "As printed the array cannot move. The plane holds up to µ' a disk, of which rolling saves a"
    " part: with N_L = 1.4 the array rests, and an array in motion stops. Above N_L = 5.10 it"
    " cannot rest; down to 4.17 it can, but can also go on at constant speed, if the disks behind"
    " the rolling ones turn with ±v by turns. At rest the forces are not unique: the bands are"
    " their ranges, by linear programming.\n\n"
    "With a tenth of both coefficients (A) the three modes of the prose are there, and closed forms"
    " (hardgrain.theory.array) give each of them. Mode 1: T' + v̇ grows by exactly λ ="
    " (1 + µ)/(1 − µ) a disk, so the mobilisation η of the plane grows faster than that. Mode 2:"
    " N is linear, T' constant, ω̇ linear. Mode 3: T = µ'/2 + (−1)^i (c + A λ'^i) with λ' ="
    " (1 + µ')/(1 − µ'), roots −1 and −λ'.\n\n"
    "Where the prose is too bold: the first disk of mode 3 does not always turn backward, often"
    " only the second; at the driving block η may reach 1, and in (A) the last disk slides on all"
    " sides (µ'' N_L is too little for it to turn with the others); and L_2 grows with v̇ only as"
    " long as there is a mode 1, then it falls.\n\n"
    "With static friction three times the dynamic one (C2) mode 2, 19 disks long under C1, is gone"
    " from most arrays in which what can be held is held, as the paper says, and the lengths of"
    " modes 1 and 3 depend on the start. If contacts are let go at random at each event, all is as"
    " under C1."
)


# ---------------------------------------------------------------------- three modes
def _three_modes(outcome: Outcome, found: ArraySolution, seeds: int) -> None:
    v, (first, second, _) = found.acceleration, found.modes
    mu, mu_plane = REPAIRED["mu"], REPAIRED["mu_plane"]
    omega, t, t_plane = found.angular_acceleration, found.tangential, found.tangential_plane
    n = found.array.particles
    reference = (("v̇", v, 0.00850319959869), ("µ_g", found.friction, 0.00887180040131))
    outcome.claims += [
        Claim(
            f"(A): {name}", value,
            theory=Expected.within(
                known, 1e-11, "twelve digits are known", "an independent program"
            ),
        )
        for name, value, known in reference
    ]  # fmt: skip
    outcome.claims += [
        Claim(f"(A): L_{k + 1}", found.modes[k], theory=Expected.exact(known, "the same program"))
        for k, known in enumerate((30, 19, 31))
    ]
    others = [steady_state(**REPAIRED, rule="random", seed=seed) for seed in range(seeds)]
    power = found.array.drive - found.array.brake
    inertia = found.array.inertia
    spent = float(found.x[found.array.at_tangential] @ found.slip_rate)
    turning = inertia * float(omega @ omega)
    grown = t_plane[1:first] + v
    eta = eta_plane(found)
    rolls = theory.rolling_mobilisation(n, v, **{k: REPAIRED[k] for k in COEFFICIENTS})
    last_growth = float(eta[first - 1] / eta[first - 2])
    step = theory.sliding_friction(mu, mu_plane) + theory.sliding_inertia(1, mu, mu_plane) * v
    inside = slice(first, first + second)
    begin = first + second
    end = begin + int((found.states[0::2][begin + 1 :] != STICKS).argmax()) + 1
    closed, _ = theory.counter_rotation(end - begin, t[begin], t[end], mu_plane)
    eta_side = np.abs(t[1:-1]) / (mu * found.normal[1:-1])
    outcome.claims += [
        Claim(
            "(A): the same by trial and error (Appendix A), greatest difference",
            max(float(np.abs(o.x - found.x).max()) for o in others),
            paper=Expected(0.0, ROUNDING, "rounding", "have always given a unique solution"),
            theory=Expected(0.0, ROUNDING, "rounding", "the exact solver"),
        ),
        Claim(
            "(A): power put in less what translation, rotation and sliding take, as a share",
            1.0 - (n * v + (turning + spent) / v) / power,
            theory=Expected(0.0, ROUNDING, "rounding", "energy"),
            note=f"sliding takes {spent / (power * v):.3f}, rotation {turning / (power * v):.3f}",
        ),
        Claim(
            "(A): dissipation rate over v, as a share of F_g", spent / v / (n * found.friction),
            paper=Expected.exact(1.0, "F_g may be interpreted as dissipation rate/v"),
            theory=Expected.exact(
                1.0 - turning / v / (n * found.friction), "less what sets the disks turning"
            ),
            differs="true at constant velocity; in accelerated motion F_g also feeds the rotation",
        ),
        Claim(
            "(A), mode 1: greatest |ω̇/v̇ − 1|", float(np.abs(omega[:first] / v - 1.0).max()),
            paper=Expected(0.0, ROUNDING, "rounding", "ω̇ = v̇"),
            theory=Expected(0.0, ROUNDING, "rounding", "ω̇ = v̇"),
        ),
        Claim(
            "(A), mode 1: growth of T' + v̇ from disk to disk, greatest distance from λ",
            float(np.abs(grown[1:] / grown[:-1] - theory.growth(mu)).max()),
            theory=Expected(0.0, 10.0 * ROUNDING, "rounding", f"λ = {theory.growth(mu):.6f}"),
        ),
        Claim(
            "(A), mode 1: growth of η from disk to disk, at the end over that at the front",
            float(eta[first - 1] / eta[first - 2] / (eta[2] / eta[1])),
            paper=Expected(1.0, ROUNDING, "rounding", "η increases exponentially"),
            theory=Expected.exact(rolls[first - 1] / rolls[first - 2] / (rolls[2] / rolls[1])),
            differs="T' + v̇ grows exponentially, so that T' and with it η grow faster at first:"
            f" by {eta[2] / eta[1]:.4f} a disk at the front and {last_growth:.4f} at the end",
        ),
        Claim(
            "(A), mode 1: η of its last disk on the plane", float(eta[first - 1]),
            paper=Expected(
                1.0, last_growth - 1.0, "whole disks: from one to the next η grows by as much",
                "η reaches 1 at the first disk of mode 2",
            ),
            theory=Expected.exact(rolls[first - 1], "if all disks up to it roll"),
        ),
        Claim(
            "(A), mode 1: η that the first disk of mode 2 would need to roll", float(rolls[first]),
            paper=Expected(1.0, 0.0, "exact", "this determines L_1", "at least"),
            note="by closed form; it slides, with η = 1",
        ),
        Claim(
            "(A): L_1 by closed form, where η reaches 1",
            theory.rolling_length(v, *(REPAIRED[k] for k in COEFFICIENTS)),
            theory=Expected.exact(first, "the exact solver"),
        ),
        Claim(
            "(A), mode 2: greatest change of T' along it, as a share",
            float(np.ptp(t_plane[inside]) / t_plane[inside].mean()),
            paper=Expected(0.0, ROUNDING, "rounding", "remains constant"),
            theory=Expected(0.0, ROUNDING, "rounding", "N' is the same for all"),
        ),
        Claim(
            "(A), mode 2: N_i − N_{i−1}, greatest distance from (µ' + v̇)/(1 − µ µ')",
            float(np.abs(np.diff(found.normal)[inside] / step - 1.0).max()),
            theory=Expected(0.0, 10.0 * ROUNDING, "rounding", "as a share of it; N is linear"),
        ),
        Claim(
            "(A), mode 2: ω̇ falls by this much a disk [1/time²]",
            -float(np.diff(omega[inside]).mean()),
            paper=Expected(0.0, 0.0, "exact", "decreases along this domain", "at least"),
            theory=Expected(2.0 * mu * step / inertia, 1e-13, "rounding of differences", "2 µ s/I"),
        ),
        Claim(
            "(A), mode 3: greatest distance of T from µ'/2 + (−1)^i (c + A λ'^i)",
            float(np.abs(closed - t[begin : end + 1]).max()),
            paper="oscillates with exponentially varying envelopes",
            theory=Expected(
                0.0, ROUNDING, "rounding", f"λ' = {theory.growth(mu_plane):.6f}"
            ),
            note=f"disks {begin + 1} to {end}",
        ),
        Claim(
            "(A), mode 3: greatest η between disks that do not slide",
            float(eta_side[found.states[2:-1:2] == STICKS].max()),
            paper=Expected(1.0, 0.0, "exact", "stays always lower than unity", "at most"),
        ),
        Claim(
            "(A), mode 3: contacts between its disks that slide",
            int((found.states[2 * begin + 2 : -1 : 2] != STICKS).sum()),
            paper=Expected.exact(0.0, "in mode 3 the particle-particle contacts are NS"),
            differs=f"the last disk, {n}, turns with ω̇ = {omega[-1] / v:+.4f} v̇ and not with"
            f" {-omega[-2] / v:+.4f} v̇: its block can hold no more than µ'' N_L ="
            f" {t[-1]:.4f}, which leaves {t[-2]:.4f} = µ N_{n - 1} to the neighbour",
        ),
    ]  # fmt: skip
    i = np.arange(n + 1)
    pad = np.nan
    outcome.tables["modes"] = {
        "i": i, "angular_acceleration": [v, *omega], "N": found.normal, "T": t,
        "N_plane": [pad, *found.normal_plane], "T_plane": [pad, *t_plane],
    }  # fmt: skip


def _limits(outcome: Outcome) -> None:
    """Judge case (B), and one coefficient much less than the other."""
    wide = steady_state(**PRINTED | {"drive": 14.0})
    little = steady_state(**REPAIRED | {"mu": REPAIRED["mu_plane"] / 100})
    smooth = steady_state(**REPAIRED | {"mu_plane": REPAIRED["mu"] / 100})
    outcome.claims += [
        Claim(
            "(B), N_L = 14: disks in modes 1 and 2, of 80", sum(wide.modes[:2]),
            paper="lengths that can be significantly larger than the particle diameters",
            note=f"modes {wide.modes}, v̇ = {wide.acceleration:.6g}: it moves, with little of what"
            " the prose describes",
        ),
        Claim(
            "µ = µ'/100: disks in mode 1, of 80", little.modes[0],
            paper=Expected.exact(80, "for µ ≪ µ' all in mode 1"),
        ),
        Claim(
            "µ' = µ/100: disks in mode 3, of 80", smooth.modes[2],
            paper=Expected.exact(80, "for µ' ≪ µ all in mode 3"),
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- C2
def _settled(seed: int, rule: Rule) -> tuple[int, int, int] | None:
    """Modes of (A) under C2 from a random start; None if a contact would open, or no solution."""
    rng = np.random.default_rng(seed)
    spins, v = rng.uniform(-1.0, 1.0, REPAIRED["particles"]), float(rng.uniform(0.0, 1.0))
    static = {f"{k}_static": ALPHA * REPAIRED[k] for k in ("mu", "mu_plane")}
    try:
        end = evolve(
            **REPAIRED, omega0=spins, v0=v, law="C2", rule=rule, seed=seed, **static
        ).steady
    except RunError:
        return None
    return end.modes


def _static_friction(outcome: Outcome, seeds: range) -> None:
    """Static friction above dynamic friction: what becomes of mode 2."""
    rules: tuple[Rule, ...] = ("stick", "random")
    jobs = [partial(_settled, seed, rule) for rule in rules for seed in seeds]
    made = pmap(call, jobs)
    rows = [
        {"rule": job.args[1], "seed": job.args[0], **dict(zip(("L_1", "L_2", "L_3"), modes))}
        for job, modes in zip(jobs, made) if modes is not None
    ]  # fmt: skip
    outcome.tables["static"] = columns(rows)
    for rule in rules:
        second = np.array([r["L_2"] for r in rows if r["rule"] == rule])
        gone, error = share(second == 0)
        mean, mean_error = mean_and_error(second)
        outcome.claims += [
            Claim(
                f'(A), C2, α = {ALPHA:g}, rule "{rule}": mean L_2 from random starts',
                mean, max(mean_error, 1.0 / second.size), second.size,
                note="19 under C1; the error is no less than that of one disk in one start",
            ),
            Claim(
                f'(A), C2, α = {ALPHA:g}, rule "{rule}": share of starts that end without mode 2',
                gone, error, second.size,
                paper=Expected(
                    1.0 / second.size, 0.0, "at least one start",
                    "mode 2 may disappear completely for sufficiently large α", "at least",
                ),
                differs=STEPWISE if rule == "random" else "",
            ),
        ]  # fmt: skip


STEPWISE = (
    "trial and error from random states, anew at each event, lets go of contacts that static"
    " friction could hold, so that the array ends as under C1; the paper does not say how it picks"
    " one of several solutions, and its statement needs a rule that holds what can be held"
)

EXPERIMENT = Experiment("modes", "Figs 5 to 7: three collective modes", run)
