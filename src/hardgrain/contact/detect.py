"""Contact candidates of a step: the pair list, kept as long as it is safe, and the narrow phase.

A pair is a candidate if it could close within the step. Two bodies approach by no more than the sum
of their travels, and a grain at rest may be hit within the step and then move as fast as the
grains around it. So each body's reach is dt times the largest free speed among its near
neighbours, plus a small share of its radius:

    near_i  = 0.1 r_i + dt |v*_i|                         (who counts as a near neighbour)
    reach_i = 0.005 r_i + dt max(|v*_j|, j near i or i)   (candidates: gap < reach_i + reach_j)

(plus the range of cohesion, where there is any). Pushes that are passed on through several grains,
and rebounds, can make a grain faster than that. Once the impulses are known, `overlooked` looks
again with the velocities that they give, and the step is solved once more if a pair would close
that was no candidate.

The list of pairs is sought with a larger safety distance around each grain, and sought again when
some grain has used its own up. Both rules look at the present state only and the list is sorted,
so the candidates and their order do not depend on when the list was made: a resumed run has the
same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hardgrain.contact.geometry import INSIDE, PLANE
from hardgrain.contact.narrow import candidates, neighbourhood_max
from hardgrain.contact.neighbours import find_pairs, find_wall_pairs, merge_pairs
from hardgrain.errors import InputError
from hardgrain.kernels import jit
from hardgrain.scene import lawtable
from hardgrain.scene.model import Contacts, Floats, Ints, Model, State
from hardgrain.scene.place import worst_overlap

__all__ = ["Detector", "refuse_overlaps", "wall_geometry"]

NEAR = 0.1  # [radius] larger: more grains count as able to push; smaller: pushes may be missed
MARGIN = 0.005  # [radius] larger: more open candidates to sweep over; smaller: more misses
SAFETY = 0.15  # [radius] larger: longer lists, made less often
ALLOWED = 1e-9  # [radius] overlap that rounding may give to input meant to touch


def _rotate(orientation: Floats, vectors: Floats) -> Floats:
    """Vectors turned by their bodies' orientations, shape (w, dim)."""
    if orientation.shape[1] == 1:
        c, s = np.cos(orientation[:, 0]), np.sin(orientation[:, 0])
        x, y = vectors[:, 0], vectors[:, 1]
        return np.stack([c * x - s * y, s * x + c * y], axis=1)
    q, w = orientation[:, :3], orientation[:, 3:]
    return vectors + 2.0 * np.cross(q, np.cross(q, vectors) + w * vectors)


def wall_geometry(model: Model, state: State) -> tuple[Ints, Floats, Floats, Floats]:
    """Kind, point, axis and size of all walls where they are now (see `contact.geometry`)."""
    n = model.n
    orientation = state.orientation[n:]
    point = state.position[n:] + _rotate(orientation, model.wall_offset)
    return model.wall_kind, point, _rotate(orientation, model.wall_axis), model.wall_size


