"""The compiled loops of the soft-particle engine: forces of all contacts, and the explicit step.

Everything is three-dimensional here: in 2D positions have a z that stays zero, disks turn about z
alone, and the other inverse masses and moments of inertia are zero. One code does for both.

Forces are summed in the order of the pair list and a pair that does not touch adds nothing, so the
sums do not depend on when the list was made; all other sums are taken explicit step by explicit
step. A step that is left in the middle to make a new list therefore has the same bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.contact.geometry import TINY, min_image, wall_gap
from hardgrain.kernels import device, jit
from hardgrain.law.friction import make_friction
from hardgrain.law.spring import make_spring

_spring = make_spring(device)
normal_force, onto_plane = _spring.normal_force, _spring.onto_plane
stick_or_slide_share = make_friction(device).stick_or_slide_share


class Law(NamedTuple):
    """What all contacts have in common."""

    stiffness: float  # k_n [force/length]
    tangential_stiffness: float  # k_t [force/length], 0: no spring
    tangential_damping: float  # γ_t [force time/length]
    dt: float  # the explicit step [time]
    periodic: np.ndarray  # (3,) [length]


class Bodies(NamedTuple):
    """All bodies in 3D, grains first. Columns of six: along x, y, z, and about them."""

    x: np.ndarray  # (nb, 3)
    v: np.ndarray  # (nb, 6)
    f: np.ndarray  # (nb, 6) contact forces and torques of the present explicit step
    load: np.ndarray  # (nb, 6) external ones
    inverse: np.ndarray  # (nb, 6) inverse masses and moments of inertia
    radius: np.ndarray  # (n,)
    turned: np.ndarray  # (nb, 3) rotation since the step began, Σ ω dt
    origin: np.ndarray  # (nb, 3) where the pair list was made
    limit: np.ndarray  # (nb,) square of the way from there up to which it holds


class Pairs(NamedTuple):
    """The pair list, with what contacts remember and what the last explicit step saw of them."""

    start: np.ndarray  # (n + 1,) first pair of each grain
    second: np.ndarray  # (p,) uint32
    law: np.ndarray  # (p, 2): µ, γ_n
    touching: np.ndarray  # (p,) bool
    spring: np.ndarray  # (p, 3) ξ
    seen: np.ndarray  # (p, 7): n, gap, force on the second body


class Walls(NamedTuple):
    """All walls in 3D, see `contact.geometry`; a circle is a cylinder along z."""

    kind: np.ndarray  # (w,)
    point: np.ndarray  # (w, 3)
    axis: np.ndarray  # (w, 3)
    size: np.ndarray  # (w,)
    offset: np.ndarray  # (w, 3) from the pivot to the point, when the step began
    axis_before: np.ndarray  # (w, 3)


# Sums over a step, in the order of `march`'s result.
DISSIPATED, EXTERNAL, DRIVEN, WORST = range(4)


@device
def separation(b, i, j, periodic):
    """Vector from grain i to grain j."""
    return (
        min_image(b.x[j, 0] - b.x[i, 0], periodic[0]),
        min_image(b.x[j, 1] - b.x[i, 1], periodic[1]),
        min_image(b.x[j, 2] - b.x[i, 2], periodic[2]),
    )


@device
def forget(pairs, p):
    """An open contact has no spring."""
    pairs.touching[p] = False
    pairs.spring[p, 0] = pairs.spring[p, 1] = pairs.spring[p, 2] = 0.0


@device
def tangential_force(pairs, p, law, normal, slip, force_n):
    """T on the second body, and what friction dissipates in this explicit step [energy]."""
    (nx, ny, nz), (ux, uy, uz) = normal, slip
    k, c, dt = law.tangential_stiffness, law.tangential_damping, law.dt
    sx = sy = sz = before = 0.0
    if k > 0.0:
        sx, sy, sz = pairs.spring[p, 0], pairs.spring[p, 1], pairs.spring[p, 2]
        before = sx * sx + sy * sy + sz * sz
        sx, sy, sz = onto_plane(sx, sy, sz, nx, ny, nz)
        sx, sy, sz = sx + ux * dt, sy + uy * dt, sz + uz * dt
    tx, ty, tz = -k * sx - c * ux, -k * sy - c * uy, -k * sz - c * uz
    limit = pairs.law[p, 0] * force_n
    t2 = tx * tx + ty * ty + tz * tz
    share = stick_or_slide_share(t2, limit, limit)
    tx, ty, tz = share * tx, share * ty, share * tz
    lost = -dt * (tx * ux + ty * uy + tz * uz)
    if k > 0.0:
        if share < 1.0:
            sx, sy, sz = -tx / k, -ty / k, -tz / k
        pairs.spring[p, 0], pairs.spring[p, 1], pairs.spring[p, 2] = sx, sy, sz
        lost -= 0.5 * k * (sx * sx + sy * sy + sz * sz - before)
    return tx, ty, tz, lost


@jit
def contact_forces(b, pairs, walls, law, last):
    """Fill b.f with the forces of all contacts.

    Returns what they dissipate in an explicit step, and the worst overlap. The last explicit step
    of a step keeps what it saw of each contact.
    """
    n, dt = b.radius.size, law.dt
    k_t = law.tangential_stiffness
    lost, worst = 0.0, 0.0
    b.f[:] = 0.0
    for i in range(n):
        r = b.radius[i]
        fx = fy = fz = mx = my = mz = 0.0  # on grain i
        for p in range(pairs.start[i], pairs.start[i + 1]):
            j = pairs.second[p]
            grain = j < n
            if grain:
                nx, ny, nz = separation(b, i, j, law.periodic)
                contact = r + b.radius[j]
                d2 = nx * nx + ny * ny + nz * nz
                if not d2 < contact * contact:
                    if pairs.touching[p]:
                        lost += 0.5 * k_t * (
                            pairs.spring[p, 0] ** 2 + pairs.spring[p, 1] ** 2
                            + pairs.spring[p, 2] ** 2
                        )  # fmt: skip
                        forget(pairs, p)
                    continue
                d = math.sqrt(d2)
                gap = d - contact
                if d > TINY:
                    nx, ny, nz = nx / d, ny / d, nz / d
                else:
                    nx, ny, nz = 1.0, 0.0, 0.0
                # arms end in the middle of the overlap: no torque is lost
                a1, a2 = r + 0.5 * gap, b.radius[j] + 0.5 * gap
                wx = a1 * b.v[i, 3] + a2 * b.v[j, 3]
                wy = a1 * b.v[i, 4] + a2 * b.v[j, 4]
                wz = a1 * b.v[i, 5] + a2 * b.v[j, 5]
                lx = ly = lz = 0.0
            else:
                gap, nx, ny, nz = wall_gap(
                    b.x, i, r, law.periodic, walls.kind, walls.point, walls.axis, walls.size, j - n
                )
                if not gap < 0.0:
                    if pairs.touching[p]:
                        lost += 0.5 * k_t * (
                            pairs.spring[p, 0] ** 2 + pairs.spring[p, 1] ** 2
                            + pairs.spring[p, 2] ** 2
                        )  # fmt: skip
                        forget(pairs, p)
                    continue
                a1, a2 = r + gap, 0.0  # the wall stays as it is
                wx, wy, wz = a1 * b.v[i, 3], a1 * b.v[i, 4], a1 * b.v[i, 5]
                lx = min_image(b.x[i, 0] - b.x[j, 0], law.periodic[0]) + a1 * nx
                ly = min_image(b.x[i, 1] - b.x[j, 1], law.periodic[1]) + a1 * ny
                lz = min_image(b.x[i, 2] - b.x[j, 2], law.periodic[2]) + a1 * nz
            # u = v_j − v_i − (a_1 ω_i + a_2 ω_j) × n, or + ω_j × l of a wall
            ux = b.v[j, 0] - b.v[i, 0] - (wy * nz - wz * ny)
            uy = b.v[j, 1] - b.v[i, 1] - (wz * nx - wx * nz)
            uz = b.v[j, 2] - b.v[i, 2] - (wx * ny - wy * nx)
            if not grain:
                ux += b.v[j, 4] * lz - b.v[j, 5] * ly
                uy += b.v[j, 5] * lx - b.v[j, 3] * lz
                uz += b.v[j, 3] * ly - b.v[j, 4] * lx
            u_n = ux * nx + uy * ny + uz * nz
            elastic = -law.stiffness * gap
            force_n = normal_force(-gap, u_n, law.stiffness, pairs.law[p, 1])
            lost -= dt * (force_n - elastic) * u_n
            tx, ty, tz, taken = tangential_force(
                pairs, p, law, (nx, ny, nz), (ux - u_n * nx, uy - u_n * ny, uz - u_n * nz), force_n
            )
            lost += taken
            worst = max(worst, -gap)
            pairs.touching[p] = True
            px, py, pz = force_n * nx + tx, force_n * ny + ty, force_n * nz + tz
            # n × T, which turns both grains the same way
            cx, cy, cz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
            fx, fy, fz = fx - px, fy - py, fz - pz
            mx, my, mz = mx - a1 * cx, my - a1 * cy, mz - a1 * cz
            b.f[j, 0] += px
            b.f[j, 1] += py
            b.f[j, 2] += pz
            if grain:
                b.f[j, 3] -= a2 * cx
                b.f[j, 4] -= a2 * cy
                b.f[j, 5] -= a2 * cz
            else:
                b.f[j, 3] += ly * pz - lz * py
                b.f[j, 4] += lz * px - lx * pz
                b.f[j, 5] += lx * py - ly * px
            if last:
                pairs.seen[p, 0], pairs.seen[p, 1], pairs.seen[p, 2] = nx, ny, nz
                pairs.seen[p, 3] = gap
                pairs.seen[p, 4], pairs.seen[p, 5], pairs.seen[p, 6] = px, py, pz
        b.f[i, 0] += fx
        b.f[i, 1] += fy
        b.f[i, 2] += fz
        b.f[i, 3] += mx
        b.f[i, 4] += my
        b.f[i, 5] += mz
    return lost, worst


@jit
def move_bodies(b, dt):
    """v ← v + dt (F_ext + F)/m, then x ← x + v dt.

    Returns the work of external forces, that of driven bodies, and whether the pair list is still
    good for the new places.
    """
    external, driven, good = 0.0, 0.0, True
    for i in range(b.x.shape[0]):
        way = 0.0
        for a in range(6):
            before, push, w = b.v[i, a], b.f[i, a], b.inverse[i, a]
            after = before + dt * w * (b.load[i, a] + push)
            if w > 0.0:
                external += 0.5 * dt * b.load[i, a] * (before + after)
            else:
                driven -= dt * push * before
            b.v[i, a] = after
        for a in range(3):
            b.x[i, a] += dt * b.v[i, a]
            b.turned[i, a] += dt * b.v[i, 3 + a]
            way += (b.x[i, a] - b.origin[i, a]) ** 2
        good = good and way <= b.limit[i]
    return external, driven, good


@jit
def move_walls(b, walls, elapsed):
    """Walls where their bodies are now; those that turn have done so for the time elapsed."""
    n = b.radius.size
    for w in range(walls.size.size):
        x, y, z = b.v[n + w, 3], b.v[n + w, 4], b.v[n + w, 5]
        rate = math.sqrt(x * x + y * y + z * z)
        if rate > 0.0:
            x, y, z = x / rate, y / rate, z / rate
            c, s = math.cos(rate * elapsed), math.sin(rate * elapsed)
            turn(walls.axis_before, walls.axis, w, x, y, z, c, s)
            turn(walls.offset, walls.point, w, x, y, z, c, s)
        else:
            for a in range(3):
                walls.axis[w, a], walls.point[w, a] = walls.axis_before[w, a], walls.offset[w, a]
        for a in range(3):
            walls.point[w, a] += b.x[n + w, a]


@device
def turn(vectors, turned, w, x, y, z, c, s):
    """Rodrigues' formula: vector w turned about (x, y, z) by the angle with cosine c and sine s."""
    vx, vy, vz = vectors[w, 0], vectors[w, 1], vectors[w, 2]
    along = (1.0 - c) * (x * vx + y * vy + z * vz)
    turned[w, 0] = c * vx + s * (y * vz - z * vy) + along * x
    turned[w, 1] = c * vy + s * (z * vx - x * vz) + along * y
    turned[w, 2] = c * vz + s * (x * vy - y * vx) + along * z


