"""The contacts that bear a force, as springs: their largest cluster, its slowest mode and its sag.

N sweeps a step turn every contact that bears a force into a spring and a dashpot (`theory.chain`).
One update of a contact gives it the impulse that stops it, P = −V/W; N sweeps, which also hand on
what they change, do that 2 q N times over in a step, so that force builds up as

    dR/dt = κ V,   κ = 2 q N / (W dt²),   γ = κ dt,

with W = 1/m_n along the normal and 1/m_t across it (in a chain W = 2/m: eqs 24, 25). For springs
κ between the grains of the packing, a displacement u meets the force K u, and the slowest mode of
M⁻¹K is that of the solver: its eigenvalue is N µ / dt², where 1 − µ is what a sweep leaves of the
mode's error. In units of N / dt² neither N nor dt is left in it, and µ gives ω and τ exactly
(`theory.chain`, "step by step").

The mode is found by inverse iteration: u₁, the displacement under the present load, K u₁ = F; u₂
from K u₂ = M u₁, and so on. F is taken from the contact forces themselves (what they do not balance
among each other, they carry), so it never pushes on anything that no contact holds: grains without
load and mechanisms drop out on their own. u₁ is how far the packing sags under its load.

Contacts are taken to stick, even those that slide now: a rise of the load makes them stick again.

What this makes of a run, given its sweeps, is told by `measure.rigidity`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hardgrain.contact.arms import surface_velocity, torque
from hardgrain.contact.rows import complete
from hardgrain.core import lawtable
from hardgrain.core.model import Contacts, Floats, Ints, Model, State
from hardgrain.kernels import jit, scalar
from hardgrain.measure.outline import equivalent_radius, spans
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.step.glue import carried
from hardgrain.step.loads import turned
from hardgrain.theory import chain

__all__ = ["ContactNetwork", "clusters", "contact_network", "extent"]

_inertia = make_inertia(scalar)
root_of, turns = _inertia.root, _inertia.turns

# [1] Relative residual at which a linear solve ends. The rate µ is wrong by its square only; a
# larger one makes µ and the sag untrue, a smaller one makes each look dearer.
ACCURACY = 1e-2
# [1] Steps of conjugate gradients that a solve may take on average, enough for 500 grains in a row.
# With fewer, long clusters are judged as a bundle of chains; more of them only cost time.
ITERATIONS = 1000
# [contact updates] Work of finding clusters and setting up: a fixed part, and a part for each
# contact. They are nominal, so that no clock decides. If they are too small, looks take a larger
# share of the run than promised; if they are too large, the run is looked at too rarely.
OVERHEAD, SET_UP = 1e5, 20.0
# [1] The lever of a row divided by the number of its grains, from the sine that is its slowest
# mode.
ROW_LEVER = 8.0 / math.pi**2
# [contact updates] Work of one step of conjugate gradients, for each contact and besides;
# nominal, and with the same consequences as OVERHEAD and SET_UP.
STEP_UPDATES, STEP_OVERHEAD = 2.0, 1e3
# [1] Rounds of inverse iteration. After three, µ of a chain is right to 10⁻³; with fewer it comes
# out too large and packings are called stiffer than they are.
ROUNDS = 3


@dataclass(frozen=True)
class ContactNetwork:
    """The largest cluster of grains that bear a force on each other, and its slowest mode."""

    grains: float = 1.0  # in the cluster
    length: float = 0.0  # its largest extent [length]; 0: no two grains bear a force on each other
    rate: float = 0.0  # µ of the slowest mode of all loaded contacts, for q = ½ [1]; 0: none
    sag: float = 0.0  # displacement under the load, for q = ½, one sweep and dt = 1 [length/time²]
    effective_mass: float = 0.0  # mean 1/W along the normals of loaded contacts [mass]
    push: float = 0.0  # rms of W f, what a contact's force does to it [length/time²]
    lever: float = 0.0  # of the slowest mode, see `measure.rigidity` [1]
    work: float = OVERHEAD  # what it took to find out [contact updates]


def clusters(model: Model, contacts: Contacts) -> Ints:
    """Cluster number of every grain, shape (n,): grains linked by contacts that bear a force."""
    link = (contacts.normal_impulse() != 0.0) & (contacts.second < model.n)
    i, j = contacts.first[link], contacts.second[link]
    graph = coo_array((np.ones(i.size, np.int8), (i, j)), shape=(model.n, model.n))
    labels: Ints = connected_components(graph, directed=False)[1]
    return labels


def contact_network(
    model: Model, state: State, dt: float, most: float = math.inf
) -> ContactNetwork:
    """The network of the contacts that bear a force in the given state.

    ``most``: work it may take [contact updates]. If that is too little to find the slowest mode,
    the packing is taken for a bundle of chains: µ of a chain of its length, and as many contacts
    in a row, compressed as the mean one.
    """
    c, n = state.contacts, model.n
    model = turned(model, state.orientation)
    c = carried(model, state.position, c if c.known else complete(model, state.position, c))
    set_up = OVERHEAD + SET_UP * len(c)
    label = clusters(model, c)
    counts = np.bincount(label)
    if counts.max(initial=0) < 2:
        return ContactNetwork(work=set_up)
    mine = label == counts.argmax()
    span = tuple(side[mine] for side in spans(model, state.orientation))
    length = float(extent(state.position[:n][mine], span, model.periodic).max())
    points = c.chosen(c.normal_impulse() != 0.0)
    force, rows = points.impulse / dt, points.rows
    along, across = _stiffnesses(model, points)
    root = roots(model.inv_mass, model.inv_inertia)
    load = gathered(root, _load(points, force, root.shape[0]))
    if not load.any():  # nothing that can move bears a load
        return ContactNetwork(float(counts.max()), length, work=set_up)

    def stiffen(x: Floats) -> Floats:
        y: Floats = gathered(root, stiffness(rows, along, across, displaced(root, x)))
        return y

    cost = STEP_UPDATES * len(points) + STEP_OVERHEAD  # of a step of a solve
    limit = int(max(min((most - set_up) / cost, ROUNDS * ITERATIONS), 0.0))
    mode, rate, sagged, steps = _slowest_mode(stiffen, load, limit)
    if steps < limit:
        sag = _largest(displaced(root, sagged)[:, : model.dim])
        lever = _lever(points, displaced(root, mode), along, across)
    else:
        row = length / (2.0 * float(equivalent_radius(model).mean()))
        rate = chain.Q["parallel"] * chain.slowest_wavenumber(row) ** 2
        moves = along > 0.0  # not so between two grains that are locked
        pressed = np.abs(points.normal_impulse()[moves]) / along[moves]
        sag = row * float(pressed.mean()) / dt
        lever = ROW_LEVER * row
    return ContactNetwork(
        grains=float(counts.max()),
        length=length,
        rate=rate,
        sag=sag,
        effective_mass=float(along.mean()),
        push=_push(points.normal, force, along, across),
        lever=lever,
        work=set_up + cost * steps,
    )


def _slowest_mode(
    stiffen: Callable[[Floats], Floats], load: Floats, most: int
) -> tuple[Floats, float, Floats, int]:
    """Inverse iteration: the mode and its eigenvalue, the displacement under the load, all steps.

    If these are ``most``, the rest means nothing.
    """
    x, sagged, rate, steps = load, load, 0.0, 0
    for k in range(ROUNDS):
        x, taken = _solve(stiffen, x, most - steps)
        steps += taken
        if steps >= most:
            break
        if k == 0:
            sagged = x.copy()
        x /= math.sqrt(_dot(x, x))
        rate = _dot(x, stiffen(x))
    return x, rate, sagged, steps


def _largest(vectors: Floats) -> float:
    """Length of the longest of the vectors (n, dim)."""
    return math.sqrt(float(np.einsum("ia,ia->i", vectors, vectors).max()))


def _push(normal: Floats, force: Floats, along: Floats, across: Floats) -> float:
    """Root mean square of what each contact's force does to its own velocity, |W f|."""
    f_n = np.einsum("ka,ka->k", force, normal)
    f_t = np.sqrt(np.maximum(np.einsum("ka,ka->k", force, force) - f_n**2, 0.0))
    square = np.zeros_like(f_n)
    for f, stiff in ((f_n, along), (f_t, across)):
        square += np.square(np.divide(f, stiff, out=np.zeros_like(f), where=stiff > 0.0))
    return math.sqrt(float(square.mean()))


