"""Grains of a few shapes, for tests of what draws and exports them: polygons, boxes, clumps."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import hardgrain as hg
from hardgrain.core.lawtable import N_PARAMETERS
from hardgrain.core.model import Contacts, Model, State
from hardgrain.core.solids import ROUND_GRAINS, Solids
from hardgrain.io.frame import Frame, Record
from hardgrain.measure.snapshot import Snapshot

Shape = list[tuple[Any, float]]  # corners and radius of each part


def regular(sides: int, radius: float = 0.0) -> Shape:
    """A regular polygon whose corners lie on the unit circle, rounded by a radius."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return [(np.stack([np.cos(angle), np.sin(angle)], axis=1), radius)]


def box(*half: float, radius: float = 0.0) -> Shape:
    """A rectangle or a box about the origin, by the halves of its sides."""
    if len(half) == 2:
        return [(np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half, radius)]
    signs = np.array(np.meshgrid(*3 * [[-1, 1]], indexing="ij")).reshape(3, -1).T
    return [(signs * half, radius)]


TETRAHEDRON: Shape = [(np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5, 0.0)]
FLAT: dict[str, Shape] = {
    "pentagon": regular(5),
    "rounded pentagon": regular(5, 0.3),
    "capsule": [([[-0.7, 0], [0.7, 0]], 0.4)],
    "rectangle": box(1.0, 0.6),
    "clump of 3 disks": [([[np.cos(a), np.sin(a)]], 0.9) for a in 2.0 * np.pi * np.arange(3) / 3],
    "disk": [([[0, 0]], 1.0)],
}
SOLID: dict[str, Shape] = {
    "tetrahedron": TETRAHEDRON,
    "box": box(0.8, 0.6, 0.5),
    "rounded box": box(0.6, 0.5, 0.4, radius=0.25),
    "capsule": [([[-0.7, 0, 0], [0.7, 0, 0]], 0.4)],
    "clump of 2 balls": [([[-0.5, 0, 0]], 0.7), ([[0.5, 0, 0]], 0.7)],
    "rounded plate": [(np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]]) * 0.7, 0.2)],
    "ball": [([[0, 0, 0]], 1.0)],
}


def _faces(corner: Any, dim: int) -> tuple[list[Any], list[list[int]]]:
    """Normals of the faces of a core, and the corners of each in order."""
    k = len(corner)
    if dim == 2:
        pairs = [(i, (i + 1) % k) for i in range(k)] if k > 1 else []
        along = [corner[j] - corner[i] for i, j in pairs]
        normal = [np.array([d[1], -d[0], 0.0]) / np.linalg.norm(d) for d in along]
        return normal, [list(pair) for pair in pairs]
    if k < 3:
        return [], []
    if np.linalg.matrix_rank(corner - corner[0]) < 3:
        up = np.cross(corner[1] - corner[0], corner[2] - corner[0])
        up = up / np.linalg.norm(up)
        return [up, -up], [list(range(k)), list(range(k))[::-1]]
    normals, rims = [], []
    for plane in np.unique(np.round(ConvexHull(corner).equations, 9), axis=0):
        on = np.flatnonzero(np.abs(corner @ plane[:3] + plane[3]) < 1e-6)
        out = corner[on] - corner[on].mean(axis=0)
        side = np.cross(plane[:3], out[0])
        rims.append(on[np.argsort(np.arctan2(out @ side, out @ out[0]))].tolist())
        normals.append(plane[:3])
    return normals, rims


