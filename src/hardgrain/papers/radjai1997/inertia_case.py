"""The array of Fig. 9, and how its disks move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.radjai1997.array import steady_state
from hardgrain.papers.radjai1997.exact.drive import Pieces

__all__ = ["FIG9", "HIGH", "modes_of"]

FIG9: dict[str, Any] = {
    "particles": 30, "brake": 0.01, "mu": 0.04, "mu_plane": 0.1, "mu_block": 0.001,
}  # fmt: skip
HIGH = 10.0  # N_L of the right end; no disk rolls there any more


def modes_of(lines: Pieces, case: dict[str, Any]) -> NDArray[np.int_]:
    """The numbers L_1, L_2 and L_3 in the middle of each piece, shape (n, 3)."""
    middle = 0.5 * (lines.drive[1:] + lines.drive[:-1])
    return np.array([steady_state(drive=float(d), **case).modes for d in middle])
