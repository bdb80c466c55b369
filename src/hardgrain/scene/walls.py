"""Walls as a user writes them, taken apart into rows: shape, motion along each axis, loads.

Along each axis a wall stands, moves as prescribed, or is free: then it has a mass and forces move
it. A piston is free along its normal. What is glued to a wall moves with it as one body.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES, as_spin, components, material_number, spins, text, unit
from hardgrain.scene._checks import vector as checked
from hardgrain.scene.drive import compile_function, is_constant
from hardgrain.scene.model import (
    DISK,
    FORCE,
    INSIDE,
    OUTSIDE,
    PLANE,
    RECTANGLE,
    SEGMENT,
    SPIN,
    TRIANGLE,
    VELOCITY,
    Drive,
    Floats,
    Ints,
    Lock,
    Pressure,
)
from hardgrain.scene.spec import (
    Box,
    Cylinder,
    Disk,
    Drum,
    Piston,
    Plane,
    Rectangle,
    Segment,
    Triangle,
    Wall,
)

__all__ = ["WallRow", "Walls", "check_holes", "check_images"]

_Simple = Plane | Segment | Rectangle | Triangle | Disk | Cylinder

_RIGHT = 1e-9  # [rad] what rounding may leave of a right angle


@dataclass
class WallRow:
    """One wall; the arrays are those of `hardgrain.scene.geometry`."""

    name: str
    at: str  # where it stands in the scenario
    kind: int
    point: Floats
    axis: Floats
    material: int
    pivot: Floats
    size: float = 0.0
    side: Floats = field(default_factory=lambda: np.zeros(0))
    free: list[int] = field(default_factory=list)  # axes along which forces move it
    mass: float = 0.0
    drives: list[Drive] = field(default_factory=list)
    locks: list[Lock] = field(default_factory=list)
    piston: Piston | None = None
    glued_to: str | None = None

    @property
    def slides(self) -> bool:
        """Whether it is a plane that is free along its normal alone."""
        return self.kind == PLANE and self.free == np.flatnonzero(self.axis).tolist()


class Walls:
    """All walls of a scene as rows; boxes and drums become their parts."""

    def __init__(
        self, walls: Sequence[Wall], dim: int, periodic: Floats, materials: Sequence[str]
    ) -> None:
        self.dim, self.periodic, self.materials = dim, periodic, materials
        self.rows: list[WallRow] = []
        for k, wall in enumerate(walls):
            for part, at in _parts(wall, dim, f"scene.walls[{k}]"):
                self.rows.append(self._row(part, at, k))
        self.number: dict[str, int] = {}
        for k, row in enumerate(self.rows):
            if row.name in self.number:
                raise InputError(
                    f"scene.walls has two walls named {row.name!r}; give each a name of its own"
                )
            self.number[row.name] = k

    def geometry(self) -> tuple[Ints, Floats, Floats, Floats, Floats]:
        """Kind, point, axis, size and side of all walls where they start."""
        rows, none = self.rows, np.zeros((0, self.dim))
        return (
            np.array([row.kind for row in rows], np.int32),
            np.array([row.point for row in rows]) if rows else none,
            np.array([row.axis for row in rows]) if rows else none,
            np.array([row.size for row in rows], float),
            np.array([row.side for row in rows]) if rows else none,
        )

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
    def _row(self, wall: _Simple, at: str, k: int) -> WallRow:
        kind, point, axis, size, side = self._shape(wall, at)
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

    def _shape(self, wall: _Simple, at: str) -> tuple[int, Floats, Floats, float, Floats]:
        """Kind, point, axis, size and side, see `hardgrain.scene.geometry`."""
        dim = self.dim
        none = np.zeros(dim)

        def vector(value: Any, name: str) -> Floats:
            return checked(value, dim, f"{at}.{name}")

        if isinstance(wall, Plane):
            point, axis = vector(wall.point, "point"), unit(wall.normal, dim, f"{at}.normal")
            repeated = np.flatnonzero((axis != 0.0) & (self.periodic > 0.0))
            if repeated.size:
                raise InputError(
                    f"{at} faces along {AXES[repeated[0]]}, along which the scene repeats;"
                    " leave out this wall or the period"
                )
            return PLANE, point, axis, 0.0, none
        if isinstance(wall, Cylinder):
            kind = INSIDE if wall.side == "inside" else OUTSIDE
            axis = none
            if dim == 3:
                axis = unit([0.0, 0.0, 1.0] if wall.axis is None else wall.axis, 3, f"{at}.axis")
            elif wall.axis is not None:
                raise InputError(f"{at}.axis is given, but a circle in 2D has none; leave it out")
            return kind, vector(wall.point, "point"), axis, wall.radius, none
        if isinstance(wall, Segment):
            if dim == 3:
                raise InputError(f"{at} is a segment; segments exist only in 2D")
            start, end = vector(wall.start, "start"), vector(wall.end, "end")
            if not (end - start).any():
                raise InputError(f"{at}.end equals start; a segment needs two different ends")
            return SEGMENT, start, end - start, 0.0, none
        if dim == 2:
            raise InputError(
                f"{at} is a {wall.kind}; flat walls that end exist only in 3D, in 2D use a segment"
            )
        if isinstance(wall, Disk):
            if wall.hole >= wall.radius:
                raise InputError(
                    f"{at}.hole is {wall.hole:g} but must be less than radius, {wall.radius:g}"
                )
            normal = wall.radius * unit(wall.normal, dim, f"{at}.normal")
            return DISK, vector(wall.center, "center"), normal, wall.hole, none
        if isinstance(wall, Triangle):
            corner, second, third = (vector(c, f"corners[{k}]") for k, c in enumerate(wall.corners))
            sides, where = (second - corner, third - corner), "corners"
        else:
            corner, where = vector(wall.corner, "corner"), "sides"
            sides = vector(wall.sides[0], "sides[0]"), vector(wall.sides[1], "sides[1]")
        lengths = [float(np.linalg.norm(a)) for a in sides]
        area = float(np.linalg.norm(np.cross(*sides)))
        if area <= _RIGHT * lengths[0] * lengths[1]:
            raise InputError(f"{at}.{where} lie on one line; a {wall.kind} needs an area")
        if isinstance(wall, Triangle):
            return TRIANGLE, corner, sides[0], 0.0, sides[1]
        if abs(float(sides[0] @ sides[1])) > _RIGHT * lengths[0] * lengths[1]:
            raise InputError(
                f"{at}.sides are {text(sides[0])} and {text(sides[1])}; they must be at right"
                " angles (use two triangles for other shapes)"
            )
        if 2.0 * wall.hole >= min(lengths):
            raise InputError(
                f"{at}.hole is {wall.hole:g} but must be less than half of the shorter side,"
                f" {0.5 * min(lengths):g}"
            )
        return RECTANGLE, corner, sides[0], wall.hole, sides[1]

    def _move(self, row: WallRow, wall: _Simple) -> None:
        """How it moves along each axis: prescribed, or free under its loads."""
        dim, at = self.dim, row.at
        velocity = ["0"] * dim if wall.velocity is None else list(wall.velocity)
        if len(velocity) != dim:
            raise InputError(
                f"{at}.velocity has {len(velocity)} component(s); this scene takes {dim}"
            )
        if row.piston is not None:
            self._piston(row, wall, velocity)
        row.free = [axis for axis, v in enumerate(velocity) if v == "free"]
        row.mass = wall.mass or (row.piston.mass if row.piston else 0.0)
        if row.free and not row.mass:
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

    def _piston(self, row: WallRow, wall: _Simple, velocity: list[Any]) -> None:
        """Frees a piston's normal and puts its force there."""
        piston, at = row.piston, row.at
        assert piston is not None
        if wall.spin is not None:
            raise InputError(f"{at} has a piston and a spin; give one of the two")
        if wall.mass is not None:
            raise InputError(
                f"{at}.mass is {wall.mass:g} and piston.mass is {piston.mass:g}; give one"
            )
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
            f = _scaled(compile_function(piston.force), float(row.axis[push]))
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


