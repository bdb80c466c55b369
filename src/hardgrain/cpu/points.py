"""The narrow phase of grains of any shape: the contact points of listed pairs."""

from __future__ import annotations

import math

import numpy as np

from hardgrain.core.geometry import make_min_image
from hardgrain.core.wall_kinds import INSIDE, MESH, OUTSIDE, PLANE
from hardgrain.cpu.mesh import gathered, mesh_points, near_part
from hardgrain.cpu.placing import room_for
from hardgrain.kernels import jit, scalar
from hardgrain.point.parts import make_parts

__all__ = ["contact_points", "distances"]

min_image = make_min_image(scalar)
_parts = make_parts(scalar)
cores_of, part_points, wall_points = _parts.cores_of, _parts.part_points, _parts.wall_points
normal_of, only_point = _parts.normal_of, _parts.only_point
alone, apart_by = _parts.alone, _parts.apart_by


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
    x, y, z = min_image(x, periodic[0]), min_image(y, periodic[1]), min_image(z, lz)
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
def write(bodies, room, k, pair, apart, row):
    """Write point k of a pair (i, j, whether its roles are swapped) into a row of numbers.

    These are the gap, and the components of the normal and the arms of both bodies.
    """
    i, j, swapped = pair
    table, m = row
    position, periodic, n = bodies.position, bodies.periodic, bodies.number.size
    dim = position.shape[1]
    table[m, 0] = room.gap[k]
    for d in range(dim):
        one, two = room.on_first[k, d], room.on_second[k, d]
        if swapped:
            table[m, 1 + d] = -room.normal[k, d]
            one, two = two, one
        else:
            table[m, 1 + d] = room.normal[k, d]
        if j >= n:  # from the point that the wall turns about
            if bodies.placed.shape[j] >= 0:
                two += apart[d]
            two += min_image(position[i, d] - position[j, d], periodic[d])
        table[m, 1 + dim + d], table[m, 1 + 2 * dim + d] = one, two


@jit
def contact_points(first, second, bodies, reach):
    """Contact points of listed pairs whose gaps are below the sum of both reaches.

    first, second: listed pairs, shape (p,), a grain and a grain or wall; reach: how far each body
    may move in this step, shape (nb,) [length].

    Returns index (m,), the row of each point's pair in the list; feature (m,), by which its points
    are sorted; normal (m, dim), from first to second; gap (m,) [length]; and the arms of both
    bodies, (m, dim) each, from the centre (of a wall: the point it turns about) to the surface.
    """
    dim, n = bodies.position.shape[1], bodies.number.size
    solids, placed = bodies.solids, bodies.placed
    room = room_for(solids, dim)
    most = room.gap.size
    many = gathered(16 if bodies.meshes.item.size > 0 else 1, most)
    size = first.size + most
    index, feature = np.empty(size, np.int64), np.empty(size, np.int32)
    table = np.empty((size, 1 + 3 * dim))
    m = 0
    for k in range(first.size):
        i, j = first[k], second[k]
        limit = reach[i] + reach[j]
        a, b, swapped = i, j, False
        if j < n and bodies.number[i] > bodies.number[j]:
            a, b, swapped = j, i, True
        apart, parts = (0.0, 0.0, 0.0), 1
        mesh = j >= n and bodies.walls.kind[j - n] == MESH
        if mesh:
            parts = bodies.meshes.triangle_start[j - n + 1] - bodies.meshes.triangle_start[j - n]
        elif placed.shape[b] >= 0:
            apart = between(bodies, a, b)
            around = placed.bound[a] + placed.bound[b] + limit
            if apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 >= around * around:
                continue
            parts = placed.ball_start[b + 1] - placed.ball_start[b]
        for p in range(placed.ball_start[a + 1] - placed.ball_start[a]):
            for q in range(1 if mesh else parts):
                if mesh:
                    near = near_part(bodies, many.triangle, (a, p), b, limit)
                    if near == 0:
                        continue
                    if near > many.triangle.size:
                        many = gathered(2 * near, most)
                        near = near_part(bodies, many.triangle, (a, p), b, limit)
                    points = mesh_points(bodies, room, many, (a, p), b, limit, near)
                else:
                    points = found(bodies, room, (a, p), (b, q), apart, limit)
                if m + points > size:
                    size = 2 * size + points
                    index, feature = longer(index, size), longer(feature, size)
                    wide = np.empty((size, 1 + 3 * dim))
                    wide[:m] = table[:m]
                    table = wide
                pair, names = (i, j, swapped), (p * parts + q) * bodies.features
                for s in range(points):
                    index[m] = k
                    if mesh:
                        feature[m] = names + many.room.feature[many.room.kept[s]]
                        write(bodies, many.room, many.room.kept[s], pair, apart, (table, m))
                    else:
                        feature[m] = names + room.feature[room.kept[s]]
                        write(bodies, room, room.kept[s], pair, apart, (table, m))
                    m += 1
    table = table[:m]
    return (
        index[:m], feature[:m], table[:, 1 : 1 + dim].copy(), table[:, 0].copy(),
        table[:, 1 + dim : 1 + 2 * dim].copy(), table[:, 1 + 2 * dim :].copy(),
    )  # fmt: skip


@jit
def longer(column, size):
    """The same column with room for more."""
    wide = np.empty(size, column.dtype)
    wide[: column.size] = column
    return wide


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
