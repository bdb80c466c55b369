"""Steps of rigid grains in a periodic cell that deforms; see `hardgrain.point.cell`.

The step is that of `hardgrain.step.contact_dynamics`, with the cell as one more body. After it the
cell has the matrix h + dt L h, and a grain is at x + dt (c + L x), so that images stay where they
belong, and two grains come as near as their contact was told. Places are not wrapped, and the tilt
of the cell grows as the shear does; whoever looks for images takes whole periods away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.errors import InputError
from hardgrain.point.sweeping import Sweeping
from hardgrain.solve.problem import Problem
from hardgrain.solve.solver import Solver
from hardgrain.step.cell_kernel import InCell, deform, stay_straight
from hardgrain.step.cell_loads import CellLoads, refuse_far, refuse_small
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.engine import RigidGrains
from hardgrain.step.pause import Pause
from hardgrain.step.report import Stride

__all__ = ["CellDynamics", "refuse_in_cell"]


def refuse_in_cell(model: Model, solver: Solver, settings: RigidGrains) -> None:
    """Say in one sentence what a scene whose cell deforms does not carry."""
    order = getattr(solver, "order", None)
    refused = {
        f"solver.order = {order!r} (random, drawn, sequential and symmetric are valid)": order
        in ("coloured", "tiles"),
        "engine.geometry = 'end'": settings.geometry == "end",
        "engine.device = 'cuda'": settings.device == "cuda",
        "bodies glued to walls": bool((model.carrier != np.arange(model.bodies)).any()),
    }
    for what, there in refused.items():
        if there:
            raise InputError(f"scene.cell is given, which does not go with {what}")


class CellDynamics(ContactDynamics):
    """Advances a state whose cell deforms in place by steps of length dt."""

    _loads: CellLoads

    def _loads_of(self, model: Model) -> CellLoads:
        return CellLoads(model, self.dt)

    def _march(self, state: State, how: Sweeping, pause: Pause) -> Stride:
        state.cell = state.cell.copy()  # a march changes it in place
        return super()._march(state, how, pause)

    def _cell_in(self, state: State) -> InCell:
        made, then = self.detector.made
        return self._loads.cell_in(state)._replace(made=made, then=then)

    def _problem(self, state: State, contacts: Contacts, velocity: Floats, spin: Floats) -> Problem:
        problem = super()._problem(state, contacts, velocity, spin)
        return replace(problem, grains=self.model.n, cell=self.detector.shapes.periodic)

    def _move(self, state: State, velocity: Floats, spin: Floats) -> None:
        state.cell = state.cell.copy()
        deform(state.position, state.cell, velocity, spin, self.model.n, self.dt)
        super()._move(state, velocity, spin)
        stay_straight(state.orientation)

    def _refuse_unfit(self, state: State) -> None:
        super()._refuse_unfit(state)
        refuse_small(self.model, state.step, state.cell)
        refuse_far(self.model, state, self.dt)
