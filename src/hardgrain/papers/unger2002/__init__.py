"""Unfinished sweeps make rigid grains elastic: every claim of the paper, measured again.

T. Unger, L. Brendel, D. E. Wolf and J. Kertész, Phys. Rev. E 65, 061305 (2002). The closed forms
are in `hardgrain.theory.chain`, whose docstring also tells where the paper's continuum ends.

    from hardgrain.papers.unger2002 import chain

    run = chain(particles=50, sweeps=40)  # the paper's Fig. 4
    print(run.fit(330, 650).frequency)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS", "chain"]

# modules, one experiment each, in the order of the paper
_EXPERIMENTS = (
    "fig4", "dispersion", "relaxation", "pulse", "elasticity", "adaptive",
    "piston", "piston3d",
    "performance", "pitfalls", "rigid",
)  # fmt: skip
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS, {"chain": "row"})

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment
    from hardgrain.papers.unger2002.row import chain

    EXPERIMENTS: list[Experiment]
