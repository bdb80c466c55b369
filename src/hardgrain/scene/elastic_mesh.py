"""Meshes of deformable grains, and the matrices of their linear elements.

All meshes are made here, the same for the same input: disks of rings of nodes (ring k has 6 k of
them), convex polygons by Delaunay's triangulation of points on their sides and of a hexagonal
lattice within, balls of an octahedron whose edgewise subdivision is blown up to a ball, boxes of
cubes cut into six tetrahedra each. Every mesh is checked: no element may be flat or turned inside
out, and all of it must hang together.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.errors import InputError

__all__ = [
    "Mesh", "ball", "box", "checked", "disk", "polygon", "stiffness", "surface", "volumes",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# [1] Least quality of an element: its volume over that of the regular one with the same longest
# edge. Those made here have 0.2 or more; below this limit an element is as good as flat, and its
# stiffness spoils the conditioning of the whole body.
LEAST = 1e-3


class Mesh(NamedTuple):
    """Nodes (k, dim) and the nodes (e, dim + 1) of elements."""

    node: Floats
    element: Ints


def volumes(node: Floats, element: Ints) -> Floats:
    """(e,) areas of triangles or volumes of tetrahedra, negative where turned inside out."""
    edge = node[element[:, 1:]] - node[element[:, :1]]
    found: Floats = np.linalg.det(edge) / math.factorial(node.shape[1])
    return found


def checked(mesh: Mesh, what: str) -> Mesh:
    """The mesh, refused in one sentence if an element is bad or it has several pieces."""
    node, element = mesh
    dim = node.shape[1]
    volume = volumes(node, element)
    corner = node[element]
    longest = np.zeros(len(element))
    for a, b in itertools.combinations(range(dim + 1), 2):
        longest = np.maximum(longest, np.linalg.norm(corner[:, a] - corner[:, b], axis=1))
    regular = math.sqrt(3.0) / 4.0 if dim == 2 else math.sqrt(2.0) / 12.0
    bad = np.flatnonzero(~(volume > LEAST * regular * longest**dim))
    if bad.size:
        k = int(bad[0])
        how = "is turned inside out" if volume[k] < 0.0 else "is flat"
        raise InputError(f"{what}: element {k}, of the nodes {element[k].tolist()}, {how}")
    pairs = [element[:, [a, b]] for a, b in itertools.pairwise(range(dim + 1))]
    i, j = np.concatenate(pairs).T
    pieces, _ = connected_components(coo_array((np.ones(i.size), (i, j)), (len(node),) * 2))
    if pieces > 1:
        raise InputError(f"{what} is in {pieces} pieces; a grain must hang together")
    return mesh


def disk(rings: int) -> Mesh:
    """A disk of radius 1; its outermost nodes lie on the circle."""
    node = [np.zeros((1, 2))]
    for k in range(1, rings + 1):
        angle = np.arange(6 * k) * (2.0 * np.pi / (6 * k))
        node.append(k / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    first = [0, *(1 + 3 * k * (k + 1) for k in range(rings))]  # of ring k
    element = []
    for k in range(1, rings + 1):
        inner, outer = max(6 * (k - 1), 1), 6 * k
        for sector in range(6):
            for s in range(k):
                a = first[k] + (sector * k + s) % outer
                b = first[k] + (sector * k + s + 1) % outer
                c = first[k - 1] + (sector * (k - 1) + s) % inner
                element.append((a, b, c))
                if s < k - 1:
                    d = first[k - 1] + (sector * (k - 1) + s + 1) % inner
                    element.append((c, b, d))
    return Mesh(np.concatenate(node), np.array(element, np.int32))


def polygon(corner: Floats, edge: float) -> Mesh:
    """A convex polygon, its corners counter-clockwise, with edges of about the given length."""
    from scipy.spatial import Delaunay

    side = np.roll(corner, -1, axis=0) - corner
    length = np.linalg.norm(side, axis=1)
    rim = []
    for x, s, along in zip(corner, side, length):
        parts = max(1, round(along / edge))
        rim.append(x + np.arange(parts)[:, None] / parts * s)
    outward = np.stack([side[:, 1], -side[:, 0]], axis=1) / length[:, None]
    low, high = corner.min(axis=0), corner.max(axis=0)
    rise = edge * math.sqrt(0.75)
    rows = max(1, round((high[1] - low[1]) / rise))
    inside = []
    for r in range(rows + 1):
        y = low[1] + (high[1] - low[1]) * r / rows
        x = np.arange(low[0] + (0.5 * edge if r % 2 else 0.0), high[0], edge)
        inside.append(np.stack([x, np.full_like(x, y)], axis=1))
    lattice = np.concatenate(inside)
    depth = ((corner - lattice[:, None]) * outward).sum(axis=2).min(axis=1)
    node = np.concatenate([*rim, lattice[depth > 0.6 * edge]])
    element = Delaunay(node).simplices.astype(np.int32)
    volume = volumes(node, element)
    element = np.where((volume < 0.0)[:, None], element[:, [0, 2, 1]], element)
    return Mesh(node, element[np.abs(volume) > 1e-9 * edge**2])  # flat ones lie along the sides


# The paths along which Kuhn cuts a cube into six tetrahedra, as corners of the cube.
_PATHS = [
    np.cumsum([(0, 0, 0), *(np.eye(3, dtype=int)[a] for a in order)], axis=0)
    for order in itertools.permutations(range(3))
]


def _numbered(corner: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ints]:
    """Points of a lattice (k, 3), and elements by their numbers, from (e, 4, 3) corners."""
    point, number = np.unique(corner.reshape(-1, 3), axis=0, return_inverse=True)
    return point, number.reshape(-1, 4).astype(np.int32)


def _outside_in(node: Floats, element: Ints) -> Ints:
    """The elements with their last two nodes swapped where they are turned inside out."""
    turned = volumes(node, element) < 0.0
    return np.where(turned[:, None], element[:, [0, 1, 3, 2]], element)


# With y₁ = a + b + c, y₂ = b + c, y₃ = c, the octant a + b + c ≤ n of an octahedron is the simplex
# n ≥ y₁ ≥ y₂ ≥ y₃ ≥ 0, of which Kuhn's cubes cut a whole number of tetrahedra (edgewise
# subdivision). Mirrored octants fit, since all depends on |a|, |b| and |c|.
def ball(shells: int) -> Mesh:
    """A ball of radius 1; its outermost nodes lie on the sphere."""
    cube = np.array(list(itertools.product(range(shells), repeat=3)))
    y = np.concatenate([cube[:, None] + path for path in _PATHS])
    y = y[(y[:, :, 0] <= shells).all(axis=1) & (np.diff(y, axis=2) <= 0).all(axis=(1, 2))]
    octant = np.stack([y[..., 0] - y[..., 1], y[..., 1] - y[..., 2], y[..., 2]], axis=2)
    signs = [np.array(sign) for sign in itertools.product((1, -1), repeat=3)]
    point, element = _numbered(np.concatenate([octant * sign for sign in signs]))
    far = np.linalg.norm(point, axis=1)
    scale = np.abs(point).sum(axis=1) / np.maximum(far, 1.0) / shells
    node = point * scale[:, None]
    return Mesh(node, _outside_in(node, element))


def box(half: Floats, edge: float) -> Mesh:
    """A box with the given half sides (3,)."""
    parts = np.maximum(1, np.round(2.0 * half / edge).astype(int))
    cube = np.array(list(itertools.product(*(range(p) for p in parts))))
    point, element = _numbered(np.concatenate([cube[:, None] + path for path in _PATHS]))
    node = (2.0 * point / parts - 1.0) * half
    return Mesh(node, _outside_in(node, element))


def surface(element: Ints) -> Ints:
    """(f, dim) facets that belong to one element alone, seen from outside."""
    width = element.shape[1]
    faces = [(1, 2), (2, 0), (0, 1)] if width == 3 else [(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)]
    facet = np.concatenate([element[:, list(face)] for face in faces])
    _, first, count = np.unique(
        np.sort(facet, axis=1), axis=0, return_index=True, return_counts=True
    )
    own: Ints = facet[np.sort(first[count == 1])]
    return own


# With the gradients b_a of the shape functions, which are constant in an element of volume V, and
# Lamé's λ and µ, the stiffness between the nodes a and b is
#     K_ab = V (λ b_a ⊗ b_b + µ b_b ⊗ b_a + µ (b_a · b_b) 1),
# in 2D with the λ and µ of space: plane strain.
def stiffness(mesh: Mesh, lame: tuple[float, float]) -> Floats:
    """(e, dim (dim + 1), dim (dim + 1)) stiffness of each element, node by node."""
    node, element = mesh
    dim = node.shape[1]
    edge = node[element[:, 1:]] - node[element[:, :1]]
    inner = np.linalg.inv(edge).transpose(0, 2, 1)  # rows: gradients of nodes 1, 2, …
    b = np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)
    outer = np.einsum("eai,ebj->eaibj", b, b)
    dot = np.einsum("eai,ebi->eab", b, b)
    first, second = lame
    k = first * outer + second * outer.transpose(0, 1, 4, 3, 2)
    k = k + second * np.einsum("eab,ij->eaibj", dot, np.eye(dim))
    k *= volumes(node, element)[:, None, None, None, None]
    size = dim * (dim + 1)
    blocks: Floats = k.reshape(len(element), size, size)
    return blocks
