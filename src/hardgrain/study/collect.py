"""Measurements of all runs of a study as one labelled table, with mean and error over the seeds.

A grid of parameters becomes the axes of the table; points that were drawn lie along one axis,
``point``, with the parameters as labels. The error is that of the mean, the standard deviation of
the seeds over the root of their number. Where there is only one, it is the error that the
measurement itself gives, such as ``effective_friction_error`` of ``rheology``, or else NaN.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hardgrain
from hardgrain.errors import HardgrainError, InputError
from hardgrain.extras import needed
from hardgrain.io.runfile import RunFile
from hardgrain.io.whole import check_target, whole
from hardgrain.measure.catalogue import find, measure, quantities
from hardgrain.measure.snapshot import snapshot
from hardgrain.parallel import pmap
from hardgrain.study.folder import Folder
from hardgrain.study.points import Point, text_of

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SUMMARY", "collect", "rows", "write_table"]

SUMMARY = "summary"  # in place of a measurement: all single numbers of the closing summary
# [1] Fewer runs are measured by this process alone, before others would have started.
FEW = 48


@dataclass(frozen=True)
class Wanted:
    """What is measured of each run."""

    names: tuple[str, ...]  # measurements, or one variable of one by a dot
    frame: int
    frames: str | None
    options: dict[str, Any]


@dataclass
class Column:
    """A variable of one run, with the axes that it has of its own."""

    values: Any  # array
    dims: tuple[str, ...]
    coords: dict[str, Any]
    attrs: dict[str, Any]

    def like(self, other: Column) -> bool:
        """Whether two runs have this variable at the same places."""
        return (
            self.dims == other.dims
            and self.values.shape == other.values.shape
            and self.coords.keys() == other.coords.keys()
            and all(np.array_equal(c, other.coords[name]) for name, c in self.coords.items())
        )


Columns = dict[str, Column]


def collect(
    folder: Folder,
    names: Sequence[str],
    *,
    frame: int = -1,
    frames: str | None = None,
    each: bool = False,
    options: Mapping[str, Any] | None = None,
    workers: int | None = 1,
) -> xr.Dataset:
    """The table of a study; see `hardgrain.Study.collect`."""
    needed("xarray")
    known = quantities()
    words = [n for n in names if n.partition(".")[0] not in (*known, SUMMARY)]
    if words and "." in words[0]:
        find(words[0].partition(".")[0])  # it says that there is none
    points = folder.points
    done = [k for k, row in folder.states().items() if row["state"] == "done" and k in points]
    if not done:
        raise InputError(f"no point of {folder.path} is done; run it first: hardgrain sweep")
    if words:
        names = [_variable(folder.of(done[0]), n) if n in words else n for n in names]
    wanted = Wanted(tuple(dict.fromkeys(names)), frame, frames, dict(options or {}))
    found = pmap(
        partial(_of_run, folder.path.absolute(), wanted), done, 1 if len(done) < FEW else workers
    )
    refused = [one for one in found if isinstance(one, str)]
    if len(refused) == len(found):
        raise InputError(refused[0])
    runs = {k: one for k, one in zip(done, found) if not isinstance(one, str)}
    table = _table(folder, runs, each)
    table.attrs["missing"] = len(points) - len(runs)
    if refused:
        table.attrs["refused"] = f"{len(refused)}: {refused[0]}"
    return table


def _variable(folder: Path, word: str) -> str:
    """A variable of some measurement by its name alone, as the first run has it."""
    found = []
    with RunFile(folder / "run.h5") as run:
        last = snapshot(run, -1)
        for name, quantity in quantities().items():
            if quantity.small and not quantity.whole:
                with contextlib.suppress(HardgrainError):  # it has no meaning for this run
                    found += [name] * (word in quantity.compute(last).data_vars)
    if not found:
        find(word)  # it says that there is none, and what is near
    if len(found) > 1:
        told = " or ".join(f"{name}.{word}" for name in found)
        raise InputError(f"{word} is part of several measurements; give {told}")
    return f"{found[0]}.{word}"


def _of_run(path: Path, wanted: Wanted, key: str) -> Columns | str:
    """All variables of one run, or the sentence that says why there are none."""
    try:
        return _measured(path / "points" / key, wanted)
    except HardgrainError as error:
        return str(error).rstrip(".")


def _measured(folder: Path, wanted: Wanted) -> Columns:
    found: Columns = {}
    with contextlib.ExitStack() as stack:
        run: RunFile | None = None  # a summary alone needs none
        for name in wanted.names:
            quantity, _, variable = name.partition(".")
            if quantity == SUMMARY:
                columns = _figures(folder / "summary.json")
            else:
                run = run or stack.enter_context(RunFile(folder / "run.h5"))
                columns = _variables(run, quantity, wanted)
            if variable and variable not in columns:
                raise InputError(
                    f"there is no {variable!r} in {quantity}; it has {', '.join(columns)}"
                )
            chosen = {variable: columns[variable]} if variable else columns
            found |= {f"{quantity}.{v}": column for v, column in chosen.items()}
    return found


def _figures(path: Path) -> Columns:
    """The numbers of a summary, and its yes and no as 1 and 0."""
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))[SUMMARY]
    except (OSError, ValueError, LookupError):
        raise InputError(
            f"{path} cannot be read, though the index says that it is there; hardgrain sweep"
            f" {path.parents[2]} --rebuild looks again"
        ) from None
    return {
        name: Column(np.asarray(float(value)), (), {}, {"long_name": name.replace("_", " ")})
        for name, value in figures.items()
        if isinstance(value, int | float)
    }


def _variables(run: RunFile, name: str, wanted: Wanted) -> Columns:
    """The variables of a measurement, of one frame or as the mean over several."""
    quantity = find(name)
    own = {k: v for k, v in wanted.options.items() if k in quantity.options}
    count = len(run)
    if wanted.frames is None:
        if not -count <= wanted.frame < count:
            raise InputError(f"frame is {wanted.frame}; {run.path} has frames 0 to {count - 1}")
        chosen = None if quantity.whole else [wanted.frame % count]
    else:
        parts = [int(p) if p.strip() else None for p in wanted.frames.split(":")]
        chosen = [*range(count)[slice(*parts)]]
        if not chosen:
            raise InputError(f"frames is {wanted.frames!r}, which is no frame of {run.path}")
    data = measure(run, name, chosen, **own)
    found = {}
    for variable, values in data.data_vars.items():
        if values.dtype.kind not in "iufb":
            continue
        if "time" in values.dims and not (quantity.whole and values.sizes["time"] > 1):
            values = values.astype(float).mean("time", skipna=False, keep_attrs=True)
        coords = {str(d): values[d].to_numpy() for d in values.dims if d in values.coords}
        dims = tuple(map(str, values.dims))
        found[str(variable)] = Column(
            values.to_numpy().astype(float), dims, coords, dict(values.attrs)
        )
    return found


# ---------------------------------------------------------------------- the table
def _table(folder: Folder, runs: dict[str, Columns], each: bool) -> xr.Dataset:
    import xarray as xr

    plan, points = folder.plan, folder.points
    axes: dict[str, Any] = {}
    if plan.design == "grid":
        axes = {name: _labels(one.steps()) for name, one in plan.parameters.items()}
        dims, shape = tuple(axes), tuple(len(v) for v in axes.values())
    else:
        assert plan.points is not None
        dims, shape = ("point",), (plan.points,)
        drawn: list[Any] = [{}] * plan.points
        for point in points.values():
            drawn[point.place[0]] = point.values
        axes = {n: ("point", _labels([values[n] for values in drawn])) for n in plan.parameters}
    about = {n: {"long_name": n, "field": ", ".join(p.fields)} for n, p in plan.parameters.items()}
    table = xr.Dataset(coords=axes)
    for name, attrs in about.items():
        table[name].attrs = attrs
    table.attrs = {
        "title": plan.title or str(dict(plan.scenario).get("title", "")),  # type: ignore[arg-type]
        "units": str(dict(plan.scenario).get("units", "")),  # type: ignore[arg-type]
        "study": folder.path.absolute().name,
        "history": f"hardgrain {hardgrain.__version__} collect",
    }
    count = np.zeros(shape, int)
    for key in runs:
        count[points[key].place] += 1
    table["runs"] = (dims, count, {"units": "1", "long_name": "number of runs"})
    names = dict.fromkeys(name for columns in runs.values() for name in columns)
    for name in names:
        if not each and name.endswith("_error") and name.removesuffix("_error") in names:
            continue  # it tells how well its run is known, see below
        columns = {key: one[name] for key, one in runs.items() if name in one}
        values, own, coords, attrs = _stacked(columns, points, shape, plan.seeds)
        table, own = _with_axes(table, name, own, coords)
        if each:
            table[name] = ((*dims, "seed", *own), values, attrs)
            continue
        mean, error = _mean(values, len(shape))
        if f"{name}_error" in names:
            columns = {k: one[f"{name}_error"] for k, one in runs.items() if name in one}
            alone, _ = _mean(_stacked(columns, points, shape, plan.seeds)[0], len(shape))
            error = np.where(np.isfinite(values).sum(len(shape)) == 1, alone, error)
        table[name] = ((*dims, *own), mean, attrs)
        words = f"error of the mean of {attrs.get('long_name', name)}"
        table[f"{name}_error"] = ((*dims, *own), error, attrs | {"long_name": words})
    return table


def _labels(values: Sequence[Any]) -> list[Any]:
    """Values of a parameter as labels of an axis: numbers, or else words."""
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return list(values)
    return [text_of(v) for v in values]


def _stacked(
    columns: dict[str, Column], points: dict[str, Point], shape: tuple[int, ...], seeds: int
) -> tuple[Any, tuple[str, ...], dict[str, Any], dict[str, Any]]:
    """A variable of all runs as one array: axes of the study, seed, own axes; NaN if missing."""
    first = next(iter(columns.values()))
    if not all(one.like(first) for one in columns.values()):
        columns = _aligned(columns)
        first = next(iter(columns.values()))
    values = np.full((*shape, seeds, *first.values.shape), math.nan)
    for key, one in columns.items():
        values[(*points[key].place, points[key].number)] = one.values
    return values, first.dims, first.coords, first.attrs


def _aligned(columns: dict[str, Column]) -> dict[str, Column]:
    """Variables with axes of different places, brought to all places that any of them has."""
    import xarray as xr

    arrays = [
        xr.DataArray(one.values, dims=one.dims, coords=one.coords) for one in columns.values()
    ]
    try:
        together = xr.align(*arrays, join="outer")
    except ValueError:  # axes without labels, of different lengths
        raise InputError(
            "the runs have different numbers of values, which no table can hold; choose single"
            " variables by a dot, such as stress.pressure"
        ) from None
    found = {}
    for (key, one), array in zip(columns.items(), together):
        coords = {str(d): array[d].to_numpy() for d in array.dims if d in array.coords}
        found[key] = Column(array.to_numpy(), tuple(map(str, array.dims)), coords, one.attrs)
    return found


def _with_axes(
    table: xr.Dataset, name: str, own: tuple[str, ...], coords: dict[str, Any]
) -> tuple[xr.Dataset, tuple[str, ...]]:
    """Give the table the axes of a variable; one whose name is taken is renamed after it."""
    named = []
    for axis in own:
        label = axis
        known = table.coords.get(axis)
        other = axis in table.sizes and (
            known is None or axis not in coords or not np.array_equal(known, coords[axis])
        )
        if other or (axis in (*table.coords, "seed", "point") and known is None):
            label = f"{name}.{axis}"
        if axis in coords and label not in table.coords:
            table = table.assign_coords({label: coords[axis]})
        named.append(label)
    return table, tuple(named)


def _mean(values: Any, axis: int) -> tuple[Any, Any]:
    """Mean over the seeds that there are, and its error."""
    known = np.isfinite(values)
    n = known.sum(axis)
    with np.errstate(all="ignore"):
        mean = np.where(known, values, 0.0).sum(axis) / n
        apart = np.where(known, values - np.expand_dims(mean, axis), 0.0)
        error = np.sqrt((apart**2).sum(axis) / (n - 1) / n)
    return np.where(n > 0, mean, math.nan), np.where(n > 1, error, math.nan)


# ---------------------------------------------------------------------- for files and readers
def write_table(table: xr.Dataset, path: Path) -> None:
    """Write the table as netCDF (.nc) or as text (.csv), whole or not at all."""
    check_target(path)
    if path.suffix == ".nc":
        needed("h5netcdf")
        with whole(path) as part:
            table.to_netcdf(part, engine="h5netcdf")
        return
    if path.suffix != ".csv":
        raise InputError(f"{path} does not end in .nc or .csv, as a table must")
    with whole(path) as part:
        table.to_dataframe().reset_index().to_csv(part, index=False)


def rows(table: xr.Dataset) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table for readers: parameters, and single numbers with their errors."""
    from hardgrain.show.page import number

    axes = table["runs"].dims
    names = [str(n) for n in table.data_vars if not str(n).endswith("_error") and n != "runs"]
    names = [n for n in names if table[n].dims == axes]
    labels = [str(n) for n in table.coords if set(table[n].dims) <= set(axes) and table[n].dims]
    labels = [n for n in labels if n != "point"]
    found = []
    for place in np.ndindex(*table["runs"].shape):
        at = dict(zip(axes, place))
        row = [text_of(table[n].isel({d: at[d] for d in table[n].dims}).item()) for n in labels]
        for name in names:
            row.append(number(*(float(table[v].isel(at)) for v in (name, f"{name}_error"))))
        found.append([*row, str(int(table["runs"].isel(at)))])
    return [*labels, *names, "runs"], found
