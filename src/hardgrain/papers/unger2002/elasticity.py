"""Global elasticity: a chain under load sags like springs, and rings like springs and dashpots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, damped_sine, mean_and_error
from hardgrain.papers.unger2002.row import (
    LOAD,
    at_rest,
    mode_amplitude,
    relaxation_rates,
    shape,
    soft_mode_amplitude,
    wavenumber,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

SWEEPS = 40
PARTICLES = 50
ZETA_HALF = -1.4603545088095868  # Riemann's ζ(½)


# ---------------------------------------------------------------------- sag
def _sag(job: tuple[int, int, float, int]) -> float:
    """By how much a chain at rest shortens in the end if its load grows by ``more`` loads [d]."""
    particles, sweeps, more, seed = job
    sim = at_rest(particles, sweeps, seed=seed, force=(1.0 + more) * LOAD)
    start = sim.state.position[particles - 1, 0]
    # 9 damping times: 10⁻⁴ of the oscillation is left
    for _ in range(math.ceil(9.0 * theory.damping_time(wavenumber(1, particles), sweeps))):
        sim.step()
    return float(start - sim.state.position[particles - 1, 0])


def step_shrinkage(force: float, particles: int, sweeps: int) -> float:
    """By how much a force shortens a chain, mode by mode with the exact map of a step [d].

    Let a load put f into a mode in each step. In the notation of `hardgrain.theory.chain`
    P ← a P − (1 − a)(V + f) and V ← V + f + P. From rest to rest the changes of P add up to −f,
    which leaves Σ V = f a/(1 − a): the spring 1/(N µ) of the continuum for slow modes, nothing for
    those that a step finishes. In a long chain it is what n − n₀ springs give, with
    n₀ = q N (2/π) ∫ [1/s − 1/(e^s − 1)] dk, s = q N k², or −ζ(½) √(q N/π).
    """
    modes = np.arange(1, particles + 1)
    a = (1.0 - relaxation_rates(particles)) ** sweeps
    last = np.array([shape(int(j), particles)[-1] for j in modes])
    return float(force * np.sum(last**2 * a / (1.0 - a)))


# ---------------------------------------------------------------------- ringing
def _ring(job: tuple[str, int, float, int]) -> Floats:
    """The slowest mode of a chain over time: rigid grains, or soft ones with (24) and (25)."""
    kind, sweeps, dt, seed = job
    tau = theory.damping_time(wavenumber(1, PARTICLES), sweeps, dt)
    steps = math.ceil(5.0 * tau / dt)
    if kind == "rigid":
        return mode_amplitude(1, PARTICLES, sweeps, steps, seed=seed, dt=dt)
    stiffness, damping = theory.stiffness(sweeps, dt), theory.damping(sweeps, dt)
    return soft_mode_amplitude(PARTICLES, stiffness, damping, steps, dt, wall=kind == "soft, wall")


def _springs(omega: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """κ and γ of the chain whose slowest mode has this ω and τ, for unit mass."""
    k = wavenumber(1, PARTICLES)
    curvature = 2.0 - 2.0 * math.cos(k)
    return (omega**2 + tau**-2.0) / curvature, 2.0 / (tau * curvature)


def _step_springs(sweeps: int, dt: float) -> tuple[float, float]:
    """The same, for the ω and τ of the exact map of a step."""
    rate = relaxation_rates(PARTICLES)[0]
    omega = theory.step_frequency(rate, sweeps, dt)
    kappa, gamma = _springs(omega, theory.step_damping_time(rate, sweeps, dt))
    return float(kappa), float(gamma)


def run(quick: bool) -> Outcome:
    """Sag against load and length; rigid against soft grains; sweeps and step halved together."""
    outcome = Outcome(text=_TEXT)
    sag = _run_sag(quick, outcome)
    ring = _run_ringing(quick, outcome)
    outcome.figures["elasticity"] = _figure(sag, ring)
    return outcome


def _run_sag(quick: bool, outcome: Outcome) -> dict[str, Any]:
    loads = (-0.4, 1.0, 2.0, 4.0)
    lengths = (20, 30, 40, 50) if quick else (30, 45, 60, 75, 90)
    seeds = 4 if quick else 8
    jobs = [(PARTICLES, SWEEPS, more, 0) for more in loads]
    jobs += [(n, SWEEPS, 1.0, seed) for n in lengths[::-1] for seed in range(seeds)]
    found = dict(zip(jobs, pmap(_sag, jobs)))
    by_load = np.array([found[PARTICLES, SWEEPS, more, 0] for more in loads])
    per_load = by_load / (np.array(loads) * LOAD)
    outcome.claims.append(
        Claim(
            f"sag per load, largest over smallest, added loads of {loads[0]:g} to {loads[-1]:g} of"
            " the old one",
            float(per_load.max() / per_load.min()),
            theory=1.0,
            # the oscillation still there is 10⁻⁴, and the same in all
            tolerance=1e-4,
            paper="shrinkage proportional to the load",
            note="also a smaller load, under which the chain grows again; same seed for all",
        )
    )
    means = [mean_and_error([found[n, SWEEPS, 1.0, s] / LOAD for s in range(seeds)])
             for n in lengths]  # fmt: skip
    length = np.array(lengths, dtype=float)
    mean, error = (np.array(column) for column in zip(*means))
    (slope, at_zero), covariance = np.polyfit(length, mean, 1, w=1.0 / error, cov="unscaled")
    rigid = -at_zero / slope  # length that does not sag
    slack = np.array([at_zero / slope**2, -1.0 / slope])
    kappa = theory.stiffness(SWEEPS)
    outcome.claims.append(
        Claim.relative(
            f"κ from the growth of the sag with length, {SWEEPS} sweeps [m/dt²]",
            1.0 / slope,
            kappa,
            0.03 if quick else 0.015,
            error=math.sqrt(covariance[0, 0]) / slope**2,
            paper="(24)",
        )
    )
    outcome.claims.append(
        Claim(
            "grains at the loaded end that do not sag, from the same line",
            rigid,
            error=math.sqrt(slack @ covariance @ slack),
            theory=-ZETA_HALF * math.sqrt(theory.q() * SWEEPS / math.pi),
            tolerance=0.4,  # three standard errors
            paper="none: n springs",
            note="theory: −ζ(½) √(q N_I/π), 0.41 l_diff, from the exact map of a step",
        )
    )
    exact = np.array([step_shrinkage(1.0, n, SWEEPS) for n in lengths])
    worst = int(np.argmax(np.abs(mean / exact - 1.0)))
    outcome.claims.append(
        Claim.relative(
            f"sag per load of {lengths[worst]} disks, the worst of {len(lengths)} lengths [dt²/m]",
            mean[worst],
            exact[worst],
            0.02 if quick else 0.01,
            error=error[worst],
            paper=f"n/κ = {lengths[worst] / kappa:.4g}",
            note="theory: the sum over modes of the exact map",
        )
    )
    outcome.tables["load"] = {"added_load": loads, "sag": by_load}
    outcome.tables["length"] = {
        "particles": lengths, "sag_per_load": mean, "error": error, "springs": length / kappa,
        "step_map": exact,
    }  # fmt: skip
    return {"loads": loads, "by_load": by_load, **outcome.tables["length"]}


def _run_ringing(quick: bool, outcome: Outcome) -> dict[str, Any]:
    seeds = 6 if quick else 24
    halvings = [(SWEEPS, 1.0), (SWEEPS // 2, 0.5)] + ([] if quick else [(SWEEPS // 4, 0.25)])
    jobs = [("rigid", n, dt, seed) for n, dt in halvings[::-1] for seed in range(seeds)]
    jobs += [("soft", SWEEPS, 1.0, 0), ("soft, wall", SWEEPS, 1.0, 0)]
    found = dict(zip(jobs, pmap(_ring, jobs)))

    def fit(job: tuple[str, int, float, int]) -> tuple[float, float]:
        f = damped_sine(job[2] * np.arange(found[job].size), found[job])
        return f.frequency, f.damping_time

    rigid = {
        (n, dt): np.array([fit(("rigid", n, dt, seed)) for seed in range(seeds)]).T
        for n, dt in halvings
    }
    soft, wall = fit(("soft", SWEEPS, 1.0, 0)), fit(("soft, wall", SWEEPS, 1.0, 0))
    first = rigid[halvings[0]]
    for i, (symbol, share) in enumerate((("ω", 0.003), ("τ", 0.015))):
        value, error = mean_and_error(first[i])
        outcome.claims.append(
            Claim.relative(
                f"{symbol} of {PARTICLES} rigid disks, {SWEEPS} sweeps, against soft ones with κ,"
                f" γ of (24, 25) [{'1/dt' if i == 0 else 'dt'}]",
                value,
                soft[i],
                share,
                error=error,
                paper="identical on large scales",
                note="the number to compare with was measured too, by the soft-particle engine",
            )
        )
    ratio = (2 * PARTICLES) / (2 * PARTICLES + 1)
    outcome.claims.append(
        Claim.relative(
            "ω of the soft chain if its wall is no stiffer than a grain, over the rigid one's",
            wall[0] / mean_and_error(first[0])[0],
            ratio,
            0.003,
            note="contact dynamics makes a wall twice as stiff as a grain: the contact moves the"
            " whole mass m, not m/2. A mirrored chain has the same; a wall with the spring of (24)"
            " makes the chain half a grain longer",
        )
    )
    table: dict[str, list[float]] = {"sweeps": [], "dt": [], "kappa": [], "gamma": []}
    springs = {key: np.array([mean_and_error(x) for x in _springs(*v)]) for key, v in rigid.items()}
    for (n, dt), ((kappa, _), (gamma, _)) in springs.items():
        for name, value in zip(table, (n, dt, kappa, gamma)):
            table[name].append(value)
    for last in halvings[1:]:
        for i, (symbol, expected) in enumerate((("κ", 1.0 / last[1]), ("γ", 1.0))):
            (a, a_error), (b, b_error) = springs[halvings[0]][i], springs[last][i]
            exact = _step_springs(*last)[i] / _step_springs(*halvings[0])[i]
            outcome.claims.append(
                Claim.relative(
                    f"{symbol} with {last[0]} sweeps and dt = {last[1]:g}, over that with"
                    f" {SWEEPS} and 1",
                    b / a,
                    expected,
                    0.02 if quick else 0.015,
                    error=b / a * math.hypot(a_error / a, b_error / b),
                    paper="(24): doubles with each halving" if i == 0 else "(25): stays",
                    note=f"exact map of a step: {exact:.4f}",
                )
            )
    outcome.tables["springs"] = dict(table)
    mean = np.mean([found["rigid", SWEEPS, 1.0, s] for s in range(seeds)], axis=0)
    curves = {"time": np.arange(mean.size), "rigid": mean, "soft": found["soft", SWEEPS, 1.0, 0]}
    outcome.tables["ringing"] = dict(curves)
    return curves


_TEXT = (
    "Sag: the load of a chain at rest is changed, and the chain rings to its new length. It sags in"
    " proportion to the load and comes back when the load is taken away, grain by grain as stiff"
    " as (24) says. Only the total is less than n springs give: within one step the sweeps carry a"
    " new load over 0.41 l_diff, and so many grains at the loaded end behave as rigid ones, as the"
    " exact map of a step says.\n\n"
    "Ringing: the slowest wave of rigid grains and that of soft ones with the spring and dashpot of"
    " (24) and (25), run by the soft-particle engine, have the same ω and τ. Halving sweeps and"
    " step together, for the same work, doubles κ and leaves γ."
)


def _figure(sag: dict[str, Any], ring: dict[str, Any]) -> Any:
    figure, (left, middle, right) = new_figure(1, 3, width=3.9)
    loads = np.array(sag["loads"])
    left.plot(loads, sag["by_load"] / LOAD, "o", color=COLOURS[1], label=f"{PARTICLES} disks")
    line = np.array([-0.7, 4.2])
    left.plot(line, line * step_shrinkage(1.0, PARTICLES, SWEEPS), color=COLOURS[2], lw=0.8,
              label="exact map of a step")  # fmt: skip
    left.plot(line, line * PARTICLES / theory.stiffness(SWEEPS), "--", color=COLOURS[0], lw=0.8,
              label="springs of (24)")  # fmt: skip
    left.set(xlabel="added load [F]", ylabel="sag [F Δt²/m]")
    left.axhline(0.0, color=GREY, lw=0.5)
    left.axvline(0.0, color=GREY, lw=0.5)
    left.legend(loc="upper left")
    n = np.arange(0, max(sag["particles"]) + 5)
    middle.errorbar(sag["particles"], sag["sag_per_load"], sag["error"], fmt="o",
                    color=COLOURS[1], label=f"$N_I$ = {SWEEPS}")  # fmt: skip
    middle.plot(n[5:], [step_shrinkage(1.0, int(i), SWEEPS) for i in n[5:]], color=COLOURS[2],
                lw=0.8, label="exact map of a step")  # fmt: skip
    middle.plot(n, n / theory.stiffness(SWEEPS), "--", color=COLOURS[0], lw=0.8,
                label="springs of (24)")  # fmt: skip
    middle.set(xlabel="disks", ylabel="sag per load [Δt²/m]", xlim=(0, None), ylim=(0, None))
    middle.legend(loc="upper left")
    right.plot(ring["time"], ring["rigid"], "o", ms=2, color=COLOURS[1], label="rigid disks")
    right.plot(ring["time"], ring["soft"], color=COLOURS[2], lw=0.8, label="soft, κ (24), γ (25)")
    right.set(xlabel="time [Δt]", ylabel="velocity of the slowest mode [start]", xlim=(0, 250))
    right.legend(loc="upper right")
    return figure


EXPERIMENT = Experiment("elasticity", "Global elasticity: springs, dashpots and soft disks", run)
