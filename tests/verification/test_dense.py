"""Gauss–Seidel against dense solvers that share nothing with it but the problem.

Frictionless contacts minimise Gauss's function ½ |q − q*|²_M subject to H_n q + g⁺/dt ≥ 0: a least
distance problem, solved by an active set method (Lawson and Hanson's NNLS, through SciPy). With
friction a De Saxcé projection method on the assembled matrix is used. Impulses may differ where
several networks are admissible; velocities must not.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

import hardgrain as hg

from .helpers import EXACT, Dense, Floats, packing, record, velocities

pytestmark = pytest.mark.rounding


def gauss(p: Dense) -> Floats:
    """Velocities of frictionless contacts, shape (dofs,)."""
    moves = p.inv_mass > 0.0
    root = np.sqrt(p.inv_mass[moves])
    h = p.h[:: p.dim]
    g = h[:, moves] * root  # in the variable M^½ (q − q*)
    need = -(p.bias[:: p.dim] + h @ p.free)
    e = np.vstack([g.T, need])
    f = np.zeros(len(e))
    f[-1] = 1.0
    u, _ = nnls(e, f, maxiter=100_000)
    r = e @ u - f
    q = p.free.copy()
    q[moves] += root * (-r[:-1] / r[-1])
    return q


def de_saxce(p: Dense, tolerance: float = 1e-13, most: int = 200_000) -> Floats:
    """Velocities of contacts with friction, shape (dofs,).

    A pair (P, V) obeys Signorini and Coulomb exactly when P is the projection of
    P − ρ (V + µ |V_t| n) onto Coulomb's cone. Iterated with extrapolation that restarts when
    it overshoots.
    """
    w = (p.h * p.inv_mass) @ p.h.T
    c = p.h @ p.free + p.bias
    rho = 1.0 / np.linalg.eigvalsh(w)[-1]
    m, mu = p.mu.size, p.mu
    x = y = np.zeros(c.size)
    t, last = 1.0, np.inf
    for _ in range(most):
        v = (w @ y + c).reshape(m, -1)
        z = y.reshape(m, -1) - rho * v
        z[:, 0] -= rho * mu * np.linalg.norm(v[:, 1:], axis=1)
        fresh = project(z, mu).ravel()
        change = float(np.linalg.norm(fresh - x))
        if change <= tolerance * np.linalg.norm(fresh):
            break
        if change > last:
            t = 1.0
        t_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        y = fresh + (t - 1.0) / t_next * (fresh - x)
        x, t, last = fresh, t_next, change
    else:
        pytest.fail("the dense method did not converge")
    return p.free + p.inv_mass * (p.h.T @ fresh)


def project(z: Floats, mu: Floats) -> Floats:
    """Nearest points of the cones |z_t| ≤ µ z_n, shape (m, dim)."""
    n, t = z[:, 0], np.linalg.norm(z[:, 1:], axis=1)
    on = (n + mu * t) / (1.0 + mu**2)  # normal part on the cone's surface
    inside, below = t <= mu * n, mu * t <= -n
    scale = np.where(inside, 1.0, np.where(below, 0.0, mu * on / np.maximum(t, 1e-300)))
    normal = np.where(inside, n, np.where(below, 0.0, on))
    return np.column_stack([normal, scale[:, None] * z[:, 1:]])


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_frictionless_packing_has_the_velocities_of_gauss(dim, seed):
    sim = packing(dim, {"friction": 0.0}, seed)
    sim.engine.solver = EXACT
    kept = record(sim)
    for _ in range(3):
        for _ in range(10):
            sim.step()
        p = Dense.of(kept.problem)
        assert kept.solution.converged
        assert np.count_nonzero(sim.state.contacts.normal_impulse()) > 10
        np.testing.assert_allclose(velocities(kept.solution), gauss(p), atol=1e-8)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("mu", [0.1, 0.6])
def test_packing_with_friction_has_the_velocities_of_the_dense_method(dim, mu):
    sim = packing(dim, {"friction": mu}, seed=2, count=20)
    sim.engine.solver = EXACT.model_copy(update={"tolerance": 1e-11})
    kept = record(sim)
    for _ in range(2):
        for _ in range(10):
            sim.step()
        p = Dense.of(kept.problem)
        assert np.count_nonzero(sim.state.contacts.normal_impulse()) > 10
        # the dense method's step stalls at 10⁻¹³ of the impulses; slow modes leave 10⁻⁹
        np.testing.assert_allclose(velocities(kept.solution), de_saxce(p), atol=1e-8)


@pytest.mark.parametrize("dim", [2, 3])
def test_residual_is_what_its_definition_says(dim):
    """max |W_αα (P* − P)| / V from the assembled matrix, for unfinished sweeps."""
    mu = 0.3
    sim = packing(dim, {"friction": mu})
    kept = record(sim)
    kept.solver = hg.GaussSeidel(sweeps=3)
    sim.step()
    p, s = Dense.of(kept.problem), kept.solution
    v = p.h @ velocities(s) + p.bias
    frames = p.h.reshape(-1, dim, p.inv_mass.size)
    own = np.einsum("kap,p,kbp->kab", frames, p.inv_mass, frames)
    wants, scale = [], []
    for k, w in enumerate(own):
        # in the frame that Dense chose: its rows on the first body are minus the unit vectors
        i = kept.problem.first[k] * (dim + s.spin.shape[1])
        frame = -frames[k][:, i : i + dim]
        now = frame @ s.impulse[k]
        u = v.reshape(-1, dim)[k] - w @ now
        new = np.zeros(dim)
        if u[0] < 0.0:
            new = -np.linalg.solve(w, u)  # W of round bodies is diagonal
            limit, length = mu * new[0], np.linalg.norm(new[1:])
            if length > limit:
                new[1:] *= limit / length
        wants.append(np.linalg.norm(w @ (new - now)))
        scale.append(max(np.linalg.norm(w @ new), np.linalg.norm(w @ now)))
    # Only these count in the means: what drowns in the rounding of the velocities is no impulse.
    loaded = np.count_nonzero(np.array(scale) > 1e-14 * np.abs(velocities(s)).max())
    assert 10 < loaded < len(scale)
    typical = np.sqrt(np.sum(np.square(scale)) / loaded)
    rms = np.sqrt(np.sum(np.square(wants)) / loaded)
    assert s.residual == pytest.approx(max(wants) / typical, rel=1e-9)
    assert s.residual_rms == pytest.approx(rms / typical, rel=1e-9)
