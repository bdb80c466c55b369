"""Packings at rest under the same pressure from all sides, in a periodic cell.

Grains are placed at random without overlap, at half the density or less, and pressed together by
the cell, whose periods are free. Nothing bounces. Grains that nothing holds would drift on for
ever, so all velocities are set to zero every so often; a packing at rest stays as it is.

Two sizes in equal number, with diameters as 1 to 1.4, in 2D; one size in 3D; each drawn within one
percent. Disks that are exactly equal touch in hexagons of seven now and then: twelve contacts,
whose directions repeat, with one force more than can be known. One in ten packings of 40 disks had
such a group, and so one contact more than equations. Lengths are in (small) diameters; the pressure
and the density of the grains are one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hardgrain.measure.snapshot import snapshot
from hardgrain.measure.structure import rattlers
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.cell import Isotropic
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import ContactLaw, Grains
from hardgrain.solve.rigid import RigidSolver

__all__ = ["RATIO", "Job", "Packed", "packed"]

AXES: tuple[Literal["x", "y", "z"], ...] = ("x", "y", "z")
RATIO = 1.4  # large over small diameter in 2D, the paper's [1]
SPREAD = 0.01  # by how much diameters differ from that, at most [1]; without it see above
LOOSE = {2: 0.45, 3: 0.3}  # packing fraction in which grains are placed [1]
STEP = 0.02  # time step [time]
FALL = 10.0  # time after which a packing is first brought to rest [time]
COOLING = 100  # steps from one rest to the next
MOST_ROUNDS = 60
STILL = 1e-10  # kinetic energy per grain after a round in a packing at rest [pressure × volume]
TOLERANCE = 1e-6  # residual of every step [1]
BEARS = 1e-5  # least normal force of a contact that counts [mean normal force]
SLIDES = 1e-4  # share of µN by which a force may miss the cone in a contact that slides [1]


@dataclass(frozen=True)
class Job:
    """A packing that is asked for."""

    dimension: Literal[2, 3]
    friction: float
    count: int
    seed: int


@dataclass(frozen=True)
class Packed:
    """A packing at rest."""

    density: float  # packing fraction, rattlers included
    bearing: int  # grains that are no rattlers
    contacts: int  # contacts between these that bear a force
    sliding: int  # those of them whose friction is fully mobilised
    rattlers: float  # share of grains
    kinetic: float  # kinetic energy per grain at the end [pressure × volume]
    overlap: float  # deepest overlap [(small) diameter]
    residual: float  # residual of the last step

    @property
    def coordination(self) -> float:
        """Mean number of contacts z of a grain, rattlers left out."""
        return 2.0 * self.contacts / self.bearing


def _diameters(job: Job) -> Floats:
    """Two sizes in equal number, in an order that is drawn, or one size in 3D; not quite equal."""
    diameter = np.ones(job.count)
    if job.dimension == 2:
        diameter[job.count // 2 :] = RATIO
    rng = np.random.default_rng(job.seed)
    mixed: Floats = rng.permutation(diameter) * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, job.count)
    return mixed


def packed(job: Job) -> Packed:
    """Press grains together, and bring them to rest."""
    dim = job.dimension
    unit = math.pi / (4.0 if dim == 2 else 6.0)
    diameter = _diameters(job)
    side = math.pow(unit * float(np.sum(diameter**dim)) / LOOSE[dim], 1.0 / dim)
    scene = Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, side)),
        cell=Isotropic(pressure=1.0),
        contacts=[ContactLaw(friction=job.friction)],
        grains=[
            Grains(diameter=tuple(diameter), place=Deposit(min=(0.0,) * dim, max=(side,) * dim))
        ],
    )
    sim = Simulation(scene, dt=STEP, solver=RigidSolver(tolerance=TOLERANCE), seed=job.seed)
    for _ in range(round(FALL / STEP)):
        sim.step()
    for _ in range(MOST_ROUNDS):
        sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
        for _ in range(COOLING):
            report = sim.step()
        if report.kinetic < STILL * job.count:
            break
    snap = snapshot(sim)
    c, force = snap.contacts, snap.normal_force
    out = rattlers(snap)
    bears = force > BEARS * force[snap.loaded].mean()
    bears &= ~out[c.first] & ~out[c.second]
    push = np.linalg.norm(snap.tangential_force[bears], axis=1)
    limit = job.friction * force[bears]
    return Packed(
        density=float(snap.volume.sum()) / snap.cell.volume,
        bearing=int((~out).sum()),
        contacts=int(bears.sum()),
        sliding=int((push >= (1.0 - SLIDES) * limit).sum()) if job.friction else 0,
        rattlers=float(out.mean()),
        kinetic=float(report.kinetic) / job.count,
        overlap=max(0.0, -float(c.gap.min(initial=0.0))),
        residual=float(report.residual),
    )
