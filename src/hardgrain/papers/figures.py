"""One look for all figures: data as dots, theory as lines, colours that everyone can tell apart."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "GREY", "new_figure", "plain_ticks", "style"]

# Okabe and Ito: black, blue, vermilion, green, purple, orange, sky blue.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#8a8a8a"

_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "hardgrain",  # the same figure gives the same file
}


def style() -> AbstractContextManager[None]:
    """Within, Matplotlib draws in our style; `hardgrain.papers.reproduce` draws all within."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def new_figure(
    rows: int = 1, columns: int = 1, width: float = 4.6, height: float = 3.4, **subplots: Any
) -> tuple[Figure, Any]:
    """A figure and its axes, as from ``Figure.subplots``; width and height of one panel [inch]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, **subplots)


def plain_ticks(figure: Figure) -> None:
    """Logarithmic axes of less than two decades get ticks at 1, 2 and 5, written plainly."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

    for axes in figure.axes:
        for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
            low, high = sorted(axis.get_view_interval())
            chosen = isinstance(axis.get_major_locator(), FixedLocator)
            if scale == "log" and high < 100.0 * low and not chosen:
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                axis.set_major_formatter(StrMethodFormatter("{x:g}"))
                axis.set_minor_formatter(NullFormatter())
