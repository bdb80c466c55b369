"""Labelled data as text for a reader, as CSV, JSON and netCDF."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hardgrain
from hardgrain.cli.force_facts import as_csv as table_as_csv
from hardgrain.io.json_text import json_text
from hardgrain.io.whole import whole

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["as_csv", "as_json", "as_text", "write_netcdf"]

Measured = Mapping[str, "xr.Dataset"]

# dimensions that count the components of a vector or tensor
WIDE = ("component", "direction", "about", "rank")
ROWS, HEAD = 20, 5  # rows of a table on the screen; a longer one shows so many at either end
LONG = 2000  # [rows] longer tables are summed up instead, and fields always


# ---------------------------------------------------------------------- for a reader
def as_text(found: Measured, about: Mapping[str, str]) -> str:
    """Text that has small tables in full and large ones summed up."""
    parts = []
    for name, data in found.items():
        notes = "".join(
            f"; {str(k).replace('_', ' ')}: {_figure(v)}" for k, v in data.attrs.items()
        )
        parts.append("\n".join([f"{name}: {about[name]}{notes}", *_tables(data)]))
    return "\n\n".join(parts)


def _tables(data: xr.Dataset) -> Iterator[str]:
    """Tables: one for single figures, and one for each set of dimensions that figures run over."""
    if data.sizes.get("time") == 1:
        yield f"  time {_figure(float(data.time[0]))}" if "time" in data.coords else ""
        data = data.squeeze("time", drop=True)
    single, groups = [], dict[tuple[str, ...], list[str]]()
    for name, values in _flat(data).items():
        if values.ndim == 0:
            single.append((str(name), values))
        else:
            groups.setdefault(tuple(map(str, values.dims)), []).append(str(name))
    flat = _flat(data)
    width = max((len(name) for name, _ in single), default=0)
    for name, values in single:
        words = ", ".join(filter(None, [_units(values), str(values.attrs.get("long_name", ""))]))
        yield f"  {name:<{width}}  {_figure(values.item()):<12} {words}{_degrees(values)}"
    told = {name: values for name, values in data.items() if values.ndim}
    width = max((len(str(name)) for name in told), default=0)
    for name, values in told.items():
        words = ", ".join(filter(None, [_units(values), str(values.attrs.get("long_name", ""))]))
        yield f"  {name!s:<{width}}  {words}".rstrip()
    for dims, names in groups.items():
        yield from _rows(flat[names], dims)


def _rows(data: xr.Dataset, dims: tuple[str, ...]) -> Iterator[str]:
    count = math.prod(data.sizes[d] for d in dims)
    size = " x ".join(f"{data.sizes[d]} {d}" for d in dims)
    if count > LONG or (count > ROWS and len(dims) > 1 and "time" not in dims):
        yield f"  over {size} (all values: --csv, --json or --nc FILE)"
        width = max(len(str(name)) for name in data)
        yield f"  {'':<{width}}  {'least':>12} {'mean':>12} {'greatest':>12}"
        for name, values in data.items():
            x = np.asarray(values.values, dtype=float)
            x = x[np.isfinite(x)]
            three = [x.min(), x.mean(), x.max()] if x.size else [math.nan] * 3
            figures = " ".join(f"{_figure(float(f)):>12}" for f in three)
            yield f"  {name!s:<{width}}  {figures}  {_units(values)}".rstrip()
        return
    shown = range(count) if count <= ROWS else [*range(HEAD), *range(count - HEAD, count)]
    columns = [[name, *(_figure(x[k]) for k in shown)] for name, x in _columns(data).items()]
    gap = f"  … {count - 2 * HEAD} rows more (all: --csv, --json or --nc FILE)"
    for block in _blocks(columns, len(dims)):
        for k, row in enumerate(zip(*block)):
            if count > ROWS and k == HEAD + 1:
                yield gap
            yield "  " + "  ".join(row)


def _blocks(columns: list[list[str]], labels: int) -> Iterator[list[list[str]]]:
    """Lay out columns as wide as their entries, as many as fit a line, each time with labels."""
    most = max(shutil.get_terminal_size((100, 24)).columns, 60)
    even = [[f"{x:>{max(map(len, column))}}" for x in column] for column in columns]
    first, rest = even[:labels], even[labels:]
    while rest:
        block = list(first)
        while rest and (
            len(block) == labels or sum(len(c[0]) + 2 for c in [*block, rest[0]]) <= most
        ):
            block.append(rest.pop(0))
        yield block


def _units(values: xr.DataArray) -> str:
    units = str(values.attrs.get("units", ""))
    return "" if units == "1" else units


def _degrees(values: xr.DataArray) -> str:
    known = _units(values) == "radian" and math.isfinite(values.item())
    return f" ({math.degrees(values.item()):.4g}°)" if known else ""


def _figure(x: Any) -> str:
    if isinstance(x, bool | np.bool_):
        return "yes" if x else "no"
    return f"{x + 0.0:.5g}" if isinstance(x, float | np.floating) else str(x)  # avoids −0


# ---------------------------------------------------------------------- tables
def _flat(data: xr.Dataset) -> xr.Dataset:
    """Split vectors and tensors into a variable for each component, such as stress_xy."""
    import xarray as xr

    columns: dict[str, xr.DataArray] = {}
    for name, values in data.items():
        for label, part in _components(values):
            columns[f"{name}_{label}" if label else str(name)] = part
    return xr.Dataset(columns, attrs=data.attrs)


def _components(values: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    wide = [d for d in values.dims if d in WIDE]
    if not wide:
        yield "", values
        return
    for label in values.coords[wide[0]].values:
        part = values.sel({wide[0]: label}, drop=True)
        for rest, piece in _components(part):
            yield f"{label}{rest}", piece


def _columns(data: xr.Dataset) -> dict[str, list[Any]]:
    """Columns with a row for each place along all dimensions; constant figures are repeated."""
    sizes = {str(d): k for d, k in data.sizes.items()}
    places = np.meshgrid(*(data[d].values for d in sizes), indexing="ij") if sizes else []
    columns = {d: x.ravel().tolist() for d, x in zip(sizes, places)}
    if len(sizes) == 1:  # what else there is to say of each place, such as its time
        beside = {n: c for n, c in data.coords.items() if n not in sizes and c.ndim == 1}
        columns |= {str(n): c.values.tolist() for n, c in beside.items()}
    for name, values in data.items():
        missing = {d: k for d, k in sizes.items() if d not in values.dims}
        whole = values.expand_dims(missing).transpose(*sizes)
        columns[str(name)] = whole.values.ravel().tolist()
    return columns


def as_csv(found: Measured) -> str:
    """Write one quantity with a column for each figure, several with one labelled value a row."""
    if len(found) == 1:
        return table_as_csv(_columns(_flat(next(iter(found.values())))))
    parts: list[dict[str, list[Any]]] = []
    for quantity, data in found.items():
        for name, values in _flat(data).items():
            part = _columns(values.reset_coords(drop=True).to_dataset(name="value"))
            count = len(part["value"])
            units = str(values.attrs.get("units", ""))
            label = {"quantity": [quantity], "variable": [str(name)], "units": [units]}
            parts.append({k: v * count for k, v in label.items()} | part)
    names = dict.fromkeys(name for part in parts for name in part if name != "value")
    table = {
        name: [x for part in parts for x in part.get(name, [""] * len(part["value"]))]
        for name in [*names, "value"]
    }
    return table_as_csv(table)


# ---------------------------------------------------------------------- for programs
def as_json(found: Measured) -> str:
    """Write strict JSON: variables with their dimensions and units, and coordinates apart."""
    return json_text({name: _plain(data) for name, data in found.items()}) + "\n"


def _plain(data: xr.Dataset) -> dict[str, Any]:
    return {
        "attributes": {str(k): np.asarray(v).tolist() for k, v in data.attrs.items()},
        "coordinates": {str(n): c.values.tolist() for n, c in data.coords.items()},
        "variables": {
            str(n): {"dims": list(map(str, v.dims)), **_words(v), "values": v.values.tolist()}
            for n, v in data.items()
        },
    }


def _words(values: xr.DataArray) -> dict[str, str]:
    return {k: str(values.attrs[k]) for k in ("units", "long_name") if k in values.attrs}


def write_netcdf(path: Path, found: Measured, file: str) -> None:
    """Write one quantity at the root of the file, several as groups with their names."""
    about = {"source": file, "history": f"hardgrain {hardgrain.__version__} measure"}
    with whole(path) as part:
        for k, (name, data) in enumerate(found.items()):
            group = name if len(found) > 1 else None
            data.assign_attrs(about | {"quantity": name}).to_netcdf(
                part, mode="a" if k else "w", group=group, engine="h5netcdf"
            )
