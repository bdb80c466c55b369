"""What every solver is given, and what it gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

__all__ = ["Floats", "Ints", "Problem", "Solution", "Stage"]


@dataclass(frozen=True)
class Problem:
    """One step's contact problem: find P and v = v* + M⁻¹ H P so that every contact obeys its law.

    Bodies 0 … n−1 are grains, the rest walls. Contacts are sorted by (first, second); ``first`` is
    always a grain. Arrays are not to be changed by a solver.
    """

    dt: float
    first: Ints  # (m,)
    second: Ints  # (m,)
    normal: Floats  # (m, dim), from first to second
    gap: Floats  # (m,) [length], negative: overlap
    impulse: Floats  # (m, dim) on second: where to start from [mass × speed]
    torque: Floats  # (m, ns) on second: rolling and torsion impulses to start from
    velocity: Floats  # (nb, dim) free velocities v*
    spin: Floats  # (nb, ns) free spins
    velocity_before: Floats  # (nb, dim) velocities at the start of the step
    spin_before: Floats  # (nb, ns)
    position: Floats  # (nb, dim); a wall's is the point it turns about
    radius: Floats  # (n,)
    inv_mass: Floats  # (nb, dim)
    inv_inertia: Floats  # (nb, ns)
    material: Ints  # (nb,)
    laws: Floats  # (materials, materials, N_PARAMETERS)
    periodic: Floats  # (dim,)
    remove_overlaps: bool  # shock law with g in place of g⁺
    lean: bool  # laws and bodies are simple: W is diagonal at every contact

    @property
    def dim(self) -> int:
        return int(self.normal.shape[1])

    @property
    def paths(self) -> Floats:
        """(dt/d)² with d the diameter of a contact's smaller grain, shape (m,) [1/speed²]."""
        n = self.radius.size
        other = self.radius[np.minimum(self.second, n - 1)]
        smaller = np.minimum(self.radius[self.first], np.where(self.second < n, other, np.inf))
        paths: Floats = np.square(self.dt / (2.0 * smaller))
        return paths

    def unbalanced(self, velocity: Floats, impulse: Floats) -> float:
        """Largest net force on a body, relative to the mean contact force; 0 where none acts.

        What a step leaves of it is the load that is not yet handed on, or true acceleration.
        """
        forces = np.sqrt(np.einsum("ka,ka->k", impulse, impulse))
        loaded = np.count_nonzero(forces)
        if loaded == 0:
            return 0.0
        moves = self.inv_mass > 0.0
        change = np.zeros_like(velocity)
        np.divide(velocity - self.velocity_before, self.inv_mass, out=change, where=moves)
        net = math.sqrt(np.einsum("ia,ia->i", change, change).max())
        return net * loaded / float(forces.sum())


class Stage(NamedTuple):
    """One stage of a solve."""

    method: str  # sweeps, states, gradients, springs or path, see solve.rigid
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
    residual: float  # largest violation of the laws, see solve/sweep.py [1]
    residual_rms: float  # the same, root mean square [1]
    unbalanced: float = 0.0  # largest net force on a body over the mean contact force [1]
    history: tuple[Stage, ...] = ()  # how it came about

    @property
    def status(self) -> str:
        """What solved it, or that nothing did."""
        if not self.converged:
            return f"not converged: residual {self.residual:.2g}, unbalanced {self.unbalanced:.2g}"
        return "converged by " + " and ".join(dict.fromkeys(s.method for s in self.history))
