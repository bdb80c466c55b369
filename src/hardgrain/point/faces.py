"""The axis among the faces of two convex cores that separates them best, and if any is better.

Let q be the corner of one core that is nearest to the plane of a face of the other, and p the point
of that plane next to q.

Cores apart: if p lies in the face, the distance of the cores is |q − p|, as it can never be below a
separation.

Cores that overlap by δ: let p lie inside the face by ρ, so that the face holds a disk around it.
Along an axis at the angle θ to the normal n of the face the cores overlap by δ cos θ + ρ sin θ at
least. This is no less than δ up to θ = 90°, if ρ ≥ δ, and beyond as far as tan (θ'/2) ≥ δ/ρ, with
θ' = 180° − θ. There is left θ' ≤ 2 δ/ρ. With D the vector from some corner of the first core to one
of the second they overlap by n·D cos θ' − |D| sin θ' too, which is no less than n·D − 3/2 |D| θ'.
So all of it is no less than δ, and no axis of edges better than the face, if

    ρ ≥ 3 δ |D| / (n·D − δ),

which is more than δ, since |D| ≥ n·D. The corners that are farthest from each other are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.distance import make_distance
from hardgrain.point.frame import make_frame

# [extent] By so much an axis must be better than one that was tried before: a face later than
# another face, an edge pair later than a face. Rounding would else change the axis from step to
# step. The overlap is too large by at most so much.
BETTER = 1e-11

# [extent] Corners of which one is farther from a plane by less are as near to it: some roundings.
# With more, the point below such a corner would miss the face by as much.
SAME = 2e-15


@cache
def make_faces(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile the search among faces with ``jit``."""
    cross, highest = make_frame(jit).cross, make_distance(jit).highest

    # The corner of one part that is nearest on the best axis so far shows of most other faces of
    # the other part, at the cost of one corner, that they are no better. The first such corners are
    # those along the line of the centres, which separates many parts itself.
    @jit
    def face_axis(cores, limit):
        """Best axis among faces: separation, axis, whether it is of a (1), b (2) or none, its row.

        The search ends with the first axis along which the parts are ``limit`` apart.
        """
        c, n, a, b = cores.corner, cores.normal, cores.a, cores.b
        dx, dy, dz = cores.apart
        tie = BETTER * cores.extent
        best, bx, by, bz, whose, face = -math.inf, 1.0, 0.0, 0.0, 0, -1
        near = highest(c, b.corner, b.corner_end, -dx, -dy, -dz)
        own = highest(c, a.corner, a.corner_end, dx, dy, dz)
        along = dx * (c[near, 0] - c[own, 0]) + dy * (c[near, 1] - c[own, 1])
        along += dz * (c[near, 2] - c[own, 2])
        square = dx * dx + dy * dy + dz * dz
        if along + square > 0.0 and (along + square) ** 2 >= limit * limit * square:
            length = math.sqrt(square)
            s = along / length + length
            if s >= limit:  # rounding may say otherwise than the squares
                return s, dx / length, dy / length, dz / length, 0, -1
        px, py, pz = c[near, 0] + dx, c[near, 1] + dy, c[near, 2] + dz
        for f in range(a.face, a.face_end):
            x, y, z, low = n[f, 0], n[f, 1], n[f, 2], n[f, 3]
            if px * x + py * y + pz * z - low <= best + tie:
                continue
            j = highest(c, b.corner, b.corner_end, -x, -y, -z)
            s = c[j, 0] * x + c[j, 1] * y + c[j, 2] * z - (low - (dx * x + dy * y + dz * z))
            if s > best + tie:
                best, bx, by, bz, whose, face = s, x, y, z, 1, f
                px, py, pz = c[j, 0] + dx, c[j, 1] + dy, c[j, 2] + dz
                own = cores.outline.rim[cores.outline.rim_start[f - a.to_face]] + a.to_corner
                if best >= limit:
                    return best, bx, by, bz, whose, face
        px, py, pz = c[own, 0] - dx, c[own, 1] - dy, c[own, 2] - dz
        for f in range(b.face, b.face_end):
            x, y, z, low = n[f, 0], n[f, 1], n[f, 2], n[f, 3]
            if px * x + py * y + pz * z - low <= best + tie:
                continue
            j = highest(c, a.corner, a.corner_end, -x, -y, -z)
            s = c[j, 0] * x + c[j, 1] * y + c[j, 2] * z - (low + (dx * x + dy * y + dz * z))
            if s > best + tie:
                best, bx, by, bz, whose, face = s, -x, -y, -z, 2, f
                px, py, pz = c[j, 0] - dx, c[j, 1] - dy, c[j, 2] - dz
                if best >= limit:
                    return best, bx, by, bz, whose, face
        return best, bx, by, bz, whose, face

    @jit
    def inset(cores, axis):
        """How far inside a face p must be so that no other axis is better [length]."""
        gap, x, y, z, _, _ = axis
        if gap > 0.0:
            return 0.0
        c, a, b = cores.corner, cores.a, cores.b
        dx, dy, dz = cores.apart
        i = highest(c, a.corner, a.corner_end, -x, -y, -z)
        j = highest(c, b.corner, b.corner_end, x, y, z)
        dx, dy, dz = c[j, 0] + dx - c[i, 0], c[j, 1] + dy - c[i, 1], c[j, 2] + dz - c[i, 2]
        along = dx * x + dy * y + dz * z + gap
        if along <= 0.0:
            return math.inf
        return -gap * 3.0 * math.sqrt(dx * dx + dy * dy + dz * dz) / along

    @jit
    def above_face(cores, axis, solid):
        """Whether the separation along the axis of a face is the distance or depth of the cores.

        axis: what `face_axis` gave; solid: whether it is in 3D. The corner q is left in the room.
        """
        gap, x, y, z, whose, face = axis
        c, rim, start = cores.corner, cores.outline.rim, cores.outline.rim_start
        part, other, sign = (cores.a, cores.b, 1.0) if whose == 1 else (cores.b, cores.a, -1.0)
        x, y, z = sign * x, sign * y, sign * z
        dx, dy, dz = cores.apart
        dx, dy, dz = sign * dx, sign * dy, sign * dz
        at, end = start[face - part.to_face], start[face - part.to_face + 1]
        i = rim[at] + part.to_corner
        high = c[i, 0] * x + c[i, 1] * y + c[i, 2] * z + gap + SAME * cores.extent
        inside = inset(cores, axis)
        for q in range(other.corner, other.corner_end):
            px, py, pz = c[q, 0] + dx, c[q, 1] + dy, c[q, 2] + dz
            if px * x + py * y + pz * z > high:
                continue
            above = True
            for k in range(at, end):
                i = rim[k] + part.to_corner
                j = rim[k + 1 if k + 1 < end else at] + part.to_corner
                ex, ey, ez = c[j, 0] - c[i, 0], c[j, 1] - c[i, 1], c[j, 2] - c[i, 2]
                if solid:
                    ex, ey, ez = cross(x, y, z, ex, ey, ez)  # inwards; in 2D to the other end
                t = ex * (px - c[i, 0]) + ey * (py - c[i, 1]) + ez * (pz - c[i, 2])
                if t < 0.0 or t * t < inside * inside * (ex * ex + ey * ey + ez * ez):
                    above = False
                    break
            if above:
                cores.room.pick[0, 0] = q
                return True
        return False

    return SimpleNamespace(face_axis=face_axis, above_face=above_face)
