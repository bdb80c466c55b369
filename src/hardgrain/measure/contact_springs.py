"""Contacts as springs: what they answer to displacements, compiled (`measure.contact_network`).

One update of a sticking contact stops it, P = −W⁻¹ V with the matrix W of that contact alone. So a
contact is a spring with the matrix W⁻¹, in which normal and tangents are coupled wherever an arm is
not along the normal, as at the corner of a polygon; without friction it is n nᵀ/(n·W n). W may be
singular, if bodies are locked. Any matrix S with W S W = W then serves, for all of them answer
alike to what the two bodies can do.

This file is part of what kernels are compiled from: a change compiles them anew.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.core.cell import make_triangles
from hardgrain.kernels import jit, scalar
from hardgrain.point.inertia import TENSOR, make_inertia

__all__ = ["displaced", "gathered", "masses", "returned", "roots", "springs", "stiffness"]

_inertia = make_inertia(scalar)
entry, root_of, turns = _inertia.entry, _inertia.root, _inertia.turns

LOCKED = 1e-9  # [1] share of the trace of W below which a direction is locked; less is rounding


# Displacements u have one row for each body: translations, then rotations. They are written as
# u = A x with A Aᵀ = M⁻¹, so that the masses of all x are 1. A contact sees the relative
# displacement V = u_j + θ_j × l_j − u_i − θ_i × l_i, with its arms l, and answers with the force
# s = S V, S its spring, and the torque l_j × s on body j, and with −s and −l_i × s on
# body i. Where the periodic cell deforms (`point.cell`), its strain E is the row of the last body,
# in the order of Voigt; a contact between two grains that are l apart sees E l besides, and answers
# to the cell with s_a l_b for the component ab.
@jit
def roots(inv_mass, inv_inertia):  # type: ignore[no-untyped-def]
    """A of each body: its diagonal, then yx, zx and zy of its rotations if it is no ball."""
    (nb, dim), ns = inv_mass.shape, min(inv_inertia.shape[1], 3)
    whole = inv_inertia.shape[1] == TENSOR
    root = np.zeros((nb, dim + ns + (3 if whole else 0)))
    for i in range(nb):
        for a in range(dim):
            root[i, a] = math.sqrt(inv_mass[i, a])
        for a in range(ns):
            root[i, dim + a] = math.sqrt(inv_inertia[i, a])
        if whole and turns(inv_inertia, i):
            root[i, 3], root[i, 6], root[i, 4], root[i, 7], root[i, 8], root[i, 5] = root_of(
                inv_inertia, i
            )
    return root


@jit
def displaced(root, x):  # type: ignore[no-untyped-def]
    """A x, shape (nb, dim + ns)."""
    u = np.empty_like(x)
    for i in range(x.shape[0]):
        for a in range(x.shape[1]):
            u[i, a] = root[i, a] * x[i, a]
        if root.shape[1] > x.shape[1]:
            u[i, 4] += root[i, 6] * x[i, 3]
            u[i, 5] += root[i, 7] * x[i, 3] + root[i, 8] * x[i, 4]
    return u


@jit
def gathered(root, y):  # type: ignore[no-untyped-def]
    """Aᵀ y, shape (nb, dim + ns)."""
    x = np.empty_like(y)
    for i in range(y.shape[0]):
        for a in range(y.shape[1]):
            x[i, a] = root[i, a] * y[i, a]
        if root.shape[1] > y.shape[1]:
            x[i, 3] += root[i, 6] * y[i, 4] + root[i, 7] * y[i, 5]
            x[i, 4] += root[i, 8] * y[i, 5]
    return x


@jit
def lever(arm, a, b):  # type: ignore[no-untyped-def]
    """How far the end of an arm moves along axis a if its body turns by one about axis b."""
    if arm.shape[0] == 2:
        return -arm[1] if a == 0 else arm[0]
    if a == b:
        return 0.0
    return arm[3 - a - b] if (a - b) % 3 == 2 else -arm[3 - a - b]


@jit
def masses(rows, inv_mass, inv_inertia):  # type: ignore[no-untyped-def]
    """W of each contact: the velocity that a unit impulse gives it, shape (m, dim, dim)."""
    m, dim = rows.normal.shape
    ns = 1 if dim == 2 else 3
    w = np.zeros((m, dim, dim))
    for k in range(m):
        for side in range(2):
            i = rows.second[k] if side else rows.first[k]
            arm = rows.arm_second[k] if side else rows.arm_first[k]
            for a in range(dim):
                w[k, a, a] += inv_mass[i, a]
                for b in range(dim):
                    for s in range(ns):
                        for t in range(ns):
                            about = entry(inv_inertia, i, s, t)
                            w[k, a, b] += lever(arm, a, s) * about * lever(arm, b, t)
    return w


@jit
def springs(rows, w, friction):  # type: ignore[no-untyped-def]
    """The spring S of each contact, from its W and its coefficient of friction, as W."""
    m, dim = rows.normal.shape
    out = np.zeros_like(w)
    for k in range(m):
        trace = 0.0
        for a in range(dim):
            trace += w[k, a, a]
        if friction[k] > 0.0:
            inverted(w[k], LOCKED * trace, out[k])
            continue
        w_n = 0.0
        for a in range(dim):
            for b in range(dim):
                w_n += rows.normal[k, a] * w[k, a, b] * rows.normal[k, b]
        if w_n > LOCKED * trace:
            for a in range(dim):
                for b in range(dim):
                    out[k, a, b] = rows.normal[k, a] * rows.normal[k, b] / w_n
    return out


@jit
def inverted(w, least, s):  # type: ignore[no-untyped-def]
    """Write S with W S W = W: the inverse, axis by axis by the largest pivot, of what is left.

    A pivot p at axis c turns the rest into w_ab − w_ac w_cb/p and its own row into w_cb/p (the
    sweep operator); when all axes are done, what stands there is −W⁻¹.
    """
    dim = w.shape[0]
    x, done = w.copy(), np.zeros(dim, np.bool_)
    for _ in range(dim):
        c, p = -1, least
        for a in range(dim):
            if not done[a] and x[a, a] > p:
                c, p = a, x[a, a]
        if c < 0:
            break
        done[c] = True
        for a in range(dim):
            for b in range(dim):
                if a != c and b != c:
                    x[a, b] -= x[a, c] * x[c, b] / p
        for a in range(dim):
            if a != c:
                x[a, c] /= p
                x[c, a] /= p
        x[c, c] = -1.0 / p
    for a in range(dim):
        for b in range(dim):
            s[a, b] = -x[a, b] if done[a] and done[b] else 0.0


_triangles = make_triangles(scalar)
times_2d, times_3d = _triangles.times_2d, _triangles.times_3d
add_dyad_2d, add_dyad_3d = _triangles.add_dyad_2d, _triangles.add_dyad_3d


@scalar
def branch(rows, k, a):  # type: ignore[no-untyped-def]
    """Component a of the line between the centres of the two grains of a contact."""
    return rows.arm_first[k, a] - rows.arm_second[k, a] + rows.gap[k] * rows.normal[k, a]


@jit
def stiffness(rows, spring, u, grains):  # type: ignore[no-untyped-def]
    """K u, shape (nb, dim + ns).

    grains: contacts whose second body is one of so many feel the cell; 0: it stays as it is.
    """
    y, c = np.zeros_like(u), len(u) - 1
    for k in range(rows.first.size):
        felt = rows.second[k] < grains
        i, j = rows.first[k], rows.second[k]
        ax, ay = rows.arm_first[k, 0], rows.arm_first[k, 1]
        bx, by = rows.arm_second[k, 0], rows.arm_second[k, 1]
        vx, vy = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1]
        if rows.normal.shape[1] == 2:
            vx += u[i, 2] * ay - u[j, 2] * by
            vy += u[j, 2] * bx - u[i, 2] * ax
            if felt:
                lx, ly = branch(rows, k, 0), branch(rows, k, 1)
                ex, ey = times_2d(u, c, lx, ly)
                vx, vy = vx + ex, vy + ey
            sx, sy = (
                spring[k, 0, 0] * vx + spring[k, 0, 1] * vy,
                spring[k, 1, 0] * vx + spring[k, 1, 1] * vy,
            )
            y[j, 0] += sx
            y[j, 1] += sy
            y[j, 2] += bx * sy - by * sx
            y[i, 0] -= sx
            y[i, 1] -= sy
            y[i, 2] -= ax * sy - ay * sx
            if felt:
                add_dyad_2d(y, c, sx, sy, lx, ly)
        else:
            az, bz = rows.arm_first[k, 2], rows.arm_second[k, 2]
            vz = u[j, 2] - u[i, 2]
            px, py, pz, qx, qy, qz = u[i, 3], u[i, 4], u[i, 5], u[j, 3], u[j, 4], u[j, 5]
            vx += qy * bz - qz * by - (py * az - pz * ay)
            vy += qz * bx - qx * bz - (pz * ax - px * az)
            vz += qx * by - qy * bx - (px * ay - py * ax)
            if felt:
                lx, ly, lz = branch(rows, k, 0), branch(rows, k, 1), branch(rows, k, 2)
                ex, ey, ez = times_3d(u, c, lx, ly, lz)
                vx, vy, vz = vx + ex, vy + ey, vz + ez
            sx = spring[k, 0, 0] * vx + spring[k, 0, 1] * vy + spring[k, 0, 2] * vz
            sy = spring[k, 1, 0] * vx + spring[k, 1, 1] * vy + spring[k, 1, 2] * vz
            sz = spring[k, 2, 0] * vx + spring[k, 2, 1] * vy + spring[k, 2, 2] * vz
            y[j, 0] += sx
            y[j, 1] += sy
            y[j, 2] += sz
            y[j, 3] += by * sz - bz * sy
            y[j, 4] += bz * sx - bx * sz
            y[j, 5] += bx * sy - by * sx
            y[i, 0] -= sx
            y[i, 1] -= sy
            y[i, 2] -= sz
            y[i, 3] -= ay * sz - az * sy
            y[i, 4] -= az * sx - ax * sz
            y[i, 5] -= ax * sy - ay * sx
            if felt:
                add_dyad_3d(y, c, sx, sy, sz, lx, ly, lz)
    return y


@jit
def moved(arm, w, v):  # type: ignore[no-untyped-def]
    """Write how far the end of an arm moves where its body is displaced by w."""
    dim = arm.shape[0]
    for a in range(dim):
        v[a] = w[a]
        for s in range(w.shape[0] - dim):
            v[a] += lever(arm, a, s) * w[dim + s]


@jit
def worked(spring, u, v):  # type: ignore[no-untyped-def]
    """u·S v."""
    total = 0.0
    for a in range(u.shape[0]):
        for b in range(u.shape[0]):
            total += u[a] * spring[a, b] * v[b]
    return total


# What comes back. Let each contact α push its two bodies as it does in the mode, with s_α = S V_α
# and with nothing else, and let them move by what that push gives them, −w_i and w_j. All contacts
# answer; what they answer to α itself is w·K w, of which K has three blocks that count: those of
# the two bodies, and the one between them, which only contacts of the same pair make.
@jit
def returned(rows, spring, w_first, w_second):  # type: ignore[no-untyped-def]
    """Σ w·K w over all contacts, each moving its own two bodies apart, w_j and −w_i (m, dim + ns).

    Contacts of two bodies must follow each other.
    """
    m, dim = rows.normal.shape
    size, bodies = w_first.shape[1], 0
    for k in range(m):
        bodies = max(bodies, rows.first[k] + 1, rows.second[k] + 1)
    own = np.zeros((bodies, size, size))  # blocks of K on its diagonal
    for k in range(m):
        for side in range(2):
            i = rows.second[k] if side else rows.first[k]
            arm = rows.arm_second[k] if side else rows.arm_first[k]
            g = np.zeros((dim, size))
            for a in range(dim):
                g[a, a] = 1.0
                for s in range(size - dim):
                    g[a, dim + s] = lever(arm, a, s)
            for c in range(size):
                for d in range(size):
                    for a in range(dim):
                        for b in range(dim):
                            own[i, c, d] += g[a, c] * spring[k, a, b] * g[b, d]
    total, u, v, start = 0.0, np.zeros(dim), np.zeros(dim), 0
    for k in range(m):
        i, j = rows.first[k], rows.second[k]
        for c in range(size):
            for d in range(size):
                total += w_first[k, c] * own[i, c, d] * w_first[k, d]
                total += w_second[k, c] * own[j, c, d] * w_second[k, d]
        if rows.first[start] != i or rows.second[start] != j:
            start = k
        other = start
        while other < m and rows.first[other] == i and rows.second[other] == j:
            moved(rows.arm_first[other], w_first[k], u)
            moved(rows.arm_second[other], w_second[k], v)
            total += 2.0 * worked(spring[other], u, v)
            other += 1
    return total
