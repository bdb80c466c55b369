"""What every solver is given, and what it gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.lawtable import ROLLING, TORSION
from hardgrain.core.model import ContactRows, Floats, Ints
from hardgrain.kernels import jit
from hardgrain.point.cell import GivenInCell
from hardgrain.point.given import Given, Motion
from hardgrain.processes import ALONE

__all__ = ["Floats", "Ints", "Motion", "Problem", "Solution", "Stage"]


@dataclass(frozen=True)
class Problem:
    """One step's contact problem: find P and v = v* + M⁻¹ H P so that every contact obeys its law.

    Contacts are rows as the narrow phase wrote them (`hardgrain.core.model.Contacts`), sorted by
    their bodies. No solver knows shapes or materials: arms say where a contact lies, ``law`` which
    row of ``laws`` holds. Arrays are not to be changed by a solver.
    """

    dt: float
    first: Ints  # (m,)
    second: Ints  # (m,)
    normal: Floats  # (m, dim), from first to second
    gap: Floats  # (m,) [length], negative: overlap
    arm_first: Floats  # (m, dim) from the first body's centre to the contact
    arm_second: Floats  # (m, dim) from the second body's
    width: Floats  # (m,) diameter of the smaller grain [length]
    roll: Floats  # (m,) lever of rolling and torsion [length]
    law: Ints  # (m,) row of ``laws``
    impulse: Floats  # (m, dim) on second: where to start from [mass × speed]
    torque: Floats  # (m, ns) on second: rolling and torsion impulses to start from
    velocity: Floats  # (nb, dim) free velocities v*
    spin: Floats  # (nb, ns) free spins
    velocity_before: Floats  # (nb, dim) velocities at the start of the step
    spin_before: Floats  # (nb, ns)
    position: Floats  # (nb, dim) where bodies are, by which direct solvers order them
    inv_mass: Floats  # (nb, dim)
    inv_inertia: Floats  # (nb, ns)
    laws: Floats  # (rows, N_PARAMETERS)
    remove_overlaps: bool  # shock law with g in place of g⁺
    lean: bool  # laws and bodies are simple: W is diagonal at every contact
    backend: str = "hardgrain.cpu"  # package that packs and sweeps it, such as `hardgrain.cpu`
    radius: Floats | None = None  # (n,) of the balls that hold grains, the first bodies [length]
    periodic: Floats | None = None  # (dim,) periods [length], zero where there is none
    # where the periodic cell deforms, the number of grains: contacts between two of them feel the
    # cell, which is the last body, as a third one (`point.cell`); 0: it does not deform
    grains: int = 0
    cell: Floats | None = None  # its numbers, with tilts of at most half a period (`core.cell`)
    others: Any = ALONE  # processes that have the other contacts and bodies

    @property
    def dim(self) -> int:
        return int(self.normal.shape[1])

    @property
    def turning(self) -> NDArray[np.bool_]:
        """Which rows of ``laws`` resist relative spins."""
        columns = [ROLLING, TORSION][: self.dim - 1]  # nothing twists in 2D
        found: NDArray[np.bool_] = np.any(self.laws[:, columns] > 0.0, axis=1)
        return found

    @property
    def resists(self) -> bool:
        """Whether any contact resists relative spins."""
        return bool(self.turning[self.law].any())

    @property
    def side_by_side(self) -> Floats:
        """Impulses and torque impulses, shape (m, dim + ns)."""
        return np.concatenate([self.impulse, self.torque], axis=1)

    @property
    def rows(self) -> ContactRows:
        """The contacts as compiled functions read them."""
        return ContactRows(*(getattr(self, name) for name in ContactRows._fields))

    @property
    def motion(self) -> Motion:
        """The bodies as compiled functions read them."""
        return Motion(*(getattr(self, name) for name in Motion._fields))

    @property
    def given(self) -> Given | GivenInCell:
        """What a backend packs the problem from."""
        if self.grains:
            how = self.laws, self.dt, self.remove_overlaps
            cell = np.zeros(self.dim + self.spin.shape[1]) if self.cell is None else self.cell
            return GivenInCell(self.rows, self.motion, *how, self.grains, self.position, cell)
        return Given(self.rows, self.motion, self.laws, self.dt, self.remove_overlaps)

    @property
    def paths(self) -> Floats:
        """(dt/d)² with d the diameter of a contact's smaller grain, shape (m,) [1/speed²]."""
        paths: Floats = np.square(self.dt / self.width)
        return paths

    def unbalanced(self, velocity: Floats, impulse: Floats) -> float:
        """Largest net force on a body, relative to the mean contact force; 0 where none acts.

        What a step leaves of it is the load that is not yet handed on, or true acceleration.
        """
        bodies = slice(-1) if self.grains else slice(None)  # the cell has no place
        found: float = net_force(
            velocity[bodies], self.velocity_before[bodies], self.inv_mass[bodies], impulse
        )
        return found


@jit
def net_force(velocity, before, inv_mass, impulse):  # type: ignore[no-untyped-def]
    """Largest change of a body's momentum over the mean impulse of contacts that have any."""
    total, loaded = 0.0, 0
    for k in range(impulse.shape[0]):
        square = 0.0
        for a in range(impulse.shape[1]):
            square += impulse[k, a] ** 2
        total += math.sqrt(square)
        loaded += square != 0.0
    if loaded == 0:
        return 0.0
    most = 0.0
    for i in range(velocity.shape[0]):
        square = 0.0
        for a in range(velocity.shape[1]):
            if inv_mass[i, a] > 0.0:
                square += ((velocity[i, a] - before[i, a]) / inv_mass[i, a]) ** 2
        if not square <= most:  # lets NaN through
            most = square
    return math.sqrt(most) * loaded / total


class Stage(NamedTuple):
    """One stage of a solve."""

    method: str  # sweeps, gradients, walk, springs or path, see solve.rigid
    number: int  # of sweeps, factorisations, iterations or changes of state
    residual: float  # at its end [1]
    seconds: float  # since the solve began


@dataclass(frozen=True)
class Solution:
    """Velocities and impulses of one step, and how far they can be trusted."""

    velocity: Floats  # (nb, dim)
    spin: Floats  # (nb, ns)
    impulse: Floats  # (m, dim)
    torque: Floats  # (m, ns)
    sweeps: int
    converged: bool  # the solver's own criterion was met
    residual: float  # largest violation of the laws, see point/residual.py [1]
    residual_rms: float  # the same, root mean square [1]
    unbalanced: float = 0.0  # largest net force on a body over the mean contact force [1]
    history: tuple[Stage, ...] = ()  # how it came about

    @property
    def status(self) -> str:
        """What solved it, or that nothing did."""
        if not self.converged:
            return f"not converged: residual {self.residual:.2g}, unbalanced {self.unbalanced:.2g}"
        return "converged by " + " and ".join(dict.fromkeys(s.method for s in self.history))
