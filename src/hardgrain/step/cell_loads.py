"""What acts on a cell that deforms, and what its motion does to the grains.

A grain at x moves with c + L x (`hardgrain.point.cell`). Newton's law for it in a cell of constant
simple shear, in which L L = 0, is

    m ċ = F − m L c,

exactly, since m d(c + L x)/dt = m (ċ + L c). Cells that deform in other ways accelerate all grains
with them, (L̇ + L L) x; that is how a cell drives its grains without walls. The power of the term
−m L c is taken from the grains and given to the cell by their kinetic stress:

    W L̇ = Σ_contacts f ⊗ l + Σ_grains m c ⊗ c − V σ,

where σ is the stress that is put on the cell, compression being positive, and W the inertia of the
cell. The first two terms are V times the stress of the grains (`hardgrain.measure.stress`): if L
does not change, that is the stress that was asked for, in every step.
"""

from __future__ import annotations

import numpy as np

from hardgrain.contact.pairs import wall_geometry
from hardgrain.core.cell import PLACES, Cell
from hardgrain.core.model import SPIN, Floats, Model, State
from hardgrain.errors import INTACT, InputError, RunError
from hardgrain.scene.cell import COMPONENTS
from hardgrain.step.cell_kernel import FARTHEST, InCell, load_cell, pace_in_cell
from hardgrain.step.loads import Loads
from hardgrain.step.report import Pace

__all__ = ["CellLoads", "refuse_far", "refuse_rates", "refuse_small"]


class CellLoads(Loads):
    """Loads of a scene whose cell deforms."""

    @property
    def steady(self) -> bool:
        return super().steady and all(stress.constant for stress in self.model.stresses)

    def cell_in(self, state: State) -> InCell:
        """The cell in the coming step, without a pair list."""
        m, stress = self.model, np.zeros(len(PLACES[self.model.dim]))
        for asked in m.stresses:
            stress[asked.component] = asked.value((state.step + 0.5) * self.dt)
        between = np.array(m.cell_walls, np.int64).reshape(-1, 3)
        force, square = super().at(state)[0], np.zeros((m.dim, m.dim))
        least = least_length(m)
        return InCell(state.cell, force, stress, between, (force, stress), square, least)

    def at(self, state: State) -> tuple[Floats, Floats]:
        force, torque = super().at(state)
        cell, m = self.cell_in(state), self.model
        point = wall_geometry(m, state).point
        load_cell(cell, (state.velocity, state.spin), m.mass[: m.n], point, force, torque)
        return force, torque

    def pace(self, state: State, velocity: Floats, spin: Floats) -> Pace:
        m, s, size = self.model, state, float(np.linalg.norm(state.cell[: self.model.dim]))
        inverse = m.inv_mass, m.inv_inertia
        before, free = (s.velocity, s.spin), (velocity, spin)
        return Pace(*pace_in_cell(before, free, s.position, m.radius, inverse, size))


def least_length(model: Model) -> float:
    """Length of a cell in which the largest grains meet no two images of another."""
    return 4.0 * float(model.radius.max(initial=0.0))


def refuse_rates(model: Model, dt: float) -> None:
    """Refuse prescribed rates that would strain the cell too far in the first step."""
    for drive in model.drives:
        if isinstance(drive.bodies, slice) and drive.bodies.start == model.cell:
            rate, k = drive.value(0.5 * dt), drive.axis + model.dim * (drive.what == SPIN)
            if not abs(rate) * dt <= FARTHEST:
                name = COMPONENTS[model.dim][k]
                raise InputError(
                    f"scene.cell.{name}.rate is {rate:.4g}, so that a step of dt = {dt:g} would"
                    f" strain the cell by {abs(rate) * dt:.4g}; it must be at most"
                    f" {FARTHEST / dt:.4g}, half a period in a step, or dt shorter"
                )


def refuse_far(model: Model, state: State, dt: float) -> None:
    """End a run whose last step strained the cell too far."""
    rates = np.concatenate([state.velocity[model.cell], state.spin[model.cell]])
    for k in np.flatnonzero(~(np.abs(rates) * dt <= FARTHEST)):
        raise RunError(
            f"step {state.step} strained the cell by {abs(rates[k]) * dt:.4g} along"
            f" {COMPONENTS[model.dim][k]}, and no more than {FARTHEST:g} can be followed; lower dt,"
            f" the rates or the stresses{INTACT}"
        )


def refuse_small(model: Model, step: int, cell: Floats) -> None:
    """End a run whose cell has become so small that grains would touch two images of one.

    step: number of steps made; cell: `State.cell` after them.
    """
    least, period = least_length(model), Cell(cell).period
    for k in np.flatnonzero((model.periodic > 0.0) & ~(period >= least)):
        raise RunError(
            f"step {step} gave the cell a length of {period[k]:.4g} along {'xyz'[k]};"
            f" its largest grains need {least:.4g}{INTACT}"
        )
