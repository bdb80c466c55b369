"""The law of springs around given impulses, and how far impulses are from the laws of rigid grains.

Let every contact answer as a stiff spring around the impulse r⁰ it had,

    r_N = max(r⁰_N − ρ U_N, 0),    r_T = (r⁰_T − ρ U_T) cut to |r_T| ≤ µ r_N,

with U the contact velocities that these impulses lead to. Where r = r⁰ the laws are those of rigid
grains, whatever ρ is. Impulses are measured as velocities in this file, r W_NN.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import jit, scalar

__all__ = ["missing", "spring_impulses", "violation"]


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


@scalar
def missing(laws, k, a):
    """Squares of what contact k wants to change, of what it wants, and of what it has.

    laws: the first five arguments of `violation`; a: (dim,) to work in.
    """
    r, u, mu, ratio, _ = laws
    new_n, t = max(r[k, 0] - u[k, 0], 0.0), ratio[k]
    size = 0.0
    for e in range(1, a.size):
        a[e] = r[k, e] - u[k, e] / t if t > 0.0 else 0.0
        size += a[e] * a[e]
    size = math.sqrt(size)
    limit = mu[k] * new_n
    share = limit / size if size > limit else 1.0
    gone, new, old = (new_n - r[k, 0]) ** 2, new_n * new_n, r[k, 0] * r[k, 0]
    for e in range(1, a.size):
        gone += (t * (share * a[e] - r[k, e])) ** 2
        new += (t * share * a[e]) ** 2
        old += (t * r[k, e]) ** 2
    return gone, new, old


@jit
def violation(r, u, mu, ratio, paths):
    """How far impulses and velocities are from the laws: the residuals of `point.residual`.

    ``r`` is measured as a velocity. ``ratio`` is W_TT/W_NN. ``paths`` is (dt/d)² with d the
    diameter of the smaller grain, or zero where it is not known.
    """
    m, dim = u.shape
    worst, wants, scale, loaded, astray = 0.0, 0.0, 0.0, 0.0, 0.0
    laws, a = (r, u, mu, ratio, paths), np.empty(dim)
    for k in range(m):
        gone, new, old = missing(laws, k, a)
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
