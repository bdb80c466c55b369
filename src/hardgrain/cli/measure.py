"""The command ``hardgrain measure``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hardgrain.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from hardgrain.measure.catalogue import Quantity

__all__ = ["measure"]


def measure(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A run file (.h5).")
    ] = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="What to measure, see --list.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List what can be measured; with names, their options.")
    ] = False,
    frame: Annotated[
        int | None, typer.Option(metavar="K", help="One frame, from 0; negative from the end.")
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(metavar="A:B:C", help="Frames A to B - 1 in steps of C; each may be left out. Default: all, or the last where a frame has many values."),  # noqa: E501
    ] = None,
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
    grid: Annotated[
        str | None, typer.Option(metavar="20x30", help="Cells of a field; 1x40: a profile.")
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y:X,Y", help="Two corners. Default: that of the scene.")
    ] = None,
    width: Annotated[
        float | None, typer.Option(metavar="W", help="Of the kernel of a field.")
    ] = None,
    bins: Annotated[int | None, typer.Option(metavar="N", help="Of a distribution.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Any other option of a quantity; may be given again."),  # noqa: E501
    ] = None,
) -> None:  # fmt: skip
    """Measure a run: energies, structure, forces, flow.

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
    given = {"grid": grid, "region": region}
    told = {name: parse(text) for name, text in given.items() if text is not None}
    told |= {n: x for n, x in (("width", width), ("bins", bins)) if x is not None}
    told |= dict(_setting(text) for text in options or [])
    for option in told:
        if not any(option in quantity.options for quantity in chosen.values()):
            raise InputError(_unknown(option, chosen))
    for path in (csv, json, nc):
        _writable(path, file)
    with RunFile(file) as run:
        which = _frames(frame, frames, len(run))
        found: dict[str, xr.Dataset] = {}
        for name, quantity in chosen.items():
            own = {option: x for option, x in told.items() if option in quantity.options}
            found[name] = by_name(run, name, which, **own)
    for path, text in ((csv, tables.as_csv), (json, tables.as_json)):
        if path is not None:
            _write(path, text(found))
    if nc is not None:
        tables.write_netcdf(nc, found, str(file))
        print(f"written: {nc}")
    if csv is None and json is None and nc is None:
        print(tables.as_text(found, {name: q.about for name, q in chosen.items()}))


# ---------------------------------------------------------------------- what was asked for
def _unknown(option: str, chosen: dict[str, Quantity]) -> str:
    known = {name: list(quantity.options) for name, quantity in chosen.items()}
    has = "; ".join(f"{n} has {', '.join(o) or 'none'}" for n, o in known.items())
    return f"there is no option {option!r} here; {has}"


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise InputError(f"--set is {text!r}; write OPTION=VALUE, such as --set bins=30")
    return name.strip(), parse(value.strip())


def parse(text: str) -> Any:
    """A value: true, 3, 0.5, 20x30 (whole numbers), 0,0:20,10 (corners), or a word."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"\d+(x\d+)+", text):
        return [int(k) for k in text.split("x")]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if ":" in text:
        try:
            return [[float(x) for x in corner.split(",")] for corner in text.split(":")]
        except ValueError:
            return text
    return text


def _frames(frame: int | None, frames: str | None, count: int) -> Sequence[int] | None:
    """The numbers of the frames; None: whatever the quantity does by itself."""
    if frame is not None and frames is not None:
        raise InputError("--frame and --frames are both given; one of them is enough")
    if frame is not None:
        return [frame]
    if frames is None:
        return None
    try:
        parts = [int(k) if k.strip() else None for k in frames.split(":")]
        if not 2 <= len(parts) <= 3:
            raise ValueError
        which = range(count)[slice(*parts)]
    except ValueError:
        raise InputError(
            f"--frames is {frames!r}; write A:B or A:B:C, such as 10: or 0:50:5"
        ) from None
    if not which:
        raise InputError(f"--frames is {frames!r}, which is none of the frames 0 to {count - 1}")
    return which


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
        for name, default in quantity.options.items():
            lines.append(
                f"  {name}, by default {'chosen by itself' if default is None else default}"
            )
    return "\n".join(lines)


# ---------------------------------------------------------------------- where it goes
def _writable(path: Path | None, file: Path) -> None:
    """Refuse what cannot be written before anything is measured."""
    if path is None or str(path) == "-":
        return
    if path.exists() and file.exists() and path.samefile(file):
        raise InputError(f"{path} is the run file itself; choose another name")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file name")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; create it first")


def _write(path: Path, text: str) -> None:
    if str(path) == "-":
        print(text, end="")
        return
    try:
        path.write_text(text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    print(f"written: {path}")
