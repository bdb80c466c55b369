"""Signorini's and Coulomb's laws by their central path, followed as a curve.

**The laws as pairs.** In a contact with velocity U and impulse r, let τ be its slip and γ ≥ |τ| a
number of its own. Signorini and Coulomb say that two pairs are complementary,

    0 ≤ r_N  ⊥  u_N ≥ 0                      u_N = U_N, on the half-line
    (µ r_N, r_T)  ⊥  (γ, τ)                  τ = U_T, both in the cone |second| ≤ first

The second: either |r_T| < µ r_N and the other vector vanishes (stick), or both lie on the rim of
the cone and oppose each other, γ = |τ| (slide). This is Coulomb's law itself, not its convex
relaxation, in which the same friction also pushes sliding grains apart: u_N and γ have different
partners. The price is that the problem is not monotone.

**Central path.** Ask for r_N u_N = σ and (µ r_N, r_T) ∘ (γ, τ) = 2σ e instead (∘: the product of
the cone's Jordan algebra, e its unit), with U = q + W r throughout. For large σ this is easy: all
contacts push and none is about to slide. For σ → 0 it becomes the laws. A Newton step reads, with
the scaling w, η of Nesterov and Todd that makes the two vectors of a pair one, λ,

    dr_N = c_N − (r_N/u_N) dU_N,     dr_T = c_T − B dU_T + µ κ dr_N,
    B = η² (1 − 2 w_T w_Tᵀ / (1 + 2 w_T²)),      κ = 2 w₀ w_T / (1 + 2 w_T²)

that is, dr = c − D dU contact by contact, and `solve.response` does the rest. As σ → 0, |κ| → 1
where grains slide: friction follows the normal force. Impulses are counted in r W_NN, a velocity.
D is bounded by 1/SOFT; since this holds back changes of r only, it leaves no error in the end.

**Where to start.** From nowhere, all pairs alike; or near given impulses, pushed off the rims of
their cones. Each pair then keeps the product it starts with as its weight: σ counts shares of it.
The start lies in the middle of its own path, and the network found at the end is near it.

**Relaxed.** If all grains can stay at rest, forces that hold them follow from an easier law, in
which the cone of friction has the partner (u_N/µ, τ) and there is no other pair: the convex
relaxation, whose path never turns. Only where nothing slides in the end is it Coulomb's law, which
the violation, always that of the exact law, tells.

**Down, and along.** Usually Mehrotra's predictor and corrector run down the path in twenty-odd
steps. But with friction the path may turn back: σ has to rise again before it can fall on, as in
Lemke's method, whose smooth counterpart this is. Steps at a given σ end there. The path itself goes
on: along a curve, dσ changes its sign with det(1 + W D), which the factorisation gives away. So
when the way down is blocked, go back to where the path was well in the middle, then follow it in
short strides, downwards while the determinant is positive and upwards while it is negative, with
corrections at right angles to the curve rather than at fixed σ.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.newton import violation
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Response

__all__ = ["Path"]

Point = tuple[Floats, Floats, Floats, Floats]  # r (m, dim), u_N (m,), γ (m,), τ (m, dim − 1)

TINY = 1e-300
SLIPPERY = 1e-9  # µ below which a contact counts as frictionless
# Least answer of a contact velocity to its own impulse, relative to W_NN. In a step, impulses along
# which W is nearly singular go no more than W/SOFT of their way: at 10⁻⁸ the paths of some spheres
# with high friction crept and were given up, and below 10⁻¹¹ nothing more was gained.
SOFT = 1e-11
FLOOR = 1e-16  # smallest mean of r_N u_N, relative to that of r_N²: rounding
START = 10.0  # impulses and speeds at the start, relative to the free contact velocities
NEAR = 1e-3  # smallest product of a pair, relative to the mean, on the way down
BLOCKED = 0.2  # share of a step that can be taken when the way is blocked, twice in a row
BACK = 5  # iterations to go back then
STRIDE = 0.7  # largest relative change of a number in a stride along the curve
TRUST = 2.0  # and in a correction back to it
LOST = 12  # corrections in a row after which the curve is lost


@device
def _inner(x, y):
    s = 0.0
    for a in range(x.size):
        s += x[a] * y[a]
    return s


@device
def _apart(x0, x):
    """x₀² − |x|², as a product: it is small beside its terms."""
    t = math.sqrt(_inner(x, x))
    return max((x0 - t) * (x0 + t), TINY)


@jit
def scale_cones(r, gamma, tau, mu, w, eta, lam):
    """The scaling w (det w = 1), η² of each cone, and λ = W z = W⁻¹ x (m, dim).

    W = η [[w₀, w_T], [w_T, 1 + w_T w_Tᵀ/(1 + w₀)]];  x = (µ r_N, r_T), z = (γ, τ).
    """
    for k in range(len(r)):
        if mu[k] <= SLIPPERY:
            continue
        x0, x, z0, z, v = mu[k] * r[k, 0], r[k, 1:], gamma[k], tau[k], w[k, 1:]
        dx, dz = math.sqrt(_apart(x0, x)), math.sqrt(_apart(z0, z))
        rho = math.sqrt(max(0.5 * (1.0 + (x0 * z0 + _inner(x, z)) / (dx * dz)), 0.5))
        for a in range(v.size):
            v[a] = 0.5 * (x[a] / dx - z[a] / dz) / rho
        w0 = math.sqrt(1.0 + _inner(v, v))
        w[k, 0], eta[k] = w0, dx / dz
        s, vz = math.sqrt(dx / dz), _inner(v, z)
        lam[k, 0] = s * (w0 * z0 + vz)
        f = z0 + vz / (1.0 + w0)
        for a in range(v.size):
            lam[k, 1 + a] = s * (z[a] + f * v[a])


@jit
def measure(r, u, gamma, tau, lam, mu, line, cone, relaxed):
    """Mean, smallest and geometric mean of all products, one of a half-line, two of a cone.

    ``line``, ``cone``: weights, the products at the start.
    """
    total, low, logs, count = 0.0, np.inf, 0.0, 0
    for k in range(len(r)):
        slippery = mu[k] <= SLIPPERY
        if slippery or not relaxed:
            p = r[k, 0] * u[k] / line[k]
            total, low, logs, count = total + p, min(low, p), logs + math.log(p), count + 1
        if not slippery:
            t = math.sqrt(_inner(lam[k, 1:], lam[k, 1:]))
            for s in (-1.0, 1.0):
                p = 0.5 * (lam[k, 0] + s * t) ** 2 / cone[k]
                total, low, count = total + p, min(low, p), count + 1
                logs += math.log(max(p, TINY))
    return total / count, low, math.exp(logs / count)


@device
def _invert(a, out):
    """Inverse of a small matrix, 2 × 2 or 3 × 3."""
    if len(a) == 2:
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        out[0, 0], out[0, 1] = a[1, 1] / det, -a[0, 1] / det
        out[1, 0], out[1, 1] = -a[1, 0] / det, a[0, 0] / det
        return
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for e in range(3):
            f, g = (e + 1) % 3, (e + 2) % 3
            out[e, i] = a[j, f] * a[k, g] - a[j, g] * a[k, f]
    det = a[0, 0] * out[0, 0] + a[0, 1] * out[1, 0] + a[0, 2] * out[2, 0]
    for i in range(3):
        for e in range(3):
            out[e, i] /= det


@jit
def stiffness(r, u, mu, w, eta, scale, relaxed, answer, d):
    """D of dr = c − D dU, as true impulses, and the ``answer`` c to a right-hand side.

    The equations of a contact read A dr + B dU = b with B diagonal. SOFT lets its velocity answer
    its own impulse a little: A + SOFT B.
    """
    dim = r.shape[1]
    a, b = np.empty((dim, dim)), np.empty(dim)
    for k in range(len(r)):
        a[:] = 0.0
        b[:] = 1.0
        if mu[k] <= SLIPPERY or not relaxed:
            a[0, 0], b[0] = u[k], r[k, 0]
        if mu[k] <= SLIPPERY:
            for e in range(1, dim):
                a[e, e], b[e] = 1.0, 0.0
        else:
            # dz + H dx = g,  H = η⁻² (2 ŵ ŵᵀ − J),  ŵ = (w₀, −w_T),  J = diag(1, −1, …)
            if relaxed:
                a[0, 0], b[0] = mu[k] * (2.0 * w[k, 0] ** 2 - 1.0) / eta[k], 1.0 / mu[k]
                for e in range(1, dim):
                    a[0, e] = -2.0 * w[k, 0] * w[k, e] / eta[k]
            for e in range(1, dim):
                a[e, 0] = -2.0 * mu[k] * w[k, 0] * w[k, e] / eta[k]
                for f in range(1, dim):
                    a[e, f] = 2.0 * w[k, e] * w[k, f] / eta[k]
                a[e, e] += 1.0 / eta[k]
        for e in range(dim):
            a[e, e] += SOFT * b[e]
        _invert(a, answer[k])
        for e in range(dim):
            for f in range(dim):
                answer[k, e, f] *= scale[k, 0]
                d[k, e, f] = answer[k, e, f] * b[f]


@jit
def drive(
    r, u, gamma, tau, mu, line, cone, w, eta, lam, velocity, relaxed, answer, sigma, missed, held,
    second_n, second_t, g0, g, c
):  # fmt: skip
    """c of dr = c − D dU for a step to σ, and g = dz + H dx of each cone (H: z = H x).

    ``missed``: share of u_N − U_N and τ − U_T to make up for; ``held``: share of the present
    products that σ replaces (1, 1: Newton's step; 0, 0: the derivative by log σ).
    """
    dim = r.shape[1]
    f, b = np.empty(dim), np.empty(dim)
    for k in range(len(r)):
        b[:] = 0.0
        if mu[k] <= SLIPPERY or not relaxed:
            b[0] = sigma * line[k] - held * r[k, 0] * u[k] - second_n[k]
            b[0] += missed * r[k, 0] * (u[k] - velocity[k, 0])
        if mu[k] > SLIPPERY:
            # f = λ⁻¹ ∘ (2σ e − second) − held λ, and g = W⁻¹ f
            l0, l, v, w0 = lam[k, 0], lam[k, 1:], w[k, 1:], w[k, 0]
            y0, y = 2.0 * sigma * cone[k] - second_t[k, 0], second_t[k, 1:]
            f0 = (l0 * y0 + _inner(l, y)) / _apart(l0, l)
            for e in range(1, dim):
                f[e] = (-y[e - 1] - l[e - 1] * f0) / l0 - held * l[e - 1]
            f[0] = f0 - held * l0
            vf = _inner(v, f[1:])
            h = 1.0 / math.sqrt(eta[k])
            g0[k] = h * (w0 * f[0] - vf)
            z = vf / (1.0 + w0) - f[0]
            for e in range(1, dim):
                g[k, e - 1] = h * (f[e] + z * v[e - 1])
                b[e] = g[k, e - 1] + missed * (tau[k, e - 1] - velocity[k, e])
            if relaxed:
                b[0] = g0[k] + missed * (gamma[k] - velocity[k, 0] / mu[k])
        for e in range(dim):
            c[k, e] = _inner(answer[k, e], b)


@jit
def changes(
    r, u, mu, line, w, eta, scale, relaxed, sigma, held, second_n, g0, g, c, d, dv,
    dr, du, dgamma, dtau
):  # fmt: skip
    """All that changes with the contact velocities dv."""
    dim = r.shape[1]
    for k in range(len(r)):
        for e in range(dim):
            dr[k, e] = (c[k, e] - _inner(d[k, e], dv[k])) / scale[k, 0]
        gone = held * r[k, 0] * u[k] + second_n[k] + u[k] * dr[k, 0]
        du[k] = (sigma * line[k] - gone) / r[k, 0]
        dgamma[k] = 0.0
        dtau[k] = 0.0
        if mu[k] <= SLIPPERY:
            continue
        v, x0 = w[k, 1:], mu[k] * dr[k, 0]
        s = w[k, 0] * x0 - _inner(v, dr[k, 1:])
        dgamma[k] = g0[k] - (2.0 * s * w[k, 0] - x0) / eta[k]
        for e in range(1, dim):
            dtau[k, e - 1] = g[k, e - 1] - (dr[k, e] - 2.0 * s * v[e - 1]) / eta[k]
        if relaxed:
            du[k] = mu[k] * dgamma[k]


@device
def _cone_step(x0, x, d0, dx):
    """Largest α with x + α dx in the cone: the first root of A α² + 2 B α + C."""
    a, b, c = d0 * d0 - _inner(dx, dx), x0 * d0 - _inner(x, dx), _apart(x0, x)
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a < 0.0 and b > 0.0:
        return -(b + root) / a
    if a < 0.0 or (b < 0.0 and b * b >= a * c):
        return c / (root - b)
    return np.inf


@jit
def longest(r, u, gamma, tau, mu, dr, du, dgamma, dtau):
    """Largest step that keeps all pairs inside."""
    best = np.inf
    for k in range(len(r)):
        if dr[k, 0] < 0.0:
            best = min(best, -r[k, 0] / dr[k, 0])
        if du[k] < 0.0:
            best = min(best, -u[k] / du[k])
        if mu[k] > SLIPPERY:
            best = min(best, _cone_step(mu[k] * r[k, 0], r[k, 1:], mu[k] * dr[k, 0], dr[k, 1:]))
            best = min(best, _cone_step(gamma[k], tau[k], dgamma[k], dtau[k]))
    return best


@device
def _scaled(w, eta, x0, x, z0, z, p, q):
    """p = W⁻¹ x and q = W z."""
    w0, v, h = w[0], w[1:], math.sqrt(eta)
    vx, vz = _inner(v, x), _inner(v, z)
    p[0], q[0] = (w0 * x0 - vx) / h, h * (w0 * z0 + vz)
    f, g = vx / (1.0 + w0) - x0, vz / (1.0 + w0) + z0
    for a in range(v.size):
        p[1 + a], q[1 + a] = (x[a] + f * v[a]) / h, h * (z[a] + g * v[a])


@jit
def products_of(mu, w, eta, dr, du, dgamma, dtau, second_n, second_t):
    """What a whole step changes to second order: the products of its changes."""
    dim = dr.shape[1]
    p, q = np.empty(dim), np.empty(dim)
    for k in range(len(dr)):
        second_n[k] = dr[k, 0] * du[k]
        if mu[k] > SLIPPERY:
            _scaled(w[k], eta[k], mu[k] * dr[k, 0], dr[k, 1:], dgamma[k], dtau[k], p, q)
            second_t[k, 0] = _inner(p, q)
            for a in range(1, dim):
                second_t[k, a] = p[0] * q[a] + q[0] * p[a]


@jit
def compare(r, u, mu, w, eta, lam, dr, du, dgamma, dtau, er, eu, egamma, etau):
    """Two changes d and e relative to the numbers they change: max d, max e, d·e, e·e."""
    dim = r.shape[1]
    most_d, most_e, both, square = 0.0, 0.0, 0.0, 0.0
    p, q, s, t = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for k in range(len(r)):
        for x, y in ((dr[k, 0] / r[k, 0], er[k, 0] / r[k, 0]), (du[k] / u[k], eu[k] / u[k])):
            most_d, most_e = max(most_d, abs(x)), max(most_e, abs(y))
            both, square = both + x * y, square + y * y
        if mu[k] > SLIPPERY:
            _scaled(w[k], eta[k], mu[k] * dr[k, 0], dr[k, 1:], dgamma[k], dtau[k], p, q)
            _scaled(w[k], eta[k], mu[k] * er[k, 0], er[k, 1:], egamma[k], etau[k], s, t)
            small = lam[k, 0] - math.sqrt(_inner(lam[k, 1:], lam[k, 1:]))
            both += (_inner(p, s) + _inner(q, t)) / (small * small)
            square += (_inner(s, s) + _inner(t, t)) / (small * small)
            for x in (p, q):
                size = abs(x[0]) + math.sqrt(_inner(x[1:], x[1:]))
                most_d = max(most_d, size / small)
            for x in (s, t):
                size = abs(x[0]) + math.sqrt(_inner(x[1:], x[1:]))
                most_e = max(most_e, size / small)
    return most_d, most_e, both, square


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
        """Start from nowhere, with ``push`` times the free velocities; or ``near`` impulses.

        These are then at least ``push`` of their rms, inside their cones by as much.
        """
        m, dim = bodies.q.shape
        self.bodies, self.mu, self.relaxed = bodies, mu, relaxed
        self.scale = 1.0 / bodies.weight[:, :1]
        self.turn = bodies.weight[:, 1] / bodies.weight[:, 0]
        self.point: Point
        self._weights: tuple[Floats, Floats]
        if near is None:
            self._begin(push)
        else:
            self._begin_near(near / self.scale, push)
        self.iterations, self.strides = 0, 0  # in all; of these, along the curve
        self.best, self.violation = self.impulse, math.inf  # the best impulses so far
        self.depth = math.inf  # mean of r_N u_N, relative to that of r_N²
        self.ended = False  # rounding allows no more
        self._w, self._eta, self._lam = np.zeros((m, dim)), np.ones(m), np.ones((m, dim))
        self._d, self._c = np.zeros((m, dim, dim)), np.zeros((m, dim))
        self._answer = np.zeros((m, dim, dim))
        self._g0, self._g = np.zeros(m), np.zeros((m, dim - 1))
        self._first_order = np.zeros(m), np.zeros((m, dim))
        self._second_order = np.zeros(m), np.zeros((m, dim))
        self._curve, self._blocked, self._smooth, self._lost = False, 0, 0, 0
        self._trail: list[Point] = []

    def _begin(self, push: float) -> None:
        q = self.bodies.q
        # what closes, not what is far apart and fast only in its bias; nor what merely falls along
        closing = q[q[:, 0] < 0.1 * min(float(q[:, 0].min()), 0.0)]
        speed = push * math.sqrt(float(np.mean(closing**2 if closing.size else q**2))) + TINY
        r, u, tau = np.zeros_like(q), np.maximum(q[:, 0], speed), np.zeros_like(q[:, 1:])
        r[:, 0] = speed * (speed / u)
        gamma = u / np.maximum(self.mu, SLIPPERY) if self.relaxed else 2.0 * u
        self.point = (r, u, gamma, tau)
        self._weights = (r[:, 0] * u, 0.5 * np.maximum(self.mu, TINY) * r[:, 0] * gamma)

    def _begin_near(self, near: Floats, push: float) -> None:
        """z = 2c x⁻¹ with c such that γ is the slip, or so much as the push."""
        speed = push * math.sqrt(float(np.mean(near[:, 0] ** 2))) + TINY
        r = near.copy()
        np.maximum(near[:, 0], speed, out=r[:, 0])
        size = np.sqrt(np.einsum("ka,ka->k", r[:, 1:], r[:, 1:])) + TINY
        x0 = np.maximum(self.mu * r[:, 0], TINY)
        r[:, 1:] *= np.minimum(1.0, (1.0 - min(push, 0.5)) * x0 / size)[:, None]
        velocity = self.bodies.velocity(self.scale * r)
        u = np.maximum(velocity[:, 0], speed)
        slip = np.sqrt(np.einsum("ka,ka->k", velocity[:, 1:], velocity[:, 1:]))
        gamma = np.maximum(slip, speed)
        apart = np.maximum(x0**2 - np.einsum("ka,ka->k", r[:, 1:], r[:, 1:]), TINY)
        self.point = (r, u, gamma, -(gamma / x0)[:, None] * r[:, 1:])
        self._weights = (r[:, 0] * u, 0.5 * gamma * apart / x0)

    @property
    def impulse(self) -> Floats:
        """Impulses (m, dim) of the present point."""
        r: Floats = self.scale * self.point[0]
        return r

    @np.errstate(over="ignore", invalid="ignore")  # a path that runs away ends in nan, and so ends
    def advance(self) -> None:
        """One iteration, at the cost of one factorisation."""
        r, u, gamma, tau = self.point
        self._velocity = self.bodies.velocity(self.impulse)
        found = violation(r, self._velocity, self.mu, self.turn, self.bodies.paths)[0]
        if found < self.violation:
            self.best, self.violation = self.impulse, found
        scale_cones(r, gamma, tau, self.mu, self._w, self._eta, self._lam)
        mean, low, middle = measure(*self.point, self._lam, self.mu, *self._weights, self.relaxed)
        stiffness(
            r, u, self.mu, self._w, self._eta, self.scale, self.relaxed, self._answer, self._d
        )
        self.iterations += 1
        self.depth = float(np.mean(r[:, 0] * u) / np.mean(r[:, 0] ** 2))
        if not self.depth > FLOOR or self._lost > LOST:  # nan too
            self.ended = True
            return
        sign = self.bodies.factorize(self._d)
        if sign == 0.0 or not math.isfinite(sign):
            self.ended = True
        elif self._curve:
            self._stride(sign, low, middle)
        else:
            self._descend(mean)

    def _descend(self, mean: float) -> None:
        """Mehrotra's step down the path; no pair may run far ahead of the others."""
        self._trail = [*self._trail[-BACK:], self.point]
        ahead = self._change(0.0, exact=False)
        a = min(1.0, longest(*self.point, self.mu, *ahead))
        left = self._products(0.9999 * a, ahead)[0] / mean
        share = min(max(left, 0.0), 1.0) ** 3 if left == left else 1.0
        products_of(self.mu, self._w, self._eta, *ahead, *self._second_order)
        change = self._change(min(max(share, 1e-4), 0.9) * mean, second=True)
        a = min(1.0, 0.99 * longest(*self.point, self.mu, *change))
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
        """A short way along the curve, up or down, and towards its middle."""
        self.strides += 1
        aside = self._change(middle)
        along = self._change(middle, missed=0.0, held=0.0, exact=False)
        scaled = (self.mu, self._w, self._eta, self._lam)
        off, steep, both, square = compare(*self.point[:2], *scaled, *aside, *along)
        if off < 0.9:
            a, change = self._reach(aside, along, -sign * min(2.5, STRIDE / (steep + TINY)), low)
        else:  # back to the curve first, at right angles, or else at this σ
            ways = (self._reach(aside, along, s, low) for s in (-both / (square + 1.0), 0.0))
            a, change = max(ways, key=lambda way: way[0])
        self.point = self._ahead(a, change)
        self._lost = self._lost + 1 if off >= 0.9 else 0
        self._smooth = self._smooth + 1 if sign > 0.0 and steep < 3.0 and off < 0.9 else 0
        if self._smooth >= 3:
            self._curve, self._blocked, self._trail = False, 0, []

    def _reach(self, aside: Point, along: Point, log: float, low: float) -> tuple[float, Point]:
        """How much of a stride by log σ can be taken, and the stride."""
        r, u, gamma, tau = (x + log * y for x, y in zip(aside, along, strict=True))
        change = (r, u, gamma, tau)
        scaled = (self.mu, self._w, self._eta, self._lam)
        size = compare(*self.point[:2], *scaled, *change, *change)[0]
        a = min(1.0, TRUST / (size + TINY), 0.9 * longest(*self.point, self.mu, *change))
        for _ in range(10):
            _, least, middle = self._products(a, change)
            if least >= min(0.05 * middle, 0.5 * low):
                break
            a *= 0.7
        return a, change

    def _change(
        self,
        sigma: float,
        *,
        missed: float = 1.0,
        held: float = 1.0,
        second: bool = False,
        exact: bool = True,
    ) -> Point:
        """Newton's step to σ (`drive`)."""
        second_n, second_t = self._second_order if second else self._first_order
        cones, g = (self._w, self._eta), (self._g0, self._g)
        drive(
            *self.point, self.mu, *self._weights, *cones, self._lam, self._velocity,
            self.relaxed, self._answer, sigma, missed, held, second_n, second_t, *g, self._c,
        )  # fmt: skip
        dv = self.bodies.respond(self._c, exact)
        r, u, gamma, tau = (np.empty_like(x) for x in self.point)
        changes(
            *self.point[:2], self.mu, self._weights[0], *cones, self.scale, self.relaxed, sigma,
            held, second_n, *g, self._c, self._d, dv, r, u, gamma, tau,
        )  # fmt: skip
        return r, u, gamma, tau

    def _ahead(self, a: float, change: Point) -> Point:
        r, u, gamma, tau = (x + a * y for x, y in zip(self.point, change, strict=True))
        return r, u, gamma, tau

    def _products(self, a: float, change: Point) -> tuple[float, float, float]:
        """Mean, smallest and geometric mean of the products after a step."""
        r, u, gamma, tau = self._ahead(a, change)
        w, eta, lam = np.zeros_like(self._w), np.ones_like(self._eta), np.ones_like(self._lam)
        scale_cones(r, gamma, tau, self.mu, w, eta, lam)
        found: tuple[float, float, float] = measure(
            r, u, gamma, tau, lam, self.mu, *self._weights, self.relaxed
        )
        return found
