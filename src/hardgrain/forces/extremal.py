"""Extremal states: how much all forces must change to take one from least to greatest.

The global indeterminacy (24) of McNamara and Herrmann is the distance between two states, one where
a component is least and one where it is greatest. Such states are hardly ever unique: each is a
face of F, and most reduced costs of its linear program vanish. Which members of the two faces are
taken is a choice:

- ``nearest``: those nearest to each other, by a quadratic program over both faces at once. Their
  difference is unique (the shortest vector of a convex set), so d is well defined: what *must*
  change. The default.
- ``vertex``: the vertices that the simplex method ends in, as it goes from contact to contact along
  the network. Repeatable, but no property of the packing alone.
- ``random``: vertices of the faces that minimise random costs, normally distributed weights of the
  generators; ``seed`` picks them.

A face is where all weights with a positive reduced cost vanish. In 3D faces are those of the
pyramids inside the cones, whose weights are not unique, so that reduced costs say nothing there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.sparse import (
    block_array,
    block_diag,
    csc_array,
    csc_matrix,
    csr_array,
    eye_array,
    hstack,
    vstack,
)

from hardgrain.core.model import Floats
from hardgrain.errors import InputError, RunError
from hardgrain.extras import later
from hardgrain.forces.bounds import along_network, blocks, still, without_limit
from hardgrain.forces.conic import settings
from hardgrain.forces.program import Basis, Program
from hardgrain.forces.space import ForceSpace
from hardgrain.parallel import pmap

clarabel = later("clarabel")

__all__ = ["Choice", "Extremal", "extremal"]

Choice = Literal["nearest", "vertex", "random"]

# [contacts] Size of a share, in which programs start from one another. It changes the time, and
# which vertex is found by the choice "vertex".
_SHARE = 16
# [largest cost] Smaller reduced costs are zero, up to the accuracy of programs. If it is smaller,
# faces lose members and distances are too large; if it is larger, faces gain states that are not
# extremal.
_VANISHES = 1e-8
# [1, unit of force] Accuracy of the quadratic programs; the second where rounding forbids the
# first.
_ACCURACY = (1e-9, 1e-7)


@dataclass(frozen=True, eq=False)
class Extremal:
    """The states in which each component is least or greatest; NaN where it has no limit."""

    low: Floats  # (m, dim, m, dim) all components where one of a contact is least [force]
    high: Floats  # (m, dim, m, dim)
    unit: float  # unit of force
    # (m, dim, 2) reduced costs that vanish at the least and the greatest; −1: fixed, or no limit
    vanishing: NDArray[np.intp]

    @property
    def distance(self) -> Floats:
        """Distance between the two states of each component (24), (m, dim) [unit of force]."""
        apart: Floats = np.sqrt(((self.high - self.low) ** 2).sum(axis=(2, 3))) / self.unit
        return apart

    @property
    def normal(self) -> Floats:
        """The distances d_R of the normal forces, shape (m,)."""
        return self.distance[:, 0]

    @property
    def tangential(self) -> Floats:
        """The distances d_T of the tangential forces, shape (m,) in 2D and (m, 2) in 3D."""
        return self.distance[:, 1] if self.low.shape[1] == 2 else self.distance[:, 1:]

    @property
    def flat(self) -> float:
        """Upper bound of the share of extremal states that are not unique, by reduced costs.

        It is NaN in 3D, where the weights of pyramids are never unique.
        """
        if self.low.shape[1] == 3:
            return float("nan")
        solved = self.vanishing[self.vanishing >= 0]
        return float((solved > 0).mean()) if solved.size else 0.0


def extremal(
    space: ForceSpace, choice: Choice = "nearest", seed: int = 0, processes: int | None = 1
) -> Extremal:
    """Two extremal states for each component; results do not depend on the processes."""
    if choice not in ("nearest", "vertex", "random"):
        raise InputError(f"choice is {choice!r}; give nearest, vertex or random")
    p = space.packing
    m, dim = p.contacts, p.dim
    a, b, g, k = space.polytope()
    first = Program(a, b)
    states = np.full((2, m, dim, m, dim), np.nan)
    vanishing = np.full((m, dim, 2), -1, dtype=np.intp)
    if not first.feasible() or not m:
        return Extremal(states[0], states[1], p.unit, vanishing)
    weights = blocks(g, dim, k)
    fixed = still(a, g, dim)
    states[:, fixed] = (g @ first.x).reshape(m, dim)
    wanted = ~(fixed | without_limit(a, weights).any(axis=2))
    order = along_network(p)
    shares = [order[i : i + _SHARE] for i in range(0, m, _SHARE)]
    task = partial(_share, _Search(a, b, g, weights, first.end, wanted, choice, seed))
    for share, (found, counts) in zip(shares, pmap(task, shares, processes)):
        at = [(contact, e) for contact in share for e in range(dim) if wanted[contact, e]]
        for (contact, e), pair, count in zip(at, found, counts):
            states[:, contact, e] = pair.reshape(2, m, dim)
            vanishing[contact, e] = count
    return Extremal(p.unit * states[0], p.unit * states[1], p.unit, vanishing)


class _Search(NamedTuple):
    """What all shares of the search for extremal states have in common."""

    a: csc_array  # a x = b, x ≥ 0: the weights x of all members
    b: Floats
    g: csr_array  # from weights to forces
    weights: Floats  # (m, dim, k) of each component
    basis: Basis  # with which programs start
    wanted: NDArray[np.bool_]  # (m, dim) components that are searched
    choice: Choice
    seed: int


def _share(
    search: _Search, contacts: NDArray[np.intp]
) -> tuple[list[Floats], list[tuple[int, int]]]:
    """Pairs of states (2, dim m) of the components wanted, and their vanishing reduced costs."""
    a, b, g, weights, basis, wanted, choice, seed = search
    program, k = Program(a, b, start=basis), weights.shape[2]
    columns, everything = csc_array(g), np.ones(a.shape[1], dtype=bool)
    pairs, counts = [], []
    for contact in contacts:
        own = np.arange(k * contact, k * (contact + 1))
        for e in np.flatnonzero(wanted[contact]):
            w = weights[contact, e] / np.abs(weights[contact, e]).max()
            x, face, count = [], [], []
            for sign in (1.0, -1.0):  # for the least and the greatest value
                program.minimise(own, sign * w)
                x.append(program.x)
                face.append(program.reduced_costs < _VANISHES)
                count.append(int((face[-1] & ~program.basic).sum()))
                if choice == "random" and count[-1]:
                    some = np.flatnonzero(face[-1])
                    rng = np.random.default_rng((seed, int(contact), int(e), int(sign > 0.0)))
                    program.confine(face[-1])
                    program.minimise(some, rng.standard_normal(some.size))
                    x[-1] = program.x
                    program.confine(everything)
            if choice == "nearest" and any(count):
                x = list(_nearest(a, b, columns, face, x))
            pairs.append(np.stack([g @ x[0], g @ x[1]]))
            counts.append((count[0], count[1]))
    return pairs, counts


def _nearest(
    a: csc_array, b: Floats, g: csc_array, faces: list[NDArray[np.bool_]], inside: list[Floats]
) -> tuple[Floats, Floats]:
    """The weights x, y of two faces that minimise |G x − G y|²; ``inside`` is a member of each.

    A face has no interior where weights vanish on all of it, and the interior-point method then
    sometimes ends without a solution. In coordinates of the face itself it does not, but
    takes longer.
    """
    one, other = faces
    g_1, g_2, n = g[:, one], g[:, other], int(one.sum() + other.sum())
    balance = block_array([[a[:, one], None], [None, a[:, other]]])
    right = np.concatenate([b, b, np.zeros(g.shape[0])])
    difference = hstack([g_1, -g_2])
    # The variables are the weights of both faces, and D = G x − G y.
    whole = (
        block_diag([csc_array((n, n)), eye_array(g.shape[0])]),
        np.zeros(n + g.shape[0]),
        block_array([[balance, None], [difference, -eye_array(g.shape[0])]]),
        right,
        hstack([eye_array(n), csc_array((n, g.shape[0]))]),
        np.zeros(n),
    )
    z = _quadratic(*whole)
    if z is None:
        start = np.concatenate([inside[0][one], inside[1][other]])
        along = np.asarray(null_space(balance.toarray()))
        u = difference @ along
        own = (
            csc_array(u.T @ u),
            u.T @ (difference @ start),
            csc_array((0, along.shape[1])),
            np.zeros(0),
            csc_array(along),
            -start,
        )
        for accuracy in _ACCURACY:
            if (y_ := _quadratic(*own, accuracy)) is not None:
                z = start + along @ y_
                break
        else:
            z = _quadratic(*whole, _ACCURACY[1])
        if z is None:
            raise RunError("Clarabel found no nearest members of two faces of extremal states")
    x, y = np.zeros((2, one.size))
    x[one], y[other] = np.split(np.maximum(z[:n], 0.0), [one.sum()])
    return x, y


def _quadratic(
    p: csc_array, q: Floats, a: csc_array, b: Floats, h: csc_array, least: Floats,
    accuracy: float = _ACCURACY[0],
) -> Floats | None:  # fmt: skip
    """The z at which ½ zᵀ P z + q z is least with A z = b and H z ≥ least, or None."""
    chosen = settings(accuracy, 100.0 * accuracy)
    cones = [clarabel.ZeroConeT(b.size), clarabel.NonnegativeConeT(least.size)]
    rows, right = csc_matrix(vstack([a, -h])), np.concatenate([b, -least])
    found = clarabel.DefaultSolver(csc_matrix(p), q, rows, right, cones, chosen).solve()
    return np.array(found.x) if str(found.status) in ("Solved", "AlmostSolved") else None
