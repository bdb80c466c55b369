"""Small random contact problems of every kind, for `points_on_cuda.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from hardgrain.core import lawtable
from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.wall_kinds import PLANE, Walls
from hardgrain.cpu.inertia import inverses_in_space
from hardgrain.cpu.order import colour
from hardgrain.point.given import Given, Motion, Sites
from hardgrain.solve import blocks
from hardgrain.solve.matrices import LocalForm

GRAINS, WALLS, CONTACTS = 9, 2, 16


def directions(rng: np.random.Generator, number: int, dim: int) -> Any:
    n = rng.normal(size=(number, dim))
    return n / np.linalg.norm(n, axis=1)[:, None]


def tops(rng: np.random.Generator, number: int) -> tuple[Any, Any]:
    """Orientations and principal moments of bodies that are no balls."""
    q = rng.normal(size=(number, 4))
    return q / np.linalg.norm(q, axis=1)[:, None], rng.uniform(0.5, 1.0, (number, 3))


def tensors(rng: np.random.Generator, free: Any) -> Any:
    """Inverse inertias of bodies that are no balls, but for one, and for those that are held."""
    orientation, moments = tops(rng, len(free))
    moments[0] = 0.7
    out = np.empty((len(free), 6))
    inverses_in_space(orientation, moments, free, out)
    return out


def random_given(dim: int, lean: bool) -> Given:
    """Contacts of bodies that move at random; the last body turns and cannot be pushed."""
    rng = np.random.default_rng(dim + 10 * lean)
    nb, ns = GRAINS + WALLS, 1 if dim == 2 else 3
    first = rng.integers(0, GRAINS - 1, CONTACTS).astype(np.int32)
    second = np.minimum(first + rng.integers(1, GRAINS, CONTACTS), nb - 1).astype(np.int32)
    radius, n = rng.uniform(0.5, 1.0, nb), directions(rng, CONTACTS, dim)
    arms = [radius[first, None] * n, -radius[second, None] * n]
    mass, inertia = np.tile(rng.uniform(0.5, 2.0, (nb, 1)), dim), rng.uniform(1.0, 3.0, (nb, 1))
    mass[GRAINS] = [0.0] * (dim - 1) + [1.0]  # a piston
    inertia = np.tile(inertia, ns)
    mass[-1], inertia[GRAINS:] = 0.0, 0.0
    arms[1][second == nb - 1] += rng.normal(size=(int((second == nb - 1).sum()), dim))
    if not lean:
        arms = [arm + 0.3 * rng.normal(size=arm.shape) for arm in arms]
        mass[:GRAINS] *= rng.uniform(0.5, 1.0, (GRAINS, dim))
        if dim == 3:
            inertia = tensors(rng, inertia)
    spin = rng.normal(size=(nb, ns))
    spin[GRAINS] = 0.0
    laws = np.zeros((3, lawtable.N_PARAMETERS))
    laws[:, [lawtable.MU_STATIC, lawtable.MU_DYNAMIC]] = 0.4
    laws[1, lawtable.E_NORMAL] = 0.5
    if not lean:  # dry friction, with resistance to rolling and torsion, and with all that there is
        laws[1:, lawtable.MU_DYNAMIC] = 0.3
        laws[1:, [lawtable.ROLLING, lawtable.TORSION]] = 0.1, 0.2
        laws[2, [lawtable.E_TANGENT, lawtable.COHESION, lawtable.COHESION_RANGE]] = 0.2, 0.5, 1.0
    push = rng.uniform(0.0, 1.0, (CONTACTS, 1)) * n + 0.2 * rng.normal(size=n.shape)
    torque = np.zeros((CONTACTS, ns)) if lean else 0.1 * rng.normal(size=(CONTACTS, ns))
    law = rng.integers(0, 3, CONTACTS).astype(np.int32)
    torque[law == 0], push[:3] = 0.0, 0.0
    rows = ContactRows(
        first, second, n, rng.normal(0.0, 0.02, CONTACTS), arms[0], arms[1],
        rng.uniform(1.0, 2.0, CONTACTS), rng.uniform(0.5, 1.0, CONTACTS), law, push, torque,
    )  # fmt: skip
    velocity = rng.normal(size=(nb, dim))
    before = velocity + 0.1 * rng.normal(size=velocity.shape)
    return Given(rows, Motion(velocity, spin, before, spin.copy(), mass, inertia), laws, 0.1, False)


def coloured(given: Given) -> tuple[Any, Any]:
    movable = given.motion.inv_mass.max(axis=1) + given.motion.inv_inertia.max(axis=1)
    return colour(given.rows.first, given.rows.second, movable)


def random_form(dim: int) -> LocalForm:
    """A problem given as a matrix, in which a contact sees some of the others."""
    rng = np.random.default_rng(dim)
    a = rng.normal(size=(CONTACTS * dim, CONTACTS * dim))
    near = np.kron(rng.random((CONTACTS, CONTACTS)) < 0.15, np.ones((dim, dim)))
    w = a @ a.T * np.maximum(near, near.T) / (CONTACTS * dim) + 2.0 * np.eye(CONTACTS * dim)
    q, mu = rng.normal(size=CONTACTS * dim), np.full(CONTACTS, 0.3)
    return LocalForm(dim, csr_array(w), q, mu, 0.1 * rng.normal(size=q.size))


def random_sites(dim: int) -> tuple[Sites, Any, Any]:
    """Grains near each other and near walls, and all pairs of them."""
    rng = np.random.default_rng(dim)
    sites = Sites(
        rng.uniform(0.0, 2.0, (GRAINS + WALLS, dim)), rng.uniform(0.3, 0.6, GRAINS),
        np.array([0.0, 2.5, 2.5][:dim]),
        Walls(
            np.full(WALLS, PLANE, np.int32), rng.normal(size=(WALLS, dim)),
            directions(rng, WALLS, dim), np.zeros(WALLS), np.zeros((WALLS, dim)),
        ),
    )  # fmt: skip
    sites.position[1] = sites.position[0]  # two that coincide
    pairs = np.array([(i, j) for i in range(GRAINS) for j in range(i + 1, GRAINS + WALLS)])
    return sites, pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)


class Case:
    """A contact problem of a kind, stored colour by colour."""

    def __init__(self, name: str) -> None:
        self.dim = dim = int(name[-2])
        self.lean = name.startswith("lean")
        self.given = random_given(dim, self.lean)
        self.form = random_form(dim) if name.startswith("blocks") else None
        self.order, self.starts = coloured(self.given)
        self.paths = np.square(self.given.dt / self.given.rows.width)[self.order]
        if self.form is not None:
            self.order, self.starts = blocks.by_colour(self.form)
            self.paths = np.zeros(self.order.size)
