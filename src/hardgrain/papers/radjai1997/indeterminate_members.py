"""Which of the possible forces each method finds."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Outcome
from hardgrain.papers.radjai1997.array import steady_state
from hardgrain.papers.radjai1997.indeterminate_case import (
    BEST,
    DURATION,
    FIG10,
    LAW,
    SIZE,
    SOFT,
    columns,
    regularised,
)
from hardgrain.papers.radjai1997.scene import (
    BLOCK_MASS,
    contact_dynamics,
    scene,
    soft_particles,
)

__all__ = ["by_rigid_grains", "by_soft_particles", "judge_members"]


def by_rigid_grains(drive: float, seed: int, speed: float) -> dict[str, float]:
    """The final v̇ by contact dynamics, from rest in one step or from a random start."""
    spins = np.random.default_rng(seed).uniform(-speed, speed, SIZE)
    start = scene(SIZE, drive, *FIG10, omega0=spins, v0=speed)
    motion = contact_dynamics(start, DURATION if speed else 0.01, seed=seed)
    return {"drive": drive, "sliding": math.inf, "speed": speed, "seed": seed,
            "acceleration": motion.acceleration[-1], "drift": 0.0}  # fmt: skip


def by_soft_particles(drive: float, sliding: float) -> dict[str, float]:
    """The final v̇ by soft particles from rest, and how it changes with the velocity."""
    motion = soft_particles(scene(SIZE, drive, *FIG10), DURATION, sliding, every=0.5 * DURATION)
    return {"drive": drive, "sliding": sliding, "speed": 0.0, "seed": 0,
            "acceleration": motion.acceleration[-1],
            "drift": np.diff(motion.acceleration)[0] / np.diff(motion.velocity)[0]}  # fmt: skip


def judge_members(
    outcome: Outcome,
    rigid: list[dict[str, float]],
    soft: list[dict[str, float]],
    inside: tuple[float, ...],
) -> None:
    """Judge v̇ of both methods by the range of C1, blocks of the same mass included."""
    exact = {d: steady_state(SIZE, d, *FIG10, block_mass=BLOCK_MASS)
             for d in {row["drive"] for row in rigid}}  # fmt: skip
    for row in (*rigid, *soft):
        found = exact[row["drive"]]
        low, high = found.acceleration_range
        v = row["acceleration"]
        row |= {"least": low, "greatest": high, "rc1": regularised(found),
                "outside": max(low - v, v - high, 0.0)}  # fmt: skip
    table = columns([*rigid, *soft])
    outcome.tables["members"] = table
    is_soft, within = np.isfinite(table["sliding"]), np.isin(table["drive"], inside)
    for name, mine, tolerance, why in (
        ("contact dynamics", ~is_soft, LAW, "a residual of 10⁻¹² leaves less in the forces"),
        ("MD", is_soft, SOFT, "the overlap of two disks, in radii: arms are as much shorter"),
    ):
        outcome.claims += [
            Claim(
                f"{name}, in the window: farthest v̇ from C1's range",
                float(table["outside"][mine & within].max()),
                paper="CD and MD disagree here",
                theory=Expected(0.0, tolerance, why, "a member of C1's range"),
            ),
            Claim(
                f"{name}, outside the window: farthest v̇ from C1's value",
                float(table["outside"][mine & ~within].max()),
                paper="the agreement is quite good everywhere else",
                theory=Expected(0.0, tolerance, why, "C1's one solution"),
            ),
        ]
    best = table["drive"] == BEST
    low, high = exact[BEST].acceleration_range
    width, member = high - low, regularised(exact[BEST])
    picked = table["acceleration"][best & ~is_soft]
    slow = best & is_soft & (table["sliding"] <= 100.0)
    drift = {g: float(table["drift"][best & (table["sliding"] == g)][0]) for g in (100.0, 1000.0)}
    outcome.claims += [
        Claim(
            f"farthest apart v̇ of contact dynamics and of MD at N_L = {BEST:g}, over C1's range,"
            f" {picked.size} runs",
            float(np.abs(picked - member).max() / width),
            paper=Expected(
                10.0 * LAW / width, 0.0, "ten times what residuals leave", "CD and MD disagree"
                " here", "at least",
            ),
            note=f"runs of contact dynamics span {np.ptp(picked) / width:.2f} of the range: the"
            " order of the sweeps and the start decide; the forces of the last step, from which the"
            " next begins, keep what was picked",
        ),
        Claim(
            f"MD at N_L = {BEST:g}, γ_s up to 100: farthest v̇ from the solution with Σ c T = 0"
            " round the loop",
            float(np.abs(table["acceleration"] - table["rc1"])[slow].max()),
            theory=Expected(
                0.0, SOFT, "the overlap of two disks, in radii",
                "slips round a loop cancel, and RC1 has T = γ_s u: the one equation that C1 lacks,"
                " the same for all γ_s",
            ),
            note=f"{(member - low) / width:.2f} of the way up C1's range",
        ),
        Claim(
            "drift of MD's v̇ with the velocity, γ_s = 1000 against 100",
            drift[1000.0] / drift[100.0],
            theory=Expected.within(
                10.0, 0.01, "slips T/γ_s are about a hundredth of v at γ_s = 100",
                "in proportion to γ_s",
            ),
            note="overlaps shorten the arms by N/k_n: slips round the loop do not quite cancel, by"
            " an amount that grows with v, and γ_s turns it into forces; nothing becomes steady",
        ),
    ]  # fmt: skip
