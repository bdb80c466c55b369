"""Fig. 11 as printed, and what other readings of its parameters give."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import bisect

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.indeterminate_case import FIG10, INERTIA, PRINTED, SIZE
from hardgrain.theory.array import rolling_length

__all__ = ["as_printed", "other_readings"]


def as_printed(outcome: Outcome, lines: Pieces) -> None:
    """Judge v̇ = 1.05 and the accelerations of Fig. 11."""
    none = FIG10[2] / INERTIA  # v̇ at which no disk rolls
    greatest = bisect(lambda v: rolling_length(v, *FIG10) - 0.5, 0.0, none, xtol=1e-14)
    rolls = int(np.flatnonzero(lines.states[:, 1] == STICKS)[-1])
    k = int(np.searchsorted(lines.acceleration, PRINTED))
    share = (PRINTED - lines.acceleration[k - 1]) / np.diff(lines.acceleration)[k - 1]
    drive = float(lines.drive[k - 1] + share * np.diff(lines.drive)[k - 1])
    literal, inside = steady_state(SIZE, drive, *FIG10), steady_state(SIZE, PRINTED, *FIG10)
    turns = [np.abs(s.angular_acceleration).max() / s.acceleration for s in (literal, inside)]
    off = np.abs(np.abs(inside.angular_acceleration) - inside.acceleration).max()
    outcome.claims += [
        Claim(
            "greatest v̇ at which disk 1 rolls on the plane",
            float(lines.acceleration[rolls + 1]),
            paper=Expected(PRINTED, 0.0, "exact", "mode 1 is there at v̇ = 1.05", "at least"),
            theory=Expected(greatest, 1e-12, "rounding", "L_1^c = 1"),
            differs="I v̇ = T' − T_i − T_i−1 ≤ µ' wherever neighbours brake, so that beyond"
            f" µ'/I = {none:g} nothing rolls: 1.05 cannot be v̇",
        ),
        Claim(
            f"v̇ = {PRINTED:g}, reached at N_L = {drive:.4f}: greatest |ω̇|/v̇ of a disk",
            float(turns[0]),
            paper=Expected(1.0, 0.01, "what Fig. 11 could not show", "1 in modes 1 and 3"),
            differs="taken literally all disks slide on the plane and roll on each other, slowly:"
            f" modes {literal.modes}",
        ),
        Claim(
            f"N_L = {PRINTED:g}, in the window: worst difference of |ω̇| of a disk from v̇",
            float(off),
            paper=Expected(
                0.0, 1e-9, "rates of slip below 10⁻⁹ count as none",
                "accelerations in mode 1 and mode 3 have the same absolute value",
            ),
            theory=Expected(0.0, 1e-9, "rates of slip below 10⁻⁹ count as none", "the loop rolls"),
            note="the paper's Fig. 11, if 1.05 is the driving force",
        ),
        Claim(
            f"N_L = {PRINTED:g}: contacts of disk 3 that do not slide",
            float((inside.states[4:7] == STICKS).sum()),
            paper=Expected.exact(3.0, "the three contacts of particle 3 are NS"),
            theory=Expected.exact(2.0, "plane, disk 3, disk 4, disk 5, plane stick in a loop"),
            differs="disks 2 and 3 both roll forward, so that they must slide on each other",
        ),
    ]  # fmt: skip


def other_readings(outcome: Outcome, lines: Pieces) -> None:
    """What 1.05 may mean, if it cannot be v̇ of the printed array: each reading tried.

    Fig. 11 has, by the text: some disks in mode 1 and some in mode 3; all with |ω̇| = v̇; the three
    contacts of disk 3 NS; forces that the laws leave open, so that CD and MD differ.
    """
    none = FIG10[2] / INERTIA
    rows: list[dict[str, Any]] = []
    for reading, name, value, case in (
        ("v̇, as printed", "v", PRINTED, FIG10),
        ("the driving force N_L", "drive", PRINTED, FIG10),
        ("N_L − N_0", "drive", PRINTED + FIG10[0], FIG10),
        ("10 v̇", "v", PRINTED / 10.0, FIG10),
        ("100 v̇", "v", PRINTED / 100.0, FIG10),
        ("L v̇", "v", PRINTED / SIZE, FIG10),
        ("v̇/µ'", "v", PRINTED * FIG10[2], FIG10),
        ("I v̇/µ'", "v", PRINTED * none, FIG10),
        ("v̇ with µ' = 0.6", "v", PRINTED, (FIG10[0], FIG10[1], 0.6, FIG10[3])),
        ("v̇ with µ = µ' = 0.6", "v", PRINTED, (FIG10[0], 0.6, 0.6, FIG10[3])),
        ("v̇ with µ' = 0.9", "v", PRINTED, (FIG10[0], FIG10[1], 0.9, FIG10[3])),
    ):
        drive = value if name == "drive" else _reached(case, value)
        found = steady_state(SIZE, drive, *case, keep_closed=True)
        v, turns = found.acceleration, np.abs(found.angular_acceleration)
        features = (
            found.modes[0] > 0 and found.modes[2] > 0,
            bool(np.abs(turns - v).max() < 1e-6 * v),
            int((found.states[4:7] == STICKS).sum()) == 3,
            not found.determinate,
        )
        rows.append(
            {
                "reading": reading,
                "mu": case[1],
                "mu_plane": case[2],
                "drive": drive,
                "acceleration": v,
                "both_modes": features[0],
                "same_speed": features[1],
                "three_NS": features[2],
                "open": features[3],
                "shown": sum(features),
            }
        )
    outcome.tables["readings"] = {k: [row[k] for row in rows] for k in rows[0]}
    shown = {str(row["reading"]): row["shown"] for row in rows}
    three = int((lines.states[:, 4:7] == STICKS).sum(axis=1).max())
    what = "both modes, all |ω̇| = v̇, three NS contacts of disk 3, forces left open"
    outcome.claims += [
        Claim(
            f"1.05 read as {reading}: features of Fig. 11 that are there, of 4",
            shown[reading],
            paper=Expected.exact(4.0, what),
            differs=why,
        )
        for reading, why in (
            ("v̇, as printed", "nothing rolls at such a v̇, and the forces are unique"),
            (
                "the driving force N_L",
                "all but the three NS contacts of disk 3, which no drive has:"
                " the most plausible reading. The window of open forces begins at N_L = 1.039, and"
                " the axis of Fig. 10 would be that of Fig. 8",
            ),
            ("10 v̇", "a lost decimal point leads to a state whose forces are unique"),
            ("I v̇/µ'", "v̇ in units of the greatest at which a disk can roll: again nothing rolls"),
            (
                "v̇ with µ' = 0.6",
                "a rougher plane could let disks roll at v̇ = 1.05, but none does",
            ),
        )
    ]
    outcome.claims += [
        Claim(
            "readings of 1.05, of 11, that show more of Fig. 11 than N_L does",
            sum(n > shown["the driving force N_L"] for n in shown.values()),
            theory=Expected.exact(0.0, "N_L is the most plausible one"),
        ),
        Claim(
            "printed coefficients: greatest number of NS contacts of disk 3, all drives",
            three,
            paper=Expected.exact(3.0, "the three contacts of particle 3 are NS"),
            differs="plane, disk 3 and a neighbour that both stick to it turn the neighbour"
            " backward; with both neighbours the disks 2 and 4 would have to turn backward, and"
            " disk 2 rolls at every drive at which disk 3 does",
        ),
    ]  # fmt: skip


def _reached(case: tuple[float, float, float, float], acceleration: float) -> float:
    """The driving force at which the exact path first reaches an acceleration."""
    path = pieces(SIZE, *case, 0.0, 3.0 * SIZE * (acceleration + case[2]) + 1.0)
    v = path.acceleration
    k = int(np.flatnonzero((v[1:] >= acceleration) & (v[:-1] < acceleration))[0])
    share = (acceleration - v[k]) / (v[k + 1] - v[k])
    return float(path.drive[k] + share * (path.drive[k + 1] - path.drive[k]))
