"""What the sweeping solvers share: when to stop, where to start, packing and unpacking."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from hardgrain.scene._base import NotNegative, Positive, Spec
from hardgrain.solve.problem import Floats, Ints, Problem, Solution

__all__ = ["IterativeSolver", "relax"]

# Rounding of a contact velocity, a sum of about ten products [velocity of the bodies].
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


class IterativeSolver(Spec):
    """When to stop, where to start: what all sweeping solvers share.

    ``stop`` is one of

    - ``"sweeps"``: exactly ``sweeps`` sweeps (37);
    - ``"local"``: |ΔP| ≤ tolerance |P| + cutoff dt at every contact (35);
    - ``"global"``: the mean |P| changes by at most ``tolerance`` of itself in a sweep (36);
    - ``"residual"``: the violation of the contact laws (see `hardgrain.solve.sweep`) is at most
      ``tolerance``.

    For the last three ``sweeps`` is a cap; a step that reaches it is counted and reported, and is
    an error with ``on_cap = "error"``.
    """

    sweeps: int = Field(default=100, ge=1, le=1_000_000_000)
    stop: Literal["sweeps", "local", "global", "residual"] = "sweeps"
    tolerance: Positive = 1e-4
    cutoff: NotNegative = 0.0  # δ of the local rule [force]
    start: Literal["previous", "zero"] = "previous"
    on_cap: Literal["report", "error"] = "report"

    @property
    def q(self) -> float:
        """How fast sweeps spread information along a chain, D = q d² a sweep (43)."""
        raise NotImplementedError

    def solve(self, problem: Problem, *, seed: int, step: int) -> Solution:
        """Relax the contacts of one step."""
        raise NotImplementedError


def _lines(rows: int, columns: int) -> Floats:
    """Zeros that begin at a cache line, 64 bytes: a body of 8 numbers then lies in one."""
    size = 8 * rows * columns
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(np.float64).reshape(rows, columns)


def _fastest(problem: Problem) -> float:
    """Largest velocity component of a body, or of its surface where it spins."""
    spin = np.abs(problem.spin[: problem.radius.size]).max(axis=1)
    return float(max(np.abs(problem.velocity).max(), (problem.radius * spin).max()))


def relax(
    solver: IterativeSolver,
    problem: Problem,
    seed: int,
    step: int,
    *,
    scheme: str = "sequential",
    stored: Ints | None = None,
    starts: Ints | None = None,
    relaxation: float | None = None,
) -> Solution:
    """Pack the problem (contacts stored in the given order), sweep, unpack."""
    from hardgrain.solve import full, lean, order, sweep

    velocity, spin = problem.velocity.copy(), problem.spin.copy()
    m = problem.first.size
    if m == 0:
        empty = np.zeros((0, problem.dim)), np.zeros((0, spin.shape[1]))
        return Solution(velocity, spin, *empty, 0, True, 0.0, 0.0)

    if stored is None:
        stored = np.arange(m, dtype=np.int32)
    contacts = (stored, problem.first, problem.second, problem.normal, problem.gap, problem.impulse)
    bodies = (problem.position, problem.radius, problem.inv_mass, problem.inv_inertia)
    laws = (problem.material, problem.laws, problem.periodic, problem.dt, problem.remove_overlaps)
    flat = problem.dim == 2
    if problem.lean:
        turning = np.any(problem.spin != 0.0, axis=1)
        turning[: problem.radius.size] = False
        rows = velocity.shape[0] + np.count_nonzero(turning[problem.second])
        b = _lines(rows, 5 if flat else 8)
        pack: Any = lean.pack_2d if flat else lean.pack_3d
        v = problem.velocity_before
        packed = pack(b, *contacts, velocity, spin, v, *bodies, *laws, turning)
    else:
        before = (problem.velocity_before, problem.spin_before)
        pack = full.pack_2d if flat else full.pack_3d
        packed = pack(*contacts, problem.torque, velocity, spin, *before, *bodies, *laws)

    unseen = float(np.square(_ROUNDING * _fastest(problem)))  # inf, not an error, at worst
    sweeps, met = sweep.relax(
        packed,
        np.arange(m, dtype=np.uint32),
        starts,
        relaxation,
        getattr(order, scheme.upper()),
        seed,
        step,
        getattr(sweep, solver.stop.upper()),
        solver.sweeps,
        solver.tolerance,
        solver.cutoff * problem.dt,
        unseen,
    )
    worst, rms = sweep.residual(packed, starts, unseen)

    if problem.lean:
        unpack: Any = lean.unpack_2d if flat else lean.unpack_3d
        impulse = unpack(packed, stored, velocity, spin, problem.radius)
        torque = np.zeros((m, spin.shape[1]))
    else:
        unpack = full.unpack_2d if flat else full.unpack_3d
        impulse, torque = unpack(packed, stored, velocity, spin)
    return Solution(velocity, spin, impulse, torque, sweeps, met, worst, rms)
