"""The compiled loops of soft grains of any shape: forces at all points, and the explicit step.

Points, normals, gaps and arms are those of the narrow phase (`contact.points`), asked in each
explicit step for the points that overlap. Each is a contact of `law.spring`, with a force on both
bodies at the middle of the overlap, so that no angular momentum is lost; at a wall it is on the
wall's surface. A point's tangential spring goes by its feature: as long as the same corners or
edges make it, it is the same point.

An explicit step is the kick and drift of `step.soft_particles`, with bodies that have three moments
of inertia:

    v ← v + dt M⁻¹ F,    ω ← ω + dt J τ,    x ← x + v dt,    (orientation, ω) ← free rotation,

where J is the inverse tensor of inertia as the body stands now. Free rotation keeps energy and
angular momentum (`law.rotation`), and both drift and kick are maps that have a Hamiltonian, so that
the whole is of second order, as it is for disks.

Points come in the order of the pair list, and pairs that do not overlap have none: nothing depends
on when the list was made, and a step that is left in the middle to make a new one has the same
bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.pairs import place_walls, safe
from hardgrain.contact.points import Figures, contact_points_at, placed_at
from hardgrain.contact.search import pick, precedes
from hardgrain.contact.shapes import Listed
from hardgrain.core.wall_kinds import Walls
from hardgrain.cpu.inertia import inverses_in_space, rotate
from hardgrain.kernels import device, jit, scalar
from hardgrain.law.spring import make_spring
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.point.placed import ShapedBodies
from hardgrain.step.soft_kernel import DISSIPATED, DRIVEN, EXTERNAL, WORST

_spring, _inertia = make_spring(device), make_inertia(scalar)
normal_force, onto_plane, stretch = _spring.normal_force, _spring.onto_plane, _spring.stretch
turned_about, shared_damping = _spring.turned_about, _spring.shared_damping
entry = _inertia.entry


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
    figures: Figures
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


@jit
def overlapping(world, listed, moving, known):
    """The points that overlap, with the springs of those that were known; and the energy lost.

    A point that is known and no longer there has lost its spring.
    """
    position, orientation, f = moving.position, moving.orientation, world.figures
    point, axis, side = place_walls(
        position, orientation, world.wall_offset, world.wall_axis, world.wall_side
    )
    walls = Walls(world.wall_kind, point, axis, world.wall_size, side)
    bodies = ShapedBodies(
        position, f.number, world.periodic, walls, f.solids,
        placed_at(f.placed, (f.solids, orientation, walls)), f.features, f.meshes,
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


@device
def square(rows, k):
    """Squared length of a row of three numbers."""
    return rows[k, 0] ** 2 + rows[k, 1] ** 2 + rows[k, 2] ** 2


@device
def arms(now, k, wall):
    """From both centres to the middle of an overlap; at a wall, to its surface."""
    normal, gap = vector(now.normal, k), now.gap[k]
    one, two = vector(now.arm_first, k), vector(now.arm_second, k)
    if wall:
        return plus(one, gap, normal), two
    return plus(one, 0.5 * gap, normal), plus(two, -0.5 * gap, normal)


@device
def lightest(inv_mass, i):
    """Inverse mass of body i along an axis that is free."""
    most = 0.0
    for a in range(inv_mass.shape[1]):
        most = max(most, inv_mass[i, a])
    return most


@device
def turned_by(inverse, i, arm, normal):
    """What its rotation adds to the inverse mass of body i for a push along n at an arm's end."""
    lever = cross(arm, normal)
    if inverse.shape[1] == 1:
        return inverse[i, 0] * lever[2] ** 2
    total = 0.0
    for a in range(3):
        for b in range(3):
            total += entry(inverse, i, a, b) * lever[a] * lever[b]
    return total


@jit
def end_of_parts(world, now, begin):
    """The row behind those of the same two parts as the row ``begin``."""
    each, end = world.figures.features, begin + 1
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
    n, begin = world.figures.number.size, 0
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


