"""What to expect of a run, before it: whether it converges and is rigid, which step, how long.

The scene is run ahead (`run.rehearsal`): figures come from steps that its own solver made, at
moments spread over the run, and the packing is judged as any run judges itself. Where there is no
time to rehearse until most grains have met, the packing is foreseen: all grains in one cluster, as
dense as grains pack, as wide as they lie now and as high as that leaves, a bundle of chains under
the weight above them and the push of the pistons. A criterion is then judged by what it leaves
(`measure.rigidity`): fine enough to see the slowest mode, it makes as many sweeps as rigidity
needs; otherwise one a step is all that can be counted on.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hardgrain.core.model import SPIN, VELOCITY, Floats, Model, State
from hardgrain.errors import InputError
from hardgrain.measure.contact_network import (
    ROW_LEVER,
    ContactNetwork,
    contact_network,
    extent,
)
from hardgrain.measure.outline import equivalent_radius, spans
from hardgrain.measure.rigidity import CONVERGED, Rigidity, fine, rate_of, rigidity
from hardgrain.run.duration import SURE, run_seconds
from hardgrain.run.monitor import LENIENT, ROUGH
from hardgrain.run.progress import span
from hardgrain.run.rehearsal import UNKNOWN, Rehearsal, rehearse
from hardgrain.run.scenario import Scenario
from hardgrain.run.simulation import Simulation
from hardgrain.step.loads import Loads

__all__ = ["Advice", "advise"]

# [s] Time that a rehearsal may take. With more it reaches further into long runs, and the user
# waits longer; with less, more of the advice is foreseen instead of measured.
SECONDS = 10.0
# [1] Once this share of the grains is in one cluster, they count as having met, and their network
# is taken for that of the packing to come. If it is smaller, heaps that are still forming are
# judged.
MET = 0.5
# [1] A packing may in the end need this many times the sweeps foreseen for it, in hoppers above
# all. It is the upper end of the range that is told; if it is smaller, true figures lie outside of
# it.
FORESEEN = 5
# [1] Shares of the moments that need fewer sweeps than are told at least, and than at most. Beyond
# the second there are packings about to yield, which for a moment need orders more.
USUAL = 0.1, 0.75

# [1] Share of space that grains fill when they have settled, by dimension: random packings of disks
# and spheres. The height of the packing, and so the sweeps it needs, follow from it.
PACKED = {2: 0.82, 3: 0.6}

# [diameter] How far a grain may move in a step. Contacts rotate by about as much, and positions are
# wrong by its square; a larger value advises steps that are too long.
TRAVEL = 0.1


@dataclass(frozen=True)
class Advice:
    """What a scenario will be like as it is written, and what would make it rigid."""

    grains: int
    dim: int
    diameter: float  # mean diameter [length]
    dt: float  # time step as written [time]
    # longest time step that the expected speeds allow; None if nothing moves
    longest_dt: float | None
    speed: float  # expected speed of the fastest grains [length/time]
    criterion: str  # when a step counts as solved, in words
    sweeps: int  # sweeps as written, or the largest number if a criterion decides
    adaptive: bool  # whether a criterion decides when to stop sweeping
    foreseen: bool  # whether the packing is foreseen, since the rehearsal did not get to it
    rehearsed: float  # share of the run that was run ahead
    measured: int  # number of steps with contacts that the solver made in the rehearsal
    loose: int  # number of these with a residual above CONVERGED
    capped: int  # number of these that missed the solver's criterion
    worst_residual: float
    rigidity: Rigidity  # verdict for the sweeps as written, or for those that a criterion makes
    needed: tuple[int, int]  # range of the sweeps a step that would make it rigid
    steps: int | None  # steps of the whole run, if its stop condition says so
    seconds: tuple[float, float]  # range of the time of the run as written, or of 1000 steps [s]
    rigid_seconds: tuple[float, float]  # range of the time with ``needed`` sweeps a step [s]

    @property
    def rigid(self) -> bool:
        """Whether the run will certainly be rigid."""
        return self.rigidity.rigid and not self._perhaps

    @property
    def converged(self) -> bool:
        """Whether no step is expected to end with a residual above CONVERGED."""
        met = not (self.foreseen and not self.rigid and not self.adaptive)
        return self.measured > 0 and self.loose == 0 and met

    @property
    def _perhaps(self) -> bool:
        """The sweeps as written are more than some moments need and fewer than others do."""
        some = self.needed[0] <= self.sweeps < self.needed[1]
        return some and not self.adaptive and not self.rigidity.converged

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {**asdict(self), "rigid": self.rigid, "sound_speed": self.rigidity.sound_speed}

    def __str__(self) -> str:
        r = self.rigidity
        source = f"after {self.rehearsed:.0%} of the run, rehearsed with few sweeps a step"
        if self.foreseen:
            source = f"foreseen; the rehearsal ended after {self.rehearsed:.1%} of the run"
        verdict = "yes" if self.rigid else "perhaps" if self._perhaps else "NO, soft"
        lines = {
            "packing": f"{self.grains} grains of mean diameter {self.diameter:.3g},"
            f" {r.length:.3g} long ({source})",
            "converged?": self._converged,
            "rigid?": f"{verdict}: {r.why}",
        }
        run = "the run takes" if self.steps else f"{UNKNOWN} steps take"
        times = f"{span(*self.seconds)} as written"
        if not r.rigid:
            lines["softness"] = r.sound
        if not self.rigid and not self.adaptive:
            low, high = self.needed
            many = f"{low}" if low == high else f"{low} to {high}"
            lines["sweeps"] = f"about {many} a step would make it rigid; or use solver = 'rigid'"
            if self.sweeps > 1:
                lines["or"] = (
                    f"halve both, dt = {self.dt / 2:g} and {self.sweeps // 2} sweeps: twice as"
                    " stiff, as much damped, for the same work"
                )
            times += f", {span(*self.rigid_seconds)} with {many} sweeps a step"
        if self.longest_dt is None:
            lines["step"] = f"dt = {self.dt:g}; nothing will move, as far as can be foreseen"
        else:
            fits = "fits" if self.dt <= self.longest_dt else "is too long"
            lines["step"] = (
                f"dt = {self.dt:g} {fits}: at a speed of {self.speed:.3g} a grain moves a tenth of"
                f" a diameter in {self.longest_dt:.3g}"
            )
        lines["time"] = f"{run} {times}; compiling the kernels, once, is not counted"
        return "\n".join(f"{name + ':':<12} {text}" for name, text in lines.items())

    @property
    def _converged(self) -> str:
        """What the steps that were measured say of those that will come."""
        if self.measured == 0:
            return f"not known: no contacts were met ({self.criterion})"
        steps = f"{self.measured} step{'s' * (self.measured > 1)} measured"
        worst = f"residual {self.worst_residual:.2g} at worst (converged: {CONVERGED:g})"
        cap = f"; {self.capped} missed the criterion" if self.capped else ""
        if self.loose:
            remedy = "" if self.rigidity.at_once else "; use solver = 'rigid'"
            if not self.adaptive:
                remedy += ", or stop = 'residual' with many more sweeps"
            return f"NO in {self.loose} of {steps}: {self.criterion}, {worst}{cap}{remedy}"
        if self.foreseen and not self.rigid and not self.adaptive:
            return (
                f"NO, once the grains have met: {self.criterion}, about {self.needed[1]} needed;"
                " use solver = 'rigid', or stop = 'residual' with many more sweeps"
            )
        so_far = ", before most grains have met" if self.foreseen else ""
        return f"yes in all of {steps}{so_far}: {self.criterion}, {worst}{cap}"


def advise(scenario: Scenario, *, seconds: float = SECONDS) -> Advice:
    """Judge a scenario by running it ahead, roughly, for a few seconds."""
    if not scenario.engine.solves:
        raise InputError(
            f"engine.kind is {scenario.engine.kind!r}, which makes no sweeps; advice is for contact"
            " dynamics"
        )
    sim = Simulation(scenario)
    model, solver = sim.model, scenario.solver
    # it has the forces of an earlier run, if there is one
    begins = contact_network(model, sim.state, sim.dt)
    rehearsal = rehearse(scenario, seconds)
    ahead = _Foreseen(model, sim.state, Loads(model, sim.dt).at(sim.state)[0])
    found = [m.network for m in rehearsal.moments]
    if begins.length > 0.0:
        found.append(begins)
    largest = max(one.grains for one in found)
    foreseen = rehearsal.share < 1.0 and largest < MET * model.n and not ahead.free
    together = [one for one in found if one.grains >= MET * largest]
    found = [ahead.network()] if foreseen else together

    def sweeps(one: ContactNetwork) -> int:
        return rigidity(model, one, 1.0, solver.q, sim.dt).needed

    found.sort(key=sweeps)
    typical = found[(len(found) - 1) // 2]
    needed = [sweeps(one) for one in found]
    needed = [needed[0], FORESEEN * needed[0]] if foreseen else usual_sweeps(needed)
    reports = rehearsal.reports
    expected = _foresee(sim, typical) if foreseen else _judge(sim, rehearsal, typical)
    as_written, rigid = run_seconds(scenario, model, rehearsal, expected, needed, foreseen)
    speed = max(ahead.speed(), _driven_speed(sim))
    return Advice(
        grains=model.n,
        dim=model.dim,
        diameter=ahead.diameter,
        dt=sim.dt,
        longest_dt=TRAVEL * ahead.diameter / speed if speed > 0.0 else None,
        speed=speed,
        criterion=solver.criterion,
        sweeps=solver.sweeps,
        adaptive=solver.adaptive,
        foreseen=foreseen,
        rehearsed=rehearsal.share,
        measured=len(reports),
        loose=sum(r.residual > CONVERGED for r in reports),
        capped=sum(not r.converged for r in reports),
        worst_residual=max((r.residual for r in reports), default=0.0),
        rigidity=expected,
        needed=(min(needed), max(needed)),
        steps=rehearsal.known,
        seconds=as_written,
        rigid_seconds=rigid,
    )


def usual_sweeps(needed: list[int]) -> list[int]:
    """How many sweeps most moments need, at least and at most.

    A packing that is about to yield is held by next to nothing, and asks for orders more until it
    has yielded: what few moments ask for tells nothing of the others.
    """
    known = sorted(needed)
    few, many = (known[int(share * (len(known) - 1))] for share in USUAL)
    return [math.ceil(few / SURE), math.ceil(SURE * many)]


def _judge(sim: Simulation, rehearsal: Rehearsal, found: ContactNetwork) -> Rigidity:
    """The verdict that the run will get at its end, judged by the steps that were measured."""
    solver, reports = sim.scenario.solver, rehearsal.reports
    asked = LENIENT * fine(rate_of(found, solver.q))
    rough = sum(r.residual > asked for r in reports)
    worst = max((r.residual for r in reports), default=0.0)
    sweeps = len(reports) / sum(1.0 / r.sweeps for r in reports) if reports else 0.0
    return rigidity(
        sim.model, found, sweeps, solver.q, sim.dt, residual=max(solver.leaves, worst),
        converged=rough <= ROUGH * len(reports), adaptive=solver.adaptive, at_once=solver.at_once,
    )  # fmt: skip


def _foresee(sim: Simulation, found: ContactNetwork) -> Rigidity:
    """The verdict on a packing that the rehearsal has not reached, by its future sweeps."""
    solver = sim.scenario.solver
    least = rigidity(sim.model, found, 1.0, solver.q, 1.0)
    seen, sweeps = solver.at_once, float(solver.sweeps)
    if solver.adaptive and not solver.at_once:
        seen = 0.0 < solver.leaves <= least.tolerance and solver.sweeps >= least.needed
        sweeps = float(least.needed) if seen else 1.0
    return rigidity(
        sim.model, found, sweeps, solver.q, sim.dt,
        residual=solver.leaves or float(solver.adaptive), converged=seen,
        adaptive=solver.adaptive, at_once=solver.at_once,
    )  # fmt: skip


class _Foreseen:
    """The packing that the grains of a scene will form under their load."""

    def __init__(self, model: Model, state: State, force: Floats) -> None:
        n, dim = model.n, model.dim
        self.model, self.state = model, state
        self.diameter = 2.0 * float(equivalent_radius(model).mean())
        weight = np.abs(force[:n].sum(axis=0))
        movable = model.inv_mass[n:] > 0.0
        push = np.abs(np.where(movable, force[n:], 0.0)).sum(axis=0)
        self.axis = int((weight + push).argmax())
        self.weight, self.push = float(weight[self.axis]), float(push[self.axis])
        span = spans(model, state.orientation)
        self.extent = extent(state.position[:n], span, model.cell_in(state).period)
        self.cross = float(np.delete(self.extent, self.axis).prod())
        self.height = float(self.extent[self.axis])
        thin = self.cross < 1.5 * self.diameter ** (dim - 1)  # a single row packs to its length
        if self.weight + self.push > 0.0 and not thin:
            self.height = min(self.height, float(model.volume.sum()) / PACKED[dim] / self.cross)
        self.piston = float(model.mass[n:][movable[:, self.axis]].sum())

    @property
    def free(self) -> bool:
        """Whether nothing would ever pack the grains."""
        return self.weight + self.push == 0.0

    def network(self) -> ContactNetwork:
        """A bundle of chains as long as the packing, loaded by all that lies and pushes on them."""
        model, d = self.model, self.diameter
        mass = float(model.mass[: model.n].mean())
        chains = max(self.cross / d ** (model.dim - 1), 1.0)
        force = (0.5 * self.weight + self.push) / chains
        row = max(self.height / d, 1.0)
        # k L of a chain with a piston on its end, k L tan k L = chain / piston, to a few percent:
        # π/2 for a light one, the root of the ratio for a heavy one.
        phase = (self.piston / (model.n * mass) + 4.0 / math.pi**2) ** -0.5
        return ContactNetwork(
            grains=float(model.n),
            length=max(self.height, *np.delete(self.extent, self.axis).tolist()),
            rate=(phase / row) ** 2 / 2.0,
            sag=row * force / (mass / 2.0),
            effective_mass=mass / 2.0,
            push=force / (mass / 2.0),
            lever=ROW_LEVER * row,
            # In packings about as much comes back as goes on: q is near ¾, that of s = 0.
            onward=0.0 if chains > 1.0 else ContactNetwork.onward,
        )

    def speed(self) -> float:
        """Speed of grains now, after their fall, or behind a piston [length/time]."""
        v = self.state.velocity[: self.model.n]
        now = math.sqrt(float(np.einsum("ia,ia->i", v, v).max()))
        mass = float(self.model.mass[: self.model.n].sum())
        way = max(float(self.extent[self.axis]) - self.height, self.diameter)
        return max(now, math.sqrt(2.0 * (self.weight + self.push) / mass * way))


def _driven_speed(sim: Simulation) -> float:
    """Largest prescribed speed of a body or its surface over the run [length/time]."""
    model, stop = sim.model, sim.scenario.stop
    end = 0.0
    if stop is not None:
        end = max(stop.time or 0.0, (stop.steps or 0) * sim.dt)
    x = sim.state.position
    far = np.linalg.norm(x - x[: model.n].mean(axis=0), axis=1)
    span, period = spans(model, sim.state.orientation), model.cell_in(sim.state).period
    lever = far + float(np.linalg.norm(extent(x[: model.n], span, period)))
    lever[: model.n] = model.radius
    lever[model.n :] = np.where(model.wall_size > 0.0, model.wall_size, lever[model.n :])
    fastest = 0.0
    for drive in model.drives:
        if drive.what in (VELOCITY, SPIN):
            value = max(abs(drive.value(float(t))) for t in np.linspace(0.0, end, 65))
            fastest = max(fastest, value * (lever[drive.bodies].max() if drive.what == SPIN else 1))
    return float(fastest)
