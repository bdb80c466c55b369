"""Linear programs over one set of possible forces: HiGHS, each going on from the last one's basis.

All objectives share the constraints A x = b, x ≥ 0. The basis that is optimal for one is feasible
for the next, and the primal simplex method goes on from there: some thirty pivots instead of a
thousand. Only costs change between two programs.
"""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array

from hardgrain.errors import RunError
from hardgrain.scene.model import Floats

__all__ = ["FEASIBLE", "Program"]

FEASIBLE = 1e-9  # how far the constraints may be missed, in the unit of force


class Program:
    """Minimise linear functions over {x ≥ 0, A x = b}, one after the other."""

    def __init__(self, a: csc_array, b: Floats) -> None:
        rows, columns = a.shape
        self._solver = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("presolve", "off"),  # would forget the basis
            ("solver", "simplex"),
            ("simplex_strategy", 4),  # primal: a change of costs leaves the basis feasible
            ("threads", 1),
            ("random_seed", 1),
            ("primal_feasibility_tolerance", FEASIBLE),
            ("dual_feasibility_tolerance", FEASIBLE),
        ):
            self._solver.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, rows
        lp.col_cost_, lp.col_lower_ = np.zeros(columns), np.zeros(columns)
        lp.col_upper_ = np.full(columns, highspy.kHighsInf)
        lp.row_lower_ = lp.row_upper_ = b
        a = csc_array(a)
        a.sort_indices()
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = a.indptr, a.indices, a.data
        self._solver.passModel(lp)
        self._costly = np.zeros(0, dtype=np.int32)

    def minimise(self, columns: ArrayLike, costs: ArrayLike) -> float:
        """The least value of Σ costs x[columns]; −inf without bound, inf if there is no x."""
        h = self._solver
        h.changeColsCost(self._costly.size, self._costly, np.zeros(self._costly.size))
        self._costly = np.asarray(columns, dtype=np.int32)
        h.changeColsCost(self._costly.size, self._costly, np.asarray(costs, dtype=float))
        h.run()
        status = h.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return float(h.getInfo().objective_function_value)
        if status in (
            highspy.HighsModelStatus.kUnbounded,
            highspy.HighsModelStatus.kUnboundedOrInfeasible,
        ):
            return -np.inf
        if status == highspy.HighsModelStatus.kInfeasible:
            return np.inf
        raise RunError(f"HiGHS ended a linear program with {h.modelStatusToString(status)}")

    @property
    def x(self) -> Floats:
        """Where the last minimum was found."""
        return np.array(self._solver.getSolution().col_value)

    @property
    def reduced_costs(self) -> Floats:
        """Of the last minimum: how much it would rise with each variable."""
        return np.array(self._solver.getSolution().col_dual)

    @property
    def pivots(self) -> int:
        """Of the last program."""
        return int(self._solver.getInfo().simplex_iteration_count)
