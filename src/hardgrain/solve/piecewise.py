"""Solutions of the contact laws of disks, followed from one state of the contacts to the next.

Let every contact answer as a stiff spring around an impulse r⁰ (compliance e), as in
`solve.newton`: with ũ = U + e (r − r⁰) in place of U, the laws are those of rigid grains. In two
dimensions they are made of four linear pieces, r = a − D U with

    open     r = 0                           as long as  ũ_N ≥ 0
    stick    r = r⁰ − U/e                                |r_T| ≤ µ r_N
    slide ±  r_N = r⁰_N − U_N/e, r_T = ∓µ r_N            r_N ≥ 0, ±ũ_T ≥ 0

and each border of a piece is shared with exactly one other piece. So if U is shifted by (1 − t) d,
with a d for which some impulses are right at t = 0, a line of solutions (r, t) starts there that is
straight within the pieces. It is followed from border to border until t = 1. Where it crosses a
border, a single contact changes its state. D then changes by a matrix of rank one, Δ = p qᵀ, and
so does the matrix of the bodies:

    K = M + hᵀ D h → K + hᵀ p qᵀ h,    det K → det K · (1 + qᵀ h K⁻¹ hᵀ p).

If the determinant changes its sign, t has to go the other way from there on: the line has a fold,
which Newton's method cannot pass. This is Katzenelson's method; Lemke's differs only in where the
line starts. A change of state costs two triangular solves, and K is factorised anew from time to
time.

The line need not reach t = 1: it may come back to t < 0 and go on without end. The caller then has
to start elsewhere, or with softer springs. If they are soft enough, there is exactly one solution
for each t, and the line has no folds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.kernels import device, jit
from hardgrain.solve.border import Border, bordered
from hardgrain.solve.dissection import Fronts
from hardgrain.solve.problem import Floats, Ints
from hardgrain.solve.response import BodyResponse

__all__ = ["trace"]

# The states of a contact. PLUS and MINUS slide in either direction; SMOOTH slides in any direction,
# without friction.
OPEN, STICK, PLUS, MINUS, SMOOTH = 0, 1, 2, 3, 4
# [changes of state] After so many, K is factorised anew. Every change makes the next one dearer, as
# it must correct for all before it, and adds to the rounding; a factorisation costs as much as many
# changes. A larger number is slower and less exact, a smaller one factorises too often.
CHANGES = 64
# [changes of state] Up to so many leave the velocities exact enough to be the result. After more,
# the line ends with a fresh factorisation; a larger number leaves rounding errors in the result.
FEW = 32
# [1] If one change multiplies the determinant by less than this, digits are lost, and K is
# factorised anew at once. A smaller limit lets the rounding grow; a larger one factorises without
# need.
SMALL = 1e-7


class Anchors(NamedTuple):
    """The springs of the contacts, and the line on which they are followed."""

    mu: Floats  # (m,)
    e: Floats  # (m,) compliance [1/mass]
    r0: Floats  # (m, 2) r⁰, the impulses around which they act
    shift: Floats  # (m, 2) d, by which U is shifted at t = 0


class Factorised(NamedTuple):
    """The bodies, and the factors of K for the states that contacts had when it was factorised."""

    lever: Floats  # (m, 2 or 3, 2, size) blocks of h
    body: Ints  # (m, 2 or 3) numbers of the bodies, −1: one that cannot move
    border: Border  # of the periodic cell, if it deforms
    fronts: Fronts
    lu: Floats
    swaps: Ints


class Line(NamedTuple):
    """A point of the line, which `follow` moves on."""

    state: NDArray[np.int8]  # (m,)
    u: Floats  # (m, 2) contact velocities
    dv: Floats  # (n, size) rates of the bodies' velocities
    where: Floats  # (4,) t, the direction, the contact that changed last and its former state


class Changes(NamedTuple):
    """What changes of state since the last factorisation do to K⁻¹."""

    store: Floats  # (CHANGES, n, size) K⁻¹ hᵀ p of each
    felt: Floats  # (CHANGES, 4) its contact, q, and by what it multiplied the determinant


@device
def slope(state, mu):
    """The ratio r_T / r_N of a contact that slides."""
    if state == PLUS:
        return -mu
    return mu if state == MINUS else 0.0


@jit
def natural(r, u, weight, mu, state, new):
    """Write the impulse that each contact wants by itself, the velocity there, and its state."""
    for k in range(len(r)):
        z_n, z_t = r[k, 0] - u[k, 0] / weight[k, 0], 0.0
        if weight[k, 1] > 0.0:
            z_t = r[k, 1] - u[k, 1] / weight[k, 1]
        r_n = max(z_n, 0.0)
        limit = mu[k] * r_n
        r_t = min(max(z_t, -limit), limit)
        new[k, 0], new[k, 1] = r_n, r_t
        u[k, 0], u[k, 1] = weight[k, 0] * (r_n - z_n), weight[k, 1] * (r_t - z_t)
        if z_n <= 0.0:
            state[k] = OPEN
        elif mu[k] == 0.0:
            state[k] = SMOOTH
        elif z_t < -limit:
            state[k] = PLUS
        else:
            state[k] = MINUS if z_t > limit else STICK


@jit
def pieces(state, anchors, d, a):
    """Write D and a of r = a − D U for given states."""
    mu, e, r0 = anchors.mu, anchors.e, anchors.r0
    for k in range(state.size):
        s, stiff = state[k], 1.0 / e[k]
        d[k] = 0.0
        a[k] = 0.0
        if s == OPEN:
            continue
        d[k, 0, 0] = stiff
        a[k, 0] = r0[k, 0]
        if s == STICK:
            d[k, 1, 1] = stiff
            a[k, 1] = r0[k, 1]
        else:
            f = slope(s, mu[k])
            d[k, 1, 0] = f * stiff
            a[k, 1] = f * r0[k, 0]


@device
def sooner(f, g, far):
    """The x > 0 at which f + g x falls to zero, or ``far`` if that is nearer."""
    return max(f, 0.0) / -g if g < 0.0 and max(f, 0.0) < -g * far else far


@device
def border(state, anchors, u, du, sign, last, came):
    """The next border along the line: how far it is, which contact it belongs to, its new state."""
    mu, e, r0 = anchors.mu, anchors.e, anchors.r0
    far, who, to = math.inf, -1, OPEN
    for k in range(state.size):
        s, back = state[k], came if k == last else -1
        g_n, g_t = sign * du[k, 0], sign * du[k, 1]
        if s == OPEN:
            x = sooner(u[k, 0] - e[k] * r0[k, 0], g_n, far)
            if x < far and back < 0:
                far, who = x, k
                u_t = u[k, 1] - e[k] * r0[k, 1] + x * g_t
                to = PLUS if u_t > 0.0 else MINUS
                if mu[k] == 0.0:
                    to = SMOOTH
            continue
        # forces in units of velocity
        r_n, r_t = e[k] * r0[k, 0] - u[k, 0], e[k] * r0[k, 1] - u[k, 1]
        if s == STICK:
            x = sooner(mu[k] * r_n + r_t, -mu[k] * g_n - g_t, far)
            if x < far and back != PLUS:
                far, who, to = x, k, PLUS
            x = sooner(mu[k] * r_n - r_t, -mu[k] * g_n + g_t, far)
            if x < far and back != MINUS:
                far, who, to = x, k, MINUS
            continue
        x = sooner(r_n, -g_n, far)
        if x < far and back != OPEN:
            far, who, to = x, k, OPEN
        if s != SMOOTH:
            # ũ_T = U_T + e (r_T − r⁰_T), positive for PLUS
            c, f = (1.0 if s == PLUS else -1.0), slope(s, mu[k])
            x = sooner(c * (f * r_n - r_t), c * (g_t - f * g_n), far)
            if x < far and back != STICK:
                far, who, to = x, k, STICK
    return far, who, to


@device
def feel(lever, body, k, q_n, q_t, x):
    """The number qᵀ h x that contact k feels of body velocities x."""
    total = 0.0
    for side in range(body.shape[1]):
        i = body[k, side]
        if i >= 0:
            for a in range(x.shape[1]):
                total += (q_n * lever[k, side, 0, a] + q_t * lever[k, side, 1, a]) * x[i, a]
    return total


@jit
def follow(bodies, anchors, line, made, most):
    """Follow the line with the factors at hand; return the changes of state and how it ended.

    The end is 0 if t = 1 was reached, 1 if K must be factorised anew (after ``most`` changes, or at
    a small determinant), and 2 if the line leads nowhere.
    """
    lever, body = bodies.lever, bodies.body
    mu, e, shift = anchors.mu, anchors.e, anchors.shift
    state, u, dv, where = line
    store, felt = made
    m, n, sides = state.size, len(dv), body.shape[1]
    t, sign, last, came = where[0], where[1], int(where[2]), int(where[3])
    du = np.empty_like(u)
    x = np.empty((n, dv.shape[1], 1))
    changes, end = 0, 1
    while changes < most:
        for k in range(m):
            for c in range(2):
                du[k, c] = -shift[k, c]
            for side in range(sides):
                i = body[k, side]
                if i >= 0:
                    for c in range(2):
                        for a in range(dv.shape[1]):
                            du[k, c] += lever[k, side, c, a] * dv[i, a]
        far, who, to = border(state, anchors, u, du, sign, last, came)
        ahead = 1.0 - t if sign > 0.0 else math.inf
        if not min(far, ahead) < math.inf:
            end = 2
            break
        reached = ahead <= far
        if reached:
            far = ahead
        for k in range(m):
            for c in range(2):
                u[k, c] += sign * far * du[k, c]
        t += sign * far
        if reached:
            t, end = 1.0, 0
            break
        # Δ = p qᵀ
        s, stiff = state[who], 1.0 / e[who]
        if s == OPEN:
            p_n, p_t, q_n, q_t = stiff, slope(to, mu[who]) * stiff, 1.0, 0.0
        elif to == OPEN:
            p_n, p_t, q_n, q_t = -stiff, -slope(s, mu[who]) * stiff, 1.0, 0.0
        elif s == STICK:
            p_n, p_t, q_n, q_t = 0.0, stiff, slope(to, mu[who]), -1.0
        else:
            p_n, p_t, q_n, q_t = 0.0, -stiff, slope(s, mu[who]), -1.0
        x[:] = 0.0
        for side in range(sides):
            i = body[who, side]
            if i >= 0:
                for a in range(dv.shape[1]):
                    x[i, a, 0] += p_n * lever[who, side, 0, a] + p_t * lever[who, side, 1, a]
        bordered(x, bodies.border, bodies.fronts, bodies.lu, bodies.swaps)
        y = x[:, :, 0]
        for c in range(changes):
            f = feel(lever, body, int(felt[c, 0]), felt[c, 1], felt[c, 2], y) / felt[c, 3]
            for i in range(n):
                for a in range(dv.shape[1]):
                    y[i, a] -= f * store[c, i, a]
        grown = 1.0 + feel(lever, body, who, q_n, q_t, y)
        if grown == 0.0 or not math.isfinite(grown):
            end = 2
            break
        f = (q_n * du[who, 0] + q_t * du[who, 1]) / grown
        for i in range(n):
            for a in range(dv.shape[1]):
                store[changes, i, a] = y[i, a]
                dv[i, a] -= f * y[i, a]
        felt[changes, 0], felt[changes, 1], felt[changes, 2] = who, q_n, q_t
        felt[changes, 3] = grown
        if grown < 0.0:
            sign = -sign
        last, came = who, s
        state[who] = to
        changes += 1
        if abs(grown) < SMALL:
            break
    where[0], where[1], where[2], where[3] = t, sign, last, came
    return changes, end


def trace(
    bodies: BodyResponse, mu: Floats, start: Floats, compliance: float, most: int
) -> tuple[Floats | None, int, int]:
    """Impulses (m, 2) of springs around ``start``, or None if the line does not lead to them.

    ``compliance`` is that of the springs [W_NN], and ``most`` the largest number of changes of
    state. Also returns the number of changes and of factorisations that were made.
    """
    m = len(start)
    e = compliance * bodies.weight[:, 0]
    state, r0 = np.empty(m, np.int8), np.empty((m, 2))
    u = bodies.velocity(start)
    natural(start, u, bodies.weight, mu, state, r0)
    shift = u - bodies.velocity(r0)
    where = np.array([0.0, 1.0, -1.0, -1.0])
    n, size = bodies.mass.shape
    anchors = Anchors(mu, e, r0, shift)
    made = Changes(np.empty((CHANGES, n, size)), np.empty((CHANGES, 4)))
    d, a = np.zeros((m, 2, 2)), np.zeros((m, 2))
    changes, factorisations = 0, 0
    while True:
        pieces(state, anchors, d, a)
        sign = bodies.factorize(d)
        factorisations += 1
        # A negative sign at the start means that the line arrives there instead of leaving.
        if sign == 0.0 or (changes == 0 and sign < 0.0):
            return None, changes, factorisations
        base = bodies.q + (1.0 - where[0]) * shift
        u = base + bodies.respond(a - np.matmul(d, base[:, :, None])[:, :, 0])
        if where[0] == 1.0:
            return a - np.matmul(d, u[:, :, None])[:, :, 0], changes, factorisations
        dv = bodies.rate(np.matmul(d, shift[:, :, None])[:, :, 0])
        factorised = Factorised(
            bodies.lever, bodies.body, bodies.border, *bodies.elimination.factors
        )
        line = Line(state, u, dv, where)
        new, end = follow(factorised, anchors, line, made, min(CHANGES, most - changes))
        changes += new
        if end == 0 and new <= FEW:
            pieces(state, anchors, d, a)
            return a - np.matmul(d, u[:, :, None])[:, :, 0], changes, factorisations
        if end == 2 or changes >= most:
            return None, changes, factorisations
