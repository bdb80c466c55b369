"""Grains as rows of numbers, in which several processes give them to each other.

A row holds all that a run knows of one grain: its columns of the model, where it is and how it
moves, and which of the prescribed motions and loads are its own. `Model` and `State` of some grains
are made again from their rows and from those of all walls, which every process knows. Whole numbers
are held exactly by doubles, so that nothing changes on the way.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.drives import Rows
from hardgrain.core.model import Contacts, Floats, Model, State

__all__ = ["MOVED", "GrainRows", "only_walls"]

# columns of the model with a row for each grain, and with a row for each body
_GRAINS = "radius", "group", "id"
_BODIES = "inv_mass", "inv_inertia", "mass", "inertia", "material", "moments"
# what a step changes of a body, besides contacts
MOVED = "position", "velocity", "spin", "orientation"

Flags = NDArray[np.bool_]


class GrainRows:
    """Which columns the rows of a run's grains have."""

    def __init__(self, model: Model) -> None:
        def column(name: str, array: Any) -> tuple[str, tuple[int, ...], Any]:
            return name, array.shape[1:], array.dtype

        known = [(name, getattr(model, name)) for name in (*_GRAINS, *_BODIES)]
        self.fixed = [column(name, array) for name, array in known if len(array)]
        turned = 1 if model.dim == 2 else 4
        wide = model.dim, model.dim, model.inv_inertia.shape[1], turned
        self.moving = [(name, (k,), np.float64) for name, k in zip(MOVED, wide, strict=True)]
        self.drives = len(model.drives)

    def written(self, model: Model, state: State, grains: Rows) -> Floats:
        """Some grains by their rows in a model and a state, shape (k, columns)."""
        arrays = [getattr(model, name)[grains] for name, _, _ in self.fixed]
        arrays += [getattr(state, name)[grains] for name, _, _ in self.moving]
        arrays += [_among(grains, drive.bodies, model.bodies) for drive in model.drives]
        k = len(grains)
        wide = [array.reshape(k, math.prod(array.shape[1:])) for array in arrays]
        return np.concatenate(wide, axis=1).astype(np.float64)

    def read(self, numbers: Floats) -> dict[str, Any]:
        """The columns of some grains by their names, contiguous, each (k, …)."""
        found, at = {}, 0
        for name, shape, kind in (*self.fixed, *self.moving):
            wide = math.prod(shape)
            part = np.ascontiguousarray(numbers[:, at : at + wide], kind)
            found[name] = part.reshape(len(numbers), *shape)
            at += wide
        return found

    def model(self, walls: Model, numbers: Floats) -> Model:
        """The model of some grains and of all walls; walls: that of the walls alone."""
        found, k = self.read(numbers), len(numbers)
        arrays = {name: found[name] for name, _, _ in self.fixed}
        for name in _BODIES:
            if name in arrays:
                arrays[name] = np.concatenate([arrays[name], getattr(walls, name)])
        own = numbers[:, numbers.shape[1] - self.drives :] > 0.0
        drives = (
            replace(
                drive, bodies=np.append(np.flatnonzero(own[:, d]), k + np.asarray(drive.bodies))
            )
            for d, drive in enumerate(walls.drives)
        )
        pressures = (
            replace(p, body=k + p.body, between=tuple((k + a, k + b, x) for a, b, x in p.between))
            for p in walls.pressures
        )
        carrier = np.arange(k + walls.bodies, dtype=np.int32)
        return replace(
            walls, **arrays, carrier=carrier, drives=tuple(drives), pressures=tuple(pressures)
        )

    def state(self, walls: State, numbers: Floats, contacts: Contacts) -> State:
        """The state of some grains and of all walls; walls: that of the walls alone."""
        found = self.read(numbers)
        x, v, w, q = (np.concatenate([found[name], getattr(walls, name)]) for name in MOVED)
        return State(walls.step, walls.time, x, v, w, q, contacts)


def only_walls(model: Model, state: State) -> tuple[Model, State]:
    """The walls of a run without its grains."""
    none = np.zeros(0, np.int64)
    return model.only(none), state.only(none, model.n)


def _among(grains: Rows, bodies: slice | Rows, count: int) -> Flags:
    """Which grains are among some bodies of so many."""
    if not isinstance(bodies, slice):
        return np.isin(grains, bodies)
    start, stop, step = bodies.indices(count)
    there: Flags = (grains >= start) & (grains < stop) & ((grains - start) % step == 0)
    return there
