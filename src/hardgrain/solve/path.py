"""Signorini's and Coulomb's laws by their central path, followed as a curve.

The path, and Newton's step along it, are derived in `solve.cones`: the laws are complementary
pairs, whose products are σ on the path and vanish at its end.

**Where to start.** A path starts either from nowhere, with all pairs alike, or near given impulses,
which are pushed off the rims of their cones. In the latter case each pair keeps the product it
starts with as its weight, and σ counts in units of that. The start then lies in the middle of its
own path, and the force network found at the end is near the one given.

**Relaxed.** If all grains can stay at rest, forces that hold them follow from an easier law, in
which the cone of friction has the partner (u_N/µ, τ) and there is no other pair. This is the convex
relaxation, and its path never folds. It agrees with Coulomb's law only if nothing slides in the
end; the violation, which is always that of the exact law, shows whether it does.

**Down, and along.** Usually Mehrotra's predictor and corrector run down the path in twenty-odd
steps. But with friction the path may fold: σ has to rise again before it can go on falling, as in
Lemke's method, whose smooth counterpart this is. Steps that only lower σ cannot pass such a fold,
but the path itself goes on. Along the curve, dσ changes its sign together with det(1 + W D), whose
sign the factorisation gives for nothing. So when the way down is blocked, we go back to where the
path was well in the middle of its cones and follow it in short strides, downwards while the
determinant is positive and upwards while it is negative, with corrections at right angles to the
curve rather than at fixed σ.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.solve.cones import (
    SLIPPERY,
    TINY,
    Aim,
    ConeLaws,
    Linear,
    PathPoint,
    Products,
    Scaling,
    changes,
    compare,
    drive,
    longest,
    measure,
    products_of,
    scale_cones,
    stiffness,
)
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Response
from hardgrain.solve.springs import violation

__all__ = ["Path"]

# None of these constants can make a wrong result pass, since the residual judges it. A poor value
# makes a path longer, or lets it be given up where another value would have arrived.

# [mean of r_N²] Smallest mean of r_N u_N. Below it a path ends, because all that is left is
# rounding.
FLOOR = 1e-16
# [rms free velocity of closing contacts] Impulses and speeds of a path that starts from nowhere.
# From larger ones the path is longer; from smaller ones it starts off its middle and may be blocked
# soon.
START = 10.0
# [mean product] Smallest product that a pair may have on the way down. Pairs that run ahead of the
# others block later steps; with a larger limit steps are shorter, with a smaller one more of them
# are blocked.
NEAR = 1e-3
# [1] A step of which no more than this share can be taken counts as blocked, and two of them in a
# row as a fold. If it is larger, the slow way along the curve is taken without need; if it is
# smaller, many tiny steps are made before a fold is noticed.
BLOCKED = 0.2
# [iterations] How far to go back at a fold. Right before it the pairs have run apart; further back
# the path is in the middle of its cones, but more of the way must be gone twice.
BACK = 5
# [1] Largest relative change of any number in a stride along the curve. Longer strides leave the
# curve, shorter ones make it take more factorisations.
STRIDE = 0.7
# [1] Largest relative change of any number in a correction back to the curve. Its direction is less
# certain than that of a stride, but it must lead back in few corrections.
TRUST = 2.0
# [iterations] Corrections in a row after which the curve counts as lost and the path ends. Fewer
# give up curves that would have been found again; more only cost time.
LOST = 12


class Path:
    """A point on the way along the central path, and how to go on from there."""

    def __init__(
        self,
        bodies: Response,
        mu: Floats,
        near: Floats | None = None,
        push: float = START,
        *,
        relaxed: bool = False,
    ) -> None:
        """Start from nowhere, with ``push`` times the free velocities, or ``near`` given impulses.

        Given impulses are raised to at least ``push`` times their rms, and moved inside their cones
        by the same share.
        """
        m, dim = bodies.q.shape
        self.bodies, self.relaxed = bodies, relaxed
        scale = 1.0 / bodies.weight[:, :1]
        self.ratio = bodies.weight[:, 1] / bodies.weight[:, 0]
        if near is None:
            self.point, line, cone = _from_nowhere(bodies, mu, push, relaxed)
        else:
            self.point, line, cone = _near(bodies, mu, scale, near, push)
        self.laws = ConeLaws(mu, scale, line, cone, relaxed)
        self.iterations, self.strides = 0, 0  # all iterations, and those along the curve
        self.best, self.violation = self.impulse, math.inf  # the best impulses so far
        self.depth = math.inf  # mean of r_N u_N, relative to that of r_N²
        self.ended = False  # whether the path cannot be followed any further
        self._scaling = _unscaled(m, dim)
        self._linear = Linear(
            np.zeros((m, dim, dim)), np.zeros((m, dim, dim)), np.zeros((m, dim)), np.zeros(m),
            np.zeros((m, dim - 1)),
        )  # fmt: skip
        self._nothing = Products(np.zeros(m), np.zeros((m, dim)))
        self._second = Products(np.zeros(m), np.zeros((m, dim)))
        self._curve, self._blocked, self._smooth, self._lost = False, 0, 0, 0
        self._trail: list[PathPoint] = []

    @property
    def impulse(self) -> Floats:
        """Impulses (m, dim) of the present point."""
        r: Floats = self.laws.scale * self.point.r
        return r

    @np.errstate(over="ignore", invalid="ignore")  # a path that runs away is ended by its nan
    def advance(self) -> None:
        """Make one iteration, at the cost of one factorisation."""
        r, u, mu = self.point.r, self.point.u, self.laws.mu
        self._velocity = self.bodies.velocity(self.impulse)
        found = violation(r, self._velocity, mu, self.ratio, self.bodies.paths)[0]
        if found < self.violation:
            self.best, self.violation = self.impulse, found
        scale_cones(self.point, mu, self._scaling)
        mean, low, middle = measure(self.point, self._scaling.lam, self.laws)
        stiffness(self.point, self.laws, self._scaling, self._linear)
        self.iterations += 1
        self.depth = float(np.mean(r[:, 0] * u) / np.mean(r[:, 0] ** 2))
        if not self.depth > FLOOR or self._lost > LOST:  # nan too
            self.ended = True
            return
        sign = self.bodies.factorize(self._linear.d)
        if sign == 0.0 or not math.isfinite(sign):
            self.ended = True
        elif self._curve:
            self._stride(sign, low, middle)
        else:
            self._descend(mean)

    def _descend(self, mean: float) -> None:
        """Make Mehrotra's step down the path, in which no pair may run far ahead of the others."""
        self._trail = [*self._trail[-BACK:], self.point]
        ahead = self._change(0.0, exact=False)
        a = min(1.0, longest(self.point, ahead, self.laws.mu))
        left = self._products(0.9999 * a, ahead)[0] / mean
        share = min(max(left, 0.0), 1.0) ** 3 if left == left else 1.0
        products_of(ahead, self.laws.mu, self._scaling, self._second)
        change = self._change(min(max(share, 1e-4), 0.9) * mean, second=self._second)
        a = min(1.0, 0.99 * longest(self.point, change, self.laws.mu))
        for _ in range(15):
            new, low, _ = self._products(a, change)
            if low >= NEAR * new and new < 1.5 * mean:
                break
            a *= 0.8
        self.point = self._ahead(a, change)
        self._blocked = self._blocked + 1 if a < BLOCKED else 0
        if self._blocked >= 2 and self.relaxed:
            self.ended = True
        elif self._blocked >= 2 and len(self._trail) > BACK:
            self.point = self._trail[0]
            self._curve, self._smooth = True, 0

    def _stride(self, sign: float, low: float, middle: float) -> None:
        """Go a short way along the curve, up or down, and towards its middle."""
        self.strides += 1
        aside = self._change(middle)
        along = self._change(middle, missed=0.0, held=0.0, exact=False)
        off, steep, both, square = self._compare(aside, along)
        if off < 0.9:
            a, change = self._reach(aside, along, -sign * min(2.5, STRIDE / (steep + TINY)), low)
        else:  # first back to the curve, at right angles to it, or at this σ if that goes further
            ways = (self._reach(aside, along, s, low) for s in (-both / (square + 1.0), 0.0))
            a, change = max(ways, key=lambda way: way[0])
        self.point = self._ahead(a, change)
        self._lost = self._lost + 1 if off >= 0.9 else 0
        self._smooth = self._smooth + 1 if sign > 0.0 and steep < 3.0 and off < 0.9 else 0
        if self._smooth >= 3:
            self._curve, self._blocked, self._trail = False, 0, []

    def _reach(
        self, aside: PathPoint, along: PathPoint, log: float, low: float
    ) -> tuple[float, PathPoint]:
        """The share of a stride by log σ that can be taken, and the stride itself."""
        change = _add(aside, log, along)
        size = self._compare(change, change)[0]
        a = min(1.0, TRUST / (size + TINY), 0.9 * longest(self.point, change, self.laws.mu))
        for _ in range(10):
            _, least, middle = self._products(a, change)
            if least >= min(0.05 * middle, 0.5 * low):
                break
            a *= 0.7
        return a, change

    def _compare(self, d: PathPoint, e: PathPoint) -> tuple[float, float, float, float]:
        """Two changes, relative to the numbers they change; see `compare`."""
        found: tuple[float, float, float, float] = compare(
            self.point, self.laws.mu, self._scaling, d, e
        )
        return found

    def _change(
        self,
        sigma: float,
        *,
        missed: float = 1.0,
        held: float = 1.0,
        second: Products | None = None,
        exact: bool = True,
    ) -> PathPoint:
        """The change in Newton's step to σ; for the options see `Aim`."""
        aim = Aim(sigma, missed, held, second or self._nothing)
        drive(self.point, self._velocity, self.laws, self._scaling, aim, self._linear)
        dv = self.bodies.respond(self._linear.c, exact)
        change = PathPoint(*(np.empty_like(x) for x in self.point))
        changes(self.point, self.laws, self._scaling, aim, self._linear, dv, change)
        return change

    def _ahead(self, a: float, change: PathPoint) -> PathPoint:
        """The point after a share ``a`` of a change."""
        return _add(self.point, a, change)

    def _products(self, a: float, change: PathPoint) -> tuple[float, float, float]:
        """Mean, smallest and geometric mean of the products after a share ``a`` of a change."""
        ahead, scaling = self._ahead(a, change), _unscaled(*self.point.r.shape)
        scale_cones(ahead, self.laws.mu, scaling)
        found: tuple[float, float, float] = measure(ahead, scaling.lam, self.laws)
        return found


