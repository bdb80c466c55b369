"""What a run that several processes share agrees on; one process agrees with itself.

The first process makes the scene, or reads the file that a run begins with. The others are told of
the walls alone, in a model and a state without grains: it is the engine that hands grains to them.
Functions cannot be told, such as those of prescribed motions; each process has them from its own
copy of the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardgrain.core.grain_rows import only_walls
from hardgrain.core.model import Contacts, Model, State
from hardgrain.errors import InputError
from hardgrain.io.runfile import Checkpoint
from hardgrain.processes import Alone
from hardgrain.run.scenario import Scenario
from hardgrain.run.start import Beginning, beginning, refuse_odd_numbers
from hardgrain.run.stop import Condition, name_of
from hardgrain.scene.scene import GrainArrays
from hardgrain.scene.spec import Grains

if TYPE_CHECKING:
    from hardgrain.run.interrupt import Interrupt
    from hardgrain.run.simulation import Simulation

__all__ = ["Begun", "agreed", "begin", "of_first", "only_header", "refuse_exchange"]


class Begun(NamedTuple):
    """What all processes know of how a run begins, besides bodies."""

    scenario: Scenario  # with the sets of grains and the order of sweeps that it has now
    beginning: Beginning | None  # what was read, in the first process
    known: int  # grains that the scene did not place
    new_walls: list[int] | None
    carried: bool  # whether a state with contacts is gone on from

    def refuse_overlaps(self, here: Alone, model: Model, state: State) -> None:
        """Refuse those that the scene did not begin with."""

        def refuse() -> None:
            assert self.beginning is not None
            self.beginning.refuse_overlaps(model, state, self.known, self.new_walls)

        here.on_first(refuse)


def begin(
    here: Alone, scenario: Scenario, start: State | GrainArrays | str | Path | None
) -> tuple[Model, State, Begun]:
    """The first state of a run, from a scene or from what it starts with."""
    read: list[Beginning] = []

    def make() -> tuple[Model, State, tuple[Any, ...]]:
        begun = beginning(scenario, start)
        read.append(begun)
        now = begun.scenario
        everyone, state = now.scene.build(now.seed, begun.grains)
        new_walls = begun.put_into(everyone, state)
        refuse_odd_numbers(everyone, state, "the start gives")
        told = begun.count(everyone), new_walls, begun.state is not None
        return everyone, state, (everyone.n, now.start, bool(now.scene.grains), *told)

    model, state, (grains, file, sets, *told) = of_first(here, scenario, make)
    now = scenario.model_copy(update={"start": file})
    if sets and not now.scene.grains:  # those of a file, which the scene has no word of
        scene = now.scene.model_copy(update={"grains": [Grains()]})
        now = now.model_copy(update={"scene": scene})
    now = (read[0].scenario if read else now).suited_to(grains)
    return model, state, Begun(now, read[0] if read else None, *told)


def of_first(
    here: Alone, scenario: Scenario, make: Callable[[], tuple[Model, State, Any]]
) -> tuple[Model, State, Any]:
    """Model and state that the first process makes, of their walls in the others; and what else.

    What comes third must be small. What cannot be made, or not be shared, is refused in all.
    """
    if here.size == 1:
        return make()
    held: list[tuple[Model, State]] = []

    def first() -> tuple[Model, State, Any]:
        from hardgrain.step.shared_refusals import cannot_share

        everyone, begin, rest = make()
        suited = scenario.suited_to(everyone.n)
        cannot_share(everyone, suited.solver, suited.engine)
        held.append((everyone, begin))
        return *_without_functions(*only_walls(everyone, begin)), rest

    model, state, more = here.on_first(first)
    if here.leads:
        return *held[0], more
    with np.errstate(all="ignore"):  # walls as heavy as all grains weigh nothing here
        own, _ = scenario.scene.build(scenario.seed, _nothing(scenario.scene.dimension))
    return _with_functions(model, own.drives, own.pressures), state, more


def _without_functions(model: Model, state: State) -> tuple[Model, State]:
    """What can be told of a model."""
    none = repeat(SimpleNamespace(value=None, pressure=None))
    told = _with_functions(model, none, none)
    return told, replace(state, contacts=Contacts.none(model.dim))


def _with_functions(model: Model, drives: Iterable[Any], pressures: Iterable[Any]) -> Model:
    """A model whose drives and pressures have the functions of others."""
    driven = tuple(replace(d, value=o.value) for d, o in zip(model.drives, drives))
    pressed = tuple(replace(p, pressure=o.pressure) for p, o in zip(model.pressures, pressures))
    return replace(model, drives=driven, pressures=pressed)


def _nothing(dim: int) -> GrainArrays:
    """No grains at all."""
    vectors, spins = np.zeros((0, dim)), np.zeros((0, 1 if dim == 2 else 3))
    return GrainArrays(vectors, np.zeros(0), vectors, spins, np.zeros(0, np.int32))


def only_header(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint without its bodies."""
    r = checkpoint.record
    names = ("position", "orientation", "velocity", "spin", "status", "order", "collided")
    bare = replace(r, **{name: getattr(r, name)[:0] for name in names})
    none = Contacts.none(r.position.shape[1])
    return Checkpoint(bare, none, checkpoint.header, {})


def refuse_exchange(sim: Simulation) -> None:
    """Refuse grains that come and go where several processes would share them."""
    if sim.here.size > 1 and sim.exchange.changes:
        raise InputError(
            "several processes cannot share scene.remove or grains that are inserted; run it"
            " without mpiexec"
        )


def agreed(
    sim: Simulation, conditions: list[Condition], interrupt: Interrupt
) -> tuple[str | None, bool]:
    """Why the run ends, as the first process sees it, and whether any was asked to end it."""
    if sim.here.size > 1:  # its engine makes many steps at a time
        sim.engine.hurry = lambda: interrupt.asked  # type: ignore[union-attr]

    def reason() -> str | None:
        return next((name_of(c) for c in conditions if c(sim)), None)

    return sim.here.on_first(reason), sim.here.any(interrupt.asked)
