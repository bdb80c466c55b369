"""Options that several commands share, and how their text is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from hardgrain.errors import InputError

__all__ = [
    "Bins", "Changes", "Colour", "Device", "Frames", "GridOption", "LastFrame", "Overwrite",
    "Quiet", "Region", "RunFileArgument", "Settings", "View", "Width", "box_of", "changes_of",
    "frames_of", "one_of", "own", "range_of", "told",
]  # fmt: skip

RunFileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A run file (.h5).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that there are already.")
]
Frames = Annotated[
    str | None,
    typer.Option(
        metavar="A:B:C",
        help="Frames A to B - 1 in steps of C, each may be left out; -5: is the last five. Or one"
        " frame.",
    ),
]
LastFrame = Annotated[
    int, typer.Option("--frame", metavar="K", help="Frame, from 0; negative counts from the end.")
]
Colour = Annotated[
    str,
    typer.Option(
        "--colour",
        "--color",
        metavar="FIELD",
        help="Grains of a packing by speed, spin, pressure …; hardgrain plot --list shows all.",
    ),
]
View = Annotated[
    str | None,
    typer.Option(metavar="X,Y,X,Y", help="Corners of the part of a packing to show; 3D: X,Z,X,Z."),
]
GridOption = Annotated[
    str | None, typer.Option(metavar="20x30", help="Cells of a field; 1x40: a profile.")
]
Region = Annotated[
    str | None, typer.Option(metavar="X,Y:X,Y", help="Two corners. Default: that of the scene.")
]
Width = Annotated[float | None, typer.Option(metavar="W", help="Of the kernel of a field.")]
Bins = Annotated[int | None, typer.Option(metavar="N", help="Of a distribution.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="OPTION=VALUE",
        help="Any other option of a measurement, see hardgrain measure --list NAME; may be given"
        " again.",
    ),
]

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a field of the scenario, such as scene.contacts.0.friction=0.3; may be given"
        " again.",
    ),
]


Device = Annotated[
    str | None,
    typer.Option(
        metavar="DEVICE",
        help="What makes the steps: cpu, cuda (an NVIDIA GPU) or auto, in place of engine.device.",
    ),
]


def changes_of(texts: list[str] | None) -> dict[str, Any]:
    """Fields to change and their values, read as TOML; a value that is no TOML is taken as text."""
    found = {}
    for text in texts or []:
        field, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not field:
            raise InputError(f"--set is {text!r}; write FIELD=VALUE, such as --set seed=7")
        try:
            found[field] = tomllib.loads(f"value = {value}")["value"]
        except ValueError:
            found[field] = value
    return found


def one_of(argument: Path | None, option: Path | None) -> Path | None:
    """The file to write, given as an argument or by -o."""
    if argument is not None and option is not None:
        raise InputError(f"OUT is {argument} and --output is {option}; one of them is enough")
    return argument or option


def frames_of(text: str | None, count: int) -> list[int] | None:
    """Frames given by a slice such as 10: or ::5, or by a number; None if not given."""
    if text is None:
        return None
    which = range_of(text, count)
    found = [k % count for k in which if -count <= k < count]
    if not found:
        raise InputError(f"--frames is {text}, which is none of the frames 0 to {count - 1}")
    return found


def range_of(text: str, count: int) -> range:
    """The frames that a slice such as 10: or ::5, or a number, means if there are so many."""
    try:
        parts = [int(p) if p.strip() else None for p in text.split(":")]
        if len(parts) == 1:
            return range(int(text), int(text) + 1)
        return range(count)[slice(*parts)]
    except (ValueError, TypeError):
        raise InputError(
            f"--frames is {text!r}; write A:B:C, such as 10: or ::5 or 0:50:2, or 7"
        ) from None


def box_of(text: str | None) -> Any:
    """Corners of a view, shape (2, 2); None if not given."""
    if text is None:
        return None
    import numpy as np

    try:
        box = np.array([float(p) for p in text.split(",")]).reshape(2, 2)
    except ValueError:
        box = np.full((2, 2), np.nan)
    # Squares of lengths beyond 1e100 overflow, and a picture 1000 times as long as wide shows
    # nothing.
    size = np.diff(box, axis=0)[0]
    if not (abs(box) < 1e100).all() or not 1e-100 < 1e-3 * size.max() < size.min():
        raise InputError(f"--view is {text!r}; give two corners, the lower left first: 0,0,20,10")
    return box


def told(
    names: Iterable[str],
    settings: list[str] | None,
    grid: str | None,
    region: str | None,
    width: float | None,
    bins: int | None,
) -> dict[str, Any]:
    """Options of measurements; each must be one of those that are ``names``."""
    found = {n: parse(x) for n, x in (("grid", grid), ("region", region)) if x is not None}
    found |= {n: x for n, x in (("width", width), ("bins", bins)) if x is not None}
    for text in settings or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise InputError(f"--set is {text!r}; write OPTION=VALUE, such as --set bins=30")
        found[name] = parse(value)
    known = {name: _options(name) for name in names}
    for option in found:
        if not any(option in options for options in known.values()):
            has = "; ".join(f"{n} has {', '.join(o) or 'none'}" for n, o in known.items())
            raise InputError(f"there is no option {option!r} here; {has}")
    return found


def own(names: Iterable[str], options: dict[str, Any]) -> dict[str, Any]:
    """The options that belong to some of the measurements."""
    return {k: x for k, x in options.items() if any(k in _options(name) for name in names)}


def _options(name: str) -> tuple[str, ...]:
    """Options of a measurement or of one of its variables; other names have none."""
    from hardgrain.measure.catalogue import quantities

    quantity = quantities().get(name.partition(".")[0])
    return () if quantity is None else tuple(quantity.options)


def parse(text: str) -> Any:
    """Read a value: true, 3, 0.5, 20x30 (whole numbers), 0,0:20,10 (corners), or a word."""
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