def _add(point: PathPoint, a: float, change: PathPoint) -> PathPoint:
    """A point moved by a share ``a`` of a change."""
    return PathPoint(*(x + a * y for x, y in zip(point, change, strict=True)))


def _unscaled(m: int, dim: int) -> Scaling:
    """Room for the scaling of m contacts; those without friction keep what it holds."""
    return Scaling(np.zeros((m, dim)), np.ones(m), np.ones((m, dim)))


def _from_nowhere(
    bodies: Response, mu: Floats, push: float, relaxed: bool
) -> tuple[PathPoint, Floats, Floats]:
    """A start with all pairs alike, and the weights of half-lines and cones."""
    q = bodies.q
    # Only contacts that close tell the scale of the velocities. Bodies far apart are fast by
    # their bias alone, and bodies that fall together have no velocity to stop.
    closing = q[q[:, 0] < 0.1 * min(float(q[:, 0].min()), 0.0)]
    speed = push * math.sqrt(float(np.mean(closing**2 if closing.size else q**2))) + TINY
    r, u, tau = np.zeros_like(q), np.maximum(q[:, 0], speed), np.zeros_like(q[:, 1:])
    r[:, 0] = speed * (speed / u)
    gamma = u / np.maximum(mu, SLIPPERY) if relaxed else 2.0 * u
    return PathPoint(r, u, gamma, tau), r[:, 0] * u, 0.5 * np.maximum(mu, TINY) * r[:, 0] * gamma