@jit
def march(b, pairs, walls, law, begin, steps, sums, wall_push):
    """Explicit steps from number begin on, up to steps, or until the pair list is used up.

    sums: shape (4,), see above; wall_push: shape (w, 6), impulses on the walls. Returns the number
    of explicit steps done since the step began.
    """
    n, dt = b.radius.size, law.dt
    for step in range(begin, steps):
        move_walls(b, walls, step * dt)
        lost, worst = contact_forces(b, pairs, walls, law, step == steps - 1)
        for w in range(wall_push.shape[0]):
            for a in range(6):
                wall_push[w, a] += dt * b.f[n + w, a]
        external, driven, good = move_bodies(b, dt)
        sums[DISSIPATED] += lost
        sums[EXTERNAL] += external
        sums[DRIVEN] += driven
        sums[WORST] = max(sums[WORST], worst)
        if not good:
            return step + 1
    return steps


@jit
def stored_energy(b, pairs, walls, law):
    """Energy in the springs where the bodies are now [energy]."""
    n, total = b.radius.size, 0.0
    for i in range(n):
        for p in range(pairs.start[i], pairs.start[i + 1]):
            j = pairs.second[p]
            if j < n:
                x, y, z = separation(b, i, j, law.periodic)
                gap = math.sqrt(x * x + y * y + z * z) - b.radius[i] - b.radius[j]
            else:
                gap, x, y, z = wall_gap(
                    b.x, i, b.radius[i], law.periodic, walls.kind, walls.point, walls.axis,
                    walls.size, j - n,
                )  # fmt: skip
            if gap < 0.0:
                total += law.stiffness * gap * gap
                for a in range(3):
                    total += law.tangential_stiffness * pairs.spring[p, a] ** 2
    return 0.5 * total


@jit
def recall(old_first, old_second, old_spring, start, second, touching, spring):
    """Give listed pairs the springs of the contacts that they were; both lists are sorted."""
    touching[:] = False
    spring[:] = 0.0
    o, m, width = 0, old_first.size, old_spring.shape[1]
    for i in range(start.size - 1):
        for p in range(start[i], start[i + 1]):
            j = second[p]
            while o < m and (old_first[o] < i or (old_first[o] == i and old_second[o] < j)):
                o += 1
            if o < m and old_first[o] == i and old_second[o] == j:
                touching[p] = True
                for a in range(width):
                    spring[p, a] = old_spring[o, a]
