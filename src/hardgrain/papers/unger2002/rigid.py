"""The rigid limit: the chain of Fig. 4 and the disks of Fig. 6, with every step solved in full.

All that the paper describes comes from sweeps that end too early. So it must vanish with a solver
that ends none of them: a chain that runs into a wall stops in one step, a chain or a packing at
rest bears a new load at once and does not move, nothing overlaps. Beside it, the same with the
sweeps of the paper.

What is left is set by the tolerance ε of the solver. Each contact may keep a relative velocity of
ε V, V what a typical contact impulse gives; over n contacts in a row that is n ε V at the free end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.papers.experiment import Claim, Expected, Experiment, Outcome
from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats
from hardgrain.papers.unger2002.packing import DT, SLENDER, prepared, struck
from hardgrain.papers.unger2002.row import LOAD, at_rest, row
from hardgrain.parallel import pmap
from hardgrain.run.simulation import Simulation
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.rigid import RigidSolver

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

TOLERANCE = 1e-8  # residual of the rigid solver: far below all that is measured here
PARTICLES, FORCE = 50, 0.05  # the chain and the force of Fig. 4
SWEEPS = 40  # N_I of the sweeps that it is compared with, as in Fig. 4
MORE = 1.0  # loads that are added to a chain at rest
JUMP = 1e-2  # relative rise of the piston's force; the packings have borne twice as much before

_SOLVERS: dict[str, RigidSolver | GaussSeidel] = {
    "rigid": RigidSolver(tolerance=TOLERANCE),
    "sweeps": GaussSeidel(sweeps=SWEEPS),
}


@dataclass(frozen=True)
class LoadedMotion:
    """Motion of the last disk of a chain, or of a piston, in the direction of its load."""

    velocity: Floats  # (steps,)
    displacement: Floats  # (steps,)
    overlap: float  # worst overlap that was made [mean diameter]
    residual: float = 0.0  # worst residual of a step

    def reversals(self, still: float) -> int:
        """How often the velocity changes its sign, speeds up to ``still`` not counted."""
        sign = np.sign(self.velocity[np.abs(self.velocity) > still])
        return int(np.count_nonzero(np.diff(sign)))


def _follow(sim: Simulation, body: int, axis: int, steps: int) -> LoadedMotion:
    """Follow the motion against the axis, which is the direction of the load."""
    velocity, overlap, residual = np.empty(steps), 0.0, 0.0
    before = _gaps(sim)
    for i in range(steps):
        report = sim.step()
        velocity[i] = -sim.state.velocity[body, axis]
        residual = max(residual, report.residual)
        now = _gaps(sim)
        made = [gap - now[pair] for pair, gap in before.items() if pair in now]
        fresh = [-gap for pair, gap in now.items() if pair not in before]
        overlap = max([overlap, *made, *fresh])
    mean = 2.0 * float(sim.model.radius.mean())
    return LoadedMotion(velocity, sim.dt * np.cumsum(velocity), overlap / mean, residual)


def _gaps(sim: Simulation) -> dict[tuple[int, int], float]:
    """Gap of every candidate, at most 0; a step's increase of overlaps follows from it."""
    c = sim.state.contacts
    pairs = zip(c.first.tolist(), c.second.tolist(), strict=True)
    return dict(zip(pairs, np.minimum(c.gap, 0.0).tolist(), strict=True))


def _impact(name: str, steps: int) -> LoadedMotion:
    """The chain of Fig. 4, one diameter from its wall."""
    sim = Simulation(row(PARTICLES, FORCE, gap=1.0), dt=1.0, solver=_SOLVERS[name])
    return _follow(sim, PARTICLES - 1, 0, steps)


def _load(name: str, steps: int) -> LoadedMotion:
    """A chain at rest whose load grows."""
    rest = at_rest(PARTICLES, SWEEPS, force=(1.0 + MORE) * LOAD)
    sim = Simulation(rest.scenario.scene, dt=1.0, solver=_SOLVERS[name], start=rest.state)
    return _follow(sim, PARTICLES - 1, 0, steps)


def _pressed(job: tuple[int, int, int]) -> dict[str, LoadedMotion]:
    """A packing at rest whose piston is loaded a little more."""
    seed, grains, steps = job
    excited = struck(prepared(seed, grains), JUMP)
    found = {}
    for name, solver in _SOLVERS.items():
        sim = Simulation(excited.scene, dt=DT, solver=solver, start=excited.state)
        found[name] = _follow(sim, -1, excited.axis, steps)
    return found


