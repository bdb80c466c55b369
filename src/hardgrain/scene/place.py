"""Positions at which grains start: on a grid, deposited, loosely at random, or given."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from hardgrain.core.wall_kinds import Walls
from hardgrain.errors import InputError
from hardgrain.scene._base import Finite, NotNegative, Numbers, Share, Spec, Whole, plain
from hardgrain.scene.cells import SLACK, loosely, on_grid

__all__ = [
    "At", "Deposit", "Grid", "Loose", "Placement", "Voronoi", "entrances", "place", "worst_overlap",
]  # fmt: skip

Floats = NDArray[np.float64]

# [cells and grains looked at, some nanoseconds each] Work that deposition may cost: some
# hundred vain tries per grain. Beyond it, the packing is so near saturation that it hardly grows.
_WORK = 10_000
_WORK_AT_LEAST = 10_000_000
_WORK_AT_ONCE = 300_000_000  # work of about a second, after which Ctrl-C is answered


class _Region(Spec):
    min: Numbers  # lower corner of the region, a number for each axis [length]
    max: Numbers  # upper corner of the region, a number for each axis [length]

    @model_validator(mode="after")
    def _check(self) -> _Region:
        if len(self.min) != len(self.max):
            raise ValueError(
                f"min has {len(self.min)} entries but max has {len(self.max)};"
                " give one per dimension to each"
            )
        for axis, low, high in zip("xyz", self.min, self.max):
            if not low < high:
                raise ValueError(f"max is {high:g} along {axis} but must exceed min, {low:g}")
            if not math.isfinite(high - low):
                raise ValueError(f"max is {high:g} along {axis}, too far from min, {low:g}")
        return self


class Grid(_Region):
    """A square or cubic lattice that fills the region from its lower end, layer by layer.

    Points at which a wall would cut the grain stay empty. Grains of other sets are not avoided.
    """

    kind: Literal["grid"] = "grid"
    spacing: NotNegative = 0.05  # gap between the largest grains [their diameter]
    jitter: Share = 0.0  # random displacement [room that a grain has in its cell]


class Deposit(_Region):
    """Random sequential deposition: largest first, each at a random place that is still free.

    No wall cuts a grain, so the region may be larger than the inside of a cylinder or a hopper.

    It saturates at a packing fraction near 0.55 in 2D and 0.38 in 3D for equal grains.
    """

    kind: Literal["deposit"] = "deposit"


class Loose(_Region):
    """Grains spread evenly over the region, each at random within a cell of its own.

    Cells that a wall cuts stay empty. Grains of other sets are not avoided.
    """

    kind: Literal["loose"] = "loose"


class At(Spec):
    """Given points, one per grain and in the order of the diameters."""

    kind: Literal["at"] = "at"
    # centres of the grains, a list of points, one per grain [length]
    positions: Annotated[tuple[Numbers, ...], Field(min_length=1), BeforeValidator(plain)]
    # orientation of each grain, an angle in 2D and a rotation vector in 3D [rad]; default: that of
    # the set
    orientations: (
        Annotated[tuple[Finite | Numbers, ...], Field(min_length=1), BeforeValidator(plain)] | None
    ) = None


class Voronoi(_Region):
    """A region filled with convex cells, each a grain with a shape of its own: a dense start.

    The cells are those of random points. Neighbours have the same gap everywhere, and the ends of
    the region half of it. Walls and grains of other sets are not avoided.
    """

    kind: Literal["voronoi"] = "voronoi"
    # gap between neighbours [region over number of grains, its side]
    gap: Annotated[float, Field(strict=True, gt=0.0, le=0.5), BeforeValidator(plain)] = 0.01
    # how often all points move to the centres of their cells, which makes these more alike [1]
    rounds: Annotated[Whole, Field(ge=0, le=1000)] = 5
    # radius of edges and corners, over that of the largest disk or ball inside [1]
    rounding: Annotated[float, Field(strict=True, ge=0.0, le=0.999), BeforeValidator(plain)] = 0.0
    # axes along which the scene repeats and the cells go on at the other end of the region
    periodic: list[Literal["x", "y", "z"]] = []


Placement = Annotated[Grid | Deposit | Loose | At | Voronoi, Field(discriminator="kind")]


# Absurd lengths overflow to inf, which is then compared like any other length.
@np.errstate(all="ignore")
def place(
    placement: Placement,
    radius: Floats,
    rng: np.random.Generator,
    dim: int,
    periodic: Floats,
    taken_position: Floats,
    taken_radius: Floats,
    walls: Walls | None = None,
) -> tuple[Floats, Floats]:
    """Positions, shape (count, dim), and the radii (count,) in the order of the positions.

    Grains are numbered along the first axis first and the last axis last, so that neighbours have
    close numbers; those at given points keep their order. ``taken`` are the grains already there:
    deposited grains do not overlap them. No wall cuts a grain, except at given points.
    """
    if isinstance(placement, At):
        return _points(placement, len(radius), dim), radius
    if walls is None:
        flat = np.zeros((0, dim))
        walls = Walls(np.zeros(0, np.int32), flat, flat, np.zeros(0), flat)
    for name, corner in (("min", placement.min), ("max", placement.max)):
        if len(corner) != dim:
            raise InputError(
                f"place.{name} has {len(corner)} entries but the scene is {dim}D; give {dim}"
            )
    low, high = np.array(placement.min), np.array(placement.max)
    largest = 2.0 * float(radius.max())
    for axis, length, period in zip("xyz", high - low, periodic):
        if 0.0 < period < length * (1.0 - SLACK):
            raise InputError(
                f"place.max − place.min is {length:g} along {axis},"
                f" but the scene repeats there after {period:g}; at most that is valid"
            )
        if largest > length * (1.0 + SLACK):
            raise InputError(
                f"place.max − place.min is {length:g} along {axis},"
                f" but the largest grain needs {largest:g}"
            )
    if isinstance(placement, Grid):
        return on_grid(placement, low, high, radius, rng, periodic, walls)
    assert not isinstance(placement, Voronoi)  # its cells have their places
    if isinstance(placement, Loose):
        return loosely(low, high, radius, rng, periodic, walls)
    return _deposited(low, high, radius, rng, periodic, taken_position, taken_radius, walls)


def entrances(placement: Placement, radius: Floats, dim: int) -> Floats:
    """Points (count, dim) where grains may come in later: given ones in turn, or the middle.

    Refuses regions that are too small for the grains, or that would be full at once.
    """
    if isinstance(placement, At):
        points = _points(placement, len(placement.positions), dim)
        return points[np.arange(len(radius)) % len(points)]
    if not isinstance(placement, Deposit):
        raise InputError(
            f"place.kind is {placement.kind!r}, which places all grains together; a set with insert"
            " takes 'at' or 'deposit'"
        )
    for name, corner in (("min", placement.min), ("max", placement.max)):
        if len(corner) != dim:
            raise InputError(
                f"place.{name} has {len(corner)} entries but the scene is {dim}D; give {dim}"
            )
    low, high = np.array(placement.min), np.array(placement.max)
    largest = 2.0 * float(radius.max())
    if (high - low < largest * (1.0 - SLACK)).any():
        raise InputError(
            f"place.max − place.min is {(high - low).min():g} along an axis, but the largest grain"
            f" needs {largest:g}"
        )
    return np.tile(0.5 * (low + high), (len(radius), 1))


def _points(placement: At, count: int, dim: int) -> Floats:
    if len(placement.positions) != count:
        raise InputError(
            f"place.positions lists {len(placement.positions)} points for {count} grains;"
            " give one per grain"
        )
    for k, point in enumerate(placement.positions):
        if len(point) != dim:
            raise InputError(
                f"place.positions[{k}] has {len(point)} entries but the scene is {dim}D; give {dim}"
            )
    return np.array(placement.positions, dtype=float)


def _deposited(
    low: Floats,
    high: Floats,
    radius: Floats,
    rng: np.random.Generator,
    periodic: Floats,
    taken_position: Floats,
    taken_radius: Floats,
    walls: Walls,
) -> tuple[Floats, Floats]:
    from hardgrain.scene import _deposit as kernel

    fixed, dim = len(taken_radius), len(low)
    order = np.argsort(-taken_radius, kind="stable")
    r = np.concatenate([taken_radius[order], -np.sort(-radius)])
    x = np.zeros((len(r), dim))
    x[:fixed] = taken_position[order]
    # A region as long as the period has no ends there.
    inset = np.where((periodic > 0.0) & (high - low >= periodic * (1.0 - SLACK)), 0.0, 1.0)
    high = np.where(inset == 0.0, low + periodic, high)
    size = float(np.prod((high - low) ** (1.0 / dim)))  # edge of a cube as large as the region

    def fraction(some: Floats) -> float:
        """Packing fraction of grains in the region."""
        return (math.pi if dim == 2 else 4.0 / 3.0 * math.pi) * float(np.sum((some / size) ** dim))

    asked = fraction(radius)
    if asked > 0.95:  # no random deposition comes near that, whatever the sizes
        raise InputError(
            f"place.max makes a region that {len(radius)} grains would fill to {asked:.3g} of its"
            " size; random deposition reaches about half, so enlarge the region or lower count"
        )
    room = kernel.Room(low, high, inset, periodic)
    cells = kernel.make_cells(r, fixed, periodic)
    kernel.insert(x, periodic, cells, fixed)
    placed, work = fixed, max(_WORK * len(radius), _WORK_AT_LEAST)
    while placed < len(r):
        if work < 0:
            reached = fraction(r[fixed:placed])
            raise InputError(
                f"place.max leaves room for {placed - fixed} of {len(radius)} grains by random"
                f" deposition, packing fraction {reached:.3f} of {asked:.3f}; enlarge the region or"
                " lower count, and let the grains settle or be compressed"
            )
        most = min(work, _WORK_AT_ONCE)
        placed, done = kernel.deposit(x, r, room, cells, walls, rng, placed, most)
        work -= done
    x, r = x[fixed:], r[fixed:]
    order = np.lexsort(np.floor((x - low) / (size / len(r) ** (1.0 / dim))).T)
    return x[order], r[order]


@np.errstate(all="ignore")
def worst_overlap(position: Floats, radius: Floats, periodic: Floats) -> tuple[float, int, int]:
    """Largest overlap of any pair of grains [length], and the pair i < j; 0, −1, −1 if none.

    Among millions of overlaps the search ends with a large one, which need not be the largest.
    """
    if len(radius) == 0:
        return 0.0, -1, -1
    from hardgrain.scene import _deposit as kernel

    order = np.argsort(-radius, kind="stable")
    x, r = np.ascontiguousarray(position[order]), radius[order]
    overlap, i, j = kernel.worst_pair(x, r, periodic, kernel.make_cells(r, 0, periodic))
    if i < 0:
        return 0.0, -1, -1
    first, second = sorted((int(order[i]), int(order[j])))
    return float(overlap), first, second
