"""The least and the greatest that each component of each contact force can be.

Four linear programs for a contact in 2D, six in 3D, all over the same constraints. They are dealt
out in shares of consecutive contacts: neighbours have their extremes near each other, so the basis
that one leaves serves the next. The shares do not depend on the number of processes, nor do the
results. Not to be solved: a normal force that vanishes in any extremal state found so far has its
least value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csc_array, csr_array

from hardgrain.measure.forces.cone import Side
from hardgrain.measure.forces.program import Program
from hardgrain.measure.forces.space import ForceSpace
from hardgrain.parallel import pmap
from hardgrain.scene.model import Floats

__all__ = ["Bounds", "bounds"]

_SHARE = 64  # contacts whose programs go on from one another
_NONE = 1e-9  # a normal force below has vanished [unit of force]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of all components, and the extremal states that were found with them."""

    low: Floats  # (m, dim) R first, then T
    high: Floats  # (m, dim)
    programs: int  # linear programs solved
    pivots: int

    @property
    def normal_min(self) -> Floats:
        return self.low[:, 0]

    @property
    def normal_max(self) -> Floats:
        return self.high[:, 0]

    @property
    def tangential_min(self) -> Floats:
        """(m,) in 2D, (m, 2) in 3D."""
        return self.low[:, 1] if self.low.shape[1] == 2 else self.low[:, 1:]

    @property
    def tangential_max(self) -> Floats:
        return self.high[:, 1] if self.high.shape[1] == 2 else self.high[:, 1:]


def bounds(space: ForceSpace, processes: int | None = 1, side: Side = "inside") -> Bounds:
    """Bounds of every component; in 3D those of the pyramids inside or outside the cones."""
    p = space.packing
    m, dim = p.contacts, p.dim
    a, b, g, k = space.polytope(side)
    shares = [range(i, min(i + _SHARE, m)) for i in range(0, m, _SHARE)]
    found = pmap(partial(_share, a, b, csr_array(g), k, dim), shares, processes)
    none = np.zeros((0, dim))
    return Bounds(
        p.unit * np.concatenate([none, *(f[0] for f in found)]),
        p.unit * np.concatenate([none, *(f[1] for f in found)]),
        sum(f[2] for f in found),
        sum(f[3] for f in found),
    )


def _share(
    a: csc_array, b: Floats, g: csr_array, k: int, dim: int, contacts: range
) -> tuple[Floats, Floats, int, int]:
    program = Program(a, b)
    low, high = np.empty((len(contacts), dim)), np.empty((len(contacts), dim))
    gone = np.zeros(a.shape[1] // k, dtype=bool)  # R = 0 in some member
    programs = pivots = 0
    for i, contact in enumerate(contacts):
        columns = np.arange(k * contact, k * (contact + 1))
        weights = g[dim * contact : dim * (contact + 1), columns].toarray()
        # greatest first: what makes R great makes T great; then least
        for extreme, sign in ((high, -1.0), (low, 1.0)):
            for e in range(dim):
                if sign > 0.0 and e == 0 and gone[contact]:
                    extreme[i, e] = 0.0
                    continue
                extreme[i, e] = sign * program.minimise(columns, sign * weights[e])
                programs, pivots = programs + 1, pivots + program.pivots
                gone |= program.x.reshape(-1, k).sum(axis=1) < _NONE
    return low, high, programs, pivots
