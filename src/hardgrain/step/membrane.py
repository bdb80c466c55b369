"""A flexible membrane around the grains, with a pressure outside: a load on the outer grains.

**Where it lies.** A ball of radius R comes from far away and rolls around the sample, without ever
holding the centre of a grain inside. The membrane is stretched over the centres that it touches:
chords in 2D, triangles in 3D. That is the alpha shape of the centres, seen from outside: voids that
the ball cannot reach are inside, however large they are. In the Delaunay triangulation the ball
passes from one simplex to its neighbour if all spheres through the corners of their common facet,
from the one's circumsphere to the other's, are larger than R. If both circumcentres lie on their
own sides of the facet, the smallest of these spheres is that about the facet; otherwise it is the
smaller of the two. What is never reached from outside is inside.

**What it does.** Its work against the pressure p is −p dV, V being the volume that it encloses, a
function of the centres of its grains. So the force on grain i is −p ∂V/∂x_i: each facet hands p
times its area along its inward normal to its corners, in equal shares. For a closed membrane the
sums of forces and of torques vanish, and in a packing at rest Σ F ⊗ x = −p V 1: the mean stress in
V is the pressure, exactly. V jumps only when the ball breaks through a facet or is shut out, by the
volume of a simplex.

Why not a chain or a sheet of grains: it would have a mass, an elasticity, and a length at rest,
which are none of the sample's, and would have to stretch as the sample bulges. Why not a flexible
wall: rigid grains would feel a contact law with it. A pressure on centres has a single length, R.

**Platens.** Planes bound the sample: its grains are mirrored in them, so that the membrane meets
them at a right angle. Images that lie further than 2R behind a plane touch no sphere of radius R
about anything in front of it and are left out; simplices that lie behind a plane as a whole are
never entered, since the ball would find the same way in front of it. A facet that crosses a plane
has a mirror image that crosses it too, so that each counts one half, and a quarter if it crosses
two. Forces on images are mirrored back. With that, V is the volume in front of all planes. Platens
themselves feel nothing of the membrane: as in a triaxial cell, what presses on them is up to you.

**Ties.** Centres on a lattice, and always images with their grains, lie on common spheres, where
the triangulation is not unique. Places are shifted by `SHIFT` to find it, by amounts that depend on
the numbers of the grains alone; forces are those at the true places. So the load is a function of
the state, whatever the order of its rows.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import factorial

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.pairs import wall_geometry
from hardgrain.core.model import Floats, Model, State
from hardgrain.core.wall_kinds import PLANE
from hardgrain.errors import INTACT, InputError, RunError

__all__ = ["Surface", "membrane_force", "refuse_empty"]

# [ball's radius] By how much places are shifted to break ties. Less: circumspheres of flat
# simplices are lost in rounding; more: the ball is not the one that was asked for.
SHIFT = 1e-7

Indices = NDArray[np.int64]


class Surface:
    """The membrane of a state: its facets, what it encloses, and the force of a pressure."""

    def __init__(self, model: Model, state: State) -> None:
        assert model.membrane is not None
        self.dim, self.n = model.dim, model.n
        images = _Images(model, state)
        self.place, self.grain, self.mirror = images.place, images.grain, images.mirror
        self._turn = images.turn
        self.facets, self.inside = _found(images, model)

    @cached_property
    def share(self) -> Floats:
        """(k,) by how much each facet counts."""
        return _share(self.mirror[self.facets])

    @cached_property
    def outward(self) -> Floats:
        """(k, dim) outward normals of the facets × their lengths or areas."""
        x = self.place[self.facets]
        if self.dim == 2:
            along = x[:, 1] - x[:, 0]
            return np.stack([along[:, 1], -along[:, 0]], axis=1)
        return 0.5 * np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])

    @property
    def area(self) -> float:
        """Length in 2D, area in 3D, in front of all planes."""
        return float(self.share @ np.linalg.norm(self.outward, axis=1))

    @property
    def volume(self) -> float:
        """Area in 2D, volume in 3D, that it encloses in front of all planes."""
        x = self.place[self.inside]
        edges = x[:, 1:] - x[:, :1]
        share = _share(self.mirror[self.inside])
        return float(share @ np.linalg.det(edges)) / factorial(self.dim)

    @property
    def grains(self) -> Indices:
        """Rows of the grains that it lies on."""
        return np.unique(self.grain[self.facets])

    @property
    def force(self) -> Floats:
        """(n, dim) force on each grain of a unit pressure, −∂V/∂x."""
        found = np.zeros((self.n, self.dim))
        push = -(self.share / self.dim)[:, None] * self.outward
        for corner in range(self.dim):
            at = self.facets[:, corner]
            own = np.einsum("kab,ka->kb", self._turn[self.mirror[at]], push)
            np.add.at(found, self.grain[at], own)
        return found


def membrane_force(model: Model, state: State, time: float) -> Floats:
    """(n, dim) force of the membrane on each grain, under the pressure at a time."""
    assert model.membrane is not None
    if model.membrane.pressure is None:
        raise InputError("the pressure of this membrane is not known")
    return model.membrane.pressure(time) * Surface(model, state).force


def refuse_empty(model: Model, state: State) -> None:
    """Refuse a first state of which the membrane would hold nothing."""
    assert model.membrane is not None
    found = Surface(model, state)
    if len(found.inside) and not len(found.facets):
        raise InputError(
            "scene.membrane is given, but planes enclose the grains on all sides, so that there is"
            " no room for it; open a side"
        )
    if model.n and not len(found.facets):
        raise InputError(
            f"scene.membrane.radius is {model.membrane.radius:g}, and a ball of that radius passes"
            " between all grains, so that the membrane holds none of them; place the grains closer"
            " to each other, or give a larger radius"
        )


class _Images:
    """Centres of all grains, in the order of their numbers, and their images in the planes."""

    def __init__(self, model: Model, state: State) -> None:
        assert model.membrane is not None
        own = np.argsort(model.id)  # the same bits for any order of rows
        dim, band = model.dim, 2.0 * model.membrane.radius
        walls = wall_geometry(model, state)
        planes = np.flatnonzero(walls.kind == PLANE)
        _refuse_near(model, state, walls.axis[planes], walls.point[planes], planes)
        self.grain = own.astype(np.int64)
        self.place = state.position[own].copy()
        self.mirror = np.zeros(own.size, np.int64)  # bits: in which planes it is mirrored
        self.turn = np.eye(dim)[None].repeat(1 << planes.size, axis=0)  # by mirror
        for k, wall in enumerate(planes):
            normal = walls.axis[wall]
            away = (self.place - walls.point[wall]) @ normal
            near = np.flatnonzero(away < band)
            image = self.place[near] - 2.0 * np.outer(away[near], normal)
            self.place = np.concatenate([self.place, image])
            self.grain = np.concatenate([self.grain, self.grain[near]])
            self.mirror = np.concatenate([self.mirror, self.mirror[near] | 1 << k])
            flip = np.eye(dim) - 2.0 * np.outer(normal, normal)
            bit = np.arange(1 << planes.size) & 1 << k != 0
            self.turn[bit] = flip @ self.turn[bit]


def _refuse_near(
    model: Model, state: State, normal: Floats, point: Floats, planes: Indices
) -> None:
    """End a run whose platens are so near that images of images would touch the membrane."""
    assert model.membrane is not None
    for i, j in np.argwhere(np.triu(normal @ normal.T < -0.5)):
        apart = float((point[j] - point[i]) @ normal[i])
        if apart < 2.0 * model.membrane.radius:
            names = " and ".join(repr(model.wall_names[planes[k]]) for k in (i, j))
            raise (RunError if state.step else InputError)(
                f"the walls {names} are {apart:.4g} apart; with a membrane of radius"
                f" {model.membrane.radius:g} they must be twice that apart, or more"
                + (INTACT if state.step else "")
            )


def _found(images: _Images, model: Model) -> tuple[Indices, Indices]:
    """Facets of the membrane (k, dim) and simplices in it (s, dim + 1), rows of places.

    Those that lie behind a plane are left out. Facets are so ordered that `Surface.outward` points
    out, simplices so that their volume is positive.
    """
    from scipy.spatial import Delaunay, QhullError

    assert model.membrane is not None
    dim, radius, place = model.dim, model.membrane.radius, images.place
    nothing = np.zeros((0, dim), np.int64), np.zeros((0, dim + 1), np.int64)
    if len(place) < dim + 2:
        return nothing
    shift = np.empty_like(place)
    for bits in np.unique(images.mirror):
        some = images.mirror == bits
        shift[some] = _shifts(int(bits), model.everyone, dim)[model.id[images.grain[some]]]
    x = (place - place.mean(axis=0)) / radius + SHIFT * shift
    try:
        mesh = Delaunay(x)
    except QhullError:  # all on a line or in a plane
        return nothing
    simplex, beside = mesh.simplices.astype(np.int64), mesh.neighbors.astype(np.int64)
    corner = x[simplex]
    edge = corner[:, 1:] - corner[:, :1]
    size = np.linalg.det(edge)
    wide, own_side = _circumspheres(edge, size)
    behind = np.bitwise_and.reduce(images.mirror[simplex], axis=1) != 0

    # the ways of the ball: out of each simplex across the facet that faces a corner
    s, k = np.nonzero(((wide > 1.0) & ~behind)[:, None] & np.ones(dim + 1, bool))
    other = beside[s, k]
    facet = np.sort(_without(simplex[s], k), axis=1)
    narrow = _facet_radius(x[facet]) <= 1.0
    back = np.argmax(beside[other] == s[:, None], axis=1)
    hull = other < 0
    shut = narrow & own_side[s, k] & (hull | own_side[other, back])
    lies_behind = np.bitwise_and.reduce(images.mirror[facet], axis=1) != 0
    passed = ~shut & np.where(hull, ~lies_behind, (wide[other] > 1.0) & ~behind[other])
    reached = _reached(len(simplex), s[passed], other[passed])

    inside = ~reached & ~behind
    simplex = np.where((size < 0.0)[:, None], _swapped(simplex), simplex)
    beside = np.where((size < 0.0)[:, None], _swapped(beside), beside)
    s, k = np.nonzero(inside[:, None] & np.where(beside >= 0, reached[beside], True))
    facet = _facing(simplex[s], k)
    return facet[np.bitwise_and.reduce(images.mirror[facet], axis=1) == 0], simplex[inside]


def _circumspheres(edge: Floats, size: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Radii (m,) of spheres through simplices, and (m, dim + 1) on which side their centres are:

    whether they are on the same side of the facet that faces a corner as that corner is.
    """
    m, dim = edge.shape[:2]
    wide, weight = np.full(m, np.inf), np.zeros((m, dim + 1))
    some = size != 0.0
    inverse = np.linalg.inv(edge[some])
    centre = np.einsum("mab,mb->ma", inverse, 0.5 * (edge[some] ** 2).sum(axis=2))
    wide[some] = np.linalg.norm(centre, axis=1)
    weight[some, 1:] = np.einsum("ma,mab->mb", centre, inverse)
    weight[some, 0] = 1.0 - weight[some, 1:].sum(axis=1)
    return wide, weight > 0.0


