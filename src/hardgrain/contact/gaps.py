"""Gaps of given pairs of bodies, whatever their shapes."""

from __future__ import annotations

from hardgrain.contact.pairs import wall_geometry
from hardgrain.contact.points import NarrowPhase
from hardgrain.core.model import Floats, Ints, Model, Rows, State
from hardgrain.cpu.contacts import candidates
from hardgrain.cpu.points import contact_points
from hardgrain.point.given import Sites

__all__ = ["gaps"]


def gaps(
    model: Model, state: State, first: Ints, second: Ints, reach: Floats
) -> tuple[Rows, Floats]:
    """Gaps of pairs that are below the sum of their reaches, and which pair each is of.

    first, second: shape (p,); reach: shape (nb,). Each contact point of a pair has its own.
    """
    walls, x, cell = wall_geometry(model, state), state.position, model.cell_in(state).numbers
    if model.round:
        sites = Sites(x, model.radius, cell, walls)
        index, _, gap = candidates(first, second, sites, reach)
        return index, gap
    bodies = NarrowPhase.of(model).bodies(x, state.orientation, cell, walls)
    found = contact_points(first, second, bodies, reach)
    return found[0], found[3]
