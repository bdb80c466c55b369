"""Springs that harden, and the line from state to state that finds their forces.

A line that arrives must obey the law of springs, which `solve.newton` writes in another way. Folds
are where Newton's method ends: problems of disks that begin to slide have them, and the line goes
round.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.solve import piecewise, rigid
from hardgrain.solve.hardening import harden
from hardgrain.solve.newton import Springs
from hardgrain.solve.problem import Problem
from hardgrain.solve.response import BodyResponse
from hardgrain.solve.springs import spring_impulses, violation
from hardgrain.solve.task import StepTask

from .helpers import Floats, record

pytestmark = pytest.mark.rounding

Case = tuple[BodyResponse, Floats, Floats]


def heap(mu: float, seed: int, tilt: float = 0.0, count: int = 60) -> hg.Simulation:
    """Disks that have fallen into a box, then tilted."""
    down = [np.sin(tilt), -np.cos(tilt)]
    scene = hg.Scene(
        gravity=down,
        contacts=[hg.ContactLaw(friction=mu)],
        grains=[
            hg.Grains(
                count=count,
                diameter=hg.Uniform(min=0.7, max=1.3),
                place=hg.Deposit(min=[0, 0], max=[9, 14]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[9, 30], open=["top"])],
    )
    sim = hg.Simulation(
        scene, dt=0.03, solver=hg.GaussSeidel(sweeps=40, order="sequential"), seed=seed
    )
    for _ in range(150):
        sim.step()
    return sim


@cache
def problem(mu: float, seed: int, tilt: float = 0.0) -> Problem:
    sim = heap(mu, seed, tilt)
    kept = record(sim)
    sim.step()
    assert kept.problem is not None
    return kept.problem


def case(p: Problem) -> Case:
    bodies, mu, start = StepTask(p).whole()
    assert isinstance(bodies, BodyResponse)
    return bodies, mu, start.reshape(bodies.q.shape)


def anchored(bodies: BodyResponse, mu: Floats, start: Floats) -> Floats:
    """Where the springs of a walk are anchored: what each contact wants by itself."""
    state, r0 = np.empty(len(mu), np.int8), np.empty_like(start)
    piecewise.natural(start, bodies.velocity(start), bodies.weight, mu, state, r0)
    return r0


def mismatch(bodies: BodyResponse, mu: Floats, r0: Floats, r: Floats, compliance: float) -> float:
    """How far impulses are from those of springs at the velocities that they lead to."""
    scale = bodies.weight[:, :1]
    answer, unused = np.empty_like(r), np.zeros((len(mu), 2, 2))
    spring_impulses(scale * r0, bodies.velocity(r), mu, 1.0 / compliance, answer, unused)
    return float(np.abs(answer - scale * r).max() / np.abs(scale * r).max())


def rounding(bodies: BodyResponse, r: Floats, compliance: float) -> float:
    """How far rounding may take a walk from the law of springs, as `mismatch` measures it.

    A contact velocity is a sum of body velocities v, right to ε v. A spring of compliance e (in
    units of W) turns this into an impulse that is wrong by ε v/e, in units of velocity. The six
    contacts of a disk move it by six times as much, and the springs answer to it with 6 ε v/e². The
    impulses p that a velocity is computed from are themselves right to ε p, and there are six of
    them, which the springs make 6 ε p/e. So many roundings add up, at worst: one for each of six
    contacts of a disk, after the solve and after each of the changes of state that may follow
    before velocities are computed afresh.
    """
    v = bodies.free + bodies.momentum(r) / bodies.mass
    fastest = np.maximum(np.abs(bodies.free), np.abs(v))[bodies.body]
    fastest[bodies.body < 0] = 0.0
    speed = np.einsum("kseA,ksA->ke", np.abs(bodies.lever), fastest).max()
    force = np.abs(bodies.weight[:, :1] * r).max()
    steps, epsilon = 6 * (piecewise.FEW + 1), np.finfo(float).eps
    return float(steps * epsilon * 6.0 * (speed / force / compliance**2 + 1.0 / compliance))


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("compliance", [1.0, 1e-2, 1e-4])
def test_a_walk_that_arrives_obeys_the_law_of_springs(mu: float, compliance: float) -> None:
    """Soft springs have one solution, and all walks arrive; a line of stiff ones may come back."""
    arrived = 0
    for seed in range(1, 5):
        bodies, friction, start = case(problem(mu, seed))
        found, changes, _ = piecewise.trace(bodies, friction, 0.0 * start, compliance, 5000)
        if found is None:
            continue
        arrived += 1
        assert changes > 0
        r0 = anchored(bodies, friction, 0.0 * start)
        limit = rounding(bodies, found, compliance)
        assert limit < 1e-3  # a contact in a wrong state would be seen
        assert mismatch(bodies, friction, r0, found, compliance) < limit
    assert arrived == 4 or (compliance < 1.0 and arrived > 0)


@pytest.mark.parametrize("walk", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_hardened_springs_are_rigid_grains(seed: int, walk: bool) -> None:
    bodies, mu, start = case(problem(0.3, seed, tilt=0.5))
    r, found, _ = harden(bodies, mu, start, 1e-8, np.inf, walk=walk)
    scale, turn = bodies.weight[:, :1], bodies.weight[:, 1] / bodies.weight[:, 0]
    assert found <= 1e-8
    assert violation(scale * r, bodies.velocity(r), mu, turn, bodies.paths)[0] == pytest.approx(
        found
    )


def test_the_walk_goes_round_folds_that_stop_newton() -> None:
    """Of steps of a slide whose stiff springs Newton's method misses, walks solve all."""
    sim = heap(0.4, 5, tilt=0.45, count=80)
    missed, solved = 0, 0
    for _ in range(25):
        kept = record(sim)
        sim.step()
        assert kept.problem is not None
        bodies, mu, start = case(kept.problem)
        springs = Springs(bodies, mu)
        if springs.settle(springs.admitted(start), 1e4, 1e-9, 40)[0] is not None:
            continue
        missed += 1
        solved += harden(bodies, mu, start, 1e-7, np.inf, walk=True)[1] <= 1e-7
    assert missed >= 5
    assert solved == missed


@pytest.mark.parametrize("walk", [False, True])
def test_a_hopeless_patience_ends_with_the_start(walk: bool) -> None:
    bodies, mu, start = case(problem(0.3, 1))
    r, found, changes = harden(bodies, mu, start, 1e-8, 0.0, walk=walk)
    limit = mu * np.maximum(start[:, 0], 0.0)
    assert changes == 0
    # Impulses are measured as velocities on the way, and rounded once each way.
    np.testing.assert_allclose(r[:, 0], np.maximum(start[:, 0], 0.0), rtol=1e-15)
    assert (np.abs(r[:, 1]) <= (1.0 + 1e-15) * limit).all()
    assert np.isfinite(found)


def test_the_solver_takes_springs_where_sweeps_would_not_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(rigid._Search, "_swept", lambda *_: False)
    found = hg.RigidSolver().solve(problem(0.3, 2, tilt=0.5), seed=0, step=0)
    assert found.converged
    assert {"walk", "springs"} & {stage.method for stage in found.history}
