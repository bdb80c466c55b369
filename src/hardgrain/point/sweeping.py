"""How the contacts of a step are swept, as a record."""

from __future__ import annotations

from typing import NamedTuple

from hardgrain.point.given import Ints
from hardgrain.point.order import Visits
from hardgrain.point.stopping import Until

__all__ = ["Sweeping"]


class Sweeping(NamedTuple):
    """In which order to sweep, and until when."""

    visits: Visits
    until: Until  # what rounding hides is found anew for every step
    stored: Ints | None = None  # (m,) order in which contacts are stored; None: as they come
    starts: Ints | None = None  # where each colour starts in it; None: without colours
    relaxation: float | None = None  # of the parallel update; None: one contact after the other
