"""The scene as a user writes it: materials, grains, walls. Every field is checked here, once."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hardgrain.scene._base import (
    Count,
    Finite,
    Name,
    NotNegative,
    Positive,
    Share,
    Spec,
)
from hardgrain.scene.drive import TimeFunction
from hardgrain.scene.elastic import Elastic, outlined, refuse_beside_elastic
from hardgrain.scene.place import At, Placement, Voronoi
from hardgrain.scene.shapes import Shape, refuse_beside_shape
from hardgrain.scene.sizes import Sizes
from hardgrain.scene.wall_spec import (
    Box,
    Cylinder,
    Disk,
    Drum,
    Faces,
    MeshWall,
    Motion,
    Piston,
    Plane,
    Rectangle,
    Segment,
    Triangle,
    Wall,
)

__all__ = [
    "Box",
    "ContactLaw",
    "Cylinder",
    "Disk",
    "Drum",
    "Faces",
    "Grains",
    "Insert",
    "Material",
    "MeshWall",
    "Piston",
    "Plane",
    "Rectangle",
    "Remove",
    "Segment",
    "Spec",
    "Triangle",
    "Wall",
]

Vector = list[Finite]
Axis = Literal["x", "y", "z"]
Lock = Literal["x", "y", "z", "rotation", "rx", "ry", "rz"]


class Material(Spec):
    """What a grain or wall is made of."""

    # mass per area of a disk, per volume of a sphere [mass/length^dimension]
    density: Positive = 1.0


class ContactLaw(Spec):
    """What happens where two materials touch. Without ``between`` it holds for every pair.

    A law with a ``name`` holds for no pair, but where ``scene.contact_rule`` chooses it.
    """

    # name by which scene.contact_rule chooses this law; default: it holds by materials
    name: Name | None = None

    # the two materials for which this law holds; default: every pair
    between: tuple[str, str] | None = None
    # Coulomb's coefficient µ; that of contacts at rest, if friction_dynamic is given [1]
    friction: NotNegative = 0.3
    # friction coefficient of sliding contacts, at most ``friction`` [1]; default: the same
    friction_dynamic: NotNegative | None = None
    # share of the normal velocity with which grains part after a collision, Newton's e_n in
    # Moreau's form [1]
    restitution: Share = 0.0
    # approach speed v₀ at which restitution holds; slower grains rebound better, as viscoelastic
    # spheres do: e(v) = 1 − (1 − e) (v/v₀)^(1/5) [speed]; default: the same e at every speed
    restitution_speed: Positive | None = None
    restitution_tangential: Share = 0.0  # share of the tangential velocity likewise, e_t [1]
    # largest force with which a contact resists being pulled apart [force]
    cohesion: NotNegative = 0.0
    # gap over which cohesion acts [length]; default: 10⁻⁴ mean diameters
    cohesion_range: NotNegative | None = None
    # coefficient of rolling resistance: torque per normal force and effective radius [1]
    rolling: NotNegative = 0.0
    # coefficient of resistance to spinning about the normal, in 3D only [1]
    torsion: NotNegative = 0.0

    @model_validator(mode="after")
    def _check(self) -> ContactLaw:
        if self.name is not None and self.between is not None:
            raise ValueError(
                f"name is {self.name!r} and between is given; a law holds either where"
                " scene.contact_rule chooses it by its name or between two materials"
            )
        if self.friction_dynamic is not None and self.friction_dynamic > self.friction:
            raise ValueError(
                f"friction_dynamic is {self.friction_dynamic:g} but must not exceed"
                f" friction, {self.friction:g}"
            )
        if self.restitution_speed is not None and self.restitution_tangential > 0.0:
            raise ValueError(
                f"restitution_speed is {self.restitution_speed:g} but restitution_tangential is"
                f" {self.restitution_tangential:g}; give one of the two"
            )
        return self


class Insert(Spec):
    """When the grains of a set come into the scene: all at once, or one after the other.

    A grain that is due comes in at its place. With ``place.kind = "at"`` the given points are taken
    in turn, and a grain waits until its point is free; with ``"deposit"`` it comes in at a random
    free point of the region, or waits for one. Grains of a set come in their order.
    """

    time: NotNegative = 0.0  # time at which the first grain is due [time]
    # number of grains that come in per unit of time [1/time]; default: all are due at once
    rate: Positive | None = None

    def due(self, time: float, count: int) -> int:
        """How many grains of the set are due by a given time."""
        if time < self.time:
            return 0
        if self.rate is None:
            return count
        return min(count, 1 + math.floor((time - self.time) * self.rate + 1e-9))


class Remove(Spec):
    """A rule that takes grains out when their centre enters, or leaves, a region of the scene."""

    # name under which the number of grains taken out is reported; default: the name of the region
    name: Name | None = None
    entering: str | None = None  # the region that a grain must not enter, a name in scene.regions
    leaving: str | None = None  # the region that a grain must not leave, a name in scene.regions
    time: NotNegative = 0.0  # time from which grains are taken out [time]

    @model_validator(mode="after")
    def _check(self) -> Remove:
        if (self.entering is None) == (self.leaving is None):
            raise ValueError("a removal needs either entering or leaving, and not both")
        return self

    @property
    def region(self) -> str:
        """Name of the region."""
        return self.entering or self.leaving or ""

    @property
    def title(self) -> str:
        """Name of the removal."""
        return self.name or self.region


class Grains(Spec):
    """A set of grains of one material, how they are placed and what drives them.

    They are disks or spheres, unless they have a shape. The place of a grain is its centre of mass,
    and it is placed as if it filled the smallest circle or sphere about it. Its orientation says
    how the axes in which its shape is written are turned in space. Where those are no principal
    axes of the shape, the orientation that a run keeps is that of the principal axes next to them.
    """

    # how many grains the set has [1]; needed, unless diameters or positions are listed
    count: Annotated[Count, Field(le=100_000_000)] | None = None
    # one diameter for all, a list with one per grain, or a distribution [length]; default: 1, or as
    # the lengths of the shape are written
    diameter: Sizes | None = None
    # a name such as "pentagon" or "cube", or a table with the kind of the shape; default: disks or
    # spheres
    shape: Shape | None = None
    # what the diameter of a shape is: that of the smallest circle or sphere about its centre of
    # mass that holds it; the side of the smallest square hole that it passes along its longest
    # principal axis, in 2D its least width; or that of the disk or ball of equal volume; default:
    # "circumscribed"
    size_by: Literal["circumscribed", "sieve", "volume"] | None = None
    # how the grains deform; default: they are rigid
    elastic: Elastic | None = None
    # what the grains are made of, a name in scene.materials; default: the first
    material: str | None = None
    # where the grains are at the start; needed, unless they come from a file
    place: Placement | None = None
    # when the grains come in, at their place; default: they are there from the start
    insert: Insert | None = None
    velocity: Vector | None = None  # initial velocity of each grain [length/time]; default: at rest
    # initial angular velocity, a number in 2D and three in 3D [rad/time]; default: none
    spin: Finite | Vector | None = None
    # initial orientation, an angle in 2D and a rotation vector in 3D [rad], or "random"; default:
    # not turned
    orientation: Literal["random"] | Finite | Vector | None = None
    # moment of inertia over mass × radius²; in 3D also three of them, about the grain's own axes
    # [1]; default: that of a solid disk, 1/2, or of a solid ball, 2/5
    inertia: Positive | list[Positive] | None = None
    # standard deviation of each component of random initial velocities, which are added
    # [length/time]
    speed: NotNegative = 0.0
    # motions that are locked: along axes, all rotation, or rotation about an axis; with functions
    # of time, each is locked while its function is positive
    lock: list[Lock] | dict[Lock, TimeFunction] = []
    # force on each grain besides gravity, a function of time for each axis [force]
    force: list[TimeFunction] | None = None
    # torque on each grain, one function of time in 2D and three in 3D [force length]
    torque: list[TimeFunction] | TimeFunction | None = None
    # prescribed velocity, a function of time for each axis or "free" [length/time]
    driven_velocity: list[Motion] | None = None
    # prescribed angular velocity, one function of time in 2D and three in 3D [rad/time]
    driven_spin: list[TimeFunction] | TimeFunction | None = None
    # name of a wall with which the grains form one rigid body, as bumps of a rough plate; default:
    # none
    glued_to: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _outlined(cls, data: Any) -> Any:
        return outlined(data)

    @model_validator(mode="after")
    def _check(self) -> Grains:
        refuse_beside_shape(self)
        refuse_beside_elastic(self)
        return self

    @property
    def shaped(self) -> bool:
        """Whether its grains are not round."""
        return self.shape is not None or isinstance(self.place, Voronoi)

    @property
    def size(self) -> int | None:
        """How many grains the set has, as far as it says."""
        if self.count is None and isinstance(self.place, At):
            return len(self.place.positions)
        if self.count is None and isinstance(self.diameter, tuple):
            return len(self.diameter)
        return self.count
