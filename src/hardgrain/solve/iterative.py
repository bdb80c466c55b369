"""What the sweeping solvers share: when to stop, where to start, packing and unpacking."""

from __future__ import annotations

import time
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from hardgrain.point import order, stopping
from hardgrain.point.order import Visits
from hardgrain.point.stopping import Until
from hardgrain.point.sweeping import Sweeping
from hardgrain.scene._base import Count, NotNegative, Positive
from hardgrain.solve.problem import Floats, Ints, Problem, Solution, Stage
from hardgrain.solve.solver import Solver

if TYPE_CHECKING:
    from hardgrain.solve.matrices import GlobalForm, LocalForm, MatrixSolution

__all__ = ["IterativeSolver", "relax", "relax_in_tiles", "sharing", "sweeping"]


class IterativeSolver(Solver):
    """When to stop, where to start: what all sweeping solvers share.

    ``stop`` is one of

    - ``"sweeps"``: exactly ``sweeps`` sweeps (37);
    - ``"local"``: |ΔP| ≤ tolerance |P| + cutoff dt at every contact (35);
    - ``"global"``: the mean |P| changes by at most ``tolerance`` of itself in a sweep (36);
    - ``"residual"``: the violation of the contact laws (see `hardgrain.point.residual`) is at most
      ``tolerance``.

    For the last three ``sweeps`` is a cap; a step that reaches it is counted and reported, and is
    an error with ``on_cap = "error"``.
    """

    # visits of every contact in a step; a cap, where a criterion ends them [1]
    sweeps: Annotated[Count, Field(le=1_000_000_000)] = 100
    # what ends the sweeps of a step: their number, or one of three criteria
    stop: Literal["sweeps", "local", "global", "residual"] = "sweeps"
    tolerance: Positive = 1e-4  # what the criterion allows, see ``stop`` [1]
    cutoff: NotNegative = 0.0  # change of a force that the local criterion disregards [force]

    @property
    def adaptive(self) -> bool:
        return self.stop != "sweeps"

    @property
    def leaves(self) -> float:
        # A contact that changed by ε P in the last sweep left its neighbours to want about as much.
        return self.tolerance if self.stop in ("local", "residual") else 0.0

    @property
    def criterion(self) -> str:
        if self.stop == "sweeps":
            return f"{self.sweeps} sweeps a step"
        return f"{self.stop} criterion, tolerance {self.tolerance:g}"

    @model_validator(mode="before")
    @classmethod
    def _rule(cls, data: Any) -> Any:
        """Without ``stop`` the number of sweeps rules, and a tolerance would be disregarded."""
        if isinstance(data, dict) and "stop" not in data:
            for name in ("tolerance", "cutoff"):
                if name in data:
                    rules = "'local'" if name == "cutoff" else "'residual', 'local' or 'global'"
                    raise ValueError(
                        f"{name} is {data[name]!r} but stop is not given, so that each step would"
                        f" take its number of sweeps whatever they leave; give stop = {rules}"
                    )
        return data

    @model_validator(mode="after")
    def _balanced(self) -> Self:
        if self.unbalanced is not None and self.stop != "residual":
            raise ValueError(
                f"unbalanced is {self.unbalanced:g} but stop is {self.stop!r}; unbalanced needs"
                " stop 'residual'"
            )
        return self


class _Loops(NamedTuple):
    """How to sweep."""

    visits: Visits
    starts: Ints | None
    relaxation: float | None


def relax(
    solver: IterativeSolver,
    problem: Problem | GlobalForm | LocalForm,
    seed: int,
    step: int,
    *,
    scheme: str = "sequential",
    stored: Ints | None = None,
    starts: Ints | None = None,
    relaxation: float | None = None,
) -> Solution | MatrixSolution:
    """Pack the problem (contacts stored in the given order), sweep, unpack."""
    visits = Visits(getattr(order, scheme.upper()), seed, step)
    loops = _Loops(visits, starts, relaxation)
    if isinstance(problem, Problem):
        return _relax_step(solver, problem, stored, loops)
    return _relax_matrices(solver, problem, stored, loops)


def _relax_step(
    solver: IterativeSolver, problem: Problem, stored: Ints | None, loops: _Loops
) -> Solution:
    backend: Any = import_module(problem.backend)
    began = time.perf_counter()
    until = _until(solver, solver.cutoff * problem.dt, 0.0)
    how = Sweeping(loops.visits, until, stored, loops.starts, loops.relaxation)
    kernels = backend.RELAXED_IN_CELL if problem.grains else backend.RELAXED
    relaxed = kernels[problem.lean, problem.dim]
    found = relaxed(problem.given, how, loops.visits.step)
    return _solution(problem, found, began, problem.unbalanced(found[0], found[2]))


