"""Orders of the contacts under their former name; see `hardgrain.point.order`."""

from __future__ import annotations

from hardgrain.cpu.order import arrange, colour
from hardgrain.point.order import DRAWN, RANDOM, SEQUENTIAL, SYMMETRIC

__all__ = ["DRAWN", "RANDOM", "SEQUENTIAL", "SYMMETRIC", "arrange", "colour"]