# ---------------------------------------------------------------------- claims
def _nothing(text: str, measured: float, tolerance: float, reason: str, note: str = "") -> Claim:
    """Claims that something vanishes if no sweeps are left undone."""
    words = "in the limit of an infinite N_I the exact forces are reached, as for rigid particles"
    paper = Expected(0.0, tolerance, reason, words)
    theory = Expected(0.0, tolerance, reason, "rigid")
    return Claim(text, measured, paper=paper, theory=theory, note=note)


def run(quick: bool) -> Outcome:
    """Study an impact, a chain under load, and disks under a piston."""
    steps = 200 if quick else 1000
    jobs = [(seed, 100 if quick else 1000, 100) for seed in range(1 if quick else 4)]
    impact = {name: _impact(name, steps) for name in _SOLVERS}
    load = {name: _load(name, steps) for name in _SOLVERS}
    packings = pmap(_pressed, jobs)
    outcome = Outcome(text=_TEXT, seeds=range(len(jobs)))
    outcome.claims += _of_impact(impact)
    outcome.claims += _of_load(load)
    outcome.claims += _of_piston(packings, jobs[0][1])
    residual = max(m["rigid"].residual for m in (impact, load, *packings))
    outcome.claims.append(
        Claim(
            f"worst residual that a step was left with, of all {steps} steps of the chains and"
            f" {jobs[0][2]} of {jobs[0][1]} disks",
            residual,
            theory=Expected(
                100.0 * TOLERANCE, 0.0, "a hundred times what was asked for, which is near what"
                " rounding allows", side="at most",
            ),
            note="what follows from it for speeds and overlaps is what they are judged by",
        )
    )  # fmt: skip
    every = {"impact": impact, "load": load, "piston": packings[0]}
    for name, motions in every.items():
        outcome.tables[name] = {"time": np.arange(1, motions["rigid"].velocity.size + 1)}
        for who, m in motions.items():
            outcome.tables[name] |= {
                f"velocity_{who}": m.velocity,
                f"displacement_{who}": m.displacement,
            }
    outcome.figures["rigid"] = _figure(every)
    return outcome


# A contact keeps no more than ε of the velocity V that contact impulses give, with ε the worst
# residual that a step was left with; contacts in a row add up, and so may the steps.
_ROW = "n ε V: what the solver leaves to n contacts in a row"
_STEPS = "the same, if all steps add up"


def _of_impact(found: dict[str, LoadedMotion]) -> list[Claim]:
    """The chain of Fig. 4, from the step after it has closed its last gap."""
    rigid, soft = found["rigid"], found["sweeps"]
    steps = rigid.velocity.size
    hit = int(np.argmax(rigid.displacement > 1.0 - 1e-3))
    speed = float(rigid.velocity[:hit].max())
    late = {name: m.velocity[hit + 1 :] for name, m in found.items()}
    what = f"{PARTICLES} disks hit a wall, {steps} steps: "
    row = PARTICLES * max(TOLERANCE, rigid.residual)
    # The impulse of the impact is that of all disks; afterwards the force gives F dt to each.
    impact, rest = row * PARTICLES * speed, row * FORCE
    reversals = {name: LoadedMotion(v, v, 0.0).reversals(impact) for name, v in late.items()}
    return [
        _nothing(
            f"{what}largest speed of the last disk afterwards [speed of the impact]",
            float(np.abs(late["rigid"]).max()) / speed,
            impact / speed,
            _ROW,
            f"{np.abs(late['sweeps']).max() / speed:.2g} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}changes of its direction, speeds within the solver's tolerance not counted",
            reversals["rigid"],
            0.0,
            "exact",
            f"{reversals['sweeps']} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}how far the last disk ends beyond its place [d]",
            float(rigid.displacement[-1]) - 1.0,
            impact + steps * rest,
            _STEPS,
            f"{soft.displacement[-1] - 1.0:.3g} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}worst overlap [d]",
            rigid.overlap,
            (impact + steps * rest) / PARTICLES,
            "ε V of one contact, if all steps add up",
            f"{soft.overlap:.2g} with {SWEEPS} sweeps",
        ),
    ]


