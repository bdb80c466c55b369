"""Contact candidates of a step: the pair list, kept as long as it is safe, and the narrow phase.

A pair is a candidate if it could close within the step. Two bodies approach by no more than the sum
of their travels, and a grain at rest may be hit within the step and then move as fast as the
grains around it. So each body's reach is dt times the largest free speed among its near
neighbours, plus a small share of its radius:

    near_i  = 0.1 r_i + dt |v*_i|                         (who counts as a near neighbour)
    reach_i = 0.005 r_i + dt max(|v*_j|, j near i or i)   (candidates: gap < reach_i + reach_j)

(plus the range of cohesion, where there is any).
The list of pairs is sought with a larger safety distance around each grain, and sought again when
some grain has used its own up. Both rules look at the present state only and the list is sorted,
so the candidates and their order do not depend on when the list was made: a resumed run has the
same bits.
"""

from __future__ import annotations

import numpy as np

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
        self.rebuilds = 0
        self._first = self._second = np.zeros(0, np.int32)
        self._safety = np.zeros(model.n)  # how far each grain may go before the list is stale
        self._wall_safety = np.zeros(model.bodies - model.n)
        self._origin: Floats | None = None
        self._wall_travel = np.zeros(model.bodies - model.n)
        holds = model.laws[..., lawtable.COHESION] > 0.0
        bonds = np.where(holds, model.laws[..., lawtable.COHESION_RANGE], 0.0)
        self._margin = MARGIN * model.radius + float(bonds.max())

    def find(self, state: State, velocity: Floats) -> Contacts:
        """Candidates for the step that starts from ``state`` with free velocities ``velocity``.

        Their impulses are those that the same contacts had in the last step, else zero.
        """
        model, n, dt = self.model, self.model.n, self.dt
        walls = wall_geometry(model, state)
        speed = np.sqrt(np.einsum("ia,ia->i", velocity, velocity))
        speed[n:] += self._turning_speed(state)
        near = dt * speed
        near[:n] += NEAR * model.radius
        self._keep_list(state, walls, near)
        index, _, _ = self._narrow(state, walls, near)
        reach = dt * neighbourhood_max(self._first[index], self._second[index], speed, n)
        reach[:n] += self._margin
        self._keep_list(state, walls, np.maximum(near, reach))
        index, normal, gap = self._narrow(state, walls, reach)
        self._wall_travel += dt * speed[n:]
        first, second = self._first[index], self._second[index]
        old = state.contacts
        impulse, torque = carry_over(old.first, old.second, old.impulse, old.torque, first, second)
        return Contacts(first, second, normal, gap, impulse, torque)

    def _narrow(self, state: State, walls: tuple[Ints, Floats, Floats, Floats], reach: Floats):  # type: ignore[no-untyped-def]
        model = self.model
        return candidates(
            self._first, self._second, state.position, model.radius, model.periodic, *walls, reach
        )

    def _turning_speed(self, state: State) -> Floats:
        """Bound on the speed that turning gives to a wall's surface where grains can be."""
        model, n = self.model, self.model.n
        turn: Floats = np.linalg.norm(state.spin[n:], axis=1)
        if not turn.any():
            return turn
        # a drum that turns about its own axis stays where it is
        circle = (model.wall_kind >= 2) & ~model.wall_offset.any(axis=1)
        if model.dim == 3:
            axis = model.wall_axis
            circle &= np.linalg.norm(np.cross(state.spin[n:], axis), axis=1) <= 1e-12 * turn
        turn[circle] = 0.0
        spread = state.position[:n].max(axis=0) - state.position[:n].min(axis=0)
        far = np.linalg.norm(state.position[n:] - state.position[:n].mean(axis=0), axis=1)
        turn *= far + np.linalg.norm(spread)
        return turn

    def _keep_list(
        self, state: State, walls: tuple[Ints, Floats, Floats, Floats], reach: Floats
    ) -> None:
        """Make the pair list anew unless it still holds every pair within the given reach."""
        model, n = self.model, self.model.n
        x = state.position[:n]
        if self._origin is not None:
            moved = x - self._origin
            travel = np.sqrt(np.einsum("ia,ia->i", moved, moved))
            if (travel + reach[:n] <= self._safety).all() and (
                self._wall_travel + reach[n:] <= self._wall_safety
            ).all():
                return
        self.rebuilds += 1
        self._origin = x.copy()
        self._wall_travel[:] = 0.0
        self._safety = 2.0 * reach[:n] + SAFETY * model.radius
        self._wall_safety = 2.0 * reach[n:] + SAFETY * float(model.radius.mean())
        extent = model.radius + self._safety
        pairs = find_pairs(x, extent, model.periodic)
        wall_pairs = find_wall_pairs(x, extent, model.periodic, *walls, self._wall_safety)
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


def refuse_overlaps(model: Model, state: State) -> None:
    """Refuse a first state with overlapping bodies, naming the worst pair."""
    n, walls = model.n, wall_geometry(model, state)
    x = state.position[:n]
    overlap, i, j = worst_overlap(x, model.radius, model.periodic)
    none = np.zeros(model.bodies)
    grain, wall = find_wall_pairs(x, model.radius, model.periodic, *walls, none[n:])
    index, _, gap = candidates(
        grain, wall, state.position, model.radius, model.periodic, *walls, none
    )
    if gap.size and -gap.min() > overlap:
        worst = index[gap.argmin()]
        overlap, i, j = -float(gap.min()), int(grain[worst]), int(wall[worst])
    if i < 0 or overlap <= ALLOWED * model.radius[i]:
        return
    at = ", ".join(f"{coordinate:g}" for coordinate in x[i])
    other = f"overlaps grain {j}" if j < n else f"is cut by wall {model.wall_names[j - n]!r}"
    raise InputError(
        f"grain {i} at ({at}) {other} by {overlap:g}, {overlap / (2 * model.radius[i]):.2g} of its"
        " diameter; move them apart, or set scene.allow_overlaps = true"
    )
