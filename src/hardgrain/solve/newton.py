"""Newton's method on the states of the contacts: open, sticking, sliding.

Let every contact answer as a stiff spring around the impulse r⁰ it had,

    r_N = max(r⁰_N − ρ U_N, 0),    r_T = (r⁰_T − ρ U_T) cut to |r_T| ≤ µ r_N,

with U the contact velocities that these impulses lead to. This is piecewise smooth, and its pieces
are the states of the contacts. Newton's method finds the right ones in a few iterations if few of
them change. Taking the result as the new r⁰ and repeating lets the springs relax: where r = r⁰, the
laws are those of rigid grains, whatever ρ is (augmented Lagrangian; Alart & Curnier). The start
decides which of the many possible force networks is found: one near that of the last step, as with
Gauss–Seidel.

Impulses are measured as velocities in this file, r W_NN.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import jit
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Response

__all__ = ["newton", "violation"]


@jit
def spring_impulses(r0, u, mu, rho, r, d):
    """Write the impulses r of springs around r⁰ at contact velocities u, and D = −∂r/∂U."""
    m, dim = u.shape
    a = np.empty(dim)
    for k in range(m):
        d[k] = 0.0
        r[k] = 0.0
        r_n = r0[k, 0] - rho * u[k, 0]
        if not r_n > 0.0:
            continue
        r[k, 0] = r_n
        d[k, 0, 0] = rho
        size = 0.0
        for e in range(1, dim):
            a[e] = r0[k, e] - rho * u[k, e]
            size += a[e] * a[e]
        size = math.sqrt(size)
        limit = mu[k] * r_n
        if size <= limit:
            for e in range(1, dim):
                r[k, e] = a[e]
                d[k, e, e] = rho
        elif limit > 0.0:
            share = limit / size
            for e in range(1, dim):
                r[k, e] = share * a[e]
                d[k, e, 0] = rho * mu[k] * a[e] / size
                for g in range(1, dim):
                    d[k, e, g] = -rho * share * a[e] * a[g] / (size * size)
                d[k, e, e] += rho * share


@jit
def violation(r, u, mu, ratio, paths):
    """How far impulses and velocities are from the laws: the residuals of `point.residual`.

    ``r`` is measured as a velocity. ``ratio`` is W_TT/W_NN. ``paths`` is (dt/d)² with d the
    diameter of the smaller grain, or zero where it is not known.
    """
    m, dim = u.shape
    worst, wants, scale, loaded, astray = 0.0, 0.0, 0.0, 0.0, 0.0
    a = np.empty(dim)
    for k in range(m):
        new_n = max(r[k, 0] - u[k, 0], 0.0)
        t = ratio[k]
        size = 0.0
        for e in range(1, dim):
            a[e] = r[k, e] - u[k, e] / t if t > 0.0 else 0.0
            size += a[e] * a[e]
        size = math.sqrt(size)
        limit = mu[k] * new_n
        share = limit / size if size > limit else 1.0
        gone, new, old = (new_n - r[k, 0]) ** 2, new_n * new_n, r[k, 0] * r[k, 0]
        for e in range(1, dim):
            gone += (t * (share * a[e] - r[k, e])) ** 2
            new += (t * share * a[e]) ** 2
            old += (t * r[k, e]) ** 2
        wants += gone
        scale += max(new, old)
        loaded += max(new, old) != 0.0
        if not gone <= worst:
            worst = gone
        astray = max(astray, gone * paths[k])
    if worst == 0.0:
        return 0.0, 0.0
    square = worst * loaded / scale
    return math.sqrt(astray if astray > square else square), math.sqrt(wants / scale)


def newton(
    bodies: Response, mu: Floats, start: Floats, tolerance: float, stiffness: float, most: int
) -> tuple[Floats, float, int]:
    """Impulses (m, dim), their violation of the laws, and the factorisations made.

    ``stiffness`` is ρ [1/W_NN], and ``most`` the largest number of factorisations.
    """
    scale = 1.0 / bodies.weight[:, :1]
    ratio = bodies.weight[:, 1] / bodies.weight[:, 0]
    r = start / scale
    np.maximum(r[:, 0], 0.0, out=r[:, 0])
    size = np.sqrt(np.einsum("ka,ka->k", r[:, 1:], r[:, 1:]))
    r[:, 1:] *= np.minimum(1.0, mu * r[:, 0] / np.maximum(size, 1e-300))[:, None]
    m, dim = r.shape
    best, best_found = r, math.inf
    d, answer, ahead, unused = (
        np.zeros((m, dim, dim)),
        np.empty_like(r),
        np.empty_like(r),
        np.zeros((m, dim, dim)),
    )
    count, poor = 0, 0

    def energy(c: Floats) -> float:
        """√(c·W c), which measures how far the impulses are from those of the springs."""
        x = scale * c
        return math.sqrt(max(float(np.sum(x * (bodies.velocity(x) - bodies.q))), 0.0))

    while True:
        u = bodies.velocity(scale * r)
        found = violation(r, u, mu, ratio, bodies.paths)[0]
        if not found >= best_found:
            best, best_found = r, found
        if found <= tolerance or count >= most or poor >= 2:
            return scale * best, best_found, count
        anchor, now = r.copy(), r.copy()
        for _ in range(most):
            spring_impulses(anchor, u, mu, stiffness, answer, d)
            c = answer - now
            error = energy(c)
            if error <= 1e-12 * energy(now) or count >= most or poor >= 2:
                break
            if bodies.factorize(scale[:, :, None] * d) == 0.0:
                poor = 2
                break
            count += 1
            du = bodies.respond(scale * c)
            dr = c - np.matmul(d, du[:, :, None])[:, :, 0]
            t = 1.0
            while True:
                spring_impulses(anchor, u + t * du, mu, stiffness, ahead, unused)
                if energy(ahead - now - t * dr) <= (1.0 - 1e-4 * t) * error or t < 0.02:
                    break
                t *= 0.5
            poor = poor + 1 if t < 0.1 else 0
            u, now = u + t * du, now + t * dr
        spring_impulses(anchor, u, mu, stiffness, answer, d)
        r = answer.copy()
