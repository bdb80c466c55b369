"""Which forces are possible in a packing of rigid disks: every claim of the paper, computed again.

S. McNamara and H. Herrmann, Phys. Rev. E 70, 061303 (2004). The analysis of any packing is
`hardgrain.forces.force_space`; the paper's four families of packings are in `pipeline`.

    from hardgrain.papers.mcnamara2004 import wedge

    found = wedge(0.5, mu=0.3)  # a disk on two walls
    print(found.delta_normal, found.measured_normal)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS", "wedge"]

# modules, one experiment each, in the order of the paper, and what goes beyond it
_EXPERIMENTS = (
    "two_contacts", "dimension", "edges", "indeterminacy", "chains", "sampling", "memory",
    "spheres", "friction", "loading",
)  # fmt: skip
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS, {"wedge": "two_contacts"})

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment
    from hardgrain.papers.mcnamara2004.two_contacts import wedge

    EXPERIMENTS: list[Experiment]
