"""Stress from anisotropy: how directions of contacts and forces make the strength of a packing.

L. Rothenburg and R. J. Bathurst, Analytical study of induced anisotropy in idealized granular
materials, Géotechnique 39, 601 (1989): with the second harmonics a_c, a_n and a_t of the directions
of contacts, normal and tangential forces, q/p ≈ (a_c + a_n + a_t)/2 in 2D. In 3D, as others have it
(H. Ouadfel and L. Rothenburg 2001; N. Guo and J. Zhao 2013), q/p ≈ 2/5 (a_c + a_n + 3/2 a_t).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("anisotropy",)  # modules, one experiment each


def __getattr__(name: str) -> Any:
    if name == "EXPERIMENTS":
        return [importlib.import_module(f"{__name__}.{m}").EXPERIMENT for m in _EXPERIMENTS]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
