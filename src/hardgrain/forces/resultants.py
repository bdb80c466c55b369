"""What two bodies do to each other as a whole, where they touch in a face: possible resultants.

The points of a face share its force in an undetermined way: a box on a floor stands on four points,
and without friction one dimension of their forces is open, though the box presses with its weight.
That is trivial. What is physics is the indeterminacy of the resultants: the force Σ F and the
torque Σ (x − x̄) × F about the middle x̄ of the points, linear in the forces, W = R F.

Bodies feel their contacts through resultants only, c = B R. So of the dimensions of the null space
of c, those of the null space of R lie within faces, and rank R − rank c are open to resultants. The
bounds of resultants come from the same linear programs as those of forces, with the rows of R for
their objectives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from hardgrain.contact.arms import torque
from hardgrain.core.model import Floats
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.cone import Side
from hardgrain.forces.packing import Packing
from hardgrain.forces.program import Program, rays
from hardgrain.forces.rank import null_vectors
from hardgrain.forces.space import UNBOUNDED, ForceSpace

__all__ = ["PairBounds", "open_within", "pair_bounds", "wrenches"]

# [1] A resultant is fixed if self-balanced states, whose largest weight is 1, change it by less. If
# it is smaller, rounding counts as a change and costs programs; if it is larger, small ranges are
# lost.
_FIXED = 1e-9
# [largest singular value] Smaller ones of the points of a face count as zero, due to rounding. If
# it is larger, narrow faces count as lines; if it is smaller, lines as faces.
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class PairBounds:
    """Bounds of the resultants of all contacts of two bodies, one row each; inf and nan as in
    `Bounds`."""

    first: NDArray[np.intp]  # (k,) the first body
    second: NDArray[np.intp]  # (k,) the second body
    points: NDArray[np.int64]  # (k,) number of points in which they touch
    found: Floats  # (k, dim + ns) resultants of the state: R, T [force], then torque
    low: Floats  # (k, dim + ns) the least possible
    high: Floats  # (k, dim + ns)

    def force(self, dim: int) -> tuple[Floats, Floats]:
        """Bounds of the normal and the tangential forces, (k, dim) each."""
        return self.low[:, :dim], self.high[:, :dim]


def wrenches(p: Packing) -> csr_array:
    """The matrix R (k (dim + ns), m dim) from components of forces to resultants.

    A resultant is R, T and the torque about the middle of the points, along the normal and the
    tangents of the contact (in 2D about z).
    """
    m, dim, size = p.contacts, p.dim, p.free.shape[1]
    row = p.contact[:, None, None] * size + np.arange(size)[:, None]
    column = np.arange(m)[:, None, None] * dim + np.arange(dim)
    row, column = np.broadcast_arrays(row, column)
    whole = csr_array(
        (_blocks(p).ravel(), (row.ravel(), column.ravel())), shape=(p.pairs * size, m * dim)
    )
    whole.eliminate_zeros()
    return whole


def open_within(p: Packing) -> int:
    """Dimensions of the forces of points that change no resultant: those of the null space of R."""
    blocks, points, total = _blocks(p), np.bincount(p.contact, minlength=p.pairs), 0
    begin = np.searchsorted(p.contact, np.arange(p.pairs))
    for k in np.unique(points[points > 1]):  # a single point is its own resultant
        some = begin[points == k]
        whole = np.concatenate([blocks[some + i] for i in range(k)], axis=2)
        lever = np.abs(whole[:, p.dim :]).max(axis=(1, 2), keepdims=True)
        whole[:, p.dim :] /= np.where(lever > 0.0, lever, 1.0)
        values = np.linalg.svd(whole, compute_uv=False)
        total += k * p.dim * some.size - int((values > _SMALL * values[:, :1]).sum())
    return total


def _blocks(p: Packing) -> Floats:
    """What the components of each point give to its contact's resultant (m, dim + ns, dim)."""
    dim = p.dim
    group, ns = p.contact, p.free.shape[1] - p.dim
    count = p.pairs
    begin = np.searchsorted(group, np.arange(count))
    axes = p.frame[begin][group]  # (m, dim, dim) those of the contact that a point belongs to
    points = np.bincount(group, minlength=count)
    middle = np.zeros((count, dim))
    np.add.at(middle, group, p.arm_first / points[group, None])
    lever = p.arm_first - middle[group]
    lever[points[group] == 1] = 0.0
    force = np.einsum("kfa,kea->kfe", axes, p.frame)
    twist = torque(np.repeat(lever[:, None, :], dim, axis=1), p.frame)  # (m, e, ns)
    turned = np.swapaxes(twist, 1, 2) if ns == 1 else np.einsum("kfa,kea->kfe", axes, twist)
    return np.concatenate([force, turned], axis=1)


