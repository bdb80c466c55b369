"""The rigid solver: Signorini and Coulomb to a tight residual, at a cost that hardly outgrows n.

Gauss–Seidel hands on information from contact to contact, so that its sweeps grow like (L/d)². What
follows here solves all contacts at once where that pays, in an order that keeps the history of the
forces as long as it can:

1. **Sweeps.** In fast flow, some hundred Gauss–Seidel sweeps do, and nothing is faster. Their rate
   tells soon whether they will be done before anything else would.
2. **States** (`solve.newton`). If the last step's impulses nearly serve, few contacts change
   between open, sticking and sliding, and Newton's method finds them from there.
3. **Rest.** If the grains were at rest, they may remain so. Forces that hold them, if there are
   any, solve a convex problem: by gradients (`solve.gradient`), which begin with the forces that
   were and are cheap in 3D, then by the path of the relaxed law, which never turns.
4. **Springs** (`solve.springs`). For disks that move: contacts as springs that harden, followed
   from state to state round every fold (`solve.walk`).
5. **Path** (`solve.path`). For whatever else moves: the central path of the exact laws, in space
   from up to five different starts; then, for disks, springs once more.
6. Sweeps again: after every stage they make up for its rounding, and are the last resort.

Nothing is taken on trust. A step counts as converged when the residual of the contact laws
(`solve.sweep`), measured after a sweep, is within the tolerance; ``history`` tells how it came to
that, and a step that did not is reported as such with the best impulses found. All decisions are
made from numbers, never from clocks: the same input gives the same bits.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from hardgrain.scene._base import Count, Positive
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Floats, Problem, Solution, Stage
from hardgrain.solve.solver import Solver
from hardgrain.theory import chain

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution
    from hardgrain.solve.path import Path
    from hardgrain.solve.response import Response

__all__ = ["RigidSolver"]

PROBE = 30  # sweeps after which their rate is first judged
PORTION = 1000  # sweeps between later judgements, at most
LEAST = 2000  # sweeps that are always worth more than a path
UPDATE = {2: 12e-9, 3: 40e-9}  # cost of a contact update, a nominal one: no clock is asked [s]
PATIENCE = {2: 10, 3: 30}  # factorisations that springs or a path take if all goes well
CALM = 0.05  # residual after one sweep up to which the states may be nearly those of the last step
STIFF, FEW = 1e4, 16  # springs of the states, relative to 1/W; factorisations they may take
STILL = 0.1  # speed before the step, relative to what it would become, of grains at rest
GRADIENTS = {2: 1.5, 3: 0.5}  # iterations of gradients, relative to the sweeps that cost as much
RELAXED = 45  # factorisations of a relaxed path at most
# Where paths start, disks from the first of these alone: near the impulses that the sweeps left, or
# from nowhere; how far off; how many factorisations they may take. Some are lucky and short, one
# goes all the way, and the last comes from so far that folds which stop the others lie aside.
FAR = (False, 100.0, 250)
WARM = ((True, 0.1, 60), (False, 10.0, 250), (True, 0.3, 60), (False, 1.0, 100), FAR)
COLD = ((False, 10.0, 45), (True, 0.1, 60), (False, 1.0, 250), (True, 0.3, 60), FAR)
FIRST, AGAIN = 600, 300  # nominal time that hardening springs may take, in factorisations
DEEP, STUCK = 1e-7, 5  # products, and factorisations without progress, that end a relaxed path
POLISH = 300  # sweeps after any other stage


class RigidSolver(Solver):
    """Exact Coulomb friction of rigid grains, converged in every step.

    Laws: friction with one coefficient, restitution, cohesion; others are refused by name.
    ``sweeps``: Gauss–Seidel sweeps that a step which resists all else gets in the end.
    """

    kind: Literal["rigid"] = "rigid"
    # residual that a step may be left with, relative to what its impulses give [1]
    tolerance: Annotated[Positive, Field(lt=1.0)] = 1e-6
    # Gauss–Seidel sweeps for a step that resists all else, at most [1]
    sweeps: Annotated[Count, Field(le=1_000_000_000)] = 50_000

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
        self.problem, self.contacts, self.dim = problem, problem.first.size, problem.dim
        self.start = problem.impulse
        n = problem.radius.size
        before, free = problem.velocity_before[:n], problem.velocity[:n]
        self.still = _rms(before) <= STILL * _rms(free)

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
        self.dim, self.still = form.dim, True  # nobody tells
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
    calm: bool = False  # the last step's impulses nearly serve
    history: list[Stage] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def run(self) -> Any:
        start = self.task.start
        if self.solver.start == "zero":
            start = np.zeros_like(start)
        first = self._sweep(start, 1)
        if not self.best.converged and not self._swept(first):
            stages = (
                self._states(first.residual), self._rest(), self._springs(FIRST), self._paths(),
                self._springs(AGAIN),
            )  # fmt: skip
            for _ in itertools.chain(*stages):
                if self.best.converged:
                    break
        if not self.best.converged:
            self._sweep(_impulse(self.best), self.solver.sweeps)
        best = replace(self.best, sweeps=self.sweeps, history=tuple(self.history))
        return self.task.closed(best)

    @cached_property
    def _whole(self) -> tuple[Response, Floats, Floats]:
        """Bodies, µ, and the impulses of the last step (m, dim)."""
        bodies, mu, start = self.task.whole()
        return bodies, mu, start.reshape(bodies.q.shape)

    @property
    def _disks(self) -> bool:
        """Whether contacts can be followed from state to state."""
        return self.task.dim == 2 and isinstance(self.task, _Step)

    @property
    def _patience(self) -> float:
        """Sweeps that cost as much as what would take their place."""
        update = UPDATE[self.task.dim] * self.task.contacts
        return max(LEAST, PATIENCE[self.task.dim] * self._whole[0].cost / update)

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
            in_all = self.sweeps + found.sweeps / fall * math.log(found.residual / tolerance)
            if in_all > LEAST and in_all > self._patience:
                return False
            last, portion = found, min(2 * portion, PORTION)
        return False

    def _states(self, residual: float) -> Iterator[None]:
        """From the states of the last step."""
        from hardgrain.solve.newton import newton

        self.calm = residual <= CALM and self.solver.start != "zero"
        if not self.calm:
            return
        bodies, mu, start = self._whole
        r, found, number = newton(bodies, mu, start, 0.3 * self.solver.tolerance, STIFF, FEW)
        self._note("states", number, found)
        self._polish(r, found)
        yield

    def _rest(self) -> Iterator[None]:
        """Forces that hold all grains where they are, if there are any."""
        from hardgrain.solve.gradient import at_rest
        from hardgrain.solve.path import Path
        from hardgrain.solve.response import Bodies

        if not self.task.still:
            return
        bodies, mu, start = self._whole
        cold = self.solver.start == "zero" or not start.any()
        most = int(GRADIENTS[self.task.dim] * self._patience)
        if isinstance(bodies, Bodies) and not (cold and self.task.dim == 2):
            start = self._swept_so_far if cold else start
            r, found, number = at_rest(bodies, mu, start, self.solver.tolerance, most)
            self._note("gradients", number, found)
            self._polish(r, found)
            yield
        yield from self._follow(Path(bodies, mu, relaxed=True), RELAXED)

    def _springs(self, patience: int) -> Iterator[None]:
        """From soft contacts to rigid ones, between disks."""
        from hardgrain.solve.response import Bodies
        from hardgrain.solve.springs import harden

        if not self._disks:
            return
        bodies, mu, _ = self._whole
        assert isinstance(bodies, Bodies)
        goal, most = 0.3 * self.solver.tolerance, patience * bodies.cost
        r, found, number = harden(bodies, mu, self._swept_so_far, goal, most)
        self._note("springs", number, found)
        self._polish(r, found)
        yield

    def _paths(self) -> Iterator[None]:
        """The exact laws, from several starts."""
        from hardgrain.solve.path import Path

        bodies, mu, _ = self._whole
        swept = self._swept_so_far
        starts = WARM if self.calm else COLD
        for near, push, most in starts[: 1 if self._disks else None]:
            yield from self._follow(Path(bodies, mu, swept if near else None, push), most)

    def _follow(self, path: Path, most: int) -> Iterator[None]:
        goal = 0.3 * self.solver.tolerance  # a wave hides most of its error from the violation
        last, stuck = math.inf, 0
        while not path.ended and path.iterations < most and stuck < STUCK:
            path.advance()
            if path.relaxed and path.depth < DEEP:  # no further down: something slides
                stuck = 0 if path.violation < 0.9 * last else stuck + 1
                last = path.violation
            if path.violation <= goal:
                self._note("path", path.iterations, path.violation)
                self._polish(path.best, path.violation)
                yield
                goal = 0.1 * path.violation
        self._note("path", path.iterations, path.violation)
        self._polish(path.best, path.violation)
        yield

    def _polish(self, r: Floats, found: float) -> None:
        """Sweeps that make up for rounding, where there is hope."""
        if found < 1e2 * self.best.residual:
            self._sweep(self.task.impulse(r), POLISH)

    @property
    def _swept_so_far(self) -> Floats:
        """The best impulses so far (m, dim)."""
        bodies = self._whole[0]
        return self.task.components(_impulse(self.best)).reshape(bodies.q.shape)


def _impulse(solution: Any) -> Floats:
    found: Floats = solution.impulse if isinstance(solution, Solution) else solution.r
    return found


def _rms(v: Floats) -> float:
    return math.sqrt(float(np.mean(v * v)))
