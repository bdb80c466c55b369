"""The search for contacts of `contact.search` on all threads, for round grains.

The rules are the same; a step is seen by Python, which calls the loops one after the other. Where
several processes share the grains, each looks for the contacts whose first grain is its own; the
others tell it how far grains near its own may come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.contact.pairs import place_walls, turning_speed
from hardgrain.contact.search import Found, Place, closes_more, travels
from hardgrain.contact.shapes import Listed, Shapes
from hardgrain.core.contact_rows import ContactRows
from hardgrain.core.geometry import Floats, Ints
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.contact_blocks import (
    BLOCK,
    Candidates,
    candidate_blocks,
    closing_blocks,
    fastest_around,
    reaches,
    safe_on_threads,
    written,
)
from hardgrain.point.given import RoundBodies
from hardgrain.point.reach import NEAR
from hardgrain.processes import ALONE, Alone

__all__ = ["find_together", "overlooked_together"]


def _stale(listed: Listed, place: Place, reach: Floats, others: Alone) -> bool:
    return others.any(safe_on_threads(place.position, listed, reach).any())


def find_together(
    shapes: Shapes,
    listed: Listed,
    place: Place,
    old: ContactRows,
    feature: Ints,
    others: Alone = ALONE,
) -> Found:
    """As `contact.search.find`."""
    position, dt, radius = place.position, place.dt, shapes.radius
    point, axis, side = place_walls(
        position, place.orientation, shapes.wall_offset, shapes.wall_axis, shapes.wall_side
    )
    walls = Walls(shapes.wall_kind, point, axis, shapes.wall_size, side)
    turning = turning_speed(
        *others.box(position, place.spin, radius.size), walls, shapes.wall_offset
    )
    listed.turned[:] += dt * turning
    none = np.full(len(position), -1.0)
    speed, near, _ = reaches(place.velocity, turning, radius, NEAR * radius, dt, none)
    if _stale(listed, place, near, others):
        reach, stale = near, True
        how = (stale, reach, walls, turning)
        return _rows(shapes, listed, place, how, (old, feature), _noted(shapes, listed, place, how))
    around = fastest_around(listed, position, radius, shapes.periodic, walls, near, speed)
    others.exchange(around)
    reach = travels(speed, around, radius, dt)
    reach[: radius.size] += shapes.margin
    most = np.maximum(near, reach)
    stale = _stale(listed, place, most, others)
    if stale:
        reach = most
    how = (stale, reach, walls, turning)
    listed = others.owned(listed)
    return _rows(shapes, listed, place, how, (old, feature), _noted(shapes, listed, place, how))


def overlooked_together(
    shapes: Shapes,
    listed: Listed,
    place: Place,
    known: Found,
    spread: int,
    others: Alone = ALONE,
) -> tuple[bool, Found]:
    """As `contact.search.overlooked`."""
    dt, radius, walls = place.dt, shapes.radius, known.walls
    speed, reach, more = reaches(
        place.velocity, known.turning, radius, shapes.margin, dt, known.reach
    )
    if not others.any(more.any()):
        return False, known
    around = speed
    stale = _stale(listed, place, reach, others)
    for _ in range(spread):
        if stale:
            break
        around = fastest_around(
            listed, place.position, radius, shapes.periodic, walls, reach, around
        )
        others.exchange(around)
        reach = np.maximum(reach, travels(speed, around, radius, dt))
        stale = _stale(listed, place, reach, others)
    how = (stale, reach, walls, known.turning)
    last = known.rows, known.feature
    listed = others.owned(listed)
    noted = _noted(shapes, listed, place, how)
    if not (stale or known.turning.any()):
        if not others.any(closing_blocks(noted, listed, known.rows, place.velocity, dt).any()):
            return False, known
        return True, _rows(shapes, listed, place, how, last, noted)
    found = _rows(shapes, listed, place, how, last, noted)
    more_close = closes_more(place, known, found, radius.size, False, np.zeros((0, 0)))
    return not stale and others.any(more_close), found


def _noted(shapes: Shapes, listed: Listed, place: Place, how: Any) -> Candidates:
    """The pairs within reach, block by block; none if the list is stale."""
    stale, reach, walls, _ = how
    dim, pairs = place.position.shape[1], listed.first.size
    blocks = 0 if stale else -(-pairs // BLOCK)
    found = Candidates(
        np.empty(pairs, np.int32), np.empty((pairs, dim)), np.empty(pairs),
        np.zeros(blocks + 1, np.int64),
    )  # fmt: skip
    candidate_blocks(found, listed, place.position, shapes.radius, shapes.periodic, walls, reach)
    return found


def _rows(
    shapes: Shapes, listed: Listed, place: Place, how: Any, last: Any, noted: Candidates
) -> Found:
    """As `contact.search.candidate_rows`."""
    stale, reach, walls, turning = how
    old, m, dim = last[0], int(noted.start[-1]), place.position.shape[1]
    ints, numbers, vectors = (
        [np.empty(m, np.int32) for _ in range(3)],
        [np.empty(m) for _ in range(3)],
        [np.empty((m, dim)) for _ in range(4)],
    )
    rows = ContactRows(
        ints[0], ints[1], vectors[0], numbers[0], vectors[1], vectors[2], numbers[1], numbers[2],
        ints[2], vectors[3], np.empty((m, old.torque.shape[1])),
    )  # fmt: skip
    bodies = RoundBodies(
        place.position, shapes.radius, shapes.periodic, shapes.material, shapes.materials
    )
    written(rows, noted, listed, old, bodies)
    return Found(stale, reach, rows, np.zeros(m, np.int32), walls, turning)
