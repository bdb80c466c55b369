"""Soft particles in a periodic cell that deforms; the explicit step is in `step.soft_cell_kernel`.

The engine is that of `step.soft_particles`. The cell is the last body: its rates are six more
velocities that the kernels kick, its pushes are told as those of a wall. What a step asks of it,
rates and stresses, is that of the middle of the whole step; what the grains do to it, and the
volume on which the stress acts, are taken anew in each explicit step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.contact.pairs import safe
from hardgrain.core.cell import PLACES, Cell
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.cell import reduce_tilts, since
from hardgrain.errors import InputError
from hardgrain.step.cell_loads import CellLoads, refuse_small
from hardgrain.step.engine import SoftParticles
from hardgrain.step.loads import Loads
from hardgrain.step.soft_cell_kernel import DeformingCell, lost_by
from hardgrain.step.soft_particles import SoftParticleDynamics

__all__ = ["SoftCellDynamics"]

COLUMNS = {2: [0, 1, 5], 3: [0, 1, 2, 3, 4, 5]}  # of a cell's numbers among six


class SoftCellDynamics(SoftParticleDynamics):
    """Advances a state whose cell deforms, one step of explicit ones at a time."""

    def __init__(self, model: Model, settings: SoftParticles, dt: float, state: State) -> None:
        if not model.round:
            raise InputError(
                "engine.kind is 'soft-particles' and scene.cell is given, which go together for"
                " disks and balls alone; leave out the shape of the grains, or use kind ="
                " 'contact-dynamics'"
            )
        super().__init__(model, settings, dt, state)
        self._plain = Loads(model, dt)

    def _loads_of(self, model: Model) -> Loads:
        return CellLoads(model, self.dt)

    def _cell_in(self, state: State) -> DeformingCell:
        m, n = self.model, self.model.n
        stress, load = np.zeros(6), np.zeros((n, 3))
        for asked in m.stresses:
            stress[COLUMNS[m.dim][asked.component]] = asked.value((state.step + 0.5) * self.dt)
        load[:, : m.dim] = self._plain.at(state)[0][:n]
        cell = DeformingCell(
            self._six_of(state.cell), np.zeros(6), stress, load, m.mass[:n],
            np.array(m.cell_walls, np.int64).reshape(-1, 3), np.zeros(6), np.zeros(n), np.zeros(n),
        )  # fmt: skip
        reduce_tilts(cell.matrix, cell.near)
        self._law = self._law._replace(periodic=cell.near[:3])  # it changes as the cell does
        return cell

    def _form(self, cell: DeformingCell) -> Floats:
        form: Floats = cell.matrix[COLUMNS[self.model.dim]]
        return form

    def _six_of(self, numbers: Floats) -> Floats:
        six = np.zeros(6)
        six[COLUMNS[self.model.dim]] = numbers
        return six

    def _told(self, state: State, end: Any, *more: Any) -> Any:
        refuse_small(self.model, state.step + 1, end.cell)
        return super()._told(state, end, *more)

    # ------------------------------------------------------------------ the pair list
    def _since(self, cell: DeformingCell) -> Floats:
        """F, the deformation of the cell since the list was made, (dim, dim)."""
        found: Floats = since(Cell(self._form(cell)).matrix, self._list.cell)
        return found

    def _strain(self, since: Floats) -> Floats:
        """F − 1 as a row of six."""
        return self._six_of(np.array([since[a, b] - (a == b) for a, b in PLACES[len(since)]]))

    def _keep(self, x: Floats, walls: Walls, reach: Floats, further: Floats, cell: Any) -> bool:
        pairs, n, since = self._list, self.model.n, self._since(cell)
        origin, safety = pairs.origin.copy(), pairs.safety.copy()
        origin[:n] = origin[:n] @ since.T
        safety[:n] -= lost_by(self._strain(since)) * (self.model.radius + safety[:n])
        safety[-1] = np.inf if safety[-1] >= 0.0 else -1.0  # nothing meets the cell
        if safe(x, pairs.listed._replace(origin=origin, safety=safety), reach):
            return False
        pairs.make(x, walls, reach, further, self._form(cell))
        return True

    def _pairs(
        self, bodies: Any, walls: Any, contacts: Contacts, turning: Floats, cell: Any
    ) -> Any:
        bodies, slots = super()._pairs(bodies, walls, contacts, turning, cell)
        n, since = self.model.n, self._since(cell)
        cell.strain[:] = self._strain(since)
        cell.room[:] = self._list.safety[:n]
        cell.extent[:] = self.model.radius + cell.room
        bodies.origin[:n, : len(since)] = bodies.origin[:n, : len(since)] @ since.T
        bodies.limit[:n], bodies.limit[-1] = np.inf, np.inf  # grains: see `deform`
        return bodies, slots
