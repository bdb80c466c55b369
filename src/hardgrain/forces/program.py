"""Linear programs over one set of possible forces, each starting from the last basis (HiGHS).

All objectives share the constraints A x = b, 0 ≤ x ≤ u. The basis that is optimal for one is
feasible for the next, and the primal simplex method goes on from there: some thirty pivots instead
of a thousand. Only costs change between two programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from hardgrain.core.model import Floats
from hardgrain.errors import RunError
from hardgrain.extras import later

__all__ = ["FEASIBLE", "Basis", "Program", "rays"]

# [unit of force] how far constraints may be missed; HiGHS allows no less than 1e-10
FEASIBLE = 1e-9

Basis = tuple[NDArray[np.int8], NDArray[np.int8]]  # statuses of all columns and of all rows

highspy = later("highspy")
_DONE = ("kOptimal", "kModelEmpty", "kUnbounded", "kInfeasible")


def rays(a: csc_array) -> Program:
    """The program over self-balanced weights {0 ≤ x ≤ 1, A x = 0}, at one with most of them."""
    columns = a.shape[1]
    program = Program(a, np.zeros(a.shape[0]), np.ones(columns))
    program.minimise(np.arange(columns), -np.ones(columns))
    return program


class Program:
    """Minimise linear functions over {0 ≤ x ≤ u, A x = b}, one after the other."""

    def __init__(
        self, a: csc_array, b: Floats, upper: Floats | None = None, start: Basis | None = None
    ) -> None:
        rows, columns = a.shape
        self._solver = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("presolve", "off"),  # it would forget the basis
            ("solver", "simplex"),
            # primal simplex, since a change of costs leaves the basis feasible
            ("simplex_strategy", 4),
            ("threads", 1),
            ("random_seed", 1),
            ("primal_feasibility_tolerance", FEASIBLE),
            ("dual_feasibility_tolerance", FEASIBLE),
        ):
            self._solver.setOptionValue(name, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = columns, rows
        lp.col_cost_, lp.col_lower_ = np.zeros(columns), np.zeros(columns)
        lp.col_upper_ = np.full(columns, highspy.kHighsInf) if upper is None else upper
        lp.row_lower_ = lp.row_upper_ = b
        a = csc_array(a)
        a.sort_indices()
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = a.indptr, a.indices, a.data
        self._solver.passModel(lp)
        self._costly = np.zeros(0, dtype=np.int32)
        if start is not None:
            basis = highspy.HighsBasis()
            basis.col_status, basis.row_status = (
                [highspy.HighsBasisStatus(int(i)) for i in part] for part in start
            )
            basis.valid = True
            self.basis = basis

    def minimise(self, columns: ArrayLike, costs: ArrayLike) -> float:
        """The least value of Σ costs x[columns], −inf if it has no bound, inf if there is no x."""
        h = self._solver
        h.changeColsCost(self._costly.size, self._costly, np.zeros(self._costly.size))
        self._costly = np.asarray(columns, dtype=np.int32)
        h.changeColsCost(self._costly.size, self._costly, np.asarray(costs, dtype=float))
        status = self._run()
        if status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            return float(h.getInfo().objective_function_value)
        if status == highspy.HighsModelStatus.kUnbounded:
            return -np.inf
        if status == highspy.HighsModelStatus.kInfeasible:
            return np.inf
        raise RunError(f"HiGHS ended a linear program with {h.modelStatusToString(status)}")

    def _run(self) -> Any:
        """Go on from the last basis; if that leads nowhere, once more from the beginning."""
        h = self._solver
        h.run()
        if h.getModelStatus().name not in _DONE:
            h.clearSolver()
            # dual simplex, the most reliable method of HiGHS
            h.setOptionValue("simplex_strategy", 1)
            h.setOptionValue("presolve", "on")
            h.run()
            h.setOptionValue("simplex_strategy", 4)
            h.setOptionValue("presolve", "off")
        return h.getModelStatus()

    def feasible(self) -> bool:
        """Whether there is an x at all; then ``x`` is one."""
        return self.minimise([], []) < np.inf

    def confine(self, columns: NDArray[np.bool_]) -> None:
        """Let only these variables differ from zero from now on; to undo it, name all of them."""
        upper = np.where(columns, highspy.kHighsInf, 0.0)
        every = np.arange(columns.size, dtype=np.int32)
        self._solver.changeColsBounds(columns.size, every, np.zeros(columns.size), upper)

    @property
    def x(self) -> Floats:
        """The values of the variables at the last minimum."""
        return np.array(self._solver.getSolution().col_value)

    @property
    def reduced_costs(self) -> Floats:
        """How much the last minimum would rise with each variable."""
        return np.array(self._solver.getSolution().col_dual)

    @property
    def basis(self) -> Any:
        """The basis at which the last program ended; another program can start from it."""
        return self._solver.getBasis()

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._solver.setBasis(basis)

    @property
    def end(self) -> Basis:
        """The basis as plain arrays, for another process."""
        basis = self.basis
        columns = np.array([int(s) for s in basis.col_status], dtype=np.int8)
        return columns, np.array([int(s) for s in basis.row_status], dtype=np.int8)

    @property
    def basic(self) -> NDArray[np.bool_]:
        """Which variables are in the basis of the last minimum (columns,)."""
        return np.asarray(self.end[0] == int(highspy.HighsBasisStatus.kBasic))

    @property
    def pivots(self) -> int:
        """Number of pivots of the last program."""
        return int(self._solver.getInfo().simplex_iteration_count)
