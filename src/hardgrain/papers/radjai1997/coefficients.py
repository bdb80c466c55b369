"""The paper's Fig. 12: µ_g against the coefficients of friction of disks, plane and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.radjai1997.array import pieces, steady_state
from hardgrain.papers.radjai1997.exact.solution import ArraySolution
from hardgrain.papers.radjai1997.scene import BLOCK_MASS, contact_dynamics, scene
from hardgrain.theory import array as theory

SIZE, DRIVE, BRAKE, BLOCK = 30, 4.0, 0.01, 0.01  # disks, N_L, N_0 [m g] and µ'' of Fig. 12
MU, PLANE = 0.01, 0.1  # the coefficient that is not varied: µ in (b), µ' in (a)
POINTS = 150  # number of points of the curve (a)
PLATEAU = 0.0684253596228  # value of the plateau of (b), by an independent program
CLOSE = 1e-8  # accuracy of the place where modes change; slip rates below 1e-9 count as none
BISECTION = "two bisections, each to 10⁻⁸"
LAW = 1e-6  # [m g] difference that converged forces of contact dynamics may have
RESIDUAL = "what a residual of 10⁻¹² leaves in the forces: times L²/m_b = 10⁵, with a margin of 10"


def run(quick: bool) -> Outcome:
    """Compute both curves, the places where their modes change, and the effect of the blocks."""
    outcome = Outcome(text=_TEXT)
    few = 15 if quick else 150
    a = np.append(np.geomspace(1e-4, 0.95, POINTS), (0.0, 0.02))
    b = np.append(np.geomspace(1e-4, 0.95, few), np.linspace(0.04, 0.14, few))
    for name, jobs in (
        ("fig12a", [(float(mu), PLANE, BLOCK) for mu in np.sort(a)]),
        ("fig12b", [(MU, float(plane), BLOCK) for plane in np.sort(b)]),
        ("blocks", [(mu, plane, block) for mu, plane in ((0.04, 0.1), (0.01, 0.1), (0.01, 0.2))
                    for block in (0.0, 0.001, 0.01, 0.03, 0.1, 0.3)]),
    ):  # fmt: skip
        rows = [_point(job, ranged=not quick) for job in jobs]
        outcome.tables[name] = {k: np.array([row[k] for row in rows]) for k in rows[0]}
    _disks(outcome)
    _plane(outcome)
    _blocks(outcome)
    _checks(outcome, 1 if quick else 4)
    outcome.figures["fig12"] = _figure(outcome.tables)
    return outcome


def _state(mu: float, plane: float, block: float = BLOCK, **options: Any) -> ArraySolution:
    return steady_state(SIZE, DRIVE, BRAKE, mu, plane, block, **options)


def _point(coefficients: tuple[float, float, float], ranged: bool) -> dict[str, float]:
    """A row of the tables; ``ranged`` adds the least and the greatest µ_g of all solutions."""
    found = _state(*coefficients)
    mu, plane, block = coefficients
    first, second, third = found.modes
    row = {"mu": mu, "mu_plane": plane, "mu_block": block, "friction": found.friction,
           "acceleration": found.acceleration, "mode_1": first, "mode_2": second,
           "mode_3": third}  # fmt: skip
    if ranged:
        row["least"], row["greatest"] = found.friction_range
    return row


def _change(is_low: Callable[[float], bool], low: float, high: float) -> float:
    """The place at which ``is_low`` ceases to hold, by bisection."""
    while high - low > CLOSE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_low(middle) else (low, middle)
    return 0.5 * (low + high)


def _rolling(mu: float) -> tuple[float, float]:
    """The values of v̇ and µ_g if all disks roll, in closed form."""
    inertia, friction = theory.rolling_array(SIZE, BRAKE, mu, BLOCK)
    v = (DRIVE - BRAKE - SIZE * friction) / inertia
    return v, (DRIVE - BRAKE) / SIZE - v


def _least_plane(mu: float) -> float:
    """The least µ' for which all disks roll, which is the greatest T'/N'."""
    v, _ = _rolling(mu)
    some = 0.5
    return some * float(theory.rolling_mobilisation(SIZE, v, BRAKE, mu, some, BLOCK).max())


