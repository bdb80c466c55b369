"""The contact problem of one step of a run, as it was solved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hardgrain
from hardgrain.errors import InputError, RunError

if TYPE_CHECKING:
    from hardgrain.core.model import Floats
    from hardgrain.solve.matrices import GlobalForm, LocalForm
    from hardgrain.solve.problem import Problem, Solution

__all__ = ["problem_of_step"]


@dataclass
class _Recorder:
    """A solver that keeps the last problem of a step, which has all its contacts."""

    solver: Any
    problem: Problem | LocalForm | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(self, problem: Problem | LocalForm, *, seed: int, step: int) -> Solution:
        self.problem = problem
        solution: Solution = self.solver.solve(problem, seed=seed, step=step)
        return solution


def problem_of_step(path: Path, step: int | None) -> tuple[GlobalForm | LocalForm, dict[str, str]]:
    """The problem of the step that begins after ``step`` steps, and words about it.

    Of scenes with deformable grains it is the local form, which is the one that steps make there.
    """
    import numpy as np
    from scipy.sparse import csr_array

    from hardgrain.io.runfile import RunFile
    from hardgrain.run.checkpoint import from_checkpoint
    from hardgrain.run.simulation import Simulation
    from hardgrain.solve.assembly import global_form
    from hardgrain.solve.matrices import LocalForm
    from hardgrain.step.contact_dynamics import ContactDynamics

    with RunFile(path) as run:
        steps = run.step
        if step is None:
            step = int(steps[-1])
        if step > steps[-1]:
            raise InputError(f"--step is {step}; {path} has {steps[-1]} steps")
        checkpoint = None
        for frame in range(int(np.searchsorted(steps, step, side="right")) - 1, -1, -1):
            checkpoint = run.checkpoint(frame)
            if checkpoint is not None:
                break
        if checkpoint is None:
            raise InputError(f"--step is {step}; {path} stores no contacts up to there")
    sim = from_checkpoint(Simulation, checkpoint, None, path)
    if not isinstance(sim.engine, ContactDynamics):
        raise InputError(f"{path} is a run of soft particles, whose steps solve no contact problem")
    while sim.state.step < step:
        sim.step()
    sim.exchange_grains()  # as the run does before any step
    sim.sort(range(sim.model.everyone))
    engine = sim.engine
    assert isinstance(engine, ContactDynamics)
    recorder = _Recorder(engine.solver)
    engine.solver = recorder  # type: ignore[assignment]
    try:
        engine.advance(sim.state)
    except RunError:  # the problem of a step that failed can be written as well, if it was posed
        if recorder.problem is None:
            raise
    problem = recorder.problem
    assert problem is not None
    form: GlobalForm | LocalForm
    if isinstance(problem, LocalForm):  # every contact of it pushes something
        form = replace(problem, delassus=csr_array(problem.delassus))
    else:
        form = _pushing(global_form(problem)[0])
    if form.contacts == 0:
        raise InputError(f"--step is {step}; nothing touches in that step of {path}")
    about = {
        "title": sim.scenario.title or path.stem,
        "description": f"step {step + 1} of {path.name}, dt = {sim.dt:g};"
        f" written by hardgrain {hardgrain.__version__}",
        "math_info": "r: impulses of the step, u and v: velocities at its end",
    }
    return form, about


def _pushing(form: GlobalForm) -> GlobalForm:
    """The problem without contacts that cannot move anything, which other codes could not solve."""
    import numpy as np

    rows: Floats = abs(form.h).sum(axis=1)
    live = rows.reshape(form.contacts, form.dim)[:, 0] > 0.0
    if live.all():
        return form
    mine = np.repeat(live, form.dim)
    start = None if form.start is None else form.start[mine]
    return replace(form, h=form.h[mine], w=form.w[mine], mu=form.mu[live], start=start)
