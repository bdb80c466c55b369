"""What an engine tells of a step: the report, the time spent, the word on a run gone wrong."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import INTACT
from hardgrain.kernels import compile_seconds

__all__ = ["INTACT", "Pace", "Softness", "StepReport", "Stopwatch", "Stride", "not_a_number"]


class StepReport(NamedTuple):
    """What happened in a step; each field is a column of a run's history."""

    step: int  # number of the step just made
    time: float  # at its end
    sweeps: int
    converged: bool  # the solver's own criterion was met
    residual: float  # largest violation of the contact laws [1]
    residual_rms: float
    candidates: int  # contacts that could have closed
    loaded: int  # contacts that bear a force
    worst_overlap: float  # at the start of the step [length]
    mean_overlap: float  # of the loaded contacts
    fastest: float  # largest speed of a grain at the end of the step [length/time]
    kinetic: float  # at the end of the step [energy]
    work_external: float  # of gravity, forces and torques during the step
    work_driven: float  # of bodies with a prescribed velocity
    dissipated: float  # in the contacts
    created: float  # energy that impulses gave where the laws let them only take, see `ledger`
    elastic: float = 0.0  # energy in the springs of soft contacts at the end of the step
    settled: bool = True  # the geometry at the end of the step was found, where it was asked for
    speed: float = 0.0  # root mean square, of what bears a force, see `step.rest`
    deepest: float = 0.0  # worst overlap relative to the smaller grain's diameter [1]


@dataclass(frozen=True)
class Stride:
    """Steps that an engine made at one go: what happened in each, in their order."""

    reports: list[StepReport]
    paces: list[Pace]
    wall_force: Floats  # (steps, w, dim) on walls by grains, in each step [force]
    wall_work: Floats  # (steps, w) of walls on grains [energy]

    @classmethod
    def from_arrays(
        cls, reports: Floats, paces: Floats, wall_force: Floats, wall_work: Floats
    ) -> Stride:
        """Make a stride of the rows that a march wrote, one for each step."""
        made = [
            StepReport(*r)._replace(
                step=int(r[0]), sweeps=int(r[2]), converged=r[3] != 0.0, candidates=int(r[6]),
                loaded=int(r[7]), settled=r[17] != 0.0,
            )
            for r in reports.tolist()
        ]  # fmt: skip
        return cls(made, [Pace(*p) for p in paces.tolist()], wall_force, wall_work)


class Pace(NamedTuple):
    """What can make grains fast in a step, besides the contacts that pass it on [speed]."""

    loads: float = 0.0  # largest change of speed that forces and torques alone give
    driven: float = 0.0  # largest prescribed speed, of surfaces where bodies turn


@dataclass(frozen=True)
class Softness:
    """How soft an engine's grains are by choice, and how finely it steps."""

    stiffness: float  # k_n [force/length]
    step: float  # the explicit step [time]
    admissible: float | None  # the longest that is stable; None: any, nothing can be moved

    @property
    def word(self) -> str:
        """How long the explicit steps are, and might be."""
        limit = (
            "any step is stable, no contact can move anything"
            if self.admissible is None
            else f"stable up to {self.admissible:.3g}"
        )
        return f"explicit steps of {self.step:.3g}, {limit}"


class Stopwatch(defaultdict[str, float]):
    """Seconds spent in each phase of the steps; compilation is left out."""

    def __init__(self) -> None:
        super().__init__(float)

    def share(self, seconds: float, parts: dict[str, float]) -> None:
        """Add a time that was measured as a whole to phases, by their parts in it."""
        whole = sum(parts.values())
        for phase, part in parts.items():
            self[phase] += seconds * part / whole

    def of(self, phase: str) -> _Phase:
        """Within this context, time counts as spent in a phase."""
        return _Phase(self, phase)


class _Phase:
    """Time spent within counts; a class, since a generator would cost as much as a small kernel."""

    __slots__ = ("compiled", "name", "start", "watch")

    def __init__(self, watch: Stopwatch, name: str) -> None:
        self.watch, self.name = watch, name

    def __enter__(self) -> None:
        self.compiled, self.start = compile_seconds(), time.perf_counter()

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            spent = time.perf_counter() - self.start
            self.watch[self.name] += spent - (compile_seconds() - self.compiled)


def not_a_number(model: Model, state: State, velocity: Floats) -> str:
    """The word on a step that gave velocities which are not numbers."""
    bad = np.flatnonzero(~np.isfinite(velocity).all(axis=1))
    which = f"; the first is that of {model.body_name(bad[0])}" if bad.size else ""
    return f"step {state.step + 1} gave velocities that are not numbers{which}{INTACT}"