def _disks(outcome: Outcome) -> None:
    """Judge the curve of Fig. 12a, where µ varies."""
    t: dict[str, Any] = outcome.tables["fig12a"]
    fall = np.maximum.accumulate(t["friction"]) - t["friction"]
    rolls = _change(lambda mu: _state(mu, PLANE).modes[0] == SIZE, 1e-4, 0.05)
    counter = _change(lambda mu: _state(mu, PLANE).modes[2] < SIZE, 0.1, 0.9)
    inertia, friction = theory.moving_array(SIZE, 0, BRAKE, MU, PLANE, BLOCK, block=-1)
    v = (DRIVE - BRAKE - SIZE * friction) / inertia
    # the most that the blocks can add to µ_g, and rounding
    rubs = (1.0 + 1e-9) * PLANE * BLOCK * (DRIVE + BRAKE) / SIZE
    outcome.claims += [
        Claim(
            "(a) µ up to which all disks are in mode 1",
            rolls,
            paper="at low enough values of µ all are in mode 1",
            theory=Expected(
                _change(lambda mu: _least_plane(mu) < PLANE, 1e-4, 0.05), 2.0 * CLOSE, BISECTION,
                "the greatest η of a rolling disk reaches 1",
            ),
        ),
        Claim(
            "(a) µ_g at µ = 0",
            _state(0.0, PLANE).friction,
            theory=Expected.exact(_rolling(0.0)[1], "all disks roll"),
            note="two thirds of the drive accelerate, one third sets disks turning: T' = I v̇",
        ),
        Claim(
            "(a) slope of µ_g at µ = 0 over that at µ = 0.04",
            (_state(1e-6, PLANE).friction - _state(0.0, PLANE).friction) / 1e-6
            / ((_state(0.0401, PLANE).friction - _state(0.0399, PLANE).friction) / 2e-4),
            paper=Expected(
                1.0, 0.0, "exact", "increases rapidly with µ, and slows down", "at least"
            ),
        ),
        Claim(
            "(a) µ from which on all disks are in mode 3",
            counter,
            paper="so for high enough values of µ",
        ),
        Claim(
            "(a) µ_g there and beyond",
            _state(0.9, PLANE).friction,
            paper=Expected(
                PLANE, rubs, "a bound: µ'µ''(N_L + N_0)/L, the friction of the blocks, which the"
                " paper leaves aside", "tends to µ' = 0.1",
            ),
            theory=Expected.exact(
                (DRIVE - BRAKE) / SIZE - v,
                "µ'(1 + (T_L − T_0)/L): the driving block lifts or presses the last disk",
            ),
        ),
        Claim(
            f"(a) deepest fall of µ_g with growing µ, over its whole rise, {POINTS} values of µ",
            float(fall.max() / np.ptp(t["friction"])),
            paper=Expected(0.0, 1e-11, "rounding", "µ_g increases with µ"),
            differs=f"µ_g is not monotonic near µ = {t['mu'][fall.argmax()]:.2g}: where mode 3"
            " turns the other way round, the driving block lifts the last disk instead of pressing"
            " it, and the plane's friction falls; too little to be seen in Fig. 12a",
        ),
    ]  # fmt: skip


