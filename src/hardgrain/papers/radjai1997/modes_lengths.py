"""Over how many disks each of the three modes reaches."""

from __future__ import annotations

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import Floats
from hardgrain.papers.radjai1997.modes_case import (
    COEFFICIENTS,
    REPAIRED,
    ROUNDING,
)
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

__all__ = ["judge_lengths"]


def array_of_size(particles: int) -> dict[str, Floats]:
    """Modes in the middle of each piece between changes of state, up to a high drive."""
    case = {k: REPAIRED[k] for k in COEFFICIENTS}
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


def judge_lengths(outcome: Outcome, sizes: tuple[int, int]) -> None:
    made = pmap(array_of_size, sizes)
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
