"""Global elasticity: a chain under load sags like springs, and rings like springs and dashpots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, damped_sine, mean_and_error
from hardgrain.papers.unger2002.row import (
    LOAD,
    SUBSTEPS,
    at_rest,
    mode_amplitude,
    neglected,
    relaxation_rates,
    shape,
    soft_mode_amplitude,
    wavenumber,
)
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

SWEEPS = 40  # N_I of Fig. 4
PARTICLES = 50  # number of disks of its chain
ZETA_HALF = -1.4603545088095868  # Riemann's ζ(½)


# ---------------------------------------------------------------------- sag
def _sag(job: tuple[int, int, float, int]) -> float:
    """How much a chain at rest shortens in the end if its load grows by ``more`` loads [d]."""
    particles, sweeps, more, seed = job
    sim = at_rest(particles, sweeps, seed=seed, force=(1.0 + more) * LOAD)
    start = sim.state.position[particles - 1, 0]
    # 9 damping times: 10⁻⁴ of the oscillation is left
    for _ in range(math.ceil(9.0 * theory.damping_time(wavenumber(1, particles), sweeps))):
        sim.step()
    return float(start - sim.state.position[particles - 1, 0])


def step_shrinkage(force: float, particles: int, sweeps: int) -> float:
    """How much a force shortens a chain, mode by mode with the exact map of a step [d].

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
    """Stiffness κ and damping γ of the chain whose slowest mode has this ω and τ, for unit mass."""
    k = wavenumber(1, PARTICLES)
    curvature = 2.0 - 2.0 * math.cos(k)
    return (omega**2 + tau**-2.0) / curvature, 2.0 / (tau * curvature)


def _step_springs(sweeps: int, dt: float) -> tuple[float, float]:
    """Stiffness κ and damping γ for the ω and τ of the exact map of a step."""
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
    lengths = (20, 30, 40) if quick else (30, 45, 60, 75, 90)
    seeds = 8 if quick else 16
    outcome.seeds = range(seeds)
    jobs = [(PARTICLES, SWEEPS, more, 0) for more in loads]
    jobs += [(n, SWEEPS, 1.0, seed) for n in lengths[::-1] for seed in range(seeds)]
    found = dict(zip(jobs, pmap(_sag, jobs)))
    by_load = np.array([found[PARTICLES, SWEEPS, more, 0] for more in loads])
    per_load = by_load / (np.array(loads) * LOAD)
    outcome.claims.append(
        Claim(
            f"sag per load of {PARTICLES} disks, {SWEEPS} sweeps, largest over smallest, added"
            f" loads of {loads[0]:g} to {loads[-1]:g} of the old one",
            float(per_load.max() / per_load.min()),
            paper=Expected(
                1.0, math.exp(-9.0), "what 9 damping times leave of the oscillation",
                "shrinkage proportional to the load",
            ),
            note="also a smaller load, under which the chain grows again; same seed for all",
        )
    )  # fmt: skip
    sag = np.array([[found[n, SWEEPS, 1.0, s] / LOAD for n in lengths] for s in range(seeds)])
    mean, error = (np.array(c) for c in zip(*(mean_and_error(column) for column in sag.T)))
    exact = np.array([step_shrinkage(1.0, n, SWEEPS) for n in lengths])
    length, kappa = np.array(lengths, dtype=float), theory.stiffness(SWEEPS)
    lines = np.array([_line(length, y) for y in sag])
    (stiff, rigid), (stiff_error, rigid_error) = lines.mean(axis=0), [
        mean_and_error(column)[1] for column in lines.T
    ]  # fmt: skip
    exact_stiff, exact_rigid = _line(length, exact)
    what = f"{SWEEPS} sweeps, {lengths[0]} to {lengths[-1]} disks"
    outcome.claims.append(
        Claim(
            f"κ from the growth of the sag with length, {what} [m/dt²]",
            stiff,
            stiff_error,
            seeds,
            paper=Expected.by_chance(
                kappa, stiff_error, seeds, "(24)", beside=0.07 / lengths[0] * kappa,
                why="0.07/n, by which the wall slows the sweeps",
            ),
            theory=Expected.by_chance(exact_stiff, stiff_error, seeds, "exact map of a step"),
        )
    )  # fmt: skip
    outcome.claims.append(
        Claim(
            f"grains at the loaded end that do not sag, from the same lines, {what}",
            rigid,
            rigid_error,
            seeds,
            paper=Expected.by_chance(0.0, rigid_error, seeds, "n springs, one for each grain"),
            theory=Expected.by_chance(exact_rigid, rigid_error, seeds, "exact map of a step"),
            differs="within the step in which a load comes, the sweeps carry it over some grains,"
            " which therefore need not give way",
            note=f"long chains: −ζ(½) √(q N_I/π) = {end_that_stays(SWEEPS):.3g}, 0.41 l_diff",
        )
    )
    for i in (0, -1):
        springs = lengths[i] / kappa
        outcome.claims.append(
            Claim(
                f"sag per load of {lengths[i]} disks, {SWEEPS} sweeps [dt²/m]",
                mean[i],
                error[i],
                seeds,
                paper=Expected.by_chance(springs, error[i], seeds, "n springs of (24): n/κ"),
                theory=Expected.by_chance(exact[i], error[i], seeds, "exact map, mode by mode"),
                differs="0.41 l_diff at the loaded end does not sag: n − n₀ springs, not n",
            )
        )
    outcome.tables["load"] = {"added_load": loads, "sag": by_load}
    outcome.tables["length"] = {
        "particles": lengths, "sag_per_load": mean, "error": error, "springs": length / kappa,
        "step_map": exact,
    }  # fmt: skip
    return {"loads": loads, "by_load": by_load, **outcome.tables["length"]}


