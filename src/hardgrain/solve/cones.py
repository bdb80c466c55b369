"""Newton's step along the central path, contact by contact: its pairs, their cones, their scaling.

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

All functions here are compiled loops over contacts. They get and fill the records below.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.kernels import device, jit
from hardgrain.solve.problem import Floats

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


class PathPoint(NamedTuple):
    """A point of a path, or a change of it."""

    r: Floats  # (m, dim) impulses, measured as velocities
    u: Floats  # (m,) u_N
    gamma: Floats  # (m,) γ
    tau: Floats  # (m, dim − 1) τ


class ConeLaws(NamedTuple):
    """What stays the same along a path."""

    mu: Floats  # (m,) coefficients of friction
    scale: Floats  # (m, 1) unit of the impulses, 1/W_NN
    line: Floats  # (m,) weight of each half-line: its product at the start
    cone: Floats  # (m,) weight of each cone, likewise
    relaxed: bool  # whether the cone of friction has the partner (u_N/µ, τ)


class Scaling(NamedTuple):
    """The scaling w (det w = 1), η² of each cone, and λ = W z = W⁻¹ x."""

    w: Floats  # (m, dim)
    eta: Floats  # (m,) η²
    lam: Floats  # (m, dim)


class Products(NamedTuple):
    """The products of two changes at each contact, which a step leaves to second order."""

    line: Floats  # (m,) of the half-line
    cone: Floats  # (m, dim) of the cone


class Aim(NamedTuple):
    """Where a step is to lead."""

    sigma: float  # σ
    # Share of u_N − U_N and τ − U_T that the step removes, and share of the present products that σ
    # replaces. Both are 1 in Newton's step, and 0 in the derivative by log σ.
    missed: float
    held: float
    second: Products  # what the step leaves to second order, as far as it is known


class Linear(NamedTuple):
    """The laws linearised: dr = c − D dU, and dz = g − H dx for each cone, where z = H x."""

    answer: Floats  # (m, dim, dim) gives c
    d: Floats  # (m, dim, dim) D
    c: Floats  # (m, dim)
    g0: Floats  # (m,) first component of g
    g: Floats  # (m, dim − 1) its others


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
def scale_cones(point, mu, scaling):
    """Write the scaling of each cone.

    W = η [[w₀, w_T], [w_T, 1 + w_T w_Tᵀ/(1 + w₀)]];  x = (µ r_N, r_T), z = (γ, τ).
    """
    r, gamma, tau = point.r, point.gamma, point.tau
    w, eta, lam = scaling.w, scaling.eta, scaling.lam
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
def measure(point, lam, laws):
    """Mean, smallest and geometric mean of all products; a half-line has one, a cone has two."""
    r, u, mu, line, cone = point.r, point.u, laws.mu, laws.line, laws.cone
    total, low, logs, count = 0.0, np.inf, 0.0, 0
    for k in range(len(r)):
        slippery = mu[k] <= SLIPPERY
        if slippery or not laws.relaxed:
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
def stiffness(point, laws, scaling, linear):
    """Write D of dr = c − D dU for true impulses, and the ``answer`` that gives c = answer · b.

    The equations of a contact read A dr + B dU = b with B diagonal. SOFT lets the velocity of a
    contact answer its own impulse a little, so that A + SOFT B takes the place of A.
    """
    r, u, mu, scale, relaxed = point.r, point.u, laws.mu, laws.scale, laws.relaxed
    w, eta, answer, d = scaling.w, scaling.eta, linear.answer, linear.d
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
def drive(point, velocity, laws, scaling, aim, linear):
    """Write c of dr = c − D dU and g = dz + H dx of each cone, for a step with the given aim.

    ``velocity`` holds the contact velocities U at the point, shape (m, dim).
    """
    r, u, gamma, tau = point
    mu, relaxed = laws.mu, laws.relaxed
    w, eta, lam = scaling
    answer, c, g0, g = linear.answer, linear.c, linear.g0, linear.g
    sigma, missed, held = aim.sigma, aim.missed, aim.held
    dim = r.shape[1]
    f, b = np.empty(dim), np.empty(dim)
    for k in range(len(r)):
        b[:] = 0.0
        if mu[k] <= SLIPPERY or not relaxed:
            b[0] = sigma * laws.line[k] - held * r[k, 0] * u[k] - aim.second.line[k]
            b[0] += missed * r[k, 0] * (u[k] - velocity[k, 0])
        if mu[k] > SLIPPERY:
            # f = λ⁻¹ ∘ (2σ e − second) − held λ, and g = W⁻¹ f
            l0, l, v, w0 = lam[k, 0], lam[k, 1:], w[k, 1:], w[k, 0]
            y0, y = 2.0 * sigma * laws.cone[k] - aim.second.cone[k, 0], aim.second.cone[k, 1:]
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
def changes(point, laws, scaling, aim, linear, dv, change):
    """Write the change of a point that belongs to a change dv of contact velocities (m, dim)."""
    r, u, mu, scale = point.r, point.u, laws.mu, laws.scale
    w, eta, c, d, g0, g = scaling.w, scaling.eta, linear.c, linear.d, linear.g0, linear.g
    dr, du, dgamma, dtau = change
    dim = r.shape[1]
    for k in range(len(r)):
        for e in range(dim):
            dr[k, e] = (c[k, e] - _inner(d[k, e], dv[k])) / scale[k, 0]
        gone = aim.held * r[k, 0] * u[k] + aim.second.line[k] + u[k] * dr[k, 0]
        du[k] = (aim.sigma * laws.line[k] - gone) / r[k, 0]
        dgamma[k] = 0.0
        dtau[k] = 0.0
        if mu[k] <= SLIPPERY:
            continue
        v, x0 = w[k, 1:], mu[k] * dr[k, 0]
        s = w[k, 0] * x0 - _inner(v, dr[k, 1:])
        dgamma[k] = g0[k] - (2.0 * s * w[k, 0] - x0) / eta[k]
        for e in range(1, dim):
            dtau[k, e - 1] = g[k, e - 1] - (dr[k, e] - 2.0 * s * v[e - 1]) / eta[k]
        if laws.relaxed:
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
def longest(point, change, mu):
    """Largest share of a change that keeps all pairs inside their half-lines and cones."""
    r, u, gamma, tau = point
    dr, du, dgamma, dtau = change
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
def _scaled(scaling, k, mu, change, p, q):
    """Write p = W⁻¹ dx and q = W dz of contact k, with the scaling W of `scale_cones`."""
    w0, v, h = scaling.w[k, 0], scaling.w[k, 1:], math.sqrt(scaling.eta[k])
    x0, x, z0, z = mu * change.r[k, 0], change.r[k, 1:], change.gamma[k], change.tau[k]
    vx, vz = _inner(v, x), _inner(v, z)
    p[0], q[0] = (w0 * x0 - vx) / h, h * (w0 * z0 + vz)
    f, g = vx / (1.0 + w0) - x0, vz / (1.0 + w0) + z0
    for a in range(v.size):
        p[1 + a], q[1 + a] = (x[a] + f * v[a]) / h, h * (z[a] + g * v[a])


@jit
def products_of(change, mu, scaling, products):
    """Write the products of the changes of a whole step, its effect to second order."""
    dim = change.r.shape[1]
    p, q = np.empty(dim), np.empty(dim)
    for k in range(len(change.r)):
        products.line[k] = change.r[k, 0] * change.u[k]
        if mu[k] > SLIPPERY:
            _scaled(scaling, k, mu[k], change, p, q)
            products.cone[k, 0] = _inner(p, q)
            for a in range(1, dim):
                products.cone[k, a] = p[0] * q[a] + q[0] * p[a]


@jit
def compare(point, mu, scaling, d, e):
    """Compare two changes d and e, relative to the numbers they change: max d, max e, d·e, e·e."""
    r, u, lam = point.r, point.u, scaling.lam
    dim = r.shape[1]
    most_d, most_e, both, square = 0.0, 0.0, 0.0, 0.0
    p, q, s, t = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    for k in range(len(r)):
        for x, y in (
            (d.r[k, 0] / r[k, 0], e.r[k, 0] / r[k, 0]),
            (d.u[k] / u[k], e.u[k] / u[k]),
        ):
            most_d, most_e = max(most_d, abs(x)), max(most_e, abs(y))
            both, square = both + x * y, square + y * y
        if mu[k] > SLIPPERY:
            _scaled(scaling, k, mu[k], d, p, q)
            _scaled(scaling, k, mu[k], e, s, t)
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
