"""A step on a GPU as the rigid solver sees it: sweeps and gradients there, the rest on the host.

Sweeps visit tiles in an order that is drawn anew for each (`cuda.sweeping`), and gradients are
those of `cuda.gradient`. If neither reaches the tolerance, bodies and contacts come to the host,
whose stages go on; what they find is swept on the device once more, and judged there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from hardgrain.cuda import arrays
from hardgrain.cuda.api import host, xp
from hardgrain.cuda.gradient import PULL, Gradients
from hardgrain.cuda.stepper import Stepper
from hardgrain.point.stopping import RESIDUAL, Until
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.gradient import Descent, at_rest
from hardgrain.solve.iterative import sweeping
from hardgrain.solve.problem import Floats, Problem, Stage
from hardgrain.solve.solver import Solver
from hardgrain.solve.task import STILL, StepTask

__all__ = ["DeviceTask"]

# [sweeps] What sweeps may take at most where grains move, before bodies and contacts come to the
# host: 10⁶ spheres need eleven seconds for it. Fewer leave steps to the host that sweeps would have
# solved; more of them make steps late that the host will have to solve. Where grains were at rest
# gradients are tried first, as soon as sweeps are slow: they take about as long, and fewer of them.
SWEEPS = 20_000
# [iterations] What gradients may take at most; see `solve.gradient` on when they give up.
GRADIENTS = 20_000


@dataclass(frozen=True)
class Swept:
    """What sweeps led to; velocities stay on the device."""

    r: Any  # (m, dim) impulses, on the device
    sweeps: int
    converged: bool
    residual: float
    residual_rms: float
    history: tuple[Stage, ...] = ()


class DeviceTask(StepTask):
    """The contacts that a stepper has found, and the impulses that they begin with."""

    tiles = True
    resisted = False  # relative spins, which `step.device_dynamics` refuses

    def __init__(self, stepper: Stepper, problem: Callable[[], Problem]) -> None:
        self._own, self._problem = stepper, problem
        self.contacts, self.dim = stepper.candidates, stepper.model.dim
        self.start = stepper.held.impulse[: self.contacts].copy()
        self._last: Any = None  # impulses that the velocities on the device belong to

    @cached_property
    def problem(self) -> Problem:  # type: ignore[override]
        """The step as the host sees it."""
        return self._problem()

    @cached_property
    def still(self) -> bool:  # type: ignore[override]
        b, s = self._own.bodies, self._own.search
        moves = host(b.inv_mass).any(axis=1)
        before, free = host(b.velocity)[moves], host(s.free_velocity)[moves]
        return bool(np.linalg.norm(before) <= STILL * np.linalg.norm(free))

    @property
    def loaded(self) -> bool:
        return bool(self.start.any())

    def worth(self, factorisations: float, update: float) -> float:
        return 0.0 if self.still else SWEEPS

    def impulse(self, r: Floats) -> Any:
        return xp.asarray(super().impulse(r)[:, : self.dim])

    def components(self, impulse: Any) -> Floats:
        return super().components(host(impulse))

    # ------------------------------------------------------------------ on the device
    def swept(self, solver: Solver, impulse: Any, seed: int, step: int) -> Swept:
        """What sweeps from given impulses lead to."""
        assert isinstance(solver, GaussSeidel)
        until = sweeping(solver, "random", seed, self._own.dt).until
        return self._relaxed(impulse, until, seed)

    def descended(self, impulse: Any, tolerance: float, most: int) -> tuple[Any, float, int] | None:
        descent = DeviceDescent(self._own, self._residual)
        start = self.start if impulse is None else impulse
        r, found, number = at_rest(descent, start, tolerance, max(most, GRADIENTS))
        return descent.pushes(r), found, number

    def closed(self, solution: Swept) -> Swept:
        """The solution, which the device now has."""
        if solution.r is not self._last:
            self._residual(solution.r)
        self._own.search.numbers[arrays.MET] = int(solution.converged)
        return solution

    def _residual(self, impulse: Any) -> float:
        """How far impulses are from the laws."""
        return self._relaxed(impulse, Until(RESIDUAL, 0, 0.0, 0.0, 0.0)).residual

    def _relaxed(self, impulse: Any, until: Until, seed: int = 0) -> Swept:
        """Begin with impulses, and sweep until a rule is met."""
        seen, residual, rms = self._own.relaxed(impulse, until, seed)
        self._last = self._own.held.impulse[: self.contacts].copy()
        met = residual <= until.tolerance
        return Swept(self._last, int(seen[arrays.SWEPT]), met, residual, rms)


@cache
def kernels() -> Gradients:
    """The kernels of gradients, which are compiled when they are first needed."""
    return Gradients()


class DeviceDescent(Descent):
    """Gradients on the device, as `solve.gradient.at_rest` asks for them."""

    def __init__(self, stepper: Stepper, residual: Callable[[Any], float]) -> None:
        self._own, self._residual = stepper, residual
        self._kernels = kernels()

    def begin(self, start: Any) -> Any:
        """Impulses to start from, with the velocities they give."""
        own, model = self._own, self._own.model
        own.held.impulse[: len(start)] = start
        laws = own.laws, own.dt, model.remove_overlaps
        self._rest = self._kernels.begin(own.bodies, own.search, own.held, len(start), laws)
        return self._rest

    def go_on(self, iterate: Any, theta: float, iterations: int) -> float:
        """Make iterations; the device keeps θ."""
        self._kernels.go_on(self._own.search, self._own.held, iterate, iterations)
        return theta

    def violation(self, r: Any) -> float:
        """How far impulses are from the true law, seen by the sweeps."""
        return self._residual(self.pushes(r))

    def pushes(self, r: Any) -> Any:
        """Impulses without what cohesion adds to them."""
        return r - self._rest.c[:, PULL, None] * self._own.held.normal[: len(r)]
