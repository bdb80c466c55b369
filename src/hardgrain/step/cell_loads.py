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
from hardgrain.core.model import Floats, Model, State
from hardgrain.errors import INTACT, RunError
from hardgrain.step.loads import Loads, pace
from hardgrain.step.report import Pace

__all__ = ["CellLoads", "pace_in_cell", "refuse_small", "volume_of"]


class CellLoads(Loads):
    """Loads of a scene whose cell deforms."""

    @property
    def steady(self) -> bool:
        return False

    def at(self, state: State) -> tuple[Floats, Floats]:
        force, torque = super().at(state)
        m, n, middle = self.model, self.model.n, (state.step + 0.5) * self.dt
        velocity, mass = state.velocity[:n], m.mass[:n]
        force[:n] -= mass[:, None] * (velocity @ m.gradient_in(state).T)
        kinetic = np.einsum("i,ia,ib->ab", mass, velocity, velocity)
        on_cell = np.array([kinetic[a, b] for a, b in PLACES[m.dim]])
        volume = volume_of(m, state)
        for stress in m.stresses:
            on_cell[stress.component] -= volume * stress.value(middle)
        force[m.cell], torque[m.cell] = on_cell[: m.dim], on_cell[m.dim :]
        return force, torque

    def pace(self, state: State, velocity: Floats, spin: Floats) -> Pace:
        before = state.velocity, state.spin
        return Pace(*pace_in_cell(self.model, state.position, before, (velocity, spin)))


def pace_in_cell(
    model: Model, position: Floats, before: tuple[Floats, Floats], free: tuple[Floats, Floats]
) -> Floats:
    """What makes the grains fast, as `Pace` has it; the cell counts as it is at its farthest.

    before, free: velocities and spins before the step, and those without contacts.
    """
    cell, size = model.cell, float(np.linalg.norm(model.periodic))
    inverse = np.concatenate([model.inv_mass[cell], model.inv_inertia[cell]])
    found = np.array(
        pace(
            before[0][:cell], free[0][:cell], before[1][:cell], free[1][:cell], position[:cell],
            model.radius, model.inv_mass[:cell], model.inv_inertia[:cell],
        )
    )  # fmt: skip
    rate = np.concatenate([before[0][cell], before[1][cell]])
    pulled = np.concatenate([free[0][cell], free[1][cell]]) - rate
    given = np.where(inverse == 0.0, rate, 0.0)
    return found + size * np.array([np.linalg.norm(pulled), np.linalg.norm(given)])


def refuse_small(model: Model, step: int, cell: Floats) -> None:
    """End a run whose cell has become so small that grains would touch two images of one.

    step: number of steps before; cell: `State.cell` after the step.
    """
    least, period = 4.0 * float(model.radius.max(initial=0.0)), Cell(cell).period
    for k in np.flatnonzero((model.periodic > 0.0) & ~(period >= least)):
        raise RunError(
            f"step {step + 1} gave the cell a length of {period[k]:.4g} along {'xyz'[k]};"
            f" its largest grains need {least:.4g}{INTACT}"
        )


def volume_of(model: Model, state: State) -> float:
    """Area or volume of the cell, between two walls along an axis that is not periodic."""
    cell = model.cell_in(state)
    volume = cell.volume
    if not cell.repeats.all():
        point = wall_geometry(model, state)[1]
        for low, high, axis in model.cell_walls:
            volume *= abs(float(point[high, axis] - point[low, axis]))
    return volume
