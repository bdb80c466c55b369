"""Spheres under a piston: what the paper shows for disks, tried in three dimensions.

A packing of as many grains is lower in 3D, so that fewer sweeps take one as far: N_I begins at 5.
Its second mode lies nearer to the first, so fits begin later than in 2D, after 5 τ instead of 3.
Still ω and τ of a packing agree on its µ₁ to about 1 % and 4 % only, both below the exact map,
which no other µ₁ would mend. The answer is linear (a push and a pull give the same within half a
percent), so what is left is a mixture of modes that decay almost alike; how well the map holds is
told, not judged.
"""

from __future__ import annotations

from dataclasses import replace

from hardgrain.papers.experiment import Experiment, Outcome
from hardgrain.papers.unger2002.piston import Plan, study

__all__ = ["EXPERIMENT"]

_FULL = Plan(
    dim=3,
    grains=1500,
    packings=5,
    sheared=3,
    sweeps=(5, 10, 20, 40, 80),
    repeats=4,
    transient=5.0,
)
_QUICK = replace(_FULL, grains=200, packings=6, sheared=4, sweeps=(5, 10, 20, 40), repeats=1)
_TEXT = (
    "Spheres ring by the same law as disks and chains: only the rate µ₁ of the sweeps is theirs. A"
    " third of the contacts of a fresh packing of spheres are about to slide, so that it yields to"
    " any more load; it is elastic only after a small overload, and even then the exact map holds"
    " to a few percent only, not to a few parts in a thousand as for disks: modes that decay almost"
    " alike remain together. The two transverse"
    " modes, along x and y, are nearly as fast as each other, and some packings show a mixture."
)


def _run(quick: bool) -> Outcome:
    return study(_QUICK if quick else _FULL, _TEXT)


EXPERIMENT = Experiment("piston3d", "Fig. 6 in three dimensions: spheres under a piston", _run)
