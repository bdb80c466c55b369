"""Biaxial and triaxial compression of a periodic cell, and the anisotropy on the way.

Disks or spheres are pressed together from all sides without friction. Then, with friction, the cell
is shortened along one axis at a given rate under a constant pressure from the sides. There are no
walls, so that no contact has to be left out.

Lengths are in mean diameters; the lateral pressure and the density of the grains are one, and the
rate of strain is the inertial number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hardgrain.measure.fabric import Fabric, fabric
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.measure.stress import invariants
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.cell import Biaxial, Isotropic
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import ContactLaw, Grains
from hardgrain.solve.rigid import RigidSolver

__all__ = ["Job", "Seen", "Test", "compressed", "integral"]

AXES: tuple[Literal["x", "y", "z"], ...] = ("x", "y", "z")
FRICTION = 0.5  # between grains [1]
SPREAD = 0.2  # half-width of the distribution of diameters [mean diameter]
LOOSE = {2: 0.45, 3: 0.3}  # packing fraction in which grains are placed [1]
TOLERANCE = 1e-4  # residual of every step [1]
PRESS, PRESS_STEP = 8.0, 0.02  # time of the isotropic compression, and its step [time]
RATE, STEP = 5e-3, 0.1  # rate of axial strain [1/time] and step of the test [time]
FIRST = 0.02  # axial strain at which looks begin: before it anisotropy is still small [1]
EVERY = 2  # steps from a look to the next


@dataclass(frozen=True)
class Job:
    """A test that is asked for."""

    dimension: Literal[2, 3]
    count: int
    seed: int
    strain: float  # axial strain at its end [1]


@dataclass(frozen=True, slots=True)
class Seen:
    """A packing at one moment."""

    ratio: float  # q/p of the stress that contacts bear
    first: float  # q/p of first order, from the three anisotropies
    whole: float  # q/p of the integral over all directions, with second harmonics
    fourth: float  # the same with harmonics up to the fourth, in 2D
    flat: float  # the same with all of them: q/p of the forces, with branches of one length
    contact: float  # a_c along the direction of the stress
    normal: float  # a_n
    tangential: float  # a_t


@dataclass(frozen=True)
class Test:
    """A test from its beginning."""

    strain: Floats  # (k,) axial, at the looks
    seen: list[Seen]
    loose: float  # steps with a residual above 10⁻³

    def mean(self, field: str) -> float:
        """The mean of one quantity over all looks."""
        return float(np.mean([getattr(s, field) for s in self.seen]))


def _scene(job: Job, friction: float, cell: Any) -> Scene:
    dim = job.dimension
    unit = math.pi / (4.0 if dim == 2 else 6.0)
    side = math.pow(unit * job.count / LOOSE[dim], 1.0 / dim)
    return Scene(
        dimension=dim,
        periodic=dict.fromkeys(AXES[:dim], (0.0, side)),
        cell=cell,
        contacts=[ContactLaw(friction=friction)],
        grains=[
            Grains(
                count=job.count,
                diameter=Uniform(min=1.0 - SPREAD, max=1.0 + SPREAD),
                place=Deposit(min=(0.0,) * dim, max=(side,) * dim),
            )
        ],
    )


def compressed(job: Job) -> Test:
    """Press grains together from all sides, then shorten the cell along its last axis."""
    solver = RigidSolver(tolerance=TOLERANCE)
    pressed = Simulation(
        _scene(job, 0.0, Isotropic(pressure=1.0)), dt=PRESS_STEP, solver=solver, seed=job.seed
    )
    for _ in range(round(PRESS / PRESS_STEP)):
        pressed.step()
    kind: Literal["biaxial", "triaxial"] = "biaxial" if job.dimension == 2 else "triaxial"
    scene = _scene(job, FRICTION, Biaxial(kind=kind, rate=-RATE, pressure=1.0))
    sim = Simulation(scene, dt=STEP, solver=solver, seed=job.seed, start=pressed.state)
    at, seen = [], []
    for k in range(1, round(job.strain / (RATE * STEP)) + 1):
        sim.step()
        strain = k * RATE * STEP
        if k % EVERY == 0 and strain >= FIRST:
            at.append(strain)
            seen.append(_look(snapshot(sim)))
    return Test(np.array(at), seen, sim.totals.loose)


def _look(snap: Snapshot) -> Seen:
    dim = snap.dim
    stress = np.einsum("ka,kb->ab", snap.force, snap.branch)  # times the volume
    found = fabric(snap)
    # a along the deviator s of the stress: the tilts of the cell are held, and so the stress may
    # turn a little out of the axis
    s = 0.5 * (stress + stress.T)
    s = s - np.trace(s) / dim * np.eye(dim)
    scale = math.sqrt(0.5 if dim == 2 else 1.5) / float(np.linalg.norm(s))
    a_c, a_n, a_t = (
        scale * float(np.sum(part.tensor * s))
        for part in (found.contacts, found.normal, found.tangential)
    )
    first = 0.5 * (a_c + a_n + a_t) if dim == 2 else 0.4 * (a_c + a_n + 1.5 * a_t)
    n, force = snap.contacts.normal[snap.loaded], snap.force[snap.loaded]
    flat = np.einsum("ka,kb->ab", force, n)
    fourth = _ratio(_harmonics(n, force, 4)) if dim == 2 else math.nan
    return Seen(_ratio(stress), first, _ratio(integral(found)), fourth, _ratio(flat), a_c, a_n, a_t)


def _ratio(tensor: Floats) -> float:
    """Deviator over pressure."""
    found = invariants(tensor)
    return float(found.deviator / found.pressure)


def integral(found: Fabric) -> Floats:
    """The stress of the fitted distributions, up to a factor, (dim, dim).

    It is the mean over all directions of E(n) (N(n) n + T(n)) ⊗ n, with the products of
    anisotropies that the relation of first order leaves out.
    """
    n, weight = _directions(len(found.tensor))
    turned = {
        name: n @ getattr(found, name).tensor for name in ("contacts", "normal", "tangential")
    }
    along = {name: np.sum(v * n, axis=1) for name, v in turned.items()}
    force = (1.0 + along["normal"])[:, None] * n
    force += turned["tangential"] - along["tangential"][:, None] * n
    total: Floats = np.einsum("k,ka,kb->ab", weight * (1.0 + along["contacts"]), force, n)
    return total


def _harmonics(n: Floats, force: Floats, most: int) -> Floats:
    """The integral with even harmonics up to a given one, in 2D; forces are fitted likewise."""
    angle: Floats = np.arctan2(n[:, 1], n[:, 0])
    around: Floats = np.linspace(0.0, 2.0 * math.pi, 32, endpoint=False)
    at, fits = [_waves(x, most) for x in (angle, around)]
    share = fits @ (at.mean(axis=0) * np.where(np.arange(most + 1) == 0, 1.0, 2.0))
    mean = np.zeros((32, 2))
    for turn in (0.0, 0.5 * math.pi):  # along the normal, and along the normal turned to the left
        e, e_around = (np.stack([np.cos(x + turn), np.sin(x + turn)], axis=1)
                       for x in (angle, around))  # fmt: skip
        fitted = np.linalg.lstsq(at, np.sum(force * e, axis=1))[0]
        mean += (fits @ fitted)[:, None] * e_around
    out = np.stack([np.cos(around), np.sin(around)], axis=1)
    total: Floats = np.einsum("k,ka,kb->ab", share, mean, out)
    return total


def _waves(angle: Floats, most: int) -> Floats:
    """1, cos 2θ, sin 2θ, cos 4θ, … (k, most + 1)."""
    even = range(2, most + 1, 2)
    waves = [wave(m * angle) for m in even for wave in (np.cos, np.sin)]
    return np.stack([np.ones_like(angle), *waves], axis=1)


def _directions(dim: int) -> tuple[Floats, Floats]:
    """Unit vectors (k, dim) with weights (k,) that integrate sixth powers of them exactly."""
    angle = 2.0 * math.pi * np.arange(12) / 12.0
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dim == 2:
        return around, np.full(12, 1.0 / 12.0)
    height, weight = np.polynomial.legendre.leggauss(6)
    wide = np.sqrt(1.0 - height**2)
    flat = (wide[:, None, None] * around).reshape(-1, 2)
    n = np.column_stack([flat, np.repeat(height, 12)])
    return n, np.repeat(weight, 12) / 24.0
