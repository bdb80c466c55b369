"""One look for all figures: one size of type, data as dots, theory as lines, colours for all eyes.

Maps have even steps of lightness, so that colour-blind readers and prints show them well. Labels
name their unit in words, or by the symbols that a scenario gives in its ``units``.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.io.whole import check_target, whole

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS", "DPI", "GREY", "INK", "check", "colour_map", "diverging", "label", "new_figure",
    "plain_ticks", "save", "style", "symbols",
]  # fmt: skip

# Okabe and Ito: black, blue, vermilion, green, purple, orange, sky blue.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#8a8a8a"
INK = "#1d2125"  # colour of text and axes
POINT = 9.0  # [point] size of all type
DPI = 200.0  # [1/inch] resolution unless a figure needs another
KINDS = ("png", "pdf", "svg", "eps", "jpg", "webp", "tif")

_STYLE: Any = {
    **{f"{what}.color": INK for what in ("text", "xtick", "ytick")},
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "font.size": POINT,
    **{f"axes.{what}size": POINT for what in ("label", "title")},
    **{f"{axis}tick.labelsize": POINT for axis in "xy"},
    "legend.frameon": False,
    "legend.fontsize": POINT,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
    "axes.formatter.limits": (-4, 5),
    "pdf.fonttype": 42,  # type that editors can read
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "hardgrain",  # the same figure gives the same file
}


def style() -> AbstractContextManager[None]:
    """Let Matplotlib draw in our style within this context."""
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


def check(path: str | Path) -> str:
    """The kind of picture that a file name asks for; an unknown one is refused at once."""
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(f"{path} does not end in a known kind of picture; use .png, .pdf or .svg")
    check_target(path)
    return kind


def save(figure: Figure, path: str | Path, dpi: float | None = None) -> None:
    """Write a figure, whole or not at all; an error says in a sentence why it cannot be written."""
    path, kind = Path(path), check(path)
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with whole(path) as part, style():
        figure.savefig(part, dpi=dpi or max(DPI, figure.get_dpi()), format=kind, metadata=stamp)


# ---------------------------------------------------------------------- colours
def colour_map(name: str, part: tuple[float, float] = (0.0, 1.0)) -> Colormap:
    """A part of one of Matplotlib's colour maps."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(*part, 256)))


def diverging() -> Colormap:
    """A map from blue over grey to vermilion, without white, so that it is seen on pale grains."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("friction", [COLOURS[1], "#a9a498", COLOURS[2]])


# ---------------------------------------------------------------------- units
_SI = {
    "length": "m", "time": "s", "mass": "kg", "force": "N", "energy": "J", "stress": "Pa",
    "pressure": "Pa", "speed": "m/s", "velocity": "m/s", "torque": "N m", "power": "W",
}  # fmt: skip


def symbols(units: str) -> dict[str, str]:
    """Units that a scenario names: {"length": "mm"} for "length: mm", and the SI units for "SI".

    They may have several words, as in "length: mean grain diameter; time: period of the motor".
    """
    if re.match(r"\s*SI\b", units):
        return _SI
    pairs = (part.partition(mark) for part in re.split(r"[,;]", units) for mark in ":=")
    named = {word.strip(): symbol.strip() for word, _, symbol in pairs}
    return {word: symbol for word, symbol in named.items() if word in _SI and symbol}


def label(name: str, unit: str = "", known: dict[str, str] | None = None) -> str:
    """The label of an axis, such as "velocity [length/time]"; pure numbers have no brackets."""
    words = unit

    def named(word: re.Match[str]) -> str:
        symbol = (known or {}).get(word[0], word[0])
        alone = word[0] == words or re.fullmatch(r"[^\W\d]+", symbol)
        return symbol if alone else f"({symbol})"

    unit = re.sub(r"[^\W\d]+", named, unit)
    unit = re.sub(r"\^(\d)", lambda power: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(power[1])], unit)
    return (
        name if unit in ("", "1", "none", "count") or name == words == unit else f"{name} [{unit}]"
    )
