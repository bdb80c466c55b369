"""Figs 8 and 9: global friction, effective inertia and effective friction, for all drives at once.

Between two changes of contact states everything is linear in the driving force, so the curves of
the paper are exact polygons and staircases. 30 disks, N_0 = 0.01, µ = 0.04, µ' = 0.1, µ'' = 0.001.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, Floats
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.inertia_case import FIG9, HIGH, modes_of
from hardgrain.papers.radjai1997.inertia_figures import fig8, fig9
from hardgrain.papers.radjai1997.spikes import (
    figure_spikes,
    find_spikes,
    judge_blocks,
    judge_spikes,
)
from hardgrain.theory import array as theory

__all__ = ["EXPERIMENT"]


def run(quick: bool) -> Outcome:
    """All pieces, what changes between them, the spikes, and the formulas (7) to (10)."""
    outcome = Outcome(text=_TEXT)
    lines = pieces(low=0.0, high=HIGH, **FIG9)
    modes = modes_of(lines, FIG9)
    outcome.tables["pieces"] = {
        "drive": lines.drive[:-1], "drive_end": lines.drive[1:],
        "acceleration": lines.acceleration[:-1], "acceleration_end": lines.acceleration[1:],
        "friction": lines.friction[:-1], "friction_end": lines.friction[1:],
        "m_e": lines.inertia, "mu_e": lines.effective_friction, "unique": lines.determinate,
        "L_1": modes[:, 0], "L_2": modes[:, 1], "L_3": modes[:, 2],
    }  # fmt: skip
    _ends(outcome, lines, modes)
    _changes(outcome, lines)
    _forms(outcome, lines, modes)
    spikes = judge_spikes(outcome, lines, modes)
    judge_blocks(outcome, (0.0, 0.0005, 0.001) if quick else (0.0, 0.00025, 0.0005, 0.001, 0.002))
    outcome.figures["fig8"] = fig8(lines)
    outcome.figures["fig9"] = fig9(lines, modes, outcome.tables["changes"])
    outcome.figures["spikes"] = figure_spikes(spikes)
    return outcome


_TEXT = (
    "Global friction against driving force is a polygon, effective inertia and effective friction"
    " are staircases, all exact. At first all disks roll; then one after the other begins to slide"
    " on the plane, and each takes a step down in m_e and up in µ_e. The first is not disk L, as"
    " the paper says, but its neighbour: the driving block holds disk L by µ'' N_L only, so that it"
    " rolls on until much later.\n\n"
    "Not every change is a step. Where mode 3 takes a disk from mode 2, a contact between disks"
    " begins to stick and neither m_e nor µ_e change: the plane's friction on both modes,"
    " µ' Σ(1 + T_i − T_{i−1}), telescopes, and only the ends of the two modes together count.\n\n"
    "A spike is where disk L sticks to the block, while T_L goes from ∓µ'' N_L to ±µ'' N_L. Height"
    " in m_e times width in v̇ is therefore 2 µ' µ'' N_L. The width grows about linearly with the"
    " drive, as the paper says, and so the height in m_e cannot: it stays about the same. The"
    " height in µ_e is v̇/L times that in m_e, and does grow.\n\n"
    "Just above the drive at which rolling ends is a narrow window in which disks L − 2, L − 1 and"
    " L and the plane stick to each other in a loop, and C1 leaves v̇ open, by less than 0.05 %; the"
    " pieces there are one of the possible paths."
)


# ---------------------------------------------------------------------- ends of the curves
def _ends(outcome: Outcome, lines: Pieces, modes: NDArray[np.int_]) -> None:
    n, brake, mu = FIG9["particles"], FIG9["brake"], FIG9["mu"]
    mu_plane, mu_block = FIG9["mu_plane"], FIG9["mu_block"]
    m, mu_e = theory.rolling_array(n, brake, mu, mu_block)
    last, mu_last = theory.moving_array(rolling=0, **FIG9)
    first = int(np.flatnonzero(lines.states[1] != lines.states[0])[0])
    printed = theory.rolling_inertia(n, mu), theory.rolling_friction(n, brake, mu)
    leaves = int(np.flatnonzero(lines.states[:, -2] != STICKS)[0])
    far = pieces(low=HIGH, high=10.0 * HIGH, **FIG9)
    far_modes = modes_of(far, FIG9)
    late = find_spikes(far, far_modes, FIG9).drive.size
    rubs = (1.0 + 1e-9) * mu_plane * mu_block / (1.0 - mu_plane * mu_block)
    # dµ_g/dv̇ = m_e/L − 1
    falls = int((lines.inertia < n).sum())
    share = np.diff(lines.acceleration)[lines.inertia < n].sum() / lines.acceleration[-1]
    outcome.claims += [
        Claim(
            "N_L at which the array begins to move [weight of a disk]", float(lines.drive[0]),
            theory=Expected.exact(theory.least_drive(n, brake, mu, mu_block), "all disks roll"),
        ),
        Claim(
            "m_e while all disks roll [mass of a disk]", float(lines.inertia[0]),
            paper=Expected.exact(printed[0], "(7)"),
            theory=Expected.exact(m, "with the blocks' µ''"),
            differs="(7) is for a driving block as rough as the disks, µ'' = µ; the block of Fig. 9"
            " has µ'' = µ/40 and brakes the last disk less",
        ),
        Claim(
            "m_e while all disks roll over the total mass", float(lines.inertia[0]) / n,
            paper=Expected.within(6.0, 0.02, "what can be read off Fig. 9", "almost six times"),
            note="a little more than six; this fixes the moment of inertia, I = 1/2",
        ),
        Claim(
            "µ_e while all disks roll", float(lines.effective_friction[0]),
            paper=Expected.exact(printed[1], "(8)"),
            theory=Expected.exact(mu_e, "with the blocks' µ''"),
            differs="(8) is for blocks as rough as the disks, µ'' = µ: one factor λ too many",
        ),
        Claim(
            "v̇ up to which all disks roll", float(lines.acceleration[1]),
            theory=Expected.exact(theory.rolling_end(**FIG9), "the first η = 1"),
        ),
        Claim(
            "the first disk to leave mode 1", first // 2 + 1,
            paper=Expected.exact(n, "the particle i = L enters mode 2"),
            theory=Expected.exact(_first_to_slide(mu_block), "the first η = 1"),
            differs="the block, with µ'' < µ, hinders disk L less than a neighbour would; with"
            f" µ'' = µ it is disk {_first_to_slide(mu)}",
        ),
        Claim(
            "N_L at which disk L stops rolling [weight of a disk]", float(lines.drive[leaves]),
            note=f"by then L_1 = {modes[leaves, 0]}",
        ),
        Claim(
            "m_e of fast driving [mass of a disk]", float(lines.inertia[-1]),
            paper=Expected.within(n, rubs, _ASIDE.format("µ'µ''"), "m_e = m_g"),
            theory=Expected.exact(last, "L/(1 − µ'µ'')"),
        ),
        Claim(
            "µ_e of fast driving", float(lines.effective_friction[-1]),
            paper=Expected.within(mu_plane, rubs, _ASIDE.format("µ'µ''"), "µ_e = µ_g ≈ µ'"),
            theory=Expected.exact(mu_last, "µ'/(1 − µ'µ'')"),
        ),
        Claim(
            "N_L from which on all disks are in mode 3 [weight of a disk]",
            float(far.drive[-1 - int((far_modes[::-1, 2] < n).argmax())]),
            paper="at high enough v̇ all are, and states change no more",
            note=f"between N_L = {HIGH:g} and there {late} more spikes; in between m_e is"
            " L/(1 ∓ µ'µ'') by turns, since only mode 1 makes it differ",
        ),
        Claim(
            f"µ_g at N_L = {HIGH:g}", float(lines.friction[-1]),
            paper=Expected.within(
                mu_plane, (1.0 + 1e-9) * mu_block * HIGH / n, _ASIDE.format("µ''N_L/L"),
                "saturates at µ' = 0.1",
            ),
            theory=Expected.exact(
                mu_plane * (1.0 + mu_block * (HIGH - brake) / n),
                "µ' (1 + µ''(N_L − N_0)/L): the block's friction presses disk L down",
            ),
        ),
        Claim(
            "pieces in which µ_g falls while the drive grows", falls,
            paper=Expected.exact(0.0, "an increasing function of the driving force"),
            differs=f"m_e < L there, at {100 * share:.0f} % of all v̇: two are spikes, one has the"
            " block lift disk L; too little to be seen in Fig. 8",
        ),
    ]  # fmt: skip


_ASIDE = "the share {}: the friction of the blocks, which the paper leaves aside here"


def _first_to_slide(mu_block: float) -> int:
    case = FIG9 | {"mu_block": mu_block}
    eta = theory.rolling_mobilisation(acceleration=theory.rolling_end(**case), **case)
    return int(eta.argmax()) + 1


# ---------------------------------------------------------------------- changes of state
def _changes(outcome: Outcome, lines: Pieces) -> None:
    """Which contact changes between two pieces, and whether that is a step."""
    names: list[str] = []
    kinds: list[str] = []
    naming = Array(FIG9["particles"], HIGH, FIG9["brake"])
    for k in range(1, lines.inertia.size):
        which = np.flatnonzero(lines.states[k] != lines.states[k - 1])
        if not (lines.determinate[k] and lines.determinate[k - 1]):
            kinds.append("window")
        elif which[0] == naming.contacts - 1:
            kinds.append("block")
        else:
            kinds.append("plane" if which[0] % 2 else "disks")
        names.append("; ".join(naming.name(int(c)) for c in which))
    kind = np.array(kinds)
    step = np.diff(lines.inertia)
    is_step = np.abs(step) > 1e-9
    wide = np.diff(lines.drive)
    narrow = int(np.where(lines.determinate, wide, np.inf).argmin())
    inside = np.flatnonzero(~lines.determinate)
    window = lines.drive[inside[0]], lines.drive[inside[-1] + 1]
    found = steady_state(drive=float(np.mean(window)), **FIG9)
    low, high = found.acceleration_range
    outcome.claims += [
        Claim(
            f"pieces up to N_L = {HIGH:g} that a scan of N_L in steps of 0.001 cannot miss",
            int((wide > 1e-3).sum()),
            theory=Expected.exact(80, "an independent program"),
            note=f"it misses those of no width, in the window where v̇ is not unique, and that at"
            f" N_L = {lines.drive[narrow]:.6f}, {wide[narrow]:.2g} wide: a step within a spike",
        ),
        Claim(
            "changes at the plane that are no step in m_e",
            int(((kind == "plane") & ~is_step).sum()),
            paper=Expected.exact(0.0, "each changing of a contact state gives rise to a step"),
            note=f"of {int((kind == 'plane').sum())}",
        ),
        Claim(
            "changes between two disks that are no step in m_e",
            int(((kind == "disks") & ~is_step).sum()),
            paper=Expected.exact(0.0, "each changing of a contact state gives rise to a step"),
            theory=Expected.exact((kind == "disks").sum(), "none of them is"),
            differs="friction on modes 2 and 3 telescopes, so that where one becomes the other does"
            " not matter: m_e and µ_e stay exactly what they were",
        ),
        Claim(
            "the window where v̇ is not unique: its width in N_L [weight of a disk]",
            float(window[1] - window[0]),
            paper=Expected.exact(0.0, "simulations have always given a unique solution"),
            differs="Appendix A finds one of the solutions; the window is too narrow to be noticed:"
            f" N_L = {window[0]:.6g} to {window[1]:.6g}; in the middle v̇ may be {low:.7g} to"
            f" {high:.7g}",
        ),
    ]  # fmt: skip
    outcome.tables["changes"] = {
        "drive": lines.drive[1:-1], "acceleration": lines.acceleration[1:-1], "kind": kinds,
        "contact": names, "step_m_e": step, "step_mu_e": np.diff(lines.effective_friction),
    }  # fmt: skip


# ---------------------------------------------------------------------- (7) to (10)
def _forms(outcome: Outcome, lines: Pieces, modes: NDArray[np.int_]) -> None:
    """Each piece by two steady states on it, and each mode's share of it, against closed forms."""
    n, brake, mu, mu_plane, mu_block = FIG9.values()
    columns = ("drive", "L_1", "L_2", "L_3", "m_1", "m_2", "m_3", "F_1", "F_2", "F_3")
    unique = np.flatnonzero(lines.determinate)
    rows, distance = [], []
    for k in unique:
        ends = lines.drive[k] + np.array([0.1, 0.9]) * (lines.drive[k + 1] - lines.drive[k])
        low, high = (steady_state(drive=float(d), **FIG9) for d in ends)
        rolling, sliding, _ = low.modes
        at = [0, rolling, rolling + sliding, n]
        rise = high.acceleration - low.acceleration
        inertia = np.diff((high.normal - low.normal)[at]) / rise  # inertia of each mode, by (6)
        force = np.diff(low.normal[at]) - inertia * low.acceleration
        distance += [inertia.sum() / lines.inertia[k] - 1.0,
                     force.sum() / n / lines.effective_friction[k] - 1.0]  # fmt: skip
        rows.append((ends.mean(), *low.modes, *inertia, *force))
    t = dict(zip(columns, np.array(rows).T))
    outcome.tables["modes"] = dict(t)
    closed = np.array([_closed(lines, int(k), int(modes[k, 0]), int(modes[k, 1])) for k in unique])
    exact = np.stack([lines.inertia, lines.effective_friction], axis=1)[unique]

    # mode 1 with others behind it; mode 2 with disks on either side; mode 3 up to a sliding disk L
    one = (t["L_1"] > 0) & (t["L_1"] < n)
    first = t["L_1"][one]
    by_7 = np.array([theory.rolling_inertia(k, mu) for k in first])
    by_8 = first * [theory.rolling_friction(k, brake, mu) for k in first]
    force_1 = brake * (theory.growth(mu) ** (first - 1.0) * (1.0 + mu_block) / (1.0 - mu) - 1.0)
    two = (t["L_2"] > 0) & (t["L_1"] > 0) & (t["L_3"] > 0)
    by_9 = np.array([theory.sliding_inertia(k, mu, mu_plane) for k in t["L_2"][two]])
    by_10 = t["L_2"][two] * theory.sliding_friction(mu, mu_plane)
    three = (lines.states[unique, -2] != STICKS) & (t["L_3"] > 1)
    inertia_3 = t["m_3"][three] / t["L_3"][three]
    friction_3 = t["F_3"][three] / t["L_3"][three] / mu_plane

    def far(measured: Floats, expected: Floats) -> float:
        return float(np.abs(measured / expected - 1.0).max())

    fine, why = 1e-8, "differences of two solutions, each to rounding, over a short piece"
    outcome.claims += [
        Claim(
            "m_e and µ_e by differences of two steady states on each piece: greatest distance, as"
            " a share", float(np.abs(distance).max()),
            theory=Expected(0.0, fine, why, "the pieces"),
        ),
        Claim(
            "m_e and µ_e of all pieces where v̇ is unique: greatest distance from closed forms, as"
            " a share", far(exact, closed),
            theory=Expected(
                0.0, 1e-11, "rounding", "mode 1 and what is behind it, disk L sliding either way,"
                " sticking (spikes) or rolling",
            ),
        ),
        Claim(
            "(7) for the share of mode 1 in m_e: greatest distance, as a share",
            far(t["m_1"][one], by_7),
            paper=Expected(0.0, fine, why, "(7)"),
            theory=Expected(0.0, fine, why, "exact with disks behind it, whatever µ''"),
        ),
        Claim(
            "exact form of (8) for the share of mode 1 in F_e: greatest distance, as a share",
            far(t["F_1"][one], force_1),
            theory=Expected(0.0, fine, why, "N_0 (λ^(L_1−1) (1 + µ'')/(1 − µ) − 1)"),
        ),
        Claim(
            "share of mode 1 in F_e over (8), mean of all pieces",
            float((t["F_1"][one] / by_8).mean()),
            paper=Expected(1.0, fine, why, "(8)"),
            theory=Expected(float((force_1 / by_8).mean()), fine, why, "its exact form"),
            differs=f"{(t['F_1'][one] / by_8).min():.3f} for L_1 = 1 to"
            f" {(t['F_1'][one] / by_8).max():.3f}: (8) takes the blocks for disks, µ'' = µ",
        ),
        Claim(
            "(9) for the share of mode 2 in m_e: greatest distance, as a share",
            far(t["m_2"][two], by_9),
            paper=Expected(0.0, fine, why, "(9)"), theory=Expected(0.0, fine, why, "(9)"),
        ),
        Claim(
            "(10) for the share of mode 2 in F_e: greatest distance, as a share",
            far(t["F_2"][two], by_10),
            paper=Expected(0.0, fine, why, "(10)"), theory=Expected(0.0, fine, why, "(10)"),
        ),
        Claim(
            "mode 3: its share of m_e over its mass, mean of all pieces", float(inertia_3.mean()),
            paper="oscillates around the total mass",
            note=f"{inertia_3.min():.3f} to {inertia_3.max():.3f}, the extremes in spikes; exact:"
            " L_3 + µ' d(T_L − µ N)/dv̇, N where it begins",
        ),
        Claim(
            "mode 3: its share of F_e over µ' L_3, mean of all pieces", float(friction_3.mean()),
            paper="oscillates around µ'",
            note=f"{friction_3.min():.3f} to {friction_3.max():.3f}",
        ),
    ]  # fmt: skip


def _closed(lines: Pieces, k: int, rolling: int, sliding: int) -> tuple[float, float]:
    """The values of m_e and µ_e of a piece in closed form."""
    plane, block = lines.states[k, -2], int(lines.states[k, -1])
    if rolling == FIG9["particles"]:
        return theory.rolling_array(**{name: FIG9[name] for name in FIG9 if name != "mu_plane"})
    if plane == STICKS:
        return theory.rolling_last(rolling=rolling, **FIG9)
    if block == STICKS:
        return theory.spike(rolling=rolling, sliding=sliding, **FIG9)
    return theory.moving_array(rolling=rolling, block=block, **FIG9)


EXPERIMENT = Experiment("inertia", "Figs 8 and 9: effective inertia and friction", run)
