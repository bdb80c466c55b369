"""The rigid solver: Signorini and Coulomb to a tight residual, at a cost that hardly outgrows n.

Gauss–Seidel hands on information from contact to contact, so that the number of its sweeps grows
like (L/d)². The rigid solver solves all contacts at once where that pays. It tries six stages, in
an order that keeps the history of the forces for as long as possible:

1. **Sweeps.** In fast flow some hundred Gauss–Seidel sweeps are enough, and nothing is faster. The
   rate at which they converge soon tells whether they will finish before anything else would.
2. **Rest.** If the grains were at rest, they may remain so. Forces that hold them, if there are
   any, solve a convex problem. It is tried first by gradients (`solve.gradient`), which begin with
   the forces of the last step and are cheap in 3D, and then by the path of the relaxed law, which
   never folds.
3. **Walk.** This is for disks: contacts become springs that harden (`solve.hardening`), and their
   solution is followed from state to state round every fold (`solve.piecewise`). A short walk is
   followed by more sweeps and a long walk. Both begin with the best impulses so far.
4. **Springs.** For spheres, and disks that walks do not solve: after more sweeps the same springs,
   each time solved by Newton's method (`solve.newton`).
5. **Path** (`solve.path`). The central path of the exact laws, from up to five different starts.
6. **Sweeps again.** A few remove the rounding errors of every stage, and many in random order,
   which cannot cycle as those in a fixed order can, are the last resort.

Where a law resists rolling or torsion, sweeps and springs are all that is tried: springs take the
torques as further impulses of a contact (`solve.springs`), and the others do not know of them.

No stage is trusted. A step counts as converged when the residual of the contact laws
(`point.residual`), measured after a sweep, is within the tolerance. ``history`` lists the stages
that were tried, and a step that did not converge is reported as such, with the best impulses found.
All decisions are made from numbers and never from clocks, so the same input gives the same bits.
"""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from hardgrain.scene._base import Count, Positive
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.problem import Floats, Problem, Solution, Stage
from hardgrain.solve.solver import Solver
from hardgrain.solve.task import MatrixTask, StepTask, Task, impulse_of
from hardgrain.theory import chain

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["STAGES", "RigidSolver"]

Order = Literal["sequential", "random"]

_log = logging.getLogger(__name__)

# All constants below decide only which method is tried, and for how long. None of them can make a
# wrong result pass: that is judged by the residual alone. A poor value costs time, or leaves a step
# unsolved that another value would have solved. Changing one changes the bits of a run.

