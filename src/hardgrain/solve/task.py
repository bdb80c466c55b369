"""What the stages of the rigid solver work on: a step of this package, or a problem as matrices.

Both are seen in two ways. Sweeps take the problem as it was given, with other impulses to start
from; methods for all contacts at once take the response of the bodies and impulses in contact
frames.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.cell import PLACES
from hardgrain.solve.problem import Floats, Problem, Solution

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution
    from hardgrain.solve.response import Response
    from hardgrain.solve.solver import Solver

__all__ = ["STILL", "MatrixTask", "StepTask", "Task", "impulse_of"]

# [1] Grains count as having been at rest if their rms speed before the step is below this share of
# what it would become without contacts. If it is larger, the relaxed law is tried on flows, where
# it is wrong and costs time; if it is smaller, packings that still creep miss the cheapest method.
STILL = 0.1


class Task:
    """What both kinds of task share: the methods for all contacts at once, by impulses."""

    tiles = False  # whether sweeps are in tiles
    resisted = False  # whether any contact resists relative spins
    contacts: int

    def at(self, impulse: Any) -> Any:
        """The problem as sweeps take it, with other impulses to start from."""
        raise NotImplementedError

    def swept(self, solver: Solver, impulse: Any, seed: int, step: int) -> Any:
        """What sweeps from given impulses lead to."""
        return solver.solve(self.at(impulse), seed=seed, step=step)

    def worth(self, factorisations: float, update: float) -> float:
        """The number of sweeps that cost as much as these; update: time of one contact [s]."""
        return factorisations * self.cost / (update * self.contacts)

    @cached_property
    def _whole(self) -> tuple[Response, Floats, Floats]:
        """The response of the bodies, µ, and the impulses to start from, shape (m, dim)."""
        bodies, mu, start = self.whole()
        return bodies, mu, start.reshape(bodies.q.shape)

    @property
    def cost(self) -> float:
        """Nominal time of an iteration with one factorisation [s]."""
        return self._whole[0].cost

    @property
    def loaded(self) -> bool:
        """Whether there are impulses to start from."""
        return bool(self._whole[2].any())

    def descended(
        self, impulse: Floats | None, tolerance: float, most: int
    ) -> tuple[Floats, float, int] | None:
        """What gradients find from given impulses or from the last step's; None: there are none."""
        from hardgrain.solve.gradient import Descent, at_rest
        from hardgrain.solve.response import BodyResponse

        bodies, mu, start = self._whole
        if not isinstance(bodies, BodyResponse):
            return None
        if impulse is not None:
            start = self._components(impulse)
        r, found, number = at_rest(Descent(bodies, mu), start, tolerance, most)
        return self.impulse(r), found, number

    def hardened(
        self, impulse: Floats, goal: float, most: float, walk: bool
    ) -> tuple[Floats, float, int]:
        """What springs that harden find from given impulses, see `solve.hardening`."""
        from hardgrain.solve.hardening import harden

        bodies, mu, _ = self._whole
        r, found, number = harden(bodies, mu, self._components(impulse), goal, most, walk=walk)
        return self.impulse(r), found, number

    def path(self, near: Floats | None = None, *push: float, relaxed: bool = False) -> Any:
        """A `solve.path.Path`; near: impulses to start from."""
        from hardgrain.solve.path import Path

        bodies, mu, _ = self._whole
        around = None if near is None else self._components(near)
        return Path(bodies, mu, around, *push, relaxed=relaxed)

    def _components(self, impulse: Floats) -> Floats:
        """Impulses as sweeps give them, in contact frames, shape (m, dim)."""
        return self.components(impulse).reshape(self._whole[0].q.shape)

    def whole(self) -> tuple[Response, Floats, Floats]:
        raise NotImplementedError

    def impulse(self, r: Floats) -> Floats:
        raise NotImplementedError

    def components(self, impulse: Floats) -> Floats:
        raise NotImplementedError


