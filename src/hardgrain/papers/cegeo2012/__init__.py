"""Regular polygons of growing number of sides: density, contacts and friction angle.

CEGEO, Particle shape dependence in 2D granular media, EPL 98, 44008 (2012), arXiv:1208.0499: dense
packings of disks and of other shapes, made without friction, are sheared by biaxial compression
with a coefficient of friction of 0.5. A shape is known by η = 1 − r/R, with the radii r and R of
its inscribed and circumscribed circles. Regular polygons have η = 1 − cos(π/sides), from 0.5 for
triangles to 0 for disks; hexagons and triangles are the two ends of the paper's truncated
triangles, its shape C.

Three more publications speak of the same packings and are held against the same runs:

- É. Azéma, N. Estrada and F. Radjai, Phys. Rev. E 86, 041301 (2012), regular polygons of 3 to 60
  sides in shear: the abstract.
- Influence of particle shape on shear stress in granular media, arXiv:0709.2241, a companion of É.
  Azéma, F. Radjai, R. Peyroux and G. Saussine, Phys. Rev. E 76, 011301 (2007), pentagons against
  disks: the abstract.
- D. Krengel, J. Chen and M. Kikumoto, Comput. Geotech. 164, 105812 (2023), regular polygons of 5 to
  64 sides under biaxial compression, µ = 0.5: its Eq. 7, as the read-me of a public program that
  repeats the study quotes it.

What is taken from where is said at each claim. Only the first was at hand as a whole, as text: of
its figures we know what the text says and the ranges of their axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy_experiments

__all__ = ["EXPERIMENTS"]

_EXPERIMENTS = ("isotropic", "shear")  # modules, one experiment each, in the order of the paper
__getattr__ = lazy_experiments(__name__, _EXPERIMENTS)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from hardgrain.papers.experiment import Experiment

    EXPERIMENTS: list[Experiment]
