"""Figs 5, 8 and 9 by RC1: molecular dynamics of soft disks with viscous friction, from rest.

The exact solver is given the same blocks. What is left between the two are overlaps N/k_n, which
shorten arms and tilt contacts.
"""

from __future__ import annotations

from functools import partial
from operator import call
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.array import STICKS, Floats
from hardgrain.papers.radjai1997.exact.drive import Pieces
from hardgrain.papers.radjai1997.scene import (
    BLOCK_MASS,
    DAMPING,
    STIFFNESS,
    scene,
    soft_particles,
)
from hardgrain.parallel import pmap

Case = tuple[float, float, float, float]  # N_0, µ, µ', µ''
# L, N_L and case (A) of `modes`
FIG5: tuple[int, float, Case] = (80, 1.4, (0.01, 0.006, 0.01, 0.001))
FIG9: tuple[int, Case] = (30, (0.01, 0.04, 0.1, 0.001))
HIGH = 10.0  # N_L of the right end of Figs 8 and 9
# γ_s [m √(g/r)]: a contact that begins to slide at the rate u̇ is at Coulomb's limit after µN/γ_s
# u̇
SLIDING = 1000.0
RINGING = 12.0  # runs last until the slowest elastic wave has fallen to e^−12
# A contact so near Coulomb's limit, as a share of it, may slide while waves ring. It then takes as
# long again, and longer, to stick: such runs last three times as long.
NEAR = 0.02
INERTIA = 0.5
OVERLAP = "the largest overlap N_L/k_n, in radii: arms are shorter by as much"


def _by_contact(between: Floats, plane: Floats) -> Floats:
    """Values of the contacts between disks and of those with the plane, in the array's order."""
    both = np.empty(between.size + plane.size)
    both[0::2], both[1::2] = between, plane
    return both


def _steady(size: int, drive: float, case: Case) -> dict[str, Any]:
    """The steady state by molecular dynamics from rest, beside the exact one."""
    slowest = 0.5 * DAMPING * (2.0 * np.sin(0.5 * np.pi / size)) ** 2  # decay of the longest wave
    exact = steady_state(size, drive, *case, block_mass=BLOCK_MASS)
    most = exact.slide * _by_contact(exact.normal, exact.normal_plane)
    held = np.abs(_by_contact(exact.tangential, exact.tangential_plane))
    near = (held > (1.0 - NEAR) * most)[exact.states == STICKS].any()
    # disks that roll make the array heavier, m_e for L, and its waves as much slower
    before = steady_state(size, (1.0 - 1e-6) * drive, *case, block_mass=BLOCK_MASS)
    inertia = 1e-6 * drive / (exact.acceleration - before.acceleration)
    duration = RINGING / slowest * inertia / size * (3.0 if near else 1.0)
    motion = soft_particles(scene(size, drive, *case), duration, SLIDING, every=0.5 * duration)
    side, plane = motion.tangential[-1], motion.tangential_plane[-1]
    force = np.concatenate(
        [exact.normal, exact.normal_plane, exact.tangential, exact.tangential_plane]
    )
    # RC1 has no state; a contact below Coulomb's limit is one that C1 would have stick. Overlaps
    # tilt contacts by up to 10⁻⁵ radii, so that forces along x and y are T and N to 10⁻³ of µN
    limit = exact.slide * _by_contact(motion.normal[-1], motion.normal_plane[-1])
    pull = _by_contact(side, plane)
    sticks = np.abs(pull) < (1.0 - 1e-3) * limit
    return {
        "drive": drive,
        "modes": exact.modes,
        "acceleration": float(motion.acceleration[-1]),
        "acceleration_exact": exact.acceleration,
        "friction": float(motion.friction[-1]),
        "friction_exact": exact.friction,
        "turning": (plane - side[1:] - side[:-1]) / INERTIA,
        "turning_exact": exact.angular_acceleration,
        "worst_force": float(np.abs(motion.forces[-1] - force).max()),
        "other_states": int((sticks != (exact.states == STICKS)).sum()),
    }


