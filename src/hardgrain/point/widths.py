"""How many numbers a packed contact or body has: the lengths of rows that backends lay out."""

from __future__ import annotations

from typing import Any, NamedTuple

from hardgrain.point.full_2d import Full2D
from hardgrain.point.full_3d import Full3D
from hardgrain.point.lean_2d import Lean2D
from hardgrain.point.lean_3d import Lean3D

__all__ = ["WIDTHS", "Widths"]


class Widths(NamedTuple):
    """Numbers in the rows of one kind of packed problem; the kinds say what each of them is."""

    contact: int
    body: int
    moving: int  # of a body: the first ones, its velocity and spin


WIDTHS: dict[Any, Widths] = {
    Lean2D: Widths(9, 5, 3),
    Lean3D: Widths(12, 8, 6),
    Full2D: Widths(32, 6, 3),
    Full3D: Widths(48, 16, 6),
}
