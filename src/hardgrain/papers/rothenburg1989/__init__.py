"""Stress from anisotropy: how directions of contacts and forces make the strength of a packing.

L. Rothenburg and R. J. Bathurst, Analytical study of induced anisotropy in idealized granular
materials, Géotechnique 39, 601 (1989): with the second harmonics a_c, a_n and a_t of the directions
of contacts, normal and tangential forces, q/p ≈ (a_c + a_n + a_t)/2 in 2D. In 3D, as others have it
(H. Ouadfel and L. Rothenburg 2001; N. Guo and J. Zhao 2013), q/p ≈ 2/5 (a_c + a_n + 3/2 a_t).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("anisotropy",)  # modules, one experiment each
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
