"""Three lengths (61–63): how far sound gets in a step, the longest overdamped wave, diffusion.

Chains between a fourth and four times the diffusion length: which share of a new load reaches the
wall within the step in which it comes, and how far the chain gives way in the end. Theory is the
mean of all orders of sweeps, exactly (`hardgrain.papers.unger2002.row.mean_sweep`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import mean_and_error
from hardgrain.papers.unger2002.row import LOAD, at_rest, forces, mean_sweep
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

__all__ = ["EXPERIMENT"]

SWEEPS = 100  # l_diff = 17.9 d
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # L / l_diff
MORE = 0.1  # rise of the load, relative to it


def _arrived(job: tuple[int, int]) -> float:
    """Share of a new load that has reached the wall after the step in which it came."""
    particles, seed = job
    sim = at_rest(particles, SWEEPS, seed=seed, force=(1.0 + MORE) * LOAD)
    sim.step()
    return float(forces(sim)[0] / LOAD - 1.0) / MORE


def expected(particles: int) -> float:
    """That share on average, from what the sweeps leave of the error, −1 at every contact."""
    left = np.linalg.matrix_power(mean_sweep(particles), SWEEPS) @ np.ones(particles)
    return float(1.0 - left[0])


def run(quick: bool) -> Outcome:
    """Load chains of several lengths, and make one step with each."""
    seeds = 16 if quick else 64
    reach = theory.diffusion_length(SWEEPS)
    lengths = [round(share * reach) for share in SHARES]
    jobs = [(n, seed) for n in lengths for seed in range(seeds)]
    found = dict(zip(jobs, pmap(_arrived, jobs)))
    claims = []
    table: dict[str, list[Any]] = {"particles": lengths, "arrived": [], "error": [], "theory": []}
    # "much larger than the system": a load arrives, to 1 %, at a fourth; "too large": 1 % does at 4
    told = {
        SHARES[0]: Expected(0.99, 0.0, "all but 1 %", "l_diff ≫ L: no artifacts", "at least"),
        SHARES[-1]: Expected(0.01, 0.0, "no more than 1 %", "L > l_diff involves artificial"
                             " elasticity", "at most"),
    }  # fmt: skip
    for share, n in zip(SHARES, lengths):
        mean, error = mean_and_error([found[n, seed] for seed in range(seeds)])
        exact = expected(n)
        claims.append(
            Claim(
                f"share of a new load that reaches the wall within its step, L = {share:g} l_diff"
                f" ({n} disks, {SWEEPS} sweeps)",
                mean,
                error,
                seeds,
                paper=told.get(share, ""),
                theory=Expected.by_chance(exact, error, seeds, "mean of all orders of sweeps"),
            )
        )
        for name, value in (("arrived", mean), ("error", error), ("theory", exact)):
            table[name].append(value)
    sound, wave = theory.sound_length(SWEEPS), theory.critical_wavelength(SWEEPS)
    claims.append(
        Claim(
            "largest over smallest of l_diff, l_sound and λ_c",
            max(reach, sound, wave) / min(reach, sound, wave),
            paper=Expected(10.0, 0.0, "one order of magnitude", "all three lengths are of the same"
                           " order of magnitude, d √(q N_I)", "at most"),
            theory=Expected.exact(math.pi, "λ_c = π l_sound, l_diff = 2 l_sound"),
        )
    )  # fmt: skip
    figures = {"lengths": _figure(np.array(lengths) / reach, table)}
    return Outcome(claims, {"arrival": dict(table)}, figures, TEXT, range(seeds))


def _figure(x: Any, table: dict[str, Any]) -> Any:
    figure, axes = new_figure(width=5.0, height=4.0)
    axes.errorbar(x, table["arrived"], table["error"], fmt="o", color=COLOURS[1], label="measured")
    n = np.unique(np.geomspace(3, table["particles"][-1], 40).astype(int))
    reach = theory.diffusion_length(SWEEPS)
    axes.plot(n / reach, [expected(int(i)) for i in n], color=COLOURS[2], lw=0.8, label="theory")
    axes.axvline(1.0, color=GREY, lw=0.8, ls=":")
    axes.set(
        xscale="log", xlabel="$L / l_{diff}$", ylabel="share of a load that arrives in its step"
    )
    axes.legend()
    return figure


TEXT = """\
A chain a fourth as long as the diffusion length hands a new load on to its wall within the step in
which it comes: it is rigid. One four times as long hands on nothing, and the load accelerates it.
Between them lies the transition, around the length of the system as the review has it. Sound length
and longest overdamped wave are the diffusion length times 1/2 and π/2."""

EXPERIMENT = Experiment("lengths", "Three lengths: when is a chain rigid? (61–63)", run)