def pair_bounds(
    space: ForceSpace,
    bounds: Bounds | None = None,
    side: Side = "inside",
    exact: bool = False,
) -> PairBounds:
    """Bounds of all resultants; those of pairs with one point are its own, where they are known.

    In 3D they are those of pyramids on one ``side`` of the cones, or ``exact``.
    """
    p = space.packing
    size = p.free.shape[1]
    rows = wrenches(p)
    begin = np.searchsorted(p.contact, np.arange(p.pairs))
    points = np.bincount(p.contact, minlength=p.pairs)
    found = (rows @ p.components.ravel()).reshape(-1, size)
    low, high = np.full((2, p.pairs, size), np.nan)
    alone = points == 1
    low[alone, p.dim :] = high[alone, p.dim :] = 0.0
    if bounds is not None:
        low[alone, : p.dim] = bounds.low[begin[alone]] / p.unit
        high[alone, : p.dim] = bounds.high[begin[alone]] / p.unit
    if not space.empty:
        least = _by_cones if exact and p.dim == 3 else _by_programs
        least(space, rows, low, high, side)
    else:
        low[:], high[:] = np.nan, np.nan
    low, high = p.unit * low, p.unit * np.maximum(low, high)
    return PairBounds(p.first[begin], p.second[begin], points, found, low, high)


def _by_programs(space: ForceSpace, rows: csr_array, low: Floats, high: Floats, side: Side) -> None:
    """Fill in the bounds that are still NaN [unit of force] by linear programs."""
    a, b, g, _ = space.polytope(side)
    costs = csr_array(rows @ g)
    program = Program(a, b)
    if not program.feasible():  # of pyramids inside the cones, where forces lie in the cones only
        return
    x = program.x
    unknown = np.flatnonzero(np.isnan(low.ravel()) | np.isnan(high.ravel()))
    swing, value = np.abs(costs @ null_vectors(a)[:, 0]), costs @ x
    reach = np.sqrt(costs.multiply(costs).sum(axis=1))  # a lever, for torques
    free = rays(a)
    grows = free.x > UNBOUNDED
    for row in unknown:
        k, e = divmod(int(row), low.shape[1])
        span = slice(costs.indptr[row], costs.indptr[row + 1])
        columns, cost = costs.indices[span], costs.data[span]
        if swing[row] <= _FIXED * max(float(reach[row]), 1e-300):
            low[k, e] = high[k, e] = value[row]
            continue
        for extreme, sign in ((low, 1.0), (high, -1.0)):
            limitless = grows[columns].any() and free.minimise(columns, sign * cost) < -UNBOUNDED
            extreme[k, e] = (
                -sign * np.inf if limitless else sign * program.minimise(columns, sign * cost)
            )


def _by_cones(space: ForceSpace, rows: csr_array, low: Floats, high: Floats, side: Side) -> None:
    """The same with round cones."""
    from hardgrain.forces.conic import Cones, equations

    a, b, shape = equations(space)
    cones = Cones(a, b, *shape.shape)
    costs = csr_array(rows @ diags_array(shape.ravel()))
    _, y, _ = cones.minimise(0, 0.0)
    swing, value = np.abs(costs @ null_vectors(a)[:, 0]), costs @ y.ravel()
    reach = np.sqrt(costs.multiply(costs).sum(axis=1))
    for row in np.flatnonzero(np.isnan(low.ravel()) | np.isnan(high.ravel())):
        k, e = divmod(int(row), low.shape[1])
        span = slice(costs.indptr[row], costs.indptr[row + 1])
        columns, cost = costs.indices[span].astype(np.intp), costs.data[span]
        if swing[row] <= _FIXED * max(float(reach[row]), 1e-300):
            low[k, e] = high[k, e] = value[row]
            continue
        for extreme, sign in ((low, 1.0), (high, -1.0)):
            extreme[k, e] = sign * cones.minimise(columns, sign * cost)[0]
