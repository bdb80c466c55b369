"""Grains at walls that are meshes: which triangles are near, and the contact points with them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardgrain.core.geometry import make_min_image
from hardgrain.core.wall_kinds import MESH
from hardgrain.cpu.placing import height_of, room_for
from hardgrain.cpu.point_rows import PointRows, longer, rows_for, write
from hardgrain.kernels import jit, scalar
from hardgrain.point.manifold import make_manifold
from hardgrain.point.mesh import HELD, make_mesh
from hardgrain.point.parts import make_parts
from hardgrain.point.placed import Cores, Room

__all__ = ["frame_of", "mesh_rows"]

min_image = make_min_image(scalar)
_mesh, _parts = make_mesh(scalar), make_parts(scalar)
ball_point, triangle_points = _mesh.ball_point, _mesh.triangle_points
to_mesh, to_space = _mesh.to_mesh, _mesh.to_space
cores_of, by_name = _parts.cores_of, _parts.by_name
four_of = make_manifold(scalar).four_of

# Cosine of the angle, some 1e-5, of normals that are the same where points coincide.
SAME = 1.0 - 1e-10
# [size of the part] Distance of points that coincide.
TOGETHER = 4.0 * HELD


class Gathered(NamedTuple):
    """What has been found of one part at one mesh; memory that grows as it is needed."""

    triangle: NDArray[np.int32]  # triangles that are near, in the order of their numbers
    facet: NDArray[np.int32]  # of each point, the facet that it lies on; −1: on an edge
    origin: NDArray[np.int32]  # rows of points that are copied
    room: Room  # its points
    spare: Room


@jit
def gathered(triangles, points):
    """Memory for so many triangles near a part, with so many points each."""
    most = triangles * points
    return Gathered(
        np.empty(triangles, np.int32), np.empty(most, np.int32), np.empty(most, np.int32),
        room_for_points(most), room_for_points(most),
    )  # fmt: skip


@jit
def room_for_points(size):
    """A room with memory for points alone."""
    return Room(
        np.empty((4, 3)), np.empty(4), np.empty((4, 2), np.int32), np.empty(3), np.empty((2, 4)),
        np.empty((1, 3), np.int32),
        np.empty((2, 4, 3)), np.empty((2, 4, 2), np.int32), np.empty((1, 3)),
        np.empty(size), np.empty((size, 3)), np.empty((size, 3)), np.empty((size, 3)),
        np.empty(size, np.int32), np.empty(size, np.int32),
    )  # fmt: skip


@scalar
def frame_of(walls, w, periodic, x, y, z):
    """Axes of a mesh, and its origin as seen from a point, at its nearest image."""
    a, b, point = walls.axis, walls.side, walls.point
    p = math.sqrt(a[w, 0] ** 2 + a[w, 1] ** 2 + a[w, 2] ** 2)
    q = math.sqrt(b[w, 0] ** 2 + b[w, 1] ** 2 + b[w, 2] ** 2)
    ax, ay, az = a[w, 0] / p, a[w, 1] / p, a[w, 2] / p
    bx, by, bz = b[w, 0] / q, b[w, 1] / q, b[w, 2] / q
    return (
        (ax, ay, az),
        (bx, by, bz),
        (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx),
        (
            min_image(point[w, 0] - x, periodic[0]),
            min_image(point[w, 1] - y, periodic[1]),
            min_image(point[w, 2] - z, periodic[2]),
        ),
    )


@scalar
def triangles_near(meshes, w, ball, rows):
    """Write the triangles of wall w whose boxes reach into a ball, sorted; how many there are.

    Those for which there is no room are not written.
    """
    x, y, z, r = ball
    low, high, corner, triangle = meshes.low, meshes.high, meshes.corner, meshes.triangle
    node, end, count = meshes.node_start[w], meshes.node_start[w + 1], 0
    while node < end:
        dx = max(low[node, 0] - x, x - high[node, 0], 0.0)
        dy = max(low[node, 1] - y, y - high[node, 1], 0.0)
        dz = max(low[node, 2] - z, z - high[node, 2], 0.0)
        if dx * dx + dy * dy + dz * dz > r * r:
            node = meshes.skip[node]
            continue
        for k in range(meshes.leaf[node, 0], meshes.leaf[node, 1]):
            t = meshes.item[k]
            i, j, l = triangle[t, 0], triangle[t, 1], triangle[t, 2]
            square = 0.0
            for a in range(3):
                p = x if a == 0 else (y if a == 1 else z)
                least = min(corner[i, a], corner[j, a], corner[l, a])
                most = max(corner[i, a], corner[j, a], corner[l, a])
                square += max(least - p, p - most, 0.0) ** 2
            if square <= r * r:
                if count < rows.size:
                    s = count
                    while s > 0 and rows[s - 1] > t:
                        rows[s] = rows[s - 1]
                        s -= 1
                    rows[s] = t
                count += 1
        node += 1
    return count


@scalar
def known(room, count, k, n, p, near):
    """Which of the points gathered is this one: by its name k, or its place p and normal n; −1."""
    for s in range(count):
        if room.feature[s] == k:
            return s
        along = room.normal[s, 0] * n[0] + room.normal[s, 1] * n[1] + room.normal[s, 2] * n[2]
        if along < SAME:
            continue
        square = (room.on_second[s, 0] - p[0]) ** 2 + (room.on_second[s, 1] - p[1]) ** 2
        if square + (room.on_second[s, 2] - p[2]) ** 2 < near * near:
            return s
    return -1


@scalar
def ball_points(bodies, many, one, w, limit, count):
    """Gather the points of a part that is a ball; its centre is a corner of the body."""
    placed, meshes, room = bodies.placed, bodies.meshes, many.room
    i, p = one
    row = placed.ball_start[i] + p
    r, position = placed.ball[row, 3], bodies.position
    cx, cy, cz = placed.ball[row, 0], placed.ball[row, 1], placed.ball[row, 2]
    frame = frame_of(
        bodies.walls, w, bodies.periodic, position[i, 0], position[i, 1], position[i, 2]
    )
    x, y, z = to_mesh(frame, (cx, cy, cz), True)
    sided, first, found = meshes.one_sided[w], meshes.triangle_start[w], 0
    for s in range(count):
        t = many.triangle[s]
        there, gap, n, q, on = ball_point(
            meshes, (many.triangle, count), t, sided, (x, y, z, r), limit
        )
        if not there or not gap < limit:
            continue
        # from the grain to the wall
        nx, ny, nz = to_space(frame, n, False)
        nx, ny, nz = -nx, -ny, -nz
        qx, qy, qz = to_space(frame, q, True)
        name = (t - first if on > 0 else meshes.facet[t]) * bodies.features + on
        if known(room, found, name, (nx, ny, nz), (qx, qy, qz), TOGETHER * r) >= 0:
            continue
        room.gap[found], room.feature[found], room.kept[found] = gap, name, found
        room.normal[found, 0], room.normal[found, 1], room.normal[found, 2] = nx, ny, nz
        room.on_first[found, 0] = cx + r * nx
        room.on_first[found, 1] = cy + r * ny
        room.on_first[found, 2] = cz + r * nz
        room.on_second[found, 0], room.on_second[found, 1] = qx, qy
        room.on_second[found, 2] = qz
        found += 1
    by_name(room, found)
    return found


@scalar
def copy_point(source, k, target, m):
    """Copy a point from one room to another, or within one."""
    target.gap[m], target.feature[m] = source.gap[k], source.feature[k]
    for d in range(3):
        target.normal[m, d] = source.normal[k, d]
        target.on_first[m, d] = source.on_first[k, d]
        target.on_second[m, d] = source.on_second[k, d]


# The core of a mesh's wall is one triangle, the one that is looked at: its corners, about the
# grain's centre, and its two normals are written where those of a triangular wall are.
@scalar
def place_triangle(bodies, frame, j, t):
    """Let the core of body j be triangle t of its mesh."""
    placed, meshes = bodies.placed, bodies.meshes
    c, f, bound = placed.corner_start[j], placed.face_start[j], 0.0
    for k in range(3):
        x, y, z = to_space(frame, meshes.corner[meshes.triangle[t, k]], True)
        placed.corner[c + k, 0], placed.corner[c + k, 1], placed.corner[c + k, 2] = x, y, z
        bound = max(bound, x * x + y * y + z * z)
    x, y, z = to_space(frame, meshes.normal[t], False)
    placed.normal[f, 0], placed.normal[f, 1], placed.normal[f, 2] = x, y, z
    placed.normal[f + 1, 0], placed.normal[f + 1, 1], placed.normal[f + 1, 2] = -x, -y, -z
    placed.normal[f, 3] = height_of(placed.normal, f, placed.corner, c)
    placed.normal[f + 1, 3] = -placed.normal[f, 3]
    placed.bound[j] = math.sqrt(bound)


# Where a facet goes on beyond a side of the triangle, the outline of what a part has in common with
# the facet has no corner on that side: only its true corners are kept.
@scalar
def on_hidden_side(meshes, t, most, local):
    """Whether a point of a face is where a side crosses one of the triangle that is flat."""
    if local >= 1 + 2 * most:
        return meshes.flat[t, (local - 1 - 2 * most) % most]
    if local > most:
        k = local - 1 - most
        return meshes.flat[t, k] and meshes.flat[t, (k + 2) % 3]
    return False


@scalar
def core_points(bodies, room, many, one, j, limit, count):
    """Gather the points of a part with several corners."""
    placed, meshes, wide = bodies.placed, bodies.meshes, many.room
    (i, p), position, w = one, bodies.position, j - bodies.number.size
    row, nowhere = placed.ball_start[i] + p, (0.0, 0.0, 0.0)
    ball = placed.ball
    about = (ball[row, 0], ball[row, 1], ball[row, 2], ball[row, 3])
    frame = frame_of(
        bodies.walls, w, bodies.periodic, position[i, 0], position[i, 1], position[i, 2]
    )
    mesh = (frame, meshes, (many.triangle, count))
    sided, first, found = meshes.one_sided[w], meshes.triangle_start[w], 0
    most, extent = room.height.shape[1], 0.0
    for s in range(count):
        t = many.triangle[s]
        place_triangle(bodies, frame, j, t)
        cores = cores_of(bodies, room, one, (j, 0), nowhere)
        extent = max(extent, cores.extent)
        points, of_face = triangle_points(cores, limit, sided, about, mesh)
        for k in range(points):
            local = room.feature[k]
            if not room.gap[k] < limit or (of_face and on_hidden_side(meshes, t, most, local)):
                continue
            name, facet = (t - first) * bodies.features + local, -1
            if of_face:
                facet = meshes.facet[t]
                if local <= most:
                    name = facet * bodies.features + local
            same = known(wide, found, name, room.normal[k], room.on_second[k], TOGETHER * about[3])
            if same >= 0:
                if room.gap[k] < wide.gap[same] and wide.feature[same] == name:
                    copy_point(room, k, wide, same)
                continue
            copy_point(room, k, wide, found)
            wide.feature[found], many.facet[found] = name, facet
            found += 1
    spare = many.spare
    last = cores_of(bodies, spare, one, (j, 0), nowhere)
    whole = Cores(
        last.outline, last.corner, last.normal, spare, last.a, last.b, nowhere, extent
    )  # fmt: skip
    return at_most_four(whole, many, found)


@scalar
def at_most_four(cores, many, found):
    """Keep at most four points of each facet, in the order of their names; how many in all."""
    wide, spare, facet, origin = many.room, many.spare, many.facet, many.origin
    kept, left = wide.kept, 0
    for k in range(found):
        f, count = facet[k], 0
        if f == -1:
            kept[left] = k
            left += 1
        if f < 0:
            continue
        for l in range(k, found):
            if facet[l] == f:
                copy_point(wide, l, spare, count)
                origin[count], facet[l] = l, -2
                count += 1
        n = (wide.normal[k, 0], wide.normal[k, 1], wide.normal[k, 2])
        for s in range(four_of(cores, count, n)):
            kept[left] = origin[spare.kept[s]]
            left += 1
    by_name(wide, left)
    return left


@scalar
def near_part(bodies, rows, one, j, limit):
    """Write the triangles of body j within a limit of part ``one`` (body, part); how many.

    Those for which there is no room are not written.
    """
    placed, position = bodies.placed, bodies.position
    i, w = one[0], j - bodies.number.size
    row, ball = placed.ball_start[i] + one[1], placed.ball
    frame = frame_of(
        bodies.walls, w, bodies.periodic, position[i, 0], position[i, 1], position[i, 2]
    )
    x, y, z = to_mesh(frame, (ball[row, 0], ball[row, 1], ball[row, 2]), True)
    reach = ball[row, 3] + limit
    return triangles_near(bodies.meshes, w, (x, y, z, reach), rows) if reach > 0.0 else 0


@scalar
def mesh_points(bodies, room, many, one, j, limit, count):
    """Contact points of part ``one`` (body, part) and the triangles near it; how many.

    They are in the room of what is gathered, with names that hold the triangle; the points on the
    wall are relative to the first body's centre.
    """
    first = bodies.solids.part_start[bodies.placed.shape[one[0]]] + one[1]
    if bodies.solids.corner_start[first + 1] - bodies.solids.corner_start[first] == 1:
        return ball_points(bodies, many, one, j - bodies.number.size, limit, count)
    return core_points(bodies, room, many, one, j, limit, count)


@jit
def mesh_rows(first, second, bodies, reach):
    """Contact points of those listed pairs of which one is a mesh; see `points.contact_points`."""
    dim, n, features = bodies.position.shape[1], bodies.number.size, bodies.features
    room = room_for(bodies.solids, dim)
    most, nowhere = room.gap.size, (0.0, 0.0, 0.0)
    many = gathered(16, most)
    size, m = 4 * most, 0
    rows = rows_for(size, dim)
    for k in range(first.size):
        i, j = first[k], second[k]
        if j < n or bodies.walls.kind[j - n] != MESH:
            continue
        limit, start = reach[i] + reach[j], bodies.meshes.triangle_start
        triangles = start[j - n + 1] - start[j - n]
        for p in range(bodies.placed.ball_start[i + 1] - bodies.placed.ball_start[i]):
            near = near_part(bodies, many.triangle, (i, p), j, limit)
            if near == 0:
                continue
            if near > many.triangle.size:
                many = gathered(2 * near, most)
                near = near_part(bodies, many.triangle, (i, p), j, limit)
            count = mesh_points(bodies, room, many, (i, p), j, limit, near)
            if m + count > size:
                size = 2 * size + count
                rows = longer(rows, m, size)
            pair = (k, i, j, False, p * triangles * features)
            write(bodies, many.room, count, pair, nowhere, (rows, m))
            m += count
    return PointRows(rows.pair[:m], rows.feature[:m], rows.table[:m])
