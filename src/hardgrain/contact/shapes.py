"""What the search for contacts reads of bodies and walls, as records for compiled functions."""

from __future__ import annotations

from typing import NamedTuple

from hardgrain.contact.points import NarrowPhase
from hardgrain.core.geometry import Floats, Ints

__all__ = ["Listed", "Shapes"]


class Shapes(NamedTuple):
    """Sizes and materials of grains and walls; see `hardgrain.core.model.Model`."""

    radius: Floats  # (n,) of the ball that holds a grain
    half_width: Floats  # (n,) half of a grain's least width; the radius of round grains
    material: Ints  # (nb,)
    materials: int  # number of materials
    periodic: Floats  # (dim,), or all numbers of a cell that deforms, written in each step
    margin: Floats  # (n,) reach of a grain at rest, see `contact.detect` [length]
    wall_kind: Ints  # (w,)
    wall_offset: Floats  # (w, dim)
    wall_axis: Floats  # (w, dim)
    wall_size: Floats  # (w,)
    wall_side: Floats  # (w, dim)
    narrow: NarrowPhase  # shapes of grains that are not round


class Listed(NamedTuple):
    """The pair list, and how long it is safe; see `contact.pairs`."""

    first: Ints  # (p,)
    second: Ints  # (p,)
    origin: Floats  # (nb, dim) positions when the list was made
    turned: Floats  # (w,) travel of walls by turning since then [length]
    safety: Floats  # (nb,) how far each body may go before the list is stale [length]
