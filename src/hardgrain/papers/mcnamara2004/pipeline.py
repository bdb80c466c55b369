"""The paper's four families of packings (Fig. 4), and what is measured of each, kept on disk.

95 disks with radii spread evenly in [0.7 r, r] begin on a grid and fall in a box, friction 0.3
everywhere. Lengths are in r, the largest radius, forces in m̄ g, the mean weight; g = 1.

- *CD-1*: they fall, by contact dynamics, without restitution.
- *MD-1*: they fall, as soft disks.
- *CD-2*: the places of CD-1, forces found anew from zero by contact dynamics.
- *MD-2*: the places of CD-1, forces found anew as soft disks.

What the paper does not say is a field of `Setup`: the width of the box, the grid and how far its
points are shifted at random (an exact grid falls as columns). Where it stops, "negligible kinetic
energy", is here a hundred steps of quiet; the forces of rigid disks are then converged until they
balance to 10⁻⁹ m̄ g, and soft disks are left to creep until they balance to 10⁻⁶ m̄ g. The paper's
soft disks have k = 1.2·10⁵ m̄ g/r and γ = 7.7·10⁴ (m̄ g/r) √(r/g), where critical would be 490: γ
is taken as printed, 157 times critical, along and across contacts, in implicit steps (`implicit`).

A packing takes one or two seconds and is kept in the cache folder with its bounds, so that the
experiments share them and an interrupted run goes on where it was.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

import hardgrain
from hardgrain.core.model import State
from hardgrain.errors import RunError
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.packing import Packing, packing
from hardgrain.forces.space import ForceSpace
from hardgrain.kernels import cache_folder
from hardgrain.papers.mcnamara2004.implicit import SoftDisks
from hardgrain.parallel import cores, pmap
from hardgrain.run.simulation import Simulation
from hardgrain.scene.place import At
from hardgrain.scene.scene import Scene
from hardgrain.scene.spec import Box, ContactLaw, Grains, Material
from hardgrain.solve.gauss_seidel import GaussSeidel

__all__ = [
    "FAMILIES", "BoundedPacking", "Setup", "everything", "families", "kept", "made", "measured",
    "soft",
]  # fmt: skip

FAMILIES = ("CD-1", "MD-1", "CD-2", "MD-2")
SEEDS, SEEDS_QUICK = 60, 3  # number of seeds: the paper's, and fewer for the quick version

FRICTION = 0.3  # coefficient of friction, the paper's [1]
STIFFNESS, DAMPING = 1.2e5, 7.7e4  # [m̄ g/r], [(m̄ g/r) √(r/g)]
DT = 0.01  # a grain that has fallen all the way moves by a tenth of r in it [√(r/g)]
STEPS = 100  # steps without motion after which a fall has ended
# The paper ends a fall at 6 √(L_y/g), L_y the height of the grid, if a grain still rolls. From then
# on all velocities are set to zero every so many steps, until nothing begins to move any more.
MOST, ROUND, ROUNDS = 38.0, 50, 400  # time of the end [√(r/g)], steps of a round, most rounds
BALANCED = 1e-9  # [m̄ g] unbalanced force that rigid disks may keep
SWEEPS_SOFT = 800  # most sweeps of a step while soft disks fall
# Soft disks creep to rest with exp(−t k/γ), and contacts that slide go on sliding as they do. Too
# late the creep is slower than what unfinished sweeps do, and contacts at their limit come off it.
CREPT = 1e-6  # [m̄ g] unbalanced force that ends the creep
CREEP_STEP, CREEP_STEPS = 0.1, 250  # length of a step [γ/k], and at most so many
CREEP_SWEEPS, CREEP_TOLERANCE = 5000, 1e-9  # [m̄ g]

A = TypeVar("A")
B = TypeVar("B")
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Setup:
    """One initial condition. What the paper leaves open has the value that fits it best."""

    seed: int
    width: float = 12.25  # width of the box [r]
    columns: int = 5  # columns of the grid on which grains start
    jitter: float = 0.5  # random displacement from its points [room in a cell]
    grains: int = 95
    sweeps: int = 200  # sweeps in a step of contact dynamics
    quiet: float = 1e-4  # root-mean-square speed of quiet [√(g r)]; soft disks: ten times as much
    damping: float = 1.0  # damping γ of soft disks, in units of the paper's

    def scene(self) -> Scene:
        """The grid in its box; the mean mass is one."""
        rng = np.random.default_rng(self.seed)
        n, radius = self.grains, rng.uniform(0.7, 1.0, self.grains)
        cell = np.array([self.width / self.columns, 2.1])
        at = np.stack([np.arange(n) % self.columns, np.arange(n) // self.columns], axis=1)
        room = np.maximum(cell - 2.0 * radius[:, None], 0.0)
        x = (at + 0.5) * cell + self.jitter * (rng.random((n, 2)) - 0.5) * room
        return Scene(
            gravity=[0.0, -1.0],
            materials={"disk": Material(density=1.0 / (math.pi * float(np.mean(radius**2))))},
            contacts=[ContactLaw(friction=FRICTION)],
            grains=[
                Grains(
                    diameter=tuple(2.0 * radius),
                    place=At(positions=tuple(map(tuple, x.tolist()))),
                )
            ],
            walls=[Box(min=[0.0, 0.0], max=[self.width, 1.0], open=["top"])],
            allow_overlaps=True,  # those that the run itself has made
        )


# ---------------------------------------------------------------------- the stages
def _stage(setup: Setup, family: str) -> Packing:
    """Make one packing by the given stage."""
    scene = setup.scene()
    _, grid = scene.build(setup.seed)
    if family == "CD-1":
        return _rigid(setup, scene, grid, 10.0)
    if family == "MD-1":
        return soft(setup, scene, grid, falls=True)
    start = grid.copy()
    position = made(setup, "CD-1").position
    assert position is not None
    start.position[:] = position
    if family == "CD-2":
        return _rigid(setup, scene, start, 0.0)
    return soft(setup, scene, start, falls=False)


def _rigid(setup: Setup, scene: Scene, start: State, least: float) -> Packing:
    """Run contact dynamics from a state without forces, for a time ``least`` or more."""
    solver = GaussSeidel(sweeps=setup.sweeps)
    sim = Simulation(scene, dt=DT, solver=solver, seed=setup.seed, start=start)
    while sim.state.time < least or not sim.quiet(setup.quiet, STEPS):
        sim.step()
        if sim.state.time > MOST and sim.state.step % ROUND == 0:
            sim.state.velocity[:], sim.state.spin[:] = 0.0, 0.0
            if sim.state.time > MOST + ROUNDS * ROUND * DT:
                raise RunError(f"disks with seed {setup.seed} did not come to rest")
    # These are the same forces, converged: grains are held in place up to rounding.
    solver = GaussSeidel(sweeps=50_000, stop="residual", tolerance=1e-11)
    for _ in range(20):
        state = sim.state.copy()
        state.velocity[:], state.spin[:] = 0.0, 0.0
        sim = Simulation(scene, dt=DT, solver=solver, seed=setup.seed, start=state)
        sim.step()
        found = packing(sim)
        if found.residual < BALANCED:
            break
    return found


def soft(
    setup: Setup, scene: Scene, start: State, falls: bool, creep_step: float = CREEP_STEP
) -> Packing:
    """Run soft disks from a state without forces."""
    model, _ = scene.build(setup.seed)
    damping = setup.damping * DAMPING
    disks = SoftDisks(model, start, STIFFNESS, damping, FRICTION)
    creep = damping / STIFFNESS
    total = float(model.mass.sum())
    if falls:
        quiet = 0
        while quiet < STEPS or disks.time < 10.0:
            disks.step(DT, 1e-8, SWEEPS_SOFT)
            slow = math.sqrt(2.0 * disks.kinetic / total) < 10.0 * setup.quiet
            quiet = quiet + 1 if slow else 0
            if disks.time > MOST and round(disks.time / DT) % ROUND == 0:
                disks.v[:] = 0.0
                if disks.time > MOST + ROUNDS * ROUND * DT:
                    raise RunError(f"soft disks with seed {setup.seed} did not come to rest")
    for _ in range(round(CREEP_STEPS * CREEP_STEP / creep_step)):
        disks.step(creep_step * creep, CREEP_TOLERANCE, CREEP_SWEEPS)
        if (found := disks.packing(1.0)).residual < CREPT:
            break
    return found


# ---------------------------------------------------------------------- kept on disk
_PACKAGE = Path(__file__).resolve().parents[2]
# What is kept of a packing; its cell does not deform, so that it has no branches.
_ARRAYS = tuple(f.name for f in fields(Packing) if f.name not in ("unit", "branch"))
# The sources that decide what is kept.
_SOURCES = {
    "packing": (
        "papers/mcnamara2004/pipeline.py", "papers/mcnamara2004/implicit.py", "scene/*.py",
        "law/*.py", "contact/*.py", "solve/*.py", "step/*.py", "forces/packing.py",
    ),
    "forces": (
        "forces/*.py", "papers/mcnamara2004/indeterminacy.py",
        "papers/mcnamara2004/indeterminacy_extremal.py",
        "papers/mcnamara2004/sampling.py", "papers/mcnamara2004/edges.py",
    ),
}  # fmt: skip


@cache
def _version(of: str) -> str:
    """Hash of the sources."""
    digest = hashlib.sha256(hardgrain.__version__.encode())
    for pattern in _SOURCES[of]:
        for source in sorted(_PACKAGE.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


_OLD = 7 * 86400.0  # [s] age at which files of other versions are removed


@cache
def _folder() -> Path:
    """The folder beside the compiled kernels; old files of other versions are removed."""
    base = cache_folder().parent if cache_folder().name.startswith("kernels-") else cache_folder()
    folder = base / f"mcnamara2004-{_version('packing')}"
    for old in base.glob("mcnamara2004-*"):
        if old != folder and time.time() - old.stat().st_mtime > _OLD:
            shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    return folder


def kept(setup: Setup, family: str, what: str, make: Callable[[], Arrays]) -> Arrays:
    """Arrays from a file; if it does not exist, they are made and written there."""
    key = (setup, family, what, what == "packing" or _version("forces"))
    path = _folder() / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.npz"
    try:
        with np.load(path) as file:
            return dict(file)
    except (OSError, ValueError, EOFError, BadZipFile):
        arrays = make()
    path.parent.mkdir(exist_ok=True)  # another version may have removed it
    part = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(part, **arrays)  # type: ignore[arg-type]
    part.replace(path)  # whole or not at all
    return arrays


def made(setup: Setup, family: str) -> Packing:
    """A packing, from disk if it was made before."""

    def make() -> Arrays:
        found = _stage(setup, family)
        arrays = {name: np.asarray(getattr(found, name)) for name in _ARRAYS}
        return arrays | {"unit": np.array(found.unit)}

    stored = kept(setup, family, "packing", make)
    return Packing(**{name: stored[name] for name in _ARRAYS}, unit=float(stored["unit"]))


@dataclass(frozen=True, eq=False)
class BoundedPacking:
    """A packing and the least and greatest of all its forces."""

    setup: Setup
    family: str
    space: ForceSpace
    bounds: Bounds
    dimension: int

    @property
    def packing(self) -> Packing:
        return self.space.packing


def measured(setup: Setup, family: str) -> BoundedPacking:
    """A packing with its bounds, from disk if they were found before."""
    space = ForceSpace(made(setup, family))

    def make() -> Arrays:
        b = space.bounds()
        counts = np.array([b.programs, b.pivots, space.dimension])
        return {"low": b.low, "high": b.high, "counts": counts}

    stored = kept(setup, family, "bounds", make)
    programs, pivots, dimension = (int(k) for k in stored["counts"])
    bounds = Bounds(stored["low"], stored["high"], programs, pivots)
    return BoundedPacking(setup, family, space, bounds, dimension)


def everything(f: Callable[[A], B], items: Sequence[A], what: str) -> list[B]:
    """Do `pmap` by portions, with a progress line in a terminal."""
    found: list[B] = []
    portion = 4 * cores()
    for k in range(0, len(items), portion):
        found += pmap(f, items[k : k + portion])
        if sys.stderr.isatty():
            end = "\n" if len(found) == len(items) else ""
            print(
                f"\r   {what}: {len(found)} of {len(items)}", end=end, file=sys.stderr, flush=True
            )
    return found


def _both(job: tuple[Setup, str]) -> None:
    measured(*job)


@cache
def families(quick: bool) -> dict[str, list[BoundedPacking]]:
    """All packings of the paper, family by family and seed by seed, with their bounds."""
    setups = [Setup(seed) for seed in range(SEEDS_QUICK if quick else SEEDS)]
    everything(partial(made, family="CD-1"), setups, "packings CD-1")
    jobs = [(s, family) for s in setups for family in FAMILIES]
    everything(_both, jobs, "packings and their bounds")
    return {family: [measured(s, family) for s in setups] for family in FAMILIES}