# The reduced mass of a pair is the one at the middle of its points: at a corner that of the corner,
# at a face whose middle is hit that of the bodies. Where bodies can do nothing but turn, the middle
# of a face may not move at all; then it is the mean over the points.
@jit
def pair_damping(world, inverse, now, begin, end):
    """γ_n of the points from begin to end, those of two parts, where it is not shared."""
    n, i, j = world.figures.number.size, now.first[begin], now.second[begin]
    one, two, normal = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    each, points = 0.0, 0.0
    for k in range(begin, end):
        points += 1.0 / now.crowd[k]
    for k in range(begin, end):
        share = 1.0 / (points * now.crowd[k])
        a, b = arms(now, k, j >= n)
        along = vector(now.normal, k)
        one, two, normal = plus(one, share, a), plus(two, share, b), plus(normal, share, along)
        each += share * (turned_by(inverse, i, a, along) + turned_by(inverse, j, b, along))
    light = lightest(world.inv_mass, i) + lightest(world.inv_mass, j)
    if light > 0.0:
        light += turned_by(inverse, i, one, normal) + turned_by(inverse, j, two, normal)
    else:
        light = each
    return shared_damping(world.law.damping_root, light, points)


@device
def act(sums, i, sign, force, arm):
    """Add a force at the end of an arm, times a sign, to those on body i."""
    torque = cross(arm, force)
    for a in range(3):
        sums[i, a] += sign * force[a]
        sums[i, 3 + a] += sign * torque[a]


@jit
def contact_forces(world, moving, inverse, found, friction, pushes):
    """Add the forces of all points to pushes, the share of the normal springs to its second part.

    found: the points, and the row of each one's pair in the list. Writes the force of each point
    and its spring. Returns the energy that tangential springs gain, and the worst overlap.
    """
    law, n = world.law, world.figures.number.size
    now, index = found
    total, elastic = pushes
    gained, worst, end, damping = 0.0, 0.0, 0, law.damping
    for k in range(now.first.size):
        i, j = now.first[k], now.second[k]
        if k == end:
            end = end_of_parts(world, now, k)
            if law.damping_root > 0.0:
                damping = pair_damping(world, inverse, now, k, end)
        stiffness = law.stiffness / now.crowd[k]
        normal = vector(now.normal, k)
        one, two = arms(now, k, j >= n)
        spin_one, spin_two = vector(moving.spin, i), vector(moving.spin, j)
        u = plus(vector(moving.velocity, j), -1.0, vector(moving.velocity, i))
        u = plus(plus(u, 1.0, cross(spin_two, two)), -1.0, cross(spin_one, one))
        u_n = dot(u, normal)
        force_n = normal_force(-now.gap[k], u_n, stiffness, damping / now.crowd[k])
        xi = (0.0, 0.0, 0.0)
        if law.tangential_stiffness > 0.0:
            xi = onto_plane((now.spring[k, 0], now.spring[k, 1], now.spring[k, 2]), normal)
            angle = 0.5 * law.dt * dot(plus(spin_one, 1.0, spin_two), normal)
            if angle != 0.0:
                xi = turned_about(normal, xi, angle)
        slip, limit = plus(u, -u_n, normal), friction[index[k]] * force_n
        force, xi, stored = stretch(
            xi, slip, limit, law.tangential_stiffness, law.tangential_damping, law.dt
        )
        if law.tangential_stiffness > 0.0:
            now.spring[k, 0], now.spring[k, 1], now.spring[k, 2] = xi
        gained += stored
        worst = max(worst, -now.gap[k])
        force = plus(force, force_n, normal)
        now.force[k, 0], now.force[k, 1], now.force[k, 2] = force
        act(total, i, -1.0, force, one)
        act(total, j, 1.0, force, two)
        pressed = plus((0.0, 0.0, 0.0), -stiffness * now.gap[k], normal)
        act(elastic, i, -1.0, pressed, one)
        act(elastic, j, 1.0, pressed, two)
    return gained, worst


