"""Surfaces of deformable grains and their contact points, as records for compiled functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hardgrain.core.geometry import Floats, Ints
from hardgrain.core.wall_kinds import Walls

__all__ = ["Flat", "Points", "Skin"]


class Flat(NamedTuple):
    """Forms of grains (`core.deformation.Form`) as flat arrays, one form after the other."""

    radius: Floats  # (n,) of the undeformed ball about each grain
    form: Ints  # (n,) row of the form, −1: rigid
    start: Ints  # (n + 1,) where the nodes of each grain begin
    surface: Ints  # (forms,) nodes on the surface
    first_node: Ints  # (forms + 1,) where the nodes of each form begin
    node: Floats  # (k, dim) undeformed places along the own axes
    outward: Floats  # (k, dim) unit vectors away from the surface, zero within
    facet_start: Ints  # (forms + 1,)
    facet: Ints  # (f, dim) nodes, numbered within their form


class Skin(NamedTuple):
    """The bodies of a scene with their surfaces, as they lie in a step."""

    position: Floats  # (nb, dim)
    radius: Floats  # (n,) of rigid grains
    number: Ints  # (nb,)
    periodic: Floats  # (dim,)
    walls: Walls
    form: Ints  # (n,) row of the form, −1: rigid
    start: Ints  # (n + 1,) where the nodes of each grain begin
    surface: Ints  # (forms,) nodes on the surface
    facet_start: Ints  # (forms + 1,)
    facet: Ints  # (f, dim) nodes, numbered within their grain
    place: Floats  # (k, dim) of the nodes on surfaces, those within are left out
    outward: Floats  # (k, dim) unit vectors away from the surface at these nodes
    bound: Floats  # (n,) distance from the centre to the farthest node or point


class Points(NamedTuple):
    """Contact points, a row each; see `hardgrain.core.model.Contacts`."""

    first: Ints
    second: Ints
    feature: Ints
    normal: Floats
    gap: Floats
    arm_first: Floats
    arm_second: Floats
    node: Ints  # (m, 2, dim) nodes that carry the point on either side, −1: none
    weight: Floats  # (m, 2, dim) their shares

    @classmethod
    def room(cls, m: int, dim: int) -> Points:
        """Room for so many contact points."""
        shape: dict[str, Any] = {"normal": (m, dim), "arm_first": (m, dim), "arm_second": (m, dim)}
        shape |= {"node": (m, 2, dim), "weight": (m, 2, dim)}
        kinds: dict[str, Any] = dict.fromkeys(("first", "second", "feature", "node"), np.int32)
        return cls(
            **{name: np.empty(shape.get(name, m), kinds.get(name, float)) for name in cls._fields}
        )

    def chosen(self, which: Any) -> Points:
        """Some of the points, by a slice or a mask."""
        columns: Any = (np.ascontiguousarray(column[which]) for column in self)
        return Points(*columns)
