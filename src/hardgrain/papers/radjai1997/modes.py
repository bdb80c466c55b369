"""Figs 5 to 7: three collective modes. As printed the array rests; with a tenth of both µ it moves.

The caption has N_L = 1.4, N_0 = 0.01, µ = 0.06, µ' = 0.1 and µ'' = 0.001 for 80 disks. Repair (A)
is µ = 0.006 and µ' = 0.01, repair (B) N_L = 14.
"""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np
from scipy.sparse import diags_array

from hardgrain.errors import RunError
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.radjai1997.array import evolve, pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, Floats
from hardgrain.papers.radjai1997.exact.indeterminacy import Polytope, with_states
from hardgrain.papers.radjai1997.exact.law import Rule
from hardgrain.papers.radjai1997.exact.solution import Solution
from hardgrain.papers.radjai1997.starts import columns, share
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

PRINTED: dict[str, Any] = {
    "particles": 80, "drive": 1.4, "brake": 0.01, "mu": 0.06, "mu_plane": 0.1, "mu_block": 0.001,
}  # fmt: skip
ROUNDING = 1e-12
ALPHA = 3.0  # µ_s/µ_d of C2
REPAIRED = PRINTED | {"mu": 0.006, "mu_plane": 0.01}


def run(quick: bool) -> Outcome:
    """Why the printed array rests, the three modes of (A), and their lengths for all drives."""
    outcome = Outcome(text=_TEXT, seeds=range(3 if quick else 48))
    _printed(outcome, every=10 if quick else 1)
    found = steady_state(**REPAIRED)
    _three_modes(outcome, found, seeds=3 if quick else 20)
    _limits(outcome)
    _static_friction(outcome, range(3 if quick else 48))
    _lengths(outcome, (40, 60) if quick else (80, 120))
    outcome.figures["fig5"] = _fig5(found)
    outcome.figures["fig6"] = _fig6(found)
    outcome.figures["fig7"] = _fig7(found)
    outcome.figures["mobilisation"] = _mobilisation(found)
    outcome.figures["printed"] = _bands(outcome.tables["printed"])
    outcome.figures["lengths"] = _figure_lengths(outcome.tables["lengths"])
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


# ---------------------------------------------------------------------- as printed
def _constant_speed(array: Array, mu: Floats, slip: Floats) -> Polytope:
    """All forces at constant velocities with these slips (2 L + 1,); the drive is free."""
    keep = np.delete(np.arange(array.size), [*array.line, array.at_drive])
    limit = mu * array.normal_0
    pressed = diags_array(mu) @ array.normal
    up, down = array.tangential - pressed, array.tangential + pressed
    return Polytope([
        (array.dynamics[keep], array.right[keep], array.right[keep]),
        (array.unknown(np.append(array.at_v[:1], array.at_omega)), 0.0, 0.0),
        (array.normal, -array.normal_0, np.inf),
        (up, -np.inf, limit), (down, -limit, np.inf),
        (up[slip > 0], limit[slip > 0], np.inf), (down[slip < 0], -np.inf, -limit[slip < 0]),
    ])  # fmt: skip


def _drives(array: Array, mu: Floats, slip: Floats) -> Floats:
    """The least and the greatest N_L that these slips allow; NaN if there is none."""
    try:
        ends: Floats = _constant_speed(array, mu, slip).extremes(array.normal[[-1]])[0]
    except RunError:  # no forces solve it at all
        return np.full(2, np.nan)
    return ends


def _band(rows: Any, found: Solution) -> Floats:
    given = with_states(found.array, found.states, found.slide, found.stick, found.given)
    return given.extremes(rows)


