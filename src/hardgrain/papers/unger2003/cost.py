"""What a rigid step costs: sweeps until the force of a new load has arrived (review, eqs 47–50).

A packing at rest, its forces converged, gets 10 % more load: on the piston, or by gravity. One step
is solved under that load, from the old forces (as a run would) or from none, and watched sweep by
sweep. All forces 10 % larger is a solution in which nothing moves, so the question has an answer.
(With friction it need not be the only one: now and then the sweeps end with some grains in motion
that obey all laws as well. Arrival is then counted from that solution.)

Two measures tell how far the sweeps have come, and they are not the same.

- *Arrival.* In the words of the review, the added momentum has to reach the fixed walls; as long as
  it does not, the packing is accelerated. The share of it that is still in the packing is
  Σ m v / (ΔF dt). Forces diffuse, so that it decays as exp(−µ₁ N) with µ₁ ~ q (π d / 2L)², and 99 %
  have arrived after N ~ (L/d)² sweeps, in a chain

      N = 4 ln(400/π) / (π² q) (L/d)² under a piston,  4 ln(800/π²) / (π² q) (L/d)² under gravity.

- *Residual.* The largest velocity that a contact still wants, relative to what contacts give. It is
  local: on its way, the front of the force has the profile erfc(x / 2d√(q N)), and what contacts
  want is its curvature, ~ ΔF/F / N at most, whatever the size of the system. A tolerance ε is met
  after ~ 1/ε sweeps even if the other end of the packing has not heard of the load; only systems
  smaller than the diffusion length of 1/ε sweeps show the square. Under gravity it is worse: what a
  grain wants is some g dt, while the contact forces that it is compared with grow with depth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.fit import mean_and_error, power_law
from hardgrain.papers.unger2003.cost_figures import (
    arrival_figure,
    depth_figure,
    residual_figure,
    work_figure,
)
from hardgrain.papers.unger2003.cost_loads import COLUMN, COLUMNS, Task, cost_of
from hardgrain.papers.unger2003.cost_relaxation import FIXED, NEARLY, TOLERANCES
from hardgrain.papers.unger2003.cost_series import (
    DIMENSION,
    NAMES,
    PAPER_COST,
    Every,
    Series,
    chain_arrival,
    exponent_of,
    layer_error,
    sizes_of,
    surface,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain

__all__ = ["EXPERIMENT"]

# Numbers of grains and of seeds for each. Packings of one size differ by a third in their sweeps,
# so that an exponent needs many of them; those under gravity are cheap to make.
QUICK: dict[tuple[str, str], dict[int, int]] = {
    ("chain", "piston"): {64: 6, 128: 6},
    ("chain", "gravity"): {64: 6, 128: 6},
    ("2D", "gravity"): {64: 12, 256: 6},
    ("3D", "gravity"): {64: 6, 250: 4},
}
FULL: dict[tuple[str, str], dict[int, int]] = {
    ("chain", "piston"): dict.fromkeys((8, 16, 32, 64, 128, 256), 8),
    ("chain", "gravity"): dict.fromkeys((8, 16, 32, 64, 128, 256), 8),
    ("2D", "piston"): {64: 12, 128: 12, 256: 12, 512: 8, 1024: 4},
    ("2D", "gravity"): {64: 24, 128: 24, 256: 24, 512: 16, 1024: 8},
    ("3D", "piston"): {64: 8, 125: 8, 250: 8, 500: 4, 1000: 4},
    ("3D", "gravity"): {64: 16, 125: 16, 250: 16, 500: 8, 1000: 8},
    ("walls", "gravity"): dict.fromkeys((200, 400, 800, 1600), 12),
    ("without", "gravity"): {50: 12, 100: 12, 200: 12, 400: 8, 800: 8},
}


def run(quick: bool) -> Outcome:
    """Prepare, load and watch all systems."""
    plan = QUICK if quick else FULL
    tasks = [
        Task(*key, n, seed, cold=not quick)
        for key, sizes in plan.items()
        for n, seeds in sizes.items()
        for seed in range(seeds)
    ]
    tasks.sort(key=lambda t: -t.grains * (4 if t.load == "piston" else 1))  # the long ones first
    results = pmap(cost_of, tasks)
    series = {
        key: Series([r for r in results if (r.task.system, r.task.load) == key]) for key in plan
    }
    claims = [*_arrivals(series), *_residuals(series), *_costs(series)]
    figures = {
        "arrival": arrival_figure(series),
        "residual": residual_figure(series),
        "work": work_figure(series),
    }
    if not quick:
        claims += _depths(series)
        figures["depth"] = depth_figure(series)
    seeds = range(max(t.seed for t in tasks) + 1)
    return Outcome(claims, {"sweeps": _table(series)}, figures, TEXT, seeds)


def _arrivals(series: Every) -> list[Claim]:
    claims = []
    for (system, load), s in series.items():
        if system in COLUMNS:
            continue
        name = NAMES[system, load]
        packed = system != "chain"
        # In a chain the square holds for long ones, where 1/L² is small: ends are where they are.
        beside = layer_error(s.length) if packed else 0.0
        if not packed:
            s = Series([r for r in s.results if r.task.grains > 8])
            beside = 1.0 / float(s.length.min()) ** 2 + 0.07 / float(s.length.min())
        why = "one layer of L, more or less" if packed else "1/L² and 0.07/L at the wall"
        words = "N_I ~ (L/d)² (48)"
        if not packed or np.unique(s.grains).size > 2:  # with two sizes of packings it means little
            claims.append(
                exponent_of(
                    f"exponent of sweeps ~ L^x until 99 % of the load has arrived, {name},"
                    f" {sizes_of(s)}",
                    s.length, s.arrival(), 2.0, words, beside=beside, why=why,
                )
            )  # fmt: skip
        if packed and s.cold().size:
            ratio = s.cold() / s.arrival()
            claims.append(
                exponent_of(
                    f"the same exponent, all forces zero at first, {name}, {sizes_of(s)}",
                    s.length, s.cold(), 2.0, words, beside=beside, why=why,
                    note=f"{np.median(ratio):.1f} times the sweeps from the old forces",
                )
            )  # fmt: skip
        for n in np.unique(s.grains).astype(int):
            mine = s.of(n)
            mean, error = mean_and_error(mine.arrival() / mine.length**2)
            claims.append(
                Claim(
                    f"sweeps / (L/d)² until 99 % of the load has arrived, {name}, {n} grains",
                    mean,
                    error,
                    mine.samples,
                    paper=Expected(1.0, 0.0, "a bound", "N_I > (L/d)² (48)", "at least"),
                    theory=None
                    if packed
                    else Expected.by_chance(
                        chain_arrival(n, load) / n**2, error, mine.samples, "sum over modes",
                        beside=0.07 / n * mean, why="the wall slows the sweeps by 0.07/n",
                    ),
                )
            )  # fmt: skip
    return claims


def _residuals(series: Every) -> list[Claim]:
    """A fixed residual is met by long chains after as many sweeps as by longer ones."""
    claims = []
    s = series["chain", "piston"]
    long, longer = np.sort(np.unique(s.grains))[-2:].astype(int)
    both = Series(s.of(long).results + s.of(longer).results)
    for tolerance in TOLERANCES[:2]:
        sweeps = both.residual(tolerance)
        # the front must not have reached the wall: √(4 q N) < L
        if chain.diffusion_length(float(sweeps.max())) < long:
            claims.append(
                exponent_of(
                    f"exponent of sweeps ~ L^x until the residual is {tolerance:g}, chain, pushed,"
                    f" {long} and {longer} grains",
                    both.length, sweeps, 0.0, "a local measure: 1/ε sweeps", paper=False,
                    note=f"{tolerance * float(sweeps.mean()):.3f}/ε sweeps: it falls like 1/N while"
                    " the front of the force is on its way",
                )
            )  # fmt: skip
    for key, s in series.items():
        if key[0] not in ("2D", "3D"):
            continue
        largest = s.of(int(s.grains.max()))
        tolerance = TOLERANCES[0]
        left = [
            float(np.interp(r.warm.when("residual", tolerance), r.warm.sweeps, r.warm.left))
            for r in largest.results
        ]
        mean, error = mean_and_error(left)
        claims.append(
            Claim(
                f"share of the added load still on its way at a residual of {tolerance:g},"
                f" {NAMES[key]}, {s.grains.max():.0f} grains",
                mean,
                error,
                largest.samples,
                theory=Expected(
                    NEARLY, 0.0, "a load that has arrived", "a residual met is no load arrived",
                    side="at least",
                ),
            )
        )  # fmt: skip
    return claims


def _costs(series: Every) -> list[Claim]:
    claims = []
    for (system, load), s in series.items():
        if system not in PAPER_COST:
            continue
        dim = DIMENSION[system]
        seconds = power_law(s.grains, s.seconds() * s.arrival()).exponent
        claims.append(
            exponent_of(
                "exponent of contact updates ~ n^x in a step that is rigid to 1 %,"
                f" {NAMES[system, load]}, {sizes_of(s)}",
                s.grains, s.contacts * s.arrival(), 1.0 + 2.0 / dim, PAPER_COST[system],
                beside=layer_error(s.length) / dim + surface(s),
                why="one layer of L, and surfaces, which have fewer contacts",
                note=f"CPU time: {seconds:.2f}",
            )
        )  # fmt: skip
    for system in PAPER_COST:
        both = [r for key, s in series.items() if key[0] == system for r in s.results]
        s = Series(both)
        time = power_law(s.grains, s.seconds()).exponent
        claims.append(
            exponent_of(
                f"exponent of contact updates ~ n^x at constant N_I = {FIXED}, {system},"
                f" {sizes_of(s)}",
                s.grains, FIXED * s.contacts, 1.0, "T_step ~ n (69)", beside=surface(s),
                why="surfaces have fewer contacts",
                note=f"CPU time: {time:.2f}, at {np.median(s.contacts / s.seconds()) / 1e6:.0f}"
                " million contact updates a second; small packings fit the fastest memory",
            )
        )  # fmt: skip
    return claims


def _depths(series: Every) -> list[Claim]:
    without, walls = series["without", "gravity"], series["walls", "gravity"]
    claims = [
        exponent_of(
            f"exponent of sweeps ~ H^x until 99 % has arrived, column without side walls,"
            f" {sizes_of(without)}",
            without.length, without.arrival(), 2.0, "N_I ~ (L/d)² (48)",
            beside=layer_error(without.length), why="one layer of H, more or less",
        )
    ]  # fmt: skip
    tall = Series([r for r in walls.results if r.length > 3.0 * COLUMN["width"]])
    claims.append(
        exponent_of(
            "the same between rough walls, columns more than 3 times as high as wide,"
            f" {sizes_of(tall)}",
            tall.length, tall.arrival(), 0.0, "the walls take the load: no growth", paper=False,
            note=f"median of all heights: {np.median(tall.arrival()):.0f} sweeps",
        )
    )  # fmt: skip
    return claims


def _table(series: Every) -> dict[str, Any]:
    rows = [r for s in series.values() for r in s.results]
    table: dict[str, Any] = {
        "system": [r.task.system for r in rows],
        "load": [r.task.load for r in rows],
        "grains": [r.task.grains for r in rows],
        "seed": [r.task.seed for r in rows],
        "length": [r.length for r in rows],
        "contacts": [r.warm.contacts for r in rows],
        "slip": [r.warm.slip for r in rows],
        "sweeps_90": [r.arrival(0.1) for r in rows],
        "sweeps_99": [r.arrival() for r in rows],
        "sweeps_99_from_zero": [r.cold.when("left", NEARLY) if r.cold else math.nan for r in rows],
        "seconds_a_sweep": [r.second for r in rows],
    }
    for tolerance in TOLERANCES:
        table[f"sweeps_residual_{tolerance:.0e}"] = [
            r.warm.when("residual", tolerance) for r in rows
        ]
    return table


TEXT = """\
A packing at rest gets 10 % more load, and one step is solved under it. Counted until 99 % of the
added load has reached the fixed walls, the sweeps grow as the square of the system, in chains
exactly as theory has it and in packings within their scatter, whichever the load and wherever the
forces start; so a rigid step costs what the review says. Packings of one size differ by a third in
their sweeps, so that only many of them tell an exponent.

A fixed residual is no substitute: it looks at single contacts, where a front of force that is still
on its way is smooth, and is met after a number of sweeps ~ 1/ε in long chains, whatever their
length, with much of the load still on its way. Under gravity it is met ever sooner the deeper the
packing, because it is relative to forces that grow with depth: this is how depth may seem not to
matter. Columns without side walls do not saturate: sweeps ~ H². Between rough walls they do, once
the column is a few times higher than wide: the walls take the added load, and the base need not
hear of it (as in Janssen's silo)."""

EXPERIMENT = Experiment("cost", "Cost of a rigid step against size and depth", run)
