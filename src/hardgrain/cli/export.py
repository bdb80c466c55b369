"""The command ``hardgrain export``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hardgrain.cli.options import Frames, Overwrite, Quiet, RunFileArgument, frames_of, one_of
from hardgrain.errors import InputError

__all__ = ["export"]


def export(
    file: RunFileArgument,
    output: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="A .vtkhdf, .gsd, .dump, .lammpstrj, .xyz or .extxyz file."),  # noqa: E501
    ] = None,
    option: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="The same as OUT.")
    ] = None,
    frames: Frames = None,
    kind: Annotated[
        str | None,
        typer.Option("--format", metavar="KIND", help="vtkhdf, gsd, lammps or extxyz. Default: as OUT ends."),  # noqa: E501
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Write a run in the format of another tool, frame by frame.

    \b
    For:
      ParaView               .vtkhdf   grains, contacts, walls, meshes, a file each
      OVITO, freud           .gsd      grains, with contacts as bonds
      OVITO, LAMMPS          .dump     grains, as text
      OVITO, ASE, scripts    .xyz      grains, as text

    Ctrl-C leaves nothing behind.

    \b
    Examples:
      hardgrain export silo.h5 -o silo.vtkhdf
      hardgrain export silo.h5 -o silo.gsd --frames ::10
    """
    from hardgrain.cli.bar import Bar
    from hardgrain.io.export import export as write
    from hardgrain.io.runfile import RunFile
    from hardgrain.measure.snapshot import model_of

    path = one_of(output, option)
    if path is None:
        raise InputError("OUT is missing; say where to write, as in -o run.vtkhdf")
    with RunFile(file) as run, Bar("frame", quiet) as bar, _interruptible() as check:

        def observe(done: int, total: int) -> None:
            bar(done, total)
            check()

        chosen = frames_of(frames, len(run))
        written = write(run, path, chosen, kind=kind, overwrite=overwrite, observe=observe)
        deforms = model_of(run).elastic is not None
    if not quiet:
        for made in written:
            print(f"written: {made}")
        if deforms and written[0].suffix != ".vtkhdf":
            print("grains that deform are written as they are at rest; .vtkhdf holds their meshes")


@contextmanager
def _interruptible() -> Iterator[Callable[[], None]]:
    """Let Ctrl-C and SIGTERM act only after a frame is done; within HDF5 they may get lost."""
    asked: list[int] = []

    def check() -> None:
        if asked:
            raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {n: signal.signal(n, lambda number, frame: asked.append(number)) for n in numbers}
    try:
        yield check
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing is left of it", err=True)
        raise typer.Exit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