def _plane(outcome: Outcome) -> None:
    """Judge the curve of Fig. 12b, where µ' varies."""
    t: dict[str, Any] = outcome.tables["fig12b"]
    begins = _change(lambda plane: _state(MU, plane).modes[0] < SIZE, 0.05, 0.2)
    flat = t["friction"][t["mu_plane"] > begins]
    counter = _change(lambda plane: _state(MU, plane).modes[2] == SIZE, 1e-4, 0.02)
    rolling = _change(lambda plane: _state(MU, plane).modes[0] == 0, 0.02, 0.1)
    some = np.geomspace(1e-4, 0.999 * rolling, 20)
    off = [_state(MU, float(plane)).friction / plane - 1.0 for plane in some]
    rubs = (1.0 + 1e-9) * BLOCK * (DRIVE + BRAKE) / SIZE
    outcome.claims += [
        Claim(
            "(b) µ_g of the plateau",
            float(flat.mean()),
            paper="an asymptotic value, when all particles are in mode 1",
            theory=Expected.exact(_rolling(MU)[1], "all disks roll"),
        ),
        Claim(
            "(b) greatest less least µ_g of the plateau",
            float(np.ptp(flat)),
            theory=Expected(0.0, 1e-13, "rounding", "µ' does not matter where all disks roll"),
        ),
        Claim(
            "(b) µ_g of the plateau, beside an independent program",
            float(flat.mean()),
            theory=Expected(PLATEAU, 1e-12, "twelve digits are known", "an independent program"),
        ),
        Claim(
            "(b) µ' from which on the plateau is reached",
            begins,
            paper="µ_g tends to an asymptotic value",
            theory=Expected(
                _least_plane(MU), 2.0 * CLOSE, BISECTION,
                "T'_L = µ' N'_L: exactly, once the last disk rolls",
            ),
        ),
        Claim(
            "(b) µ' up to which all disks are in mode 3",
            counter,
            paper="so at low enough values of µ'",
            note="above it mode 2 appears at the braking block",
        ),
        Claim("(b) µ' from which on a disk rolls", rolling),
        Claim(
            "(b) farthest µ_g/µ' from 1 where none rolls",
            float(np.abs(off).max()),
            paper=Expected(
                0.0, rubs, "a bound: µ''(N_L + N_0)/L, the friction of the blocks, which the paper"
                " leaves aside", "µ_g is equal to µ'",
            ),
            theory=Expected(rubs, 0.0, "exact", "|T_L − T_0|/L", "at most"),
            note="also in mode 2, where all disks slide on the plane as well",
        ),
        Claim(
            "(b) least step of µ_g from one µ' to the next",
            min(0.0, float(np.diff(t["friction"]).min())),
            paper=Expected(0.0, 1e-13, "rounding", "µ_g increases with µ'", "at least"),
            theory=Expected(
                0.0, 1e-13, "rounding", "it does not change where all disks roll", "at least"
            ),
        ),
    ]  # fmt: skip


def _blocks(outcome: Outcome) -> None:
    """Judge whether µ'' matters."""
    t: dict[str, Any] = outcome.tables["blocks"]
    for mu, plane, what in (
        (0.04, 0.1, "three modes"),
        (0.01, 0.1, "modes 1 and 2"),
        (0.01, 0.2, "mode 1 alone"),
    ):
        mine = (t["mu"] == mu) & (t["mu_plane"] == plane)
        mu_g = dict(zip(t["mu_block"][mine], t["friction"][mine]))
        outcome.claims.append(
            Claim(
                f"µ'' from 0 to {BLOCK:g}, µ = {mu:g}, µ' = {plane:g}: relative change of µ_g",
                mu_g[BLOCK] / mu_g[0.0] - 1.0,
                paper=Expected(
                    0.0,
                    0.01,
                    "what is not notable would not show in Fig. 12",
                    "does not influence notably the modes and µ_g",
                ),
                note=f"{what}; {mu_g[0.3] / mu_g[0.0] - 1.0:.1%} for µ'' = 0.3",
            )
        )


def _checks(outcome: Outcome, each: int) -> None:
    """Other ways to the same numbers, at some points of both curves."""
    points = [(mu, PLANE) for mu in (0.5, 0.1, 0.005, 0.02)[-each:]]
    points += [(MU, plane) for plane in (0.005, 0.2, 0.03, 0.08)[-each:]]
    rows = [_check(point) for point in points]
    table = {k: np.array([row[k] for row in rows]) for k in rows[0]}
    outcome.tables["checks"] = dict(table)
    outcome.claims += [
        Claim(
            "points of both curves, contact dynamics: worst difference of µ_g from the exact one",
            float(np.abs(table["contact_dynamics"]).max()),
            paper="as simulated by the CD method",
            theory=Expected(0.0, LAW, RESIDUAL, "the exact solver with the same blocks"),
        ),
        Claim(
            "points of both curves, trial and error as in Appendix A: worst difference of µ_g",
            float(np.abs(table["appendix_a"]).max()),
            theory=Expected(0.0, 1e-10, "rounding of long walks", "the exact solver"),
        ),
        Claim(
            "points of both curves: how often the exact path over N_L passes N_L = 4, at most",
            float(table["passes"].max()),
            theory=Expected.exact(1.0, "more would mean several sets of contact states"),
        ),
    ]


