"""Many pairs of grains in one scene, and the shock law as the review prints it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.papers.experiment import Expected
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains, Material
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = [
    "APART",
    "DT",
    "GRAVITY",
    "MU",
    "ONE",
    "ROUNDING",
    "SpherePairs",
    "shock_law",
    "to_rounding",
]

DT = 0.05  # length of the step; grains have a size and a speed of about one
MU = 0.4  # coefficient of friction: some pairs stick, others slide
GRAVITY = (0.3, -0.2, -1.0)  # along no axis, so that no component vanishes by chance
APART = 10.0  # distance from pair to pair; diameters and speeds of grains are about one
ONE = GaussSeidel(sweeps=1)  # each pair is solved by one update
ROUNDING = 1e-11  # relative: some ten operations, on places of the order of 10³


def to_rounding(value: float, words: str, scale: float = 1.0) -> Expected:
    return Expected(value, ROUNDING * scale, "rounding", words)


@dataclass(frozen=True)
class SpherePairs:
    """Pairs of unequal spheres, far from each other; sphere 2i meets sphere 2i + 1."""

    radius: Floats  # (pairs, 2)
    mass: Floats  # (pairs, 2)
    position: Floats  # (pairs, 2, 3)
    normal: Floats  # (pairs, 3), from the first to the second
    gap: Floats  # (pairs,)

    @classmethod
    def draw(cls, count: int, gap: tuple[float, float], seed: int) -> SpherePairs:
        """Draw pairs at random, with gaps in the given range."""
        rng = np.random.default_rng(seed)
        radius = rng.uniform(0.3, 0.7, (count, 2))
        density = np.array([1.0, 3.0])  # density of the first and of the second sphere of each pair
        normal = rng.normal(size=(count, 3))
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        gaps = rng.uniform(*gap, count)
        at = np.zeros((count, 3))
        at[:, 0] = APART * np.arange(count)
        between = radius.sum(axis=1) + gaps
        position = np.stack([at, at + between[:, None] * normal], axis=1)
        return cls(radius, density * 4.0 / 3.0 * math.pi * radius**3, position, normal, gaps)

    def simulation(self, velocity: Floats, spin: Floats, **scene: Any) -> Simulation:
        """A simulation of all pairs, with velocities and spins of shape (pairs, 2, 3)."""
        grains = [
            Grains(
                diameter=tuple(2.0 * self.radius[:, i]),
                place=At(positions=tuple(map(tuple, self.position[:, i].tolist()))),
                material=name,
            )
            for i, name in enumerate(("light", "heavy"))
        ]
        whole = Scene(
            dimension=3,
            gravity=list(GRAVITY),
            materials={"light": Material(density=1.0), "heavy": Material(density=3.0)},
            contacts=[ContactLaw(friction=MU)],
            grains=grains,
            allow_overlaps=True,
            **scene,
        )
        sim = Simulation(whole, dt=DT, solver=ONE)
        # all first spheres come first
        sim.state.velocity[:] = np.concatenate([velocity[:, 0], velocity[:, 1]])
        sim.state.spin[:] = np.concatenate([spin[:, 0], spin[:, 1]])
        return sim

    def both(self, of_bodies: Floats) -> Floats:
        """Values of bodies (bodies, …) as values of pairs (pairs, 2, …)."""
        half = len(self.radius)
        return np.stack([of_bodies[:half], of_bodies[half:]], axis=1)

    @property
    def normal_mass(self) -> Floats:
        """The effective mass m_n along the normal (17)."""
        m: Floats = 1.0 / (1.0 / self.mass).sum(axis=1)
        return m

    @property
    def tangential_mass(self) -> Floats:
        """The effective mass m_t along the tangents (18); solid spheres have l²/I = 5/(2m)."""
        m: Floats = 1.0 / (1.0 / self.normal_mass + (2.5 / self.mass).sum(axis=1))
        return m

    def contact_velocity(self, velocity: Floats, spin: Floats) -> Floats:
        """V of (3), shape (pairs, 3); arms end at the surfaces."""
        arm = self.radius[:, :, None] * self.normal[:, None, :] * np.array([1.0, -1.0])[:, None]
        at = velocity + np.cross(spin, arm)
        v: Floats = at[:, 1] - at[:, 0]
        return v

    def impulses(self, sim: Simulation) -> Floats:
        """What the engine found, on the second sphere; shape (pairs, 3)."""
        c, found = sim.state.contacts, np.zeros_like(self.normal)
        found[c.first] = c.impulse
        return found


def shock_law(pairs: SpherePairs, u: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The review's scheme (34): impulses R dt, shape (pairs, 3), and which of them slide."""
    n, mn, mt = pairs.normal, pairs.normal_mass[:, None], pairs.tangential_mass[:, None]
    u_n = np.sum(u * n, axis=1, keepdims=True)
    closing = u_n + np.maximum(pairs.gap, 0.0)[:, None] / DT
    r_n = -mn * closing
    r_t = -mt * (u - u_n * n)
    size = np.linalg.norm(r_t, axis=1, keepdims=True)
    slides = size > MU * r_n
    r_t = np.where(slides, MU * r_n * r_t / size, r_t)
    open_ = closing > 0.0
    return np.where(open_, 0.0, r_n * n + r_t), (slides & ~open_)[:, 0]