def _near(
    bodies: Response, mu: Floats, scale: Floats, impulse: Floats, push: float
) -> tuple[PathPoint, Floats, Floats]:
    """A start near given impulses, and the weights of half-lines and cones.

    There z = 2c x⁻¹, with c such that γ is the slip or the push.
    """
    r = impulse / scale
    speed = push * math.sqrt(float(np.mean(r[:, 0] ** 2))) + TINY
    np.maximum(r[:, 0], speed, out=r[:, 0])
    size = np.sqrt(np.einsum("ka,ka->k", r[:, 1:], r[:, 1:])) + TINY
    x0 = np.maximum(mu * r[:, 0], TINY)
    r[:, 1:] *= np.minimum(1.0, (1.0 - min(push, 0.5)) * x0 / size)[:, None]
    velocity = bodies.velocity(scale * r)
    u = np.maximum(velocity[:, 0], speed)
    slip = np.sqrt(np.einsum("ka,ka->k", velocity[:, 1:], velocity[:, 1:]))
    gamma = np.maximum(slip, speed)
    apart = np.maximum(x0**2 - np.einsum("ka,ka->k", r[:, 1:], r[:, 1:]), TINY)
    point = PathPoint(r, u, gamma, -(gamma / x0)[:, None] * r[:, 1:])
    return point, r[:, 0] * u, 0.5 * gamma * apart / x0
