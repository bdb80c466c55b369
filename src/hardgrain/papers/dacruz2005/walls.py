"""The same flow between rough walls, as in the paper: does it matter that our cells have none?

Each wall is a row of disks of the same kind that touch each other. The lower one stands; the upper
one moves along at a constant speed and presses with the pressure. The flow begins with the profile
of homogeneous shear. In a steady flow both walls bear the same stress, which is that of every layer
between them, so that µ* is the shear force over the normal force on the walls. The shear rate, and
with it I, is read off the mean velocity of grains that are a few diameters away from both walls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.papers.dacruz2005.flow import (
    BLOCK,
    FRICTION,
    LOOSE,
    MASS,
    PRESS,
    PRESS_STEP,
    RESTITUTION,
    SPREAD,
    TOLERANCE,
    Job,
    time_step,
)
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At, Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import ContactLaw, Grains, Piston, Plane
from hardgrain.solve.rigid import RigidSolver

__all__ = ["Walled", "walled"]

WIDTH = 16.0  # of the cell along the flow [mean diameter]
AWAY = 5.0  # distance from both walls at which the profile is read [mean diameter]
DEEP = 2.0  # how much longer one wall takes to press grains together than a cell does [1]


@dataclass(frozen=True)
class Walled:
    """A flow between walls, block by block of strain."""

    friction: Floats  # (k,) µ*
    inertial: Floats  # (k,) the paper's I in the middle
    loose: float  # steps with a residual above 10⁻³


def _row(height: float, rng: np.random.Generator, wall: str) -> Grains:
    """Disks side by side that fill the width, one body with their wall."""
    diameter = rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, round(WIDTH))
    diameter *= WIDTH / diameter.sum()
    x = np.cumsum(diameter) - 0.5 * diameter
    place = At(positions=tuple((float(a), height) for a in x))
    return Grains(diameter=tuple(diameter), place=place, glued_to=wall)


def _scene(job: Job, speed: float) -> Scene:
    rng = np.random.default_rng(job.seed)
    height = job.count * MASS / (LOOSE * WIDTH) + 2.0
    press = Piston(mass=WIDTH, pressure=1.0, area=WIDTH)
    return Scene(
        dimension=2,
        periodic={"x": (0.0, WIDTH)},
        contacts=[ContactLaw(friction=FRICTION, restitution=RESTITUTION)],
        grains=[
            Grains(
                count=job.count,
                diameter=Uniform(min=1.0 - SPREAD, max=1.0 + SPREAD),
                place=Deposit(min=(0.0, 0.7), max=(WIDTH, height - 0.7)),
            ),
            _row(0.0, rng, "floor"),
            _row(height, rng, "lid"),
        ],
        walls=[
            Plane(name="floor", point=[0.0, -0.5], normal=[0.0, 1.0]),
            Plane(
                name="lid", point=[0.0, height + 0.5], normal=[0.0, -1.0],
                velocity=[speed, "free"], piston=press,
            ),
        ],
    )  # fmt: skip


def walled(job: Job) -> Walled:
    """Press grains between the walls, then shear them at about the job's I."""
    rate = job.inertial / math.sqrt(MASS)
    how: dict[str, Any] = {"solver": RigidSolver(tolerance=TOLERANCE), "seed": job.seed}
    pressed = Simulation(_scene(job, 0.0), dt=PRESS_STEP, **how)
    for _ in range(round(DEEP * PRESS / PRESS_STEP)):
        pressed.step()
    state = pressed.state
    grains = slice(0, job.count)
    floor, lid = state.position[-2:, 1]
    state.velocity[grains, 0] += rate * (state.position[grains, 1] - floor - 0.5)
    dt = time_step(rate)
    sim = Simulation(_scene(job, rate * (lid - floor - 1.0)), dt=dt, start=state, **how)
    per_strain = 1.0 / (rate * dt)
    for _ in range(round(job.skip * per_strain)):
        sim.step()
    friction, inertial = [], []
    for _ in range(round(job.strain / BLOCK)):
        force = np.zeros((2, 2))
        y, v = [], []
        for _ in range(round(BLOCK * per_strain)):
            sim.step()
            force += sim.engine.wall_force[-2:]
            height, speed = sim.state.position[grains, 1], sim.state.velocity[grains, 0]
            floor, lid = sim.state.position[-2:, 1]
            middle = (height > floor + 0.5 + AWAY) & (height < lid - 0.5 - AWAY)
            y.append(height[middle])
            v.append(speed[middle])
        shear, normal = force[0] - force[1]  # of the floor less of the lid
        friction.append(-shear / normal)
        slope = np.polyfit(np.concatenate(y), np.concatenate(v), 1)[0]
        inertial.append(slope * math.sqrt(MASS))
    return Walled(np.array(friction), np.array(inertial), sim.totals.loose)
