"""Possible forces by the engine's own solver, from forces that were disturbed.

This is the Monte Carlo of the paper (III B 4): the forces are multiplied by random factors and the
solver of contact dynamics finds its way back into F, the set of possible forces, with all grains
held where they are. Nothing makes these samples uniform.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hardgrain.core import lawtable
from hardgrain.core.model import Floats
from hardgrain.errors import InputError, RunError
from hardgrain.forces.space import ForceSpace
from hardgrain.solve.problem import Problem

__all__ = ["Factors", "Perturbed", "perturbed", "unbalanced"]

Factors = Literal["contact", "global"]

# [1] Sweeps of the solver between two looks at the unbalanced forces, and looks after which a
# sample is given up. With fewer in all, samples are dropped that would have come to rest, which
# biases the rest.
_SWEEPS = 200
_PATIENCE = 500
# [unbalanced force] Residual of the laws below which the contacts obey them while the grains move:
# such a state will never come to rest and is dropped at once. A larger one drops states that still
# would.
_OBEYS = 1e-6


@dataclass(frozen=True, eq=False)
class Perturbed:
    """States that the solver found, in the unit of force."""

    states: Floats  # (count, m, dim)
    residual: Floats  # (count,) largest unbalanced force of each
    dropped: int  # states that did not get back into F
    sweeps: int  # of all solves


def perturbed(
    space: ForceSpace,
    count: int,
    seed: int,
    factors: Factors,
    chained: bool,
    tolerance: float,
) -> Perturbed:
    """States from random factors for each contact or a global one; see `forces.sample.sample`."""
    from hardgrain.solve.gauss_seidel import GaussSeidel

    p = space.packing
    if p.branch is not None:  # it acts along lines that depend on gaps, and here there are none
        raise InputError(
            "samples by 'perturb' know no periodic cell that deforms; take method 'hit-and-run'"
        )
    solver = GaussSeidel(sweeps=_SWEEPS)
    problem = _problem(space)
    rng = np.random.default_rng(seed)
    states: list[Floats] = []
    residuals: list[float] = []
    sweeps = dropped = 0
    last = problem.impulse
    while len(states) < count:
        size = (p.contacts, 1) if factors == "contact" else (1, 1)
        guess = (last if chained else problem.impulse) * rng.uniform(0.5, 1.5, size)
        rounds, out, moves = 0, np.inf, False
        while rounds < _PATIENCE and not (out <= tolerance or moves):
            step = _PATIENCE * (len(states) + dropped) + rounds
            solution = solver.solve(replace(problem, impulse=guess), seed=seed, step=step)
            guess, sweeps, rounds = solution.impulse, sweeps + _SWEEPS, rounds + 1
            state = np.einsum("kea,ka->ke", p.frame, guess)
            out = float(unbalanced(space, state[None])[0])
            moves = solution.residual < _OBEYS * out
        if out <= tolerance:
            last = guess
            states.append(state)
            residuals.append(out)
        elif (dropped := dropped + 1) > count:
            raise RunError(
                f"{dropped} of {dropped + len(states)} perturbed states did not come to rest within"
                f" {_PATIENCE * _SWEEPS} sweeps: unbalanced forces of {out:.1e} mean weights"
            )
    return Perturbed(np.array(states), np.array(residuals), dropped, sweeps)


def _problem(space: ForceSpace) -> Problem:
    """The contacts as a solver meets them, at rest, for a time of 1, with forces in their unit.

    Masses go with size, the mean is 1. They do not decide what is possible, only the way there.
    """
    p = space.packing
    n, (bodies, dofs), dim = p.radius.size, p.free.shape, p.dim
    mass, inertia = np.ones(bodies), np.ones(bodies)
    mass[:n] = p.radius**dim / (p.radius**dim).mean()
    inertia[:n] = (0.5 if dim == 2 else 0.4) * mass[:n] * p.radius**2
    inverse = p.free / np.concatenate(
        [np.repeat(mass[:, None], dim, axis=1), np.repeat(inertia[:, None], dofs - dim, axis=1)],
        axis=1,
    )
    load = np.zeros(p.free.size)
    load[p.rows] = -p.arms * space.equations()[1]
    velocity = inverse * load.reshape(p.free.shape)
    laws = np.zeros((p.contacts, lawtable.N_PARAMETERS))  # one for each contact
    for column in (lawtable.MU_STATIC, lawtable.MU_DYNAMIC):
        laws[:, column] = p.friction
    still = np.zeros((bodies, dim)), np.zeros((bodies, dofs - dim))
    equal = p.free[:n] == p.free[:n, :1]
    return Problem(
        dt=1.0,
        first=p.first.astype(np.int32),
        second=p.second.astype(np.int32),
        normal=p.normal,
        gap=np.zeros(p.contacts),
        arm_first=p.arm_first,
        arm_second=p.arm_second,
        width=np.full(p.contacts, 2.0 * p.radius.min(initial=np.inf)),
        roll=np.zeros(p.contacts),
        law=np.arange(p.contacts, dtype=np.int32),
        impulse=p.force / p.unit,
        torque=np.zeros((p.contacts, dofs - dim)),
        velocity=np.ascontiguousarray(velocity[:, :dim]),
        spin=np.ascontiguousarray(velocity[:, dim:]),
        velocity_before=still[0],
        spin_before=still[1],
        position=still[0] if p.position is None else p.position,
        inv_mass=np.ascontiguousarray(inverse[:, :dim]),
        inv_inertia=np.ascontiguousarray(inverse[:, dim:]),
        laws=laws,
        remove_overlaps=False,
        lean=p.round and bool(equal.all()),
    )


def unbalanced(space: ForceSpace, states: Floats) -> Floats:
    """The largest unbalanced force of each state (n,), torques at the surface; all in the unit."""
    c, load = space.equations()
    out = c @ states.reshape(len(states), -1).T - load[:, None]
    worst: Floats = np.abs(out).max(axis=0, initial=0.0)
    return worst
