"""The narrow phase of grains of any shape: the contact points of listed pairs."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.addresses import by_address
from hardgrain.core.cell import make_images
from hardgrain.core.wall_kinds import INSIDE, MESH, OUTSIDE, PLANE
from hardgrain.cpu.mesh import mesh_rows
from hardgrain.cpu.placing import room_for
from hardgrain.cpu.point_rows import PointRows, columns, longer, merged, rows_for, write
from hardgrain.kernels import jit, scalar
from hardgrain.point.parts import make_parts

__all__ = ["contact_points", "distances"]

_images = make_images(scalar)
nearest_image, tilts = _images.nearest, _images.tilts
_parts = make_parts(scalar)
cores_of, part_points, wall_points = _parts.cores_of, _parts.part_points, _parts.wall_points
normal_of, only_point = _parts.normal_of, _parts.only_point
alone, apart_by = _parts.alone, _parts.apart_by

# Where no wall is a mesh, all that knows meshes is never compiled.
mesh_rows_at = by_address(
    mesh_rows, answer=PointRows(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, 0)))
)


@scalar
def between(bodies, i, j):
    """From the centre of grain i to that of body j, at its nearest image [length]."""
    position, periodic = bodies.position, bodies.periodic
    n, dim = bodies.number.size, position.shape[1]
    solid = dim - 2  # 1 in 3D; 0 in 2D, where nothing has a z
    last = dim - 1
    lz = solid * periodic[last]
    if j < n:
        x, y = position[j, 0] - position[i, 0], position[j, 1] - position[i, 1]
        z = solid * (position[j, last] - position[i, last])
    else:
        centre = bodies.placed.centre
        x, y = centre[j - n, 0] - position[i, 0], centre[j - n, 1] - position[i, 1]
        z = solid * (centre[j - n, 2] - position[i, last])
    x, y, z = nearest_image(x, y, z, (periodic[0], periodic[1], lz), tilts(periodic, dim))
    if j >= n and solid == 1 and bodies.walls.kind[j - n] == OUTSIDE:
        axis = bodies.walls.axis  # the point of the axis that is beside the grain
        t = x * axis[j - n, 0] + y * axis[j - n, 1] + z * axis[j - n, 2]
        x, y = x - t * axis[j - n, 0], y - t * axis[j - n, 1]
        z -= t * axis[j - n, 2]
    return x, y, z


@scalar
def found(bodies, room, one, two, apart, limit):
    """Write the points of part ``one`` (body, part) and part ``two``, or a wall; how many."""
    n, j = bodies.number.size, two[0]
    if bodies.placed.shape[j] < 0:
        kind = bodies.walls.kind[j - n]
        if kind != PLANE and kind != INSIDE:
            return 0  # a scene with such a wall has been refused
        return wall_points(bodies, alone(bodies, room, one), one, j - n, limit)
    if apart_by(bodies.placed, one, two, apart, limit):
        return 0
    cores = cores_of(bodies, room, one, two, apart)
    return part_points(cores, limit, bodies.position.shape[1] == 3)


@scalar
def near(bodies, i, j, limit):
    """How many pairs of parts two bodies have; none, if the balls around them are a limit apart.

    Nor has a mesh any: see `hardgrain.cpu.mesh`.
    """
    placed, parts = bodies.placed, 1
    if j >= bodies.number.size and bodies.walls.kind[j - bodies.number.size] == MESH:
        return 0
    if placed.shape[j] >= 0:
        x, y, z = between(bodies, i, j)
        around = placed.bound[i] + placed.bound[j] + limit
        if around <= 0.0 or x * x + y * y + z * z >= around * around:
            return 0
        parts = placed.ball_start[j + 1] - placed.ball_start[j]
    return parts * (placed.ball_start[i + 1] - placed.ball_start[i])


# Rows of grains change as they are sorted, their numbers do not: the roles of two grains go by
# these, so that a pair has the same points.
@scalar
def part_rows(bodies, room, rows, m, pair, limit):
    """Write the points of two parts behind m rows; how many.

    pair: its row in the list, its bodies, and which of all pairs of their parts it is.
    """
    k, i, j, s = pair
    a, b, swapped = i, j, False
    if j < bodies.number.size and bodies.number[i] > bodies.number[j]:
        a, b, swapped = j, i, True
    placed, apart, p, q = bodies.placed, (0.0, 0.0, 0.0), s, 0
    if placed.shape[b] >= 0:
        apart = between(bodies, a, b)
        parts = placed.ball_start[b + 1] - placed.ball_start[b]
        p, q = s // parts, s % parts
    count = found(bodies, room, (a, p), (b, q), apart, limit)
    write(bodies, room, count, (k, i, j, swapped, s * bodies.features), apart, (rows, m))
    return count


# What is done for each pair is in scalar functions: in a kernel, references to arrays are counted
# wherever a record is taken apart. Pairs of bodies and of their parts are gone through in one loop:
# within another one all that is known of the bodies would be laid aside and fetched for each pair.
@jit
def contact_points(first, second, bodies, reach):
    """Contact points of listed pairs whose gaps are below the sum of both reaches.

    first, second: listed pairs, shape (p,), a grain and a grain or wall; reach: how far each body
    may move in this step, shape (nb,) [length].

    Returns index (m,), the row of each point's pair in the list; feature (m,), by which its points
    are sorted; normal (m, dim), from first to second; gap (m,) [length]; and the arms of both
    bodies, (m, dim) each, from the centre (of a wall: the point it turns about) to the surface.
    """
    dim = bodies.position.shape[1]
    room = room_for(bodies.solids, dim)
    most, m = room.gap.size, np.int64(0)
    size = first.size + most
    rows = rows_for(size, dim)
    k = pairs = s = np.int64(0)
    while k < first.size:
        limit = reach[first[k]] + reach[second[k]]
        if s == 0:
            pairs = near(bodies, first[k], second[k], limit)
            if m + pairs * most > size:
                size = 2 * size + pairs * most
                rows = longer(rows, m, size)
        if s < pairs:
            m += part_rows(bodies, room, rows, m, (k, first[k], second[k], s), limit)
            s += 1
        if s == pairs:
            k, s = k + 1, 0
    if bodies.meshes.item.size > 0:
        more = mesh_rows_at(bodies.mesh_rows, (first, second, bodies, reach))
        rows = merged(rows, m, more)
        m += more.pair.size
    return columns(rows, m, dim)


@scalar
def nearest(bodies, room, i, j):
    """Write where the first parts of two bodies are nearest, however far apart, into the room."""
    solid = bodies.position.shape[1] == 3
    cores = cores_of(bodies, room, (i, 0), (j, 0), between(bodies, i, j))
    gap, x, y, z, m, e, f, whose = normal_of(cores, math.inf, solid)
    only_point(cores, gap, (x, y, z), m, (e, f, whose))


@jit
def distances(first, second, bodies):
    """Gaps and normals of bodies of one part each, and where they are nearest.

    first, second: pairs, shape (m,). Returns gap (m,) [length]; normal (m, 3), from first to
    second; and the nearest, or deepest, points of both surfaces, (m, 3) each, relative to the
    centres of the bodies.
    """
    room = room_for(bodies.solids, bodies.position.shape[1])
    m = first.size
    gap, normal = np.empty(m), np.empty((m, 3))
    on_first, on_second = np.empty((m, 3)), np.empty((m, 3))
    for k in range(m):
        nearest(bodies, room, first[k], second[k])
        gap[k] = room.gap[0]
        for d in range(3):
            normal[k, d] = room.normal[0, d]
            on_first[k, d], on_second[k, d] = room.on_first[0, d], room.on_second[0, d]
    return gap, normal, on_first, on_second