def _check(point: tuple[float, float]) -> dict[str, float]:
    """Differences of µ_g by contact dynamics and by trial and error; solutions on the path."""
    motion = contact_dynamics(scene(SIZE, DRIVE, BRAKE, *point, BLOCK), 0.01)
    path = pieces(SIZE, BRAKE, *point, BLOCK, 0.9 * DRIVE, 5.0 * DRIVE)
    low, high = np.sort([path.drive[:-1], path.drive[1:]], axis=0)
    return {
        "mu": point[0], "mu_plane": point[1],
        "contact_dynamics": motion.friction[-1] - _state(*point, block_mass=BLOCK_MASS).friction,
        "appendix_a": _state(*point, rule="random", keep_closed=True).friction
        - _state(*point).friction,
        "passes": ((low < DRIVE) & (high > DRIVE)).sum(),
    }  # fmt: skip


_TEXT = (
    "Both curves are as the paper describes them, and their ends are sharper than its words: each"
    " is reached exactly, at a finite coefficient. In (a) all disks roll up to a first µ and all"
    " counter-rotate from a second one on; there µ_g is not µ' but differs by the friction of the"
    " driving block on the last disk. In (b) the plateau begins where the last disk rolls. At low"
    " µ' all disks are in mode 3 only for the very smallest values; then mode 2 appears at the"
    " braking block, and since its disks slide on the plane as well, µ_g goes on being µ' to a"
    " part in a thousand until the first disk rolls.\n\n"
    "The blocks' µ'' matters little as long as disks at the driving block slide on the plane. If"
    " all of them roll, its friction brakes the last disk's rotation, and µ_g depends on it."
)


def _figure(tables: dict[str, Any]) -> Any:
    figure, axes = new_figure(2, 2, width=4.8, height=2.8, sharex="col", height_ratios=[1.4, 1.0])
    for column, (name, x, label) in enumerate(
        (("fig12a", "mu", "µ"), ("fig12b", "mu_plane", "µ'"))
    ):
        t, (top, bottom) = tables[name], axes[:, column]
        seen = t[x] > 0.0
        top.plot(t[x][seen], t["friction"][seen], ".", color=COLOURS[1], ms=3, label="exact")
        top.set(ylabel="µ$_g$", ylim=(0.0, None))
        bottom.stackplot(
            t[x][seen], *(t[f"mode_{i}"][seen] for i in (1, 2, 3)),
            labels=("mode 1", "mode 2", "mode 3"),
            colors=(COLOURS[6], COLOURS[5], COLOURS[4]), alpha=0.8, step="post",
        )  # fmt: skip
        bottom.set(xlabel=label, ylabel="disks", xscale="log", ylim=(0, SIZE))
    (a, b), (_, modes) = axes
    a.axhline(PLANE, color=GREY, lw=0.8, ls=":")
    a.annotate("µ'", (2e-4, PLANE), (0, -10), textcoords="offset points", color=GREY)
    mu = np.geomspace(1e-4, 0.01, 50)
    a.plot(mu, [_rolling(m)[1] for m in mu], color=COLOURS[2], lw=1, label="all in mode 1")
    plane = np.geomspace(1e-4, 0.08, 50)
    b.plot(plane, plane, color=COLOURS[3], lw=1, label="µ'")
    b.axhline(_rolling(MU)[1], color=COLOURS[2], lw=1, label="all in mode 1")
    for top in (a, b):
        top.legend(loc="lower right")
    modes.legend(loc="center left")
    return figure


EXPERIMENT = Experiment("coefficients", "Fig. 12: local coefficients of friction", run)
