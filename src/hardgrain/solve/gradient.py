"""Forces of packings at rest by projected gradients, above all in 3D, where factors fill up.

If a force network can hold a packing at rest, it minimises

    ½ r·W r + q·r      over all r in their friction cones,

the convex relaxation of Coulomb's law: at the minimum the velocities U = W r + q lie in the dual
cones, and vanish if they can. Where grains slide the relaxation is wrong, because it pushes them
apart; the residual of the true law then says so. Nesterov's accelerated gradient, projected on the
cones and restarted whenever it runs uphill (O'Donoghue & Candès), needs a number of iterations that
grows like L/d, each at the cost of a sweep, where Gauss–Seidel needs (L/d)² sweeps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.problem import Floats, Ints
from hardgrain.solve.response import BodyResponse
from hardgrain.solve.springs import violation

__all__ = ["at_rest"]

# [iterations] Number of them between two measurements of the violation. Fewer spend time on
# measuring; more go on after the tolerance has been met.
LOOK = 50
# [looks] The search gives up after so many looks without progress. Accelerated gradients swing, and
# may pause for hundreds of iterations; fewer looks give up packings that would have been solved,
# more of them cost time where grains slide and no force can hold them.
PATIENCE = 40


class RestProblem(NamedTuple):
    """What stays the same in all iterations; see `BodyResponse` for the bodies."""

    lever: Floats  # (m, 2 or 3, dim, size) blocks of h
    body: Ints  # (m, 2 or 3) numbers of the bodies, −1: one that cannot move
    inverse: Floats  # (bodies, size) M⁻¹
    free: Floats  # (bodies, size) velocities without impulses
    base: Floats  # (m, dim) what else is in the contact velocities
    mu: Floats  # (m,)
    step: Floats  # (m,) length of a step for each contact [mass]


class Iterate(NamedTuple):
    """Impulses and the velocities they give, and the same numbers extrapolated."""

    r: Floats  # (m, dim)
    ahead: Floats  # (m, dim)
    v: Floats  # (bodies, size)
    v_ahead: Floats  # (bodies, size)


@device
def _side(lever, v, i, k, side, u):
    """Add to u the part of h v that one side of contact k contributes."""
    if lever.shape[2] == 2:
        for e in range(2):
            for a in range(3):
                u[e] += lever[k, side, e, a] * v[i, a]
    else:
        for e in range(3):
            for a in range(6):
                u[e] += lever[k, side, e, a] * v[i, a]


@device
def _give(lever, inverse, i, k, side, x, v):
    """Add to v the part M⁻¹ hᵀ x that impulse x gives to the body on one side of contact k."""
    if lever.shape[2] == 2:
        for a in range(3):
            p = lever[k, side, 0, a] * x[0] + lever[k, side, 1, a] * x[1]
            v[i, a] += p * inverse[i, a]
    else:
        for a in range(6):
            p = lever[k, side, 0, a] * x[0] + lever[k, side, 1, a] * x[1]
            v[i, a] += (p + lever[k, side, 2, a] * x[2]) * inverse[i, a]


@device
def _on_cone(x, mu):
    """Move x to the nearest point of the cone |x_T| ≤ µ x_N, in place."""
    t = 0.0
    for e in range(1, x.size):
        t += x[e] * x[e]
    t = math.sqrt(t)
    if t <= mu * x[0]:
        return
    along = max(x[0] + mu * t, 0.0) / (1.0 + mu * mu)
    share = mu * along / t if t > 0.0 else 0.0
    x[0] = along
    for e in range(1, x.size):
        x[e] *= share


@jit
def descend(given, iterate, theta, iterations):
    """Make iterations of the accelerated gradient in place; return θ, with which to go on."""
    lever, body, inverse, free, base, mu, step = given
    r, ahead, v, v_ahead = iterate
    m, sides, dim, _ = lever.shape
    u, x, old = np.empty(dim), np.empty(dim), np.empty_like(v)
    for _ in range(iterations):
        old[:] = v
        v[:] = free
        uphill = 0.0
        for k in range(m):
            i, j = body[k, 0], body[k, 1]
            for e in range(dim):
                u[e] = base[k, e]
            if i >= 0:
                _side(lever, v_ahead, i, k, 0, u)
            if j >= 0:
                _side(lever, v_ahead, j, k, 1, u)
            if sides > 2 and body[k, 2] >= 0:  # the periodic cell
                _side(lever, v_ahead, body[k, 2], k, 2, u)
            for e in range(dim):
                x[e] = ahead[k, e] - step[k] * u[e]
            _on_cone(x, mu[k])
            for e in range(dim):
                uphill += u[e] * (x[e] - r[k, e])
                ahead[k, e], r[k, e] = r[k, e], x[e]  # `ahead` holds the last r until it is renewed
            if i >= 0:
                _give(lever, inverse, i, k, 0, x, v)
            if j >= 0:
                _give(lever, inverse, j, k, 1, x, v)
            if sides > 2 and body[k, 2] >= 0:
                _give(lever, inverse, body[k, 2], k, 2, x, v)
        share = 0.0
        if uphill > 0.0:
            theta = 1.0
        else:
            new = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
            share = theta * (1.0 - theta) / (theta * theta + new)
            theta = new
        for k in range(m):
            for e in range(dim):
                ahead[k, e] = r[k, e] + share * (r[k, e] - ahead[k, e])
        for i in range(len(v)):
            for a in range(v.shape[1]):
                v_ahead[i, a] = v[i, a] + share * (v[i, a] - old[i, a])
    return theta


def _largest(bodies: BodyResponse, scale: Floats) -> float:
    """An upper estimate of the largest eigenvalue of the scaled W, by power iteration."""
    root = np.sqrt(scale)
    x = np.cos(np.arange(bodies.q.size, dtype=float) ** 2).reshape(bodies.q.shape)
    size = 1.0
    for _ in range(30):
        y = root * (bodies.velocity(root * x) - bodies.q)
        size = math.sqrt(float(np.sum(y * y) / np.sum(x * x)))
        x = y / math.sqrt(float(np.sum(y * y)))
    return 1.1 * size


def at_rest(
    bodies: BodyResponse, mu: Floats, start: Floats, tolerance: float, most: int
) -> tuple[Floats, float, int]:
    """Impulses (m, dim), their violation of the true law, and the iterations (about ``most``)."""
    scale = 1.0 / bodies.weight.max(axis=1, keepdims=True)
    unit = 1.0 / bodies.weight[:, :1]
    ratio = bodies.weight[:, 1] / bodies.weight[:, 0]
    step = scale[:, 0] / _largest(bodies, scale)
    inverse = 1.0 / bodies.mass
    given = RestProblem(bodies.lever, bodies.body, inverse, bodies.free, bodies.base, mu, step)
    r = start.copy()
    v = bodies.free + bodies.momentum(r) * inverse
    iterate, theta = Iterate(r, r.copy(), v, v.copy()), 1.0
    best, least, count, stuck = r.copy(), math.inf, 0, 0
    while count < most and stuck < PATIENCE:
        theta = descend(given, iterate, theta, LOOK)
        count += LOOK
        found = violation(r / unit, bodies.velocity(r), mu, ratio, bodies.paths)[0]
        stuck = 0 if found < 0.9 * least else stuck + 1
        if found < least:
            best, least = r.copy(), found
        if found <= tolerance:
            break
    return best, least, count
