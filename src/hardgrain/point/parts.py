"""Contact points of two parts, and of a part and a wall that is no core.

The two steps are `distance` or `axes`, which give the normal, and `manifold`, which gives the
points. Planes and hollow cylinders have no corners: there each corner of a part is a ball.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.core.geometry import make_wall_gap
from hardgrain.core.wall_kinds import PLANE
from hardgrain.point.axes import CLEAR, TOUCH, make_axes
from hardgrain.point.distance import make_distance
from hardgrain.point.faces import BETTER
from hardgrain.point.manifold import make_manifold
from hardgrain.point.placed import Cores, Outline, Part


@cache
def make_parts(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the narrow phase of two parts with ``jit``."""
    search, axes, manifold = make_distance(jit), make_axes(jit), make_manifold(jit)
    distance, witnesses, highest = search.distance, search.witnesses, search.highest
    separation, made_exact, any_normal = axes.separation, axes.made_exact, axes.any_normal
    face_axis, above_face, edge_axis = axes.face_axis, axes.above_face, axes.edge_axis
    facing = axes.facing
    nearest_of_lines, proved = axes.nearest_of_lines, axes.proved
    put, points_2d, points_3d = manifold.put, manifold.points_2d, manifold.points_3d
    four_of, corner_name = manifold.four_of, manifold.corner_name
    wall_gap = make_wall_gap(jit)

    @jit
    def part_of(solids, placed, body, p):
        """Where the rows of part p of a body are."""
        first = solids.part_start[placed.shape[body]]
        to_corner = placed.corner_start[body] - solids.corner_start[first]
        to_face = placed.face_start[body] - solids.face_start[first]
        p += first
        return Part(
            solids.corner_start[p] + to_corner,
            solids.corner_start[p + 1] + to_corner,
            solids.face_start[p] + to_face,
            solids.face_start[p + 1] + to_face,
            solids.edge_start[p],
            solids.edge_start[p + 1],
            to_corner,
            to_face,
            solids.radius[p] * placed.size[body],
        )

    @jit
    def outline_of(solids):
        """The columns that are read of a table of shapes."""
        return Outline(solids.rim_start, solids.rim, solids.edge, solids.edge_face)

    @jit
    def cores_of(bodies, room, one, two, apart):
        """Parts of two bodies, each given as body and part, as a record."""
        placed = bodies.placed
        a = part_of(bodies.solids, placed, one[0], one[1])
        b = part_of(bodies.solids, placed, two[0], two[1])
        x, y, z = apart
        extent = placed.bound[one[0]] + placed.bound[two[0]] + abs(x) + abs(y) + abs(z)
        return Cores(
            outline_of(bodies.solids), placed.corner, placed.normal, room, a, b, apart, extent
        )

    @jit
    def alone(bodies, room, one):
        """A part without another, as the same record."""
        a = part_of(bodies.solids, bodies.placed, one[0], one[1])
        none = Part(
            a.corner, a.corner, a.face, a.face, a.edge, a.edge, a.to_corner, a.to_face, 0.0
        )  # fmt: skip
        nowhere, extent = (0.0, 0.0, 0.0), 2.0 * bodies.placed.bound[one[0]]
        placed = bodies.placed
        return Cores(
            outline_of(bodies.solids), placed.corner, placed.normal, room, a, none, nowhere, extent
        )

    @jit
    def apart_by(placed, one, two, apart, limit):
        """Whether the balls around two parts, each given as body and part, are apart by a limit."""
        i, j = placed.ball_start[one[0]] + one[1], placed.ball_start[two[0]] + two[1]
        ball, (x, y, z) = placed.ball, apart
        x, y, z = (
            x + ball[j, 0] - ball[i, 0],
            y + ball[j, 1] - ball[i, 1],
            z + ball[j, 2] - ball[i, 2],
        )
        reach = limit + ball[i, 3] + ball[j, 3]
        return reach <= 0.0 or x * x + y * y + z * z >= reach * reach

    @jit
    def normal_of(cores, limit, solid):
        """Separation and normal of two cores, and how many corners or which edges give them.

        Returns the separation [length], infinite if it is not below ``limit``; the normal; the
        number of corners of the simplex (4: none; 5: none, but a corner above a face is picked); an
        edge of each part, −1 where it is not edges that overlap; and whose face it is.
        """
        a, b = cores.a, cores.b
        axis = face_axis(cores, limit)
        best, u, v, w, whose, _ = axis
        if best >= limit:
            return best, u, v, w, 0, -1, -1, 0
        # Parts that have a volume overlap if no axis separates them, and one of few faces or edges
        # mostly does: their distance is needed only where corners meet.
        full = a.face_end - a.face > 2 and b.face_end - b.face > 2
        clear = best > TOUCH * cores.extent or best <= 0.0
        if full and clear and above_face(cores, axis, solid):
            return best, u, v, w, 5, -1, -1, whose
        e = f = -1
        if full and solid:
            best, u, v, w, e, f = edge_axis(cores, (best, u, v, w), limit)
            if best >= limit:
                return best, u, v, w, 0, -1, -1, 0
            if proved(cores, (best, u, v, w), e, f, whose):
                return best, u, v, w, 4, e, f, whose
        elif full and best <= 0.0:
            return best, u, v, w, 4, -1, -1, whose
        gap = -math.inf
        m, x, y, z, length = distance(cores, limit)
        if m == 0:
            return length, x, y, z, 0, -1, -1, 0
        if m < 4:
            gap, x, y, z = made_exact(cores, axis, x, y, z, length)
            if gap >= length - BETTER * cores.extent or length > CLEAR * cores.extent:
                return gap, x, y, z, m, -1, -1, 0
        if solid and not full and length - best > BETTER * cores.extent:
            best, u, v, w, e, f = edge_axis(cores, (best, u, v, w), limit)
        if gap >= best and gap > -math.inf:
            return gap, x, y, z, m, -1, -1, 0
        if whose == 0 and e < 0:
            u, v, w = any_normal(cores)
            best = separation(cores, u, v, w)
        return best, u, v, w, m, e, f, whose

    @jit
    def only_point(cores, gap, n, m, edges):
        """The point of parts that meet in one: where they are nearest, or deepest."""
        corner, (x, y, z), (dx, dy, dz) = cores.corner, n, cores.apart
        e, f, whose = edges
        if m < 4 or e >= 0:
            if m < 4:
                ax, ay, az, bx, by, bz = witnesses(cores, m)
            else:
                (ax, ay, az), (bx, by, bz), _ = nearest_of_lines(cores, e, f)
            bx, by, bz = bx + dx, by + dy, bz + dz
        else:
            a, b = cores.a, cores.b
            corners = a.corner_end - a.corner <= b.corner_end - b.corner
            if whose == 2 or (whose == 0 and corners):
                i = highest(corner, a.corner, a.corner_end, x, y, z)
                i = cores.room.pick[0, 0] if m == 5 else i
                ax, ay, az = corner[i, 0], corner[i, 1], corner[i, 2]
                bx, by, bz = ax + gap * x, ay + gap * y, az + gap * z
            else:
                i = highest(corner, b.corner, b.corner_end, -x, -y, -z)
                i = cores.room.pick[0, 0] if m == 5 else i
                bx, by, bz = corner[i, 0] + dx, corner[i, 1] + dy, corner[i, 2] + dz
                ax, ay, az = bx - gap * x, by - gap * y, bz - gap * z
        put(cores, 0, n, gap, 0, (ax, ay, az), (bx, by, bz))

    @jit
    def part_points(cores, limit, solid):
        """Write the points of two parts whose gap is below ``limit`` into the room; how many.

        solid: whether it is in 3D. Which of the points in the room they are is in ``kept``, in the
        order of their features.
        """
        a, b = cores.a, cores.b
        reach = limit + a.radius + b.radius
        gap, x, y, z, m, e, f, whose = normal_of(cores, reach, solid)
        if not gap < reach:
            return 0
        n, found = (x, y, z), 0
        if a.corner_end - a.corner > 1 and b.corner_end - b.corner > 1:
            found = points_3d(cores, n, reach, (e, f)) if solid else points_2d(cores, n, reach)
        # Points that miss where the parts are nearest are not those of a face that touches.
        nearest = False
        for k in range(found):
            here = cores.room.gap[k] + a.radius + b.radius
            nearest = nearest or here <= gap + TOUCH * cores.extent
        if not nearest:
            only_point(cores, gap, n, m, (e, f, whose))
            found = 1
        found = four_of(cores, found, n)
        by_name(cores.room, found)
        return found

    @jit
    def by_name(room, count):
        """Sort the points that are kept by their features."""
        for k in range(1, count):
            point, l = room.kept[k], k
            while l > 0 and room.feature[room.kept[l - 1]] > room.feature[point]:
                room.kept[l] = room.kept[l - 1]
                l -= 1
            room.kept[l] = point

    # A plane is met by the face that is most against it, as by any other face. A corner of another
    # face that is no higher by much would take the place of one of these, when four are chosen:
    # think of a thin plate.
    @jit
    def wall_points(bodies, cores, one, w, limit):
        """Like `part_points`, for part ``one`` (body, part) and wall w, a plane or hollow cylinder.

        The points on the wall are relative to the first body's centre too.
        """
        solids, room, part, corner = bodies.solids, cores.room, cores.a, cores.corner
        i, dim = one[0], bodies.position.shape[1]
        flat = bodies.walls.kind[w] == PLANE
        start, count = 0, part.corner_end - part.corner
        face = -1
        if flat and part.face_end > part.face:
            axis = bodies.walls.axis
            ax, ay, az = -axis[w, 0], -axis[w, 1], 0.0
            if dim == 3:
                az = -axis[w, 2]
            face, _ = facing(cores, part, ax, ay, az)
            start = solids.rim_start[face - part.to_face]
            count = solids.rim_start[face - part.to_face + 1] - start
        found, x, y, z = 0, 1.0, 0.0, 0.0
        for k in range(count):
            c = part.corner + k
            if face >= 0:
                c = solids.rim[start + k] + part.to_corner
            for d in range(dim):
                room.site[0, d] = bodies.position[i, d] + corner[c, d]
            gap, x, y, z = wall_gap(room.site, 0, part.radius, bodies.periodic, bodies.walls, w)
            if gap < limit:
                core = gap + part.radius
                p = (corner[c, 0], corner[c, 1], corner[c, 2])
                q = (p[0] + core * x, p[1] + core * y, p[2] + core * z)
                put(cores, found, (x, y, z), core, corner_name(cores, True, c), p, q)
                found += 1
        if flat:
            found = four_of(cores, found, (x, y, z))
        else:
            for k in range(found):
                room.kept[k] = k
        by_name(room, found)
        return found

    return SimpleNamespace(
        cores_of=cores_of, alone=alone, apart_by=apart_by, part_points=part_points,
        wall_points=wall_points, normal_of=normal_of, only_point=only_point, by_name=by_name,
    )  # fmt: skip
