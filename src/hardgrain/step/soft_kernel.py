"""The compiled loops of the soft-particle engine: forces of all contacts, and the explicit step.

Everything is three-dimensional here: in 2D positions have a z that stays zero, disks turn about z
alone, and the other inverse masses and moments of inertia are zero. One code does for both.

Forces are summed in the order of the pair list and a pair that does not touch adds nothing, so the
sums do not depend on when the list was made; all other sums are taken explicit step by explicit
step. A step that is left in the middle to make a new list therefore has the same bits.

A periodic cell that deforms (`step.soft_cell_kernel`) is an argument that is None where there is
none, and is then compiled away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hardgrain.core.geometry import TINY, min_image, wall_gap
from hardgrain.kernels import device, jit
from hardgrain.law.spring import make_spring
from hardgrain.step.soft_cell_kernel import add_dyad, deform, load_cell, nearest_image, times

_spring = make_spring(device)
normal_force, onto_plane, stretch = _spring.normal_force, _spring.onto_plane, _spring.stretch


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
    elastic: np.ndarray  # (nb, 6) the share of the normal springs in them
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


class MovingWalls(NamedTuple):
    """All walls in 3D, and how they stood when the step began.

    They are rows as in `core.wall_kinds`; a circle is a cylinder along z.
    """

    kind: np.ndarray  # (w,)
    point: np.ndarray  # (w, 3)
    axis: np.ndarray  # (w, 3)
    size: np.ndarray  # (w,)
    offset: np.ndarray  # (w, 3) from the pivot to the point, when the step began
    axis_before: np.ndarray  # (w, 3)
    side: np.ndarray  # (w, 3)
    side_before: np.ndarray  # (w, 3)


# Sums over a step, in the order of `march`'s result.
DISSIPATED, EXTERNAL, DRIVEN, WORST = range(4)


@device
def per_length(period):
    """1 / period, zero where there is none."""
    return 1.0 / period if period > 0.0 else 0.0


@device
def nearest(d, period, inverse):
    """`min_image` without a branch or a division."""
    return d - period * np.floor(d * inverse + 0.5)


@jit
def contact_forces(b, pairs, walls, law, cell, last):
    """Fill b.f with the forces of all contacts, b.elastic with the share of the normal springs.

    Returns the energy that tangential springs gain in this explicit step, and the worst overlap.
    The last explicit step of a step keeps what it saw of each contact. cell: a `DeformingCell`,
    which is the last body, or None.
    """
    # Bound here, once: within the loop Numba would count references.
    x, v, f, e, radius = b.x, b.v, b.f, b.elastic, b.radius
    start, second, touching, spring = pairs.start, pairs.second, pairs.touching, pairs.spring
    n, dt, k_n, k_t = radius.size, law.dt, law.stiffness, law.tangential_stiffness
    period = law.periodic
    lx, ly, lz = period[0], period[1], period[2]
    ix, iy, iz = per_length(lx), per_length(ly), per_length(lz)
    if cell is not None:
        tilt, body = (cell.near[3], cell.near[4], cell.near[5]), x.shape[0] - 1
    gained, worst = 0.0, 0.0
    f[:], e[:] = 0.0, 0.0
    for i in range(n):
        r = radius[i]
        fx = fy = fz = mx = my = mz = ex = ey = ez = 0.0  # on grain i
        for p in range(start[i], start[i + 1]):
            j = second[p]
            wall = j >= n
            if not wall:
                if cell is None:
                    nx = nearest(x[j, 0] - x[i, 0], lx, ix)
                    ny = nearest(x[j, 1] - x[i, 1], ly, iy)
                    nz = nearest(x[j, 2] - x[i, 2], lz, iz)
                else:
                    nx, ny, nz = nearest_image(
                        x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2], (lx, ly, lz), tilt
                    )
                contact = r + radius[j]
                d2 = nx * nx + ny * ny + nz * nz
                gap = 1.0
                if d2 < contact * contact:
                    d = math.sqrt(d2)
                    gap = d - contact
                    if d > TINY:
                        nx, ny, nz = nx / d, ny / d, nz / d
                    else:
                        nx, ny, nz = 1.0, 0.0, 0.0
            else:
                gap, nx, ny, nz = wall_gap(
                    x,
                    i,
                    r,
                    period,
                    walls,
                    j - n,
                )
            if not gap < 0.0:
                if touching[p]:  # it opens: its spring is gone
                    touching[p] = False
                    for a in range(3):
                        gained -= 0.5 * k_t * spring[p, a] ** 2
                        spring[p, a] = 0.0
                continue
            # Arms: grains meet in the middle of the overlap, so that no torque is lost.
            px = py = pz = 0.0
            if not wall:
                a1, a2 = r + 0.5 * gap, radius[j] + 0.5 * gap
            else:
                a1, a2 = r + gap, 0.0
                px = min_image(x[i, 0] - x[j, 0], lx) + a1 * nx
                py = min_image(x[i, 1] - x[j, 1], ly) + a1 * ny
                pz = min_image(x[i, 2] - x[j, 2], lz) + a1 * nz
            # u = v_j − v_i − (a_1 ω_i + a_2 ω_j) × n, and + ω_j × p of a wall
            wx = a1 * v[i, 3] + a2 * v[j, 3]
            wy = a1 * v[i, 4] + a2 * v[j, 4]
            wz = a1 * v[i, 5] + a2 * v[j, 5]
            ux = v[j, 0] - v[i, 0] - (wy * nz - wz * ny)
            uy = v[j, 1] - v[i, 1] - (wz * nx - wx * nz)
            uz = v[j, 2] - v[i, 2] - (wx * ny - wy * nx)
            if wall:
                ux += v[j, 4] * pz - v[j, 5] * py
                uy += v[j, 5] * px - v[j, 3] * pz
                uz += v[j, 3] * py - v[j, 4] * px
            if cell is not None:  # and + L l of the branch l, zero at a wall
                branch = 0.0 if wall else r + radius[j] + gap
                bx, by, bz = branch * nx, branch * ny, branch * nz
                ax, ay, az = times(v, body, bx, by, bz)
                ux, uy, uz = ux + ax, uy + ay, uz + az
            u_n = ux * nx + uy * ny + uz * nz
            force_n = normal_force(-gap, u_n, k_n, pairs.law[p, 1])
            xi = (0.0, 0.0, 0.0)
            if k_t > 0.0:
                xi = onto_plane((spring[p, 0], spring[p, 1], spring[p, 2]), (nx, ny, nz))
            slip = (ux - u_n * nx, uy - u_n * ny, uz - u_n * nz)
            limit = pairs.law[p, 0] * force_n
            (tx, ty, tz), xi, stored = stretch(xi, slip, limit, k_t, law.tangential_damping, dt)
            if k_t > 0.0:
                spring[p, 0], spring[p, 1], spring[p, 2] = xi
            gained += stored
            worst = max(worst, -gap)
            touching[p] = True
            qx, qy, qz = force_n * nx + tx, force_n * ny + ty, force_n * nz + tz
            # n × T, which turns both grains the same way
            cx, cy, cz = ny * tz - nz * ty, nz * tx - nx * tz, nx * ty - ny * tx
            fx, fy, fz = fx - qx, fy - qy, fz - qz
            mx, my, mz = mx - a1 * cx, my - a1 * cy, mz - a1 * cz
            f[j, 0] += qx
            f[j, 1] += qy
            f[j, 2] += qz
            f[j, 3] += py * qz - pz * qy - a2 * cx
            f[j, 4] += pz * qx - px * qz - a2 * cy
            f[j, 5] += px * qy - py * qx - a2 * cz
            hx, hy, hz = -k_n * gap * nx, -k_n * gap * ny, -k_n * gap * nz
            ex, ey, ez = ex - hx, ey - hy, ez - hz
            e[j, 0] += hx
            e[j, 1] += hy
            e[j, 2] += hz
            if wall:
                e[j, 3] += py * hz - pz * hy
                e[j, 4] += pz * hx - px * hz
                e[j, 5] += px * hy - py * hx
            if cell is not None:
                add_dyad(f, body, qx, qy, qz, bx, by, bz)
                add_dyad(e, body, hx, hy, hz, bx, by, bz)
            if last:
                pairs.seen[p, 0], pairs.seen[p, 1], pairs.seen[p, 2] = nx, ny, nz
                pairs.seen[p, 3] = gap
                pairs.seen[p, 4], pairs.seen[p, 5], pairs.seen[p, 6] = qx, qy, qz
        f[i, 0] += fx
        f[i, 1] += fy
        f[i, 2] += fz
        f[i, 3] += mx
        f[i, 4] += my
        f[i, 5] += mz
        e[i, 0] += ex
        e[i, 1] += ey
        e[i, 2] += ez
    return gained, worst


@jit
def move_bodies(b, dt):
    """v ← v + dt (F_ext + F)/m, then x ← x + v dt.

    Returns the work of external forces, of driven bodies, and of contact forces that no normal
    spring gives, each with the mean of the old and new velocity, as the change of kinetic energy
    has it; and whether the pair list is still good for the new places.
    """
    external, driven, rubbed, good = 0.0, 0.0, 0.0, True
    for i in range(b.x.shape[0]):
        way = 0.0
        for a in range(6):
            before, push, w = b.v[i, a], b.f[i, a], b.inverse[i, a]
            after = before + dt * w * (b.load[i, a] + push)
            if w > 0.0:
                external += 0.5 * dt * b.load[i, a] * (before + after)
            else:
                driven -= dt * push * before
            rubbed += 0.5 * dt * (push - b.elastic[i, a]) * (before + after)
            b.v[i, a] = after
        for a in range(3):
            b.x[i, a] += dt * b.v[i, a]
            b.turned[i, a] += dt * b.v[i, 3 + a]
            way += (b.x[i, a] - b.origin[i, a]) ** 2
        good = good and way <= b.limit[i]
    return external, driven, rubbed, good


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
            rotate_vector(walls.axis_before, walls.axis, w, (x, y, z), c, s)
            rotate_vector(walls.side_before, walls.side, w, (x, y, z), c, s)
            rotate_vector(walls.offset, walls.point, w, (x, y, z), c, s)
        else:
            for a in range(3):
                walls.axis[w, a], walls.point[w, a] = walls.axis_before[w, a], walls.offset[w, a]
                walls.side[w, a] = walls.side_before[w, a]
        for a in range(3):
            walls.point[w, a] += b.x[n + w, a]


@device
def rotate_vector(vectors, turned, w, about, c, s):
    """Rodrigues' formula: vector w turned about an axis by the angle with cosine c and sine s."""
    x, y, z = about
    vx, vy, vz = vectors[w, 0], vectors[w, 1], vectors[w, 2]
    along = (1.0 - c) * (x * vx + y * vy + z * vz)
    turned[w, 0] = c * vx + s * (y * vz - z * vy) + along * x
    turned[w, 1] = c * vy + s * (z * vx - x * vz) + along * y
    turned[w, 2] = c * vz + s * (x * vy - y * vx) + along * z


