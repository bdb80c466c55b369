"""Packings to measure on: disks in a box, and spheres on a floor, settled by hardgrain itself.

Large packings of spheres are one settled packing of 1000, periodic in x and y, laid side by side:
real contact networks and forces at any size, for the price of a small one. Grains are then numbered
row by row over the whole floor, as hardgrain's own placements do.
"""

from __future__ import annotations

import math

import numpy as np

import hardgrain as hg
from benchmarks.measure import RESULTS
from hardgrain.core.model import Floats, Model, State
from hardgrain.scene.scene import GrainArrays
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.contact_dynamics import ContactDynamics

DT = 0.01  # [√(d/g)]
FRICTION = 0.3
SPREAD = hg.Uniform(min=0.8, max=1.2)  # diameters: no crystals
SETTLE = 1500  # steps at most


def disks(count: int) -> tuple[Model, State]:
    """A settled heap of disks in a box about as high as wide, with its contact impulses."""
    width = round(math.sqrt(0.9 * count))
    height = 2.0 * width
    scene = hg.Scene(
        gravity=[0, -1],
        contacts=[hg.ContactLaw(friction=FRICTION)],
        grains=[
            hg.Grains(
                count=count,
                diameter=SPREAD,
                place=hg.Loose(min=[0, 0], max=[width, height]),
            )
        ],
        walls=[hg.Box(min=[0, 0], max=[width, height], open=["top"])],
        allow_overlaps=True,
    )
    return _settled(scene, f"disks-{count}")


def spheres(count: int, tile: int = 1000) -> tuple[Model, State]:
    """Spheres on a floor, ten layers deep, periodic in x and y; a multiple of ``tile``."""
    side = math.sqrt(tile / 10)
    model, state = _settled(_floor(tile, side, side), f"spheres-{tile}")
    columns = _columns(count // tile)
    rows = count // tile // columns
    return _tiled(model, state, side, columns, rows)


def engine(model: Model, sweeps: int, order: str, threads: int | None = None) -> ContactDynamics:
    """The step as a run would make it, with a fixed number of sweeps."""
    solver = GaussSeidel(sweeps=sweeps, order=order, threads=threads)  # type: ignore[arg-type]
    return ContactDynamics(model, solver, DT, seed=1)


class Steps:
    """Some steps of a packing at rest, to be called again and again."""

    def __init__(
        self,
        model: Model,
        state: State,
        sweeps: int,
        order: str,
        steps: int,
        threads: int | None = None,
    ) -> None:
        self.engine = engine(model, sweeps, order, threads)
        self.state, self.steps = state.copy(), steps
        self.contacts = 0

    def __call__(self) -> None:
        for _ in range(self.steps):
            self.contacts = self.engine.advance(self.state).candidates


def _floor(count: int, length: float, width: float) -> hg.Scene:
    high = 3.0 * count / (length * width)
    return hg.Scene(
        dimension=3,
        gravity=[0, 0, -1],
        periodic={"x": (0, length), "y": (0, width)},
        contacts=[hg.ContactLaw(friction=FRICTION)],
        grains=[
            hg.Grains(
                count=count, diameter=SPREAD, place=hg.Loose(min=[0] * 3, max=[length, width, high])
            )
        ],
        walls=[hg.Plane(point=[0, 0, 0], normal=[0, 0, 1], name="floor")],
        allow_overlaps=True,
    )


def _settled(scene: hg.Scene, name: str) -> tuple[Model, State]:
    """Let a scene come to rest; the result is kept in a run file for the next time."""
    path = RESULTS / f"{name}.h5"
    if not path.exists():
        RESULTS.mkdir(parents=True, exist_ok=True)
        sim = hg.Simulation(scene, dt=DT, solver=GaussSeidel(sweeps=200), seed=1)
        sim.run(until=[hg.AtRest(speed=1e-3), SETTLE], output=path, every=SETTLE)
    start = {"file": str(path)}
    sim = hg.Simulation(hg.Scenario(dt=DT, seed=1, scene=scene, start=start))
    return sim.model, sim.state


def _columns(tiles: int) -> int:
    """Number of columns of a floor of tiles that is as square as can be."""
    return max(k for k in range(1, math.isqrt(tiles) + 1) if tiles % k == 0)


def _tiled(model: Model, state: State, side: float, columns: int, rows: int) -> tuple[Model, State]:
    """Copies of a periodic packing side by side, with the impulses of their contacts."""
    n = model.n
    corner = side * np.array([(i, j, 0) for j in range(rows) for i in range(columns)])
    x = state.position[:n].copy()
    x[:, :2] %= side
    position = (corner[:, None] + x).reshape(-1, 3)
    origin = np.tile(np.arange(n), columns * rows)
    by_row = np.lexsort(np.floor(position).T)
    position, origin = position[by_row], origin[by_row]
    grains = GrainArrays(
        position,
        model.radius[origin],
        state.velocity[origin],
        state.spin[origin],
        np.zeros(origin.size, np.int32),
    )
    large, start = _floor(origin.size, columns * side, rows * side).build(1, grains)
    start.contacts = engine(large, 1, "sequential").detector.find(start, start.velocity)
    c = start.contacts
    c.impulse[:] = _copied(model, state, np.append(origin, n), c.first, c.second)
    return large, start


def _copied(model: Model, state: State, origin: Floats, first: Floats, second: Floats) -> Floats:
    """Impulses of the contacts that the given pairs are copies of; zero where there is none."""
    old, bodies = state.contacts, model.bodies
    i, j = origin[first], origin[second]
    key = old.first.astype(np.int64) * bodies + old.second
    sought = np.minimum(i, j) * bodies + np.maximum(i, j)
    at = np.minimum(np.searchsorted(key, sought), key.size - 1)
    sign = np.where(key[at] == sought, np.where(i < j, 1.0, -1.0), 0.0)
    return sign[:, None] * old.impulse[at]
