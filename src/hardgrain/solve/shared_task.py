"""A step whose contacts several processes may have, as the rigid solver sees it.

Sweeps, in tiles, and gradients are made by all processes, each for its own grains. All that needs
factors is made by the first process, while the others wait: it is told of the whole step, finds
impulses as a single process does, and hands them out. One process that sweeps in tiles goes the
same way, with itself, so that no bit shows how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.exact import DIGITS, rounded_all
from hardgrain.solve.gradient import at_rest
from hardgrain.solve.gradient_shared import SharedDescent, add_squares
from hardgrain.solve.iterative import sharing
from hardgrain.solve.problem import Floats, Problem
from hardgrain.solve.response import CONTACT, FLOPS
from hardgrain.solve.task import STILL, StepTask

__all__ = ["Around", "Gathered", "SharedTask"]

# [operations] What nested dissection takes: so much times m^(3/2) for m contacts in 2D, m² in 3D
# (George; Lipton, Rose and Tarjan). Measured for grids of 300 to 16,000 grains, moved at random,
# with four and six contacts each: 87 to 101 and 71 to 80. To count them would need all contacts in
# one process. If it is far from the truth, sweeps end too early or too late.
DISSECTION = {2: (90.0, 1.5), 3: (75.0, 2.0)}


class Around(NamedTuple):
    """The contacts that touch grains of a process."""

    problem: Problem
    own: NDArray[np.bool_]  # (m,) those that are counted here
    row: NDArray[np.int64]  # (nb,) bodies as rows of the whole run
    shared: NDArray[np.bool_]  # (nb,) bodies that lie in no tile
    told: Callable[[Floats], Floats]  # of those that are counted here, in each process; of these


class Gathered(NamedTuple):
    """The contacts of all processes, in the first one; the others have no problem."""

    problem: Problem | None
    gather: Callable[[Floats], Any]  # rows of each process's contacts; of all, in the first one
    deal: Callable[[Any], Floats]  # its inverse


class SharedTask(StepTask):
    """The same members as `StepTask`; impulses are of the contacts of this process."""

    tiles = True

    def __init__(self, problem: Problem) -> None:
        self.problem, self.dim, self.start = problem, problem.dim, problem.side_by_side
        self.others = problem.others
        self.resisted = bool(self.others.any(problem.resists))
        self.contacts = int(self.others.total(np.int64(problem.first.size)))
        moves = np.any(problem.inv_mass, axis=1) & self.others.own(len(problem.position))
        speeds = problem.velocity_before, problem.velocity
        before, free = (self._square(v, moves) for v in speeds)
        self.still = bool(before <= STILL**2 * free)

    def _square(self, values: Floats, own: Any) -> float:
        sums = np.zeros((1, DIGITS), np.int64)
        add_squares(values, own, sums)
        return float(rounded_all(self.others.total(sums))[0])

    @property
    def cost(self) -> float:
        number, power = DISSECTION[self.dim]
        flops: float = number * float(self.contacts) ** power
        return flops / FLOPS + CONTACT * self.contacts

    @property
    def loaded(self) -> bool:
        return bool(self.others.any(self.start.any()))

    def descended(
        self, impulse: Floats | None, tolerance: float, most: int
    ) -> tuple[Floats, float, int]:
        near = self._around
        descent = SharedDescent(near.problem, near.own, near.row, near.shared)
        start = descent.start
        if impulse is not None:
            pushes = near.told(impulse)[:, : self.dim]  # gradients know of no torques
            start = descent.frame.components(pushes).reshape(start.shape)
        r, found, number = at_rest(descent, start, tolerance, most)
        pushes = descent.impulses(r)[near.own]
        return np.concatenate([pushes, np.zeros_like(self.problem.torque)], axis=1), found, number

    @property
    def _around(self) -> Around:
        """The contacts that touch grains of this process."""
        p = self.problem
        if self.others.size > 1:
            found: Around = self.others.around(p)
            return found
        row = np.arange(len(p.position))
        return Around(p, np.ones(p.first.size, np.bool_), row, sharing(p)[0], lambda rows: rows)

    # ------------------------------------------------------------------ in the first process
    @cached_property
    def _gathered(self) -> Gathered:
        """The step as the first process is told of it."""
        if self.others.size > 1:
            found: Gathered = self.others.gathered_up(self.problem)
            return found
        return Gathered(self.problem, lambda rows: rows, lambda rows: rows)

    @cached_property
    def _first(self) -> StepTask:
        """The whole step, in the first process."""
        problem = self._gathered.problem
        assert problem is not None
        return StepTask(problem)

    def hardened(
        self, impulse: Floats, goal: float, most: float, walk: bool
    ) -> tuple[Floats, float, int]:
        every, here = self._gathered.gather(impulse), []

        def work() -> tuple[float, int]:
            found = self._first.hardened(every, goal, most, walk)
            here.append(found[0])
            return found[1:]

        found, number = self.others.on_first(work)
        return self.impulse(here[0] if here else None), found, number

    def path(self, near: Floats | None = None, *push: float, relaxed: bool = False) -> Any:
        return _Path(self, near, push, relaxed)

    def impulse(self, r: Floats | None) -> Floats:
        """Impulses of the contacts of this process; r: of all, in the first process."""
        found: Floats = self._gathered.deal(r)
        return found


class _Path:
    """A path that the first process follows; all are told how far it is."""

    def __init__(
        self, task: SharedTask, near: Floats | None, push: tuple[float, ...], relaxed: bool
    ) -> None:
        self._task, self.relaxed = task, relaxed
        every = None if near is None else task._gathered.gather(near)
        self._path: Any = None

        def begin() -> tuple[Any, ...]:
            self._path = task._first.path(every, *push, relaxed=relaxed)
            return self._now()

        task._gathered  # noqa: B018
        self._learn(begin)

    def _now(self) -> tuple[Any, ...]:
        p = self._path
        return p.ended, p.iterations, p.depth, p.violation

    def _learn(self, work: Any) -> None:
        self.ended, self.iterations, self.depth, self.violation = self._task.others.on_first(work)

    def advance(self) -> None:
        def go() -> tuple[Any, ...]:
            self._path.advance()
            return self._now()

        self._learn(go)

    @property
    def best(self) -> Floats | None:
        """The best impulses so far, in space and of all contacts, in the first process."""
        return None if self._path is None else self._task._first.impulse(self._path.best)
