"""The command ``hardgrain report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardgrain.cli.options import Overwrite, Quiet

__all__ = ["report"]


def report(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run file (.h5), or the folder of a study.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="An .html file. Default: FILE's name with .html, here."),  # noqa: E501
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a report of a run as one page that opens anywhere, offline, and can be mailed.

    It tells what was simulated, whether it converged, is rigid and unique, shows measurements,
    plots and a small film, and how to run it again. Of a study it tells what all runs found, with
    pictures over the parameters, and how many of them can be trusted.

    \b
    Examples:
      hardgrain report silo.h5 -o silo.html
      hardgrain report repose-study
    """
    from hardgrain.io.whole import check_target
    from hardgrain.show.report import write_report

    path = output or Path(f"{file.stem}.html")
    if file.is_dir():
        from hardgrain.study.study import Study

        check_target(path, overwrite=overwrite)
        Study(file).report(path)
    else:
        check_target(path, file, overwrite)
        write_report(file, path)
    if not quiet:
        print(f"written: {path}, {path.stat().st_size / 1e6:.2g} MB")
