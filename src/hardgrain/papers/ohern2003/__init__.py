"""Packings that have just become rigid: how dense, and with how many contacts.

C. S. O'Hern, L. E. Silbert, A. J. Liu and S. R. Nagel, Jamming at zero temperature and zero applied
stress: the epitome of disorder, Phys. Rev. E 68, 011306 (2003), arXiv:cond-mat/0304421: packings of
grains without friction become rigid at a packing fraction of 0.84 (disks of two sizes, in 2D) and
0.64 (spheres), with z = 2d contacts a grain, which is just enough. With friction, packings are
looser and need fewer contacts:

- L. E. Silbert, Jamming of frictional spheres and random loose packing, Soft Matter 6, 2918 (2010),
  arXiv:1108.0012: the abstract. Contacts vary from approximately six to four as friction grows, and
  the packing fraction from random close to random loose packing.
- K. Shundyak, M. van Hecke and W. van Saarloos, Force mobilization and generalized isostaticity in
  jammed packings of frictional grains, Phys. Rev. E 75, 010301 (2007): contacts in which friction
  is fully mobilised count for one unknown less.

Soft grains reach that point as the pressure goes to zero. Rigid ones are at it under any pressure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("frictionless", "friction")  # modules, one experiment each
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
