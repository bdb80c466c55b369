"""The scene as a user writes it: materials, grains, walls. Every field is checked here, once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hardgrain.scene._base import (
    Count,
    Finite,
    Flag,
    Name,
    NotNegative,
    Positive,
    Share,
    Spec,
)
from hardgrain.scene.drive import TimeFunction
from hardgrain.scene.place import Placement
from hardgrain.scene.sizes import Sizes

__all__ = [
    "Box",
    "ContactLaw",
    "Cylinder",
    "Drum",
    "Grains",
    "Material",
    "Piston",
    "Plane",
    "Segment",
    "Spec",
    "Wall",
]

Vector = list[Finite]
Axis = Literal["x", "y", "z"]


class Material(Spec):
    """What a grain or wall is made of."""

    density: Positive = 1.0  # mass per area in 2D, per volume in 3D


class ContactLaw(Spec):
    """What happens where two materials touch. Without ``between`` it holds for every pair."""

    between: tuple[str, str] | None = None
    friction: NotNegative = 0.3  # Coulomb's µ; static, where a dynamic one is given
    friction_dynamic: NotNegative | None = None  # of sliding contacts; default: the same
    restitution: Share = 0.0  # Newton's e_n, in Moreau's form
    restitution_tangential: Share = 0.0  # e_t
    cohesion: NotNegative = 0.0  # largest tensile force [force]
    cohesion_range: NotNegative | None = None  # gap it acts over [length]; default 10⁻⁴ diameters
    rolling: NotNegative = 0.0  # rolling resistance [1]
    torsion: NotNegative = 0.0  # torsional resistance [1], 3D only

    @model_validator(mode="after")
    def _check(self) -> ContactLaw:
        if self.friction_dynamic is not None and self.friction_dynamic > self.friction:
            raise ValueError(
                f"friction_dynamic is {self.friction_dynamic:g} but must not exceed"
                f" friction, {self.friction:g}"
            )
        return self


class Grains(Spec):
    """A set of disks or spheres of one material, how they are placed and what drives them."""

    count: Annotated[Count, Field(le=100_000_000)] | None = None
    diameter: Sizes = 1.0
    material: str | None = None  # default: the first material
    place: Placement | None = None  # needed, unless grains come from a file
    velocity: Vector | None = None  # initial
    spin: Finite | Vector | None = None  # initial
    speed: NotNegative = 0.0  # standard deviation of each component of random initial velocities
    lock: list[Literal["x", "y", "z", "rotation", "rx", "ry", "rz"]] = []  # what cannot move
    force: list[TimeFunction] | None = None  # on each grain, besides gravity
    torque: list[TimeFunction] | TimeFunction | None = None
    driven_velocity: list[TimeFunction | Literal["free"]] | None = None  # prescribed, by axis
    driven_spin: list[TimeFunction] | TimeFunction | None = None


class Piston(Spec):
    """A wall with a mass that moves along its normal, pushed by a force or a pressure.

    The mass is inertia alone: gravity acts on grains, not on walls. Add a lid's weight to the
    force.

    ``force`` is positive towards the grains. ``pressure`` acts on ``area``, or on the spans between
    the named pairs of walls (one pair in 2D, two in 3D) as they are at that moment.
    """

    mass: Positive
    force: TimeFunction | None = None
    pressure: TimeFunction | None = None
    area: Positive | None = None
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
    name: Name | None = None
    material: str | None = None
    velocity: list[TimeFunction] | None = None  # prescribed
    spin: list[TimeFunction] | TimeFunction | None = None  # prescribed, about ``pivot``
    pivot: Vector | None = None  # default: the wall's own point


class Plane(_WallBase):
    """A half-space: solid behind ``point``, free on the side that ``normal`` points to."""

    kind: Literal["plane"] = "plane"
    point: Vector
    normal: Vector
    piston: Piston | None = None


class Segment(_WallBase):
    """A finite straight wall without thickness (2D)."""

    kind: Literal["segment"] = "segment"
    start: Vector
    end: Vector


class Cylinder(_WallBase):
    """The inside (default) or outside of an endless cylinder; a circle in 2D."""

    kind: Literal["cylinder"] = "cylinder"
    point: Vector
    axis: Vector | None = None  # 3D only
    radius: Positive
    side: Literal["inside", "outside"] = "inside"


class Box(Spec):
    """Planes around a rectangle (left, right, bottom, top) or a block (front and back too).

    x runs from left to right; the vertical axis, y in 2D and z in 3D, from bottom to top; in 3D y
    runs from front to back. ``open`` sides have no wall; ``pistons`` names sides that move.
    """

    kind: Literal["box"] = "box"
    min: Vector
    max: Vector
    open: list[str] = []
    pistons: dict[str, Piston] = {}
    material: str | None = None
    name: Name | None = None  # prefix of the sides' names, where a scene has several boxes


class Drum(Spec):
    """A turning drum: a circle in 2D, a cylinder in 3D, closed by planes where it has a length."""

    kind: Literal["drum"] = "drum"
    center: Vector
    radius: Positive
    spin: TimeFunction = 0.0  # about the axis, counter-clockwise seen from its tip
    axis: Vector | None = None  # 3D; default y
    length: Positive | None = None  # 3D; default: endless, for a period along the axis
    ends_turn: Flag = False
    material: str | None = None
    name: Name = "drum"


Wall = Annotated[Plane | Segment | Cylinder | Box | Drum, Field(discriminator="kind")]
