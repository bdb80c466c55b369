"""The normal of two convex cores, exact to rounding, and their separation along it.

Along any unit vector n the cores are separated by s(n) = min n·b − max n·a. Their distance is the
largest s(n), and so is, with a minus sign, the depth by which they overlap, where n then is normal
to a face of their difference B − A: a face of A, a face of B turned round, or spanned by an edge of
each.

Cores apart. The search for the distance ends when |v| decreases no more, to some roundings of the
cores' extent L. As |v| is flat about its minimum, n = v/|v| may then be wrong by an angle θ of some
(1e-16 L/|v|)^½, which is much if the distance is small. Errors of n along a feature that lies in
the plane of contact cost a separation of θ L; all others cost θ²|v|, which is rounding. So n is
made exactly perpendicular to what is perpendicular to it within θ: a face, an edge of each core, or
one edge. The distance is at most |v| and at least the separation along any axis: so the first axis
whose separation is |v| to rounding is right, and if there is none, the best of all is taken.

Cores that touch or overlap. All faces are tried (`faces`), then all pairs of edges that span a face
of the difference (`arcs`). An edge that is not between two faces, or whose faces are back to back,
has no arc of normals; its pairs are tried with all corners.

Cores with a volume need no search for their distance where their edges meet: if the points of two
edges that are nearest lie within both, they are as far apart as the cores are separated along the
common perpendicular. And if a point is known that lies in both cores, they overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.arcs import make_arcs
from hardgrain.point.distance import make_distance
from hardgrain.point.faces import BETTER, make_faces
from hardgrain.point.frame import make_frame

# [extent] Error of the vector between two cores: some fifty roundings. With less, edges in the
# plane of contact would be missed; with more, others would be tried in vain.
ROUNDING = 1e-14
# Largest sine of the angle by which v/|v| is taken to be wrong, if the distance is next to nothing.
ASTRAY = 0.05
# [extent] Cores that are closer touch: an axis of features is preferred to v/|v|, whose error may
# be 1e-2 there, unless v/|v| is better by much, `BETTER`.
TOUCH = 1e-10
# [extent] Above this distance the direction of v is good enough in any case.
CLEAR = 1e-4
# Squared sine of the angle of two edges that count as parallel, and span no face.
PARALLEL = 1e-24
# Squared sine of the angle of two edges whose plane is so uncertain that its separation is taken
# from all corners.
SLANT = 1e-8


@cache
def make_axes(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the search for the normal with ``jit``."""
    cross, tangent = make_frame(jit).cross, make_frame(jit).tangent
    highest, arcs = make_distance(jit).highest, make_arcs(jit)
    arc_of, arcs_cross, worse = arcs.arc_of, arcs.arcs_cross, arcs.worse
    faces = make_faces(jit)

    @jit
    def separation(cores, x, y, z):
        """Separation of the cores along (x, y, z) [length]."""
        c, a, b = cores.corner, cores.a, cores.b
        i = highest(c, a.corner, a.corner_end, x, y, z)
        j = highest(c, b.corner, b.corner_end, -x, -y, -z)
        dx, dy, dz = cores.apart
        s = x * (c[j, 0] - c[i, 0] + dx) + y * (c[j, 1] - c[i, 1] + dy)
        return s + z * (c[j, 2] - c[i, 2] + dz)

    @jit
    def flattest(normal, start, end, x, y, z):
        """The face whose normal is most along (x, y, z), the first of several (−1: none)."""
        best, most = -1, -2.0
        for f in range(start, end):
            c = normal[f, 0] * x + normal[f, 1] * y + normal[f, 2] * z
            if c > most:
                best, most = f, c
        return best, most

    # The face that is most along a direction need not hold the corner that is farthest along it.
    @jit
    def facing(cores, part, x, y, z):
        """Like `flattest`, among the faces that reach as far along (x, y, z) as the part does."""
        best, most = flattest(cores.normal, part.face, part.face_end, x, y, z)
        return at_the_top(cores, part, (best, most), x, y, z)

    @jit
    def at_the_top(cores, part, found, x, y, z):
        """The same, given what `flattest` found."""
        c, n, rim, start = cores.corner, cores.normal, cores.outline.rim, cores.outline.rim_start
        best, most = found
        if best < 0:
            return best, most
        i = highest(c, part.corner, part.corner_end, x, y, z)
        top = c[i, 0] * x + c[i, 1] * y + c[i, 2] * z - BETTER * cores.extent
        one, last = best, best + 1
        for again in range(2):
            for f in range(one, last):
                flat = n[f, 0] * x + n[f, 1] * y + n[f, 2] * z
                if again == 1 and flat <= most:
                    continue
                for k in range(start[f - part.to_face], start[f - part.to_face + 1]):
                    j = rim[k] + part.to_corner
                    if c[j, 0] * x + c[j, 1] * y + c[j, 2] * z >= top:
                        if again == 0:
                            return best, most
                        best, most = f, flat
                        break
            one, last, most = part.face, part.face_end, -2.0
        return best, most

    @jit
    def edge_of(cores, part, e):
        """Vector along an edge, and the row of the corner where it begins."""
        i = cores.outline.edge[e, 0] + part.to_corner
        j = cores.outline.edge[e, 1] + part.to_corner
        c = cores.corner
        return c[j, 0] - c[i, 0], c[j, 1] - c[i, 1], c[j, 2] - c[i, 2], i

    # The cross product of nearly parallel edges is wrong by a small angle in any direction. Made
    # perpendicular to one edge first, and again, it is perpendicular to both to rounding.
    @jit
    def across(ex, ey, ez, fx, fy, fz):
        """Unit vector perpendicular to two vectors, and the squared sine of their angle."""
        ee, ff = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
        gx, gy, gz, size = fx, fy, fz, 0.0
        for _ in range(2):
            t = (gx * ex + gy * ey + gz * ez) / ee
            gx, gy, gz = gx - t * ex, gy - t * ey, gz - t * ez
            if size == 0.0:
                size = (gx * gx + gy * gy + gz * gz) / ff
        x, y, z = cross(ex, ey, ez, gx, gy, gz)
        square = x * x + y * y + z * z
        if square == 0.0:
            return 1.0, 0.0, 0.0, 0.0
        r = 1.0 / math.sqrt(square)
        return x * r, y * r, z * r, size

    @jit
    def level(cores, part, e, n, least):
        """Whether an edge lies at the height of contact: above ``least``, perpendicular to n.

        least: a height along n, turned round for the second part, and the sine that counts as zero.
        """
        fx, fy, fz, i = edge_of(cores, part, e)
        (x, y, z), (height, sine), c = n, least, cores.corner
        if c[i, 0] * x + c[i, 1] * y + c[i, 2] * z < height:
            return False
        along = fx * x + fy * y + fz * z
        return along * along <= sine * sine * (fx * fx + fy * fy + fz * fz)

    @jit
    def upright(cores, part, e, x, y, z):
        """The unit vector (x, y, z) made perpendicular to an edge."""
        fx, fy, fz, _ = edge_of(cores, part, e)
        ff = fx * fx + fy * fy + fz * fz
        for _ in range(2):
            t = (x * fx + y * fy + z * fz) / ff
            x, y, z = x - t * fx, y - t * fy, z - t * fz
            r = 1.0 / math.sqrt(x * x + y * y + z * z)
            x, y, z = x * r, y * r, z * r
        return x, y, z

    @jit
    def made_exact(cores, axis, x, y, z, length):
        """Separation along the normal of cores apart, which is nearly (x, y, z), and the normal.

        axis: the best of faces, see `face_axis`; length: of the shortest way that was found.
        """
        a, b, c, extent = cores.a, cores.b, cores.corner, cores.extent
        enough = length - ROUNDING * extent
        tie = BETTER * extent if length <= TOUCH * extent else 0.0
        best, bx, by, bz, _, _ = axis
        # Where the distance is clear, separations of slightly tilted axes are the same to rounding.
        beside = (bx - x) ** 2 + (by - y) ** 2 + (bz - z) ** 2
        if length > CLEAR * extent and beside * length * length > (ROUNDING * extent) ** 2:
            best = -math.inf
        error = min(math.sqrt(ROUNDING * extent / length), ASTRAY)
        i = highest(c, a.corner, a.corner_end, x, y, z)
        j = highest(c, b.corner, b.corner_end, -x, -y, -z)
        slack = error * extent
        top = (c[i, 0] * x + c[i, 1] * y + c[i, 2] * z - slack, error)
        bottom = (-(c[j, 0] * x + c[j, 1] * y + c[j, 2] * z) - slack, error)
        # no edge: the direction of v, and the one with the largest lower bound
        for e in range(a.edge - 1, a.edge_end):
            if e >= a.edge and not level(cores, a, e, (x, y, z), top):
                continue
            for f in range(b.edge - 1, b.edge_end):
                if best >= enough:
                    return best, bx, by, bz
                if f >= b.edge and not level(cores, b, f, (-x, -y, -z), bottom):
                    continue
                u, v, w = x, y, z
                if e >= a.edge and f >= b.edge:
                    ex, ey, ez, _ = edge_of(cores, a, e)
                    fx, fy, fz, _ = edge_of(cores, b, f)
                    u, v, w, sine = across(ex, ey, ez, fx, fy, fz)
                    if sine <= PARALLEL:
                        continue
                    if u * x + v * y + w * z < 0.0:
                        u, v, w = -u, -v, -w
                elif e >= a.edge:
                    u, v, w = upright(cores, a, e, x, y, z)
                elif f >= b.edge:
                    u, v, w = upright(cores, b, f, x, y, z)
                s = separation(cores, u, v, w)
                if s > best + tie:
                    best, bx, by, bz = s, u, v, w
                if e < a.edge and f < b.edge:
                    u, v, w = cores.room.best[0], cores.room.best[1], cores.room.best[2]
                    s = separation(cores, u, v, w)
                    if s > best + tie:
                        best, bx, by, bz = s, u, v, w
        return best, bx, by, bz

    # Edges at which the cores overlap least, or are nearest, touch once the cores are moved by that
    # depth or distance, along the axis of the edges. So both of them reach into the layer in which
    # the cores overlap along any other axis, grown by the depth there or the distance that matters:
    # the corners below it need not be tried.
    @jit
    def edge_axis(cores, axis, limit):
        """Like `face_axis`, among pairs of edges that are better than ``axis``, and the edges.

        Edges that are nearest at a distance of ``limit`` or more may be missed.
        """
        c, a, b = cores.corner, cores.a, cores.b
        ends = cores.outline.edge
        dx, dy, dz = cores.apart
        tie = BETTER * cores.extent
        best, bx, by, bz = axis
        be, bf, any_axis = -1, -1, best > -math.inf
        i = highest(c, a.corner, a.corner_end, bx, by, bz)
        top = c[i, 0] * bx + c[i, 1] * by + c[i, 2] * bz
        slack = max(abs(best), limit) + TOUCH * cores.extent if any_axis else math.inf
        if any_axis:
            for k in range(a.corner, a.corner_end):
                cores.room.height[0, k - a.corner] = c[k, 0] * bx + c[k, 1] * by + c[k, 2] * bz
            for k in range(b.corner, b.corner_end):
                cores.room.height[1, k - b.corner] = (
                    (c[k, 0] + dx) * bx + (c[k, 1] + dy) * by + (c[k, 2] + dz) * bz
                )
        low = top + best - slack  # a's edges must reach above this,
        high = top + slack  # and b's below this
        h, near, n, count = cores.room.height, cores.room.near, cores.normal, 0
        for f in range(b.edge, b.edge_end):
            k, l = ends[f, 0] + b.to_corner - b.corner, ends[f, 1] + b.to_corner - b.corner
            if not any_axis or h[1, k] <= high or h[1, l] <= high:
                near[count, 0] = f
                near[count, 1], near[count, 2] = arc_of(cores, b, f)
                count += 1
        for e in range(a.edge, a.edge_end):
            i, j = ends[e, 0] + a.to_corner - a.corner, ends[e, 1] + a.to_corner - a.corner
            if any_axis and h[0, i] < low and h[0, j] < low:
                continue
            ex, ey, ez, p = edge_of(cores, a, e)
            one, px, py, pz = arc_of(cores, a, e), 0.0, 0.0, 0.0
            mid = (0.0, 0.0, 0.0)
            if one[0] >= 0:
                k, l = one
                mid = (n[k, 0] + n[l, 0], n[k, 1] + n[l, 1], n[k, 2] + n[l, 2])
                px, py, pz = cross(n[l, 0], n[l, 1], n[l, 2], n[k, 0], n[k, 1], n[k, 2])
            for g in range(count):
                crosses = arcs_cross(cores, one, (near[g, 1], near[g, 2]), px, py, pz)
                if crosses == 0:
                    continue
                f = near[g, 0]
                fx, fy, fz, q = edge_of(cores, b, f)
                rx, ry, rz = c[q, 0] + dx - c[p, 0], c[q, 1] + dy - c[p, 1], c[q, 2] + dz - c[p, 2]
                if crosses == 1 and worse((ex, ey, ez), (fx, fy, fz), (rx, ry, rz), mid, best, tie):
                    continue
                x, y, z, sine = across(ex, ey, ez, fx, fy, fz)
                if sine <= PARALLEL:
                    continue
                if crosses == 1 and sine > SLANT:
                    u, v, w = mid
                    if x * u + y * v + z * w < 0.0:
                        x, y, z = -x, -y, -z
                    s = x * rx + y * ry + z * rz
                else:
                    u, v, w, s = x, y, z, -math.inf
                    for _ in range(2):
                        t = separation(cores, u, v, w)
                        if t > s + tie:
                            s, x, y, z = t, u, v, w
                        u, v, w = -u, -v, -w
                if s > best + tie:
                    best, bx, by, bz, be, bf = s, x, y, z, e, f
                    if best >= limit:
                        return best, bx, by, bz, be, bf
        return best, bx, by, bz, be, bf

    @jit
    def nearest_of_lines(cores, e, f):
        """Points of edge e of a and edge f of b that are nearest, each about its own centre.

        Also whether these are the nearest points of the whole lines.
        """
        c = cores.corner
        ex, ey, ez, p = edge_of(cores, cores.a, e)
        fx, fy, fz, q = edge_of(cores, cores.b, f)
        dx, dy, dz = cores.apart
        rx, ry, rz = c[q, 0] + dx - c[p, 0], c[q, 1] + dy - c[p, 1], c[q, 2] + dz - c[p, 2]
        ee, ff = ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
        ef = ex * fx + ey * fy + ez * fz
        er, fr = ex * rx + ey * ry + ez * rz, fx * rx + fy * ry + fz * rz
        area = ee * ff - ef * ef
        s = t = 0.5
        within = area > SLANT * ee * ff
        if area > 0.0:
            s, t = (er * ff - fr * ef) / area, (er * ef - fr * ee) / area
            within = within and s >= 0.0 and s <= 1.0 and t >= 0.0 and t <= 1.0
            s, t = min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0)
        return (
            (c[p, 0] + s * ex, c[p, 1] + s * ey, c[p, 2] + s * ez),
            (c[q, 0] + t * fx, c[q, 1] + t * fy, c[q, 2] + t * fz),
            within,
        )

    @jit
    def holds(cores, part, x, y, z):
        """Whether a core holds a point, given about its centre."""
        c, n, outline = cores.corner, cores.normal, cores.outline
        for f in range(part.face, part.face_end):
            i = outline.rim[outline.rim_start[f - part.to_face]] + part.to_corner
            u, v, w = x - c[i, 0], y - c[i, 1], z - c[i, 2]
            if n[f, 0] * u + n[f, 1] * v + n[f, 2] * w > 0.0:
                return False
        return True

    @jit
    def proved(cores, axis, e, f, whose):
        """Whether a separation is known to be the distance or depth of cores that have a volume.

        axis: the best of all, of edges e and f, or of a face of a (1) or b (2) along which the
        cores overlap.
        """
        best, x, y, z = axis
        c, a, b, (dx, dy, dz) = cores.corner, cores.a, cores.b, cores.apart
        if e >= 0:
            p, q, within = nearest_of_lines(cores, e, f)
            if best > 0.0 or not within:
                return within
            return holds(cores, a, q[0] + dx, q[1] + dy, q[2] + dz) or holds(
                cores, b, p[0] - dx, p[1] - dy, p[2] - dz
            )
        if best > 0.0:
            return False
        if whose == 1:
            i = highest(c, b.corner, b.corner_end, -x, -y, -z)
            return holds(cores, a, c[i, 0] + dx, c[i, 1] + dy, c[i, 2] + dz)
        i = highest(c, a.corner, a.corner_end, x, y, z)
        return holds(cores, b, c[i, 0] - dx, c[i, 1] - dy, c[i, 2] - dz)

    @jit
    def any_normal(cores):
        """A normal of cores without faces that touch: across an edge, if there is one."""
        a, b = cores.a, cores.b
        x, y, z = cores.apart
        length = math.sqrt(x * x + y * y + z * z)
        ex, ey, ez = 0.0, 0.0, 0.0
        if a.edge_end > a.edge:
            ex, ey, ez, _ = edge_of(cores, a, a.edge)
        elif b.edge_end > b.edge:
            ex, ey, ez, _ = edge_of(cores, b, b.edge)
        size = math.sqrt(ex * ex + ey * ey + ez * ez)
        if size > 0.0:
            ex, ey, ez = ex / size, ey / size, ez / size
            t = x * ex + y * ey + z * ez
            x, y, z = x - t * ex, y - t * ey, z - t * ez
            across = math.sqrt(x * x + y * y + z * z)
            if across <= 1e-8 * length or across == 0.0:
                x, y, z = tangent(ex, ey, ez)
                across = 1.0
            return x / across, y / across, z / across
        if length > 0.0:
            return x / length, y / length, z / length
        return 1.0, 0.0, 0.0

    return SimpleNamespace(
        separation=separation, flattest=flattest, facing=facing, at_the_top=at_the_top,
        made_exact=made_exact, face_axis=faces.face_axis, above_face=faces.above_face,
        edge_axis=edge_axis,
        any_normal=any_normal, nearest_of_lines=nearest_of_lines, edge_of=edge_of, proved=proved,
    )  # fmt: skip
