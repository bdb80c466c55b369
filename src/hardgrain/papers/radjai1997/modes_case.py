"""The arrays of Figs 5 to 7: as printed, and with coefficients that let them move."""

from __future__ import annotations

from typing import Any

from hardgrain.papers.radjai1997.exact.array import Floats
from hardgrain.papers.radjai1997.exact.solution import ArraySolution

__all__ = ["ALPHA", "COEFFICIENTS", "PRINTED", "REPAIRED", "ROUNDING", "eta_plane"]

# The case of Figs 5 to 7 as the paper prints it; with REPAIRED coefficients its modes appear.
PRINTED: dict[str, Any] = {
    "particles": 80, "drive": 1.4, "brake": 0.01, "mu": 0.06, "mu_plane": 0.1, "mu_block": 0.001,
}  # fmt: skip
ROUNDING = 1e-12  # relative, of the exact solution
ALPHA = 3.0  # µ_s/µ_d of C2
REPAIRED = PRINTED | {"mu": 0.006, "mu_plane": 0.01}

COEFFICIENTS = ("brake", "mu", "mu_plane", "mu_block")


def eta_plane(found: ArraySolution) -> Floats:
    eta: Floats = found.tangential_plane / (found.slide[1::2] * found.normal_plane)
    return eta
