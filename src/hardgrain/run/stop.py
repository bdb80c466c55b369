"""When a run ends, as objects. A bare integer is a number of steps; a callable decides itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field, model_validator

from hardgrain.errors import InputError
from hardgrain.scene._base import Count, NotNegative, Positive, Spec, Whole
from hardgrain.step.pause import MOST_STEPS, ONE_STEP, Pause

if TYPE_CHECKING:
    from hardgrain.run.simulation import Simulation

__all__ = ["AtRest", "Condition", "Steps", "Stop", "Time", "as_conditions", "name_of", "next_pause"]


class Steps(Spec):
    """Ends a run after ``steps`` steps in all."""

    steps: Annotated[Whole, Field(ge=0)]  # steps from the start of the run, after which it ends [1]

    def __call__(self, sim: Simulation) -> bool:
        return sim.state.step >= self.steps

    def pause(self, sim: Simulation, pause: Pause) -> Pause:
        return pause._replace(steps=min(pause.steps, self.steps - sim.state.step))


class Time(Spec):
    """Ends a run when the simulated time reaches ``time``, never before it by rounding."""

    time: NotNegative  # simulated time at which the run ends [time]

    def __call__(self, sim: Simulation) -> bool:
        return sim.state.time >= self.time - 1e-9 * sim.dt

    def pause(self, sim: Simulation, pause: Pause) -> Pause:
        left = (self.time - sim.state.time) / sim.dt - 1.0  # one less, whatever rounding does
        return pause._replace(steps=min(pause.steps, int(min(left, pause.steps))))


class AtRest(Spec):
    """Ends a run when the rms speed stays below ``speed`` for ``steps`` steps in a row.

    The speed is √(2 T / m) with T the kinetic and rotational energy and m the mass of the grains.
    Grains that nothing pushes, neither a contact nor gravity nor any other force, are left out as
    long as they are less than half of the mass: in a packing without gravity, those that lie loose
    drift and spin on for ever. Nothing is at rest before all grains to be inserted are due.
    Without a ``speed`` it is 10⁻⁴ √(g d), which needs gravity.
    """

    # root-mean-square speed below which grains count as at rest [length/time]; default: 10⁻⁴ √(g
    # d), which needs gravity
    speed: Positive | None = None
    steps: Count = 50  # how many steps in a row must be that slow [1]

    def threshold(self, sim: Simulation) -> float:
        if self.speed is not None:
            return self.speed
        g = float(np.linalg.norm(sim.model.gravity))
        if g == 0.0:
            raise InputError("stop.at_rest.speed is missing; without gravity there is no default")
        return 1e-4 * math.sqrt(g * 2.0 * float(sim.exchange.everyone.radius.mean()))

    def __call__(self, sim: Simulation) -> bool:
        _, to_come = sim.exchange.waiting(sim.state.time)
        return to_come == 0 and sim.quiet(self.threshold(sim), self.steps)

    def pause(self, sim: Simulation, pause: Pause) -> Pause:
        speed = self.threshold(sim)
        if pause.rest_speed > 0.0:  # two such conditions: pause at the first one that may hold
            speed, steps = max(speed, pause.rest_speed), min(self.steps, pause.rest_steps)
        else:
            steps = self.steps
        rested = sim.speeds.slow(speed, steps)
        return pause._replace(rest_speed=speed, rest_steps=steps, rested=rested)


Condition = Callable[["Simulation"], bool]


def next_pause(sim: Simulation, conditions: Sequence[Condition]) -> Pause:
    """How far a run may go until one of its conditions may hold; one step, if that is not known."""
    pause = Pause(steps=MOST_STEPS)
    for condition in conditions:
        if not isinstance(condition, Steps | Time | AtRest):
            return ONE_STEP
        pause = condition.pause(sim, pause)
    return pause._replace(steps=max(pause.steps, 1))


class Stop(Spec):
    """The stop table of a scenario: the run ends as soon as one of its conditions holds."""

    # ends the run after this many steps from its start [1]
    steps: Annotated[Whole, Field(ge=0)] | None = None
    time: NotNegative | None = None  # ends the run at this simulated time [time]
    # ends the run when the grains have come to rest; an empty table takes the defaults
    at_rest: AtRest | None = None

    @model_validator(mode="after")
    def _check(self) -> Stop:
        if self.steps is None and self.time is None and self.at_rest is None:
            raise ValueError("stop is empty; give steps, time or at_rest")
        return self

    def conditions(self) -> list[Condition]:
        found: list[Condition] = []
        if self.steps is not None:
            found.append(Steps(steps=self.steps))
        if self.time is not None:
            found.append(Time(time=self.time))
        if self.at_rest is not None:
            found.append(self.at_rest)
        return found


def as_conditions(until: int | Condition | Stop | Sequence[int | Condition]) -> list[Condition]:
    """A list of conditions, any of which ends the run."""
    if isinstance(until, Stop):
        return until.conditions()
    if isinstance(until, int):
        return [Steps(steps=until)]
    if isinstance(until, Sequence):
        return [c for one in until for c in as_conditions(one)]
    if not callable(until):
        raise InputError(f"until is {until!r}; give a number of steps or a stop condition")
    return [until]


def name_of(condition: Condition) -> str:
    """The reason why a run has ended, in words."""
    return {"Steps": "all steps done", "Time": "time reached", "AtRest": "at rest"}.get(
        type(condition).__name__, getattr(condition, "__name__", "stop condition met")
    )
