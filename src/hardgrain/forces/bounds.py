"""The least and the greatest value that each component of each contact force can have.

There are four linear programs for a contact in 2D and six in 3D, all over the same constraints.
Each starts from the best of the extremal members found before. Contacts that share a grain have
their extremal members near each other, so they are taken along the network (reverse Cuthill–McKee)
and dealt out in shares, which all begin with the same first member. The shares do not depend on the
number of processes, nor do the results.

These need not be solved:
- components that no self-balanced state changes: they are those of the first member;
- what grows without limit: known from the self-balanced states alone;
- the least normal force of a contact that is open in any member found so far: 0;
- the greatest tangential force if the contact slides where its normal force is greatest: no other
  member has more.

Balance and cones hold to 10⁻⁹ of the unit of force, the tolerance of HiGHS; bounds of well-posed
packings are right to some 10⁻¹⁰ of it, and forces found lie within them to 10⁻⁹.

In 3D pyramids inside the round cones give ranges within the true ones, pyramids outside ranges
around them; the true ones are a matter of `hardgrain.forces.conic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from hardgrain.core.model import Floats
from hardgrain.errors import RunError
from hardgrain.forces.cone import Side
from hardgrain.forces.packing import Packing
from hardgrain.forces.program import Basis, Program, rays
from hardgrain.forces.rank import null_vectors
from hardgrain.forces.space import UNBOUNDED, ForceSpace
from hardgrain.parallel import pmap

__all__ = ["Bounds", "Members", "along_network", "blocks", "bounds", "still", "without_limit"]

# [contacts] Size of a share, in which programs start from one another. Smaller shares take more
# pivots, larger ones keep fewer processes busy; the bounds are the same.
_SHARE = 64
# [unit of force] A smaller normal force is zero, up to the accuracy of programs. If it is smaller,
# open contacts are not recognised and cost a program each; if it is larger, bounds are wrong by as
# much.
_NONE = 1e-9
# [1] A component is fixed if self-balanced states, whose largest weight is 1, change it by less. If
# it is smaller, rounding counts as a change and costs programs; if it is larger, small ranges are
# lost.
_FIXED = 1e-9
# [unit of force] A contact that is so near to sliding slides, so that its greatest T is known. If
# it is larger, that T may be too small.
_EDGE = 1e-12


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of all components [force]: ±inf without limit, nan if no forces balance the load."""

    low: Floats  # (m, dim) least value of R, then of T
    high: Floats  # (m, dim)
    programs: int  # number of programs that had to be solved
    pivots: int  # number of pivots of the simplex method, or iterations of the conic solver

    @property
    def normal_min(self) -> Floats:
        return self.low[:, 0]

    @property
    def normal_max(self) -> Floats:
        return self.high[:, 0]

    @property
    def tangential_min(self) -> Floats:
        """Least tangential force, shape (m,) in 2D and (m, 2) in 3D."""
        return self.low[:, 1] if self.low.shape[1] == 2 else self.low[:, 1:]

    @property
    def tangential_max(self) -> Floats:
        return self.high[:, 1] if self.high.shape[1] == 2 else self.high[:, 1:]


def bounds(
    space: ForceSpace, processes: int | None = 1, side: Side = "inside", exact: bool = False
) -> Bounds:
    """Bounds of every component; in 3D those of the pyramids on one side of the cones, or exact."""
    p = space.packing
    if exact and p.dim == 3:
        from hardgrain.forces.conic import conic_bounds

        return conic_bounds(space, processes)
    a, b, g, k = space.polytope(side)
    first = Program(a, b)
    low, high = np.full((2, p.contacts, p.dim), np.nan)
    if not first.feasible() or not p.contacts:
        if p.contacts and not space.empty:
            raise RunError(
                f"no forces lie inside pyramids of {space.faces} faces, though some lie in the"
                " cones; give more faces, or exact=True"
            )
        return Bounds(low, high, 1, first.pivots)
    x = first.x
    gone = x.reshape(-1, k).sum(axis=1) < _NONE
    low[gone, 0] = 0.0
    weights = blocks(g, p.dim, k)
    limitless = without_limit(a, weights)
    low[limitless[..., 0]], high[limitless[..., 1]] = -np.inf, np.inf
    fixed = still(a, g, p.dim)
    low[fixed] = high[fixed] = (g @ x).reshape(low.shape)[fixed]
    order = along_network(p)
    shares = [order[i : i + _SHARE] for i in range(0, p.contacts, _SHARE)]
    task = partial(_share, a, b, weights, first.end, low, high)
    programs, pivots = 1, first.pivots
    for share, part in zip(shares, pmap(task, shares, processes)):
        low[share], high[share] = part[0], part[1]
        programs, pivots = programs + part[2], pivots + part[3]
    low[:, 0] = np.maximum(low[:, 0], 0.0)
    return Bounds(p.unit * low, p.unit * np.maximum(low, high), programs, pivots)


