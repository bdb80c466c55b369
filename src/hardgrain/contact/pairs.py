"""The list of pairs that may touch soon: made with room to spare, kept as long as it is safe.

Around each body lies a safety distance; all pairs whose surfaces are closer than the sum of theirs
are listed. The list holds every pair that can touch as long as no body has travelled further than
its own distance. It is sorted by (first, second), so that what is made of it in its order does not
depend on when it was made.
"""

from __future__ import annotations

import logging
import math
from typing import NoReturn

import numpy as np

from hardgrain.contact.neighbours import find_pairs, find_wall_pairs, merge_pairs
from hardgrain.errors import RunError
from hardgrain.kernels import jit
from hardgrain.scene.geometry import INSIDE, OUTSIDE, PLANE, Floats, Ints
from hardgrain.scene.model import Model, State

__all__ = ["PairList", "Walls", "rotate", "wall_geometry"]

_log = logging.getLogger(__name__)

# [radius] How far a grain may travel before the list of pairs is made anew. If it is larger, lists
# are longer and made less often; if it is smaller, they are shorter and made more often. It changes
# the time that a run takes, never its result.
SAFETY = 0.15

# Pairs for each grain, on average, beyond which a step is refused. Dense packings list about ten; a
# thousand means that all grains cross several diameters in a step, which no contact could survive,
# and that lists would soon need all memory. Up to 2000 grains have no more pairs than this.
MOST = 1000

Walls = tuple[Ints, Floats, Floats, Floats, Floats]  # kind, point, axis, size, side: see geometry


def rotate(orientation: Floats, vectors: Floats) -> Floats:
    """Vectors turned by their bodies' orientations, shape (w, dim)."""
    if orientation.shape[1] == 1:
        c, s = np.cos(orientation[:, 0]), np.sin(orientation[:, 0])
        x, y = vectors[:, 0], vectors[:, 1]
        return np.stack([c * x - s * y, s * x + c * y], axis=1)
    q, w = orientation[:, :3], orientation[:, 3:]
    return vectors + 2.0 * np.cross(q, np.cross(q, vectors) + w * vectors)


def wall_geometry(model: Model, state: State) -> Walls:
    """Kind, point, axis, size and side of all walls where they are now."""
    n = model.n
    orientation = state.orientation[n:]
    if not orientation[:, :3].any():  # no wall has turned
        point = state.position[n:] + model.wall_offset
        return model.wall_kind, point, model.wall_axis, model.wall_size, model.wall_side
    point = state.position[n:] + rotate(orientation, model.wall_offset)
    axis, side = (rotate(orientation, v) for v in (model.wall_axis, model.wall_side))
    return model.wall_kind, point, axis, model.wall_size, side


class PairList:
    """Pairs of grains, and of grains and walls, that may touch soon."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._glued = bool((model.carrier != np.arange(model.bodies)).any())
        self.first = self.second = np.zeros(0, np.int32)
        self.safety = np.zeros(model.bodies)  # how far each may go before the list is stale
        self.origin: Floats | None = None  # positions when the list was made
        self.turned = np.zeros(model.bodies - model.n)  # travel of walls by turning since then

    def keep(self, position: Floats, walls: Walls, reach: Floats, further: Floats) -> bool:
        """Make the list anew unless it holds every pair that bodies with this reach can close.

        position: shape (bodies, dim) [length]; reach, further: shape (bodies,) [length]. A new list
        has room for ``further`` and the usual safety distance. Returns whether it was made anew.
        """
        model, n = self.model, self.model.n
        if self.origin is not None and safe(position, self.origin, self.turned, reach, self.safety):
            return False
        self.origin = position.copy()
        self.turned[:] = 0.0
        self.safety = further.copy()
        self.safety[:n] += SAFETY * model.radius
        self.safety[n:] += SAFETY * float(model.radius.mean()) if n else 0.0
        extent = model.radius + self.safety[:n]
        x, period = self.origin[:n], model.periodic
        pairs = find_pairs(x, extent, period, MOST * n)
        if pairs[0].size > MOST * n:
            self._refuse(reach)
        wall_pairs = find_wall_pairs(x, extent, period, *walls, self.safety[n:])
        first, second = merge_pairs(*pairs, *wall_pairs)
        if self._glued:  # what walls carry meets no other wall, nor what that carries
            free = model.carrier < n
            meet = free[first] | free[second]
            first, second = first[meet], second[meet]
        self.first, self.second = first, second
        _log.debug("Made the pair list anew: %d pairs of %d grains.", first.size, n)
        return True

    def _refuse(self, reach: Floats) -> NoReturn:
        """Say that the step is too long, and for which grain most."""
        radius = self.model.radius
        travel = reach[: radius.size] / (2.0 * radius)
        i = int(travel.argmax())
        raise RunError(
            f"the step is too long: grain {i} may cross {travel[i]:.3g} of its diameters in it, and"
            f" more than {MOST} pairs for each grain could meet; lower dt, so that grains cross a"
            " small part of their diameters in a step"
        )

    def turning_speed(self, state: State, walls: Walls) -> Floats:
        """Bound on the speed that turning gives to a wall's surface where grains can be, (w,)."""
        model, n = self.model, self.model.n
        turn: Floats = np.linalg.norm(state.spin[n:], axis=1)
        if not turn.any() or n == 0:
            return turn
        # a drum that turns about its own axis, and a plane about its normal, stay where they are
        round_ = (model.wall_kind == INSIDE) | (model.wall_kind == OUTSIDE)
        stays = round_ & ~model.wall_offset.any(axis=1)
        if model.dim == 3:
            axis = walls[2]
            stays |= model.wall_kind == PLANE
            stays &= np.linalg.norm(np.cross(state.spin[n:], axis), axis=1) <= 1e-12 * turn
        turn[stays] = 0.0
        spread = state.position[:n].max(axis=0) - state.position[:n].min(axis=0)
        far = np.linalg.norm(state.position[n:] - state.position[:n].mean(axis=0), axis=1)
        turn *= far + np.linalg.norm(spread)
        return turn


@jit
def safe(position, origin, turned, reach, safety):  # type: ignore[no-untyped-def]
    """Whether no body has travelled so far since a list was made that its reach leaves it."""
    n = position.shape[0] - turned.size
    for i in range(position.shape[0]):
        travel = 0.0
        for a in range(position.shape[1]):
            travel += (position[i, a] - origin[i, a]) ** 2
        travel = math.sqrt(travel)
        if i >= n:
            travel += turned[i - n]
        if not travel + reach[i] <= safety[i]:
            return False
    return True
