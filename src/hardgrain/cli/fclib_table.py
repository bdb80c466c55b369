"""How the residual of a contact problem falls while it is solved, as a table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hardgrain.core.model import Floats
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["ResidualTable", "solve_at_once", "solve_by_sweeps"]

LOOK = 1.2  # factor by which sweeps grow between two looks at the residual, each as dear as a sweep
PATIENCE = 0.5  # [s] longest time between two looks, so that Ctrl-C is answered
DIVERGED = 1e3  # [residual of zero impulses] a larger residual never falls again
SPACED = 1.4  # factor between the times of two rows of the table
TIGHTER = 4  # how often the rigid solver is asked for more if its own criterion was too weak


class _Row(NamedTuple):
    """One look at the residual."""

    seconds: float
    sweeps: int
    residual: float


class _Reached(Exception):
    """Raised when the tolerance is reached, whatever the solver's own criterion says."""


class ResidualTable:
    """Residual over time, printed as it comes, with the best solution so far.

    Time is counted without compiling. Rows are printed at times that grow by a factor.
    """

    def __init__(self, form: GlobalForm | LocalForm, tolerance: float, *, quiet: bool) -> None:
        self.form, self.tolerance, self.quiet = form, tolerance, quiet
        self.rows: list[_Row] = []
        self.best = math.inf
        self.solution: MatrixSolution | None = None
        self.interrupted = False
        self._shown = -1.0

    def fill(self, solve: Callable[[], None]) -> None:
        """Solve until the tolerance is reached, the solver ends, or Ctrl-C."""
        if not self.quiet:
            print(f"{'seconds':>11}  {'sweeps':>9}  {'residual':>9}")
        try:
            solve()
        except _Reached:
            pass
        except KeyboardInterrupt:
            if not self.rows:
                raise
            self.interrupted = True
        if self._shown < self.rows[-1].seconds:
            self._show(self.rows[-1])

    def begin(self) -> None:
        """Start the clock, and look at zero impulses."""
        self._start = _now()
        self._look(self.form.local().q * 0.0, 0)

    def look(self, found: MatrixSolution, sweeps: int) -> float:
        """Take note of the residual of a solution found after so many sweeps in all."""
        residual = self._look(found.r, sweeps)
        if residual < self.best:
            self.best, self.solution = residual, _complete(self.form, found, sweeps)
        if residual <= self.tolerance:
            raise _Reached
        return residual

    @property
    def runaway(self) -> bool:
        return not self.rows[-1].residual < DIVERGED * self.rows[0].residual

    def verdict(self) -> str:
        last = self.rows[-1]
        after = f"after {last.sweeps} sweeps, {last.seconds:.3g} s"
        if self.runaway and self.best > self.tolerance:
            return f"diverged:    residual {last.residual:.2e} {after}"
        got = f"residual {self.best:.2e} {after}"
        if self.best <= self.tolerance:
            return f"reached:     {got}"
        word = "interrupted:" if self.interrupted else "not reached:"
        return f"{word:<12} {got}, {self.best / self.tolerance:.2g} times the tolerance"

    def _look(self, r: Floats, sweeps: int) -> float:
        from hardgrain.solve.matrices import coulomb_residual

        residual = coulomb_residual(self.form, r)
        row = _Row(max(_now() - self._start, 0.0), sweeps, residual)
        self.rows.append(row)
        if row.seconds >= SPACED * self._shown:
            self._show(row)
        return residual

    def _show(self, row: _Row) -> None:
        self._shown = row.seconds
        if not self.quiet:
            print(f"{row.seconds:>11.4f}  {row.sweeps:>9}  {row.residual:>9.2e}", flush=True)


def _now() -> float:
    """The time without that spent on compiling [s]."""
    from hardgrain.kernels import compile_seconds

    return time.perf_counter() - compile_seconds()


def _complete(form: GlobalForm | LocalForm, found: MatrixSolution, sweeps: int) -> MatrixSolution:
    """A solution completed with the velocities that the form has."""
    from hardgrain.solve.matrices import GlobalForm

    v = form.velocity(found.r) if isinstance(form, GlobalForm) else None
    return replace(found, v=v, sweeps=sweeps)


def solve_by_sweeps(table: ResidualTable, kind: str, sweeps: int, seed: int) -> None:
    """Sweep, and look at the residual at growing intervals."""
    from hardgrain.solve.gauss_seidel import GaussSeidel
    from hardgrain.solve.jacobi import Jacobi

    solver = GaussSeidel if kind == "gauss-seidel" else Jacobi
    # so that the kernels are compiled
    solver(sweeps=1).solve(_one_contact(table.form.dim), seed=seed, step=0)
    table.begin()
    problem, done, looks, more = table.form.local(), 0, 0, 1
    while done < sweeps:
        more = min(more, sweeps - done)
        found = solver(sweeps=more).solve(problem, seed=seed, step=looks)
        problem, done, looks = replace(problem, start=found.r), done + more, looks + 1
        table.look(found, done)
        if table.runaway:
            return
        rate = done / max(table.rows[-1].seconds, 1e-9)
        more = max(1, min(math.ceil((LOOK - 1.0) * done), int(PATIENCE * rate)))


def solve_at_once(table: ResidualTable, sweeps: int | None, seed: int) -> None:
    """Use the rigid solver, again with a tighter tolerance if its criterion was met too early."""
    from hardgrain.solve.matrices import MatrixSolution
    from hardgrain.solve.rigid import RigidSolver, search

    solver = RigidSolver() if sweeps is None else RigidSolver(sweeps=sweeps)
    # so that the kernels are compiled
    solver.solve(_one_contact(table.form.dim), seed=seed, step=0)
    table.begin()
    form, aim, done = table.form, min(table.tolerance, 0.1), 0

    def watch(found: MatrixSolution) -> None:
        nonlocal done
        done += found.sweeps
        table.look(found, done)

    for attempt in range(TIGHTER):
        best = table.best
        found = search(solver.model_copy(update={"tolerance": aim}), form, seed, attempt, watch)
        assert isinstance(found, MatrixSolution)
        if not found.converged or not table.best < 0.9 * best:
            return
        form = replace(form, start=found.r)
        aim *= min(0.1, 0.3 * table.tolerance / table.best)


def _one_contact(dim: int) -> GlobalForm:
    """A grain that falls on a plane."""
    import numpy as np
    from scipy.sparse import csc_array, csr_array, eye_array

    from hardgrain.solve.matrices import GlobalForm

    one = eye_array(dim)
    fall = -np.eye(dim)[0]
    return GlobalForm(dim, csc_array(one), csr_array(one), fall, 0.0 * fall, np.array([0.5]))
