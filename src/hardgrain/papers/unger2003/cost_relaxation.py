"""A step watched while it is solved: how many sweeps a new load needs to arrive."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import PrivateAttr

from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Problem, Solution
from hardgrain.step.contact_dynamics import ContactDynamics

__all__ = ["FIXED", "MORE", "NEARLY", "TOLERANCES", "Relaxation", "WatchedSweeps", "relaxation"]

MORE = 1.1  # new load / old load
TOLERANCES = (1e-3, 1e-4, 1e-6)  # values of the residual at which sweeps are counted
SOLVED = 1e-9  # residual at which what still moves is part of the solution
NEARLY = 0.01  # share of the added load that may be missing when it has arrived
MOST = 300_000  # [sweeps] most of a step; none of the systems here needs as many
FIXED = 1000  # [sweeps] number in a step whose time is measured
LOOK = 1.03  # factor by which sweeps grow between two looks; counts are interpolated in between


Start = Literal["previous", "zero"]


@dataclass(frozen=True)
class Relaxation:
    """How the sweeps of one step went, look by look."""

    contacts: int
    sweeps: Floats  # (looks,) sweeps done so far
    residual: Floats  # (looks,)
    left: Floats  # (looks,) share of the added momentum that has not yet reached a fixed wall
    slip: (
        float  # share of it that never does, because the solution found is one in which grains slip
    )

    def when(self, measure: str, threshold: float) -> float:
        """Number of sweeps until the residual, or what is left, is down to a threshold, or NaN.

        Between two looks both decay exponentially.
        """
        y, x = np.abs(getattr(self, measure)), self.sweeps
        below = np.flatnonzero(y <= threshold)
        if below.size == 0:
            return math.nan
        k = int(below[0])
        if k == 0 or y[k] == 0.0:
            return float(x[k])
        share = math.log(y[k - 1] / threshold) / math.log(y[k - 1] / y[k])
        return float(x[k - 1] + share * (x[k] - x[k - 1]))


class WatchedSweeps(GaussSeidel):
    """Sweeps until all that is asked for has been seen, and measures now and then."""

    axis: int = -1  # axis of the load
    _seen: list[Relaxation] = PrivateAttr(default_factory=list)

    def solve(  # type: ignore[override]  # steps only
        self, problem: Problem, *, seed: int, step: int
    ) -> Solution:
        at_first = _momentum(problem, self.axis)
        done, look = 0, 0
        rows = []
        while True:
            more = max(1, round((LOOK - 1.0) * done))
            solution = GaussSeidel(sweeps=more).solve(problem, seed=seed, step=look)
            done, look = done + more, look + 1
            problem = replace(problem, impulse=solution.impulse, torque=solution.torque)
            left = _momentum(problem, self.axis) / at_first
            rows.append((done, solution.residual, left))
            arrived = abs(left) <= 0.5 * NEARLY
            if solution.residual <= (self.tolerance if arrived else SOLVED) or done >= self.sweeps:
                break
        # A solution in which something moves: friction leaves room for it, see the docstring.
        slip = left if solution.residual <= SOLVED and not arrived else 0.0
        done_at, residual, missing = np.array(rows).T
        self._seen.append(
            Relaxation(problem.first.size, done_at, residual, (missing - slip) / (1.0 - slip), slip)
        )
        return replace(solution, sweeps=done)


def _momentum(problem: Problem, axis: int) -> float:
    """Momentum of all that can move, with the impulses as they are [mass × speed]."""
    free = problem.inv_mass[:, axis] > 0.0
    p = problem.velocity[free, axis] @ (1.0 / problem.inv_mass[free, axis])
    on = free[problem.second].astype(float) - free[problem.first]
    return float(p + on @ problem.impulse[:, axis])


def relaxation(
    sim: Simulation, start: Start = "previous", axis: int = -1, tolerance: float = TOLERANCES[-1]
) -> Relaxation:
    """Solve the next step of a simulation, which itself stays as it is, and watch the sweeps.

    It ends when the residual is down to the tolerance and the load has arrived.
    """
    solver = WatchedSweeps(
        start=start, axis=axis, tolerance=tolerance, sweeps=MOST, stop="residual"
    )
    ContactDynamics(sim.model, solver, sim.dt, sim.scenario.seed).advance(sim.state.copy())
    return solver._seen[0]
