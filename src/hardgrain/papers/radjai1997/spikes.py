"""Spikes of the effective inertia: drives at which the last disk sticks to the driving block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import power_law
from hardgrain.papers.radjai1997.array import pieces
from hardgrain.papers.radjai1997.exact.array import STICKS, Floats
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.inertia_case import FIG9, HIGH, modes_of
from hardgrain.theory import array as theory

__all__ = ["figure_spikes", "find_spikes", "judge_blocks", "judge_spikes"]


@dataclass(frozen=True)
class Spikes:
    """Stretches of the drive in which disk L sticks to the driving block (n,)."""

    drive: Floats  # N_L in the middle
    acceleration: Floats  # v̇ in the middle
    width: Floats  # width of each spike in v̇
    height: Floats  # height of m_e above its value for a block without friction
    area: Floats  # area of m_e over v̇
    turned: Floats  # whether disk L slides the other way behind the spike


def find_spikes(lines: Pieces, modes: NDArray[np.int_], case: dict[str, Any]) -> Spikes:
    """All spikes of a staircase; one may have a step within."""
    held = np.flatnonzero(lines.states[:, -1] == STICKS)
    # m_e for a block without friction
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


def judge_spikes(outcome: Outcome, lines: Pieces, modes: NDArray[np.int_]) -> Spikes:
    found = find_spikes(lines, modes, FIG9)
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


def judge_blocks(outcome: Outcome, coefficients: tuple[float, ...]) -> None:
    """Spikes against the friction of the blocks."""
    table: dict[str, list[float]] = {"mu_block": [], "spikes": [], "width": [], "height": []}
    for mu_block in coefficients:
        case = FIG9 | {"mu_block": mu_block}
        lines = pieces(low=0.0, high=HIGH, **case)
        found = find_spikes(lines, modes_of(lines, case), case)
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


def figure_spikes(found: Spikes) -> Any:
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