@jit
def march(b, pairs, walls, law, cell, course, sums, wall_push):
    """Explicit steps until all are made, or until the pair list is used up.

    course: how many are made, how many there are; sums: shape (4,), see above; wall_push: shape
    (w, 6), impulses on the walls. Returns how many are made now.
    """
    n, dt = b.radius.size, law.dt
    begin, steps = course
    for step in range(begin, steps):
        move_walls(b, walls, step * dt)
        if cell is not None:
            load_cell(b, walls, cell)
        gained, worst = contact_forces(b, pairs, walls, law, cell, step == steps - 1)
        for w in range(wall_push.shape[0]):
            for a in range(6):
                wall_push[w, a] += dt * b.f[n + w, a]
        external, driven, rubbed, good = move_bodies(b, dt)
        if cell is not None:
            good = deform(b, cell, dt) and good
        sums[DISSIPATED] -= rubbed + gained
        sums[EXTERNAL] += external
        sums[DRIVEN] += driven
        sums[WORST] = max(sums[WORST], worst)
        if not good:
            return step + 1
    return steps


@jit
def stored_energy(b, pairs, walls, law, cell):
    """Energy in the springs where the bodies are now [energy]."""
    n, total = b.radius.size, 0.0
    for i in range(n):
        for p in range(pairs.start[i], pairs.start[i + 1]):
            j = pairs.second[p]
            if j < n:
                x, y, z = b.x[j, 0] - b.x[i, 0], b.x[j, 1] - b.x[i, 1], b.x[j, 2] - b.x[i, 2]
                if cell is None:
                    x = min_image(x, law.periodic[0])
                    y = min_image(y, law.periodic[1])
                    z = min_image(z, law.periodic[2])
                else:
                    period = cell.near[0], cell.near[1], cell.near[2]
                    tilt = cell.near[3], cell.near[4], cell.near[5]
                    x, y, z = nearest_image(x, y, z, period, tilt)
                gap = math.sqrt(x * x + y * y + z * z) - b.radius[i] - b.radius[j]
            else:
                gap, x, y, z = wall_gap(
                    b.x, i, b.radius[i], law.periodic, walls, j - n,
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
