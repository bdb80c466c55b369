"""Signorini's and Coulomb's laws by their central path, followed as a curve.

**The laws as pairs.** In a contact with velocity U and impulse r, let τ be its slip and γ ≥ |τ| an
extra number that belongs to it. Signorini and Coulomb say that two pairs are complementary,

    0 ≤ r_N  ⊥  u_N ≥ 0                      u_N = U_N, on the half-line
    (µ r_N, r_T)  ⊥  (γ, τ)                  τ = U_T, both in the cone |second| ≤ first

The second pair says: either |r_T| < µ r_N and the other vector vanishes (stick), or both lie on the
rim of the cone and oppose each other, so that γ = |τ| (slide). This is Coulomb's law itself. Its
convex relaxation couples u_N and γ to the same partner, and so pushes sliding grains apart; here
they have different partners. The price is that the problem is not monotone.

**Central path.** Ask for r_N u_N = σ and (µ r_N, r_T) ∘ (γ, τ) = 2σ e instead (∘: the product of
the cone's Jordan algebra, e its unit), with U = q + W r throughout. For large σ this is easy: all
contacts push and none is about to slide. For σ → 0 it becomes the laws. A Newton step reads, with
the scaling w, η of Nesterov and Todd that makes the two vectors of a pair one, λ,

    dr_N = c_N − (r_N/u_N) dU_N,     dr_T = c_T − B dU_T + µ κ dr_N,
    B = η² (1 − 2 w_T w_Tᵀ / (1 + 2 w_T²)),      κ = 2 w₀ w_T / (1 + 2 w_T²)

that is, dr = c − D dU contact by contact, and `solve.response` does the rest. As σ → 0, |κ| → 1
where grains slide: friction follows the normal force. Impulses are measured as r W_NN, a velocity.
D is bounded by 1/SOFT; since this limits only the changes of r, it leaves no error in the end.

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

from hardgrain.kernels import device, jit
from hardgrain.solve.newton import violation
from hardgrain.solve.problem import Floats
from hardgrain.solve.response import Response

__all__ = ["Path"]

Point = tuple[Floats, Floats, Floats, Floats]  # r (m, dim), u_N (m,), γ (m,), τ (m, dim − 1)

# None of these constants can make a wrong result pass, since the residual judges it. A poor value
# makes a path longer, or lets it be given up where another value would have arrived.

# [unit of the number it is added to] It keeps quotients and logarithms finite where a number is
# zero, and is too small to change any other.
TINY = 1e-300
# [1] Below this µ a contact counts as frictionless. Its cone would be so narrow that scaling it
# loses all digits; friction that small is far below the tolerance of any run.
SLIPPERY = 1e-9
# [W_NN] Least answer of a contact velocity to its own impulse. In a step, impulses along which W is
# nearly singular go no more than W/SOFT of their way: at 10⁻⁸ the paths of some spheres with high
# friction crept and were given up, and below 10⁻¹¹ nothing more was gained.
SOFT = 1e-11
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


@device
def _inner(x, y):
    """The inner product of two vectors."""
    s = 0.0
    for a in range(x.size):
        s += x[a] * y[a]
    return s


@device
def _apart(x0, x):
    """x₀² − |x|², computed as a product, since the difference is small beside its terms."""
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
    """Mean, smallest and geometric mean of all products; a half-line has one, a cone has two.

    ``line`` and ``cone`` are their weights, the products at the start.
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
    """Write D of dr = c − D dU for true impulses, and the ``answer`` that gives c = answer · b.

    The equations of a contact read A dr + B dU = b with B diagonal. SOFT lets the velocity of a
    contact answer its own impulse a little, so that A + SOFT B takes the place of A.
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
    """Write c of dr = c − D dU for a step to σ, and g = dz + H dx of each cone, where z = H x.

    ``missed`` is the share of u_N − U_N and τ − U_T that the step removes, and ``held`` the share
    of the present products that σ replaces. Both are 1 in Newton's step, and 0 in the derivative by
    log σ.
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
    """Write the changes of r, u_N, γ and τ that belong to a change dv of contact velocities."""
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
    """Largest α with x + α dx in the cone, which is the first root of A α² + 2 B α + C."""
    a, b, c = d0 * d0 - _inner(dx, dx), x0 * d0 - _inner(x, dx), _apart(x0, x)
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a < 0.0 and b > 0.0:
        return -(b + root) / a
    if a < 0.0 or (b < 0.0 and b * b >= a * c):
        return c / (root - b)
    return np.inf


@jit
def longest(r, u, gamma, tau, mu, dr, du, dgamma, dtau):
    """Largest step that keeps all pairs inside their half-lines and cones."""
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
    """Write p = W⁻¹ x and q = W z, with the scaling W of `scale_cones`."""
    w0, v, h = w[0], w[1:], math.sqrt(eta)
    vx, vz = _inner(v, x), _inner(v, z)
    p[0], q[0] = (w0 * x0 - vx) / h, h * (w0 * z0 + vz)
    f, g = vx / (1.0 + w0) - x0, vz / (1.0 + w0) + z0
    for a in range(v.size):
        p[1 + a], q[1 + a] = (x[a] + f * v[a]) / h, h * (z[a] + g * v[a])


