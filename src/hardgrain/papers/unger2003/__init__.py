"""The review of contact dynamics: its algorithm, its cost and its errors, tried piece by piece.

T. Unger and J. Kertész, The contact dynamics method for granular media (2003). The spurious elastic
behaviour that the review also tells of is that of `hardgrain.papers.unger2002`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

# modules, one experiment each, in the order of the review
_EXPERIMENTS = ("shock", "parallel", "criteria", "errors", "cost", "lengths")
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same name, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
