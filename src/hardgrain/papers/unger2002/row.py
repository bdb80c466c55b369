"""A row of disks against a wall: the paper's test system (its Fig. 3), run by the general engine.

Disks of unit mass and diameter on the x axis, locked to it, and a wall on their left; dt = 1, so
that forces are in d m/dt², speeds in d/dt and frequencies in 1/dt. With n grains that all touch, n
contacts, the slowest wave has λ = 4 n d: the wall is fixed, the last grain free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.papers.fit import Floats, Ringing, damped_sine
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Material, Plane
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.jacobi import Jacobi
from hardgrain.theory.chain import Q

__all__ = ["Chain", "chain", "row", "solver"]


def solver(order: str, sweeps: int) -> GaussSeidel | Jacobi:
    """The solver that makes this many sweeps a step in the given order."""
    if order not in Q:
        raise InputError(f"order is {order!r}; give one of {', '.join(Q)}")
    if order == "parallel":
        return Jacobi(sweeps=sweeps, relaxation=1.0)
    choice: Any = order
    return GaussSeidel(sweeps=sweeps, order=choice)


def row(particles: int, force: float, gap: float = 0.0) -> Scene:
    """Disks that touch each other, ``gap`` from the wall; ``force`` pushes the last one to it."""
    if particles < 2:
        raise InputError(f"particles is {particles}; at least 2 make a chain")
    places = [(gap + 0.5 + i, 0.0) for i in range(particles)]
    locked: dict[str, Any] = {"lock": ["y", "rotation"]}
    return Scene(
        materials={"disk": Material(density=4.0 / math.pi)},  # unit mass
        contacts=[ContactLaw(friction=0.0)],
        grains=[
            Grains(place=At(positions=tuple(places[:-1])), **locked),
            Grains(place=At(positions=tuple(places[-1:])), force=[-force, 0.0], **locked),
        ],
        walls=[Plane(point=[0.0, 0.0], normal=[1.0, 0.0])],
    )


@dataclass(frozen=True)
class Chain:
    """The motion of a chain's last particle."""

    time: Floats  # (steps,) [dt]
    position: Floats  # (steps,) of the last particle's centre, from the wall [d]
    settled: float  # from here on every contact bears a force; inf: never [dt]

    def fit(self, start: float, stop: float) -> Ringing:
        """x0 + A exp(−t/τ) sin(ωt + φ), fitted to the times from ``start`` to ``stop``."""
        window = (self.time >= start) & (self.time <= stop)
        return damped_sine(self.time[window], self.position[window])


def chain(
    particles: int = 50,
    sweeps: int = 40,
    force: float = 0.05,
    steps: int = 1000,
    seed: int = 0,
    order: str = "random",
) -> Chain:
    """The paper's Fig. 4: a chain, one diameter from a wall, that a force makes run into it.

    ``force`` on the last particle is in d m/dt²; times are in steps, lengths in diameters.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; at least 1 is needed")
    scene = row(particles, force, gap=1.0)
    sim = Simulation(scene, dt=1.0, solver=solver(order, sweeps), seed=seed)
    position, loaded = np.empty(steps), np.empty(steps, dtype=int)
    for i in range(steps):
        loaded[i] = sim.step().loaded
        position[i] = sim.state.position[particles - 1, 0]
    time = np.arange(1.0, steps + 1.0)
    open_ = np.flatnonzero(loaded < particles)
    settled = 0.0 if open_.size == 0 else math.inf if open_[-1] == steps - 1 else time[open_[-1]]
    return Chain(time, position, float(settled))
