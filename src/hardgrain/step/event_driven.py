"""Event-driven hard grains: the third engine, exact between collisions and in them.

Grains fly freely and collide in pairs, in no time; nothing is iterated and nothing overlaps. A step
of length dt is no approximation here, but the stretch after which all grains are brought to the
same time, told of and, if it is due, written. Cells and calendar are made anew from the state at
the start of each step, so that a resumed run has the same bits. That costs about as much as one
collision of each grain (`benchmarks/README.md`): a step in which each grain collides a few times is
a good length. Walls have constant velocities within a step, those at its middle, as in the other
engines.

`event_kernel` has the loop over events, `event_queue` the calendar, `event_cells` how grains lie in
memory, `point.flight` when they meet and `law.collision` what happens then.

The contacts of a state are the pairs of bodies that collided in its last step, with the sum of
their impulses: what acted between two bodies in that step, as in contact dynamics, so that stress,
forces on walls and force networks mean the same. A row for each collision would grow without bound
with dt; so a pair that collided several times has one row, with the mean of its normals, weighted
by their impulses. Stress is exact where pairs that collide twice in a step have not turned
meanwhile; sums of impulses, and forces on walls, are exact in any case.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import wall_geometry
from hardgrain.contact.rows import complete
from hardgrain.core.lawtable import E_SPEED
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.core.wall_kinds import PLANE
from hardgrain.cpu.inertia import turn
from hardgrain.cpu.ledger import kinetic_energy, largest_speed
from hardgrain.errors import RunError
from hardgrain.step import event_kernel as kernel
from hardgrain.step.engine import EventDriven
from hardgrain.step.event_cells import EVENT, LIES, Gas, back, grid_of, laid
from hardgrain.step.event_contacts import by_pairs
from hardgrain.step.event_plans import Surroundings
from hardgrain.step.event_queue import queue_of
from hardgrain.step.event_refusals import refuse_events, refuse_sweeping
from hardgrain.step.loads import Loads, move, with_z
from hardgrain.step.numbers import farthest, refuse_unfit
from hardgrain.step.pause import ONE_STEP, Pause
from hardgrain.step.report import (
    INTACT,
    Pace,
    Softness,
    StepReport,
    Stopwatch,
    Stride,
    not_a_number,
)
from hardgrain.step.walls import wall_work

__all__ = ["EventDrivenDynamics"]

# [collisions] Work after which a march pauses, about a second, so that the progress line lives.
WORK = 1e6
# [rows] Room for collisions of a step, besides one for each grain, before they are summed by pairs.
ROOM = 1 << 14


class EventDrivenDynamics:
    """Advances a state in place, from collision to collision, one step of length dt at a time."""

    def __init__(self, model: Model, settings: EventDriven, dt: float, state: State) -> None:
        refuse_events(model)
        self.model, self.settings, self.dt = model, settings, dt
        self.softness: Softness | None = None
        self.springs = False
        self.seconds = Stopwatch()
        walls, ns = model.bodies - model.n, 1 if model.dim == 2 else 3
        self.wall_force, self.wall_torque = np.zeros((walls, model.dim)), np.zeros((walls, ns))
        self._loads, self._farthest = Loads(model, dt), farthest(model)
        self._gravity = with_z(model.gravity)
        self._mass = float(model.mass[: model.n].sum())
        if settings.contact_time > 0.0 and not state.collided.shape[1]:
            # longer ago than the contact time
            state.collided = np.full((model.bodies, 1), -2.0 * settings.contact_time)
        self._check_walls(state)

    def _check_walls(self, state: State) -> None:
        """Refuse walls that turn and sweep grains away, as they are driven in the first step."""
        at_first = state.copy()
        self._loads.prescribe(at_first)
        refuse_sweeping(self.model, at_first)

    def advance(self, state: State) -> StepReport:
        """One step."""
        return self.march(state, ONE_STEP).reports[-1]

    def march(self, state: State, pause: Pause) -> Stride:
        """Steps until there is a reason to pause; the last one is told by its contacts too."""
        reports: list[StepReport] = []
        paces: list[Pace] = []
        forces, works = list[Floats](), list[Floats]()
        steps, work, recent = 1 if pause.rest_steps else pause.steps, 0.0, 0
        while True:
            last = len(reports) + 1 >= steps or work + recent >= WORK
            report, pace, wall = self._step(state, last)
            reports.append(report)
            paces.append(pace)
            forces.append(self.wall_force.copy())
            works.append(wall)
            recent = report.candidates
            work += recent + 0.3 * self.model.n
            if last:
                return Stride(reports, paces, np.array(forces), np.array(works))

    def _step(self, state: State, told: bool) -> tuple[StepReport, Pace, Floats]:
        """One step; told: whether its contacts are asked for."""
        model, dt, n, dim = self.model, self.dt, self.model.n, self.model.dim
        self._loads.prescribe(state)
        with self.seconds.of("detect"):
            refuse_sweeping(model, state)
            fallen = state.velocity + dt * model.inv_mass * self._loads.at(state)[0]
            pace = self._loads.pace(state, fallen, state.spin)
            out = self._surroundings(state)
            last = np.full(n, -math.inf)
            if state.collided.shape[1]:
                last = state.collided[:n, 0] - state.time
            gas = laid(
                grid_of(model, state.position[:n]),
                (state.position, state.velocity, state.spin, state.orientation),
                (model.radius, model.inv_mass, model.inv_inertia, model.material),
                last,
            )
            queue = queue_of(gas.plan[:, EVENT], gas.note[:, LIES:])
            kernel.begin(gas, out, queue)
        log = self._log(n + ROOM if told else 0)
        with self.seconds.of("solve"):
            while (how := kernel.fly(gas, out, log, queue)) == kernel.FULL:
                log = _summed(log, gas)
        if how == kernel.COLLAPSE:
            raise RunError(self._collapse(state, gas, log, float(queue.clock[0])))
        with self.seconds.of("account"):
            before, end = state.position[:n], state.copy()
            back(gas, dt, self._gravity, end.position, end.velocity, end.spin, last)
            end.orientation[gas.row] = gas.orientation
            moved = end.position[:n] - before
            external = float((model.mass[:n] @ moved) @ model.gravity)
            velocity, spin, total = end.velocity, end.spin, log.sums
            kinetic = float(kinetic_energy(velocity, spin, model.inv_mass, model.inv_inertia))
            if not math.isfinite(kinetic + float(total.sum())):
                raise RunError(not_a_number(model, state, velocity))
            self.wall_force[:] = log.push[:, :dim] / dt
            self.wall_torque[:] = log.push[:, 3:][:, -self.wall_torque.shape[1] :] / dt
            work = wall_work(
                velocity, velocity, spin, model.inv_mass, self.wall_force, self.wall_torque, dt
            )
        with self.seconds.of("move"):
            move(end.position[n:], velocity[n:], dt)
            turn_walls(end, n, dt)
            state.position, state.orientation = end.position, end.orientation
            state.velocity, state.spin = velocity, spin
            if state.collided.shape[1]:
                state.collided[:n, 0] = last + state.time
            state.contacts = self._contacts(end.position, gas.row, log)
            state.step += 1
            state.time = state.step * dt
            refuse_unfit(model, state, self._farthest, RunError, f"step {state.step} gave", INTACT)
        hits = int(log.tally[kernel.COLLISIONS])
        speed = math.sqrt(2.0 * kinetic / self._mass) if self._mass > 0.0 else 0.0
        report = StepReport(
            state.step, state.time, 0, True, 0.0, 0.0, hits, hits,
            float(total[kernel.WORST]), 0.0, largest_speed(velocity, n), kinetic, external,
            float(total[kernel.DRIVEN]), float(total[kernel.DISSIPATED]), 0.0, 0.0, True, speed,
            float(total[kernel.DEEPEST]),
        )  # fmt: skip
        return report, pace, work

    def elastic(self, state: State) -> float:
        """Rigid grains hold no energy."""
        return 0.0

    def updates(self, report: StepReport) -> float:
        """How much work a step was: its collisions."""
        return float(report.candidates)

    # ------------------------------------------------------------------ as the kernels want it
    def _surroundings(self, state: State) -> Surroundings:
        """Walls and laws at the start of a step."""
        model, n, dim = self.model, self.model.n, self.model.dim
        walls = wall_geometry(model, state)
        axis, spin = with_z(walls.axis), np.zeros((len(walls.kind), 3))
        if dim == 2:
            axis[walls.kind != PLANE] = 0.0, 0.0, 1.0
        spin[:, -state.spin.shape[1] :] = state.spin[n:]
        return Surroundings(
            walls.kind, with_z(walls.point), axis, walls.size, with_z(state.position[n:]),
            with_z(state.velocity[n:]), spin, model.material[n:], model.laws, self._gravity,
            self.dt, self.settings.contact_time,
        )  # fmt: skip

    def _log(self, rows: int) -> kernel.Log:
        """Nothing told yet, with room for so many collisions."""
        return kernel.Log(
            np.zeros(4), np.array([0, 0, -1, -1, 0, 0]), np.zeros((len(self.wall_force), 6)),
            np.empty((rows, 2), np.int32), np.empty((rows, 6)),
        )  # fmt: skip

    def _contacts(self, position: Floats, row: NDArray[np.int64], log: kernel.Log) -> Contacts:
        """The pairs of bodies that collided in the step, see the module's top."""
        model, dim = self.model, self.model.dim
        if not log.pair.shape[0]:
            return Contacts.none(dim)
        hits = int(log.tally[kernel.ROWS])
        pair, rows = by_pairs(log.pair[:hits], log.rows[:hits], row, model.n)
        normal = rows[:, :dim] / np.sqrt(np.einsum("ka,ka->k", rows[:, :3], rows[:, :3]))[:, None]
        m, ns = len(pair), self.wall_torque.shape[1]
        found = Contacts(
            pair[:, 0].copy(), pair[:, 1].copy(), normal, np.zeros(m),
            np.ascontiguousarray(rows[:, 3 : 3 + dim]), np.zeros((m, ns)),
        )  # fmt: skip
        return complete(model, position, found)

    def _collapse(self, state: State, gas: Gas, log: kernel.Log, now: float) -> str:
        """The word on collisions without end."""
        one, other = int(log.tally[kernel.ONE]), int(log.tally[kernel.OTHER])
        bodies = [int(gas.row[one]), self.model.n - 1 - other if other < 0 else int(gas.row[other])]
        a, b = (self.model.body_name(k) for k in sorted(bodies, key=self.model.number.item))
        slower = ""
        if not (self.model.gravity.any() or self.model.laws[..., E_SPEED].any()):
            slower = " or scene.contacts.restitution_speed so that slow collisions lose less,"
        return (
            f"{a} and {b} collide without end at time {state.time + now:.6g} (inelastic collapse);"
            f" give engine.contact_time,{slower} or use the engine 'contact-dynamics'{INTACT}"
        )


def turn_walls(state: State, n: int, dt: float) -> None:
    """Turn all walls about their spins."""
    orientation = np.ascontiguousarray(state.orientation[n:])
    turn(orientation, np.ascontiguousarray(state.spin[n:]), dt)
    state.orientation[n:] = orientation


def _summed(log: kernel.Log, gas: Gas) -> kernel.Log:
    """The log with one row for each pair, and as much room again."""
    hits, n = int(log.tally[kernel.ROWS]), len(gas.row)
    pair, rows = by_pairs(log.pair[:hits], log.rows[:hits], np.arange(n), n)
    pair = np.where(pair < n, pair, n - 1 - pair)
    m = len(pair)
    size = max(2 * m, len(log.pair))
    bodies, sums = np.empty((size, 2), np.int32), np.empty((size, 6))
    bodies[:m], sums[:m] = pair, rows
    log.tally[kernel.ROWS] = m
    return log._replace(pair=bodies, rows=sums)
