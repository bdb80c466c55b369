"""Walls as a user writes them, taken apart into rows: shape, motion along each axis, loads.

Along each axis a wall stands still, moves as prescribed, or is free: then it has a mass and forces
move it. A piston is free along its normal. What is glued to a wall moves with it as one body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hardgrain.core.meshes import Meshes
from hardgrain.core.model import FORCE, SPIN, VELOCITY, Drive, Floats, Lock, Pressure
from hardgrain.core.wall_kinds import PLANE, Walls
from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES, as_spin, components, material_number, spins, text
from hardgrain.scene._checks import vector as checked
from hardgrain.scene.drive import compile_function, is_constant
from hardgrain.scene.mesh_table import MeshTable, meshes_of
from hardgrain.scene.spec import MeshWall, Piston, Plane, Wall
from hardgrain.scene.wall_parts import parts, scaled
from hardgrain.scene.wall_rows import Simple, shape_of, table_of

__all__ = ["WallRow", "WallRows"]


@dataclass
class WallRow:
    """One wall; the arrays are those of `hardgrain.core.wall_kinds`."""

    name: str
    at: str  # its path in the scenario, for messages
    kind: int
    point: Floats
    axis: Floats
    material: int
    pivot: Floats
    size: float = 0.0
    side: Floats = field(default_factory=lambda: np.zeros(0))
    mesh: MeshTable | None = None  # its triangles
    free: list[int] = field(default_factory=list)  # axes along which forces move it
    mass: float = 0.0  # 0: that of all grains, if the wall is free along an axis
    drives: list[Drive] = field(default_factory=list)
    locks: list[Lock] = field(default_factory=list)
    piston: Piston | None = None
    glued_to: str | None = None

    @property
    def slides(self) -> bool:
        """Whether it is a plane that is free along its normal alone."""
        return self.kind == PLANE and self.free == np.flatnonzero(self.axis).tolist()

    @property
    def turns(self) -> bool:
        """Whether its spin is prescribed."""
        return any(drive.what == SPIN for drive in self.drives)


class WallRows:
    """All walls of a scene as rows; boxes and drums become their parts."""

    def __init__(
        self, walls: Sequence[Wall], dim: int, periodic: Floats, materials: Sequence[str]
    ) -> None:
        self.dim, self.periodic, self.materials = dim, periodic, materials
        self.rows: list[WallRow] = []
        for k, wall in enumerate(walls):
            for part, at in parts(wall, dim, f"scene.walls[{k}]"):
                self.rows.append(self._row(part, at, k))
        self.number: dict[str, int] = {}
        for k, row in enumerate(self.rows):
            if row.name in self.number:
                raise InputError(
                    f"scene.walls has two walls named {row.name!r}; give each a name of its own"
                )
            self.number[row.name] = k

    def geometry(self) -> Walls:
        """All walls where they start."""
        rows, none = self.rows, np.zeros((0, self.dim))
        return Walls(
            np.array([row.kind for row in rows], np.int32),
            np.array([row.point for row in rows]) if rows else none,
            np.array([row.axis for row in rows]) if rows else none,
            np.array([row.size for row in rows], float),
            np.array([row.side for row in rows]) if rows else none,
        )

    def meshes(self) -> Meshes:
        """The triangles of the walls that are meshes."""
        return meshes_of([row.mesh for row in self.rows])

    @property
    def any_mesh(self) -> bool:
        """Whether a wall is a mesh."""
        return any(row.mesh is not None for row in self.rows)

    def carrier(self, name: str, at: str) -> int:
        """The number of the wall that something is glued to, by its name."""
        if name not in self.number:
            known = ", ".join(map(repr, self.number)) or "none"
            raise InputError(f"{at}.glued_to is {name!r}; walls are {known}")
        row = self.rows[self.number[name]]
        if row.glued_to is not None:
            raise InputError(
                f"{at}.glued_to is {name!r}, which is itself glued to {row.glued_to!r}; name that"
            )
        return self.number[name]

    # ------------------------------------------------------------------ one wall
    def _row(self, wall: Simple, at: str, k: int) -> WallRow:
        kind, point, axis, size, side, _ = shape_of(wall, self.dim, self.periodic, at)
        row = WallRow(
            name=wall.name or f"{wall.kind}{k}",
            at=at,
            kind=kind,
            point=point,
            axis=axis,
            material=material_number(wall.material, self.materials, f"{at}.material"),
            pivot=point if wall.pivot is None else checked(wall.pivot, self.dim, f"{at}.pivot"),
            size=size,
            side=side,
            mesh=table_of(wall, at) if isinstance(wall, MeshWall) else None,
            piston=wall.piston if isinstance(wall, Plane) else None,
            glued_to=wall.glued_to,
        )
        if row.glued_to is not None:
            given = [name for name in _MOTION if getattr(wall, name, None)]
            if given:
                raise InputError(
                    f"{at}.{given[0]} is given, but a wall glued to another moves as that one does;"
                    f" leave out {given[0]} or glued_to"
                )
            return row
        self._move(row, wall)
        return row

    def _move(self, row: WallRow, wall: Simple) -> None:
        """Set how the wall moves along each axis: as prescribed, or free under its loads."""
        dim, at = self.dim, row.at
        velocity = ["0"] * dim if wall.velocity is None else list(wall.velocity)
        if len(velocity) != dim:
            raise InputError(
                f"{at}.velocity has {len(velocity)} component(s); this scene takes {dim}"
            )
        if row.piston is not None:
            self._piston(row, wall, velocity)
        row.free = [axis for axis, v in enumerate(velocity) if v == "free"]
        row.mass = wall.mass or (row.piston.mass if row.piston else None) or 0.0
        if row.free and not row.mass and row.piston is None:
            raise InputError(
                f"{at}.velocity is 'free' along {AXES[row.free[0]]}, where forces move the wall;"
                " give its mass"
            )
        if wall.mass is not None and not row.free:
            raise InputError(f"{at}.mass is {wall.mass:g}, but the wall is free along no axis")
        if wall.velocity is not None:
            row.drives += components(velocity, dim, f"{at}.velocity", VELOCITY)
        spin = as_spin(wall.spin, dim, f"{at}.spin")
        row.drives += components(spin, spins(dim), f"{at}.spin", SPIN)
        for drive in components(wall.force, dim, f"{at}.force", FORCE):
            if drive.axis in row.free:
                row.drives.append(drive)
            elif not (drive.constant and drive.value(0.0) == 0.0):
                raise InputError(
                    f"{at}.force acts along {AXES[drive.axis]}, along which the wall is not free;"
                    " make its velocity 'free' there or the force 0"
                )
        for name, f in wall.lock.items():
            axis = AXES.index(name)
            if axis not in row.free:
                raise InputError(f"{at}.lock holds {name!r}, along which the wall is not free")
            row.locks.append(Lock(VELOCITY, slice(0), axis, compile_function(f)))

    def _piston(self, row: WallRow, wall: Simple, velocity: list[Any]) -> None:
        """Free a piston along its normal, and put its force there."""
        piston, at = row.piston, row.at
        assert piston is not None
        if wall.spin is not None:
            raise InputError(f"{at} has a piston and a spin; give one of the two")
        if wall.mass is not None:
            other = "" if piston.mass is None else f" and piston.mass is {piston.mass:g}"
            raise InputError(f"{at}.mass is {wall.mass:g}{other}; give one, as piston.mass")
        if np.count_nonzero(row.axis) != 1:
            raise InputError(
                f"{at}.normal is {text(row.axis)}; a piston's normal must lie along an axis"
            )
        push = int(np.flatnonzero(row.axis)[0])
        if wall.velocity is not None and velocity[push] != "free":
            raise InputError(
                f"{at}.velocity is {velocity[push]!r} along {AXES[push]}, along which its piston"
                " moves; give 'free' there"
            )
        velocity[push] = "free"
        if piston.force is not None:
            f = scaled(compile_function(piston.force), float(row.axis[push]))
            row.drives.append(Drive(FORCE, slice(0), push, f, is_constant(piston.force)))

    # ------------------------------------------------------------------ loads
    def pressures(self, n: int, dim: int) -> Iterator[Pressure]:
        """Pressures on pistons, with the walls that span their areas."""
        index = self.number
        for k, row in enumerate(self.rows):
            if row.piston is None or row.piston.pressure is None:
                continue
            at = f"piston of wall {row.name!r}"
            spans = []
            for pair in row.piston.between or []:
                for name in pair:
                    if name not in index:
                        raise InputError(
                            f"the {at} names wall {name!r} in between; walls are"
                            f" {', '.join(map(repr, index))}"
                        )
                a, b = index[pair[0]], index[pair[1]]
                normal = self.rows[a].axis
                planes = self.rows[a].kind == self.rows[b].kind == PLANE
                if not (
                    planes
                    and np.count_nonzero(normal) == 1
                    and np.allclose(normal, -self.rows[b].axis)
                ):
                    raise InputError(
                        f"the {at} spans {pair[0]!r} to {pair[1]!r}, which are not"
                        " planes that face each other along an axis"
                    )
                spans.append((n + a, n + b, int(np.flatnonzero(normal)[0])))
            if spans and len(spans) != dim - 1:
                raise InputError(
                    f"the {at} has {len(spans)} pair(s) in between; in {dim}D it takes {dim - 1}"
                )
            axes = [int(np.flatnonzero(row.axis)[0]), *(axis for _, _, axis in spans)]
            if spans and len(set(axes)) != dim:
                raise InputError(
                    f"the {at} is between walls along {' and '.join(AXES[k] for k in axes[1:])};"
                    " it takes a pair for each axis across its own motion"
                )
            yield Pressure(
                n + k,
                row.axis,
                compile_function(row.piston.pressure),
                row.piston.area or 0.0,
                tuple(spans),
            )


_MOTION = ("velocity", "mass", "force", "lock", "spin", "piston")
