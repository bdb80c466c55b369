"""Exact bounds of forces in 3D, where Coulomb's cones are round, by interior points (Clarabel).

With y = (R, T/µ) of each contact the set of possible forces is {c y = load, y₁ ≥ |y₂₃|}: cones of
second order. Programs share their structure, but none starts from the result of another.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csc_matrix, csr_array, diags_array, eye_array, vstack

from hardgrain.core.model import Floats
from hardgrain.errors import RunError
from hardgrain.extras import later
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.rank import independent, null_vectors
from hardgrain.forces.space import ForceSpace
from hardgrain.parallel import pmap

clarabel = later("clarabel")

__all__ = ["Cones", "conic_bounds", "equations", "feasible", "settings"]

# [contacts] Number that one process takes at a time; it changes the time only.
_SHARE = 16
# [1] A component is fixed if self-balanced states, whose largest component is 1, change it by less.
# If it is smaller, rounding counts as a change; if it is larger, small ranges are lost.
_FIXED = 1e-9
# [1, unit of force] Accuracy of the least value that is asked for. Finer ones fail more often.
_ACCURACY = 1e-9
# [1, unit of force] Accuracy that is accepted where rounding allows no better. If it is smaller,
# some packings get no bounds; if it is larger, bounds are wrong by as much.
_ALMOST = 1e-7


def feasible(space: ForceSpace) -> bool:
    """Whether there are any forces in the round cones that balance the load."""
    a, b, shape = equations(space)
    return Cones(a, b, *shape.shape).minimise(0, 0.0)[0] < np.inf


def conic_bounds(space: ForceSpace, processes: int | None = 1) -> Bounds:
    """Bounds of every component with round cones, to about 10⁻⁷ of the unit of force."""
    p = space.packing
    m, dim = p.contacts, p.dim
    a, b, shape = equations(space)
    low, high = np.full((2, m, dim), np.nan)
    if not m:
        return Bounds(low, high, 0, 0)
    first, y, iterations = Cones(a, b, m, dim).minimise(0, 0.0)
    if first == np.inf:
        return Bounds(low, high, 1, iterations)
    fixed = (np.abs(null_vectors(a)[:, 0]) < _FIXED).reshape(m, dim) | (shape == 0.0)
    low[fixed] = high[fixed] = (shape * y)[fixed]
    shares = [np.arange(i, min(i + _SHARE, m)) for i in range(0, m, _SHARE)]
    programs = 1
    for share, part in zip(
        shares, pmap(partial(_share, a, b, shape, low, high), shares, processes)
    ):
        low[share], high[share] = part[0], part[1]
        programs, iterations = programs + part[2], iterations + part[3]
    low[:, 0] = np.maximum(low[:, 0], 0.0)
    return Bounds(p.unit * low, p.unit * np.maximum(low, high), programs, iterations)


def settings(accuracy: float, almost: float) -> Any:
    """Settings of Clarabel: the accuracy asked for, and the one accepted if that fails."""
    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = 1
    chosen.tol_gap_abs = chosen.tol_gap_rel = chosen.tol_feas = accuracy
    chosen.reduced_tol_gap_abs = chosen.reduced_tol_gap_rel = chosen.reduced_tol_feas = almost
    return chosen


def equations(space: ForceSpace) -> tuple[csc_array, Floats, Floats]:
    """The a and b of a y = b, and the factors (1, µ, …) of y that give forces (m, dim)."""
    shape = np.ones((space.contacts, space.packing.dim))
    shape[:, 1:] = space.packing.friction[:, None]
    c, load = space.equations()
    a = csr_array(c @ diags_array(shape.ravel()))
    rows = independent(a, load)
    return csc_array(a[rows]), load[rows], shape


def _share(
    a: csc_array, b: Floats, shape: Floats, low: Floats, high: Floats, contacts: NDArray[np.intp]
) -> tuple[Floats, Floats, int, int]:
    """Find bounds of some contacts that are still NaN, and count programs and iterations."""
    (m, dim), low, high = shape.shape, low.copy(), high.copy()
    cones = Cones(a, b, m, dim)
    programs = iterations = 0
    for contact in contacts:
        for extreme, sign in ((high, -1.0), (low, 1.0)):
            for e in range(dim):
                if np.isnan(extreme[contact, e]):
                    value, _, spent = cones.minimise(dim * contact + e, sign)
                    extreme[contact, e] = sign * shape[contact, e] * value
                    programs, iterations = programs + 1, iterations + spent
    return low[contacts], high[contacts], programs, iterations


class Cones:
    """Minimise components and their sums over {a y = b, y of each contact in its cone}."""

    def __init__(self, a: csc_array, b: Floats, m: int, dim: int) -> None:
        rows, n = a.shape
        self._n, self._shape = n, (m, dim)
        chosen = settings(_ACCURACY, _ALMOST)
        chosen.presolve_enable = False  # it would forbid changing the objective
        whole = vstack([a, -eye_array(n)], format="csc")
        cones = [clarabel.ZeroConeT(rows)] + [clarabel.SecondOrderConeT(dim)] * m
        right = np.concatenate([b, np.zeros(n)])
        nothing = csc_matrix((n, n))
        self._solver = clarabel.DefaultSolver(
            nothing, np.zeros(n), csc_matrix(whole), right, cones, chosen
        )

    def minimise(
        self, component: int | NDArray[np.intp], cost: float | Floats
    ) -> tuple[float, Floats, int]:
        """The least of Σ cost · y[component] (±inf as in `Program`), where, and the iterations."""
        q = np.zeros(self._n)
        q[component] = cost
        self._solver.update(q=q)
        found = self._solver.solve()
        y = np.array(found.x).reshape(self._shape)
        status = str(found.status)
        if status in ("Solved", "AlmostSolved"):
            return float(found.obj_val), y, found.iterations
        if status == "DualInfeasible":
            return -np.inf, y, found.iterations
        if status == "PrimalInfeasible":
            return np.inf, y, found.iterations
        raise RunError(f"Clarabel ended a conic program with {status}")
