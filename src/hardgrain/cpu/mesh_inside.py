"""What lies inside of a mesh, or is cut by it: where grains can be placed, and may begin."""

from __future__ import annotations

import numpy as np

from hardgrain.core.wall_kinds import MESH
from hardgrain.cpu.mesh import frame_of
from hardgrain.kernels import jit, scalar
from hardgrain.point.mesh import HELD, make_mesh

__all__ = ["inside", "is_cut"]

_mesh = make_mesh(scalar)
nearest, to_mesh = _mesh.nearest, _mesh.to_mesh

# Direction in which a point's way out of a closed mesh is looked for. Its components have no simple
# ratio, so that it runs along no edge of what people build.
WAY = (0.8022, 0.4419, 0.4014)


# A straight way out of a closed mesh crosses it an odd number of times from inside.
@scalar
def is_inside(meshes, w, x, y, z):
    """Whether a point, in the frame of the mesh, is where the mesh of wall w lets no grain be."""
    low, high, c, triangle = meshes.low, meshes.high, meshes.corner, meshes.triangle
    node, end, crossings = meshes.node_start[w], meshes.node_start[w + 1], 0
    u, v, q = WAY
    while node < end:
        a, b = (low[node, 0] - x) / u, (high[node, 0] - x) / u
        a, b = max(a, (low[node, 1] - y) / v), min(b, (high[node, 1] - y) / v)
        a, b = max(a, (low[node, 2] - z) / q), min(b, (high[node, 2] - z) / q)
        if b < 0.0 or a > b + HELD * (abs(a) + abs(b)):
            node = meshes.skip[node]
            continue
        for k in range(meshes.leaf[node, 0], meshes.leaf[node, 1]):
            t = meshes.item[k]
            i, j, l = triangle[t, 0], triangle[t, 1], triangle[t, 2]
            ex, ey, ez = c[j, 0] - c[i, 0], c[j, 1] - c[i, 1], c[j, 2] - c[i, 2]
            fx, fy, fz = c[l, 0] - c[i, 0], c[l, 1] - c[i, 1], c[l, 2] - c[i, 2]
            px, py, pz = v * fz - q * fy, q * fx - u * fz, u * fy - v * fx
            det = ex * px + ey * py + ez * pz
            if det == 0.0:
                continue
            sx, sy, sz = x - c[i, 0], y - c[i, 1], z - c[i, 2]
            one = (sx * px + sy * py + sz * pz) / det
            gx, gy, gz = sy * ez - sz * ey, sz * ex - sx * ez, sx * ey - sy * ex
            two = (u * gx + v * gy + q * gz) / det
            way = (fx * gx + fy * gy + fz * gz) / det
            if one >= 0.0 and two >= 0.0 and one + two <= 1.0 and way > 0.0:
                crossings += 1
        node += 1
    return (crossings % 2 == 1) != meshes.hollow[w]


@scalar
def is_cut(ball, periodic, walls, w, meshes):
    """Whether the mesh of wall w cuts a ball (points, row, radius), or has its centre inside."""
    x, i, r = ball
    frame = frame_of(walls, w, periodic, x[i, 0], x[i, 1], x[i, 2])
    px, py, pz = to_mesh(frame, (0.0, 0.0, 0.0), True)
    if meshes.one_sided[w] and is_inside(meshes, w, px, py, pz):
        return True
    low, high = meshes.low, meshes.high
    node, end = meshes.node_start[w], meshes.node_start[w + 1]
    while node < end:
        dx = max(low[node, 0] - px, px - high[node, 0], 0.0)
        dy = max(low[node, 1] - py, py - high[node, 1], 0.0)
        dz = max(low[node, 2] - pz, pz - high[node, 2], 0.0)
        if dx * dx + dy * dy + dz * dz >= r * r:
            node = meshes.skip[node]
            continue
        for k in range(meshes.leaf[node, 0], meshes.leaf[node, 1]):
            qx, qy, qz, _ = nearest(meshes, meshes.item[k], px, py, pz)
            if (qx - px) ** 2 + (qy - py) ** 2 + (qz - pz) ** 2 < r * r:
                return True
        node += 1
    return False


@jit
def inside(x, periodic, walls, meshes):
    """For each point (m, 3) a wall whose mesh has it inside, where no grain can be; −1: none."""
    found = np.full(x.shape[0], -1, np.int64)
    for i in range(x.shape[0]):
        for w in range(walls.kind.size):
            if walls.kind[w] == MESH and meshes.one_sided[w]:
                frame = frame_of(walls, w, periodic, x[i, 0], x[i, 1], x[i, 2])
                px, py, pz = to_mesh(frame, (0.0, 0.0, 0.0), True)
                if is_inside(meshes, w, px, py, pz):
                    found[i] = w
    return found
