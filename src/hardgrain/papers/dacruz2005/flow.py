"""A dense flow: disks in a periodic cell that is sheared at a constant rate under a pressure.

As in the paper: disks whose diameters are spread evenly by ± 20 % about their mean, a restitution
of 0.1, a friction of 0.4 between grains unless another one is asked for, the pressure across the
flow and the rate of shear prescribed.

Otherwise than in the paper there are no walls: the cell repeats in both directions, so that every
grain is one of the bulk (`walls` has flows between rough walls). Grains are rigid, which is the
limit that the paper approaches with a stiffness of 10⁴ pressures, or soft as there; and there are
some hundred of them in place of some thousand.

Lengths are in mean diameters; the pressure and the density of the grains are one. The paper's
inertial number is I = γ̇ √(m/P) with the mean mass m of a grain, here π/4 ⟨d²⟩.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.core.model import State
from hardgrain.measure.deforming import cell_load
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.papers.fit import Floats
from hardgrain.run.simulation import Simulation
from hardgrain.scene.cell import Isotropic, SimpleShear
from hardgrain.scene.place import Deposit
from hardgrain.scene.scene import Scene
from hardgrain.scene.sizes import Uniform
from hardgrain.scene.spec import ContactLaw, Grains
from hardgrain.solve.rigid import RigidSolver
from hardgrain.step.engine import SoftParticles

__all__ = ["FRICTION", "STIFFNESS", "Flow", "Job", "Seen", "flow", "time_step"]

FRICTION, RESTITUTION = 0.4, 0.1  # between grains, the paper's [1]
SPREAD = 0.2  # half-width of the distribution of diameters, the paper's [mean diameter]
STIFFNESS = 1e4  # of soft contacts, the paper's [pressure]
MASS = 0.25 * math.pi * (1.0 + SPREAD**2 / 3.0)  # mean mass of a grain [density × diameter²]

# [1] Residual of every step. With 10⁻⁵ slow flows take twice as long. A short flow at I = 0.01 had
# the same friction with both, within errors of 0.01 and 0.03: no more is known.
TOLERANCE = 1e-4
# [1] and [time] Strain in a step, and its length, at most. Grains that rebound do so from up to a
# step's way apart (`law.restitution`), as if they were larger: with steps four times as long slow
# flows are looser by 0.004 and their friction is higher by 0.02.
STRAIN_STEP = 5e-4
LONGEST = 0.025
# [1] By how much steps of soft disks, each made of many explicit ones, are longer.
SOFT_LONGER = 4.0
# [√(m/k)] Explicit steps of soft disks; a collision takes some forty of them.
SOFT_STEP = 0.07

PRESS, PRESS_STEP = 6.0, 0.02  # time in which grains are pressed together, and its step [time]
LOOSE = 0.5  # packing fraction in which they are placed [1]

# [1] Strain of a block. Densities of neighbouring blocks half as long are correlated by a half,
# which would make errors too small; frictions are by up to a fifth.
BLOCK = 0.5


@dataclass(frozen=True)
class Job:
    """A flow that is asked for."""

    inertial: float  # the paper's I [1]
    seed: int
    count: int  # grains
    skip: float  # strain of the transient, which is left out [1]
    strain: float  # strain after it [1]
    finer: float = 1.0  # by how much steps are shorter than usual
    stiffness: float = math.inf  # of contacts [pressure]; rigid disks have none


@dataclass(frozen=True, slots=True)
class Seen:
    """A flow at one moment, or on average over some."""

    friction: float  # µ*: shear stress over pressure
    pressure: float  # stress across the flow
    normal: float  # stress along the flow over that across it
    density: float  # packing fraction
    contacts: float  # mean number of contacts of a grain that bear a force
    agitation: float  # root mean square of the velocity relative to the flow [γ̇ d]
    kinetic: float  # share of the pressure across the flow that moving grains carry
    overlap: float  # deepest overlap [mean diameter]


@dataclass(frozen=True)
class Flow:
    """A flow after its transient, as means over blocks of strain."""

    blocks: list[Seen]
    loose: float  # steps with a residual above 10⁻³
    steps: int

    def values(self, field: str) -> Floats:
        """One quantity in all blocks."""
        return np.array([getattr(b, field) for b in self.blocks])


def time_step(rate: float) -> float:
    """The usual step of a flow at a rate of shear."""
    return min(LONGEST, STRAIN_STEP / rate)


def _scene(job: Job, cell: Any, restitution: float = RESTITUTION) -> Scene:
    side = math.sqrt(job.count * MASS / LOOSE)
    return Scene(
        dimension=2,
        periodic={"x": (0.0, side), "y": (0.0, side)},
        cell=cell,
        contacts=[ContactLaw(friction=FRICTION, restitution=restitution)],
        grains=[
            Grains(
                count=job.count,
                diameter=Uniform(min=1.0 - SPREAD, max=1.0 + SPREAD),
                place=Deposit(min=(0.0, 0.0), max=(side, side)),
            )
        ],
    )


def _pressed(job: Job) -> State:
    """Grains that were placed loosely, pressed together from all sides."""
    solver = RigidSolver(tolerance=TOLERANCE)
    scene = _scene(job, Isotropic(pressure=1.0))
    sim = Simulation(scene, dt=PRESS_STEP, solver=solver, seed=job.seed)
    for _ in range(round(PRESS / PRESS_STEP)):
        sim.step()
    return sim.state


def flow(job: Job) -> Flow:
    """Shear a packing, and look at it after the transient."""
    rate = job.inertial / math.sqrt(MASS)
    rigid = math.isinf(job.stiffness)
    dt = time_step(rate) / job.finer * (1.0 if rigid else SOFT_LONGER)
    how: dict[str, Any] = {"dt": dt, "seed": job.seed, "start": _pressed(job)}
    cell = SimpleShear(rate=rate, pressure=1.0)
    if rigid:
        sim = Simulation(_scene(job, cell), solver=RigidSolver(tolerance=TOLERANCE), **how)
    else:
        k = job.stiffness
        soft = SoftParticles(
            stiffness=k, restitution=RESTITUTION, tangential_stiffness=0.5 * k,
            substeps=math.ceil(dt / (SOFT_STEP * math.sqrt(MASS / k))),
        )  # fmt: skip
        sim = Simulation(_scene(job, cell, 0.0), engine=soft, **how)
    per_strain = 1.0 / (rate * dt)
    for _ in range(round(job.skip * per_strain)):
        sim.step()
    blocks = []
    for _ in range(round(job.strain / BLOCK)):
        block = []
        for _ in range(round(BLOCK * per_strain)):
            sim.step()  # collisions last one step, so every step is looked at
            block.append(_look(snapshot(sim), rate))
        means = {k: float(np.mean([getattr(s, k) for s in block])) for k in Seen.__slots__}
        means["overlap"] = max(s.overlap for s in block)
        blocks.append(Seen(**means))
    return Flow(blocks, sim.totals.loose, int(sim.totals.steps))


def _look(snap: Snapshot, rate: float) -> Seen:
    volume = snap.cell.volume
    xx, yy, xy = cell_load(snap) / volume
    # velocities are relative to the cell's own, which is the mean flow
    mass, v = snap.mass, snap.velocity
    v = v - mass @ v / mass.sum()
    moved = np.einsum("i,ia,ib->ab", mass, v, v) / volume
    across = yy + moved[1, 1]
    return Seen(
        friction=-(xy + moved[0, 1]) / across,
        pressure=across,
        normal=(xx + moved[0, 0]) / across,
        density=float(snap.volume.sum()) / volume,
        contacts=2.0 * float(snap.loaded.sum()) / snap.n,
        agitation=math.sqrt(float(np.mean(np.sum(v**2, axis=1)))) / rate,
        kinetic=moved[1, 1] / across,
        overlap=max(0.0, -float(snap.contacts.gap.min(initial=0.0))),
    )
