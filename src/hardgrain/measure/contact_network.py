"""The contacts that bear a force, as springs: their largest cluster, its slowest mode and its sag.

N sweeps a step turn every contact that bears a force into a spring and a dashpot (`theory.chain`).
One update of a contact gives it the impulse that stops it, P = −V/W; N sweeps, which also hand on
what they change, do that 2 q N times over in a step, so that force builds up as

    dR/dt = κ V,   κ = 2 q N / (W dt²),   γ = κ dt,

with the matrix W of the contact, 1/m_n along the normal and 1/m_t across it if grains are round (in
a chain W = 2/m: eqs 24, 25), and coupled if they are not (`measure.contact_springs`). For springs
κ between the grains of the packing, a displacement u meets the force K u, and the slowest mode of
M⁻¹K is that of the solver: its eigenvalue is N µ / dt², where 1 − µ is what a sweep leaves of the
mode's error. In units of N / dt² neither N nor dt is left in it, and µ gives ω and τ exactly
(`theory.chain`, "step by step").

The mode is found by inverse iteration: u₁, the displacement under the present load, K u₁ = F; u₂
from K u₂ = M u₁, and so on. F is taken from the contact forces themselves (what they do not balance
among each other, they carry), so it never pushes on anything that no contact holds: grains without
load and mechanisms drop out on their own. u₁ is how far the packing sags under its load.

Contacts are taken to stick, even those that slide now: a rise of the load makes them stick again.

Where the periodic cell deforms (`point.cell`), the components of its strain that are free are
degrees of freedom of the packing like any other, with the inertia of the cell and with the stress
of the contacts as their load; those that are prescribed are not. An update stops a contact as if
the cell stood still, so the springs are what they are without it. Displacements are those in space,
u + E x, from the middle of the cell.

How often sweeps hand on what they change is a matter of paths, and the network has its own
(`theory.chain.q_of_paths`): on average over random orders, a sweep hands a change on along every
path of r contacts with the probability 1/(r+1)!, but never back to a contact that it has come from.
With the unit that gives every contact W = 1, and B = 1 − W what one contact's update does to the
others, a long wave is handed on without loss, B φ = φ, and twice handed on it is φ less what
comes back, s = 1 − φ·diag(B²) φ. This share s is `onward`. In a chain a half comes back and s = ½;
where contacts share their bodies with several others, as the points of one face do, more comes
back, s is smaller or negative, and q is smaller. What comes back through a cell that deforms is
left out, since one contact hardly moves it.

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
from hardgrain.core.cell import PLACES, voigt
from hardgrain.core.model import Contacts, Floats, Ints, Model, State
from hardgrain.measure.contact_springs import (
    LOCKED,
    displaced,
    gathered,
    masses,
    returned,
    roots,
    springs,
    stiffness,
)
from hardgrain.measure.outline import equivalent_radius, spans
from hardgrain.step.glue import carried
from hardgrain.step.loads import turned
from hardgrain.theory import chain

__all__ = ["ContactNetwork", "clusters", "contact_network", "extent"]

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
    onward: float = 0.5  # share of an impulse, handed on twice, that does not come back [1]
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
    length = float(extent(state.position[:n][mine], span, model.cell_in(state).period).max())
    points = c.chosen(c.normal_impulse() != 0.0)
    points = points.chosen(np.lexsort((points.second, points.first)))  # pair after pair
    force, rows = points.impulse / dt, points.rows
    w = masses(rows, model.inv_mass, model.inv_inertia)
    spring = springs(rows, w, model.law_table[points.law, lawtable.MU_STATIC])
    along = _along(points.normal, w)
    root = roots(model.inv_mass, model.inv_inertia)
    felt = model.n if model.cell >= 0 else 0
    load = gathered(root, _load(points, force, root.shape[0], felt))
    if not load.any():  # nothing that can move bears a load
        return ContactNetwork(float(counts.max()), length, work=set_up)

    def stiffen(x: Floats) -> Floats:
        y: Floats = gathered(root, stiffness(rows, spring, displaced(root, x), felt))
        return y

    cost = STEP_UPDATES * len(points) + STEP_OVERHEAD  # of a step of a solve
    limit = int(max(min((most - set_up) / cost, ROUNDS * ITERATIONS), 0.0))
    mode, rate, sagged, steps = _slowest_mode(stiffen, load, limit)
    if steps < limit:
        sag = _largest(_in_space(model, state, displaced(root, sagged)))
        u = displaced(root, mode)
        lever, onward = _lever(points, u, _in_space(model, state, u), spring, root, felt)
    else:
        row = length / (2.0 * float(equivalent_radius(model).mean()))
        rate = chain.Q["parallel"] * chain.slowest_wavenumber(row) ** 2
        moves = along > 0.0  # not so between two grains that are locked
        pressed = np.abs(points.normal_impulse()[moves]) / along[moves]
        sag = row * float(pressed.mean()) / dt
        lever, onward = ROW_LEVER * row, ContactNetwork.onward
    return ContactNetwork(
        grains=float(counts.max()),
        length=length,
        rate=rate,
        sag=sag,
        effective_mass=float(along.mean()),
        push=_push(w, spring, force),
        lever=lever,
        onward=onward,
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


def _along(normal: Floats, w: Floats) -> Floats:
    """1/W along the normals, zero between bodies that are locked, shape (m,)."""
    w_n = np.einsum("ka,kab,kb->k", normal, w, normal)
    out: Floats = np.zeros_like(w_n)
    np.divide(1.0, w_n, out=out, where=w_n > LOCKED * np.einsum("kaa->k", w))
    return out


def _push(w: Floats, spring: Floats, force: Floats) -> float:
    """Root mean square of what each contact's force does to its own velocity, |W f|."""
    does = np.einsum("kab,kb->ka", w, force)
    # without friction the velocity across the normal is none of the contact's
    seen = np.einsum("kab,kbc,kc->ka", w, spring, does)
    return math.sqrt(float(np.einsum("ka,ka->", seen, seen)) / len(force))


