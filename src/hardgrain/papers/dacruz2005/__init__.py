"""Dense flows of disks in simple shear at constant pressure: friction and density against I.

F. da Cruz, S. Emam, M. Prochnow, J.-N. Roux and F. Chevoir, Rheophysics of dense granular
materials: discrete simulation of plane shear flows, Phys. Rev. E 72, 021309 (2005),
arXiv:cond-mat/0503682. In the limit of rigid grains a homogeneous flow under a pressure P is known
by one number, I = γ̇ √(m/P). In the regime of dense flows the effective friction grows with it as
µ* ≃ 0.25 + 1.1 I, and the packing fraction falls as φ ≃ 0.81 − 0.3 I.

Soft disks approach that limit; rigid ones are in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("rheology",)  # modules, one experiment each
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
