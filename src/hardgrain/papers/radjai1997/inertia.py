"""Figs 8 and 9: global friction, effective inertia and effective friction, for all drives at once.

Between two changes of contact states everything is linear in the driving force, so the curves of
the paper are exact polygons and staircases. 30 disks, N_0 = 0.01, µ = 0.04, µ' = 0.1, µ'' = 0.001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import power_law
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS, Array, Floats
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.theory import array as theory

FIG9: dict[str, Any] = {
    "particles": 30, "brake": 0.01, "mu": 0.04, "mu_plane": 0.1, "mu_block": 0.001,
}  # fmt: skip
HIGH = 10.0  # N_L of the right end; no disk rolls there any more


def run(quick: bool) -> Outcome:
    """All pieces, what changes between them, the spikes, and the formulas (7) to (10)."""
    outcome = Outcome(text=_TEXT)
    lines = pieces(low=0.0, high=HIGH, **FIG9)
    modes = _modes(lines, FIG9)
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
    spikes = _spikes(outcome, lines, modes)
    _blocks(outcome, (0.0, 0.0005, 0.001) if quick else (0.0, 0.00025, 0.0005, 0.001, 0.002))
    outcome.figures["fig8"] = _fig8(lines)
    outcome.figures["fig9"] = _fig9(lines, modes, outcome.tables["changes"])
    outcome.figures["spikes"] = _figure_spikes(spikes)
    return outcome


def _modes(lines: Pieces, case: dict[str, Any]) -> NDArray[np.int_]:
    """L_1, L_2 and L_3 in the middle of each piece (n, 3)."""
    middle = 0.5 * (lines.drive[1:] + lines.drive[:-1])
    return np.array([steady_state(drive=float(d), **case).modes for d in middle])


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
    far_modes = _modes(far, FIG9)
    late = _find_spikes(far, far_modes, FIG9).drive.size
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


# ---------------------------------------------------------------------- spikes
@dataclass(frozen=True)
class Spikes:
    """Stretches of the drive in which disk L sticks to the driving block (n,)."""

    drive: Floats  # N_L in the middle
    acceleration: Floats  # v̇ in the middle
    width: Floats  # width of each spike in v̇
    height: Floats  # height of m_e above its value for a block without friction
    area: Floats  # area of m_e over v̇
    turned: Floats  # whether disk L slides the other way behind it


def _find_spikes(lines: Pieces, modes: NDArray[np.int_], case: dict[str, Any]) -> Spikes:
    """All spikes of a staircase; one may have a step within."""
    held = np.flatnonzero(lines.states[:, -1] == STICKS)
    # m_e as it would be with a block without friction
    level = np.array([
        theory.moving_array(rolling=int(modes[k, 0]), **case | {"mu_block": 0.0})[0] for k in held
    ])  # fmt: skip
    above, width = lines.inertia[held] - level, np.diff(lines.acceleration)[held]
    rows = []
    for each in np.split(np.arange(held.size), np.flatnonzero(np.diff(held) > 1) + 1):
        if each.size:
            begin, end = int(held[each[0]]), int(held[each[-1]]) + 1
            rows.append((
                0.5 * (lines.drive[begin] + lines.drive[end]),
                0.5 * (lines.acceleration[begin] + lines.acceleration[end]),
                width[each].sum(), above[each[width[each].argmax()]], above[each] @ width[each],
                lines.states[begin - 1, -1] == -lines.states[end, -1],
            ))  # fmt: skip
    return Spikes(*np.array(rows, dtype=float).reshape(-1, 6).T)


def _spikes(outcome: Outcome, lines: Pieces, modes: NDArray[np.int_]) -> Spikes:
    found = _find_spikes(lines, modes, FIG9)
    outcome.tables["spikes"] = dict(vars(found))
    size = np.abs(found.height)
    in_mu_e = size * found.acceleration / FIG9["particles"]
    fits = {
        name: power_law(x, y)
        for name, x, y in (
            ("width", found.drive, found.width),
            ("m_e", found.drive, size),
            ("mu_e", found.acceleration, in_mu_e),
        )
    }
    unit = 2.0 * FIG9["mu_plane"] * FIG9["mu_block"] * found.drive
    area = np.abs(found.area) / unit
    # From before a spike to behind it, without a step in between, the factor is 1/(1 ∓ µ'µ'').
    stair = lines.inertia
    held = np.flatnonzero((lines.states[:, -1] == STICKS)[:-1])
    single = [k for k in held if lines.states[k - 1, -1] and lines.states[k + 1, -1]]
    back = np.array([stair[k + 1] / stair[k - 1] for k in single])
    rubs, count = FIG9["mu_plane"] * FIG9["mu_block"], found.drive.size
    nearer = "nearer to linear than to constant or quadratic; spikes scatter about a power law"
    outcome.claims += [
        Claim(
            "spikes", found.drive.size, paper="every time mode 3 turns the other way",
            note=f"{int((found.height > 0).sum())} up and {int((found.height < 0).sum())} down in"
            " m_e, by turns",
        ),
        Claim(
            "spikes behind which disk L, and with it mode 3, does not turn the other way",
            int((found.turned == 0).sum()),
            paper=Expected.exact(0.0, "every time the direction is reversed"),
        ),
        Claim(
            "height in m_e times width in v̇ over 2 µ'µ'' N_L: greatest distance from 1",
            float(np.abs(area - 1.0).max()),
            theory=Expected(
                0.0, 1e-9, "rounding of differences", "T_L goes from one Coulomb limit to the other"
            ),
        ),
        Claim(
            "exponent of the spikes' width in v̇ against N_L", fits["width"].exponent,
            fits["width"].exponent_error, count,
            paper=Expected(1.0, 0.5, nearer, "increases linearly with the drive"),
        ),
        Claim(
            "exponent of the spikes' height in m_e against N_L", fits["m_e"].exponent,
            fits["m_e"].exponent_error, count,
            paper=Expected(1.0, 0.5, nearer, "increases linearly with the drive"),
            differs="cannot be, if the width does: their product is 2 µ'µ''N_L",
        ),
        Claim(
            "exponent of the spikes' height in µ_e against v̇", fits["mu_e"].exponent,
            fits["mu_e"].exponent_error, count,
            paper=Expected(1.0, 0.5, nearer, "increases linearly with the drive"),
            note="Δµ_e = −v̇ Δm_e/L",
        ),
        Claim(
            "m_e behind a spike over that before it: greatest distance from 1",
            float(np.abs(back - 1.0).max()),
            paper=Expected(0.0, 0.01, "would not show in Fig. 9", "almost to the same level"),
            theory=Expected(
                2.0 * rubs / (1.0 - rubs), 1e-11, "rounding of a ratio near 1",
                "2 µ'µ''/(1 − µ'µ'')",
            ),
        ),
    ]  # fmt: skip
    return found


def _blocks(outcome: Outcome, coefficients: tuple[float, ...]) -> None:
    """Spikes against the friction of the blocks."""
    table: dict[str, list[float]] = {"mu_block": [], "spikes": [], "width": [], "height": []}
    for mu_block in coefficients:
        case = FIG9 | {"mu_block": mu_block}
        lines = pieces(low=0.0, high=HIGH, **case)
        found = _find_spikes(lines, _modes(lines, case), case)
        last = found.width.size > 0
        for name, value in (
            ("mu_block", mu_block), ("spikes", found.width.size),
            # the last spike is there for every µ'', at about the same drive
            ("width", float(found.width[-1]) if last else 0.0),
            ("height", float(found.height[-1]) if last else 0.0),
        ):  # fmt: skip
            table[name].append(value)
    outcome.tables["blocks"] = dict(table)
    rough = np.array(table["mu_block"]) > 0.0
    mu, width, height = (np.array(table[k])[rough] for k in ("mu_block", "width", "height"))
    outcome.claims += [
        Claim("spikes at µ'' = 0", table["spikes"][0], paper=Expected.exact(0.0, "disappear")),
        Claim(
            f"exponent of the last spike's width against µ'', from {mu.min():g} to {mu.max():g}",
            power_law(mu, width).exponent,
            theory=Expected(1.0, float(mu.max()), "the next order in µ''", "in proportion to it"),
            note="its height in m_e does not depend on µ'':"
            f" {height.min():.4f} to {height.max():.4f}",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- figures
def _fig8(lines: Pieces) -> Any:
    figure, (left, right) = new_figure(1, 2, width_ratios=[1.4, 1.0])
    for axes in (left, right):
        axes.axhline(FIG9["mu_plane"], color=GREY, lw=0.8, ls=":")
        axes.plot([FIG9["brake"], lines.drive[0]], [0.0, lines.friction[0]], color=GREY, lw=1)
        axes.plot(lines.drive, lines.friction, color=COLOURS[1])
        axes.plot(lines.drive[1:-1], lines.friction[1:-1], ".", ms=3.5, color=COLOURS[0],
                  label="a contact changes its state")  # fmt: skip
        axes.set(xlabel="driving force $N_L$ [weight of a disk]")
    left.annotate("µ'", (0.2, FIG9["mu_plane"]), (0, 3), textcoords="offset points", color=GREY)
    left.set(ylabel="global friction $µ_g$", xlim=(0, HIGH), ylim=(0, 0.108))
    left.legend(loc="lower right")
    right.set(xlim=(6.5, HIGH), ylim=(0.0985, 0.10022), title="the end, enlarged")
    return figure


def _fig9(lines: Pieces, modes: NDArray[np.int_], changes: dict[str, Any]) -> Any:
    figure, panels = new_figure(2, 2, width_ratios=[1.4, 1.0], height=2.9)
    slides = lines.states[:, -2] != STICKS
    # the curve without spikes, for a block without friction
    smooth = np.full((slides.size, 2), np.nan)
    smooth[slides] = [
        theory.moving_array(rolling=int(k), **FIG9 | {"mu_block": 0.0}) for k in modes[slides, 0]
    ]
    for row, (values, label) in enumerate((
        (lines.effective_friction, "effective friction $µ_e$"),
        (lines.inertia, "effective inertia $m_e$ [mass of a disk]"),
    )):  # fmt: skip
        for axes in panels[row]:
            axes.stairs(values, lines.acceleration, baseline=None, color=COLOURS[1], lw=1.2)
            axes.stairs(smooth[:, 1 - row], lines.acceleration, baseline=None, color=COLOURS[2],
                        lw=1, ls="--", label="closed form for µ'' = 0")  # fmt: skip
            axes.set(xlabel="acceleration v̇ [g]")
        panels[row, 0].set(ylabel=label, xlim=(0.0, float(lines.acceleration[-1])))
        panels[row, 1].set(xlim=(0.046, 0.068))
    panels[0, 0].legend(loc="lower right")
    panels[1, 0].legend(loc="upper right")
    panels[1, 0].axhline(FIG9["particles"], color=GREY, lw=0.8, ls=":")
    panels[0, 0].axhline(FIG9["mu_plane"], color=GREY, lw=0.8, ls=":")
    panels[0, 1].set(ylim=(0.062, 0.092), title="enlarged: steps and spikes")
    panels[1, 1].set(ylim=(29.0, 47.0))
    v, kind = changes["acceleration"], np.array(changes["kind"])
    handles = []
    for what, marker, colour, label in (
        ("plane", "^", COLOURS[0], "change at the plane"),
        ("disks", "o", COLOURS[3], "between disks"),
        ("block", "s", COLOURS[4], "at the block"),
    ):
        x = v[kind == what]
        handles += panels[1, 1].plot(x, np.full(x.size, 29.8), marker, color=colour, label=label)
    panels[1, 1].legend(handles=handles, loc="upper right")
    return figure


def _figure_spikes(found: Spikes) -> Any:
    figure, (left, right) = new_figure(1, 2)
    left.plot(found.drive, found.width * 1e4, "o", color=COLOURS[1], label="width in v̇ [10⁻⁴ g]")
    left.plot(found.drive, np.abs(found.height), "s", color=COLOURS[2], label="height in $m_e$")
    left.set(xlabel="driving force $N_L$ [weight of a disk]", ylabel="spikes", ylim=(0, None))
    left.legend(loc="upper left")
    unit = 2.0 * FIG9["mu_plane"] * FIG9["mu_block"]
    x = np.array([0.0, found.drive.max()])
    right.plot(x, unit * x * 1e3, color=COLOURS[2], lw=1, label="2 µ'µ'' $N_L$")
    right.plot(found.drive, np.abs(found.area) * 1e3, "o", color=COLOURS[1],
               label="height in $m_e$ × width in v̇")  # fmt: skip
    right.set(xlabel="driving force $N_L$ [weight of a disk]", ylabel="area of a spike [10⁻³]",
              xlim=(0, None), ylim=(0, None))  # fmt: skip
    right.legend(loc="upper left")
    return figure


EXPERIMENT = Experiment("inertia", "Figs 8 and 9: effective inertia and friction", run)