def _of_load(found: dict[str, LoadedMotion]) -> list[Claim]:
    """A chain at rest, twice as much load."""
    rigid, soft = found["rigid"], found["sweeps"]
    steps, force = rigid.velocity.size, (1.0 + MORE) * LOAD
    what = f"{PARTICLES} disks at rest, load doubled, {steps} steps: "
    row = PARTICLES * max(TOLERANCE, rigid.residual)
    return [
        _nothing(
            f"{what}largest displacement [d]",
            float(np.abs(rigid.displacement).max()),
            steps * row * force,
            _STEPS,
            f"{np.abs(soft.displacement).max():.2g} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}largest speed in any step [that of a single disk under the load, after it]",
            float(np.abs(rigid.velocity).max()) / force,
            row,
            _ROW,
            f"{np.abs(soft.velocity).max() / force:.2g} with {SWEEPS} sweeps",
        ),
    ]


def _of_piston(packings: list[dict[str, LoadedMotion]], grains: int) -> list[Claim]:
    """Disks at rest, a percent more on their piston; the worst of all packings."""

    def worst(name: str, of: str) -> float:
        return max(float(np.abs(getattr(m[name], of)).max()) for m in packings)

    free = JUMP * DT  # speed that the jump would give a free piston in a step
    steps = packings[0]["rigid"].velocity.size
    # A pressure of one gives a disk of mean size, of mass π/4, 4/π dt in a step.
    one = max(TOLERANCE, worst("rigid", "residual")) * 4.0 / np.pi * DT
    row = np.sqrt(grains) / SLENDER[2] * one
    what = f"piston on {grains} disks, force + {JUMP:.0%}, worst packing, {steps} steps: "
    return [
        _nothing(
            f"{what}largest speed in any step [that of a free piston after the first]",
            worst("rigid", "velocity") / free,
            row / free,
            _ROW,
            f"{worst('sweeps', 'velocity') / free:.2g} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}changes of its direction, speeds within the solver's tolerance not counted",
            max(m["rigid"].reversals(row) for m in packings),
            0.0,
            "exact",
            f"{max(m['sweeps'].reversals(row) for m in packings)} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}largest displacement [d]",
            worst("rigid", "displacement"),
            steps * row * DT,
            _STEPS,
            f"{worst('sweeps', 'displacement'):.2g} with {SWEEPS} sweeps",
        ),
        _nothing(
            f"{what}worst overlap that is added [d]",
            worst("rigid", "overlap"),
            steps * one * DT,
            "ε V of one contact, if all steps add up",
            f"{worst('sweeps', 'overlap'):.2g} with {SWEEPS} sweeps",
        ),
    ]


_TEXT = (
    "What the paper explains is gone when each step is solved to the end, with `kind = 'rigid'`:"
    " the chain of Fig. 4 stands still from the step after it has touched the wall, a chain and a"
    " packing at rest take up a new load within the step in which it comes, and nothing overlaps."
    f" What remains is the solver's tolerance, {TOLERANCE:g}. The number of sweeps that"
    " Gauss–Seidel would need for the same grows with the square of the number of disks in a row."
)


def _figure(every: dict[str, dict[str, LoadedMotion]]) -> Figure:
    figure, axes = new_figure(1, 3, width=3.9)
    labels: dict[str, Any] = {
        "impact": (f"{PARTICLES} disks hit a wall", "last disk, beyond its place [d]", 1.0),
        "load": (f"{PARTICLES} disks, load doubled", "sag [10⁻³ d]", 1e3),
        "piston": (f"disks under a piston, force + {JUMP:.0%}", "sag [10⁻⁶ d]", 1e6),
    }
    for ax, (name, motions) in zip(axes, every.items(), strict=True):
        title, label, scale = labels[name]
        shift = 1.0 if name == "impact" else 0.0
        for who, mark, colour, text in (
            ("sweeps", ".-", COLOURS[1], f"{SWEEPS} sweeps"),
            ("rigid", "-", COLOURS[2], "rigid solver"),
        ):
            x = scale * (motions[who].displacement - shift)
            t = np.arange(1, x.size + 1)
            seen = x > -0.2 if name == "impact" else t > 0
            ax.plot(t[seen], x[seen], mark, color=colour, ms=3, lw=1.0, label=text)
        ax.axhline(0.0, color=GREY, lw=0.5, zorder=0)
        ax.set(title=title, xlabel="time [Δt]", ylabel=label)
        ax.legend(loc="center right")
    return figure


EXPERIMENT = Experiment("rigid", "The rigid limit: every step solved to the end", run)
