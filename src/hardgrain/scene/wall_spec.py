"""Walls as a user writes them. Every field is checked here, or in `wall_rows`, once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hardgrain.errors import InputError
from hardgrain.scene._base import FileName, Finite, Flag, Name, NotNegative, Positive, Spec
from hardgrain.scene.drive import TimeFunction

__all__ = [
    "Box",
    "Cylinder",
    "Disk",
    "Drum",
    "Faces",
    "MeshWall",
    "Motion",
    "Piston",
    "Plane",
    "Rectangle",
    "Segment",
    "Triangle",
    "Wall",
]

Vector = list[Finite]
Axis = Literal["x", "y", "z"]
Motion = TimeFunction | Literal["free"]  # along an axis: a prescribed velocity, or what forces make


class Piston(Spec):
    """A wall with a mass that moves along its normal, pushed by a force or a pressure.

    Across its normal it stands, or moves as its wall's ``velocity`` says, which is then ``"free"``
    along the normal.

    The mass is inertia alone: gravity acts on grains, not on walls. Add a lid's weight to the
    force.

    ``force`` is positive towards the grains. ``pressure`` acts on ``area``, or on the spans between
    the named pairs of walls (one pair in 2D, two in 3D) as they are at that moment.
    """

    # inertia of the wall, without weight [mass]; default: that of all grains together
    mass: Positive | None = None
    # force that pushes the wall, positive towards the grains [force]
    force: TimeFunction | None = None
    # pressure that pushes the wall towards the grains [force/length^(dimension − 1)]
    pressure: TimeFunction | None = None
    # area that the pressure acts on; in 2D a length [length^(dimension − 1)]
    area: Positive | None = None
    # pairs of walls whose distance, as it is at the moment, gives that area: one pair in 2D, two in
    # 3D
    between: list[tuple[str, str]] | None = None

    @model_validator(mode="after")
    def _check(self) -> Piston:
        if (self.force is None) == (self.pressure is None):
            raise ValueError("a piston needs either force or pressure, and not both")
        if self.pressure is not None and (self.area is None) == (self.between is None):
            raise ValueError("pressure needs either area or between, and not both")
        if self.pressure is None and (self.area is not None or self.between is not None):
            raise ValueError("area and between go with pressure, not with force")
        return self


class _WallBase(Spec):
    # name of the wall in histories and messages; default: its kind and its number
    name: Name | None = None
    # what the wall is made of, a name in scene.materials; default: the first
    material: str | None = None
    # prescribed velocity, a function of time for each axis, or "free" where forces move the wall
    # [length/time]; default: at rest
    velocity: list[Motion] | None = None
    # inertia of the wall along its free axes, without weight; that of glued grains adds to it
    # [mass]; default: none, for walls that are not free
    mass: Positive | None = None
    # force from outside along the free axes, a function of time for each axis [force]; default:
    # none
    force: list[TimeFunction] | None = None
    # free axes that are held while their function of time is positive [1]
    lock: dict[Axis, TimeFunction] = {}
    # prescribed angular velocity about ``pivot``, one function in 2D and three in 3D [rad/time]
    spin: list[TimeFunction] | TimeFunction | None = None
    # point about which the wall rotates [length]; default: the wall's own point
    pivot: Vector | None = None
    # name of another wall with which this one forms one rigid body; default: none
    glued_to: str | None = None


class Plane(_WallBase):
    """A half-space: solid behind ``point``, free on the side that ``normal`` points to."""

    kind: Literal["plane"] = "plane"
    point: Vector  # any point of the plane [length]
    normal: Vector  # direction towards the free side; its length does not matter [1]
    # lets the wall move along its normal under a force or a pressure; default: it stands still
    piston: Piston | None = None


class Segment(_WallBase):
    """A finite straight wall without thickness (2D)."""

    kind: Literal["segment"] = "segment"
    start: Vector  # one end [length]
    end: Vector  # the other end [length]


class Rectangle(_WallBase):
    """A flat rectangle without thickness (3D), with a round hole in its middle if wanted."""

    kind: Literal["rectangle"] = "rectangle"
    corner: Vector  # one corner [length]
    sides: tuple[Vector, Vector]  # the two sides that begin there, at right angles [length]
    hole: NotNegative = 0.0  # radius of the hole, 0 for none [length]


class Triangle(_WallBase):
    """A flat triangle without thickness (3D)."""

    kind: Literal["triangle"] = "triangle"
    corners: tuple[Vector, Vector, Vector]  # the three corners [length]


class Disk(_WallBase):
    """A flat round plate without thickness (3D), with a round hole in its middle if wanted."""

    kind: Literal["disk"] = "disk"
    center: Vector  # centre of the plate [length]
    normal: Vector  # direction across the plate; its length does not matter [1]
    radius: Positive  # outer radius [length]
    hole: NotNegative = 0.0  # radius of the hole, 0 for none [length]


class Cylinder(_WallBase):
    """The inside (default) or outside of an endless cylinder; a circle in 2D."""

    kind: Literal["cylinder"] = "cylinder"
    point: Vector  # centre of the circle, or any point of the axis in 3D [length]
    # direction of the axis in 3D; its length does not matter [1]; default: z
    axis: Vector | None = None
    radius: Positive  # radius of the surface [length]
    side: Literal["inside", "outside"] = "inside"  # on which side of the surface the grains are


class MeshWall(_WallBase):
    """A surface of triangles from a file (3D): STL, OBJ or PLY; open, or closed as a solid.

    Inner edges are hidden: a grain that rolls over the triangles of a plane moves as on a plane.
    The triangles are kept with the scenario, so that the file is needed only once.
    """

    kind: Literal["mesh"] = "mesh"
    file: FileName  # a surface (.stl, .obj, .ply)
    scale: Positive = 1.0  # factor from the lengths of the file to those of the scene [1]
    # rotation about the origin of the file, a vector along the axis, as long as the angle [rad];
    # default: none
    turn: Vector | None = None
    # where the origin of the file lies in the scene [length]; default: its origin
    move: Vector | None = None
    # where grains touch it; default: a closed surface on its outside, as that of a solid body, and
    # an open one on both sides
    side: Literal["outside", "inside", "both"] | None = None
    # the triangles of the file, packed into a word; default: they are read from the file
    surface: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("surface") is None and "file" in data:
            from hardgrain.scene.mesh import read_surface
            from hardgrain.scene.mesh_table import as_text

            try:
                return {**data, "surface": as_text(*read_surface(str(data["file"])))}
            except InputError as error:
                raise ValueError(str(error)) from None
        return data


class Faces(Spec):
    """Two opposite sides of a box that move: under a pressure, or as prescribed.

    Under a pressure each is a piston, pushed by the pressure times the area between the sides
    across as it is at that moment. Both move, so that a sample stays where it is, unless one is
    ``fixed``.
    """

    # pressure on each of the two sides, towards the grains [force/length^(dimension − 1)]
    pressure: TimeFunction | None = None
    # velocity of each of the two sides, positive outwards, in place of a pressure [length/time]
    velocity: TimeFunction | None = None
    # inertia of each side under a pressure [mass]; default: that of all grains together
    mass: Positive | None = None
    # the one of the two sides that stands still, such as "bottom"; default: none
    fixed: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Faces:
        if (self.pressure is None) == (self.velocity is None):
            raise ValueError("the sides of a box need either pressure or velocity, and not both")
        if self.pressure is None and self.mass is not None:
            raise ValueError("mass goes with pressure, not with velocity")
        return self


class Box(Spec):
    """Planes around a rectangle (left, right, bottom, top) or a block (front and back too).

    x runs from left to right; the vertical axis, y in 2D and z in 3D, from bottom to top; in 3D y
    runs from front to back. ``open`` sides have no wall; ``pistons`` names sides that move, and
    ``x``, ``y`` and ``z`` say how the two sides across an axis do.
    """

    kind: Literal["box"] = "box"
    min: Vector  # lower corner [length]
    max: Vector  # upper corner [length]
    open: list[str] = []  # sides without a wall, such as "top"
    # sides that move under a force or a pressure, by the name of the side
    pistons: dict[str, Piston] = {}
    # how the two sides across x move, under a pressure or as prescribed; default: they do not
    x: Faces | None = None
    y: Faces | None = None  # the same across y
    z: Faces | None = None  # the same across z
    # prescribed velocity of all sides, a function of time for each axis; a piston is free along
    # its own axis [length/time]; default: at rest
    velocity: list[TimeFunction] | None = None
    # what all sides are made of, a name in scene.materials; default: the first
    material: str | None = None
    # prefix of the names of the sides, for scenes with several boxes; default: none
    name: Name | None = None


class Drum(Spec):
    """A rotating drum: a circle in 2D, a cylinder in 3D, closed by planes if it has a length."""

    kind: Literal["drum"] = "drum"
    center: Vector  # centre of the drum [length]
    radius: Positive  # inner radius [length]
    # angular velocity about the axis, counter-clockwise seen from its tip [rad/time]
    spin: TimeFunction = 0.0
    # direction of the axis in 3D; its length does not matter [1]; default: y
    axis: Vector | None = None
    # length along the axis in 3D [length]; default: endless, for a period along the axis
    length: Positive | None = None
    ends_turn: Flag = False  # whether the end planes rotate with the drum
    # what the drum is made of, a name in scene.materials; default: the first
    material: str | None = None
    name: Name = "drum"  # name of the drum in histories and messages


Wall = Annotated[
    Plane | Segment | Rectangle | Triangle | Disk | Cylinder | MeshWall | Box | Drum,
    Field(discriminator="kind"),
]
