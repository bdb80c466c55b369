"""Contact points of grains that deform: nodes of one surface against the facets of another.

Where two deformable grains meet, every node of either that is near the other is a contact point:
it is held against the nearest point of the nearest facet, whose velocity is interpolated between
the nodes of that facet. In 2D this passes on a uniform pressure exactly. Between neighbouring
contact points, which are all the nodes of both sides, the shape functions of either side are
linear, so that half of the pressure on each such interval, at each of its ends, gives every node
the force that the pressure has there (the trapezoid rule).

A node outside of a corner is as near to one facet as to the next one. It takes the facet above
whose plane it is higher, which of two blocks side by side is the one between them. A node that
touches several facets, as the corner of a block on that of another one, takes the facet that faces
it most.

Rigid grains are disks or balls: all near nodes are held against them, and besides them the nearest
point of the surface, where that is no node. Walls meet nodes alone.

A contact point is named by its node, whichever facet that node meets, so that its impulse survives
where it slides from facet to facet. Features 0, 1, … are nodes of the grain with the smaller
number, `LARGER` + 0, 1, … those of the other one.
"""

from __future__ import annotations

import math

import numpy as np

from hardgrain.core.contact_rows import FEATURES
from hardgrain.core.geometry import make_nearest, min_image, wall_gap
from hardgrain.kernels import device, jit, scalar

__all__ = ["LARGER", "contact_points"]

LARGER = FEATURES // 2
ON_FACET = LARGER - 1  # feature of the point where a rigid grain meets the surface between nodes

# [square of a facet's reach] Squares of distances that differ by less are equal but for rounding.
EQUAL = 1e-12
# [radius] A node that is nearer to several facets touches all of them. If it is larger, nodes
# beside an edge rest on it; if it is smaller, the overlap that a solver leaves decides on which
# facet the corner of a block rests.
TOUCH = 1e-4

nearest_of_triangle = make_nearest(scalar).nearest_of_triangle


@device
def on_facet(skin, k, base, facet, shift):  # type: ignore[no-untyped-def]
    """The point of a facet nearest to node k, and how high the node is above the facet's plane.

    base: first node of the grain whose facet it is; shift: (dim,) to the image that is meant.
    Returns squared distance, height, the normal outwards, shares of the second and third node.
    """
    x, a, b = skin.place, base + skin.facet[facet, 0], base + skin.facet[facet, 1]
    if x.shape[1] == 2:
        rx, ry = x[k, 0] - x[a, 0] - shift[0], x[k, 1] - x[a, 1] - shift[1]
        dx, dy = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1]
        square = dx * dx + dy * dy
        t = min(max((rx * dx + ry * dy) / square, 0.0), 1.0)
        rx, ry = rx - t * dx, ry - t * dy
        length = math.sqrt(square)
        nx, ny = dy / length, -dx / length
        return rx * rx + ry * ry, rx * nx + ry * ny, nx, ny, 0.0, t, 0.0
    c = base + skin.facet[facet, 2]
    rx, ry, rz = x[k, 0] - x[a, 0], x[k, 1] - x[a, 1], x[k, 2] - x[a, 2]
    rx, ry, rz = rx - shift[0], ry - shift[1], rz - shift[2]
    dx, dy, dz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    ex, ey, ez = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
    s, t = nearest_of_triangle((rx, ry, rz), (dx, dy, dz), (ex, ey, ez))
    nx, ny, nz = dy * ez - dz * ey, dz * ex - dx * ez, dx * ey - dy * ex
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / length, ny / length, nz / length
    rx, ry, rz = rx - s * dx - t * ex, ry - s * dy - t * ey, rz - s * dz - t * ez
    return rx * rx + ry * ry + rz * rz, rx * nx + ry * ny + rz * nz, nx, ny, nz, s, t


