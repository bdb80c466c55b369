"""Each kind of wall that a user can write, checked and turned into its row of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hardgrain.core.meshes import Meshes
from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import (
    DISK,
    INSIDE,
    MESH,
    OUTSIDE,
    PLANE,
    RECTANGLE,
    SEGMENT,
    TRIANGLE,
)  # fmt: skip
from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES, text, unit, vector
from hardgrain.scene.mesh_table import MeshTable, mesh_table, meshes_of
from hardgrain.scene.spec import Cylinder, Disk, MeshWall, Plane, Rectangle, Segment, Triangle
from hardgrain.scene.wall_shape import Triangles, WallShape

__all__ = ["Simple", "shape_of", "stored_meshes", "table_of"]

Simple = Plane | Segment | Rectangle | Triangle | Disk | Cylinder | MeshWall

_RIGHT = 1e-9  # [rad] error of a right angle that is only rounding


def shape_of(wall: Simple, dim: int, periodic: Floats, at: str) -> WallShape:
    """The row of a wall that stands at the place ``at`` of a scenario."""
    if dim == 2 and isinstance(wall, MeshWall):
        raise InputError(f"{at} is a mesh; meshes exist only in 3D, in 2D use segments")
    if dim == 2 and isinstance(wall, Rectangle | Triangle | Disk):
        raise InputError(
            f"{at} is a {wall.kind}; flat walls that end exist only in 3D, in 2D use a segment"
        )
    shape = _SHAPES[type(wall)](wall, dim, at)
    repeated = np.flatnonzero((shape.axis != 0.0) & (periodic > 0.0))
    if shape.kind == PLANE and repeated.size:
        raise InputError(
            f"{at} faces along {AXES[repeated[0]]}, along which the scene repeats;"
            " leave out this wall or the period"
        )
    return shape


def stored_meshes(walls: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Meshes:
    """The meshes of a run, from the walls of its scenario as a file holds it, and their names."""
    tables: list[MeshTable | None] = [None] * len(names)
    for k, wall in enumerate(walls):
        if wall["kind"] == "mesh":
            held = ("kind", "file", "scale", "turn", "move", "side", "surface")
            spec = MeshWall(**{name: wall[name] for name in held if name in wall})
            at = names.index(wall.get("name") or f"mesh{k}")
            tables[at] = table_of(spec, f"scene.walls[{k}]")
    return meshes_of(tables)


def _plane(wall: Plane, dim: int, at: str) -> WallShape:
    point, normal = vector(wall.point, dim, f"{at}.point"), unit(wall.normal, dim, f"{at}.normal")
    return WallShape(PLANE, point, normal, 0.0, np.zeros(dim))


def _cylinder(wall: Cylinder, dim: int, at: str) -> WallShape:
    axis = np.zeros(dim)
    if dim == 3:
        axis = unit([0.0, 0.0, 1.0] if wall.axis is None else wall.axis, 3, f"{at}.axis")
    elif wall.axis is not None:
        raise InputError(f"{at}.axis is given, but a circle in 2D has none; leave it out")
    kind = INSIDE if wall.side == "inside" else OUTSIDE
    point = vector(wall.point, dim, f"{at}.point")
    return WallShape(kind, point, axis, wall.radius, np.zeros(dim))


def _segment(wall: Segment, dim: int, at: str) -> WallShape:
    if dim == 3:
        raise InputError(f"{at} is a segment; segments exist only in 2D")
    start, end = vector(wall.start, dim, f"{at}.start"), vector(wall.end, dim, f"{at}.end")
    if not (end - start).any():
        raise InputError(f"{at}.end equals start; a segment needs two different ends")
    return WallShape(SEGMENT, start, end - start, 0.0, np.zeros(dim))


def _disk(wall: Disk, dim: int, at: str) -> WallShape:
    if wall.hole >= wall.radius:
        raise InputError(
            f"{at}.hole is {wall.hole:g} but must be less than radius, {wall.radius:g}"
        )
    normal = wall.radius * unit(wall.normal, dim, f"{at}.normal")
    center = vector(wall.center, dim, f"{at}.center")
    return WallShape(DISK, center, normal, wall.hole, np.zeros(dim))


def _triangle(wall: Triangle, dim: int, at: str) -> WallShape:
    corner, second, third = (
        vector(c, dim, f"{at}.corners[{k}]") for k, c in enumerate(wall.corners)
    )
    _need_an_area(second - corner, third - corner, f"{at}.corners", wall.kind)
    return WallShape(TRIANGLE, corner, second - corner, 0.0, third - corner)


def _rectangle(wall: Rectangle, dim: int, at: str) -> WallShape:
    corner = vector(wall.corner, dim, f"{at}.corner")
    a, b = (vector(side, dim, f"{at}.sides[{k}]") for k, side in enumerate(wall.sides))
    _need_an_area(a, b, f"{at}.sides", wall.kind)
    lengths = [float(np.linalg.norm(side)) for side in (a, b)]
    if abs(float(a @ b)) > _RIGHT * lengths[0] * lengths[1]:
        raise InputError(
            f"{at}.sides are {text(a)} and {text(b)}; they must be at right"
            " angles (use two triangles for other shapes)"
        )
    if 2.0 * wall.hole >= min(lengths):
        raise InputError(
            f"{at}.hole is {wall.hole:g} but must be less than half of the shorter side,"
            f" {0.5 * min(lengths):g}"
        )
    return WallShape(RECTANGLE, corner, a, wall.hole, b)


def table_of(wall: MeshWall, at: str) -> MeshTable:
    """The triangles of a wall that is a mesh."""
    assert wall.surface is not None
    turn, move = (vector(v, 3, f"{at}.{n}") for v, n in ((wall.turn, "turn"), (wall.move, "move")))
    try:
        return mesh_table(
            wall.surface, wall.scale, tuple(turn.tolist()), tuple(move.tolist()), wall.side
        )
    except InputError as error:
        raise InputError(f"{at}.{error}") from None


def _mesh(wall: MeshWall, dim: int, at: str) -> WallShape:
    table = table_of(wall, at)
    x, y, z = table.half.tolist()
    own = Triangles(table.corner, table.triangle, table.normal)
    return WallShape(MESH, table.middle, np.array([x, 0.0, 0.0]), z, np.array([0.0, y, 0.0]), own)


def _need_an_area(a: Floats, b: Floats, at: str, kind: str) -> None:
    area = float(np.linalg.norm(np.cross(a, b)))
    if area <= _RIGHT * float(np.linalg.norm(a)) * float(np.linalg.norm(b)):
        raise InputError(f"{at} lie on one line; a {kind} needs an area")


_SHAPES: dict[type, Callable[[Any, int, str], WallShape]] = {
    Plane: _plane,
    Segment: _segment,
    Cylinder: _cylinder,
    Rectangle: _rectangle,
    Triangle: _triangle,
    Disk: _disk,
    MeshWall: _mesh,
}
