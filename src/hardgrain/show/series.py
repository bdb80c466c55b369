"""Quantities over time: columns of a run's history, and small measurements frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.core.wall_kinds import CELL
from hardgrain.errors import InputError
from hardgrain.io.runfile import RunFile
from hardgrain.run.scenario import stored_scenario
from hardgrain.run.summary import CONVERGED
from hardgrain.show.style import COLOURS, GREY, label, new_figure, plain_ticks, style, symbols

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLUMNS",
    "Curve",
    "Panel",
    "column",
    "curve_name",
    "draw_panels",
    "energy",
    "measured",
    "rigidity",
    "solver",
    "walls",
]

MOST = 1600  # [points] longer curves are drawn by the least and the greatest value of each stretch
COLUMN = 5  # [panels] most above each other; more get two columns
DECADES = 3.0  # [decades] a positive quantity that spans more gets a logarithmic axis

# Unit and meaning of the columns of a run's history.
COLUMNS: dict[str, tuple[str, str]] = {
    "sweeps": ("1", "sweeps"),
    "converged": ("1", "criterion met"),
    "residual": ("1", "residual"),
    "residual_rms": ("1", "residual, root mean square"),
    "candidates": ("1", "contact candidates"),
    "loaded": ("1", "contacts that bear a force"),
    "worst_overlap": ("length", "worst overlap"),
    "mean_overlap": ("length", "mean overlap"),
    "fastest": ("length/time", "speed of the fastest grain"),
    "kinetic": ("energy", "kinetic energy"),
    "work_external": ("energy", "external work in a step"),
    "work_driven": ("energy", "work of driven bodies in a step"),
    "dissipated": ("energy", "dissipation in a step"),
    "created": ("energy", "energy created in a step"),
    "elastic": ("energy", "elastic energy"),
    "settled": ("1", "geometry at the end found"),
    "grains": ("1", "number of grains"),
    "mass": ("mass", "mass of the grains"),
    "inserted": ("1", "grains that came in before a step"),
    "removed": ("1", "grains taken out before a step"),
    "waited": ("1", "grains that came in late, for want of room"),
    "mass_inserted": ("mass", "mass that came in"),
    "mass_removed": ("mass", "mass taken out"),
    "kinetic_inserted": ("energy", "kinetic energy that came in"),
    "kinetic_removed": ("energy", "kinetic energy taken out"),
    "potential_inserted": ("energy", "potential energy that came in"),
    "potential_removed": ("energy", "potential energy taken out"),
    "elastic_removed": ("energy", "elastic energy taken out"),
    "speed": ("length/time", "root-mean-square speed of what bears a force"),
    "network_grains": ("1", "grains in the largest cluster"),
    "network_length": ("length", "length of the largest cluster"),
    "network_diffusion_length": ("length", "diffusion length"),
    "network_sound_speed": ("length/time", "sound speed"),
    "network_frequency": ("1/time", "slowest mode ω"),
    "network_damping_time": ("time", "its damping time τ"),
    "network_stiffness": ("force/length", "stiffness κ of contacts"),
    "network_damping": ("force time/length", "damping γ of contacts"),
    "network_sag": ("length", "sag under the load"),
    "network_swing": ("length", "swing that steps may leave"),
}


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity over time."""

    time: Floats
    value: Floats
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis."""

    title: str
    unit: str
    curves: Sequence[Curve]
    level: float | None = None  # a horizontal line to compare them with
    level_name: str = ""
    log: bool | None = None  # whether the axis is logarithmic; None if the span decides


def draw_panels(panels: Sequence[Panel], title: str = "", units: str = "") -> Figure:
    """Draw panels above each other with one axis of time; many of them in two columns."""
    known = symbols(units)
    columns = 1 if len(panels) <= COLUMN else 2
    rows = -(-len(panels) // columns)
    with style():
        height = max(2.6 if rows == 1 else 2.0, *(0.2 * len(p.curves) + 0.4 for p in panels))
        width = 6.4 if columns == 1 else 5.2
        figure, all_axes = new_figure(rows, columns, width, height, sharex=True, squeeze=False)
        figure.set_layout_engine("constrained", h_pad=0.08, wspace=0.04)
        # down the columns; if one place stays free, it is the last one at the top
        places = [*all_axes.T.flat]
        if len(panels) < len(places):
            places.pop(rows).set_visible(False)
        for axes, panel in zip(places, panels, strict=True):
            _draw(axes, panel, known)
        for axes in all_axes[-1]:
            axes.set_xlabel(label("time", "time", known))
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", size="medium")
        plain_ticks(figure)
        figure.align_ylabels()
    return figure


def _draw(axes: Axes, panel: Panel, known: dict[str, str]) -> None:
    for k, curve in enumerate(panel.curves):
        t, y = _thinned(curve.time, curve.value)
        axes.plot(
            t, y, color=COLOURS[k % len(COLOURS)], ls="-" if k < len(COLOURS) else "--", lw=1.0,
            marker="." if t.size <= 60 else None, label=curve.name or None,
        )  # fmt: skip
    if panel.level is not None:
        axes.axhline(panel.level, color=GREY, lw=0.9, ls="--", label=panel.level_name)
    values = np.concatenate([c.value for c in panel.curves] or [np.zeros(0)])
    if panel.log if panel.log is not None else _spans_decades(values):
        axes.set_yscale("log")
    words, bracket, unit = label(panel.title, panel.unit, known).partition(" [")
    axes.set_title(fill(words, 52))
    axes.set_ylabel(fill(bracket.strip() + unit, 24))
    if panel.level is not None or any(c.name for c in panel.curves):
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.06), handlelength=1.4)


def _spans_decades(values: Floats) -> bool:
    some = values[np.isfinite(values)]
    if some.size == 0 or some.min() < 0.0 or not (some > 0.0).any():
        return False
    some = some[some > 0.0]
    return bool(np.quantile(some, 0.99) > 10.0**DECADES * np.quantile(some, 0.01))


def _thinned(time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """At most MOST points that look the same, the least and the greatest of each stretch."""
    if time.size <= MOST:
        return time, value
    block = -(-2 * time.size // MOST)
    whole = time.size // block
    rows = value[: whole * block].reshape(whole, block)
    filled = np.where(np.isfinite(rows), rows, rows[:, :1])
    pick = np.sort([filled.argmin(axis=1), filled.argmax(axis=1)], axis=0)
    at = (np.arange(whole) * block + pick).T.ravel()
    at = np.append(at, np.arange(whole * block, time.size))
    return time[at], value[at]


# ---------------------------------------------------------------------- what there is
def measured(name: str, values: Any) -> Panel:
    """A curve for each component of a measured quantity."""
    rest = [d for d in values.dims if d != "time"]
    time = values["time"].to_numpy()
    flat = values.stack(curve=rest) if rest else values.expand_dims("curve", axis=-1)
    names = [""]
    if rest:
        keys = flat["curve"].to_numpy()
        names = [curve_name(rest, k if isinstance(k, tuple) else (k,)) for k in keys]
    table = flat.transpose("time", "curve").to_numpy().astype(float)
    shown = [k for k, text in enumerate(names) if not _mirrored(text, names, table)]
    curves = [Curve(time, table[:, k], names[k]) for k in shown]
    words = str(values.attrs.get("long_name", name)).replace("_", " ")
    return Panel(words, str(values.attrs.get("units", "")), curves)


def curve_name(dims: Sequence[Any], key: Sequence[Any]) -> str:
    """The name of one of several curves: xy of a tensor, major of principal values, or as it is."""
    if list(dims) == ["rank"]:
        return {1: "major", 2: "second", 3: "third"}.get(int(key[0]), str(key[0]))
    parts = [*map(str, key)]
    return ("" if all(len(p) == 1 for p in parts) else " ").join(parts)


def _mirrored(name: str, names: Sequence[str], table: Floats) -> bool:
    """Whether yx of a symmetric tensor would hide behind xy, within the width of a line."""
    other = name[::-1]
    if other not in names or names.index(other) >= names.index(name):
        return False
    mine, its = (table[:, names.index(n)] for n in (name, other))
    return bool(np.nanmax(np.abs(mine - its)) < 0.01 * np.nanmax(np.abs(table)))


def column(history: dict[str, Any], name: str, title: str = "") -> Panel:
    """A column of a run's history."""
    unit, words = COLUMNS.get(name, ("", ""))
    if name.startswith("force_"):
        wall, _, axis = name.removeprefix("force_").rpartition("_")
        unit, words = "force", f"force on {wall}, {axis}"
        if wall == "cell":  # one that deforms bears a stress
            unit, words = "energy", f"stress times volume of the cell, {2 * axis}"
    if name.startswith("work_by_"):
        unit, words = "energy", f"work of {name.removeprefix('work_by_')} in a step"
    curve = Curve(history["time"], history[name])
    return Panel(title or words or name.replace("_", " "), unit, [curve])