def solids(shapes: list[Shape], dim: int, which: Any, size: Any) -> Solids:
    """The rows of grains that have some of these shapes; the middle of a shape is its origin."""
    starts: dict[str, list[int]] = {name: [0] for name in ("part", "corner", "face", "edge", "rim")}
    corners: list[Any] = []
    normals: list[Any] = []
    rims: list[int] = []
    edges: list[Any] = []
    beside: list[Any] = []
    bounds = []
    for shape in shapes:
        reach = 0.0
        for points, radius in shape:
            corner = np.zeros((len(points), 3))
            corner[:, :dim] = points
            first, face = len(corners), len(normals)
            normal, around = _faces(corner, dim)
            at: dict[tuple[int, int], list[int]] = {}
            for f, rim in enumerate(around):
                rims += [first + i for i in rim]
                starts["rim"].append(len(rims))
                for i, j in zip(rim, rim[1:] + rim[:1]):
                    at.setdefault((min(i, j), max(i, j)), []).append(face + f)
            if dim == 3:
                if len(points) == 2:
                    at = {(0, 1): [-1, -1]}
                edges += [(first + i, first + j) for i, j in at]
                beside += list(at.values())
            corners += list(corner)
            normals += normal
            starts["corner"].append(len(corners))
            starts["face"].append(len(normals))
            starts["edge"].append(len(edges))
            reach = max(reach, float(np.linalg.norm(corner, axis=1).max()) + radius)
        starts["part"].append(starts["part"][-1] + len(shape))
        bounds.append(reach)
    start = {name: np.array(rows, np.int32) for name, rows in starts.items()}
    return Solids(
        np.asarray(which, np.int32), np.asarray(size, float), start["part"],
        np.ones(len(shapes)), np.array(bounds), 2.0 * np.array(bounds), np.ones((len(shapes), 3)),
        np.array([radius for shape in shapes for _, radius in shape]), start["corner"],
        start["face"], start["edge"], np.array(corners), np.array(normals).reshape(-1, 3),
        start["rim"], np.array(rims, np.int32), np.array(edges, np.int32).reshape(-1, 2),
        np.array(beside, np.int32).reshape(-1, 2),
    )  # fmt: skip


def model_of(own: Solids, dim: int, periodic: Any = None) -> Model:
    """A model of grains without walls."""
    n, spins = own.shape.size, 1 if dim == 2 else 3
    return Model(
        radius=own.bound[own.shape] * own.size, inv_mass=np.ones((n, dim)),
        inv_inertia=np.ones((n, spins)), mass=np.ones(n), inertia=np.ones(n),
        material=np.zeros(n, np.int32), group=np.zeros(n, np.int32),
        laws=np.zeros((1, 1, N_PARAMETERS)),
        periodic=np.zeros(dim) if periodic is None else np.asarray(periodic, float),
        gravity=np.zeros(dim), wall_kind=np.zeros(0, np.int32), wall_axis=np.zeros((0, dim)),
        wall_size=np.zeros(0), wall_offset=np.zeros((0, dim)), wall_side=np.zeros((0, dim)),
        carrier=np.arange(n, dtype=np.int32), wall_names=(),
        moments=np.ones((n if dim == 3 else 0, 3)), solids=own,
    )  # fmt: skip


def scattered(
    dim: int, n: int = 12, seed: int = 1, *, shapes: list[Shape] | None = None, round: bool = False
) -> Snapshot:
    """Grains of all shapes on a grid, turned at random, which bear no forces."""
    rng = np.random.default_rng(seed)
    shapes = list((FLAT if dim == 2 else SOLID).values()) if shapes is None else shapes
    own = solids(shapes, dim, np.arange(n) % len(shapes), rng.uniform(0.35, 0.5, n))
    side = int(np.ceil(n ** (1.0 / dim) - 1e-9))
    place = np.stack(np.unravel_index(np.arange(n), dim * (side,)), axis=1) * 1.9
    turn = rng.uniform(-4.0, 4.0, (n, 1)) if dim == 2 else rng.normal(size=(n, 4))
    turn = turn if dim == 2 else turn / np.linalg.norm(turn, axis=1, keepdims=True)
    ns = 1 if dim == 2 else 3
    model = model_of(own, dim)
    if round:
        model = replace(model, solids=ROUND_GRAINS, moments=np.zeros((0, 3)))
    velocity = rng.normal(size=(n, dim))
    state = State(
        0, 0.0, place.astype(float), velocity, np.zeros((n, ns)), turn, Contacts.none(dim)
    )
    return Snapshot(model, state, 0.01, np.zeros(dim))


