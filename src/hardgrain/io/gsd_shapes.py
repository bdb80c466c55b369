"""Shapes of grains as GSD has them: one for each type of particle, in the words of its schema.

A type belongs to a set of grains, a shape and a size, as shapes of GSD have lengths and belong to
types. Where grains of a shape have many sizes, these are put together in classes, and each class is
drawn with its mean size; the true sizes stand beside (``log/particles/size``). Words of GSD:

    one corner                  Sphere
    two corners, 3D             ConvexPolyhedron of two vertices with a rounding radius
    convex polygon              Polygon, with a rounding radius
    convex polyhedron           ConvexPolyhedron, with a rounding radius
    clump of disks or balls     SphereUnion
    all others in 2D            Polygon along the outline, round ends in many corners
    all others in 3D            Mesh of triangles
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.model import Floats, Model
from hardgrain.scene.grain_outline import shape_outlines
from hardgrain.scene.grain_shape import GrainShape, grain_shapes, once_for
from hardgrain.scene.grain_surface import shape_surfaces

__all__ = ["Types", "types_of"]

# Types of a file, unless there are more shapes than that. OVITO lists each type with its name, and
# each frame that differs from the first repeats the list.
MOST = 512
SAME = 1e-6  # sizes that differ by less, relative to them, are one


class Types(NamedTuple):
    """The types of all grains of a run."""

    names: list[str]
    shapes: list[dict[str, Any]]
    of: NDArray[np.int64]  # (n,) type of each grain by its number
    exact: bool  # whether no two grains of a type differ in size


def types_of(everyone: Model, sets: list[str]) -> Types:
    """Types for all grains of a run, whose sets have these names."""
    own = everyone.solids
    kind, which = np.unique(
        np.stack([everyone.group, own.shape], axis=1), axis=0, return_inverse=True
    )
    which = which.reshape(-1)
    room = max(1, MOST // len(kind))
    classes, exact = _classes(own.size, which, room)
    rows, of = np.unique(np.stack([which, classes], axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    size = np.bincount(of, own.size) / np.bincount(of)
    table = grain_shapes(own, everyone.dim)
    words = [_Words(everyone, k, shape) for k, shape in enumerate(table)]
    names: list[str] = []
    shapes = []
    for (row, _), unit in zip(rows.tolist(), size.tolist()):
        group, shape = kind[row].tolist()
        names.append(f"{sets[group]}-{table[shape].name.replace(' ', '-')}-{len(names)}")
        shapes.append(words[shape].of(unit))
    if len(rows) == len(set(kind[rows[:, 0], 0].tolist())):
        names = [sets[group] for group in kind[rows[:, 0], 0]]  # one type for each set
    return Types(names, shapes, of, exact)


def _classes(size: Floats, which: NDArray[Any], room: int) -> tuple[NDArray[np.int64], bool]:
    """(n,) class of size of each grain among those of its kind, and whether all sizes are kept."""
    classes, exact = np.zeros(len(size), np.int64), True
    for k in range(int(which.max(initial=-1)) + 1):
        mine = np.flatnonzero(which == k)
        ordered = np.sort(size[mine])
        apart = ordered[np.append(True, np.diff(ordered) > SAME * ordered[1:])]
        if len(apart) > room:
            apart, exact = np.unique(np.quantile(ordered, np.arange(room) / room)), False
        classes[mine] = np.searchsorted(apart, size[mine] * (1.0 + 0.5 * SAME)) - 1
    return np.maximum(classes, 0), exact


class _Words:
    """A shape in the words of GSD, with lengths for any size."""

    def __init__(self, everyone: Model, row: int, shape: GrainShape) -> None:
        self._model, self._row, self._shape = everyone, row, shape

    def of(self, unit: float) -> dict[str, Any]:
        shape, part, dim = self._shape, self._shape.parts[0], self._shape.dim
        corners = [len(p.corner) for p in shape.parts]
        if len(corners) == 1 and corners[0] == 1:
            return {"type": "Sphere", "diameter": 2.0 * unit * part.radius}
        if set(corners) == {1}:
            return {
                "type": "SphereUnion",
                "diameters": [2.0 * unit * p.radius for p in shape.parts],
                "centers": [(unit * p.corner[0]).tolist() for p in shape.parts],
            }
        one = len(corners) == 1
        if one and dim == 2 and corners[0] > 2:
            return _rounded("Polygon", unit * part.corner[:, :2], unit * part.radius)
        if one and dim == 3 and (corners[0] == 2 or part.sides > 2):
            return _rounded("ConvexPolyhedron", unit * part.corner, unit * part.radius)
        own = self._model.solids
        if dim == 2:
            outline = max(once_for(own, shape_outlines).loops(self._row), key=_length)
            return _rounded("Polygon", unit * outline, 0.0)
        surface = shape_surfaces(own, 3)[self._row]
        return {
            "type": "Mesh",
            "vertices": (unit * surface.points).tolist(),
            "indices": surface.triangles.tolist(),
        }


def _length(loop: Floats) -> float:
    return float(np.linalg.norm(loop - np.roll(loop, 1, axis=0), axis=1).sum())


def _rounded(kind: str, corners: Floats, radius: float) -> dict[str, Any]:
    return {"type": kind, "rounding_radius": float(radius), "vertices": corners.tolist()}
