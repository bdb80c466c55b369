"""A packing with its force network: grains, and a line through every contact that bears a force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.io.runfile import RunFile
from hardgrain.measure.snapshot import Snapshot, snapshot
from hardgrain.run.scenario import stored_scenario
from hardgrain.run.simulation import Simulation
from hardgrain.show import plane
from hardgrain.show.colour import (
    PLAIN,
    GrainField,
    field_map,
    name_key,
    paint,
)
from hardgrain.show.contact_lines import whole_contacts
from hardgrain.show.patches import filled
from hardgrain.show.plane import Circle, PlaneView, Shape
from hardgrain.show.style import COLOURS, DPI, colour_map, diverging, label, save, style, symbols

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.path import Path as Outline
from hardgrain.show.network_look import Look, Scale, Shade, scale

__all__ = ["Picture", "draw_network"]

GRAIN, RIM, WALL, TENSION = "#e9e6df", "#b3aea3", "#3b4048", COLOURS[1]
LINE = "#22262b"  # colour of lines on coloured grains
FORCE_MAP = (0.22, 0.95)  # part of inferno, reversed, that is seen on pale grains
SHADE_MAP = (0.12, 1.0)  # part of viridis, reversed, that is seen on pale grains
KNOWN, UNBOUNDED = "#9b968c", COLOURS[2]  # colours of values that are zero and infinite
WIDEST = 0.45  # [mean diameter] width of the strongest lines
SLIM = 0.14  # [mean diameter] the same on coloured grains, whose colours must be seen beside them

THINNEST = 0.02  # [mean diameter] width of contacts without force, drawn for their colour
EDGE = 7.5  # [inch] longer side of the packing on paper
NARROWEST = 5.6  # [inch] least width of the whole picture, so that the title fits
BAR = 1.05  # [inch] room for a colour bar with its label
FINE = 2.5  # [point] smaller grains have no rim
DRAWN = 10_000  # [grains or lines] more are drawn as pixels in a vector file


def draw_network(
    source: Simulation | RunFile | Snapshot | str | Path,
    frame: int = -1,
    path: str | Path | None = None,
    shade: Shade | None = None,
    *,
    colour: str = PLAIN,
    lines: str = "force",
    box: Floats | None = None,
) -> Figure:
    """Draw the grains of a frame and their contact forces; save to ``path`` if given.

    Lines join the centres of the bodies that touch, by way of the contact where grains are not
    round; width and colour give the normal force, or
    ``shade`` the colour. ``lines`` may be "friction" or "none"; ``colour`` names a field of the
    grains; ``box`` (2, 2) holds the corners of the view. A path that ends in .pdf or .svg gives a
    vector picture. A scene in 3D is seen along y.
    """
    if isinstance(source, str | Path):
        with RunFile(source) as file:
            return draw_network(file, frame, path, shade, colour=colour, lines=lines, box=box)
    run = source if isinstance(source, RunFile) else None
    snap, look = snapshot(source, frame), Look(colour, lines, shade, run)
    if not snap.stored and lines != "none":
        where = f" of {source.path}" if isinstance(source, RunFile) else ""
        raise InputError(
            f"frame is {frame}, a frame{where} without contacts; choose one whose contacts were"
            " stored (output.contacts_every), or draw no lines"
        )
    picture = Picture(snap, look, scale([snap], look, box), *about(source))
    picture.show(snap)
    if path is not None:
        save(picture.figure, path)
    return picture.figure


def about(source: Simulation | RunFile | Snapshot) -> tuple[str, str, tuple[str, ...]]:
    """Title, units and names of the materials of a run, as its scenario has them."""
    if isinstance(source, Snapshot):
        return "", "", ()
    if isinstance(source, RunFile):
        scenario = stored_scenario(source.header, source.path)
    else:
        scenario = source.scenario
    return scenario.title, scenario.units, tuple(scenario.scene.materials)


class Picture:
    """A figure of a packing in which ``show`` puts one frame in the place of another."""

    def __init__(
        self,
        snap: Snapshot,
        look: Look,
        fixed: Scale,
        title: str = "",
        units: str = "",
        materials: Sequence[str] = (),
    ) -> None:
        from matplotlib.figure import Figure

        self.look, self.fixed, known = look, fixed, symbols(units)
        self._names = materials if look.colour == "material" else ()
        self._signed = look.lines == "friction" and snap.dim == 2
        low, high = fixed.box
        size = high - low
        inches = np.maximum(EDGE * size / size.max(), 1.5)
        self.points = 72.0 * float((inches / size).min())  # points per unit of length
        # the width of grains that are not round, or lines would hide those that are slim
        self.diameter = snap.diameter if snap.model.round else float(snap.model.width.mean())
        self._rim = self.diameter * self.points > FINE
        self._round = snap.model.round
        bars, field = self._bars(snap, known), look.field(snap)
        named = field is not None and field.kind == "name"
        # room for labels, title, colour bars and the names of colours
        left, right, bottom, top = 0.8, 0.25 + BAR * (len(bars) + named), 0.55, 0.55
        width = max(inches[0] + left + right, NARROWEST)
        height = inches[1] + bottom + top
        with style():
            # at least 8 pixels for a grain, as long as the picture stays below 40 megapixels
            dpi = np.clip(8.0 * 72.0 / (self.diameter * self.points), DPI, 500.0)
            self.figure = Figure(figsize=(width, height), dpi=float(dpi))
            self.axes = axes = self.figure.add_axes(
                (left / width, bottom / height, inches[0] / width, inches[1] / height)
            )
            names = ["xyz"[k] for k in plane.plane_of(snap)]
            axes.set(
                xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal",
                xlabel=label(names[0], "length", known), ylabel=label(names[1], "length", known),
            )  # fmt: skip
            self._dress(axes, title)
            for k, (colours, span, text, extend) in enumerate(bars):
                x = left + inches[0] + 0.15 + BAR * k
                place = (x / width, bottom / height, 0.13 / width, min(inches[1], 3.0) / height)
                self._bar(place, colours, span, text, extend)
            self._add_collections(axes)
            if field is not None and named:
                self._name_key(name_key(field, self._names), (left + inches[0] + 0.15) / width)

    # ------------------------------------------------------------------ what stays
    def _bars(self, snap: Snapshot, known: dict[str, str]) -> list[tuple[Any, ...]]:
        """Map, span, label and arrows of each colour bar."""
        bars: list[tuple[Any, ...]] = []
        look, fixed = self.look, self.fixed
        span = (0.0, fixed.value)
        text = look.shade.label if look.shade else label("normal force", "force", known)
        if look.lines == "friction":
            text = "friction over its limit, T/µN"
            if self._signed:
                span, text = (-1.0, 1.0), f"{text}; positive: clockwise"
            bars.append((self._line_map, span, text, "neither"))
        elif fixed.value > 0.0 and self._line_map is not None:
            bars.append((self._line_map, span, text, "max"))
        field = look.field(snap)
        if field is not None and field.kind != "name":
            ends = {"signed": "both", "value": "both"}.get(field.kind, "max")
            text = label(field.label, field.unit, known)
            bars.append((field_map(field.kind), fixed.field, text, ends))
        return bars

    @property
    def _line_map(self) -> Colormap | None:
        """The colour map of the lines, or None if they are all dark."""
        if self._signed:
            return diverging()
        if self.look.shade is not None or self.look.lines == "friction":
            return colour_map("viridis_r", SHADE_MAP)
        return colour_map("inferno_r", FORCE_MAP) if self.look.colour == PLAIN else None

    def _bar(
        self,
        place: tuple[float, float, float, float],
        colours: Colormap,
        span: tuple[float, float],
        text: str,
        extend: str,
    ) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        drawn = self.figure.colorbar(
            ScalarMappable(Normalize(*span), colours),
            cax=self.figure.add_axes(place), extend=extend, label=text,
        )  # fmt: skip
        drawn.outline.set_visible(False)
        # so that it does not cover the packing
        drawn.ax.yaxis.get_offset_text().set_horizontalalignment("left")

    def _name_key(self, key: list[tuple[str, Floats]], x: float) -> None:
        """The names of the grains' colours, beside the picture."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], ls="", marker="o", ms=7, mfc=c, mec=0.7 * c, label=text)
            for text, c in key
        ]
        self.figure.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(x, self.axes.get_position().y0),
            handletextpad=0.2, borderaxespad=0.0,
        )  # fmt: skip

    def _dress(self, axes: Axes, title: str) -> None:
        from matplotlib.ticker import MaxNLocator

        axes.spines[:].set_visible(False)
        axes.tick_params(direction="out", length=3)
        for ruler in (axes.xaxis, axes.yaxis):
            ruler.set_major_locator(MaxNLocator(8, steps=[1, 2, 5, 10]))
        above: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        axes.annotate(title, (0.0, 1.0), (0.0, 18.0), weight="bold", **above)
        self.facts = axes.annotate("", (0.0, 1.0), (0.0, 5.0), color="#555555", **above)

    # ------------------------------------------------------------------ what changes
    def _add_collections(self, axes: Axes) -> None:
        from matplotlib.collections import EllipseCollection, PathCollection

        from hardgrain.show.segments import Segments

        self.grains: Any = EllipseCollection(
            [], [], [], units="xy", offsets=np.zeros((0, 2)), offset_transform=axes.transData,
            zorder=1,
        )  # fmt: skip
        if not self._round:
            self.grains = PathCollection([], joinstyle="round", zorder=1)
        self.lines = Segments(
            offset_transform=axes.transData, capstyle="round", facecolors="none", zorder=2
        )
        self.walls = PathCollection(
            [], facecolors=WALL, edgecolors=WALL, linewidths=2.5, capstyle="round", zorder=3
        )
        for some in (self.grains, self.lines, self.walls):
            axes.add_collection(some, autolim=False)

    def show(self, snap: Snapshot) -> None:
        """Put a frame into the picture."""
        lines = self.look.seen(snap) if snap.stored else None
        seen = plane.see(snap, lines, self.fixed.box)
        field = self.look.field(snap)
        self._show_grains(seen, field)
        self._show_lines(seen)
        self._show_walls(plane.walls(snap, *self.fixed.box))
        facts = f"time {snap.time:.4g}, {snap.n} grain{'s' * (snap.n != 1)}"
        if snap.stored:
            bear = points = np.count_nonzero(snap.normal_force)
            if not snap.model.round:
                bear = np.count_nonzero(whole_contacts(snap).normal_force)
            facts += f", {bear} contact{'s bear' if bear != 1 else ' bears'} a force"
            if points != bear:
                facts += f" in {points} points"
        plainly = self.look.shade is None and self.look.lines == "force" and self._line_map
        if lines is not None and not plainly:
            facts += "; width: normal force"
        if field is not None and field.kind == "name":
            facts += f"; colour: {field.label}"
        if snap.dim == 3:
            facts += ", seen along y"
        self.facts.set_text(facts)

    def _show_grains(self, seen: PlaneView, field: GrainField | None) -> None:
        from matplotlib.colors import to_rgb

        face, rim = np.array(to_rgb(GRAIN))[None], np.array(to_rgb(RIM))[None]
        if field is not None:
            face = paint(field, self.fixed.field)[seen.grain]
            rim = 0.7 * face
        # towards white with depth, so that near grains stand out
        fade, diameter = 0.6 * seen.depth[:, None], 2.0 * seen.radius
        places: dict[str, Any] = {"widths": diameter, "heights": diameter}
        face, rim = face + fade * (1.0 - face), rim + fade * (1.0 - rim)
        width = self._rim * np.minimum(0.6, 0.05 * diameter * self.points)
        if seen.outlines is None:
            places |= {"angles": np.zeros(diameter.size), "offsets": seen.center}
        else:
            places = {"paths": _paths(seen)}
        if field is not None and field.inside is not None and seen.patches is not None:
            inner = paint(field, self.fixed.field, inside=True)
            look = filled(seen, seen.patches, (places["paths"], face, rim, width), inner)
            places, face, rim, width = {"paths": look.paths}, look.face, look.rim, look.width
        self.grains.set(
            **places, facecolors=face, edgecolors=rim, linewidths=width,
            rasterized=len(face) > DRAWN,
        )  # fmt: skip

    def _show_lines(self, seen: PlaneView) -> None:
        size, shade = np.abs(seen.force), self.look.shade
        share = np.minimum(size / max(self.fixed.force, 1e-300), 1.0)
        widest = WIDEST if self.look.colour == PLAIN else SLIM
        width = np.maximum(widest * share, 0.0 if shade is None else THINNEST)
        self.lines.set(
            segments=seen.lines, linewidths=width * self.diameter * self.points,
            edgecolors=self._line_colours(seen), rasterized=size.size > DRAWN,
        )  # fmt: skip

    def _line_colours(self, seen: PlaneView) -> Floats:
        from matplotlib.colors import to_rgba

        colours, top = self._line_map, self.fixed.value or 1.0
        value = np.where(np.isfinite(seen.value), seen.value, 0.0) / top
        if colours is None:
            rgba = np.tile(to_rgba(LINE), (value.size, 1))
        elif self._signed:
            rgba = colours(0.5 * (1.0 + value))
        else:
            rgba = colours(np.abs(value))
        shade = self.look.shade
        apart = [(seen.force < 0.0, TENSION, "tension")]
        if shade is not None:
            zero, infinite = seen.value == 0.0, np.isinf(seen.value)
            apart = [(zero, KNOWN, shade.zero), (infinite, UNBOUNDED, shade.infinite)]
        for which, special, _ in apart:
            rgba[which] = to_rgba(special)
        self._key([(text, special) for which, special, text in apart if which.any()])
        return np.asarray(rgba)

    def _key(self, entries: list[tuple[str, str]]) -> None:
        """Names of the colours that stand apart, once each, above the colour bar."""
        known = {t.get_text() for t in self.axes.texts}
        for text, special in entries:
            if text not in known:
                rows = len(self.axes.texts) - 2
                self.axes.annotate(
                    text, (1.0, 1.0), (11.0, 5.0 + 12.0 * rows), xycoords="axes fraction",
                    textcoords="offset points", color=special,
                )  # fmt: skip

    def _show_walls(self, shapes: list[Shape]) -> None:
        band = plane.BAND * self.diameter
        self.walls.set_paths([_outline(shape, band) for shape in shapes])
        thin = [2.5 if isinstance(s, np.ndarray) and len(s) == 2 else 0.0 for s in shapes]
        self.walls.set(linewidths=thin or [0.0])


def _outline(shape: Shape, band: float) -> Outline:
    from matplotlib.patches import Annulus
    from matplotlib.path import Path as Outline

    if not isinstance(shape, Circle):
        return Outline(shape if len(shape) == 2 else np.vstack([shape, shape[:1]]))
    x, y = shape.center
    if shape.around:
        ring = Annulus((x, y), shape.radius + band, band)
        return ring.get_path()
    return Outline.circle((x, y), shape.radius)


def _paths(seen: PlaneView) -> list[Outline]:
    """The outlines of all grains where they are, as paths."""
    from matplotlib.path import Path as Outline

    assert seen.outlines is not None
    found, owner = seen.outlines.of(seen.outline)
    points = found.points + seen.center[owner]
    codes = np.array([Outline.MOVETO, Outline.LINETO, Outline.CLOSEPOLY], Outline.code_type)
    pens, ends = codes[found.pen], found.start.tolist()
    return [Outline(points[i:j], pens[i:j]) for i, j in itertools.pairwise(ends)]
