"""The command ``hardgrain plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hardgrain.errors import InputError

__all__ = ["box_of", "frames_of", "plot"]


def plot(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A run file (.h5).")] = None,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT...", help="Pictures by name; --list shows all. Default: packing."),  # noqa: E501
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg file. Default: FILE's name with -WHAT.png, here."),  # noqa: E501
    ] = None,
    frame: Annotated[
        int, typer.Option(metavar="K", help="Frame, from 0; negative counts from the end.")
    ] = -1,
    frames: Annotated[
        str | None, typer.Option(metavar="A:B:C", help="Frames to measure, as a slice of Python's.")
    ] = None,
    colour: Annotated[
        str, typer.Option("--colour", "--color", metavar="FIELD", help="Grains of a packing by speed, spin, pressure …")  # noqa: E501
    ] = "plain",
    lines: Annotated[
        str, typer.Option(metavar="KIND", help="Contacts of a packing: force, friction or none.")
    ] = "force",
    view: Annotated[
        str | None, typer.Option(metavar="X,Y,X,Y", help="Corners of the packing's part to show.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Option of a measurement; may be repeated.")  # noqa: E501
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List all there is to draw.")] = False,
) -> None:  # fmt: skip
    """Draw a run: the packing with its forces, time series, distributions, fields.

    A WHAT is a picture (packing, forces, energy, solver, rigidity, walls), a column of the run's
    history, or a measurement. Those over time share one figure; each other WHAT gets its own file.

    \b
    Examples:
      hardgrain plot --list
      hardgrain plot silo.h5 packing --colour speed -o silo.pdf
      hardgrain plot silo.h5 kinetic residual force_bottom_y
      hardgrain plot silo.h5 flow.velocity --frames 20: -o velocity.pdf
    """
    from hardgrain.io.runfile import RunFile
    from hardgrain.show import plots
    from hardgrain.show.style import check, save

    if file is None:
        if not show:
            raise InputError("FILE is missing; give a run file, or --list")
        print(plots.listing())
        return
    names = what or ["packing"]
    with RunFile(file) as run:
        if show:
            print(plots.listing(run))
            return
        chosen = frames_of(frames, len(run), "--frames")
        options: dict[str, Any] = {
            "frame": frame, "frames": chosen, "options": _settings(settings or []),
        }  # fmt: skip
        look: dict[str, Any] = {"colour": colour, "lines": lines, "box": box_of(view)}
        groups = plots.together(run, names)
        for group in groups:
            path = output or Path(f"{file.stem}-{group[0]}.png")
            if output is not None and len(groups) > 1:
                path = output.with_name(f"{output.stem}-{group[0]}{output.suffix}")
            check(path)
            extra = look if group == ["packing"] else {}
            figure = plots.draw(run, *group, **options, **extra)
            save(figure, path)
            print(f"written: {path}")


def frames_of(text: str | None, count: int, option: str) -> list[int] | None:
    """Frames by a slice, 10:, ::5, or a number; None: not given."""
    if text is None:
        return None
    try:
        parts = [int(p) if p.strip() else None for p in text.split(":")]
        chosen: list[int | None] = [parts[0]] if len(parts) == 1 else [*range(count)[slice(*parts)]]
    except (ValueError, TypeError):
        chosen = [None]
    if None in chosen:
        raise InputError(f"{option} is {text!r}; give a slice such as 10: or ::5 or 0:100:2")
    found = [k % count for k in chosen if k is not None and -count <= k < count]
    if not found:
        raise InputError(f"{option} is {text}, which is none of the frames 0 to {count - 1}")
    return found


def box_of(text: str | None) -> Any:
    """Corners of a view, (2, 2); None: not given."""
    if text is None:
        return None
    import numpy as np

    try:
        box = np.array([float(p) for p in text.split(",")]).reshape(2, 2)
    except ValueError:
        box = np.zeros((2, 2))
    if not np.isfinite(box).all() or not (box[1] > box[0]).all():
        raise InputError(f"--view is {text!r}; give two corners, the lower left first: 0,0,20,10")
    return box


def _settings(given: list[str]) -> dict[str, Any]:
    """Options of a measurement, read as `hardgrain measure` does."""
    from hardgrain.cli.measure import parse

    found: dict[str, Any] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"--set is {item!r}; give NAME=VALUE")
        found[name] = parse(value)
    return found
