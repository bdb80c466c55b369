"""Deformable grains as a user writes them, and the forms that they have in a scene.

A form is a mesh with masses and moduli (`core.deformation.Form`); grains of one set with the same
size share one. Mass and inertia of the rigid motion are those of the undeformed shape, of a disk
and not of the polygon that its mesh is; the masses of nodes add up to this mass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from hardgrain.core.deformation import Deformable, Floats, Form, Ints
from hardgrain.core.solids import Solids
from hardgrain.errors import InputError
from hardgrain.scene import elastic_mesh
from hardgrain.scene._base import Count, FileName, Finite, NotNegative, Positive, Spec, Whole
from hardgrain.scene.shapes import Points

if TYPE_CHECKING:
    from hardgrain.scene.spec import Grains

__all__ = [
    "Damping", "Elastic", "deformable_grains", "outlined", "refuse_beside_elastic",
    "stored_elastic",
]  # fmt: skip

Cells = Annotated[tuple[tuple[Whole, ...], ...], Field(min_length=1)]

# [1] Share of its convex hull that a mesh must fill. A mesh of a disk or a ball is convex to
# rounding, but for the flat elements that meshers leave; contact points do not need it, but masses,
# outlines and volumes of grains are those of the hull.
CONVEX = 0.999
ELEMENTS = 4  # from the centre to the surface, unless the user says how many
# Nodes of a surface that contacts can tell apart, see `contact.surfaces`.
MOST_NODES = 8000
# [bytes] Room for the compliances of all forms, a dense matrix for each. Beyond it a step would
# read so much memory that a run could not end; fewer sizes, or coarser meshes, need less.
MOST_ROOM = 4 << 30


class Damping(Spec):
    """Rayleigh's damping of the deformation; rigid motion is not damped."""

    mass: NotNegative = 0.0  # share of the mass, which damps slow modes most [1/time]
    stiffness: NotNegative = 0.0  # share of the stiffness, which damps fast modes most [time]


class Elastic(Spec):
    """Grains that deform: linear elasticity in a frame that turns with each grain.

    Strains must stay small; a grain may turn and move as far as it will. In 2D it is plane strain,
    with the moduli of the solid per length of the third axis. Disks, spheres, polygons and boxes
    are meshed here.
    """

    young: Positive  # Young's modulus [force/length^(dimension − 1)]
    # Poisson's ratio, below 1/2 [1]
    poisson: Annotated[Finite, Field(gt=-1.0, lt=0.5)] = 0.3
    # what damps vibrations: shares of the mass and of the stiffness; default: nothing
    damping: Damping = Damping()
    # elements from the centre of a grain to the farthest point of its surface [1]; default: 4
    elements: Annotated[Count, Field(le=64)] | None = None
    # a mesh of triangles in 2D, of tetrahedra in 3D (gmsh's .msh as text, or what meshio reads),
    # which must be convex; it is the shape of the grains; default: they are meshed here
    file: FileName | None = None
    # nodes of that mesh [length]; default: those of the file, which is needed only once
    nodes: Points | None = None
    # nodes of each of its elements, counted from 0 [1]; default: those of the file
    cells: Cells | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("nodes") is None and data.get("file") is not None:
            from hardgrain.scene.mesh_file import read_mesh

            try:
                mesh = read_mesh(str(data["file"]))
            except InputError as error:
                raise ValueError(str(error)) from None
            return {**data, "nodes": mesh.node.tolist(), "cells": mesh.element.tolist()}
        return data

    @model_validator(mode="after")
    def _check(self) -> Elastic:
        if (self.nodes is None) != (self.cells is None):
            raise ValueError("nodes and cells go together; give both or none")
        if self.nodes is not None and self.elements is not None:
            raise ValueError(f"elements is {self.elements}, but a mesh is given; leave out one")
        if (mesh := self.mesh) is not None:
            from scipy.spatial import ConvexHull

            filled = elastic_mesh.volumes(*mesh).sum() / ConvexHull(mesh.node).volume
            if filled < CONVEX:
                raise ValueError(
                    f"the mesh fills {filled:.3g} of its convex hull; only convex grains can deform"
                )
        return self

    @property
    def mesh(self) -> elastic_mesh.Mesh | None:
        """The mesh that is given, checked; None: grains are meshed here."""
        if self.nodes is None or self.cells is None:
            return None
        width = len(self.nodes[0]) + 1
        if width not in (3, 4) or {*map(len, self.nodes)} != {width - 1}:
            raise ValueError("nodes must have two numbers each, or three each")
        if {*map(len, self.cells)} != {width}:
            raise ValueError(f"cells must have {width} nodes each in {width - 1}D")
        cell = np.array(self.cells, np.int32)
        if cell.min() < 0 or cell.max() >= len(self.nodes):
            raise ValueError(f"cells name the node {cell.max()}; there are {len(self.nodes)}")
        try:
            return elastic_mesh.checked(
                elastic_mesh.Mesh(np.array(self.nodes, float), cell), "the mesh"
            )
        except InputError as error:
            raise ValueError(str(error)) from None

    @property
    def lame(self) -> tuple[float, float]:
        """Lamé's λ and µ [force/length^(dim − 1)]."""
        e, nu = self.young, self.poisson
        return e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), 0.5 * e / (1.0 + nu)


def outlined(data: Any) -> Any:
    """A set of grains, as it is given, with the convex hull of its mesh as its shape."""
    given = data.get("elastic") if isinstance(data, dict) else None
    if given is None or data.get("shape") is not None:
        return data
    try:
        elastic = Elastic.model_validate(given)
    except ValidationError:  # the field itself says what is wrong
        return data
    if elastic.nodes is None:
        return data
    from scipy.spatial import ConvexHull

    node = np.array(elastic.nodes)
    corner = node[ConvexHull(node).vertices]
    kind = "polygon" if node.shape[1] == 2 else "polyhedron"
    return {**data, "elastic": elastic, "shape": {"kind": kind, "corners": corner.tolist()}}


