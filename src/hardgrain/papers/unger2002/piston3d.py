"""Spheres under a piston: what the paper shows for disks, tried in three dimensions.

A packing of as many grains is lower in 3D, so that fewer sweeps take one as far: N_I begins at 5.
Its second mode lies nearer to the first, so fits begin later than in 2D, after 5 τ instead of 3.
Some packings keep two modes that decay almost alike: they have no single µ₁, and a few ring by no
damped sine at all. The paper has no spheres, so that theory alone is judged.
"""

from __future__ import annotations

from dataclasses import replace

from hardgrain.papers.experiment import Experiment, Outcome
from hardgrain.papers.unger2002.piston import study
from hardgrain.papers.unger2002.piston_ringing import Plan

__all__ = ["EXPERIMENT"]

_FULL = Plan(
    dim=3,
    grains=1000,
    packings=8,
    sheared=6,
    sweeps=(5, 10, 20, 40, 80),
    repeats=2,
    transient=5.0,
)
_QUICK = replace(_FULL, grains=60, packings=6, sheared=1, sweeps=(5, 10, 20, 40), repeats=1)
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