def _curves(history: dict[str, Any], names: dict[str, str]) -> list[Curve]:
    return [Curve(history["time"], history[c], text) for c, text in names.items()]


def solver(run: RunFile) -> list[Panel]:
    """Draw how well the contact laws were solved, step by step."""
    history = run.history
    scenario = stored_scenario(run.header, run.path)
    names = {"candidates": "candidates", "loaded": "bear a force"}
    if (kind := scenario.engine.kind) == "event-driven":
        names = {"candidates": "in a step"}
    what = "collisions" if kind == "event-driven" else "contacts"
    contacts = Panel(what, "1", _curves(history, names), log=False)
    overlap = Panel(
        "overlap", "length", _curves(history, {"worst_overlap": "worst", "mean_overlap": "mean"})
    )
    if not scenario.engine.solves:
        return [contacts, overlap]
    both = _curves(history, {"residual": "largest", "residual_rms": "root mean square"})
    residual = Panel("residual", "1", both, CONVERGED, "converged", True)
    if not (history["residual"] > 0.0).any():
        residual = Panel("residual", "1", residual.curves, log=False)
    return [residual, column(history, "sweeps", "sweeps a step"), contacts, overlap]


def rigidity(run: RunFile) -> list[Panel]:
    """Draw how far forces spread in a step, and the slow waves of a soft packing."""
    history = run.history
    engine = stored_scenario(run.header, run.path).engine
    if not engine.solves:
        why = "its particles are soft by choice"
        if engine.kind == "event-driven":
            why = "its grains touch in collisions alone"
        raise InputError(f"{run.path} has no rigidity to show: {why}")
    reach = _curves(
        history,
        {"network_diffusion_length": "diffusion length", "network_length": "largest cluster"},
    )
    return [
        Panel("length", "length", reach),
        column(history, "network_frequency"),
        column(history, "network_damping_time"),
        column(history, "network_sag"),
    ]


