"""Mohr's circles as a picture: shear stress over normal stress, on all planes."""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.errors import InputError
from hardgrain.show.style import COLOURS, GREY, colour_map, label, plain_ticks, style, symbols

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

__all__ = ["draw_mohr"]

FEW = 4  # frames that are told apart by a legend; more by a scale of time


def draw_mohr(data: xr.Dataset, title: str = "", units: str = "") -> Figure:
    """Draw the upper halves of the circles of each frame, and the line that touches the steepest.

    Dots are the planes across the axes.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    known, time = symbols(units), data["time"].to_numpy()
    shade = ScalarMappable(Normalize(time.min(), time.max()), colour_map("viridis"))
    turn = np.linspace(0.0, math.pi, 181)
    most = max(0.0, float((data["centre"] + data["radius"]).max()))
    least = min(0.0, float((data["centre"] - data["radius"]).min()))
    high = float(data["radius"].max())
    if most == least:
        raise InputError("there is no stress in these frames, and so no circle; choose others")
    with style():
        # as high as circles with their true proportions need, below a line of title
        wide = 1.05 * (most - least)
        height = max(2.2, 1.2 + 4.6 * 1.25 * high / wide)
        figure = Figure(figsize=(5.6, height), layout="constrained")
        axes = figure.add_subplot()
        for k, moment in enumerate(time):
            one = data.isel(time=k)
            colour = COLOURS[k + 1] if len(time) <= FEW else shade.to_rgba(moment)
            words = f"time {moment:.4g}" if len(time) <= FEW else None
            for j, (centre, radius) in enumerate(zip(one["centre"].values, one["radius"].values)):
                axes.plot(
                    centre + radius * np.cos(turn), radius * np.sin(turn), lw=1.1, color=colour,
                    label=None if j else words,
                )  # fmt: skip
            at = one["normal_stress"].to_numpy(), one["shear_stress"].to_numpy()
            axes.plot(*at, "o", ms=3, color=colour)
            if len(time) == 1:
                dots = np.column_stack(at)
                names = [str(name) for name in one["component"].to_numpy()]
                for j, dot in enumerate(dots):  # planes that share a dot share its label
                    near = np.linalg.norm(dots - dot, axis=1) < wide / 30
                    if not near[:j].any():
                        words = ", ".join(name for name, same in zip(names, near) if same)
                        axes.annotate(words, tuple(dot), (4, 3), textcoords="offset points")
        angle = data["coulomb_angle"].to_numpy()
        if np.isfinite(angle).any():
            steepest = float(np.nanmax(angle))
            reach = np.array([0.0, 1.05 * most])
            words = f"friction angle {math.degrees(steepest):.3g}°"
            axes.plot(reach, math.tan(steepest) * reach, "--", lw=0.9, color=GREY, label=words)
        if len(time) > FEW:
            figure.colorbar(shade, ax=axes, label=label("time", "time", known), fraction=0.05)
        unit = str(data["centre"].attrs["units"])
        axes.set(
            xlabel=label("normal stress", unit, known),
            ylabel=fill(label("shear stress", unit, known), 24),
            aspect="equal", xlim=(most - wide if least < 0.0 else 0.0, least + wide),
            ylim=(0.0, max(1.25 * high, 0.1 * wide)),
        )  # fmt: skip
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", size="medium")
        plain_ticks(figure)
    return figure
