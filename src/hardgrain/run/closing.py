"""The summary of a run made from its file, the same that the run printed at its end."""

from __future__ import annotations

from dataclasses import replace
from typing import get_type_hints

from hardgrain.io.runfile import RunFile
from hardgrain.run.checkpoint import from_checkpoint
from hardgrain.run.simulation import Simulation
from hardgrain.run.stop import name_of
from hardgrain.run.summarise import summarise
from hardgrain.run.summary import Summary
from hardgrain.step.report import StepReport

__all__ = ["closing_word"]


def closing_word(run: RunFile) -> Summary:
    """Summary of a run up to its last frame that stored contacts.

    All is as at the end of the run, except for the time spent, which no file keeps.
    """
    last = run.last_with_contacts()
    checkpoint = run.checkpoint(last)
    assert checkpoint is not None
    sim = from_checkpoint(Simulation, checkpoint, None, run.path)
    done = run.history["step"] <= checkpoint.record.step
    history = {name: column[done] for name, column in run.history.items()}
    sim.speeds.recall(history)
    if len(history["step"]):
        sim.report = StepReport(
            **{
                name: kind(history[name][-1])
                for name, kind in get_type_hints(StepReport).items()
                if name in history  # files of an earlier version may lack some
            }
        )
    stop = sim.scenario.stop
    conditions = stop.conditions() if stop else []
    ended = None
    if run.finished:
        ended = next((name_of(c) for c in conditions if c(sim)), "stop condition met")
    sim.implausible = run.verdict or None
    sim.look_closely()
    summary = summarise(sim, ended, conditions, str(run.path))
    return replace(summary, seconds={}, compile_seconds=0.0)
