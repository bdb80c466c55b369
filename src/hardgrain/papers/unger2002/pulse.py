"""The speed of sound c from the arrival of a pulse."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from hardgrain.forces.compare import jackknife
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, new_figure
from hardgrain.papers.fit import Floats, power_law
from hardgrain.papers.unger2002.row import LOAD, at_rest, forces, mean_sweep
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

# Arrivals count between these shares of the chain's length: far enough from the blow for its front
# to be long against the diffusion of a step, and gone before the echo from the wall is back.
NEAR, FAR = 0.25, 0.65


def momentum_passed(sweeps: int, particles: int, seed: int) -> Floats:
    """The last grain of a chain at rest is struck: the share of its momentum that has passed.

    Shape (steps, particles): after each step, through each contact, from the last grain on.
    """
    sim = at_rest(particles, sweeps, seed=seed)
    blow = LOAD / 1e3  # the blow is so weak that every contact stays loaded
    sim.state.velocity[particles - 1, 0] -= blow
    steps = math.ceil(0.9 * particles / theory.sound_speed(sweeps))
    passed = np.empty((steps, particles))
    for i in range(steps):
        sim.step()
        passed[i] = (forces(sim)[::-1] - LOAD) / blow
    return np.cumsum(passed, axis=0)


def arrivals(passed: Floats) -> Floats:
    """Times at which half of the pulse's momentum has passed each contact [dt]; NaN if never."""
    t = np.full(passed.shape[1], math.nan)
    for i in range(t.size):
        after = np.flatnonzero(passed[:, i] >= 0.5)
        if after.size and after[0] > 0:
            j = after[0]
            before, now = passed[j - 1, i], passed[j, i]
            t[i] = j + (0.5 - before) / (now - before)
    return t


def speed(arrival: Floats) -> float:
    """The speed of sound c, the slope of distance over arrival time [d/dt]."""
    n = arrival.size
    x = np.arange(1.0, n + 1.0)
    window = (x >= NEAR * n) & (x <= FAR * n)
    return float(np.polyfit(arrival[window], x[window], 1)[0])


def expected_momentum(sweeps: int, particles: int, steps: int) -> Floats:
    """Momentum on average over all orders of sweeps, exactly, shape (steps, particles).

    With r the forces beyond the load, from the wall on, and v the velocities (m = dt = 1): the
    sweeps of a step leave the share aᴺ of what r lacks to stop every grain, r* = −Σ v of all grains
    from a contact on; then v ← v + r − r of the next contact.
    """
    share = np.linalg.matrix_power(mean_sweep(particles), sweeps)
    v, r = np.zeros(particles), np.zeros(particles)
    v[-1] = -1.0
    passed = np.empty((steps, particles))
    for i in range(steps):
        stop = -np.cumsum(v[::-1])[::-1]
        r = stop + share @ (r - stop)
        v = v + r - np.append(r[1:], 0.0)
        passed[i] = r[::-1]
    return np.cumsum(passed, axis=0)


