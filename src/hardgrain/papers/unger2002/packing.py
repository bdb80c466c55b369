"""Grains under a piston (the paper's Fig. 5): brought to rest, then made to ring.

A box with a fixed base and fixed sides, a piston on top that a force pushes down, friction 0.05
everywhere, no gravity. Grains have radii spread evenly in [r, 2r]. Lengths are in mean diameters;
the density of the grains and the pressure of the piston are one. The piston is as heavy as a solid
layer one diameter thick.

Two ways to make it ring. *Struck*: the force on the piston rises abruptly by a small share; wave
vector and motion are vertical. *Sheared*: the grains get horizontal velocities ~ sin(πy/H); wave
vector vertical, motion horizontal. Side walls would hold the grains back, so this is done in a
packing that repeats itself sideways; base and piston hold the grains that touch them by friction.

Either is a start (a scene and a state) and a set of weights that make one velocity of all. It also
tells how fast the sweeps work: what s sweeps of a single step leave of it falls like (1 − µ₁)^s,
with the rate µ₁ of the slowest mode, and by the exact map (`hardgrain.theory.chain`) µ₁ decides on
ω and τ for any number of sweeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.core.model import State
from hardgrain.errors import RunError
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At, Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform, draw
from hardgrain.scene.spec import Box, ContactLaw, Grains, Piston
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = [
    "DT",
    "JUMP",
    "SLENDER",
    "Excited",
    "PistonPacking",
    "loaded",
    "prepared",
    "ring",
    "sheared",
    "struck",
]

DT = 0.01  # a step in which the piston pushes a free grain by 10⁻⁴, and sound moves it by far less
FRICTION = 0.05  # coefficient of friction, the paper's [1]
LOOSE = {2: 0.55, 3: 0.36}  # packing fraction at the start: about what deposition reaches
SLENDER = {2: 0.8, 3: 0.7}  # width of the box [grains^(1/dim)]

# Unfinished sweeps make overlaps, which stay for ever; κ ~ N/dt² says that for the same work many
# short steps with few sweeps overlap less than few long ones. With these, the worst is about 10⁻³.
SWEEPS = 60
# Many contacts of a fresh packing are about to slide, in 3D a third of them: any more load makes it
# yield. Loaded a little more before, and then less, it is elastic in between.
OVERLOAD = 1.02
# Without gravity and air, grains that nothing holds fly about for ever: every so many steps, all
# velocities are set to zero. A packing at rest stays so; one that is not falls again.
QUIET, ROUND = 100, 300  # steps without motion of the piston; then, steps of the first round
STILL = 1e-18  # kinetic energy per grain that a round ends with in a packing at rest
MOST_STEPS = 100_000  # [steps] a packing that is not at rest by then counts as failed

JUMP = 1e-4  # rise of the force, so small that no contact slides or opens; see `piston`
SPEED = 1e-7  # speed that is given to the grains, small for the same reason
MOST_SWEEPS = 100_000  # [sweeps] a relaxation that takes longer counts as failed


@dataclass(frozen=True)
class PistonPacking:
    """Grains at rest under a piston, every contact law fulfilled."""

    scene: Scene  # the grains where they are; its seed decides on the order of sweeps alone
    state: State  # at rest; give it to a simulation as its start
    overlap: float  # worst overlap that was ever made [mean diameter]
    residual: float  # residual of the contact laws

    @property
    def height(self) -> float:
        """Height of the piston above the base [mean diameter]."""
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
        allow_overlaps=True,  # those that the run itself has made
        **(repeated if periodic else {}),
    )


def prepared(seed: int, grains: int = 1000, dim: int = 2, periodic: bool = False) -> PistonPacking:
    """Grains at random places with random velocities, compressed and brought to rest.

    With ``periodic`` the packing repeats itself sideways, so that no side walls hold the grains.
    """
    diameter = draw(Uniform(min=2.0 / 3.0, max=4.0 / 3.0), grains, np.random.default_rng(seed), 2)
    solid = np.sum(diameter**dim) * (math.pi / 4.0 if dim == 2 else math.pi / 6.0)
    width = SLENDER[dim] * grains ** (1.0 / dim)
    base = (width,) * (dim - 1)
    size = (*base, float(solid) / LOOSE[dim] / math.prod(base))
    place = Deposit(min=(0.0,) * dim, max=size)
    loose = Grains(diameter=tuple(diameter), place=place, speed=1.0)
    scene, solver = _scene(loose, size, periodic), GaussSeidel(sweeps=SWEEPS)
    sim = Simulation(loaded(scene, OVERLOAD), dt=DT, solver=solver, seed=seed)
    _settle(sim)
    overlap = sim.totals.worst_overlap
    sim = Simulation(scene, dt=DT, solver=solver, seed=seed, start=sim.state)
    _settle(sim)
    # The same grains and walls go into a scene of their own.
    x = sim.state.position
    here = At(positions=tuple(map(tuple, x[:grains].tolist())))
    rest = Grains(diameter=tuple(2.0 * sim.model.radius), place=here)
    scene = _scene(rest, (*base, float(x[-1, -1])), periodic)
    assert sim.report is not None
    overlap = max(overlap, sim.totals.worst_overlap)
    return PistonPacking(scene, sim.state, overlap, sim.report.residual)


def _settle(sim: Simulation) -> None:
    """Step until the piston and then all grains are at rest."""
    quiet = 0
    while quiet < QUIET:
        sim.step()
        quiet = quiet + 1 if abs(sim.state.velocity[-1, -1]) < 1e-3 else 0
    steps = ROUND
    while steps < MOST_STEPS:
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
        for _ in range(steps):
            report = sim.step()
        if report.kinetic < STILL * sim.model.n:
            sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
            return
        steps *= 2  # a grain that is hardly pushed takes its time to get out of the way
    raise RunError(f"the packing with seed {sim.scenario.seed} did not come to rest")


def loaded(scene: Scene, factor: float) -> Scene:
    """The scene with this many times the force on the piston."""
    (box,) = scene.walls
    assert isinstance(box, Box)
    top = box.pistons["top"]
    assert isinstance(top.force, float)
    more = {"top": top.model_copy(update={"force": factor * top.force})}
    return scene.model_copy(update={"walls": [box.model_copy(update={"pistons": more})]})


@dataclass(frozen=True)
class Excited:
    """A packing that is about to ring, and the velocity of it that is watched, Σ weight v."""

    scene: Scene
    state: State
    weight: Floats  # (bodies,)
    axis: int
    scale: float  # unit in which the velocity is given

    def step(self, sweeps: int, seed: int, steps: int) -> Floats:
        """Velocity after each step, shape (steps,)."""
        solver = GaussSeidel(sweeps=sweeps)
        sim = Simulation(self.scene, dt=DT, solver=solver, seed=seed, start=self.state)
        velocity = np.empty(steps)
        for i in range(steps):
            sim.step()
            velocity[i] = self.weight @ sim.state.velocity[:, self.axis]
        v: Floats = velocity / self.scale
        return v

    def ring(self, sweeps: int, steps: int, seed: int = 0) -> Floats:
        """Displacement after each step, shape (steps,): summed up, so that no digit is lost."""
        x: Floats = DT * np.cumsum(self.step(sweeps, seed, steps))
        return x

    def rate(self, seed: int = 0) -> float:
        """The rate µ₁ from sweeps alone: how fast they take the velocity out of a single step.

        Their number is doubled until 10⁻⁴ of it is left; µ₁ is that of their second half.
        """
        sweeps, left = 2, [float(self.step(1, seed, 1)[0])]
        while sweeps <= MOST_SWEEPS:
            left.append(float(self.step(sweeps, seed, 1)[0]))
            if abs(left[-1]) < 1e-4 * abs(left[0]):
                return -math.expm1(math.log(abs(left[-1] / left[-2])) / (sweeps / 2))
            sweeps *= 2
        return math.nan


def struck(packing: PistonPacking, jump: float = JUMP) -> Excited:
    """The piston, at the moment its force rises by the share ``jump``; displacements per jump."""
    weight = np.zeros(len(packing.state.position))
    weight[-1] = 1.0
    dim = packing.state.position.shape[1]
    return Excited(loaded(packing.scene, 1.0 + jump), packing.state, weight, dim - 1, jump)


def sheared(packing: PistonPacking, speed: float = SPEED) -> Excited:
    """The grains that bear a force, at velocities ~ sin(πy/H); amplitudes per ``speed``."""
    state = packing.state.copy()
    c, bodies = state.contacts, len(state.position)
    pushed = c.normal_impulse() > 0.0
    touching = np.bincount(np.append(c.first[pushed], c.second[pushed]), minlength=bodies)
    mode = np.sin(math.pi * state.position[:, -1] / packing.height) * (touching > 1)
    diameter = np.array(packing.scene.grains[0].diameter)
    mode[diameter.size :] = 0.0  # walls do not take part
    state.velocity[:, 0] = speed * mode
    weight = mode.copy()
    weight[: diameter.size] *= diameter ** state.position.shape[1]  # ~ mass
    return Excited(packing.scene, state, weight / (weight @ mode), 0, speed)


def ring(
    packing: PistonPacking, sweeps: int, steps: int, jump: float = JUMP, seed: int = 0
) -> Floats:
    """Displacement of the piston, shape (steps,), after its force has risen by a share ``jump``.

    In units of ``jump``: what the elastic answer to a doubled force would be.
    """
    return struck(packing, jump).ring(sweeps, steps, seed)