class StepTask(Task):
    """A step of this package, as sweeps need it and as methods for all contacts at once need it.

    Sweeps start from impulses and torque impulses side by side, shape (m, dim + ns).
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.contacts, self.dim = problem, problem.first.size, problem.dim
        self.resisted, self.start = problem.resists, problem.side_by_side
        before = moving_in_space(problem, problem.velocity_before, problem.spin_before)
        free = moving_in_space(problem, problem.velocity, problem.spin)
        self.still = bool(np.linalg.norm(before) <= STILL * np.linalg.norm(free))

    def at(self, impulse: Floats) -> Problem:
        push, torque = (x.copy() for x in np.split(impulse, [self.dim], axis=1))
        return replace(self.problem, impulse=push, torque=torque)

    def whole(self) -> tuple[Response, Floats, Floats]:
        """The response of the bodies, µ, and the impulses to start from in contact frames."""
        from hardgrain.solve.assembly import step_form
        from hardgrain.solve.response import BodyResponse

        form, self._frame = step_form(self.problem)
        return BodyResponse(self.problem, form, self._frame), form.mu, form.start

    def impulse(self, r: Floats) -> Floats:
        """Impulses given in contact frames, as sweeps start from them."""
        flat = r.ravel()
        return np.concatenate([self._frame.impulse(flat), self._frame.torque(flat)], axis=1)

    def components(self, impulse: Floats) -> Floats:
        """Impulses as sweeps give them, in contact frames."""
        push, torque = np.split(impulse, [self.dim], axis=1)
        return self._frame.components(push, torque)

    def closed(self, solution: Any) -> Any:
        """The solution as the caller gets it."""
        return solution


def moving_in_space(problem: Problem, velocity: Floats, spin: Floats) -> Floats:
    """Velocities of what can move: c + L x, with the cell's L, where the cell deforms."""
    moves: NDArray[np.bool_] = np.any(problem.inv_mass, axis=1)
    if not problem.grains:
        return velocity[moves]
    moves[problem.grains :] = False
    own = np.concatenate([velocity[-1], spin[-1]])
    v, x = velocity[moves], problem.position[moves]
    for (a, b), rate in zip(PLACES[problem.dim], own, strict=True):
        v[:, a] += rate * (x[:, b] - x[:, b].mean())
    return v


class MatrixTask(Task):
    """A problem given as matrices, with the same members as `StepTask`."""

    def __init__(self, form: GlobalForm | LocalForm) -> None:
        self.form, self.local, self.contacts = form, form.local(), form.contacts
        self.dim = form.dim
        self.still = True  # matrices hold no velocities before the step, so rest is worth a try
        self.start = np.zeros(self.local.q.size) if form.start is None else form.start

    def at(self, r: Floats) -> LocalForm:
        return replace(self.local, start=r)

    def whole(self) -> tuple[Response, Floats, Floats]:
        from hardgrain.solve.matrices import LocalForm
        from hardgrain.solve.response import ContactResponse, SparseResponse

        form = self.form
        bodies = ContactResponse(form) if isinstance(form, LocalForm) else SparseResponse(form)
        return bodies, form.mu, self.start

    def impulse(self, r: Floats) -> Floats:
        return r.ravel()

    def components(self, impulse: Floats) -> Floats:
        return impulse

    def closed(self, solution: MatrixSolution) -> MatrixSolution:
        """The solution as the caller gets it: with the velocities, if the form is global."""
        from hardgrain.solve.matrices import GlobalForm

        form = self.form
        return replace(
            solution, v=form.velocity(solution.r) if isinstance(form, GlobalForm) else None
        )


def impulse_of(solution: Any) -> Floats:
    """The impulses that sweeps found, as `at` takes them: those of a step with their torques."""
    if isinstance(solution, Solution):
        return np.concatenate([solution.impulse, solution.torque], axis=1)
    found: Floats = solution.r
    return found
