"""The periodic cell under pressure, and soft contacts in it as they become stiff.

M. R. Shaebani, T. Unger and J. Kertész, Generation of homogeneous granular packings: contact
dynamics simulations at constant pressure using fully periodic boundaries, Int. J. Mod. Phys. C 20,
847 (2009), arXiv:0803.3566: the size of a periodic cell becomes one more variable of contact
dynamics, so that rigid grains are compressed by a pressure without walls. Only its abstract was at
hand; what it says there is held against our packings.

The experiments here ask what the paper takes for granted: that such a cell with rigid grains is the
limit of the same cell with soft ones. Both engines of this package have the cell with the same
equations (`hardgrain.step.cell_loads`), so that nothing differs but the contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("statics", "flow")  # modules, one experiment each
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
