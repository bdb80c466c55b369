"""Run files in the formats of other tools, frame by frame: no more than one is ever in memory.

All files are written in a folder beside the target and moved at the end, so that an interruption
leaves nothing behind.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hardgrain.errors import InputError, RunError
from hardgrain.io.runfile import RunFile
from hardgrain.io.whole import check_target
from hardgrain.measure.snapshot import snapshots

__all__ = ["FORMATS", "Format", "export"]

Observer = Callable[[int, int], object]  # frames done, frames in all


@dataclass(frozen=True)
class Format:
    """A kind of file and what writes it: a class with files, append, close and abandon."""

    suffixes: tuple[str, ...]
    writer: str  # its class, as module.class
    about: str

    def load(self) -> Any:
        """The class of the writer."""
        module, name = self.writer.split(".")
        return getattr(importlib.import_module(f"hardgrain.io.{module}"), name)


FORMATS = {
    "vtkhdf": Format((".vtkhdf",), "vtkhdf.VtkHdf", "ParaView, VTK"),
    "gsd": Format((".gsd",), "gsdfile.GsdFile", "OVITO, freud, HOOMD-blue"),
    "lammps": Format((".dump", ".lammpstrj"), "lammps.LammpsDump", "LAMMPS, OVITO"),
    "extxyz": Format((".xyz", ".extxyz"), "xyz.ExtendedXyz", "OVITO, ASE"),
}


def export(
    source: RunFile | str | Path,
    path: str | Path,
    frames: Iterable[int] | slice | None = None,
    *,
    kind: str | None = None,
    overwrite: bool = False,
    observe: Observer | None = None,
) -> list[Path]:
    """Write frames of a run file in another format, and return the files that were made.

    The format follows from the suffix of ``path`` unless ``kind`` names it. ``observe`` is called
    after each frame.

        hg.export("run.h5", "run.gsd", slice(None, None, 10))
    """
    if not isinstance(source, RunFile):
        with RunFile(source) as run:
            return export(run, path, frames, kind=kind, overwrite=overwrite, observe=observe)
    path, writer = Path(path), _format(Path(path), kind).load()
    chosen = _frames(len(source), frames)
    targets: list[Path] = writer.files(path, source)
    for target in targets:
        check_target(target, source.path, overwrite)
    try:
        place = tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        with place as folder:
            _write(writer, Path(folder) / path.name, source, chosen, observe)
            for target in targets:
                (Path(folder) / target.name).replace(target)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from None
    return targets


def _write(
    writer: Any, path: Path, run: RunFile, frames: list[int], observe: Observer | None
) -> None:
    file = writer(path, run)
    try:
        for done, snap in enumerate(snapshots(run, frames), 1):
            file.append(snap)
            if observe is not None:
                observe(done, len(frames))
        file.close()
    except BaseException:
        with suppress(Exception):  # the first error says more than one that follows from it
            file.abandon()
        raise


def _format(path: Path, kind: str | None) -> Format:
    if kind is not None:
        if kind not in FORMATS:
            raise InputError(f"format is {kind!r}; known are {', '.join(FORMATS)}")
        return FORMATS[kind]
    for known in FORMATS.values():
        if path.suffix.lower() in known.suffixes:
            return known
    suffixes = ", ".join(s for known in FORMATS.values() for s in known.suffixes)
    raise InputError(f"{path} does not end in a known format; use {suffixes}, or name the format")


def _frames(count: int, frames: Iterable[int] | slice | None) -> list[int]:
    if frames is None or isinstance(frames, slice):
        chosen = list(range(count)[frames or slice(None)])
    else:
        chosen = [int(k) for k in frames]
    if not chosen:
        raise InputError(f"frames picks none of the {count} frames of this run")
    for k in chosen:
        if not -count <= k < count:
            raise InputError(f"frames holds {k}; the run has the frames 0 to {count - 1}")
    return chosen
