"""What to expect of a run, before it: sweeps, step, softness and time.

Where a run begins with forces (its start is a frame of an earlier one), they are judged as in any
run. Otherwise the packing is foreseen: all grains in one cluster, as dense as grains pack, as wide
as they lie now and as high as that leaves, a bundle of chains under the weight above them and the
push of the pistons.

A criterion is judged by what it leaves (`measure.rigidity`): fine enough to see the slowest mode,
it makes as many sweeps as rigidity needs; otherwise one a step is all that can be counted on.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.measure.rigidity import ROW_LEVER, Network, Rigidity, extent, network, rigidity
from hardgrain.run.progress import duration
from hardgrain.run.scenario import Scenario
from hardgrain.run.simulation import Simulation
from hardgrain.scene.model import SPIN, VELOCITY, Floats, Model, State
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Box, Grains
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import SoftParticles
from hardgrain.step.loads import Loads

__all__ = ["Advice", "advise"]

PACKED = {2: 0.82, 3: 0.6}  # share of space that grains fill when they have settled
CONTACTS = {2: 2.0, 3: 3.0}  # of a grain, each counted once, frictionless grains at most
TRAVEL = 0.1  # share of a diameter that a grain may move in a step: contacts turn as little
# Sweeps that cost as much as the path of the rigid solver, which no step needs more of.
AT_ONCE = {2: 7_000, 3: 20_000}
PROBE = 20_000  # grains of the lattice on which speed is measured, at most
PROBE_SECONDS = 0.3  # long enough for a figure good to ten percent


@dataclass(frozen=True)
class Advice:
    """What a scenario will be like as it is written, and what would make it rigid."""

    grains: int
    dim: int
    diameter: float  # mean [length]
    dt: float  # as written [time]
    longest_dt: float | None  # that the expected speeds allow; None: nothing moves
    speed: float  # expected of the fastest grains [length/time]
    sweeps: int  # as written; a cap, where a criterion decides
    adaptive: bool  # a criterion decides when to stop sweeping
    foreseen: bool  # from the scene alone, no forces are known yet
    rigidity: Rigidity  # with the sweeps as written, or with those that a criterion makes sure of
    steps: int | None  # of the whole run, where its stop condition tells
    updates_per_second: float  # contact updates on this machine
    step_seconds: float  # of one step with the sweeps of ``rigidity``
    rigid_step_seconds: float  # of one step with as many sweeps as rigidity needs

    @property
    def rigid(self) -> bool:
        """Whether it will be."""
        return self.rigidity.rigid

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {**asdict(self), "rigid": self.rigid, "sound_speed": self.rigidity.sound_speed}

    def __str__(self) -> str:
        r = self.rigidity
        source = "foreseen" if self.foreseen else "from the forces at its start"
        lines = {
            "packing": f"{self.grains} grains of mean diameter {self.diameter:.3g},"
            f" {r.length:.3g} long ({source})",
            "sweeps": f"{self.sweeps}, {r}",
        }
        if r.at_once:
            lines["solver"] = f"rigid, {r}"
            del lines["sweeps"]
        count, unit = (self.steps, "the run takes") if self.steps else (1000, "1000 steps take")
        times = f"{duration(max(count * self.step_seconds, 1.0))} as written"
        if self.adaptive and not r.at_once:
            verdict = (
                f"rigid: enough for a residual of {r.tolerance:.1g}, which the slowest wave"
                f" needs{r.unseen}"
                if self.rigid
                else str(r)
            )
            lines["sweeps"] = f"as many as the criterion asks for, at most {self.sweeps}; {verdict}"
            once = f"{r.sweeps:.0f} sweeps" if r.sweeps > 1.0 else "one sweep"
            times = f"{duration(max(count * self.step_seconds, 1.0))} at least, with {once} a step"
        if not self.rigid:
            lines["softness"] = r.sound
            if not self.adaptive and self.sweeps > 1:
                lines["or"] = (
                    f"halve both, dt = {self.dt / 2:g} and {self.sweeps // 2} sweeps: twice as"
                    " stiff, as much damped, for the same work"
                )
            rigid = duration(count * self.rigid_step_seconds)
            times += f", {rigid} with {r.needed} sweeps a step"
        if self.longest_dt is None:
            lines["step"] = f"dt = {self.dt:g}; nothing will move, as far as can be foreseen"
        else:
            fits = "fits" if self.dt <= self.longest_dt else "is too long"
            lines["step"] = (
                f"dt = {self.dt:g} {fits}: at a speed of {self.speed:.3g} a grain moves a tenth of"
                f" a diameter in {self.longest_dt:.3g}"
            )
        lines["time"] = (
            f"{unit} about {times}, at {self.updates_per_second / 1e6:.3g} million contact updates"
            " a second"
        )
        return "\n".join(f"{name + ':':<12} {text}" for name, text in lines.items())


def advise(scenario: Scenario) -> Advice:
    """Judge a scenario without running it; a short probe measures the speed of this machine."""
    if isinstance(scenario.engine, SoftParticles):
        raise InputError(
            "engine.kind is 'soft-particles', which makes no sweeps; advice is for contact dynamics"
        )
    sim = Simulation(scenario)
    if scenario.stop is not None:
        sim.conditions()
    model, solver = sim.model, scenario.solver
    found = network(model, sim.state, sim.dt)
    ahead = _Foreseen(model, sim.state, Loads(model, sim.dt).at(sim.state)[0])
    foreseen = found.length == 0.0
    if foreseen:
        found = ahead.network()
    adaptive, sweeps = solver.adaptive, float(solver.sweeps)
    least = rigidity(model, found, 1.0, solver.q, 1.0)
    needed, seen = least.needed, solver.at_once
    if solver.at_once:
        needed = min(needed, AT_ONCE[model.dim])
        sweeps = float(needed)
    elif adaptive:
        seen = 0.0 < solver.leaves <= least.tolerance and solver.sweeps >= needed
        sweeps = float(needed) if seen else 1.0
    expected = rigidity(
        model, found, sweeps, solver.q, sim.dt, residual=solver.leaves or float(adaptive),
        converged=seen, adaptive=adaptive, at_once=solver.at_once,
    )  # fmt: skip
    speed = max(ahead.speed(), _driven_speed(sim))
    updates_per_second, overhead = _probe(scenario, model)
    each = CONTACTS[model.dim] * model.n / updates_per_second
    return Advice(
        grains=model.n,
        dim=model.dim,
        diameter=ahead.diameter,
        dt=sim.dt,
        longest_dt=TRAVEL * ahead.diameter / speed if speed > 0.0 else None,
        speed=speed,
        sweeps=solver.sweeps,
        adaptive=adaptive,
        foreseen=foreseen,
        rigidity=expected,
        steps=_steps(scenario),
        updates_per_second=updates_per_second,
        step_seconds=overhead + each * sweeps,
        rigid_step_seconds=overhead + each * needed,
    )


class _Foreseen:
    """The packing that the grains of a scene will form under their load."""

    def __init__(self, model: Model, state: State, force: Floats) -> None:
        n, dim = model.n, model.dim
        self.model, self.state = model, state
        self.diameter = 2.0 * float(model.radius.mean())
        weight = np.abs(force[:n].sum(axis=0))
        movable = model.inv_mass[n:] > 0.0
        push = np.abs(np.where(movable, force[n:], 0.0)).sum(axis=0)
        self.axis = int((weight + push).argmax())
        self.weight, self.push = float(weight[self.axis]), float(push[self.axis])
        self.extent = extent(state.position[:n], model.radius, model.periodic)
        self.cross = float(np.delete(self.extent, self.axis).prod())
        ball = math.pi * model.radius**2 if dim == 2 else 4.0 / 3.0 * math.pi * model.radius**3
        self.height = float(self.extent[self.axis])
        thin = self.cross < 1.5 * self.diameter ** (dim - 1)  # a single row packs to its length
        if self.weight + self.push > 0.0 and not thin:
            self.height = min(self.height, float(ball.sum()) / PACKED[dim] / self.cross)
        self.piston = float(model.mass[n:][movable[:, self.axis]].sum())

    def network(self) -> Network:
        """A bundle of chains as long as the packing, loaded by all that lies and pushes on them."""
        model, d = self.model, self.diameter
        mass = float(model.mass[: model.n].mean())
        chains = max(self.cross / d ** (model.dim - 1), 1.0)
        force = (0.5 * self.weight + self.push) / chains
        row = max(self.height / d, 1.0)
        # k L of a chain with a piston on its end, k L tan k L = chain / piston, to a few percent:
        # π/2 for a light one, the root of the ratio for a heavy one.
        phase = (self.piston / (model.n * mass) + 4.0 / math.pi**2) ** -0.5
        return Network(
            grains=float(model.n),
            length=max(self.height, *np.delete(self.extent, self.axis).tolist()),
            rate=(phase / row) ** 2 / 2.0,
            sag=row * force / (mass / 2.0),
            effective_mass=mass / 2.0,
            push=force / (mass / 2.0),
            lever=ROW_LEVER * row,
        )

    def speed(self) -> float:
        """Of grains now, after the fall to the packing, or behind a piston [length/time]."""
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
    lever = far + float(np.linalg.norm(extent(x[: model.n], model.radius, model.periodic)))
    lever[: model.n] = model.radius
    lever[model.n :] = np.where(model.wall_size > 0.0, model.wall_size, lever[model.n :])
    fastest = 0.0
    for drive in model.drives:
        if drive.what in (VELOCITY, SPIN):
            value = max(abs(drive.value(float(t))) for t in np.linspace(0.0, end, 65))
            fastest = max(fastest, value * (lever[drive.bodies].max() if drive.what == SPIN else 1))
    return float(fastest)


def _steps(scenario: Scenario) -> int | None:
    stop = scenario.stop
    if stop is None:
        return None
    known = [] if stop.steps is None else [stop.steps]
    if stop.time is not None:
        known.append(math.ceil(stop.time / scenario.dt))
    return min(known, default=None)


def _probe(scenario: Scenario, model: Model) -> tuple[float, float]:
    """Contact updates a second on a packed lattice, and seconds of a step besides its sweeps."""
    side = math.ceil(min(model.n, PROBE) ** (1.0 / model.dim))
    axes = np.meshgrid(*[np.arange(side) + 0.5] * model.dim, indexing="ij")
    places = np.stack([a.ravel() for a in axes], axis=1)[: min(model.n, PROBE)]
    scene = Scene(
        dimension=2 if model.dim == 2 else 3,
        gravity=[*[0.0] * (model.dim - 1), -1.0],
        grains=[Grains(place=At(positions=places.tolist()))],
        walls=[Box(min=[0.0] * model.dim, max=[float(side)] * model.dim, open=["top"])],
    )
    given = GaussSeidel() if scenario.solver.at_once else scenario.solver
    solver = given.model_copy(update={"stop": "sweeps", "sweeps": 50})
    probe = Simulation(scene, dt=0.01, solver=solver)
    probe.step()  # compiles
    before = dict(probe.engine.seconds)
    updates, start = 0.0, time.perf_counter()
    while time.perf_counter() - start < PROBE_SECONDS:
        report = probe.step()
        updates += report.sweeps * report.candidates
    spent = {name: t - before.get(name, 0.0) for name, t in probe.engine.seconds.items()}
    solve = spent.pop("solve")
    steps = probe.state.step - 1
    return updates / solve, sum(spent.values()) / steps * model.n / places.shape[0]
