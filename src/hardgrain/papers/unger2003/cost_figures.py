"""Pictures of the cost of a rigid step."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats, PowerLawFit, power_law
from hardgrain.papers.unger2003.cost_loads import COLUMN
from hardgrain.papers.unger2003.cost_relaxation import FIXED, TOLERANCES
from hardgrain.papers.unger2003.cost_series import NAMES, Every, Series

__all__ = ["arrival_figure", "depth_figure", "residual_figure", "work_figure"]

LOOKS = {  # colour, marker, face
    ("chain", "piston"): (COLOURS[0], "o", COLOURS[0]),
    ("chain", "gravity"): (COLOURS[0], "s", "white"),
    ("2D", "piston"): (COLOURS[1], "o", COLOURS[1]),
    ("2D", "gravity"): (COLOURS[1], "s", "white"),
    ("3D", "piston"): (COLOURS[2], "o", COLOURS[2]),
    ("3D", "gravity"): (COLOURS[2], "s", "white"),
}


def _drawn(series: Every) -> list[tuple[tuple[str, str], Series]]:
    return [(key, series[key]) for key in LOOKS if key in series]


def _dots(axes: Any, x: Floats, y: Floats, look: tuple[str, str, str], label: str) -> None:
    colour, marker, face = look
    axes.loglog(x, y, marker, color=colour, mfc=face, mew=0.8, label=label)


def _line(axes: Any, fit: PowerLawFit, x: Floats, colour: str) -> None:
    ends = np.array([x.min() / 1.15, x.max() * 1.15])
    axes.loglog(ends, fit.predict(ends), color=colour, lw=0.8)


def _fitted(axes: Any, x: Floats, y: Floats, key: tuple[str, str], symbol: str) -> None:
    fit = power_law(x, y)
    error = f" ± {fit.exponent_error:.2f}" if fit.exponent_error >= 0.005 else ""
    _dots(axes, x, y, LOOKS[key], f"{NAMES[key]}: {symbol}$^{{{fit.exponent:.2f}{error}}}$")
    _line(axes, fit, x, LOOKS[key][0])


def arrival_figure(series: Every) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key, s in _drawn(series):
        _fitted(left, s.length, s.arrival(), key, "$L$")
        if s.cold().size:
            _fitted(right, s.length, s.cold(), key, "$L$")
    for axes, title in ((left, "from the forces under the old load"), (right, "from no forces")):
        axes.set(xlabel="$L/d$", title=title)
        if axes.lines:
            axes.legend()
    left.set_ylabel("sweeps until 99 % of the load has arrived")
    return figure


def residual_figure(series: Every) -> Any:
    keys = (("chain", "piston"), ("2D", "gravity"), ("3D", "gravity"))
    figure, panels = new_figure(1, 3, width=3.6, height=3.8, sharey=True)
    for axes, key in zip(panels, keys):
        s = series[key]
        for k, tolerance in enumerate(TOLERANCES):
            label = f"residual {tolerance:g}"
            look = (COLOURS[k + 1], "o", COLOURS[k + 1])
            _dots(axes, s.length, s.residual(tolerance), look, label)
        _dots(axes, s.length, s.arrival(), (COLOURS[0], "s", "white"), "99 % arrived")
        _line(axes, power_law(s.length, s.arrival()), s.length, COLOURS[0])
        axes.set(xlabel="$L/d$", title=NAMES[key])
        axes.xaxis.set_minor_formatter("")
    panels[0].set_ylabel("sweeps")
    panels[0].legend()
    return figure


def work_figure(series: Every) -> Any:
    figure, (left, right) = new_figure(1, 2, height=3.8)
    for key, s in _drawn(series):
        _fitted(left, s.grains, s.contacts * s.arrival(), key, "$n$")
        if key[0] != "chain":
            _fitted(right, s.grains, FIXED * s.seconds(), key, "$n$")
    left.set(xlabel="grains $n$", ylabel="contact updates a step", title="until 99 % has arrived")
    right.set(xlabel="grains $n$", ylabel="CPU time a step [s]", title=f"constant $N_I$ = {FIXED}")
    for axes in (left, right):
        axes.legend()
    return figure


def depth_figure(series: Every) -> Any:
    figure, axes = new_figure(width=7.0, height=4.0)
    without, walls = series["without", "gravity"], series["walls", "gravity"]
    for s, name, face in ((without, "no side walls", None), (walls, "rough walls", "white")):
        for y, colour, what in (
            (s.arrival(), COLOURS[0], "99 % arrived"),
            (s.arrival(0.1), COLOURS[1], "90 % arrived"),
            (s.residual(1e-4), COLOURS[3], "residual 10⁻⁴"),
            (s.residual(1e-3), COLOURS[2], "residual 10⁻³"),
        ):
            look = (colour, "s" if face else "o", face or colour)
            _dots(axes, s.length, y, look, f"{what}, {name}")
    fit = power_law(without.length, without.arrival())
    _line(axes, fit, without.length, COLOURS[0])
    axes.axvline(COLUMN["width"], color=GREY, lw=0.8, ls=":")
    axes.annotate(" width", (COLUMN["width"], 1.2), color=GREY, fontsize=8)
    axes.set(xlabel="$H/d$", ylabel="sweeps", title="columns under gravity, 10 diameters wide")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
