"""What a run file keeps of every step: a row of figures, forces on walls and their works."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.errors import RunError
from hardgrain.io.runwriter import StepRows
from hardgrain.run.exchange import FLOWS
from hardgrain.run.monitor import COLUMNS
from hardgrain.scene.model import Floats
from hardgrain.step.report import StepReport

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Row", "columns", "row", "stacked", "work_of_walls"]

# values of a step: columns of the history, wall forces, wall works
Row = tuple[Floats, Floats, Floats]

_REPORT = tuple(f.name for f in fields(StepReport))


def columns(sim: Simulation) -> list[str]:
    """Names of the columns."""
    flows: list[str] = []
    if sim.exchange.changes:
        flows = ["grains", "mass", *FLOWS]
        flows += [f"removed_by_{title}" for title in sim.exchange.titles]
    return [*_REPORT, *(f"network_{name}" for name in COLUMNS), *flows, *sim.track.columns]


def row(sim: Simulation, report: StepReport) -> Row:
    """The values of the last step."""
    found = [*(float(getattr(report, name)) for name in _REPORT), *sim.monitor.columns]
    if sim.exchange.changes:
        found += [float(sim.model.n), sim.speeds.mass, *asdict(sim.flow).values()]
        found += [float(count) for count in sim.exchange.taken]
    found += sim.track.row(sim.model, sim.state, sim.dt)
    return np.array(found), sim.engine.wall_force.copy(), sim.wall_work


def stacked(sim: Simulation, rows: list[Row]) -> StepRows:
    """Rows of several steps, or of none, as arrays."""
    walls = sim.engine.wall_force.shape
    shapes = (len(columns(sim)),), walls, walls[:1]
    parts = zip(*rows) if rows else ([], [], [])
    return StepRows(*(np.reshape(part, (len(rows), *each)) for part, each in zip(parts, shapes)))


def work_of_walls(sim: Simulation, before: Floats) -> Floats:
    """Work of each wall on the grains in the last step, −dt (F·v̄ + τ·ω), shape (w,) [energy].

    v̄ is the mean of a piston's velocity before and after the step; driven walls have only one
    velocity. Pistons of soft particles have this work up to changes of force and speed within the
    step.
    """
    n, s, e = sim.model.n, sim.state, sim.engine
    moves = sim.model.inv_mass[n:] > 0.0
    mean = np.where(moves, 0.5 * (before + s.velocity[n:]), s.velocity[n:])
    gained = (e.wall_force * mean).sum(axis=1) + (e.wall_torque * s.spin[n:]).sum(axis=1)
    work: Floats = -sim.dt * gained
    if not np.isfinite(work).all():
        wall = sim.model.wall_names[int(np.flatnonzero(~np.isfinite(work))[0])]
        raise RunError(
            f"the work of wall {wall!r} in step {s.step} is beyond the range of numbers; use"
            " other units, or move it more slowly"
        )
    return work
