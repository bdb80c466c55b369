"""What a run file keeps of every step: a row of figures, forces on walls and their works."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import RunError
from hardgrain.io.runwriter import StepRows
from hardgrain.run.exchange import FLOWS
from hardgrain.run.monitor import COLUMNS
from hardgrain.step.report import StepReport, Stride

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Row", "columns", "refuse_boundless_work", "rows", "stacked"]

# values of a step: columns of the history, wall forces, wall works
Row = tuple[Floats, Floats, Floats]

_REPORT = StepReport._fields


def columns(sim: Simulation) -> list[str]:
    """Names of the columns."""
    flows: list[str] = []
    if sim.exchange.changes:
        flows = ["grains", "mass", *FLOWS]
        flows += [f"removed_by_{title}" for title in sim.exchange.titles]
    return [*_REPORT, *(f"network_{name}" for name in COLUMNS), *flows, *sim.track.columns]


def rows(sim: Simulation, stride: Stride, before: list[float]) -> list[Row]:
    """The values of the last steps; ``before``: the monitor's columns up to the last of them."""
    ends = [[*before]] * (len(stride.reports) - 1) + [[*sim.monitor.columns]]
    if sim.exchange.changes:
        ends[-1] += [float(sim.model.n), sim.speeds.mass, *asdict(sim.flow).values()]
        ends[-1] += [float(count) for count in sim.exchange.taken]
    ends[-1] += sim.track.row(sim.model, sim.state, sim.dt)
    return [
        (np.array([*report, *end], dtype=np.float64), force, work)
        for report, end, force, work in zip(
            stride.reports, ends, stride.wall_force, stride.wall_work, strict=True
        )
    ]


def stacked(sim: Simulation, rows: list[Row]) -> StepRows:
    """Rows of several steps, or of none, as arrays."""
    walls = sim.engine.wall_force.shape
    shapes = (len(columns(sim)),), walls, walls[:1]
    parts = zip(*rows) if rows else ([], [], [])
    return StepRows(*(np.reshape(part, (len(rows), *each)) for part, each in zip(parts, shapes)))


def refuse_boundless_work(sim: Simulation, stride: Stride) -> None:
    """End a run in which the work of a wall is beyond the range of numbers."""
    if np.isfinite(stride.wall_work).all():
        return
    step, wall = np.argwhere(~np.isfinite(stride.wall_work))[0]
    raise RunError(
        f"the work of wall {sim.model.wall_names[wall]!r} in step {stride.reports[step].step} is"
        " beyond the range of numbers; use other units, or move it more slowly"
    )
