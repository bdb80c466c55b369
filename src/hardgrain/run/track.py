"""Bodies that a run follows at every step (``output.track``): walls by name, grains by number.

Each adds columns to the history: where it is, how fast it moves and the force of all its contacts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import InputError

__all__ = ["Track"]

# [bodies] At most so many are followed, since HDF5 has no room for the names of many more columns.
MOST = 200


class Track:
    """The columns of the bodies that are followed, and their values after a step."""

    def __init__(self, bodies: Sequence[int | str], model: Model) -> None:
        if len(bodies) > MOST:
            raise InputError(
                f"output.track names {len(bodies)} bodies; it takes at most {MOST}, and frames hold"
                " all of them (output.every)"
            )
        walls = list(model.wall_names[: len(model.wall_names) - (model.cell >= 0)])
        axes = "xyz"[: model.dim]
        self.columns: list[str] = []
        self._walls: list[int] = []
        self._grains: list[int] = []
        for k, body in enumerate(bodies):
            if isinstance(body, int) and 0 <= body < model.everyone:
                self._grains.append(body)
            elif body in walls:
                self._walls.append(walls.index(body))
            else:
                known = ", ".join(map(repr, walls)) or "none"
                raise InputError(
                    f"output.track[{k}] is {body!r}; give the number of a grain, 0 to"
                    f" {model.everyone - 1}, or the name of a wall: {known}"
                )
        # The history already has the forces on all walls.
        self.columns = [
            f"{what}_{walls[w]}_{axis}"
            for w in self._walls
            for what in ("position", "velocity")
            for axis in axes
        ]
        self.columns += [
            f"{what}_grain{g}_{axis}"
            for g in self._grains
            for what in ("position", "velocity", "force")
            for axis in axes
        ]
        if len(set(self.columns)) < len(self.columns):
            raise InputError(f"output.track is {list(bodies)}, which follows a body twice")

    def row(self, model: Model, state: State, dt: float) -> list[float]:
        """Values of the columns; zeros for a grain that is not there."""
        values: list[Floats] = []
        for wall in self._walls:
            body = model.n + wall
            values += [state.position[body], state.velocity[body]]
        for grain in self._grains:
            there = np.flatnonzero(model.id == grain)
            if there.size:
                at = int(there[0])
                values += [state.position[at], state.velocity[at], _force(state, at) / dt]
            else:
                values += [np.zeros(3 * model.dim)]
        return np.concatenate(values).tolist() if values else []


def _force(state: State, grain: int) -> Floats:
    """Impulse of all contacts on a grain in the last step."""
    c = state.contacts
    on, by = c.impulse[c.second == grain], c.impulse[c.first == grain]
    total: Floats = on.sum(axis=0) - by.sum(axis=0)
    return total
