"""How the contact velocities answer to impulses: U = q + W r, and what a law makes of it.

A solver that works on all contacts at once asks two things of the bodies: the velocities that
given impulses r lead to, and, when every contact answers a change dU of its velocity by
dr = c − D dU (a linearised law, D one small matrix a contact), the change that results,

    dU = W (c − D dU),       W = h M⁻¹ hᵀ.

Written over bodies this is a sparse system, one small block for each body and for each pair that
touches,

    (M + hᵀ D h) dv = hᵀ c,   dU = h dv,

so that neither the dense system (1 + W D) dU = W c nor W itself is ever formed. Both matrices have
determinants of the same sign, since M is positive. One round of iterative refinement follows each
solve, because D may span sixteen decades.

A periodic cell that deforms (`point.cell`) is one more body, but touches all others. So it is no
part of the sparse system, and is eliminated after it, as a border (`solve.border`).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array

from hardgrain.kernels import jit
from hardgrain.solve.assembly import ContactFrames, StepForm
from hardgrain.solve.border import Border, add_border, closed_border, solve_bordered
from hardgrain.solve.elimination import Elimination
from hardgrain.solve.matrices import GlobalForm, LocalForm, block_diagonal, lu_factors
from hardgrain.solve.problem import Floats, Ints, Problem

__all__ = ["BodyResponse", "ContactResponse", "Response", "SparseResponse"]

# Nominal speeds, from which the cost of an iteration is computed. They are those of one core of a
# common machine. They are not measured while a run goes on, because decisions that depend on clocks
# would change the bits of a run. If they are wrong, the rigid solver still finds the same quality
# of result, but may choose the slower of two methods.
FLOPS = 12e9  # [operations/s] floating-point operations when factors are made
ENTRIES = 1e9  # [entries/s] entries of the factors when they are used
CONTACT = 2e-6  # [s] all other work of an iteration, for each contact
SPARSE = 2e-5  # [s] an iteration of a problem given as matrices, for each of its rows


class Response(Protocol):
    """What the solvers that see all contacts at once need to know of the bodies."""

    q: Floats  # (m, dim) contact velocities without impulses
    weight: Floats  # (m, dim) diagonal of W
    paths: Floats  # (m,) (dt/d)² with d the smaller grain's diameter, zero where it is not known

    @property
    def cost(self) -> float:
        """Nominal time of an iteration with one factorisation [s]."""

    def velocity(self, r: Floats) -> Floats:
        """U = q + W r, shape (m, dim)."""

    def factorize(self, d: Floats) -> float:
        """Prepare for D, shape (m, dim, dim); return the sign of det(1 + W D), 0 if singular."""

    def respond(self, c: Floats, exact: bool = True) -> Floats:
        """Solve dU = W (c − D dU), shape (m, dim), without refinement if it need not be exact."""


class BodyResponse:
    """The response of the bodies of a step: blocks over bodies, eliminated by nested dissection.

    Where the periodic cell deforms, it is the last of the bodies and the third of each contact that
    feels it.
    """

    def __init__(self, problem: Problem, form: GlobalForm | StepForm, frame: ContactFrames) -> None:
        rows, (nb, ns) = frame.rows, problem.spin.shape
        size = problem.dim + ns
        h = SparseRows(form.h.indptr, form.h.indices, form.h.data)
        self.body, self.lever, bodies = levers(
            h, frame.dofs, problem.first, problem.second, (nb, rows, size), problem.grains > 0
        )
        n = bodies.size
        self.cell = problem.grains > 0 and n > 0 and int(bodies[-1]) == nb - 1  # it can move
        self.mass = np.ones((n, size))
        self.free = np.zeros((n, size))
        number = np.full(nb, -1)
        number[bodies] = np.arange(n)
        body, part = np.divmod(frame.dofs, size)
        here = number[body] >= 0
        at = number[body[here]], part[here]
        self.mass[at] = form.mass.data[here]
        self.free[at] = form.f[here] / form.mass.data[here]
        self.base = form.w.reshape(-1, rows).copy()
        self.q = np.empty_like(self.base)
        contact_velocity(self.lever, self.body, self.free, self.base, self.q)
        self.weight = weights(self.lever, self.body, self.mass, rows)
        self.paths = problem.paths
        self.dead = self.weight[:, 0] <= 0.0  # contacts between bodies that cannot move
        _open_dead(self.weight, self.q, self.base)
        self.bodies, self._places = bodies, problem.position[bodies]

    @cached_property
    def elimination(self) -> Elimination:
        """How bodies are eliminated, but for the cell; made when it is first asked for."""
        parted = self._places[:-1] if self.cell else self._places
        first, second = np.maximum(self.body[:, 0], 0), self.body[:, 1].copy()
        return Elimination(parted, first, second, self.mass.shape[1])

    @cached_property
    def cost(self) -> float:
        cost = self.elimination.flops / FLOPS + CONTACT * len(self.body)
        if self.cell:
            cost += self.mass.shape[1] * self.elimination.entries / ENTRIES
        return cost

    @property
    def change(self) -> float:
        """Nominal time of a change of state with the factors at hand [s]."""
        return self.elimination.entries / ENTRIES + 0.05 * CONTACT * len(self.body)

    @cached_property
    def _room(self) -> tuple[Floats, Floats]:
        """Room for the blocks of the matrix, see `stiffen`."""
        parted, size = self.elimination.shape
        return np.empty((parted, size, size)), np.zeros((len(self.body), 2, size, size))

    @cached_property
    def border(self) -> Border:
        """Room for the rows and columns of the cell."""
        parted, size = self.elimination.shape
        wide = size if self.cell else 0
        return Border(
            np.empty((parted, size, wide)), np.empty((wide, parted, size)), np.empty((wide, wide))
        )

    def momentum(self, r: Floats) -> Floats:
        """The momentum hᵀ r that impulses give to the bodies, shape (bodies, components)."""
        p = np.zeros_like(self.mass)
        push(self.lever, self.body, r, p)
        return p

    def velocity(self, r: Floats) -> Floats:
        u = np.empty_like(self.q)
        v = self.free + self.momentum(r) / self.mass
        contact_velocity(self.lever, self.body, v, self.base, u)
        return u

    def factorize(self, d: Floats) -> float:
        self._d = d
        stiffen(self.lever, self.body, self.mass, d, *self._room)
        sign = self.elimination.factorize(*self._room)
        if not self.cell or sign == 0.0:
            return sign
        add_border(self.lever, self.body, self.mass[-1], d, self.border)
        return sign * closed_border(self.border, self.elimination.solve(self.border.across))

    def solve(self, b: Floats) -> Floats:
        """Solve (M + hᵀ D h) x = b with the last factors; b has shape (bodies, components)."""
        if not self.cell:
            return self.elimination.solve(b)
        x = b[:, :, None].copy()
        solve_bordered(x, self.border, *self.elimination.factors)
        return x[:, :, 0]

    def rate(self, c: Floats, exact: bool = True) -> Floats:
        """Solve (M + hᵀ D h) dv = hᵀ c for dv, shape (bodies, components)."""
        b = self.momentum(c)
        dv = self.solve(b)
        if exact:
            du = self._felt(dv)
            left = b - self.mass * dv - self.momentum(np.matmul(self._d, du[:, :, None])[:, :, 0])
            dv += self.solve(left)
        return dv

    def respond(self, c: Floats, exact: bool = True) -> Floats:
        return self._felt(self.rate(c, exact))

    def _felt(self, dv: Floats) -> Floats:
        """The contact velocities h dv, shape (m, dim)."""
        du = np.empty_like(self.q)
        contact_velocity(self.lever, self.body, dv, np.zeros_like(self.q), du)
        return du


class SparseResponse:
    """The response of a problem given as a global form, by SciPy alone (SuperLU)."""

    def __init__(self, form: GlobalForm) -> None:
        self.form, dim = form, form.dim
        self.h, self.ht = form.h, csr_array(form.h.T)
        self.q = form.contact_velocity(np.zeros(form.w.size)).reshape(-1, dim)
        self.weight = form.local().delassus.diagonal().reshape(-1, dim).copy()
        self.paths = np.zeros(len(self.q))
        self.cost = SPARSE * self.q.size
        self._more = np.zeros_like(self.q)
        _open_dead(self.weight, self.q, self._more)

    def velocity(self, r: Floats) -> Floats:
        u: Floats = self.form.contact_velocity(r.ravel()).reshape(self.q.shape) + self._more
        return u

    def factorize(self, d: Floats) -> float:
        self._d = block_diagonal(d)
        self._k = csc_array(self.form.mass + self.ht @ self._d @ self.h)
        self._lu, sign = lu_factors(self._k)
        return sign

    def respond(self, c: Floats, exact: bool = True) -> Floats:
        b = self.ht @ c.ravel()
        dv = self._lu.solve(b)
        left = b - self.form.mass @ dv - self.ht @ (self._d @ (self.h @ dv))
        dv += self._lu.solve(left)
        du: Floats = (self.h @ dv).reshape(self.q.shape)
        return du


class ContactResponse:
    """The response of a local form, which has no bodies: it solves (1 + W D) dU = W c."""

    def __init__(self, form: LocalForm) -> None:
        self.form, dim = form, form.dim
        self.q = form.q.reshape(-1, dim).copy()
        self.weight = form.delassus.diagonal().reshape(-1, dim).copy()
        self.paths = np.zeros(len(self.q))
        self.cost = SPARSE * self.q.size
        self._more = np.zeros_like(self.q)
        _open_dead(self.weight, self.q, self._more)

    def velocity(self, r: Floats) -> Floats:
        u: Floats = self.form.contact_velocity(r.ravel()).reshape(self.q.shape) + self._more
        return u

    def factorize(self, d: Floats) -> float:
        w = self.form.delassus
        self._k = csc_array(eye_array(self.q.size) + w @ block_diagonal(d))
        self._lu, sign = lu_factors(self._k)
        return sign

    def respond(self, c: Floats, exact: bool = True) -> Floats:
        b = self.form.delassus @ c.ravel()
        du = self._lu.solve(b)
        du += self._lu.solve(b - self._k @ du)
        found: Floats = du.reshape(self.q.shape)
        return found


def _open_dead(weight: Floats, q: Floats, more: Floats) -> None:
    """Let contacts between bodies that cannot move be open for good, as no impulse moves them."""
    dead = weight[:, 0] <= 0.0
    if dead.any():
        weight[dead] = 1.0
        fast = float(np.abs(q).max()) or 1.0
        q[dead, 0] += fast
        more[dead, 0] += fast


class SparseRows(NamedTuple):
    """A sparse matrix by rows (CSR), as compiled functions read it."""

    starts: Ints  # where each row begins
    columns: Ints
    data: Floats


@jit
def levers(h, dofs, first, second, shape, cell):
    """Blocks of h over bodies; ``shape`` is (nb, dim, size), ``cell`` whether the last one is it.

    Returns the numbers of the two bodies of each contact and, if the cell is there, of the cell,
    (m, 2 or 3), where −1 is one that cannot move or is not felt; the blocks, called levers,
    (m, 2 or 3, dim, size); and the bodies that are numbered.
    """
    (nb, dim, size), m = shape, first.size
    used = np.zeros(nb, np.bool_)
    for k in range(m):
        for at in range(h.starts[dim * k], h.starts[dim * k + 1]):
            used[dofs[h.columns[at]] // size] = True
    number = np.full(nb, -1, np.int32)
    bodies = np.flatnonzero(used)
    for i in range(bodies.size):
        number[bodies[i]] = i
    sides = 3 if cell else 2
    body = np.full((m, sides), -1, np.int32)
    lever = np.zeros((m, sides, dim, size))
    for k in range(m):
        one, other = first[k], second[k]
        if number[one] < 0:  # it is driven or locked, and the body that can move comes first
            one, other = other, one
        body[k, 0], body[k, 1] = number[one], number[other]
        for e in range(dim):
            for at in range(h.starts[dim * k + e], h.starts[dim * k + e + 1]):
                b, a = divmod(dofs[h.columns[at]], size)
                side = 0 if b == one else 1
                if cell and b == nb - 1:
                    side = 2
                    body[k, 2] = number[b]
                lever[k, side, e, a] = h.data[at]
    return body, lever, bodies


@jit
def contact_velocity(lever, body, v, base, u):
    """Write u = base + h v."""
    m, sides, dim, size = lever.shape
    for k in range(m):
        for e in range(dim):
            u[k, e] = base[k, e]
        for side in range(sides):
            i = body[k, side]
            if i >= 0:
                for e in range(dim):
                    for a in range(size):
                        u[k, e] += lever[k, side, e, a] * v[i, a]


@jit
def push(lever, body, r, p):
    """Add hᵀ r to p."""
    m, sides, dim, size = lever.shape
    for k in range(m):
        for side in range(sides):
            i = body[k, side]
            if i >= 0:
                for e in range(dim):
                    for a in range(size):
                        p[i, a] += lever[k, side, e, a] * r[k, e]


@jit
def weights(lever, body, mass, dim):
    """The diagonal of W."""
    (m, sides), size = body.shape, mass.shape[1]
    w = np.zeros((m, dim))
    for k in range(m):
        for side in range(sides):
            i = body[k, side]
            if i >= 0:
                for e in range(dim):
                    for a in range(size):
                        w[k, e] += lever[k, side, e, a] ** 2 / mass[i, a]
    return w


@jit
def stiffen(lever, body, mass, d, diagonal, pairs):
    """Write the blocks of M + hᵀ D h: those of bodies, and two for each pair, one a direction.

    Those of the cell are left to `solve.border`.
    """
    m, _, dim, size = lever.shape
    diagonal[:] = 0.0
    for i in range(len(diagonal)):
        for a in range(size):
            diagonal[i, a, a] = mass[i, a]
    dh = np.empty((2, dim, size))
    for k in range(m):
        for side in range(2):
            for e in range(dim):
                for a in range(size):
                    x = 0.0
                    for g in range(dim):
                        x += d[k, e, g] * lever[k, side, g, a]
                    dh[side, e, a] = x
        i, j = body[k, 0], body[k, 1]
        if i >= 0:
            for e in range(dim):
                for a in range(size):
                    for b in range(size):
                        diagonal[i, a, b] += lever[k, 0, e, a] * dh[0, e, b]
        if j >= 0:
            for e in range(dim):
                for a in range(size):
                    for b in range(size):
                        diagonal[j, a, b] += lever[k, 1, e, a] * dh[1, e, b]
        if i >= 0 and j >= 0:
            for a in range(size):
                for b in range(size):
                    x, y = 0.0, 0.0
                    for e in range(dim):
                        x += lever[k, 0, e, a] * dh[1, e, b]
                        y += lever[k, 1, e, a] * dh[0, e, b]
                    pairs[k, 0, a, b], pairs[k, 1, a, b] = x, y
