"""Grains that deform, filled by triangles in the colours of a field that varies within them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.measure.visible import Patches
from hardgrain.scene.grain_shape import rows_of

if TYPE_CHECKING:
    from matplotlib.path import Path as Outline

    from hardgrain.show.plane import PlaneView

__all__ = ["Look", "filled"]

# [point] Width of the lines around triangles, in their own colour; without them the ground would
# shine through between two neighbours.
SEAM = 0.5
EDGE = np.array([0.2, 0.2, 0.22])  # colour of the rims of grains that are filled by triangles


class Look(NamedTuple):
    """What is drawn, far things first, with the colours of faces and rims and the widths of rims.

    Colours have an opacity.
    """

    paths: list[Outline]
    face: Floats  # (k, 4)
    rim: Floats  # (k, 4)
    width: Floats  # (k,) [point]


def filled(
    seen: PlaneView, patches: Patches, own: tuple[list[Outline], Floats, Floats, Any], inner: Floats
) -> Look:
    """Outlines of a view, with triangles in the place of the faces of grains that deform.

    ``own`` are the outlines, the colours of their faces and rims (k, 3), and the widths of rims;
    ``inner`` (e, 3) are the colours of the elements.
    """
    paths, face, rim, width = own
    start = np.searchsorted(patches.grain, np.arange(int(seen.grain.max(initial=-1)) + 2))
    row, of = rows_of(start, seen.grain)
    corner = patches.corner[row] + seen.center[of][:, None]
    fade = 0.6 * seen.depth[of, None]
    colour = inner[patches.element[row]]
    colour = _solid(colour + fade * (1.0 - colour))
    soft = np.isin(np.arange(len(paths)), of)
    face, rim = _solid(face), _solid(rim)
    face[soft, 3] = 0.0  # its triangles are seen instead
    rim[soft, :3] = EDGE + 0.6 * seen.depth[soft, None] * (1.0 - EDGE)
    order = np.argsort(np.concatenate([2 * of, 2 * np.arange(len(paths)) + 1]), kind="stable")
    every = [*map(_triangle, corner), *paths]
    return Look(
        [every[k] for k in order], np.concatenate([colour, face])[order],
        np.concatenate([colour, rim])[order],
        np.concatenate([np.full(len(row), SEAM), np.broadcast_to(width, len(paths))])[order],
    )  # fmt: skip


def _solid(colour: Floats) -> Floats:
    return np.pad(colour, ((0, 0), (0, 1)), constant_values=1.0)


def _triangle(corner: Floats) -> Outline:
    from matplotlib.path import Path as Outline

    return Outline(np.concatenate([corner, corner[:1]]), closed=True)
