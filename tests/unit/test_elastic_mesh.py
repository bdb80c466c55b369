"""Meshes of bodies that deform, and their linear elements, against what elasticity fixes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hardgrain.errors import InputError
from hardgrain.scene.elastic_mesh import (
    Mesh,
    ball,
    box,
    checked,
    disk,
    polygon,
    stiffness,
    surface,
    volumes,
)

_PENTAGON = np.array([[math.cos(a), math.sin(a)] for a in np.arange(5) * 0.4 * math.pi])
# each with the volume of the polyhedron that its outermost nodes span, where that is known
MESHES = {
    "disk": (disk(5), 15.0 * math.sin(math.pi / 15.0)),
    "pentagon": (polygon(_PENTAGON, 0.3), 2.5 * math.sin(0.4 * math.pi)),
    "ball": (ball(3), None),
    "box": (box(np.array([1.0, 0.5, 0.5]), 0.3), 2.0),
}
YOUNG, POISSON = 3.0, 0.2
LAME = (
    YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON)),
    YOUNG / (2.0 * (1.0 + POISSON)),
)


def _forces(mesh: Mesh, displacement: np.ndarray) -> np.ndarray:
    force = np.zeros_like(mesh.node)
    for nodes, block in zip(mesh.element, stiffness(mesh, LAME), strict=True):
        force[nodes] += (block @ displacement[nodes].ravel()).reshape(nodes.size, -1)
    return force


@pytest.mark.parametrize("name", MESHES)
def test_elements_fill_the_body_and_facets_enclose_it(name: str) -> None:
    mesh, volume = MESHES[name]
    checked(mesh, name)
    total = volumes(*mesh).sum()
    x = mesh.node[surface(mesh.element)]
    enclosed = np.linalg.det(x).sum() / math.factorial(x.shape[2])  # Gauss' theorem
    assert enclosed == pytest.approx(total, rel=1e-12)
    if volume is not None:
        assert total == pytest.approx(volume, rel=1e-12)


def test_meshes_of_balls_converge_to_balls() -> None:
    # the volume between chords and a sphere goes as the square of their length
    missing = [4.0 / 3.0 * math.pi - volumes(*ball(n)).sum() for n in (4, 8)]
    assert missing[0] / missing[1] == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize("name", MESHES)
def test_a_uniform_strain_loads_the_surface_alone(name: str) -> None:
    """The patch test: inside all forces balance, and at the surface they are σ n, σ by Hooke."""
    mesh, _ = MESHES[name]
    dim = mesh.node.shape[1]
    gradient = np.random.default_rng(1).normal(size=(dim, dim))
    force = _forces(mesh, mesh.node @ gradient.T)
    strain = 0.5 * (gradient + gradient.T)
    stress = LAME[0] * np.trace(strain) * np.eye(dim) + 2.0 * LAME[1] * strain
    expected = np.zeros_like(force)
    for nodes in surface(mesh.element):
        x = mesh.node[nodes]
        if dim == 2:
            area = np.array([x[1, 1] - x[0, 1], x[0, 0] - x[1, 0]])
        else:
            area = 0.5 * np.cross(x[1] - x[0], x[2] - x[0])
        expected[nodes] += stress @ area / dim
    assert np.abs(force - expected).max() < 1e-12 * np.abs(stress).max()


@pytest.mark.parametrize("name", MESHES)
def test_moving_and_turning_cost_nothing(name: str) -> None:
    mesh, _ = MESHES[name]
    n, dim = mesh.node.shape
    whole = np.zeros((n * dim, n * dim))
    for nodes, block in zip(mesh.element, stiffness(mesh, LAME), strict=True):
        rows = (dim * nodes[:, None] + np.arange(dim)).ravel()
        whole[np.ix_(rows, rows)] += block
    value = np.linalg.eigvalsh(whole)
    free = dim + dim * (dim - 1) // 2  # rigid motions; any further one would be a mechanism
    assert np.abs(value[:free]).max() < 1e-12 * value[-1]
    assert value[free] > 1e-4 * value[-1]


@pytest.mark.parametrize("dim", [2, 3])
def test_bad_meshes_are_refused_by_name(dim: int) -> None:
    node = np.concatenate([np.zeros((1, dim)), np.eye(dim)])
    element = np.arange(dim + 1, dtype=np.int32)[None]
    checked(Mesh(node, element), "one element")
    with pytest.raises(InputError, match=r"element 0, .* is turned inside out"):
        checked(
            Mesh(
                node,
                np.ascontiguousarray(element[:, ::-1] if dim == 2 else element[:, [0, 1, 3, 2]]),
            ),
            "it",
        )
    flat = node.copy()
    flat[-1] = 0.5 * (flat[0] + flat[1])
    with pytest.raises(InputError, match=r"element 0, .* is flat"):
        checked(Mesh(flat, element), "it")
    two = Mesh(np.concatenate([node, node + 5.0]), np.concatenate([element, element + dim + 1]))
    with pytest.raises(InputError, match="is in 2 pieces"):
        checked(two, "it")
