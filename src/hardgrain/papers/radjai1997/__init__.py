"""The friction of an array of disks is collective: every claim of the paper, computed again.

F. Radjai, J. Schäfer, S. Dippel and D. Wolf, J. Phys. I France 7, 1053 (1997). The exact solver is
in `exact`; signs and numbering are the paper's (see `exact.array`).

    from hardgrain.papers.radjai1997 import evolve, steady_state

    found = steady_state(10, drive=2.5, brake=0.01, mu=0.1, mu_plane=0.2, mu_block=0.001)
    print(found.friction, found.modes, found.unique)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS", "ContactLost", "evolve", "pieces", "steady_state"]

# modules, one experiment each, in the order of the paper
_EXPERIMENTS = (
    "evolution", "modes", "inertia", "opening", "indeterminate", "statics", "coefficients",
    "methods", "regularised",
)  # fmt: skip
_IN_ARRAY = ("ContactLost", "evolve", "pieces", "steady_state")
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS, dict.fromkeys(_IN_ARRAY, "array"))

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment
    from hardgrain.papers.radjai1997.array import ContactLost, evolve, pieces, steady_state

    EXPERIMENTS: list[Experiment]
