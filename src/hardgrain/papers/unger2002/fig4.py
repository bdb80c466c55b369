"""The paper's Fig. 4: a chain runs into a wall and rings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Ringing, damped_sine, mean_and_error
from hardgrain.papers.unger2002.row import (
    Chain,
    chain,
    neglected,
    relaxation_rates,
    wavenumber,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

# particles and sweeps; the paper's first. The continuum needs N µ ≪ 1: it is below 0.05 in all.
CASES = ((50, 40), (30, 10), (30, 20), (40, 40), (80, 40), (100, 80))
SEEDS = 8, 16  # numbers of seeds of the quick and of the full version
WINDOW = 5.0  # [damping times] length of the fit, in which the amplitude falls to 1 %


def _prediction(particles: int, sweeps: int) -> dict[str, float]:
    k = wavenumber(1, particles)
    rate = relaxation_rates(particles)[0]
    return {
        "omega": theory.frequency(k, sweeps),
        "tau": theory.damping_time(k, sweeps),
        "omega_step": theory.step_frequency(rate, sweeps),
        "tau_step": theory.step_damping_time(rate, sweeps),
    }


def _run(case: tuple[int, int, int]) -> Chain:
    """A chain that is followed until the fit's window is full."""
    particles, sweeps, seed = case
    tau = _prediction(particles, sweeps)["tau"]
    # the transient takes the time to the wall and about two damping times
    steps = math.ceil(math.sqrt(40.0 * particles) + (2.0 + 2.0 + WINDOW + 2.0) * tau)
    return chain(particles, sweeps, steps=steps, seed=seed)


def _window(run: Chain, tau: float) -> tuple[float, float]:
    """The transient ends when the last contact has opened; the fit starts two τ later."""
    start = run.settled + 2.0 * tau
    return start, min(start + WINDOW * tau, float(run.time[-1]))


def _line(run: Chain, p: dict[str, float]) -> tuple[Ringing, float]:
    """The line of Fig. 4, and the distance of the data from it [rms of the ringing]."""
    start, stop = _window(run, p["tau"])
    window = (run.time >= start) & (run.time <= stop)
    t, x = run.time[window], run.position[window]
    line = damped_sine(t, x, p["omega"], p["tau"])
    return line, line.residual / float(np.std(x - line.offset))


def run(quick: bool) -> Outcome:
    """Make five-parameter fits for several chains, and draw the figure."""
    cases, seeds = (CASES[:3], SEEDS[0]) if quick else (CASES, SEEDS[1])
    jobs = [(n, sweeps, seed) for n, sweeps in cases for seed in range(seeds)]
    runs = dict(zip(jobs, pmap(_run, jobs)))
    outcome = Outcome(text=_TEXT, seeds=range(seeds))
    columns = (
        "particles", "sweeps", "omega", "omega_error", "omega_18", "omega_step",
        "tau", "tau_error", "tau_20", "tau_step", "settled",
    )  # fmt: skip
    table: dict[str, list[float]] = {name: [] for name in columns}
    for n, sweeps in cases:
        p = _prediction(n, sweeps)
        mine = [runs[n, sweeps, seed] for seed in range(seeds)]
        fits = [r.fit(*_window(r, p["tau"])) for r in mine]
        omega, omega_error = mean_and_error([f.frequency for f in fits])
        tau, tau_error = mean_and_error([f.damping_time for f in fits])
        settled = float(np.mean([r.settled for r in mine]))
        row = (
            n, sweeps, omega, omega_error, p["omega"], p["omega_step"],
            tau, tau_error, p["tau"], p["tau_step"], settled,
        )  # fmt: skip
        for name, value in zip(columns, row):
            table[name].append(value)
        what = f"{n} disks, {sweeps} sweeps"
        for symbol, unit, mean, error, name, equation, share in (
            ("ω", "1/dt", omega, omega_error, "omega", "(18)", neglected(n, sweeps)[0]),
            ("τ", "dt", tau, tau_error, "tau", "(20)", neglected(n, sweeps)[1]),
        ):
            outcome.claims.append(
                Claim(
                    f"{symbol} of {what} [{unit}]", mean, error, seeds,
                    paper=Expected.by_chance(
                        p[name], error, seeds, f"{equation}, good agreement",
                        beside=share * p[name],
                        why=f"what {equation} neglects of finite steps, of grains and of the wall",
                    ),
                    theory=Expected.by_chance(
                        p[f"{name}_step"], error, seeds, "exact map of a step, wall included"
                    ),
                )
            )  # fmt: skip
    n, sweeps = cases[0]
    p = _prediction(n, sweeps)
    mine = [runs[n, sweeps, seed] for seed in range(seeds)]
    lines = [_line(r, p) for r in mine]
    miss, miss_error = mean_and_error([share for _, share in lines])
    outcome.claims.insert(
        0,
        Claim(
            f"Fig. 4, {n} disks, {sweeps} sweeps: data minus line with ω, τ from theory, root mean"
            " square, as a share of the oscillation's",
            miss, miss_error, seeds,
            paper=Expected.by_chance(
                0.05, miss_error, seeds, "good agreement; offset, amplitude and phase fitted",
                side="at most",
            ),
            note="good agreement is taken to mean what the eye cannot tell in a graph, 5 %",
        ),
    )  # fmt: skip
    first, line, start = mine[0], lines[0][0], _window(mine[0], p["tau"])[0]
    outcome.tables["fits"] = dict(table)
    outcome.tables["fig4"] = {
        "time": first.time, "position": first.position, "line": line(first.time),
    }  # fmt: skip
    outcome.figures["fig4"] = _figure(first, line, start, table)
    return outcome