def refuse_beside_elastic(spec: Grains) -> None:
    """Refuse fields of a set of grains that do not go with grains that deform."""
    if spec.elastic is None:
        return
    for name in ("glued_to", "insert", "inertia"):
        if getattr(spec, name) is not None:
            raise ValueError(f"{name} is given, which does not go with elastic; leave out one")
    shape = spec.shape
    if spec.elastic.nodes is not None:
        return
    if shape is not None and shape.kind not in ("polygon", "box"):
        raise ValueError(
            f"shape is of the kind {shape.kind!r}, but elastic is given; disks, spheres, polygons"
            " and boxes can deform"
        )
    if shape is not None and shape.rounding > 0.0:
        raise ValueError(
            f"shape.rounding is {shape.rounding:g}, but elastic is given; only shapes with sharp"
            " corners can deform"
        )


def deformable_grains(
    sets: Sequence[Grains], dim: int, solids: Solids, radius: Floats, group: Ints, mass: Floats
) -> Deformable | None:
    """The deformable grains of a scene; None, if all are rigid. mass: (n,) of all grains."""
    if all(spec.elastic is None for spec in sets):
        return None
    forms: list[Form] = []
    known: dict[tuple[Any, ...], int] = {}
    row = np.full(radius.size, -1, np.int32)
    for k, spec in enumerate(sets):
        elastic, room = spec.elastic, 0
        if elastic is None:
            continue
        for i in np.flatnonzero(group == k).tolist():
            shape, unit = -1, float(radius[i])
            if solids.shape.size:
                shape, unit = int(solids.shape[i]), float(solids.size[i])
            key = elastic.model_dump_json(), shape, unit, float(mass[i])
            if key not in known:
                known[key] = len(forms)
                at = f"scene.grains[{k}].elastic"
                forms.append(_form(spec, dim, solids, (shape, unit, float(mass[i])), at))
                room += 8 * forms[-1].node.size ** 2
                if room > MOST_ROOM:
                    raise InputError(
                        f"{at} needs more than {MOST_ROOM >> 30} GiB for grains of so many sizes"
                        f" with {len(forms[-1].node)} nodes; use fewer elements, or fewer sizes"
                    )
            row[i] = known[key]
    if not forms:
        return None
    return Deformable(row, tuple(forms))


def stored_elastic(
    scenario: Mapping[str, Any], solids: Solids, held: Mapping[str, Any]
) -> Deformable | None:
    """The deformable grains of a run, from its scenario as a file holds it, and its model."""
    from hardgrain.scene.spec import Grains

    scene = scenario["scene"]
    if all(one.get("elastic") is None for one in scene["grains"]):
        return None
    fields = ("count", "shape", "place", "elastic")
    sets = [Grains(**{name: one.get(name) for name in fields}) for one in scene["grains"]]
    n = len(held["radius"])
    return deformable_grains(
        sets, scene["dimension"], solids, held["radius"], held["group"], held["mass"][:n]
    )


def _form(spec: Grains, dim: int, solids: Solids, of: tuple[int, float, float], at: str) -> Form:
    """The form of grains; of: row of their shape (−1: round), its unit of length, their mass."""
    shape, unit, mass = of
    elastic = spec.elastic
    assert elastic is not None
    mesh = elastic_mesh.checked(_mesh(spec, dim, solids, shape), at)
    facet = elastic_mesh.surface(mesh.element)
    outer = np.unique(facet)
    if outer.size > MOST_NODES:
        raise InputError(
            f"{at} has {outer.size} nodes on its surface; at most {MOST_NODES} can be told apart"
        )
    order = np.concatenate([outer, np.setdiff1d(np.arange(len(mesh.node)), outer)])
    number = np.empty(order.size, np.int32)
    number[order] = np.arange(order.size)
    node, element = mesh.node[order], number[mesh.element]
    volume = elastic_mesh.volumes(node, element)
    share = np.bincount(
        element.ravel(), np.repeat(volume, dim + 1), len(node)
    ) / ((dim + 1) * volume.sum())  # fmt: skip
    node = (node - share @ node) * unit
    damping = elastic.damping.mass, elastic.damping.stiffness
    return Form(node, element, number[facet], outer.size, share * mass, elastic.lame, damping)


def _mesh(spec: Grains, dim: int, solids: Solids, shape: int) -> elastic_mesh.Mesh:
    """The mesh of a shape in its own frame and unit."""
    elastic = spec.elastic
    assert elastic is not None
    many = elastic.elements or ELEMENTS
    if (given := elastic.mesh) is not None and spec.shape is not None:
        if given.node.shape[1] != dim:
            raise InputError(
                f"elastic.nodes have {given.node.shape[1]} numbers; the scene has dimension {dim}"
            )
        own = spec.shape.solids(dim, np.random.default_rng(0))[0]
        node = (given.node - own.centre[:dim]) @ own.axes[:dim, :dim]
        return elastic_mesh.Mesh(node, given.element)
    corner = np.zeros((1, 3))
    if shape >= 0:
        part = int(solids.part_start[shape])
        corner = solids.corner[solids.corner_start[part] : solids.corner_start[part + 1]]
    if len(corner) == 1:  # a disk or a ball, whose unit is its radius
        return (elastic_mesh.disk if dim == 2 else elastic_mesh.ball)(many)
    edge = math.sqrt(float(np.square(corner).sum(axis=1).max())) / many
    if dim == 2:
        return elastic_mesh.polygon(np.ascontiguousarray(corner[:, :2]), edge)
    return elastic_mesh.box(corner.max(axis=0), edge)
