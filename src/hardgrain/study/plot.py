"""Pictures of a study: what was collected over its parameters, with error bars.

The axis of numbers with the most values lies along the picture; each combination of the others is a
curve. Points that were drawn are dots over each of the parameters. Vectors and tensors have a panel
for each component.
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
from hardgrain.show.style import COLOURS, GREY, label, new_figure, plain_ticks, style, symbols
from hardgrain.study.points import text_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_study", "read_table", "variables"]

CURVES = 8  # most curves of a panel; more cannot be told apart
PANELS = 12  # most panels of a picture


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


def draw_study(table: xr.Dataset, names: Sequence[str] = ()) -> Figure:
    """Draw variables of a table over the parameters; by default all that have a few numbers.

    A name may be that of a measurement, which stands for all its variables.
    """
    chosen = _chosen(table, names)
    panels = [panel for name in chosen for panel in _panels(table, name)]
    if not panels:
        raise InputError("there is nothing to draw: no parameter of the study is a number")
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


Panel = tuple[Any, Any, str, str]  # values, errors, the axis along the picture, words


def _panels(table: xr.Dataset, name: str) -> Iterator[Panel]:
    """A panel for each component of a variable and, of drawn points, for each parameter."""
    values, errors = table[name], table.get(f"{name}_error")
    axes = [str(d) for d in table["runs"].dims]
    if "seed" in values.dims:
        raise InputError("this table has the values of each seed; collect it without --each")
    own = [str(d) for d in values.dims if d not in axes]
    along = [n for n in _parameters(table) if table[n].dtype.kind in "iuf"]
    if axes != ["point"]:
        along = sorted(along, key=lambda n: -table.sizes[n])[:1]
    for place in itertools.product(*(range(values.sizes[d]) for d in own)):
        at = dict(zip(own, place))
        words = "".join(_component(values, d, k) for d, k in at.items())
        bars = None if errors is None else errors.isel(at)
        for axis in along:
            yield values.isel(at), bars, axis, words


def _parameters(table: xr.Dataset) -> list[str]:
    axes = set(table["runs"].dims)
    return [str(n) for n, c in table.coords.items() if c.dims and set(c.dims) <= axes]


def _component(values: Any, axis: str, k: int) -> str:
    if axis not in values.coords:
        return f", {axis} {k}"
    return f", {text_of(values[axis].to_numpy()[k].item())}"


def _draw(axes: Axes, panel: Panel, known: dict[str, str]) -> None:
    values, errors, along, words = panel
    x = values[along].to_numpy()
    name = str(values.attrs.get("long_name") or values.name)
    axes.set_xlabel(str(values[along].attrs.get("long_name", along)))
    axes.set_ylabel(fill(label(name + words, str(values.attrs.get("units", "")), known), 40))
    if values.dims == ("point",):
        bars = None if errors is None else errors.to_numpy()
        axes.errorbar(
            x, values.to_numpy(), bars, fmt="o", ms=3, color=COLOURS[1], ecolor=GREY, capsize=1.5
        )
        return
    others = [d for d in values.dims if d != along]
    places = list(itertools.product(*(range(values.sizes[d]) for d in others)))
    if len(places) > CURVES:
        places = [places[k] for k in np.linspace(0, len(places) - 1, CURVES).round().astype(int)]
    for k, place in enumerate(places):
        at = dict(zip(others, place))
        told = ", ".join(f"{d} {text_of(values[d].to_numpy()[j].item())}" for d, j in at.items())
        bars = None if errors is None else errors.isel(at).to_numpy()
        axes.errorbar(
            x, values.isel(at).to_numpy(), bars, fmt="o-" if k < len(COLOURS) - 1 else "s--", ms=3,
            lw=0.9, capsize=1.5, color=COLOURS[1 + k % (len(COLOURS) - 1)], label=told,
        )  # fmt: skip
    if others:
        axes.legend()
    if x.size > 2 and x[0] > 0.0 and np.allclose(np.diff(np.log(x)), np.log(x[1] / x[0])):
        axes.set_xscale("log")