def _facet_radius(x: Floats) -> Floats:
    """Radii of the circles through triangles (m, 3, 3), or half the lengths of lines (m, 2, 2)."""
    if x.shape[1] == 2:
        half: Floats = 0.5 * np.linalg.norm(x[:, 1] - x[:, 0], axis=1)
        return half
    sides = [x[:, b] - x[:, a] for a, b in ((0, 1), (1, 2), (2, 0))]
    lengths = np.prod([np.linalg.norm(side, axis=1) for side in sides], axis=0)
    double = np.linalg.norm(np.cross(sides[0], sides[1]), axis=1)
    radius: Floats = np.full(len(x), np.inf)
    np.divide(lengths, 2.0 * double, out=radius, where=double > 0.0)
    return radius


def _reached(m: int, one: Indices, other: Indices) -> NDArray[np.bool_]:
    """(m,) simplices that are linked to −1, what is outside of them all."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = one, np.where(other < 0, m, other)
    links = coo_array((np.ones(one.size, bool), ends), (m + 1, m + 1))
    _, label = connected_components(links, directed=False)
    return np.asarray(label[:m] == label[m])


def _without(simplex: Indices, k: Indices) -> Indices:
    """(m, dim) the corners of simplices other than the k-th."""
    m, corners = simplex.shape
    others: Indices = simplex[np.arange(corners) != k[:, None]].reshape(m, corners - 1)
    return others


def _facing(simplex: Indices, k: Indices) -> Indices:
    """The facets of simplices of positive volume that face corner k, seen from outside.

    A simplex (a, b, c, d) has the outward facets (b, c, d), (a, d, c), …: those that face an even
    corner keep the order of the others, and those that face an odd one swap two; in 2D likewise.
    """
    facet = _without(simplex, k)
    odd = k % 2 == 1
    facet[odd] = facet[odd][:, [1, 0, *range(2, facet.shape[1])]]
    return facet


def _swapped(rows: Indices) -> Indices:
    """The first two columns exchanged."""
    return rows[:, [1, 0, *range(2, rows.shape[1])]]


def _share(mirror: Indices) -> Floats:
    """(m,) one half for each plane that a facet or a simplex crosses, with corners (m, k)."""
    share: Floats = 0.5 ** np.bitwise_count(np.bitwise_or.reduce(mirror, axis=1))
    return share


@lru_cache(maxsize=64)
def _shifts(mirror: int, grains: int, dim: int) -> Floats:
    """(grains, dim) numbers from −1 to 1 that break ties, by the numbers of the grains."""
    return np.random.default_rng([7, mirror]).uniform(-1.0, 1.0, (grains, dim))
