"""The points at which soft grains of any shape overlap, with what they remember, compiled.

Points, normals, gaps and arms are those of the narrow phase (`contact.points`), asked for the
points that overlap. A point's tangential spring goes by its feature: as long as the same corners or
edges make it, it is the same point. Points that crowd share their stiffness (`law.spring`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.pairs import place_walls
from hardgrain.contact.points import NarrowPhase, contact_points_at, placed_at
from hardgrain.contact.search import pick, precedes
from hardgrain.contact.shapes import Listed
from hardgrain.core.wall_kinds import Walls
from hardgrain.kernels import device, jit
from hardgrain.point.placed import ShapedBodies

# [least width of the two grains] Points of two parts that are nearer to each other share their
# stiffness. If it is larger, small faces are softer than large ones; if it is smaller, the force
# changes more suddenly where two faces come to overlap at their corners.
CROWDED = 0.1


class Law(NamedTuple):
    """What all contact points have in common."""

    stiffness: float  # k_n [force/length]
    tangential_stiffness: float  # k_t [force/length], 0: no spring
    tangential_damping: float  # γ_t [force time/length]
    damping: float  # γ_n [force time/length], if it does not follow from a restitution
    damping_root: float  # 2ζ √k_n, from which γ_n follows; 0: it does not
    dt: float  # the explicit step [time]


class World(NamedTuple):
    """What stays the same throughout a step."""

    law: Law
    periodic: np.ndarray  # (dim,) [length]
    wall_kind: np.ndarray  # (w,)
    wall_offset: np.ndarray  # (w, dim)
    wall_axis: np.ndarray  # (w, dim)
    wall_size: np.ndarray  # (w,)
    wall_side: np.ndarray  # (w, dim)
    narrow: NarrowPhase
    inv_mass: np.ndarray  # (nb, dim)
    free: np.ndarray  # (nb, ns) inverse moments of inertia, zero where a body cannot turn
    moments: np.ndarray  # (nb, 3) principal moments, (0, 3) where the three are equal
    force: np.ndarray  # (nb, dim) external ones
    torque: np.ndarray  # (nb, ns)
    touch: np.ndarray  # (nb,) zeros: points whose gap is below zero are looked for
    width: np.ndarray  # (n,) least width of each grain [length]


class Ahead(NamedTuple):
    """The pair list, with what depends on the pairs alone."""

    listed: Listed
    friction: np.ndarray  # (p,) µ
    reach: np.ndarray  # (nb,) how far walls may yet turn in the step [length]


class Moving(NamedTuple):
    """Places and velocities of all bodies; an explicit step changes them in place."""

    position: np.ndarray  # (nb, dim)
    orientation: np.ndarray  # (nb, 1) or (nb, 4)
    velocity: np.ndarray  # (nb, dim)
    spin: np.ndarray  # (nb, ns)


class Touching(NamedTuple):
    """The points that overlap in an explicit step, sorted by bodies and feature."""

    first: np.ndarray  # (m,)
    second: np.ndarray  # (m,)
    feature: np.ndarray  # (m,)
    normal: np.ndarray  # (m, dim)
    gap: np.ndarray  # (m,)
    arm_first: np.ndarray  # (m, dim) to the surface of the first body
    arm_second: np.ndarray  # (m, dim)
    force: np.ndarray  # (m, 3) on the second body
    spring: np.ndarray  # (m, 3) ξ
    crowd: np.ndarray  # (m,) among how many points this one shares the stiffness k_n


@device
def vector(rows, k):
    """A row as a vector in space: of 2D places the plane, of 2D spins the axis across it."""
    if rows.shape[1] == 3:
        return rows[k, 0], rows[k, 1], rows[k, 2]
    if rows.shape[1] == 2:
        return rows[k, 0], rows[k, 1], 0.0
    return 0.0, 0.0, rows[k, 0]


@device
def cross(a, b):
    """The product a × b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@device
def plus(a, s, b):
    """The sum a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@device
def dot(a, b):
    """The product a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@device
def square(rows, k):
    """Squared length of a row of three numbers."""
    return rows[k, 0] ** 2 + rows[k, 1] ** 2 + rows[k, 2] ** 2


@jit
def overlapping(world, listed, moving, known):
    """The points that overlap, with the springs of those that were known; and the energy lost.

    A point that is known and no longer there has lost its spring.
    """
    position, orientation, f = moving.position, moving.orientation, world.narrow
    point, axis, side = place_walls(
        position, orientation, world.wall_offset, world.wall_axis, world.wall_side
    )
    walls = Walls(world.wall_kind, point, axis, world.wall_size, side)
    bodies = ShapedBodies(
        position, f.number, world.periodic, walls, f.solids,
        placed_at(f.placed, (f.solids, orientation, walls)), f.features, f.meshes, f.mesh_rows,
    )  # fmt: skip
    index, feature, normal, gap, arm_first, arm_second = contact_points_at(
        f.contact_points, (listed.first, listed.second, bodies, world.touch)
    )
    first, second = pick(listed.first, index), pick(listed.second, index)
    spring, lost, o = np.zeros((first.size, 3)), 0.0, 0
    for k in range(first.size + 1):
        while o < known.first.size and (
            k == first.size
            or precedes(
                known.first[o], known.second[o], known.feature[o], first[k], second[k], feature[k]
            )
        ):
            lost += square(known.spring, o)
            o += 1
        same = k < first.size and o < known.first.size and known.first[o] == first[k]
        if same and known.second[o] == second[k] and known.feature[o] == feature[k]:
            for a in range(3):
                spring[k, a] = known.spring[o, a]
            o += 1
    now = Touching(
        first, second, feature, normal, gap, arm_first, arm_second, np.zeros((first.size, 3)),
        spring, np.ones(first.size),
    )  # fmt: skip
    count_crowds(world, now)
    return now, index, 0.5 * world.law.tangential_stiffness * lost


@jit
def end_of_parts(world, now, begin):
    """The row behind those of the same two parts as the row ``begin``."""
    each, end = world.narrow.features, begin + 1
    parts = now.feature[begin] // each
    while (
        end < now.first.size
        and now.first[end] == now.first[begin]
        and now.second[end] == now.second[begin]
        and now.feature[end] // each == parts
    ):
        end += 1
    return end


@jit
def count_crowds(world, now):
    """Write among how many points each shares its stiffness; see `law.spring`."""
    n, begin = world.narrow.number.size, 0
    while begin < now.first.size:
        end = end_of_parts(world, now, begin)
        width, j = world.width[now.first[begin]], now.second[begin]
        if j < n:
            width = min(width, world.width[j])
        for k in range(begin, end):
            for l in range(begin, end):
                apart = plus(vector(now.arm_first, k), -1.0, vector(now.arm_first, l))
                near = 1.0 - math.sqrt(dot(apart, apart)) / (CROWDED * width)
                if k != l and near > 0.0:
                    now.crowd[k] += near * min(1.0, now.gap[l] / now.gap[k])
        begin = end


@jit
def stored_energy(world, ahead, moving, known):
    """Energy in the springs where the bodies are now [energy]."""
    now, _, _ = overlapping(world, ahead.listed, moving, known)
    law, total = world.law, 0.0
    for k in range(now.first.size):
        total += law.stiffness / now.crowd[k] * now.gap[k] ** 2
        total += law.tangential_stiffness * square(now.spring, k)
    return 0.5 * total
