"""The laws of dense flows as lines, words and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardgrain.papers.figures import COLOURS, GREY, new_figure
from hardgrain.papers.fit import Floats

__all__ = [
    "DENSITY",
    "FITTED",
    "FRICTION",
    "WHOLE",
    "Line",
    "drawn",
    "fitted",
    "line",
    "other_ways",
    "told",
]

Table = dict[str, Any]

# [1] I between which straight lines are fitted: below, friction no longer falls with I as a line
# does, and above it no longer rises so.
FITTED = (0.01, 0.2)
WHOLE = (6e-4, 0.2)  # with slow flows, of soft disks [1]
# The paper's laws and half a unit of the last digit that it prints, within which we read them.
FRICTION = (0.25, 1.1), (0.005, 0.05)
DENSITY = (0.81, -0.3), (0.005, 0.05)


@dataclass(frozen=True)
class Line:
    """The fit y = at_rest + slope × I, with errors of both."""

    at_rest: float
    slope: float
    at_rest_error: float
    slope_error: float

    def __call__(self, x: Floats) -> Floats:
        return self.at_rest + self.slope * x


def line(x: Floats, y: Floats, error: Floats) -> Line:
    """A straight line through points with errors, or with their scatter where that is larger."""
    (slope, at_rest), cov = np.polyfit(x, y, 1, w=1.0 / error, cov="unscaled")
    off = (y - at_rest - slope * x) / error
    if x.size > 2:
        cov = cov * max(1.0, float(off @ off) / (x.size - 2))
    return Line(at_rest, slope, math.sqrt(cov[1, 1]), math.sqrt(cov[0, 0]))


def fitted(table: Table, field: str, between: tuple[float, float] = FITTED) -> Line:
    """The straight line through the I of the dense regime, or between others."""
    low, high = between
    use = (table["I"] >= low) & (table["I"] <= high)
    return line(table["I"][use], table[field][use], table[f"{field}_error"][use])


def _slow(table: Table) -> Table:
    slow = table["I"] < FITTED[0]
    return {k: v[slow] for k, v in table.items()}


def told(table: Table, between: tuple[float, float] = FITTED) -> str:
    """The two fitted lines, in words."""
    mu, phi = fitted(table, "friction", between), fitted(table, "density", between)
    return (
        f"µ* = {mu.at_rest:.3f}(±{mu.at_rest_error:.3f}) + {mu.slope:.2f}(±{mu.slope_error:.2f}) I"
        f" and φ = {phi.at_rest:.4f}(±{phi.at_rest_error:.4f})"
        f" − {-phi.slope:.2f}(±{phi.slope_error:.2f}) I"
    )


def _points(table: Table) -> str:
    """Frictions one by one, in words."""
    return ", ".join(
        f"{mu:.3f}(±{error:.3f}) at I = {at:.2g}"
        for at, mu, error in zip(table["I"], table["friction"], table["friction_error"])
    )


def other_ways(tables: dict[str, Table]) -> str:
    """What soft disks and walls say, in words."""
    return OTHERS.format(
        soft=told(tables["soft"]),
        walls=_points(tables["walls"]),
        slow=_points(_slow(tables["soft"])),
        whole=told(tables["soft"], WHOLE),
        first=WHOLE[0],
        last=WHOLE[1],
    )


def drawn(tables: dict[str, Table]) -> Any:
    figure, axes = new_figure(columns=2)
    names = {"rheology": "rigid disks", "soft": "soft disks", "walls": "rigid, between walls"}
    most = max(float(table["I"][-1]) for table in tables.values())
    x = np.linspace(0.0, most, 50)
    for axis, field, (values, _), label in (
        (axes[0], "friction", FRICTION, r"effective friction $\mu^*$"),
        (axes[1], "density", DENSITY, r"packing fraction $\phi$"),
    ):
        axis.plot(x, values[0] + values[1] * x, color=GREY, ls=":", label="da Cruz et al.")
        for k, (name, words) in enumerate(names.items(), start=1):
            if field in tables.get(name, {}):
                table = tables[name]
                y, error = table[field], table[f"{field}_error"]
                axis.errorbar(table["I"], y, error, fmt="osv"[k - 1], ms=4, color=COLOURS[k],
                              label=words)  # fmt: skip
        axis.plot(x, fitted(tables["rheology"], field)(x), color=COLOURS[1], lw=0.8)
        axis.set(xlabel=r"$I = \dot\gamma \sqrt{m/P}$", ylabel=label)
    axes[0].legend()
    return figure


OTHERS = """

Two other ways to the same numbers. Soft disks with the paper's stiffness, k = 10⁴ P, in the same
cell, made by explicit steps of springs and dashpots: {soft} between the same I. With slow flows,
from I = {first:g} to {last:g}, they have {whole}, and µ* = {slow}. Rigid
disks between rough walls, as the paper has them, with I read off their middle: µ* = {walls}.

The friction of a flow bends: it hardly changes below I = 0.003, rises fastest after that, and more
slowly above 0.1. So the numbers of a straight line depend on the flows that it goes through; one
that begins at I = 0.01 lies above the friction of slow flows at I = 0."""
