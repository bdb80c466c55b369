"""Grains that deform: their meshes, which never change, and how far they are from undeformed.

A deformable grain is a body like any other, with the place, orientation, velocity and spin of its
rigid motion. Besides, its nodes are displaced in the frame that turns with it. A node with the
undeformed place X is at x + R (X + u), where x is the centre of the grain, R its orientation and u
the displacement, and moves with v + ω × R (X + u) + R w, where w is the rate of u.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Deformable", "Deformation", "Form"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.integer[Any]]


class Form(NamedTuple):
    """An undeformed grain: its mesh and what it is made of."""

    node: Floats  # (k, dim) from the centre along the own axes, those of the surface first [length]
    element: Ints  # (e, dim + 1) nodes of triangles or tetrahedra
    facet: Ints  # (f, dim) nodes of the segments or triangles of the surface, seen from outside
    surface: int  # number of nodes on the surface
    mass: Floats  # (k,) of each node [mass]
    lame: tuple[float, float]  # Lamé's λ and µ [force/length^(dim − 1)]
    damping: tuple[float, float]  # Rayleigh's: of the mass [1/time], of the stiffness [time]


@dataclass(frozen=True, eq=False)
class Deformable:
    """Which grains deform, and what they are made of."""

    form: Ints  # (n,) row of each grain's form, −1: it is rigid
    forms: tuple[Form, ...]

    @cached_property
    def nodes(self) -> Ints:
        """(n,) number of nodes of each grain, 0: it is rigid."""
        count = np.array([*(len(form.node) for form in self.forms), 0], np.int32)
        return count[self.form]

    def only(self, grains: Rows) -> Deformable:
        """Those of some grains, by their rows in any order."""
        return Deformable(self.form[grains], self.forms)

    def undeformed(self) -> Deformation:
        """No displacement at all."""
        none = np.zeros((int(self.nodes.sum()), self.forms[0].node.shape[1]))
        return Deformation(self.nodes, none, none.copy())


@dataclass(frozen=True, eq=False)
class Deformation:
    """How far grains are deformed; a step makes another one, and never writes into this one."""

    nodes: Ints  # (n,) number of nodes of each grain
    displacement: Floats  # (k, dim) of all nodes, grain after grain, along its own axes [length]
    rate: Floats  # (k, dim) how fast it changes [length/time]

    @cached_property
    def start(self) -> Ints:
        """(n + 1,) where the nodes of each grain begin, and behind the last one their number."""
        return np.concatenate([[0], np.cumsum(self.nodes)]).astype(np.int32)

    def only(self, grains: Rows) -> Deformation:
        """That of some grains, by their rows in any order."""
        parts = [np.arange(self.start[i], self.start[i + 1]) for i in grains]
        rows = np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)
        return replace(
            self,
            nodes=self.nodes[grains],
            displacement=self.displacement[rows],
            rate=self.rate[rows],
        )
