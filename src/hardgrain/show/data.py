"""Any measurement as a picture: the dimensions of its labelled data decide how they are drawn.

Along ``time`` they are series; over two axes of space a map, vectors as arrows on their size; over
any other coordinate a curve, with error bars where there is ``<name>_error``; a number for each
grain or contact is a distribution.
"""

from __future__ import annotations

import math
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.core.model import Floats
from hardgrain.errors import InputError
from hardgrain.show.series import Panel, curve_name, draw_panels, measured
from hardgrain.show.style import COLOURS, GREY, colour_map, label, plain_ticks, style, symbols

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_data", "in_degrees", "over_time"]

SPACE = ("x", "y", "z")
MANY = ("grain", "contact", "element")  # dimensions over which numbers are a distribution
VECTOR = ("component", "direction", "about", "rank")  # dimensions of vectors and tensors
INDEX = ("first", "second", "grain")  # variables that are numbers of bodies
ARROWS = 24  # number of arrows along the longer side of a map
MAP_EDGE = 3.2  # [inch] length of the longer side of a map
BINS = 40  # most bins of a histogram; more would be narrower than a few points on paper


def draw_data(data: xr.Dataset, variable: str = "", title: str = "", units: str = "") -> Figure:
    """Draw a dataset, or one of its variables; tensors on a grid only if asked for by name."""
    data = in_degrees(data)
    values = {n: _squeezed(v) for n, v in _chosen(data, variable).items() if v.size}
    if not values:
        raise InputError("there is nothing to draw: no values in these frames")
    maps = [n for n, v in values.items() if len(_space(v)) >= 2 and (n == variable or _simple(v))]
    over = [n for n, v in values.items() if _is_distribution(v) or _is_curve(v)]
    curves = [n for n in over if n not in maps]
    if maps:
        return _draw_maps([one for n in maps for one in _components(values[n])], title, units)
    if curves:
        curves = [n for n in curves if n not in ("error", "theory")] or curves
        errors = {n: data.get(f"{n}_error") for n in curves}
        if "error" in data:  # it belongs to the first variable, which is drawn with it
            errors[curves[0]] = data["error"]
        errors = {n: _squeezed(one) for n, one in errors.items() if one is not None}
        law = None if "theory" in curves else values.get("theory")
        return _draw_curves([values[n] for n in curves], errors, law, title, units)
    if panels := over_time(data, variable):
        return draw_panels(panels, title, units)
    what = "single numbers, with nothing to plot; see hardgrain measure"
    if any(v.ndim for v in values.values()):
        what = "too many numbers for a picture; choose fewer frames, or one quantity by a dot"
    raise InputError(f"these are {what}")


def over_time(data: xr.Dataset, variable: str = "") -> list[Panel]:
    """The variables of a dataset that can be followed over time, a panel each."""
    chosen = _chosen(in_degrees(data), variable).items()
    return [
        measured(n, part)
        for n, v in chosen
        if v.size and "time" in v.dims and _few(v)
        for part in _apart(v)
    ]


def in_degrees(data: xr.Dataset) -> xr.Dataset:
    """The data with their angles in degrees, as readers of pictures have them."""
    turned = {}
    for name, values in data.data_vars.items():
        if values.attrs.get("units") == "radian":
            turned[name] = (values * (180.0 / math.pi)).assign_attrs(
                values.attrs | {"units": "degree"}
            )
    return data.assign(turned)


def _apart(values: Any) -> list[Any]:
    """Split vectors of several things, such as walls, by component; leave all else as it is."""
    across = [d for d in values.dims if d in VECTOR]
    if len(across) != 1 or values.ndim != 3:
        return [values]
    name = str(values.attrs.get("long_name", values.name))
    parts = []
    for key in values[across[0]].to_numpy():
        part = values.sel({across[0]: key}, drop=True)
        part.attrs = values.attrs | {"long_name": f"{name}, {key}"}
        parts.append(part)
    return parts


