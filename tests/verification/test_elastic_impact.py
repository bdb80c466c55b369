"""An elastic bar hits a rigid wall: finite elements in the contact problem, against its waves.

**The step.** With positions x at which contacts are found, velocities v, and a stiffness K, the
step of rigid grains, x⁺ = x + dt v⁺ with g⁺/dt + V⁺ ≥ 0 ⊥ P ≥ 0, becomes Moreau's and Jean's:

    (M + θ² dt² K) (v⁺ − v) = dt F − dt K (u + (2θ − 1) dt v) + hᵀ P.

It is the θ-scheme in q = x − (1 − θ) dt v, the positions at the time of v: forces are those at
θ q⁺ + (1 − θ) q, and x = q + (1 − θ) dt v is where contacts are foreseen. With θ = 1 it is the
implicit Euler scheme of rigid grains. With θ = 1/2 the energy ½ v M v + ½ q K q changes by
P · (V + V⁺)/2 alone: contacts that stay closed take nothing, and a node that is stopped loses what
it had.

**The waves.** A bar of length L with sound speed c = √(E/ρ) (no lateral strain: ν = 0) that hits a
wall at the speed v₀ presses on it with ρ c v₀ for the time 2 L/c, then leaves with v₀: e = 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from hardgrain.scene.elastic_mesh import polygon, stiffness, volumes
from hardgrain.solve.gauss_seidel import GaussSeidel
from hardgrain.solve.matrices import LocalForm

LENGTH = SPEED = 1.0  # E = ρ = 1, so that c = 1


class _Rebound(NamedTuple):
    contact_time: float
    pressure: float  # mean, while waves run to the free end and back once
    velocity: float  # of the centre of mass at the end
    energy: float  # kinetic and elastic at the end, over that at the start
    most_energy: float  # the most that it ever was
    struck: float  # share of the mass that the first impulse stops at once, that of W⁻¹
    step: float


def _rebound(elements: int, theta: float) -> _Rebound:
    edge = LENGTH / elements
    width, dt = 2.0 * edge, edge
    corner = np.array([[0.0, 0.0], [LENGTH, 0.0], [LENGTH, width], [0.0, width]])
    mesh = polygon(corner, edge)
    n = len(mesh.node)
    k, lumped = np.zeros((2 * n, 2 * n)), np.zeros(n)
    blocks = stiffness(mesh, (0.0, 0.5))
    for nodes, block, volume in zip(mesh.element, blocks, volumes(*mesh), strict=True):
        rows = (2 * nodes[:, None] + np.arange(2)).ravel()
        k[np.ix_(rows, rows)] += block
        lumped[nodes] += volume / 3.0
    mass = np.repeat(lumped, 2)
    inverse = np.linalg.inv(np.diag(mass) + (theta * dt) ** 2 * k)
    end = np.flatnonzero(mesh.node[:, 0] < 1e-9)
    m = end.size
    h = np.zeros((2 * m, 2 * n))
    h[np.arange(2 * m), (2 * end[:, None] + np.arange(2)).ravel()] = 1.0
    delassus = csr_array(h @ inverse @ h.T)
    solver = GaussSeidel(sweeps=2000, stop="residual", tolerance=1e-10)
    u, v, r = np.zeros(2 * n), np.zeros(2 * n), np.zeros(2 * m)
    v[::2] = -SPEED
    first = most = 0.5 * mass @ v**2
    contact_time, force = 0.0, []
    for step in range(round(4.0 * LENGTH / dt)):
        free = v + inverse @ (-dt * (k @ (u + (2.0 * theta - 1.0) * dt * v)))
        q = h @ free
        q[::2] += np.maximum(u[2 * end], 0.0) / dt
        solution = solver.solve(LocalForm(2, delassus, q, np.zeros(m), r), seed=0, step=step)
        assert solution.converged
        r = solution.r
        v = free + inverse @ (h.T @ r)
        u = u + dt * v
        now = u - (1.0 - theta) * dt * v
        energy = 0.5 * mass @ v**2 + 0.5 * now @ k @ now
        most = max(most, energy)
        force.append(r[::2].sum() / dt)
        if force[-1] > 0.0:
            contact_time = (step + 1) * dt
    return _Rebound(
        contact_time, float(np.mean(force[: round(1.5 / dt)])) / width,
        float((mass * v)[::2].sum() / lumped.sum()), energy / first, most / first,
        float(np.linalg.inv(delassus.toarray()[::2, ::2]).sum() / lumped.sum()), dt,
    )  # fmt: skip


@pytest.fixture(scope="module")
def rebounds() -> list[_Rebound]:
    return [_rebound(elements, theta=0.5) for elements in (10, 20, 40)]


def test_the_bar_stays_for_two_passages_of_sound(rebounds: list[_Rebound]) -> None:
    # dispersion smears the front of a wave over a few elements, of which a step crosses one
    for found in rebounds:
        assert abs(found.contact_time - 2.0) <= 3.0 * found.step


def test_the_wall_feels_the_impedance_of_the_bar(rebounds: list[_Rebound]) -> None:
    # the nodes that stop at once bring their own momentum, a share of 1/elements or less
    for found in rebounds:
        assert abs(found.pressure - 1.0) < found.step


def test_nothing_is_lost_but_what_the_struck_nodes_had(rebounds: list[_Rebound]) -> None:
    for found in rebounds:
        assert found.energy == pytest.approx(1.0 - found.struck, abs=1e-8)
        assert found.most_energy <= 1.0 + 1e-8  # the solver's tolerance


def test_the_rebound_becomes_elastic_as_the_mesh_becomes_finer(rebounds: list[_Rebound]) -> None:
    missing = [1.0 - found.velocity for found in rebounds]
    assert missing[0] > missing[1] > missing[2] > 0.0
    # ripples behind the front hold the rest; they fade more slowly than the loss, as h^(2/3)
    assert np.log2(missing[0] / missing[2]) / 2.0 == pytest.approx(2.0 / 3.0, abs=0.15)


def test_the_implicit_end_of_the_step_damps() -> None:
    found = _rebound(20, theta=1.0)
    assert found.energy < 0.8  # of the waves that ring in it
    assert found.most_energy <= 1.0 + 1e-8
    assert abs(found.contact_time - 2.0) <= 3.0 * found.step
