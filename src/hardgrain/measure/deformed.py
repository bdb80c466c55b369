"""Grains that deform, as one mesh in space: where their nodes are, and the stress of each element.

Strain and stress are those of linear elasticity in the frame that turns with a grain
(`core.deformation`), constant in an element, and are turned into space. Stress is positive under
compression, as everywhere in measurements. In 2D grains are in plane strain, so that there is a
stress across the plane as well: von Mises' stress counts it, the pressure is the mean over the axes
of the plane, as that of a packing is.

The mean over a grain's elements, by their volumes V_e at rest, is what contacts do to it. With
K u = f at rest, f the forces on nodes and X their places at rest, all along the grain's axes,

    Σ_e V_e σ_e = −Σ_a f_a ⊗ X_a,

whatever the mesh, for the gradient of the displacements X → A X is the same in all elements; of the
right side the symmetric part, since the other one turns the grain. Gravity has no part in it, being
m_a g at each node with Σ m_a X_a = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.deformation import Form
from hardgrain.core.model import Floats, Ints, Model, State
from hardgrain.scene.elastic_mesh import volumes
from hardgrain.scene.grain_shape import frames, rows_of

__all__ = ["Deformed", "deformed", "largest_strain", "mesh_of", "strains", "von_mises"]

Rows = NDArray[np.int64]


class Deformed(NamedTuple):
    """All deformable grains of a moment, one after the other, along the axes of space."""

    owner: Rows  # (k,) row of the grain to which each node belongs
    offset: Floats  # (k, dim) from the centre of that grain to the node [length]
    displacement: Floats  # (k, dim) from where the node is in the undeformed grain [length]
    velocity: Floats  # (k, dim) [length/time]
    element: Rows  # (e, dim + 1) nodes of triangles or tetrahedra
    grain: Rows  # (e,) row of the grain to which each element belongs
    at_rest: Floats  # (e,) area or volume of the undeformed element [length^dim]
    stress: Floats  # (e, 3, 3) positive under compression [force/length^(dim − 1)]
    energy: Floats  # (e,) density of the elastic energy [energy/length^dim]
    facet: Rows  # (f, dim) nodes of the segments or triangles of surfaces, seen from outside
    beneath: Rows  # (f,) the element to which each of these belongs

    @property
    def dim(self) -> int:
        return int(self.offset.shape[1])

    @property
    def volume(self) -> Floats:
        """(e,) area or volume of the elements as they are deformed [length^dim]."""
        return volumes(self.offset, self.element.astype(np.int32))

    @property
    def von_mises(self) -> Floats:
        """(e,) von Mises' equivalent stress."""
        return von_mises(self.stress)

    @property
    def pressure(self) -> Floats:
        """(e,) mean stress, in 2D over the axes of the plane."""
        within = self.stress[:, : self.dim, : self.dim]
        mean: Floats = np.trace(within, axis1=1, axis2=2) / self.dim
        return mean

    def of_grains(self, values: Floats, n: int) -> Floats:
        """(n,) sums of the values of elements over each of n grains; zero of rigid ones."""
        return np.bincount(self.grain, values, n).astype(float)

    def farthest(self, along: Floats, rigid: Floats) -> Floats:
        """(n, v) how far grains reach from their centres along unit vectors (dim, v).

        ``rigid`` (n, v) or (n, 1) has it for rigid ones.
        """
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        found = np.array(np.broadcast_to(rigid, (len(rigid), along.shape[1])))
        found[self.owner[first]] = np.maximum.reduceat(self.offset @ along, first, axis=0)
        return found

    def bounds(self, rigid: Floats) -> Floats:
        """(n,) distance from the centre of a grain to its farthest point; of rigid ones given."""
        far = rigid.copy()
        far[self.owner] = 0.0
        np.maximum.at(far, self.owner, np.linalg.norm(self.offset, axis=1))
        return far

    def nodes_at(self, centre: Floats) -> Floats:
        """(k, dim) places of the nodes of grains with the given centres (n, dim)."""
        return centre[self.owner] + self.offset


def strains(form: Form, displacement: Floats) -> Floats:
    """(e, dim, dim) strain of each element, for displacements (k, dim) of the nodes of a form."""
    edge = form.node[form.element[:, 1:]] - form.node[form.element[:, :1]]
    return _strain(np.linalg.inv(edge).astype(float), displacement, form.element)


def _strain(inverse: Floats, displacement: Floats, element: Rows | Ints) -> Floats:
    """(e, dim, dim) strain, for the inverse of the matrices of edges (e, dim, dim) at rest."""
    moved = displacement[element[:, 1:]] - displacement[element[:, :1]]
    gradient = inverse @ moved
    found: Floats = 0.5 * (gradient + gradient.transpose(0, 2, 1))
    return found


def von_mises(stress: Floats) -> Floats:
    """(…,) equivalent stress √(3/2 s : s), s the deviator of the stress (…, 3, 3)."""
    mean = np.trace(stress, axis1=-2, axis2=-1)[..., None, None] / 3.0
    s = stress - mean * np.eye(3)
    found: Floats = np.sqrt(1.5 * np.einsum("...ab,...ab->...", s, s))
    return found


