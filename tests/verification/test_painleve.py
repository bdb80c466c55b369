"""Painlevé's rod: its foot slides, and with much friction rigid bodies have no acceleration.

A rod leans back with its foot ahead of its centre, seen along its way, and slides with friction
T = µ N against the motion. The normal acceleration of the foot is a = q + p N/m. With r from the
centre to the foot and k² the moment of inertia over the mass,

    p = 1 + r_x (r_x + s µ r_y)/k²,        s = ±1 the sense of sliding.

For large µ the torque of friction turns the foot into the ground more than N lifts it: p < 0. If
also q < 0, no N ≥ 0 gives a ≥ 0: there is no acceleration that obeys all laws (Painlevé 1895).

Time stepping does not ask for accelerations. Over a step, impulses and velocities at its end must
obey Signorini's and Coulomb's laws, and these have a solution: the foot is stopped by an impulse
that does not shrink with the step. It is an impact without a collision (Lecornu 1905; Stewart
2000), the limit of a very stiff ground.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import hardgrain as hg
from hardgrain.measure.energy import kinetic_energy, rotational_energy

LENGTH, THICK = 2.0, 0.01
LEAN = 1.0  # [rad] from the ground
MUCH, LITTLE = 2.0, 0.5  # µ beyond and below where p changes its sign: 4/3 for a thin rod at best


def foot() -> np.ndarray:
    """From the centre of the rod to its lowest corner."""
    c, s = math.cos(LEAN), math.sin(LEAN)
    ends = 0.5 * np.array([[-LENGTH, -THICK], [-LENGTH, THICK], [LENGTH, -THICK], [LENGTH, THICK]])
    turned = ends @ np.array([[c, s], [-s, c]])
    lowest: np.ndarray = turned[turned[:, 1].argmin()]
    return lowest


def rod(friction: float, speed: float, dt: float, lift: float = 0.0) -> hg.Simulation:
    rod = hg.Grains(
        shape={"kind": "box", "sides": [LENGTH, THICK]},
        place=hg.At(positions=[[0.0, -foot()[1]]]),
        orientation=LEAN,
        velocity=[speed, lift],
    )
    scene = hg.Scene(
        gravity=[0, -1],
        grains=[rod],
        walls=[hg.Plane(point=[0, 0], normal=[0, 1], name="ground")],
        contacts=[hg.ContactLaw(friction=friction)],
    )
    solver = hg.GaussSeidel(sweeps=5000, stop="residual", tolerance=1e-12)
    return hg.Simulation(scene, dt=dt, solver=solver)


def response(friction: float, sense: float) -> float:
    """p, the normal acceleration of the sliding foot for a unit of N/m."""
    x, y = foot()
    return float(1.0 + 12.0 * x * (x + sense * friction * y) / (LENGTH**2 + THICK**2))


def energy(sim: hg.Simulation) -> float:
    height = sim.model.mass[0] * sim.state.position[0, 1]
    return float(kinetic_energy(sim) + rotational_energy(sim) + height)


@pytest.mark.parametrize(("friction", "sense"), [(LITTLE, 1.0), (LITTLE, -1.0), (MUCH, 1.0)])
def test_where_accelerations_exist_the_foot_slides(friction: float, sense: float) -> None:
    """p > 0: N = −q m/p, with q = −g for a rod that does not turn yet."""
    dt = 1e-3
    sim = rod(friction, sense, dt)
    sim.step()
    up = -sim.state.contacts.impulse.sum(axis=0) / (sim.model.mass[0] * dt)  # on the rod, over m
    p = response(friction, sense)
    assert p > 0.0
    np.testing.assert_allclose(up, [-sense * friction / p, 1.0 / p], rtol=1e-10)


@pytest.mark.parametrize("dt", [1e-2, 1e-4])
def test_where_none_exist_an_impulse_stops_the_foot(dt: float) -> None:
    """p < 0: the impulse is that which brings the foot to rest, whatever the step.

    With W the inverse inertia of the foot, W P = −u, where u is the free velocity of the foot, and
    P lies inside the cone of friction.
    """
    sim = rod(MUCH, -1.0, dt)
    assert response(MUCH, -1.0) < 0.0
    before = energy(sim)
    report = sim.step()
    x, y = foot()
    k2 = (LENGTH**2 + THICK**2) / 12.0
    w = np.eye(2) + np.array([[y * y, -x * y], [-x * y, x * x]]) / k2
    expected = np.linalg.solve(w, [1.0, dt])
    push = -sim.state.contacts.impulse.sum(axis=0) / sim.model.mass[0]
    np.testing.assert_allclose(push, expected, rtol=1e-9)
    assert abs(push[0]) < MUCH * push[1]
    turned = sim.state.spin[0, 0] * np.array([-y, x])
    np.testing.assert_allclose(sim.state.velocity[0] + turned, 0.0, atol=1e-10)  # of the foot
    assert report.residual < 1e-10  # every law holds
    assert energy(sim) < before
    assert push[1] > 0.1  # no force over dt, but an impact: m g dt is a hundred times less, or more


def test_where_the_foot_lifts_two_solutions_obey_all_laws() -> None:
    """A foot that rises needs no impulse; the one that would stop it is lawful as well.

    Sweeps that start from zero find the first. Nothing in the laws tells which one is right.
    """
    dt, lift = 1e-3, 0.01
    sim = rod(MUCH, -1.0, dt, lift)
    sim.step()
    assert not sim.state.contacts.impulse.any()
    np.testing.assert_allclose(sim.state.velocity[0], [-1.0, lift - dt], rtol=1e-12)
    x, y = foot()
    k2 = (LENGTH**2 + THICK**2) / 12.0
    w = np.eye(2) + np.array([[y * y, -x * y], [-x * y, x * x]]) / k2
    other = np.linalg.solve(w, [1.0, dt - lift])  # it stops the foot, along both axes
    assert other[1] > 0.0
    assert abs(other[0]) < MUCH * other[1]


def test_no_energy_is_created_until_it_lies() -> None:
    """It is stopped, jumps, lands and falls over: energy only falls, but for the order of dt².

    The step solves at the geometry of its start: a corner about which the rod turns by ω dt sinks
    in or lifts by (ω dt)² L/2, which is worth m g times as much.
    """
    dt = 1e-3
    sim = rod(MUCH, -1.0, dt)
    last, start, mass = energy(sim), energy(sim), sim.model.mass[0]
    for _ in range(6000):
        turn = sim.state.spin[0, 0] * dt
        sim.step()
        now = energy(sim)
        assert now < last + 2.0 * mass * LENGTH * turn**2 + 1e-12 * start
        last = now
    assert sim.state.position[0, 1] == pytest.approx(0.5 * THICK, abs=1e-3)
    assert np.abs(sim.state.velocity[0]).max() < 1e-6
