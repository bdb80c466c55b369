"""Contact points of a part and one triangle of a mesh, which knows of the triangles around it.

Whatever touches a mesh touches a face, an edge or a corner of it. There the normal must be one of
the mesh as a whole: a plane across it, laid through the point, must have the mesh behind it as far
as it is near. On a face that is the normal of the face. On an edge it is any direction between the
normals of the two faces, if the edge sticks out; if it is flat or hollow, there is none, and the
faces have the contact. So a grain that rolls or slides over the triangles of a plane never meets
their edges, whatever the triangles are.

Instead of going by a table of edges, which files with duplicate corners, gaps or edges that end
within another one would spoil, the test looks at the triangles that are near in any case: a normal
is hidden if one of those that hold the point rises along it.

All points here are in the frame of the mesh, but for those in the room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.axes import make_axes
from hardgrain.point.manifold import FLUSH, make_manifold
from hardgrain.point.parts import make_parts

# [rad] Angle by which a triangle may rise along a normal and not hide it. If it is larger, an edge
# is felt before the grain is beyond it; below the rounding of coordinates over the size of a
# triangle, a grain exactly above an edge would touch neither of its faces.
TILT = 1e-6
# [size of the part] Triangles closer than this to a point hold it. If it is larger, thin layers are
# mixed up; if it is smaller, edges of files with seven digits that should meet are not joined.
HELD = 1e-6
# Cosine of the angle, twice TILT, below which a normal is that of the face.
OF_FACE = 1.0 - 0.5 * (2.0 * TILT) ** 2
# The same for parts with edges, 1e-4: where their core is close, the direction from core to
# triangle is no better known.
OF_FLUSH_FACE = 1.0 - 0.5e-8
# [radius of the part] Overlap along the normal of a triangle up to which the triangle may be what a
# part has sunk into, where the shortest way out leads across a hidden edge. If it is larger, a part
# that hardly reaches over the rim of a step is held back by the step's side; if it is smaller, a
# corner that has sunk in next to a hidden edge falls through.
SUNK = 1e-3


@cache
def make_mesh(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the contact of a part and a triangle with ``jit``."""
    parts, manifold = make_parts(jit), make_manifold(jit)
    normal_of, only_point = parts.normal_of, parts.only_point
    points_3d, face_points = manifold.points_3d, manifold.face_points
    facing = make_axes(jit).facing

    # Which corner, side or face is nearest follows from the projections on the sides, seen from the
    # three corners (Ericson, Real-Time Collision Detection, 5.1.5).
    @jit
    def nearest(meshes, t, x, y, z):
        """The point of triangle t that is nearest to (x, y, z), and what it lies on.

        That is 0 for the face, 1 + k for the side from corner k to the next, 4 + k for corner k.
        """
        c, row, n = meshes.corner, meshes.triangle[t], meshes.normal[t]
        i, j, k = row[0], row[1], row[2]
        ax, ay, az = c[i, 0], c[i, 1], c[i, 2]
        bx, by, bz = c[j, 0] - ax, c[j, 1] - ay, c[j, 2] - az
        cx, cy, cz = c[k, 0] - ax, c[k, 1] - ay, c[k, 2] - az
        px, py, pz = x - ax, y - ay, z - az
        d1, d2 = bx * px + by * py + bz * pz, cx * px + cy * py + cz * pz
        if d1 <= 0.0 and d2 <= 0.0:
            return ax, ay, az, 4
        bb, bc, cc = (
            bx * bx + by * by + bz * bz,
            bx * cx + by * cy + bz * cz,
            cx * cx + cy * cy + cz * cz,
        )
        d3, d4 = d1 - bb, d2 - bc
        if d3 >= 0.0 and d4 <= d3:
            return c[j, 0], c[j, 1], c[j, 2], 5
        if d1 * d4 - d3 * d2 <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
            s = d1 / bb
            return ax + s * bx, ay + s * by, az + s * bz, 1
        d5, d6 = d1 - bc, d2 - cc
        if d6 >= 0.0 and d5 <= d6:
            return c[k, 0], c[k, 1], c[k, 2], 6
        if d5 * d2 - d1 * d6 <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
            s = d2 / cc
            return ax + s * cx, ay + s * cy, az + s * cz, 3
        if d3 * d6 - d5 * d4 <= 0.0 and d4 >= d3 and d5 >= d6:
            s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
            u, v, w = bx + s * (cx - bx), by + s * (cy - by), bz + s * (cz - bz)
            return ax + u, ay + v, az + w, 2
        h = n[0] * px + n[1] * py + n[2] * pz
        return x - h * n[0], y - h * n[1], z - h * n[2], 0

    @jit
    def allowed(meshes, near, one_sided, p, n, slack):
        """Whether a contact at point p may have the normal n, out of the mesh.

        near: triangles and how many of them; slack: distance up to which they hold p [length].
        Where a mesh has one side, n must point to it: two faces that meet in an edge say so by the
        sum of their normals.
        """
        (x, y, z), (u, v, w) = p, n
        c, triangle, (rows, count) = meshes.corner, meshes.triangle, near
        normal, out = meshes.normal, 0.0
        for s in range(count):
            t = rows[s]
            i = triangle[t, 0]
            h = normal[t, 0] * (x - c[i, 0]) + normal[t, 1] * (y - c[i, 1])
            if abs(h + normal[t, 2] * (z - c[i, 2])) > slack:
                continue
            qx, qy, qz, _ = nearest(meshes, t, x, y, z)
            if (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2 > slack * slack:
                continue
            for k in range(3):
                i = triangle[t, k]
                dx, dy, dz = c[i, 0] - qx, c[i, 1] - qy, c[i, 2] - qz
                rise, far = u * dx + v * dy + w * dz, dx * dx + dy * dy + dz * dz
                # where p is this corner, rise and far are rounding
                if rise > 0.0 and rise * rise > TILT * TILT * (far + slack * slack):
                    return False
            out += u * normal[t, 0] + v * normal[t, 1] + w * normal[t, 2]
        return out > 0.0 or not one_sided

    # One side: a ball whose centre has passed the surface is pushed back by the faces that it has
    # passed by less than its radius.
    @jit
    def ball_point(meshes, near, t, one_sided, ball, limit):
        """Contact of a ball (centre and radius) with triangle t, if its gap is below the limit.

        Returns whether there is one, its gap, its normal out of the mesh, the point of the mesh,
        and what it lies on, see `nearest`.
        """
        x, y, z, r = ball
        i, normal, c = meshes.triangle[t, 0], meshes.normal, meshes.corner
        u, v, w = normal[t, 0], normal[t, 1], normal[t, 2]
        h = u * (x - c[i, 0]) + v * (y - c[i, 1]) + w * (z - c[i, 2])
        n, p = (u, v, w), (x - h * u, y - h * v, z - h * w)
        if abs(h) >= limit + r or (one_sided and h <= -r):
            return False, 0.0, n, p, 0
        qx, qy, qz, on = nearest(meshes, t, x, y, z)
        if on > 0:
            dx, dy, dz = x - qx, y - qy, z - qz
            square = dx * dx + dy * dy + dz * dz
            if square >= (limit + r) ** 2:
                return False, 0.0, n, p, 0
            d = math.sqrt(square)
            if d > HELD * r:
                m = (dx / d, dy / d, dz / d)
                if not allowed(meshes, near, one_sided, (qx, qy, qz), m, HELD * r):
                    return False, 0.0, n, p, 0
                if abs(m[0] * u + m[1] * v + m[2] * w) < OF_FACE:
                    return True, d - r, m, (qx, qy, qz), on
        if h < 0.0 and not one_sided:
            h, n = -h, (-u, -v, -w)
        return True, h - r, n, p, 0

    @jit
    def put_again(room, found):
        """Keep all points that there are."""
        for k in range(found):
            room.kept[k] = k
        return found

    # The part and the triangle are cores, and their shortest way is known. If it runs along the
    # normal of the face, the face is met in all its points. If it is allowed where it begins, it is
    # that of an edge or corner that sticks out. Otherwise another triangle has the contact; but a
    # part that is nearly flush with this one comes down on it too, and one that has sunk into it
    # next to a hidden edge must not fall through.
    @jit
    def triangle_points(cores, limit, one_sided, about, mesh):
        """Write the points of a part and a triangle into the room, where both are cores.

        about: a point in the middle of the part, about the body's centre, and a radius; mesh: the
        frame of the mesh, its record, and the triangles near with their number. Returns how many
        points there are, and whether they are points of the face.
        """
        frame, meshes, near = mesh
        a, b, normal = cores.a, cores.b, cores.normal
        reach = limit + a.radius
        gap, x, y, z, m, e, f, whose = normal_of(cores, reach, True)
        if not gap < reach:
            return 0, False
        up, mx, my, mz, size = b.face, about[0], about[1], about[2], about[3]
        c, n = b.corner, cores.normal
        side = -(x * n[up, 0] + y * n[up, 1] + z * n[up, 2])
        if not one_sided:
            sign = side
            if abs(side) < 1.0 - FLUSH:
                sign = (
                    n[up, 0] * (mx - cores.corner[c, 0])
                    + n[up, 1] * (my - cores.corner[c, 1])
                    + n[up, 2] * (mz - cores.corner[c, 2])
                )
            if sign < 0.0:
                up, side = up + 1, -side
        out = (-normal[up, 0], -normal[up, 1], -normal[up, 2])
        face, _ = facing(cores, a, out[0], out[1], out[2])
        if side >= OF_FLUSH_FACE:
            found = face_points(cores, out, reach, False, (up, face))
            if found > 0:
                return put_again(cores.room, found), True
        only_point(cores, gap, (x, y, z), m, (e, f, whose))
        p = to_mesh(frame, cores.room.on_second[0], True)
        away = to_mesh(frame, (-x, -y, -z), False)
        if allowed(meshes, near, one_sided, p, away, HELD * size):
            found = points_3d(cores, (x, y, z), reach, (e, f))
            nearest_one = False
            for k in range(found):
                nearest_one = nearest_one or cores.room.gap[k] <= gap - a.radius + HELD * size
            if not nearest_one:
                only_point(cores, gap, (x, y, z), m, (e, f, whose))
                found = 1
            return put_again(cores.room, found), False
        if side < FLUSH and gap > 0.0:
            return 0, False
        found = face_points(cores, out, reach, False, (up, face))
        for k in range(found):
            if cores.room.gap[k] < -SUNK * size:
                return 0, False
        return put_again(cores.room, found), True

    @jit
    def to_mesh(frame, r, place):
        """A vector about a grain's centre, or a direction, in the frame of the mesh."""
        (ax, ay, az), (bx, by, bz), (cx, cy, cz), (ox, oy, oz) = frame
        x, y, z = r[0], r[1], r[2]
        if place:
            x, y, z = x - ox, y - oy, z - oz
        return x * ax + y * ay + z * az, x * bx + y * by + z * bz, x * cx + y * cy + z * cz

    @jit
    def to_space(frame, r, place):
        """The other way round."""
        (ax, ay, az), (bx, by, bz), (cx, cy, cz), (ox, oy, oz) = frame
        x, y, z = r[0], r[1], r[2]
        u, v, w = (
            x * ax + y * bx + z * cx,
            x * ay + y * by + z * cy,
            x * az + y * bz + z * cz,
        )
        if place:
            u, v, w = u + ox, v + oy, w + oz
        return u, v, w

    return SimpleNamespace(
        nearest=nearest, allowed=allowed, ball_point=ball_point, triangle_points=triangle_points,
        to_mesh=to_mesh, to_space=to_space,
    )  # fmt: skip