def pressed(dim: int) -> Snapshot:
    """Two boxes of side 2 on each other, pressed by 2, 1, … at the corners of their faces."""
    half = dim * (1.0,)
    own = solids([box(*half)], dim, [0, 0], [1.0, 1.0])
    x = np.zeros((2, dim))
    x[1, dim - 1] = 2.0
    corner = (
        np.array([[-1.0], [1.0]]) if dim == 2 else np.array([[-1, -1], [1, -1], [1, 1.0], [-1, 1]])
    )
    m = len(corner)
    normal = np.tile(np.eye(dim)[-1], (m, 1))
    arm = np.column_stack([corner, np.ones(m)])
    force = np.array([2.0, 1.0, 1.0, 2.0])[:m]
    contacts = Contacts(
        np.zeros(m, np.int32), np.ones(m, np.int32), normal, np.zeros(m),
        0.01 * force[:, None] * normal, np.zeros((m, 1 if dim == 2 else 3)),
        feature=np.arange(m, dtype=np.int32), arm_first=arm, arm_second=arm - 2.0 * normal,
        law=np.zeros(m, np.int32),
    )  # fmt: skip
    turned = np.zeros((2, 1)) if dim == 2 else np.tile([0.0, 0.0, 0.0, 1.0], (2, 1))
    still = np.zeros((2, dim)), np.zeros((2, 1 if dim == 2 else 3))
    return Snapshot(
        model_of(own, dim), State(1, 0.01, x, *still, turned, contacts), 0.01, np.zeros(dim)
    )


class ShapedRun:
    """Snapshots as the frames of a run, for what reads run files."""

    path = "shaped.h5"
    live, finished = False, True

    def __init__(self, snaps: list[Snapshot]) -> None:
        model, dim = snaps[0].model, snaps[0].dim
        left = (
            "wall_names", "rule", "drives", "pressures", "locks", "solids", "meshes", "membrane",
            "elastic",
        )  # fmt: skip
        self.model = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in left}
        self.model["shape"] = model.solids.shape
        periodic = {"xyz"[k]: (0.0, p) for k, p in enumerate(model.periodic) if p > 0.0}
        scene = hg.Scene(
            dimension=dim, periodic=periodic, grains=[hg.Grains(place=hg.At(positions=[dim * [0]]))]
        )
        self.scenario = hg.Scenario(title="Shapes", dt=snaps[0].dt, scene=scene)
        self.header = {"scenario": self.scenario.model_dump_json()}
        self.wall_names = list(model.wall_names)
        self.history: dict[str, Any] = {"time": np.array([snap.time for snap in snaps])}
        self.step = np.array([snap.state.step for snap in snaps])
        self.time = np.array([snap.time for snap in snaps])
        self._snaps = snaps
        self.solids = model.solids

    def __len__(self) -> int:
        return len(self._snaps)

    def __getitem__(self, k: int) -> Frame:
        s = self._snaps[k].state
        w = len(self.wall_names)
        none = np.zeros((w, s.position.shape[1])), np.zeros((w, s.spin.shape[1]))
        bodies = s.position, s.orientation, s.velocity, s.spin
        return Frame(Record(s.step, s.time, *bodies, *none, {}, cell=s.cell), self.wall_names)

    def contacts(self, k: int) -> Contacts:
        return self._snaps[k].state.contacts

    def close(self) -> None: ...


def run_of(snaps: list[Snapshot], patch: pytest.MonkeyPatch) -> Any:
    """A run of snapshots whose table of shapes was made by hand, and not from a scenario."""
    own = snaps[0].model.solids
    patch.setattr("hardgrain.measure.stored.stored_solids", lambda *_: own)
    return ShapedRun(snaps)