_TEXT = (
    "A chain of rigid, perfectly inelastic disks, one diameter from a wall, is pushed into it by a"
    " force on the last disk, and rings. The transient ends with the last step in which a contact"
    " was open; all five parameters of the damped sine are fitted from two damping times later.\n\n"
    "What is left beside chance comes from two places. (18) is a limit: a step of finite length"
    " turns by cos ω dt = √a, which lifts ω by 0.05 to 0.2 % here. And nothing is handed on through"
    " the wall and back, which slows the relaxation by 0.07/n: ω falls by half of that, τ grows by"
    " it. With both, the exact map of a step leaves nothing but chance and a trace of faster waves"
    " that are still there when the fit begins."
)


def _figure(first: Chain, line: Any, start: float, table: dict[str, list[float]]) -> Any:
    figure, (left, right) = new_figure(1, 2, width_ratios=[1.5, 1.0], width=4.8)
    begin, last = first.settled - 50.0, start + 250.0
    seen = (first.time >= begin) & (first.time <= last)
    left.plot(first.time[seen], first.position[seen], ".", color=COLOURS[1], label="simulation")
    shown = np.arange(first.settled, last)
    left.plot(shown, line(shown), color=COLOURS[2], lw=1, label="theory: ω (18), τ (20)")
    left.axvline(start, color=GREY, lw=0.8, ls=":")
    left.annotate("fitted from here", (start, 0.05), (4, 0), xycoords=("data", "axes fraction"),
                  textcoords="offset points", color=GREY, fontsize=8)  # fmt: skip
    left.set(xlabel="time [Δt]", ylabel="position of the last disk [d]")
    left.legend(loc="upper right")
    t = {name: np.array(column) for name, column in table.items()}
    at = np.arange(t["omega"].size)
    for value, limit, colour, shift, marker in (
        ("omega", "omega_18", COLOURS[1], -0.12, "o"),
        ("tau", "tau_20", COLOURS[2], 0.12, "s"),
    ):
        name = "ω" if value == "omega" else "τ"
        right.errorbar(
            at + shift, 100 * (t[value] / t[limit] - 1), 100 * t[f"{value}_error"] / t[limit],
            fmt=marker, color=colour, capsize=2, label=f"{name}",
        )  # fmt: skip
        right.plot(
            at + shift, 100 * (t[f"{value}_step"] / t[limit] - 1), "_", color=colour, ms=12,
            label=f"{name}, exact map",
        )  # fmt: skip
    right.axhline(0.0, color=GREY, lw=0.8)
    labels = [f"{n:.0f}\n{s:.0f}" for n, s in zip(table["particles"], table["sweeps"])]
    right.set_xticks(at, labels)
    right.set(xlabel="disks, sweeps", ylabel="distance from (18), (20) [%]")
    right.margins(y=0.25)
    right.legend(ncols=2, loc="best")
    return figure


EXPERIMENT = Experiment("fig4", "Fig. 4: a chain that hits a wall rings", run)