def run(quick: bool) -> Outcome:
    """Speeds for several numbers of sweeps, each from several seeds."""
    # Few grains and many sweeps would not do: diffusion would outrun sound.
    sweeps, particles, seeds = ((10, 30, 90), 150, 8) if quick else ((10, 20, 40, 80, 160), 400, 16)
    jobs = [(n, seed) for n in sweeps for seed in range(seeds)]
    passed = dict(zip(jobs, pmap(partial(_job, particles), jobs)))
    times, speeds, exact = {}, [], []
    for n in sweeps:
        mine = np.array([passed[n, seed] for seed in range(seeds)])
        times[n] = arrivals(mine.mean(axis=0))
        without = [arrivals(np.delete(mine, s, axis=0).mean(axis=0)) for s in range(seeds)]
        speeds.append((speed(times[n]), [speed(t) for t in without]))
        exact.append(speed(arrivals(expected_momentum(n, particles, mine.shape[1]))))
    c = np.array([v for v, _ in speeds])
    error = np.array([jackknife(parts) for _, parts in speeds])
    expected = np.array([theory.sound_speed(n) for n in sweeps])
    law = power_law(sweeps, c, error)
    parts = np.array([v for _, v in speeds]).T  # (seeds, sweeps)
    exponent_error = jackknife([power_law(sweeps, p, error).exponent for p in parts])
    # The front of the pulse is as wide as diffusion makes it on its way, l_sound √(steps); what
    # that does to the slope is of second order in l_sound / L.
    blur = np.array([(theory.sound_length(n) / (NEAR * particles)) ** 2 for n in sweeps])
    why = "(l_sound / distance)² where arrivals begin to count"
    claims = [
        Claim(
            f"exponent of c in N_I, {sweeps[0]} to {sweeps[-1]}, {particles} disks",
            law.exponent,
            exponent_error,
            seeds,
            paper=Expected.by_chance(
                0.5, exponent_error, seeds, "c ~ √N_I",
                beside=float(blur[-1]) / math.log(sweeps[-1] / sweeps[0]), why=why,
            ),
            theory=Expected.by_chance(
                power_law(sweeps, exact, error).exponent, exponent_error, seeds,
                "exact map of a step",
            ),
        ),
        *(
            Claim(
                f"c for {n} sweeps, {particles} disks [d/dt]", float(v), float(e), seeds,
                paper=Expected.by_chance(float(v0), float(e), seeds, "c = √(q N_I) d/Δt (17)",
                                         beside=float(b * v0), why=why),
                theory=Expected.by_chance(x, float(e), seeds, "exact map of a step"),
            )
            for n, v, e, v0, b, x in zip(sweeps, c, error, expected, blur, exact)
        ),
    ]  # fmt: skip
    worst = int(np.argmax(np.abs(c / expected - 1.0)))
    text = _TEXT.format(worst=100 * (c[worst] / expected[worst] - 1.0), sweeps=sweeps[worst])
    x = np.arange(1, particles + 1)
    return Outcome(
        claims,
        {
            "speed": {
                "sweeps": sweeps, "c": c, "c_error": error, "c_17": expected, "c_exact_map": exact,
            },
            "arrival": {"distance": x, **{f"sweeps_{n}": times[n] for n in sweeps}},
        },
        {"pulse": _figure(sweeps, particles, times, c, error, law)},
        text,
        range(seeds),
    )  # fmt: skip


def _job(particles: int, job: tuple[int, int]) -> Floats:
    return momentum_passed(job[0], particles, job[1])


_TEXT = (
    "The last grain of a long chain at rest under a load is struck. The blow runs to the wall as a"
    " pulse that diffusion widens; it has arrived at a contact when half of its momentum has"
    " passed, which needs no threshold. The slope of distance over time is c.\n\n"
    "Rigid grains should pass it on in no time. The speed of (17) is found instead, with nothing"
    " fitted; the largest difference is {worst:+.2f} %, for {sweeps} sweeps."
)


def _figure(
    sweeps: tuple[int, ...], particles: int, times: dict[int, Floats], c: Floats, error: Floats,
    law: Any,
) -> Any:  # fmt: skip
    from matplotlib.ticker import FixedLocator, NullLocator

    figure, (left, right) = new_figure(1, 2)
    x = np.arange(1, particles + 1)
    for n, colour in zip(sweeps, COLOURS[1:]):
        t = times[n]
        every = slice(None, None, max(1, particles // 40))
        left.plot(t[every], x[every], "o", ms=2.5, color=colour, label=f"$N_I$ = {n}")
        end = np.nanmax(t)
        left.plot([0, end], [0, theory.sound_speed(n) * end], color=colour, lw=0.8)
    for share in (NEAR, FAR):
        left.axhline(share * particles, color=COLOURS[0], lw=0.6, ls=":")
    left.set(xlabel="arrival [Δt]", ylabel="distance from the blow [d]")
    left.set(xlim=(0, None), ylim=(0, 0.8 * particles))
    left.legend(loc="lower right", frameon=True, framealpha=1.0, edgecolor="none")
    right.errorbar(sweeps, c, error, fmt="o", color=COLOURS[1], capsize=2, label="measured")
    line = np.geomspace(sweeps[0], sweeps[-1])
    right.plot(line, [theory.sound_speed(n) for n in line], color=COLOURS[2],
               label="(17), nothing fitted")  # fmt: skip
    right.set(xscale="log", yscale="log", xlabel="$N_I$", ylabel="c [d/Δt]")
    for axis, marks in ((right.xaxis, sweeps), (right.yaxis, (3, 4, 6, 8, 12))):
        axis.set_major_locator(FixedLocator(marks))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    right.set_title(f"exponent {law.exponent:.4f} ± {law.exponent_error:.4f}")
    right.legend()
    return figure


EXPERIMENT = Experiment("pulse", "c ~ √N_I from the arrival of a pulse", run)
