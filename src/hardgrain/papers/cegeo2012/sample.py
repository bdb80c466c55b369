"""A biaxial test: grains made dense without friction, then compressed from above with friction.

As in the paper: smooth walls, no gravity, no restitution; radii of circumscribed circles from R to
3R, with as much area in grains of any one size as in those of any other, which is how we read its
"uniform distribution of particle volumes"; isotropic compaction without friction; then the top
comes down slowly while the side yields at constant pressure, with µ = 0.5 between grains.

Otherwise than in the paper there are some hundred grains in place of 5000, so that walls matter
more, and grains are deposited as polygons rather than as disks.

Lengths are in mean diameters of circumscribed circles, the lateral pressure and the density of the
grains are one. A strain rate is then the inertial number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hardgrain.core.model import State
from hardgrain.papers.cegeo2012.look import Look, look
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.run.stop import Steps
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.shapes import Polygon
from hardgrain.scene.spec import ContactLaw, Grains, Material, Piston, Plane
from hardgrain.solve.rigid import RigidSolver

__all__ = ["FRICTION", "ROUND", "Compacted", "Sheared", "compacted", "eta", "name", "sheared"]

FRICTION = 0.5  # coefficient of friction between grains in shear, the paper's [1]
SPAN = 3.0  # largest over smallest radius, the paper's [1]
ROUND = 0  # number of sides that stands for disks

# [1] Residual of every step of the compaction, where only the end matters. With 10⁻⁵ the compaction
# of polygons with twelve sides takes many times as long.
ROUGH = 1e-4
# [1] Residual of every step in shear. With 10⁻⁴ the monitor finds many packings of sheared polygons
# soft, and with 10⁻⁵ three out of twenty; the numbers are the same. With 30 sweeps a step,
# unconverged, sheared pentagons have 4 % more contacts that bear a force.
TOLERANCE = 1e-6
# [mass] Mass of the walls that are pushed, that of a few grains. Ten times as much, and a packing
# that jams and yields sets the side wall swinging: its pressure is then off by a third.
MASS = 5.0

FALL = 25.0  # time of the first compaction, in which the walls come in [time]
SETTLE_STEP = 0.02  # time step of the compaction [time]
# Without friction and gravity, grains that nothing holds drift about: after the first compaction
# all velocities are set to zero every so many steps. A packing at rest stays so.
COOLING = 100  # [steps]
STILL = 1e-9  # kinetic energy per grain after a round in a packing at rest [pressure × area]
MOST_ROUNDS = 40

# [1/time] Rate of axial strain. Strength and contacts of sheared pentagons were the same, within
# their errors, at rates from 3·10⁻⁴ to 3·10⁻³.
RATE = 2e-3
LAST = 20  # steps after the test at whose end the run judges whether it was rigid
SHEAR_STEP = 0.1  # the top comes down by 0.002 mean diameters in a step [time]


def name(sides: int) -> str:
    """What grains of so many sides are called, in the plural."""
    known = {3: "triangles", 4: "squares", 5: "pentagons", 6: "hexagons", 8: "octagons"}
    return "disks" if sides == ROUND else known.get(sides, f"{sides}-gons")


def eta(sides: int) -> float:
    """The paper's shape parameter η of a regular polygon."""
    return 0.0 if sides == ROUND else 1.0 - math.cos(math.pi / sides)


def _diameters(count: int, seed: int) -> Floats:
    """Diameters with a density ~ d⁻² from 1 to SPAN, mean one; only their order is drawn."""
    share = (np.arange(count) + 0.5) / count
    diameter = 1.0 / (1.0 - share * (1.0 - 1.0 / SPAN))
    mixed: Floats = np.random.default_rng(seed).permutation(diameter / diameter.mean())
    return mixed


def _pressed(low: str, high: str) -> dict[str, Any]:
    """A wall that presses with the pressure one on the span between two others."""
    return {"piston": Piston(mass=MASS, pressure=1.0, between=[(low, high)])}


