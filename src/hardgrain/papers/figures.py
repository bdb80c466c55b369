"""Figures of all papers have the look of `hardgrain.show.style`."""

from __future__ import annotations

from hardgrain.show.style import COLOURS, GREY, new_figure, plain_ticks, style

__all__ = ["COLOURS", "GREY", "new_figure", "plain_ticks", "style"]
