"""Distance of two convex cores, by the algorithm of Gilbert, Johnson and Keerthi.

The cores A and B have the distance of the origin from their difference B − A, the polytope of all
b − a. The point v of it that is nearest to the origin is approached by simplices of its corners: to
the simplex the corner w is added that lies farthest towards the origin, v·w = min, and of the
simplex that part is kept on which the nearest point then lies. |v| is an upper bound of the
distance and v·w/|v| a lower one; for a polytope they meet after finitely many corners.

All parts of a simplex that hold the new corner are tried, and the nearest point on them is taken
(parts without it cannot be nearer than the last v). So a simplex that is flat to rounding does no
harm. The search ends when the new corner is part of the simplex already, or when |v| does not
decrease any more, but for a few times: |v| is flat about its minimum, so that it stays the same to
rounding while its direction still improves by up to 1e-8. The direction with the largest lower
bound of all is kept beside the last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.frame import make_frame

# Corners that are added at most. The usual number is 3 to 8; balls made of hundreds of corners
# need 20. If it were reached, |v| would be a little too long, and the gap that the other corners
# give along its direction a little too small, never too large.
ITERATIONS = 100
# Corners that may be added though |v| stays the same to rounding; they could follow in a cycle.
SIDEWAYS = 8
# Increase of v² that is rounding.
SAME = 1.0 + 4e-15
# [extent] Shorter distances are rounding: the cores touch or overlap.
NOTHING = 1e-15
# Volume of a simplex, relative to that of a box with its edges, that is rounding.
FLAT = 1e-15
# The nearest point of a simplex is corrected where its square is below that of a corner by so much,
# or the squared sine of the angle of two sides is below this. With more, points are corrected in
# vain. With less, their directions are wrong by 1e-16/√CLOSE, or they miss by as much.
CLOSE = 1e-6


@cache
def make_distance(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the distance of cores with ``jit``."""
    cross = make_frame(jit).cross

    @jit
    def highest(corner, start, end, x, y, z):
        """Row of the corner that is farthest along (x, y, z), the first of several."""
        best, most = start, -math.inf
        for c in range(start, end):
            h = corner[c, 0] * x + corner[c, 1] * y + corner[c, 2] * z
            if h > most:
                best, most = c, h
        return best

    @jit
    def keep(room, m, i, j):
        """Keep corners i and j (−1: none) and the newest of m of a simplex; how many are left."""
        k = 0
        for s in range(m):
            if s in (i, j, m - 1):
                for x in range(3):
                    room.simplex[k, x] = room.simplex[s, x]
                room.pick[k, 0], room.pick[k, 1] = room.pick[s, 0], room.pick[s, 1]
                k += 1
        return k

    # With p the newest corner and e, f the sides from there to two others, the origin projects to
    # p + s e + t f, with N = e × f, s = ((−p) × f)·N/N², t = (e × (−p))·N/N². The distance of that
    # point is never below that of the cores; p·N/|N| could be, where the triangle is a sliver.
    #
    # The point is small beside p where cores nearly touch, and has the rounding errors of p. Their
    # part along the sides would tilt v against the simplex, by more than its distance: the corners
    # would then be at different heights, and one of them be found farthest though another one is.
    # In a sliver s and t are wrong by 1e-16/sine besides. The same formula with the point in the
    # place of p is what must be added.
    @jit
    def shares(p, e, f, n, nn):
        """s and t above."""
        (px, py, pz), (ex, ey, ez), (fx, fy, fz), (nx, ny, nz) = p, e, f, n
        gx, gy, gz = cross(fx, fy, fz, px, py, pz)
        hx, hy, hz = cross(px, py, pz, ex, ey, ez)
        return (gx * nx + gy * ny + gz * nz) / nn, (hx * nx + hy * ny + hz * nz) / nn

    @jit
    def nearest(room, m, old):
        """Reduce a simplex of m corners to the part that is nearest to the origin.

        Returns how many corners are left, and the nearest point with its square. No corner is left
        if none is nearer than ``old`` [length²], and four if the origin is inside.
        """
        w, p = room.simplex, m - 1
        px, py, pz = w[p, 0], w[p, 1], w[p, 2]
        pp = px * px + py * py + pz * pz
        best, vx, vy, vz = pp, px, py, pz
        bi, bj, s, t = -1, -1, 0.0, 0.0
        for i in range(p):
            ex, ey, ez = w[i, 0] - px, w[i, 1] - py, w[i, 2] - pz
            ee, pe = ex * ex + ey * ey + ez * ez, px * ex + py * ey + pz * ez
            if -pe > 0.0 and -pe < ee:
                u = -pe / ee
                qx, qy, qz = px + u * ex, py + u * ey, pz + u * ez
                d = qx * qx + qy * qy + qz * qz
                if d < CLOSE * pp:
                    du = -(qx * ex + qy * ey + qz * ez) / ee
                    u, qx, qy, qz = u + du, qx + du * ex, qy + du * ey, qz + du * ez
                    d = qx * qx + qy * qy + qz * qz
                if d < best:
                    best, vx, vy, vz, bi, bj, s = d, qx, qy, qz, i, -1, u
            for j in range(i + 1, p):
                fx, fy, fz = w[j, 0] - px, w[j, 1] - py, w[j, 2] - pz
                nx, ny, nz = cross(ex, ey, ez, fx, fy, fz)
                nn = nx * nx + ny * ny + nz * nz
                ff = fx * fx + fy * fy + fz * fz
                if nn > FLAT * FLAT * ee * ff:
                    e, f, n = (ex, ey, ez), (fx, fy, fz), (nx, ny, nz)
                    u, r = shares((px, py, pz), e, f, n, nn)
                    if u > 0.0 and r > 0.0 and u + r < 1.0:
                        qx, qy = px + u * ex + r * fx, py + u * ey + r * fy
                        qz = pz + u * ez + r * fz
                        d = qx * qx + qy * qy + qz * qz
                        if d < CLOSE * pp or nn < CLOSE * ee * ff:
                            du, dr = shares((qx, qy, qz), e, f, n, nn)
                            u, qx, qy = u + du, qx + du * ex + dr * fx, qy + du * ey + dr * fy
                            r, qz = r + dr, qz + du * ez + dr * fz
                            d = qx * qx + qy * qy + qz * qz
                        if d < best:
                            best, vx, vy, vz = d, qx, qy, qz
                            bi, bj, s, t = i, j, u, r
        if m == 4 and inside(room):
            return 4, 0.0, 0.0, 0.0, 0.0
        if not best < old:
            return 0, vx, vy, vz, best
        m = keep(room, m, bi, bj)
        if m == 3:
            room.weight[0], room.weight[1], room.weight[2] = s, t, 1.0 - s - t
        elif m == 2:
            room.weight[0], room.weight[1] = s, 1.0 - s
        else:
            room.weight[0] = 1.0
        return m, vx, vy, vz, best

    @jit
    def inside(room):
        """Whether the origin lies in a simplex of four corners, which is not flat."""
        w = room.simplex
        px, py, pz = w[3, 0], w[3, 1], w[3, 2]
        ex, ey, ez = w[0, 0] - px, w[0, 1] - py, w[0, 2] - pz
        fx, fy, fz = w[1, 0] - px, w[1, 1] - py, w[1, 2] - pz
        gx, gy, gz = w[2, 0] - px, w[2, 1] - py, w[2, 2] - pz
        ax, ay, az = cross(fx, fy, fz, gx, gy, gz)
        bx, by, bz = cross(gx, gy, gz, ex, ey, ez)
        cx, cy, cz = cross(ex, ey, ez, fx, fy, fz)
        volume = ex * ax + ey * ay + ez * az
        box = (ex * ex + ey * ey + ez * ez) * (fx * fx + fy * fy + fz * fz)
        box *= gx * gx + gy * gy + gz * gz
        if volume * volume <= FLAT * FLAT * box:
            return False
        s = -(px * ax + py * ay + pz * az) / volume
        t = -(px * bx + py * by + pz * bz) / volume
        u = -(px * cx + py * cy + pz * cz) / volume
        return s >= 0.0 and t >= 0.0 and u >= 0.0 and s + t + u <= 1.0

    @jit
    def distance(cores, limit):
        """The shortest way from core a to core b: corners of its simplex, direction, length.

        Four corners: the cores overlap. No corner: the distance is not below ``limit``. The
        weights and corners of the simplex are left in the room, and the direction of the largest
        lower bound.
        """
        corner, room, a, b = cores.corner, cores.room, cores.a, cores.b
        dx, dy, dz = cores.apart
        vx, vy, vz = dx, dy, dz
        if dx * dx + dy * dy + dz * dz == 0.0:
            vx = 1.0
        m, old, length = 0, math.inf, math.sqrt(vx * vx + vy * vy + vz * vz)
        low, sideways = -math.inf, 0
        for _ in range(ITERATIONS):
            i = highest(corner, a.corner, a.corner_end, vx, vy, vz)
            j = highest(corner, b.corner, b.corner_end, -vx, -vy, -vz)
            wx = corner[j, 0] + dx - corner[i, 0]
            wy = corner[j, 1] + dy - corner[i, 1]
            wz = corner[j, 2] + dz - corner[i, 2]
            along = vx * wx + vy * wy + vz * wz
            if along >= limit * length:
                return 0, vx, vy, vz, length
            if m > 0 and along > low * length:
                low = along / length
                room.best[0], room.best[1], room.best[2] = vx / length, vy / length, vz / length
            known = along >= old
            for s in range(m):
                known = known or (room.pick[s, 0] == i and room.pick[s, 1] == j)
            if known:
                break
            room.simplex[m, 0], room.simplex[m, 1], room.simplex[m, 2] = wx, wy, wz
            room.pick[m, 0], room.pick[m, 1] = i, j
            left, x, y, z, square = nearest(room, m + 1, old * SAME if sideways < SIDEWAYS else old)
            if left == 0:
                break
            if square >= old:
                sideways += 1
            m, vx, vy, vz, old = left, x, y, z, square
            length = math.sqrt(square)
            if m == 4 or length <= NOTHING * cores.extent:
                return 4, 1.0, 0.0, 0.0, 0.0
        return m, vx / length, vy / length, vz / length, length

    @jit
    def witnesses(cores, m):
        """The points of both cores that are nearest to each other, each about its own centre."""
        corner, room = cores.corner, cores.room
        ax = ay = az = bx = by = bz = 0.0
        for s in range(m):
            i, j, u = room.pick[s, 0], room.pick[s, 1], room.weight[s]
            ax, ay, az = ax + u * corner[i, 0], ay + u * corner[i, 1], az + u * corner[i, 2]
            bx, by, bz = bx + u * corner[j, 0], by + u * corner[j, 1], bz + u * corner[j, 2]
        return ax, ay, az, bx, by, bz

    return SimpleNamespace(distance=distance, witnesses=witnesses, highest=highest)
