"""Checks of walls against the periodic cell and the grains around them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hardgrain.core.model import SPIN, Floats
from hardgrain.core.wall_kinds import DISK, OUTSIDE, PLANE, RECTANGLE, SEGMENT, TRIANGLE
from hardgrain.errors import InputError
from hardgrain.scene._checks import AXES
from hardgrain.scene.walls import WallRow

__all__ = ["check_holes", "check_images"]


def check_images(periodic: Floats, radius: Floats, walls: Sequence[WallRow]) -> None:
    """Refuse walls of which a grain could touch two images, or that rotate across a period."""
    room = 4.0 * float(radius.max()) if radius.size else 0.0
    for k, period in enumerate(periodic):
        if period == 0.0:
            continue
        for wall in walls:
            along = abs(float(wall.axis[k]))
            if wall.kind == PLANE:
                turns = {drive.axis for drive in wall.drives if drive.what == SPIN}
                if turns - set(np.flatnonzero(wall.axis)) or (turns and periodic.size == 2):
                    raise InputError(
                        f"wall {wall.name!r} turns in a scene that repeats along {AXES[k]};"
                        " leave out its spin or the period"
                    )
                continue
            if wall.kind in (SEGMENT, RECTANGLE, TRIANGLE):
                sides = (wall.axis, wall.side)
                if wall.kind != TRIANGLE and any(
                    abs(a[k]) >= period and np.count_nonzero(a) == 1 for a in sides
                ):
                    continue  # a straight floor has no ends that images could repeat
                ends = np.array([0.0, wall.axis[k], wall.side[k]])
                if wall.kind == RECTANGLE:
                    ends = np.append(ends, wall.axis[k] + wall.side[k])
                width = float(np.ptp(ends)) + room
            elif wall.mesh is not None:
                half = wall.mesh.half
                width = 2.0 * float(np.linalg.norm(half) if wall.turns else half[k]) + room
            elif wall.kind == DISK:
                radius_k = math.sqrt(max(float(wall.axis @ wall.axis) - along**2, 0.0))
                width = 2.0 * radius_k + room
            else:
                width = 2.0 * wall.size * math.sqrt(max(1.0 - along**2, 0.0))
                width += room if wall.kind == OUTSIDE and width > 0.0 else 0.0
            if width > period:
                raise InputError(
                    f"wall {wall.name!r} needs {width:g} along {AXES[k]}, with room for two grains"
                    f" where they can pass it, but scene.periodic.{AXES[k]} spans {period:g}"
                )


def check_holes(radius: Floats, walls: Sequence[WallRow]) -> None:
    """Refuse grains that could sit in a round hole as a stopper, touching the whole rim at once."""
    for wall in walls:
        if wall.kind in (RECTANGLE, DISK) and radius.size and 0.0 < wall.size < radius.max():
            raise InputError(
                f"{wall.at}.hole is {wall.size:g}, but the largest grain has the radius"
                f" {radius.max():g} and would sit in it, on its whole rim, which one contact cannot"
                " carry; make the hole wider, or build it of triangles"
            )