def _scaled(f: Callable[[float], float], sign: float) -> Callable[[float], float]:
    return lambda t: sign * f(t)


def _parts(wall: Any, dim: int, at: str) -> Iterator[tuple[_Simple, str]]:
    """A box or a drum as planes and cylinders; any other wall as itself."""
    if isinstance(wall, Box):
        low, high = checked(wall.min, dim, f"{at}.min"), checked(wall.max, dim, f"{at}.max")
        if not (high > low).all():
            raise InputError(
                f"{at}.max is {text(high)}; every component must exceed min, {text(low)}"
            )
        sides = [("left", "right"), ("bottom", "top")]
        if dim == 3:
            sides.insert(1, ("front", "back"))
        known = [name for pair in sides for name in pair]
        for given in (*wall.open, *wall.pistons):
            if given not in known:
                raise InputError(f"{at} names the side {given!r}; sides are {', '.join(known)}")
        for given in wall.pistons:
            if given in wall.open:
                raise InputError(f"{at} has a piston at {given!r}, a side that is open")
        prefix = f"{wall.name}-" if wall.name else ""
        if wall.velocity is not None and len(wall.velocity) != dim:
            raise InputError(
                f"{at}.velocity has {len(wall.velocity)} component(s); this scene takes {dim}"
            )
        for across, pair in enumerate(sides):
            for side, point, sign in zip(pair, (low, high), (1.0, -1.0), strict=True):
                if side in wall.open:
                    continue
                normal = np.zeros(dim)
                normal[across] = sign
                velocity: list[Any] | None = wall.velocity
                if velocity is not None and side in wall.pistons:
                    velocity = [*velocity[:across], "free", *velocity[across + 1 :]]
                yield (
                    Plane(
                        name=prefix + side,
                        material=wall.material,
                        point=point.tolist(),
                        normal=normal.tolist(),
                        piston=wall.pistons.get(side),
                        velocity=velocity,
                    ),
                    f"{at}.{side}",
                )
    elif isinstance(wall, Drum):
        center = checked(wall.center, dim, f"{at}.center")
        if dim == 2:
            if wall.axis is not None or wall.length is not None:
                raise InputError(f"{at} has an axis or a length; a drum in 2D is a circle")
            yield (
                Cylinder(
                    name=wall.name,
                    material=wall.material,
                    point=center.tolist(),
                    radius=wall.radius,
                    spin=wall.spin,
                ),
                at,
            )
            return
        axis = unit(wall.axis or [0.0, 1.0, 0.0], 3, f"{at}.axis")
        f = compile_function(wall.spin)
        spin: list[Any]
        if is_constant(wall.spin):
            spin = (f(0.0) * axis).tolist()
        else:
            spin = [_scaled(f, float(a)) if a else 0.0 for a in axis]
        yield (
            Cylinder(
                name=wall.name,
                material=wall.material,
                point=center.tolist(),
                axis=axis.tolist(),
                radius=wall.radius,
                spin=spin,
            ),
            at,
        )
        if wall.length is not None:
            for side, sign in (("front", 1.0), ("back", -1.0)):
                yield (
                    Plane(
                        name=f"{wall.name}-{side}",
                        material=wall.material,
                        point=(center - 0.5 * sign * wall.length * axis).tolist(),
                        normal=(sign * axis).tolist(),
                        spin=spin if wall.ends_turn else None,
                    ),
                    f"{at}.{side}",
                )
    else:
        yield wall, at


