"""The command ``hardgrain movie``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardgrain.cli.options import (
    Colour,
    Frames,
    Overwrite,
    Quiet,
    RunFileArgument,
    View,
    box_of,
    frames_of,
    one_of,
)

__all__ = ["movie"]


def movie(
    file: RunFileArgument,
    output: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="An .mp4 or .gif file. Default: FILE's name with .mp4."),
    ] = None,
    *,
    option: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="The same as OUT.")
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(metavar="N", help="Frames a second. Default: so that the film lasts about ten seconds."),  # noqa: E501
    ] = None,
    frames: Frames = None,
    size: Annotated[int, typer.Option(metavar="N", help="The longer side, in pixels.")] = 1080,
    colour: Colour = "plain",
    lines: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Contacts: force, friction or none. Default: force, if all frames have contacts."),  # noqa: E501
    ] = None,
    view: View = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Make a film of a run. View and colours stay the same throughout.

    \b
    Examples:
      hardgrain movie drum.h5
      hardgrain movie silo.h5 silo.mp4 --colour speed --lines none --fps 30
      hardgrain movie silo.h5 silo.gif --frames ::4 --size 480
    """
    import signal
    import time

    from hardgrain.cli.bar import Bar
    from hardgrain.io.runfile import RunFile
    from hardgrain.io.whole import check_target
    from hardgrain.show.movie import make_movie, pace

    path = one_of(output, option) or Path(f"{file.stem}.mp4")
    check_target(path, file, overwrite)
    box, begin = box_of(view), time.perf_counter()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # handled like Ctrl-C
    try:
        with RunFile(file) as run, Bar("frame", quiet) as bar:
            chosen = frames_of(frames, len(run))
            if fps is None:
                fps = pace(len(run) if chosen is None else len(chosen))
            count = make_movie(
                run, path, chosen, fps=fps, tell=bar, size=size, colour=colour, lines=lines, box=box
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    if not quiet:
        rate = count / (time.perf_counter() - begin)
        print(f"written: {path}, {count} frames, {count / fps:.3g} s long ({rate:.3g} a second)")
