"""The array of the paper's Fig. 1 as a scene in the plane, run by the general engines.

Disks of unit mass and radius (I = 1/2) in a row on the plane y = 0, under unit gravity, between two
blocks that move along x alone. Nothing here knows that contacts stay closed, that the disks share
one velocity or which of them roll: the engines find out. Particle 1 is next to the braking block
and has the largest x; the array moves towards +x, where rolling is a rotation with negative spin.

Blocks need a mass m_b here. It changes the forces that reach the array, N_0 = brake + m_b v̇ and
N_L = drive − m_b v̇, and nothing else; the exact solver takes it as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hardgrain.errors import InputError
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Material, Piston, Plane
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.engine import RigidGrains, SoftParticles
from hardgrain.step.stable_step import admissible_step

__all__ = [
    "BLOCK_MASS",
    "DAMPING",
    "STIFFNESS",
    "ArrayMotion",
    "contact_dynamics",
    "scene",
    "soft_particles",
]

# Mass of a block [m], where none is given. With massless ones µ_g of the paper's Fig. 3 would be
# larger by 10⁻⁶ and v̇ by 0.2 %; lighter ones shorten the explicit steps of soft particles.
BLOCK_MASS = 0.01
# k_n and γ_n of the paper's MD [m g/r, m √(g/r)]
STIFFNESS, DAMPING = 2e5, 200.0

# The blocks, the plane and a ceiling that nothing touches, in this order, are the bodies after the
# disks. The ceiling tells soft particles that a block never meets more than two disks at once:
# explicit steps may then be up to L/2 times as long. It is one radius above the disks.
BRAKE, DRIVE, PLANE = range(3)
CEILING = 3.0


def scene(
    particles: int,
    drive: float,
    brake: float,
    mu: float,
    mu_plane: float,
    mu_block: float,
    *,
    omega0: ArrayLike = 0.0,
    v0: float = 0.0,
    block_mass: float = BLOCK_MASS,
) -> Scene:
    """Disks that just touch each other, the plane and the blocks.

    ``omega0``: angular velocities of the disks, one for all or shape (particles,), positive where
    they roll forward. A piston begins at rest in a scene; `simulation` gives the blocks ``v0``.
    """
    spins = np.asarray(omega0, dtype=float)
    if spins.shape not in ((), (particles,)):
        raise InputError(
            f"omega0 has shape {spins.shape}; it must be one number, or {particles}, one for each"
            " disk"
        )
    spins = np.broadcast_to(spins, particles)
    ends = {"brake": (1.0, -1.0, brake), "drive": (1.0 - 2.0 * particles, 1.0, drive)}
    return Scene(
        gravity=[0.0, -1.0],
        materials={name: Material(density=1.0 / math.pi) for name in ("disk", "plane", "block")},
        contacts=[
            ContactLaw(between=("disk", "disk"), friction=mu),
            ContactLaw(between=("disk", "plane"), friction=mu_plane),
            ContactLaw(between=("disk", "block"), friction=mu_block),
        ],
        grains=[
            Grains(
                diameter=2.0,
                place=At(positions=((-2.0 * i, 1.0),)),
                velocity=[v0, 0.0],
                spin=-float(spin),
            )
            for i, spin in enumerate(spins)
        ],
        walls=[
            *(
                Plane(
                    name=name,
                    point=[x, 0.0],
                    normal=[facing, 0.0],
                    material="block",
                    piston=Piston(mass=block_mass, force=force),
                )
                for name, (x, facing, force) in ends.items()
            ),
            Plane(name="plane", point=[0.0, 0.0], normal=[0.0, 1.0], material="plane"),
            Plane(name="ceiling", point=[0.0, CEILING], normal=[0.0, -1.0], material="plane"),
        ],
    )


def simulation(
    array: Scene,
    dt: float,
    *,
    solver: GaussSeidel | None = None,
    engine: RigidGrains | SoftParticles | None = None,
    seed: int = 0,
) -> Simulation:
    """A simulation of the array whose blocks move along with the first disk."""
    model, start = array.build(seed)
    start.velocity[[model.n + BRAKE, model.n + DRIVE], 0] = start.velocity[0, 0]
    return Simulation(array, dt=dt, solver=solver, engine=engine, seed=seed, start=start)


@dataclass(frozen=True)
class ArrayMotion:
    """What an array did, sampled at n times; forces in the paper's conventions, [m g].

    Those of contact dynamics are means over the step that ends at the time, those of soft particles
    belong to the time. A contact that is open bears none.
    """

    step: float  # length of a step, or of an explicit one of soft particles [√(r/g)]
    time: Floats  # (n,) [√(r/g)]
    velocity: Floats  # (n,) velocity of the disks' centre of mass
    omega: Floats  # (n, L) angular velocities of disks 1 … L, positive where they roll forward
    normal: Floats  # (n, L + 1): N_0 … N_L
    normal_plane: Floats  # (n, L): N'_1 … N'_L
    tangential: Floats  # (n, L + 1): T_0 … T_L
    tangential_plane: Floats  # (n, L): T'_1 … T'_L

    @property
    def friction(self) -> Floats:
        """The collective friction µ_g = Σ T'/L, shape (n,)."""
        mean: Floats = self.tangential_plane.mean(axis=1)
        return mean

    @property
    def acceleration(self) -> Floats:
        """The acceleration v̇ of the centre of mass, (N_L − N_0)/L − µ_g by (3), shape (n,)."""
        pushed: Floats = (self.normal[:, -1] - self.normal[:, 0]) / self.omega.shape[1]
        return pushed - self.friction

    @property
    def forces(self) -> Floats:
        """All of N, N', T, T' side by side, shape (n, 4 L + 2)."""
        return np.hstack([self.normal, self.normal_plane, self.tangential, self.tangential_plane])

    @property
    def slip(self) -> Floats:
        """The slip u_i = ω_i + ω_{i+1} of the sides 0 … L, (n, L + 1); blocks do not rotate."""
        u: Floats = np.pad(self.omega, ((0, 0), (1, 0))) + np.pad(self.omega, ((0, 0), (0, 1)))
        return u

    @property
    def slip_plane(self) -> Floats:
        """The slip u'_i = v − ω_i of the disks 1 … L on the plane, shape (n, L)."""
        u: Floats = self.velocity[:, None] - self.omega
        return u

    @property
    def closed(self) -> bool:
        """Whether every contact bore a force at every time."""
        return bool((self.normal > 0.0).all() and (self.normal_plane > 0.0).all())


