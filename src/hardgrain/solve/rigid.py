"""The rigid solver: Signorini and Coulomb to a tight residual, at a cost that hardly outgrows n.

Gauss–Seidel hands on information from contact to contact, so that its sweeps grow like (L/d)². What
follows here solves all contacts at once where that pays, in an order that keeps the history of the
forces as long as it can:

1. **Sweeps.** In fast flow, some hundred Gauss–Seidel sweeps do, and nothing is faster. Their rate
   tells soon whether it is so.
2. **States** (`solve.newton`). If the last step's impulses nearly serve, few contacts change
   between open, sticking and sliding, and Newton's method finds them from there.
3. **Path** (`solve.path`). From scratch, and for whatever moves: the central path of the exact
   laws, a second time from another start if need be.
4. Sweeps again: they make up for the rounding of the path, and are the last resort.

Nothing is taken on trust. A step counts as converged when the residual of the contact laws
(`solve.sweep`), measured after a sweep, is within the tolerance; ``history`` tells how it came to
that, and a step that did not is reported as such with the best impulses found. All decisions are
made from numbers, never from clocks: the same input gives the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Floats, Problem, Solution, Stage
from hardgrain.solve.solver import Solver
from hardgrain.theory import chain

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution
    from hardgrain.solve.response import Response

__all__ = ["RigidSolver"]

PROBE = 30  # sweeps after which their rate is first judged
PORTION = 1000  # sweeps between later judgements, at most
LEAST = 2000  # sweeps that are always worth more than a path
CALM = 0.05  # residual after one sweep up to which the states may be nearly those of the last step
STIFF, FEW = 1e4, 12  # springs of the states, relative to 1/W; factorisations they may take
ITERATIONS = 80  # of a path
# Where paths start: near the impulses that the sweeps left, or from nowhere, and how far off.
WARM = ((True, 0.1), (False, 10.0), (True, 0.3), (False, 1.0))
COLD = ((False, 10.0), (False, 1.0), (True, 0.3), (True, 1.0))
POLISH = 300  # sweeps after a path or states


class RigidSolver(Solver):
    """Exact Coulomb friction of rigid grains, converged in every step.

    Laws: friction with one coefficient, restitution, cohesion; others are refused by name.
    ``sweeps``: Gauss–Seidel sweeps that a step which resists all else gets in the end.
    """

    kind: Literal["rigid"] = "rigid"
    tolerance: float = Field(default=1e-6, gt=0.0, lt=1.0)
    sweeps: int = Field(default=20_000, ge=1, le=1_000_000_000)

    @property
    def criterion(self) -> str:
        return f"rigid solver, tolerance {self.tolerance:g}"

    @property
    def q(self) -> float:
        return chain.Q["sequential"]

    @property
    def at_once(self) -> bool:
        return True

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        return search(self, problem, seed, step)


def search(
    solver: RigidSolver,
    problem: Problem | GlobalForm | LocalForm,
    seed: int,
    step: int,
    watch: Callable[[Any], None] | None = None,
) -> Solution | MatrixSolution:
    """The cascade; ``watch`` is shown the result of each stage that ends with sweeps."""
    task = _Step(problem) if isinstance(problem, Problem) else _Matrices(problem)
    found: Solution | MatrixSolution = _Search(solver, task, seed, step, watch).run()
    return found


class _Step:
    """A step of this package: its sweeps, and its contacts all at once."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.contacts = problem, problem.first.size
        self.start = problem.impulse

    def at(self, impulse: Floats) -> Problem:
        return replace(self.problem, impulse=impulse)

    def whole(self) -> tuple[Response, Floats, Floats]:
        """Bodies, µ and the impulses to start from in contact frames."""
        from hardgrain.solve.matrices import global_form
        from hardgrain.solve.response import Bodies

        form, self._frame = global_form(self.problem)
        assert form.start is not None
        return Bodies(self.problem, form, self._frame), form.mu, form.start

    def impulse(self, r: Floats) -> Floats:
        """As a start for sweeps."""
        return self._frame.impulse(r.ravel())

    def components(self, impulse: Floats) -> Floats:
        """The same in contact frames."""
        return self._frame.components(impulse)

    def closed(self, solution: Any) -> Any:
        return solution