def along_network(p: Packing) -> NDArray[np.intp]:
    """Order of all contacts in which those that share a movable body are near each other (m,)."""
    touching = csr_array(abs(p.matrix[: p.of_bodies]))  # all contacts share the cell
    pairs = (touching.T @ touching).tocoo()
    m = p.contacts
    shared = csr_array((np.ones(pairs.nnz), (pairs.row // p.dim, pairs.col // p.dim)), shape=(m, m))
    return np.asarray(reverse_cuthill_mckee(shared, symmetric_mode=True), dtype=np.intp)


def blocks(g: csr_array, dim: int, k: int) -> Floats:
    """The part that each generator of a contact gives to each of its components (m, dim, k)."""
    entries = g.tocoo()
    weights = np.zeros((g.shape[1] // k, dim, k))
    weights[entries.col // k, entries.row % dim, entries.col % k] = entries.data
    return weights


def still(a: csc_array, g: csr_array, dim: int) -> NDArray[np.bool_]:
    """Which components no self-balanced state changes, shape (m, dim)."""
    return np.asarray(np.abs(g @ null_vectors(a)[:, 0]) < _FIXED).reshape(-1, dim)


def without_limit(a: csc_array, weights: Floats) -> NDArray[np.bool_]:
    """Which components self-balanced states lower or raise without limit, shape (m, dim, 2)."""
    program, (m, dim, k) = rays(a), weights.shape
    limitless = np.zeros((m, dim, 2), dtype=bool)
    for contact in np.flatnonzero((program.x > UNBOUNDED).reshape(m, k).any(axis=1)):
        columns = np.arange(k * contact, k * (contact + 1))
        for e, w in enumerate(weights[contact]):
            for end, sign in enumerate((1.0, -1.0)):
                limitless[contact, e, end] = program.minimise(columns, sign * w) < -UNBOUNDED
    return limitless


def _share(
    a: csc_array,
    b: Floats,
    weights: Floats,
    basis: Basis,
    low: Floats,
    high: Floats,
    contacts: NDArray[np.intp],
) -> tuple[Floats, Floats, int, int]:
    """Find bounds of some contacts that are still NaN, and count programs and pivots."""
    program = Program(a, b, start=basis)
    program.feasible()
    low, high = low.copy(), high.copy()
    _, dim, k = weights.shape
    members = Members(program, 1 + 2 * dim * contacts.size)
    programs = pivots = 0
    for contact in contacts:
        columns = np.arange(k * contact, k * (contact + 1))
        # The greatest R comes first, since a member with a great R often has a great T; then the
        # least.
        for extreme, sign in ((high, 1.0), (low, -1.0)):
            for e, w in enumerate(weights[contact]):
                if not np.isnan(extreme[contact, e]):
                    continue
                if extreme is low and e == 0 and members.least(columns) < _NONE:
                    low[contact, 0] = 0.0
                    continue
                members.go_to_best(columns, -sign * w)
                extreme[contact, e] = -sign * program.minimise(columns, -sign * w)
                programs, pivots = programs + 1, pivots + program.pivots
                x = members.add()
                if extreme is high and e == 0:
                    _sliding(x[columns], weights[contact], low[contact], high[contact])
    return low[contacts], high[contacts], programs, pivots


class Members:
    """Extremal members found so far, with their bases: a program starts from the best of them."""

    def __init__(self, program: Program, room: int) -> None:
        self._program = program
        self._bases = [program.basis]
        self._x = np.empty((room, program.x.size))
        self._x[0] = program.x

    def add(self) -> Floats:
        """Keep the member at which the program is now, and return it."""
        x = self._x[len(self._bases)] = self._program.x
        self._bases.append(self._program.basis)
        return x

    def least(self, columns: NDArray[np.intp]) -> float:
        """The least sum of some weights among the members."""
        return float(self._x[: len(self._bases), columns].sum(axis=1).min())

    def go_to_best(self, columns: NDArray[np.intp], costs: Floats) -> None:
        """Go to the known member with the least costs, if they are below the present ones."""
        value = self._x[: len(self._bases), columns] @ costs
        best = int(value.argmin())
        if value[best] < value[-1] - _NONE:
            self._program.basis = self._bases[best]


def _sliding(x: Floats, weights: Floats, low: Floats, high: Floats) -> None:
    """Where R is greatest, take T as well if all weight is on the generators with most of it."""
    for e in range(1, low.size):
        for extreme, sign in ((high, 1.0), (low, -1.0)):
            most = (sign * weights[e]).max()
            if np.isnan(extreme[e]) and (most - sign * weights[e]) @ x < _EDGE:
                extreme[e] = sign * most * high[0]
