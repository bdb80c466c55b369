"""What lives on the device: bodies, pairs, contacts and the room in which steps work.

Buffers are longer than what they hold; how much that is stands in ``numbers``. A kernel that finds
a buffer too small writes down how much it needs and does nothing else, so that the host can make
it longer and ask again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "CONTACTS", "COUNTED", "FASTER", "GHOSTS", "LACKS", "LEFT", "MET", "MORE", "NEED_BODIES",
    "NEED_COLOURS", "NEED_CONTACTS", "NEED_GHOSTS", "NUMBERS", "PAIRS", "SHADES", "STALE", "STEP",
    "SWEPT", "TILES", "Bodies", "Held", "Pairs", "Problem", "Search", "Tiles",
]  # fmt: skip

# Places in ``numbers``: what a step counted, and what it lacked.
(
    STALE,  # 1: the pair list must be made anew
    NEED_CONTACTS,  # room for so many is needed
    NEED_GHOSTS,
    NEED_BODIES,  # in a tile
    NEED_COLOURS,  # in a tile
    CONTACTS,  # candidates
    LEFT,  # contacts that belong to no tile
    TILES,  # tiles of all colours
    MORE,  # 1: the impulses close a pair that was no candidate
    FASTER,  # 1: they gave a body more speed than its reach allows
    GHOSTS,
    SHADES,  # inner colours, the most that a tile has
    SWEPT,  # sweeps done
    MET,  # 1: the stopping rule was met
    COUNTED,  # what each step counts anew ends here
    STEP,  # steps made before
    PAIRS,  # listed
    NUMBERS,
) = range(18)
LACKS = 5  # as many of them end a step before it is made: the host must see to them first


class Bodies(NamedTuple):
    """Grains, then walls; see `hardgrain.core.model`."""

    position: Any
    orientation: Any
    velocity: Any
    spin: Any
    force: Any
    torque: Any
    inv_mass: Any
    inv_inertia: Any
    radius: Any  # (n,)
    margin: Any  # (n,)
    material: Any  # (nb,)
    periodic: Any  # (dim,)
    wall_kind: Any
    wall_offset: Any
    wall_axis: Any
    wall_size: Any
    wall_side: Any


class Pairs(NamedTuple):
    """The pair list; see `hardgrain.contact.shapes.Listed`."""

    first: Any
    second: Any
    origin: Any
    turned: Any
    safety: Any


class Search(NamedTuple):
    """Room in which candidates are found."""

    free_velocity: Any  # (nb, dim)
    free_spin: Any  # (nb, ns)
    speed: Any  # (nb,)
    around: Any  # (nb,)
    near: Any  # (nb,)
    reach: Any  # (nb,)
    wall_point: Any  # (w, dim)
    wall_turned: Any  # (w, dim) axis
    wall_side: Any  # (w, dim)
    turning: Any  # (w,)
    corner: Any  # (CHUNKS, 2 dim) least and largest coordinates
    counts: Any  # (CHUNKS,) whole numbers
    numbers: Any  # (NUMBERS,) int64
    arrivals: Any  # (1,) uint32, of blocks that wait for each other


class Held(NamedTuple):
    """Contacts as rows, with where those of each body begin."""

    first: Any
    second: Any
    normal: Any
    gap: Any
    arm_first: Any
    arm_second: Any
    width: Any
    roll: Any
    law: Any
    impulse: Any
    torque: Any
    start: Any  # (nb + 1,)


class Tiles(NamedTuple):
    """Which tile sweeps which contact."""

    width: Any  # (dim,)
    count: Any  # (dim,)
    period: Any  # (dim,)
    tile: Any  # (n,) of each grain
    bodies: Any  # (n,) grains, tile by tile
    body_start: Any  # (tiles + 1,)
    start: Any  # (tiles + 1,) of the rows of each tile
    fill: Any  # (tiles,)
    members: Any  # (tiles, most) rows of the bodies that a tile moves or touches
    number: Any  # (tiles,) how many of them
    colour: Any  # (tiles, COLOURS + 1) where inner colours begin
    shades: Any  # (tiles,) how many inner colours there are
    used: Any  # (n,) uint64, inner colours that each grain has
    stored: Any  # (m,) contact of each row
    left: Any  # (m,) contacts that belong to no tile
    counts: Any  # (2, CHUNKS)


class Problem(NamedTuple):
    """The packed problem: rows tile by tile, colour by colour."""

    first: Any  # (m,) uint32, row of b
    second: Any
    inner_first: Any  # (m,) uint16, place among the members of the tile
    inner_second: Any
    c: Any
    b: Any
    r: Any  # (nb,) length of arms
    ghost: Any  # (m,) row of the ghost of a contact, or −1
    before: Any  # (m or 0, 7) impulses before a sweep, for the local and global rules
    parts: Any  # (CHUNKS, 8)
    found: Any  # (8,)
