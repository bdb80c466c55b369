"""The command ``hardgrain measure``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardgrain.cli.options import (
    Bins,
    Frames,
    GridOption,
    Overwrite,
    Region,
    Settings,
    Width,
    frames_of,
    own,
    told,
)
from hardgrain.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from hardgrain.measure.catalogue import Quantity

__all__ = ["measure"]

PRINTED = Path("-")  # a dash in place of a file means the screen


def measure(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A run file (.h5).")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="What to measure, see --list.")
    ] = None,
    *,
    show: Annotated[
        bool, typer.Option("--list", help="List what can be measured; with names, their options.")
    ] = False,
    frame: Annotated[
        int | None,
        typer.Option(metavar="K", help="One frame, from 0; negative counts from the end."),
    ] = None,
    frames: Frames = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a table; of several quantities, one value a row. -: print it."),  # noqa: E501
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JSON. -: print it.")
    ] = None,
    nc: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write netCDF, which xarray opens; of several quantities, a group each."),  # noqa: E501
    ] = None,
    overwrite: Overwrite = False,
    grid: GridOption = None,
    region: Region = None,
    width: Width = None,
    bins: Bins = None,
    settings: Settings = None,
) -> None:  # fmt: skip
    """Measure a run: energies, structure, forces, flow.

    Without --frame or --frames it is measured in every frame, or in the last where a frame has
    many values.

    \b
    Examples:
      hardgrain measure --list
      hardgrain measure --list flow-rate janssen
      hardgrain measure silo.h5 coordination stress
      hardgrain measure silo.h5 force-distribution --frames 20: --csv forces.csv
      hardgrain measure silo.h5 flow --grid 1x40 --nc profile.nc
      hardgrain measure silo.h5 flow-rate --set at=22 --set within=-3:3
    """
    from hardgrain.cli import measure_tables as tables
    from hardgrain.io.runfile import RunFile
    from hardgrain.io.whole import check_target
    from hardgrain.measure.catalogue import find, quantities
    from hardgrain.measure.catalogue import measure as by_name

    wanted = list(names or [])
    if show:
        wanted = [*([str(file)] if file else []), *wanted]
        print(_explain([find(name) for name in wanted]) if wanted else _listed(quantities()))
        return
    if file is None or not wanted:
        raise InputError("measure needs a run file and what to measure; hardgrain measure --list")
    chosen = {name: find(name) for name in wanted}
    options = told(chosen, settings, grid, region, width, bins)
    for path in (csv, json, nc):
        if path is not None and path != PRINTED:
            check_target(path, file, overwrite)
    with RunFile(file) as run:
        which = _frames(frame, frames, len(run))
        found: dict[str, xr.Dataset] = {}
        for name in chosen:
            found[name] = by_name(run, name, which, **own([name], options))
    for path, text in ((csv, tables.as_csv), (json, tables.as_json)):
        if path is not None:
            _write(path, text(found))
    if nc is not None:
        tables.write_netcdf(nc, found, str(file))
        print(f"written: {nc}")
    if csv is None and json is None and nc is None:
        print(tables.as_text(found, {name: q.about for name, q in chosen.items()}))


# ---------------------------------------------------------------------- what was asked for
def _frames(frame: int | None, frames: str | None, count: int) -> Sequence[int] | None:
    """The numbers of the frames, or None for the default of each quantity."""
    if frame is not None and frames is not None:
        raise InputError("--frame and --frames are both given; one of them is enough")
    if frame is not None:
        return [frame]
    return frames_of(frames, count)


def _listed(known: dict[str, Quantity]) -> str:
    width = max(map(len, known))
    lines = [f"{name:<{width}}  {quantity.about}" for name, quantity in known.items()]
    more = "Options of a quantity: hardgrain measure --list NAME"
    return "\n".join([*lines, "", more])


def _explain(chosen: list[Quantity]) -> str:
    lines = []
    for quantity in chosen:
        lines.append(f"{quantity.name}: {quantity.about}")
        if not quantity.whole:
            over = "every frame" if quantity.small else "the last frame"
            lines.append(f"  of {over}, unless told")
        if quantity.contacts:
            lines.append("  needs frames that hold contacts")
        lines += [f"  {name}: {quantity.default(name)}" for name in quantity.options]
    return "\n".join(lines)


def _write(path: Path, text: str) -> None:
    from hardgrain.io.whole import whole

    if path == PRINTED:
        print(text, end="")
        return
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")
    print(f"written: {path}")
