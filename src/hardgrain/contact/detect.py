"""Contact candidates of a step: the pair list, kept as long as it is safe, and the narrow phase.

A pair is a candidate if it could close within the step. Two bodies approach by no more than the sum
of their travels, and a grain at rest may be hit within the step and then move as fast as the
grains around it, up to a radius. So each body's reach is dt times its own free speed or the largest
among its near neighbours, plus a small share of its radius:

    near_i  = 0.1 r_i + dt |v*_i|                                    (who is a near neighbour)
    reach_i = 0.005 r_i + max(dt |v*_i|, min(r_i, dt max |v*_j|, j near i))
                                                        (candidates: gap < reach_i + reach_j)

(plus the range of cohesion, where there is any). A grain that crosses many diameters in a step has
all that lie that near for neighbours; were its reach theirs, each would look at each. Pushes that
are passed on through several grains, rebounds, and hits by such a grain can make a grain faster
than its reach says. Once the impulses are known, `overlooked` looks again with the velocities that
they give, and the step is solved once more if a pair would close that was no candidate.

Both rules look at the present state only and the list of pairs (`contact.pairs`) is sorted, so the
candidates and their order do not depend on when the list was made: a resumed run has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.narrow import candidates, neighbourhood_max
from hardgrain.contact.neighbours import find_pairs, find_wall_pairs, merge_pairs
from hardgrain.contact.pairs import PairList, wall_geometry
from hardgrain.contact.rows import complete
from hardgrain.errors import InputError
from hardgrain.kernels import device, jit
from hardgrain.scene import lawtable
from hardgrain.scene.model import Contacts, Floats, Model, State
from hardgrain.scene.place import worst_overlap

__all__ = ["Detector", "deepest_overlap", "refuse_overlaps"]

# [radius] Grains closer than this count as neighbours that can push each other within the step. If
# it is larger, more grains get the reach of a fast one and there are more candidates; if it is
# smaller, more pushes are foreseen only by `overlooked`, which solves the step a second time.
NEAR = 0.1
# [radius] Reach that every grain has even at rest. If it is larger, sweeps visit more open contacts
# for nothing; if it is smaller, more steps overlook a pair and are solved a second time.
MARGIN = 0.005
# [radius] The farthest that the speed of its neighbours can extend a grain's reach. If it is
# larger, one fast grain makes all the grains on its way look at each other; if it is smaller, more
# steps in which a grain is hit hard are solved a second time.
PASSED = 1.0
# [radius] Overlap that rounding may give to input that is meant to touch. If it is smaller, exact
# lattices are refused; if it is larger, real overlaps are let in without a word.
ALLOWED = 1e-9


class Detector:
    """Finds each step's contact candidates."""

    def __init__(self, model: Model, dt: float) -> None:
        self.model = model
        self.dt = dt
        self._pairs = PairList(model)
        holds = model.laws[..., lawtable.COHESION] > 0.0
        bonds = np.where(holds, model.laws[..., lawtable.COHESION_RANGE], 0.0)
        self._margin = MARGIN * model.radius + float(bonds.max())

    def find(self, state: State, velocity: Floats) -> Contacts:
        """Candidates for the step that starts from ``state`` with free velocities ``velocity``.

        Their impulses are those that the same contacts had in the last step, else zero.
        """
        model, n, dt = self.model, self.model.n, self.dt
        self._walls = wall_geometry(model, state)
        self._turning = self._pairs.turning_speed(state, self._walls)
        self._pairs.turned += dt * self._turning
        speed = self._speed(velocity)
        near = dt * speed
        near[:n] += NEAR * model.radius
        self._keep_list(state, near)
        index, _, _ = self._narrow(state, near)
        reach = self._travel(speed, self._neighbourhood_max(index, speed))
        reach[:n] += self._margin
        self._keep_list(state, np.maximum(near, reach))
        return self._contacts(state, reach, state.contacts)

    def overlooked(
        self, state: State, contacts: Contacts, velocity: Floats, spread: int
    ) -> Contacts | None:
        """Candidates once more if the solved velocity closes a pair that was none, else None.

        ``spread``: for how many grains ahead of a fast one it is foreseen that the push passes on.
        """
        n, dt = self.model.n, self.dt
        speed = around = self._speed(velocity)
        reach = dt * speed
        reach[:n] += self._margin
        if (reach <= self._reach).all():
            return None
        reach = np.maximum(reach, self._reach)
        self._keep_list(state, reach)
        for _ in range(spread):
            index, _, _ = self._narrow(state, reach)
            around = self._neighbourhood_max(index, around)
            reach = np.maximum(reach, self._travel(speed, around))
            self._keep_list(state, reach)
        more = self._contacts(state, reach, contacts)
        if len(more) == len(contacts):
            return None
        key, known = more.key(self.model.bodies), contacts.key(self.model.bodies)
        new = ~np.isin(key, known, assume_unique=True)
        i, j = more.first[new], more.second[new]
        approach = np.einsum("ka,ka->k", more.normal[new], velocity[j] - velocity[i])
        wall = np.maximum(j - n, 0)
        turns = (j >= n) & (self._turning[wall] > 0.0) if self._turning.size else j < 0
        return more if (turns | (more.gap[new] + dt * approach < 0.0)).any() else None

    def moved(self, state: State, contacts: Contacts) -> Contacts:
        """The same contacts with the normals, gaps and arms that they have in another state."""
        model, walls = self.model, wall_geometry(self.model, state)
        everywhere = np.full(model.bodies, np.inf)
        x, r, period = state.position, model.radius, model.periodic
        _, normal, gap = candidates(
            contacts.first, contacts.second, x, r, period, *walls, everywhere
        )
        return complete(model, x, replace(contacts, normal=normal, gap=gap))

    def _speed(self, velocity: Floats) -> Floats:
        fastest: Floats = speeds(velocity, self._turning)
        return fastest

    def _contacts(self, state: State, reach: Floats, old: Contacts) -> Contacts:
        """All pairs within reach, with the impulses that they have in ``old``."""
        self._reach = reach
        index, normal, gap = self._narrow(state, reach)
        first, second = self._pairs.first[index], self._pairs.second[index]
        feature = np.zeros(first.size, np.int32)
        impulse, torque = carry_over(
            old.first, old.second, old.feature, old.impulse, old.torque, first, second, feature
        )
        found = Contacts(first, second, normal, gap, impulse, torque, feature=feature)
        return complete(self.model, state.position, found)

    def _narrow(self, state: State, reach: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        x, r, period = state.position, self.model.radius, self.model.periodic
        return candidates(self._pairs.first, self._pairs.second, x, r, period, *self._walls, reach)

    def _neighbourhood_max(self, index: NDArray[np.int64], speed: Floats) -> Floats:
        """Largest speed of each grain and its neighbours in the given rows of the list."""
        pairs = self._pairs
        return neighbourhood_max(pairs.first[index], pairs.second[index], speed, self.model.n)

    def _travel(self, own: Floats, around: Floats) -> Floats:
        """How far each body may go in a step by its own speed or, if hit, by one around it."""
        far: Floats = travels(own, around, self.model.radius, self.dt)
        return far

    def _keep_list(self, state: State, reach: Floats) -> None:
        self._pairs.keep(state.position, self._walls, reach, 2.0 * reach)


@jit
def speeds(velocity, turning):  # type: ignore[no-untyped-def]
    """Speed of each body, of walls with what turning adds, shape (nb,)."""
    speed = np.empty(velocity.shape[0])
    n = speed.size - turning.size
    for i in range(speed.size):
        square = 0.0
        for a in range(velocity.shape[1]):
            square += velocity[i, a] ** 2
        speed[i] = math.sqrt(square)
        if i >= n:
            speed[i] += turning[i - n]
    return speed


@jit
def travels(own, around, radius, dt):  # type: ignore[no-untyped-def]
    """Way of each body in a step by its own speed, or by that around it, up to PASSED radii."""
    far = np.empty(own.size)
    for i in range(own.size):
        passed = dt * around[i]
        if i < radius.size:
            passed = min(passed, PASSED * radius[i])
        far[i] = max(dt * own[i], passed)
    return far


@device
def precedes(i, j, f, first, second, feature):  # type: ignore[no-untyped-def]
    """Whether the contact (i, j, f) comes before another in the order of contacts."""
    if i != first:
        return i < first
    if j != second:
        return j < second
    return f < feature


@jit
def carry_over(  # type: ignore[no-untyped-def]
    old_first, old_second, old_feature, old_impulse, old_torque, first, second, feature
):
    """Impulses of last step's contacts for those that are candidates again; both lists sorted."""
    m, dim, ns = first.size, old_impulse.shape[1], old_torque.shape[1]
    impulse, torque = np.zeros((m, dim)), np.zeros((m, ns))
    o = 0
    for k in range(m):
        i, j, f = first[k], second[k], feature[k]
        while o < old_first.size and precedes(old_first[o], old_second[o], old_feature[o], i, j, f):
            o += 1
        if o < old_first.size and old_first[o] == i and old_second[o] == j and old_feature[o] == f:
            for a in range(dim):
                impulse[k, a] = old_impulse[o, a]
            for a in range(ns):
                torque[k, a] = old_torque[o, a]
    return impulse, torque


def deepest_overlap(model: Model, state: State) -> tuple[float, int, int]:
    """Worst overlap relative to the smaller grain's diameter, and its bodies; 0, −1, −1: none.

    All pairs are looked for anew, whatever a run knew of them.
    """
    walls, none, n = wall_geometry(model, state), np.zeros(model.bodies), model.n
    pairs = PairList(model)
    pairs.keep(state.position, walls, none, none)
    index, _, gap = candidates(
        pairs.first, pairs.second, state.position, model.radius, model.periodic, *walls, none
    )
    if not index.size:
        return 0.0, -1, -1
    i, j = pairs.first[index], pairs.second[index]
    other = np.where(j < n, model.radius[np.minimum(j, n - 1)], np.inf)
    share = -gap / (2.0 * np.minimum(model.radius[i], other))
    k = int(share.argmax())
    return float(share[k]), int(i[k]), int(j[k])


def refuse_overlaps(
    model: Model,
    state: State,
    *,
    new_grains: NDArray[np.bool_] | None = None,
    new_walls: Sequence[int] | None = None,
) -> None:
    """Refuse a first state with overlapping bodies, naming the worst pair.

    With ``new_grains`` (n,) and ``new_walls`` only pairs with one of them are looked at: the rest
    comes from an earlier run.
    """
    n, walls = model.n, wall_geometry(model, state)
    x, r, period = state.position[:n], model.radius, model.periodic
    new = np.ones(model.bodies, dtype=bool)
    if new_grains is not None:
        new[:n] = new_grains
    if new_walls is not None:
        new[n:] = False
        new[n + np.array(new_walls, dtype=np.int64)] = True
    overlap, i, j = 0.0, -1, -1
    none = np.zeros(model.bodies)
    first, second = find_wall_pairs(x, r, period, *walls, none[n:])
    free = model.carrier < n  # what is glued may be sunk in walls and in what is glued
    if new[:n].all() and free[:n].all():
        overlap, i, j = worst_overlap(x, r, period)
    elif new[:n].any():
        first, second = merge_pairs(*find_pairs(x, r, period), first, second)
    looked = (new[first] | new[second]) & (free[first] | free[second])
    first, second = first[looked], second[looked]
    index, _, gap = candidates(first, second, x, r, period, *walls, none)
    if gap.size and -gap.min() > overlap:
        worst = index[gap.argmin()]
        overlap, i, j = -float(gap.min()), int(first[worst]), int(second[worst])
    if i < 0 or overlap <= ALLOWED * model.radius[i]:
        return
    at = ", ".join(f"{coordinate:g}" for coordinate in x[i])
    other = f"overlaps grain {j}" if j < n else f"is cut by wall {model.wall_names[j - n]!r}"
    raise InputError(
        f"grain {i} at ({at}) {other} by {overlap:g}, {overlap / (2 * model.radius[i]):.2g} of its"
        " diameter; move them apart, or set scene.allow_overlaps = true"
    )