def follow(sim: Simulation, steps: int, every: int = 1) -> ArrayMotion:
    """Make so many steps and look at the array after every so many of them."""
    size, bodies = sim.model.n, sim.model.bodies
    samples = steps // every
    time, velocity, omega = np.empty(samples), np.empty(samples), np.empty((samples, size))
    # Forces on second bodies by place: sides 0 … L, then the plane's 1 … L, then all others.
    force = np.zeros((samples, 2 * size + 2, 2))
    place = np.full((size, bodies), 2 * size + 1)
    disks = np.arange(size)
    place[disks[:-1], disks[1:]] = disks[1:]
    place[0, size + BRAKE], place[-1, size + DRIVE] = 0, size
    place[:, size + PLANE] = size + 1 + disks
    for k in range(samples):
        for _ in range(every):
            sim.step()
        s, c = sim.state, sim.state.contacts
        time[k], velocity[k], omega[k] = s.time, s.velocity[:size, 0].mean(), -s.spin[:size, 0]
        force[k, place[c.first, c.second]] = c.impulse / sim.dt
    side, plane = force[:, : size + 1], force[:, size + 1 : -1]
    forward = np.where(np.arange(size + 1) == 0, 1.0, -1.0)  # on which side the second body lies
    softness = sim.engine.softness
    return ArrayMotion(
        sim.dt if softness is None else softness.step, time, velocity, omega,
        normal=forward * side[..., 0],
        normal_plane=-plane[..., 1],
        tangential=-forward * side[..., 1],
        tangential_plane=plane[..., 0],
    )  # fmt: skip


def contact_dynamics(
    array: Scene,
    duration: float,
    *,
    dt: float = 0.01,
    tolerance: float = 1e-12,
    seed: int = 0,
) -> ArrayMotion:
    """The array by contact dynamics, every step converged to ``tolerance`` or refused.

    The tolerance is on the solver's residual, a share of the velocities that contacts give. What
    it leaves in the forces grows with L² and, since light blocks are fast, with 1/block_mass.
    """
    solver = GaussSeidel(stop="residual", tolerance=tolerance, sweeps=1_000_000, on_cap="error")
    return follow(simulation(array, dt, solver=solver, seed=seed), round(duration / dt))


def soft_particles(
    array: Scene,
    duration: float,
    tangential_damping: float,
    *,
    every: float = 0.05,
    stiffness: float = STIFFNESS,
    damping: float = DAMPING,
    shorter: float = 1.0,
) -> ArrayMotion:
    """The array by soft particles with the law RC1, γ_s = ``tangential_damping``.

    Sampled ``every`` so much time. Explicit steps are as long as the engine lets them be, divided
    by ``shorter``.
    """
    given: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "tangential": "viscous"}
    given["tangential_damping"] = tangential_damping
    model, start = array.build(0)
    longest = admissible_step(model, SoftParticles(**given), start)
    engine = SoftParticles(**given, substeps=math.ceil(shorter * every / longest))
    return follow(simulation(array, every, engine=engine), round(duration / every))
