"""The force network: a packing, and a line through every contact that bears a force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.contact.geometry import INSIDE, OUTSIDE, PLANE, SEGMENT
from hardgrain.contact.pairs import wall_geometry
from hardgrain.errors import InputError
from hardgrain.io.runfile import RunFile
from hardgrain.measure.forces.packing import Packing
from hardgrain.run.scenario import Scenario, stored_scenario
from hardgrain.run.simulation import Simulation
from hardgrain.scene.model import Contacts, Floats, Model, State

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["Shade", "draw_network", "save"]

GRAIN, RIM, WALL, TENSION = "#e9e6df", "#b3aea3", "#3b4048", "#0072b2"
FORCE_MAP = (0.22, 0.95)  # part of inferno, reversed, that is seen on pale grains
SHADE_MAP = (0.12, 1.0)  # part of viridis, reversed, likewise
KNOWN, UNBOUNDED = "#9b968c", "#d55e00"  # in place of a colour of the map: zero, infinite
WIDEST = 0.45  # width of the strongest lines [mean diameter]
STRONG = 0.99  # quantile of the forces drawn that wide; the few beyond would dwarf the rest
THINNEST = 0.02  # width of contacts without force that are drawn for their colour [mean diameter]
BAND = 0.7  # thickness of a wall as drawn [mean diameter]
EDGE = 7.5  # the longer side of the packing on paper [inch]


@dataclass(frozen=True)
class Shade:
    """Contacts, all of them, in the colour of something other than the force that they bear."""

    packing: Packing
    value: Floats  # (m,) zero and infinity have colours of their own
    label: str
    zero: str  # what a value of zero means
    infinite: str


@dataclass(frozen=True)
class _View:
    """What is drawn, in the plane of the picture: (x, y) in 2D, (x, z) seen along y in 3D."""

    axes: tuple[int, int]
    center: Floats  # (n, 2)
    radius: Floats  # (n,)
    depth: Floats  # (n,) from 0, near, to 1, far
    lines: Floats  # (m, 2, 2) ends of the force lines, weakest first
    force: Floats  # (m,) normal force, negative: tension [force]
    value: Floats  # (m,) what gives their colour
    low: Floats  # (2,) corner of the view [length]
    high: Floats  # (2,)


def draw_network(
    source: Simulation | RunFile | str | Path,
    frame: int = -1,
    path: str | Path | None = None,
    shade: Shade | None = None,
) -> Figure:
    """Draw the grains of a frame and their contact forces; save to ``path`` if given.

    Lines join the centres of the bodies that touch; width and colour give the normal force, or
    ``shade`` the colour. A path that ends in .pdf or .svg gives a vector picture. A scene in 3D is
    seen along y.
    """
    from matplotlib.figure import Figure

    model, state, scenario = _load(source, frame)
    view = _view(model, state, scenario, shade)
    size = view.high - view.low
    inches = np.maximum(EDGE * size / size.max(), 1.5)
    # room for labels, title and colour bar
    left, right, bottom, top = 0.85, 1.15, 0.6, 0.75
    width, height = inches[0] + left + right, inches[1] + bottom + top
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((left / width, bottom / height, inches[0] / width, inches[1] / height))
    axes.set(
        xlim=(view.low[0], view.high[0]), ylim=(view.low[1], view.high[1]), aspect="equal",
        xlabel=f"{'xyz'[view.axes[0]]} [length]", ylabel=f"{'xyz'[view.axes[1]]} [length]",
    )  # fmt: skip
    points = 72.0 * float((inches / size).min())  # per unit of length
    _draw_walls(axes, model, state, view)
    _draw_grains(axes, view, points)
    bar = (
        (left + inches[0] + 0.15) / width, bottom / height,
        0.14 / width, min(inches[1], 3.0) / height,
    )  # fmt: skip
    _draw_forces(axes, view, points, bar, shade)
    _label(axes, scenario, model, state, shade)
    if path is not None:
        # at least 8 pixels for a grain, as long as the picture stays below 40 megapixels
        dpi = np.clip(8.0 * 72.0 / (2.0 * view.radius.mean() * points), 200.0, 500.0)
        save(figure, Path(path), float(dpi))
    return figure


def save(figure: Figure, path: Path, dpi: float) -> None:
    """Write a figure; what cannot be written is said in a sentence."""
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.lower().removeprefix(".") not in known:
        raise InputError(f"{path} does not end in a known kind of picture; use .png, .pdf or .svg")
    try:
        figure.savefig(path, dpi=dpi)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


# ---------------------------------------------------------------------- what is drawn
def _load(source: Simulation | RunFile | str | Path, frame: int) -> tuple[Model, State, Scenario]:
    if isinstance(source, Simulation):
        return source.model, source.state, source.scenario
    if not isinstance(source, RunFile):
        with RunFile(source) as file:
            return _load(file, frame)
    try:
        f, rows = source[frame], source.contacts(frame)
    except IndexError:
        raise InputError(
            f"frame is {frame}; {source.path} has the frames 0 to {len(source) - 1}"
        ) from None
    if rows is None:
        raise InputError(
            f"frame is {frame}, a frame of {source.path} without contacts; choose one whose"
            " contacts were stored (output.contacts_every)"
        )
    arrays: dict[str, Any] = source.model
    model = Model(**arrays, wall_names=tuple(source.wall_names))
    return model, f.state(rows), stored_scenario(source.header, source.path)


def _view(model: Model, state: State, scenario: Scenario, shade: Shade | None = None) -> _View:
    n = model.n
    axes = (0, 1) if model.dim == 2 else (0, 2)
    keep = list(axes)
    center, radius = state.position[:n][:, keep], model.radius
    c: Contacts | Packing = state.contacts if shade is None else shade.packing
    if isinstance(c, Packing):
        gap, force, drawn = np.zeros(c.contacts), c.components[:, 0], np.arange(c.contacts)
    else:
        gap, force = c.gap, c.normal_impulse() / scenario.dt
        drawn = np.flatnonzero(np.abs(force) > 1e-9 * np.abs(force).max(initial=0.0))
    value = force if shade is None else shade.value
    drawn = drawn[np.argsort(np.abs(force[drawn]))]
    first, second = c.first[drawn], c.second[drawn]
    # the normal knows the nearest image, positions do not
    reach = radius[first] + gap[drawn]
    reach[second < n] += radius[second[second < n]]
    arm = (reach[:, None] * c.normal[drawn])[:, keep]
    depth = np.zeros(n)
    if model.dim == 3:
        y = state.position[:n, 1]
        depth = (y - y.min()) / max(float(np.ptp(y)), 1e-300)

    low, high = _frame(model, state, keep, center)
    cell = {"xyz".index(name): ends for name, ends in scenario.scene.periodic.items()}
    start = center[first]
    for k, axis in enumerate(axes):
        if axis in cell:
            low[k], high[k] = cell[axis]
            period = high[k] - low[k]
            center, start = center.copy(), start.copy()
            center[:, k] = low[k] + np.mod(center[:, k] - low[k], period)
            start[:, k] = low[k] + np.mod(start[:, k] - low[k], period)
    view = _View(
        axes, center, radius, depth, np.stack([start, start + arm], axis=1), force[drawn],
        value[drawn], low, high,
    )  # fmt: skip
    for k, axis in enumerate(axes):
        if axis in cell:
            view = _with_images(view, k)
    return view


def _with_images(view: _View, k: int) -> _View:
    """Add the images of all that crosses the periodic ends along axis k of the picture."""
    low, high = view.low[k], view.high[k]
    shift = np.zeros(2)
    shift[k] = high - low
    x, r = view.center[:, k], view.radius
    ends = view.lines[:, :, k]
    for sign, grains, lines in (
        (1.0, x - r < low, ends.min(axis=1) < low),
        (-1.0, x + r > high, ends.max(axis=1) > high),
    ):
        view = replace(
            view,
            center=np.vstack([view.center, view.center[: x.size][grains] + sign * shift]),
            radius=np.append(view.radius, r[grains]),
            depth=np.append(view.depth, view.depth[: x.size][grains]),
            lines=np.vstack([view.lines, view.lines[: len(ends)][lines] + sign * shift]),
            force=np.append(view.force, view.force[: len(ends)][lines]),
            value=np.append(view.value, view.value[: len(ends)][lines]),
        )
    order = np.argsort(np.abs(view.force), kind="stable")
    lines, force, value = view.lines[order], view.force[order], view.value[order]
    return replace(view, lines=lines, force=force, value=value)


def _frame(model: Model, state: State, keep: list[int], center: Floats) -> tuple[Floats, Floats]:
    """Corners of the view: all grains, the finite walls, and the planes close to them."""
    r = model.radius[:, None]
    low, high = (center - r).min(axis=0), (center + r).max(axis=0)
    kind, point, axis, size = wall_geometry(model, state)
    reach = 0.25 * (high - low).max()
    for what, p, a, s in zip(kind, point[:, keep], axis[:, keep], size):
        corners: list[Floats] = []
        if what == SEGMENT:
            corners = [p, p + a]
        elif what in (INSIDE, OUTSIDE) and _seen_as_circle(model, keep, axis[kind == what]):
            corners = [p - s, p + s]
        elif what == PLANE and np.count_nonzero(a) == 1:
            side = np.where(a != 0.0, p, 0.5 * (low + high))
            if (side > low - reach).all() and (side < high + reach).all():
                corners = [side]
        for corner in corners:
            low, high = np.minimum(low, corner), np.maximum(high, corner)
    margin = BAND * 2.0 * float(model.radius.mean())
    return low - margin, high + margin


def _seen_as_circle(model: Model, keep: list[int], axis: Floats) -> bool:
    """Whether the picture looks along the axis of the cylinders."""
    return model.dim == 2 or bool((np.abs(axis[:, keep]) < 1e-9).all())


# ---------------------------------------------------------------------- drawing
def _draw_walls(axes: Axes, model: Model, state: State, view: _View) -> None:
    from matplotlib.patches import Annulus, Circle, Polygon

    keep = list(view.axes)
    band = BAND * 2.0 * float(model.radius.mean())
    style: dict[str, Any] = {"facecolor": WALL, "edgecolor": "none", "zorder": 3}
    kind, point, axis, size = wall_geometry(model, state)
    far = 2.0 * float((view.high - view.low).sum())
    for what, p, a, s, whole in zip(kind, point[:, keep], axis[:, keep], size, axis):
        if what == PLANE:
            if np.linalg.norm(a) < 1e-6:  # faces the eye
                continue
            a = a / np.linalg.norm(a)
            along = far * np.array([-a[1], a[0]])
            foot = p + along * np.dot(0.5 * (view.low + view.high) - p, along) / far**2
            edge = np.array([foot - along, foot + along])
            axes.add_patch(Polygon(np.vstack([edge, edge[::-1] - band * a]), **style))
        elif what == SEGMENT:
            axes.plot(*np.array([p, p + a]).T, color=WALL, linewidth=2.5, zorder=3,
                      solid_capstyle="round")  # fmt: skip
        elif model.dim == 3 and np.abs(whole[keep]).max() > 1e-9:
            continue  # a cylinder seen from the side
        elif what == INSIDE:
            axes.add_patch(Annulus((p[0], p[1]), s + band, band, **style))
        else:
            axes.add_patch(Circle((p[0], p[1]), s, **style))


def _draw_grains(axes: Axes, view: _View, points: float) -> None:
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import to_rgb

    order = np.argsort(-view.depth, kind="stable")  # far ones first
    face, rim = np.array(to_rgb(GRAIN)), np.array(to_rgb(RIM))
    # towards white with depth, so that near grains stand out
    fade = 0.6 * view.depth[order, None]
    diameter = 2.0 * view.radius[order]
    axes.add_collection(
        EllipseCollection(
            diameter, diameter, np.zeros(diameter.size), units="xy",
            offsets=view.center[order], offset_transform=axes.transData,
            facecolors=face + fade * (1.0 - face), edgecolors=rim + fade * (1.0 - rim),
            linewidths=np.minimum(0.6, 0.05 * diameter * points), zorder=1,
        )
    )  # fmt: skip


def _draw_forces(
    axes: Axes,
    view: _View,
    points: float,
    bar: tuple[float, float, float, float],
    shade: Shade | None,
) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize, to_rgba

    if view.force.size == 0:
        return
    size = np.abs(view.force)
    share = np.minimum(size / max(float(np.quantile(size, STRONG)), 1e-300), 1.0)
    width = np.maximum(WIDEST * share, 0.0 if shade is None else THINNEST)
    value = np.abs(view.value)
    some = value[np.isfinite(value)]
    top = float(np.quantile(some, STRONG)) if some.size else 0.0
    norm = Normalize(0.0, top or 1.0)
    label = "normal force [force]"
    colours = _colours("inferno_r", FORCE_MAP)
    apart = [(view.force < 0.0, TENSION, "tension")]
    if shade is not None:
        colours, label = _colours("viridis_r", SHADE_MAP), shade.label
        apart = [(value == 0.0, KNOWN, shade.zero), (np.isinf(value), UNBOUNDED, shade.infinite)]
    colour = colours(norm(np.where(np.isfinite(value), value, 0.0)))
    for which, special, _ in apart:
        colour[which] = to_rgba(special)
    axes.add_collection(
        LineCollection(
            list(view.lines), linewidths=width * 2.0 * float(view.radius.mean()) * points,
            colors=colour, capstyle="round", zorder=2,
        )
    )  # fmt: skip
    figure = axes.get_figure(root=True)
    assert figure is not None
    scale = figure.add_axes(bar)
    if top > 0.0:
        drawn = figure.colorbar(ScalarMappable(norm, colours), cax=scale, extend="max", label=label)
        drawn.outline.set_visible(False)
    else:
        scale.set_axis_off()
    above = [(text, special) for which, special, text in apart if which.any()]
    for k, (text, special) in enumerate(above):
        scale.annotate(
            text, (0.0, 1.0), (0.0, 22.0 + 11.0 * k), xycoords="axes fraction",
            textcoords="offset points", color=special, fontsize=8,
        )  # fmt: skip


def _colours(name: str, part: tuple[float, float]) -> Colormap:
    """Pale to near black: even steps of lightness, told apart by all eyes and in print."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(*part, 256)))


def _label(axes: Axes, scenario: Scenario, model: Model, state: State, shade: Shade | None) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.spines[:].set_visible(False)
    axes.tick_params(direction="out", length=3)
    for scale in (axes.xaxis, axes.yaxis):
        scale.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
    facts = f"time {state.time:.4g}, {model.n} grains, {_loaded(state)} contacts bear a force"
    if shade is not None:
        facts += "; width: normal force"
    if model.dim == 3:
        facts += ", seen along y"
    axes.set_title(scenario.title, loc="left", fontsize=11, pad=22)
    axes.annotate(
        facts, (0.0, 1.0), (0.0, 6.0), xycoords="axes fraction", textcoords="offset points",
        fontsize=8.5, color="#555555",
    )  # fmt: skip


def _loaded(state: State) -> int:
    return int(np.count_nonzero(state.contacts.normal_impulse()))