def _chosen(data: xr.Dataset, variable: str) -> dict[str, Any]:
    """The variables to draw: one by name, or all but errors and numbers of bodies."""
    names = [str(v) for v in data.data_vars]
    if variable and variable not in names:
        raise InputError(f"there is no {variable!r} in this measurement; it has {', '.join(names)}")
    if variable:
        return {variable: data[variable]}
    told = [n for n in names if n not in INDEX and not n.endswith("_error")]
    return {n: data[n] for n in told if data[n].dtype.kind in "iufb"}


def _squeezed(values: Any) -> Any:
    """The data without axes along which there is only one value, such as a single frame.

    A tensor over one axis is left as its components over it.
    """
    values = values.squeeze([d for d in ("time", *SPACE) if values.sizes.get(d) == 1], drop=True)
    tensor = [d for d in values.dims if d in VECTOR]
    if len(tensor) != 2 or values.ndim != 3:
        return values
    flat = values.stack(part=tensor)
    keys = [curve_name(tensor, k) for k in flat["part"].to_numpy()]
    return flat.drop_vars(["part", *tensor]).assign_coords(part=keys)


def _few(values: Any) -> bool:
    """Whether these are a few numbers a frame, which may be followed over time."""
    return bool(math.prod(n for d, n in values.sizes.items() if d != "time") <= 30)


def _space(values: Any) -> list[str]:
    return [str(d) for d in values.dims if d in SPACE]


def _simple(values: Any) -> bool:
    """Whether this is a scalar or a vector, and not a tensor."""
    return len([d for d in values.dims if d not in SPACE and d != "time"]) <= 1


def _is_distribution(values: Any) -> bool:
    """Whether this is a number for each grain or contact, in one frame or several."""
    return values.dtype.kind != "b" and {d for d in values.dims if d != "time"} in (
        {name} for name in MANY
    )


def _is_curve(values: Any) -> bool:
    """Whether these are values over a numeric coordinate, in few enough curves."""
    along = _along(values)
    return along is not None and values.size <= 2 * len(COLOURS) * along.size


def _along(values: Any) -> Any:
    """The numeric coordinate over which curves are drawn, if there is one."""
    found = [
        c
        for c in values.coords.values()
        if c.ndim == 1
        and c.name != "time"
        and c.dims[0] in values.dims
        and c.dims[0] not in ("time", *MANY)
        and c.dtype.kind in "iuf"
    ]
    if not found or values.ndim > 2:
        return None
    return max(found, key=lambda c: (c.size, c.name == c.dims[0]))


def _words(values: Any, known: dict[str, str]) -> str:
    attrs = values.attrs
    name = str(attrs.get("long_name", values.name)).replace("_", " ")
    return label(name, str(attrs.get("units", "")), known)