@jit
def kick(world, moving, inverse, pushes):
    """v ← v + dt M⁻¹ F and ω ← ω + dt J τ.

    Returns the work of external forces, of driven bodies, and of contact forces that no normal
    spring gives, each with the mean of the old and new velocity, as the change of kinetic energy
    has it.
    """
    total, elastic = pushes
    dt, dim, ns = world.law.dt, moving.velocity.shape[1], moving.spin.shape[1]
    external, driven, rubbed = 0.0, 0.0, 0.0
    after = np.empty(3)
    for i in range(moving.velocity.shape[0]):
        for a in range(dim):
            before, push, w = moving.velocity[i, a], total[i, a], world.inv_mass[i, a]
            now = before + dt * w * (world.force[i, a] + push)
            if w > 0.0:
                external += 0.5 * dt * world.force[i, a] * (before + now)
            else:
                driven -= dt * push * before
            rubbed += 0.5 * dt * (push - elastic[i, a]) * (before + now)
            moving.velocity[i, a] = now
        for a in range(ns):
            after[a] = moving.spin[i, a]
            for b in range(ns):
                w = inverse[i, 0] if ns == 1 else entry(inverse, i, a, b)
                after[a] += dt * w * (world.torque[i, b] + total[i, 6 - ns + b])
        for a in range(ns):
            before, push = moving.spin[i, a], total[i, 6 - ns + a]
            if world.free[i, a] > 0.0:
                external += 0.5 * dt * world.torque[i, a] * (before + after[a])
            else:
                driven -= dt * push * before
            rubbed += 0.5 * dt * (push - elastic[i, 6 - ns + a]) * (before + after[a])
            moving.spin[i, a] = after[a]
    return external, driven, rubbed


@jit
def drift(world, moving):
    """x ← x + v dt, and free rotation."""
    dt, position = world.law.dt, moving.position
    for i in range(position.shape[0]):
        for a in range(position.shape[1]):
            position[i, a] += dt * moving.velocity[i, a]
    rotate(moving.orientation, moving.spin, world.moments, world.free, dt)


@jit
def inverse_now(world, moving, tensor):
    """Inverse moments of inertia in space: (nb, 1) in 2D, else (nb, 6), written to the tensor."""
    if world.free.shape[1] == 1:
        return world.free
    inverses_in_space(moving.orientation, world.moments, world.free, tensor)
    return tensor


@jit
def march(world, ahead, moving, known, course, sums, wall_push):
    """Explicit steps, in place, until all are made or the pair list is used up.

    course: how many are made, how many there are; known: the points of the last one. sums: shape
    (4,), see `soft_kernel`; wall_push: shape (w, 6), impulses on walls. Returns how many are made
    now, and the points of the last one.
    """
    done, steps = course
    bodies, dt = moving.position.shape[0], world.law.dt
    n = bodies - wall_push.shape[0]
    tensor = np.zeros((bodies, TENSOR))
    total, elastic = np.zeros((bodies, 6)), np.zeros((bodies, 6))
    while done < steps:
        inverse = inverse_now(world, moving, tensor)
        now, index, lost = overlapping(world, ahead.listed, moving, known)
        total[:] = 0.0
        elastic[:] = 0.0
        gained, worst = contact_forces(
            world, moving, inverse, (now, index), ahead.friction, (total, elastic)
        )
        for w in range(wall_push.shape[0]):
            for a in range(6):
                wall_push[w, a] += dt * total[n + w, a]
        external, driven, rubbed = kick(world, moving, inverse, (total, elastic))
        drift(world, moving)
        sums[DISSIPATED] -= rubbed + gained - lost
        sums[EXTERNAL] += external
        sums[DRIVEN] += driven
        sums[WORST] = max(sums[WORST], worst)
        known = now
        done += 1
        if not safe(moving.position, ahead.listed, ahead.reach):
            break
    return done, known


@jit
def stored_energy(world, ahead, moving, known):
    """Energy in the springs where the bodies are now [energy]."""
    now, _, _ = overlapping(world, ahead.listed, moving, known)
    law, total = world.law, 0.0
    for k in range(now.first.size):
        total += law.stiffness / now.crowd[k] * now.gap[k] ** 2
        total += law.tangential_stiffness * square(now.spring, k)
    return 0.5 * total
