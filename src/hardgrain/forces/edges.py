"""Extremal states by walking along the edges of F (McNamara and Herrmann, II G), in 2D.

In coordinates y of its affine hull, of n dimensions, F is where no slack is negative: µ R + T and
µ R − T of each contact, linear in y. An extremal point is where n of them vanish, one for each
sliding contact and two for one that bears no force. Relax one of the n, and n − 1 are left, which
hold along a line: an edge, that ends where another slack vanishes, at a neighbour.

The paper's algorithm starts from a point inside and goes along a vector of the null space until a
contact slides, then along one that keeps it sliding until the next contact slides, and so on, until
it is at an extremal point. From there it looks at all n neighbours and moves to one that is better,
until none is. F is convex, so the last point is the best.

That holds where every extremal point has exactly n vanishing slacks. More of them vanish where a
grain is left alone on a floor, with all its other contacts open. The friction of the floor is then
zero for two reasons, the balance of torques and that of horizontal forces, and one of the vanishing
slacks follows from the others.

Where more than n vanish, n are chosen, and an edge may have no length: its neighbour is the same
point. Then it may be that no neighbour is better although others of its edges would lead on. Such a
walk is trapped; it is counted, and freed by Bland's rule (relax the first slack that gains, and let
the first one that vanishes take its place), which cannot cycle.

With n slacks z ≥ 0 as coordinates, all others are s + Tᵀ z, and a move to a neighbour changes the
table T (n, slacks) by a matrix of rank one. The table is made anew from its n slacks for each
extremum, so that rounding does not add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from hardgrain.errors import InputError, RunError
from hardgrain.forces.space import SLIDES, ForceSpace
from hardgrain.kernels import device, jit

if TYPE_CHECKING:
    from hardgrain.core.model import Floats
    from hardgrain.forces.packing import Packing

__all__ = ["Edges", "Start", "walk_edges"]

Start = Literal["first", "last"]

# [1] A component gains along an edge if it changes by more than this per unit of a slack. If it is
# smaller, rounding counts as a gain and walks do not end; if it is larger, they end too early.
_GAIN = 1e-9
# [unit of force] A smaller slack has vanished, and a shorter edge has no length. If it is smaller,
# rounding counts as an edge; if it is larger, short edges are overlooked.
_ZERO = 1e-10
# [1] A slack that changes by less than this along an edge does not end it. If it is smaller,
# rounding ends edges; if it is larger, edges go on outside of F.
_SLOPE = 1e-9
# [moves] An extremum must be found within so many, or the walk is an error: it protects against one
# that runs in circles. Walks of some hundred contacts need far fewer.
_PIVOTS = 20_000
_ENDLESS, _LOST = 1, 2  # what went wrong: an edge has no end, or the moves were not enough


@dataclass(frozen=True, eq=False)
class Edges:
    """Extremal states of each component: the ends of its range, and what they have in common."""

    low: Floats  # (m, 2) least R and T [force]
    high: Floats  # (m, 2)
    distance: Floats  # (m, 2) distance between both states, (24) [unit of force]
    # (m, 2, 2) number M_s of sliding contacts in the states of the least and the greatest value
    sliding: NDArray[np.intp]
    # M_s of a generic extremal point: dim F, plus what slides or is open in all states
    expected: int
    # (m, 2, 2) number of grains that rest on a single contact in these states
    alone: NDArray[np.intp]
    # (m, 2, 2) whether the walk was trapped: no neighbour was better, and yet it was not the best
    trapped: NDArray[np.bool_]
    moves: int  # moves to neighbours, in all walks together

    @property
    def unexpected(self) -> float:
        """Share of the extremal states with another number of sliding contacts than expected."""
        return float((self.sliding != self.expected).mean())


def walk_edges(space: ForceSpace, start: Start = "last", tolerance: float = SLIDES) -> Edges:
    """The states of least and greatest R and T of each contact, found by 4 M walks along edges.

    Each walk begins where the last one ended, or, with ``"first"``, all begin at the same extremal
    point. A contact slides if µ R − |T| is below ``tolerance`` units of force.
    """
    from hardgrain.forces.uniform import affine_hull

    p = space.packing
    if p.dim != 2:
        raise InputError("edges are those of a polytope: give a packing of disks")
    if start not in ("first", "last"):
        raise InputError(f"start is {start!r}; give first or last")
    hull = affine_hull(space)
    m, n = p.contacts, len(hull.basis)
    slack = hull.walls(hull.origin[None])[0][0]
    slope = hull.walls(hull.basis)[0]
    objective = _objectives(hull.inner, hull.edge, p.friction, p.components)
    y, first = _first(slack, slope)
    bounds, states = np.empty((2, m, 2)), np.empty((2, 2 * m))
    sliding, trapped = np.zeros((m, 2, 2), dtype=np.intp), np.zeros((m, 2, 2), dtype=bool)
    distance, moves, always = np.empty((m, 2)), 0, int(space.always.sum())
    alone = np.zeros((m, 2, 2), dtype=np.intp)
    several = _touched(p, space.always < 2) > 1
    active = first.copy()
    for contact in range(m):
        for e in range(2):
            for end, sign in ((0, -1.0), (1, 1.0)):
                if start == "first":
                    active = first.copy()
                columns, weights = objective[0][contact], sign * objective[1][contact, e]
                if n:
                    table = np.linalg.solve(slope[:, active].T, np.eye(n)).T @ slope
                    y = np.linalg.solve(slope[:, active].T, -slack[active])
                    now = np.maximum(slack + y @ slope, 0.0)
                    now[active] = 0.0
                    count, trapped[contact, e, end], fault = _climb(
                        table, now, active, columns, weights
                    )
                    if fault:
                        raise RunError(
                            f"the walk along edges of F for contact {contact}"
                            + (" has no end" if fault == _ENDLESS else " does not end")
                        )
                    moves += count
                    y = np.linalg.solve(slope[:, active].T, -slack[active])
                here = slack + y @ slope
                sliding[contact, e, end] = int((here < tolerance).sum()) + always
                state = states[end] = hull.origin + y @ hull.basis
                bounds[end, contact, e] = state[2 * contact + e]
                alone[contact, e, end] = int(
                    (several & (_touched(p, state[::2] > tolerance) == 1)).sum()
                )
            distance[contact, e] = np.linalg.norm(states[1] - states[0])
    low, high = p.unit * bounds
    return Edges(low, high, distance, sliding, n + always, alone, trapped, moves)


def _touched(p: Packing, contacts: NDArray[np.bool_]) -> NDArray[np.intp]:
    """How many of these contacts each body has (bodies,)."""
    both = np.concatenate([p.first[contacts], p.second[contacts]])
    count = np.bincount(both, minlength=p.free.shape[0])
    count[p.radius.size :] = 0  # walls are not counted
    return count


def _objectives(
    inner: NDArray[np.bool_], edge: NDArray[np.bool_], friction: Floats, components: Floats
) -> tuple[NDArray[np.intp], Floats]:
    """The two slacks of each contact (m, 2) and with which weights they are R and T (m, 2, 2).

    Slacks are in the order of `hardgrain.forces.uniform`: R of contacts that must slide,
    then µ R + T and then µ R − T of the others.
    """
    m, first = inner.size, int(edge.sum())
    count = int(inner.sum())
    columns, weights = np.zeros((m, 2), dtype=np.intp), np.zeros((m, 2, 2))
    columns[edge] = np.arange(first)[:, None]
    weights[edge, 0, 0] = 1.0
    columns[inner, 0] = first + np.arange(count)
    columns[inner, 1] = first + count + np.arange(count)
    mu = friction[inner]
    weights[inner, 0] = (0.5 / mu)[:, None]
    weights[inner, 1] = [0.5, -0.5]
    weights[edge, 1, 0] = np.sign(components[edge, 1]) * friction[edge]
    return columns, weights


def _first(slack: Floats, slope: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """An extremal point (n,) reached from inside, and its n slacks; each step makes one vanish."""
    n = len(slope)
    y, free, now = np.zeros(n), np.eye(n), slack.copy()
    held: list[int] = []
    for _ in range(n):
        direction = free[0]
        along = direction @ slope
        along[held] = 0.0
        if not (along < -_SLOPE).any():
            direction, along = -direction, -along
        closes = along < -_SLOPE
        if not closes.any():
            raise RunError("the walk along edges of F has no end: a force has no limit")
        length = np.where(closes, now / np.where(closes, -along, 1.0), np.inf)
        next_ = int(length.argmin())
        y = y + length[next_] * direction
        now = np.maximum(now + length[next_] * along, 0.0)
        held.append(next_)
        now[held] = 0.0
        # combinations of the remaining directions that keep the new contact sliding
        free = free[1:] - np.outer(free[1:] @ slope[:, next_] / along[next_], direction)
        free /= np.linalg.norm(free, axis=1)[:, None]
    return y, np.array(held, dtype=np.intp)


@device
def _move(table: Floats, now: Floats, active: NDArray[np.intp], i: int, j: int) -> None:
    """Go along edge i until slack j vanishes, which takes the place of the one that was relaxed."""
    n, slacks = table.shape
    length, pivot = now[j] / -table[i, j], table[i, j]
    for k in range(slacks):
        now[k] = max(now[k] + length * table[i, k], 0.0)
        table[i, k] /= pivot
    now[j] = 0.0
    for k in range(n):
        factor = table[k, j]
        if k != i and factor != 0.0:
            for c in range(slacks):
                table[k, c] -= factor * table[i, c]
    for k in range(n):
        table[k, j] = 1.0 if k == i else 0.0
    active[i] = j


@jit
def _climb(
    table: Floats, now: Floats, active: NDArray[np.intp], columns: NDArray[np.intp], weights: Floats
) -> tuple[int, bool, int]:
    """Climb to the best extremal point, in place.

    Returns the number of moves, whether the walk was trapped, and what went wrong (0: nothing).
    """
    n, slacks = table.shape
    moves, trapped = 0, False
    while moves < _PIVOTS:
        best, edge, last, freed = 0.0, -1, -1, -1
        for i in range(n):
            gain = weights[0] * table[i, columns[0]] + weights[1] * table[i, columns[1]]
            if gain <= _GAIN:
                continue
            length, hit = np.inf, -1
            for j in range(slacks):
                if table[i, j] < -_SLOPE and now[j] < -length * table[i, j]:
                    length, hit = now[j] / -table[i, j], j
            if hit < 0:
                return moves, trapped, _ENDLESS
            if length > _ZERO and gain * length > best:
                best, edge, last = gain * length, i, hit
            if freed < 0 or active[i] < active[freed]:
                freed = i
        if edge < 0:
            if freed < 0:
                return moves, trapped, 0
            trapped, edge = True, freed
            for j in range(slacks):  # the first slack that has no room to shrink
                if table[edge, j] < -_SLOPE and now[j] <= -_ZERO * table[edge, j]:
                    last = j
                    break
        _move(table, now, active, edge, last)
        moves += 1
    return moves, trapped, _LOST
