"""The number ρ: how many contacts answer a push at once, in a chain and in packings.

A contact that answers alone, P ← P − V/W, stops its own relative velocity V and pushes its
neighbours. If all do so at once, errors change by 1 − D⁻¹W, where W is the matrix of all contacts
and D its diagonal. Its largest eigenvalue ρ says two things:

- The parallel update is unstable where ρ > 2 (review: "a simple parallel update would be
  unstable").
- N sweeps a step make springs κ = 2 q N / (W_kk dt²) and dashpots κ dt of the contacts
  (`hardgrain.measure.rigidity`). Soft particles with the same springs and dashpots have the largest
  eigenvalues (2 q N/dt²) ρ of M⁻¹K and dt times that of M⁻¹C, which bounds their explicit steps
  (`hardgrain.theory.spring.largest_step`): about q ρ N of them in a step dt, where contact dynamics
  makes N sweeps. Both visit every contact once.

In a chain every contact has two neighbours, and ρ = 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import PrivateAttr

from hardgrain.papers.fit import Floats
from hardgrain.papers.unger2002.packing import prepared
from hardgrain.papers.unger2002.row import at_rest
from hardgrain.run.simulation import Simulation
from hardgrain.solve.assembly import global_form
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.solve.problem import Problem, Solution
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.theory.spring import largest_step

__all__ = ["ITERATIONS", "Kept", "at_rest_problem", "growth", "radius", "substeps"]

ITERATIONS = 120  # iterations of the power method; neighbouring eigenvalues are 1 % apart


class Kept(GaussSeidel):
    """Keeps the problem that it is given."""

    _problems: list[Problem] = PrivateAttr(default_factory=list)

    def solve(  # type: ignore[override]  # steps only
        self, problem: Problem, *, seed: int, step: int
    ) -> Solution:
        self._problems.append(problem)
        return super().solve(problem, seed=seed, step=step)


def at_rest_problem(system: str, grains: int, seed: int) -> Problem:
    """The contact problem of a system at rest, its forces found: a chain, or a packing."""
    if system == "chain":
        sim = at_rest(grains, 1, seed=seed)
    else:
        pack = prepared(seed, grains, int(system[0]))
        sim = Simulation(pack.scene, dt=0.01, seed=seed, start=pack.state)
    kept = Kept(stop="residual", tolerance=1e-12, sweeps=100_000)
    ContactDynamics(sim.model, kept, sim.dt, seed).advance(sim.state.copy())
    problem = kept._problems[0]
    solution = GaussSeidel(stop="residual", tolerance=1e-12, sweeps=100_000).solve(
        problem, seed=seed, step=0
    )
    return replace(problem, impulse=solution.impulse)


def radius(problem: Problem) -> float:
    """The number ρ of contacts that bear a force and stick, by a sparse eigenvalue solver."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    form, frame = global_form(problem)
    w = form.local().delassus
    r = frame.components(problem.impulse).reshape(-1, problem.dim)
    loaded = np.repeat(r[:, 0] > 1e-9 * r[:, 0].max(), problem.dim)
    w = w[loaded][:, loaded]
    diagonal = w.diagonal()
    movable = diagonal > 0.0  # a chain's tangents are locked
    w = w[movable][:, movable]
    scale = diags_array(1.0 / np.sqrt(diagonal[movable]))
    scaled = (scale @ w @ scale).tocsr()
    if scaled.shape[0] < 50:
        return float(np.linalg.eigvalsh(scaled.toarray())[-1])
    return float(
        eigsh(scaled, k=1, which="LA", return_eigenvectors=False, v0=np.ones(scaled.shape[0]))[0]
    )


def growth(problem: Problem, seed: int = 0) -> float:
    """The factor by which a parallel update multiplies a small error of the impulses, in the end.

    Measured with the solver itself: one sweep from impulses a little off, again and again.
    """
    solver = Jacobi(sweeps=1, relaxation=1.0)
    rest = solver.solve(problem, seed=0, step=0).impulse
    loaded = np.sum(rest * problem.normal, axis=1) > 0.0
    rng = np.random.default_rng(seed)
    error = rng.normal(size=rest.shape) * loaded[:, None]
    # so small that contacts neither open nor begin to slide
    small = 1e-6 * float(np.abs(rest).min(initial=np.inf, where=rest != 0.0))
    small = max(small, 1e-9 * float(np.abs(rest).max()))
    factors = []
    for _ in range(ITERATIONS):
        error *= small / float(np.linalg.norm(error))
        after = solver.solve(replace(problem, impulse=rest + error), seed=0, step=0).impulse
        error = (after - rest) * loaded[:, None]
        factors.append(float(np.linalg.norm(error)) / small)
    return float(np.exp(np.mean(np.log(factors[-20:]))))


def substeps(rho: Floats | float, sweeps: float, q: float) -> Floats:
    """Explicit steps that soft particles need in a step dt, for the same springs and dashpots."""
    stiff = 2.0 * q * sweeps * np.atleast_1d(rho)
    return np.array([1.0 / largest_step(s, s) for s in stiff])
