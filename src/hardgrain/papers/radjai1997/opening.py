"""The paper's N_c: the driving force above which a contact of the steady state opens.

Along the exact path over the driving force (`exact.drive`) forces are linear between
changes of state, and a normal force that reaches zero is such a change: N_c is where it does. For
driving so fast that all disks counter-rotate there is a closed form,
`hardgrain.theory.array.opening_drive`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.array import pieces
from hardgrain.papers.radjai1997.exact.array import HELD
from hardgrain.papers.radjai1997.scene import BLOCK_MASS, contact_dynamics, scene
from hardgrain.parallel import pmap
from hardgrain.theory import array as theory

Case = tuple[float, float, float, float]  # N_0, µ, µ', µ''
# The paper's arrays: number of disks, and the coefficients.
ARRAYS: dict[str, tuple[int, Case]] = {
    "Fig. 3": (10, (0.01, 0.1, 0.2, 0.001)),
    "Fig. 9": (30, (0.01, 0.04, 0.1, 0.001)),
    "Fig. 10": (5, (0.01, 0.3, 0.3, 0.01)),
}
NEAR = 0.01  # contact dynamics is tried so far below and above N_c, as a share of it
FAR = 1e5  # N_L up to which nothing opens where nothing should
EXACT = 1e-10  # relative rounding error along the drive


def run(quick: bool) -> Outcome:
    """N_c of the paper's arrays, exactly, in closed form and by contact dynamics."""
    outcome = Outcome(text=_TEXT)
    size, case = ARRAYS["Fig. 3"]
    brake, mu, mu_plane, mu_block = case
    many = 4 if quick else 16
    most = 12 if quick else 30
    rows = pmap(_opening, [
        *ARRAYS.values(),
        *((n, case) for n in range(2, most + 1)),
        *((size, (brake, mu, float(x), mu_block)) for x in np.linspace(0.1, 0.4, many)),
        *((size, (brake, mu, mu_plane, float(x))) for x in np.geomspace(0.0005, 0.01, many)),
    ])  # fmt: skip
    t = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    outcome.tables["opening"] = dict(t)
    for row, (name, (n, c)) in zip(rows, ARRAYS.items()):
        outcome.claims += _array(name, n, c, row)
    opens = np.isfinite(t["drive"])
    sizes = _scan(t, size, case, "particles")
    plane = t["drive"][_scan(t, size, case, "mu_plane")]
    other = _opening((size, (brake, 2.0 * mu, mu_plane, mu_block)))["drive"]
    outcome.claims += [
        Claim(
            f"arrays of 2 to {most} disks and others: worst relative difference of N_c on the exact"
            " path from the closed form",
            float(np.abs(t["drive"][opens] / t["closed_form"][opens] - 1.0).max()),
            theory=Expected(0.0, EXACT, "rounding of a walk along the drive", "mode 3 alone"),
        ),
        Claim(
            f"arrays of 2 to {most} disks and others: those in which by one way a contact opens and"
            " by the other none does, whatever the drive",
            int((opens != np.isfinite(t["closed_form"])).sum()),
            theory=Expected.exact(0.0, "the block can hold all disks from turning"),
        ),
        Claim(
            "coefficients of Fig. 3: number of disks up to which no drive opens a contact",
            int(t["particles"][sizes][~opens[sizes]].max()),
            paper="the value of the driving force exceeds a critical value N_c",
            theory=Expected.exact(
                max(n for n in range(2, most) if not np.isfinite(_closed(n, case))), "closed form"
            ),
            note="in so short an array the driving block holds the last disk, nothing turns, and"
            " forces between disks do not grow with the drive: there is no N_c",
        ),
        Claim(
            "Fig. 3's array: how often N_c rises as µ' grows from 0.1 to 0.4",
            int((plane[1:] > plane[:-1]).sum()),
            paper=Expected.exact(0.0, "low coefficients keep the array stable for more drives"),
        ),
        Claim(
            "Fig. 3's array with twice the µ between disks: N_c over what it was",
            other / rows[0]["drive"],
            theory=Expected(1.0, EXACT, "rounding", "in mode 3 contacts between disks stick"),
            note="of the three coefficients only those of plane and blocks matter",
        ),
    ]
    outcome.figures["opening"] = _figure(t, size, case)
    return outcome


def _scan(table: dict[str, Any], size: int, case: Case, varied: str) -> Any:
    """Rows of Fig. 3's array in which one thing is varied, in its order."""
    _, mu, mu_plane, mu_block = case
    given = {"particles": size, "mu": mu, "mu_plane": mu_plane, "mu_block": mu_block}
    mine = np.all([table[k] == x for k, x in given.items() if k != varied], axis=0)
    chosen = np.flatnonzero(mine)
    return chosen[np.argsort(table[varied][chosen])]


def _closed(size: int, case: Case) -> float:
    return theory.opening_drive(size, case[0], case[2], case[3])


