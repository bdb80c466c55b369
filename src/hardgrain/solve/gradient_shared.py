"""Gradients of packings at rest that show no bit of who has which contacts.

Each process has the contacts that touch its own grains, also those that another one counts: the
first grain of a contact says whose it is. So it makes the impulses of all of them itself, and sums
up what its own grains get, contact by contact in the order of contacts. That order is the same
whoever has them. Then it is told how the grains around its own move.

What many contacts touch, in all processes, are bodies that lie in no tile: pistons, other walls
that can move, large grains. What they get is summed up exactly (`cpu.exact`), each contact by
whoever counts it, and so are the few numbers that steer the iteration. A single process sums in the
same way, so that it has the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.cpu.exact import DIGITS, add, rounded_all
from hardgrain.kernels import jit, scalar
from hardgrain.solve.assembly import components, global_form
from hardgrain.solve.gradient import Descent, Iterate, momentum, renew, run_ahead
from hardgrain.solve.problem import Floats, Problem
from hardgrain.solve.response import BodyResponse, contact_velocity
from hardgrain.solve.springs import missing

__all__ = ["SharedDescent"]

Flags = NDArray[np.bool_]


class Counting(NamedTuple):
    """What is counted in which process, and which sums are exact."""

    own: Flags  # (m,) contacts that are counted here
    place: NDArray[np.int64]  # (bodies,) number among shared bodies, −1: a body in tiles
    sums: NDArray[np.int64]  # (1 + shared bodies · components, DIGITS), the first one of a number


@jit
def hand_out(given, count, x, v):
    """Write the velocities v that impulses x (m, dim) give to bodies in tiles, the rest to sums."""
    count.sums[:] = 0
    v[:] = given.free
    for k in range(x.shape[0]):
        give_counted(given, count, k, x[k], v)


@jit
def go_down(given, iterate, count, old):
    """The first half of an iteration of `gradient.descend`, up to what others must say."""
    dim = iterate.r.shape[1]
    u, x = np.empty(dim), np.empty(dim)
    count.sums[:] = 0
    old[:] = iterate.v
    iterate.v[:] = given.free
    for k in range(iterate.r.shape[0]):
        uphill = renew(given, iterate, k, u, x)
        if count.own[k]:
            add(count.sums, 0, uphill)
        give_counted(given, count, k, x, iterate.v)


@scalar
def give_counted(given, count, k, x, v):
    """As `gradient.give`, where a body in no tile is given to by exact sums, of contacts here."""
    size = v.shape[1]
    for side in range(2):
        i = given.body[k, side]
        if i < 0 or (count.place[i] >= 0 and not count.own[k]):
            continue
        for a in range(size):
            p = 0.0
            for e in range(x.size):
                p += given.lever[k, side, e, a] * x[e]
            if count.place[i] < 0:
                v[i, a] += p * given.inverse[i, a]
            else:
                add(count.sums, 1 + size * count.place[i] + a, p)


@jit
def go_ahead(iterate, old, theta, uphill):
    """The second half of an iteration; return θ, with which to go on."""
    theta, share = momentum(theta, uphill)
    run_ahead(iterate, old, share)
    return theta


@jit
def judge(laws, own, sums):
    """The largest values of `gone` and `astray` of `springs.violation`, and sums of the others."""
    most, a = np.zeros(2), np.empty(laws[0].shape[1])
    for k in range(own.size):
        if own[k]:
            gone, new, old = missing(laws, k, a)
            if not gone <= most[0]:
                most[0] = gone
            most[1] = max(most[1], gone * laws[4][k])
            add(sums, 0, max(new, old))
            if max(new, old) != 0.0:
                add(sums, 1, 1.0)
    return most


@jit
def add_squares(values, own, sums):
    """Add the squares of rows of numbers to a sum."""
    for k in range(values.shape[0]):
        if own[k]:
            for e in range(values.shape[1]):
                add(sums, 0, values[k, e] * values[k, e])


class SharedDescent(Descent):
    """The gradients of a step whose contacts several processes may have; see above."""

    def __init__(self, problem: Problem, own: Flags, row: Any, shared: Flags) -> None:
        """problem: of all contacts that touch grains of this process; own: (m,) which it counts.

        row: (nb,) bodies as rows of the whole run; shared: (nb,) those that lie in no tile.
        """
        form, self.frame = global_form(problem)
        assert form.start is not None
        bodies = BodyResponse(problem, form, self.frame)
        super().__init__(bodies, form.mu)
        self.others, self.start = problem.others, form.start.reshape(bodies.q.shape)
        self._pair = row[problem.first], row[problem.second]
        self._nb, which = len(problem.position), bodies.bodies
        moves = shared & (problem.inv_mass.max(axis=1) > 0.0)
        self._shared = np.flatnonzero(shared[which])  # of which all processes know how they move
        place = np.full(which.size, -1)
        number = np.cumsum(moves) - 1
        place[self._shared] = number[which[self._shared]]
        size = bodies.mass.shape[1]
        sums = np.zeros((1 + size * np.count_nonzero(moves), DIGITS), np.int64)
        self._count = Counting(own & ~bodies.dead, place, sums)
        # without the pull of cohesion, of which a process knows its own part
        bodies.free[:] = 0.0
        of = components(problem.motion)
        movable = of.inverse[which] > 0.0
        bodies.free[movable] = of.free[which][movable]
        if self.others.any(self.frame.shift.any()):
            pull = np.zeros_like(bodies.q)
            pull[:, 0] = -self.frame.shift
            bodies.free[:] = self._moved(pull)

    def go_on(self, iterate: Iterate, theta: float, iterations: int) -> float:
        old = np.empty_like(iterate.v)
        for _ in range(iterations):
            go_down(self.given, iterate, self._count, old)
            uphill = self._join(iterate.v, self.bodies.free)
            theta = go_ahead(iterate, old, theta, uphill)
        return theta

    def violation(self, r: Floats) -> float:
        b = self.bodies
        unit, sums = 1.0 / b.weight[:, :1], np.zeros((2, DIGITS), np.int64)
        u = self._velocity(self._moved(r), b.base)
        laws = r / unit, u, self.mu[:, None], self.ratio[:, None], b.paths
        most = judge(laws, self._count.own, sums)
        worst, astray = self.others.most(most)
        scale, loaded = rounded_all(self.others.total(sums))
        return 0.0 if worst == 0.0 else float(np.sqrt(max(astray, worst * loaded / scale)))

    def impulses(self, r: Floats) -> Floats:
        """The impulses on second bodies of the contacts that are counted here."""
        r = np.where(self.bodies.dead[:, None], 0.0, r)  # what nothing can move
        return self.frame.impulse(r.ravel())

    def _any_impulses(self) -> Floats:
        one, other = (body[:, None] % (1 << 20) for body in self._pair)
        part = 0.7548776662466927 * one + 0.5698402909980532 * other  # powers of 1/1.3247…
        found: Floats = (part + 0.61803398875 * np.arange(self.bodies.q.shape[1])) % 1.0 - 0.5
        return found

    def _response(self, r: Floats) -> Floats:
        zero = np.zeros_like(self.bodies.free)
        return self._velocity(self._moved(r, zero), np.zeros_like(self.bodies.base))

    def _square(self, values: Floats) -> float:
        sums = np.zeros((1, DIGITS), np.int64)
        add_squares(values, self._count.own, sums)
        return float(rounded_all(self.others.total(sums))[0])

    def _velocity(self, v: Floats, base: Floats) -> Floats:
        """The contact velocities base + h v, shape (m, dim)."""
        u = np.empty_like(base)
        contact_velocity(self.bodies.lever, self.bodies.body, v, base, u)
        return u

    def _moved(self, r: Floats, free: Floats | None = None) -> Floats:
        bodies = self.bodies
        free, v = bodies.free if free is None else free, np.empty_like(bodies.free)
        given = self.problem(np.zeros(len(r)))._replace(free=free)
        hand_out(given, self._count, np.ascontiguousarray(r), v)
        self._join(v, free)
        return v

    def _join(self, v: Floats, free: Floats) -> float:
        """Let all bodies that are known here move as they do; returns how far uphill it was."""
        found, some = rounded_all(self.others.total(self._count.sums)), self._shared
        place = self._count.place[some]
        given = found[1:].reshape(-1, v.shape[1])[place]
        v[some] = free[some] + given / self.bodies.mass[some]
        if self.others.size > 1:
            every = np.zeros((self._nb, v.shape[1]))
            every[self.bodies.bodies] = v
            self.others.exchange(every)
            v[:] = every[self.bodies.bodies]
        return float(found[0])