@jit
def nearest_facet(skin, k, body, shift, reach):  # type: ignore[no-untyped-def]
    """The facet of a grain nearest to node k, −1 if none is within reach; and `on_facet` of it."""
    f, best, size = skin.form[body], -1, skin.radius[body] ** 2
    found = (reach * reach, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for facet in range(skin.facet_start[f], skin.facet_start[f + 1]):
        one = on_facet(skin, k, skin.start[body], facet, shift)
        nearer = one[0] < found[0] - EQUAL * size
        if best >= 0 and max(one[0], found[0]) < TOUCH * TOUCH * size:
            nearer = facing(skin, k, one) < facing(skin, k, found) - EQUAL
        elif best >= 0 and not nearer and one[0] < found[0] + EQUAL * size:
            nearer = one[1] > found[1]
        if nearer:
            best, found = facet, one
    return best, found


@device
def facing(skin, k, found):  # type: ignore[no-untyped-def]
    """How far a facet looks where node k looks to, −1 if it faces the node."""
    total = 0.0
    for b in range(skin.outward.shape[1]):
        total += skin.outward[k, b] * found[2 + b]
    return total


@jit
def contact_points(first, second, skin, limit, out):  # type: ignore[no-untyped-def]
    """Write all points of the listed pairs whose gap is below the sum of their limits.

    Returns their number; if it is larger than there is room for, the rest was not written.
    """
    n, dim = skin.radius.size, skin.position.shape[1]
    count, shift = 0, np.zeros(dim)
    for p in range(first.size):
        i, j = first[p], second[p]
        reach = limit[i] + limit[j]
        if j >= n:
            count = at_wall(skin, i, j, reach, out, count)
            continue
        square = 0.0
        for a in range(dim):
            d = skin.position[j, a] - skin.position[i, a]
            near = min_image(d, skin.periodic[a])
            shift[a] = near - d  # what takes j to its image beside i
            square += near * near
        if math.sqrt(square) > skin.bound[i] + skin.bound[j] + reach:
            continue
        if skin.form[i] < 0 and skin.form[j] < 0:
            count = of_balls(skin, i, j, shift, reach, out, count)
        elif skin.form[i] < 0 or skin.form[j] < 0:
            count = at_ball(skin, i, j, shift, reach, out, count)
        elif skin.number[i] < skin.number[j]:
            count = at_facets(skin, (i, j, 0), shift, 1.0, reach, out, count)
            count = at_facets(skin, (j, i, LARGER), shift, -1.0, reach, out, count)
        else:
            count = at_facets(skin, (j, i, 0), shift, -1.0, reach, out, count)
            count = at_facets(skin, (i, j, LARGER), shift, 1.0, reach, out, count)
    return count


@device
def clear_sides(out, m):  # type: ignore[no-untyped-def]
    """Let no node carry contact point m yet."""
    for s in range(2):
        for a in range(out.node.shape[2]):
            out.node[m, s, a], out.weight[m, s, a] = -1, 0.0


@jit
def at_wall(skin, i, j, reach, out, m):  # type: ignore[no-untyped-def]
    """Points of grain i at wall j."""
    dim, n, f = skin.position.shape[1], skin.radius.size, skin.form[i]
    many = 1 if f < 0 else skin.surface[f]
    for a in range(many):
        k = skin.start[i] + a
        if f < 0:
            found = wall_gap(skin.position, i, skin.radius[i], skin.periodic, skin.walls, j - n)
        else:
            found = wall_gap(skin.place, k, 0.0, skin.periodic, skin.walls, j - n)
        if not found[0] < reach:
            continue
        if m < out.gap.size:
            clear_sides(out, m)
            out.first[m], out.second[m], out.feature[m], out.gap[m] = i, j, a, found[0]
            if f >= 0:
                out.node[m, 0, 0], out.weight[m, 0, 0] = k, 1.0
            for b in range(dim):
                away = skin.position[i, b] - skin.position[j, b]
                arm = found[1 + b] * skin.radius[i]
                if f >= 0:
                    arm = skin.place[k, b] - skin.position[i, b]
                out.normal[m, b], out.arm_first[m, b] = found[1 + b], arm
                out.arm_second[m, b] = min_image(away, skin.periodic[b]) + arm
        m += 1
    return m


@jit
def of_balls(skin, i, j, shift, reach, out, m):  # type: ignore[no-untyped-def]
    """The contact of two rigid grains."""
    dim, square = skin.position.shape[1], 0.0
    for b in range(dim):
        square += (skin.position[j, b] + shift[b] - skin.position[i, b]) ** 2
    apart = math.sqrt(square)
    gap = apart - skin.radius[i] - skin.radius[j]
    if not gap < reach:
        return m
    if m < out.gap.size:
        clear_sides(out, m)
        out.first[m], out.second[m], out.feature[m], out.gap[m] = i, j, 0, gap
        for b in range(dim):
            unit = (skin.position[j, b] + shift[b] - skin.position[i, b]) / apart
            out.normal[m, b] = unit
            out.arm_first[m, b], out.arm_second[m, b] = (
                skin.radius[i] * unit, -skin.radius[j] * unit,
            )  # fmt: skip
    return m + 1


@jit
def at_ball(skin, i, j, shift, reach, out, m):  # type: ignore[no-untyped-def]
    """Points of a deformable grain at a rigid one, whichever of the two is first."""
    dim = skin.position.shape[1]
    soft, ball, sign = (i, j, 1.0) if skin.form[i] >= 0 else (j, i, -1.0)
    side = 0 if sign > 0.0 else 1
    f, base = skin.form[soft], skin.start[soft]
    centre, nearest, most = np.empty(dim), -1, np.inf
    for b in range(dim):  # of the ball, beside the deformable grain where that is
        centre[b] = skin.position[ball, b] + sign * shift[b]
    for a in range(skin.surface[f]):
        k, square = base + a, 0.0
        for b in range(dim):
            square += (centre[b] - skin.place[k, b]) ** 2
        apart = math.sqrt(square)
        if square < most:
            most, nearest = square, k
        gap = apart - skin.radius[ball]
        if not gap < reach:
            continue
        if m < out.gap.size:
            clear_sides(out, m)
            out.first[m], out.second[m], out.feature[m], out.gap[m] = i, j, a, gap
            out.node[m, side, 0], out.weight[m, side, 0] = k, 1.0
            for b in range(dim):
                unit = (centre[b] - skin.place[k, b]) / apart
                out.normal[m, b] = sign * unit
                arm = skin.place[k, b] - skin.position[soft, b]
                other = -skin.radius[ball] * unit
                out.arm_first[m, b] = arm if side == 0 else other
                out.arm_second[m, b] = other if side == 0 else arm
        m += 1
    if most > (skin.radius[ball] + 2.0 * skin.bound[soft] + reach) ** 2:
        return m
    return between_nodes(skin, (i, j, soft, ball, side), (centre, nearest), reach, out, m)


@jit
def between_nodes(skin, pair, near, reach, out, m):  # type: ignore[no-untyped-def]
    """The point at which a rigid grain meets a surface between its nodes."""
    i, j, soft, ball, side = pair
    centre, nearest = near
    dim, f, base = skin.position.shape[1], skin.form[soft], skin.start[soft]
    kept, none = np.empty(dim), np.zeros(dim)
    for b in range(dim):  # the centre stands in for the nearest node, whose place it takes
        kept[b] = skin.place[nearest, b]
    best, found = -1, (np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for facet in range(skin.facet_start[f], skin.facet_start[f + 1]):
        for b in range(dim):
            none[b] = kept[b] - centre[b]
        one = on_facet(skin, nearest, base, facet, none)
        if one[0] < found[0]:
            best, found = facet, one
    s, t = found[5], found[6]
    inner = s > EQUAL and t > EQUAL and s + t < 1.0 - EQUAL
    edge = dim == 3 and (s > EQUAL or t > EQUAL) and s < 1.0 - EQUAL and t < 1.0 - EQUAL
    if dim == 2:
        inner = EQUAL < s < 1.0 - EQUAL
    apart = math.copysign(math.sqrt(found[0]), found[1])  # negative if the centre is inside
    gap = apart - skin.radius[ball]
    if not (inner or edge) or not gap < reach or apart == 0.0:
        return m
    if m < out.gap.size:
        clear_sides(out, m)
        out.first[m], out.second[m], out.feature[m], out.gap[m] = i, j, ON_FACET, gap
        write_facet(skin, best, base, (s, t), side, out, m)
        sign = 1.0 if side == 0 else -1.0
        for b in range(dim):
            point = 0.0
            for a in range(dim):
                point += out.weight[m, side, a] * skin.place[out.node[m, side, a], b]
            unit = (centre[b] - point) / apart
            arm, other = point - skin.position[soft, b], -skin.radius[ball] * unit
            out.normal[m, b] = sign * unit
            out.arm_first[m, b] = arm if side == 0 else other
            out.arm_second[m, b] = other if side == 0 else arm
    return m + 1


@device
def write_facet(skin, facet, base, share, side, out, m):  # type: ignore[no-untyped-def]
    """Let the nodes of a facet carry one side of contact point m."""
    dim = skin.position.shape[1]
    for a in range(dim):
        out.node[m, side, a] = base + skin.facet[facet, a]
    out.weight[m, side, 0] = 1.0 - share[0] - share[1]
    out.weight[m, side, 1] = share[0]
    if dim == 3:
        out.weight[m, side, 2] = share[1]


@jit
def at_facets(skin, pair, shift, sign, reach, out, m):  # type: ignore[no-untyped-def]
    """Points at which nodes of one deformable grain meet the facets of another.

    pair: the grain with the nodes, the other one, feature of the first node; sign: 1 if the one
    with the nodes is the first of the contact, −1 otherwise; shift: from the second to its image.
    """
    one, other, feature = pair
    dim, side = skin.position.shape[1], 0 if sign > 0.0 else 1
    there = np.empty(dim)
    for b in range(dim):  # from the other grain to its image beside the node
        there[b] = sign * shift[b]
    for a in range(skin.surface[skin.form[one]]):
        k, square = skin.start[one] + a, 0.0
        for b in range(dim):
            square += (skin.place[k, b] - skin.position[other, b] - there[b]) ** 2
        far = skin.bound[other] + reach
        if square > far * far:
            continue
        best, found = nearest_facet(skin, k, other, there, far)
        if best < 0 or not found[1] < reach or (found[1] > 0.0 and found[0] > reach * reach):
            continue
        if m < out.gap.size:
            clear_sides(out, m)
            out.first[m], out.second[m] = (one, other) if side == 0 else (other, one)
            out.feature[m], out.gap[m] = feature + a, found[1]
            out.node[m, side, 0], out.weight[m, side, 0] = k, 1.0
            write_facet(skin, best, skin.start[other], (found[5], found[6]), 1 - side, out, m)
            for b in range(dim):
                point = 0.0
                for c in range(dim):
                    v = out.node[m, 1 - side, c]
                    point += out.weight[m, 1 - side, c] * skin.place[v, b]
                own, theirs = skin.place[k, b] - skin.position[one, b], point
                theirs -= skin.position[other, b]
                out.normal[m, b] = -sign * found[2 + b]
                out.arm_first[m, b] = own if side == 0 else theirs
                out.arm_second[m, b] = theirs if side == 0 else own
        m += 1
    return m