def check_images(periodic: Floats, radius: Floats, walls: Sequence[WallRow]) -> None:
    """No grain may touch two images of a wall, nor a wall turn across a period."""
    room = 4.0 * float(radius.max()) if radius.size else 0.0
    for k, period in enumerate(periodic):
        if period == 0.0:
            continue
        for wall in walls:
            along = abs(float(wall.axis[k]))
            if wall.kind == PLANE:
                turns = {drive.axis for drive in wall.drives if drive.what == SPIN}
                if turns - set(np.flatnonzero(wall.axis)) or (turns and periodic.size == 2):
                    raise InputError(
                        f"wall {wall.name!r} turns in a scene that repeats along {AXES[k]};"
                        " leave out its spin or the period"
                    )
                continue
            if wall.kind in (SEGMENT, RECTANGLE, TRIANGLE):
                sides = (wall.axis, wall.side)
                if wall.kind != TRIANGLE and any(
                    abs(a[k]) >= period and np.count_nonzero(a) == 1 for a in sides
                ):
                    continue  # a straight floor without ends
                ends = np.array([0.0, wall.axis[k], wall.side[k]])
                if wall.kind == RECTANGLE:
                    ends = np.append(ends, wall.axis[k] + wall.side[k])
                width = float(np.ptp(ends)) + room
            elif wall.kind == DISK:
                radius_k = math.sqrt(max(float(wall.axis @ wall.axis) - along**2, 0.0))
                width = 2.0 * radius_k + room
            else:
                width = 2.0 * wall.size * math.sqrt(max(1.0 - along**2, 0.0))
                width += room if wall.kind == OUTSIDE and width > 0.0 else 0.0
            if width > period:
                raise InputError(
                    f"wall {wall.name!r} needs {width:g} along {AXES[k]}, with room for two grains"
                    f" where they can pass it, but scene.periodic.{AXES[k]} spans {period:g}"
                )


def check_holes(radius: Floats, walls: Sequence[WallRow]) -> None:
    """No grain may sit in a round hole as a stopper: it touches the whole rim, not one point."""
    for wall in walls:
        if wall.kind in (RECTANGLE, DISK) and radius.size and 0.0 < wall.size < radius.max():
            raise InputError(
                f"{wall.at}.hole is {wall.size:g}, but the largest grain has the radius"
                f" {radius.max():g} and would sit in it, on its whole rim, which one contact cannot"
                " carry; make the hole wider, or build it of triangles"
            )
