"""What all solvers share: where a step starts, and what happens if it was not solved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, overload

from hardgrain.scene._base import Positive, Spec
from hardgrain.solve.problem import Problem, Solution

if TYPE_CHECKING:
    from hardgrain.point.sweeping import Sweeping
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["MANY", "Solver"]

# [1] How often the tolerance is divided by ten until the forces balance. A residual is local, and
# five decades are as many as rounding leaves below a usual tolerance. With fewer, steps count as
# unsolved that could have been balanced; more of them only repeat what rounding forbids.
FINER = 5


# [grains] From so many on a run sweeps tile by tile unless it is told otherwise. A sweep in random
# order over so many contacts no longer finds them in a core's cache, so that tiles are as fast on
# one core, faster with each further sweep or core. Fewer grains cost more on one core in tiles.
MANY = 50_000


class Solver(Spec):
    """Finds the impulses of one step.

    ``unbalanced``: if given, a step must also leave no body with a net force above this share of
    the mean contact force. This is meant for packings at rest, where a small residual alone may
    hide a load that has not been handed on. A step that misses its criterion is counted and
    reported, and is an error with ``on_cap = "error"``.
    """

    # largest residual that a solved step may have, relative to the velocities its impulses give [1]
    tolerance: Positive
    # largest net force that may be left on a body [mean contact force]; default: no limit
    unbalanced: Positive | None = None
    # impulses that a step begins with: those of the previous step, or zero
    start: Literal["previous", "zero"] = "previous"
    # whether a step that misses its criterion is reported at the end, or ends the run
    on_cap: Literal["report", "error"] = "report"

    @property
    def criterion(self) -> str:
        """When a step counts as solved, in words."""
        raise NotImplementedError

    @property
    def q(self) -> float:
        """How fast sweeps spread information along a chain: D = q d² per sweep (43)."""
        raise NotImplementedError

    @property
    def adaptive(self) -> bool:
        """Whether a criterion, and not a fixed number, ends the sweeps of a step."""
        return True

    @property
    def leaves(self) -> float:
        """Largest residual of a step that meets the criterion; 0 if it bounds none."""
        return self.tolerance

    @property
    def at_once(self) -> bool:
        """Whether forces reach all contacts within a step, however many there are."""
        return False

    @property
    def together(self) -> bool:
        """Whether all threads share the work of each step."""
        return getattr(self, "order", "") == "tiles"

    @contextmanager
    def cores(self) -> Iterator[None]:
        """Within the context, as many threads share what is shared among threads as it says."""
        import numba

        threads, most = numba.get_num_threads(), getattr(self, "threads", None)
        try:
            numba.set_num_threads(min(most or threads, numba.config.NUMBA_NUM_THREADS))
            yield
        finally:
            numba.set_num_threads(threads)

    def suited_to(self, grains: int, device: str) -> Solver:
        """With tiles for so many grains, or for a GPU, if it has an order that nobody asked for."""
        asked = "order" in self.model_fields_set or "order" not in type(self).model_fields
        if asked or (grains < MANY and device == "cpu"):
            return self
        return self.model_copy(update={"order": "tiles"})

    def sweeping(self, dt: float, seed: int) -> Sweeping | None:
        """How it sweeps, if a step is nothing but sweeps over contacts one after the other."""
        return None

    @overload
    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution: ...

    @overload
    def solve(self, problem: GlobalForm | LocalForm, *, seed: int, step: int) -> MatrixSolution: ...

    def solve(
        self, problem: Problem | GlobalForm | LocalForm, *, seed: int, step: int
    ) -> Solution | MatrixSolution:
        """Impulses and velocities of one step, or of a problem given as matrices.

        The seed and the step decide on random orders.
        """
        solution = self._solve(problem, seed, step)
        if self.unbalanced is None or not isinstance(problem, Problem):
            return solution
        assert isinstance(solution, Solution)
        for n in range(1, FINER + 1):
            if not solution.converged or solution.unbalanced <= self.unbalanced:
                return solution
            finer = self.model_copy(update={"tolerance": self.tolerance / 10.0**n})
            again = finer._solve(replace(problem, impulse=solution.impulse), seed, step)
            assert isinstance(again, Solution)
            solution = replace(
                again,
                sweeps=again.sweeps + solution.sweeps,
                history=solution.history + again.history,
            )
        balanced = solution.unbalanced <= self.unbalanced
        return replace(solution, converged=solution.converged and balanced)

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        raise NotImplementedError