# [sweeps] The rate of convergence is judged first after this many sweeps. With fewer, the quick
# start of Gauss–Seidel is mistaken for its rate, and sweeps go on that will never end; with more,
# steps that need another method waste them.
PROBE = 30
# [sweeps] Portions double up to this size between later judgements. Larger ones notice late that
# convergence has slowed down; smaller ones spend time on measuring the residual.
PORTION = 1000
# [sweeps] If sweeps will finish within this number, they always go on: they keep the history of the
# forces better than any other method. A larger number keeps it more often and takes more time.
LEAST = 2000
# [s] Nominal time of one contact update, by dimension. Real clocks would make decisions, and so the
# bits of a run, depend on the machine. If it is far from the truth, sweeps end too early or too
# late.
UPDATE = {2: 12e-9, 3: 40e-9}
# [factorisations] What a walk (2D) or springs (3D) take if all goes well: the price against which
# sweeps are weighed. If it is too small, sweeps that were nearly done are given up; if it is too
# large, slow sweeps go on.
PATIENCE = {2: 10, 3: 30}
# [1] Iterations of gradients, relative to the sweeps that would cost as much as a factorised
# method, by dimension. Factors fill up in 3D, so these sweeps are many there and half of them
# suffice. Fewer iterations give up packings that were nearly solved; more delay the next method.
GRADIENTS = {2: 1.5, 3: 0.5}
# [factorisations] What a relaxed path may take at most. It is convex and needs twenty to thirty;
# one that takes longer has no state of rest to find.
RELAXED = 45
# [1, factorisations] A relaxed path whose mean product is below DEEP, and whose violation has not
# fallen for STUCK factorisations, ends: something slides, and the relaxed law cannot say how. If it
# ends sooner, states of rest are missed; if it ends later, time is lost.
DEEP, STUCK = 1e-7, 5
# Where paths start. Each entry says whether a path starts near the best impulses so far (or from
# nowhere), how far it is pushed away from them or from zero [1, see `Path`], and how many
# factorisations it may take. The list was found by trial: short attempts, which often succeed at
# once, stand beside one long attempt that is given time to pass many folds, and the last one starts
# at such large impulses that folds which stop the others are not met. With fewer starts more steps
# end unsolved; with more, hopeless steps take longer.
STARTS = (
    (False, 10.0, 45), (True, 0.1, 60), (False, 1.0, 250), (True, 0.3, 60), (False, 100.0, 250),
)  # fmt: skip
# [factorisations] What the first walk of disks may take, and the second, after more sweeps; changes
# of state count by their nominal cost. With one walk of 600 at once, 5 of 19 steps of disks in a
# tilting box were missed and a step took 2.4 s; with two it was 1 of 30, and 1.2 s.
WALK, AGAIN = 30, 600
# [sweeps] What is swept before Newton's method is tried on springs, which finds the next ones only
# if the last are near. After 200 instead, spheres that settle took 32 and 40 factorisations in
# place of 20 and 33, and some steps were not found at all; with more, sweeps take the longer part.
EARLY = 4000
# [factorisations] What sweeps of spheres may cost before springs are tried, as long as they get on:
# in 3D these took 20 to 300 factorisations where some thousand sweeps more would have done. With
# less, slow drums take half as long again; with more, steps wait that sweeps will not solve.
ONWARD = 60
# [portions] Sweeps get on if the residual has fallen by a tenth within so many portions. They pause
# for up to three and then go on; with more, those that are stuck are noticed late.
PAUSE = 4
# [factorisations] What hardening springs may take. Steps of spheres in `benchmarks/hard_steps` that
# they solve took up to 29, and up to 76 from 4000 sweeps alone; with less such steps end unsolved,
# with more, hopeless steps take longer.
HARDENING = 300
# [factorisations] The same where relative spins are resisted and no path stands behind them. Of 11
# such steps that 300 left unsolved, 1000 solved seven; with more, hopeless steps of spheres take
# even longer (three seconds for 300).
ALONE = 1000
# [sweeps] Sweeps after every other stage. They remove its rounding errors, which are local; fewer
# may not reach the tolerance, and more would only repeat what sweeps could not do before.
POLISH = 300


# What is tried between the first sweeps and the last, in this order.
STAGES = ("rest", "walk", "springs", "path")
# Those of them that know of resistance to rolling and torsion.
TURNING = ("springs",)


class RigidSolver(Solver):
    """Exact Coulomb friction of rigid grains, converged in every step.

    Laws: friction with one coefficient, restitution, cohesion, rolling and torsional resistance;
    friction_dynamic below friction is refused, since such a step may have no solution.
    ``sweeps``: the most Gauss–Seidel sweeps for a step that no other method could solve.
    ``order``: of the sweeps; by default ``sequential``, and ``tiles`` if a run has 50 000 grains or
    more or is made on a GPU. With ``tiles``, sweeps run on ``threads`` cores (default: all), with
    the same bits for any number of them, and several processes can share a run
    (`solve.shared_task`). Problems given as matrices know no space; there it means ``sequential``.
    """

    kind: Literal["rigid"] = "rigid"
    # largest residual that a solved step may have, relative to the velocities its impulses give [1]
    tolerance: Annotated[Positive, Field(lt=1.0)] = 1e-6
    # the most Gauss–Seidel sweeps for a step that no other method could solve [1]
    sweeps: Annotated[Count, Field(le=1_000_000_000)] = 50_000
    # in which order sweeps visit contacts; default: tiles if grains are many, see above
    order: Literal["sequential", "tiles"] = "sequential"
    threads: Count | None = None  # cores for tiles [1]; default: all

    @property
    def criterion(self) -> str:
        return f"rigid solver, tolerance {self.tolerance:g}"

    @property
    def q(self) -> float:
        return chain.Q[self.order]

    @property
    def at_once(self) -> bool:
        return True

    def _solve(
        self, problem: Problem | GlobalForm | LocalForm, seed: int, step: int
    ) -> Solution | MatrixSolution:
        return search(self, problem, seed, step)


