"""How soft grains of any shape answer to springs at their surface, for `step.stable_step`.

A contact point of a grain with mass m and inverse inertia J stretches its normal spring by b·q,
where q are the displacements times the roots of masses: b = (n/√m, J^(1/2)(c × n)), with c the
corner of the core that the point belongs to, since a radius around it adds nothing to c × n. The
grain's share of M⁻¹K is k Σ b bᵀ over its points. Where these are many they leave no place of the
surface preferred, so that the sum is at most their number Q times the largest eigenvalue of the
mean of b bᵀ over the surface: over all corners of all faces, by the area of the faces. Both are
1/m times a pure number that only the form of a grain decides on. Across the normal it is the
velocity of the surface, 1/m + (|J^(1/2)(c ×)| + r √J_max)², at the corner where it is largest.

How many points? Neighbours that hold balls of radius s have these balls side by side around a part,
with their centres on the surface at the distance s from it, or farther away. In 2D a length ℓ of
that surface has room for ℓ/2s of them, in 3D an area A for π/√12 · A/πs². Each meets the part at up
to two points in 2D and four in 3D if it is one of those that have room on a face, of which there is
always one, else at half as many: the points of two edges that are parallel, or a corner. (Cubes
stacked as bricks, with four neighbours above, four below and four beside, have 48 points; they are
counted as having 66.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.model import Floats, Model
from hardgrain.core.solids import Solids

__all__ = ["Answers", "answers"]


class Answers(NamedTuple):
    """What bounds the eigenvalues, for each grain."""

    normal: Floats  # (n,) Σ over its points of the share of a normal spring k = 1 [1/mass]
    paired: Floats  # (n,) the same if the points of a pair share √(their number) of it
    any_way: Floats  # (n,) the same of a spring along any direction
    most: Floats  # (n,) largest |b| of a normal spring [1/√mass]
    most_any: Floats  # (n,) likewise along any direction
    inscribed: float  # radius of a ball that every grain can hold [length]
    standing: int  # points that a grain can have on a plane, at most


class _Part(NamedTuple):
    """A part in the unit of its shape, with masses in the unit of its grain's."""

    inscribed: float  # radius of a ball that it holds
    radius: float  # around its core
    faces: Floats  # of its core: the length of each side, or the area of each face
    bent: float  # in 3D ½ Σ length × angle of its edges, of which the surface at a distance grows
    mean: float  # largest eigenvalue of the mean of b bᵀ
    most: float  # largest |b|²
    any_way: float  # largest squared speed of its surface for a kinetic energy of 1/2
    points: int  # on one of its faces, with one other part


_LAST: list[tuple[Floats, list[list[_Part]]]] = []  # the table that was looked at last


def answers(model: Model) -> Answers:
    """How the grains of a model answer; those that are held everywhere do not."""
    n, dim, own = model.n, model.dim, model.solids
    if not _LAST or _LAST[0][0] is not own.corner:
        _LAST[:] = [(own.corner, _parts(own, dim))]
    table = _LAST[0][1]
    least = np.full(len(table), np.inf)  # smallest grain of each shape
    np.minimum.at(least, own.shape, own.size)
    present = [(parts, size) for parts, size in zip(table, least, strict=True) if size < np.inf]
    small = min(part.inscribed * size for parts, size in present for part in parts)
    held = ~((model.inv_mass[:n] > 0.0).any(axis=1) | (model.inv_inertia[:n] > 0.0).any(axis=1))
    light = np.where(held, 0.0, _uneasy(model) / model.mass[:n])
    normal, paired, any_way = np.zeros(n), np.zeros(n), np.zeros(n)
    most, most_any = np.zeros(n), np.zeros(n)
    for s, parts in enumerate(table):
        mine = own.shape == s
        for part in parts if mine.any() else []:
            around, flush = _neighbours(part, dim, small / own.size[mine])
            p, beside = part.points, around - flush
            edge = max(0.5 * p, 1.0)
            normal[mine] += (flush * p + beside * edge) * part.mean
            paired[mine] += (flush * math.sqrt(p) + beside * math.sqrt(edge)) * part.mean
            any_way[mine] += (flush * p + beside * edge) * part.any_way
            most[mine] = np.maximum(most[mine], math.sqrt(part.most))
            most_any[mine] = np.maximum(most_any[mine], math.sqrt(part.any_way))
    root = np.sqrt(light)
    return Answers(
        normal * light, paired * light, any_way * light, most * root, most_any * root,
        min(max(part.inscribed for part in parts) * size for parts, size in present),
        max(sum(part.points for part in parts) for parts, _ in present),
    )  # fmt: skip