def _printed(outcome: Outcome, every: int) -> None:
    case = PRINTED
    found = steady_state(**case)
    a, mu = found.array, found.slide
    n = a.particles
    pushed = evolve(**case, omega0=np.ones(n), v0=1.0)
    rest = _drives(a, mu, np.zeros(a.contacts))
    # moving at v = 1 behind k rolling disks: as in mode 3, but as fast as they can
    longest = int(theory.rolling_length(0.0, *(case[k] for k in _COEFFICIENTS)))
    moving = []
    for k in range(longest - 3, longest + 4):
        omega = np.where((np.arange(n) < k) | ((np.arange(n) - k) % 2 == 1), 1.0, -1.0)
        moving.append(_drives(a, mu, a.slips(omega, 1.0)))
    least = float(np.nanmin(moving))
    just = steady_state(**case | {"drive": rest[1] + 1e-3})
    outcome.claims += [
        Claim(
            "as printed: v̇ of the array from rest", found.acceleration,
            paper=Expected(1e-6, 0.0, "any that Fig. 5 could show", "v̇ > 0 in Fig. 5", "at least"),
            theory=Expected(0.0, ROUNDING, "rounding", "rest is possible up to N_L = 5.10"),
            differs="a misprint of the caption: 1.4 is less than what the plane can hold. Repair"
            " (A) moves and shows the modes that the prose describes",
        ),
        Claim(
            "as printed: velocity in the end, rolling with v = 1 at first",
            float(pushed.velocity[-1]),
            theory=Expected(0.0, 1e-9, "rounding of many events", "the plane holds it"),
            note=f"it comes to rest at t = {pushed.time[-1]:.4g}",
        ),
        Claim(
            "greatest N_L at which it can rest, by linear programming [weight of a disk]",
            float(rest[1]),
            paper=Expected(case["drive"], 0.0, "exact", "with N_L = 1.4 it moves", "at most"),
            differs="a misprint of the caption",
        ),
        Claim(
            "least N_L found at which it can go on at constant speed [weight of a disk]", least,
            paper=Expected(case["drive"], 0.0, "exact", "with N_L = 1.4 it moves", "at most"),
            differs="a misprint of the caption",
            note="disks behind the rolling ones turn with ±v by turns; by linear programming for"
            f" {longest - 3} to {longest + 3} rolling disks; not proved to be the least of all",
        ),
        Claim(
            f"L_2 at N_L = {just.array.drive:.4g}, just above", just.modes[1],
            paper=Expected.exact(0.0, "mode 2 disappears as v̇ → 0"),
            note=f"modes {just.modes}, v̇ from {just.acceleration_range[0]:.2g} to"
            f" {just.acceleration_range[1]:.2g}; static L_1^c by closed form: {longest}",
        ),
    ]  # fmt: skip
    i = np.arange(0, n + 1, every)
    plane = i[1:] - 1
    maps = (a.normal[0::2][i], a.tangential[0::2][i], a.normal[1::2][plane],
            a.tangential[1::2][plane])  # fmt: skip
    bands = pmap(partial(_band, found=found), maps)
    bands[0] += a.normal_0[0::2][i][:, None]
    bands[2] += a.normal_0[1::2][plane][:, None]
    bands[2:] = [np.vstack([np.full((1, 2), np.nan), band]) for band in bands[2:]]
    table: dict[str, Any] = {"i": i}
    table |= {
        f"{name}_{end}": band[:, k]
        for name, band in zip(("N", "T", "N_plane", "T_plane"), bands)
        for k, end in enumerate(("least", "greatest"))
    }
    outcome.tables["printed"] = table
    outcome.claims.append(
        Claim(
            f"at rest: how wide a range is possible for N_{n // 2} [weight of a disk]",
            float(np.ptp(bands[0][i == n // 2])),
            note="forces at rest are not unique, and may exceed the driving force",
        )
    )


_COEFFICIENTS = ("brake", "mu", "mu_plane", "mu_block")


# ---------------------------------------------------------------------- three modes
def _three_modes(outcome: Outcome, found: Solution, seeds: int) -> None:
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
    eta = _eta_plane(found)
    rolls = theory.rolling_mobilisation(n, v, **{k: REPAIRED[k] for k in _COEFFICIENTS})
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
            theory.rolling_length(v, *(REPAIRED[k] for k in _COEFFICIENTS)),
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


def _eta_plane(found: Solution) -> Floats:
    eta: Floats = found.tangential_plane / (found.slide[1::2] * found.normal_plane)
    return eta


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


# ---------------------------------------------------------------------- lengths
def _sized(particles: int) -> dict[str, Floats]:
    """Modes in the middle of each piece between changes of state, up to a high drive."""
    case = {k: REPAIRED[k] for k in _COEFFICIENTS}
    lines = pieces(particles, **case, low=0.0, high=0.05 * particles)
    wide = np.diff(lines.drive) > 1e-9
    middle = (0.5 * (lines.drive[1:] + lines.drive[:-1]))[wide]
    found = [steady_state(particles, drive=float(d), **case) for d in middle]
    between = 0.5 * (lines.acceleration[1:] + lines.acceleration[:-1])[wide]
    v = np.array([s.acceleration for s in found])
    turns = [s.angular_acceleration[sum(s.modes[:2])] if s.modes[2] > 1 else np.nan for s in found]
    return {
        "particles": np.full(v.size, particles),
        "begin": lines.acceleration[:-1][wide],
        "end": lines.acceleration[1:][wide],
        **{f"L_{k + 1}": np.array([s.modes[k] for s in found]) for k in range(3)},
        "rolling_length": np.array([theory.rolling_length(x, **case) for x in v]),
        "sliding_length": np.array(
            [theory.sliding_length(x, case["mu"], case["mu_plane"]) for x in v]
        ),
        "first_of_mode_3": np.array(turns),
        "distance": np.abs(v - between),
    }


def _lengths(outcome: Outcome, sizes: tuple[int, int]) -> None:
    made = pmap(_sized, sizes)
    every = {name: np.concatenate([t[name] for t in made]) for name in made[0]}
    outcome.tables["lengths"] = dict(every)
    rises = sum(int((np.diff(t["L_1"]) > 0).sum()) for t in made)
    both = sum(int((np.diff(t["L_1"] + t["L_2"]) > 0).sum()) for t in made)
    t = made[1]
    mode_3, mode_1 = t["L_3"] > 0, t["L_1"] > 0
    second = t["L_2"][mode_3 & mode_1]
    below = (np.maximum.accumulate(second) - second).max()
    three = (every["L_1"] > 0) & (every["L_3"] > 0)
    most = int(t["L_2"][mode_3].argmax())
    # both sizes at the same v̇
    v = np.linspace(0.0, min(float(t["end"][-1]) for t in made), 20_001)[1:]
    at = [np.searchsorted(t["end"], v).clip(max=t["end"].size - 1) for t in made]
    one, two = ({k: t[k][i] for k in ("L_1", "L_2", "L_3")} for t, i in zip(made, at))
    common = (one["L_3"] > 1) & (two["L_3"] > 1)
    differ = np.abs(one["L_2"] - two["L_2"])[common]
    turns = every["first_of_mode_3"][np.isfinite(every["first_of_mode_3"])]
    names = f"{sizes[0]} and {sizes[1]} disks"
    outcome.claims += [
        Claim(
            f"all drives, {names}: greatest distance of v̇ in the middle of each piece"
            " from the straight line", float(every["distance"].max()),
            theory=Expected(0.0, ROUNDING, "rounding", "all is linear between changes of state"),
        ),
        Claim(
            f"all drives, {names}: pieces in which L_1 is not as by closed form",
            int((every["L_1"] != np.minimum(every["rolling_length"], every["particles"])).sum()),
            theory=Expected.exact(0.0, "η of a rolling disk reaches 1"),
        ),
        Claim("how often L_1 rises with v̇", rises,
              paper=Expected.exact(0.0, "L_1 decreases with v̇")),
        Claim("how often L_1 + L_2 rises with v̇", both,
              paper=Expected.exact(0.0, "L_1 + L_2 decreases with v̇")),
        Claim(
            "while there are modes 1 and 3: greatest distance of L_2 from I v̇/2µs [disks]",
            float(np.abs(every["L_2"] - every["sliding_length"])[three].max()),
            theory=Expected(0.0, 2.0, "modes are whole disks, and mode 3 takes two at a time"),
        ),
        Claim(
            f"{sizes[1]} disks, while there are modes 1 and 3: how far L_2 falls as v̇ grows,"
            " at most [disks]", int(below),
            paper=Expected.exact(0.0, "L_2 increases with v̇"),
            differs="on the whole it grows, but mode 3 takes two disks in a row before mode 1"
            " gives as many",
        ),
        Claim(
            f"{sizes[1]} disks: L_2 at v̇ = {t['end'][-1]:.3g} less its greatest [disks]",
            int(t["L_2"][-1] - t["L_2"][mode_3].max()),
            paper=Expected.exact(0.0, "L_2 increases with v̇"),
            differs=f"it does up to v̇ = {t['begin'][mode_3][most]:.3g}, as long as there is a mode"
            " 1 to take disks from; without mode 1 it falls",
        ),
        Claim(
            f"share of v̇ at which L_1 of {names} differs", float(
                (one["L_1"] != two["L_1"])[common].mean()),
            paper=Expected.exact(0.0, "does not depend on the system size"),
        ),
        Claim(
            f"greatest difference of L_2 of {names} at the same v̇ [disks]", int(differ.max()),
            paper=Expected.exact(0.0, "does not depend on the system size"),
            theory=Expected(1.0, 0.0, "exact", "one disk, if any", "at most"),
            differs=f"they differ at {100 * (differ > 0).mean():.1f} % of all v̇: mode 3 hands the"
            " block's friction on to where it begins, less by λ' for every disk",
        ),
        Claim(
            f"all drives, {names}: share of pieces in which the first disk of mode 3 turns"
            " backward", float((turns < 0).mean()),
            paper=Expected.exact(1.0, "ω̇ changes sign for the first particle in mode 3"),
            differs="else the second is the first to turn backward",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- figures
_SHADES = ("#dbe9f6", "#fbe3d6", "#dcefe6")


def _shade(axes: Any, modes: tuple[int, int, int], label: bool = True) -> None:
    edge = 0.5
    for k, count in enumerate(modes):
        axes.axvspan(edge, edge + count, color=_SHADES[k], lw=0, zorder=0)
        if label:
            axes.annotate(f"mode {k + 1}", (edge + 0.5 * count, 1.0), (0, 3),
                          xycoords=("data", "axes fraction"), textcoords="offset points",
                          ha="center", fontsize=8, color=GREY)  # fmt: skip
        edge += count
    axes.set_xlim(-1, sum(modes) + 1)


def _fig5(found: Solution) -> Any:
    figure, axes = new_figure(1, 1, width=6.0)
    v, omega = found.acceleration, found.angular_acceleration
    _shade(axes, found.modes)
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.plot(np.arange(omega.size + 1), [v, *omega], "o", ms=3, color=COLOURS[1])
    first, second, _ = found.modes
    mu, mu_plane = REPAIRED["mu"], REPAIRED["mu_plane"]
    step = theory.sliding_friction(mu, mu_plane) + theory.sliding_inertia(1, mu, mu_plane) * v
    i = np.arange(first + 1, first + second + 1)
    fall = 2.0 * mu * step / found.array.inertia
    axes.plot([0, first], [v, v], color=COLOURS[2], lw=1)
    axes.plot(i, omega[first] - fall * (i - i[0]), color=COLOURS[2], lw=1, label="closed forms")
    axes.annotate("ω̇(0) = v̇", (0, v), (6, -12), textcoords="offset points", fontsize=8)
    axes.set(xlabel="disk i (0: the array)", ylabel="angular acceleration ω̇ [g/r]")
    axes.legend(loc="upper right")
    return figure


def _fig6(found: Solution) -> Any:
    figure, (left, right) = new_figure(1, 2)
    n = found.array.particles
    for axes in (left, right):
        _shade(axes, found.modes)
    left.plot(np.arange(n + 1), found.normal, "o", ms=3, color=COLOURS[1])
    right.plot(np.arange(1, n + 1), found.normal_plane, "o", ms=3, color=COLOURS[1])
    left.set(xlabel="contact i", ylabel="N between disks [weight of a disk]")
    right.set(xlabel="disk i", ylabel="N' on the plane [weight of a disk]")
    return figure


def _fig7(found: Solution) -> Any:
    figure, (left, right) = new_figure(1, 2)
    n = found.array.particles
    for axes in (left, right):
        _shade(axes, found.modes)
    i, j = np.arange(n + 1), np.arange(1, n + 1)
    limit = found.slide[0::2] * found.normal
    left.plot(i, limit, color=COLOURS[2], lw=1, label="Coulomb's limit µN (blocks: µ''N)")
    left.plot(i, found.tangential, "o", ms=3, color=COLOURS[1], label="T")
    left.axhline(0.5 * REPAIRED["mu_plane"], color=GREY, lw=0.8, ls=":")
    left.annotate("µ'/2", (1, 0.5 * REPAIRED["mu_plane"]), (0, 3), textcoords="offset points",
                  fontsize=8, color=GREY)  # fmt: skip
    right.plot(j, found.slide[1::2] * found.normal_plane, color=COLOURS[2], lw=1,
               label="Coulomb's limit µ'N'")  # fmt: skip
    right.plot(j, found.tangential_plane, "o", ms=3, color=COLOURS[1], label="T'")
    left.set(xlabel="contact i", ylabel="T between disks [weight of a disk]")
    right.set(xlabel="disk i", ylabel="T' on the plane [weight of a disk]")
    left.legend(loc="upper left")
    right.legend(loc="lower right")
    return figure


def _mobilisation(found: Solution) -> Any:
    figure, axes = new_figure(1, 1, width=6.0)
    first = found.modes[0]
    _shade(axes, found.modes)
    n, v = found.array.particles, found.acceleration
    side = np.abs(found.tangential) / (found.slide[0::2] * found.normal)
    axes.plot(np.arange(n + 1), side, "s", ms=3, color=COLOURS[3], label="between disks, blocks")
    axes.plot(np.arange(1, n + 1), _eta_plane(found), "o", ms=3, color=COLOURS[1],
              label="on the plane")  # fmt: skip
    eta = theory.rolling_mobilisation(first + 2, v, **{k: REPAIRED[k] for k in _COEFFICIENTS})
    axes.plot(np.arange(1, first + 2), eta[:-1], color=COLOURS[2], lw=1, label="if all roll")
    axes.set(xlabel="disk or contact i", ylabel="mobilisation η = |T|/µN", yscale="log")
    axes.set_yticks([0.2, 0.3, 0.5, 1.0], ["0.2", "0.3", "0.5", "1"])
    axes.set_yticks([], minor=True)
    axes.legend(loc="lower left")
    return figure


def _bands(table: Any) -> Any:
    figure, panels = new_figure(2, 2, height=2.7)
    i = np.asarray(table["i"])
    labels = {"N": "N between disks", "N_plane": "N' on the plane", "T": "T between disks",
              "T_plane": "T' on the plane"}  # fmt: skip
    for axes, (name, label) in zip(panels.flat, labels.items()):
        axes.fill_between(i, table[f"{name}_least"], table[f"{name}_greatest"],
                          color=COLOURS[6], alpha=0.6, lw=0)  # fmt: skip
        axes.set(xlabel="disk i" if name.endswith("plane") else "contact i",
                 ylabel=f"{label} [weight]")  # fmt: skip
    panels[0, 0].axhline(PRINTED["drive"], color=GREY, lw=0.8, ls=":")
    panels[0, 0].annotate("N_L", (1, PRINTED["drive"]), (0, 3), textcoords="offset points",
                          fontsize=8, color=GREY)  # fmt: skip
    figure.suptitle("as printed, N_L = 1.4: at rest; forces that are possible", fontsize=10)
    return figure


def _figure_lengths(table: dict[str, Any]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    sizes = np.unique(table["particles"])
    for size, style in zip(sizes, (":", "-")):
        t = {name: column[table["particles"] == size] for name, column in table.items()}
        edges = np.append(t["begin"], t["end"][-1:])
        for axes, y, colour, what in (
            (left, t["L_1"], COLOURS[1], "$L_1$"),
            (left, t["L_1"] + t["L_2"], COLOURS[2], "$L_1 + L_2$"),
            (right, np.where(t["L_3"] > 0, t["L_2"], np.nan), COLOURS[3], "$L_2$"),
        ):
            axes.stairs(y, edges, baseline=None, color=colour, ls=style, lw=1.4,
                        label=f"{what}, {size} disks")  # fmt: skip
    v = np.geomspace(1e-4, 0.05, 400)
    case = {k: REPAIRED[k] for k in _COEFFICIENTS}
    rolling = np.array([theory.rolling_length(x, **case) for x in v])
    sliding = np.array([theory.sliding_length(x, case["mu"], case["mu_plane"]) for x in v])
    left.plot(v, rolling, color="k", lw=0.6, label="closed form of $L_1$")
    right.plot(v[rolling > 0], sliding[rolling > 0], color="k", lw=0.8,
               label="closed form, to two disks")  # fmt: skip
    left.set(ylabel="disks", ylim=(0, 1.6 * sizes[0]))
    right.set(ylabel="disks in mode 2")
    for axes in (left, right):
        axes.set(xlabel="acceleration v̇ [g]", xlim=(0.0, 0.042))
        axes.legend()
    return figure


EXPERIMENT = Experiment("modes", "Figs 5 to 7: three collective modes", run)