def run(quick: bool) -> Outcome:
    """Pairs of drives on pieces of Fig. 9, and the modes of Fig. 5."""
    outcome = Outcome(text=_TEXT)
    size, case = FIG9
    path = pieces(size, *case, 0.0, HIGH, block_mass=BLOCK_MASS)
    # pieces wide enough for a slope: mode 1 alone, all three modes, and fast driving
    wide = np.flatnonzero((np.diff(path.acceleration) > 1.5e-3) & path.determinate)
    chosen = wide[[wide.size // 2]] if quick else wide[::4]
    ends = [path.drive[k] + x * (path.drive[k + 1] - path.drive[k])
            for k in chosen for x in (0.25, 0.75)]  # fmt: skip
    jobs = [] if quick else [partial(_steady, *FIG5)]
    jobs += [partial(_steady, size, float(drive), case) for drive in ends]
    made = pmap(call, jobs)
    rows = made[len(jobs) - len(ends) :]
    _figs_8_and_9(outcome, path, chosen, rows)
    shown = rows[2 * (len(rows) // 4)]
    if not quick:
        shown = made[0]
        _modes(outcome, "Fig. 5 (A), 80 disks", [shown], FIG5[1])
    outcome.figures["modes"] = _figure_modes(shown)
    outcome.figures["fig9"] = _figure_9(path, outcome.tables)
    return outcome


def _modes(outcome: Outcome, name: str, rows: list[dict[str, Any]], drive: float) -> None:
    """Rotation and contact states, the worst of some drives up to the given one."""
    v = np.array([r["acceleration_exact"] for r in rows])
    off = np.array([np.abs(r["turning"] - r["turning_exact"]).max() for r in rows]) / v
    three = 3.0 / INERTIA * np.array([r["drive"] for r in rows]) / STIFFNESS / v
    outcome.claims += [
        Claim(
            f"{name} by RC1: greatest difference of ω̇ of a disk from C1, over v̇",
            float(off.max()),
            paper=Expected(
                0.0, 0.01, "would not show in Fig. 5", "the three modes in good agreement with C1"
            ),
            theory=Expected(
                0.0, float(three.max()), "three forces on a disk, each within an overlap", "C1"
            ),
        ),
        Claim(
            f"{name} by RC1: contacts that slide and would stick under C1, or the other way round",
            sum(r["other_states"] for r in rows),
            paper=Expected.exact(0.0, "the three modes in good agreement with C1"),
        ),
        Claim(
            f"{name} by RC1: worst difference of a force from C1 [m g]",
            float(np.max([r["worst_force"] for r in rows])),
            theory=Expected(0.0, drive / STIFFNESS, OVERLAP, "the exact solver"),
        ),
    ]  # fmt: skip


def _figs_8_and_9(outcome: Outcome, path: Pieces, chosen: Any, rows: list[dict[str, Any]]) -> None:
    size, _ = FIG9
    names = ("drive", "acceleration", "acceleration_exact", "friction", "friction_exact",
             "worst_force", "other_states")  # fmt: skip
    t = {name: np.array([r[name] for r in rows]) for name in names}
    outcome.tables["fig8"] = dict(t)
    low, high = slice(0, None, 2), slice(1, None, 2)
    rise = t["acceleration"][high] - t["acceleration"][low]
    inertia = (t["drive"][high] - t["drive"][low]) / rise - 2.0 * BLOCK_MASS
    force = t["drive"][low] - (inertia + 2.0 * BLOCK_MASS) * t["acceleration"][low] - FIG9[1][0]
    exact = path.inertia[chosen], path.effective_friction[chosen]
    outcome.tables["fig9"] = slopes = {
        "piece": chosen, "acceleration": 0.5 * (t["acceleration"][high] + t["acceleration"][low]),
        "m_e": inertia, "m_e_exact": exact[0], "mu_e": force / size, "mu_e_exact": exact[1],
    }  # fmt: skip
    # v̇ may be off by an overlap's share of the driving force on all disks, at either end
    bound = 2.0 * t["drive"][high] / STIFFNESS / size / rise
    bounds = {
        "m_e": float(bound.max()),
        "mu_e": float((bound * exact[0] * t["acceleration"][high] / size / exact[1]).max()),
    }
    _modes(outcome, "Fig. 9's array", rows, HIGH)
    outcome.claims += [
        Claim(
            "Fig. 8 by RC1: worst difference of µ_g from C1",
            float(np.abs(t["friction"] - t["friction_exact"]).max()),
            paper=Expected(
                0.0, 0.001, "a hundredth of µ' would not show in Fig. 8", "the same by C1 and RC1"
            ),
            theory=Expected(0.0, HIGH / STIFFNESS, OVERLAP, "the exact solver"),
        ),
        *(
            Claim(
                f"Fig. 9 by RC1: worst relative difference of {what} from C1",
                float(np.abs(slopes[name] / slopes[f"{name}_exact"] - 1.0).max()),
                paper=Expected(
                    0.0, 0.01, "would not show in Fig. 9", "essentially the same plots as with C1"
                ),
                theory=Expected(
                    0.0, bounds[name], "an overlap's share of the drive on all disks, over the rise"
                    " of v̇", "the exact pieces",
                ),
            )
            for name, what in (("m_e", "m_e"), ("mu_e", "µ_e"))
        ),
    ]  # fmt: skip


_TEXT = (
    "Soft disks with viscous friction, γ_s = 1000, from rest until elastic waves are gone. Every"
    " contact that sticks under C1 stays below Coulomb's limit, every other one is at it, and all"
    " forces are those of C1 within the overlaps. So RC1 has the same modes, the same µ_g, and by"
    " differences between two drives the same m_e and µ_e, as the paper says. Where C1 leaves"
    " forces open RC1 does decide: see the experiment indeterminate."
)


def _figure_modes(row: dict[str, Any]) -> Any:
    figure, axes = new_figure(1, 1, width=6.0)
    disks = np.arange(row["turning"].size + 1)
    for name, end, look, label in (
        ("turning_exact", "acceleration_exact", {"marker": "o", "mfc": "none", "ls": ""}, "C1"),
        ("turning", "acceleration", {"marker": ".", "ls": ""}, "RC1, molecular dynamics"),
    ):
        colour = COLOURS[1] if name == "turning_exact" else COLOURS[2]
        axes.plot(disks, [row[end], *row[name]], color=colour, label=label, **look)
    axes.axhline(0.0, color=GREY, lw=0.8)
    axes.set(xlabel="disk i (0: the array)", ylabel="angular acceleration ω̇ [g/r]",
             title=f"N$_L$ = {row['drive']:.3g}, modes {row['modes']}")  # fmt: skip
    axes.legend()
    return figure


def _figure_9(path: Pieces, tables: dict[str, Any]) -> Any:
    figure, (left, middle, right) = new_figure(1, 3, width=3.6)
    left.plot(path.drive, path.friction, color=COLOURS[1], lw=1, label="C1, exact")
    left.plot(tables["fig8"]["drive"], tables["fig8"]["friction"], "o", color=COLOURS[2], ms=3.5,
              mfc="none", label="RC1, molecular dynamics")  # fmt: skip
    left.set(xlabel="N$_L$ [weight of a disk]", ylabel="µ$_g$")
    left.legend(loc="lower right")
    t = tables["fig9"]
    for axes, values, name, label in (
        (middle, path.inertia, "m_e", "m$_e$ [mass of a disk]"),
        (right, path.effective_friction, "mu_e", "µ$_e$"),
    ):
        axes.stairs(values, path.acceleration, baseline=None, color=COLOURS[1], lw=1)
        axes.plot(t["acceleration"], t[name], "o", color=COLOURS[2], ms=3.5, mfc="none")
        axes.set(xlabel="v̇ [g]", ylabel=label)
    return figure


EXPERIMENT = Experiment("regularised", "Figs 5, 8 and 9 by molecular dynamics", run)
