"""The observers of a run: its file, its progress line, and what listens for Ctrl-C.

None of them can change the state.
"""

from __future__ import annotations

import logging
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import hardgrain
from hardgrain.core.model import Floats, State
from hardgrain.io.frame import Record
from hardgrain.io.layout import MODEL
from hardgrain.io.runwriter import RunWriter
from hardgrain.processes import world
from hardgrain.run.history import Row, columns, rows, stacked
from hardgrain.run.interrupt import Interrupt
from hardgrain.run.monitor import SCALARS
from hardgrain.run.progress import Progress
from hardgrain.run.stop import Condition
from hardgrain.run.summary import Totals
from hardgrain.step.pause import Pause
from hardgrain.step.report import StepReport, Stride

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["Observer", "Recorder", "attended", "record", "warn"]

Observer = Callable[["Simulation", StepReport], object]

_log = logging.getLogger(__name__)


class Recorder:
    """Writes frames, and with each of them the history of the steps since the last.

    Without a writer it does nothing.
    """

    def __init__(self, sim: Simulation, writer: RunWriter | None) -> None:
        self._sim, self._writer = sim, writer
        self._rows: list[Row] = []
        if writer is not None:
            writer.durable = sim.scenario.output.durable

    @classmethod
    @contextmanager
    def new(
        cls, sim: Simulation, path: str | Path | None, overwrite: bool = False
    ) -> Iterator[Recorder]:
        """A recorder for a new run file, which begins with a frame of the present state."""
        if path is None:
            yield cls(sim, None)
            return
        made: list[RunWriter] = []  # by the first process, where several share the run
        sim.here.on_first(lambda: made.append(_create(sim, path, overwrite)))
        if not made:
            yield cls(sim, None)
            return
        with made[0] as writer:
            begun = cls(sim, writer)
            begun.write(with_contacts=True)
            yield begun

    @property
    def path(self) -> str | None:
        return None if self._writer is None else str(self._writer.path)

    def pause(self, pause: Pause) -> Pause:
        """Let the engine pause when a frame is due, and at every step if it follows bodies."""
        if self._writer is None:
            return pause
        every = self._sim.scenario.output.every
        left = every - self._sim.state.step % every
        return pause._replace(steps=1 if self._sim.track.columns else min(pause.steps, left))

    def note(self, stride: Stride, before: list[float], last: bool) -> None:
        """Take note of steps, and write a frame if it is time or the last of them.

        ``before``: the monitor's columns that hold up to the last of these steps.
        """
        if self._writer is None:
            return
        output = self._sim.scenario.output
        self._rows += rows(self._sim, stride, before)
        frame, off = divmod(self._sim.state.step, output.every)
        if off == 0 or last:  # the last frame always has its contacts
            self.write(with_contacts=last or frame % output.contacts_every == 0)

    def write(self, with_contacts: bool) -> None:
        """Write a frame of the present state; with contacts, a run can be resumed from it."""
        assert self._writer is not None
        sim = self._sim
        whole = sim.exchange.whole(sim.model, sim.state)
        contacts = whole.contacts if with_contacts else None
        self._writer.append(record(sim, whole), stacked(sim, self._rows), contacts)
        self._rows = []
        what = "checkpoint" if with_contacts else "frame"
        _log.info("Wrote a %s at step %d to %s.", what, sim.state.step, self.path)

    def tell(self, verdict: str | None) -> None:
        """Keep in the file why the run is not plausible."""
        if self._writer is not None and verdict is not None:
            self._writer.tell(verdict)

    def close(self, finished: bool) -> None:
        """Write what is left, and whether a stop condition was met."""
        if self._writer is None:
            return
        if self._rows:  # the run went back to the last good moment
            self.write(with_contacts=True)
        self.tell(self._sim.implausible)
        self._writer.close(finished=finished)

    def news(self) -> str | None:
        """Words on what has happened to the file since the last call."""
        if self._writer is None:
            return None
        news, self._writer.news = self._writer.news, None
        return news


def record(sim: Simulation, s: State) -> Record:
    """A frame of the present state, given that of all grains by number."""
    return Record(
        s.step, s.time, s.position, s.orientation, s.velocity, s.spin,
        sim.engine.wall_force, sim.engine.wall_torque,
        {**asdict(sim.totals), **sim.monitor.scalars},
        sim.exchange.status if sim.exchange.changes else np.zeros(0, np.int32), sim.exchange.order,
        s.cell, s.collided, *_deformed(s),
    )  # fmt: skip


def _deformed(s: State) -> tuple[Floats, Floats]:
    """Displacements of nodes and their rates; none where all grains are rigid."""
    if s.deformation is None:
        return np.zeros((0, 0)), np.zeros((0, 0))
    return s.deformation.displacement, s.deformation.rate


def _create(sim: Simulation, path: str | Path, overwrite: bool) -> RunWriter:
    import numba

    header = {
        "scenario": sim.scenario.model_dump_json(),
        "hardgrain": hardgrain.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "units": sim.scenario.units or "any consistent units, as in the scenario",
    }
    return RunWriter.create(
        path,
        header=header,
        model={name: getattr(sim.exchange.everyone, name) for name in MODEL},
        columns=columns(sim),
        wall_names=sim.model.wall_names,
        springs=sim.engine.springs,
        status=sim.exchange.changes,
        order=sim.exchange.sorted,
        cell=bool(sim.state.cell.size),
        collided=sim.state.collided.shape[1] > 0,
        nodes=len(_deformed(sim.state)[0]),
        scalars=[*(f.name for f in fields(Totals)), *SCALARS],
        overwrite=overwrite,
    )


@contextmanager
def attended(
    conditions: list[Condition], progress: Observer | bool
) -> Iterator[tuple[Observer, Interrupt]]:
    """Accompany a run with a progress line, or a function in its place, and listen for Ctrl-C."""
    with ExitStack() as stack:
        if isinstance(progress, bool):
            shown = progress and sys.stderr.isatty() and world().leads
            line = Progress(conditions, quiet=not shown)
            line.hidden = line.quiet
            progress = stack.enter_context(line)
        heard = progress.heard if isinstance(progress, Progress) else lambda count: None
        yield progress, stack.enter_context(Interrupt(heard))


def warn(text: str, progress: Observer, kind: type[Warning]) -> None:
    """Show a line in the progress display or, where there is none, give a Python warning."""
    if not world().leads:
        return
    if isinstance(progress, Progress) and not progress.hidden:
        progress.tell(f"warning:     {text}")
    else:
        warnings.warn(text, kind, stacklevel=4)
