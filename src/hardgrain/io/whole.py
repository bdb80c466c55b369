"""Files that are written whole or not at all; what cannot be written is refused before any work."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hardgrain.errors import InputError, RunError

__all__ = ["check_target", "whole"]


def check_target(path: Path, source: Path | None = None, overwrite: bool = True) -> None:
    """Refuse a path that cannot be written, is the run file ``source``, or must not be replaced."""
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: the folder {path.parent} does not exist; create it first"
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file name")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise InputError(f"{path} is the run file itself; choose another name")
    if path.is_file() and not overwrite:
        raise InputError(
            f"{path} exists already; add --overwrite (in Python overwrite=True) to replace it, or"
            " choose another name"
        )
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: the folder {path.parent} is closed to you")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary path, which becomes ``path`` at the end or vanishes after an error.

        with whole(Path("a.csv")) as part:
            part.write_text(text)

    A reader or an interruption never meets half a file. Devices and pipes are written as they are.
    """
    check_target(path)
    real = path.resolve()
    device = real.exists() and not real.is_file()
    # The name is unique, since another process may write the same file at the same time.
    part = real if device else real.with_name(f".{secrets.token_hex(8)}.part{real.suffix}")
    try:
        if not device:
            part.touch(exist_ok=False)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        yield part
        if not device:
            part.replace(real)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if not device:
            part.unlink(missing_ok=True)