def _lever(c: Contacts, u: Floats, along: Floats, across: Floats) -> float:
    """How much faster a mode u may move a grain than the residual lets its contacts close."""
    dim = c.normal.shape[1]
    move, rotate = u[:, :dim], u[:, dim:]
    v = surface_velocity(move, rotate, c.second, c.arm_second)
    v -= surface_velocity(move, rotate, c.first, c.arm_first)
    v_n = np.einsum("ka,ka->k", v, c.normal)
    v_t = np.sqrt(np.maximum(np.einsum("ka,ka->k", v, v) - v_n**2, 0.0))
    weight = np.hypot(along * v_n, across * v_t).sum()
    energy = float((along * v_n**2 + across * v_t**2).sum())
    return _largest(move) * float(weight) / energy if energy > 0.0 else 0.0


def _solve(apply: Callable[[Floats], Floats], b: Floats, most: int) -> tuple[Floats, int]:
    """Conjugate gradients from zero: x with A x = b within the range of A, and the steps taken."""
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    rr = _dot(r, r)
    goal = ACCURACY**2 * rr
    for step in range(most):
        if rr <= goal:
            return x, step
        ap = apply(p)
        if (pap := _dot(p, ap)) <= 0.0:  # pushed where no spring holds
            break
        alpha = rr / pap
        x += alpha * p
        r -= alpha * ap
        rr, before = _dot(r, r), rr
        p *= rr / before
        p += r
    return x, most


def _dot(x: Floats, y: Floats) -> float:
    return float(np.einsum("ia,ia->", x, y))  # not by BLAS, whose sums depend on its threads


