"""Publications whose experiments are run again by code, claim by claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardgrain.lazy import lazy

# For each name what it is; each is a package here with a list EXPERIMENTS.
PAPERS = {
    "unger2002": "T. Unger, L. Brendel, D. E. Wolf and J. Kertész, Elastic behavior in contact"
    " dynamics of rigid particles, Phys. Rev. E 65, 061305 (2002)",
    "unger2003": "T. Unger and J. Kertész, The contact dynamics method for granular media, AIP"
    " Conf. Proc. 661, 116 (2003)",
    "radjai1997": "F. Radjai, J. Schäfer, S. Dippel and D. Wolf, Collective friction of an array of"
    " particles: a crucial test for numerical algorithms, J. Phys. I France 7, 1053 (1997)",
    "mcnamara2004": "S. McNamara and H. Herrmann, Measurement of indeterminacy in packings of"
    " perfectly rigid disks, Phys. Rev. E 70, 061303 (2004)",
    "cegeo2012": "CEGEO, B. Saint-Cyr, K. Szarf, C. Voivret, E. Azéma, V. Richefeu, J.-Y. Delenne,"
    " G. Combe, C. Nouguier-Lehon, P. Villard, P. Sornay, M. Chaze and F. Radjai, Particle shape"
    " dependence in 2D granular media, EPL 98, 44008 (2012)",
    "shaebani2008": "M. R. Shaebani, T. Unger and J. Kertész, Generation of homogeneous granular"
    " packings: contact dynamics simulations at constant pressure using fully periodic boundaries,"
    " Int. J. Mod. Phys. C 20, 847 (2009), arXiv:0803.3566",
    "dacruz2005": "F. da Cruz, S. Emam, M. Prochnow, J.-N. Roux and F. Chevoir, Rheophysics of"
    " dense granular materials: discrete simulation of plane shear flows, Phys. Rev. E 72, 021309"
    " (2005)",
    "ohern2003": "C. S. O'Hern, L. E. Silbert, A. J. Liu and S. R. Nagel, Jamming at zero"
    " temperature and zero applied stress: the epitome of disorder, Phys. Rev. E 68, 011306 (2003)",
    "rothenburg1989": "L. Rothenburg and R. J. Bathurst, Analytical study of induced anisotropy in"
    " idealized granular materials, Géotechnique 39, 601 (1989)",
}

__all__ = ["PAPERS", *PAPERS]

__getattr__ = lazy(__name__, dict.fromkeys(PAPERS, ""))


if TYPE_CHECKING:  # the same names, for type checkers and editors
    # ruff: noqa: F401
    from hardgrain.papers import (
        cegeo2012,
        dacruz2005,
        mcnamara2004,
        ohern2003,
        radjai1997,
        rothenburg1989,
        shaebani2008,
        unger2002,
        unger2003,
    )
