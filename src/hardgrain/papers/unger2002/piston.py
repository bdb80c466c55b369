"""Grains under a piston: the paper's Figs. 5 and 6.

A box with a fixed base and fixed sides, a piston on top that a force pushes down, friction 0.05
everywhere, no gravity. Grains have radii spread evenly in [r, 2r]. Lengths are in mean diameters;
the density of the grains and the pressure of the piston are one. The piston is as heavy as a solid
layer one diameter thick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.errors import RunError
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.model import State
from hardgrain.scene.place import At, Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform, draw
from hardgrain.scene.spec import Box, ContactLaw, Grains, Piston
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = ["DT", "Packing", "loaded", "prepared", "ring"]

DT = 0.01  # in it the piston pushes a free grain by 10⁻⁴, and sound moves it by far less
FRICTION = 0.05
LOOSE = {2: 0.55, 3: 0.36}  # packing fraction at the start: about what deposition reaches
SLENDER = {2: 0.8, 3: 0.7}  # width of the box [grains^(1/dim)]

# Unfinished sweeps cost overlap, which stays for ever; κ ~ N/dt² says that for the same work many
# short steps with few sweeps overlap less than few long ones. These: below 10⁻³ diameters.
SWEEPS = 60
# Without gravity and air, grains that nothing holds fly about for ever: every so many steps, all
# velocities are set to zero. A packing at rest stays so; one that is not falls again.
ROUND = 300
STILL = 1e-18  # kinetic energy per grain that a round ends with in a packing at rest


@dataclass(frozen=True)
class Packing:
    """Grains at rest under a piston, every contact law fulfilled."""

    scene: Scene  # the grains where they are; its seed decides on the order of sweeps alone
    state: State  # at rest; give it to a simulation as its start
    overlap: float  # the worst that was ever made [mean diameter]
    residual: float  # of the contact laws

    @property
    def height(self) -> float:
        """Of the piston above the base [mean diameter]."""
        return float(self.state.position[-1, -1])


def _scene(grains: Grains, size: tuple[float, ...], periodic: bool) -> Scene:
    area, dim = math.prod(size[:-1]), len(size)
    sides = ["left", "right", "front", "back"][: 2 * (dim - 1)]
    box = Box(
        min=[0.0] * dim,
        max=list(size),
        pistons={"top": Piston(mass=area, force=area)},
        open=sides if periodic else [],
    )
    repeated: dict[str, Any] = {"periodic": dict.fromkeys("xy"[: dim - 1], (0.0, size[0]))}
    return Scene(
        dimension=2 if dim == 2 else 3,
        contacts=[ContactLaw(friction=FRICTION)],
        grains=[grains],
        walls=[box],
        allow_overlaps=True,  # as far as they were made
        **(repeated if periodic else {}),
    )


def prepared(seed: int, grains: int = 1000, dim: int = 2, periodic: bool = False) -> Packing:
    """Grains at random places with random velocities, compressed and brought to rest.

    ``periodic``: the sides are one, so that nothing there holds the grains.
    """
    diameter = draw(Uniform(min=2.0 / 3.0, max=4.0 / 3.0), grains, np.random.default_rng(seed))
    solid = np.sum(diameter**dim) * (math.pi / 4.0 if dim == 2 else math.pi / 6.0)
    width = SLENDER[dim] * grains ** (1.0 / dim)
    base = (width,) * (dim - 1)
    size = (*base, float(solid) / LOOSE[dim] / math.prod(base))
    place = Deposit(min=(0.0,) * dim, max=size)
    loose = Grains(diameter=tuple(diameter), place=place, speed=1.0)
    scene = _scene(loose, size, periodic)
    solver = GaussSeidel(sweeps=SWEEPS)
    sim = Simulation(scene, dt=DT, solver=solver, seed=seed)
    piston = [1.0]
    while max(piston[-100:]) > 1e-3:  # its speed
        sim.step()
        piston.append(abs(sim.state.velocity[-1, -1]))
    overlap = sim.totals.worst_overlap
    # the same grains and walls in a scene of their own
    x = sim.state.position
    here = At(positions=tuple(map(tuple, x[:grains].tolist())))
    rest = Grains(diameter=tuple(2.0 * sim.model.radius), place=here)
    scene, state = _scene(rest, (*base, float(x[-1, -1])), periodic), sim.state
    for _ in range(200):
        state.velocity[:], state.spin[:] = 0.0, 0.0
        sim = Simulation(scene, dt=DT, solver=solver, seed=seed, start=state)
        kinetic = [sim.step().kinetic for _ in range(ROUND)]
        state = sim.state
        overlap = max(overlap, sim.totals.worst_overlap)
        if kinetic[-1] < STILL * grains:
            break
    else:
        raise RunError(f"the packing with seed {seed} did not come to rest")
    assert sim.report is not None
    state.velocity[:], state.spin[:] = 0.0, 0.0
    return Packing(scene, state, overlap, sim.report.residual)


def loaded(scene: Scene, factor: float) -> Scene:
    """The same with this many times the force on the piston."""
    (box,) = scene.walls
    assert isinstance(box, Box)
    top = box.pistons["top"]
    assert isinstance(top.force, float)
    more = {"top": top.model_copy(update={"force": factor * top.force})}
    return scene.model_copy(update={"walls": [box.model_copy(update={"pistons": more})]})


def ring(packing: Packing, sweeps: int, steps: int, jump: float = 1e-3, seed: int = 0) -> Floats:
    """Displacement of the piston, shape (steps,), after its force has risen by a share ``jump``.

    In units of ``jump``: what the elastic answer to a doubled force would be.
    """
    scene = loaded(packing.scene, 1.0 + jump)
    solver = GaussSeidel(sweeps=sweeps)
    sim = Simulation(scene, dt=DT, solver=solver, seed=seed, start=packing.state)
    height = np.empty(steps)
    for i in range(steps):
        sim.step()
        height[i] = sim.state.position[-1, -1]
    moved: Floats = (height - packing.height) / jump
    return moved