def energy(run: RunFile) -> list[Panel]:
    """Draw where the energy comes from and where it goes, summed up from the start."""
    history = run.history
    time = history["time"]
    names = {
        "work_external": "external work",
        "work_driven": "driven bodies",
        "dissipated": "dissipated",
        "kinetic_inserted": "brought in by grains",
        "kinetic_removed": "taken out by grains",
    }
    sums = [Curve(time, np.cumsum(history[c]), text) for c, text in names.items() if c in history]
    sums = [c for c in sums if np.any(c.value)]
    stored = column(history, "kinetic")
    if history["elastic"].any():
        stored = Panel(
            "energy", "energy", _curves(history, {"kinetic": "kinetic", "elastic": "elastic"})
        )
    return [stored, Panel("since the start", "energy", sums, log=False)]


def walls(run: RunFile) -> list[Panel]:
    """Draw the force of the grains on each wall, and what a cell that deforms bears."""
    history, kinds = run.history, run.model["wall_kind"].tolist()
    names = [name for name, kind in zip(run.wall_names, kinds) if kind != CELL]
    if not kinds:
        raise InputError(f"{run.path} has no walls, so no forces on them")
    axes = "xyz"[: run.model["inv_mass"].shape[1]]
    borne = {f"force_{name}_{a}": 2 * a for name in run.wall_names[len(names) :] for a in axes}
    own = [Panel("stress times volume of the cell", "energy", _curves(history, borne), log=False)]
    return own * bool(borne) + [
        Panel(
            f"force on walls, {axis}", "force",
            _curves(history, {f"force_{name}_{axis}": name for name in names}), log=False,
        )
        for axis in axes * bool(names)
    ]  # fmt: skip