def relax_in_tiles(solver: IterativeSolver, problem: Problem, seed: int, step: int) -> Solution:
    """Cut space into tiles, pack the problem tile by tile, sweep, unpack."""
    from hardgrain.point.tiles import cut

    backend: Any = import_module(problem.backend)
    began = time.perf_counter()
    until = _until(solver, solver.cutoff * problem.dt, 0.0)
    how = Sweeping(Visits(order.RANDOM, seed, step), until)
    if problem.others.size > 1:
        found = problem.others.relaxed(problem, how)
        return _solution(problem, found, began, _unbalanced(problem, found))
    period = np.zeros(problem.dim) if problem.periodic is None else problem.periodic
    shared, largest, grains = sharing(problem)
    tiling = cut(problem.position[:grains], largest, period, problem.first.size)
    found = backend.relaxed_in_tiles(
        (problem.lean, problem.dim), problem.given, how, (problem.position, shared, tiling)
    )
    return _solution(problem, found, began, _unbalanced(problem, found))


def _unbalanced(problem: Problem, found: tuple[Any, ...]) -> float:
    """As `Problem.unbalanced`, on all threads and of all processes."""
    from hardgrain.cpu.exact import rounded_all
    from hardgrain.cpu.ledger_blocks import force_parts, pieces

    velocity, impulse, many = found[0], found[2], pieces(len(found[2]), 2)
    sums, most = force_parts(velocity, problem.velocity_before, problem.inv_mass, impulse, many)
    total, loaded = rounded_all(problem.others.total(sums))
    return float(problem.others.most(most) * loaded / total) if loaded > 0.0 else 0.0


def sharing(problem: Problem) -> tuple[Any, float, int]:
    """Which bodies lie in no tile, (nb,); the largest radius of the others; how many are grains."""
    from hardgrain.point.tiles import shared_bodies

    radius = _radii(problem) if problem.radius is None else problem.radius
    return *shared_bodies(radius, len(problem.position)), radius.size


def _radii(problem: Problem) -> Floats:
    """How far the contacts of each body lie from its centre, at most; shape (nb,)."""
    reach: Floats = np.zeros(len(problem.position))
    np.maximum.at(reach, problem.first, np.linalg.norm(problem.arm_first, axis=1))
    np.maximum.at(reach, problem.second, np.linalg.norm(problem.arm_second, axis=1))
    return reach


def _solution(
    problem: Problem, found: tuple[Any, ...], began: float, unbalanced: float
) -> Solution:
    """What a backend found, as a solution; began: when the solver did [s]."""
    velocity, spin, impulse, torque, sweeps, met, worst, rms = found
    stage = Stage("sweeps", sweeps, worst, time.perf_counter() - began)
    return Solution(
        velocity, spin, impulse, torque, sweeps, met, worst, rms,
        unbalanced, (stage,) if problem.first.size else (),
    )  # fmt: skip


def sweeping(solver: IterativeSolver, scheme: str, seed: int, dt: float) -> Sweeping:
    """How a solver sweeps, contact after contact, as compiled functions read it."""
    visits = Visits(getattr(order, scheme.upper()), seed, 0)
    return Sweeping(visits, _until(solver, solver.cutoff * dt, 0.0))


def _relax_matrices(
    solver: IterativeSolver,
    form: GlobalForm | LocalForm,
    stored: Ints | None,
    loops: _Loops,
) -> MatrixSolution:
    from hardgrain.cpu.relaxation import ROUNDING
    from hardgrain.solve import blocks
    from hardgrain.solve.matrices import GlobalForm, MatrixSolution

    began = time.perf_counter()
    local = form.local()
    m, r = local.contacts, local.start
    if r is None or solver.start == "zero":
        r = np.zeros_like(local.q)
    went = (0, True, 0.0, 0.0)
    if m > 0:
        packed = blocks.pack(local, stored, r)
        unseen = float(np.square(ROUNDING * np.abs(local.q).max()))
        went = _sweep(packed, loops, _until(solver, solver.cutoff, unseen))
        r = blocks.unpack(packed, stored, local.dim)
    v = form.velocity(r) if isinstance(form, GlobalForm) else None
    stage = Stage("sweeps", went[0], went[2], time.perf_counter() - began)
    return MatrixSolution(local.contact_velocity(r), r, v, *went, (stage,))


def _until(solver: IterativeSolver, cutoff: float, unseen: float) -> Until:
    """The solver's stopping rule; ``unseen``: square of the velocity that rounding hides."""
    rule = getattr(stopping, solver.stop.upper())
    return Until(rule, solver.sweeps, float(solver.tolerance), float(cutoff), unseen)


def _sweep(packed: Any, loops: _Loops, until: Until) -> tuple[int, bool, float, float]:
    """Sweeps done, whether the rule was met, residual and residual_rms."""
    from hardgrain.cpu.sweep import relax, residual

    visited = np.arange(packed.pair.size - 1, dtype=np.uint32)
    sweeps, met = relax(packed, visited, loops.starts, loops.relaxation, loops.visits, until, None)
    return sweeps, met, *residual(packed, loops.starts, until.unseen, None)