def _opening(job: tuple[int, Case]) -> dict[str, float]:
    """N_c on the exact path, which contact opens, and the closed form."""
    size, case = job
    closed_form = _closed(size, case)
    path = pieces(size, *case, 0.0, 2.0 * closed_form if np.isfinite(closed_form) else FAR)
    row = {
        "particles": size, "mu": case[1], "mu_plane": case[2], "mu_block": case[3],
        "drive": np.inf, "acceleration": np.inf, "contact": -1, "closed_form": closed_form,
        "open_before": 0,
    }  # fmt: skip
    if not path.closed.all():
        first = int(np.flatnonzero(~path.closed)[0])
        contact = int(np.flatnonzero(path.states[first] == HELD)[0])
        # The path may fold: of all pieces take those that reach below.
        below = np.minimum(path.drive[1:], path.drive[:-1]) < (1.0 - EXACT) * path.drive[first]
        row |= {"drive": float(path.drive[first]), "acceleration": float(path.acceleration[first]),
                "contact": contact, "open_before": int((~path.closed & below).sum())}  # fmt: skip
    return row


def _lifted(size: int, case: Case, drive: float) -> int:
    """Disks that have left the plane after one step of contact dynamics from rest."""
    motion = contact_dynamics(scene(size, drive, *case), 0.01)
    return int((motion.normal_plane[-1] <= 1e-9 * drive).sum())


def _array(name: str, size: int, case: Case, row: dict[str, float]) -> list[Claim]:
    drive, disk = row["drive"], (row["contact"] + 1) / 2.0
    # the blocks of a scene have a mass, so that less of the drive reaches the array
    heavier = BLOCK_MASS * row["acceleration"]
    below, above = (_lifted(size, case, (1.0 + share) * drive + heavier) for share in (-NEAR, NEAR))
    return [
        Claim(
            f"array of {name}: N_c [weight of a disk]",
            drive,
            paper="a critical value N_c which is a function of the parameters",
            theory=Expected.within(
                row["closed_form"], EXACT, "rounding of a walk along the drive",
                "all disks counter-rotate, and N' of one vanishes",
            ),
        ),
        Claim(
            f"array of {name}: the disk that is lifted, counted from the driving block",
            size - disk,
            paper=Expected(
                1.0, 0.0, "exact", "the one in contact with the driving block or the one before",
                "at most",
            ),
            theory=Expected.exact(size % 2, "the last even disk"),
        ),
        Claim(
            f"array of {name}: drives below N_c, pieces in which a contact would open",
            row["open_before"],
            paper=Expected.exact(0.0, "all contacts are stable unless N_L exceeds N_c"),
        ),
        Claim(
            f"array of {name}, contact dynamics {100 * NEAR:g} % below N_c: disks lifted",
            below,
            theory=Expected.exact(0.0, "the exact path"),
        ),
        Claim(
            f"array of {name}, contact dynamics {100 * NEAR:g} % above N_c: disks lifted",
            above,
            theory=Expected.exact(1.0, "the exact path"),
        ),
    ]  # fmt: skip


_TEXT = (
    "Far above the drives of its figures the paper's arrays do lose a contact: driven so hard that"
    " all disks counter-rotate, the block's friction µ''N_L swings along the array, less by λ' ="
    " (1 + µ')/(1 − µ') from disk to disk, and lifts the last disk or the one before it, whichever"
    " has an even number. N_c follows from that in closed form. It falls with µ' and, about as"
    " 1/µ'', with the blocks' friction; µ between disks does not matter. Contact dynamics, in which"
    " contacts are free to open, agrees on either side.\n\n"
    "Short arrays on a smooth plane have no N_c: there the block can hold the last disk, and with"
    " it all others, from turning, and forces between disks stop growing with the drive."
)


def _figure(table: dict[str, Any], size: int, case: Case) -> Any:
    figure, panels = new_figure(1, 3, width=3.6)
    for axes, x, label in zip(panels, ("particles", "mu_plane", "mu_block"), ("L", "µ'", "µ''")):
        k = _scan(table, size, case, x)
        line = "x" if x == "particles" else "-"
        axes.plot(table[x][k], table["closed_form"][k], line, color=COLOURS[2], lw=1, ms=3,
                  label="closed form")  # fmt: skip
        axes.plot(table[x][k], table["drive"][k], "o", color=COLOURS[1], ms=3.5, mfc="none",
                  label="exact path")  # fmt: skip
        for none in table[x][k][np.isinf(table["drive"][k])]:
            axes.axvline(none, color=GREY, lw=0.8, ls=":")
        axes.set(xlabel=label, yscale="log")
    panels[2].set(xscale="log")
    panels[0].set(ylabel="N$_c$ [weight of a disk] (dotted: none)")
    panels[0].legend()
    return figure


EXPERIMENT = Experiment("opening", "The critical drive N_c at which contacts open", run)
