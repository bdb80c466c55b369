"""Packings to measure on, settled by hardgrain itself: grains in a box, or on a floor.

Large packings are one settled packing of 1000 on a floor, periodic along it, laid side by side:
real contact networks and forces at any size, for the price of a small one. Grains are then numbered
row by row over the whole floor, as hardgrain's own placements do.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import hardgrain as hg
from benchmarks.measure import RESULTS
from hardgrain.core import lawtable
from hardgrain.core.model import Contacts, Floats, Ints, Model, State
from hardgrain.scene.scene import GrainArrays
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.step.contact_dynamics import ContactDynamics
from hardgrain.step.pause import ONE_STEP

DT = 0.01  # [√(d/g)]
FRICTION = 0.3
SPREAD = hg.Uniform(min=0.8, max=1.2)  # diameters: no crystals
SETTLE = 1500  # steps at most

# What the grains of a packing are. The sides of boxes differ, since cubes of one size would
# crystallise.
KINDS: dict[str, dict[str, Any]] = {
    "disks": {"diameter": SPREAD},
    "spheres": {"diameter": SPREAD},
    "pentagons": {"diameter": SPREAD, "shape": "pentagon", "orientation": "random"},
    "boxes": {"shape": {"kind": "box", "sides": (1.0, 0.8, 0.6)}, "orientation": "random"},
}
SHAPED = [kind for kind, grains in KINDS.items() if "shape" in grains]


def in_box(kind: str, count: int) -> tuple[Model, State]:
    """A settled heap in a box without a lid, about as high as wide, with its contact impulses."""
    dim = 3 if kind in ("spheres", "boxes") else 2
    width = round((0.9 * count) ** (1.0 / dim))
    low, high = [0.0] * dim, [float(width)] * (dim - 1) + [2.0 * width]
    if kind in SHAPED:  # each is placed as the ball around it
        high[-1] *= 3.0
    scene = hg.Scene(
        dimension=dim,
        gravity=[0.0] * (dim - 1) + [-1.0],
        contacts=[hg.ContactLaw(friction=FRICTION)],
        grains=[hg.Grains(count=count, place=hg.Loose(min=low, max=high), **KINDS[kind])],
        walls=[hg.Box(min=low, max=high, open=["top"])],
        allow_overlaps=True,
    )
    name = f"{kind}-{count}" if dim == 2 else f"{kind}-in-box-{count}"
    return _settled(scene, name, sweeps=100 if dim == 3 else 200, steps=2 * SETTLE)


def disks(count: int) -> tuple[Model, State]:
    """A settled heap of disks in a box about as high as wide, with its contact impulses."""
    return in_box("disks", count)


def on_floor(kind: str, count: int, tile: int = 1000) -> tuple[Model, State]:
    """Grains on a floor, ten layers deep, periodic along it; a multiple of ``tile``."""
    flat = kind in ("disks", "pentagons")
    side = tile / 10 if flat else math.sqrt(tile / 10)
    name = f"{kind}-{tile}" if kind == "spheres" else f"{kind}-on-floor-{tile}"
    scene = _floor(kind, tile, [side] if flat else [side, side])
    model, state = _settled(scene, name, sweeps=200)
    columns = count // tile if flat else _columns(count // tile)
    rows = count // tile // columns
    return _tiled(kind, model, state, side, [columns] if flat else [columns, rows])


def spheres(count: int, tile: int = 1000) -> tuple[Model, State]:
    """Spheres on a floor, ten layers deep, periodic in x and y; a multiple of ``tile``."""
    return on_floor("spheres", count, tile)


def resisted(model: Model) -> Model:
    """The same spheres, which roll with resistance and so take the full path through the sweeps."""
    laws = model.laws.copy()
    laws[..., lawtable.ROLLING] = 0.05  # any coefficient will do
    return replace(model, laws=laws, lean=False)


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


class Stride(Steps):
    """The same steps in compiled calls of as many as can be, as a run makes them."""

    def __call__(self) -> None:
        left = self.steps
        while left > 0:
            reports = self.engine.march(self.state, ONE_STEP._replace(steps=left)).reports
            left -= len(reports)
            self.contacts = reports[-1].candidates


def _floor(kind: str, count: int, lengths: list[float]) -> hg.Scene:
    dim, area = len(lengths) + 1, math.prod(lengths)
    high = (9.0 if kind in SHAPED else 3.0) * count / area  # shapes: as the balls around them
    up = [0.0] * (dim - 1) + [1.0]
    return hg.Scene(
        dimension=dim,  # type: ignore[arg-type]
        gravity=[-g for g in up],
        periodic={axis: (0, length) for axis, length in zip("xy", lengths)},  # type: ignore[misc]
        contacts=[hg.ContactLaw(friction=FRICTION)],
        grains=[
            hg.Grains(
                count=count, place=hg.Loose(min=[0] * dim, max=[*lengths, high]), **KINDS[kind]
            )
        ],
        walls=[hg.Plane(point=[0] * dim, normal=up, name="floor")],
        allow_overlaps=True,
    )


def _settled(scene: hg.Scene, name: str, sweeps: int, steps: int = SETTLE) -> tuple[Model, State]:
    """Let a scene come to rest; the result is kept in a run file for the next time."""
    path = RESULTS / f"{name}.h5"
    if not path.exists():
        RESULTS.mkdir(parents=True, exist_ok=True)
        # Grains that fall from high up may overlap by much as they land; what counts is the rest.
        solver, judged = GaussSeidel(sweeps=sweeps), "report"
        sim = hg.Simulation(scene, dt=DT, solver=solver, seed=1, on_implausible=judged)
        sim.run(until=[hg.AtRest(speed=1e-3), steps], output=path, every=steps)
    start = {"file": str(path)}
    sim = hg.Simulation(hg.Scenario(dt=DT, seed=1, scene=scene, start=start))
    return sim.model, sim.state


def _columns(tiles: int) -> int:
    """Number of columns of a floor of tiles that is as square as can be."""
    return max(k for k in range(1, math.isqrt(tiles) + 1) if tiles % k == 0)


def _tiled(
    kind: str, model: Model, state: State, side: float, tiles: list[int]
) -> tuple[Model, State]:
    """Copies of a periodic packing side by side, with the impulses of their contacts.

    tiles: how many there are along x, and in 3D along y.
    """
    n, along = model.n, len(tiles)
    corner = np.zeros((math.prod(tiles), model.dim))
    corner[:, :along] = side * np.array(list(np.ndindex(*tiles[::-1])))[:, ::-1]
    x = state.position[:n].copy()
    x[:, :along] %= side
    position = (corner[:, None] + x).reshape(-1, model.dim)
    origin = np.tile(np.arange(n), len(corner))
    by_row = np.lexsort(np.floor(position).T)
    position, origin = position[by_row], origin[by_row]
    grains = GrainArrays(
        position,
        model.radius[origin],
        state.velocity[origin],
        state.spin[origin],
        np.zeros(origin.size, np.int32),
        state.orientation[origin],
    )
    floor = _floor(kind, origin.size, [side * tile for tile in tiles])
    large, start = floor.build(1, grains)
    start.contacts = _found(large, start)
    old = _found(model, state)
    start.contacts.impulse[:] = _copied(old, model.bodies, np.append(origin, n), start.contacts)
    return large, start


def _found(model: Model, state: State) -> Contacts:
    """The contacts of a state with their arms, which run files do not hold, and its impulses."""
    return engine(model, 1, "sequential").detector.find(state, state.velocity)


def _copied(old: Contacts, bodies: int, origin: Ints, new: Contacts) -> Floats:
    """Impulses of the contacts that the given ones are copies of; zero where there is none.

    Two grains may have several contacts, of which that with the same arm is meant.
    """
    i, j = origin[new.first], origin[new.second]
    key = old.first.astype(np.int64) * bodies + old.second
    sought = np.minimum(i, j) * bodies + np.maximum(i, j)
    start, end = (np.searchsorted(key, sought, side=side) for side in ("left", "right"))
    arm = np.where((i < j)[:, None], new.arm_first, new.arm_second)
    impulse, nearest = np.zeros_like(new.impulse), np.full(len(new), 1e-6)
    for k in range(int((end - start).max(initial=0))):
        at = np.minimum(start + k, key.size - 1)
        far = np.linalg.norm(old.arm_first[at] - arm, axis=1)
        same = (start + k < end) & (far < nearest)
        impulse[same] = np.where(i < j, 1.0, -1.0)[same, None] * old.impulse[at[same]]
        nearest[same] = far[same]
    return impulse