def _line(length: Floats, sag: Floats) -> tuple[float, float]:
    """Springs in a row, (n − n₀)/κ: κ and n₀."""
    slope, at_zero = np.polyfit(length, sag, 1)
    return 1.0 / slope, -at_zero / slope


def end_that_stays(sweeps: float) -> float:
    """The number n₀ of grains at the loaded end of a long chain that do not sag [1]."""
    return -ZETA_HALF * math.sqrt(theory.q() * sweeps / math.pi)


def _run_ringing(quick: bool, outcome: Outcome) -> dict[str, Any]:
    seeds = 8 if quick else 24
    outcome.seeds = range(max(seeds, len(outcome.seeds)))
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
    rate = relaxation_rates(PARTICLES)[0]
    exact = theory.step_frequency(rate, SWEEPS), theory.step_damping_time(rate, SWEEPS)
    for i, symbol in enumerate("ωτ"):
        value, error = mean_and_error(rigid[halvings[0]][i])
        # explicit steps make the soft chain's damping wrong by about one of them
        share = neglected(PARTICLES, SWEEPS)[i] + 1.0 / SUBSTEPS
        outcome.claims.append(
            Claim(
                f"{symbol} of {PARTICLES} rigid disks, {SWEEPS} sweeps, against soft ones with κ,"
                f" γ of (24, 25) [{'1/dt' if i == 0 else 'dt'}]",
                value,
                error,
                seeds,
                paper=Expected.by_chance(
                    soft[i], error, seeds, "identical to its MD counterpart on large scales",
                    beside=share * soft[i],
                    why="finite steps, grains and wall, and explicit steps of the soft chain",
                ),
                theory=Expected.by_chance(exact[i], error, seeds, "exact map of a step"),
                note="what the paper has it compared with was measured too, by soft particles",
            )
        )  # fmt: skip
    outcome.claims.append(
        Claim(
            f"ω of {PARTICLES} soft disks with a wall no stiffer than a grain, over that of their"
            " mirrored chain",
            wall[0] / soft[0],
            theory=Expected(
                _soft_frequency(PARTICLES + 0.5) / _soft_frequency(PARTICLES), 1.0 / SUBSTEPS**2,
                "second order in the explicit steps, whose first order is the same in both",
                "chains of n + ½ and n springs",
            ),
            note="contact dynamics makes a wall twice as stiff as a grain: the contact moves the"
            " whole mass m, not m/2. A mirrored chain has the same; a wall with the spring of (24)"
            " makes the chain half a grain longer",
        )
    )  # fmt: skip
    table: dict[str, list[float]] = {"sweeps": [], "dt": [], "kappa": [], "gamma": []}
    springs = {key: np.array(_springs(*v)) for key, v in rigid.items()}  # (2, seeds)
    for (n, dt), (kappas, gammas) in springs.items():
        for name, value in zip(table, (n, dt, kappas.mean(), gammas.mean())):
            table[name].append(float(value))
    for last in halvings[1:]:
        for i, (symbol, expected) in enumerate((("κ", 1.0 / last[1]), ("γ", 1.0))):
            ratio, error = mean_and_error(springs[last][i] / springs[halvings[0]][i])
            exact_ratio = _step_springs(*last)[i] / _step_springs(*halvings[0])[i]
            # κ ~ ω², γ ~ 1/τ; what (18) and (20) neglect is largest for the most sweeps
            share = (2.0, 1.0)[i] * neglected(PARTICLES, SWEEPS)[i]
            outcome.claims.append(
                Claim(
                    f"{symbol} with {last[0]} sweeps and dt = {last[1]:g}, over that with"
                    f" {SWEEPS} and 1, {PARTICLES} disks",
                    ratio,
                    error,
                    seeds,
                    paper=Expected.by_chance(
                        expected, error, seeds,
                        "(24): doubles with each halving" if i == 0 else "(25): stays",
                        beside=share * expected, why="what the continuum neglects",
                    ),
                    theory=Expected.by_chance(exact_ratio, error, seeds, "exact map of a step"),
                )
            )  # fmt: skip
    outcome.tables["springs"] = dict(table)
    mean = np.mean([found["rigid", SWEEPS, 1.0, s] for s in range(seeds)], axis=0)
    curves = {"time": np.arange(mean.size), "rigid": mean, "soft": found["soft", SWEEPS, 1.0, 0]}
    outcome.tables["ringing"] = dict(curves)
    return curves


def _soft_frequency(springs: float) -> float:
    """Frequency ω of the slowest wave of as many springs and dashpots (24, 25) [1/dt]."""
    stiff = 4.0 * math.sin(math.pi / (4.0 * springs)) ** 2
    kappa, gamma = theory.stiffness(SWEEPS), theory.damping(SWEEPS)
    return math.sqrt(kappa * stiff - (0.5 * gamma * stiff) ** 2)


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
