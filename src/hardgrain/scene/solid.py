"""The shape of a grain in its own frame: parts, volume, principal moments, extents.

The own frame has its origin at the centre of mass and its axes along the principal axes. Where the
axes in which a user wrote the shape are principal ones they are kept, so that a box keeps its sides
along x, y and z. Otherwise each own axis is the principal axis next to the given one; `axes` says
how the own frame lies in the given one. In 2D every pair of axes will do, and is kept.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hardgrain.scene.balls import mass_of_union
from hardgrain.scene.mass import NOTHING, Mass, mass_of_part
from hardgrain.scene.polytope import Part

__all__ = ["Solid"]

Floats = NDArray[np.float64]

# [largest second moment] Products of inertia that are rounding. If it is smaller, boxes are turned
# by rounding; if it is larger, axes are taken for principal that are not, and the error in a free
# rotation is of that order.
_ROUNDING = 1e-12
# [largest second moment] Principal moments nearer to each other are equal, and leave axes open.
_EQUAL = 1e-9

# [directions] In which the least width of a clump of balls is looked for; it is found to about one
# part in a thousand, and is used only as a measure of overlaps.
_DIRECTIONS = 4000


@dataclass(frozen=True)
class Solid:
    """A shape in its own frame, in a unit of length of its own."""

    dim: int
    part: tuple[Part, ...]
    volume: float
    moments: Floats  # (3,) principal moments of inertia over mass, in 2D the last one
    bound: float  # distance from the centre to the farthest point
    width: float  # least distance of two parallel lines or planes around it
    centre: Floats  # (3,) centre of mass in the frame in which the shape was given
    axes: Floats  # (3, 3) whose columns are the own axes in that frame

    @classmethod
    def of(cls, parts: list[Part], dim: int) -> Solid:
        """From parts in the frame of a user; disks and balls may overlap, other parts may not."""
        if all(len(part.corner) == 1 for part in parts):
            centre = np.array([part.corner[0] for part in parts])
            mass = mass_of_union(centre, np.array([part.radius for part in parts]), dim)
        else:
            mass = sum((mass_of_part(part, dim) for part in parts), NOTHING)
        axes = _principal(mass, dim)
        own = tuple(part.moved(-mass.centre).turned(axes) for part in parts)
        spread = np.diag(axes.T @ mass.gyration @ axes)
        moments = _evened(spread.sum() - spread)
        if dim == 2:
            moments = np.array([0.0, 0.0, moments[2]])
        bound = max(float(np.linalg.norm(p.corner, axis=1).max()) + p.radius for p in own)
        width = _least_width(own, dim)
        return cls(dim, own, mass.volume, moments, bound, width, mass.centre, axes)

    def scaled(self, by: float) -> Solid:
        """The same shape in another unit."""
        return replace(
            self,
            part=tuple(part.scaled(by) for part in self.part),
            volume=self.volume * by**self.dim,
            moments=self.moments * by**2,
            bound=self.bound * by,
            width=self.width * by,
            centre=self.centre * by,
        )

    @property
    def as_ball(self) -> float:
        """Diameter of the disk or ball of equal volume."""
        if self.dim == 2:
            return 2.0 * math.sqrt(self.volume / math.pi)
        return 2.0 * math.cbrt(0.75 * self.volume / math.pi)

    @property
    def sieve(self) -> float:
        """Side of the smallest square hole that it passes, or in 2D of the smallest gap.

        In 3D it falls along its longest principal axis, the one with the least moment: this is the
        smallest square around its shadow along that axis. A box passes the hole that is as wide as
        its middle side, unless its diagonal fits better.
        """
        if self.dim == 2:
            return self.width
        others = [k for k in range(3) if k != int(np.argmin(self.moments))]
        shadow = [(part.corner[:, others], part.radius) for part in self.part]
        angle = np.array(_tangents(shadow))
        angle = np.unique(np.concatenate([angle, angle + 0.5 * np.pi, [0.0]]) % (0.5 * np.pi))
        best = math.inf
        for low, high in zip(angle, np.append(angle[1:], angle[0] + 0.5 * np.pi), strict=True):
            best = min(
                best, _square(shadow, low), _square(shadow, _equal_widths(shadow, low, high))
            )
        return best


def _support(parts: list[tuple[Floats, float]], u: Floats) -> Floats:
    """How far parts reach in directions u (m, d), shape (m,)."""
    reach = [(u @ corner.T).max(axis=1) + radius for corner, radius in parts]
    most: Floats = np.max(reach, axis=0)
    return most


def _widths(parts: list[tuple[Floats, float]], u: Floats) -> Floats:
    return _support(parts, u) + _support(parts, -u)


def _square(shadow: list[tuple[Floats, float]], angle: float) -> float:
    """Side of the square around a shadow whose sides are turned by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return float(_widths(shadow, np.array([[c, s], [-s, c]])).max())


