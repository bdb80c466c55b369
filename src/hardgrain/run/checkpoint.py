"""Simulations made again from what a run file keeps, and moments to go back to within a run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import hardgrain
from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import InputError, RunError
from hardgrain.io.layout import MODEL
from hardgrain.io.runfile import Checkpoint, RunFile
from hardgrain.io.runwriter import RunWriter
from hardgrain.processes import world
from hardgrain.run.history import columns
from hardgrain.run.monitor import LATER, SCALARS, Monitor
from hardgrain.run.scenario import stored_scenario, with_device
from hardgrain.run.shared import of_first, only_header
from hardgrain.run.start import grains_of, refuse_odd_numbers
from hardgrain.run.summary import Totals
from hardgrain.scene.scene import Scene

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Backup", "from_checkpoint", "opened", "recall", "refuse_stopped"]

_log = logging.getLogger(__name__)


def refuse_stopped(path: str | Path) -> None:
    """Refuse to go on with a run that was stopped because it was not plausible."""
    with RunFile(path) as file:
        verdict = file.verdict
        if verdict and stored_scenario(file.header, path).on_implausible == "stop":
            raise RunError(
                f"{path} was stopped as not plausible: {verdict}; it cannot go on, but another"
                " run may start from its frames, with a smaller dt or another solver"
            )


@contextmanager
def opened(path: str | Path) -> Iterator[tuple[RunWriter | None, Checkpoint]]:
    """A run file to go on with, which the first process alone writes, and its last checkpoint.

    Where several processes share the run, the others know no more of it than its header.
    """
    here, held = world(), list[tuple[RunWriter, Checkpoint]]()

    def begin() -> Checkpoint:
        refuse_stopped(path)
        held.append(RunWriter.resume(path))
        return only_header(held[0][1])

    bare = here.on_first(begin)
    if not held:
        yield None, bare
        return
    with held[0][0] as writer:
        yield writer, held[0][1]


def from_checkpoint(
    kind: type[Simulation],
    checkpoint: Checkpoint,
    scene: Scene | None,
    path: str | Path,
    device: str | None = None,
) -> Simulation:
    """A simulation as it was when a frame was written.

    ``scene`` and ``device`` replace those in the file.
    """
    sim = kind.__new__(kind)
    scenario = stored_scenario(checkpoint.header, path)
    if scene is not None:
        scenario = scenario.model_copy(update={"scene": scene})
    before = getattr(scenario.engine, "device", "cpu")
    if device is not None:
        scenario = with_device(scenario, device)
    if device == "cuda" and hasattr(scenario.solver, "order"):
        # The file has an order of sweeps also where none was asked for, and a GPU knows one alone.
        tiles = scenario.solver.model_copy(update={"order": "tiles"})
        scenario = scenario.model_copy(update={"solver": tiles})
    frame, rows = checkpoint.record, checkpoint.contacts
    if not set(SCALARS) - LATER <= set(frame.scalars):
        raise _kept_less(path, checkpoint)
    sim.scenario, sim.dt = scenario, scenario.dt

    def read() -> tuple[Model, State, None]:
        everyone, _ = scenario.scene.build(scenario.seed, grains_of(frame, checkpoint.model))
        for name in MODEL:
            if not np.array_equal(getattr(everyone, name), checkpoint.model[name]):
                raise InputError(
                    f"{path} holds another {name} than its scenario gives with hardgrain"
                    f" {hardgrain.__version__}; it was written by"
                    f" {checkpoint.header.get('hardgrain', 'another version')}"
                )
        bodies = (frame.position, frame.velocity, frame.spin, frame.orientation)
        more = frame.cell, frame.collided, frame.deformation(everyone)
        state = State(frame.step, frame.time, *bodies, rows, *more)
        refuse_odd_numbers(everyone, state, f"{path} gives")
        return everyone, state, None

    sim.here = world()
    everyone, state, _ = of_first(sim.here, scenario, read)
    sim._set_up(everyone, state, frame.status, frame.order)
    if device not in (None, before):
        sim.moved = (
            f"steps up to {frame.step} were made with device = {before!r}, those after it with"
            f" {device!r}; their bits are not those of a run on one device"
        )
    sim.totals = Totals(
        **{f.name: frame.scalars[f.name] for f in fields(Totals) if f.name in frame.scalars}
    )
    sim.monitor = Monitor(everyone, scenario.solver, sim.dt, sim.totals, frame.scalars)
    sim.monitor.model = sim.model
    return sim


def recall(sim: Simulation, checkpoint: Checkpoint, path: str | Path) -> None:
    """Restore the rest that a resumed run must know: past speeds, and whether it was plausible."""

    def read() -> tuple[dict[str, Floats], list[str], str]:
        with RunFile(path) as file:
            return file.history, list(file.columns), file.verdict

    history, names, verdict = sim.here.on_first(read)
    if names != columns(sim):
        raise _kept_less(path, checkpoint)
    sim.speeds.recall(history)
    sim.implausible = verdict or None
    _log.info("Found %s at step %d, from where it goes on.", path, sim.state.step)


def _kept_less(path: str | Path, checkpoint: Checkpoint) -> InputError:
    return InputError(
        f"{path} was written by hardgrain {checkpoint.header.get('hardgrain')}, which kept less in"
        " its file; start a new run from its last frame"
    )


class Backup:
    """A copy of all that the next steps of a simulation change, to go back to."""

    def __init__(self, sim: Simulation) -> None:
        s, e = sim.state, sim.engine
        self._state = copy(s)
        for name in ("position", "velocity", "spin", "orientation", "cell"):
            setattr(self._state, name, getattr(s, name).copy())
        self._totals, self._report, self._steps = copy(sim.totals), sim.report, len(sim.speeds)
        self._forces = e.wall_force.copy(), e.wall_torque.copy()
        self._there = sim.model, e, sim.flow, sim.exchange.moment

    def restore(self, sim: Simulation) -> None:
        """Undo the steps made since then."""
        sim.model, sim.engine, sim.flow, sim.exchange.moment = self._there
        sim._state, sim.report = self._state, self._report
        sim.monitor.model = sim.model
        for f in fields(Totals):  # the monitor holds the same object, so it is changed in place
            setattr(sim.totals, f.name, getattr(self._totals, f.name))
        sim.engine.wall_force, sim.engine.wall_torque = self._forces
        sim.speeds.weigh(sim.model, sim.here)
        sim.speeds.forget(self._steps)
