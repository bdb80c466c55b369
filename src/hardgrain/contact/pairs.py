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

from hardgrain.contact.neighbours import list_pairs
from hardgrain.contact.neighbours_together import pairs_together
from hardgrain.contact.shapes import Listed
from hardgrain.core.cell import Cell
from hardgrain.core.geometry import Floats
from hardgrain.core.model import Model, State
from hardgrain.core.wall_kinds import MESH, Walls
from hardgrain.cpu.cell import lost_by, matrix, since
from hardgrain.errors import RunError
from hardgrain.kernels import jit, scalar
from hardgrain.point.reach import make_reach
from hardgrain.point.wall_motion import make_wall_motion

__all__ = ["PairList", "extent", "place_walls", "rotate", "turning_speed", "wall_geometry"]

_log = logging.getLogger(__name__)

# [radius] How far a grain may travel before the list of pairs is made anew. If it is larger, lists
# are longer and made less often; if it is smaller, they are shorter and made more often. It changes
# the time that a run takes, never its result.
SAFETY = 0.15

# Pairs for each grain, on average, beyond which a step is refused. Dense packings list about ten; a
# thousand means that all grains cross several diameters in a step, which no contact could survive,
# and that lists would soon need all memory. Up to 2000 grains have no more pairs than this.
MOST = 1000

_walls = make_wall_motion(scalar)
turned_by, stays = _walls.turned, _walls.stays
is_safe = make_reach(scalar).is_safe


@jit
def rotate(orientation, vectors):  # type: ignore[no-untyped-def]
    """Vectors turned by their bodies' orientations, (m, 1) angles or (m, 4) quaternions."""
    turned = np.empty(vectors.shape)
    for k in range(vectors.shape[0]):
        for a in range(vectors.shape[1]):
            turned[k, a] = turned_by(orientation, k, vectors, k, a)
    return turned


@jit
def place_walls(position, orientation, offset, axis, side):  # type: ignore[no-untyped-def]
    """Point, axis and side of all walls, the last bodies, where they are now; each (w, dim)."""
    n = position.shape[0] - offset.shape[0]
    turned = orientation[n:]
    return rotate(turned, offset) + position[n:], rotate(turned, axis), rotate(turned, side)


def wall_geometry(model: Model, state: State) -> Walls:
    """Kind, point, axis, size and side of all walls where they are now."""
    m = model
    point, axis, side = place_walls(
        state.position, state.orientation, m.wall_offset, m.wall_axis, m.wall_side
    )
    return Walls(m.wall_kind, point, axis, m.wall_size, side)


@jit
def turning_speed(position, spin, walls, offset):  # type: ignore[no-untyped-def]
    """Bound on the speed that turning gives to a wall's surface where grains can be, (w,).

    Walls that turn in themselves stay where they are. No point of a mesh is faster than a corner of
    its box.
    """
    kind, axis = walls.kind, walls.axis
    w, dim = offset.shape
    n = position.shape[0] - w
    found = np.zeros(w)
    for k in range(w):
        square = 0.0
        for a in range(spin.shape[1]):
            square += spin[n + k, a] ** 2
        found[k] = math.sqrt(square)
    if n == 0 or not found.any():
        return found
    spread, middle = extent(position, n)
    for k in range(w):
        if found[k] == 0.0:
            continue
        if kind[k] == MESH:
            far, box = 0.0, walls.size[k] ** 2
            for a in range(dim):
                far += offset[k, a] ** 2
                box += axis[k, a] ** 2 + walls.side[k, a] ** 2
            found[k] *= math.sqrt(far) + math.sqrt(box)
            continue
        away = 0.0
        for a in range(dim):
            away += (position[n + k, a] - middle[a]) ** 2
        still = stays(kind, offset, axis, spin, n + k, k)
        found[k] = 0.0 if still else found[k] * (math.sqrt(away) + spread)
    return found


@jit
def extent(position, n):  # type: ignore[no-untyped-def]
    """Diagonal of the box that holds the centres of the first n bodies, and its middle (dim,)."""
    dim = position.shape[1]
    square, middle = 0.0, np.zeros(dim)
    for a in range(dim):
        low = high = position[0, a]
        for i in range(n):
            low, high = min(low, position[i, a]), max(high, position[i, a])
        middle[a] = 0.5 * (low + high)
        square += (high - low) ** 2
    return math.sqrt(square), middle


