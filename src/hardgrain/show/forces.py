"""Pictures of what is possible in a packing: its force network by indeterminacy, and histograms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.forces.bounds import Bounds
from hardgrain.forces.space import ForceSpace
from hardgrain.io.runfile import RunFile
from hardgrain.run.simulation import Simulation
from hardgrain.show.network import KNOWN, UNBOUNDED, draw_network
from hardgrain.show.network_look import Shade
from hardgrain.show.style import save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_histograms", "draw_indeterminacy", "indeterminacy"]

# [unit of force] a smaller indeterminacy is zero, up to the accuracy of linear programs
NONE = 1e-6
NORMAL, TANGENT, RANGE = "#0072b2", "#d55e00", "#c9c4b8"
WEIGHT = r"\bar{m}g"  # the unit of force, in formulas


def indeterminacy(space: ForceSpace, bounds: Bounds) -> tuple[Floats, Floats]:
    """The ranges δ_R and δ_T of each contact (m,) [unit of force], exactly 0 if determined.

    In 3D δ_T is the diagonal of the box that holds the tangential force.
    """
    width = (bounds.high - bounds.low) / space.packing.unit
    width[width < NONE] = 0.0
    return width[:, 0], np.linalg.norm(width[:, 1:], axis=1)


def draw_indeterminacy(
    source: Simulation | RunFile | str | Path,
    space: ForceSpace,
    bounds: Bounds,
    frame: int = -1,
    path: str | Path | None = None,
    unit: str = WEIGHT,
) -> Figure:
    """Draw the force network, as wide as the force found and in the colour of δ_R."""
    value, label = (
        indeterminacy(space, bounds)[0],
        rf"range of the normal force, $\delta_R / {unit}$",
    )
    shade = Shade(space.packing, value, label, "determined", "without bound")
    return draw_network(source, frame, path, shade)


def draw_histograms(
    space: ForceSpace, bounds: Bounds, path: str | Path | None = None, unit: str = WEIGHT
) -> Figure:
    """Draw four panels: the range of each normal force; δ_R and δ_T; where forces are in their
    ranges; δ_R against the force."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(9.6, 6.8), layout="constrained")
        (ranges, places), (widths, chains) = figure.subplots(2, 2)
        _ranges(ranges, space, bounds, unit)
        _places(places, space, bounds)
        _widths(widths, space, bounds, unit)
        _chains(chains, space, bounds, unit)
        if path is not None:
            save(figure, path, 160.0)
    return figure


def _ranges(axes: Axes, space: ForceSpace, bounds: Bounds, unit: str) -> None:
    """Draw bars from R_min to R_max, in the order of the forces found."""
    found, low, high = (
        a / space.packing.unit
        for a in (space.packing.components[:, 0], bounds.normal_min, bounds.normal_max)
    )
    order = np.argsort(found, kind="stable")
    place, found, low, high = np.arange(order.size), found[order], low[order], high[order]
    wedged = np.isinf(high)
    high = np.where(wedged, 1.05 * np.append(high[~wedged], found).max(), high)
    thick = float(np.clip(260.0 / order.size, 0.25, 3.0))
    axes.vlines(place, low, high, color=RANGE, linewidth=thick)
    axes.plot(place, found, ".", color=NORMAL, markersize=3.0, label="found")
    if wedged.any():
        axes.plot(place[wedged], high[wedged], "^", color=UNBOUNDED, ms=4.0, label="without bound")
        axes.legend()
    axes.set(
        xlabel="contacts, by the force found",
        ylabel=rf"normal force $R / {unit}$",
        title="what each force could be, and what it is",
        xlim=(-1, order.size),
        ylim=(0.0, 1.1 * float(high.max()) or 1.0),
    )


def _places(axes: Axes, space: ForceSpace, bounds: Bounds) -> None:
    """Draw distributions of R_* and T_*, (39) of McNamara and Herrmann, without determined forces.

    R_* = (R − R_min)/(R_max − R_min), and T_* likewise.
    """
    edges = np.linspace(0.0, 1.0, 21)
    width = bounds.high - bounds.low
    some = np.isfinite(width) & (width > NONE * space.packing.unit)
    place = (space.packing.components - bounds.low) / np.where(some, width, 1.0)
    kinds = (("normal force", NORMAL, slice(0, 1)), ("tangential", TANGENT, slice(1, None)))
    for name, colour, e in kinds:
        _stairs(axes, np.clip(place[:, e][some[:, e]], 0.0, 1.0), edges, colour, name)
    axes.set(
        xlabel="(force − least possible) / (greatest − least possible)",
        ylabel="probability density",
        title="where in its range each force is",
        xlim=(0.0, 1.0),
        ylim=(0.0, None),
    )
    axes.legend()


def _widths(axes: Axes, space: ForceSpace, bounds: Bounds, unit: str) -> None:
    """Draw distributions of δ_R and δ_T, and say in words how many are zero."""
    both = indeterminacy(space, bounds)
    some = [d[np.isfinite(d) & (d > 0.0)] for d in both]
    top = float(np.concatenate(some).max(initial=0.0)) or 1.0
    edges = np.linspace(0.0, top, 25)
    for name, colour, d, shown in zip("RT", (NORMAL, TANGENT), both, some):
        label = rf"$\delta_{name}$ (none: {np.mean(d == 0.0):.0%} of the contacts)"
        _stairs(axes, shown, edges, colour, label)
    axes.set(
        xlabel=rf"local indeterminacy $\delta / {unit}$",
        ylabel="probability density",
        title="how much each force is left open",
        xlim=(0.0, top),
        yscale="log" if any(d.size for d in some) else "linear",
    )
    axes.legend()


def _chains(axes: Axes, space: ForceSpace, bounds: Bounds, unit: str) -> None:
    """Draw δ_R against R: are force chains also chains of indeterminacy?"""
    found = space.packing.components[:, 0] / space.packing.unit
    width, mean = indeterminacy(space, bounds)[0], float(found.mean())
    axes.axvline(mean, color=KNOWN, lw=0.8, ls="--", label=rf"mean, {mean:.3g} ${unit}$")
    shown, faint = np.isfinite(width), float(np.clip(300.0 / found.size, 0.2, 0.8))
    axes.plot(found[shown], width[shown], ".", color="#333333", markersize=3.0, alpha=faint)
    axes.set(
        xlabel=rf"normal force found, $R / {unit}$",
        ylabel=rf"$\delta_R / {unit}$",
        title="strong and weak contacts",
        xlim=(0.0, None),
        ylim=(0.0, None),
    )
    axes.legend()


def _stairs(axes: Axes, values: Floats, edges: Floats, colour: str, label: str) -> None:
    """Draw a probability density; empty bins leave gaps."""
    count = np.histogram(values, edges)[0]
    density = np.where(count > 0, count / max(values.size, 1) / np.diff(edges), np.nan)
    axes.stairs(density, edges, color=colour, linewidth=1.4, label=label)