def _equal_widths(shadow: list[tuple[Floats, float]], low: float, high: float) -> float:
    """The angle between two at which both widths are equal, or their middle, by bisection."""

    def longer(angle: float) -> bool:
        c, s = math.cos(angle), math.sin(angle)
        w = _widths(shadow, np.array([[c, s], [-s, c]]))
        return bool(w[0] > w[1])

    start = longer(low)
    if longer(high) == start:
        return 0.5 * (low + high)
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if longer(middle) == start else (low, middle)
    return 0.5 * (low + high)


def _tangents(parts: list[tuple[Floats, float]]) -> list[float]:
    """Directions, as angles, of lines that touch two corners with their radii on one side.

    Between them the width of a flat shape is a multiple of cos(φ − φ₀) plus a constant, so that it
    is least at one of them.
    """
    x = np.vstack([corner for corner, _ in parts])
    r = np.concatenate([np.full(len(corner), radius) for corner, radius in parts])
    found = [0.0]
    for i, j in itertools.combinations(range(len(x)), 2):
        d, rise = x[j] - x[i], r[i] - r[j]
        apart = math.hypot(*d)
        if apart > abs(rise):
            along, side = math.atan2(d[1], d[0]), math.acos(rise / apart)
            found += [along + side, along - side]
    return found


def _least_width(parts: tuple[Part, ...], dim: int) -> float:
    some = [(part.corner[:, :dim], part.radius) for part in parts]
    if dim == 2:
        if len(parts) == 1 and len(parts[0].normal):
            u = parts[0].normal[:, :2]
        else:
            angle = np.array(_tangents(some))
            u = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return float(_widths(some, u).min())
    if len(parts) == 1 and len(parts[0].corner) < 3:
        return 2.0 * parts[0].radius
    along = np.vstack([p.corner[p.edge[:, 1]] - p.corner[p.edge[:, 0]] for p in parts])
    if len(parts) == 1 and len(along) < 500:
        # planes around a polyhedron are nearest where a face, or two edges, lie in them
        i, j = np.triu_indices(len(along), 1)
        across = np.cross(along[i], along[j])
        size = np.linalg.norm(across, axis=1)
        crossing = size > 1e-9 * float(np.square(along).max())
        u = np.vstack([parts[0].normal, across[crossing] / size[crossing, None]])
        return float(_widths(some, u).min())
    k = np.arange(_DIRECTIONS) + 0.5
    z, turn = 1.0 - k / _DIRECTIONS, math.pi * (1.0 + math.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z**2)
    u = np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1)
    u = np.vstack([u, np.eye(3), *(part.normal for part in parts)])
    return float(_widths(some, u).min())


def _evened(moments: Floats) -> Floats:
    """Moments that differ by rounding alone are made equal, so that no axis is special by it."""
    close = _ROUNDING * float(moments.max())
    return np.array([moments[np.abs(moments - x) < close].mean() for x in moments])


def _principal(mass: Mass, dim: int) -> Floats:
    """Principal axes as columns: each next to one of the given axes, which are kept if they do."""
    spread = mass.gyration
    largest = float(np.abs(np.diag(spread)).max())
    if dim == 2 or np.abs(spread - np.diag(np.diag(spread))).max() < _ROUNDING * largest:
        return np.eye(3)
    value, vector = np.linalg.eigh(spread)
    # Axes with equal moments can be any in their plane, or in space: the set with equal moments is
    # turned as a whole to the given axes to which it comes nearest.
    order = max(
        itertools.permutations(range(3)),
        key=lambda p: (sum(vector[p[k], k] ** 2 for k in range(3)), p),
    )
    axes = np.zeros((3, 3))
    for k in range(3):
        same = np.flatnonzero(np.abs(value - value[k]) < _EQUAL * largest)
        if same[0] != k:
            continue
        plane = vector[:, same]
        given = np.eye(3)[:, [order[i] for i in same]]
        u, _, v = np.linalg.svd(plane.T @ given)
        axes[:, [order[i] for i in same]] = plane @ u @ v
    if np.linalg.det(axes) < 0.0:
        axes[:, int(np.argmin(np.diag(axes)))] *= -1.0
    return axes
