"""The kinds of walls, as numbers in flat arrays and kernels.

Walls are rows of flat arrays in the world frame:

=========  ==================  ==================================  ================
kind       what                point (w, dim) [length]             axis (w, dim)
=========  ==================  ==================================  ================
PLANE      half-space          any point of the surface            unit normal into the free space
SEGMENT    finite line (2D)    first end                           second end − first end [length]
INSIDE     hollow cylinder     any point of the axis (2D: centre)  unit vector along it (2D: none)
OUTSIDE    solid cylinder      the same                            the same
RECTANGLE  flat (3D)           a corner                            first side from there [length]
TRIANGLE   flat (3D)           a corner                            first side from there [length]
DISK       flat (3D)           centre                              normal, as long as the radius
MESH       triangles (3D)      middle of their box                 half its first side [length]
CELL       the periodic cell   none                                none
=========  ==================  ==================================  ================

and side (w, dim), the second side of a rectangle or triangle from its corner [length]; size (w,),
the radius of a cylinder, or of the round hole in the middle of a rectangle or disk [length]. What
does not apply is zero. A circle in 2D is a cylinder along z. Segments and the flat walls of 3D have
no thickness and two faces.

The cell that deforms is one more body, with a row among the walls; no grain ever touches it
(`hardgrain.core.cell`).

Of a mesh these rows hold a box around it: side is half of its second side, size half the length of
the third one. Its triangles are in `hardgrain.core.meshes`.

Run files hold these numbers: a new kind goes to the end.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CELL", "DISK", "FLAT", "INSIDE", "KINDS", "MESH", "OUTSIDE", "PLANE", "RECTANGLE", "ROUND",
    "SEGMENT", "TRIANGLE", "Walls",
]  # fmt: skip

KINDS = 9  # number of kinds; run files hold them as numbers, so new ones come last
PLANE, SEGMENT, INSIDE, OUTSIDE, RECTANGLE, TRIANGLE, DISK, MESH, CELL = range(KINDS)

ROUND = (INSIDE, OUTSIDE)  # cylinders, and circles in 2D
FLAT = (RECTANGLE, TRIANGLE, DISK)  # walls of 3D that have an edge


class Walls(NamedTuple):
    """Walls as compiled functions read them, one row each; see above."""

    kind: NDArray[np.int32]  # (w,)
    point: NDArray[np.float64]  # (w, dim)
    axis: NDArray[np.float64]  # (w, dim)
    size: NDArray[np.float64]  # (w,)
    side: NDArray[np.float64]  # (w, dim)