def largest_strain(model: Model, state: State) -> float | None:
    """Largest principal strain of any element, as a positive number; None: no grain deforms."""
    if model.elastic is None or state.deformation is None:
        return None
    most, start = 0.0, state.deformation.start
    for i in np.flatnonzero(model.elastic.form >= 0):
        form = model.elastic.forms[model.elastic.form[i]]
        u = state.deformation.displacement[start[i] : start[i + 1]]
        most = max(most, float(np.abs(np.linalg.eigvalsh(strains(form, u))).max()))
    return most


def mesh_of(model: Model, state: State) -> Deformed | None:
    """All deformable grains of a state as one mesh; None where all are rigid."""
    elastic, known = model.elastic, state.deformation is not None
    soft = elastic is not None and known and (elastic.form >= 0).any()
    return deformed(model, state) if soft else None


def deformed(model: Model, state: State) -> Deformed:
    """The deformable grains of a state, of which there must be some, as one mesh."""
    assert model.elastic is not None
    assert state.deformation is not None
    soft = np.flatnonzero(model.elastic.form >= 0)
    dim, table = model.dim, _table(model.elastic.forms)
    form = model.elastic.form[soft]
    turn = frames(state.orientation[soft])
    row, of = rows_of(table.node_start, form)
    begin = np.cumsum(np.bincount(of, minlength=len(soft))) - np.bincount(of, minlength=len(soft))
    turned = turn[of, :dim, :dim]
    u, rate = state.deformation.displacement, state.deformation.rate
    x = np.einsum("kab,kb->ka", turned, table.node[row] + u)
    velocity = state.velocity[soft][of] + _across(state.spin[soft][of], x)
    velocity += np.einsum("kab,kb->ka", turned, rate)
    part, at = rows_of(table.element_start, form)
    element = table.element[part] + begin[at, None]
    strain = _strain(table.inverse[part], u, element)
    first, second = table.lame[form[at]].T
    trace = np.trace(strain, axis1=1, axis2=2)
    stress = -(first * trace)[:, None, None] * np.eye(3)
    stress[:, :dim, :dim] -= 2.0 * second[:, None, None] * strain
    energy = 0.5 * first * trace**2 + second * np.einsum("eab,eab->e", strain, strain)
    axes = turn[at]
    some, under = rows_of(table.facet_start, form)
    elements = np.cumsum(np.diff(table.element_start)[form]) - np.diff(table.element_start)[form]
    return Deformed(
        soft[of], x, np.einsum("kab,kb->ka", turned, u), velocity, element, soft[at],
        table.volume[part], axes @ stress @ axes.transpose(0, 2, 1), energy,
        table.facet[some] + begin[under, None], table.beneath[some] + elements[under],
    )  # fmt: skip


def _across(spin: Floats, x: Floats) -> Floats:
    """Velocities ω × x of a rotation, (k, dim)."""
    if x.shape[1] == 2:
        return spin * np.stack([-x[:, 1], x[:, 0]], axis=1)
    return np.cross(spin, x)


# ---------------------------------------------------------------------- forms, one after the other
class _Table(NamedTuple):
    node_start: Rows  # (forms + 1,) where the nodes of each form begin
    node: Floats  # (k, dim)
    element_start: Rows
    element: Rows  # (e, dim + 1) nodes, numbered within their form
    inverse: Floats  # (e, dim, dim) of the matrix whose rows are the edges from the first node
    volume: Floats  # (e,)
    facet_start: Rows
    facet: Rows  # (f, dim) nodes, numbered within their form
    beneath: Rows  # (f,) element to which a facet belongs, numbered within its form
    lame: Floats  # (forms, 2)


# Of the forms that were asked for last: a film or a page needs the same for each frame.
_KEPT: list[tuple[tuple[Form, ...], _Table]] = []


def _table(forms: tuple[Form, ...]) -> _Table:
    if not (_KEPT and _KEPT[0][0] is forms):
        _KEPT[:] = [(forms, _make_table(forms))]
    return _KEPT[0][1]


def _make_table(forms: tuple[Form, ...]) -> _Table:
    node_start, element_start, facet_start = (
        np.cumsum([0, *(len(getattr(form, name)) for form in forms)])
        for name in ("node", "element", "facet")
    )
    node = np.concatenate([form.node for form in forms])
    element = np.concatenate([form.element for form in forms]).astype(np.int64)
    facet = np.concatenate([form.facet for form in forms]).astype(np.int64)
    ends = np.repeat(node_start[:-1], np.diff(element_start))[:, None] + element
    edge = node[ends[:, 1:]] - node[ends[:, :1]]
    volume = volumes(node, ends.astype(np.int32))
    # a facet belongs to the element that has the same nodes but one
    width = element.shape[1]
    faces = np.concatenate([np.delete(ends, a, axis=1) for a in range(width)])
    outer = np.repeat(node_start[:-1], np.diff(facet_start))[:, None] + facet
    _, same = np.unique(np.sort(np.vstack([faces, outer]), axis=1), axis=0, return_inverse=True)
    same = same.ravel()
    of = np.zeros(int(same.max()) + 1, np.int64)
    of[same[: len(faces)]] = np.tile(np.arange(len(element)), width)
    beneath = of[same[len(faces) :]]
    beneath -= np.repeat(element_start[:-1], np.diff(facet_start))
    return _Table(
        node_start, node, element_start, element, np.linalg.inv(edge), volume, facet_start,
        facet, beneath, np.array([form.lame for form in forms], float),
    )  # fmt: skip
