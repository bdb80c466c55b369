"""Many line segments for Matplotlib: one unit segment, moved and rotated for each.

`matplotlib.collections.LineCollection` makes a path of each line in Python, which at 10⁵ contacts
takes longer than to draw them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.artist import allow_rasterization
from matplotlib.collections import Collection
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from hardgrain.core.model import Floats

__all__ = ["Segments"]


class Segments(Collection):
    """Lines (m, 2, 2) in units of the data, with widths in points."""

    _transforms: Floats

    def __init__(self, **options: Any) -> None:
        super().__init__(offsets=[], **options)
        self._paths = [Path(np.array([[0.0, 0.0], [1.0, 0.0]]))]
        self.set_segments(np.zeros((0, 2, 2)))

    def get_paths(self) -> list[Path]:
        return self._paths

    def set_segments(self, lines: Floats) -> None:
        """Replace all segments."""
        along = lines[:, 1] - lines[:, 0]
        rotation = np.zeros((len(lines), 3, 3))
        rotation[:, 0, 0] = rotation[:, 1, 1] = along[:, 0]
        rotation[:, 1, 0], rotation[:, 0, 1] = along[:, 1], -along[:, 1]
        rotation[:, 2, 2] = 1.0
        self._transforms = rotation
        self.set_offsets(lines[:, 0])

    @allow_rasterization  # type: ignore[untyped-decorator]
    def draw(self, renderer: Any) -> None:
        assert self.axes is not None
        if len(self._transforms) == 0:
            return
        matrix = self.axes.transData.get_affine().get_matrix().copy()
        matrix[:2, 2] = 0.0  # offsets give the position
        self.set_transform(Affine2D(matrix))
        super().draw(renderer)
