"""The command ``hardgrain plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hardgrain.cli.options import (
    Bins,
    Colour,
    Frames,
    GridOption,
    LastFrame,
    Overwrite,
    Quiet,
    Region,
    Settings,
    View,
    Width,
    box_of,
    frames_of,
    own,
    told,
)
from hardgrain.errors import InputError

__all__ = ["plot"]


def plot(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A run file (.h5), or a table of a study (.nc)."),
    ] = None,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", help="Pictures by name; --list shows all. Default: packing."),  # noqa: E501
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg file. Default: FILE's name with -WHAT.png, here."),  # noqa: E501
    ] = None,
    frame: LastFrame = -1,
    frames: Frames = None,
    colour: Colour = "plain",
    lines: Annotated[
        str, typer.Option(metavar="KIND", help="Contacts of a packing: force, friction or none.")
    ] = "force",
    view: View = None,
    grid: GridOption = None,
    region: Region = None,
    width: Width = None,
    bins: Bins = None,
    settings: Settings = None,
    against: Annotated[
        str, typer.Option(metavar="NAME", help="Of a study: the variable along the picture, in place of a parameter.")  # noqa: E501
    ] = "",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    show: Annotated[bool, typer.Option("--list", help="List all there is to draw.")] = False,
) -> None:  # fmt: skip
    """Draw a run: the packing with its forces, time series, distributions, fields.

    A WHAT is a picture (packing, forces, energy, solver, rigidity, walls), a column of the run's
    history, or a measurement. Those over time share one figure; each other WHAT gets its own file.
    Of a study, WHAT is a variable of the table that `hardgrain collect` has written.

    \b
    Examples:
      hardgrain plot --list
      hardgrain plot silo.h5 packing --colour speed -o silo.pdf
      hardgrain plot silo.h5 kinetic residual force_bottom_y
      hardgrain plot silo.h5 flow.velocity --frames 20: -o velocity.pdf
      hardgrain plot study.nc coordination -o coordination.pdf
      hardgrain plot study.nc rheology --against rheology.inertial_number
    """
    from hardgrain.io.runfile import RunFile
    from hardgrain.io.whole import check_target
    from hardgrain.show import plots
    from hardgrain.show.style import check, save

    if file is None:
        if not show:
            raise InputError("FILE is missing; give a run file, or --list")
        print(plots.listing())
        return
    if file.suffix == ".nc":
        path = output or Path(f"{file.stem}.png")
        _plot_study(file, what or [], path, against, overwrite, show, quiet)
        return
    if against:
        raise InputError("--against is for tables of a study (.nc) only")
    names = what or ["packing"]
    with RunFile(file) as run:
        if show:
            print(plots.listing(run))
            return
        look: dict[str, Any] = {"colour": colour, "lines": lines, "box": box_of(view)}
        if "packing" not in names and look != {"colour": "plain", "lines": "force", "box": None}:
            raise InputError("--colour, --lines and --view are for the picture packing only")
        groups = plots.together(run, names)
        options = told(names, settings, grid, region, width, bins)
        which: dict[str, Any] = {"frame": frame, "frames": frames_of(frames, len(run))}
        paths = [output or Path(f"{file.stem}-{group[0]}.png") for group in groups]
        if output is not None and len(groups) > 1:
            paths = [output.with_name(f"{output.stem}-{g[0]}{output.suffix}") for g in groups]
        for path in paths:
            check(path)
            check_target(path, file, overwrite)
        for group, path in zip(groups, paths, strict=True):
            extra = look if group == ["packing"] else {}
            save(plots.draw(run, *group, options=own(group, options), **which, **extra), path)
            if not quiet:
                print(f"written: {path}")


def _plot_study(
    file: Path,
    names: list[str],
    path: Path,
    against: str,
    overwrite: bool,
    show: bool,
    quiet: bool,
) -> None:
    """Draw the table of a study, all variables in one figure."""
    from hardgrain.io.whole import check_target
    from hardgrain.show.style import check, save
    from hardgrain.study.plot import draw_study, read_table, variables

    table = read_table(file)
    if show:
        for name in variables(table):
            print(f"{name}  {table[name].attrs.get('long_name', '')}".rstrip())
        return
    check(path)
    check_target(path, file, overwrite)
    save(draw_study(table, names, against), path)
    if not quiet:
        print(f"written: {path}")
