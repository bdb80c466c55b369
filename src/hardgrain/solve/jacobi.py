"""The parallel update: every contact answers the same velocities, then all impulses change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from hardgrain.scene._base import Positive
from hardgrain.solve.iterative import IterativeSolver, relax
from hardgrain.solve.problem import Problem, Solution
from hardgrain.theory import chain

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["Jacobi"]


class Jacobi(IterativeSolver):
    """The parallel update, kept for study: unstable in packings if ``relaxation`` is large."""

    kind: Literal["jacobi"] = "jacobi"
    # share of each correction that is applied in a sweep [1]
    relaxation: Annotated[Positive, Field(le=1.0)] = 0.3

    @property
    def q(self) -> float:
        return self.relaxation * chain.Q["parallel"]

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        return relax(self, problem, seed, step, relaxation=self.relaxation)
