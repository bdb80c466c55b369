"""The compiled loops of soft grains of any shape: forces at all points, and the explicit step.

Each point that overlaps (`step.soft_points`) is a contact of `law.spring`, with a force on both
bodies at the middle of the overlap, so that no angular momentum is lost; at a wall it is on the
wall's surface.

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

import numpy as np

from hardgrain.contact.pairs import safe
from hardgrain.cpu.inertia import inverses_in_space, rotate
from hardgrain.kernels import device, jit, scalar
from hardgrain.law.spring import make_spring
from hardgrain.point.inertia import TENSOR, make_inertia
from hardgrain.step.soft_kernel import DISSIPATED, DRIVEN, EXTERNAL, WORST
from hardgrain.step.soft_points import cross, dot, end_of_parts, overlapping, plus, vector

_spring, _inertia = make_spring(device), make_inertia(scalar)
normal_force, onto_plane, stretch = _spring.normal_force, _spring.onto_plane, _spring.stretch
turned_about, shared_damping = _spring.turned_about, _spring.shared_damping
entry = _inertia.entry


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


# The reduced mass of a pair is the one at the middle of its points: at a corner that of the corner,
# at a face whose middle is hit that of the bodies. Where bodies can do nothing but turn, the middle
# of a face may not move at all; then it is the mean over the points.
@jit
def pair_damping(world, inverse, now, begin, end):
    """γ_n of the points from begin to end, those of two parts, where it is not shared."""
    n, i, j = world.narrow.number.size, now.first[begin], now.second[begin]
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
    law, n = world.law, world.narrow.number.size
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
