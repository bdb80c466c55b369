"""The dispersion relations ω(k) and τ(k) of a chain, mode by mode, up to and beyond k_c."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.forces.compare import jackknife
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, damped_sine, mean_and_error, power_law
from hardgrain.papers.unger2002.row import mode_amplitude, relaxation_rates, wavenumber
from hardgrain.parallel import pmap
from hardgrain.theory import chain as theory

SWEEPS = (10, 20, 40, 80)  # N_I, each twice the one before
GROUPS = 10  # groups of seeds; leaving out one after the other gives the errors (jackknife)
SHARES = (0.01, 0.05, 0.10)  # deviations of ω up to which (18) is said to hold


def _modes(particles: int, sweeps: int) -> range:
    """All modes with k < k_c, and the next one."""
    inside = wavenumber(np.arange(1, particles + 1), particles) < theory.critical_wavenumber(sweeps)
    return range(1, int(np.count_nonzero(inside)) + 2)


def _first_seed(sweeps: int, mode: int) -> int:
    """The first seed of a mode; no two modes share seeds, so that they are independent."""
    return 100_000 * sweeps + 1000 * mode


def _measure(job: tuple[int, int, int, float]) -> dict[str, Any]:
    """Measure ω and τ of a mode, with errors, for a row of the table that has theory beside them.

    Modes that live for more than ``effort`` steps are run once for each group. ``omegas`` and
    ``taus`` hold the value of all groups first, and then those without one group after the other.
    """
    sweeps, mode, particles, effort = job
    k, rate = wavenumber(mode, particles), relaxation_rates(particles)[mode - 1]
    steps = math.ceil(4.0 * theory.step_damping_time(rate, sweeps) + 10.0)
    # A mode that dies at once is seen in a few points only, and needs many runs.
    each = max(1, round((effort / steps) ** 1.5))
    first = _first_seed(sweeps, mode)
    groups = np.array(
        [
            np.mean(
                [
                    mode_amplitude(mode, particles, sweeps, steps, seed=first + seed)
                    for seed in range(g * each, (g + 1) * each)
                ],
                axis=0,
            )
            for g in range(GROUPS)
        ]
    )
    t = np.arange(steps + 1.0)
    means = [groups.mean(axis=0), *(np.delete(groups, g, axis=0).mean(axis=0)
                                    for g in range(GROUPS))]  # fmt: skip
    fits = [damped_sine(t, mean) for mean in means]
    omegas, taus = [f.frequency for f in fits], [f.damping_time for f in fits]
    return {
        "sweeps": sweeps,
        "mode": mode,
        "k": k,
        "k_over_kc": k / theory.critical_wavenumber(sweeps),
        "runs": GROUPS * each,
        "omega": omegas[0],
        "omega_error": jackknife(omegas[1:]),
        "omega_18": theory.frequency(k, sweeps),
        "omega_step": theory.step_frequency(rate, sweeps),
        "tau": taus[0],
        "tau_error": jackknife(taus[1:]),
        "tau_20": 2.0 / (theory.diffusion(sweeps) * k**2),
        "tau_step": theory.step_damping_time(rate, sweeps),
        "omegas": omegas,
        "taus": taus,
    }


def _crossing(x: Floats, y: Floats, level: float) -> float:
    """The x at which y, which grows with x, reaches the level, by logarithmic interpolation."""
    above = np.flatnonzero(y >= level)
    if above.size == 0 or above[0] == 0:
        return math.nan
    i = above[0]
    u, v = np.log(x[i - 1 : i + 1]), np.log(np.maximum(y[i - 1 : i + 1], 1e-12))
    return math.exp(np.interp(math.log(level), v, u))


@dataclass(frozen=True)
class Special:
    """The figures at k_c, for one set of ω(k) and τ(k) of all numbers of sweeps."""

    reach: Floats  # (shares,) k/k_c up to which (18) gives ω, mean over N_I
    ratio: float  # k at which a wave dies by 1/e² in a step / k_c of (19), mean over N_I
    exponent: float  # exponent of that k as a power of N_I
    omega: float  # ω there, mean over N_I [1/dt]

    @classmethod
    def of(cls, table: dict[str, Floats], omega: Floats, tau: Floats) -> Special:
        """Find them from ω and τ of all modes of the table."""
        reach, found, omegas = [], [], []
        for sweeps in SWEEPS:
            mine = table["sweeps"] == sweeps
            inside = mine & (table["k_over_kc"] < 1.0)
            off = np.abs(omega[inside] / table["omega_18"][inside] - 1.0)
            reach.append([_crossing(table["k_over_kc"][inside], off, s) for s in SHARES])
            k = _crossing(table["k"][mine], 1.0 / tau[mine], 2.0)
            found.append(k)
            omegas.append(float(np.interp(k, table["k"][mine], omega[mine])))
        kc = np.array([theory.critical_wavenumber(n) for n in SWEEPS])
        ratio = float(np.mean(np.array(found) / kc))
        return cls(np.mean(reach, axis=0), ratio, power_law(SWEEPS, found).exponent,
                   float(np.mean(omegas)))  # fmt: skip


def run(quick: bool) -> Outcome:
    """Excite mode by mode, measure, compare with the continuum and with the exact map."""
    particles, effort = (30, 12) if quick else (100, 160)
    jobs = [(n, mode, particles, effort) for n in SWEEPS for mode in _modes(particles, n)]
    rows = pmap(_measure, jobs)
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    omegas, taus = table.pop("omegas").T, table.pop("taus").T  # (1 + groups, modes)
    outcome = Outcome(text=_TEXT, tables={"modes": dict(table)})
    outcome.seeds = [
        _first_seed(row["sweeps"], row["mode"]) + i for row in rows for i in range(row["runs"])
    ]
    what = f"{particles} disks, N_I = {', '.join(map(str, SWEEPS))}"

    for name, symbol in (("omega", "ω"), ("tau", "τ")):
        off = table[name] / table[f"{name}_step"] - 1.0
        for low, high, where in ((0.0, 0.5, "k < k_c/2"), (0.5, 1.0, "k_c/2 < k < k_c")):
            mine = (table["k_over_kc"] >= low) & (table["k_over_kc"] < high)
            mean, error = mean_and_error(off[mine])
            modes = int(np.count_nonzero(mine))
            outcome.claims.append(
                Claim(
                    f"{symbol} over that of the exact map, minus 1, mean over {modes} modes with"
                    f" {where}, {what}",
                    mean,
                    error,
                    modes,
                    theory=Expected.by_chance(0.0, error, modes),
                )
            )
    inside = table["k_over_kc"] < 1.0
    mean, error = mean_and_error((table["tau"] / table["tau_20"])[inside])
    modes = int(np.count_nonzero(inside))
    # With k d = x, −ln(1 − µ) = q x² (1 − (0.38 − q/2) x² …): in τ, 0.02 x²; and the wall's 0.07/n.
    short = 0.02 * float(table["k"][inside].max()) ** 2 + 0.07 / particles
    outcome.claims.append(
        Claim(
            f"τ over (20), mean over {modes} modes with k < k_c, {what}",
            mean,
            error,
            modes,
            paper=Expected.by_chance(
                1.0, error, modes, "(20) for the oscillating modes", beside=short,
                why="what (20) neglects of the grains' size at the shortest wave, and of the wall",
            ),
        )
    )  # fmt: skip

    whole = Special.of(table, omegas[0], taus[0])
    parts = [Special.of(table, o, t) for o, t in zip(omegas[1:], taus[1:])]
    exact = Special.of(table, table["omega_step"], table["tau_step"])
    error = jackknife([p.ratio for p in parts])
    outcome.claims.append(
        Claim(
            f"k at which a wave dies by 1/e² in a step (τ = dt/2) over k_c, mean over N_I, {what}",
            whole.ratio,
            error,
            GROUPS,
            paper=Expected.by_chance(
                1.0, error, GROUPS, "k_c = 2c/D (19), where (20) gives τ = dt/2",
                beside=0.5 * short, why="half of what (20) neglects there",
            ),
            theory=Expected.by_chance(exact.ratio, error, GROUPS, "exact map of a step"),
        )
    )  # fmt: skip
    error = jackknife([p.exponent for p in parts])
    outcome.claims.append(
        Claim(
            f"exponent of that k in N_I, {what}",
            whole.exponent,
            error,
            GROUPS,
            paper=Expected.by_chance(
                -0.5, error, GROUPS, "k_c ~ 1/√N_I",
                beside=short / math.log(SWEEPS[-1] / SWEEPS[0]),
                why="what (20) neglects, from the fewest sweeps to the most",
            ),
            theory=Expected.by_chance(exact.exponent, error, GROUPS, "exact map of a step"),
        )
    )  # fmt: skip
    error = jackknife([p.omega for p in parts])
    outcome.claims.append(
        Claim(
            f"ω at that k [1/dt], {what}",
            whole.omega,
            error,
            GROUPS,
            paper=Expected.by_chance(0.0, error, GROUPS, "ω(k) becomes zero at k_c"),
            theory=Expected.by_chance(
                exact.omega, error, GROUPS, "exact map, arccos(1/e²) = 1.435"
            ),
            differs="a step of finite length has no overdamped waves: their eigenvalues stay"
            " complex, and ω goes on to π/2. But within one step such a wave is gone, so the"
            " paper's picture of what lives on is right",
        )
    )
    for i, share in enumerate(SHARES):
        error = jackknife([p.reach[i] for p in parts])
        outcome.claims.append(
            Claim(
                f"k/k_c up to which (18) gives ω within {share:.0%}, mean over N_I, {what}",
                float(whole.reach[i]),
                error,
                GROUPS,
                paper=Expected.by_chance(
                    1.0, error, GROUPS, "(18) works well for all the oscillating modes, N_I ≥ 10",
                    side="at least",
                ),
                theory=Expected.by_chance(
                    float(exact.reach[i]), error, GROUPS, "exact map, between the same modes"
                ),
                differs="(18) is the limit of short steps; it gives too low an ω where a wave is"
                " damped within a few steps. The exact map of a step describes what is found",
            )
        )  # fmt: skip
    outcome.figures["dispersion"] = _figure(table)
    return outcome


_TEXT = (
    "A chain at rest under a load is given the velocities of one standing wave, so gently that no"
    " contact opens, and the wave is followed by projection, averaged over seeds. A damped sine"
    " gives ω and τ.\n\n"
    "τ obeys (20) to the largest k. ω obeys (18) only as long as a wave lives for several steps."
    " The exact map, cos ω dt = √a with a = (1 − µ)^N_I what a step leaves of the wave's error,"
    " describes all of them with nothing fitted. At k_c of (19) a wave loses all but 1/e² in a"
    " step, and beyond it nothing is left to oscillate; but ω does not vanish there, it rises."
)


def _figure(table: dict[str, Floats]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    for sweeps, colour in zip(SWEEPS, COLOURS[1:]):
        mine = table["sweeps"] == sweeps
        kc = theory.critical_wavenumber(sweeps)
        k = np.linspace(0.02, 1.25, 300) * kc
        rate = theory.relaxation_rate(k)
        dots = {"fmt": "o", "ms": 3, "color": colour}
        x = table["k_over_kc"][mine]
        left.errorbar(x, table["omega"][mine], table["omega_error"][mine], **dots,
                      label=f"$N_I$ = {sweeps}")  # fmt: skip
        left.plot(k / kc, theory.step_frequency(rate, sweeps), color=colour, lw=0.8)
        right.errorbar(x, table["tau"][mine], table["tau_error"][mine], **dots)
        right.plot(k / kc, theory.step_damping_time(rate, sweeps), color=colour, lw=0.8)
    x = np.linspace(0.02, 1.0, 300)
    left.plot(x, 2.0 * x * np.sqrt(1.0 - x**2), color=COLOURS[0], ls="--", label="(18)")
    right.plot([0.02, 1.25], [0.5 / 0.02**2, 0.5 / 1.25**2], color=COLOURS[0], ls="--",
               label="(20)")  # fmt: skip
    right.axhline(0.5, color=GREY, lw=0.8, ls=":")
    right.text(0.05, 0.52, "gone within a step, τ = Δt/2", color=GREY, fontsize=8, va="bottom")
    left.axhline(math.pi / 2, color=GREY, lw=0.8, ls=":")
    left.plot([], [], color=GREY, lw=0.8, label="exact map of a step")
    left.set(xlabel="k / k$_c$", ylabel="ω [1/Δt]", xlim=(0, None), ylim=(0, 1.7))
    right.set(xlabel="k / k$_c$", ylabel="τ [Δt]", xscale="log", yscale="log")
    left.legend(loc="lower center")
    right.legend()
    return figure


EXPERIMENT = Experiment("dispersion", "Dispersion: ω(k), τ(k) and k_c of a chain", run)