class PairList:
    """Pairs of grains, and of grains and walls, that may touch soon."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._glued = bool((model.carrier != np.arange(model.bodies)).any())
        self.first = self.second = np.zeros(0, np.int32)
        self._made = False
        self.together = False  # whether all threads make it
        self.safety = np.full(model.bodies, -1.0)  # no list is safe before it is made
        self.origin = np.zeros((model.bodies, model.dim))
        self.turned = np.zeros(model.bodies - model.n)
        self.cell = Cell.straight(model.periodic).matrix  # when the list was made
        self.made = self.origin, self.safety  # as they were then, where the cell deforms

    @property
    def listed(self) -> Listed:
        """The list as compiled functions read it."""
        return Listed(self.first, self.second, self.origin, self.turned, self.safety)

    def listed_in(self, state: State) -> Listed:
        """The list in a state, as compiled functions read it."""
        if state.cell.size:
            carry(self.listed, self.made, self.model.radius, self.cell, state.cell)
        return self.listed

    def keep(self, position: Floats, walls: Walls, reach: Floats, further: Floats) -> bool:
        """Make the list anew unless it holds every pair that bodies with this reach can close.

        Returns whether it was made anew; see `make`.
        """
        if self._made and safe(position, self.listed, reach):
            return False
        self.make(position, walls, reach, further)
        return True

    def make(
        self,
        position: Floats,
        walls: Walls,
        reach: Floats,
        further: Floats,
        cell: Floats | None = None,
    ) -> None:
        """List every pair that bodies with this reach can close.

        position: shape (bodies, dim) [length]; reach, further: shape (bodies,) [length]. The list
        has room for ``further`` and the usual safety distance. cell: `State.cell`, where the cell
        deforms.
        """
        model, n, self._made = self.model, self.model.n, True
        periodic = model.periodic
        if cell is not None and cell.size:
            self.cell, periodic = Cell(cell).matrix, Cell(cell).reduced().numbers
        self.origin = position.copy()
        self.turned[:] = 0.0
        self.safety = further.copy()
        self.safety[:n] += SAFETY * model.radius
        self.safety[n:] += SAFETY * float(model.radius.mean()) if n else 0.0
        extent = model.radius + self.safety[:n]
        listing = pairs_together if self.together and n else list_pairs
        listed = listing(self.origin, extent, periodic, walls, self.safety[n:], MOST * n)
        if listed is None:
            self._refuse(reach)
        first, second = listed
        if self._glued:  # what walls carry meets no other wall, nor what that carries
            free = model.carrier < n
            meet = free[first] | free[second]
            first, second = first[meet], second[meet]
        self.first, self.second = first, second
        self.made = self.origin.copy(), self.safety.copy()
        _log.debug("Made the pair list anew: %d pairs of %d grains.", first.size, n)

    def _refuse(self, reach: Floats) -> NoReturn:
        """Say that the step is too long, and for which grain most."""
        radius, who = self.model.radius, self.model.body_name
        travel = reach[: radius.size] / (2.0 * radius)
        i = int(travel.argmax())
        raise RunError(
            f"the step is too long: {who(i)} may cross {travel[i]:.3g} of its diameters in it, and"
            f" more than {MOST} pairs for each grain could meet; lower dt, so that grains cross a"
            " small part of their diameters in a step"
        )


# A cell that deforms by F since the list was made takes a pair that was r apart to F r and some way
# of each grain beyond that, and |F r| ≥ (1 − lost) |r| (`cpu.cell`). So each grain has travelled
# |x − F x₀| + lost (radius + safety).
@jit
def carry(listed, made, radius, then, cell):  # type: ignore[no-untyped-def]
    """Write origins and safeties of a list in a cell that has these numbers now.

    made: what both were when the list was made, and the cell had the matrix ``then``.
    """
    origin, safety = made
    f = since(matrix(cell), then)
    lost, dim = lost_by(f), f.shape[0]
    for i in range(radius.size):
        for a in range(dim):
            x = 0.0
            for b in range(a, dim):
                x += f[a, b] * origin[i, b]
            listed.origin[i, a] = x
        room = safety[i]  # negative before the first list is made
        listed.safety[i] = room - lost * (radius[i] + room) if room >= 0.0 else room


@jit
def safe(position, listed, reach):  # type: ignore[no-untyped-def]
    """Whether no body has travelled so far since a list was made that its reach leaves it."""
    for i in range(position.shape[0]):  # noqa: SIM110 (a generator would be slower here)
        if not is_safe(position, listed, reach[i], i):
            return False
    return True