def search(
    solver: RigidSolver,
    problem: Problem | GlobalForm | LocalForm | Task,
    seed: int,
    step: int,
    watch: Callable[[Any], None] | None = None,
    stages: tuple[str, ...] = STAGES,
) -> Solution | MatrixSolution:
    """Try one stage after the other; ``watch`` is called with each result that sweeps give."""
    task = problem if isinstance(problem, Task) else _task(solver, problem)
    found: Solution | MatrixSolution = _Search(solver, task, seed, step, watch, stages).run()
    return found


def _task(solver: RigidSolver, problem: Problem | GlobalForm | LocalForm) -> Task:
    if not isinstance(problem, Problem):
        return MatrixTask(problem)
    if solver.order != "tiles":
        return StepTask(problem)
    from hardgrain.solve.shared_task import SharedTask

    return SharedTask(problem)


@dataclass
class _Search:
    """The search for one step's impulses: what was tried, and the best result so far."""

    solver: RigidSolver
    task: Any  # a `Task`
    seed: int
    step: int
    watch: Callable[[Any], None] | None
    stages: tuple[str, ...]  # that are tried between the first sweeps and the last
    best: Any = None
    last: Any = None  # what sweeps alone have led to
    sweeps: int = 0
    history: list[Stage] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def run(self) -> Any:
        start = self.task.start
        if self.solver.start == "zero":
            start = np.zeros_like(start)
        self.last = self._sweep(start, 1)
        if not self.best.converged and not self._swept():
            stages = {
                "rest": self._rest(),
                "walk": self._walk(), "springs": self._springs(), "path": self._paths(),
            }  # fmt: skip
            names = (name for name in self.stages if name in TURNING or not self.task.resisted)
            for _ in itertools.chain(*(stages[name] for name in names)):
                if self.best.converged:
                    break
        self._last_sweeps()
        met = self.best.residual <= self.solver.tolerance  # the last of all sweeps may have met it
        best = replace(self.best, converged=met, sweeps=self.sweeps, history=tuple(self.history))
        return self.task.closed(best)

    @property
    def _patience(self) -> float:
        """The number of sweeps that cost as much as the method that would replace them."""
        return float(max(LEAST, self.task.worth(PATIENCE[self.task.dim], UPDATE[self.task.dim])))

    def _note(self, method: str, number: int, residual: float) -> None:
        seconds = time.perf_counter() - self.began
        self.history.append(Stage(method, number, float(residual), seconds))
        _log.debug("Step %d: %s (%d) left the residual %.2g.", self.step, method, number, residual)

    def _sweep(
        self, impulse: Floats, most: int, order: Order = "sequential", portion: int = 0
    ) -> Any:
        """Sweep at most ``most`` times from given impulses, and keep the best of all results.

        In random order, another ``portion`` means other random numbers; tiles always have others.
        """
        how: dict[str, Any] = {"order": order, "tolerance": self.solver.tolerance}
        if self.task.tiles:
            how |= {"order": "tiles", "threads": self.solver.threads}
            portion = self.sweeps
        solver = GaussSeidel(sweeps=most, stop="residual", **how)
        found = self.task.swept(solver, impulse, self.seed + portion, self.step)
        self.sweeps += found.sweeps
        self._note("sweeps", found.sweeps, found.residual)
        if self.best is None or not found.residual >= self.best.residual:
            self.best = found
        if self.watch is not None:
            self.watch(found)
        return found

    def _swept(self) -> bool:
        """Sweep on as long as their rate promises an early end; return whether they converged."""
        portion, tolerance = PROBE, self.solver.tolerance
        while self.sweeps < self.solver.sweeps:
            last = self.last
            found = self.last = self._sweep(impulse_of(last), portion)
            if found.converged:
                return True
            fall = math.log(last.residual_rms / found.residual_rms) if found.residual_rms else 0.0
            if not fall > 0.0:
                return False
            in_all = self.sweeps + found.sweeps / fall * math.log(found.residual / tolerance)
            if in_all > LEAST and in_all > self._patience:
                return False
            portion = min(2 * portion, PORTION)
        return False

    def _last_sweeps(self) -> None:
        """Sweep in random order from the best impulses, and keep the best of all portions.

        Sweeps that stall do not stand still: their residual rises and falls by a factor of two.
        """
        found, done = self.best, 0
        while not self.best.converged and done < self.solver.sweeps:
            most = min(PORTION, self.solver.sweeps - done)
            found = self._sweep(impulse_of(found), most, "random", portion=done)
            done += found.sweeps

    def _rest(self) -> Iterator[None]:
        """Search for forces that hold all grains where they are."""
        if not self.task.still:
            return
        cold = self.solver.start == "zero" or not self.task.loaded
        most = int(GRADIENTS[self.task.dim] * self._patience)
        if not (cold and self.task.dim == 2):
            start = impulse_of(self.last) if cold else None
            descended = self.task.descended(start, self.solver.tolerance, most)
            if descended is not None:
                impulse, found, number = descended
                self._note("gradients", number, found)
                self._polish(impulse, found)
                yield
        yield from self._follow(self.task.path(relaxed=True), RELAXED)

    def _walk(self) -> Iterator[None]:
        """Let disks be springs that harden, and walk from state to state."""
        if self.task.dim == 2 and isinstance(self.task, StepTask):
            yield from self._harden("walk", WALK)
            yield from self._more_sweeps()
            yield from self._harden("walk", AGAIN)

    def _springs(self) -> Iterator[None]:
        """Let contacts be springs that harden, by Newton's method."""
        yield from self._more_sweeps()
        yield from self._harden("springs", ALONE if self.task.resisted else HARDENING)

    def _more_sweeps(self) -> Iterator[None]:
        """Go on with sweeps, which bring springs nearer to what they are to find."""
        if self.sweeps < EARLY:
            self.last = self._sweep(impulse_of(self.last), EARLY - self.sweeps)
            yield
        if self.task.dim == 3:
            yield from self._onward()

    def _onward(self) -> Iterator[None]:
        """Go on with sweeps as long as they get on, and cost less than springs may."""
        most = ONWARD / PATIENCE[3] * self._patience
        least, paused = self.last.residual, 0
        while self.sweeps < min(most, self.solver.sweeps) and paused < PAUSE:
            self.last = self._sweep(impulse_of(self.last), PORTION)
            if self.last.residual < 0.9 * least:
                least, paused = self.last.residual, 0
            else:
                paused += 1
            yield

    def _harden(self, name: str, most: int) -> Iterator[None]:
        """Harden springs around the best impulses so far."""
        start, goal = impulse_of(self.best), 0.3 * self.solver.tolerance
        impulse, found, number = self.task.hardened(start, goal, most, name == "walk")
        self._note(name, number, found)
        self._polish(impulse, found)
        yield

    def _paths(self) -> Iterator[None]:
        """Follow the central path of the exact laws, from several starts."""
        swept = impulse_of(self.best)
        for near, push, most in STARTS:
            yield from self._follow(self.task.path(swept if near else None, push), most)

    def _follow(self, path: Any, most: int) -> Iterator[None]:
        """Follow one path, and polish whatever it reaches."""
        goal = 0.3 * self.solver.tolerance  # the violation hardly sees the error of long waves
        last, stuck = math.inf, 0
        while not path.ended and path.iterations < most and stuck < STUCK:
            path.advance()
            if path.relaxed and path.depth < DEEP:  # if it stays stuck here, something slides
                stuck = 0 if path.violation < 0.9 * last else stuck + 1
                last = path.violation
            if path.violation <= goal:
                self._note("path", path.iterations, path.violation)
                self._polish(self.task.impulse(path.best), path.violation)
                yield
                goal = 0.1 * path.violation
        self._note("path", path.iterations, path.violation)
        self._polish(self.task.impulse(path.best), path.violation)
        yield

    def _polish(self, impulse: Floats, found: float) -> None:
        """Sweep away the rounding errors of a stage, unless its result is hopeless."""
        if found < 1e2 * self.best.residual:
            once = self._sweep(impulse, 1)  # kept, if more of them make it worse
            if not once.converged:
                self._sweep(impulse_of(once), POLISH)
