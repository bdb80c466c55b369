"""Regions of space, and exactly how much of each grain lies in them.

Take a disk or sphere of radius one and a rectangle or block. Along each axis the block is

    {l < X < h} = {X > l} − {X > h},   and for c < 0:   {X > c} = everything − {X < c},

where {X < c} is as large as {X > |c|}, whatever else is asked of Y and Z. So the overlap is a sum
over corners {X > a, Y > b, Z > c} with a, b, c ≥ 0, some of them left out. A corner is empty unless
a² + b² + c² < 1, and then Gauss's theorem gives its volume from its surface,

    d V = S − a A_a − b A_b − c A_c,

S the part of the sphere's surface and A_a the flat face at X = a, itself a corner in one dimension
less, of a disk of radius √(1 − a²). In 2D, S is an angle. In 3D, Gauss and Bonnet give it from its
border, S = 2π − Σ turns at its vertices − Σ a φ_a, where φ_a is the angle of the arc on the circle
X = a, and at the vertex with X = a and Y = b the border turns by
arccos(−a b / √((1 − a²)(1 − b²))).

Two disks or two spheres share two caps. A sphere and a tube have no elementary overlap: across the
tube's axis they are two disks, and these areas are summed by Gauss and Legendre between the heights
at which disks begin to touch, in a variable that takes the square roots out of the ends.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import INSIDE, OUTSIDE, PLANE
from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.measure import cut
from hardgrain.measure.near import lattice
from hardgrain.measure.snapshot import Snapshot

__all__ = ["Ball", "Block", "Region", "Tube", "as_region", "content", "images", "natural_region"]

# [points] Points of each integral over the height of a tube. They give 13 digits; fewer give fewer.
NODES = 64
# [1] A wall's normal lies along an axis if it is off by less, which is rounding. If it is smaller,
# scenes lose their natural region by rounding; if it is larger, the region is untrue.
ALONG = 1e-9


@dataclass(frozen=True, eq=False)
class Block:
    """A rectangle (2D) or block (3D) along the axes; its sides may be infinite."""

    low: Floats  # (dim,) [length]
    high: Floats  # (dim,)

    def __post_init__(self) -> None:
        if not (np.asarray(self.high) > np.asarray(self.low)).all():
            raise InputError(
                f"region goes from {_words(self.low)} to {_words(self.high)}; every component of"
                " the second corner must exceed that of the first"
            )

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return self.low, self.high

    @property
    def volume(self) -> float:
        return float(np.prod(self.high - self.low))

    def holds(self, x: Floats) -> NDArray[np.bool_]:
        """Which points lie inside, those on a lower side included, shape (n,)."""
        inside: NDArray[np.bool_] = np.all((x >= self.low) & (x < self.high), axis=1)
        return inside

    def covered(self, x: Floats, r: Floats) -> Floats:
        """Area or volume of each grain that lies inside, shape (n,)."""
        low, high = (self.low - x) / r[:, None], (self.high - x) / r[:, None]
        choices = []  # for each axis pairs of factor and cut, the first without a cut
        for l, h in zip(low.T, high.T):
            whole = (l < 0.0).astype(float) - (h < 0.0)
            choices.append([(whole, None), (_sign(l), np.abs(l)), (-_sign(h), np.abs(h))])
        n, dim = x.shape
        total = np.zeros(n)
        for terms in itertools.product(*choices):
            factor = np.prod([f for f, _ in terms], axis=0)
            total += factor * _corner(dim, [c for _, c in terms if c is not None], n)
        inside: Floats = np.clip(total, 0.0, _ball(dim)) * r**dim
        return inside

    def shrunk(self, margin: float) -> Block:
        """The region made smaller by a rim."""
        return Block(self.low + margin, self.high - margin)


@dataclass(frozen=True, eq=False)
class Ball:
    """A disk (2D) or ball (3D)."""

    center: Floats  # (dim,) [length]
    radius: float

    def __post_init__(self) -> None:
        _positive(self.radius, "radius")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        return self.center - self.radius, self.center + self.radius

    @property
    def volume(self) -> float:
        return _ball(len(self.center)) * self.radius ** len(self.center)

    def holds(self, x: Floats) -> NDArray[np.bool_]:
        """Which points lie inside, shape (n,)."""
        inside: NDArray[np.bool_] = np.linalg.norm(x - self.center, axis=1) < self.radius
        return inside

    def covered(self, x: Floats, r: Floats) -> Floats:
        """Area or volume of each grain that lies inside, shape (n,)."""
        return _shared(r, self.radius, np.linalg.norm(x - self.center, axis=1), x.shape[1])

    def shrunk(self, margin: float) -> Ball:
        """The region made smaller by a rim."""
        return Ball(self.center, self.radius - margin)


@dataclass(frozen=True, eq=False)
class Tube:
    """A cylinder with flat ends (3D)."""

    center: Floats  # (3,) middle of its axis [length]
    axis: Floats  # (3,) unit vector
    radius: float
    length: float

    def __post_init__(self) -> None:
        _positive(self.radius, "radius")
        _positive(self.length, "length")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        across = np.sqrt(np.clip(1.0 - self.axis**2, 0.0, None))
        reach = 0.5 * self.length * np.abs(self.axis) + self.radius * across
        return self.center - reach, self.center + reach

    @property
    def volume(self) -> float:
        return float(np.pi * self.radius**2 * self.length)

    def _split(self, x: Floats) -> tuple[Floats, Floats]:
        """Heights above the middle and distances from the axis, shape (n,) each."""
        height = (x - self.center) @ self.axis
        return height, np.linalg.norm(x - self.center - height[:, None] * self.axis, axis=1)

    def holds(self, x: Floats) -> NDArray[np.bool_]:
        """Which points lie inside, shape (n,)."""
        height, away = self._split(x)
        inside: NDArray[np.bool_] = (np.abs(height) < 0.5 * self.length) & (away < self.radius)
        return inside

    def covered(self, x: Floats, r: Floats) -> Floats:
        """Volume of each grain that lies inside, shape (n,)."""
        height, away = self._split(x)
        inside: Floats = _ball(3) * r**3
        cut = (away + r > self.radius) | (np.abs(height) + r > 0.5 * self.length)
        inside[cut] = self._integral(height[cut], away[cut], r[cut])
        return inside

    def _integral(self, height: Floats, away: Floats, r: Floats) -> Floats:
        """Volume inside of grains that the tube may cut, by an integral over the height (n,)."""
        # The integrals end with the grain, with the tube, and where the disks begin to touch.
        near = [np.abs(self.radius - away), self.radius + away]
        ends = [np.sqrt(np.clip(r**2 - a**2, 0.0, None)) for a in near]
        low = np.maximum(-r, -0.5 * self.length - height)
        high = np.maximum(low, np.minimum(r, 0.5 * self.length - height))
        cuts = np.stack([low, *(-e for e in ends), *ends, high], axis=1)
        cuts = np.sort(np.clip(cuts, low[:, None], high[:, None]), axis=1)
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        angle = 0.5 * np.pi * (nodes + 1.0)  # z = middle − half cos(angle)
        half, middle = 0.5 * np.diff(cuts, axis=1), 0.5 * (cuts[:, 1:] + cuts[:, :-1])
        z = middle[..., None] - half[..., None] * np.cos(angle)
        rho = np.sqrt(np.clip(r[:, None, None] ** 2 - z**2, 0.0, None))
        area = _shared(rho, self.radius, away[:, None, None], 2)
        inside: Floats = np.einsum("kse,ks,e->k", area, half, 0.5 * np.pi * weights * np.sin(angle))
        return inside

    def shrunk(self, margin: float) -> Tube:
        """The region made smaller by a rim."""
        return Tube(self.center, self.axis, self.radius - margin, self.length - 2.0 * margin)


Region = Block | Ball | Tube


# ---------------------------------------------------------------------- regions of a scene
def natural_region(snap: Snapshot) -> Region:
    """The natural region of a scene: the space that it gives to its grains.

    It lies between the planes along an axis, over the whole of a period, and where a side is open,
    up to the outermost surface of a grain. A circle (2D) or a hollow cylinder (3D) is a region of
    its own, the latter between planes across it. Walls that end bound nothing. Where other walls
    stand, planes aslant or solid cylinders, there is no such region and one must be given.
    """
    if not snap.n:
        raise InputError("region is missing; without grains there is no natural one, give one")
    kind, point, axis, size, _ = snap.walls
    hollow = np.flatnonzero(kind == INSIDE)
    if hollow.size > 1 or (kind == OUTSIDE).any():
        raise InputError("region is missing; among cylinders there is no natural one, give one")
    x, (below, above), period = snap.position, snap.spans, snap.cell.period
    planes = kind == PLANE
    if hollow.size:
        drum = int(hollow[0])
        if snap.dim == 2 and not planes.any():
            return Ball(point[drum], float(size[drum]))
        if snap.dim == 3 and (np.abs(np.abs(axis[planes] @ axis[drum]) - 1.0) < ALONG).all():
            return _tube(snap, drum, planes)
        raise InputError("region is missing; a circle cut by planes is no natural one, give one")
    low, high = (x - below).min(axis=0), (x + above).max(axis=0)
    low = np.where(period > 0.0, snap.low, low)
    high = np.where(period > 0.0, snap.low + period, high)
    for w in np.flatnonzero(planes):
        a = int(np.abs(axis[w]).argmax())
        if abs(abs(axis[w, a]) - 1.0) > ALONG:
            raise InputError(
                f"region is missing; wall {snap.model.wall_names[w]!r} is not along an axis, so"
                " that there is no natural one, give one"
            )
    for a in range(snap.dim):  # the free space lies in front of all planes
        up, down = planes & (axis[:, a] > 0.5), planes & (axis[:, a] < -0.5)
        low[a] = point[up, a].max() if up.any() else low[a]
        high[a] = point[down, a].min() if down.any() else high[a]
    return Block(low, high)


def _tube(snap: Snapshot, w: int, planes: NDArray[np.bool_]) -> Tube:
    """The hollow of wall w between planes across it, or as long as a period or the grains."""
    _, point, axes, size, _ = snap.walls
    axis, period = axes[w], snap.cell.period
    height = (snap.position - point[w]) @ axis
    low = float((height - snap.reach(-axis)).min())
    high = float((height + snap.reach(axis)).max())
    along = np.flatnonzero((np.abs(axis) > ALONG) & (period > 0.0))
    if along.size == 1 and abs(abs(axis[along[0]]) - 1.0) < ALONG:
        a = along[0]
        low, high = sorted(((snap.low + s * period - point[w])[a] * axis[a]) for s in (0.0, 1.0))
    faces, ends = axes[planes] @ axis, (point[planes] - point[w]) @ axis
    low = float(ends[faces > 0.0].max()) if (faces > 0.0).any() else low
    high = float(ends[faces < 0.0].min()) if (faces < 0.0).any() else high
    return Tube(point[w] + 0.5 * (low + high) * axis, axis, float(size[w]), high - low)


def as_region(snap: Snapshot, region: Any = None, margin: float = 0.0) -> Region:
    """A region as given, by two corners, or the natural one, less a rim as wide as margin."""
    if region is None:
        region = natural_region(snap)
    elif not isinstance(region, Block | Ball | Tube):
        region = _block(region, snap.dim)
    if len(region.bounds[0]) != snap.dim:
        raise InputError(
            f"region has {len(region.bounds[0])} dimensions, but the scene has {snap.dim}"
        )
    try:
        shrunk: Region = region.shrunk(margin) if margin else region
    except InputError:
        raise InputError(f"margin is {margin:g}, which leaves nothing of the region") from None
    return shrunk


def content(snap: Snapshot, region: Region) -> Floats:
    """Area or volume of each grain in a region, with all its periodic images, shape (n,)."""
    x, r = snap.upright, snap.bound
    low, high = region.bounds
    total = np.zeros(snap.n)
    for shift in images(snap, region, float(r.max())):
        y = x + shift
        near = ((y + r[:, None] > low) & (y - r[:, None] < high)).all(axis=1)
        if near.any():
            total[near] += cut.covered(snap, region, np.flatnonzero(near), y[near])
    return total


def images(snap: Snapshot, region: Region, reach: float) -> Iterator[Floats]:
    """Shifts (dim,) by whole periods that bring what is upright within reach of a region."""
    low, high = region.bounds
    for a in np.flatnonzero(snap.cell.repeats):
        if not np.isfinite(high[a] - low[a]):
            raise InputError(
                f"region must be finite along {'xyz'[a]}, along which the scene repeats"
            )
    return lattice(snap.cell, snap.low, low, high, reach)


def _block(corners: Any, dim: int) -> Block:
    try:
        low, high = (np.asarray(c, dtype=float) for c in corners)
        if low.shape != (dim,) or high.shape != (dim,):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(
            f"region is {corners!r}; give two corners of {dim} numbers each, or a Block, Ball or"
            " Tube"
        ) from None
    return Block(low, high)


def _positive(size: float, name: str) -> None:
    if not size > 0.0:
        raise InputError(f"the region's {name} is {size:g} but must be positive")


def _words(vector: Floats) -> str:
    return "[" + ", ".join(f"{x:g}" for x in np.asarray(vector)) + "]"


# ---------------------------------------------------------------------- closed forms
def _sign(x: Floats) -> Floats:
    sign: Floats = np.where(x < 0.0, -1.0, 1.0)
    return sign


def _ball(dim: int) -> float:
    """Area or volume of the disk or ball of radius one."""
    return float(np.pi if dim == 2 else 4.0 / 3.0 * np.pi)


def _corner(dim: int, cuts: list[Floats], n: int) -> Floats:
    """Area or volume of the unit disk or ball beyond planes at right angles, cuts ≥ 0 (n,)."""
    if not cuts:
        return np.full(n, _ball(dim))
    found = np.zeros(n)
    meets = np.flatnonzero(sum(c**2 for c in cuts) < 1.0)
    found[meets] = (_area if dim == 2 else _volume)(*(c[meets] for c in cuts))
    return found


def _area(a: Floats, b: Floats | None = None) -> Floats:
    """Area of the unit disk beyond X = a and Y = b."""
    root = np.sqrt(1.0 - a**2)
    if b is None:
        segment: Floats = np.arccos(a) - a * root
        return segment
    sector = np.arccos(a) - np.arcsin(b)
    corner: Floats = 0.5 * (sector - a * (root - b) - b * (np.sqrt(1.0 - b**2) - a))
    return corner


def _volume(a: Floats, b: Floats | None = None, c: Floats | None = None) -> Floats:
    """Volume of the unit ball beyond X = a, Y = b and Z = c."""
    if b is None:
        cap: Floats = np.pi / 3.0 * (1.0 - a) ** 2 * (2.0 + a)
        return cap
    cuts = [a, b] if c is None else [a, b, c]
    roots = [np.sqrt(1.0 - x**2) for x in cuts]
    vertices = 2.0 if c is None else 1.0  # number of vertices of each pair of planes
    pairs = itertools.combinations(range(len(cuts)), 2)
    turns = [np.arccos(_unit(-cuts[i] * cuts[j] / (roots[i] * roots[j]))) for i, j in pairs]
    total: Floats = 2.0 * np.pi - vertices * np.sum(turns, axis=0)
    for i, (x, root) in enumerate(zip(cuts, roots)):
        others = [_unit(y / root) for k, y in enumerate(cuts) if k != i]
        arc = np.arccos(others[0])
        arc = 2.0 * arc if c is None else arc - np.arcsin(others[1])
        total = total - x * arc - x * root**2 * _area(*others)
    return total / 3.0


def _unit(x: Floats) -> Floats:
    """Hold a value to [−1, 1], which rounding might leave."""
    return np.clip(x, -1.0, 1.0)


def _shared(r: Floats, big: float, d: Floats, dim: int) -> Floats:
    """Area or volume that a ball of radius r shares with one of radius big at the distance d."""
    r, d = np.broadcast_arrays(r, d)
    apart, within = d >= r + big, d <= np.abs(r - big)
    safe = np.where(apart | within, r + 0.5 * big, d)  # any distance at which they meet
    # Distances from the centres to the plane in which the two borders meet.
    h = 0.5 * (safe + (r - big) * (r + big) / safe)
    cap = _cap(r, h, dim) + _cap(np.full_like(r, big), safe - h, dim)
    whole = _ball(dim) * np.minimum(r, big) ** dim
    shared: Floats = np.where(apart, 0.0, np.where(within, whole, cap))
    return shared


def _cap(r: Floats, h: Floats, dim: int) -> Floats:
    """Area or volume of a ball of radius r beyond the distance h from its centre, −r ≤ h ≤ r."""
    with np.errstate(divide="ignore", invalid="ignore"):
        c = _unit(np.where(r > 0.0, h / r, 1.0))
    cap: Floats = r**dim * (_area(c) if dim == 2 else _volume(c))
    return cap