def _neighbours(part: _Part, dim: int, small: Floats) -> tuple[Floats, Floats]:
    """How many balls of a radius have room around a part, and how many of them on its faces."""
    away, surface = part.radius + small, float(part.faces.sum())
    if dim == 2:
        room, around = 2.0 * small, surface + 2.0 * math.pi * away
    else:
        room = math.sqrt(12.0) * small**2
        around = surface + 2.0 * part.bent * away + 4.0 * math.pi * away**2
    many: Floats = np.floor(around / room + 1e-9)
    if not part.faces.size:  # a ball has one point with all, a rod two with all
        return many, many
    return many, np.minimum(many, np.floor(part.faces[:, None] / room + 1.0).sum(axis=0))


def _uneasy(model: Model) -> Floats:
    """By how much grains turn more easily than their form says, where users say so, (n,) [1]."""
    n, own = model.n, model.solids
    by_form = own.moments[own.shape] * (model.mass[:n] * own.size**2)[:, None]
    if model.dim == 2:
        true = model.inertia[:n, None]
        by_form = by_form[:, 2:]
    else:
        true = model.moments[:n] if len(model.moments) else model.inertia[:n, None]
    uneasy: Floats = np.maximum((by_form / true).max(axis=1), 1.0)
    return uneasy


def _parts(own: Solids, dim: int) -> list[list[_Part]]:
    """The parts of every shape of a table."""
    found: list[list[_Part]] = []
    for s in range(own.part_start.size - 1):
        moments = own.moments[s]
        turning = np.zeros(3)  # roots of the inverse moments over mass
        turning[moments > 0.0] = moments[moments > 0.0] ** -0.5
        rows = range(own.part_start[s], own.part_start[s + 1])
        found.append([_part(own, p, dim, turning) for p in rows])
    return found


def _part(own: Solids, p: int, dim: int, turning: Floats) -> _Part:
    """One part; turning: roots of the inverse moments of its shape about its axes, over mass."""
    corner = own.corner[own.corner_start[p] : own.corner_start[p + 1]]
    radius, middle = float(own.radius[p]), corner.mean(axis=0)
    faces = range(own.face_start[p], own.face_start[p + 1])
    rims = [own.corner[own.rim[own.rim_start[f] : own.rim_start[f + 1]]] for f in faces]
    areas = [_area(rim) for rim in rims]
    inside = 0.0
    if len(rims) > 2:
        level = [own.face_normal[f] @ (rim[0] - middle) for f, rim in zip(faces, rims, strict=True)]
        inside = max(min(level), 0.0)
    at, normal, weight = [], [], []
    for f, rim, area in zip(faces, rims, areas, strict=True):
        at += list(rim)
        normal += [own.face_normal[f]] * len(rim)
        weight += [area / len(rim)] * len(rim)
    if not at:  # a ball has normals everywhere, a rod in 3D across its axis
        axes = np.eye(3)[:dim]
        if len(corner) > 1:
            axes = np.linalg.svd(corner[1:] - corner[0])[2][1:]
        for c in corner:
            at += [c] * len(axes)
            normal += list(axes)
            weight += [1.0] * len(axes)
    b = np.concatenate([np.array(normal), np.cross(at, normal) * turning], axis=1)
    mean = (b * np.array(weight)[:, None]).T @ b / sum(weight)
    levers = [_cross_matrix(c) * turning[:, None] for c in corner]  # J^(1/2) (c ×)
    if dim == 2:  # normals and tangents lie in the plane
        levers = [lever[2:, :2] for lever in levers]
    lever = max(float(np.linalg.norm(lever, 2)) for lever in levers)
    normal_lever = lever
    if dim == 2 and len(rims) > 2:  # normals of a corner lie between those of its sides
        normal_lever = float(np.abs(b[:, 5]).max())
    points = 1 if len(corner) == 1 else 2 if dim == 2 or len(corner) == 2 else 4
    return _Part(
        radius + inside, radius, np.array(areas), _bent(own, p) if dim == 3 else 0.0,
        float(np.linalg.eigvalsh(mean)[-1]), 1.0 + normal_lever**2,
        1.0 + (lever + radius * float(turning.max())) ** 2, points,
    )  # fmt: skip


def _area(rim: Floats) -> float:
    """Area of a face, or length of a side."""
    if len(rim) == 2:
        return float(np.linalg.norm(rim[1] - rim[0]))
    spokes = rim[1:] - rim[0]
    return 0.5 * float(np.linalg.norm(np.cross(spokes[:-1], spokes[1:]).sum(axis=0)))


def _bent(own: Solids, p: int) -> float:
    """Half the sum of length times angle over the edges of a part; a rod's only edge has 2π."""
    rows = slice(own.edge_start[p], own.edge_start[p + 1])
    ends, beside = own.corner[own.edge[rows]], own.edge_face[rows]
    if not len(beside):
        return 0.0
    length = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    if beside[0, 0] < 0:
        return math.pi * float(length.sum())
    one, two = own.face_normal[beside[:, 0]], own.face_normal[beside[:, 1]]
    angle = np.arccos(np.clip(np.einsum("ea,ea->e", one, two), -1.0, 1.0))
    return 0.5 * float(length @ angle)


def _cross_matrix(c: Floats) -> Floats:
    """The matrix of c ×."""
    x, y, z = c
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
