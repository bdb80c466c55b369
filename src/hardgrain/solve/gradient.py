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

from hardgrain.kernels import device, jit, scalar
from hardgrain.law.cone import make_cone
from hardgrain.point.rest import make_rest
from hardgrain.solve.problem import Floats, Ints
from hardgrain.solve.response import BodyResponse
from hardgrain.solve.springs import violation

__all__ = ["Descent", "Iterate", "RestProblem", "at_rest", "momentum", "renew", "run_ahead"]

nearest, momentum = make_cone(device).nearest, make_rest(device).momentum

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
    x[0], share = nearest(x[0], math.sqrt(t), mu)
    for e in range(1, x.size):
        x[e] *= share


@scalar
def renew(given, iterate, k, u, x):
    """Write the new impulse x of contact k, also into r; returns its share of how far uphill.

    ``ahead`` then holds the last impulse, until it is renewed as well. u: (dim,) to work in.
    """
    lever, body, mu, r, ahead = given.lever, given.body, given.mu, iterate.r, iterate.ahead
    i, j = body[k, 0], body[k, 1]
    for e in range(u.size):
        u[e] = given.base[k, e]
    if i >= 0:
        _side(lever, iterate.v_ahead, i, k, 0, u)
    if j >= 0:
        _side(lever, iterate.v_ahead, j, k, 1, u)
    if body.shape[1] > 2 and body[k, 2] >= 0:  # the periodic cell
        _side(lever, iterate.v_ahead, body[k, 2], k, 2, u)
    for e in range(u.size):
        x[e] = ahead[k, e] - given.step[k] * u[e]
    _on_cone(x, mu[k])
    uphill = 0.0
    for e in range(u.size):
        uphill += u[e] * (x[e] - r[k, e])
        ahead[k, e], r[k, e] = r[k, e], x[e]
    return uphill


@scalar
def give(given, k, x, v):
    """Add to v what impulse x of contact k gives to its bodies."""
    body = given.body
    for side in range(body.shape[1]):
        if body[k, side] >= 0:
            _give(given.lever, given.inverse, body[k, side], k, side, x, v)


@scalar
def run_ahead(iterate, old, share):
    """Extrapolate impulses and velocities; old: velocities before, (bodies, size)."""
    r, ahead, v, v_ahead = iterate.r, iterate.ahead, iterate.v, iterate.v_ahead
    for k in range(r.shape[0]):
        for e in range(r.shape[1]):
            ahead[k, e] = r[k, e] + share * (r[k, e] - ahead[k, e])
    for i in range(v.shape[0]):
        for a in range(v.shape[1]):
            v_ahead[i, a] = v[i, a] + share * (v[i, a] - old[i, a])


@jit
def descend(given, iterate, theta, iterations):
    """Make iterations of the accelerated gradient in place; return θ, with which to go on."""
    m, dim = iterate.r.shape
    u, x, old = np.empty(dim), np.empty(dim), np.empty_like(iterate.v)
    for _ in range(iterations):
        old[:] = iterate.v
        iterate.v[:] = given.free
        uphill = 0.0
        for k in range(m):
            uphill += renew(given, iterate, k, u, x)
            give(given, k, x, iterate.v)
        theta, share = momentum(theta, uphill)
        run_ahead(iterate, old, share)
    return theta


class Descent:
    """What gradients need to know of a step, and how they go on; `at_rest` says when they end."""

    def __init__(self, bodies: BodyResponse, mu: Floats) -> None:
        self.bodies, self.mu = bodies, mu
        self.ratio = bodies.weight[:, 1] / bodies.weight[:, 0]

    def begin(self, start: Floats) -> Iterate:
        """Impulses (m, dim) to start from, with the velocities they give."""
        b = self.bodies
        scale = 1.0 / b.weight.max(axis=1, keepdims=True)
        self.given = self.problem(scale[:, 0] / self._largest(scale))
        v = self._moved(start)
        return Iterate(start.copy(), start.copy(), v, v.copy())

    def problem(self, step: Floats) -> RestProblem:
        """What stays the same, with these lengths of steps (m,)."""
        b = self.bodies
        return RestProblem(b.lever, b.body, 1.0 / b.mass, b.free, b.base, self.mu, step)

    def go_on(self, iterate: Iterate, theta: float, iterations: int) -> float:
        """See `descend`."""
        found: float = descend(self.given, iterate, theta, iterations)
        return found

    def violation(self, r: Floats) -> float:
        """How far impulses are from the true law."""
        b = self.bodies
        unit = 1.0 / b.weight[:, :1]
        found: float = violation(r / unit, b.velocity(r), self.mu, self.ratio, b.paths)[0]
        return found

    def _largest(self, scale: Floats) -> float:
        """An upper estimate of the largest eigenvalue of the scaled W, by power iteration."""
        root = np.sqrt(scale)
        x = self._any_impulses()
        size = 1.0
        for _ in range(30):
            y = root * self._response(root * x)
            square = self._square(y)
            size = math.sqrt(square / self._square(x))
            x = y / math.sqrt(square)
        return 1.1 * size

    def _moved(self, r: Floats) -> Floats:
        """The velocities that impulses r (m, dim) lead to, shape (bodies, components)."""
        b = self.bodies
        v: Floats = b.free + b.momentum(r) * (1.0 / b.mass)
        return v

    def _any_impulses(self) -> Floats:
        """Impulses that excite all that W can do, shape (m, dim)."""
        q = self.bodies.q
        found: Floats = np.cos(np.arange(q.size, dtype=float) ** 2).reshape(q.shape)
        return found

    def _response(self, r: Floats) -> Floats:
        """W r, shape (m, dim)."""
        found: Floats = self.bodies.velocity(r) - self.bodies.q
        return found

    def _square(self, values: Floats) -> float:
        """The sum of the squares of numbers (m, dim)."""
        return float(np.sum(values * values))


def at_rest(
    descent: Descent, start: Floats, tolerance: float, most: int
) -> tuple[Floats, float, int]:
    """Impulses (m, dim), their violation of the true law, and the iterations (about ``most``)."""
    iterate, theta = descent.begin(start), 1.0
    best, least, count, stuck = iterate.r.copy(), math.inf, 0, 0
    while count < most and stuck < PATIENCE:
        theta = descent.go_on(iterate, theta, LOOK)
        count += LOOK
        found = descent.violation(iterate.r)
        stuck = 0 if found < 0.9 * least else stuck + 1
        if found < least:
            best, least = iterate.r.copy(), found
        if found <= tolerance:
            break
    return best, least, count
