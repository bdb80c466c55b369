"""One point of a study is run: from its start, or from where a worker that is no more has left it.

Runs are ended at once when they are asked to stop, by Ctrl-C or by a scheduler: their file is
intact up to the last frame, from which they go on. Were they to write the step in hand first, their
file would have a frame more than that of a run which was never disturbed.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hardgrain
from hardgrain.errors import HardgrainError, InputError, RunError
from hardgrain.io.runfile import RunFile
from hardgrain.run.closing import closing_word
from hardgrain.run.progress import Progress
from hardgrain.run.scenario import Scenario, parse, stored_scenario
from hardgrain.run.simulation import Simulation
from hardgrain.show.page import write_whole
from hardgrain.show.toml import tables_text
from hardgrain.study.folder import Folder
from hardgrain.study.points import Point

if TYPE_CHECKING:
    from hardgrain.step.report import StepReport

__all__ = ["Outcome", "scenario_of", "work"]

# [s] Time between two words on how far a run is. More of them would keep those busy who listen.
PERIOD = 0.5

# Figures of a summary that depend on the clock, or on how often the run was disturbed.
FLEETING = ("seconds", "compile_seconds", "updates", "updates_per_second", "output")

# A simulation takes note of signals and of what is compiled in ways that are of the whole process.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Outcome:
    """What became of a point."""

    key: str
    state: str  # done, failed, or busy: another worker has it
    seconds: float = 0.0  # that it took this worker
    why: str = ""  # why it failed


def scenario_of(folder: Folder, point: Point) -> Scenario:
    """The scenario of a point, with its own seed."""
    return parse(_tables(folder, point))


def _tables(folder: Folder, point: Point) -> dict[str, Any]:
    tables = folder.plan.tables(point.values, folder.at)
    tables.setdefault("output", {}).pop("file", None)  # each run has its own
    return tables if point.seed is None else tables | {"seed": point.seed}


def work(
    folder: Folder,
    point: Point,
    *,
    retry: bool = False,
    tell: Callable[[float], object] = lambda share: None,
) -> Outcome:
    """Run a point, unless it is done, has failed or is being run; ``tell`` how far, from 0 to 1."""
    with _one_at_a_time, folder.claimed(point.key) as mine:
        if not mine:
            return Outcome(point.key, "busy")
        state, why = folder.look(point.key)
        if state == "done" or (state == "failed" and not retry):
            folder.note(point.key, state, **({"why": why} if why else {}))
            return Outcome(point.key, state, why=why)
        folder.note(point.key, "begun")
        begin = time.monotonic()
        try:
            facts = _run(folder, point, retry, tell)
        except Exception as error:  # whatever it is, the other points go on
            why, more = str(error).rstrip("."), {}
            if not isinstance(error, HardgrainError):
                why = f"{type(error).__name__}: {why}"
                more = {"traceback": traceback.format_exc()}
            folder.finish(point.key, _facts(point) | {"why": why} | more, failed=True)
            folder.note(point.key, "failed", why=why)
            return Outcome(point.key, "failed", time.monotonic() - begin, why)
        seconds = time.monotonic() - begin
        folder.tidy(point.key)
        folder.finish(point.key, facts)
        (folder.of(point.key) / "failed.json").unlink(missing_ok=True)
        folder.note(point.key, "done", seconds=round(seconds, 3))
        return Outcome(point.key, "done", seconds)


def _facts(point: Point) -> dict[str, Any]:
    return {
        "point": point.key, "parameters": point.values, "number": point.number,
        "seed": point.seed, "hardgrain": hardgrain.__version__,
    }  # fmt: skip


def _run(
    folder: Folder, point: Point, retry: bool, tell: Callable[[float], object]
) -> dict[str, Any]:
    """Run a point to its end, and give what its summary holds: the same for the same bits."""
    tables = _tables(folder, point)
    scenario = parse(tables)
    assert scenario.stop is not None
    path = folder.of(point.key) / "run.h5"
    write_whole(folder.of(point.key) / "scenario.toml", f"# {point}\n\n{tables_text(tables)}")
    with Told(scenario.stop.conditions(), tell) as progress:
        if not _resumed(path, progress, retry):
            Simulation(scenario).run(output=path, overwrite=True, progress=progress)
    with RunFile(path) as run:
        summary = closing_word(run)
    if not summary.finished:
        raise RunError(f"the run is not plausible: {summary.implausible}")
    figures = {k: v for k, v in summary.as_dict().items() if k not in FLEETING}
    return _facts(point) | {"summary": figures}


def _resumed(path: Path, progress: Progress, retry: bool) -> bool:
    """Bring a run to its end that another worker has left; False if it must begin anew."""
    if not path.is_file():
        return False
    try:
        with RunFile(path) as run:
            stops = stored_scenario(run.header, path).on_implausible == "stop"
            if run.verdict and stops:
                return not retry
            if run.finished:
                return True
    except InputError:  # its first frame was not written yet, or another version has begun it
        return False
    Simulation.resume(path, progress=progress)
    return True


class Told(Progress):
    """Tells how far a run is, in place of a line in the terminal."""

    def __init__(self, until: Any, tell: Callable[[float], object]) -> None:
        super().__init__(until, quiet=True)
        self._tell, self._last = tell, 0.0

    def __call__(self, sim: Simulation, report: StepReport) -> None:
        now = time.monotonic()
        if now - self._last > PERIOD:
            self._last = now
            self._tell(self._left(sim)[0] or 0.0)

    def heard(self, count: int) -> None:
        """Ctrl-C or SIGTERM: as safe for the run file as a kill, and it leaves the same frames."""
        os._exit(130)