class Detector:
    """Finds each step's contact candidates."""

    def __init__(self, model: Model, dt: float) -> None:
        self.model = model
        self.dt = dt
        self._first = self._second = np.zeros(0, np.int32)
        self._safety = np.zeros(model.bodies)  # how far each may go before the list is stale
        self._origin: Floats | None = None  # positions when the list was made
        self._wall_turned = np.zeros(model.bodies - model.n)  # travel by turning since then
        holds = model.laws[..., lawtable.COHESION] > 0.0
        bonds = np.where(holds, model.laws[..., lawtable.COHESION_RANGE], 0.0)
        self._margin = MARGIN * model.radius + float(bonds.max())

    def find(self, state: State, velocity: Floats) -> Contacts:
        """Candidates for the step that starts from ``state`` with free velocities ``velocity``.

        Their impulses are those that the same contacts had in the last step, else zero.
        """
        model, n, dt = self.model, self.model.n, self.dt
        self._walls = wall_geometry(model, state)
        self._turning = self._turning_speed(state)
        self._wall_turned += dt * self._turning
        speed = self._speed(velocity)
        near = dt * speed
        near[:n] += NEAR * model.radius
        self._keep_list(state, near)
        index, _, _ = self._narrow(state, near)
        reach = dt * neighbourhood_max(self._first[index], self._second[index], speed, n)
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
        speed = self._speed(velocity)
        reach = dt * speed
        reach[:n] += self._margin
        if (reach <= self._reach).all():
            return None
        reach = np.maximum(reach, self._reach)
        self._keep_list(state, reach)
        for _ in range(spread):
            index, _, _ = self._narrow(state, reach)
            speed = neighbourhood_max(self._first[index], self._second[index], speed, n)
            reach = np.maximum(reach, dt * speed)
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

    def _speed(self, velocity: Floats) -> Floats:
        speed: Floats = np.sqrt(np.einsum("ia,ia->i", velocity, velocity))
        speed[self.model.n :] += self._turning
        return speed

    def _contacts(self, state: State, reach: Floats, old: Contacts) -> Contacts:
        """All pairs within reach, with the impulses that they have in ``old``."""
        self._reach = reach
        index, normal, gap = self._narrow(state, reach)
        first, second = self._first[index], self._second[index]
        impulse, torque = carry_over(old.first, old.second, old.impulse, old.torque, first, second)
        return Contacts(first, second, normal, gap, impulse, torque)

    def _narrow(self, state: State, reach: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        x, r, period = state.position, self.model.radius, self.model.periodic
        return candidates(self._first, self._second, x, r, period, *self._walls, reach)

    def _turning_speed(self, state: State) -> Floats:
        """Bound on the speed that turning gives to a wall's surface where grains can be."""
        model, n = self.model, self.model.n
        turn: Floats = np.linalg.norm(state.spin[n:], axis=1)
        if not turn.any():
            return turn
        # a drum that turns about its own axis, and a plane about its normal, stay where they are
        stays = (model.wall_kind >= INSIDE) & ~model.wall_offset.any(axis=1)
        if model.dim == 3:
            axis = self._walls[2]
            stays |= model.wall_kind == PLANE
            stays &= np.linalg.norm(np.cross(state.spin[n:], axis), axis=1) <= 1e-12 * turn
        turn[stays] = 0.0
        spread = state.position[:n].max(axis=0) - state.position[:n].min(axis=0)
        far = np.linalg.norm(state.position[n:] - state.position[:n].mean(axis=0), axis=1)
        turn *= far + np.linalg.norm(spread)
        return turn

    def _keep_list(self, state: State, reach: Floats) -> None:
        """Make the pair list anew unless it still holds every pair within the given reach."""
        model, n = self.model, self.model.n
        if self._origin is not None:
            moved = state.position - self._origin
            travel = np.sqrt(np.einsum("ia,ia->i", moved, moved))
            travel[n:] += self._wall_turned
            if (travel + reach <= self._safety).all():
                return
        self._origin = state.position.copy()
        self._wall_turned[:] = 0.0
        self._safety = 2.0 * reach
        self._safety[:n] += SAFETY * model.radius
        self._safety[n:] += SAFETY * float(model.radius.mean())
        extent = model.radius + self._safety[:n]
        x, period = self._origin[:n], model.periodic
        pairs = find_pairs(x, extent, period)
        wall_pairs = find_wall_pairs(x, extent, period, *self._walls, self._safety[n:])
        self._first, self._second = merge_pairs(*pairs, *wall_pairs)


@jit
def carry_over(old_first, old_second, old_impulse, old_torque, first, second):  # type: ignore[no-untyped-def]
    """Impulses of last step's contacts for those that are candidates again; both lists sorted."""
    m, dim, ns = first.size, old_impulse.shape[1], old_torque.shape[1]
    impulse, torque = np.zeros((m, dim)), np.zeros((m, ns))
    o = 0
    for k in range(m):
        i, j = first[k], second[k]
        while o < old_first.size and (
            old_first[o] < i or (old_first[o] == i and old_second[o] < j)
        ):
            o += 1
        if o < old_first.size and old_first[o] == i and old_second[o] == j:
            for a in range(dim):
                impulse[k, a] = old_impulse[o, a]
            for a in range(ns):
                torque[k, a] = old_torque[o, a]
    return impulse, torque


def refuse_overlaps(model: Model, state: State, *, new_walls: Sequence[int] | None = None) -> None:
    """Refuse a first state with overlapping bodies, naming the worst pair.

    With ``new_walls`` only these walls are looked at: the rest comes from an earlier run.
    """
    n, (kind, point, axis, size) = model.n, wall_geometry(model, state)
    x = state.position[:n]
    overlap, i, j = 0.0, -1, -1
    if new_walls is None:
        overlap, i, j = worst_overlap(x, model.radius, model.periodic)
        new_walls = range(kind.size)
    chosen = np.array(new_walls, dtype=np.int64)
    walls = kind[chosen], point[chosen], axis[chosen], size[chosen]
    none = np.zeros(n + chosen.size)
    grain, wall = find_wall_pairs(x, model.radius, model.periodic, *walls, none[n:])
    index, _, gap = candidates(grain, wall, x, model.radius, model.periodic, *walls, none)
    if gap.size and -gap.min() > overlap:
        worst = index[gap.argmin()]
        overlap, i = -float(gap.min()), int(grain[worst])
        j = n + int(chosen[wall[worst] - n])
    if i < 0 or overlap <= ALLOWED * model.radius[i]:
        return
    at = ", ".join(f"{coordinate:g}" for coordinate in x[i])
    other = f"overlaps grain {j}" if j < n else f"is cut by wall {model.wall_names[j - n]!r}"
    raise InputError(
        f"grain {i} at ({at}) {other} by {overlap:g}, {overlap / (2 * model.radius[i]):.2g} of its"
        " diameter; move them apart, or set scene.allow_overlaps = true"
    )
