"""Sec. II H, Fig. 3: a disk on two walls, by formula, by linear programming and by simulation.

Closed forms, signs and misprints are in `hardgrain.theory.wedge`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.forces.packing import Packing
from hardgrain.forces.program import FEASIBLE
from hardgrain.forces.space import ForceSpace, force_space
from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, mean_and_error
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Plane
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.theory import wedge as theory

__all__ = ["EXPERIMENT", "Wedge", "wedge"]

MU = 0.3  # the paper's coefficient of friction
DT = 0.01  # [√(r/g)]
QUIET, MOST = 20, 2000  # steps at rest that end a run, and the most that it may take
STILL = 1e-10  # root-mean-square speed of a disk at rest [√(g r)]
TIGHT = 1e-13  # residual that each step is converged to


@dataclass(frozen=True)
class Wedge:
    """Ranges of the contact forces of a disk on two walls [weight of the disk]."""

    angle: float  # angle of the contacts from the lowest point of the disk [rad]
    mu: float
    delta_normal: float  # (35)
    delta_tangential: float  # (37)
    measured_normal: float  # the same by linear programming
    measured_tangential: float


def wedge(angle: float, mu: float) -> Wedge:
    """The ranges δ_R and δ_T of a disk on two walls, by formula and by linear programming.

    All are inf where tan φ > 1/µ. At φ = 0 both contacts are the same point of the floor and share
    the weight as they like: δ_R is then 1, and the formulas hold for φ → 0 only.
    """
    formulas = theory.delta_normal(angle, mu), theory.delta_tangential(angle, mu)
    bounds = ForceSpace(_packing(angle, mu), balance="loads").bounds()
    return Wedge(angle, mu, *formulas, *(bounds.high - bounds.low)[0].tolist())


def _packing(angle: float, mu: float) -> Packing:
    """A disk of unit radius and weight, its forces not known."""
    s, c = math.sin(angle), math.cos(angle)
    free, external = np.zeros((3, 3), dtype=bool), np.zeros((3, 3))
    free[0], external[0, 1] = True, -1.0
    return Packing(
        radius=np.ones(1),
        free=free,
        first=np.array([0, 0]),
        second=np.array([1, 2]),
        normal=np.array([[-s, -c], [s, -c]]),
        friction=np.full(2, mu),
        force=np.zeros((2, 2)),
        unit=1.0,
        external=external,
    )


# ---------------------------------------------------------------------- the experiment
def run(quick: bool) -> Outcome:
    """Fig. 3 three ways, and what is found beyond the divergence."""
    outcome = Outcome(text=_TEXT)
    end = theory.divergence(MU)
    near = end - 10.0 ** -np.arange(1.0, 5.0)
    inside = np.concatenate([np.linspace(0.0, 0.95 * end, 13 if quick else 40)[1:], near])
    beyond = np.linspace(end, 0.5 * math.pi, 6 if quick else 12)[1:-1]
    steep = 0.5 * (end + 0.5 * math.pi)
    angles = np.concatenate([inside, beyond])
    found = [wedge(float(angle), MU) for angle in angles]
    outcome.tables["fig3"] = {
        name: [getattr(w, name) for w in found] for name in Wedge.__dataclass_fields__
    }
    _programs(outcome, found)
    starts = 4 if quick else 40
    tried = np.linspace(0.97 * end, 0.2, 5 if quick else 12)
    _simulated(outcome, tried, starts)
    _wedged(outcome, steep, starts)
    outcome.figures["fig3"] = _figure(outcome.tables)
    outcome.seeds = range(starts)
    return outcome


_TEXT = (
    "A disk on two walls has one force more than equations: two horizontal forces against each"
    " other. Friction bounds them until the line between the contacts lies within both cones,"
    " tan φ = 1/µ; there δ_R and δ_T diverge, and beyond it nothing bounds the forces. Linear"
    " programs over the two cones know none of the formulas and agree with them to rounding.\n\n"
    "(35) and (37) are right; the caption of Fig. 3 is not: for φ → 0 they give δ_R → 0 and"
    " δ_T → µ, not µ and 2µ. Other misprints: the inequality of (31) is reversed, and in (34) and"
    " (36) the factor m g/2 belongs to the first term only. At φ = 0 itself the two contacts are"
    " one point, the contact matrix loses a rank, and any share of the weight may rest on either:"
    " δ_R jumps to 1.\n\n"
    "In simulations by contact dynamics the disk starts with a random velocity and spin, and comes"
    " to rest between the walls with a force inside the bounds, another one for each start. A disk"
    " that is wedged keeps the impulse of its impact as a force for ever: this force is the impulse"
    " over the time step, so it has no limit as the step is made shorter. Where the forces have no"
    " bound, contact dynamics picks one that depends on the step."
)


def _programs(outcome: Outcome, found: list[Wedge]) -> None:
    finite = [w for w in found if math.isfinite(w.delta_normal)]
    off = [
        abs(measured / formula - 1.0)
        for w in finite
        for measured, formula in (
            (w.measured_normal, w.delta_normal),
            (w.measured_tangential, w.delta_tangential),
        )
    ]
    odd = sum(
        math.isinf(w.delta_normal) != (math.isinf(w.measured_normal))
        or math.isinf(w.delta_tangential) != math.isinf(w.measured_tangential)
        for w in found
    )
    low, high = 0.0, 1.57
    while high - low > 1e-7:
        middle = 0.5 * (low + high)
        low, high = (
            (low, middle) if math.isinf(wedge(middle, MU).measured_normal) else (middle, high)
        )
    small = wedge(1e-4, MU)
    flat = wedge(0.0, MU)
    tight = "the tolerance of the linear programs"
    outcome.claims += [
        Claim(
            f"δ_R and δ_T at {len(finite)} angles by linear programming: worst relative difference"
            " from (35) and (37)",
            max(off),
            paper=Expected(
                0.0, 1e-12, "rounding, and 10⁻⁴ from the divergence four digits cancel",
                "(35), (37)",
            ),
            note=f"as near as 10⁻⁴ to the divergence, where δ_R is {finite[-1].delta_normal:.4g}",
        ),
        Claim(
            f"angles, of {len(found)}, where one is finite and the other is not", odd,
            paper=Expected.exact(0, "no upper bound where tan φ > 1/µ"),
        ),
        Claim(
            "angle from which the programs have no bound [π]", 0.5 * (low + high) / math.pi,
            paper=Expected(0.41, 0.005, "two digits are printed", "φ ≈ 0.41 π"),
            theory=Expected(
                theory.divergence(MU) / math.pi, 1e-7, "where the bisection ends", "tan φ = 1/µ"
            ),
        ),
        Claim(
            "δ_R for φ → 0, by linear programming at φ = 10⁻⁴ [m g]", small.measured_normal,
            paper=Expected(MU, 1e-4, "the limit is meant: φ itself", "caption of Fig. 3: µ"),
            theory=Expected(theory.delta_normal(1e-4, MU), FEASIBLE, tight, "(35): µ sin φ"),
            differs="The caption of Fig. 3 contradicts (35), which is right: δ_R vanishes.",
        ),
        Claim(
            "δ_T for φ → 0, by linear programming at φ = 10⁻⁴ [m g]", small.measured_tangential,
            paper=Expected(2.0 * MU, 1e-4, "the limit is meant: φ itself", "caption of Fig. 3: 2µ"),
            theory=Expected(theory.delta_tangential(1e-4, MU), FEASIBLE, tight, "(37): µ cos φ"),
            differs="The caption of Fig. 3 contradicts (37), which is right: δ_T tends to µ.",
        ),
        Claim(
            "δ_R at φ = 0 itself [m g]", flat.measured_normal,
            theory=Expected(1.0, FEASIBLE, tight, "one of the two bears the whole weight"),
            note="both contacts are one point: the null space has two dimensions",
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- by simulation
def _scene(angle: float, rng: np.random.Generator) -> Scene:
    """A disk that touches both walls, with a random velocity towards them and a random spin."""
    s, c = math.sin(angle), math.cos(angle)
    # a slower one in a flatter wedge, where a disk would roll up and down for long
    x, y, spin = s * rng.standard_normal(3)
    return Scene(
        gravity=[0.0, -1.0],
        contacts=[ContactLaw(friction=MU)],
        grains=[
            Grains(
                diameter=2.0, place=At(positions=((0.0, 0.0),)), velocity=[x, -abs(y)], spin=spin
            )
        ],
        walls=[
            Plane(name="left", point=[-s, -c], normal=[s, c]),
            Plane(name="right", point=[s, -c], normal=[-s, c]),
        ],
        allow_overlaps=True,  # those of rounding
    )


def _settle(case: tuple[float, int, float]) -> tuple[float, float, float] | None:
    """R and T at the left wall and the residual, once the disk rests [m g]; None: it rolls on."""
    angle, seed, dt = case
    scene = _scene(angle, np.random.default_rng(seed))
    solver = GaussSeidel(stop="residual", tolerance=TIGHT, sweeps=100_000)
    sim = Simulation(scene, dt=dt, solver=solver, seed=seed)
    for _ in range(round(MOST * DT / dt)):
        sim.step()
        if sim.quiet(STILL, QUIET):
            break
    space = force_space(sim)
    if space.contacts < 2 or not sim.quiet(STILL, QUIET):
        return None
    r, t = space.packing.components[0] / space.packing.unit
    return float(r), float(t), space.residual


def _simulated(outcome: Outcome, angles: Floats, starts: int) -> None:
    cases = [(float(angle), seed, DT) for angle in angles for seed in range(starts)]
    made = [(case[0], forces) for case, forces in zip(cases, pmap(_settle, cases)) if forces]
    outside: list[float] = []
    covered: dict[float, list[float]] = {angle: [] for angle, _ in made}
    for angle, (r, t, _) in made:
        ends = [theory.least(angle, MU), theory.greatest(angle, MU)]
        for value, component in ((r, theory.normal), (t, theory.tangential)):
            low, high = (component(angle, a) for a in ends)
            outside.append(max(low - value, value - high))
        covered[angle].append(r)
    share = [(max(r) - min(r)) / theory.delta_normal(angle, MU) for angle, r in covered.items()]
    residual = max(f[2] for _, f in made)
    outcome.tables["simulated"] = {
        "angle": [angle for angle, _ in made],
        "normal": [f[0] for _, f in made],
        "tangential": [f[1] for _, f in made],
        "residual": [f[2] for _, f in made],
    }
    outcome.claims.append(
        Claim(
            f"{len(made)} disks at rest after random starts: furthest that R or T lies outside its"
            " bounds [m g]",
            max(0.0, *outside),
            theory=Expected(
                0.0, STILL / DT, "a disk as slow as that is out of balance by so much at most",
                "(32), (33)",
            ),
            note=f"{len(cases) - len(made)} of {len(cases)} still rolled after {MOST} steps;"
            f" forces out of balance by {residual:.1g} m g at most; at an angle the starts cover"
            f" {100 * np.mean(share):.0f} % of δ_R on average",
        )
    )  # fmt: skip


def _wedged(outcome: Outcome, angle: float, starts: int) -> None:
    """The states after the same starts, with three steps, where nothing bounds the forces."""
    steps = (DT, DT / 2.0, DT / 4.0)
    cases = [(angle, seed, dt) for seed in range(starts) for dt in steps]
    made = np.array([f[0] if f else math.nan for f in pmap(_settle, cases)]).reshape(-1, len(steps))
    kept = np.isfinite(made).all(axis=1)
    power = np.log(made[kept][:, 0] / made[kept][:, -1]) / math.log(steps[0] / steps[-1])
    mean, error = mean_and_error(power)
    least = theory.normal(angle, theory.least(angle, MU))
    # This is ln((P/dt + w)/(4 P/dt + w))/ln 4 to first order in w.
    weight = 0.75 / math.log(4.0) * least / float(np.nanmin(made[:, 0]))
    outcome.tables["wedged"] = {f"dt={dt:g}": made[:, k] for k, dt in enumerate(steps)}
    outcome.claims += [
        Claim(
            f"disk wedged at φ = {angle / math.pi:.3g} π: exponent of R in dt, from dt to dt/4",
            mean, error=error, samples=int(kept.sum()), paper="a can be arbitrarily large",
            theory=Expected.by_chance(
                -1.0, error, int(kept.sum()), "R = impulse/dt", beside=weight,
                why="the weight adds a force of order the least possible, which has no dt in it",
            ),
            note="the impulse of the impact stays in the contacts, and R is that over dt",
        ),
        Claim(
            f"the same: least R found over the least that is possible, {least:.3g} m g",
            float(np.nanmin(made) / least),
            theory=Expected(
                1.0, STILL / DT, "a disk as slow as that is out of balance by so much at most",
                "(32)", side="at least",
            ),
        ),
    ]  # fmt: skip


# ---------------------------------------------------------------------- the figure
def _figure(tables: dict[str, dict[str, Any]]) -> Any:
    figure, (left, right) = new_figure(1, 2)
    end = theory.divergence(MU)
    phi, after = np.linspace(0.0, end - 2e-3, 400), np.linspace(end - 2e-3, 1.56, 50)
    f = {name: np.array(column) for name, column in tables["fig3"].items()}
    for delta, name, colour, marker, symbol, formula in (
        (theory.delta_normal, "measured_normal", COLOURS[1], "o", "δ_R", "(35)"),
        (theory.delta_tangential, "measured_tangential", COLOURS[2], "s", "δ_T", "(37)"),
    ):
        left.plot(
            phi / math.pi,
            [delta(x, MU) for x in phi],
            color=colour,
            label=f"paper: {symbol} by {formula}",
        )
        finite = np.isfinite(f[name])
        left.plot(f["angle"][finite] / math.pi, f[name][finite], marker, color=colour, mfc="none",
                  label=f"ours: {symbol} by linear programs")  # fmt: skip
    left.plot([0.0, 0.0], [MU, 2.0 * MU], "x", color=GREY, clip_on=False, zorder=5,
              label="paper: caption, µ and 2µ at φ = 0")  # fmt: skip
    left.set(xlabel="φ [π]", ylabel="indeterminacy [m g]", ylim=(0.0, 2.0), xlim=(0.0, 0.5))
    left.legend(loc="upper left")
    low = [theory.normal(x, theory.least(x, MU)) for x in phi]
    high = [theory.normal(x, theory.greatest(x, MU)) for x in phi]
    right.fill_between(phi / math.pi, low, high, color=COLOURS[6], alpha=0.4, lw=0,
                       label="paper: possible, by (32), (33)")  # fmt: skip
    right.fill_between(after / math.pi, [theory.normal(x, theory.least(x, MU)) for x in after], 1e4,
                       color=COLOURS[6], alpha=0.4, lw=0)  # fmt: skip
    s = {name: np.array(column) for name, column in tables["simulated"].items()}
    right.plot(
        s["angle"] / math.pi, s["normal"], ".", color=COLOURS[0], label="ours: contact dynamics"
    )
    right.set(xlabel="φ [π]", ylabel="R [m g]", yscale="log", ylim=(0.4, 50.0), xlim=(0.0, 0.5))
    right.legend(loc="upper left")
    for axes in (left, right):
        axes.axvline(end / math.pi, color=GREY, lw=0.8, ls=":")
    right.annotate("tan φ = 1/µ", (end / math.pi, 0.04), (-4, 0), ha="right", color=GREY,
                   xycoords=("data", "axes fraction"), textcoords="offset points",
                   fontsize=8)  # fmt: skip
    return figure


EXPERIMENT = Experiment("wedge", "Fig. 3: a disk on two walls, and where its forces diverge", run)
