"""The law of springs around given impulses, and how far impulses are from the laws of rigid grains.

Let every contact answer as a stiff spring around the impulse r⁰ it had,

    r_N = max(r⁰_N − ρ U_N, 0),    r_T = (r⁰_T − ρ U_T) cut to |r_T| ≤ µ r_N,

with U the contact velocities that these impulses lead to. Where r = r⁰ the laws are those of rigid
grains, whatever ρ is. Impulses are measured as velocities in this file, r W_NN.

Where relative spins are resisted, torques over their lever are further impulses of the same contact
(`solve.rows`). Each group of impulses is cut to a coefficient of its own times r_N: friction and
rolling in 2D; friction, torsion and rolling in 3D. Their coefficients are then the columns of µ.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import device, jit, scalar

__all__ = ["group", "missing", "spring_impulses", "violation"]


@device
def group(g, groups, rows):
    """The rows of a contact that belong to group g, from one to the one before another."""
    if groups == 1:
        return 1, rows
    if groups == 2:
        return g + 1, g + 2
    return g + 1 + (g > 0), g + 3 if g < 2 else 6


@jit
def spring_impulses(r0, u, mu, rho, r, d):
    """Write the impulses r of springs around r⁰ at contact velocities u, and D = −∂r/∂U."""
    m, rows = u.shape
    groups = mu.size // max(m, 1)
    mus = mu.reshape((m, groups))
    a = np.empty(rows)
    for k in range(m):
        d[k] = 0.0
        r[k] = 0.0
        r_n = r0[k, 0] - rho * u[k, 0]
        if not r_n > 0.0:
            continue
        r[k, 0] = r_n
        d[k, 0, 0] = rho
        for which in range(groups):
            begin, end = group(which, groups, rows)
            size = 0.0
            for e in range(begin, end):
                a[e] = r0[k, e] - rho * u[k, e]
                size += a[e] * a[e]
            size = math.sqrt(size)
            limit = mus[k, which] * r_n
            if size <= limit:
                for e in range(begin, end):
                    r[k, e] = a[e]
                    d[k, e, e] = rho
            elif limit > 0.0:
                share = limit / size
                for e in range(begin, end):
                    r[k, e] = share * a[e]
                    d[k, e, 0] = rho * mus[k, which] * a[e] / size
                    for g in range(begin, end):
                        d[k, e, g] = -rho * share * a[e] * a[g] / (size * size)
                    d[k, e, e] += rho * share


@scalar
def missing(laws, k, a):
    """Squares of what contact k wants to change, of what it wants, and of what it has.

    laws: the arguments of `violation`, µ and ratio with a column a group; a: (rows,) to work in.
    """
    r, u, mu, ratio, _ = laws
    groups, new_n = mu.shape[1], max(r[k, 0] - u[k, 0], 0.0)
    gone, new, old = (new_n - r[k, 0]) ** 2, new_n * new_n, r[k, 0] * r[k, 0]
    for which in range(groups):
        begin, end = group(which, groups, a.size)
        t = ratio[k, which]
        size = 0.0
        for e in range(begin, end):
            a[e] = r[k, e] - u[k, e] / t if t > 0.0 else 0.0
            size += a[e] * a[e]
        size = math.sqrt(size)
        limit = mu[k, which] * new_n
        share = limit / size if size > limit else 1.0
        for e in range(begin, end):
            gone += (t * (share * a[e] - r[k, e])) ** 2
            new += (t * share * a[e]) ** 2
            old += (t * r[k, e]) ** 2
    return gone, new, old


@jit
def violation(r, u, mu, ratio, paths):
    """How far impulses and velocities are from the laws: the residuals of `point.residual`.

    ``r`` is measured as a velocity. ``ratio`` is W/W_NN of each group, of the shape of ``mu``.
    ``paths`` is (dt/d)² with d the diameter of the smaller grain, or zero where it is not known.
    """
    m, rows = u.shape
    groups = mu.size // max(m, 1)
    mus, ratios = mu.reshape((m, groups)), ratio.reshape((m, groups))
    worst, wants, scale, loaded, astray = 0.0, 0.0, 0.0, 0.0, 0.0
    laws, a = (r, u, mus, ratios, paths), np.empty(rows)
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