class _Matrices:
    """A problem given as matrices."""

    def __init__(self, form: GlobalForm | LocalForm) -> None:
        self.form, self.local, self.contacts = form, form.local(), form.contacts
        self.start = np.zeros(self.local.q.size) if form.start is None else form.start

    def at(self, r: Floats) -> LocalForm:
        return replace(self.local, start=r)

    def whole(self) -> tuple[Response, Floats, Floats]:
        from hardgrain.solve.matrices import LocalForm
        from hardgrain.solve.response import Contacts, Sparse

        form = self.form
        bodies = Contacts(form) if isinstance(form, LocalForm) else Sparse(form)
        return bodies, form.mu, self.start

    def impulse(self, r: Floats) -> Floats:
        return r.ravel()

    def components(self, impulse: Floats) -> Floats:
        return impulse

    def closed(self, solution: MatrixSolution) -> MatrixSolution:
        """With the velocities of a global form."""
        from hardgrain.solve.matrices import GlobalForm

        form = self.form
        return replace(
            solution, v=form.velocity(solution.r) if isinstance(form, GlobalForm) else None
        )


@dataclass
class _Search:
    """One solve: what was tried, and the best so far."""

    solver: RigidSolver
    task: _Step | _Matrices
    seed: int
    step: int
    watch: Callable[[Any], None] | None
    best: Any = None
    sweeps: int = 0
    history: list[Stage] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def run(self) -> Any:
        start = self.task.start
        if self.solver.start == "zero":
            start = np.zeros_like(start)
        first = self._sweep(start, 1)
        if not self.best.converged and not self._swept(first):
            self._all_at_once(first.residual)
        if not self.best.converged:
            self._sweep(_impulse(self.best), self.solver.sweeps)
        best = replace(self.best, sweeps=self.sweeps, history=tuple(self.history))
        return self.task.closed(best)

    def _note(self, method: str, number: int, residual: float) -> None:
        seconds = time.perf_counter() - self.began
        self.history.append(Stage(method, number, float(residual), seconds))

    def _sweep(self, impulse: Floats, most: int) -> Any:
        """Gauss–Seidel from given impulses; the best of all results is kept."""
        tolerance = self.solver.tolerance
        solver = GaussSeidel(sweeps=most, stop="residual", tolerance=tolerance, order="sequential")
        found = solver.solve(self.task.at(impulse), seed=self.seed, step=self.step)
        self.sweeps += found.sweeps
        self._note("sweeps", found.sweeps, found.residual)
        if self.best is None or not found.residual >= self.best.residual:
            self.best = found
        if self.watch is not None:
            self.watch(found)
        return found

    def _swept(self, last: Any) -> bool:
        """Sweep on as long as that will end soon; whether it did."""
        portion, tolerance = PROBE, self.solver.tolerance
        while self.sweeps < self.solver.sweeps:
            found = self._sweep(_impulse(last), portion)
            if found.converged:
                return True
            fall = math.log(last.residual_rms / found.residual_rms) if found.residual_rms else 0.0
            if not fall > 0.0:
                return False
            left = found.sweeps / fall * math.log(found.residual / tolerance)
            if self.sweeps + left > 2 * LEAST:
                return False
            last, portion = found, min(2 * portion, PORTION)
        return False

    def _all_at_once(self, residual: float) -> None:
        from hardgrain.solve.newton import newton
        from hardgrain.solve.path import Path

        task, tolerance = self.task, self.solver.tolerance
        bodies, mu, start = task.whole()
        if residual < CALM and self.solver.start != "zero":
            start = start.reshape(bodies.q.shape)
            r, found, count = newton(bodies, mu, start, 0.3 * tolerance, STIFF, FEW)
            self._note("states", count, found)
            if found < self.best.residual and self._sweep(task.impulse(r), POLISH).converged:
                return
        swept = task.components(_impulse(self.best)).reshape(bodies.q.shape)
        warm = swept.any() and self.solver.start != "zero"
        for near, push in WARM if warm else COLD:
            path = Path(bodies, mu, swept if near else None, push)
            goal = max(10.0 * tolerance, 1e-5)
            while not path.ended and path.iterations < ITERATIONS:
                path.advance()
                if path.violation <= goal:
                    self._note("path", path.iterations, path.violation)
                    if self._sweep(task.impulse(path.best), POLISH).converged:
                        return
                    goal = 0.1 * path.violation
            self._note("path", path.iterations, path.violation)
            worth = path.violation < 1e2 * self.best.residual
            if worth and self._sweep(task.impulse(path.best), POLISH).converged:
                return


def _impulse(solution: Any) -> Floats:
    found: Floats = solution.impulse if isinstance(solution, Solution) else solution.r
    return found