def extent(x: Floats, span: tuple[Floats, ...], period: Floats) -> Floats:
    """Extent of some grains along each axis, no more than a period, shape (dim,) [length].

    ``span``: how far they reach below and above their centres (`outline.spans`).
    """
    below, above = span
    size = (x + above).max(axis=0) - (x - below).min(axis=0)
    within: Floats = np.where(period > 0.0, np.minimum(size, period), size)
    return within


def _stiffnesses(model: Model, c: Contacts) -> tuple[Floats, Floats]:
    """1/W along the normals and across them, the latter zero without friction, shape (m,) each."""
    mass, inertia, dim = model.inv_mass, model.inv_inertia, model.dim
    w = mass[c.first] + mass[c.second]
    w_n = np.einsum("ka,ka,ka->k", w, c.normal, c.normal)
    w_t, turning = (w.sum(axis=1) - w_n) / (dim - 1), np.zeros(len(c))
    for body, arm in ((c.first, c.arm_first), (c.second, c.arm_second)):
        along, mine = _quadratic(inertia[body], torque(arm, c.normal)), inertia[body]
        # of the levers l × e along all axes e, what is not along n is across; the mean of these
        every = np.einsum("ka,ka->k", arm, arm) * mine[:, :3].sum(axis=1)
        w_n += along
        w_t += (every - along - (_quadratic(mine, arm) if dim == 3 else 0.0)) / (dim - 1)
        turning += every
    friction = model.law_table[c.law, lawtable.MU_STATIC]
    along, across = np.zeros_like(w_n), np.zeros_like(w_n)
    seen = 1e-9 * (w.sum(axis=1) + turning)  # less is rounding: locked, not light
    np.divide(1.0, w_n, out=along, where=w_n > seen)
    np.divide(1.0, w_t, out=across, where=(w_t > seen) & (friction > 0.0))
    return along, across


def _quadratic(inverse: Floats, v: Floats) -> Floats:
    """v·J v of inverse inertias J in rows, see `point.inertia`, shape (m,)."""
    total: Floats = (inverse[:, : v.shape[1]] * v**2).sum(axis=1)
    if inverse.shape[1] == TENSOR:
        yz, zx, xy = inverse[:, 3:].T
        total += 2.0 * (yz * v[:, 1] * v[:, 2] + zx * v[:, 2] * v[:, 0] + xy * v[:, 0] * v[:, 1])
    return total


def _load(c: Contacts, force: Floats, bodies: int) -> Floats:
    """What the contact forces exert on each body together, shape (nb, dim + ns)."""
    twist, dim = torque(c.arm_second, force), force.shape[1]
    total = np.zeros((bodies, dim + twist.shape[1]))
    np.add.at(total[:, :dim], c.second, force)
    np.subtract.at(total[:, :dim], c.first, force)
    np.add.at(total[:, dim:], c.second, twist)
    np.subtract.at(total[:, dim:], c.first, torque(c.arm_first, force))
    return total


# Displacements u have one row for each body: translations, then rotations. They are written as
# u = A x with A Aᵀ = M⁻¹, so that the masses of all x are 1. A contact sees the relative
# displacement V = u_j + θ_j × l_j − u_i − θ_i × l_i, with its arms l, and answers with the force
# s = κ_n n (n·V) + κ_t (V − n (n·V)) and the torque l_j × s on body j, and with −s and −l_i × s on
# body i.
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
def stiffness(rows, along, across, u):  # type: ignore[no-untyped-def]
    """K u, shape (nb, dim + ns)."""
    y = np.zeros_like(u)
    for k in range(rows.first.size):
        i, j = rows.first[k], rows.second[k]
        nx, ny = rows.normal[k, 0], rows.normal[k, 1]
        ax, ay = rows.arm_first[k, 0], rows.arm_first[k, 1]
        bx, by = rows.arm_second[k, 0], rows.arm_second[k, 1]
        vx, vy = u[j, 0] - u[i, 0], u[j, 1] - u[i, 1]
        if rows.normal.shape[1] == 2:
            vx += u[i, 2] * ay - u[j, 2] * by
            vy += u[j, 2] * bx - u[i, 2] * ax
            v_n = (along[k] - across[k]) * (nx * vx + ny * vy)
            sx, sy = v_n * nx + across[k] * vx, v_n * ny + across[k] * vy
            y[j, 0] += sx
            y[j, 1] += sy
            y[j, 2] += bx * sy - by * sx
            y[i, 0] -= sx
            y[i, 1] -= sy
            y[i, 2] -= ax * sy - ay * sx
        else:
            nz, az, bz = rows.normal[k, 2], rows.arm_first[k, 2], rows.arm_second[k, 2]
            vz = u[j, 2] - u[i, 2]
            px, py, pz, qx, qy, qz = u[i, 3], u[i, 4], u[i, 5], u[j, 3], u[j, 4], u[j, 5]
            vx += qy * bz - qz * by - (py * az - pz * ay)
            vy += qz * bx - qx * bz - (pz * ax - px * az)
            vz += qx * by - qy * bx - (px * ay - py * ax)
            v_n = (along[k] - across[k]) * (nx * vx + ny * vy + nz * vz)
            sx, sy = v_n * nx + across[k] * vx, v_n * ny + across[k] * vy
            sz = v_n * nz + across[k] * vz
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
    return y