def _in_space(model: Model, state: State, u: Floats) -> Floats:
    """Translations of all bodies but the cell, which takes grains along if it deforms."""
    move: Floats = u[:, : model.dim]
    if model.cell < 0:
        return move
    move, cell = move[:-1].copy(), model.cell_in(state)
    x = state.position[: model.n]
    x = x - (cell.images(x) + 0.5 * cell.repeats) @ cell.matrix.T
    for (a, b), strain in zip(PLACES[model.dim], u[-1], strict=True):
        move[: model.n, a] += strain * x[:, b]
    return move


def _branches(c: Contacts, felt: int) -> Floats:
    """Lines between the centres of contacts that feel the cell, zero for the others (m, dim)."""
    line = c.arm_first - c.arm_second + c.gap[:, None] * c.normal
    return np.where((c.second < felt)[:, None], line, 0.0)


def _lever(
    c: Contacts, u: Floats, moves: Floats, spring: Floats, root: Floats, felt: int
) -> tuple[float, float]:
    """Two figures of a mode u: its lever, and how much of it goes onward.

    The lever: how much faster it may move a grain than the residual lets its contacts close.
    ``moves``: how bodies move in space; ``felt``: contacts of so many grains feel the cell.
    """
    dim = c.normal.shape[1]
    move, rotate = u[:, :dim], u[:, dim:]
    v = surface_velocity(move, rotate, c.second, c.arm_second)
    v -= surface_velocity(move, rotate, c.first, c.arm_first)
    if felt:
        line = _branches(c, felt)
        for (a, b), strain in zip(PLACES[dim], u[-1], strict=True):
            v[:, a] += strain * line[:, b]
    s = np.einsum("kab,kb->ka", spring, v)
    energy = float(np.einsum("ka,ka->", s, v))
    if energy <= 0.0:
        return 0.0, ContactNetwork.onward
    weight = float(np.sqrt(np.einsum("ka,ka->k", s, s)).sum())
    first, second = (
        _moved(root[body], np.hstack([s, torque(arm, s)]))
        for body, arm in ((c.first, c.arm_first), (c.second, c.arm_second))
    )
    back = returned(c.rows, spring, first, second) / energy
    # W φ is small against φ; no more goes on than there is, though rounding may say so
    return _largest(moves) * weight / energy, min(2.0 - back, 1.0)


def _moved(root: Floats, push: Floats) -> Floats:
    """A Aᵀ y: what pushes y give the bodies, one row for each."""
    moved: Floats = displaced(root, gathered(root, push))
    return moved


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


def _load(c: Contacts, force: Floats, bodies: int, felt: int) -> Floats:
    """What the contact forces exert on each body together, shape (nb, dim + ns).

    ``felt``: contacts of so many grains feel the cell, the last body; 0: it stays as it is.
    """
    twist, dim = torque(c.arm_second, force), force.shape[1]
    total = np.zeros((bodies, dim + twist.shape[1]))
    np.add.at(total[:, :dim], c.second, force)
    np.subtract.at(total[:, :dim], c.first, force)
    np.add.at(total[:, dim:], c.second, twist)
    np.subtract.at(total[:, dim:], c.first, torque(c.arm_first, force))
    if felt:
        total[-1] = voigt(np.einsum("ka,kb->ab", force, _branches(c, felt)))
    return total
