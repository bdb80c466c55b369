"""The command ``hardgrain view``."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["view"]


def view(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run file (.h5), also of a run that goes on.")],  # noqa: E501
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Default: the first free one from 8080 on.")
    ] = None,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Other machines can only look on if you give an address of this one, such as 0.0.0.0."),  # noqa: E501
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a page in the browser.")
    ] = True,
) -> None:  # fmt: skip
    """Look at a run in the browser: grains, walls, forces and history, frame by frame or live.

    Dragging rotates the scene (in 2D it moves it), the right button moves it, and the wheel zooms.
    Ctrl-C ends the viewer.

    \b
    Examples:
      hardgrain view silo.h5
      hardgrain view silo.h5 --no-browser --port 9000
    """
    from hardgrain.show.view.serve import Viewer

    try:
        with Viewer(file, host, port) as viewer:
            print(f"{file} at {viewer.address} (Ctrl-C ends it)", flush=True)
            if browser:
                webbrowser.open(viewer.address)
            threading.Event().wait()
    except KeyboardInterrupt:
        print("\nclosed")
