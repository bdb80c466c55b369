"""Shaped grains put together by hand, with contacts where a test says, for measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

import hardgrain as hg
from hardgrain.core.model import Contacts
from hardgrain.core.solids import Solids
from hardgrain.measure.snapshot import Snapshot, snapshot

Floats = NDArray[np.float64]

SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def regular(k: int) -> Floats:
    """A regular polygon with its corners at the distance 1."""
    angle = 2.0 * np.pi * np.arange(k) / k
    return np.column_stack([np.cos(angle), np.sin(angle)])


def rectangle(a: float, b: float) -> Floats:
    return SQUARE * [a, b]


def table(
    parts: Sequence[Sequence[tuple[Any, float]]],
    shape: Any,
    size: Any = 1.0,
    volume: Sequence[float] | None = None,
) -> Solids:
    """Shapes from the corners and radii of their parts; volumes of sharp single ones are known."""
    shape = np.asarray(shape, np.int32)
    dim = np.asarray(parts[0][0][0]).shape[1]
    flat = [part for one in parts for part in one]
    corner = [np.asarray(v, float) for v, _ in flat]
    start = np.concatenate([[0], np.cumsum([len(v) for v in corner])]).astype(np.int32)
    every = np.concatenate(corner)
    whole = np.concatenate([[0], np.cumsum([len(one) for one in parts])]).astype(np.int32)
    bound = [max(np.linalg.norm(v, axis=1).max() + r for v, r in one) for one in parts]
    moments = np.zeros((len(parts), 3))
    if dim == 3:  # of boxes: the largest corner is (a, b, c)/2
        a, b, c = (np.array([one[0][0][:, i].max() for one in parts]) * 2.0 for i in range(3))
        moments = np.column_stack([b**2 + c**2, a**2 + c**2, a**2 + b**2]) / 12.0
    if volume is None:
        volume = [ConvexHull(one[0][0]).volume for one in parts]
    none = np.zeros(0, np.int32)
    return Solids(
        shape=shape,
        size=np.broadcast_to(np.asarray(size, float), shape.shape).copy(),
        part_start=whole,
        volume=np.array(volume, float),
        bound=np.array(bound),
        width=np.array([2.0 * min(np.abs(one[0][0]).max(axis=0)) for one in parts])
        + 2.0 * np.array([one[0][1] for one in parts]),
        moments=moments,
        radius=np.array([r for _, r in flat], float),
        corner_start=start,
        face_start=np.zeros(len(flat) + 1, np.int32),
        edge_start=np.zeros(len(flat) + 1, np.int32),
        corner=np.pad(every, ((0, 0), (0, 3 - dim))),
        face_normal=np.zeros((0, 3)),
        rim_start=np.zeros(1, np.int32),
        rim=none,
        edge=np.zeros((0, 2), np.int32),
        edge_face=np.zeros((0, 2), np.int32),
    )


def shaped(
    x: Any,
    solids: Solids,
    angle: Any = 0.0,
    *,
    period: float | None = None,
    walls: Sequence[Any] = (),
    rows: Sequence[tuple[int, int, Any, Any, Any]] = (),
    wall_origin: Any = None,
    **keys: Any,
) -> Snapshot:
    """A moment with shaped grains at places x, turned by angles (2D) or quaternions (3D).

    ``rows``: first body, second body, normal, the contact point, the force on the second body; the
    gap is zero, the time step 1.
    """
    x = np.asarray(x, dtype=float)
    n, dim = x.shape
    periodic = {} if period is None else dict.fromkeys("xyz"[:dim], (0.0, period))
    scene = hg.Scene(
        dimension=dim,
        grains=[hg.Grains(place=hg.At(positions=x.tolist()))],
        periodic=periodic,
        walls=list(walls),
        allow_overlaps=True,
        **keys,
    )
    snap = snapshot(hg.Simulation(scene, dt=1.0))
    model = snap.model
    radius = solids.bound[solids.shape] * solids.size
    volume = solids.volume[solids.shape] * solids.size**dim
    mass = model.mass.copy()
    mass[:n] = volume
    inv_mass = model.inv_mass.copy()
    inv_mass[:n] = np.where(inv_mass[:n] > 0.0, 1.0 / volume[:, None], 0.0)
    model = replace(model, radius=radius, solids=solids, mass=mass, inv_mass=inv_mass, lean=False)
    state = replace(snap.state, velocity=0.0 * snap.state.velocity)
    turned = state.orientation.copy()
    turned[:n] = (
        np.reshape(np.broadcast_to(angle, (n,) if dim == 2 else (n, 4)), (n, -1))
        if (dim == 2 or np.ndim(angle))
        else [0.0, 0.0, 0.0, 1.0]
    )
    position = state.position
    contacts = Contacts.none(dim)
    if rows:
        first, second = np.array([r[:2] for r in rows], np.int32).T
        normal, point, force = (np.array([r[k] for r in rows], float) for k in (2, 3, 4))
        feature = np.array(
            [sum(q[:2] == r[:2] for q in rows[:k]) for k, r in enumerate(rows)], np.int32
        )
        contacts = Contacts(
            first, second, normal, np.zeros(len(rows)), force,
            np.zeros((len(rows), 1 if dim == 2 else 3)), feature=feature,
            arm_first=point - position[first], arm_second=point - position[second],
            width=model.width[first], roll=np.zeros(len(rows)),
            law=np.zeros(len(rows), np.int32),
        )  # fmt: skip
    state = replace(state, orientation=turned, contacts=contacts)
    return replace(snap, model=model, state=state, complete=None)
