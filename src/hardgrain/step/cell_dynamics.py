"""Steps of rigid grains in a periodic cell that deforms; see `hardgrain.point.cell`.

The step is that of `hardgrain.step.contact_dynamics`, with the cell as one more body. After it the
cell has the matrix h + dt L h, and a grain is at x + dt (c + L x), so that images stay where they
belong, and two grains come as near as their contact was told. Places are not wrapped, and the tilt
of the cell grows as the shear does; whoever looks for images takes whole periods away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hardgrain.core.cell import Cell, voigt
from hardgrain.core.model import Contacts, Floats, Model, State
from hardgrain.cpu.ledger import contact_work
from hardgrain.errors import InputError
from hardgrain.point.ledger import Means
from hardgrain.solve.problem import Problem, Solution
from hardgrain.solve.solver import Solver
from hardgrain.step.account import CREATED, DISSIPATED, WORK_DRIVEN, MarchRows, Moving, midway
from hardgrain.step.cell_loads import CellLoads, pace_in_cell, refuse_small
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.engine import RigidGrains

__all__ = ["CellDynamics", "on_cell", "refuse_in_cell"]


def on_cell(contacts: Contacts, grains: int) -> Floats:
    """Σ P ⊗ l of the contacts between grains, (dim (dim + 1) / 2,) in the order of Voigt."""
    felt = contacts.second < grains
    line = contacts.arm_first - contacts.arm_second + contacts.gap[:, None] * contacts.normal
    dyad = contacts.impulse[felt].T @ line[felt]
    return voigt(dyad)


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

    def __init__(
        self,
        model: Model,
        solver: Solver,
        dt: float,
        seed: int,
        settings: RigidGrains | None = None,
    ) -> None:
        super().__init__(model, solver, dt, seed, settings)
        self._loads = CellLoads(model, dt)

    def _problem(self, state: State, contacts: Contacts, velocity: Floats, spin: Floats) -> Problem:
        return replace(super()._problem(state, contacts, velocity, spin), grains=self.model.n)

    def _move(self, state: State, velocity: Floats, spin: Floats) -> None:
        m, n, cell = self.model, self.model.n, self.model.cell
        gradient, turned = m.gradient_of(velocity, spin), state.orientation[cell].copy()
        affine = state.position[:n] @ gradient.T
        super()._move(state, velocity, spin)
        state.position[:n] += self.dt * affine
        state.orientation[cell] = turned
        h = Cell(state.cell).matrix
        state.cell = voigt(h + self.dt * (gradient @ h))
        refuse_small(m, state.step, state.cell)

    # The ledger of contacts knows two bodies; the third is added here.
    def _tell_more(
        self,
        outcome: MarchRows,
        moving: Moving,
        free: tuple[Floats, Floats],
        solution: Solution,
        contacts: Contacts,
    ) -> None:
        """Add to the first row of an outcome what the cell did and felt."""
        m, now, cell = self.model, self._now, self.model.cell
        row, push = outcome.reports[0], on_cell(contacts, m.n)
        velocity, spin = (
            midway(moving.velocity, solution.velocity),
            midway(moving.spin, solution.spin),
        )
        kicked, turned = midway(free[0], solution.velocity), midway(free[1], solution.spin)
        means = Means(velocity, spin, kicked, turned, now.inv_mass, now.inv_inertia)
        none = np.zeros_like(self.wall_force), np.zeros_like(self.wall_torque)
        dissipated, driven, taken = contact_work(contacts.rows, means, *none)
        mean = np.concatenate([velocity[cell], spin[cell]])
        kick = np.concatenate([kicked[cell], turned[cell]])
        inverse = np.concatenate([now.inv_mass[cell], now.inv_inertia[cell]])
        row[DISSIPATED] = dissipated - push @ mean
        row[WORK_DRIVEN] = driven - push @ np.where(inverse == 0.0, mean, 0.0)
        row[CREATED] = max(push @ kick - taken, 0.0)
        outcome.wall_force[0, -1] = push[: m.dim] / self.dt
        outcome.wall_torque[0, -1] = push[m.dim :] / self.dt
        outcome.wall_work[0, -1] = -push @ mean
        before = moving.velocity, moving.spin
        outcome.paces[0] = pace_in_cell(now, moving.position, before, free)