def _scene(sides: int, count: int, seed: int, friction: float, top: dict[str, Any]) -> Scene:
    diameter = _diameters(count, seed)
    room = 1.5 * math.sqrt(float(np.sum(diameter**2)))  # half of it is filled at first
    shape: dict[str, Any] = {}
    if sides != ROUND:
        shape = {"shape": Polygon(sides=sides), "orientation": "random"}
    walls = {
        "left": ([0.0, 0.0], [1.0, 0.0], {}),
        "right": ([room, 0.0], [-1.0, 0.0], _pressed("bottom", "top")),
        "bottom": ([0.0, 0.0], [0.0, 1.0], {}),
        "top": ([0.0, room], [0.0, -1.0], top),
    }
    return Scene(
        materials={"grain": Material(), "wall": Material()},
        contacts=[
            ContactLaw(friction=friction),
            ContactLaw(between=("grain", "wall"), friction=0.0),
        ],
        grains=[
            Grains(
                diameter=tuple(diameter),
                place=Deposit(min=(0.0, 0.0), max=(room, room)),
                **shape,
            )
        ],
        walls=[
            Plane(name=k, point=point, normal=normal, material="wall", **how)
            for k, (point, normal, how) in walls.items()
        ],
    )


@dataclass(frozen=True)
class Compacted:
    """A dense packing at rest under the same pressure from all sides, without friction."""

    state: State
    seen: Look
    loose: float  # steps with a residual above 10⁻³
    deepest: float  # worst overlap that was ever made [least width of the smaller grain]


@lru_cache(maxsize=256)  # packings that both experiments begin with
def compacted(sides: int, count: int, seed: int) -> Compacted:
    """Grains at random places, compressed without friction and brought to rest."""
    scene = _scene(sides, count, seed, 0.0, _pressed("left", "right"))
    solver = RigidSolver(tolerance=ROUGH)
    sim = Simulation(scene, dt=SETTLE_STEP, solver=solver, seed=seed)
    for _ in range(round(FALL / SETTLE_STEP)):
        sim.step()
    for _ in range(MOST_ROUNDS):
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
        for _ in range(COOLING):
            report = sim.step()
        if report.kinetic < STILL * count:
            break
    return Compacted(sim.state, look(sim), sim.totals.loose, sim.totals.deepest)


@dataclass(frozen=True)
class Sheared:
    """A biaxial test from its beginning."""

    strain: Floats  # (k,) axial, ln(H₀/H)
    seen: list[Look]  # what was seen at these strains
    loose: float  # steps with a residual above 10⁻³
    steps: float
    deepest: float  # worst overlap that was made in it [least width of the smaller grain]
    rigid: bool  # the run's own verdict on its end

    def mean(self, since: float) -> dict[str, float]:
        """Means over all strains from the given one."""
        late = [s for e, s in zip(self.strain, self.seen) if e >= since]
        return {k: float(np.mean([getattr(s, k) for s in late])) for k in late[0].__slots__}


def sheared(sides: int, count: int, seed: int, strain: float, looks: int = 100) -> Sheared:
    """The dense packing, compressed from above with friction up to an axial strain."""
    state = compacted(sides, count, seed).state
    height = float(state.position[-1, 1])  # of the top wall, which is the last body
    down = {"velocity": [0.0, f"{-RATE * height} * ramp(t, 0, 2)"]}
    scene = _scene(sides, count, seed, FRICTION, down)
    solver = RigidSolver(tolerance=TOLERANCE)
    sim = Simulation(scene, dt=SHEAR_STEP, solver=solver, seed=seed, start=state)
    steps = round(strain / (RATE * SHEAR_STEP))
    every = max(1, steps // looks)
    at, seen = [], []
    for k in range(1, steps + 1):
        sim.step()
        if k % every == 0:
            at.append(math.log(height / float(sim.state.position[-1, 1])))
            seen.append(look(sim))
    rigidity = sim.run(until=Steps(steps=steps + LAST)).rigidity
    totals = sim.totals
    return Sheared(
        np.array(at), seen, totals.loose, totals.steps, totals.deepest,
        rigidity is not None and rigidity.rigid,
    )  # fmt: skip