# ---------------------------------------------------------------------- curves
def _draw_curves(
    values: list[Any], errors: dict[str, Any], law: Any, title: str, units: str
) -> Figure:
    from matplotlib.figure import Figure

    known, columns = symbols(units), min(2, len(values))
    rows = -(-len(values) // columns)
    with style():
        figure = Figure(figsize=(4.4 * columns, 2.9 * rows + 0.2), layout="constrained")
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", size="medium")
        for k, one in enumerate(values):
            axes = figure.add_subplot(rows, columns, k + 1)
            if _is_distribution(one):
                _distribution(axes, one, known)
            else:
                _curve(axes, one, errors.get(str(one.name)), known)
        if law is not None:
            _theory(figure.axes[0], law)
        plain_ticks(figure)
    return figure


def _curve(axes: Axes, values: Any, error: Any, known: dict[str, str]) -> None:
    """Draw a curve, or one for each component or frame."""
    along = _along(values)
    (rest,) = [d for d in values.dims if d not in along.dims] or [None]
    x, several = along.to_numpy(), rest is not None
    table = values.transpose(..., along.dims[0]).to_numpy().astype(float).reshape(-1, x.size)
    bars = [None] * len(table)
    if error is not None and error.dims == values.dims:
        bars = [*error.transpose(..., along.dims[0]).to_numpy().reshape(-1, x.size)]
    names = (
        [f"{rest} {key:.4g}" if rest == "time" else str(key) for key in values[rest].to_numpy()]
        if several
        else [""]
    )
    for k, (y, bar, name) in enumerate(zip(table, bars, names)):
        axes.errorbar(
            x, y, bar, fmt="-" if k < len(COLOURS) else "--", ms=3, lw=0.9, capsize=1.5,
            marker="o" if x.size <= 60 else None, color=COLOURS[(k + 1) % len(COLOURS)],
            ecolor=GREY, label=name,
        )  # fmt: skip
    if several:
        axes.legend()
    if "probability" in str(values.attrs.get("long_name")):
        _logarithmic(axes, table, bars[0])
    axes.set(xlabel=_words(along, known), ylabel=fill(_words(values, known), 36))
    if x.size > 2 and x.min() > 0.0 and np.allclose(np.diff(np.log(x)), np.log(x[1] / x[0])):
        axes.set_xscale("log")
    else:  # so that numbers do not run into each other
        axes.locator_params(axis="x", nbins=6, integer=x.dtype.kind in "iu")


def _theory(axes: Axes, values: Any) -> None:
    """Draw a law as a line beside the data that it is compared with."""
    words = str(values.attrs.get("long_name", "theory")).replace("_", " ")
    axes.plot(_along(values).to_numpy(), values.to_numpy(), color=COLOURS[0], lw=1.2, label=words)
    axes.legend()


def _logarithmic(axes: Axes, y: Floats, bar: Floats | None) -> None:
    """Put a density that falls by decades on a logarithmic axis, with bars that end above zero."""
    some = y[y > 0.0]
    if some.size and some.max() > 30.0 * some.min():
        axes.set_yscale("log", nonpositive="mask" if bar is None else "clip")
        axes.set_ylim(0.4 * some.min(), 2.0 * some.max())


def _distribution(axes: Axes, values: Any, known: dict[str, str]) -> None:
    """Draw the probability density of a number of each grain or contact, with Poisson errors."""
    some = values.to_numpy().astype(float)
    some = some[np.isfinite(some)]
    axes.set(xlabel=_words(values, known), ylabel=f"probability density over {values.dims[-1]}s")
    if some.size == 0:
        return
    whole = np.array_equal(some, np.round(some)) and np.ptp(some) < 2 * BINS
    edges = np.histogram_bin_edges(some, min(BINS, max(5, int(math.sqrt(some.size)))))
    if whole:
        edges = np.arange(some.min() - 0.5, some.max() + 1.0)
    count = np.histogram(some, edges)[0]
    unit = 1.0 / (some.size * np.diff(edges))
    axes.stairs(count * unit, edges, color=COLOURS[1], fill=True, alpha=0.25)
    middle = 0.5 * (edges[1:] + edges[:-1])
    axes.errorbar(
        middle, count * unit, np.sqrt(count) * unit, fmt="o", ms=2.5, color=COLOURS[1], ecolor=GREY
    )
    _logarithmic(axes, count * unit, np.sqrt(count) * unit)


# ---------------------------------------------------------------------- maps
def _draw_maps(values: list[Any], title: str, units: str) -> Figure:
    """Draw maps in their true proportions; a grid in 3D is shown by its middle layer along y."""
    from matplotlib.figure import Figure

    known = symbols(units)
    first = values[0]
    across, up = _plane(first)
    span = [float(np.ptp(_edges(first[d].to_numpy()))) for d in (across, up)]
    inches = [max(1.3, MAP_EDGE * s / max(span)) for s in span]
    columns = max(1, min(len(values), 3 if inches[0] < 2.4 else 2))
    rows = -(-len(values) // columns)
    size = (columns * (inches[0] + 1.3) + 0.4, rows * (inches[1] + 0.8) + 0.4)
    with style():
        figure = Figure(figsize=size, layout="constrained")
        title = ", at ".join(filter(None, [title, _layer(first)]))
        if title:
            figure.suptitle(title, x=0.01, ha="left", weight="bold", size="medium")
        figure.set_layout_engine("constrained", h_pad=0.08, w_pad=0.1)
        for k, one in enumerate(values):
            axes = figure.add_subplot(rows, columns, k + 1)
            _map(axes, one, known)
            axes.set_title(fill(axes.get_title(loc="left"), int(13 * inches[0])))
            if k % columns:
                axes.set_ylabel("")
            if k + columns < len(values):
                axes.set_xlabel("")
    return figure


def _components(values: Any) -> list[Any]:
    """Scalars and vectors as they are, tensors by component."""
    rest = [d for d in values.dims if d not in SPACE]
    if len(rest) < 2:
        return [values]
    name = str(values.attrs.get("long_name", values.name))
    flat = values.stack(part=rest)
    parts = []
    for k, key in enumerate(flat["part"].to_numpy()):
        part = flat.isel(part=k, drop=True)
        part.attrs = values.attrs | {"long_name": f"{name}, {''.join(map(str, key))}"}
        parts.append(part)
    return parts


def _plane(values: Any) -> tuple[str, str]:
    space = _space(values)
    ordered = sorted(space)
    return (ordered[0], ordered[-1])


def _edges(middle: Floats) -> Floats:
    half = 0.5 * np.diff(middle)
    return np.concatenate([[middle[0] - half[0]], middle[:-1] + half, [middle[-1] + half[-1]]])


def _layer(values: Any) -> str:
    """Words that say where the middle layer of a grid in 3D lies; none in 2D."""
    if len(_space(values)) < 3:
        return ""
    return f"y = {float(values['y'][values.sizes['y'] // 2]):.3g}"


def _map(axes: Axes, values: Any, known: dict[str, str]) -> None:
    across, up = _plane(values)
    if _layer(values):
        values = values.isel(y=values.sizes["y"] // 2)
    rest = [d for d in values.dims if d not in (across, up)]
    shown, arrows = values, None
    if rest:  # it is a vector
        arrows = [values.sel({rest[0]: name}) for name in (across, up)]
        shown = np.sqrt((values**2).sum(rest[0], skipna=False))
    shown = shown.transpose(up, across)
    z = shown.to_numpy().astype(float)
    signed = bool(np.nanmin(z, initial=0.0) < -0.05 * np.nanmax(z, initial=1e-300))
    top = float(np.nanquantile(np.abs(z), 0.995)) if np.isfinite(z).any() else 1.0
    # A map is drawn as pixels, since a file with thousands of paths would be slow to open.
    drawn = axes.pcolormesh(
        _edges(values[across].to_numpy()), _edges(values[up].to_numpy()), z,
        cmap=colour_map("coolwarm") if signed else colour_map("viridis"),
        vmin=-top if signed else 0.0, vmax=top or 1.0, rasterized=True, shading="flat",
    )  # fmt: skip
    figure = axes.get_figure(root=True)
    assert figure is not None
    words = _words(values, known)
    if arrows is not None:
        words = words.replace(" [", ", magnitude [", 1) if " [" in words else f"{words}, magnitude"
        _arrows(axes, arrows, across, up)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.9, pad=0.02)
    bar.outline.set_visible(False)
    axes.set_title(words)
    axes.set(
        aspect="equal", xlabel=label(across, "length", known), ylabel=label(up, "length", known)
    )


def _arrows(axes: Axes, parts: list[Any], across: str, up: str) -> None:
    every = max(1, -(-max(parts[0].sizes[across], parts[0].sizes[up]) // ARROWS))
    u, v = (
        p.transpose(up, across).to_numpy()[every // 2 :: every, every // 2 :: every] for p in parts
    )
    x, y = (parts[0][d].to_numpy()[every // 2 :: every] for d in (across, up))
    axes.quiver(
        x, y, u, v, color="white", edgecolor="#22262b", linewidth=0.4, width=0.005, pivot="mid"
    )
