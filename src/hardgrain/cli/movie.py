"""The command ``hardgrain movie``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardgrain.cli.plot import box_of, frames_of

__all__ = ["movie"]


def movie(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run file (.h5).")],
    output: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="An .mp4 or .gif file. Default: FILE's name with .mp4."),
    ] = None,
    fps: Annotated[float, typer.Option(metavar="N", help="Frames a second.")] = 25.0,
    frames: Annotated[
        str | None, typer.Option(metavar="A:B:C", help="Frames to show, as a slice of Python's.")
    ] = None,
    size: Annotated[int, typer.Option(metavar="N", help="The longer side, in pixels.")] = 1080,
    colour: Annotated[
        str, typer.Option("--colour", "--color", metavar="FIELD", help="Grains by speed, spin, pressure …; see hardgrain plot --list.")  # noqa: E501
    ] = "plain",
    lines: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Contacts: force, friction or none. Default: force, if all frames have contacts."),  # noqa: E501
    ] = None,
    view: Annotated[
        str | None, typer.Option(metavar="X,Y,X,Y", help="Corners of the part to show.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
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
    from hardgrain.show.movie import make_movie

    path = output or Path(f"{file.stem}.mp4")
    box, begin = box_of(view), time.perf_counter()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        with RunFile(file) as run, Bar("frame", quiet) as bar:
            chosen = frames_of(frames, len(run), "--frames")
            count = make_movie(
                run, path, chosen, fps=fps, tell=bar, size=size, colour=colour, lines=lines, box=box
            )
    finally:
        signal.signal(signal.SIGTERM, before)
    if not quiet:
        rate = count / (time.perf_counter() - begin)
        print(f"written: {path}, {count} frames, {count / fps:.3g} s long ({rate:.3g} a second)")
