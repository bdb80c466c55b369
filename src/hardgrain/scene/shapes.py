"""Shapes of grains as a user writes them, checked once.

A shape is a table with its kind, or a name such as "pentagon" or "cube". Where it is given by
lengths (corners, sides, centres and radii, a file) these are meant as they are written, unless the
set of grains has a diameter. Where it has none, as a name or an aspect, its circumscribed circle or
sphere has the diameter 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hardgrain.errors import InputError
from hardgrain.scene._base import Count, FileName, Flag, Numbers, Positive, Spec, plain
from hardgrain.scene.corners import check_points, check_polygon, check_polyhedron
from hardgrain.scene.place import Voronoi
from hardgrain.scene.polytope import (
    Part,
    ball,
    box,
    capsule,
    hull,
    platonic,
    polygon,
    random_polygon,
    random_polyhedron,
    regular_polygon,
    rounded,
)
from hardgrain.scene.solid import Solid

if TYPE_CHECKING:
    from hardgrain.scene.spec import Grains

__all__ = [
    "Capsule",
    "Clump",
    "Cuboid",
    "MeshShape",
    "Polygon",
    "Polyhedron",
    "Shape",
    "refuse_beside_shape",
]

Floats = NDArray[np.float64]
Points = Annotated[tuple[Numbers, ...], Field(min_length=1), BeforeValidator(plain)]
Sides = Annotated[Count, Field(ge=3, le=64)]
Corners = Annotated[Count, Field(ge=4, le=64)]
# A core that has shrunk to a thousandth of the shape still has faces that rounding cannot hurt.
Rounding = Annotated[float, Field(strict=True, ge=0.0, le=0.999), BeforeValidator(plain)]


class _Shape(Spec):
    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        """The shape in its own frame; several, if the grains of a set differ."""
        raise NotImplementedError

    @property
    def random_ones(self) -> bool:
        """Whether it is drawn with the seed of the run."""
        return bool(getattr(self, "random", False))


class _Rounded(_Shape):
    # radius of its edges and corners, over that of the largest disk or ball inside; its faces stay
    # where they are [1]
    rounding: Rounding = 0.0

    def _finished(self, part: Part, dim: int, literal: bool) -> Solid:
        if self.rounding > 0.0:
            part = rounded(part, self.rounding, dim)
        return _unit(Solid.of([part], dim), literal)


class Polygon(_Rounded):
    """A convex polygon (2D): regular with ``sides``, given by its ``corners``, or random.

    Random polygons are made as Voronoi cells are, of lines at random distances around a point.
    """

    kind: Literal["polygon"] = "polygon"
    # number of sides; of random polygons also the least and the most [1]
    sides: Sides | tuple[Sides, Sides] | None = None
    # corners in their order, in either sense [length]
    corners: Points | None = None
    random: Flag = False  # whether its corners are drawn
    variants: Count = 20  # how many random polygons there are, of which each grain has one [1]

    @model_validator(mode="after")
    def _check(self) -> Polygon:
        if (self.sides is None) == (self.corners is None):
            raise ValueError("a polygon needs either sides or corners, and not both")
        if self.random and self.sides is None:
            raise ValueError("random is true, but corners are given; give sides instead")
        if isinstance(self.sides, tuple):
            if not self.random:
                raise ValueError(
                    f"sides is {list(self.sides)}, a range for random polygons; add random = true,"
                    " or give one number"
                )
            if self.sides[0] > self.sides[1]:
                raise ValueError(
                    f"sides is {list(self.sides)}; give the least number first, then the most"
                )
        if self.corners is not None:
            check_polygon(check_points(self.corners, 2, "corners", "a polygon"))
        return self

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        _refuse(self.kind, 2, dim)
        if self.corners is not None:
            x = np.array(self.corners)
            twice = x[:, 0] * np.roll(x[:, 1], -1) - x[:, 1] * np.roll(x[:, 0], -1)
            x = x if twice.sum() > 0.0 else x[::-1]
            return [self._finished(polygon(x), 2, literal=True)]
        low, high = self.sides if isinstance(self.sides, tuple) else (self.sides, self.sides)
        assert low is not None
        assert high is not None
        if not self.random:
            return [self._finished(polygon(regular_polygon(low)), 2, literal=False)]
        sides = rng.integers(low, high + 1, self.variants).tolist()
        drawn = (polygon(random_polygon(k, rng)) for k in sides)
        return [self._finished(part, 2, literal=False) for part in drawn]


class Cuboid(_Rounded):
    """A box with sides along x, y and z, or in 2D a rectangle."""

    kind: Literal["box"] = "box"
    # lengths of its sides, one for each axis [length]; default: a cube
    sides: Annotated[tuple[Positive, ...], BeforeValidator(plain)] | None = None

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        if self.sides is not None and len(self.sides) != dim:
            raise InputError(
                f"shape.sides is {list(self.sides)}, with {len(self.sides)} number(s); a box in"
                f" {dim}D takes {dim}"
            )
        if self.sides is None and dim == 2:
            raise InputError(
                "shape is a cube, a shape of 3D; a scene of dimension 2 takes 'square', or a box"
                " with two sides"
            )
        x = box(np.array(self.sides or (1.0, 1.0, 1.0)))
        part = polygon(x) if dim == 2 else hull(x)
        return [self._finished(part, dim, literal=self.sides is not None)]


class Polyhedron(_Rounded):
    """A convex polyhedron (3D): a regular one, given by its ``corners``, or random.

    Random ones are hulls of points that are spread at random over an ellipsoid.
    """

    kind: Literal["polyhedron"] = "polyhedron"
    # which regular solid it is
    regular: Literal["tetrahedron", "cube", "octahedron", "dodecahedron", "icosahedron"] | None = (
        None
    )
    # corners in any order [length]; of random polyhedra their number [1]
    corners: Corners | Points | None = None
    random: Flag = False  # whether its corners are drawn
    variants: Count = 20  # how many random polyhedra there are, of which each grain has one [1]

    @model_validator(mode="after")
    def _check(self) -> Polyhedron:
        if (self.regular is None) == (self.corners is None):
            raise ValueError("a polyhedron needs either regular or corners, and not both")
        if self.random != isinstance(self.corners, int):
            raise ValueError(
                "a random polyhedron needs the number of its corners and random = true, and any"
                " other a list of points, or regular"
            )
        if isinstance(self.corners, tuple):
            check_polyhedron(check_points(self.corners, 3, "corners", "a polyhedron"))
        return self

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        _refuse(self.kind, 3, dim)
        if self.regular is not None:
            return [self._finished(hull(platonic(self.regular)), 3, literal=False)]
        if isinstance(self.corners, tuple):
            return [self._finished(hull(np.array(self.corners)), 3, literal=True)]
        assert self.corners is not None
        drawn = [hull(random_polyhedron(self.corners, rng)) for _ in range(self.variants)]
        return [self._finished(part, 3, literal=False) for part in drawn]


class Capsule(_Shape):
    """A rod with round ends: all points within a radius of a segment along x."""

    kind: Literal["capsule"] = "capsule"
    # its whole length over its diameter [1]
    aspect: Annotated[float, Field(strict=True, gt=1.0, le=1000.0), BeforeValidator(plain)] = 2.0

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        half = np.zeros(dim)
        half[0] = self.aspect - 1.0
        return [_unit(Solid.of([capsule(-half, half, 1.0, dim)], dim), literal=False)]


class Clump(_Shape):
    """Several parts that move as one: disks or balls, which may overlap, or convex hulls.

    What two disks or balls share counts once. Hulls may touch but must not overlap.
    """

    kind: Literal["clump"] = "clump"
    # centres of its disks or balls [length]
    centers: Points | None = None
    # radius of each of them, or of all [length]
    radii: (
        Positive | Annotated[tuple[Positive, ...], Field(min_length=1), BeforeValidator(plain)]
    ) | None = None
    # corners of each of its convex parts [length]
    parts: Annotated[tuple[Points, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Clump:
        if (self.centers is None) == (self.parts is None):
            raise ValueError("a clump needs either centers with radii, or parts, and not both")
        if (self.centers is None) != (self.radii is None):
            raise ValueError("centers and radii go together; give both or none")
        many = len(self.centers or ())
        if isinstance(self.radii, tuple) and len(self.radii) != many:
            raise ValueError(
                f"radii has {len(self.radii)} entries but centers has {many}; give one for each, or"
                " one number for all"
            )
        first = (self.parts[0] if self.parts is not None else self.centers) or ()
        dim = 2 if first and len(first[0]) == 2 else 3
        if self.centers is not None:
            check_points(self.centers, dim, "centers", f"a clump in {dim}D")
        for k, part in enumerate(self.parts or ()):
            points = check_points(part, dim, f"parts[{k}]", f"a clump in {dim}D")
            if dim == 2:
                check_polygon(points, f"parts[{k}]")
            else:
                check_polyhedron(points, f"parts[{k}]")
        return self

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        from hardgrain.scene.corners import check_apart

        given = self.centers if self.parts is None else self.parts[0]
        assert given is not None
        if len(given[0]) != dim:
            raise InputError(
                f"shape is a clump in {len(given[0])}D; the scene has dimension {dim}, so give"
                f" points with {dim} numbers"
            )
        if self.centers is not None:
            x = np.array(self.centers)
            radii = np.broadcast_to(np.array(self.radii, float), len(x)).tolist()
            return [Solid.of([ball(c, r) for c, r in zip(x, radii, strict=True)], dim)]
        shapes: list[Any] = [
            Polygon(corners=part) if dim == 2 else Polyhedron(corners=part)
            for part in self.parts or ()
        ]
        parts = []
        for shape in shapes:
            own = shape.solids(dim, rng)[0]
            (part,) = own.part
            parts.append(part.turned(own.axes.T).moved(own.centre))
        check_apart(parts, dim)
        return [Solid.of(parts, dim)]


class MeshShape(_Shape):
    """A convex body (3D) whose surface is in a file: STL, OBJ or PLY.

    Its corners are kept with the scenario, so that the file is needed only once.
    """

    kind: Literal["mesh"] = "mesh"
    file: FileName  # a closed surface (.stl, .obj, .ply), its lengths as they are
    # corners of the surface [length]; default: those of the file
    corners: Points | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("corners") is None and "file" in data:
            from hardgrain.scene.mesh import convex_corners

            try:
                return {**data, "corners": convex_corners(str(data["file"])).tolist()}
            except InputError as error:
                raise ValueError(str(error)) from None
        return data

    def solids(self, dim: int, rng: np.random.Generator) -> list[Solid]:
        _refuse(self.kind, 3, dim)
        assert self.corners is not None
        return [Solid.of([hull(np.array(self.corners))], 3)]


_FLAT = {
    "triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6, "heptagon": 7, "octagon": 8,
    "decagon": 10, "dodecagon": 12,
}  # fmt: skip
_NAMES: dict[str, dict[str, Any]] = {
    **{name: {"kind": "polygon", "sides": sides} for name, sides in _FLAT.items()},
    "box": {"kind": "box"},
    "cube": {"kind": "box"},
    **{
        name: {"kind": "polyhedron", "regular": name}
        for name in ("tetrahedron", "octahedron", "dodecahedron", "icosahedron")
    },
    "capsule": {"kind": "capsule"},
}


def _by_name(value: Any) -> Any:
    """A table for a shape that is given by its name."""
    if not isinstance(value, str):
        return value
    if value not in _NAMES:
        raise ValueError(
            f"{value!r} is no shape; names are {', '.join(_NAMES)}, and others are tables with a"
            " kind"
        )
    return _NAMES[value]


Shape = Annotated[
    Polygon | Cuboid | Polyhedron | Capsule | Clump | MeshShape,
    Field(discriminator="kind"),
    BeforeValidator(_by_name),
]


def _unit(solid: Solid, literal: bool) -> Solid:
    """Lengths as they were given, or a circumscribed diameter of one."""
    return solid if literal else replace(solid.scaled(0.5 / solid.bound), bound=0.5)


def _refuse(kind: str, wanted: int, dim: int) -> None:
    if wanted != dim:
        others = "'polyhedron', 'mesh'" if dim == 3 else "'polygon'"
        raise InputError(
            f"shape.kind is {kind!r}, a shape of {wanted}D; a scene of dimension {dim} takes"
            f" {others}, 'box', 'capsule' or 'clump'"
        )


def refuse_beside_shape(spec: Grains) -> None:
    """Refuse fields of a set of grains that do not go with its shape, or with its lack of one."""
    if isinstance(spec.place, Voronoi):
        for name in ("shape", "diameter", "orientation"):
            if getattr(spec, name) is not None:
                raise ValueError(
                    f"{name} is given, but grains that fill a region have the {name} of their"
                    " cells; leave it out"
                )
    if not spec.shaped:
        if spec.size_by is not None:
            raise ValueError(
                f"size_by is {spec.size_by!r}, but round grains have one diameter; give a shape, or"
                " leave size_by out"
            )
        return
    if spec.size_by is not None and spec.diameter is None:
        raise ValueError(f"size_by is {spec.size_by!r}, but there is no diameter; give it")
    if spec.inertia is not None:
        raise ValueError(
            f"inertia is {spec.inertia}, but the shape has its own; leave out inertia or shape"
        )
    if spec.glued_to is not None:
        raise ValueError(
            f"glued_to is {spec.glued_to!r}, but only disks and spheres can be glued to a wall;"
            " leave out glued_to or shape"
        )
