"""Pictures of a study: what was collected over its parameters, with error bars.

The axis of numbers with the most values lies along the picture; each combination of the others is a
curve. Points that were drawn are dots over each of the parameters. Vectors and tensors have a panel
for each component. Another single number of the table may take the place of the parameter, with its
own error bars: friction against inertial number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from hardgrain.errors import InputError
from hardgrain.extras import needed
from hardgrain.show.data import in_degrees
from hardgrain.show.style import COLOURS, GREY, label, new_figure, plain_ticks, style, symbols
from hardgrain.study.points import text_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_study", "read_table", "variables"]

CURVES = 8  # most curves of a panel; more cannot be told apart
PANELS = 12  # most panels of a picture
DECADE = 10.0  # measured numbers that span more lie along a logarithmic axis


def read_table(path: str | Path) -> xr.Dataset:
    """A table that ``hardgrain collect`` has written."""
    needed("xarray")
    needed("h5netcdf")
    import xarray as xr

    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist; give a table that hardgrain collect has written")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as file:
            table = file.load()
    except Exception:  # each version of the readers has its own
        raise InputError(f"{path} is not a netCDF file that can be read") from None
    if "runs" not in table:
        raise InputError(f"{path} is not a table of a study; hardgrain collect writes them")
    return table


def variables(table: xr.Dataset) -> list[str]:
    """What a table has to draw."""
    names = [str(n) for n in table.data_vars if n != "runs" and not str(n).endswith("_error")]
    return names


def draw_study(table: xr.Dataset, names: Sequence[str] = (), against: str = "") -> Figure:
    """Draw variables of a table over the parameters; by default all that have a few numbers.

    A name may be that of a measurement, which stands for all its variables. ``against`` names the
    variable that lies along the picture in place of a parameter.
    """
    table = in_degrees(table)
    if against:
        _check_against(table, against)
    chosen = [name for name in _chosen(table, names) if name != against]
    panels = [panel for name in chosen for panel in _panels(table, name, against)]
    if not panels:
        raise InputError(
            "there is nothing to draw: no parameter of the study is a number; --against names a"
            " variable to draw over"
        )
    if len(panels) > PANELS:
        if names:
            raise InputError(
                f"these are {len(panels)} panels; choose at most {PANELS} of {', '.join(variables(table))}"  # noqa: E501
            )
        panels = panels[:PANELS]
    columns = 1 if len(panels) == 1 else 2 if len(panels) <= 6 else 3
    count = -(-len(panels) // columns)
    known = symbols(str(table.attrs.get("units", "")))
    with style():
        figure, _ = new_figure(count, columns, 4.2, 3.0, squeeze=False)
        if title := str(table.attrs.get("title", "")):
            figure.suptitle(title, x=0.01, ha="left", weight="bold", size="medium")
        for axes, panel in itertools.zip_longest(figure.axes, panels):
            if panel is None:
                axes.remove()
            else:
                _draw(axes, panel, known)
        plain_ticks(figure)
    return figure


def _chosen(table: xr.Dataset, names: Sequence[str]) -> list[str]:
    there = variables(table)
    if not names:
        axes = set(table["runs"].dims)
        few = [n for n in there if set(table[n].dims) <= axes]
        told = [n for n in few if not n.startswith("summary.")]
        varied = [n for n in told or few if float(table[n].std()) > 0.0]
        return varied or told or few or there
    found = []
    for name in names:
        some = [n for n in there if n == name or n.partition(".")[0] == name]
        if not some:
            raise InputError(f"there is no {name!r} in this table; it has {', '.join(there)}")
        found += some
    return list(dict.fromkeys(found))


def _check_against(table: xr.Dataset, against: str) -> None:
    axes, there = set(table["runs"].dims), variables(table)
    single = [n for n in there if set(table[n].dims) == axes]
    if against not in single:
        raise InputError(
            f"--against is {against!r}; give a single number of this table: {', '.join(single)}"
        )


# values, their errors, the axis along the picture, what lies along it with its errors, words
Panel = tuple[Any, Any, str, Any, Any, str]


def _panels(table: xr.Dataset, name: str, against: str) -> Iterator[Panel]:
    """A panel for each component of a variable and, of drawn points, for each parameter."""
    values, errors = table[name], table.get(f"{name}_error")
    axes = [str(d) for d in table["runs"].dims]
    if "seed" in values.dims:
        raise InputError("this table has the values of each seed; collect it without --each")
    own = [str(d) for d in values.dims if d not in axes]
    along = [n for n in _parameters(table) if table[n].dtype.kind in "iuf"]
    if against and axes == ["point"]:
        along = ["point"]
    elif axes != ["point"]:
        along = sorted(along or axes, key=lambda n: -table.sizes[n])[: 1 if along or against else 0]
    for place in itertools.product(*(range(values.sizes[d]) for d in own)):
        at = dict(zip(own, place))
        words = "".join(_component(values, d, k) for d, k in at.items())
        bars = None if errors is None else errors.isel(at)
        for axis in along:
            x, wide = table[against or axis], table.get(f"{against}_error") if against else None
            yield values.isel(at), bars, axis, x, wide, words


def _parameters(table: xr.Dataset) -> list[str]:
    axes = set(table["runs"].dims)
    return [str(n) for n, c in table.coords.items() if c.dims and set(c.dims) <= axes]


def _component(values: Any, axis: str, k: int) -> str:
    if axis not in values.coords:
        return f", {axis} {k}"
    return f", {text_of(values[axis].to_numpy()[k].item())}"


def _draw(axes: Axes, panel: Panel, known: dict[str, str]) -> None:
    values, errors, along, x, wide, words = panel
    name = str(values.attrs.get("long_name") or values.name)
    told = str(x.attrs.get("long_name", x.name))
    axes.set_xlabel(label(told, str(x.attrs.get("units", "1")), known))
    axes.set_ylabel(fill(label(name + words, str(values.attrs.get("units", "")), known), 40))
    others = [d for d in values.dims if d != along]
    places = list(itertools.product(*(range(values.sizes[d]) for d in others)))
    if len(places) > CURVES:
        places = [places[k] for k in np.linspace(0, len(places) - 1, CURVES).round().astype(int)]
    lines = "o" if values.dims == ("point",) else "o-"
    for k, place in enumerate(places):
        at = dict(zip(others, place))
        told = ", ".join(f"{d} {text_of(values[d].to_numpy()[j].item())}" for d, j in at.items())
        px, py, bars, wide_bars = (_at(one, at) for one in (x, values, errors, wide))
        axes.errorbar(
            px, py, bars, wide_bars, fmt=lines if k < len(COLOURS) - 1 else "s--", ms=3, lw=0.9,
            capsize=1.5, color=COLOURS[1 + k % (len(COLOURS) - 1)], label=told,
            ecolor=GREY if lines == "o" else None,
        )  # fmt: skip
    if others:
        axes.legend()
    if _by_factors(x.to_numpy().ravel(), wide is not None):
        axes.set_xscale("log")


def _at(values: Any, place: dict[Any, int]) -> Any:
    """The numbers of one curve, if there are any."""
    return None if values is None else values.isel(place, missing_dims="ignore").to_numpy()


def _by_factors(x: Any, measured: bool) -> bool:
    """Whether numbers along an axis differ by equal factors; if they were measured, by decades."""
    x = x[np.isfinite(x)]
    if x.size < 3 or x.min() <= 0.0:
        return False
    if measured:
        return bool(x.max() > DECADE * x.min())
    return bool(x[0] > 0.0 and np.allclose(np.diff(np.log(x)), np.log(x[1] / x[0])))
