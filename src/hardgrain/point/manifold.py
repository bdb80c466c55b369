"""The points at which two parts touch, or soon will, once the normal between them is known.

If a face is perpendicular to the normal, it is the reference; the face of the other part that is
most against it is cut to the reference's outline (Sutherland and Hodgman 1974), and each corner of
what is left is a point with a gap of its own. So a box that comes down a little tilted has all four
corners as points before it touches. Two edges that are nearly parallel meet in two points likewise,
and so do all sides of polygons in 2D. Otherwise there is one point.

A point is named after what makes it, so that it bears the same name in the next step: a corner of
either part, the crossing of a side of each, or nothing, if it is the only one. The names do not say
which face is the reference, since that may change while nothing else does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.axes import make_axes
from hardgrain.point.frame import make_frame

# Cosine of the largest angle, 0.05, between the normal and that of a face which the other part may
# meet in more than one point. If the angle were zero, two rounded boxes that touch at their edges
# would have one point until they are exactly flush, and overlap at the others within a step in
# which they turn there. If it were large, points would be pushed along a normal that is not theirs.
FLUSH = math.cos(0.05)
# Squared sine of the largest angle of two edges that meet in two points: the same angle.
ALONG = math.sin(0.05) ** 2
# [extent] A corner that is so far outside the other face still counts as inside. Stacked boxes of
# equal size have their corners at the same place to rounding; without it their points would change
# names from step to step. Faces bear loads by so much too far outside.
OUTSIDE = 1e-6
# By so much the face of the second part must be more perpendicular to be the reference.
BIASED = 1e-6
# [extent] Points that are deeper by less than this are equally deep, when four are chosen.
LEVEL = 1e-10


@cache
def make_manifold(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the contact points of two parts with ``jit``."""
    cross = make_frame(jit).cross
    axes = make_axes(jit)
    flattest, at_the_top, edge_of = axes.flattest, axes.at_the_top, axes.edge_of

    @jit
    def corner_name(cores, first, row):
        """Feature of a corner of the first part, or of the second."""
        most = cores.room.height.shape[1]
        return 1 + row - cores.a.corner if first else 1 + most + row - cores.b.corner

    @jit
    def put(cores, k, n, gap, feature, on_first, on_second):
        """Write down point k of cores with a gap, given the points of both cores, about a."""
        room, (x, y, z) = cores.room, n
        (ax, ay, az), (bx, by, bz), (dx, dy, dz) = on_first, on_second, cores.apart
        p, q = cores.a.radius, cores.b.radius
        room.gap[k], room.feature[k] = gap - p - q, feature
        room.normal[k, 0], room.normal[k, 1], room.normal[k, 2] = x, y, z
        room.on_first[k, 0], room.on_first[k, 1] = ax + p * x, ay + p * y
        room.on_first[k, 2] = az + p * z
        room.on_second[k, 0], room.on_second[k, 1] = bx - dx - q * x, by - dy - q * y
        room.on_second[k, 2] = bz - dz - q * z

    # The reference segment goes from c to c + e, and u is e without its part along n. A point x of
    # the other segment is beside the reference's point at the share s = u·(x − c)/u·e of its
    # length; at s = 0 and 1 the other segment is cut.
    @jit
    def segment_points(cores, n, limit, first, ends):
        """Points where two segments meet, the reference being one of the first part or not.

        ends: rows of the corners of the reference and of the other segment. Returns their number.
        """
        corner, (x, y, z), (dx, dy, dz) = cores.corner, n, cores.apart
        c0, c1, i0, i1 = ends
        g = 0.0 if first else 1.0  # the reference is moved by g d, the other by (1 − g) d
        o = 1.0 - g
        cx, cy, cz = corner[c0, 0] + g * dx, corner[c0, 1] + g * dy, corner[c0, 2] + g * dz
        ex, ey, ez = (
            corner[c1, 0] - corner[c0, 0],
            corner[c1, 1] - corner[c0, 1],
            corner[c1, 2] - corner[c0, 2],
        )
        t = ex * x + ey * y + ez * z
        ux, uy, uz = ex - t * x, ey - t * y, ez - t * z
        ue = ux * ex + uy * ey + uz * ez
        px, py, pz = corner[i0, 0] + o * dx, corner[i0, 1] + o * dy, corner[i0, 2] + o * dz
        qx, qy, qz = corner[i1, 0] + o * dx, corner[i1, 1] + o * dy, corner[i1, 2] + o * dz
        s = (ux * (px - cx) + uy * (py - cy) + uz * (pz - cz)) / ue
        r = (ux * (qx - cx) + uy * (qy - cy) + uz * (qz - cz)) / ue
        slack = OUTSIDE * cores.extent / math.sqrt(ue)
        if max(s, r) < -slack or min(s, r) > 1.0 + slack:
            return 0
        count = 0
        for k in range(2):
            if k == 0:
                here, there, row = s, r, i0
                kx, ky, kz, lx, ly, lz = px, py, pz, qx, qy, qz
            else:
                here, there, row = r, s, i1
                kx, ky, kz, lx, ly, lz = qx, qy, qz, px, py, pz
            at = here
            name = corner_name(cores, not first, row)
            if here < -slack or here > 1.0 + slack:
                at = 0.0 if here < 0.0 else 1.0
                name = corner_name(cores, first, c0 if here < 0.0 else c1)
                f = (at - here) / (there - here)
                kx, ky, kz = kx + f * (lx - kx), ky + f * (ly - ky), kz + f * (lz - kz)
            rx, ry, rz = cx + at * ex, cy + at * ey, cz + at * ez
            gap = x * (kx - rx) + y * (ky - ry) + z * (kz - rz)
            if not first:
                gap = -gap
            if gap < limit:
                one, two = (rx, ry, rz), (kx, ky, kz)
                if not first:
                    one, two = two, one
                put(cores, count, n, gap, name, one, two)
                count += 1
        return count

    @jit
    def face_ends(cores, part, face):
        """Rows of the corners of a side in 2D."""
        at = cores.outline.rim_start[face - part.to_face]
        rim = cores.outline.rim
        return rim[at] + part.to_corner, rim[at + 1] + part.to_corner

    @jit
    def points_2d(cores, n, limit):
        """Points of two parts in 2D, at most two; none if they meet in one."""
        a, b, normal, (x, y, z) = cores.a, cores.b, cores.normal, n
        f, flat = flattest(normal, a.face, a.face_end, x, y, z)
        g, other = flattest(normal, b.face, b.face_end, -x, -y, -z)
        if f < 0 or g < 0 or max(flat, other) < FLUSH:
            return 0
        first = other <= flat + BIASED
        c0, c1 = face_ends(cores, a, f)
        i0, i1 = face_ends(cores, b, g)
        ends = (c0, c1, i0, i1) if first else (i0, i1, c0, c1)
        return segment_points(cores, n, limit, first, ends)

    @jit
    def foremost_edge(cores, part, x, y, z):
        """The edge whose lower end is farthest along (x, y, z): its corners, and its vector."""
        best, most = -1, -math.inf
        ends, c, to = cores.outline.edge, cores.corner, part.to_corner
        for e in range(part.edge, part.edge_end):
            i, j = ends[e, 0] + to, ends[e, 1] + to
            h = min(
                c[i, 0] * x + c[i, 1] * y + c[i, 2] * z, c[j, 0] * x + c[j, 1] * y + c[j, 2] * z
            )
            if h > most:
                best, most = e, h
        return best

    @jit
    def edge_points(cores, n, limit, edges):
        """Points of two edges that are nearly parallel, at most two; none if they are not.

        edges: those that the normal is perpendicular to, −1 if they are not known.
        """
        (x, y, z), a, b, ends = n, cores.a, cores.b, cores.outline.edge
        e, f = edges
        if e < 0:
            e, f = foremost_edge(cores, a, x, y, z), foremost_edge(cores, b, -x, -y, -z)
        if e < 0 or f < 0:
            return 0
        ex, ey, ez, _ = edge_of(cores, a, e)
        fx, fy, fz, _ = edge_of(cores, b, f)
        ee, ff = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
        u, v, w = cross(ex, ey, ez, fx, fy, fz)
        if u * u + v * v + w * w > ALONG * ee * ff:
            return 0
        if (ex * x + ey * y + ez * z) ** 2 > ALONG * ee:
            return 0
        if (fx * x + fy * y + fz * z) ** 2 > ALONG * ff:
            return 0
        rows = (
            ends[e, 0] + a.to_corner,
            ends[e, 1] + a.to_corner,
            ends[f, 0] + b.to_corner,
            ends[f, 1] + b.to_corner,
        )
        return segment_points(cores, n, limit, True, rows)

    @jit
    def crossing_name(cores, first, side, cut):
        """Feature where a side of the other face crosses one of the reference, by their rows."""
        most = cores.room.height.shape[1]
        one, two = (cut, side) if first else (side, cut)
        return 1 + 2 * most + one * most + two

    @jit
    def load(cores, part, face, g):
        """Put a face, or the edge of a part without faces, into the room; how many corners.

        The columns of a label: the feature of the corner, and the side that begins there, as the
        row of its first corner in the part.
        """
        solids, room, (dx, dy, dz) = cores.outline, cores.room, cores.apart
        count = 2
        if face >= 0:
            at = solids.rim_start[face - part.to_face]
            count = solids.rim_start[face - part.to_face + 1] - at
        for k in range(count):
            c = part.corner + k if face < 0 else solids.rim[at + k] + part.to_corner
            room.polygon[0, k, 0] = cores.corner[c, 0] + g * dx
            room.polygon[0, k, 1] = cores.corner[c, 1] + g * dy
            room.polygon[0, k, 2] = cores.corner[c, 2] + g * dz
            room.label[0, k, 0] = corner_name(cores, g == 0.0, c)
            room.label[0, k, 1] = c - part.corner
        return count

    # A corner that is cut off leaves two new ones, where the outline leaves the plane and where it
    # comes back; the side between them lies on the plane. When a later plane cuts that side, the
    # new corner is one of the reference face.
    @jit
    def cut(cores, now, count, plane, names):
        """Cut the polygon in room ``now`` of ``count`` corners; how many are left in the other.

        plane: outward direction, its value at the plane, and there the slack. names: whether the
        reference is of the first part, the side of the reference as the row of its first corner
        in the part, likewise the first side of the reference if this one is the last, else itself.
        """
        room, most = cores.room, cores.room.height.shape[1]
        mx, my, mz, level, slack = plane
        first, side, closing = names
        polygon, label, new = room.polygon, room.label, 1 - now
        left = 0
        for k in range(count):
            l = k + 1 if k + 1 < count else 0
            h = polygon[now, k, 0] * mx + polygon[now, k, 1] * my + polygon[now, k, 2] * mz - level
            if h <= slack:
                for x in range(3):
                    polygon[new, left, x] = polygon[now, k, x]
                label[new, left, 0], label[new, left, 1] = label[now, k, 0], label[now, k, 1]
                left += 1
            if count == 2 and k == 1:
                break  # an edge is gone along once
            g = polygon[now, l, 0] * mx + polygon[now, l, 1] * my + polygon[now, l, 2] * mz - level
            if (h <= slack) != (g <= slack):
                t = min(max(h / (h - g), 0.0), 1.0)
                for x in range(3):
                    polygon[new, left, x] = (1.0 - t) * polygon[now, k, x] + t * polygon[now, l, x]
                was = label[now, k, 1]
                if was < most:
                    label[new, left, 0] = crossing_name(cores, first, was, side)
                else:
                    row = closing if was - most == closing else side
                    part = cores.a if first else cores.b
                    label[new, left, 0] = corner_name(cores, first, part.corner + row)
                label[new, left, 1] = was if g <= slack else most + side
                left += 1
        return left

    @jit
    def face_points(cores, n, limit, first, faces):
        """Points where a face of the reference part meets a face or edge of the other."""
        (x, y, z), (dx, dy, dz), c = n, cores.apart, cores.corner
        face, other = faces
        part = cores.a if first else cores.b
        partner = cores.b if first else cores.a
        g = 0.0 if first else 1.0
        sign = 1.0 if first else -1.0
        count, now = load(cores, partner, other, 1.0 - g), 0
        solids = cores.outline
        at, end = solids.rim_start[face - part.to_face], solids.rim_start[face - part.to_face + 1]
        opening = solids.rim[at] + part.to_corner - part.corner
        for k in range(at, end):
            i = solids.rim[k] + part.to_corner
            j = solids.rim[k + 1 if k + 1 < end else at] + part.to_corner
            mx, my, mz = cross(
                c[j, 0] - c[i, 0], c[j, 1] - c[i, 1], c[j, 2] - c[i, 2],
                sign * x, sign * y, sign * z,
            )  # fmt: skip
            level = mx * (c[i, 0] + g * dx) + my * (c[i, 1] + g * dy) + mz * (c[i, 2] + g * dz)
            slack = OUTSIDE * cores.extent * math.sqrt(mx * mx + my * my + mz * mz)
            side = i - part.corner
            names = (first, side, opening if k + 1 == end else side)
            count = cut(cores, now, count, (mx, my, mz, level, slack), names)
            now = 1 - now
            if count == 0:
                return 0
        # heights over the plane of the reference, along the normal
        i = solids.rim[at] + part.to_corner
        u, v, w = cores.normal[face, 0], cores.normal[face, 1], cores.normal[face, 2]
        r = 1.0 / (sign * (u * x + v * y + w * z))
        level = u * (c[i, 0] + g * dx) + v * (c[i, 1] + g * dy) + w * (c[i, 2] + g * dz)
        found = 0
        for k in range(count):
            px, py, pz = (
                cores.room.polygon[now, k, 0],
                cores.room.polygon[now, k, 1],
                cores.room.polygon[now, k, 2],
            )
            gap = (u * px + v * py + w * pz - level) * r
            if gap < limit:
                t = sign * gap
                on = (px - t * x, py - t * y, pz - t * z)
                name = cores.room.label[now, k, 0]
                one, two = on, (px, py, pz)
                if not first:
                    one, two = two, one
                put(cores, found, n, gap, name, one, two)
                found += 1
        return found

    @jit
    def points_3d(cores, n, limit, edges):
        """Points of two parts in 3D; none if they meet in one. edges: see `edge_points`."""
        a, b, normal, (x, y, z) = cores.a, cores.b, cores.normal, n
        f, flat = flattest(normal, a.face, a.face_end, x, y, z)
        g, other = flattest(normal, b.face, b.face_end, -x, -y, -z)
        if max(flat, other) >= FLUSH:
            f, flat = at_the_top(cores, a, (f, flat), x, y, z)
            g, other = at_the_top(cores, b, (g, other), -x, -y, -z)
        if max(flat, other) < FLUSH:
            return edge_points(cores, n, limit, edges)
        first = other <= flat + BIASED
        return face_points(cores, n, limit, first, (f, g) if first else (g, f))

    # Which of many points: the deepest; the one farthest from it; and on either side of the line
    # through both the one farthest from the line. Equal ones go by their names.
    @jit
    def four_of(cores, count, n):
        """Choose at most four of the points, into ``kept``; how many they are then."""
        room, (x, y, z) = cores.room, n
        if count <= 4:
            for k in range(count):
                room.kept[k] = k
            return count
        deepest = math.inf
        for k in range(count):
            deepest = min(deepest, room.gap[k])
        kept, p = room.kept, room.on_first
        best = -1
        for k in range(count):
            level = room.gap[k] <= deepest + LEVEL * cores.extent
            if level and (best < 0 or room.feature[k] < room.feature[best]):
                best = k
        one, two, left, right = best, -1, -1, -1
        far, tie = 0.0, LEVEL * cores.extent * cores.extent
        for k in range(count):
            u, v, w = p[k, 0] - p[one, 0], p[k, 1] - p[one, 1], p[k, 2] - p[one, 2]
            u, v, w = cross(u, v, w, x, y, z)
            d = u * u + v * v + w * w
            named = two >= 0 and room.feature[k] < room.feature[two]
            if k != one and (d > far + tie or (named and d > far - tie)):
                two, far = k, d
        kept[0], kept[1] = one, two
        if two < 0:
            kept[0], kept[1], kept[2], kept[3] = 0, 1, 2, 3
            return 4
        u, v, w = p[two, 0] - p[one, 0], p[two, 1] - p[one, 1], p[two, 2] - p[one, 2]
        u, v, w = cross(x, y, z, u, v, w)  # across the line
        most, least = tie, -tie
        for k in range(count):
            if k in (one, two):
                continue
            d = u * (p[k, 0] - p[one, 0]) + v * (p[k, 1] - p[one, 1]) + w * (p[k, 2] - p[one, 2])
            named = left >= 0 and room.feature[k] < room.feature[left]
            if d > most + tie or (named and d > most - tie):
                left, most = k, d
            named = right >= 0 and room.feature[k] < room.feature[right]
            if d < least - tie or (named and d < least + tie):
                right, least = k, d
        left_over = 2
        if left >= 0:
            kept[left_over] = left
            left_over += 1
        if right >= 0:
            kept[left_over] = right
            left_over += 1
        return left_over

    return SimpleNamespace(
        put=put, points_2d=points_2d, points_3d=points_3d, four_of=four_of,
        corner_name=corner_name, face_points=face_points,
    )  # fmt: skip
