"""Which edges of two convex cores span a face of their difference.

At an edge two faces meet, and the normals of all planes that touch the core there make an arc on
the sphere, from the normal of one face to that of the other. Two edges span a face of the
difference B − A if the arc of one crosses that of the other, turned round (Gregorius, GDC 2013).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from hardgrain.point.frame import make_frame

# Cosine of the angle of two normals above which their arc is nearly half a circle, so that rounding
# decides where it runs.
OPPOSITE = -0.999999
# Squared sine of the angle of two edges above which their separation is known to `BETTER` without
# any care. With less, rounding would decide which pairs are left out; with more, fewer are.
APART = 1e-4


@cache
def make_arcs(jit: Callable[..., Any]) -> SimpleNamespace:
    """Compile arcs of normals with ``jit``."""
    cross = make_frame(jit).cross

    @jit
    def arc_of(cores, part, e):
        """Rows of the normals of both faces at an edge; −1: it has none, or they are opposite."""
        faces, n = cores.outline.edge_face, cores.normal
        if faces[e, 0] < 0 or faces[e, 1] < 0:
            return -1, -1
        i, j = faces[e, 0] + part.to_face, faces[e, 1] + part.to_face
        if n[i, 0] * n[j, 0] + n[i, 1] * n[j, 1] + n[i, 2] * n[j, 2] < OPPOSITE:
            return -1, -1
        return i, j

    @jit
    def arcs_cross(cores, one, two, px, py, pz):
        """Whether the arcs of two edges cross: 1, 0, or −1: unknown.

        With normals A, B of the faces at the first edge and C, D of those at the second, turned
        round, the arcs cross if C and D are on different sides of the plane of A and B, and A and B
        on different sides of that of C and D, and both arcs are on the same half of the sphere.
        (px, py, pz) is B × A.
        """
        n, (i, j), (k, l) = cores.normal, one, two
        if i < 0 or k < 0:
            return -1
        c = -(n[k, 0] * px + n[k, 1] * py + n[k, 2] * pz)
        d = -(n[l, 0] * px + n[l, 1] * py + n[l, 2] * pz)
        if c * d >= 0.0:
            return 0
        qx, qy, qz = cross(n[l, 0], n[l, 1], n[l, 2], n[k, 0], n[k, 1], n[k, 2])
        s = n[i, 0] * qx + n[i, 1] * qy + n[i, 2] * qz
        t = n[j, 0] * qx + n[j, 1] * qy + n[j, 2] * qz
        return 1 if s * t < 0.0 and c * t > 0.0 else 0

    # With N = e × f the separation is N·r/|N|, no better than `best` if N·r < (best − tie) |N|,
    # rounding included, unless the edges are nearly parallel. So most pairs need no unit vector.
    @jit
    def worse(e, f, r, out, best, tie):
        """Whether two edges that span a face of the difference clearly separate less than ``best``.

        e, f: along the edges; r: from a point of the first to one of the second; out: a direction
        along which the normal of their face points.
        """
        x, y, z = cross(e[0], e[1], e[2], f[0], f[1], f[2])
        square = x * x + y * y + z * z
        ee, ff = e[0] ** 2 + e[1] ** 2 + e[2] ** 2, f[0] ** 2 + f[1] ** 2 + f[2] ** 2
        if square < APART * ee * ff:
            return False
        s = x * r[0] + y * r[1] + z * r[2]
        if x * out[0] + y * out[1] + z * out[2] < 0.0:
            s = -s
        least = best - tie
        if least >= 0.0:
            return s < 0.0 or s * s < least * least * square
        return s < 0.0 and s * s > least * least * square

    return SimpleNamespace(arc_of=arc_of, arcs_cross=arcs_cross, worse=worse)