@jit
def products_of(mu, w, eta, dr, du, dgamma, dtau, second_n, second_t):
    """Write the products of the changes of a whole step, its effect to second order."""
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
    """Compare two changes d and e, relative to the numbers they change: max d, max e, d·e, e·e."""
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
        """Start from nowhere, with ``push`` times the free velocities, or ``near`` given impulses.

        Given impulses are raised to at least ``push`` times their rms, and moved inside their cones
        by the same share.
        """
        m, dim = bodies.q.shape
        self.bodies, self.mu, self.relaxed = bodies, mu, relaxed
        self.scale = 1.0 / bodies.weight[:, :1]
        self.ratio = bodies.weight[:, 1] / bodies.weight[:, 0]
        self.point: Point
        self._weights: tuple[Floats, Floats]
        if near is None:
            self._begin(push)
        else:
            self._begin_near(near / self.scale, push)
        self.iterations, self.strides = 0, 0  # all iterations, and those along the curve
        self.best, self.violation = self.impulse, math.inf  # the best impulses so far
        self.depth = math.inf  # mean of r_N u_N, relative to that of r_N²
        self.ended = False  # whether the path cannot be followed any further
        self._w, self._eta, self._lam = np.zeros((m, dim)), np.ones(m), np.ones((m, dim))
        self._d, self._c = np.zeros((m, dim, dim)), np.zeros((m, dim))
        self._answer = np.zeros((m, dim, dim))
        self._g0, self._g = np.zeros(m), np.zeros((m, dim - 1))
        self._first_order = np.zeros(m), np.zeros((m, dim))
        self._second_order = np.zeros(m), np.zeros((m, dim))
        self._curve, self._blocked, self._smooth, self._lost = False, 0, 0, 0
        self._trail: list[Point] = []

    def _begin(self, push: float) -> None:
        """Start from nowhere, with all pairs alike."""
        q = self.bodies.q
        # Only contacts that close tell the scale of the velocities. Bodies far apart are fast by
        # their bias alone, and bodies that fall together have no velocity to stop.
        closing = q[q[:, 0] < 0.1 * min(float(q[:, 0].min()), 0.0)]
        speed = push * math.sqrt(float(np.mean(closing**2 if closing.size else q**2))) + TINY
        r, u, tau = np.zeros_like(q), np.maximum(q[:, 0], speed), np.zeros_like(q[:, 1:])
        r[:, 0] = speed * (speed / u)
        gamma = u / np.maximum(self.mu, SLIPPERY) if self.relaxed else 2.0 * u
        self.point = (r, u, gamma, tau)
        self._weights = (r[:, 0] * u, 0.5 * np.maximum(self.mu, TINY) * r[:, 0] * gamma)

    def _begin_near(self, near: Floats, push: float) -> None:
        """Start near given impulses, with z = 2c x⁻¹ and c such that γ is the slip or the push."""
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

    @np.errstate(over="ignore", invalid="ignore")  # a path that runs away is ended by its nan
    def advance(self) -> None:
        """Make one iteration, at the cost of one factorisation."""
        r, u, gamma, tau = self.point
        self._velocity = self.bodies.velocity(self.impulse)
        found = violation(r, self._velocity, self.mu, self.ratio, self.bodies.paths)[0]
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
        """Make Mehrotra's step down the path, in which no pair may run far ahead of the others."""
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
        """Go a short way along the curve, up or down, and towards its middle."""
        self.strides += 1
        aside = self._change(middle)
        along = self._change(middle, missed=0.0, held=0.0, exact=False)
        scaled = (self.mu, self._w, self._eta, self._lam)
        off, steep, both, square = compare(*self.point[:2], *scaled, *aside, *along)
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

    def _reach(self, aside: Point, along: Point, log: float, low: float) -> tuple[float, Point]:
        """The share of a stride by log σ that can be taken, and the stride itself."""
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
        """The changes in Newton's step to σ; for the options see `drive`."""
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
        """The point after a share ``a`` of a change."""
        r, u, gamma, tau = (x + a * y for x, y in zip(self.point, change, strict=True))
        return r, u, gamma, tau

    def _products(self, a: float, change: Point) -> tuple[float, float, float]:
        """Mean, smallest and geometric mean of the products after a share ``a`` of a change."""
        r, u, gamma, tau = self._ahead(a, change)
        w, eta, lam = np.zeros_like(self._w), np.ones_like(self._eta), np.ones_like(self._lam)
        scale_cones(r, gamma, tau, self.mu, w, eta, lam)
        found: tuple[float, float, float] = measure(
            r, u, gamma, tau, lam, self.mu, *self._weights, self.relaxed
        )
        return found
