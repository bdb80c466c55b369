"""Grains as they are at a moment, for all that draws or exports them: outlines and surfaces.

Rigid grains have the outlines and surfaces of their shapes (`scene.grain_outline`,
`scene.grain_surface`). Those that deform have the rim of their mesh; seen from one side in 3D, the
rim of all facets of the surface that look at the eye.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats
from hardgrain.core.solids import Solids
from hardgrain.measure.deformed import Deformed
from hardgrain.measure.snapshot import Snapshot
from hardgrain.scene.grain_outline import BEGIN, CLOSE, LINE, Outlines, outlines_2d, seen_3d
from hardgrain.scene.grain_surface import FINENESS, GrainSurfaces, grain_surfaces

__all__ = ["Patches", "outlines", "patches", "surfaces"]

Rows = NDArray[np.int64]
# [1] Cosine of the angle between facets whose common edge is drawn, as edges of rigid grains are:
# 40°. Less: edges of boxes that are bent are not seen; more: facets of balls of few elements are.
SHARP = 0.77


class Patches(NamedTuple):
    """Triangles that fill the grains that deform, as they are seen in the plane of a picture."""

    corner: Floats  # (t, 3, 2) about the centre of the grain [length]
    grain: Rows  # (t,) in increasing order
    element: Rows  # (t,) row in `Deformed` whose stress is seen there


def outlines(snap: Snapshot, keep: list[int]) -> tuple[Outlines | None, Rows, Floats]:
    """Outlines of all grains about their centres, in the plane of the axes ``keep``.

    Returns also the grain that each belongs to, and how far it is from its centre along y, in 3D;
    None where all grains are disks or balls.
    """
    if snap.model.round:
        return None, np.arange(snap.n), np.zeros(snap.n)
    rigid, own = _rigid(snap)
    turned = snap.state.orientation[: snap.n][rigid]
    if snap.dim == 2:
        found, owner, behind = outlines_2d(own, turned), np.arange(len(rigid)), np.zeros(len(rigid))
    else:
        found, owner, behind = seen_3d(own, turned, keep)
    if snap.mesh is None:
        return found, owner, behind
    rims, soft = _rims(snap.mesh, keep)
    both = Outlines(
        np.concatenate([found.points, rims.points]), np.concatenate([found.pen, rims.pen]),
        np.concatenate([found.start, found.start[-1] + rims.start[1:]]),
    )  # fmt: skip
    return both, np.concatenate([rigid[owner], soft]), np.append(behind, np.zeros(len(soft)))


def patches(snap: Snapshot, keep: list[int]) -> Patches | None:
    """Triangles of the grains that deform, in 3D those that look at the eye; None: all rigid."""
    mesh = snap.mesh
    if mesh is None:
        return None
    if snap.dim == 2:
        return Patches(mesh.offset[mesh.element], mesh.grain, np.arange(len(mesh.element)))
    front = np.flatnonzero(_looks(mesh))
    depth = mesh.offset[mesh.facet[front], 1].mean(axis=1)
    front = front[np.lexsort((-depth, mesh.grain[mesh.beneath[front]]))]  # far ones first
    element = mesh.beneath[front]
    return Patches(mesh.offset[mesh.facet[front]][:, :, keep], mesh.grain[element], element)


def surfaces(
    snap: Snapshot, centre: Floats, fineness: int = FINENESS, convex: bool = False
) -> tuple[GrainSurfaces, Rows]:
    """Surfaces of all grains about the given centres (n, dim), see `scene.grain_surface`.

    Returns also the element beneath each cell (`Deformed`), −1 where the grain is rigid. In 2D
    cells of grains that deform are their elements.
    """
    rigid, own = _rigid(snap)
    found = grain_surfaces(own, snap.state.orientation[rigid], centre[rigid], fineness, convex)
    none, mesh = np.full(len(found.grain), -1), snap.mesh
    if mesh is None:
        return found, none
    cell, beneath = mesh.facet, mesh.beneath
    if snap.dim == 2:
        cell, beneath = mesh.element, np.arange(len(mesh.element))
    points = mesh.nodes_at(centre)
    points = np.pad(points, ((0, 0), (0, 3 - snap.dim)))
    corners = cell.ravel() + len(found.points)
    both = GrainSurfaces(
        np.concatenate([found.points, points]), np.concatenate([found.connectivity, corners]),
        np.concatenate([found.offsets, found.offsets[-1] + 3 * np.arange(1, len(cell) + 1)]),
        np.concatenate([rigid[found.grain], mesh.grain[beneath]]),
    )  # fmt: skip
    return both, np.concatenate([none, beneath])


def _rigid(snap: Snapshot) -> tuple[Rows, Solids]:
    """The rigid grains, and their shapes."""
    model, own = snap.model, snap.model.solids
    if model.elastic is None:
        return np.arange(model.n), own
    rigid = np.flatnonzero(model.elastic.form < 0)
    return rigid, own._replace(shape=own.shape[rigid], size=own.size[rigid])


def _looks(mesh: Deformed) -> NDArray[np.bool_]:
    """(f,) which facets of surfaces in 3D look at the eye, which is far away along −y."""
    a, b, c = mesh.offset[mesh.facet].transpose(1, 0, 2)
    across = (b - a)[:, 2] * (c - a)[:, 0] - (b - a)[:, 0] * (c - a)[:, 2]
    looks: NDArray[np.bool_] = across < 0.0
    return looks


def _rims(mesh: Deformed, keep: list[int]) -> tuple[Outlines, Rows]:
    """Outlines of the grains that deform, and the grain of each."""
    rim, crease = (mesh.facet, np.zeros((0, 2), np.int64)) if mesh.dim == 2 else _edges_seen(mesh)
    loops = _loops(rim)
    node = np.concatenate([*(np.append(loop, loop[0]) for loop in loops), crease.ravel()])
    pen = np.full(len(node), LINE, np.uint8)
    end = np.cumsum([len(loop) + 1 for loop in loops])
    pen[end - 1], pen[np.append(0, end[:-1])] = CLOSE, BEGIN
    pen[end[-1] :: 2] = BEGIN
    order = np.argsort(mesh.owner[node], kind="stable")
    node, pen = node[order], pen[order]
    grain, count = np.unique(mesh.owner[node], return_counts=True)
    start = np.concatenate([[0], np.cumsum(count)])
    return Outlines(mesh.offset[node][:, keep], pen, start), grain


def _edges_seen(mesh: Deformed) -> tuple[Rows, Rows]:
    """Edges of facets that look at the eye, as nodes (e, 2): beside one that does not, directed;
    and sharp ones between two that do."""
    facet = mesh.facet[_looks(mesh)]
    a, b, c = mesh.offset[facet].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    edge = np.concatenate([facet[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    of = np.tile(np.arange(len(facet)), 3)
    key, back = (edge @ np.array(w) for w in ((len(mesh.owner), 1), (1, len(mesh.owner))))
    order = np.argsort(key)
    at = order[np.minimum(np.searchsorted(key, back, sorter=order), len(key) - 1)]
    both = key[at] == back
    bend = np.einsum("ka,ka->k", normal[of], normal[of[at]])
    return edge[~both], edge[both & (bend < SHARP) & (key < back)]


def _loops(edge: Rows) -> list[Rows]:
    """The closed loops that directed edges (m, 2) make, each as its nodes in order.

    As many edges end at a node as begin there; the first to end is followed by the first to begin.
    """
    after = np.empty(len(edge), np.int64)
    after[np.argsort(edge[:, 1], kind="stable")] = np.argsort(edge[:, 0], kind="stable")
    following, left, loops = after.tolist(), [True] * len(edge), []
    for first in range(len(edge)):
        loop, k = [], first
        while left[k]:
            left[k] = False
            loop.append(k)
            k = following[k]
        if loop:
            loops.append(edge[loop, 0])
    return loops
